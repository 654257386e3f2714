// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of the private data of the connection manager: request, reply and reject.
 */
#include "fixture.h"

static const struct rnbd_conn_req conn = {
	.conn = 1023, .path = 15, .ring_slots = 128, .slot_size = 4096, .epoch = 5, .attempt = 7,
	.host_id = { [15] = 1 }, .session_id = { 0x80 },
};

/*
 * Copy @wire to private data of @len bytes, apply @patch and decode the private data. The bytes
 * behind @wire are zero. A decoder that fails must not change its output.
 */
static enum rnbd_proto_err try_private(const void *wire, u32 size, u32 len,
				       const struct patch *patch)
{
	u8 *buf = calloc(1, len ? len : 1);
	enum rnbd_proto_err fault;
	struct rnbd_conn_req out, untouched;
	u16 slots = 0xa5a5;
	struct rnbd_refusal rej, rej_untouched;

	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&rej_untouched, 0xa5, sizeof(rej_untouched));
	out = untouched;
	rej = rej_untouched;
	assert_non_null(buf);
	memcpy(buf, wire, min(size, len));
	if (patch)
		unit_put(buf + patch->offset, patch->bytes, patch->value);

	/*
	 * Tell the messages apart: only a request has this size. In a reject, byte 6 is the low
	 * byte of the status, which is 0x22 in these tests.
	 */
	if (size == sizeof(struct rnbd_cm_req)) {
		fault = rnbd_decode_cm_req(buf, len, &out);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	} else if (((const u8 *)wire)[6] == 0x22) {
		fault = rnbd_decode_cm_rej(buf, len, &rej);
		assert_int_equal(fault != RNBD_PERR_NONE,
				 !memcmp(&rej, &rej_untouched, sizeof(rej)));
	} else {
		fault = rnbd_decode_cm_rep(buf, len, &conn, &slots);
		assert_int_equal(fault != RNBD_PERR_NONE, slots == 0xa5a5);
	}
	free(buf);
	return fault;
}

static void try_private_patches(const void *wire, u32 size,
				const struct patch *patches, u32 nr)
{
	struct patch behind = { .bytes = 1, .want = RNBD_PERR_LONG };
	u32 i, len;

	/* Length 0 is left out, because a reject without private data is valid. */
	for (len = 1; len < size; len++)
		assert_fault(try_private(wire, size, len, NULL),
			     RNBD_PERR_SHORT);
	for (len = size; len <= 256; len++)
		assert_fault(try_private(wire, size, len, NULL),
			     RNBD_PERR_NONE);
	for (i = 0; i < nr; i++) {
		if (try_private(wire, size, size, &patches[i]) !=
		    patches[i].want)
			print_message("patch %u\n", i);
		assert_fault(try_private(wire, size, size, &patches[i]),
			     patches[i].want);
		assert_fault(try_private(wire, size, 196, &patches[i]),
			     patches[i].want);
	}
	for (i = size; i < 256; i++) {
		behind.offset = i;
		behind.value = 1u << (i % 8);
		assert_fault(try_private(wire, size, 256, &behind),
			     RNBD_PERR_LONG);
	}
}

