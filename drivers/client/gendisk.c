// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gendisk of a disk: blk-mq operations, limits, registration.
 *
 * Operation: A disk has one hardware queue for each queue of its session; the option
 * poll-queues makes the last ones polled. If the storage accepts few requests, the disk has
 * fewer hardware queues, and disks begin at different queues of the session. A hardware
 * queue whose queue is not connected uses queue 0 (route.c). Limits and features are those of
 * the export, reduced to the limits that the target granted to the session. The driver data
 * of a request contain everything that a small request needs, such as its wire form and
 * mapping; a mempool of the session has memory for the mapping of a large request (data.c).
 * submit.c and complete.c transfer the requests.
 *
 * Ownership: struct rnbdc_disk owns gendisk, tag set and hardware queues. The private data
 * of the gendisk point to struct rnbdc_disk, and are used only while the gendisk is added. The
 * number N of the name rnbdN is allocated with the gendisk and freed after its removal.
 *
 * Concurrency: The rules of blk-mq apply. A request belongs to the client from
 * rnbdc_queue_submit() to blk_mq_complete_request(). The open_mutex of the disk is held when
 * the disk is opened, and when a detach that is not forced is claimed.
 *
 * Errors: Without a connection requests wait in the block layer, or end with the status of
 * rnbdc_lost_status(). slow.c handles a request that is not answered in time.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "../compat/block.h"
#include "../core/geometry.h"
#include "../core/io.h"
#include "../core/login.h"
#include "../core/op.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "class.h"
#include "complete.h"
#include "data.h"
#include "disk.h"
#include "errmsg.h"
#include "gendisk.h"
#include "orphan.h"
#include "queue.h"
#include "session.h"
#include "slow.h"
#include "stall.h"
#include "submit.h"

RNBD_PARAM_UINT(io_timeout, 30, 1, 3600,
		"seconds until the client asks the target about an unanswered request; applies to disks attached later");

RNBD_PARAM_UINT(inline_depth, 1, 0, 65535,
		"requests in flight on a queue below which a small write carries its data inline; 0: never");

/* The chunks of a large request overlap: the storage executes one while the next one is sent. */
RNBD_PARAM_UINT(chunk_kb, 256, 0, 16384,
		"initial max_sectors_kb, in KiB, of disks attached later: the block layer splits larger requests; 0: no such limit");

/* Least depth to which a disk reduces its hardware queues before it reduces their number. */
#define RNBDC_DEPTH_MIN		32u

static DEFINE_IDA(rnbdc_disk_ida);

/* Opcode of each operation of the block layer; 0: not supported. */
static const u8 rnbdc_wire_ops[] = {
	[REQ_OP_READ]		= RNBD_OP_READ,
	[REQ_OP_WRITE]		= RNBD_OP_WRITE,
	[REQ_OP_FLUSH]		= RNBD_OP_FLUSH,
	[REQ_OP_DISCARD]	= RNBD_OP_DISCARD,
	[REQ_OP_WRITE_ZEROES]	= RNBD_OP_WRITE_ZEROES,
};

static int rnbdc_wire_op(struct request *rq, struct rnbd_request *wire)
{
	u32 op = (__force u32)req_op(rq);

	if (unlikely(op >= ARRAY_SIZE(rnbdc_wire_ops) || !rnbdc_wire_ops[op]))
		return -EOPNOTSUPP;
	wire->op = rnbdc_wire_ops[op];
	wire->offset = 0;
	wire->length = 0;
	if (likely(rnbd_ops[wire->op].range)) {
		wire->offset = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
		wire->length = blk_rq_bytes(rq);
	}
	wire->flags = 0;
	if (rq->cmd_flags & REQ_FUA)
		wire->flags |= RNBD_REQ_FUA;
	if (rq->cmd_flags & REQ_NOUNMAP)
		wire->flags |= RNBD_REQ_NOUNMAP;
	wire->flags &= rnbd_ops[wire->op].flags;
	return 0;
}

/*
 * Test whether data may travel inside a frame. For a small read the target decides, because it
 * knows which other replies are ready. A small write carries its data inside only while few
 * requests are in flight: otherwise its data can join the RDMA WRITE of another request.
 */
