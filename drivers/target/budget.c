// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the pools of all sessions: limits, floors and charges.
 *
 * Operation
 *
 * All pools have a limit, the budget, of which each host has a share. A session has a floor,
 * which it may hold at any time, and a ceiling. Its charge is the floor, or what it holds if
 * that is more. So the sum of all floors never exceeds the budget, and what a session lacks
 * to its floor is always there (rule R8). Memory beyond the floors is granted only up to
 * fifteen sixteenths of the budget, and of the share of the host, so that a new session finds
 * its floor at once.
 *
 * A session that wants more than the limits leave is hungry. When memory is returned, the
 * sessions that have been hungry longest try again. While others are hungry, a session grows
 * only up to its share (share.c).
 *
 * A login gets all of the floor that it needs, unless its own limits do not allow that. While
 * others hold memory beyond their floors that it lacks, the login is answered with
 * RNBD_ST_BUSY. That memory is reclaimed, and kept for the login until its client asks again.
 * A login is also answered with RNBD_ST_BUSY while sessions of the host that are closing hold
 * what it lacks (headroom.c).
 *
 * Ownership
 *
 * Charges are recorded in the session, and in the host for all its sessions and claims
 * (claim.c). rnbdt_budget_freed() returns them when the memory is free.
 *
 * Concurrency: the host is locked to change its account and those of its sessions. Sessions of
 * several hosts grow at a time, so the accounts and the list of hungry sessions are under
 * rnbdt_budget_lock as well: what a limit leaves is looked at and charged in one section. A
 * changed limit applies to what is granted from then on.
 *
 * Errors: a reached limit increases a counter. The log has a line when all pools come near
 * their limit.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <rnbd/wire.h>

#include "../core/param.h"
#include "budget.h"
#include "counters.h"
#include "graph.h"
#include "headroom.h"
#include "rate.h"
#include "session.h"
#include "target.h"

RNBD_PARAM_UINT(session_pool_limit_mb, 1024, 1, 4096,
		"MiB of memory of one delegated pool, unless the host has a max_session_pool_bytes");

RNBD_PARAM_UINT(host_pool_limit_mb, 0, 0, 16777216,
		"MiB of memory of all delegated pools of one host, unless it has a max_pool_bytes; 0: seven eighths of pool_limit_mb");

RNBD_PARAM_UINT(pool_limit_mb, 0, 0, 16777216,
		"MiB of memory of all delegated pools; 0: a quarter of RAM");

/* Most that replaces what slow storage uses of a pool, in floors */
#define RNBDT_HUNG_FLOORS	8

/* Seconds in which the pools of a host may be granted its limit */
#define RNBDT_GROW_SECONDS	10

/* Sessions that try again when memory was returned */
#define RNBDT_RETRIES		8

static DEFINE_SPINLOCK(rnbdt_budget_lock);	/* all below, and the accounts of the hosts */
static u64 rnbdt_pool_bytes;		/* charged for all sessions and claims */
static u64 rnbdt_pool_beyond;		/* held beyond floors, if not stopped */
static struct rnbdt_awaited rnbdt_pool_awaited;	/* floor that a login waits for */
static bool rnbdt_pool_near;		/* the limit */
static bool rnbdt_pool_log;		/* that is to be logged */
static LIST_HEAD(rnbdt_hungry);		/* sessions, longest first */

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

static u64 rnbdt_session_limit(const struct rnbdt_host *host)
{
	return host->max_session_pool_bytes ?: (u64)READ_ONCE(session_pool_limit_mb) << 20;
}

static u64 rnbdt_host_limit(const struct rnbdt_host *host)
{
	return host->max_pool_bytes ?:
	       (u64)READ_ONCE(host_pool_limit_mb) << 20 ?: rnbdt_host_share(rnbdt_pool_limit());
}

/* Release rnbdt_budget_lock, and then log what was found under it: the console may be slow. */
static void rnbdt_budget_unlock(void)
	__releases(&rnbdt_budget_lock)
{
	u64 used = rnbdt_pool_bytes;
	bool log = rnbdt_pool_log;

	rnbdt_pool_log = false;
	spin_unlock(&rnbdt_budget_lock);
	if (log)
		pr_warn("pools use %llu of %llu MiB: pools do not grow, and further logins get a smaller pool or none (pool_limit_mb)\n",
			used >> 20, rnbdt_pool_limit() >> 20);
}

