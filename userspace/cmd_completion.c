// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd completion: print a completion script for bash, made from the command table.
 *
 * Operation: all commands and options come from the table, so that new ones need no change
 * here.
 *
 * Ownership, concurrency: the table is only read.
 * Errors: a shell other than bash is a usage error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "help.h"
#include "util.h"

/* Return shell code that sets $words to the completions of this kind. */
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
 * Print the case branch of one command: values of its options, its options, its
 * operands. After the last operand, the script offers the options.
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
 * Bash passes each "=" and ":" as a separate word. A word is an operand if it is
 * neither an option nor the value of an option; $valued lists the options that take
 * a value.
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

/* Names may contain shell syntax: do not use compgen -W, which expands it, and quote by %q. */
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

/* Check that no earlier row has the same first word. */
static bool first_of_word(const struct command *table, size_t i)
{
	size_t len = strcspn(table[i].name, " ");
	size_t j;

	for (j = 0; j < i; j++) {
		if (strcspn(table[j].name, " ") == len &&
		    !strncmp(table[j].name, table[i].name, len))
			return false;
	}
	return true;
}

/* Print the case branches of the shell function that lists commands. */
static void completion_commands(const struct command *table)
{
	size_t i, j;

	printf("\t'') echo '");
	for (i = 0; table[i].name; i++) {
		if (first_of_word(table, i))
			printf("%.*s ", (int)strcspn(table[i].name, " "),
			       table[i].name);
	}
	puts("' ;;");

	for (i = 0; table[i].name; i++) {
		char *group = xstrdup(table[i].name);

		group[strcspn(group, " ")] = '\0';
		if (first_of_word(table, i) && help_is_group(table, group)) {
			printf("\t%s) echo '", group);
			for (j = i; table[j].name; j++) {
				if (help_in_group(&table[j], group))
					printf("%s ", strchr(table[j].name, ' ') + 1);
			}
			puts("' ;;");
		}
		free(group);
	}
}

int cmd_completion(const struct args *args)
{
	const struct command *table = args->table;
	struct strlist valued = { };
	const struct opt *opt;
	size_t i;

	if (strcmp(args->operand[0], "bash"))
		return usage_err("\"%s\" is not known; completion is there for: bash",
				 args->operand[0]);

	fputs(completion_head, stdout);
	completion_commands(table);

	for (i = 0; table[i].name; i++) {
		for (opt = table[i].opts; opt && opt->name; opt++) {
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
	for (i = 0; table[i].name; i++)
		completion_command(&table[i]);
	fputs(completion_tail, stdout);
	return RNBD_EXIT_OK;
}