static bool rnbdc_inline(const struct rnbdc_queue *q, const struct rnbd_request *wire)
{
	const struct rnbd_op_row *row = &rnbd_ops[wire->op];
	const struct rnbd_grant *grant = &q->sess->grant;

	if (!(row->flags & RNBD_REQ_INLINE))
		return false;
	if (row->data == RNBD_DATA_IN)
		return wire->length <= grant->inline_read;
	return wire->length <= grant->inline_write &&
	       READ_ONCE(q->in_flight) < READ_ONCE(inline_depth);
}

static blk_status_t rnbdc_queue_rq(struct blk_mq_hw_ctx *hctx,
				   const struct blk_mq_queue_data *bd)
{
	struct rnbdc_hwq *hwq = READ_ONCE(hctx->driver_data);
	struct rnbdc_queue *q = hwq->queue;
	struct request *rq = bd->rq;
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	blk_status_t status;

	/* Avoid a useless mapping. rnbdc_queue_submit() tests the queue again under ring.lock. */
	if (unlikely(!READ_ONCE(q->ready) || !READ_ONCE(q->ring.live) ||
		     READ_ONCE(hwq->disk->state) != RNBDC_LIVE))
		return rnbdc_down_status(hwq->disk);
	if (unlikely(rnbdc_wire_op(rq, &req->wire)))
		return BLK_STS_NOTSUPP;

	/* The disk has shrunk: fail like the target, with an error that is not a path error. */
	if (unlikely(req->wire.offset + req->wire.length > READ_ONCE(hwq->disk->geo.capacity)))
		return BLK_STS_TARGET;

	req->hwq = hwq;
	req->queue = q;
	req->wire.handle = hwq->disk->handle;
	req->status = BLK_STS_OK;
	req->replay = false;
	if (rnbdc_inline(q, &req->wire)) {
		req->wire.flags |= RNBD_REQ_INLINE;
	} else if (rnbd_op_has_data(req->wire.op) && !q->sess->opt.copy) {
		status = rnbdc_req_map(q, rq);
		if (unlikely(status))
			return status;
	}

	blk_mq_start_request(rq);
	status = rnbdc_queue_submit(q, rq, bd->last);
	if (unlikely(status))
		rnbdc_req_unmap(req);
	return status;
}

static void rnbdc_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	const struct rnbdc_hwq *hwq = READ_ONCE(hctx->driver_data);

	rnbdc_queue_commit(hwq->queue);
}

static int rnbdc_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	const struct rnbdc_hwq *hwq = READ_ONCE(hctx->driver_data);

	return rnbd_ring_poll(&hwq->queue->ring);
}

static void rnbdc_map_queues(struct blk_mq_tag_set *set)
{
	const struct rnbdc_disk *disk = set->driver_data;
	struct blk_mq_queue_map *map = &set->map[HCTX_TYPE_DEFAULT];

	map->nr_queues = disk->nr_queues - disk->nr_poll;
	blk_mq_map_queues(map);
	if (!disk->nr_poll)
		return;
	/* Let reads use the default queues: otherwise all reads would use the first queue. */
	set->map[HCTX_TYPE_READ].nr_queues = 0;
	map = &set->map[HCTX_TYPE_POLL];
	map->nr_queues = disk->nr_poll;
	map->queue_offset = disk->nr_queues - disk->nr_poll;
	blk_mq_map_queues(map);
}

static int rnbdc_init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	struct rnbdc_disk *disk = data;
	struct rnbdc_hwq *own = &disk->hwqs[index];
	struct rnbdc_hwq *spare = &disk->hwqs[disk->nr_queues + index];

	own->hctx = hctx;
	spare->hctx = hctx;
	hctx->driver_data = own;
	WRITE_ONCE(own->queue->used, true);
	WRITE_ONCE(spare->queue->used, true);
	return 0;
}

static int rnbdc_init_rq(struct blk_mq_tag_set *set, struct request *rq,
			 unsigned int hctx_idx, rnbd_compat_node_t numa_node)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbdc_disk *disk = set->driver_data;

	req->hwq = &disk->hwqs[hctx_idx];
	req->queue = req->hwq->queue;
	req->sge = req->inline_sge;
	return 0;
}

