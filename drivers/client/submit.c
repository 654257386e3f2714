// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submission of requests: pool space, flow control and request frames.
 *
 * Operation
 *
 * rnbdc_queue_submit() allocates pool space for the data of a request, stages
 * the RDMA WRITEs of a write (stage.c) and adds the request to the open frame.
 * The staged RDMA WRITEs and the SEND of the frame are posted together, the SEND last.
 * The open frame is sent when it is full, when its requests write at least frame_kb KiB,
 * so that the storage of the target starts early, or at the end of a dispatch, which is
 * its last request or the stop of the hardware queue. Exception: if at least as many frames
 * as the module parameter "gather" are unacknowledged (rnbd_ring.unacked), the end of a
 * dispatch does not send the open frame; the completion of the next SEND does. So requests
 * that arrive one at a time share frames, too. The request of a read is sent in the same
 * way; complete.c fetches the data.
 *
 * Flow control: a request is accepted only when send-queue entries, pool space, a
 * frame (slot and credit) and a wire tag are available. If one of these is lacking,
 * the hardware queue of the disk is stopped (stall.c). The wire tag is not the tag of
 * the block layer: a request has a wire tag only while it is in flight.
 *
 * Ownership
 *
 * Pool space and wire tag belong to a request from its submission until complete.c
 * or cancel.c releases them, or an orphan takes them over (orphan.c). A request that is
 * not accepted holds neither.
 *
 * Concurrency
 *
 * ring.lock protects the state of a queue that requests use, and is taken once per
 * submission. In transfer mode "copy", the lock is dropped while the data of a write are
 * copied to bounce memory, and then taken a second time.
 *
 * Errors
 *
 * Without a connection rnbdc_down_status() decides whether the block layer keeps a
 * request or fails it. If the device refuses a post, the connection ends.
 */

#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "../core/inject.h"
#include "../core/io.h"
#include "../core/lease.h"
#include "../core/login.h"
#include "../core/op.h"
#include "../core/param.h"
#include "../core/quirks.h"
#include "../core/ring.h"
#include "../core/ring_resize.h"
#include "../core/ring_send.h"
#include "bounce.h"
#include "cache.h"
#include "data.h"
#include "disk.h"
#include "inject.h"
#include "queue.h"
#include "session.h"
#include "share.h"
#include "stage.h"
#include "stall.h"
#include "submit.h"
#include "trace.h"

RNBD_PARAM_UINT(gather, 1, 1, 65535,
		"unacknowledged request frames from which on further requests are gathered in one frame");

RNBD_PARAM_UINT(frame_kb, 256, 1, 1048576,
		"KiB written by the requests of a frame at which the frame no longer waits for further requests");

/**
 * rnbdc_guard_wrs - get the number of work requests to reserve for the guard of a read
 * @sess: session whose device is known
 *
 * Each read needs the reservation: the last RDMA READ of a batch of requests gets a guard, and
 * any read can be the last of its batch.
 *
 * Context: any.
 * Return: 1 if the connection needs read guards, otherwise 0.
 */
u32 rnbdc_guard_wrs(const struct rnbdc_session *sess)
{
	return sess->conn.quirks.guard_reads;
}

/*
 * Get an upper bound of the RDMA operations that transfer @nr_sge pieces of memory to or
 * from @nr_extents extents. An extent with k pieces takes at most 1 + (k - 1) / @sge
 * operations. The ends of extents split at most @nr_extents - 1 pieces. A request with
 * more pieces than the stage holds is posted in parts, and each part can add an operation.
 */
static u32 rnbdc_transfer_wrs(u32 nr_sge, u32 nr_extents, u32 sge)
{
	return nr_extents + (nr_sge - 1) / sge + (nr_sge + nr_extents - 1) / RNBDC_STAGE_SGES;
}

/**
 * rnbdc_max_req_wrs - get the number of work requests that the largest request can need
 * @sess: session whose device is known
 *
 * Context: any.
 * Return: upper bound of rnbdc_req_wrs() for any request.
 */
