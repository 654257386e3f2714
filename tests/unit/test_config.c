// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the configuration file of a target: a valid file is read and written unchanged, each
 * error is reported, and a file with random changes is either refused or read as a valid one.
 */
#include <string.h>

#include "unit.h"

#include "target_config.h"

#define HOST1	"6f1f2c1e-8d3e-4c39-9d5b-0a4c4f0f3b11"
#define HOST1_MIXED	"6F1F2C1E-8d3e-4c39-9d5b-0a4c4f0f3b11"
#define HOST2	"00000000-0000-4000-8000-000000000002"

/* As "rnbd save" writes it: sorted, and including keys whose value is the default. */
static const char whole[] =
	"{\n"
	"  \"version\": 1,\n"
	"  \"hosts\": [\n"
	"    {\n"
	"      \"uuid\": \"" HOST2 "\",\n"
	"      \"max_pool_bytes\": 9223372036854775807,\n"
	"      \"max_session_pool_bytes\": 1048576,\n"
	"      \"max_sessions\": 4294967295,\n"
	"      \"weight\": 10000,\n"
	"      \"cgroup\": \"/rnbd.slice/rnbd-a b.slice\",\n"
	"      \"unfence_on_restart\": true,\n"
	"      \"fence_state\": \"4294967294 1 " HOST1 "\",\n"
	"      \"secret_file\": \"/etc/rnbd/secrets/" HOST2 "\"\n"
	"    },\n"
	"    {\n"
	"      \"uuid\": \"" HOST1 "\",\n"
	"      \"max_pool_bytes\": 0,\n"
	"      \"max_session_pool_bytes\": 0,\n"
	"      \"max_sessions\": 0,\n"
	"      \"weight\": 1,\n"
	"      \"cgroup\": \"\",\n"
	"      \"unfence_on_restart\": false,\n"
	"      \"fence_state\": \"7 0 00000000-0000-0000-0000-000000000000\"\n"
	"    }\n"
	"  ],\n"
	"  \"exports\": [\n"
	"    {\n"
	"      \"name\": \"disk2\",\n"
	"      \"path\": \"/dev/disk/by-id/a:b c\\\"\\\\\xc3\xa4\xff\",\n"
	"      \"readonly\": false,\n"
	"      \"cache\": \"none\",\n"
	"      \"write_cache\": \"back\",\n"
	"      \"window\": 65536,\n"
	"      \"uuid\": \"11111111-2222-4333-8444-555555555555\",\n"
	"      \"exclusive\": true,\n"
	"      \"owner_state\": \"4026531840 " HOST1 " " HOST2 " 7\",\n"
	"      \"enable\": true,\n"
	"      \"hosts\": [\n"
	"        \"" HOST2 "\",\n"
	"        \"" HOST1 "\"\n"
	"      ],\n"
	"      \"readonly_hosts\": [\n      ]\n"
	"    },\n"
	"    {\n"
	"      \"name\": \"disk10\",\n"
	"      \"path\": \"\",\n"
	"      \"readonly\": true,\n"
	"      \"cache\": \"pagecache\",\n"
	"      \"write_cache\": \"through\",\n"
	"      \"window\": 0,\n"
	"      \"uuid\": \"11111111-2222-4333-8444-555555555556\",\n"
	"      \"exclusive\": false,\n"
	"      \"enable\": false,\n"
	"      \"hosts\": [\n"
	"        \"" HOST1 "\"\n"
	"      ],\n"
	"      \"readonly_hosts\": [\n"
	"        \"" HOST2 "\"\n"
	"      ]\n"
	"    }\n"
	"  ],\n"
	"  \"ports\": [\n"
	"    {\n"
	"      \"id\": \"1\",\n"
	"      \"addr\": \"10.9.0.1\",\n"
	"      \"port\": 4427,\n"
	"      \"enable\": true,\n"
	"      \"exports\": [\n"
	"        \"disk2\",\n"
	"        \"disk10\"\n"
	"      ]\n"
	"    },\n"
	"    {\n"
	"      \"id\": \"six\",\n"
	"      \"addr\": \"fe80::1%eth0\",\n"
	"      \"port\": 65535,\n"
	"      \"enable\": false,\n"
	"      \"exports\": [\n"
	"        \"disk10\"\n"
	"      ]\n"
	"    }\n"
	"  ]\n"
	"}\n";

