// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of a login that the decoder accepted or refused: login, reply with its
 * segments, challenge and proof.
 */
#include "hostile_assert.h"
#include "take.h"

u64 segments_accepted, lists_asked;

static void check_grant(const struct rnbd_grant *grant)
{
	const struct rnbd_login_info *asked = &world.asked;
	u64 share, pieces, i, most, start;

	assert_true(status_known(grant->status));
	if (grant->status != RNBD_ST_OK) {
		assert_true(is_zero((u8 *)grant + sizeof(grant->status),
				    sizeof(*grant) - sizeof(grant->status)));
		return;
	}
	assert_in_range(grant->nr_queues, 1, asked->nr_queues);
	assert_in_range(grant->queue_depth, 1, asked->queue_depth);
	assert_true((grant->features | asked->features) == asked->features);
	assert_in_range(grant->keepalive_ms, 100, 60000);
	assert_in_range(grant->max_io, 4096, asked->max_io);
	/* whatever the block of an export is */
	assert_true(grant->max_io % 4096 == 0);
	assert_in_range(grant->pool_units, 1, RNBD_POOL_UNITS_MAX);
	assert_true(is_power(grant->segment_units));
	assert_true((u64)grant->nr_segments * grant->segment_units >=
		    grant->pool_units);
	assert_true((grant->nr_segments - 1ull) * grant->segment_units <
		    grant->pool_units);
	share = grant->pool_units / grant->nr_queues;
	assert_true(share * 4096 >= grant->max_io);

	/* the largest request fits its extents wherever it starts */
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

enum rnbd_proto_err take_login(const struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_login_info info, untouched;
	enum rnbd_proto_err fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_login(frame, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	if (info.flags & RNBD_LOGIN_DISCOVER) {
		assert_int_equal(info.flags, 1);
		info.flags = 0;
		assert_true(is_zero(&info, sizeof(info)));
		info.flags = RNBD_LOGIN_DISCOVER;
		rnbd_encode_login((void *)again, &info);
		check_encoded(frame->entries, again, 64);
		lists_asked++;
		return RNBD_PERR_NONE;
	}
	assert_in_range(info.nr_queues, 1, RNBD_QUEUES_MAX);
	assert_in_range(info.queue_depth, 1, RNBD_DEPTH_MAX);
	assert_in_range(info.max_io, 4096, RNBD_MAX_IO_MAX);
	assert_true(info.max_io % 4096 == 0);
	assert_true(info.pool_bytes >= 4096);
	assert_int_equal(info.flags, 0);
	if (!(info.features & RNBD_FEATURE_INLINE))
		assert_true(!info.inline_read && !info.inline_write);
	assert_in_range(info.keepalive_ms, 100, 60000);
	rnbd_encode_login((void *)again, &info);
	check_encoded(frame->entries, again, 64);
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_grant(const struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_grant grant, untouched;
	struct rnbd_segment_info seg, seg_untouched;
	enum rnbd_proto_err fault;
	u64 units = 0;
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&seg_untouched, 0xa5, sizeof(seg_untouched));
	grant = untouched;
	fault = rnbd_decode_grant(frame, &world.asked, &grant);
	if (fault) {
		assert_memory_equal(&grant, &untouched, sizeof(grant));
		return fault;
	}
	check_grant(&grant);
	assert_int_equal(frame->nr_entries, 1 + grant.nr_segments);
	rnbd_encode_grant((void *)again, &grant);
	check_encoded(frame->entries, again, 64);

	for (i = 0; i < grant.nr_segments; i++) {
		seg = seg_untouched;
		fault = rnbd_decode_segment(frame, i, &grant, &seg);
		if (fault) {
			assert_memory_equal(&seg, &seg_untouched, sizeof(seg));
			return fault;
		}
		assert_true((__uint128_t)seg.addr + seg.units * 4096ull <=
			    U64_MAX);
		assert_in_range(seg.units, 1, grant.segment_units);
		if (i + 1 < grant.nr_segments)
			assert_int_equal(seg.units, grant.segment_units);
		units += seg.units;
		rnbd_encode_segment((void *)(again + 64 + 16 * i), &seg);
		segments_accepted++;
	}
	assert_true(units == grant.pool_units);
	assert_int_not_equal(rnbd_decode_segment(frame, grant.nr_segments,
						 &grant, &seg), RNBD_PERR_NONE);
	check_encoded(frame->entries, again, frame->bytes);
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_challenge(const struct rnbd_frame *frame, u8 *again)
{
	u8 nonce[32], untouched[32];
	enum rnbd_proto_err fault;

	memset(untouched, 0xa5, sizeof(untouched));
	memcpy(nonce, untouched, sizeof(nonce));
	fault = rnbd_decode_challenge(frame, nonce);
	if (fault) {
		assert_memory_equal(nonce, untouched, sizeof(nonce));
		return fault;
	}
	rnbd_encode_challenge((void *)again, nonce);
	check_encoded(frame->entries, again, 64);
	return RNBD_PERR_NONE;
}

enum rnbd_proto_err take_proof(const struct rnbd_frame *frame, u8 *again)
{
	u8 nonce[32], mac[32], untouched[32];
	enum rnbd_proto_err fault;

	memset(untouched, 0xa5, sizeof(untouched));
	memcpy(nonce, untouched, sizeof(nonce));
	memcpy(mac, untouched, sizeof(mac));
	fault = rnbd_decode_proof(frame, world.is_target ? nonce : NULL, mac);
	if (fault) {
		assert_memory_equal(nonce, untouched, sizeof(nonce));
		assert_memory_equal(mac, untouched, sizeof(mac));
		return fault;
	}
	rnbd_encode_proof((void *)again, world.is_target ? nonce : NULL, mac);
	check_encoded(frame->entries, again, 64);
	return RNBD_PERR_NONE;
}
