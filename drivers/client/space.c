// SPDX-License-Identifier: GPL-2.0-only
/*
 * Space of the pool that the queues of a session share: segments and free blocks.
 *
 * Operation
 *
 * The target grants segments of registered memory. The slot of a segment determines the
 * numbers of its units. The generation tells successive segments of one slot apart. Units
 * form blocks of 64 KiB, or larger ones if the largest request would otherwise need more than
 * RNBD_EXTENTS_MAX - 1 blocks. A block is either free or belongs to a queue, which allocates its
 * units (cache.c). A queue takes either enough free blocks for its need or none. A block
 * becomes free only when no work request of its queue names it. After that another queue can
 * use it, or the client can release its segment.
 *
 * Nothing is allocated from a closed segment. A closed segment is empty when none of its blocks
 * belongs to a queue; rnbdc_space.kick then makes the session call rnbdc_space_next_empty().
 *
 * Ownership: The tables are in use from rnbdc_space_open() to rnbdc_space_close(), that is,
 * while there is a connection. After that they are kept for the next connection, until
 * rnbdc_space_exit() frees them.
 *
 * Concurrency: rnbdc_space.lock is the innermost lock. Queues take it only when they take, park
 * or return blocks, or when a hardware queue lacks or awaits space, which is rare.
 *
 * Errors: A segment that the target must not grant is refused with a negative errno.
 */

#include <linux/errno.h>

#include "space.h"

/* Units of a block, unless the largest request needs larger blocks or the slots are smaller. */
#define RNBDC_BLOCK_UNITS	16u

/* Largest number of blocks that a queue takes at once although its request needs fewer. */
#define RNBDC_BATCH_BLOCKS	4u

/**
 * rnbdc_space_update - update rnbdc_space.flags
 * @space: pool
 *
 * Context: any; rnbdc_space.lock held.
 */
void rnbdc_space_update(struct rnbdc_space *space)
{
	/*
	 * With this much free space, even a disk that holds all other units may take the largest
	 * request: after that it holds no more than remains free outside the reserve.
	 */
	u32 limit = space->units / 2 + space->units / 16 + space->max_units + 2;
	u32 flags = space->flags & RNBDC_SPACE_CLOSING;

	/* Hysteresis: otherwise the flag could change, and the work item run, for each block. */
	if (space->flags & RNBDC_SPACE_SCARCE)
		limit += space->units / 8;
	if (space->free_units < limit)
		flags |= RNBDC_SPACE_SCARCE;
	if (!list_empty(&space->waiters))
		flags |= RNBDC_SPACE_WAITERS;
	if (!list_empty(&space->turns))
		flags |= RNBDC_SPACE_TURNS;
	if (flags == space->flags)
		return;
	/* The kick runs the work item that takes unused blocks back from the queues. */
	if (flags & ~space->flags & RNBDC_SPACE_SCARCE && space->nr_slots)
		space->kick(space);
	WRITE_ONCE(space->flags, flags);
}

/**
 * rnbdc_space_init - initialise the pool of a session that has no connection
 * @space: pool, all zero
 * @kick: value of rnbdc_space.kick
 *
 * Context: any.
 */
void rnbdc_space_init(struct rnbdc_space *space, void (*kick)(struct rnbdc_space *space))
{
	spin_lock_init(&space->lock);
	INIT_LIST_HEAD(&space->waiters);
	INIT_LIST_HEAD(&space->turns);
	space->kick = kick;
}

/* Get the number of slots in the tables of a pool. */
static u32 rnbdc_space_slots(const struct rnbdc_space *space)
{
	return DIV_ROUND_UP(space->range, space->segment_units);
}

/* Allocate tables for the sizes in @space. After an error, rnbdc_space_exit() must be called. */
static int rnbdc_space_alloc_tables(struct rnbdc_space *space, u32 nr_caches)
{
	u32 blocks = DIV_ROUND_UP(space->range, 1u << space->shift);
	int ret = rnbd_pool_init_empty(&space->blocks, 0, blocks,
				       space->segment_units >> space->shift);

	if (ret)
		return ret;
	space->segments = rnbd_zalloc(rnbdc_space_slots(space) * sizeof(*space->segments));
	space->block = rnbd_zalloc(blocks * sizeof(*space->block));
	space->caches = rnbd_zalloc(nr_caches * sizeof(struct rnbdc_cache *));
	space->nr_kept = nr_caches;
	return space->segments && space->block && space->caches ? 0 : -ENOMEM;
}

