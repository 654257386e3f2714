/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command is one row of the table in commands.c. Parsing, help and completion
 * all come from that row, so they cannot disagree.
 */
#ifndef RNBD_ARGS_H
#define RNBD_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECONDS_MAX	(24 * 3600)	/* of an option that waits */

/* What completes a word: a list of words, or one of these. */
#define COMPLETE_DISK	"@disk"
#define COMPLETE_EXPORT	"@export"
#define COMPLETE_HOST	"@host"
#define COMPLETE_PORT	"@port"
#define COMPLETE_FILE	"@file"
#define COMPLETE_COMMAND	"@command"

/* How options.c reads, sends and prints the value of an option */
enum opt_type {
	OPT_OWN,	/* the command does that itself */
	OPT_NUMBER,	/* u32 */
	OPT_SECONDS,	/* u32, 0: never */
	OPT_SIZE,	/* u32, bytes with a suffix */
	OPT_SIZE64,	/* u64, bytes with a suffix; a word in @complete stands for 0 */
	OPT_FLAG,	/* bit; the option takes no value */
	OPT_WORD,	/* u32 or bit: the place of the value in the words of @complete */
	OPT_TEXT,	/* string */
};

/* What an option of an attachment belongs to */
enum opt_scope {
	OPT_COMMAND,	/* one run of the command */
	OPT_SESSION,	/* the connection to the target, whichever disks use it */
	OPT_DISK,
};

/* Where rnbd show prints the value of an option, and rnbd list in JSON */
enum opt_group {
	OPT_NO_GROUP,	/* elsewhere, if at all */
	OPT_GEOMETRY,
	OPT_RECOVERY,
};

/**
 * struct opt - a long option
 * @name: without the dashes; NULL ends a list of options
 * @arg: what stands for its value in help; NULL if it takes none
 * @help: one line
 * @complete: what completes its value; may be NULL
 * @repeat: may be given more than once
 * @type: of its value; only rows of attach_opts have this and what follows
 * @attr: RNBD_ATTR_* that has its value
 * @flag: RNBD_FLAG_* in RNBD_ATTR_FLAGS, 0 if the attribute is its own
 * @scope: what it belongs to
 * @group: where it is printed
 * @key: in JSON and in rnbd show
 * @sysfs: file of the disk that has the value that was granted; NULL if netlink reports it
 * @check: is a text valid; may be NULL
 * @wanted: what a valid text is made of
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
 * @name: one word, or the word of a group and one of its own; NULL ends the table
 * @operands: for help
 * @summary: one line
 * @notes: more lines for its own help; may be NULL
 * @opts: its options; may be NULL
 * @min: operands that it needs
 * @max: operands that it takes at most, -1 if there is no limit
 * @complete: what completes the first operand; may be NULL
 * @complete_rest: what completes those after it; may be NULL
 * @run: does it and returns an exit code
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
 * @table: all commands
 * @cmd: the command
 * @help: only the help of the command is wanted
 * @operand: operands in their order
 * @nr_operands: how many
 * @given: options in their order, with their values
 * @nr_given: how many
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
