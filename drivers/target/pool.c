// SPDX-License-Identifier: GPL-2.0-only
/*
 * The delegated pool: memory of the target that one client manages.
 *
 * Operation
 *
 * The login work allocates a pool: zeroed pages, divided into segments of at most
 * what one memory region can map, each registered once through the send queue of
 * queue 0. From then on the client alone decides where its data lies; the target
 * only looks up the pages that a request names (struct rnbdt_piece). A unit of the
 * pool is a page. Pages come in contiguous extents as long as the page allocator
 * provides, split so that each is a page of its own; an extent becomes one entry
 * of a bio, which is what makes large requests cheap.
 *
 * Ownership
 *
 * The session owns the pool and shares it with no other session: regions belong to
 * its protection domain. The pages are zeroed, so a client never sees data of
 * another client.
 *
 * Concurrency
 *
 * The login work allocates and registers the pool; the teardown frees it after the
 * queue pairs have gone and no request is in the backend. In between it is
 * constant.
 *
 * Errors
 *
 * rnbdt_pool_free() frees a pool in any state, also one whose allocation failed.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../core/dma.h"
#include "../core/io.h"
#include "../core/ring.h"
#include "pool.h"
#include "queue.h"
#include "session.h"

#define RNBDT_SEGMENT_UNITS_MAX	512U
#define RNBDT_IOVA_SHIFT	32	/* larger than a segment */

/**
 * rnbdt_pool_segment_units - return the size of a pool segment on a device
 * @dev: device
 *
 * Context: any.
 * Return: units, a power of two; 0 if the device has no fast registration.
 */
u32 rnbdt_pool_segment_units(struct ib_device *dev)
{
	u32 pages = min(dev->attrs.max_fast_reg_page_list_len,
			RNBDT_SEGMENT_UNITS_MAX);

	return pages ? rounddown_pow_of_two(pages) : 0;
}

/* Allocate @units pages from @first on, in the longest extents that are free. */
static int rnbdt_pool_alloc_pages(struct rnbdt_pool *pool, u32 first, u32 units)
{
	unsigned int order = min_t(unsigned int, ilog2(units), MAX_PAGE_ORDER);
	int node = ibdev_to_node(pool->dev);
	u32 done = 0;

	while (done < units) {
		gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;
		struct page *page;
		u32 i;

		order = min_t(unsigned int, order, ilog2(units - done));
		gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
		page = alloc_pages_node(node, gfp, order);
		if (!page) {
			if (!order)
				return -ENOMEM;
			order--;
			continue;
		}
		if (order)
			split_page(page, order);
		for (i = 0; i < 1U << order; i++) {
			pool->pages[first + done + i] = page + i;
			pool->ahead[first + done + i] = (1U << order) - i;
		}
		done += 1U << order;
		cond_resched();
	}
	return 0;
}

static int rnbdt_pool_map_segment(struct rnbdt_pool *pool, struct ib_pd *pd,
				  struct rnbdt_segment *seg, u32 first)
{
	struct ib_device *dev = pool->dev;
	struct scatterlist *sg;
	int i, n, nents, ret;

	ret = sg_alloc_table_from_pages_segment(&seg->sgt, &pool->pages[first], seg->units, 0,
						(size_t)seg->units * RNBD_UNIT_SIZE,
						rnbd_max_segment_size(dev), GFP_KERNEL);
	if (ret)
		return ret;

	nents = ib_dma_map_sg(dev, seg->sgt.sgl, seg->sgt.orig_nents, DMA_BIDIRECTIONAL);
	if (!nents)
		return -EIO;
	seg->mapped = true;

	/*
	 * Network device and disk access the pages concurrently. Both must see
	 * the same memory without bounce buffers or cache flushes.
	 */
	for_each_sg(seg->sgt.sgl, sg, nents, i)
		if (!ib_uses_virt_dma(dev) &&
		    dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return -EOPNOTSUPP;

	seg->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, pool->segment_units);
	if (IS_ERR(seg->mr)) {
		ret = PTR_ERR(seg->mr);
		seg->mr = NULL;
		return ret;
	}
	n = ib_map_mr_sg(seg->mr, seg->sgt.sgl, nents, NULL, RNBD_UNIT_SIZE);
	if (n != nents)
		return n < 0 ? n : -EIO;
	/*
	 * Do not reveal the address of the memory to the client: on soft-RoCE it
	 * is a kernel address. A registration may begin at any address.
	 */
	seg->mr->iova = (u64)(seg - pool->segments + 1) << RNBDT_IOVA_SHIFT;
	ib_update_fast_reg_key(seg->mr, ib_inc_rkey(seg->mr->rkey));
	return 0;
}

