// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send queues: order, fences, retries, completions.
 *
 * Operation: the engine issues work requests in order. RDMA READs are only issued at
 * first; their data move after the requests behind them were executed, as far as
 * max_rd_atomic and fences allow that, since an adapter gives no other guarantee.
 * Completions come in order. A request that fails moves the queue pair to the error
 * state; what is behind it is flushed, unsignalled requests included.
 *
 * Ownership: a queue pair owns its ring.
 *
 * Concurrency: the ULP moves the head under the lock of the queue pair; the engine
 * moves the other indices; polling moves the index of the oldest entry in use.
 *
 * Errors: work completions.
 */
#include <linux/slab.h>

#include "model.h"

/* Delay of RNR timer codes, units of 10 us (InfiniBand specification, table 45). */
static const u32 mdl_rnr_delay[] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static const enum ib_wc_opcode mdl_wc_opcode[] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
};

/**
 * mdl_sq_init - allocate a send queue
 * @sq: send queue, zeroed
 * @cap: granted capacities
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mdl_sq_init(struct mdl_sq *sq, const struct ib_qp_cap *cap)
{
	size_t n = cap->max_send_wr;
	u32 i;

	sq->size = n;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	if (!n)
		return 0;
	sq->wqe = kvcalloc(n, sizeof(*sq->wqe), GFP_KERNEL);
	sq->sge = kvcalloc(size_mul(n, max(sq->max_sge, 1)), sizeof(*sq->sge), GFP_KERNEL);
	if (sq->max_inline)
		sq->data = kvcalloc(n, sq->max_inline, GFP_KERNEL);
	if (!sq->wqe || !sq->sge || (sq->max_inline && !sq->data)) {
		mdl_sq_exit(sq);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		sq->wqe[i].sge = sq->sge + (size_t)i * sq->max_sge;
		sq->wqe[i].data = sq->data + (size_t)i * sq->max_inline;
	}
	return 0;
}

/**
 * mdl_sq_exit - free a send queue
 * @sq: send queue
 *
 * Context: process context.
 */
void mdl_sq_exit(struct mdl_sq *sq)
{
	kvfree(sq->wqe);
	kvfree(sq->sge);
	kvfree(sq->data);
	sq->wqe = NULL;
	sq->sge = NULL;
	sq->data = NULL;
}

/**
 * mdl_sq_reset - forget all work requests
 * @sq: send queue of a queue pair in the reset state whose completions were removed
 *
 * Context: any.
 */
void mdl_sq_reset(struct mdl_sq *sq)
{
	sq->head = 0;
	sq->next = 0;
	sq->done = 0;
	sq->freed = 0;
	sq->reads = 0;
}

/* Deliver the completion of the oldest request. */
static bool mdl_sq_complete(struct mdl_qp *qp, enum ib_wc_status status)
{
	struct mdl_swqe *wqe = &qp->sq.wqe[qp->sq.done % qp->sq.size];
	struct mdl_cqe cqe = {
		.wc = {
			.wr_id = wqe->wr_id,
			.status = status,
			.opcode = mdl_wc_opcode[wqe->opcode],
			.byte_len = wqe->length,
			.qp = &qp->ib,
			.port_num = 1,
		},
		.qp = qp,
		.sq_index = qp->sq.done,
	};

	qp->sq.done++;
	if (status == IB_WC_SUCCESS && !(wqe->flags & IB_SEND_SIGNALED))
		return true;
	return mdl_cq_add(mdl_cq_of(qp->ib.send_cq), &cqe);
}

/* All requests of a queue pair in the error state. */
static void mdl_sq_flush(struct mdl_qp *qp, u32 head)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };
	struct mdl_rwqe rwqe;
	bool below;

	while (qp->sq.done != head)
		mdl_sq_complete(qp, IB_WC_WR_FLUSH_ERR);
	qp->sq.next = head;
	qp->sq.reads = 0;
	if (!qp->ib.srq) {
		while (mdl_rq_take(&qp->rq, &rwqe, NULL, &below))
			mdl_qp_recv_done(qp, &rwqe, &wc, false);
	} else if (!qp->last_wqe) {
		qp->last_wqe = true;
		mdl_event_qp(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
}

/**
 * mdl_sq_timer - go on with a send queue after an RNR or retry delay
 * @timer: timer of a queue pair
 *
 * Context: softirq.
 */
void mdl_sq_timer(struct timer_list *timer)
{
	struct mdl_qp *qp = container_of(timer, struct mdl_qp, timer);
	unsigned long flags;
	bool dying;

	spin_lock_irqsave(&qp->lock, flags);
	qp->waiting = false;
	dying = qp->dying;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!dying)
		mdl_engine_kick(qp);
}

