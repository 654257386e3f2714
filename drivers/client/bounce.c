// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounce buffers: the transfer mode "copy".
 *
 * Operation
 *
 * Every queue has local memory that mirrors its share of the pool, unit by unit:
 * whoever was given pool space has the same space here, and data that lie side by side
 * there do so here. RDMA operations go between the two, and data are copied between
 * here and the pages of the request. That costs a copy, and saves giving pages of
 * requests to the device one by one.
 *
 * Ownership
 *
 * Space belongs to a request as its pool space does. It must not be given out again
 * while an RDMA READ into it is on its way, so there is no early release.
 *
 * Concurrency
 *
 * Given to the device with the connection and taken back with it; the memory stays
 * until the disk goes, so that a new connection need not find it again while the
 * machine waits for this disk. Copies are made by the owner of the space, without a
 * lock: the queue is quiesced before a connection is replaced.
 *
 * Errors
 *
 * There may be too little memory when the first connection is made, or one with a
 * larger pool; none is taken later.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/slab.h>

#include "client.h"

/* Side by side in memory; more is hard to get, less makes longer gather lists. */
#define RNBD_BOUNCE_ORDER	4
#define RNBD_BOUNCE_SIZE	(PAGE_SIZE << RNBD_BOUNCE_ORDER)

/* A place in bounce memory, and how much follows there without a gap. */
struct rnbd_bounce_at {
	const struct rnbd_queue *q;
	const struct rnbd_run *run;
	u32 in_run;
	u32 left;
	void *virt;
	u64 dma;
	u32 in_chunk;
	u32 bytes;
};

static void rnbd_bounce_start(struct rnbd_bounce_at *at, const struct rnbd_queue *q,
			      const struct rnbd_req *req)
{
	*at = (struct rnbd_bounce_at) {
		.q = q, .run = req->wire.runs, .left = req->wire.length,
	};
}

static bool rnbd_bounce_next(struct rnbd_bounce_at *at)
{
	u32 chunk, offset;
	size_t place;

	if (!at->left)
		return false;
	place = ((size_t)(at->run->unit - at->q->pool.first) << RNBD_UNIT_SHIFT) +
		at->in_run;
	chunk = place / RNBD_BOUNCE_SIZE;
	offset = place % RNBD_BOUNCE_SIZE;
	at->in_chunk = offset;
	at->virt = at->q->bounce[chunk].virt + offset;
	at->dma = at->q->bounce[chunk].dma + offset;
	at->bytes = min3(at->left, (u32)RNBD_BOUNCE_SIZE - offset,
			 (at->run->units << RNBD_UNIT_SHIFT) - at->in_run);
	at->left -= at->bytes;
	at->in_run += at->bytes;
	if (at->in_run == at->run->units << RNBD_UNIT_SHIFT) {
		at->run++;
		at->in_run = 0;
	}
	return true;
}

/**
 * rnbd_bounce_segments - pieces of bounce memory that a request can have
 * @max_io: bytes of the largest request
 */
u32 rnbd_bounce_segments(u32 max_io)
{
	return DIV_ROUND_UP(max_io, RNBD_BOUNCE_SIZE) + 2 * RNBD_EXTENTS_MAX;
}

/* Room in the table for @nr pieces. */
static int rnbd_bounce_grow(struct rnbd_queue *q, u32 nr)
{
	struct rnbd_bounce *table;

	if (nr <= q->nr_bounce)
		return 0;
	table = kvcalloc(nr, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	if (q->nr_bounce)
		memcpy(table, q->bounce, q->nr_bounce * sizeof(*table));
	kvfree(q->bounce);
	q->bounce = table;
	q->nr_bounce = nr;
	return 0;
}

/**
 * rnbd_bounce_alloc - make bounce memory for the pool share of a queue
 * @q: queue that has its share, and a device
 *
 * What there is of a former connection is used again.
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM; rnbd_bounce_unmap() and rnbd_bounce_free() cope with both.
 */
int rnbd_bounce_alloc(struct rnbd_queue *q)
{
	struct ib_device *dev = q->sess->dev;
	size_t size = (size_t)q->pool.units << RNBD_UNIT_SHIFT;
	u32 i, nr = DIV_ROUND_UP(size, RNBD_BOUNCE_SIZE);
	int ret = rnbd_bounce_grow(q, nr);

	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		struct rnbd_bounce *b = &q->bounce[i];

		if (!b->virt)
			b->virt = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
							   RNBD_BOUNCE_ORDER);
		if (!b->virt)
			return -ENOMEM;
		b->dma = ib_dma_map_single(dev, b->virt, RNBD_BOUNCE_SIZE,
					   DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(dev, b->dma))
			return -ENOMEM;
		b->mapped = true;
	}
	return 0;
}

