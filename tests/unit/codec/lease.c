// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of the control entries about the segments of a pool: round trips, bounds of
 * each field, and bodies that are too short.
 */
#include "fixture.h"

/* Login reply with 19 segments of the floor, 32 units each, except the last with 24. */
static const struct rnbd_grant granted = {
	.pool_units = 600, .segment_units = 32, .nr_segments = 19,
	.max_units = 4096, .nr_slots = 150,
};

/* Login reply with segments of up to 512 units. */
static const struct rnbd_grant granted_large = {
	.pool_units = 600, .segment_units = 512, .nr_segments = 2,
	.max_units = 4096, .nr_slots = 20,
};

static void encode_segment(u8 *body, u32 slot)
{
	const struct rnbd_segment_info seg = {
		.addr = 0xffff888000000000ull + slot * 0x1000000ull, .slot = slot,
		.generation = 0x80000001, .rkey = 0x100 + slot, .units = slot == 18 ? 24 : 32,
	};

	memset(body, 0xee, 24);
	rnbd_encode_segment((void *)body, &seg);
}

/*
 * The segments of the floor arrive in the order of their slots. For each of them only one size
 * is valid.
 */
static void test_first_segments(void **state)
{
	/* Each patch changes segment 0, which has 32 units. */
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_segment, units, 0, LIMITS),
		PATCH(rnbd_ctl_segment, units, 31, LIMITS),
		PATCH(rnbd_ctl_segment, units, 33, LIMITS),
		PATCH(rnbd_ctl_segment, units, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_segment, addr, 0, NONE),
		PATCH(rnbd_ctl_segment, addr, 1, NONE),
		PATCH(rnbd_ctl_segment, addr, ~0ull - 32 * 4096, NONE),
		PATCH(rnbd_ctl_segment, addr, ~0ull - 32 * 4096 + 1, LIMITS),
		PATCH(rnbd_ctl_segment, addr, ~0ull, LIMITS),
		PATCH(rnbd_ctl_segment, rkey, 0, NONE),
		PATCH(rnbd_ctl_segment, rkey, 0xffffffff, NONE),
		PATCH(rnbd_ctl_segment, generation, 0, LIMITS),
		PATCH(rnbd_ctl_segment, generation, 1, NONE),
		/* Slot 0 is expected next. */
		PATCH(rnbd_ctl_segment, slot, 1, COUNT),
		PATCH(rnbd_ctl_segment, slot, 18, COUNT),
		PATCH(rnbd_ctl_segment, slot, 0xffffffff, COUNT),
	};
	struct rnbd_segment_info seg, untouched;
	u8 body[24];
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < 19; i++) {
		encode_segment(body, i);
		assert_fault(rnbd_decode_segment(entry_of(RNBD_CTL_SEGMENT, body, 24), &granted,
						 i, &seg), RNBD_PERR_NONE);
		assert_true(seg.addr == 0xffff888000000000ull + i * 0x1000000ull);
		assert_int_equal(seg.slot, i);
		assert_int_equal(seg.generation, 0x80000001);
		assert_int_equal(seg.rkey, 0x100 + i);
		assert_int_equal(seg.units, i == 18 ? 24 : 32);
	}
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		enum rnbd_proto_err fault;

		encode_segment(body, 0);
		unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
		seg = untouched;
		fault = rnbd_decode_segment(entry_of(RNBD_CTL_SEGMENT, body, 24), &granted, 0,
					    &seg);
		if (fault != patches[i].want)
			print_message("patch %u\n", i);
		assert_fault(fault, patches[i].want);
		if (fault)
			assert_memory_equal(&seg, &untouched, sizeof(seg));
	}
	assert_fault(rnbd_decode_segment(entry_of(RNBD_CTL_SEGMENT, body, 16), &granted, 0,
					 &seg),
		     RNBD_PERR_SHORT);
}

static enum rnbd_proto_err decode_later(u32 slot, u32 units, const struct rnbd_grant *grant)
{
	const struct rnbd_segment_info info = {
		.addr = 4096, .slot = slot, .generation = 7, .rkey = 9, .units = units,
	};
	struct rnbd_segment_info out, untouched;
	enum rnbd_proto_err fault;
	u8 body[24];

	memset(body, 0xee, sizeof(body));
	rnbd_encode_segment((void *)body, &info);
	memset(&untouched, 0xa5, sizeof(untouched));
	out = untouched;
	fault = rnbd_decode_segment(entry_of(RNBD_CTL_SEGMENT, body, 24), grant,
				    grant->nr_segments, &out);
	if (fault) {
		assert_memory_equal(&out, &untouched, sizeof(out));
	} else {
		assert_int_equal(out.slot, slot);
		assert_int_equal(out.units, units);
		assert_int_equal(out.generation, 7);
	}
	return fault;
}

/*
 * Later segments may have any slot below nr_slots. Their size is segment_units, or a multiple of 64
 * units that is less than segment_units.
 */
