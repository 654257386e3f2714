// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of gencheck: messages, wrong blocks, progress and totals.
 *
 * Operation: wrong blocks and totals go to standard output, one line each with words KEY=VALUE for
 * scripts; all other output goes to standard error. During a run the counters are those in the head
 * of the journal, so that another process can print them (gencheck show).
 *
 * A stall is a period in which no operation succeeded; failed operations do not end it.
 *
 * Ownership: no objects are kept.
 * Concurrency: counters are atomic; a lock on stdout keeps the lines of wrong blocks apart.
 * Errors: fatal() ends the program with EXIT_INTERNAL.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gencheck.h"

#define ERRNOS	256

static atomic_ulong own_counters[COUNTERS];
static atomic_ulong *counters = own_counters;
static atomic_ulong errors[ERRNOS], kinds[KINDS];
static atomic_ulong latency_max, stall_max, last_success, reported;
static uint64_t started;

static void vmessage(const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "gencheck: %s\n", text);
}

void message(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vmessage(fmt, ap);
	va_end(ap);
}

void fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vmessage(fmt, ap);
	va_end(ap);
	exit(EXIT_INTERNAL);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void pause_ms(unsigned int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&time, NULL);
}

/* --- counters ------------------------------------------------------------ */

static void raise_to(atomic_ulong *max, uint64_t value)
{
	uint64_t old = atomic_load(max);

	while (old < value && !atomic_compare_exchange_weak(max, &old, value))
		;
}

/* Start the clock. If there is a journal, use the counters in its head. */
void tally_start(struct journal *j)
{
	if (j)
		counters = j->head->counters;
	started = now_ns();
	last_success = started;
}

void tally(enum counter counter, uint64_t n)
{
	atomic_fetch_add(&counters[counter], n);
}

uint64_t tallied(enum counter counter)
{
	return atomic_load(&counters[counter]);
}

void tally_error(int err)
{
	tally(COUNT_ERRORS, 1);
	/* print the first error of each errno immediately */
	if (!atomic_fetch_add(&errors[err > 0 && err < ERRNOS ? err : 0], 1))
		message("I/O error: %s", strerror(err));
}

/* Record a successful operation. */
void tally_latency(uint64_t ns)
{
	uint64_t now = now_ns(), last = atomic_exchange(&last_success, now);

	raise_to(&latency_max, ns);
	if (now > last)
		raise_to(&stall_max, now - last);
}

/* --- lines --------------------------------------------------------------- */

/* Print the generations that are right: one ("7") or a range ("5..7"). */
static void print_range(FILE *out, uint64_t lowest, uint64_t highest)
{
	fprintf(out, "%" PRIu64, version_generation(lowest));
	if (highest != lowest)
		fprintf(out, "..%" PRIu64, version_generation(highest));
}

static void print_wrong(FILE *out, enum kind kind, const struct expect *expect,
			const struct found *found)
{
	const struct stamp *stamp = &found->stamp;

	fprintf(out, "wrong block=%" PRIu64 " kind=%s expected=", expect->address,
		kind_name(kind));
	print_range(out, judge_lowest(expect), judge_highest(expect));
	fprintf(out, " expected_writer=%u", version_writer(judge_highest(expect)));
	switch (found->content) {
	case CONTENT_UNIFORM:
		fprintf(out, " found=none byte=0x%02x\n", found->byte);
		return;
	case CONTENT_ALIEN:
		fprintf(out, " found=none content=alien\n");
		return;
	default:
		break;
	}
	fprintf(out, " found=%" PRIu64 " writer=%u", version_generation(stamp->version),
		version_writer(stamp->version));
	if (stamp->address != expect->address)
		fprintf(out, " address=%" PRIu64, stamp->address);
	if (stamp->seed != expect->seed)
		fprintf(out, " seed=%" PRIu64, stamp->seed);
	if (found->content == CONTENT_MIXED)
		fprintf(out, " sector=%u other=%" PRIu64 " other_writer=%u", found->split,
			version_generation(found->other), version_writer(found->other));
	fprintf(out, " flushed=%" PRIu64 " sequence=%" PRIu64 " time=%" PRIu64 ".%09" PRIu64 "\n",
		version_generation(expect->flushed), stamp->sequence,
		stamp->time_ns / 1000000000, stamp->time_ns % 1000000000);
}

