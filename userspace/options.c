// SPDX-License-Identifier: GPL-2.0-only
/*
 * The options of rnbd attach: one table row per option, and the values of the options.
 *
 * Operation: a row of attach_opts defines the name of an option on the command line and in
 * rnbd-attach.conf(5), the type of its value, its netlink attribute, its JSON key, and the
 * group in which rnbd show prints it. The command line, the configuration file, help,
 * completion, netlink (options_netlink.c), rnbd list, rnbd show and rnbd attach --idempotent
 * all use the table, so a new option needs one new row only. Help and all output list the
 * options in the order of the rows. The netlink policy of the kernel defines the ranges of
 * numbers: the kernel refuses a value out of range, and its error message has the range.
 *
 * Ownership: values are copied.
 * Concurrency: no shared state except the text that option_text() returns.
 * Errors: an invalid value causes one error message and RNBD_EXIT_USAGE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "parse.h"
#include "util.h"

const struct opt attach_opts[] = {
	{ "port", "N", "port of the target (default 4427)",
	  .attr = RNBD_ATTR_PORT, .scope = OPT_SESSION },
	{ "queues", "N", "queues, each with its own connection",
	  .type = OPT_NUMBER, .attr = RNBD_ATTR_QUEUES, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "queues" },
	{ "poll-queues", "N", "additional queues for polled I/O (default 0)",
	  .type = OPT_NUMBER, .attr = RNBD_ATTR_POLL_QUEUES, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "poll_queues" },
	{ "queue-depth", "N", "requests in flight on one queue",
	  .type = OPT_NUMBER, .attr = RNBD_ATTR_DEPTH, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "depth" },
	{ "ring-slots", "N", "slots of the control ring",
	  .type = OPT_NUMBER, .attr = RNBD_ATTR_RING_SLOTS, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "ring_slots" },
	{ "slot-size", "BYTES", "size of a slot of the control ring",
	  .type = OPT_SIZE, .attr = RNBD_ATTR_SLOT_SIZE, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "slot_size" },
	{ "pool", "SIZE", "largest size of the delegated buffer pool (default 64M)",
	  .type = OPT_SIZE64, .attr = RNBD_ATTR_POOL_BYTES, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "pool_bytes" },
	{ "pool-floor", "SIZE", "size of the pool while idle (default 1M); fixed: never shrink",
	  .complete = "fixed",
	  .type = OPT_SIZE64, .attr = RNBD_ATTR_POOL_FLOOR, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "pool_floor_bytes" },
	{ "max-io", "SIZE", "largest request",
	  .type = OPT_SIZE, .attr = RNBD_ATTR_MAX_IO, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "max_io" },
	{ "policy", "POLICY", "without a connection I/O waits (queue, default) or fails (fail)",
	  .complete = "queue fail",
	  .type = OPT_WORD, .attr = RNBD_ATTR_POLICY, .scope = OPT_DISK,
	  .group = OPT_RECOVERY, .key = "policy" },
	{ "fast-io-fail", "SECONDS",
	  "fail I/O after so long without a connection (default 0: never)",
	  .type = OPT_SECONDS, .attr = RNBD_ATTR_FAST_IO_FAIL, .scope = OPT_DISK,
	  .group = OPT_RECOVERY, .key = "fast_io_fail" },
	{ "loss-timeout", "SECONDS", "stop reconnecting after this time (default 600, 0: never)",
	  .type = OPT_SECONDS, .attr = RNBD_ATTR_LOSS_TIMEOUT, .scope = OPT_DISK,
	  .group = OPT_RECOVERY, .key = "loss_timeout" },
	{ "keepalive", "MS", "time between keep-alives (default 2000)",
	  .type = OPT_NUMBER, .attr = RNBD_ATTR_KEEPALIVE_MS, .scope = OPT_SESSION,
	  .group = OPT_RECOVERY, .key = "keepalive_ms" },
	{ "inline-read", "SIZE", "largest read that is returned inside the reply (default 4K)",
	  .type = OPT_SIZE, .attr = RNBD_ATTR_INLINE_READ, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "inline_read", .sysfs = "rnbd/inline_read" },
	{ "inline-write", "SIZE", "largest write that is sent inside the request (default 4K)",
	  .type = OPT_SIZE, .attr = RNBD_ATTR_INLINE_WRITE, .scope = OPT_SESSION,
	  .group = OPT_GEOMETRY, .key = "inline_write", .sysfs = "rnbd/inline_write" },
	{ "read-only", NULL, "attach the disk read-only",
	  .type = OPT_FLAG, .attr = RNBD_ATTR_FLAGS, .flag = RNBD_FLAG_READONLY,
	  .scope = OPT_DISK, .group = OPT_GEOMETRY, .key = "readonly" },
	{ "early-release", NULL, "reuse pool space once its RDMA READ is posted (send fence)",
	  .type = OPT_FLAG, .attr = RNBD_ATTR_FLAGS, .flag = RNBD_FLAG_EARLY_RELEASE,
	  .scope = OPT_SESSION, .group = OPT_GEOMETRY, .key = "early_release" },
	{ "transfer", "MODE", "zero-copy (default), or copy: through bounce buffers",
	  .complete = "zero-copy copy",
	  .type = OPT_WORD, .attr = RNBD_ATTR_FLAGS, .flag = RNBD_FLAG_COPY,
	  .scope = OPT_SESSION, .group = OPT_GEOMETRY, .key = "transfer" },
	{ "new-session", NULL, "do not share connections and pool with other disks",
	  .type = OPT_FLAG, .attr = RNBD_ATTR_FLAGS, .flag = RNBD_FLAG_NEW_SESSION,
	  .scope = OPT_SESSION, .group = OPT_GEOMETRY, .key = "new_session" },
	{ "secret-file", "FILE", "secret by which host and target authenticate each other",
	  COMPLETE_FILE, .attr = RNBD_ATTR_SECRET, .scope = OPT_SESSION },
	{ "name", "NAME", "name of the disk, in addition to rnbdN",
	  .type = OPT_TEXT, .attr = RNBD_ATTR_NAME, .scope = OPT_DISK,
	  .check = disk_name_valid,
	  .wanted = "1 to 63 of A-Z a-z 0-9 . _ : -, but not rnbdN, a number or a UUID" },
	{ "idempotent", NULL, "succeed if the disk is attached already with these options" },
	{ "host-id", "UUID", "identity of this machine (default: rnbd hostid)",
	  .attr = RNBD_ATTR_HOST_ID, .scope = OPT_SESSION },
	{ "config", "FILE", "read target and options from FILE, rnbd-attach.conf(5)",
	  COMPLETE_FILE },
	{ "wait", "SECONDS", "how long to retry while the target is unavailable (default 0)" },
	{ "json", NULL, "print the granted values as JSON" },
	{ }
};

_Static_assert(ARRAY_SIZE(attach_opts) - 1 <= OPTIONS_MAX, "raise OPTIONS_MAX");

/* Return the index of a word in a list of words, -1 if the list does not have it. */
static int word_find(const char *words, const char *word)
{
	const size_t len = strlen(word);
	int place;

	for (place = 0; *words; place++) {
		size_t n = strcspn(words, " ");

		if (n == len && !memcmp(words, word, len))
			return place;
		words += n + strspn(words + n, " ");
	}
	return -1;
}

