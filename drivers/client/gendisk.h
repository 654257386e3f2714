/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gendisk of a disk: blk-mq operations, limits, registration. See gendisk.c.
 */
#ifndef RNBDC_GENDISK_H
#define RNBDC_GENDISK_H

#include <linux/sysfs.h>

struct rnbdc_disk;
struct rnbdc_errmsg;

int rnbdc_disk_create(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg);
int rnbdc_disk_add(struct rnbdc_disk *disk, const struct attribute_group **groups,
		   struct rnbdc_errmsg *errmsg);
void rnbdc_disk_resized(struct rnbdc_disk *disk);
void rnbdc_disk_remove(struct rnbdc_disk *disk);
void rnbdc_disk_free(struct rnbdc_disk *disk);

#endif /* RNBDC_GENDISK_H */
