// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of frames: number and size of the entries of each type, length, header,
 * and inline data behind the entries.
 */
#include "fixture.h"

static const struct {
	u8 type;
	u16 nr_entries;
	u32 bytes;
} shapes[] = {
	{ RNBD_FRAME_REQUEST, 1, 32 },
	{ RNBD_FRAME_REQUEST, 100, 3200 },
	{ RNBD_FRAME_REPLY, 1, 16 },
	{ RNBD_FRAME_REPLY, 300, 4800 },
	{ RNBD_FRAME_CREDIT, 0, 0 },
};

static void test_frame_round_trip(void **state)
{
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		message_init(&msg, shapes[i].type, shapes[i].nr_entries,
			     shapes[i].bytes);
		assert_fault(message_decode(&msg), RNBD_PERR_NONE);
		assert_int_equal(msg.frame.type, shapes[i].type);
		assert_int_equal(msg.frame.nr_entries, shapes[i].nr_entries);
		assert_int_equal(msg.frame.bytes, shapes[i].bytes);
		assert_int_equal(msg.frame.credits,
				 shapes[i].type == RNBD_FRAME_CREDIT ? SLOTS : 0);
	}
}

static void test_frame_size(void **state)
{
	struct message msg;
	u32 i, len;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		message_init(&msg, shapes[i].type, shapes[i].nr_entries,
			     shapes[i].bytes);
		len = msg.len;
		for (msg.len = 0; msg.len < len; msg.len++)
			assert_fault(message_decode(&msg), RNBD_PERR_SHORT);
		for (msg.len = len + 1; msg.len < len + 40; msg.len++)
			assert_fault(message_decode(&msg), RNBD_PERR_LONG);

		/* nr_entries does not match the bytes of the frame. */
		if (shapes[i].type == RNBD_FRAME_CREDIT)
			continue;
		msg.len = len;
		unit_put(msg.buf + 2, 2, 0);
		assert_fault(message_decode(&msg), RNBD_PERR_COUNT);
		unit_put(msg.buf + 2, 2, shapes[i].nr_entries + 1);
		assert_fault(message_decode(&msg), RNBD_PERR_SHORT);
		unit_put(msg.buf + 2, 2, 0xffff);
		assert_fault(message_decode(&msg), RNBD_PERR_SHORT);
		if (shapes[i].nr_entries == 1)
			continue;
		unit_put(msg.buf + 2, 2, shapes[i].nr_entries - 1);
		assert_fault(message_decode(&msg), RNBD_PERR_LONG);
	}
}

static void test_frame_faults(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_frame_hdr, flags, 2, RESERVED),
		PATCH(rnbd_frame_hdr, flags, 0x80, RESERVED),
		PATCH(rnbd_frame_hdr, reserved, 1, RESERVED),
		PATCH(rnbd_frame_hdr, reserved, 0x8000, RESERVED),
		PATCH(rnbd_frame_hdr, type, 0, TYPE),
		PATCH(rnbd_frame_hdr, type, 2, TYPE),
		PATCH(rnbd_frame_hdr, type, 6, TYPE),
		PATCH(rnbd_frame_hdr, type, 0xff, TYPE),
		PATCH(rnbd_frame_hdr, seq, SEQ - 1, SEQ),
		PATCH(rnbd_frame_hdr, seq, SEQ + 1, SEQ),
		PATCH(rnbd_frame_hdr, seq, 1, SEQ),
		PATCH(rnbd_frame_hdr, attempt, EPOCH - 1, EPOCH),
		PATCH(rnbd_frame_hdr, attempt, EPOCH + 1, EPOCH),
		PATCH(rnbd_frame_hdr, attempt, 0, EPOCH),
		PATCH(rnbd_frame_hdr, credits, SLOTS, NONE),
		PATCH(rnbd_frame_hdr, credits, SLOTS + 1, CREDITS),
		PATCH(rnbd_frame_hdr, credits, 0xffff, CREDITS),
	};
	struct message msg;
	u32 i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (j = 0; j < ARRAY_SIZE(patches); j++) {
			message_init(&msg, shapes[i].type, shapes[i].nr_entries,
				     shapes[i].bytes);
			unit_put(msg.buf + patches[j].offset, patches[j].bytes,
				 patches[j].value);
			assert_fault(message_decode(&msg), patches[j].want);
		}
	}

	/* A CREDIT frame has no entry. */
	message_init(&msg, RNBD_FRAME_CREDIT, 1, 0);
	assert_fault(message_decode(&msg), RNBD_PERR_COUNT);
	message_init(&msg, RNBD_FRAME_CREDIT, 1, 32);
	assert_fault(message_decode(&msg), RNBD_PERR_COUNT);
	message_init(&msg, RNBD_FRAME_CREDIT, 0, 0);
	unit_put(msg.buf + 4, 2, 0);
	/* A CREDIT frame that returns no credit is a keep-alive. */
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	unit_put(msg.buf + 4, 2, 1);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
}

/* Only REQUEST and REPLY frames may have the flag DATA, with at least one byte of data. */
static void test_frame_data(void **state)
{
	struct message msg;
	u32 i, more;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		bool may = shapes[i].type == RNBD_FRAME_REQUEST ||
			   shapes[i].type == RNBD_FRAME_REPLY;

		for (more = 0; more < 20; more++) {
			message_init(&msg, shapes[i].type, shapes[i].nr_entries,
				     shapes[i].bytes + more);
			unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA);
			assert_fault(message_decode(&msg),
				     !may ? RNBD_PERR_FLAGS :
				     more ? RNBD_PERR_NONE : RNBD_PERR_SHORT);
			if (!may || !more)
				continue;
			assert_int_equal(msg.frame.data_bytes, more);
			/* No entry refers to the data. */
			assert_fault(rnbd_decode_end(&msg.frame), RNBD_PERR_LONG);
			unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA | 2);
			assert_fault(message_decode(&msg), RNBD_PERR_RESERVED);
		}
	}
	message_init(&msg, RNBD_FRAME_REQUEST, 1, 32);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(rnbd_decode_end(&msg.frame), RNBD_PERR_NONE);
}

int codec_frame_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_round_trip),
		cmocka_unit_test(test_frame_size),
		cmocka_unit_test(test_frame_faults),
		cmocka_unit_test(test_frame_data),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
