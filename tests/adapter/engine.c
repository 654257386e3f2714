// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine of a device executes the send queues that have work.
 *
 * Operation: a bottom half takes queue pairs from a list and executes a limited number of work
 * requests of each, so that no queue pair delays another one for long. On a timed device, the
 * post call itself executes the requests of its queue pair.
 *
 * Ownership: the list holds a reference to each queue pair in it. The engine owns the buffer
 * for a packet, through which data are copied from one device to another.
 *
 * Concurrency: the bottom half of a device runs on at most one processor at a time. The engines
 * of two devices run concurrently, and each writes to the memory of the other device. On a
 * timed device, a post cannot interrupt the bottom half, because no ULP posts in an interrupt.
 *
 * Errors: -ENOMEM.
 */
#include <linux/slab.h>

#include "model.h"

/* Budgets of one run of the bottom half and of one queue pair, in packets and work requests. */
#define MDL_BUDGET	256
#define MDL_QP_BUDGET	32

static struct mdl_qp *mdl_engine_next(struct mdl_engine *engine)
{
	struct mdl_qp *qp;

	spin_lock_irq(&engine->lock);
	qp = list_first_entry_or_null(&engine->active, struct mdl_qp, engine_entry);
	if (qp) {
		list_del_init(&qp->engine_entry);
		qp->active = false;
	}
	spin_unlock_irq(&engine->lock);
	return qp;
}

static void mdl_engine_work(struct work_struct *work)
{
	struct mdl_engine *engine = container_of(work, struct mdl_engine, work);
	int budget = MDL_BUDGET, share;
	struct mdl_qp *qp;

	while (budget > 0) {
		qp = mdl_engine_next(engine);
		if (!qp)
			return;
		share = MDL_QP_BUDGET;
		if (mdl_sq_run(qp, &share))
			mdl_engine_kick(qp);
		budget -= MDL_QP_BUDGET - share + 1;
		mdl_qp_put(qp);
	}
	queue_work(mdl_wq, work);
}

/**
 * mdl_engine_kick - wake the engine for a queue pair
 * @qp: queue pair, to which the caller holds a reference
 *
 * Context: any.
 */
void mdl_engine_kick(struct mdl_qp *qp)
{
	struct mdl_engine *engine = &mdl_dev_of(qp->ib.device)->engine;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	if (!qp->active) {
		qp->active = true;
		refcount_inc(&qp->refs);
		list_add_tail(&qp->engine_entry, &engine->active);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	queue_work(mdl_wq, &engine->work);
}

/**
 * mdl_engine_run - execute the requests of a queue pair of a timed device at once
 * @qp: queue pair, to which the caller holds a reference
 *
 * A real adapter works in parallel with the processor, so the work of the model must not take time
 * of the clock. A bottom half would take such time.
 *
 * Context: section of the clock.
 */
void mdl_engine_run(struct mdl_qp *qp)
{
	int budget;

	do {
		budget = MDL_QP_BUDGET;
	} while (mdl_sq_run(qp, &budget));
}

/**
 * mdl_engine_init - prepare the engine of a device
 * @dev: device
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mdl_engine_init(struct mdl_dev *dev)
{
	struct mdl_engine *engine = &dev->engine;

	spin_lock_init(&engine->lock);
	INIT_LIST_HEAD(&engine->active);
	INIT_WORK(&engine->work, mdl_engine_work);
	engine->packet = kmalloc(MDL_MAX_PACKET, GFP_KERNEL);
	/* Large enough for one receive work request of any device. */
	engine->sge = kcalloc(MDL_MAX_RECV_SGE, sizeof(*engine->sge), GFP_KERNEL);
	return engine->packet && engine->sge ? 0 : -ENOMEM;
}

/**
 * mdl_engine_exit - free the memory of the engine of a device
 * @dev: device without queue pairs
 *
 * Context: process context, may sleep.
 */
void mdl_engine_exit(struct mdl_dev *dev)
{
	if (dev->engine.work.func)
		cancel_work_sync(&dev->engine.work);
	kfree(dev->engine.packet);
	kfree(dev->engine.sge);
}
