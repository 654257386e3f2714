// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table of the options of an attach: one row per option.
 *
 * Operation: A row names the netlink attribute of an option, its file in sysfs, its
 * default, the object that it belongs to (session or disk), and the members that store
 * the requested and the granted value. The parser of ATTACH (nlparse.c), the messages
 * about a disk (nlattr.c) and sysfs (sysfs.c) iterate over the table. So a new option
 * needs a member of a struct in options.h, a row, and an attribute or flag in
 * Documentation/netlink/rnbd.yaml. The netlink policy, which is generated from that file,
 * checks the ranges. A row repeats the limits RNBD_OPT_* only if its file in sysfs is
 * writable and takes a number, because no policy applies to sysfs.
 *
 * Ownership: The table is constant. The values belong to the options of an attach, to
 * the session or to the disk.
 *
 * Concurrency: Requested values are constant once the session or the disk is allocated,
 * except that a write to the file in sysfs changes the requested value if the row has a
 * writable file and no granted member. All values are read and written without a lock;
 * rnbdc_field_read() and rnbdc_field_write() use READ_ONCE() and WRITE_ONCE().
 *
 * Errors: A value that is not valid, or not compatible with the other options, is refused.
 * An attach reports an error message, a write to a file in sysfs only an errno.
 */

#include <linux/array_size.h>
#include <linux/blkdev.h>
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/sizes.h>
#include <linux/sprintf.h>

#include <rnbd/netlink.h>
#include <rnbd/wire.h>

#include "../core/names.h"
#include "disk.h"
#include "errmsg.h"
#include "option_table.h"
#include "options.h"
#include "session.h"

static const char * const rnbdc_policy_words[] = {
	[RNBD_POLICY_QUEUE]	= "queue",
	[RNBD_POLICY_FAIL]	= "fail",
	NULL
};

/* The bool rnbdc_disk_options.fail_policy stores a policy, so the two policies must be 0 and 1. */
static_assert(RNBD_POLICY_QUEUE == 0 && RNBD_POLICY_FAIL == 1);

static const char * const rnbdc_transfer_words[] = { "zero-copy", "copy", NULL };

static u64 rnbdc_granted_queues(const struct rnbdc_disk *disk)
{
	return disk->nr_queues;
}

static u64 rnbdc_granted_poll(const struct rnbdc_disk *disk)
{
	return disk->nr_poll;
}

static u64 rnbdc_granted_depth(const struct rnbdc_disk *disk)
{
	return disk->tag_set.queue_depth;
}

static u64 rnbdc_granted_pool(const struct rnbdc_disk *disk)
{
	return (u64)disk->sess->grant.max_units << RNBD_UNIT_SHIFT;
}

static u64 rnbdc_granted_floor(const struct rnbdc_disk *disk)
{
	return (u64)disk->sess->grant.pool_units << RNBD_UNIT_SHIFT;
}

static u64 rnbdc_granted_max_io(const struct rnbdc_disk *disk)
{
	return (u64)queue_max_hw_sectors(disk->gd->queue) << SECTOR_SHIFT;
}

/* A disk is read-only if the user requested that, or if its export is read-only. */
static u64 rnbdc_granted_readonly(const struct rnbdc_disk *disk)
{
	return get_disk_ro(disk->gd);
}

static bool rnbdc_early_release_ok(const struct rnbdc_options *opt)
{
	return !opt->sess.early_release || !opt->sess.copy;
}

static bool rnbdc_name_ok(const struct rnbdc_options *opt)
{
	return rnbd_disk_alias_ok(opt->disk.name);
}

/*
 * After loss_timeout the writes that were sent fail and can be repeated over another path. By
 * then the target must have noticed the loss, so that it no longer begins to execute the old
 * writes. The target notices a loss within RNBD_KEEPALIVE_MISSED + 0.5 keep-alive intervals,
 * because it checks twice per interval.
 */
static bool rnbdc_loss_timeout_ok(const struct rnbdc_options *opt)
{
	return !opt->disk.loss_timeout ||
	       opt->disk.loss_timeout * 1000ULL >=
	       (RNBD_KEEPALIVE_MISSED + 1) * (u64)opt->sess.keepalive_ms + RNBDC_LOSS_MARGIN_MS;
}

