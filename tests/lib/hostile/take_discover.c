// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of exports that the decoder accepted or refused.
 */
#include "hostile_assert.h"
#include "take.h"

u64 exports_accepted;

static void check_export(const struct rnbd_export_info *info)
{
	u64 block = info->logical_block;
	size_t len = strnlen(info->name, sizeof(info->name));

	assert_in_range(len, 1, 63);
	assert_int_equal(strspn(info->name, NAME_CHARS), len);
	assert_true(info->name[0] != '.');
	assert_true(is_zero(info->name + len, 64 - len));
	assert_true(is_power(block) && block >= 512 && block <= 4096);
	assert_true(info->capacity > 0 && info->capacity < 1ull << 63);
	assert_true(info->capacity % block == 0);
	assert_true(info->flags <= 1);
}

enum rnbd_proto_err take_discover(const struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_export_info export, export_untouched;
	struct rnbd_discover_info info, untouched;
	enum rnbd_proto_err fault;
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&export_untouched, 0xa5, sizeof(export_untouched));
	info = untouched;
	fault = rnbd_decode_discover_reply(frame, world.room, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_int_equal(frame->nr_entries, 1 + info.nr_exports);
	assert_true(info.nr_exports <= world.room);
	assert_true(info.status == RNBD_ST_OK || !info.nr_exports);
	assert_true(info.nr_exports || !info.more);
	rnbd_encode_discover_reply((void *)again, info.status, info.more);
	check_encoded(frame->entries, again, 16);

	for (i = 0; i < info.nr_exports; i++) {
		export = export_untouched;
		fault = rnbd_decode_export(frame, i, &export);
		if (fault) {
			assert_memory_equal(&export, &export_untouched,
					    sizeof(export));
			return fault;
		}
		check_export(&export);
		rnbd_encode_export((void *)(again + 16 + 112 * i), &export);
		exports_accepted++;
	}
	assert_int_equal(rnbd_decode_export(frame, info.nr_exports, &export),
			 RNBD_PERR_COUNT);
	check_encoded(frame->entries, again, frame->bytes);
	return RNBD_PERR_NONE;
}
