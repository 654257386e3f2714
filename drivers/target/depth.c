// SPDX-License-Identifier: GPL-2.0-only
/*
 * Depth: the number of requests of a disk that may be in flight.
 *
 * Operation: the storage executes a limited number of requests at a time. Further requests only
 * wait in the queue of the storage, where neither the client nor the target can abort them.
 * After a connection is lost, the disk is attached again only when the storage has completed all
 * requests of the disk. Therefore the reply to an ATTACH contains a limit, and the client keeps no
 * more requests of the disk in flight. A value of storage_inflight other than 0 is the limit for
 * all disks. Otherwise the limit is the number of requests that the hardware queues of the storage
 * take (nr_requests of each queue), and at most rotational_inflight if the storage is rotational.
 * Storage without hardware queues (most device mapper devices, brd) has no limit unless it is
 * rotational. Requests through the page cache have no limit.
 *
 * Ownership: the storage belongs to the backend.
 * Concurrency: called by the control work; the parameters may change at any time.
 * Errors: none.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/module.h>

#include "../compat/block.h"
#include "../core/param.h"
#include "backend.h"
#include "depth.h"

RNBD_PARAM_UINT(storage_inflight, 0, 0, 65536,
		"requests in flight of a disk; 0: as many as the queue of its storage takes");

RNBD_PARAM_UINT(rotational_inflight, 64, 1, 65536,
		"requests in flight of a disk whose storage is rotational, unless storage_inflight is set");

/*
 * Return the number of hardware queues that serve requests without polling, or 1 if all hardware
 * queues share their tags.
 */
static u32 rnbdt_storage_queues(const struct blk_mq_tag_set *set)
{
	u32 queues = set->map[HCTX_TYPE_DEFAULT].nr_queues;

	if (set->flags & BLK_MQ_F_TAG_HCTX_SHARED)
		return 1;
	if (set->nr_maps > HCTX_TYPE_READ)
		queues += set->map[HCTX_TYPE_READ].nr_queues;
	return queues;
}

/* Return the number of requests that the storage takes, or U32_MAX if it has no bound. */
static u32 rnbdt_storage_takes(const struct rnbdt_backend *be)
{
	struct block_device *bdev = be->bdev ?: file_inode(be->file)->i_sb->s_bdev;
	u32 takes = U32_MAX;
	struct request_queue *queue;

	/* Requests to the page cache do not wait in a queue of the storage. */
	if (!bdev || !be->direct)
		return takes;
	queue = bdev_get_queue(bdev);
	if (queue_is_mq(queue))
		takes = READ_ONCE(queue->nr_requests) * rnbdt_storage_queues(queue->tag_set);
	if (bdev_rot(bdev))
		takes = min(takes, READ_ONCE(rotational_inflight));
	return takes;
}

/**
 * rnbdt_depth_limit - return how many requests of a disk may be in flight
 * @be: backend of the export
 *
 * Context: process context.
 * Return: requests in flight, or 0 if there is no bound.
 */
u32 rnbdt_depth_limit(const struct rnbdt_backend *be)
{
	u32 limit = READ_ONCE(storage_inflight) ?: rnbdt_storage_takes(be);

	return limit == U32_MAX ? 0 : limit;
}