/**
 * rnbdc_space_open - prepare the tables of a pool without segments
 * @space: pool after rnbdc_space_init() or rnbdc_space_close()
 * @range: units from the start of slot 0 to the end of the last slot
 * @segment_units: units from one slot to the next, a power of two
 * @max_units: units of the largest request
 * @nr_caches: number of queues
 *
 * The function allocates nothing if the sizes are those of the former connection. The
 * caller must call rnbdc_space_close() later, even after an error.
 *
 * Context: process context, may sleep, does not wait for I/O.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int rnbdc_space_open(struct rnbdc_space *space, u32 range, u32 segment_units, u32 max_units,
		     u32 nr_caches)
{
	u32 shift = 0, units = RNBDC_BLOCK_UNITS;
	int ret;

	if (!is_power_of_2(segment_units) || !range || range > RNBD_POOL_UNITS_MAX)
		return -EINVAL;
	while (units * (RNBD_EXTENTS_MAX - 1) < max_units)
		units *= 2;
	units = min(units, segment_units);
	while (1u << shift < units)
		shift++;
	if (space->nr_kept != nr_caches || space->range != range ||
	    space->segment_units != segment_units || space->shift != shift) {
		rnbdc_space_exit(space);
		space->range = range;
		space->segment_units = segment_units;
		space->shift = shift;
		ret = rnbdc_space_alloc_tables(space, nr_caches);
		if (ret) {
			rnbdc_space_exit(space);
			return ret;
		}
	}
	space->batch = clamp(space->blocks.units / (4 * nr_caches), 1u, RNBDC_BATCH_BLOCKS) <<
		       shift;
	space->max_units = max_units;
	space->nr_slots = rnbdc_space_slots(space);
	space->nr_caches = nr_caches;
	space->strict = true;
	return 0;
}

/**
 * rnbdc_space_close - clear the tables of a pool and of its queues
 * @space: pool that has no waiters and that no queue uses
 *
 * Context: process context.
 */
void rnbdc_space_close(struct rnbdc_space *space)
{
	u32 i;

	for (i = 0; i < space->nr_caches; i++) {
		struct rnbdc_cache *cache = space->caches[i];

		if (!cache)
			continue;
		rnbd_pool_clear(&cache->pool);
		memset(cache->has, 0, BITS_TO_LONGS(space->blocks.units) * sizeof(*cache->has));
		cache->leaving = RNBDC_NO_BLOCK;
	}
	if (space->nr_slots) {
		memset(space->segments, 0, space->nr_slots * sizeof(*space->segments));
		memset(space->block, 0, space->blocks.units * sizeof(*space->block));
	}
	rnbd_pool_clear(&space->blocks);
	space->nr_caches = 0;
	space->nr_slots = 0;
	space->units = 0;
	space->free_units = 0;
	space->closings = 0;
	space->lacks = false;
	space->partial = false;
	WRITE_ONCE(space->flags, 0);
}

/**
 * rnbdc_space_exit - free the tables of a pool and of its queues
 * @space: pool after rnbdc_space_init() or rnbdc_space_close(); its queues still exist
 *
 * Context: process context, may sleep.
 */
void rnbdc_space_exit(struct rnbdc_space *space)
{
	u32 i;

	for (i = 0; space->caches && i < space->nr_kept; i++) {
		struct rnbdc_cache *cache = space->caches[i];

		if (!cache)
			continue;
		rnbd_pool_exit(&cache->pool);
		rnbd_free(cache->has);
		cache->has = NULL;
	}
	rnbd_free(space->caches);
	space->caches = NULL;
	space->nr_kept = 0;
	rnbd_free(space->block);
	space->block = NULL;
	rnbd_free(space->segments);
	space->segments = NULL;
	rnbd_pool_exit(&space->blocks);
}

/**
 * rnbdc_block_segment - get the segment that contains a block
 * @space: pool
 * @block: number of a block
 *
 * Context: any; rnbdc_space.lock protects the members of the segment.
 * Return: the segment.
 */
struct rnbdc_segment *rnbdc_block_segment(const struct rnbdc_space *space, u32 block)
{
	return &space->segments[(block << space->shift) / space->segment_units];
}

/**
 * rnbdc_block_units - get the size of a block
 * @space: pool
 * @block: block of a granted or closed segment; if no queue owns the block, rnbdc_space.lock
 *	must be held
 *
 * Context: any.
 * Return: units; the last block of a segment can be smaller than the others.
 */
u32 rnbdc_block_units(const struct rnbdc_space *space, u32 block)
{
	u32 offset = (block << space->shift) & (space->segment_units - 1);

	return min(1u << space->shift, rnbdc_block_segment(space, block)->units - offset);
}

/* Add one free block to a queue. */
static u32 rnbdc_space_take_block(struct rnbdc_cache *cache, u32 block)
{
	struct rnbdc_space *space = cache->space;
	u32 units = rnbdc_block_units(space, block);

	space->block[block].closing = false;
	rnbdc_block_segment(space, block)->away++;
	space->free_units -= units;
	cache->has[block / BITS_PER_LONG] |= 1ul << block % BITS_PER_LONG;
	rnbd_pool_add(&cache->pool, block << space->shift, units);
	return units;
}

