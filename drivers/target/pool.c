// SPDX-License-Identifier: GPL-2.0-only
/*
 * The delegated pool: memory of the target that one client manages.
 *
 * Operation
 *
 * A pool is made at login: zeroed pages, cut into segments of at most what one
 * memory region can map, each registered once through the send queue of
 * queue 0. From then on the client alone decides what lies where; the target
 * only looks up which pages a request names (struct rnbdt_piece). A unit of
 * the pool is a page. Pages come in runs as long as the page allocator gives
 * them, split so that each is a page of its own; a run becomes one entry of a
 * bio, which is what makes large requests cheap.
 *
 * Ownership
 *
 * The session owns the pool. Nothing of it is shared: regions belong to the
 * session's protection domain, pages to nobody else, and they are zeroed, so a
 * client never sees what another one left there.
 *
 * Concurrency
 *
 * Made by the login work, freed by the teardown after the queue pairs are
 * gone and no request is in the backend. Constant in between.
 *
 * Errors
 *
 * Whatever was made before an error is found by rnbdt_pool_free().
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "target.h"

#define RNBDT_SEGMENT_UNITS_MAX	512U
#define RNBDT_IOVA_SHIFT	32	/* more than a segment has */

/**
 * rnbdt_pool_segment_units - size of the segments on a device
 * @dev: device
 *
 * Return: units, a power of two; 0 if it cannot register memory that way.
 */
u32 rnbdt_pool_segment_units(struct ib_device *dev)
{
	u32 pages = min(dev->attrs.max_fast_reg_page_list_len,
			RNBDT_SEGMENT_UNITS_MAX);

	return pages ? rounddown_pow_of_two(pages) : 0;
}

/*
 * Fill @units pages from @first on. Returns the number of runs, each of which
 * becomes one scatterlist entry.
 */
static int rnbdt_pool_alloc_pages(struct rnbd_tpool *pool, u32 first, u32 units)
{
	unsigned int order = min_t(unsigned int, ilog2(units), MAX_PAGE_ORDER);
	int node = ibdev_to_node(pool->dev);
	int runs = 0;
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
		runs++;
		cond_resched();
	}
	return runs;
}

static int rnbdt_pool_map_segment(struct rnbd_tpool *pool, struct ib_pd *pd,
				  struct rnbd_tsegment *seg, u32 first, int runs)
{
	struct ib_device *dev = pool->dev;
	struct scatterlist *sg;
	int i, n, nents;
	u32 unit = first;

	if (sg_alloc_table(&seg->sgt, runs, GFP_KERNEL))
		return -ENOMEM;
	for_each_sg(seg->sgt.sgl, sg, runs, i) {
		sg_set_page(sg, pool->pages[unit],
			    pool->ahead[unit] * RNBD_UNIT_SIZE, 0);
		unit += pool->ahead[unit];
	}

	nents = ib_dma_map_sg(dev, seg->sgt.sgl, runs, DMA_BIDIRECTIONAL);
	if (!nents)
		return -ENOMEM;
	seg->mapped = true;

	/*
	 * The pages belong to the network device and to the disk at once. That
	 * needs memory that both see without copying or flushing in between.
	 */
	for_each_sg(seg->sgt.sgl, sg, nents, i)
		if (!ib_uses_virt_dma(dev) &&
		    dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return -EOPNOTSUPP;

	seg->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, pool->segment_units);
	if (IS_ERR(seg->mr)) {
		int ret = PTR_ERR(seg->mr);

		seg->mr = NULL;
		return ret;
	}
	n = ib_map_mr_sg(seg->mr, seg->sgt.sgl, nents, NULL, RNBD_UNIT_SIZE);
	if (n != nents)
		return n < 0 ? n : -EIO;
	/*
	 * What the client is told must not be where the memory lies: on soft-RoCE
	 * that is an address of this kernel. A registration may begin anywhere.
	 */
	seg->mr->iova = (u64)(seg - pool->segments + 1) << RNBDT_IOVA_SHIFT;
	ib_update_fast_reg_key(seg->mr, ib_inc_rkey(seg->mr->rkey));
	return 0;
}

/**
 * rnbdt_pool_alloc - make the memory of a pool
 * @s: session that is logging in; its pool is zeroed
 * @units: size
 * @segment_units: size of every segment but the last
 *
 * Context: process context.
 * Return: 0, -ENOMEM, -EOPNOTSUPP if the device cannot share memory with
 * others, -ENOTCONN if the session was closed meanwhile, or what the device says;
 * rnbdt_pool_free() has to follow either way.
 */
