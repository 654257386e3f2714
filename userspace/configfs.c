// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access the configfs tree of the target, /sys/kernel/config/rnbd.
 *
 * Operation: thin wrappers of system calls. If a call fails, the wrapper prints one line with
 * the object and the error. If the kernel rejects a value, its log has the full reason.
 * Ownership: the caller owns the strings that functions return.
 * Concurrency: other processes may change the tree concurrently. Removing an object that
 * no longer exists succeeds.
 * Errors: a negative errno after a message, unless a function's comment says otherwise.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configfs.h"

#define CONFIGFS	"/sys/kernel/config"
#define CFG_ROOT	CONFIGFS "/rnbd"

#define BUSY_MS		10000
#define BUSY_NAP_MS	100

/**
 * configfs_check() - check that the caller can configure the target
 *
 * Return: 0, or a negative errno after a message with the remedy.
 */
int configfs_check(void)
{
	struct stat dir, parent;

	if (!access(CFG_ROOT, W_OK))
		return 0;
	if (errno == EACCES) {
		err("only root may configure the target");
		return -EACCES;
	}
	if (!stat(CONFIGFS, &dir) && !stat("/sys/kernel", &parent) &&
	    dir.st_dev != parent.st_dev)
		err("the rnbd-target module is not loaded; run: modprobe rnbd-target");
	else
		err("configfs is not mounted; run: mount -t configfs none %s", CONFIGFS);
	return -ENOENT;
}

/* Build a path below the root of the target's tree; the caller frees it. */
char *configfs_path(const char *fmt, ...)
{
	char *tail, *path;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&tail, fmt, args) < 0)
		abort();
	va_end(args);
	path = xasprintf("%s/%s", CFG_ROOT, tail);
	free(tail);
	return path;
}

bool configfs_exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Return a path relative to the root of the target's tree, for messages. */
static const char *configfs_tail(const char *path)
{
	return path + strlen(CFG_ROOT) + 1;
}

/* Read an attribute without its newline. On failure, set errno and return NULL; no message. */
char *configfs_try(const char *path, const char *attr)
{
	char *file = xasprintf("%s/%s", path, attr);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char value[4096 + 1];
	ssize_t len = -1;

	free(file);
	if (fd >= 0) {
		len = read(fd, value, sizeof(value) - 1);
		close(fd);
	}
	if (len < 0)
		return NULL;
	if (len && value[len - 1] == '\n')
		len--;
	value[len] = '\0';
	return xstrdup(value);
}

/* Read an attribute; returns "" without a message if it cannot be read. */
char *configfs_read(const char *path, const char *attr)
{
	return configfs_try(path, attr) ?: xstrdup("");
}

/* Read an attribute; returns NULL after a message if it cannot be read. */
char *configfs_get(const char *path, const char *attr)
{
	char *value = configfs_try(path, attr);

	if (!value)
		err("%s/%s: cannot read: %s", configfs_tail(path), attr, strerror(errno));
	return value;
}

/* Read a number; returns 0 without a message if it cannot be read. */
uint64_t configfs_read_u64(const char *path, const char *attr)
{
	char *value = configfs_read(path, attr);
	uint64_t n = strtoull(value, NULL, 10);

	free(value);
	return n;
}

