// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the pool allocator (drivers/core/pool.c): known cases, and random ones that are
 * compared with a model. The model has a byte per unit and examines the units one by one.
 *
 * This file includes the allocator, so that its warnings (WARN_ON_ONCE) can be counted.
 */
#include <stdbool.h>

static unsigned int complaints;

static bool complain(bool bad)
{
	complaints += bad;
	return bad;
}

#define WARN_ON_ONCE(cond)	complain(!!(cond))
#include "../../drivers/core/pool.c"

#include "unit.h"

#define ROUNDS		6000	/* pools */
#define STEPS		400	/* allocations and frees of a pool */
#define UNITS_MAX	700
#define RUNS_MAX	40
#define NS_MAX		10000000000ull

static struct unit_random rnd;
static u64 singles, severals, largest, failures, none_at_all;

static u32 below(u32 n)
{
	return unit_random_below(&rnd, n);
}

/*
 * Model of a pool. A unit that was removed from the pool is marked as taken, and counted in
 * foreign.
 */
struct model {
	u32 first, units, segment;
	u32 used, peak, foreign;
	u8 taken[UNITS_MAX];
};

/* Length of the free extent at @at, up to the end of its segment. */
static u32 model_piece(const struct model *m, u32 at)
{
	u32 len = 0;

	while (at + len < m->units && !m->taken[at + len] &&
	       (len == 0 || (m->first + at + len) % m->segment))
		len++;
	return len;
}

/* Lowest unit at which @units are free in one segment, or m->units if there is none. */
static u32 model_first_fit(const struct model *m, u32 units)
{
	u32 at;

	for (at = 0; at < m->units; at++)
		if (model_piece(m, at) >= units)
			return at;
	return m->units;
}

/* Get all free extents in the order of their addresses. Return their number. */
static u32 model_pieces(const struct model *m, struct rnbd_extent *pieces)
{
	u32 at = 0, len, nr = 0;

	while (at < m->units) {
		len = model_piece(m, at);
		if (len)
			pieces[nr++] = (struct rnbd_extent) { at, len };
		at += len ? len : 1;
	}
	return nr;
}

static int larger_first(const void *a, const void *b)
{
	const struct rnbd_extent *x = a, *y = b;

	return (x->units < y->units) - (x->units > y->units);
}

static u32 sum(const struct rnbd_extent *extents, u32 nr)
{
	u32 i, units = 0;

	for (i = 0; i < nr; i++)
		units += extents[i].units;
	return units;
}

static void check_pool(const struct rnbd_pool *pool, const struct model *m)
{
	u32 i;

	assert_int_equal(pool->used, m->used);
	assert_int_equal(pool->peak, m->peak);
	assert_int_equal(pool->first, m->first);
	assert_int_equal(pool->units, m->units);
	assert_int_equal(pool->owned, m->units - m->foreign);
	assert_true(pool->hint <= m->units);
	assert_true(pool->end <= m->units);
	for (i = 0; i < m->units; i++) {
		bool bit = pool->map[i / BITS_PER_LONG] >> (i % BITS_PER_LONG) & 1;

		assert_int_equal(bit, m->taken[i]);
		if (i < pool->hint || i >= pool->end)
			assert_true(m->taken[i]);
	}
	/* The bits behind the last unit are not set. */
	if (i % BITS_PER_LONG)
		assert_true(!(pool->map[i / BITS_PER_LONG] >> (i % BITS_PER_LONG)));
	if (!m->used && !m->foreign)
		assert_int_equal(pool->hint, 0);
}

/* Allocate @units and compare the result with the model. */
static int take(struct rnbd_pool *pool, struct model *m, u32 units,
		struct rnbd_extent *extents, u32 max_runs)
{
	static struct rnbd_extent pieces[UNITS_MAX];
	u32 i, j, nr_pieces, single, left;
	int ret;

	/* Members behind the first max_runs must not be written. */
	memset(extents, 0xa5, (RUNS_MAX + 1) * sizeof(*extents));
	ret = rnbd_pool_alloc(pool, units, extents, max_runs);
	for (i = max_runs; i <= RUNS_MAX; i++)
		assert_int_equal(extents[i].unit, 0xa5a5a5a5);

