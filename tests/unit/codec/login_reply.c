// SPDX-License-Identifier: GPL-2.0-only
/*
 * Login replies: what the target grants, and the segments of its pool.
 */
#include "fixture.h"

static const struct rnbd_grant granted = {
	.status = RNBD_ST_OK, .nr_queues = 2, .queue_depth = 64, .features = 5,
	.max_io = 1u << 20,
	/* 19 segments, the last with 24 units */
	.pool_units = 600, .segment_units = 32, .nr_segments = 19,
	.keepalive_ms = 3000,
	.inline_read = 2048, .inline_write = 512,
};

static void message_grant(struct message *msg, const struct rnbd_grant *grant,
			  u32 nr_segments)
{
	struct rnbd_segment_info seg;
	u32 i;

	message_init(msg, RNBD_FRAME_LOGIN_REPLY, 1 + nr_segments,
		     64 + 16 * nr_segments);
	memset(msg->buf + 16, 0xee, 64 + 16 * nr_segments);
	rnbd_encode_grant((void *)(msg->buf + 16), grant);
	for (i = 0; i < nr_segments; i++) {
		seg.addr = 0xffff888000000000ull + i * 0x1000000ull;
		seg.rkey = 0x100 + i;
		seg.units = i == nr_segments - 1 ?
			grant->pool_units - i * grant->segment_units :
			grant->segment_units;
		rnbd_encode_segment((void *)(msg->buf + 16 + 64 + 16 * i), &seg);
	}
	assert_fault(message_decode(msg), RNBD_PERR_NONE);
}

static enum rnbd_proto_err decode_grant(const struct message *msg,
					struct rnbd_grant *grant)
{
	struct rnbd_grant untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	*grant = untouched;
	fault = rnbd_decode_grant(&msg->frame, &asked, grant);
	if (fault)
		assert_memory_equal(grant, &untouched, sizeof(untouched));
	return fault;
}

static void test_grant_round_trip(void **state)
{
	struct rnbd_segment_info seg;
	struct rnbd_grant out;
	struct message msg;
	u32 i;

	(void)state;
	message_grant(&msg, &granted, 19);
	assert_fault(decode_grant(&msg, &out), RNBD_PERR_NONE);
	assert_int_equal(out.status, RNBD_ST_OK);
	assert_int_equal(out.nr_queues, 2);
	assert_int_equal(out.queue_depth, 64);
	assert_true(out.features == 5);
	assert_int_equal(out.max_io, 1u << 20);
	assert_int_equal(out.pool_units, 600);
	assert_int_equal(out.segment_units, 32);
	assert_int_equal(out.nr_segments, 19);
	assert_int_equal(out.keepalive_ms, 3000);
	assert_int_equal(out.inline_read, 2048);
	assert_int_equal(out.inline_write, 512);
	for (i = 0; i < 19; i++) {
		assert_fault(rnbd_decode_segment(&msg.frame, i, &out, &seg),
			     RNBD_PERR_NONE);
		assert_true(seg.addr == 0xffff888000000000ull + i * 0x1000000ull);
		assert_int_equal(seg.rkey, 0x100 + i);
		assert_int_equal(seg.units, i == 18 ? 24 : 32);
	}
}

