// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalled hardware queues, and the share of a disk in its session.
 *
 * Operation
 *
 * The disks of a session share its queues and its pool. A hardware queue that lacks a
 * credit, a send slot, a wire tag or send-queue entries (the high watermark) is stopped
 * and waits in a list of its queue, first in, first out. Completions of the queue start
 * it again at the low watermarks, which always hold when nothing is in flight. A hardware
 * queue that lacks pool space is stopped and waits in a list of the session (waiter.c). A
 * work item starts it, because the space may come from another queue. When the pool grows,
 * that work item also starts hardware queues that were stopped at the share of their disk.
 *
 * A disk whose storage hangs must not keep the other disks from working (rule R4). So a
 * hardware queue may take another wire tag only while it then holds at most disk_share
 * times the free ones of its queue, and more pool space only while its disk then holds at
 * most disk_share times the free space of the session. This is the dynamic threshold of
 * Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
 * switches". With little free space the threshold alone would give away the last of it, so
 * a part is reserved while there are hardware queues that hold no tag: a tag for each of
 * them, at most half of the tags; space for the largest request of each, at most an eighth
 * of the pool; send-queue entries for one such request. The first request of a hardware
 * queue may use the reserve, except for one unit of each other hardware queue that holds no
 * tag. A queue has more wire tags than a disk has requests, so that a disk without
 * neighbours reaches its depth.
 *
 * Ownership: the lists of stalled hardware queues refer to the disks, which leave them
 * before they are freed. What is held is counted per hardware queue, orphans (orphan.c)
 * included.
 *
 * Concurrency: the lock of the queue's ring protects lists and counters. The units that
 * other queues and hardware queues have are read without their locks: the threshold need
 * not be exact. A hardware queue that is found for a restart is started after the locks are
 * dropped, under RCU.
 *
 * Errors: none.
 */

#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <rnbd/wire.h>

#include "../core/param.h"
#include "../core/ring.h"
#include "cache.h"
#include "client.h"
#include "disk.h"
#include "queue.h"
#include "session.h"
#include "stall.h"
#include "trace.h"

RNBD_PARAM_UINT(disk_share, 8, 1, 65535,
		"a disk may take pool space and tags of a queue while it holds less than this many times the free ones");

/* The value of disk_share for which rnbdc_wire_depth() adds wire tags. */
#define RNBDC_DISK_SHARE	8

/* Jiffies from one tick of waiter.c to the next. */
#define RNBDC_STALL_TICK	(HZ / 10)

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

/* Remove a hardware queue from the list of those that are stalled. */
static void rnbdc_unstall(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;
	struct rnbdc_hwq **at;

	lockdep_assert_held(&q->ring.lock);

	for (at = &q->stalled; *at && *at != hwq; at = &(*at)->next_stalled)
		;
	if (!*at)
		return;
	*at = hwq->next_stalled;
	if (!*at)
		q->stalled_tail = at;
	hwq->stalled = false;
}

/**
 * rnbdc_hwq_use - begin or end the use of a queue by a hardware queue
 * @hwq: hardware queue; one that may have requests in flight when the use ends
 * @use: requests are submitted through @hwq from now on, or no longer
 *
 * When the use ends, a completion handler may be about to start the hardware queue until
 * the caller has waited for a grace period of RCU.
 *
 * Context: process context; takes the lock of the queue's ring.
 */
void rnbdc_hwq_use(struct rnbdc_hwq *hwq, bool use)
{
	struct rnbdc_queue *q = hwq->queue;

	spin_lock_irq(&q->ring.lock);
	if (hwq->in_use != use && !hwq->tags)
		q->nr_idle += use ? 1 : -1;
	hwq->in_use = use;
	if (!use)
		rnbdc_unstall(hwq);
	spin_unlock_irq(&q->ring.lock);
	if (!use)
		rnbdc_space_forget(&hwq->waiter);
}

