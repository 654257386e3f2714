/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the files of gencheck share: options, disk and reports. */
#ifndef GENCHECK_H
#define GENCHECK_H

#include <sys/types.h>

#include "journal.h"

#define JOURNALS_MAX	16
#define THREADS_MAX	256
#define CHUNK_MAX	1024

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit codes; the highest one that applies is used. EXIT_USAGE means that no I/O was done. */
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
	OP_DURABLE,		/* write with RWF_DSYNC: durable without a flush */
	OP_FLUSH,
	OPS,
};

/**
 * struct options - the command line
 * @disk: Device or file
 * @journals: Names of the journals
 * @nr_journals: Number of journals
 * @journal_io: Method of writing changes to the journals
 * @renew: run: replace an existing journal by a new one
 * @layout: Layout of a new journal
 * @given: Bit mask of the LAYOUT_* members that the command line sets
 * @io_min: Smallest I/O in blocks
 * @writer: Number of this writer, 1 to WRITER_MAX
 * @threads: Number of threads of a run
 * @mix: Relative frequency of each kind of operation
 * @seconds: Duration in seconds, 0: no limit
 * @ops: Number of operations, 0: no limit
 * @on_error: Reaction to a failed operation
 * @retry_seconds: Time limit for retries of one operation in seconds
 * @buffered: Use the page cache instead of O_DIRECT
 * @progress: Print a line per second
 * @limit: Maximum number of wrong blocks to report
 * @rule: Events before the verification
 * @adopt: verify: record the right contents that were found as the acknowledged state of the blocks
 * @generation: plant: generation to write, 0: the default of the kind of fault
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

/* True: threads begin no further operations (after a signal, at the end of the run, or give_up). */
extern atomic_bool stop_requested;

/* True: failed operations are not retried (after wrong data, a final failure, a second signal). */
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

/* Commands */
int command_run(void);
int command_verify(void);
int command_plant(const char *kind, const char *block);
int command_show(const char *block);

#endif /* GENCHECK_H */
