// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the containers of the tool: lists of strings, growing arrays, and struct link_map,
 * which has a list of names for each key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "link_map.h"
#include "util.h"

#define MANY	20000

static void name_of(char name[16], unsigned int i)
{
	snprintf(name, 16, "disk%u", i);
}

static void test_has(void **state)
{
	struct strlist list = { };
	char name[16];
	unsigned int i;

	(void)state;
	assert_false(strlist_has(&list, "disk0"));
	/* The names are added in the order of strlist_sort(), which compares numbers by value. */
	for (i = 0; i < MANY; i += 2) {
		name_of(name, i);
		strlist_add(&list, name);
	}
	assert_false(list.mixed);
	for (i = 0; i < MANY; i++) {
		name_of(name, i);
		assert_int_equal(strlist_has(&list, name), i % 2 == 0);
	}
	assert_false(strlist_has(&list, "disk"));
	assert_false(strlist_has(&list, "disk00"));
	assert_false(strlist_has(&list, "zebra"));
	/* From here on the list is not in order, until strlist_sort(). */
	strlist_add(&list, "disk1");
	assert_true(list.mixed);
	assert_true(strlist_has(&list, "disk1"));
	assert_true(strlist_has(&list, "disk19998"));
	assert_false(strlist_has(&list, "disk3"));
	strlist_sort(&list);
	assert_false(list.mixed);
	assert_string_equal(list.item[1], "disk1");
	assert_true(strlist_has(&list, "disk1"));
	assert_false(strlist_has(&list, "disk3"));
	strlist_free(&list);
	assert_int_equal(list.nr, 0);
	strlist_add(&list, "b");
	strlist_add(&list, "a");
	strlist_free(&list);
	assert_false(list.mixed);
}

static void check_join(const struct strlist *list, const char *between, const char *wanted)
{
	char *all = strlist_join(list, between);

	assert_string_equal(all, wanted);
	free(all);
}

static void test_join(void **state)
{
	struct strlist list = { };

	(void)state;
	check_join(&list, ", ", "");
	strlist_add(&list, "a");
	check_join(&list, ", ", "a");
	strlist_add(&list, "");
	strlist_add(&list, "bc");
	check_join(&list, ", ", "a, , bc");
	check_join(&list, "", "abc");
	strlist_free(&list);
}

static void test_grow(void **state)
{
	uint32_t *array = NULL;
	size_t nr = 0, round, i;

	(void)state;
	for (round = 0; round < 100; round++) {
		for (i = 0; i < round; i++) {
			array = grow(array, nr, sizeof(*array));
			array[nr] = nr;
			nr++;
		}
		/* Remove up to six members. */
		nr -= round % 7 < nr ? round % 7 : nr;
		if (round == 50)
			nr = 0;
		for (i = 0; i < nr; i++)
			assert_int_equal(array[i], i);
	}
	free(array);
}

static void check_names(struct link_map *map, const char *key, const char *wanted)
{
	struct strlist names = { };

	link_map_get(map, key, &names);
	assert_int_equal(link_map_has(map, key), names.nr > 0);
	check_join(&names, " ", wanted);
	strlist_free(&names);
}

static void test_link_map(void **state)
{
	struct link_map map = { };
	char key[16], name[16];
	unsigned int i;

	(void)state;
	check_names(&map, "h", "");
	link_map_add(&map, "h2", "b");
	link_map_add(&map, "h1", "c");
	link_map_add(&map, "h2", "a");
	check_names(&map, "h2", "b a");
	check_names(&map, "h1", "c");
	check_names(&map, "h", "");
	check_names(&map, "h3", "");
	/* Names can be added after a look-up. */
	link_map_add(&map, "h0", "d");
	link_map_add(&map, "h2", "c");
	check_names(&map, "h0", "d");
	check_names(&map, "h2", "b a c");
	for (i = 0; i < MANY; i++) {
		name_of(key, i % 100);
		name_of(name, i);
		link_map_add(&map, key, name);
	}
	for (i = 0; i < 100; i++) {
		struct strlist names = { };

		name_of(key, i);
		link_map_get(&map, key, &names);
		assert_int_equal(names.nr, MANY / 100);
		assert_string_equal(names.item[0], key);
		strlist_free(&names);
	}
	link_map_free(&map);
	assert_false(link_map_has(&map, "h0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_link_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
