// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a timed adapter: CLOCK_MONOTONIC without the time that the model itself takes.
 * This file also raises the interrupts of timed adapters.
 *
 * Operation: a real adapter works in parallel with the processor, but the model works on the
 * processor. The clock therefore stands still in a section, that is, while a function of the
 * model runs. timing.c adds the duration of a request to this clock; the sum is the time at
 * which the completion becomes visible. An armed completion queue that holds a completion has
 * an interrupt time. A kernel timer expires at the earliest interrupt time and calls the ULP.
 * Each section stops the timer and restarts it at its end, because the expiry time in
 * CLOCK_MONOTONIC moves while the clock stands still.
 *
 * Ownership: the module owns the timer and the list of completion queues. A completion queue is
 * in the list while it has an interrupt time.
 *
 * Concurrency: the machine has one processor, which mdl_clock_init() checks. All data are
 * accessed with interrupts disabled. The timer interrupt calls the ULP outside of a section.
 *
 * Errors: -EINVAL on a machine with several processors.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>

#include "model.h"

/*
 * Time by which an interrupt may be delivered early, ns. To deliver it on time would need one more
 * timer interrupt, which would cost more time.
 */
#define MDL_CLOCK_SLACK	1000
/*
 * Time by which the timer may expire early when another timer interrupt occurs, ns. This is more
 * than the time that it takes to stop the timer. The difference to MDL_CLOCK_SLACK covers the error
 * of the measured mdl_clock.cost.
 */
#define MDL_CLOCK_RANGE	700
/* Number of empty sections that mdl_clock_edge() measures. */
#define MDL_CLOCK_TRIES	64

bool mdl_timed;
module_param_named(timed, mdl_timed, bool, 0444);
MODULE_PARM_DESC(timed, "adapters take time; needs a machine with one processor");

static struct {
	struct hrtimer timer;
	struct list_head events;
	unsigned int depth;
	/*
	 * Start of the outermost section, or of its part that is not excluded yet;
	 * CLOCK_MONOTONIC, ns.
	 */
	u64 entered;
	/* Difference between CLOCK_MONOTONIC and this clock, ns. */
	u64 excluded;
	/*
	 * Time for which the model has worked, ns. In contrast to @excluded, mdl_clock_leave() does
	 * not subtract its charges from it.
	 */
	u64 own;
	/* Time that the last start of the timer took, ns. */
	u64 cost;
	/* Time that a section takes before its first and after its last reading of the time, ns. */
	u64 edge;
	/* Whether mdl_clock_expired() runs, which sets the timer at its end. */
	bool expiring;
	/* Number of timer interrupts at which an interrupt of an adapter was due. */
	u64 interrupts;
} mdl_clock;

/**
 * mdl_clock_now - return the time of this clock
 *
 * Context: section of the clock, or interrupts disabled.
 * Return: ns.
 */
u64 mdl_clock_now(void)
{
	u64 now = mdl_clock.depth ? mdl_clock.entered : ktime_get_ns();

	return now - mdl_clock.excluded;
}

/**
 * mdl_clock_own - return the time for which the model itself has worked
 *
 * Context: section of the clock.
 * Return: ns.
 */
u64 mdl_clock_own(void)
{
	return mdl_clock.own + ktime_get_ns() - mdl_clock.entered;
}

/**
 * mdl_clock_interrupts - return the number of timer interrupts for adapters
 *
 * Context: section of the clock.
 * Return: number since the module was loaded.
 */
u64 mdl_clock_interrupts(void)
{
	return mdl_clock.interrupts;
}

/**
 * mdl_clock_enter - begin a section; called by mdl_enter()
 *
 * Context: any. Sections may be nested. Interrupts are disabled until the section ends.
 * Return: interrupt state, for mdl_clock_leave().
 */
unsigned long mdl_clock_enter(void)
{
	unsigned long flags;

	local_irq_save(flags);
	if (!mdl_clock.depth++) {
		mdl_clock.entered = ktime_get_ns();
		hrtimer_try_to_cancel(&mdl_clock.timer);
	}
	return flags;
}

/* Exclude the time since @entered from the clock. */
static u64 mdl_clock_exclude(void)
{
	u64 now = ktime_get_ns(), took = now - mdl_clock.entered;

	mdl_clock.entered = now;
	mdl_clock.excluded += took;
	mdl_clock.own += took;
	return took;
}

static void mdl_clock_set_timer(void)
{
	u64 expires, first = U64_MAX;
	struct mdl_cq *cq;

	list_for_each_entry(cq, &mdl_clock.events, event_entry)
		first = min(first, cq->event_due);
	/* mdl_clock_expired() sets the timer at its end. */
	if (first == U64_MAX || mdl_clock.expiring)
		return;
	mdl_clock_exclude();
	expires = first + mdl_clock.excluded + mdl_clock.cost;
	hrtimer_start_range_ns(&mdl_clock.timer, ns_to_ktime(expires - MDL_CLOCK_RANGE),
			       MDL_CLOCK_RANGE, HRTIMER_MODE_ABS_HARD);
	mdl_clock.cost = mdl_clock_exclude();
}