	if (!units || units > m->units || !max_runs) {
		assert_int_equal(ret, -EINVAL);
		return ret;
	}

	single = model_first_fit(m, units);
	nr_pieces = model_pieces(m, pieces);
	if (single < m->units) {
		/* If one free extent is long enough, the lowest such extent is used. */
		assert_int_equal(ret, 1);
		assert_int_equal(extents[0].unit, m->first + single);
		assert_int_equal(extents[0].units, units);
		singles++;
	} else if (max_runs > 1 &&
		   sum(pieces, min(nr_pieces, max_runs)) >= units) {
		/*
		 * If the lowest max_runs free extents are long enough in sum, as many of the
		 * lowest ones as necessary are used, all but the last completely.
		 */
		for (i = 0, left = units; left; i++) {
			u32 len = min(left, pieces[i].units);

			assert_true(ret > (int)i);
			assert_int_equal(extents[i].unit, m->first + pieces[i].unit);
			assert_int_equal(extents[i].units, len);
			left -= len;
		}
		assert_int_equal(ret, i);
		severals++;
	} else {
		/*
		 * The call fails only if the largest max_runs free extents are not long enough
		 * in sum.
		 */
		qsort(pieces, nr_pieces, sizeof(pieces[0]), larger_first);
		if (max_runs == 1 ||
		    sum(pieces, min(nr_pieces, max_runs)) < units) {
			assert_int_equal(ret, -ENOSPC);
			failures++;
			if (m->units - m->foreign - m->used < units)
				none_at_all++;
			return ret;
		}
		assert_in_range(ret, 2, max_runs);
		largest++;
	}

	/* Properties of each successful allocation. */
	assert_int_equal(sum(extents, ret), units);
	for (i = 0; i < (u32)ret; i++) {
		u32 at = extents[i].unit - m->first;

		assert_true(extents[i].units > 0);
		assert_true(extents[i].unit >= m->first);
		assert_true(at + extents[i].units <= m->units);
		assert_int_equal(extents[i].unit / m->segment,
				 (extents[i].unit + extents[i].units - 1) / m->segment);
		if (i)
			assert_true(extents[i].unit >=
				    extents[i - 1].unit + extents[i - 1].units);
		for (j = 0; j < extents[i].units; j++) {
			assert_false(m->taken[at + j]);
			m->taken[at + j] = 1;
		}
	}
	m->used += units;
	m->peak = max(m->peak, m->used);
	return ret;
}

static void give(struct rnbd_pool *pool, struct model *m,
		 const struct rnbd_extent *extents, u32 nr_extents)
{
	u32 i;

	rnbd_pool_free(pool, extents, nr_extents);
	for (i = 0; i < nr_extents; i++)
		memset(m->taken + extents[i].unit - m->first, 0, extents[i].units);
	m->used -= sum(extents, nr_extents);
}

/* All allocated extents. */
struct held {
	struct rnbd_extent extents[UNITS_MAX];
	u32 nr;
};

static void hold(struct held *held, const struct rnbd_extent *extents, u32 nr)
{
	memcpy(held->extents + held->nr, extents, nr * sizeof(*extents));
	held->nr += nr;
}

/* Free up to @nr random extents, some of them only in part. */
static void give_some(struct rnbd_pool *pool, struct model *m,
		      struct held *held, u32 nr)
{
	struct rnbd_extent back[RUNS_MAX] = { 0 };
	u32 i, at;

	nr = min(nr, held->nr);
	for (i = 0; i < nr; i++) {
		struct rnbd_extent *run;

		at = below(held->nr);
		run = &held->extents[at];
		back[i] = *run;
		if (run->units > 1 && below(4) == 0) {
			/* Free the front or the rear part of the extent. */
			u32 part = 1 + below(run->units - 1);

			if (below(2)) {
				back[i].units = part;
				run->unit += part;
			} else {
				back[i].unit += part;
				back[i].units -= part;
			}
			run->units -= back[i].units;
		} else {
			*run = held->extents[--held->nr];
		}
	}
	give(pool, m, back, nr);
}

