// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd export ...: exports, their hosts and ports, in the target's configfs.
 *
 * Operation: every command is a short series of steps on configfs. "add"
 * writes down each step that made something and takes all of them back, last
 * one first, if a later one fails.
 * Ownership: the tree is the state; nothing is kept elsewhere.
 * Concurrency: see configfs.c.
 * Errors: one line per failure; exit code 1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rnbd/wire.h>

#include "command.h"
#include "configfs.h"
#include "output.h"
#include "parse.h"

#define ANY_ADDR	"0.0.0.0"
#define HOST_SIZE	256

/* Things that "add" made, to be unmade in reverse: "d path" or "l path". */
static struct strlist made;

static void made_dir(const char *path)
{
	char *step = xasprintf("d %s", path);

	strlist_add(&made, step);
	free(step);
}

static void made_link(const char *path)
{
	char *step = xasprintf("l %s", path);

	strlist_add(&made, step);
	free(step);
}

static void unmake(void)
{
	while (made.nr) {
		const char *step = made.item[made.nr - 1];

		if (step[0] == 'd')
			cfg_rmdir(step + 2);
		else
			cfg_unlink(step + 2);
		free(made.item[--made.nr]);
	}
}

static int make_dir(const char *path)
{
	int ret = cfg_mkdir(path);

	if (!ret)
		made_dir(path);
	return ret;
}

static int make_link(const char *target, const char *path)
{
	int ret = cfg_link(target, path);

	if (!ret)
		made_link(path);
	return ret;
}

/* The directory of an export that has to be there, or NULL after a message. */
static char *find_export(const char *name)
{
	char *dir;

	if (cfg_check())
		return NULL;
	dir = cfg_path("exports/%s", name);
	if (!export_name_valid(name) || !cfg_exists(dir)) {
		err("there is no export \"%s\"; see: rnbd export list", name);
		free(dir);
		return NULL;
	}
	return dir;
}

static int allow_host(const char *export_dir, const char *uuid_text)
{
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *host, *link;
	int ret;

	if (parse_uuid(uuid_text, uuid)) {
		err("host %s: not a UUID; rnbd hostid on the client prints it", uuid_text);
		return -EINVAL;
	}
	format_uuid(uuid, text);
	host = cfg_path("hosts/%s", text);
	link = xasprintf("%s/allowed_hosts/%s", export_dir, text);
	ret = make_dir(host);
	if (!ret || ret == -EEXIST)
		ret = make_link(host, link);
	if (ret == -EEXIST)
		ret = 0;
	free(link);
	free(host);
	return ret;
}

static bool same_port(const char *dir, const char *addr, uint16_t port)
{
	char *have_addr = cfg_read(dir, "addr");
	char *have_port = cfg_read(dir, "port");
	bool same;

	same = !strcmp(have_addr, addr) && strtoul(have_port, NULL, 10) == port;
	free(have_port);
	free(have_addr);
	return same;
}

/* The directory of the port with this address, made and enabled if needed. */
static char *find_port(const char *addr, uint16_t port)
{
	struct strlist names = { };
	char *ports = cfg_path("ports");
	char *dir = NULL;
	char number[8];
	unsigned int id;
	size_t i;
	int ret;

	cfg_names(ports, &names);
	for (i = 0; i < names.nr && !dir; i++) {
		dir = xasprintf("%s/%s", ports, names.item[i]);
		if (!same_port(dir, addr, port)) {
			free(dir);
			dir = NULL;
		}
	}
	strlist_free(&names);
	for (id = 1; !dir; id++) {
		dir = xasprintf("%s/%u", ports, id);
		ret = make_dir(dir);
		if (!ret) {
			snprintf(number, sizeof(number), "%u", port);
			ret = cfg_write(dir, "addr", addr);
			if (!ret)
				ret = cfg_write(dir, "port", number);
			if (!ret)
				ret = cfg_write(dir, "enable", "1");
			if (!ret)
				break;
		}
		free(dir);
		dir = NULL;
		if (ret != -EEXIST)
			break;
	}
	free(ports);
	return dir;
}

static int offer_on(const char *name, const char *export_dir, const char *port_dir)
{
	char *link = xasprintf("%s/exports/%s", port_dir, name);
	int ret = make_link(export_dir, link);

	free(link);
	return ret == -EEXIST ? 0 : ret;
}

static int offer_on_addr(const char *name, const char *export_dir, const char *text)
{
	char host[HOST_SIZE];
	uint16_t port;
	char *dir;
	int ret;

	if (parse_addr(text, host, sizeof(host), &port)) {
		err("--port %s: wanted ADDR, ADDR:PORT or [IPV6]:PORT", text);
		return -EINVAL;
	}
	dir = find_port(host, port ?: RNBD_DEFAULT_PORT);
	if (!dir)
		return -EIO;
	ret = offer_on(name, export_dir, dir);
	free(dir);
	return ret;
}

