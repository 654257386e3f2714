// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the options of "rnbd attach": each row of the table is complete and has names of its
 * own, values are parsed, and netlink messages yield the options that were put into them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "options.h"
#include "options_netlink.h"
#include "util.h"

static const struct command attach = { .name = "attach", .opts = attach_opts };

static const struct opt *find(const char *name)
{
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (!strcmp(opt->name, name))
			return opt;
	}
	fail_msg("no option --%s", name);
	return NULL;
}

static void test_table(void **state)
{
	const struct opt *a, *b;

	(void)state;
	for (a = attach_opts; a->name; a++) {
		assert_int_equal(!!a->attr, a->scope != OPT_COMMAND);
		assert_true(a->attr <= RNBD_ATTR_MAX);
		assert_int_equal(!!a->key, !!a->group);
		if (a->type == OPT_OWN) {
			assert_int_equal(a->group, OPT_NO_GROUP);
			continue;
		}
		assert_true(a->attr);
		assert_int_equal(!a->arg, a->type == OPT_FLAG);
		assert_int_equal(!!a->flag, a->attr == RNBD_ATTR_FLAGS);
		assert_true(a->type != OPT_WORD || a->complete);
		assert_true(!a->check || a->wanted);
		for (b = attach_opts; b != a; b++) {
			assert_string_not_equal(a->name, b->name);
			assert_true(a->attr != b->attr || (a->flag && a->flag != b->flag));
			assert_true(!a->key || !b->key || strcmp(a->key, b->key));
		}
	}
	assert_string_equal(option_of_attr(RNBD_ATTR_DEPTH)->name, "queue-depth");
	assert_string_equal(option_of_attr(RNBD_ATTR_HOST_ID)->name, "host-id");
	assert_null(option_of_attr(RNBD_ATTR_FLAGS));
	assert_null(option_of_attr(RNBD_ATTR_STATE));
	assert_null(option_of_attr(0));
}

/* Parse one option. Return the text that was written to standard error in *message. */
static int parse(const char *name, const char *value, struct options *options, char **message)
{
	struct args args = { .cmd = &attach, .nr_given = 1 };
	FILE *old = stderr;
	size_t size;
	int ret;

	args.given = xcalloc(1, sizeof(*args.given));
	args.given[0].opt = find(name);
	args.given[0].value = value;
	stderr = open_memstream(message, &size);
	assert_non_null(stderr);
	ret = options_parse(&args, options);
	fclose(stderr);
	stderr = old;
	free(args.given);
	return ret;
}

static void test_values(void **state)
{
	static const struct {
		const char *name, *value;
		uint64_t number;
		const char *text;
	} cases[] = {
		{ "queues", "4", 4, "4" },
		{ "queues", "4294967295", UINT32_MAX, "4294967295" },
		{ "loss-timeout", "0", 0, "0" },
		{ "slot-size", "8K", 8192, "8192" },
		{ "inline-read", "0", 0, "0" },
		{ "pool", "8G", 8ull << 30, "8589934592" },
		{ "pool-floor", "1M", 1 << 20, "1048576" },
		{ "pool-floor", "0", 0, "0" },
		{ "pool-floor", "fixed", 0, "0" },
		{ "policy", "queue", 0, "queue" },
		{ "policy", "fail", 1, "fail" },
		{ "transfer", "copy", 1, "copy" },
		{ "read-only", NULL, 1, "true" },
		{ "name", "data", 0, "data" },
	};
	struct options options;
	char *message;
	size_t i, row;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct opt *opt = find(cases[i].name);
		char text[OPTION_TEXT_SIZE];

		assert_int_equal(parse(cases[i].name, cases[i].value, &options, &message), 0);
		assert_string_equal(message, "");
		free(message);
		for (row = 0; row < OPTIONS_MAX; row++)
			assert_int_equal(options.value[row].known, row == option_row(opt));
		assert_true(options.value[option_row(opt)].number == cases[i].number);
		option_format(opt, &options.value[option_row(opt)], text);
		assert_string_equal(text, cases[i].text);
		if (opt->key) {
			assert_true(option_number(&options, opt->key) == cases[i].number);
			assert_string_equal(option_text(&options, opt->key), cases[i].text);
		}
	}
	/* The port is not parsed by options_parse(), but by the command. */
	assert_int_equal(parse("port", "1", &options, &message), 0);
	free(message);
	for (row = 0; row < OPTIONS_MAX; row++)
		assert_false(options.value[row].known);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *name, *value, *message;
	} cases[] = {
		{ "queues", "", "--queues : wanted a number" },
		{ "queues", "4K", "--queues 4K: wanted a number" },
		{ "queues", "4294967296", "--queues 4294967296: wanted a number" },
		{ "fast-io-fail", "-1", "--fast-io-fail -1: wanted a number" },
		{ "max-io", "4G", "--max-io 4G: wanted a size such as 4096, 64K or 1M" },
		{ "pool", "1X", "--pool 1X: wanted a size such as 4096, 64K or 1M" },
		{ "pool", "fixed", "--pool fixed: wanted a size such as 4096, 64K or 1M" },
		{ "pool-floor", "fix",
		  "--pool-floor fix: wanted a size such as 4096, 64K or 1M, or fixed" },
		{ "policy", "", "--policy : wanted queue or fail" },
		{ "policy", "fai", "--policy fai: wanted queue or fail" },
		{ "transfer", "zero-copy copy", "wanted zero-copy or copy" },
		{ "name", "rnbd7", "--name rnbd7: wanted 1 to 63 of A-Z" },
	};
	struct options options;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char *message;

		assert_int_equal(parse(cases[i].name, cases[i].value, &options, &message),
				 RNBD_EXIT_USAGE);
		assert_non_null(strstr(message, cases[i].message));
		free(message);
	}
}

