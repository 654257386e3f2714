// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of requests: round trips, bounds of each field and of the extents, sums that
 * wrap around, and inline data.
 */
#include "fixture.h"

static const struct rnbd_limits limits = {
	.pool_units = 1000,
	.segment_units = 64,
	.depth = 32,
};

static const struct rnbd_export_limits export_limits = {
	.capacity = 1ull << 40,
	.block_mask = 511,
	.max_io = 64 * 4096,
	.max_discard = 1u << 30,
	.max_write_zeroes = 1u << 20,
};

/* Handle of the requests for which a test sets no handle. */
static const struct rnbd_handle some_handle = { .index = 4095, .generation = 0x80000001 };

static void encode_request(void *at, const struct rnbd_request *req)
{
	struct rnbd_request copy = *req;

	if (!copy.handle.generation)
		copy.handle = some_handle;
	rnbd_encode_request(at, &copy);
}

static void message_request(struct message *msg, const struct rnbd_request *req)
{
	u32 entries = rnbd_request_entries(req->nr_extents);

	message_init(msg, RNBD_FRAME_REQUEST, entries, entries * 32);
	memset(msg->buf + 16, 0xee, entries * 32);
	encode_request(msg->buf + 16, req);
	assert_fault(message_decode(msg), RNBD_PERR_NONE);
}

static enum rnbd_proto_err decode_for(struct message *msg, u16 *pos,
				      const struct rnbd_limits *lim,
				      const struct rnbd_export_limits *exp,
				      struct rnbd_request *req)
{
	struct rnbd_req_cursor cursor;
	enum rnbd_proto_err fault;
	u16 before = *pos;

	memset(req, 0xa5, sizeof(*req));
	fault = rnbd_begin_request(&msg->frame, *pos, &cursor);
	if (!fault)
		fault = rnbd_decode_request(&msg->frame, pos, &cursor, lim, exp, req);
	if (fault)
		assert_int_equal(*pos, before);
	return fault;
}

static enum rnbd_proto_err decode_request(struct message *msg, u16 *pos,
					  const struct rnbd_limits *lim,
					  struct rnbd_request *req)
{
	return decode_for(msg, pos, lim, &export_limits, req);
}

static enum rnbd_proto_err try_for(const struct rnbd_request *req,
				   const struct rnbd_limits *lim,
				   const struct rnbd_export_limits *exp)
{
	struct rnbd_request out;
	struct message msg;
	u16 pos = 0;

	message_request(&msg, req);
	return decode_for(&msg, &pos, lim, exp, &out);
}

static enum rnbd_proto_err try_request(const struct rnbd_request *req,
				       const struct rnbd_limits *lim)
{
	return try_for(req, lim, &export_limits);
}

static void assert_request_equal(const struct rnbd_request *a,
				 const struct rnbd_request *b)
{
	u32 i;

	assert_true(rnbd_handle_equal(&a->handle,
				      b->handle.generation ? &b->handle : &some_handle));
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->length, b->length);
	assert_true(a->offset == b->offset);
	assert_int_equal(a->nr_extents, b->nr_extents);
	for (i = 0; i < a->nr_extents; i++) {
		assert_int_equal(a->extents[i].unit, b->extents[i].unit);
		assert_int_equal(a->extents[i].units, b->extents[i].units);
	}
}

/* Make a READ or WRITE of @nr_extents extents of 2 units each, at descending addresses. */
static struct rnbd_request data_request(u8 op, u8 nr_extents)
{
	struct rnbd_request req = {
		.op = op, .tag = 31, .offset = 1ull << 33,
		.length = nr_extents * 2 * 4096, .nr_extents = nr_extents,
	};
	u32 i;

	for (i = 0; i < nr_extents; i++)
		req.extents[i] = (struct rnbd_extent) { 900 - 4 * i, 2 };
	return req;
}

