// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocator of delegated pool space.
 *
 * Operation: the client alone manages the memory that the target registered
 * for it. Each queue has a share of the pool, kept in a bitmap with a bit per
 * unit of 4 KiB. Space is taken first fit: the lowest run that is long
 * enough, so that requests asked for one after the other lie side by side
 * and one RDMA operation can serve them together. If no single run is long
 * enough, several are taken, in the order of their addresses; if as many as
 * are allowed do not hold the request, the largest ones are. An allocation thus
 * fails only if the largest max_runs free runs are too small.
 *
 * A run does not cross a multiple of segment_units, counted through the whole
 * pool, because behind it the memory has another address and key.
 *
 * The bitmap is scanned by words. No unit below a hint is free, so that a
 * single unit is found in a step or two unless the pool is nearly full.
 *
 * Why not lib/genalloc.c: it knows one contiguous run or failure, so that a
 * fragmented pool with space enough would stop the queue. It is made for
 * callers without a lock and pays for that with an atomic operation, and a
 * pause, for every word of its bitmap at every alloc and every free, while we
 * hold the lock of the queue anyway. It keeps runs within a segment only by a
 * list of chunks, searched from its head. A wrong free ends the machine (BUG).
 * And it does not build in user space, where this file is tested against a
 * model. The figures are in tests/unit/bench_pool.c: ours takes a tenth to a
 * quarter of the time.
 *
 * Ownership: rnbd_pool_init() allocates the bitmap, rnbd_pool_exit() frees it.
 * Runs belong to the caller until given back, in any order and grouping.
 * Concurrency: none inside; the lock of the queue that owns the share covers
 * every call but init and exit. Alloc and free neither sleep nor allocate
 * memory. An alloc looks at each word of the bitmap and at each free run at
 * most once; there are hardly more free runs than there are runs in use.
 * Errors: -ENOSPC with nothing taken; the caller waits for runs to come back.
 * What is given back although it is not in use is reported and left alone.
 */
#include "pool.h"

/* Bits of a word from @bit to its end. */
static unsigned long rnbd_bits_from(u32 bit)
{
	return ~0UL << (bit % BITS_PER_LONG);
}

/* First bit in [@from, @end) that is set (or, with @invert ~0, clear), or @end. */
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
		/* compare distances: base + BITS_PER_LONG might wrap */
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

/* Bits of word @index that lie in [@from, @end), of which there are some. */
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
 * rnbd_pool_init - set up the bookkeeping of a share, all of it free
 * @pool: to be filled
 * @first: first unit of the share, counted through the whole pool
 * @units: size of the share, at least 1
 * @segment_units: units of a segment, a power of two
 *
 * Context: may sleep, does not wait for I/O.
 * Return: 0, -EINVAL for an impossible share, -ENOMEM.
 */
int rnbd_pool_init(struct rnbd_pool *pool, u32 first, u32 units, u32 segment_units)
{
	unsigned long *map;

	if (!units || units > RNBD_POOL_UNITS_MAX ||
	    first > RNBD_POOL_UNITS_MAX - units ||
	    !is_power_of_2(segment_units))
		return -EINVAL;

	map = rnbd_zalloc(BITS_TO_LONGS(units) * sizeof(*map));
	if (!map)
		return -ENOMEM;

	*pool = (struct rnbd_pool) {
		.first = first,
		.units = units,
		.segment_units = segment_units,
		.map = map,
	};
	return 0;
}
EXPORT_SYMBOL_GPL(rnbd_pool_init);

/**
 * rnbd_pool_exit - free the bookkeeping of a share
 * @pool: from rnbd_pool_init(), or zero
 *
 * Runs that are still given out are forgotten: after a disconnect there
 * is no pool to give them back to.
 *
 * Context: may sleep.
 */
void rnbd_pool_exit(struct rnbd_pool *pool)
{
	rnbd_free(pool->map);
	*pool = (struct rnbd_pool) { };
}
EXPORT_SYMBOL_GPL(rnbd_pool_exit);

/*
 * Next piece of free space at or behind *@pos, at most @most units of it and
 * not beyond its segment. Moves *@pos behind the piece. Returns its length,
 * 0 if there is none, and its start in *@start, both counted from the share.
 */
static u32 rnbd_next_piece(const struct rnbd_pool *pool, u32 *pos, u32 most,
			   u32 *start)
{
	u32 left;

	*start = rnbd_next_free(pool->map, *pos, pool->units);
	left = pool->segment_units -
	       ((pool->first + *start) & (pool->segment_units - 1));
	left = min(left, pool->units - *start);
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

/* By address; few, and nearly in order. */
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
 * One walk over the free pieces from @pos on. The first that holds @units
 * alone wins. Until it comes, pieces are collected: the first @max_runs ones,
 * after that each larger piece in place of the smallest, until they hold
 * @units together. Returns the number of runs, 0 if the largest do not hold it.
 */
static u32 rnbd_find(const struct rnbd_pool *pool, u32 pos, u32 units,
		     struct rnbd_extent *extents, u32 max_runs)
{
	bool alone = units <= pool->segment_units;
	u32 start, len, i, nr_extents = 0, held = 0, smallest = 0;

	while (held < units || (alone && pool->units - pos >= units)) {
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

	/* what is too much is left off at the end */
	rnbd_sort(extents, nr_extents);
	for (i = 0; units > extents[i].units; i++)
		units -= extents[i].units;
	extents[i].units = units;
	return i + 1;
}

/* @units bits from @bit on; both lie in one word. */
static unsigned long rnbd_word_run(u32 bit, u32 units)
{
	return (~0UL >> (BITS_PER_LONG - units)) << bit;
}

/*
 * What most requests find: the first free units are enough, and lie in one word
 * and one segment. Finds what rnbd_find() would, in a quarter of the instructions.
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
 * rnbd_pool_alloc - take pool space
 * @pool: share to take it from
 * @units: how much, from 1 to the size of the share
 * @extents: result, room for @max_runs; counted through the whole pool, in the
 *	order of addresses; scribbled on in case of an error, too
 * @max_runs: most runs that are of use, at least 1
 *
 * Context: any, under the lock of the queue.
 * Return: number of @extents filled, -ENOSPC if there is no such space now, or
 * -EINVAL if @units or @max_runs is out of range. An error has taken nothing.
 */
int rnbd_pool_alloc(struct rnbd_pool *pool, u32 units, struct rnbd_extent *extents,
		    u32 max_runs)
{
	u32 i, nr_extents;

	if (!units || units > pool->units || !max_runs)
		return -EINVAL;
	if (units > pool->units - pool->used)
		return -ENOSPC;

	if (rnbd_take_first(pool, units, extents)) {
		nr_extents = 1;
		goto taken;
	}
	/* there is one: that was the question before */
	pool->hint = rnbd_next_free(pool->map, pool->hint, pool->units);

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
	return nr_extents;
}
EXPORT_SYMBOL_GPL(rnbd_pool_alloc);

/**
 * rnbd_pool_free - give pool space back
 * @pool: share it was taken from
 * @extents: from rnbd_pool_alloc(), or any part of such runs
 * @nr_extents: number of @extents
 *
 * A run that is not wholly in use is a bug of the caller. It is reported and
 * left alone: space that is lost harms less than space used twice.
 *
 * Context: any, under the lock of the queue.
 */
void rnbd_pool_free(struct rnbd_pool *pool, const struct rnbd_extent *extents, u32 nr_extents)
{
	u32 i;

	for (i = 0; i < nr_extents; i++) {
		u32 start = extents[i].unit - pool->first;
		u32 units = extents[i].units;

		/* a unit below @first wraps to a large number */
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
