// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a request: mapping for the device, and inline data.
 *
 * Operation: In transfer mode "zero-copy" each piece of a request's memory is mapped as one
 * gather entry. The driver data of a request contain a few entries; a request with more
 * pieces takes a table of entries from a mempool of the session. Data that travel inside a
 * frame are copied and need no mapping. bounce.c implements transfer mode "copy".
 *
 * Ownership: Mapped pages belong to the device until rnbdc_req_unmap(), which also frees the
 * table and is called when no posted work request refers to the pages.
 *
 * Concurrency: The submitter maps the pages before any other task can find the request. All
 * other callers own the request or hold ring.lock.
 *
 * Errors: A request whose pages cannot be mapped, or for which there is no table, is
 * retried later.
 */

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/dma-mapping.h>
#include <linux/mempool.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rnbd/wire.h>

#include "../core/op.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "data.h"
#include "inject.h"
#include "queue.h"
#include "session.h"

static enum dma_data_direction rnbdc_req_dir(const struct rnbdc_req *req)
{
	return rnbd_op_data_out(req->wire.op) ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/**
 * rnbdc_req_unmap - unmap the pages of a request, and free its table of gather entries
 * @req: request that no posted work request refers to
 *
 * In transfer mode "copy" no pages are mapped; only the table is freed.
 *
 * Context: any.
 */
void rnbdc_req_unmap(struct rnbdc_req *req)
{
	struct rnbdc_session *sess = req->queue->sess;
	u32 i;

	for (i = 0; i < req->nr_sge && !sess->opt.copy; i++)
		ib_dma_unmap_page(sess->conn.dev, req->sge[i].addr, req->sge[i].length,
				  rnbdc_req_dir(req));
	if (unlikely(req->sge != req->inline_sge))
		mempool_free(req->sge, sess->tables);
	req->sge = req->inline_sge;
	req->nr_sge = 0;
}

/**
 * rnbdc_req_next_sge - get the next gather entry of a request
 * @sess: session
 * @req: request with less than rnbdc_session.max_segments entries; the caller must fill the
 *	returned entry and increase rnbdc_req.nr_sge
 *
 * Context: any.
 * Return: the entry, or NULL if there is no memory for a table now.
 */
struct ib_sge *rnbdc_req_next_sge(struct rnbdc_session *sess, struct rnbdc_req *req)
{
	struct ib_sge *table;

	if (likely(req->nr_sge != RNBDC_INLINE_SGES || req->sge != req->inline_sge))
		return &req->sge[req->nr_sge];
	/* Do not sleep here: without a table the request is retried later. */
	table = mempool_alloc(sess->tables, GFP_NOWAIT | __GFP_NOWARN);
	if (!table)
		return NULL;
	memcpy(table, req->inline_sge, sizeof(req->inline_sge));
	req->sge = table;
	return &table[req->nr_sge];
}

/* Map @len bytes of @bv, from offset @skip, as the next gather entry of the request. */
static blk_status_t rnbdc_map_piece(struct rnbdc_session *sess, struct rnbdc_req *req,
				    const struct bio_vec *bv, u32 skip, u32 len)
{
	struct ib_sge *sge;

	if (WARN_ON_ONCE(req->nr_sge == sess->max_segments))
		return BLK_STS_IOERR;
	sge = rnbdc_req_next_sge(sess, req);
	if (unlikely(!sge))
		return BLK_STS_RESOURCE;
	sge->addr = ib_dma_map_page(sess->conn.dev, bv->bv_page, bv->bv_offset + skip,
				    len, rnbdc_req_dir(req));
	if (ib_dma_mapping_error(sess->conn.dev, sge->addr))
		return BLK_STS_RESOURCE;
	sge->length = len;
	sge->lkey = sess->conn.pd->local_dma_lkey;
	req->nr_sge++;
	return BLK_STS_OK;
}

/**
 * rnbdc_req_map - map the pages of a request for the device
 * @q: queue
 * @rq: READ or WRITE whose rnbdc_req.wire has its opcode
 *
 * A piece of memory that is longer than max_segment_size of the disk becomes several gather
 * entries, because the device cannot map more at once. The block layer counts such a piece as
 * several segments, too.
 *
 * Context: any.
 * Return: BLK_STS_OK, BLK_STS_RESOURCE if a page cannot be mapped now or there is no memory
 * for the gather entries, or BLK_STS_IOERR if the request has more pieces than its limits allow.
 */
blk_status_t rnbdc_req_map(struct rnbdc_queue *q, struct request *rq)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	u32 max_segment = queue_max_segment_size(rq->q);
	struct req_iterator iter;
	struct bio_vec bv;
	blk_status_t status;
	u32 done, len;

	rq_for_each_bvec(bv, rq, iter) {
		for (done = 0; done < bv.bv_len; done += len) {
			len = min(bv.bv_len - done, max_segment);
			status = rnbdc_map_piece(q->sess, req, &bv, done, len);
			if (status) {
				rnbdc_req_unmap(req);
				return status;
			}
		}
	}
	return BLK_STS_OK;
}

/**
 * rnbdc_inline_write - copy the data of a write into the open frame
 * @q: queue with an open frame that has space for the data
 * @req: write with RNBD_REQ_INLINE
 *
 * Context: any, ring.lock held.
 */
void rnbdc_inline_write(struct rnbdc_queue *q, struct rnbdc_req *req)
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

/**
 * rnbdc_inline_read - copy the data of an inline reply into the pages of a read
 * @q: queue
 * @req: read with RNBD_REQ_INLINE
 * @data: data in the receive slot, rnbd_request.length bytes
 *
 * Context: completion handler, ring.lock held.
 */
void rnbdc_inline_read(struct rnbdc_queue *q, struct rnbdc_req *req,
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

/**
 * rnbdc_map_late - map a read that has RNBD_REQ_INLINE but whose data are in the pool
 * @q: queue
 * @req: read that was answered without inline data
 *
 * The submitter has not mapped the pages of a read with RNBD_REQ_INLINE, because its data
 * were expected inside the reply.
 *
 * Context: completion handler, ring.lock held.
 * Return: true if the RDMA READ can be staged; false if its pages cannot be mapped now, in
 * which case rnbdc_req.replay is set.
 */
bool rnbdc_map_late(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	if (!(req->wire.flags & RNBD_REQ_INLINE) || q->sess->opt.copy)
		return true;
	if (!rnbd_inject(&rnbdc_inject_fail_map, NULL) &&
	    !rnbdc_req_map(q, blk_mq_rq_from_pdu(req)))
		return true;
	/* Send the read again later: reading twice does no harm. */
	req->replay = true;
	return false;
}
