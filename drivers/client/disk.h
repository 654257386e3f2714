/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk: one attached export, as the block layer sees it.
 *
 * Operation: a disk has a tag set and a gendisk (gendisk.c), and a struct rnbdc_hwq for
 * each hardware queue, which leads from a request of the block layer to the disk and to
 * the queue of the session that carries it.
 *
 * Ownership: the session contains the disk, and the disk exists as long as the session.
 * The hardware queues are freed with the tag set.
 *
 * Concurrency: the member documentation names the lock of each member. A member that
 * names no lock is constant once the disk is visible.
 */
#ifndef RNBDC_DISK_H
#define RNBDC_DISK_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/workqueue.h>

struct rnbdc_disk;
struct rnbdc_queue;
struct rnbdc_session;

/**
 * struct rnbdc_hwq - a hardware queue of a disk
 * @disk: disk; constant
 * @queue: queue that carries the requests; constant
 * @hctx: hardware queue of blk-mq; constant
 * @last_write_ns: ktime_get_ns() when the latest write was acknowledged that needs a
 *	flush to be durable; written under the lock of @queue's ring
 */
struct rnbdc_hwq {
	struct rnbdc_disk *disk;
	struct rnbdc_queue *queue;
	struct blk_mq_hw_ctx *hctx;
	u64 last_write_ns;
};

/**
 * struct rnbdc_disk - the disk of a session
 * @sess: session that contains the disk
 * @tag_set: blk-mq tags
 * @hwqs: hardware queues by index, as many as @tag_set has
 * @gd: the disk; NULL until rnbdc_disk_create()
 * @made_ns: ktime_get_ns() when the disk was created
 * @parent: parent device of the disk; NULL until it is added
 * @index: N of the disk name rnbdN, or -1
 * @max_segments: memory pieces of one request: its pages, or bounce memory
 * @flushed_ns: ktime_get_ns() when the latest successful FLUSH was sent; written
 *	with cmpxchg
 * @retry_work: sends requests again that the target could not execute, see complete.c;
 *	on rnbdc_timer_wq
 */
struct rnbdc_disk {
	struct rnbdc_session *sess;
	struct blk_mq_tag_set tag_set;
	struct rnbdc_hwq *hwqs;
	struct gendisk *gd;
	u64 made_ns;
	struct device *parent;
	int index;
	u32 max_segments;
	u64 flushed_ns;
	struct delayed_work retry_work;
};

#endif /* RNBDC_DISK_H */
