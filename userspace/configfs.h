/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_CONFIGFS_H
#define RNBD_CONFIGFS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

int cfg_check(void);
char *cfg_path(const char *fmt, ...) __printf(1, 2);
bool cfg_exists(const char *path);
char *cfg_read(const char *path, const char *attr);
char *cfg_get(const char *path, const char *attr);
uint64_t cfg_read_u64(const char *path, const char *attr);
int cfg_write(const char *path, const char *attr, const char *value);
int cfg_write_secret(const char *path, const char *attr, const char *value);
int cfg_mkdir(const char *path);
int cfg_rmdir(const char *path);
int cfg_link(const char *target, const char *path);
int cfg_unlink(const char *path);
int cfg_names(const char *path, struct strlist *names);
int cfg_links(const char *path, struct strlist *targets);
char *cfg_find_link(const char *path, const char *target);

#endif /* RNBD_CONFIGFS_H */
