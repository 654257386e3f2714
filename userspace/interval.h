/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_INTERVAL_H
#define RNBD_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMP_SIZE	32

struct args;
struct json_object;

/**
 * struct interval_job - samples to take at regular intervals
 * @seconds: interval in seconds
 * @count: number of intervals to print, 0: until a signal arrives
 * @head: prints the head of the table; NULL: there is no head
 * @take: takes a sample and returns an exit code; @first is true for the first sample,
 *	which has no previous one
 * @print: prints the activity since the previous sample and frees the previous sample
 * @arg: argument of @take and @print
 */
struct interval_job {
	uint32_t seconds;
	uint32_t count;
	void (*head)(void);
	int (*take)(void *arg, bool first);
	void (*print)(void *arg);
	void *arg;
};

/**
 * struct interval_words - the operands [WORD] [INTERVAL [COUNT]]
 * @word: name of the object, NULL: all objects
 * @seconds: interval in seconds, 0: print the counters once
 * @count: number of intervals, 0: until a signal arrives
 */
struct interval_words {
	const char *word;
	uint32_t seconds;
	uint32_t count;
};

int interval_words(const struct args *args, struct interval_words *words);
int interval_run(const struct interval_job *job);
void interval_stamp(char *stamp);
void interval_print_rate(int width, int decimals, double rate);
struct json_object *interval_json(void);

#endif /* RNBD_INTERVAL_H */
