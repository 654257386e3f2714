// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transfer engine: block requests in, frames and RDMA operations out.
 *
 * Operation
 *
 * A write takes pool space, its RDMA WRITEs are staged, and its request entry
 * goes into the open frame. The frame leaves, behind the staged WRITEs and in
 * one post with them, when the block layer says "last", or is full, or has so
 * much data that the target's storage had better begin with it. While @gather
 * frames are on the wire unacknowledged, it waits for one of them to be
 * acknowledged, so that requests that come one at a time share frames too.
 * A read sends its request the same way; when the reply has come, RDMA READs
 * of all replies of that frame are posted together and only the last of them
 * is signalled.
 *
 * Data that lies side by side in the pool goes by one RDMA operation, whatever
 * number of requests it belongs to: first fit gives the requests of a frame
 * neighbouring space whenever it can.
 *
 * Ownership of pages: they are the device's from the post until the SEND that
 * follows an RDMA WRITE, or the RDMA READ itself, has completed. A write is
 * complete when the reply has come and its frame's SEND has completed; a read
 * is complete when the READ that covers it has completed.
 *
 * Ownership of pool space: taken at submission. Given back when a write's reply
 * has come (the target is done with it), and when a read's RDMA READ has
 * completed or, with early release, as soon as it is posted. In that case the
 * next SEND or RDMA WRITE carries a fence: it must not overtake the READ,
 * which the responder may execute again if its response is lost. The flag
 * belongs to the last READ posted and is cleared by the first work request
 * that fences, or by that READ's completion.
 *
 * Concurrency: ring.lock protects all state of a queue. It is taken once per
 * submission and once per completion; requests are handed back to the block
 * layer outside of it. Queues share nothing.
 *
 * Flow control: send-queue entries, pool space, and a frame (slot and credit)
 * are all assured before a request is accepted. If one is lacking (the high
 * watermark), the hardware queue is stopped; it starts again when completions
 * have brought all three above their low watermarks, which they always do
 * when nothing is in flight any more.
 *
 * Errors: everything that is not success ends the connection; the requests are
 * then taken back by rnbd_disk_cancel_requests() after the device let go of
 * them, to be sent again over the next connection or to fail.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../core/param.h"
#include "client.h"
#include "trace.h"

RNBD_PARAM_UINT(gather, 1, 1, 65535,
		"request frames on the wire before further requests are gathered");

RNBD_PARAM_UINT(frame_kb, 256, 1, 1048576,
		"KiB that the requests of a frame write, from which on it waits for no more of them");

static bool coalesce = true;
module_param(coalesce, bool, 0644);
MODULE_PARM_DESC(coalesce, "one RDMA operation for requests that are neighbours in the pool (default Y)");

static bool unsafe_no_fence;
module_param(unsafe_no_fence, bool, 0644);
MODULE_PARM_DESC(unsafe_no_fence, "for tests: leave the fence of early release out, which corrupts data (default N)");

static bool unsafe_no_read_guard;
module_param(unsafe_no_read_guard, bool, 0644);
MODULE_PARM_DESC(unsafe_no_read_guard, "for tests: believe soft-RoCE that a READ has succeeded, which corrupts data if packets are lost (default N)");

/*
 * Work requests and gather entries that can be staged before they are posted.
 * A guard may take one more of each.
 */
#define RNBD_STAGE_WRS		32
#define RNBD_STAGE_SGES		256
/* A request's pieces can meet the end of the stage that often. */
#define RNBD_STAGE_BREAKS	2
/* A signalled READ covers at most about that much: pages come back in time. */
#define RNBD_READ_BATCH_BYTES	(256 * 1024)

/* ------------------------------------------------------------------------
 * Memory of a queue
 */

/* Every READ may be the last of its batch, and be cut in two by a guard. */
static u32 rnbd_guard_wrs(const struct rnbd_session *sess)
{
	return sess->guard_over != U32_MAX;
}

/* Work requests that the worst request can need: see rnbd_req_wrs(). */
static u32 rnbd_max_req_wrs(const struct rnbd_session *sess)
{
	u32 sge = min(sess->max_sge, sess->max_sge_rd);

	u32 wrs = RNBD_EXTENTS_MAX + RNBD_STAGE_BREAKS + rnbd_guard_wrs(sess) +
		  DIV_ROUND_UP(sess->max_segments + RNBD_EXTENTS_MAX, sge);

	if (sess->read_limit != U32_MAX)
		wrs += sess->max_segments + sess->opt.max_io / sess->read_limit;
	return wrs;
}

/*
 * Send-queue entries to have for data: two for every request that may be in
 * flight, its guard, and room for the worst.
 */
static u32 rnbd_queue_data_wrs(const struct rnbd_session *sess)
{
	u32 want = max((2 + rnbd_guard_wrs(sess)) * sess->opt.depth,
		       2 * rnbd_max_req_wrs(sess));
	u32 other = sess->opt.ring_slots + 2;
	u32 have = sess->dev->attrs.max_qp_wr > other ?
		   sess->dev->attrs.max_qp_wr - other : 0;

	return min(want, have);
}

static void rnbd_data_done(struct ib_cq *cq, struct ib_wc *wc);

static int rnbd_stage_init(struct rnbd_stage *stage)
{
	stage->wrs = kvcalloc(RNBD_STAGE_WRS + 1, sizeof(*stage->wrs), GFP_KERNEL);
	stage->sges = kvcalloc(RNBD_STAGE_SGES + 1, sizeof(*stage->sges), GFP_KERNEL);
	return stage->wrs && stage->sges ? 0 : -ENOMEM;
}

