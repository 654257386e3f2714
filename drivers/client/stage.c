// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staging and posting of RDMA operations, with the send fence.
 *
 * Operation
 *
 * rnbdc_stage_req() turns the pool extents of a request into RDMA WRITEs in
 * q->out or RDMA READs in q->in. The WRITEs are posted with the frame of their
 * requests (submit.c), the READs after a reply frame was handled (complete.c). A
 * full stage is posted at once. One RDMA operation transfers data that are adjacent
 * in the pool, even if they belong to several requests. The first-fit allocator of
 * the pool often gives the requests of a frame adjacent space.
 *
 * Send fence: with early release, the pool space of a read is free as soon as
 * its RDMA READ is posted. The next SEND or RDMA WRITE must not overtake that READ:
 * the responder executes the READ again if its response is lost, and would then read
 * the data of a later request in the same space. q->send_fence is the last request of
 * the latest batch of such READs. The pointer is cleared when a work request gets
 * IB_SEND_FENCE, or when the batch completes.
 *
 * Ownership
 *
 * The stages belong to the queue (queue_alloc.c). Pages belong to the device
 * from the post until the SEND that follows an RDMA WRITE, or the RDMA READ
 * itself, has completed.
 *
 * Concurrency
 *
 * All functions except rnbdc_stage_init(), rnbdc_stage_exit() and the
 * completion handlers run under ring.lock.
 *
 * Errors
 *
 * If the device refuses a post or an operation fails, the ring fails and the
 * connection ends.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/inject.h"
#include "../core/io.h"
#include "../core/lease.h"
#include "../core/login.h"
#include "../core/ring.h"
#include "inject.h"
#include "queue.h"
#include "session.h"
#include "stage.h"

static bool coalesce = true;
module_param(coalesce, bool, 0644);
MODULE_PARM_DESC(coalesce,
		 "transfer the data of requests that are adjacent in the pool with one RDMA operation (default Y)");

/**
 * rnbdc_stage_init - allocate the memory of a stage
 * @stage: stage, either all zero or of an earlier connection; its memory is used again
 *
 * The caller must call rnbdc_stage_exit() later, even after an error.
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdc_stage_init(struct rnbdc_stage *stage)
{
	if (!stage->wrs)
		stage->wrs = kvcalloc(RNBDC_STAGE_WRS + 1, sizeof(*stage->wrs), GFP_KERNEL);
	if (!stage->sges)
		stage->sges = kvcalloc(RNBDC_STAGE_SGES + 1, sizeof(*stage->sges), GFP_KERNEL);
	rnbdc_stage_reset(stage);
	return stage->wrs && stage->sges ? 0 : -ENOMEM;
}

/**
 * rnbdc_stage_exit - free the memory of a stage
 * @stage: stage without work requests; may be all zero
 *
 * Context: process context, may sleep.
 */
void rnbdc_stage_exit(struct rnbdc_stage *stage)
{
	kvfree(stage->wrs);
	kvfree(stage->sges);
	memset(stage, 0, sizeof(*stage));
}

/**
 * rnbdc_needs_send_fence - test whether a work request needs a send fence, and clear the need
 * @q: queue that is about to post a SEND or RDMA WRITE
 *
 * Context: any, ring.lock held.
 * Return: true if the work request must carry IB_SEND_FENCE, because it is the first SEND or RDMA
 * WRITE after an RDMA READ whose extents were released early and which has not completed.
 */
bool rnbdc_needs_send_fence(struct rnbdc_queue *q)
{
	if (!q->send_fence)
		return false;
	q->send_fence = NULL;
	if (rnbd_inject(&rnbdc_inject_no_send_fence, NULL))
		return false;
	q->stats.send_fences++;
	return true;
}

/**
 * rnbdc_stage_post - post the staged operations without a frame
 * @q: queue
 * @stage: q->in at the end of a reply frame, or a full stage
 *
 * The stage is empty afterwards. A post that fails ends the connection.
 *
 * Context: any, ring.lock held.
 */
void rnbdc_stage_post(struct rnbdc_queue *q, struct rnbdc_stage *stage)
{
	int ret;

	if (!stage->nr_wrs)
		return;
	if (stage == &q->out && rnbdc_needs_send_fence(q))
		stage->wrs[0].wr.send_flags |= IB_SEND_FENCE;
	ret = ib_post_send(q->ring.qp, &stage->wrs[0].wr, NULL);
	if (unlikely(ret))
		rnbd_ring_fail(&q->ring, "the device refused an RDMA operation");
	rnbdc_stage_reset(stage);
}

/**
 * rnbdc_stage_add - stage the transfer of one piece of memory
 * @q: queue
 * @stage: q->out for an RDMA WRITE, q->in for an RDMA READ
 * @remote: address in the pool
 * @rkey: rkey of the segment
 * @sge: local memory
 * @skip: bytes of @sge before the piece
 * @bytes: length of the piece
 * @new_req: the piece is the first piece of a request
 *
 * The piece joins the last staged operation if the two are adjacent in one segment, the limits
 * of the device allow it, and the operation is not signalled. The first piece of a request joins
 * only if the module parameter coalesce is set.
 *
 * Context: any, ring.lock held.
 */