/**
 * rnbdc_space_take - add free blocks to a queue
 * @cache: blocks of the queue
 * @waiter: hardware queue that needs the space
 * @units: fewest units to add
 *
 * Context: any; the lock of the queue and rnbdc_space.lock held.
 * Return: number of added units: at least @units, or 0.
 */
u32 rnbdc_space_take(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter, u32 units)
{
	struct rnbdc_space *space = cache->space;
	u32 promised = space->promised - (waiter->turn ? waiter->promise : 0);
	struct rnbd_extent runs[RNBD_EXTENTS_MAX];
	u32 taken = 0, block;
	int nr, i;

	if (!rnbdc_space_fits(space, promised, units))
		return 0;
	while (taken < units) {
		u32 blocks = rnbdc_space_whole(space, units - taken) >> space->shift;

		if (blocks > RNBD_EXTENTS_MAX)
			blocks = RNBD_EXTENTS_MAX;
		nr = rnbd_pool_alloc(&space->blocks, blocks, runs, RNBD_EXTENTS_MAX);
		/*
		 * This cannot fail: enough units are free. If the smaller last block of a
		 * segment was taken, the loop takes another block.
		 */
		if (WARN_ON_ONCE(nr < 0))
			break;
		for (i = 0; i < nr; i++)
			for (block = runs[i].unit; block < runs[i].unit + runs[i].units; block++)
				taken += rnbdc_space_take_block(cache, block);
	}
	rnbdc_space_update(space);
	return taken;
}

/**
 * rnbdc_space_give - make a block of a queue free, or drop it if its segment is closed
 * @space: pool
 * @block: block that no request and no work request of its queue names
 *
 * Context: any; rnbdc_space.lock held. The caller must then call rnbdc_space_wake() (waiter.c).
 */
void rnbdc_space_give(struct rnbdc_space *space, u32 block)
{
	struct rnbdc_segment *seg = rnbdc_block_segment(space, block);
	const struct rnbd_extent extent = { .unit = block, .units = 1 };

	rnbd_pool_free(&space->blocks, &extent, 1);
	seg->away--;
	if (seg->state == RNBDC_SEGMENT_GRANTED) {
		space->free_units += rnbdc_block_units(space, block);
		return;
	}
	rnbd_pool_remove(&space->blocks, block, 1);
	if (!seg->away)
		space->kick(space);
}

/* Find the segment with a slot, generation and state; NULL if there is none. */
static struct rnbdc_segment *rnbdc_space_segment(struct rnbdc_space *space, u32 slot,
						 u32 generation,
						 enum rnbdc_segment_state state)
{
	struct rnbdc_segment *seg;

	if (slot >= space->nr_slots)
		return NULL;
	seg = &space->segments[slot];
	return seg->state == state && seg->generation == generation ? seg : NULL;
}

/**
 * rnbdc_space_add_segment - add a granted segment to a pool
 * @space: pool
 * @slot: slot of the segment
 * @generation: number of the grant
 * @units: size in units; a multiple of the block size in all but one segment of the pool
 *
 * Context: any.
 * Return: 0, -EINVAL if @slot or @units are not valid, or -EBUSY if the slot is in use.
 */
int rnbdc_space_add_segment(struct rnbdc_space *space, u32 slot, u32 generation, u32 units)
{
	u32 first = slot * space->segment_units, rest = units & ((1u << space->shift) - 1);
	struct rnbdc_segment *seg;
	unsigned long flags;
	int ret = -EINVAL;

	spin_lock_irqsave(&space->lock, flags);
	if (slot >= space->nr_slots || !units || units > space->segment_units ||
	    units > space->range - first || (rest && space->partial))
		goto unlock;
	ret = -EBUSY;
	seg = &space->segments[slot];
	if (seg->state != RNBDC_SEGMENT_NONE)
		goto unlock;
	*seg = (struct rnbdc_segment) {
		.generation = generation,
		.units = units,
		.state = RNBDC_SEGMENT_GRANTED,
	};
	space->partial = space->partial || rest;
	WRITE_ONCE(space->lacks, false);
	/* Pairs with rnbdc_hwq_refused(): a task that reads the new size sees lacks cleared. */
	smp_store_release(&space->units, space->units + units);
	space->free_units += units;
	rnbd_pool_add(&space->blocks, first >> space->shift,
		      DIV_ROUND_UP(units, 1u << space->shift));
	rnbdc_space_update(space);
	space->kick(space);
	ret = 0;
unlock:
	spin_unlock_irqrestore(&space->lock, flags);
	return ret;
}

