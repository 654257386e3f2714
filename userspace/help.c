// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print help texts from the command table.
 *
 * Operation: all texts come from the table. A new row appears in the overview, in the help
 * of its group and in its own help without a change here.
 *
 * Ownership, concurrency: the table is only read.
 * Errors: none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rnbd/version.h>

#include "args.h"
#include "help.h"
#include "util.h"

void help_all(const struct command *table)
{
	puts("rnbd " RNBD_RELEASE " - block devices over RDMA\n\n"
	     "usage: rnbd COMMAND [OPERAND...] [OPTION...]\n");
	for (; table->name; table++)
		printf("  %-20s  %s\n", table->name, table->summary);
	puts("\nMore about a command: rnbd help COMMAND");
}

void help_command(const struct command *cmd)
{
	const struct opt *opt;

	printf("rnbd %s - %s\n\nusage: rnbd %s%s%s%s\n", cmd->name, cmd->summary,
	       cmd->name, *cmd->operands ? " " : "", cmd->operands,
	       cmd->opts ? " [OPTION...]" : "");
	if (cmd->notes)
		printf("\n%s\n", cmd->notes);
	if (!cmd->opts)
		return;

	putchar('\n');
	for (opt = cmd->opts; opt->name; opt++) {
		char *left = xasprintf("--%s%s%s", opt->name,
				       opt->arg ? " " : "",
				       opt->arg ? opt->arg : "");

		printf("  %-22s %s\n", left, opt->help);
		free(left);
	}
}

bool help_in_group(const struct command *cmd, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(cmd->name, word, len) && cmd->name[len] == ' ';
}

bool help_is_group(const struct command *table, const char *word)
{
	for (; table->name; table++) {
		if (help_in_group(table, word))
			return true;
	}
	return false;
}

int help_group(const struct command *table, const char *group)
{
	printf("usage: rnbd %s COMMAND [OPERAND...] [OPTION...]\n\n", group);
	for (; table->name; table++) {
		if (help_in_group(table, group))
			printf("  %-20s  %s\n", table->name, table->summary);
	}
	return RNBD_EXIT_OK;
}
