/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_CONFIGFS_H
#define RNBD_CONFIGFS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

int configfs_check(void);
char *configfs_path(const char *fmt, ...) __printf(1, 2);
bool configfs_exists(const char *path);
char *configfs_try(const char *path, const char *attr);
char *configfs_read(const char *path, const char *attr);
char *configfs_get(const char *path, const char *attr);
uint64_t configfs_read_u64(const char *path, const char *attr);
int configfs_write(const char *path, const char *attr, const char *value);
int configfs_write_secret(const char *path, const char *attr, const char *value);
int configfs_mkdir(const char *path);
int configfs_rmdir(const char *path);
int configfs_link(const char *target, const char *path);
int configfs_unlink(const char *path);
int configfs_names(const char *path, struct strlist *names);
int configfs_links(const char *path, struct strlist *targets);
bool configfs_leads_to(const char *path, const char *target);
char *configfs_find_link(const char *path, const char *target);

#endif /* RNBD_CONFIGFS_H */
