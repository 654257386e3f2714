// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocator of pool space.
 *
 * Operation: only the client manages the memory that the target has registered for the client.
 * A struct rnbd_pool is a range of units of 4 KiB (in rnbdc_space.blocks: of blocks). Its owner
 * may allocate all of these units, or only those that were added and not removed since; these are
 * owned. A bitmap has a bit per unit, clear while the unit is owned and free. Allocation is first
 * fit: the lowest free extent that is long enough. So consecutive requests often get adjacent
 * space, and one RDMA operation can serve them together. If no single extent is long enough, up
 * to max_runs extents are allocated, in the order of their addresses. The search takes the first
 * max_runs free extents. If their sum is too small, larger extents at higher addresses replace the
 * smallest ones. So an allocation fails only if the sum of the largest max_runs free extents is too
 * small.
 *
 * An extent does not cross a multiple of segment_units, counted through the whole pool,
 * because the next segment has another address and key.
 *
 * The bitmap is searched by words, between hint and end, outside of which no unit is free.
 * Finding a single unit takes one or two words unless the pool is nearly full.
 *
 * There are five reasons not to use lib/genalloc.c. Its gen_pool_alloc() returns one contiguous
 * extent or fails, so a fragmented pool with enough space would stop the queue. It is lockless:
 * each call executes an atomic operation and cpu_relax() per word of the bitmap, although the
 * lock of the queue is held anyway. It keeps extents within a segment only if each segment is a
 * chunk of its own, and it searches the list of chunks from the head. It ends in BUG() if an
 * extent is freed that is not in use. It does not build in user space, where this file is
 * tested against a model. tests/unit/bench_pool.c compares the times of both.
 *
 * Ownership: rnbd_pool_init() and rnbd_pool_init_empty() allocate the bitmap, rnbd_pool_exit()
 * frees it. Extents belong to the caller until it frees them, in any order and grouping.
 *
 * Concurrency: the lock of the owner must be held for every call except init and exit. Only
 * init and exit sleep, allocate or free memory. An allocation passes over the bitmap at most
 * once.
 *
 * Errors: -ENOSPC, with nothing allocated. If the caller frees an extent that is not in use,
 * WARN_ON_ONCE() reports it, and this extent is not freed.
 */
#include "pool.h"

/* Mask of the bits from @bit to the end of its word. */
static unsigned long rnbd_bits_from(u32 bit)
{
	return ~0UL << (bit % BITS_PER_LONG);
}

/* First bit in [@from, @end) that is set (or clear, if @invert is ~0); @end if there is none. */
static u32 rnbd_next_bit(const unsigned long *map, u32 from, u32 end,
			 unsigned long invert)
{
	unsigned long word;
	u32 base;

	if (from >= end)
		return end;
	base = from - from % BITS_PER_LONG;
	word = (map[base / BITS_PER_LONG] ^ invert) & rnbd_bits_from(from);
	while (!word) {
		/* Compare distances, because base + BITS_PER_LONG can overflow. */
		if (end - base <= BITS_PER_LONG)
			return end;
		base += BITS_PER_LONG;
		word = map[base / BITS_PER_LONG] ^ invert;
	}
	return min(base + (u32)__ffs(word), end);
}

static u32 rnbd_next_used(const unsigned long *map, u32 from, u32 end)
{
	return rnbd_next_bit(map, from, end, 0);
}

static u32 rnbd_next_free(const unsigned long *map, u32 from, u32 end)
{
	return rnbd_next_bit(map, from, end, ~0UL);
}

/* Mask of the bits of word @index that lie in [@from, @end); at least one bit must lie there. */
static unsigned long rnbd_word_mask(u32 index, u32 from, u32 end)
{
	unsigned long mask = ~0UL;

	if (index == from / BITS_PER_LONG)
		mask &= rnbd_bits_from(from);
	if (index == (end - 1) / BITS_PER_LONG)
		mask &= ~0UL >> (BITS_PER_LONG - 1 - (end - 1) % BITS_PER_LONG);
	return mask;
}

static void rnbd_set_bits(unsigned long *map, u32 from, u32 end)
{
	u32 i;

	for (i = from / BITS_PER_LONG; i <= (end - 1) / BITS_PER_LONG; i++)
		map[i] |= rnbd_word_mask(i, from, end);
}

static void rnbd_clear_bits(unsigned long *map, u32 from, u32 end)
{
	u32 i;

	for (i = from / BITS_PER_LONG; i <= (end - 1) / BITS_PER_LONG; i++)
		map[i] &= ~rnbd_word_mask(i, from, end);
}

