// SPDX-License-Identifier: GPL-2.0-only
/*
 * Take samples at regular intervals, for the commands that print rates.
 *
 * Operation: the first sample is taken at once, the later ones at multiples of the interval
 * after the first. If a sample is printed more than one interval too late, the times of the
 * later samples count from this moment. On a terminal, the head of the table is printed
 * again after each HEAD_EVERY samples.
 *
 * Ownership: the callbacks of the job own the samples.
 * Concurrency: one thread. SIGINT and SIGTERM are blocked and received by sigtimedwait(),
 * so that a signal ends the command between two lines. Standard output is line buffered.
 * Errors: the command ends if the callback that takes a sample does not return
 * RNBD_EXIT_OK, or if a write to standard output fails.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "args.h"
#include "interval.h"
#include "output.h"
#include "parse.h"
#include "util.h"

#define INTERVAL_MAX	(24 * 3600)
#define NS_PER_S	1000000000ull
/* Samples between two heads on a terminal */
#define HEAD_EVERY	20

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Sleep until @when (ns, monotonic clock); returns false if a signal ended the sleep. */
static bool wait_until(uint64_t when, const sigset_t *ending)
{
	for (;;) {
		uint64_t now = now_ns(), left = when > now ? when - now : 0;
		const struct timespec rest = {
			.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S,
		};

		if (sigtimedwait(ending, NULL, &rest) >= 0)
			return false;
		if (errno == EAGAIN)
			return true;
	}
}

/**
 * interval_words() - parse the operands [WORD] [INTERVAL [COUNT]]
 * @args: command line; with --all there is no WORD
 * @words: where the operands are stored
 *
 * Return: 0, or an exit code after a message.
 */
int interval_words(const struct args *args, struct interval_words *words)
{
	const char * const *operand = (const char * const *)args->operand;
	int left = args->nr_operands;

	*words = (struct interval_words){ };
	if (!args_has(args, "all") && left) {
		words->word = *operand++;
		left--;
	}
	if (left > 2)
		return usage_err("operand \"%s\" is unexpected; usage: rnbd %s %s",
				 operand[2], args->cmd->name, "--all [INTERVAL [COUNT]]");
	if (left > 0 && parse_u32(operand[0], 1, INTERVAL_MAX, &words->seconds))
		return usage_err("INTERVAL %s: wanted seconds from 1 to %u", operand[0],
				 INTERVAL_MAX);
	if (left > 1 && parse_u32(operand[1], 1, UINT32_MAX, &words->count))
		return usage_err("COUNT %s: wanted a number of at least 1", operand[1]);
	return 0;
}

/**
 * interval_run() - take samples and print the activity between them
 * @job: intervals and callbacks
 *
 * Return: an exit code; RNBD_EXIT_OK after a signal.
 */
int interval_run(const struct interval_job *job)
{
	uint32_t done = 0;
	sigset_t ending;
	uint64_t next;
	int ret;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);

	next = now_ns();
	ret = job->take(job->arg, true);
	while (ret == RNBD_EXIT_OK && !ferror(stdout)) {
		if (job->head && (!done || (isatty(STDOUT_FILENO) && !(done % HEAD_EVERY))))
			job->head();
		next += job->seconds * NS_PER_S;
		if (!wait_until(next, &ending))
			break;
		ret = job->take(job->arg, false);
		if (ret != RNBD_EXIT_OK)
			break;
		job->print(job->arg);
		if (++done == job->count)
			break;
		if (now_ns() > next + job->seconds * NS_PER_S)
			next = now_ns();
	}
	return ret;
}

static void format_now(char *stamp, const char *format)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, STAMP_SIZE, format, &tm);
}

/**
 * interval_stamp() - format the time of day for a line of a table
 * @stamp: where the text is stored; STAMP_SIZE bytes
 */
void interval_stamp(char *stamp)
{
	format_now(stamp, "%H:%M:%S");
}

/**
 * interval_print_rate() - print a space and one cell of a table
 * @width: minimum width of the cell in characters
 * @decimals: number of digits after the decimal point
 * @rate: value; NAN means unknown and is printed as a dash
 */
void interval_print_rate(int width, int decimals, double rate)
{
	if (isnan(rate))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, decimals, rate);
}

/**
 * interval_json() - create the JSON object of a sample
 *
 * Return: an object with the member "time"; the caller owns it.
 */
struct json_object *interval_json(void)
{
	struct json_object *obj = json_object_new_object();
	char stamp[STAMP_SIZE];

	format_now(stamp, "%Y-%m-%dT%H:%M:%S");
	json_add_string(obj, "time", stamp);
	return obj;
}