static void test_cm_req(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_cm_req, magic, 0, MAGIC),
		PATCH(rnbd_cm_req, magic, RNBD_MAGIC ^ 1, MAGIC),
		PATCH(rnbd_cm_req, magic, 0x524e4244, MAGIC),
		PATCH(rnbd_cm_req, version, 0, VERSION),
		PATCH(rnbd_cm_req, version, 2, VERSION),
		PATCH(rnbd_cm_req, version, 0x0101, VERSION),
		PATCH(rnbd_cm_req, conn, 1, NONE),
		PATCH(rnbd_cm_req, conn, 1024, GEOMETRY),
		PATCH(rnbd_cm_req, conn, 0xffff, GEOMETRY),
		/* The attempt of queue 0 equals the epoch; that of other queues is higher. */
		PATCH(rnbd_cm_req, conn, 0, EPOCH),
		PATCH(rnbd_cm_req, attempt, 0, EPOCH),
		PATCH(rnbd_cm_req, attempt, 5, EPOCH),
		PATCH(rnbd_cm_req, attempt, 6, NONE),
		PATCH(rnbd_cm_req, attempt, 0xffffffff, NONE),
		PATCH(rnbd_cm_req, ring_slots, 0, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 3, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 4, NONE),
		PATCH(rnbd_cm_req, ring_slots, 1024, NONE),
		PATCH(rnbd_cm_req, ring_slots, 1025, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 0xffff, GEOMETRY),
		PATCH(rnbd_cm_req, path, 0, NONE),
		PATCH(rnbd_cm_req, path, 16, GEOMETRY),
		PATCH(rnbd_cm_req, path, 0xffff, GEOMETRY),
		PATCH(rnbd_cm_req, slot_size, 0, GEOMETRY),
		PATCH(rnbd_cm_req, slot_size, 960, GEOMETRY),
		PATCH(rnbd_cm_req, slot_size, 1024, NONE),
		PATCH(rnbd_cm_req, slot_size, 1088, NONE),
		PATCH(rnbd_cm_req, slot_size, 1056, GEOMETRY),
		PATCH(rnbd_cm_req, slot_size, 65536, NONE),
		PATCH(rnbd_cm_req, slot_size, 65600, GEOMETRY),
		PATCH(rnbd_cm_req, slot_size, 0xffffffc0, GEOMETRY),
		PATCH(rnbd_cm_req, epoch, 0, EPOCH),
		PATCH(rnbd_cm_req, epoch, 1, NONE),
		PATCH(rnbd_cm_req, epoch, 7, EPOCH),
		PATCH(rnbd_cm_req, epoch, 0xffffffff, EPOCH),
		{ 24 + 15, 1, 0, RNBD_PERR_IDENTITY },
		{ 40, 1, 0, RNBD_PERR_IDENTITY },
	};
	struct rnbd_cm_req wire;
	struct rnbd_conn_req out;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_req(&wire, &conn);
	assert_fault(rnbd_decode_cm_req(&wire, sizeof(wire), &out),
		     RNBD_PERR_NONE);
	assert_int_equal(out.conn, 1023);
	assert_int_equal(out.path, 15);
	assert_int_equal(out.attempt, 7);
	assert_int_equal(out.ring_slots, 128);
	assert_int_equal(out.slot_size, 4096);
	assert_int_equal(out.epoch, 5);
	assert_memory_equal(out.host_id, conn.host_id, 16);
	assert_memory_equal(out.session_id, conn.session_id, 16);
	assert_fault(rnbd_decode_cm_req(NULL, 0, &out), RNBD_PERR_SHORT);
	try_private_patches(&wire, sizeof(wire), patches, ARRAY_SIZE(patches));
}

static void test_cm_rep(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_cm_rep, magic, RNBD_MAGIC + 1, MAGIC),
		PATCH(rnbd_cm_rep, version, 0, VERSION),
		PATCH(rnbd_cm_rep, version, 2, VERSION),
		PATCH(rnbd_cm_rep, ring_slots, 0, GEOMETRY),
		PATCH(rnbd_cm_rep, ring_slots, 3, GEOMETRY),
		PATCH(rnbd_cm_rep, ring_slots, 4, NONE),
		PATCH(rnbd_cm_rep, ring_slots, 128, NONE),
		PATCH(rnbd_cm_rep, ring_slots, 129, GEOMETRY),
		PATCH(rnbd_cm_rep, ring_slots, 1024, GEOMETRY),
		PATCH(rnbd_cm_rep, slot_size, 8192, GEOMETRY),
		PATCH(rnbd_cm_rep, slot_size, 0, GEOMETRY),
		PATCH(rnbd_cm_rep, attempt, 5, EPOCH),
		PATCH(rnbd_cm_rep, attempt, 8, EPOCH),
		PATCH(rnbd_cm_rep, attempt, 0, EPOCH),
	};
	struct rnbd_cm_rep wire;
	u16 slots = 0;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_rep(&wire, 128, 4096, 7);
	assert_fault(rnbd_decode_cm_rep(&wire, sizeof(wire), &conn, &slots),
		     RNBD_PERR_NONE);
	assert_int_equal(slots, 128);
	assert_fault(rnbd_decode_cm_rep(NULL, 0, &conn, &slots),
		     RNBD_PERR_SHORT);
	try_private_patches(&wire, sizeof(wire), patches, ARRAY_SIZE(patches));
}

