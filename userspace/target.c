// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports and ports of the target on this machine: configfs operations that several commands
 * share.
 *
 * Operation: functions that create an object record this step, so that a command that fails
 * later can undo all its steps in reverse order. As in the kernel, a link is found by the object
 * that it leads to and not by its name, because an administrator can have created links with
 * other names. target_host.c has the operations on hosts.
 * Ownership: configfs holds the state. The caller frees the paths that are returned.
 * Concurrency: see configfs.c.
 * Errors: a negative errno after an error message.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configfs.h"
#include "output.h"
#include "owner_store.h"
#include "parse.h"
#include "target.h"
#include "target_uuid.h"
#include "target_wait.h"

/* Steps to undo: "d PATH" of a directory, "l PATH" of a link, "e PATH" of an enabled object. */
static struct strlist made;

/**
 * target_remember() - record a step, so that target_unmake() can undo it
 * @kind: 'd' for a directory, 'l' for a link, 'e' for an enabled object
 * @path: path of the directory, link or object
 */
void target_remember(char kind, const char *path)
{
	char *step = xasprintf("%c %s", kind, path);

	strlist_add(&made, step);
	free(step);
}

/**
 * target_unmake() - undo all steps recorded since the last target_keep(), last one first
 */
void target_unmake(void)
{
	while (made.nr) {
		const char *step = made.item[made.nr - 1];

		if (step[0] == 'd')
			configfs_rmdir(step + 2);
		else if (step[0] == 'e')
			target_begin_disable(step + 2);
		else
			configfs_unlink(step + 2);
		free(made.item[--made.nr]);
	}
	strlist_free(&made);
}

/**
 * target_keep() - discard the recorded steps, so that they are not undone
 */
void target_keep(void)
{
	strlist_free(&made);
}

/* Like configfs_mkdir(), but target_unmake() can undo it. */
int target_make_dir(const char *path)
{
	int ret = configfs_mkdir(path);

	if (!ret)
		target_remember('d', path);
	return ret;
}

/* Like configfs_link(), but target_unmake() can undo it. */
int target_make_link(const char *target, const char *path)
{
	int ret = configfs_link(target, path);

	if (!ret)
		target_remember('l', path);
	return ret;
}

/**
 * target_find_export() - find the directory of an existing export
 * @name: name of the export
 *
 * Return: its path, or NULL after an error message.
 */
char *target_find_export(const char *name)
{
	char *dir;

	if (configfs_check())
		return NULL;
	dir = configfs_path("exports/%s", name);
	if (!export_name_valid(name) || !configfs_exists(dir)) {
		err("there is no export \"%s\"; see: rnbd export list", name);
		free(dir);
		return NULL;
	}
	return dir;
}

/* Remove all links in a directory; continue after a failure. */
static int unlink_all(const char *dir)
{
	struct strlist names = { };
	int ret = 0;
	size_t i;

	configfs_names(dir, &names);
	for (i = 0; i < names.nr; i++) {
		char *link = xasprintf("%s/%s", dir, names.item[i]);

		if (configfs_unlink(link))
			ret = -EIO;
		free(link);
	}
	strlist_free(&names);
	return ret;
}

/**
 * target_remove_export() - remove an export that no port offers
 * @dir: directory of the export
 *
 * The stored owner of the export stays.
 */
int target_remove_export(const char *dir)
{
	char *hosts = xasprintf("%s/allowed_hosts", dir);
	char *readonly_hosts = xasprintf("%s/readonly_hosts", dir);
	int ret;

	ret = target_disable_export(dir, 0);
	/* Store the owner only now: hosts cannot change the owner of a disabled export. */
	if (!ret)
		ret = owner_store_keep(dir);
	/* No error: a newer owner is stored, which was never written to the kernel. */
	if (ret == -ESTALE)
		ret = 0;
	if (!ret)
		ret = unlink_all(hosts) ?: unlink_all(readonly_hosts);
	if (!ret)
		ret = configfs_rmdir(dir);
	free(readonly_hosts);
	free(hosts);
	return ret;
}

static bool same_port(const char *dir, const char *addr, uint16_t port)
{
	char *have = configfs_read(dir, "addr");
	bool same = !strcmp(have, addr) && configfs_read_u64(dir, "port") == port;

	free(have);
	return same;
}

