// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the bodies of control entries about attachments, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

static void check_handle(const struct rnbd_handle *handle)
{
	assert_true(handle->index < 4096);
	assert_true(handle->generation > 0);
}

static void check_geometry(const struct rnbd_geometry *geo)
{
	u64 block = geo->logical_block;

	assert_true(geo->flags <= 0xf);
	assert_true(!(geo->flags & 2) || geo->flags & 4);
	assert_true(is_power(block) && block >= 512 && block <= 4096);
	assert_true(geo->capacity > 0 && geo->capacity < 1ull << 63);
	assert_true(geo->capacity % block == 0);
	assert_true(is_power(geo->physical_block));
	assert_in_range(geo->physical_block, block, 1u << 20);
	assert_true(geo->io_min >= block && geo->io_min % block == 0);
	assert_true(geo->io_opt % block == 0);
	assert_true(geo->io_min <= 64u << 20 && geo->io_opt <= 64u << 20);
	if (geo->max_discard) {
		assert_true(geo->discard_granularity > 0);
		assert_true(geo->max_discard >= geo->discard_granularity);
		assert_true(geo->max_discard >= geo->physical_block);
	}
	assert_true(geo->discard_granularity % block == 0);
	assert_true(geo->discard_alignment % block == 0);
	assert_true(geo->max_discard % block == 0);
	assert_true(geo->max_write_zeroes % block == 0);
}

static enum rnbd_proto_err take_attach(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_attach_info info, untouched;
	struct rnbd_ctl_attach again;
	enum rnbd_proto_err fault;
	size_t len;

	memset(&untouched, 0xa5, sizeof(untouched));
	memcpy(&info, &untouched, sizeof(info));
	fault = rnbd_decode_attach(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	check_handle(&info.handle);
	len = strnlen(info.export, sizeof(info.export));
	assert_in_range(len, 1, 63);
	assert_int_equal(strspn(info.export, NAME_CHARS), len);
	assert_true(info.export[0] != '.');
	assert_true(is_zero(info.export + len, sizeof(info.export) - len));
	assert_true(info.flags <= 3);
	rnbd_encode_attach(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_attach_reply(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_attach_grant grant, untouched;
	struct rnbd_ctl_attach_reply again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	memcpy(&grant, &untouched, sizeof(grant));
	fault = rnbd_decode_attach_reply(entry, &grant);
	if (fault) {
		assert_memory_equal(&grant, &untouched, sizeof(grant));
		return fault;
	}
	check_handle(&grant.handle);
	assert_true(status_known(grant.status));
	if (grant.status) {
		assert_true(!grant.retry_ms || grant.status == 36 || grant.status == 38);
		assert_int_equal(grant.fence_generation, 0);
		assert_int_equal(grant.owner_generation, 0);
		assert_true(is_zero(&grant.geo, sizeof(grant.geo)));
		assert_true(is_zero(grant.incarnation, 16) && is_zero(grant.export_uuid, 16));
	} else {
		assert_int_equal(grant.retry_ms, 0);
		assert_true(grant.fence_generation > 0);
		check_geometry(&grant.geo);
	}
	rnbd_encode_attach_reply(&again, &grant);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_handle(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_handle_info info, untouched;
	struct rnbd_ctl_handle again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	memcpy(&info, &untouched, sizeof(info));
	fault = rnbd_decode_handle(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	check_handle(&info.handle);
	assert_true(status_known(info.status));
	if (entry->type == RNBD_CTL_DETACH)
		assert_int_equal(info.status, 0);
	assert_true(info.flags <= (entry->type == RNBD_CTL_DETACH));
	if (entry->type == RNBD_CTL_CLOSED)
		assert_int_not_equal(info.status, 0);
	else
		assert_int_equal(info.retry_ms, 0);
	rnbd_encode_handle(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_capacity(const struct rnbd_ctl_entry *entry)
{
	u32 block = world.exp.block_mask + 1;
	struct rnbd_capacity_info info, untouched;
	struct rnbd_ctl_capacity again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	memcpy(&info, &untouched, sizeof(info));
	fault = rnbd_decode_capacity(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	check_handle(&info.handle);
	/* the decoder accepts any capacity; rnbd_capacity_ok() checks it against the block size */
	assert_int_equal(rnbd_capacity_ok(info.capacity, block),
			 info.capacity && !(info.capacity >> 63) && info.capacity % block == 0);
	rnbd_encode_capacity(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_attach_body(const struct rnbd_ctl_entry *entry)
{
	switch (entry->type) {
	case 7:
		return take_attach(entry);
	case 8:
		return take_attach_reply(entry);
	case 12:
		return take_capacity(entry);
	default:
		return take_handle(entry);
	}
}
