// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd export list, rnbd export show: show exports and their state from configfs.
 *
 * Operation: the attributes of an export are read one by one. As text, "show" prints each
 * member of its JSON object on a line, so that text and JSON have the same contents.
 * Ownership: a struct export owns its strings.
 * Concurrency: see configfs.c.
 * Errors: each error is one line on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "link_map.h"
#include "output.h"
#include "target.h"

#define HOST_SIZE	256

/**
 * struct export - attributes and links of an export in configfs
 */
struct export {
	char *path, *state, *cache, *write_cache, *uuid, *owner;
	bool enabled, device_removed, readonly, exclusive;
	uint64_t size, window, sessions, closing;
	struct strlist hosts, readonly_hosts, ports;
};

/*
 * Add the address of a port to @map under the name of each export that the port offers. If
 * @name is not NULL, add it only under @name, and only if the port offers this export.
 */
static void read_port(const char *dir, const char *name, struct link_map *map)
{
	char *exports = xasprintf("%s/exports", dir);
	char *addr = configfs_read(dir, "addr");
	struct strlist offered = { };
	char text[HOST_SIZE];
	char *link;
	size_t i;

	if (name) {
		link = configfs_find_link(exports, name);
		if (link)
			strlist_add(&offered, name);
		free(link);
	} else {
		configfs_links(exports, &offered);
	}
	if (!format_addr(addr, configfs_read_u64(dir, "port"), text, sizeof(text)))
		for (i = 0; i < offered.nr; i++)
			link_map_add(map, offered.item[i], text);
	strlist_free(&offered);
	free(addr);
	free(exports);
}

/* Map the export @name, or each export if @name is NULL, to the addresses of its ports. */
static void read_ports(const char *name, struct link_map *map)
{
	char *all = configfs_path("ports");
	struct strlist names = { };
	size_t i;

	configfs_names(all, &names);
	for (i = 0; i < names.nr; i++) {
		char *dir = xasprintf("%s/%s", all, names.item[i]);

		read_port(dir, name, map);
		free(dir);
	}
	strlist_free(&names);
	free(all);
}

static void read_export(const char *name, struct link_map *ports, struct export *export)
{
	char *dir = configfs_path("exports/%s", name);

	*export = (struct export) {
		.path = configfs_read(dir, "path"),
		.cache = configfs_read(dir, "cache"),
		.write_cache = configfs_read(dir, "write_cache"),
		.uuid = configfs_read(dir, "uuid"),
		.state = configfs_read(dir, "state"),
		.owner = configfs_read(dir, "owner"),
		.enabled = configfs_read_u64(dir, "enable"),
		.device_removed = configfs_read_u64(dir, "device_removed"),
		.readonly = configfs_read_u64(dir, "readonly"),
		.exclusive = configfs_read_u64(dir, "exclusive"),
		.size = configfs_read_u64(dir, "size"),
		.window = configfs_read_u64(dir, "window"),
		.sessions = configfs_read_u64(dir, "sessions"),
		.closing = configfs_read_u64(dir, "closing"),
	};
	target_allowed_hosts(dir, false, &export->hosts);
	target_allowed_hosts(dir, true, &export->readonly_hosts);
	link_map_get(ports, name, &export->ports);
	free(dir);
}

static void free_export(struct export *export)
{
	strlist_free(&export->ports);
	strlist_free(&export->readonly_hosts);
	strlist_free(&export->hosts);
	free(export->owner);
	free(export->uuid);
	free(export->write_cache);
	free(export->cache);
	free(export->state);
	free(export->path);
}

/* Return the UUID of the owner, or NULL if the export has no owner. */
static const char *export_owner(const struct export *export)
{
	return *export->owner && strcmp(export->owner, "none") ? export->owner : NULL;
}

static struct json_object *export_json(const char *name, const struct export *export)
{
	struct json_object *obj = json_object_new_object();

