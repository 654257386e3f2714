// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is it attached already, just as it is asked for? (rnbd attach --idempotent)
 *
 * Operation: a disk is the same if it leads to the same export of the same target,
 * and if every option on the command line is what that disk was attached with.
 * Wishes are compared with wishes, since a grant may be less each time. An option
 * that is not given may be anything.
 *
 * Ownership: nothing is kept.
 * Concurrency: one thread. Somebody else may attach the same between the look and the
 * attach; only a name, which the kernel gives once, keeps both from getting a disk.
 * Errors: a negative errno, and a text that says what differs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attached.h"
#include "util.h"

#define TEXT_SIZE	1024

static char why_text[TEXT_SIZE + 128];

static void append(char text[TEXT_SIZE], const char *option, const char *has, const char *asked)
{
	size_t len = strlen(text);

	snprintf(text + len, TEXT_SIZE - len, "%s--%s %s, not %s", len ? "; " : "", option, has,
		 asked);
}

static void compare_text(const struct args *args, const char *option, const char *has,
			 char text[TEXT_SIZE])
{
	const char *asked = args_value(args, option);

	if (asked && strcmp(asked, has))
		append(text, option, *has ? has : "(none)", asked);
}

static void compare_number(const struct args *args, const char *option, uint64_t has,
			   uint64_t asked, char text[TEXT_SIZE])
{
	char number[32];

	if (!args_has(args, option) || asked == has)
		return;
	snprintf(number, sizeof(number), "%" PRIu64, has);
	append(text, option, number, args_value(args, option));
}

static void compare_flag(const struct args *args, const char *option, bool has,
			 char text[TEXT_SIZE])
{
	if (args_has(args, option) && !has)
		append(text, option, "off", "on");
}

/* Leaves in @text what differs, "" if nothing does. */
static void compare(const struct args *args, const struct attach *attach,
		    const struct disk *disk, char text[TEXT_SIZE])
{
	const struct wishes *wishes = &disk->wishes;
	char uuid[UUID_TEXT_SIZE];

	*text = '\0';
	compare_text(args, "name", disk->name, text);
	compare_number(args, "queues", wishes->queues, attach->queues, text);
	compare_number(args, "poll-queues", wishes->poll_queues, attach->poll_queues, text);
	compare_number(args, "queue-depth", wishes->depth, attach->depth, text);
	compare_number(args, "ring-slots", wishes->ring_slots, attach->ring_slots, text);
	compare_number(args, "slot-size", wishes->slot_size, attach->slot_size, text);
	compare_number(args, "pool", wishes->pool_bytes, attach->pool_bytes, text);
	compare_number(args, "max-io", wishes->max_io, attach->max_io, text);
	compare_number(args, "inline-read", wishes->inline_read, attach->inline_read, text);
	compare_number(args, "inline-write", wishes->inline_write, attach->inline_write, text);
	compare_number(args, "fast-io-fail", disk->fast_io_fail, attach->fast_io_fail, text);
	compare_number(args, "loss-timeout", disk->loss_timeout, attach->loss_timeout, text);
	compare_number(args, "keepalive", disk->keepalive_ms, attach->keepalive_ms, text);
	compare_text(args, "policy", disk->policy == RNBD_POLICY_FAIL ? "fail" : "queue", text);
	compare_text(args, "transfer", disk->copy ? "copy" : "zero-copy", text);
	compare_flag(args, "read-only", disk->readonly, text);
	compare_flag(args, "early-release", wishes->flags & RNBD_FLAG_EARLY_RELEASE, text);
	/* Which secret it was nobody tells. */
	if (args_has(args, "secret-file") && !disk->authenticated)
		append(text, "secret-file", "(none)", args_value(args, "secret-file"));
	format_uuid(disk->host_id, uuid);
	if (args_has(args, "host-id") && memcmp(disk->host_id, attach->host_id, UUID_SIZE))
		append(text, "host-id", uuid, args_value(args, "host-id"));
}

/* Is there a disk of that name? One that is being attached is not there yet. */
bool attached_name_taken(const char *name)
{
	struct disks disks = { };
	bool taken = false;
	size_t i;

	if (!rnbd_list(NULL, &disks)) {
		for (i = 0; i < disks.nr; i++)
			taken |= !strcmp(disks.disk[i].name, name);
	}
	free(disks.disk);
	return taken;
}

static bool same_export(const struct attach *attach, const struct disk *disk)
{
	return !strcmp(disk->address, attach->address) && disk->port == attach->port &&
	       !strcmp(disk->export, attach->export) && strcmp(disk->state, "closing");
}

/**
 * attached_find() - look for a disk that is what is asked for
 * @args: which options were given
 * @attach: their values, and the target
 * @disk: where the disk goes
 * @why: where the text for people goes, if it is not -ENODEV
 *
 * Return: 0; -ENODEV if the export is not attached; -EEXIST if it is, but not so;
 * or another negative errno.
 */
int attached_find(const struct args *args, const struct attach *attach, struct disk *disk,
		  const char **why)
{
	char differs[TEXT_SIZE];
	struct disks disks = { };
	bool other = false;
	int ret;
	size_t i;

	ret = rnbd_list(NULL, &disks);
	if (ret) {
		*why = rnbd_error();
		goto out;
	}
	ret = -ENODEV;
	for (i = 0; i < disks.nr && ret; i++) {
		if (!same_export(attach, &disks.disk[i]))
			continue;
		*disk = disks.disk[i];
		compare(args, attach, disk, differs);
		if (!*differs) {
			ret = 0;
		} else if (!other) {
			other = true;
			snprintf(why_text, sizeof(why_text),
				 "%s is attached with %s; detach it first, or ask for the same",
				 disk->disk, differs);
		}
	}
	if (!ret && !strcmp(disk->state, "failed")) {
		other = true;
		ret = -ENODEV;
		snprintf(why_text, sizeof(why_text),
			 "%s is attached, but has lost its target for good; run: rnbd detach %s",
			 disk->disk, disk->disk);
	}
	if (ret && other) {
		*why = why_text;
		ret = -EEXIST;
	}
out:
	free(disks.disk);
	return ret;
}
