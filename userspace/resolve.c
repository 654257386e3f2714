// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the disk that an operand names, by the same rule for every command.
 *
 * Operation: an operand without a slash is rnbdN, the number N, the name that was given at the
 * attach, or the UUID of the export, tried in this order. disk_name_valid() refuses names
 * that have one of the other forms. An operand with a slash is the path of a block device node,
 * possibly through symbolic links such as those of /dev/disk/by-id; sysfs identifies the disk
 * of the node. A partition is refused, because the command would affect the whole disk.
 * resolve_pick() does not access files, so that a unit test can call it.
 *
 * Ownership: the result points into the list of the caller.
 * Concurrency: one thread.
 * Errors: -EINVAL if the operand cannot name a disk, -ENODEV if there is no such disk,
 * -ENOTUNIQ if the operand names several disks; resolve_error() returns the error message.
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
/* Maximum number of disks that an error message lists */
#define LISTED_MAX	8

static char error_text[1024];

/* Return the message of the last error. */
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
 * resolve_check() - check that an operand can name a disk
 * @word: operand
 *
 * Return: 0 or -EINVAL.
 */
int resolve_check(const char *word)
{
	/* export_name_valid() also accepts rnbdN, numbers, UUIDs and names of disks. */
	if (is_path(word) || export_name_valid(word))
		return 0;
	return set_error(-EINVAL,
			 "\"%s\" is not a disk: wanted /dev/rnbdN, rnbdN, N, a name or an export's UUID",
			 word);
}

/* Find the disk with this export; it is an error if several disks have the export. */
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
 * resolve_pick() - find the disk that an operand without a slash names
 * @word: operand without a slash
 * @disks: attached disks
 * @disk: disk found; valid only if the function returns 0
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

/* Get the kernel's name of a block device from sysfs: its node can have another name. */
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
 * resolve_disk() - find the disk that an operand names
 * @word: operand, possibly a path
 * @disks: attached disks
 * @disk: disk found
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
		/* If the node /dev/NAME is missing, a disk NAME can be attached nevertheless. */
		if (!strncmp(word, DEV, strlen(DEV)) && !is_path(word + strlen(DEV)) &&
		    !resolve_check(word + strlen(DEV)))
			return resolve_pick(word + strlen(DEV), disks, disk);
		return set_error(-ENODEV, "%s: %s; see: rnbd list", word, strerror(errno));
	}
	if (!S_ISBLK(st.st_mode))
		return set_error(-EINVAL, "%s is not a block device; see: rnbd list", word);
	ret = name_of_node(word, st.st_rdev, name, sizeof(name));
	if (ret)
		return ret;
	for (i = 0; i < disks->nr; i++) {
		if (strcmp(disks->disk[i].disk, name))
			continue;
		*disk = &disks->disk[i];
		return 0;
	}
	return set_error(-ENODEV, "%s is not an rnbd disk; see: rnbd list", word);
}
