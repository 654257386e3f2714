// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalled hardware queues: hardware queues that are stopped at a high watermark, and their
 * restart.
 *
 * Operation
 *
 * The disks of a session share its queues and its pool. A hardware queue that lacks a
 * credit, a send slot, a wire tag or send-queue entries is stopped (high watermark), and waits
 * in a list of its queue, first in, first out. Completions of the queue start the hardware
 * queue again when enough of these resources are free (low watermark), which is always so when
 * nothing is in flight on the queue.
 *
 * A hardware queue for which the session has too little pool space is stopped and waits in
 * a list of the session (waiter.c). stall_work starts it, because the space can come from
 * another queue. When the pool grows, stall_work also starts hardware queues that were
 * stopped because their disks held their share. Their requests note the lack of space again if
 * the growth does not suffice.
 *
 * If a hardware queue holds no space but its disk already holds its share, no completion of the
 * hardware queue would start it again; rnbdc_hwq.lacks marks it. When the disk has freed space,
 * and at each tick, stall_work starts a marked hardware queue if the share of its disk allows
 * that. Until then the hardware queues of the disk that hold space take no more. A marked
 * hardware queue does not wait in the list of the session, because a disk whose storage hangs
 * would block the other disks there.
 *
 * Ownership: The lists of stalled hardware queues hold no references. Disks leave the
 * lists before they are freed.
 *
 * Concurrency: The lock of the queue's ring protects the lists. Hardware queues are started
 * after the locks are dropped, under RCU.
 *
 * Errors: none.
 */

#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "../core/ring.h"
#include "../core/ring_resize.h"
#include "cache.h"
#include "client.h"
#include "disk.h"
#include "queue.h"
#include "session.h"
#include "share.h"
#include "stall.h"
#include "trace.h"

/* Least number of jiffies between two calls of rnbdc_space_tick(). */
#define RNBDC_STALL_TICK	(HZ / 10)

/* Clear rnbdc_hwq.lacks: the hardware queue has space or is about to try again. */
static void rnbdc_hwq_end_lack(struct rnbdc_hwq *hwq)
{
	if (likely(!hwq->lacks))
		return;
	hwq->lacks = 0;
	atomic_dec(&hwq->disk->nr_lacking);
	atomic_dec(&hwq->queue->sess->nr_lacking);
}

/* Reset the state of a hardware queue that has left the list of stalled ones. */
static void rnbdc_hwq_unlisted(struct rnbdc_hwq *hwq)
{
	hwq->stalled = false;
	hwq->refused_units = 0;
	hwq->refused_tags = 0;
	rnbdc_hwq_end_lack(hwq);
}

/* Remove a hardware queue from the list of stalled ones, if it is there. */
static void rnbdc_unstall(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;
	struct rnbdc_hwq **at;

	lockdep_assert_held(&q->ring.lock);

	for (at = &q->stalled; *at && *at != hwq; at = &(*at)->next_stalled)
		;
	if (!*at)
		return;
	*at = hwq->next_stalled;
	if (!*at)
		q->stalled_tail = at;
	rnbdc_hwq_unlisted(hwq);
}

/**
 * rnbdc_hwq_use - begin or end the use of a struct rnbdc_hwq for new requests
 * @hwq: hardware queue; can still have requests in flight when the use ends
 * @use: true if requests are submitted through @hwq from now on, false if no longer
 *
 * After the use has ended, a completion handler can still start the hardware queue, until
 * the caller has waited for an RCU grace period.
 *
 * Context: process context; takes the lock of the queue's ring.
 */
void rnbdc_hwq_use(struct rnbdc_hwq *hwq, bool use)
{
	struct rnbdc_queue *q = hwq->queue;

	spin_lock_irq(&q->ring.lock);
	if (hwq->in_use != use && !hwq->tags)
		q->nr_idle += use ? 1 : -1;
	hwq->in_use = use;
	if (!use)
		rnbdc_unstall(hwq);
	spin_unlock_irq(&q->ring.lock);
	if (!use)
		rnbdc_space_forget(&hwq->waiter);
}

