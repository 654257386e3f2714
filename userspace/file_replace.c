// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace files atomically: readers see the old or the new file, also after a power failure.
 *
 * Operation: a temporary file in the same directory is written to stable storage and then
 * renamed to the name of the file.
 * Ownership: no state is kept.
 * Concurrency: after two concurrent calls, the file has the whole text of the call that has
 * renamed its temporary file last.
 * Errors: a negative errno without a message; the caller prints one. After an error, the
 * temporary file is removed.
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
 * file_replace() - create a file, or replace it atomically
 * @path: path of the file; not a symbolic link
 * @text: new contents
 * @old: status of the present file: the new file gets the same owner and group, and the
 *	permissions of the present file that are within 0600; NULL: the new file belongs to the
 *	user of the process and has the mode 0600
 *
 * The new file is sure to survive a power failure only after file_sync_dir().
 *
 * Return: 0, or a negative errno without a message; after an error the old file is unchanged.
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
 * file_sync_dir() - sync the directory of a file, so that a rename survives a power failure
 * @path: path of the file
 *
 * Return: 0, or a negative errno without a message.
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
 * file_lock_dir() - create a directory for files of rnbd, and lock it against other commands
 * @parent: parent of @dir, created as well
 * @dir: directory
 *
 * Return: a file descriptor, or a negative errno without a message. The caller releases
 * the lock by closing the descriptor.
 */
int file_lock_dir(const char *parent, const char *dir)
{
	int fd, ret;

	if ((mkdir(parent, 0755) && errno != EEXIST) || (mkdir(dir, 0700) && errno != EEXIST))
		return -errno;
	/* Sync existing directories, too: their creator possibly died before it synced them. */
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
