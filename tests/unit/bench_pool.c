// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the pool allocators: nanoseconds of an allocation and its free.
 *
 * The program is not a test: it prints figures and checks nothing. It measures two allocators,
 * without locks and without sanitizers: a fixed share of the pool (drivers/core/pool.c alone),
 * and blocks that a queue takes from its session (drivers/client/cache.c). Each figure is the
 * best of REPEAT repetitions, because other load on the machine only makes repetitions slower.
 *
 * These figures are the reason for not using lib/genalloc.c. Its functions for allocation, free
 * and first fit were taken from Linux 6.12, built in user space, and measured in the same way,
 * with a chunk per segment. Nanoseconds on one core of an AMD EPYC virtual machine, gcc 12 -O2:
 *
 *                                     genalloc    pool.c
 *	1 unit, 64 in flight                67        14
 *	1 unit, only the last is free       72        13
 *	32 units, none in flight            79        13
 *	32 units, 64 in flight              76        19
 *	256 units, 24 in flight            254        23
 *	32 units in pieces of 4           fails     7200
 */
#include <stdio.h>
#include <time.h>

#include "../../drivers/client/space.c"
#include "../../drivers/client/waiter.c"
#include "../../drivers/client/cache.c"

#define UNITS		8192		/* 32 MiB */
#define SEGMENT		512
#define QUEUES		8
#define LARGEST		256
#define REPEAT		200		/* many and short: other load spoils only some */

static struct rnbd_pool pool;
static struct rnbdc_space space;
static struct rnbdc_cache caches[QUEUES];
static struct rnbdc_waiter waiter;
static spinlock_t locks[QUEUES];	/* locks of the queues */
static struct rnbd_extent held[UNITS][RNBD_EXTENTS_MAX];
static int held_runs[UNITS];

bool unit_trylock_fails(void)
{
	return false;
}

