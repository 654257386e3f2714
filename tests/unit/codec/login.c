// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of LOGIN, CHALLENGE, PROOF and JOIN_REPLY entries.
 */
#include "fixture.h"

const struct rnbd_login_info asked = {
	.boot_id = { 1, 2, 3 }, .features = 0xf,
	.pool_bytes = 32u << 20, .max_io = 1u << 20, .nr_queues = 4,
	.queue_depth = 128, .keepalive_ms = 2000,
	.inline_read = 4096, .inline_write = 512,
};

static void test_login(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_login, features, ~0ull, NONE),
		PATCH(rnbd_ctl_login, pool_bytes, 0, LIMITS),
		PATCH(rnbd_ctl_login, pool_bytes, 4095, LIMITS),
		PATCH(rnbd_ctl_login, pool_bytes, 4096, NONE),
		PATCH(rnbd_ctl_login, pool_bytes, ~0ull, NONE),
		PATCH(rnbd_ctl_login, pool_min, 1, NONE),
		PATCH(rnbd_ctl_login, pool_min, 8192, NONE),
		PATCH(rnbd_ctl_login, pool_min, 8193, LIMITS),
		PATCH(rnbd_ctl_login, pool_min, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_login, max_io, 0, LIMITS),
		PATCH(rnbd_ctl_login, max_io, 512, LIMITS),
		PATCH(rnbd_ctl_login, max_io, 4096, NONE),
		PATCH(rnbd_ctl_login, max_io, 4608, LIMITS),
		PATCH(rnbd_ctl_login, max_io, 16u << 20, NONE),
		PATCH(rnbd_ctl_login, max_io, (16u << 20) + 4096, LIMITS),
		PATCH(rnbd_ctl_login, max_io, 0xfffff000, LIMITS),
		PATCH(rnbd_ctl_login, nr_queues, 0, GEOMETRY),
		PATCH(rnbd_ctl_login, nr_queues, 1, NONE),
		PATCH(rnbd_ctl_login, nr_queues, 1024, NONE),
		PATCH(rnbd_ctl_login, nr_queues, 1025, GEOMETRY),
		PATCH(rnbd_ctl_login, nr_queues, 0xffff, GEOMETRY),
		PATCH(rnbd_ctl_login, queue_depth, 0, GEOMETRY),
		PATCH(rnbd_ctl_login, queue_depth, 4096, NONE),
		PATCH(rnbd_ctl_login, queue_depth, 4097, GEOMETRY),
		PATCH(rnbd_ctl_login, flags, 1, FLAGS),
		PATCH(rnbd_ctl_login, flags, 1u << 31, FLAGS),
		PATCH(rnbd_ctl_login, keepalive_ms, 99, LIMITS),
		PATCH(rnbd_ctl_login, keepalive_ms, 100, NONE),
		PATCH(rnbd_ctl_login, keepalive_ms, 60000, NONE),
		PATCH(rnbd_ctl_login, keepalive_ms, 60001, LIMITS),
		PATCH(rnbd_ctl_login, inline_read, 0, NONE),
		PATCH(rnbd_ctl_login, inline_read, 0xffffffff, NONE),
		PATCH(rnbd_ctl_login, inline_write, 0, NONE),
		PATCH(rnbd_ctl_login, inline_write, 0xffffffff, NONE),
		/* Inline data are requested without the feature bit for them. */
		PATCH(rnbd_ctl_login, features, 0xe, RESERVED),
		PATCH(rnbd_ctl_login, fence_generation, 0xffffffff, NONE),
	};
	struct rnbd_login_info out, untouched;
	u8 body[64];
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i <= ARRAY_SIZE(patches); i++) {
		enum rnbd_proto_err fault, want = RNBD_PERR_NONE;

		memset(body, 0xee, 64);
		rnbd_encode_login((void *)body, &asked);
		if (i < ARRAY_SIZE(patches)) {
			unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
			want = patches[i].want;
		}
		out = untouched;
		fault = rnbd_decode_login(entry_of(RNBD_CTL_LOGIN, body, 64), &out);
		if (fault != want)
			print_message("patch %u\n", i);
		assert_fault(fault, want);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	}
	/* The last round applied no patch, so @out is the encoded login. */
	assert_memory_equal(out.boot_id, asked.boot_id, 16);
	assert_true(out.features == 0xf && out.pool_bytes == 32u << 20);
	assert_int_equal(out.max_io, 1u << 20);
	assert_int_equal(out.nr_queues, 4);
	assert_int_equal(out.queue_depth, 128);
	assert_int_equal(out.keepalive_ms, 2000);
	assert_int_equal(out.inline_read, 4096);
	assert_int_equal(out.inline_write, 512);

	assert_fault(rnbd_decode_login(entry_of(RNBD_CTL_LOGIN, body, 56), &out),
		     RNBD_PERR_SHORT);
}

