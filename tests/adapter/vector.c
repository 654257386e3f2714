// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion vectors: each vector delivers the events of its completion queues on one processor.
 *
 * Operation: a completion queue with an event is put on the list of its vector. The bottom half
 * of the vector stands for the interrupt handler and calls the ULP.
 *
 * Ownership: a device owns its vectors.
 *
 * Concurrency: the bottom half of a vector runs on at most one processor at a time. After
 * mdl_vector_drop() has returned, the ULP is no longer called for that completion queue.
 *
 * Errors: -ENOMEM.
 */
#include <linux/slab.h>

#include "model.h"

/**
 * mdl_vector_count - count an interrupt
 * @v: completion vector
 *
 * Context: any.
 */
void mdl_vector_count(struct mdl_vector *v)
{
	mdl_count(v->dev, MDL_STAT_INTERRUPT);
	atomic_inc(&v->interrupts);
}

static void mdl_vector_work(struct work_struct *work)
{
	struct mdl_vector *v = container_of(work, struct mdl_vector, work);
	struct mdl_cq *cq;

	mdl_vector_count(v);
	spin_lock_irq(&v->lock);
	while ((cq = list_first_entry_or_null(&v->cqs, struct mdl_cq, vector_entry))) {
		list_del_init(&cq->vector_entry);
		spin_unlock_irq(&v->lock);
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		spin_lock_irq(&v->lock);
	}
	spin_unlock_irq(&v->lock);
}

/**
 * mdl_vector_raise - schedule the call of the ULP for a completion queue
 * @cq: completion queue
 *
 * Context: any.
 */
void mdl_vector_raise(struct mdl_cq *cq)
{
	struct mdl_vector *v = cq->vector;
	unsigned long flags;

	spin_lock_irqsave(&v->lock, flags);
	if (list_empty(&cq->vector_entry)) {
		list_add_tail(&cq->vector_entry, &v->cqs);
		queue_work_on(v->cpu, mdl_wq, &v->work);
	}
	spin_unlock_irqrestore(&v->lock, flags);
}

/**
 * mdl_vector_drop - stop the calls of the ULP for a completion queue
 * @cq: completion queue that raises no further event
 *
 * Context: process context, may sleep.
 */
void mdl_vector_drop(struct mdl_cq *cq)
{
	struct mdl_vector *v = cq->vector;

	spin_lock_irq(&v->lock);
	list_del_init(&cq->vector_entry);
	spin_unlock_irq(&v->lock);
	flush_work(&v->work);
}

/**
 * mdl_vectors_init - create the vectors of a device
 * @dev: device whose number of vectors is set
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mdl_vectors_init(struct mdl_dev *dev)
{
	int i, cpu = cpumask_first(cpu_online_mask);

	dev->vectors = kcalloc(dev->ib.num_comp_vectors, sizeof(*dev->vectors), GFP_KERNEL);
	if (!dev->vectors)
		return -ENOMEM;
	for (i = 0; i < dev->ib.num_comp_vectors; i++) {
		struct mdl_vector *v = &dev->vectors[i];

		spin_lock_init(&v->lock);
		INIT_LIST_HEAD(&v->cqs);
		INIT_WORK(&v->work, mdl_vector_work);
		v->dev = dev;
		v->cpu = cpu;
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
	}
	return 0;
}

/**
 * mdl_vectors_exit - free the vectors of a device
 * @dev: device without completion queues
 *
 * Context: process context, may sleep.
 */
void mdl_vectors_exit(struct mdl_dev *dev)
{
	kfree(dev->vectors);
}