/**
 * rnbd_pool_init_empty - set up a range without any owned unit
 * @pool: result
 * @first: first unit of the range, counted through the whole pool
 * @units: size of the range, at least 1
 * @segment_units: units of a segment, a power of two
 *
 * Context: may sleep, does not wait for I/O.
 * Return: 0, -EINVAL if the range is not valid, or -ENOMEM.
 */
int rnbd_pool_init_empty(struct rnbd_pool *pool, u32 first, u32 units, u32 segment_units)
{
	unsigned long *map;

	if (!units || units > RNBD_POOL_UNITS_MAX ||
	    first > RNBD_POOL_UNITS_MAX - units ||
	    !is_power_of_2(segment_units))
		return -EINVAL;

	map = rnbd_zalloc(BITS_TO_LONGS(units) * sizeof(*map));
	if (!map)
		return -ENOMEM;

	rnbd_set_bits(map, 0, units);
	*pool = (struct rnbd_pool) {
		.first = first,
		.units = units,
		.segment_units = segment_units,
		.map = map,
	};
	return 0;
}
EXPORT_SYMBOL_GPL(rnbd_pool_init_empty);

/**
 * rnbd_pool_init - set up a range whose units are all owned and free
 * @pool: result
 * @first: first unit of the range, counted through the whole pool
 * @units: size of the range, at least 1
 * @segment_units: units of a segment, a power of two
 *
 * Context: may sleep, does not wait for I/O.
 * Return: 0, -EINVAL if the range is not valid, or -ENOMEM.
 */
int rnbd_pool_init(struct rnbd_pool *pool, u32 first, u32 units, u32 segment_units)
{
	int ret = rnbd_pool_init_empty(pool, first, units, segment_units);

	if (!ret)
		rnbd_pool_add(pool, first, units);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_pool_init);

/**
 * rnbd_pool_exit - free the bitmap of a range
 * @pool: from rnbd_pool_init(), or zeroed
 *
 * The caller need not free extents that are in use.
 *
 * Context: may sleep.
 */
void rnbd_pool_exit(struct rnbd_pool *pool)
{
	rnbd_free(pool->map);
	*pool = (struct rnbd_pool) { };
}
EXPORT_SYMBOL_GPL(rnbd_pool_exit);

/**
 * rnbd_pool_clear - remove all units from a range
 * @pool: from rnbd_pool_init(), or zeroed
 *
 * Has the effect of rnbd_pool_exit() and rnbd_pool_init_empty() with the same range, but
 * allocates nothing. Extents that were allocated before the call must not be freed after it.
 *
 * Context: any, under the lock of the owner.
 */
void rnbd_pool_clear(struct rnbd_pool *pool)
{
	if (pool->map)
		rnbd_set_bits(pool->map, 0, pool->units);
	*pool = (struct rnbd_pool) {
		.first = pool->first,
		.units = pool->units,
		.segment_units = pool->segment_units,
		.map = pool->map,
	};
}
EXPORT_SYMBOL_GPL(rnbd_pool_clear);

/*
 * Find the next piece of free space at or above *@pos: at most @most units, within one
 * segment. Moves *@pos to the end of the piece, and sets *@start to its first unit, counted from
 * the start of the range. Returns the length of the piece, or 0 if there is none.
 */
static u32 rnbd_next_piece(const struct rnbd_pool *pool, u32 *pos, u32 most,
			   u32 *start)
{
	u32 left;

	*start = rnbd_next_free(pool->map, *pos, pool->end);
	left = pool->segment_units -
	       ((pool->first + *start) & (pool->segment_units - 1));
	left = min(left, pool->end - *start);
	left = min(left, most);
	*pos = rnbd_next_used(pool->map, *start, *start + left);
	return *pos - *start;
}

static u32 rnbd_smallest(const struct rnbd_extent *extents, u32 nr_extents)
{
	u32 i, smallest = 0;

	for (i = 1; i < nr_extents; i++)
		if (extents[i].units < extents[smallest].units)
			smallest = i;
	return smallest;
}

/* Sort extents by address. Insertion sort suffices: they are few, and nearly in order. */
static void rnbd_sort(struct rnbd_extent *extents, u32 nr_extents)
{
	u32 i, j;

	for (i = 1; i < nr_extents; i++) {
		struct rnbd_extent run = extents[i];

		for (j = i; j && extents[j - 1].unit > run.unit; j--)
			extents[j] = extents[j - 1];
		extents[j] = run;
	}
}

