// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of exports.
 */
#include "fixture.h"

#define NR_EXPORTS	9u

static const struct rnbd_export_info export0 = {
	.name = "disk0", .uuid = { 1, 2, 3 }, .capacity = 10ull << 30,
	.logical_block = 512, .flags = RNBD_EXPORT_READONLY,
};

static void message_exports(struct message *msg, u16 status, bool more, u16 nr)
{
	struct rnbd_export_entry *entry = (void *)(msg->buf + 32);
	struct rnbd_export_info info = export0;
	u32 i;

	message_init(msg, RNBD_FRAME_DISCOVER_REPLY, 1 + nr, 16 + 112 * nr);
	memset(msg->buf + 16, 0xee, msg->len - 16);
	rnbd_encode_discover_reply((void *)(msg->buf + 16), status, more);
	for (i = 0; i < nr; i++) {
		info.name[4] = 'a' + i;
		rnbd_encode_export(&entry[i], &info);
	}
	assert_fault(message_decode(msg), RNBD_PERR_NONE);
}

static enum rnbd_proto_err decode_discover(const struct message *msg, u32 room,
					   struct rnbd_discover_info *info)
{
	struct rnbd_discover_info untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	*info = untouched;
	fault = rnbd_decode_discover_reply(&msg->frame, room, info);
	if (fault)
		assert_memory_equal(info, &untouched, sizeof(untouched));
	return fault;
}

static void test_discover_round_trip(void **state)
{
	struct rnbd_discover_info info;
	struct rnbd_export_info out;
	struct message msg;
	u32 i, nr;

	(void)state;
	for (nr = 0; nr <= NR_EXPORTS; nr++) {
		message_exports(&msg, RNBD_ST_OK, nr, nr);
		assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_PERR_NONE);
		assert_int_equal(info.status, RNBD_ST_OK);
		assert_int_equal(info.more, nr > 0);
		assert_int_equal(info.nr_exports, nr);
		for (i = 0; i < nr; i++) {
			assert_fault(rnbd_decode_export(&msg.frame, i, &out),
				     RNBD_PERR_NONE);
			assert_int_equal(out.name[4], 'a' + i);
			out.name[4] = '0';
			assert_memory_equal(&out, &export0, sizeof(out));
		}
		assert_fault(rnbd_decode_export(&msg.frame, nr, &out), RNBD_PERR_COUNT);
		assert_fault(rnbd_decode_export(&msg.frame, 65535, &out),
			     RNBD_PERR_COUNT);
		assert_fault(rnbd_decode_export(&msg.frame, ~0u, &out), RNBD_PERR_COUNT);
	}

	message_exports(&msg, RNBD_ST_SHUTDOWN, false, 0);
	assert_fault(decode_discover(&msg, 0, &info), RNBD_PERR_NONE);
	assert_int_equal(info.status, RNBD_ST_SHUTDOWN);
	assert_true(!info.more && !info.nr_exports);

	/* a name that fills the field is cut by the encoder */
	out = export0;
	memset(out.name, 'n', sizeof(out.name));
	message_exports(&msg, RNBD_ST_OK, false, 1);
	rnbd_encode_export((void *)(msg.buf + 32), &out);
	assert_fault(rnbd_decode_export(&msg.frame, 0, &out), RNBD_PERR_NONE);
	assert_int_equal(strlen(out.name), 63);
}

