/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: the directory /sys/kernel/config/rnbd. See configfs.c.
 */
#ifndef RNBDT_CONFIGFS_H
#define RNBDT_CONFIGFS_H

#include <linux/configfs.h>

int rnbdt_configfs_init(void);
void rnbdt_configfs_exit(void);

#endif /* RNBDT_CONFIGFS_H */
