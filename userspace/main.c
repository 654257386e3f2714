// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd - the administration tool.
 *
 * Operation: main() looks the command up in the table of commands.c, calls args.c to parse the
 * command line, and runs the command.
 *
 * Ownership: strings of the command line are not copied.
 * Concurrency: one thread.
 * Errors: one line on stderr, and one of the exit codes of util.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rnbd/version.h>

#include "args.h"
#include "commands.h"
#include "help.h"
#include "util.h"

/* Find a command by its name of one or two words; *words is the number of words. */
static const struct command *find_command(int argc, char **argv, int *words)
{
	const struct command *cmd;

	for (cmd = commands; cmd->name; cmd++) {
		const char *name = cmd->name;
		const char *second = strchr(name, ' ');
		size_t len = second ? (size_t)(second - name) : strlen(name);

		if (strlen(argv[0]) != len || strncmp(argv[0], name, len))
			continue;
		if (second && (argc < 2 || strcmp(argv[1], second + 1)))
			continue;
		*words = second ? 2 : 1;
		return cmd;
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	struct args args = { .table = commands };
	int words = 1;
	int ret;

	if (argc < 2) {
		help_all(commands);
		return RNBD_EXIT_USAGE;
	}
	argc--;
	argv++;

	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
		puts("rnbd " RNBD_RELEASE);
		return RNBD_EXIT_OK;
	}
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		help_all(commands);
		return RNBD_EXIT_OK;
	}

	args.cmd = find_command(argc, argv, &words);
	if (!args.cmd && help_is_group(commands, argv[0])) {
		if (argc > 1 && (!strcmp(argv[1], "--help") ||
				 !strcmp(argv[1], "-h")))
			return help_group(commands, argv[0]);
		if (argc > 1)
			return usage_err("there is no command \"%s %s\"; see: rnbd help %s",
					 argv[0], argv[1], argv[0]);
		return usage_err("%s needs a command; see: rnbd help %s",
				 argv[0], argv[0]);
	}
	if (!args.cmd)
		return usage_err("there is no command \"%s\"; see: rnbd help",
				 argv[0]);

	context_set("%s", args.cmd->name);
	ret = args_parse(&args, argc - words + 1, argv + words - 1);
	if (!ret && args.help)
		help_command(args.cmd);
	else if (!ret)
		ret = args.cmd->run(&args);
	args_free(&args);
	return ret;
}

int main(int argc, char **argv)
{
	int ret = run(argc, argv);

	/* Report a write error of stdout, such as a full disk after "rnbd list >file". */
	if (fflush(stdout) || ferror(stdout)) {
		context_set("%s", "");
		err("cannot write the output: %s", strerror(errno));
		if (ret == RNBD_EXIT_OK)
			ret = RNBD_EXIT_FAIL;
	}
	return ret;
}
