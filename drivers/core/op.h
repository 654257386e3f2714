/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Properties of the opcodes, see op.c, and the limits of requests.
 */
#ifndef RNBD_CORE_OP_H
#define RNBD_CORE_OP_H

#include "portable.h"
#include <rnbd/wire.h>

/**
 * enum rnbd_op_data - the data of a request
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
 * @pool_units: size of the session's pool
 * @segment_units: size of a pool segment, a power of two
 * @depth: tags are below it
 * @inline_read: bytes of a READ whose reply may carry the data, 0: none
 * @inline_write: bytes of a WRITE that may carry its data, 0: none
 *
 * Constant while requests are decoded.
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
 * @capacity: bytes of the export, the largest that was reported to the client, whose
 *	requests in flight may have been made for that one
 * @block_mask: logical block size - 1
 * @max_io: bytes of one READ or WRITE
 * @max_discard: bytes of one DISCARD, 0: refused
 * @max_write_zeroes: bytes of one WRITE_ZEROES, 0: refused
 *
 * Constant while requests are decoded, except that a resize raises @capacity.
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
 * @name: word for logs and traces; NULL if there is no such opcode
 * @limit: offset in struct rnbd_export_limits of the longest request in bytes; the
 *	target does not support the opcode if that is 0. Not used without @range.
 * @flags: RNBD_REQ_* that a request may have
 * @data: enum rnbd_op_data
 * @range: a request names a range of the export that is not empty; without @range
 *	offset and length are 0
 * @modifies: a request changes the export, which a read-only session must not
 * @undefined: the range may read as anything after a request, so that a crash of the
 *	target cannot lose its effect
 * @flushes: a request makes durable what was acknowledged before it was sent
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
 * rnbd_op_find - find the row of a number that came from a peer
 * @op: any number
 *
 * Return: the row, NULL if there is no such opcode.
 */
static inline const struct rnbd_op_row *rnbd_op_find(u8 op)
{
	if (op >= RNBD_OP_END)
		return NULL;
	op = array_index_nospec(op, RNBD_OP_END);
	return rnbd_ops[op].name ? &rnbd_ops[op] : NULL;
}

/**
 * rnbd_op_limit - the longest request of an opcode that has a range
 * @row: of the opcode
 * @exp: limits of the export
 *
 * Return: bytes, 0 if the target does not support the opcode.
 */
static inline u32 rnbd_op_limit(const struct rnbd_op_row *row,
				const struct rnbd_export_limits *exp)
{
	return *(const u32 *)((const u8 *)exp + row->limit);
}

/**
 * rnbd_op_inline_limit - the longest request whose data may be inside a frame
 * @row: of an opcode that may have RNBD_REQ_INLINE
 * @lim: limits of the session
 *
 * Return: bytes, 0 if inline data are not negotiated.
 */
static inline u32 rnbd_op_inline_limit(const struct rnbd_op_row *row,
				       const struct rnbd_limits *lim)
{
	return row->data == RNBD_DATA_IN ? lim->inline_read : lim->inline_write;
}

/**
 * rnbd_op_data_in - do data move from the export to the client
 * @op: opcode that the decoder accepted, or that the client chose
 */
static inline bool rnbd_op_data_in(u8 op)
{
	return rnbd_ops[op].data == RNBD_DATA_IN;
}

/**
 * rnbd_op_data_out - do data move from the client to the export
 * @op: opcode that the decoder accepted, or that the client chose
 */
static inline bool rnbd_op_data_out(u8 op)
{
	return rnbd_ops[op].data == RNBD_DATA_OUT;
}

/**
 * rnbd_op_has_data - does a request use pool extents
 * @op: opcode that the decoder accepted, or that the client chose
 */
static inline bool rnbd_op_has_data(u8 op)
{
	return rnbd_ops[op].data != RNBD_DATA_NONE;
}

/**
 * rnbd_op_needs_flush - can a crash of the target undo what was acknowledged
 * @op: opcode that the decoder accepted, or that the client chose
 * @flags: RNBD_REQ_* of the request
 *
 * If so, the client has to note the completion until a later flush. That is the
 * default of an opcode that modifies the export: data are lost if it is forgotten.
 */
static inline bool rnbd_op_needs_flush(u8 op, u8 flags)
{
	return rnbd_ops[op].modifies && !rnbd_ops[op].undefined &&
	       !(flags & RNBD_REQ_FUA);
}

#endif /* RNBD_CORE_OP_H */
