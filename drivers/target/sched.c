// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness of service: requests that wait in front of the storage.
 *
 * Operation
 *
 * A device queues all that it gets, so the host with the most requests in flight would get
 * most of the service. Therefore the target bounds the cost of the requests that a storage
 * has, its window. Below the window requests pass. Beyond it they wait, and drr.c decides
 * which host is next when the storage has completed others. sched_group.c decides who
 * shares a window.
 *
 * A request that waits is submitted by the work item of its attachment and queue. When an
 * attachment closes, its requests leave the order at once and go the same way, and
 * rnbdt_may_submit() refuses them before they reach the storage: they never wait for
 * requests of others.
 *
 * Ownership
 *
 * A request that waits or is in flight keeps its attachment, and so its lane.
 *
 * Concurrency
 *
 * Without competition a request costs two operations on an atomic counter and a look at the
 * number of requests that wait; the lock is taken only when one waits. Either the request
 * that begins to wait sees that the last one has left, or that one sees it. The lock and
 * in_flight have cache lines of their own. Each request in flight is counted in the lane
 * that it has entered.
 *
 * Requests leave the order when the cost in flight has fallen to seven eighths of the
 * window, several at a time, which saves wakeups. The storage is not idle while one waits.
 *
 * Errors: none.
 */

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>

#include "../core/op.h"
#include "backend.h"
#include "graph.h"
#include "io_work.h"
#include "sched.h"
#include "session.h"

/* Let requests leave the order while the storage has room. Called under the lock. */
static void rnbdt_sched_take(struct rnbdt_lane *lane, struct list_head *ready)
{
	struct rnbdt_sched *sched = lane->sched;
	struct rnbdt_drr_item *item;

	lockdep_assert_held(&sched->lock);

	if (atomic64_read(&lane->in_flight) > READ_ONCE(sched->low))
		return;
	while (lane->root.queued &&
	       atomic64_read(&lane->in_flight) < READ_ONCE(sched->window)) {
		item = rnbdt_drr_next(&lane->root);
		atomic64_add(item->cost, &lane->in_flight);
		list_add_tail(&item->entry, ready);
	}
}

/*
 * Submit requests that have left the order. Any of them may be gone once it is in the list
 * of its work item, except the one that made that list not empty: this context alone
 * queues the work item for it.
 */
static void rnbdt_sched_submit(struct list_head *ready)
{
	struct rnbdt_req *treq, *next;

	list_for_each_entry_safe(treq, next, ready, item.entry) {
		struct rnbdt_host *host = treq->queue->session->host;
		struct rnbdt_submit *submit = treq->submit;

		atomic64_dec(&host->waits.queued);
		atomic64_add(treq->req.length, &host->waits.bytes);
		if (llist_add(&treq->todo, &submit->todo))
			rnbdt_io_queue(&submit->att->backend->io, &submit->submit_work);
	}
}

/**
 * rnbdt_sched_force - submit requests that have left the order, whatever the storage has
 * @ready: requests
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_force(struct list_head *ready)
{
	struct rnbdt_req *treq;

	list_for_each_entry(treq, ready, item.entry)
		atomic64_add(treq->item.cost, &treq->lane->in_flight);
	rnbdt_sched_submit(ready);
}

/**
 * rnbdt_sched_wait - let a request wait, unless it need not
 * @treq: request with a cost, which no lane includes
 *
 * Called by rnbdt_sched_enter() only.
 *
 * Context: any; does not sleep.
 * Return: as rnbdt_sched_enter().
 */
bool rnbdt_sched_wait(struct rnbdt_req *treq)
{
	struct rnbdt_sched *sched = treq->att->sched;
	struct rnbdt_host *host = treq->queue->session->host;
	bool flush = treq->req.op == RNBD_OP_FLUSH;
	struct rnbdt_lane *lane;
	LIST_HEAD(ready);
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&sched->lock, flags);
	lane = treq->att->lane;
	if (unlikely(treq->lane != lane)) {
		/* The last request in the former lane may have met the cost of this one. */
		rnbdt_sched_take(treq->lane, &ready);
		treq->lane = lane;
	}
	waits = !(flush && rnbdt_drr_pass(&treq->att->disk, &treq->item)) &&
		rnbdt_drr_add(&treq->att->disk, &treq->item);
	if (waits) {
		atomic64_inc(&host->waits.queued);
		atomic64_inc(&host->waits.requests);
		/* Pairs with the barrier in rnbdt_sched_leave(). */
		smp_mb();
		rnbdt_sched_take(lane, &ready);
	} else {
		atomic64_add(treq->item.cost, &lane->in_flight);
	}
	spin_unlock_irqrestore(&sched->lock, flags);
	rnbdt_sched_submit(&ready);
	return !waits;
}

/**
 * rnbdt_sched_run - submit requests that have waited, if the storage has room
 * @lane: lane of a scheduler that stays
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_run(struct rnbdt_lane *lane)
{
	struct rnbdt_sched *sched = lane->sched;
	LIST_HEAD(ready);
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	rnbdt_sched_take(lane, &ready);
	spin_unlock_irqrestore(&sched->lock, flags);
	rnbdt_sched_submit(&ready);
}

/**
 * rnbdt_sched_passed - note the end of a FLUSH that has passed ahead of the order
 * @treq: FLUSH
 *
 * Called by rnbdt_sched_leave() only.
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_passed(struct rnbdt_req *treq)
{
	struct rnbdt_sched *sched = treq->att->sched;
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	rnbdt_drr_passed(&treq->att->disk);
	spin_unlock_irqrestore(&sched->lock, flags);
}

/**
 * rnbdt_sched_release - let no request of an attachment wait any more
 * @att: attachment that closes: rnbdt_may_submit() refuses its requests
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_release(struct rnbdt_attach *att)
{
	struct rnbdt_sched *sched = att->sched;
	LIST_HEAD(ready);
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	rnbdt_drr_close(&att->disk, &ready);
	spin_unlock_irqrestore(&sched->lock, flags);
	rnbdt_sched_force(&ready);
}
