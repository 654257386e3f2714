// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd hostid: print the host UUID of this machine.
 *
 * Operation: hostid.c reads the UUID, or creates it at the first use.
 * Ownership: no state is kept.
 * Concurrency: one thread.
 * Errors: each error is one line on stderr.
 */
#include <stdio.h>

#include "args.h"
#include "cmd.h"
#include "hostid.h"
#include "output.h"
#include "util.h"

int cmd_hostid(const struct args *args)
{
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];

	if (hostid_get(uuid))
		return RNBD_EXIT_FAIL;
	if (args_has(args, "json")) {
		struct json_object *obj = json_object_new_object();

		json_add_uuid(obj, "host_id", uuid);
		json_print(obj);
		return RNBD_EXIT_OK;
	}
	format_uuid(uuid, text);
	puts(text);
	return RNBD_EXIT_OK;
}
