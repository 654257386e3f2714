// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd host ..., rnbd export allow and deny: manage hosts and their permissions.
 *
 * Operation: "allow" creates a host that does not exist yet. The host and its limits stay
 * until the host is removed, even while it is allowed no export. A permission is a link in
 * configfs from an export to a host; the kernel denies an export to hosts without a link.
 * Ownership: configfs holds the state; this file keeps none.
 * Concurrency: see configfs.c.
 * Errors: one line. "allow" and "deny" stop at the first host that fails and do not change
 * the hosts after it on the command line. Unless --no-wait is given, "deny" waits even after
 * such a failure for the requests of the hosts that it has denied.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "link_map.h"
#include "output.h"
#include "secret_store.h"
#include "target.h"
#include "target_wait.h"

/* Check the UUIDs first, so that a wrong command line changes nothing. */
static int check_hosts(const struct args *args)
{
	uint8_t uuid[UUID_SIZE];
	int i;

	for (i = 1; i < args->nr_operands; i++) {
		if (parse_uuid(args->operand[i], uuid))
			return usage_err("host %s: not a UUID; rnbd hostid on the client prints it",
					 args->operand[i]);
	}
	return 0;
}

static int allow(const struct args *args)
{
	char *dir;
	int ret = 0;
	int i;

	context_set("%s %s", args->cmd->name, args->operand[0]);
	if (check_hosts(args))
		return RNBD_EXIT_USAGE;
	dir = target_find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	for (i = 1; !ret && i < args->nr_operands; i++)
		ret = target_allow_host(dir, args->operand[i], args_has(args, "read-only"), true);
	target_keep();
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int unlink_host(const char *export_dir, const char *text)
{
	char *link = target_allowed_link(export_dir, text);
	int ret;

	if (!link) {
		err("host %s is not allowed", text);
		return -ENOENT;
	}
	ret = configfs_unlink(link);
	free(link);
	return ret;
}

/* Deny all hosts, and wait only then: hung storage must not delay the denial of a host. */
static int deny(const struct args *args)
{
	int denied = 0, waited = 0;
	uint32_t seconds = 0;
	int ret = 0;
	char *dir;

	context_set("%s %s", args->cmd->name, args->operand[0]);
	if (check_hosts(args) || target_wait_options(args, &seconds))
		return RNBD_EXIT_USAGE;
	dir = target_find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	while (!ret && denied + 1 < args->nr_operands) {
		ret = unlink_host(dir, args->operand[denied + 1]);
		denied += !ret;
	}
	if (denied && !args_has(args, "no-wait"))
		waited = target_wait_closed(dir, seconds);
	ret = ret ?: waited;
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_host_allow(const struct args *args)
{
	return allow(args);
}

int cmd_host_deny(const struct args *args)
{
	return deny(args);
}

int cmd_export_allow(const struct args *args)
{
	return allow(args);
}

int cmd_export_deny(const struct args *args)
{
	return deny(args);
}

/* List the exports that a host may attach. */
static void exports_of(const char *host, struct strlist *exports)
{
	struct strlist names = { };
	char *all = configfs_path("exports");
	size_t i;

	configfs_names(all, &names);
	for (i = 0; i < names.nr; i++) {
		char *dir = xasprintf("%s/%s", all, names.item[i]);
		char *link = target_allowed_link(dir, host);

		if (link)
			strlist_add(exports, names.item[i]);
		free(link);
		free(dir);
	}
	strlist_free(&names);
	free(all);
}

/*
 * Limits of a host. If @option is NULL, the limit is an operand and not an option. The word
 * "none" on the command line means that there is no limit, which is 0 in configfs.
 */
static const struct {
	const char *attr;
	const char *option;
	const char *label;	/* prefix of the value in messages */
	bool is_number;
} limits[] = {
	{ "max_pool_bytes", NULL, "" },
	{ "max_session_pool_bytes", "session-pool", "--session-pool " },
	{ "max_sessions", "sessions", "--sessions ", true },
};

/* Parse the text of a limit; *limit is 0 if the text is "none". Returns an exit code. */
static int parse_limit(size_t i, const char *text, uint64_t *limit)
{
	uint32_t number = 0;

	*limit = 0;
	if (!strcmp(text, "none"))
		return RNBD_EXIT_OK;
	if (!limits[i].is_number) {
		if (parse_size(text, INT64_MAX, limit))
			return usage_err("%s%s: wanted a size such as 64M, or none",
					 limits[i].label, text);
		return RNBD_EXIT_OK;
	}
	if (parse_u32(text, 1, UINT32_MAX, &number))
		return usage_err("%s%s: wanted a number from 1 to %u, or none", limits[i].label,
				 text, UINT32_MAX);
	*limit = number;
	return RNBD_EXIT_OK;
}

int cmd_host_limit(const struct args *args)
{
	char *values[ARRAY_SIZE(limits)] = { };
	uint8_t uuid[UUID_SIZE];
	char *dir = NULL;
	int nr = 0, ret;
	size_t i;

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		const char *text = limits[i].option ? args_value(args, limits[i].option) :
				   args->nr_operands > 1 ? args->operand[1] : NULL;
		uint64_t limit;

		if (!text)
			continue;
		ret = parse_limit(i, text, &limit);
		if (ret)
			goto out;
		values[i] = xasprintf("%" PRIu64, limit);
		nr++;
	}
	if (!nr) {
		ret = usage_err("wanted SIZE, --session-pool or --sessions; see: rnbd help %s",
				args->cmd->name);
		goto out;
	}
	dir = target_find_host(args->operand[0]);
	ret = dir ? RNBD_EXIT_OK : RNBD_EXIT_FAIL;
	for (i = 0; !ret && i < ARRAY_SIZE(limits); i++)
		if (values[i] && configfs_write(dir, limits[i].attr, values[i]))
			ret = RNBD_EXIT_FAIL;
out:
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		free(values[i]);
	free(dir);
	return ret;
}

int cmd_host_remove(const struct args *args)
{
	struct strlist exports = { };
	char *dir, *joined, text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	int ret = -EBUSY;

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	dir = target_find_host(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	exports_of(strrchr(dir, '/') + 1, &exports);
	if (configfs_read_u64(dir, "fenced")) {
		err("it is fenced; first run: rnbd unfence %s", args->operand[0]);
	} else if (exports.nr) {
		joined = strlist_join(&exports, " ");
		err("it is allowed exports (%s); first run for each: rnbd host deny EXPORT %s",
		    joined, args->operand[0]);
		free(joined);
	} else {
		ret = target_remove_host(dir);
		format_uuid(uuid, text);
		if (!ret)
			ret = secret_forget(text);
	}
	strlist_free(&exports);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_host_fencing(const struct args *args)
{
	const char *word = args->operand[1];
	uint8_t uuid[UUID_SIZE];
	char *dir;
	int ret;

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	if (strcmp(word, "restart") && strcmp(word, "unfence"))
		return usage_err("%s: wanted restart or unfence", word);
	dir = target_find_host(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	ret = configfs_write(dir, "unfence_on_restart", strcmp(word, "restart") ? "0" : "1");
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static void list_size(const char *dir, const char *attr, struct table *table,
		      struct json_object *obj)
{
	uint64_t limit = configfs_read_u64(dir, attr);
	char size[SIZE_TEXT_SIZE];

	format_size(limit, size);
	table_cell(table, "%s", limit ? size : "");
	json_add_u64(obj, attr, limit);
}

static void list_text(const char *dir, const char *attr, struct json_object *obj)
{
	char *text = configfs_read(dir, attr);

	json_add_string(obj, attr, text);
	free(text);
}

/* Exports by host, read once for all rows of the list */
static struct link_map hosts_exports;

static void list_host(const char *name, struct table *table, struct json_object *array)
{
	struct json_object *obj = json_object_new_object();
	char *dir = configfs_path("hosts/%s", name);
	uint64_t max_sessions = configfs_read_u64(dir, "max_sessions");
	uint64_t sessions = configfs_read_u64(dir, "sessions");
	uint64_t weight = configfs_read_u64(dir, "weight");
	bool has_secret = configfs_read_u64(dir, "has_secret");
	bool has_old = configfs_read_u64(dir, "has_old_secret");
	struct strlist exports = { };
	char *joined, *text;

	link_map_get(&hosts_exports, name, &exports);
	joined = strlist_join(&exports, ",");
	json_add_string(obj, "host", name);
	json_add_bool(obj, "has_secret", has_secret);
	json_add_bool(obj, "has_old_secret", has_old);
	json_add_u64(obj, "old_secret_sessions", configfs_read_u64(dir, "old_secret_sessions"));
	table_cell(table, "%s", name);
	table_cell(table, "%s", has_old ? "two" : has_secret ? "yes" : "no");
	list_size(dir, "max_pool_bytes", table, obj);
	list_size(dir, "max_session_pool_bytes", table, obj);
	text = max_sessions ? xasprintf("%" PRIu64, max_sessions) : xstrdup("");
	table_cell(table, "%s", text);
	json_add_u64(obj, "max_sessions", max_sessions);
	table_cell(table, "%" PRIu64, weight);
	json_add_u64(obj, "weight", weight);
	list_text(dir, "cgroup", obj);
	list_text(dir, "effective_cgroup", obj);
	table_cell(table, "%" PRIu64, sessions);
	table_cell(table, "%s", joined);
	json_add_strings(obj, "exports", &exports);
	json_add_u64(obj, "sessions", sessions);
	json_object_array_add(array, obj);
	free(text);
	free(joined);
	strlist_free(&exports);
	free(dir);
}

int cmd_host_list(const struct args *args)
{
	static const char * const heads[] = {
		"HOST", "SECRET", "POOL-LIMIT", "SESSION-POOL", "MAX-SESSIONS", "WEIGHT",
		"SESSIONS", "EXPORTS",
	};

	int ret;

	target_hosts_exports(&hosts_exports);
	ret = target_list("hosts", heads, ARRAY_SIZE(heads), list_host, args_has(args, "json"));
	link_map_free(&hosts_exports);
	return ret;
}