/**
 * rnbdt_pool_alloc - allocate the memory of a pool and map it for DMA
 * @s: session that is logging in; its pool is zeroed
 * @units: size in pool units
 * @segment_units: size in units of every segment except the last
 *
 * Context: process context; may sleep.
 * Return: 0, -ENOMEM, -EOPNOTSUPP if the device needs bounce buffers or cache
 * flushes, -ENOTCONN if the session was closed, or an error of the device. The
 * caller must call rnbdt_pool_free() in every case.
 */
int rnbdt_pool_alloc(struct rnbdt_session *s, u32 units, u32 segment_units)
{
	struct rnbdt_pool *pool = &s->pool;
	struct ib_pd *pd = s->conn.pd;
	u32 i;

	pool->dev = pd->device;
	pool->segment_units = segment_units;
	pool->units = units;
	pool->pages = kvcalloc(units, sizeof(*pool->pages), GFP_KERNEL);
	pool->ahead = kvcalloc(units, sizeof(*pool->ahead), GFP_KERNEL);
	if (!pool->pages || !pool->ahead)
		return -ENOMEM;

	pool->nr_segments = DIV_ROUND_UP(units, segment_units);
	pool->segments = kvcalloc(pool->nr_segments, sizeof(*pool->segments),
				  GFP_KERNEL);
	if (!pool->segments)
		return -ENOMEM;

	for (i = 0; i < pool->nr_segments; i++) {
		struct rnbdt_segment *seg = &pool->segments[i];
		u32 first = i * segment_units;
		int ret;

		/* Do not allocate memory for a session that closes. */
		if (READ_ONCE(s->state) != RNBDT_LOGIN)
			return -ENOTCONN;
		seg->units = min(segment_units, units - first);
		ret = rnbdt_pool_alloc_pages(pool, first, seg->units);
		if (!ret)
			ret = rnbdt_pool_map_segment(pool, pd, seg, first);
		if (ret)
			return ret;
	}
	return 0;
}

static void rnbdt_pool_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbdt_session *s = container_of(wc->wr_cqe, struct rnbdt_session,
					       conn.reg_cqe);

	/*
	 * Only the last request of a batch is signalled, but each request that
	 * fails completes. Several completions are harmless: the session stays
	 * until the queue pair is drained.
	 */
	if (wc->status != IB_WC_SUCCESS) {
		WRITE_ONCE(s->conn.reg_status, wc->status);
		rnbd_ring_fail(&s->queues[0]->ring,
			       wc->status == IB_WC_WR_FLUSH_ERR ?
			       "connection closed" :
			       "the pool could not be registered");
	}
	complete(&s->conn.reg_done);
}

static int rnbdt_pool_register_batch(struct rnbdt_session *s,
				     struct ib_reg_wr *wrs, u32 first, u32 nr)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	int ret = -ENOTCONN;
	u32 i;

	memset(wrs, 0, nr * sizeof(*wrs));
	for (i = 0; i < nr; i++) {
		struct ib_mr *mr = s->pool.segments[first + i].mr;

		wrs[i].wr.opcode = IB_WR_REG_MR;
		wrs[i].wr.wr_cqe = &s->conn.reg_cqe;
		wrs[i].wr.next = i + 1 < nr ? &wrs[i + 1].wr : NULL;
		wrs[i].mr = mr;
		wrs[i].key = mr->rkey;
		wrs[i].access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
				IB_ACCESS_REMOTE_WRITE;
	}
	wrs[nr - 1].wr.send_flags = IB_SEND_SIGNALED;

	reinit_completion(&s->conn.reg_done);
	/* Do not post after the drain, which clears ring->live. */
	spin_lock_irqsave(&ring->lock, flags);
	if (ring->live)
		ret = ib_post_send(ring->qp, &wrs[0].wr, NULL);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (ret)
		return ret;

	wait_for_completion(&s->conn.reg_done);
	return READ_ONCE(s->conn.reg_status) == IB_WC_SUCCESS ? 0 : -EIO;
}

