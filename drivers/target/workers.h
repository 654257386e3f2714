/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many work items of an export a shared work queue executes at a time. See workers.c.
 *
 * In user space the file that includes this one brings its own struct list_head.
 */
#ifndef RNBDT_WORKERS_H
#define RNBDT_WORKERS_H

#ifdef __KERNEL__
#include <linux/list.h>
#endif

#include "../core/portable.h"

/**
 * struct rnbdt_workers - the workers that exports share
 * @floor: workers that each export may have at any time; constant
 * @spare: workers that no export has, beyond the floors of all
 * @hungry: exports with items that wait, struct rnbdt_worker_user, in the order of their
 *	turns
 *
 * The lock of the caller protects what is not constant.
 */
struct rnbdt_workers {
	u32 floor;
	u32 spare;
	struct list_head hungry;
};

/**
 * struct rnbdt_worker_user - an export that shares workers
 * @workers: the workers; constant
 * @running: items that have a worker
 * @waiting: items that wait, struct rnbdt_worker_item, oldest first
 * @entry: in rnbdt_workers.hungry while @waiting is not empty
 *
 * If an item waits, @running is at least the floor, and no worker is spare.
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