/* Size of the buffer for a value in an error message, in bytes */
#define RNBDC_VALUE_SIZE	24

#define RNBDC_REQUESTED(member)	RNBDC_FIELD(struct rnbdc_session_options, member)
#define RNBDC_DISK_REQUESTED(member)	RNBDC_FIELD(struct rnbdc_disk_options, member)
#define RNBDC_GRANTED(member)	RNBDC_FIELD(struct rnbdc_session, member)
#define RNBDC_REPORT_BOTH	(RNBDC_REPORT_GRANTED | RNBDC_REPORT_REQUESTED)

const struct rnbdc_option rnbdc_option_table[] = {
	{ "queues", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_QUEUES,
	  .option = "queues",
	  .preset = 8, .mode = 0444, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(queues), .get = rnbdc_granted_queues },
	{ "poll_queues", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_POLL_QUEUES,
	  .option = "poll-queues",
	  .mode = 0444, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(poll_queues), .get = rnbdc_granted_poll },
	{ "depth", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_DEPTH,
	  .option = "queue-depth",
	  .preset = 128, .mode = 0444, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(depth), .get = rnbdc_granted_depth },
	{ "ring_slots", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_RING_SLOTS,
	  .option = "ring-slots",
	  .preset = 64, .mode = 0444, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(ring_slots) },
	{ "slot_size", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_SLOT_SIZE,
	  .option = "slot-size", .is_size = true,
	  .preset = 8192, .align = 64, .mode = 0444, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(slot_size) },
	{ "pool_bytes", RNBDC_OPTION_U64, RNBDC_SCOPE_SESSION, RNBD_ATTR_POOL_BYTES,
	  .option = "pool", .is_size = true,
	  .preset = SZ_64M, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(pool_bytes), .get = rnbdc_granted_pool },
	/* The default equals that of max_io, see Documentation/explanation/memory.rst. */
	{ "pool_floor_bytes", RNBDC_OPTION_U64, RNBDC_SCOPE_SESSION, RNBD_ATTR_POOL_FLOOR,
	  .option = "pool-floor", .is_size = true, .zero = "fixed",
	  .preset = SZ_1M, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(pool_floor), .get = rnbdc_granted_floor },
	{ "max_io", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_MAX_IO,
	  .option = "max-io", .is_size = true,
	  .preset = SZ_1M, .align = RNBD_UNIT_SIZE, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(max_io), .get = rnbdc_granted_max_io },
	{ "policy", RNBDC_OPTION_U32, RNBDC_SCOPE_DISK, RNBD_ATTR_POLICY,
	  .words = rnbdc_policy_words, .preset = RNBD_POLICY_QUEUE, .mode = 0444,
	  .report = RNBDC_REPORT_GRANTED, .requested = RNBDC_DISK_REQUESTED(fail_policy) },
	{ "fast_io_fail", RNBDC_OPTION_U32, RNBDC_SCOPE_DISK, RNBD_ATTR_FAST_IO_FAIL,
	  .mode = 0444, .report = RNBDC_REPORT_GRANTED,
	  .requested = RNBDC_DISK_REQUESTED(fast_io_fail) },
	{ "loss_timeout", RNBDC_OPTION_U32, RNBDC_SCOPE_DISK, RNBD_ATTR_LOSS_TIMEOUT,
	  .preset = 600, .mode = 0444, .report = RNBDC_REPORT_GRANTED,
	  .requested = RNBDC_DISK_REQUESTED(loss_timeout), .check = rnbdc_loss_timeout_ok,
	  .refusal =
	  "at least 4 keep-alive intervals and 1 s: until then old writes may be executed" },
	{ "keepalive_ms", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_KEEPALIVE_MS,
	  .option = "keepalive",
	  .preset = 2000, .mode = 0444, .report = RNBDC_REPORT_GRANTED,
	  .requested = RNBDC_REQUESTED(keepalive_ms),
	  .granted = RNBDC_GRANTED(grant.keepalive_ms) },
	{ "inline_read", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_INLINE_READ,
	  .option = "inline-read", .is_size = true,
	  .preset = 4096, .mode = 0444, .report = RNBDC_REPORT_REQUESTED,
	  .requested = RNBDC_REQUESTED(inline_read),
	  .granted = RNBDC_GRANTED(grant.inline_read) },
	{ "inline_write", RNBDC_OPTION_U32, RNBDC_SCOPE_SESSION, RNBD_ATTR_INLINE_WRITE,
	  .option = "inline-write", .is_size = true,
	  .preset = 4096, .mode = 0444, .report = RNBDC_REPORT_REQUESTED,
	  .requested = RNBDC_REQUESTED(inline_write),
	  .granted = RNBDC_GRANTED(grant.inline_write) },
	{ "readonly", RNBDC_OPTION_FLAG, RNBDC_SCOPE_DISK, RNBD_ATTR_FLAGS,
	  RNBD_FLAG_READONLY, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_DISK_REQUESTED(readonly), .get = rnbdc_granted_readonly },
	{ "early_release", RNBDC_OPTION_FLAG, RNBDC_SCOPE_SESSION, RNBD_ATTR_FLAGS,
	  RNBD_FLAG_EARLY_RELEASE, .option = "early-release",
	  .mode = 0644, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(early_release), .granted = RNBDC_GRANTED(early_release),
	  .check = rnbdc_early_release_ok,
	  .refusal = "bounce buffers cannot be released early" },
	{ "transfer", RNBDC_OPTION_FLAG, RNBDC_SCOPE_SESSION, RNBD_ATTR_FLAGS,
	  RNBD_FLAG_COPY, .option = "transfer",
	  .words = rnbdc_transfer_words, .mode = 0444,
	  .report = RNBDC_REPORT_BOTH, .requested = RNBDC_REQUESTED(copy) },
	{ "new_session", RNBDC_OPTION_FLAG, RNBDC_SCOPE_SESSION, RNBD_ATTR_FLAGS,
	  RNBD_FLAG_NEW_SESSION, .option = "new-session",
	  .mode = 0444, .report = RNBDC_REPORT_BOTH,
	  .requested = RNBDC_REQUESTED(new_session) },
	{ "name", RNBDC_OPTION_TEXT, RNBDC_SCOPE_DISK, RNBD_ATTR_NAME,
	  .mode = 0444, .report = RNBDC_REPORT_GRANTED, .requested = RNBDC_DISK_REQUESTED(name),
	  .check = rnbdc_name_ok,
	  .refusal =
	  "a name has 1 to 63 of A-Z a-z 0-9 . _ : -, no dot first, no rnbd<N>/number/UUID" },
	{ }
};

