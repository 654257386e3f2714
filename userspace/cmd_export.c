// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd export add, remove, enable, disable and resize: manage exports in the target's configfs.
 *
 * Operation: each command is a short sequence of steps on configfs; target.c has the
 * steps that several commands share. If a step of "add" fails, the command removes the
 * objects that its earlier steps created.
 * Ownership: configfs holds the state; this file keeps none.
 * Concurrency: see configfs.c.
 * Errors: one line per failure. The exit code is 2 for a wrong command line, otherwise 1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rnbd/wire.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "link_map.h"
#include "owner_store.h"
#include "parse.h"
#include "target.h"
#include "target_wait.h"

#define ANY_ADDR	"0.0.0.0"
#define HOST_SIZE	256

static int offer_on_addr(const char *export_dir, const char *text)
{
	char host[HOST_SIZE];
	uint16_t port;
	char *dir;
	int ret;

	if (parse_addr(text, host, sizeof(host), &port)) {
		err("--port %s: wanted ADDR, ADDR:PORT or [IPV6]:PORT", text);
		return -EINVAL;
	}
	port = port ?: RNBD_DEFAULT_PORT;
	dir = target_find_port(host, port) ?: target_make_port(host, port);
	if (!dir)
		return -EIO;
	ret = target_offer(dir, export_dir);
	if (!ret)
		ret = target_enable_port(dir);
	free(dir);
	return ret;
}

/* Offer the export on all ports. Fail if none of them is enabled. */
static int offer_on_all(const struct strlist *ports, const char *export_dir)
{
	bool enabled = false;
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < ports->nr; i++) {
		char *dir = configfs_path("ports/%s", ports->item[i]);

		enabled |= configfs_read_u64(dir, "enable");
		ret = target_offer(dir, export_dir);
		free(dir);
	}
	if (!ret && !enabled) {
		err("all ports are disabled; run: rnbd port add ADDR, or give --port ADDR");
		ret = -ENODEV;
	}
	return ret;
}

/*
 * Offer the export on the given ports. Without --port, offer it on all ports, or on a new
 * port if there is none.
 */
static int offer(const struct args *args, const char *export_dir)
{
	struct strlist ports = { };
	const char *text;
	size_t pos = 0;
	char *dir;
	int ret = 0;

	if (args_has(args, "port")) {
		while (!ret && (text = args_next(args, "port", &pos)))
			ret = offer_on_addr(export_dir, text);
		return ret;
	}
	dir = configfs_path("ports");
	configfs_names(dir, &ports);
	free(dir);
	if (ports.nr) {
		ret = offer_on_all(&ports, export_dir);
	} else {
		ret = offer_on_addr(export_dir, ANY_ADDR);
		if (!ret)
			note("listening on " ANY_ADDR ":%u", RNBD_DEFAULT_PORT);
	}
	strlist_free(&ports);
	return ret;
}

/*
 * Check that no other enabled export has the same UUID, which identifies the data. The
 * kernel repeats the check when it enables the export.
 */
static int check_uuid_unused(const char *export_dir)
{
	char *exports = configfs_path("exports"), *uuid = configfs_read(export_dir, "uuid");
	const char *self = strrchr(export_dir, '/') + 1;
	struct strlist names = { };
	int ret = 0;
	size_t i;

	configfs_names(exports, &names);
	for (i = 0; !ret && i < names.nr; i++) {
		char *dir = xasprintf("%s/%s", exports, names.item[i]);
		char *other = configfs_read(dir, "uuid");

		if (strcmp(names.item[i], self) && !strcmp(other, uuid) &&
		    configfs_read_u64(dir, "enable")) {
			err("UUID %s: used by export %s; change it or run: rnbd export disable %s",
			    uuid, names.item[i], names.item[i]);
			ret = -EEXIST;
		}
		free(other);
		free(dir);
	}
	strlist_free(&names);
	free(uuid);
	free(exports);
	return ret;
}

