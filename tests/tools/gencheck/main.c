// SPDX-License-Identifier: GPL-2.0-only
/*
 * gencheck - the generation checker: check that a disk keeps acknowledged writes.
 *
 * Operation: "run" writes blocks that carry their address and a generation, and records in a
 * journal outside of the disk which writes were issued, acknowledged and flushed. "verify" compares
 * the disk with the journal, usually after a fault. judge.c defines which contents are right,
 * journal.c how the journal survives a crash, block.c the contents of a block.
 *
 * Ownership: strings of the command line are used in place.
 * Concurrency: only run.c uses threads. After a first signal the threads begin no further
 * operations; after a second signal a failed operation is also not retried.
 * Errors: see the exit codes in help_text; the highest one that applies is returned.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gencheck.h"

struct options opt = {
	.layout = { .chunk = 1, .shares = 1 },
	.io_min = 1,
	.writer = 1,
	.threads = 4,
	.mix = { [OP_READ] = 40, [OP_WRITE] = 58, [OP_FLUSH] = 2 },
	.on_error = ON_ERROR_STOP,
	.retry_seconds = 60,
	.limit = 20,
};

atomic_bool stop_requested, give_up;

static const char help_text[] =
	"usage: gencheck run    --journal FILE [OPTIONS] DISK   write, read, flush, check\n"
	"       gencheck verify --journal FILE... [OPTIONS] DISK  compare all blocks\n"
	"       gencheck show   --journal FILE [BLOCK]            print the journal\n"
	"       gencheck plant  --journal FILE KIND BLOCK|any DISK  make a block wrong:\n"
	"                       old, torn, lost, foreign, address, future, corrupt\n"
	"\n"
	"DISK is a block device or a file. An existing journal is continued.\n"
	"\n"
	"  --new                run: begin a new journal; the disk must be as --fill says\n"
	"  --journal-io HOW     mmap: survives a kill of gencheck; pwrite: on a share of the host\n"
	"                       also that of the machine; auto (mmap if possible)\n"
	"  --blocks N           4 KiB blocks of the area (all), stored in the journal like\n"
	"  --first N            the first of them (0)\n"
	"  --io N|A-B           blocks of an I/O (1)\n"
	"  --seed N             seed of all random choices (a new one each time)\n"
	"  --share I/N          the disk is shared by N machines, this one is number I from 0\n"
	"  --fill BYTE|any      what a block holds before it is written (0)\n"
	"  --writer N           number of this writer, 1 to 63 (1)\n"
	"  --threads N          concurrent operations (4)\n"
	"  --mix R:W:F[:D]      reads, writes, flushes, durable writes (40:58:2:0)\n"
	"  --time S, --ops N    end after so many seconds or operations (10 s)\n"
	"  --on-error HOW       stop (default), continue, retry or retry:SECONDS (60)\n"
	"  --after-crash        verify: the target crashed\n"
	"  --errors-seen        verify: and the disk has reported errors since: data that\n"
	"                       were not flushed may be lost\n"
	"  --adopt              verify: take the blocks found as the new state\n"
	"  --limit N            report at most so many wrong blocks (20)\n"
	"  --generation N       plant: generation of the block\n"
	"  --buffered           through the page cache, for files without O_DIRECT\n"
	"  --progress           a line per second\n"
	"\n"
	"Exit codes: 0 no errors, 1 wrong usage or cannot start, 2 only I/O errors,\n"
	"3 wrong data, 4 internal.\n";

static void __attribute__((noreturn)) bad_usage(const char *option, const char *value)
{
	message("%s '%s' is invalid; see gencheck help", option, value);
	exit(EXIT_USAGE);
}

/* Parse a number; set @rest to the text after it. If @rest is NULL, such text is wrong usage. */
static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max,
		       const char **rest)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || text[0] < '0' || text[0] > '9' || value < min || value > max ||
	    (!rest && *end))
		bad_usage(option, text);
	if (rest)
		*rest = end;
	return value;
}

static void parse_io(const char *text)
{
	const char *rest;

	opt.io_min = number("--io", text, 1, CHUNK_MAX, &rest);
	opt.layout.chunk = opt.io_min;
	if (*rest == '-')
		opt.layout.chunk = number("--io", rest + 1, opt.io_min, CHUNK_MAX, NULL);
	else if (*rest)
		bad_usage("--io", text);
}

