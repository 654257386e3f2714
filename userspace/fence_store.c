// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record the fence states of hosts for the next start of the target.
 *
 * Operation: the kernel shows the fence state of a host in one line, the attribute
 * fence_state. For each host that was ever fenced, this line is recorded in a file.
 * Commands that create a host write the line back before an export allows the host. The
 * kernel ignores a line unless its fence generation is higher than the present one of the
 * host, so an old file cannot undo a fence.
 * Ownership: the files belong to rnbd; administrators need not edit them. The file of a
 * removed host stays, because disks of the host can still exist, and the target must still
 * refuse to attach them again.
 * Concurrency: a command takes fence_store_lock() before it reads the state, and releases
 * it after the state is recorded; "rnbd unfence" releases it after it has also unfenced the
 * host in the kernel. "rnbd fence" fences the host in the kernel before it takes the lock,
 * and waits for the I/O of the host after it has released the lock.
 * Errors: one line that names the file or the host; fence_store_lock() and
 * fence_store_keep() print none. A host whose file is damaged is not created.
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

/* Build the path of the file of a host; the caller frees it. */
static char *path_of(const char *host_dir)
{
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];

	/* The file has the UUID in lower case; the name of the directory can be in upper case. */
	if (parse_uuid(strrchr(host_dir, '/') + 1, uuid))
		abort();
	format_uuid(uuid, text);
	return xasprintf(FENCE_STORE_DIR "/%s", text);
}

/**
 * fence_store_lock() - lock the recorded states against changes by other commands
 *
 * Return: a file descriptor, or a negative errno without a message. The caller releases
 * the lock by closing the descriptor.
 */
int fence_store_lock(void)
{
	return file_lock_dir(PARENT_DIR, FENCE_STORE_DIR);
}

/**
 * fence_store_keep() - record the fence state of a host
 * @host_dir: directory of the host in configfs
 * @fence: fence state
 *
 * Return: 0, or a negative errno without a message.
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
 * fence_store_keep_last() - record the fence state of a host that is about to be removed
 * @host_dir: directory of the host in configfs
 *
 * Nothing is recorded for a host that was never fenced.
 *
 * Return: 0, or a negative errno after a message.
 */
int fence_store_keep_last(const char *host_dir)
{
	/* Lock first: otherwise this state could replace a newer one in the file. */
	int lock = fence_store_lock();
	char *text = configfs_get(host_dir, "fence_state");
	int ret = text ? 0 : -EIO;
	struct fence fence;

	if (text && fence_parse(text, &fence)) {
		err("cannot parse fence_state: \"%s\"", text);
		ret = -EINVAL;
	}
	free(text);
	if (!ret && fence.generation > 1) {
		ret = lock < 0 ? lock : fence_store_keep(host_dir, &fence);
		if (ret)
			err("%s: cannot record the fence in " FENCE_STORE_DIR ": %s",
			    strrchr(host_dir, '/') + 1, strerror(-ret));
	}
	if (lock >= 0)
		close(lock);
	return ret;
}

/**
 * fence_store_put_back() - write the recorded fence state of a host to the kernel
 * @host_dir: directory of the host in configfs; no export allows the host yet
 *
 * Return: 0, also if no state is recorded, or a negative errno after a message.
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
		err("%s: is damaged; remove it if the host has certainly restarted",
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