static void rnbd_stage_exit(struct rnbd_stage *stage)
{
	kvfree(stage->wrs);
	kvfree(stage->sges);
	memset(stage, 0, sizeof(*stage));
}

/**
 * rnbd_queue_alloc - allocate what a queue needs to transfer
 * @q: queue whose session knows its device
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP if the device's queue pairs do not hold
 * the largest request; rnbd_queue_free() copes with all.
 */
int rnbd_queue_alloc(struct rnbd_queue *q)
{
	const struct rnbd_session *sess = q->sess;

	q->data_cqe.done = rnbd_data_done;
	q->open_wrs = 0;
	q->open_bytes = 0;
	q->open_reqs = 0;
	q->in_flight = 0;
	q->sent_seq = 0;
	q->waiting = NULL;
	q->fence = NULL;
	q->stopped = false;
	q->sq_size = rnbd_queue_data_wrs(sess);
	q->sq_free = q->sq_size;
	if (q->sq_size < rnbd_max_req_wrs(sess))
		return -EOPNOTSUPP;
	q->frame_wrs = kvcalloc(sess->opt.ring_slots + 1, sizeof(*q->frame_wrs),
				GFP_KERNEL);
	q->reqs = kvcalloc(sess->opt.depth, sizeof(*q->reqs), GFP_KERNEL);
	if (!q->frame_wrs || !q->reqs || rnbd_stage_init(&q->out) ||
	    rnbd_stage_init(&q->in))
		return -ENOMEM;
	return 0;
}

/**
 * rnbd_queue_free - free what rnbd_queue_alloc() allocated
 * @q: queue, idle
 */
void rnbd_queue_free(struct rnbd_queue *q)
{
	rnbd_stage_exit(&q->in);
	rnbd_stage_exit(&q->out);
	kvfree(q->reqs);
	q->reqs = NULL;
	kvfree(q->frame_wrs);
	q->frame_wrs = NULL;
}

/* ------------------------------------------------------------------------
 * Pages of a request
 */

static enum dma_data_direction rnbd_req_dir(const struct rnbd_req *req)
{
	return req->wire.op == RNBD_OP_WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/**
 * rnbd_req_unmap - take the pages back from the device
 * @req: request that no posted work request refers to
 *
 * Context: any.
 */
void rnbd_req_unmap(struct rnbd_req *req)
{
	struct ib_device *dev = req->queue->sess->dev;
	u32 i;

	for (i = 0; i < req->nr_sge && !req->queue->sess->opt.copy; i++)
		ib_dma_unmap_page(dev, req->sge[i].addr, req->sge[i].length,
				  rnbd_req_dir(req));
	req->nr_sge = 0;
}

/**
 * rnbd_req_map - give the pages of a request to the device
 * @q: queue
 * @rq: READ or WRITE whose rnbd_req.wire has its op
 *
 * Context: any.
 * Return: BLK_STS_OK, or BLK_STS_RESOURCE if it can be tried again later.
 */
blk_status_t rnbd_req_map(struct rnbd_queue *q, struct request *rq)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbd_session *sess = q->sess;
	struct req_iterator iter;
	struct bio_vec bv;
	blk_status_t status = BLK_STS_RESOURCE;

	req->nr_sge = 0;
	rq_for_each_bvec(bv, rq, iter) {
		struct ib_sge *sge = &req->sge[req->nr_sge];

		if (WARN_ON_ONCE(req->nr_sge == sess->max_segments)) {
			status = BLK_STS_IOERR;
			goto unmap;
		}
		sge->addr = ib_dma_map_page(sess->dev, bv.bv_page, bv.bv_offset,
					    bv.bv_len, rnbd_req_dir(req));
		if (ib_dma_mapping_error(sess->dev, sge->addr))
			goto unmap;
		sge->length = bv.bv_len;
		sge->lkey = sess->pd->local_dma_lkey;
		req->nr_sge++;
	}
	return BLK_STS_OK;
unmap:
	rnbd_req_unmap(req);
	return status;
}

/*
 * Upper bound of the RDMA operations for a request: one per extent, and one
 * more whenever the gather list of an operation or the stage is full.
 */
static u32 rnbd_req_wrs(const struct rnbd_session *sess, struct rnbd_req *req)
{
	bool write = req->wire.op == RNBD_OP_WRITE;
	u32 sge = write ? sess->max_sge : sess->max_sge_rd;
	u32 nr_sge = req->nr_sge;
	u32 wrs;

	if (req->wire.flags & RNBD_REQ_INLINE) {
		if (write)
			return 0;
		/* It is mapped only if its data are not in the reply. */
		if (!sess->opt.copy)
			nr_sge = blk_rq_nr_phys_segments(blk_mq_rq_from_pdu(req));
	}
	wrs = req->wire.nr_runs + (nr_sge + req->wire.nr_runs) / sge +
	      RNBD_STAGE_BREAKS;
	if (write)
		return wrs;
	if (sess->read_limit != U32_MAX)
		wrs += nr_sge + req->wire.length / sess->read_limit;
	return wrs + rnbd_guard_wrs(sess);
}

/* ------------------------------------------------------------------------
 * Inline data
 */

