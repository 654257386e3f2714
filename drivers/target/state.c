// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of a session, the list of sessions, and references.
 *
 * Operation
 *
 * rnbdt_session_set_state() is the only function that changes the state of a session. The
 * function checks the transition, records the change for netlink listeners and traces it. All
 * code that ends a session calls rnbdt_session_close(), for example after a disconnect, the
 * removal of the RDMA device, a protocol error or a write of the administrator to configfs. The
 * first call sets the state to closing and queues the teardown, which alone frees resources
 * (teardown.c).
 *
 * Ownership
 *
 * rnbdt_sessions holds a reference on each session until its teardown has ended. A session in that
 * list holds references on its host, its port and the module. Code that removes a host or a port
 * first prevents new sessions of it, then calls rnbdt_sessions_close(). This code need not wait for
 * the end of the sessions. attached.c closes the attachments of an export in the same way.
 *
 * Concurrency
 *
 * s->state is written under s->state_lock, which may be taken in any context. Requests read the
 * state without the lock, see rnbdt_may_submit(). A work item reports each change, see
 * netlink.c. The host lock protects the list of the sessions of a host; rnbdt_sessions_lock
 * protects the other lists. Code that holds rnbdt_lock for writing may walk these lists without
 * rnbdt_sessions_lock. Counters are read without a lock: RCU protects the queues, and the sequence
 * count of s->ended_lock makes the reader repeat a sum if a queue was removed at the same time.
 *
 * Errors
 *
 * A transition that the table does not allow is refused and changes nothing. The reason of the
 * first close is kept. A fatal signal ends a wait for sessions, but the sessions still end.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/seqlock.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <rnbd/wire.h>

#include "auth.h"
#include "graph.h"
#include "half_count.h"
#include "lookup.h"
#include "queue.h"
#include "reach.h"
#include "session.h"
#include "state.h"
#include "target.h"
#include "trace.h"

static DEFINE_SPINLOCK(rnbdt_sessions_lock);	/* rnbdt_sessions, and rnbdt_port.sessions */
LIST_HEAD(rnbdt_sessions);			/* rnbdt_sessions_lock */

/* Allowed successors of each state, as bits */
static const u8 rnbdt_state_next[] = {
	[RNBDT_CONNECTING]	= BIT(RNBDT_AUTHENTICATING) | BIT(RNBDT_LOGIN) |
				  BIT(RNBDT_CLOSING),
	[RNBDT_AUTHENTICATING]		= BIT(RNBDT_LOGIN) | BIT(RNBDT_CLOSING),
	[RNBDT_LOGIN]		= BIT(RNBDT_REFUSED) | BIT(RNBDT_LISTING) |
				  BIT(RNBDT_LIVE) | BIT(RNBDT_CLOSING),
	[RNBDT_REFUSED]		= BIT(RNBDT_CLOSING),
	[RNBDT_LISTING]		= BIT(RNBDT_CLOSING),
	[RNBDT_LIVE]		= BIT(RNBDT_CLOSING),
	[RNBDT_CLOSING]		= BIT(RNBDT_DEAD),
	[RNBDT_DEAD]		= 0,
};

/*
 * Record a change of state and queue event_work, which reports it to the listeners. The caller
 * holds a reference, so the reference dropped here is never the last one.
 */
static void rnbdt_session_record_change(struct rnbdt_session *s, enum rnbdt_state from)
{
	lockdep_assert_held(&s->state_lock);

	/* A session never returns to a former state, so there is a free entry. */
	s->log.changes[s->log.nr_changes++] = (struct rnbdt_change) {
		.from = from,
		.to = s->state,
		.reason = s->log.reason,
	};
	kref_get(&s->ref);
	if (!queue_work(rnbdt_login_wq, &s->log.event_work))
		refcount_dec(&s->ref.refcount);
}

/**
 * rnbdt_session_set_state - change the state of a session
 * @s: session
 * @to: new state
 * @reason: constant text, or NULL to keep the present reason
 *
 * Context: any; s->state_lock held.
 * Return: true if the transition is allowed and was made.
 */
static bool rnbdt_session_set_state(struct rnbdt_session *s, enum rnbdt_state to,
				    const char *reason)
{
	enum rnbdt_state from = s->state;

	lockdep_assert_held(&s->state_lock);

	if (!(rnbdt_state_next[from] & BIT(to)))
		return false;
	if (reason)
		s->log.reason = reason;
	if (to == RNBDT_AUTHENTICATING || to == RNBDT_LOGIN) {
		/* pairs with the acquire of readers of the login */
		smp_store_release(&s->login.has_login, true);
	}
	if (to == RNBDT_LIVE)
		s->live_at = ktime_get_boottime_seconds();
	if (to == RNBDT_CLOSING) {
		WRITE_ONCE(s->teardown.closing_since, jiffies);
		atomic_inc(&s->host->nr_closing);
		rnbdt_half_count_closing(&s->account.half_open);
	}
	/* A reader that sees the live state also sees all members set before it. */
	smp_store_release(&s->state, to);
	trace_rnbdt_state(s, from);
	rnbdt_session_record_change(s, from);
	return true;
}