static_assert(ARRAY_SIZE(rnbdc_option_table) - 1 <= RNBDC_OPTIONS_MAX);

/**
 * rnbdc_field_read - read a number from a struct
 * @object: struct that has the member
 * @field: member of 1, 2, 4 or 8 bytes
 *
 * Return: the number.
 */
u64 rnbdc_field_read(const void *object, struct rnbdc_field field)
{
	const void *member = object + field.offset;

	switch (field.size) {
	case sizeof(u64):
		return READ_ONCE(*(const u64 *)member);
	case sizeof(u32):
		return READ_ONCE(*(const u32 *)member);
	case sizeof(u16):
		return READ_ONCE(*(const u16 *)member);
	default:
		return READ_ONCE(*(const u8 *)member);
	}
}

/* Write a number to a member of 8 or 4 bytes, or to a bool; only text options have other types. */
static void rnbdc_field_write(void *object, struct rnbdc_field field, u64 value)
{
	void *member = object + field.offset;

	switch (field.size) {
	case sizeof(u64):
		WRITE_ONCE(*(u64 *)member, value);
		break;
	case sizeof(u32):
		WRITE_ONCE(*(u32 *)member, value);
		break;
	case sizeof(bool):
		WRITE_ONCE(*(bool *)member, value);
		break;
	default:
		WARN_ON_ONCE(1);
		break;
	}
}

/* Get the struct in @opt that has the requested value. */
static void *rnbdc_option_part(const struct rnbdc_option *row, struct rnbdc_options *opt)
{
	return row->scope == RNBDC_SCOPE_DISK ? (void *)&opt->disk : (void *)&opt->sess;
}