static int add_steps(const struct args *args, const char *dir)
{
	const char *uuid = args_value(args, "uuid");
	const char *write_cache = args_value(args, "write-cache");
	const char *cache = args_value(args, "cache");
	const char *host;
	size_t pos = 0;
	int ret;

	ret = configfs_write(dir, "path", args_value(args, "path"));
	if (!ret && args_has(args, "read-only"))
		ret = configfs_write(dir, "readonly", "1");
	if (!ret && cache)
		ret = configfs_write(dir, "cache", cache);
	if (!ret && write_cache)
		ret = configfs_write(dir, "write_cache", write_cache);
	if (!ret && uuid)
		ret = configfs_write(dir, "uuid", uuid) ?: check_uuid_unused(dir);
	if (!ret && args_has(args, "exclusive"))
		ret = configfs_write(dir, "exclusive", "1");
	/* Restore the stored owner, if an earlier export of the same data had one. */
	if (!ret)
		ret = owner_store_put_back(dir);
	while (!ret && (host = args_next(args, "host", &pos)))
		ret = target_allow_host(dir, host, false, false);
	for (pos = 0; !ret && (host = args_next(args, "read-only-host", &pos));)
		ret = target_allow_host(dir, host, true, false);
	if (!ret)
		ret = configfs_write(dir, "enable", "1");
	if (!ret)
		ret = offer(args, dir);
	return ret;
}

