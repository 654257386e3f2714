// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting: from work requests of the ULP to entries of the queues.
 *
 * Operation: each work request is checked against the type and the capacities of the queue
 * pair, and copied. Each post call stands for one doorbell.
 *
 * Ownership: the caller keeps the work requests, because posting copies them with inline data.
 *
 * Concurrency: the lock of the queue pair protects the head of the send queue.
 *
 * Errors: a work request that an adapter does not allow is a violation and fails with errno. A
 * post to a queue pair in a wrong state fails with -EINVAL and is not reported as a violation.
 */
#include "model.h"

static bool mdl_post_opcode_ok(const struct mdl_dev *dev, const struct mdl_qp *qp,
			       enum ib_wr_opcode opcode)
{
	if (qp->ib.qp_type == IB_QPT_GSI)
		return opcode == IB_WR_SEND;
	switch (opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		return true;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return dev->profile->features & MDL_F_WRITE_IMM;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
	case IB_WR_REG_MR:
		return dev->profile->features & MDL_F_MEM_MGT;
	default:
		return false;
	}
}

/* Check a work request, but not the space in the queue; returns the error as text, or NULL. */
static const char *mdl_post_check(const struct mdl_dev *dev, const struct mdl_qp *qp,
				  const struct ib_send_wr *wr)
{
	u64 len;

	if (!mdl_post_opcode_ok(dev, qp, wr->opcode))
		return "opcode that the queue pair does not support";
	if (wr->opcode == IB_WR_REG_MR || wr->opcode == IB_WR_LOCAL_INV)
		return wr->num_sge ? "entries in a work request that takes none" : NULL;
	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return "more entries than a send work request of this queue has";
	if (wr->opcode == IB_WR_RDMA_READ && wr->num_sge > dev->profile->max_sge_rd)
		return "more entries than an RDMA READ of this device has";
	len = mdl_mem_length(wr->sg_list, wr->num_sge);
	if (len > dev->profile->max_msg_sz)
		return "longer than the longest message";
	if (wr->send_flags & IB_SEND_INLINE) {
		if (wr->opcode == IB_WR_RDMA_READ)
			return "inline data in an RDMA READ";
		if (len > qp->sq.max_inline)
			return "more inline data than this queue takes";
	}
	return NULL;
}

static void mdl_post_inline(struct mdl_swqe *wqe, const struct ib_send_wr *wr)
{
	void *data = wqe->data;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(data, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		data += wr->sg_list[i].length;
	}
}

static void mdl_post_fill(struct mdl_swqe *wqe, const struct mdl_qp *qp,
			  const struct ib_send_wr *wr)
{
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	if (qp->init.sq_sig_type == IB_SIGNAL_ALL_WR)
		wqe->flags |= IB_SEND_SIGNALED;
	wqe->num_sge = wr->num_sge;
	wqe->length = mdl_mem_length(wr->sg_list, wr->num_sge);
	wqe->finished = false;
	wqe->due = 0;
	wqe->from = 0;
	wqe->bytes = wqe->length;
	wqe->missing = 0;
	wqe->again = false;
	wqe->posted = mdl_timed ? mdl_clock_now() : 0;
	wqe->arrives = 0;
	wqe->ends = 0;
	wqe->status = IB_WC_SUCCESS;
	wqe->imm.imm_data = wr->ex.imm_data;
	if (wr->send_flags & IB_SEND_INLINE)
		mdl_post_inline(wqe, wr);
	else
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	if (qp->ib.qp_type == IB_QPT_GSI) {
		wqe->av = mdl_ah_of(ud_wr(wr)->ah)->av;
		wqe->remote_qpn = ud_wr(wr)->remote_qpn;
		wqe->qkey = ud_wr(wr)->remote_qkey;
	} else if (wr->opcode == IB_WR_REG_MR) {
		wqe->mr_key = reg_wr(wr)->mr->lkey;
		wqe->key = reg_wr(wr)->key;
		wqe->access = reg_wr(wr)->access;
		wqe->pages = DIV_ROUND_UP_ULL(reg_wr(wr)->mr->length, reg_wr(wr)->mr->page_size);
	} else if (wr->opcode == IB_WR_RDMA_READ || wr->opcode == IB_WR_RDMA_WRITE ||
		   wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
	}
}

static const char *mdl_post_one(struct mdl_dev *dev, struct mdl_qp *qp,
				const struct ib_send_wr *wr, int *ret)
{
	struct mdl_sq *sq = &qp->sq;
	struct mdl_swqe *wqe;
	const char *wrong;

	lockdep_assert_held(&qp->lock);
	wrong = mdl_post_check(dev, qp, wr);
	if (wrong) {
		*ret = -EINVAL;
		return wrong;
	}
	/* Pairs with smp_store_release() in mdl_retire_sends(). */
	if (sq->head - smp_load_acquire(&sq->freed) >= sq->size) {
		*ret = -ENOMEM;
		return "posted beyond the capacity of the send queue";
	}
	wqe = &sq->wqe[sq->head % sq->size];
	mdl_post_fill(wqe, qp, wr);
	mdl_hold_send(qp, wqe);
	mdl_add(dev, MDL_STAT_WQE_BLOCK, mdl_timing_blocks(dev, wqe));
	sq->head++;
	return NULL;
}

/**
 * mdl_post_send - post send work requests
 * @ibqp: queue pair
 * @wr: list of work requests
 * @bad_wr: output, the first work request that was not posted
 *
 * Context: any.
 * Return: 0 or errno.
 */
int mdl_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct mdl_dev *dev = mdl_dev_of(ibqp->device);
	struct mdl_qp *qp = mdl_qp_of(ibqp);
	unsigned long flags, section;
	const char *wrong = NULL;
	int ret = 0;

	if (READ_ONCE(qp->state) < IB_QPS_RTS) {
		*bad_wr = wr;
		return -EINVAL;
	}
	section = mdl_enter();
	mdl_count(dev, MDL_STAT_POST_SEND);
	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		wrong = mdl_post_one(dev, qp, wr, &ret);
		if (wrong)
			break;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (wrong) {
		mdl_violation(dev, qp, wr->wr_id, "%s: opcode %d, %d entries, capacity %u",
			      wrong, wr->opcode, wr->num_sge, qp->sq.size);
		*bad_wr = wr;
	}
	if (mdl_timed) {
		mdl_engine_run(qp);
		mdl_clock_leave(section, dev->busy.timing.doorbell_ns);
	} else {
		mdl_engine_kick(qp);
	}
	return ret;
}

/**
 * mdl_post_recv - post receive work requests
 * @ibqp: queue pair
 * @wr: list of work requests
 * @bad_wr: output, the first work request that was not posted
 *
 * Context: any.
 * Return: 0 or errno.
 */
int mdl_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct mdl_dev *dev = mdl_dev_of(ibqp->device);
	struct mdl_qp *qp = mdl_qp_of(ibqp);
	unsigned long section;
	int ret;

	if (READ_ONCE(qp->state) == IB_QPS_RESET || ibqp->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	section = mdl_enter();
	ret = mdl_rq_post(dev, qp, &qp->rq, wr, bad_wr);
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		mdl_engine_kick(qp);
	mdl_leave(section);
	return ret;
}
