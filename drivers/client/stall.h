/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stalled hardware queues: hardware queues that are stopped at a high watermark, and their
 * restart. See stall.c.
 */
#ifndef RNBDC_STALL_H
#define RNBDC_STALL_H

#include <linux/lockdep.h>
#include <linux/types.h>

#include "disk.h"
#include "queue.h"

/**
 * enum rnbdc_stall - resource that a stopped hardware queue lacks
 * @RNBDC_STALL_CREDIT: a credit, a send slot or a wire tag
 * @RNBDC_STALL_SQ: send-queue entries
 * @RNBDC_STALL_POOL: pool space, of which the session has too little
 * @RNBDC_STALL_SHARE: pool space, of which the disk already holds its share
 */
enum rnbdc_stall {
	RNBDC_STALL_CREDIT,
	RNBDC_STALL_SQ,
	RNBDC_STALL_POOL,
	RNBDC_STALL_SHARE,
};

void rnbdc_stall_init(struct rnbdc_session *sess);
void rnbdc_stall_start(struct rnbdc_session *sess);
void rnbdc_stall_stop(struct rnbdc_session *sess);
void rnbdc_hwq_use(struct rnbdc_hwq *hwq, bool use);
void rnbdc_hwq_stall(struct rnbdc_hwq *hwq, enum rnbdc_stall stall);
void rnbdc_hwq_wait(struct rnbdc_hwq *hwq, u32 units);
void rnbdc_hwq_refused(struct rnbdc_hwq *hwq, u32 units);
void rnbdc_hwq_served(struct rnbdc_hwq *hwq);
void rnbdc_hwq_freed(struct rnbdc_hwq *hwq);
bool rnbdc_stall_lacks(struct rnbdc_session *sess);
void rnbdc_disk_forget_waits(struct rnbdc_disk *disk);
void rnbdc_clear_stalled(struct rnbdc_queue *q);
struct rnbdc_hwq *rnbdc_restart_hw_queues(struct rnbdc_queue *q);

/**
 * rnbdc_hwq_take_tag - take a free wire tag for a request
 * @hwq: hardware queue for which rnbdc_may_take_tag() has returned true
 *
 * Context: any; the lock of the queue's ring held.
 * Return: the wire tag.
 */
static inline u16 rnbdc_hwq_take_tag(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;

	lockdep_assert_held(&q->ring.lock);

	if (!hwq->tags++ && hwq->in_use)
		q->nr_idle--;
	return q->free_tags[--q->nr_free_tags];
}

/**
 * rnbdc_hwq_put_tag - uncharge a wire tag from a hardware queue
 * @hwq: hardware queue to which the wire tag of a request or an orphan was charged
 *
 * Context: any; the lock of the queue's ring held.
 */
static inline void rnbdc_hwq_put_tag(struct rnbdc_hwq *hwq)
{
	lockdep_assert_held(&hwq->queue->ring.lock);

	if (!--hwq->tags && hwq->in_use)
		hwq->queue->nr_idle++;
}

/**
 * rnbdc_hwq_stopped - test whether a hardware queue is stopped at a high watermark
 * @hwq: hardware queue
 *
 * Context: any; the lock of the queue's ring held.
 * Return: true if it is stopped. If it waits for pool space, another task can start it at
 * any time.
 */
static inline bool rnbdc_hwq_stopped(const struct rnbdc_hwq *hwq)
{
	return hwq->stalled || READ_ONCE(hwq->waiter.waiting);
}

#endif /* RNBDC_STALL_H */
