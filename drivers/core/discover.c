// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bodies of control entries about lists of exports.
 *
 * Operation: the client requests the list with a LIST entry, which has no body. The target
 * answers with an EXPORT entry for each export and a final LIST_END entry.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "discover.h"
#include "geometry.h"
#include "names.h"

/**
 * rnbd_encode_export - encode one export of a list
 * @wire: body of an entry of type RNBD_CTL_EXPORT
 * @info: export, with a valid name that ends with NUL
 *
 * Context: any.
 */
void rnbd_encode_export(struct rnbd_ctl_export *wire, const struct rnbd_export_info *info)
{
	*wire = (struct rnbd_ctl_export) {
		.capacity = cpu_to_le64(info->capacity),
		.logical_block = cpu_to_le32(info->logical_block),
		.flags = cpu_to_le32(info->flags),
	};
	/* The last byte stays NUL even if the name in @info is too long. */
	memcpy(wire->name, info->name, strnlen(info->name, sizeof(wire->name) - 1));
	memcpy(wire->uuid, info->uuid, sizeof(wire->uuid));
}
EXPORT_SYMBOL_GPL(rnbd_encode_export);

/**
 * rnbd_decode_export - check and decode one export of a list
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_EXPORT
 * @info: result
 *
 * The rules for name, block size and capacity are those of ATTACH and ATTACH_REPLY. The function
 * does not check whether another export of the list has the same name.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_export(const struct rnbd_ctl_entry *entry,
				       struct rnbd_export_info *info)
{
	struct rnbd_export_info out;
	struct rnbd_ctl_export wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (!rnbd_export_name_ok(wire.name, sizeof(wire.name)))
		return RNBD_PERR_NAME;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;

	memcpy(out.name, wire.name, sizeof(out.name));
	memcpy(out.uuid, wire.uuid, sizeof(out.uuid));
	out.capacity = le64_to_cpu(wire.capacity);
	out.logical_block = le32_to_cpu(wire.logical_block);
	out.flags = le32_to_cpu(wire.flags);

	if (out.flags & ~RNBD_LIST_EXPORT_FLAGS)
		return RNBD_PERR_FLAGS;
	if (!rnbd_block_ok(out.logical_block) ||
	    !rnbd_capacity_ok(out.capacity, out.logical_block))
		return RNBD_PERR_LIMITS;

	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_export);

/**
 * rnbd_encode_list_end - encode the end of a list of exports
 * @wire: body of an entry of type RNBD_CTL_LIST_END
 * @info: status of the list
 *
 * Context: any.
 */
void rnbd_encode_list_end(struct rnbd_ctl_list_end *wire, const struct rnbd_list_end_info *info)
{
	*wire = (struct rnbd_ctl_list_end) {
		.status = cpu_to_le16(info->status),
		.retry_ms = cpu_to_le32(info->retry_ms),
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_list_end);

/**
 * rnbd_decode_list_end - check and decode the end of a list of exports
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_LIST_END
 * @info: result
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @info is untouched.
 */
enum rnbd_proto_err rnbd_decode_list_end(const struct rnbd_ctl_entry *entry,
					 struct rnbd_list_end_info *info)
{
	struct rnbd_ctl_list_end wire;
	enum rnbd_proto_err perr;
	u32 retry_ms;
	u16 status;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	status = le16_to_cpu(wire.status);
	retry_ms = le32_to_cpu(wire.retry_ms);
	if (!rnbd_status_known(status))
		return RNBD_PERR_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)) ||
	    !rnbd_retry_ok(status, retry_ms))
		return RNBD_PERR_RESERVED;
	info->status = status;
	info->retry_ms = retry_ms;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_list_end);
