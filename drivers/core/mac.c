// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMAC-SHA256 with the secret of a host, by the kernel's crypto API.
 *
 * Operation: a transform is made when the secret becomes known, and holds it from then
 * on; each text is one call, with its state on the stack. So nothing is allocated,
 * and no module loaded, when a client that waits for its disk logs in again.
 * Ownership: whoever makes a transform frees it, which wipes the secret.
 * Concurrency: any number of texts at a time with one transform; process context.
 * Errors: those of the crypto API.
 */
#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/module.h>

#include "mac.h"

/**
 * rnbd_mac_alloc - make a transform
 * @secret: RNBD_SECRET_SIZE bytes, not needed any more afterwards
 *
 * Context: process context, may load a module.
 * Return: the transform or an ERR_PTR().
 */
struct crypto_shash *rnbd_mac_alloc(const u8 *secret)
{
	struct crypto_shash *key = crypto_alloc_shash("hmac(sha256)", 0, 0);
	int ret;

	if (IS_ERR(key))
		return key;
	ret = crypto_shash_digestsize(key) == RNBD_MAC_SIZE ?
	      crypto_shash_setkey(key, secret, RNBD_SECRET_SIZE) : -EINVAL;
	if (ret) {
		crypto_free_shash(key);
		return ERR_PTR(ret);
	}
	return key;
}
EXPORT_SYMBOL_GPL(rnbd_mac_alloc);

/**
 * rnbd_mac_free - free a transform and wipe what it knows
 * @key: transform, or NULL
 *
 * Context: process context.
 */
void rnbd_mac_free(struct crypto_shash *key)
{
	if (key)
		crypto_free_shash(key);
}
EXPORT_SYMBOL_GPL(rnbd_mac_free);

/**
 * rnbd_mac - HMAC of a text
 * @key: transform
 * @text: text with its label
 * @mac: result, RNBD_MAC_SIZE bytes
 *
 * Context: process context; allocates nothing.
 * Return: 0 or an error of the crypto API.
 */
int rnbd_mac(struct crypto_shash *key, const struct rnbd_auth_text *text, u8 *mac)
{
	return crypto_shash_tfm_digest(key, (const u8 *)text, sizeof(*text), mac);
}
EXPORT_SYMBOL_GPL(rnbd_mac);

/* For whoever packs an initial ramdisk: they are found by name, at run time. */
MODULE_SOFTDEP("pre: hmac sha256");