static void rnbd_inline_write(struct rnbd_queue *q, struct rnbd_req *req)
{
	void *room = rnbd_ring_add_data(&q->ring, req->wire.length);
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		memcpy_from_bvec(room, &bv);
		room += bv.bv_len;
	}
	q->stats.inline_writes++;
}

static void rnbd_inline_read(struct rnbd_queue *q, struct rnbd_req *req,
			     const void *data)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct req_iterator iter;
	struct bio_vec bv;

	rq_for_each_segment(bv, rq, iter) {
		memcpy_to_bvec(&bv, data);
		data += bv.bv_len;
	}
	q->stats.inline_reads++;
}

/* ------------------------------------------------------------------------
 * Staging and posting of RDMA operations
 */

static struct ib_send_wr *rnbd_stage_last(struct rnbd_stage *stage)
{
	return stage->nr_wrs ? &stage->wrs[stage->nr_wrs - 1].wr : NULL;
}

static void rnbd_stage_reset(struct rnbd_stage *stage)
{
	stage->nr_wrs = 0;
	stage->nr_sges = 0;
	stage->end = 0;
}

/*
 * Fence the first work request that leaves after an RDMA READ whose extents
 * were released early. Returns whether it must carry the flag.
 */
static bool rnbd_take_fence(struct rnbd_queue *q)
{
	if (!q->fence)
		return false;
	q->fence = NULL;
	if (unlikely(READ_ONCE(unsafe_no_fence)))
		return false;
	q->stats.fences++;
	return true;
}

/* Post staged operations on their own, because no more fit the stage. */
static void rnbd_stage_post(struct rnbd_queue *q, struct rnbd_stage *stage)
{
	int ret;

	if (!stage->nr_wrs)
		return;
	if (stage == &q->out && rnbd_take_fence(q))
		stage->wrs[0].wr.send_flags |= IB_SEND_FENCE;
	ret = ib_post_send(q->ring.qp, &stage->wrs[0].wr, NULL);
	if (unlikely(ret))
		rnbd_ring_fail(&q->ring, "the device refused an RDMA operation");
	rnbd_stage_reset(stage);
}

/*
 * Stage the transfer between @bytes of local memory at @sge + @skip and the
 * pool at @remote, joined to the operation before it where that is possible.
 */
static void rnbd_stage_add(struct rnbd_queue *q, struct rnbd_stage *stage,
			   u64 remote, u32 rkey, const struct ib_sge *sge,
			   u32 skip, u32 bytes, bool new_req)
{
	bool write = stage == &q->out;
	u32 max_sge = write ? q->sess->max_sge : q->sess->max_sge_rd;
	struct ib_send_wr *last = rnbd_stage_last(stage);
	struct ib_rdma_wr *rdma;
	struct ib_sge *local;

	if (unlikely(stage->nr_sges >= RNBD_STAGE_SGES)) {
		rnbd_stage_post(q, stage);
		last = NULL;
	}

	local = &stage->sges[stage->nr_sges];
	local->addr = sge->addr + skip;
	local->length = bytes;
	local->lkey = sge->lkey;

	if (last && remote == stage->end && last->num_sge < max_sge &&
	    (write || stage->bytes + bytes <= q->sess->read_limit) &&
	    container_of(last, struct ib_rdma_wr, wr)->rkey == rkey &&
	    !(last->send_flags & IB_SEND_SIGNALED) &&
	    (!new_req || READ_ONCE(coalesce))) {
		last->num_sge++;
		stage->bytes += bytes;
		if (new_req)
			q->stats.coalesced++;
	} else {
		if (unlikely(stage->nr_wrs >= RNBD_STAGE_WRS)) {
			rnbd_stage_post(q, stage);
			last = NULL;
			stage->sges[0] = *local;
			local = &stage->sges[0];
		}
		rdma = &stage->wrs[stage->nr_wrs++];
		memset(rdma, 0, sizeof(*rdma));
		rdma->wr.wr_cqe = &q->data_cqe;
		rdma->wr.sg_list = local;
		rdma->wr.num_sge = 1;
		rdma->wr.opcode = write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ;
		rdma->remote_addr = remote;
		rdma->rkey = rkey;
		stage->bytes = bytes;
		if (last)
			last->next = &rdma->wr;
		if (write) {
			q->stats.rdma_writes++;
			q->open_wrs++;
		} else {
			q->stats.rdma_reads++;
		}
	}
	stage->nr_sges++;
	stage->end = remote + bytes;
	if (write)
		q->stats.rdma_write_bytes += bytes;
	else
		q->stats.rdma_read_bytes += bytes;
}

/* Stage the transfer of all data of a request. */
static void rnbd_stage_req(struct rnbd_queue *q, struct rnbd_stage *stage,
			   struct rnbd_req *req)
{
	const struct rnbd_grant *grant = &q->sess->grant;
	const struct ib_sge *sge = req->sge;
	u32 left = req->wire.length;
	bool new_req = true;
	u32 skip = 0;
	u32 i;

	for (i = 0; i < req->wire.nr_runs; i++) {
		const struct rnbd_run *run = &req->wire.runs[i];
		const struct rnbd_segment_info *seg =
			&q->sess->segments[run->unit / grant->segment_units];
		u64 remote = seg->addr +
			((u64)(run->unit % grant->segment_units) << RNBD_UNIT_SHIFT);
		u32 room = min(left, run->units << RNBD_UNIT_SHIFT);

		left -= room;
		while (room) {
			u32 bytes = min(room, sge->length - skip);

			if (stage == &q->in)
				bytes = min(bytes, q->sess->read_limit);
			rnbd_stage_add(q, stage, remote, seg->rkey, sge, skip,
				       bytes, new_req);
			new_req = false;
			remote += bytes;
			room -= bytes;
			skip += bytes;
			if (skip == sge->length) {
				sge++;
				skip = 0;
			}
		}
	}
}

