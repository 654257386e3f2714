// SPDX-License-Identifier: GPL-2.0-only
/*
 * The share of a disk in the tags, the send queue and the pool of its session.
 *
 * Operation
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
 * queue may use the reserve of tags and entries, the first request of a disk that of space,
 * see share.h. A queue has more wire tags than a disk has requests, so that a disk without
 * neighbours reaches its depth.
 *
 * Ownership: nothing is allocated or kept. What is held is counted per hardware queue,
 * orphans (orphan.c) included.
 *
 * Concurrency: the lock of the queue's ring protects the counters. The units that other
 * queues and hardware queues have are read without their locks: the threshold need not be
 * exact.
 *
 * Errors: none.
 */

#include <linux/atomic.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <rnbd/wire.h>

#include "../core/param.h"
#include "cache.h"
#include "disk.h"
#include "queue.h"
#include "session.h"
#include "share.h"

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

/* Tags to leave for the hardware queues that have none. */
static u32 rnbdc_reserved_tags(const struct rnbdc_queue *q)
{
	return min(q->nr_idle, q->nr_tags / 2);
}

static bool rnbdc_tags_below_share(const struct rnbdc_hwq *hwq, u32 factor)
{
	const struct rnbdc_queue *q = hwq->queue;

	/* The first one is reserved. */
	if (!hwq->tags)
		return q->nr_free_tags;
	return rnbdc_below_share(hwq->tags, 1, q->nr_free_tags, rnbdc_reserved_tags(q), factor);
}

/**
 * rnbdc_disk_share - get the share of a disk in the pool of its session, for administrators
 * @sess: session
 *
 * Context: any.
 * Return: units that a disk has at most while other disks need some: disk_share times what it
 * then leaves free, without the reserve.
 */
u32 rnbdc_disk_share(const struct rnbdc_session *sess)
{
	u32 units = READ_ONCE(sess->space.units), factor = READ_ONCE(disk_share);

	units -= min(units, rnbdc_space_reserve(&sess->space));
	return div_u64((u64)factor * units, factor + 1);
}

/**
 * rnbdc_disk_units - get the pool space that the requests of a disk have
 * @disk: disk
 *
 * Context: any.
 * Return: number of units, not exact if other queues take or free some at the same time.
 */
u32 rnbdc_disk_units(const struct rnbdc_disk *disk)
{
	const struct rnbdc_hwq *hwq = NULL;
	u32 units = 0;

	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		units += READ_ONCE(hwq->units);
	return units;
}

/* Other hardware queues of a session that have no wire tag. */
static u32 rnbdc_idle_others(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_session *sess = hwq->queue->sess;
	u32 i, idle = 0;

	for (i = 0; i < sess->nr_queues; i++)
		idle += READ_ONCE(sess->queues[i]->nr_idle);
	return idle - (hwq->in_use && !hwq->tags);
}

/**
 * rnbdc_spare_units - get the units that the first request of a disk leaves for others
 * @hwq: hardware queue of the disk
 * @units: number of units of the request
 *
 * Context: any; the lock of the queue's ring held.
 * Return: number of units.
 */
u32 rnbdc_spare_units(const struct rnbdc_hwq *hwq, u32 units)
{
	const struct rnbdc_session *sess = hwq->queue->sess;

	return rnbdc_first_reserve(units, rnbdc_idle_others(hwq),
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

static bool rnbdc_units_below_share(const struct rnbdc_hwq *hwq, u32 more, u32 factor)
{
	const struct rnbdc_session *sess = hwq->queue->sess;
	u32 free, reserve = rnbdc_space_reserve(&sess->space);
	struct rnbdc_units units;

	if (likely(!rnbdc_space_scarce(&sess->space)))
		return true;
	/* Those hardware queues of the disk that have no space come first. */
	if (hwq->units && atomic_read(&hwq->disk->nr_lacking))
		return false;
	/*
	 * Spare the sums, which read memory that other processors write, if one disk that has all
	 * the rest were below its share. The first request of a disk leaves less for others.
	 */
	units.all = READ_ONCE(sess->space.units);
	free = min(rnbdc_cache_free_units(&hwq->queue->cache), units.all);
	if (rnbdc_below_share(units.all - free, more, free, reserve, factor))
		return true;
	units.held = rnbdc_disk_units(hwq->disk);
	/* The space that was kept for a turn includes the reserve. */
	if (!units.held && READ_ONCE(hwq->waiter.turn))
		return true;
	units.free = rnbdc_free_units(sess);
	units.idle = rnbdc_idle_others(hwq);
	units.largest = sess->space.max_units;
	return rnbdc_units_allowed(&units, more, reserve, factor);
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
	const struct rnbdc_queue *q = hwq->queue;

	/* More tags are free than in use: no hardware queue can exceed its share. */
	if (likely(2 * q->nr_free_tags > q->nr_tags + 2 * q->nr_idle + 1))
		return true;
	return rnbdc_tags_below_share(hwq, READ_ONCE(disk_share));
}

/**
 * rnbdc_may_take_units - test whether a disk may take more pool space
 * @hwq: hardware queue of the disk
 * @units: number of units of the request
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if so; a request may still be larger than the free space. If not,
 * rnbdc_hwq_refused() is to be called.
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
	u32 reserved = hwq->tags && q->nr_idle ? min(q->max_req_wrs, q->sq_size / 2) : 0;

	return q->sq_free >= wrs + reserved;
}

/**
 * rnbdc_may_start - test the low watermarks of a hardware queue
 * @hwq: hardware queue that is stopped
 *
 * They are three quarters of what it can get alone. If the pool or the tags have grown since
 * they were refused to it, or were never refused, it is started at its share: it then takes
 * what it needs or asks for more. While storage hangs, no completion would start it later.
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if it is to be started.
 */
bool rnbdc_may_start(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_queue *q = hwq->queue;
	u32 share = READ_ONCE(disk_share), low = min(share, 3u);
	u32 units = READ_ONCE(q->sess->space.units);

	/* When its disk has no space any more, it waits with those of other disks. */
	if (hwq->lacks && rnbdc_disk_units(hwq->disk) &&
	    !rnbdc_units_below_share(hwq, hwq->lacks, share))
		return false;
	/* Without a request in flight no completion of its own would start it. */
	if (!hwq->tags)
		return q->sq_free;
	return q->sq_free >= min(q->sq_size / 4, q->max_req_wrs) &&
	       rnbdc_tags_below_share(hwq, hwq->refused_tags == q->nr_tags ? low : share) &&
	       rnbdc_units_below_share(hwq, 1, hwq->refused_units == units ? low : share);
}
