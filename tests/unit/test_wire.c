// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that the wire format does not change by accident: each member has its offset and size of
 * version 1 of the protocol, and the encoders write the expected bytes. The expected numbers are
 * literals, not derived from the structures. wire/ctl.c tests more control entries.
 */
#include "cm.h"
#include "discover.h"
#include "io.h"
#include "lease.h"
#include "login.h"
#include "unit.h"
#include "wire/fixture.h"

struct member {
	const char *name;
	size_t offset, is_offset;
	size_t size, is_size;
};

#define MEMBER(type, member, offset, size) {				\
	#type "." #member, offset, offsetof(struct type, member),	\
	size, sizeof(((struct type *)0)->member)			\
}

static const struct member members[] = {
	MEMBER(rnbd_cm_req, magic, 0, 4),
	MEMBER(rnbd_cm_req, version, 4, 2),
	MEMBER(rnbd_cm_req, conn, 6, 2),
	MEMBER(rnbd_cm_req, ring_slots, 8, 2),
	MEMBER(rnbd_cm_req, path, 10, 2),
	MEMBER(rnbd_cm_req, slot_size, 12, 4),
	MEMBER(rnbd_cm_req, epoch, 16, 4),
	MEMBER(rnbd_cm_req, attempt, 20, 4),
	MEMBER(rnbd_cm_req, host_id, 24, 16),
	MEMBER(rnbd_cm_req, session_id, 40, 16),
	MEMBER(rnbd_cm_rep, magic, 0, 4),
	MEMBER(rnbd_cm_rep, version, 4, 2),
	MEMBER(rnbd_cm_rep, ring_slots, 6, 2),
	MEMBER(rnbd_cm_rep, slot_size, 8, 4),
	MEMBER(rnbd_cm_rep, attempt, 12, 4),
	MEMBER(rnbd_cm_rej, magic, 0, 4),
	MEMBER(rnbd_cm_rej, version, 4, 2),
	MEMBER(rnbd_cm_rej, status, 6, 2),
	MEMBER(rnbd_cm_rej, retry_ms, 8, 4),
	MEMBER(rnbd_cm_rej, reserved, 12, 4),
	MEMBER(rnbd_frame_hdr, type, 0, 1),
	MEMBER(rnbd_frame_hdr, flags, 1, 1),
	MEMBER(rnbd_frame_hdr, nr_entries, 2, 2),
	MEMBER(rnbd_frame_hdr, credits, 4, 2),
	MEMBER(rnbd_frame_hdr, reserved, 6, 2),
	MEMBER(rnbd_frame_hdr, seq, 8, 4),
	MEMBER(rnbd_frame_hdr, attempt, 12, 4),
	MEMBER(rnbd_ctl_login, boot_id, 0, 16),
	MEMBER(rnbd_ctl_login, features, 16, 8),
	MEMBER(rnbd_ctl_login, pool_bytes, 24, 8),
	MEMBER(rnbd_ctl_login, max_io, 32, 4),
	MEMBER(rnbd_ctl_login, nr_queues, 36, 2),
	MEMBER(rnbd_ctl_login, queue_depth, 38, 2),
	MEMBER(rnbd_ctl_login, flags, 40, 4),
	MEMBER(rnbd_ctl_login, keepalive_ms, 44, 4),
	MEMBER(rnbd_ctl_login, inline_read, 48, 4),
	MEMBER(rnbd_ctl_login, inline_write, 52, 4),
	MEMBER(rnbd_ctl_login, fence_generation, 56, 4),
	MEMBER(rnbd_ctl_login, pool_min, 60, 4),
	MEMBER(rnbd_ctl_login_reply, status, 0, 2),
	MEMBER(rnbd_ctl_login_reply, nr_queues, 2, 2),
	MEMBER(rnbd_ctl_login_reply, queue_depth, 4, 2),
	MEMBER(rnbd_ctl_login_reply, reserved, 6, 2),
	MEMBER(rnbd_ctl_login_reply, retry_ms, 8, 4),
	MEMBER(rnbd_ctl_login_reply, keepalive_ms, 12, 4),
	MEMBER(rnbd_ctl_login_reply, features, 16, 8),
	MEMBER(rnbd_ctl_login_reply, max_io, 24, 4),
	MEMBER(rnbd_ctl_login_reply, pool_units, 28, 4),
	MEMBER(rnbd_ctl_login_reply, segment_units, 32, 4),
	MEMBER(rnbd_ctl_login_reply, nr_segments, 36, 4),
	MEMBER(rnbd_ctl_login_reply, inline_read, 40, 4),
	MEMBER(rnbd_ctl_login_reply, inline_write, 44, 4),
	MEMBER(rnbd_ctl_login_reply, target_uuid, 48, 16),
	MEMBER(rnbd_ctl_login_reply, join_key, 64, 32),
	MEMBER(rnbd_ctl_login_reply, max_units, 96, 4),
	MEMBER(rnbd_ctl_login_reply, nr_slots, 100, 4),
	MEMBER(rnbd_ctl_join_reply, status, 0, 2),
	MEMBER(rnbd_ctl_join_reply, reserved, 2, 2),
	MEMBER(rnbd_ctl_join_reply, retry_ms, 4, 4),
	MEMBER(rnbd_ctl_join_reply, mac, 8, 32),
	MEMBER(rnbd_ctl_segment, addr, 0, 8),
	MEMBER(rnbd_ctl_segment, slot, 8, 4),
	MEMBER(rnbd_ctl_segment, generation, 12, 4),
	MEMBER(rnbd_ctl_segment, units, 16, 4),
	MEMBER(rnbd_ctl_segment, rkey, 20, 4),
	MEMBER(rnbd_ctl_want, units, 0, 4),
	MEMBER(rnbd_ctl_want, reserved, 4, 4),
	MEMBER(rnbd_ctl_lease, slot, 0, 4),
	MEMBER(rnbd_ctl_lease, generation, 4, 4),
	MEMBER(rnbd_ctl_lease, deadline_ms, 8, 4),
	MEMBER(rnbd_ctl_lease, reserved, 12, 4),
	MEMBER(rnbd_ctl_slots, slots, 0, 2),
	MEMBER(rnbd_ctl_slots, depth, 2, 2),
	MEMBER(rnbd_ctl_slots, reserved, 4, 4),
	MEMBER(rnbd_ctl_export, name, 0, 64),
	MEMBER(rnbd_ctl_export, uuid, 64, 16),
	MEMBER(rnbd_ctl_export, capacity, 80, 8),
	MEMBER(rnbd_ctl_export, logical_block, 88, 4),
	MEMBER(rnbd_ctl_export, flags, 92, 4),
	MEMBER(rnbd_ctl_export, reserved, 96, 16),
	MEMBER(rnbd_ctl_list_end, status, 0, 2),
	MEMBER(rnbd_ctl_list_end, reserved, 2, 2),
	MEMBER(rnbd_ctl_list_end, retry_ms, 4, 4),
	MEMBER(rnbd_wire_extent, unit, 0, 4),
	MEMBER(rnbd_wire_extent, units, 4, 4),
	MEMBER(rnbd_req_entry, op, 0, 1),
	MEMBER(rnbd_req_entry, flags, 1, 1),
	MEMBER(rnbd_req_entry, tag, 2, 2),
	MEMBER(rnbd_req_entry, length, 4, 4),
	MEMBER(rnbd_req_entry, offset, 8, 8),
	MEMBER(rnbd_req_entry, extent, 16, 8),
	MEMBER(rnbd_req_entry, nr_extents, 24, 1),
	MEMBER(rnbd_req_entry, reserved, 25, 1),
	MEMBER(rnbd_req_entry, index, 26, 2),
	MEMBER(rnbd_req_entry, generation, 28, 4),
	MEMBER(rnbd_wire_extent_entry, extent, 0, 32),
	MEMBER(rnbd_reply_entry, tag, 0, 2),
	MEMBER(rnbd_reply_entry, status, 2, 2),
	MEMBER(rnbd_reply_entry, length, 4, 4),
	MEMBER(rnbd_reply_entry, flags, 8, 1),
	MEMBER(rnbd_reply_entry, reserved, 9, 7),
	MEMBER(rnbd_ctl_query, tag, 0, 2),
	MEMBER(rnbd_ctl_query, state, 2, 1),
	MEMBER(rnbd_ctl_query, reserved, 3, 5),
	MEMBER(rnbd_ctl, type, 0, 2),
	MEMBER(rnbd_ctl, length, 2, 2),
	MEMBER(rnbd_ctl, id, 4, 4),
	MEMBER(rnbd_ctl_attach, index, 0, 2),
	MEMBER(rnbd_ctl_attach, flags, 2, 2),
	MEMBER(rnbd_ctl_attach, generation, 4, 4),
	MEMBER(rnbd_ctl_attach, fence_generation, 8, 4),
	MEMBER(rnbd_ctl_attach, owner_generation, 12, 4),
	MEMBER(rnbd_ctl_attach, export, 16, 64),
	MEMBER(rnbd_ctl_attach_reply, index, 0, 2),
	MEMBER(rnbd_ctl_attach_reply, status, 2, 2),
	MEMBER(rnbd_ctl_attach_reply, generation, 4, 4),
	MEMBER(rnbd_ctl_attach_reply, retry_ms, 8, 4),
	MEMBER(rnbd_ctl_attach_reply, fence_generation, 12, 4),
	MEMBER(rnbd_ctl_attach_reply, capacity, 16, 8),
	MEMBER(rnbd_ctl_attach_reply, flags, 24, 4),
	MEMBER(rnbd_ctl_attach_reply, logical_block, 28, 4),
	MEMBER(rnbd_ctl_attach_reply, physical_block, 32, 4),
	MEMBER(rnbd_ctl_attach_reply, io_min, 36, 4),
	MEMBER(rnbd_ctl_attach_reply, io_opt, 40, 4),
	MEMBER(rnbd_ctl_attach_reply, discard_granularity, 44, 4),
	MEMBER(rnbd_ctl_attach_reply, discard_alignment, 48, 4),
	MEMBER(rnbd_ctl_attach_reply, max_discard, 52, 4),
	MEMBER(rnbd_ctl_attach_reply, max_write_zeroes, 56, 4),
	MEMBER(rnbd_ctl_attach_reply, storage_inflight, 60, 4),
	MEMBER(rnbd_ctl_attach_reply, incarnation, 64, 16),
	MEMBER(rnbd_ctl_attach_reply, export_uuid, 80, 16),
	MEMBER(rnbd_ctl_attach_reply, owner_generation, 96, 4),
	MEMBER(rnbd_ctl_attach_reply, reserved, 100, 4),
	MEMBER(rnbd_ctl_handle, index, 0, 2),
	MEMBER(rnbd_ctl_handle, status, 2, 2),
	MEMBER(rnbd_ctl_handle, generation, 4, 4),
	MEMBER(rnbd_ctl_handle, retry_ms, 8, 4),
	MEMBER(rnbd_ctl_handle, flags, 12, 2),
	MEMBER(rnbd_ctl_handle, reserved, 14, 2),
	MEMBER(rnbd_ctl_capacity, index, 0, 2),
	MEMBER(rnbd_ctl_capacity, reserved, 2, 2),
	MEMBER(rnbd_ctl_capacity, generation, 4, 4),
	MEMBER(rnbd_ctl_capacity, capacity, 8, 8),
	MEMBER(rnbd_ctl_challenge, nonce, 0, 32),
	MEMBER(rnbd_ctl_challenge, target_uuid, 32, 16),
	MEMBER(rnbd_ctl_proof, nonce, 0, 32),
	MEMBER(rnbd_ctl_proof, mac, 32, 32),
	MEMBER(rnbd_auth_text, label, 0, 16),
	MEMBER(rnbd_auth_text, req, 16, 56),
	MEMBER(rnbd_auth_text, login, 72, 64),
	MEMBER(rnbd_auth_text, target_nonce, 136, 32),
	MEMBER(rnbd_auth_text, client_nonce, 168, 32),
	MEMBER(rnbd_auth_text, target_uuid, 200, 16),
	MEMBER(rnbd_join_text, label, 0, 16),
	MEMBER(rnbd_join_text, req, 16, 56),
	MEMBER(rnbd_join_text, target_nonce, 72, 32),
	MEMBER(rnbd_join_text, client_nonce, 104, 32),
};

