/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wire tags of a queue: growth and shrinking of their number. See tags.c.
 */
#ifndef RNBDC_TAGS_H
#define RNBDC_TAGS_H

#include <linux/types.h>

struct rnbd_ring;
struct rnbdc_queue;

void rnbdc_queue_grow_tags(struct rnbdc_queue *q);
u16 rnbdc_queue_trim_tags(struct rnbd_ring *ring, u16 depth);

#endif /* RNBDC_TAGS_H */
