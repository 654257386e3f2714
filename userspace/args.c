// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse the command line: the options and operands of a command.
 *
 * Operation: the row of the command in the command table lists its options, and
 * getopt_long() parses them. The options are stored in the order given, so that an
 * option may be repeated. Commands look up values by the name of the option.
 *
 * Ownership: strings of the command line are used in place; args_free() releases the
 * list of options.
 * Concurrency: one thread.
 * Errors: one line on stderr, and RNBD_EXIT_USAGE.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "parse.h"
#include "util.h"

/**
 * args_next() - get the next value of an option that may be repeated
 * @args: command line
 * @name: name of the option
 * @pos: position of the search; the caller sets it to 0 before the first call
 *
 * Return: the next value ("" if the option takes none), NULL after the last one.
 */
const char *args_next(const struct args *args, const char *name, size_t *pos)
{
	while (*pos < args->nr_given) {
		size_t i = (*pos)++;

		if (!strcmp(args->given[i].opt->name, name))
			return args->given[i].value ? args->given[i].value : "";
	}
	return NULL;
}

const char *args_value(const struct args *args, const char *name)
{
	size_t pos = 0;

	return args_next(args, name, &pos);
}

bool args_has(const struct args *args, const char *name)
{
	return args_value(args, name);
}

/* Parse the number of an option; *out is unchanged without this option. Returns an exit code. */
int args_number(const struct args *args, const char *name, uint32_t min, uint32_t max,
		uint32_t *out)
{
	const char *value = args_value(args, name);

	if (value && parse_u32(value, min, max, out))
		return usage_err("--%s %s: wanted a number from %u to %u", name,
				 value, min, max);
	return 0;
}

/* Build the table for getopt_long(); option i of cmd->opts gets the code i + 256. */
static struct option *long_options(const struct command *cmd)
{
	size_t nr = 0, i;
	struct option *options;

	while (cmd->opts && cmd->opts[nr].name)
		nr++;

	options = xcalloc(nr + 2, sizeof(*options));
	for (i = 0; i < nr; i++) {
		options[i].name = cmd->opts[i].name;
		options[i].has_arg = cmd->opts[i].arg ? required_argument :
							no_argument;
		options[i].val = i + 256;
	}
	options[nr].name = "help";
	options[nr].val = 'h';
	return options;
}

/* Print why getopt_long() rejected the option @word. Returns an exit code. */
static int bad_option(const struct command *cmd, const struct option *options, const char *word)
{
	const size_t len = strcspn(word, "=") - 2;
	struct strlist names = { };
	char *joined;

	/*
	 * optopt is the code of a long option that got a value but takes none, the letter
	 * of an unknown short option, or 0 for an unknown or ambiguous long option.
	 */
	if (optopt == 'h' || optopt >= 256)
		return usage_err("%s: the option takes no value; see: rnbd help %s", word,
				 cmd->name);
	if (optopt)
		return usage_err("-%c is not a known option; see: rnbd help %s",
				 isascii(optopt) ? optopt : '?', cmd->name);
	for (; options->name; options++) {
		if (!strncmp(options->name, word + 2, len)) {
			joined = xasprintf("--%s", options->name);
			strlist_add(&names, joined);
			free(joined);
		}
	}
	joined = strlist_join(&names, " or ");
	if (names.nr)
		usage_err("%s is ambiguous: %s; see: rnbd help %s", word, joined, cmd->name);
	else
		usage_err("%s is not a known option; see: rnbd help %s", word, cmd->name);
	free(joined);
	strlist_free(&names);
	return RNBD_EXIT_USAGE;
}

/**
 * args_parse() - parse the command line of a command
 * @args: result; the caller has set its command, and calls args_free() later
 * @argc: number of words in @argv
 * @argv: words of the command line, from the last word of the command's name on
 *
 * Return: an exit code. With --help, args->help is set and the operands are not.
 */
int args_parse(struct args *args, int argc, char **argv)
{
	const struct command *cmd = args->cmd;
	struct option *options = long_options(cmd);
	int ret = RNBD_EXIT_OK;
	int c;

	args->given = xcalloc(argc, sizeof(*args->given));
	opterr = 0;
	/*
	 * In glibc, optind = 0 resets getopt_long(). Options can follow operands, because
	 * getopt_long() moves the operands to the end of @argv.
	 */
	optind = 0;

	while (!ret && !args->help && (c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		const struct opt *opt;

		switch (c) {
		case 'h':
			args->help = true;
			break;
		case ':':
			ret = usage_err("%s needs a value; see: rnbd help %s",
					argv[optind - 1], cmd->name);
			break;
		case '?':
			ret = bad_option(cmd, options, argv[optind - 1]);
			break;
		default:
			opt = &cmd->opts[c - 256];
			if (!opt->repeat && args_has(args, opt->name)) {
				ret = usage_err("--%s is given twice", opt->name);
				break;
			}
			args->given[args->nr_given].opt = opt;
			args->given[args->nr_given].value = optarg;
			args->nr_given++;
		}
	}
	free(options);
	if (ret || args->help)
		return ret;

	args->operand = argv + optind;
	args->nr_operands = argc - optind;
	if (args->nr_operands < cmd->min)
		return usage_err("an operand is missing; usage: rnbd %s %s",
				 cmd->name, cmd->operands);
	if (cmd->max >= 0 && args->nr_operands > cmd->max)
		return usage_err("operand \"%s\" is unexpected; usage: rnbd %s %s",
				 args->operand[cmd->max], cmd->name,
				 cmd->operands);
	return RNBD_EXIT_OK;
}

void args_free(struct args *args)
{
	free(args->given);
}