	json_add_string(obj, "name", name);
	json_add_string(obj, "path", export->path);
	json_add_u64(obj, "size", export->size);
	json_add_bool(obj, "enabled", export->enabled);
	json_add_bool(obj, "device_removed", export->device_removed);
	json_add_string(obj, "state", export->state);
	json_add_bool(obj, "readonly", export->readonly);
	json_add_string(obj, "cache", export->cache);
	json_add_string(obj, "write_cache", export->write_cache);
	json_add_bool(obj, "exclusive", export->exclusive);
	json_add_string(obj, "owner", export_owner(export));
	json_add_u64(obj, "window", export->window);
	json_add_string(obj, "uuid", export->uuid);
	json_add_strings(obj, "hosts", &export->hosts);
	json_add_strings(obj, "readonly_hosts", &export->readonly_hosts);
	json_add_strings(obj, "ports", &export->ports);
	json_add_u64(obj, "sessions", export->sessions);
	json_add_u64(obj, "closing", export->closing);
	return obj;
}

static void table_export(struct table *table, const char *name,
			 const struct export *export)
{
	char size[SIZE_TEXT_SIZE];
	char *ports = strlist_join(&export->ports, ",");

	format_size(export->size, size);
	table_cell(table, "%s", name);
	table_cell(table, "%s", export->path);
	table_cell(table, "%s", export->enabled ? size : "-");
	table_cell(table, "%s%s%s", export->device_removed ? "device_removed" : export->state,
		   export->readonly ? ",ro" : "", export->exclusive ? ",excl" : "");
	table_cell(table, "%s", export->cache);
	table_cell(table, "%zu", export->hosts.nr + export->readonly_hosts.nr);
	table_cell(table, "%s", ports);
	table_cell(table, "%zu", (size_t)export->sessions);
	table_cell(table, "%s", export_owner(export) ?: "");
	free(ports);
}

int cmd_export_list(const struct args *args)
{
	static const char * const heads[] = {
		"EXPORT", "PATH", "SIZE", "STATE", "CACHE", "HOSTS", "PORTS", "SESSIONS",
		"OWNER",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	struct json_object *array = json_object_new_array();
	const char *only = args->nr_operands ? args->operand[0] : NULL;
	struct link_map ports = { };
	struct strlist names = { };
	struct export export;
	char *dir;
	size_t i;

	if (only) {
		context_set("export list %s", only);
		dir = target_find_export(only);
		if (dir)
			strlist_add(&names, only);
	} else {
		dir = configfs_check() ? NULL : configfs_path("exports");
		if (dir)
			configfs_names(dir, &names);
	}
	if (!dir) {
		json_object_put(array);
		return RNBD_EXIT_FAIL;
	}
	free(dir);

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	read_ports(only, &ports);
	for (i = 0; i < names.nr; i++) {
		read_export(names.item[i], &ports, &export);
		table_export(&table, names.item[i], &export);
		json_object_array_add(array, export_json(names.item[i], &export));
		free_export(&export);
	}
	list_print(&table, array, args_has(args, "json"));
	link_map_free(&ports);
	strlist_free(&names);
	return RNBD_EXIT_OK;
}

static void print_text(struct json_object *value)
{
	char *text = xstrdup(json_object_get_string(value) ?: "-");

	printf(" %s", printable(text));
	free(text);
}

/* Print "key: value"; spaces separate the elements of an array. */
static void print_line(const char *key, struct json_object *value)
{
	size_t i;

	printf("%s:", key);
	if (json_object_is_type(value, json_type_array)) {
		for (i = 0; i < json_object_array_length(value); i++)
			print_text(json_object_array_get_idx(value, i));
	} else {
		print_text(value);
	}
	putchar('\n');
}

int cmd_export_show(const struct args *args)
{
	const char *name = args->operand[0];
	struct link_map ports = { };
	struct json_object *obj;
	struct export export;
	char *dir;

	context_set("export show %s", name);
	dir = target_find_export(name);
	if (!dir)
		return RNBD_EXIT_FAIL;
	free(dir);
	read_ports(name, &ports);
	read_export(name, &ports, &export);
	link_map_free(&ports);
	obj = export_json(name, &export);
	free_export(&export);
	if (args_has(args, "json")) {
		json_print(obj);
		return RNBD_EXIT_OK;
	}
	json_object_object_foreach(obj, key, value) {
		print_line(key, value);
	}
	json_object_put(obj);
	return RNBD_EXIT_OK;
}