static void parse_share(const char *text)
{
	const char *rest;

	opt.layout.share = number("--share", text, 0, WRITER_MAX, &rest);
	if (*rest != '/')
		bad_usage("--share", text);
	opt.layout.shares = number("--share", rest + 1, opt.layout.share + 1, WRITER_MAX, NULL);
}

static void parse_mix(const char *text)
{
	static const enum op order[] = { OP_READ, OP_WRITE, OP_FLUSH, OP_DURABLE };
	const char *rest = text;
	unsigned int i, total = 0;

	for (i = 0; i < OPS; i++)
		opt.mix[i] = 0;
	for (i = 0; i < OPS; i++) {
		opt.mix[order[i]] = number("--mix", rest, 0, 1000000, &rest);
		total += opt.mix[order[i]];
		if (*rest != ':')
			break;
		rest++;
	}
	if (*rest || i < 2 || !total)
		bad_usage("--mix", text);
}

static void parse_on_error(const char *text)
{
	if (!strcmp(text, "stop")) {
		opt.on_error = ON_ERROR_STOP;
	} else if (!strcmp(text, "continue")) {
		opt.on_error = ON_ERROR_CONTINUE;
	} else if (!strncmp(text, "retry", 5) && (!text[5] || text[5] == ':')) {
		opt.on_error = ON_ERROR_RETRY;
		if (text[5])
			opt.retry_seconds = number("--on-error", text + 6, 1, 1000000, NULL);
	} else {
		bad_usage("--on-error", text);
	}
}

static void parse_journal_io(const char *text)
{
	if (!strcmp(text, "auto"))
		opt.journal_io = JOURNAL_AUTO;
	else if (!strcmp(text, "mmap"))
		opt.journal_io = JOURNAL_MMAP;
	else if (!strcmp(text, "pwrite"))
		opt.journal_io = JOURNAL_PWRITE;
	else
		bad_usage("--journal-io", text);
}

static void add_journal(const char *text)
{
	if (opt.nr_journals == JOURNALS_MAX)
		bad_usage("one journal too many:", text);
	opt.journals[opt.nr_journals++] = text;
}

enum {
	O_NEW = 256, O_JOURNAL, O_JOURNAL_IO, O_BLOCKS, O_FIRST, O_IO, O_SEED, O_SHARE, O_FILL,
	O_WRITER, O_THREADS, O_MIX, O_TIME, O_OPS, O_ON_ERROR, O_AFTER_CRASH, O_ERRORS_SEEN,
	O_ADOPT, O_LIMIT, O_GENERATION, O_BUFFERED, O_PROGRESS,
};

static const struct option options[] = {
	{ "new", no_argument, NULL, O_NEW },
	{ "journal", required_argument, NULL, O_JOURNAL },
	{ "journal-io", required_argument, NULL, O_JOURNAL_IO },
	{ "blocks", required_argument, NULL, O_BLOCKS },
	{ "first", required_argument, NULL, O_FIRST },
	{ "io", required_argument, NULL, O_IO },
	{ "seed", required_argument, NULL, O_SEED },
	{ "share", required_argument, NULL, O_SHARE },
	{ "fill", required_argument, NULL, O_FILL },
	{ "writer", required_argument, NULL, O_WRITER },
	{ "threads", required_argument, NULL, O_THREADS },
	{ "mix", required_argument, NULL, O_MIX },
	{ "time", required_argument, NULL, O_TIME },
	{ "ops", required_argument, NULL, O_OPS },
	{ "on-error", required_argument, NULL, O_ON_ERROR },
	{ "after-crash", no_argument, NULL, O_AFTER_CRASH },
	{ "errors-seen", no_argument, NULL, O_ERRORS_SEEN },
	{ "adopt", no_argument, NULL, O_ADOPT },
	{ "limit", required_argument, NULL, O_LIMIT },
	{ "generation", required_argument, NULL, O_GENERATION },
	{ "buffered", no_argument, NULL, O_BUFFERED },
	{ "progress", no_argument, NULL, O_PROGRESS },
	{ }
};