/**
 * report_wrong() - count a wrong block, and print it if --limit allows it
 * @kind: Kind of error
 * @expect: Expected state
 * @found: Contents found
 */
void report_wrong(enum kind kind, const struct expect *expect, const struct found *found)
{
	tally(COUNT_WRONG, 1);
	atomic_fetch_add(&kinds[kind], 1);
	if (atomic_fetch_add(&reported, 1) >= opt.limit)
		return;
	flockfile(stdout);
	print_wrong(stdout, kind, expect, found);
	fflush(stdout);
	funlockfile(stdout);
}

static uint64_t ms_since(uint64_t time)
{
	uint64_t now = now_ns();

	return now > time ? (now - time) / 1000000 : 0;
}

void report_progress(void)
{
	fprintf(stderr, "progress seconds=%.1f writes=%" PRIu64 " reads=%" PRIu64
		" flushes=%" PRIu64 " errors=%" PRIu64 " idle_ms=%" PRIu64 "\n",
		ms_since(started) / 1000.0, tallied(COUNT_WRITES), tallied(COUNT_READS),
		tallied(COUNT_FLUSHES), tallied(COUNT_ERRORS), ms_since(last_success));
}

/**
 * report_totals() - print the last line
 * @mode: Name of the command
 * Return: the exit code
 */
int report_totals(const char *mode)
{
	uint64_t ms = ms_since(started), now = now_ns(), last = last_success;
	const char *result = "right";
	int code = EXIT_RIGHT;
	unsigned int i;

	if (now > last)
		raise_to(&stall_max, now - last);
	if (tallied(COUNT_WRONG)) {
		code = EXIT_WRONG;
		result = "wrong";
	} else if (tallied(COUNT_FAILED)) {
		code = EXIT_IO;
		result = "io-errors";
	}
	if (tallied(COUNT_WRONG) > opt.limit)
		message("%" PRIu64 " more wrong blocks", tallied(COUNT_WRONG) - opt.limit);
	printf("totals mode=%s result=%s seconds=%.3f writes=%" PRIu64 " reads=%" PRIu64
	       " flushes=%" PRIu64 " errors=%" PRIu64 " failed=%" PRIu64 " wrong=%" PRIu64
	       " blocks_written=%" PRIu64 " blocks_read=%" PRIu64 " blocks_per_s=%" PRIu64
	       " max_latency_ms=%.3f longest_stall_ms=%.3f",
	       mode, result, ms / 1000.0, tallied(COUNT_WRITES), tallied(COUNT_READS),
	       tallied(COUNT_FLUSHES), tallied(COUNT_ERRORS), tallied(COUNT_FAILED),
	       tallied(COUNT_WRONG), tallied(COUNT_BLOCKS_WRITTEN), tallied(COUNT_BLOCKS_READ),
	       (tallied(COUNT_BLOCKS_WRITTEN) + tallied(COUNT_BLOCKS_READ)) * 1000 / (ms ?: 1),
	       latency_max / 1e6, stall_max / 1e6);
	for (i = 0; i < ERRNOS; i++)
		if (errors[i])
			printf(" %s=%" PRIu64, strerrorname_np(i) ?: "other", errors[i]);
	for (i = 1; i < KINDS; i++)
		if (kinds[i])
			printf(" wrong_%s=%" PRIu64, kind_name(i), kinds[i]);
	printf("\n");
	if (fflush(stdout))
		return EXIT_INTERNAL;
	return code;
}
