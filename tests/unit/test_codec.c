// SPDX-License-Identifier: GPL-2.0-only
/*
 * Round trips of every message, the edges of every rule, and for every fault
 * messages that must be refused with that fault and no other. The last test
 * fails if a fault was never seen.
 */
#include "unit.h"

static bool seen[RNBD_FAULT_IDENTITY + 1];

#define assert_fault(call, want) check_fault(call, want, #call, __LINE__)

static void check_fault(enum rnbd_fault got, enum rnbd_fault want,
			const char *what, int line)
{
	if (got != want)
		fail_msg("line %d: %s: got %d (%s), want %d (%s)", line, what,
			 got, rnbd_fault_text(got),
			 want, rnbd_fault_text(want));
	seen[got] = true;
}

/* A change of a valid message, and what it must lead to. */
struct patch {
	u32 offset, bytes;
	u64 value;
	enum rnbd_fault want;
};

#define PATCH(type, member, value, want) {				\
	offsetof(struct type, member),					\
	sizeof(((struct type *)0)->member), value, RNBD_FAULT_##want	\
}

/* ------------------------------------------------------------------------
 * Frames
 */

#define SEQ	0x80000001u
#define EPOCH	3u
#define SLOTS	8u

struct message {
	_Alignas(8) u8 buf[8192];
	u32 len;
	struct rnbd_frame frame;
};

static void message_init(struct message *msg, u8 type, u16 nr_entries, u32 bytes)
{
	memset(msg, 0, sizeof(*msg));
	rnbd_encode_frame_hdr(msg->buf, type, 0, nr_entries,
			      type == RNBD_FRAME_CREDIT ? SLOTS : 0, SEQ, EPOCH);
	msg->len = 16 + bytes;
}

/* Decode from a copy of exactly the size, so that a step beyond is noticed. */
static enum rnbd_fault message_decode_to(const struct message *msg,
					 struct rnbd_frame *frame)
{
	u8 *copy = malloc(msg->len ? msg->len : 1);
	enum rnbd_fault fault;

	assert_non_null(copy);
	memcpy(copy, msg->buf, msg->len);
	fault = rnbd_decode_frame(copy, msg->len, SEQ, EPOCH, SLOTS, frame);
	if (!fault) {
		assert_ptr_equal(frame->entries, copy + 16);
		frame->entries = msg->buf + 16;
		assert_ptr_equal(frame->data, copy + 16 + frame->bytes);
		assert_int_equal(frame->data_bytes, msg->len - 16 - frame->bytes);
		frame->data = msg->buf + 16 + frame->bytes;
	}
	free(copy);
	return fault;
}

static enum rnbd_fault message_decode(struct message *msg)
{
	struct rnbd_frame untouched;
	enum rnbd_fault fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	msg->frame = untouched;
	fault = message_decode_to(msg, &msg->frame);
	if (fault)
		assert_memory_equal(&msg->frame, &untouched, sizeof(untouched));
	return fault;
}

static const struct {
	u8 type;
	u16 nr_entries;
	u32 bytes;
} shapes[] = {
	{ RNBD_FRAME_LOGIN, 1, 128 },
	{ RNBD_FRAME_LOGIN_REPLY, 1, 128 },
	{ RNBD_FRAME_LOGIN_REPLY, 2, 144 },
	{ RNBD_FRAME_LOGIN_REPLY, 100, 128 + 99 * 16 },
	{ RNBD_FRAME_REQUEST, 1, 32 },
	{ RNBD_FRAME_REQUEST, 100, 3200 },
	{ RNBD_FRAME_REPLY, 1, 16 },
	{ RNBD_FRAME_REPLY, 300, 4800 },
	{ RNBD_FRAME_CREDIT, 0, 0 },
	{ RNBD_FRAME_RESIZE, 1, 16 },
	{ RNBD_FRAME_DISCOVER_REPLY, 1, 16 },
	{ RNBD_FRAME_DISCOVER_REPLY, 50, 16 + 49 * 112 },
	{ RNBD_FRAME_CHALLENGE, 1, 64 },
	{ RNBD_FRAME_PROOF, 1, 64 },
};

static void test_frame_round_trip(void **state)
{
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		message_init(&msg, shapes[i].type, shapes[i].nr_entries,
			     shapes[i].bytes);
		assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
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
			assert_fault(message_decode(&msg), RNBD_FAULT_SHORT);
		for (msg.len = len + 1; msg.len < len + 40; msg.len++)
			assert_fault(message_decode(&msg), RNBD_FAULT_LONG);

		/* one entry more or less than there are bytes for */
		if (shapes[i].type == RNBD_FRAME_CREDIT)
			continue;
		msg.len = len;
		unit_put(msg.buf + 2, 2, 0);
		assert_fault(message_decode(&msg), RNBD_FAULT_COUNT);
		if (shapes[i].type == RNBD_FRAME_LOGIN ||
		    shapes[i].type == RNBD_FRAME_RESIZE ||
		    shapes[i].type == RNBD_FRAME_CHALLENGE ||
		    shapes[i].type == RNBD_FRAME_PROOF)
			continue;
		unit_put(msg.buf + 2, 2, shapes[i].nr_entries + 1);
		assert_fault(message_decode(&msg), RNBD_FAULT_SHORT);
		unit_put(msg.buf + 2, 2, 0xffff);
		assert_fault(message_decode(&msg), RNBD_FAULT_SHORT);
		if (shapes[i].nr_entries == 1)
			continue;
		unit_put(msg.buf + 2, 2, shapes[i].nr_entries - 1);
		assert_fault(message_decode(&msg), RNBD_FAULT_LONG);
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
		PATCH(rnbd_frame_hdr, type, 10, TYPE),
		PATCH(rnbd_frame_hdr, type, 0xff, TYPE),
		PATCH(rnbd_frame_hdr, seq, SEQ - 1, SEQ),
		PATCH(rnbd_frame_hdr, seq, SEQ + 1, SEQ),
		PATCH(rnbd_frame_hdr, seq, 1, SEQ),
		PATCH(rnbd_frame_hdr, epoch, EPOCH - 1, EPOCH),
		PATCH(rnbd_frame_hdr, epoch, EPOCH + 1, EPOCH),
		PATCH(rnbd_frame_hdr, epoch, 0, EPOCH),
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

	/* a login and a resize are one entry, a credit frame none */
	message_init(&msg, RNBD_FRAME_LOGIN, 2, 256);
	assert_fault(message_decode(&msg), RNBD_FAULT_COUNT);
	message_init(&msg, RNBD_FRAME_RESIZE, 2, 32);
	assert_fault(message_decode(&msg), RNBD_FAULT_COUNT);
	message_init(&msg, RNBD_FRAME_RESIZE, 1, 16);
	msg.buf[1] = RNBD_FRAME_DATA;
	assert_fault(message_decode(&msg), RNBD_FAULT_FLAGS);
	message_init(&msg, RNBD_FRAME_CREDIT, 1, 0);
	assert_fault(message_decode(&msg), RNBD_FAULT_COUNT);
	message_init(&msg, RNBD_FRAME_CREDIT, 1, 32);
	assert_fault(message_decode(&msg), RNBD_FAULT_COUNT);
	message_init(&msg, RNBD_FRAME_CREDIT, 0, 0);
	unit_put(msg.buf + 4, 2, 0);
	/* a mere sign of life */
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	unit_put(msg.buf + 4, 2, 1);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
}

/* Only requests and replies have data behind them, and those have some. */
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
				     !may ? RNBD_FAULT_FLAGS :
				     more ? RNBD_FAULT_NONE : RNBD_FAULT_SHORT);
			if (!may || !more)
				continue;
			assert_int_equal(msg.frame.data_bytes, more);
			/* nobody has asked for them */
			assert_fault(rnbd_decode_end(&msg.frame), RNBD_FAULT_LONG);
			unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA | 2);
			assert_fault(message_decode(&msg), RNBD_FAULT_RESERVED);
		}
	}
	message_init(&msg, RNBD_FRAME_REQUEST, 1, 32);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_end(&msg.frame), RNBD_FAULT_NONE);
}

/* ------------------------------------------------------------------------
 * Requests
 */

static const struct rnbd_limits limits = {
	.capacity = 1ull << 40,
	.block_mask = 511,
	.max_io = 64 * 4096,
	.max_discard = 1u << 30,
	.max_write_zeroes = 1u << 20,
	.pool_units = 1000,
	.segment_units = 64,
	.depth = 32,
};

static void message_request(struct message *msg, const struct rnbd_request *req)
{
	u32 entries = rnbd_request_entries(req->nr_runs);

	message_init(msg, RNBD_FRAME_REQUEST, entries, entries * 32);
	memset(msg->buf + 16, 0xee, entries * 32);
	rnbd_encode_request((void *)(msg->buf + 16), req);
	assert_fault(message_decode(msg), RNBD_FAULT_NONE);
}

