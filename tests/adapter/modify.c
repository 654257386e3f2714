// SPDX-License-Identifier: GPL-2.0-only
/*
 * State and attributes of queue pairs.
 *
 * Operation: the table of the RDMA core defines the allowed transitions and attributes. When a
 * queue pair enters the error state, the engine flushes its work requests. When a queue pair
 * enters the reset state, its work requests and completions are dropped.
 *
 * Ownership: nothing is allocated.
 *
 * Concurrency: the lock of the queue pair protects its state. A reset waits until the engines
 * have finished the work requests that they are executing.
 *
 * Errors: -EINVAL; -EOPNOTSUPP for attributes beyond the standard ones.
 */
#include "model.h"

/* Store attributes that were checked; the engine and mdl_query_qp() read them. */
static void mdl_qp_set_attr(struct mdl_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	lockdep_assert_held(&qp->lock);
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags | qp->access_stays;
	if (mask & IB_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IB_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		/*
		 * The reference to the GID belongs to the caller, who may drop it after the call,
		 * so the pointer must not be kept.
		 */
		qp->attr.ah_attr.grh.sgid_attr = NULL;
		mdl_av_set(&qp->av, &attr->ah_attr);
	}
}

static int mdl_qp_check_attr(struct mdl_dev *dev, const struct ib_qp_attr *attr, int mask)
{
	const struct mdl_profile *p = dev->profile;

	if ((mask & IB_QP_PKEY_INDEX && attr->pkey_index >= p->max_pkeys) ||
	    (mask & IB_QP_PORT && attr->port_num != 1) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > p->max_qp_init_rd_atom) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > p->max_qp_rd_atom) ||
	    (mask & IB_QP_PATH_MTU && attr->path_mtu > p->max_mtu) ||
	    (mask & IB_QP_AV && !(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH)) ||
	    mask & (IB_QP_CAP | IB_QP_ALT_PATH))
		return -EINVAL;
	return 0;
}

static void mdl_qp_reset(struct mdl_qp *qp)
{
	/* Wait for the engines, which execute work requests in an RCU read section. */
	synchronize_rcu();
	mdl_place_end(qp);
	mdl_cq_clean(mdl_cq_of(qp->ib.send_cq), qp);
	if (qp->ib.recv_cq != qp->ib.send_cq)
		mdl_cq_clean(mdl_cq_of(qp->ib.recv_cq), qp);
	mdl_retire_all(qp);
	mdl_sq_reset(&qp->sq);
	mdl_rq_reset(&qp->rq);
	qp->last_wqe = false;
	qp->established = false;
	qp->retries = 0;
	qp->rnr_retries = 0;
}

/**
 * mdl_modify_qp - change state and attributes of a queue pair
 * @ibqp: queue pair
 * @attr: attributes
 * @mask: attributes to change, enum ib_qp_attr_mask
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0, -EINVAL, or -EOPNOTSUPP for attributes beyond the standard ones.
 */
int mdl_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibqp->device);
	struct mdl_qp *qp = mdl_qp_of(ibqp);
	enum ib_qp_state from, to;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mdl_qp_check_attr(dev, attr, mask))
		return -EINVAL;
	mdl_nasty_sleep(dev, MDL_NASTY_MODIFY);
	spin_lock_irq(&qp->lock);
	from = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	to = mask & IB_QP_STATE ? attr->qp_state : from;
	if ((mask & IB_QP_CUR_STATE && from != qp->state) ||
	    !ib_modify_qp_is_ok(from, to, ibqp->qp_type, mask)) {
		spin_unlock_irq(&qp->lock);
		return -EINVAL;
	}
	mdl_qp_set_attr(qp, attr, mask);
	qp->state = to;
	if (to == IB_QPS_ERR || to == IB_QPS_RESET)
		qp->waiting = false;
	spin_unlock_irq(&qp->lock);
	if (to == IB_QPS_RESET)
		mdl_qp_reset(qp);
	else if (to != IB_QPS_INIT && to != IB_QPS_RTR)
		mdl_engine_kick(qp);
	return 0;
}

/**
 * mdl_query_qp - return state and attributes of a queue pair
 * @ibqp: queue pair
 * @attr: output
 * @mask: requested attributes; ignored, all are returned
 * @init: output, attributes at creation
 *
 * Context: process context.
 * Return: 0.
 */
int mdl_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct mdl_qp *qp = mdl_qp_of(ibqp);

	spin_lock_irq(&qp->lock);
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	spin_unlock_irq(&qp->lock);
	return 0;
}
