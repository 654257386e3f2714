/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of gencheck share: options, the disk, and reports.
 */
#ifndef GENCHECK_H
#define GENCHECK_H

#include <sys/types.h>

#include "journal.h"

#define JOURNALS_MAX	16
#define THREADS_MAX	256
#define CHUNK_MAX	1024

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit codes; the highest that applies. USAGE: nothing was done. */
enum {
	EXIT_RIGHT	= 0,
	EXIT_USAGE	= 1,
	EXIT_IO		= 2,
	EXIT_WRONG	= 3,
	EXIT_INTERNAL	= 4,
};

enum on_error {
	ON_ERROR_STOP,
	ON_ERROR_CONTINUE,
	ON_ERROR_RETRY,
};

enum op {
	OP_READ,
	OP_WRITE,
	OP_DURABLE,		/* a write that needs no flush: RWF_DSYNC */
	OP_FLUSH,
	OPS,
};

/**
 * struct options - the command line
 * @disk: device or file
 * @journals: names of the journals
 * @nr_journals: how many
 * @journal_io: how they are changed
 * @renew: run: begin a new journal even if there is one
 * @layout: for a new journal
 * @given: which of its parts were given: bit mask of LAYOUT_*
 * @io_min: smallest I/O in blocks
 * @writer: who writes
 * @threads: of a run
 * @mix: how often each kind of operation is done, relative to the others
 * @seconds: how long, 0: without limit
 * @ops: how many operations, 0: without limit
 * @on_error: what to do if an operation fails
 * @retry_seconds: how long one is tried again
 * @buffered: not O_DIRECT
 * @progress: a line per second
 * @limit: so many wrong blocks are reported
 * @rule: what happened before
 * @adopt: verify: what was found is where the next run begins
 * @generation: plant: this one instead of the one that suggests itself
 */
struct options {
	const char *disk;
	const char *journals[JOURNALS_MAX];
	unsigned int nr_journals;
	enum journal_io journal_io;
	bool renew;
	struct layout layout;
	unsigned int given;
	unsigned int io_min;
	unsigned int writer;
	unsigned int threads;
	unsigned int mix[OPS];
	uint64_t seconds;
	uint64_t ops;
	enum on_error on_error;
	uint64_t retry_seconds;
	bool buffered;
	bool progress;
	uint64_t limit;
	struct rule rule;
	bool adopt;
	uint64_t generation;
};

#define LAYOUT_SEED	0x01
#define LAYOUT_FIRST	0x02
#define LAYOUT_BLOCKS	0x04
#define LAYOUT_CHUNK	0x08
#define LAYOUT_SHARE	0x10
#define LAYOUT_FILL	0x20

extern struct options opt;

/* No more operations are begun: a signal, the end of a run, or give_up. */
extern atomic_bool stop_requested;

/* Nothing is tried again: wrong data, a failure, or a second signal. */
extern atomic_bool give_up;

/* disk.c */
int disk_open(bool writable, uint64_t *blocks);
int disk_extend(int fd, uint64_t blocks, uint64_t *have);
void *disk_buffer(unsigned int blocks);
bool disk_try_read(int fd, void *buffer, uint64_t address, unsigned int n);
bool disk_io(int fd, enum op op, void *buffer, uint64_t address, unsigned int n);

/* report.c */
#define __printf(a, b)	__attribute__((format(printf, a, b)))

void message(const char *fmt, ...) __printf(1, 2);
void fatal(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));

uint64_t now_ns(void);
uint64_t real_ns(void);
void pause_ms(unsigned int ms);
void tally_start(struct journal *j);
void tally(enum counter counter, uint64_t n);
uint64_t tallied(enum counter counter);
void tally_error(int err);
void tally_latency(uint64_t ns);
void report_wrong(enum kind kind, const struct expect *expect, const struct found *found);
void report_progress(void);
int report_totals(const char *mode);

/* the commands */
int command_run(void);
int command_verify(void);
int command_plant(const char *kind, const char *block);
int command_show(const char *block);

#endif /* GENCHECK_H */