/**
 * mdl_clock_leave - end a section; called by mdl_leave()
 * @flags: return value of mdl_clock_enter()
 * @charge: time that the processor would spend here with a real adapter, ns; the clock advances
 *	by it
 *
 * Context: any.
 */
void mdl_clock_leave(unsigned long flags, u32 charge)
{
	mdl_clock.excluded -= charge;
	if (mdl_clock.depth == 1) {
		mdl_clock_set_timer();
		mdl_clock_exclude();
		mdl_clock.excluded += mdl_clock.edge;
		mdl_clock.own += mdl_clock.edge;
	}
	mdl_clock.depth--;
	local_irq_restore(flags);
}

/**
 * mdl_clock_event - set the interrupt time of a completion queue
 * @cq: completion queue
 * @due: time of this clock in ns, or U64_MAX for no interrupt
 *
 * Context: section of the clock (see the head comment), lock of the completion queue held.
 */
void mdl_clock_event(struct mdl_cq *cq, u64 due)
{
	cq->event_due = due;
	if (due == U64_MAX)
		list_del_init(&cq->event_entry);
	else if (list_empty(&cq->event_entry))
		list_add_tail(&cq->event_entry, &mdl_clock.events);
}

/* Return the completion queue with the earliest interrupt that is due, or NULL. */
static struct mdl_cq *mdl_clock_due(void)
{
	u64 now = mdl_clock_now() + MDL_CLOCK_SLACK;
	struct mdl_cq *cq, *first = NULL;

	list_for_each_entry(cq, &mdl_clock.events, event_entry)
		if (cq->event_due <= now && (!first || cq->event_due < first->event_due))
			first = cq;
	return first;
}

/* Deliver the due interrupts of all adapters: this timer stands for their interrupt lines. */
static enum hrtimer_restart mdl_clock_expired(struct hrtimer *timer)
{
	struct mdl_vector *last = NULL;
	u64 cost = mdl_clock.cost;
	unsigned long flags;
	struct mdl_cq *cq;

	flags = mdl_clock_enter();
	mdl_clock.expiring = true;
	mdl_clock.interrupts += !!mdl_clock_due();
	while ((cq = mdl_clock_due())) {
		/* Count one interrupt for consecutive completion queues of the same vector. */
		if (cq->vector != last)
			mdl_vector_count(cq->vector);
		last = cq->vector;
		mdl_cq_interrupt(cq);
		mdl_clock_leave(flags, 0);
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		flags = mdl_clock_enter();
	}
	mdl_clock.expiring = false;
	mdl_clock_leave(flags, 0);
	/* Setting the timer in its own interrupt costs less than usual: keep the previous value. */
	mdl_clock.cost = cost;
	return HRTIMER_NORESTART;
}

/* Measure by how much the clock advances in an empty section, ns. */
static u64 mdl_clock_edge(void)
{
	u64 before, none, some;
	unsigned long flags;
	int i;

	local_irq_save(flags);
	before = mdl_clock_now();
	none = mdl_clock_now() - before;
	before = mdl_clock_now();
	for (i = 0; i < MDL_CLOCK_TRIES; i++)
		mdl_leave(mdl_enter());
	some = mdl_clock_now() - before;
	local_irq_restore(flags);
	return some > none ? (some - none) / MDL_CLOCK_TRIES : 0;
}

/**
 * mdl_clock_init - prepare the clock
 *
 * Context: process context.
 * Return: 0 or -EINVAL.
 */
int mdl_clock_init(void)
{
	INIT_LIST_HEAD(&mdl_clock.events);
	if (!mdl_timed)
		return 0;
	if (num_online_cpus() > 1) {
		pr_err("rdma-model: timed=Y needs a machine with one processor\n");
		return -EINVAL;
	}
#ifdef MDL_HAVE_HRTIMER_SETUP
	hrtimer_setup(&mdl_clock.timer, mdl_clock_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&mdl_clock.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	mdl_clock.timer.function = mdl_clock_expired;
#endif
	mdl_clock.edge = mdl_clock_edge();
	pr_info("rdma-model: %llu ns of each timed section are not measured\n",
		mdl_clock.edge);
	return 0;
}

/**
 * mdl_clock_exit - stop the clock
 *
 * Context: process context, may sleep; no device exists.
 */
void mdl_clock_exit(void)
{
	if (mdl_timed)
		hrtimer_cancel(&mdl_clock.timer);
}
