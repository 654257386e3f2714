/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests, replies and queries. See io.c. */
#ifndef RNBD_CORE_IO_H
#define RNBD_CORE_IO_H

#include "ctl.h"
#include "frame.h"
#include "handle.h"
#include "op.h"

/**
 * struct rnbd_extent - contiguous units of the pool, in native byte order
 * @unit: first unit
 * @units: number of units
 */
struct rnbd_extent {
	u32 unit;
	u32 units;
};

/**
 * struct rnbd_request - a request in native byte order
 * @op: enum rnbd_op
 * @flags: RNBD_REQ_*
 * @tag: wire tag; the decoder compares it with the depth, the caller checks whether it is in
 *	use
 * @length: bytes of the range
 * @offset: offset of the range on the export in bytes
 * @handle: attachment that the request is for
 * @nr_extents: number of members of @extents in use
 * @data: data of a decoded inline WRITE, which lie in the frame; otherwise NULL
 * @extents: extents of the pool, in the order of the data
 */
struct rnbd_request {
	u8 op;
	u8 flags;
	u16 tag;
	u32 length;
	u64 offset;
	struct rnbd_handle handle;
	const void *data;
	u8 nr_extents;
	struct rnbd_extent extents[RNBD_EXTENTS_MAX];
};

/**
 * struct rnbd_reply - a reply in native byte order
 * @tag: wire tag; the decoder compares it with the depth, the caller checks whether it is in
 *	use
 * @status: enum rnbd_status
 * @length: transferred bytes
 * @is_inline: the data are in the frame
 * @data: inline data of a decoded reply, which lie in the frame; otherwise NULL
 */
struct rnbd_reply {
	u16 tag;
	u16 status;
	u32 length;
	bool is_inline;
	const void *data;
};

/**
 * struct rnbd_query_info - a query, or its answer, in native byte order
 * @tag: wire tag; the decoder compares it with the depth, the caller checks whether it is in
 *	use
 * @state: enum rnbd_query_state; 0 in a query
 */
struct rnbd_query_info {
	u16 tag;
	u8 state;
};

/**
 * struct rnbd_req_cursor - a request whose first entry was decoded
 * @wire: copy of the first entry
 * @pos: index of the first entry in the frame
 * @handle: attachment that the request is for
 */
struct rnbd_req_cursor {
	struct rnbd_req_entry wire;
	u16 pos;
	struct rnbd_handle handle;
};

u32 rnbd_request_entries(u8 nr_extents);
void rnbd_encode_request(struct rnbd_req_entry *entry,
			 const struct rnbd_request *req);
enum rnbd_proto_err rnbd_begin_request(const struct rnbd_frame *frame, u16 pos,
				       struct rnbd_req_cursor *cursor);
enum rnbd_proto_err rnbd_decode_request(struct rnbd_frame *frame, u16 *pos,
					const struct rnbd_req_cursor *cursor,
					const struct rnbd_limits *lim,
					const struct rnbd_export_limits *exp,
					struct rnbd_request *req);
void rnbd_encode_reply(struct rnbd_reply_entry *entry,
		       const struct rnbd_reply *reply);
enum rnbd_proto_err rnbd_decode_reply(struct rnbd_frame *frame, u16 pos,
				      u32 depth, struct rnbd_reply *reply);

/**
 * rnbd_check_reply - compare a reply with the request that it answers
 * @reply: decoded reply
 * @req: request with the same tag
 *
 * Context: any.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
static inline enum rnbd_proto_err rnbd_check_reply(const struct rnbd_reply *reply,
						   const struct rnbd_request *req)
{
	if (unlikely(reply->status == RNBD_ST_OK && reply->length != req->length))
		return RNBD_PERR_LENGTH;
	if (unlikely(reply->is_inline && (!rnbd_op_data_in(req->op) ||
					  !(req->flags & RNBD_REQ_INLINE))))
		return RNBD_PERR_FLAGS;
	return RNBD_PERR_NONE;
}

void rnbd_encode_query(struct rnbd_ctl_query *wire, const struct rnbd_query_info *query);
enum rnbd_proto_err rnbd_decode_query(const struct rnbd_ctl_entry *entry, u32 depth,
				      struct rnbd_query_info *query);

#endif /* RNBD_CORE_IO_H */
