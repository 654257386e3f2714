/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_FILE_REPLACE_H
#define RNBD_FILE_REPLACE_H

#include <sys/stat.h>

int file_replace(const char *path, const char *text, const struct stat *old);
int file_sync_dir(const char *path);
int file_lock_dir(const char *parent, const char *dir);

#endif /* RNBD_FILE_REPLACE_H */
