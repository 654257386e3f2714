// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs: creation, lookup, failure, destruction.
 *
 * Operation: a device has queue pairs of reliable connections (RC), and one for management
 * datagrams (GSI). A queue pair that fails enters the error state, and the engine of its device
 * flushes its work requests.
 *
 * Ownership: the RDMA core allocates queue pairs. Lookups and the list of the engine hold
 * references; the destruction waits until all are dropped.
 *
 * Concurrency: the lock of the queue pair protects its state.
 *
 * Errors: errno for capacities beyond the profile.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "model.h"

#define MDL_MIN_QPN	0x10
#define MDL_MAX_QPN	GENMASK(23, 0)

/*
 * Grant a send queue where the profile limits its bytes. Each work request occupies the bytes that
 * the requested max_send_sge needs.
 */
static int mdl_qp_grant_send(const struct mdl_profile *p, struct ib_qp_cap *cap)
{
	u64 stride = ALIGN(p->sq_overhead + cap->max_send_sge * sizeof(struct ib_sge), p->sq_align);
	u64 bytes = roundup_pow_of_two(cap->max_send_wr * stride);

	if (bytes > p->sq_bytes)
		return -ENOMEM;
	cap->max_send_wr = bytes / stride;
	return 0;
}

/* Check the requested capacities, and replace them by the granted ones. */
static int mdl_qp_grant(struct mdl_dev *dev, struct ib_qp_init_attr *init)
{
	const struct mdl_profile *p = dev->profile;
	struct ib_qp_cap *cap = &init->cap;

	/* For its GSI queue pair, the RDMA core requests the same from each device: accept it. */
	if (init->qp_type == IB_QPT_GSI)
		return 0;
	if (init->srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
	if (cap->max_send_wr > p->max_qp_wr || cap->max_recv_wr > p->max_qp_wr ||
	    cap->max_send_sge > p->max_send_sge || cap->max_recv_sge > p->max_recv_sge ||
	    cap->max_inline_data > (p->features & MDL_F_INLINE ? p->max_inline_data : 0))
		return -EINVAL;
	if (p->wr_power_of_two && cap->max_recv_wr)
		cap->max_recv_wr = roundup_pow_of_two(cap->max_recv_wr);
	if (!cap->max_send_wr)
		return 0;
	if (p->sq_bytes)
		return mdl_qp_grant_send(p, cap);
	if (p->wr_power_of_two)
		cap->max_send_wr = roundup_pow_of_two(cap->max_send_wr);
	return 0;
}

static int mdl_qp_number(struct mdl_dev *dev, struct mdl_qp *qp)
{
	u32 qpn = MDL_GSI_QPN;
	int ret;

	if (qp->ib.qp_type == IB_QPT_GSI)
		ret = xa_insert_bh(&dev->qps, qpn, qp, GFP_KERNEL);
	else
		ret = xa_alloc_cyclic_bh(&dev->qps, &qpn, qp, XA_LIMIT(MDL_MIN_QPN, MDL_MAX_QPN),
					 &dev->next_qp, GFP_KERNEL);
	qp->ib.qp_num = qpn;
	return min(ret, 0);
}

/**
 * mdl_create_qp - create a queue pair
 * @ibqp: queue pair
 * @init: attributes; returns the granted capacities
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibqp->device);
	struct mdl_qp *qp = mdl_qp_of(ibqp);
	int ret;

	if (udata || init->create_flags ||
	    (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_GSI))
		return -EOPNOTSUPP;
	ret = mdl_qp_grant(dev, init);
	if (ret)
		return ret;
	if (!mdl_object_add(dev, MDL_OBJECT_QP, dev->profile->max_qp))
		return -ENOMEM;
	mdl_nasty_sleep(dev, MDL_NASTY_MODIFY);
	spin_lock_init(&qp->lock);
	refcount_set(&qp->refs, 1);
	init_completion(&qp->gone);
	INIT_LIST_HEAD(&qp->engine_entry);
	spin_lock_init(&qp->place_lock);
	INIT_LIST_HEAD(&qp->places);
	timer_setup(&qp->timer, mdl_sq_timer, 0);
	mdl_delay_qp_init(qp);
	qp->state = IB_QPS_RESET;
	qp->init = *init;
	if (dev->profile->features & MDL_F_ACCESS_STAYS)
		qp->access_stays = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ;
	qp->attr.qp_access_flags = qp->access_stays;
	if (mdl_timed) {
		qp->pace = kzalloc(sizeof(*qp->pace), GFP_KERNEL);
		ret = -ENOMEM;
		if (!qp->pace)
			goto err_object;
	}
	ret = mdl_sq_init(&qp->sq, &init->cap);
	if (ret)
		goto err_pace;
	ret = mdl_rq_init(&qp->rq, init->cap.max_recv_wr, init->cap.max_recv_sge);
	if (ret)
		goto err_sq;
	ret = mdl_qp_number(dev, qp);
	if (ret)
		goto err_rq;
	return 0;

err_rq:
	mdl_rq_exit(&qp->rq);
err_sq:
	mdl_sq_exit(&qp->sq);
err_pace:
	kfree(qp->pace);
err_object:
	mdl_object_del(dev, MDL_OBJECT_QP);
	return ret;
}

/**
 * mdl_qp_get - look up a queue pair
 * @dev: device
 * @qpn: number of the queue pair
 *
 * Context: RCU read section.
 * Return: queue pair with a reference, or NULL.
 */
struct mdl_qp *mdl_qp_get(struct mdl_dev *dev, u32 qpn)
{
	struct mdl_qp *qp = xa_load(&dev->qps, qpn);

	return qp && refcount_inc_not_zero(&qp->refs) ? qp : NULL;
}

/**
 * mdl_qp_put - drop a reference to a queue pair
 * @qp: queue pair
 *
 * Context: any.
 */
void mdl_qp_put(struct mdl_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->gone);
}

