/* SPDX-License-Identifier: GPL-2.0-only */
/* Properties of an export. See geometry.c. */
#ifndef RNBD_CORE_GEOMETRY_H
#define RNBD_CORE_GEOMETRY_H

#include "frame.h"

/**
 * struct rnbd_geometry - properties of an export
 * @capacity: size of the export in bytes
 * @flags: RNBD_EXPORT_*
 * @logical_block: logical block size in bytes; each offset and length is a multiple of it
 * @physical_block: physical block size in bytes
 * @io_min: preferred minimum size of a request in bytes
 * @io_opt: optimal size of a request in bytes, 0 if unknown
 * @discard_granularity: discard granularity in bytes, not 0 if DISCARD is supported
 * @discard_alignment: discard alignment in bytes, as in the queue limits of the block layer
 * @max_discard: maximum bytes of one DISCARD, 0 if not supported
 * @max_write_zeroes: maximum bytes of one WRITE_ZEROES, 0 if not supported
 */
struct rnbd_geometry {
	u64 capacity;
	u32 flags;
	u32 logical_block;
	u32 physical_block;
	u32 io_min;
	u32 io_opt;
	u32 discard_granularity;
	u32 discard_alignment;
	u32 max_discard;
	u32 max_write_zeroes;
};

bool rnbd_block_ok(u32 block);
bool rnbd_capacity_ok(u64 capacity, u32 block);
bool rnbd_geometry_ok(const struct rnbd_geometry *geo);

void rnbd_encode_geometry(struct rnbd_ctl_attach_reply *wire, const struct rnbd_geometry *geo);
void rnbd_decode_geometry(const struct rnbd_ctl_attach_reply *wire, struct rnbd_geometry *geo);

#endif /* RNBD_CORE_GEOMETRY_H */
