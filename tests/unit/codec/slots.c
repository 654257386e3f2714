// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of the control entries about the receive slots and requests of a connection.
 */
#include "fixture.h"
#include "slots.h"

static const struct rnbd_slots_info info = { .slots = 64, .depth = 144 };

static void test_slots(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_slots, slots, 0, GEOMETRY),
		PATCH(rnbd_ctl_slots, slots, 3, GEOMETRY),
		PATCH(rnbd_ctl_slots, slots, 4, NONE),
		PATCH(rnbd_ctl_slots, slots, 1024, NONE),
		PATCH(rnbd_ctl_slots, slots, 1025, GEOMETRY),
		PATCH(rnbd_ctl_slots, slots, 0xffff, GEOMETRY),
		PATCH(rnbd_ctl_slots, depth, 0, NONE),
		PATCH(rnbd_ctl_slots, depth, 4096, NONE),
		PATCH(rnbd_ctl_slots, depth, 4097, GEOMETRY),
		PATCH(rnbd_ctl_slots, depth, 0xffff, GEOMETRY),
		PATCH(rnbd_ctl_slots, reserved, 1, RESERVED),
		PATCH(rnbd_ctl_slots, reserved, 0x80000000, RESERVED),
	};
	struct rnbd_slots_info out, untouched;
	struct rnbd_ctl_slots wire;
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		rnbd_encode_slots(&wire, &info);
		unit_put((u8 *)&wire + patches[i].offset, patches[i].bytes, patches[i].value);
		out = untouched;
		assert_fault(rnbd_decode_slots(entry_of(RNBD_CTL_SLOTS, &wire, sizeof(wire)),
					       &out), patches[i].want);
		if (patches[i].want)
			assert_memory_equal(&out, &untouched, sizeof(out));
	}
}

static void test_round_trip(void **state)
{
	struct rnbd_ctl_slots wire, longer[2];
	struct rnbd_slots_info out;
	u32 bytes;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_slots(&wire, &info);
	for (bytes = 0; bytes < sizeof(wire); bytes++)
		assert_fault(rnbd_decode_slots(entry_of(RNBD_CTL_SLOTS, &wire, bytes), &out),
			     RNBD_PERR_SHORT);
	assert_fault(rnbd_decode_slots(entry_of(RNBD_CTL_SLOTS, &wire, sizeof(wire)), &out),
		     RNBD_PERR_NONE);
	assert_int_equal(out.slots, info.slots);
	assert_int_equal(out.depth, info.depth);
	/* A longer body, from a later version, is valid if the additional bytes are zero. */
	memset(longer, 0, sizeof(longer));
	longer[0] = wire;
	assert_fault(rnbd_decode_slots(entry_of(RNBD_CTL_SLOTS, longer, sizeof(longer)), &out),
		     RNBD_PERR_NONE);
	((u8 *)longer)[sizeof(wire)] = 1;
	assert_fault(rnbd_decode_slots(entry_of(RNBD_CTL_SLOTS, longer, sizeof(longer)), &out),
		     RNBD_PERR_RESERVED);
}

int codec_slots_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
