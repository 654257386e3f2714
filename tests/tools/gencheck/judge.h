/* SPDX-License-Identifier: GPL-2.0-only */
/* The rule: decide whether the contents of a block are right. */
#ifndef GENCHECK_JUDGE_H
#define GENCHECK_JUDGE_H

#include "block.h"

#define FILL_ANY	(-1)

/**
 * enum kind - verdict on a block
 * @KIND_RIGHT: No error
 * @KIND_OLD: Version that was overwritten, or that is older than a version already read back
 * @KIND_TORN: Sectors of several writes
 * @KIND_LOST: Contents before any write, although a write was acknowledged or read back
 * @KIND_FOREIGN: Block of an unknown or wrong writer or of another seed, or no block of gencheck
 * @KIND_ADDRESS: Block that belongs to another address
 * @KIND_FUTURE: Generation higher than any that was assigned to a write
 * @KIND_CORRUPT: Tags of one write, but wrong bytes
 */
enum kind {
	KIND_RIGHT,
	KIND_OLD,
	KIND_TORN,
	KIND_LOST,
	KIND_FOREIGN,
	KIND_ADDRESS,
	KIND_FUTURE,
	KIND_CORRUPT,
	KINDS,
};

/**
 * struct expect - expected state of a block
 * @seed: Seed of the journal
 * @address: Number of the block
 * @fill: Byte that the block held before any write, or FILL_ANY
 * @writers: Bit mask of the possible writers
 * @acked: Version of the last acknowledged write, 0 if there is none
 * @doubt: Oldest version in doubt, i.e. whose write is in flight or has failed
 * @pending: Newest version in doubt, 0 if there is none
 * @seen: Newest version in doubt that was read back; ignored if not newer than @acked
 * @flushed: Newest version that is known to be durable
 * @issued: Last version assigned to a write
 * @may_go_back: The target crashed and the disk reported it: versions back to @flushed are right
 * @crashed: The target crashed: the loss of a version that was read but not acknowledged is right
 */
struct expect {
	uint64_t seed;
	uint64_t address;
	int fill;
	uint64_t writers;
	uint64_t acked;
	uint64_t doubt;
	uint64_t pending;
	uint64_t seen;
	uint64_t flushed;
	uint64_t issued;
	bool may_go_back;
	bool crashed;
};

enum kind judge(const struct expect *expect, const struct found *found);
uint64_t judge_version(const struct expect *expect, const struct found *found);
uint64_t judge_lowest(const struct expect *expect);
uint64_t judge_highest(const struct expect *expect);
const char *kind_name(enum kind kind);

#endif /* GENCHECK_JUDGE_H */
