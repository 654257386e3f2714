// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk: blk-mq operations, limits and the gendisk.
 *
 * Operation: Each queue pair has one hardware queue; the last ones may be
 * polled. Limits and features are those of the export, narrowed by the grant.
 * The wire request, the mapping and all else that a request needs are in its
 * driver data, so that the I/O path allocates no memory. submit.c and
 * complete.c transfer the requests.
 *
 * Ownership: The session owns disk and tag set. The disk's private data, the
 * session, is used only while the disk is added. The number of the disk is
 * allocated with its name and freed after the disk has been removed.
 *
 * Concurrency: The rules of blk-mq apply. A request belongs to the client from
 * rnbdc_queue_submit() to blk_mq_complete_request(). An open runs under the
 * disk's open_mutex, as does the claim of a detach.
 *
 * Errors: Without a connection requests wait in the block layer, or end with
 * BLK_STS_TRANSPORT, see recover.c. slow.c handles a request that is not answered in time.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "../compat/block.h"
#include "../core/dma.h"
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
#include "queue.h"
#include "session.h"
#include "slow.h"
#include "submit.h"

RNBD_PARAM_UINT(io_timeout, 30, 1, 3600,
		"seconds until the target is asked about an unanswered request; of disks attached from then on");

RNBD_PARAM_UINT(inline_depth, 1, 0, 65535,
		"requests in flight on a queue, below which small writes go inside the request; 0: never");

/* The parts of a large request overlap on the wire and in the storage. */
RNBD_PARAM_UINT(chunk_kb, 256, 0, 16384,
		"KiB, initial max_sectors_kb of a disk: larger requests are cut into such chunks; 0: never");

static DEFINE_IDA(rnbdc_disk_ida);

/* The opcode of each operation of the block layer; 0: not supported. */
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
	wire->tag = rq->tag;
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
 * Decide whether the data may travel inside a frame. For reads the target decides,
 * because it knows which other replies are ready. A write gains from it only if no
 * other write is in flight whose RDMA WRITE it could join.
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
	struct rnbdc_queue *q = hctx->driver_data;
	struct request *rq = bd->rq;
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	blk_status_t status;

	/* Checked again under the lock; checking here saves the mapping. */
	if (unlikely(!READ_ONCE(q->ready) || !READ_ONCE(q->ring.live)))
		return rnbdc_queue_down_status(q);
	if (unlikely(rnbdc_wire_op(rq, &req->wire)))
		return BLK_STS_NOTSUPP;

	/* The disk shrank since: fail as the target would, with no error of the path. */
	if (unlikely(req->wire.offset + req->wire.length > READ_ONCE(q->sess->grant.geo.capacity)))
		return BLK_STS_TARGET;

	req->queue = q;
	req->nr_sge = 0;
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
	rnbdc_queue_commit(hctx->driver_data);
}

static int rnbdc_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct rnbdc_queue *q = hctx->driver_data;

	return rnbd_ring_poll(&q->ring);
}

static void rnbdc_map_queues(struct blk_mq_tag_set *set)
{
	const struct rnbdc_session *sess = set->driver_data;
	struct blk_mq_queue_map *map = &set->map[HCTX_TYPE_DEFAULT];

	map->nr_queues = sess->nr_queues - sess->nr_poll;
	blk_mq_map_queues(map);
	if (!sess->nr_poll)
		return;
	/* Reads share the default queues: otherwise all would use the first queue. */
	set->map[HCTX_TYPE_READ].nr_queues = 0;
	map = &set->map[HCTX_TYPE_POLL];
	map->nr_queues = sess->nr_poll;
	map->queue_offset = sess->nr_queues - sess->nr_poll;
	blk_mq_map_queues(map);
}

static int rnbdc_init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	struct rnbdc_session *sess = data;
	struct rnbdc_queue *q = sess->queues[index];

	hctx->driver_data = q;
	q->hctx = hctx;
	return 0;
}