static void mdl_sq_wait(struct mdl_qp *qp, u64 usecs)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == IB_QPS_RTS && !qp->dying) {
		qp->waiting = true;
		mod_timer(&qp->timer, jiffies + max(usecs_to_jiffies(usecs), 1));
	}
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* The final status of a request that was not answered, MDL_STATUS_* if it waits. */
static enum ib_wc_status mdl_sq_retry(struct mdl_qp *qp, enum ib_wc_status status)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);

	if (status == MDL_STATUS_RNR) {
		mdl_count(dev, MDL_STAT_RNR);
		if (qp->attr.rnr_retry != 7 && qp->rnr_retries++ >= qp->attr.rnr_retry)
			return IB_WC_RNR_RETRY_EXC_ERR;
		/* The receiver says how long; both sides have the same setting here. */
		mdl_sq_wait(qp, mdl_rnr_delay[qp->attr.min_rnr_timer & 31] * 10);
		return status;
	}
	mdl_count(dev, MDL_STAT_RETRY);
	if (!qp->attr.timeout) {
		mdl_sq_wait(qp, USEC_PER_SEC);
		return status;
	}
	if (qp->retries++ > qp->attr.retry_cnt)
		return IB_WC_RETRY_EXC_ERR;
	mdl_sq_wait(qp, (4096ULL << (qp->attr.timeout & 31)) / NSEC_PER_USEC);
	return status;
}

/* Whether the next request may be issued before the READs in flight have ended. */
static bool mdl_sq_may_issue(struct mdl_qp *qp, const struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);

	if (!qp->sq.reads)
		return true;
	if (wqe->flags & IB_SEND_FENCE) {
		mdl_count(dev, MDL_STAT_FENCE_WAIT);
		return false;
	}
	if (wqe->opcode == IB_WR_RDMA_READ && qp->sq.reads >= qp->attr.max_rd_atomic) {
		mdl_count(dev, MDL_STAT_READ_WAIT);
		return false;
	}
	return true;
}

static enum ib_wc_status mdl_sq_execute(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	enum ib_wc_status status;

	status = qp->ib.qp_type == IB_QPT_GSI ? mdl_datagram(qp, wqe) : mdl_request(qp, wqe);
	if (status == MDL_STATUS_RNR || status == MDL_STATUS_NO_ANSWER)
		status = mdl_sq_retry(qp, status);
	if (status == MDL_STATUS_RNR || status == MDL_STATUS_NO_ANSWER)
		return status;
	if (status == IB_WC_SUCCESS) {
		qp->retries = 0;
		qp->rnr_retries = 0;
	}
	wqe->status = status;
	wqe->finished = true;
	return status;
}

/* Issue requests; returns whether the send queue can go on after the READs. */
static bool mdl_sq_issue(struct mdl_qp *qp, u32 head, int *budget)
{
	struct mdl_sq *sq = &qp->sq;
	struct mdl_swqe *wqe;

	while (sq->next != head && *budget > 0) {
		if (READ_ONCE(qp->state) != IB_QPS_RTS)
			return true;
		wqe = &sq->wqe[sq->next % sq->size];
		if (!mdl_sq_may_issue(qp, wqe))
			return true;
		*budget -= 1 + wqe->length / MDL_MAX_PACKET;
		if (wqe->opcode == IB_WR_RDMA_READ) {
			sq->reads++;
			sq->next++;
			continue;
		}
		switch (mdl_sq_execute(qp, wqe)) {
		case IB_WC_SUCCESS:
			sq->next++;
			break;
		case MDL_STATUS_RNR:
		case MDL_STATUS_NO_ANSWER:
			return false;
		default:
			sq->next++;
			return false;
		}
	}
	return sq->next != head;
}

/* Answer the READs in flight and deliver completions, in order. */
static enum ib_wc_status mdl_sq_finish(struct mdl_qp *qp)
{
	struct mdl_sq *sq = &qp->sq;
	enum ib_wc_status status;
	struct mdl_swqe *wqe;

	while (sq->done != sq->next && READ_ONCE(qp->state) == IB_QPS_RTS) {
		wqe = &sq->wqe[sq->done % sq->size];
		if (!wqe->finished) {
			status = mdl_sq_execute(qp, wqe);
			if (status == MDL_STATUS_RNR || status == MDL_STATUS_NO_ANSWER)
				return IB_WC_SUCCESS;
			sq->reads--;
		}
		status = wqe->status;
		if (!mdl_sq_complete(qp, status))
			return IB_WC_GENERAL_ERR;
		if (status != IB_WC_SUCCESS)
			return status;
	}
	return IB_WC_SUCCESS;
}

/**
 * mdl_sq_run - execute work requests of a queue pair
 * @qp: queue pair
 * @budget: packets and work requests, reduced by what was executed
 *
 * Context: engine.
 * Return: whether there is more to do.
 */
bool mdl_sq_run(struct mdl_qp *qp, int *budget)
{
	enum ib_qp_state state;
	bool waiting, more;
	u32 head;

	/* Pairs with the synchronize_rcu() of a reset. */
	rcu_read_lock();
	spin_lock_irq(&qp->lock);
	state = qp->state;
	head = qp->sq.head;
	waiting = qp->waiting;
	spin_unlock_irq(&qp->lock);
	more = false;
	if (state == IB_QPS_ERR) {
		mdl_sq_flush(qp, head);
	} else if (state == IB_QPS_RTS && !waiting) {
		more = mdl_sq_issue(qp, head, budget);
		if (mdl_sq_finish(qp) != IB_WC_SUCCESS) {
			mdl_qp_fail(qp);
			more = false;
		}
	}
	rcu_read_unlock();
	return more;
}
