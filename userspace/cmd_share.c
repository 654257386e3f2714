// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd host weight, rnbd host cgroup and rnbd export window: show or set how hosts share the
 * storage of an export.
 *
 * Operation: each command prints a value from configfs, or writes a new one, which takes
 * effect at once.
 * Ownership: configfs holds the state; this file keeps none.
 * Concurrency: see configfs.c.
 * Errors: each error is one line on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "parse.h"
#include "target.h"
#include "target_config.h"

/* Print the value of an attribute, or write @value to it. Frees @dir. Returns an exit code. */
static int show_or_set(char *dir, const char *attr, const char *value)
{
	int ret = RNBD_EXIT_OK;

	if (!dir)
		return RNBD_EXIT_FAIL;
	if (!value)
		printf("%" PRIu64 "\n", configfs_read_u64(dir, attr));
	else if (configfs_write(dir, attr, value))
		ret = RNBD_EXIT_FAIL;
	free(dir);
	return ret;
}

int cmd_host_weight(const struct args *args)
{
	const char *value = args->nr_operands > 1 ? args->operand[1] : NULL;
	uint8_t uuid[UUID_SIZE];
	uint32_t weight;

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	if (value && parse_u32(value, 1, TARGET_WEIGHT_MAX, &weight))
		return usage_err("%s: wanted a number from 1 to %u", value, TARGET_WEIGHT_MAX);
	return show_or_set(target_find_host(args->operand[0]), "weight", value);
}

/* Print a note if the limits of another cgroup than the configured one apply to the host. */
static void check_cgroup(const char *dir)
{
	char *cgroup = configfs_read(dir, "cgroup");
	char *applies = configfs_read(dir, "effective_cgroup");

	if (strcmp(cgroup, applies))
		note("cgroup %s is missing or has no io controller: limits of %s apply",
		     cgroup, *applies ? applies : "an ancestor");
	free(applies);
	free(cgroup);
}

int cmd_host_cgroup(const struct args *args)
{
	const char *value = args->nr_operands > 1 ? args->operand[1] : NULL;
	uint8_t uuid[UUID_SIZE];
	char *dir, *cgroup;
	int ret = RNBD_EXIT_OK;

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	if (value && (!*value || strchr(value, '\n')))
		return usage_err("wanted the path of a cgroup, or none");
	dir = target_find_host(args->operand[0]);
	if (!dir)
		return RNBD_EXIT_FAIL;
	if (!value) {
		cgroup = configfs_read(dir, "cgroup");
		puts(*cgroup ? cgroup : "none");
		free(cgroup);
	} else if (configfs_write(dir, "cgroup", strcmp(value, "none") ? value : "\n")) {
		ret = RNBD_EXIT_FAIL;
	}
	if (ret == RNBD_EXIT_OK)
		check_cgroup(dir);
	free(dir);
	return ret;
}

int cmd_export_window(const struct args *args)
{
	const char *value = args->nr_operands > 1 ? args->operand[1] : NULL;
	uint32_t window;

	context_set("%s %s", args->cmd->name, args->operand[0]);
	if (value && !strcmp(value, "default"))
		value = "0";
	else if (value && parse_u32(value, 1, TARGET_WINDOW_MAX, &window))
		return usage_err("%s: wanted a number from 1 to %u, or default", value,
				 TARGET_WINDOW_MAX);
	return show_or_set(target_find_export(args->operand[0]), "window", value);
}