/* Count and trace a stop of a hardware queue. */
static void rnbdc_note_stall(struct rnbdc_queue *q, enum rnbdc_stall stall)
{
	switch (stall) {
	case RNBDC_STALL_CREDIT:
		q->stats.credit_stalls++;
		break;
	case RNBDC_STALL_SQ:
		q->stats.sq_stalls++;
		break;
	case RNBDC_STALL_POOL:
	case RNBDC_STALL_SHARE:
		q->stats.pool_stalls++;
		break;
	}
	trace_rnbdc_stop(q, stall);
}

/**
 * rnbdc_hwq_stall - stop a hardware queue until completions or stall_work start it again
 * @hwq: hardware queue
 * @stall: lacking resource; not RNBDC_STALL_POOL
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_stall(struct rnbdc_hwq *hwq, enum rnbdc_stall stall)
{
	struct rnbdc_queue *q = hwq->queue;

	lockdep_assert_held(&q->ring.lock);

	/* The route has changed: the block layer dispatches the request again on the new route. */
	if (unlikely(!hwq->in_use))
		return;
	rnbdc_note_stall(q, stall);
	if (!hwq->stalled) {
		hwq->stalled = true;
		hwq->next_stalled = NULL;
		*q->stalled_tail = hwq;
		q->stalled_tail = &hwq->next_stalled;
	}
	blk_mq_stop_hw_queue(hwq->hctx);
}

/**
 * rnbdc_hwq_wait - stop a hardware queue until the session has space for it
 * @hwq: hardware queue
 * @units: units that its request needs
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_wait(struct rnbdc_hwq *hwq, u32 units)
{
	lockdep_assert_held(&hwq->queue->ring.lock);

	if (unlikely(!hwq->in_use))
		return;
	rnbdc_note_stall(hwq->queue, RNBDC_STALL_POOL);
	/* Stop first: stall_work can start the hardware queue as soon as it is on the list. */
	blk_mq_stop_hw_queue(hwq->hctx);
	rnbdc_space_wait(&hwq->waiter, units, hwq->units ? 0 : rnbdc_spare_units(hwq, units));
}

/* Queue stall_work, which starts hardware queues, to run after @delay jiffies. */
static void rnbdc_stall_queue_work(struct rnbdc_session *sess, unsigned long delay)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->space.lock, flags);
	if (sess->stall_open && delay)
		queue_delayed_work(rnbdc_timer_wq, &sess->stall_work, delay);
	else if (sess->stall_open)
		mod_delayed_work(rnbdc_timer_wq, &sess->stall_work, 0);
	spin_unlock_irqrestore(&sess->space.lock, flags);
}

/**
 * rnbdc_hwq_refused - stop a hardware queue because its disk may take no more pool space
 * @hwq: hardware queue for which rnbdc_may_take_units() has just returned false
 * @units: units that its request needs
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_refused(struct rnbdc_hwq *hwq, u32 units)
{
	struct rnbdc_session *sess = hwq->queue->sess;

	lockdep_assert_held(&hwq->queue->ring.lock);

	if (!rnbdc_disk_units(hwq->disk)) {
		rnbdc_hwq_wait(hwq, units);
		return;
	}
	/* Pairs with rnbdc_space_add_segment(). */
	hwq->refused_units = smp_load_acquire(&sess->space.units);
	rnbdc_space_lack(&sess->space);
	if (rnbdc_may_take_units(hwq, units)) {
		/* The disk may take the units by now, and no later event would start @hwq. */
		hwq->refused_units = 0;
		rnbdc_stall_queue_work(sess, 0);
	}
	if (!hwq->units && hwq->in_use) {
		/*
		 * Leave the list of waiters: stall_work tests @hwq at each tick, and when the disk
		 * frees space.
		 */
		if (READ_ONCE(hwq->waiter.turn) || READ_ONCE(hwq->waiter.waiting))
			rnbdc_space_forget(&hwq->waiter);
		if (!hwq->lacks) {
			atomic_inc(&hwq->disk->nr_lacking);
			atomic_inc(&sess->nr_lacking);
		}
		hwq->lacks = units;
		rnbdc_stall_queue_work(sess, RNBDC_STALL_TICK);
	}
	rnbdc_hwq_stall(hwq, RNBDC_STALL_SHARE);
}

