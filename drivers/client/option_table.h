/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table of the options of an attach. See option_table.c.
 */
#ifndef RNBDC_OPTION_TABLE_H
#define RNBDC_OPTION_TABLE_H

#include <linux/stddef.h>
#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_errmsg;
struct rnbdc_options;
struct rnbdc_session_options;

/**
 * enum rnbdc_option_type - type of the netlink attribute that carries an option
 * @RNBDC_OPTION_U32: 32-bit number, or an index into rnbdc_option.words
 * @RNBDC_OPTION_U64: 64-bit number
 * @RNBDC_OPTION_FLAG: bit of RNBD_ATTR_FLAGS
 * @RNBDC_OPTION_TEXT: string; a message about a disk does not contain an empty string
 */
enum rnbdc_option_type {
	RNBDC_OPTION_U32,
	RNBDC_OPTION_U64,
	RNBDC_OPTION_FLAG,
	RNBDC_OPTION_TEXT,
};

/**
 * enum rnbdc_option_scope - object that an option belongs to
 * @RNBDC_SCOPE_SESSION: session: an option of its connections, rings or pool
 * @RNBDC_SCOPE_DISK: disk
 */
enum rnbdc_option_scope {
	RNBDC_SCOPE_SESSION,
	RNBDC_SCOPE_DISK,
};

/* Bits of rnbdc_option.report: values that a netlink message about a disk reports */
#define RNBDC_REPORT_GRANTED	1	/* granted value */
#define RNBDC_REPORT_REQUESTED	2	/* requested value, in RNBD_ATTR_REQUESTED */

/**
 * struct rnbdc_field - place of a member in a struct
 * @offset: offset of the member, in bytes
 * @size: size of the member, in bytes; 0 if there is no member
 */
struct rnbdc_field {
	u16 offset;
	u16 size;
};

#define RNBDC_FIELD(type, member)	{ offsetof(type, member), sizeof_field(type, member) }

/**
 * struct rnbdc_option - a row of the table: one option
 * @name: name of the file in sysfs; NULL ends the table
 * @type: type of the netlink attribute
 * @scope: object that the option belongs to
 * @attr: RNBD_ATTR_* that carries the value; the netlink policy checks its range
 * @flag: RNBD_FLAG_*, if @type is RNBDC_OPTION_FLAG
 * @option: name of the option of "rnbd attach" without the leading dashes, for error
 *	messages; set only in rows of RNBDC_SCOPE_SESSION
 * @is_size: error messages write the value with a suffix K, M or G, as the rnbd tool
 *	accepts it
 * @zero: word for the value 0 in the rnbd tool, or NULL
 * @words: names of the values 0, 1, ..., terminated by NULL; NULL if the value
 *	is shown as a number
 * @preset: default value
 * @align: number of which the requested value must be a multiple; 0 for any value
 * @mode: permissions of the file in sysfs, 0 if there is no file; a write to the file
 *	changes the current value, see rnbdc_option_change()
 * @min: smallest number that may be written to the file, RNBD_OPT_*
 * @max: largest number that may be written to the file, RNBD_OPT_*
 * @report: RNBDC_REPORT_* bits
 * @requested: member with the requested value, of struct rnbdc_session_options or struct
 *	rnbdc_disk_options depending on @scope
 * @granted: member of struct rnbdc_session with the granted or current value; none if
 *	@get is set, or if the requested value is the current one
 * @get: function that returns the granted value if no member has it; may be NULL
 * @check: function that tests whether the requested value is valid and compatible with the
 *	other options; may be NULL
 * @refusal: error message if @check fails, of less than RNBDC_ERRMSG_SIZE bytes
 */
struct rnbdc_option {
	const char *name;
	enum rnbdc_option_type type;
	enum rnbdc_option_scope scope;
	u16 attr;
	u32 flag;
	const char *option;
	bool is_size;
	const char *zero;
	const char * const *words;
	u64 preset;
	u32 align;
	umode_t mode;
	u64 min;
	u64 max;
	u32 report;
	struct rnbdc_field requested;
	struct rnbdc_field granted;
	u64 (*get)(const struct rnbdc_disk *disk);
	bool (*check)(const struct rnbdc_options *opt);
	const char *refusal;
};

#define RNBDC_OPTIONS_MAX	32	/* largest number of rows of the table */

extern const struct rnbdc_option rnbdc_option_table[];

u64 rnbdc_field_read(const void *object, struct rnbdc_field field);
void rnbdc_options_preset(struct rnbdc_options *opt);
void rnbdc_option_request(const struct rnbdc_option *row, struct rnbdc_options *opt, u64 value);
u64 rnbdc_option_requested(const struct rnbdc_option *row, const struct rnbdc_disk *disk);
char *rnbdc_option_buffer(const struct rnbdc_option *row, struct rnbdc_options *opt);
const char *rnbdc_option_text(const struct rnbdc_option *row, const struct rnbdc_disk *disk);
u64 rnbdc_option_granted(const struct rnbdc_option *row, const struct rnbdc_disk *disk);
bool rnbdc_option_check(const struct rnbdc_option *row, struct rnbdc_options *opt,
			struct rnbdc_errmsg *errmsg);
bool rnbdc_options_agree(const struct rnbdc_options *opt,
			 const struct rnbdc_session_options *sess,
			 struct rnbdc_errmsg *errmsg);
int rnbdc_option_change(const struct rnbdc_option *row, struct rnbdc_disk *disk, u64 value);

#endif /* RNBDC_OPTION_TABLE_H */
