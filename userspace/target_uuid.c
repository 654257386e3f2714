// SPDX-License-Identifier: GPL-2.0-only
/*
 * The UUID of this target, which is the same over restarts.
 *
 * Operation: the kernel begins with a random UUID. Commands that configure the target write
 * the UUID that is stored into the kernel, or store that of the kernel if none is stored
 * yet. A client logs that a target has another UUID than before.
 * Ownership: the file belongs to rnbd. Machines between which a target moves may have
 * different ones.
 * Concurrency: of two first commands that run at the same time, the file of the last one
 * remains, with the UUID that both read.
 * Errors: a line that names the file. Without the file the target is configured
 * nevertheless: its clients notice at its next start only.
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

/* Returns 0 with the UUID as text, -ENOENT if none is stored, or another error with a message. */
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
			    ": is damaged; if it is removed, attached clients refuse this target");
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
 * target_uuid_restore() - give the target the UUID that is stored
 *
 * If none is stored, that of the kernel is stored.
 *
 * Return: 0, also if none can be stored, or a negative errno after a message.
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
