/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_LIST_H
#define RNBD_LIST_H

#include "netlink.h"
#include "output.h"
#include "sample.h"

struct args;

struct json_object *disk_json(const struct disk *disk);
void values_json(struct json_object *obj, const struct sample *sample);
int disks_list(struct disks *disks);
int disk_get(const struct args *args, struct disk *disk);
int resolve_fail(int error);

#endif /* RNBD_LIST_H */
