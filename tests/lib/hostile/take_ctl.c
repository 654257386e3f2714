// SPDX-License-Identifier: GPL-2.0-only
/*
 * CONTROL frames that the decoder accepted or refused.
 */
#include "hostile_assert.h"
#include "take.h"

u64 ctl_accepted;

enum rnbd_proto_err take_ctl(struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_ctl_entry entry, untouched, original;
	struct rnbd_ctl_pos pos = { };
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	while (pos.index < frame->nr_entries) {
		struct rnbd_ctl_pos before = pos;

		entry = untouched;
		fault = rnbd_decode_ctl(frame, &pos, &entry);
		if (fault) {
			assert_memory_equal(&entry, &untouched, sizeof(entry));
			assert_int_equal(pos.index, before.index);
			assert_int_equal(pos.offset, before.offset);
			return fault;
		}
		assert_in_range(entry.type, 1, 0x7fff);
		assert_int_equal(entry.bytes % 8, 0);
		assert_ptr_equal(entry.body, (const u8 *)frame->entries + before.offset + 8);
		assert_int_equal(pos.index, before.index + 1);
		assert_int_equal(pos.offset, before.offset + 8 + entry.bytes);
		assert_true(pos.offset <= frame->bytes);
		original = entry;
		original.body = hostile_original(entry.body);
		rnbd_encode_ctl(again, &original);
		check_encoded((const u8 *)frame->entries + before.offset, again,
			      8 + entry.bytes);
		fault = take_body(&entry);
		if (fault)
			return fault;
		ctl_accepted++;
	}
	assert_int_equal(pos.offset, frame->bytes);
	return RNBD_PERR_NONE;
}