static enum rnbd_fault decode_request(struct message *msg, u16 *pos,
				      const struct rnbd_limits *lim,
				      struct rnbd_request *req)
{
	enum rnbd_fault fault;
	u16 before = *pos;

	memset(req, 0xa5, sizeof(*req));
	fault = rnbd_decode_request(&msg->frame, pos, lim, req);
	if (fault)
		assert_int_equal(*pos, before);
	return fault;
}

static enum rnbd_fault try_request(const struct rnbd_request *req,
				   const struct rnbd_limits *lim)
{
	struct rnbd_request out;
	struct message msg;
	u16 pos = 0;

	message_request(&msg, req);
	return decode_request(&msg, &pos, lim, &out);
}

static void assert_request_equal(const struct rnbd_request *a,
				 const struct rnbd_request *b)
{
	u32 i;

	assert_int_equal(a->op, b->op);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->length, b->length);
	assert_true(a->offset == b->offset);
	assert_int_equal(a->nr_runs, b->nr_runs);
	for (i = 0; i < a->nr_runs; i++) {
		assert_int_equal(a->runs[i].unit, b->runs[i].unit);
		assert_int_equal(a->runs[i].units, b->runs[i].units);
	}
}

/* A read or write of @nr_runs runs, each 2 units long, from the top down. */
static struct rnbd_request data_request(u8 op, u8 nr_runs)
{
	struct rnbd_request req = {
		.op = op, .tag = 31, .offset = 1ull << 33,
		.length = nr_runs * 2 * 4096, .nr_runs = nr_runs,
	};
	u32 i;

	for (i = 0; i < nr_runs; i++)
		req.runs[i] = (struct rnbd_run) { 900 - 4 * i, 2 };
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
		  .nr_runs = 1, .runs = { { 999, 1 } } },
		{ .op = RNBD_OP_READ, .length = 64 * 4096,
		  .nr_runs = 1, .runs = { { 0, 64 } } },
		{ .op = RNBD_OP_READ, .length = 4097 - 1 + 512,
		  .nr_runs = 2, .runs = { { 63, 1 }, { 64, 1 } } },
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
			     RNBD_FAULT_NONE);
		assert_int_equal(pos, rnbd_request_entries(plain[i].nr_runs));
		assert_request_equal(&out, &plain[i]);
	}
	for (i = 1; i <= RNBD_EXTENTS_MAX; i++) {
		req = data_request(i & 1 ? RNBD_OP_READ : RNBD_OP_WRITE, i);
		message_request(&msg, &req);
		pos = 0;
		assert_fault(decode_request(&msg, &pos, &limits, &out),
			     RNBD_FAULT_NONE);
		assert_int_equal(pos, rnbd_request_entries(i));
		assert_request_equal(&out, &req);
	}
}

/* Several requests in one frame are walked by position. */
static void test_request_many(void **state)
{
	static const u8 nr_runs[] = { 1, 5, 6, 17, 2, 1 };
	struct rnbd_request req[ARRAY_SIZE(nr_runs)], out;
	struct message msg;
	u32 i, entries = 0;
	u16 pos = 0;

	(void)state;
	memset(&msg, 0, sizeof(msg));
	for (i = 0; i < ARRAY_SIZE(nr_runs); i++) {
		req[i] = data_request(RNBD_OP_WRITE, nr_runs[i]);
		req[i].tag = i;
		rnbd_encode_request((void *)(msg.buf + 16 + 32 * entries),
				    &req[i]);
		entries += rnbd_request_entries(nr_runs[i]);
	}
	rnbd_encode_frame_hdr(msg.buf, RNBD_FRAME_REQUEST, 0, entries, 0, SEQ, EPOCH);
	msg.len = 16 + 32 * entries;
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	for (i = 0; i < ARRAY_SIZE(nr_runs); i++) {
		assert_fault(decode_request(&msg, &pos, &limits, &out),
			     RNBD_FAULT_NONE);
		assert_request_equal(&out, &req[i]);
	}
	assert_int_equal(pos, entries);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_FAULT_COUNT);
	pos = 0xffff;
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_FAULT_COUNT);

	/* the extents of the last request end behind the frame */
	for (i = 2; i <= RNBD_EXTENTS_MAX; i++) {
		req[0] = data_request(RNBD_OP_READ, i);
		message_request(&msg, &req[0]);
		for (entries = 1; entries < rnbd_request_entries(i); entries++) {
			unit_put(msg.buf + 2, 2, entries);
			msg.len = 16 + 32 * entries;
			assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
			pos = 0;
			assert_fault(decode_request(&msg, &pos, &limits, &out),
				     RNBD_FAULT_COUNT);

			/* the same behind other requests */
			memmove(msg.buf + 16 + 32 * 5, msg.buf + 16,
				32 * entries);
			unit_put(msg.buf + 2, 2, 5 + entries);
			msg.len = 16 + 32 * (5 + entries);
			assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
			pos = 5;
			assert_fault(decode_request(&msg, &pos, &limits, &out),
				     RNBD_FAULT_COUNT);
			message_request(&msg, &req[0]);
		}
	}
}

