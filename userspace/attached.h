/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_ATTACHED_H
#define RNBD_ATTACHED_H

#include "args.h"
#include "netlink_client.h"

bool attached_name_taken(const char *name);
int attached_find(const struct args *args, const struct attach *attach, struct disk *disk,
		  const char **why);

#endif /* RNBD_ATTACHED_H */