/**
 * rnbdc_hwq_served - note that a hardware queue has allocated the pool space that it lacked
 * @hwq: hardware queue
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_served(struct rnbdc_hwq *hwq)
{
	rnbdc_hwq_end_lack(hwq);
}

/**
 * rnbdc_hwq_freed - queue stall_work if a hardware queue of a disk has rnbdc_hwq.lacks set
 * @hwq: hardware queue of the disk that has freed space
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_hwq_freed(struct rnbdc_hwq *hwq)
{
	if (unlikely(atomic_read(&hwq->disk->nr_lacking)))
		rnbdc_stall_queue_work(hwq->queue->sess, 0);
}

/**
 * rnbdc_disk_forget_waits - end the waits of the hardware queues of a disk for space
 * @disk: disk whose queues are quiesced; the caller starts them when it unquiesces them
 *
 * Other disks need not wait behind a disk that cannot use the space now.
 *
 * Context: process context.
 */
void rnbdc_disk_forget_waits(struct rnbdc_disk *disk)
{
	struct rnbdc_hwq *hwq = NULL;

	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		rnbdc_space_forget(&hwq->waiter);
}

static void rnbdc_start_waiter(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;

	spin_lock_irq(&q->ring.lock);
	q->stats.queue_starts++;
	trace_rnbdc_start(q, -1);
	spin_unlock_irq(&q->ring.lock);
	blk_mq_start_stopped_hw_queue(hwq->hctx, true);
}

/*
 * Start those stalled hardware queues of a queue that have reached their low watermarks. If the
 * pool has grown, or the disk has freed space on another queue, no completion of this queue
 * would start them while storage hangs.
 */
static void rnbdc_stall_restart(struct rnbdc_queue *q)
{
	struct rnbdc_hwq *start;

	if (likely(!READ_ONCE(q->stalled)))
		return;
	spin_lock_irq(&q->ring.lock);
	start = rnbdc_restart_hw_queues(q);
	spin_unlock_irq(&q->ring.lock);
	while (start) {
		struct rnbdc_hwq *hwq = start;

		start = hwq->next_start;
		blk_mq_start_stopped_hw_queue(hwq->hctx, true);
	}
}

/* Collect the unused space of all queues. Start hardware queues with a turn, and stalled ones. */
static void rnbdc_stall_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, stall_work);
	struct rnbdc_waiter *waiter;
	u32 i;

	rnbdc_space_collect(&sess->space);
	if (time_after_eq(jiffies, sess->stall_tick + RNBDC_STALL_TICK)) {
		sess->stall_tick = jiffies;
		rnbdc_space_tick(&sess->space);
	}
	rcu_read_lock();
	while ((waiter = rnbdc_space_next_turn(&sess->space)))
		rnbdc_start_waiter(container_of(waiter, struct rnbdc_hwq, waiter));
	for (i = 0; i < sess->nr_queues; i++)
		rnbdc_stall_restart(sess->queues[i]);
	rcu_read_unlock();
	if (READ_ONCE(sess->space.flags) & (RNBDC_SPACE_WAITERS | RNBDC_SPACE_TURNS) ||
	    atomic_read(&sess->nr_lacking))
		queue_delayed_work(rnbdc_timer_wq, &sess->stall_work, RNBDC_STALL_TICK);
}

/**
 * rnbdc_stall_lacks - test whether hardware queues are stopped at the share of their disk
 * @sess: session
 *
 * A request notes its lack of space only once (rnbdc_space_lack()), and no other request
 * does so while the storage of its disk hangs. This test finds the lack after the note was
 * cleared.
 *
 * Context: process context; takes the lock of each queue's ring.
 * Return: true if a stalled hardware queue was refused space when the pool had its present size.
 */
bool rnbdc_stall_lacks(struct rnbdc_session *sess)
{
	u32 i, units = READ_ONCE(sess->space.units);
	const struct rnbdc_hwq *hwq;
	bool lacks = false;

	for (i = 0; i < sess->nr_queues && !lacks; i++) {
		struct rnbdc_queue *q = sess->queues[i];

		spin_lock_irq(&q->ring.lock);
		for (hwq = q->stalled; hwq && !lacks; hwq = hwq->next_stalled)
			lacks = hwq->refused_units == units;
		spin_unlock_irq(&q->ring.lock);
	}
	return lacks;
}

static void rnbdc_stall_kick(struct rnbdc_space *space)
{
	struct rnbdc_session *sess = container_of(space, struct rnbdc_session, space);

	if (sess->stall_open)
		mod_delayed_work(rnbdc_timer_wq, &sess->stall_work, 0);
	if (sess->lease_open)
		mod_delayed_work(rnbdc_timer_wq, &sess->lease.lease_work, 0);
}