static void test_request_entries(void **state)
{
	static const u8 entries[RNBD_EXTENTS_MAX + 1] = {
		1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5,
	};
	u32 i;

	(void)state;
	for (i = 0; i <= RNBD_EXTENTS_MAX; i++)
		assert_int_equal(rnbd_request_entries(i), entries[i]);
}

static void test_request_round_trip(void **state)
{
	static const struct rnbd_request plain[] = {
		{ .op = RNBD_OP_FLUSH, .tag = 5 },
		{ .op = RNBD_OP_DISCARD, .length = 1u << 30, .tag = 1 },
		{ .op = RNBD_OP_DISCARD, .length = 512,
		  .offset = (1ull << 40) - 512 },
		{ .op = RNBD_OP_WRITE_ZEROES, .length = 1u << 20,
		  .flags = RNBD_REQ_FUA | RNBD_REQ_NOUNMAP },
		{ .op = RNBD_OP_WRITE_ZEROES, .length = 512,
		  .flags = RNBD_REQ_NOUNMAP },
		{ .op = RNBD_OP_WRITE, .length = 512, .flags = RNBD_REQ_FUA,
		  .nr_extents = 1, .extents = { { 999, 1 } } },
		{ .op = RNBD_OP_READ, .length = 64 * 4096,
		  .nr_extents = 1, .extents = { { 0, 64 } } },
		{ .op = RNBD_OP_READ, .length = 4097 - 1 + 512,
		  .nr_extents = 2, .extents = { { 63, 1 }, { 64, 1 } } },
	};
	struct rnbd_request req, out;
	struct message msg;
	u32 i;
	u16 pos;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		message_request(&msg, &plain[i]);
		pos = 0;
		assert_fault(decode_request(&msg, &pos, &limits, &out),
			     RNBD_PERR_NONE);
		assert_int_equal(pos, rnbd_request_entries(plain[i].nr_extents));
		assert_request_equal(&out, &plain[i]);
	}
	for (i = 1; i <= RNBD_EXTENTS_MAX; i++) {
		req = data_request(i & 1 ? RNBD_OP_READ : RNBD_OP_WRITE, i);
		message_request(&msg, &req);
		pos = 0;
		assert_fault(decode_request(&msg, &pos, &limits, &out),
			     RNBD_PERR_NONE);
		assert_int_equal(pos, rnbd_request_entries(i));
		assert_request_equal(&out, &req);
	}
}

/*
 * Requests in one frame are decoded one after the other: each call returns the position of the
 * next request.
 */
static void test_request_many(void **state)
{
	static const u8 nr_extents[] = { 1, 5, 6, 17, 2, 1 };
	struct rnbd_request req[ARRAY_SIZE(nr_extents)], out;
	struct message msg;
	u32 i, entries = 0;
	u16 pos = 0;

	(void)state;
	memset(&msg, 0, sizeof(msg));
	for (i = 0; i < ARRAY_SIZE(nr_extents); i++) {
		req[i] = data_request(RNBD_OP_WRITE, nr_extents[i]);
		req[i].tag = i;
		req[i].handle = (struct rnbd_handle) { .index = i, .generation = ~i };
		encode_request(msg.buf + 16 + 32 * entries, &req[i]);
		entries += rnbd_request_entries(nr_extents[i]);
	}
	rnbd_encode_frame_hdr(msg.buf, RNBD_FRAME_REQUEST, 0, entries, 0, SEQ, EPOCH);
	msg.len = 16 + 32 * entries;
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	for (i = 0; i < ARRAY_SIZE(nr_extents); i++) {
		assert_fault(decode_request(&msg, &pos, &limits, &out),
			     RNBD_PERR_NONE);
		assert_request_equal(&out, &req[i]);
	}
	assert_int_equal(pos, entries);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_PERR_COUNT);
	pos = 0xffff;
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_PERR_COUNT);

	/* nr_entries is too low for the extents of the last request. */
	for (i = 2; i <= RNBD_EXTENTS_MAX; i++) {
		req[0] = data_request(RNBD_OP_READ, i);
		message_request(&msg, &req[0]);
		for (entries = 1; entries < rnbd_request_entries(i); entries++) {
			unit_put(msg.buf + 2, 2, entries);
			msg.len = 16 + 32 * entries;
			assert_fault(message_decode(&msg), RNBD_PERR_NONE);
			pos = 0;
			assert_fault(decode_request(&msg, &pos, &limits, &out),
				     RNBD_PERR_COUNT);

			/* The same request at position 5 of the frame. */
			memmove(msg.buf + 16 + 32 * 5, msg.buf + 16,
				32 * entries);
			unit_put(msg.buf + 2, 2, 5 + entries);
			msg.len = 16 + 32 * (5 + entries);
			assert_fault(message_decode(&msg), RNBD_PERR_NONE);
			pos = 5;
			assert_fault(decode_request(&msg, &pos, &limits, &out),
				     RNBD_PERR_COUNT);
			message_request(&msg, &req[0]);
		}
	}
}

