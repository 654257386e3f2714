// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find a disk that is already attached as requested (rnbd attach --idempotent).
 *
 * Operation: a disk matches if it has the same export of the same target, and if every
 * option of the disk or its session on the command line has the value with which the disk
 * was attached. The comparison uses the value that was requested for the disk, because the
 * target can grant a smaller value, and another one at each attach. If the kernel does not
 * report the requested value, the comparison uses the granted one. An option that is not on
 * the command line matches any value.
 *
 * Ownership: no state is kept.
 * Concurrency: one thread. Another process can attach the same export between the search
 * and the attach. The attach then fails with -EEXIST, because a name is assigned only
 * once and a host can attach an export only once.
 * Errors: a negative errno, and an error message except for -ENODEV. If the export is attached
 * with other options, the message lists the differences.
 */
#include <errno.h>
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

/* A flag matches, too, if it was granted without a request: a read-only export is an example. */
static void compare_option(const struct opt *opt, const char *given,
			   const struct option_value *asked, const struct disk *disk,
			   char text[TEXT_SIZE])
{
	const struct option_value *granted = &disk->granted.value[option_row(opt)];
	const struct option_value *requested = &disk->requested.value[option_row(opt)];
	const struct option_value *has = requested->known ? requested : granted;
	char has_text[OPTION_TEXT_SIZE];

	if (option_same(opt, has, asked))
		return;
	if (opt->type == OPT_FLAG) {
		if (!granted->number)
			append(text, opt->name, "off", "on");
		return;
	}
	option_format(opt, has, has_text);
	append(text, opt->name, *has_text ? has_text : "(none)", given);
}

/* List the differences between the disk and the request in @text; "" if there are none. */
static void compare(const struct args *args, const struct attach *attach,
		    const struct disk *disk, char text[TEXT_SIZE])
{
	char uuid[UUID_TEXT_SIZE];
	size_t i;

	*text = '\0';
	for (i = 0; i < args->nr_given; i++) {
		const struct opt *opt = args->given[i].opt;

		if (opt->type)
			compare_option(opt, args->given[i].value,
				       &attach->options.value[option_row(opt)], disk, text);
	}
	/* Compare only whether the disk uses a secret: the kernel does not report the secret. */
	if (args_has(args, "secret-file") && !disk->authenticated)
		append(text, "secret-file", "(none)", args_value(args, "secret-file"));
	format_uuid(disk->host_id, uuid);
	if (args_has(args, "host-id") && memcmp(disk->host_id, attach->host_id, UUID_SIZE))
		append(text, "host-id", uuid, args_value(args, "host-id"));
}

/* Check whether a disk has this name. Disks whose attach is in progress are not found. */
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
 * attached_find() - find a disk that is attached as requested
 * @args: command line with the options that were given
 * @attach: values of these options, target and export
 * @disk: where the disk is stored
 * @why: where the error message is stored, except for -ENODEV
 *
 * Return: 0; -ENODEV if the export is not attached; -EEXIST if it is attached with other
 * options, or its disk has failed; or another negative errno.
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
				 "%s is attached with %s; detach it first, or request the same",
				 disk->disk, differs);
		}
	}
	if (!ret && !strcmp(disk->state, "failed")) {
		other = true;
		ret = -ENODEV;
		snprintf(why_text, sizeof(why_text),
			 "%s is attached, but has failed; run: rnbd detach %s",
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
