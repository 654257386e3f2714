// SPDX-License-Identifier: GPL-2.0-only
/*
 * Retirement of work requests: until a work request is retired, it pins the memory that it names
 * and occupies an entry of its work queue and of its completion queue.
 *
 * Operation: a posted work request may name mappings by the local DMA key. These mappings
 * belong to the device until the ULP has polled the completion of the work request, or a later
 * completion of the same work queue. Until then the mappings are pinned, and unmapping a pinned
 * mapping is a violation (dma.c). Polling also frees the entry of the work queue. The reset and
 * the destruction of a queue pair retire all its work requests.
 *
 * When a queue pair enters the error state, each of its work requests that is not retired adds an
 * entry to the completion queue, even an unsignalled one. So the completion queue can overflow if
 * more work requests are posted than it has entries. Posting more work requests than the number
 * of entries that the ULP requested for the completion queue is therefore a violation. For a
 * completion queue from the pool of the RDMA core, the limit is its real number of entries.
 *
 * Work requests of a shared receive queue and receive work requests of the GSI queue pair do not
 * pin their memory, because they can complete in another order than they were posted.
 *
 * Ownership: an entry of the ring keeps the addresses that must be unpinned.
 *
 * Concurrency: posting holds the lock of the queue pair or receive queue; polling holds the
 * lock of the completion queue. The lock of the mappings is taken while these locks are held.
 *
 * Errors: none.
 */
#include "model.h"

/* Pin or unpin the mappings of the scatter/gather entries that contain DMA addresses. */
static void mdl_pin(const struct mdl_qp *qp, u64 wr_id, const struct ib_sge *sge, u32 num_sge,
		    bool pin)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);
	u32 i;

	if (mdl_dma_direct)
		return;
	for (i = 0; i < num_sge; i++) {
		if (!sge[i].length || !mdl_mr_is_dma(dev, sge[i].lkey))
			continue;
		if (pin)
			mdl_dma_pin(dev, sge[i].addr, qp->ib.qp_num, wr_id);
		else
			mdl_dma_unpin(dev, sge[i].addr);
	}
}

static void mdl_pin_send(const struct mdl_qp *qp, const struct mdl_swqe *wqe, bool pin)
{
	if (!(wqe->flags & IB_SEND_INLINE))
		mdl_pin(qp, wqe->wr_id, wqe->sge, wqe->num_sge, pin);
}

static void mdl_pin_recv(const struct mdl_qp *qp, const struct mdl_rwqe *wqe, bool pin)
{
	if (qp->ib.qp_type == IB_QPT_RC)
		mdl_pin(qp, wqe->wr_id, wqe->sge, wqe->num_sge, pin);
}

static void mdl_owe(struct ib_cq *ibcq, const struct mdl_qp *qp, u64 wr_id)
{
	struct mdl_cq *cq = mdl_cq_of(ibcq);
	/* The RDMA core uses all real entries of a completion queue that it takes from its pool. */
	u32 entries = ibcq->shared ? ibcq->cqe : cq->requested;

	/* Report only a work request that crosses the limit, not those behind it. */
	if (atomic_inc_return(&cq->owed) == entries + 1)
		mdl_violation(mdl_dev_of(ibcq->device), qp, wr_id,
			      "more work requests than the %u entries that were requested of the completion queue",
			      entries);
}

/**
 * mdl_hold_send - account for a send work request and pin its memory
 * @qp: queue pair
 * @wqe: work request that is being posted
 *
 * Context: any, lock of the queue pair held.
 */
void mdl_hold_send(struct mdl_qp *qp, const struct mdl_swqe *wqe)
{
	lockdep_assert_held(&qp->lock);
	mdl_owe(qp->ib.send_cq, qp, wqe->wr_id);
	mdl_pin_send(qp, wqe, true);
}

/**
 * mdl_hold_recv - account for a receive work request and pin its memory
 * @qp: queue pair
 * @wqe: work request that is being posted to the receive queue of @qp
 *
 * Context: any, lock of the receive queue held.
 */
void mdl_hold_recv(struct mdl_qp *qp, const struct mdl_rwqe *wqe)
{
	lockdep_assert_held(&qp->rq.lock);
	mdl_owe(qp->ib.recv_cq, qp, wqe->wr_id);
	mdl_pin_recv(qp, wqe, true);
}

/* Retire the send work requests from the oldest one in use to the one before index @to. */
static void mdl_retire_sends(struct mdl_qp *qp, u32 to)
{
	struct mdl_sq *sq = &qp->sq;
	u32 i;

	for (i = sq->freed; i != to; i++)
		mdl_pin_send(qp, &sq->wqe[i % sq->size], false);
	atomic_sub(to - sq->freed, &mdl_cq_of(qp->ib.send_cq)->owed);
	/* Pairs with smp_load_acquire() in mdl_post_one(). */
	smp_store_release(&sq->freed, to);
}

static void mdl_retire_recvs(struct mdl_qp *qp, u32 to)
{
	struct mdl_rq *rq = &qp->rq;
	u32 i;

	for (i = atomic_read(&rq->freed); i != to; i++)
		mdl_pin_recv(qp, &rq->wqe[i % rq->size], false);
	atomic_sub(to - (u32)atomic_read(&rq->freed), &mdl_cq_of(qp->ib.recv_cq)->owed);
	/* Pairs with atomic_read_acquire() in mdl_rq_add(). */
	atomic_set_release(&rq->freed, to);
}

/**
 * mdl_retire - retire the work requests that a completion covers
 * @cqe: completion that is being polled
 *
 * Context: any, lock of the completion queue held.
 */
void mdl_retire(const struct mdl_cqe *cqe)
{
	struct mdl_qp *qp = cqe->qp;

	if (!cqe->rq)
		mdl_retire_sends(qp, cqe->sq_index + 1);
	else if (cqe->rq == &qp->rq)
		mdl_retire_recvs(qp, atomic_read(&qp->rq.freed) + 1);
	else
		atomic_inc(&cqe->rq->freed);
}

/**
 * mdl_retire_all - retire all work requests of a queue pair
 * @qp: queue pair that is being reset or destroyed and whose completions were removed
 *
 * Context: any.
 */
void mdl_retire_all(struct mdl_qp *qp)
{
	mdl_retire_sends(qp, qp->sq.head);
	mdl_retire_recvs(qp, qp->rq.head);
}
