/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command table in commands.c has one row for each command. Parsing, help and
 * completion all use that row, so they cannot disagree.
 */
#ifndef RNBD_ARGS_H
#define RNBD_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECONDS_MAX	(24 * 3600)	/* highest value of --wait and --timeout */

/* Completion of a word: a list of words separated by spaces, or one of these kinds. */
#define COMPLETE_DISK	"@disk"
#define COMPLETE_EXPORT	"@export"
#define COMPLETE_HOST	"@host"
#define COMPLETE_PORT	"@port"
#define COMPLETE_FILE	"@file"
#define COMPLETE_COMMAND	"@command"

/* Type of an option: determines how options.c parses, sends and prints its value */
enum opt_type {
	OPT_OWN,	/* the command itself handles the value */
	OPT_NUMBER,	/* u32 */
	OPT_SECONDS,	/* u32, 0 means never */
	OPT_SIZE,	/* u32, bytes with a suffix */
	OPT_SIZE64,	/* u64, bytes with a suffix; the word in opt.complete means 0 */
	OPT_FLAG,	/* bit; the option takes no value */
	OPT_WORD,	/* u32 or bit: index of the value in the words of opt.complete */
	OPT_TEXT,	/* string */
};

/* Object to which an option of an attachment applies */
enum opt_scope {
	OPT_COMMAND,	/* one run of the command */
	OPT_SESSION,	/* session with the target, shared by all disks that use it */
	OPT_DISK,
};

/* Group of values in which rnbd show, and rnbd list in JSON, print an option */
enum opt_group {
	OPT_NO_GROUP,	/* not printed as part of a group */
	OPT_GEOMETRY,
	OPT_RECOVERY,
};

/**
 * struct opt - a long option
 * @name: name without the dashes; NULL ends a list of options
 * @arg: placeholder of the value in help; NULL if the option takes no value
 * @help: help text, one line
 * @complete: completion of the value, see COMPLETE_DISK; NULL: no completion
 * @repeat: whether the option may be given more than once
 * @type: type of the value; only rows of attach_opts set @type and later members
 * @attr: RNBD_ATTR_* attribute that carries the value
 * @flag: RNBD_FLAG_* bit of the option in RNBD_ATTR_FLAGS; 0 if @attr carries only this
 *	option
 * @scope: object to which the option applies
 * @group: group in which the value is printed
 * @key: key of the value in JSON and in rnbd show
 * @sysfs: file with the granted value, relative to the sysfs directory of the disk; NULL if
 *	netlink reports this value
 * @check: returns whether a text is valid; NULL: every text is valid
 * @wanted: description of a valid text, for error messages
 */
struct opt {
	const char *name;
	const char *arg;
	const char *help;
	const char *complete;
	bool repeat;
	enum opt_type type;
	int attr;
	uint32_t flag;
	enum opt_scope scope;
	enum opt_group group;
	const char *key;
	const char *sysfs;
	bool (*check)(const char *value);
	const char *wanted;
};

struct args;

/**
 * struct command - a row of the command table
 * @name: one word, or the word of a group and a second word; NULL ends the table
 * @operands: operands as help shows them
 * @summary: summary for help, one line
 * @notes: further lines for the help of this command; NULL: no further lines
 * @opts: options; NULL: the command has no options
 * @min: lowest number of operands
 * @max: highest number of operands, -1: no limit
 * @complete: completion of the first operand; NULL: no completion
 * @complete_rest: completion of the other operands; NULL: no completion
 * @run: executes the command and returns an exit code
 */
struct command {
	const char *name;
	const char *operands;
	const char *summary;
	const char *notes;
	const struct opt *opts;
	int min;
	int max;
	const char *complete;
	const char *complete_rest;
	int (*run)(const struct args *args);
};

/**
 * struct args - a parsed command line
 * @table: command table
 * @cmd: row of the command
 * @help: --help was given: print the help of the command and do not run it
 * @operand: operands in the order given
 * @nr_operands: number of operands
 * @given: options in the order given, with their values
 * @nr_given: number of options in @given
 */
struct args {
	const struct command *table;
	const struct command *cmd;
	bool help;
	char **operand;
	int nr_operands;
	struct {
		const struct opt *opt;
		const char *value;
	} *given;
	size_t nr_given;
};

int args_parse(struct args *args, int argc, char **argv);
void args_free(struct args *args);
bool args_has(const struct args *args, const char *name);
const char *args_value(const struct args *args, const char *name);
const char *args_next(const struct args *args, const char *name, size_t *pos);
int args_number(const struct args *args, const char *name, uint32_t min, uint32_t max,
		uint32_t *out);

#endif /* RNBD_ARGS_H */