/* Log once when 90 percent of the limit are used, again after less than 75 percent. */
static void rnbdt_budget_check(void)
{
	u64 limit = rnbdt_pool_limit();

	if (rnbdt_pool_near) {
		rnbdt_pool_near = rnbdt_pool_bytes >= limit - limit / 4;
		return;
	}
	if (rnbdt_pool_bytes < limit - limit / 10)
		return;
	rnbdt_pool_near = true;
	rnbdt_pool_log = true;
	rnbdt_limit_hit(RNBDT_LIMIT_POOL_NEAR);
}

/* Let some of the hungry sessions try again. */
static void rnbdt_budget_feed(void)
{
	struct rnbdt_session *s;
	u32 nr = 0;

	list_for_each_entry(s, &rnbdt_hungry, lease.hungry) {
		mod_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, 0);
		if (++nr == RNBDT_RETRIES)
			break;
	}
}

/* Let a host that has @old bytes of pools charged for something have @bytes charged. */
static void rnbdt_budget_charge(struct rnbdt_host *host, u64 old, u64 bytes)
{
	lockdep_assert_held(&rnbdt_budget_lock);

	if (bytes == old)
		return;
	host->pool_bytes += bytes - old;
	rnbdt_pool_bytes += bytes - old;
	rnbdt_budget_check();
	if (bytes < old)
		rnbdt_budget_feed();
}

/**
 * rnbdt_budget_return - return memory of pools that was charged to a host
 * @host: host
 * @bytes: bytes
 *
 * Context: process context, @host locked.
 */
void rnbdt_budget_return(struct rnbdt_host *host, u64 bytes)
{
	rnbdt_assert_host(host);

	spin_lock(&rnbdt_budget_lock);
	rnbdt_budget_charge(host, bytes, 0);
	rnbdt_budget_unlock();
}

/* Return what a session holds beyond its floor, and could return. */
static u64 rnbdt_budget_beyond(const struct rnbdt_account *account)
{
	return account->stopped ? 0 :
	       rnbdt_limit_left(account->held_bytes, account->floor_bytes);
}

/* Count what a session holds beyond its floor, or no longer. */
static void rnbdt_budget_count_beyond(struct rnbdt_session *s, bool add)
{
	u64 bytes = rnbdt_budget_beyond(&s->account);

	if (add) {
		rnbdt_pool_beyond += bytes;
		s->host->pool_beyond += bytes;
	} else {
		rnbdt_pool_beyond -= bytes;
		s->host->pool_beyond -= bytes;
	}
}

/* Set the floor of a session and what it holds, and so its charge. */
static void rnbdt_budget_hold(struct rnbdt_session *s, u64 floor, u64 held)
{
	struct rnbdt_account *account = &s->account;
	u64 old = account->pool_bytes, charge = max(floor, held);

	rnbdt_assert_host(s->host);

	rnbdt_budget_count_beyond(s, false);
	WRITE_ONCE(account->floor_bytes, floor);
	account->held_bytes = held;
	rnbdt_budget_count_beyond(s, true);
	WRITE_ONCE(account->pool_bytes, charge);
	rnbdt_budget_charge(s->host, old, charge);
}

/**
 * rnbdt_budget_read - read what is used of a limit of pools, and what is kept of it
 * @host: locked host whose limit it is, or NULL for the limit of all pools
 * @sums: result
 *
 * Context: process context.
 */
void rnbdt_budget_read(const struct rnbdt_host *host, struct rnbdt_budget_sums *sums)
{
	const struct rnbdt_awaited *awaited = host ? &host->awaited : &rnbdt_pool_awaited;
	u64 limit = host ? rnbdt_host_limit(host) : rnbdt_pool_limit();

	spin_lock(&rnbdt_budget_lock);
	sums->used = host ? host->pool_bytes : rnbdt_pool_bytes;
	sums->elastic = rnbdt_headroom_elastic(limit, awaited);
	sums->lacks = rnbdt_headroom_lacks(limit, sums->used, awaited);
	rnbdt_budget_unlock();
}

