/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_RESOLVE_H
#define RNBD_RESOLVE_H

#include "netlink_client.h"

int resolve_check(const char *word);
int resolve_pick(const char *word, const struct disks *disks, const struct disk **disk);
int resolve_disk(const char *word, const struct disks *disks, const struct disk **disk);
const char *resolve_error(void);

#endif /* RNBD_RESOLVE_H */
