// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bodies of control entries about attachments.
 *
 * Operation: an attachment is the use of one export by one session. The client attaches an
 * export under a handle that it chooses. The target answers with the properties of the export,
 * or refuses. The client ends the attachment with DETACH, the target with CLOSED. The target
 * reports a changed capacity with CAPACITY.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h. The caller
 * checks whether a handle names an attachment.
 */
#include "attach.h"
#include "check.h"
#include "names.h"

static enum rnbd_proto_err rnbd_check_handle(__le16 index, __le32 generation,
					     struct rnbd_handle *handle)
{
	handle->index = le16_to_cpu(index);
	handle->generation = le32_to_cpu(generation);
	if (handle->index >= RNBD_ATTACH_MAX || !handle->generation)
		return RNBD_PERR_HANDLE;
	return RNBD_PERR_NONE;
}

/**
 * rnbd_encode_attach - encode a request to attach
 * @wire: body of an entry of type RNBD_CTL_ATTACH
 * @info: request, with a valid export name that ends with NUL
 *
 * Context: any.
 */
void rnbd_encode_attach(struct rnbd_ctl_attach *wire, const struct rnbd_attach_info *info)
{
	*wire = (struct rnbd_ctl_attach) {
		.index = cpu_to_le16(info->handle.index),
		.flags = cpu_to_le16(info->flags),
		.generation = cpu_to_le32(info->handle.generation),
		.fence_generation = cpu_to_le32(info->fence_generation),
		.owner_generation = cpu_to_le32(info->owner_generation),
	};
	/* The last byte stays NUL even if the name in @info is too long. */
	memcpy(wire->export, info->export, strnlen(info->export, sizeof(wire->export) - 1));
}
EXPORT_SYMBOL_GPL(rnbd_encode_attach);

/**
 * rnbd_decode_attach - check and decode a request to attach
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_ATTACH
 * @info: result
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_attach(const struct rnbd_ctl_entry *entry,
				       struct rnbd_attach_info *info)
{
	struct rnbd_attach_info out;
	struct rnbd_ctl_attach wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (!perr)
		perr = rnbd_check_handle(wire.index, wire.generation, &out.handle);
	if (perr)
		return perr;
	if (!rnbd_export_name_ok(wire.export, sizeof(wire.export)))
		return RNBD_PERR_NAME;
	out.flags = le16_to_cpu(wire.flags);
	if (out.flags & ~RNBD_ATTACH_FLAGS)
		return RNBD_PERR_FLAGS;
	out.fence_generation = le32_to_cpu(wire.fence_generation);
	out.owner_generation = le32_to_cpu(wire.owner_generation);
	memcpy(out.export, wire.export, sizeof(out.export));
	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_attach);

/**
 * rnbd_encode_attach_reply - encode the answer to a request to attach
 * @wire: body of an entry of type RNBD_CTL_ATTACH_REPLY
 * @grant: answer; if grant->status is not RNBD_ST_OK, only handle, status and retry_ms are
 *	sent
 *
 * Context: any.
 */
void rnbd_encode_attach_reply(struct rnbd_ctl_attach_reply *wire,
			      const struct rnbd_attach_grant *grant)
{
	*wire = (struct rnbd_ctl_attach_reply) {
		.index = cpu_to_le16(grant->handle.index),
		.status = cpu_to_le16(grant->status),
		.generation = cpu_to_le32(grant->handle.generation),
		.retry_ms = cpu_to_le32(grant->retry_ms),
	};
	if (grant->status != RNBD_ST_OK)
		return;
	wire->fence_generation = cpu_to_le32(grant->fence_generation);
	wire->storage_inflight = cpu_to_le32(grant->storage_inflight);
	rnbd_encode_geometry(wire, &grant->geo);
	memcpy(wire->incarnation, grant->incarnation, sizeof(wire->incarnation));
	memcpy(wire->export_uuid, grant->export_uuid, sizeof(wire->export_uuid));
	wire->owner_generation = cpu_to_le32(grant->owner_generation);
}
EXPORT_SYMBOL_GPL(rnbd_encode_attach_reply);

static enum rnbd_proto_err rnbd_check_refusal(const struct rnbd_ctl_attach_reply *wire)
{
	const size_t head = offsetof(struct rnbd_ctl_attach_reply, fence_generation);

	return rnbd_all_zero((const u8 *)wire + head, sizeof(*wire) - head) ?
	       RNBD_PERR_NONE : RNBD_PERR_RESERVED;
}

/**
 * rnbd_decode_attach_reply - check and decode the answer to a request to attach
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_ATTACH_REPLY
 * @grant: result; if grant->status is not RNBD_ST_OK, the members other than handle, status and
 *	retry_ms are zero
 *
 * If grant->status is RNBD_ST_OK, its geometry suits the block layer, see rnbd_geometry_ok().
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @grant is untouched.
 */
