// SPDX-License-Identifier: GPL-2.0-only
/*
 * Further connections of a live session: made one by one while I/O runs.
 *
 * Operation: a session is live as soon as queue 0 is connected. further_work then
 * connects the other queues, one after the other. Until such a queue is connected, queue 0 also
 * carries the requests of the hardware queues that belong to the other queue (route.c). If a
 * queue cannot be connected, further_work retries this queue with growing pauses, as long as
 * the session is live. So a target that cannot serve all connections of all clients still
 * serves some of each client.
 *
 * Ownership: further_work owns the connection of a queue until rnbdc_queue.joined is set.
 * After that the session owns the connection, and the loss of any connection of the session
 * ends all its connections.
 *
 * Concurrency: further_work is queued only by rnbdc_further_start() and by itself.
 * rnbdc_further_stop() ends it before the session is torn down, and is called without
 * recovery.lock, which further_work takes. The lock of the session protects
 * rnbdc_queue.joined, so that a failure of a queue is not missed: if the queue has joined, the
 * failure ends the connection of the session; otherwise further_work notices the failure.
 *
 * Errors: sysfs shows the latest failure. Repeated failures are logged once per queue, and
 * the first success after them is logged, too.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "backoff.h"
#include "client.h"
#include "connect.h"
#include "disk.h"
#include "errmsg.h"
#include "further.h"
#include "queue.h"
#include "queue_alloc.h"
#include "route.h"
#include "session.h"
#include "state.h"
#include "submit.h"

/* Failures in a row of a queue at which a failure is logged; fewer are normal under load. */
#define RNBDC_FURTHER_FAILURES	3
/* Least number of jiffies between two runs of the work item. */
#define RNBDC_FURTHER_PERIOD	((long)HZ / 10)
/* Longest time in jiffies that an attach waits until each queue was tried once. */
#define RNBDC_FURTHER_WAIT	(2 * HZ)

/* Get the number of queues to connect, queue 0 included; a reconnect can reduce the number. */
static u32 rnbdc_nr_further(const struct rnbdc_session *sess)
{
	return min(sess->nr_queues, sess->grant.nr_queues);
}

/* Record an error for sysfs. @text is NULL if all queues are connected. */
static void rnbdc_further_note(struct rnbdc_session *sess, const char *text)
{
	spin_lock_irq(&sess->lock);
	strscpy(sess->further_error, text ?: "");
	spin_unlock_irq(&sess->lock);
}

/* Pass a connection to the session. Returns false if the connection has already failed. */
static bool rnbdc_further_joined(struct rnbdc_queue *q)
{
	bool ok;

	spin_lock_irq(&q->sess->lock);
	/* The handler of a later failure takes this lock and finds the queue joined. */
	ok = READ_ONCE(q->ring.live);
	q->joined = ok;
	spin_unlock_irq(&q->sess->lock);
	return ok;
}

/*
 * Let the hardware queues that belong to @q use it, now that it has joined. Returns false if the
 * session was lost: the teardown of the session then also ends the connection of @q.
 */
static bool rnbdc_further_open(struct rnbdc_queue *q)
{
	struct rnbdc_session *sess = q->sess;
	struct rnbdc_disk *disk = NULL;
	bool live, changed = false;

	mutex_lock(&sess->recovery.lock);
	live = READ_ONCE(sess->state) == RNBDC_SESS_LIVE;
	if (live) {
		rnbdc_queue_ready(q, true);
		WRITE_ONCE(sess->nr_connected, sess->nr_connected + 1);
		while ((disk = rnbdc_next_disk(sess, disk)))
			changed |= rnbdc_disk_route(disk);
	}
	mutex_unlock(&sess->recovery.lock);
	if (!changed)
		return live;
	/*
	 * A task that was in queue_rq has possibly added a request to the open frame of queue 0.
	 * Send the frame: the later requests, which would send it, go to the new queue.
	 */
	synchronize_rcu();
	rnbdc_queue_send_open(sess->queues[0]);
	return live;
}

static void rnbdc_further_failed(struct rnbdc_queue *q, const char *text)
{
	struct rnbdc_session *sess = q->sess;

	q->failures++;
	q->next_try = jiffies + rnbdc_pause(q->failures, RNBDC_PAUSE_FURTHER_MS, q->retry_ms,
					    q->timeouts);
	rnbdc_further_note(sess, text);
	pr_debug("%s: queue %u, attempt %u: %s\n", sess->opt.addr, q->index, q->failures, text);
	if (q->failures < RNBDC_FURTHER_FAILURES || q->warned)
		return;
	q->warned = true;
	pr_warn("%s: connection %u of %u cannot be established, the session uses %u and retries: %s\n",
		sess->opt.addr, q->index + 1, sess->nr_queues, sess->nr_connected, text);
}

