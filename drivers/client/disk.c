// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk: blk-mq on one side, the transfer engine on the other.
 *
 * Operation: one hardware queue per queue pair; limits and features are those
 * of the export, narrowed by what the target granted. Request, mapping and
 * everything else that a request needs lies in its driver data, so that no
 * memory is allocated on the I/O path.
 *
 * Ownership: the session owns disk and tag set. The disk's private data, the
 * session, is used only while the disk is added.
 *
 * Concurrency: blk-mq's rules. A request belongs to the engine from
 * rnbd_queue_submit() to blk_mq_complete_request().
 *
 * Errors: without a connection requests wait in the block layer, or end with
 * BLK_STS_IOERR: see recover.c.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/sched/mm.h>

#include "../core/param.h"
#include "client.h"
#include "trace.h"

/* A request that takes this long means that the target is gone. */
RNBD_PARAM_UINT(io_timeout, 30, 1, 3600,
		"seconds until an unanswered request ends the connection; of disks attached from then on");

RNBD_PARAM_UINT(inline_depth, 1, 0, 65535,
		"requests in flight on a queue, below which small writes go inside the request; 0: never");

/* Where a larger request would, its parts overlap on the wire and in the storage. */
RNBD_PARAM_UINT(chunk_kb, 256, 0, 16384,
		"KiB, initial max_sectors_kb of a disk: larger requests are cut into such chunks; 0: never");

static DEFINE_IDA(rnbd_disk_ida);

static int rnbd_wire_op(struct request *rq, struct rnbd_request *wire)
{
	wire->flags = 0;
	wire->tag = rq->tag;
	wire->offset = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	wire->length = blk_rq_bytes(rq);
	if (rq->cmd_flags & REQ_FUA)
		wire->flags |= RNBD_REQ_FUA;

	switch (req_op(rq)) {
	case REQ_OP_READ:
		wire->op = RNBD_OP_READ;
		wire->flags = 0;
		return 0;
	case REQ_OP_WRITE:
		wire->op = RNBD_OP_WRITE;
		return 0;
	case REQ_OP_FLUSH:
		wire->op = RNBD_OP_FLUSH;
		wire->flags = 0;
		wire->offset = 0;
		wire->length = 0;
		return 0;
	case REQ_OP_DISCARD:
		wire->op = RNBD_OP_DISCARD;
		wire->flags = 0;
		return 0;
	case REQ_OP_WRITE_ZEROES:
		wire->op = RNBD_OP_WRITE_ZEROES;
		if (rq->cmd_flags & REQ_NOUNMAP)
			wire->flags |= RNBD_REQ_NOUNMAP;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Small enough for the data to travel inside the frame? Of reads the target
 * decides, which knows what else is ready. A write gains by it if there is no other
 * whose RDMA WRITE it could join.
 */
static bool rnbd_inline(const struct rnbd_queue *q, const struct rnbd_request *wire)
{
	const struct rnbd_grant *grant = &q->sess->grant;

	switch (wire->op) {
	case RNBD_OP_READ:
		return wire->length <= grant->inline_read;
	case RNBD_OP_WRITE:
		return wire->length <= grant->inline_write &&
		       READ_ONCE(q->in_flight) < READ_ONCE(inline_depth);
	default:
		return false;
	}
}

static blk_status_t rnbd_queue_rq(struct blk_mq_hw_ctx *hctx,
				  const struct blk_mq_queue_data *bd)
{
	struct rnbd_queue *q = hctx->driver_data;
	struct request *rq = bd->rq;
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);
	blk_status_t status;

	/* Looked at again under the lock; this spares the mapping. */
	if (unlikely(!READ_ONCE(q->ready) || !READ_ONCE(q->ring.live)))
		return rnbd_queue_down_status(q);
	if (unlikely(rnbd_wire_op(rq, &req->wire)))
		return BLK_STS_NOTSUPP;

	/* Made for a disk that has shrunk since: as the target answers it, no path's fault. */
	if (unlikely(req->wire.offset + req->wire.length > READ_ONCE(q->sess->grant.capacity)))
		return BLK_STS_TARGET;

	req->queue = q;
	req->cpu = raw_smp_processor_id();
	req->nr_sge = 0;
	req->status = BLK_STS_OK;
	req->replay = false;
	if (rnbd_inline(q, &req->wire)) {
		req->wire.flags |= RNBD_REQ_INLINE;
	} else if ((req->wire.op == RNBD_OP_READ || req->wire.op == RNBD_OP_WRITE) &&
		   !q->sess->opt.copy) {
		status = rnbd_req_map(q, rq);
		if (unlikely(status))
			return status;
	}

	blk_mq_start_request(rq);
	status = rnbd_queue_submit(q, rq, bd->last);
	if (unlikely(status))
		rnbd_req_unmap(req);
	return status;
}

static void rnbd_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	rnbd_queue_commit(hctx->driver_data);
}

