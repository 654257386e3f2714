/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fairness of service: requests that wait in front of the storage. See sched.c.
 */
#ifndef RNBDT_SCHED_H
#define RNBDT_SCHED_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "attach.h"
#include "drr.h"
#include "queue.h"

/* Largest window in requests; limits the module parameters and the attribute of an export */
#define RNBDT_WINDOW_MAX	65536

struct rnbdt_backend;
struct rnbdt_host;
struct rnbdt_sched;

/**
 * struct rnbdt_lane - a window, and the tree of requests that wait for it
 * @sched: scheduler; constant
 * @root: root of the tree, see drr.c; lock of the scheduler, but the number of waiting requests is
 *	also read without the lock
 * @in_flight: total cost of the requests of this lane that were admitted to the storage and have
 *	not ended
 */
struct rnbdt_lane {
	struct rnbdt_sched *sched;
	struct rnbdt_drr_node root;
	atomic64_t in_flight ____cacheline_aligned_in_smp;
};

/**
 * struct rnbdt_sched - scheduler in front of the queue of a storage
 * @window: cost in flight per lane at which further requests begin to wait; written under
 *	rnbdt_lock
 * @low: cost in flight to which a lane must fall before waiting requests are dequeued, several
 *	at a time; written under rnbdt_lock
 * @overhead: constant part of the cost of a request, in bytes; constant
 * @direct: I/O bypasses the page cache, so it can be charged to a cgroup; constant
 * @lock: protects the nodes of all lanes; interrupts disabled. No other lock is taken within it
 * @shared: lane of the hosts that are in no cgroup
 * @key: request queue of the storage, or NULL if the scheduler belongs to one export, which uses
 *	the page cache or is a file of a file system without a block device; constant
 * @entry: in the hash table of schedulers; rnbdt_lock
 * @backends: open backends of this storage, struct rnbdt_backend; rnbdt_lock
 * @hosts: hosts that have attached exports of this storage, struct rnbdt_sched_group; lock of
 *	sched_group.c
 */
struct rnbdt_sched {
	s64 window;
	s64 low;
	u32 overhead;
	bool direct;
	spinlock_t lock;	/* nodes */
	struct rnbdt_lane shared;
	const void *key ____cacheline_aligned_in_smp;
	struct hlist_node entry;
	struct list_head backends;
	struct list_head hosts;
};

void rnbdt_sched_release(struct rnbdt_attach *att);
bool rnbdt_sched_wait(struct rnbdt_req *treq);
void rnbdt_sched_run(struct rnbdt_lane *lane);
void rnbdt_sched_force(struct list_head *ready);
void rnbdt_sched_passed(struct rnbdt_req *treq);

/**
 * rnbdt_sched_enter - admit a request to the storage, or let it wait
 * @treq: request that holds a reference on its attachment
 *
 * The work item rnbdt_submit.submit_work submits a request that has waited.
 *
 * Context: any; does not sleep.
 * Return: true if the caller must submit the request, false if it waits.
 */
static inline bool rnbdt_sched_enter(struct rnbdt_req *treq)
{
	struct rnbdt_sched *sched = treq->att->sched;
	struct rnbdt_lane *lane = READ_ONCE(treq->att->lane);
	u32 cost = rnbdt_drr_cost(sched->overhead, treq->req.length);

	treq->item.cost = cost;
	treq->item.ahead = false;
	treq->lane = lane;
	if (likely(!READ_ONCE(lane->root.queued))) {
		if (likely(atomic64_add_return(cost, &lane->in_flight) <
			   READ_ONCE(sched->window) + cost))
			return true;
		/*
		 * If another request leaves before this subtraction, its context can see the
		 * added cost and dequeue nothing. Therefore rnbdt_sched_wait() checks again.
		 */
		atomic64_sub(cost, &lane->in_flight);
	}
	return rnbdt_sched_wait(treq);
}

/**
 * rnbdt_sched_leave - record that the storage has completed a request
 * @treq: request for which rnbdt_sched_enter() was called
 *
 * If the cost in flight is low enough now, dequeue waiting requests, which work items submit.
 *
 * Context: any; does not sleep.
 */
static inline void rnbdt_sched_leave(struct rnbdt_req *treq)
{
	struct rnbdt_sched *sched = treq->att->sched;
	struct rnbdt_lane *lane = treq->lane;
	s64 left;

	if (unlikely(treq->item.ahead))
		rnbdt_sched_passed(treq);
	/* A full barrier, which pairs with that in rnbdt_sched_wait(). */
	left = atomic64_sub_return(treq->item.cost, &lane->in_flight);
	if (unlikely(READ_ONCE(lane->root.queued)) && left <= READ_ONCE(sched->low))
		rnbdt_sched_run(lane);
}

#endif /* RNBDT_SCHED_H */
