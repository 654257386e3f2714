// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the space of a session's pool (space.c, waiter.c and cache.c of the client): results
 * of single calls. test_space_model.c tests random sequences of calls.
 */
#include "../../drivers/client/space.c"
#include "../../drivers/client/waiter.c"
#include "../../drivers/client/cache.c"

#include "unit.h"

#define QUEUES	5

static struct {
	struct rnbdc_space space;
	spinlock_t locks[QUEUES];	/* locks of the queues */
	struct rnbdc_cache caches[QUEUES];
	struct rnbdc_waiter waiters[QUEUES];
} w;

bool unit_trylock_fails(void)
{
	return false;
}

static u32 kicks;

static void kick(struct rnbdc_space *space)
{
	assert_ptr_equal(space, &w.space);
	kicks++;
}

/* Open a pool and add all its segments. */
static void open_plain(u32 range, u32 segment, u32 max_units, u32 queues)
{
	u32 i;

	memset(&w, 0, sizeof(w));
	rnbdc_space_init(&w.space, kick);
	assert_int_equal(rnbdc_space_open(&w.space, range, segment, max_units, queues), 0);
	for (i = 0; i < queues; i++) {
		rnbdc_cache_init(&w.caches[i], &w.space, &w.locks[i]);
		assert_int_equal(rnbdc_cache_open(&w.caches[i], i), 0);
		w.waiters[i].cache = &w.caches[i];
	}
	for (i = 0; i * segment < range; i++)
		assert_int_equal(rnbdc_space_add_segment(&w.space, i, 0,
							 min(segment, range - i * segment)), 0);
}

/* Close the pool and free its tables, which rnbdc_space_close() keeps. */
static void close_pool(void)
{
	rnbdc_space_close(&w.space);
	rnbdc_space_exit(&w.space);
}

static int take(u32 queue, u32 units, struct rnbd_extent *extents)
{
	int nr;

	spin_lock(&w.locks[queue]);
	nr = rnbdc_space_alloc(&w.caches[queue], &w.waiters[queue], units, extents);
	spin_unlock(&w.locks[queue]);
	return nr;
}

static void give(u32 queue, const struct rnbd_extent *extents, u32 nr)
{
	spin_lock(&w.locks[queue]);
	rnbdc_space_free(&w.caches[queue], extents, nr);
	rnbdc_cache_restart(&w.caches[queue]);
	spin_unlock(&w.locks[queue]);
}

/* Consecutive requests of a queue get adjacent space. */
static void test_side_by_side(void **state)
{
	struct rnbd_extent e[RNBD_EXTENTS_MAX];
	u32 i, at = 0;

	(void)state;
	open_plain(1024, 512, 256, 2);
	for (i = 0; i < 12; i++) {
		assert_int_equal(take(0, 5, e), 1);
		assert_int_equal(e[0].unit, at);
		at += 5;
	}
	/* Another queue begins in a block of its own and continues in it. */
	assert_int_equal(take(1, 8, e), 1);
	assert_int_equal(e[0].unit % 16, 0);
	at = e[0].unit + 8;
	assert_int_equal(take(1, 8, e), 1);
	assert_int_equal(e[0].unit, at);
	close_pool();
}

/*
 * The largest request fits the empty pool for all sizes of the pool and of its segments, even
 * after all queues have used the pool.
 */
static void test_largest(void **state)
{
	static const u32 pools[][3] = {
		/* range, segment, largest request */
		{ 256, 512, 256 }, { 257, 256, 257 }, { 272, 16, 257 }, { 600, 32, 256 },
		{ 600, 32, 512 }, { 1030, 512, 1024 }, { 1000, 1024, 1000 }, { 3, 4, 3 },
		{ 63, 64, 63 }, { 130, 8, 129 }, { 17, 1, 17 }, { 1 << 20, 512, 1024 },
	};
	struct rnbd_extent all[80][RNBD_EXTENTS_MAX], e[RNBD_EXTENTS_MAX];
	int nrs[80];
	u32 i, j, nr, free_units;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(pools); i++) {
		open_plain(pools[i][0], pools[i][1], pools[i][2], QUEUES);
		for (nr = 0; nr < ARRAY_SIZE(all); nr++) {
			nrs[nr] = take(nr % QUEUES, min(1 + nr, pools[i][2]), all[nr]);
			if (nrs[nr] < 0)
				break;
		}
		for (j = 0; j < nr; j++)
			give(j % QUEUES, all[j], nrs[j]);
		for (j = 0; j < QUEUES; j++) {
			nrs[0] = take(j, pools[i][2], e);
			assert_in_range(nrs[0], 1, RNBD_EXTENTS_MAX);
			give(j, e, nrs[0]);
		}
		for (free_units = w.space.free_units, j = 0; j < QUEUES; j++)
			free_units += w.caches[j].pool.owned;
		assert_int_equal(free_units, pools[i][0]);
		close_pool();
	}
}