/* Remove the free units of a random range from the pool, or add removed units again. */
static void resize(struct rnbd_pool *pool, struct model *m)
{
	static u8 foreign[UNITS_MAX];	/* removed units, valid if m->foreign is not 0 */
	u32 start, units, i, removed = 0;

	if (!m->foreign)
		memset(foreign, 0, sizeof(foreign));
	start = below(m->units);
	units = 1 + below(min(m->units - start, 70u));
	if (below(2)) {
		for (i = start; i < start + units; i++) {
			if (m->taken[i])
				continue;
			m->taken[i] = 1;
			foreign[i] = 1;
			removed++;
		}
		assert_int_equal(rnbd_pool_is_free(pool, m->first + start, units),
				 removed == units);
		assert_int_equal(rnbd_pool_remove(pool, m->first + start, units), removed);
		m->foreign += removed;
		return;
	}
	for (i = 0; i < units && foreign[start + i]; i++) {
		foreign[start + i] = 0;
		m->taken[start + i] = 0;
		m->foreign--;
	}
	if (i)
		rnbd_pool_add(pool, m->first + start, i);
}

/* Add all removed units to the pool again. */
static void own_all(struct rnbd_pool *pool, struct model *m, const struct held *held)
{
	u8 in_use[UNITS_MAX] = { 0 };
	u32 i;

	for (i = 0; i < held->nr; i++)
		memset(in_use + held->extents[i].unit - m->first, 1, held->extents[i].units);
	for (i = 0; i < m->units; i++) {
		if (in_use[i] || !m->taken[i])
			continue;
		m->taken[i] = 0;
		m->foreign--;
		rnbd_pool_add(pool, m->first + i, 1);
	}
}

static void one_pool(void)
{
	static const u32 sizes[] = { 4, 64, 65, 130, UNITS_MAX };
	static const u32 orders[] = { 3, 8, 12, 21 };
	static const u32 mosts[] = { 2, 8, 40, 0 };	/* 0: the whole pool */
	static const u32 lists[] = { 1, 4, 17, RUNS_MAX };
	struct model m = { 0 };
	struct rnbd_pool pool;
	static struct held held;
	struct rnbd_extent extents[RUNS_MAX + 1];
	u32 step, most, greed = 1 + below(8);
	bool resized = below(3) == 0;
	int nr;

	held.nr = 0;
	m.units = 1 + below(sizes[below(ARRAY_SIZE(sizes))]);
	m.first = below(3) ? below(2000) : 0;
	m.segment = 1u << below(orders[below(ARRAY_SIZE(orders))]);
	/* The largest request varies from pool to pool. */
	most = mosts[below(ARRAY_SIZE(mosts))];
	most = 1 + below(most ? most : m.units);

	assert_int_equal(rnbd_pool_init(&pool, m.first, m.units, m.segment), 0);
	check_pool(&pool, &m);
	for (step = 0; step < STEPS; step++) {
		if (below(10) < greed) {
			u32 units = 1 + below(most);
			u32 max_runs = 1 + below(lists[below(ARRAY_SIZE(lists))]);

			if (below(100) == 0)
				units = below(2) ? 0 : m.units + 1 + below(3);
			if (below(200) == 0)
				max_runs = 0;
			nr = take(&pool, &m, units, extents, max_runs);
			if (nr > 0)
				hold(&held, extents, nr);
		} else {
			give_some(&pool, &m, &held, 1 + below(4));
		}
		check_pool(&pool, &m);
		if (resized && below(10) == 0) {
			resize(&pool, &m);
			check_pool(&pool, &m);
		}
		/*
		 * Change the ratio of allocations to frees, so that the pool fills up and
		 * empties.
		 */
		if (below(50) == 0)
			greed = 1 + below(9);
	}
	if (below(2))
		own_all(&pool, &m, &held);
	while (held.nr)
		give_some(&pool, &m, &held, 17);
	own_all(&pool, &m, &held);
	check_pool(&pool, &m);
	assert_int_equal(pool.used, 0);
	assert_int_equal(pool.hint, 0);
	rnbd_pool_exit(&pool);
}

