/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocator of delegated pool space. See pool.c.
 */
#ifndef RNBD_CORE_POOL_H
#define RNBD_CORE_POOL_H

#include "io.h"

/**
 * struct rnbd_pool - one queue's share of the delegated pool
 * @first: first unit of the share, counted through the whole pool
 * @units: size of the share
 * @segment_units: runs do not cross a multiple of it; a power of two
 * @used: units given out
 * @peak: highest @used ever
 * @hint: no unit below it (counted from @first) is free
 * @map: a bit per unit, set while it is given out
 *
 * Written under the lock of the queue that owns it.
 */
struct rnbd_pool {
	u32 first;
	u32 units;
	u32 segment_units;
	u32 used;
	u32 peak;
	u32 hint;
	unsigned long *map;
};

int rnbd_pool_init(struct rnbd_pool *pool, u32 first, u32 units, u32 segment_units);
void rnbd_pool_exit(struct rnbd_pool *pool);
int rnbd_pool_alloc(struct rnbd_pool *pool, u32 units, struct rnbd_extent *extents,
		    u32 max_runs);
void rnbd_pool_free(struct rnbd_pool *pool, const struct rnbd_extent *extents, u32 nr_extents);

#endif /* RNBD_CORE_POOL_H */