/* Try to connect a queue. */
static void rnbdc_further_try(struct rnbdc_queue *q)
{
	struct rnbdc_session *sess = q->sess;
	struct rnbdc_errmsg errmsg = { };
	int ret;

	ret = rnbdc_connect_further(q, &errmsg);
	if (!ret && !rnbdc_further_joined(q)) {
		rnbdc_errmsg_set(&errmsg, "connection lost");
		ret = -ECONNRESET;
	}
	if (ret) {
		rnbdc_disconnect_further(q);
		/* If the session is lost, report nothing: recovery makes all connections again. */
		if (READ_ONCE(sess->state) == RNBDC_SESS_LIVE)
			rnbdc_further_failed(q, errmsg.text[0] ? errmsg.text : "no memory");
		return;
	}
	if (!rnbdc_further_open(q))
		return;
	q->failures = 0;
	if (q->warned)
		pr_info("%s: connection %u of %u is established, the session uses %u\n",
			sess->opt.addr, q->index + 1, sess->nr_queues, sess->nr_connected);
	q->warned = false;
}

/* Queue the next run if a queue is not connected, even if no disk needs the session now. */
static void rnbdc_further_schedule(struct rnbdc_session *sess)
{
	long wait = MAX_JIFFY_OFFSET;
	bool missing = false;
	u32 i;

	for (i = 1; i < rnbdc_nr_further(sess); i++) {
		struct rnbdc_queue *q = sess->queues[i];

		if (q->joined)
			continue;
		missing = true;
		wait = min(wait, (long)(q->next_try - jiffies));
	}
	if (missing)
		queue_delayed_work(rnbdc_attach_wq, &sess->recovery.further_work,
				   max(wait, RNBDC_FURTHER_PERIOD));
	else
		rnbdc_further_note(sess, NULL);
}

static bool rnbdc_further_wanted(struct rnbdc_session *sess)
{
	return READ_ONCE(sess->state) == RNBDC_SESS_LIVE && !rnbdc_session_ending(sess);
}

static void rnbdc_further_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work), struct rnbdc_session,
						  recovery.further_work);
	unsigned int noio = memalloc_noio_save();
	u32 i;

	for (i = 1; i < rnbdc_nr_further(sess) && rnbdc_further_wanted(sess); i++) {
		struct rnbdc_queue *q = sess->queues[i];

		if (!q->joined && time_after_eq(jiffies, q->next_try))
			rnbdc_further_try(q);
	}
	WRITE_ONCE(sess->recovery.further_tried, true);
	wake_up_all(&sess->wait);
	if (READ_ONCE(sess->state) == RNBDC_SESS_LIVE)
		rnbdc_further_schedule(sess);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_further_init - initialise the work item
 * @sess: session that is being allocated
 *
 * Context: any.
 */
void rnbdc_further_init(struct rnbdc_session *sess)
{
	INIT_DELAYED_WORK(&sess->recovery.further_work, rnbdc_further_work);
}

/**
 * rnbdc_further_start - begin to connect the queues other than 0
 * @sess: session that has just become live, and whose further_work does not run
 *
 * Context: process context; recovery.lock held.
 */
void rnbdc_further_start(struct rnbdc_session *sess)
{
	u32 i;

	for (i = 1; i < sess->nr_queues; i++) {
		sess->queues[i]->failures = 0;
		sess->queues[i]->timeouts = 0;
		sess->queues[i]->next_try = jiffies;
	}
	WRITE_ONCE(sess->recovery.further_tried, false);
	queue_delayed_work(rnbdc_attach_wq, &sess->recovery.further_work, 0);
}

/**
 * rnbdc_further_stop - end the attempts to connect queues
 * @sess: session that is no longer live, so that the work item ends soon
 *
 * Context: process context, may sleep; recovery.lock not held.
 */
void rnbdc_further_stop(struct rnbdc_session *sess)
{
	cancel_delayed_work_sync(&sess->recovery.further_work);
}

/**
 * rnbdc_further_wait - wait until each queue was tried once, at most RNBDC_FURTHER_WAIT
 * @sess: session that was just created
 *
 * An attach that creates a session waits here, so that the new disk can use all connections
 * from the start if the target accepts them promptly.
 *
 * Context: process context, may sleep.
 */
void rnbdc_further_wait(struct rnbdc_session *sess)
{
	wait_event_timeout(sess->wait, READ_ONCE(sess->recovery.further_tried) ||
			   !rnbdc_further_wanted(sess), RNBDC_FURTHER_WAIT);
}
