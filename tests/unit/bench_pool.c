// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an allocation and its free cost, without lock and without sanitizers.
 * Not a test: it prints nanoseconds and passes no judgement. The best of
 * several repetitions is shown, since everything else that runs on the
 * machine only makes it slower.
 *
 * Why there is an allocator of our own: the alloc, free and first fit of
 * lib/genalloc.c (Linux 6.12), taken out of the kernel and measured in this
 * way with a chunk per segment, against ours; nanoseconds on one core of an
 * AMD EPYC virtual machine, gcc 12 -O2:
 *
 *                                     genalloc    pool.c
 *	1 unit, 64 in flight                67        14
 *	1 unit, only the last is free       72        13
 *	32 units, empty share               79        13
 *	32 units, 64 in flight              76        19
 *	256 units, 24 in flight            254        23
 *	32 units in pieces of 4           fails     7200
 */
#include <stdio.h>
#include <time.h>

#include "pool.h"

#define UNITS		8192		/* 32 MiB */
#define SEGMENT		512
#define REPEAT		9

static struct rnbd_pool pool;
static struct rnbd_extent held[UNITS][RNBD_EXTENTS_MAX];
static int held_runs[UNITS];

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void fresh(void)
{
	rnbd_pool_exit(&pool);
	if (rnbd_pool_init(&pool, 0, UNITS, SEGMENT))
		abort();
}

/* Every group of @taken + @left units: the first are in use, the others not. */
static void fragment(u32 taken, u32 left)
{
	struct rnbd_extent run;
	u32 at;

	fresh();
	for (at = 0; at < UNITS; at++)
		if (rnbd_pool_alloc(&pool, 1, &run, 1) != 1)
			abort();
	for (at = taken; at < UNITS; at += taken + left) {
		run.unit = at;
		run.units = min(left, UNITS - at);
		rnbd_pool_free(&pool, &run, 1);
	}
}

/* @nr single units are in use, anywhere. */
static void scatter(u32 nr)
{
	static bool is_free[UNITS];
	u32 number = 1;

	fragment(UNITS, 1);
	memset(is_free, 0, sizeof(is_free));
	while (pool.used > nr) {
		struct rnbd_extent run = { .units = 1 };

		number = number * 1664525 + 1013904223;
		run.unit = number / (U32_MAX / UNITS + 1);
		if (is_free[run.unit])
			continue;
		is_free[run.unit] = true;
		rnbd_pool_free(&pool, &run, 1);
	}
}

/*
 * @depth allocations are always out, the oldest goes back: how a queue uses
 * its share. A depth of 0 gives back what was just taken.
 */
static double measure(u32 units, u32 depth, u32 max_runs, u32 rounds)
{
	u64 start, best = ~0ull;
	u32 i, repeat;

	for (i = 0; i < depth; i++)
		held_runs[i] = rnbd_pool_alloc(&pool, units, held[i], max_runs);
	for (repeat = 0; repeat < REPEAT; repeat++) {
		u32 oldest = 0;

		start = now_ns();
		for (i = 0; i < rounds; i++) {
			if (depth && held_runs[oldest] > 0)
				rnbd_pool_free(&pool, held[oldest],
					       held_runs[oldest]);
			held_runs[oldest] = rnbd_pool_alloc(&pool, units,
							    held[oldest],
							    max_runs);
			if (!depth && held_runs[0] > 0)
				rnbd_pool_free(&pool, held[0], held_runs[0]);
			if (++oldest >= depth)
				oldest = 0;
		}
		best = min(best, now_ns() - start);
	}
	return (double)best / rounds;
}

static void show(const char *what, double ns)
{
	printf("%-52s %9.1f ns (runs: %d)\n", what, ns, held_runs[0]);
}

int main(void)
{
	printf("alloc + free, share of %u units in segments of %u\n",
	       UNITS, SEGMENT);
	fresh();
	measure(1, 0, 17, 1000000);	/* wakes the processor up */
	show("1 unit, empty share", measure(1, 0, 17, 1000000));
	show("1 unit, 64 in flight", measure(1, 64, 17, 1000000));
	show("32 units, empty share", measure(32, 0, 17, 1000000));
	fresh();
	show("32 units, 64 in flight", measure(32, 64, 17, 1000000));
	fresh();
	show("256 units, 24 in flight", measure(256, 24, 17, 300000));
	fragment(1, 1);
	show("1 unit, every other unit in use", measure(1, 0, 17, 1000000));
	fragment(UNITS - 1, 1);
	show("1 unit, only the last one is free", measure(1, 0, 17, 1000000));
	scatter(128);
	show("32 units, 128 units in use at random",
	     measure(32, 0, 17, 300000));
	show("256 units, 128 units in use at random",
	     measure(256, 0, 17, 30000));
	fragment(4, 4);
	show("32 units, in 8 pieces after a search of the share",
	     measure(32, 0, 17, 3000));
	fragment(1, 1);
	show("32 units, no 17 pieces suffice: -ENOSPC",
	     measure(32, 0, 17, 3000));
	rnbd_pool_exit(&pool);
	return 0;
}
