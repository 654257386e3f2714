// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the encoding of control entries in version 1 of the protocol.
 */
#include "attach.h"
#include "fixture.h"
#include "lease.h"
#include "slots.h"
#include "unit.h"

static void test_ctl_capacity(void **state)
{
	static const u8 golden[] = {
		0x02, 0x01, 0x00, 0x00, 0x06, 0x05, 0x04, 0x03,
		0x00, 0x70, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	};
	const struct rnbd_capacity_info info = {
		.handle = { .index = 0x0102, .generation = 0x03040506 },
		.capacity = 0x1122334455667000ull,
	};
	struct rnbd_ctl_capacity wire;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_capacity(&wire, &info);
	assert_memory_equal(&wire, golden, sizeof(golden));
}

static void test_ctl_handle(void **state)
{
	static const u8 golden[] = {
		0x02, 0x01, 0x32, 0x00, 0x06, 0x05, 0x04, 0x03,
		0x14, 0x13, 0x12, 0x11, 0x22, 0x21, 0x00, 0x00,
	};
	const struct rnbd_handle_info info = {
		.handle = { .index = 0x0102, .generation = 0x03040506 },
		.status = RNBD_ST_REMOVED, .retry_ms = 0x11121314, .flags = 0x2122,
	};
	struct rnbd_ctl_handle wire;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_handle(&wire, &info);
	assert_memory_equal(&wire, golden, sizeof(golden));
}

static void test_ctl_lease(void **state)
{
	static const u8 golden[] = {
		0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11,
		0x24, 0x23, 0x22, 0x21, 0x00, 0x00, 0x00, 0x00,
	};
	const struct rnbd_lease_info info = {
		.slot = 0x01020304, .generation = 0x11121314, .deadline_ms = 0x21222324,
	};
	struct rnbd_ctl_lease wire;
	struct rnbd_ctl_want want;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_lease(&wire, &info);
	assert_memory_equal(&wire, golden, sizeof(golden));
	memset(&want, 0xee, sizeof(want));
	rnbd_encode_want(&want, 0x01020304);
	assert_memory_equal(&want, "\x04\x03\x02\x01\0\0\0", 8);
}

/* Each member has a different value, so that a member in the wrong place is detected. */
static void test_ctl_attach(void **state)
{
	const struct rnbd_attach_info info = {
		.handle = { .index = 0x0102, .generation = 0x03040506 },
		.flags = 0x1112, .fence_generation = 0x21222324, .owner_generation = 0x25262728,
		.export = "disk0",
	};
	struct rnbd_attach_grant grant = {
		.handle = { .index = 0x0102, .generation = 0x03040506 },
		.status = RNBD_ST_OK, .fence_generation = 0x21222324,
		.geo.capacity = 0x3132333435363738ull,
		.geo.flags = 0x41, .geo.logical_block = 0x42, .geo.physical_block = 0x43,
		.geo.io_min = 0x44, .geo.io_opt = 0x45, .geo.discard_granularity = 0x46,
		.geo.discard_alignment = 0x47, .geo.max_discard = 0x48,
		.geo.max_write_zeroes = 0x49,
		.incarnation = { 1, 2, 3 }, .export_uuid = { 4, 5, 6 },
		.owner_generation = 0x25262728,
	};
	struct rnbd_ctl_attach_reply reply;
	struct rnbd_ctl_attach attach;
	u8 golden[104] = { 0 };
	u32 i;

	(void)state;
	memset(&attach, 0xee, sizeof(attach));
	memset(&reply, 0xee, sizeof(reply));

	unit_put(golden, 2, 0x0102);
	unit_put(golden + 2, 2, 0x1112);
	unit_put(golden + 4, 4, 0x03040506);
	unit_put(golden + 8, 4, 0x21222324);
	unit_put(golden + 12, 4, 0x25262728);
	memcpy(golden + 16, "disk0", 5);
	rnbd_encode_attach(&attach, &info);
	assert_memory_equal(&attach, golden, 80);

	memset(golden, 0, sizeof(golden));
	unit_put(golden, 2, 0x0102);
	unit_put(golden + 4, 4, 0x03040506);
	unit_put(golden + 12, 4, 0x21222324);
	unit_put(golden + 16, 8, 0x3132333435363738ull);
	for (i = 0; i < 9; i++)
		unit_put(golden + 24 + 4 * i, 4, 0x41 + i);
	memcpy(golden + 64, "\x01\x02\x03", 3);
	memcpy(golden + 80, "\x04\x05\x06", 3);
	unit_put(golden + 96, 4, 0x25262728);
	rnbd_encode_attach_reply(&reply, &grant);
	assert_memory_equal(&reply, golden, 104);

	/* A refusal has only handle, status and retry_ms. */
	memset(golden + 12, 0, sizeof(golden) - 12);
	unit_put(golden + 2, 2, 36);
	unit_put(golden + 8, 4, 0x51525354);
	grant.status = RNBD_ST_BUSY;
	grant.retry_ms = 0x51525354;
	rnbd_encode_attach_reply(&reply, &grant);
	assert_memory_equal(&reply, golden, 104);
}

static void test_ctl_slots(void **state)
{
	static const u8 golden[] = { 0x02, 0x01, 0x04, 0x03, 0x00, 0x00, 0x00, 0x00 };
	const struct rnbd_slots_info info = { .slots = 0x0102, .depth = 0x0304 };
	struct rnbd_ctl_slots wire;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_slots(&wire, &info);
	assert_memory_equal(&wire, golden, sizeof(golden));
}

int wire_ctl_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ctl_attach),
		cmocka_unit_test(test_ctl_handle),
		cmocka_unit_test(test_ctl_lease),
		cmocka_unit_test(test_ctl_capacity),
		cmocka_unit_test(test_ctl_slots),
	};

	return cmocka_run_group_tests_name("ctl", tests, NULL, NULL);
}