static void rnbdc_stall_set_open(struct rnbdc_session *sess, bool open)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->space.lock, flags);
	sess->stall_open = open;
	spin_unlock_irqrestore(&sess->space.lock, flags);
}

/**
 * rnbdc_stall_init - initialise stall_work and the space of a session
 * @sess: session that is being allocated
 *
 * Context: any.
 */
void rnbdc_stall_init(struct rnbdc_session *sess)
{
	INIT_DELAYED_WORK(&sess->stall_work, rnbdc_stall_work);
	rnbdc_space_init(&sess->space, rnbdc_stall_kick);
}

/**
 * rnbdc_stall_start - allow stall_work to run
 * @sess: session whose pool is open
 *
 * Context: process context.
 */
void rnbdc_stall_start(struct rnbdc_session *sess)
{
	rnbdc_stall_set_open(sess, true);
}

/**
 * rnbdc_stall_stop - stop stall_work and prevent it from running
 * @sess: session whose queues are drained and not ready for requests
 *
 * The tables of the pool are about to be cleared. Disks can be added and removed until
 * rnbdc_stall_start(), but they cannot queue stall_work.
 *
 * Context: process context, may sleep; not rnbdc_timer_wq.
 */
void rnbdc_stall_stop(struct rnbdc_session *sess)
{
	rnbdc_stall_set_open(sess, false);
	cancel_delayed_work_sync(&sess->stall_work);
}

/**
 * rnbdc_clear_stalled - empty the list of stalled hardware queues, and end waits for space
 * @q: queue that was just closed for requests; recovery starts the hardware queues
 *
 * Context: any; the lock of the queue's ring held.
 */
void rnbdc_clear_stalled(struct rnbdc_queue *q)
{
	struct rnbdc_hwq *hwq;

	lockdep_assert_held(&q->ring.lock);

	for (hwq = q->stalled; hwq; hwq = hwq->next_stalled)
		rnbdc_hwq_unlisted(hwq);
	q->stalled = NULL;
	q->stalled_tail = &q->stalled;
	rnbdc_space_forget_all(&q->cache);
}

/* Test the low watermarks of credits, tags and send slots that apply to a queue as a whole. */
static bool rnbdc_above_low_watermark(const struct rnbdc_queue *q)
{
	const struct rnbd_ring *ring = &q->ring;

	return ring->out.credits >= max(ring->out.slots / 4, 2) && q->nr_free_tags &&
	       ring->send_free >= max(ring->nr_send / 4, 2);
}

/**
 * rnbdc_restart_hw_queues - take hardware queues that reached low watermarks off the list
 * @q: queue
 *
 * Context: any, under RCU or in a completion handler of @q; ring.lock held.
 * Return: hardware queues that the caller must start after it has dropped the lock,
 * linked by rnbdc_hwq.next_start in the order in which they stalled; NULL if none.
 */
struct rnbdc_hwq *rnbdc_restart_hw_queues(struct rnbdc_queue *q)
{
	struct rnbdc_hwq *first = NULL, **last = &first, **at = &q->stalled, *hwq;
	u32 budget;

	/* Do not use the tables of the pool while the queue is closed: teardown can clear them. */
	if (unlikely(!q->ready))
		return NULL;
	rnbdc_cache_restart(&q->cache);
	if (likely(!q->stalled) || !q->ring.live || !rnbdc_above_low_watermark(q))
		return NULL;
	/* Start at most one per free tag, but all if no request in flight would start the rest. */
	budget = q->in_flight ? q->nr_free_tags : U32_MAX;
	while (budget && (hwq = *at)) {
		if (!rnbdc_may_start(hwq)) {
			/* Note the lack of tags again: while storage hangs, no request does so. */
			if (hwq->refused_tags == q->nr_tags)
				rnbd_ring_short_of_depth(&q->ring);
			at = &hwq->next_stalled;
			continue;
		}
		*at = hwq->next_stalled;
		rnbdc_hwq_unlisted(hwq);
		hwq->next_start = NULL;
		*last = hwq;
		last = &hwq->next_start;
		budget--;
		q->stats.queue_starts++;
		trace_rnbdc_start(q, -1);
	}
	if (!*at)
		q->stalled_tail = at;
	return first;
}
