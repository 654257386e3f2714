/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks of the pool that a queue has, and the units of requests in them. See cache.c.
 */
#ifndef RNBDC_CACHE_H
#define RNBDC_CACHE_H

#include "space.h"

void rnbdc_cache_init(struct rnbdc_cache *cache, struct rnbdc_space *space, spinlock_t *lock);
int rnbdc_cache_open(struct rnbdc_cache *cache, u32 index);
int rnbdc_space_alloc_slow(struct rnbdc_cache *cache, struct rnbdc_waiter *waiter, u32 units,
			   struct rnbd_extent *extents, u32 flags);
void rnbdc_cache_freed(struct rnbdc_cache *cache);
void rnbdc_cache_settle(struct rnbdc_cache *cache);
void rnbdc_space_collect(struct rnbdc_space *space);

/**
 * rnbdc_space_alloc - allocate pool space for a request
 * @cache: blocks of the queue that carries the request
 * @waiter: hardware queue that submits the request
 * @units: number of units, at most the @max_units passed to rnbdc_space_open()
 * @extents: result, RNBD_EXTENTS_MAX members
 *
 * Context: any; the lock of the queue held.
 * Return: number of @extents, or -ENOSPC, after which the caller must call rnbdc_space_wait().
 */
static inline int rnbdc_space_alloc(struct rnbdc_cache *cache, struct rnbdc_waiter *waiter,
				    u32 units, struct rnbd_extent *extents)
{
	u32 flags = READ_ONCE(cache->space->flags);
	int nr;

	if (likely(!(flags & ~RNBDC_SPACE_SCARCE))) {
		nr = rnbd_pool_alloc(&cache->pool, units, extents,
				     flags ? RNBD_EXTENTS_MAX : 1);
		if (likely(nr > 0))
			return nr;
	}
	return rnbdc_space_alloc_slow(cache, waiter, units, extents, flags);
}

/**
 * rnbdc_space_free - free pool space of a request
 * @cache: blocks of the queue that carried the request
 * @extents: extents that the target will not access for this request
 * @nr_extents: number of @extents
 *
 * Work requests in flight of this queue can still name the extents, see rnbdc_cache_posted().
 *
 * Context: any; the lock of the queue held.
 */
static inline void rnbdc_space_free(struct rnbdc_cache *cache,
				    const struct rnbd_extent *extents, u32 nr_extents)
{
	rnbd_pool_free(&cache->pool, extents, nr_extents);
	if (unlikely(cache->parked != RNBDC_NO_BLOCK))
		rnbdc_cache_freed(cache);
}

/**
 * rnbdc_cache_posted - count a signalled work request that follows or ends RDMA operations
 * @cache: blocks of the queue
 *
 * The completion of the work request shows that these RDMA operations have completed. The
 * caller must call this function once for each such work request, in the order of the posts,
 * and before it frees extents that the RDMA operations name.
 *
 * Context: any; the lock of the queue held.
 */
static inline void rnbdc_cache_posted(struct rnbdc_cache *cache)
{
	cache->posted++;
}

/**
 * rnbdc_cache_completed - count the completion of a work request of rnbdc_cache_posted()
 * @cache: blocks of the queue
 *
 * Context: completion handler; the lock of the queue held.
 */
static inline void rnbdc_cache_completed(struct rnbdc_cache *cache)
{
	cache->done++;
}

/**
 * rnbdc_cache_restart - free leaving blocks and wake waiters for space after a completion
 * @cache: blocks of the queue
 *
 * A completion handler that has called rnbdc_cache_completed() or rnbdc_space_free() must
 * call this function afterwards.
 *
 * Context: any; the lock of the queue held.
 */
static inline void rnbdc_cache_restart(struct rnbdc_cache *cache)
{
	if (unlikely(cache->leaving != RNBDC_NO_BLOCK ||
		     READ_ONCE(cache->space->flags) & RNBDC_SPACE_WAITERS))
		rnbdc_cache_settle(cache);
}

/**
 * rnbdc_cache_free_units - count the free units of a queue and of the session
 * @cache: blocks of the queue
 *
 * Context: any; the lock of the queue held.
 * Return: number of free units in the blocks of the queue and in the session's free blocks.
 */
static inline u32 rnbdc_cache_free_units(const struct rnbdc_cache *cache)
{
	return READ_ONCE(cache->space->free_units) + cache->pool.owned - cache->pool.used;
}

/**
 * rnbdc_cache_used_units - get the number of used units of a queue outside parked blocks
 * @cache: blocks of the queue
 *
 * Context: any; without the lock of the queue the number is not exact.
 * Return: number of units.
 */
static inline u32 rnbdc_cache_used_units(const struct rnbdc_cache *cache)
{
	u32 pinned = READ_ONCE(cache->pinned);

	return max(READ_ONCE(cache->pool.used), pinned) - pinned;
}

#endif /* RNBDC_CACHE_H */
