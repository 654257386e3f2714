/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of control entries.
 *
 * <rnbd/wire.h> has the frames, the connection and the login and includes this
 * file; include that one.
 */
#ifndef RNBD_WIRE_CTL_H
#define RNBD_WIRE_CTL_H

/*
 * In rnbd_ctl.type: a receiver that does not know the type must end the connection.
 * It skips an unknown entry without this bit.
 */
#define RNBD_CTL_MANDATORY	0x8000u

/* rnbd_ctl.length is a multiple of it. */
#define RNBD_CTL_ALIGN		8

/**
 * struct rnbd_ctl - head of an entry of a CONTROL frame
 * @type: type of the entry, not 0, and RNBD_CTL_MANDATORY
 * @length: bytes of the entry, this head included
 * @id: number that the sender of a request chooses and the answer repeats; 0 if no
 *	answer is expected
 *
 * The body follows. A sender that speaks a later version may send a longer body than
 * the receiver knows; what the receiver does not know is zero unless a feature says
 * otherwise.
 */
struct rnbd_ctl {
	__le16	type;
	__le16	length;
	__le32	id;
};

static_assert(sizeof(struct rnbd_ctl) == 8);
static_assert(offsetof(struct rnbd_ctl, id) == 4);

/**
 * enum rnbd_ctl_type - type of a control entry
 * @RNBD_CTL_LOGIN: client, first entry: request a session; struct rnbd_ctl_login
 * @RNBD_CTL_LOGIN_REPLY: target, in answer: struct rnbd_ctl_login_reply
 * @RNBD_CTL_JOIN: client, first entry on a connection other than 0: no body
 * @RNBD_CTL_JOIN_REPLY: target, in answer, after a challenge and a proof:
 *	struct rnbd_ctl_join_reply
 * @RNBD_CTL_CHALLENGE: target, in answer to a JOIN, or to a LOGIN or LIST of a host that has
 *	a secret: struct rnbd_ctl_challenge
 * @RNBD_CTL_PROOF: client, in answer to that, and then, on connection 0, target, before its
 *	answer: struct rnbd_ctl_proof
 * @RNBD_CTL_ATTACH: client: attach an export; struct rnbd_ctl_attach
 * @RNBD_CTL_ATTACH_REPLY: target, in answer: struct rnbd_ctl_attach_reply
 * @RNBD_CTL_DETACH: client: end an attachment; struct rnbd_ctl_handle
 * @RNBD_CTL_DETACHED: target, in answer, when every request of the attachment was
 *	answered and none is in the storage: struct rnbd_ctl_handle
 * @RNBD_CTL_CLOSED: target: it has closed an attachment; struct rnbd_ctl_handle
 * @RNBD_CTL_CAPACITY: target: an export has another size; struct rnbd_ctl_capacity
 * @RNBD_CTL_QUERY: client, on the connection of the request: ask whether a request is
 *	being executed; struct rnbd_ctl_query
 * @RNBD_CTL_QUERY_REPLY: target, in answer, on the same connection: struct rnbd_ctl_query
 * @RNBD_CTL_LIST: client, first entry: ask for the list of exports; no body
 * @RNBD_CTL_EXPORT: target, in answer, any number: struct rnbd_ctl_export
 * @RNBD_CTL_LIST_END: target, after the last of them: struct rnbd_ctl_list_end
 * @RNBD_CTL_SEGMENT: target, after a LOGIN_REPLY, or later after a WANT: grant a segment of
 *	the pool; struct rnbd_ctl_segment
 * @RNBD_CTL_WANT: client: request a size of the pool; struct rnbd_ctl_want
 * @RNBD_CTL_RECLAIM: target: request a segment back; struct rnbd_ctl_lease
 * @RNBD_CTL_RELEASE: client: return a segment; struct rnbd_ctl_lease
 * @RNBD_CTL_RELEASED: target, in answer, when the keys of the segment are no longer valid:
 *	struct rnbd_ctl_lease
 * @RNBD_CTL_SLOTS: either, about the connection that it travels on: ask the peer for more
 *	receive slots, or give some up; struct rnbd_ctl_slots
 * @RNBD_CTL_SLOTS_REPLY: the other end, in answer: struct rnbd_ctl_slots
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

/* rnbd_ctl_attach.flags: the client only reads */
#define RNBD_ATTACH_READONLY	0x1u
/*
 * rnbd_ctl_attach.flags: do not attach; the host no longer owns an exclusive export, for a
 * disk that is not attached at present. The answer is RNBD_ST_NO_ATTACH.
 */