static void test_discover_faults(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_discover_reply, status, 13, STATUS),
		PATCH(rnbd_discover_reply, status, 51, STATUS),
		PATCH(rnbd_discover_reply, status, 0xffff, STATUS),
		/* a refusal without a list */
		PATCH(rnbd_discover_reply, status, RNBD_ST_NOMEM, COUNT),
		PATCH(rnbd_discover_reply, flags, 0, NONE),
		PATCH(rnbd_discover_reply, flags, RNBD_DISCOVER_MORE, NONE),
		PATCH(rnbd_discover_reply, flags, 2, FLAGS),
		PATCH(rnbd_discover_reply, flags, 0x8001, FLAGS),
		{ 4, 1, 1, RNBD_PERR_RESERVED },
		{ 15, 1, 0x80, RNBD_PERR_RESERVED },
	};
	struct rnbd_discover_info info;
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		message_exports(&msg, RNBD_ST_OK, false, NR_EXPORTS);
		unit_put(msg.buf + 16 + patches[i].offset, patches[i].bytes,
			 patches[i].value);
		assert_fault(decode_discover(&msg, NR_EXPORTS, &info), patches[i].want);
	}

	/* more than the list may have; and none although there are more */
	message_exports(&msg, RNBD_ST_OK, false, NR_EXPORTS);
	assert_fault(decode_discover(&msg, NR_EXPORTS - 1, &info), RNBD_PERR_COUNT);
	assert_fault(decode_discover(&msg, 0, &info), RNBD_PERR_COUNT);
	message_exports(&msg, RNBD_ST_OK, true, 0);
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_PERR_COUNT);
	message_exports(&msg, RNBD_ST_BUSY, false, 0);
	unit_put(msg.buf + 18, 2, RNBD_DISCOVER_MORE);
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_PERR_FLAGS);

	message_exports(&msg, RNBD_ST_OK, false, 1);
	msg.frame.nr_entries = 0;
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_PERR_COUNT);
	msg.frame.nr_entries = 2;
	msg.frame.bytes = 15;
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_PERR_SHORT);
	msg.frame.type = RNBD_FRAME_LOGIN_REPLY;
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_PERR_TYPE);
}

static void test_export_faults(void **state)
{
	static const struct patch patches[] = {
		{ 0, 1, 0, RNBD_PERR_NAME },
		{ 0, 1, '.', RNBD_PERR_NAME },
		{ 2, 1, '/', RNBD_PERR_NAME },
		{ 6, 1, 'x', RNBD_PERR_NAME },
		{ 63, 1, 'x', RNBD_PERR_NAME },
		PATCH(rnbd_export_entry, capacity, 0, LIMITS),
		PATCH(rnbd_export_entry, capacity, 511, LIMITS),
		PATCH(rnbd_export_entry, capacity, 512, NONE),
		PATCH(rnbd_export_entry, capacity, 513, LIMITS),
		PATCH(rnbd_export_entry, capacity, 0x7ffffffffffffe00ull, NONE),
		PATCH(rnbd_export_entry, capacity, 1ull << 63, LIMITS),
		PATCH(rnbd_export_entry, logical_block, 0, LIMITS),
		PATCH(rnbd_export_entry, logical_block, 256, LIMITS),
		PATCH(rnbd_export_entry, logical_block, 1536, LIMITS),
		PATCH(rnbd_export_entry, logical_block, 4096, NONE),
		PATCH(rnbd_export_entry, logical_block, 8192, LIMITS),
		PATCH(rnbd_export_entry, flags, 0, NONE),
		PATCH(rnbd_export_entry, flags, RNBD_EXPORT_FUA, FLAGS),
		PATCH(rnbd_export_entry, flags, 1u << 31, FLAGS),
		{ 96, 1, 1, RNBD_PERR_RESERVED },
		{ 111, 1, 0x80, RNBD_PERR_RESERVED },
	};
	struct rnbd_export_info out, untouched;
	struct message msg;
	u32 i, j;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		/* wherever in the frame it is */
		for (j = 0; j < NR_EXPORTS; j++) {
			message_exports(&msg, RNBD_ST_OK, false, NR_EXPORTS);
			unit_put(msg.buf + 32 + 112 * j + patches[i].offset,
				 patches[i].bytes, patches[i].value);
			out = untouched;
			assert_fault(rnbd_decode_export(&msg.frame, j, &out),
				     patches[i].want);
			if (patches[i].want)
				assert_memory_equal(&out, &untouched, sizeof(out));
		}
	}

	message_exports(&msg, RNBD_ST_OK, false, 2);
	msg.frame.bytes--;
	assert_fault(rnbd_decode_export(&msg.frame, 0, &out), RNBD_PERR_NONE);
	assert_fault(rnbd_decode_export(&msg.frame, 1, &out), RNBD_PERR_SHORT);
	msg.frame.type = RNBD_FRAME_REPLY;
	assert_fault(rnbd_decode_export(&msg.frame, 0, &out), RNBD_PERR_TYPE);
}

int codec_discover_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discover_round_trip),
		cmocka_unit_test(test_discover_faults),
		cmocka_unit_test(test_export_faults),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