/* ------------------------------------------------------------------------
 * Submission
 */

/*
 * Fault injected: write what is at hand, frames, to the first units of the share, as
 * far as the send queue has room, whatever requests of theirs are in flight.
 */
static noinline void rnbd_scribble(struct rnbd_queue *q, u32 units)
{
	const struct rnbd_grant *grant = &q->sess->grant;
	struct ib_sge sge = q->ring.open->sge;
	u32 unit, used;

	units = min(units, q->pool.units);
	for (unit = q->pool.first; units && q->sq_free; unit++, units--) {
		const struct rnbd_segment_info *seg =
			&q->sess->segments[unit / grant->segment_units];

		used = q->open_wrs;
		rnbd_stage_add(q, &q->out, seg->addr +
			       ((u64)(unit % grant->segment_units) << RNBD_UNIT_SHIFT),
			       seg->rkey, &sge, 0,
			       min(q->ring.attr.slot_size, RNBD_UNIT_SIZE), false);
		q->sq_free -= q->open_wrs - used;
	}
}

/* Send the open frame with the operations staged for it. */
static void rnbd_send_frame(struct rnbd_queue *q)
{
	struct rnbd_ring *ring = &q->ring;
	int flags = rnbd_take_fence(q) ? IB_SEND_FENCE : 0;
	struct ib_send_wr *first = NULL;
	u32 units;

	if (rnbd_inject(&rnbd_inject_scribble, &units))
		rnbd_scribble(q, units);
	if (q->out.nr_wrs) {
		first = &q->out.wrs[0].wr;
		first->send_flags |= flags;
		flags = 0;
	}
	/* For the pages of writes; and for requests that gather behind others. */
	if (q->open_wrs || q->in_flight > q->open_reqs)
		flags |= IB_SEND_SIGNALED;
	if (rnbd_inject(&rnbd_inject_fail_post, NULL)) {
		rnbd_ring_fail(ring, "fault injected: a post failed");
		ring->open = NULL;
		rnbd_stage_reset(&q->out);
		return;
	}
	q->frame_wrs[rnbd_ring_open_slot(ring)] = q->open_wrs;
	trace_rnbd_frame(q, ring->send_seq, ring->open_entries, q->open_wrs);
	q->open_wrs = 0;
	q->open_bytes = 0;
	q->open_reqs = 0;
	rnbd_ring_send(ring, first, rnbd_stage_last(&q->out), flags);
	rnbd_stage_reset(&q->out);
}

/* The block layer has no more for now: send, unless it pays to gather. */
static void rnbd_flush_frame(struct rnbd_queue *q)
{
	if (!q->ring.open)
		return;
	if (q->ring.unacked < READ_ONCE(gather))
		rnbd_send_frame(q);
	else
		q->stats.gathered++;
}

enum rnbd_stall { RNBD_STALL_CREDIT, RNBD_STALL_SQ, RNBD_STALL_POOL };

/* A high watermark was hit: stop the hardware queue. */
static blk_status_t rnbd_stall(struct rnbd_queue *q, enum rnbd_stall stall)
{
	switch (stall) {
	case RNBD_STALL_CREDIT:
		q->stats.credit_stalls++;
		break;
	case RNBD_STALL_SQ:
		q->stats.sq_stalls++;
		break;
	case RNBD_STALL_POOL:
		q->stats.pool_stalls++;
		break;
	}
	trace_rnbd_stop(q, stall);
	/* What was gathered must not wait for a queue that is stopped. */
	if (q->ring.open)
		rnbd_send_frame(q);
	q->stopped = true;
	blk_mq_stop_hw_queue(q->hctx);
	return BLK_STS_RESOURCE;
}

static bool rnbd_above_low_watermark(const struct rnbd_queue *q)
{
	const struct rnbd_ring *ring = &q->ring;

	return ring->credits >= max(ring->peer_slots / 4, 2) &&
	       ring->send_free >= max(ring->attr.slots / 4, 2u) &&
	       q->sq_free >= q->sq_size / 4 &&
	       q->pool.used <= q->pool.units - q->pool.units / 4;
}

/* May the stopped hardware queue start again? The caller then starts it. */
static bool rnbd_take_start(struct rnbd_queue *q)
{
	if (!q->stopped || !q->ring.live || !rnbd_above_low_watermark(q))
		return false;
	q->stopped = false;
	q->stats.starts++;
	trace_rnbd_start(q, -1);
	return true;
}

static void rnbd_free_space(struct rnbd_queue *q, struct rnbd_req *req)
{
	if (!req->wire.nr_runs)
		return;
	rnbd_pool_free(&q->pool, req->wire.runs, req->wire.nr_runs);
	req->wire.nr_runs = 0;
}

static int rnbd_take_space(struct rnbd_queue *q, struct rnbd_req *req)
{
	u32 units = DIV_ROUND_UP(req->wire.length, RNBD_UNIT_SIZE);
	int runs;

	runs = rnbd_pool_alloc(&q->pool, units, req->wire.runs, RNBD_EXTENTS_MAX);
	if (runs < 0)
		return runs;
	req->wire.nr_runs = runs;
	if (runs > 1)
		q->stats.fragmented++;
	return 0;
}

