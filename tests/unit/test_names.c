// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the texts of statuses and protocol errors: each known number has a text of its own,
 * and all other numbers share one. Also tests of the rules for names of exports and disks.
 */
#include "names.h"
#include "unit.h"

static bool lower_case_sentence(const char *text)
{
	size_t len = strlen(text);

	/* A text may begin with an abbreviation, that is, with two capitals. */
	return len > 2 && text[len - 1] != '.' &&
	       (text[0] < 'A' || text[0] > 'Z' ||
		(text[1] >= 'A' && text[1] <= 'Z'));
}

static bool status_exists(u32 status)
{
	return status <= RNBD_ST_CLOSED ||
	       (status >= RNBD_ST_MALFORMED && status <= RNBD_ST_OWNED);
}

static void test_status(void **state)
{
	const char *unknown = rnbd_status_text(0xffff);
	u32 i, j;

	(void)state;
	assert_non_null(strstr(unknown, "unknown"));
	for (i = 0; i <= 0xffff; i++) {
		const char *text = rnbd_status_text(i);

		assert_non_null(text);
		if (!status_exists(i)) {
			assert_string_equal(text, unknown);
			continue;
		}
		assert_true(lower_case_sentence(text));
		/* The text must fit a formatted netlink message: NETLINK_MAX_FMTMSG_LEN is 80. */
		assert_true(strlen(text) < 80);
		assert_string_not_equal(text, unknown);
		for (j = 0; j < i; j++)
			if (status_exists(j))
				assert_string_not_equal(text, rnbd_status_text(j));
	}
	assert_string_equal(rnbd_status_text(RNBD_ST_HOST_DENIED),
			    "this host is not allowed on the target (there: rnbd export allow)");
}

static void test_fault(void **state)
{
	const u32 nr = RNBD_PERR_ACCESS + 1;
	const char *unknown = rnbd_proto_err_text(nr);
	u32 i, j;

	(void)state;
	assert_non_null(strstr(unknown, "unknown"));
	assert_string_equal(rnbd_proto_err_text(9999), unknown);
	for (i = 0; i < nr; i++) {
		const char *text = rnbd_proto_err_text(i);

		assert_non_null(text);
		assert_true(lower_case_sentence(text));
		assert_string_not_equal(text, unknown);
		for (j = 0; j < i; j++)
			assert_string_not_equal(text, rnbd_proto_err_text(j));
	}
}

/*
 * The words are names of counters: each number that is counted has a word, and no two words are
 * equal.
 */
static void test_words(void **state)
{
	u32 i, j;

	(void)state;
	assert_null(rnbd_proto_err_word(RNBD_PERR_NONE));
	assert_null(rnbd_proto_err_word(RNBD_PERR_KINDS));
	for (i = 1; i < RNBD_PERR_KINDS; i++) {
		assert_non_null(rnbd_proto_err_word(i));
		for (j = 1; j < i; j++)
			assert_string_not_equal(rnbd_proto_err_word(i), rnbd_proto_err_word(j));
	}
	for (i = 0; i <= 0xffff; i++) {
		const char *word = rnbd_status_word(i);

		if (i != RNBD_ST_NOMEM && (i < RNBD_ST_MALFORMED || i > RNBD_ST_OWNED)) {
			assert_null(word);
			continue;
		}
		assert_non_null(word);
		for (j = 0; j < i; j++)
			if (rnbd_status_word(j))
				assert_string_not_equal(word, rnbd_status_word(j));
	}
}

/* Check a name as configfs does: with its NUL, in a buffer of exactly that size. */
static bool string_ok(const char *name)
{
	size_t size = strlen(name) + 1;
	char *copy = malloc(size);
	bool ok;

	assert_non_null(copy);
	memcpy(copy, name, size);
	ok = rnbd_export_name_ok(copy, size);
	free(copy);
	return ok;
}