/**
 * rnbd_bounce_unmap - take bounce memory back from the device
 * @q: queue whose device is done with it; one without bounce memory is fine
 *
 * Context: process context.
 */
void rnbd_bounce_unmap(struct rnbd_queue *q)
{
	u32 i;

	for (i = 0; i < q->nr_bounce; i++) {
		struct rnbd_bounce *b = &q->bounce[i];

		if (b->mapped)
			ib_dma_unmap_single(q->sess->dev, b->dma,
					    RNBD_BOUNCE_SIZE, DMA_BIDIRECTIONAL);
		b->mapped = false;
	}
}

/**
 * rnbd_bounce_free - free what rnbd_bounce_alloc() made
 * @q: queue without a connection; one without bounce memory is fine
 *
 * Context: process context, may sleep.
 */
void rnbd_bounce_free(struct rnbd_queue *q)
{
	u32 i;

	for (i = 0; i < q->nr_bounce; i++)
		free_pages((unsigned long)q->bounce[i].virt, RNBD_BOUNCE_ORDER);
	kvfree(q->bounce);
	q->bounce = NULL;
	q->nr_bounce = 0;
}

/**
 * rnbd_bounce_map - tell where the data of a request are for the device
 * @q: queue
 * @req: request that has pool space; its rnbd_req.sge is filled
 *
 * Context: any.
 */
void rnbd_bounce_map(const struct rnbd_queue *q, struct rnbd_req *req)
{
	struct rnbd_bounce_at at;

	req->nr_sge = 0;
	rnbd_bounce_start(&at, q, req);
	while (rnbd_bounce_next(&at)) {
		struct ib_sge *last = req->nr_sge ? &req->sge[req->nr_sge - 1] : NULL;

		req->sge[req->nr_sge++] = (struct ib_sge) {
			.addr = at.dma,
			.length = at.bytes,
			.lkey = q->sess->pd->local_dma_lkey,
		};
		/* within one mapping: two that touch are synchronised apart */
		if (last && at.in_chunk && last->addr + last->length == at.dma) {
			last->length += at.bytes;
			req->nr_sge--;
		}
	}
}

/**
 * rnbd_bounce_copy - copy the data of a request
 * @q: queue
 * @req: mapped request whose space no device uses
 *
 * Those of a write to bounce memory, those of a read from there.
 *
 * Context: any.
 */
void rnbd_bounce_copy(const struct rnbd_queue *q, struct rnbd_req *req)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	bool write = req->wire.op == RNBD_OP_WRITE;
	struct ib_device *dev = q->sess->dev;
	struct rnbd_bounce_at at;
	struct req_iterator iter;
	struct bio_vec bv;
	u32 i;

	for (i = 0; !write && i < req->nr_sge; i++)
		ib_dma_sync_single_for_cpu(dev, req->sge[i].addr,
					   req->sge[i].length, DMA_BIDIRECTIONAL);
	rnbd_bounce_start(&at, q, req);
	at.bytes = 0;
	rq_for_each_segment(bv, rq, iter) {
		u32 done, len;

		/* bv stays as it is: the loop finds its way by it */
		for (done = 0; done < bv.bv_len; done += len) {
			if (!at.bytes && !rnbd_bounce_next(&at))
				return;
			len = min(bv.bv_len - done, at.bytes);
			if (write)
				memcpy_from_page(at.virt, bv.bv_page,
						 bv.bv_offset + done, len);
			else
				memcpy_to_page(bv.bv_page, bv.bv_offset + done,
					       at.virt, len);
			at.virt += len;
			at.bytes -= len;
		}
	}
	for (i = 0; write && i < req->nr_sge; i++)
		ib_dma_sync_single_for_device(dev, req->sge[i].addr,
					      req->sge[i].length, DMA_BIDIRECTIONAL);
}
