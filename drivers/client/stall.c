// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalled hardware queues, and the share of a disk in a queue of the session.
 *
 * Operation
 *
 * The disks of a session share its queues. A hardware queue that lacks a credit, a send
 * slot, a wire tag, send-queue entries or pool space (the high watermark) is stopped and
 * waits in a list of the queue, first in, first out. Completions start it again at the low
 * watermarks, which always hold when nothing is in flight.
 *
 * A disk whose storage hangs must not keep the other disks from working. So a hardware
 * queue may take another wire tag or pool unit only while it holds fewer than disk_share
 * times the free ones. This is the dynamic threshold of Choudhury and Hahne, "Dynamic
 * queue length thresholds for shared-memory packet switches". With few free ones the
 * threshold alone would give the last ones away, so a part is reserved while there are
 * hardware queues that hold none: for each of them a tag and space for the largest request,
 * at most a half of each, and send-queue entries for one such request. A queue has more wire tags than a disk has requests, so that a
 * disk without neighbours reaches its depth.
 *
 * Ownership: the list of stalled hardware queues refers to the disks, which leave it before
 * they are freed. What is held is counted per hardware queue, orphans (orphan.c) included.
 *
 * Concurrency: the lock of the queue's ring protects lists and counters. A hardware queue
 * that is found for a restart is started after the lock is dropped, under RCU.
 *
 * Errors: none.
 */

#include <linux/blk-mq.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <rnbd/wire.h>

#include "../core/param.h"
#include "../core/pool.h"
#include "../core/ring.h"
#include "disk.h"
#include "queue.h"
#include "stall.h"
#include "trace.h"

RNBD_PARAM_UINT(disk_share, 8, 1, 65535,
		"a disk may take pool space and tags of a queue while it holds less than this many times the free ones");

/* The value of disk_share for which rnbdc_wire_depth() adds wire tags. */
#define RNBDC_DISK_SHARE	8

/**
 * rnbdc_wire_depth - get the number of wire tags to request for a queue
 * @depth: requests of a disk that may be in flight on the queue
 *
 * Context: any.
 * Return: so many that a disk alone reaches @depth with the default of disk_share.
 */
u32 rnbdc_wire_depth(u32 depth)
{
	return min(depth + DIV_ROUND_UP(depth, RNBDC_DISK_SHARE), RNBD_DEPTH_MAX);
}

/**
 * rnbdc_hwq_join - let a hardware queue use its queue
 * @hwq: new hardware queue without requests
 *
 * Context: process context; takes the lock of the queue's ring.
 */
void rnbdc_hwq_join(struct rnbdc_hwq *hwq)
{
	spin_lock_irq(&hwq->queue->ring.lock);
	hwq->queue->nr_idle++;
	spin_unlock_irq(&hwq->queue->ring.lock);
}

/**
 * rnbdc_hwq_leave - end the use of a queue by a hardware queue
 * @hwq: hardware queue without requests, which is about to be freed
 *
 * A completion handler may be about to start the hardware queue until the caller has waited
 * for a grace period of RCU.
 *
 * Context: process context; takes the lock of the queue's ring.
 */
void rnbdc_hwq_leave(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;
	struct rnbdc_hwq **at;

	spin_lock_irq(&q->ring.lock);
	WARN_ON_ONCE(hwq->tags);
	q->nr_idle--;
	for (at = &q->stalled; *at && *at != hwq; at = &(*at)->next_stalled)
		;
	if (*at) {
		*at = hwq->next_stalled;
		if (!*at)
			q->stalled_tail = at;
	}
	spin_unlock_irq(&q->ring.lock);
}

/* Tags to leave for the hardware queues that have none; many of them share a half. */
static u32 rnbdc_reserved_tags(const struct rnbdc_queue *q)
{
	return min(q->nr_idle, q->nr_tags / 2);
}

/* Units to leave for the largest requests of hardware queues that have none. */
static u32 rnbdc_reserved_units(const struct rnbdc_queue *q)
{
	u64 largest = q->sess->grant.max_io >> RNBD_UNIT_SHIFT;

	return min(q->nr_idle * largest, q->pool.units / 2);
}

/* May @held become @held + @more, with @factor the times of what is free then? */
static bool rnbdc_below_share(u32 held, u32 more, u32 free, u32 reserved, u32 factor)
{
	return free >= more + reserved &&
	       held + more <= (u64)factor * (free - more - reserved);
}

static bool rnbdc_tag_fits(const struct rnbdc_hwq *hwq, u32 factor)
{
	const struct rnbdc_queue *q = hwq->queue;

	/* The first one is reserved. */
	if (!hwq->tags)
		return q->nr_free_tags;
	return rnbdc_below_share(hwq->tags, 1, q->nr_free_tags, rnbdc_reserved_tags(q), factor);
}

