// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the entries of lists of exports, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

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

static enum rnbd_proto_err take_export(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_export_info info, untouched;
	struct rnbd_ctl_export again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_export(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	check_export(&info);
	rnbd_encode_export(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_list_end(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_list_end_info info, untouched;
	struct rnbd_ctl_list_end again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_list_end(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_true(status_known(info.status));
	assert_true(!info.retry_ms || info.status == 36 || info.status == 38);
	rnbd_encode_list_end(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_list_body(const struct rnbd_ctl_entry *entry)
{
	enum rnbd_proto_err fault;

	switch (entry->type) {
	case 15:
		fault = rnbd_ctl_no_body(entry);
		if (!fault)
			check_body(entry, NULL, 0);
		return fault;
	case 16:
		return take_export(entry);
	default:
		return take_list_end(entry);
	}
}
