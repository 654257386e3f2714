// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of the pool that a queue has, and the units of requests in them.
 *
 * Operation
 *
 * A queue allocates units first fit in its blocks, under its own lock. While free blocks are
 * plentiful and no free extent in its blocks is long enough for a request, the queue first takes
 * free blocks of the session, more than the request needs. While free blocks are scarce, the queue
 * first tries several extents in its blocks, and then takes only the free blocks that it
 * needs. If the session has too few, the queue frees the unused blocks of other queues.
 *
 * A queue keeps empty blocks, so that steady load does not touch state that queues share.
 * The queue hands empty blocks back to the session when free space becomes scarce
 * (rnbdc_space_update()), when another queue lacks space, when a hardware queue waits for
 * space, and when the segment of the blocks closes. Work requests in flight can still name
 * units of an empty block: a reply can overtake the completion of the SEND that follows the
 * RDMA WRITEs, and with early release units are free as soon as the RDMA READ is posted. So a
 * block that the queue hands back is first "leaving": the queue allocates none of its units,
 * unless it takes the block back. The block becomes free when all work requests that the queue
 * had posted before the block was leaving have completed. For this test the queue counts its
 * signalled work requests, which complete in order.
 *
 * A used block of a closed segment is "parked": its free units are removed from the bitmap at
 * once, and each used unit when it is freed. When all its units are removed, it is "leaving".
 *
 * Ownership: a block belongs to the queue from rnbdc_space_take() to rnbdc_space_give(). The
 * bitmaps exist from rnbdc_cache_open() to rnbdc_space_exit().
 *
 * Concurrency: the lock of the queue protects its blocks. A queue that lacks space uses only
 * spin_trylock() on the locks of other queues, because it holds its own lock. If a hardware
 * queue must wait for space, stall_work (stall.c) takes the lock of each queue in turn, with
 * no other lock held, and so also reaches the queues whose spin_trylock() has failed.
 *
 * Errors: -ENOSPC; no unit is allocated then.
 */

#include <linux/errno.h>

#include "cache.h"
#include "inject.h"
#include "space.h"

/**
 * rnbdc_cache_init - initialise the struct rnbdc_cache of a queue that has no connection
 * @cache: all zero
 * @space: pool of the session
 * @lock: lock of the queue
 *
 * Context: any.
 */
void rnbdc_cache_init(struct rnbdc_cache *cache, struct rnbdc_space *space, spinlock_t *lock)
{
	cache->space = space;
	cache->lock = lock;
	cache->leaving = RNBDC_NO_BLOCK;
	cache->parked = RNBDC_NO_BLOCK;
}

static int rnbdc_cache_alloc_tables(struct rnbdc_cache *cache)
{
	struct rnbdc_space *space = cache->space;
	int ret = rnbd_pool_init_empty(&cache->pool, 0, space->range, space->segment_units);

	if (ret)
		return ret;
	cache->has = rnbd_zalloc(BITS_TO_LONGS(space->blocks.units) * sizeof(*cache->has));
	if (cache->has)
		return 0;
	rnbd_pool_exit(&cache->pool);
	return -ENOMEM;
}

/**
 * rnbdc_cache_open - prepare the tables of a queue, which has no blocks at first
 * @cache: blocks of the queue; no requests of an earlier connection are in flight
 * @index: number of the queue
 *
 * The function allocates nothing if rnbdc_space_open() has kept the former tables.
 *
 * Context: process context, may sleep, does not wait for I/O.
 * Return: 0 or a negative errno; rnbdc_space_exit() frees the tables.
 */
int rnbdc_cache_open(struct rnbdc_cache *cache, u32 index)
{
	struct rnbdc_space *space = cache->space;
	int ret = 0;

	/* If space->caches lists the cache, its tables of the former connection were kept. */
	if (space->caches[index] != cache)
		ret = rnbdc_cache_alloc_tables(cache);
	if (ret)
		return ret;
	cache->posted = 0;
	cache->done = 0;
	cache->leaving = RNBDC_NO_BLOCK;
	cache->parked = RNBDC_NO_BLOCK;
	cache->pinned = 0;
	cache->closings = 0;
	WRITE_ONCE(space->caches[index], cache);
	return 0;
}

