// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports, hosts and ports of the target on this machine: the steps that several
 * commands take on configfs.
 *
 * Operation: what makes something is written down, so that a command that fails
 * later can take all of it back, last one first. Links are found by what they
 * lead to, and hosts whatever the case of their digits, as the kernel sees them:
 * somebody may have made them by hand.
 * Ownership: the tree is the state. Paths that are returned belong to the caller.
 * Concurrency: see configfs.c.
 * Errors: negative errno after a message.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "configfs.h"
#include "fence_store.h"
#include "output.h"
#include "owner_store.h"
#include "parse.h"
#include "secret_store.h"
#include "target.h"
#include "target_uuid.h"
#include "target_wait.h"

/* What was made, to be unmade in reverse: "d path", "l path", or "e path" of what was enabled. */
static struct strlist made;

static void remember(char kind, const char *path)
{
	char *step = xasprintf("%c %s", kind, path);

	strlist_add(&made, step);
	free(step);
}

/**
 * target_unmake() - take back all that was made since the last target_keep()
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
 * target_keep() - what was made stays
 */
void target_keep(void)
{
	strlist_free(&made);
}

/* As configfs_mkdir(), and can be taken back. */
int target_make_dir(const char *path)
{
	int ret = configfs_mkdir(path);

	if (!ret)
		remember('d', path);
	return ret;
}

/* As configfs_link(), and can be taken back. */
int target_make_link(const char *target, const char *path)
{
	int ret = configfs_link(target, path);

	if (!ret)
		remember('l', path);
	return ret;
}

/**
 * target_find_export() - the directory of an export that has to be there
 * @name: of the export
 *
 * Return: its path, or NULL after a message.
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

/* Removes all links in a directory; goes on after a failure. */
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
 * @dir: of the export
 *
 * What is kept of its owner stays.
 */