static void test_against_model(void **state)
{
	u64 rounds = unit_environment("RNBD_TEST_ROUNDS", ROUNDS);
	u64 start = unit_now_ns(), i;

	(void)state;
	rnd = unit_random_seeded("pool");
	for (i = 0; i < rounds && unit_now_ns() - start < NS_MAX; i++)
		one_pool();
	printf("pool: %llu pools, %llu ms; extents: %llu %llu %llu; failed: %llu, of units %llu\n",
	       (unsigned long long)i,
	       (unsigned long long)((unit_now_ns() - start) / 1000000),
	       (unsigned long long)singles, (unsigned long long)severals,
	       (unsigned long long)largest, (unsigned long long)failures,
	       (unsigned long long)none_at_all);
	assert_int_equal(complaints, 0);
	/* Each kind of result occurred. */
	assert_true(singles > 100);
	assert_true(severals > 100);
	assert_true(largest > 100);
	assert_true(none_at_all > 100);
	assert_true(failures > none_at_all + 100);
}

static void test_init(void **state)
{
	struct rnbd_pool pool;

	(void)state;
	assert_int_equal(rnbd_pool_init(&pool, 0, 0, 64), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 0, 64, 0), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 0, 64, 48), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 0, (1u << 20) + 1, 64), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 1, 1u << 20, 64), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 0xffffffff, 2, 64), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 0, 0xffffffff, 64), -EINVAL);
	assert_int_equal(rnbd_pool_init(&pool, 0, 1u << 20, 1u << 31), 0);
	assert_int_equal(pool.units, 1u << 20);
	rnbd_pool_exit(&pool);
	assert_null(pool.map);
	assert_int_equal(pool.units, 0);
	/* A second rnbd_pool_exit() has no effect. */
	rnbd_pool_exit(&pool);
	assert_int_equal(rnbd_pool_init(&pool, (1u << 20) - 1, 1, 1), 0);
	rnbd_pool_exit(&pool);
}

/* Consecutive allocations are adjacent. */
static void test_side_by_side(void **state)
{
	struct rnbd_pool pool;
	struct rnbd_extent run[8], extents[4];
	u32 i, at = 100;

	(void)state;
	assert_int_equal(rnbd_pool_init(&pool, 100, 300, 512), 0);
	for (i = 0; i < 8; i++) {
		assert_int_equal(rnbd_pool_alloc(&pool, 1 + i, &run[i], 1), 1);
		assert_int_equal(run[i].unit, at);
		at += 1 + i;
	}
	/*
	 * An allocation that fits the gap is placed there; a larger one is placed behind the
	 * others.
	 */
	rnbd_pool_free(&pool, &run[3], 1);
	assert_int_equal(rnbd_pool_alloc(&pool, 5, extents, 4), 1);
	assert_int_equal(extents[0].unit, at);
	assert_int_equal(rnbd_pool_alloc(&pool, 4, extents, 4), 1);
	assert_int_equal(extents[0].unit, run[3].unit);
	assert_int_equal(pool.used, 41);
	assert_int_equal(pool.peak, 41);
	/* If the owner resets pool.recent, pool.peak does not change. */
	assert_int_equal(pool.recent, 41);
	rnbd_pool_free(&pool, &run[7], 1);
	pool.recent = pool.used;
	rnbd_pool_free(&pool, &run[6], 1);
	assert_int_equal(rnbd_pool_alloc(&pool, 3, extents, 4), 1);
	assert_int_equal(pool.recent, 33);
	assert_int_equal(rnbd_pool_alloc(&pool, 5, extents, 4), 1);
	assert_int_equal(pool.used, 34);
	assert_int_equal(pool.recent, 34);
	assert_int_equal(pool.peak, 41);
	rnbd_pool_exit(&pool);
}