static u32 rnbdc_cache_free(const struct rnbdc_cache *cache)
{
	return cache->pool.owned - cache->pool.used;
}

/* Make a block "leaving". The caller has removed all its units from the bitmap. */
static void rnbdc_cache_leave(struct rnbdc_cache *cache, u32 block)
{
	struct rnbdc_block *blocks = cache->space->block;

	cache->has[block / BITS_PER_LONG] &= ~(1ul << block % BITS_PER_LONG);
	blocks[block].next = RNBDC_NO_BLOCK;
	blocks[block].stamp = cache->posted;
	if (cache->leaving == RNBDC_NO_BLOCK)
		cache->leaving = block;
	else
		blocks[cache->last].next = block;
	cache->last = block;
}

/* Make all empty blocks of a queue "leaving". */
static void rnbdc_cache_shed(struct rnbdc_cache *cache)
{
	const struct rnbdc_space *space = cache->space;
	u32 i = BITS_TO_LONGS(space->blocks.units);

	/* Start with the last block, so that rnbd_pool_remove() shortens later searches. */
	while (i-- && rnbdc_cache_free(cache)) {
		unsigned long word = cache->has[i];

		while (word) {
			u32 bit = __fls(word), block = i * BITS_PER_LONG + bit;
			u32 unit = block << space->shift;
			u32 units = rnbdc_block_units(space, block);

			word &= ~(1ul << bit);
			if (!rnbd_pool_is_free(&cache->pool, unit, units))
				continue;
			rnbd_pool_remove(&cache->pool, unit, units);
			rnbdc_cache_leave(cache, block);
		}
	}
}

/* Test whether a leaving block may become free, because no work request in flight names it. */
static bool rnbdc_cache_may_return(const struct rnbdc_cache *cache, u32 block)
{
	if (block == RNBDC_NO_BLOCK)
		return false;
	return (s32)(cache->done - cache->space->block[block].stamp) >= 0 ||
	       rnbd_inject(&rnbdc_inject_release_early, NULL);
}

/* Free the leaving blocks that no work request in flight names. */
static void rnbdc_cache_return(struct rnbdc_cache *cache)
{
	struct rnbdc_space *space = cache->space;
	u32 block = cache->leaving;

	if (!rnbdc_cache_may_return(cache, block))
		return;
	spin_lock(&space->lock);
	do {
		cache->leaving = space->block[block].next;
		rnbdc_space_give(space, block);
		block = cache->leaving;
	} while (rnbdc_cache_may_return(cache, block));
	rnbdc_space_wake(space, cache);
	spin_unlock(&space->lock);
}

/* Remove the free units of a parked block from the bitmap. Returns true if no unit is in use. */
static bool rnbdc_cache_park_units(struct rnbdc_cache *cache, u32 block)
{
	const struct rnbdc_space *space = cache->space;
	u32 units = rnbdc_block_units(space, block);
	struct rnbdc_block *b = &space->block[block];
	u32 removed = rnbd_pool_remove(&cache->pool, block << space->shift, units);

	b->parked += removed;
	WRITE_ONCE(cache->pinned, cache->pinned - removed);
	return b->parked == units;
}

/* Remove freed units of parked blocks from the bitmap. Empty parked blocks become "leaving". */
static void rnbdc_cache_park_again(struct rnbdc_cache *cache)
{
	u32 *at = &cache->parked, block;

	while ((block = *at) != RNBDC_NO_BLOCK) {
		struct rnbdc_block *b = &cache->space->block[block];

		if (!rnbdc_cache_park_units(cache, block)) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		rnbdc_cache_leave(cache, block);
	}
}

/* Park the blocks that the queue has in segments closed since the last call. */
static void rnbdc_cache_park(struct rnbdc_cache *cache)
{
	struct rnbdc_space *space = cache->space;
	u32 i;

	spin_lock(&space->lock);
	for (i = 0; cache->closings != space->closings &&
	     i < BITS_TO_LONGS(space->blocks.units); i++) {
		unsigned long word = cache->has[i];

		while (word) {
			u32 bit = __ffs(word), block = i * BITS_PER_LONG + bit;
			struct rnbdc_block *b = &space->block[block];

			word &= word - 1;
			if (b->closing || rnbdc_block_segment(space, block)->state !=
					  RNBDC_SEGMENT_CLOSING)
				continue;
			b->closing = true;
			b->parked = 0;
			WRITE_ONCE(cache->pinned,
				   cache->pinned + rnbdc_block_units(space, block));
			if (rnbdc_cache_park_units(cache, block)) {
				rnbdc_cache_leave(cache, block);
				continue;
			}
			b->next = cache->parked;
			cache->parked = block;
		}
	}
	cache->closings = space->closings;
	spin_unlock(&space->lock);
}

