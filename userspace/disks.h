/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_DISKS_H
#define RNBD_DISKS_H

#include "netlink_client.h"
#include "output.h"
#include "sample.h"

struct args;

struct json_object *disk_json(const struct disk *disk);
void disk_sysfs_options_json(struct json_object *obj, const struct options *granted);
void values_json(struct json_object *obj, const struct sample *sample);
int disks_list(struct disks *disks);
int disks_open_list(struct disks *disks);
int disk_get(const struct args *args, struct disk *disk);
int resolve_fail(int error);

#endif /* RNBD_DISKS_H */
