/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocator of pool space. See pool.c. */
#ifndef RNBD_CORE_POOL_H
#define RNBD_CORE_POOL_H

#include "io.h"

/**
 * struct rnbd_pool - units of the pool that one owner allocates; protected by the owner's lock
 * @first: first unit of the range, counted through the whole pool
 * @units: size of the range in units
 * @segment_units: units of a segment, a power of two; no extent crosses a multiple of it
 * @owned: units of the range that belong to the owner, free or allocated
 * @used: allocated units
 * @peak: highest value of @used ever
 * @recent: highest value of @used since the owner has last reset @recent
 * @hint: no unit below this one is free; counted from @first
 * @end: this unit and those above it are not owned; counted from @first
 * @map: a bit per unit of the range, clear while the unit is owned and free
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