/**
 * rnbdt_budget_hungry - note whether a session wants more memory than the limits leave
 * @s: session
 * @hungry: it does; a session that did before is asked last when memory is returned
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_budget_hungry(struct rnbdt_session *s, bool hungry)
{
	rnbdt_assert_host(s->host);

	spin_lock(&rnbdt_budget_lock);
	list_del_init(&s->lease.hungry);
	if (hungry)
		list_add_tail(&s->lease.hungry, &rnbdt_hungry);
	rnbdt_budget_unlock();
}

/* Return what the limits leave to the floor of a session that logs in. */
static u64 rnbdt_budget_host_left(const struct rnbdt_session *s)
{
	u64 own = s->account.claimed_bytes;

	/* The claim is charged, even if memory that hung storage keeps exceeds the limit. */
	return max(own, rnbdt_limit_left(rnbdt_host_limit(s->host), s->host->pool_bytes - own));
}

static u64 rnbdt_budget_left(const struct rnbdt_session *s)
{
	u64 own = s->account.claimed_bytes;

	return max(own, rnbdt_limit_left(rnbdt_pool_limit(), rnbdt_pool_bytes - own));
}

/**
 * rnbdt_budget_login - limit the floor and the ceiling of the pool of a session
 * @s: session that logs in; it has taken over its claim
 * @floor: requested floor in bytes; cut to what the limits leave, perhaps 0
 * @max: requested ceiling in bytes; cut to the limits, at least @floor
 *
 * Context: process context, host of @s locked.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY if closing sessions of the host still hold
 * pools that would be needed.
 */
u16 rnbdt_budget_login(const struct rnbdt_session *s, u64 *floor, u64 *max)
{
	u64 of_session = rnbdt_session_limit(s->host);
	u64 of_host = rnbdt_host_limit(s->host);
	u64 host_left, left;

	rnbdt_assert_host(s->host);

	spin_lock(&rnbdt_budget_lock);
	host_left = rnbdt_budget_host_left(s);
	left = rnbdt_budget_left(s);
	rnbdt_budget_unlock();
	if (min(*floor, of_session) > min(host_left, left) &&
	    rnbdt_headroom_closing(s->host).pools)
		return RNBD_ST_BUSY;
	*floor = rnbdt_limit_cut(*floor, of_session, RNBDT_LIMIT_SESSION_POOL);
	*floor = rnbdt_limit_cut(*floor, host_left, RNBDT_LIMIT_HOST_POOL);
	*floor = rnbdt_limit_cut(*floor, left, RNBDT_LIMIT_POOL);
	*max = max(min3(*max, of_session, of_host), *floor);
	return RNBD_ST_OK;
}

/* Let a login wait for what it lacks. Returns false if it lacks nothing, or in vain. */
static bool rnbdt_budget_await_left(const struct rnbdt_session *s, u64 need)
{
	bool of_host = need > rnbdt_budget_host_left(s), of_all = need > rnbdt_budget_left(s);
	struct rnbdt_host *host = s->host;

	if ((of_host && !host->pool_beyond) || (of_all && !rnbdt_pool_beyond))
		return false;
	if (of_host && !rnbdt_headroom_await(&host->awaited, need))
		return false;
	if (of_all && !rnbdt_headroom_await(&rnbdt_pool_awaited, need))
		return false;
	return of_host || of_all;
}

/**
 * rnbdt_budget_await - test whether a login should wait for memory of other sessions
 * @s: session that logs in; it has taken over its claim
 * @need: bytes of its floor that it cannot do without
 *
 * What others return is kept for it until it tries again. Nothing can be reclaimed if the
 * limits are filled by floors.
 *
 * Context: process context, host of @s locked.
 * Return: true if others hold memory beyond their floors that they are asked for.
 */
bool rnbdt_budget_await(const struct rnbdt_session *s, u64 need)
{
	struct rnbdt_host *host = s->host;
	bool waits;

	rnbdt_assert_host(host);

	need = min3(need, rnbdt_session_limit(host), rnbdt_host_limit(host));
	spin_lock(&rnbdt_budget_lock);
	waits = rnbdt_budget_await_left(s, need);
	rnbdt_budget_unlock();
	return waits;
}