/**
 * rnbd_queue_down_status - what becomes of a request without a connection
 * @q: queue
 *
 * Context: any.
 * Return: if I/O is to fail BLK_STS_IOERR, or BLK_STS_RESV_CONFLICT if the host was
 * fenced: multipath would send the former again by another path. Otherwise
 * BLK_STS_RESOURCE: the block layer keeps the request.
 */
blk_status_t rnbd_queue_down_status(const struct rnbd_queue *q)
{
	if (!test_bit(RNBD_SESS_FAIL_IO, &q->sess->flags))
		return BLK_STS_RESOURCE;
	return test_bit(RNBD_SESS_REVOKED, &q->sess->flags) ? BLK_STS_RESV_CONFLICT :
							       BLK_STS_IOERR;
}

static bool rnbd_has_data(const struct rnbd_req *req)
{
	return req->wire.op == RNBD_OP_READ || req->wire.op == RNBD_OP_WRITE;
}

/* Pool space, and a frame to be had. */
static blk_status_t rnbd_place_locked(struct rnbd_queue *q, struct rnbd_req *req)
{
	if (unlikely(!q->ring.live || !q->ready))
		return rnbd_queue_down_status(q);
	if (!q->ring.open && !rnbd_ring_can_open(&q->ring))
		return rnbd_stall(q, RNBD_STALL_CREDIT);
	if (!rnbd_has_data(req) || req->wire.nr_runs)
		return BLK_STS_OK;
	if (rnbd_take_space(q, req))
		return rnbd_stall(q, RNBD_STALL_POOL);
	if (q->sess->opt.copy)
		rnbd_bounce_map(q, req);
	return BLK_STS_OK;
}

static blk_status_t rnbd_submit_locked(struct rnbd_queue *q, struct rnbd_req *req,
				       bool last)
{
	struct rnbd_ring *ring = &q->ring;
	struct rnbd_req_entry *entry;
	u32 entries, in_frame = 0;
	blk_status_t status;

	status = rnbd_place_locked(q, req);
	if (unlikely(status)) {
		rnbd_free_space(q, req);
		return status;
	}
	req->wrs = rnbd_has_data(req) ? rnbd_req_wrs(q->sess, req) : 0;
	if (req->wrs > q->sq_free) {
		rnbd_free_space(q, req);
		return rnbd_stall(q, RNBD_STALL_SQ);
	}

	entries = rnbd_request_entries(req->wire.nr_runs);
	if (!ring->open)
		rnbd_ring_open(ring, RNBD_FRAME_REQUEST);
	if (req->wire.op == RNBD_OP_WRITE && req->wire.flags & RNBD_REQ_INLINE)
		in_frame = req->wire.length;
	if (!rnbd_ring_fits(ring, entries * sizeof(*entry), in_frame)) {
		rnbd_send_frame(q);
		if (!rnbd_ring_open(ring, RNBD_FRAME_REQUEST)) {
			rnbd_free_space(q, req);
			return ring->live ? rnbd_stall(q, RNBD_STALL_CREDIT) :
					    rnbd_queue_down_status(q);
		}
	}
	/* The smallest slot holds the largest request. */
	entry = rnbd_ring_add(ring, entries * sizeof(*entry), entries);
	rnbd_encode_request(entry, &req->wire);
	if (in_frame)
		rnbd_inline_write(q, req);

	if (req->wire.op == RNBD_OP_FLUSH)
		req->flush_ns = ktime_get_ns();
	req->state = RNBD_REQ_SENT;
	req->frame_seq = ring->send_seq;
	q->reqs[req->wire.tag] = req;
	q->in_flight++;
	q->open_reqs++;
	q->stats.requests++;
	q->sq_free -= req->wrs;
	if (req->wire.op == RNBD_OP_WRITE && !in_frame) {
		u32 used = q->open_wrs;

		rnbd_stage_req(q, &q->out, req);
		q->open_bytes += req->wire.length;
		used = q->open_wrs - used;
		/* Most need fewer entries than were reserved. */
		if (!WARN_ON_ONCE(used > req->wrs))
			q->sq_free += req->wrs - used;
	}
	/* The block layer forgets to say "last" to a queue that it found stopped. */
	if (q->stopped || q->open_bytes >= READ_ONCE(frame_kb) * 1024ULL)
		rnbd_send_frame(q);
	else if (last)
		rnbd_flush_frame(q);
	return BLK_STS_OK;
}

/**
 * rnbd_queue_submit - take a request from the block layer
 * @q: queue
 * @rq: started and mapped request
 * @last: no more of this dispatch will follow
 *
 * Context: any; takes the queue's lock.
 * Return: BLK_STS_OK, BLK_STS_RESOURCE with the hardware queue stopped, or
 * rnbd_queue_down_status(). But for BLK_STS_OK the request is as it was.
 */