/**
 * mdl_qp_serve - begin to execute a request of the peer
 * @qp: responder
 *
 * A queue pair is not flushed while it serves a request: a ULP may unmap the memory as soon as
 * it has drained the queue pair.
 *
 * Context: the peer's engine.
 * Return: true if the state allows it; the caller must then call mdl_qp_served().
 */
bool mdl_qp_serve(struct mdl_qp *qp)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&qp->lock, flags);
	ok = qp->state >= IB_QPS_RTR && qp->state <= IB_QPS_SQD;
	qp->serving = ok;
	spin_unlock_irqrestore(&qp->lock, flags);
	return ok;
}

/**
 * mdl_qp_served - end the execution of a request of the peer
 * @qp: responder
 *
 * Context: the peer's engine.
 */
void mdl_qp_served(struct mdl_qp *qp)
{
	unsigned long flags;
	bool failed;

	spin_lock_irqsave(&qp->lock, flags);
	qp->serving = false;
	failed = qp->state == IB_QPS_ERR;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (failed)
		mdl_engine_kick(qp);
}

/**
 * mdl_qp_fail - move a queue pair to the error state
 * @qp: queue pair
 *
 * Context: any.
 */
void mdl_qp_fail(struct mdl_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != IB_QPS_RESET)
		qp->state = IB_QPS_ERR;
	qp->waiting = false;
	spin_unlock_irqrestore(&qp->lock, flags);
	mdl_engine_kick(qp);
}

/**
 * mdl_qp_recv_done - complete a receive work request
 * @qp: queue pair that received
 * @wqe: work request
 * @wc: completion with status, opcode, length and the members that depend on the message
 * @solicited: whether the sender requested a solicited event
 * @due: timed device: time at which the message is complete
 *
 * Context: engine.
 * Return: true if the completion queue had room; otherwise the queue pair has failed.
 */
bool mdl_qp_recv_done(struct mdl_qp *qp, const struct mdl_rwqe *wqe, struct ib_wc *wc,
		      bool solicited, u64 due)
{
	struct mdl_cqe cqe = {
		.wc = *wc,
		.qp = qp,
		.rq = mdl_qp_rq(qp),
		.solicited = solicited,
	};

	cqe.wc.wr_id = wqe->wr_id;
	cqe.wc.qp = &qp->ib;
	cqe.wc.port_num = 1;
	mdl_count(mdl_dev_of(qp->ib.device), MDL_STAT_RECV);
	if (mdl_cq_add(mdl_cq_of(qp->ib.recv_cq), &cqe, due))
		return true;
	if (READ_ONCE(qp->state) != IB_QPS_ERR)
		mdl_qp_fail(qp);
	return false;
}

/**
 * mdl_destroy_qp - destroy a queue pair
 * @ibqp: queue pair
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int mdl_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibqp->device);
	struct mdl_qp *qp = mdl_qp_of(ibqp);

	mdl_nasty_sleep(dev, MDL_NASTY_MODIFY);
	xa_erase_bh(&dev->qps, ibqp->qp_num);
	spin_lock_irq(&qp->lock);
	qp->dying = true;
	qp->state = IB_QPS_RESET;
	spin_unlock_irq(&qp->lock);
	timer_delete_sync(&qp->timer);
	mdl_delay_qp_exit(qp);
	mdl_qp_put(qp);
	/* The list of the engine can hold a reference, which the engine drops in its next run. */
	wait_for_completion(&qp->gone);
	/*
	 * A lookup that found the queue pair before xa_erase_bh() can still read the reference
	 * count of the queue pair.
	 */
	synchronize_rcu_expedited();
	mdl_place_end(qp);
	flush_workqueue(dev->events);
	mdl_cq_clean(mdl_cq_of(ibqp->send_cq), qp);
	if (ibqp->recv_cq != ibqp->send_cq)
		mdl_cq_clean(mdl_cq_of(ibqp->recv_cq), qp);
	mdl_retire_all(qp);
	mdl_rq_exit(&qp->rq);
	mdl_sq_exit(&qp->sq);
	kfree(qp->pace);
	mdl_object_del(dev, MDL_OBJECT_QP);
	return 0;
}