/* Get the struct with the requested value from an attached disk or its session. */
static const void *rnbdc_disk_part(const struct rnbdc_option *row,
				   const struct rnbdc_disk *disk)
{
	return row->scope == RNBDC_SCOPE_DISK ? (const void *)&disk->opt :
						(const void *)&disk->sess->opt;
}

/**
 * rnbdc_options_preset - set all options of the table except text options to their defaults
 * @opt: options
 */
void rnbdc_options_preset(struct rnbdc_options *opt)
{
	const struct rnbdc_option *row;

	for (row = rnbdc_option_table; row->name; row++) {
		if (row->type != RNBDC_OPTION_TEXT)
			rnbdc_field_write(rnbdc_option_part(row, opt), row->requested,
					  row->preset);
	}
	/* A disk uses at most one queue per CPU. */
	opt->sess.queues = min(opt->sess.queues, num_online_cpus());
}

/**
 * rnbdc_option_request - set the requested value of an option
 * @row: option of another type than RNBDC_OPTION_TEXT
 * @opt: options
 * @value: value in the range of the netlink policy
 */
void rnbdc_option_request(const struct rnbdc_option *row, struct rnbdc_options *opt, u64 value)
{
	rnbdc_field_write(rnbdc_option_part(row, opt), row->requested, value);
}

/**
 * rnbdc_option_requested - get the requested value of an option
 * @row: option of another type than RNBDC_OPTION_TEXT
 * @disk: disk with a gendisk
 *
 * Return: the value.
 */
u64 rnbdc_option_requested(const struct rnbdc_option *row, const struct rnbdc_disk *disk)
{
	return rnbdc_field_read(rnbdc_disk_part(row, disk), row->requested);
}

/**
 * rnbdc_option_buffer - get the buffer of a text option
 * @row: option of type RNBDC_OPTION_TEXT
 * @opt: options
 *
 * Return: buffer of @row->requested.size bytes that holds the text.
 */
char *rnbdc_option_buffer(const struct rnbdc_option *row, struct rnbdc_options *opt)
{
	return rnbdc_option_part(row, opt) + row->requested.offset;
}

/**
 * rnbdc_option_text - get the value of a text option
 * @row: option of type RNBDC_OPTION_TEXT
 * @disk: disk with a gendisk
 *
 * Return: a string.
 */
const char *rnbdc_option_text(const struct rnbdc_option *row, const struct rnbdc_disk *disk)
{
	return rnbdc_disk_part(row, disk) + row->requested.offset;
}

/**
 * rnbdc_option_granted - get the granted or current value of an option
 * @row: option of another type than RNBDC_OPTION_TEXT
 * @disk: disk with a gendisk
 *
 * Return: the value.
 */
u64 rnbdc_option_granted(const struct rnbdc_option *row, const struct rnbdc_disk *disk)
{
	if (row->get)
		return row->get(disk);
	if (row->granted.size)
		return rnbdc_field_read(disk->sess, row->granted);
	return rnbdc_option_requested(row, disk);
}

/**
 * rnbdc_option_check - check a requested value whose range is already checked
 * @row: option
 * @opt: all options
 * @errmsg: message for the user, set on failure
 *
 * Return: true if the value is valid and compatible with the other options.
 */
bool rnbdc_option_check(const struct rnbdc_option *row, struct rnbdc_options *opt,
			struct rnbdc_errmsg *errmsg)
{
	if (row->align &&
	    !IS_ALIGNED(rnbdc_field_read(rnbdc_option_part(row, opt), row->requested),
			row->align)) {
		rnbdc_errmsg_set(errmsg, "--%s must be a multiple of %u", row->option, row->align);
		return false;
	}
	if (row->check && !row->check(opt)) {
		rnbdc_errmsg_set(errmsg, "%s", row->refusal);
		return false;
	}
	return true;
}

