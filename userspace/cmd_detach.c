// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd detach: detach one disk or all disks of this machine.
 *
 * Operation: if a disk is in use, the command retries the detach for a limited time.
 * Ownership: no state is kept.
 * Concurrency: one thread.
 * Errors: one line that names the disk.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "netlink_client.h"
#include "resolve.h"
#include "util.h"

/* Default of --wait in seconds: udev opens a disk for a moment when it appears or was written. */
#define BUSY_WAIT	2
#define NAP_MS		10

static bool matches(const char *pattern)
{
	glob_t found = { };
	bool some = !glob(pattern, 0, NULL, &found);

	globfree(&found);
	return some;
}

/*
 * Check whether another block device, such as a logical volume, an MD array or a multipath
 * device, uses the disk or one of its partitions.
 */
static bool has_holders(const char *name)
{
	char *disk = xasprintf("/sys/block/%s/holders/*", name);
	char *partition = xasprintf("/sys/block/%s/%sp*/holders/*", name, name);
	bool some = matches(disk) || matches(partition);

	free(partition);
	free(disk);
	return some;
}

/*
 * Retry while the disk is busy, for @wait seconds. If the disk has holders, retry for at
 * most BUSY_WAIT seconds, because only another command can remove the holders.
 */
static int detach_one(const char *name, const struct args *args, uint32_t wait)
{
	const bool force = args_has(args, "force");
	uint64_t start = now_ms();
	uint64_t left;
	int ret;

	context_set("detach %s", name);
	while ((ret = rnbd_detach(name, force)) == -EBUSY) {
		left = wait > BUSY_WAIT && has_holders(name) ? BUSY_WAIT : wait;
		if (now_ms() - start >= left * 1000)
			break;
		take_nap(NAP_MS);
	}
	/* Another process has detached the disk since it was listed. */
	if (ret == -ENODEV && args_has(args, "idempotent"))
		ret = 0;
	if (!ret)
		return RNBD_EXIT_OK;
	err("%s", rnbd_error());
	return RNBD_EXIT_FAIL;
}

static int detach_disks(const char *word, const struct args *args, uint32_t wait)
{
	const struct disk *one = NULL;
	struct disks disks = { };
	size_t i;
	int ret;

	ret = disks_list(&disks);
	if (ret)
		goto out;
	if (!word) {
		for (i = 0; i < disks.nr; i++)
			ret |= detach_one(disks.disk[i].disk, args, wait);
		goto out;
	}
	ret = resolve_disk(word, &disks, &one);
	if (!ret)
		ret = detach_one(one->disk, args, wait);
	else if (ret == -ENODEV && args_has(args, "idempotent"))
		ret = RNBD_EXIT_OK;
	else
		ret = resolve_fail(ret);
out:
	free(disks.disk);
	return ret;
}

int cmd_detach(const struct args *args)
{
	const char *word = args->nr_operands ? args->operand[0] : NULL;
	uint32_t wait = BUSY_WAIT;
	int ret;

	if (!word == !args_has(args, "all"))
		return usage_err("wanted a disk or --all; usage: rnbd detach DISK | --all");
	if (word && resolve_check(word))
		return usage_err("%s", resolve_error());
	ret = args_number(args, "wait", 0, SECONDS_MAX, &wait);
	if (ret)
		return ret;

	ret = rnbd_open();
	/* Without the module no disk is attached. */
	if (ret == -ENOENT && args_has(args, "idempotent"))
		return RNBD_EXIT_OK;
	if (ret) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	ret = detach_disks(word, args, wait);
	rnbd_close();
	return ret;
}
