// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared receive queues.
 *
 * Operation: engines take work requests from the queue for all queue pairs that use it. When
 * fewer work requests than its limit are left, the queue raises one event.
 *
 * Ownership: the RDMA core allocates shared receive queues; the model allocates their rings.
 *
 * Concurrency: see rq.c.
 *
 * Errors: errno.
 */
#include <linux/log2.h>

#include "model.h"

/**
 * mdl_create_srq - create a shared receive queue
 * @ibsrq: shared receive queue
 * @init: attributes; returns the granted capacity
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		   struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibsrq->device);
	const struct mdl_profile *p = dev->profile;
	struct mdl_srq *srq = mdl_srq_of(ibsrq);
	int ret;

	if (udata || init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > p->max_srq_wr ||
	    init->attr.max_sge > p->max_srq_sge || init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	if (!mdl_object_add(dev, MDL_OBJECT_SRQ, p->max_srq))
		return -ENOMEM;
	if (p->wr_power_of_two)
		init->attr.max_wr = roundup_pow_of_two(init->attr.max_wr);
	ret = mdl_rq_init(&srq->rq, init->attr.max_wr, init->attr.max_sge);
	if (ret) {
		mdl_object_del(dev, MDL_OBJECT_SRQ);
		return ret;
	}
	srq->rq.limit = init->attr.srq_limit;
	return 0;
}

/**
 * mdl_modify_srq - set the limit of a shared receive queue
 * @ibsrq: shared receive queue
 * @attr: attributes
 * @mask: attributes to change
 * @udata: NULL for kernel users
 *
 * Context: process context.
 * Return: 0 or errno.
 */
int mdl_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct mdl_rq *rq = &mdl_srq_of(ibsrq)->rq;
	unsigned long flags;

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (mask & IB_SRQ_LIMIT) {
		if (attr->srq_limit > rq->size)
			return -EINVAL;
		spin_lock_irqsave(&rq->lock, flags);
		rq->limit = attr->srq_limit;
		spin_unlock_irqrestore(&rq->lock, flags);
	}
	return 0;
}

/**
 * mdl_query_srq - return the attributes of a shared receive queue
 * @ibsrq: shared receive queue
 * @attr: output
 *
 * Context: any.
 * Return: 0.
 */
int mdl_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct mdl_rq *rq = &mdl_srq_of(ibsrq)->rq;

	attr->max_wr = rq->size;
	attr->max_sge = rq->max_sge;
	attr->srq_limit = READ_ONCE(rq->limit);
	return 0;
}

/**
 * mdl_destroy_srq - destroy a shared receive queue
 * @ibsrq: shared receive queue that no queue pair uses
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int mdl_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	flush_workqueue(mdl_dev_of(ibsrq->device)->events);
	mdl_rq_exit(&mdl_srq_of(ibsrq)->rq);
	mdl_object_del(mdl_dev_of(ibsrq->device), MDL_OBJECT_SRQ);
	return 0;
}

/**
 * mdl_post_srq_recv - post receive work requests to a shared receive queue
 * @ibsrq: shared receive queue
 * @wr: list of work requests
 * @bad_wr: output, the first work request that was not posted
 *
 * Context: any.
 * Return: 0 or errno.
 */
int mdl_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	return mdl_rq_post(mdl_dev_of(ibsrq->device), NULL, &mdl_srq_of(ibsrq)->rq, wr, bad_wr);
}
