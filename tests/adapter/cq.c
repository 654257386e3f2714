// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: entries, polling, events, moderation.
 *
 * Operation: engines write entries, and the ULP polls them. Polling a completion frees the
 * entry of its work queue (retire.c), as in real drivers; a ULP that posts before it polls can
 * overflow the work queue. An armed completion queue raises one event: at its first entry or,
 * with moderation, after a number of entries or a delay. On a nasty or timed device, delay.c
 * holds entries until they are due. On a timed device, the event is an interrupt of the clock
 * (clock.c).
 *
 * Ownership: the RDMA core allocates completion queues; the model allocates their rings.
 *
 * Concurrency: the lock of a completion queue protects its ring and event state.
 *
 * Errors: an entry that finds the ring full is a violation, breaks the completion queue for
 * good, and raises IB_EVENT_CQ_ERR.
 */
#include <linux/slab.h>

#include "model.h"

/* Fail the queue pair that mdl_delay_due() returned, if any. */
static void mdl_cq_fail(struct mdl_qp *qp)
{
	if (!qp)
		return;
	mdl_qp_fail(qp);
	mdl_qp_put(qp);
}

static void mdl_cq_raise(struct mdl_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	cq->arm = MDL_ARM_NONE;
	cq->pending = 0;
	mdl_vector_raise(cq);
}

static enum hrtimer_restart mdl_cq_timer(struct hrtimer *timer)
{
	struct mdl_cq *cq = container_of(timer, struct mdl_cq, timer);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->arm != MDL_ARM_NONE && cq->pending)
		mdl_cq_raise(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * mdl_create_cq - create a completion queue
 * @ibcq: completion queue
 * @attr: attributes
 * @attrs: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct mdl_dev *dev = mdl_dev_of(ibcq->device);
	const struct mdl_profile *p = dev->profile;
	struct mdl_cq *cq = mdl_cq_of(ibcq);
	u32 cqe = attr->cqe;

	if (attrs || attr->flags)
		return -EOPNOTSUPP;
	if (!cqe || cqe > p->max_cqe)
		return -EINVAL;
	if (p->cqe_power_of_two)
		cqe = roundup_pow_of_two(cqe + p->cqe_slack) - p->cqe_slack;
	if (!mdl_object_add(dev, MDL_OBJECT_CQ, p->max_cq))
		return -ENOMEM;
	cq->ring = kvcalloc(cqe, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring || mdl_delay_cq_init(cq, cqe)) {
		kvfree(cq->ring);
		mdl_object_del(dev, MDL_OBJECT_CQ);
		return -ENOMEM;
	}
	cq->requested = attr->cqe;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->vector_entry);
	INIT_LIST_HEAD(&cq->event_entry);
	cq->event_due = U64_MAX;
	if (mdl_timed) {
		cq->count = dev->busy.timing.moderation_count;
		cq->period = dev->busy.timing.moderation_us;
	}
	cq->vector = &dev->vectors[attr->comp_vector % ibcq->device->num_comp_vectors];
#ifdef MDL_HAVE_HRTIMER_SETUP
	hrtimer_setup(&cq->timer, mdl_cq_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(&cq->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	cq->timer.function = mdl_cq_timer;
#endif
	ibcq->cqe = cqe;
	return 0;
}

/**
 * mdl_destroy_cq - destroy a completion queue
 * @ibcq: completion queue that no queue pair uses
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int mdl_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibcq->device);
	struct mdl_cq *cq = mdl_cq_of(ibcq);
	unsigned long flags;

	if (mdl_timed) {
		flags = mdl_enter();
		mdl_clock_event(cq, U64_MAX);
		mdl_leave(flags);
	}
	mdl_delay_cq_exit(cq);
	hrtimer_cancel(&cq->timer);
	mdl_vector_drop(cq);
	flush_workqueue(dev->events);
	kvfree(cq->ring);
	mdl_object_del(dev, MDL_OBJECT_CQ);
	return 0;
}

/**
 * mdl_modify_cq - set the moderation of a completion queue
 * @ibcq: completion queue
 * @count: number of completions that raise an event at once
 * @period: longest delay of an event, us
 *
 * Context: process context.
 * Return: 0 or -EINVAL.
 */
int mdl_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct mdl_dev *dev = mdl_dev_of(ibcq->device);
	const struct mdl_profile *p = dev->profile;
	unsigned long flags, section = mdl_enter();
	struct mdl_cq *cq = mdl_cq_of(ibcq);
	int ret = -EINVAL;

	if (count > p->max_cq_moderation_count || period > p->max_cq_moderation_period)
		goto out;
	spin_lock_irqsave(&cq->lock, flags);
	cq->count = count;
	cq->period = mdl_timed ? period * dev->busy.slowdown : period;
	spin_unlock_irqrestore(&cq->lock, flags);
	ret = 0;
out:
	mdl_leave(section);
	return ret;
}

