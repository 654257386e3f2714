/* SPDX-License-Identifier: GPL-2.0-only */
/* Text form of the secret of a host. See secret.c. */
#ifndef RNBD_CORE_SECRET_H
#define RNBD_CORE_SECRET_H

#include <linux/types.h>
#include <rnbd/wire.h>

#define RNBD_SECRET_PREFIX	"rnbd-secret:1:"
/* Word that is written to configfs instead of a secret to remove the secret */
#define RNBD_SECRET_NONE	"none"
/* Word that is written to old_secret in configfs to copy the present secret there */
#define RNBD_SECRET_CURRENT	"current"
/* Bytes of the text: prefix, hexadecimal secret, colon, checksum of 8 digits, NUL */
#define RNBD_SECRET_TEXT_SIZE	(sizeof(RNBD_SECRET_PREFIX) + \
				 2 * RNBD_SECRET_SIZE + 1 + 8)

void rnbd_secret_format(const __u8 *secret, char *text);
const char *rnbd_secret_parse(const char *text, size_t len, __u8 *secret);

#endif /* RNBD_CORE_SECRET_H */
