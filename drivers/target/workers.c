// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many work items of an export a shared work queue executes at a time.
 *
 * Operation: a work queue executes a limited number of items at a time. If several exports
 * share it, the items of one whose storage hangs must not occupy all workers. So each export
 * has a floor, a number of workers that are always there for it. The workers beyond the
 * floors are for whichever export needs them first. If none is left, items wait, and
 * exports take turns at the workers that become free.
 *
 * Ownership: the caller owns all structures.
 *
 * Concurrency: the caller holds one lock for exports that share workers.
 *
 * Errors: none. This file uses no kernel interface except lists;
 * tests/unit/test_workers.c runs it against a model.
 */

#include "workers.h"

/**
 * rnbdt_workers_init - initialise the workers that exports share
 * @workers: workers
 * @floor: workers that each export may have at any time
 * @spare: workers beyond the floors of all exports
 *
 * The work queue executes @spare items, and @floor for each export, at a time.
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
 * rnbdt_workers_join - let an export share workers
 * @user: the export
 * @workers: workers
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
 * @user: export
 * @item: item that does not wait
 *
 * Context: any, with the lock of the workers.
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

/* Take the oldest item that waits, and move the export behind the others. */
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
 * rnbdt_workers_give - give back the worker of an item that has ended
 * @user: export of the item
 *
 * Context: any, with the lock of the workers.
 * Return: an item, perhaps of another export, that the caller must start, or NULL.
 */
struct rnbdt_worker_item *rnbdt_workers_give(struct rnbdt_worker_user *user)
{
	struct rnbdt_workers *workers = user->workers;

	user->running--;
	if (user->running < workers->floor)
		return list_empty(&user->waiting) ? NULL : rnbdt_workers_next(user);
	/* It was one beyond the floor. */
	if (list_empty(&workers->hungry)) {
		workers->spare++;
		return NULL;
	}
	return rnbdt_workers_next(list_first_entry(&workers->hungry, struct rnbdt_worker_user,
						   entry));
}
