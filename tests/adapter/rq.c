// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive queues, shared or of one queue pair.
 *
 * Operation: the ULP posts work requests, and engines take them in the order of posting. An
 * entry is in use until the ULP has polled the completion of its work request.
 *
 * Ownership: a queue pair or shared receive queue owns its ring.
 *
 * Concurrency: the lock of the receive queue protects the ring. mdl_rq.freed is atomic, because
 * polling changes it under the lock of the completion queue instead.
 *
 * Errors: -ENOMEM for a post beyond the capacity and -EINVAL for too many scatter/gather
 * entries; both are reported as violations.
 */
#include <linux/slab.h>

#include "model.h"

/**
 * mdl_rq_init - allocate a receive queue
 * @rq: receive queue, zeroed
 * @size: capacity, work requests
 * @max_sge: largest number of scatter/gather entries of one work request
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mdl_rq_init(struct mdl_rq *rq, u32 size, u32 max_sge)
{
	u32 i;

	spin_lock_init(&rq->lock);
	rq->size = size;
	rq->max_sge = max_sge;
	if (!size)
		return 0;
	rq->wqe = kvcalloc(size, sizeof(*rq->wqe), GFP_KERNEL);
	rq->sge = kvcalloc(size_mul(size, max(max_sge, 1)), sizeof(*rq->sge), GFP_KERNEL);
	if (!rq->wqe || !rq->sge) {
		mdl_rq_exit(rq);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++)
		rq->wqe[i].sge = rq->sge + (size_t)i * max_sge;
	return 0;
}

/**
 * mdl_rq_exit - free a receive queue
 * @rq: receive queue
 *
 * Context: process context.
 */
void mdl_rq_exit(struct mdl_rq *rq)
{
	kvfree(rq->wqe);
	kvfree(rq->sge);
	rq->wqe = NULL;
	rq->sge = NULL;
}

static const char *mdl_rq_add(struct mdl_qp *qp, struct mdl_rq *rq,
			      const struct ib_recv_wr *wr, int *ret)
{
	struct mdl_rwqe *wqe;

	lockdep_assert_held(&rq->lock);
	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge) {
		*ret = -EINVAL;
		return "more entries than a receive work request of this queue has";
	}
	/* Pairs with atomic_set_release() in mdl_retire_recvs(). */
	if (rq->head - (u32)atomic_read_acquire(&rq->freed) >= rq->size) {
		*ret = -ENOMEM;
		return "posted beyond the capacity of the receive queue";
	}
	wqe = &rq->wqe[rq->head++ % rq->size];
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	if (qp)
		mdl_hold_recv(qp, wqe);
	return NULL;
}

/**
 * mdl_rq_post - post receive work requests
 * @dev: device
 * @qp: queue pair, or NULL for a shared receive queue
 * @rq: receive queue
 * @wr: list of work requests
 * @bad_wr: output, the first work request that was not posted
 *
 * Context: any.
 * Return: 0 or errno.
 */
int mdl_rq_post(struct mdl_dev *dev, struct mdl_qp *qp, struct mdl_rq *rq,
		const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr)
{
	unsigned long flags, section = mdl_enter();
	const char *wrong = NULL;
	int ret = 0;

	mdl_count(dev, MDL_STAT_POST_RECV);
	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		wrong = mdl_rq_add(qp, rq, wr, &ret);
		if (wrong)
			break;
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	if (wrong) {
		mdl_violation(dev, qp, wr->wr_id, "%s: %d entries, capacity %u",
			      wrong, wr->num_sge, rq->size);
		*bad_wr = wr;
	}
	if (mdl_timed)
		mdl_clock_leave(section, dev->busy.timing.recv_doorbell_ns);
	return ret;
}

/**
 * mdl_rq_take - take the oldest receive work request
 * @rq: receive queue
 * @wqe: output
 * @sge: output, the scatter/gather entries; NULL if they are not needed
 * @below_limit: output, whether a shared receive queue fell below its limit
 *
 * Context: engine.
 * Return: true if there was a work request.
 */
bool mdl_rq_take(struct mdl_rq *rq, struct mdl_rwqe *wqe, struct ib_sge *sge,
		 bool *below_limit)
{
	unsigned long flags;
	bool found;

	*below_limit = false;
	spin_lock_irqsave(&rq->lock, flags);
	found = rq->next != rq->head;
	if (found) {
		*wqe = rq->wqe[rq->next++ % rq->size];
		if (sge)
			memcpy(sge, wqe->sge, wqe->num_sge * sizeof(*sge));
		wqe->sge = sge;
		if (rq->limit && rq->head - rq->next < rq->limit) {
			rq->limit = 0;
			*below_limit = true;
		}
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return found;
}

/**
 * mdl_rq_reset - drop all work requests of a receive queue
 * @rq: receive queue of a queue pair whose completions were removed
 *
 * Context: any.
 */
void mdl_rq_reset(struct mdl_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq->head = 0;
	rq->next = 0;
	atomic_set(&rq->freed, 0);
	spin_unlock_irqrestore(&rq->lock, flags);
}
