// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd show: everything about one disk, as groups of "key: value" for people or as
 * one JSON object: that of rnbd list with what sysfs knows besides.
 *
 * Operation: one look at netlink, then sysfs. Keys for people are those of JSON.
 * Ownership: nothing is kept.
 * Concurrency: one thread; the disk goes on meanwhile.
 * Errors: one line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "list.h"
#include "netlink.h"
#include "output.h"
#include "sample.h"
#include "util.h"

/* What an older module does not tell. */
#define UNKNOWN	UINT64_MAX

/**
 * struct extra - what sysfs knows of a disk and netlink does not tell, or UNKNOWN
 * @inline_read: granted, bytes
 * @inline_write: granted, bytes
 * @segment_bytes: size of a registered piece of the pool
 */
struct extra {
	uint64_t inline_read;
	uint64_t inline_write;
	uint64_t segment_bytes;
};

static int read_number(const struct disk *disk, const char *file, uint64_t *number)
{
	char text[32];
	int ret = disk_file(disk->disk, file, text, sizeof(text));

	*number = ret ? UNKNOWN : strtoull(text, NULL, 10);
	return ret == -ENOENT ? 0 : ret;
}

static int read_extra(const struct disk *disk, struct extra *extra)
{
	int ret;

	ret = read_number(disk, "rnbd/inline_read", &extra->inline_read);
	if (!ret)
		ret = read_number(disk, "rnbd/inline_write", &extra->inline_write);
	if (!ret)
		ret = read_number(disk, "rnbd/segment_units", &extra->segment_bytes);
	if (!ret && extra->segment_bytes != UNKNOWN)
		extra->segment_bytes *= RNBD_UNIT_SIZE;
	return ret;
}

static void add_extra(struct json_object *obj, const char *key, uint64_t value)
{
	json_add_known(obj, key, value, value != UNKNOWN);
}

static void print_json(const struct sample *sample, const struct extra *extra)
{
	struct json_object *counters = json_object_new_object();
	struct json_object *obj = disk_json(&sample->disk);
	char *device = xasprintf("/dev/%s", sample->disk.disk);

	json_add_string(obj, "device", device);
	add_extra(obj, "inline_read", extra->inline_read);
	add_extra(obj, "inline_write", extra->inline_write);
	add_extra(obj, "segment_bytes", extra->segment_bytes);
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
	if (bytes == UNKNOWN)
		line(key, "-");
	else if (bytes < 1024)
		line(key, "%" PRIu64, bytes);
	else
		line(key, "%" PRIu64 " (%s)", bytes, text);
}

/* What was granted and, if it is another number, what was wished. */
static void line_grant(const char *key, uint64_t granted, uint64_t wished)
{
	if (granted == UNKNOWN)
		line(key, "-");
	else if (granted == wished)
		line(key, "%" PRIu64, granted);
	else
		line(key, "%" PRIu64 " (wished: %" PRIu64 ")", granted, wished);
}

/* "3 d 01:02:03" */
static void line_since(const char *key, uint64_t ms)
{
	uint64_t s = ms / 1000;

	line(key, "%" PRIu64 " d %02u:%02u:%02u", s / 86400, (unsigned int)(s / 3600 % 24),
	     (unsigned int)(s / 60 % 60), (unsigned int)(s % 60));
}

static void line_never(const char *key, uint32_t seconds)
{
	if (seconds)
		line(key, "%u s", seconds);
	else
		line(key, "never");
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

static void print_geometry(const struct disk *disk, const struct extra *extra)
{
	const struct wishes *wishes = &disk->wishes;

	puts("\ngeometry");
	line_size("size", disk->size);
	line_size("block_size", disk->block_size);
	/* Polled ones are wished besides, and granted as some of all. */
	line_grant("queues", disk->queues, wishes->queues + wishes->poll_queues);
	line_grant("poll_queues", disk->poll_queues, wishes->poll_queues);
	line_grant("depth", disk->depth, wishes->depth);
	line_grant("ring_slots", disk->ring_slots, wishes->ring_slots);
	line_grant("slot_size", disk->slot_size, wishes->slot_size);
	line_grant("pool_bytes", disk->pool_bytes, wishes->pool_bytes);
	line_size("segment_bytes", extra->segment_bytes);
	line_grant("max_io", disk->max_io, wishes->max_io);
	line_grant("inline_read", extra->inline_read, wishes->inline_read);
	line_grant("inline_write", extra->inline_write, wishes->inline_write);
	line("readonly", "%s", disk->readonly ? "true" : "false");
	line("early_release", "%s", disk->early_release ? "true" : "false");
	line("transfer", "%s", disk->copy ? "copy" : "zero-copy");
}

static void print_text(const struct sample *sample, const struct extra *extra)
{
	const struct disk *disk = &sample->disk;
	size_t i;

	puts("identity");
	line("disk", "%s", disk->disk);
	line("device", "/dev/%s", disk->disk);
	line("name", "%s", disk->name);
	line_uuid("export_id", disk->export_id);
	line_uuid("session_id", disk->session_id);
	line_uuid("host_id", disk->host_id);

	puts("\ntarget");
	line("export", "%s", disk->export);
	line("address", "%s", disk->address);
	line("port", "%u", disk->port);
	line("authenticated", "%s", disk->authenticated ? "true" : "false");

	print_state(disk);
	print_geometry(disk, extra);

	puts("\nrecovery");
	line("policy", "%s", disk->policy == RNBD_POLICY_FAIL ? "fail" : "queue");
	line_never("fast_io_fail", disk->fast_io_fail);
	line_never("loss_timeout", disk->loss_timeout);
	line("keepalive_ms", "%u", disk->keepalive_ms);

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
	struct extra extra = { };
	struct sample sample;
	struct disk disk;
	int ret;

	ret = disk_get(args, &disk);
	if (ret)
		return ret;

	ret = sample_take(&disk, &sample);
	if (!ret)
		ret = read_extra(&disk, &extra);
	if (ret) {
		err("%s: cannot read /sys/block/%s: %s", disk.disk, disk.disk, strerror(-ret));
		return RNBD_EXIT_FAIL;
	}
	if (args_has(args, "json"))
		print_json(&sample, &extra);
	else
		print_text(&sample, &extra);
	return RNBD_EXIT_OK;
}
