// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the configuration file of "rnbd attach --config": the resulting options and
 * operands, options of the command line that override the file, and error messages with the
 * number of the line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach_conf.h"
#include "util.h"

static const struct opt opts[] = {
	{ "port", "N", "" },
	{ "queues", "N", "" },
	{ "read-only", NULL, "" },
	{ "tag", "TEXT", "", .repeat = true },
	{ "name", "NAME", "" },
	{ "config", "FILE", "" },
	{ "json", NULL, "" },
	{ }
};

static const struct command attach = { .name = "attach", .opts = opts };

#define TARGET	"address = host:1\nexport = disk\n"

/*
 * Get the value of the occurrence @nth (from 0) of an option, or NULL. An option without a value
 * has the value "".
 */
static const char *value_of(const struct args *args, const char *name, size_t nth)
{
	size_t i;

	for (i = 0; i < args->nr_given; i++) {
		if (!strcmp(args->given[i].opt->name, name) && !nth--)
			return args->given[i].value ? args->given[i].value : "";
	}
	return NULL;
}

static struct args nothing_given(void)
{
	return (struct args){ .cmd = &attach };
}

static void test_values(void **state)
{
	const struct args args = nothing_given();
	struct attach_conf conf;

	(void)state;
	assert_int_equal(attach_conf_parse(&conf, &args, "/etc/rnbd/attach.d/data.conf",
					   xstrdup("# a comment\n\n"
						   " \taddress=[::1]:4427  # its port\r\n"
						   "export = a#b\n"
						   "queues = 4\n"
						   "read-only = yes\n"
						   "tag = one two\ntag = three")), 0);
	assert_int_equal(conf.args.nr_operands, 2);
	assert_string_equal(conf.args.operand[0], "[::1]:4427");
	assert_string_equal(conf.args.operand[1], "a#b");
	assert_string_equal(value_of(&conf.args, "queues", 0), "4");
	assert_string_equal(value_of(&conf.args, "read-only", 0), "");
	assert_string_equal(value_of(&conf.args, "tag", 0), "one two");
	assert_string_equal(value_of(&conf.args, "tag", 1), "three");
	assert_string_equal(value_of(&conf.args, "name", 0), "data");
	assert_null(value_of(&conf.args, "port", 0));
	assert_ptr_equal(conf.args.cmd, &attach);
	attach_conf_free(&conf);
}

static void test_name(void **state)
{
	static const struct {
		const char *path, *text, *name;
	} cases[] = {
		{ "data.conf", TARGET, "data" },
		{ "/a/b.c/data", TARGET, "data" },
		{ ".conf", TARGET, ".conf" },
		{ "data.conf", TARGET "name = other\n", "other" },
	};
	const struct args args = nothing_given();
	struct attach_conf conf;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(attach_conf_parse(&conf, &args, cases[i].path,
						   xstrdup(cases[i].text)), 0);
		assert_string_equal(value_of(&conf.args, "name", 0), cases[i].name);
		assert_null(value_of(&conf.args, "name", 1));
		attach_conf_free(&conf);
	}
}

/* The value "no" has the same effect as leaving out the line. */
static void test_no(void **state)
{
	const struct args args = nothing_given();
	struct attach_conf conf;

	(void)state;
	assert_int_equal(attach_conf_parse(&conf, &args, "f", xstrdup(TARGET "read-only = no\n")),
			 0);
	assert_null(value_of(&conf.args, "read-only", 0));
	attach_conf_free(&conf);
}

static void test_command_line_wins(void **state)
{
	struct args args = nothing_given();
	struct attach_conf conf;

	(void)state;
	args.given = xcalloc(2, sizeof(*args.given));
	args.given[0].opt = &opts[1];
	args.given[0].value = "2";
	args.given[1].opt = &opts[2];
	args.nr_given = 2;
	assert_int_equal(attach_conf_parse(&conf, &args, "f",
					   xstrdup(TARGET "queues = 8\nread-only = no\n"
						   "port = 5\n")), 0);
	assert_string_equal(value_of(&conf.args, "queues", 0), "2");
	assert_null(value_of(&conf.args, "queues", 1));
	assert_non_null(value_of(&conf.args, "read-only", 0));
	assert_string_equal(value_of(&conf.args, "port", 0), "5");
	/* The original command line is unchanged. */
	assert_int_equal(args.nr_given, 2);
	attach_conf_free(&conf);
	free(args.given);
}