/*
 * Parse a copy of @text. Its buffer ends with the text, so AddressSanitizer detects a read
 * behind it. Return the error messages in @messages, which may be NULL.
 */
static int parse(const char *text, size_t len, struct target_config *config, char **messages)
{
	char *copy = malloc(len + 1);
	FILE *terminal = stderr;
	char *said = NULL;
	size_t size;
	int ret;

	assert_non_null(copy);
	memcpy(copy, text, len);
	copy[len] = '\0';
	stderr = open_memstream(&said, &size);
	assert_non_null(stderr);
	ret = target_config_parse(copy, len, config);
	fclose(stderr);
	stderr = terminal;
	/* A refused text always yields an error message, a valid one never does. */
	assert_int_equal(!ret, !size);
	free(copy);
	if (messages)
		*messages = said;
	else
		free(said);
	return ret;
}

/* Replace ' by ". In C strings, JSON is easier to read with single quotes. */
static char *quoted(const char *text)
{
	char *copy = strdup(text);
	char *p;

	assert_non_null(copy);
	for (p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

static void parse_good(const char *text, struct target_config *config)
{
	char *json = quoted(text);
	char *messages;

	if (parse(json, strlen(json), config, &messages))
		fail_msg("refused: %s\n%s", messages, json);
	free(messages);
	free(json);
}

/* Assert that @text is refused with @message. Both have ' in place of ". */
static void assert_bad(const char *text, const char *message)
{
	char *said = quoted(message);
	char *json = quoted(text);
	struct target_config config;
	char *messages;

	if (!parse(json, strlen(json), &config, &messages))
		fail_msg("accepted: %s", json);
	if (!strstr(messages, said))
		fail_msg("\"%s\" is not reported for %s, but: %s", said, json, messages);
	free(messages);
	free(said);
	free(json);
	target_config_free(&config);
}

static void test_round_trip(void **state)
{
	struct target_config config;
	char *text, *again;

	(void)state;
	parse_good(whole, &config);
	text = target_config_text(&config);
	assert_string_equal(text, whole);
	free(text);
	target_config_free(&config);
	/* An empty configuration, whose layout is up to json-c, is also written unchanged. */
	parse_good("{'version':1}", &config);
	text = target_config_text(&config);
	target_config_free(&config);
	assert_non_null(strstr(text, "\"exports\": ["));
	parse_good(text, &config);
	again = target_config_text(&config);
	assert_string_equal(text, again);
	free(again);
	free(text);
	target_config_free(&config);
}

static void test_defaults(void **state)
{
	const struct target_config_object *object;
	struct target_config config;

	(void)state;
	parse_good("\t{'ports':[{'id':'1','addr':'::1'}],'version':1,\n"
		   "'exports':[{'name':'a','path':'/x','hosts':['" HOST1_MIXED "']}],\n"
		   "'hosts':[{'uuid':'" HOST1 "'}]}\r\n", &config);
	object = target_config_find(&config, TARGET_CONFIG_HOST, HOST1);
	assert_non_null(object);
	assert_string_equal(object->value[0], "0");
	assert_string_equal(object->value[3], "100");
	object = target_config_find(&config, TARGET_CONFIG_EXPORT, "a");
	assert_non_null(object);
	assert_string_equal(object->value[0], "/x");
	assert_string_equal(object->value[1], "0");
	assert_string_equal(object->value[2], "none");
	assert_string_equal(object->value[3], "through");
	assert_string_equal(object->value[TARGET_EXPORT_WINDOW], "0");
	assert_null(object->value[TARGET_EXPORT_UUID]);
	assert_true(target_config_enabled(TARGET_CONFIG_EXPORT, object));
	assert_string_equal(object->value[TARGET_EXPORT_EXCLUSIVE], "0");
	assert_null(object->value[TARGET_EXPORT_OWNER]);
	assert_true(strlist_has(&object->links[TARGET_EXPORT_HOSTS], HOST1));
	assert_int_equal(object->links[TARGET_EXPORT_READONLY_HOSTS].nr, 0);
	object = target_config_find(&config, TARGET_CONFIG_PORT, "1");
	assert_non_null(object);
	assert_string_equal(object->value[1], "4427");
	assert_true(target_config_enabled(TARGET_CONFIG_PORT, object));
	target_config_free(&config);
}

#define V	"{'version':1,"
#define HOSTS	V "'hosts':["
#define EXPORTS	V "'exports':["
#define PORTS	V "'ports':["

static void test_not_json(void **state)
{
	static const char single[] = "{\n'version':1}";
	struct target_config config;

	(void)state;
	assert_bad("", "line 1: ");
	assert_bad("{'version':1", "line 1: ");
	assert_bad("{'version':1,}", "line 1: ");
	assert_bad("{'version':1} {}", "line 1: ");
	assert_bad("\n\n{'version':1}x", "line 3: ");
	assert_bad("{'version':1/**/}", "line 1: ");
	assert_bad("{'version':NaN}", "");
	assert_bad("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "deep");
	/* A NUL at the end, and single quotes, which json-c accepts, are refused. */
	assert_int_not_equal(parse(whole, sizeof(whole), &config, NULL), 0);
	target_config_free(&config);
	assert_int_not_equal(parse(single, strlen(single), &config, NULL), 0);
	target_config_free(&config);
}

static void test_root(void **state)
{
	(void)state;
	assert_bad("[]", "not a JSON object");
	assert_bad("null", "not a JSON object");
	assert_bad("1", "not a JSON object");
	assert_bad("{}", "'version' is missing");
	assert_bad("{'version':0}", "'version' is 0");
	assert_bad("{'version':2,'new':1}", "'version' is 2");
	assert_bad("{'version':'1'}", "'version' is '1'");
	assert_bad("{'version':1.0}", "'version' is 1.0");
	assert_bad("{'version':4294967297}", "'version' is 4294967297");
	assert_bad(V "'version':1}", "twice");
	assert_bad(V "'limits':{}}", "'limits' is not known");
	assert_bad(V "'hosts':{}}", "'hosts' must be an array");
	assert_bad(V "'exports':null}", "'exports' must be an array");
}

static void test_host(void **state)
{
	(void)state;
	assert_bad(HOSTS "1]}", "hosts[0]: must be an object");
	assert_bad(HOSTS "null]}", "hosts[0]: must be an object");
	assert_bad(HOSTS "{}]}", "hosts[0]: 'uuid' is missing");
	assert_bad(HOSTS "{'uuid':1}]}", "hosts[0]: 'uuid' must be a string");
	assert_bad(HOSTS "{'uuid':'x'}]}", "hosts[0]: 'uuid' is 'x': not a UUID");
	assert_bad(HOSTS "{'uuid':'00000000-0000-0000-0000-000000000000'}]}", "not a UUID");
	assert_bad(HOSTS "{'uuid':'" HOST1 "'},{'uuid':'" HOST1_MIXED "'}]}",
		   "host " HOST1 ": is defined twice");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':-1}]}",
		   "host " HOST1 ": 'max_pool_bytes' must be a whole number");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':1.5}]}", "a whole number");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':'1'}]}", "a whole number");
	/* A number beyond the signed 64 bits of json-c, and one just above the range of its key. */
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':9223372036854775808}]}",
		   "'max_pool_bytes' is '9223372036854775808': too large");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_sessions':4294967296}]}",
		   "'max_sessions' is '4294967296': too large");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','cgroup':'a'}]}", "wanted a path of a cgroup");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','cgroup':'/'}]}", "wanted a path of a cgroup");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','cgroup':'/a//b'}]}", "wanted a path of a cgroup");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','weight':0}]}", "wanted 1 to 10000");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','weight':10001}]}", "wanted 1 to 10000");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','weight':18446744073709551616}]}", "1 to 10000");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','fence_state':1}]}",
		   "'fence_state' must be a string");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','fence_state':'4294967295 1 " HOST1 "'}]}",
		   "not what rnbd save writes");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','fence_state':'7 2 " HOST1 "'}]}",
		   "not what rnbd save writes");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','fence_state':'7 1 " HOST1 " 1'}]}",
		   "not what rnbd save writes");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':18446744073709551616}]}",
		   "too large");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':99999999999999999999999}]}",
		   "too large");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','max_pool_bytes':-99999999999999999999999}]}",
		   "not negative");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','secret_file':''}]}", "omit it");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','secret_file':'secret'}]}", "an absolute path");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','secret_file':null}]}", "must be a string");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','secret':'rnbd-secret:1:00'}]}",
		   "'secret' is not known");
	assert_bad(HOSTS "{'uuid':'" HOST1 "','exports':[]}]}", "'exports' is not known");
}