static void test_cm_rej(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_cm_rej, magic, RNBD_MAGIC + 1, MAGIC),
		PATCH(rnbd_cm_rej, version, 0, VERSION),
		PATCH(rnbd_cm_rej, version, 2, NONE),
		PATCH(rnbd_cm_rej, version, 0xffff, NONE),
		PATCH(rnbd_cm_rej, status, 0, STATUS),
		PATCH(rnbd_cm_rej, status, 7, NONE),
		PATCH(rnbd_cm_rej, status, 13, STATUS),
		PATCH(rnbd_cm_rej, status, 31, STATUS),
		PATCH(rnbd_cm_rej, status, 32, NONE),
		PATCH(rnbd_cm_rej, status, 45, NONE),
		PATCH(rnbd_cm_rej, status, 52, STATUS),
		PATCH(rnbd_cm_rej, status, 0xffff, STATUS),
		PATCH(rnbd_cm_rej, retry_ms, 1, RESERVED),
		PATCH(rnbd_cm_rej, retry_ms, 1u << 31, RESERVED),
		{ 12, 1, 1, RNBD_PERR_RESERVED },
		{ 15, 1, 0x80, RNBD_PERR_RESERVED },
	};
	struct rnbd_refusal info = { .status = RNBD_ST_BUSY, .retry_ms = 0x01020304 };
	struct rnbd_cm_rej wire;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_rej(&wire, &info);
	info = (struct rnbd_refusal) { };
	assert_fault(rnbd_decode_cm_rej(&wire, sizeof(wire), &info), RNBD_PERR_NONE);
	assert_int_equal(info.status, RNBD_ST_BUSY);
	assert_int_equal(info.retry_ms, 0x01020304);
	info = (struct rnbd_refusal) { .status = RNBD_ST_HOST_DENIED };
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_rej(&wire, &info);
	assert_fault(rnbd_decode_cm_rej(&wire, sizeof(wire), &info), RNBD_PERR_NONE);
	assert_int_equal(info.version, RNBD_VERSION);
	assert_int_equal(info.status, RNBD_ST_HOST_DENIED);
	assert_int_equal(info.retry_ms, 0);
	try_private_patches(&wire, sizeof(wire), patches, ARRAY_SIZE(patches));
}

/*
 * A reject of the connection manager itself has no private data, or only zeros of any length.
 * The decoder reports it as BUSY. A byte that is not zero makes the reject invalid.
 */
static void test_cm_rej_empty(void **state)
{
	static const u32 lens[] = { 0, 1, 15, 16, 17, 148 };
	struct rnbd_refusal info;
	u8 buf[148];
	u32 i, at;

	(void)state;
	memset(buf, 0, sizeof(buf));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		memset(&info, 0xa5, sizeof(info));
		assert_fault(rnbd_decode_cm_rej(i ? buf : NULL, lens[i], &info),
			     RNBD_PERR_NONE);
		assert_int_equal(info.version, 0);
		assert_int_equal(info.status, RNBD_ST_BUSY);
		assert_int_equal(info.retry_ms, 0);
		for (at = 0; at < lens[i]; at++) {
			buf[at] = 1;
			assert_fault(rnbd_decode_cm_rej(buf, lens[i], &info),
				     lens[i] < sizeof(struct rnbd_cm_rej) ? RNBD_PERR_SHORT :
									    RNBD_PERR_MAGIC);
			buf[at] = 0;
		}
	}
}

int codec_cm_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cm_req),
		cmocka_unit_test(test_cm_rep),
		cmocka_unit_test(test_cm_rej),
		cmocka_unit_test(test_cm_rej_empty),
	};

	return cmocka_run_group_tests_name("cm", tests, NULL, NULL);
}
