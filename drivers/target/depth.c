// SPDX-License-Identifier: GPL-2.0-only
/*
 * Depth: how many requests of a session may be in flight.
 *
 * Operation: requests beyond what the storage works on only wait in its queue, where
 * neither the client nor the target can abort them: a lost connection is replaced
 * when the last of them has ended. So the queues and the depth that a login is
 * granted allow no more requests than the queue of the storage takes
 * (nr_requests, of each hardware queue), and few if the storage is rotational. Storage
 * without a request queue (device mapper, brd, files in the page cache) has no such
 * bound. Fewer queues are granted rather than a depth below RNBDT_DEPTH_MIN.
 *
 * A reconnect is granted what the disk was created with, even if the storage or the
 * parameters were changed since: the client could not use less.
 *
 * Ownership: the storage belongs to the backend.
 * Concurrency: called by the login work; the parameters may change at any time.
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
#include "session.h"

RNBD_PARAM_UINT(storage_inflight, 0, 0, 65536,
		"requests in flight of a session; 0: as many as the queue of its storage takes");

RNBD_PARAM_UINT(rotational_inflight, 64, 1, 65536,
		"requests in flight of a session whose storage is rotational, unless storage_inflight is set");

/* Depth of a queue below which fewer queues are granted instead. */
#define RNBDT_DEPTH_MIN		32u

/* Hardware queues of the storage for requests whose submitter does not poll. */
static u32 rnbdt_storage_queues(const struct blk_mq_tag_set *set)
{
	u32 queues = set->map[HCTX_TYPE_DEFAULT].nr_queues;

	if (set->flags & BLK_MQ_F_TAG_HCTX_SHARED)
		return 1;
	if (set->nr_maps > HCTX_TYPE_READ)
		queues += set->map[HCTX_TYPE_READ].nr_queues;
	return queues;
}

/* Requests that the storage takes, or U32_MAX if it has no bound. */
static u32 rnbdt_storage_takes(const struct rnbdt_backend *be)
{
	struct block_device *bdev = be->bdev ?: file_inode(be->file)->i_sb->s_bdev;
	u32 takes = U32_MAX;
	struct request_queue *queue;

	/* Requests to the page cache end without the storage. */
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
 * rnbdt_depth_fit - cut the granted queues and depth to what the storage takes
 * @s: session that is bound to an export; granted.nr_queues and granted.depth are set
 *
 * Context: login work.
 */
void rnbdt_depth_fit(struct rnbdt_session *s)
{
	u32 limit = READ_ONCE(storage_inflight) ?: rnbdt_storage_takes(s->att.backend);
	u32 depth = s->granted.depth, queues = s->granted.nr_queues;

	/* Only the login of a disk that exists has a generation. */
	if (s->login.info.fence_generation || depth * queues <= limit)
		return;
	queues = clamp(limit / min(depth, RNBDT_DEPTH_MIN), 1U, queues);
	s->granted.nr_queues = queues;
	s->granted.depth = clamp(limit / queues, 1U, depth);
}