static void test_export(void **state)
{
	struct target_config config;
	char text[8192];

	(void)state;
	assert_bad(EXPORTS "{'path':'/x'}]}", "exports[0]: 'name' is missing");
	assert_bad(EXPORTS "{'name':'../x','path':'/x'}]}", "exports[0]: 'name' is '../x'");
	assert_bad(EXPORTS "{'name':'a\\u0000b','path':'/x'}]}", "must be a string");
	assert_bad(EXPORTS "{'name':'a'}]}", "export a: 'path' is missing");
	assert_bad(EXPORTS "{'name':'a','path':'x'}]}", "export a: 'path' is 'x'");
	assert_bad(EXPORTS "{'name':'a','path':'/x\\n'}]}", "white space");
	assert_bad(EXPORTS "{'name':'a','path':''}]}", "enabled without 'path'");
	assert_bad(EXPORTS "{'name':'a','path':'/x\\u0000'}]}", "'path' must be a string");
	assert_bad(EXPORTS "{'name':'a','path':null}]}", "'path' must be a string");
	assert_bad(EXPORTS "{'name':'a','path':'/x','readonly':0}]}", "true or false");
	assert_bad(EXPORTS "{'name':'a','path':'/x','cache':'all'}]}", "none or pagecache");
	assert_bad(EXPORTS "{'name':'a','path':'/x','write_cache':''}]}", "through or back");
	assert_bad(EXPORTS "{'name':'a','path':'/x','window':65537}]}", "too large");
	assert_bad(EXPORTS "{'name':'a','path':'/x','uuid':''}]}", "not a UUID");
	assert_bad(EXPORTS "{'name':'a','path':'/x','size':1}]}", "'size' is not known");
	assert_bad(EXPORTS "{'name':'a','path':'/x','path':'/y'}]}", "same key twice");
	assert_bad(EXPORTS "{'name':'a','path':'/x'},{'name':'a','path':'/y'}]}",
		   "export a: is defined twice");
	assert_bad(EXPORTS "{'name':'a','path':'/x','hosts':{}}]}", "an array of strings");
	assert_bad(EXPORTS "{'name':'a','path':'/x','hosts':[1]}]}", "'hosts'[0] must be");
	assert_bad(EXPORTS "{'name':'a','path':'/x','hosts':['x']}]}", "not a UUID");
	assert_bad(EXPORTS "{'name':'a','path':'/x','hosts':['" HOST1 "']}]}",
		   "export a: it allows host " HOST1 ", which is not in 'hosts'");
	assert_bad(EXPORTS "{'name':'a','path':'/x','hosts':['" HOST1 "','" HOST1 "']}]}",
		   "twice");
	assert_bad(EXPORTS "{'name':'a','path':'/x','uuid':'" HOST1 "'},\n"
		   "{'name':'b','path':'/y'},{'name':'c','path':'/z','uuid':'" HOST1_MIXED "'}]}",
		   "export c: export a is enabled with the same 'uuid'");
	/* Two exports may have the same UUID if at most one of them is enabled. */
	parse_good(EXPORTS "{'name':'a','path':'/x','uuid':'" HOST1 "'},\n"
		   "{'name':'b','path':'/y','uuid':'" HOST1 "','enable':false}]}", &config);
	target_config_free(&config);
	/* A path that configfs accepts but cannot show completely is refused. */
	snprintf(text, sizeof(text), EXPORTS "{'name':'a','path':'/%04094d'}]}", 0);
	assert_bad(text, "too long");
}

