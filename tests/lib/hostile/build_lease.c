// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build valid bodies of control entries about segments of the pool.
 */
#include "hostile_assert.h"
#include "build.h"

/*
 * Build a SEGMENT body. While the client lacks segments that the login reply grants, the body
 * describes the next one of these; later it describes an additional segment with any slot number.
 */
static u32 build_segment(void *body)
{
	const struct rnbd_grant *grant = hostile_grant();
	struct rnbd_segment_info seg = {
		.addr = unit_random64(&rnd) >> 1,
		.slot = world.nr_segments,
		.generation = 1 + below(U32_MAX),
		.rkey = unit_random64(&rnd),
		.units = grant->segment_units,
	};

	if (world.nr_segments < grant->nr_segments) {
		seg.units = min(seg.units, grant->pool_units - seg.slot * seg.units);
	} else {
		seg.slot = below(grant->nr_slots);
		if (seg.units > 64)
			seg.units = 64 * (1 + below(seg.units / 64));
	}
	rnbd_encode_segment(body, &seg);
	return sizeof(struct rnbd_ctl_segment);
}

static u32 build_want(void *body)
{
	rnbd_encode_want(body, below(world.lim.pool_units + 1));
	return sizeof(struct rnbd_ctl_want);
}

static u32 build_lease(void *body, u16 type)
{
	const struct rnbd_lease_info info = {
		.slot = below(hostile_grant()->nr_slots),
		.generation = 1 + below(U32_MAX),
		.deadline_ms = type == RNBD_CTL_RECLAIM ? draw_number() : 0,
	};

	rnbd_encode_lease(body, &info);
	return sizeof(struct rnbd_ctl_lease);
}

u32 build_lease_body(u16 type, void *body)
{
	switch (type) {
	case RNBD_CTL_SEGMENT:
		return build_segment(body);
	case RNBD_CTL_WANT:
		return build_want(body);
	default:
		return build_lease(body, type);
	}
}
