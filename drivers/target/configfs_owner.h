/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: attributes of an export about its owner. See configfs_owner.c.
 */
#ifndef RNBDT_CONFIGFS_OWNER_H
#define RNBDT_CONFIGFS_OWNER_H

#include <linux/configfs.h>

extern struct configfs_attribute rnbdt_export_attr_exclusive;
extern struct configfs_attribute rnbdt_export_attr_owner;
extern struct configfs_attribute rnbdt_export_attr_owner_state;

#endif /* RNBDT_CONFIGFS_OWNER_H */
