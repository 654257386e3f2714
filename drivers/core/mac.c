// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMAC-SHA256 with the secret of a host or the key of a session, by the kernel's crypto API.
 *
 * Operation: a transform is made when the secret becomes known, and holds it from then
 * on; each text is one call, with its state on the stack. The first transform keeps the
 * algorithm, so that no module is loaded and no thread started when a client that waits
 * for its disk logs in again.
 * Ownership: whoever makes a transform frees it, which wipes the secret.
 * Concurrency: any number of texts at a time with one transform; process context.
 * Errors: those of the crypto API.
 */
#include <crypto/hash.h>
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/module.h>

#include "mac.h"
#include <rnbd/wire.h>

/* A transform that is not used: it keeps the algorithm, which a reconnect must not make. */
static struct crypto_shash *rnbd_mac_kept;

static void rnbd_mac_keep(void)
{
	struct crypto_shash *key;

	if (READ_ONCE(rnbd_mac_kept))
		return;
	key = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (!IS_ERR(key) && cmpxchg(&rnbd_mac_kept, NULL, key))
		crypto_free_shash(key);
}

/**
 * rnbd_mac_exit - let the algorithm go
 *
 * Context: process context, module exit.
 */
void rnbd_mac_exit(void)
{
	rnbd_mac_free(rnbd_mac_kept);
}

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
	rnbd_mac_keep();
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
 * @bytes: bytes of the text
 * @mac: result, RNBD_MAC_SIZE bytes
 *
 * Context: process context; allocates nothing.
 * Return: 0 or an error of the crypto API.
 */
int rnbd_mac(struct crypto_shash *key, const void *text, u32 bytes, u8 *mac)
{
	return crypto_shash_tfm_digest(key, text, bytes, mac);
}
EXPORT_SYMBOL_GPL(rnbd_mac);

/* For whoever packs an initial ramdisk: they are found by name, at run time. */
MODULE_SOFTDEP("pre: hmac sha256");
