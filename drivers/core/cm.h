/* SPDX-License-Identifier: GPL-2.0-only */
/* Private data of the connection manager. See cm.c. */
#ifndef RNBD_CORE_CM_H
#define RNBD_CORE_CM_H

#include "portable.h"
#include "proto_err.h"
#include <rnbd/wire.h>

/* Slots consist of whole cache lines. */
#define RNBD_SLOT_SIZE_ALIGN	64

/* struct rnbd_conn_req - decoded struct rnbd_cm_req */
struct rnbd_conn_req {
	u16 conn;
	u16 path;
	u16 ring_slots;
	u32 slot_size;
	u32 epoch;
	u32 attempt;
	u8 host_id[16];
	u8 session_id[16];
};

/**
 * struct rnbd_refusal - decoded struct rnbd_cm_rej
 * @version: highest protocol version that the target supports; 0 if the reject carried none
 * @status: reason, enum rnbd_status
 * @retry_ms: milliseconds after which to connect again, or 0 if the client may choose the time
 */
struct rnbd_refusal {
	u16 version;
	u16 status;
	u32 retry_ms;
};

void rnbd_encode_cm_req(struct rnbd_cm_req *wire, const struct rnbd_conn_req *req);
enum rnbd_proto_err rnbd_decode_cm_req(const void *buf, u32 len,
				       struct rnbd_conn_req *req);
void rnbd_encode_cm_rep(struct rnbd_cm_rep *wire, u16 ring_slots, u32 slot_size,
			u32 attempt);
enum rnbd_proto_err rnbd_decode_cm_rep(const void *buf, u32 len,
				       const struct rnbd_conn_req *req,
				       u16 *ring_slots);
void rnbd_encode_cm_rej(struct rnbd_cm_rej *wire, const struct rnbd_refusal *info);
enum rnbd_proto_err rnbd_decode_cm_rej(const void *buf, u32 len, struct rnbd_refusal *info);

#endif /* RNBD_CORE_CM_H */
