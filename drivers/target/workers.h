/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits on the work items of an export that a shared work queue executes at a time. See
 * workers.c.
 *
 * In user space the file that includes this header must define struct list_head before.
 */
#ifndef RNBDT_WORKERS_H
#define RNBDT_WORKERS_H

#ifdef __KERNEL__
#include <linux/list.h>
#endif

#include "../core/portable.h"

/**
 * struct rnbdt_workers - workers of a work queue that exports share
 * @floor: workers reserved for each export; constant
 * @spare: number of free workers beyond the floors of all exports
 * @hungry: exports with waiting items, struct rnbdt_worker_user; the first one has the next turn
 *
 * The lock of the caller protects all members that are not constant.
 */
struct rnbdt_workers {
	u32 floor;
	u32 spare;
	struct list_head hungry;
};

/**
 * struct rnbdt_worker_user - an export that shares workers
 * @workers: workers of the work queue; constant
 * @running: number of items that have a worker
 * @waiting: items without a worker, struct rnbdt_worker_item, oldest first
 * @entry: in rnbdt_workers.hungry while @waiting is not empty
 *
 * While an item waits, @running is at least the floor, and no spare worker is free.
 */
struct rnbdt_worker_user {
	struct rnbdt_workers *workers;
	u32 running;
	struct list_head waiting;
	struct list_head entry;
};

/**
 * struct rnbdt_worker_item - a work item of an export
 * @entry: in rnbdt_worker_user.waiting while the item waits
 */
struct rnbdt_worker_item {
	struct list_head entry;
};

void rnbdt_workers_init(struct rnbdt_workers *workers, u32 floor, u32 spare);
void rnbdt_workers_join(struct rnbdt_worker_user *user, struct rnbdt_workers *workers);
bool rnbdt_workers_take(struct rnbdt_worker_user *user, struct rnbdt_worker_item *item);
struct rnbdt_worker_item *rnbdt_workers_give(struct rnbdt_worker_user *user);

#endif /* RNBDT_WORKERS_H */