/* A queue keeps its empty blocks until another queue needs space. */
static void test_keep(void **state)
{
	struct rnbd_extent e[65][RNBD_EXTENTS_MAX];
	u32 i, j, free_units;

	(void)state;
	open_plain(2048, 512, 256, 2);
	for (i = 0; i < 64; i++)
		assert_int_equal(take(0, 16, e[i]), 1);
	free_units = w.space.free_units;
	for (j = 0; j < 100; j++)
		for (i = 0; i < 64; i++) {
			give(0, e[i], 1);
			assert_int_equal(take(0, 16, e[i]), 1);
			assert_int_equal(w.space.free_units, free_units);
		}
	/* One unit of each block stays in use, so no block is empty. */
	for (i = 0; i < 64; i++) {
		struct rnbd_extent part = { e[i][0].unit, 15 };

		give(0, &part, 1);
	}
	for (i = 0; i < 64; i++)
		assert_int_equal(take(1, 16, e[64]), 1);
	assert_int_equal(take(1, 16, e[64]), -ENOSPC);
	for (i = 0; i < 64; i++) {
		struct rnbd_extent part = { e[i][0].unit + 15, 1 };

		give(0, &part, 1);
		assert_int_equal(take(1, 16, e[64]), 1);
	}
	assert_int_equal(take(1, 16, e[64]), -ENOSPC);
	close_pool();
}

static void test_segments(void **state)
{
	u32 slot, generation;

	(void)state;
	open_plain(256, 64, 64, 1);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 0, 1, 64), -EBUSY);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 4, 1, 64), -EINVAL);
	assert_int_equal(rnbdc_space_add_segment(&w.space, U32_MAX, 1, 64), -EINVAL);
	assert_int_equal(rnbdc_space_close_segment(&w.space, 4, 0), -ENOENT);
	assert_int_equal(rnbdc_space_close_segment(&w.space, 1, 1), -ENOENT);
	assert_false(rnbdc_space_next_empty(&w.space, &slot, &generation));
	assert_int_equal(rnbdc_space_close_segment(&w.space, 1, 0), 0);
	assert_true(rnbdc_space_next_empty(&w.space, &slot, &generation));
	assert_int_equal(slot, 1);
	assert_int_equal(generation, 0);
	assert_false(rnbdc_space_next_empty(&w.space, &slot, &generation));
	/* The slot is not free until the target has confirmed the release. */
	assert_int_equal(rnbdc_space_add_segment(&w.space, 1, 1, 64), -EBUSY);
	assert_int_equal(rnbdc_space_remove_segment(&w.space, 2, 0), -ENOENT);
	assert_int_equal(rnbdc_space_remove_segment(&w.space, 1, 0), 0);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 1, 1, 65), -EINVAL);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 1, 1, 0), -EINVAL);
	/* Only one segment of a pool may end with a smaller block. */
	assert_int_equal(rnbdc_space_add_segment(&w.space, 1, 1, 40), 0);
	assert_int_equal(rnbdc_space_close_segment(&w.space, 2, 0), 0);
	assert_true(rnbdc_space_next_empty(&w.space, &slot, &generation));
	assert_int_equal(rnbdc_space_remove_segment(&w.space, 2, 0), 0);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 2, 2, 41), -EINVAL);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 2, 2, 48), 0);
	assert_int_equal(w.space.free_units, 64 + 40 + 48 + 64);
	close_pool();
}