/* Tags to leave for the hardware queues that have none. */
static u32 rnbdc_reserved_tags(const struct rnbdc_queue *q)
{
	return min(q->nr_idle, q->nr_tags / 2);
}

/* May @held become @held + @more, with @factor the times of what is free then? */
static bool rnbdc_below_share(u32 held, u32 more, u32 free, u32 reserved, u32 factor)
{
	return free >= more + reserved &&
	       held + more <= (u64)factor * (free - more - reserved);
}

static bool rnbdc_tags_below_share(const struct rnbdc_hwq *hwq, u32 factor)
{
	const struct rnbdc_queue *q = hwq->queue;

	/* The first one is reserved. */
	if (!hwq->tags)
		return q->nr_free_tags;
	return rnbdc_below_share(hwq->tags, 1, q->nr_free_tags, rnbdc_reserved_tags(q), factor);
}

/* Units that the hardware queues of a disk have. */
static u32 rnbdc_disk_units(const struct rnbdc_disk *disk)
{
	const struct rnbdc_hwq *hwq;
	u32 units = 0;

	rnbdc_for_each_hwq(hwq, disk)
		units += READ_ONCE(hwq->units);
	return units;
}

/* Hardware queues of a session that have no wire tag. */
static u32 rnbdc_idle_hwqs(const struct rnbdc_session *sess)
{
	u32 i, idle = 0;

	for (i = 0; i < sess->nr_queues; i++)
		idle += READ_ONCE(sess->queues[i]->nr_idle);
	return idle;
}

/* Units to leave for the largest requests of hardware queues that have no wire tag. */
static u32 rnbdc_reserved_units(const struct rnbdc_session *sess)
{
	return min((u64)rnbdc_idle_hwqs(sess) * sess->space.max_units,
		   rnbdc_space_reserve(&sess->space));
}

/* Units that the first request of a hardware queue leaves for those of others. */
static u32 rnbdc_first_reserve(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_session *sess = hwq->queue->sess;

	return min(rnbdc_idle_hwqs(sess) - (hwq->in_use && !hwq->tags),
		   rnbdc_space_reserve(&sess->space));
}

/*
 * Units that no request has, in whichever queue. Hung storage may keep units of closed segments
 * for long: these are not in the pool any longer.
 */
static u32 rnbdc_free_units(const struct rnbdc_session *sess)
{
	u32 i, units, used = 0;

	for (i = 0; i < sess->nr_queues; i++)
		used += rnbdc_cache_used_units(&sess->queues[i]->cache);
	units = READ_ONCE(sess->space.units);
	return units - min(used, units);
}

/* May a hardware queue take @units for its first request? */
static bool rnbdc_first_units_fit(const struct rnbdc_hwq *hwq, u32 units)
{
	const struct rnbdc_session *sess = hwq->queue->sess;
	u32 free;

	/* The space that was kept for a turn includes the reserve. */
	if (READ_ONCE(hwq->waiter.turn))
		return true;
	free = rnbdc_free_units(sess);
	return free == READ_ONCE(sess->space.units) || free >= units + rnbdc_first_reserve(hwq);
}

static bool rnbdc_units_below_share(const struct rnbdc_hwq *hwq, u32 more, u32 factor)
{
	const struct rnbdc_session *sess = hwq->queue->sess;
	u32 free, units;

	if (likely(!rnbdc_space_scarce(&sess->space)))
		return true;
	if (!hwq->units)
		return rnbdc_first_units_fit(hwq, more);
	/* Spare the sums if one disk that has all the rest were below its share. */
	units = READ_ONCE(sess->space.units);
	free = min(rnbdc_cache_free_units(&hwq->queue->cache), units);
	if (rnbdc_below_share(units - free, more, free, rnbdc_space_reserve(&sess->space), factor))
		return true;
	return rnbdc_below_share(rnbdc_disk_units(hwq->disk), more, rnbdc_free_units(sess),
				 rnbdc_reserved_units(sess), factor);
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
	return rnbdc_tags_below_share(hwq, READ_ONCE(disk_share));
}

