/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rule: which contents of a block are right.
 */
#ifndef GENCHECK_JUDGE_H
#define GENCHECK_JUDGE_H

#include "block.h"

#define FILL_ANY	(-1)

/**
 * enum kind - what is wrong with a block
 * @KIND_RIGHT: nothing
 * @KIND_OLD: a version that was overwritten, or that another read has passed
 * @KIND_TORN: sectors of several writes
 * @KIND_LOST: as it was before any write, though one was acknowledged
 * @KIND_FOREIGN: of another writer or another run of tests, or not ours at all
 * @KIND_ADDRESS: what belongs elsewhere
 * @KIND_FUTURE: a generation that was never written
 * @KIND_CORRUPT: bytes that differ within one write
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
 * struct expect - what is known of a block when it is read
 * @seed: of the run of tests
 * @address: its number
 * @fill: the byte that it held before any write, or FILL_ANY
 * @writers: bit mask of the writers that it may have
 * @acked: version of the last write that was acknowledged, 0 if there is none
 * @doubt: first version in doubt: in flight, or its write failed
 * @pending: last version in doubt, 0 if none is
 * @seen: the last version in doubt that was read back, or less than @acked
 * @flushed: version of which a flush has made sure
 * @issued: last version that was ever given out
 * @may_go_back: down to @flushed: the target crashed and the disk said so
 * @crashed: the target crashed, what was only read back may be gone
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
