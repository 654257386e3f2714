// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd list: list attached disks as a table or as JSON with stable keys.
 *
 * Operation: disks.c returns the sorted list, and the JSON object of each disk.
 * Ownership: no state is kept.
 * Concurrency: one thread.
 * Errors: each error is one line on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "options.h"
#include "util.h"

static void print_table(const struct disks *disks)
{
	static const char * const heads[] = {
		"DISK", "EXPORT", "TARGET", "STATE", "SIZE", "QUEUES", "DEPTH", "POOL",
		"SESSION", "NAME",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	char size[SIZE_TEXT_SIZE], pool[SIZE_TEXT_SIZE];
	char target[ADDR_SIZE + 16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->disk[i];
		const struct options *granted = &disk->granted;

		if (format_addr(disk->address, disk->port, target, sizeof(target)))
			snprintf(target, sizeof(target), "?");
		format_size(disk->size, size);
		format_size(option_number(granted, "pool_bytes"), pool);
		table_cell(&table, "%s", disk->disk);
		table_cell(&table, "%s", disk->export);
		table_cell(&table, "%s", target);
		table_cell(&table, "%s", disk->state);
		table_cell(&table, "%s", size);
		table_cell(&table, "%" PRIu64, option_number(granted, "queues"));
		table_cell(&table, "%" PRIu64, option_number(granted, "depth"));
		table_cell(&table, "%s", pool);
		table_cell(&table, "%u", disk->session);
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
		ret = disks_open_list(&disks);
		rnbd_close();
	}
	if (ret == RNBD_EXIT_OK && args_has(args, "json"))
		print_json(&disks);
	else if (ret == RNBD_EXIT_OK)
		print_table(&disks);
	free(disks.disk);
	return ret;
}