static void test_layout(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(members); i++) {
		if (members[i].offset != members[i].is_offset ||
		    members[i].size != members[i].is_size)
			fail_msg("%s: %zu+%zu, must be %zu+%zu",
				 members[i].name,
				 members[i].is_offset, members[i].is_size,
				 members[i].offset, members[i].size);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct rnbd_cm_req), 56);
	assert_int_equal(sizeof(struct rnbd_cm_rep), 16);
	assert_int_equal(sizeof(struct rnbd_cm_rej), 16);
	assert_int_equal(sizeof(struct rnbd_frame_hdr), 16);
	assert_int_equal(sizeof(struct rnbd_ctl_login), 64);
	assert_int_equal(sizeof(struct rnbd_ctl_login_reply), 104);
	assert_int_equal(sizeof(struct rnbd_ctl_segment), 24);
	assert_int_equal(sizeof(struct rnbd_ctl_want), 8);
	assert_int_equal(sizeof(struct rnbd_ctl_lease), 16);
	assert_int_equal(sizeof(struct rnbd_ctl_slots), 8);
	assert_int_equal(sizeof(struct rnbd_ctl_export), 112);
	assert_int_equal(sizeof(struct rnbd_ctl_list_end), 8);
	assert_int_equal(sizeof(struct rnbd_wire_extent), 8);
	assert_int_equal(sizeof(struct rnbd_req_entry), 32);
	assert_int_equal(sizeof(struct rnbd_wire_extent_entry), 32);
	assert_int_equal(sizeof(struct rnbd_reply_entry), 16);
	assert_int_equal(sizeof(struct rnbd_ctl_query), 8);
	assert_int_equal(sizeof(struct rnbd_ctl), 8);
	assert_int_equal(sizeof(struct rnbd_ctl_attach), 80);
	assert_int_equal(sizeof(struct rnbd_ctl_attach_reply), 104);
	assert_int_equal(sizeof(struct rnbd_ctl_handle), 16);
	assert_int_equal(sizeof(struct rnbd_ctl_capacity), 16);
	assert_int_equal(sizeof(struct rnbd_ctl_join_reply), 40);
	assert_int_equal(sizeof(struct rnbd_ctl_challenge), 48);
	assert_int_equal(sizeof(struct rnbd_ctl_proof), 64);
	assert_int_equal(sizeof(struct rnbd_auth_text), 216);
	assert_int_equal(sizeof(struct rnbd_join_text), 136);
}

