/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: the cgroup of a host. See configfs_cgroup.c.
 */
#ifndef RNBDT_CONFIGFS_CGROUP_H
#define RNBDT_CONFIGFS_CGROUP_H

#include <linux/configfs.h>

extern struct configfs_attribute rnbdt_host_attr_cgroup;
extern struct configfs_attribute rnbdt_host_attr_effective_cgroup;

#endif /* RNBDT_CONFIGFS_CGROUP_H */
