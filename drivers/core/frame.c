// SPDX-License-Identifier: GPL-2.0-only
/*
 * Head of every frame, and the bytes that follow it.
 *
 * Operation: a frame is a head, entries of the type that the head names, and inline data. This
 * file checks that the head has the expected numbers and that the entries fill the frame.
 * Other files decode the entries.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "frame.h"

/**
 * rnbd_encode_frame_hdr - encode the head of a frame
 * @buf: result, at least sizeof(struct rnbd_frame_hdr) bytes, any alignment
 * @type: enum rnbd_frame_type
 * @flags: RNBD_FRAME_DATA or 0
 * @nr_entries: number of entries that follow
 * @credits: credits returned to the peer
 * @seq: number of the frame on this queue in this direction
 * @attempt: number of the attempt that made the connection
 *
 * Context: any.
 */
void rnbd_encode_frame_hdr(void *buf, u8 type, u8 flags, u16 nr_entries,
			   u16 credits, u32 seq, u32 attempt)
{
	struct rnbd_frame_hdr hdr = {
		.type = type,
		.flags = flags,
		.nr_entries = cpu_to_le16(nr_entries),
		.credits = cpu_to_le16(credits),
		.seq = cpu_to_le32(seq),
		.attempt = cpu_to_le32(attempt),
	};

	memcpy(buf, &hdr, sizeof(hdr));
}
EXPORT_SYMBOL_GPL(rnbd_encode_frame_hdr);

/* Check that the number of entries suits the type, and compute their size. */
static enum rnbd_proto_err rnbd_entry_bytes(u8 type, u16 nr_entries, u32 *bytes)
{
	bool empty = type == RNBD_FRAME_CREDIT;

	if (!nr_entries != empty)
		return RNBD_PERR_COUNT;

	switch (type) {
	case RNBD_FRAME_REQUEST:
		*bytes = nr_entries * (u32)sizeof(struct rnbd_req_entry);
		break;
	case RNBD_FRAME_REPLY:
		*bytes = nr_entries * (u32)sizeof(struct rnbd_reply_entry);
		break;
	case RNBD_FRAME_CREDIT:
		*bytes = 0;
		break;
	case RNBD_FRAME_CONTROL:
		/* The minimum size: each entry of a CONTROL frame carries its own length. */
		*bytes = nr_entries * (u32)sizeof(struct rnbd_ctl);
		break;
	default:
		return RNBD_PERR_TYPE;
	}
	return RNBD_PERR_NONE;
}

static bool rnbd_frame_type_known(u8 type)
{
	return type == RNBD_FRAME_CONTROL || type == RNBD_FRAME_REQUEST ||
	       type == RNBD_FRAME_REPLY || type == RNBD_FRAME_CREDIT;
}

/**
 * rnbd_decode_frame - check the head of a frame and find its entries
 * @buf: received bytes, any alignment
 * @len: number of received bytes, not the size of the slot
 * @seq: number that the frame must have
 * @attempt: attempt number that the frame must have
 * @ring_slots: receive slots of the peer, the limit of the credits that it may return
 * @frame: result; points into @buf
 *
 * The entries must fill the frame to its last byte, unless inline data follow.
 * rnbd_decode_end() checks the length of the inline data after all entries were decoded. In a
 * CONTROL frame only the space for the heads of the entries is checked here; rnbd_decode_ctl()
 * checks the rest.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @frame is untouched.
 */
enum rnbd_proto_err rnbd_decode_frame(const void *buf, u32 len, u32 seq, u32 attempt,
				      u16 ring_slots, struct rnbd_frame *frame)
{
	struct rnbd_frame_hdr hdr;
	enum rnbd_proto_err perr;
	u16 nr_entries, credits;
	u32 bytes = 0;

	if (len < sizeof(hdr))
		return RNBD_PERR_SHORT;
	memcpy(&hdr, buf, sizeof(hdr));
	nr_entries = le16_to_cpu(hdr.nr_entries);
	credits = le16_to_cpu(hdr.credits);

	if ((hdr.flags & ~RNBD_FRAME_DATA) || hdr.reserved)
		return RNBD_PERR_RESERVED;
	if (!rnbd_frame_type_known(hdr.type))
		return RNBD_PERR_TYPE;
	if (le32_to_cpu(hdr.seq) != seq)
		return RNBD_PERR_SEQ;
	if (le32_to_cpu(hdr.attempt) != attempt)
		return RNBD_PERR_EPOCH;
	if (credits > ring_slots)
		return RNBD_PERR_CREDITS;

	perr = rnbd_entry_bytes(hdr.type, nr_entries, &bytes);
	if (perr)
		return perr;
	len -= sizeof(hdr);
	if (len < bytes)
		return RNBD_PERR_SHORT;
	if (hdr.type == RNBD_FRAME_CONTROL)
		bytes = len;
	if (hdr.flags & RNBD_FRAME_DATA) {
		if (hdr.type != RNBD_FRAME_REQUEST && hdr.type != RNBD_FRAME_REPLY)
			return RNBD_PERR_FLAGS;
		if (len == bytes)
			return RNBD_PERR_SHORT;
	} else if (len > bytes) {
		return RNBD_PERR_LONG;
	}

	frame->type = hdr.type;
	frame->nr_entries = nr_entries;
	frame->credits = credits;
	frame->entries = (const u8 *)buf + sizeof(hdr);
	frame->bytes = bytes;
	frame->data = (const u8 *)frame->entries + bytes;
	frame->data_bytes = len - bytes;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_frame);

/**
 * rnbd_decode_end - check that all inline data belong to an entry
 * @frame: frame whose entries were all decoded
 *
 * Context: any.
 * Return: RNBD_PERR_NONE, or RNBD_PERR_LONG if inline data are left.
 */
enum rnbd_proto_err rnbd_decode_end(const struct rnbd_frame *frame)
{
	return frame->data_bytes ? RNBD_PERR_LONG : RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_end);