/**
 * target_find_port() - find the directory of a port by its address
 * @addr: numeric address
 * @port: service port
 *
 * Several ports can have the same address, but at most one of them is enabled; the enabled
 * port is preferred.
 *
 * Return: its path, or NULL without a message.
 */
char *target_find_port(const char *addr, uint16_t port)
{
	struct strlist names = { };
	char *ports = configfs_path("ports");
	bool enabled = false;
	char *found = NULL;
	size_t i;

	configfs_names(ports, &names);
	for (i = 0; i < names.nr && !enabled; i++) {
		char *dir = xasprintf("%s/%s", ports, names.item[i]);

		if (same_port(dir, addr, port)) {
			enabled = configfs_read_u64(dir, "enable");
			if (enabled || !found) {
				free(found);
				found = dir;
				continue;
			}
		}
		free(dir);
	}
	strlist_free(&names);
	free(ports);
	return found;
}

/**
 * target_enable_port() - enable a port unless it is enabled already
 * @dir: directory of the port
 */
int target_enable_port(const char *dir)
{
	int ret;

	if (configfs_read_u64(dir, "enable"))
		return 0;
	ret = target_uuid_restore();
	if (!ret)
		ret = configfs_write(dir, "enable", "1");
	if (!ret)
		target_remember('e', dir);
	return ret;
}

static int set_port(const char *dir, const char *addr, uint16_t port)
{
	char number[8];
	int ret;

	snprintf(number, sizeof(number), "%u", port);
	/* Clients must see the stored UUID of the target, so restore it before the first login. */
	ret = target_uuid_restore();
	if (!ret)
		ret = configfs_write(dir, "addr", addr);
	if (!ret)
		ret = configfs_write(dir, "port", number);
	if (!ret)
		ret = configfs_write(dir, "enable", "1");
	return ret;
}

/**
 * target_make_port() - create a port with the lowest free number, and enable it
 * @addr: numeric address
 * @port: service port
 *
 * Return: its path, or NULL after an error message.
 */
char *target_make_port(const char *addr, uint16_t port)
{
	unsigned int id = 0;
	char *dir = NULL;
	int ret;

	do {
		free(dir);
		dir = configfs_path("ports/%u", ++id);
		ret = target_make_dir(dir);
	} while (ret == -EEXIST);
	if (!ret)
		ret = set_port(dir, addr, port);
	if (!ret)
		return dir;
	free(dir);
	return NULL;
}

/**
 * target_remove_port() - remove a port and end its sessions
 * @dir: directory of the port
 */
int target_remove_port(const char *dir)
{
	char *exports = xasprintf("%s/exports", dir);
	int ret;

	ret = target_disable_port(dir);
	if (!ret)
		ret = unlink_all(exports);
	if (!ret)
		ret = configfs_rmdir(dir);
	free(exports);
	return ret;
}

/**
 * target_offer() - offer an export on a port unless the port offers it already
 * @port_dir: directory of the port
 * @export_dir: directory of the export
 */
int target_offer(const char *port_dir, const char *export_dir)
{
	char *link = xasprintf("%s/exports/%s", port_dir, strrchr(export_dir, '/') + 1);
	int ret = target_make_link(export_dir, link);

	/* The port offers the export already, possibly by a link with another name. */
	if (ret == -EEXIST)
		ret = 0;
	free(link);
	return ret;
}

/**
 * target_list() - print all objects of a kind
 * @kind: directory of the objects in configfs
 * @heads: headings of the columns
 * @columns: number of columns
 * @row: function that adds an object to the table and to the JSON array
 * @json: print JSON instead of a table
 *
 * Return: an exit code.
 */
int target_list(const char *kind, const char * const *heads, uint32_t columns,
		target_row_fn *row, bool json)
{
	struct table table = { .columns = columns };
	struct json_object *array;
	struct strlist names = { };
	char *all;
	size_t i;

	if (configfs_check())
		return RNBD_EXIT_FAIL;
	array = json_object_new_array();
	all = configfs_path("%s", kind);
	configfs_names(all, &names);
	for (i = 0; i < columns; i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < names.nr; i++)
		row(names.item[i], &table, array);
	list_print(&table, array, json);
	strlist_free(&names);
	free(all);
	return RNBD_EXIT_OK;
}