static void test_request_patches(void **state)
{
	/* Each patch changes a READ of 3 extents of 2 units each. */
	static const struct patch patches[] = {
		PATCH(rnbd_req_entry, op, 0, OP),
		PATCH(rnbd_req_entry, op, RNBD_OP_END, OP),
		PATCH(rnbd_req_entry, op, 0xff, OP),
		PATCH(rnbd_req_entry, op, RNBD_OP_WRITE, NONE),
		PATCH(rnbd_req_entry, op, RNBD_OP_FLUSH, LENGTH),
		PATCH(rnbd_req_entry, op, RNBD_OP_DISCARD, EXTENT),
		PATCH(rnbd_req_entry, op, RNBD_OP_WRITE_ZEROES, EXTENT),
		PATCH(rnbd_req_entry, flags, RNBD_REQ_FUA, FLAGS),
		PATCH(rnbd_req_entry, flags, RNBD_REQ_NOUNMAP, FLAGS),
		PATCH(rnbd_req_entry, flags, 4, FLAGS),
		PATCH(rnbd_req_entry, flags, 0x80, FLAGS),
		PATCH(rnbd_req_entry, tag, 0, NONE),
		PATCH(rnbd_req_entry, tag, 32, TAG),
		PATCH(rnbd_req_entry, tag, 0xffff, TAG),
		PATCH(rnbd_req_entry, length, 0, LENGTH),
		PATCH(rnbd_req_entry, length, 1, LENGTH),
		PATCH(rnbd_req_entry, length, 6 * 4096 - 1, LENGTH),
		PATCH(rnbd_req_entry, length, 65 * 4096, LENGTH),
		PATCH(rnbd_req_entry, length, 64 * 4096 + 512, LENGTH),
		PATCH(rnbd_req_entry, length, 0xfffffe00, LENGTH),
		PATCH(rnbd_req_entry, length, 0xffffffff, LENGTH),
		PATCH(rnbd_req_entry, length, 6 * 4096 - 512, NONE),
		PATCH(rnbd_req_entry, length, 5 * 4096 + 512, NONE),
		PATCH(rnbd_req_entry, length, 5 * 4096, EXTENT),
		PATCH(rnbd_req_entry, length, 6 * 4096 + 512, EXTENT),
		PATCH(rnbd_req_entry, offset, 1, OFFSET),
		PATCH(rnbd_req_entry, offset, 511, OFFSET),
		PATCH(rnbd_req_entry, offset, (1ull << 40) - 6 * 4096, NONE),
		PATCH(rnbd_req_entry, offset, (1ull << 40) - 6 * 4096 + 512, OFFSET),
		PATCH(rnbd_req_entry, offset, 1ull << 40, OFFSET),
		PATCH(rnbd_req_entry, offset, (1ull << 40) + 512, OFFSET),
		PATCH(rnbd_req_entry, offset, 1ull << 63, OFFSET),
		PATCH(rnbd_req_entry, offset, 0ull - 512, OFFSET),
		PATCH(rnbd_req_entry, offset, 0ull - 6 * 4096, OFFSET),
		PATCH(rnbd_req_entry, nr_extents, 0, EXTENT),
		PATCH(rnbd_req_entry, nr_extents, 1, EXTENT),
		PATCH(rnbd_req_entry, nr_extents, 2, EXTENT),
		PATCH(rnbd_req_entry, nr_extents, 4, EXTENT),
		PATCH(rnbd_req_entry, nr_extents, 6, COUNT),
		PATCH(rnbd_req_entry, nr_extents, 17, COUNT),
		PATCH(rnbd_req_entry, nr_extents, 18, EXTENT),
		PATCH(rnbd_req_entry, nr_extents, 255, EXTENT),
		/* The first and the last bit of the reserved byte. */
		{ 25, 1, 1, RNBD_PERR_RESERVED },
		{ 25, 1, 0x80, RNBD_PERR_RESERVED },
		/* The first extent. Without a patch, it has the units 900 and 901. */
		PATCH(rnbd_req_entry, extent.unit, 998, NONE),
		PATCH(rnbd_req_entry, extent.unit, 999, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 1000, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 0xffffffff, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 0xfffffffe, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 62, NONE),
		PATCH(rnbd_req_entry, extent.unit, 63, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 64, NONE),
		PATCH(rnbd_req_entry, extent.unit, 896, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 897, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 898, NONE),
		PATCH(rnbd_req_entry, extent.unit, 895, EXTENT),
		PATCH(rnbd_req_entry, extent.unit, 894, NONE),
		PATCH(rnbd_req_entry, extent.units, 0, EXTENT),
		PATCH(rnbd_req_entry, extent.units, 1, EXTENT),
		PATCH(rnbd_req_entry, extent.units, 0xffffffff, EXTENT),
		PATCH(rnbd_req_entry, extent.units, 0x80000000, EXTENT),
		/*
		 * The second extent and the third. Without a patch, they have the units 896 and
		 * 897, and 892 and 893.
		 */
		{ 32, 4, 899, RNBD_PERR_EXTENT },
		{ 32, 4, 890, RNBD_PERR_NONE },
		{ 36, 4, 0, RNBD_PERR_EXTENT },
		{ 40, 4, 896, RNBD_PERR_EXTENT },
		{ 40, 4, 900, RNBD_PERR_EXTENT },
		{ 44, 4, 0xfffffffe, RNBD_PERR_EXTENT },
		/* The extents behind the third are unused and must be zero. */
		{ 48, 4, 1, RNBD_PERR_EXTENT },
		{ 52, 4, 1, RNBD_PERR_EXTENT },
		{ 60, 4, 0x80000000, RNBD_PERR_EXTENT },
	};
	const struct rnbd_request req = data_request(RNBD_OP_READ, 3);
	struct rnbd_request out;
	struct message msg;
	enum rnbd_proto_err fault;
	u32 i;
	u16 pos;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		message_request(&msg, &req);
		unit_put(msg.buf + 16 + patches[i].offset, patches[i].bytes,
			 patches[i].value);
		pos = 0;
		fault = decode_request(&msg, &pos, &limits, &out);
		if (fault != patches[i].want)
			print_message("patch %u\n", i);
		assert_fault(fault, patches[i].want);
	}
}