blk_status_t rnbd_queue_submit(struct rnbd_queue *q, struct request *rq, bool last)
{
	struct rnbd_req *req = blk_mq_rq_to_pdu(rq);
	unsigned long flags;
	blk_status_t status;

	req->wire.nr_runs = 0;
	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->sess->opt.copy && req->wire.op == RNBD_OP_WRITE &&
	    !(req->wire.flags & RNBD_REQ_INLINE)) {
		/* The copy is made between two holds of the lock. */
		status = rnbd_place_locked(q, req);
		if (unlikely(status))
			goto unlock;
		spin_unlock_irqrestore(&q->ring.lock, flags);
		rnbd_bounce_copy(q, req);
		spin_lock_irqsave(&q->ring.lock, flags);
	}
	status = rnbd_submit_locked(q, req, last);
unlock:
	spin_unlock_irqrestore(&q->ring.lock, flags);
	return status;
}

/**
 * rnbd_queue_commit - the dispatch ended without a last request
 * @q: queue
 *
 * Context: any; takes the queue's lock.
 */
void rnbd_queue_commit(struct rnbd_queue *q)
{
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->ring.live)
		rnbd_flush_frame(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/* ------------------------------------------------------------------------
 * Completion
 */

/* Hand finished requests to the block layer and start the queue. */
static void rnbd_finish(struct rnbd_queue *q, struct rnbd_req *done, bool start)
{
	DEFINE_IO_COMP_BATCH(iob);

	while (done) {
		struct rnbd_req *req = done;

		done = req->next;
		rnbd_disk_complete(blk_mq_rq_from_pdu(req), &iob);
	}
	if (iob.complete)
		iob.complete(&iob);
	if (start)
		blk_mq_start_stopped_hw_queue(q->hctx, true);
}

/* The request is the block layer's again as soon as the lock is dropped. */
static void rnbd_retire(struct rnbd_queue *q, struct rnbd_req *req,
			struct rnbd_req **done)
{
	rnbd_free_space(q, req);
	q->reqs[req->wire.tag] = NULL;
	q->in_flight--;
	req->state = RNBD_REQ_IDLE;
	req->next = *done;
	*done = req;
}

static void rnbd_data_failed(struct rnbd_queue *q, const struct ib_wc *wc)
{
	rnbd_ring_fail(&q->ring, wc->status == IB_WC_WR_FLUSH_ERR ?
				 "connection closed" : ib_wc_status_msg(wc->status));
}

/* An RDMA operation that is not signalled: it completes only if it fails. */
static void rnbd_data_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rnbd_data_failed(container_of(wc->wr_cqe, struct rnbd_queue, data_cqe),
				 wc);
}

static void rnbd_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbd_req *last = container_of(wc->wr_cqe, struct rnbd_req, read_cqe);
	struct rnbd_queue *q = last->queue;
	struct rnbd_req *req, *next, *done = NULL;
	unsigned long flags;
	bool start;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rnbd_data_failed(q, wc);
		return;
	}
	for (req = last->batch; req && q->sess->opt.copy; req = req->next)
		rnbd_bounce_copy(q, req);

	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->fence == last)
		q->fence = NULL;
	for (req = last->batch; req; req = next) {
		next = req->next;
		q->sq_free += req->wrs;
		rnbd_retire(q, req, &done);
	}
	start = rnbd_take_start(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
	rnbd_finish(q, done, start);
}

/* Requests whose READs are staged, and will be covered by one completion. */
struct rnbd_batch {
	struct rnbd_req *reqs;
	struct rnbd_req *last;
	u32 bytes;
};

/*
 * soft-RoCE up to at least 6.12 cannot resume an RDMA READ in its middle: if a
 * packet of the response is lost, it completes the READ with success although
 * data is missing, and only then puts the queue pair into the error state. A
 * READ of one packet is safe. So the last packet of a longer READ is fetched by
 * a READ of its own, which vouches for what came before: it is flushed when
 * the queue pair fails. (An empty RDMA WRITE in its place would make soft-RoCE
 * trip over its next replay: read_reply() looks at the length of the latest
 * request.)
 */
static void rnbd_read_guard(struct rnbd_queue *q)
{
	struct rnbd_stage *stage = &q->in;
	u32 mtu = q->sess->guard_over;
	struct ib_rdma_wr *whole, *tail;
	struct ib_sge *sge;

	if (likely(stage->bytes <= mtu) || unlikely(READ_ONCE(unsafe_no_read_guard)))
		return;

	whole = &stage->wrs[stage->nr_wrs - 1];
	tail = &stage->wrs[stage->nr_wrs++];
	sge = &whole->wr.sg_list[whole->wr.num_sge - 1];
	if (sge->length > mtu) {
		sge->length -= mtu;
		sge[1] = *sge;
		sge[1].addr += sge->length;
		sge[1].length = mtu;
		sge++;
		stage->nr_sges++;
	} else {
		whole->wr.num_sge--;
	}
	*tail = *whole;
	tail->wr.sg_list = sge;
	tail->wr.num_sge = 1;
	tail->remote_addr += stage->bytes - sge->length;
	whole->wr.next = &tail->wr;
	q->stats.rdma_reads++;
	q->stats.read_guards++;
}

/* Let the last staged READ signal the completion of the whole batch. */
static void rnbd_batch_close(struct rnbd_queue *q, struct rnbd_batch *batch)
{
	struct rnbd_req *req;

	if (!batch->last)
		return;
	rnbd_read_guard(q);
	batch->last->batch = batch->reqs;
	rnbd_stage_last(&q->in)->wr_cqe = &batch->last->read_cqe;
	rnbd_stage_last(&q->in)->send_flags |= IB_SEND_SIGNALED;

	if (READ_ONCE(q->sess->early_release) && !q->sess->opt.copy) {
		q->fence = batch->last;
		for (req = batch->reqs; req; req = req->next)
			rnbd_free_space(q, req);
	}
	memset(batch, 0, sizeof(*batch));
}

