// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bodies of control entries about logins and their authentication.
 *
 * Operation: the client requests a session on connection 0. If the host has a secret, both
 * ends prove that they know it. The target grants limits and a pool, or refuses. On a further
 * connection both ends prove that they know the session key; then the connection joins the session.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "login.h"

static bool rnbd_keepalive_ok(u32 ms)
{
	return ms >= RNBD_KEEPALIVE_MS_MIN && ms <= RNBD_KEEPALIVE_MS_MAX;
}

/**
 * rnbd_encode_login - encode a login
 * @wire: body of an entry of type RNBD_CTL_LOGIN
 * @info: requested numbers
 *
 * Context: any.
 */
void rnbd_encode_login(struct rnbd_ctl_login *wire, const struct rnbd_login_info *info)
{
	*wire = (struct rnbd_ctl_login) {
		.features = cpu_to_le64(info->features),
		.pool_bytes = cpu_to_le64(info->pool_bytes),
		.max_io = cpu_to_le32(info->max_io),
		.nr_queues = cpu_to_le16(info->nr_queues),
		.queue_depth = cpu_to_le16(info->queue_depth),
		.keepalive_ms = cpu_to_le32(info->keepalive_ms),
		.inline_read = cpu_to_le32(info->inline_read),
		.inline_write = cpu_to_le32(info->inline_write),
		.fence_generation = cpu_to_le32(info->fence_generation),
		.pool_min = cpu_to_le32(info->pool_min),
	};
	memcpy(wire->boot_id, info->boot_id, sizeof(wire->boot_id));
}
EXPORT_SYMBOL_GPL(rnbd_encode_login);

/**
 * rnbd_decode_login - check and decode a login
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_LOGIN
 * @info: result. features can contain bits that this version does not know, which the caller
 *	masks; pool_bytes is at least one unit, and the caller reduces it to the granted size
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_login(const struct rnbd_ctl_entry *entry,
				      struct rnbd_login_info *info)
{
	struct rnbd_login_info out;
	enum rnbd_proto_err perr;
	struct rnbd_ctl_login wire;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;

	memcpy(out.boot_id, wire.boot_id, sizeof(out.boot_id));
	out.features = le64_to_cpu(wire.features);
	out.pool_bytes = le64_to_cpu(wire.pool_bytes);
	out.max_io = le32_to_cpu(wire.max_io);
	out.nr_queues = le16_to_cpu(wire.nr_queues);
	out.queue_depth = le16_to_cpu(wire.queue_depth);
	out.keepalive_ms = le32_to_cpu(wire.keepalive_ms);
	out.inline_read = le32_to_cpu(wire.inline_read);
	out.inline_write = le32_to_cpu(wire.inline_write);
	out.fence_generation = le32_to_cpu(wire.fence_generation);
	out.pool_min = le32_to_cpu(wire.pool_min);

	if (wire.flags)
		return RNBD_PERR_FLAGS;
	if (!(out.features & RNBD_FEATURE_INLINE) &&
	    (out.inline_read || out.inline_write))
		return RNBD_PERR_RESERVED;
	if (!out.nr_queues || out.nr_queues > RNBD_CONNS_MAX ||
	    !out.queue_depth || out.queue_depth > RNBD_DEPTH_MAX)
		return RNBD_PERR_GEOMETRY;
	if (!out.max_io || out.max_io > RNBD_MAX_IO_MAX ||
	    !rnbd_multiple(out.max_io, RNBD_UNIT_SIZE) ||
	    out.pool_bytes < RNBD_UNIT_SIZE ||
	    out.pool_min > out.pool_bytes >> RNBD_UNIT_SHIFT ||
	    !rnbd_keepalive_ok(out.keepalive_ms))
		return RNBD_PERR_LIMITS;

	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_login);

/**
 * rnbd_encode_grant - encode a login reply
 * @wire: body of an entry of type RNBD_CTL_LOGIN_REPLY
 * @grant: granted numbers; if grant->status is not RNBD_ST_OK, only status and retry_ms are
 *	sent
 *
 * Context: any.
 */
