/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encoding, decoding and validation of what travels between client and target.
 *
 * Operation: decoders take bytes from the network and fill structures in
 * native byte order. Whatever a decoder accepts has been checked against the
 * limits handed to it; nobody else looks at wire bytes.
 * Ownership: nothing is allocated or kept; decoded data are copies.
 * Concurrency: pure functions, any context.
 * Errors: enum rnbd_fault names the first thing that is wrong.
 */
#ifndef RNBD_CODEC_H
#define RNBD_CODEC_H

#include "portable.h"
#include <rnbd/wire.h>

/* A slot is a whole number of cache lines. */
#define RNBD_SLOT_SIZE_ALIGN	64

/**
 * enum rnbd_fault - what is wrong with a message
 *
 * Kept apart from enum rnbd_status: a fault describes bytes, never travels,
 * and ends the connection; a status is a lawful answer.
 *
 * @RNBD_FAULT_NONE: nothing is wrong
 * @RNBD_FAULT_SHORT: shorter than its header or entries need
 * @RNBD_FAULT_LONG: bytes after the last entry
 * @RNBD_FAULT_MAGIC: not rnbd at all
 * @RNBD_FAULT_VERSION: another version of the protocol
 * @RNBD_FAULT_TYPE: unknown frame type, or not at this time
 * @RNBD_FAULT_RESERVED: reserved bits or bytes are set
 * @RNBD_FAULT_COUNT: number of entries does not fit
 * @RNBD_FAULT_SEQ: not the next frame
 * @RNBD_FAULT_EPOCH: frame of another epoch
 * @RNBD_FAULT_CREDITS: more credits than slots
 * @RNBD_FAULT_GEOMETRY: slots, slot size, queues or depth out of range
 * @RNBD_FAULT_NAME: export name empty, unterminated or unprintable
 * @RNBD_FAULT_OP: unknown or unsupported operation
 * @RNBD_FAULT_FLAGS: flags that the operation does not have
 * @RNBD_FAULT_TAG: out of range, in use, or not in use
 * @RNBD_FAULT_LENGTH: zero, unaligned, too long, or not as requested
 * @RNBD_FAULT_OFFSET: unaligned or not within the export
 * @RNBD_FAULT_EXTENT: pool space missing, out of range or overlapping
 * @RNBD_FAULT_STATUS: unknown status
 * @RNBD_FAULT_LIMITS: absurd properties in a login reply
 * @RNBD_FAULT_IDENTITY: host or session id is zero
 * @RNBD_FAULT_RATE: frames come faster than they may; no decoder says so, nor the
 *	next ones
 * @RNBD_FAULT_MESSAGE: a message that is no frame, such as one with immediate data
 * @RNBD_FAULT_ACCESS: the device refused an access to memory
 */
enum rnbd_fault {
	RNBD_FAULT_NONE = 0,
	RNBD_FAULT_SHORT,
	RNBD_FAULT_LONG,
	RNBD_FAULT_MAGIC,
	RNBD_FAULT_VERSION,
	RNBD_FAULT_TYPE,
	RNBD_FAULT_RESERVED,
	RNBD_FAULT_COUNT,
	RNBD_FAULT_SEQ,
	RNBD_FAULT_EPOCH,
	RNBD_FAULT_CREDITS,
	RNBD_FAULT_GEOMETRY,
	RNBD_FAULT_NAME,
	RNBD_FAULT_OP,
	RNBD_FAULT_FLAGS,
	RNBD_FAULT_TAG,
	RNBD_FAULT_LENGTH,
	RNBD_FAULT_OFFSET,
	RNBD_FAULT_EXTENT,
	RNBD_FAULT_STATUS,
	RNBD_FAULT_LIMITS,
	RNBD_FAULT_IDENTITY,
	RNBD_FAULT_RATE,
	RNBD_FAULT_MESSAGE,
	RNBD_FAULT_ACCESS,
};

/* one more than the last */
#define RNBD_FAULT_KINDS	(RNBD_FAULT_ACCESS + 1)

/**
 * struct rnbd_frame - a checked frame
 * @type: enum rnbd_frame_type
 * @nr_entries: entries at @entries
 * @credits: slots the peer gives back
 * @entries: first entry, inside the receive slot
 * @bytes: bytes at @entries
 * @data: inline data that no decoded entry has claimed yet
 * @data_bytes: how much is left at @data
 */
struct rnbd_frame {
	u8 type;
	u16 nr_entries;
	u16 credits;
	const void *entries;
	u32 bytes;
	const void *data;
	u32 data_bytes;
};

