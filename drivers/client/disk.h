/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk: one attached export, as the block layer sees it.
 *
 * Operation: a disk has a tag set and a gendisk (gendisk.c), and a struct rnbdc_hwq for
 * each hardware queue, which leads from a request of the block layer to the disk and to
 * the queue of the session that carries it.
 *
 * Ownership: the session contains the disk, and the disk exists as long as the session.
 * A reference of the disk is one of the session. The list of disks holds one from
 * attach until detach.
 * The hardware queues are freed with the tag set.
 *
 * Concurrency: the member documentation names the lock of each member. A member that
 * names no lock is constant once the disk is visible.
 */
#ifndef RNBDC_DISK_H
#define RNBDC_DISK_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/list.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "../core/geometry.h"
#include "options.h"

struct rnbdc_disk;
struct rnbdc_queue;
struct rnbdc_req;
struct rnbdc_session;

/* Jiffies between two changes of capacity: udev reads the disk after each. */
#define RNBDC_RESIZE_PAUSE	HZ

/* Bits of rnbdc_disk.flags */
#define RNBDC_DISK_ATTACHED	0	/* the disk may be in use; I/O waits after a loss */
#define RNBDC_DISK_DETACH	1	/* a detach has begun; opens fail */
#define RNBDC_DISK_QUIESCED	2	/* the disk's queues are quiesced */
#define RNBDC_DISK_FAIL_IO	3	/* I/O fails while there is no connection */
#define RNBDC_DISK_RESIZED	4	/* event_work must report the disk's capacity */
#define RNBDC_DISK_DEACTIVATED	5	/* I/O fails permanently; set under sess->lock */
#define RNBDC_DISK_REVOKED	6	/* the host was fenced; set before FAIL_IO */
#define RNBDC_DISK_DATA_LOST	7	/* acknowledged writes are lost; set before FAIL_IO */

/**
 * struct rnbdc_hwq - a hardware queue of a disk
 * @disk: disk; constant
 * @queue: queue that carries the requests; constant
 * @hctx: hardware queue of blk-mq; constant
 * @last_write_ns: ktime_get_ns() when the latest write was acknowledged that needs a
 *	flush to be durable
 * @stalled: @hctx is stopped at a high watermark of @queue
 * @next_stalled: next in the list of stalled hardware queues of @queue
 * @next_start: next in a list of hardware queues that a completion handler of @queue
 *	starts; only that handler uses it
 *
 * The lock of @queue's ring protects the members from @last_write_ns to @next_stalled.
 */
struct rnbdc_hwq {
	struct rnbdc_disk *disk;
	struct rnbdc_queue *queue;
	struct blk_mq_hw_ctx *hctx;
	u64 last_write_ns;
	bool stalled;
	struct rnbdc_hwq *next_stalled;
	struct rnbdc_hwq *next_start;
};

/**
 * struct rnbdc_resize - capacity that the target reported last
 * @capacity: bytes of the export, as the target last reported over this connection;
 *	read and written without a lock
 * @resize_work: sets the disk's capacity to @capacity, at most once in
 *	RNBDC_RESIZE_PAUSE; on rnbdc_wq
 * @resized_at: jiffies when @resize_work last ran
 */
struct rnbdc_resize {
	u64 capacity;
	struct delayed_work resize_work;
	unsigned long resized_at;
};

/**
 * struct rnbdc_disk_stats - counters of a disk; protected by recover_lock
 * @restarts: reconnects that found another incarnation of the export
 * @replayed: requests that were sent again after a loss
 */
struct rnbdc_disk_stats {
	u64 restarts;
	u64 replayed;
};

/**
 * struct rnbdc_disk - the disk of a session
 * @sess: session that contains the disk
 * @list: entry of rnbdc_disks; protected by rnbdc_disks_lock
 * @named: entry of rnbdc_disks_named; protected by rnbdc_disks_lock
 * @opt: options of the disk; constant
 * @flags: RNBDC_DISK_* bits
 * @tag_set: blk-mq tags
 * @hwqs: hardware queues by index, as many as @tag_set has
 * @geo: properties of the export; replaced only while the queues are quiesced, except
 *	the capacity, which is written under recover_lock and read without a lock
 * @incarnation: incarnation of the export; replaced with @geo
 * @export_uuid: identity of the data; the same over reconnects
 * @fence_generation: fence generation of this host, which a reconnect sends; 0 before
 *	the first login
 * @gd: the disk; NULL until rnbdc_disk_create()
 * @made_ns: ktime_get_ns() when the disk was created
 * @parent: parent device of the disk; NULL until it is added
 * @index: N of the disk name rnbdN, or -1
 * @max_segments: memory pieces of one request: its pages, or bounce memory
 * @flushed_ns: ktime_get_ns() when the latest successful FLUSH was sent; written
 *	with cmpxchg
 * @retry_work: sends requests again that the target could not execute, see complete.c;
 *	on rnbdc_timer_wq
 * @fail_io_work: makes I/O fail fast_io_fail seconds after a loss; on rnbdc_timer_wq
 * @held: requests of a lost connection that the target may still execute, linked by
 *	rnbdc_req.next, see hold.c; protected by recover_lock
 * @nr_held: length of @held; written under recover_lock
 * @resize: capacity that the target reported last
 * @stats: counters
 */
struct rnbdc_disk {
	struct rnbdc_session *sess;
	struct list_head list;
	struct list_head named;
	struct rnbdc_disk_options opt;
	unsigned long flags;
	struct blk_mq_tag_set tag_set;
	struct rnbdc_hwq *hwqs;
	struct rnbd_geometry geo;
	u8 incarnation[16];
	u8 export_uuid[UUID_SIZE];
	u32 fence_generation;
	struct gendisk *gd;
	u64 made_ns;
	struct device *parent;
	int index;
	u32 max_segments;
	u64 flushed_ns;
	struct delayed_work retry_work;
	struct delayed_work fail_io_work;
	struct rnbdc_req *held;
	u32 nr_held;
	struct rnbdc_resize resize;
	struct rnbdc_disk_stats stats;
};

#endif /* RNBDC_DISK_H */
