// SPDX-License-Identifier: GPL-2.0-only
/*
 * Share of a disk in the tags, the send queue and the pool of its session.
 *
 * Operation
 *
 * A disk whose storage hangs must not block the other disks of the session.
 * Therefore a hardware queue may take another wire tag only if it then holds at most
 * disk_share times the remaining free tags of its queue. A disk may take more pool space
 * only if it then holds at most disk_share times the remaining free space of the session.
 * This is the dynamic threshold of Choudhury and Hahne, "Dynamic queue length thresholds
 * for shared-memory packet switches".
 *
 * The threshold alone would let disks that already have requests in flight take the last free
 * tags and units. So a part of each resource is reserved while some hardware queues hold no
 * tag: one tag for each of these hardware queues, at most half of the tags; pool space for the
 * largest request of each of them, at most an eighth of the pool; and send-queue entries for
 * one request of the largest size, at most half of the entries. The first request of a hardware
 * queue may use the reserved tags and entries, the first request of a disk at least half of the
 * reserved space (share.h).
 *
 * The threshold leaves some tags of a queue free even if a single disk uses the queue. So a
 * queue has more wire tags than the depth of a disk, and a single disk reaches its depth.
 *
 * Ownership: The functions allocate and keep nothing. The tags and units that each
 * hardware queue holds are counted in struct rnbdc_hwq, orphans (orphan.c) included.
 *
 * Concurrency: The lock of the queue's ring protects the counters. The counters of other
 * queues and hardware queues are read without their locks, because the threshold need not
 * be exact.
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
		"a disk may take more pool space or another tag of a queue only while it holds less than this many times what is free");

/* Value of disk_share for which rnbdc_wire_depth() computes the number of wire tags. */
#define RNBDC_DISK_SHARE	8

/**
 * rnbdc_wire_depth - get the number of wire tags to request for a queue
 * @depth: requests of one disk that may be in flight on the queue
 *
 * Context: any.
 * Return: number of tags with which one disk alone reaches @depth at the default disk_share, at
 * most RNBD_DEPTH_MAX.
 */
u32 rnbdc_wire_depth(u32 depth)
{
	return min(depth + DIV_ROUND_UP(depth, RNBDC_DISK_SHARE), RNBD_DEPTH_MAX);
}

/* Get the number of tags that are reserved for hardware queues without a tag. */
static u32 rnbdc_reserved_tags(const struct rnbdc_queue *q)
{
	return min(q->nr_idle, q->nr_tags / 2);
}

static bool rnbdc_tags_below_share(const struct rnbdc_hwq *hwq, u32 factor)
{
	const struct rnbdc_queue *q = hwq->queue;

	/* The first tag of a hardware queue may come from the reserve. */
	if (!hwq->tags)
		return q->nr_free_tags;
	return rnbdc_below_share(hwq->tags, 1, q->nr_free_tags, rnbdc_reserved_tags(q), factor);
}

/**
 * rnbdc_disk_share - get the share of a disk in the pool of its session, for administrators
 * @sess: session
 *
 * Context: any.
 * Return: largest number of units that a disk can hold while other disks also need space. It
 * is disk_share times the number of units that are free at that point outside the reserve.
 */
u32 rnbdc_disk_share(const struct rnbdc_session *sess)
{
	u32 units = READ_ONCE(sess->space.units), factor = READ_ONCE(disk_share);

	units -= min(units, rnbdc_space_reserve(&sess->space));
	return div_u64((u64)factor * units, factor + 1);
}

/**
 * rnbdc_disk_units - get the pool space that the requests of a disk hold
 * @disk: disk
 *
 * Context: any.
 * Return: number of units, not exact if other queues take or free units concurrently.
 */
u32 rnbdc_disk_units(const struct rnbdc_disk *disk)
{
	const struct rnbdc_hwq *hwq = NULL;
	u32 units = 0;

	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		units += READ_ONCE(hwq->units);
	return units;
}

/* Count the other hardware queues of a session that hold no wire tag. */
static u32 rnbdc_idle_others(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_session *sess = hwq->queue->sess;
	u32 i, idle = 0;

	for (i = 0; i < sess->nr_queues; i++)
		idle += READ_ONCE(sess->queues[i]->nr_idle);
	return idle - (hwq->in_use && !hwq->tags);
}

