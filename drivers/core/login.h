/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Logins, their authentication and what they are granted, see login.c.
 */
#ifndef RNBD_CORE_LOGIN_H
#define RNBD_CORE_LOGIN_H

#include "frame.h"

/* struct rnbd_login_info - decoded struct rnbd_login */
struct rnbd_login_info {
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
	u32 max_io;
	u32 pool_units;
	u32 segment_units;
	u32 nr_segments;
	u32 keepalive_ms;
	u32 inline_read;
	u32 inline_write;
};

void rnbd_encode_login(struct rnbd_login *wire, const struct rnbd_login_info *info);
enum rnbd_proto_err rnbd_decode_login(const struct rnbd_frame *frame,
				      struct rnbd_login_info *info);
u32 rnbd_max_segments(u32 slot_size);
void rnbd_encode_grant(struct rnbd_login_reply *wire, const struct rnbd_grant *grant);
void rnbd_encode_segment(struct rnbd_segment *wire, const struct rnbd_segment_info *seg);
enum rnbd_proto_err rnbd_decode_grant(const struct rnbd_frame *frame,
				      const struct rnbd_login_info *asked,
				      struct rnbd_grant *grant);
enum rnbd_proto_err rnbd_decode_segment(const struct rnbd_frame *frame, u32 index,
					const struct rnbd_grant *grant,
					struct rnbd_segment_info *seg);

void rnbd_encode_challenge(struct rnbd_challenge *wire, const u8 *nonce);
enum rnbd_proto_err rnbd_decode_challenge(const struct rnbd_frame *frame, u8 *nonce);
void rnbd_encode_proof(struct rnbd_proof *wire, const u8 *nonce, const u8 *mac);
enum rnbd_proto_err rnbd_decode_proof(const struct rnbd_frame *frame, u8 *nonce, u8 *mac);

#endif /* RNBD_CORE_LOGIN_H */
