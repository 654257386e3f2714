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

#include <rnbd/version.h>

#include "command.h"
#include "util.h"

void help_all(void)
{
	size_t i;

	puts("rnbd " RNBD_RELEASE " - block devices over RDMA\n\n"
	     "usage: rnbd COMMAND [OPERAND...] [OPTION...]\n");
	for (i = 0; i < nr_commands; i++)
		printf("  %-16s %s\n", commands[i].name, commands[i].summary);
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
		return "words=$(_rnbd_disks)";
	if (!strcmp(complete, COMPLETE_EXPORT))
		return "words=$(ls /sys/kernel/config/rnbd/exports 2>/dev/null)";
	if (!strcmp(complete, COMPLETE_HOST))
		return "words=$(ls /sys/kernel/config/rnbd/hosts 2>/dev/null)";
	if (!strcmp(complete, COMPLETE_PORT))
		return "words=$(ls /sys/kernel/config/rnbd/ports 2>/dev/null)";
	if (!strcmp(complete, COMPLETE_COMMAND))
		return "words=$(_rnbd_commands \"${COMP_WORDS[*]:2:operands}\")";
	if (!strcmp(complete, COMPLETE_FILE))
		return "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); "
		       "compopt -o filenames 2>/dev/null; return 0";
	snprintf(text, sizeof(text), "words='%s'", complete);
	return text;
}

/*
 * The case of one command: values of its options, its options, its operands.
 * Where no operand can follow, the options are all that is left to offer.
 */
static void completion_command(const struct command *cmd)
{
	const struct opt *opt;

	printf("\t'%s')\n\t\toptions='", cmd->name);
	for (opt = cmd->opts; opt && opt->name; opt++)
		printf("--%s ", opt->name);
	puts("--help'\n"
	     "\t\tcase $prev in");
	for (opt = cmd->opts; opt && opt->name; opt++) {
		if (opt->arg)
			printf("\t\t--%s) %s ;;\n", opt->name,
			       completion_code(opt->complete));
	}
	puts("\t\t*)\n"
	     "\t\t\tcase $cur in\n"
	     "\t\t\t-*) words=$options ;;\n"
	     "\t\t\t*)");
	if (cmd->max >= 0)
		printf("\t\t\t\tif [ \"$operands\" -ge %d ]; then words=$options\n"
		       "\t\t\t\telif", cmd->max);
	else
		printf("\t\t\t\tif");
	printf(" [ \"$operands\" = 0 ]; then %s\n",
	       completion_code(cmd->complete));
	printf("\t\t\t\telse %s; fi ;;\n", completion_code(cmd->complete_rest));
	puts("\t\t\tesac ;;\n"
	     "\t\tesac ;;");
}

static const char completion_head[] =
	"# bash completion of rnbd; made by: rnbd completion bash\n"
	"\n"
	"_rnbd_disks()\n"
	"{\n"
	"\tcase $cur in\n"
	"\t/*) compgen -G '/dev/rnbd*' ;;\n"
	"\t*)\tcd /sys/block 2>/dev/null && compgen -G 'rnbd*' &&\n"
	"\t\t\tcat rnbd*/rnbd/name 2>/dev/null ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# what may follow \"rnbd\", or the word of a group of commands\n"
	"_rnbd_commands()\n"
	"{\n"
	"\tcase $1 in\n";

static const char completion_start[] =
	"\tesac\n"
	"}\n"
	"\n"
	"_rnbd()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal cmd=${COMP_WORDS[1]} first=2 operands=0 options words='' list word i\n";

/*
 * Bash makes words of their own of "=" and ":". Operands are the words that are
 * neither options nor the value of one; $valued lists the options that take a
 * value.
 */
static const char completion_words[] =
	"\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$cur\" = = ]; then\n"
	"\t\tcur=\n"
	"\telif [ \"$prev\" = = ]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tif [ -n \"$(_rnbd_commands \"$cmd\")\" ]; then\n"
	"\t\tcmd=\"$cmd ${COMP_WORDS[2]-}\" first=3\n"
	"\tfi\n"
	"\tfor ((i = first; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t-*) ;;\n"
	"\t\t[=:]*) i=$((i + 1)) ;;\n"
	"\t\t*)\tcase \" $valued \" in\n"
	"\t\t\t*\" ${COMP_WORDS[i-1]} \"*) ;;\n"
	"\t\t\t*) operands=$((operands + 1)) ;;\n"
	"\t\t\tesac ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	"\t\twords=\"$(_rnbd_commands '') --help --version\"\n"
	"\telif [ \"$COMP_CWORD\" -lt \"$first\" ]; then\n"
	"\t\twords=\"$(_rnbd_commands \"${COMP_WORDS[1]}\") --help\"\n"
	"\telse\n"
	"\tcase $cmd in\n";

/* Names that others gave are neither expanded here, as by compgen -W, nor later. */
static const char completion_tail[] =
	"\tesac\n"
	"\tfi\n"
	"\tread -r -d '' -a list <<<\"$words\"\n"
	"\tfor word in \"${list[@]}\"; do\n"
	"\t\t[[ $word = \"$cur\"* ]] && printf -v 'COMPREPLY[${#COMPREPLY[@]}]' %q \"$word\"\n"
	"\tdone\n"
	"\treturn 0\n"
	"}\n"
	"complete -F _rnbd rnbd\n";

/* Is no row before this one of the same command or group? */
static bool first_of_word(size_t i)
{
	size_t len = strcspn(commands[i].name, " ");
	size_t j;

	for (j = 0; j < i; j++) {
		if (strcspn(commands[j].name, " ") == len &&
		    !strncmp(commands[j].name, commands[i].name, len))
			return false;
	}
	return true;
}

/* The cases of the shell function that lists commands. */
static void completion_commands(void)
{
	size_t i, j;

	printf("\t'') echo '");
	for (i = 0; i < nr_commands; i++) {
		if (first_of_word(i))
			printf("%.*s ", (int)strcspn(commands[i].name, " "),
			       commands[i].name);
	}
	puts("' ;;");

	for (i = 0; i < nr_commands; i++) {
		char *group = xstrdup(commands[i].name);

		group[strcspn(group, " ")] = '\0';
		if (first_of_word(i) && is_group(group)) {
			printf("\t%s) echo '", group);
			for (j = i; j < nr_commands; j++) {
				if (in_group(&commands[j], group))
					printf("%s ", strchr(commands[j].name, ' ') + 1);
			}
			puts("' ;;");
		}
		free(group);
	}
}

int cmd_completion(const struct args *args)
{
	struct strlist valued = { };
	const struct opt *opt;
	size_t i;

	if (strcmp(args->operand[0], "bash"))
		return usage_err("\"%s\" is not known; completion is there for: bash",
				 args->operand[0]);

	fputs(completion_head, stdout);
	completion_commands();

	for (i = 0; i < nr_commands; i++) {
		for (opt = commands[i].opts; opt && opt->name; opt++) {
			if (opt->arg && !strlist_has(&valued, opt->name))
				strlist_add(&valued, opt->name);
		}
	}
	fputs(completion_start, stdout);
	printf("\tlocal valued='");
	for (i = 0; i < valued.nr; i++)
		printf("--%s ", valued.item[i]);
	puts("'");
	strlist_free(&valued);
	fputs(completion_words, stdout);
	for (i = 0; i < nr_commands; i++)
		completion_command(&commands[i]);
	fputs(completion_tail, stdout);
	return RNBD_EXIT_OK;
}