/* Format a value as the rnbd tool accepts it. */
static void rnbdc_option_format(const struct rnbdc_option *row, u64 value,
				char text[RNBDC_VALUE_SIZE])
{
	static const char * const suffixes[] = { "", "K", "M", "G" };
	const char *word = row->words ? row->words[value] : value ? NULL : row->zero;
	u32 i = 0;

	if (word) {
		snprintf(text, RNBDC_VALUE_SIZE, "%s", word);
		return;
	}
	while (row->is_size && value && IS_ALIGNED(value, SZ_1K) && i < ARRAY_SIZE(suffixes) - 1) {
		value >>= 10;
		i++;
	}
	snprintf(text, RNBDC_VALUE_SIZE, "%llu%s", value, suffixes[i]);
}

/* Set the error message about an option for which the session has another value. */
static void rnbdc_option_contradicts(const struct rnbdc_option *row, u64 wanted, u64 has,
				     struct rnbdc_errmsg *errmsg)
{
	char wanted_text[RNBDC_VALUE_SIZE], has_text[RNBDC_VALUE_SIZE];

	/* rnbdc_options.given has only flags that the attach sets: the session lacks this one. */
	if (row->type == RNBDC_OPTION_FLAG && !row->words) {
		rnbdc_errmsg_set(errmsg,
				 "--%s: the session does not have it; omit it, or use --new-session",
				 row->option);
		return;
	}
	rnbdc_option_format(row, wanted, wanted_text);
	rnbdc_option_format(row, has, has_text);
	rnbdc_errmsg_set(errmsg, "--%s %s: the session has %s; omit it, or use --new-session",
			 row->option, wanted_text, has_text);
}

/**
 * rnbdc_options_agree - compare the options of an attach with those of a session
 * @opt: options of the attach
 * @sess: options of the session
 * @errmsg: message for the user, set if the function returns false
 *
 * The function compares only options of RNBDC_SCOPE_SESSION that the user has given explicitly.
 *
 * Return: true if none of these options differs, and the options of RNBDC_SCOPE_DISK that the
 * user has given explicitly are compatible with the options of the session.
 */
bool rnbdc_options_agree(const struct rnbdc_options *opt,
			 const struct rnbdc_session_options *sess,
			 struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_options both = { .sess = *sess, .disk = opt->disk };
	const struct rnbdc_option *row;
	u64 wanted, has;

	for (row = rnbdc_option_table; row->name; row++) {
		/* The check of an option of the disk can depend on options of the session. */
		if (row->scope == RNBDC_SCOPE_DISK && row->check && !row->check(&both) &&
		    opt->given & BIT(row - rnbdc_option_table)) {
			rnbdc_errmsg_set(errmsg, "%s", row->refusal);
			return false;
		}
		if (row->scope != RNBDC_SCOPE_SESSION ||
		    !(opt->given & BIT(row - rnbdc_option_table)))
			continue;
		wanted = rnbdc_field_read(&opt->sess, row->requested);
		has = rnbdc_field_read(sess, row->requested);
		if (wanted == has)
			continue;
		rnbdc_option_contradicts(row, wanted, has, errmsg);
		return false;
	}
	return true;
}

/**
 * rnbdc_option_change - change the current value of an option at run time
 * @row: option with a writable file in sysfs
 * @disk: disk with a gendisk
 * @value: new value
 *
 * Return: 0, -ERANGE if the value is out of range, or -EINVAL if it is not valid or not
 * compatible with the other options.
 */
int rnbdc_option_change(const struct rnbdc_option *row, struct rnbdc_disk *disk, u64 value)
{
	struct rnbdc_session *sess = disk->sess;
	struct rnbdc_options changed = { .sess = sess->opt, .disk = disk->opt };
	void *part = row->scope == RNBDC_SCOPE_DISK ? (void *)&disk->opt : &sess->opt;
	struct rnbdc_errmsg errmsg = { };

	if (row->type != RNBDC_OPTION_FLAG && (value < row->min || value > row->max))
		return -ERANGE;
	rnbdc_option_request(row, &changed, value);
	if (!rnbdc_option_check(row, &changed, &errmsg))
		return -EINVAL;
	if (row->granted.size)
		rnbdc_field_write(sess, row->granted, value);
	else
		rnbdc_field_write(part, row->requested, value);
	return 0;
}
