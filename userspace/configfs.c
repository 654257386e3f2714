// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target's configuration tree, /sys/kernel/config/rnbd.
 *
 * Operation: thin wrappers that turn an errno into one line that names the
 * object. What is wrong with a value the kernel log says in full.
 * Ownership: strings that are returned belong to the caller.
 * Concurrency: others may change the tree at the same time; an object that is
 * gone already is as good as removed.
 * Errors: negative errno after a message.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configfs.h"

#define CONFIGFS	"/sys/kernel/config"
#define CFG_ROOT	CONFIGFS "/rnbd"

/**
 * cfg_check() - is the target there to be configured
 *
 * Return: 0, or a negative errno after a message with the remedy.
 */
int cfg_check(void)
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

/* Path below the root of the target's tree. */
char *cfg_path(const char *fmt, ...)
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

bool cfg_exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Value of an attribute without its end of line; "" if it cannot be read. */
char *cfg_read(const char *path, const char *attr)
{
	char *file = xasprintf("%s/%s", path, attr);
	char value[4096] = "";
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	free(file);
	if (fd >= 0) {
		len = read(fd, value, sizeof(value) - 1);
		value[len > 0 ? len : 0] = '\0';
		close(fd);
	}
	value[strcspn(value, "\n")] = '\0';
	return xstrdup(value);
}

/* What is behind the root of the tree, for messages. */
static const char *cfg_tail(const char *path)
{
	return path + strlen(CFG_ROOT) + 1;
}

int cfg_write(const char *path, const char *attr, const char *value)
{
	char *file = xasprintf("%s/%s", path, attr);
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	free(file);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (ret)
		err("%s/%s: cannot set %s: %s (the kernel log says more)",
		    cfg_tail(path), attr, value, strerror(-ret));
	return ret;
}

int cfg_mkdir(const char *path)
{
	if (!mkdir(path, 0755))
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	err("cannot make %s: %s", cfg_tail(path), strerror(errno));
	return -EIO;
}

int cfg_rmdir(const char *path)
{
	if (!rmdir(path) || errno == ENOENT)
		return 0;
	err("cannot remove %s: %s", cfg_tail(path), strerror(errno));
	return -EIO;
}

int cfg_link(const char *target, const char *path)
{
	if (!symlink(target, path))
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	err("cannot link %s: %s", cfg_tail(path), strerror(errno));
	return -EIO;
}

int cfg_unlink(const char *path)
{
	if (!unlink(path) || errno == ENOENT)
		return 0;
	err("cannot unlink %s: %s", cfg_tail(path), strerror(errno));
	return -EIO;
}

/* Directories and links in a directory, sorted. */
void cfg_names(const char *path, struct strlist *names)
{
	DIR *dir = opendir(path);
	struct dirent *de;

	while (dir && (de = readdir(dir)))
		if ((de->d_type == DT_DIR || de->d_type == DT_LNK) &&
		    de->d_name[0] != '.')
			strlist_add(names, de->d_name);
	if (dir)
		closedir(dir);
	strlist_sort(names);
}
