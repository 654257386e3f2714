// SPDX-License-Identifier: GPL-2.0-only
/*
 * Properties of the opcodes: one row per opcode.
 *
 * Operation: the decoder of requests, the client, the target, the traces and the tests read
 * these rows. Documentation/contributing/protocol-changes.rst lists all places that a new opcode
 * changes.
 *
 * Ownership: the rows are constant.
 * Concurrency: any context.
 * Errors: rnbd_op_find() returns NULL for an unknown number.
 */
#include "op.h"

#define RNBD_OP_LIMIT(member)	offsetof(struct rnbd_export_limits, member)

const struct rnbd_op_row rnbd_ops[RNBD_OP_END] = {
	[RNBD_OP_READ] = {
		.name = "read",
		.flags = RNBD_REQ_INLINE,
		.data = RNBD_DATA_IN,
		.range = true,
		.limit = RNBD_OP_LIMIT(max_io),
	},
	[RNBD_OP_WRITE] = {
		.name = "write",
		.flags = RNBD_REQ_FUA | RNBD_REQ_INLINE,
		.data = RNBD_DATA_OUT,
		.range = true,
		.limit = RNBD_OP_LIMIT(max_io),
		.modifies = true,
	},
	[RNBD_OP_FLUSH] = {
		.name = "flush",
		.flushes = true,
	},
	[RNBD_OP_DISCARD] = {
		.name = "discard",
		.range = true,
		.limit = RNBD_OP_LIMIT(max_discard),
		.modifies = true,
		.undefined = true,
	},
	[RNBD_OP_WRITE_ZEROES] = {
		.name = "write-zeroes",
		.flags = RNBD_REQ_FUA | RNBD_REQ_NOUNMAP,
		.range = true,
		.limit = RNBD_OP_LIMIT(max_write_zeroes),
		.modifies = true,
	},
};
EXPORT_SYMBOL_GPL(rnbd_ops);

/**
 * rnbd_op_text - get the name of an opcode
 * @op: enum rnbd_op, or any number that came from a peer
 *
 * Context: any.
 * Return: a constant word in lower case.
 */
const char *rnbd_op_text(u8 op)
{
	const struct rnbd_op_row *row = rnbd_op_find(op);

	return row ? row->name : "unknown";
}
EXPORT_SYMBOL_GPL(rnbd_op_text);
