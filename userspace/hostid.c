// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read or create the host UUID of this machine, /etc/rnbd/hostid.
 *
 * Operation: the first use creates a random UUID. It is written to a temporary file, which
 * is then linked to the final name. If two commands do this at the same time, only one link
 * succeeds, and both commands read the UUID in the linked file.
 * Ownership: the file belongs to the administrator; the tool never overwrites it.
 * Concurrency: see Operation.
 * Errors: a file without a valid UUID is an error and stays unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_replace.h"
#include "hostid.h"
#include "util.h"

#define HOSTID_DIR	"/etc/rnbd"
#define HOSTID_FILE	HOSTID_DIR "/hostid"

/* Returns 0, -ENOENT without a message if there is no file, or -errno after a message. */
static int hostid_read(uint8_t uuid[UUID_SIZE])
{
	char line[UUID_TEXT_SIZE + 2] = "";
	FILE *file = fopen(HOSTID_FILE, "re");

	if (!file) {
		if (errno == ENOENT)
			return -ENOENT;
		err("cannot read %s: %s", HOSTID_FILE, strerror(errno));
		return -EIO;
	}
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, " \t\r\n")] = '\0';
	if (parse_uuid(line, uuid)) {
		err("%s holds no UUID; remove it to get a new one", HOSTID_FILE);
		return -EINVAL;
	}
	return 0;
}

static int hostid_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", text) < 0 || fsync(fd))
		ret = -errno;
	close(fd);
	if (ret)
		unlink(path);
	return ret;
}

static int hostid_make(void)
{
	char *path = xasprintf("%s.%d", HOSTID_FILE, (int)getpid());
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	int ret = 0;

	if (getrandom(uuid, sizeof(uuid), 0) != sizeof(uuid)) {
		ret = -EIO;
		goto out;
	}
	/* RFC 9562: version 4, random */
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	format_uuid(uuid, text);

	if (mkdir(HOSTID_DIR, 0755) && errno != EEXIST) {
		ret = -errno;
		goto out;
	}
	/* An earlier process with the same PID possibly left this file behind. */
	unlink(path);
	ret = hostid_write(path, text);
	if (ret)
		goto out;
	if (link(path, HOSTID_FILE) && errno != EEXIST)
		ret = -errno;
	unlink(path);
	/* The UUID must survive a power failure, because targets identify this host by it. */
	if (!ret)
		ret = file_sync_dir(HOSTID_FILE);
out:
	if (ret)
		err("cannot write %s: %s%s", HOSTID_FILE, strerror(-ret),
		    ret == -EACCES ? "; run it as root" : "");
	free(path);
	return ret;
}

/**
 * hostid_get() - get the host UUID of this machine; create one if there is none
 * @uuid: where the UUID is stored
 *
 * Return: 0, or a negative errno after a message.
 */
int hostid_get(uint8_t uuid[UUID_SIZE])
{
	int ret = hostid_read(uuid);

	if (ret != -ENOENT)
		return ret;
	ret = hostid_make();
	if (ret)
		return ret;
	ret = hostid_read(uuid);
	if (ret == -ENOENT)
		err("%s vanished", HOSTID_FILE);
	return ret;
}
