/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of a request: mapping for the device, and inline data. See data.c.
 */
#ifndef RNBDC_DATA_H
#define RNBDC_DATA_H

#include <linux/blk-mq.h>

struct rnbdc_queue;
struct rnbdc_req;
struct rnbdc_session;

void rnbdc_req_unmap(struct rnbdc_req *req);
struct ib_sge *rnbdc_req_next_sge(struct rnbdc_session *sess, struct rnbdc_req *req);
blk_status_t rnbdc_req_map(struct rnbdc_queue *q, struct request *rq);
void rnbdc_inline_write(struct rnbdc_queue *q, struct rnbdc_req *req);
void rnbdc_inline_read(struct rnbdc_queue *q, struct rnbdc_req *req,
		       const void *data);
bool rnbdc_map_late(struct rnbdc_queue *q, struct rnbdc_req *req);

#endif /* RNBDC_DATA_H */