/* A lack of space is recorded once, until the pool grows or the owner resets the record. */
static void test_lack(void **state)
{
	struct rnbd_extent e[RNBD_EXTENTS_MAX];
	u32 before, slot, generation;

	(void)state;
	open_plain(128, 64, 64, 1);
	assert_false(w.space.lacks);
	before = kicks;
	rnbdc_space_lack(&w.space);
	assert_true(w.space.lacks);
	assert_int_equal(kicks, before + 1);
	rnbdc_space_lack(&w.space);
	assert_int_equal(kicks, before + 1);
	assert_true(rnbdc_space_reset_lack(&w.space));
	assert_false(w.space.lacks);
	assert_false(rnbdc_space_reset_lack(&w.space));
	rnbdc_space_lack(&w.space);
	assert_int_equal(kicks, before + 2);

	assert_int_equal(rnbdc_space_close_segment(&w.space, 1, 0), 0);
	assert_true(rnbdc_space_next_empty(&w.space, &slot, &generation));
	assert_int_equal(rnbdc_space_remove_segment(&w.space, 1, 0), 0);
	assert_true(w.space.lacks);
	assert_int_equal(rnbdc_space_add_segment(&w.space, 1, 1, 64), 0);
	assert_false(w.space.lacks);

	/* rnbdc_space_wait() records a lack of space, too. */
	assert_int_equal(take(0, 64, e), 1);
	assert_int_equal(take(0, 64, e), 1);
	assert_int_equal(take(0, 1, e), -ENOSPC);
	assert_false(w.space.lacks);
	rnbdc_space_wait(&w.waiters[0], 1, 0);
	assert_true(w.space.lacks);
	rnbdc_space_forget(&w.waiters[0]);
	rnbdc_space_close(&w.space);
	assert_false(w.space.lacks);
	rnbdc_space_exit(&w.space);
}

/*
 * A waiter gets a turn even if the pool has shrunk to fewer units than the waiter must leave
 * for others.
 */
static void test_shrunk(void **state)
{
	struct rnbd_extent e[65][RNBD_EXTENTS_MAX];
	u32 slot, generation, i, nr = 0;
	int nrs[65];

	(void)state;
	open_plain(4096, 256, 64, 1);
	w.waiters[1].cache = &w.caches[0];
	while ((nrs[nr] = take(0, 64, e[nr])) > 0)
		nr++;
	assert_int_equal(nr, 64);
	rnbdc_space_wait(&w.waiters[1], 1, rnbdc_space_reserve(&w.space));
	/* All segments except the first are reclaimed, and the requests in flight end. */
	for (i = 1; i < 16; i++)
		assert_int_equal(rnbdc_space_close_segment(&w.space, i, 0), 0);
	for (i = 0; i < nr; i++)
		give(0, e[i], nrs[i]);
	rnbdc_space_collect(&w.space);
	for (i = 0; rnbdc_space_next_empty(&w.space, &slot, &generation); i++)
		assert_int_equal(rnbdc_space_remove_segment(&w.space, slot, generation), 0);
	assert_int_equal(i, 15);
	rnbdc_space_collect(&w.space);
	assert_ptr_equal(rnbdc_space_next_turn(&w.space), &w.waiters[1]);
	assert_true(w.waiters[1].promise < 256);
	rnbdc_space_forget(&w.waiters[1]);
	close_pool();
}

/* A segment is spare only if the other segments, without the closed ones, still hold the floor. */
static void test_spare(void **state)
{
	static const u32 units[] = { 256, 64, 128, 64 };
	u32 slot, generation, i;

	(void)state;
	memset(&w, 0, sizeof(w));
	rnbdc_space_init(&w.space, kick);
	assert_int_equal(rnbdc_space_open(&w.space, 1024, 256, 64, 1), 0);
	for (i = 0; i < ARRAY_SIZE(units); i++)
		assert_int_equal(rnbdc_space_add_segment(&w.space, i, 7 + i, units[i]), 0);
	assert_int_equal(rnbdc_space_spare(&w.space, 512, &slot, &generation), 0);
	assert_int_equal(rnbdc_space_spare(&w.space, 1024, &slot, &generation), 0);
	assert_int_equal(rnbdc_space_spare(&w.space, 500, &slot, &generation), 0);
	/* The result is the largest segment without which the pool still holds the floor. */
	assert_int_equal(rnbdc_space_spare(&w.space, 257, &slot, &generation), 128);
	assert_int_equal(slot, 2);
	assert_int_equal(generation, 9);
	for (i = 1; i < ARRAY_SIZE(units); i++) {
		assert_int_equal(rnbdc_space_close_segment(&w.space, i, 7 + i), 0);
		/* A closed segment is not spare and does not count as remaining space. */
		if (rnbdc_space_spare(&w.space, 256, &slot, &generation))
			assert_true(slot > i);
	}
	assert_int_equal(rnbdc_space_spare(&w.space, 256, &slot, &generation), 0);
	while (rnbdc_space_next_empty(&w.space, &slot, &generation)) {
		assert_int_equal(rnbdc_space_spare(&w.space, 256, &slot, &generation), 0);
		i--;
	}
	assert_int_equal(i, 1);
	close_pool();
}

