/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command is one row of the table in main.c. Parsing, help and completion
 * all come from that row, so they cannot disagree.
 */
#ifndef RNBD_COMMAND_H
#define RNBD_COMMAND_H

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

/**
 * struct opt - a long option
 * @name: without the dashes; NULL ends a list of options
 * @arg: what stands for its value in help; NULL if it takes none
 * @help: one line
 * @complete: what completes its value; may be NULL
 * @repeat: may be given more than once
 */
struct opt {
	const char *name;
	const char *arg;
	const char *help;
	const char *complete;
	bool repeat;
};

struct args;

/**
 * struct command - a row of the command table
 * @name: one word, or the word of a group and one of its own
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

extern const struct command commands[];
extern const size_t nr_commands;

/**
 * struct args - a parsed command line
 * @cmd: the command
 * @operand: operands in their order
 * @nr_operands: how many
 * @given: options in their order, with their values
 * @nr_given: how many
 */
struct args {
	const struct command *cmd;
	char **operand;
	int nr_operands;
	struct {
		const struct opt *opt;
		const char *value;
	} *given;
	size_t nr_given;
};

bool args_has(const struct args *args, const char *name);
const char *args_value(const struct args *args, const char *name);
const char *args_next(const struct args *args, const char *name, size_t *pos);
int args_number(const struct args *args, const char *name, uint32_t min, uint32_t max,
		uint32_t *out);

/* help.c */
void help_all(void);
void help_command(const struct command *cmd);
int help_group(const char *group);
bool is_group(const char *word);
int cmd_help(const struct args *args);
int cmd_completion(const struct args *args);

int cmd_attach(const struct args *args);
int cmd_discover(const struct args *args);
int cmd_deactivate(const struct args *args);
int cmd_detach(const struct args *args);
int cmd_list(const struct args *args);
int cmd_show(const struct args *args);
int cmd_stat(const struct args *args);
int cmd_hostid(const struct args *args);
int cmd_monitor(const struct args *args);
int cmd_session_list(const struct args *args);
int cmd_host_fencing(const struct args *args);
int cmd_fence(const struct args *args);
int cmd_unfence(const struct args *args);
int cmd_fenced(const struct args *args);
int cmd_export_add(const struct args *args);
int cmd_export_remove(const struct args *args);
int cmd_export_list(const struct args *args);
int cmd_export_allow(const struct args *args);
int cmd_export_deny(const struct args *args);
int cmd_export_enable(const struct args *args);
int cmd_export_disable(const struct args *args);
int cmd_export_resize(const struct args *args);
int cmd_export_show(const struct args *args);
int cmd_host_allow(const struct args *args);
int cmd_host_deny(const struct args *args);
int cmd_host_limit(const struct args *args);
int cmd_host_secret(const struct args *args);
int cmd_host_remove(const struct args *args);
int cmd_host_list(const struct args *args);
int cmd_port_add(const struct args *args);
int cmd_port_remove(const struct args *args);
int cmd_port_list(const struct args *args);
int cmd_secret_generate(const struct args *args);
int cmd_save(const struct args *args);
int cmd_restore(const struct args *args);
int cmd_clear(const struct args *args);

#endif /* RNBD_COMMAND_H */
