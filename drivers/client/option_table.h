/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of the options of an attach. See option_table.c.
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
 * enum rnbdc_option_type - type of the attribute that has the value of an option
 * @RNBDC_OPTION_U32: number, or a word's place in @rnbdc_option.words
 * @RNBDC_OPTION_U64: number
 * @RNBDC_OPTION_FLAG: bit of RNBD_ATTR_FLAGS
 * @RNBDC_OPTION_TEXT: string; an empty one is not sent
 */
enum rnbdc_option_type {
	RNBDC_OPTION_U32,
	RNBDC_OPTION_U64,
	RNBDC_OPTION_FLAG,
	RNBDC_OPTION_TEXT,
};

/**
 * enum rnbdc_option_scope - object that an option belongs to
 * @RNBDC_SCOPE_SESSION: connections, rings and pool
 * @RNBDC_SCOPE_DISK: the disk
 */
enum rnbdc_option_scope {
	RNBDC_SCOPE_SESSION,
	RNBDC_SCOPE_DISK,
};

/* Bits of rnbdc_option.report: values that a message about a disk has */
#define RNBDC_REPORT_GRANTED	1	/* the granted value */
#define RNBDC_REPORT_REQUESTED	2	/* the requested value, in the nest */

/**
 * struct rnbdc_field - a member of a struct
 * @offset: in bytes
 * @size: in bytes; 0 means that there is none
 */
struct rnbdc_field {
	u16 offset;
	u16 size;
};

#define RNBDC_FIELD(type, member)	{ offsetof(type, member), sizeof_field(type, member) }

/**
 * struct rnbdc_option - a row of the table
 * @name: name of its file in sysfs; NULL ends the table
 * @type: of its attribute
 * @scope: object that it belongs to
 * @attr: RNBD_ATTR_* that has the value; its policy has the range
 * @flag: RNBD_FLAG_* of a row of type RNBDC_OPTION_FLAG
 * @option: option of rnbd attach, without the dashes; of the session's options
 * @is_size: the tool takes it as a size
 * @zero: word that the tool takes for the value 0, or NULL
 * @words: names of the values 0, 1, ..., terminated by NULL; NULL if the value
 *	is shown as a number
 * @preset: value unless one is requested
 * @align: the value is a multiple of it; 0 means of 1
 * @mode: permissions of its file in sysfs, 0 if there is none; a file that can be
 *	written changes @granted
 * @min: smallest number that may be written to the file, RNBD_OPT_*
 * @max: largest one
 * @report: RNBDC_REPORT_*
 * @requested: member of struct rnbdc_session_options or struct rnbdc_disk_options, as
 *	@scope says
 * @granted: member of struct rnbdc_session that has the granted, or the current,
 *	value; none if that is the requested one
 * @get: returns the granted value if that is no member; may be NULL
 * @check: is the requested value valid, and does it suit the other options; may be NULL
 * @refusal: error message if it is not, of less than RNBDC_ERRMSG_SIZE bytes
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

#define RNBDC_OPTIONS_MAX	32	/* rows that the table may have */

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
