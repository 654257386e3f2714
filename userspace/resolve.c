// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which disk is meant: one rule for every command that takes a disk.
 *
 * Operation: a word is rnbdN, the number N, the name that the attach gave, or
 * the UUID of the export, tried in this order; disk_name_valid() keeps names from
 * looking like the others. A word with a slash is a path: whatever node it leads
 * to, through links such as those of /dev/disk/by-id, sysfs tells which disk that
 * is. A partition is refused, since what is asked for would be done to all of the
 * disk. resolve_pick() knows nothing of files, so that a unit test can try it.
 *
 * Ownership: what is found points into the caller's list.
 * Concurrency: one thread.
 * Errors: -EINVAL if the word cannot mean a disk, -ENODEV if there is no such one,
 * -ENOTUNIQ if it means several; resolve_error() then has the text for people.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "resolve.h"
#include "util.h"

#define DEV	"/dev/"
/* Disks that a message lists; more are counted. */
#define LISTED_MAX	8

static char error_text[1024];

/* The text for people of the last error. */
const char *resolve_error(void)
{
	return error_text;
}

static int set_error(int error, const char *fmt, ...) __printf(2, 3);

static int set_error(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, ap);
	va_end(ap);
	return error;
}

static int partition_error(const char *word, const char *whole)
{
	return set_error(-EINVAL, "%s is a partition; name the whole disk: /dev/%s", word, whole);
}

static bool is_path(const char *word)
{
	return strchr(word, '/');
}

/**
 * resolve_check() - can this word mean a disk at all?
 * @word: of the command line
 *
 * Return: 0 or -EINVAL.
 */
int resolve_check(const char *word)
{
	/* Names have the characters of exports, and all else is made of some of them. */
	if (is_path(word) || export_name_valid(word))
		return 0;
	return set_error(-EINVAL,
			 "\"%s\" is no disk: wanted /dev/rnbdN, rnbdN, N, a name or an export's UUID",
			 word);
}

/* The only disk with this export. */
static int pick_export(const uint8_t uuid[UUID_SIZE], const char *word,
		       const struct disks *disks, const struct disk **disk)
{
	char list[LISTED_MAX * (DISK_NAME_SIZE + 2)] = "";
	size_t found = 0, len = 0, i;

	for (i = 0; i < disks->nr; i++) {
		if (memcmp(disks->disk[i].export_id, uuid, UUID_SIZE))
			continue;
		*disk = &disks->disk[i];
		if (found++ < LISTED_MAX)
			len += snprintf(list + len, sizeof(list) - len, "%s%s", len ? ", " : "",
					disks->disk[i].disk);
	}
	if (found > 1)
		return set_error(-ENOTUNIQ,
				 "several disks have the export %s: %s%s; name one of them", word,
				 list, found > LISTED_MAX ? ", ..." : "");
	return found ? 0 : -ENODEV;
}

/**
 * resolve_pick() - find the disk that a word means
 * @word: anything but a path
 * @disks: what is attached
 * @disk: where the disk goes, if it is found
 *
 * Return: 0 or a negative errno.
 */
int resolve_pick(const char *word, const struct disks *disks, const struct disk **disk)
{
	char name[DISK_NAME_SIZE], whole[DISK_NAME_SIZE];
	uint8_t uuid[UUID_SIZE];
	int ret = -ENODEV;
	size_t i;

	if (resolve_check(word))
		return -EINVAL;
	if (!parse_partition(word, whole, sizeof(whole)))
		return partition_error(word, whole);
	if (parse_disk(word, name, sizeof(name)))
		name[0] = '\0';
	for (i = 0; i < disks->nr; i++) {
		if (strcmp(disks->disk[i].disk, name))
			continue;
		*disk = &disks->disk[i];
		return 0;
	}
	for (i = 0; i < disks->nr; i++) {
		if (strcmp(disks->disk[i].name, word))
			continue;
		*disk = &disks->disk[i];
		return 0;
	}
	if (!parse_uuid(word, uuid))
		ret = pick_export(uuid, word, disks, disk);
	if (ret == -ENODEV)
		set_error(ret, "%s is not attached; see: rnbd list", word);
	return ret;
}

/* The name of a block device, from sysfs, which knows whatever udev called the node. */
static int name_of_node(const char *path, dev_t dev, char *name, size_t size)
{
	char link[64], where[PATH_MAX], part[PATH_MAX + 16];
	char *last;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(link, where))
		return set_error(-ENODEV, "%s is a node without a device; see: rnbd list", path);

	snprintf(part, sizeof(part), "%s/partition", where);
	last = strrchr(where, '/');
	if (!access(part, F_OK)) {
		*last = '\0';
		return partition_error(path, strrchr(where, '/') + 1);
	}
	snprintf(name, size, "%s", last + 1);
	return 0;
}

/**
 * resolve_disk() - find the disk that a word or a path means
 * @word: of the command line
 * @disks: what is attached
 * @disk: where the disk goes, if it is found
 *
 * Return: 0 or a negative errno.
 */
int resolve_disk(const char *word, const struct disks *disks, const struct disk **disk)
{
	char name[NAME_MAX + 1];
	struct stat st;
	size_t i;
	int ret;

	if (!is_path(word))
		return resolve_pick(word, disks, disk);
	if (stat(word, &st)) {
		/* Without a node it may still be attached. */
		if (!strncmp(word, DEV, strlen(DEV)) && !is_path(word + strlen(DEV)) &&
		    !resolve_check(word + strlen(DEV)))
			return resolve_pick(word + strlen(DEV), disks, disk);
		return set_error(-ENODEV, "%s: %s; see: rnbd list", word, strerror(errno));
	}
	if (!S_ISBLK(st.st_mode))
		return set_error(-EINVAL, "%s is no block device; see: rnbd list", word);
	ret = name_of_node(word, st.st_rdev, name, sizeof(name));
	if (ret)
		return ret;
	for (i = 0; i < disks->nr; i++) {
		if (strcmp(disks->disk[i].disk, name))
			continue;
		*disk = &disks->disk[i];
		return 0;
	}
	return set_error(-ENODEV, "%s is no disk of rnbd; see: rnbd list", word);
}