u32 rnbdc_max_req_wrs(const struct rnbdc_session *sess)
{
	u32 sge = min(sess->conn.max_sge, sess->conn.max_sge_rd);
	u32 wrs = rnbdc_transfer_wrs(sess->max_segments, RNBD_EXTENTS_MAX, sge) +
		  rnbdc_guard_wrs(sess);

	if (rnbd_quirks_limits_reads(&sess->conn.quirks))
		wrs += sess->max_segments + sess->opt.max_io / sess->conn.quirks.read_limit;
	return wrs;
}

/* Get an upper bound of the RDMA operations for a request. */
static u32 rnbdc_req_wrs(const struct rnbdc_session *sess, struct rnbdc_req *req)
{
	bool write = rnbd_op_data_out(req->wire.op);
	u32 sge = write ? sess->conn.max_sge : sess->conn.max_sge_rd;
	u32 nr_sge = req->nr_sge;
	u32 wrs;

	if (req->wire.flags & RNBD_REQ_INLINE) {
		if (write)
			return 0;
		/* Not mapped yet: a mapping is needed only if the reply carries no data. */
		if (!sess->opt.copy)
			nr_sge = blk_rq_nr_phys_segments(blk_mq_rq_from_pdu(req));
	}
	wrs = rnbdc_transfer_wrs(nr_sge, req->wire.nr_extents, sge);
	if (write)
		return wrs;
	if (rnbd_quirks_limits_reads(&sess->conn.quirks))
		wrs += nr_sge + req->wire.length / sess->conn.quirks.read_limit;
	return wrs + rnbdc_guard_wrs(sess);
}

/*
 * Inject a fault: overwrite the first @units units of the pool with bytes of the open frame,
 * even if requests in flight own these units. Overwrite fewer if the send queue lacks entries.
 */
static noinline void rnbdc_inject_stray_writes(struct rnbdc_queue *q, u32 units)
{
	const struct rnbd_grant *grant = &q->sess->grant;
	struct ib_sge sge = q->ring.open->sge;
	u32 unit, used;

	units = min(units, grant->pool_units);
	for (unit = 0; units && q->sq_free; unit++, units--) {
		const struct rnbd_segment_info *seg =
			&q->sess->conn.segments[unit / grant->segment_units];

		used = q->open_wrs;
		rnbdc_stage_add(q, &q->out, seg->addr +
				((u64)(unit % grant->segment_units) << RNBD_UNIT_SHIFT),
				seg->rkey, &sge, 0,
				min(q->ring.attr.slot_size, RNBD_UNIT_SIZE), false);
		q->sq_free -= q->open_wrs - used;
	}
}

/**
 * rnbdc_send_frame - send the open frame after the RDMA WRITEs staged for it
 * @q: queue with an open frame
 *
 * In two cases the function sets IB_SEND_SIGNALED, because it needs the completion of the SEND.
 * If RDMA WRITEs precede the SEND, the handler of the completion releases their pages and
 * send-queue entries. If earlier requests are in flight, the handler sends the frame in which
 * further requests were gathered until then. If the device refuses the post, the connection
 * ends.
 *
 * Context: any, ring.lock held.
 */
