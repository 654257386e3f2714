// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that are the old one or the new one, also after a power cut.
 *
 * Operation: a new file is filled beside the old one, and takes its place by a rename
 * once all of it is on stable storage.
 * Ownership: nothing is kept.
 * Concurrency: of two that replace a file at once the last one wins, whole.
 * Errors: are returned, callers say what they mean. Nothing stays beside the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file_replace.h"
#include "util.h"

#define FILE_MODE	0600

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t done = write(fd, text, len);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			text += done;
			len -= done;
		}
	}
	return 0;
}

/**
 * file_replace() - put a file in its place, whole
 * @path: its place; no symbolic link
 * @text: what is to be in it
 * @old: what is there now, or NULL. The new one is its owner's, and nobody may do what
 *	he could not do before
 *
 * After file_sync_dir() it is there after a power cut, too.
 *
 * Return: 0, or a negative errno quietly: what was there before is as it was.
 */
int file_replace(const char *path, const char *text, const struct stat *old)
{
	mode_t mode = FILE_MODE & (old ? old->st_mode : FILE_MODE);
	char *temporary = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	int ret;

	if (fd < 0) {
		ret = -errno;
		goto out_free;
	}
	ret = write_all(fd, text);
	if (!ret && old && fchown(fd, old->st_uid, old->st_gid))
		ret = -errno;
	if (!ret && (fchmod(fd, mode) || fsync(fd)))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(temporary, path))
		ret = -errno;
	if (ret)
		unlink(temporary);
out_free:
	free(temporary);
	return ret;
}

/**
 * file_sync_dir() - make sure that a file that was put in its place stays there
 * @path: of the file
 *
 * Return: 0, or a negative errno quietly.
 */
int file_sync_dir(const char *path)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0 || fsync(fd))
		ret = -errno;
	if (fd >= 0)
		close(fd);
	free(copy);
	return ret;
}

/**
 * file_lock_dir() - make a directory for files of rnbd, and lock it against other commands
 * @parent: directory above it, which is made as well
 * @dir: directory
 *
 * Return: a file that the caller closes, or a negative errno quietly.
 */
int file_lock_dir(const char *parent, const char *dir)
{
	int fd, ret;

	if ((mkdir(parent, 0755) && errno != EEXIST) || (mkdir(dir, 0700) && errno != EEXIST))
		return -errno;
	/* Whoever made them may have died before. */
	ret = file_sync_dir(parent) ?: file_sync_dir(dir);
	if (ret)
		return ret;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}
