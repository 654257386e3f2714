/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal: the writes to each block, recorded outside of the disk under test. */
#ifndef GENCHECK_JOURNAL_H
#define GENCHECK_JOURNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "judge.h"

/* Journals store these counters by number: append new ones at the end. */
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
 * struct layout - area of the disk that a journal covers
 * @seed: Number that determines, with address and version, the pattern in a block
 * @first: First block of the area
 * @blocks: Length of the area in blocks
 * @chunk: Blocks per chunk, which is also the largest I/O; chunk c belongs to share c % @shares
 * @share: Number of the share that this journal covers, from 0
 * @shares: Number of shares into which the chunks are divided
 * @fill: Byte that blocks hold before any write, or FILL_ANY
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
 * @magic: Identification, written when the file has its full size
 * @layout: Area of the disk; never changes
 * @writers: Bit mask of all writers that have used the journal
 * @runs: Number of runs
 * @flushed_seq: Writes whose acknowledgment has this number or a lower one are durable
 * @started_ns: Start of the last run in ns, CLOCK_REALTIME
 * @counters: Counters of the last run; with pwrite() they are written to the file once a second,
 *	after each flush and at the end
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
 * struct entry - state of a block; changed only by the thread that owns the block
 * @acked: Version of the last acknowledged write
 * @acked_seq: Number of that acknowledgment
 * @flushed: Newest version that was durable when @acked was set
 * @seen: Newest version in doubt that was read back
 * @issued: Last version assigned to a write
 * @doubt: Oldest version in doubt; valid only if @pending is not 0
 * @pending: Newest version in doubt, or 0
 * @zero: Padding to a size that divides a page
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

/* Purpose of opening a journal. */
enum journal_use {
	JOURNAL_LOOK,		/* no lock: others may change the journal */
	JOURNAL_READ,		/* shared lock: others may only read */
	JOURNAL_WRITE,		/* exclusive lock: others may only use LOOK */
};

/* Method of writing changes to the file. */
enum journal_io {
	JOURNAL_AUTO,		/* MMAP if the file system supports it, else PWRITE */
	JOURNAL_MMAP,		/* survives a crash of the process */
	JOURNAL_PWRITE,		/* survives a crash of a VM if its host has the file */
};

/**
 * struct journal - an open journal
 * @path: File name
 * @fd: File descriptor
 * @by_pwrite: Changes are written with pwrite(), else they are made in the mapped file
 * @writable: The journal may be changed
 * @size: Size of the mapping in bytes
 * @head: First part of the mapping
 * @entry: Second part, an entry for each block of the area
 * @clock: Number of the last acknowledgment
 * @head_lock: Serializes writes of the head to the file (PWRITE)
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
 * struct rule - events before a verification
 * @after_crash: The target crashed
 * @errors_seen: The disk reported the crash to its users by an I/O error
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
