// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of LOGIN_REPLY entries, and the checks of the values that the target grants.
 */
#include "fixture.h"

static const struct rnbd_grant granted = {
	.status = RNBD_ST_OK, .nr_queues = 2, .queue_depth = 64, .features = 5,
	.max_io = 1u << 20,
	/* The last of the 19 segments has 24 units. */
	.pool_units = 600, .segment_units = 32, .nr_segments = 19,
	.max_units = 4096, .nr_slots = 150,
	.keepalive_ms = 3000,
	.inline_read = 2048, .inline_write = 512,
	.target_uuid = { 1, 2 }, .join_key = { [31] = 3 },
};

#define BYTES	104u	/* size of the body of a LOGIN_REPLY */

static enum rnbd_proto_err decode_grant(const u8 *body, struct rnbd_grant *grant)
{
	struct rnbd_grant untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	*grant = untouched;
	fault = rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &asked, grant);
	if (fault)
		assert_memory_equal(grant, &untouched, sizeof(untouched));
	return fault;
}

static void encode_grant(u8 *body, const struct rnbd_grant *grant)
{
	memset(body, 0xee, BYTES);
	rnbd_encode_grant((void *)body, grant);
}

static void test_grant_round_trip(void **state)
{
	struct rnbd_grant out;
	u8 body[BYTES];

	(void)state;
	encode_grant(body, &granted);
	assert_fault(decode_grant(body, &out), RNBD_PERR_NONE);
	assert_int_equal(out.status, RNBD_ST_OK);
	assert_int_equal(out.nr_queues, 2);
	assert_int_equal(out.queue_depth, 64);
	assert_int_equal(out.retry_ms, 0);
	assert_true(out.features == 5);
	assert_int_equal(out.max_io, 1u << 20);
	assert_int_equal(out.pool_units, 600);
	assert_int_equal(out.segment_units, 32);
	assert_int_equal(out.nr_segments, 19);
	assert_int_equal(out.max_units, 4096);
	assert_int_equal(out.nr_slots, 150);
	assert_int_equal(out.keepalive_ms, 3000);
	assert_int_equal(out.inline_read, 2048);
	assert_int_equal(out.inline_write, 512);
	assert_memory_equal(out.target_uuid, granted.target_uuid, 16);
	assert_memory_equal(out.join_key, granted.join_key, 32);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES - 8), &asked,
				       &out), RNBD_PERR_SHORT);
}