static void rnbd_batch_add(struct rnbd_queue *q, struct rnbd_batch *batch,
			   struct rnbd_req *req)
{
	req->state = RNBD_REQ_FETCHING;
	req->read_cqe.done = rnbd_read_done;
	rnbd_stage_req(q, &q->in, req);
	req->next = batch->reqs;
	batch->reqs = req;
	batch->last = req;
	batch->bytes += req->wire.length;
	if (batch->bytes >= RNBD_READ_BATCH_BYTES)
		rnbd_batch_close(q, batch);
}

static blk_status_t rnbd_blk_status(u16 status)
{
	switch (status) {
	case RNBD_ST_OK:
		return BLK_STS_OK;
	case RNBD_ST_MEDIUM:
		return BLK_STS_MEDIUM;
	case RNBD_ST_NOSPC:
		return BLK_STS_NOSPC;
	case RNBD_ST_NOTSUPP:
		return BLK_STS_NOTSUPP;
	case RNBD_ST_RESV:
		return BLK_STS_RESV_CONFLICT;
	case RNBD_ST_RANGE:
	case RNBD_ST_READONLY:
		return BLK_STS_TARGET;
	default:
		return BLK_STS_IOERR;
	}
}

/* Remember what a crash of the target could take away. */
static void rnbd_note_durable(struct rnbd_queue *q, const struct rnbd_req *req)
{
	struct rnbd_session *sess = q->sess;

	if (!(sess->grant.flags & RNBD_EXPORT_VOLATILE_CACHE) ||
	    req->status != BLK_STS_OK)
		return;
	if (req->wire.op == RNBD_OP_FLUSH) {
		u64 old = READ_ONCE(sess->flushed_ns);

		/* Flushes of other queues may have been sent later. */
		while (old < req->flush_ns &&
		       !try_cmpxchg64(&sess->flushed_ns, &old, req->flush_ns))
			;
	} else if (!(req->wire.flags & RNBD_REQ_FUA) &&
		   (req->wire.op == RNBD_OP_WRITE ||
		    req->wire.op == RNBD_OP_WRITE_ZEROES)) {
		q->last_write_ns = ktime_get_ns();
	}
}

/* The data are in the pool although they might have come inside the reply. */
static bool rnbd_map_late(struct rnbd_queue *q, struct rnbd_req *req)
{
	if (!(req->wire.flags & RNBD_REQ_INLINE) || q->sess->opt.copy ||
	    !rnbd_req_map(q, blk_mq_rq_from_pdu(req)))
		return true;
	/* Nothing is lost: it is read once more. */
	req->replay = true;
	return false;
}

static enum rnbd_fault rnbd_take_reply(struct rnbd_queue *q,
				       const struct rnbd_reply *reply,
				       struct rnbd_batch *batch,
				       struct rnbd_req **done)
{
	struct rnbd_ring *ring = &q->ring;
	struct rnbd_req *req = q->reqs[reply->tag];

	/* Not in flight, already answered, or not even sent yet. */
	if (unlikely(!req || req->state != RNBD_REQ_SENT ||
		     (ring->open && req->frame_seq == ring->send_seq)))
		return RNBD_FAULT_TAG;
	if (unlikely(reply->status == RNBD_ST_OK && reply->length != req->wire.length))
		return RNBD_FAULT_LENGTH;

	if (unlikely(reply->is_inline && (req->wire.op != RNBD_OP_READ ||
					  !(req->wire.flags & RNBD_REQ_INLINE))))
		return RNBD_FAULT_FLAGS;

	req->status = rnbd_blk_status(reply->status);
	rnbd_note_durable(q, req);
	trace_rnbd_reply(q, req);
	if (req->wire.op == RNBD_OP_READ) {
		if (reply->is_inline) {
			rnbd_inline_read(q, req, reply->data);
		} else if (reply->status == RNBD_ST_OK && rnbd_map_late(q, req)) {
			rnbd_batch_add(q, batch, req);
			return RNBD_FAULT_NONE;
		}
		q->sq_free += req->wrs;
		rnbd_retire(q, req, done);
	} else if (req->wire.op == RNBD_OP_WRITE && req->wrs &&
		   (s32)(req->frame_seq - q->sent_seq) >= 0) {
		/* The reply overtook the completion of our SEND. */
		rnbd_free_space(q, req);
		req->state = RNBD_REQ_WAIT_SENT;
		req->next = q->waiting;
		q->waiting = req;
	} else {
		rnbd_retire(q, req, done);
	}
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault rnbd_take_replies(struct rnbd_queue *q,
					 struct rnbd_frame *frame)
{
	struct rnbd_req *done = NULL;
	struct rnbd_batch batch = { };
	enum rnbd_fault fault = RNBD_FAULT_NONE;
	struct rnbd_reply reply;
	unsigned long flags;
	bool start;
	u16 i;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (unlikely(!q->ring.live)) {
		spin_unlock_irqrestore(&q->ring.lock, flags);
		return RNBD_FAULT_NONE;
	}
	for (i = 0; i < frame->nr_entries && !fault; i++) {
		fault = rnbd_decode_reply(frame, i, q->sess->grant.queue_depth, &reply);
		if (likely(!fault))
			fault = rnbd_take_reply(q, &reply, &batch, &done);
	}
	if (likely(!fault))
		fault = rnbd_decode_end(frame);
	rnbd_batch_close(q, &batch);
	rnbd_stage_post(q, &q->in);
	start = rnbd_take_start(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);