/**
 * rnbdc_may_take_units - test whether a disk may take more pool space
 * @hwq: hardware queue of the disk
 * @units: number of units of the request
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if so; a request may still be larger than the free space. If not, the
 * hardware queue has requests in flight, or rnbdc_hwq_wait() is to be called.
 */
bool rnbdc_may_take_units(const struct rnbdc_hwq *hwq, u32 units)
{
	return rnbdc_units_below_share(hwq, units, READ_ONCE(disk_share));
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

/* Count a stop of a hardware queue. */
static void rnbdc_note_stall(struct rnbdc_queue *q, enum rnbdc_stall stall)
{
	switch (stall) {
	case RNBDC_STALL_CREDIT:
		q->stats.credit_stalls++;
		break;
	case RNBDC_STALL_SQ:
		q->stats.sq_stalls++;
		break;
	case RNBDC_STALL_POOL:
	case RNBDC_STALL_SHARE:
		q->stats.pool_stalls++;
		break;
	}
	trace_rnbdc_stop(q, stall);
}

/**
 * rnbdc_hwq_stall - stop a hardware queue until completions start it again
 * @hwq: hardware queue
 * @stall: what it lacks, except RNBDC_STALL_POOL
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_stall(struct rnbdc_hwq *hwq, enum rnbdc_stall stall)
{
	struct rnbdc_queue *q = hwq->queue;

	lockdep_assert_held(&q->ring.lock);

	/* The block layer dispatches the request again, to another queue. */
	if (unlikely(!hwq->in_use))
		return;
	rnbdc_note_stall(q, stall);
	if (!hwq->stalled) {
		hwq->stalled = true;
		hwq->next_stalled = NULL;
		*q->stalled_tail = hwq;
		q->stalled_tail = &hwq->next_stalled;
	}
	blk_mq_stop_hw_queue(hwq->hctx);
}

/**
 * rnbdc_hwq_wait - stop a hardware queue until the session has space for it
 * @hwq: hardware queue
 * @units: units that its request needs
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_wait(struct rnbdc_hwq *hwq, u32 units)
{
	lockdep_assert_held(&hwq->queue->ring.lock);

	if (unlikely(!hwq->in_use))
		return;
	rnbdc_note_stall(hwq->queue, RNBDC_STALL_POOL);
	/* First, because it may be started as soon as it waits. */
	blk_mq_stop_hw_queue(hwq->hctx);
	rnbdc_space_wait(&hwq->waiter, units, hwq->units ? 0 : rnbdc_first_reserve(hwq));
}

/**
 * rnbdc_disk_forget_waits - let the hardware queues of a disk no longer wait for space
 * @disk: disk whose queues are quiesced, and started when that ends
 *
 * Other disks need not wait for space that this one cannot use.
 *
 * Context: process context.
 */
void rnbdc_disk_forget_waits(struct rnbdc_disk *disk)
{
	struct rnbdc_hwq *hwq;

	rnbdc_for_each_hwq(hwq, disk)
		rnbdc_space_forget(&hwq->waiter);
}

static void rnbdc_start_waiter(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;

	spin_lock_irq(&q->ring.lock);
	q->stats.starts++;
	trace_rnbdc_start(q, -1);
	spin_unlock_irq(&q->ring.lock);
	blk_mq_start_stopped_hw_queue(hwq->hctx, true);
}

/*
 * Start hardware queues that were stopped at the share of their disk, if the pool has grown
 * since. While the storage of a disk hangs, no completion of its queue does so.
 */
