/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /sys/kernel/rnbd-target/: sessions and counters. See sysfs.c.
 */
#ifndef RNBDT_SYSFS_H
#define RNBDT_SYSFS_H

#include <linux/sysfs.h>

struct rnbdt_session;

void rnbdt_sysfs_add_session(struct rnbdt_session *s);
void rnbdt_sysfs_remove_session(struct rnbdt_session *s);
int rnbdt_sysfs_init(void);
void rnbdt_sysfs_exit(void);

#endif /* RNBDT_SYSFS_H */
