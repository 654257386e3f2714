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
 * A session uses memory: its pool, rings and requests. Two accounts, pools and
 * queues, have a limit for all and a share per host. A pool is cut to what is
 * left. If sessions of the host that began to close within RNBDT_CLOSING_WAIT, or
 * RNBDT_STORAGE_WAIT if only the storage delays their end, still hold what the login
 * lacks, the login is neither refused nor cut but answered with RNBD_ST_BUSY, so that
 * the client retries.
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
 * Errors: a reached limit is a status for the client and increases a counter. The log
 * has a line when all pools come near their limit.
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

RNBD_PARAM_UINT(session_pool_limit_mb, 1024, 1, 4096,
		"MiB of memory of one delegated pool, unless the host has a max_session_pool_bytes");

RNBD_PARAM_UINT(host_pool_limit_mb, 0, 0, 16777216,
		"MiB of memory of all delegated pools of one host, unless it has a max_pool_bytes; 0: seven eighths of pool_limit_mb");

RNBD_PARAM_UINT(pool_limit_mb, 0, 0, 16777216,
		"MiB of memory of all delegated pools; 0: a quarter of RAM");

RNBD_PARAM_UINT(queue_limit_mb, 0, 0, 16777216,
		"MiB of memory of the rings and requests of all queues, seven eighths of them for one host; 0: an eighth of RAM");

static u32 rnbdt_nr_sessions;		/* that have logged in; rnbdt_lock */
static u64 rnbdt_pool_bytes;		/* of all sessions; rnbdt_lock */
static bool rnbdt_pool_near;		/* the limit; rnbdt_lock */
static u64 rnbdt_queue_bytes;		/* of all sessions; rnbdt_lock */

/*
 * A client that waits for what a closing session holds gets RNBD_ST_LIMIT instead of
 * RNBD_ST_BUSY after this time. It is short if only the storage delays the end: that may
 * last forever, and all disks of the client wait for its login.
 */
#define RNBDT_CLOSING_WAIT	(10 * HZ)
#define RNBDT_STORAGE_WAIT	HZ

/**
 * struct rnbdt_closing - what closing sessions of a host still hold
 * @sessions: at least one is counted as a session
 * @pools: at least one has a pool
 * @queues: at least one has queues
 */
struct rnbdt_closing {
	bool sessions;
	bool pools;
	bool queues;
};

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

static struct rnbdt_closing rnbdt_limits_closing(const struct rnbdt_host *host)
{
	struct rnbdt_closing has = { };
	const struct rnbdt_session *s;