static void test_port(void **state)
{
	struct target_config config;

	(void)state;
	assert_bad(PORTS "{'addr':'1.2.3.4'}]}", "ports[0]: 'id' is missing");
	assert_bad(PORTS "{'id':1,'addr':'1.2.3.4'}]}", "ports[0]: 'id' must be a string");
	assert_bad(PORTS "{'id':'1'}]}", "port 1: 'addr' is missing");
	assert_bad(PORTS "{'id':'1','addr':''}]}", "enabled without 'addr'");
	assert_bad(PORTS "{'id':'1','addr':'host'}]}", "numeric IPv4 or IPv6");
	assert_bad(PORTS "{'id':'1','addr':'1.2.3.4.5'}]}", "numeric IPv4 or IPv6");
	assert_bad(PORTS "{'id':'1','addr':'1.2.3.4%eth0'}]}", "numeric IPv4 or IPv6");
	assert_bad(PORTS "{'id':'1','addr':'fe80::1%'}]}", "numeric IPv4 or IPv6");
	assert_bad(PORTS "{'id':'1','addr':'::1','port':0}]}", "1 to 65535");
	assert_bad(PORTS "{'id':'1','addr':'::1','port':65536}]}", "1 to 65535");
	assert_bad(PORTS "{'id':'1','addr':'::1','port':99999999999999999999999}]}", "1 to 65535");
	assert_bad(PORTS "{'id':'1','addr':'::1','exports':['a']}]}",
		   "port 1: it offers export a, which is not in 'exports'");
	assert_bad(PORTS "{'id':'1','addr':'::1'},{'id':'2','addr':'::1'}]}",
		   "port 2: port 1 listens at the same address");
	/* Two ports may have the same address and port number if at most one of them is enabled. */
	parse_good(PORTS "{'id':'1','addr':'::1'},\n"
		   "{'id':'2','addr':'::1','enable':false},\n"
		   "{'id':'3','addr':'::1','port':1}]}", &config);
	target_config_free(&config);
}

