// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of CONTROL frames: heads and bodies.
 *
 * Operation: an entry has a head with its type and its length, and a body. A receiver
 * walks over the entries of a frame with rnbd_decode_ctl(), copies the body of a type
 * that it knows with rnbd_ctl_body(), and passes the others to rnbd_ctl_unknown(). So
 * a later version can add types, and members at the end of a body.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first thing wrong, see proto_err.h and check.h.
 */
#include "check.h"
#include "ctl.h"

/**
 * rnbd_encode_ctl - write the head and the body of an entry
 * @buf: at least sizeof(struct rnbd_ctl) + entry->bytes bytes
 * @entry: entry; its length fits 16 bits
 *
 * Context: any.
 */
void rnbd_encode_ctl(void *buf, const struct rnbd_ctl_entry *entry)
{
	struct rnbd_ctl head = {
		.type = cpu_to_le16(entry->type |
				    (entry->mandatory ? RNBD_CTL_MANDATORY : 0)),
		.length = cpu_to_le16(sizeof(head) + entry->bytes),
		.id = cpu_to_le32(entry->id),
	};

	memcpy(buf, &head, sizeof(head));
	if (entry->bytes)
		memcpy((u8 *)buf + sizeof(head), entry->body, entry->bytes);
}
EXPORT_SYMBOL_GPL(rnbd_encode_ctl);

/**
 * rnbd_decode_ctl - check the head of the next entry and find its body
 * @frame: from rnbd_decode_frame(), of type RNBD_FRAME_CONTROL
 * @pos: position of the entry; advanced past it, up to index frame->nr_entries
 * @entry: result; points into the frame
 *
 * The last entry ends with the frame.
 *
 * Context: any.
 * Return: the first thing wrong, @pos and @entry are untouched then.
 */
enum rnbd_proto_err rnbd_decode_ctl(const struct rnbd_frame *frame, struct rnbd_ctl_pos *pos,
				    struct rnbd_ctl_entry *entry)
{
	struct rnbd_ctl head;
	u16 type, length;
	u32 left;

	if (frame->type != RNBD_FRAME_CONTROL)
		return RNBD_PERR_TYPE;
	if (pos->index >= frame->nr_entries)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, pos->offset, &head, sizeof(head)))
		return RNBD_PERR_SHORT;
	type = le16_to_cpu(head.type);
	length = le16_to_cpu(head.length);
	/* The head was copied from there: this does not wrap. */
	left = frame->bytes - pos->offset;

	if (!(type & ~RNBD_CTL_MANDATORY))
		return RNBD_PERR_TYPE;
	if (length < sizeof(head) || length % RNBD_CTL_ALIGN)
		return RNBD_PERR_LENGTH;
	if (length > left)
		return RNBD_PERR_SHORT;
	if (length < left && pos->index + 1 == frame->nr_entries)
		return RNBD_PERR_LONG;

	entry->type = type & ~RNBD_CTL_MANDATORY;
	entry->mandatory = type & RNBD_CTL_MANDATORY;
	entry->id = le32_to_cpu(head.id);
	entry->body = (const u8 *)frame->entries + pos->offset + sizeof(head);
	entry->bytes = length - sizeof(head);
	pos->index++;
	pos->offset += length;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_ctl);

/**
 * rnbd_ctl_body - copy the body of an entry
 * @entry: from rnbd_decode_ctl(); the frame still exists
 * @copy: result, @size bytes
 * @size: bytes of the body as this version knows it
 *
 * Context: any.
 * Return: RNBD_PERR_SHORT if the body has fewer bytes, or RNBD_PERR_RESERVED if it has
 * more that are not zero; @copy is undefined then.
 */
enum rnbd_proto_err rnbd_ctl_body(const struct rnbd_ctl_entry *entry, void *copy, u32 size)
{
	if (entry->bytes < size)
		return RNBD_PERR_SHORT;
	memcpy(copy, entry->body, size);
	if (!rnbd_all_zero((const u8 *)entry->body + size, entry->bytes - size))
		return RNBD_PERR_RESERVED;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_ctl_body);

/**
 * rnbd_ctl_no_body - check an entry of a type that has no body
 * @entry: from rnbd_decode_ctl(); the frame still exists
 *
 * Context: any.
 * Return: RNBD_PERR_NONE, or RNBD_PERR_RESERVED if it has a body that is not zero.
 */
enum rnbd_proto_err rnbd_ctl_no_body(const struct rnbd_ctl_entry *entry)
{
	return rnbd_all_zero(entry->body, entry->bytes) ? RNBD_PERR_NONE : RNBD_PERR_RESERVED;
}
EXPORT_SYMBOL_GPL(rnbd_ctl_no_body);

/**
 * rnbd_ctl_unknown - decide about an entry whose type this version does not know
 * @entry: from rnbd_decode_ctl()
 *
 * Context: any.
 * Return: RNBD_PERR_NONE to skip the entry, or RNBD_PERR_TYPE if it is mandatory.
 */
enum rnbd_proto_err rnbd_ctl_unknown(const struct rnbd_ctl_entry *entry)
{
	return entry->mandatory ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_ctl_unknown);