#define RNBD_ATTACH_DISOWN	0x2u
#define RNBD_ATTACH_FLAGS	(RNBD_ATTACH_READONLY | RNBD_ATTACH_DISOWN)

/**
 * struct rnbd_ctl_attach - attach an export under a handle
 * @index: of the attachment, below RNBD_ATTACH_MAX; the client chooses a free one
 * @flags: RNBD_ATTACH_*
 * @generation: not 0; higher than any that the session has used for @index, unless this
 *	repeats a request whose answer was lost
 * @fence_generation: what the first reply for this disk said; 0 if there was none yet
 * @owner_generation: what the first reply for this disk said; 0 if there was none yet
 * @export: name of the export, padded with NUL
 *
 * Index and generation together are the handle of the attachment. A handle of a former
 * generation is closed by this request.
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
 * struct rnbd_ctl_attach_reply - answer to a request to attach
 * @index: as requested
 * @status: enum rnbd_status; if not RNBD_ST_OK the rest but @generation and @retry_ms is
 *	zero
 * @generation: as requested
 * @retry_ms: with RNBD_ST_BUSY or RNBD_ST_LIMIT: milliseconds after which to ask again, or
 *	0
 * @fence_generation: rises whenever the host is fenced; not 0, and what the request says
 *	if that says one
 * @capacity: bytes of the export
 * @flags: RNBD_EXPORT_*
 * @logical_block: bytes; every offset and length is a multiple
 * @physical_block: bytes
 * @io_min: preferred minimum in bytes, at most RNBD_IO_HINT_MAX
 * @io_opt: preferred size in bytes, at most RNBD_IO_HINT_MAX, 0 if unknown
 * @discard_granularity: bytes, not 0 if DISCARD is supported
 * @discard_alignment: bytes
 * @max_discard: bytes of one DISCARD, not less than @discard_granularity and
 *	@physical_block; 0 if not supported
 * @max_write_zeroes: bytes of one WRITE_ZEROES, 0 if not supported
 * @storage_inflight: requests in flight that the storage of the export takes; 0 if there
 *	is no bound
 * @incarnation: random, another one if writes that were acknowledged and not
 *	flushed may be gone
 * @export_uuid: identity of the data
 * @owner_generation: rises whenever the export has another owner; 0 if the export is not
 *	exclusive; what the request says if @fence_generation of that is not 0
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
 * disk, so the host still owns an exclusive export.
 */
#define RNBD_DETACH_KEEP_OWNER	0x1u
#define RNBD_DETACH_FLAGS	RNBD_DETACH_KEEP_OWNER

/**
 * struct rnbd_ctl_handle - about an attachment
 * @index: of the handle
 * @status: enum rnbd_status; RNBD_ST_OK in a request
 * @generation: of the handle
 * @retry_ms: RNBD_CTL_CLOSED: milliseconds after which to attach again, or 0; otherwise 0
 * @flags: RNBD_CTL_DETACH: RNBD_DETACH_*; otherwise 0
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
 * struct rnbd_ctl_capacity - the export has another size
 * @index: of the handle
 * @reserved: zero
 * @generation: of the handle
 * @capacity: bytes, as in struct rnbd_ctl_attach_reply
 *
 * Requests that were in flight when it shrank are answered with RNBD_ST_RANGE if
 * they lie behind its end.
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
