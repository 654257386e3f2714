// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hosts of the target on this machine, and their permissions: configfs operations that several
 * commands share.
 *
 * Operation: an administrator can have created a host by hand with a UUID in upper case. Like
 * the kernel, the tool finds a host by its UUID in upper or lower case. There can be thousands
 * of hosts and links, so the tool searches a directory only if it does not find an object by
 * its name.
 * Ownership: configfs holds the state. The caller frees the paths that are returned.
 * Concurrency: see configfs.c.
 * Errors: a negative errno after an error message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "args.h"
#include "configfs.h"
#include "fence_store.h"
#include "link_map.h"
#include "output.h"
#include "parse.h"
#include "secret_store.h"
#include "target.h"

/*
 * List the hosts whose directory name is not the UUID in lower case, because an administrator
 * created the directory by hand. The list is read only once per command, because a command can
 * look up thousands of hosts.
 */
static const struct strlist *odd_hosts(void)
{
	static struct strlist odd;
	static bool known;
	struct strlist names = { };
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *hosts;
	size_t i;

	if (known)
		return &odd;
	hosts = configfs_path("hosts");
	configfs_names(hosts, &names);
	free(hosts);
	for (i = 0; i < names.nr; i++) {
		if (parse_uuid(names.item[i], uuid))
			continue;
		format_uuid(uuid, text);
		if (strcmp(names.item[i], text))
			strlist_add(&odd, names.item[i]);
	}
	strlist_free(&names);
	known = true;
	return &odd;
}

/**
 * target_host_dir() - get the directory of a host, whether or not it exists
 * @uuid_text: UUID of the host, in upper or lower case
 *
 * Return: its path, or NULL without a message if @uuid_text is no UUID.
 */
char *target_host_dir(const char *uuid_text)
{
	const struct strlist *odd;
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	char *dir;
	size_t i;

	if (parse_uuid(uuid_text, uuid))
		return NULL;
	format_uuid(uuid, text);
	dir = configfs_path("hosts/%s", text);
	if (configfs_exists(dir))
		return dir;
	odd = odd_hosts();
	for (i = 0; i < odd->nr; i++) {
		if (strcasecmp(odd->item[i], text))
			continue;
		free(dir);
		dir = configfs_path("hosts/%s", odd->item[i]);
	}
	return dir;
}

/**
 * target_host_operand() - parse the first operand as the UUID of a host
 * @args: command line
 * @uuid: UUID of the host
 *
 * Later messages of the command begin with its name and this operand.
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

/* Find the directory of an existing host; NULL after an error message. */
char *target_find_host(const char *uuid_text)
{
	char *dir;

	if (configfs_check())
		return NULL;
	dir = target_host_dir(uuid_text);
	if (configfs_exists(dir))
		return dir;
	err("there is no such host; see: rnbd host list; to create it: rnbd host allow EXPORT %s",
	    uuid_text);
	free(dir);
	return NULL;
}

/**
 * target_make_bare_host() - create a host without its secret, and restore its fencing state
 * @dir: directory of the host
 *
 * The caller sets the secret. The fencing state of an existing host is restored, too, because
 * an earlier command was possibly interrupted after it had created the host.
 *
 * Return: 0, -EEXIST without a message if the host existed, or another negative errno after an
 * error message.
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
		/* Do not create a host whose fencing state is unknown. */
		ret = lock;
		err(FENCE_STORE_DIR
		    ": cannot be used: %s; whether the host was fenced is not known",
		    strerror(-ret));
	}
	if (ret && !made)
		configfs_rmdir(dir);
	if (!ret && !made)
		target_remember('d', dir);
	return ret ?: made;
}

/**
 * target_make_host() - create a host, and restore its fencing state and its stored secrets
 * @dir: directory of the host
 * @say: print a message if a secret was restored
 *
 * An existing host without a secret gets its stored secrets, too: a host that was created again
 * must not be able to log in without authentication.
 *
 * Return: 0, -EEXIST without a message if the host existed, or another negative errno after an
 * error message.
 */
int target_make_host(const char *dir, bool say)
{
	int made = target_make_bare_host(dir);
	int ret;

	if (made && made != -EEXIST)
		return made;
	ret = secret_put_back(dir);
	if (ret > 0 && say)
		note("host %s: secret read from " SECRET_STORE_DIR, strrchr(dir, '/') + 1);
	if (ret >= 0)
		return made;
	err("host %s: is allowed no export without its secret; run: rnbd host secret",
	    strrchr(dir, '/') + 1);
	if (!made)
		configfs_rmdir(dir);
	return ret;
}

/**
 * target_remove_host() - remove a host that no export allows
 * @dir: directory of the host
 *
 * Its stored fencing state and the copies of its secrets stay.
 *
 * Return: 0, or a negative errno after an error message.
 */
