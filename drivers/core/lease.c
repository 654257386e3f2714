// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bodies of control entries about the segments of a pool.
 *
 * Operation: the target grants segments with the login, and further ones if the client wants a
 * larger pool. The client releases segments, by itself or when the target reclaims them.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h. The caller
 * checks whether the slot in an entry has a segment of the generation in the entry.
 */
#include "check.h"
#include "lease.h"
#include "login.h"

/**
 * rnbd_encode_segment - encode a grant of a segment
 * @wire: body of an entry of type RNBD_CTL_SEGMENT
 * @seg: segment
 *
 * Context: any.
 */
void rnbd_encode_segment(struct rnbd_ctl_segment *wire, const struct rnbd_segment_info *seg)
{
	*wire = (struct rnbd_ctl_segment) {
		.addr = cpu_to_le64(seg->addr),
		.slot = cpu_to_le32(seg->slot),
		.generation = cpu_to_le32(seg->generation),
		.rkey = cpu_to_le32(seg->rkey),
		.units = cpu_to_le32(seg->units),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_segment);

/* Check the size of a segment that was granted after the login. */
static bool rnbd_segment_units_ok(u32 units, const struct rnbd_grant *grant)
{
	if (!units || units > grant->segment_units)
		return false;
	return units == grant->segment_units || rnbd_multiple(units, RNBD_SEGMENT_GRANULE);
}

/**
 * rnbd_decode_segment - check and decode a grant of a segment
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_SEGMENT
 * @grant: login reply of the session
 * @nr_received: number of segments received before. The first grant->nr_segments ones were
 *	granted by the login: they have consecutive slots from 0, and sizes that follow from
 *	@grant
 * @seg: result; the segment does not exceed the address space
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @seg is untouched.
 */
enum rnbd_proto_err rnbd_decode_segment(const struct rnbd_ctl_entry *entry,
					const struct rnbd_grant *grant, u32 nr_received,
					struct rnbd_segment_info *seg)
{
	struct rnbd_ctl_segment wire;
	enum rnbd_proto_err perr;
	u32 slot, units;
	bool ok;
	u64 addr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	slot = le32_to_cpu(wire.slot);
	units = le32_to_cpu(wire.units);
	addr = le64_to_cpu(wire.addr);
	if (nr_received < grant->nr_segments) {
		if (slot != nr_received)
			return RNBD_PERR_COUNT;
		ok = units == min(grant->segment_units,
				  grant->pool_units - slot * grant->segment_units);
	} else {
		if (slot >= grant->nr_slots)
			return RNBD_PERR_COUNT;
		ok = rnbd_segment_units_ok(units, grant);
	}
	if (!ok || !wire.generation || addr > U64_MAX - ((u64)units << RNBD_UNIT_SHIFT))
		return RNBD_PERR_LIMITS;

	seg->addr = addr;
	seg->slot = slot;
	seg->generation = le32_to_cpu(wire.generation);
	seg->rkey = le32_to_cpu(wire.rkey);
	seg->units = units;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_segment);

/**
 * rnbd_encode_want - encode a request for a size of the pool
 * @wire: body of an entry of type RNBD_CTL_WANT
 * @units: units that the client wants to hold in total
 *
 * Context: any.
 */
void rnbd_encode_want(struct rnbd_ctl_want *wire, u32 units)
{
	*wire = (struct rnbd_ctl_want) {
		.units = cpu_to_le32(units),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_want);

/**
 * rnbd_decode_want - check and decode a request for a size of the pool
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_WANT
 * @max_units: granted ceiling of the pool
 * @units: result, at most @max_units
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @units is untouched.
 */
enum rnbd_proto_err rnbd_decode_want(const struct rnbd_ctl_entry *entry, u32 max_units,
				     u32 *units)
{
	struct rnbd_ctl_want wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	if (le32_to_cpu(wire.units) > max_units)
		return RNBD_PERR_LIMITS;
	*units = le32_to_cpu(wire.units);
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_want);

/**
 * rnbd_encode_lease - encode the body of a RECLAIM, RELEASE or RELEASED entry
 * @wire: body of the entry
 * @info: segment and deadline in milliseconds
 *
 * Context: any.
 */
void rnbd_encode_lease(struct rnbd_ctl_lease *wire, const struct rnbd_lease_info *info)
{
	*wire = (struct rnbd_ctl_lease) {
		.slot = cpu_to_le32(info->slot),
		.generation = cpu_to_le32(info->generation),
		.deadline_ms = cpu_to_le32(info->deadline_ms),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_lease);

/**
 * rnbd_decode_lease - check and decode a RECLAIM, RELEASE or RELEASED entry
 * @entry: entry from rnbd_decode_ctl(), of one of these types
 * @nr_slots: number of slots of the pool
 * @info: result; only a RECLAIM entry has a deadline
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_lease(const struct rnbd_ctl_entry *entry, u32 nr_slots,
				      struct rnbd_lease_info *info)
{
	struct rnbd_ctl_lease wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	if (wire.deadline_ms && entry->type != RNBD_CTL_RECLAIM)
		return RNBD_PERR_RESERVED;
	if (le32_to_cpu(wire.slot) >= nr_slots)
		return RNBD_PERR_COUNT;
	if (!wire.generation)
		return RNBD_PERR_HANDLE;
	info->slot = le32_to_cpu(wire.slot);
	info->generation = le32_to_cpu(wire.generation);
	info->deadline_ms = le32_to_cpu(wire.deadline_ms);
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_lease);
