// SPDX-License-Identifier: GPL-2.0-only
/*
 * Headroom below the limits, and logins that are put off until there is more of it.
 *
 * Operation: closing sessions of a host can still hold a place or memory that a login of the
 * host needs. Then the login is answered with RNBD_ST_BUSY, so that the client retries. It is
 * not answered with RNBD_ST_LIMIT, and not granted less memory. RNBDT_CLOSING_WAIT and
 * RNBDT_STORAGE_WAIT limit the time for which a closing session has this effect. A login gets
 * the same answer if other sessions hold the memory for its floor beyond their own floors
 * (budget.c). In this case the login is recorded as waiting: for RNBDT_AWAIT_TIME, within which
 * its client should retry, memory that other sessions return is kept for the floors of logins.
 *
 * Ownership: this file allocates nothing.
 *
 * Concurrency: the host is locked. The lock of budget.c protects struct rnbdt_awaited.
 *
 * Errors: a limit that refuses a login increases a counter.
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
 * Jiffies for which a closing session makes the answer to a login RNBD_ST_BUSY; after that the
 * client gets RNBD_ST_LIMIT, or less memory. The time begins when the session begins to close, and
 * again when its queue pairs are drained. The second value applies after the drain while the
 * storage has requests of the session: it can keep them forever, and all disks of the client wait
 * for the login.
 */
#define RNBDT_CLOSING_WAIT	(10 * HZ)
#define RNBDT_STORAGE_WAIT	HZ

/* Jiffies for which memory is kept for a login that was answered with RNBD_ST_BUSY */
#define RNBDT_AWAIT_TIME	(3 * HZ)
/* Jiffies after which logins no longer get RNBD_ST_BUSY because other sessions hold the memory */
#define RNBDT_AWAIT_MAX		(30 * HZ)

/* Test whether a session is closing, and for a time short enough that a login gets BUSY. */
static bool rnbdt_limits_ending(const struct rnbdt_session *s)
{
	const struct rnbdt_teardown *teardown = &s->teardown;

	/* pairs with the smp_store_release() in rnbdt_session_set_state() */
	if (smp_load_acquire(&s->state) < RNBDT_CLOSING)
		return false;
	if (!teardown->stopped)
		return time_before_eq(jiffies, READ_ONCE(teardown->closing_since) +
					       RNBDT_CLOSING_WAIT);
	return time_before_eq(jiffies, teardown->stopped_at +
				       (s->nr_bound ? RNBDT_STORAGE_WAIT : RNBDT_CLOSING_WAIT));
}

/**
 * rnbdt_headroom_closing - find the resources that closing sessions of a host still hold
 * @host: host
 *
 * Context: process context, @host locked.
 * Return: the resources that these sessions hold. Sessions that have been closing for so long that
 * a login no longer gets RNBD_ST_BUSY because of them are left out.
 */
struct rnbdt_closing rnbdt_headroom_closing(const struct rnbdt_host *host)
{
	struct rnbdt_closing has = { };
	const struct rnbdt_session *s;

	rnbdt_assert_host(host);

	/* Usually the first closing session holds all three resources and ends the walk. */
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
 * rnbdt_limit_status - return the status of a request that a limit does not allow
 * @limit: limit
 * @closing: the request is a login, and closing sessions will free the resource that it needs
 *
 * Context: any.
 * Return: RNBD_ST_BUSY if @closing is set. Otherwise RNBD_ST_LIMIT, and the counter of @limit is
 * increased.
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
 * rnbdt_headroom_elastic - return the part of a limit into which pools may grow
 * @limit: limit of the memory for pools, in bytes
 * @awaited: floor of waiting logins, for which @limit leaves too little
 *
 * Context: any, under the lock of @awaited.
 * Return: bytes; the rest of @limit is kept for the floors of new sessions and waiting logins.
 */
u64 rnbdt_headroom_elastic(u64 limit, const struct rnbdt_awaited *awaited)
{
	return rnbdt_limit_left(limit, max(limit / 16, rnbdt_headroom_awaited(awaited)));
}

/**
 * rnbdt_headroom_lacks - compute how much memory is missing for the floor of a waiting login
 * @limit: limit of the memory for pools, in bytes
 * @used: bytes that are charged against @limit
 * @awaited: floor of waiting logins, for which @limit leaves too little
 *
 * Context: any, under the lock of @awaited.
 * Return: bytes.
 */
u64 rnbdt_headroom_lacks(u64 limit, u64 used, const struct rnbdt_awaited *awaited)
{
	return rnbdt_limit_left(rnbdt_headroom_awaited(awaited), rnbdt_limit_left(limit, used));
}

/**
 * rnbdt_headroom_await - record that a login waits for its floor
 * @awaited: floor of waiting logins, for which a limit leaves too little
 * @bytes: floor of the login, in bytes
 *
 * Memory that other sessions return is kept for the login for RNBDT_AWAIT_TIME, within which
 * its client should retry.
 *
 * Context: any, under the lock of @awaited.
 * Return: true if the caller should answer the login with RNBD_ST_BUSY; false, with nothing
 * recorded, if the present series of such answers has lasted longer than RNBDT_AWAIT_MAX, probably
 * because hung storage uses the memory.
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
 * rnbdt_headroom_served - stop keeping memory for waiting logins after a login got its floor
 * @awaited: floor of waiting logins
 * @floor: floor of the login, in bytes; ignored if it is less than the recorded floor
 *
 * Another login that waits for a smaller floor is recorded again when its client retries.
 *
 * Context: any, under the lock of @awaited.
 */
void rnbdt_headroom_served(struct rnbdt_awaited *awaited, u64 floor)
{
	if (floor >= awaited->bytes)
		awaited->bytes = 0;
}
