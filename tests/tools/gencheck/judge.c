// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rule: decide whether the contents of a block are right.
 *
 * Operation: the contents must be complete, must carry the expected seed and address, and must have
 * one of these versions:
 *
 * - the last acknowledged version;
 * - a version in doubt: it is newer than the last acknowledged version, and its write is in flight,
 *   has failed, or was in flight when the checker died. The next acknowledged write ends the doubt;
 * - after a crash of the target that the disk has reported by an error: the last durable version,
 *   or any newer version that was acknowledged.
 *
 * If a version in doubt was read back, no older version is right, because a disk must not return to
 * older data. This condition does not apply after a crash of the target.
 *
 * Version 0 stands for the block before any write.
 *
 * Ownership, concurrency: pure functions.
 * Errors: the result is the kind of error.
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

/* Return the oldest version that is right. */
uint64_t judge_lowest(const struct expect *expect)
{
	if (expect->may_go_back)
		return expect->flushed;
	if (!expect->crashed && expect->seen > expect->acked)
		return expect->seen;
	return expect->acked;
}

/* Return the newest version that is right. */
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
	/* between the recorded versions, accept any known writer: the journal does not record it */
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
	/* generation 0, or the acknowledged generation but written by another writer */
	if (generation == 0 ||
	    (generation == version_generation(expect->acked) && version != expect->acked))
		return KIND_FOREIGN;
	return KIND_OLD;
}

/**
 * judge() - decide whether the contents of a block are right
 * @expect: Expected state of the block
 * @found: Contents found
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
 * judge_version() - return the version of contents that are right
 * @expect: Expected state of the block
 * @found: Contents found, which judge() has found right
 *
 * Return: the version; 0 for the contents before any write. With FILL_ANY these contents can be a
 *     block of an earlier journal with another seed, whose version does not count.
 */
uint64_t judge_version(const struct expect *expect, const struct found *found)
{
	if (found->content != CONTENT_WHOLE || found->stamp.seed != expect->seed)
		return 0;
	return found->stamp.version;
}