/* On the ports that were named, or on all there are, or on a new one. */
static int offer(const struct args *args, const char *name, const char *export_dir)
{
	struct strlist ports = { };
	const char *text;
	size_t pos = 0, i;
	char *dir;
	int ret = 0;

	if (args_has(args, "port")) {
		while (!ret && (text = args_next(args, "port", &pos)))
			ret = offer_on_addr(name, export_dir, text);
		return ret;
	}
	dir = cfg_path("ports");
	cfg_names(dir, &ports);
	free(dir);
	for (i = 0; !ret && i < ports.nr; i++) {
		dir = cfg_path("ports/%s", ports.item[i]);
		ret = offer_on(name, export_dir, dir);
		free(dir);
	}
	if (!ports.nr) {
		ret = offer_on_addr(name, export_dir, ANY_ADDR);
		if (!ret)
			note("listening on " ANY_ADDR ":%u", RNBD_DEFAULT_PORT);
	}
	strlist_free(&ports);
	return ret;
}

static int add_steps(const struct args *args, const char *name, const char *dir)
{
	const char *uuid = args_value(args, "uuid");
	const char *write_cache = args_value(args, "write-cache");
	const char *cache = args_value(args, "cache");
	const char *host;
	size_t pos = 0;
	int ret;

	ret = cfg_write(dir, "path", args_value(args, "path"));
	if (!ret && args_has(args, "read-only"))
		ret = cfg_write(dir, "readonly", "1");
	if (!ret && cache)
		ret = cfg_write(dir, "cache", cache);
	if (!ret && write_cache)
		ret = cfg_write(dir, "write_cache", write_cache);
	if (!ret && uuid)
		ret = cfg_write(dir, "uuid", uuid);
	while (!ret && (host = args_next(args, "host", &pos)))
		ret = allow_host(dir, host);
	if (!ret)
		ret = cfg_write(dir, "enable", "1");
	if (!ret)
		ret = offer(args, name, dir);
	return ret;
}

static int check_add(const struct args *args, const char *name)
{
	const char *path = args_value(args, "path");
	const char *write_cache = args_value(args, "write-cache");
	const char *cache = args_value(args, "cache");
	struct stat st;

	if (!export_name_valid(name))
		return usage_err("\"%s\" is no name of an export: 1 to 63 of A-Z a-z 0-9 . _ : -",
				 name);
	if (!path)
		return usage_err("--path is missing; usage: rnbd export add NAME --path PATH");
	if (cache && strcmp(cache, "none") && strcmp(cache, "pagecache"))
		return usage_err("--cache %s: wanted none or pagecache", cache);
	if (write_cache && strcmp(write_cache, "through") && strcmp(write_cache, "back"))
		return usage_err("--write-cache %s: wanted through or back", write_cache);
	if (path[0] != '/')
		return usage_err("--path %s: wanted an absolute path", path);
	if (stat(path, &st)) {
		err("%s: %s", path, strerror(errno));
		return RNBD_EXIT_FAIL;
	}
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode)) {
		err("%s is neither a block device nor a regular file", path);
		return RNBD_EXIT_FAIL;
	}
	return RNBD_EXIT_OK;
}

int cmd_export_add(const struct args *args)
{
	const char *name = args->operand[0];
	char *dir;
	int ret;

	context_set("export add %s", name);
	ret = check_add(args, name);
	if (ret)
		return ret;
	if (cfg_check())
		return RNBD_EXIT_FAIL;

	dir = cfg_path("exports/%s", name);
	ret = make_dir(dir);
	if (ret == -EEXIST)
		err("the export exists already; remove it first: rnbd export remove %s", name);
	if (!ret)
		ret = add_steps(args, name, dir);
	if (ret)
		unmake();
	else if (!args_has(args, "host"))
		note("nobody may attach %s yet; allow a host with: rnbd export allow %s UUID",
		     name, name);
	strlist_free(&made);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/* Is this host or export linked to from a directory of that kind? */
static bool in_use(const char *kind, const char *sub, const char *name)
{
	struct strlist names = { };
	char *dir = cfg_path("%s", kind);
	bool used = false;
	size_t i;

	cfg_names(dir, &names);
	free(dir);
	for (i = 0; i < names.nr && !used; i++) {
		dir = cfg_path("%s/%s/%s/%s", kind, names.item[i], sub, name);
		used = cfg_exists(dir);
		free(dir);
	}
	strlist_free(&names);
	return used;
}

static int prune_ports(const struct strlist *ports)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < ports->nr; i++) {
		struct strlist offers = { };
		char *dir = cfg_path("ports/%s", ports->item[i]);
		char *sub = xasprintf("%s/exports", dir);

		cfg_names(sub, &offers);
		if (!offers.nr) {
			ret = cfg_write(dir, "enable", "0");
			if (!ret)
				ret = cfg_rmdir(dir);
		}
		strlist_free(&offers);
		free(sub);
		free(dir);
	}
	return ret;
}