void rnbd_encode_grant(struct rnbd_ctl_login_reply *wire, const struct rnbd_grant *grant)
{
	*wire = (struct rnbd_ctl_login_reply) {
		.status = cpu_to_le16(grant->status),
		.retry_ms = cpu_to_le32(grant->retry_ms),
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
	memcpy(wire->target_uuid, grant->target_uuid, sizeof(wire->target_uuid));
	memcpy(wire->join_key, grant->join_key, sizeof(wire->join_key));
	wire->max_units = cpu_to_le32(grant->max_units);
	wire->nr_slots = cpu_to_le32(grant->nr_slots);
}
EXPORT_SYMBOL_GPL(rnbd_encode_grant);

/*
 * Check the geometry of the pool. The pool of the login (or, if the client requested no floor,
 * the equal share of a queue in it) must hold the largest request in at most RNBD_EXTENTS_MAX
 * extents while no other request uses it; otherwise that request would wait forever.
 */
static bool rnbd_grant_pool_ok(const struct rnbd_grant *grant,
			       const struct rnbd_login_info *asked)
{
	u32 units, share, crossings;

	/* A multiple of the unit is a multiple of each logical block size. */
	if (grant->max_io < RNBD_UNIT_SIZE || grant->max_io > asked->max_io ||
	    !rnbd_multiple(grant->max_io, RNBD_UNIT_SIZE))
		return false;
	if (!grant->pool_units || grant->pool_units > RNBD_POOL_UNITS_MAX ||
	    grant->pool_units > asked->pool_bytes >> RNBD_UNIT_SHIFT ||
	    !is_power_of_2(grant->segment_units) ||
	    grant->segment_units > RNBD_POOL_UNITS_MAX)
		return false;
	if (grant->nr_segments != DIV_ROUND_UP(grant->pool_units,
					       grant->segment_units) ||
	    grant->nr_segments > RNBD_SEGMENTS_MAX)
		return false;
	if (grant->max_units < grant->pool_units ||
	    grant->max_units > asked->pool_bytes >> RNBD_UNIT_SHIFT ||
	    grant->nr_slots < grant->nr_segments || grant->nr_slots > RNBD_SEGMENTS_MAX ||
	    (u64)grant->nr_slots * grant->segment_units > RNBD_POOL_UNITS_MAX ||
	    grant->max_units > grant->nr_slots * grant->segment_units)
		return false;

	units = rnbd_bytes_to_units(grant->max_io);
	share = asked->pool_min ? grant->pool_units : grant->pool_units / grant->nr_queues;
	if (share < units)
		return false;
	/* maximum number of segment boundaries within @units contiguous units */
	crossings = DIV_ROUND_UP(units - 1, grant->segment_units);
	return crossings + 1 <= RNBD_EXTENTS_MAX;
}

/**
 * rnbd_decode_grant - check and decode a login reply
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_LOGIN_REPLY
 * @asked: login that was sent
 * @grant: result; if grant->status is not RNBD_ST_OK, the members other than status and
 *	retry_ms are zero
 *
 * If grant->status is RNBD_ST_OK, the grant suits the pool allocator: while no space is in use, a
 * request of max_io bytes fits pool_units in at most RNBD_EXTENTS_MAX extents. If no floor was
 * requested, such a request even fits the share of one queue, pool_units / nr_queues.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @grant is untouched.
 */
enum rnbd_proto_err rnbd_decode_grant(const struct rnbd_ctl_entry *entry,
				      const struct rnbd_login_info *asked,
				      struct rnbd_grant *grant)
{
	const size_t rest = offsetof(struct rnbd_ctl_login_reply, keepalive_ms);
	struct rnbd_ctl_login_reply wire;
	enum rnbd_proto_err perr;
	struct rnbd_grant out;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	memset(&out, 0, sizeof(out));
	out.status = le16_to_cpu(wire.status);
	out.retry_ms = le32_to_cpu(wire.retry_ms);
	if (!rnbd_status_known(out.status))
		return RNBD_PERR_STATUS;
	if (wire.reserved || !rnbd_retry_ok(out.status, out.retry_ms))
		return RNBD_PERR_RESERVED;
	if (out.status != RNBD_ST_OK) {
		if (wire.nr_queues || wire.queue_depth ||
		    !rnbd_all_zero((u8 *)&wire + rest, sizeof(wire) - rest))
			return RNBD_PERR_RESERVED;
		*grant = out;
		return RNBD_PERR_NONE;
	}

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
	memcpy(out.target_uuid, wire.target_uuid, sizeof(out.target_uuid));
	memcpy(out.join_key, wire.join_key, sizeof(out.join_key));
	out.max_units = le32_to_cpu(wire.max_units);
	out.nr_slots = le32_to_cpu(wire.nr_slots);

	if (rnbd_all_zero(out.target_uuid, sizeof(out.target_uuid)))
		return RNBD_PERR_IDENTITY;
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
	*grant = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_grant);

/**
 * rnbd_encode_challenge - encode a challenge
 * @wire: body of an entry of type RNBD_CTL_CHALLENGE
 * @nonce: RNBD_NONCE_SIZE random bytes
 * @target_uuid: UUID of the target, 16 bytes
 *
 * Context: any.
 */
void rnbd_encode_challenge(struct rnbd_ctl_challenge *wire, const u8 *nonce,
			   const u8 *target_uuid)
{
	memcpy(wire->nonce, nonce, sizeof(wire->nonce));
	memcpy(wire->target_uuid, target_uuid, sizeof(wire->target_uuid));
}
EXPORT_SYMBOL_GPL(rnbd_encode_challenge);

/**
 * rnbd_decode_challenge - check and decode a challenge
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_CHALLENGE
 * @nonce: result, RNBD_NONCE_SIZE bytes
 * @target_uuid: result, 16 bytes, not all zero
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @nonce and @target_uuid are
 * untouched.
 */
enum rnbd_proto_err rnbd_decode_challenge(const struct rnbd_ctl_entry *entry, u8 *nonce,
					  u8 *target_uuid)
{
	struct rnbd_ctl_challenge wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (rnbd_all_zero(wire.target_uuid, sizeof(wire.target_uuid)))
		return RNBD_PERR_IDENTITY;
	memcpy(nonce, wire.nonce, sizeof(wire.nonce));
	memcpy(target_uuid, wire.target_uuid, sizeof(wire.target_uuid));
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_challenge);

/**
 * rnbd_encode_proof - encode a proof
 * @wire: body of an entry of type RNBD_CTL_PROOF
 * @nonce: RNBD_NONCE_SIZE random bytes of the client; NULL for the proof of a target
 * @mac: RNBD_MAC_SIZE bytes
 *
 * Context: any.
 */
void rnbd_encode_proof(struct rnbd_ctl_proof *wire, const u8 *nonce, const u8 *mac)
{
	*wire = (struct rnbd_ctl_proof) { };
	if (nonce)
		memcpy(wire->nonce, nonce, sizeof(wire->nonce));
	memcpy(wire->mac, mac, sizeof(wire->mac));
}
EXPORT_SYMBOL_GPL(rnbd_encode_proof);

/**
 * rnbd_decode_proof - check and decode a proof
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_PROOF
 * @nonce: result, RNBD_NONCE_SIZE bytes; NULL for the proof of a target, whose nonce must be
 *	zero
 * @mac: result, RNBD_MAC_SIZE bytes; the caller verifies it
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @nonce and @mac are untouched.
 */
enum rnbd_proto_err rnbd_decode_proof(const struct rnbd_ctl_entry *entry, u8 *nonce, u8 *mac)
{
	struct rnbd_ctl_proof wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (!nonce && !rnbd_all_zero(wire.nonce, sizeof(wire.nonce)))
		return RNBD_PERR_RESERVED;

	if (nonce)
		memcpy(nonce, wire.nonce, sizeof(wire.nonce));
	memcpy(mac, wire.mac, sizeof(wire.mac));
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_proof);

/**
 * rnbd_encode_join_reply - encode the answer to the proof of a further connection
 * @wire: body of an entry of type RNBD_CTL_JOIN_REPLY
 * @info: answer; its MAC is sent only if the status is RNBD_ST_OK
 *
 * Context: any.
 */
void rnbd_encode_join_reply(struct rnbd_ctl_join_reply *wire, const struct rnbd_join_info *info)
{
	*wire = (struct rnbd_ctl_join_reply) {
		.status = cpu_to_le16(info->status),
		.retry_ms = cpu_to_le32(info->retry_ms),
	};
	if (info->status == RNBD_ST_OK)
		memcpy(wire->mac, info->mac, sizeof(wire->mac));
}
EXPORT_SYMBOL_GPL(rnbd_encode_join_reply);

/**
 * rnbd_decode_join_reply - check and decode the answer to the proof of a further connection
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_JOIN_REPLY
 * @info: result; the caller verifies its MAC
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_join_reply(const struct rnbd_ctl_entry *entry,
					   struct rnbd_join_info *info)
{
	struct rnbd_ctl_join_reply wire;
	enum rnbd_proto_err perr;
	struct rnbd_join_info out;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	out.status = le16_to_cpu(wire.status);
	out.retry_ms = le32_to_cpu(wire.retry_ms);
	memcpy(out.mac, wire.mac, sizeof(out.mac));
	if (!rnbd_status_known(out.status))
		return RNBD_PERR_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)) ||
	    !rnbd_retry_ok(out.status, out.retry_ms) ||
	    (out.status != RNBD_ST_OK && !rnbd_all_zero(out.mac, sizeof(out.mac))))
		return RNBD_PERR_RESERVED;
	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_join_reply);
