/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: exports/<name>/. See configfs_export.c.
 */
#ifndef RNBDT_CONFIGFS_EXPORT_H
#define RNBDT_CONFIGFS_EXPORT_H

#include <linux/configfs.h>

char *rnbdt_dup_word(const char *page, size_t count);
extern const struct config_item_type rnbdt_export_type;
extern const struct config_item_type rnbdt_exports_type;

#endif /* RNBDT_CONFIGFS_EXPORT_H */
