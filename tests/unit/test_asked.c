// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the record of unanswered control requests (drivers/client/asked.c): the limit of the
 * target, and replies that arrive in any order, late or never.
 */
#include "../../drivers/client/asked.c"

#include "unit.h"

#define MOST	RNBD_CTL_OPEN_MAX

static struct rnbdc_ctl ctl;

static struct rnbd_handle handle(u32 n)
{
	return (struct rnbd_handle) { .index = n % 7, .generation = 1 + n };
}

static u32 add(u32 n, u32 disk)
{
	struct rnbd_handle h = handle(n);

	/* A number serves as the pointer to a disk: the tested code does not dereference it. */
	return rnbdc_asked_add(&ctl, &h, (struct rnbdc_disk *)(unsigned long)disk);
}

static bool names(u32 n)
{
	struct rnbd_handle h = handle(n);

	return rnbdc_asked_names(&ctl, &h);
}

static int clear(void **state)
{
	(void)state;
	memset(&ctl, 0, sizeof(ctl));
	return 0;
}

static void test_limit(void **state)
{
	u32 i, ids[MOST];

	(void)state;
	for (i = 0; i < MOST; i++) {
		ids[i] = add(i, i + 1);
		assert_int_not_equal(ids[i], 0);
		assert_int_equal(ctl.nr_asked, i + 1);
	}
	assert_int_equal(add(MOST, 1), 0);
	assert_false(names(MOST));
	/* A reply makes room for one more request. It need not be the reply to the oldest. */
	rnbdc_asked_remove(&ctl, rnbdc_asked_find(&ctl, ids[5]));
	assert_null(rnbdc_asked_find(&ctl, ids[5]));
	assert_false(names(5));
	assert_true(add(MOST, 1) > ids[MOST - 1]);
	assert_int_equal(add(MOST + 1, 1), 0);
	rnbdc_asked_clear(&ctl);
	assert_int_equal(ctl.nr_asked, 0);
	for (i = 0; i < MOST; i++)
		assert_null(rnbdc_asked_find(&ctl, ids[i]));
	assert_int_not_equal(add(0, 1), 0);
}

static void test_answers(void **state)
{
	u32 first = add(1, 11), second = add(2, 22);
	struct rnbdc_asked *asked;
	struct rnbd_handle h = handle(2);

	(void)state;
	asked = rnbdc_asked_find(&ctl, second);
	assert_ptr_equal(asked->disk, (void *)22);
	assert_true(rnbd_handle_equal(&asked->handle, &h));
	asked = rnbdc_asked_find(&ctl, first);
	assert_ptr_equal(asked->disk, (void *)11);
	/* The task no longer waits; the record of the request stays until the reply arrives. */
	asked->disk = NULL;
	assert_ptr_equal(rnbdc_asked_find(&ctl, first), asked);
	assert_true(names(1));
	rnbdc_asked_remove(&ctl, asked);
	assert_null(rnbdc_asked_find(&ctl, first));
	assert_int_equal(ctl.nr_asked, 1);
	/* No request has these ids. Free elements of the array have the id 0. */
	assert_null(rnbdc_asked_find(&ctl, 0));
	assert_null(rnbdc_asked_find(&ctl, second + 1));
	assert_null(rnbdc_asked_find(&ctl, UINT32_MAX));
}

static void test_id_wraps(void **state)
{
	(void)state;
	ctl.id = UINT32_MAX - 1;
	assert_int_equal(add(1, 1), UINT32_MAX);
	assert_int_equal(add(2, 1), 1);
}

/* Random additions and removals, checked against a table of the unanswered requests. */
static void test_random(void **state)
{
	struct unit_random rnd = unit_random_seeded("asked");
	u32 ids[MOST] = { }, nr = 0, i, id, n;

	(void)state;
	for (n = 0; n < 100000; n++) {
		i = unit_random_below(&rnd, MOST);
		if (ids[i]) {
			rnbdc_asked_remove(&ctl, rnbdc_asked_find(&ctl, ids[i]));
			ids[i] = 0;
			nr--;
		} else {
			id = add(n, i + 1);
			assert_int_not_equal(id, 0);
			ids[i] = id;
			nr++;
		}
		assert_int_equal(ctl.nr_asked, nr);
		for (i = 0; i < MOST; i++)
			if (ids[i])
				assert_ptr_equal(rnbdc_asked_find(&ctl, ids[i])->disk,
						 (void *)(i + 1ul));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_limit, clear),
		cmocka_unit_test_setup(test_answers, clear),
		cmocka_unit_test_setup(test_id_wraps, clear),
		cmocka_unit_test_setup(test_random, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
