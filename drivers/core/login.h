/* SPDX-License-Identifier: GPL-2.0-only */
/* Bodies of control entries about logins and their authentication. See login.c. */
#ifndef RNBD_CORE_LOGIN_H
#define RNBD_CORE_LOGIN_H

#include "ctl.h"

/* struct rnbd_login_info - decoded struct rnbd_ctl_login */
struct rnbd_login_info {
	u8 boot_id[16];
	u64 features;
	u64 pool_bytes;
	u32 max_io;
	u16 nr_queues;
	u16 queue_depth;
	u32 keepalive_ms;
	u32 inline_read;
	u32 inline_write;
	u32 fence_generation;
	u32 pool_min;
};

/* struct rnbd_grant - decoded struct rnbd_ctl_login_reply */
struct rnbd_grant {
	u16 status;
	u16 nr_queues;
	u16 queue_depth;
	u32 retry_ms;
	u64 features;
	u32 max_io;
	u32 pool_units;
	u32 segment_units;
	u32 nr_segments;
	u32 keepalive_ms;
	u32 inline_read;
	u32 inline_write;
	u8 target_uuid[16];
	u8 join_key[RNBD_MAC_SIZE];
	u32 max_units;
	u32 nr_slots;
};

/* struct rnbd_join_info - decoded struct rnbd_ctl_join_reply */
struct rnbd_join_info {
	u16 status;
	u32 retry_ms;
	u8 mac[RNBD_MAC_SIZE];
};

void rnbd_encode_login(struct rnbd_ctl_login *wire, const struct rnbd_login_info *info);
enum rnbd_proto_err rnbd_decode_login(const struct rnbd_ctl_entry *entry,
				      struct rnbd_login_info *info);
void rnbd_encode_grant(struct rnbd_ctl_login_reply *wire, const struct rnbd_grant *grant);
enum rnbd_proto_err rnbd_decode_grant(const struct rnbd_ctl_entry *entry,
				      const struct rnbd_login_info *asked,
				      struct rnbd_grant *grant);

void rnbd_encode_challenge(struct rnbd_ctl_challenge *wire, const u8 *nonce,
			   const u8 *target_uuid);
enum rnbd_proto_err rnbd_decode_challenge(const struct rnbd_ctl_entry *entry, u8 *nonce,
					  u8 *target_uuid);
void rnbd_encode_proof(struct rnbd_ctl_proof *wire, const u8 *nonce, const u8 *mac);
enum rnbd_proto_err rnbd_decode_proof(const struct rnbd_ctl_entry *entry, u8 *nonce, u8 *mac);
void rnbd_encode_join_reply(struct rnbd_ctl_join_reply *wire, const struct rnbd_join_info *info);
enum rnbd_proto_err rnbd_decode_join_reply(const struct rnbd_ctl_entry *entry,
					   struct rnbd_join_info *info);

#endif /* RNBD_CORE_LOGIN_H */