static void test_request_patches(void **state)
{
	/* of a READ of 3 extents, 2 units each */
	static const struct patch patches[] = {
		PATCH(rnbd_req_entry, op, 0, OP),
		PATCH(rnbd_req_entry, op, 6, OP),
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
		/* reserved, the first and the last byte */
		{ 25, 1, 1, RNBD_FAULT_RESERVED },
		{ 31, 1, 0x80, RNBD_FAULT_RESERVED },
		/* the first extent, 900+2 */
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
		/* the second, 896+2, and the third, 892+2 */
		{ 32, 4, 899, RNBD_FAULT_EXTENT },
		{ 32, 4, 890, RNBD_FAULT_NONE },
		{ 36, 4, 0, RNBD_FAULT_EXTENT },
		{ 40, 4, 896, RNBD_FAULT_EXTENT },
		{ 40, 4, 900, RNBD_FAULT_EXTENT },
		{ 44, 4, 0xfffffffe, RNBD_FAULT_EXTENT },
		/* not used and not zero */
		{ 48, 4, 1, RNBD_FAULT_EXTENT },
		{ 52, 4, 1, RNBD_FAULT_EXTENT },
		{ 60, 4, 0x80000000, RNBD_FAULT_EXTENT },
	};
	const struct rnbd_request req = data_request(RNBD_OP_READ, 3);
	struct rnbd_request out;
	struct message msg;
	enum rnbd_fault fault;
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

/* Units that add up only if the sum wraps around 32 bits. */
static void test_request_sum_wraps(void **state)
{
	struct rnbd_limits wide = limits;
	struct rnbd_request req = {
		.op = RNBD_OP_READ, .length = 4096, .nr_runs = 3,
		.runs = { { 0, 0x80000000 }, { 0x80000000, 0x7fffffff },
			  { 0xffffffff, 2 } },
	};

	(void)state;
	wide.pool_units = 0xffffffff;
	wide.segment_units = 0x80000000;
	assert_fault(try_request(&req, &wide), RNBD_FAULT_EXTENT);
	req.nr_runs = 1;
	req.runs[0] = (struct rnbd_run) { 0xffffffff, 1 };
	assert_fault(try_request(&req, &wide), RNBD_FAULT_EXTENT);
	req.runs[0].unit = 0xfffffffe;
	assert_fault(try_request(&req, &wide), RNBD_FAULT_NONE);

	/* the largest length there is does not become 0 units */
	wide.max_io = 0xffffffff;
	wide.block_mask = 0;
	wide.pool_units = 1u << 20;
	wide.segment_units = 1u << 20;
	req.length = 0xffffffff;
	req.runs[0] = (struct rnbd_run) { 0, 1u << 20 };
	assert_fault(try_request(&req, &wide), RNBD_FAULT_NONE);
	req.runs[0].units = 1;
	assert_fault(try_request(&req, &wide), RNBD_FAULT_EXTENT);
}

/* An end of the range that wraps around 64 bits. */
static void test_request_range_wraps(void **state)
{
	struct rnbd_limits wide = limits;
	struct rnbd_request req = { .op = RNBD_OP_DISCARD, .length = 1024 };

	(void)state;
	wide.capacity = ~511ull;
	req.offset = wide.capacity - 1024;
	assert_fault(try_request(&req, &wide), RNBD_FAULT_NONE);
	req.offset += 512;
	assert_fault(try_request(&req, &wide), RNBD_FAULT_OFFSET);
	req.offset += 512;
	assert_fault(try_request(&req, &wide), RNBD_FAULT_OFFSET);
}

/* An extent of no units, although the others hold all of the data. */
static void test_request_empty_extent(void **state)
{
	struct rnbd_request req = {
		.op = RNBD_OP_READ, .length = 4096, .nr_runs = 2,
		.runs = { { 901, 1 }, { 903, 0 } },
	};
	u32 i;

	(void)state;
	assert_fault(try_request(&req, &limits), RNBD_FAULT_EXTENT);
	req.runs[1] = req.runs[0];
	/* in front, in the middle and at the border of a segment */
	for (i = 0; i <= limits.pool_units; i++) {
		req.runs[0] = (struct rnbd_run) { i, 0 };
		assert_fault(try_request(&req, &limits), RNBD_FAULT_EXTENT);
	}
}

static void test_request_plain_faults(void **state)
{
	static const struct {
		struct rnbd_request req;
		enum rnbd_fault want;
	} try[] = {
		{ { .op = RNBD_OP_FLUSH, .length = 512 }, RNBD_FAULT_LENGTH },
		{ { .op = RNBD_OP_FLUSH, .offset = 512 }, RNBD_FAULT_OFFSET },
		{ { .op = RNBD_OP_FLUSH, .flags = RNBD_REQ_FUA },
		  RNBD_FAULT_FLAGS },
		{ { .op = RNBD_OP_FLUSH, .nr_runs = 1 }, RNBD_FAULT_EXTENT },
		{ { .op = RNBD_OP_FLUSH, .nr_runs = 1, .runs = { { 1, 1 } } },
		  RNBD_FAULT_EXTENT },
		{ { .op = RNBD_OP_FLUSH, .tag = 32 }, RNBD_FAULT_TAG },
		{ { .op = RNBD_OP_DISCARD }, RNBD_FAULT_LENGTH },
		{ { .op = RNBD_OP_DISCARD, .length = 513 }, RNBD_FAULT_LENGTH },
		{ { .op = RNBD_OP_DISCARD, .length = (1u << 30) + 512 },
		  RNBD_FAULT_LENGTH },
		{ { .op = RNBD_OP_DISCARD, .length = 512, .offset = 1ull << 40 },
		  RNBD_FAULT_OFFSET },
		{ { .op = RNBD_OP_DISCARD, .length = 512,
		    .flags = RNBD_REQ_FUA }, RNBD_FAULT_FLAGS },
		{ { .op = RNBD_OP_DISCARD, .length = 512,
		    .flags = RNBD_REQ_NOUNMAP }, RNBD_FAULT_FLAGS },
		{ { .op = RNBD_OP_DISCARD, .length = 512, .nr_runs = 1,
		    .runs = { { 1, 1 } } }, RNBD_FAULT_EXTENT },
		{ { .op = RNBD_OP_WRITE_ZEROES, .length = (1u << 20) + 512 },
		  RNBD_FAULT_LENGTH },
		{ { .op = RNBD_OP_WRITE_ZEROES, .length = 512, .flags = 4 },
		  RNBD_FAULT_FLAGS },
		{ { .op = RNBD_OP_WRITE_ZEROES, .length = 512, .nr_runs = 1 },
		  RNBD_FAULT_EXTENT },
		{ { .op = RNBD_OP_WRITE, .length = 512, .nr_runs = 1,
		    .runs = { { 1, 1 } }, .flags = RNBD_REQ_NOUNMAP },
		  RNBD_FAULT_FLAGS },
		{ { .op = RNBD_OP_WRITE, .length = 512 }, RNBD_FAULT_EXTENT },
	};
	struct rnbd_limits none = limits;
	struct rnbd_request req = { .op = RNBD_OP_DISCARD, .length = 512 };
	struct rnbd_request out;
	struct message msg;
	u16 pos = 0;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(try); i++)
		assert_fault(try_request(&try[i].req, &limits), try[i].want);

	/* what is not offered */
	none.max_discard = 0;
	assert_fault(try_request(&req, &none), RNBD_FAULT_OP);
	req.op = RNBD_OP_WRITE_ZEROES;
	assert_fault(try_request(&req, &none), RNBD_FAULT_NONE);
	none.max_write_zeroes = 0;
	assert_fault(try_request(&req, &none), RNBD_FAULT_OP);

	/* an extent without a count */
	req = (struct rnbd_request) { .op = RNBD_OP_FLUSH };
	message_request(&msg, &req);
	unit_put(msg.buf + 16 + 16, 4, 1);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_FAULT_EXTENT);
	message_request(&msg, &req);
	unit_put(msg.buf + 16 + 20, 4, 1);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_FAULT_EXTENT);

	/* blocks of 4 KiB */
	none.block_mask = 4095;
	req = data_request(RNBD_OP_READ, 1);
	assert_fault(try_request(&req, &none), RNBD_FAULT_NONE);
	req.offset += 512;
	assert_fault(try_request(&req, &none), RNBD_FAULT_OFFSET);
	req.offset -= 512;
	req.length -= 512;
	assert_fault(try_request(&req, &none), RNBD_FAULT_LENGTH);

	/* a frame of another type */
	message_init(&msg, RNBD_FRAME_REPLY, 2, 32);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_FAULT_TYPE);

	/* a frame nobody checked */
	msg.frame = (struct rnbd_frame) {
		.type = RNBD_FRAME_REQUEST, .nr_entries = 9,
		.entries = msg.buf + 16, .bytes = 31,
	};
	assert_fault(decode_request(&msg, &pos, &limits, &out),
		     RNBD_FAULT_SHORT);
}

static struct rnbd_request inline_request(u8 op, u32 length)
{
	return (struct rnbd_request) {
		.op = op, .flags = RNBD_REQ_INLINE, .length = length,
		.nr_runs = 1, .runs = { { 5, (length + 4095) / 4096 } },
	};
}

/* WRITEs take their data in order; a READ takes none. */
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
			rnbd_encode_request((void *)(msg.buf + 16 + 32 * i), &req[i]);
		assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
		pos = 0;
		if (bytes < 512) {
			assert_fault(decode_request(&msg, &pos, &lim, &out),
				     RNBD_FAULT_SHORT);
			continue;
		}
		assert_fault(decode_request(&msg, &pos, &lim, &out), RNBD_FAULT_NONE);
		assert_request_equal(&out, &req[0]);
		assert_ptr_equal(out.data, msg.buf + 16 + 96);
		assert_fault(decode_request(&msg, &pos, &lim, &out), RNBD_FAULT_NONE);
		assert_request_equal(&out, &req[1]);
		assert_null(out.data);
		if (bytes < 2048) {
			assert_fault(decode_request(&msg, &pos, &lim, &out),
				     RNBD_FAULT_SHORT);
			continue;
		}
		assert_fault(decode_request(&msg, &pos, &lim, &out), RNBD_FAULT_NONE);
		assert_request_equal(&out, &req[2]);
		assert_ptr_equal(out.data, msg.buf + 16 + 96 + 512);
		assert_int_equal(pos, 3);
		assert_fault(rnbd_decode_end(&msg.frame),
			     bytes == 2048 ? RNBD_FAULT_NONE : RNBD_FAULT_LONG);
	}

	/* longer than was granted, or not granted, or of another operation */
	req[0] = inline_request(RNBD_OP_WRITE, 2048);
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_LENGTH);
	req[0] = inline_request(RNBD_OP_READ, 4096 + 512);
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_LENGTH);
	req[0] = inline_request(RNBD_OP_DISCARD, 512);
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_FLAGS);
	req[0] = (struct rnbd_request) { .op = RNBD_OP_FLUSH, .flags = RNBD_REQ_INLINE };
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_FLAGS);
	req[0] = inline_request(RNBD_OP_READ, 4096);
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_NONE);
	lim.inline_read = 0;
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_FLAGS);
	/* no data at all */
	req[0] = inline_request(RNBD_OP_WRITE, 512);
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_SHORT);
	lim.inline_write = 0;
	assert_fault(try_request(&req[0], &lim), RNBD_FAULT_FLAGS);
}

/* ------------------------------------------------------------------------
 * Replies
 */