static int write_attr(const char *path, const char *attr, const char *value)
{
	char *file = xasprintf("%s/%s", path, attr);
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	free(file);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Write an attribute like configfs_write(), but do not print the value in the message. */
int configfs_write_secret(const char *path, const char *attr, const char *value)
{
	int ret = write_attr(path, attr, value);

	if (ret)
		err("%s/%s: cannot set it: %s (see the kernel log)",
		    configfs_tail(path), attr, strerror(-ret));
	return ret;
}

int configfs_write(const char *path, const char *attr, const char *value)
{
	int ret = write_attr(path, attr, value);

	if (ret)
		err("%s/%s: cannot set %s: %s (see the kernel log)",
		    configfs_tail(path), attr, value, strerror(-ret));
	return ret;
}

/*
 * Create a directory; returns -EEXIST without a message if it exists. Retry on EBUSY: a removed
 * host cannot be created again before its last session has ended.
 */
int configfs_mkdir(const char *path)
{
	uint64_t end = now_ms() + BUSY_MS;
	int ret;

	while ((ret = mkdir(path, 0755) ? -errno : 0) == -EBUSY && now_ms() < end)
		take_nap(BUSY_NAP_MS);
	if (!ret || ret == -EEXIST)
		return ret;
	err("cannot create %s: %s (see the kernel log)", configfs_tail(path),
	    strerror(-ret));
	return -EIO;
}

int configfs_rmdir(const char *path)
{
	if (!rmdir(path) || errno == ENOENT)
		return 0;
	err("cannot remove %s: %s", configfs_tail(path), strerror(errno));
	return -EIO;
}

int configfs_link(const char *target, const char *path)
{
	if (!symlink(target, path))
		return 0;
	/*
	 * The caller handles two errors. EEXIST: there is already a link @path, or a link to
	 * @target with another name in the same directory; EBUSY: the export allows the host
	 * already, but with the other permission (only read, or read and write).
	 */
	if (errno == EEXIST || errno == EBUSY)
		return -errno;
	err("cannot link %s: %s", configfs_tail(path), strerror(errno));
	return -EIO;
}

int configfs_unlink(const char *path)
{
	if (!unlink(path) || errno == ENOENT)
		return 0;
	err("cannot unlink %s: %s", configfs_tail(path), strerror(errno));
	return -EIO;
}

/* List the directories and links in a directory, sorted. Returns 0 or -errno; no message. */
int configfs_names(const char *path, struct strlist *names)
{
	DIR *dir = opendir(path);
	struct dirent *de;

	if (!dir)
		return -errno;
	while ((de = readdir(dir)))
		if ((de->d_type == DT_DIR || de->d_type == DT_LNK) &&
		    de->d_name[0] != '.')
			strlist_add(names, de->d_name);
	closedir(dir);
	strlist_sort(names);
	return 0;
}

/* Return the last component of the target of a link; NULL, with errno set, on failure. */
static char *link_target(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	free(path);
	if (len < 0)
		return NULL;
	target[len] = '\0';
	slash = strrchr(target, '/');
	return xstrdup(slash ? slash + 1 : target);
}

/*
 * List the names of the objects to which the links in a directory lead, sorted; a link can
 * have another name than its object. Returns 0, or -errno without a message.
 */
int configfs_links(const char *path, struct strlist *targets)
{
	struct strlist names = { };
	int ret = configfs_names(path, &names);
	char *target;
	size_t i;

	for (i = 0; !ret && i < names.nr; i++) {
		target = link_target(path, names.item[i]);
		if (target)
			strlist_add(targets, target);
		else if (errno != ENOENT)
			ret = -errno;
		free(target);
	}
	strlist_sort(targets);
	strlist_free(&names);
	return ret;
}

/* Check whether a directory has a link with the name @target that leads to @target. */
bool configfs_leads_to(const char *path, const char *target)
{
	char *have = link_target(path, target);
	bool same = have && !strcmp(have, target);

	free(have);
	return same;
}

/*
 * Return the path of the link in a directory that leads to @target, or NULL. Try the link named
 * @target first, because the other links can be thousands.
 */
char *configfs_find_link(const char *path, const char *target)
{
	struct strlist names = { };
	char *found = NULL;
	size_t i;

	if (configfs_leads_to(path, target))
		return xasprintf("%s/%s", path, target);
	configfs_names(path, &names);
	for (i = 0; i < names.nr && !found; i++) {
		char *have = link_target(path, names.item[i]);

		if (have && !strcmp(have, target))
			found = xasprintf("%s/%s", path, names.item[i]);
		free(have);
	}
	strlist_free(&names);
	return found;
}