void rnbdc_send_frame(struct rnbdc_queue *q)
{
	struct rnbd_ring *ring = &q->ring;
	int flags = rnbdc_needs_send_fence(q) ? IB_SEND_FENCE : 0;
	struct ib_send_wr *first = NULL;
	u32 units;

	if (rnbd_inject_at(&rnbdc_inject_hold_frames, q->index))
		return;
	if (rnbd_inject(&rnbdc_inject_stray, &units))
		rnbdc_inject_stray_writes(q, units);
	if (q->out.nr_wrs) {
		first = &q->out.wrs[0].wr;
		first->send_flags |= flags;
		flags = 0;
	}
	/* The handler of the completion releases pages of writes, or sends gathered requests. */
	if (q->open_wrs || q->in_flight > q->open_reqs)
		flags |= IB_SEND_SIGNALED;
	if (rnbd_inject(&rnbdc_inject_fail_post, NULL)) {
		rnbd_ring_fail(ring, "fault injected: a post failed");
		ring->open = NULL;
		rnbdc_stage_reset(&q->out);
		return;
	}
	rnbd_ring_set_note(ring, q->open_wrs);
	if (q->open_wrs)
		rnbdc_cache_posted(&q->cache);
	trace_rnbdc_frame(q, ring->send_seq, ring->open_entries, q->open_wrs);
	q->open_wrs = 0;
	q->open_bytes = 0;
	q->open_reqs = 0;
	rnbd_ring_send(ring, first, rnbdc_stage_last(&q->out), flags);
	rnbdc_stage_reset(&q->out);
}

/*
 * At the end of a dispatch, send the open frame unless at least "gather" frames are
 * unacknowledged: then rnbdc_queue_sent() sends the open frame.
 */
static void rnbdc_flush_frame(struct rnbdc_queue *q)
{
	if (!q->ring.open)
		return;
	if (q->ring.unacked < READ_ONCE(gather))
		rnbdc_send_frame(q);
	else
		q->stats.gathered++;
}

/* Stop a hardware queue whose request lacks a credit, a tag or send-queue entries. */
static blk_status_t rnbdc_stall(struct rnbdc_queue *q, struct rnbdc_hwq *hwq,
				enum rnbdc_stall stall)
{
	/* The stop ends the dispatch: no further request of it would send the open frame. */
	rnbdc_flush_frame(q);
	rnbdc_hwq_stall(hwq, stall);
	return BLK_STS_RESOURCE;
}

/**
 * rnbdc_free_space - release the pool space of a request
 * @q: queue
 * @req: request, with or without pool space
 *
 * Context: any, ring.lock held.
 */
void rnbdc_free_space(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	u32 used = q->cache.pool.used;

	if (!req->wire.nr_extents)
		return;
	rnbdc_space_free(&q->cache, req->wire.extents, req->wire.nr_extents);
	req->hwq->units -= used - q->cache.pool.used;
	req->wire.nr_extents = 0;
	rnbdc_hwq_freed(req->hwq);
}

/* Allocate pool space for a request, or stop its hardware queue. */
static blk_status_t rnbdc_alloc_space(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	u32 units = DIV_ROUND_UP(req->wire.length, RNBD_UNIT_SIZE);
	bool may = rnbdc_may_take_units(req->hwq, units);
	int extents = -ENOSPC;

	if (likely(may))
		extents = rnbdc_space_alloc(&q->cache, &req->hwq->waiter, units,
					    req->wire.extents);
	if (unlikely(extents < 0)) {
		/* The stop ends the dispatch, as in rnbdc_stall(). */
		rnbdc_flush_frame(q);
		if (may)
			rnbdc_hwq_wait(req->hwq, units);
		else
			rnbdc_hwq_refused(req->hwq, units);
		return BLK_STS_RESOURCE;
	}
	req->wire.nr_extents = extents;
	req->hwq->units += units;
	if (unlikely(req->hwq->lacks))
		rnbdc_hwq_served(req->hwq);
	if (extents > 1)
		q->stats.fragmented++;
	return BLK_STS_OK;
}

/**
 * rnbdc_lost_status - get the status of a request that fails without a connection
 * @disk: disk
 *
 * Context: any.
 * Return: BLK_STS_TRANSPORT, a path error, after which multipath sends the request over
 * another path. The two other results are no path errors: BLK_STS_RESV_CONFLICT if the host was
 * fenced or has lost its ownership, and BLK_STS_TARGET if acknowledged writes are lost,
 * because a flush over another path would succeed without these writes.
 */