/**
 * rnbdt_pool_register - register the segments of a pool for remote access
 * @s: session that is logging in
 *
 * Context: process context; sleeps until the send queue of queue 0 has completed.
 * Return: 0, -ENOMEM, or another negative errno if the queue pair failed or was
 * closed.
 */
int rnbdt_pool_register(struct rnbdt_session *s)
{
	struct ib_reg_wr *wrs;
	u32 done, nr;
	int ret = 0;

	wrs = kcalloc(RNBDT_REG_BATCH, sizeof(*wrs), GFP_KERNEL);
	if (!wrs)
		return -ENOMEM;

	s->conn.reg_cqe.done = rnbdt_pool_reg_done;
	for (done = 0; !ret && done < s->pool.nr_segments; done += nr) {
		nr = min_t(u32, s->pool.nr_segments - done, RNBDT_REG_BATCH);
		ret = rnbdt_pool_register_batch(s, wrs, done, nr);
	}
	kfree(wrs);
	return ret;
}

/**
 * rnbdt_pool_free - free a pool, complete or not
 * @pool: pool that no queue pair and no request uses
 *
 * Context: process context; may sleep.
 */
void rnbdt_pool_free(struct rnbdt_pool *pool)
{
	u32 i;

	for (i = 0; pool->segments && i < pool->nr_segments; i++) {
		struct rnbdt_segment *seg = &pool->segments[i];

		if (seg->mr)
			ib_dereg_mr(seg->mr);
		if (seg->mapped)
			ib_dma_unmap_sg(pool->dev, seg->sgt.sgl,
					seg->sgt.orig_nents, DMA_BIDIRECTIONAL);
		sg_free_table(&seg->sgt);
	}
	for (i = 0; pool->pages && i < pool->units; i++) {
		if (pool->pages[i])
			__free_page(pool->pages[i]);
		if (!(i % 1024))
			cond_resched();
	}
	kvfree(pool->segments);
	kvfree(pool->ahead);
	kvfree(pool->pages);
	memset(pool, 0, sizeof(*pool));
}

/**
 * rnbdt_piece_start - start to iterate over the memory of a request
 * @it: iterator to initialise
 * @treq: READ or WRITE, checked by the decoder
 *
 * Context: any.
 */
void rnbdt_piece_start(struct rnbdt_piece *it, const struct rnbdt_req *treq)
{
	it->pool = &treq->queue->session->pool;
	it->req = &treq->req;
	it->run = 0;
	it->done = 0;
	it->left = treq->req.length;
}

/**
 * rnbdt_piece_next - return the next piece of contiguous memory
 * @it: iterator
 * @page: set to the first page; the piece begins at its start
 *
 * Context: any.
 * Return: bytes, 0 at the end. All pieces except the last are whole units.
 */
u32 rnbdt_piece_next(struct rnbdt_piece *it, struct page **page)
{
	const struct rnbd_extent *run;
	u32 unit, units, bytes;

	if (!it->left)
		return 0;
	run = &it->req->extents[it->run];
	unit = run->unit + it->done;
	units = min_t(u32, it->pool->ahead[unit], run->units - it->done);
	it->done += units;
	if (it->done == run->units) {
		it->run++;
		it->done = 0;
	}
	bytes = min(units * RNBD_UNIT_SIZE, it->left);
	it->left -= bytes;
	*page = it->pool->pages[unit];
	return bytes;
}

/**
 * rnbdt_piece_count - count the contiguous pieces of the memory of a request
 * @treq: READ or WRITE, checked by the decoder
 *
 * Context: any.
 * Return: number of pieces.
 */
u32 rnbdt_piece_count(const struct rnbdt_req *treq)
{
	struct rnbdt_piece it;
	struct page *page;
	u32 nr = 0;

	rnbdt_piece_start(&it, treq);
	while (rnbdt_piece_next(&it, &page))
		nr++;
	return nr;
}
