/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The wire format of logins, of their authentication and of lists of exports.
 *
 * All structures except struct rnbd_auth_text and struct rnbd_join_text are bodies of control
 * entries. Include <rnbd/wire.h>, which defines the frames and the connection and includes
 * this file.
 */
#ifndef RNBD_WIRE_LOGIN_H
#define RNBD_WIRE_LOGIN_H

/**
 * struct rnbd_ctl_login - RNBD_CTL_LOGIN: request a session
 * @boot_id: random number, new each time the client module is loaded
 * @features: feature bits that the client supports
 * @pool_bytes: requested ceiling of the pool in bytes
 * @max_io: requested maximum of one READ or WRITE in bytes
 * @nr_queues: requested number of queues
 * @queue_depth: requested maximum of requests in flight on one queue; tags are below it
 * @flags: zero
 * @keepalive_ms: requested keep-alive interval in milliseconds
 * @inline_read: requested maximum of a READ whose data are in the reply, in bytes; 0 without
 *	RNBD_FEATURE_INLINE
 * @inline_write: requested maximum of a WRITE whose data are in the request, in bytes; 0
 *	without RNBD_FEATURE_INLINE
 * @fence_generation: highest fence generation that an ATTACH_REPLY of this session has
 *	carried; 0 if there was none yet
 * @pool_min: requested floor of the pool in units, which the target reserves for the session; 0:
 *	the floor is the whole pool
 */
struct rnbd_ctl_login {
	__u8	boot_id[16];
	__le64	features;
	__le64	pool_bytes;
	__le32	max_io;
	__le16	nr_queues;
	__le16	queue_depth;
	__le32	flags;
	__le32	keepalive_ms;
	__le32	inline_read;
	__le32	inline_write;
	__le32	fence_generation;
	__le32	pool_min;
};

static_assert(sizeof(struct rnbd_ctl_login) == 64);
static_assert(offsetof(struct rnbd_ctl_login, features) == 16);
static_assert(offsetof(struct rnbd_ctl_login, flags) == 40);
static_assert(offsetof(struct rnbd_ctl_login, keepalive_ms) == 44);
static_assert(offsetof(struct rnbd_ctl_login, inline_read) == 48);
static_assert(offsetof(struct rnbd_ctl_login, pool_min) == 60);

/**
 * struct rnbd_ctl_login_reply - RNBD_CTL_LOGIN_REPLY: answer to a login
 * @status: enum rnbd_status; if not RNBD_ST_OK, all other members except @retry_ms are zero
 * @nr_queues: granted number of queues
 * @queue_depth: granted maximum of requests in flight on one queue
 * @reserved: zero
 * @retry_ms: with RNBD_ST_BUSY or RNBD_ST_LIMIT: milliseconds after which to log in again, or
 *	0 if the client may choose; otherwise 0
 * @keepalive_ms: granted keep-alive interval in milliseconds; on queue 0, each end sends a frame
 *	at least that often and regards the peer as dead after RNBD_KEEPALIVE_MISSED intervals
 *	without a frame
 * @features: feature bits that both ends support
 * @max_io: granted maximum of one READ or WRITE in bytes
 * @pool_units: granted floor of the pool in units, whose segments follow; at most @max_units.
 *	Can be smaller or larger than the requested floor
 * @segment_units: maximum size of a segment in units, a power of two; all segments of the
 *	floor except the last one have this size. Unit u is in the segment with slot u /
 *	@segment_units
 * @nr_segments: number of RNBD_CTL_SEGMENT entries that follow, in this frame and in further
 *	ones; at most RNBD_SEGMENTS_MAX
 * @inline_read: granted maximum in bytes, at most the requested one
 * @inline_write: granted maximum in bytes, at most the requested one
 * @target_uuid: UUID of the target; does not change when the target restarts
 * @join_key: random key of the session, with which further connections join; zero if the
 *	client was challenged: then both ends compute the key, see RNBD_LABEL_KEY
 * @max_units: granted ceiling of the pool in units, at most the requested one
 * @nr_slots: number of slots for segments, at most RNBD_SEGMENTS_MAX; @nr_slots *
 *	@segment_units is at least @max_units
 */
