// SPDX-License-Identifier: GPL-2.0-only
/*
 * Headroom below the limits, and logins that wait for more of it.
 *
 * Operation: closing sessions of a host can still hold a place or memory that a login of the
 * host needs. Then the login is answered with RNBD_ST_BUSY, so that the client retries. It is
 * not answered with RNBD_ST_LIMIT, and not granted less memory. RNBDT_CLOSING_WAIT and
 * RNBDT_STORAGE_WAIT limit the time for which a closing session has this effect. A login gets
 * the same answer if the memory for its floor is used by other sessions beyond their floors
 * (budget.c). The memory that these sessions return is kept for the login until its client
 * retries.
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
 * Jiffies for which a login may wait for a closing session; after that the client gets
 * RNBD_ST_LIMIT instead of RNBD_ST_BUSY. The second value applies if only the storage delays the
 * end of the session: it can do so forever, and all disks of the client wait for the login.
 */
#define RNBDT_CLOSING_WAIT	(10 * HZ)
#define RNBDT_STORAGE_WAIT	HZ

/* Jiffies for which memory is kept for a login that was answered with RNBD_ST_BUSY */
#define RNBDT_AWAIT_TIME	(3 * HZ)
/* Jiffies after which logins no longer wait for memory that other sessions do not return */
#define RNBDT_AWAIT_MAX		(30 * HZ)

/* Test whether a login may wait for the end of a session. */
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
 * Return: the resources that a login may wait for.
 */
struct rnbdt_closing rnbdt_headroom_closing(const struct rnbdt_host *host)
{
	struct rnbdt_closing has = { };
	const struct rnbdt_session *s;

	rnbdt_assert_host(host);

	/* Usually the first closing session holds all three resources, so the walk is short. */
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
 * @closing: closing sessions will free the resource that the login needs
 *
 * Context: any.
 * Return: RNBD_ST_BUSY if @closing is set, or RNBD_ST_LIMIT, which is counted.
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
 * @awaited: floor that logins wait for within @limit
 *
 * Context: any, under the lock of @awaited.
 * Return: bytes; the rest of @limit is kept for the floors of new sessions.
 */
u64 rnbdt_headroom_elastic(u64 limit, const struct rnbdt_awaited *awaited)
{
	return rnbdt_limit_left(limit, max(limit / 16, rnbdt_headroom_awaited(awaited)));
}

/**
 * rnbdt_headroom_lacks - return how much memory is missing for the floor of a waiting login
 * @limit: limit of the memory for pools, in bytes
 * @used: bytes in use
 * @awaited: floor that logins wait for within @limit
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
 * @awaited: floor that logins wait for within a limit
 * @bytes: floor of the login, in bytes
 *
 * Memory that other sessions return is kept for the login for RNBDT_AWAIT_TIME, within which
 * its client should retry.
 *
 * Context: any, under the lock of @awaited.
 * Return: false if logins have waited for longer than RNBDT_AWAIT_MAX, probably because hung
 * storage uses the memory.
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
 * rnbdt_headroom_served - record that a login got its floor
 * @awaited: floor that logins wait for within a limit
 * @floor: floor of the login, in bytes
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
