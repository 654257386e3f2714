// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of a session: keep-alives, and time limits of the login.
 *
 * Operation: from the arrival of the login on, keep-alives are checked and sent on queue 0. The
 * interval is RNBD_LOGIN_KEEPALIVE_MS until the reply, and then the one that the client has
 * requested, or keepalive_min_ms if that is longer. On a further queue keep-alives are checked and
 * sent only while replies wait there, for example because credits are missing. The client itself
 * probes a further queue on which it has awaited a reply or credits for an interval. A session that
 * receives no login or proof within login_timeout_ms is closed. A session whose client does not
 * disconnect after a refusal or a list of exports is closed as well.
 *
 * Ownership: the timers are part of the session; the teardown cancels them.
 *
 * Concurrency: both work items run on rnbdt_timer_wq, which logins do not use, and allocate no
 * memory. The keep-alive work takes neither rnbdt_lock nor a host lock; a queue that it has found
 * is not freed before the teardown has cancelled the work item.
 *
 * Errors: an exceeded time limit closes the session. If the login or the proof has not arrived in
 * time, a counter of limits/ in sysfs is increased.
 */

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "counters.h"
#include "queue.h"
#include "session.h"
#include "state.h"
#include "target.h"
#include "timers.h"

/*
 * Return whether the client must send frames on a queue: keep-alives on queue 0, or credits on a
 * further queue on which replies wait.
 */
static bool rnbdt_queue_expects(const struct rnbdt_queue *q)
{
	return !q->index || READ_ONCE(q->nr_done);
}

/**
 * rnbdt_session_keepalive - check and send the keep-alives of a session
 * @work: rnbdt_session.login.keepalive_work
 *
 * The work item runs already during the login, because the client waits for keep-alives while the
 * target allocates the pool.
 *
 * Context: work item of rnbdt_timer_wq.
 */
void rnbdt_session_keepalive(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(to_delayed_work(work),
					       struct rnbdt_session,
					       login.keepalive_work);
	enum rnbdt_state state = READ_ONCE(s->state);
	u32 i, nr, interval_ms = RNBD_LOGIN_KEEPALIVE_MS;
	struct rnbdt_queue **queues, *q;

	if (state == RNBDT_LIVE)
		interval_ms = s->granted.keepalive_ms;
	else if (state != RNBDT_AUTHENTICATING && state != RNBDT_LOGIN &&
		 state != RNBDT_LISTING)
		return;
	/* pairs with the release in rnbdt_queue_make_slots() */
	nr = smp_load_acquire(&s->nr_slots);
	queues = READ_ONCE(s->queues);
	for (i = 0; i < nr; i++) {
		/* pairs with the release when the queue was added */
		q = smp_load_acquire(&queues[i]);
		if (q)
			rnbd_ring_keepalive(&q->ring, interval_ms,
					    rnbdt_queue_expects(q));
	}
	queue_delayed_work(rnbdt_timer_wq, &s->login.keepalive_work,
			   msecs_to_jiffies(interval_ms) / 2);
}

/**
 * rnbdt_session_timeout - close a session whose client has exceeded a time limit
 * @work: rnbdt_session.login.timeout_work
 *
 * Context: work item of rnbdt_timer_wq.
 */
void rnbdt_session_timeout(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(to_delayed_work(work),
					       struct rnbdt_session,
					       login.timeout_work);

	switch (READ_ONCE(s->state)) {
	case RNBDT_CONNECTING:
		rnbdt_count(RNBDT_COUNT_LIMITS, RNBDT_LIMIT_LOGIN_TIME);
		rnbdt_session_close(s, "no login in time");
		break;
	case RNBDT_AUTHENTICATING:
		rnbdt_count(RNBDT_COUNT_LIMITS, RNBDT_LIMIT_LOGIN_TIME);
		rnbdt_session_close(s, "no authentication in time");
		break;
	case RNBDT_REFUSED:
		rnbdt_session_close(s, "login refused");
		break;
	case RNBDT_LISTING:
		rnbdt_session_close(s, "the client did not disconnect after its list of exports");
		break;
	default:
		break;
	}
}

/**
 * rnbdt_session_refusal_sent - shorten the time limit after a refusal was delivered
 * @s: session whose login was refused
 *
 * Context: any; does not sleep.
 */
void rnbdt_session_refusal_sent(struct rnbdt_session *s)
{
	mod_delayed_work(rnbdt_timer_wq, &s->login.timeout_work, RNBDT_REFUSED_GRACE);
}
