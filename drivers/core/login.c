// SPDX-License-Identifier: GPL-2.0-only
/*
 * Logins, their authentication and what they are granted.
 *
 * Operation: queue 0 asks for a session or for a list of exports. If the host has a
 * secret, both ends prove that they know it. The target grants limits, a pool and its
 * segments, or refuses.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first thing wrong, see proto_err.h and check.h.
 */
#include "check.h"
#include "login.h"

static bool rnbd_keepalive_ok(u32 ms)
{
	return ms >= RNBD_KEEPALIVE_MS_MIN && ms <= RNBD_KEEPALIVE_MS_MAX;
}

/**
 * rnbd_encode_login - write a login
 * @wire: entry of the LOGIN frame
 * @info: what to ask for; or all zero except the flag RNBD_LOGIN_DISCOVER
 *
 * Context: any.
 */
void rnbd_encode_login(struct rnbd_login *wire, const struct rnbd_login_info *info)
{
	*wire = (struct rnbd_login) {
		.features = cpu_to_le64(info->features),
		.pool_bytes = cpu_to_le64(info->pool_bytes),
		.max_io = cpu_to_le32(info->max_io),
		.nr_queues = cpu_to_le16(info->nr_queues),
		.queue_depth = cpu_to_le16(info->queue_depth),
		.flags = cpu_to_le32(info->flags),
		.keepalive_ms = cpu_to_le32(info->keepalive_ms),
		.inline_read = cpu_to_le32(info->inline_read),
		.inline_write = cpu_to_le32(info->inline_write),
		.fence_generation = cpu_to_le32(info->fence_generation),
	};
	memcpy(wire->boot_id, info->boot_id, sizeof(wire->boot_id));
}
EXPORT_SYMBOL_GPL(rnbd_encode_login);

/* A login that requests a list of exports requests nothing else. */
static enum rnbd_proto_err rnbd_check_discover_login(const struct rnbd_login *wire)
{
	struct rnbd_login rest = *wire;

	if (rest.flags != cpu_to_le32(RNBD_LOGIN_DISCOVER))
		return RNBD_PERR_FLAGS;
	rest.flags = 0;
	return rnbd_all_zero(&rest, sizeof(rest)) ? RNBD_PERR_NONE :
						    RNBD_PERR_RESERVED;
}

/**
 * rnbd_decode_login - check and copy out a login
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_LOGIN
 * @info: result; features may hold bits unknown here, to be masked, and
 *	pool_bytes any number from one unit, to be cut to what is granted;
 *	with the flag RNBD_LOGIN_DISCOVER all the rest is zero
 *
 * Context: any.
 * Return: the first thing wrong, @info is untouched then.
 */
enum rnbd_proto_err rnbd_decode_login(const struct rnbd_frame *frame,
				      struct rnbd_login_info *info)
{
	struct rnbd_login_info out;
	enum rnbd_proto_err perr;
	struct rnbd_login wire;

	if (frame->type != RNBD_FRAME_LOGIN)
		return RNBD_PERR_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;

	if (wire.flags & cpu_to_le32(RNBD_LOGIN_DISCOVER)) {
		perr = rnbd_check_discover_login(&wire);
		if (perr)
			return perr;
		memset(info, 0, sizeof(*info));
		info->flags = RNBD_LOGIN_DISCOVER;
		return RNBD_PERR_NONE;
	}
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;

	memcpy(out.boot_id, wire.boot_id, sizeof(out.boot_id));
	out.features = le64_to_cpu(wire.features);
	out.pool_bytes = le64_to_cpu(wire.pool_bytes);
	out.max_io = le32_to_cpu(wire.max_io);
	out.nr_queues = le16_to_cpu(wire.nr_queues);
	out.queue_depth = le16_to_cpu(wire.queue_depth);
	out.flags = le32_to_cpu(wire.flags);
	out.keepalive_ms = le32_to_cpu(wire.keepalive_ms);
	out.inline_read = le32_to_cpu(wire.inline_read);
	out.inline_write = le32_to_cpu(wire.inline_write);
	out.fence_generation = le32_to_cpu(wire.fence_generation);

