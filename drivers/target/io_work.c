// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work items that access the storage of an export.
 *
 * Operation
 *
 * A work queue with a rescuer costs a kernel thread, and there can be thousands of exports.
 * Therefore exports share work queues. There are two kinds of work queues, unbound and per CPU.
 * Of each kind, the first RNBDT_IO_SETS exports get a work queue of their own each. A further
 * export uses the work queue of its kind with the fewest exports, or a new work queue if all
 * have RNBDT_IO_USERS exports. Work items that wait for hung storage occupy workers. So
 * workers.c limits how many work items of an export are executed at a time, and reserves a floor
 * of workers for each export. If memory is so short that only the rescuer runs, hung storage can
 * block all exports of its work queue until memory is available.
 *
 * Ownership: the exports that share a work queue own it jointly, and the last one destroys it.
 * rnbdt_io_end() does not use the work item, so the function of a work item may free or reuse
 * the work item before it calls rnbdt_io_end().
 *
 * Concurrency: rnbdt_io_mutex protects the list of work queues. Each work queue has a lock for
 * its workers and waiting work items. That lock may be taken in any context, and no other lock
 * is taken within it.
 *
 * Errors: an export for which no work queue can be allocated is not enabled.
 */

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../compat/workqueue.h"
#include "io_work.h"

/* Most exports per work queue, and number of work queues of a kind before any is shared */
#define RNBDT_IO_USERS		16
#define RNBDT_IO_SETS		16

/* Number of workers of a work queue that its exports share, and number reserved for each export */
#define RNBDT_IO_SPARE		(WQ_MAX_ACTIVE / 2)
#define RNBDT_IO_FLOOR		(WQ_MAX_ACTIVE / 2 / RNBDT_IO_USERS)

/**
 * struct rnbdt_io_set - a work queue and the exports that share it
 * @entry: in the list of work queues; rnbdt_io_mutex
 * @wq: work queue; constant
 * @unbound: the workers run on any CPU; constant
 * @nr_users: number of exports that share @wq; rnbdt_io_mutex
 * @lock: protects @workers; taken with interrupts disabled
 * @workers: workers that the exports share
 * @idle: woken when the last running work item of one of the exports ends
 */
struct rnbdt_io_set {
	struct list_head entry;
	struct workqueue_struct *wq;
	bool unbound;
	u32 nr_users;
	spinlock_t lock;	/* workers */
	struct rnbdt_workers workers;
	wait_queue_head_t idle;
};

static DEFINE_MUTEX(rnbdt_io_mutex);
static LIST_HEAD(rnbdt_io_sets);	/* rnbdt_io_mutex */

static struct rnbdt_io_set *rnbdt_io_set_alloc(bool unbound)
{
	struct rnbdt_io_set *set = kzalloc(sizeof(*set), GFP_KERNEL);

	if (!set)
		return NULL;
	set->wq = alloc_workqueue("rnbd-target-io", WQ_MEM_RECLAIM |
				  (unbound ? WQ_UNBOUND : WQ_PERCPU | WQ_HIGHPRI),
				  WQ_MAX_ACTIVE);
	if (!set->wq) {
		kfree(set);
		return NULL;
	}
	set->unbound = unbound;
	spin_lock_init(&set->lock);
	init_waitqueue_head(&set->idle);
	rnbdt_workers_init(&set->workers, RNBDT_IO_FLOOR, RNBDT_IO_SPARE);
	list_add_tail(&set->entry, &rnbdt_io_sets);
	return set;
}

/* Find the work queue for a further export. Return NULL if the export needs a new one. */
static struct rnbdt_io_set *rnbdt_io_set_find(bool unbound)
{
	struct rnbdt_io_set *set, *best = NULL;
	u32 nr = 0;

	list_for_each_entry(set, &rnbdt_io_sets, entry) {
		if (set->unbound != unbound)
			continue;
		nr++;
		if (!best || set->nr_users < best->nr_users)
			best = set;
	}
	if (!best || best->nr_users == RNBDT_IO_USERS || nr < RNBDT_IO_SETS)
		return NULL;
	return best;
}

/**
 * rnbdt_io_open - assign a work queue to an export
 * @io: zeroed structure of the export
 * @unbound: the workers may run on any CPU
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_io_open(struct rnbdt_io *io, bool unbound)
{
	struct rnbdt_io_set *set;

	mutex_lock(&rnbdt_io_mutex);
	set = rnbdt_io_set_find(unbound) ?: rnbdt_io_set_alloc(unbound);
	if (set)
		set->nr_users++;
	mutex_unlock(&rnbdt_io_mutex);
	if (!set)
		return -ENOMEM;
	rnbdt_workers_join(&io->user, &set->workers);
	io->set = set;
	return 0;
}

static bool rnbdt_io_is_idle(struct rnbdt_io *io)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&io->set->lock, flags);
	idle = !io->user.running;
	spin_unlock_irqrestore(&io->set->lock, flags);
	return idle;
}

/**
 * rnbdt_io_close - undo rnbdt_io_open()
 * @io: structure of an export without requests, or zeroed
 *
 * Wait until the work items of the export have called rnbdt_io_end().
 *
 * Context: process context; may sleep.
 */
void rnbdt_io_close(struct rnbdt_io *io)
{
	struct rnbdt_io_set *set = io->set;

	if (!set)
		return;
	wait_event(set->idle, rnbdt_io_is_idle(io));
	mutex_lock(&rnbdt_io_mutex);
	if (--set->nr_users)
		set = NULL;
	else
		list_del(&set->entry);
	mutex_unlock(&rnbdt_io_mutex);
	if (!set)
		return;
	destroy_workqueue(set->wq);
	kfree(set);
}

/**
 * rnbdt_io_queue - queue a work item as soon as its export may use a worker
 * @io: structure of the export whose storage the work item accesses
 * @work: work item that is not queued; it can be running
 *
 * Context: any; does not sleep.
 */
void rnbdt_io_queue(struct rnbdt_io *io, struct rnbdt_io_work *work)
{
	struct rnbdt_io_set *set = io->set;
	unsigned long flags;
	bool start;

	spin_lock_irqsave(&set->lock, flags);
	start = rnbdt_workers_take(&io->user, &work->item);
	spin_unlock_irqrestore(&set->lock, flags);
	if (likely(start))
		queue_work(set->wq, &work->work);
}

/**
 * rnbdt_io_end - end a work item, and queue another one that waits for a worker
 * @io: structure of the export of the work item; can be freed when this function returns
 *
 * The function of each struct rnbdt_io_work must call this last.
 *
 * Context: work item that rnbdt_io_queue() has queued.
 */
void rnbdt_io_end(struct rnbdt_io *io)
{
	struct rnbdt_io_set *set = io->set;
	struct rnbdt_worker_item *next;
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&set->lock, flags);
	next = rnbdt_workers_give(&io->user);
	idle = !io->user.running;
	spin_unlock_irqrestore(&set->lock, flags);
	/* rnbdt_io_close() destroys the work queue before @set, and so waits for this item. */
	if (unlikely(next))
		queue_work(set->wq, &container_of(next, struct rnbdt_io_work, item)->work);
	else if (idle && wq_has_sleeper(&set->idle))
		wake_up(&set->idle);
}