static const struct blk_mq_ops rnbdc_mq_ops = {
	.queue_rq = rnbdc_queue_rq,
	.commit_rqs = rnbdc_commit_rqs,
	.complete = rnbdc_complete_rq,
	.timeout = rnbdc_timeout_rq,
	.poll = rnbdc_poll,
	.map_queues = rnbdc_map_queues,
	.init_hctx = rnbdc_init_hctx,
	.init_request = rnbdc_init_rq,
};

static int rnbdc_open_disk(struct gendisk *gd, blk_mode_t mode)
{
	struct rnbdc_disk *disk = gd->private_data;

	/* The caller holds gd->open_mutex, and so does a detach that tests for openers. */
	return test_bit(RNBDC_DISK_DETACH, &disk->flags) ? -ENXIO : 0;
}

static const struct block_device_operations rnbdc_disk_ops = {
	.owner = THIS_MODULE,
	.open = rnbdc_open_disk,
};

static void rnbdc_disk_limits(const struct rnbdc_disk *disk, struct queue_limits *lim)
{
	const struct rnbdc_session *sess = disk->sess;
	const struct rnbd_grant *grant = &sess->grant;
	const struct rnbd_geometry *geo = &disk->geo;
	u64 pool = (u64)grant->pool_units << RNBD_UNIT_SHIFT;
	u32 chunk = READ_ONCE(chunk_kb) * 1024;

	/* max_hw_sectors: the largest request fits the pool. */
	*lim = (struct queue_limits) {
		.logical_block_size = geo->logical_block,
		.physical_block_size = geo->physical_block,
		.io_min = geo->io_min,
		.io_opt = geo->io_opt,
		.max_hw_sectors = min_t(u64, grant->max_io, pool) >> SECTOR_SHIFT,
		.max_segments = sess->max_segments,
		.max_segment_size = sess->max_segment_size,
		/* The client accepts any address, but devices prefer aligned words. */
		.dma_alignment = 3,
		.max_hw_discard_sectors = geo->max_discard >> SECTOR_SHIFT,
		.discard_granularity = geo->discard_granularity,
		.discard_alignment = geo->discard_alignment,
		.max_write_zeroes_sectors = geo->max_write_zeroes >> SECTOR_SHIFT,
	};
	/*
	 * A chunk has at least a page, because the block layer refuses a lower limit, and at least
	 * the optimal I/O size of the storage, for example a stripe.
	 */
	if (chunk)
		lim->max_user_sectors =
			max3(round_down(chunk, geo->logical_block) >> SECTOR_SHIFT,
			     geo->io_opt >> SECTOR_SHIFT, (u32)PAGE_SECTORS);
	if (geo->flags & RNBD_EXPORT_VOLATILE_CACHE)
		lim->features |= BLK_FEAT_WRITE_CACHE;
	if (geo->flags & RNBD_EXPORT_FUA)
		lim->features |= BLK_FEAT_FUA;
	if (geo->flags & RNBD_EXPORT_ROTATIONAL)
		lim->features |= BLK_FEAT_ROTATIONAL;
}

/*
 * Choose the lowest free N for which no other driver has a disk rnbdN: the kernel's own RNBD
 * client uses the same names. rnbdc_disk_add() fails if that driver adds rnbdN first.
 */
static int rnbdc_disk_name(struct rnbdc_disk *disk)
{
	char *name = disk->gd->disk_name;
	struct device *other;
	int first = 0;
	int index;

	for (;;) {
		index = ida_alloc_min(&rnbdc_disk_ida, first, GFP_KERNEL);
		if (index < 0)
			return index;
		snprintf(name, DISK_NAME_LEN, "rnbd%d", index);
		/* The kernel does not export block_class: get it from the disk. */
		other = class_find_device_by_name(disk_to_dev(disk->gd)->class, name);
		if (!other)
			break;
		put_device(other);
		ida_free(&rnbdc_disk_ida, index);
		first = index + 1;
	}
	disk->index = index;
	return 0;
}

/*
 * Choose the number and depth of the hardware queues: the largest that the session allows, unless
 * the storage accepts fewer requests in flight. In that case first reduce the depth, but not
 * below RNBDC_DEPTH_MIN, then the number of hardware queues, and with one queue the depth further.
 */
