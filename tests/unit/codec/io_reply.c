// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of replies to requests, with and without inline data, and of queries about
 * requests.
 */
#include "fixture.h"

static void test_reply(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_reply_entry, tag, 31, NONE),
		PATCH(rnbd_reply_entry, tag, 32, TAG),
		PATCH(rnbd_reply_entry, tag, 0xffff, TAG),
		PATCH(rnbd_reply_entry, status, 1, LENGTH),
		PATCH(rnbd_reply_entry, status, 9, LENGTH),
		PATCH(rnbd_reply_entry, status, 12, LENGTH),
		PATCH(rnbd_reply_entry, status, 13, STATUS),
		PATCH(rnbd_reply_entry, status, 32, STATUS),
		PATCH(rnbd_reply_entry, status, 0xffff, STATUS),
		PATCH(rnbd_reply_entry, length, 0, NONE),
		PATCH(rnbd_reply_entry, length, 0xffffffff, NONE),
		/* The frame has no inline data. */
		PATCH(rnbd_reply_entry, flags, RNBD_REPLY_INLINE, SHORT),
		PATCH(rnbd_reply_entry, flags, 2, FLAGS),
		PATCH(rnbd_reply_entry, flags, 0x80, FLAGS),
		{ 9, 1, 1, RNBD_PERR_RESERVED },
		{ 15, 1, 0x80, RNBD_PERR_RESERVED },
	};
	struct rnbd_reply reply, out, untouched;
	struct message msg;
	u32 i, j;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	message_init(&msg, RNBD_FRAME_REPLY, 10, 160);
	memset(msg.buf + 16, 0xee, 160);
	for (i = 0; i < 10; i++) {
		reply = (struct rnbd_reply) {
			.tag = i + 20, .status = i, .length = i ? 0 : 4096,
		};
		rnbd_encode_reply((void *)(msg.buf + 16 + i * 16), &reply);
	}
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	for (i = 0; i < 10; i++) {
		assert_fault(rnbd_decode_reply(&msg.frame, i, 32, &out),
			     RNBD_PERR_NONE);
		assert_int_equal(out.tag, i + 20);
		assert_int_equal(out.status, i);
		assert_int_equal(out.length, i ? 0 : 4096);
	}
	assert_fault(rnbd_decode_reply(&msg.frame, 10, 32, &out),
		     RNBD_PERR_COUNT);
	assert_fault(rnbd_decode_reply(&msg.frame, 0xffff, 32, &out),
		     RNBD_PERR_COUNT);

	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		enum rnbd_proto_err fault;
		u8 saved[16];

		j = i % 2 ? 0 : 9;
		reply = (struct rnbd_reply) { .tag = 7, .length = 512 };
		memcpy(saved, msg.buf + 16 + j * 16, 16);
		rnbd_encode_reply((void *)(msg.buf + 16 + j * 16), &reply);
		unit_put(msg.buf + 16 + j * 16 + patches[i].offset,
			 patches[i].bytes, patches[i].value);
		out = untouched;
		fault = rnbd_decode_reply(&msg.frame, j, 32, &out);
		assert_fault(fault, patches[i].want);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
		memcpy(msg.buf + 16 + j * 16, saved, 16);
	}

	message_init(&msg, RNBD_FRAME_REQUEST, 1, 32);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out),
		     RNBD_PERR_TYPE);
}