/* Extents whose sum of units is right only modulo 2^32 are rejected. */
static void test_request_sum_wraps(void **state)
{
	struct rnbd_export_limits exp = export_limits;
	struct rnbd_limits wide = limits;
	struct rnbd_request req = {
		.op = RNBD_OP_READ, .length = 4096, .nr_extents = 3,
		.extents = { { 0, 0x80000000 }, { 0x80000000, 0x7fffffff },
			  { 0xffffffff, 2 } },
	};

	(void)state;
	wide.pool_units = 0xffffffff;
	wide.segment_units = 0x80000000;
	assert_fault(try_request(&req, &wide), RNBD_PERR_EXTENT);
	req.nr_extents = 1;
	req.extents[0] = (struct rnbd_extent) { 0xffffffff, 1 };
	assert_fault(try_request(&req, &wide), RNBD_PERR_EXTENT);
	req.extents[0].unit = 0xfffffffe;
	assert_fault(try_request(&req, &wide), RNBD_PERR_NONE);

	/* The largest length that fits 32 bits is rounded up to 2^20 units, not to 0. */
	exp.max_io = 0xffffffff;
	exp.block_mask = 0;
	wide.pool_units = 1u << 20;
	wide.segment_units = 1u << 20;
	req.length = 0xffffffff;
	req.extents[0] = (struct rnbd_extent) { 0, 1u << 20 };
	assert_fault(try_for(&req, &wide, &exp), RNBD_PERR_NONE);
	req.extents[0].units = 1;
	assert_fault(try_for(&req, &wide, &exp), RNBD_PERR_EXTENT);
}

