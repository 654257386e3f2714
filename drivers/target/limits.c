// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits: how much of this machine a host and its sessions may use.
 *
 * Operation
 *
 * Connections that have not logged in are limited by half_open.c. A login is
 * checked against the number of sessions, of its host and of all. These limits are
 * checked at login only: before, the host is not authenticated, and a client
 * that restarted closes its old sessions by its login.
 *
 * A session uses memory: its pool (budget.c), rings and requests. The queues of all
 * sessions have a limit, of which each host has a share. If sessions of the host that
 * began to close within RNBDT_CLOSING_WAIT, or RNBDT_STORAGE_WAIT if only the storage
 * delays their end, still hold what the login lacks, the login is neither refused nor cut
 * but answered with RNBD_ST_BUSY, so that the client retries.
 *
 * Ownership
 *
 * Charges are recorded in the session. rnbdt_limits_freed() returns them when the
 * memory is free, rnbdt_limits_stopped() uncounts the session when its queue pairs are
 * drained.
 *
 * Concurrency
 *
 * The accounts are under rnbdt_lock. A changed limit applies to new logins.
 *
 * Errors: a reached limit is a status for the client and increases a counter.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "../core/cm.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "counters.h"
#include "graph.h"
#include "half_open.h"
#include "limits.h"
#include "queue.h"
#include "rate.h"
#include "session.h"
#include "state.h"
#include "target.h"

/* Sessions of a host that may receive a list of exports concurrently. */
#define RNBDT_HOST_LISTS_MAX	8

RNBD_PARAM_UINT(max_sessions, 4096, 1, 65536,
		"sessions of all hosts");

RNBD_PARAM_UINT(max_host_sessions, 256, 1, 65536,
		"sessions of one host, unless its own max_sessions says otherwise");

RNBD_PARAM_UINT(max_queues, 0, 0, RNBD_CONNS_MAX,
		"queues of one session; 0: two for each CPU, because a client may poll some");

RNBD_PARAM_UINT(queue_limit_mb, 0, 0, 16777216,
		"MiB of memory of the rings and requests of all queues, seven eighths of them for one host; 0: an eighth of RAM");

static u32 rnbdt_nr_sessions;		/* that have logged in; rnbdt_lock */
static u64 rnbdt_queue_bytes;		/* of all sessions; rnbdt_lock */

/*
 * A client that waits for what a closing session holds gets RNBD_ST_LIMIT instead of
 * RNBD_ST_BUSY after this time. It is short if only the storage delays the end: that may
 * last forever, and all disks of the client wait for its login.
 */
#define RNBDT_CLOSING_WAIT	(10 * HZ)
#define RNBDT_STORAGE_WAIT	HZ

/* May a login wait for what a session holds? */
static bool rnbdt_limits_ending(const struct rnbdt_session *s)
{
	const struct rnbdt_teardown *teardown = &s->teardown;

	/* pairs with the release in rnbdt_session_set_state() */
	if (smp_load_acquire(&s->state) < RNBDT_CLOSING)
		return false;
	if (!teardown->stopped)
		return time_before_eq(jiffies, READ_ONCE(teardown->closing_since) +
					       RNBDT_CLOSING_WAIT);
	return time_before_eq(jiffies, teardown->stopped_at +
				       (s->nr_bound ? RNBDT_STORAGE_WAIT : RNBDT_CLOSING_WAIT));
}

/**
 * rnbdt_limits_closing - return what closing sessions of a host still hold
 * @host: host
 *
 * Context: process context, rnbdt_lock held.
 * Return: only what a login may wait for.
 */
struct rnbdt_closing rnbdt_limits_closing(const struct rnbdt_host *host)
{
	struct rnbdt_closing has = { };
	const struct rnbdt_session *s;

	list_for_each_entry(s, &host->sessions, host_entry) {
		if (!rnbdt_limits_ending(s))
			continue;
		has.sessions |= s->account.counted;
		has.pools |= s->account.pool_bytes > 0;
		has.queues |= s->account.queue_bytes > 0;
	}
	return has;
}

/* Return the status of a reached limit; @closing: sessions will free what is missing. */
static u16 rnbdt_limit_status(enum rnbdt_limit limit, bool closing)
{
	if (closing)
		return RNBD_ST_BUSY;
	rnbdt_limit_hit(limit);
	return RNBD_ST_LIMIT;
}

static u64 rnbdt_queue0_bytes(const struct rnbdt_session *s)
{
	const struct rnbd_ring_attr *attr = &s->queues[0]->ring.attr;

	return rnbdt_ring_bytes(attr->slots, attr->slot_size);
}

static u64 rnbdt_limits_queue_bytes(u64 ring_bytes, u32 depth)
{
	return ring_bytes + (u64)depth * sizeof(struct rnbdt_req);
}

/**
 * rnbdt_limits_queue - charge the memory of a queue to the accounts
 * @s: session
 * @ring_bytes: bytes of its rings
 * @depth: number of its requests
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or RNBD_ST_BUSY if closing sessions of the
 * host still hold queues.
 */
