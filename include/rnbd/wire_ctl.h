/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries, and of their bodies about attachments.
 *
 * Include <rnbd/wire.h>, which defines the frames and the connection and includes this file.
 */
#ifndef RNBD_WIRE_CTL_H
#define RNBD_WIRE_CTL_H

/*
 * Bit of rnbd_ctl.type. A receiver that does not know the type of an entry must end the
 * connection if this bit is set, and skips the entry otherwise.
 */
#define RNBD_CTL_MANDATORY	0x8000u

/* rnbd_ctl.length is a multiple of this number. */
#define RNBD_CTL_ALIGN		8

/**
 * struct rnbd_ctl - head of an entry of a CONTROL frame
 * @type: enum rnbd_ctl_type, never 0, and the bit RNBD_CTL_MANDATORY if it applies
 * @length: bytes of the entry, including this head
 * @id: number that the client chooses for a request, and that the target repeats in each answer.
 *	0 in RELEASED, and in entries of the target that answer nothing. Ignored in SLOTS,
 *	SLOTS_REPLY and the PROOF of the client
 *
 * The body follows. A sender of a later version may send a longer body than the receiver
 * knows. The sender sets the bytes that the receiver does not know to zero unless a feature bit
 * gives them a meaning.
 */
struct rnbd_ctl {
	__le16	type;
	__le16	length;
	__le32	id;
};

static_assert(sizeof(struct rnbd_ctl) == 8);
static_assert(offsetof(struct rnbd_ctl, id) == 4);

/**
 * enum rnbd_ctl_type - type of a control entry, with its sender and its body
 * @RNBD_CTL_LOGIN: client, first entry of connection 0: request a session; struct
 *	rnbd_ctl_login
 * @RNBD_CTL_LOGIN_REPLY: target, answer to LOGIN; struct rnbd_ctl_login_reply
 * @RNBD_CTL_JOIN: client, first entry of a connection other than 0: no body
 * @RNBD_CTL_JOIN_REPLY: target, answer to JOIN, after CHALLENGE and PROOF; struct
 *	rnbd_ctl_join_reply
 * @RNBD_CTL_CHALLENGE: target, answer to JOIN, and to LOGIN or LIST of a host that has a
 *	secret; struct rnbd_ctl_challenge
 * @RNBD_CTL_PROOF: client, answer to CHALLENGE; also target, on connection 0: its own proof,
 *	after that of the client and before the answer to LOGIN or LIST; struct rnbd_ctl_proof
 * @RNBD_CTL_ATTACH: client: attach an export; struct rnbd_ctl_attach
 * @RNBD_CTL_ATTACH_REPLY: target, answer to ATTACH; struct rnbd_ctl_attach_reply
 * @RNBD_CTL_DETACH: client: end an attachment; struct rnbd_ctl_handle
 * @RNBD_CTL_DETACHED: target, answer to DETACH, sent when no request of the attachment is in
 *	the storage; struct rnbd_ctl_handle
 * @RNBD_CTL_CLOSED: target: report a closed attachment; struct rnbd_ctl_handle
 * @RNBD_CTL_CAPACITY: target: report a changed capacity of an export; struct rnbd_ctl_capacity
 * @RNBD_CTL_QUERY: client, on the connection of the request: ask whether the target executes a
 *	request; struct rnbd_ctl_query
 * @RNBD_CTL_QUERY_REPLY: target, answer to QUERY, on the same connection; struct
 *	rnbd_ctl_query
 * @RNBD_CTL_LIST: client, first entry of connection 0: request the list of exports; no body
 * @RNBD_CTL_EXPORT: target, any number in answer to LIST; struct rnbd_ctl_export
 * @RNBD_CTL_LIST_END: target, after the last EXPORT; struct rnbd_ctl_list_end
 * @RNBD_CTL_SEGMENT: target, after LOGIN_REPLY, and later after WANT: grant a segment of the
 *	pool; struct rnbd_ctl_segment
 * @RNBD_CTL_WANT: client: request a size of the pool; struct rnbd_ctl_want
 * @RNBD_CTL_RECLAIM: target: ask the client to return a segment; struct rnbd_ctl_lease
 * @RNBD_CTL_RELEASE: client: return a segment; struct rnbd_ctl_lease
 * @RNBD_CTL_RELEASED: target, answer to RELEASE, sent when the key of the segment is no longer
 *	valid; struct rnbd_ctl_lease
 * @RNBD_CTL_SLOTS: either end, on the connection whose slots change: ask the peer for more
 *	receive slots, or give some up; struct rnbd_ctl_slots
 * @RNBD_CTL_SLOTS_REPLY: the other end, answer to SLOTS; struct rnbd_ctl_slots
 *
 * JOIN and JOIN_REPLY travel on connections other than 0, CHALLENGE, PROOF, QUERY,
 * QUERY_REPLY, SLOTS and SLOTS_REPLY on all, all other entries on connection 0.
 */
