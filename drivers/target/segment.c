// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment of a pool: its pages and its memory region.
 *
 * Operation
 *
 * A segment has zeroed pages and one memory region, which is registered once through the send
 * queue of queue 0, with the largest page size that its memory, the device and the parameter
 * large_pages allow (page_size.c). A unit of the pool is a page of the kernel. The pages come in
 * physically contiguous blocks, as large as possible, which are split into single pages. Contiguous
 * pages become one entry of a bio, so large requests are cheap. A block comes from the reserve,
 * which is zeroed already (reserve.c), or from the page allocator.
 *
 * Ownership
 *
 * The caller owns a segment until it adds the segment to the pool of the session (pool.c). The
 * pages are zeroed before the client gets a key, so the client never sees data of another client.
 *
 * Concurrency
 *
 * The login work and the lease work register segments. For one session they never run concurrently,
 * and each has at most RNBDT_REG_BATCH registrations in the send queue. The memory region is
 * destroyed before the pages are freed: after ib_dereg_mr() the device does not access them.
 *
 * Errors
 *
 * A segment in any state may be unmapped and freed. A registration that completes with an error
 * ends the session, because the queue pair can then no longer be used. A registration that does not
 * complete within RNBDT_REG_TIMEOUT also ends the session.
 */

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "../core/dma.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "page_size.h"
#include "queue.h"
#include "reserve.h"
#include "segment.h"
#include "session.h"

#define RNBDT_IOVA_SHIFT	32	/* log2 of the bytes of address space per slot */

RNBD_PARAM_UINT(large_pages, 1, 0, 2,
		"register memory of pools with the largest pages that the device has: 0: never, 1: if its driver is known to support that, 2: always");

/* Jiffies in which the client must receive the frames that were posted before a registration */
#define RNBDT_REG_TIMEOUT	(10 * HZ)

/* Record @units contiguous pages, starting with @page, as the units from @first on. */
static void rnbdt_segment_add_pages(struct rnbdt_segment *seg, u32 first, struct page *page,
				    u32 units)
{
	u32 i;

	for (i = 0; i < units; i++) {
		seg->pages[first + i] = page + i;
		seg->ahead[first + i] = units - i;
	}
}

/* Take zeroed blocks of pages from the reserve, or allocate blocks as large as possible. */
static int rnbdt_segment_alloc_pages(struct rnbdt_segment *seg, bool floor)
{
	unsigned int order = min_t(unsigned int, ilog2(seg->units), MAX_PAGE_ORDER);
	int node = ibdev_to_node(seg->dev);
	u32 done = 0;

	while (done < seg->units) {
		gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;
		unsigned int reserved;
		struct page *page;

		order = min_t(unsigned int, order, ilog2(seg->units - done));
		reserved = order;
		page = rnbdt_reserve_take(node, &reserved);
		if (page) {
			rnbdt_segment_add_pages(seg, done, page, 1U << reserved);
			done += 1U << reserved;
			continue;
		}
		/* Let the page allocator try hard only for single pages of a floor. */
		gfp |= order || !floor ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
		page = alloc_pages_node(node, gfp, order);
		if (!page) {
			if (!order)
				return -ENOMEM;
			order--;
			continue;
		}
		if (order)
			split_page(page, order);
		rnbdt_segment_add_pages(seg, done, page, 1U << order);
		done += 1U << order;
		cond_resched();
	}
	return 0;
}

/**
 * rnbdt_segment_alloc - allocate a segment and its pages
 * @dev: device that will access the pages
 * @units: size in units
 * @floor: try hard, because the session needs the segment for its floor
 *
 * Context: process context without I/O (memalloc_noio_save()); may sleep.
 * Return: the segment, or NULL if there is no memory.
 */
struct rnbdt_segment *rnbdt_segment_alloc(struct ib_device *dev, u32 units, bool floor)
{
	struct rnbdt_segment *seg;

	seg = kvzalloc(struct_size(seg, pages, units), GFP_KERNEL);
	if (!seg)
		return NULL;
	INIT_LIST_HEAD(&seg->entry);
	seg->dev = dev;
	seg->units = units;
	seg->ahead = kvcalloc(units, sizeof(*seg->ahead), GFP_KERNEL);
	if (!seg->ahead || rnbdt_segment_alloc_pages(seg, floor)) {
		rnbdt_segment_free(seg);
		return NULL;
	}
	return seg;
}

