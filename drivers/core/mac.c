// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMAC-SHA256, keyed with the secret of a host or the key of a session, by the crypto API.
 *
 * Operation: a transform is allocated when the secret becomes known and holds the secret from
 * then on. The HMAC of a text is one call, with its state on the stack. The first allocation
 * also allocates a second transform, which is never used but keeps the algorithm instantiated.
 * So a client that reconnects while I/O of its disk waits need not make the crypto API load a
 * module or start a thread.
 * Ownership: the caller of rnbd_mac_alloc() frees the transform, which wipes the secret.
 * Concurrency: any number of concurrent calls with one transform; process context.
 * Errors: errors of the crypto API, or -EINVAL if the digest has an unexpected size.
 */
#include <crypto/hash.h>
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/module.h>

#include "mac.h"
#include <rnbd/wire.h>

/* Unused transform that holds the algorithm, so that a reconnect need not instantiate it. */
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
 * rnbd_mac_exit - release the algorithm
 *
 * Context: process context, module exit.
 */
void rnbd_mac_exit(void)
{
	rnbd_mac_free(rnbd_mac_kept);
}

/**
 * rnbd_mac_alloc - allocate a transform with a secret
 * @secret: RNBD_SECRET_SIZE bytes; copied
 *
 * Context: process context; sleeps, and can load a module.
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
 * rnbd_mac_free - free a transform and wipe its secret
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
 * rnbd_mac - compute the HMAC of a text
 * @key: transform
 * @text: text, including its label
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

/* For tools that build an initial ramdisk: the crypto API finds the algorithms by name. */
MODULE_SOFTDEP("pre: hmac sha256");
