// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd port ...: manage the ports, that is the addresses at which the target listens.
 *
 * Operation: an operand names a port by its ID, which is the name of its directory in
 * configfs, or by its address.
 * Ownership: configfs holds the state; this file keeps none.
 * Concurrency: see configfs.c.
 * Errors: one line. An "add" that fails removes the directory that it created.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rnbd/wire.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "output.h"
#include "target.h"

#define HOST_SIZE	256

int cmd_port_add(const struct args *args)
{
	const char *text = args->operand[0];
	char host[HOST_SIZE];
	uint16_t port;
	char *dir;

	context_set("port add %s", text);
	if (parse_addr(text, host, sizeof(host), &port))
		return usage_err("wanted ADDR, ADDR:PORT or [IPV6]:PORT");
	if (configfs_check())
		return RNBD_EXIT_FAIL;
	port = port ?: RNBD_DEFAULT_PORT;
	dir = target_find_port(host, port);
	if (dir && configfs_read_u64(dir, "enable")) {
		err("port %s listens there already; see: rnbd port list", strrchr(dir, '/') + 1);
		free(dir);
		return RNBD_EXIT_FAIL;
	}
	if (dir && target_enable_port(dir)) {
		free(dir);
		return RNBD_EXIT_FAIL;
	}
	if (!dir)
		dir = target_make_port(host, port);
	if (!dir) {
		target_unmake();
		return RNBD_EXIT_FAIL;
	}
	target_keep();
	puts(strrchr(dir, '/') + 1);
	free(dir);
	return RNBD_EXIT_OK;
}

/* Find the directory of a port by its ID or address; returns NULL after an error message. */
static char *find_port(const char *text)
{
	char host[HOST_SIZE];
	char *dir = NULL;
	uint16_t port;

	if (configfs_check())
		return NULL;
	if (export_name_valid(text)) {
		dir = configfs_path("ports/%s", text);
		if (configfs_exists(dir))
			return dir;
		free(dir);
		dir = NULL;
	}
	if (!parse_addr(text, host, sizeof(host), &port))
		dir = target_find_port(host, port ?: RNBD_DEFAULT_PORT);
	if (!dir)
		err("there is no such port; see: rnbd port list");
	return dir;
}

int cmd_port_remove(const struct args *args)
{
	struct strlist offers = { };
	char *dir, *exports, *joined;
	int ret = -1;

	context_set("port remove %s", args->operand[0]);
	dir = find_port(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	exports = xasprintf("%s/exports", dir);
	configfs_links(exports, &offers);
	if (offers.nr && !args_has(args, "force")) {
		joined = strlist_join(&offers, " ");
		err("it offers exports (%s); remove them first, or use --force", joined);
		free(joined);
	} else {
		ret = target_remove_port(dir);
	}
	strlist_free(&offers);
	free(exports);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static void list_port(const char *id, struct table *table, struct json_object *array)
{
	struct json_object *obj = json_object_new_object();
	char *dir = configfs_path("ports/%s", id);
	char *links = xasprintf("%s/exports", dir);
	uint64_t sessions = configfs_read_u64(dir, "sessions");
	uint64_t port = configfs_read_u64(dir, "port");
	char *state = configfs_read(dir, "state");
	char *addr = configfs_read(dir, "addr");
	struct strlist exports = { };
	char *joined;

	configfs_links(links, &exports);
	joined = strlist_join(&exports, ",");
	table_cell(table, "%s", id);
	table_cell(table, "%s", addr);
	table_cell(table, "%zu", (size_t)port);
	table_cell(table, "%s", state);
	table_cell(table, "%zu", (size_t)sessions);
	table_cell(table, "%s", joined);
	json_add_string(obj, "id", id);
	json_add_string(obj, "address", addr);
	json_add_u64(obj, "port", port);
	json_add_bool(obj, "enabled", configfs_read_u64(dir, "enable"));
	json_add_string(obj, "state", state);
	json_add_strings(obj, "exports", &exports);
	json_add_u64(obj, "sessions", sessions);
	json_object_array_add(array, obj);
	free(joined);
	strlist_free(&exports);
	free(addr);
	free(state);
	free(links);
	free(dir);
}

int cmd_port_list(const struct args *args)
{
	static const char * const heads[] = {
		"ID", "ADDRESS", "PORT", "STATE", "SESSIONS", "EXPORTS",
	};

	return target_list("ports", heads, ARRAY_SIZE(heads), list_port,
			   args_has(args, "json"));
}
