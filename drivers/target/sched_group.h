/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fairness of service: schedulers of storage, and the hosts and sessions that share them. See
 * sched_group.c.
 */
#ifndef RNBDT_SCHED_GROUP_H
#define RNBDT_SCHED_GROUP_H

#include <linux/types.h>

struct rnbdt_attach;
struct rnbdt_backend;
struct rnbdt_host;

int rnbdt_sched_open(struct rnbdt_backend *be, u32 window);
void rnbdt_sched_close(struct rnbdt_backend *be);
void rnbdt_sched_set_window(struct rnbdt_backend *be, u32 window);
bool rnbdt_sched_alloc(struct rnbdt_attach *att);
void rnbdt_sched_free(struct rnbdt_attach *att);
void rnbdt_sched_add(struct rnbdt_attach *att);
void rnbdt_sched_remove(struct rnbdt_attach *att);
void rnbdt_sched_move_host(struct rnbdt_host *host);

#endif /* RNBDT_SCHED_GROUP_H */
