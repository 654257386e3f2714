// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the codec of the control entries about attachments: round trips, bounds of each field,
 * properties of an export, and bodies that are longer or shorter than in this version.
 */
#include "fixture.h"

static const struct rnbd_attach_info attach = {
	.handle = { .index = 0x0102, .generation = 0x80000001 },
	.flags = RNBD_ATTACH_READONLY, .fence_generation = 7, .owner_generation = 0x80000009,
	.export = "disk0",
};

static const struct rnbd_attach_grant granted = {
	.handle = { .index = 0x0102, .generation = 0x80000001 },
	.status = RNBD_ST_OK, .fence_generation = 7,
	.geo.capacity = 10ull << 30,
	.geo.flags = RNBD_EXPORT_FUA | RNBD_EXPORT_VOLATILE_CACHE,
	.geo.logical_block = 512, .geo.physical_block = 4096, .geo.io_min = 4096,
	.geo.io_opt = 65536, .geo.discard_granularity = 4096, .geo.discard_alignment = 512,
	.geo.max_discard = 1u << 30, .geo.max_write_zeroes = 1u << 20,
	.incarnation = { 9 }, .export_uuid = { 8, 7 }, .owner_generation = 0x80000009,
};

static const struct rnbd_capacity_info capacity = {
	.handle = { .index = 0x0102, .generation = 0x80000001 },
	.capacity = 0x1122334455667000ull,
};

/* Only DETACH has flags, and it has no status. Only CLOSED has retry_ms. */
static const struct rnbd_handle_info handles[] = {
	[RNBD_CTL_DETACH] = {
		.handle = { .index = 0x0102, .generation = 0x80000001 },
		.flags = RNBD_DETACH_KEEP_OWNER,
	},
	[RNBD_CTL_DETACHED] = {
		.handle = { .index = 0x0102, .generation = 0x80000001 },
		.status = RNBD_ST_NO_ATTACH,
	},
	[RNBD_CTL_CLOSED] = {
		.handle = { .index = 0x0102, .generation = 0x80000001 },
		.status = RNBD_ST_REMOVED, .retry_ms = 0x01020304,
	},
};

/* Bytes of the body of each type, according to Documentation/reference/protocol-control.rst. */
static const u32 sizes[] = {
	[RNBD_CTL_ATTACH] = 80, [RNBD_CTL_ATTACH_REPLY] = 104, [RNBD_CTL_DETACH] = 16,
	[RNBD_CTL_DETACHED] = 16, [RNBD_CTL_CLOSED] = 16, [RNBD_CTL_CAPACITY] = 16,
};

union result {
	struct rnbd_attach_info attach;
	struct rnbd_attach_grant grant;
	struct rnbd_handle_info handle;
	struct rnbd_capacity_info capacity;
};

#define BODY_MAX	128

/* Encode the body of a valid entry of @type. */
static void encode_body(u16 type, u8 *body)
{
	memset(body, 0xee, sizes[type]);
	switch (type) {
	case RNBD_CTL_ATTACH:
		rnbd_encode_attach((void *)body, &attach);
		break;
	case RNBD_CTL_ATTACH_REPLY:
		rnbd_encode_attach_reply((void *)body, &granted);
		break;
	case RNBD_CTL_CAPACITY:
		rnbd_encode_capacity((void *)body, &capacity);
		break;
	default:
		rnbd_encode_handle((void *)body, &handles[type]);
	}
}

static enum rnbd_proto_err decode_entry(const struct rnbd_ctl_entry *entry, union result *out)
{
	switch (entry->type) {
	case RNBD_CTL_ATTACH:
		return rnbd_decode_attach(entry, &out->attach);
	case RNBD_CTL_ATTACH_REPLY:
		return rnbd_decode_attach_reply(entry, &out->grant);
	case RNBD_CTL_CAPACITY:
		return rnbd_decode_capacity(entry, &out->capacity);
	default:
		return rnbd_decode_handle(entry, &out->handle);
	}
}

/* Decode a copy of exactly @bytes of @body: AddressSanitizer detects a read behind it. */
static enum rnbd_proto_err decode_body(u16 type, const u8 *body, u32 bytes, union result *out)
{
	u8 *copy = malloc(bytes ? bytes : 1);
	const struct rnbd_ctl_entry entry = { .type = type, .body = copy, .bytes = bytes };
	enum rnbd_proto_err fault;
	union result untouched;

