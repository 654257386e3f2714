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
 * A session uses memory: its pool and its queues, with their rings, requests and queue
 * pairs, and what requests need while they are in flight. Two accounts, pools and
 * queues, have a limit for all and a share per host. A pool is cut to what is
 * left. The rings of a queue begin small; that they grow is refused without an error.
 * If sessions of the host that began to close within RNBDT_CLOSING_WAIT, or
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
 * The accounts are under rnbdt_lock, except that of requests in flight, which is atomic. A
 * changed limit applies to what is charged from then on.
 *
 * Errors: a reached limit is a status for the client and increases a counter. The log
 * has a line when all pools come near their limit.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

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
		"MiB of memory of all queues and their requests, seven eighths of them for one host; 0: an eighth of RAM");

static u32 rnbdt_nr_sessions;		/* that have logged in; rnbdt_lock */
static u64 rnbdt_pool_bytes;		/* of all sessions; rnbdt_lock */
static bool rnbdt_pool_near;		/* the limit; rnbdt_lock */
static u64 rnbdt_queue_bytes;		/* of all sessions; written under rnbdt_lock */
static atomic64_t rnbdt_io_bytes;	/* of all sessions */

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

/* Let a queue have @bytes charged. */
static void rnbdt_limits_set(struct rnbdt_queue *q, u64 bytes)
{
	struct rnbdt_session *s = q->session;

	lockdep_assert_held(&rnbdt_lock);

	s->account.queue_bytes += bytes - q->charged;
	WRITE_ONCE(s->host->queue_bytes, s->host->queue_bytes + bytes - q->charged);
	WRITE_ONCE(rnbdt_queue_bytes, rnbdt_queue_bytes + bytes - q->charged);
	q->charged = bytes;
}

static u64 rnbdt_limits_queues_limit(void)
{
	return rnbdt_limit_bytes(READ_ONCE(queue_limit_mb), 8);
}

/* Bytes of queues and requests of a host. */
static u64 rnbdt_limits_of_host(const struct rnbdt_host *host)
{
	return READ_ONCE(host->queue_bytes) + atomic64_read(&host->io_bytes);
}

/* Bytes of queues and requests of all hosts. */
static u64 rnbdt_limits_of_all(void)
{
	return READ_ONCE(rnbdt_queue_bytes) + atomic64_read(&rnbdt_io_bytes);
}

/**
 * rnbdt_limits_queue - charge the memory of a queue to the accounts
 * @q: queue
 * @bytes: what it is to have, if that is more than what is charged
 * @closing: sessions of the host that are closing may free what is missing
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or RNBD_ST_BUSY because of @closing.
 */
static u16 rnbdt_limits_queue(struct rnbdt_queue *q, u64 bytes, bool closing)
{
	u64 all = rnbdt_limits_queues_limit(), more = bytes - q->charged;
	struct rnbdt_host *host = q->session->host;

	lockdep_assert_held(&rnbdt_lock);

	if (more > rnbdt_limit_left(rnbdt_host_share(all), rnbdt_limits_of_host(host)))
		return rnbdt_limit_status(RNBDT_LIMIT_HOST_QUEUES, closing);
	if (more > rnbdt_limit_left(all, rnbdt_limits_of_all()))
		return rnbdt_limit_status(RNBDT_LIMIT_QUEUES, closing);
	rnbdt_limits_set(q, bytes);
	return RNBD_ST_OK;
}

/*
 * Estimate the memory of a queue pair and of its part of a completion queue: entries as mlx5
 * has them, and a page. Other devices have larger or smaller ones.
 */
static u64 rnbdt_limits_qp_bytes(const struct rnbd_ring_attr *attr)
{
	u32 send = attr->slots + attr->data_wrs + 2, recv = attr->slots + 1;

	return PAGE_SIZE + 64ull * send + 16ull * recv + 64ull * (send + recv);
}

/* Memory of a queue whatever it has to do; that of queue 0 includes the session. */
static u64 rnbdt_limits_base(const struct rnbdt_queue *q)
{
	return rnbdt_limits_qp_bytes(&q->ring.attr) +
	       kmalloc_size_roundup(sizeof(*q)) +
	       kmalloc_size_roundup(q->index ? sizeof(struct rnbdt_join) :
					       sizeof(struct rnbdt_session));
}

/* Memory of a queue with so many slots and chunks of requests. */
static u64 rnbdt_limits_bytes(const struct rnbdt_queue *q, u32 slots, u32 chunks)
{
	return rnbdt_limits_base(q) + rnbdt_ring_bytes(slots, q->ring.attr.slot_size) +
	       (u64)chunks * kmalloc_size_roundup(sizeof(struct rnbdt_req_chunk));
}

