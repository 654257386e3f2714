// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of CONTROL frames: round trips, bounds of the lengths, entries of unknown
 * types, and bodies that are longer or shorter than in this version.
 */
#include "fixture.h"

static const u8 body[40] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	17, 18, 19, 20, 21, 22, 23, 24,
};

/* Entries of unknown types, with bodies of no bytes, of 24 bytes and of 8 zeros. */
static const struct rnbd_ctl_entry entries[] = {
	{ .type = 0x101, .mandatory = true, .id = 0x80000001 },
	{ .type = 0x7fff, .id = 7, .body = body, .bytes = 24 },
	{ .type = 0x103, .mandatory = true, .body = body + 32, .bytes = 8 },
};

#define AT_SECOND	(16 + 8)
#define AT_THIRD	(AT_SECOND + 8 + 24)
#define BYTES		(AT_THIRD - 16 + 8 + 8)

static void message_ctl(struct message *msg)
{
	u8 *at = msg->buf + 16;
	u32 i;

	message_init(msg, RNBD_FRAME_CONTROL, ARRAY_SIZE(entries), BYTES);
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		rnbd_encode_ctl(at, &entries[i]);
		at += 8 + entries[i].bytes;
	}
	assert_ptr_equal(at, msg->buf + 16 + BYTES);
	assert_fault(message_decode(msg), RNBD_PERR_NONE);
	assert_int_equal(msg->frame.bytes, BYTES);
}

/* Decode all entries up to the first error. The call that fails must not change its output. */
static enum rnbd_proto_err decode_all(const struct message *msg)
{
	struct rnbd_ctl_entry entry, untouched;
	struct rnbd_ctl_pos pos = { };
	enum rnbd_proto_err fault;
	u16 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < msg->frame.nr_entries; i++) {
		struct rnbd_ctl_pos before = pos;

		entry = untouched;
		fault = rnbd_decode_ctl(&msg->frame, &pos, &entry);
		if (fault) {
			assert_memory_equal(&entry, &untouched, sizeof(entry));
			assert_int_equal(pos.index, before.index);
			assert_int_equal(pos.offset, before.offset);
			return fault;
		}
	}
	assert_int_equal(pos.offset, msg->frame.bytes);
	assert_fault(rnbd_decode_ctl(&msg->frame, &pos, &entry), RNBD_PERR_COUNT);
	return RNBD_PERR_NONE;
}

static void test_ctl_round_trip(void **state)
{
	struct rnbd_ctl_pos pos = { };
	struct rnbd_ctl_entry entry;
	struct message msg;
	u32 i;

	(void)state;
	message_ctl(&msg);
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_NONE);
		assert_int_equal(entry.type, entries[i].type);
		assert_int_equal(entry.mandatory, entries[i].mandatory);
		assert_int_equal(entry.id, entries[i].id);
		assert_int_equal(entry.bytes, entries[i].bytes);
		if (entry.bytes)
			assert_memory_equal(entry.body, entries[i].body, entry.bytes);
	}
	assert_fault(decode_all(&msg), RNBD_PERR_NONE);
}

/* The encoded head has the bytes that Documentation/reference/protocol-control.rst specifies. */
static void test_ctl_bytes(void **state)
{
	static const u8 head[] = { 0x02, 0x81, 16, 0, 0x0d, 0x0c, 0x0b, 0x0a };
	const struct rnbd_ctl_entry entry = {
		.type = 0x102, .mandatory = true, .id = 0x0a0b0c0d, .body = body, .bytes = 8,
	};
	u8 buf[16];

	(void)state;
	rnbd_encode_ctl(buf, &entry);
	assert_memory_equal(buf, head, sizeof(head));
	assert_memory_equal(buf + 8, body, 8);
}