static void test_all_faults(void **state)
{
	static const char text[] = V "'x':1,'hosts':[{'uuid':'x'}],\n"
		"'exports':[{'name':'a','cache':'x'}],\n"
		"'ports':[{'id':'1','addr':'x'}]}";
	struct target_config config;
	char *messages, *p;
	int lines = 0;

	(void)state;
	p = quoted(text);
	assert_int_not_equal(parse(p, strlen(p), &config, &messages), 0);
	free(p);
	for (p = messages; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 5);
	free(messages);
	target_config_free(&config);
}

static void assert_texts(struct strlist *list, const char *first, const char *second)
{
	assert_int_equal(list->nr, !!first + !!second);
	if (first)
		assert_string_equal(list->item[0], first);
	if (second)
		assert_string_equal(list->item[1], second);
	strlist_free(list);
}

static void test_compare(void **state)
{
	struct strlist texts = { };
	struct target_config want, have;
	struct target_config_object *w, *h;

	(void)state;
	parse_good(whole, &want);
	parse_good(whole, &have);
	w = &want.list[TARGET_CONFIG_EXPORT].object[0];
	h = &have.list[TARGET_CONFIG_EXPORT].object[0];
	target_config_differences(TARGET_CONFIG_EXPORT, w, h, &texts);
	target_config_extras(TARGET_CONFIG_EXPORT, w, h, &texts);
	assert_texts(&texts, NULL, NULL);

	/* A window can be changed at any time, so it is not compared. */
	h->value[TARGET_EXPORT_WINDOW][0] = '1';
	target_config_differences(TARGET_CONFIG_EXPORT, w, h, &texts);
	assert_texts(&texts, NULL, NULL);

	/* If the file has no UUID, any UUID matches. */
	free(w->value[TARGET_EXPORT_UUID]);
	w->value[TARGET_EXPORT_UUID] = NULL;
	/* An export that is not enabled yet, or lacks a link, can still become the wanted one. */
	h->value[TARGET_EXPORT_ENABLE][0] = '0';
	free(h->links[0].item[--h->links[0].nr]);
	target_config_differences(TARGET_CONFIG_EXPORT, w, h, &texts);
	target_config_extras(TARGET_CONFIG_EXPORT, w, h, &texts);
	assert_texts(&texts, NULL, NULL);

	h->value[TARGET_EXPORT_ENABLE][0] = '1';
	w->value[TARGET_EXPORT_ENABLE][0] = '0';
	h->value[1][0] = '1';
	target_config_differences(TARGET_CONFIG_EXPORT, w, h, &texts);
	assert_texts(&texts, "readonly is \"1\", not \"0\"", "it is enabled");

	strlist_add(&h->links[0], "another");
	strlist_add(&h->links[1], "a reader");
	target_config_extras(TARGET_CONFIG_EXPORT, w, h, &texts);
	assert_texts(&texts, "it allows host another", "it allows host to read a reader");

	/* The fence state of a host (value 6) is not compared. */
	w = &want.list[TARGET_CONFIG_HOST].object[0];
	h = &have.list[TARGET_CONFIG_HOST].object[0];
	h->value[6][0] = '.';
	target_config_differences(TARGET_CONFIG_HOST, w, h, &texts);
	assert_texts(&texts, NULL, NULL);
	free(h->value[6]);
	h->value[6] = NULL;
	target_config_differences(TARGET_CONFIG_HOST, w, h, &texts);
	assert_texts(&texts, NULL, NULL);
	target_config_differences(TARGET_CONFIG_HOST, h, w, &texts);
	assert_texts(&texts, NULL, NULL);
	target_config_free(&want);
	target_config_free(&have);
}

