/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /sys/block/rnbdX/rnbd/ and /sys/kernel/rnbd/: state, options and counters. See sysfs.c.
 */
#ifndef RNBDC_SYSFS_H
#define RNBDC_SYSFS_H

#include <linux/sysfs.h>

extern const struct attribute_group *rnbdc_disk_groups[];
int rnbdc_sysfs_init(void);
void rnbdc_sysfs_exit(void);

#endif /* RNBDC_SYSFS_H */