	if (out.flags & ~RNBD_LOGIN_FLAGS)
		return RNBD_PERR_FLAGS;
	if (!(out.features & RNBD_FEATURE_INLINE) &&
	    (out.inline_read || out.inline_write))
		return RNBD_PERR_RESERVED;
	if (!out.nr_queues || out.nr_queues > RNBD_QUEUES_MAX ||
	    !out.queue_depth || out.queue_depth > RNBD_DEPTH_MAX)
		return RNBD_PERR_GEOMETRY;
	if (!out.max_io || out.max_io > RNBD_MAX_IO_MAX ||
	    !rnbd_multiple(out.max_io, RNBD_UNIT_SIZE) ||
	    out.pool_bytes < RNBD_UNIT_SIZE ||
	    !rnbd_keepalive_ok(out.keepalive_ms))
		return RNBD_PERR_LIMITS;

	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_login);

/**
 * rnbd_max_segments - pool segments that a login reply can name
 * @slot_size: bytes of a slot, since the reply is one frame
 *
 * Context: any.
 * Return: number of segments.
 */
u32 rnbd_max_segments(u32 slot_size)
{
	const u32 head = sizeof(struct rnbd_frame_hdr) +
			 sizeof(struct rnbd_login_reply);

	if (slot_size < head)
		return 0;
	return (slot_size - head) / (u32)sizeof(struct rnbd_segment);
}
EXPORT_SYMBOL_GPL(rnbd_max_segments);

/**
 * rnbd_encode_grant - write a login reply
 * @wire: first entry of the LOGIN_REPLY frame
 * @grant: what is granted; if its status is not RNBD_ST_OK, only that is sent
 *
 * Context: any.
 */
void rnbd_encode_grant(struct rnbd_login_reply *wire, const struct rnbd_grant *grant)
{
	*wire = (struct rnbd_login_reply) {
		.status = cpu_to_le16(grant->status),
	};
	if (grant->status != RNBD_ST_OK)
		return;

	wire->nr_queues = cpu_to_le16(grant->nr_queues);
	wire->queue_depth = cpu_to_le16(grant->queue_depth);
	wire->features = cpu_to_le64(grant->features);
	wire->max_io = cpu_to_le32(grant->max_io);
	wire->pool_units = cpu_to_le32(grant->pool_units);
	wire->segment_units = cpu_to_le32(grant->segment_units);
	wire->nr_segments = cpu_to_le32(grant->nr_segments);
	wire->keepalive_ms = cpu_to_le32(grant->keepalive_ms);
	wire->inline_read = cpu_to_le32(grant->inline_read);
	wire->inline_write = cpu_to_le32(grant->inline_write);
}
EXPORT_SYMBOL_GPL(rnbd_encode_grant);

/**
 * rnbd_encode_segment - write one segment of the pool
 * @wire: entry of the LOGIN_REPLY frame behind the grant
 * @seg: where it is
 *
 * Context: any.
 */
