// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd list: attached disks as a table or as JSON with stable keys; and what other
 * commands need for the same: the sorted list, the one disk that a word means.
 *
 * Operation: one dump, sorted by disk. A disk is looked up in the list of all of
 * them, because a name or a UUID is known there only.
 * Ownership: the caller of disk_json() owns the object.
 * Concurrency: one thread.
 * Errors: one line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rnbd/netlink.h>

#include "command.h"
#include "list.h"
#include "resolve.h"
#include "util.h"

static struct json_object *wishes_json(const struct wishes *wishes)
{
	struct json_object *obj = json_object_new_object();

	json_add_u64(obj, "queues", wishes->queues);
	json_add_u64(obj, "poll_queues", wishes->poll_queues);
	json_add_u64(obj, "depth", wishes->depth);
	json_add_u64(obj, "ring_slots", wishes->ring_slots);
	json_add_u64(obj, "slot_size", wishes->slot_size);
	json_add_u64(obj, "pool_bytes", wishes->pool_bytes);
	json_add_u64(obj, "max_io", wishes->max_io);
	json_add_u64(obj, "inline_read", wishes->inline_read);
	json_add_u64(obj, "inline_write", wishes->inline_write);
	json_add_bool(obj, "readonly", wishes->flags & RNBD_FLAG_READONLY);
	json_add_bool(obj, "early_release", wishes->flags & RNBD_FLAG_EARLY_RELEASE);
	json_add_string(obj, "transfer", wishes->flags & RNBD_FLAG_COPY ? "copy" : "zero-copy");
	return obj;
}

/**
 * disk_json() - a disk as a JSON object
 * @disk: disk
 */
struct json_object *disk_json(const struct disk *disk)
{
	struct json_object *obj = json_object_new_object();

	json_add_string(obj, "disk", disk->disk);
	json_add_string(obj, "name", *disk->name ? disk->name : NULL);
	json_add_string(obj, "export", disk->export);
	json_add_string(obj, "address", disk->address);
	json_add_u64(obj, "port", disk->port);
	json_add_string(obj, "state", disk->state);
	json_add_u64(obj, "state_ms", disk->state_ms);
	json_add_u64(obj, "attached_ms", disk->attached_ms);
	json_add_string(obj, "reason", disk->reason);
	json_add_string(obj, "last_error", disk->last_error);
	json_add_u64(obj, "epoch", disk->epoch);
	json_add_u64(obj, "attempt", disk->attempt);
	json_add_u64(obj, "next_try_ms", disk->next_try_ms);
	json_add_u64(obj, "reconnects", disk->reconnects);
	json_add_string(obj, "policy",
			disk->policy == RNBD_POLICY_FAIL ? "fail" : "queue");
	json_add_u64(obj, "fast_io_fail", disk->fast_io_fail);
	json_add_u64(obj, "loss_timeout", disk->loss_timeout);
	json_add_u64(obj, "keepalive_ms", disk->keepalive_ms);
	json_add_u64(obj, "size", disk->size);
	json_add_u64(obj, "block_size", disk->block_size);
	json_add_u64(obj, "queues", disk->queues);
	json_add_u64(obj, "poll_queues", disk->poll_queues);
	json_add_u64(obj, "depth", disk->depth);
	json_add_u64(obj, "ring_slots", disk->ring_slots);
	json_add_u64(obj, "slot_size", disk->slot_size);
	json_add_u64(obj, "pool_bytes", disk->pool_bytes);
	json_add_u64(obj, "max_io", disk->max_io);
	json_add_bool(obj, "readonly", disk->readonly);
	json_add_bool(obj, "early_release", disk->early_release);
	json_add_string(obj, "transfer", disk->copy ? "copy" : "zero-copy");
	json_add_bool(obj, "authenticated", disk->authenticated);
	json_add_uuid(obj, "host_id", disk->host_id);
	json_add_uuid(obj, "session_id", disk->session_id);
	json_add_uuid(obj, "export_id", disk->export_id);
	json_object_object_add(obj, "wishes", wishes_json(&disk->wishes));
	return obj;
}

