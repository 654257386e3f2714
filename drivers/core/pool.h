/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocator of delegated pool space. See pool.c.
 */
#ifndef RNBD_CORE_POOL_H
#define RNBD_CORE_POOL_H

#include "io.h"

/**
 * struct rnbd_pool - units of the delegated pool that one owner allocates
 * @first: first unit of the range, counted through the whole pool
 * @units: size of the range
 * @segment_units: extents do not cross a multiple of it; a power of two
 * @owned: units of the range that the owner may allocate, or has allocated
 * @used: units that are allocated
 * @peak: highest @used ever
 * @recent: highest @used since the owner has reset it
 * @hint: no unit below it (counted from @first) is free
 * @end: no unit from it on (counted from @first) is owned
 * @map: a bit per unit of the range, clear while it is owned and free
 *
 * Written under the lock of the owner.
 */
struct rnbd_pool {
	u32 first;
	u32 units;
	u32 segment_units;
	u32 owned;
	u32 used;
	u32 peak;
	u32 recent;
	u32 hint;
	u32 end;
	unsigned long *map;
};

int rnbd_pool_init(struct rnbd_pool *pool, u32 first, u32 units, u32 segment_units);
int rnbd_pool_init_empty(struct rnbd_pool *pool, u32 first, u32 units, u32 segment_units);
void rnbd_pool_exit(struct rnbd_pool *pool);
void rnbd_pool_clear(struct rnbd_pool *pool);
int rnbd_pool_alloc(struct rnbd_pool *pool, u32 units, struct rnbd_extent *extents,
		    u32 max_runs);
void rnbd_pool_free(struct rnbd_pool *pool, const struct rnbd_extent *extents, u32 nr_extents);
void rnbd_pool_add(struct rnbd_pool *pool, u32 unit, u32 units);
u32 rnbd_pool_remove(struct rnbd_pool *pool, u32 unit, u32 units);
bool rnbd_pool_is_free(const struct rnbd_pool *pool, u32 unit, u32 units);

#endif /* RNBD_CORE_POOL_H */