static void test_reply(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_reply_entry, tag, 31, NONE),
		PATCH(rnbd_reply_entry, tag, 32, TAG),
		PATCH(rnbd_reply_entry, tag, 0xffff, TAG),
		PATCH(rnbd_reply_entry, status, 1, LENGTH),
		PATCH(rnbd_reply_entry, status, 9, LENGTH),
		PATCH(rnbd_reply_entry, status, 10, STATUS),
		PATCH(rnbd_reply_entry, status, 32, STATUS),
		PATCH(rnbd_reply_entry, status, 0xffff, STATUS),
		PATCH(rnbd_reply_entry, length, 0, NONE),
		PATCH(rnbd_reply_entry, length, 0xffffffff, NONE),
		/* without inline data */
		PATCH(rnbd_reply_entry, flags, RNBD_REPLY_INLINE, SHORT),
		PATCH(rnbd_reply_entry, flags, 2, FLAGS),
		PATCH(rnbd_reply_entry, flags, 0x80, FLAGS),
		{ 9, 1, 1, RNBD_FAULT_RESERVED },
		{ 15, 1, 0x80, RNBD_FAULT_RESERVED },
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
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	for (i = 0; i < 10; i++) {
		assert_fault(rnbd_decode_reply(&msg.frame, i, 32, &out),
			     RNBD_FAULT_NONE);
		assert_int_equal(out.tag, i + 20);
		assert_int_equal(out.status, i);
		assert_int_equal(out.length, i ? 0 : 4096);
	}
	assert_fault(rnbd_decode_reply(&msg.frame, 10, 32, &out),
		     RNBD_FAULT_COUNT);
	assert_fault(rnbd_decode_reply(&msg.frame, 0xffff, 32, &out),
		     RNBD_FAULT_COUNT);

	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		enum rnbd_fault fault;
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
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out),
		     RNBD_FAULT_TYPE);
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
		assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
		for (i = 0; i < 4; i++) {
			bool enough = bytes >= (i < 3 ? 512 : 1536);

			assert_fault(rnbd_decode_reply(&msg.frame, i, 32, &out),
				     enough ? RNBD_FAULT_NONE : RNBD_FAULT_SHORT);
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
				     bytes == 1536 ? RNBD_FAULT_NONE : RNBD_FAULT_LONG);
	}

	/* nothing is not sent inline, least of all by a request that failed */
	message_init(&msg, RNBD_FRAME_REPLY, 1, 16 + 512);
	unit_put(msg.buf + 1, 1, RNBD_FRAME_DATA);
	rnbd_encode_reply((void *)(msg.buf + 16), &none);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out), RNBD_FAULT_SHORT);
	none.status = RNBD_ST_IO;
	rnbd_encode_reply((void *)(msg.buf + 16), &none);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out), RNBD_FAULT_SHORT);
	/* as long as 32 bits can say */
	none = replies[0];
	none.length = 0xffffffff;
	rnbd_encode_reply((void *)(msg.buf + 16), &none);
	assert_fault(rnbd_decode_reply(&msg.frame, 0, 32, &out), RNBD_FAULT_SHORT);
}

/* ------------------------------------------------------------------------
 * Connections
 */

static const struct rnbd_conn_req conn = {
	.queue = 63, .ring_slots = 128, .slot_size = 4096, .epoch = 5,
	.host_id = { [15] = 1 }, .session_id = { 0x80 },
};

/*
 * Put @wire into private data of @len bytes, patch it and decode it. The bytes
 * behind @wire are zero.
 */
static enum rnbd_fault try_private(const void *wire, u32 size, u32 len,
				   const struct patch *patch)
{
	u8 *buf = calloc(1, len ? len : 1);
	enum rnbd_fault fault;
	struct rnbd_conn_req out, untouched;
	u16 slots = 0xa5a5, version = 0xa5a5, status = 0xa5a5;

	memset(&untouched, 0xa5, sizeof(untouched));
	out = untouched;
	assert_non_null(buf);
	memcpy(buf, wire, min(size, len));
	if (patch)
		unit_put(buf + patch->offset, patch->bytes, patch->value);

	/* the size tells the first, a status of 0x22 the last */
	if (size == sizeof(struct rnbd_cm_req)) {
		fault = rnbd_decode_cm_req(buf, len, &out);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	} else if (((const u8 *)wire)[6] == 0x22) {
		fault = rnbd_decode_cm_rej(buf, len, &version, &status);
		assert_int_equal(fault != RNBD_FAULT_NONE,
				 version == 0xa5a5 && status == 0xa5a5);
	} else {
		fault = rnbd_decode_cm_rep(buf, len, &conn, &slots);
		assert_int_equal(fault != RNBD_FAULT_NONE, slots == 0xa5a5);
	}
	free(buf);
	return fault;
}

static void try_private_patches(const void *wire, u32 size,
				const struct patch *patches, u32 nr)
{
	struct patch behind = { .bytes = 1, .want = RNBD_FAULT_LONG };
	u32 i, len;

	/* nothing at all may mean something */
	for (len = 1; len < size; len++)
		assert_fault(try_private(wire, size, len, NULL),
			     RNBD_FAULT_SHORT);
	for (len = size; len <= 256; len++)
		assert_fault(try_private(wire, size, len, NULL),
			     RNBD_FAULT_NONE);
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
			     RNBD_FAULT_LONG);
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
		PATCH(rnbd_cm_req, queue, 0, NONE),
		PATCH(rnbd_cm_req, queue, 64, GEOMETRY),
		PATCH(rnbd_cm_req, queue, 0xffff, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 0, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 3, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 4, NONE),
		PATCH(rnbd_cm_req, ring_slots, 1024, NONE),
		PATCH(rnbd_cm_req, ring_slots, 1025, GEOMETRY),
		PATCH(rnbd_cm_req, ring_slots, 0xffff, GEOMETRY),
		PATCH(rnbd_cm_req, reserved0, 1, RESERVED),
		PATCH(rnbd_cm_req, reserved1, 1u << 31, RESERVED),
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
		PATCH(rnbd_cm_req, epoch, 0xffffffff, NONE),
		{ 24 + 15, 1, 0, RNBD_FAULT_IDENTITY },
		{ 40, 1, 0, RNBD_FAULT_IDENTITY },
	};
	struct rnbd_cm_req wire;
	struct rnbd_conn_req out;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_req(&wire, &conn);
	assert_fault(rnbd_decode_cm_req(&wire, sizeof(wire), &out),
		     RNBD_FAULT_NONE);
	assert_int_equal(out.queue, 63);
	assert_int_equal(out.ring_slots, 128);
	assert_int_equal(out.slot_size, 4096);
	assert_int_equal(out.epoch, 5);
	assert_memory_equal(out.host_id, conn.host_id, 16);
	assert_memory_equal(out.session_id, conn.session_id, 16);
	assert_fault(rnbd_decode_cm_req(NULL, 0, &out), RNBD_FAULT_SHORT);
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
		PATCH(rnbd_cm_rep, ring_slots, 1024, NONE),
		PATCH(rnbd_cm_rep, ring_slots, 1025, GEOMETRY),
		PATCH(rnbd_cm_rep, slot_size, 8192, GEOMETRY),
		PATCH(rnbd_cm_rep, slot_size, 0, GEOMETRY),
		PATCH(rnbd_cm_rep, epoch, 4, EPOCH),
		PATCH(rnbd_cm_rep, epoch, 6, EPOCH),
		PATCH(rnbd_cm_rep, epoch, 0, EPOCH),
	};
	struct rnbd_cm_rep wire;
	u16 slots = 0;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_rep(&wire, 128, 4096, 5);
	assert_fault(rnbd_decode_cm_rep(&wire, sizeof(wire), &conn, &slots),
		     RNBD_FAULT_NONE);
	assert_int_equal(slots, 128);
	assert_fault(rnbd_decode_cm_rep(NULL, 0, &conn, &slots),
		     RNBD_FAULT_SHORT);
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
		PATCH(rnbd_cm_rej, status, 10, STATUS),
		PATCH(rnbd_cm_rej, status, 31, STATUS),
		PATCH(rnbd_cm_rej, status, 32, NONE),
		PATCH(rnbd_cm_rej, status, 45, NONE),
		PATCH(rnbd_cm_rej, status, 48, STATUS),
		PATCH(rnbd_cm_rej, status, 0xffff, STATUS),
		{ 8, 1, 1, RNBD_FAULT_RESERVED },
		{ 15, 1, 0x80, RNBD_FAULT_RESERVED },
	};
	struct rnbd_cm_rej wire;
	u16 version = 0, status = 0;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_cm_rej(&wire, RNBD_ST_HOST_DENIED);
	assert_fault(rnbd_decode_cm_rej(&wire, sizeof(wire), &version, &status),
		     RNBD_FAULT_NONE);
	assert_int_equal(version, RNBD_VERSION);
	assert_int_equal(status, RNBD_ST_HOST_DENIED);
	try_private_patches(&wire, sizeof(wire), patches, ARRAY_SIZE(patches));
}

/* Of the connection manager: nothing but zeros, however many, and no other byte. */
static void test_cm_rej_empty(void **state)
{
	static const u32 lens[] = { 0, 1, 15, 16, 17, 148 };
	u16 version, status;
	u8 buf[148];
	u32 i, at;

	(void)state;
	memset(buf, 0, sizeof(buf));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		version = 0xa5a5;
		status = 0xa5a5;
		assert_fault(rnbd_decode_cm_rej(i ? buf : NULL, lens[i], &version, &status),
			     RNBD_FAULT_NONE);
		assert_int_equal(version, 0);
		assert_int_equal(status, RNBD_ST_BUSY);
		for (at = 0; at < lens[i]; at++) {
			buf[at] = 1;
			assert_fault(rnbd_decode_cm_rej(buf, lens[i], &version, &status),
				     lens[i] < sizeof(struct rnbd_cm_rej) ? RNBD_FAULT_SHORT :
									    RNBD_FAULT_MAGIC);
			buf[at] = 0;
		}
	}
}