static void rnbdc_stall_restart(struct rnbdc_queue *q)
{
	struct rnbdc_hwq *start;

	if (likely(!READ_ONCE(q->stalled)))
		return;
	spin_lock_irq(&q->ring.lock);
	start = rnbdc_restart_hw_queues(q);
	spin_unlock_irq(&q->ring.lock);
	while (start) {
		struct rnbdc_hwq *hwq = start;

		start = hwq->next_start;
		blk_mq_start_stopped_hw_queue(hwq->hctx, true);
	}
}

/* Start hardware queues that waited for space, with what all queues do not use. */
static void rnbdc_stall_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, stall_work);
	struct rnbdc_waiter *waiter;
	u32 i;

	rnbdc_space_collect(&sess->space);
	if (time_after_eq(jiffies, sess->stall_tick + RNBDC_STALL_TICK)) {
		sess->stall_tick = jiffies;
		rnbdc_space_tick(&sess->space);
	}
	rcu_read_lock();
	while ((waiter = rnbdc_space_next_turn(&sess->space)))
		rnbdc_start_waiter(container_of(waiter, struct rnbdc_hwq, waiter));
	for (i = 0; i < sess->nr_queues; i++)
		rnbdc_stall_restart(sess->queues[i]);
	rcu_read_unlock();
	if (READ_ONCE(sess->space.flags) & (RNBDC_SPACE_WAITERS | RNBDC_SPACE_TURNS))
		queue_delayed_work(rnbdc_timer_wq, &sess->stall_work, RNBDC_STALL_TICK);
}

static void rnbdc_stall_kick(struct rnbdc_space *space)
{
	struct rnbdc_session *sess = container_of(space, struct rnbdc_session, space);

	if (sess->stall_open)
		mod_delayed_work(rnbdc_timer_wq, &sess->stall_work, 0);
	if (sess->lease_open)
		mod_delayed_work(rnbdc_timer_wq, &sess->lease.lease_work, 0);
}

static void rnbdc_stall_set_open(struct rnbdc_session *sess, bool open)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->space.lock, flags);
	sess->stall_open = open;
	spin_unlock_irqrestore(&sess->space.lock, flags);
}

/**
 * rnbdc_stall_init - initialise what starts hardware queues that wait for space
 * @sess: session that is being allocated
 *
 * Context: any.
 */
void rnbdc_stall_init(struct rnbdc_session *sess)
{
	INIT_DELAYED_WORK(&sess->stall_work, rnbdc_stall_work);
	rnbdc_space_init(&sess->space, rnbdc_stall_kick);
}

/**
 * rnbdc_stall_start - let hardware queues that wait for space be started
 * @sess: session whose pool is open
 *
 * Context: process context.
 */
void rnbdc_stall_start(struct rnbdc_session *sess)
{
	rnbdc_stall_set_open(sess, true);
}

/**
 * rnbdc_stall_stop - stop the work item that starts hardware queues that wait for space
 * @sess: session whose queues are not ready for requests and drained
 *
 * Disks may come and go until rnbdc_stall_start(), but the work item does not run: the tables
 * of the pool are about to be freed.
 *
 * Context: process context, may sleep; not rnbdc_timer_wq.
 */
void rnbdc_stall_stop(struct rnbdc_session *sess)
{
	rnbdc_stall_set_open(sess, false);
	cancel_delayed_work_sync(&sess->stall_work);
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
	rnbdc_space_forget_all(&q->cache);
}

/* The low watermarks of what all hardware queues share alike. */
static bool rnbdc_above_low_watermark(const struct rnbdc_queue *q)
{
	const struct rnbd_ring *ring = &q->ring;

	return ring->out.credits >= max(ring->out.slots / 4, 2) && q->nr_free_tags &&
	       ring->send_free >= max(ring->nr_send / 4, 2);
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
	       rnbdc_tags_below_share(hwq, factor) && rnbdc_units_below_share(hwq, 1, factor);
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

	/* Without a connection the tables of the pool may be about to be freed. */
	if (unlikely(!q->ready))
		return NULL;
	rnbdc_cache_restart(&q->cache);
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