	/* Usually the first session that closes has all three, so the walk is short. */
	if (!atomic_read(&host->nr_closing))
		return has;
	list_for_each_entry(s, &host->sessions, host_entry) {
		if (has.sessions && has.pools && has.queues)
			break;
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

static u64 rnbdt_limit_bytes(u32 mb, u32 share_of_ram)
{
	return mb ? (u64)mb << 20 :
		    ((u64)totalram_pages() << PAGE_SHIFT) / share_of_ram;
}

static u64 rnbdt_limit_left(u64 limit, u64 used)
{
	return limit > used ? limit - used : 0;
}

static u64 rnbdt_host_share(u64 bytes)
{
	return bytes - bytes / 8;
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
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	if (s->host->nr_lists >= RNBDT_HOST_LISTS_MAX) {
		rnbdt_limit_hit(RNBDT_LIMIT_HOST_LISTS);
		return RNBD_ST_LIMIT;
	}
	status = rnbdt_rate_charge_logins(s->host, 0);
	if (!status)
		status = rnbdt_limits_queue(s, rnbdt_queue0_bytes(s), 0);
	if (status)
		return status;
	rnbdt_half_open_end(&s->account.half_open);
	s->account.lists = true;
	s->host->nr_lists++;
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

/* Cut @bytes to @left, the rest of a limit, and count that. */
static u64 rnbdt_limit_cut(u64 bytes, u64 left, enum rnbdt_limit which)
{
	if (bytes <= left)
		return bytes;
	rnbdt_limit_hit(which);
	return left;
}

static u64 rnbdt_pool_limit(void)
{
	return rnbdt_limit_bytes(READ_ONCE(pool_limit_mb), 4);
}

/* Log once when 90 percent of the limit are used, again after less than 75 percent. */
static void rnbdt_limits_check_pool(void)
{
	u64 limit = rnbdt_pool_limit();

	if (rnbdt_pool_near) {
		rnbdt_pool_near = rnbdt_pool_bytes >= limit - limit / 4;
		return;
	}
	if (rnbdt_pool_bytes < limit - limit / 10)
		return;
	rnbdt_pool_near = true;
	rnbdt_limit_hit(RNBDT_LIMIT_POOL_NEAR);
	pr_warn("pools use %llu of %llu MiB: further logins get a smaller pool or none (pool_limit_mb)\n",
		rnbdt_pool_bytes >> 20, limit >> 20);
}

/**
 * rnbdt_limits_pool - limit the size of the pool of a session
 * @s: session that logs in
 * @bytes: requested size in bytes; cut to what the limits leave, perhaps 0
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY if closing sessions of the host still hold
 * pools that would be needed.
 */
u16 rnbdt_limits_pool(const struct rnbdt_session *s, u64 *bytes)
{
	u64 all = rnbdt_pool_limit();
	u64 of_session = s->host->max_session_pool_bytes ?:
			 (u64)READ_ONCE(session_pool_limit_mb) << 20;
	u64 of_host = s->host->max_pool_bytes ?:
		      (u64)READ_ONCE(host_pool_limit_mb) << 20 ?:
		      rnbdt_host_share(all);

	lockdep_assert_held(&rnbdt_lock);

	of_host = rnbdt_limit_left(of_host, s->host->pool_bytes);
	all = rnbdt_limit_left(all, rnbdt_pool_bytes);
	if (min(*bytes, of_session) > min(of_host, all) &&
	    rnbdt_limits_closing(s->host).pools)
		return RNBD_ST_BUSY;
	*bytes = rnbdt_limit_cut(*bytes, of_session, RNBDT_LIMIT_SESSION_POOL);
	*bytes = rnbdt_limit_cut(*bytes, of_host, RNBDT_LIMIT_HOST_POOL);
	*bytes = rnbdt_limit_cut(*bytes, all, RNBDT_LIMIT_POOL);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_charge_pool - charge a pool and its login to the accounts
 * @s: session without a pool
 * @bytes: at most the size in bytes that rnbdt_limits_pool() returned
 *
 * Context: process context, rnbdt_lock held since rnbdt_limits_pool().
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY while the bucket of logins is empty.
 */
u16 rnbdt_limits_charge_pool(struct rnbdt_session *s, u64 bytes)
{
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	status = rnbdt_rate_charge_logins(s->host, bytes);
	if (status)
		return status;
	s->account.pool_bytes = bytes;
	s->host->pool_bytes += bytes;
	rnbdt_pool_bytes += bytes;
	rnbdt_limits_check_pool();
	return RNBD_ST_OK;
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
 * rnbdt_limits_freed - return the memory that was charged to a session
 * @s: session whose pool and rings are free
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_freed(struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	rnbdt_half_open_freed(&s->account.half_open, s->live_at);
	s->host->pool_bytes -= s->account.pool_bytes;
	rnbdt_pool_bytes -= s->account.pool_bytes;
	rnbdt_limits_check_pool();
	s->account.pool_bytes = 0;
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

	if (s->account.lists)
		s->host->nr_lists--;
	s->account.lists = false;
	if (!s->account.counted)
		return;
	s->account.counted = false;
	s->host->nr_sessions--;
	rnbdt_nr_sessions--;
}