static int check_add(const struct args *args, const char *name)
{
	const char *path = args_value(args, "path");
	const char *write_cache = args_value(args, "write-cache");
	const char *cache = args_value(args, "cache");
	const char *uuid = args_value(args, "uuid");
	size_t host_pos = 0, port_pos = 0;
	char host[HOST_SIZE];
	uint8_t id[UUID_SIZE];
	const char *text;
	uint16_t port;
	struct stat st;

	if (!export_name_valid(name))
		return usage_err("\"%s\" is not an export name: 1 to 63 of A-Z a-z 0-9 . _ : -",
				 name);
	if (!path)
		return usage_err("--path is missing; usage: rnbd export add NAME --path PATH");
	if (cache && strcmp(cache, "none") && strcmp(cache, "pagecache"))
		return usage_err("--cache %s: wanted none or pagecache", cache);
	if (write_cache && strcmp(write_cache, "through") && strcmp(write_cache, "back"))
		return usage_err("--write-cache %s: wanted through or back", write_cache);
	if (path[0] != '/')
		return usage_err("--path %s: wanted an absolute path", path);
	if (uuid && parse_uuid(uuid, id))
		return usage_err("--uuid %s: not a UUID", uuid);
	while ((text = args_next(args, "host", &host_pos))) {
		if (parse_uuid(text, id))
			return usage_err("--host %s: not a UUID; run on the client: rnbd hostid",
					 text);
	}
	for (host_pos = 0; (text = args_next(args, "read-only-host", &host_pos));) {
		if (parse_uuid(text, id))
			return usage_err("--read-only-host %s: not a UUID; see: rnbd hostid", text);
	}
	while ((text = args_next(args, "port", &port_pos))) {
		if (parse_addr(text, host, sizeof(host), &port))
			return usage_err("--port %s: wanted ADDR, ADDR:PORT or [IPV6]:PORT", text);
	}
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

static void add_difference(struct strlist *list, const char *dir, const char *attr,
			   const char *requested)
{
	char *have = configfs_read(dir, attr);
	char *text;

	if (strcmp(have, requested)) {
		text = xasprintf("%s is \"%s\", not \"%s\"", attr, have, requested);
		strlist_add(list, text);
		free(text);
	}
	free(have);
}

static void add_missing_host(struct strlist *list, const char *dir, const char *uuid,
			     bool readonly)
{
	char *link = target_permission(dir, uuid, readonly);
	char *text;

	if (!link) {
		text = xasprintf("host %s is not allowed%s", uuid, readonly ? " to read" : "");
		strlist_add(list, text);
		free(text);
	}
	free(link);
}

static bool offered_at(const char *name, const char *addr, uint16_t port)
{
	char *dir = target_find_port(addr, port);
	char *exports = dir ? xasprintf("%s/exports", dir) : NULL;
	char *link = dir ? configfs_find_link(exports, name) : NULL;
	bool offered = link && configfs_read_u64(dir, "enable");

	free(link);
	free(exports);
	free(dir);
	return offered;
}

/* Check whether an enabled port offers the export. */
static bool offered(const char *name)
{
	struct strlist ports = { };
	char *all = configfs_path("ports");
	bool found = false;
	size_t i;

	configfs_names(all, &ports);
	for (i = 0; !found && i < ports.nr; i++) {
		char *dir = xasprintf("%s/%s", all, ports.item[i]);
		char *exports = xasprintf("%s/exports", dir);
		char *link = configfs_find_link(exports, name);

		found = link && configfs_read_u64(dir, "enable");
		free(link);
		free(exports);
		free(dir);
	}
	strlist_free(&ports);
	free(all);
	return found;
}

static int add_missing_port(struct strlist *list, const char *name, const char *text)
{
	char host[HOST_SIZE];
	uint16_t port;
	char *missing;

	if (parse_addr(text, host, sizeof(host), &port))
		return usage_err("--port %s: wanted ADDR, ADDR:PORT or [IPV6]:PORT", text);
	if (!offered_at(name, host, port ?: RNBD_DEFAULT_PORT)) {
		missing = xasprintf("it is not offered at %s", text);
		strlist_add(list, missing);
		free(missing);
	}
	return RNBD_EXIT_OK;
}

/* List the options of "add" that an existing export does not match. Returns an exit code. */
static int find_unfulfilled(const struct args *args, const char *name, const char *dir,
			    struct strlist *list)
{
	const char *uuid_text = args_value(args, "uuid");
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	const char *value;
	size_t pos = 0;
	int ret = RNBD_EXIT_OK;

	add_difference(list, dir, "path", args_value(args, "path"));
	add_difference(list, dir, "readonly", args_has(args, "read-only") ? "1" : "0");
	add_difference(list, dir, "cache", args_value(args, "cache") ?: "none");
	add_difference(list, dir, "write_cache", args_value(args, "write-cache") ?: "through");
	add_difference(list, dir, "exclusive", args_has(args, "exclusive") ? "1" : "0");
	if (uuid_text) {
		if (parse_uuid(uuid_text, uuid))
			return usage_err("--uuid %s: not a UUID", uuid_text);
		format_uuid(uuid, text);
		add_difference(list, dir, "uuid", text);
	}
	add_difference(list, dir, "enable", "1");
	while ((value = args_next(args, "host", &pos))) {
		if (parse_uuid(value, uuid))
			return usage_err("--host %s: not a UUID", value);
		add_missing_host(list, dir, value, false);
	}
	for (pos = 0; (value = args_next(args, "read-only-host", &pos));) {
		if (parse_uuid(value, uuid))
			return usage_err("--read-only-host %s: not a UUID", value);
		add_missing_host(list, dir, value, true);
	}
	for (pos = 0; !ret && (value = args_next(args, "port", &pos));)
		ret = add_missing_port(list, name, value);
	return ret;
}

/*
 * Handle "add" of an export that exists: succeed if --idempotent is given and the export
 * matches the other options.
 */
static int check_existing(const struct args *args, const char *name, const char *dir)
{
	struct strlist list = { };
	size_t i;
	int ret;

	if (!args_has(args, "idempotent")) {
		err("it exists; see: rnbd export show %s; to replace it: rnbd export remove %s",
		    name, name);
		return RNBD_EXIT_FAIL;
	}
	ret = find_unfulfilled(args, name, dir, &list);
	for (i = 0; !ret && i < list.nr; i++)
		err("it exists, but %s; to create it again, first run: rnbd export remove %s",
		    list.item[i], name);
	if (!ret && list.nr)
		ret = RNBD_EXIT_FAIL;
	/*
	 * Without --port, it suffices that one enabled port offers the export. If no enabled port
	 * offers it, for example because an earlier "add" was interrupted, offer it now.
	 */
	if (!ret && !args_has(args, "port") && !offered(name) && offer(args, dir)) {
		target_unmake();
		ret = RNBD_EXIT_FAIL;
	}
	target_keep();
	strlist_free(&list);
	return ret;
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
	if (configfs_check())
		return RNBD_EXIT_FAIL;

	dir = configfs_path("exports/%s", name);
	ret = target_make_dir(dir);
	if (ret == -EEXIST) {
		ret = check_existing(args, name, dir);
		free(dir);
		return ret;
	}
	if (!ret)
		ret = add_steps(args, dir);
	if (ret)
		target_unmake();
	else if (!args_has(args, "host") && !args_has(args, "read-only-host"))
		note("export %s allows no host yet; run: rnbd export allow %s UUID",
		     name, name);
	target_keep();
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int prune_ports(const struct strlist *ports)
{
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < ports->nr; i++) {
		struct strlist offers = { };
		char *dir = configfs_path("ports/%s", ports->item[i]);
		char *sub = xasprintf("%s/exports", dir);

		configfs_names(sub, &offers);
		if (!offers.nr)
			ret = target_remove_port(dir);
		strlist_free(&offers);
		free(sub);
		free(dir);
	}
	return ret;
}

/* Remove hosts that no export allows, except fenced ones; see target_remove_host(). */
static int prune_hosts(const struct strlist *hosts)
{
	struct link_map used = { };
	int ret = 0;
	size_t i;

	target_hosts_exports(&used);
	for (i = 0; !ret && i < hosts->nr; i++) {
		char *dir = configfs_path("hosts/%s", hosts->item[i]);
		bool in_use = link_map_has(&used, hosts->item[i]);

		if (!in_use && configfs_read_u64(dir, "fenced"))
			note("host %s is kept, it is fenced; see: rnbd unfence, rnbd host remove",
			     hosts->item[i]);
		else if (!in_use)
			ret = target_remove_host(dir);
		free(dir);
	}
	link_map_free(&used);
	return ret;
}

/* Remove the links of all ports to an export, and add the names of these ports to @ports. */
static int withdraw(const char *name, struct strlist *ports)
{
	struct strlist names = { };
	char *dir = configfs_path("ports");
	int ret = 0;
	size_t i;

	configfs_names(dir, &names);
	free(dir);
	for (i = 0; !ret && i < names.nr; i++) {
		char *exports = configfs_path("ports/%s/exports", names.item[i]);
		char *link = configfs_find_link(exports, name);

		if (link) {
			strlist_add(ports, names.item[i]);
			ret = configfs_unlink(link);
		}
		free(link);
		free(exports);
	}
	strlist_free(&names);
	return ret;
}

/* Check that the target module is loaded and has no export with this name. */
static bool is_absent(const char *name)
{
	char *root = configfs_path("exports");
	char *dir = configfs_path("exports/%s", name);
	bool absent = export_name_valid(name) && configfs_exists(root) && !configfs_exists(dir);

	free(dir);
	free(root);
	return absent;
}

int cmd_export_remove(const struct args *args)
{
	const char *name = args->operand[0];
	struct strlist ports = { }, hosts = { };
	char *dir;
	int ret;

	context_set("export remove %s", name);
	if (args_has(args, "idempotent") && is_absent(name))
		return RNBD_EXIT_OK;
	dir = target_find_export(name);
	if (!dir)
		return RNBD_EXIT_FAIL;

	target_allowed_hosts(dir, false, &hosts);
	target_allowed_hosts(dir, true, &hosts);
	ret = withdraw(name, &ports);
	if (!ret)
		ret = target_remove_export(dir);
	if (!ret && args_has(args, "prune")) {
		ret = prune_ports(&ports);
		if (!ret)
			ret = prune_hosts(&hosts);
	}
	strlist_free(&hosts);
	strlist_free(&ports);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int set_enable(const struct args *args, const char *verb, bool enable)
{
	uint32_t seconds = 0;
	char *dir;
	int ret;

	context_set("export %s %s", verb, args->operand[0]);
	ret = enable ? RNBD_EXIT_OK : target_wait_options(args, &seconds);
	if (ret)
		return ret;
	dir = target_find_export(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	ret = enable ? check_uuid_unused(dir) : 0;
	if (!ret && enable)
		ret = configfs_write(dir, "enable", "1");
	else if (!ret && args_has(args, "no-wait"))
		ret = target_begin_disable(dir);
	else if (!ret)
		ret = target_disable_export(dir, seconds);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_export_enable(const struct args *args)
{
	return set_enable(args, "enable", true);
}

int cmd_export_disable(const struct args *args)
{
	return set_enable(args, "disable", false);
}

/* The write makes the target read the new size and notify its clients. */
int cmd_export_resize(const struct args *args)
{
	const char *name = args->operand[0];
	int ret = -ENODEV;
	char *dir;

	context_set("export resize %s", name);
	dir = target_find_export(name);
	if (!dir)
		return RNBD_EXIT_FAIL;
	if (configfs_read_u64(dir, "enable"))
		ret = configfs_write(dir, "resize", "1");
	else
		err("the export is disabled; run: rnbd export enable %s", name);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
