// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private data of the connection manager.
 *
 * Operation: the client describes each queue in the private data of its connection request.
 * The target accepts the connection, or rejects it with a reason.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "cm.h"

static bool rnbd_ring_slots_ok(u16 slots)
{
	return slots >= RNBD_RING_SLOTS_MIN && slots <= RNBD_RING_SLOTS_MAX;
}

/*
 * Copy @size bytes of private data. The connection manager does not transmit the length, so
 * @len can be larger than the number of bytes that the peer sent; the bytes after these are
 * zero.
 */
static enum rnbd_proto_err rnbd_copy_private(const void *buf, u32 len, void *copy,
					     u32 size)
{
	if (!buf || len < size)
		return RNBD_PERR_SHORT;
	memcpy(copy, buf, size);
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err rnbd_check_padding(const void *buf, u32 len, u32 size)
{
	if (!rnbd_all_zero((const u8 *)buf + size, len - size))
		return RNBD_PERR_LONG;
	return RNBD_PERR_NONE;
}

/**
 * rnbd_encode_cm_req - encode the private data of a connection request
 * @wire: private data
 * @req: properties of the requested connection
 *
 * Context: any.
 */
void rnbd_encode_cm_req(struct rnbd_cm_req *wire, const struct rnbd_conn_req *req)
{
	*wire = (struct rnbd_cm_req) {
		.magic = cpu_to_le32(RNBD_MAGIC),
		.version = cpu_to_le16(RNBD_VERSION),
		.conn = cpu_to_le16(req->conn),
		.ring_slots = cpu_to_le16(req->ring_slots),
		.path = cpu_to_le16(req->path),
		.slot_size = cpu_to_le32(req->slot_size),
		.epoch = cpu_to_le32(req->epoch),
		.attempt = cpu_to_le32(req->attempt),
	};
	memcpy(wire->host_id, req->host_id, sizeof(wire->host_id));
	memcpy(wire->session_id, req->session_id, sizeof(wire->session_id));
}
EXPORT_SYMBOL_GPL(rnbd_encode_cm_req);

/**
 * rnbd_decode_cm_req - check and decode a connection request
 * @buf: private data; may be NULL if @len is 0
 * @len: bytes at @buf; those after struct rnbd_cm_req must be zero
 * @req: result
 *
 * The caller should answer RNBD_PERR_VERSION with RNBD_ST_VERSION: the peer uses another
 * version of this protocol. In this case only the length, magic number and version were checked.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @req is untouched.
 */
enum rnbd_proto_err rnbd_decode_cm_req(const void *buf, u32 len,
				       struct rnbd_conn_req *req)
{
	struct rnbd_conn_req out;
	struct rnbd_cm_req wire;
	enum rnbd_proto_err perr;

	perr = rnbd_copy_private(buf, len, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (le32_to_cpu(wire.magic) != RNBD_MAGIC)
		return RNBD_PERR_MAGIC;
	if (le16_to_cpu(wire.version) != RNBD_VERSION)
		return RNBD_PERR_VERSION;
	perr = rnbd_check_padding(buf, len, sizeof(wire));
	if (perr)
		return perr;

	out.conn = le16_to_cpu(wire.conn);
	out.path = le16_to_cpu(wire.path);
	out.ring_slots = le16_to_cpu(wire.ring_slots);
	out.slot_size = le32_to_cpu(wire.slot_size);
	out.epoch = le32_to_cpu(wire.epoch);
	out.attempt = le32_to_cpu(wire.attempt);
	memcpy(out.host_id, wire.host_id, sizeof(out.host_id));
	memcpy(out.session_id, wire.session_id, sizeof(out.session_id));

	if (out.conn >= RNBD_CONNS_MAX || out.path >= RNBD_PATHS_MAX ||
	    !rnbd_ring_slots_ok(out.ring_slots) ||
	    out.slot_size < RNBD_SLOT_SIZE_MIN ||
	    out.slot_size > RNBD_SLOT_SIZE_MAX ||
	    !rnbd_multiple(out.slot_size, RNBD_SLOT_SIZE_ALIGN))
		return RNBD_PERR_GEOMETRY;
	/*
	 * The epoch is the attempt number of connection 0. Each other connection of the same
	 * epoch has a higher attempt number.
	 */
	if (!out.epoch || (out.conn ? out.attempt <= out.epoch : out.attempt != out.epoch))
		return RNBD_PERR_EPOCH;
	if (rnbd_all_zero(out.host_id, sizeof(out.host_id)) ||
	    rnbd_all_zero(out.session_id, sizeof(out.session_id)))
		return RNBD_PERR_IDENTITY;

	*req = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_cm_req);

/**
 * rnbd_encode_cm_rep - encode the private data of an accepted connection
 * @wire: private data
 * @ring_slots: receive slots that the target has posted
 * @slot_size: requested bytes of a slot
 * @attempt: number of the attempt in the request
 *
 * Context: any.
 */
void rnbd_encode_cm_rep(struct rnbd_cm_rep *wire, u16 ring_slots, u32 slot_size,
			u32 attempt)
{
	*wire = (struct rnbd_cm_rep) {
		.magic = cpu_to_le32(RNBD_MAGIC),
		.version = cpu_to_le16(RNBD_VERSION),
		.ring_slots = cpu_to_le16(ring_slots),
		.slot_size = cpu_to_le32(slot_size),
		.attempt = cpu_to_le32(attempt),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_cm_rep);

/**
 * rnbd_decode_cm_rep - check the private data of an accepted connection
 * @buf: private data; may be NULL if @len is 0
 * @len: bytes at @buf; those after struct rnbd_cm_rep must be zero
 * @req: connection request that was sent
 * @ring_slots: result: receive slots that the target has posted
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @ring_slots is untouched.
 */
enum rnbd_proto_err rnbd_decode_cm_rep(const void *buf, u32 len,
				       const struct rnbd_conn_req *req,
				       u16 *ring_slots)
{
	struct rnbd_cm_rep wire;
	enum rnbd_proto_err perr;

	perr = rnbd_copy_private(buf, len, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (le32_to_cpu(wire.magic) != RNBD_MAGIC)
		return RNBD_PERR_MAGIC;
	if (le16_to_cpu(wire.version) != RNBD_VERSION)
		return RNBD_PERR_VERSION;
	perr = rnbd_check_padding(buf, len, sizeof(wire));
	if (perr)
		return perr;
	if (!rnbd_ring_slots_ok(le16_to_cpu(wire.ring_slots)) ||
	    le16_to_cpu(wire.ring_slots) > req->ring_slots ||
	    le32_to_cpu(wire.slot_size) != req->slot_size)
		return RNBD_PERR_GEOMETRY;
	if (le32_to_cpu(wire.attempt) != req->attempt)
		return RNBD_PERR_EPOCH;

	*ring_slots = le16_to_cpu(wire.ring_slots);
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_cm_rep);

/**
 * rnbd_encode_cm_rej - encode the private data of a rejected connection request
 * @wire: private data
 * @info: status, which is not RNBD_ST_OK, and retry_ms; the member version is ignored, because
 *	the reject carries RNBD_VERSION
 *
 * Context: any.
 */
void rnbd_encode_cm_rej(struct rnbd_cm_rej *wire, const struct rnbd_refusal *info)
{
	*wire = (struct rnbd_cm_rej) {
		.magic = cpu_to_le32(RNBD_MAGIC),
		.version = cpu_to_le16(RNBD_VERSION),
		.status = cpu_to_le16(info->status),
		.retry_ms = cpu_to_le32(info->retry_ms),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_cm_rej);

/**
 * rnbd_decode_cm_rej - check and decode the private data of a rejected connection request
 * @buf: private data; may be NULL if @len is 0
 * @len: bytes at @buf; those after struct rnbd_cm_rej must be zero
 * @info: result. Its version can be any number from 1, because a target that supports other
 *	versions reports the highest one in a reject; the version is 0 if all private data are
 *	zero or @len is 0
 *
 * If all private data are zero or @len is 0, the status is RNBD_ST_BUSY. The connection manager
 * of the target sends such a reject by itself if the target stopped listening, failed to accept
 * the connection, or destroyed an accepted connection before it was established.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_cm_rej(const void *buf, u32 len, struct rnbd_refusal *info)
{
	enum rnbd_proto_err padding = RNBD_PERR_NONE;
	struct rnbd_cm_rej wire = { };
	const u32 size = sizeof(wire);
	struct rnbd_refusal out;

	if (len)
		memcpy(&wire, buf, min(len, size));
	if (len > size)
		padding = rnbd_check_padding(buf, len, size);
	if (!padding && rnbd_all_zero(&wire, size)) {
		*info = (struct rnbd_refusal) { .status = RNBD_ST_BUSY };
		return RNBD_PERR_NONE;
	}
	if (len < size)
		return RNBD_PERR_SHORT;
	if (le32_to_cpu(wire.magic) != RNBD_MAGIC)
		return RNBD_PERR_MAGIC;
	if (!wire.version)
		return RNBD_PERR_VERSION;
	if (padding)
		return padding;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	out.version = le16_to_cpu(wire.version);
	out.status = le16_to_cpu(wire.status);
	out.retry_ms = le32_to_cpu(wire.retry_ms);
	if (out.status == RNBD_ST_OK || !rnbd_status_known(out.status))
		return RNBD_PERR_STATUS;
	if (!rnbd_retry_ok(out.status, out.retry_ms))
		return RNBD_PERR_RESERVED;

	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_cm_rej);