/* ------------------------------------------------------------------------
 * Login
 */

static const struct rnbd_login_info asked = {
	.export = "disk0", .boot_id = { 1, 2, 3 }, .features = 0xf,
	.pool_bytes = 32u << 20, .max_io = 1u << 20, .nr_queues = 4,
	.queue_depth = 128, .flags = RNBD_LOGIN_READONLY, .keepalive_ms = 2000,
	.inline_read = 4096, .inline_write = 512, .fence_generation = 7,
};

static void test_login(void **state)
{
	static const struct patch patches[] = {
		{ 0, 1, 0, RNBD_FAULT_NAME },
		{ 0, 1, '.', RNBD_FAULT_NAME },
		{ 2, 1, '/', RNBD_FAULT_NAME },
		{ 2, 1, 0, RNBD_FAULT_NAME },
		{ 6, 1, 'x', RNBD_FAULT_NAME },
		{ 63, 1, 'x', RNBD_FAULT_NAME },
		{ 5, 1, 'x', RNBD_FAULT_NONE },
		PATCH(rnbd_login, features, ~0ull, NONE),
		PATCH(rnbd_login, pool_bytes, 0, LIMITS),
		PATCH(rnbd_login, pool_bytes, 4095, LIMITS),
		PATCH(rnbd_login, pool_bytes, 4096, NONE),
		PATCH(rnbd_login, pool_bytes, ~0ull, NONE),
		PATCH(rnbd_login, max_io, 0, LIMITS),
		PATCH(rnbd_login, max_io, 512, LIMITS),
		PATCH(rnbd_login, max_io, 4096, NONE),
		PATCH(rnbd_login, max_io, 4608, LIMITS),
		PATCH(rnbd_login, max_io, 16u << 20, NONE),
		PATCH(rnbd_login, max_io, (16u << 20) + 4096, LIMITS),
		PATCH(rnbd_login, max_io, 0xfffff000, LIMITS),
		PATCH(rnbd_login, nr_queues, 0, GEOMETRY),
		PATCH(rnbd_login, nr_queues, 1, NONE),
		PATCH(rnbd_login, nr_queues, 64, NONE),
		PATCH(rnbd_login, nr_queues, 65, GEOMETRY),
		PATCH(rnbd_login, nr_queues, 0xffff, GEOMETRY),
		PATCH(rnbd_login, queue_depth, 0, GEOMETRY),
		PATCH(rnbd_login, queue_depth, 1024, NONE),
		PATCH(rnbd_login, queue_depth, 1025, GEOMETRY),
		PATCH(rnbd_login, flags, 0, NONE),
		/* who asks for a list asks for nothing else */
		PATCH(rnbd_login, flags, 2, RESERVED),
		PATCH(rnbd_login, flags, 3, FLAGS),
		PATCH(rnbd_login, flags, 4, FLAGS),
		PATCH(rnbd_login, flags, 1u << 31, FLAGS),
		PATCH(rnbd_login, keepalive_ms, 99, LIMITS),
		PATCH(rnbd_login, keepalive_ms, 100, NONE),
		PATCH(rnbd_login, keepalive_ms, 60000, NONE),
		PATCH(rnbd_login, keepalive_ms, 60001, LIMITS),
		PATCH(rnbd_login, inline_read, 0, NONE),
		PATCH(rnbd_login, inline_read, 0xffffffff, NONE),
		PATCH(rnbd_login, inline_write, 0, NONE),
		PATCH(rnbd_login, inline_write, 0xffffffff, NONE),
		/* wishes without the feature */
		PATCH(rnbd_login, features, 0xe, RESERVED),
		PATCH(rnbd_login, fence_generation, 0, NONE),
		PATCH(rnbd_login, fence_generation, 0xffffffff, NONE),
		{ 124, 1, 1, RNBD_FAULT_RESERVED },
		{ 127, 1, 0x80, RNBD_FAULT_RESERVED },
	};
	struct rnbd_login_info out, untouched, info = asked;
	struct message msg;
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i <= ARRAY_SIZE(patches); i++) {
		enum rnbd_fault fault, want = RNBD_FAULT_NONE;

		message_init(&msg, RNBD_FRAME_LOGIN, 1, 128);
		memset(msg.buf + 16, 0xee, 128);
		rnbd_encode_login((void *)(msg.buf + 16), &asked);
		assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
		if (i < ARRAY_SIZE(patches)) {
			unit_put(msg.buf + 16 + patches[i].offset,
				 patches[i].bytes, patches[i].value);
			want = patches[i].want;
		}
		out = untouched;
		fault = rnbd_decode_login(&msg.frame, &out);
		if (fault != want)
			print_message("patch %u\n", i);
		assert_fault(fault, want);
		if (fault)
			assert_memory_equal(&out, &untouched, sizeof(out));
	}
	/* the last round was without a patch */
	assert_string_equal(out.export, "disk0");
	assert_memory_equal(out.boot_id, asked.boot_id, 16);
	assert_true(out.features == 0xf && out.pool_bytes == 32u << 20);
	assert_int_equal(out.max_io, 1u << 20);
	assert_int_equal(out.nr_queues, 4);
	assert_int_equal(out.queue_depth, 128);
	assert_int_equal(out.flags, RNBD_LOGIN_READONLY);
	assert_int_equal(out.keepalive_ms, 2000);
	assert_int_equal(out.inline_read, 4096);
	assert_int_equal(out.inline_write, 512);
	assert_int_equal(out.fence_generation, 7);

	/* a name that fills the field is cut by the encoder */
	memset(info.export, 'n', sizeof(info.export));
	rnbd_encode_login((void *)(msg.buf + 16), &info);
	assert_fault(rnbd_decode_login(&msg.frame, &out), RNBD_FAULT_NONE);
	assert_int_equal(strlen(out.export), 63);

	msg.frame.nr_entries = 2;
	assert_fault(rnbd_decode_login(&msg.frame, &out), RNBD_FAULT_COUNT);
	msg.frame.type = RNBD_FRAME_REQUEST;
	assert_fault(rnbd_decode_login(&msg.frame, &out), RNBD_FAULT_TYPE);
}

/* A login that asks for a list is zero but for its flags, byte for byte. */
static void test_login_discover(void **state)
{
	const struct rnbd_login_info list = { .flags = RNBD_LOGIN_DISCOVER };
	struct rnbd_login_info out, untouched;
	struct message msg;
	u32 i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	message_init(&msg, RNBD_FRAME_LOGIN, 1, 128);
	memset(msg.buf + 16, 0xee, 128);
	rnbd_encode_login((void *)(msg.buf + 16), &list);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	out = untouched;
	assert_fault(rnbd_decode_login(&msg.frame, &out), RNBD_FAULT_NONE);
	assert_memory_equal(&out, &list, sizeof(out));

	for (i = 0; i < 128; i++) {
		bool in_flags = i >= 104 && i < 108;

		msg.buf[16 + i] ^= 0x80;
		out = untouched;
		assert_fault(rnbd_decode_login(&msg.frame, &out),
			     in_flags ? RNBD_FAULT_FLAGS : RNBD_FAULT_RESERVED);
		assert_memory_equal(&out, &untouched, sizeof(out));
		msg.buf[16 + i] ^= 0x80;
	}
}

static const struct rnbd_grant granted = {
	.status = RNBD_ST_OK, .nr_queues = 2, .queue_depth = 64, .features = 5,
	.capacity = 10ull << 30, .max_io = 1u << 20,
	.flags = RNBD_EXPORT_FUA | RNBD_EXPORT_VOLATILE_CACHE,
	.logical_block = 512, .physical_block = 4096, .io_min = 4096,
	.io_opt = 65536, .discard_granularity = 4096, .discard_alignment = 512,
	.max_discard = 1u << 30, .max_write_zeroes = 1u << 20,
	/* 19 segments, the last with 24 units */
	.pool_units = 600, .segment_units = 32, .nr_segments = 19,
	.keepalive_ms = 3000,
	.incarnation = { 9 }, .export_uuid = { 8, 7 },
	.inline_read = 2048, .inline_write = 512, .fence_generation = 7,
};

static void message_grant(struct message *msg, const struct rnbd_grant *grant,
			  u32 nr_segments)
{
	struct rnbd_segment_info seg;
	u32 i;

	message_init(msg, RNBD_FRAME_LOGIN_REPLY, 1 + nr_segments,
		     128 + 16 * nr_segments);
	memset(msg->buf + 16, 0xee, 128 + 16 * nr_segments);
	rnbd_encode_grant((void *)(msg->buf + 16), grant);
	for (i = 0; i < nr_segments; i++) {
		seg.addr = 0xffff888000000000ull + i * 0x1000000ull;
		seg.rkey = 0x100 + i;
		seg.units = i == nr_segments - 1 ?
			grant->pool_units - i * grant->segment_units :
			grant->segment_units;
		rnbd_encode_segment((void *)(msg->buf + 16 + 128 + 16 * i), &seg);
	}
	assert_fault(message_decode(msg), RNBD_FAULT_NONE);
}

