// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hosts of the target on this machine, and what they may attach: the steps that several
 * commands take on configfs.
 *
 * Operation: hosts are found whatever the case of their digits, as the kernel finds them:
 * somebody may have made them by hand. There may be thousands of hosts and links, so none is
 * looked for among all others if its name says where it has to be.
 * Ownership: the tree is the state. Paths that are returned belong to the caller.
 * Concurrency: see configfs.c.
 * Errors: negative errno after a message.
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
 * The hosts whose directory has not the name that this program gives it: somebody made it by
 * hand, with other digits. Read once: a command may look for thousands of hosts.
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
 * target_host_dir() - the directory of a host, or what it is to be called
 * @uuid_text: of the host, in any case
 *
 * Return: its path, or NULL quietly if that is no UUID.
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
		target_remember('d', dir);
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

/* Makes the host and the link. -EBUSY quietly if the host has the other permission. */
static int make_permission(const char *export_dir, const char *host_dir, bool readonly)
{
	char *links = xasprintf("%s/%s", export_dir, allowed_dir(readonly));
	char *others = xasprintf("%s/%s", export_dir, allowed_dir(!readonly));
	const char *name = strrchr(host_dir, '/') + 1;
	char *link = xasprintf("%s/%s", links, name);
	int ret;

	/*
	 * Links of this program have the name of the host. The kernel looks at all others:
	 * there may be thousands, of which each would have to be read.
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
 * target_allow_host() - let a host attach an export; it may do so already
 * @export_dir: of the export
 * @uuid_text: of the host, which is made if it is not there
 * @readonly: the host may only read
 * @replace: take the other permission away if the host has it, which closes its attachment;
 *	otherwise that is an error
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
		err("host %s may %s export %s, which is left so; first run: rnbd export deny %s %s",
		    uuid_text, readonly ? "read and write" : "only read",
		    strrchr(export_dir, '/') + 1, strrchr(export_dir, '/') + 1, uuid_text);
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

/**
 * target_hosts_exports() - which exports hosts may attach
 * @map: the names of exports are added, by the names of the directories of hosts
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
