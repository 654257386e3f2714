/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The share of a disk in the tags, the send queue and the pool of its session. See share.c.
 * The rules for space are here, without locks and structures, so that a unit test can model
 * many disks.
 */
#ifndef RNBDC_SHARE_H
#define RNBDC_SHARE_H

#include <linux/minmax.h>
#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_hwq;
struct rnbdc_session;

u32 rnbdc_wire_depth(u32 depth);
u32 rnbdc_disk_share(const struct rnbdc_session *sess);
u32 rnbdc_disk_units(const struct rnbdc_disk *disk);
u32 rnbdc_spare_units(const struct rnbdc_hwq *hwq, u32 units);
bool rnbdc_may_take_tag(const struct rnbdc_hwq *hwq);
bool rnbdc_may_take_units(const struct rnbdc_hwq *hwq, u32 units);
bool rnbdc_may_take_wrs(const struct rnbdc_hwq *hwq, u32 wrs);
bool rnbdc_may_start(const struct rnbdc_hwq *hwq);

/**
 * struct rnbdc_units - pool space of a disk and of its session
 * @held: units that requests of the disk have
 * @free: units that no request has
 * @all: units of the pool
 * @idle: hardware queues of all disks that have no request
 * @largest: units of the largest request
 */
struct rnbdc_units {
	u32 held;
	u32 free;
	u32 all;
	u32 idle;
	u32 largest;
};

/**
 * rnbdc_below_share - apply the dynamic threshold
 * @held: what the disk or its hardware queue has
 * @more: what it would take
 * @free: what is free
 * @reserved: part of @free that is kept for others
 * @factor: how many times the free rest it may hold
 *
 * Return: true if it may take @more.
 */
static inline bool rnbdc_below_share(u32 held, u32 more, u32 free, u32 reserved, u32 factor)
{
	return free >= more + reserved &&
	       held + more <= (u64)factor * (free - more - reserved);
}

/**
 * rnbdc_first_reserve - get the units that the first request of a disk leaves for others
 * @units: units of the request
 * @idle: hardware queues of other disks without a request
 * @reserve: most units that are kept from disks which have requests
 *
 * A small request leaves little. Otherwise idle disks would keep each other from the last
 * units while the storage of some disks hangs, and nothing would use these.
 *
 * Return: number of units; at most half of @reserve.
 */
static inline u32 rnbdc_first_reserve(u32 units, u32 idle, u32 reserve)
{
	return min3(units, idle, reserve / 2);
}

/**
 * rnbdc_units_allowed - test whether a disk may take more pool space
 * @units: space of the disk and of its session
 * @more: units that it would take
 * @reserve: most units that are kept for disks without a request
 * @factor: see rnbdc_below_share()
 *
 * Only the first request of a disk may use the reserve. A disk whose storage hangs has
 * several hardware queues, and must not use it once for each.
 *
 * Return: true if so.
 */
static inline bool rnbdc_units_allowed(const struct rnbdc_units *units, u32 more, u32 reserve,
				       u32 factor)
{
	u32 reserved = min((u64)units->idle * units->largest, reserve);

	if (units->held)
		return rnbdc_below_share(units->held, more, units->free, reserved, factor);
	return units->free == units->all ||
	       units->free >= more + rnbdc_first_reserve(more, units->idle, reserve);
}

#endif /* RNBDC_SHARE_H */
