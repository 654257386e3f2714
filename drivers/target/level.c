// SPDX-License-Identifier: GPL-2.0-only
/*
 * The level at which the shares of sessions fit a budget.
 *
 * Operation: the share of a session in bytes is its weight times the level, but at least
 * rnbdt_part.least and at most rnbdt_part.most. A higher level makes no share smaller. A bisection
 * finds, almost exactly, the highest level at which the sum of all shares is within the budget.
 *
 * Ownership: the caller owns the parts.
 *
 * Concurrency: the caller prevents changes of the parts and of their list.
 *
 * Errors: none. If the sum of rnbdt_part.least of all sessions exceeds the budget, the level is
 * 0. This file uses no kernel interface except lists and div_u64(); tests/unit/test_level.c tests
 * it.
 */

#include "level.h"

/* Number of fraction bits of a level: a level can be less than one byte per unit of weight. */
#define RNBDT_LEVEL_SHIFT	16

/* A search ends when the error of the level is at most the level divided by this number, or 1. */
#define RNBDT_LEVEL_EXACT	1024

/**
 * rnbdt_level_init - describe the share of a session
 * @part: result; @part->entry does not change
 * @least: bytes that the session gets at any level
 * @most: bytes that the session wants, less than 2^47
 * @weight: weight of the session, not 0
 *
 * Context: any.
 */
void rnbdt_level_init(struct rnbdt_part *part, u64 least, u64 most, u32 weight)
{
	part->least = least;
	part->most = max(least, most);
	part->full = div_u64((part->most << RNBDT_LEVEL_SHIFT) + weight - 1, weight);
	part->weight = weight;
}

/**
 * rnbdt_level_share - compute the share of a session at a level
 * @part: description of the share
 * @level: level
 *
 * Context: any.
 * Return: bytes.
 */
u64 rnbdt_level_share(const struct rnbdt_part *part, u64 level)
{
	/* At a lower level, the product below fits 64 bits. */
	if (level >= part->full)
		return part->most;
	return max(part->least, level * part->weight >> RNBDT_LEVEL_SHIFT);
}

static bool rnbdt_level_fits(const struct list_head *parts, u64 level, u64 bytes)
{
	const struct rnbdt_part *part;
	u64 sum = 0;

	list_for_each_entry(part, parts, entry) {
		sum += rnbdt_level_share(part, level);
		if (sum > bytes)
			return false;
	}
	return true;
}

/**
 * rnbdt_level_find - find the highest level at which all shares are within a budget
 * @parts: list of struct rnbdt_part, one for each session
 * @bytes: budget
 *
 * Context: any; passes over @parts a few dozen times.
 * Return: the level; it is less than the exact one by at most 1/RNBDT_LEVEL_EXACT of itself, or by
 * 1. If the budget suffices for all, the lowest level at which each session gets its maximum; 0 if
 * the budget does not suffice at any level.
 */
u64 rnbdt_level_find(const struct list_head *parts, u64 bytes)
{
	const struct rnbdt_part *part;
	u64 low = 0, high = 0;

	list_for_each_entry(part, parts, entry)
		high = max(high, part->full);
	if (rnbdt_level_fits(parts, high, bytes))
		return high;
	while (high - low > max(low / RNBDT_LEVEL_EXACT, 1ull)) {
		u64 level = low + (high - low) / 2;

		if (rnbdt_level_fits(parts, level, bytes))
			low = level;
		else
			high = level;
	}
	return low;
}
