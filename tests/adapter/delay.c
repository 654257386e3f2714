// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays of completions and of send queues.
 *
 * Operation: the caller passes the time at which a completion is due, in ns of CLOCK_MONOTONIC.
 * The completion queue holds the completion until then. When its timer expires, it writes all
 * due completions to the ring together. A timed device uses the clock of clock.c and no timer:
 * polling and the interrupt write the due completions. Only completions of the same work queue
 * keep their order. A held completion occupies no entry of the ring, but its work request still
 * occupies an entry of the work queue. A send queue has one timer, which wakes the engine at
 * the earliest requested time.
 *
 * Ownership: a completion queue owns as many struct mdl_held as it has entries. When all are in
 * use, all held completions become due.
 *
 * Concurrency: the lock of the completion queue protects the held completions. The lock of the
 * queue pair protects the timer of the send queue.
 *
 * Errors: -ENOMEM. A completion that finds the ring full fails its queue pair.
 */
#include <linux/slab.h>

#include "model.h"

static ktime_t *mdl_delay_last(const struct mdl_cqe *cqe)
{
	return &cqe->qp->cqe_due[!!cqe->rq];
}

static u64 mdl_delay_now(void)
{
	return mdl_timed ? mdl_clock_now() : ktime_get();
}

/* Write a held completion to the ring. */
static bool mdl_delay_write(struct mdl_cq *cq, struct mdl_held *held)
{
	lockdep_assert_held(&cq->lock);
	list_move(&held->entry, &cq->held_free);
	return mdl_cq_write(cq, &held->cqe);
}

/**
 * mdl_delay_due - write the completions that are due
 * @cq: completion queue
 *
 * Context: any, lock of the completion queue held.
 * Return: queue pair that the caller must fail, with a reference, or NULL.
 */
struct mdl_qp *mdl_delay_due(struct mdl_cq *cq)
{
	struct mdl_dev *dev = mdl_dev_of(cq->ib.device);
	ktime_t now = mdl_delay_now();
	struct mdl_held *held;
	struct mdl_qp *qp;
	int n = 0;

	lockdep_assert_held(&cq->lock);
	while ((held = list_first_entry_or_null(&cq->held, struct mdl_held, entry))) {
		if (ktime_after(held->due, now)) {
			if (!mdl_timed)
				hrtimer_start(&cq->held_timer, held->due, HRTIMER_MODE_ABS_SOFT);
			break;
		}
		qp = held->cqe.qp;
		/* A queue pair that is being destroyed need not fail. */
		if (!mdl_delay_write(cq, held) && refcount_inc_not_zero(&qp->refs)) {
			if (!mdl_timed)
				hrtimer_start(&cq->held_timer, now, HRTIMER_MODE_ABS_SOFT);
			return qp;
		}
		if (++n == 2 && mdl_is_nasty(dev, MDL_NASTY_MERGE))
			mdl_nasty_count(dev, MDL_NASTY_MERGE);
	}
	return NULL;
}

/**
 * mdl_delay_event - compute the interrupt time of a completion queue of a timed device
 * @cq: completion queue
 *
 * Moderation delays the interrupt until enough completions are due, but no longer than its
 * period. An interrupt that is already scheduled is never postponed.
 *
 * Context: section of the clock, lock of the completion queue held.
 */
void mdl_delay_event(struct mdl_cq *cq)
{
	u64 due, last = U64_MAX, first = cq->event_due;
	const struct mdl_held *held;
	u32 n = 0;

	lockdep_assert_held(&cq->lock);
	if (cq->arm == MDL_ARM_NONE)
		return;
	list_for_each_entry(held, &cq->held, entry) {
		if (cq->arm == MDL_ARM_SOLICITED && !held->cqe.solicited &&
		    held->cqe.wc.status == IB_WC_SUCCESS)
			continue;
		due = held->due + mdl_dev_of(cq->ib.device)->busy.timing.interrupt_ns;
		if (!n++)
			last = due + cq->period * NSEC_PER_USEC;
		if (!cq->period || n >= cq->count) {
			first = min(first, due);
			break;
		}
	}
	mdl_clock_event(cq, min(first, last));
}

static enum hrtimer_restart mdl_delay_cq_timer(struct hrtimer *timer)
{
	struct mdl_cq *cq = container_of(timer, struct mdl_cq, held_timer);
	unsigned long flags;
	struct mdl_qp *qp;

	spin_lock_irqsave(&cq->lock, flags);
	qp = mdl_delay_due(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (qp) {
		mdl_qp_fail(qp);
		mdl_qp_put(qp);
	}
	return HRTIMER_NORESTART;
}

static void mdl_delay_timer_init(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *))
{
#ifdef MDL_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer->function = function;
#endif
}