/**
 * rnbdc_cache_freed - hand back parked blocks that have become empty
 * @cache: blocks of a queue with parked blocks
 *
 * Context: any; the lock of the queue held.
 */
void rnbdc_cache_freed(struct rnbdc_cache *cache)
{
	rnbdc_cache_park_again(cache);
	rnbdc_cache_return(cache);
}

/**
 * rnbdc_cache_settle - free leaving blocks after a completion, and wake waiters for space
 * @cache: blocks of the queue
 *
 * Context: any; the lock of the queue held.
 */
void rnbdc_cache_settle(struct rnbdc_cache *cache)
{
	struct rnbdc_space *space = cache->space;

	if (READ_ONCE(space->flags) & RNBDC_SPACE_WAITERS)
		rnbdc_cache_shed(cache);
	rnbdc_cache_return(cache);
	if (READ_ONCE(space->flags) & RNBDC_SPACE_WAITERS) {
		spin_lock(&space->lock);
		rnbdc_space_wake(space, cache);
		spin_unlock(&space->lock);
	}
}

/* Hand back the unused blocks of a queue. The caller holds the lock of the queue. */
static void rnbdc_cache_collect(struct rnbdc_cache *cache)
{
	if (READ_ONCE(cache->space->flags) & RNBDC_SPACE_CLOSING)
		rnbdc_cache_park(cache);
	rnbdc_cache_shed(cache);
	rnbdc_cache_return(cache);
}

/**
 * rnbdc_space_collect - hand back the unused blocks of all queues
 * @space: pool
 *
 * The function does nothing while no bit of rnbdc_space.flags is set: space is plentiful, no
 * hardware queue waits and no segment is being closed. A block that work requests still name
 * becomes free when they have completed.
 *
 * Context: any, without locks.
 */
void rnbdc_space_collect(struct rnbdc_space *space)
{
	u32 i, closings = READ_ONCE(space->closings);
	struct rnbdc_cache *cache;
	unsigned long flags;

	if (!READ_ONCE(space->flags))
		return;
	for (i = 0; i < space->nr_caches; i++) {
		cache = READ_ONCE(space->caches[i]);
		if (!cache)
			continue;
		spin_lock_irqsave(cache->lock, flags);
		rnbdc_cache_collect(cache);
		spin_unlock_irqrestore(cache->lock, flags);
	}
	spin_lock_irqsave(&space->lock, flags);
	if (closings == space->closings)
		WRITE_ONCE(space->flags, space->flags & ~RNBDC_SPACE_CLOSING);
	rnbdc_space_wake(space, NULL);
	spin_unlock_irqrestore(&space->lock, flags);
}

/* Hand back unused blocks of other queues whose lock is available, until @units are free. */
static void rnbdc_cache_collect_others(struct rnbdc_cache *self, u32 units)
{
	struct rnbdc_space *space = self->space;
	struct rnbdc_cache *cache;
	u32 i;

	for (i = 0; i < space->nr_caches && READ_ONCE(space->free_units) < units; i++) {
		cache = READ_ONCE(space->caches[i]);
		if (!cache || cache == self || !spin_trylock(cache->lock))
			continue;
		rnbdc_cache_collect(cache);
		spin_unlock(cache->lock);
	}
}

