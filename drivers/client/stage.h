/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Staging and posting of RDMA operations, with the send fence. See stage.c.
 */
#ifndef RNBDC_STAGE_H
#define RNBDC_STAGE_H

#include <rdma/ib_verbs.h>

#include "queue.h"

/*
 * Largest numbers of work requests and of gather entries that are staged before a post. A read
 * guard can add one more of each.
 */
#define RNBDC_STAGE_WRS		32
#define RNBDC_STAGE_SGES	256

int rnbdc_stage_init(struct rnbdc_stage *stage);
void rnbdc_stage_exit(struct rnbdc_stage *stage);
bool rnbdc_needs_send_fence(struct rnbdc_queue *q);
void rnbdc_stage_post(struct rnbdc_queue *q, struct rnbdc_stage *stage);
void rnbdc_stage_add(struct rnbdc_queue *q, struct rnbdc_stage *stage,
		     u64 remote, u32 rkey, const struct ib_sge *sge,
		     u32 skip, u32 bytes, bool new_req);
void rnbdc_stage_req(struct rnbdc_queue *q, struct rnbdc_stage *stage,
		     struct rnbdc_req *req);
void rnbdc_data_failed(struct rnbdc_queue *q, const struct ib_wc *wc);
void rnbdc_data_done(struct ib_cq *cq, struct ib_wc *wc);
void rnbdc_read_guard(struct rnbdc_queue *q);

/**
 * rnbdc_stage_last - get the last work request of a stage
 * @stage: stage
 *
 * Context: any, ring.lock held.
 * Return: the work request, or NULL if the stage is empty.
 */
static inline struct ib_send_wr *rnbdc_stage_last(struct rnbdc_stage *stage)
{
	return stage->nr_wrs ? &stage->wrs[stage->nr_wrs - 1].wr : NULL;
}

/**
 * rnbdc_stage_reset - empty a stage whose work requests were posted or dropped
 * @stage: stage
 *
 * Context: any, ring.lock held.
 */
static inline void rnbdc_stage_reset(struct rnbdc_stage *stage)
{
	stage->nr_wrs = 0;
	stage->nr_sges = 0;
	stage->end = 0;
}

#endif /* RNBDC_STAGE_H */
