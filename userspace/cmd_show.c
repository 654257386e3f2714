// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd show: print all values of one disk, as text in groups of "key: value", or as one
 * JSON object, which has the members that rnbd list prints, and further values from sysfs.
 *
 * Operation: one netlink dump, then reads from sysfs. Text and JSON use the same keys, except
 * that text shows state_ms and attached_ms as durations under other keys, and a requested value
 * beside the granted one.
 * Ownership: no state is kept.
 * Concurrency: one thread. The values can be of different moments, because the disk stays in
 * use while they are read.
 * Errors: each error is one line on stderr.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "netlink_client.h"
#include "options.h"
#include "output.h"
#include "sample.h"
#include "util.h"

/* Read a number from sysfs; @value is unknown if the module is older and lacks the file. */
static int read_number(const struct disk *disk, const char *file, struct option_value *value)
{
	char text[32];
	int ret = disk_file(disk->disk, file, text, sizeof(text));

	value->known = !ret;
	value->number = ret ? 0 : strtoull(text, NULL, 10);
	return ret == -ENOENT ? 0 : ret;
}

/* Read the options that only sysfs reports, and @segment, the size of a pool segment in bytes. */
static int read_sysfs(struct disk *disk, struct option_value *segment)
{
	const struct opt *opt;
	int ret;

	ret = read_number(disk, "rnbd/segment_units", segment);
	segment->number *= RNBD_UNIT_SIZE;
	for (opt = attach_opts; opt->name && !ret; opt++) {
		if (opt->sysfs)
			ret = read_number(disk, opt->sysfs,
					  &disk->granted.value[option_row(opt)]);
	}
	return ret;
}

static void print_json(const struct sample *sample, const struct option_value *segment)
{
	struct json_object *counters = json_object_new_object();
	struct json_object *obj = disk_json(&sample->disk);
	char *device = xasprintf("/dev/%s", sample->disk.disk);

	json_add_string(obj, "device", device);
	disk_sysfs_options_json(obj, &sample->disk.granted);
	json_add_known(obj, "segment_bytes", segment->number, segment->known);
	values_json(counters, sample);
	json_object_object_add(obj, "counters", counters);
	json_print(obj);
	free(device);
}

static void line(const char *key, const char *fmt, ...) __printf(2, 3);

static void line(const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("  %s: %s\n", key, *text ? printable(text) : "-");
}

static void line_uuid(const char *key, const uint8_t *uuid)
{
	static const uint8_t none[UUID_SIZE];
	char text[UUID_TEXT_SIZE];

	format_uuid(uuid, text);
	line(key, "%s", memcmp(uuid, none, sizeof(none)) ? text : "");
}

static void line_size(const char *key, uint64_t bytes)
{
	char text[SIZE_TEXT_SIZE];

	format_size(bytes, text);
	if (bytes < 1024)
		line(key, "%" PRIu64, bytes);
	else
		line(key, "%" PRIu64 " (%s)", bytes, text);
}

/* Print the granted number and, if it differs, the requested one. */
static void line_grant(const char *key, uint64_t granted, uint64_t requested)
{
	if (granted == requested)
		line(key, "%" PRIu64, granted);
	else
		line(key, "%" PRIu64 " (requested: %" PRIu64 ")", granted, requested);
}

/* Print a duration in milliseconds, such as "3 d 01:02:03". */
static void line_since(const char *key, uint64_t ms)
{
	uint64_t s = ms / 1000;

	line(key, "%" PRIu64 " d %02u:%02u:%02u", s / 86400, (unsigned int)(s / 3600 % 24),
	     (unsigned int)(s / 60 % 60), (unsigned int)(s % 60));
}

static void line_option(const struct opt *opt, const struct disk *disk)
{
	const struct option_value *granted = &disk->granted.value[option_row(opt)];
	const struct option_value *requested = &disk->requested.value[option_row(opt)];
	uint64_t number = requested->number;
	char text[OPTION_TEXT_SIZE];

	if (!granted->known) {
		line(opt->key, "-");
	} else if (opt->type == OPT_SECONDS) {
		if (granted->number)
			line(opt->key, "%" PRIu64 " s", granted->number);
		else
			line(opt->key, "never");
	} else if (requested->known && opt->type != OPT_FLAG && opt->type != OPT_WORD) {
		/* The granted number includes the polled queues, the requested number does not. */
		if (opt->attr == RNBD_ATTR_QUEUES)
			number += option_number(&disk->requested, "poll_queues");
		line_grant(opt->key, granted->number, number);
	} else {
		option_format(opt, granted, text);
		line(opt->key, "%s", text);
	}
}

static void print_group(const struct disk *disk, enum opt_group group,
			const struct option_value *segment)
{
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (opt->group != group)
			continue;
		line_option(opt, disk);
		if (opt->attr != RNBD_ATTR_POOL_BYTES)
			continue;
		/* The size of a segment is not an option, so the table has no row for it. */
		if (segment->known)
			line_size("segment_bytes", segment->number);
		else
			line("segment_bytes", "-");
	}
}

static void print_state(const struct disk *disk)
{
	puts("\nstate");
	line("state", "%s", disk->state);
	line_since("in this state", disk->state_ms);
	line_since("attached", disk->attached_ms);
	line("reason", "%s", disk->reason);
	line("last_error", "%s", disk->last_error);
	line("attempt", "%u", disk->attempt);
	line("next_try_ms", "%u", disk->next_try_ms);
	line("epoch", "%u", disk->epoch);
	line("reconnects", "%" PRIu64, disk->reconnects);
}

static void print_text(const struct sample *sample, const struct option_value *segment)
{
	const struct disk *disk = &sample->disk;
	size_t i;

	puts("identity");
	line("disk", "%s", disk->disk);
	line("device", "/dev/%s", disk->disk);
	line("name", "%s", disk->name);
	line_uuid("export_id", disk->export_id);
	line("session", "%u", disk->session);
	line("session_state", "%s", disk->session_state);
	line_uuid("session_id", disk->session_id);
	line_uuid("host_id", disk->host_id);

	puts("\ntarget");
	line("export", "%s", disk->export);
	line("address", "%s", disk->address);
	line("port", "%u", disk->port);
	line("authenticated", "%s", disk->authenticated ? "true" : "false");

	print_state(disk);

	puts("\ngeometry");
	line_size("size", disk->size);
	line_size("block_size", disk->block_size);
	print_group(disk, OPT_GEOMETRY, segment);

	puts("\nrecovery");
	print_group(disk, OPT_RECOVERY, segment);

	puts("\ncounters");
	for (i = 0; i < NR_VALUES; i++) {
		if (sample->missing[i])
			line(value_infos[i].key, "-");
		else
			line(value_infos[i].key, "%" PRIu64, sample->value[i]);
	}
}

int cmd_show(const struct args *args)
{
	struct option_value segment = { };
	struct sample sample;
	struct disk disk;
	int ret;

	ret = disk_get(args, &disk);
	if (ret)
		return ret;

	ret = sample_take(&disk, &sample);
	if (!ret)
		ret = read_sysfs(&sample.disk, &segment);
	if (ret) {
		err("%s: cannot read /sys/block/%s: %s", disk.disk, disk.disk, strerror(-ret));
		return RNBD_EXIT_FAIL;
	}
	if (args_has(args, "json"))
		print_json(&sample, &segment);
	else
		print_text(&sample, &segment);
	return RNBD_EXIT_OK;
}