static void rnbd_complete_rq(struct request *rq)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);

	rnbd_req_unmap(req);
	if (unlikely(req->replay))
		blk_mq_requeue_request(rq, READ_ONCE(req->queue->ready));
	else
		blk_mq_end_request(rq, req->status);
}

static void rnbd_complete_batch(struct io_comp_batch *iob)
{
	struct request *rq;

	rq_list_for_each(&iob->req_list, rq)
		rnbd_req_unmap(blk_mq_rq_to_pdu(rq));
	blk_mq_end_request_batch(iob);
}

/**
 * rnbd_disk_complete - hand a finished request to the block layer
 * @rq: request; its rnbd_req.status says how it went
 * @iob: those that end together; the caller calls iob->complete if that is set
 *
 * Where it ends is up to the attribute rq_affinity.
 *
 * Context: completion handler, without the queue's lock.
 */
void rnbd_disk_complete(struct request *rq, struct io_comp_batch *iob)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);

	if (req->cpu != raw_smp_processor_id() && blk_mq_complete_request_remote(rq))
		return;
	if (unlikely(req->replay) ||
	    !blk_mq_add_to_batch(rq, iob, req->status, rnbd_complete_batch))
		rnbd_complete_rq(rq);
}

static enum blk_eh_timer_return rnbd_timeout_rq(struct request *rq)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);

	/* It may be answered, and whoever should have polled is gone. */
	rnbd_ring_poll(&req->queue->ring);
	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT)
		return BLK_EH_DONE;
	/* It ends when the device has let go of its pages, not before. */
	rnbd_session_fail(req->queue->sess, "a request was not answered in time");
	return BLK_EH_RESET_TIMER;
}

static int rnbd_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct rnbd_queue *q = hctx->driver_data;

	return rnbd_ring_poll(&q->ring);
}

static void rnbd_map_queues(struct blk_mq_tag_set *set)
{
	const struct rnbd_session *sess = set->driver_data;
	struct blk_mq_queue_map *map = &set->map[HCTX_TYPE_DEFAULT];

	map->nr_queues = sess->nr_queues - sess->nr_poll;
	blk_mq_map_queues(map);
	if (!sess->nr_poll)
		return;
	/* None of their own: otherwise all reads would go to the first queue. */
	set->map[HCTX_TYPE_READ].nr_queues = 0;
	map = &set->map[HCTX_TYPE_POLL];
	map->nr_queues = sess->nr_poll;
	map->queue_offset = sess->nr_queues - sess->nr_poll;
	blk_mq_map_queues(map);
}

static int rnbd_init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	struct rnbd_session *sess = data;
	struct rnbd_queue *q = sess->queues[index];

	hctx->driver_data = q;
	q->hctx = hctx;
	return 0;
}

static int rnbd_init_rq(struct blk_mq_tag_set *set, struct request *rq,
			unsigned int hctx_idx, unsigned int numa_node)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbd_session *sess = set->driver_data;

	req->queue = sess->queues[hctx_idx];
	return 0;
}

static const struct blk_mq_ops rnbd_mq_ops = {
	.queue_rq = rnbd_queue_rq,
	.commit_rqs = rnbd_commit_rqs,
	.complete = rnbd_complete_rq,
	.timeout = rnbd_timeout_rq,
	.poll = rnbd_poll,
	.map_queues = rnbd_map_queues,
	.init_hctx = rnbd_init_hctx,
	.init_request = rnbd_init_rq,
};

static int rnbd_open_disk(struct gendisk *disk, blk_mode_t mode)
{
	struct rnbd_session *sess = disk->private_data;

	/* Under disk->open_mutex, as is the claim of whoever detaches. */
	return test_bit(RNBD_SESS_DETACH, &sess->flags) ? -ENXIO : 0;
}

