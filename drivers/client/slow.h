/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slow requests: time-outs of the block layer, and queries to the target. See slow.c.
 */
#ifndef RNBDC_SLOW_H
#define RNBDC_SLOW_H

#include <linux/blk-mq.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdc_queue;

enum blk_eh_timer_return rnbdc_timeout_rq(struct request *rq);
enum rnbd_proto_err rnbdc_handle_query(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry);

#endif /* RNBDC_SLOW_H */
