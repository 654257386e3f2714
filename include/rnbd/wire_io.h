/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of requests and replies.
 *
 * <rnbd/wire.h> has the frames, the connection and the login and includes this
 * file; include that one.
 */
#ifndef RNBD_WIRE_IO_H
#define RNBD_WIRE_IO_H

/**
 * enum rnbd_op - operation of a request
 * @RNBD_OP_READ: backend to pool extents; RNBD_REQ_INLINE
 * @RNBD_OP_WRITE: pool extents to backend; RNBD_REQ_FUA, RNBD_REQ_INLINE
 * @RNBD_OP_FLUSH: everything acknowledged so far, on any queue of any client,
 *	becomes durable; offset, length and extents are zero
 * @RNBD_OP_DISCARD: contents of the range are not needed any more
 * @RNBD_OP_WRITE_ZEROES: the range reads as zeros; RNBD_REQ_NOUNMAP, _FUA
 */
enum rnbd_op {
	RNBD_OP_READ		= 1,
	RNBD_OP_WRITE		= 2,
	RNBD_OP_FLUSH		= 3,
	RNBD_OP_DISCARD		= 4,
	RNBD_OP_WRITE_ZEROES	= 5,
};

/* One more than the last opcode. */
#define RNBD_OP_END		(RNBD_OP_WRITE_ZEROES + 1)

#define RNBD_REQ_FUA		0x1u	/* durable before the reply */
#define RNBD_REQ_NOUNMAP	0x2u	/* keep the blocks allocated */
/*
 * WRITE: the data are in this frame; the target puts them into the extents.
 * READ: the reply may carry the data; if it does not, they are in the extents.
 */
#define RNBD_REQ_INLINE		0x4u

/**
 * struct rnbd_wire_extent - a run of pool units
 * @unit: first unit, counted through the whole pool
 * @units: length; a run lies within one segment
 */
struct rnbd_wire_extent {
	__le32	unit;
	__le32	units;
};

static_assert(sizeof(struct rnbd_wire_extent) == 8);

/**
 * struct rnbd_req_entry - a request
 * @op: enum rnbd_op
 * @flags: RNBD_REQ_*
 * @tag: names the request until its reply, below queue_depth
 * @length: bytes
 * @offset: bytes on the export
 * @extent: first extent, zero if the operation carries no data
 * @nr_extents: of the request, this one included; those from the second on
 *	follow, four to an rnbd_wire_extent_entry. Together they hold exactly
 *	@length rounded up to whole units; data fills them in order.
 * @reserved: zero
 * @index: index of the attachment
 * @generation: generation of the attachment
 */
struct rnbd_req_entry {
	__u8	op;
	__u8	flags;
	__le16	tag;
	__le32	length;
	__le64	offset;
	struct rnbd_wire_extent extent;
	__u8	nr_extents;
	__u8	reserved;
	__le16	index;
	__le32	generation;
};

static_assert(sizeof(struct rnbd_req_entry) == 32);
static_assert(offsetof(struct rnbd_req_entry, offset) == 8);
static_assert(offsetof(struct rnbd_req_entry, nr_extents) == 24);
static_assert(offsetof(struct rnbd_req_entry, generation) == 28);

#define RNBD_EXTENTS_PER_ENTRY	4

/**
 * struct rnbd_wire_extent_entry - further extents of the request before it
 * @extent: extents; those not needed are zero
 */
struct rnbd_wire_extent_entry {
	struct rnbd_wire_extent extent[RNBD_EXTENTS_PER_ENTRY];
};

static_assert(sizeof(struct rnbd_wire_extent_entry) == sizeof(struct rnbd_req_entry));

/**
 * struct rnbd_reply_entry - result of a request
 * @tag: of the request
 * @status: enum rnbd_status
 * @length: bytes transferred: the length of the request if @status is
 *	RNBD_ST_OK, otherwise 0
 * @flags: RNBD_REPLY_INLINE
 * @reserved: zero
 */
struct rnbd_reply_entry {
	__le16	tag;
	__le16	status;
	__le32	length;
	__u8	flags;
	__u8	reserved[7];
};

#define RNBD_REPLY_INLINE	0x1u	/* the data are in this frame */

static_assert(sizeof(struct rnbd_reply_entry) == 16);

/**
 * enum rnbd_query_state - state of a request in an RNBD_CTL_QUERY_REPLY
 * @RNBD_QUERY_EXECUTING: the request is being executed, its reply will follow
 * @RNBD_QUERY_UNKNOWN: there is no request with this tag
 */
enum rnbd_query_state {
	RNBD_QUERY_EXECUTING	= 1,
	RNBD_QUERY_UNKNOWN	= 2,
};

/**
 * struct rnbd_ctl_query - query about a request, or the answer to it
 * @tag: of the request
 * @state: enum rnbd_query_state; 0 in a query
 * @reserved: zero
 */
struct rnbd_ctl_query {
	__le16	tag;
	__u8	state;
	__u8	reserved[5];
};

static_assert(sizeof(struct rnbd_ctl_query) == 8);
static_assert(offsetof(struct rnbd_ctl_query, state) == 2);

#endif /* RNBD_WIRE_IO_H */
