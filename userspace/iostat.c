// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O statistics of the target: parse io_stat and io_errors, and compute differences, totals,
 * mean latency and latency quantiles from them.
 *
 * Operation: each line of io_stat names an operation, followed by KEY=NUMBER pairs and the
 * latency histogram. Each line of io_errors holds an error class and a count. The parser
 * skips operations that the tool does not know. Documentation/ABI/configfs-rnbd describes
 * both formats.
 *
 * Ownership: the caller owns all memory.
 * Concurrency: pure functions.
 * Errors: -EPROTO if a text does not have the documented format.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iostat.h"

const char * const iostat_ops[IOSTAT_OPS] = {
	[IOSTAT_READ]		= "read",
	[IOSTAT_WRITE]		= "write",
	[IOSTAT_FLUSH]		= "flush",
	[IOSTAT_DISCARD]	= "discard",
	[IOSTAT_WRITE_ZEROES]	= "write-zeroes",
};

static struct op_stat *find_op(struct iostat *stat, const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < IOSTAT_OPS; i++) {
		if (strlen(iostat_ops[i]) == len && !memcmp(iostat_ops[i], word, len))
			return &stat->op[i];
	}
	return NULL;
}

static const char *next_line(const char *text)
{
	text += strcspn(text, "\n");
	return text + (*text == '\n');
}

/* Parse the numbers of an operation up to the end of the line. */
static int parse_op(const char *line, struct op_stat *op)
{
	uint64_t requests;
	int len = 0;
	size_t i;

	if (sscanf(line, " requests=%" SCNu64 " bytes=%" SCNu64 " nsecs=%" SCNu64 " latency=%n",
		   &requests, &op->bytes, &op->nsecs, &len) != 3 || !len)
		return -EPROTO;
	line += len;
	for (i = 0; i < LATENCY_BUCKETS; i++) {
		char *end;

		op->latency[i] = strtoull(line, &end, 10);
		if (end == line || (i < LATENCY_BUCKETS - 1 ? *end != ',' : *end && *end != '\n'))
			return -EPROTO;
		line = end + 1;
	}
	return iostat_requests(op) == requests ? 0 : -EPROTO;
}

/**
 * iostat_parse() - parse the text of io_stat
 * @text: contents of io_stat
 * @stat: statistics; the member op is filled
 *
 * Return: 0, or -EPROTO if the text is malformed.
 */
int iostat_parse(const char *text, struct iostat *stat)
{
	memset(stat->op, 0, sizeof(stat->op));
	while (*text) {
		size_t len = strcspn(text, "\n ");
		struct op_stat *op = find_op(stat, text, len);

		if (!len || (op && parse_op(text + len, op)))
			return -EPROTO;
		text = next_line(text);
	}
	return 0;
}

/**
 * iostat_parse_errors() - parse the text of io_errors
 * @text: contents of io_errors
 * @stat: statistics; the members error and nr_errors are filled
 *
 * Return: 0, or -EPROTO if the text is malformed or has too many classes.
 */
int iostat_parse_errors(const char *text, struct iostat *stat)
{
	stat->nr_errors = 0;
	for (; *text; stat->nr_errors++) {
		struct io_error *error = &stat->error[stat->nr_errors];
		int len = 0;

		if (stat->nr_errors == IOSTAT_ERRORS_MAX ||
		    sscanf(text, "%15s %" SCNu64 "%n", error->word, &error->count, &len) != 2 ||
		    (text[len] && text[len] != '\n'))
			return -EPROTO;
		text = next_line(text);
	}
	return 0;
}

static bool op_fell(const struct op_stat *old, const struct op_stat *now)
{
	size_t i;

	for (i = 0; i < LATENCY_BUCKETS; i++) {
		if (now->latency[i] < old->latency[i])
			return true;
	}
	return now->bytes < old->bytes || now->nsecs < old->nsecs;
}

static uint64_t error_count(const struct iostat *stat, const char *word)
{
	size_t i;

	for (i = 0; i < stat->nr_errors; i++) {
		if (!strcmp(stat->error[i].word, word))
			return stat->error[i].count;
	}
	return 0;
}

/* Test whether an object was created again between two readings: only then do counters fall. */
static bool made_again(const struct iostat *old, const struct iostat *now)
{
	size_t i;

	for (i = 0; i < IOSTAT_OPS; i++) {
		if (op_fell(&old->op[i], &now->op[i]))
			return true;
	}
	for (i = 0; i < now->nr_errors; i++) {
		if (now->error[i].count < error_count(old, now->error[i].word))
			return true;
	}
	return false;
}

/**
 * iostat_since() - compute the difference between two readings
 * @old: older reading, NULL if the object did not exist then
 * @now: newer reading
 * @diff: difference; a copy of @now if @old is NULL or the object was created again
 *	between the readings
 */
void iostat_since(const struct iostat *old, const struct iostat *now, struct iostat *diff)
{
	size_t i, j;

	*diff = *now;
	if (!old || made_again(old, now))
		return;
	for (i = 0; i < IOSTAT_OPS; i++) {
		diff->op[i].bytes -= old->op[i].bytes;
		diff->op[i].nsecs -= old->op[i].nsecs;
		for (j = 0; j < LATENCY_BUCKETS; j++)
			diff->op[i].latency[j] -= old->op[i].latency[j];
	}
	for (i = 0; i < diff->nr_errors; i++)
		diff->error[i].count -= error_count(old, diff->error[i].word);
}

/* Return the number of requests of an operation, failed requests included. */
uint64_t iostat_requests(const struct op_stat *op)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < LATENCY_BUCKETS; i++)
		sum += op->latency[i];
	return sum;
}

/* Return the number of failed requests of all error classes. */
uint64_t iostat_errors(const struct iostat *stat)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < stat->nr_errors; i++)
		sum += stat->error[i].count;
	return sum;
}

/* Return the mean latency in microseconds, NAN without requests. */
double iostat_mean_us(const struct op_stat *op)
{
	uint64_t requests = iostat_requests(op);

	return requests ? op->nsecs / 1e3 / requests : NAN;
}

/**
 * iostat_quantile_us() - compute an upper bound of a latency quantile
 * @op: statistics of an operation
 * @quantile: fraction of the requests, above 0 and at most 1
 *
 * Return: the smallest upper bound of a histogram bucket, in microseconds, such that at least
 * this fraction of the requests took less time; INFINITY if the quantile is in the last
 * bucket, which has no upper bound; NAN without requests.
 */
double iostat_quantile_us(const struct op_stat *op, double quantile)
{
	uint64_t requests = iostat_requests(op), sum = 0;
	size_t i;

	if (!requests)
		return NAN;
	for (i = 0; i < LATENCY_BUCKETS - 1; i++) {
		sum += op->latency[i];
		if (sum >= quantile * requests)
			return (double)(1ull << i);
	}
	return INFINITY;
}