/*
 * Search the free pieces from @pos on in one pass. The first piece that holds @units alone is
 * the result. If there is none, the result is a collection of pieces: the first @max_runs ones,
 * of which larger ones further up replace the smallest until the collection holds @units.
 * Returns the number of extents, 0 if even the largest @max_runs pieces do not hold @units.
 */
static u32 rnbd_find(const struct rnbd_pool *pool, u32 pos, u32 units,
		     struct rnbd_extent *extents, u32 max_runs)
{
	bool alone = units <= pool->segment_units;
	u32 start, len, i, nr_extents = 0, held = 0, smallest = 0;

	while (held < units || (alone && pool->end - pos >= units)) {
		len = rnbd_next_piece(pool, &pos, units, &start);
		if (!len)
			break;
		if (len == units) {
			extents[0] = (struct rnbd_extent) { start, units };
			return 1;
		}
		if (held >= units)
			continue;
		if (nr_extents < max_runs) {
			extents[nr_extents++] = (struct rnbd_extent) { start, len };
			held += len;
			if (nr_extents == max_runs)
				smallest = rnbd_smallest(extents, nr_extents);
		} else if (len > extents[smallest].units) {
			held += len - extents[smallest].units;
			extents[smallest] = (struct rnbd_extent) { start, len };
			smallest = rnbd_smallest(extents, nr_extents);
		}
	}
	if (held < units)
		return 0;

	/* Cut off the units beyond @units at the highest addresses. */
	rnbd_sort(extents, nr_extents);
	for (i = 0; units > extents[i].units; i++)
		units -= extents[i].units;
	extents[i].units = units;
	return i + 1;
}

/* Mask of @units bits from @bit on, all in one word. */
static unsigned long rnbd_word_run(u32 bit, u32 units)
{
	return (~0UL >> (BITS_PER_LONG - units)) << bit;
}

/*
 * Fast path for most requests: the first free units suffice and lie in one word and one
 * segment. The result is that of rnbd_find(), with a quarter of the instructions.
 */
static bool rnbd_take_first(struct rnbd_pool *pool, u32 units, struct rnbd_extent *run)
{
	u32 base = pool->hint - pool->hint % BITS_PER_LONG, bit;
	unsigned long free, mask;

	if (pool->hint >= pool->units || units > BITS_PER_LONG)
		return false;
	free = ~pool->map[base / BITS_PER_LONG] & rnbd_bits_from(pool->hint);
	if (!free)
		return false;
	bit = __ffs(free);
	if (units > BITS_PER_LONG - bit || units > pool->units - base - bit)
		return false;
	mask = rnbd_word_run(bit, units);
	*run = (struct rnbd_extent) { pool->first + base + bit, units };
	if ((free & mask) != mask ||
	    (run->unit ^ (run->unit + units - 1)) & ~(pool->segment_units - 1))
		return false;
	pool->map[base / BITS_PER_LONG] |= mask;
	pool->hint = base + bit + units;
	return true;
}

/**
 * rnbd_pool_alloc - allocate pool space
 * @pool: range to allocate from
 * @units: number of units, from 1 to the size of the range
 * @extents: result, an array of @max_runs extents in the order of their addresses, counted
 *	through the whole pool; undefined after an error
 * @max_runs: maximum number of extents, at least 1
 *
 * Context: any, under the lock of the owner.
 * Return: number of @extents filled, -ENOSPC if no @max_runs free extents hold @units now, or
 * -EINVAL if @units or @max_runs is out of range. On error nothing is allocated.
 */
int rnbd_pool_alloc(struct rnbd_pool *pool, u32 units, struct rnbd_extent *extents,
		    u32 max_runs)
{
	u32 i, nr_extents;

	if (!units || units > pool->units || !max_runs)
		return -EINVAL;
	if (units > pool->owned - pool->used)
		return -ENOSPC;

	if (rnbd_take_first(pool, units, extents)) {
		nr_extents = 1;
		goto taken;
	}
	/* a free unit exists, because @units <= owned - used */
	pool->hint = rnbd_next_free(pool->map, min(pool->hint, pool->end), pool->end);

	nr_extents = rnbd_find(pool, pool->hint, units, extents, max_runs);
	if (!nr_extents)
		return -ENOSPC;

	for (i = 0; i < nr_extents; i++) {
		u32 end = extents[i].unit + extents[i].units;

		rnbd_set_bits(pool->map, extents[i].unit, end);
		if (extents[i].unit == pool->hint)
			pool->hint = end;
		extents[i].unit += pool->first;
	}
taken:
	pool->used += units;
	pool->peak = max(pool->peak, pool->used);
	pool->recent = max(pool->recent, pool->used);
	return nr_extents;
}
EXPORT_SYMBOL_GPL(rnbd_pool_alloc);

