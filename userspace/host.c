// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd host ..., and rnbd export allow and deny: who may attach what.
 *
 * Operation: a host is made when it is first allowed something, and stays, with its
 * limit, until it is removed. Deny by default
 * is the kernel's: a link from an export to a host is all that there is.
 * Ownership: the tree is the state; nothing is kept elsewhere.
 * Concurrency: see configfs.c.
 * Errors: one line; hosts behind one that fails are left as they were.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "configfs.h"
#include "output.h"
#include "secrets.h"
#include "target.h"

/* Before anything is done: a wrong command line does nothing. */
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
		ret = target_allow_host(dir, args->operand[i]);
	target_keep();
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int deny_host(const char *export_dir, const char *text)
{
	char *link;
	int ret;

	link = target_allowed_link(export_dir, text);
	if (!link) {
		err("host %s is not allowed anyway", text);
		return RNBD_EXIT_FAIL;
	}
	ret = cfg_unlink(link);
	free(link);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int deny(const struct args *args)
{
	int ret = RNBD_EXIT_OK;
	char *dir;
	int i;

	context_set("%s %s", args->cmd->name, args->operand[0]);
	if (check_hosts(args))
		return RNBD_EXIT_USAGE;
	dir = target_find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	for (i = 1; !ret && i < args->nr_operands; i++)
		ret = deny_host(dir, args->operand[i]);
	free(dir);
	return ret;
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

/* The exports that a host may attach. */
static void exports_of(const char *host, struct strlist *exports)
{
	struct strlist names = { };
	char *all = cfg_path("exports");
	size_t i;

	cfg_names(all, &names);
	for (i = 0; i < names.nr; i++) {
		char *links = xasprintf("%s/%s/allowed_hosts", all, names.item[i]);
		char *link = cfg_find_link(links, host);

		if (link)
			strlist_add(exports, names.item[i]);
		free(link);
		free(links);
	}
	strlist_free(&names);
	free(all);
}

/* The directory of a host that has to be there; NULL after a message. */
static char *find_host(const char *uuid_text)
{
	char *dir;

	if (cfg_check())
		return NULL;
	dir = target_host_dir(uuid_text);
	if (cfg_exists(dir))
		return dir;
	err("there is no such host; see: rnbd host list; to make it: rnbd host allow EXPORT %s",
	    uuid_text);
	free(dir);
	return NULL;
}

int cmd_host_limit(const struct args *args)
{
	const char *text = args->operand[1];
	uint8_t uuid[UUID_SIZE];
	uint64_t limit = 0;
	char *dir, *value;
	int ret;

	context_set("host limit %s", args->operand[0]);
	if (parse_uuid(args->operand[0], uuid))
		return usage_err("not a UUID; rnbd host list shows the hosts");
	if (strcmp(text, "none") && parse_size(text, INT64_MAX, &limit))
		return usage_err("%s: wanted a size such as 64M, or none", text);
	dir = find_host(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	value = xasprintf("%" PRIu64, limit);
	ret = cfg_write(dir, "max_pool_bytes", value);
	free(value);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_host_remove(const struct args *args)
{
	struct strlist exports = { };
	char *dir, *joined, text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	int ret = -EBUSY;

	context_set("host remove %s", args->operand[0]);
	if (parse_uuid(args->operand[0], uuid))
		return usage_err("not a UUID; rnbd host list shows the hosts");
	dir = find_host(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	exports_of(strrchr(dir, '/') + 1, &exports);
	if (exports.nr) {
		joined = strlist_join(&exports, " ");
		err("it may attach exports (%s); first run for each: rnbd host deny EXPORT %s",
		    joined, args->operand[0]);
		free(joined);
	} else {
		ret = cfg_rmdir(dir);
		format_uuid(uuid, text);
		if (!ret)
			ret = secret_forget(text);
	}
	strlist_free(&exports);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static void list_host(const char *name, struct table *table, struct json_object *array)
{
	struct json_object *obj = json_object_new_object();
	char *dir = cfg_path("hosts/%s", name);
	uint64_t limit = cfg_read_u64(dir, "max_pool_bytes");
	uint64_t sessions = cfg_read_u64(dir, "sessions");
	bool has_secret = cfg_read_u64(dir, "has_secret");
	struct strlist exports = { };
	char size[SIZE_TEXT_SIZE];
	char *joined;

	exports_of(name, &exports);
	joined = strlist_join(&exports, ",");
	format_size(limit, size);
	table_cell(table, "%s", name);
	table_cell(table, "%s", has_secret ? "yes" : "no");
	table_cell(table, "%s", limit ? size : "");
	table_cell(table, "%zu", (size_t)sessions);
	table_cell(table, "%s", joined);
	json_add_string(obj, "host", name);
	json_add_bool(obj, "has_secret", has_secret);
	json_add_u64(obj, "max_pool_bytes", limit);
	json_add_u64(obj, "max_session_pool_bytes",
		     cfg_read_u64(dir, "max_session_pool_bytes"));
	json_add_u64(obj, "max_sessions", cfg_read_u64(dir, "max_sessions"));
	json_add_strings(obj, "exports", &exports);
	json_add_u64(obj, "sessions", sessions);
	json_object_array_add(array, obj);
	free(joined);
	strlist_free(&exports);
	free(dir);
}

int cmd_host_list(const struct args *args)
{
	static const char * const heads[] = {
		"HOST", "SECRET", "POOL-LIMIT", "SESSIONS", "EXPORTS",
	};

	return target_list("hosts", heads, ARRAY_SIZE(heads), list_host,
			   args_has(args, "json"));
}
