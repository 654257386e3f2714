// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserve of zeroed memory for segments.
 *
 * Operation: the reserve holds blocks of zeroed pages, so that a grant neither waits for the
 * page allocator nor zeroes memory (rule R9). A block has at least the size of a granule, and
 * its pages are split, as those of a segment. A segment that is released gives its blocks
 * back while the reserve has less than pool_reserve_mb; they are zeroed first. A work item
 * fills it up to half of that after a grant has taken from it, because memory that nobody
 * needs again soon should be free.
 *
 * Ownership: the reserve owns its pages. They are not charged to a host, and come on top of
 * the limit of all pools. The module's exit frees them.
 *
 * Concurrency: a spinlock protects the lists; it is not held while pages are allocated,
 * zeroed or freed.
 *
 * Errors: without memory the reserve stays small, and grants allocate as before.
 */

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/param.h"
#include "reserve.h"
#include "target.h"

RNBD_PARAM_UINT(pool_reserve_mb, 64, 0, 65536,
		"MiB of zeroed memory that is kept for pools that grow, in addition to pool_limit_mb; 0: none");

#define RNBDT_RESERVE_ORDERS	(RNBDT_RESERVE_MAX - RNBDT_RESERVE_MIN + 1)

static DEFINE_SPINLOCK(rnbdt_reserve_lock);
/* Blocks by order, linked by the lru of their first page; rnbdt_reserve_lock */
static struct list_head rnbdt_reserve[RNBDT_RESERVE_ORDERS] = {
	LIST_HEAD_INIT(rnbdt_reserve[0]),
	LIST_HEAD_INIT(rnbdt_reserve[1]),
	LIST_HEAD_INIT(rnbdt_reserve[2]),
	LIST_HEAD_INIT(rnbdt_reserve[3]),
};
static u64 rnbdt_reserve_pages;		/* in these lists; written under the lock */
static bool rnbdt_reserve_used;		/* a pool that grows has existed */

static u64 rnbdt_reserve_goal(void)
{
	return (u64)READ_ONCE(pool_reserve_mb) << (20 - PAGE_SHIFT);
}

static void rnbdt_reserve_add(struct page *page, unsigned int order)
{
	spin_lock(&rnbdt_reserve_lock);
	list_add(&page->lru, &rnbdt_reserve[order - RNBDT_RESERVE_MIN]);
	WRITE_ONCE(rnbdt_reserve_pages, rnbdt_reserve_pages + (1U << order));
	spin_unlock(&rnbdt_reserve_lock);
}

static void rnbdt_reserve_work(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save(), order = RNBDT_RESERVE_MAX;

	while (READ_ONCE(rnbdt_reserve_pages) < rnbdt_reserve_goal() / 2) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
						__GFP_NORETRY, order);

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
	memalloc_noio_restore(noio);
}

static DECLARE_WORK(rnbdt_reserve_filler, rnbdt_reserve_work);

/**
 * rnbdt_reserve_fill - fill the reserve in the background
 *
 * To be called for pools that grow; there is no reserve before the first of them.
 *
 * Context: any; does not sleep.
 */
void rnbdt_reserve_fill(void)
{
	WRITE_ONCE(rnbdt_reserve_used, true);
	if (READ_ONCE(rnbdt_reserve_pages) < rnbdt_reserve_goal() / 2)
		queue_work(system_unbound_wq, &rnbdt_reserve_filler);
}

/**
 * rnbdt_reserve_take - take a block of zeroed pages
 * @node: memory node that the pages should be on, or NUMA_NO_NODE
 * @order: largest useful order; set to that of the block
 *
 * Context: process context.
 * Return: first of 1 << @order pages, which are split, or NULL.
 */
struct page *rnbdt_reserve_take(int node, unsigned int *order)
{
	struct page *page;
	int i;

	if (*order < RNBDT_RESERVE_MIN || !READ_ONCE(rnbdt_reserve_pages))
		return NULL;
	spin_lock(&rnbdt_reserve_lock);
	for (i = min_t(int, *order, RNBDT_RESERVE_MAX) - RNBDT_RESERVE_MIN; i >= 0; i--) {
		list_for_each_entry(page, &rnbdt_reserve[i], lru) {
			if (node != NUMA_NO_NODE && page_to_nid(page) != node)
				continue;
			list_del(&page->lru);
			*order = i + RNBDT_RESERVE_MIN;
			WRITE_ONCE(rnbdt_reserve_pages, rnbdt_reserve_pages - (1U << *order));
			spin_unlock(&rnbdt_reserve_lock);
			return page;
		}
	}
	spin_unlock(&rnbdt_reserve_lock);
	return NULL;
}

/**
 * rnbdt_reserve_put - zero a block of pages and add it to the reserve
 * @page: first page; the pages are split, and nobody uses them
 * @order: binary logarithm of their number
 *
 * Context: process context; may sleep.
 * Return: false if the reserve has enough; the caller frees the pages then.
 */
bool rnbdt_reserve_put(struct page *page, unsigned int order)
{
	u32 i;

	if (!READ_ONCE(rnbdt_reserve_used) ||
	    order < RNBDT_RESERVE_MIN || order > RNBDT_RESERVE_MAX ||
	    READ_ONCE(rnbdt_reserve_pages) >= rnbdt_reserve_goal())
		return false;
	for (i = 0; i < 1U << order; i++)
		clear_highpage(page + i);
	cond_resched();
	rnbdt_reserve_add(page, order);
	return true;
}

/**
 * rnbdt_reserve_exit - free the reserve
 *
 * Call when no session is left.
 *
 * Context: process context, module exit.
 */
void rnbdt_reserve_exit(void)
{
	struct page *page, *next;
	u32 i, j;

	cancel_work_sync(&rnbdt_reserve_filler);
	for (i = 0; i < RNBDT_RESERVE_ORDERS; i++)
		list_for_each_entry_safe(page, next, &rnbdt_reserve[i], lru)
			for (j = 0; j < 1U << (i + RNBDT_RESERVE_MIN); j++)
				__free_page(page + j);
}
