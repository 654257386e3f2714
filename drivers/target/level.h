/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The level at which the shares of sessions fit a budget. See level.c.
 *
 * In user space, the file that includes this one must define struct list_head.
 */
#ifndef RNBDT_LEVEL_H
#define RNBDT_LEVEL_H

#ifdef __KERNEL__
#include <linux/list.h>
#include <linux/math64.h>
#endif

#include "../core/portable.h"

/**
 * struct rnbdt_part - description of the share of a session
 * @entry: in the list of sessions whose shares are computed together
 * @least: bytes that the session gets at any level
 * @most: bytes that the session gets at most, not less than @least
 * @full: lowest level at which the session gets @most
 * @weight: weight of the session, not 0
 *
 * A search reads these members many times, so they are kept together in this structure.
 */
struct rnbdt_part {
	struct list_head entry;
	u64 least;
	u64 most;
	u64 full;
	u32 weight;
};

void rnbdt_level_init(struct rnbdt_part *part, u64 least, u64 most, u32 weight);
u64 rnbdt_level_share(const struct rnbdt_part *part, u64 level);
u64 rnbdt_level_find(const struct list_head *parts, u64 bytes);

#endif /* RNBDT_LEVEL_H */
