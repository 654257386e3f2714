// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounce buffers: the transfer mode "copy".
 *
 * Operation
 *
 * A session has local bounce memory that mirrors its pool, unit by unit: a request that
 * owns units of the pool owns the units with the same numbers in the mirror. Units that are
 * adjacent in the pool are adjacent in the mirror, except where a chunk of bounce memory
 * ends. RDMA operations transfer data between pool and mirror, and the processor copies the
 * data between the mirror and the pages of the request. This mode costs a copy, but the
 * pages of a request need not be mapped for the device.
 *
 * Ownership
 *
 * A request owns its bounce space as long as its pool space. This mode has no early
 * release, because an RDMA READ in flight writes into the bounce space.
 *
 * Concurrency
 *
 * The bounce memory is mapped while there is a connection. It stays allocated until the
 * session is released, so that a reconnect need not allocate memory while the machine waits
 * for its disks. The data of a request are copied without a lock, because the request owns
 * its space, and the queues of the disks are quiesced before a connection is replaced.
 *
 * Errors
 *
 * Bounce memory is allocated only while a connection is made: for the first connection, and for
 * a later one whose pool is larger. This allocation can fail, and so can the mapping for the
 * device, which each connection needs.
 */

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../core/io.h"
#include "../core/op.h"
#include "bounce.h"
#include "data.h"
#include "queue.h"
#include "session.h"

/* Page order of a chunk: a larger one is hard to allocate, a smaller one costs gather entries. */
#define RNBDC_BOUNCE_ORDER	4
#define RNBDC_BOUNCE_SIZE	(PAGE_SIZE << RNBDC_BOUNCE_ORDER)

/* Position in the bounce memory of a request; @bytes are contiguous from there. */
struct rnbdc_bounce_iter {
	const struct rnbdc_session *sess;
	const struct rnbd_extent *extent;
	u32 in_extent;
	u32 left;
	void *virt;
	u64 dma;
	u32 in_chunk;
	u32 bytes;
};

static void rnbdc_bounce_start(struct rnbdc_bounce_iter *piece, const struct rnbdc_queue *q,
			       const struct rnbdc_req *req)
{
	*piece = (struct rnbdc_bounce_iter) {
		.sess = q->sess, .extent = req->wire.extents, .left = req->wire.length,
	};
}

static bool rnbdc_bounce_next(struct rnbdc_bounce_iter *piece)
{
	u32 chunk, offset;
	size_t place;

	if (!piece->left)
		return false;
	place = ((size_t)piece->extent->unit << RNBD_UNIT_SHIFT) +
		piece->in_extent;
	chunk = place / RNBDC_BOUNCE_SIZE;
	offset = place % RNBDC_BOUNCE_SIZE;
	piece->in_chunk = offset;
	piece->virt = piece->sess->bounce[chunk].virt + offset;
	piece->dma = piece->sess->bounce[chunk].dma + offset;
	piece->bytes = min3(piece->left, (u32)RNBDC_BOUNCE_SIZE - offset,
			    (piece->extent->units << RNBD_UNIT_SHIFT) - piece->in_extent);
	piece->left -= piece->bytes;
	piece->in_extent += piece->bytes;
	if (piece->in_extent == piece->extent->units << RNBD_UNIT_SHIFT) {
		piece->extent++;
		piece->in_extent = 0;
	}
	return true;
}

/**
 * rnbdc_bounce_segments - get the number of pieces of bounce memory that a request can have
 * @max_io: bytes of the largest request
 *
 * Context: any.
 * Return: an upper bound of rnbdc_req.nr_sge.
 */
u32 rnbdc_bounce_segments(u32 max_io)
{
	return DIV_ROUND_UP(max_io, RNBDC_BOUNCE_SIZE) + 2 * RNBD_EXTENTS_MAX;
}

/* Make the table of chunks large enough for @nr chunks. */
static int rnbdc_bounce_grow(struct rnbdc_session *sess, u32 nr)
{
	struct rnbdc_bounce *table;

	if (nr <= sess->nr_bounce)
		return 0;
	table = kvcalloc(nr, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	if (sess->nr_bounce)
		memcpy(table, sess->bounce, sess->nr_bounce * sizeof(*table));
	kvfree(sess->bounce);
	sess->bounce = table;
	sess->nr_bounce = nr;
	return 0;
}

/**
 * rnbdc_bounce_alloc - allocate and map bounce memory for the pool of a session
 * @sess: session that was granted its pool
 *
 * Memory that an earlier connection has allocated is reused.
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM; rnbdc_bounce_unmap() and rnbdc_bounce_free() may be called in both
 * cases.
 */
int rnbdc_bounce_alloc(struct rnbdc_session *sess)
{
	struct ib_device *dev = sess->conn.dev;
	size_t size = (size_t)sess->login.offer.pool_units << RNBD_UNIT_SHIFT;
	u32 i, nr = DIV_ROUND_UP(size, RNBDC_BOUNCE_SIZE);
	int ret = rnbdc_bounce_grow(sess, nr);

	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		struct rnbdc_bounce *b = &sess->bounce[i];

		if (!b->virt)
			b->virt = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
							   RNBDC_BOUNCE_ORDER);
		if (!b->virt)
			return -ENOMEM;
		b->dma = ib_dma_map_single(dev, b->virt, RNBDC_BOUNCE_SIZE,
					   DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(dev, b->dma))
			return -ENOMEM;
		b->mapped = true;
	}
	return 0;
}

