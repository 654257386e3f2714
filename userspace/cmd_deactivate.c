// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd deactivate: make all I/O of a disk fail, until the disk is detached.
 *
 * Operation: one write to a file of the disk in sysfs. The write returns when no request
 * of the disk is in flight.
 * Ownership: no state is kept.
 * Concurrency: one thread.
 * Errors: one line that names the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "netlink_client.h"
#include "util.h"

static int write_knob(const char *disk)
{
	char *path = xasprintf("/sys/block/%s/rnbd/deactivate", disk);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	free(path);
	if (fd < 0 || write(fd, "1", 1) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

int cmd_deactivate(const struct args *args)
{
	struct disk disk;
	int ret;

	ret = disk_get(args, &disk);
	if (ret)
		return ret;
	context_set("deactivate %s", disk.disk);
	ret = write_knob(disk.disk);
	if (!ret)
		return RNBD_EXIT_OK;
	if (ret == -EACCES || ret == -EPERM)
		err("not permitted; run it as root");
	else if (ret == -ENOENT || ret == -ENODEV)
		err("the disk was detached concurrently");
	else
		err("%s", strerror(-ret));
	return RNBD_EXIT_FAIL;
}