/* Copy a completion for the ULP. InfiniBand leaves most members undefined after a failure. */
static void mdl_cq_fill(struct ib_wc *wc, const struct ib_wc *from)
{
	if (from->status == IB_WC_SUCCESS) {
		*wc = *from;
		return;
	}
	memset(wc, MDL_UNDEFINED, sizeof(*wc));
	wc->wr_id = from->wr_id;
	wc->status = from->status;
	wc->qp = from->qp;
	wc->vendor_err = from->vendor_err;
}

/**
 * mdl_poll_cq - poll completions
 * @ibcq: completion queue
 * @n: capacity of @wc
 * @wc: output array
 *
 * Context: any.
 * Return: number of completions.
 */
int mdl_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct mdl_dev *dev = mdl_dev_of(ibcq->device);
	unsigned long flags, section = mdl_enter();
	struct mdl_cq *cq = mdl_cq_of(ibcq);
	struct mdl_qp *failed = NULL;
	const struct mdl_cqe *cqe;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	if (mdl_timed)
		failed = mdl_delay_due(cq);
	for (i = 0; i < n && cq->tail != cq->head; i++, cq->tail++) {
		cqe = &cq->ring[cq->tail % ibcq->cqe];
		mdl_cq_fill(&wc[i], &cqe->wc);
		mdl_retire(cqe);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	mdl_cq_fail(failed);
	if (mdl_timed)
		mdl_clock_leave(section, i ? dev->busy.timing.cq_doorbell_ns : 0);
	return i;
}

/**
 * mdl_req_notify_cq - arm a completion queue
 * @ibcq: completion queue
 * @flags: enum ib_cq_notify_flags
 *
 * Context: any.
 * Return: 1 if the caller asked for missed events and the ring has entries, otherwise 0.
 */
int mdl_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct mdl_dev *dev = mdl_dev_of(ibcq->device);
	unsigned long irq, section = mdl_enter();
	struct mdl_cq *cq = mdl_cq_of(ibcq);
	struct mdl_qp *failed = NULL;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	if (mdl_timed)
		failed = mdl_delay_due(cq);
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		cq->arm = MDL_ARM_NEXT;
	else if (cq->arm == MDL_ARM_NONE)
		cq->arm = MDL_ARM_SOLICITED;
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && cq->head != cq->tail;
	if (mdl_timed)
		mdl_delay_event(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	mdl_cq_fail(failed);
	/* Arming writes a doorbell, like posting. */
	if (mdl_timed)
		mdl_clock_leave(section, dev->busy.timing.doorbell_ns);
	return missed;
}