struct rnbd_ctl_login_reply {
	__le16	status;
	__le16	nr_queues;
	__le16	queue_depth;
	__le16	reserved;
	__le32	retry_ms;
	__le32	keepalive_ms;
	__le64	features;
	__le32	max_io;
	__le32	pool_units;
	__le32	segment_units;
	__le32	nr_segments;
	__le32	inline_read;
	__le32	inline_write;
	__u8	target_uuid[16];
	__u8	join_key[RNBD_MAC_SIZE];
	__le32	max_units;
	__le32	nr_slots;
};

static_assert(sizeof(struct rnbd_ctl_login_reply) == 104);
static_assert(offsetof(struct rnbd_ctl_login_reply, features) == 16);
static_assert(offsetof(struct rnbd_ctl_login_reply, pool_units) == 28);
static_assert(offsetof(struct rnbd_ctl_login_reply, inline_read) == 40);
static_assert(offsetof(struct rnbd_ctl_login_reply, target_uuid) == 48);
static_assert(offsetof(struct rnbd_ctl_login_reply, max_units) == 96);

/**
 * struct rnbd_ctl_challenge - RNBD_CTL_CHALLENGE: the target requests a proof
 * @nonce: random number, never used before
 * @target_uuid: UUID of the target, as in the LOGIN_REPLY
 */
struct rnbd_ctl_challenge {
	__u8	nonce[RNBD_NONCE_SIZE];
	__u8	target_uuid[16];
};

static_assert(sizeof(struct rnbd_ctl_challenge) == 48);
static_assert(offsetof(struct rnbd_ctl_challenge, target_uuid) == 32);

/**
 * struct rnbd_ctl_proof - RNBD_CTL_PROOF: proof that the sender knows the secret or session key
 * @nonce: from the client: random number, never used before; from the target: zero
 * @mac: HMAC-SHA256. On connection 0: of struct rnbd_auth_text with the label of the sender,
 *	keyed with the secret. On other connections: of struct rnbd_join_text with
 *	RNBD_LABEL_JOIN, keyed with the key of the session
 */
struct rnbd_ctl_proof {
	__u8	nonce[RNBD_NONCE_SIZE];
	__u8	mac[RNBD_MAC_SIZE];
};

static_assert(sizeof(struct rnbd_ctl_proof) == 64);
static_assert(offsetof(struct rnbd_ctl_proof, mac) == 32);

/* Labels, padded with NUL. They bind a proof to one purpose and to this protocol version. */
#define RNBD_LABEL_SIZE		16
#define RNBD_LABEL_CLIENT	"rnbd 1 client"
#define RNBD_LABEL_TARGET	"rnbd 1 target"
/* If the host has a secret, the HMAC with this label is the session key; it is not transmitted. */
#define RNBD_LABEL_KEY		"rnbd 1 key"
#define RNBD_LABEL_JOIN		"rnbd 1 join"
#define RNBD_LABEL_JOINED	"rnbd 1 joined"

/**
 * struct rnbd_auth_text - input of the HMACs on queue 0; not transmitted in this form
 * @label: RNBD_LABEL_*: the purpose of the HMAC
 * @req: private data of the connection request for queue 0, as sent
 * @login: body of the LOGIN entry, as sent; zero for a LIST entry
 * @target_nonce: nonce of the CHALLENGE
 * @client_nonce: nonce of the client's PROOF
 * @target_uuid: target UUID of the CHALLENGE
 */
struct rnbd_auth_text {
	char	label[RNBD_LABEL_SIZE];
	struct rnbd_cm_req req;
	struct rnbd_ctl_login login;
	__u8	target_nonce[RNBD_NONCE_SIZE];
	__u8	client_nonce[RNBD_NONCE_SIZE];
	__u8	target_uuid[16];
};