enum rnbd_proto_err rnbd_decode_attach_reply(const struct rnbd_ctl_entry *entry,
					     struct rnbd_attach_grant *grant)
{
	struct rnbd_attach_grant out = { };
	struct rnbd_ctl_attach_reply wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (!perr)
		perr = rnbd_check_handle(wire.index, wire.generation, &out.handle);
	if (perr)
		return perr;
	out.status = le16_to_cpu(wire.status);
	out.retry_ms = le32_to_cpu(wire.retry_ms);
	if (!rnbd_status_known(out.status))
		return RNBD_PERR_STATUS;
	if (!rnbd_retry_ok(out.status, out.retry_ms))
		return RNBD_PERR_RESERVED;
	if (out.status != RNBD_ST_OK) {
		perr = rnbd_check_refusal(&wire);
		if (!perr)
			*grant = out;
		return perr;
	}
	out.fence_generation = le32_to_cpu(wire.fence_generation);
	out.storage_inflight = le32_to_cpu(wire.storage_inflight);
	rnbd_decode_geometry(&wire, &out.geo);
	memcpy(out.incarnation, wire.incarnation, sizeof(out.incarnation));
	memcpy(out.export_uuid, wire.export_uuid, sizeof(out.export_uuid));
	out.owner_generation = le32_to_cpu(wire.owner_generation);
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	if (out.geo.flags & ~RNBD_EXPORT_FLAGS)
		return RNBD_PERR_FLAGS;
	if (!rnbd_geometry_ok(&out.geo) || !out.fence_generation)
		return RNBD_PERR_LIMITS;
	*grant = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_attach_reply);

/**
 * rnbd_encode_handle - encode the body of a DETACH, DETACHED or CLOSED entry
 * @wire: body of the entry
 * @info: attachment and status
 *
 * Context: any.
 */
void rnbd_encode_handle(struct rnbd_ctl_handle *wire, const struct rnbd_handle_info *info)
{
	*wire = (struct rnbd_ctl_handle) {
		.index = cpu_to_le16(info->handle.index),
		.status = cpu_to_le16(info->status),
		.generation = cpu_to_le32(info->handle.generation),
		.retry_ms = cpu_to_le32(info->retry_ms),
		.flags = cpu_to_le16(info->flags),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_handle);

/**
 * rnbd_decode_handle - check and decode a DETACH, DETACHED or CLOSED entry
 * @entry: entry from rnbd_decode_ctl(), of one of these types
 * @info: result
 *
 * A DETACH must have the status RNBD_ST_OK, and a CLOSED entry any other known status. retry_ms
 * must be 0 except in a CLOSED entry, and flags must be 0 except in a DETACH.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_handle(const struct rnbd_ctl_entry *entry,
				       struct rnbd_handle_info *info)
{
	struct rnbd_handle_info out;
	struct rnbd_ctl_handle wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (!perr)
		perr = rnbd_check_handle(wire.index, wire.generation, &out.handle);
	if (perr)
		return perr;
	out.status = le16_to_cpu(wire.status);
	out.retry_ms = le32_to_cpu(wire.retry_ms);
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	out.flags = le16_to_cpu(wire.flags);
	if ((out.retry_ms && entry->type != RNBD_CTL_CLOSED) ||
	    (out.flags && entry->type != RNBD_CTL_DETACH))
		return RNBD_PERR_RESERVED;
	if (out.flags & ~RNBD_DETACH_FLAGS)
		return RNBD_PERR_FLAGS;
	if (!rnbd_status_known(out.status) ||
	    (entry->type == RNBD_CTL_DETACH && out.status != RNBD_ST_OK) ||
	    (entry->type == RNBD_CTL_CLOSED && out.status == RNBD_ST_OK))
		return RNBD_PERR_STATUS;
	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_handle);

/**
 * rnbd_encode_capacity - encode the body of a CAPACITY entry
 * @wire: body of the entry
 * @info: attachment and capacity in bytes
 *
 * Context: any.
 */
void rnbd_encode_capacity(struct rnbd_ctl_capacity *wire, const struct rnbd_capacity_info *info)
{
	*wire = (struct rnbd_ctl_capacity) {
		.index = cpu_to_le16(info->handle.index),
		.generation = cpu_to_le32(info->handle.generation),
		.capacity = cpu_to_le64(info->capacity),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_capacity);

/**
 * rnbd_decode_capacity - check and decode a CAPACITY entry
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_CAPACITY
 * @info: result; the caller checks the capacity with rnbd_capacity_ok()
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_capacity(const struct rnbd_ctl_entry *entry,
					 struct rnbd_capacity_info *info)
{
	struct rnbd_ctl_capacity wire;
	struct rnbd_handle handle;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (!perr)
		perr = rnbd_check_handle(wire.index, wire.generation, &handle);
	if (perr)
		return perr;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	info->handle = handle;
	info->capacity = le64_to_cpu(wire.capacity);
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_capacity);