/* A pool that is opened again with the same sizes uses the same tables, now empty. */
static void test_kept(void **state)
{
	struct rnbd_extent e[RNBD_EXTENTS_MAX];
	u32 round, i, slot, generation;
	unsigned long *map[2], *has[2];
	struct rnbdc_segment *segments;
	struct rnbdc_block *block;

	(void)state;
	open_plain(1024, 256, 64, 2);
	segments = w.space.segments;
	block = w.space.block;
	for (i = 0; i < 2; i++) {
		map[i] = w.caches[i].pool.map;
		has[i] = w.caches[i].has;
	}
	for (round = 0; round < 3; round++) {
		/* When the connection ends, requests are in flight and a segment is closed. */
		for (i = 0; take(i % 2, 64, e) > 0; i++)
			;
		assert_int_equal(i, 16);
		assert_int_equal(rnbdc_space_close_segment(&w.space, 1, 0), 0);
		spin_lock(&w.locks[0]);
		rnbdc_cache_park(&w.caches[0]);
		spin_unlock(&w.locks[0]);
		rnbdc_space_lack(&w.space);
		rnbdc_space_close(&w.space);
		assert_int_equal(w.caches[0].pool.used, 0);
		assert_int_equal(w.caches[0].pool.owned, 0);
		assert_int_equal(w.space.units, 0);
		assert_false(rnbdc_space_next_empty(&w.space, &slot, &generation));

		assert_int_equal(rnbdc_space_open(&w.space, 1024, 256, 64, 2), 0);
		assert_ptr_equal(w.space.segments, segments);
		assert_ptr_equal(w.space.block, block);
		for (i = 0; i < 2; i++) {
			assert_int_equal(rnbdc_cache_open(&w.caches[i], i), 0);
			assert_ptr_equal(w.caches[i].pool.map, map[i]);
			assert_ptr_equal(w.caches[i].has, has[i]);
		}
		assert_int_equal(take(0, 1, e), -ENOSPC);
		for (i = 0; i < 4; i++)
			assert_int_equal(rnbdc_space_add_segment(&w.space, i, 0, 256), 0);
		assert_int_equal(w.space.free_units, 1024);
		assert_false(w.space.lacks);
	}
	rnbdc_space_close(&w.space);
	/*
	 * If the number of queues, the number of units or the size of blocks changes, the
	 * tables are new.
	 */
	for (i = 0; i < 3; i++) {
		assert_int_equal(rnbdc_space_open(&w.space, i ? 512 : 1024, 256,
						  i == 2 ? 512 : 64, 1),
				 0);
		assert_int_equal(rnbdc_cache_open(&w.caches[0], 0), 0);
		assert_int_equal(w.caches[0].pool.units, i ? 512 : 1024);
		for (slot = 0; slot < w.space.nr_slots; slot++)
			assert_int_equal(rnbdc_space_add_segment(&w.space, slot, 0, 256), 0);
		assert_true(take(0, w.space.max_units, e) > 0);
		rnbdc_space_close(&w.space);
	}
	rnbdc_space_exit(&w.space);
	assert_null(w.caches[0].pool.map);
	assert_null(w.caches[1].pool.map);
	/* rnbdc_space_exit() has no effect on a pool without tables. */
	rnbdc_space_exit(&w.space);
}

static void test_open(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	rnbdc_space_init(&w.space, kick);
	assert_int_equal(rnbdc_space_open(&w.space, 0, 16, 1, 1), -EINVAL);
	assert_int_equal(rnbdc_space_open(&w.space, 16, 0, 1, 1), -EINVAL);
	assert_int_equal(rnbdc_space_open(&w.space, 16, 12, 1, 1), -EINVAL);
	assert_int_equal(rnbdc_space_open(&w.space, RNBD_POOL_UNITS_MAX + 1, 16, 1, 1), -EINVAL);
	close_pool();
	/*
	 * A block has 64 KiB, or more if the largest request needs it, but not more than a
	 * segment.
	 */
	assert_int_equal(rnbdc_space_open(&w.space, 4096, 512, 256, 1), 0);
	assert_int_equal(w.space.shift, 4);
	close_pool();
	assert_int_equal(rnbdc_space_open(&w.space, 4096, 512, 1024, 1), 0);
	assert_int_equal(w.space.shift, 6);
	close_pool();
	assert_int_equal(rnbdc_space_open(&w.space, 4096, 8, 128, 1), 0);
	assert_int_equal(w.space.shift, 3);
	close_pool();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_lack),
		cmocka_unit_test(test_shrunk),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