static void test_later_segments(void **state)
{
	(void)state;
	assert_fault(decode_later(0, 64, &granted_large), RNBD_PERR_NONE);
	assert_fault(decode_later(19, 512, &granted_large), RNBD_PERR_NONE);
	assert_fault(decode_later(20, 512, &granted_large), RNBD_PERR_COUNT);
	assert_fault(decode_later(U32_MAX, 512, &granted_large), RNBD_PERR_COUNT);
	assert_fault(decode_later(1, 0, &granted_large), RNBD_PERR_LIMITS);
	assert_fault(decode_later(1, 63, &granted_large), RNBD_PERR_LIMITS);
	assert_fault(decode_later(1, 65, &granted_large), RNBD_PERR_LIMITS);
	assert_fault(decode_later(1, 448, &granted_large), RNBD_PERR_NONE);
	assert_fault(decode_later(1, 576, &granted_large), RNBD_PERR_LIMITS);
	assert_fault(decode_later(1, U32_MAX & ~63u, &granted_large), RNBD_PERR_LIMITS);
	/* If segment_units is less than a granule, it is the only valid size. */
	assert_fault(decode_later(149, 32, &granted), RNBD_PERR_NONE);
	assert_fault(decode_later(149, 31, &granted), RNBD_PERR_LIMITS);
	assert_fault(decode_later(149, 64, &granted), RNBD_PERR_LIMITS);
	assert_fault(decode_later(150, 32, &granted), RNBD_PERR_COUNT);
}

static void test_want(void **state)
{
	u32 units, i;
	u8 body[8];

	(void)state;
	for (units = 0; units <= 4096; units += 512) {
		u32 out = ~units;

		memset(body, 0xee, sizeof(body));
		rnbd_encode_want((void *)body, units);
		assert_fault(rnbd_decode_want(entry_of(RNBD_CTL_WANT, body, 8), 4096, &out),
			     RNBD_PERR_NONE);
		assert_int_equal(out, units);
	}
	units = 5;
	assert_fault(rnbd_decode_want(entry_of(RNBD_CTL_WANT, body, 8), 4095, &units),
		     RNBD_PERR_LIMITS);
	for (i = 4; i < 8; i++) {
		body[i] = 1;
		assert_fault(rnbd_decode_want(entry_of(RNBD_CTL_WANT, body, 8), 4096, &units),
			     RNBD_PERR_RESERVED);
		body[i] = 0;
	}
	unit_put(body, 4, U32_MAX);
	assert_fault(rnbd_decode_want(entry_of(RNBD_CTL_WANT, body, 8), 4096, &units),
		     RNBD_PERR_LIMITS);
	assert_fault(rnbd_decode_want(entry_of(RNBD_CTL_WANT, body, 0), 4096, &units),
		     RNBD_PERR_SHORT);
	assert_int_equal(units, 5);
}

static void try_lease(u16 type, u32 deadline_ms)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_lease, slot, 0, NONE),
		PATCH(rnbd_ctl_lease, slot, 149, NONE),
		PATCH(rnbd_ctl_lease, slot, 150, COUNT),
		PATCH(rnbd_ctl_lease, slot, 0xffffffff, COUNT),
		PATCH(rnbd_ctl_lease, generation, 0, HANDLE),
		PATCH(rnbd_ctl_lease, generation, 1, NONE),
		PATCH(rnbd_ctl_lease, generation, 0xffffffff, NONE),
		PATCH(rnbd_ctl_lease, deadline_ms, 0, NONE),
		PATCH(rnbd_ctl_lease, reserved[0], 1, RESERVED),
		PATCH(rnbd_ctl_lease, reserved[3], 0x80, RESERVED),
	};
	const struct rnbd_lease_info info = {
		.slot = 0x21, .generation = 0x80000001, .deadline_ms = deadline_ms,
	};
	struct rnbd_lease_info out, untouched;
	enum rnbd_proto_err fault;
	u8 body[16];
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		memset(body, 0xee, sizeof(body));
		rnbd_encode_lease((void *)body, &info);
		unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
		out = untouched;
		fault = rnbd_decode_lease(entry_of(type, body, 16), 150, &out);
		if (fault != patches[i].want)
			print_message("type %u, patch %u\n", type, i);
		assert_fault(fault, patches[i].want);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	}
	rnbd_encode_lease((void *)body, &info);
	assert_fault(rnbd_decode_lease(entry_of(type, body, 16), 150, &out), RNBD_PERR_NONE);
	assert_int_equal(out.slot, 0x21);
	assert_int_equal(out.generation, 0x80000001);
	assert_int_equal(out.deadline_ms, deadline_ms);
	assert_fault(rnbd_decode_lease(entry_of(type, body, 8), 150, &out), RNBD_PERR_SHORT);
	if (type == RNBD_CTL_RECLAIM)
		return;
	unit_put(body + 8, 4, 1);
	assert_fault(rnbd_decode_lease(entry_of(type, body, 16), 150, &out),
		     RNBD_PERR_RESERVED);
}

/* RECLAIM, RELEASE and RELEASED have the same body. Only RECLAIM may have a deadline. */
static void test_lease(void **state)
{
	(void)state;
	try_lease(RNBD_CTL_RECLAIM, 0x01020304);
	try_lease(RNBD_CTL_RELEASE, 0);
	try_lease(RNBD_CTL_RELEASED, 0);
}

int codec_lease_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_segments),
		cmocka_unit_test(test_later_segments),
		cmocka_unit_test(test_want),
		cmocka_unit_test(test_lease),
	};

	return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