/* Raise the event that the ULP armed, or delay it by the moderation. */
static void mdl_cq_notify(struct mdl_cq *cq, bool solicited)
{
	lockdep_assert_held(&cq->lock);
	cq->pending++;
	if (cq->arm == MDL_ARM_NONE || (cq->arm == MDL_ARM_SOLICITED && !solicited))
		return;
	if (mdl_timed)
		mdl_clock_event(cq, min(cq->event_due, mdl_clock_now() +
					mdl_dev_of(cq->ib.device)->busy.timing.interrupt_ns));
	else if (!cq->period || cq->pending >= cq->count)
		mdl_cq_raise(cq);
	else if (!hrtimer_is_queued(&cq->timer))
		hrtimer_start(&cq->timer, ns_to_ktime(cq->period * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
}

/**
 * mdl_cq_write - write an entry
 * @cq: completion queue
 * @cqe: entry
 *
 * Context: any, lock of the completion queue held.
 * Return: true if there was room; otherwise the caller must fail the queue pair.
 */
bool mdl_cq_write(struct mdl_cq *cq, const struct mdl_cqe *cqe)
{
	struct mdl_dev *dev = mdl_dev_of(cq->ib.device);

	lockdep_assert_held(&cq->lock);
	mdl_count(dev, MDL_STAT_CQE);
	if (!cq->broken && cq->head - cq->tail != cq->ib.cqe) {
		cq->ring[cq->head++ % cq->ib.cqe] = *cqe;
		mdl_cq_notify(cq, cqe->solicited || cqe->wc.status != IB_WC_SUCCESS);
		return true;
	}
	if (!cq->broken) {
		cq->broken = true;
		mdl_violation(dev, cqe->qp, cqe->wc.wr_id,
			      "overflow of a completion queue of %d entries", cq->ib.cqe);
		mdl_event_cq(cq, IB_EVENT_CQ_ERR);
	}
	return false;
}

/**
 * mdl_cq_add - add a completion, at once or when it is due
 * @cq: completion queue
 * @cqe: entry
 * @due: timed device: time of the clock at which the reported operation ends, ns
 *
 * Context: engine.
 * Return: true if there was room; otherwise the caller must fail the queue pair.
 */
bool mdl_cq_add(struct mdl_cq *cq, const struct mdl_cqe *cqe, u64 due)
{
	struct mdl_dev *dev = mdl_dev_of(cq->ib.device);
	unsigned long flags, section = mdl_enter();
	bool ok;

	due = mdl_timed ? due + dev->busy.timing.cqe_write_ns : mdl_nasty_cqe(dev);
	spin_lock_irqsave(&cq->lock, flags);
	ok = mdl_delay_cqe(cq, cqe, due) || mdl_cq_write(cq, cqe);
	spin_unlock_irqrestore(&cq->lock, flags);
	mdl_leave(section);
	return ok;
}

/**
 * mdl_cq_interrupt - update a completion queue of a timed device before its interrupt
 * @cq: completion queue; the caller then calls the handler of the ULP
 *
 * Context: section of the clock.
 */
void mdl_cq_interrupt(struct mdl_cq *cq)
{
	struct mdl_qp *failed;

	spin_lock(&cq->lock);
	cq->arm = MDL_ARM_NONE;
	mdl_clock_event(cq, U64_MAX);
	failed = mdl_delay_due(cq);
	spin_unlock(&cq->lock);
	mdl_cq_fail(failed);
}

/**
 * mdl_cq_clean - remove the entries of a queue pair
 * @cq: completion queue
 * @qp: queue pair that adds no further entries
 *
 * Context: any.
 */
void mdl_cq_clean(struct mdl_cq *cq, struct mdl_qp *qp)
{
	struct mdl_cqe *cqe;
	unsigned long flags;
	u32 from, to;

	spin_lock_irqsave(&cq->lock, flags);
	for (from = cq->tail, to = cq->tail; from != cq->head; from++) {
		cqe = &cq->ring[from % cq->ib.cqe];
		if (cqe->qp != qp)
			cq->ring[to++ % cq->ib.cqe] = *cqe;
		/* mdl_retire_all() frees the entries of the queue pair's own receive queue. */
		else if (cqe->rq && cqe->rq != &qp->rq)
			atomic_inc(&cqe->rq->freed);
	}
	cq->head = to;
	mdl_delay_cq_clean(cq, qp);
	spin_unlock_irqrestore(&cq->lock, flags);
}