/**
 * struct rnbd_limits - what a request must stay within
 * @capacity: bytes of the export, as the client was told; where it was told
 *	several sizes, the largest: its requests may have been made for that one
 * @block_mask: logical block size - 1
 * @max_io: bytes of one READ or WRITE
 * @max_discard: bytes of one DISCARD, 0: refused
 * @max_write_zeroes: bytes of one WRITE_ZEROES, 0: refused
 * @pool_units: size of the session's pool
 * @segment_units: size of a pool segment, a power of two
 * @depth: tags are below it
 * @inline_read: bytes of a READ whose reply may carry the data, 0: none
 * @inline_write: bytes of a WRITE that may carry its data, 0: none
 *
 * Written once at login; a resize raises @capacity while requests are decoded.
 */
struct rnbd_limits {
	u64 capacity;
	u32 block_mask;
	u32 max_io;
	u32 max_discard;
	u32 max_write_zeroes;
	u32 pool_units;
	u32 segment_units;
	u32 depth;
	u32 inline_read;
	u32 inline_write;
};

/**
 * struct rnbd_run - a run of pool units in native byte order
 * @unit: first unit
 * @units: length
 */
struct rnbd_run {
	u32 unit;
	u32 units;
};

/**
 * struct rnbd_request - a decoded request
 * @op: enum rnbd_op
 * @flags: RNBD_REQ_*
 * @tag: checked to be below the depth, not whether it is in use
 * @length: bytes
 * @offset: bytes on the export
 * @nr_runs: used members of @runs
 * @data: of an inline WRITE that was decoded: inside the frame, not a copy
 * @runs: pool space, in the order of the data
 */
struct rnbd_request {
	u8 op;
	u8 flags;
	u16 tag;
	u32 length;
	u64 offset;
	const void *data;
	u8 nr_runs;
	struct rnbd_run runs[RNBD_EXTENTS_MAX];
};

/**
 * struct rnbd_reply - a decoded reply
 * @tag: checked to be below the depth, not whether it is in use
 * @status: enum rnbd_status
 * @length: bytes transferred
 * @is_inline: the data are in the frame
 * @data: when decoded, where: inside the frame, not a copy
 */
struct rnbd_reply {
	u16 tag;
	u16 status;
	u32 length;
	bool is_inline;
	const void *data;
};

/* struct rnbd_conn_req - decoded struct rnbd_cm_req */
struct rnbd_conn_req {
	u16 queue;
	u16 ring_slots;
	u32 slot_size;
	u32 epoch;
	u8 host_id[16];
	u8 session_id[16];
};

/* struct rnbd_login_info - decoded struct rnbd_login */
struct rnbd_login_info {
	char export[RNBD_EXPORT_NAME_SIZE];
	u8 boot_id[16];
	u64 features;
	u64 pool_bytes;
	u32 max_io;
	u16 nr_queues;
	u16 queue_depth;
	u32 flags;
	u32 keepalive_ms;
	u32 inline_read;
	u32 inline_write;
	u32 fence_generation;
};

/* struct rnbd_segment_info - decoded struct rnbd_segment */
struct rnbd_segment_info {
	u64 addr;
	u32 rkey;
	u32 units;
};

/* struct rnbd_grant - decoded struct rnbd_login_reply without the segments */
struct rnbd_grant {
	u16 status;
	u16 nr_queues;
	u16 queue_depth;
	u64 features;
	u64 capacity;
	u32 max_io;
	u32 flags;
	u32 logical_block;
	u32 physical_block;
	u32 io_min;
	u32 io_opt;
	u32 discard_granularity;
	u32 discard_alignment;
	u32 max_discard;
	u32 max_write_zeroes;
	u32 pool_units;
	u32 segment_units;
	u32 nr_segments;
	u32 keepalive_ms;
	u8 incarnation[16];
	u8 export_uuid[16];
	u32 inline_read;
	u32 inline_write;
	u32 fence_generation;
};

/**
 * struct rnbd_discover_info - decoded struct rnbd_discover_reply
 * @status: enum rnbd_status
 * @more: further frames follow
 * @nr_exports: entries of this frame
 */
struct rnbd_discover_info {
	u16 status;
	bool more;
	u32 nr_exports;
};

/* struct rnbd_export_info - decoded struct rnbd_export_entry */
struct rnbd_export_info {
	char name[RNBD_EXPORT_NAME_SIZE];
	u8 uuid[16];
	u64 capacity;
	u32 logical_block;
	u32 flags;
};

