// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the workers that exports share (drivers/target/workers.c): the floor of an export is
 * always available to this export, exports take turns at the spare workers, and the items of an
 * export begin in the order in which they were added, and none is lost.
 */
#include <stdlib.h>

#include "list.h"
#include "unit.h"

#include "../../drivers/target/workers.c"

#define USERS	16
#define FLOOR	4
#define SPARE	24
#define ITEMS	4096

struct item {
	struct rnbdt_worker_item item;
	u32 user;
	u32 order;			/* number of earlier items of its export */
	bool waits;
};

static struct rnbdt_workers workers;
static struct rnbdt_worker_user users[USERS];
static struct item items[ITEMS];
static u32 nr_items;
static u32 begun[USERS], taken[USERS];
static u32 waiting[USERS];
static struct unit_random rnd;

static int set_up(void **state)
{
	u32 i;

	(void)state;
	rnbdt_workers_init(&workers, FLOOR, SPARE);
	for (i = 0; i < USERS; i++)
		rnbdt_workers_join(&users[i], &workers);
	nr_items = 0;
	memset(begun, 0, sizeof(begun));
	memset(taken, 0, sizeof(taken));
	memset(waiting, 0, sizeof(waiting));
	return 0;
}

/*
 * Check that the number of workers is constant, and that items of an export wait only if all
 * workers of its floor and all spare workers are in use.
 */
static void check(void)
{
	u32 i, beyond = 0;

	for (i = 0; i < USERS; i++) {
		if (users[i].running > FLOOR)
			beyond += users[i].running - FLOOR;
		assert_int_equal(list_empty(&users[i].waiting), !waiting[i]);
		assert_int_equal(list_empty(&users[i].entry), !waiting[i]);
		if (waiting[i]) {
			assert_true(users[i].running >= FLOOR);
			assert_int_equal(workers.spare, 0);
		}
		assert_int_equal(users[i].running, begun[i]);
	}
	assert_int_equal(beyond + workers.spare, SPARE);
}

static void begin(struct item *item)
{
	/* Items of an export begin in the order in which they were added. */
	assert_int_equal(item->order, taken[item->user]);
	taken[item->user]++;
	begun[item->user]++;
}

static bool add(u32 user)
{
	struct item *item = &items[nr_items++];

	assert_true(nr_items <= ITEMS);
	*item = (struct item) {
		.user = user,
		.order = taken[user] + waiting[user],
	};
	if (rnbdt_workers_take(&users[user], &item->item)) {
		begin(item);
		check();
		return true;
	}
	item->waits = true;
	waiting[user]++;
	check();
	return false;
}

/*
 * End a running item of export @user. Return the export whose waiting item gets the worker and
 * begins, or USERS if no item begins.
 */
static u32 end(u32 user)
{
	struct rnbdt_worker_item *next;
	struct item *item;

	assert_true(begun[user] > 0);
	begun[user]--;
	next = rnbdt_workers_give(&users[user]);
	if (!next) {
		check();
		return USERS;
	}
	item = list_entry(next, struct item, item);
	assert_true(item->waits);
	item->waits = false;
	waiting[item->user]--;
	begin(item);
	check();
	return item->user;
}

static void test_hung_export(void **state)
{
	u32 i;

	(void)state;
	/* An export whose storage hangs takes its floor and all spare workers. */
	for (i = 0; i < 1000; i++)
		assert_int_equal(add(0), i < FLOOR + SPARE);
	/* Each other export still gets all workers of its floor. */
	for (i = 0; i < FLOOR * (USERS - 1); i++)
		assert_true(add(1 + i % (USERS - 1)));
	assert_false(add(1));
	/*
	 * The worker that becomes free belongs to the floor of export 1, so the waiting item of
	 * export 1 gets it.
	 */
	assert_int_equal(end(1), 1);
	assert_int_equal(end(1), USERS);
}

static void test_turns(void **state)
{
	u32 i, j, got[3] = { };

	(void)state;
	for (i = 0; i < FLOOR + SPARE; i++)
		assert_true(add(0));
	for (j = 0; j < 3; j++)
		for (i = 0; i < FLOOR + 100; i++)
			assert_int_equal(add(1 + j), i < FLOOR);
	/*
	 * Export 0 ends its items that use spare workers. Exports 1 to 3 have waiting items and
	 * take turns at these workers.
	 */
	for (i = 0; i < 3 * 8; i++) {
		j = end(0);
		assert_in_range(j, 1, 3);
		got[j - 1]++;
	}
	for (j = 0; j < 3; j++)
		assert_int_equal(got[j], 8);
	/*
	 * The last workers of export 0 are its floor, which no other export may use, so no item
	 * begins.
	 */
	for (i = 0; i < FLOOR; i++)
		assert_int_equal(end(0), USERS);
}

static void test_random(void **state)
{
	u32 i, user, round;
	bool some;

	(void)state;
	for (round = 0; round < 50; round++) {
		nr_items = 0;
		for (i = 0; i < ITEMS || nr_items < ITEMS / 2; i++) {
			/* Most items are of the exports 0 to 3. */
			user = unit_random_below(&rnd, USERS);
			if (unit_random_below(&rnd, 3))
				user /= 4;
			if (nr_items < ITEMS && unit_random_below(&rnd, 5) < 3)
				add(user);
			else if (begun[user])
				end(user);
		}
		/* End the running items, and the items that begin then, until no item is left. */
		do {
			some = false;
			for (user = 0; user < USERS; user++)
				for (; begun[user]; some = true)
					end(user);
		} while (some);
		for (user = 0; user < USERS; user++)
			assert_int_equal(waiting[user], 0);
		assert_int_equal(workers.spare, SPARE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_hung_export, set_up),
		cmocka_unit_test_setup(test_turns, set_up),
		cmocka_unit_test_setup(test_random, set_up),
	};

	rnd = unit_random_seeded("workers");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
