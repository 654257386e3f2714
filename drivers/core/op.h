/* SPDX-License-Identifier: GPL-2.0-only */
/* Properties of the opcodes (see op.c), and the limits of requests. */
#ifndef RNBD_CORE_OP_H
#define RNBD_CORE_OP_H

#include "portable.h"
#include <rnbd/wire.h>

/**
 * enum rnbd_op_data - direction of the data of a request
 * @RNBD_DATA_NONE: no data and no pool extents
 * @RNBD_DATA_IN: data move from the export to the client
 * @RNBD_DATA_OUT: data move from the client to the export
 */
enum rnbd_op_data {
	RNBD_DATA_NONE,
	RNBD_DATA_IN,
	RNBD_DATA_OUT,
};

/**
 * struct rnbd_limits - limits that the session sets for a request
 * @pool_units: size of the session's pool in units
 * @segment_units: size of a pool segment in units, a power of two
 * @depth: number of tags; a tag is below it
 * @inline_read: maximum bytes of a READ whose reply may carry the data, 0: none
 * @inline_write: maximum bytes of a WRITE that may carry its data, 0: none
 *
 * The caller must not change these numbers while it decodes requests.
 */
struct rnbd_limits {
	u32 pool_units;
	u32 segment_units;
	u32 depth;
	u32 inline_read;
	u32 inline_write;
};

/**
 * struct rnbd_export_limits - limits that the export sets for a request
 * @capacity: largest size of the export in bytes that was reported to the client, because
 *	requests in flight can be older than a shrink of the export
 * @block_mask: logical block size in bytes - 1
 * @max_io: maximum bytes of one READ or WRITE
 * @max_discard: maximum bytes of one DISCARD, 0: not supported
 * @max_write_zeroes: maximum bytes of one WRITE_ZEROES, 0: not supported
 *
 * Constant while requests are decoded, except that a resize of the export can increase @capacity.
 */
struct rnbd_export_limits {
	u64 capacity;
	u32 block_mask;
	u32 max_io;
	u32 max_discard;
	u32 max_write_zeroes;
};

/**
 * struct rnbd_op_row - properties of an opcode
 * @name: name of the opcode in logs and traces; NULL if there is no such opcode
 * @limit: offset of the member of struct rnbd_export_limits that limits the length; the target
 *	does not support the opcode if that member is 0. Used only with @range
 * @flags: RNBD_REQ_* that a request may have
 * @data: enum rnbd_op_data
 * @range: a request names a range of at least one block of the export; without @range the
 *	offset and length of a request are 0
 * @modifies: a request changes the export; not allowed in a read-only attachment
 * @undefined: contents of the range are undefined after a request, so nothing is lost if a
 *	crash of the target undoes the request
 * @flushes: a request makes durable all writes that were acknowledged before it was sent
 */
struct rnbd_op_row {
	const char *name;
	u16 limit;
	u8 flags;
	u8 data;
	bool range;
	bool modifies;
	bool undefined;
	bool flushes;
};

extern const struct rnbd_op_row rnbd_ops[RNBD_OP_END];

const char *rnbd_op_text(u8 op);

/**
 * rnbd_op_find - find the properties of an opcode that came from a peer
 * @op: any number
 *
 * Return: the properties, or NULL if there is no such opcode.
 */
static inline const struct rnbd_op_row *rnbd_op_find(u8 op)
{
	if (op >= RNBD_OP_END)
		return NULL;
	op = array_index_nospec(op, RNBD_OP_END);
	return rnbd_ops[op].name ? &rnbd_ops[op] : NULL;
}

/**
 * rnbd_op_limit - get the length limit of an opcode that has a range
 * @row: properties of the opcode
 * @exp: limits of the export
 *
 * Return: bytes; 0 if the target does not support the opcode.
 */
static inline u32 rnbd_op_limit(const struct rnbd_op_row *row,
				const struct rnbd_export_limits *exp)
{
	return *(const u32 *)((const u8 *)exp + row->limit);
}

/**
 * rnbd_op_inline_limit - get the length limit of requests whose data are inside a frame
 * @row: properties of an opcode that may have RNBD_REQ_INLINE
 * @lim: limits of the session
 *
 * Return: bytes; 0 if inline data are not negotiated.
 */
static inline u32 rnbd_op_inline_limit(const struct rnbd_op_row *row,
				       const struct rnbd_limits *lim)
{
	return row->data == RNBD_DATA_IN ? lim->inline_read : lim->inline_write;
}

/**
 * rnbd_op_data_in - test whether data move from the export to the client
 * @op: opcode that the decoder accepted, or that the client chose
 *
 * Return: true if so.
 */
static inline bool rnbd_op_data_in(u8 op)
{
	return rnbd_ops[op].data == RNBD_DATA_IN;
}

/**
 * rnbd_op_data_out - test whether data move from the client to the export
 * @op: opcode that the decoder accepted, or that the client chose
 *
 * Return: true if so.
 */
static inline bool rnbd_op_data_out(u8 op)
{
	return rnbd_ops[op].data == RNBD_DATA_OUT;
}

/**
 * rnbd_op_has_data - test whether a request uses pool extents
 * @op: opcode that the decoder accepted, or that the client chose
 *
 * Return: true if so.
 */
static inline bool rnbd_op_has_data(u8 op)
{
	return rnbd_ops[op].data != RNBD_DATA_NONE;
}

/**
 * rnbd_op_needs_flush - test whether a crash of the target can undo an acknowledged request
 * @op: opcode that the decoder accepted, or that the client chose
 * @flags: RNBD_REQ_* of the request
 *
 * If so, the client must remember, until a later FLUSH succeeds, that it has acknowledged a request
 * that is not flushed. Otherwise a loss of the data in a crash of the target would stay unnoticed.
 *
 * Return: true if so.
 */
static inline bool rnbd_op_needs_flush(u8 op, u8 flags)
{
	return rnbd_ops[op].modifies && !rnbd_ops[op].undefined &&
	       !(flags & RNBD_REQ_FUA);
}

#endif /* RNBD_CORE_OP_H */
