/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests: from a frame to the backend. See request.c.
 */
#ifndef RNBDT_REQUEST_H
#define RNBDT_REQUEST_H

#include <linux/workqueue.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbd_frame;
struct rnbdt_queue;

void rnbdt_submit_work(struct work_struct *work);
enum rnbd_proto_err rnbdt_queue_requests(struct rnbdt_queue *q,
					 struct rnbd_frame *frame);
enum rnbd_proto_err rnbdt_queue_query(struct rnbdt_queue *q, const struct rnbd_ctl_entry *entry);

#endif /* RNBDT_REQUEST_H */
