// SPDX-License-Identifier: GPL-2.0-only
/*
 * The level at which the shares of sessions fit a budget.
 *
 * Operation: the share of a session is its weight times the level, but at least what it has
 * in any case, and at most what it wants. The higher the level, the larger is each share. A
 * bisection finds the highest level at which all shares together are within the budget.
 *
 * Ownership: the caller owns the parts.
 *
 * Concurrency: the caller excludes changes of the parts and of their list.
 *
 * Errors: none. If the least shares exceed the budget, the level is 0. This file uses no
 * kernel interface except lists; tests/unit/test_level.c tests it.
 */

#include "level.h"

/* Fraction bits of a level: weights may be larger than the bytes to divide among them. */
#define RNBDT_LEVEL_SHIFT	16

/* The result of a search is exact to one part in this many. */
#define RNBDT_LEVEL_EXACT	1024

/**
 * rnbdt_level_init - describe the share of a session
 * @part: result; its entry in a list is not touched
 * @least: bytes that the session has in any case
 * @most: bytes that it wants, below 2^47
 * @weight: part of each level that it has, not 0
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
 * @part: what the share depends on
 * @level: level
 *
 * Context: any.
 * Return: bytes.
 */
u64 rnbdt_level_share(const struct rnbdt_part *part, u64 level)
{
	/* The product below fits, because it is less than that with the level @full. */
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
 * @parts: struct rnbdt_part of each session
 * @bytes: budget
 *
 * Context: any; a few dozen passes over @parts.
 * Return: the level, rounded down by one part in a thousand.
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