/**
 * rnbdt_session_advance - change the state of a session if it is as expected
 * @s: session
 * @from: expected state
 * @to: new state
 * @reason: constant text, or NULL to keep the present reason
 *
 * Context: any; s->state_lock not held.
 * Return: true if the state was changed.
 */
bool rnbdt_session_advance(struct rnbdt_session *s, enum rnbdt_state from,
			   enum rnbdt_state to, const char *reason)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&s->state_lock, flags);
	ret = s->state == from && rnbdt_session_set_state(s, to, reason);
	spin_unlock_irqrestore(&s->state_lock, flags);
	return ret;
}

/**
 * rnbdt_session_close - end a session
 * @s: session
 * @reason: constant text for the log and sysfs; only that of the first call is used
 *
 * Queue the teardown and return at once. s->teardown.gone completes when the teardown has ended.
 *
 * Context: any, with or without ring->lock or rnbdt_lock; does not sleep.
 */
void rnbdt_session_close(struct rnbdt_session *s, const char *reason)
{
	unsigned long flags;

	spin_lock_irqsave(&s->state_lock, flags);
	if (rnbdt_session_set_state(s, RNBDT_CLOSING, reason))
		queue_work(s->live_at ? rnbdt_teardown_wq : rnbdt_hangup_wq,
			   &s->teardown.teardown_work);
	spin_unlock_irqrestore(&s->state_lock, flags);
}

/**
 * rnbdt_join_fail - end a queue that has not joined its session
 * @q: queue
 *
 * Queue the teardown of the queue and return at once. The session continues.
 *
 * Context: any, with or without ring->lock or rnbdt_lock; does not sleep.
 * Return: true if the queue has failed, now or before; false for queue 0 and for a queue that has
 * joined: to end the queue, the caller must then end the session.
 */
bool rnbdt_join_fail(struct rnbdt_queue *q)
{
	u8 was = cmpxchg(&q->join_state, RNBDT_JOINING, RNBDT_JOIN_FAILED);

	if (was == RNBDT_JOINING) {
		rnbdt_half_count_closing(&q->join->half_open);
		queue_work(rnbdt_hangup_wq, &q->join->abort_work);
	}
	return was != RNBDT_JOINED;
}

/**
 * rnbdt_session_lock - lock the host of a session
 * @s: session on which the caller has a reference, though not necessarily on its host
 *
 * Context: process context, as rnbdt_host_lock().
 * Return: true; or false, with nothing locked, if the session is not live: its host possibly no
 * longer exists.
 */
bool rnbdt_session_lock(struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;

	down_read(&rnbdt_lock);
	/* A live session has a host, which is not freed until rnbdt_lock is released. */
	if (READ_ONCE(s->state) == RNBDT_LIVE) {
		mutex_lock(&host->lock);
		return true;
	}
	up_read(&rnbdt_lock);
	return false;
}

static void rnbdt_session_release(struct kref *ref)
{
	struct rnbdt_session *s = container_of(ref, struct rnbdt_session, ref);

	if (s->queues != &s->queue0)
		kvfree(s->queues);
	kfree(s->port_name);
	kfree_rcu(s, rcu);
}

/**
 * rnbdt_session_put - drop a reference
 * @s: session
 *
 * Context: any; does not sleep.
 */
void rnbdt_session_put(struct rnbdt_session *s)
{
	kref_put(&s->ref, rnbdt_session_release);
}

/**
 * rnbdt_stats_add - add the counters of a queue to a sum
 * @sum: sum to increase
 * @q: queue that the caller keeps from being freed
 *
 * Context: any.
 */
void rnbdt_stats_add(struct rnbdt_stats *sum, const struct rnbdt_queue *q)
{
	const struct rnbd_ring_stats *ring = &q->ring.stats;

	sum->requests += READ_ONCE(q->stats.requests);
	sum->read_bytes += READ_ONCE(q->stats.read_bytes);
	sum->write_bytes += READ_ONCE(q->stats.write_bytes);
	sum->frames_sent += READ_ONCE(ring->frames_sent) + READ_ONCE(ring->credit_frames_sent);
	sum->frames_received += READ_ONCE(ring->frames_received) +
				READ_ONCE(ring->credit_frames_received);
	sum->slots += READ_ONCE(q->ring.in.slots);
	sum->depth += READ_ONCE(q->ring.in.depth);
}