static const struct block_device_operations rnbd_disk_ops = {
	.owner = THIS_MODULE,
	.open = rnbd_open_disk,
};

static bool rnbd_cancel_rq(struct request *rq, void *data)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);
	const bool *replay = data;

	if (!blk_mq_request_started(rq) || blk_mq_request_completed(rq))
		return true;
	rnbd_queue_abandon(req->queue, req);
	req->replay = *replay;
	if (*replay)
		req->queue->sess->replayed++;
	blk_mq_complete_request(rq);
	return true;
}

/**
 * rnbd_disk_cancel_requests - take everything in flight back
 * @sess: disconnected session with quiesced queues
 * @replay: queue it again in the block layer, otherwise it fails
 *
 * On return all those requests are the block layer's again, their pages
 * unmapped.
 *
 * Context: process context, may sleep.
 */
void rnbd_disk_cancel_requests(struct rnbd_session *sess, bool replay)
{
	blk_mq_tagset_busy_iter(&sess->tag_set, rnbd_cancel_rq, &replay);
	blk_mq_tagset_wait_completed_request(&sess->tag_set);
}

static void rnbd_disk_limits(const struct rnbd_session *sess,
			     struct queue_limits *lim)
{
	const struct rnbd_grant *grant = &sess->grant;
	u64 share = (u64)(grant->pool_units / grant->nr_queues) << RNBD_UNIT_SHIFT;
	u32 chunk = READ_ONCE(chunk_kb) * 1024;
	struct ib_device *dev = sess->dev;
	size_t max_segment = ib_dma_max_seg_size(dev);

	/* Bounce buffers take less than the device would. */
	if (!ib_uses_virt_dma(dev))
		max_segment = min(max_segment, dma_max_mapping_size(dev->dma_device));

	/* Even the largest request fits the queue's share of the pool. */
	*lim = (struct queue_limits) {
		.logical_block_size = grant->logical_block,
		.physical_block_size = grant->physical_block,
		.io_min = grant->io_min,
		.io_opt = grant->io_opt,
		.max_hw_sectors = min_t(u64, grant->max_io, share) >> SECTOR_SHIFT,
		.max_segments = sess->max_segments,
		.max_segment_size = max_segment,
		/* Any byte address will do, but words are kinder to devices. */
		.dma_alignment = 3,
		.max_hw_discard_sectors = grant->max_discard >> SECTOR_SHIFT,
		.discard_granularity = grant->discard_granularity,
		.discard_alignment = grant->discard_alignment,
		.max_write_zeroes_sectors = grant->max_write_zeroes >> SECTOR_SHIFT,
	};
	/*
	 * Not below a page, which the block layer refuses, nor below what the
	 * storage says it is best at, for example a stripe.
	 */
	if (chunk)
		lim->max_user_sectors =
			max3(round_down(chunk, grant->logical_block) >> SECTOR_SHIFT,
			     grant->io_opt >> SECTOR_SHIFT, (u32)PAGE_SECTORS);
	if (grant->flags & RNBD_EXPORT_VOLATILE_CACHE)
		lim->features |= BLK_FEAT_WRITE_CACHE;
	if (grant->flags & RNBD_EXPORT_FUA)
		lim->features |= BLK_FEAT_FUA;
	if (grant->flags & RNBD_EXPORT_ROTATIONAL)
		lim->features |= BLK_FEAT_ROTATIONAL;
}

/*
 * The next free number for which no other driver has a disk. The kernel's
 * own RNBD client uses the same names.
 */
static int rnbd_disk_name(struct rnbd_session *sess)
{
	char name[sizeof("/sys/class/block/") + DISK_NAME_LEN];
	struct path path;
	int first = 0;
	int index;

	for (;;) {
		index = ida_alloc_min(&rnbd_disk_ida, first, GFP_KERNEL);
		if (index < 0)
			return index;
		snprintf(name, sizeof(name), "/sys/class/block/rnbd%d", index);
		if (kern_path(name, 0, &path))
			break;
		path_put(&path);
		ida_free(&rnbd_disk_ida, index);
		first = index + 1;
	}
	sess->index = index;
	snprintf(sess->disk->disk_name, DISK_NAME_LEN, "rnbd%d", index);
	return 0;
}

/**
 * rnbd_disk_create - make tag set and disk
 * @sess: connected session
 * @why: filled on error
 *
 * Context: process context, may sleep.
 * Return: 0, after which sess->disk is there but invisible, or an error that
 * rnbd_disk_remove() and rnbd_disk_free() clean up after.
 */