static void test_numbers(void **state)
{
	static const struct {
		u32 is, must_be;
	} number[] = {
		{ RNBD_VERSION, 1 }, { RNBD_DEFAULT_PORT, 4427 },
		{ RNBD_UNIT_SIZE, 4096 }, { RNBD_EXTENTS_MAX, 17 },
		{ RNBD_CONNS_MAX, 1024 }, { RNBD_PATHS_MAX, 16 }, { RNBD_DEPTH_MAX, 4096 },
		{ RNBD_SEGMENTS_MAX, 16384 }, { RNBD_SEGMENT_GRANULE, 64 },
		{ RNBD_FRAME_CONTROL, 1 },
		{ RNBD_FRAME_REQUEST, 3 }, { RNBD_FRAME_REPLY, 4 },
		{ RNBD_FRAME_CREDIT, 5 },
		{ RNBD_QUERY_EXECUTING, 1 }, { RNBD_QUERY_UNKNOWN, 2 },
		{ RNBD_SECRET_SIZE, 32 }, { RNBD_MAC_SIZE, 32 },
		{ RNBD_OP_READ, 1 }, { RNBD_OP_WRITE, 2 },
		{ RNBD_OP_FLUSH, 3 }, { RNBD_OP_DISCARD, 4 },
		{ RNBD_OP_WRITE_ZEROES, 5 },
		{ RNBD_REQ_FUA, 1 }, { RNBD_REQ_NOUNMAP, 2 },
		{ RNBD_REQ_INLINE, 4 }, { RNBD_REPLY_INLINE, 1 },
		{ RNBD_FRAME_DATA, 1 }, { RNBD_FEATURE_INLINE, 1 },
		{ RNBD_FEATURES, 1 },
		{ RNBD_ATTACH_READONLY, 1 }, { RNBD_ATTACH_DISOWN, 2 },
		{ RNBD_ATTACH_FLAGS, 3 },
		{ RNBD_ATTACH_MAX, 4096 }, { RNBD_CTL_OPEN_MAX, 16 },
		{ RNBD_CTL_MANDATORY, 0x8000 }, { RNBD_CTL_ALIGN, 8 },
		{ RNBD_CTL_LOGIN, 1 }, { RNBD_CTL_LOGIN_REPLY, 2 },
		{ RNBD_CTL_JOIN, 3 }, { RNBD_CTL_JOIN_REPLY, 4 },
		{ RNBD_CTL_CHALLENGE, 5 }, { RNBD_CTL_PROOF, 6 },
		{ RNBD_CTL_ATTACH, 7 }, { RNBD_CTL_ATTACH_REPLY, 8 },
		{ RNBD_CTL_DETACH, 9 }, { RNBD_CTL_DETACHED, 10 },
		{ RNBD_CTL_CLOSED, 11 }, { RNBD_CTL_CAPACITY, 12 },
		{ RNBD_CTL_QUERY, 13 }, { RNBD_CTL_QUERY_REPLY, 14 },
		{ RNBD_CTL_LIST, 15 }, { RNBD_CTL_EXPORT, 16 },
		{ RNBD_CTL_LIST_END, 17 }, { RNBD_CTL_SEGMENT, 18 },
		{ RNBD_CTL_WANT, 19 }, { RNBD_CTL_RECLAIM, 20 },
		{ RNBD_CTL_RELEASE, 21 }, { RNBD_CTL_RELEASED, 22 },
		{ RNBD_CTL_SLOTS, 23 }, { RNBD_CTL_SLOTS_REPLY, 24 },
		{ RNBD_DEPTH_FIRST, 16 },
		{ RNBD_EXPORTS_MAX, 65536 },
		{ RNBD_EXPORT_READONLY, 1 }, { RNBD_EXPORT_VOLATILE_CACHE, 2 },
		{ RNBD_EXPORT_FUA, 4 }, { RNBD_EXPORT_ROTATIONAL, 8 },
		{ RNBD_ST_OK, 0 }, { RNBD_ST_IO, 1 }, { RNBD_ST_MEDIUM, 2 },
		{ RNBD_ST_NOSPC, 3 }, { RNBD_ST_READONLY, 4 },
		{ RNBD_ST_RANGE, 5 }, { RNBD_ST_NOTSUPP, 6 },
		{ RNBD_ST_NOMEM, 7 }, { RNBD_ST_GONE, 8 }, { RNBD_ST_RESV, 9 },
		{ RNBD_ST_REFUSED, 10 }, { RNBD_ST_PROTECTION, 11 },
		{ RNBD_ST_CLOSED, 12 },
		{ RNBD_ST_MALFORMED, 32 }, { RNBD_ST_VERSION, 33 },
		{ RNBD_ST_HOST_DENIED, 34 }, { RNBD_ST_NO_EXPORT, 35 },
		{ RNBD_ST_BUSY, 36 }, { RNBD_ST_POOL_FULL, 37 },
		{ RNBD_ST_LIMIT, 38 }, { RNBD_ST_EPOCH, 39 },
		{ RNBD_ST_NO_SESSION, 40 }, { RNBD_ST_QUEUE, 41 },
		{ RNBD_ST_RING, 42 }, { RNBD_ST_DEVICE, 43 },
		{ RNBD_ST_SHUTDOWN, 44 }, { RNBD_ST_AUTH, 45 },
		{ RNBD_ST_FENCED, 46 }, { RNBD_ST_REVOKED, 47 },
		{ RNBD_ST_ATTACHED, 48 }, { RNBD_ST_NO_ATTACH, 49 },
		{ RNBD_ST_REMOVED, 50 }, { RNBD_ST_OWNED, 51 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(number); i++)
		assert_int_equal(number[i].is, number[i].must_be);
}

/* The bytes of a frame with one request of two extents. */
static void test_golden_request(void **state)
{
	static const u8 golden[] = {
		/* REQUEST, 2 entries, 5 credits, frame 0x01020304, attempt 7 */
		0x03, 0x00, 0x02, 0x00, 0x05, 0x00, 0x00, 0x00,
		0x04, 0x03, 0x02, 0x01, 0x07, 0x00, 0x00, 0x00,
		/* WRITE, FUA, tag 0x0123, length 0x3000 */
		0x02, 0x01, 0x23, 0x01, 0x00, 0x30, 0x00, 0x00,
		/* offset 0x1122334455667000 */
		0x00, 0x70, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		/* unit 0x010203, 1 unit; 2 extents; attachment 0x0405, 0x06070809 */
		0x03, 0x02, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x05, 0x04, 0x09, 0x08, 0x07, 0x06,
		/* unit 0x0f0e0d, 2 units; the other extents are zero */
		0x0d, 0x0e, 0x0f, 0x00, 0x02, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	const struct rnbd_request req = {
		.op = RNBD_OP_WRITE,
		.flags = RNBD_REQ_FUA,
		.tag = 0x0123,
		.length = 0x3000,
		.offset = 0x1122334455667000ull,
		.handle = { .index = 0x0405, .generation = 0x06070809 },
		.nr_extents = 2,
		.extents = { { 0x010203, 1 }, { 0x0f0e0d, 2 } },
	};
	_Alignas(8) u8 frame[sizeof(golden)];

	(void)state;
	memset(frame, 0xee, sizeof(frame));
	rnbd_encode_frame_hdr(frame, RNBD_FRAME_REQUEST, 0, 2, 5, 0x01020304, 7);
	rnbd_encode_request((void *)(frame + 16), &req);
	assert_memory_equal(frame, golden, sizeof(golden));
}

static void test_golden_reply(void **state)
{
	static const u8 golden[] = {
		0x23, 0x01, 0x09, 0x00, 0x04, 0x03, 0x02, 0x01,
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	const struct rnbd_reply reply = {
		.tag = 0x0123, .status = RNBD_ST_RESV, .length = 0x01020304,
		.is_inline = true,
	};
	struct rnbd_reply_entry entry;

	(void)state;
	memset(&entry, 0xee, sizeof(entry));
	rnbd_encode_reply(&entry, &reply);
	assert_memory_equal(&entry, golden, sizeof(golden));
}

static void test_golden_query(void **state)
{
	static const u8 golden[] = {
		0x23, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	const struct rnbd_query_info query = { .tag = 0x0123, .state = RNBD_QUERY_UNKNOWN };
	struct rnbd_ctl_query wire;

	(void)state;
	memset(&wire, 0xee, sizeof(wire));
	rnbd_encode_query(&wire, &query);
	assert_memory_equal(&wire, golden, sizeof(golden));
}

static void test_golden_connection(void **state)
{
	static const u8 req_golden[] = {
		'R', 'N', 'B', 'D', 0x01, 0x00, 0x02, 0x00,
		0x80, 0x00, 0x03, 0x00, 0x00, 0x10, 0x00, 0x00,
		0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11,
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
	};
	static const u8 rep_golden[] = {
		'R', 'N', 'B', 'D', 0x01, 0x00, 0x80, 0x00,
		0x00, 0x10, 0x00, 0x00, 0x14, 0x13, 0x12, 0x11,
	};
	static const u8 rej_golden[] = {
		'R', 'N', 'B', 'D', 0x01, 0x00, 0x24, 0x00,
		0x24, 0x23, 0x22, 0x21, 0x00, 0x00, 0x00, 0x00,
	};
	const struct rnbd_conn_req req = {
		.conn = 2, .path = 3, .ring_slots = 128, .slot_size = 4096,
		.epoch = 0x01020304, .attempt = 0x11121314,
		.host_id = { 1, 2, 3, 4, 5, 6, 7, 8,
			     9, 10, 11, 12, 13, 14, 15, 16 },
		.session_id = { 16, 15, 14, 13, 12, 11, 10, 9,
				8, 7, 6, 5, 4, 3, 2, 1 },
	};
	struct rnbd_cm_req req_wire;
	struct rnbd_cm_rep rep_wire;
	struct rnbd_cm_rej rej_wire;

	(void)state;
	memset(&req_wire, 0xee, sizeof(req_wire));
	memset(&rep_wire, 0xee, sizeof(rep_wire));
	memset(&rej_wire, 0xee, sizeof(rej_wire));
	rnbd_encode_cm_req(&req_wire, &req);
	rnbd_encode_cm_rep(&rep_wire, 128, 4096, 0x11121314);
	rnbd_encode_cm_rej(&rej_wire, &(struct rnbd_refusal) {
		.status = RNBD_ST_BUSY, .retry_ms = 0x21222324,
	});
	assert_memory_equal(&req_wire, req_golden, sizeof(req_golden));
	assert_memory_equal(&rep_wire, rep_golden, sizeof(rep_golden));
	assert_memory_equal(&rej_wire, rej_golden, sizeof(rej_golden));
}

/* Each member has a different value, so that a member in the wrong place is detected. */
static void test_golden_login(void **state)
{
	const struct rnbd_login_info info = {
		.boot_id = { 9, 8, 7 },
		.features = 0x0102030405060708ull,
		.pool_bytes = 0x1112131415161718ull,
		.max_io = 0x21222324, .nr_queues = 0x3132,
		.queue_depth = 0x4142,
		.keepalive_ms = 0x61626364,
		.inline_read = 0x71727374, .inline_write = 0x81828384,
		.pool_min = 0x91929394,
	};
	const struct rnbd_grant grant = {
		.status = RNBD_ST_OK, .nr_queues = 0x0102,
		.queue_depth = 0x0304, .features = 0x1112131415161718ull,
		.max_io = 0x31, .pool_units = 0x32, .segment_units = 0x33,
		.nr_segments = 0x34, .keepalive_ms = 0x35,
		.inline_read = 0x36, .inline_write = 0x37,
		.target_uuid = { 0x51, 0x52 }, .join_key = { 0x61, 0x62 },
		.max_units = 0x38, .nr_slots = 0x39,
	};
	const struct rnbd_segment_info seg = {
		.addr = 0x0102030405060708ull, .slot = 0x11121314, .generation = 0x21222324,
		.units = 0x31323334, .rkey = 0x41424344,
	};
	u8 golden[104] = { 0 };
	struct rnbd_ctl_login login;
	struct rnbd_ctl_login_reply reply;
	struct rnbd_ctl_segment segment;

	(void)state;
	memset(&login, 0xee, sizeof(login));
	memset(&reply, 0xee, sizeof(reply));
	memset(&segment, 0xee, sizeof(segment));

	memcpy(golden, "\x09\x08\x07", 3);
	unit_put(golden + 16, 8, 0x0102030405060708ull);
	unit_put(golden + 24, 8, 0x1112131415161718ull);
	unit_put(golden + 32, 4, 0x21222324);
	unit_put(golden + 36, 2, 0x3132);
	unit_put(golden + 38, 2, 0x4142);
	unit_put(golden + 44, 4, 0x61626364);
	unit_put(golden + 48, 4, 0x71727374);
	unit_put(golden + 52, 4, 0x81828384);
	unit_put(golden + 60, 4, 0x91929394);
	rnbd_encode_login(&login, &info);
	assert_memory_equal(&login, golden, 64);

	memset(golden, 0, sizeof(golden));
	unit_put(golden + 2, 2, 0x0102);
	unit_put(golden + 4, 2, 0x0304);
	unit_put(golden + 12, 4, 0x35);
	unit_put(golden + 16, 8, 0x1112131415161718ull);
	unit_put(golden + 24, 4, 0x31);
	unit_put(golden + 28, 4, 0x32);
	unit_put(golden + 32, 4, 0x33);
	unit_put(golden + 36, 4, 0x34);
	unit_put(golden + 40, 4, 0x36);
	unit_put(golden + 44, 4, 0x37);
	memcpy(golden + 48, "\x51\x52", 2);
	memcpy(golden + 64, "\x61\x62", 2);
	unit_put(golden + 96, 4, 0x38);
	unit_put(golden + 100, 4, 0x39);
	rnbd_encode_grant(&reply, &grant);
	assert_memory_equal(&reply, golden, 104);

	memset(golden, 0, sizeof(golden));
	unit_put(golden, 2, 36);
	unit_put(golden + 8, 4, 0x51525354);
	rnbd_encode_grant(&reply, &(struct rnbd_grant) {
		.status = RNBD_ST_BUSY, .retry_ms = 0x51525354, .max_io = 4096,
	});
	assert_memory_equal(&reply, golden, 104);

	unit_put(golden, 8, 0x0102030405060708ull);
	unit_put(golden + 8, 4, 0x11121314);
	unit_put(golden + 12, 4, 0x21222324);
	unit_put(golden + 16, 4, 0x31323334);
	unit_put(golden + 20, 4, 0x41424344);
	rnbd_encode_segment(&segment, &seg);
	assert_memory_equal(&segment, golden, 24);
}

static void test_golden_discover(void **state)
{
	const struct rnbd_export_info info = {
		.name = "disk0", .uuid = { 7, 6, 5 },
		.capacity = 0x0102030405060708ull,
		.logical_block = 0x11121314, .flags = 0x21222324,
	};
	const struct rnbd_list_end_info end = { .status = RNBD_ST_LIMIT, .retry_ms = 0x01020304 };
	struct rnbd_ctl_list_end end_wire;
	struct rnbd_ctl_export entry;
	u8 golden[112] = { 0 };

	(void)state;
	memset(&end_wire, 0xee, sizeof(end_wire));
	memset(&entry, 0xee, sizeof(entry));

	unit_put(golden, 4, 38);
	unit_put(golden + 4, 4, 0x01020304);
	rnbd_encode_list_end(&end_wire, &end);
	assert_memory_equal(&end_wire, golden, 8);

	memset(golden, 0, sizeof(golden));
	memcpy(golden, "disk0", 5);
	memcpy(golden + 64, "\x07\x06\x05", 3);
	unit_put(golden + 80, 8, 0x0102030405060708ull);
	unit_put(golden + 88, 4, 0x11121314);
	unit_put(golden + 92, 4, 0x21222324);
	rnbd_encode_export(&entry, &info);
	assert_memory_equal(&entry, golden, 112);
}

static void test_golden_auth(void **state)
{
	const struct rnbd_join_info joined = { .mac = { 0x33, 0x34 } };
	const struct rnbd_join_info refused = {
		.status = RNBD_ST_BUSY, .retry_ms = 0x01020304, .mac = { 0x33 },
	};
	u8 nonce[32], mac[32], uuid[16], golden[64];
	struct rnbd_ctl_join_reply reply;
	struct rnbd_ctl_challenge challenge;
	struct rnbd_ctl_proof proof;

	(void)state;
	memset(&challenge, 0xee, sizeof(challenge));
	memset(&proof, 0xee, sizeof(proof));
	memset(nonce, 0x11, sizeof(nonce));
	memset(mac, 0x22, sizeof(mac));

	memset(golden, 0x11, 32);
	memset(uuid, 0x44, sizeof(uuid));
	memset(golden + 32, 0x44, 16);
	rnbd_encode_challenge(&challenge, nonce, uuid);
	assert_memory_equal(&challenge, golden, 48);
	memset(golden + 32, 0x22, 32);
	rnbd_encode_proof(&proof, nonce, mac);
	assert_memory_equal(&proof, golden, 64);
	memset(golden, 0, 32);
	rnbd_encode_proof(&proof, NULL, mac);
	assert_memory_equal(&proof, golden, 64);

	memset(&reply, 0xee, sizeof(reply));
	memset(golden, 0, sizeof(golden));
	memcpy(golden + 8, "\x33\x34", 2);
	rnbd_encode_join_reply(&reply, &joined);
	assert_memory_equal(&reply, golden, 40);
	memset(golden, 0, sizeof(golden));
	unit_put(golden, 2, 36);
	unit_put(golden + 4, 4, 0x01020304);
	rnbd_encode_join_reply(&reply, &refused);
	assert_memory_equal(&reply, golden, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_golden_request),
		cmocka_unit_test(test_golden_reply),
		cmocka_unit_test(test_golden_query),
		cmocka_unit_test(test_golden_connection),
		cmocka_unit_test(test_golden_login),
		cmocka_unit_test(test_golden_discover),
		cmocka_unit_test(test_golden_auth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + wire_ctl_tests();
}
