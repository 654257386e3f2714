/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_FILE_REPLACE_H
#define RNBD_FILE_REPLACE_H

#include <sys/stat.h>

int file_replace(const char *path, const char *text, const struct stat *old);
int file_sync_dir(const char *path);

#endif /* RNBD_FILE_REPLACE_H */
