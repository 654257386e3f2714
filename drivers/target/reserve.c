// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserve of zeroed memory for segments.
 *
 * Operation: the reserve holds blocks of zeroed pages, so that a grant neither waits for the
 * page allocator nor zeroes memory: the first I/O of a client whose pool must grow should not be
 * slow. A block has 2^RNBDT_RESERVE_MIN to 2^RNBDT_RESERVE_MAX pages, which are split into single
 * pages like the pages of a segment. A memory node has its own reserve as soon as an RDMA device
 * of the node has had a pool that can grow.
 *
 * When a segment is freed, its blocks are zeroed and added to the reserve of their node if that
 * reserve has less than pool_reserve_mb. After each grant, a work item fills a reserve that has
 * less than half of pool_reserve_mb, and only up to this half, so that memory that no grant needs
 * soon stays available to other users. When the machine is short of memory, a shrinker frees
 * blocks, and no block is added to any reserve for RNBDT_RESERVE_PAUSE.
 *
 * Ownership: the reserve owns its pages. They are not charged to a host, and are not part of the
 * limit of all pools. The exit of the module frees them.
 *
 * Concurrency: a spinlock protects the lists and is not held while pages are allocated, zeroed
 * or freed. The shrinker runs in any context that reclaims memory, including one that holds
 * rnbdt_lock.
 *
 * Errors: if there is no memory, the reserve stays small, and grants use the page allocator.
 */

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/param.h"
#include "reserve.h"
#include "target.h"

RNBD_PARAM_UINT(pool_reserve_mb, 64, 0, 65536,
		"MiB of zeroed memory that is kept for pools that grow, for each memory node of an RDMA device, in addition to pool_limit_mb; 0: none");

#define RNBDT_RESERVE_ORDERS	(RNBDT_RESERVE_MAX - RNBDT_RESERVE_MIN + 1)
/* Jiffies after a call of the shrinker in which the reserve is not filled */
#define RNBDT_RESERVE_PAUSE	(10 * HZ)

/**
 * struct rnbdt_reserve - reserve of a memory node
 * @blocks: blocks by order, linked by the lru of their first page; rnbdt_reserve_lock
 * @pages: number of pages in @blocks; written under the lock, read without
 * @used: an RDMA device of the node has had a pool that can grow
 */
struct rnbdt_reserve {
	struct list_head blocks[RNBDT_RESERVE_ORDERS];
	u64 pages;
	bool used;
};

static DEFINE_SPINLOCK(rnbdt_reserve_lock);
static struct rnbdt_reserve *rnbdt_reserves;	/* by node; set once */
static unsigned long rnbdt_reserve_shrunk;	/* jiffies of the latest shrinking, or 0 */
static struct shrinker *rnbdt_reserve_shrinker;

/* Return the reserve of @node, or of the first node with memory if @node is unknown or has none. */
static struct rnbdt_reserve *rnbdt_reserve_of(int node)
{
	if (node == NUMA_NO_NODE || !node_state(node, N_MEMORY))
		node = first_memory_node;
	return &rnbdt_reserves[node];
}

static u64 rnbdt_reserve_goal(void)
{
	return (u64)READ_ONCE(pool_reserve_mb) << (20 - PAGE_SHIFT);
}

static void rnbdt_reserve_add(struct page *page, unsigned int order)
{
	struct rnbdt_reserve *reserve = &rnbdt_reserves[page_to_nid(page)];

	spin_lock(&rnbdt_reserve_lock);
	list_add(&page->lru, &reserve->blocks[order - RNBDT_RESERVE_MIN]);
	WRITE_ONCE(reserve->pages, reserve->pages + (1U << order));
	spin_unlock(&rnbdt_reserve_lock);
}

/* Remove and return the first block of the given order, or return NULL. */
static struct page *rnbdt_reserve_pop(struct rnbdt_reserve *reserve, unsigned int order)
{
	struct page *page;

	spin_lock(&rnbdt_reserve_lock);
	page = list_first_entry_or_null(&reserve->blocks[order - RNBDT_RESERVE_MIN], struct page,
					lru);
	if (page) {
		list_del(&page->lru);
		WRITE_ONCE(reserve->pages, reserve->pages - (1U << order));
	}
	spin_unlock(&rnbdt_reserve_lock);
	return page;
}

static void rnbdt_reserve_free(struct page *page, unsigned int order)
{
	u32 i;

	for (i = 0; i < 1U << order; i++)
		__free_page(page + i);
}

static unsigned long rnbdt_reserve_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	return READ_ONCE(rnbdt_reserves[sc->nid].pages) ?: SHRINK_EMPTY;
}

/* Free blocks, the smallest first, until the pages that the kernel asks for or all are freed. */
static unsigned long rnbdt_reserve_shrink(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct rnbdt_reserve *reserve = &rnbdt_reserves[sc->nid];
	unsigned int order = RNBDT_RESERVE_MIN;
	unsigned long freed = 0;

	WRITE_ONCE(rnbdt_reserve_shrunk, jiffies ?: 1);
	while (freed < sc->nr_to_scan && order <= RNBDT_RESERVE_MAX) {
		struct page *page = rnbdt_reserve_pop(reserve, order);

		if (!page) {
			order++;
			continue;
		}
		rnbdt_reserve_free(page, order);
		freed += 1U << order;
	}
	sc->nr_scanned = freed;
	return freed ?: SHRINK_STOP;
}

static bool rnbdt_reserve_may_fill(void)
{
	unsigned long shrunk = READ_ONCE(rnbdt_reserve_shrunk);

	return !shrunk || time_after_eq(jiffies, shrunk + RNBDT_RESERVE_PAUSE);
}

