// SPDX-License-Identifier: GPL-2.0-only
/*
 * The UUID of this target, which stays the same when the target restarts.
 *
 * Operation: the kernel makes a random UUID when the module is loaded. "rnbd restore" and the
 * commands that enable a port replace the random UUID by the stored one; if none is stored yet,
 * they store the random UUID. A client that reconnects logs a message if the target has another
 * UUID than before.
 * Ownership: the file belongs to rnbd. If the address of a target can move between machines,
 * each machine may have its own UUID, because a client only logs the difference.
 * Concurrency: if two commands find no stored UUID at the same time, both store the same one,
 * that of the kernel.
 * Errors: one error message that names the file. If the file cannot be written, the command
 * continues, but the UUID changes at the next start of the target.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "configfs.h"
#include "file_replace.h"
#include "output.h"
#include "parse.h"
#include "target_uuid.h"

#define PARENT_DIR	"/var/lib/rnbd"

/* Read the stored UUID; returns -ENOENT if none is stored, or -errno after an error message. */
static int read_stored(char *text)
{
	FILE *in = fopen(TARGET_UUID_FILE, "re");
	uint8_t uuid[UUID_SIZE];
	char line[80] = "";
	int ret = 0;

	if (!in && errno == ENOENT)
		return -ENOENT;
	if (!in || (!fgets(line, sizeof(line), in) && ferror(in))) {
		ret = -errno;
		err(TARGET_UUID_FILE ": cannot be read: %s", strerror(errno));
	} else {
		line[strcspn(line, "\n")] = '\0';
		if (parse_uuid(line, uuid)) {
			ret = -EINVAL;
			err(TARGET_UUID_FILE
			    ": is damaged; remove it to create a new UUID, which clients log as another target");
		} else {
			format_uuid(uuid, text);
		}
	}
	if (in)
		fclose(in);
	return ret;
}

static int store(const char *text)
{
	char *line = xasprintf("%s\n", text);
	int ret = 0;

	if (mkdir(PARENT_DIR, 0755) && errno != EEXIST)
		ret = -errno;
	if (!ret)
		ret = file_replace(TARGET_UUID_FILE, line, NULL);
	if (!ret)
		ret = file_sync_dir(TARGET_UUID_FILE);
	free(line);
	if (ret)
		note("%s: cannot be written: %s; the UUID of the target changes at its next start",
		     TARGET_UUID_FILE, strerror(-ret));
	return ret;
}

/**
 * target_uuid_restore() - write the stored UUID of the target to the kernel
 *
 * If no UUID is stored, store the UUID of the kernel.
 *
 * Return: 0, also if the UUID cannot be stored, or a negative errno after an error message.
 */
int target_uuid_restore(void)
{
	char *root = configfs_path("%s", ".");
	char stored[UUID_TEXT_SIZE];
	char *now = configfs_get(root, "uuid");
	int ret = now ? read_stored(stored) : -EIO;

	if (ret == -ENOENT) {
		store(now);
		ret = 0;
	} else if (!ret && strcasecmp(now, stored)) {
		ret = configfs_write(root, "uuid", stored);
	}
	free(now);
	free(root);
	return ret;
}
