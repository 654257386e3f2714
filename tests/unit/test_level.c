// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the level at which the shares of sessions fit a budget (drivers/target/level.c):
 * known results, and random sessions whose result is checked for the properties of a level.
 */
#include "list.h"
#include "unit.h"

#include "../../drivers/target/level.c"

#define MIB		(1024ull * 1024)
#define PARTS		4096
#define ROUNDS		300

static struct rnbdt_part parts[PARTS];
static struct list_head all;
static struct unit_random rnd;

static void add(u32 nr, u64 least, u64 most, u32 weight)
{
	rnbdt_level_init(&parts[nr], least, most, weight);
	list_add_tail(&parts[nr].entry, &all);
}

static u64 share(u32 nr, u64 level)
{
	return rnbdt_level_share(&parts[nr], level);
}

static u64 sum(u32 nr, u64 level)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < nr; i++)
		bytes += share(i, level);
	return bytes;
}

/* Assert that @value differs from @expected by at most one percent. */
static void assert_about(u64 value, u64 expected)
{
	assert_in_range(value, expected - expected / 100, expected + expected / 100);
}

static void test_known(void **state)
{
	u64 level;

	(void)state;
	/* The budget is the sum of the maximums of all sessions: each session gets its maximum. */
	INIT_LIST_HEAD(&all);
	assert_int_equal(rnbdt_level_find(&all, MIB), 0);
	add(0, MIB, 4 * MIB, 100);
	add(1, MIB, 8 * MIB, 1);
	level = rnbdt_level_find(&all, 12 * MIB);
	assert_int_equal(share(0, level), 4 * MIB);
	assert_int_equal(share(1, level), 8 * MIB);
	/* The budget is less than the sum of the minimums: each session still gets its minimum. */
	level = rnbdt_level_find(&all, MIB);
	assert_int_equal(share(0, level), MIB);
	assert_int_equal(share(1, level), MIB);
	/*
	 * Shares are in proportion to the weights, within the minimum and the maximum of each
	 * session.
	 */
	INIT_LIST_HEAD(&all);
	add(0, MIB, 1024 * MIB, 300);
	add(1, MIB, 1024 * MIB, 100);
	add(2, MIB, 10 * MIB, 100);
	add(3, 50 * MIB, 1024 * MIB, 1);
	level = rnbdt_level_find(&all, 460 * MIB);
	assert_about(share(0, level), 300 * MIB);
	assert_about(share(1, level), 100 * MIB);
	assert_int_equal(share(2, level), 10 * MIB);
	assert_int_equal(share(3, level), 50 * MIB);
	/* A session of low weight gets all bytes that the others do not want. */
	INIT_LIST_HEAD(&all);
	add(0, MIB, 4096 * MIB, 1);
	add(1, MIB, MIB, 10000 << 8);
	level = rnbdt_level_find(&all, 3000 * MIB);
	assert_about(share(0, level), 2999 * MIB);
}

static void test_random(void **state)
{
	u64 steps = 0;
	u32 round, i;

	(void)state;
	rnd = unit_random_seeded("level");
	for (round = 0; round < ROUNDS; round++) {
		u32 nr = 1 + unit_random_below(&rnd, round % 10 ? 100 : PARTS);
		u64 least = 0, most = 0, budget, level, bytes;

		INIT_LIST_HEAD(&all);
		for (i = 0; i < nr; i++) {
			u64 floor = (u64)unit_random_below(&rnd, 1 << 14) << 12;

			add(i, floor, (u64)unit_random_below(&rnd, 1 << 20) << 12,
			    1 + unit_random_below(&rnd, 1u << (1 + unit_random_below(&rnd, 21))));
			least += parts[i].least;
			most += parts[i].most;
		}
		budget = ((u64)unit_random_below(&rnd, 1 << 30) << 12) % (most + most / 4 + 1);
		level = rnbdt_level_find(&all, budget);
		bytes = sum(nr, level);
		for (i = 0; i < nr; i++)
			assert_in_range(share(i, level), parts[i].least, parts[i].most);
		if (budget <= least) {
			assert_int_equal(bytes, least);
			continue;
		}
		assert_true(bytes <= budget);
		/*
		 * Unless each session gets its maximum, a slightly higher level exceeds the
		 * budget.
		 */
		if (bytes < most) {
			assert_true(sum(nr, level + level / 512 + 2) > budget);
			steps++;
		}
	}
	assert_true(steps > ROUNDS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
