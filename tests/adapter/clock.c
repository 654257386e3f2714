// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a timed adapter: CLOCK_MONOTONIC without the time that the model itself
 * takes, and the interrupts that are due by it.
 *
 * Operation: a real adapter works in parallel with the processor, the model works on the
 * processor. The clock therefore stands still in a section, that is while a function of
 * the model runs. timing.c adds the duration of a request to this clock; the sum is the
 * time at which the completion becomes visible. An armed completion queue with a
 * completion has an interrupt time. One kernel timer expires at the earliest interrupt
 * time and calls the ULP. Each section stops the timer and restarts it at its end, because
 * the clock stands still in between.
 *
 * Ownership: the module owns timer and list. A completion queue is in the list while it
 * has an interrupt to come.
 *
 * Concurrency: one processor, which init checks. All data are used with interrupts
 * disabled. The ULP is called in the timer interrupt, outside of a section.
 *
 * Errors: -EINVAL on a machine with several processors.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>

#include "model.h"

/* An interrupt that comes so early is in time, ns: a second one would cost more. */
#define MDL_CLOCK_SLACK	1000
/*
 * The timer may expire so early if there is an interrupt anyway, ns: somewhat more than it
 * takes to stop the timer, and less than MDL_CLOCK_SLACK by the error of the times taken.
 */
#define MDL_CLOCK_RANGE	700
/* Sections that do nothing, to measure what a section takes besides. */
#define MDL_CLOCK_TRIES	64

bool mdl_timed;
module_param_named(timed, mdl_timed, bool, 0444);
MODULE_PARM_DESC(timed, "adapters take time; needs a machine with one processor");

static struct {
	struct hrtimer timer;
	struct list_head events;
	unsigned int depth;
	/* Time at which the outermost section began, ns of CLOCK_MONOTONIC. */
	u64 entered;
	/* Time that is taken out of the clock, ns. */
	u64 excluded;
	/* The same without what was charged to the processor. */
	u64 own;
	/* What the timer takes to be set, ns. */
	u64 cost;
	/* What a section takes outside of the two times that it reads, ns. */
	u64 edge;
	/* Whether the timer's function runs, which sets the timer when it ends. */
	bool expiring;
	/* Interrupts of the timer at which something was due. */
	u64 interrupts;
} mdl_clock;

/**
 * mdl_clock_now - return the time
 *
 * Context: a section, or interrupts disabled.
 * Return: ns.
 */
u64 mdl_clock_now(void)
{
	u64 now = mdl_clock.depth ? mdl_clock.entered : ktime_get_ns();

	return now - mdl_clock.excluded;
}

/**
 * mdl_clock_own - return for how long the model itself has worked
 *
 * Context: a section.
 * Return: ns.
 */
u64 mdl_clock_own(void)
{
	return mdl_clock.own + ktime_get_ns() - mdl_clock.entered;
}

/**
 * mdl_clock_interrupts - return how many interrupts of the timer were for an adapter
 *
 * Context: a section.
 * Return: number since the module was loaded.
 */
u64 mdl_clock_interrupts(void)
{
	return mdl_clock.interrupts;
}

/**
 * mdl_clock_enter - begin a section; mdl_enter()
 *
 * Context: any. Sections may be nested. Interrupts are disabled until its end.
 * Return: state of interrupts, for mdl_clock_leave().
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

/* Take the time since the last call out of the clock. */
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
	/* The timer cannot be stopped again while its function runs. */
	if (first == U64_MAX || mdl_clock.expiring)
		return;
	mdl_clock_exclude();
	expires = first + mdl_clock.excluded + mdl_clock.cost;
	hrtimer_start_range_ns(&mdl_clock.timer, ns_to_ktime(expires - MDL_CLOCK_RANGE),
			       MDL_CLOCK_RANGE, HRTIMER_MODE_ABS_HARD);
	mdl_clock.cost = mdl_clock_exclude();
}

/**
 * mdl_clock_leave - end a section; mdl_leave()
 * @flags: result of mdl_clock_enter()
 * @charge: time that the processor of a machine with this adapter takes here, ns
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
 * mdl_clock_event - say when a completion queue interrupts
 * @cq: completion queue
 * @due: time of this clock, or U64_MAX if it does not
 *
 * Context: a section, lock of the completion queue held.
 */
void mdl_clock_event(struct mdl_cq *cq, u64 due)
{
	cq->event_due = due;
	if (due == U64_MAX)
		list_del_init(&cq->event_entry);
	else if (list_empty(&cq->event_entry))
		list_add_tail(&cq->event_entry, &mdl_clock.events);
}

/* The completion queue whose interrupt is due first, or NULL if none is due. */
static struct mdl_cq *mdl_clock_due(void)
{
	u64 now = mdl_clock_now() + MDL_CLOCK_SLACK;
	struct mdl_cq *cq, *first = NULL;

	list_for_each_entry(cq, &mdl_clock.events, event_entry)
		if (cq->event_due <= now && (!first || cq->event_due < first->event_due))
			first = cq;
	return first;
}

/* The interrupt. */
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
		/* One interrupt is for all completion queues of a vector. */
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
	/* In its own interrupt the timer is cheaper to set. */
	mdl_clock.cost = cost;
	return HRTIMER_NORESTART;
}

/* How far the clock goes in a section that does nothing, ns. */
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
	pr_info("rdma-model: %llu ns of each section are outside of what it measures\n",
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
