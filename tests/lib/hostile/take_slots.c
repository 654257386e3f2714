// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode entries about receive slots, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

enum rnbd_proto_err take_slots(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_slots_info info, untouched;
	struct rnbd_ctl_slots again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_slots(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_in_range(info.slots, 4, 1024);
	assert_in_range(info.depth, 0, 4096);
	rnbd_encode_slots(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}