/**
 * mdl_delay_cq_init - prepare a completion queue to hold completions
 * @cq: completion queue
 * @cqe: number of entries of the completion queue
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mdl_delay_cq_init(struct mdl_cq *cq, u32 cqe)
{
	struct mdl_dev *dev = mdl_dev_of(cq->ib.device);
	u32 i;

	INIT_LIST_HEAD(&cq->held);
	INIT_LIST_HEAD(&cq->held_free);
	mdl_delay_timer_init(&cq->held_timer, mdl_delay_cq_timer);
	if (!mdl_timed && !mdl_is_nasty(dev, MDL_NASTY_DELAY) &&
	    !mdl_is_nasty(dev, MDL_NASTY_MERGE))
		return 0;
	cq->held_pool = kvcalloc(cqe, sizeof(*cq->held_pool), GFP_KERNEL);
	if (!cq->held_pool)
		return -ENOMEM;
	for (i = 0; i < cqe; i++)
		list_add_tail(&cq->held_pool[i].entry, &cq->held_free);
	return 0;
}

/**
 * mdl_delay_cq_exit - free the memory for held completions
 * @cq: completion queue that no queue pair uses
 *
 * Context: process context, may sleep.
 */
void mdl_delay_cq_exit(struct mdl_cq *cq)
{
	hrtimer_cancel(&cq->held_timer);
	kvfree(cq->held_pool);
}

/**
 * mdl_delay_cqe - hold a completion until it is due
 * @cq: completion queue
 * @cqe: completion
 * @due: time at which the completion is due, or 0 for at once
 *
 * A completion never becomes due before an earlier completion of the same work queue.
 *
 * Context: engine, lock of the completion queue held.
 * Return: true if it is held; otherwise the caller must write it now.
 */
bool mdl_delay_cqe(struct mdl_cq *cq, const struct mdl_cqe *cqe, ktime_t due)
{
	struct mdl_held *held, *after;
	ktime_t now;

	lockdep_assert_held(&cq->lock);
	if (!cq->held_pool || (!due && list_empty(&cq->held)))
		return false;
	now = mdl_delay_now();
	due = max3(due, now, *mdl_delay_last(cqe));
	if (due == now && list_empty(&cq->held))
		return false;
	held = list_first_entry_or_null(&cq->held_free, struct mdl_held, entry);
	if (!held) {
		/*
		 * Failures need no handling here: the ring is now full or broken, so the
		 * caller's own write fails, too.
		 */
		while ((held = list_first_entry_or_null(&cq->held, struct mdl_held, entry)))
			mdl_delay_write(cq, held);
		return false;
	}
	*mdl_delay_last(cqe) = due;
	held->due = due;
	held->cqe = *cqe;
	list_for_each_entry_reverse(after, &cq->held, entry)
		if (!ktime_after(after->due, due))
			break;
	if (after->entry.next != &cq->held)
		mdl_count(mdl_dev_of(cq->ib.device), MDL_STAT_PASSED);
	list_move(&held->entry, &after->entry);
	if (mdl_timed)
		mdl_delay_event(cq);
	else if (list_is_first(&held->entry, &cq->held))
		hrtimer_start(&cq->held_timer, due, HRTIMER_MODE_ABS_SOFT);
	return true;
}

/**
 * mdl_delay_cq_clean - drop the held completions of a queue pair
 * @cq: completion queue
 * @qp: queue pair that adds no further entries
 *
 * Context: any, lock of the completion queue held.
 */
void mdl_delay_cq_clean(struct mdl_cq *cq, struct mdl_qp *qp)
{
	struct mdl_held *held, *next;

	lockdep_assert_held(&cq->lock);
	list_for_each_entry_safe(held, next, &cq->held, entry) {
		if (held->cqe.qp != qp)
			continue;
		if (held->cqe.rq && held->cqe.rq != &qp->rq)
			atomic_inc(&held->cqe.rq->freed);
		list_move(&held->entry, &cq->held_free);
	}
}

static enum hrtimer_restart mdl_delay_qp_timer(struct hrtimer *timer)
{
	struct mdl_qp *qp = container_of(timer, struct mdl_qp, due_timer);

	/* No reference is needed: mdl_delay_qp_exit() waits for this function. */
	if (!READ_ONCE(qp->dying))
		mdl_engine_kick(qp);
	return HRTIMER_NORESTART;
}

/**
 * mdl_delay_qp_init - prepare the timer of a send queue
 * @qp: queue pair
 *
 * Context: process context.
 */
void mdl_delay_qp_init(struct mdl_qp *qp)
{
	mdl_delay_timer_init(&qp->due_timer, mdl_delay_qp_timer);
}

/**
 * mdl_delay_qp_exit - stop the timer of a send queue
 * @qp: queue pair that is being destroyed
 *
 * Context: process context, may sleep.
 */
void mdl_delay_qp_exit(struct mdl_qp *qp)
{
	hrtimer_cancel(&qp->due_timer);
}

/**
 * mdl_delay_qp - have the engine continue a send queue later
 * @qp: queue pair
 * @due: time, in ns of CLOCK_MONOTONIC
 *
 * Context: engine.
 */
void mdl_delay_qp(struct mdl_qp *qp, ktime_t due)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == IB_QPS_RTS && !qp->dying &&
	    (!hrtimer_is_queued(&qp->due_timer) ||
	     ktime_before(due, hrtimer_get_expires(&qp->due_timer))))
		hrtimer_start(&qp->due_timer, due, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&qp->lock, flags);
}