static void word_at(const char *words, uint64_t place, char text[OPTION_TEXT_SIZE])
{
	for (; place && *words; place--) {
		words += strcspn(words, " ");
		words += strspn(words, " ");
	}
	snprintf(text, OPTION_TEXT_SIZE, "%.*s", (int)strcspn(words, " "), words);
}

static int parse_word(const struct opt *opt, const char *word, uint64_t *number)
{
	struct strlist list = { };
	char text[OPTION_TEXT_SIZE];
	char *wanted;
	int place = word_find(opt->complete, word);

	if (place >= 0) {
		*number = place;
		return RNBD_EXIT_OK;
	}
	for (place = 0; word_at(opt->complete, place, text), *text; place++)
		strlist_add(&list, text);
	wanted = strlist_join(&list, " or ");
	usage_err("--%s %s: wanted %s", opt->name, word, wanted);
	free(wanted);
	strlist_free(&list);
	return RNBD_EXIT_USAGE;
}

/*
 * Accept 0 as a size, which parse_size() refuses: the kernel decides whether the option allows 0.
 * If the option has a completion word, such as "fixed", the word stands for 0.
 */
static int parse_bytes(const struct opt *opt, const char *value, uint64_t *number)
{
	const uint64_t max = opt->type == OPT_SIZE64 ? UINT64_MAX : UINT32_MAX;
	const char *word = opt->complete;

	*number = 0;
	if (word && !strcmp(value, word))
		return RNBD_EXIT_OK;
	if (strcmp(value, "0") && parse_size(value, max, number))
		return usage_err("--%s %s: wanted a size such as 4096, 64K or 1M%s%s", opt->name,
				 value, word ? ", or " : "", word ?: "");
	return RNBD_EXIT_OK;
}

