// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the output of the tool: a message or a row of a table is one line, without characters
 * that control the terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output.h"
#include "util.h"

static FILE *terminal;
static char *said;
static size_t size;

static void listen(FILE **stream)
{
	terminal = *stream;
	*stream = open_memstream(&said, &size);
	assert_non_null(*stream);
}

static void check_said(FILE **stream, const char *wanted)
{
	fclose(*stream);
	*stream = terminal;
	assert_string_equal(said, wanted);
	free(said);
}

static void test_printable(void **state)
{
	char text[] = "a\x1b[2Jb\x01\x1f\x7f\b\n\t\r~ \xc3\xa4\xff\xc2\x9b\xc2\xa0\xc2";
	unsigned char all[256];
	size_t i;

	(void)state;
	assert_string_equal(printable(text), "a?[2Jb????   ~ \xc3\xa4\xff??\xc2\xa0\xc2");
	for (i = 0; i < 255; i++)
		all[i] = i + 1;
	all[255] = '\0';
	printable((char *)all);
	assert_int_equal(strlen((char *)all), 255);
	for (i = 0; i < 255; i++)
		assert_true(all[i] >= ' ' && all[i] != 0x7f);
}

static void test_message(void **state)
{
	(void)state;
	listen(&stderr);
	context_set("restore %s", "/tmp/\x1b]0;x\a");
	err("export \"%s\" is not\nthere", "\x1b[31mred");
	check_said(&stderr,
		   "rnbd: restore /tmp/?]0;x?: export \"?[31mred\" is not there\n");
	context_set("%s", "");
	listen(&stderr);
	assert_int_equal(usage_err("%s", "a\rb"), RNBD_EXIT_USAGE);
	check_said(&stderr, "rnbd: a b\n");
}

static void test_table(void **state)
{
	struct table table = { .columns = 2 };

	(void)state;
	table_cell(&table, "%s", "A\x1b");
	table_cell(&table, "B\nC");
	table_cell(&table, "%s", "");
	table_cell(&table, "long");
	listen(&stdout);
	table_print(&table);
	check_said(&stdout, "A?  B C\n-   long\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printable),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