	assert_non_null(copy);
	memcpy(copy, body, bytes);
	memset(&untouched, 0xa5, sizeof(untouched));
	*out = untouched;
	fault = decode_entry(&entry, out);
	if (fault)
		assert_memory_equal(out, &untouched, sizeof(untouched));
	free(copy);
	return fault;
}

static void try_patches(u16 type, const struct patch *patches, u32 nr)
{
	_Alignas(8) u8 body[BODY_MAX];
	enum rnbd_proto_err fault;
	union result out;
	u32 i;

	for (i = 0; i < nr; i++) {
		encode_body(type, body);
		unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
		fault = decode_body(type, body, sizes[type], &out);
		if (fault != patches[i].want)
			print_message("type %u, patch %u\n", type, i);
		assert_fault(fault, patches[i].want);
	}
}

static void check_attach(const struct rnbd_attach_info *info)
{
	assert_true(rnbd_handle_equal(&info->handle, &attach.handle));
	assert_int_equal(info->flags, RNBD_ATTACH_READONLY);
	assert_int_equal(info->fence_generation, 7);
	assert_int_equal(info->owner_generation, 0x80000009);
	/* The decoder also fills the bytes behind the name with zeros. */
	assert_memory_equal(info->export, attach.export, sizeof(info->export));
}

static void check_granted(const struct rnbd_attach_grant *grant)
{
	const struct rnbd_geometry *geo = &grant->geo;

	assert_true(rnbd_handle_equal(&grant->handle, &granted.handle));
	assert_int_equal(grant->status, RNBD_ST_OK);
	assert_int_equal(grant->retry_ms, 0);
	assert_int_equal(grant->fence_generation, 7);
	assert_true(geo->capacity == 10ull << 30);
	assert_int_equal(geo->flags, granted.geo.flags);
	assert_int_equal(geo->logical_block, 512);
	assert_int_equal(geo->physical_block, 4096);
	assert_int_equal(geo->io_min, 4096);
	assert_int_equal(geo->io_opt, 65536);
	assert_int_equal(geo->discard_granularity, 4096);
	assert_int_equal(geo->discard_alignment, 512);
	assert_int_equal(geo->max_discard, 1u << 30);
	assert_int_equal(geo->max_write_zeroes, 1u << 20);
	assert_memory_equal(grant->incarnation, granted.incarnation, 16);
	assert_memory_equal(grant->export_uuid, granted.export_uuid, 16);
	assert_int_equal(grant->owner_generation, 0x80000009);
}

static void check_result(u16 type, const union result *out)
{
	switch (type) {
	case RNBD_CTL_ATTACH:
		check_attach(&out->attach);
		break;
	case RNBD_CTL_ATTACH_REPLY:
		check_granted(&out->grant);
		break;
	case RNBD_CTL_CAPACITY:
		assert_true(rnbd_handle_equal(&out->capacity.handle, &capacity.handle));
		assert_true(out->capacity.capacity == capacity.capacity);
		break;
	default:
		assert_true(rnbd_handle_equal(&out->handle.handle, &handles[type].handle));
		assert_int_equal(out->handle.status, handles[type].status);
		assert_int_equal(out->handle.retry_ms, handles[type].retry_ms);
		assert_int_equal(out->handle.flags, handles[type].flags);
	}
}

/* A frame with one entry of each type is decoded to the encoded values. */
static void test_attach_round_trip(void **state)
{
	_Alignas(8) u8 body[BODY_MAX];
	struct rnbd_ctl_pos pos = { };
	struct rnbd_ctl_entry entry;
	struct message msg;
	union result out;
	u32 len = 16;
	u16 type;

	(void)state;
	message_init(&msg, RNBD_FRAME_CONTROL, 6, 0);
	for (type = RNBD_CTL_ATTACH; type <= RNBD_CTL_CAPACITY; type++) {
		const struct rnbd_ctl_entry sent = {
			.type = type, .mandatory = true, .id = type,
			.body = body, .bytes = sizes[type],
		};

		encode_body(type, body);
		rnbd_encode_ctl(msg.buf + len, &sent);
		len += 8 + sizes[type];
	}
	msg.len = len;
	assert_fault(message_decode(&msg), RNBD_PERR_NONE);
	for (type = RNBD_CTL_ATTACH; type <= RNBD_CTL_CAPACITY; type++) {
		assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_NONE);
		assert_int_equal(entry.type, type);
		memset(&out, 0xa5, sizeof(out));
		assert_fault(decode_entry(&entry, &out), RNBD_PERR_NONE);
		check_result(type, &out);
	}
	assert_fault(rnbd_decode_ctl(&msg.frame, &pos, &entry), RNBD_PERR_COUNT);
}