static int parse_value(const struct opt *opt, const char *given, struct option_value *value)
{
	uint32_t number;

	value->known = true;
	switch (opt->type) {
	case OPT_NUMBER:
	case OPT_SECONDS:
		if (parse_u32(given, 0, UINT32_MAX, &number))
			return usage_err("--%s %s: wanted a number", opt->name, given);
		value->number = number;
		return RNBD_EXIT_OK;
	case OPT_SIZE:
	case OPT_SIZE64:
		return parse_bytes(opt, given, &value->number);
	case OPT_FLAG:
		value->number = 1;
		return RNBD_EXIT_OK;
	case OPT_WORD:
		return parse_word(opt, given, &value->number);
	case OPT_TEXT:
		if (strlen(given) >= sizeof(value->text) || (opt->check && !opt->check(given)))
			return usage_err("--%s %s: wanted %s", opt->name, given, opt->wanted);
		snprintf(value->text, sizeof(value->text), "%s", given);
		return RNBD_EXIT_OK;
	case OPT_OWN:
		break;
	}
	value->known = false;
	return RNBD_EXIT_OK;
}

/**
 * options_parse() - parse the values of all options of a command line
 * @args: command line of a command whose options are attach_opts
 * @options: values; options that are not on the command line become unknown
 *
 * Return: an exit code.
 */
int options_parse(const struct args *args, struct options *options)
{
	size_t i;
	int ret;

	memset(options, 0, sizeof(*options));
	for (i = 0; i < args->nr_given; i++) {
		const struct opt *opt = args->given[i].opt;

		ret = parse_value(opt, args->given[i].value, &options->value[option_row(opt)]);
		if (ret)
			return ret;
	}
	return RNBD_EXIT_OK;
}

/* Return the index of an option in the table; struct options has its value at this index. */
size_t option_row(const struct opt *opt)
{
	return opt - attach_opts;
}

/**
 * option_of_attr() - find the option of an attribute
 * @attr: RNBD_ATTR_*
 *
 * Return: the option; NULL if no option uses the attribute or if several options share it.
 */
const struct opt *option_of_attr(int attr)
{
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (opt->attr == attr && attr && !opt->flag)
			return opt;
	}
	return NULL;
}

/* Find an option by its key; aborts if no row has the key, which is a bug of the caller. */
static const struct opt *find_key(const char *key)
{
	const struct opt *opt;

	for (opt = attach_opts; opt->name; opt++) {
		if (opt->key && !strcmp(opt->key, key))
			return opt;
	}
	abort();
}

/* Return the number of the option with this key, 0 if its value is unknown. */
uint64_t option_number(const struct options *options, const char *key)
{
	return options->value[option_row(find_key(key))].number;
}

/* Return the value of the option with this key as text, which is valid until the next call. */
const char *option_text(const struct options *options, const char *key)
{
	const struct opt *opt = find_key(key);
	static char text[OPTION_TEXT_SIZE];

	option_format(opt, &options->value[option_row(opt)], text);
	return text;
}

bool option_same(const struct opt *opt, const struct option_value *a,
		 const struct option_value *b)
{
	return opt->type == OPT_TEXT ? !strcmp(a->text, b->text) : a->number == b->number;
}

/**
 * option_format() - format a value as on the command line and in JSON
 * @opt: option
 * @value: value of the option
 * @text: output buffer
 */
void option_format(const struct opt *opt, const struct option_value *value,
		   char text[OPTION_TEXT_SIZE])
{
	switch (opt->type) {
	case OPT_NUMBER:
	case OPT_SECONDS:
	case OPT_SIZE:
	case OPT_SIZE64:
		snprintf(text, OPTION_TEXT_SIZE, "%" PRIu64, value->number);
		return;
	case OPT_FLAG:
		snprintf(text, OPTION_TEXT_SIZE, "%s", value->number ? "true" : "false");
		return;
	case OPT_WORD:
		word_at(opt->complete, value->number, text);
		return;
	case OPT_TEXT:
		snprintf(text, OPTION_TEXT_SIZE, "%s", value->text);
		return;
	case OPT_OWN:
		break;
	}
	*text = '\0';
}
