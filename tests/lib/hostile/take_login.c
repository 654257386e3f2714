// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode entries of a login or a join (request, reply, challenge and proof), and check what the
 * decoder does.
 */
#include "hostile_assert.h"
#include "take.h"

static void check_grant(const struct rnbd_grant *grant)
{
	const struct rnbd_login_info *asked = &world.asked;
	u64 share, pieces, i, most, start;

	assert_true(status_known(grant->status));
	if (grant->status != RNBD_ST_OK) {
		assert_true(!grant->retry_ms || grant->status == 36 || grant->status == 38);
		assert_true(!grant->nr_queues && !grant->queue_depth);
		assert_true(is_zero(&grant->features,
				    sizeof(*grant) - offsetof(struct rnbd_grant, features)));
		return;
	}
	assert_in_range(grant->nr_queues, 1, asked->nr_queues);
	assert_in_range(grant->queue_depth, 1, asked->queue_depth);
	assert_true((grant->features | asked->features) == asked->features);
	assert_in_range(grant->keepalive_ms, 100, 60000);
	assert_in_range(grant->max_io, 4096, asked->max_io);
	/* a multiple of each block size that an export can have */
	assert_true(grant->max_io % 4096 == 0);
	assert_int_equal(grant->retry_ms, 0);
	assert_false(is_zero(grant->target_uuid, 16));
	assert_in_range(grant->pool_units, 1, RNBD_POOL_UNITS_MAX);
	assert_true(grant->pool_units * 4096ull <= asked->pool_bytes);
	assert_in_range(grant->nr_segments, 1, 16384);
	assert_true(is_power(grant->segment_units));
	assert_true((u64)grant->nr_segments * grant->segment_units >=
		    grant->pool_units);
	assert_true((grant->nr_segments - 1ull) * grant->segment_units <
		    grant->pool_units);
	assert_in_range(grant->max_units, grant->pool_units, RNBD_POOL_UNITS_MAX);
	assert_true(grant->max_units * 4096ull <= asked->pool_bytes);
	assert_in_range(grant->nr_slots, grant->nr_segments, 16384);
	assert_in_range((u64)grant->nr_slots * grant->segment_units, grant->max_units,
			RNBD_POOL_UNITS_MAX);
	share = asked->pool_min ? grant->pool_units : grant->pool_units / grant->nr_queues;
	assert_true(share * 4096 >= grant->max_io);

	/* a request of max_io must fit RNBD_EXTENTS_MAX extents, at any start in a segment */
	for (start = 0, most = 0; start < min(grant->segment_units, 64u); start++) {
		u64 first = grant->segment_units - 1 - start;
		u64 units = (grant->max_io + 4095ull) / 4096;

		pieces = 1;
		for (i = grant->segment_units - first; i < units;
		     i += grant->segment_units)
			pieces++;
		most = max(most, pieces);
	}
	assert_true(most <= RNBD_EXTENTS_MAX);

	if (!(grant->features & RNBD_FEATURE_INLINE))
		assert_true(!grant->inline_read && !grant->inline_write);
	assert_true(grant->inline_read <= asked->inline_read);
	assert_true(grant->inline_write <= asked->inline_write);
}

static enum rnbd_proto_err take_login(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_login_info info, untouched;
	struct rnbd_ctl_login again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_login(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_in_range(info.nr_queues, 1, 1024);
	assert_in_range(info.queue_depth, 1, 4096);
	assert_in_range(info.max_io, 4096, RNBD_MAX_IO_MAX);
	assert_true(info.max_io % 4096 == 0);
	assert_true(info.pool_bytes >= 4096);
	assert_true(info.pool_min * 4096ull <= info.pool_bytes);
	if (!(info.features & RNBD_FEATURE_INLINE))
		assert_true(!info.inline_read && !info.inline_write);
	assert_in_range(info.keepalive_ms, 100, 60000);
	rnbd_encode_login(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_grant(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_grant grant, untouched;
	struct rnbd_ctl_login_reply again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	grant = untouched;
	fault = rnbd_decode_grant(entry, &world.asked, &grant);
	if (fault) {
		assert_memory_equal(&grant, &untouched, sizeof(grant));
		return fault;
	}
	check_grant(&grant);
	rnbd_encode_grant(&again, &grant);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_challenge(const struct rnbd_ctl_entry *entry)
{
	u8 nonce[32], uuid[16], untouched[32];
	struct rnbd_ctl_challenge again;
	enum rnbd_proto_err fault;

	memset(untouched, 0xa5, sizeof(untouched));
	memcpy(nonce, untouched, sizeof(nonce));
	memcpy(uuid, untouched, sizeof(uuid));
	fault = rnbd_decode_challenge(entry, nonce, uuid);
	if (fault) {
		assert_memory_equal(nonce, untouched, sizeof(nonce));
		assert_memory_equal(uuid, untouched, sizeof(uuid));
		return fault;
	}
	assert_false(is_zero(uuid, sizeof(uuid)));
	rnbd_encode_challenge(&again, nonce, uuid);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_proof(const struct rnbd_ctl_entry *entry)
{
	u8 nonce[32], mac[32], untouched[32];
	struct rnbd_ctl_proof again;
	enum rnbd_proto_err fault;

	memset(untouched, 0xa5, sizeof(untouched));
	memcpy(nonce, untouched, sizeof(nonce));
	memcpy(mac, untouched, sizeof(mac));
	fault = rnbd_decode_proof(entry, world.is_target ? nonce : NULL, mac);
	if (fault) {
		assert_memory_equal(nonce, untouched, sizeof(nonce));
		assert_memory_equal(mac, untouched, sizeof(mac));
		return fault;
	}
	rnbd_encode_proof(&again, world.is_target ? nonce : NULL, mac);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_join_reply(const struct rnbd_ctl_entry *entry)
{
	struct rnbd_join_info info, untouched;
	struct rnbd_ctl_join_reply again;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_join_reply(entry, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_true(status_known(info.status));
	assert_true(!info.retry_ms || info.status == 36 || info.status == 38);
	assert_true(!info.status || is_zero(info.mac, sizeof(info.mac)));
	rnbd_encode_join_reply(&again, &info);
	check_body(entry, &again, sizeof(again));
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err take_join(const struct rnbd_ctl_entry *entry)
{
	enum rnbd_proto_err fault = rnbd_ctl_no_body(entry);

	if (!fault)
		check_body(entry, NULL, 0);
	return fault;
}

enum rnbd_proto_err take_login_body(const struct rnbd_ctl_entry *entry)
{
	switch (entry->type) {
	case 1:
		return take_login(entry);
	case 2:
		return take_grant(entry);
	case 3:
		return take_join(entry);
	case 4:
		return take_join_reply(entry);
	case 5:
		return take_challenge(entry);
	default:
		return take_proof(entry);
	}
}