enum rnbd_ctl_type {
	RNBD_CTL_LOGIN		= 1,
	RNBD_CTL_LOGIN_REPLY	= 2,
	RNBD_CTL_JOIN		= 3,
	RNBD_CTL_JOIN_REPLY	= 4,
	RNBD_CTL_CHALLENGE	= 5,
	RNBD_CTL_PROOF		= 6,
	RNBD_CTL_ATTACH		= 7,
	RNBD_CTL_ATTACH_REPLY	= 8,
	RNBD_CTL_DETACH		= 9,
	RNBD_CTL_DETACHED	= 10,
	RNBD_CTL_CLOSED		= 11,
	RNBD_CTL_CAPACITY	= 12,
	RNBD_CTL_QUERY		= 13,
	RNBD_CTL_QUERY_REPLY	= 14,
	RNBD_CTL_LIST		= 15,
	RNBD_CTL_EXPORT		= 16,
	RNBD_CTL_LIST_END	= 17,
	RNBD_CTL_SEGMENT	= 18,
	RNBD_CTL_WANT		= 19,
	RNBD_CTL_RECLAIM	= 20,
	RNBD_CTL_RELEASE	= 21,
	RNBD_CTL_RELEASED	= 22,
	RNBD_CTL_SLOTS		= 23,
	RNBD_CTL_SLOTS_REPLY	= 24,
};

/* rnbd_ctl_attach.flags: the client will only read. */
#define RNBD_ATTACH_READONLY	0x1u
/*
 * rnbd_ctl_attach.flags: do not attach, but end the ownership of the host of an exclusive export.
 * The ownership does not end while the host has the export attached. The answer always has the
 * status RNBD_ST_NO_ATTACH.
 */
#define RNBD_ATTACH_DISOWN	0x2u
#define RNBD_ATTACH_FLAGS	(RNBD_ATTACH_READONLY | RNBD_ATTACH_DISOWN)

/**
 * struct rnbd_ctl_attach - RNBD_CTL_ATTACH: attach an export under a handle
 * @index: index of the attachment, below RNBD_ATTACH_MAX; the client chooses a free one
 * @flags: RNBD_ATTACH_*
 * @generation: generation of the handle, not 0; higher than any that the session was granted
 *	for @index, unless this repeats a request whose answer was lost
 * @fence_generation: value in the first ATTACH_REPLY that granted an ATTACH for this disk; 0
 *	before that reply
 * @owner_generation: value in the same ATTACH_REPLY; 0 before that reply
 * @export: name of the export, padded with NUL
 *
 * Index and generation together are the handle of the attachment. The request closes an
 * attachment that has the same index and a lower generation.
 */
struct rnbd_ctl_attach {
	__le16	index;
	__le16	flags;
	__le32	generation;
	__le32	fence_generation;
	__le32	owner_generation;
	char	export[RNBD_EXPORT_NAME_SIZE];
};

static_assert(sizeof(struct rnbd_ctl_attach) == 80);
static_assert(offsetof(struct rnbd_ctl_attach, fence_generation) == 8);
static_assert(offsetof(struct rnbd_ctl_attach, export) == 16);