/*
 * Return whether large pages may be registered: with any driver if large_pages is 2; if it is 1,
 * with drivers that are known to pass the page size of a memory region to the device. erdma
 * supports large pages only for memory of user space, and vmw_pvrdma always passes the page size
 * of the kernel: with large pages, these devices would access memory outside the segment.
 */
static bool rnbdt_segment_may_be_large(const struct ib_device *dev)
{
	unsigned int mode = READ_ONCE(large_pages);

	switch (dev->ops.driver_id) {
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_IRDMA:
	case RDMA_DRIVER_CXGB4:
	case RDMA_DRIVER_QEDR:
		return mode >= 1;
	default:
		return mode >= 2;
	}
}

/* Return the page size of the memory region of a segment that is mapped as @nents pieces. */
static u32 rnbdt_segment_page_size(const struct rnbdt_segment *seg, int nents)
{
	struct scatterlist *sg;
	u64 bits = 0;
	int i;

	if (!rnbdt_segment_may_be_large(seg->dev))
		return RNBD_UNIT_SIZE;
	for_each_sg(seg->sgt.sgl, sg, nents, i)
		bits |= sg_dma_address(sg) | sg_dma_len(sg);
	return rnbdt_page_size(bits, seg->dev->attrs.page_size_cap, RNBD_UNIT_SIZE);
}

/**
 * rnbdt_segment_map - map a segment for DMA and prepare its memory region
 * @seg: segment that has a slot
 * @pd: protection domain of the session
 *
 * Context: process context; may sleep.
 * Return: 0, -EOPNOTSUPP if the device needs bounce buffers or cache flushes, or another
 * negative errno. The caller must call rnbdt_segment_unmap() in every case.
 */
int rnbdt_segment_map(struct rnbdt_segment *seg, struct ib_pd *pd)
{
	struct ib_device *dev = seg->dev;
	struct scatterlist *sg;
	int i, n, nents, ret;
	u32 page_size;

	ret = sg_alloc_table_from_pages_segment(&seg->sgt, seg->pages, seg->units, 0,
						(size_t)seg->units * RNBD_UNIT_SIZE,
						rnbd_max_segment_size(dev), GFP_KERNEL);
	if (ret)
		return ret;

	nents = ib_dma_map_sg(dev, seg->sgt.sgl, seg->sgt.orig_nents, DMA_BIDIRECTIONAL);
	if (!nents)
		return -EIO;
	seg->mapped = true;

	/*
	 * The RDMA device and the storage access the pages concurrently. Both must see the same
	 * memory without bounce buffers or cache flushes.
	 */
	for_each_sg(seg->sgt.sgl, sg, nents, i)
		if (!ib_uses_virt_dma(dev) &&
		    dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return -EOPNOTSUPP;

	page_size = rnbdt_segment_page_size(seg, nents);
	/* The page size divides the length of the segment. */
	seg->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, seg->units / (page_size / RNBD_UNIT_SIZE));
	if (IS_ERR(seg->mr)) {
		ret = PTR_ERR(seg->mr);
		seg->mr = NULL;
		return ret;
	}
	n = ib_map_mr_sg(seg->mr, seg->sgt.sgl, nents, NULL, page_size);
	if (n != nents)
		return n < 0 ? n : -EIO;
	/*
	 * Do not reveal the address of the memory to the client: on soft-RoCE it is a kernel
	 * address. The first address of a memory region can be chosen freely.
	 */
	seg->mr->iova = (u64)(seg->slot + 1) << RNBDT_IOVA_SHIFT;
	ib_update_fast_reg_key(seg->mr, ib_inc_rkey(seg->mr->rkey));
	return 0;
}

