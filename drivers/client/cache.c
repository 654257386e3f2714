// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of the pool that a queue has, and the units of requests in them.
 *
 * Operation
 *
 * A queue allocates units first fit in its blocks, under its own lock. If these do not
 * hold a request in one extent, it takes free blocks of the session, some more than it
 * needs if there are plenty. If the session has none, the queue uses several extents,
 * and takes the unused blocks of the other queues.
 *
 * A queue keeps blocks that are empty, so that steady load does not touch what queues
 * share. It gives them up when queues have more than half of the pool for the first time
 * since it was less, when another queue lacks space, when a hardware queue waits for
 * space, and when their segment is closed. Work requests of the queue may still name
 * units of an empty block: a reply can overtake the completion of the SEND that follows
 * the RDMA WRITEs, and with early release units are free as soon as the RDMA READ is
 * posted. So a block first leaves: no unit of it is allocated, and it becomes free when
 * all work requests that were posted until then have completed. Completions come in
 * order, so the queue counts signalled work requests.
 *
 * A block of a closing segment that is in use is parked: its free units are removed from
 * the bitmap, and each further one when it is freed, until the block is empty.
 *
 * Ownership: a block belongs to the queue from rnbdc_space_take() to rnbdc_space_give().
 * Bitmaps live from rnbdc_cache_open() to rnbdc_space_exit().
 *
 * Concurrency: the lock of the queue protects its blocks. A queue that lacks space tries
 * the locks of the others, because it must not wait for them with its own lock held. The
 * work item of the session waits for each of them in turn, with no other lock held, so
 * that a waiter gets all unused blocks even if such an attempt fails.
 *
 * Errors: -ENOSPC with nothing allocated.
 */

#include <linux/errno.h>

#include "cache.h"
#include "inject.h"
#include "space.h"

/**
 * rnbdc_cache_init - initialise the blocks of a queue that has no connection
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
 * rnbdc_cache_open - prepare the tables of a queue, which has no block at first
 * @cache: blocks of the queue; no requests of an earlier connection are in flight
 * @index: number of the queue
 *
 * Allocates nothing if rnbdc_space_open() did not.
 *
 * Context: process context, may sleep, does not wait for I/O.
 * Return: 0 or a negative errno; rnbdc_space_exit() frees the tables.
 */
int rnbdc_cache_open(struct rnbdc_cache *cache, u32 index)
{
	struct rnbdc_space *space = cache->space;
	int ret = 0;

	/* Those of the former connection have been emptied. */
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

/* Begin to give up a block none of whose units can be allocated. */
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

/* Begin to give up empty blocks. */
static void rnbdc_cache_shed(struct rnbdc_cache *cache)
{
	const struct rnbdc_space *space = cache->space;
	u32 i = BITS_TO_LONGS(space->blocks.units);

	/* The last ones first, so that the allocator need not search where they were. */
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

/* May a block that leaves become free, because no work request names it any longer? */
static bool rnbdc_cache_may_return(const struct rnbdc_cache *cache, u32 block)
{
	if (block == RNBDC_NO_BLOCK)
		return false;
	return (s32)(cache->done - cache->space->block[block].stamp) >= 0 ||
	       rnbd_inject(&rnbdc_inject_release_early, NULL);
}

/* Make blocks free that no work request names any longer. */
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

/* Remove the free units of a block of a closing segment. Returns true if it is empty. */
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

/* Remove the units of parked blocks that were freed. */
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

/* Park the blocks of segments that were closed. */
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
 * rnbdc_cache_freed - give up blocks of closing segments that have become empty
 * @cache: blocks of a queue with blocks of closing segments
 *
 * Context: any; the lock of the queue held.
 */
void rnbdc_cache_freed(struct rnbdc_cache *cache)
{
	rnbdc_cache_park_again(cache);
	rnbdc_cache_return(cache);
}

/**
 * rnbdc_cache_settle - return blocks after a completion, and give waiters their turns
 * @cache: blocks of the queue
 *
 * Context: completion handler; the lock of the queue held.
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

/* Take over the unused blocks of a queue. Its lock is held. */
static void rnbdc_cache_collect(struct rnbdc_cache *cache)
{
	if (READ_ONCE(cache->space->flags) & RNBDC_SPACE_CLOSING)
		rnbdc_cache_park(cache);
	rnbdc_cache_shed(cache);
	rnbdc_cache_return(cache);
}

/**
 * rnbdc_space_collect - make the unused blocks of all queues free
 * @space: pool
 *
 * Does nothing if the space is plenty. Blocks that work requests still name become free
 * when these have completed.
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

/* Make unused blocks of other queues free whose locks are, until @units are free. */
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

/* Use blocks again that were to be given up. Returns the number of units. */
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

/* Add @units at least, or nothing unless there are blocks that were to be given up. */
static u32 rnbdc_cache_take(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter,
			    u32 units)
{
	struct rnbdc_space *space = cache->space;
	u32 taken;

	spin_lock(&space->lock);
	taken = rnbdc_cache_reuse(cache, units);
	/* Take more than needed only if this cannot harm others. */
	if (taken < units && !space->flags)
		units = max(units, taken + space->batch);
	if (taken < units)
		taken += rnbdc_space_take(cache, waiter, units - taken);
	spin_unlock(&space->lock);
	return taken;
}

/*
 * Add blocks and allocate. Blocks that lack are enough if the free units of the queue are
 * not scattered; as many as the request has units are always enough.
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

/* Allocate in the blocks of a queue, with more of them if the space is plenty. */
static int rnbdc_cache_alloc(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter,
			     u32 units, struct rnbd_extent *extents)
{
	struct rnbdc_space *space = cache->space;

	/* One extent, or few, of new blocks: several may take several RDMA operations. */
	if (!READ_ONCE(space->flags) && units <= space->segment_units)
		rnbdc_cache_take(cache, waiter, units);
	return rnbd_pool_alloc(&cache->pool, units, extents, RNBD_EXTENTS_MAX);
}

/**
 * rnbdc_space_alloc_slow - allocate pool space unless one extent was found
 * @cache: blocks of the queue that carries the request
 * @waiter: hardware queue that submits the request
 * @units: how much
 * @extents: result, room for RNBD_EXTENTS_MAX
 * @flags: flags of the space; with RNBDC_SPACE_SCARCE alone, the present blocks of the
 *	queue do not hold the request
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