static_assert(sizeof(struct rnbd_auth_text) == 216);
static_assert(offsetof(struct rnbd_auth_text, req) == 16);
static_assert(offsetof(struct rnbd_auth_text, login) == 72);
static_assert(offsetof(struct rnbd_auth_text, target_nonce) == 136);
static_assert(offsetof(struct rnbd_auth_text, client_nonce) == 168);
static_assert(offsetof(struct rnbd_auth_text, target_uuid) == 200);

/**
 * struct rnbd_join_text - input of the HMACs on a further connection; not transmitted in this form
 * @label: RNBD_LABEL_JOIN or RNBD_LABEL_JOINED
 * @req: private data of the connection request of that connection, as sent
 * @target_nonce: nonce of the CHALLENGE on that connection
 * @client_nonce: nonce of the PROOF on that connection
 */
struct rnbd_join_text {
	char	label[RNBD_LABEL_SIZE];
	struct rnbd_cm_req req;
	__u8	target_nonce[RNBD_NONCE_SIZE];
	__u8	client_nonce[RNBD_NONCE_SIZE];
};

static_assert(sizeof(struct rnbd_join_text) == 136);
static_assert(offsetof(struct rnbd_join_text, target_nonce) == 72);

/**
 * struct rnbd_ctl_join_reply - RNBD_CTL_JOIN_REPLY: answer to the proof of a connection
 * @status: enum rnbd_status; if not RNBD_ST_OK, @mac is zero
 * @reserved: zero
 * @retry_ms: with RNBD_ST_BUSY or RNBD_ST_LIMIT: milliseconds after which to connect again, or
 *	0 if the client may choose; otherwise 0
 * @mac: HMAC-SHA256 of struct rnbd_join_text with RNBD_LABEL_JOINED, keyed with the key of the
 *	session
 */
struct rnbd_ctl_join_reply {
	__le16	status;
	__u8	reserved[2];
	__le32	retry_ms;
	__u8	mac[RNBD_MAC_SIZE];
};

static_assert(sizeof(struct rnbd_ctl_join_reply) == 40);
static_assert(offsetof(struct rnbd_ctl_join_reply, mac) == 8);

/* Valid bits of rnbd_ctl_export.flags. */
#define RNBD_LIST_EXPORT_FLAGS	RNBD_EXPORT_READONLY

/**
 * struct rnbd_ctl_export - RNBD_CTL_EXPORT: an export that the client may attach
 * @name: name of the export, padded with NUL
 * @uuid: UUID of the export, which identifies its data
 * @capacity: size of the export in bytes
 * @logical_block: logical block size in bytes
 * @flags: RNBD_EXPORT_READONLY or 0
 * @reserved: zero
 */
struct rnbd_ctl_export {
	char	name[RNBD_EXPORT_NAME_SIZE];
	__u8	uuid[16];
	__le64	capacity;
	__le32	logical_block;
	__le32	flags;
	__u8	reserved[16];
};

static_assert(sizeof(struct rnbd_ctl_export) == 112);
static_assert(offsetof(struct rnbd_ctl_export, uuid) == 64);
static_assert(offsetof(struct rnbd_ctl_export, capacity) == 80);
static_assert(offsetof(struct rnbd_ctl_export, flags) == 92);

/**
 * struct rnbd_ctl_list_end - RNBD_CTL_LIST_END: end of a list of exports
 * @status: enum rnbd_status; if not RNBD_ST_OK, the list is not complete
 * @reserved: zero
 * @retry_ms: with RNBD_ST_BUSY or RNBD_ST_LIMIT: milliseconds after which to ask again, or 0
 *	if the client may choose; otherwise 0
 */
struct rnbd_ctl_list_end {
	__le16	status;
	__u8	reserved[2];
	__le32	retry_ms;
};

static_assert(sizeof(struct rnbd_ctl_list_end) == 8);

#endif /* RNBD_WIRE_LOGIN_H */