/* A range whose end wraps around 64 bits is rejected. */
static void test_request_range_wraps(void **state)
{
	struct rnbd_export_limits wide = export_limits;
	struct rnbd_request req = { .op = RNBD_OP_DISCARD, .length = 1024 };

	(void)state;
	wide.capacity = ~511ull;
	req.offset = wide.capacity - 1024;
	assert_fault(try_for(&req, &limits, &wide), RNBD_PERR_NONE);
	req.offset += 512;
	assert_fault(try_for(&req, &limits, &wide), RNBD_PERR_OFFSET);
	req.offset += 512;
	assert_fault(try_for(&req, &limits, &wide), RNBD_PERR_OFFSET);
}

/* An extent of no units is rejected, even if the other extents hold all of the data. */
static void test_request_empty_extent(void **state)
{
	struct rnbd_request req = {
		.op = RNBD_OP_READ, .length = 4096, .nr_extents = 2,
		.extents = { { 901, 1 }, { 903, 0 } },
	};
	u32 i;

	(void)state;
	assert_fault(try_request(&req, &limits), RNBD_PERR_EXTENT);
	req.extents[1] = req.extents[0];
	/* An empty extent is rejected at every unit, the boundaries of segments included. */
	for (i = 0; i <= limits.pool_units; i++) {
		req.extents[0] = (struct rnbd_extent) { i, 0 };
		assert_fault(try_request(&req, &limits), RNBD_PERR_EXTENT);
	}
}

