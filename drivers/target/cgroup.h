/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hosts in cgroups of the target. See cgroup.c.
 */
#ifndef RNBDT_CGROUP_H
#define RNBDT_CGROUP_H

#include <linux/types.h>

struct rnbdt_host;

int rnbdt_cgroup_set(struct rnbdt_host *host, char *path);
ssize_t rnbdt_cgroup_show(struct rnbdt_host *host, char *page, bool applies);
void rnbdt_cgroup_remove(struct rnbdt_host *host);
void rnbdt_cgroup_exit(void);

#endif /* RNBDT_CGROUP_H */
