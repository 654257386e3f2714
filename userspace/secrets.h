/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_SECRETS_H
#define RNBD_SECRETS_H

#include <stdint.h>

int secret_read(const char *file, uint8_t *secret);
char *secret_stored_path(const char *uuid_text);
int secret_forget(const char *uuid_text);
int secret_set(const char *dir, const uint8_t *secret);
int secret_set_from(const char *dir, const char *file);

#endif /* RNBD_SECRETS_H */