void rnbdc_stage_add(struct rnbdc_queue *q, struct rnbdc_stage *stage,
		     u64 remote, u32 rkey, const struct ib_sge *sge,
		     u32 skip, u32 bytes, bool new_req)
{
	bool write = stage == &q->out;
	u32 max_sge = write ? q->sess->conn.max_sge : q->sess->conn.max_sge_rd;
	struct ib_send_wr *last = rnbdc_stage_last(stage);
	struct ib_rdma_wr *rdma;
	struct ib_sge *local;

	if (unlikely(stage->nr_sges >= RNBDC_STAGE_SGES)) {
		rnbdc_stage_post(q, stage);
		last = NULL;
	}

	local = &stage->sges[stage->nr_sges];
	local->addr = sge->addr + skip;
	local->length = bytes;
	local->lkey = sge->lkey;

	if (last && remote == stage->end && last->num_sge < max_sge &&
	    (write || stage->bytes + bytes <= q->sess->conn.quirks.read_limit) &&
	    container_of(last, struct ib_rdma_wr, wr)->rkey == rkey &&
	    !(last->send_flags & IB_SEND_SIGNALED) &&
	    (!new_req || READ_ONCE(coalesce))) {
		last->num_sge++;
		stage->bytes += bytes;
		if (new_req)
			q->stats.coalesced++;
	} else {
		if (unlikely(stage->nr_wrs >= RNBDC_STAGE_WRS)) {
			rnbdc_stage_post(q, stage);
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

/**
 * rnbdc_stage_req - stage the transfer of all data of a request
 * @q: queue
 * @stage: q->out for a write, q->in for a read
 * @req: mapped request with pool space
 *
 * Context: any, ring.lock held.
 */
void rnbdc_stage_req(struct rnbdc_queue *q, struct rnbdc_stage *stage,
		     struct rnbdc_req *req)
{
	const struct rnbd_grant *grant = &q->sess->grant;
	const struct ib_sge *sge = req->sge;
	u32 pieces = req->nr_sge + req->wire.nr_extents - 1;
	u32 left = req->wire.length;
	bool new_req = true;
	u32 skip = 0;
	u32 i;

	/* Post now: a stage that becomes full within an operation would split the operation. */
	if (stage->nr_sges + pieces > RNBDC_STAGE_SGES)
		rnbdc_stage_post(q, stage);

	for (i = 0; i < req->wire.nr_extents; i++) {
		const struct rnbd_extent *extent = &req->wire.extents[i];
		const struct rnbd_segment_info *seg =
			&q->sess->conn.segments[extent->unit / grant->segment_units];
		u64 remote = seg->addr +
			((u64)(extent->unit % grant->segment_units) << RNBD_UNIT_SHIFT);
		u32 room = min(left, extent->units << RNBD_UNIT_SHIFT);

		left -= room;
		while (room) {
			u32 bytes = min(room, sge->length - skip);

			if (stage == &q->in)
				bytes = min(bytes, q->sess->conn.quirks.read_limit);
			rnbdc_stage_add(q, stage, remote, seg->rkey, sge, skip,
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

/**
 * rnbdc_read_guard - fetch the last packet of a long RDMA READ with a separate READ
 * @q: queue whose last RDMA READ is in q->in
 *
 * On some devices the completion of a long READ does not prove that its data have arrived,
 * see core/quirks.c. On other devices, and for short READs, the function does nothing.
 *
 * Context: any, ring.lock held.
 */
void rnbdc_read_guard(struct rnbdc_queue *q)
{
	struct rnbdc_stage *stage = &q->in;
	u32 mtu = q->sess->conn.quirks.guard_over;
	struct ib_rdma_wr *whole, *tail;
	struct ib_sge *sge;

	if (likely(stage->bytes <= mtu) || rnbd_inject(&rnbdc_inject_no_read_guard, NULL))
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

/**
 * rnbdc_data_failed - end the connection after a failed RDMA operation
 * @q: queue
 * @wc: work completion with an error
 *
 * Context: completion handler, with or without ring.lock.
 */
void rnbdc_data_failed(struct rnbdc_queue *q, const struct ib_wc *wc)
{
	rnbd_ring_fail(&q->ring, wc->status == IB_WC_WR_FLUSH_ERR ?
				 "connection closed" : ib_wc_status_msg(wc->status));
}

/**
 * rnbdc_data_done - handle the completion of an RDMA operation that is not signalled
 * @cq: completion queue
 * @wc: work completion of rnbdc_queue.data_cqe
 *
 * An operation that is not signalled has a completion only if it fails.
 *
 * Context: completion handler.
 */
void rnbdc_data_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		rnbdc_data_failed(container_of(wc->wr_cqe, struct rnbdc_queue, data_cqe),
				  wc);
}