/*
 * A body that is too short is rejected. A longer body is accepted only if the additional bytes
 * are zero.
 */
static void test_attach_lengths(void **state)
{
	_Alignas(8) u8 body[BODY_MAX];
	union result out;
	u32 bytes, i;
	u16 type;

	(void)state;
	for (type = RNBD_CTL_ATTACH; type <= RNBD_CTL_CAPACITY; type++) {
		memset(body, 0, sizeof(body));
		encode_body(type, body);
		for (bytes = 0; bytes < sizes[type]; bytes++)
			assert_fault(decode_body(type, body, bytes, &out), RNBD_PERR_SHORT);
		for (bytes = sizes[type]; bytes <= sizeof(body); bytes += RNBD_CTL_ALIGN) {
			assert_fault(decode_body(type, body, bytes, &out), RNBD_PERR_NONE);
			check_result(type, &out);
			for (i = sizes[type]; i < bytes; i++) {
				body[i] = 0x80;
				assert_fault(decode_body(type, body, bytes, &out),
					     RNBD_PERR_RESERVED);
				body[i] = 0;
			}
		}
	}
}

/* All bodies have the index and the generation at the same offsets, with the same bounds. */
static void test_attach_handle(void **state)
{
	static const struct patch patches[] = {
		{ 0, 2, 0, RNBD_PERR_NONE },
		{ 0, 2, 4095, RNBD_PERR_NONE },
		{ 0, 2, 4096, RNBD_PERR_HANDLE },
		{ 0, 2, 0xffff, RNBD_PERR_HANDLE },
		{ 4, 4, 0, RNBD_PERR_HANDLE },
		{ 4, 4, 1, RNBD_PERR_NONE },
		{ 4, 4, 0xffffffff, RNBD_PERR_NONE },
	};
	u16 type;

	(void)state;
	for (type = RNBD_CTL_ATTACH; type <= RNBD_CTL_CAPACITY; type++)
		try_patches(type, patches, ARRAY_SIZE(patches));
}

static void test_attach(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_attach, flags, 0, NONE),
		PATCH(rnbd_ctl_attach, flags, RNBD_ATTACH_DISOWN, NONE),
		PATCH(rnbd_ctl_attach, flags, 4, FLAGS),
		PATCH(rnbd_ctl_attach, flags, 0x8001, FLAGS),
		PATCH(rnbd_ctl_attach, fence_generation, 0, NONE),
		PATCH(rnbd_ctl_attach, fence_generation, 0xffffffff, NONE),
		PATCH(rnbd_ctl_attach, owner_generation, 0, NONE),
		PATCH(rnbd_ctl_attach, owner_generation, 0xffffffff, NONE),
		{ 16 + 0, 1, 0, RNBD_PERR_NAME },
		{ 16 + 0, 1, '.', RNBD_PERR_NAME },
		{ 16 + 2, 1, '/', RNBD_PERR_NAME },
		{ 16 + 2, 1, 0, RNBD_PERR_NAME },
		{ 16 + 6, 1, 'x', RNBD_PERR_NAME },
		{ 16 + 63, 1, 'x', RNBD_PERR_NAME },
		{ 16 + 5, 1, 'x', RNBD_PERR_NONE },
	};
	_Alignas(8) u8 body[BODY_MAX];
	struct rnbd_attach_info info = attach;
	union result out;

	(void)state;
	try_patches(RNBD_CTL_ATTACH, patches, ARRAY_SIZE(patches));

	/* The encoder truncates a name of 64 bytes; the decoder rejects a name without a NUL. */
	memset(info.export, 'n', sizeof(info.export));
	rnbd_encode_attach((void *)body, &info);
	assert_fault(decode_body(RNBD_CTL_ATTACH, body, 80, &out), RNBD_PERR_NONE);
	assert_int_equal(strlen(out.attach.export), 63);
	body[79] = 'n';
	assert_fault(decode_body(RNBD_CTL_ATTACH, body, 80, &out), RNBD_PERR_NAME);
}