static void test_reply_inline(void **state)
{
	static const struct rnbd_reply replies[] = {
		{ .tag = 1, .length = 512, .is_inline = true },
		{ .tag = 2, .length = 4096 },
		{ .tag = 3, .status = RNBD_ST_IO },
		{ .tag = 4, .length = 1024, .is_inline = true },
	};
	struct rnbd_reply out, none = { .tag = 5, .is_inline = true };
	struct message msg;
	u32 bytes, i;

	(void)state;
	for (bytes = 1; bytes < 2048; bytes++) {
		message_init(&msg, RNBD_FRAME_REPLY, 4, 64 + bytes);
		unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA);
		for (i = 0; i < 4; i++)
			rnbd_encode_reply((void *)(msg.buf + 16 + 16 * i), &replies[i]);
		assert_fault(message_decode(&msg), RNBD_PERR_NONE);
		for (i = 0; i < 4; i++) {
			bool enough = bytes >= (i < 3 ? 512 : 1536);

			assert_fault(rnbd_decode_reply(&msg.frame, i, 32, &out),
				     enough ? RNBD_PERR_NONE : RNBD_PERR_SHORT);
			if (!enough)
				break;
			assert_int_equal(out.tag, replies[i].tag);
			assert_int_equal(out.status, replies[i].status);
			assert_int_equal(out.length, replies[i].length);
			assert_int_equal(out.is_inline, replies[i].is_inline);
			assert_ptr_equal(out.data, !out.is_inline ? NULL :
				msg.buf + 16 + 64 + (i ? 512 : 0));
		}
		if (i == 4)
			assert_fault(rnbd_decode_end(&msg.frame),
				     bytes == 1536 ? RNBD_PERR_NONE : RNBD_PERR_LONG);
	}

	/*
	 * An inline reply must have at least one byte of data. So the reply to a failed
	 * request, which has no data, must not be inline.
	 */
	message_init(&msg, RNBD_FRAME_REPLY, 1, 16 + 512);
	unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA);
	rnbd_encode_reply((void *)(msg.buf + 16), &none);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out), RNBD_PERR_SHORT);
	none.status = RNBD_ST_IO;
	rnbd_encode_reply((void *)(msg.buf + 16), &none);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out), RNBD_PERR_SHORT);
	/*
	 * The decoder does not wrap the largest length around to a small one: the data are too
	 * short.
	 */
	none = replies[0];
	none.length = 0xffffffff;
	rnbd_encode_reply((void *)(msg.buf + 16), &none);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out), RNBD_PERR_SHORT);
}

static void test_query(void **state)
{
	static const struct patch questions[] = {
		PATCH(rnbd_ctl_query, tag, 31, NONE),
		PATCH(rnbd_ctl_query, tag, 32, TAG),
		PATCH(rnbd_ctl_query, tag, 0xffff, TAG),
		PATCH(rnbd_ctl_query, state, RNBD_QUERY_EXECUTING, STATUS),
		PATCH(rnbd_ctl_query, state, RNBD_QUERY_UNKNOWN, STATUS),
		PATCH(rnbd_ctl_query, state, 3, STATUS),
		PATCH(rnbd_ctl_query, state, 0xff, STATUS),
		{ 3, 1, 1, RNBD_PERR_RESERVED },
		{ 7, 1, 0x80, RNBD_PERR_RESERVED },
	};
	static const struct patch answers[] = {
		PATCH(rnbd_ctl_query, tag, 31, NONE),
		PATCH(rnbd_ctl_query, tag, 32, TAG),
		PATCH(rnbd_ctl_query, state, 0, STATUS),
		PATCH(rnbd_ctl_query, state, RNBD_QUERY_UNKNOWN, NONE),
		PATCH(rnbd_ctl_query, state, 3, STATUS),
		PATCH(rnbd_ctl_query, state, 0xff, STATUS),
		{ 3, 1, 0x80, RNBD_PERR_RESERVED },
		{ 7, 1, 1, RNBD_PERR_RESERVED },
	};
	struct rnbd_query_info query = { .tag = 7 }, out, untouched;
	u8 body[8];
	u32 i, way;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (way = 0; way < 2; way++) {
		const struct patch *patches = way ? answers : questions;
		u32 nr = way ? ARRAY_SIZE(answers) : ARRAY_SIZE(questions);
		u16 type = way ? RNBD_CTL_QUERY_REPLY : RNBD_CTL_QUERY;
		u16 other = way ? RNBD_CTL_QUERY : RNBD_CTL_QUERY_REPLY;

		query.state = way ? RNBD_QUERY_EXECUTING : 0;
		memset(body, 0xee, sizeof(body));
		rnbd_encode_query((void *)body, &query);
		assert_fault(rnbd_decode_query(entry_of(type, body, 8), 32, &out),
			     RNBD_PERR_NONE);
		assert_int_equal(out.tag, 7);
		assert_int_equal(out.state, query.state);
		/*
		 * The body of a query is invalid in an answer, and the body of an answer in a
		 * query.
		 */
		assert_fault(rnbd_decode_query(entry_of(other, body, 8), 32, &out),
			     RNBD_PERR_STATUS);
		assert_fault(rnbd_decode_query(entry_of(type, body, 7), 32, &out),
			     RNBD_PERR_SHORT);
		for (i = 0; i < nr; i++) {
			enum rnbd_proto_err fault;

			rnbd_encode_query((void *)body, &query);
			unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
			out = untouched;
			fault = rnbd_decode_query(entry_of(type, body, 8), 32, &out);
			assert_fault(fault, patches[i].want);
			if (fault)
				assert_memory_equal(&out, &untouched, sizeof(out));
		}
	}
}

int codec_io_reply_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_reply_inline),
		cmocka_unit_test(test_query),
	};

	return cmocka_run_group_tests_name("io_reply", tests, NULL, NULL);
}
