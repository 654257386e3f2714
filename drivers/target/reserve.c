// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserve of zeroed memory for segments.
 *
 * Operation: the reserve holds blocks of zeroed pages, so that a grant neither waits for the
 * page allocator nor zeroes memory (rule R9). A block has at least the size of a granule, and
 * its pages are split, as those of a segment. A segment that is released gives its blocks
 * back while the reserve has less than pool_reserve_mb; they are zeroed first. A work item
 * fills it up to half of that after a grant has taken from it, because memory that nobody
 * needs again soon should be free. When the machine is short of memory, a shrinker frees
 * blocks, and the reserve is not filled for RNBDT_RESERVE_PAUSE.
 *
 * Ownership: the reserve owns its pages. They are not charged to a host, and come on top of
 * the limit of all pools. The module's exit frees them.
 *
 * Concurrency: a spinlock protects the lists; it is not held while pages are allocated,
 * zeroed or freed. The shrinker runs in any context that reclaims memory, also in one that
 * holds rnbdt_lock.
 *
 * Errors: without memory the reserve stays small, and grants allocate as before.
 */

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/param.h"
#include "reserve.h"
#include "target.h"

RNBD_PARAM_UINT(pool_reserve_mb, 64, 0, 65536,
		"MiB of zeroed memory that is kept for pools that grow, in addition to pool_limit_mb; 0: none");

#define RNBDT_RESERVE_ORDERS	(RNBDT_RESERVE_MAX - RNBDT_RESERVE_MIN + 1)
/* Time without a call of the shrinker after which the reserve is filled again */
#define RNBDT_RESERVE_PAUSE	(10 * HZ)

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
static unsigned long rnbdt_reserve_shrunk;	/* jiffies of the latest shrinking, or 0 */
static struct shrinker *rnbdt_reserve_shrinker;

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

/* Remove the first block of the given order, or NULL. */
static struct page *rnbdt_reserve_pop(unsigned int order)
{
	struct page *page;

	spin_lock(&rnbdt_reserve_lock);
	page = list_first_entry_or_null(&rnbdt_reserve[order - RNBDT_RESERVE_MIN], struct page,
					lru);
	if (page) {
		list_del(&page->lru);
		WRITE_ONCE(rnbdt_reserve_pages, rnbdt_reserve_pages - (1U << order));
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
	return READ_ONCE(rnbdt_reserve_pages) ?: SHRINK_EMPTY;
}

/* Free at least as many pages as the kernel asks for, the smallest blocks first. */
static unsigned long rnbdt_reserve_shrink(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned int order = RNBDT_RESERVE_MIN;
	unsigned long freed = 0;

	WRITE_ONCE(rnbdt_reserve_shrunk, jiffies ?: 1);
	while (freed < sc->nr_to_scan && order <= RNBDT_RESERVE_MAX) {
		struct page *page = rnbdt_reserve_pop(order);

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

static void rnbdt_reserve_work(struct work_struct *work)
{
	unsigned int order = RNBDT_RESERVE_MAX;

	while (READ_ONCE(rnbdt_reserve_pages) < rnbdt_reserve_goal() / 2) {
		/* Direct reclaim would shrink the reserve. */
		struct page *page = alloc_pages((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) |
						__GFP_ZERO | __GFP_NOWARN, order);

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

static DECLARE_WORK(rnbdt_reserve_filler, rnbdt_reserve_work);

static bool rnbdt_reserve_may_fill(void)
{
	unsigned long shrunk = READ_ONCE(rnbdt_reserve_shrunk);

	return !shrunk || time_after_eq(jiffies, shrunk + RNBDT_RESERVE_PAUSE);
}

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
	if (READ_ONCE(rnbdt_reserve_pages) < rnbdt_reserve_goal() / 2 &&
	    rnbdt_reserve_may_fill())
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

	if (!READ_ONCE(rnbdt_reserve_used) || !rnbdt_reserve_may_fill() ||
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
 * rnbdt_reserve_init - let the kernel shrink the reserve
 *
 * Context: process context, module init.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_reserve_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "rnbd-target-reserve");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = rnbdt_reserve_count;
	shrinker->scan_objects = rnbdt_reserve_shrink;
	shrinker_register(shrinker);
	rnbdt_reserve_shrinker = shrinker;
	return 0;
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
	struct page *page;
	u32 order;

	cancel_work_sync(&rnbdt_reserve_filler);
	shrinker_free(rnbdt_reserve_shrinker);
	for (order = RNBDT_RESERVE_MIN; order <= RNBDT_RESERVE_MAX; order++)
		while ((page = rnbdt_reserve_pop(order)))
			rnbdt_reserve_free(page, order);
}