static void test_attach_reply(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_attach_reply, status, 13, STATUS),
		PATCH(rnbd_ctl_attach_reply, status, 31, STATUS),
		PATCH(rnbd_ctl_attach_reply, status, 52, STATUS),
		PATCH(rnbd_ctl_attach_reply, status, 0xffff, STATUS),
		PATCH(rnbd_ctl_attach_reply, status, RNBD_ST_BUSY, RESERVED),
		/* A granted ATTACH has no retry_ms. */
		PATCH(rnbd_ctl_attach_reply, retry_ms, 1, RESERVED),
		PATCH(rnbd_ctl_attach_reply, retry_ms, 1u << 31, RESERVED),
		PATCH(rnbd_ctl_attach_reply, fence_generation, 0, LIMITS),
		PATCH(rnbd_ctl_attach_reply, fence_generation, 0xffffffff, NONE),
		PATCH(rnbd_ctl_attach_reply, storage_inflight, 0xffffffff, NONE),
		PATCH(rnbd_ctl_attach_reply, incarnation[0], 0, NONE),
		PATCH(rnbd_ctl_attach_reply, export_uuid[15], 0xff, NONE),
		PATCH(rnbd_ctl_attach_reply, owner_generation, 0, NONE),
		PATCH(rnbd_ctl_attach_reply, owner_generation, 0xffffffff, NONE),
		PATCH(rnbd_ctl_attach_reply, reserved[0], 1, RESERVED),
		PATCH(rnbd_ctl_attach_reply, reserved[3], 0x80, RESERVED),
		PATCH(rnbd_ctl_attach_reply, flags, 0xf, NONE),
		PATCH(rnbd_ctl_attach_reply, flags, 0, NONE),
		PATCH(rnbd_ctl_attach_reply, flags, RNBD_EXPORT_FUA, NONE),
		PATCH(rnbd_ctl_attach_reply, flags, RNBD_EXPORT_VOLATILE_CACHE, LIMITS),
		PATCH(rnbd_ctl_attach_reply, flags, 0x10, FLAGS),
		PATCH(rnbd_ctl_attach_reply, capacity, 0, LIMITS),
		PATCH(rnbd_ctl_attach_reply, capacity, 511, LIMITS),
		PATCH(rnbd_ctl_attach_reply, capacity, 512, NONE),
		PATCH(rnbd_ctl_attach_reply, capacity, (1ull << 63) - 512, NONE),
		PATCH(rnbd_ctl_attach_reply, capacity, 1ull << 63, LIMITS),
		PATCH(rnbd_ctl_attach_reply, capacity, ~0ull, LIMITS),
		PATCH(rnbd_ctl_attach_reply, logical_block, 0, LIMITS),
		PATCH(rnbd_ctl_attach_reply, logical_block, 256, LIMITS),
		PATCH(rnbd_ctl_attach_reply, logical_block, 768, LIMITS),
		PATCH(rnbd_ctl_attach_reply, logical_block, 8192, LIMITS),
		PATCH(rnbd_ctl_attach_reply, logical_block, 1u << 31, LIMITS),
		PATCH(rnbd_ctl_attach_reply, physical_block, 0, LIMITS),
		PATCH(rnbd_ctl_attach_reply, physical_block, 256, LIMITS),
		PATCH(rnbd_ctl_attach_reply, physical_block, 512, NONE),
		PATCH(rnbd_ctl_attach_reply, physical_block, 1536, LIMITS),
		PATCH(rnbd_ctl_attach_reply, physical_block, 1u << 20, NONE),
		PATCH(rnbd_ctl_attach_reply, physical_block, 2u << 20, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_min, 0, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_min, 512, NONE),
		PATCH(rnbd_ctl_attach_reply, io_min, 513, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_min, 64u << 20, NONE),
		PATCH(rnbd_ctl_attach_reply, io_min, (64u << 20) + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_opt, 0, NONE),
		PATCH(rnbd_ctl_attach_reply, io_opt, 100, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_opt, 64u << 20, NONE),
		PATCH(rnbd_ctl_attach_reply, io_opt, (64u << 20) + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_opt, 0xfffffe00, LIMITS),
		PATCH(rnbd_ctl_attach_reply, discard_granularity, 0, LIMITS),
		PATCH(rnbd_ctl_attach_reply, discard_granularity, 1u << 30, NONE),
		PATCH(rnbd_ctl_attach_reply, discard_granularity, (1u << 30) + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, discard_granularity, 1536, NONE),
		PATCH(rnbd_ctl_attach_reply, discard_granularity, 1, LIMITS),
		PATCH(rnbd_ctl_attach_reply, discard_alignment, 0, NONE),
		PATCH(rnbd_ctl_attach_reply, discard_alignment, 1, LIMITS),
		PATCH(rnbd_ctl_attach_reply, max_discard, 0, NONE),
		PATCH(rnbd_ctl_attach_reply, max_discard, 0xffffffff, LIMITS),
		PATCH(rnbd_ctl_attach_reply, max_discard, 0xfffffe00, NONE),
		/* discard_granularity and physical_block are 4096. */
		PATCH(rnbd_ctl_attach_reply, max_discard, 3584, LIMITS),
		PATCH(rnbd_ctl_attach_reply, max_discard, 4096, NONE),
		PATCH(rnbd_ctl_attach_reply, max_write_zeroes, 0, NONE),
		PATCH(rnbd_ctl_attach_reply, max_write_zeroes, 1, LIMITS),
	};

	(void)state;
	try_patches(RNBD_CTL_ATTACH_REPLY, patches, ARRAY_SIZE(patches));
}

