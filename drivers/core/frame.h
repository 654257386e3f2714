/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The head of every frame and the bytes behind it, see frame.c.
 */
#ifndef RNBD_CORE_FRAME_H
#define RNBD_CORE_FRAME_H

#include "portable.h"
#include "proto_err.h"
#include <rnbd/wire.h>

/**
 * struct rnbd_frame - a checked frame
 * @type: enum rnbd_frame_type
 * @nr_entries: entries at @entries
 * @credits: slots the peer gives back
 * @entries: first entry, inside the receive slot
 * @bytes: bytes at @entries
 * @data: inline data that no decoded entry has claimed yet
 * @data_bytes: how much is left at @data
 */
struct rnbd_frame {
	u8 type;
	u16 nr_entries;
	u16 credits;
	const void *entries;
	u32 bytes;
	const void *data;
	u32 data_bytes;
};

void rnbd_encode_frame_hdr(void *buf, u8 type, u8 flags, u16 nr_entries,
			   u16 credits, u32 seq, u32 attempt);
enum rnbd_proto_err rnbd_decode_frame(const void *buf, u32 len, u32 seq, u32 attempt,
				      u16 ring_slots, struct rnbd_frame *frame);
enum rnbd_proto_err rnbd_decode_end(const struct rnbd_frame *frame);

/*
 * Copy @size bytes at @offset of the entries. The frame came out of
 * rnbd_decode_frame(), so that a caller who stays below nr_entries always
 * finds the bytes; that is checked again since it costs next to nothing.
 */
static inline bool rnbd_copy_entry(const struct rnbd_frame *frame, u32 offset,
				   void *copy, u32 size)
{
	if (offset > frame->bytes || size > frame->bytes - offset)
		return false;
	memcpy(copy, (const u8 *)frame->entries + offset, size);
	return true;
}

#endif /* RNBD_CORE_FRAME_H */