/* Take back leaving blocks of segments that are not closed, until they have @units. */
static u32 rnbdc_cache_reuse(struct rnbdc_cache *cache, u32 units)
{
	struct rnbdc_space *space = cache->space;
	u32 taken = 0, block, *at = &cache->leaving;
	u32 last = RNBDC_NO_BLOCK;

	while ((block = *at) != RNBDC_NO_BLOCK) {
		if (taken >= units || rnbdc_block_segment(space, block)->state !=
				      RNBDC_SEGMENT_GRANTED) {
			last = block;
			at = &space->block[block].next;
			continue;
		}
		*at = space->block[block].next;
		cache->has[block / BITS_PER_LONG] |= 1ul << block % BITS_PER_LONG;
		rnbd_pool_add(&cache->pool, block << space->shift,
			      rnbdc_block_units(space, block));
		taken += rnbdc_block_units(space, block);
	}
	cache->last = last;
	return taken;
}

/*
 * Add leaving blocks and then free blocks to a queue, until at least @units are added. If the
 * free blocks do not suffice, add no free block. Returns the number of added units.
 */
static u32 rnbdc_cache_take(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter,
			    u32 units)
{
	struct rnbdc_space *space = cache->space;
	u32 taken;

	spin_lock(&space->lock);
	taken = rnbdc_cache_reuse(cache, units);
	/* Take more than @units only while space is plentiful. */
	if (taken < units && !space->flags)
		units = max(units, taken + space->batch);
	if (taken < units)
		taken += rnbdc_space_take(cache, waiter, units - taken);
	spin_unlock(&space->lock);
	return taken;
}

/*
 * Add blocks to a queue and allocate. First add only the units that the queue lacks. If the
 * allocation then fails, because the free units of the queue are scattered, add @units in all.
 */
static int rnbdc_cache_refill(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter,
			      u32 units, struct rnbd_extent *extents)
{
	u32 free = rnbdc_cache_free(cache), taken = 0, lack, more;
	int nr = -ENOSPC;

	lack = units > free ? units - free : 1;
	while (nr < 0 && lack) {
		more = rnbdc_cache_take(cache, waiter, lack);
		if (!more)
			break;
		taken += more;
		nr = rnbd_pool_alloc(&cache->pool, units, extents, RNBD_EXTENTS_MAX);
		lack = units > taken ? units - taken : 0;
	}
	return nr;
}

/* Allocate in the blocks of a queue. While space is plentiful, add blocks to the queue first. */
static int rnbdc_cache_alloc(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter,
			     u32 units, struct rnbd_extent *extents)
{
	struct rnbdc_space *space = cache->space;

	/* Space in new blocks has fewer extents, and so needs fewer RDMA operations. */
	if (!READ_ONCE(space->flags) && units <= space->segment_units)
		rnbdc_cache_take(cache, waiter, units);
	return rnbd_pool_alloc(&cache->pool, units, extents, RNBD_EXTENTS_MAX);
}

/**
 * rnbdc_space_alloc_slow - allocate pool space if rnbdc_space_alloc() has found none
 * @cache: blocks of the queue that carries the request
 * @waiter: hardware queue that submits the request
 * @units: number of units
 * @extents: result, RNBD_EXTENTS_MAX members
 * @flags: value of rnbdc_space.flags; RNBDC_SPACE_SCARCE alone means that the caller has
 *	already tried, and failed, to allocate in the present blocks of the queue
 *
 * Context: any; the lock of the queue held.
 * Return: number of @extents, or -ENOSPC.
 */
int rnbdc_space_alloc_slow(struct rnbdc_cache *cache, struct rnbdc_waiter *waiter, u32 units,
			   struct rnbd_extent *extents, u32 flags)
{
	struct rnbdc_space *space = cache->space;
	bool queued = flags & (RNBDC_SPACE_WAITERS | RNBDC_SPACE_TURNS);
	int nr = -ENOSPC;

	if (flags & RNBDC_SPACE_CLOSING)
		rnbdc_cache_park(cache);
	if (queued && !rnbdc_space_may_take(space, waiter))
		return -ENOSPC;
	if (flags != RNBDC_SPACE_SCARCE)
		nr = rnbdc_cache_alloc(cache, waiter, units, extents);
	if (nr < 0)
		nr = rnbdc_cache_refill(cache, waiter, units, extents);
	if (nr < 0) {
		rnbdc_cache_collect_others(cache, units);
		nr = rnbdc_cache_refill(cache, waiter, units, extents);
	}
	if (queued)
		rnbdc_space_served(waiter, nr > 0);
	return nr;
}