static enum rnbd_fault decode_grant(const struct message *msg,
				    struct rnbd_grant *grant)
{
	struct rnbd_grant untouched;
	enum rnbd_fault fault;

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
	assert_fault(decode_grant(&msg, &out), RNBD_FAULT_NONE);
	assert_int_equal(out.status, RNBD_ST_OK);
	assert_int_equal(out.nr_queues, 2);
	assert_int_equal(out.queue_depth, 64);
	assert_true(out.features == 5 && out.capacity == 10ull << 30);
	assert_int_equal(out.max_io, 1u << 20);
	assert_int_equal(out.flags, granted.flags);
	assert_int_equal(out.logical_block, 512);
	assert_int_equal(out.physical_block, 4096);
	assert_int_equal(out.io_min, 4096);
	assert_int_equal(out.io_opt, 65536);
	assert_int_equal(out.discard_granularity, 4096);
	assert_int_equal(out.discard_alignment, 512);
	assert_int_equal(out.max_discard, 1u << 30);
	assert_int_equal(out.max_write_zeroes, 1u << 20);
	assert_int_equal(out.pool_units, 600);
	assert_int_equal(out.segment_units, 32);
	assert_int_equal(out.nr_segments, 19);
	assert_int_equal(out.keepalive_ms, 3000);
	assert_int_equal(out.inline_read, 2048);
	assert_int_equal(out.inline_write, 512);
	assert_int_equal(out.fence_generation, 7);
	assert_memory_equal(out.incarnation, granted.incarnation, 16);
	assert_memory_equal(out.export_uuid, granted.export_uuid, 16);
	for (i = 0; i < 19; i++) {
		assert_fault(rnbd_decode_segment(&msg.frame, i, &out, &seg),
			     RNBD_FAULT_NONE);
		assert_true(seg.addr == 0xffff888000000000ull + i * 0x1000000ull);
		assert_int_equal(seg.rkey, 0x100 + i);
		assert_int_equal(seg.units, i == 18 ? 24 : 32);
	}
}

static void test_grant_patches(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_login_reply, status, 10, STATUS),
		PATCH(rnbd_login_reply, status, 48, STATUS),
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
		PATCH(rnbd_login_reply, fence_generation, 0, LIMITS),
		/* another one than that of the login */
		PATCH(rnbd_login_reply, fence_generation, 8, LIMITS),
		PATCH(rnbd_login_reply, fence_generation, 0xffffffff, LIMITS),
		{ 124, 1, 1, RNBD_FAULT_RESERVED },
		{ 127, 1, 0x80, RNBD_FAULT_RESERVED },
		PATCH(rnbd_login_reply, features, 1, NONE),
		/* limits without the feature */
		PATCH(rnbd_login_reply, features, 0, RESERVED),
		PATCH(rnbd_login_reply, features, 0xf, NONE),
		PATCH(rnbd_login_reply, features, 0x10, FLAGS),
		PATCH(rnbd_login_reply, features, 1ull << 63, FLAGS),
		PATCH(rnbd_login_reply, flags, 0xf, NONE),
		PATCH(rnbd_login_reply, flags, 0, NONE),
		PATCH(rnbd_login_reply, flags, RNBD_EXPORT_FUA, NONE),
		PATCH(rnbd_login_reply, flags, RNBD_EXPORT_VOLATILE_CACHE, LIMITS),
		PATCH(rnbd_login_reply, flags, 0x10, FLAGS),
		PATCH(rnbd_login_reply, capacity, 0, LIMITS),
		PATCH(rnbd_login_reply, capacity, 511, LIMITS),
		PATCH(rnbd_login_reply, capacity, 512, NONE),
		PATCH(rnbd_login_reply, capacity, (1ull << 63) - 512, NONE),
		PATCH(rnbd_login_reply, capacity, 1ull << 63, LIMITS),
		PATCH(rnbd_login_reply, capacity, ~0ull, LIMITS),
		PATCH(rnbd_login_reply, max_io, 0, LIMITS),
		PATCH(rnbd_login_reply, max_io, 3584, LIMITS),
		PATCH(rnbd_login_reply, max_io, 4096, NONE),
		PATCH(rnbd_login_reply, max_io, 4608, NONE),
		PATCH(rnbd_login_reply, max_io, 4600, LIMITS),
		PATCH(rnbd_login_reply, max_io, (1u << 20) + 4096, LIMITS),
		PATCH(rnbd_login_reply, max_io, 0xfffff000, LIMITS),
		PATCH(rnbd_login_reply, logical_block, 0, LIMITS),
		PATCH(rnbd_login_reply, logical_block, 256, LIMITS),
		PATCH(rnbd_login_reply, logical_block, 768, LIMITS),
		PATCH(rnbd_login_reply, logical_block, 8192, LIMITS),
		PATCH(rnbd_login_reply, logical_block, 1u << 31, LIMITS),
		PATCH(rnbd_login_reply, physical_block, 0, LIMITS),
		PATCH(rnbd_login_reply, physical_block, 256, LIMITS),
		PATCH(rnbd_login_reply, physical_block, 512, NONE),
		PATCH(rnbd_login_reply, physical_block, 1536, LIMITS),
		PATCH(rnbd_login_reply, physical_block, 1u << 20, NONE),
		PATCH(rnbd_login_reply, physical_block, 2u << 20, LIMITS),
		PATCH(rnbd_login_reply, io_min, 0, LIMITS),
		PATCH(rnbd_login_reply, io_min, 512, NONE),
		PATCH(rnbd_login_reply, io_min, 513, LIMITS),
		PATCH(rnbd_login_reply, io_min, 64u << 20, NONE),
		PATCH(rnbd_login_reply, io_min, (64u << 20) + 512, LIMITS),
		PATCH(rnbd_login_reply, io_opt, 0, NONE),
		PATCH(rnbd_login_reply, io_opt, 100, LIMITS),
		PATCH(rnbd_login_reply, io_opt, 64u << 20, NONE),
		PATCH(rnbd_login_reply, io_opt, (64u << 20) + 512, LIMITS),
		PATCH(rnbd_login_reply, io_opt, 0xfffffe00, LIMITS),
		PATCH(rnbd_login_reply, discard_granularity, 0, LIMITS),
		PATCH(rnbd_login_reply, discard_granularity, 1u << 30, NONE),
		PATCH(rnbd_login_reply, discard_granularity, (1u << 30) + 512, LIMITS),
		PATCH(rnbd_login_reply, discard_granularity, 1536, NONE),
		PATCH(rnbd_login_reply, discard_granularity, 1, LIMITS),
		PATCH(rnbd_login_reply, discard_alignment, 0, NONE),
		PATCH(rnbd_login_reply, discard_alignment, 1, LIMITS),
		PATCH(rnbd_login_reply, max_discard, 0, NONE),
		PATCH(rnbd_login_reply, max_discard, 0xffffffff, LIMITS),
		PATCH(rnbd_login_reply, max_discard, 0xfffffe00, NONE),
		/* granularity and physical block are 4096 */
		PATCH(rnbd_login_reply, max_discard, 3584, LIMITS),
		PATCH(rnbd_login_reply, max_discard, 4096, NONE),
		PATCH(rnbd_login_reply, max_write_zeroes, 0, NONE),
		PATCH(rnbd_login_reply, max_write_zeroes, 1, LIMITS),
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