static void test_grant_patches(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_login_reply, status, 13, STATUS),
		PATCH(rnbd_login_reply, status, 31, STATUS),
		PATCH(rnbd_login_reply, status, 51, STATUS),
		PATCH(rnbd_login_reply, status, RNBD_ST_BUSY, RESERVED),
		PATCH(rnbd_login_reply, nr_queues, 0, GEOMETRY),
		PATCH(rnbd_login_reply, nr_queues, 1, NONE),
		PATCH(rnbd_login_reply, nr_queues, 3, LIMITS),
		PATCH(rnbd_login_reply, nr_queues, 5, GEOMETRY),
		PATCH(rnbd_login_reply, queue_depth, 0, GEOMETRY),
		PATCH(rnbd_login_reply, queue_depth, 128, NONE),
		PATCH(rnbd_login_reply, queue_depth, 129, GEOMETRY),
		PATCH(rnbd_login_reply, reserved0, 1, RESERVED),
		PATCH(rnbd_login_reply, keepalive_ms, 99, LIMITS),
		PATCH(rnbd_login_reply, keepalive_ms, 100, NONE),
		PATCH(rnbd_login_reply, keepalive_ms, 60000, NONE),
		PATCH(rnbd_login_reply, keepalive_ms, 60001, LIMITS),
		PATCH(rnbd_login_reply, inline_read, 0, NONE),
		PATCH(rnbd_login_reply, inline_read, 4096, NONE),
		PATCH(rnbd_login_reply, inline_read, 4097, LIMITS),
		PATCH(rnbd_login_reply, inline_write, 0, NONE),
		PATCH(rnbd_login_reply, inline_write, 513, LIMITS),
		PATCH(rnbd_login_reply, inline_write, 0xffffffff, LIMITS),
		{ 44, 1, 1, RNBD_PERR_RESERVED },
		{ 63, 1, 0x80, RNBD_PERR_RESERVED },
		PATCH(rnbd_login_reply, features, 1, NONE),
		/* limits without the feature */
		PATCH(rnbd_login_reply, features, 0, RESERVED),
		PATCH(rnbd_login_reply, features, 0xf, NONE),
		PATCH(rnbd_login_reply, features, 0x10, FLAGS),
		PATCH(rnbd_login_reply, features, 1ull << 63, FLAGS),
		PATCH(rnbd_login_reply, max_io, 0, LIMITS),
		PATCH(rnbd_login_reply, max_io, 3584, LIMITS),
		PATCH(rnbd_login_reply, max_io, 4096, NONE),
		PATCH(rnbd_login_reply, max_io, 4608, LIMITS),
		PATCH(rnbd_login_reply, max_io, 8192, NONE),
		PATCH(rnbd_login_reply, max_io, (1u << 20) + 4096, LIMITS),
		PATCH(rnbd_login_reply, max_io, 0xfffff000, LIMITS),
		PATCH(rnbd_login_reply, pool_units, 0, LIMITS),
		PATCH(rnbd_login_reply, pool_units, 576, LIMITS),
		PATCH(rnbd_login_reply, pool_units, 577, NONE),
		PATCH(rnbd_login_reply, pool_units, 608, NONE),
		PATCH(rnbd_login_reply, pool_units, 609, LIMITS),
		PATCH(rnbd_login_reply, pool_units, 0xffffffff, LIMITS),
		PATCH(rnbd_login_reply, segment_units, 0, LIMITS),
		PATCH(rnbd_login_reply, segment_units, 31, LIMITS),
		PATCH(rnbd_login_reply, segment_units, 33, LIMITS),
		PATCH(rnbd_login_reply, segment_units, 64, LIMITS),
		PATCH(rnbd_login_reply, segment_units, 1u << 31, LIMITS),
		PATCH(rnbd_login_reply, nr_segments, 0, LIMITS),
		PATCH(rnbd_login_reply, nr_segments, 18, LIMITS),
		PATCH(rnbd_login_reply, nr_segments, 20, LIMITS),
		PATCH(rnbd_login_reply, nr_segments, 0xffffffff, LIMITS),
	};
	struct rnbd_grant out;
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		message_grant(&msg, &granted, 19);
		unit_put(msg.buf + 16 + patches[i].offset, patches[i].bytes,
			 patches[i].value);
		if (decode_grant(&msg, &out) != patches[i].want)
			print_message("patch %u\n", i);
		assert_fault(decode_grant(&msg, &out), patches[i].want);
	}
}

static enum rnbd_proto_err try_grant(const struct rnbd_grant *grant, u32 nr_segments)
{
	struct rnbd_grant out;
	struct message msg;

	message_grant(&msg, grant, nr_segments);
	return decode_grant(&msg, &out);
}