/* Run a function and return the text that it writes to standard error. */
static char *message_of(int (*run)(struct attach_conf *, const struct args *, const char *, char *),
			const char *path, char *text, int *ret)
{
	const struct args args = nothing_given();
	FILE *old = stderr;
	struct attach_conf conf;
	char *message;
	size_t size;

	stderr = open_memstream(&message, &size);
	assert_non_null(stderr);
	*ret = run(&conf, &args, path, text);
	fclose(stderr);
	stderr = old;
	attach_conf_free(&conf);
	return message;
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *where, *what;
	} cases[] = {
		{ TARGET "queue = 1\n", "data.conf:3: ", "\"queue\" is no key" },
		{ TARGET "\n# x\nconfig = a", "data.conf:5: ", "\"config\" is no key" },
		{ TARGET "json = yes", "data.conf:3: ", "\"json\" is no key" },
		{ "= 1\n" TARGET, "data.conf:1: ", "\"\" is no key" },
		{ TARGET "queues\n", "data.conf:3: ", "\"queues\" has no value" },
		{ TARGET "queues =\n", "data.conf:3: ", "\"queues\" has no value" },
		{ TARGET "queues = # 4\n", "data.conf:3: ", "\"queues\" has no value" },
		{ TARGET "read-only = 1\n", "data.conf:3: ", "read-only is yes or no, not \"1\"" },
		{ TARGET "queues = 1\nqueues = 1\n", "data.conf:4: ", "queues is given twice" },
		{ TARGET "export = other\n", "data.conf:3: ", "export is given twice" },
		{ "address = host\n", "data.conf: ", "export is missing" },
		{ "", "data.conf: ", "address is missing" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int ret;
		char *message = message_of(attach_conf_parse, "data.conf", xstrdup(cases[i].text),
					   &ret);

		assert_int_equal(ret, RNBD_EXIT_USAGE);
		assert_non_null(strstr(message, cases[i].where));
		assert_non_null(strstr(message, cases[i].what));
		free(message);
	}
}

static int load(struct attach_conf *conf, const struct args *args, const char *path, char *text)
{
	(void)text;
	return attach_conf_load(conf, args, path);
}

static void test_files(void **state)
{
	char path[] = "/tmp/rnbd-test-conf-XXXXXX";
	const struct args args = nothing_given();
	struct attach_conf conf;
	char *message;
	FILE *f;
	int ret;

	(void)state;
	f = fdopen(mkstemp(path), "w");
	assert_non_null(f);
	assert_true(fputs(TARGET, f) >= 0 && !fflush(f));
	assert_int_equal(attach_conf_load(&conf, &args, path), 0);
	assert_string_equal(conf.args.operand[1], "disk");
	attach_conf_free(&conf);

	/* A file with a NUL is rejected, because the string would end there. */
	assert_true(fputc('\0', f) == 0 && !fclose(f));
	message = message_of(load, path, NULL, &ret);
	assert_int_equal(ret, RNBD_EXIT_FAIL);
	assert_non_null(strstr(message, "not a configuration file"));
	free(message);

	unlink(path);
	message = message_of(load, path, NULL, &ret);
	assert_int_equal(ret, RNBD_EXIT_FAIL);
	assert_non_null(strstr(message, "No such file"));
	free(message);

	message = message_of(load, "/tmp", NULL, &ret);
	assert_int_equal(ret, RNBD_EXIT_FAIL);
	assert_non_null(strstr(message, "directory"));
	free(message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_no),
		cmocka_unit_test(test_command_line_wins),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
