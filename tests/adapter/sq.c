// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send queues: order, fences, retries, completions.
 *
 * Operation: the engine issues work requests in order. Requests behind an RDMA READ are issued
 * while the READ is in flight, unless max_rd_atomic or a send fence forbids it; read.c
 * describes when the data of a READ are copied. Completions are delivered in order. A request
 * that fails moves the queue pair to the error state; all requests behind it are flushed, even
 * unsignalled ones.
 *
 * Ownership: a queue pair owns its ring.
 *
 * Concurrency: posting advances the head under the lock of the queue pair. Polling advances the
 * index of the oldest entry in use. Only the engine changes the other indices.
 *
 * Errors: status of work completions.
 */
#include <linux/slab.h>

#include "model.h"

/* Delay for each RNR timer code, units of 10 us (InfiniBand specification, table 45). */
static const u32 mdl_rnr_delay[] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

/* Upper bound for the delay of a REG_MR or LOCAL_INV on a nasty device, us. */
#define MDL_REGISTER_US		2000

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
 * mdl_sq_reset - drop all work requests of a send queue
 * @sq: send queue of a queue pair that is being reset and whose completions were removed
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
	sq->stopped = false;
}

/* Complete the oldest request; returns false if the completion queue has no room. */
static bool mdl_sq_complete(struct mdl_qp *qp, enum ib_wc_status status)
{
	struct mdl_swqe *wqe = &qp->sq.wqe[qp->sq.done % qp->sq.size];
	struct mdl_cqe cqe = {
		.wc = {
			.wr_id = wqe->wr_id,
			.status = status,
			.opcode = mdl_wc_opcode[wqe->opcode],
			.qp = &qp->ib,
			.port_num = 1,
		},
		.qp = qp,
		.sq_index = qp->sq.done,
	};

	/* InfiniBand leaves byte_len undefined for send work requests other than RDMA READs. */
	memset(&cqe.wc.byte_len, MDL_UNDEFINED, sizeof(cqe.wc.byte_len));
	if (wqe->opcode == IB_WR_RDMA_READ)
		cqe.wc.byte_len = wqe->length;
	qp->sq.done++;
	if (status == IB_WC_SUCCESS && !(wqe->flags & IB_SEND_SIGNALED))
		return true;
	return mdl_cq_add(mdl_cq_of(qp->ib.send_cq), &cqe, wqe->ends);
}

/* Flush all work requests of a queue pair in the error state. */
static void mdl_sq_flush(struct mdl_qp *qp, u32 head)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };
	struct mdl_rwqe rwqe;
	bool below;

	mdl_place_end(qp);
	while (qp->sq.done != head)
		mdl_sq_complete(qp, IB_WC_WR_FLUSH_ERR);
	qp->sq.next = head;
	qp->sq.reads = 0;
	if (!qp->ib.srq) {
		while (mdl_rq_take(&qp->rq, &rwqe, NULL, &below))
			mdl_qp_recv_done(qp, &rwqe, &wc, false, 0);
	} else if (!qp->last_wqe) {
		qp->last_wqe = true;
		mdl_event_qp(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
}

/**
 * mdl_sq_timer - continue a send queue after an RNR or retry delay
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

/**
 * mdl_sq_rnr_delay - return the delay of a send queue after an RNR NAK
 * @qp: requester
 *
 * InfiniBand uses min_rnr_timer of the responder; the model uses that of the requester, because
 * both ends have the same setting.
 *
 * Context: any.
 * Return: us.
 */
u64 mdl_sq_rnr_delay(const struct mdl_qp *qp)
{
	return mdl_rnr_delay[qp->attr.min_rnr_timer & 31] * 10;
}

/* Start a retry delay and return @status, or return the final status after the last retry. */
static enum ib_wc_status mdl_sq_retry(struct mdl_qp *qp, enum ib_wc_status status)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);

	if (status == MDL_STATUS_RNR) {
		mdl_count(dev, MDL_STAT_RNR);
		if (qp->attr.rnr_retry != 7 && qp->rnr_retries++ >= qp->attr.rnr_retry)
			return IB_WC_RNR_RETRY_EXC_ERR;
		mdl_sq_wait(qp, mdl_sq_rnr_delay(qp));
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

/* Test whether a request may be issued before the READs in flight have ended. */
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

/* Test whether a request is due; a nasty device delays REG_MR and LOCAL_INV. */
static bool mdl_sq_is_due(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device);

	if (!wqe->due &&
	    (wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_LOCAL_INV) &&
	    mdl_nasty(dev, MDL_NASTY_REGISTER)) {
		wqe->due = ktime_add_us(ktime_get(), mdl_random(dev, MDL_REGISTER_US));
		mdl_nasty_count(dev, MDL_NASTY_REGISTER);
	}
	return !wqe->due || !ktime_after(wqe->due, ktime_get());
}

/**
 * mdl_sq_execute - try to execute a request or a part of it
 * @qp: queue pair
 * @wqe: work request
 *
 * Context: engine.
 * Return: status; MDL_STATUS_* if the send queue waits for a retry.
 */
