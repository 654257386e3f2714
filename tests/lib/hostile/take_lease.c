// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode entries about segments of the pool, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

static enum rnbd_proto_err take_segment(const struct rnbd_ctl_entry *entry)
{
	const struct rnbd_grant *grant = hostile_grant();
	struct rnbd_segment_info seg, untouched;
	struct rnbd_ctl_segment again;
	enum rnbd_proto_err fault;
	u64 rest;

	memset(&untouched, 0xa5, sizeof(untouched));
	seg = untouched;
	fault = rnbd_decode_segment(entry, grant, world.nr_segments, &seg);
	if (fault) {
		assert_memory_equal(&seg, &untouched, sizeof(seg));
		return fault;
	}
	assert_true(seg.slot < grant->nr_slots);
	assert_true(seg.generation > 0);
	assert_true((__uint128_t)seg.addr + seg.units * 4096ull <= U64_MAX);
	assert_in_range(seg.units, 1, grant->segment_units);
	if (world.nr_segments >= grant->nr_segments) {
		assert_true(seg.units == grant->segment_units || seg.units % 64 == 0);
	} else {
		assert_int_equal(seg.slot, world.nr_segments);
		rest = grant->pool_units - (u64)seg.slot * grant->segment_units;
		assert_true(seg.units == rest || seg.units == grant->segment_units);
		assert_true(seg.units <= rest);
	}
	rnbd_encode_segment(&again, &seg);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_want(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_ctl_want again;
	enum rnbd_proto_err fault;
	u32 units = 0xa5a5a5a5;

	fault = rnbd_decode_want(entry, world.lim.pool_units, &units);
	if (fault) {
		assert_int_equal(units, 0xa5a5a5a5);
		return fault;
	}
	assert_true(units <= world.lim.pool_units);
	rnbd_encode_want(&again, units);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_lease(const struct rnbd_ctl_entry *entry)
{
	u32 nr_slots = hostile_grant()->nr_slots;
	struct rnbd_lease_info info, untouched;
	struct rnbd_ctl_lease again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_lease(entry, nr_slots, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_true(info.slot < nr_slots);
	assert_true(info.generation > 0);
	assert_true(entry->type == 20 || !info.deadline_ms);
	rnbd_encode_lease(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_lease_body(const struct rnbd_ctl_entry *entry)
{
	switch (entry->type) {
	case 18:
		return take_segment(entry);
	case 19:
		return take_want(entry);
	default:
		return take_lease(entry);
	}
}
