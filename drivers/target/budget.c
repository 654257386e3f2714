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
 * fifteen sixteenths of the budget, so that a new session finds its floor at once.
 *
 * A session that wants more than the limits leave is hungry. When memory is returned, the
 * sessions that have been hungry longest try again. While others are hungry, a session grows
 * only up to its share (share.c).
 *
 * If sessions of the host that are closing still hold what a login lacks, the login is
 * answered with RNBD_ST_BUSY (headroom.c).
 *
 * Ownership
 *
 * Charges are recorded in the session, and in the host for all its sessions and claims
 * (claim.c). rnbdt_budget_freed() returns them when the memory is free.
 *
 * Concurrency: the accounts are under rnbdt_lock. A changed limit applies to what is granted
 * from then on.
 *
 * Errors: a reached limit increases a counter. The log has a line when all pools come near
 * their limit.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
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

/* Seconds in which the pools of a host may be granted its limit */
#define RNBDT_GROW_SECONDS	10

/* Sessions that try again when memory was returned */
#define RNBDT_RETRIES		8

static u64 rnbdt_pool_bytes;		/* charged for all sessions and claims; rnbdt_lock */
static u64 rnbdt_pool_beyond;		/* held beyond floors, if not stopped; rnbdt_lock */
static bool rnbdt_pool_near;		/* the limit; rnbdt_lock */
static LIST_HEAD(rnbdt_hungry);		/* sessions, longest first; rnbdt_lock */

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
	rnbdt_limit_hit(RNBDT_LIMIT_POOL_NEAR);
	pr_warn("pools use %llu of %llu MiB: pools do not grow, and further logins get a smaller pool or none (pool_limit_mb)\n",
		rnbdt_pool_bytes >> 20, limit >> 20);
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

/**
 * rnbdt_budget_charge - charge memory of pools to a host
 * @host: host
 * @bytes: bytes
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_budget_charge(struct rnbdt_host *host, u64 bytes)
{
	lockdep_assert_held(&rnbdt_lock);

	host->pool_bytes += bytes;
	rnbdt_pool_bytes += bytes;
	rnbdt_budget_check();
}

/**
 * rnbdt_budget_return - return memory of pools that was charged to a host
 * @host: host
 * @bytes: bytes
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_budget_return(struct rnbdt_host *host, u64 bytes)
{
	lockdep_assert_held(&rnbdt_lock);

	if (!bytes)
		return;
	host->pool_bytes -= bytes;
	rnbdt_pool_bytes -= bytes;
	rnbdt_budget_check();
	rnbdt_budget_feed();
}

/* Return what a session holds beyond its floor, and could return. */
static u64 rnbdt_budget_beyond(const struct rnbdt_account *account)
{
	return account->stopped ? 0 :
	       rnbdt_limit_left(account->held_bytes, account->floor_bytes);
}

/* Set the floor of a session and what it holds, and so its charge. */
static void rnbdt_budget_hold(struct rnbdt_session *s, u64 floor, u64 held)
{
	struct rnbdt_account *account = &s->account;
	u64 old = account->pool_bytes, charge = max(floor, held);

	rnbdt_pool_beyond -= rnbdt_budget_beyond(account);
	WRITE_ONCE(account->floor_bytes, floor);
	account->held_bytes = held;
	rnbdt_pool_beyond += rnbdt_budget_beyond(account);
	WRITE_ONCE(account->pool_bytes, charge);
	if (charge > old)
		rnbdt_budget_charge(s->host, charge - old);
	else
		rnbdt_budget_return(s->host, old - charge);
}

/**
 * rnbdt_budget_elastic - return the memory that sessions may hold, floors included
 *
 * Context: process context, rnbdt_lock held.
 * Return: bytes: the budget without the part that is kept for floors.
 */
u64 rnbdt_budget_elastic(void)
{
	u64 limit = rnbdt_pool_limit();

	return limit - limit / 16;
}

/**
 * rnbdt_budget_reclaimable - test whether sessions hold memory beyond their floors
 *
 * Context: process context, rnbdt_lock held.
 * Return: true if so.
 */
bool rnbdt_budget_reclaimable(void)
{
	lockdep_assert_held(&rnbdt_lock);
	return rnbdt_pool_beyond;
}

/**
 * rnbdt_budget_used - return the memory that is charged to all hosts
 *
 * Context: process context, rnbdt_lock held.
 * Return: bytes.
 */