/* With logical blocks of 4 KiB, a size that is not a multiple of 4 KiB is rejected. */
static void test_attach_reply_blocks(void **state)
{
	static const struct patch patches[] = {
		PATCH(rnbd_ctl_attach_reply, capacity, (10ull << 30) + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, physical_block, 2048, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_min, 4096 + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, io_opt, 4096 + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, discard_granularity, 4096 + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, discard_alignment, 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, max_discard, (1u << 30) + 512, LIMITS),
		PATCH(rnbd_ctl_attach_reply, max_write_zeroes, 512, LIMITS),
	};
	_Alignas(8) u8 body[BODY_MAX];
	struct rnbd_attach_grant grant = granted;
	union result out;
	u32 i;

	(void)state;
	grant.geo.logical_block = 4096;
	grant.geo.discard_alignment = 0;
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		rnbd_encode_attach_reply((void *)body, &grant);
		assert_fault(decode_body(RNBD_CTL_ATTACH_REPLY, body, 104, &out),
			     RNBD_PERR_NONE);
		unit_put(body + patches[i].offset, patches[i].bytes, patches[i].value);
		assert_fault(decode_body(RNBD_CTL_ATTACH_REPLY, body, 104, &out),
			     patches[i].want);
	}
}

/* A refusal has only a handle and a status. With BUSY and LIMIT it may also have retry_ms. */
static void test_attach_refused(void **state)
{
	_Alignas(8) u8 body[BODY_MAX];
	struct rnbd_attach_grant grant = granted;
	union result out;
	u32 status, i;

	(void)state;
	for (status = 1; status <= 0x100; status++) {
		bool known = status <= 12 || (status >= 32 && status <= 51);
		bool retry = status == RNBD_ST_BUSY || status == RNBD_ST_LIMIT;

		grant.status = status;
		grant.retry_ms = 0;
		memset(body, 0xee, sizeof(body));
		rnbd_encode_attach_reply((void *)body, &grant);
		assert_fault(decode_body(RNBD_CTL_ATTACH_REPLY, body, 104, &out),
			     known ? RNBD_PERR_NONE : RNBD_PERR_STATUS);
		if (!known)
			continue;
		assert_true(rnbd_handle_equal(&out.grant.handle, &granted.handle));
		assert_int_equal(out.grant.status, status);
		assert_int_equal(out.grant.retry_ms, 0);
		assert_int_equal(out.grant.fence_generation, 0);
		assert_true(!out.grant.geo.capacity && !out.grant.geo.logical_block);
		for (i = 12; i < 104; i++) {
			body[i] = 1;
			assert_fault(decode_body(RNBD_CTL_ATTACH_REPLY, body, 104, &out),
				     RNBD_PERR_RESERVED);
			body[i] = 0;
		}

		grant.retry_ms = 0x01020304;
		rnbd_encode_attach_reply((void *)body, &grant);
		assert_fault(decode_body(RNBD_CTL_ATTACH_REPLY, body, 104, &out),
			     retry ? RNBD_PERR_NONE : RNBD_PERR_RESERVED);
		if (retry)
			assert_int_equal(out.grant.retry_ms, 0x01020304);
	}
}