/**
 * struct rnbd_ctl_attach_reply - RNBD_CTL_ATTACH_REPLY: answer to a request to attach
 * @index: as requested
 * @status: enum rnbd_status; if not RNBD_ST_OK, all members except @index, @generation and
 *	@retry_ms are zero
 * @generation: as requested
 * @retry_ms: with RNBD_ST_BUSY or RNBD_ST_LIMIT: milliseconds after which to ask again, or 0
 *	if the client may choose; otherwise 0
 * @fence_generation: generation of the host, which increases whenever the host is fenced; not
 *	0. Equal to @fence_generation of the request, unless the request has 0 there
 * @capacity: size of the export in bytes
 * @flags: RNBD_EXPORT_*
 * @logical_block: logical block size in bytes; each offset and length is a multiple of it
 * @physical_block: physical block size in bytes
 * @io_min: preferred minimum size of a request in bytes, at most RNBD_IO_HINT_MAX
 * @io_opt: optimal size of a request in bytes, at most RNBD_IO_HINT_MAX; 0 if unknown
 * @discard_granularity: bytes, not 0 if DISCARD is supported
 * @discard_alignment: bytes
 * @max_discard: maximum bytes of one DISCARD, not less than @discard_granularity and
 *	@physical_block; 0 if not supported
 * @max_write_zeroes: maximum bytes of one WRITE_ZEROES; 0 if not supported
 * @storage_inflight: maximum number of requests in flight that the storage takes; 0 if there
 *	is no limit
 * @incarnation: random number of the export's incarnation; changes if acknowledged writes that
 *	were not flushed can have been lost
 * @export_uuid: UUID of the export, which identifies its data
 * @owner_generation: generation of an exclusive export, which increases whenever its owner
 *	changes; 0 if the export is not exclusive. Equal to @owner_generation of the request,
 *	unless the request has the fence generation 0
 * @reserved: zero
 */
struct rnbd_ctl_attach_reply {
	__le16	index;
	__le16	status;
	__le32	generation;
	__le32	retry_ms;
	__le32	fence_generation;
	__le64	capacity;
	__le32	flags;
	__le32	logical_block;
	__le32	physical_block;
	__le32	io_min;
	__le32	io_opt;
	__le32	discard_granularity;
	__le32	discard_alignment;
	__le32	max_discard;
	__le32	max_write_zeroes;
	__le32	storage_inflight;
	__u8	incarnation[16];
	__u8	export_uuid[16];
	__le32	owner_generation;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_ctl_attach_reply) == 104);
static_assert(offsetof(struct rnbd_ctl_attach_reply, capacity) == 16);
static_assert(offsetof(struct rnbd_ctl_attach_reply, logical_block) == 28);
static_assert(offsetof(struct rnbd_ctl_attach_reply, incarnation) == 64);
static_assert(offsetof(struct rnbd_ctl_attach_reply, owner_generation) == 96);

/*
 * In rnbd_ctl_handle.flags of a DETACH: the client will attach the export again for the same
 * disk, so the host remains the owner of an exclusive export.
 */
#define RNBD_DETACH_KEEP_OWNER	0x1u
#define RNBD_DETACH_FLAGS	RNBD_DETACH_KEEP_OWNER

/**
 * struct rnbd_ctl_handle - body of DETACH, DETACHED and CLOSED
 * @index: index of the handle
 * @status: enum rnbd_status; RNBD_ST_OK in a DETACH, any other status in a CLOSED entry
 * @generation: generation of the handle
 * @retry_ms: CLOSED: milliseconds after which to attach again, or 0 if the client may choose the
 *	delay; DETACH, DETACHED: 0
 * @flags: DETACH: RNBD_DETACH_*; otherwise 0
 * @reserved: zero
 */
struct rnbd_ctl_handle {
	__le16	index;
	__le16	status;
	__le32	generation;
	__le32	retry_ms;
	__le16	flags;
	__u8	reserved[2];
};

static_assert(sizeof(struct rnbd_ctl_handle) == 16);
static_assert(offsetof(struct rnbd_ctl_handle, retry_ms) == 8);
static_assert(offsetof(struct rnbd_ctl_handle, flags) == 12);

/**
 * struct rnbd_ctl_capacity - RNBD_CTL_CAPACITY: the capacity of an export has changed
 * @index: index of the handle
 * @reserved: zero
 * @generation: generation of the handle
 * @capacity: new size of the export in bytes, as in struct rnbd_ctl_attach_reply
 *
 * If the export has shrunk, the target answers requests beyond its new end, which the client can
 * have sent before the entry arrived, with RNBD_ST_RANGE.
 */
struct rnbd_ctl_capacity {
	__le16	index;
	__u8	reserved[2];
	__le32	generation;
	__le64	capacity;
};

static_assert(sizeof(struct rnbd_ctl_capacity) == 16);
static_assert(offsetof(struct rnbd_ctl_capacity, capacity) == 8);

#endif /* RNBD_WIRE_CTL_H */
