// SPDX-License-Identifier: GPL-2.0-only
/*
 * Help and completion, made of the command table.
 *
 * Operation: nothing here knows a command by name; a new row in main.c shows
 * up in the overview, in its own help and in the completion script.
 *
 * Ownership, concurrency: it only reads the table.
 * Errors: an unknown command is a usage error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "util.h"
#include "version.h"

void help_all(void)
{
	size_t i;

	puts("rnbd " RNBD_TOOL_VERSION " - block devices over RDMA\n\n"
	     "usage: rnbd COMMAND [OPERAND...] [OPTION...]\n");
	for (i = 0; i < nr_commands; i++)
		printf("  %-16s %s\n", commands[i].name, commands[i].summary);
	puts("\nMore about a command: rnbd help COMMAND");
}

void help_command(const struct command *cmd)
{
	const struct opt *opt;

	printf("rnbd %s - %s\n\nusage: rnbd %s %s%s\n", cmd->name, cmd->summary,
	       cmd->name, cmd->operands,
	       cmd->opts ? *cmd->operands ? " [OPTION...]" : "[OPTION...]" : "");
	if (cmd->notes)
		printf("\n%s\n", cmd->notes);
	if (!cmd->opts)
		return;

	putchar('\n');
	for (opt = cmd->opts; opt->name; opt++) {
		char *left = xasprintf("--%s%s%s", opt->name,
				       opt->arg ? " " : "",
				       opt->arg ? opt->arg : "");

		printf("  %-20s %s\n", left, opt->help);
		free(left);
	}
}

static bool in_group(const struct command *cmd, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(cmd->name, word, len) && cmd->name[len] == ' ';
}

bool is_group(const char *word)
{
	size_t i;

	for (i = 0; i < nr_commands; i++) {
		if (in_group(&commands[i], word))
			return true;
	}
	return false;
}

int help_group(const char *group)
{
	size_t i;

	printf("usage: rnbd %s COMMAND [OPERAND...] [OPTION...]\n\n", group);
	for (i = 0; i < nr_commands; i++) {
		if (in_group(&commands[i], group))
			printf("  %-16s %s\n", commands[i].name,
			       commands[i].summary);
	}
	return RNBD_EXIT_OK;
}

int cmd_help(const struct args *args)
{
	char *name;
	size_t i;

	if (!args->nr_operands) {
		help_all();
		return RNBD_EXIT_OK;
	}
	if (args->nr_operands == 1 && is_group(args->operand[0]))
		return help_group(args->operand[0]);

	name = args->nr_operands == 1 ? xstrdup(args->operand[0]) :
	       xasprintf("%s %s", args->operand[0], args->operand[1]);
	for (i = 0; i < nr_commands; i++) {
		if (!strcmp(commands[i].name, name)) {
			help_command(&commands[i]);
			free(name);
			return RNBD_EXIT_OK;
		}
	}
	usage_err("there is no command \"%s\"; see: rnbd help", name);
	free(name);
	return RNBD_EXIT_USAGE;
}

/* Shell code that leaves in $words what completes a word of this kind. */
static const char *completion_code(const char *complete)
{
	static char text[256];

	if (!complete)
		return "words=";
	if (!strcmp(complete, COMPLETE_DISK))
		return "words=$(cd /sys/block 2>/dev/null && compgen -G 'rnbd*')";
	if (!strcmp(complete, COMPLETE_EXPORT))
		return "words=$(ls /sys/kernel/config/rnbd/exports 2>/dev/null)";
	if (!strcmp(complete, COMPLETE_HOST))
		return "words=$(ls /sys/kernel/config/rnbd/hosts 2>/dev/null)";
	if (!strcmp(complete, COMPLETE_FILE))
		return "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); "
		       "compopt -o filenames 2>/dev/null; return";
	snprintf(text, sizeof(text), "words='%s'", complete);
	return text;
}