static void test_ctl_lengths(void **state)
{
	static const struct {
		u32 at, length;
		enum rnbd_proto_err want;
	} try[] = {
		{ 16, 0, RNBD_PERR_LENGTH },
		{ 16, 7, RNBD_PERR_LENGTH },
		{ 16, 9, RNBD_PERR_LENGTH },
		{ 16, 12, RNBD_PERR_LENGTH },
		{ 16, 0xffff, RNBD_PERR_LENGTH },
		{ 16, 0xfff8, RNBD_PERR_SHORT },
		/*
		 * The first entry takes all bytes of the frame; none are left for the other
		 * entries.
		 */
		{ 16, BYTES, RNBD_PERR_SHORT },
		{ AT_SECOND, 40, RNBD_PERR_LONG },
		{ AT_THIRD, 8, RNBD_PERR_LONG },
		{ AT_THIRD, 24, RNBD_PERR_SHORT },
		{ AT_THIRD, 16, RNBD_PERR_NONE },
	};
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(try); i++) {
		message_ctl(&msg);
		/*
		 * In these cases the third entry is a head without a body, and 8 bytes of the
		 * frame follow it.
		 */
		if (try[i].at == AT_SECOND) {
			message_init(&msg, RNBD_FRAME_CONTROL, 3, BYTES + 8);
			rnbd_encode_ctl(msg.buf + 16, &entries[0]);
			rnbd_encode_ctl(msg.buf + AT_SECOND, &entries[1]);
			rnbd_encode_ctl(msg.buf + AT_SECOND + 40, &entries[0]);
			assert_fault(message_decode(&msg), RNBD_PERR_NONE);
		}
		unit_put(msg.buf + try[i].at + 2, 2, try[i].length);
		assert_fault(decode_all(&msg), try[i].want);
	}
}

static void test_ctl_frame(void **state)
{
	struct rnbd_ctl_pos pos = { };
	struct rnbd_ctl_entry entry;
	struct message msg;

	(void)state;
	/* Type 0 is invalid, with and without the mandatory bit. */
	message_ctl(&msg);
	unit_put(msg.buf + 16, 2, 0);
	assert_fault(decode_all(&msg), RNBD_PERR_TYPE);
	unit_put(msg.buf + 16, 2, 0x8000);
	assert_fault(decode_all(&msg), RNBD_PERR_TYPE);

	/* nr_entries is lower or higher than the number of entries in the frame. */
	message_ctl(&msg);
	unit_put(msg.buf + 2, 2, 2);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(decode_all(&msg), RNBD_PERR_LONG);
	unit_put(msg.buf + 2, 2, 4);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(decode_all(&msg), RNBD_PERR_SHORT);
	unit_put(msg.buf + 2, 2, 0);
	assert_fault(message_decode(&msg), RNBD_PERR_COUNT);
	unit_put(msg.buf + 2, 2, 0xffff);
	assert_fault(message_decode(&msg), RNBD_PERR_SHORT);

	/* A CONTROL frame carries no inline data. */
	message_ctl(&msg);
	unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA);
	assert_fault(message_decode(&msg), RNBD_PERR_FLAGS);

	/*
	 * A frame of another type, and a CONTROL frame with only 7 bytes of entries.
	 * rnbd_decode_frame() never returns the second one, so the test builds it.
	 */
	message_init(&msg, RNBD_FRAME_REPLY, 2, 32);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_TYPE);
	msg.frame = (struct rnbd_frame) {
		.type = RNBD_FRAME_CONTROL, .nr_entries = 9,
		.entries = msg.buf + 16, .bytes = 7,
	};
	assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_SHORT);
}

/*
 * A body that is too short is rejected. A longer body is accepted only if the additional bytes
 * are zero.
 */
static void test_ctl_body(void **state)
{
	struct rnbd_ctl_pos pos = { };
	struct rnbd_ctl_entry entry;
	struct message msg;
	u8 copy[32];

	(void)state;
	message_ctl(&msg);
	assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_NONE);
	assert_fault(rnbd_ctl_body(&entry, copy, 0), RNBD_PERR_NONE);
	assert_fault(rnbd_ctl_body(&entry, copy, 1), RNBD_PERR_SHORT);
	assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_NONE);
	assert_fault(rnbd_ctl_body(&entry, copy, 25), RNBD_PERR_SHORT);
	assert_fault(rnbd_ctl_body(&entry, copy, 24), RNBD_PERR_NONE);
	assert_memory_equal(copy, body, 24);
	assert_fault(rnbd_ctl_body(&entry, copy, 16), RNBD_PERR_RESERVED);
	assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_NONE);
	assert_fault(rnbd_ctl_body(&entry, copy, 4), RNBD_PERR_NONE);
}

static void test_ctl_unknown(void **state)
{
	(void)state;
	assert_fault(rnbd_ctl_unknown(&entries[0]), RNBD_PERR_TYPE);
	assert_fault(rnbd_ctl_unknown(&entries[1]), RNBD_PERR_NONE);
}

int codec_ctl_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ctl_round_trip),
		cmocka_unit_test(test_ctl_bytes),
		cmocka_unit_test(test_ctl_lengths),
		cmocka_unit_test(test_ctl_frame),
		cmocka_unit_test(test_ctl_body),
		cmocka_unit_test(test_ctl_unknown),
	};

	return cmocka_run_group_tests_name("ctl", tests, NULL, NULL);
}