static enum rnbd_fault try_grant(const struct rnbd_grant *grant, u32 nr_segments)
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
	assert_fault(try_grant(&granted, 18), RNBD_FAULT_COUNT);
	assert_fault(try_grant(&granted, 20), RNBD_FAULT_COUNT);
	assert_fault(try_grant(&granted, 0), RNBD_FAULT_COUNT);

	/* the share of a queue holds exactly one request, or one unit less */
	grant.pool_units = 512;
	grant.nr_segments = 16;
	assert_fault(try_grant(&grant, 16), RNBD_FAULT_NONE);
	grant.pool_units = 511;
	assert_fault(try_grant(&grant, 16), RNBD_FAULT_LIMITS);
	grant.max_io = 255 * 4096;
	assert_fault(try_grant(&grant, 16), RNBD_FAULT_NONE);
	grant.max_io += 512;
	assert_fault(try_grant(&grant, 16), RNBD_FAULT_LIMITS);

	/* 256 units in segments of 16 take 17 extents, 257 take 18 */
	grant = granted;
	grant.pool_units = 512;
	grant.segment_units = 16;
	grant.nr_segments = 32;
	assert_fault(try_grant(&grant, 32), RNBD_FAULT_NONE);
	grant.segment_units = 8;
	grant.nr_segments = 64;
	assert_fault(try_grant(&grant, 64), RNBD_FAULT_LIMITS);
	grant.max_io = 129 * 4096;
	assert_fault(try_grant(&grant, 64), RNBD_FAULT_NONE);
	grant.max_io = 130 * 4096;
	assert_fault(try_grant(&grant, 64), RNBD_FAULT_LIMITS);

	/* one segment larger than the pool; the largest pool */
	grant = granted;
	grant.segment_units = 1u << 20;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant, 1), RNBD_FAULT_NONE);
	grant.pool_units = 1u << 20;
	assert_fault(try_grant(&grant, 1), RNBD_FAULT_NONE);
	grant.pool_units++;
	grant.nr_segments = 2;
	assert_fault(try_grant(&grant, 2), RNBD_FAULT_LIMITS);
	grant.segment_units = 2u << 20;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant, 1), RNBD_FAULT_LIMITS);

	/* fewer units than queues, nothing to divide by */
	grant = granted;
	grant.max_io = 4096;
	grant.pool_units = 1;
	grant.nr_segments = 1;
	assert_fault(try_grant(&grant, 1), RNBD_FAULT_LIMITS);
	grant.nr_queues = 1;
	assert_fault(try_grant(&grant, 1), RNBD_FAULT_NONE);

	/* blocks of 4 KiB */
	grant = granted;
	grant.logical_block = 4096;
	assert_fault(try_grant(&grant, 19), RNBD_FAULT_LIMITS);
	grant.discard_alignment = 0;
	assert_fault(try_grant(&grant, 19), RNBD_FAULT_NONE);

	message_init(&msg, RNBD_FRAME_LOGIN, 1, 128);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(decode_grant(&msg, &out), RNBD_FAULT_TYPE);
	msg.frame.type = RNBD_FRAME_LOGIN_REPLY;
	msg.frame.nr_entries = 0;
	assert_fault(decode_grant(&msg, &out), RNBD_FAULT_COUNT);
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
		bool known = status <= 9 || (status >= 32 && status <= 47);

		grant.status = status;
		message_grant(&msg, &grant, 0);
		assert_fault(decode_grant(&msg, &out),
			     known ? RNBD_FAULT_NONE : RNBD_FAULT_STATUS);
		if (!known)
			continue;
		assert_int_equal(out.status, status);
		assert_int_equal(out.nr_queues, 0);
		assert_int_equal(out.pool_units, 0);
		assert_true(!out.capacity);
		assert_fault(rnbd_decode_segment(&msg.frame, 0, &out, &seg),
			     RNBD_FAULT_COUNT);
		for (i = 2; i < 128; i++) {
			msg.buf[16 + i] = 1;
			assert_fault(decode_grant(&msg, &out),
				     RNBD_FAULT_RESERVED);
			msg.buf[16 + i] = 0;
		}
		message_grant(&msg, &grant, 1);
		assert_fault(decode_grant(&msg, &out), RNBD_FAULT_COUNT);
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
		enum rnbd_fault fault;

		message_grant(&msg, &granted, 19);
		assert_fault(decode_grant(&msg, &grant), RNBD_FAULT_NONE);
		unit_put(msg.buf + 16 + 128 + patches[i].offset,
			 patches[i].bytes, patches[i].value);
		seg = untouched;
		fault = rnbd_decode_segment(&msg.frame, 0, &grant, &seg);
		assert_fault(fault, patches[i].want);
		if (fault)
			assert_memory_equal(&seg, &untouched, sizeof(seg));
	}

	/* the last one has the rest, not a full segment */
	message_grant(&msg, &granted, 19);
	assert_fault(decode_grant(&msg, &grant), RNBD_FAULT_NONE);
	unit_put(msg.buf + 16 + 128 + 18 * 16 + 12, 4, 32);
	assert_fault(rnbd_decode_segment(&msg.frame, 18, &grant, &seg),
		     RNBD_FAULT_LIMITS);
	assert_fault(rnbd_decode_segment(&msg.frame, 19, &grant, &seg),
		     RNBD_FAULT_COUNT);
	assert_fault(rnbd_decode_segment(&msg.frame, 0xffffffff, &grant, &seg),
		     RNBD_FAULT_COUNT);

	/* a frame with fewer segments than the grant, and one nobody checked */
	msg.frame.nr_entries = 5;
	assert_fault(rnbd_decode_segment(&msg.frame, 4, &grant, &seg),
		     RNBD_FAULT_COUNT);
	msg.frame.bytes = 128 + 4 * 16 - 1;
	assert_fault(rnbd_decode_segment(&msg.frame, 3, &grant, &seg),
		     RNBD_FAULT_SHORT);
	msg.frame.type = RNBD_FRAME_REPLY;
	assert_fault(rnbd_decode_segment(&msg.frame, 0, &grant, &seg),
		     RNBD_FAULT_TYPE);
}

static void test_max_segments(void **state)
{
	(void)state;
	assert_int_equal(rnbd_max_segments(0), 0);
	assert_int_equal(rnbd_max_segments(143), 0);
	assert_int_equal(rnbd_max_segments(144), 0);
	assert_int_equal(rnbd_max_segments(159), 0);
	assert_int_equal(rnbd_max_segments(160), 1);
	assert_int_equal(rnbd_max_segments(1024), 55);
	assert_int_equal(rnbd_max_segments(4096), 247);
	assert_int_equal(rnbd_max_segments(65536), 4087);
}

static void test_resize(void **state)
{
	/* of blocks of 4096 bytes */
	static const struct patch patches[] = {
		PATCH(rnbd_resize, capacity, 4096, NONE),
		PATCH(rnbd_resize, capacity, 1ull << 40, NONE),
		PATCH(rnbd_resize, capacity, ~0ull / 2 - 4095, NONE),
		PATCH(rnbd_resize, capacity, 0, LIMITS),
		PATCH(rnbd_resize, capacity, 512, LIMITS),
		PATCH(rnbd_resize, capacity, 4097, LIMITS),
		PATCH(rnbd_resize, capacity, 1ull << 63, LIMITS),
		PATCH(rnbd_resize, capacity, ~0ull - 4095, LIMITS),
		PATCH(rnbd_resize, capacity, ~0ull, LIMITS),
	};
	const u64 untouched = 0xa5a5a5a5a5a5a5a5ull;
	struct message msg;
	u64 capacity;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		message_init(&msg, RNBD_FRAME_RESIZE, 1, 16);
		rnbd_encode_resize((void *)(msg.buf + 16), patches[i].value);
		assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
		capacity = untouched;
		assert_fault(rnbd_decode_resize(&msg.frame, 4096, &capacity),
			     patches[i].want);
		assert_true(capacity == (patches[i].want ? untouched : patches[i].value));
	}

	message_init(&msg, RNBD_FRAME_RESIZE, 1, 16);
	rnbd_encode_resize((void *)(msg.buf + 16), 4096 + 512);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_resize(&msg.frame, 512, &capacity), RNBD_FAULT_NONE);
	assert_true(capacity == 4096 + 512);

	capacity = untouched;
	for (i = 8; i < 16; i++) {
		msg.buf[16 + i] = 1;
		assert_fault(rnbd_decode_resize(&msg.frame, 512, &capacity),
			     RNBD_FAULT_RESERVED);
		msg.buf[16 + i] = 0;
	}

	/* frames that nobody checked */
	msg.frame.nr_entries = 2;
	assert_fault(rnbd_decode_resize(&msg.frame, 512, &capacity), RNBD_FAULT_COUNT);
	msg.frame.nr_entries = 1;
	msg.frame.bytes = 15;
	assert_fault(rnbd_decode_resize(&msg.frame, 512, &capacity), RNBD_FAULT_SHORT);
	msg.frame.type = RNBD_FRAME_REPLY;
	assert_fault(rnbd_decode_resize(&msg.frame, 512, &capacity), RNBD_FAULT_TYPE);
	assert_true(capacity == untouched);
}

/* ------------------------------------------------------------------------
 * Lists of exports
 */

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
	assert_fault(message_decode(msg), RNBD_FAULT_NONE);
}