static bool rnbdc_units_fit(const struct rnbdc_hwq *hwq, u32 units, u32 factor)
{
	const struct rnbdc_queue *q = hwq->queue;
	u32 free = q->pool.units - q->pool.used;

	/* The reserve is for a first request; a unit stays for each of the others. */
	if (!hwq->units)
		return free == q->pool.units ||
		       free >= units + min(q->nr_idle - !hwq->tags, q->pool.units / 8);
	return rnbdc_below_share(hwq->units, units, free, rnbdc_reserved_units(q), factor);
}

/**
 * rnbdc_may_take_tag - test whether a disk may take another wire tag
 * @hwq: hardware queue of the disk
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if so.
 */
bool rnbdc_may_take_tag(const struct rnbdc_hwq *hwq)
{
	return rnbdc_tag_fits(hwq, READ_ONCE(disk_share));
}

/**
 * rnbdc_may_take_units - test whether a disk may take more pool space
 * @hwq: hardware queue of the disk
 * @units: number of units of the request
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if so; the free space may still be too fragmented.
 */
bool rnbdc_may_take_units(const struct rnbdc_hwq *hwq, u32 units)
{
	return rnbdc_units_fit(hwq, units, READ_ONCE(disk_share));
}

/**
 * rnbdc_may_take_wrs - test whether a disk may reserve send-queue entries
 * @hwq: hardware queue of the disk
 * @wrs: number of entries
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if so.
 */
bool rnbdc_may_take_wrs(const struct rnbdc_hwq *hwq, u32 wrs)
{
	const struct rnbdc_queue *q = hwq->queue;
	u32 reserved = hwq->tags && q->nr_idle ? min(q->max_req_wrs, q->sq_size / 8) : 0;

	return q->sq_free >= wrs + reserved;
}

/**
 * rnbdc_hwq_stall - stop a hardware queue until completions start it again
 * @hwq: hardware queue
 * @stall: what it lacks
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_stall(struct rnbdc_hwq *hwq, enum rnbdc_stall stall)
{
	struct rnbdc_queue *q = hwq->queue;

	lockdep_assert_held(&q->ring.lock);

	switch (stall) {
	case RNBDC_STALL_CREDIT:
		q->stats.credit_stalls++;
		break;
	case RNBDC_STALL_SQ:
		q->stats.sq_stalls++;
		break;
	case RNBDC_STALL_POOL:
		q->stats.pool_stalls++;
		break;
	}
	trace_rnbdc_stop(q, stall);
	if (!hwq->stalled) {
		hwq->stalled = true;
		hwq->next_stalled = NULL;
		*q->stalled_tail = hwq;
		q->stalled_tail = &hwq->next_stalled;
	}
	blk_mq_stop_hw_queue(hwq->hctx);
}

/**
 * rnbdc_clear_stalled - empty the list of stalled hardware queues
 * @q: queue without a connection; recovery starts the hardware queues
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_clear_stalled(struct rnbdc_queue *q)
{
	struct rnbdc_hwq *hwq;

	lockdep_assert_held(&q->ring.lock);

	for (hwq = q->stalled; hwq; hwq = hwq->next_stalled)
		hwq->stalled = false;
	q->stalled = NULL;
	q->stalled_tail = &q->stalled;
}

/* The low watermarks of what all hardware queues share alike. */
static bool rnbdc_above_low_watermark(const struct rnbdc_queue *q)
{
	const struct rnbd_ring *ring = &q->ring;

	return ring->credits >= max(ring->peer_slots / 4, 2) && q->nr_free_tags &&
	       ring->send_free >= max(ring->attr.slots / 4, 2u);
}

/* The low watermarks of a hardware queue: three quarters of what it can get alone. */
static bool rnbdc_may_start(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_queue *q = hwq->queue;
	u32 factor = min(READ_ONCE(disk_share), 3u);

	/* Without a request in flight no completion of its own would start it. */
	if (!hwq->tags)
		return q->sq_free;
	return q->sq_free >= min(q->sq_size / 4, q->max_req_wrs) &&
	       rnbdc_tag_fits(hwq, factor) && rnbdc_units_fit(hwq, 1, factor);
}

/**
 * rnbdc_restart_hw_queues - clear the stop of hardware queues at the low watermarks
 * @q: queue
 *
 * Context: completion handler of @q, ring.lock held.
 * Return: the hardware queues that the caller must start after it has dropped the lock,
 * linked by rnbdc_hwq.next_start in the order in which they stalled; NULL if none.
 */
struct rnbdc_hwq *rnbdc_restart_hw_queues(struct rnbdc_queue *q)
{
	struct rnbdc_hwq *first = NULL, **last = &first, **at = &q->stalled, *hwq;

	if (likely(!q->stalled) || !q->ring.live || !rnbdc_above_low_watermark(q))
		return NULL;
	while ((hwq = *at)) {
		if (!rnbdc_may_start(hwq)) {
			at = &hwq->next_stalled;
			continue;
		}
		*at = hwq->next_stalled;
		hwq->stalled = false;
		hwq->next_start = NULL;
		*last = hwq;
		last = &hwq->next_start;
		q->stats.starts++;
		trace_rnbdc_start(q, -1);
	}
	q->stalled_tail = at;
	return first;
}
