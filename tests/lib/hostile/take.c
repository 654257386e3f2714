// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pass a message to its decoder and check the result. This file checks the header of a frame;
 * take_*.c check the entries by topic, and the private data of the connection manager.
 */
#include "hostile_assert.h"
#include "take.h"

bool is_zero(const void *bytes, size_t len)
{
	const u8 *p = bytes;

	while (len--)
		if (*p++)
			return false;
	return true;
}

bool is_power(u64 n)
{
	u32 i;

	for (i = 0; i < 64; i++)
		if (n == 1ull << i)
			return true;
	return false;
}

bool status_of_request(u16 status)
{
	return status <= 12;
}

bool status_known(u16 status)
{
	return status_of_request(status) || (status >= 32 && status <= 51);
}

/* Fail unless our own encoder has made the same bytes (@again) as the message has at @buf. */
void check_encoded(const u8 *buf, const u8 *again, u32 len)
{
	assert_memory_equal(hostile_original(buf), again, len);
}

/* Fail unless the entry decoders refuse a frame of a type that is not theirs. */
static void check_wrong_type(struct rnbd_frame *frame)
{
	struct rnbd_frame before;
	u8 type = frame->type;
	union {
		struct rnbd_reply reply;
		struct rnbd_ctl_entry ctl;
	} out, untouched;
	struct rnbd_req_cursor cursor;

	memcpy(&before, frame, sizeof(before));
	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&out, 0xa5, sizeof(out));
	if (type != RNBD_FRAME_REQUEST)
		assert_int_equal(rnbd_begin_request(frame, 0, &cursor), RNBD_PERR_TYPE);
	if (type != RNBD_FRAME_CONTROL)
		assert_int_equal(rnbd_decode_ctl(frame, &(struct rnbd_ctl_pos) { }, &out.ctl),
				 RNBD_PERR_TYPE);
	if (type != RNBD_FRAME_REPLY)
		assert_int_equal(rnbd_decode_reply(frame, 0, world.lim.depth, &out.reply),
				 RNBD_PERR_TYPE);
	assert_memory_equal(&out, &untouched, sizeof(out));
	assert_memory_equal(frame, &before, sizeof(before));
}

static enum rnbd_proto_err take_frame(const u8 *buf, u32 len)
{
	static _Alignas(8) u8 again[2 * FRAME_MAX];
	struct rnbd_frame frame, untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	frame = untouched;
	fault = rnbd_decode_frame(buf, len, world.seq, world.attempt, world.slots,
				  &frame);
	if (fault) {
		assert_memory_equal(&frame, &untouched, sizeof(frame));
		return fault;
	}
	assert_true(len >= 16 && frame.bytes + frame.data_bytes == len - 16);
	assert_ptr_equal(frame.data, buf + 16 + frame.bytes);
	assert_ptr_equal(frame.entries, buf + 16);
	assert_true(frame.credits <= world.slots);
	assert_true(frame.nr_entries || frame.type == RNBD_FRAME_CREDIT);
	rnbd_encode_frame_hdr(again, frame.type,
			      frame.data_bytes ? RNBD_FRAME_DATA : 0,
			      frame.nr_entries, frame.credits, world.seq,
			      world.attempt);
	check_encoded(buf, again, 16);
	check_wrong_type(&frame);
	hostile_forbid(frame.data, frame.data_bytes);

	switch (frame.type) {
	case RNBD_FRAME_REQUEST:
		return take_requests(&frame, again);
	case RNBD_FRAME_REPLY:
		return take_replies(&frame, again);
	case RNBD_FRAME_CONTROL:
		return take_ctl(&frame, again);
	case RNBD_FRAME_CREDIT:
		assert_int_equal(len, 16);
		return RNBD_PERR_NONE;
	}
	fail_msg("type %u was accepted", frame.type);
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err hostile_take(enum kind kind, const u8 *buf, u32 len)
{
	switch (kind) {
	case KIND_CM_REQ:
		return take_cm_req(buf, len);
	case KIND_CM_REP:
		return take_cm_rep(buf, len);
	case KIND_CM_REJ:
		return take_cm_rej(buf, len);
	default:
		return take_frame(buf, len);
	}
}
