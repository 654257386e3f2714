// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits on the work items of an export that a shared work queue executes at a time.
 *
 * Operation: a work queue executes a limited number of items at a time. If several exports share
 * it, the items of an export whose storage hangs must not occupy all workers. So each export has
 * a floor, a number of workers that are reserved for it. The other workers are spare: the first
 * export that needs a spare worker gets it. If no spare worker is free, items wait, and the
 * exports with waiting items take turns at the spare workers that become free.
 *
 * Ownership: the caller owns all structures.
 *
 * Concurrency: the caller holds one lock for all exports that share workers.
 *
 * Errors: none. This file uses no kernel interface except lists; tests/unit/test_workers.c runs
 * it against a model.
 */

#include "workers.h"

/**
 * rnbdt_workers_init - initialise the workers that exports share
 * @workers: workers of a work queue
 * @floor: workers reserved for each export
 * @spare: workers beyond the floors of all exports
 *
 * The work queue must execute at least @spare items, plus @floor for each export, at a time.
 *
 * Context: any.
 */
void rnbdt_workers_init(struct rnbdt_workers *workers, u32 floor, u32 spare)
{
	workers->floor = floor;
	workers->spare = spare;
	INIT_LIST_HEAD(&workers->hungry);
}

/**
 * rnbdt_workers_join - add an export to those that share workers
 * @user: export to initialise
 * @workers: workers of a work queue
 *
 * Context: any.
 */
void rnbdt_workers_join(struct rnbdt_worker_user *user, struct rnbdt_workers *workers)
{
	user->workers = workers;
	user->running = 0;
	INIT_LIST_HEAD(&user->waiting);
	INIT_LIST_HEAD(&user->entry);
}

/**
 * rnbdt_workers_take - take a worker for an item, or let the item wait
 * @user: export of the item
 * @item: item that is not waiting
 *
 * Context: any, lock of the workers held.
 * Return: true if the caller must start the item, false if it waits.
 */
bool rnbdt_workers_take(struct rnbdt_worker_user *user, struct rnbdt_worker_item *item)
{
	struct rnbdt_workers *workers = user->workers;

	if (user->running < workers->floor) {
		user->running++;
		return true;
	}
	if (workers->spare) {
		workers->spare--;
		user->running++;
		return true;
	}
	list_add_tail(&item->entry, &user->waiting);
	if (list_empty(&user->entry))
		list_add_tail(&user->entry, &workers->hungry);
	return false;
}

/*
 * Remove the oldest waiting item of an export, which takes a worker. If the export has further
 * waiting items, move the export behind the other waiting exports.
 */
static struct rnbdt_worker_item *rnbdt_workers_next(struct rnbdt_worker_user *user)
{
	struct rnbdt_worker_item *item = list_first_entry(&user->waiting,
							  struct rnbdt_worker_item, entry);

	list_del_init(&item->entry);
	if (list_empty(&user->waiting))
		list_del_init(&user->entry);
	else
		list_move_tail(&user->entry, &user->workers->hungry);
	user->running++;
	return item;
}

/**
 * rnbdt_workers_give - release the worker of an item that has ended
 * @user: export of the item
 *
 * Context: any, lock of the workers held.
 * Return: an item, possibly of another export, that the caller must start, or NULL.
 */
struct rnbdt_worker_item *rnbdt_workers_give(struct rnbdt_worker_user *user)
{
	struct rnbdt_workers *workers = user->workers;

	user->running--;
	if (user->running < workers->floor)
		return list_empty(&user->waiting) ? NULL : rnbdt_workers_next(user);
	/* The worker was a spare one. */
	if (list_empty(&workers->hungry)) {
		workers->spare++;
		return NULL;
	}
	return rnbdt_workers_next(list_first_entry(&workers->hungry, struct rnbdt_worker_user,
						   entry));
}