static void test_grant_patches(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_login_reply, status, 13, STATUS),
		PATCH(rnbd_ctl_login_reply, status, 31, STATUS),
		PATCH(rnbd_ctl_login_reply, status, 52, STATUS),
		PATCH(rnbd_ctl_login_reply, status, RNBD_ST_BUSY, RESERVED),
		PATCH(rnbd_ctl_login_reply, nr_queues, 0, GEOMETRY),
		PATCH(rnbd_ctl_login_reply, nr_queues, 1, NONE),
		PATCH(rnbd_ctl_login_reply, nr_queues, 3, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_queues, 5, GEOMETRY),
		PATCH(rnbd_ctl_login_reply, queue_depth, 0, GEOMETRY),
		PATCH(rnbd_ctl_login_reply, queue_depth, 128, NONE),
		PATCH(rnbd_ctl_login_reply, queue_depth, 129, GEOMETRY),
		PATCH(rnbd_ctl_login_reply, reserved, 1, RESERVED),
		PATCH(rnbd_ctl_login_reply, keepalive_ms, 99, LIMITS),
		PATCH(rnbd_ctl_login_reply, keepalive_ms, 100, NONE),
		PATCH(rnbd_ctl_login_reply, keepalive_ms, 60000, NONE),
		PATCH(rnbd_ctl_login_reply, keepalive_ms, 60001, LIMITS),
		PATCH(rnbd_ctl_login_reply, inline_read, 0, NONE),
		PATCH(rnbd_ctl_login_reply, inline_read, 4096, NONE),
		PATCH(rnbd_ctl_login_reply, inline_read, 4097, LIMITS),
		PATCH(rnbd_ctl_login_reply, inline_write, 0, NONE),
		PATCH(rnbd_ctl_login_reply, inline_write, 513, LIMITS),
		PATCH(rnbd_ctl_login_reply, inline_write, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_login_reply, retry_ms, 1, RESERVED),
		/* The UUID of the target must not be zero. */
		PATCH(rnbd_ctl_login_reply, target_uuid[0], 3, NONE),
		{ 48, 2, 0, RNBD_PERR_IDENTITY },
		PATCH(rnbd_ctl_login_reply, join_key[31], 0, NONE),
		PATCH(rnbd_ctl_login_reply, features, 1, NONE),
		/* Inline data are granted without the feature bit for them. */
		PATCH(rnbd_ctl_login_reply, features, 0, RESERVED),
		PATCH(rnbd_ctl_login_reply, features, 0xf, NONE),
		PATCH(rnbd_ctl_login_reply, features, 0x10, FLAGS),
		PATCH(rnbd_ctl_login_reply, features, 1ull << 63, FLAGS),
		PATCH(rnbd_ctl_login_reply, max_io, 0, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_io, 3584, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_io, 4096, NONE),
		PATCH(rnbd_ctl_login_reply, max_io, 4608, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_io, 8192, NONE),
		PATCH(rnbd_ctl_login_reply, max_io, (1u << 20) + 4096, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_io, 0xfffff000, LIMITS),
		PATCH(rnbd_ctl_login_reply, pool_units, 0, LIMITS),
		PATCH(rnbd_ctl_login_reply, pool_units, 576, LIMITS),
		PATCH(rnbd_ctl_login_reply, pool_units, 577, NONE),
		PATCH(rnbd_ctl_login_reply, pool_units, 608, NONE),
		PATCH(rnbd_ctl_login_reply, pool_units, 609, LIMITS),
		PATCH(rnbd_ctl_login_reply, pool_units, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_login_reply, segment_units, 0, LIMITS),
		PATCH(rnbd_ctl_login_reply, segment_units, 31, LIMITS),
		PATCH(rnbd_ctl_login_reply, segment_units, 33, LIMITS),
		PATCH(rnbd_ctl_login_reply, segment_units, 64, LIMITS),
		PATCH(rnbd_ctl_login_reply, segment_units, 1u << 31, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_segments, 0, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_segments, 18, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_segments, 20, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_segments, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_units, 0, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_units, 599, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_units, 600, NONE),
		PATCH(rnbd_ctl_login_reply, max_units, 4800, NONE),
		PATCH(rnbd_ctl_login_reply, max_units, 4801, LIMITS),
		PATCH(rnbd_ctl_login_reply, max_units, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_slots, 0, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_slots, 18, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_slots, 127, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_slots, 128, NONE),
		PATCH(rnbd_ctl_login_reply, nr_slots, 16384, NONE),
		PATCH(rnbd_ctl_login_reply, nr_slots, 16385, LIMITS),
		PATCH(rnbd_ctl_login_reply, nr_slots, 0xffffffff, LIMITS),
	};
	struct rnbd_grant out;
	u8 body[BYTES];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		encode_grant(body, &granted);
		unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
		if (decode_grant(body, &out) != patches[i].want)
			print_message("patch %u\n", i);
		assert_fault(decode_grant(body, &out), patches[i].want);
	}
}

static enum rnbd_proto_err try_grant(const struct rnbd_grant *grant)
{
	struct rnbd_grant out;
	u8 body[BYTES];

	encode_grant(body, grant);
	return decode_grant(body, &out);
}

static void test_grant_pool(void **state)
{
	struct rnbd_grant grant = granted;

	(void)state;
	/*
	 * The share of each of the two queues must hold the largest request, so the pool must
	 * have twice its size: one unit less is rejected.
	 */
	grant.pool_units = 512;
	grant.nr_segments = 16;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);
	grant.pool_units = 511;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);
	grant.max_io = 255 * 4096;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);

	/*
	 * A request may have at most 17 extents. In segments of 16 units, a request of 256
	 * units needs up to 17 extents. In segments of 8 units, 129 units need up to 17
	 * extents, and 130 units up to 18.
	 */
	grant = granted;
	grant.pool_units = 512;
	grant.segment_units = 16;
	grant.nr_segments = 32;
	grant.nr_slots = 512;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);
	grant.segment_units = 8;
	grant.nr_segments = 64;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);
	grant.max_io = 129 * 4096;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);
	grant.max_io = 130 * 4096;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);

	/*
	 * A segment may be larger than the pool if the pool has only one slot. A pool that is
	 * as large as the requested one is accepted, a larger one is not.
	 */
	grant = granted;
	grant.segment_units = 1u << 20;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);
	grant.nr_slots = 1;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);
	grant.pool_units = (32u << 20) / 4096;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);
	grant.max_units = grant.pool_units;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);
	grant.pool_units++;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);
	grant.pool_units--;
	grant.segment_units = 2u << 20;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);

	/* If the pool has fewer units than there are queues, the share of a queue has no unit. */
	grant = granted;
	grant.max_io = 4096;
	grant.pool_units = 1;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant), RNBD_PERR_LIMITS);
	grant.nr_queues = 1;
	assert_fault(try_grant(&grant), RNBD_PERR_NONE);
}