static enum rnbd_fault decode_discover(const struct message *msg, u32 room,
				       struct rnbd_discover_info *info)
{
	struct rnbd_discover_info untouched;
	enum rnbd_fault fault;

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
		assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_FAULT_NONE);
		assert_int_equal(info.status, RNBD_ST_OK);
		assert_int_equal(info.more, nr > 0);
		assert_int_equal(info.nr_exports, nr);
		for (i = 0; i < nr; i++) {
			assert_fault(rnbd_decode_export(&msg.frame, i, &out),
				     RNBD_FAULT_NONE);
			assert_int_equal(out.name[4], 'a' + i);
			out.name[4] = '0';
			assert_memory_equal(&out, &export0, sizeof(out));
		}
		assert_fault(rnbd_decode_export(&msg.frame, nr, &out), RNBD_FAULT_COUNT);
		assert_fault(rnbd_decode_export(&msg.frame, 65535, &out),
			     RNBD_FAULT_COUNT);
		assert_fault(rnbd_decode_export(&msg.frame, ~0u, &out), RNBD_FAULT_COUNT);
	}

	message_exports(&msg, RNBD_ST_SHUTDOWN, false, 0);
	assert_fault(decode_discover(&msg, 0, &info), RNBD_FAULT_NONE);
	assert_int_equal(info.status, RNBD_ST_SHUTDOWN);
	assert_true(!info.more && !info.nr_exports);

	/* a name that fills the field is cut by the encoder */
	out = export0;
	memset(out.name, 'n', sizeof(out.name));
	message_exports(&msg, RNBD_ST_OK, false, 1);
	rnbd_encode_export((void *)(msg.buf + 32), &out);
	assert_fault(rnbd_decode_export(&msg.frame, 0, &out), RNBD_FAULT_NONE);
	assert_int_equal(strlen(out.name), 63);
}

static void test_discover_faults(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_discover_reply, status, 10, STATUS),
		PATCH(rnbd_discover_reply, status, 48, STATUS),
		PATCH(rnbd_discover_reply, status, 0xffff, STATUS),
		/* a refusal without a list */
		PATCH(rnbd_discover_reply, status, RNBD_ST_NOMEM, COUNT),
		PATCH(rnbd_discover_reply, flags, 0, NONE),
		PATCH(rnbd_discover_reply, flags, RNBD_DISCOVER_MORE, NONE),
		PATCH(rnbd_discover_reply, flags, 2, FLAGS),
		PATCH(rnbd_discover_reply, flags, 0x8001, FLAGS),
		{ 4, 1, 1, RNBD_FAULT_RESERVED },
		{ 15, 1, 0x80, RNBD_FAULT_RESERVED },
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
	assert_fault(decode_discover(&msg, NR_EXPORTS - 1, &info), RNBD_FAULT_COUNT);
	assert_fault(decode_discover(&msg, 0, &info), RNBD_FAULT_COUNT);
	message_exports(&msg, RNBD_ST_OK, true, 0);
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_FAULT_COUNT);
	message_exports(&msg, RNBD_ST_BUSY, false, 0);
	unit_put(msg.buf + 18, 2, RNBD_DISCOVER_MORE);
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_FAULT_FLAGS);

	message_exports(&msg, RNBD_ST_OK, false, 1);
	msg.frame.nr_entries = 0;
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_FAULT_COUNT);
	msg.frame.nr_entries = 2;
	msg.frame.bytes = 15;
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_FAULT_SHORT);
	msg.frame.type = RNBD_FRAME_LOGIN_REPLY;
	assert_fault(decode_discover(&msg, NR_EXPORTS, &info), RNBD_FAULT_TYPE);
}

static void test_export_faults(void **state)
{
	static const struct patch patches[] = {
		{ 0, 1, 0, RNBD_FAULT_NAME },
		{ 0, 1, '.', RNBD_FAULT_NAME },
		{ 2, 1, '/', RNBD_FAULT_NAME },
		{ 6, 1, 'x', RNBD_FAULT_NAME },
		{ 63, 1, 'x', RNBD_FAULT_NAME },
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
		{ 96, 1, 1, RNBD_FAULT_RESERVED },
		{ 111, 1, 0x80, RNBD_FAULT_RESERVED },
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
	assert_fault(rnbd_decode_export(&msg.frame, 0, &out), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_export(&msg.frame, 1, &out), RNBD_FAULT_SHORT);
	msg.frame.type = RNBD_FRAME_REPLY;
	assert_fault(rnbd_decode_export(&msg.frame, 0, &out), RNBD_FAULT_TYPE);
}

/* ------------------------------------------------------------------------
 * Authentication
 */

static void test_challenge(void **state)
{
	u8 nonce[32], out[32];
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < 32; i++)
		nonce[i] = 0x80 + i;
	message_init(&msg, RNBD_FRAME_CHALLENGE, 1, 64);
	rnbd_encode_challenge((void *)(msg.buf + 16), nonce);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_challenge(&msg.frame, out), RNBD_FAULT_NONE);
	assert_memory_equal(out, nonce, 32);

	memset(out, 0xa5, sizeof(out));
	for (i = 32; i < 64; i++) {
		msg.buf[16 + i] = 1;
		assert_fault(rnbd_decode_challenge(&msg.frame, out), RNBD_FAULT_RESERVED);
		msg.buf[16 + i] = 0;
	}
	/* frames that nobody checked */
	msg.frame.nr_entries = 2;
	assert_fault(rnbd_decode_challenge(&msg.frame, out), RNBD_FAULT_COUNT);
	msg.frame.nr_entries = 1;
	msg.frame.bytes = 63;
	assert_fault(rnbd_decode_challenge(&msg.frame, out), RNBD_FAULT_SHORT);
	msg.frame.type = RNBD_FRAME_PROOF;
	assert_fault(rnbd_decode_challenge(&msg.frame, out), RNBD_FAULT_TYPE);
	for (i = 0; i < 32; i++)
		assert_int_equal(out[i], 0xa5);
}

static void test_proof(void **state)
{
	u8 nonce[32], mac[32], nonce_out[32], mac_out[32];
	struct message msg;
	u32 i;

	(void)state;
	for (i = 0; i < 32; i++) {
		nonce[i] = 0x80 + i;
		mac[i] = 0x40 + i;
	}
	message_init(&msg, RNBD_FRAME_PROOF, 1, 64);
	rnbd_encode_proof((void *)(msg.buf + 16), nonce, mac);
	assert_fault(message_decode(&msg), RNBD_FAULT_NONE);
	assert_fault(rnbd_decode_proof(&msg.frame, nonce_out, mac_out), RNBD_FAULT_NONE);
	assert_memory_equal(nonce_out, nonce, 32);
	assert_memory_equal(mac_out, mac, 32);

	/* that of a target has no nonce */
	memset(mac_out, 0xa5, 32);
	assert_fault(rnbd_decode_proof(&msg.frame, NULL, mac_out), RNBD_FAULT_RESERVED);
	assert_int_equal(mac_out[0], 0xa5);
	rnbd_encode_proof((void *)(msg.buf + 16), NULL, mac);
	for (i = 0; i < 32; i++) {
		msg.buf[16 + i] = 1;
		assert_fault(rnbd_decode_proof(&msg.frame, NULL, mac_out),
			     RNBD_FAULT_RESERVED);
		msg.buf[16 + i] = 0;
	}
	assert_fault(rnbd_decode_proof(&msg.frame, NULL, mac_out), RNBD_FAULT_NONE);
	assert_memory_equal(mac_out, mac, 32);

	/* frames that nobody checked */
	memset(mac_out, 0xa5, 32);
	msg.frame.nr_entries = 2;
	assert_fault(rnbd_decode_proof(&msg.frame, NULL, mac_out), RNBD_FAULT_COUNT);
	msg.frame.nr_entries = 1;
	msg.frame.bytes = 63;
	assert_fault(rnbd_decode_proof(&msg.frame, NULL, mac_out), RNBD_FAULT_SHORT);
	msg.frame.type = RNBD_FRAME_CHALLENGE;
	assert_fault(rnbd_decode_proof(&msg.frame, NULL, mac_out), RNBD_FAULT_TYPE);
	assert_int_equal(mac_out[0], 0xa5);
}

static void test_every_fault_seen(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		if (!seen[i])
			fail_msg("never seen: %s", rnbd_fault_text(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_round_trip),
		cmocka_unit_test(test_frame_size),
		cmocka_unit_test(test_frame_faults),
		cmocka_unit_test(test_frame_data),
		cmocka_unit_test(test_request_entries),
		cmocka_unit_test(test_request_round_trip),
		cmocka_unit_test(test_request_many),
		cmocka_unit_test(test_request_patches),
		cmocka_unit_test(test_request_sum_wraps),
		cmocka_unit_test(test_request_range_wraps),
		cmocka_unit_test(test_request_empty_extent),
		cmocka_unit_test(test_request_plain_faults),
		cmocka_unit_test(test_request_inline),
		cmocka_unit_test(test_reply),
		cmocka_unit_test(test_reply_inline),
		cmocka_unit_test(test_cm_req),
		cmocka_unit_test(test_cm_rep),
		cmocka_unit_test(test_cm_rej),
		cmocka_unit_test(test_cm_rej_empty),
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_login_discover),
		cmocka_unit_test(test_grant_round_trip),
		cmocka_unit_test(test_grant_patches),
		cmocka_unit_test(test_grant_pool),
		cmocka_unit_test(test_grant_refused),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_max_segments),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_discover_round_trip),
		cmocka_unit_test(test_discover_faults),
		cmocka_unit_test(test_export_faults),
		cmocka_unit_test(test_challenge),
		cmocka_unit_test(test_proof),
		cmocka_unit_test(test_every_fault_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
