/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Completion of requests: replies and RDMA READs. See complete.c.
 */
#ifndef RNBDC_COMPLETE_H
#define RNBDC_COMPLETE_H

#include <linux/blk-mq.h>

#include "../core/proto_err.h"

struct rnbd_frame;
struct rnbd_ring;
struct rnbdc_disk;
struct rnbdc_queue;

void rnbdc_retry_init(struct rnbdc_disk *disk);
void rnbdc_complete_rq(struct request *rq);
enum rnbd_proto_err rnbdc_handle_replies(struct rnbdc_queue *q,
					 struct rnbd_frame *frame);
void rnbdc_queue_sent(struct rnbd_ring *ring, u32 seq, u32 note);
void rnbdc_queue_credit(struct rnbd_ring *ring);

#endif /* RNBDC_COMPLETE_H */