/* No extent crosses a boundary of segments, wherever the range begins. */
static void test_segments(void **state)
{
	struct rnbd_pool pool;
	struct rnbd_extent extents[17];

	(void)state;
	/* Units 60 to 139: 4 of the first segment, 64 of the second, 12 of the third. */
	assert_int_equal(rnbd_pool_init(&pool, 60, 80, 64), 0);
	assert_int_equal(rnbd_pool_alloc(&pool, 5, extents, 17), 1);
	assert_int_equal(extents[0].unit, 64);
	rnbd_pool_free(&pool, extents, 1);
	assert_int_equal(rnbd_pool_alloc(&pool, 65, extents, 1), -ENOSPC);
	assert_int_equal(rnbd_pool_alloc(&pool, 80, extents, 2), -ENOSPC);
	assert_int_equal(pool.used, 0);
	assert_int_equal(rnbd_pool_alloc(&pool, 80, extents, 3), 3);
	assert_int_equal(extents[0].unit, 60);
	assert_int_equal(extents[0].units, 4);
	assert_int_equal(extents[1].unit, 64);
	assert_int_equal(extents[1].units, 64);
	assert_int_equal(extents[2].unit, 128);
	assert_int_equal(extents[2].units, 12);
	assert_int_equal(rnbd_pool_alloc(&pool, 1, extents + 3, 1), -ENOSPC);
	rnbd_pool_free(&pool, extents, 3);
	/* The two largest extents, 64 and 12 units, are used; the first 4 units stay free. */
	assert_int_equal(rnbd_pool_alloc(&pool, 70, extents, 2), 2);
	assert_int_equal(extents[0].unit, 64);
	assert_int_equal(extents[0].units, 64);
	assert_int_equal(extents[1].unit, 128);
	assert_int_equal(extents[1].units, 6);
	assert_int_equal(rnbd_pool_alloc(&pool, 81, extents, 17), -EINVAL);
	rnbd_pool_exit(&pool);
}

/*
 * In a pool that rnbd_decode_grant() accepts, the largest request fits the empty share of a
 * queue in RNBD_EXTENTS_MAX extents, wherever the share begins.
 */
static void test_grant_promise(void **state)
{
	struct rnbd_extent extents[RNBD_EXTENTS_MAX];
	struct rnbd_pool pool;
	u32 first, segment = 16, units = 16 * 16 + 1;

	(void)state;
	for (first = 0; first < 3 * segment; first++) {
		assert_int_equal(rnbd_pool_init(&pool, first, units, segment), 0);
		assert_true(rnbd_pool_alloc(&pool, units, extents,
					    RNBD_EXTENTS_MAX) > 0);
		rnbd_pool_exit(&pool);
	}
	/* One unit more does not fit if the share begins with the last unit of a segment. */
	assert_int_equal(rnbd_pool_init(&pool, 15, units + 1, segment), 0);
	assert_int_equal(rnbd_pool_alloc(&pool, units + 1, extents,
					 RNBD_EXTENTS_MAX), -ENOSPC);
	rnbd_pool_exit(&pool);
}

/* Freeing units that are not allocated causes a warning and changes nothing. */
static void test_free_twice(void **state)
{
	struct rnbd_extent extents[4], bad;
	struct rnbd_pool pool;
	u32 i, expected = 0;
	const struct rnbd_extent wrong[] = {
		{ 100, 10 },		/* already free */
		{ 105, 10 },		/* first half is free */
		{ 115, 20 },		/* second part is free */
		{ 110, 11 },		/* one unit too many */
		{ 109, 2 },		/* one unit too early */
		{ 110, 0 },		/* no unit */
		{ 99, 1 },		/* below the range */
		{ 0, 1 },
		{ 400, 1 },		/* above the range */
		{ 399, 2 },
		{ 110, 0xffffffff },
		{ 0xffffffff, 0xffffffff },
		{ 110, 0x80000000 },
	};

	(void)state;
	complaints = 0;
	assert_int_equal(rnbd_pool_init(&pool, 100, 300, 512), 0);
	assert_int_equal(rnbd_pool_alloc(&pool, 10, &extents[0], 1), 1);
	assert_int_equal(rnbd_pool_alloc(&pool, 10, &extents[1], 1), 1);
	rnbd_pool_free(&pool, &extents[0], 1);
	assert_int_equal(complaints, 0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		bad = wrong[i];
		rnbd_pool_free(&pool, &bad, 1);
		assert_int_equal(complaints, ++expected);
		assert_int_equal(pool.used, 10);
		assert_int_equal(pool.hint, 0);
	}
	/* The same extent three times: it is freed once, with two warnings. */
	extents[0] = extents[1];
	extents[2] = extents[1];
	rnbd_pool_free(&pool, extents, 3);
	assert_int_equal(complaints, expected + 2);
	assert_int_equal(pool.used, 0);
	assert_int_equal(rnbd_pool_alloc(&pool, 300, extents, 1), 1);
	assert_int_equal(extents[0].unit, 100);
	rnbd_pool_exit(&pool);
	complaints = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_grant_promise),
		cmocka_unit_test(test_free_twice),
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
