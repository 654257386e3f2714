/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The rnbd wire format.
 *
 * This file, wire_ctl.h, wire_login.h, wire_lease.h, wire_slots.h and wire_io.h define
 * everything that two machines exchange: the private data of the RDMA connection manager, and
 * the frames of the control ring. Kernel and user space use the same files.
 * Documentation/reference describes the protocol.
 *
 * All integers are little-endian and of fixed width. The sender sets bytes called "reserved"
 * to zero and the receiver rejects any other value, so that a feature bit can give them a
 * meaning later. static_assert() locks sizes and offsets.
 *
 * A connection is one RDMA RC queue pair and serves one queue of the session. The connection
 * request has struct rnbd_cm_req as private data. The answer has struct rnbd_cm_rep or struct
 * rnbd_cm_rej. After that both ends send frames only, with RDMA SEND. A frame is one struct
 * rnbd_frame_hdr followed by entries and possibly inline data, and fits one receive slot of the
 * peer. Entries have a fixed size, except for control entries, which carry their length
 * (wire_ctl.h).
 */
#ifndef RNBD_WIRE_H
#define RNBD_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <stddef.h>
#include <linux/types.h>
#endif

#define RNBD_MAGIC		0x44424e52u	/* "RNBD" in memory order */
#define RNBD_VERSION		1
/* Default RDMA CM service port (RDMA_PS_TCP) of a target. */
#define RNBD_DEFAULT_PORT	4427

/* The pool is counted in units of 4 KiB, whatever the page size of a machine is. */
#define RNBD_UNIT_SHIFT		12
#define RNBD_UNIT_SIZE		4096u

/* Limits of the numbers that a peer may send; each end checks the numbers of its peer. */
#define RNBD_RING_SLOTS_MIN	4
#define RNBD_RING_SLOTS_MAX	1024
#define RNBD_SLOT_SIZE_MIN	1024
#define RNBD_SLOT_SIZE_MAX	65536
#define RNBD_CONNS_MAX		1024	/* connections of one path */
#define RNBD_PATHS_MAX		16	/* paths of one session */
#define RNBD_DEPTH_MAX		4096	/* requests in flight on one connection */
#define RNBD_EXTENTS_MAX	17	/* per request: 1 + 4 entries of 4 */
#define RNBD_MAX_IO_MAX		0x1000000u	/* 16 MiB */
#define RNBD_POOL_UNITS_MAX	0x100000u	/* 4 GiB */
#define RNBD_SEGMENTS_MAX	16384	/* segments of one pool */
#define RNBD_SEGMENT_GRANULE	64u	/* units; see struct rnbd_ctl_segment */
#define RNBD_IO_HINT_MAX	0x4000000u	/* 64 MiB: io_min, io_opt */
#define RNBD_EXPORT_NAME_SIZE	64	/* bytes, including at least one NUL at the end */
#define RNBD_EXPORTS_MAX	65536	/* exports in one list */
#define RNBD_ATTACH_MAX		4096	/* attachments of one session */
#define RNBD_CTL_OPEN_MAX	16	/* unanswered ATTACH and DETACH, see protocol-control.rst */

#define RNBD_SECRET_SIZE	32	/* secret of a host, shared with its targets */
#define RNBD_NONCE_SIZE		32
#define RNBD_MAC_SIZE		32	/* HMAC-SHA256 */

/**
 * enum rnbd_status - result of a request, a control entry or a connection request
 *
 * All results share one number space and one table of names. The values are part of the wire
 * format; new values go to the end of their group.
 *
 * @RNBD_ST_OK: success
 * @RNBD_ST_IO: the backend failed the I/O, and no other status describes the error
 * @RNBD_ST_MEDIUM: the backend reports a medium error
 * @RNBD_ST_NOSPC: the backend is out of space
 * @RNBD_ST_READONLY: the export or its backend does not allow writes
 * @RNBD_ST_RANGE: the request is not within the export
 * @RNBD_ST_NOTSUPP: the backend does not support this operation
 * @RNBD_ST_NOMEM: the target is short of memory
 * @RNBD_ST_GONE: the target has lost its storage, or its own path to the storage
 * @RNBD_ST_RESV: another host holds a reservation
 * @RNBD_ST_REFUSED: the backend rejected the request as illegal
 * @RNBD_ST_PROTECTION: the backend found that data and protection information differ
 * @RNBD_ST_CLOSED: the attachment is closed; the target has not executed the request, and the
 *	client may send it again under another attachment
 * @RNBD_ST_MALFORMED: the connection request is not valid
 * @RNBD_ST_VERSION: the target does not support this protocol version
 * @RNBD_ST_HOST_DENIED: no export that the port offers, enabled or not, allows this host
 * @RNBD_ST_NO_EXPORT: the port offers no enabled export of this name to the host; in answer to a
 *	connection request: no enabled export at all
 * @RNBD_ST_BUSY: the client should retry later, for example because the target drains an older
 *	epoch, the storage executes older requests, other sessions must return memory first,
 *	or the host has too many half-open connections or logs in too often
 * @RNBD_ST_POOL_FULL: there is no memory for the pool of the session
 * @RNBD_ST_LIMIT: a limit on sessions, memory, lists of exports or requests to attach is reached
 * @RNBD_ST_EPOCH: this session has already used the same or a newer epoch or attempt
 * @RNBD_ST_NO_SESSION: the target does not know the session of this further queue
 * @RNBD_ST_QUEUE: index of the connection or number of the path out of range, or the session has
 *	a connection with this index already
 * @RNBD_ST_RING: the target does not grant this ring geometry
 * @RNBD_ST_DEVICE: the RDMA device of the target lacks a required capability, is not that of the
 *	session, or has failed
 * @RNBD_ST_SHUTDOWN: the port or the session is being closed
 * @RNBD_ST_AUTH: the client's proof is wrong, for example because the secrets differ
 * @RNBD_ST_FENCED: the host is fenced
 * @RNBD_ST_REVOKED: the host was fenced, or the export has had another owner, since this disk
 *	was attached
 * @RNBD_ST_ATTACHED: the host has attached this export already
 * @RNBD_ST_NO_ATTACH: no attachment has this handle, or an ATTACH created none: its generation is
 *	not higher than the latest one at the index, or it has the flag RNBD_ATTACH_DISOWN
 * @RNBD_ST_REMOVED: the export was disabled, or is no longer offered to this host or on this
 *	port
 * @RNBD_ST_OWNED: the export is exclusive and another host owns it
 */
