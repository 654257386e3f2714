// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of the number of sessions, lists of exports and queues.
 *
 * Operation
 *
 * A login is compared with the limits on the number of sessions of its host and of all hosts. A
 * connection request is not compared with these limits, because its client is not authenticated
 * yet. half_open.c limits the connections that have not logged in. budget.c and queue_budget.c
 * limit memory.
 *
 * If closing sessions of the host still hold a place that a login needs, the login is answered
 * with RNBD_ST_BUSY, so that the client retries (headroom.c). If a session loses its connection
 * while exports are attached, a claim keeps its place (claim.c).
 *
 * Ownership: a session has a place from its login until its queue pairs are drained. Then the
 * place is free, or belongs to the claim of the session.
 *
 * Concurrency: the host is locked. The number of sessions of all hosts is atomic. A changed
 * limit applies to new logins.
 *
 * Errors: a client that requests too many queues is granted fewer. If another limit is reached, the
 * client gets a status. Both increase a counter, unless closing sessions make the status
 * RNBD_ST_BUSY.
 */

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/module.h>

#include <rnbd/wire.h>

#include "../core/param.h"
#include "counters.h"
#include "graph.h"
#include "half_open.h"
#include "headroom.h"
#include "limits.h"
#include "queue_budget.h"
#include "rate.h"
#include "session.h"

/* Largest number of sessions of a host that may receive a list of exports concurrently */
#define RNBDT_HOST_LISTS_MAX	8

RNBD_PARAM_UINT(max_sessions, 4096, 1, 65536,
		"sessions of all hosts");

RNBD_PARAM_UINT(max_host_sessions, 256, 1, 65536,
		"sessions of one host, unless it has a max_sessions");

RNBD_PARAM_UINT(max_queues, 0, 0, RNBD_CONNS_MAX,
		"queues of one session; 0: two for each CPU, because a client may poll some");

static atomic_t rnbdt_nr_sessions;	/* logged-in sessions and claims of all hosts */

/* Count one more session of all hosts. Return false if the limit is reached. */
static bool rnbdt_limits_count_all(void)
{
	int nr = atomic_read(&rnbdt_nr_sessions);

	do {
		if (nr >= READ_ONCE(max_sessions))
			return false;
	} while (!atomic_try_cmpxchg(&rnbdt_nr_sessions, &nr, nr + 1));
	return true;
}

/* Count one more session of a host, unless a limit is reached. Return the status of its login. */
static u16 rnbdt_limits_count(struct rnbdt_host *host)
{
	u64 of_host = host->max_sessions ?: READ_ONCE(max_host_sessions);

	if (host->nr_sessions >= of_host)
		return rnbdt_limit_status(RNBDT_LIMIT_HOST_SESSIONS,
					  rnbdt_headroom_closing(host).sessions);
	if (!rnbdt_limits_count_all())
		return rnbdt_limit_status(RNBDT_LIMIT_SESSIONS,
					  rnbdt_headroom_closing(host).sessions);
	host->nr_sessions++;
	return RNBD_ST_OK;
}

static void rnbdt_limits_uncount(struct rnbdt_host *host)
{
	host->nr_sessions--;
	atomic_dec(&rnbdt_nr_sessions);
}

/**
 * rnbdt_limits_login - count a session and charge its queue 0
 * @s: half-open session whose client is authenticated and that has taken over its claim, if any
 *
 * Context: process context, host of @s locked.
 * Return: RNBD_ST_OK, RNBD_ST_LIMIT, or RNBD_ST_BUSY if closing sessions of the host still
 * hold the missing place or memory.
 */
u16 rnbdt_limits_login(struct rnbdt_session *s)
{
	bool claimed = s->account.counted;
	u16 status = claimed ? RNBD_ST_OK : rnbdt_limits_count(s->host);

	rnbdt_assert_host(s->host);

	if (status)
		return status;
	status = rnbdt_queue_budget_first(s->queues[0], 1, true);
	if (status) {
		if (!claimed)
			rnbdt_limits_uncount(s->host);
		return status;
	}
	s->account.counted = true;
	rnbdt_half_open_login(s);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_leave - move the place of a session to its claim
 * @s: closing session that is counted, and whose queue pairs are drained
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_limits_leave(struct rnbdt_session *s)
{
	rnbdt_assert_host(s->host);

	s->account.counted = false;
	s->host->nr_claims++;
}

/**
 * rnbdt_limits_take_over - move the place of a claim to the session that takes it over
 * @s: session that logs in
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_limits_take_over(struct rnbdt_session *s)
{
	rnbdt_assert_host(s->host);

	s->account.counted = true;
	s->host->nr_claims--;
}

/**
 * rnbdt_limits_end_claim - free the place of a claim
 * @host: host of the claim
 *
 * Context: process context, @host locked.
 */
void rnbdt_limits_end_claim(struct rnbdt_host *host)
{
	rnbdt_assert_host(host);

	host->nr_claims--;
	rnbdt_limits_uncount(host);
}

/**
 * rnbdt_limits_list - count a list of exports, and charge queue 0 of its session
 * @s: half-open session whose client is authenticated
 *
 * The session takes no place, so a host at its limit of sessions can still request a list.
 *
 * Context: process context, host of @s locked.
 * Return: RNBD_ST_OK; RNBD_ST_LIMIT; RNBD_ST_BUSY while the host has no token for a login, or if
 * closing sessions of the host still hold the missing memory.
 */
u16 rnbdt_limits_list(struct rnbdt_session *s)
{
	u16 status;

	rnbdt_assert_host(s->host);

	if (s->host->nr_lists >= RNBDT_HOST_LISTS_MAX) {
		rnbdt_limit_hit(RNBDT_LIMIT_HOST_LISTS);
		return RNBD_ST_LIMIT;
	}
	status = rnbdt_rate_charge_logins(s->host, 0);
	if (!status)
		status = rnbdt_queue_budget_first(s->queues[0], 0, true);
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

/**
 * rnbdt_limits_stopped - free the place of a session, and its place among the lists
 * @s: closing session whose queue pairs are drained
 *
 * Storage can delay the end of the teardown forever, and the session that replaces this one must
 * not be refused for that reason. The number of sessions that wait for storage is bounded
 * nevertheless: their memory stays charged, and a host has at most one bound attachment per export.
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_limits_stopped(struct rnbdt_session *s)
{
	rnbdt_assert_host(s->host);

	if (s->account.lists)
		s->host->nr_lists--;
	s->account.lists = false;
	if (!s->account.counted)
		return;
	s->account.counted = false;
	rnbdt_limits_uncount(s->host);
}