static void test_export_name(void **state)
{
	char field[RNBD_EXPORT_NAME_SIZE];
	char text[80];
	u32 c, i;

	(void)state;
	assert_true(string_ok("a"));
	assert_true(string_ok("disk0"));
	assert_true(string_ok("iqn.2024-01:data_1"));
	assert_true(string_ok("-_:."));
	assert_false(string_ok(""));
	assert_false(string_ok("."));
	assert_false(string_ok(".."));
	assert_false(string_ok(".hidden"));
	assert_false(string_ok("a/b"));
	assert_false(string_ok("../../etc"));
	assert_false(string_ok("a b"));
	assert_false(string_ok("a\n"));
	assert_false(string_ok("d\xc3\xa4t"));

	/* A name has at most 63 characters. */
	memset(text, 'x', sizeof(text));
	text[63] = 0;
	assert_true(string_ok(text));
	text[63] = 'x';
	text[64] = 0;
	assert_false(string_ok(text));
	text[79] = 0;
	text[64] = 'x';
	assert_false(string_ok(text));

	/* A name without a NUL, and a field of no bytes, are refused. */
	assert_false(rnbd_export_name_ok("abc", 3));
	assert_false(rnbd_export_name_ok("abc", 0));
	memset(field, 'x', sizeof(field));
	assert_false(rnbd_export_name_ok(field, sizeof(field)));

	/* Each byte as the second character. */
	for (c = 0; c < 256; c++) {
		const char *good = NAME_CHARS;

		memset(field, 0, sizeof(field));
		field[0] = 'a';
		field[1] = (char)c;
		assert_int_equal(rnbd_export_name_ok(field, sizeof(field)),
				 c == 0 || strchr(good, (int)c));
	}

	/* A name is refused if a byte behind its NUL is not zero. */
	for (i = 1; i < sizeof(field); i++) {
		memset(field, 0, sizeof(field));
		field[0] = 'a';
		field[i] = 'b';
		assert_int_equal(rnbd_export_name_ok(field, sizeof(field)),
				 i == 1);
	}
}

static void test_disk_alias(void **state)
{
	char text[80];

	(void)state;
	assert_true(rnbd_disk_alias_ok("data"));
	assert_true(rnbd_disk_alias_ok("0a"));
	assert_true(rnbd_disk_alias_ok("-"));
	assert_true(rnbd_disk_alias_ok("a.b_c:d-e"));
	assert_false(rnbd_disk_alias_ok(""));
	assert_false(rnbd_disk_alias_ok(".hidden"));
	assert_false(rnbd_disk_alias_ok("a/b"));
	assert_false(rnbd_disk_alias_ok("a b"));

	/* An alias has at most 63 characters. */
	memset(text, 'x', sizeof(text));
	text[63] = 0;
	assert_true(rnbd_disk_alias_ok(text));
	text[63] = 'x';
	text[64] = 0;
	assert_false(rnbd_disk_alias_ok(text));

	/* A name such as the kernel gives to a disk or a partition must not be used as an alias. */
	assert_false(rnbd_disk_alias_ok("rnbd0"));
	assert_false(rnbd_disk_alias_ok("rnbd1234567"));
	assert_true(rnbd_disk_alias_ok("rnbd"));
	assert_true(rnbd_disk_alias_ok("rnbd-1"));
	assert_true(rnbd_disk_alias_ok("rnbd1a"));
	assert_false(rnbd_disk_alias_ok("rnbd0p1"));
	assert_false(rnbd_disk_alias_ok("rnbd10p128"));
	assert_true(rnbd_disk_alias_ok("rnbd0p"));
	assert_true(rnbd_disk_alias_ok("rnbd0p1x"));
	assert_true(rnbd_disk_alias_ok("rnbdp1"));
	assert_true(rnbd_disk_alias_ok("xrnbd1"));

	/* A number is not an alias. */
	assert_false(rnbd_disk_alias_ok("0"));
	assert_false(rnbd_disk_alias_ok("00017"));

	/* A UUID is not an alias. */
	assert_false(rnbd_disk_alias_ok("01234567-89ab-cdef-ABCD-EF0123456789"));
	assert_true(rnbd_disk_alias_ok("01234567-89ab-cdef-ABCD-EF012345678"));
	assert_true(rnbd_disk_alias_ok("01234567-89ab-cdef-ABCD-EF01234567890"));
	assert_true(rnbd_disk_alias_ok("0123456-789ab-cdef-ABCD-EF0123456789"));
	assert_true(rnbd_disk_alias_ok("g1234567-89ab-cdef-ABCD-EF0123456789"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_export_name),
		cmocka_unit_test(test_disk_alias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
