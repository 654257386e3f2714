/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounce buffers: the transfer mode "copy". See bounce.c.
 */
#ifndef RNBDC_BOUNCE_H
#define RNBDC_BOUNCE_H

#include <linux/types.h>

struct rnbdc_queue;
struct rnbdc_req;
struct rnbdc_session;

u32 rnbdc_bounce_segments(u32 max_io);
int rnbdc_bounce_alloc(struct rnbdc_session *sess);
void rnbdc_bounce_unmap(struct rnbdc_session *sess);
void rnbdc_bounce_free(struct rnbdc_session *sess);
void rnbdc_bounce_map(const struct rnbdc_queue *q, struct rnbdc_req *req);
void rnbdc_bounce_copy(const struct rnbdc_queue *q, struct rnbdc_req *req);

#endif /* RNBDC_BOUNCE_H */