/**
 * rnbdt_session_stats - sum the counters of a session
 * @s: session on which the caller has a reference
 * @sum: sum of the counters of its present and freed queues
 *
 * User space can read the counters often, so this function must not delay logins or I/O.
 *
 * Context: any; takes no lock.
 */
void rnbdt_session_stats(const struct rnbdt_session *s, struct rnbdt_stats *sum)
{
	struct rnbdt_queue **queues;
	const struct rnbdt_queue *q;
	unsigned int seq;
	u32 i, nr;

	do {
		seq = read_seqbegin(&s->ended_lock);
		rcu_read_lock();
		*sum = s->ended;
		/* pairs with the release in rnbdt_queue_make_slots() */
		nr = smp_load_acquire(&s->nr_slots);
		queues = READ_ONCE(s->queues);
		for (i = 0; i < nr; i++) {
			/* pairs with the release when the queue was added */
			q = smp_load_acquire(&queues[i]);
			if (q)
				rnbdt_stats_add(sum, q);
		}
		rcu_read_unlock();
	} while (read_seqretry(&s->ended_lock, seq));
}

/**
 * rnbdt_session_add - add a session to all lists and tables
 * @s: new session with its host, port and serial
 *
 * Context: process context, host lock held.
 */
void rnbdt_session_add(struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	struct rnbdt_port *port = s->port;

	rnbdt_assert_host(host);

	list_add_tail(&s->host_entry, &host->sessions);
	WRITE_ONCE(host->all_sessions, host->all_sessions + 1);
	spin_lock(&rnbdt_sessions_lock);
	list_add_tail(&s->entry, &rnbdt_sessions);
	list_add_tail(&s->port_entry, &port->sessions);
	WRITE_ONCE(port->all_sessions, port->all_sessions + 1);
	spin_unlock(&rnbdt_sessions_lock);
	rnbdt_lookup_add(s);
}

/**
 * rnbdt_session_remove - remove a session from all lists and tables; it becomes dead
 * @s: closing session that was added
 *
 * Context: process context, host lock held.
 */
void rnbdt_session_remove(struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	struct rnbdt_port *port = s->port;

	rnbdt_assert_host(host);

	list_del(&s->host_entry);
	WRITE_ONCE(host->all_sessions, host->all_sessions - 1);
	spin_lock(&rnbdt_sessions_lock);
	list_del(&s->entry);
	list_del(&s->port_entry);
	WRITE_ONCE(port->all_sessions, port->all_sessions - 1);
	spin_unlock(&rnbdt_sessions_lock);
	rnbdt_lookup_remove(s);
	rnbdt_session_advance(s, RNBDT_CLOSING, RNBDT_DEAD, NULL);
	atomic_dec(&host->nr_closing);
}

/**
 * struct rnbdt_match - selection of sessions
 * @host: sessions of this host, or NULL for those of @port
 * @port: sessions of this port, or NULL for those of @host
 * @secret: only sessions that have proven this secret, or NULL
 * @stale_secret: only sessions for which rnbdt_auth_stale_secret() returns true
 * @denied: only sessions whose host may use no export of their port
 * @begun: only sessions with a serial up to @last
 * @last: serial that was chosen last when the wait began, valid if @begun
 */
struct rnbdt_match {
	const struct rnbdt_host *host;
	const struct rnbdt_port *port;
	const struct rnbdt_secret *secret;
	bool stale_secret;
	bool denied;
	bool begun;
	u32 last;
};

static bool rnbdt_session_matches(const struct rnbdt_session *s,
				  const struct rnbdt_match *match)
{
	rnbdt_assert_host(s->host);
	return (!match->secret || s->auth.secret == match->secret) &&
	       (!match->stale_secret || rnbdt_auth_stale_secret(s)) &&
	       (!match->denied || !rnbdt_port_knows_host(s->port, s->host)) &&
	       (!match->begun || (s32)(s->serial - match->last) <= 0);
}

/* Return the next matching session after @s, or the first one if @s is NULL. */
static struct rnbdt_session *rnbdt_session_next(const struct rnbdt_match *match,
						const struct rnbdt_session *s)
{
	const struct list_head *head, *pos;
	size_t link;

	if (match->host) {
		head = &match->host->sessions;
		link = offsetof(struct rnbdt_session, host_entry);
	} else {
		head = &match->port->sessions;
		link = offsetof(struct rnbdt_session, port_entry);
	}
	pos = s ? (void *)s + link : head;
	while ((pos = pos->next) != head) {
		struct rnbdt_session *next = (void *)pos - link;

		if (rnbdt_session_matches(next, match))
			return next;
	}
	return NULL;
}

static void rnbdt_sessions_close_matching(const struct rnbdt_match *match, const char *reason)
{
	struct rnbdt_session *s = NULL;

	down_write(&rnbdt_lock);
	while ((s = rnbdt_session_next(match, s)))
		rnbdt_session_close(s, reason);
	up_write(&rnbdt_lock);
}