static void test_grant_pool(void **state)
{
	struct rnbd_grant grant = granted;
	struct rnbd_grant out;
	struct message msg;

	(void)state;
	/* the frame holds other segments than the grant says */
	assert_fault(try_grant(&granted, 18), RNBD_PERR_COUNT);
	assert_fault(try_grant(&granted, 20), RNBD_PERR_COUNT);
	assert_fault(try_grant(&granted, 0), RNBD_PERR_COUNT);

	/* the share of a queue holds exactly one request, or one unit less */
	grant.pool_units = 512;
	grant.nr_segments = 16;
	assert_fault(try_grant(&grant, 16), RNBD_PERR_NONE);
	grant.pool_units = 511;
	assert_fault(try_grant(&grant, 16), RNBD_PERR_LIMITS);
	grant.max_io = 255 * 4096;
	assert_fault(try_grant(&grant, 16), RNBD_PERR_NONE);

	/* 256 units in segments of 16 take 17 extents, 257 take 18 */
	grant = granted;
	grant.pool_units = 512;
	grant.segment_units = 16;
	grant.nr_segments = 32;
	assert_fault(try_grant(&grant, 32), RNBD_PERR_NONE);
	grant.segment_units = 8;
	grant.nr_segments = 64;
	assert_fault(try_grant(&grant, 64), RNBD_PERR_LIMITS);
	grant.max_io = 129 * 4096;
	assert_fault(try_grant(&grant, 64), RNBD_PERR_NONE);
	grant.max_io = 130 * 4096;
	assert_fault(try_grant(&grant, 64), RNBD_PERR_LIMITS);

	/* one segment larger than the pool; the largest pool */
	grant = granted;
	grant.segment_units = 1u << 20;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant, 1), RNBD_PERR_NONE);
	grant.pool_units = 1u << 20;
	assert_fault(try_grant(&grant, 1), RNBD_PERR_NONE);
	grant.pool_units++;
	grant.nr_segments = 2;
	assert_fault(try_grant(&grant, 2), RNBD_PERR_LIMITS);
	grant.segment_units = 2u << 20;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant, 1), RNBD_PERR_LIMITS);

	/* fewer units than queues, nothing to divide by */
	grant = granted;
	grant.max_io = 4096;
	grant.pool_units = 1;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant, 1), RNBD_PERR_LIMITS);
	grant.nr_queues = 1;
	assert_fault(try_grant(&grant, 1), RNBD_PERR_NONE);

	message_init(&msg, RNBD_FRAME_LOGIN, 1, 64);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(decode_grant(&msg, &out), RNBD_PERR_TYPE);
	msg.frame.type = RNBD_FRAME_LOGIN_REPLY;
	msg.frame.bytes = 63;
	assert_fault(decode_grant(&msg, &out), RNBD_PERR_SHORT);
	msg.frame.nr_entries = 0;
	assert_fault(decode_grant(&msg, &out), RNBD_PERR_COUNT);
}

/* Any refusal is only a status. */
static void test_grant_refused(void **state)
{
	struct rnbd_grant grant = granted, out;
	struct rnbd_segment_info seg;
	struct message msg;
	u32 status, i;

	(void)state;
	for (status = 1; status <= 0x100; status++) {
		bool known = status <= 12 || (status >= 32 && status <= 50);

		grant.status = status;
		message_grant(&msg, &grant, 0);
		assert_fault(decode_grant(&msg, &out),
			     known ? RNBD_PERR_NONE : RNBD_PERR_STATUS);
		if (!known)
			continue;
		assert_int_equal(out.status, status);
		assert_int_equal(out.nr_queues, 0);
		assert_int_equal(out.pool_units, 0);
		assert_fault(rnbd_decode_segment(&msg.frame, 0, &out, &seg),
			     RNBD_PERR_COUNT);
		for (i = 2; i < 64; i++) {
			msg.buf[16 + i] = 1;
			assert_fault(decode_grant(&msg, &out),
				     RNBD_PERR_RESERVED);
			msg.buf[16 + i] = 0;
		}
		message_grant(&msg, &grant, 1);
		assert_fault(decode_grant(&msg, &out), RNBD_PERR_COUNT);
	}
}