blk_status_t rnbdc_lost_status(const struct rnbdc_disk *disk)
{
	if (test_bit(RNBDC_DISK_REVOKED, &disk->flags))
		return BLK_STS_RESV_CONFLICT;
	return test_bit(RNBDC_DISK_DATA_LOST, &disk->flags) ? BLK_STS_TARGET :
							      BLK_STS_TRANSPORT;
}

/**
 * rnbdc_down_status - get the status of a request that finds no connection
 * @disk: disk
 *
 * Context: any.
 * Return: rnbdc_lost_status() if I/O of the disk fails without a connection. Otherwise I/O
 * waits for a connection: BLK_STS_RESOURCE makes the block layer keep the request.
 */
blk_status_t rnbdc_down_status(const struct rnbdc_disk *disk)
{
	if (!test_bit(RNBDC_DISK_FAIL_IO, &disk->flags))
		return BLK_STS_RESOURCE;
	return rnbdc_lost_status(disk);
}

static bool rnbdc_has_data(const struct rnbdc_req *req)
{
	return rnbd_op_has_data(req->wire.op);
}

/* Check that a tag and a frame are available, and allocate pool space for the data. */
static blk_status_t rnbdc_place_locked(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	blk_status_t status;

	if (unlikely(!q->ring.live || !q->ready))
		return rnbdc_down_status(req->hwq->disk);
	if (unlikely(!rnbdc_may_take_tag(req->hwq))) {
		req->hwq->refused_tags = q->nr_tags;
		rnbd_ring_short_of_depth(&q->ring);
		return rnbdc_stall(q, req->hwq, RNBDC_STALL_CREDIT);
	}
	if (!q->ring.open && !rnbd_ring_can_open(&q->ring))
		return rnbdc_stall(q, req->hwq, RNBDC_STALL_CREDIT);
	if (!rnbdc_has_data(req) || req->wire.nr_extents)
		return BLK_STS_OK;
	status = rnbdc_alloc_space(q, req);
	if (unlikely(status))
		return status;
	if (q->sess->opt.copy && unlikely(!rnbdc_bounce_map(q, req))) {
		/* No memory for gather entries: the block layer retries the request later. */
		rnbdc_free_space(q, req);
		return BLK_STS_RESOURCE;
	}
	return BLK_STS_OK;
}