int rnbd_disk_create(struct rnbd_session *sess, struct rnbd_why *why)
{
	struct blk_mq_tag_set *set = &sess->tag_set;
	struct queue_limits lim;
	struct gendisk *disk;
	int ret;

	/* Lawful, but where pages are larger the block layer would complain of us. */
	if (sess->grant.max_io < PAGE_SIZE) {
		rnbd_why(why, "the target takes %u bytes at once, less than a page of this machine",
			 sess->grant.max_io);
		return -EOPNOTSUPP;
	}
	set->ops = &rnbd_mq_ops;
	set->nr_hw_queues = sess->nr_queues;
	set->nr_maps = sess->nr_poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = sess->grant.queue_depth;
	set->numa_node = NUMA_NO_NODE;
	/* The target's device has a scheduler, if one is of use there. */
	set->flags = BLK_MQ_F_SHOULD_MERGE | BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	set->cmd_size = struct_size_t(struct rnbd_req, sge, sess->max_segments);
	set->timeout = READ_ONCE(io_timeout) * HZ;
	set->driver_data = sess;
	ret = blk_mq_alloc_tag_set(set);
	if (ret)
		return ret;

	rnbd_disk_limits(sess, &lim);
	disk = blk_mq_alloc_disk(set, &lim, sess);
	if (IS_ERR(disk)) {
		ret = PTR_ERR(disk);
		rnbd_why(why, "the kernel refuses the limits of the export (%d)", ret);
		blk_mq_free_tag_set(set);
		return ret;
	}
	disk->fops = &rnbd_disk_ops;
	disk->private_data = sess;
	set_capacity(disk, sess->grant.capacity >> SECTOR_SHIFT);
	if (sess->opt.readonly || (sess->grant.flags & RNBD_EXPORT_READONLY))
		set_disk_ro(disk, true);
	sess->disk_ns = ktime_get_ns();
	sess->disk = disk;
	return rnbd_disk_name(sess);
}

/**
 * rnbd_disk_add - show the disk to the world
 * @sess: live session with a disk: adding it reads its partition table
 * @why: filled on error
 *
 * Context: process context, may sleep.
 * Return: 0 or an error.
 */
int rnbd_disk_add(struct rnbd_session *sess, struct rnbd_why *why)
{
	int ret;

	ret = rnbd_parent_add(sess);
	if (!ret)
		ret = device_add_disk(sess->parent, sess->disk, rnbd_disk_groups);
	if (ret)
		rnbd_why(why, "the kernel refuses the disk %s (%d)",
			 sess->disk->disk_name, ret);
	return ret;
}

/**
 * rnbd_disk_resized - tell people and udev of another size
 * @sess: session with a disk that is attached and not being detached
 *
 * As set_capacity_and_notify() does, which is not for those whom I/O waits for:
 * whoever sends an event holds a lock of all events, and may wait for memory.
 *
 * Context: event_work.
 */
void rnbd_disk_resized(struct rnbd_session *sess)
{
	char event[] = "RESIZE=1";
	char *envp[2] = { event };
	unsigned int noio;

	pr_info_ratelimited("%s (%s at %s): %llu bytes now\n", sess->disk->disk_name,
			    sess->opt.export, sess->opt.addr,
			    (u64)get_capacity(sess->disk) << SECTOR_SHIFT);
	noio = memalloc_noio_save();
	kobject_uevent_env(&disk_to_dev(sess->disk)->kobj, KOBJ_CHANGE, envp);
	memalloc_noio_restore(noio);
}

/**
 * rnbd_disk_remove - remove the parent device and give the number back
 * @sess: session whose disk was deleted, or never added
 *
 * Context: process context, may sleep.
 */
void rnbd_disk_remove(struct rnbd_session *sess)
{
	rnbd_parent_remove(sess);
	if (sess->index >= 0)
		ida_free(&rnbd_disk_ida, sess->index);
	sess->index = -1;
}

/**
 * rnbd_disk_free - free disk and tag set
 * @sess: session whose last reference has gone, with or without a disk
 *
 * Context: process context, may sleep.
 */
void rnbd_disk_free(struct rnbd_session *sess)
{
	if (!sess->disk)
		return;
	put_disk(sess->disk);
	blk_mq_free_tag_set(&sess->tag_set);
}
