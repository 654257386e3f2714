/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: hosts/<uuid>/. See configfs_host.c.
 */
#ifndef RNBDT_CONFIGFS_HOST_H
#define RNBDT_CONFIGFS_HOST_H

#include <linux/configfs.h>

extern const struct config_item_type rnbdt_host_type;
extern const struct config_item_type rnbdt_hosts_type;

#endif /* RNBDT_CONFIGFS_HOST_H */
