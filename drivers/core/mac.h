/* SPDX-License-Identifier: GPL-2.0-only */
/* HMAC-SHA256, keyed with the secret of a host or the key of a session. See mac.c. */
#ifndef RNBD_CORE_MAC_H
#define RNBD_CORE_MAC_H

#include <linux/types.h>

struct crypto_shash;

struct crypto_shash *rnbd_mac_alloc(const u8 *secret);
void rnbd_mac_free(struct crypto_shash *key);
void rnbd_mac_exit(void);
int rnbd_mac(struct crypto_shash *key, const void *text, u32 bytes, u8 *mac);

#endif /* RNBD_CORE_MAC_H */