static bool rnbdt_reserve_is_low(const struct rnbdt_reserve *reserve)
{
	return READ_ONCE(reserve->used) && READ_ONCE(reserve->pages) < rnbdt_reserve_goal() / 2;
}

static void rnbdt_reserve_fill_node(const struct rnbdt_reserve *reserve, int node)
{
	/* No direct reclaim, which would shrink the reserve, and no pages of other nodes. */
	gfp_t gfp = GFP_NOWAIT | __GFP_ZERO | __GFP_NOWARN | __GFP_THISNODE;
	unsigned int order = RNBDT_RESERVE_MAX;

	/* Check again for each block: the shrinker can run concurrently. */
	while (rnbdt_reserve_is_low(reserve) && rnbdt_reserve_may_fill()) {
		struct page *page = alloc_pages_node(node, gfp, order);

		if (!page && order == RNBDT_RESERVE_MIN)
			break;
		if (page) {
			split_page(page, order);
			rnbdt_reserve_add(page, order);
		} else {
			order--;
		}
		cond_resched();
	}
}

static void rnbdt_reserve_work(struct work_struct *work)
{
	int node;

	for_each_node_state(node, N_MEMORY)
		rnbdt_reserve_fill_node(&rnbdt_reserves[node], node);
}

static DECLARE_WORK(rnbdt_reserve_filler, rnbdt_reserve_work);

/**
 * rnbdt_reserve_fill - fill the reserve of a node in the background, if it is less than half full
 * @node: memory node of a device that has a pool that can grow, or NUMA_NO_NODE
 *
 * From the first call for a node on, the node has a reserve.
 *
 * Context: any; does not sleep.
 */
void rnbdt_reserve_fill(int node)
{
	struct rnbdt_reserve *reserve = rnbdt_reserve_of(node);

	WRITE_ONCE(reserve->used, true);
	if (rnbdt_reserve_is_low(reserve) && rnbdt_reserve_may_fill())
		queue_work(system_unbound_wq, &rnbdt_reserve_filler);
}

/**
 * rnbdt_reserve_take - take a block of zeroed pages
 * @node: preferred memory node, or NUMA_NO_NODE
 * @order: largest useful order; set to the order of the block
 *
 * Context: process context.
 * Return: first of 1 << @order pages, which are split, or NULL if there is no suitable block.
 */
struct page *rnbdt_reserve_take(int node, unsigned int *order)
{
	struct rnbdt_reserve *reserve = rnbdt_reserve_of(node);
	unsigned int i;

	if (*order < RNBDT_RESERVE_MIN || !READ_ONCE(reserve->pages))
		return NULL;
	for (i = min(*order, RNBDT_RESERVE_MAX + 0U); i >= RNBDT_RESERVE_MIN; i--) {
		struct page *page = rnbdt_reserve_pop(reserve, i);

		if (page) {
			*order = i;
			return page;
		}
	}
	return NULL;
}

/**
 * rnbdt_reserve_put - zero a block of pages and add it to the reserve
 * @page: first page; the pages are split and unused
 * @order: binary logarithm of the number of pages
 *
 * Context: process context; may sleep.
 * Return: false if the reserve does not take the block; the caller must then free the pages.
 */
bool rnbdt_reserve_put(struct page *page, unsigned int order)
{
	struct rnbdt_reserve *reserve = &rnbdt_reserves[page_to_nid(page)];
	u32 i;

	if (!READ_ONCE(reserve->used) || !rnbdt_reserve_may_fill() ||
	    order < RNBDT_RESERVE_MIN || order > RNBDT_RESERVE_MAX ||
	    READ_ONCE(reserve->pages) >= rnbdt_reserve_goal())
		return false;
	for (i = 0; i < 1U << order; i++)
		clear_highpage(page + i);
	cond_resched();
	rnbdt_reserve_add(page, order);
	return true;
}

/**
 * rnbdt_reserve_init - create empty reserves and register the shrinker
 *
 * Context: process context, module init.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_reserve_init(void)
{
	struct shrinker *shrinker;
	u32 node, i;

	rnbdt_reserves = kvcalloc(nr_node_ids, sizeof(*rnbdt_reserves), GFP_KERNEL);
	if (!rnbdt_reserves)
		return -ENOMEM;
	for (node = 0; node < nr_node_ids; node++)
		for (i = 0; i < RNBDT_RESERVE_ORDERS; i++)
			INIT_LIST_HEAD(&rnbdt_reserves[node].blocks[i]);
	shrinker = shrinker_alloc(SHRINKER_NUMA_AWARE, "rnbd-target-reserve");
	if (!shrinker) {
		kvfree(rnbdt_reserves);
		return -ENOMEM;
	}
	shrinker->count_objects = rnbdt_reserve_count;
	shrinker->scan_objects = rnbdt_reserve_shrink;
	shrinker_register(shrinker);
	rnbdt_reserve_shrinker = shrinker;
	return 0;
}

/**
 * rnbdt_reserve_exit - unregister the shrinker and free the reserves
 *
 * All sessions must have ended.
 *
 * Context: process context, module exit.
 */
void rnbdt_reserve_exit(void)
{
	struct page *page;
	u32 node, order;

	cancel_work_sync(&rnbdt_reserve_filler);
	shrinker_free(rnbdt_reserve_shrinker);
	for (node = 0; node < nr_node_ids; node++)
		for (order = RNBDT_RESERVE_MIN; order <= RNBDT_RESERVE_MAX; order++)
			while ((page = rnbdt_reserve_pop(&rnbdt_reserves[node], order)))
				rnbdt_reserve_free(page, order);
	kvfree(rnbdt_reserves);
}
