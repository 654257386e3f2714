// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests, replies and queries.
 *
 * Operation: a request names an operation, a range of the export and extents of the pool; its
 * reply has the same tag and a status. Data of small requests may follow the entries inside
 * the frame. A query asks for the state of the request with a given tag.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a decoder returns the first protocol error, see proto_err.h and check.h.
 */
#include "check.h"
#include "io.h"

/* Take the next @bytes of inline data; NULL if fewer are left. */
static const void *rnbd_claim_data(struct rnbd_frame *frame, u32 bytes)
{
	const void *data = frame->data;

	if (bytes > frame->data_bytes)
		return NULL;
	frame->data = (const u8 *)data + bytes;
	frame->data_bytes -= bytes;
	return data;
}

/**
 * rnbd_request_entries - compute the number of entries of a request in a frame
 * @nr_extents: number of extents of the request, at most RNBD_EXTENTS_MAX
 *
 * Context: any.
 * Return: number of entries, each of sizeof(struct rnbd_req_entry) bytes.
 */
u32 rnbd_request_entries(u8 nr_extents)
{
	if (nr_extents <= 1)
		return 1;
	return 1 + DIV_ROUND_UP(nr_extents - 1u, RNBD_EXTENTS_PER_ENTRY);
}
EXPORT_SYMBOL_GPL(rnbd_request_entries);

static struct rnbd_wire_extent rnbd_extent_to_wire(const struct rnbd_extent *extent)
{
	return (struct rnbd_wire_extent) {
		.unit = cpu_to_le32(extent->unit),
		.units = cpu_to_le32(extent->units),
	};
}

static struct rnbd_extent rnbd_extent_from_wire(const struct rnbd_wire_extent *extent)
{
	return (struct rnbd_extent) {
		.unit = le32_to_cpu(extent->unit),
		.units = le32_to_cpu(extent->units),
	};
}

/**
 * rnbd_encode_request - encode a request with all its extents
 * @entry: rnbd_request_entries() consecutive entries, aligned to 8 bytes
 * @req: the request; nr_extents is at most RNBD_EXTENTS_MAX
 *
 * Context: any.
 */
void rnbd_encode_request(struct rnbd_req_entry *entry,
			 const struct rnbd_request *req)
{
	u32 further = rnbd_request_entries(req->nr_extents) - 1;
	struct rnbd_wire_extent_entry *more = (void *)(entry + 1);
	u32 i;

	*entry = (struct rnbd_req_entry) {
		.op = req->op,
		.flags = req->flags,
		.tag = cpu_to_le16(req->tag),
		.length = cpu_to_le32(req->length),
		.offset = cpu_to_le64(req->offset),
		.nr_extents = req->nr_extents,
		.index = cpu_to_le16(req->handle.index),
		.generation = cpu_to_le32(req->handle.generation),
	};
	if (req->nr_extents)
		entry->extent = rnbd_extent_to_wire(&req->extents[0]);

	for (i = 0; i < further; i++)
		more[i] = (struct rnbd_wire_extent_entry) { };
	for (i = 1; i < req->nr_extents; i++)
		more[(i - 1) / RNBD_EXTENTS_PER_ENTRY]
			.extent[(i - 1) % RNBD_EXTENTS_PER_ENTRY] =
			rnbd_extent_to_wire(&req->extents[i]);
}
EXPORT_SYMBOL_GPL(rnbd_encode_request);

/* Check opcode and flags. For an operation with a range, set *@max to its length limit in bytes. */
static enum rnbd_proto_err rnbd_check_op(const struct rnbd_request *req,
					 const struct rnbd_op_row *row,
					 const struct rnbd_limits *lim,
					 const struct rnbd_export_limits *exp, u32 *max)
{
	u32 inline_max = rnbd_op_inline_limit(row, lim);
	u8 flags = row->flags;

	if (!inline_max)
		flags &= ~RNBD_REQ_INLINE;
	if (row->range) {
		*max = rnbd_op_limit(row, exp);
		if (!*max)
			return RNBD_PERR_OP;
		if (req->flags & flags & RNBD_REQ_INLINE)
			*max = inline_max;
	}
	if (req->flags & ~flags)
		return RNBD_PERR_FLAGS;
	return RNBD_PERR_NONE;
}

/* Check length and offset of an operation with a range; @max is the length limit in bytes. */
static enum rnbd_proto_err rnbd_check_range(const struct rnbd_request *req,
					    const struct rnbd_export_limits *exp, u32 max)
{
	u64 capacity = READ_ONCE(exp->capacity);

	if (!req->length || req->length > max ||
	    (req->length & exp->block_mask))
		return RNBD_PERR_LENGTH;
	if ((req->offset & exp->block_mask) ||
	    req->offset > capacity ||
	    req->length > capacity - req->offset)
		return RNBD_PERR_OFFSET;
	return RNBD_PERR_NONE;
}