static void kick(struct rnbdc_space *unused)
{
	(void)unused;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void fresh(void)
{
	u32 i;

	rnbd_pool_exit(&pool);
	rnbdc_space_close(&space);
	rnbdc_space_exit(&space);
	rnbdc_space_init(&space, kick);
	if (rnbd_pool_init(&pool, 0, UNITS, SEGMENT) ||
	    rnbdc_space_open(&space, UNITS, SEGMENT, LARGEST, QUEUES))
		abort();
	for (i = 0; i < QUEUES; i++) {
		rnbdc_cache_init(&caches[i], &space, &locks[i]);
		if (rnbdc_cache_open(&caches[i], i))
			abort();
	}
	waiter.cache = &caches[0];
	for (i = 0; i < UNITS / SEGMENT; i++)
		if (rnbdc_space_add_segment(&space, i, 0, SEGMENT))
			abort();
}

/* Allocate from the blocks of a queue if @blocks, otherwise from the fixed share. */
static inline int take(bool blocks, u32 units, struct rnbd_extent *extents)
{
	if (blocks)
		return rnbdc_space_alloc(&caches[0], &waiter, units, extents);
	return rnbd_pool_alloc(&pool, units, extents, RNBD_EXTENTS_MAX);
}

static inline void give(bool blocks, const struct rnbd_extent *extents, u32 nr)
{
	if (blocks) {
		rnbdc_space_free(&caches[0], extents, nr);
		rnbdc_cache_restart(&caches[0]);
	} else {
		rnbd_pool_free(&pool, extents, nr);
	}
}

static void take_all(void)
{
	struct rnbd_extent run;
	u32 at;

	fresh();
	for (at = 0; at < UNITS; at++)
		if (take(false, 1, &run) != 1 || take(true, 1, &run) != 1)
			abort();
}

static void give_both(u32 unit, u32 units)
{
	struct rnbd_extent run = { .unit = unit, .units = units };

	give(false, &run, 1);
	give(true, &run, 1);
}

/* Repeat a pattern over the pool: @taken units in use, then @left free units. */
static void fragment(u32 taken, u32 left)
{
	u32 at;

	take_all();
	for (at = taken; at < UNITS; at += taken + left)
		give_both(at, min(left, UNITS - at));
}

/* Allocate all units, and free pseudo-random ones until @nr units are in use. */
static void scatter(u32 nr)
{
	static bool is_free[UNITS];
	u32 number = 1, unit;

	take_all();
	memset(is_free, 0, sizeof(is_free));
	while (pool.used > nr) {
		number = number * 1664525 + 1013904223;
		unit = number / (U32_MAX / UNITS + 1);
		if (is_free[unit])
			continue;
		is_free[unit] = true;
		give_both(unit, 1);
	}
}

/*
 * Measure an allocation and a free, in nanoseconds. Like a queue under steady load, keep
 * @depth allocations in flight and free the oldest before each new one. If @depth is 0, free
 * each allocation at once.
 */
static inline double measure(bool blocks, u32 units, u32 depth, u32 rounds)
{
	u64 start, best = ~0ull;
	u32 i, repeat;

	for (i = 0; i < depth; i++)
		held_runs[i] = take(blocks, units, held[i]);
	for (repeat = 0; repeat < REPEAT; repeat++) {
		u32 oldest = 0;

		start = now_ns();
		for (i = 0; i < rounds; i++) {
			if (depth && held_runs[oldest] > 0)
				give(blocks, held[oldest], held_runs[oldest]);
			held_runs[oldest] = take(blocks, units, held[oldest]);
			if (!depth && held_runs[0] > 0)
				give(blocks, held[0], held_runs[0]);
			if (++oldest >= depth)
				oldest = 0;
		}
		best = min(best, now_ns() - start);
	}
	for (i = 0; i < depth; i++)
		if (held_runs[i] > 0)
			give(blocks, held[i], held_runs[i]);
	return (double)best / rounds;
}

static void show(const char *what, u32 units, u32 depth, u32 rounds)
{
	double share, blocks;
	int runs;

	share = measure(false, units, depth, rounds);
	runs = held_runs[0];
	blocks = measure(true, units, depth, rounds);
	printf("%-50s %9.1f %9.1f ns (extents: %d %d)\n", what, share, blocks, runs,
	       held_runs[0]);
}

int main(int argc, char **argv)
{
	/* Usage for perf stat: bench/pool share|blocks UNITS DEPTH ROUNDS runs one case only. */
	if (argc == 5) {
		fresh();
		if (argv[1][0] == 's')
			measure(false, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
		else
			measure(true, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	printf("alloc + free: a share of %u units in segments of %u, and blocks of such a pool\n",
	       UNITS, SEGMENT);
	fresh();
	measure(false, 1, 0, 50000);	/* warm-up: lets the CPU reach its full clock rate */
	show("1 unit, nothing in flight", 1, 0, 50000);
	show("1 unit, 64 in flight", 1, 64, 50000);
	show("32 units, nothing in flight", 32, 0, 50000);
	fresh();
	show("32 units, 64 in flight", 32, 64, 50000);
	fresh();
	show("256 units, nothing in flight", 256, 0, 20000);
	fresh();
	show("256 units, 24 in flight", 256, 24, 20000);
	fragment(1, 1);
	show("1 unit, every other unit in use", 1, 0, 50000);
	fragment(UNITS - 1, 1);
	show("1 unit, only the last one is free", 1, 0, 50000);
	scatter(128);
	show("32 units, 128 units in use at random", 32, 0, 20000);
	show("256 units, 128 units in use at random", 256, 0, 2000);
	fragment(4, 4);
	show("32 units, in 8 pieces after a search of the share", 32, 0, 200);
	fragment(1, 1);
	show("32 units, no 17 pieces suffice: -ENOSPC", 32, 0, 200);
	rnbd_pool_exit(&pool);
	rnbdc_space_close(&space);
	rnbdc_space_exit(&space);
	return 0;
}
