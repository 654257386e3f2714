/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Share of a disk in the tags, the send queue and the pool of its session. See share.c.
 * The rules for pool space are in this header, without locks and structures of the
 * session, so that a unit test can model many disks.
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
 * @held: units allocated to requests of the disk
 * @free: units not allocated to any request
 * @all: units of the pool
 * @idle: number of other hardware queues of the session that hold no wire tag
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
 * rnbdc_below_share - apply the dynamic threshold to tags or units
 * @held: number of tags that the hardware queue holds, or of units that the disk holds
 * @more: number of tags or units to take in addition
 * @free: number of free tags or units
 * @reserved: part of @free that is reserved for others
 * @factor: after it has taken @more, the disk or hardware queue may hold at most @factor times
 *	the number that is still free and not reserved
 *
 * Return: true if the disk or hardware queue may take @more.
 */
static inline bool rnbdc_below_share(u32 held, u32 more, u32 free, u32 reserved, u32 factor)
{
	return free >= more + reserved &&
	       held + more <= (u64)factor * (free - more - reserved);
}

/**
 * rnbdc_first_reserve - get the units that the first request of a disk must leave for others
 * @units: units of the request
 * @idle: number of other hardware queues of the session that hold no wire tag
 * @reserve: upper limit of the units that are reserved for disks without a request
 *
 * A small request must leave only few units. If it had to leave many, none of several idle disks
 * could use the last free units while the storage of other disks hangs.
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
 * @more: additional units to take
 * @reserve: upper limit of the units that are reserved for disks without a request
 * @factor: see rnbdc_below_share()
 *
 * Only a disk that holds no units may take units of the reserve. The rule is per disk and not per
 * hardware queue, because a disk whose storage hangs can have many hardware queues.
 *
 * Return: true if the disk may take @more.
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