void rnbd_encode_segment(struct rnbd_segment *wire, const struct rnbd_segment_info *seg)
{
	*wire = (struct rnbd_segment) {
		.addr = cpu_to_le64(seg->addr),
		.rkey = cpu_to_le32(seg->rkey),
		.units = cpu_to_le32(seg->units),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_segment);

/*
 * Shape of the pool: besides being consistent, the share of one queue, when
 * empty, must hold the largest request in the extents that one request may
 * have, or that request would wait for ever.
 */
static bool rnbd_grant_pool_ok(const struct rnbd_grant *grant,
			       const struct rnbd_login_info *asked)
{
	u32 units, crossings;

	/* So it is a multiple of each logical block. */
	if (grant->max_io < RNBD_UNIT_SIZE || grant->max_io > asked->max_io ||
	    !rnbd_multiple(grant->max_io, RNBD_UNIT_SIZE))
		return false;
	if (!grant->pool_units || grant->pool_units > RNBD_POOL_UNITS_MAX ||
	    !is_power_of_2(grant->segment_units) ||
	    grant->segment_units > RNBD_POOL_UNITS_MAX)
		return false;
	if (grant->nr_segments != DIV_ROUND_UP(grant->pool_units,
					       grant->segment_units))
		return false;

	units = rnbd_bytes_to_units(grant->max_io);
	if (grant->pool_units / grant->nr_queues < units)
		return false;
	/* segment boundaries inside @units that start at the worst place */
	crossings = DIV_ROUND_UP(units - 1, grant->segment_units);
	return crossings + 1 <= RNBD_EXTENTS_MAX;
}

/**
 * rnbd_decode_grant - check and copy out a login reply without its segments
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_LOGIN_REPLY
 * @asked: what was asked for
 * @grant: result; if its status is not RNBD_ST_OK, nothing else is set
 *
 * An accepted grant suits the pool allocator: the empty share of a queue, pool_units / nr_queues, holds a
 * request of max_io in at most RNBD_EXTENTS_MAX extents.
 *
 * Context: any.
 * Return: the first thing wrong, @grant is untouched then.
 */
enum rnbd_proto_err rnbd_decode_grant(const struct rnbd_frame *frame,
				      const struct rnbd_login_info *asked,
				      struct rnbd_grant *grant)
{
	struct rnbd_login_reply wire;
	struct rnbd_grant out;

	if (frame->type != RNBD_FRAME_LOGIN_REPLY)
		return RNBD_PERR_TYPE;
	if (!frame->nr_entries)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;

	memset(&out, 0, sizeof(out));
	out.status = le16_to_cpu(wire.status);
	if (!rnbd_status_known(out.status))
		return RNBD_PERR_STATUS;
	if (out.status != RNBD_ST_OK) {
		if (!rnbd_all_zero((u8 *)&wire + sizeof(wire.status),
				   sizeof(wire) - sizeof(wire.status)))
			return RNBD_PERR_RESERVED;
		if (frame->nr_entries != 1)
			return RNBD_PERR_COUNT;
		*grant = out;
		return RNBD_PERR_NONE;
	}

	if (wire.reserved0 ||
	    !rnbd_all_zero(wire.reserved1, sizeof(wire.reserved1)))
		return RNBD_PERR_RESERVED;

	out.nr_queues = le16_to_cpu(wire.nr_queues);
	out.queue_depth = le16_to_cpu(wire.queue_depth);
	out.features = le64_to_cpu(wire.features);
	out.max_io = le32_to_cpu(wire.max_io);
	out.pool_units = le32_to_cpu(wire.pool_units);
	out.segment_units = le32_to_cpu(wire.segment_units);
	out.nr_segments = le32_to_cpu(wire.nr_segments);
	out.keepalive_ms = le32_to_cpu(wire.keepalive_ms);
	out.inline_read = le32_to_cpu(wire.inline_read);
	out.inline_write = le32_to_cpu(wire.inline_write);

	if (!out.nr_queues || out.nr_queues > asked->nr_queues ||
	    !out.queue_depth || out.queue_depth > asked->queue_depth)
		return RNBD_PERR_GEOMETRY;
	if (out.features & ~asked->features)
		return RNBD_PERR_FLAGS;
	if (!(out.features & RNBD_FEATURE_INLINE) &&
	    (out.inline_read || out.inline_write))
		return RNBD_PERR_RESERVED;
	if (out.inline_read > asked->inline_read ||
	    out.inline_write > asked->inline_write)
		return RNBD_PERR_LIMITS;
	if (!rnbd_grant_pool_ok(&out, asked) || !rnbd_keepalive_ok(out.keepalive_ms))
		return RNBD_PERR_LIMITS;
	if (out.nr_segments != frame->nr_entries - 1u)
		return RNBD_PERR_COUNT;

	*grant = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_grant);

/**
 * rnbd_decode_segment - check and copy out one segment of the pool
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_LOGIN_REPLY
 * @index: of the segment, from 0
 * @grant: what rnbd_decode_grant() made of the same frame
 * @seg: result; its last byte does not lie beyond the address space
 *
 * Context: any.
 * Return: the first thing wrong, @seg is untouched then.
 */
enum rnbd_proto_err rnbd_decode_segment(const struct rnbd_frame *frame, u32 index,
					const struct rnbd_grant *grant,
					struct rnbd_segment_info *seg)
{
	struct rnbd_segment wire;
	u32 units, expected;
	u64 addr;

	if (frame->type != RNBD_FRAME_LOGIN_REPLY)
		return RNBD_PERR_TYPE;
	/* below 65535 entries, so that the offset below cannot wrap */
	if (index >= grant->nr_segments || index + 1 >= frame->nr_entries)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, sizeof(struct rnbd_login_reply) +
			     index * (u32)sizeof(wire), &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;

	addr = le64_to_cpu(wire.addr);
	units = le32_to_cpu(wire.units);
	expected = min(grant->segment_units,
		       grant->pool_units - index * grant->segment_units);
	if (units != expected ||
	    addr > U64_MAX - ((u64)units << RNBD_UNIT_SHIFT))
		return RNBD_PERR_LIMITS;

	seg->addr = addr;
	seg->rkey = le32_to_cpu(wire.rkey);
	seg->units = units;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_segment);

/**
 * rnbd_encode_challenge - write a challenge
 * @wire: entry of the CHALLENGE frame
 * @nonce: RNBD_NONCE_SIZE random bytes
 *
 * Context: any.
 */
void rnbd_encode_challenge(struct rnbd_challenge *wire, const u8 *nonce)
{
	*wire = (struct rnbd_challenge) { };
	memcpy(wire->nonce, nonce, sizeof(wire->nonce));
}
EXPORT_SYMBOL_GPL(rnbd_encode_challenge);

/**
 * rnbd_decode_challenge - check and copy out a challenge
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_CHALLENGE
 * @nonce: result, RNBD_NONCE_SIZE bytes
 *
 * Context: any.
 * Return: the first thing wrong, @nonce is untouched then.
 */
enum rnbd_proto_err rnbd_decode_challenge(const struct rnbd_frame *frame, u8 *nonce)
{
	struct rnbd_challenge wire;

	if (frame->type != RNBD_FRAME_CHALLENGE)
		return RNBD_PERR_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;

	memcpy(nonce, wire.nonce, sizeof(wire.nonce));
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_challenge);

/**
 * rnbd_encode_proof - write a proof
 * @wire: entry of the PROOF frame
 * @nonce: of a client, RNBD_NONCE_SIZE random bytes; NULL from the target
 * @mac: RNBD_MAC_SIZE bytes
 *
 * Context: any.
 */
void rnbd_encode_proof(struct rnbd_proof *wire, const u8 *nonce, const u8 *mac)
{
	*wire = (struct rnbd_proof) { };
	if (nonce)
		memcpy(wire->nonce, nonce, sizeof(wire->nonce));
	memcpy(wire->mac, mac, sizeof(wire->mac));
}
EXPORT_SYMBOL_GPL(rnbd_encode_proof);

/**
 * rnbd_decode_proof - check and copy out a proof
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_PROOF
 * @nonce: result, RNBD_NONCE_SIZE bytes; NULL for the proof of a target, which
 *	has none
 * @mac: result, RNBD_MAC_SIZE bytes, not compared with anything
 *
 * Context: any.
 * Return: the first thing wrong, @nonce and @mac are untouched then.
 */
enum rnbd_proto_err rnbd_decode_proof(const struct rnbd_frame *frame, u8 *nonce, u8 *mac)
{
	struct rnbd_proof wire;

	if (frame->type != RNBD_FRAME_PROOF)
		return RNBD_PERR_TYPE;
	if (frame->nr_entries != 1)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;
	if (!nonce && !rnbd_all_zero(wire.nonce, sizeof(wire.nonce)))
		return RNBD_PERR_RESERVED;

	if (nonce)
		memcpy(nonce, wire.nonce, sizeof(wire.nonce));
	memcpy(mac, wire.mac, sizeof(wire.mac));
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_proof);
