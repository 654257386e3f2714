// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the selection of a disk by a word of the command line, and of the rules for names of
 * disks.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "resolve.h"
#include "util.h"

#define UUID_A	"11111111-2222-4333-8444-00000000000a"
#define UUID_B	"11111111-2222-4333-8444-00000000000b"

/* rnbd0 and rnbd12 have the export with UUID_A, rnbd1 has the one with UUID_B. */
static struct disk disk[] = {
	{ .disk = "rnbd0", .name = "db", .export = "disk0" },
	{ .disk = "rnbd1", .name = "log-1.old", .export = "rnbd0" },
	{ .disk = "rnbd12", .export = "disk0" },
};

static const struct disks disks = { disk, 3 };

static int setup(void **state)
{
	(void)state;
	return parse_uuid(UUID_A, disk[0].export_id) | parse_uuid(UUID_B, disk[1].export_id) |
	       parse_uuid(UUID_A, disk[2].export_id);
}

static void check_means(const char *word, int nr)
{
	const struct disk *found = NULL;

	assert_int_equal(resolve_disk(word, &disks, &found), 0);
	assert_ptr_equal(found, &disk[nr]);
}

/* Assert that @word is refused with @error and a message that contains @part. */
static void check_refused(const char *word, int error, const char *part)
{
	const struct disk *found = NULL;

	assert_int_equal(resolve_disk(word, &disks, &found), error);
	if (!strstr(resolve_error(), part))
		fail_msg("%s: \"%s\" lacks \"%s\"", word, resolve_error(), part);
}

static void test_words(void **state)
{
	(void)state;
	check_means("rnbd0", 0);
	check_means("/dev/rnbd1", 1);
	check_means("/dev/rnbd12", 2);
	check_means("0", 0);
	check_means("1", 1);
	check_means("12", 2);
	check_means("db", 0);
	check_means("log-1.old", 1);
	check_means(UUID_B, 1);
	check_means("11111111-2222-4333-8444-00000000000B", 1);
}

static void test_absent(void **state)
{
	static const char * const words[] = {
		"rnbd2", "/dev/rnbd2", "2", "00", "D", "disk0", "lo", "rnbd", "rnbd01",
		"11111111-2222-4333-8444-00000000000c",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		check_refused(words[i], -ENODEV, "rnbd list");
}

static void test_several(void **state)
{
	(void)state;
	check_refused(UUID_A, -ENOTUNIQ, "rnbd0, rnbd12;");
}

static void test_many(void **state)
{
	struct disk many[40] = { };
	const struct disks all = { many, 40 };
	const struct disk *found;
	size_t i;

	(void)state;
	for (i = 0; i < all.nr; i++) {
		snprintf(many[i].disk, sizeof(many[i].disk), "rnbd%027zu", i);
		parse_uuid(UUID_A, many[i].export_id);
	}
	assert_int_equal(resolve_pick(UUID_A, &all, &found), -ENOTUNIQ);
	assert_non_null(strstr(resolve_error(), many[7].disk));
	assert_null(strstr(resolve_error(), many[8].disk));
	assert_non_null(strstr(resolve_error(), "..."));
}

static void test_partition(void **state)
{
	(void)state;
	check_refused("rnbd0p1", -EINVAL, "whole disk: /dev/rnbd0");
	check_refused("/dev/rnbd12p128", -EINVAL, "whole disk: /dev/rnbd12");
}

static void test_nonsense(void **state)
{
	char longest[80];

	(void)state;
	check_refused("", -EINVAL, "not a disk");
	check_refused("a b", -EINVAL, "not a disk");
	check_refused("rnbd0\n", -EINVAL, "not a disk");
	check_refused("..", -EINVAL, "not a disk");
	check_refused("-1", -ENODEV, "-1 is not attached");
	memset(longest, 'x', sizeof(longest));
	longest[63] = '\0';
	check_refused(longest, -ENODEV, longest);
	longest[63] = 'x';
	longest[64] = '\0';
	check_refused(longest, -EINVAL, "not a disk");
}

/*
 * A path selects the disk to which it leads after all symbolic links. The paths in this test
 * lead to no disk.
 */
static void test_paths(void **state)
{
	char dir[] = "/tmp/resolve.XXXXXX", link[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/db", dir);
	check_refused(link, -ENODEV, "No such file");
	assert_int_equal(symlink("/dev/null", link), 0);
	check_refused(link, -EINVAL, "not a block device");
	check_refused(dir, -EINVAL, "not a block device");
	unlink(link);
	rmdir(dir);
	check_refused("/dev/disk/by-id/rnbd-none", -ENODEV, "No such file");
	check_refused("./db", -ENODEV, "No such file");
}

static void test_names(void **state)
{
	static const char * const good[] = {
		"a", "db", "log-1.old", "0x", "rnbd", "rnbd-0", "rnbd0x", "rnbd0p", "rnbdp1",
		"Rnbd0", "x:y_z",
	};
	static const char * const bad[] = {
		"", ".", ".a", "0", "12", "rnbd0", "rnbd12", "rnbd0p1", "a/b", "a b", "a\n",
		UUID_A,
	};
	char whole[8];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++)
		if (!disk_name_valid(good[i]))
			fail_msg("\"%s\" is not accepted as a name", good[i]);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (disk_name_valid(bad[i]))
			fail_msg("\"%s\" is accepted as a name", bad[i]);
	assert_int_equal(parse_partition("rnbd123p1", whole, sizeof(whole)), 0);
	assert_string_equal(whole, "rnbd123");
	assert_int_equal(parse_partition("rnbd1234p1", whole, sizeof(whole)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_partition),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