/**
 * rnbd_pool_free - free pool space
 * @pool: range from which the space was allocated
 * @extents: extents from rnbd_pool_alloc(), or any parts of them
 * @nr_extents: number of @extents
 *
 * An extent that is not wholly in use is a bug of the caller. The function logs a warning and
 * ignores the extent, because lost space does less harm than space that is used twice.
 *
 * Context: any, under the lock of the owner.
 */
void rnbd_pool_free(struct rnbd_pool *pool, const struct rnbd_extent *extents, u32 nr_extents)
{
	u32 i;

	for (i = 0; i < nr_extents; i++) {
		u32 start = extents[i].unit - pool->first;
		u32 units = extents[i].units;

		/* A unit below pool->first wraps to a large number, which the test finds. */
		if (WARN_ON_ONCE(!units || start >= pool->units ||
				 units > pool->units - start))
			continue;
		if (units <= BITS_PER_LONG - start % BITS_PER_LONG) {
			unsigned long *word = &pool->map[start / BITS_PER_LONG];
			unsigned long mask = rnbd_word_run(start % BITS_PER_LONG, units);

			if (WARN_ON_ONCE((*word & mask) != mask))
				continue;
			*word &= ~mask;
		} else {
			if (WARN_ON_ONCE(rnbd_next_free(pool->map, start, start + units) !=
					 start + units))
				continue;
			rnbd_clear_bits(pool->map, start, start + units);
		}
		pool->used -= units;
		pool->hint = min(pool->hint, start);
	}
}
EXPORT_SYMBOL_GPL(rnbd_pool_free);

/* Are units [@unit, @unit + @units) in the range? Sets *@start to @unit - pool->first. */
static bool rnbd_pool_has(const struct rnbd_pool *pool, u32 unit, u32 units, u32 *start)
{
	/* A unit below pool->first wraps to a large number, which the test finds. */
	*start = unit - pool->first;
	return units && *start < pool->units && units <= pool->units - *start;
}

/**
 * rnbd_pool_is_free - test whether units are owned and free
 * @pool: range
 * @unit: first unit, counted through the whole pool
 * @units: number of units, at least 1
 *
 * Context: any, under the lock of the owner.
 * Return: true if all of them are owned and free.
 */
bool rnbd_pool_is_free(const struct rnbd_pool *pool, u32 unit, u32 units)
{
	u32 start;

	return rnbd_pool_has(pool, unit, units, &start) &&
	       rnbd_next_used(pool->map, start, start + units) == start + units;
}
EXPORT_SYMBOL_GPL(rnbd_pool_is_free);

/**
 * rnbd_pool_add - add units to those that the owner may allocate
 * @pool: range that contains the units, none of which is owned
 * @unit: first unit, counted through the whole pool
 * @units: number of units, at least 1
 *
 * Context: any, under the lock of the owner.
 */
void rnbd_pool_add(struct rnbd_pool *pool, u32 unit, u32 units)
{
	u32 start;

	if (WARN_ON_ONCE(!rnbd_pool_has(pool, unit, units, &start) ||
			 rnbd_next_free(pool->map, start, start + units) != start + units))
		return;
	rnbd_clear_bits(pool->map, start, start + units);
	pool->owned += units;
	pool->hint = pool->end ? min(pool->hint, start) : start;
	pool->end = max(pool->end, start + units);
}
EXPORT_SYMBOL_GPL(rnbd_pool_add);

/**
 * rnbd_pool_remove - remove the free units of an extent from those that the owner may allocate
 * @pool: range that contains the units
 * @unit: first unit, counted through the whole pool
 * @units: number of units, at least 1
 *
 * Units that are in use stay owned, and are free again when the owner frees them.
 *
 * Context: any, under the lock of the owner.
 * Return: the number of removed units.
 */
u32 rnbd_pool_remove(struct rnbd_pool *pool, u32 unit, u32 units)
{
	u32 start, end, from, to, removed = 0;

	if (WARN_ON_ONCE(!rnbd_pool_has(pool, unit, units, &start)))
		return 0;
	end = start + units;
	for (from = rnbd_next_free(pool->map, start, end); from < end;
	     from = rnbd_next_free(pool->map, to, end)) {
		to = rnbd_next_used(pool->map, from, end);
		rnbd_set_bits(pool->map, from, to);
		removed += to - from;
	}
	pool->owned -= removed;
	if (removed == units && pool->end == end)
		pool->end = start;
	return removed;
}
EXPORT_SYMBOL_GPL(rnbd_pool_remove);