/**
 * values_json() - add the numbers of a disk to a JSON object
 * @obj: object
 * @sample: numbers
 */
void values_json(struct json_object *obj, const struct sample *sample)
{
	size_t i;

	for (i = 0; i < NR_VALUES; i++)
		json_add_known(obj, value_infos[i].key, sample->value[i], !sample->missing[i]);
}

static int compare_disks(const void *a, const void *b)
{
	const struct disk *x = a, *y = b;

	return strverscmp(x->disk, y->disk);
}

/**
 * disks_list() - all disks in their order; says so if that fails
 * @disks: where they go; the caller frees disks->disk
 *
 * Return: an exit code.
 */
int disks_list(struct disks *disks)
{
	int ret = rnbd_list(NULL, disks);

	/* Of the family that was there when the socket was opened */
	if (ret == -ENOENT)
		err("the rnbd module was unloaded; run: modprobe rnbd");
	else if (ret)
		err("%s", rnbd_error());
	if (ret)
		return RNBD_EXIT_FAIL;
	if (disks->nr)
		qsort(disks->disk, disks->nr, sizeof(*disks->disk), compare_disks);
	return RNBD_EXIT_OK;
}

/* The caller closes, also after a failure. */
static int open_and_list(struct disks *disks)
{
	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	return disks_list(disks);
}

/* Say why a word means no disk; returns the exit code for that. */
int resolve_fail(int error)
{
	err("%s", resolve_error());
	return error == -EINVAL ? RNBD_EXIT_USAGE : RNBD_EXIT_FAIL;
}

/**
 * disk_get() - the disk that the first operand means; says so if there is none
 * @args: the command line
 * @disk: where the disk goes
 *
 * Return: an exit code.
 */
int disk_get(const struct args *args, struct disk *disk)
{
	const struct disk *found;
	struct disks disks = { };
	int ret;

	if (resolve_check(args->operand[0]))
		return usage_err("%s", resolve_error());
	ret = open_and_list(&disks);
	if (ret == RNBD_EXIT_OK) {
		ret = resolve_disk(args->operand[0], &disks, &found);
		if (ret)
			ret = resolve_fail(ret);
		else
			*disk = *found;
	}
	rnbd_close();
	free(disks.disk);
	return ret;
}

static void print_table(const struct disks *disks)
{
	static const char * const heads[] = {
		"DISK", "EXPORT", "TARGET", "STATE", "SIZE", "QUEUES", "DEPTH", "POOL", "NAME",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	char size[SIZE_TEXT_SIZE], pool[SIZE_TEXT_SIZE];
	char target[ADDR_SIZE + 16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->disk[i];

		if (format_addr(disk->address, disk->port, target, sizeof(target)))
			snprintf(target, sizeof(target), "?");
		format_size(disk->size, size);
		format_size(disk->pool_bytes, pool);
		table_cell(&table, "%s", disk->disk);
		table_cell(&table, "%s", disk->export);
		table_cell(&table, "%s", target);
		table_cell(&table, "%s", disk->state);
		table_cell(&table, "%s", size);
		table_cell(&table, "%u", disk->queues);
		table_cell(&table, "%u", disk->depth);
		table_cell(&table, "%s", pool);
		table_cell(&table, "%s", disk->name);
	}
	table_print(&table);
}

static void print_json(const struct disks *disks)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < disks->nr; i++)
		json_object_array_add(array, disk_json(&disks->disk[i]));
	json_print(array);
}

int cmd_list(const struct args *args)
{
	struct disks disks = { };
	int ret;

	if (args->nr_operands) {
		disks.disk = xcalloc(1, sizeof(*disks.disk));
		disks.nr = 1;
		ret = disk_get(args, disks.disk);
	} else {
		ret = open_and_list(&disks);
		rnbd_close();
	}
	if (ret == RNBD_EXIT_OK && args_has(args, "json"))
		print_json(&disks);
	else if (ret == RNBD_EXIT_OK)
		print_table(&disks);
	free(disks.disk);
	return ret;
}
