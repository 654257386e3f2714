/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: hosts/<uuid>/. See configfs_host.c.
 */
#ifndef RNBDT_CONFIGFS_HOST_H
#define RNBDT_CONFIGFS_HOST_H

#include <linux/configfs.h>

struct rnbdt_host;

struct rnbdt_host *rnbdt_to_host(struct config_item *item);
extern const struct config_item_type rnbdt_host_type;
extern const struct config_item_type rnbdt_hosts_type;

#endif /* RNBDT_CONFIGFS_HOST_H */