static int prune_hosts(const struct strlist *hosts)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < hosts->nr; i++) {
		char *dir = cfg_path("hosts/%s", hosts->item[i]);

		if (!in_use("exports", "allowed_hosts", hosts->item[i]))
			ret = cfg_rmdir(dir);
		free(dir);
	}
	return ret;
}

/* Unlinks an export from its ports; those are added to @ports. */
static int withdraw(const char *name, struct strlist *ports)
{
	struct strlist names = { };
	char *dir = cfg_path("ports");
	int ret = 0;
	size_t i;

	cfg_names(dir, &names);
	free(dir);
	for (i = 0; !ret && i < names.nr; i++) {
		char *link = cfg_path("ports/%s/exports/%s", names.item[i], name);

		if (cfg_exists(link)) {
			strlist_add(ports, names.item[i]);
			ret = cfg_unlink(link);
		}
		free(link);
	}
	strlist_free(&names);
	return ret;
}

int cmd_export_remove(const struct args *args)
{
	const char *name = args->operand[0];
	struct strlist ports = { }, hosts = { };
	char *dir, *sub;
	size_t i;
	int ret;

	context_set("export remove %s", name);
	dir = find_export(name);
	if (!dir)
		return RNBD_EXIT_FAIL;

	sub = xasprintf("%s/allowed_hosts", dir);
	cfg_names(sub, &hosts);
	ret = withdraw(name, &ports);
	if (!ret)
		ret = cfg_write(dir, "enable", "0");
	for (i = 0; !ret && i < hosts.nr; i++) {
		char *link = xasprintf("%s/%s", sub, hosts.item[i]);

		ret = cfg_unlink(link);
		free(link);
	}
	if (!ret)
		ret = cfg_rmdir(dir);
	if (!ret && args_has(args, "prune")) {
		ret = prune_ports(&ports);
		if (!ret)
			ret = prune_hosts(&hosts);
	}
	strlist_free(&hosts);
	strlist_free(&ports);
	free(sub);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_export_allow(const struct args *args)
{
	char *dir;
	int ret = 0;
	int i;

	context_set("export allow %s", args->operand[0]);
	dir = find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	for (i = 1; !ret && i < args->nr_operands; i++)
		ret = allow_host(dir, args->operand[i]);
	strlist_free(&made);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_export_deny(const struct args *args)
{
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *dir, *link;
	int ret = 0;
	int i;

	context_set("export deny %s", args->operand[0]);
	dir = find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	for (i = 1; !ret && i < args->nr_operands; i++) {
		if (parse_uuid(args->operand[i], uuid)) {
			ret = usage_err("host %s: not a UUID", args->operand[i]);
			break;
		}
		format_uuid(uuid, text);
		link = xasprintf("%s/allowed_hosts/%s", dir, text);
		if (!cfg_exists(link)) {
			err("host %s is not allowed anyway", text);
			ret = -ENOENT;
		} else {
			ret = cfg_unlink(link);
		}
		free(link);
	}
	free(dir);
	if (ret == RNBD_EXIT_USAGE)
		return ret;
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int set_enable(const struct args *args, const char *verb, const char *value)
{
	char *dir;
	int ret;

	context_set("export %s %s", verb, args->operand[0]);
	dir = find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	ret = cfg_write(dir, "enable", value);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_export_enable(const struct args *args)
{
	return set_enable(args, "enable", "1");
}

int cmd_export_disable(const struct args *args)
{
	return set_enable(args, "disable", "0");
}

/**
 * struct export - what configfs says about an export
 */
struct export {
	char *path, *cache, *write_cache, *uuid;
	bool enabled, readonly;
	uint64_t size, sessions;
	struct strlist hosts, ports;
};

static uint64_t read_u64(const char *dir, const char *attr)
{
	char *value = cfg_read(dir, attr);
	uint64_t n = strtoull(value, NULL, 10);

	free(value);
	return n;
}

static void read_ports(const char *name, struct strlist *out)
{
	struct strlist names = { };
	char *dir = cfg_path("ports");
	size_t i;

	cfg_names(dir, &names);
	free(dir);
	for (i = 0; i < names.nr; i++) {
		char *port = cfg_path("ports/%s", names.item[i]);
		char *link = xasprintf("%s/exports/%s", port, name);
		char *addr = cfg_read(port, "addr");
		char text[HOST_SIZE];

		if (cfg_exists(link) &&
		    !format_addr(addr, read_u64(port, "port"), text, sizeof(text)))
			strlist_add(out, text);
		free(addr);
		free(link);
		free(port);
	}
	strlist_free(&names);
}

static void read_export(const char *name, struct export *export)
{
	char *dir = cfg_path("exports/%s", name);
	char *sub = xasprintf("%s/allowed_hosts", dir);

	*export = (struct export) {
		.path = cfg_read(dir, "path"),
		.cache = cfg_read(dir, "cache"),
		.write_cache = cfg_read(dir, "write_cache"),
		.uuid = cfg_read(dir, "uuid"),
		.enabled = read_u64(dir, "enable"),
		.readonly = read_u64(dir, "readonly"),
		.size = read_u64(dir, "size"),
		.sessions = read_u64(dir, "sessions"),
	};
	cfg_names(sub, &export->hosts);
	read_ports(name, &export->ports);
	free(sub);
	free(dir);
}

static void free_export(struct export *export)
{
	strlist_free(&export->ports);
	strlist_free(&export->hosts);
	free(export->uuid);
	free(export->write_cache);
	free(export->cache);
	free(export->path);
}

static struct json_object *json_strings(const struct strlist *list)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < list->nr; i++)
		json_object_array_add(array, json_object_new_string(list->item[i]));
	return array;
}

static struct json_object *export_json(const char *name, const struct export *export)
{
	struct json_object *obj = json_object_new_object();

	json_add_string(obj, "name", name);
	json_add_string(obj, "path", export->path);
	json_add_u64(obj, "size", export->size);
	json_add_bool(obj, "enabled", export->enabled);
	json_add_bool(obj, "readonly", export->readonly);
	json_add_string(obj, "cache", export->cache);
	json_add_string(obj, "write_cache", export->write_cache);
	json_add_string(obj, "uuid", export->uuid);
	json_object_object_add(obj, "hosts", json_strings(&export->hosts));
	json_object_object_add(obj, "ports", json_strings(&export->ports));
	json_add_u64(obj, "sessions", export->sessions);
	return obj;
}

static void table_export(struct table *table, const char *name,
			 const struct export *export)
{
	char size[SIZE_TEXT_SIZE];
	char *ports = xstrdup(export->ports.nr ? export->ports.item[0] : "-");
	size_t i;

	for (i = 1; i < export->ports.nr; i++) {
		char *more = xasprintf("%s,%s", ports, export->ports.item[i]);

		free(ports);
		ports = more;
	}
	format_size(export->size, size);
	table_cell(table, "%s", name);
	table_cell(table, "%s", export->path);
	table_cell(table, "%s", export->enabled ? size : "-");
	table_cell(table, "%s%s", export->enabled ? "enabled" : "disabled",
		   export->readonly ? ",ro" : "");
	table_cell(table, "%s", export->cache);
	table_cell(table, "%zu", export->hosts.nr);
	table_cell(table, "%s", ports);
	table_cell(table, "%zu", (size_t)export->sessions);
	free(ports);
}

int cmd_export_list(const struct args *args)
{
	static const char * const heads[] = {
		"EXPORT", "PATH", "SIZE", "STATE", "CACHE", "HOSTS", "PORTS", "SESSIONS",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	struct json_object *array = json_object_new_array();
	struct strlist names = { };
	struct export export;
	char *dir;
	size_t i;

	if (args->nr_operands) {
		context_set("export list %s", args->operand[0]);
		dir = find_export(args->operand[0]);
		if (dir)
			strlist_add(&names, args->operand[0]);
	} else {
		dir = cfg_check() ? NULL : cfg_path("exports");
		if (dir)
			cfg_names(dir, &names);
	}
	if (!dir) {
		json_object_put(array);
		return RNBD_EXIT_FAIL;
	}
	free(dir);

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < names.nr; i++) {
		read_export(names.item[i], &export);
		table_export(&table, names.item[i], &export);
		json_object_array_add(array, export_json(names.item[i], &export));
		free_export(&export);
	}
	if (args_has(args, "json")) {
		json_print(array);
		strlist_free(&table.cells);
	} else {
		table_print(&table);
		json_object_put(array);
	}
	strlist_free(&names);
	return RNBD_EXIT_OK;
}
