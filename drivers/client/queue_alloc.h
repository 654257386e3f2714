/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a queue: allocation and release. See queue_alloc.c.
 */
#ifndef RNBDC_QUEUE_ALLOC_H
#define RNBDC_QUEUE_ALLOC_H

#include <linux/types.h>

struct rnbdc_queue;
struct rnbdc_session;

int rnbdc_alloc_queue(struct rnbdc_session *sess, u32 index);
int rnbdc_queue_alloc(struct rnbdc_queue *q);
void rnbdc_queue_init_tags(struct rnbdc_queue *q, u32 depth);
void rnbdc_queue_reset(struct rnbdc_queue *q);
void rnbdc_queue_free(struct rnbdc_queue *q);
void rnbdc_queue_kill(struct rnbdc_queue *q);
void rnbdc_queue_ready(struct rnbdc_queue *q, bool ready);

#endif /* RNBDC_QUEUE_ALLOC_H */
