// SPDX-License-Identifier: GPL-2.0-only
/*
 * What limits leave, and what a login may wait for.
 *
 * Operation: if sessions of the host that began to close within RNBDT_CLOSING_WAIT, or
 * RNBDT_STORAGE_WAIT if only the storage delays their end, still hold what a login lacks, the
 * login is neither refused nor cut but answered with RNBD_ST_BUSY, so that the client
 * retries. A login whose floor other sessions use beyond their own floors gets the same answer
 * (budget.c). What these return is kept for the login until it tries again.
 *
 * Ownership: nothing is allocated or kept.
 *
 * Concurrency: the host is locked, and what logins wait for is under the lock of the accounts
 * (budget.c).
 *
 * Errors: a limit that refuses is counted.
 */

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/list.h>

#include <rnbd/wire.h>

#include "counters.h"
#include "graph.h"
#include "headroom.h"
#include "session.h"

/*
 * A client that waits for what a closing session holds gets RNBD_ST_LIMIT instead of
 * RNBD_ST_BUSY after this time. It is short if only the storage delays the end: that may
 * last forever, and all disks of the client wait for its login.
 */
#define RNBDT_CLOSING_WAIT	(10 * HZ)
#define RNBDT_STORAGE_WAIT	HZ

/* Time for which memory is kept for a login that was answered with RNBD_ST_BUSY */
#define RNBDT_AWAIT_TIME	(3 * HZ)
/* Time after which logins no longer wait for memory that others do not return */
#define RNBDT_AWAIT_MAX		(30 * HZ)

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
 * rnbdt_headroom_closing - return what closing sessions of a host still hold
 * @host: host
 *
 * Context: process context, @host locked.
 * Return: only what a login may wait for.
 */
struct rnbdt_closing rnbdt_headroom_closing(const struct rnbdt_host *host)
{
	struct rnbdt_closing has = { };
	const struct rnbdt_session *s;

	rnbdt_assert_host(host);

	/* Usually the first session that closes has all three, so the walk is short. */
	if (!atomic_read(&host->nr_closing))
		return has;
	list_for_each_entry(s, &host->sessions, host_entry) {
		if (has.sessions && has.pools && has.queues)
			break;
		if (!rnbdt_limits_ending(s))
			continue;
		has.sessions |= s->account.counted;
		has.pools |= s->account.pool_bytes > 0 || s->account.claimed_bytes > 0;
		has.queues |= s->account.queue_bytes > 0;
	}
	return has;
}

/**
 * rnbdt_limit_status - return the status of a login that a limit does not allow
 * @limit: limit
 * @closing: closing sessions will free what is missing
 *
 * Context: any.
 * Return: RNBD_ST_BUSY or RNBD_ST_LIMIT.
 */
u16 rnbdt_limit_status(enum rnbdt_limit limit, bool closing)
{
	if (closing)
		return RNBD_ST_BUSY;
	rnbdt_limit_hit(limit);
	return RNBD_ST_LIMIT;
}

static u64 rnbdt_headroom_awaited(const struct rnbdt_awaited *awaited)
{
	return awaited->bytes && time_before(jiffies, awaited->until) ? awaited->bytes : 0;
}

/**
 * rnbdt_headroom_elastic - return what sessions may use of a limit
 * @limit: limit of memory for pools
 * @awaited: what logins wait for below that limit
 *
 * Context: any, under the lock of @awaited.
 * Return: bytes; the rest is kept for the floors of logins.
 */
u64 rnbdt_headroom_elastic(u64 limit, const struct rnbdt_awaited *awaited)
{
	return rnbdt_limit_left(limit, max(limit / 16, rnbdt_headroom_awaited(awaited)));
}

/**
 * rnbdt_headroom_lacks - return what is missing for the floor that a login waits for
 * @limit: limit of memory for pools
 * @used: what is used of it
 * @awaited: what logins wait for below that limit
 *
 * Context: any, under the lock of @awaited.
 * Return: bytes.
 */
u64 rnbdt_headroom_lacks(u64 limit, u64 used, const struct rnbdt_awaited *awaited)
{
	return rnbdt_limit_left(rnbdt_headroom_awaited(awaited), rnbdt_limit_left(limit, used));
}

/**
 * rnbdt_headroom_await - note that a login waits for its floor
 * @awaited: what logins wait for below some limit
 * @bytes: floor
 *
 * What others return is kept for it for a moment, until its client asks again.
 *
 * Context: any, under the lock of @awaited.
 * Return: false if logins have waited for too long, because hung storage keeps the memory.
 */
bool rnbdt_headroom_await(struct rnbdt_awaited *awaited, u64 bytes)
{
	u64 before = rnbdt_headroom_awaited(awaited);

	if (!before)
		awaited->since = jiffies;
	if (time_after(jiffies, awaited->since + RNBDT_AWAIT_MAX))
		return false;
	awaited->bytes = max(before, bytes);
	awaited->until = jiffies + RNBDT_AWAIT_TIME;
	return true;
}

/**
 * rnbdt_headroom_served - note that a login has got its floor
 * @awaited: what logins wait for below some limit
 * @floor: its floor
 *
 * Another login that waits for less notes that again.
 *
 * Context: any, under the lock of @awaited.
 */
void rnbdt_headroom_served(struct rnbdt_awaited *awaited, u64 floor)
{
	if (floor >= awaited->bytes)
		awaited->bytes = 0;
}
