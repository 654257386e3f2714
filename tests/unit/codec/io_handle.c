// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the first step of decoding a request. rnbd_begin_request() returns the handle of the
 * request in a cursor, from which the second step, rnbd_decode_request(), continues.
 */
#include "fixture.h"

static const struct rnbd_limits limits = {
	.pool_units = 8, .segment_units = 8, .depth = 8,
};

static const struct rnbd_export_limits export_limits = {
	.capacity = 1ull << 40, .block_mask = 511, .max_io = 8192,
};

/* Make a frame of @nr requests, whose tags and handles all differ. */
static void message_requests(struct message *msg, u32 nr)
{
	u32 i;

	message_init(msg, RNBD_FRAME_REQUEST, nr, 32 * nr);
	memset(msg->buf + 16, 0xee, 32 * nr);
	for (i = 0; i < nr; i++) {
		const struct rnbd_request req = {
			.op = RNBD_OP_FLUSH, .tag = i,
			.handle = { .index = 4095 - i, .generation = ~i },
		};

		rnbd_encode_request((void *)(msg->buf + 16 + 32 * i), &req);
	}
	assert_fault(message_decode(msg), RNBD_PERR_NONE);
}

/* The first step checks only the handle of an entry, and no other field of the entry. */
static void test_handle(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_req_entry, index, 0, NONE),
		PATCH(rnbd_req_entry, index, 4095, NONE),
		PATCH(rnbd_req_entry, index, 4096, HANDLE),
		PATCH(rnbd_req_entry, index, 0xffff, HANDLE),
		PATCH(rnbd_req_entry, generation, 0, HANDLE),
		PATCH(rnbd_req_entry, generation, 1, NONE),
		PATCH(rnbd_req_entry, generation, 0xffffffff, NONE),
		PATCH(rnbd_req_entry, op, 0xff, NONE),
		PATCH(rnbd_req_entry, flags, 0xff, NONE),
		PATCH(rnbd_req_entry, tag, 0xffff, NONE),
		PATCH(rnbd_req_entry, nr_extents, 0xff, NONE),
		PATCH(rnbd_req_entry, reserved, 0xff, NONE),
	};
	struct rnbd_req_cursor cursor;
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		message_requests(&msg, 1);
		unit_put(msg.buf + 16 + patches[i].offset, patches[i].bytes,
			 patches[i].value);
		assert_fault(rnbd_begin_request(&msg.frame, 0, &cursor), patches[i].want);
	}
}

static void test_handle_of_each(void **state)
{
	struct rnbd_req_cursor cursor[5];
	struct rnbd_request out;
	struct message msg;
	u16 pos;
	u32 i;

	(void)state;
	message_requests(&msg, 5);
	for (i = 0; i < 5; i++) {
		assert_fault(rnbd_begin_request(&msg.frame, i, &cursor[i]), RNBD_PERR_NONE);
		assert_int_equal(cursor[i].pos, i);
		assert_int_equal(cursor[i].handle.index, 4095 - i);
		assert_int_equal(cursor[i].handle.generation, ~i);
	}
	/*
	 * The second step decodes the copy of the entry in the cursor, and not the frame, which
	 * was overwritten. It also returns the position of the next entry.
	 */
	memset(msg.buf + 16, 0xee, 5 * 32);
	for (i = 0; i < 5; i++) {
		pos = 0xffff;
		assert_fault(rnbd_decode_request(&msg.frame, &pos, &cursor[i], &limits,
						 &export_limits, &out), RNBD_PERR_NONE);
		assert_int_equal(pos, i + 1);
		assert_int_equal(out.tag, i);
		assert_true(rnbd_handle_equal(&out.handle, &cursor[i].handle));
	}
}

/*
 * Both steps reject missing and incomplete entries. The first step also rejects other types of
 * frames.
 */
static void test_handle_entries(void **state)
{
	const struct rnbd_request req = {
		.op = RNBD_OP_READ, .length = 8192, .handle = { .generation = 1 },
		.nr_extents = 2, .extents = { { 1, 1 }, { 3, 1 } },
	};
	struct rnbd_req_cursor cursor;
	struct rnbd_request out;
	struct message msg;
	u16 pos = 7;

	(void)state;
	message_requests(&msg, 2);
	assert_fault(rnbd_begin_request(&msg.frame, 2, &cursor), RNBD_PERR_COUNT);
	assert_fault(rnbd_begin_request(&msg.frame, 0xffff, &cursor), RNBD_PERR_COUNT);
	msg.frame.bytes = 63;
	assert_fault(rnbd_begin_request(&msg.frame, 0, &cursor), RNBD_PERR_NONE);
	assert_fault(rnbd_begin_request(&msg.frame, 1, &cursor), RNBD_PERR_SHORT);
	msg.frame.type = RNBD_FRAME_REPLY;
	assert_fault(rnbd_begin_request(&msg.frame, 0, &cursor), RNBD_PERR_TYPE);

	message_init(&msg, RNBD_FRAME_REQUEST, 2, 64);
	rnbd_encode_request((void *)(msg.buf + 16), &req);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(rnbd_begin_request(&msg.frame, 0, &cursor), RNBD_PERR_NONE);
	msg.frame.bytes = 63;
	assert_fault(rnbd_decode_request(&msg.frame, &pos, &cursor, &limits, &export_limits,
					 &out), RNBD_PERR_SHORT);
	msg.frame.nr_entries = 1;
	assert_fault(rnbd_decode_request(&msg.frame, &pos, &cursor, &limits, &export_limits,
					 &out), RNBD_PERR_COUNT);
	assert_int_equal(pos, 7);
}

static void test_handle_equal(void **state)
{
	const struct rnbd_handle handle = { .index = 1, .generation = 2 };
	struct rnbd_handle other = handle;

	(void)state;
	assert_true(rnbd_handle_equal(&handle, &other));
	other.index = 2;
	assert_false(rnbd_handle_equal(&handle, &other));
	other = (struct rnbd_handle) { .index = 1, .generation = 0x10002 };
	assert_false(rnbd_handle_equal(&handle, &other));
}

int codec_io_handle_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handle),
		cmocka_unit_test(test_handle_of_each),
		cmocka_unit_test(test_handle_entries),
		cmocka_unit_test(test_handle_equal),
	};

	return cmocka_run_group_tests_name("io_handle", tests, NULL, NULL);
}
