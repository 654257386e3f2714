// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of exports.
 *
 * Operation: a list comes in as many frames as it needs; each has a head and entries.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first thing wrong, see proto_err.h and check.h.
 */
#include "check.h"
#include "discover.h"
#include "geometry.h"
#include "names.h"

/**
 * rnbd_encode_discover_reply - write the head of a frame of a list of exports
 * @wire: first entry of the DISCOVER_REPLY frame
 * @status: enum rnbd_status; if not RNBD_ST_OK, only that is sent
 * @more: further frames follow
 *
 * Context: any.
 */
void rnbd_encode_discover_reply(struct rnbd_discover_reply *wire, u16 status,
				bool more)
{
	*wire = (struct rnbd_discover_reply) {
		.status = cpu_to_le16(status),
	};
	if (status == RNBD_ST_OK && more)
		wire->flags = cpu_to_le16(RNBD_DISCOVER_MORE);
}
EXPORT_SYMBOL_GPL(rnbd_encode_discover_reply);

/**
 * rnbd_encode_export - write one export of a list
 * @wire: entry of the DISCOVER_REPLY frame behind its head
 * @info: the export; a valid, terminated name
 *
 * Context: any.
 */
void rnbd_encode_export(struct rnbd_export_entry *wire,
			const struct rnbd_export_info *info)
{
	*wire = (struct rnbd_export_entry) {
		.capacity = cpu_to_le64(info->capacity),
		.logical_block = cpu_to_le32(info->logical_block),
		.flags = cpu_to_le32(info->flags),
	};
	/* the last byte stays NUL whatever the caller did */
	memcpy(wire->name, info->name, strnlen(info->name, sizeof(wire->name) - 1));
	memcpy(wire->uuid, info->uuid, sizeof(wire->uuid));
}
EXPORT_SYMBOL_GPL(rnbd_encode_export);

/**
 * rnbd_decode_discover_reply - check and copy out the head of a part of a list
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_DISCOVER_REPLY
 * @room: exports that the list may still grow by
 * @info: result; if its status is not RNBD_ST_OK, nothing else is set
 *
 * A frame after which more follow brings the list forward, so that it ends.
 *
 * Context: any.
 * Return: the first thing wrong, @info is untouched then.
 */
enum rnbd_proto_err rnbd_decode_discover_reply(const struct rnbd_frame *frame, u32 room,
					       struct rnbd_discover_info *info)
{
	struct rnbd_discover_reply wire;
	u16 status, flags;
	u32 nr;

	if (frame->type != RNBD_FRAME_DISCOVER_REPLY)
		return RNBD_PERR_TYPE;
	if (!frame->nr_entries)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, 0, &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;

	status = le16_to_cpu(wire.status);
	flags = le16_to_cpu(wire.flags);
	nr = frame->nr_entries - 1u;
	if (!rnbd_status_known(status))
		return RNBD_PERR_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	if ((flags & ~RNBD_DISCOVER_MORE) || (flags && status != RNBD_ST_OK))
		return RNBD_PERR_FLAGS;
	if (nr > room || (nr && status != RNBD_ST_OK) || (!nr && flags))
		return RNBD_PERR_COUNT;

	*info = (struct rnbd_discover_info) {
		.status = status,
		.more = flags & RNBD_DISCOVER_MORE,
		.nr_exports = nr,
	};
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_discover_reply);

/**
 * rnbd_decode_export - check and copy out one export of a list
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_DISCOVER_REPLY
 * @index: of the export in the frame, from 0
 * @info: result
 *
 * Name, block and capacity keep to the same rules as in a login and its reply. That
 * no other export of the list has this name is not looked at.
 *
 * Context: any.
 * Return: the first thing wrong, @info is untouched then.
 */
enum rnbd_proto_err rnbd_decode_export(const struct rnbd_frame *frame, u32 index,
				       struct rnbd_export_info *info)
{
	struct rnbd_export_entry wire;
	struct rnbd_export_info out;

	if (frame->type != RNBD_FRAME_DISCOVER_REPLY)
		return RNBD_PERR_TYPE;
	/* below 65535 entries, so that the offset below cannot wrap */
	if (!frame->nr_entries || index >= frame->nr_entries - 1u)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, sizeof(struct rnbd_discover_reply) +
			     index * (u32)sizeof(wire), &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;

	if (!rnbd_export_name_ok(wire.name, sizeof(wire.name)))
		return RNBD_PERR_NAME;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;

	memcpy(out.name, wire.name, sizeof(out.name));
	memcpy(out.uuid, wire.uuid, sizeof(out.uuid));
	out.capacity = le64_to_cpu(wire.capacity);
	out.logical_block = le32_to_cpu(wire.logical_block);
	out.flags = le32_to_cpu(wire.flags);

	if (out.flags & ~RNBD_DISCOVER_EXPORT_FLAGS)
		return RNBD_PERR_FLAGS;
	if (!rnbd_block_ok(out.logical_block) ||
	    !rnbd_capacity_ok(out.capacity, out.logical_block))
		return RNBD_PERR_LIMITS;

	*info = out;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_export);
