// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the pools of all sessions: limits, floors and charges.
 *
 * Operation
 *
 * The memory of all pools has a limit, the budget, and the pools of each host have a limit, too.
 * A session has a floor, which it may hold at any time, and a ceiling. A session is charged for
 * its floor, or for the memory that it holds if that is more. So a login cannot make the sum of all
 * floors exceed the budget, and a session can always be granted its floor. Memory beyond a floor is
 * granted only while all charges are at most fifteen sixteenths of the budget, and the charges of
 * the host at most fifteen sixteenths of the limit of the host. The rest is kept for the floors of
 * new sessions.
 *
 * A session that wants more memory than the limits leave is hungry. When memory is returned, the
 * sessions that have been hungry longest retry. While other sessions are hungry, a session grows
 * only up to its share (share.c).
 *
 * A login needs memory for its floor. If other sessions hold the missing memory beyond their own
 * floors, the target reclaims it, answers the login with RNBD_ST_BUSY, and keeps the returned
 * memory for the login until the client retries. While closing sessions of the host hold the
 * missing memory, the answer is RNBD_ST_BUSY, too (headroom.c). Otherwise the login gets a smaller
 * floor, or is refused if the limits leave less than the smallest usable floor.
 *
 * Ownership
 *
 * A session records its own charges, and a host records the sum for its sessions and claims
 * (claim.c). rnbdt_budget_freed() returns the charges of a session after its memory was freed.
 *
 * Concurrency: the accounts of a host and of its sessions change only with the host locked.
 * Sessions of different hosts grow concurrently, so rnbdt_budget_lock protects the accounts and
 * the list of hungry sessions, too: a limit is checked and memory is charged in one critical
 * section. A changed limit applies only to later grants.
 *
 * Errors: a limit that is reached increments a counter. A log line warns when all pools together
 * come near their limit.
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

/* Maximum increase of a floor for memory that slow storage uses, as a multiple of the floor */
#define RNBDT_HUNG_FLOORS	8

/*
 * The pools of a host may grow per second by the limit of the host divided by this number, or by
 * the ceiling of a session if that is more, see rnbdt_budget_paced().
 */
#define RNBDT_GROW_SECONDS	10

/* Maximum number of hungry sessions that retry each time memory is returned */
#define RNBDT_RETRIES		8

static DEFINE_SPINLOCK(rnbdt_budget_lock);	/* all below, and the accounts of pools */
static u64 rnbdt_pool_bytes;		/* bytes charged for all sessions and claims */
static u64 rnbdt_pool_beyond;		/* sum of rnbdt_budget_beyond() of all sessions */
static struct rnbdt_awaited rnbdt_pool_awaited;	/* floor that a login waits for */
static bool rnbdt_pool_near;		/* rnbdt_pool_bytes is near the limit */
static bool rnbdt_pool_log;		/* rnbdt_budget_unlock() must log the use */
static LIST_HEAD(rnbdt_hungry);		/* hungry sessions, longest first */

/* Reduce @bytes to @left, the free part of the limit @which. If that was necessary, count it. */
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

/* Release rnbdt_budget_lock, and only then write the log line: the console can be slow. */
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

/* Log at 90 percent of the limit, and again only if the use was below 75 percent in between. */
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

/* Let the sessions that have been hungry longest retry. */
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

/* Change a part of the charge of a host from @old to @bytes. */
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

/* Return the bytes that a session holds beyond its floor and could return. */
static u64 rnbdt_budget_beyond(const struct rnbdt_account *account)
{
	return account->stopped ? 0 :
	       rnbdt_limit_left(account->held_bytes, account->floor_bytes);
}

/* Add the bytes that a session holds beyond its floor to the sums, or subtract them. */
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

/* Set the floor and the held bytes of a session, and charge the larger of them. */
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
 * rnbdt_budget_read - read the use of a limit of pool memory
 * @host: locked host, to read its limit, or NULL for the limit of all pools
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
 * rnbdt_budget_hungry - record whether a session wants more memory than the limits leave
 * @s: session
 * @hungry: true if it does; a session that was hungry already moves to the end of the list
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

/* Return the bytes that the limit of the host leaves for the floor of a session at its login. */
static u64 rnbdt_budget_host_left(const struct rnbdt_session *s)
{
	u64 own = s->account.claimed_bytes;

	/* The floor of the claim is charged already: it is left even if the limit is exceeded. */
	return max(own, rnbdt_limit_left(rnbdt_host_limit(s->host), s->host->pool_bytes - own));
}

static u64 rnbdt_budget_left(const struct rnbdt_session *s)
{
	u64 own = s->account.claimed_bytes;

	return max(own, rnbdt_limit_left(rnbdt_pool_limit(), rnbdt_pool_bytes - own));
}