static void rnbdc_fit_storage(struct rnbdc_disk *disk, u32 *depth)
{
	const struct rnbdc_session *sess = disk->sess;
	u32 limit = disk->offer.storage_inflight ?: U32_MAX;

	/* Use the depth of a disk: a queue of the session has more wire tags, see share.c. */
	*depth = min(sess->opt.depth, sess->grant.queue_depth);
	disk->nr_queues = sess->nr_queues;
	if ((u64)*depth * disk->nr_queues > limit) {
		disk->nr_queues = clamp(limit / min(*depth, RNBDC_DEPTH_MIN), 1U,
					sess->nr_queues);
		*depth = clamp(limit / disk->nr_queues, 1U, *depth);
	}
	disk->nr_poll = rnbdc_poll_share(sess, disk->nr_queues);
}

static int rnbdc_alloc_hwqs(struct rnbdc_disk *disk)
{
	const struct rnbdc_session *sess = disk->sess;
	u32 i, first_poll = disk->nr_queues - disk->nr_poll;
	/* Let disks that use only some of the session's queues begin at different queues. */
	u32 plain = sess->nr_queues - sess->nr_poll;
	u32 first = disk->handle.index * first_poll % plain;

	disk->hwqs = kcalloc(2 * disk->nr_queues, sizeof(*disk->hwqs), GFP_KERNEL);
	if (!disk->hwqs)
		return -ENOMEM;
	/* Hardware queues that are polled use the last queues of the session, which are polled. */
	for (i = 0; i < disk->nr_queues; i++) {
		struct rnbdc_hwq *own = &disk->hwqs[i], *spare = own + disk->nr_queues;

		own->disk = disk;
		own->queue = i < first_poll ? sess->queues[(first + i) % plain] :
			     sess->queues[sess->nr_queues - disk->nr_queues + i];
		own->waiter.cache = &own->queue->cache;
		rnbdc_hwq_use(own, true);
		spare->disk = disk;
		spare->queue = sess->queues[0];
		spare->waiter.cache = &spare->queue->cache;
		rnbdc_hwq_use(spare, false);
	}
	return 0;
}

static void rnbdc_free_hwqs(struct rnbdc_disk *disk)
{
	struct rnbdc_hwq *hwq = NULL;

	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		rnbdc_hwq_use(hwq, false);
	kfree(disk->hwqs);
	disk->hwqs = NULL;
}

/**
 * rnbdc_disk_create - allocate tag set and gendisk, and choose the disk's name
 * @disk: disk whose request to attach was granted
 * @errmsg: message for the user, set on most errors
 *
 * Context: process context, may sleep; takes recovery.lock.
 * Return: 0 with disk->gd allocated but not visible, or a negative errno. In both cases the
 * caller must later call rnbdc_disk_remove() and rnbdc_disk_free().
 */
int rnbdc_disk_create(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	const struct rnbdc_session *sess = disk->sess;
	struct blk_mq_tag_set *set = &disk->tag_set;
	struct queue_limits lim;
	struct gendisk *gd;
	u32 depth;
	int ret;

	/* The protocol allows a smaller max_io, but the block layer requires at least a page. */
	if (sess->grant.max_io < PAGE_SIZE) {
		rnbdc_errmsg_set(errmsg,
				 "the target grants %u bytes per request, less than a page of this machine",
				 sess->grant.max_io);
		return -EOPNOTSUPP;
	}
	rnbdc_fit_storage(disk, &depth);
	set->ops = &rnbdc_mq_ops;
	set->nr_hw_queues = disk->nr_queues;
	set->nr_maps = disk->nr_poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = depth;
	set->numa_node = NUMA_NO_NODE;
	/* No I/O scheduler by default: the target's device has one if it needs one. */
	set->flags = BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	set->cmd_size = sizeof(struct rnbdc_req);
	set->timeout = READ_ONCE(io_timeout) * HZ;
	set->driver_data = disk;
	ret = rnbdc_alloc_hwqs(disk);
	if (ret)
		return ret;
	ret = blk_mq_alloc_tag_set(set);
	if (ret)
		goto free_hwqs;

	rnbdc_disk_limits(disk, &lim);
	gd = blk_mq_alloc_disk(set, &lim, disk);
	if (IS_ERR(gd)) {
		ret = PTR_ERR(gd);
		rnbdc_errmsg_set(errmsg, "the kernel refuses the limits of the export (%d)", ret);
		goto free_tag_set;
	}
	gd->fops = &rnbdc_disk_ops;
	gd->private_data = disk;
	set_capacity(gd, disk->geo.capacity >> SECTOR_SHIFT);
	if (disk->opt.readonly || (disk->geo.flags & RNBD_EXPORT_READONLY))
		set_disk_ro(gd, true);
	disk->made_ns = ktime_get_ns();
	/* From now on recovery finds the hardware queues. */
	mutex_lock(&disk->sess->recovery.lock);
	disk->gd = gd;
	mutex_unlock(&disk->sess->recovery.lock);
	return rnbdc_disk_name(disk);

free_tag_set:
	blk_mq_free_tag_set(set);
free_hwqs:
	rnbdc_free_hwqs(disk);
	disk->hwqs = NULL;
	return ret;
}