/* frames */
void rnbd_encode_frame_hdr(void *buf, u8 type, u8 flags, u16 nr_entries,
			   u16 credits, u32 seq, u32 epoch);
enum rnbd_fault rnbd_decode_frame(const void *buf, u32 len, u32 seq, u32 epoch,
				  u16 ring_slots, struct rnbd_frame *frame);
enum rnbd_fault rnbd_decode_end(const struct rnbd_frame *frame);

/* requests and replies */
u32 rnbd_request_entries(u8 nr_runs);
void rnbd_encode_request(struct rnbd_req_entry *entry,
			 const struct rnbd_request *req);
enum rnbd_fault rnbd_decode_request(struct rnbd_frame *frame, u16 *pos,
				    const struct rnbd_limits *lim,
				    struct rnbd_request *req);
void rnbd_encode_reply(struct rnbd_reply_entry *entry,
		       const struct rnbd_reply *reply);
enum rnbd_fault rnbd_decode_reply(struct rnbd_frame *frame, u16 pos,
				  u32 depth, struct rnbd_reply *reply);

/* connection private data */
void rnbd_encode_cm_req(struct rnbd_cm_req *wire, const struct rnbd_conn_req *req);
enum rnbd_fault rnbd_decode_cm_req(const void *buf, u32 len,
				   struct rnbd_conn_req *req);
void rnbd_encode_cm_rep(struct rnbd_cm_rep *wire, u16 ring_slots, u32 slot_size,
			u32 epoch);
enum rnbd_fault rnbd_decode_cm_rep(const void *buf, u32 len,
				   const struct rnbd_conn_req *req,
				   u16 *ring_slots);
void rnbd_encode_cm_rej(struct rnbd_cm_rej *wire, u16 status);
enum rnbd_fault rnbd_decode_cm_rej(const void *buf, u32 len, u16 *version,
				   u16 *status);

/* login */
void rnbd_encode_login(struct rnbd_login *wire, const struct rnbd_login_info *info);
enum rnbd_fault rnbd_decode_login(const struct rnbd_frame *frame,
				  struct rnbd_login_info *info);
u32 rnbd_max_segments(u32 slot_size);
void rnbd_encode_grant(struct rnbd_login_reply *wire, const struct rnbd_grant *grant);
void rnbd_encode_segment(struct rnbd_segment *wire, const struct rnbd_segment_info *seg);
enum rnbd_fault rnbd_decode_grant(const struct rnbd_frame *frame,
				  const struct rnbd_login_info *asked,
				  struct rnbd_grant *grant);
enum rnbd_fault rnbd_decode_segment(const struct rnbd_frame *frame, u32 index,
				    const struct rnbd_grant *grant,
				    struct rnbd_segment_info *seg);

/* authentication */
void rnbd_encode_challenge(struct rnbd_challenge *wire, const u8 *nonce);
enum rnbd_fault rnbd_decode_challenge(const struct rnbd_frame *frame, u8 *nonce);
void rnbd_encode_proof(struct rnbd_proof *wire, const u8 *nonce, const u8 *mac);
enum rnbd_fault rnbd_decode_proof(const struct rnbd_frame *frame, u8 *nonce, u8 *mac);

/* resize */
void rnbd_encode_resize(struct rnbd_resize *wire, u64 capacity);
enum rnbd_fault rnbd_decode_resize(const struct rnbd_frame *frame,
				   u32 logical_block, u64 *capacity);

/* lists of exports */
void rnbd_encode_discover_reply(struct rnbd_discover_reply *wire, u16 status,
				bool more);
void rnbd_encode_export(struct rnbd_export_entry *wire,
			const struct rnbd_export_info *info);
enum rnbd_fault rnbd_decode_discover_reply(const struct rnbd_frame *frame, u32 room,
					   struct rnbd_discover_info *info);
enum rnbd_fault rnbd_decode_export(const struct rnbd_frame *frame, u32 index,
				   struct rnbd_export_info *info);

/* names (names.c) */
const char *rnbd_status_text(u16 status);
const char *rnbd_status_word(u16 status);
const char *rnbd_fault_text(enum rnbd_fault fault);
const char *rnbd_fault_word(enum rnbd_fault fault);
const char *rnbd_op_text(u8 op);
bool rnbd_export_name_ok(const char *name, size_t size);
bool rnbd_disk_alias_ok(const char *name);

#endif /* RNBD_CODEC_H */
