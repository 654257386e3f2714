// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of CONTROL frames: heads and bodies.
 *
 * Operation: an entry has a head, with its type and length, and a body. A receiver iterates
 * over the entries of a frame with rnbd_decode_ctl(), copies the body of a known type with
 * rnbd_ctl_body(), and passes an entry of another type to rnbd_ctl_unknown(). So a later
 * version can add types, which an older receiver skips unless they are mandatory, and members
 * at the end of bodies, which an older receiver accepts if they are zero.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "ctl.h"

/**
 * rnbd_encode_ctl - encode the head and the body of an entry
 * @buf: result, at least sizeof(struct rnbd_ctl) + entry->bytes bytes
 * @entry: entry; the length of its head and body must fit 16 bits
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
 * @frame: frame from rnbd_decode_frame(), of type RNBD_FRAME_CONTROL
 * @pos: position of the entry; advanced to the next entry
 * @entry: result; its body points into the frame
 *
 * The last entry must end at the last byte of the frame.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @pos and @entry are untouched.
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
	/* No underflow: rnbd_copy_entry() has checked that the head lies within the frame. */
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
 * @entry: entry from rnbd_decode_ctl() whose frame is still valid
 * @copy: result, @size bytes
 * @size: bytes of the body in this version
 *
 * Context: any.
 * Return: RNBD_PERR_NONE, RNBD_PERR_SHORT if the body is shorter than @size, or
 * RNBD_PERR_RESERVED if bytes beyond @size are not zero. On error @copy is undefined.
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
 * @entry: entry from rnbd_decode_ctl() whose frame is still valid
 *
 * Context: any.
 * Return: RNBD_PERR_NONE, or RNBD_PERR_RESERVED if the entry has a body that is not zero.
 */
enum rnbd_proto_err rnbd_ctl_no_body(const struct rnbd_ctl_entry *entry)
{
	return rnbd_all_zero(entry->body, entry->bytes) ? RNBD_PERR_NONE : RNBD_PERR_RESERVED;
}
EXPORT_SYMBOL_GPL(rnbd_ctl_no_body);

/**
 * rnbd_ctl_unknown - handle an entry of a type that this version does not know
 * @entry: entry from rnbd_decode_ctl()
 *
 * Context: any.
 * Return: RNBD_PERR_NONE to skip the entry, or RNBD_PERR_TYPE if it is mandatory.
 */
enum rnbd_proto_err rnbd_ctl_unknown(const struct rnbd_ctl_entry *entry)
{
	return entry->mandatory ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_ctl_unknown);
