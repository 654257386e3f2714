// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode private data of the connection manager, and check what the decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

enum rnbd_proto_err take_cm_req(const u8 *buf, u32 len)
{
	struct rnbd_conn_req req, untouched;
	struct rnbd_cm_req again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	req = untouched;
	fault = rnbd_decode_cm_req(buf, len, &req);
	if (fault) {
		assert_memory_equal(&req, &untouched, sizeof(req));
		return fault;
	}
	assert_true(req.conn < 1024 && req.path < 16);
	assert_in_range(req.ring_slots, 4, 1024);
	assert_in_range(req.slot_size, 1024, 65536);
	assert_true(req.slot_size % 64 == 0);
	assert_true(req.epoch > 0);
	assert_true(req.conn ? req.attempt > req.epoch : req.attempt == req.epoch);
	assert_false(is_zero(req.host_id, 16));
	assert_false(is_zero(req.session_id, 16));
	rnbd_encode_cm_req(&again, &req);
	check_encoded(buf, (u8 *)&again, sizeof(again));
	assert_true(is_zero(buf + sizeof(again), len - sizeof(again)));
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_cm_rep(const u8 *buf, u32 len)
{
	struct rnbd_cm_rep again;
	enum rnbd_proto_err fault;
	u16 slots = 0xa5a5;

	fault = rnbd_decode_cm_rep(buf, len, &world.conn, &slots);
	if (fault) {
		assert_int_equal(slots, 0xa5a5);
		return fault;
	}
	assert_in_range(slots, 4, world.conn.ring_slots);
	rnbd_encode_cm_rep(&again, slots, world.conn.slot_size,
			   world.conn.attempt);
	check_encoded(buf, (u8 *)&again, sizeof(again));
	assert_true(is_zero(buf + sizeof(again), len - sizeof(again)));
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_cm_rej(const u8 *buf, u32 len)
{
	struct rnbd_cm_rej again;
	enum rnbd_proto_err fault;
	struct rnbd_refusal info, untouched;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_cm_rej(buf, len, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	if (is_zero(hostile_original(buf), len)) {
		assert_int_equal(info.version, 0);
		assert_int_equal(info.status, RNBD_ST_BUSY);
		assert_int_equal(info.retry_ms, 0);
		return RNBD_PERR_NONE;
	}
	assert_true(info.version > 0);
	assert_true(info.status && status_known(info.status));
	assert_true(!info.retry_ms || info.status == 36 || info.status == 38);
	rnbd_encode_cm_rej(&again, &info);
	unit_put((u8 *)&again + 4, 2, info.version);
	check_encoded(buf, (u8 *)&again, sizeof(again));
	assert_true(is_zero(buf + sizeof(again), len - sizeof(again)));
	return RNBD_PERR_NONE;
}
