/* SPDX-License-Identifier: GPL-2.0-only */
/* Head of every frame, and the bytes that follow it. See frame.c. */
#ifndef RNBD_CORE_FRAME_H
#define RNBD_CORE_FRAME_H

#include "portable.h"
#include "proto_err.h"
#include <rnbd/wire.h>

/**
 * struct rnbd_frame - a frame whose head was checked
 * @type: enum rnbd_frame_type
 * @nr_entries: number of entries at @entries
 * @credits: credits that the peer returns
 * @entries: first entry, in the receive slot
 * @bytes: bytes of all entries
 * @data: inline data that no decoded entry has taken yet
 * @data_bytes: bytes left at @data
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
 * Copy @size bytes at @offset of the entries. The check is needed for CONTROL frames, whose
 * entries differ in length; for other frames rnbd_decode_frame() has checked the size already.
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