/**
 * rnbdc_disk_add - add the gendisk and its parent device; the kernel reads the partition table
 * @disk: disk of a live session
 * @groups: attribute groups of the disk's device in sysfs
 * @errmsg: message for the user, set on error
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdc_disk_add(struct rnbdc_disk *disk, const struct attribute_group **groups,
		   struct rnbdc_errmsg *errmsg)
{
	int ret;

	ret = rnbdc_class_add(disk);
	if (!ret)
		ret = device_add_disk(disk->parent, disk->gd, groups);
	if (ret == -EEXIST)
		rnbdc_errmsg_set(errmsg, "another driver has just added %s; try again",
				 disk->gd->disk_name);
	else if (ret)
		rnbdc_errmsg_set(errmsg, "the kernel refuses the disk %s (%d)",
				 disk->gd->disk_name, ret);
	return ret;
}

/**
 * rnbdc_disk_resized - log a new capacity and send the uevent about it
 * @disk: disk that is attached and not being detached
 *
 * The function does the second half of set_capacity_and_notify(). It runs in event_work and
 * not in recovery, because sending a uevent takes a global lock and can wait for memory.
 *
 * Context: event_work; allocates without waiting for I/O.
 */
void rnbdc_disk_resized(struct rnbdc_disk *disk)
{
	char event[] = "RESIZE=1";
	char *envp[2] = { event };
	unsigned int noio;

	pr_info_ratelimited("%s (%s at %s): capacity is now %llu bytes\n", disk->gd->disk_name,
			    disk->opt.export, disk->sess->opt.addr,
			    (u64)get_capacity(disk->gd) << SECTOR_SHIFT);
	noio = memalloc_noio_save();
	kobject_uevent_env(&disk_to_dev(disk->gd)->kobj, KOBJ_CHANGE, envp);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_disk_remove - separate a disk from its session and parent device, free N of rnbdN
 * @disk: disk whose gendisk was deleted, or never added
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_remove(struct rnbdc_disk *disk)
{
	struct rnbdc_hwq *hwq = NULL;

	rnbdc_class_remove(disk);
	cancel_delayed_work_sync(&disk->retry_work);
	while ((hwq = rnbdc_next_hwq(disk, hwq))) {
		rnbdc_orphans_leave(hwq);
		WARN_ON_ONCE(READ_ONCE(hwq->tags));
		rnbdc_hwq_use(hwq, false);
		/* Tags that this disk had reserved are free now: start queues of other disks. */
		rcu_read_lock();
		rnbdc_queue_credit(&hwq->queue->ring);
		rcu_read_unlock();
	}
	/* Wait for completion handlers that are about to start a hardware queue of this disk. */
	synchronize_rcu();
	if (disk->index >= 0)
		ida_free(&rnbdc_disk_ida, disk->index);
	disk->index = -1;
}

/**
 * rnbdc_disk_free - free gendisk, tag set and hardware queues
 * @disk: disk without references, with or without a gendisk
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_free(struct rnbdc_disk *disk)
{
	if (!disk->gd)
		return;
	put_disk(disk->gd);
	blk_mq_free_tag_set(&disk->tag_set);
	kfree(disk->hwqs);
}
