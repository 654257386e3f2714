/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Further queues of a session: both ends prove that they know the session key. See join.c.
 */
#ifndef RNBDC_JOIN_H
#define RNBDC_JOIN_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_conn_req;
struct rnbd_ctl_entry;
struct rnbdc_errmsg;
struct rnbdc_queue;

int rnbdc_join(struct rnbdc_queue *q, const struct rnbd_conn_req *req, u32 ms,
	       struct rnbdc_errmsg *errmsg);
enum rnbd_proto_err rnbdc_join_handle_challenge(struct rnbdc_queue *q,
						const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbdc_join_handle_reply(struct rnbdc_queue *q,
					    const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_JOIN_H */
