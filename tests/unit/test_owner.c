// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of owners of exports and of hosts that may only read: the line in which the kernel
 * shows and accepts an owner, and the entries about owners and about such hosts in the
 * configuration file of a target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "parse.h"
#include "target_config.h"
#include "util.h"

#define HOST1	"6f1f2c1e-8d3e-4c39-9d5b-0a4c4f0f3b11"
#define HOST1_MIXED	"6F1F2C1E-8d3e-4c39-9d5b-0a4c4f0f3b11"
#define HOST2	"00000000-0000-4000-8000-000000000002"
#define NO_UUID	"00000000-0000-0000-0000-000000000000"

/* A line of the kernel is the same after it was parsed and formatted. */
static void test_owner(void **state)
{
	static const char none[] = "0 " NO_UUID " " NO_UUID " 0";
	static const char line[] = "4294967295 " HOST1 " " HOST2 " 4294967295";
	static const char * const bad[] = {
		"", "7", "x " HOST1 " " HOST2 " 1", "7 x " HOST2 " 1", "7 " HOST1 " x 1",
		"7 " HOST1 " " HOST2 " x", "-7 " HOST1 " " HOST2 " 1",
		"4294967296 " HOST1 " " HOST2 " 1", "7 " HOST1 " " HOST2 " 1 2",
		"7 " HOST1 "0 " HOST2 " 1",
	};
	char text[OWNER_TEXT_SIZE];
	struct owner owner;
	size_t i;

	(void)state;
	assert_int_equal(owner_parse(line, &owner), 0);
	assert_string_equal(owner.host, HOST1);
	owner_text(&owner, text);
	assert_string_equal(text, line);
	assert_int_equal(owner_parse(none, &owner), 0);
	owner_text(&owner, text);
	assert_string_equal(text, none);
	assert_int_equal(owner_parse("7 " HOST1_MIXED " " HOST2 " 1\n", &owner), 0);
	assert_string_equal(owner.host, HOST1);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(owner_parse(bad[i], &owner) < 0);
}

/*
 * Parse a configuration that has ' in place of ". Check that an error message contains @wanted.
 * Return the result of the parser.
 */
static int messages(const char *text, const char *wanted)
{
	struct target_config config;
	FILE *terminal = stderr;
	char *json = strdup(text), *said = NULL, *p;
	size_t size;
	int ret;

	for (p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	stderr = open_memstream(&said, &size);
	assert_non_null(stderr);
	ret = target_config_parse(json, strlen(json), &config);
	fclose(stderr);
	stderr = terminal;
	target_config_free(&config);
	free(json);
	assert_int_equal(!ret, !size);
	if (wanted && !strstr(said, wanted))
		fail_msg("no \"%s\" in: %s", wanted, said);
	free(said);
	return ret;
}

#define FILE_OF(export)	"{'version':1,'exports':[{'name':'a','path':'/x'," export "}]," \
			"'hosts':[{'uuid':'" HOST1 "'},{'uuid':'" HOST2 "'}]}"
#define OWNED(state)	FILE_OF("'exclusive':true,'owner_state':'" state "'")

static void test_file(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} bad[] = {
		{ FILE_OF("'exclusive':1"), "true or false" },
		{ FILE_OF("'owner_state':'7 " HOST1 " " HOST2 " 1'"),
		  "export a: has \"owner_state\" but is not \"exclusive\"" },
		/* Generation 0 with an owner, too high a generation, too few or too many fields. */
		{ OWNED("0 " HOST1 " " HOST2 " 1"), "not what rnbd save writes" },
		{ OWNED("4026531841 " HOST1 " " HOST2 " 1"), "not what rnbd save writes" },
		{ OWNED("7 " HOST1 " " HOST2), "not what rnbd save writes" },
		{ OWNED("7 " HOST1 " " HOST2 " 1 1"), "not what rnbd save writes" },
		{ FILE_OF("'hosts':['" HOST1 "'],'readonly_hosts':['" HOST1_MIXED "']"),
		  "\"hosts\" and \"readonly_hosts\" both name " HOST1 },
		{ FILE_OF("'readonly_hosts':['11111111-2222-4333-8444-555555555555']"),
		  "it allows host to read 11111111-2222-4333-8444-555555555555, which is not in" },
	};
	size_t i;

	(void)state;
	assert_int_equal(messages(OWNED("4026531840 " HOST1 " " HOST2 " 1"), NULL), 0);
	assert_int_equal(messages(FILE_OF("'hosts':['" HOST1 "'],'readonly_hosts':['" HOST2
					  "']"), NULL), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(messages(bad[i].text, bad[i].message) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