int rnbdt_pool_alloc(struct rnbd_tsession *s, u32 units, u32 segment_units)
{
	struct rnbd_tpool *pool = &s->pool;
	struct ib_pd *pd = s->pd;
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
		struct rnbd_tsegment *seg = &pool->segments[i];
		u32 first = i * segment_units;
		int ret;

		/* Others may be short of what this one would take in vain. */
		if (READ_ONCE(s->state) != RNBDT_LOGIN)
			return -ENOTCONN;
		seg->units = min(segment_units, units - first);
		ret = rnbdt_pool_alloc_pages(pool, first, seg->units);
		if (ret < 0)
			return ret;
		ret = rnbdt_pool_map_segment(pool, pd, seg, first, ret);
		if (ret)
			return ret;
	}
	return 0;
}

static void rnbdt_pool_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbd_tsession *s = container_of(wc->wr_cqe, struct rnbd_tsession,
					       reg_cqe);

	/*
	 * Only the last one of a batch is signalled, but each one that fails
	 * completes. More than one completion does no harm: the session stays
	 * until the queue pair is drained.
	 */
	if (wc->status != IB_WC_SUCCESS) {
		WRITE_ONCE(s->reg_status, wc->status);
		rnbd_ring_fail(&s->queues[0]->ring,
			       wc->status == IB_WC_WR_FLUSH_ERR ?
			       "connection closed" :
			       "the pool could not be registered");
	}
	complete(&s->reg_done);
}

static int rnbdt_pool_register_batch(struct rnbd_tsession *s,
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
		wrs[i].wr.wr_cqe = &s->reg_cqe;
		wrs[i].wr.next = i + 1 < nr ? &wrs[i + 1].wr : NULL;
		wrs[i].mr = mr;
		wrs[i].key = mr->rkey;
		wrs[i].access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
				IB_ACCESS_REMOTE_WRITE;
	}
	wrs[nr - 1].wr.send_flags = IB_SEND_SIGNALED;

	reinit_completion(&s->reg_done);
	/* Nothing may be posted behind the drain, which clears ring->live. */
	spin_lock_irqsave(&ring->lock, flags);
	if (ring->live)
		ret = ib_post_send(ring->qp, &wrs[0].wr, NULL);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (ret)
		return ret;

	wait_for_completion(&s->reg_done);
	return READ_ONCE(s->reg_status) == IB_WC_SUCCESS ? 0 : -EIO;
}

/**
 * rnbdt_pool_register - let the client reach the pool
 * @s: session that is logging in
 *
 * Context: process context; waits for the send queue of queue 0.
 * Return: 0, or an error if the queue pair failed or was closed.
 */
int rnbdt_pool_register(struct rnbd_tsession *s)
{
	struct ib_reg_wr *wrs;
	u32 done, nr;
	int ret = 0;

	wrs = kcalloc(RNBDT_REG_BATCH, sizeof(*wrs), GFP_KERNEL);
	if (!wrs)
		return -ENOMEM;

	s->reg_cqe.done = rnbdt_pool_reg_done;
	for (done = 0; !ret && done < s->pool.nr_segments; done += nr) {
		nr = min_t(u32, s->pool.nr_segments - done, RNBDT_REG_BATCH);
		ret = rnbdt_pool_register_batch(s, wrs, done, nr);
	}
	kfree(wrs);
	return ret;
}

/**
 * rnbdt_pool_free - take a pool back, complete or not
 * @pool: pool that neither a queue pair nor a request uses any more
 *
 * Context: process context.
 */
void rnbdt_pool_free(struct rnbd_tpool *pool)
{
	u32 i;

	for (i = 0; pool->segments && i < pool->nr_segments; i++) {
		struct rnbd_tsegment *seg = &pool->segments[i];

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
 * rnbdt_piece_start - begin to walk over the memory of a request
 * @it: iterator
 * @treq: READ or WRITE, checked by the decoder
 */
void rnbdt_piece_start(struct rnbdt_piece *it, const struct rnbd_treq *treq)
{
	it->pool = &treq->queue->session->pool;
	it->req = &treq->req;
	it->run = 0;
	it->done = 0;
	it->left = treq->req.length;
}

/**
 * rnbdt_piece_next - next piece of contiguous memory
 * @it: iterator
 * @page: first page; the piece begins at its begin
 *
 * Return: bytes, 0 at the end. All pieces but the last are whole units.
 */
u32 rnbdt_piece_next(struct rnbdt_piece *it, struct page **page)
{
	const struct rnbd_run *run;
	u32 unit, units, bytes;

	if (!it->left)
		return 0;
	run = &it->req->runs[it->run];
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
 * rnbdt_piece_count - pieces that the memory of a request consists of
 * @treq: READ or WRITE
 */
u32 rnbdt_piece_count(const struct rnbd_treq *treq)
{
	struct rnbdt_piece it;
	struct page *page;
	u32 nr = 0;

	rnbdt_piece_start(&it, treq);
	while (rnbdt_piece_next(&it, &page))
		nr++;
	return nr;
}