static void test_handle_entries(void **state)
{
	static const struct patch reserved[] = {
		{ 14, 1, 1, RNBD_PERR_RESERVED },
		{ 15, 1, 0x80, RNBD_PERR_RESERVED },
	};
	static const struct patch flags[] = {
		PATCH(rnbd_ctl_handle, flags, 0, NONE),
		PATCH(rnbd_ctl_handle, flags, RNBD_DETACH_KEEP_OWNER, NONE),
		PATCH(rnbd_ctl_handle, flags, 2, FLAGS),
		PATCH(rnbd_ctl_handle, flags, 0x8001, FLAGS),
	};
	static const struct patch no_flags[] = {
		PATCH(rnbd_ctl_handle, flags, RNBD_DETACH_KEEP_OWNER, RESERVED),
		PATCH(rnbd_ctl_handle, flags, 0x8000, RESERVED),
	};
	static const struct patch no_retry[] = {
		PATCH(rnbd_ctl_handle, retry_ms, 1, RESERVED),
		PATCH(rnbd_ctl_handle, retry_ms, 1u << 31, RESERVED),
	};
	static const struct patch retry[] = {
		PATCH(rnbd_ctl_handle, retry_ms, 0, NONE),
		PATCH(rnbd_ctl_handle, retry_ms, 0xffffffff, NONE),
	};
	u32 status;
	u16 type;

	(void)state;
	for (type = RNBD_CTL_DETACH; type <= RNBD_CTL_CLOSED; type++)
		try_patches(type, reserved, ARRAY_SIZE(reserved));
	try_patches(RNBD_CTL_DETACH, no_retry, ARRAY_SIZE(no_retry));
	try_patches(RNBD_CTL_DETACHED, no_retry, ARRAY_SIZE(no_retry));
	try_patches(RNBD_CTL_CLOSED, retry, ARRAY_SIZE(retry));
	try_patches(RNBD_CTL_DETACH, flags, ARRAY_SIZE(flags));
	try_patches(RNBD_CTL_DETACHED, no_flags, ARRAY_SIZE(no_flags));
	try_patches(RNBD_CTL_CLOSED, no_flags, ARRAY_SIZE(no_flags));

	for (status = 0; status <= 0x100; status++) {
		bool known = status <= 12 || (status >= 32 && status <= 51);
		const struct patch detach = PATCH(rnbd_ctl_handle, status, status, STATUS);
		struct patch other = detach;

		if (status)
			try_patches(RNBD_CTL_DETACH, &detach, 1);
		other.want = known ? RNBD_PERR_NONE : RNBD_PERR_STATUS;
		try_patches(RNBD_CTL_DETACHED, &other, 1);
		if (!status)
			other.want = RNBD_PERR_STATUS;
		try_patches(RNBD_CTL_CLOSED, &other, 1);
	}
}

/* The decoder does not check the capacity: its caller does, which knows the size of a block. */
static void test_capacity(void **state)
{
	static const struct patch patches[] = {
		{ 2, 1, 1, RNBD_PERR_RESERVED },
		{ 3, 1, 0x80, RNBD_PERR_RESERVED },
		PATCH(rnbd_ctl_capacity, capacity, 0, NONE),
		PATCH(rnbd_ctl_capacity, capacity, 4097, NONE),
		PATCH(rnbd_ctl_capacity, capacity, ~0ull, NONE),
	};
	static const struct {
		u64 capacity;
		bool ok;
	} try[] = {
		{ 4096, true }, { 1ull << 40, true }, { ~0ull / 2 - 4095, true },
		{ 0, false }, { 512, false }, { 4097, false }, { 1ull << 63, false },
		{ ~0ull - 4095, false }, { ~0ull, false },
	};
	u32 i;

	(void)state;
	try_patches(RNBD_CTL_CAPACITY, patches, ARRAY_SIZE(patches));
	for (i = 0; i < ARRAY_SIZE(try); i++)
		assert_int_equal(rnbd_capacity_ok(try[i].capacity, 4096), try[i].ok);
	assert_true(rnbd_capacity_ok(4096 + 512, 512));
}

int codec_attach_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach_round_trip),
		cmocka_unit_test(test_attach_lengths),
		cmocka_unit_test(test_attach_handle),
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_attach_reply),
		cmocka_unit_test(test_attach_reply_blocks),
		cmocka_unit_test(test_attach_refused),
		cmocka_unit_test(test_handle_entries),
		cmocka_unit_test(test_capacity),
	};

	return cmocka_run_group_tests_name("attach", tests, NULL, NULL);
}