u64 rnbdt_budget_used(void)
{
	lockdep_assert_held(&rnbdt_lock);
	return rnbdt_pool_bytes;
}

/**
 * rnbdt_budget_hungry - note whether a session wants more memory than the limits leave
 * @s: session
 * @hungry: it does; a session that did before is asked last when memory is returned
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_budget_hungry(struct rnbdt_session *s, bool hungry)
{
	lockdep_assert_held(&rnbdt_lock);

	list_del_init(&s->lease.hungry);
	if (hungry)
		list_add_tail(&s->lease.hungry, &rnbdt_hungry);
}

/**
 * rnbdt_budget_login - limit the floor and the ceiling of the pool of a session
 * @s: session that logs in; it has taken over its claim
 * @floor: requested floor in bytes; cut to what the limits leave, perhaps 0
 * @max: requested ceiling in bytes; cut to the limits, at least @floor
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY if closing sessions of the host still hold
 * pools that would be needed.
 */
u16 rnbdt_budget_login(const struct rnbdt_session *s, u64 *floor, u64 *max)
{
	u64 of_session = rnbdt_session_limit(s->host);
	u64 of_host = rnbdt_host_limit(s->host);
	u64 own = s->account.claimed_bytes;
	u64 host_left = rnbdt_limit_left(of_host, s->host->pool_bytes - own);
	u64 left = rnbdt_limit_left(rnbdt_pool_limit(), rnbdt_pool_bytes - own);

	lockdep_assert_held(&rnbdt_lock);

	if (min(*floor, of_session) > min(host_left, left) &&
	    rnbdt_headroom_closing(s->host).pools)
		return RNBD_ST_BUSY;
	*floor = rnbdt_limit_cut(*floor, of_session, RNBDT_LIMIT_SESSION_POOL);
	*floor = rnbdt_limit_cut(*floor, host_left, RNBDT_LIMIT_HOST_POOL);
	*floor = rnbdt_limit_cut(*floor, left, RNBDT_LIMIT_POOL);
	*max = max(min3(*max, of_session, of_host), *floor);
	return RNBD_ST_OK;
}

/**
 * rnbdt_budget_charge_login - charge the floor of a session, which it is about to be granted
 * @s: session without a pool
 * @floor: bytes, at most what rnbdt_budget_login() has returned
 * @max: ceiling in bytes
 *
 * Context: process context, rnbdt_lock held since rnbdt_budget_login().
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY while the bucket of logins is empty.
 */
u16 rnbdt_budget_charge_login(struct rnbdt_session *s, u64 floor, u64 max)
{
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	status = rnbdt_rate_charge_logins(s->host, floor);
	if (status)
		return status;
	s->account.max_bytes = max;
	s->lease.share = U64_MAX;
	/* What the claim had is charged already. */
	s->account.pool_bytes = s->account.claimed_bytes;
	s->account.claimed_bytes = 0;
	rnbdt_budget_hold(s, floor, floor);
	return RNBD_ST_OK;
}

/**
 * rnbdt_budget_floor - return what a session may hold before others get their shares
 * @s: session
 *
 * Only its floor is always there. What slow storage uses of it is replaced once: a client
 * decides how many of its requests are slow, and must not keep more memory by that.
 *
 * Context: process context, rnbdt_lock held.
 * Return: bytes: its floor, and what slow storage uses of its pool, at most as much.
 */