static void test_was_enabled(void **state)
{
	struct target_config old, now;
	struct target_config_object *before, *export, *other;

	(void)state;
	parse_good(whole, &old);
	parse_good(whole, &now);
	before = &old.list[TARGET_CONFIG_EXPORT].object[0];
	export = &now.list[TARGET_CONFIG_EXPORT].object[0];
	other = &now.list[TARGET_CONFIG_EXPORT].object[1];
	/* The first export is still enabled, and the second one was not enabled before. */
	assert_false(target_config_was_enabled(&old, &now, export));
	assert_false(target_config_was_enabled(&old, &now, other));
	export->value[TARGET_EXPORT_ENABLE][0] = '0';
	assert_true(target_config_was_enabled(&old, &now, export));
	before->value[TARGET_EXPORT_ENABLE][0] = '0';
	assert_false(target_config_was_enabled(&old, &now, export));
	before->value[TARGET_EXPORT_ENABLE][0] = '1';

	/* The file first has another UUID, and then no UUID, which matches any. */
	before->value[TARGET_EXPORT_UUID][0] = '2';
	assert_false(target_config_was_enabled(&old, &now, export));
	free(before->value[TARGET_EXPORT_UUID]);
	before->value[TARGET_EXPORT_UUID] = NULL;
	assert_true(target_config_was_enabled(&old, &now, export));

	/* If another enabled export has the same UUID, this export cannot be enabled. */
	other->value[TARGET_EXPORT_ENABLE][0] = '1';
	assert_true(target_config_was_enabled(&old, &now, export));
	free(other->value[TARGET_EXPORT_UUID]);
	other->value[TARGET_EXPORT_UUID] = xstrdup(export->value[TARGET_EXPORT_UUID]);
	assert_false(target_config_was_enabled(&old, &now, export));
	other->value[TARGET_EXPORT_ENABLE][0] = '0';

	/* The file has no export of this name. */
	before->name[0] = 'x';
	assert_false(target_config_was_enabled(&old, &now, export));
	target_config_free(&old);
	target_config_free(&now);
}

/* Random changes: a text is refused, or its configuration is unchanged by saving. */
static void test_garbled(void **state)
{
	static const char bytes[] = "\"\"\"{}[],:\\/0129-.eEtfn' \t\x80\xff";
	struct unit_random random = unit_random_seeded("config");
	u64 rounds = unit_environment("RNBD_TEST_ROUNDS", 20000);
	u64 i, good = 0;

	(void)state;
	for (i = 0; i < rounds; i++) {
		struct target_config config, again;
		char text[2 * sizeof(whole)];
		size_t len = sizeof(whole) - 1;
		u32 faults = 1 + unit_random_below(&random, 4);

		memcpy(text, whole, sizeof(whole));
		while (faults--) {
			u32 at = unit_random_below(&random, (u32)len);
			u32 run = 1 + unit_random_below(&random, 40);

			if (run > len - at)
				run = (u32)len - at;
			switch (unit_random_below(&random, 4)) {
			case 0:
				text[at] = bytes[unit_random_below(&random, sizeof(bytes))];
				break;
			case 1:
				memmove(text + at, text + at + run, len - at - run);
				len -= run;
				break;
			case 2:
				if (len + run < sizeof(text)) {
					memmove(text + at + run, text + at, len - at);
					len += run;
				}
				break;
			default:
				len = at + 1;
			}
			if (!len)
				text[len++] = '{';
		}
		if (!parse(text, len, &config, NULL)) {
			char *saved = target_config_text(&config);
			char *once_more;

			assert_int_equal(parse(saved, strlen(saved), &again, NULL), 0);
			once_more = target_config_text(&again);
			assert_string_equal(saved, once_more);
			free(once_more);
			free(saved);
			target_config_free(&again);
			good++;
		}
		target_config_free(&config);
	}
	/* If nearly all texts were refused, the test would not show much. */
	if (rounds >= 1000)
		assert_in_range(good, rounds / 100, rounds / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_export),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_all_faults),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_was_enabled),
		cmocka_unit_test(test_garbled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
