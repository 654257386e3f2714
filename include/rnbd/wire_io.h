/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of requests, replies and queries.
 *
 * Include <rnbd/wire.h>, which defines the frames and the connection and includes this file.
 */
#ifndef RNBD_WIRE_IO_H
#define RNBD_WIRE_IO_H

/**
 * enum rnbd_op - operation of a request, with the flags that the request may have
 * @RNBD_OP_READ: read from the backend into pool extents; RNBD_REQ_INLINE
 * @RNBD_OP_WRITE: write from pool extents to the backend; RNBD_REQ_FUA, RNBD_REQ_INLINE
 * @RNBD_OP_FLUSH: make durable all writes to the export that the target has acknowledged so far,
 *	on any queue of any client; offset, length and extents are zero
 * @RNBD_OP_DISCARD: discard the contents of a range
 * @RNBD_OP_WRITE_ZEROES: write zeros to a range; RNBD_REQ_NOUNMAP, RNBD_REQ_FUA
 */
enum rnbd_op {
	RNBD_OP_READ		= 1,
	RNBD_OP_WRITE		= 2,
	RNBD_OP_FLUSH		= 3,
	RNBD_OP_DISCARD		= 4,
	RNBD_OP_WRITE_ZEROES	= 5,
};

/* Last opcode + 1. */
#define RNBD_OP_END		(RNBD_OP_WRITE_ZEROES + 1)

#define RNBD_REQ_FUA		0x1u	/* durable before the reply */
#define RNBD_REQ_NOUNMAP	0x2u	/* keep the blocks allocated */
/*
 * WRITE: the data are in the frame of the request, and the target copies them to the extents.
 * READ: the frame of the reply may carry the data; otherwise the data are in the extents.
 */
#define RNBD_REQ_INLINE		0x4u

/**
 * struct rnbd_wire_extent - contiguous units of the pool
 * @unit: number of the first unit: slot of its segment * rnbd_ctl_login_reply.segment_units, plus
 *	the index of the unit in the segment
 * @units: number of units; all lie within one segment
 */
struct rnbd_wire_extent {
	__le32	unit;
	__le32	units;
};

static_assert(sizeof(struct rnbd_wire_extent) == 8);

/**
 * struct rnbd_req_entry - head of a request
 * @op: enum rnbd_op
 * @flags: RNBD_REQ_*
 * @tag: number of the request until its reply, below the depth of the queue
 * @length: bytes of the range
 * @offset: offset of the range on the export in bytes
 * @extent: first extent, zero if the operation carries no data
 * @nr_extents: number of extents of the request, including @extent. The others follow in
 *	entries of type struct rnbd_wire_extent_entry, four in each. All extents together hold
 *	exactly @length rounded up to whole units; the data fill them in order.
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
 * struct rnbd_wire_extent_entry - further extents of the preceding request
 * @extent: extents; unused ones are zero
 */
struct rnbd_wire_extent_entry {
	struct rnbd_wire_extent extent[RNBD_EXTENTS_PER_ENTRY];
};

static_assert(sizeof(struct rnbd_wire_extent_entry) == sizeof(struct rnbd_req_entry));

/**
 * struct rnbd_reply_entry - result of a request
 * @tag: tag of the request
 * @status: enum rnbd_status
 * @length: transferred bytes: the length of the request if @status is RNBD_ST_OK, otherwise 0
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
 * @RNBD_QUERY_EXECUTING: the target executes the request; a reply will follow
 * @RNBD_QUERY_UNKNOWN: the target has no request with this tag
 */
enum rnbd_query_state {
	RNBD_QUERY_EXECUTING	= 1,
	RNBD_QUERY_UNKNOWN	= 2,
};

/**
 * struct rnbd_ctl_query - body of QUERY and QUERY_REPLY
 * @tag: tag of the request that the query is about
 * @state: QUERY_REPLY: enum rnbd_query_state; QUERY: 0
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