/* Wait for the sessions that exist now, but not for later ones. */
static int rnbdt_sessions_wait_matching(struct rnbdt_match *match)
{
	struct rnbdt_session *s;
	long left = 1;

	down_write(&rnbdt_lock);
	match->last = rnbdt_lookup_last_serial();
	match->begun = true;
	while (left >= 0) {
		s = rnbdt_session_next(match, NULL);
		if (!s)
			break;
		kref_get(&s->ref);
		up_write(&rnbdt_lock);

		left = wait_for_completion_killable_timeout(&s->teardown.gone, 30 * HZ);
		if (!left)
			pr_warn("session %u: waiting for its I/O to end\n", s->serial);
		rnbdt_session_put(s);

		down_write(&rnbdt_lock);
	}
	up_write(&rnbdt_lock);
	return left < 0 ? -EINTR : 0;
}

/**
 * rnbdt_sessions_close - end sessions without waiting
 * @host: end the sessions of this host, or NULL to end those of @port
 * @port: end the sessions of this port, or NULL
 * @reason: constant text for the log and sysfs
 *
 * Before the call, the caller must prevent further sessions of @host or @port.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_sessions_close(const struct rnbdt_host *host, const struct rnbdt_port *port,
			  const char *reason)
{
	const struct rnbdt_match match = { .host = host, .port = port };

	rnbdt_sessions_close_matching(&match, reason);
}

/**
 * rnbdt_sessions_close_denied - end sessions whose host may use no export of their port now
 * @host: host that an export no longer allows, or NULL if @port no longer offers an export
 * @port: port that no longer offers an export, or NULL
 *
 * A new connection of such a host would be refused. If the host may use another export of the
 * port, its session stays.
 *
 * Context: process context without rnbdt_lock; may sleep, but does not wait for storage.
 */
void rnbdt_sessions_close_denied(const struct rnbdt_host *host, const struct rnbdt_port *port)
{
	const struct rnbdt_match match = { .host = host, .port = port, .denied = true };

	rnbdt_sessions_close_matching(&match, "the host may use no export of the port");
}

/**
 * rnbdt_sessions_wait - wait until the present sessions of a port have ended
 * @port: port of the sessions
 *
 * Context: process context without rnbdt_lock; sleeps until the storage has
 * completed the requests of the sessions, without a limit of time.
 * Return: 0, or -EINTR after a fatal signal.
 */
int rnbdt_sessions_wait(const struct rnbdt_port *port)
{
	struct rnbdt_match match = { .port = port };

	return rnbdt_sessions_wait_matching(&match);
}

/**
 * rnbdt_sessions_close_stale_secret - end the sessions whose secret the host no longer has
 * @host: host whose secrets were changed
 * @reason: constant text for the log and sysfs
 *
 * If the host has a secret now, this includes sessions that began without authentication. If the
 * client of a session must authenticate but the target has not accepted its proof yet, the session
 * stays as long as the host has any secret: the target compares the proof with the secrets that the
 * host has when it verifies the proof.
 *
 * Context: process context without rnbdt_lock; may sleep, but does not wait for the storage. When
 * the sessions have ended, rnbdt_sessions_count_stale_secret() returns 0.
 */
void rnbdt_sessions_close_stale_secret(const struct rnbdt_host *host, const char *reason)
{
	const struct rnbdt_match match = { .host = host, .stale_secret = true };

	rnbdt_sessions_close_matching(&match, reason);
}

static u32 rnbdt_sessions_count_matching(const struct rnbdt_match *match)
{
	struct rnbdt_session *s = NULL;
	u32 nr = 0;

	while ((s = rnbdt_session_next(match, s)))
		nr++;
	return nr;
}

/**
 * rnbdt_sessions_count_old_secret - count the sessions that rely on the old secret
 * @host: host
 *
 * Context: process context, host lock held.
 * Return: number of sessions that end when the old secret is withdrawn.
 */
u32 rnbdt_sessions_count_old_secret(const struct rnbdt_host *host)
{
	const struct rnbdt_match match = { .host = host, .secret = host->old_secret };

	if (!host->old_secret || host->old_secret == host->secret)
		return 0;
	return rnbdt_sessions_count_matching(&match);
}

/**
 * rnbdt_sessions_count_stale_secret - count the sessions whose secret the host no longer has
 * @host: host
 *
 * Context: process context, host lock held.
 * Return: number of sessions that rnbdt_sessions_close_stale_secret() would close now, including
 * those that it has already closed and that have not ended yet.
 */
u32 rnbdt_sessions_count_stale_secret(const struct rnbdt_host *host)
{
	const struct rnbdt_match match = { .host = host, .stale_secret = true };

	return rnbdt_sessions_count_matching(&match);
}