int target_remove_export(const char *dir)
{
	char *hosts = xasprintf("%s/allowed_hosts", dir);
	char *readonly_hosts = xasprintf("%s/readonly_hosts", dir);
	int ret;

	ret = target_disable_export(dir, 0);
	/* No host can become the owner now. */
	if (!ret)
		ret = owner_store_keep(dir);
	/* The kernel was not told of a newer owner that is kept. */
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

/**
 * target_host_dir() - the directory of a host, or what it is to be called
 * @uuid_text: of the host, in any case
 *
 * Return: its path, or NULL quietly if that is no UUID.
 */
char *target_host_dir(const char *uuid_text)
{
	struct strlist names = { };
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *hosts, *dir;
	size_t i;

	if (parse_uuid(uuid_text, uuid))
		return NULL;
	format_uuid(uuid, text);
	dir = configfs_path("hosts/%s", text);
	if (configfs_exists(dir))
		return dir;
	hosts = configfs_path("hosts");
	configfs_names(hosts, &names);
	free(hosts);
	for (i = 0; i < names.nr; i++) {
		if (strcasecmp(names.item[i], text))
			continue;
		free(dir);
		dir = configfs_path("hosts/%s", names.item[i]);
	}
	strlist_free(&names);
	return dir;
}

/**
 * target_host_operand() - the first operand is the UUID of a host; it is the context
 * @args: the command line
 * @uuid: filled
 *
 * Return: an exit code.
 */
int target_host_operand(const struct args *args, uint8_t *uuid)
{
	context_set("%s %s", args->cmd->name, args->operand[0]);
	if (parse_uuid(args->operand[0], uuid))
		return usage_err("not a UUID; rnbd host list shows the hosts");
	return RNBD_EXIT_OK;
}

/* The directory of a host that has to be there; NULL after a message. */
char *target_find_host(const char *uuid_text)
{
	char *dir;

	if (configfs_check())
		return NULL;
	dir = target_host_dir(uuid_text);
	if (configfs_exists(dir))
		return dir;
	err("there is no such host; see: rnbd host list; to make it: rnbd host allow EXPORT %s",
	    uuid_text);
	free(dir);
	return NULL;
}

/**
 * target_make_bare_host() - make a host without its secret, fenced if it was
 * @dir: of the host
 *
 * The caller sets the secret. One that is there may have been left by somebody who got
 * no further.
 *
 * Return: 0, -EEXIST quietly if it was there, or another negative errno after a message.
 */
int target_make_bare_host(const char *dir)
{
	int made = configfs_mkdir(dir);
	int lock, ret;

	if (made && made != -EEXIST)
		return made;
	lock = fence_store_lock();
	if (lock >= 0) {
		ret = fence_store_put_back(dir);
		close(lock);
	} else {
		/* Nobody is let in who may have been fenced. */
		ret = lock;
		err(FENCE_STORE_DIR
		    ": cannot be used: %s; whether the host was fenced is not known",
		    strerror(-ret));
	}
	if (ret && !made)
		configfs_rmdir(dir);
	if (!ret && !made)
		remember('d', dir);
	return ret ?: made;
}

/**
 * target_make_host() - make a host with the secrets that are kept of it, fenced if it was
 * @dir: of the host
 * @say: report that it has its secret from the copy
 *
 * A host that is there and has no secret gets them as well: no host may be let in without
 * proof because it was made again.
 *
 * Return: 0, -EEXIST quietly if it was there, or another negative errno after a message.
 */
int target_make_host(const char *dir, bool say)
{
	int made = target_make_bare_host(dir);
	int ret;

	if (made && made != -EEXIST)
		return made;
	ret = secret_put_back(dir);
	if (ret > 0 && say)
		note("host %s: has its secret from " SECRET_STORE_DIR, strrchr(dir, '/') + 1);
	if (ret >= 0)
		return made;
	err("host %s: is allowed nothing without its secret; run: rnbd host secret",
	    strrchr(dir, '/') + 1);
	if (!made)
		configfs_rmdir(dir);
	return ret;
}

/**
 * target_remove_host() - remove a host that may attach nothing
 * @dir: of the host
 *
 * What is kept of it stays: that it was fenced, and its secret.
 *
 * Return: 0, or a negative errno after a message.
 */
int target_remove_host(const char *dir)
{
	return fence_store_keep_last(dir) ?: configfs_rmdir(dir);
}

static const char *allowed_dir(bool readonly)
{
	return readonly ? "readonly_hosts" : "allowed_hosts";
}

/**
 * target_allow_host() - let a host attach an export; it may do so already
 * @export_dir: of the export
 * @uuid_text: of the host, which is made if it is not there
 * @readonly: the host may only read
 *
 * A host that has the other permission is an error.
 */
int target_allow_host(const char *export_dir, const char *uuid_text, bool readonly)
{
	char *dir = target_host_dir(uuid_text);
	char *link, *other;
	int ret;

	if (!dir) {
		err("host %s: not a UUID; rnbd hostid on the client prints it", uuid_text);
		return -EINVAL;
	}
	link = target_permission(export_dir, uuid_text, readonly);
	other = target_permission(export_dir, uuid_text, !readonly);
	if (other) {
		err("host %s may %s export %s, which is left so; first run: rnbd export deny %s %s",
		    uuid_text, readonly ? "read and write" : "only read",
		    strrchr(export_dir, '/') + 1, strrchr(export_dir, '/') + 1, uuid_text);
		ret = -EBUSY;
	} else if (link) {
		ret = 0;
	} else {
		link = xasprintf("%s/%s/%s", export_dir, allowed_dir(readonly),
				 strrchr(dir, '/') + 1);
		ret = target_make_host(dir, true);
		if (!ret || ret == -EEXIST)
			ret = target_make_link(dir, link);
		if (ret == -EEXIST)
			ret = 0;
	}
	free(other);
	free(link);
	free(dir);
	return ret;
}

/**
 * target_permission() - the link that gives a host one of the two permissions for an export
 * @export_dir: of the export
 * @uuid_text: of the host, a UUID
 * @readonly: that to read, otherwise that to read and write
 *
 * Return: its path, or NULL quietly if there is none.
 */
char *target_permission(const char *export_dir, const char *uuid_text, bool readonly)
{
	char *links = xasprintf("%s/%s", export_dir, allowed_dir(readonly));
	char *dir = target_host_dir(uuid_text);
	char *link = dir ? configfs_find_link(links, strrchr(dir, '/') + 1) : NULL;

	free(dir);
	free(links);
	return link;
}

/**
 * target_allowed_link() - the link by which a host may attach an export
 * @export_dir: of the export
 * @uuid_text: of the host, a UUID
 *
 * Return: its path, or NULL quietly if there is none.
 */
char *target_allowed_link(const char *export_dir, const char *uuid_text)
{
	return target_permission(export_dir, uuid_text, false) ?:
	       target_permission(export_dir, uuid_text, true);
}

/**
 * target_allowed_hosts() - which hosts have one of the two permissions for an export
 * @export_dir: of the export
 * @readonly: that to read, otherwise that to read and write
 * @uuids: where they go, sorted
 */
int target_allowed_hosts(const char *export_dir, bool readonly, struct strlist *uuids)
{
	char *links = xasprintf("%s/%s", export_dir, allowed_dir(readonly));
	int ret = configfs_links(links, uuids);

	free(links);
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
 * target_find_port() - the directory of the port with an address
 * @addr: numeric
 * @port: service port
 *
 * Return: its path, or NULL quietly. Of several, of which only one can be enabled, that
 * one is it.
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
 * target_enable_port() - listen at a port; it may do so already
 * @dir: of the port
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
		remember('e', dir);
	return ret;
}

static int set_port(const char *dir, const char *addr, uint16_t port)
{
	char number[8];
	int ret;

	snprintf(number, sizeof(number), "%u", port);
	/* Before a client can log in. */
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
 * target_make_port() - make a port with the next free number, and enable it
 * @addr: numeric
 * @port: service port
 *
 * Return: its path, or NULL after a message.
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
 * target_remove_port() - remove a port and the sessions that it has
 * @dir: of the port
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
 * target_offer() - offer an export on a port; it may be offered there already
 * @port_dir: of the port
 * @export_dir: of the export
 */
int target_offer(const char *port_dir, const char *export_dir)
{
	const char *name = strrchr(export_dir, '/') + 1;
	char *exports = xasprintf("%s/exports", port_dir);
	char *link = configfs_find_link(exports, name);
	int ret = 0;

	if (!link) {
		link = xasprintf("%s/%s", exports, name);
		ret = target_make_link(export_dir, link);
		if (ret == -EEXIST)
			ret = 0;
	}
	free(link);
	free(exports);
	return ret;
}

/**
 * target_list() - print all objects of a kind
 * @kind: directory that they are in
 * @heads: of the columns
 * @columns: number of them
 * @row: adds what is to be said of one
 * @json: not as a table
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