static u16 rnbdt_limits_queue(struct rnbdt_session *s, u64 ring_bytes, u32 depth)
{
	u64 bytes = rnbdt_limits_queue_bytes(ring_bytes, depth);
	u64 all = rnbdt_limit_bytes(READ_ONCE(queue_limit_mb), 8);

	lockdep_assert_held(&rnbdt_lock);

	if (bytes > rnbdt_limit_left(rnbdt_host_share(all), s->host->queue_bytes))
		return rnbdt_limit_status(RNBDT_LIMIT_HOST_QUEUES,
					  rnbdt_limits_closing(s->host).queues);
	if (bytes > rnbdt_limit_left(all, rnbdt_queue_bytes))
		return rnbdt_limit_status(RNBDT_LIMIT_QUEUES,
					  rnbdt_limits_closing(s->host).queues);
	s->account.queue_bytes += bytes;
	s->host->queue_bytes += bytes;
	rnbdt_queue_bytes += bytes;
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_login - count a session and charge its queue 0
 * @s: half-open session whose client is authenticated
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or RNBD_ST_BUSY if closing sessions of the
 * host still hold what is missing.
 */
u16 rnbdt_limits_login(struct rnbdt_session *s)
{
	u64 of_host = s->host->max_sessions ?: READ_ONCE(max_host_sessions);
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	if (s->host->nr_sessions >= of_host)
		return rnbdt_limit_status(RNBDT_LIMIT_HOST_SESSIONS,
					  rnbdt_limits_closing(s->host).sessions);
	if (rnbdt_nr_sessions >= READ_ONCE(max_sessions))
		return rnbdt_limit_status(RNBDT_LIMIT_SESSIONS,
					  rnbdt_limits_closing(s->host).sessions);
	status = rnbdt_limits_queue(s, rnbdt_queue0_bytes(s), s->login.info.queue_depth);
	if (status)
		return status;
	s->host->nr_sessions++;
	rnbdt_nr_sessions++;
	s->account.counted = true;
	rnbdt_half_open_login(s);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_list - charge a list of exports
 * @s: half-open session whose client is authenticated
 *
 * A list does not count as a session: a host that has reached its number of
 * sessions can still request one.
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or RNBD_ST_BUSY if a retry can succeed.
 */
u16 rnbdt_limits_list(struct rnbdt_session *s)
{
	struct rnbdt_session *other;
	u32 of_host = 0;
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry(other, &s->host->sessions, host_entry)
		if (other->state == RNBDT_LISTING && other->listing.list_status == RNBD_ST_OK)
			of_host++;
	if (of_host >= RNBDT_HOST_LISTS_MAX) {
		rnbdt_limit_hit(RNBDT_LIMIT_HOST_LISTS);
		return RNBD_ST_LIMIT;
	}
	status = rnbdt_rate_charge_logins(s->host, 0);
	if (!status)
		status = rnbdt_limits_queue(s, rnbdt_queue0_bytes(s), 0);
	if (status)
		return status;
	list_del_init(&s->account.half_open.entry);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_queues - limit the number of queues of a session
 * @requested: number requested by the client
 *
 * Context: any.
 * Return: granted number, at most @requested.
 */
u32 rnbdt_limits_queues(u32 requested)
{
	u32 limit = READ_ONCE(max_queues) ?: 2 * num_possible_cpus();

	limit = min_t(u32, limit, RNBD_CONNS_MAX);
	if (requested <= limit)
		return requested;
	rnbdt_limit_hit(RNBDT_LIMIT_SESSION_QUEUES);
	return limit;
}

/**
 * rnbdt_limits_add_queue - charge a queue other than 0 to the accounts
 * @s: live session
 * @req: connection request of the queue
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK or RNBD_ST_LIMIT.
 */
u16 rnbdt_limits_add_queue(struct rnbdt_session *s, const struct rnbd_conn_req *req)
{
	u64 bytes = rnbdt_ring_bytes(req->ring_slots, req->slot_size);
	u16 status = rnbdt_limits_queue(s, bytes, s->granted.depth);

	/* The login was granted: a retry would only cost another login. */
	return status == RNBD_ST_BUSY ?
	       rnbdt_limit_status(RNBDT_LIMIT_HOST_QUEUES, false) : status;
}

/**
 * rnbdt_limits_remove_queue - return what rnbdt_limits_add_queue() has charged
 * @s: live session
 * @req: connection request of a queue that fails to join
 *
 * Context: process context, rnbdt_lock held since rnbdt_limits_add_queue().
 */
void rnbdt_limits_remove_queue(struct rnbdt_session *s, const struct rnbd_conn_req *req)
{
	u64 bytes = rnbdt_limits_queue_bytes(rnbdt_ring_bytes(req->ring_slots, req->slot_size),
					     s->granted.depth);

	lockdep_assert_held(&rnbdt_lock);

	s->account.queue_bytes -= bytes;
	s->host->queue_bytes -= bytes;
	rnbdt_queue_bytes -= bytes;
}

/**
 * rnbdt_limits_freed - return the memory of the queues of a session
 * @s: session whose rings are free
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_freed(struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	rnbdt_half_open_freed(&s->account.half_open, s->live_at);
	s->host->queue_bytes -= s->account.queue_bytes;
	rnbdt_queue_bytes -= s->account.queue_bytes;
	s->account.queue_bytes = 0;
}

/**
 * rnbdt_limits_stopped - uncount a session
 * @s: closing session whose queue pairs are drained
 *
 * The storage may delay the end of the teardown forever, and the session that replaces
 * this one must not be refused for it. What waits for the storage is bounded nevertheless:
 * its memory stays charged, and an export has one attachment of a host.
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_stopped(struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	if (!s->account.counted)
		return;
	s->account.counted = false;
	s->host->nr_sessions--;
	rnbdt_nr_sessions--;
}