static void test_segment(void **state)
{
	/* of segment 0 with 32 units */
	static const struct patch patches[] = {
		PATCH(rnbd_segment, units, 0, LIMITS),
		PATCH(rnbd_segment, units, 31, LIMITS),
		PATCH(rnbd_segment, units, 33, LIMITS),
		PATCH(rnbd_segment, units, 0xffffffff, LIMITS),
		PATCH(rnbd_segment, addr, 0, NONE),
		PATCH(rnbd_segment, addr, 1, NONE),
		PATCH(rnbd_segment, addr, ~0ull - 32 * 4096, NONE),
		PATCH(rnbd_segment, addr, ~0ull - 32 * 4096 + 1, LIMITS),
		PATCH(rnbd_segment, addr, ~0ull, LIMITS),
		PATCH(rnbd_segment, rkey, 0, NONE),
		PATCH(rnbd_segment, rkey, 0xffffffff, NONE),
	};
	struct rnbd_segment_info seg, untouched;
	struct rnbd_grant grant;
	struct message msg;
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		enum rnbd_proto_err fault;

		message_grant(&msg, &granted, 19);
		assert_fault(decode_grant(&msg, &grant), RNBD_PERR_NONE);
		unit_put(msg.buf + 16 + 64 + patches[i].offset,
			 patches[i].bytes, patches[i].value);
		seg = untouched;
		fault = rnbd_decode_segment(&msg.frame, 0, &grant, &seg);
		assert_fault(fault, patches[i].want);
		if (fault)
			assert_memory_equal(&seg, &untouched, sizeof(seg));
	}

	/* the last one has the rest, not a full segment */
	message_grant(&msg, &granted, 19);
	assert_fault(decode_grant(&msg, &grant), RNBD_PERR_NONE);
	unit_put(msg.buf + 16 + 64 + 18 * 16 + 12, 4, 32);
	assert_fault(rnbd_decode_segment(&msg.frame, 18, &grant, &seg),
		     RNBD_PERR_LIMITS);
	assert_fault(rnbd_decode_segment(&msg.frame, 19, &grant, &seg),
		     RNBD_PERR_COUNT);
	assert_fault(rnbd_decode_segment(&msg.frame, 0xffffffff, &grant, &seg),
		     RNBD_PERR_COUNT);

	/* a frame with fewer segments than the grant, and one nobody checked */
	msg.frame.nr_entries = 5;
	assert_fault(rnbd_decode_segment(&msg.frame, 4, &grant, &seg),
		     RNBD_PERR_COUNT);
	msg.frame.bytes = 64 + 4 * 16 - 1;
	assert_fault(rnbd_decode_segment(&msg.frame, 3, &grant, &seg),
		     RNBD_PERR_SHORT);
	msg.frame.type = RNBD_FRAME_REPLY;
	assert_fault(rnbd_decode_segment(&msg.frame, 0, &grant, &seg),
		     RNBD_PERR_TYPE);
}

static void test_max_segments(void **state)
{
	(void)state;
	assert_int_equal(rnbd_max_segments(0), 0);
	assert_int_equal(rnbd_max_segments(79), 0);
	assert_int_equal(rnbd_max_segments(80), 0);
	assert_int_equal(rnbd_max_segments(95), 0);
	assert_int_equal(rnbd_max_segments(96), 1);
	assert_int_equal(rnbd_max_segments(1024), 59);
	assert_int_equal(rnbd_max_segments(4096), 251);
	assert_int_equal(rnbd_max_segments(65536), 4091);
}

int codec_login_reply_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grant_round_trip),
		cmocka_unit_test(test_grant_patches),
		cmocka_unit_test(test_grant_pool),
		cmocka_unit_test(test_grant_refused),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_max_segments),
	};

	return cmocka_run_group_tests_name("login_reply", tests, NULL, NULL);
}