/* Charge the floor of a session. Returns false if the limits do not leave as much. */
static bool rnbdt_budget_charge_floor(struct rnbdt_session *s, u64 floor)
{
	lockdep_assert_held(&rnbdt_budget_lock);

	if (floor > min(rnbdt_budget_host_left(s), rnbdt_budget_left(s)))
		return false;
	/* What the claim had is charged already. */
	s->account.pool_bytes = s->account.claimed_bytes;
	s->account.claimed_bytes = 0;
	rnbdt_budget_hold(s, floor, floor);
	rnbdt_headroom_served(&s->host->awaited, floor);
	rnbdt_headroom_served(&rnbdt_pool_awaited, floor);
	return true;
}

/**
 * rnbdt_budget_charge_login - charge the floor of a session, which it is about to be granted
 * @s: session without a pool
 * @floor: bytes, at most what rnbdt_budget_login() has returned
 * @max: ceiling in bytes
 *
 * Context: process context, host of @s locked since rnbdt_budget_login().
 * Return: RNBD_ST_OK; RNBD_ST_BUSY while the bucket of logins is empty, or if sessions of
 * other hosts have taken the memory since rnbdt_budget_login().
 */
u16 rnbdt_budget_charge_login(struct rnbdt_session *s, u64 floor, u64 max)
{
	u16 status = rnbdt_rate_logins(s->host);
	bool charged;

	if (status)
		return status;
	s->account.max_bytes = max;
	s->lease.share = U64_MAX;
	spin_lock(&rnbdt_budget_lock);
	charged = rnbdt_budget_charge_floor(s, floor);
	rnbdt_budget_unlock();
	/* The bucket is not emptier than above: the host is locked. */
	return charged ? rnbdt_rate_charge_logins(s->host, floor) : RNBD_ST_BUSY;
}

/**
 * rnbdt_budget_floor - return what a session may hold before others get their shares
 * @s: session
 *
 * Only its floor is always there. A client lets one disk take eight ninths of its pool, so
 * that much may hang before other disks lack the floor. What slow storage uses beyond that is
 * not replaced: the client decides how many of its requests are slow, and must not keep all
 * its memory by that.
 *
 * Context: process context, host of @s locked.
 * Return: bytes: its floor, and what slow storage uses of its pool, at most
 * RNBDT_HUNG_FLOORS times as much.
 */
u64 rnbdt_budget_floor(const struct rnbdt_session *s)
{
	u64 floor = s->account.floor_bytes;
	u64 hung = min((u64)READ_ONCE(s->lease.hung) * RNBD_UNIT_SIZE, RNBDT_HUNG_FLOORS * floor);

	rnbdt_assert_host(s->host);

	return min(floor + hung, s->account.max_bytes);
}

/**
 * rnbdt_budget_paced - test whether the pools of a host grow too fast
 * @s: session that is about to be granted more
 * @bytes: bytes
 *
 * Memory is zeroed and registered for a grant, and a client may return it at once. A session
 * may be granted its ceiling within a second, and a host its limit within RNBDT_GROW_SECONDS.
 *
 * Context: process context, host of @s locked.
 * Return: true if the session must wait for the next second.
 */
bool rnbdt_budget_paced(const struct rnbdt_session *s, u64 bytes)
{
	u64 pace = div_u64(rnbdt_host_limit(s->host), RNBDT_GROW_SECONDS);
	struct rnbdt_host *host = s->host;

	rnbdt_assert_host(host);

	if (!host->grown_bytes || time_after_eq(jiffies, host->grown_since + HZ)) {
		host->grown_since = jiffies;
		host->grown_bytes = 0;
	}
	return host->grown_bytes + bytes > max(pace, s->account.max_bytes);
}

/* Return how much of @bytes the limits leave to a session. */
static u64 rnbdt_budget_fit(const struct rnbdt_session *s, u64 bytes)
{
	const u64 granule = RNBD_SEGMENT_GRANULE * RNBD_UNIT_SIZE;
	const struct rnbdt_account *account = &s->account;
	u64 free = rnbdt_limit_left(account->floor_bytes, account->held_bytes);
	const struct rnbdt_host *host = s->host;
	u64 of_all = rnbdt_headroom_elastic(rnbdt_pool_limit(), &rnbdt_pool_awaited);
	u64 of_host = rnbdt_headroom_elastic(rnbdt_host_limit(host), &host->awaited);
	u64 left = min(rnbdt_limit_left(of_all, rnbdt_pool_bytes),
		       rnbdt_limit_left(of_host, host->pool_bytes));
	bool others;
	u64 lack;

	lockdep_assert_held(&rnbdt_budget_lock);

	bytes = min(bytes, rnbdt_limit_left(account->max_bytes, account->held_bytes));
	if (bytes > free) {
		others = !list_empty(&rnbdt_hungry) &&
			 !(list_is_first(&s->lease.hungry, &rnbdt_hungry) &&
			   list_is_last(&s->lease.hungry, &rnbdt_hungry));
		lack = rnbdt_limit_left(max(s->lease.share, rnbdt_budget_floor(s)),
					account->pool_bytes);
		/* Not rounded up, shares that are no multiple of a granule leave memory unused. */
		if (others && lack < left)
			left = min(left, round_up(lack, granule));
		bytes = min(bytes, free + left);
	}
	return round_down(bytes, granule);
}

