/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a queue, and the end of its connection. See queue_alloc.c.
 */
#ifndef RNBDT_QUEUE_ALLOC_H
#define RNBDT_QUEUE_ALLOC_H

#include <linux/types.h>
#include <rdma/rdma_cm.h>

struct rnbdt_queue;
struct rnbdt_session;

struct rnbdt_queue *rnbdt_queue_alloc(struct rnbdt_session *s, u16 index,
				      struct rdma_cm_id *id);
int rnbdt_queue_make_slots(struct rnbdt_session *s, u32 nr);
int rnbdt_queue_alloc_reqs(struct rnbdt_queue *q);
u16 rnbdt_queue_set_depth(struct rnbdt_queue *q, u16 depth);
bool rnbdt_queue_unused_from(const struct rnbdt_queue *q, u16 depth);
void rnbdt_queue_stop(struct rnbdt_queue *q);
void rnbdt_queue_wait_idle(struct rnbdt_queue *q);
void rnbdt_queue_free(struct rnbdt_queue *q);

#endif /* RNBDT_QUEUE_ALLOC_H */
