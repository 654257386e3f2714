/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk: blk-mq operations, limits and the gendisk. See disk.c.
 */
#ifndef RNBDC_DISK_H
#define RNBDC_DISK_H

#include <linux/sysfs.h>

struct rnbdc_errmsg;
struct rnbdc_session;

int rnbdc_disk_create(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
int rnbdc_disk_add(struct rnbdc_session *sess, const struct attribute_group **groups,
		   struct rnbdc_errmsg *errmsg);
void rnbdc_disk_resized(struct rnbdc_session *sess);
void rnbdc_disk_remove(struct rnbdc_session *sess);
void rnbdc_disk_free(struct rnbdc_session *sess);

#endif /* RNBDC_DISK_H */