static int rnbdc_init_rq(struct blk_mq_tag_set *set, struct request *rq,
			 unsigned int hctx_idx, rnbd_compat_node_t numa_node)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbdc_session *sess = set->driver_data;

	req->queue = sess->queues[hctx_idx];
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

static int rnbdc_open_disk(struct gendisk *disk, blk_mode_t mode)
{
	struct rnbdc_session *sess = disk->private_data;

	/* The caller and rnbdc_claim_detach() both hold disk->open_mutex. */
	return test_bit(RNBDC_SESS_DETACH, &sess->flags) ? -ENXIO : 0;
}

static const struct block_device_operations rnbdc_disk_ops = {
	.owner = THIS_MODULE,
	.open = rnbdc_open_disk,
};

static void rnbdc_disk_limits(const struct rnbdc_session *sess,
			      struct queue_limits *lim)
{
	const struct rnbd_grant *grant = &sess->grant;
	const struct rnbd_geometry *geo = &grant->geo;
	u64 share = (u64)(grant->pool_units / grant->nr_queues) << RNBD_UNIT_SHIFT;
	u32 chunk = READ_ONCE(chunk_kb) * 1024;

	/* max_hw_sectors: the largest request fits the queue's share of the pool. */
	*lim = (struct queue_limits) {
		.logical_block_size = geo->logical_block,
		.physical_block_size = geo->physical_block,
		.io_min = geo->io_min,
		.io_opt = geo->io_opt,
		.max_hw_sectors = min_t(u64, grant->max_io, share) >> SECTOR_SHIFT,
		.max_segments = sess->disk.max_segments,
		.max_segment_size = rnbd_max_segment_size(sess->conn.dev),
		/* The client accepts any address; devices prefer aligned words. */
		.dma_alignment = 3,
		.max_hw_discard_sectors = geo->max_discard >> SECTOR_SHIFT,
		.discard_granularity = geo->discard_granularity,
		.discard_alignment = geo->discard_alignment,
		.max_write_zeroes_sectors = geo->max_write_zeroes >> SECTOR_SHIFT,
	};
	/*
	 * Not below a page, which the block layer refuses, nor below the
	 * optimal I/O size of the storage, for example a stripe.
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
 * Choose the lowest free number for which no other driver has a disk: the
 * kernel's own RNBD client uses the same names. If that driver adds a disk of the
 * name before this one does, rnbdc_disk_add() fails.
 */
static int rnbdc_disk_name(struct rnbdc_session *sess)
{
	char *name = sess->disk.gd->disk_name;
	struct device *other;
	int first = 0;
	int index;

	for (;;) {
		index = ida_alloc_min(&rnbdc_disk_ida, first, GFP_KERNEL);
		if (index < 0)
			return index;
		snprintf(name, DISK_NAME_LEN, "rnbd%d", index);
		/* The class of all disks, which the kernel does not export by name. */
		other = class_find_device_by_name(disk_to_dev(sess->disk.gd)->class, name);
		if (!other)
			break;
		put_device(other);
		ida_free(&rnbdc_disk_ida, index);
		first = index + 1;
	}
	sess->disk.index = index;
	return 0;
}

/**
 * rnbdc_disk_create - allocate tag set and disk, and choose the disk's name
 * @sess: connected session
 * @errmsg: filled on error
 *
 * Context: process context, may sleep.
 * Return: 0, after which sess->disk.gd exists but is not visible, or a negative errno,
 * after which rnbdc_disk_remove() and rnbdc_disk_free() are to be called.
 */
int rnbdc_disk_create(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct blk_mq_tag_set *set = &sess->disk.tag_set;
	struct queue_limits lim;
	struct gendisk *disk;
	int ret;

	/* The protocol allows less, but the block layer requires a page. */
	if (sess->grant.max_io < PAGE_SIZE) {
		rnbdc_errmsg_set(errmsg,
				 "the target takes %u bytes at once, less than a page of this machine",
				 sess->grant.max_io);
		return -EOPNOTSUPP;
	}
	set->ops = &rnbdc_mq_ops;
	set->nr_hw_queues = sess->nr_queues;
	set->nr_maps = sess->nr_poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = sess->grant.queue_depth;
	set->numa_node = NUMA_NO_NODE;
	/* No scheduler by default: the target's device has one if it needs one. */
	set->flags = BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	set->cmd_size = struct_size_t(struct rnbdc_req, sge, sess->disk.max_segments);
	set->timeout = READ_ONCE(io_timeout) * HZ;
	set->driver_data = sess;
	ret = blk_mq_alloc_tag_set(set);
	if (ret)
		return ret;

	rnbdc_disk_limits(sess, &lim);
	disk = blk_mq_alloc_disk(set, &lim, sess);
	if (IS_ERR(disk)) {
		ret = PTR_ERR(disk);
		rnbdc_errmsg_set(errmsg, "the kernel refuses the limits of the export (%d)", ret);
		blk_mq_free_tag_set(set);
		return ret;
	}
	disk->fops = &rnbdc_disk_ops;
	disk->private_data = sess;
	set_capacity(disk, sess->grant.geo.capacity >> SECTOR_SHIFT);
	if (sess->opt.readonly || (sess->grant.geo.flags & RNBD_EXPORT_READONLY))
		set_disk_ro(disk, true);
	sess->disk.made_ns = ktime_get_ns();
	sess->disk.gd = disk;
	return rnbdc_disk_name(sess);
}

/**
 * rnbdc_disk_add - add the disk and its parent device
 * @sess: live session with a disk; the kernel reads its partition table
 * @groups: attribute groups of the disk's device in sysfs
 * @errmsg: filled on error
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdc_disk_add(struct rnbdc_session *sess, const struct attribute_group **groups,
		   struct rnbdc_errmsg *errmsg)
{
	int ret;

	ret = rnbdc_class_add(sess);
	if (!ret)
		ret = device_add_disk(sess->disk.parent, sess->disk.gd, groups);
	if (ret == -EEXIST)
		rnbdc_errmsg_set(errmsg, "another driver has just added %s; try again",
				 sess->disk.gd->disk_name);
	else if (ret)
		rnbdc_errmsg_set(errmsg, "the kernel refuses the disk %s (%d)",
				 sess->disk.gd->disk_name, ret);
	return ret;
}

/**
 * rnbdc_disk_resized - log a new capacity and send the uevent about it
 * @sess: session with a disk that is attached and not being detached
 *
 * This is the second half of set_capacity_and_notify(), which recovery must not call:
 * sending a uevent takes a lock of all uevents, and may wait for memory.
 *
 * Context: event_work; allocates without waiting for I/O.
 */
void rnbdc_disk_resized(struct rnbdc_session *sess)
{
	char event[] = "RESIZE=1";
	char *envp[2] = { event };
	unsigned int noio;

	pr_info_ratelimited("%s (%s at %s): %llu bytes now\n", sess->disk.gd->disk_name,
			    sess->opt.export, sess->opt.addr,
			    (u64)get_capacity(sess->disk.gd) << SECTOR_SHIFT);
	noio = memalloc_noio_save();
	kobject_uevent_env(&disk_to_dev(sess->disk.gd)->kobj, KOBJ_CHANGE, envp);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_disk_remove - remove the parent device and free the number of the disk
 * @sess: session whose disk was deleted, or never added
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_remove(struct rnbdc_session *sess)
{
	rnbdc_class_remove(sess);
	cancel_delayed_work_sync(&sess->disk.retry_work);
	if (sess->disk.index >= 0)
		ida_free(&rnbdc_disk_ida, sess->disk.index);
	sess->disk.index = -1;
}

/**
 * rnbdc_disk_free - free disk and tag set
 * @sess: session without references, with or without a disk
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_free(struct rnbdc_session *sess)
{
	if (!sess->disk.gd)
		return;
	put_disk(sess->disk.gd);
	blk_mq_free_tag_set(&sess->disk.tag_set);
}