int target_remove_host(const char *dir)
{
	return fence_store_keep_last(dir) ?: configfs_rmdir(dir);
}

static const char *allowed_dir(bool readonly)
{
	return readonly ? "readonly_hosts" : "allowed_hosts";
}

/*
 * Create the host, unless it exists, and the link. Returns -EBUSY without a message if the host
 * has the other permission for the export (only to read, or to read and write).
 */
static int make_permission(const char *export_dir, const char *host_dir, bool readonly)
{
	char *links = xasprintf("%s/%s", export_dir, allowed_dir(readonly));
	char *others = xasprintf("%s/%s", export_dir, allowed_dir(!readonly));
	const char *name = strrchr(host_dir, '/') + 1;
	char *link = xasprintf("%s/%s", links, name);
	int ret;

	/*
	 * Look only for a link with the name of the host, as this tool creates it: there can be
	 * thousands of links. target_make_link() detects a link with another name.
	 */
	if (configfs_leads_to(links, name)) {
		ret = 0;
	} else if (configfs_leads_to(others, name)) {
		ret = -EBUSY;
	} else {
		ret = target_make_host(host_dir, true);
		if (!ret || ret == -EEXIST)
			ret = target_make_link(host_dir, link);
		if (ret == -EEXIST)
			ret = 0;
	}
	free(link);
	free(others);
	free(links);
	return ret;
}

/**
 * target_allow_host() - allow a host to attach an export, unless it is allowed already
 * @export_dir: directory of the export
 * @uuid_text: UUID of the host, which is created if it does not exist
 * @readonly: allow the host only to read
 * @replace: true: if the host has the other permission (only to read, or to read and write),
 *	remove this permission first, which closes the attachments of the host to the export;
 *	false: the other permission is an error
 */
int target_allow_host(const char *export_dir, const char *uuid_text, bool readonly,
		      bool replace)
{
	char *dir = target_host_dir(uuid_text);
	char *other;
	int ret;

	if (!dir) {
		err("host %s: not a UUID; rnbd hostid on the client prints it", uuid_text);
		return -EINVAL;
	}
	ret = make_permission(export_dir, dir, readonly);
	if (ret == -EBUSY && replace) {
		other = target_permission(export_dir, uuid_text, !readonly);
		ret = other ? configfs_unlink(other) : 0;
		free(other);
		if (!ret)
			ret = make_permission(export_dir, dir, readonly);
	}
	if (ret == -EBUSY)
		err("host %s may %s export %s, which is kept; first run: rnbd export deny %s %s",
		    uuid_text, readonly ? "read and write" : "only read",
		    strrchr(export_dir, '/') + 1, strrchr(export_dir, '/') + 1, uuid_text);
	free(dir);
	return ret;
}

/**
 * target_permission() - find the link that gives a host a permission for an export
 * @export_dir: directory of the export
 * @uuid_text: UUID of the host
 * @readonly: true: find the permission only to read; false: that to read and write
 *
 * Return: path of the link, or NULL without a message if there is none.
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
 * target_allowed_link() - find the link that allows a host to attach an export
 * @export_dir: directory of the export
 * @uuid_text: UUID of the host
 *
 * Return: path of the link, or NULL without a message if there is none.
 */
char *target_allowed_link(const char *export_dir, const char *uuid_text)
{
	return target_permission(export_dir, uuid_text, false) ?:
	       target_permission(export_dir, uuid_text, true);
}

/**
 * target_allowed_hosts() - list the hosts that have a permission for an export
 * @export_dir: directory of the export
 * @readonly: true: hosts that may only read; false: hosts that may read and write
 * @uuids: list to which the names of the hosts' directories are added, sorted
 */
int target_allowed_hosts(const char *export_dir, bool readonly, struct strlist *uuids)
{
	char *links = xasprintf("%s/%s", export_dir, allowed_dir(readonly));
	int ret = configfs_links(links, uuids);

	free(links);
	return ret;
}

/**
 * target_hosts_exports() - map hosts to the exports that they may attach
 * @map: map to which exports are added; the keys are the names of the hosts' directories
 */
void target_hosts_exports(struct link_map *map)
{
	char *all = configfs_path("exports");
	struct strlist exports = { };
	size_t i, j;

	configfs_names(all, &exports);
	for (i = 0; i < exports.nr; i++) {
		char *dir = xasprintf("%s/%s", all, exports.item[i]);
		struct strlist hosts = { };

		target_allowed_hosts(dir, false, &hosts);
		target_allowed_hosts(dir, true, &hosts);
		for (j = 0; j < hosts.nr; j++)
			link_map_add(map, hosts.item[j], exports.item[i]);
		strlist_free(&hosts);
		free(dir);
	}
	strlist_free(&exports);
	free(all);
}