/* Check extent @index against the pool and against the extents before it. */
static bool rnbd_extent_ok(const struct rnbd_request *req, u32 index,
			   const struct rnbd_limits *lim)
{
	const struct rnbd_extent *extent = &req->extents[index];
	u64 end = (u64)extent->unit + extent->units;
	u32 i;

	if (!extent->units || end > lim->pool_units)
		return false;
	/* The first and the last unit must lie in the same segment. */
	if ((extent->unit ^ (u32)(end - 1)) & ~(lim->segment_units - 1))
		return false;
	/* The sums cannot overflow: earlier extents were checked to lie in the pool. */
	for (i = 0; i < index; i++)
		if (extent->unit < req->extents[i].unit + req->extents[i].units &&
		    req->extents[i].unit < end)
			return false;
	return true;
}

/**
 * rnbd_begin_request - decode the first entry of a request
 * @frame: frame from rnbd_decode_frame(), of type RNBD_FRAME_REQUEST
 * @pos: index of the request's first entry
 * @cursor: result. The caller finds the attachment that cursor->handle names, and passes the
 *	limits of its export to rnbd_decode_request()
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @cursor is undefined.
 */
enum rnbd_proto_err rnbd_begin_request(const struct rnbd_frame *frame, u16 pos,
				       struct rnbd_req_cursor *cursor)
{
	struct rnbd_req_entry *wire = &cursor->wire;

	if (frame->type != RNBD_FRAME_REQUEST)
		return RNBD_PERR_TYPE;
	if (pos >= frame->nr_entries)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, pos * sizeof(*wire), wire, sizeof(*wire)))
		return RNBD_PERR_SHORT;
	cursor->pos = pos;
	cursor->handle.index = le16_to_cpu(wire->index);
	cursor->handle.generation = le32_to_cpu(wire->generation);
	if (cursor->handle.index >= RNBD_ATTACH_MAX || !cursor->handle.generation)
		return RNBD_PERR_HANDLE;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_begin_request);

/**
 * rnbd_decode_request - check and decode one request
 * @frame: frame of type RNBD_FRAME_REQUEST. Its requests must be decoded in their order, which
 *	is the order of their inline data
 * @pos: set to the index after the request's last entry, at most frame->nr_entries
 * @cursor: cursor from rnbd_begin_request()
 * @lim: limits of the session
 * @exp: limits of the export that the request is for
 * @req: result; the extents from req->nr_extents on are undefined
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @pos is untouched and @req is
 * undefined.
 */
enum rnbd_proto_err rnbd_decode_request(struct rnbd_frame *frame, u16 *pos,
					const struct rnbd_req_cursor *cursor,
					const struct rnbd_limits *lim,
					const struct rnbd_export_limits *exp,
					struct rnbd_request *req)
{
	const struct rnbd_req_entry *wire = &cursor->wire;
	const struct rnbd_op_row *row;
	enum rnbd_proto_err perr;
	u32 i, entries, max = 0;
	u32 at = cursor->pos;
	u64 units = 0;

	req->op = wire->op;
	req->flags = wire->flags;
	req->tag = le16_to_cpu(wire->tag);
	req->length = le32_to_cpu(wire->length);
	req->offset = le64_to_cpu(wire->offset);
	req->nr_extents = wire->nr_extents;
	req->handle = cursor->handle;
	req->data = NULL;
	req->extents[0] = rnbd_extent_from_wire(&wire->extent);

	row = rnbd_op_find(req->op);
	if (!row)
		return RNBD_PERR_OP;
	perr = rnbd_check_op(req, row, lim, exp, &max);
	if (perr)
		return perr;
	if (req->tag >= lim->depth)
		return RNBD_PERR_TAG;
	if (wire->reserved)
		return RNBD_PERR_RESERVED;

	if (row->range) {
		perr = rnbd_check_range(req, exp, max);
		if (perr)
			return perr;
	} else {
		if (req->length)
			return RNBD_PERR_LENGTH;
		if (req->offset)
			return RNBD_PERR_OFFSET;
	}

	if (row->data == RNBD_DATA_NONE) {
		if (req->nr_extents || req->extents[0].unit || req->extents[0].units)
			return RNBD_PERR_EXTENT;
		*pos = at + 1;
		return RNBD_PERR_NONE;
	}

	if (!req->nr_extents || req->nr_extents > RNBD_EXTENTS_MAX)
		return RNBD_PERR_EXTENT;
	entries = rnbd_request_entries(req->nr_extents);
	if (entries > frame->nr_entries - at)
		return RNBD_PERR_COUNT;

	for (i = 0; i < entries - 1; i++) {
		struct rnbd_wire_extent_entry more;
		u32 j, index = 1 + i * RNBD_EXTENTS_PER_ENTRY;

		if (!rnbd_copy_entry(frame, (at + 1 + i) * sizeof(more),
				     &more, sizeof(more)))
			return RNBD_PERR_SHORT;
		for (j = 0; j < RNBD_EXTENTS_PER_ENTRY; j++, index++) {
			if (index < req->nr_extents)
				req->extents[index] =
					rnbd_extent_from_wire(&more.extent[j]);
			else if (more.extent[j].unit || more.extent[j].units)
				return RNBD_PERR_EXTENT;
		}
	}

