// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rule: which contents of a block are right.
 *
 * Operation: a block must be whole, ours, in its place, and of one of these
 * versions:
 *
 * - the last one that was acknowledged;
 * - one in doubt, that is: later than that and in flight when the checker died,
 *   or of a write that failed. What is in doubt ends with the next write that
 *   is acknowledged;
 * - of those never one older than what was read back already: a disk does not
 *   go back;
 * - after a crash of the target that the disk has reported by an error: any
 *   from the last that was flushed on.
 *
 * Version 0 stands for the block as it was before any write.
 *
 * Ownership, concurrency: pure functions.
 * Errors: the kind of what is wrong.
 */
#include "judge.h"

static const char *const names[KINDS] = {
	[KIND_RIGHT]	= "right",
	[KIND_OLD]	= "old",
	[KIND_TORN]	= "torn",
	[KIND_LOST]	= "lost",
	[KIND_FOREIGN]	= "foreign",
	[KIND_ADDRESS]	= "address",
	[KIND_FUTURE]	= "future",
	[KIND_CORRUPT]	= "corrupt",
};

const char *kind_name(enum kind kind)
{
	return names[kind];
}

/* The oldest version that is right. */
uint64_t judge_lowest(const struct expect *expect)
{
	if (expect->may_go_back)
		return expect->flushed;
	if (!expect->crashed && expect->seen > expect->acked)
		return expect->seen;
	return expect->acked;
}

/* The newest version that is right. */
uint64_t judge_highest(const struct expect *expect)
{
	return expect->pending > expect->acked ? expect->pending : expect->acked;
}

static bool known_writer(const struct expect *expect, uint64_t version)
{
	unsigned int writer = version_writer(version);

	return writer <= WRITER_MAX && expect->writers >> writer & 1;
}

static bool acceptable(const struct expect *expect, uint64_t version)
{
	uint64_t generation = version_generation(version);
	uint64_t lowest = judge_lowest(expect);

	if (generation < version_generation(lowest))
		return false;
	if (version == expect->acked || version == lowest)
		return true;
	if (generation == version_generation(expect->acked) ||
	    generation > version_generation(judge_highest(expect)))
		return false;
	if (version == expect->doubt || version == expect->pending)
		return expect->pending != 0;
	/* between the ends a generation is known, its writer is not */
	if (expect->may_go_back)
		return generation > version_generation(lowest);
	return expect->pending && generation > version_generation(expect->doubt) &&
	       generation < version_generation(expect->pending);
}

static enum kind judge_whole(const struct expect *expect, uint64_t version)
{
	uint64_t generation = version_generation(version);

	if (!known_writer(expect, version))
		return KIND_FOREIGN;
	if (acceptable(expect, version))
		return KIND_RIGHT;
	if (generation > version_generation(expect->issued))
		return KIND_FUTURE;
	/* the right generation, but not by who wrote it */
	if (generation == 0 ||
	    (generation == version_generation(expect->acked) && version != expect->acked))
		return KIND_FOREIGN;
	return KIND_OLD;
}

/**
 * judge() - is this right?
 * @expect: what is known of the block
 * @found: what was read
 */
enum kind judge(const struct expect *expect, const struct found *found)
{
	bool untouched = acceptable(expect, 0);

	switch (found->content) {
	case CONTENT_UNIFORM:
		if (expect->fill != FILL_ANY && expect->fill != found->byte)
			return KIND_FOREIGN;
		return untouched ? KIND_RIGHT : KIND_LOST;
	case CONTENT_ALIEN:
		return untouched && expect->fill == FILL_ANY ? KIND_RIGHT : KIND_FOREIGN;
	default:
		break;
	}
	if (found->stamp.seed != expect->seed)
		return untouched && expect->fill == FILL_ANY ? KIND_RIGHT : KIND_FOREIGN;
	if (found->content == CONTENT_MIXED)
		return KIND_TORN;
	if (found->content == CONTENT_CORRUPT)
		return KIND_CORRUPT;
	if (found->stamp.address != expect->address)
		return KIND_ADDRESS;
	return judge_whole(expect, found->stamp.version);
}

/**
 * judge_version() - which of our writes is it?
 * @expect: what is known of the block
 * @found: what was read, and found right
 *
 * Return: 0 if it is what was there before any of them, which may be a block of
 * a former journal with a version of its own.
 */
uint64_t judge_version(const struct expect *expect, const struct found *found)
{
	if (found->content != CONTENT_WHOLE || found->stamp.seed != expect->seed)
		return 0;
	return found->stamp.version;
}
