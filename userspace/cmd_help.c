// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd help: print the overview, or the help of a group of commands or of one command.
 *
 * Operation: the operands are looked up in the command table; help.c prints the texts.
 * Ownership, concurrency: the table is only read.
 * Errors: an unknown command is a usage error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "help.h"
#include "util.h"

int cmd_help(const struct args *args)
{
	const struct command *cmd;
	char *name;

	if (!args->nr_operands) {
		help_all(args->table);
		return RNBD_EXIT_OK;
	}
	if (args->nr_operands == 1 && help_is_group(args->table, args->operand[0]))
		return help_group(args->table, args->operand[0]);

	name = args->nr_operands == 1 ? xstrdup(args->operand[0]) :
	       xasprintf("%s %s", args->operand[0], args->operand[1]);
	for (cmd = args->table; cmd->name; cmd++) {
		if (!strcmp(cmd->name, name)) {
			help_command(cmd);
			free(name);
			return RNBD_EXIT_OK;
		}
	}
	usage_err("there is no command \"%s\"; see: rnbd help", name);
	free(name);
	return RNBD_EXIT_USAGE;
}