/* Charge what a queue begins with. */
static u16 rnbdt_limits_first(struct rnbdt_queue *q, u32 chunks, bool closing)
{
	q->nr_slots = RNBDT_FIRST_SLOTS;
	return rnbdt_limits_queue(q, rnbdt_limits_bytes(q, q->nr_slots, chunks), closing);
}

/* Charge queue 0 of a session that logs in or gets a list. */
static u16 rnbdt_limits_queue0(struct rnbdt_session *s, u32 chunks)
{
	return rnbdt_limits_first(s->queues[0], chunks, rnbdt_limits_closing(s->host).queues);
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
	status = rnbdt_limits_queue0(s, 1);
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
		status = rnbdt_limits_queue0(s, 0);
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
 * @q: queue of a live session
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK or RNBD_ST_LIMIT.
 */
u16 rnbdt_limits_add_queue(struct rnbdt_queue *q)
{
	return rnbdt_limits_first(q, 1, false);
}

/**
 * rnbdt_limits_remove_queue - return what rnbdt_limits_add_queue() has charged
 * @q: queue that fails to join its session
 *
 * Context: process context, rnbdt_lock held since rnbdt_limits_add_queue().
 */
void rnbdt_limits_remove_queue(struct rnbdt_queue *q)
{
	rnbdt_limits_set(q, 0);
}

/* Change what is charged for a queue. Returns false if a limit forbids more. */
static bool rnbdt_limits_resize(struct rnbdt_queue *q, u64 bytes)
{
	u16 status = RNBD_ST_OK;

	/* Only the caller changes it. */
	if (bytes == READ_ONCE(q->charged))
		return true;
	mutex_lock(&rnbdt_lock);
	if (bytes > q->charged)
		status = rnbdt_limits_queue(q, bytes, false);
	else
		rnbdt_limits_set(q, bytes);
	mutex_unlock(&rnbdt_lock);
	return !status;
}

/**
 * rnbdt_limits_slots - charge the slots of a queue that has joined its session
 * @q: queue
 * @slots: slots of both directions that it has, or is about to allocate
 *
 * Context: slots work of the ring; takes rnbdt_lock.
 * Return: false if a limit forbids more than what is charged.
 */
bool rnbdt_limits_slots(struct rnbdt_queue *q, u32 slots)
{
	if (slots != q->nr_slots &&
	    !rnbdt_limits_resize(q, rnbdt_limits_bytes(q, slots, q->nr_chunks)))
		return false;
	q->nr_slots = slots;
	return true;
}

/**
 * rnbdt_limits_requests - charge the requests of a queue that has joined its session
 * @q: queue
 * @chunks: chunks of requests that it has, or is about to allocate
 *
 * Context: slots work of the ring; takes rnbdt_lock.
 * Return: false if a limit forbids more than what is charged.
 */
bool rnbdt_limits_requests(struct rnbdt_queue *q, u32 chunks)
{
	return rnbdt_limits_resize(q, rnbdt_limits_bytes(q, q->nr_slots, chunks));
}

/**
 * rnbdt_limits_take_io - charge memory that a request needs until it ends
 * @s: session of the request
 * @bytes: number of bytes
 *
 * One request of a session gets its memory in any case, so that the client that retries
 * those that were refused makes progress.
 *
 * Context: any.
 * Return: false if a limit is reached; the client retries a request that it knows the target
 * had no memory for.
 */
bool rnbdt_limits_take_io(struct rnbdt_session *s, u32 bytes)
{
	bool first = !atomic64_fetch_add(bytes, &s->account.io_bytes);
	u64 all = rnbdt_limits_queues_limit();

	atomic64_add(bytes, &s->host->io_bytes);
	atomic64_add(bytes, &rnbdt_io_bytes);
	if (likely(first || (rnbdt_limits_of_host(s->host) <= rnbdt_host_share(all) &&
			     rnbdt_limits_of_all() <= all)))
		return true;
	rnbdt_limit_hit(RNBDT_LIMIT_HOST_QUEUES);
	rnbdt_limits_give_io(s, bytes);
	return false;
}

/**
 * rnbdt_limits_give_io - return what rnbdt_limits_take_io() has charged
 * @s: session of the request
 * @bytes: number of bytes
 *
 * Context: any.
 */
void rnbdt_limits_give_io(struct rnbdt_session *s, u32 bytes)
{
	atomic64_sub(bytes, &rnbdt_io_bytes);
	atomic64_sub(bytes, &s->host->io_bytes);
	atomic64_sub(bytes, &s->account.io_bytes);
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
	WRITE_ONCE(s->host->queue_bytes, s->host->queue_bytes - s->account.queue_bytes);
	WRITE_ONCE(rnbdt_queue_bytes, rnbdt_queue_bytes - s->account.queue_bytes);
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