u64 rnbdt_budget_floor(const struct rnbdt_session *s)
{
	u64 floor = s->account.floor_bytes;
	u64 hung = min((u64)READ_ONCE(s->lease.hung) * RNBD_UNIT_SIZE, floor);

	lockdep_assert_held(&rnbdt_lock);

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
 * Context: process context, rnbdt_lock held.
 * Return: true if the session must wait for the next second.
 */
bool rnbdt_budget_paced(const struct rnbdt_session *s, u64 bytes)
{
	u64 pace = div_u64(rnbdt_host_limit(s->host), RNBDT_GROW_SECONDS);
	struct rnbdt_host *host = s->host;

	lockdep_assert_held(&rnbdt_lock);

	if (!host->grown_bytes || time_after_eq(jiffies, host->grown_since + HZ)) {
		host->grown_since = jiffies;
		host->grown_bytes = 0;
	}
	return host->grown_bytes + bytes > max(pace, s->account.max_bytes);
}

/**
 * rnbdt_budget_room - return how much a session may be granted now
 * @s: session
 * @bytes: bytes that it wants in addition to what it holds
 *
 * Context: process context, rnbdt_lock held.
 * Return: bytes, at most @bytes, a multiple of RNBD_SEGMENT_GRANULE.
 */
u64 rnbdt_budget_room(const struct rnbdt_session *s, u64 bytes)
{
	const struct rnbdt_account *account = &s->account;
	u64 free = rnbdt_limit_left(account->floor_bytes, account->held_bytes);
	u64 left = rnbdt_limit_left(rnbdt_budget_elastic(), rnbdt_pool_bytes);
	bool others;

	lockdep_assert_held(&rnbdt_lock);

	bytes = min(bytes, rnbdt_limit_left(account->max_bytes, account->held_bytes));
	if (bytes > free) {
		others = !list_empty(&rnbdt_hungry) &&
			 !(list_is_first(&s->lease.hungry, &rnbdt_hungry) &&
			   list_is_last(&s->lease.hungry, &rnbdt_hungry));
		left = min(left, rnbdt_limit_left(rnbdt_host_limit(s->host),
						  s->host->pool_bytes));
		if (others)
			left = min(left, rnbdt_limit_left(max(s->lease.share,
							      rnbdt_budget_floor(s)),
							  account->pool_bytes));
		bytes = min(bytes, free + left);
	}
	return round_down(bytes, RNBD_SEGMENT_GRANULE * RNBD_UNIT_SIZE);
}

/**
 * rnbdt_budget_grow - charge memory that a session is about to be granted
 * @s: session
 * @bytes: bytes that it wants in addition to what it holds
 * @least: bytes below which the memory is of no use
 *
 * Context: process context, rnbdt_lock held.
 * Return: bytes that were charged, from @least to @bytes, a multiple of
 * RNBD_SEGMENT_GRANULE; or 0. The caller returns what it does not use by
 * rnbdt_budget_shrink().
 */
u64 rnbdt_budget_grow(struct rnbdt_session *s, u64 bytes, u64 least)
{
	u64 room = rnbdt_budget_room(s, bytes);

	if (!room || room < least)
		return 0;
	rnbdt_budget_hold(s, s->account.floor_bytes, s->account.held_bytes + room);
	s->host->grown_bytes += room;
	return room;
}

/**
 * rnbdt_budget_shrink - return memory that a session held or was about to be granted
 * @s: session
 * @bytes: bytes
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_budget_shrink(struct rnbdt_session *s, u64 bytes)
{
	lockdep_assert_held(&rnbdt_lock);

	rnbdt_budget_hold(s, s->account.floor_bytes, s->account.held_bytes - bytes);
}

/**
 * rnbdt_budget_take_over - let a session have the floor of its claim
 * @s: session that logs in
 * @bytes: what rnbdt_budget_leave() has returned
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_budget_take_over(struct rnbdt_session *s, u64 bytes)
{
	lockdep_assert_held(&rnbdt_lock);

	s->account.claimed_bytes = bytes;
}

/**
 * rnbdt_budget_leave - charge a session only for what it holds
 * @s: closing session
 *
 * Context: process context, rnbdt_lock held.
 * Return: bytes of the former floor, which are charged to the host in addition.
 */
u64 rnbdt_budget_leave(struct rnbdt_session *s)
{
	struct rnbdt_account *account = &s->account;
	u64 floor = account->floor_bytes + account->claimed_bytes;
	u64 old = account->pool_bytes + account->claimed_bytes;
	u64 charge = account->held_bytes + floor;

	lockdep_assert_held(&rnbdt_lock);

	rnbdt_pool_beyond -= rnbdt_budget_beyond(account);
	account->stopped = true;
	account->claimed_bytes = 0;
	WRITE_ONCE(account->floor_bytes, 0);
	WRITE_ONCE(account->pool_bytes, account->held_bytes);
	if (charge > old)
		rnbdt_budget_charge(s->host, charge - old);
	else
		rnbdt_budget_return(s->host, old - charge);
	return floor;
}

/**
 * rnbdt_budget_freed - return all memory that was charged to a session for its pool
 * @s: session whose pool is free
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_budget_freed(struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	rnbdt_budget_hold(s, 0, 0);
}