/**
 * rnbdt_budget_login - limit the floor and the ceiling of the pool of a session
 * @s: session during its login; it has taken over its claim
 * @floor: requested floor in bytes; reduced to the memory that the limits leave, possibly to 0
 * @max: requested ceiling in bytes; reduced to the limits of the session and the host, but not
 *	below @floor
 *
 * Context: process context, host of @s locked.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY if memory for the floor is missing and closing sessions of
 * the host still hold memory of pools.
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

/* Return true if a login must wait for memory of other sessions; then also record that it waits. */
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
 * @s: session during its login; it has taken over its claim
 * @need: smallest usable floor in bytes
 *
 * If so, memory that other sessions return is kept for the login until its client retries. A
 * login does not wait if only floors use up a limit, because no floor is reclaimed, nor if logins
 * have waited for too long already (rnbdt_headroom_await()).
 *
 * Context: process context, host of @s locked.
 * Return: true if memory is missing while other sessions hold memory beyond their floors; then the
 * caller starts to reclaim that memory and answers the login with RNBD_ST_BUSY.
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

/* Charge the floor of a session. Return false if the limits leave less than @floor. */
static bool rnbdt_budget_charge_floor(struct rnbdt_session *s, u64 floor)
{
	lockdep_assert_held(&rnbdt_budget_lock);

	if (floor > min(rnbdt_budget_host_left(s), rnbdt_budget_left(s)))
		return false;
	/* The floor of the claim is charged already. */
	s->account.pool_bytes = s->account.claimed_bytes;
	s->account.claimed_bytes = 0;
	rnbdt_budget_hold(s, floor, floor);
	rnbdt_headroom_served(&s->host->awaited, floor);
	rnbdt_headroom_served(&rnbdt_pool_awaited, floor);
	return true;
}

/**
 * rnbdt_budget_charge_login - charge the floor that a session is about to be granted
 * @s: session without a pool
 * @floor: bytes, at most the result of rnbdt_budget_login()
 * @max: ceiling in bytes
 *
 * Context: process context, host of @s locked since rnbdt_budget_login().
 * Return: RNBD_ST_OK; RNBD_ST_BUSY while the host has no token for a login, or if sessions of
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
	/* The host is still locked, so the bucket still has the token that was checked above. */
	return charged ? rnbdt_rate_charge_logins(s->host, floor) : RNBD_ST_BUSY;
}

/**
 * rnbdt_budget_floor - return the floor of a session, increased by memory that slow storage uses
 * @s: session
 *
 * No memory is reclaimed from a session that holds at most this much. The increase replaces memory
 * that slow storage uses and that the other disks of the client therefore cannot use. Limiting the
 * increase to RNBDT_HUNG_FLOORS floors prevents a client from keeping all its memory with slow
 * requests. This increase suffices for one hung disk: the client lets one disk use at most eight
 * ninths of its pool, so in a pool of nine floors one floor is left for the other disks.
 *
 * Context: process context, host of @s locked.
 * Return: bytes, at most the ceiling of the session. Only the floor without the increase is
 * guaranteed to be available.
 */
u64 rnbdt_budget_floor(const struct rnbdt_session *s)
{
	u64 floor = s->account.floor_bytes;
	u64 hung = min((u64)READ_ONCE(s->lease.hung) * RNBD_UNIT_SIZE, RNBDT_HUNG_FLOORS * floor);

	rnbdt_assert_host(s->host);

	return min(floor + hung, s->account.max_bytes);
}

/**
 * rnbdt_budget_paced - test whether a grant would exceed the growth rate of a host
 * @s: session that is about to be granted memory
 * @bytes: size of the grant in bytes
 *
 * Each grant costs work, because the target zeroes and registers the memory, and a client can
 * return the memory at once and request it again. So within a second, a host is granted at most
 * its limit divided by RNBDT_GROW_SECONDS, or the ceiling of the session if that is more.
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

/* Return the part of @bytes that the limits leave to a session. */
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
		/* Round up: shares that are no multiple of a granule would leave memory unused. */
		if (others && lack < left)
			left = min(left, round_up(lack, granule));
		bytes = min(bytes, free + left);
	}
	return round_down(bytes, granule);
}

/**
 * rnbdt_budget_room - return how many bytes a session may be granted now
 * @s: session
 * @bytes: requested bytes, in addition to the held ones
 *
 * Context: process context, host of @s locked.
 * Return: bytes, at most @bytes, a multiple of RNBD_SEGMENT_GRANULE units.
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
 * @bytes: requested bytes, in addition to the held ones
 * @least: smallest useful number of bytes
 *
 * Context: process context, host of @s locked.
 * Return: charged bytes, from @least to @bytes, a multiple of RNBD_SEGMENT_GRANULE units; or 0.
 * The caller returns unused bytes by rnbdt_budget_shrink().
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
 * rnbdt_budget_take_over - give the floor of a claim to the session that takes over the claim
 * @s: session during its login
 * @bytes: floor of the claim, as rnbdt_budget_leave() returned it for the earlier session
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_budget_take_over(struct rnbdt_session *s, u64 bytes)
{
	rnbdt_assert_host(s->host);

	s->account.claimed_bytes = bytes;
}

/**
 * rnbdt_budget_leave - separate the floor of a session from the memory that it holds
 * @s: closing session
 *
 * Context: process context, host of @s locked.
 * Return: bytes of the former floor. The host stays charged for them, in addition to the memory
 * that the session holds.
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
 * @s: session whose pool was freed
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_budget_freed(struct rnbdt_session *s)
{
	spin_lock(&rnbdt_budget_lock);
	rnbdt_budget_hold(s, 0, 0);
	rnbdt_budget_unlock();
}