static blk_status_t rnbdc_submit_locked(struct rnbdc_queue *q, struct rnbdc_req *req,
					bool last)
{
	struct rnbd_ring *ring = &q->ring;
	struct rnbd_req_entry *entry;
	u32 entries, in_frame = 0;
	blk_status_t status;

	status = rnbdc_place_locked(q, req);
	if (unlikely(status)) {
		rnbdc_free_space(q, req);
		return status;
	}
	req->wrs = rnbdc_has_data(req) ? rnbdc_req_wrs(q->sess, req) : 0;
	if (!rnbdc_may_take_wrs(req->hwq, req->wrs)) {
		rnbdc_free_space(q, req);
		return rnbdc_stall(q, req->hwq, RNBDC_STALL_SQ);
	}

	entries = rnbd_request_entries(req->wire.nr_extents);
	if (rnbd_op_data_out(req->wire.op) && req->wire.flags & RNBD_REQ_INLINE)
		in_frame = req->wire.length;
	if (ring->open && !rnbd_ring_fits(ring, entries * sizeof(*entry), in_frame)) {
		rnbdc_send_frame(q);
		/* Only the fault point hold_frames leaves the frame open. */
		if (unlikely(ring->open)) {
			rnbdc_free_space(q, req);
			return rnbdc_stall(q, req->hwq, RNBDC_STALL_CREDIT);
		}
	}
	if (!ring->open) {
		if (rnbd_inject(&rnbdc_inject_fail_ring, NULL))
			rnbd_ring_fail(ring, "fault injected: the ring failed");
		/* rnbd_ring_fail() does not take ring.lock, so the ring can fail at any time. */
		if (!rnbd_ring_open(ring, RNBD_FRAME_REQUEST)) {
			rnbdc_free_space(q, req);
			return ring->live ? rnbdc_stall(q, req->hwq, RNBDC_STALL_CREDIT) :
					    rnbdc_down_status(req->hwq->disk);
		}
	}
	req->wire.tag = rnbdc_hwq_take_tag(req->hwq);
	/* This cannot fail: the smallest slot holds the largest request. */
	entry = rnbd_ring_add(ring, entries * sizeof(*entry), entries);
	rnbd_encode_request(entry, &req->wire);
	if (in_frame)
		rnbdc_inline_write(q, req);

	if (rnbd_ops[req->wire.op].flushes)
		req->flush_ns = ktime_get_ns();
	req->state = RNBDC_REQ_SENT;
	req->frame_seq = ring->send_seq;
	req->sent_at = jiffies;
	req->orphaned = false;
	req->slow = 0;
	req->ask = false;
	req->stuck = false;
	q->reqs[req->wire.tag] = req;
	q->in_flight++;
	rnbd_flow_busy(&q->ring.out, q->in_flight);
	q->open_reqs++;
	q->stats.requests++;
	q->sq_free -= req->wrs;
	if (rnbd_op_data_out(req->wire.op) && !in_frame) {
		u32 used = q->open_wrs;

		rnbdc_stage_req(q, &q->out, req);
		q->open_bytes += req->wire.length;
		used = q->open_wrs - used;
		/* Return surplus send-queue entries: rnbdc_req_wrs() is an upper bound. */
		if (!WARN_ON_ONCE(used > req->wrs))
			q->sq_free += req->wrs - used;
	}
	/*
	 * The block layer ends a dispatch when the hardware queue is stopped, possibly without
	 * marking a request as the last.
	 */
	if (rnbdc_hwq_stopped(req->hwq) || q->open_bytes >= READ_ONCE(frame_kb) * 1024ULL)
		rnbdc_send_frame(q);
	else if (last)
		rnbdc_flush_frame(q);
	return BLK_STS_OK;
}

/**
 * rnbdc_queue_submit - submit a request of the block layer
 * @q: queue
 * @rq: started and mapped request
 * @last: the request is the last of this dispatch
 *
 * Context: any; takes ring.lock.
 * Return: BLK_STS_OK; BLK_STS_RESOURCE if the request lacks a resource, so that the block
 * layer dispatches it later; without a connection, rnbdc_down_status(). Unless BLK_STS_OK is
 * returned, the caller still owns the request.
 */
blk_status_t rnbdc_queue_submit(struct rnbdc_queue *q, struct request *rq, bool last)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	unsigned long flags;
	blk_status_t status;

	req->wire.nr_extents = 0;
	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->sess->opt.copy && rnbd_op_data_out(req->wire.op) &&
	    !(req->wire.flags & RNBD_REQ_INLINE)) {
		/* Drop the lock for the copy, because interrupts are disabled while it is held. */
		status = rnbdc_place_locked(q, req);
		if (unlikely(status))
			goto unlock;
		spin_unlock_irqrestore(&q->ring.lock, flags);
		rnbdc_bounce_copy(q, req);
		spin_lock_irqsave(&q->ring.lock, flags);
	}
	status = rnbdc_submit_locked(q, req, last);
unlock:
	spin_unlock_irqrestore(&q->ring.lock, flags);
	return status;
}

/**
 * rnbdc_queue_commit - end a dispatch in which no request was marked as the last
 * @q: queue
 *
 * Context: any; takes ring.lock.
 */
void rnbdc_queue_commit(struct rnbdc_queue *q)
{
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->ring.live)
		rnbdc_flush_frame(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdc_queue_send_open - send the open frame
 * @q: queue; may have no open frame or no connection
 *
 * Context: process context; takes ring.lock.
 */
void rnbdc_queue_send_open(struct rnbdc_queue *q)
{
	spin_lock_irq(&q->ring.lock);
	if (q->ring.open && q->ring.live)
		rnbdc_send_frame(q);
	spin_unlock_irq(&q->ring.lock);
}