static void test_request_plain_faults(void **state)
{
	static const struct {
		struct rnbd_request req;
		enum rnbd_proto_err want;
	} try[] = {
		{ { .op = RNBD_OP_FLUSH, .length = 512 }, RNBD_PERR_LENGTH },
		{ { .op = RNBD_OP_FLUSH, .offset = 512 }, RNBD_PERR_OFFSET },
		{ { .op = RNBD_OP_FLUSH, .flags = RNBD_REQ_FUA },
		  RNBD_PERR_FLAGS },
		{ { .op = RNBD_OP_FLUSH, .nr_extents = 1 }, RNBD_PERR_EXTENT },
		{ { .op = RNBD_OP_FLUSH, .nr_extents = 1, .extents = { { 1, 1 } } },
		  RNBD_PERR_EXTENT },
		{ { .op = RNBD_OP_FLUSH, .tag = 32 }, RNBD_PERR_TAG },
		{ { .op = RNBD_OP_DISCARD }, RNBD_PERR_LENGTH },
		{ { .op = RNBD_OP_DISCARD, .length = 513 }, RNBD_PERR_LENGTH },
		{ { .op = RNBD_OP_DISCARD, .length = (1u << 30) + 512 },
		  RNBD_PERR_LENGTH },
		{ { .op = RNBD_OP_DISCARD, .length = 512, .offset = 1ull << 40 },
		  RNBD_PERR_OFFSET },
		{ { .op = RNBD_OP_DISCARD, .length = 512,
		    .flags = RNBD_REQ_FUA }, RNBD_PERR_FLAGS },
		{ { .op = RNBD_OP_DISCARD, .length = 512,
		    .flags = RNBD_REQ_NOUNMAP }, RNBD_PERR_FLAGS },
		{ { .op = RNBD_OP_DISCARD, .length = 512, .nr_extents = 1,
		    .extents = { { 1, 1 } } }, RNBD_PERR_EXTENT },
		{ { .op = RNBD_OP_WRITE_ZEROES, .length = (1u << 20) + 512 },
		  RNBD_PERR_LENGTH },
		{ { .op = RNBD_OP_WRITE_ZEROES, .length = 512, .flags = 4 },
		  RNBD_PERR_FLAGS },
		{ { .op = RNBD_OP_WRITE_ZEROES, .length = 512, .nr_extents = 1 },
		  RNBD_PERR_EXTENT },
		{ { .op = RNBD_OP_WRITE, .length = 512, .nr_extents = 1,
		    .extents = { { 1, 1 } }, .flags = RNBD_REQ_NOUNMAP },
		  RNBD_PERR_FLAGS },
		{ { .op = RNBD_OP_WRITE, .length = 512 }, RNBD_PERR_EXTENT },
	};
	struct rnbd_export_limits none = export_limits;
	struct rnbd_request req = { .op = RNBD_OP_DISCARD, .length = 512 };
	struct rnbd_request out;
	struct message msg;
	u16 pos = 0;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(try); i++)
		assert_fault(try_request(&try[i].req, &limits), try[i].want);

	/* The export does not support the operation. */
	none.max_discard = 0;
	assert_fault(try_for(&req, &limits, &none), RNBD_PERR_OP);
	req.op = RNBD_OP_WRITE_ZEROES;
	assert_fault(try_for(&req, &limits, &none), RNBD_PERR_NONE);
	none.max_write_zeroes = 0;
	assert_fault(try_for(&req, &limits, &none), RNBD_PERR_OP);

	/* The first extent is set although nr_extents is 0. */
	req = (struct rnbd_request) { .op = RNBD_OP_FLUSH };
	message_request(&msg, &req);
	unit_put(msg.buf + 16 + 16, 4, 1);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_PERR_EXTENT);
	message_request(&msg, &req);
	unit_put(msg.buf + 16 + 20, 4, 1);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_PERR_EXTENT);

	/* With blocks of 4 KiB, offset and length are multiples of 4 KiB. */
	none.block_mask = 4095;
	req = data_request(RNBD_OP_READ, 1);
	assert_fault(try_for(&req, &limits, &none), RNBD_PERR_NONE);
	req.offset += 512;
	assert_fault(try_for(&req, &limits, &none), RNBD_PERR_OFFSET);
	req.offset -= 512;
	req.length -= 512;
	assert_fault(try_for(&req, &limits, &none), RNBD_PERR_LENGTH);

	/* A frame of another type. */
	message_init(&msg, RNBD_FRAME_REPLY, 2, 32);
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_PERR_TYPE);

	/*
	 * A REQUEST frame with only 31 bytes of entries. rnbd_decode_frame() never returns
	 * such a frame, so the test builds it.
	 */
	msg.frame = (struct rnbd_frame) {
		.type = RNBD_FRAME_REQUEST, .nr_entries = 9,
		.entries = msg.buf + 16, .bytes = 31,
	};
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_PERR_SHORT);
}

