/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Submission of requests: pool space, flow control and request frames. See submit.c.
 */
#ifndef RNBDC_SUBMIT_H
#define RNBDC_SUBMIT_H

#include <linux/blk-mq.h>

struct rnbdc_disk;
struct rnbdc_queue;
struct rnbdc_req;
struct rnbdc_session;

u32 rnbdc_guard_wrs(const struct rnbdc_session *sess);
u32 rnbdc_max_req_wrs(const struct rnbdc_session *sess);
void rnbdc_send_frame(struct rnbdc_queue *q);
void rnbdc_free_space(struct rnbdc_queue *q, struct rnbdc_req *req);
blk_status_t rnbdc_lost_status(const struct rnbdc_disk *disk);
blk_status_t rnbdc_down_status(const struct rnbdc_disk *disk);
blk_status_t rnbdc_queue_submit(struct rnbdc_queue *q, struct request *rq, bool last);
void rnbdc_queue_commit(struct rnbdc_queue *q);
void rnbdc_queue_send_open(struct rnbdc_queue *q);

#endif /* RNBDC_SUBMIT_H */
