// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the entries of CONTROL frames, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

u64 ctl_accepted;
u64 ctl_bodies_accepted[CTL_LAST + 1];

bool ctl_known(u16 type)
{
	return type && type <= RNBD_CTL_SLOTS_REPLY;
}

void check_body(const struct rnbd_ctl_entry *entry, const void *again, u32 bytes)
{
	const u8 *body = hostile_original(entry->body);

	assert_true(entry->bytes >= bytes);
	if (bytes)
		assert_memory_equal(body, again, bytes);
	assert_true(is_zero(body + bytes, entry->bytes - bytes));
	ctl_bodies_accepted[entry->type]++;
}

static enum rnbd_proto_err take_body(const struct rnbd_ctl_entry *entry)
{
	if (!ctl_known(entry->type)) {
		/* a mandatory entry of an unknown type is an error, an optional one is skipped */
		assert_int_equal(rnbd_ctl_unknown(entry),
				 entry->mandatory ? RNBD_PERR_TYPE : RNBD_PERR_NONE);
		ctl_bodies_accepted[0]++;
		return RNBD_PERR_NONE;
	}
	switch (entry->type) {
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
		return take_login_body(entry);
	case 13:
	case 14:
		return take_query(entry);
	case 15:
	case 16:
	case 17:
		return take_list_body(entry);
	case 18:
	case 19:
	case 20:
	case 21:
	case 22:
		return take_lease_body(entry);
	case 23:
	case 24:
		return take_slots(entry);
	default:
		return take_attach_body(entry);
	}
}

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