enum rnbd_status {
	RNBD_ST_OK		= 0,

	RNBD_ST_IO		= 1,
	RNBD_ST_MEDIUM		= 2,
	RNBD_ST_NOSPC		= 3,
	RNBD_ST_READONLY	= 4,
	RNBD_ST_RANGE		= 5,
	RNBD_ST_NOTSUPP		= 6,
	RNBD_ST_NOMEM		= 7,
	RNBD_ST_GONE		= 8,
	RNBD_ST_RESV		= 9,
	RNBD_ST_REFUSED		= 10,
	RNBD_ST_PROTECTION	= 11,
	RNBD_ST_CLOSED		= 12,

	RNBD_ST_MALFORMED	= 32,
	RNBD_ST_VERSION		= 33,
	RNBD_ST_HOST_DENIED	= 34,
	RNBD_ST_NO_EXPORT	= 35,
	RNBD_ST_BUSY		= 36,
	RNBD_ST_POOL_FULL	= 37,
	RNBD_ST_LIMIT		= 38,
	RNBD_ST_EPOCH		= 39,
	RNBD_ST_NO_SESSION	= 40,
	RNBD_ST_QUEUE		= 41,
	RNBD_ST_RING		= 42,
	RNBD_ST_DEVICE		= 43,
	RNBD_ST_SHUTDOWN	= 44,
	RNBD_ST_AUTH		= 45,
	RNBD_ST_FENCED		= 46,
	RNBD_ST_REVOKED		= 47,
	RNBD_ST_ATTACHED	= 48,
	RNBD_ST_NO_ATTACH	= 49,
	RNBD_ST_REMOVED		= 50,
	RNBD_ST_OWNED		= 51,
};

/* ------------------------------------------------------------------------
 * Connection manager private data
 */

/**
 * struct rnbd_cm_req - private data of a connection request
 * @magic: RNBD_MAGIC
 * @version: RNBD_VERSION
 * @conn: index of the connection in its path; connection 0 logs in
 * @ring_slots: maximum number of receive slots of each end; the client has posted
 *	RNBD_RING_SLOTS_MIN of them, which are the first credits of the target
 * @path: number of the path in the session
 * @slot_size: bytes of a slot at both ends
 * @epoch: epoch of the path: the @attempt with which connection 0 of the path was connected
 * @attempt: number of this attempt to connect, from 1, higher than any earlier one of the
 *	session on any path; every frame carries it
 * @host_id: persistent UUID of the client machine
 * @session_id: UUID of the session; does not change when the session reconnects
 *
 * InfiniBand leaves exactly 56 bytes of private data to a user of RDMA_PS_TCP.
 */
struct rnbd_cm_req {
	__le32	magic;
	__le16	version;
	__le16	conn;
	__le16	ring_slots;
	__le16	path;
	__le32	slot_size;
	__le32	epoch;
	__le32	attempt;
	__u8	host_id[16];
	__u8	session_id[16];
};

static_assert(sizeof(struct rnbd_cm_req) == 56);
static_assert(offsetof(struct rnbd_cm_req, slot_size) == 12);
static_assert(offsetof(struct rnbd_cm_req, attempt) == 20);
static_assert(offsetof(struct rnbd_cm_req, host_id) == 24);

/**
 * struct rnbd_cm_rep - private data of an accepted connection
 * @magic: RNBD_MAGIC
 * @version: RNBD_VERSION
 * @ring_slots: receive slots that the target has posted, which are the first credits of the
 *	client; at most the requested number
 * @slot_size: as requested, in bytes
 * @attempt: as requested
 */