	for (i = 0; i < req->nr_extents; i++) {
		if (!rnbd_extent_ok(req, i, lim))
			return RNBD_PERR_EXTENT;
		units += req->extents[i].units;
	}
	if (units != rnbd_bytes_to_units(req->length))
		return RNBD_PERR_EXTENT;

	if (row->data == RNBD_DATA_OUT && (req->flags & RNBD_REQ_INLINE)) {
		req->data = rnbd_claim_data(frame, req->length);
		if (!req->data)
			return RNBD_PERR_SHORT;
	}
	*pos = at + entries;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_request);

/**
 * rnbd_encode_reply - encode the result of a request
 * @entry: result, one entry
 * @reply: result of the request
 *
 * Context: any.
 */
void rnbd_encode_reply(struct rnbd_reply_entry *entry,
		       const struct rnbd_reply *reply)
{
	*entry = (struct rnbd_reply_entry) {
		.tag = cpu_to_le16(reply->tag),
		.status = cpu_to_le16(reply->status),
		.length = cpu_to_le32(reply->length),
		.flags = reply->is_inline ? RNBD_REPLY_INLINE : 0,
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_reply);

/**
 * rnbd_decode_reply - check and decode one reply
 * @frame: frame of type RNBD_FRAME_REPLY. Its replies must be decoded in their order, which
 *	is the order of their inline data
 * @pos: index of the entry
 * @depth: number of tags of the queue
 * @reply: result
 *
 * The caller must call rnbd_check_reply(), which compares the reply with its request.
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @reply is untouched.
 */
enum rnbd_proto_err rnbd_decode_reply(struct rnbd_frame *frame, u16 pos,
				      u32 depth, struct rnbd_reply *reply)
{
	struct rnbd_reply_entry wire;
	const void *data = NULL;
	bool is_inline;
	u16 tag, status;
	u32 length;

	if (frame->type != RNBD_FRAME_REPLY)
		return RNBD_PERR_TYPE;
	if (pos >= frame->nr_entries)
		return RNBD_PERR_COUNT;
	if (!rnbd_copy_entry(frame, pos * sizeof(wire), &wire, sizeof(wire)))
		return RNBD_PERR_SHORT;
	tag = le16_to_cpu(wire.tag);
	status = le16_to_cpu(wire.status);
	length = le32_to_cpu(wire.length);
	is_inline = wire.flags & RNBD_REPLY_INLINE;

	if (tag >= depth)
		return RNBD_PERR_TAG;
	if (wire.flags & ~RNBD_REPLY_INLINE)
		return RNBD_PERR_FLAGS;
	if (!rnbd_status_of_request(status))
		return RNBD_PERR_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;
	if (status != RNBD_ST_OK && length)
		return RNBD_PERR_LENGTH;
	if (is_inline) {
		/* An inline reply carries at least one byte, and all its data are in the frame. */
		data = length ? rnbd_claim_data(frame, length) : NULL;
		if (!data)
			return RNBD_PERR_SHORT;
	}

	reply->tag = tag;
	reply->status = status;
	reply->length = length;
	reply->is_inline = is_inline;
	reply->data = data;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_reply);

/**
 * rnbd_encode_query - encode a query about a request, or its answer
 * @wire: body of an entry of type RNBD_CTL_QUERY or RNBD_CTL_QUERY_REPLY
 * @query: query or answer
 *
 * Context: any.
 */
void rnbd_encode_query(struct rnbd_ctl_query *wire, const struct rnbd_query_info *query)
{
	*wire = (struct rnbd_ctl_query) {
		.tag = cpu_to_le16(query->tag),
		.state = query->state,
	};
}
EXPORT_SYMBOL_GPL(rnbd_encode_query);

/**
 * rnbd_decode_query - check and decode a query about a request, or its answer
 * @entry: entry from rnbd_decode_ctl(), of type RNBD_CTL_QUERY or RNBD_CTL_QUERY_REPLY
 * @depth: number of tags of the queue
 * @query: result
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the first protocol error; on error @query is untouched.
 */
enum rnbd_proto_err rnbd_decode_query(const struct rnbd_ctl_entry *entry, u32 depth,
				      struct rnbd_query_info *query)
{
	bool reply = entry->type == RNBD_CTL_QUERY_REPLY;
	struct rnbd_ctl_query wire;
	enum rnbd_proto_err perr;

	perr = rnbd_ctl_body(entry, &wire, sizeof(wire));
	if (perr)
		return perr;
	if (le16_to_cpu(wire.tag) >= depth)
		return RNBD_PERR_TAG;
	if (wire.state > RNBD_QUERY_UNKNOWN || reply != !!wire.state)
		return RNBD_PERR_STATUS;
	if (!rnbd_all_zero(wire.reserved, sizeof(wire.reserved)))
		return RNBD_PERR_RESERVED;

	query->tag = le16_to_cpu(wire.tag);
	query->state = wire.state;
	return RNBD_PERR_NONE;
}
EXPORT_SYMBOL_GPL(rnbd_decode_query);
