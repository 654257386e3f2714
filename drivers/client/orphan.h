/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Orphans: wire tags and pool space of requests that end before the target has answered
 * them. See orphan.c.
 */
#ifndef RNBDC_ORPHAN_H
#define RNBDC_ORPHAN_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_reply;
struct rnbdc_hwq;
struct rnbdc_queue;
struct rnbdc_req;

int rnbdc_orphans_alloc(struct rnbdc_queue *q, u32 nr);
void rnbdc_orphan(struct rnbdc_queue *q, struct rnbdc_req *req);
enum rnbd_proto_err rnbdc_orphan_reply(struct rnbdc_queue *q, const struct rnbd_reply *reply);
void rnbdc_orphans_leave(struct rnbdc_hwq *hwq);
void rnbdc_orphans_end(struct rnbdc_queue *q);
void rnbdc_orphans_free(struct rnbdc_queue *q);

#endif /* RNBDC_ORPHAN_H */