static void test_challenge(void **state)
{
	u8 nonce[32], uuid[16] = { [15] = 1 }, out[32], uuid_out[16], body[56];
	u32 i;

	(void)state;
	for (i = 0; i < 32; i++)
		nonce[i] = 0x80 + i;
	memset(body, 0, sizeof(body));
	rnbd_encode_challenge((void *)body, nonce, uuid);
	assert_fault(rnbd_decode_challenge(entry_of(RNBD_CTL_CHALLENGE, body, 56), out, uuid_out),
		     RNBD_PERR_NONE);
	assert_memory_equal(out, nonce, 32);
	assert_memory_equal(uuid_out, uuid, 16);

	memset(out, 0xa5, sizeof(out));
	memset(uuid_out, 0xa5, sizeof(uuid_out));
	body[55] = 1;
	assert_fault(rnbd_decode_challenge(entry_of(RNBD_CTL_CHALLENGE, body, 56), out, uuid_out),
		     RNBD_PERR_RESERVED);
	assert_fault(rnbd_decode_challenge(entry_of(RNBD_CTL_CHALLENGE, body, 40), out, uuid_out),
		     RNBD_PERR_SHORT);
	body[47] = 0;
	assert_fault(rnbd_decode_challenge(entry_of(RNBD_CTL_CHALLENGE, body, 48), out, uuid_out),
		     RNBD_PERR_IDENTITY);
	for (i = 0; i < 32; i++)
		assert_int_equal(out[i], 0xa5);
	for (i = 0; i < 16; i++)
		assert_int_equal(uuid_out[i], 0xa5);
}

static void test_join_reply(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_join_reply, status, 13, STATUS),
		PATCH(rnbd_ctl_join_reply, status, 52, STATUS),
		PATCH(rnbd_ctl_join_reply, status, RNBD_ST_AUTH, RESERVED),
		PATCH(rnbd_ctl_join_reply, retry_ms, 1, RESERVED),
		{ 2, 1, 1, RNBD_PERR_RESERVED },
		{ 3, 1, 0x80, RNBD_PERR_RESERVED },
	};
	struct rnbd_join_info info = { .mac = { [31] = 7 } }, out, untouched;
	u8 body[40];
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i <= ARRAY_SIZE(patches); i++) {
		enum rnbd_proto_err fault, want = RNBD_PERR_NONE;

		memset(body, 0xee, sizeof(body));
		rnbd_encode_join_reply((void *)body, &info);
		if (i < ARRAY_SIZE(patches)) {
			unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
			want = patches[i].want;
		}
		out = untouched;
		fault = rnbd_decode_join_reply(entry_of(RNBD_CTL_JOIN_REPLY, body, 40), &out);
		assert_fault(fault, want);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	}
	assert_int_equal(out.status, RNBD_ST_OK);
	assert_memory_equal(out.mac, info.mac, 32);
	assert_fault(rnbd_decode_join_reply(entry_of(RNBD_CTL_JOIN_REPLY, body, 32), &out),
		     RNBD_PERR_SHORT);

	/* A refusal has no MAC. It may have retry_ms. */
	info.status = RNBD_ST_LIMIT;
	info.retry_ms = 77;
	rnbd_encode_join_reply((void *)body, &info);
	assert_fault(rnbd_decode_join_reply(entry_of(RNBD_CTL_JOIN_REPLY, body, 40), &out),
		     RNBD_PERR_NONE);
	assert_int_equal(out.status, RNBD_ST_LIMIT);
	assert_int_equal(out.retry_ms, 77);
	for (i = 0; i < 32; i++)
		assert_int_equal(out.mac[i], 0);
}

static void test_proof(void **state)
{
	u8 nonce[32], mac[32], nonce_out[32], mac_out[32], body[64];
	u32 i;

	(void)state;
	for (i = 0; i < 32; i++) {
		nonce[i] = 0x80 + i;
		mac[i] = 0x40 + i;
	}
	rnbd_encode_proof((void *)body, nonce, mac);
	assert_fault(rnbd_decode_proof(entry_of(RNBD_CTL_PROOF, body, 64), nonce_out, mac_out),
		     RNBD_PERR_NONE);
	assert_memory_equal(nonce_out, nonce, 32);
	assert_memory_equal(mac_out, mac, 32);

	/* The nonce in the proof of a target must be zero. */
	memset(mac_out, 0xa5, 32);
	assert_fault(rnbd_decode_proof(entry_of(RNBD_CTL_PROOF, body, 64), NULL, mac_out),
		     RNBD_PERR_RESERVED);
	assert_int_equal(mac_out[0], 0xa5);
	rnbd_encode_proof((void *)body, NULL, mac);
	for (i = 0; i < 32; i++) {
		body[i] = 1;
		assert_fault(rnbd_decode_proof(entry_of(RNBD_CTL_PROOF, body, 64), NULL, mac_out),
			     RNBD_PERR_RESERVED);
		body[i] = 0;
	}
	assert_fault(rnbd_decode_proof(entry_of(RNBD_CTL_PROOF, body, 64), NULL, mac_out),
		     RNBD_PERR_NONE);
	assert_memory_equal(mac_out, mac, 32);

	memset(mac_out, 0xa5, 32);
	assert_fault(rnbd_decode_proof(entry_of(RNBD_CTL_PROOF, body, 56), NULL, mac_out),
		     RNBD_PERR_SHORT);
	assert_int_equal(mac_out[0], 0xa5);
}

int codec_login_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_join_reply),
		cmocka_unit_test(test_proof),
	};

	return cmocka_run_group_tests_name("login", tests, NULL, NULL);
}
