/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal: what was written, kept outside of the disk under test.
 */
#ifndef GENCHECK_JOURNAL_H
#define GENCHECK_JOURNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "judge.h"

/* In journals, so they only get longer. */
enum counter {
	COUNT_WRITES,
	COUNT_READS,
	COUNT_FLUSHES,
	COUNT_ERRORS,
	COUNT_FAILED,
	COUNT_BLOCKS_WRITTEN,
	COUNT_BLOCKS_READ,
	COUNT_WRONG,
	COUNTERS,
};

/**
 * struct layout - which blocks a journal is about
 * @seed: everything in a block follows from it, its address and its version
 * @first: number of the first block of the area
 * @blocks: length of the area in blocks
 * @chunk: blocks that stay together: the largest I/O
 * @share: which share of the chunks is this writer's, from 0 on
 * @shares: into how many shares they are dealt out
 * @fill: the byte that blocks hold before any write, or FILL_ANY
 */
struct layout {
	uint64_t seed;
	uint64_t first;
	uint64_t blocks;
	uint32_t chunk;
	uint32_t share;
	uint32_t shares;
	int32_t fill;
};

/**
 * struct journal_head - the first 4 KiB of a journal
 * @magic: written last when a journal is made
 * @layout: never changes
 * @writers: bit mask of all that ever wrote
 * @runs: how often it was taken up
 * @flushed_seq: writes acknowledged with this number or a smaller one are durable
 * @started_ns: of the last run, CLOCK_REALTIME
 * @counters: of the last run, and not always up to date
 */
struct journal_head {
	uint64_t magic;
	struct layout layout;
	uint64_t writers;
	uint64_t runs;
	atomic_ulong flushed_seq;
	uint64_t started_ns;
	atomic_ulong counters[COUNTERS];
};

/**
 * struct entry - a block; only the thread that owns the block writes it
 * @acked: version of the last write that was acknowledged
 * @acked_seq: number of that acknowledgment
 * @flushed: an older version of which a flush had made sure
 * @seen: the last version in doubt that was read back
 * @issued: last version given out
 * @doubt: first version in doubt; only valid with @pending
 * @pending: last version in doubt, or 0
 * @zero: to a size that divides a page
 */
struct entry {
	atomic_ulong acked;
	atomic_ulong acked_seq;
	atomic_ulong flushed;
	atomic_ulong seen;
	atomic_ulong issued;
	atomic_ulong doubt;
	atomic_ulong pending;
	uint64_t zero;
};

/* What a journal is opened for. */
enum journal_use {
	JOURNAL_LOOK,		/* others may change it meanwhile */
	JOURNAL_READ,		/* nobody may */
	JOURNAL_WRITE,		/* nobody else may have it open */
};

/* How changes come to the file. */
enum journal_io {
	JOURNAL_AUTO,		/* by MMAP if the file system can, else PWRITE */
	JOURNAL_MMAP,		/* survives the death of the process */
	JOURNAL_PWRITE,		/* on a share of the host: of the machine, too */
};

/**
 * struct journal - an open journal
 * @path: its name
 * @fd: the file
 * @by_pwrite: changes are written, else they are made in the mapped file
 * @writable: may be changed
 * @size: of the mapping
 * @head: first part of the mapping
 * @entry: second part, one for each block of the area
 * @clock: numbers acknowledgements and flushes
 * @head_lock: PWRITE: the head is written by one thread at a time
 */
struct journal {
	const char *path;
	int fd;
	bool by_pwrite;
	bool writable;
	size_t size;
	struct journal_head *head;
	struct entry *entry;
	atomic_ulong clock;
	pthread_mutex_t head_lock;
};

/**
 * struct rule - what happened before a verification
 * @after_crash: the target crashed
 * @errors_seen: the disk has reported that by an error
 */
struct rule {
	bool after_crash;
	bool errors_seen;
};

int journal_make(const char *path, const struct layout *layout, enum journal_io io);
int journal_open(struct journal *j, const char *path, enum journal_use use,
		 enum journal_io io);
void journal_close(struct journal *j);
void journal_take_up(struct journal *j, unsigned int writer);
bool journal_owns(const struct journal *j, uint64_t address);

void journal_issue(struct journal *j, uint64_t address, unsigned int n, unsigned int writer,
		   uint64_t *versions);
void journal_ack(struct journal *j, uint64_t address, unsigned int n, bool durable);
void journal_seen(struct journal *j, uint64_t address, uint64_t version);
uint64_t journal_flush_begin(struct journal *j);
void journal_flushed(struct journal *j, uint64_t seq);
void journal_adopt(struct journal *j, uint64_t address, uint64_t version);
void journal_sync_head(struct journal *j);

void journal_expect(const struct journal *j, uint64_t address, const struct rule *rule,
		    struct expect *expect);

#endif /* GENCHECK_JOURNAL_H */
