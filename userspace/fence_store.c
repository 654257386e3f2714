// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has to be known of the fences of a host when the target starts anew.
 *
 * Operation: the kernel tells it in one line, fence_state, which is kept in a file for
 * each host that was ever fenced. Whoever makes a host puts it back before the
 * host can be allowed anything. The kernel takes what is of a newer generation than it
 * has seen, so that nothing older can undo a fence.
 * Ownership: the files belong to rnbd; nobody has to edit them. That of a host which was
 * removed stays: its disks may still be there, and have to stay revoked.
 * Concurrency: fence_store_lock() is held from where the state is read until it is kept, and
 * while a fence is lifted. A fence begins without it, in the kernel, and its I/O is waited for
 * without it.
 * Errors: a line that names the file. A host whose file is no good is not made.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configfs.h"
#include "fence_store.h"
#include "file_replace.h"
#include "output.h"
#include "parse.h"

#define PARENT_DIR	"/var/lib/rnbd"

/* The file of a host; the caller frees it. */
static char *path_of(const char *host_dir)
{
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];

	/* the directory may be in upper case */
	if (parse_uuid(strrchr(host_dir, '/') + 1, uuid))
		abort();
	format_uuid(uuid, text);
	return xasprintf(FENCE_STORE_DIR "/%s", text);
}

/**
 * fence_store_lock() - let nobody else change what is kept
 *
 * Return: a file that the caller closes, or a negative errno quietly.
 */
int fence_store_lock(void)
{
	return file_lock_dir(PARENT_DIR, FENCE_STORE_DIR);
}

/**
 * fence_store_keep() - keep what is to be known of a host
 * @host_dir: of the host in configfs
 * @fence: what that is
 *
 * Return: 0, or a negative errno quietly.
 */
int fence_store_keep(const char *host_dir, const struct fence *fence)
{
	char *path = path_of(host_dir);
	char line[FENCE_TEXT_SIZE + 1];
	int ret;

	fence_text(fence, line);
	strcat(line, "\n");
	ret = file_replace(path, line, NULL);
	if (!ret)
		ret = file_sync_dir(path);
	free(path);
	return ret;
}

/**
 * fence_store_keep_last() - keep what is to be known of a host that goes
 * @host_dir: of the host in configfs
 *
 * Return: 0, or a negative errno after a message.
 */
int fence_store_keep_last(const char *host_dir)
{
	/* What is read must still be true when it is written. */
	int lock = fence_store_lock();
	char *text = configfs_get(host_dir, "fence_state");
	int ret = text ? 0 : -EIO;
	struct fence fence;

	if (text && fence_parse(text, &fence)) {
		err("fence_state is not understood: \"%s\"", text);
		ret = -EINVAL;
	}
	free(text);
	if (!ret && fence.generation > 1) {
		ret = lock < 0 ? lock : fence_store_keep(host_dir, &fence);
		if (ret)
			err("%s: that it was fenced cannot be kept in " FENCE_STORE_DIR ": %s",
			    strrchr(host_dir, '/') + 1, strerror(-ret));
	}
	if (lock >= 0)
		close(lock);
	return ret;
}

/**
 * fence_store_put_back() - tell the kernel what is kept of a host
 * @host_dir: of the host in configfs, which may attach nothing yet
 *
 * Return: 0, also if nothing is kept, or a negative errno after a message.
 */
int fence_store_put_back(const char *host_dir)
{
	char *path = path_of(host_dir);
	char line[80] = "";
	struct fence fence;
	FILE *in;
	int ret = 0;

	in = fopen(path, "re");
	if (!in && errno == ENOENT)
		goto out;
	if (!in || (!fgets(line, sizeof(line), in) && ferror(in))) {
		ret = -errno;
		err("%s: cannot be read: %s; whether the host was fenced is not known", path,
		    strerror(errno));
	} else if (fence_parse(line, &fence)) {
		ret = -EINVAL;
		err("%s: is damaged; remove it if the host was certainly started anew",
		    path);
	} else {
		line[strcspn(line, "\n")] = '\0';
		ret = configfs_write(host_dir, "fence_state", line);
	}
	if (in)
		fclose(in);
out:
	free(path);
	return ret;
}