struct rnbd_cm_rep {
	__le32	magic;
	__le16	version;
	__le16	ring_slots;
	__le32	slot_size;
	__le32	attempt;
};

static_assert(sizeof(struct rnbd_cm_rep) == 16);

/**
 * struct rnbd_cm_rej - private data of a rejected connection request
 * @magic: RNBD_MAGIC
 * @version: highest protocol version that the target supports
 * @status: reason, enum rnbd_status
 * @retry_ms: with RNBD_ST_BUSY or RNBD_ST_LIMIT: milliseconds after which to connect again, or
 *	0 if the client may choose the delay; otherwise 0
 * @reserved: zero
 *
 * If the RDMA connection manager of the target sends a reject by itself with the reason
 * IB_CM_REJ_CONSUMER_DEFINED, the private data are all zero or missing. The client treats such a
 * reject as RNBD_ST_BUSY.
 */
struct rnbd_cm_rej {
	__le32	magic;
	__le16	version;
	__le16	status;
	__le32	retry_ms;
	__u8	reserved[4];
};

static_assert(sizeof(struct rnbd_cm_rej) == 16);

/* ------------------------------------------------------------------------
 * Frames
 */

/**
 * enum rnbd_frame_type - content of a frame
 * @RNBD_FRAME_CONTROL: from either end: control entries, each a struct rnbd_ctl and its body;
 *	see wire_ctl.h
 * @RNBD_FRAME_REQUEST: from the client: struct rnbd_req_entry, each followed by the struct
 *	rnbd_wire_extent_entry that it needs
 * @RNBD_FRAME_REPLY: from the target: struct rnbd_reply_entry
 * @RNBD_FRAME_CREDIT: from either end: no entries; returns credits. Only this type may use the
 *	last credit. A CREDIT frame that returns credits for less than half of its sender's
 *	receive slots is a keep-alive, unless it uses a credit that its sender gives up
 */
enum rnbd_frame_type {
	RNBD_FRAME_CONTROL	= 1,
	RNBD_FRAME_REQUEST	= 3,
	RNBD_FRAME_REPLY	= 4,
	RNBD_FRAME_CREDIT	= 5,
};

/**
 * struct rnbd_frame_hdr - head of every frame
 * @type: enum rnbd_frame_type
 * @flags: RNBD_FRAME_DATA if inline data follow the entries
 * @nr_entries: number of entries that follow; entries and inline data fill the frame to its
 *	last byte
 * @credits: receive slots that the sender has posted again since its previous frame
 * @reserved: zero
 * @seq: number of the frame, counted from 0 per queue and direction
 * @attempt: number of the attempt that made the connection, see struct rnbd_cm_req
 */
struct rnbd_frame_hdr {
	__u8	type;
	__u8	flags;
	__le16	nr_entries;
	__le16	credits;
	__le16	reserved;
	__le32	seq;
	__le32	attempt;
};

static_assert(sizeof(struct rnbd_frame_hdr) == 16);
static_assert(offsetof(struct rnbd_frame_hdr, seq) == 8);

/*
 * In rnbd_frame_hdr.flags of a REQUEST or REPLY: inline data follow the entries. The data belong
 * to the entries with the flag INLINE, in the order of these entries, without gaps.
 */
#define RNBD_FRAME_DATA		0x1u

/* Range of the keep-alive interval, and number of missed intervals that end a connection. */
#define RNBD_KEEPALIVE_MS_MIN	100u
#define RNBD_KEEPALIVE_MS_MAX	60000u
#define RNBD_KEEPALIVE_MISSED	3

/*
 * Limit of keep-alives and frames with SLOTS, counted together, per second on a queue. The shortest
 * keep-alive interval requires 20 keep-alives per second.
 */
#define RNBD_KEEPALIVE_FRAMES_MAX	100u

/*
 * Keep-alive interval in ms until the LOGIN_REPLY. The interval is long, because the target can
 * send its frames late while it allocates a large pool.
 */
#define RNBD_LOGIN_KEEPALIVE_MS	5000u

/* Feature bits of version 1 */
#define RNBD_FEATURE_INLINE	0x1ull	/* data of small requests inside frames */
#define RNBD_FEATURES		RNBD_FEATURE_INLINE

/* Properties of an export, in control entries. */
#define RNBD_EXPORT_READONLY		0x1u
#define RNBD_EXPORT_VOLATILE_CACHE	0x2u	/* FLUSH is needed */
#define RNBD_EXPORT_FUA			0x4u
#define RNBD_EXPORT_ROTATIONAL		0x8u
#define RNBD_EXPORT_FLAGS		0xfu

#include <rnbd/wire_ctl.h>
#include <rnbd/wire_login.h>
#include <rnbd/wire_lease.h>
#include <rnbd/wire_slots.h>
#include <rnbd/wire_io.h>

#endif /* RNBD_WIRE_H */