static struct rnbd_request inline_request(u8 op, u32 length)
{
	return (struct rnbd_request) {
		.op = op, .flags = RNBD_REQ_INLINE, .length = length,
		.nr_extents = 1, .extents = { { 5, (length + 4095) / 4096 } },
	};
}

/* Inline WRITEs get the data of the frame in the order of their entries, READs get none. */
static void test_request_inline(void **state)
{
	struct rnbd_limits lim = limits;
	struct rnbd_request req[3] = {
		inline_request(RNBD_OP_WRITE, 512),
		inline_request(RNBD_OP_READ, 4096),
		inline_request(RNBD_OP_WRITE, 1536),
	};
	struct rnbd_request out;
	struct message msg;
	u32 bytes, i;
	u16 pos;

	(void)state;
	lim.inline_read = 4096;
	lim.inline_write = 1536;
	req[2].flags |= RNBD_REQ_FUA;
	for (bytes = 1; bytes < 4096; bytes++) {
		message_init(&msg, RNBD_FRAME_REQUEST, 3, 96 + bytes);
		unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA);
		for (i = 0; i < 3; i++)
			encode_request(msg.buf + 16 + 32 * i, &req[i]);
		assert_fault(message_decode(&msg), RNBD_PERR_NONE);
		pos = 0;
		if (bytes < 512) {
			assert_fault(decode_request(&msg, &pos, &lim, &out),
				     RNBD_PERR_SHORT);
			continue;
		}
		assert_fault(decode_request(&msg, &pos, &lim, &out), RNBD_PERR_NONE);
		assert_request_equal(&out, &req[0]);
		assert_ptr_equal(out.data, msg.buf + 16 + 96);
		assert_fault(decode_request(&msg, &pos, &lim, &out), RNBD_PERR_NONE);
		assert_request_equal(&out, &req[1]);
		assert_null(out.data);
		if (bytes < 2048) {
			assert_fault(decode_request(&msg, &pos, &lim, &out),
				     RNBD_PERR_SHORT);
			continue;
		}
		assert_fault(decode_request(&msg, &pos, &lim, &out), RNBD_PERR_NONE);
		assert_request_equal(&out, &req[2]);
		assert_ptr_equal(out.data, msg.buf + 16 + 96 + 512);
		assert_int_equal(pos, 3);
		assert_fault(rnbd_decode_end(&msg.frame),
			     bytes == 2048 ? RNBD_PERR_NONE : RNBD_PERR_LONG);
	}

	/*
	 * Inline data that are longer than granted, not granted at all, or not of a READ or
	 * WRITE.
	 */
	req[0] = inline_request(RNBD_OP_WRITE, 2048);
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_LENGTH);
	req[0] = inline_request(RNBD_OP_READ, 4096 + 512);
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_LENGTH);
	req[0] = inline_request(RNBD_OP_DISCARD, 512);
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_FLAGS);
	req[0] = (struct rnbd_request) { .op = RNBD_OP_FLUSH, .flags = RNBD_REQ_INLINE };
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_FLAGS);
	req[0] = inline_request(RNBD_OP_READ, 4096);
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_NONE);
	lim.inline_read = 0;
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_FLAGS);
	/* An inline WRITE in a frame without data. */
	req[0] = inline_request(RNBD_OP_WRITE, 512);
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_SHORT);
	lim.inline_write = 0;
	assert_fault(try_request(&req[0], &lim), RNBD_PERR_FLAGS);
}

int codec_io_request_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_entries),
		cmocka_unit_test(test_request_round_trip),
		cmocka_unit_test(test_request_many),
		cmocka_unit_test(test_request_patches),
		cmocka_unit_test(test_request_sum_wraps),
		cmocka_unit_test(test_request_range_wraps),
		cmocka_unit_test(test_request_empty_extent),
		cmocka_unit_test(test_request_plain_faults),
		cmocka_unit_test(test_request_inline),
	};

	return cmocka_run_group_tests_name("io_request", tests, NULL, NULL);
}
