/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_LIST_H
#define RNBD_LIST_H

#include "netlink.h"
#include "output.h"

struct json_object *disk_json(const struct disk *disk);

#endif /* RNBD_LIST_H */
