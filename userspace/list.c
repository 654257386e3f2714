// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd list: attached disks as a table or as JSON with stable keys.
 *
 * Operation: one dump, sorted by disk.
 * Ownership: the caller of disk_json() owns the object.
 * Concurrency: one thread.
 * Errors: one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rnbd/netlink.h>

#include "command.h"
#include "list.h"
#include "util.h"

/**
 * disk_json() - a disk as a JSON object
 * @disk: disk
 */
struct json_object *disk_json(const struct disk *disk)
{
	struct json_object *obj = json_object_new_object();

	json_add_string(obj, "disk", disk->disk);
	json_add_string(obj, "export", disk->export);
	json_add_string(obj, "address", disk->address);
	json_add_u64(obj, "port", disk->port);
	json_add_string(obj, "state", disk->state);
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
	json_add_uuid(obj, "host_id", disk->host_id);
	json_add_uuid(obj, "session_id", disk->session_id);
	json_add_uuid(obj, "export_id", disk->export_id);
	return obj;
}

static int compare_disks(const void *a, const void *b)
{
	const struct disk *x = a, *y = b;

	return strverscmp(x->disk, y->disk);
}

static void print_table(const struct disks *disks)
{
	static const char * const heads[] = {
		"DISK", "EXPORT", "TARGET", "STATE", "SIZE", "QUEUES", "DEPTH", "POOL",
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
	char name[DISK_NAME_SIZE];
	bool one = args->nr_operands;
	int ret;

	if (one && parse_disk(args->operand[0], name, sizeof(name)))
		return usage_err("%s: not a disk such as rnbd0", args->operand[0]);
	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	ret = rnbd_list(one ? name : NULL, &disks);
	rnbd_close();
	if (ret) {
		err("%s", rnbd_error());
	} else {
		if (disks.nr)
			qsort(disks.disk, disks.nr, sizeof(*disks.disk), compare_disks);
		if (args_has(args, "json"))
			print_json(&disks);
		else
			print_table(&disks);
	}
	free(disks.disk);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