static void rnbdt_segment_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbdt_session *s = container_of(wc->wr_cqe, struct rnbdt_session,
					       conn.reg_cqe);

	/*
	 * Only the last work request of a batch is signalled, but each failed one completes too.
	 * Additional completions are harmless: the session exists until the queue pair is drained.
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

static int rnbdt_segments_post(struct rnbdt_session *s, struct ib_reg_wr *wrs,
			       struct rnbdt_segment **segs, u32 nr)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	int ret = -ENOTCONN;
	u32 i;

	memset(wrs, 0, nr * sizeof(*wrs));
	for (i = 0; i < nr; i++) {
		wrs[i].wr.opcode = IB_WR_REG_MR;
		wrs[i].wr.wr_cqe = &s->conn.reg_cqe;
		wrs[i].wr.next = i + 1 < nr ? &wrs[i + 1].wr : NULL;
		wrs[i].mr = segs[i]->mr;
		wrs[i].key = segs[i]->mr->rkey;
		wrs[i].access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
				IB_ACCESS_REMOTE_WRITE;
	}
	wrs[nr - 1].wr.send_flags = IB_SEND_SIGNALED;

	reinit_completion(&s->conn.reg_done);
	/* The drain clears ring->live; do not post afterwards. */
	spin_lock_irqsave(&ring->lock, flags);
	if (ring->live)
		ret = ib_post_send(ring->qp, &wrs[0].wr, NULL);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (ret)
		return ret;

	/* The registrations complete after all earlier SENDs, which the client can delay. */
	if (!wait_for_completion_timeout(&s->conn.reg_done, RNBDT_REG_TIMEOUT)) {
		rnbd_ring_fail(ring, "the client accepts no frames");
		/* The teardown flushes the queue pair, which completes the registrations. */
		wait_for_completion(&s->conn.reg_done);
	}
	return READ_ONCE(s->conn.reg_status) == IB_WC_SUCCESS ? 0 : -EIO;
}

/**
 * rnbdt_segments_register - register segments for remote access
 * @s: session that is logging in or live
 * @segs: mapped segments
 * @nr: number of segments, at most RNBDT_REG_BATCH
 *
 * Context: login work or lease work; sleeps until the registrations have completed.
 * Return: 0, -ENOMEM, or another negative errno if the queue pair failed or was closed.
 */
int rnbdt_segments_register(struct rnbdt_session *s, struct rnbdt_segment **segs, u32 nr)
{
	struct ib_reg_wr *wrs = kcalloc(nr, sizeof(*wrs), GFP_KERNEL);
	int ret;

	if (!wrs)
		return -ENOMEM;
	s->conn.reg_cqe.done = rnbdt_segment_reg_done;
	ret = rnbdt_segments_post(s, wrs, segs, nr);
	kfree(wrs);
	return ret;
}

/**
 * rnbdt_segment_unmap - destroy the memory region and the DMA mapping of a segment
 * @seg: segment in any state
 *
 * After the function has returned, the device does not access the pages.
 *
 * Context: process context; may sleep.
 */
void rnbdt_segment_unmap(struct rnbdt_segment *seg)
{
	if (seg->mr)
		ib_dereg_mr(seg->mr);
	seg->mr = NULL;
	if (seg->mapped)
		ib_dma_unmap_sg(seg->dev, seg->sgt.sgl, seg->sgt.orig_nents, DMA_BIDIRECTIONAL);
	seg->mapped = false;
	sg_free_table(&seg->sgt);
}

/**
 * rnbdt_segment_free_pages - free the pages of a segment, or return them to the reserve
 * @seg: segment that is unmapped and that no request names; its structure remains
 *
 * Context: process context; may sleep.
 */
void rnbdt_segment_free_pages(struct rnbdt_segment *seg)
{
	u32 i, j, units;

	for (i = 0; i < seg->units && seg->ahead; i += units) {
		/* seg->ahead of the first unit of a block of pages is the length of the block. */
		units = clamp_t(u32, seg->ahead[i], 1, 1U << RNBDT_RESERVE_MAX);
		if (!seg->pages[i] || rnbdt_reserve_put(seg->pages[i], ilog2(units)))
			continue;
		for (j = 0; j < units; j++)
			__free_page(seg->pages[i + j]);
		cond_resched();
	}
	memset(seg->pages, 0, seg->units * sizeof(seg->pages[0]));
	kvfree(seg->ahead);
	seg->ahead = NULL;
}

/**
 * rnbdt_segment_free - free a segment and its pages
 * @seg: segment that is unmapped and that no request names
 *
 * Context: process context; may sleep.
 */
void rnbdt_segment_free(struct rnbdt_segment *seg)
{
	rnbdt_segment_free_pages(seg);
	kvfree_rcu(seg, rcu);
}
