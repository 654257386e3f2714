// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events of queue pairs, completion queues and shared receive queues.
 *
 * Operation: each event is a work item of the ordered workqueue of the device. The work item calls
 * the handler of the ULP with interrupts disabled, because real drivers call it in an interrupt.
 *
 * Ownership: an event is freed after its delivery. The destruction of an object first flushes
 * the workqueue.
 *
 * Concurrency: callable in any context.
 *
 * Errors: if the allocation of an event fails, the event is dropped and logged. A handler that
 * returns with interrupts enabled is a violation, because it can have slept.
 */
#include <linux/slab.h>

#include "model.h"

struct mdl_event {
	struct work_struct work;
	struct ib_event event;
	void (*handler)(struct ib_event *event, void *context);
	void *context;
};

static void mdl_event_work(struct work_struct *work)
{
	struct mdl_event *e = container_of(work, struct mdl_event, work);
	unsigned long flags;
	bool enabled;

	local_irq_save(flags);
	e->handler(&e->event, e->context);
	enabled = !irqs_disabled();
	local_irq_restore(flags);
	if (enabled)
		mdl_violation(mdl_dev_of(e->event.device), NULL, 0,
			      "the handler of event %d enabled interrupts or slept",
			      e->event.event);
	kfree(e);
}

static void mdl_event_queue(struct ib_device *ibdev, enum ib_event_type type, void *object,
			    void (*handler)(struct ib_event *, void *), void *context)
{
	struct mdl_event *e;

	if (!handler)
		return;
	e = kzalloc(sizeof(*e), GFP_ATOMIC);
	if (!e) {
		pr_err("rdma-model: %s: no memory for event %d\n", dev_name(&ibdev->dev), type);
		return;
	}
	INIT_WORK(&e->work, mdl_event_work);
	e->event.device = ibdev;
	/* @object can be another kind of object: all pointers in the union have the same offset. */
	e->event.element.qp = object;
	e->event.event = type;
	e->handler = handler;
	e->context = context;
	queue_work(mdl_dev_of(ibdev)->events, &e->work);
}

/**
 * mdl_event_qp - deliver an event of a queue pair
 * @qp: queue pair
 * @type: event
 *
 * Context: any.
 */
void mdl_event_qp(struct mdl_qp *qp, enum ib_event_type type)
{
	mdl_event_queue(qp->ib.device, type, &qp->ib, qp->ib.event_handler, qp->ib.qp_context);
}

/**
 * mdl_event_cq - deliver an event of a completion queue
 * @cq: completion queue
 * @type: event
 *
 * Context: any.
 */
void mdl_event_cq(struct mdl_cq *cq, enum ib_event_type type)
{
	mdl_event_queue(cq->ib.device, type, &cq->ib, cq->ib.event_handler, cq->ib.cq_context);
}

/**
 * mdl_event_srq - deliver an event of a shared receive queue
 * @srq: shared receive queue
 * @type: event
 *
 * Context: any.
 */
void mdl_event_srq(struct mdl_srq *srq, enum ib_event_type type)
{
	mdl_event_queue(srq->ib.device, type, &srq->ib, srq->ib.event_handler,
			srq->ib.srq_context);
}
