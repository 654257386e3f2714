/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_SECRET_STORE_H
#define RNBD_SECRET_STORE_H

#include <stdbool.h>
#include <stdint.h>

#define SECRET_STORE_DIR	"/etc/rnbd/secrets"

/**
 * struct secret_copy - paths of the copies of a host's secrets
 * @store: file descriptor of the locked directory of the copies, or a negative errno
 * @path: path of the copy of the present secret
 * @old: path of the copy of the old secret, which stays valid until it is withdrawn
 * @former: path of the former copy, while a new copy replaces it, until the former copy is
 *	removed or restored
 * @fresh: path of a new copy while it is written; a file left by a crash is replaced
 */
struct secret_copy {
	int store;
	char *path, *old, *former, *fresh;
};

void secret_copy_init(struct secret_copy *copy, const char *uuid_text);
void secret_copy_exit(struct secret_copy *copy);
int secret_copy_store(const struct secret_copy *copy, const uint8_t *secret);
int secret_copy_undo(const struct secret_copy *copy);
int secret_copy_settle(const struct secret_copy *copy);
int secret_copy_forget(const struct secret_copy *copy);
int secret_copy_store_old(const struct secret_copy *copy);
int secret_copy_forget_old(const struct secret_copy *copy);
bool secret_copy_is(const struct secret_copy *copy, const uint8_t *secret);
bool secret_copy_is_old(const struct secret_copy *copy);
int secret_store_lock(bool make);

int secret_write(int fd, const uint8_t *secret);
int secret_read(const char *file, uint8_t *secret);
int secret_read_operand(const char *file, uint8_t *secret);
char *secret_stored_path(const char *uuid_text);
int secret_forget(const char *uuid_text);
int secret_set(const char *dir, const uint8_t *secret);
int secret_set_from(const char *dir, const char *file);
int secret_put_back(const char *dir);

#endif /* RNBD_SECRET_STORE_H */
