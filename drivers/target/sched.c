// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness of service: requests that wait in front of the storage.
 *
 * Operation
 *
 * A device queues all requests that it gets, so the host with the most requests in flight would
 * get most of the service. Therefore the target limits the total cost of the requests in the
 * storage; this limit is the window. A request goes to the storage at once if no request waits and
 * the cost in flight is below the window. Otherwise it waits, unless it is a FLUSH that may pass
 * ahead (drr.c). When the storage has completed requests, drr.c selects the waiting requests that
 * are dequeued. sched_group.c decides which hosts and exports share a window.
 *
 * A dequeued request is submitted by the work item of its attachment and queue. When an
 * attachment closes, its waiting requests are dequeued at once and passed to the same work item,
 * and rnbdt_may_submit() refuses them before they reach the storage. So a closing attachment
 * never waits for requests of other attachments.
 *
 * Ownership
 *
 * A request that waits or is in flight holds a reference on its attachment, so that its lane is
 * not freed.
 *
 * Concurrency
 *
 * While no request waits, a request costs two operations on an atomic counter and two reads of the
 * number of waiting requests; the lock is not taken. If one request begins to wait while the last
 * request in flight leaves, barriers ensure that the context of at least one of the two sees the
 * other request, and then dequeues waiting requests. So no request waits forever. in_flight has a
 * cache line of its own. A request in flight is counted in the lane that it has entered, even if
 * its host has changed to another lane.
 *
 * Requests are dequeued, several at a time, when the cost in flight has fallen to seven eighths
 * of the window. This hysteresis saves wakeups, and the storage is not idle while a request
 * waits.
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

/*
 * If the cost in flight has fallen to sched->low, dequeue waiting requests until the cost reaches
 * the window. Called under the lock.
 */
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
 * Submit dequeued requests. A request can be completed and freed as soon as it is in the list of
 * its work item. Only the request that made the list non-empty cannot be completed yet, because
 * only this context queues the work item of the list.
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
 * rnbdt_sched_force - submit dequeued requests even if the window is full
 * @ready: requests that rnbdt_drr_close() has dequeued
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
 * rnbdt_sched_wait - enqueue a request, unless it may pass after all
 * @treq: request whose cost is set, but not counted in a lane
 *
 * A FLUSH can pass ahead of waiting requests (drr.c). Each request of a closing attachment passes,
 * and rnbdt_may_submit() refuses it. Called by rnbdt_sched_enter() only.
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
		/*
		 * rnbdt_sched_enter() possibly added the cost of this request to the former lane
		 * for a moment. If another request completed in that moment, its context possibly
		 * saw this cost and dequeued nothing, so dequeue from the former lane now.
		 */
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
 * rnbdt_sched_run - submit waiting requests if the cost in flight is low enough
 * @lane: lane of a scheduler that the caller keeps from being freed
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
 * rnbdt_sched_passed - record the end of a FLUSH that has passed ahead of waiting requests
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
 * rnbdt_sched_release - dequeue and submit all waiting requests of an attachment
 * @att: attachment that closes, so rnbdt_may_submit() refuses its requests
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