	rnbd_finish(q, done, start);
	return fault;
}

static enum rnbd_fault rnbd_queue_frame(struct rnbd_ring *ring,
					struct rnbd_frame *frame)
{
	struct rnbd_queue *q = container_of(ring, struct rnbd_queue, ring);
	enum rnbd_fault fault = RNBD_FAULT_TYPE;

	if (frame->type == RNBD_FRAME_REPLY && q->hctx)
		return rnbd_take_replies(q, frame);
	if (frame->type == RNBD_FRAME_LOGIN_REPLY)
		rnbd_login_reply(q, frame, &fault);
	else if (frame->type == RNBD_FRAME_RESIZE)
		fault = rnbd_take_resize(q, frame);
	else if (frame->type == RNBD_FRAME_DISCOVER_REPLY)
		rnbd_discover_reply(q, frame, &fault);
	else if (frame->type == RNBD_FRAME_CHALLENGE)
		fault = rnbd_auth_challenge(q, frame);
	else if (frame->type == RNBD_FRAME_PROOF)
		fault = rnbd_auth_proof(q, frame);
	return fault;
}

static void rnbd_queue_sent(struct rnbd_ring *ring, u32 seq, u32 slot)
{
	struct rnbd_queue *q = container_of(ring, struct rnbd_queue, ring);
	struct rnbd_req *req, *next, *keep = NULL, *done = NULL;
	unsigned long flags;
	bool start;

	spin_lock_irqsave(&ring->lock, flags);
	q->sent_seq = seq + 1;
	q->sq_free += q->frame_wrs[slot];
	q->frame_wrs[slot] = 0;
	for (req = q->waiting; req; req = next) {
		next = req->next;
		if ((s32)(req->frame_seq - q->sent_seq) >= 0) {
			req->next = keep;
			keep = req;
		} else {
			rnbd_retire(q, req, &done);
		}
	}
	q->waiting = keep;
	if (ring->open && ring->live)
		rnbd_send_frame(q);
	start = rnbd_take_start(q);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbd_finish(q, done, start);
}

static void rnbd_queue_credit(struct rnbd_ring *ring)
{
	struct rnbd_queue *q = container_of(ring, struct rnbd_queue, ring);
	unsigned long flags;
	bool start;

	spin_lock_irqsave(&ring->lock, flags);
	start = rnbd_take_start(q);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbd_finish(q, NULL, start);
}

static void rnbd_queue_failed(struct rnbd_ring *ring, const char *why)
{
	struct rnbd_queue *q = container_of(ring, struct rnbd_queue, ring);

	rnbd_session_fail(q->sess, why);
	/*
	 * During the login somebody waits for this queue. Before that a refusal
	 * also fails the queue pair, and must not be taken for a loss.
	 */
	if (READ_ONCE(q->established))
		rnbd_queue_wake(q, -ECONNRESET);
}

static void rnbd_queue_violation(struct rnbd_ring *ring, enum rnbd_fault fault)
{
	struct rnbd_queue *q = container_of(ring, struct rnbd_queue, ring);

	rnbd_violated(q->sess, fault);
}

/**
 * rnbd_queue_kill - put the queue pair into the error state, for tests
 * @q: queue of a live session
 *
 * Context: process context, may sleep.
 */
void rnbd_queue_kill(struct rnbd_queue *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ib_modify_qp(q->ring.qp, &attr, IB_QP_STATE);
}

/**
 * rnbd_queue_wake - wake whoever waits for this queue in rnbd_connect()
 * @q: queue
 * @error: negative errno, or 0 if what was waited for has come
 *
 * Context: any.
 */
void rnbd_queue_wake(struct rnbd_queue *q, int error)
{
	q->cm_error = error;
	/* pairs with the acquire in rnbd_cm_wait() */
	smp_store_release(&q->cm_done, true);
	wake_up(&q->sess->wait);
}

/**
 * rnbd_queue_ready - let requests in, or keep them out
 * @q: queue
 * @ready: everything that a request needs is there
 *
 * Context: process context.
 */
void rnbd_queue_ready(struct rnbd_queue *q, bool ready)
{
	spin_lock_irq(&q->ring.lock);
	WRITE_ONCE(q->ready, ready);
	spin_unlock_irq(&q->ring.lock);
}

/**
 * rnbd_queue_abandon - forget a request whose connection ended
 * @q: drained queue
 * @req: request in flight
 *
 * Context: the teardown of the connection; nobody else uses the queue.
 */
void rnbd_queue_abandon(struct rnbd_queue *q, struct rnbd_req *req)
{
	if (q->reqs && q->reqs[req->wire.tag] == req)
		q->reqs[req->wire.tag] = NULL;
	rnbd_free_space(q, req);
	req->state = RNBD_REQ_IDLE;
	req->status = BLK_STS_IOERR;
}

const struct rnbd_ring_ops rnbd_queue_ring_ops = {
	.frame = rnbd_queue_frame,
	.sent = rnbd_queue_sent,
	.credit = rnbd_queue_credit,
	.violation = rnbd_queue_violation,
	.failed = rnbd_queue_failed,
};