/**
 * rnbdc_spare_units - get the units that the first request of a disk must leave for others
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
 * Get the number of units of a session that are not allocated to any request. Closed segments are
 * left out, with their units in use: hung storage can keep these units for long.
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
	/* First serve the hardware queues of the disk that hold no space and lack it. */
	if (hwq->units && atomic_read(&hwq->disk->nr_lacking))
		return false;
	/*
	 * Avoid the sums below, which read memory that other CPUs write. If this disk would be
	 * below its share even if it held all units that this queue cannot allocate, allow it.
	 */
	units.all = READ_ONCE(sess->space.units);
	free = min(rnbdc_cache_free_units(&hwq->queue->cache), units.all);
	if (rnbdc_below_share(units.all - free, more, free, reserve, factor))
		return true;
	units.held = rnbdc_disk_units(hwq->disk);
	/* A turn begins only when the units that a first request must leave free are free, too. */
	if (!units.held && READ_ONCE(hwq->waiter.turn))
		return true;
	units.free = rnbdc_free_units(sess);
	units.idle = rnbdc_idle_others(hwq);
	units.largest = sess->space.max_units;
	return rnbdc_units_allowed(&units, more, reserve, factor);
}

/**
 * rnbdc_may_take_tag - test whether a hardware queue may take another wire tag
 * @hwq: hardware queue of a disk
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if the hardware queue may take a tag.
 */
bool rnbdc_may_take_tag(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_queue *q = hwq->queue;

	/* So many tags are free that no hardware queue exceeds its share with one more tag. */
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
 * Return: true if the share of the disk allows it; the free space can still be too small.
 * After false the caller must call rnbdc_hwq_refused().
 */
bool rnbdc_may_take_units(const struct rnbdc_hwq *hwq, u32 units)
{
	return rnbdc_units_below_share(hwq, units, READ_ONCE(disk_share));
}

/**
 * rnbdc_may_take_wrs - test whether a hardware queue may reserve send-queue entries
 * @hwq: hardware queue of a disk
 * @wrs: number of entries
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if the hardware queue may reserve @wrs entries.
 */
bool rnbdc_may_take_wrs(const struct rnbdc_hwq *hwq, u32 wrs)
{
	const struct rnbdc_queue *q = hwq->queue;
	u32 reserved = hwq->tags && q->nr_idle ? min(q->max_req_wrs, q->sq_size / 2) : 0;

	return q->sq_free >= wrs + reserved;
}

/**
 * rnbdc_may_start - test the low watermarks of a hardware queue
 * @hwq: stopped hardware queue
 *
 * A hardware queue that holds tags starts if send-queue entries are free, if its share allows one
 * more tag, and if the share of its disk allows one more unit. If tags or units were refused,
 * this test uses the factor 3 in place of a larger disk_share, so that clearly more must be free
 * than at the refusal. If the number of tags or the size of the pool has changed since the
 * refusal, the test uses disk_share: the next request then takes the resource or notes the lack
 * again. While storage hangs, no completion would start the hardware queue later.
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if the caller must start the hardware queue.
 */
bool rnbdc_may_start(const struct rnbdc_hwq *hwq)
{
	const struct rnbdc_queue *q = hwq->queue;
	u32 share = READ_ONCE(disk_share), low = min(share, 3u);
	u32 units = READ_ONCE(q->sess->space.units);

	/* If the disk holds no space, skip this test: @hwq then takes space or waits (waiter.c). */
	if (hwq->lacks && rnbdc_disk_units(hwq->disk) &&
	    !rnbdc_units_below_share(hwq, hwq->lacks, share))
		return false;
	/* Without a request in flight no completion would start this hardware queue later. */
	if (!hwq->tags)
		return q->sq_free;
	return q->sq_free >= min(q->sq_size / 4, q->max_req_wrs) &&
	       rnbdc_tags_below_share(hwq, hwq->refused_tags == q->nr_tags ? low : share) &&
	       rnbdc_units_below_share(hwq, 1, hwq->refused_units == units ? low : share);
}