/* The case of one command: values of its options, its options, its operands. */
static void completion_command(const struct command *cmd)
{
	const struct opt *opt;

	printf("\t'%s')\n", cmd->name);

	puts("\t\tcase $prev in");
	for (opt = cmd->opts; opt && opt->name; opt++) {
		if (opt->arg)
			printf("\t\t--%s) %s ;;\n", opt->name,
			       completion_code(opt->complete));
	}
	puts("\t\t*)");
	puts("\t\t\tcase $cur in");
	printf("\t\t\t-*) words='");
	for (opt = cmd->opts; opt && opt->name; opt++)
		printf("--%s ", opt->name);
	puts("--help' ;;");
	printf("\t\t\t*)\n\t\t\t\tif [ \"$operands\" = 0 ]; then %s\n",
	       completion_code(cmd->complete));
	printf("\t\t\t\telse %s; fi ;;\n", completion_code(cmd->complete_rest));
	puts("\t\t\tesac ;;");
	puts("\t\tesac ;;");
}

/*
 * Which of the words on the line are operands: those that are neither options
 * nor the value of one. $valued lists the options that take a value.
 */
static const char completion_head[] =
	"# bash completion of rnbd; made by: rnbd completion bash\n"
	"_rnbd()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal cmd=${COMP_WORDS[1]} first=2 operands=0 words='' i\n"
	"\n"
	"\tCOMPREPLY=()\n";

static const char completion_operands[] =
	"\tfor ((i = first; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t-*) ;;\n"
	"\t\t*)\tcase \" $valued \" in\n"
	"\t\t\t*\" ${COMP_WORDS[i-1]} \"*) ;;\n"
	"\t\t\t*) operands=$((operands + 1)) ;;\n"
	"\t\t\tesac ;;\n"
	"\t\tesac\n"
	"\tdone\n";

static const char completion_tail[] =
	"\tesac\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	"}\n"
	"complete -F _rnbd rnbd\n";

static bool first_of_group(size_t i)
{
	const char *space = strchr(commands[i].name, ' ');
	size_t len;

	if (!space)
		return false;
	len = space + 1 - commands[i].name;
	return !i || strncmp(commands[i - 1].name, commands[i].name, len);
}

static void print_group_word(size_t i)
{
	const char *name = commands[i].name;

	printf("%.*s", (int)strcspn(name, " "), name);
}

int cmd_completion(const struct args *args)
{
	struct strlist valued = { };
	const struct opt *opt;
	size_t i, j;

	if (strcmp(args->operand[0], "bash"))
		return usage_err("\"%s\" is not known; completion is there for: bash",
				 args->operand[0]);

	fputs(completion_head, stdout);

	/* the first word, then the second one of groups */
	printf("\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='");
	for (i = 0; i < nr_commands; i++) {
		if (strchr(commands[i].name, ' ') && !first_of_group(i))
			continue;
		print_group_word(i);
		putchar(' ');
	}
	puts("--help --version'");
	puts("\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	     "\t\treturn\n\tfi");

	puts("\tcase $cmd in");
	for (i = 0; i < nr_commands; i++) {
		if (!first_of_group(i))
			continue;
		putchar('\t');
		print_group_word(i);
		printf(")\n\t\tif [ \"$COMP_CWORD\" = 2 ]; then\n\t\t\twords='");
		for (j = i; j < nr_commands; j++) {
			const char *second = strchr(commands[j].name, ' ');

			if (!second || (j > i && first_of_group(j)))
				break;
			printf("%s ", second + 1);
		}
		puts("--help'\n"
		     "\t\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		     "\t\t\treturn\n\t\tfi\n"
		     "\t\tcmd=\"$cmd ${COMP_WORDS[2]}\" first=3 ;;");
	}
	puts("\tesac");

	for (i = 0; i < nr_commands; i++) {
		for (opt = commands[i].opts; opt && opt->name; opt++) {
			if (opt->arg && !strlist_has(&valued, opt->name))
				strlist_add(&valued, opt->name);
		}
	}
	printf("\tlocal valued='");
	for (i = 0; i < valued.nr; i++)
		printf("--%s ", valued.item[i]);
	puts("'");
	strlist_free(&valued);

	fputs(completion_operands, stdout);

	puts("\tcase $cmd in");
	for (i = 0; i < nr_commands; i++)
		completion_command(&commands[i]);
	fputs(completion_tail, stdout);
	return RNBD_EXIT_OK;
}