/* All options are put into a message and have the same values when they are read from it. */
static void test_netlink(void **state)
{
	struct options sent = { }, got;
	struct nlattr *tb[RNBD_ATTR_MAX + 1];
	struct nl_msg *msg = nlmsg_alloc();
	const struct opt *opt;
	uint32_t flags = 0;

	(void)state;
	assert_non_null(msg);
	assert_non_null(nlmsg_put(msg, 0, 0, NLMSG_MIN_TYPE, 0, 0));
	for (opt = attach_opts; opt->name; opt++) {
		struct option_value *value = &sent.value[option_row(opt)];

		if (!opt->type)
			continue;
		value->known = true;
		if (opt->type == OPT_TEXT)
			snprintf(value->text, sizeof(value->text), "text");
		else if (opt->type == OPT_SIZE64)
			value->number = 5ull << 32;
		else if (opt->type == OPT_FLAG || opt->type == OPT_WORD)
			value->number = 1;
		else
			value->number = 1000 + option_row(opt);
		flags |= opt->flag;
	}
	assert_int_equal(options_put(msg, &sent), 0);
	assert_int_equal(nlmsg_parse(nlmsg_hdr(msg), 0, tb, RNBD_ATTR_MAX, NULL), 0);
	assert_int_equal(nla_get_u32(tb[RNBD_ATTR_FLAGS]), flags);
	assert_int_equal(nla_len(tb[RNBD_ATTR_POOL_BYTES]), sizeof(uint64_t));
	assert_int_equal(nla_len(tb[RNBD_ATTR_MAX_IO]), sizeof(uint32_t));

	memset(&got, 0xff, sizeof(got));
	assert_int_equal(options_get(tb, &got), 0);
	for (opt = attach_opts; opt->name; opt++) {
		const struct option_value *a = &sent.value[option_row(opt)];
		const struct option_value *b = &got.value[option_row(opt)];

		assert_int_equal(a->known, b->known);
		assert_true(option_same(opt, a, b));
	}

	/* An attribute that is too short is an error; an option without an attribute is unknown. */
	tb[RNBD_ATTR_POOL_BYTES] = tb[RNBD_ATTR_MAX_IO];
	assert_int_equal(options_get(tb, &got), -EPROTO);
	tb[RNBD_ATTR_POOL_BYTES] = NULL;
	assert_int_equal(options_get(tb, &got), 0);
	assert_false(got.value[option_row(find("pool"))].known);
	nlmsg_free(msg);
}

/* Options that were not given are not sent, so the kernel uses its defaults. */
static void test_nothing(void **state)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct options none = { };

	(void)state;
	assert_non_null(msg);
	assert_non_null(nlmsg_put(msg, 0, 0, NLMSG_MIN_TYPE, 0, 0));
	assert_int_equal(options_put(msg, &none), 0);
	assert_int_equal(nlmsg_datalen(nlmsg_hdr(msg)), 0);
	nlmsg_free(msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_netlink),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
