/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: the secrets of a host. See configfs_secret.c.
 */
#ifndef RNBDT_CONFIGFS_SECRET_H
#define RNBDT_CONFIGFS_SECRET_H

#include <linux/configfs.h>

extern struct configfs_attribute rnbdt_host_attr_secret;
extern struct configfs_attribute rnbdt_host_attr_old_secret;
extern struct configfs_attribute rnbdt_host_attr_has_secret;
extern struct configfs_attribute rnbdt_host_attr_has_old_secret;
extern struct configfs_attribute rnbdt_host_attr_old_secret_sessions;
extern struct configfs_attribute rnbdt_host_attr_stale_secret_sessions;

#endif /* RNBDT_CONFIGFS_SECRET_H */