/**
 * rnbdc_bounce_unmap - unmap the bounce memory of a session
 * @sess: session with drained queues, with or without bounce memory
 *
 * Context: process context.
 */
void rnbdc_bounce_unmap(struct rnbdc_session *sess)
{
	u32 i;

	for (i = 0; i < sess->nr_bounce; i++) {
		struct rnbdc_bounce *b = &sess->bounce[i];

		if (b->mapped)
			ib_dma_unmap_single(sess->conn.dev, b->dma,
					    RNBDC_BOUNCE_SIZE, DMA_BIDIRECTIONAL);
		b->mapped = false;
	}
}

/**
 * rnbdc_bounce_free - free the bounce memory of a session
 * @sess: session without a connection, with or without bounce memory
 *
 * Context: process context, may sleep.
 */
void rnbdc_bounce_free(struct rnbdc_session *sess)
{
	u32 i;

	for (i = 0; i < sess->nr_bounce; i++)
		free_pages((unsigned long)sess->bounce[i].virt, RNBDC_BOUNCE_ORDER);
	kvfree(sess->bounce);
	sess->bounce = NULL;
	sess->nr_bounce = 0;
}

/**
 * rnbdc_bounce_map - set the gather entries of a request to its bounce memory
 * @q: queue
 * @req: request that has pool space; result: rnbdc_req.sge and rnbdc_req.nr_sge
 *
 * Context: any, ring.lock held.
 * Return: false if there is no memory for the gather entries now.
 */
bool rnbdc_bounce_map(const struct rnbdc_queue *q, struct rnbdc_req *req)
{
	struct rnbdc_bounce_iter piece;
	struct ib_sge *last = NULL;

	rnbdc_bounce_start(&piece, q, req);
	while (rnbdc_bounce_next(&piece)) {
		/* Do not merge across chunks: each chunk is a DMA mapping of its own. */
		if (last && piece.in_chunk && last->addr + last->length == piece.dma) {
			last->length += piece.bytes;
			continue;
		}
		last = rnbdc_req_next_sge(q->sess, req);
		if (unlikely(!last))
			return false;
		*last = (struct ib_sge) {
			.addr = piece.dma,
			.length = piece.bytes,
			.lkey = q->sess->conn.pd->local_dma_lkey,
		};
		req->nr_sge++;
	}
	return true;
}

/**
 * rnbdc_bounce_copy - copy the data of a request
 * @q: queue
 * @req: mapped request whose space no work request in flight uses
 *
 * Copy the data of a write to bounce memory, and the data of a read from bounce memory.
 *
 * Context: any; the caller owns the request.
 */
void rnbdc_bounce_copy(const struct rnbdc_queue *q, struct rnbdc_req *req)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	bool write = rnbd_op_data_out(req->wire.op);
	struct ib_device *dev = q->sess->conn.dev;
	struct rnbdc_bounce_iter piece;
	struct req_iterator iter;
	struct bio_vec bv;
	u32 i;

	for (i = 0; !write && i < req->nr_sge; i++)
		ib_dma_sync_single_for_cpu(dev, req->sge[i].addr,
					   req->sge[i].length, DMA_BIDIRECTIONAL);
	rnbdc_bounce_start(&piece, q, req);
	piece.bytes = 0;
	rq_for_each_segment(bv, rq, iter) {
		u32 done, len;

		/* Do not change bv: the iterator advances by bv.bv_len. */
		for (done = 0; done < bv.bv_len; done += len) {
			if (!piece.bytes && !rnbdc_bounce_next(&piece))
				return;
			len = min(bv.bv_len - done, piece.bytes);
			if (write)
				memcpy_from_page(piece.virt, bv.bv_page,
						 bv.bv_offset + done, len);
			else
				memcpy_to_page(bv.bv_page, bv.bv_offset + done,
					       piece.virt, len);
			piece.virt += len;
			piece.bytes -= len;
		}
	}
	for (i = 0; write && i < req->nr_sge; i++)
		ib_dma_sync_single_for_device(dev, req->sge[i].addr,
					      req->sge[i].length, DMA_BIDIRECTIONAL);
}