/**
 * rnbdt_budget_room - return how much a session may be granted now
 * @s: session
 * @bytes: bytes that it wants in addition to what it holds
 *
 * Context: process context, host of @s locked.
 * Return: bytes, at most @bytes, a multiple of RNBD_SEGMENT_GRANULE.
 */
u64 rnbdt_budget_room(const struct rnbdt_session *s, u64 bytes)
{
	spin_lock(&rnbdt_budget_lock);
	bytes = rnbdt_budget_fit(s, bytes);
	rnbdt_budget_unlock();
	return bytes;
}

/**
 * rnbdt_budget_grow - charge memory that a session is about to be granted
 * @s: session
 * @bytes: bytes that it wants in addition to what it holds
 * @least: bytes below which the memory is of no use
 *
 * Context: process context, host of @s locked.
 * Return: bytes that were charged, from @least to @bytes, a multiple of
 * RNBD_SEGMENT_GRANULE; or 0. The caller returns what it does not use by
 * rnbdt_budget_shrink().
 */
u64 rnbdt_budget_grow(struct rnbdt_session *s, u64 bytes, u64 least)
{
	u64 room;

	spin_lock(&rnbdt_budget_lock);
	room = rnbdt_budget_fit(s, bytes);
	if (room < least)
		room = 0;
	if (room)
		rnbdt_budget_hold(s, s->account.floor_bytes, s->account.held_bytes + room);
	rnbdt_budget_unlock();
	s->host->grown_bytes += room;
	return room;
}

/**
 * rnbdt_budget_shrink - return memory that a session held or was about to be granted
 * @s: session
 * @bytes: bytes
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_budget_shrink(struct rnbdt_session *s, u64 bytes)
{
	spin_lock(&rnbdt_budget_lock);
	rnbdt_budget_hold(s, s->account.floor_bytes, s->account.held_bytes - bytes);
	rnbdt_budget_unlock();
}

/**
 * rnbdt_budget_take_over - let a session have the floor of its claim
 * @s: session that logs in
 * @bytes: what rnbdt_budget_leave() has returned
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_budget_take_over(struct rnbdt_session *s, u64 bytes)
{
	rnbdt_assert_host(s->host);

	s->account.claimed_bytes = bytes;
}

/**
 * rnbdt_budget_leave - charge a session only for what it holds
 * @s: closing session
 *
 * Context: process context, host of @s locked.
 * Return: bytes of the former floor, which are charged to the host in addition.
 */
u64 rnbdt_budget_leave(struct rnbdt_session *s)
{
	struct rnbdt_account *account = &s->account;
	u64 floor = account->floor_bytes + account->claimed_bytes;
	u64 old = account->pool_bytes + account->claimed_bytes;
	u64 charge = account->held_bytes + floor;

	rnbdt_assert_host(s->host);

	spin_lock(&rnbdt_budget_lock);
	rnbdt_budget_count_beyond(s, false);
	account->stopped = true;
	account->claimed_bytes = 0;
	WRITE_ONCE(account->floor_bytes, 0);
	WRITE_ONCE(account->pool_bytes, account->held_bytes);
	rnbdt_budget_charge(s->host, old, charge);
	rnbdt_budget_unlock();
	return floor;
}

/**
 * rnbdt_budget_freed - return all memory that was charged to a session for its pool
 * @s: session whose pool is free
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_budget_freed(struct rnbdt_session *s)
{
	spin_lock(&rnbdt_budget_lock);
	rnbdt_budget_hold(s, 0, 0);
	rnbdt_budget_unlock();
}