/**
 * rnbdc_space_close_segment - stop allocations from a segment
 * @space: pool
 * @slot: slot of the segment
 * @generation: number of the grant
 *
 * A concurrent allocation can still take space of the segment. Once the segment is empty,
 * rnbdc_space.kick is called and rnbdc_space_next_empty() returns the segment.
 *
 * Context: any.
 * Return: 0, or -ENOENT if there is no such segment or it is already closed.
 */
int rnbdc_space_close_segment(struct rnbdc_space *space, u32 slot, u32 generation)
{
	struct rnbdc_segment *seg;
	unsigned long flags;
	u32 block, first, blocks;
	int ret = -ENOENT;

	spin_lock_irqsave(&space->lock, flags);
	seg = rnbdc_space_segment(space, slot, generation, RNBDC_SEGMENT_GRANTED);
	if (!seg)
		goto unlock;
	first = slot * space->segment_units >> space->shift;
	blocks = DIV_ROUND_UP(seg->units, 1u << space->shift);
	for (block = first; block < first + blocks; block++)
		if (rnbd_pool_remove(&space->blocks, block, 1))
			space->free_units -= rnbdc_block_units(space, block);
	space->units -= seg->units;
	seg->state = RNBDC_SEGMENT_CLOSING;
	space->closings++;
	WRITE_ONCE(space->flags, space->flags | RNBDC_SPACE_CLOSING);
	rnbdc_space_update(space);
	space->kick(space);
	ret = 0;
unlock:
	spin_unlock_irqrestore(&space->lock, flags);
	return ret;
}

/**
 * rnbdc_space_spare - find the largest segment without which the pool still holds its floor
 * @space: pool
 * @floor: units that must remain, not counting closed segments
 * @slot: result: slot of the segment
 * @generation: result: number of the grant
 *
 * Context: any.
 * Return: units of the segment, or 0 if there is none. Another task can close the segment
 * before the caller does.
 */
u32 rnbdc_space_spare(struct rnbdc_space *space, u32 floor, u32 *slot, u32 *generation)
{
	unsigned long flags;
	u32 i, excess, units = 0;

	spin_lock_irqsave(&space->lock, flags);
	excess = space->units - min(space->units, floor);
	for (i = 0; i < space->nr_slots; i++) {
		const struct rnbdc_segment *seg = &space->segments[i];

		if (seg->state != RNBDC_SEGMENT_GRANTED || seg->units <= units ||
		    seg->units > excess)
			continue;
		units = seg->units;
		*slot = i;
		*generation = seg->generation;
	}
	spin_unlock_irqrestore(&space->lock, flags);
	return units;
}

/**
 * rnbdc_space_next_empty - get a closed segment that has become empty
 * @space: pool
 * @slot: result: slot of the segment
 * @generation: result: number of the grant
 *
 * Every request that names the segment was answered, and every work request that names
 * it has completed successfully. So the caller may release the segment.
 *
 * Context: any.
 * Return: true if a segment was found; each segment is returned once.
 */
bool rnbdc_space_next_empty(struct rnbdc_space *space, u32 *slot, u32 *generation)
{
	unsigned long flags;
	bool found = false;
	u32 i;

	spin_lock_irqsave(&space->lock, flags);
	for (i = 0; i < space->nr_slots && !found; i++) {
		struct rnbdc_segment *seg = &space->segments[i];

		if (seg->state != RNBDC_SEGMENT_CLOSING || seg->away)
			continue;
		seg->state = RNBDC_SEGMENT_EMPTY;
		*slot = i;
		*generation = seg->generation;
		found = true;
	}
	spin_unlock_irqrestore(&space->lock, flags);
	return found;
}

/**
 * rnbdc_space_remove_segment - remove a released segment from a pool
 * @space: pool
 * @slot: slot of the segment; afterwards the target may grant another segment in this slot
 * @generation: number of the grant
 *
 * Context: any.
 * Return: 0, or -ENOENT if rnbdc_space_next_empty() has not returned the segment before.
 */
int rnbdc_space_remove_segment(struct rnbdc_space *space, u32 slot, u32 generation)
{
	struct rnbdc_segment *seg;
	unsigned long flags;
	int ret = -ENOENT;

	spin_lock_irqsave(&space->lock, flags);
	seg = rnbdc_space_segment(space, slot, generation, RNBDC_SEGMENT_EMPTY);
	if (seg) {
		if (seg->units & ((1u << space->shift) - 1))
			space->partial = false;
		*seg = (struct rnbdc_segment) { };
		ret = 0;
	}
	spin_unlock_irqrestore(&space->lock, flags);
	return ret;
}