/*
 * If a floor was requested, the largest request must fit the whole floor. It need not fit the
 * share of a queue.
 */
static void test_grant_floor(void **state)
{
	struct rnbd_login_info floor = asked;
	struct rnbd_grant grant = granted, out;
	u8 body[BYTES];

	(void)state;
	floor.pool_min = 256;
	grant.pool_units = 256;
	grant.nr_segments = 8;
	encode_grant(body, &grant);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &floor, &out),
		     RNBD_PERR_NONE);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &asked, &out),
		     RNBD_PERR_LIMITS);
	grant.pool_units = 255;
	encode_grant(body, &grant);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &floor, &out),
		     RNBD_PERR_LIMITS);
}

/* The largest pool and the largest number of segments are accepted, larger ones are not. */
static void test_grant_large(void **state)
{
	struct rnbd_login_info large = asked;
	struct rnbd_grant grant = granted, out;
	u8 body[BYTES];

	(void)state;
	large.pool_bytes = ~0ull;
	grant.pool_units = 1u << 20;
	grant.max_units = 1u << 20;
	grant.nr_slots = 16384;
	grant.segment_units = 64;
	grant.nr_segments = 16384;
	encode_grant(body, &grant);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &large, &out),
		     RNBD_PERR_NONE);
	grant.segment_units = 32;
	grant.nr_segments = 32768;
	grant.nr_slots = 32768;
	encode_grant(body, &grant);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &large, &out),
		     RNBD_PERR_LIMITS);
	grant.pool_units = (1u << 20) + 1;
	grant.max_units = grant.pool_units;
	grant.segment_units = 1u << 20;
	grant.nr_segments = 2;
	grant.nr_slots = 2;
	encode_grant(body, &grant);
	assert_fault(rnbd_decode_grant(entry_of(RNBD_CTL_LOGIN_REPLY, body, BYTES), &large, &out),
		     RNBD_PERR_LIMITS);
}

/* A refusal has only a status. With BUSY and LIMIT it may have retry_ms. */
static void test_grant_refused(void **state)
{
	struct rnbd_grant grant = granted, out;
	u8 body[BYTES];
	u32 status, i;

	(void)state;
	for (status = 1; status <= 0x100; status++) {
		bool known = status <= 12 || (status >= 32 && status <= 51);
		bool retry = status == RNBD_ST_BUSY || status == RNBD_ST_LIMIT;

		grant.status = status;
		encode_grant(body, &grant);
		assert_fault(decode_grant(body, &out), known ? RNBD_PERR_NONE : RNBD_PERR_STATUS);
		if (!known)
			continue;
		assert_int_equal(out.status, status);
		assert_int_equal(out.nr_queues, 0);
		assert_int_equal(out.pool_units, 0);
		for (i = 2; i < BYTES; i++) {
			bool time = i >= 8 && i < 12;

			body[i] = 1;
			assert_fault(decode_grant(body, &out),
				     time && retry ? RNBD_PERR_NONE : RNBD_PERR_RESERVED);
			body[i] = 0;
		}
	}
}

int codec_login_reply_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grant_round_trip),
		cmocka_unit_test(test_grant_patches),
		cmocka_unit_test(test_grant_pool),
		cmocka_unit_test(test_grant_floor),
		cmocka_unit_test(test_grant_large),
		cmocka_unit_test(test_grant_refused),
	};

	return cmocka_run_group_tests_name("login_reply", tests, NULL, NULL);
}