enum ib_wc_status mdl_sq_execute(struct mdl_qp *qp, struct mdl_swqe *wqe)
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
	return status;
}

/**
 * mdl_sq_finished - record that the execution of a request has ended
 * @qp: queue pair
 * @wqe: work request
 * @status: status of its completion
 *
 * Context: engine.
 */
void mdl_sq_finished(struct mdl_qp *qp, struct mdl_swqe *wqe, enum ib_wc_status status)
{
	static const enum mdl_stat stats[] = {
		[IB_WR_SEND] = MDL_STAT_SEND,
		[IB_WR_SEND_WITH_IMM] = MDL_STAT_SEND,
		[IB_WR_SEND_WITH_INV] = MDL_STAT_SEND_INV,
		[IB_WR_RDMA_WRITE] = MDL_STAT_WRITE,
		[IB_WR_RDMA_WRITE_WITH_IMM] = MDL_STAT_WRITE_IMM,
		[IB_WR_RDMA_READ] = MDL_STAT_READ,
		[IB_WR_LOCAL_INV] = MDL_STAT_LOCAL_INV,
		[IB_WR_REG_MR] = MDL_STAT_REG_MR,
	};

	wqe->status = status;
	wqe->finished = true;
	if (qp->ib.qp_type == IB_QPT_GSI)
		mdl_count(mdl_dev_of(qp->ib.device), MDL_STAT_DATAGRAM);
	else
		mdl_count(mdl_dev_of(qp->ib.device), stats[wqe->opcode]);
}

/* Issue one request; returns MDL_STATUS_* if the send queue waits. */
static enum ib_wc_status mdl_sq_issue_one(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	enum ib_wc_status status;

	if (wqe->opcode == IB_WR_RDMA_READ) {
		qp->sq.reads++;
		status = mdl_read_issue(qp, wqe);
		if (status == MDL_STATUS_RNR || status == MDL_STATUS_NO_ANSWER)
			qp->sq.reads--;
		return status;
	}
	status = mdl_sq_execute(qp, wqe);
	if (status != MDL_STATUS_RNR && status != MDL_STATUS_NO_ANSWER)
		mdl_sq_finished(qp, wqe, status);
	return status;
}

static void mdl_sq_issue(struct mdl_qp *qp, u32 head, int *budget)
{
	struct mdl_sq *sq = &qp->sq;
	enum ib_wc_status status;
	struct mdl_swqe *wqe;

	while (sq->next != head && *budget > 0 && !sq->stopped) {
		if (READ_ONCE(qp->state) != IB_QPS_RTS)
			return;
		wqe = &sq->wqe[sq->next % sq->size];
		if (!mdl_sq_may_issue(qp, wqe))
			return;
		if (!mdl_sq_is_due(qp, wqe)) {
			mdl_delay_qp(qp, wqe->due);
			return;
		}
		*budget -= 1 + wqe->length / MDL_MAX_PACKET;
		status = mdl_sq_issue_one(qp, wqe);
		if (status == MDL_STATUS_RNR || status == MDL_STATUS_NO_ANSWER)
			return;
		sq->next++;
		sq->stopped = status != IB_WC_SUCCESS;
	}
}

/* Deliver the completions of finished requests, in order. */
static enum ib_wc_status mdl_sq_finish(struct mdl_qp *qp)
{
	struct mdl_sq *sq = &qp->sq;
	enum ib_wc_status status;
	struct mdl_swqe *wqe;

	while (sq->done != sq->next && READ_ONCE(qp->state) == IB_QPS_RTS) {
		wqe = &sq->wqe[sq->done % sq->size];
		if (!wqe->finished)
			return IB_WC_SUCCESS;
		if (wqe->opcode == IB_WR_RDMA_READ)
			sq->reads--;
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
 * @budget: number of packets and work requests to execute; reduced by the executed ones
 *
 * Context: engine, or a section of the clock.
 * Return: true if the caller must run the queue pair again.
 */
bool mdl_sq_run(struct mdl_qp *qp, int *budget)
{
	enum ib_qp_state state;
	bool waiting, serving, more = false;
	unsigned long flags;
	u32 head, reads;

	/* Pairs with synchronize_rcu() in mdl_qp_reset(). */
	rcu_read_lock();
	spin_lock_irqsave(&qp->lock, flags);
	state = qp->state;
	head = qp->sq.head;
	waiting = qp->waiting;
	serving = qp->serving;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (state == IB_QPS_ERR) {
		/* While serving, do not flush: mdl_qp_served() wakes the engine later. */
		if (!serving)
			mdl_sq_flush(qp, head);
	} else if (state == IB_QPS_RTS && !waiting) {
		mdl_sq_issue(qp, head, budget);
		mdl_read_go_on(qp);
		reads = qp->sq.reads;
		if (mdl_sq_finish(qp) != IB_WC_SUCCESS)
			mdl_qp_fail(qp);
		else if (qp->sq.next != head)
			/* Otherwise the queue waits for a time: a timer wakes the engine. */
			more = *budget <= 0 || qp->sq.reads < reads;
	}
	rcu_read_unlock();
	return more;
}