/* Parse an option that a new journal stores as its layout. Return: false for other options. */
static bool parse_layout(int option, const char *text)
{
	struct layout *l = &opt.layout;

	switch (option) {
	case O_BLOCKS:
		l->blocks = number("--blocks", text, 1, 1ull << 36, NULL);
		opt.given |= LAYOUT_BLOCKS;
		return true;
	case O_FIRST:
		l->first = number("--first", text, 0, 1ull << 36, NULL);
		opt.given |= LAYOUT_FIRST;
		return true;
	case O_IO:
		parse_io(text);
		opt.given |= LAYOUT_CHUNK;
		return true;
	case O_SEED:
		l->seed = number("--seed", text, 0, UINT64_MAX, NULL);
		opt.given |= LAYOUT_SEED;
		return true;
	case O_SHARE:
		parse_share(text);
		opt.given |= LAYOUT_SHARE;
		return true;
	case O_FILL:
		l->fill = FILL_ANY;
		if (strcmp(text, "any"))
			l->fill = number("--fill", text, 0, 255, NULL);
		opt.given |= LAYOUT_FILL;
		return true;
	default:
		return false;
	}
}

static void parse_option(int option, const char *text)
{
	if (parse_layout(option, text))
		return;
	switch (option) {
	case O_NEW:
		opt.renew = true;
		break;
	case O_JOURNAL:
		add_journal(text);
		break;
	case O_JOURNAL_IO:
		parse_journal_io(text);
		break;
	case O_WRITER:
		opt.writer = number("--writer", text, 1, WRITER_MAX, NULL);
		break;
	case O_THREADS:
		opt.threads = number("--threads", text, 1, THREADS_MAX, NULL);
		break;
	case O_MIX:
		parse_mix(text);
		break;
	case O_TIME:
		opt.seconds = number("--time", text, 1, 1000000, NULL);
		break;
	case O_OPS:
		opt.ops = number("--ops", text, 1, UINT64_MAX, NULL);
		break;
	case O_ON_ERROR:
		parse_on_error(text);
		break;
	case O_AFTER_CRASH:
		opt.rule.after_crash = true;
		break;
	case O_ERRORS_SEEN:
		opt.rule.errors_seen = true;
		break;
	case O_ADOPT:
		opt.adopt = true;
		break;
	case O_LIMIT:
		opt.limit = number("--limit", text, 0, UINT64_MAX, NULL);
		break;
	case O_GENERATION:
		opt.generation = number("--generation", text, 1, 1ull << 47, NULL);
		break;
	case O_BUFFERED:
		opt.buffered = true;
		break;
	case O_PROGRESS:
		opt.progress = true;
		break;
	default:
		/* getopt has printed a message */
		exit(EXIT_USAGE);
	}
}

static void on_signal(int number)
{
	(void)number;
	if (stop_requested)
		give_up = true;
	stop_requested = true;
}

/* Install the handler with SA_RESTART, so that a signal does not interrupt I/O on a slow device. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static void need(bool given, const char *what)
{
	if (given)
		return;
	message("%s; see gencheck help", what);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	const char *command;
	int option, operands;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(option, optarg);
	argv += optind;
	operands = argc - optind - 1;
	need(operands >= 0, "no command");
	command = *argv++;
	if (!strcmp(command, "help")) {
		fputs(help_text, stdout);
		return EXIT_RIGHT;
	}
	need(opt.nr_journals > 0, "--journal is missing");
	if (!strcmp(command, "show")) {
		need(opt.nr_journals == 1 && operands <= 1, "wrong number of operands");
		return command_show(operands ? argv[0] : NULL);
	}
	catch_signals();
	if (!strcmp(command, "plant")) {
		need(opt.nr_journals == 1 && operands == 3, "plant KIND BLOCK DISK");
		opt.disk = argv[2];
		return command_plant(argv[0], argv[1]);
	}
	need(operands == 1, "one DISK is needed");
	opt.disk = argv[0];
	if (!strcmp(command, "verify"))
		return command_verify();
	need(!strcmp(command, "run"), "no such command");
	need(opt.nr_journals == 1, "one journal is needed");
	/* random: blocks that the disk has from an earlier journal must not be accepted */
	if (!(opt.given & LAYOUT_SEED))
		opt.layout.seed = hash64(real_ns()) ^ getpid();
	if (!opt.ops && !opt.seconds)
		opt.seconds = 10;
	return command_run();
}
