/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replies: completion of requests, and frames with their replies. See reply.c.
 */
#ifndef RNBDT_REPLY_H
#define RNBDT_REPLY_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbdt_queue;
struct rnbdt_req;
struct work_struct;

void rnbdt_req_start_parts(struct rnbdt_req *treq);
void rnbdt_req_part_done(struct rnbdt_req *treq, int error);
void rnbdt_queue_copy(struct rnbdt_req *treq, void *data, bool to_pool);
void rnbdt_queue_kick(struct rnbdt_queue *q);
void rnbdt_queue_submitted(struct rnbdt_queue *q);
void rnbdt_reply_work(struct work_struct *work);
void rnbdt_req_done(struct rnbdt_req *treq, u16 status);
enum rnbd_proto_err rnbdt_queue_answer(struct rnbdt_queue *q, u32 id, u16 tag);

#endif /* RNBDT_REPLY_H */
