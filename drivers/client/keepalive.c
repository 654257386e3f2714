// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keep-alives of a live session.
 *
 * Operation: keep-alives travel on queue 0, however many connections the session has, and
 * show that the target is alive. A queue other than 0 carries no frames while it has nothing
 * to do. If the client has awaited a reply or credits on such a queue for a keep-alive
 * interval, it probes the queue with keep-alives, which the target answers. If no frame
 * arrives for RNBD_KEEPALIVE_MISSED intervals, the queue fails, and with it the connection
 * of the session.
 *
 * Ownership: the work item belongs to the session, and ends with its connection.
 *
 * Concurrency: the work item reads the members of queues without their locks. The work item
 * is queued while the session is live, and stopped before the rings are destroyed. The work
 * item also finds queues that are being connected: no request is in flight there, so no frame
 * is expected.
 *
 * Errors: if the target is silent, core/ring_complete.c fails the ring of the queue, which ends
 * the connection of the session.
 */

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "../core/inject.h"
#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "client.h"
#include "inject.h"
#include "keepalive.h"
#include "queue.h"
#include "queue_alloc.h"
#include "session.h"

/* Test whether to probe a queue: queue 0 always, another one if a reply or credits are overdue. */
static bool rnbdc_queue_expects(const struct rnbdc_queue *q, unsigned long interval)
{
	const struct rnbd_ring *ring = &q->ring;

	/* On queue 0 keep-alives of the target are always expected. */
	if (!q->index)
		return true;
	return (READ_ONCE(q->in_flight) || READ_ONCE(q->stalled)) &&
	       (time_after(jiffies, READ_ONCE(ring->last_heard) + interval) ||
		time_after(jiffies, READ_ONCE(ring->last_sent) + interval));
}

/* Send keep-alives, and probe queues on which a frame has been awaited for an interval. */
static void rnbdc_keepalive(struct rnbdc_session *sess)
{
	u32 i, interval_ms = sess->grant.keepalive_ms;
	struct rnbdc_queue *q;

	for (i = 0; i < sess->nr_queues; i++) {
		q = sess->queues[i];
		rnbd_ring_keepalive(&q->ring, interval_ms,
				    rnbdc_queue_expects(q, msecs_to_jiffies(interval_ms)));
	}
}

/* Inject a fault: kill the queue pair of a queue, or of queue 0 if the queue is not connected. */
static noinline void rnbdc_inject_queue_kill(struct rnbdc_session *sess, u32 victim)
{
	struct rnbdc_queue *q = sess->queues[victim % sess->nr_queues];

	rnbdc_queue_kill(READ_ONCE(q->ready) ? q : sess->queues[0]);
}

static void rnbdc_keepalive_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, recovery.keepalive_work);
	u32 victim;

	if (READ_ONCE(sess->state) != RNBDC_SESS_LIVE)
		return;
	if (rnbd_inject(&rnbdc_inject_kill_queue, &victim))
		rnbdc_inject_queue_kill(sess, victim);
	rnbdc_keepalive(sess);
	rnbdc_keepalive_start(sess);
}

/**
 * rnbdc_keepalive_init - initialise the work item
 * @sess: session that is being allocated
 *
 * Context: any.
 */
void rnbdc_keepalive_init(struct rnbdc_session *sess)
{
	INIT_DELAYED_WORK(&sess->recovery.keepalive_work, rnbdc_keepalive_work);
}

/**
 * rnbdc_keepalive_start - queue the next keep-alive, half an interval from now
 * @sess: live session
 *
 * Context: process context.
 */
void rnbdc_keepalive_start(struct rnbdc_session *sess)
{
	queue_delayed_work(rnbdc_timer_wq, &sess->recovery.keepalive_work,
			   msecs_to_jiffies(sess->grant.keepalive_ms) / 2);
}

/**
 * rnbdc_keepalive_stop - stop sending keep-alives
 * @sess: session that is no longer live
 *
 * Context: process context, may sleep.
 */
void rnbdc_keepalive_stop(struct rnbdc_session *sess)
{
	cancel_delayed_work_sync(&sess->recovery.keepalive_work);
}
