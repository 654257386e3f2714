// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fair shares of the memory for pools, and what is reclaimed for them.
 *
 * Operation
 *
 * When memory is short, the sessions divide the budget in proportion to the weights of their
 * hosts; the sessions of a host have equal parts of its weight. No session gets less than its
 * floor or more than it wants, and what one does not want is divided among the others. The
 * shares follow from one number, the level, which bisection finds: the share of a session is
 * its weight times the level, within its floor and its demand. Memory that slow storage uses
 * is of no use to the session: as much as its floor does not count for that (rule R7).
 *
 * Segments are reclaimed from sessions that hold more than their share, the newest first, one
 * of each session in turn, until the hungry sessions below their share, and logins that wait
 * for their floor, will find what they lack. A segment is never reclaimed if the session would
 * fall below its share, and never for a session that has its share (rule R9).
 *
 * Ownership: nothing is allocated. The shares are in the sessions.
 *
 * Concurrency: all under rnbdt_lock. The walk over the sessions is done at most once per
 * RNBDT_SHARE_PERIOD, because many sessions may be hungry at once.
 *
 * Errors: none. What a client does not return in time is the concern of lease.c.
 */

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <rnbd/wire.h>

#include "budget.h"
#include "graph.h"
#include "segment.h"
#include "session.h"
#include "share.h"
#include "state.h"
#include "target.h"

#define RNBDT_SHARE_PERIOD	(HZ / 50)

/* Fraction bits of a level, and of the part of a weight that a session has */
#define RNBDT_LEVEL_SHIFT	8

/* Bytes that a session would hold if there were enough for all. */
static u64 rnbdt_share_demand(const struct rnbdt_session *s)
{
	u64 want = (u64)READ_ONCE(s->lease.want) * RNBD_UNIT_SIZE;

	return clamp(want, s->account.floor_bytes, s->account.max_bytes);
}

static bool rnbdt_share_counts(const struct rnbdt_session *s)
{
	return READ_ONCE(s->state) == RNBDT_LIVE && s->account.pool_bytes;
}

/* Part of the weight of its host that a session has, in fractions. */
static u32 rnbdt_share_weight(const struct rnbdt_session *s)
{
	u32 weight = READ_ONCE(s->host->weight) << RNBDT_LEVEL_SHIFT;

	return max(weight / max(s->host->nr_sessions, 1U), 1U);
}

/*
 * Bytes that a session has in any case: what slow storage uses comes on top of its floor, and
 * cannot be returned.
 */
static u64 rnbdt_share_least(const struct rnbdt_session *s)
{
	const struct rnbdt_lease *lease = &s->lease;
	u64 least = rnbdt_budget_floor(s);

	if (lease->stuck)
		least = max(least, s->account.held_bytes -
			    (u64)(lease->reclaiming - lease->stuck) * RNBD_UNIT_SIZE);
	return least;
}

static u64 rnbdt_share_at(const struct rnbdt_session *s, u64 level)
{
	u64 share = mul_u64_u32_shr(level, rnbdt_share_weight(s), 2 * RNBDT_LEVEL_SHIFT);
	u64 least = rnbdt_share_least(s);

	return clamp(share, least, max(least, rnbdt_share_demand(s)));
}

static u64 rnbdt_share_sum(u64 level)
{
	const struct rnbdt_session *s;
	u64 sum = 0;

	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (rnbdt_share_counts(s))
			sum += rnbdt_share_at(s, level);
	return sum;
}

/* Find the highest level at which all shares together are at most @bytes. */
static u64 rnbdt_share_level(u64 bytes)
{
	u64 low = 0, high = bytes << RNBDT_LEVEL_SHIFT;

	/* One part in a thousand is exact enough. */
	while (high - low > low >> 10 && high - low > 1) {
		u64 level = low + (high - low) / 2;

		if (rnbdt_share_sum(level) <= bytes)
			low = level;
		else
			high = level;
	}
	return low;
}

/* Set the shares of all sessions. Returns the bytes that hungry ones lack to theirs. */
static u64 rnbdt_share_update(void)
{
	u64 charged = 0, others, level, lack = 0;
	struct rnbdt_session *s;

	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (rnbdt_share_counts(s))
			charged += s->account.pool_bytes;
	/* Claims, and sessions that close, keep what they have. */
	others = rnbdt_budget_used() - charged;
	level = rnbdt_share_level(rnbdt_budget_elastic() -
				  min(others, rnbdt_budget_elastic()));
	list_for_each_entry(s, &rnbdt_sessions, entry) {
		if (!rnbdt_share_counts(s))
			continue;
		s->lease.share = rnbdt_share_at(s, level);
		if (!list_empty(&s->lease.hungry) && s->lease.share > s->account.pool_bytes)
			lack += s->lease.share - s->account.pool_bytes;
	}
	return lack;
}

/* Find the newest segment that a session can spare of @excess bytes. */
static struct rnbdt_segment *rnbdt_share_victim(struct rnbdt_session *s, u64 excess)
{
	struct rnbdt_segment *seg, *newest = NULL;
	unsigned long slot;

	xa_for_each(&s->pool.slots, slot, seg) {
		if (seg->reclaimed || READ_ONCE(seg->released) ||
		    (u64)seg->units * RNBD_UNIT_SIZE > excess)
			continue;
		if (!newest || time_after(seg->granted_at, newest->granted_at))
			newest = seg;
	}
	return newest;
}

/* Reclaim one segment of a session, if it holds more than its share. Returns its bytes. */
static u64 rnbdt_share_take(struct rnbdt_session *s)
{
	u64 has = s->account.held_bytes;
	struct rnbdt_segment *seg;

	if (!rnbdt_share_counts(s))
		return 0;
	has -= min(has, (u64)s->lease.reclaiming * RNBD_UNIT_SIZE);
	if (has <= s->lease.share)
		return 0;
	seg = rnbdt_share_victim(s, has - s->lease.share);
	if (!seg)
		return 0;
	seg->reclaimed = true;
	s->lease.reclaiming += seg->units;
	s->lease.reclaims++;
	/* The lease work sends the request and watches it. */
	mod_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, 0);
	return (u64)seg->units * RNBD_UNIT_SIZE;
}

/*
 * Return the bytes that clients were asked for and will soon return. What slow storage uses
 * is not waited for: others return memory in its place.
 */
static u64 rnbdt_share_pending(void)
{
	struct rnbdt_session *s;
	u64 bytes = 0;

	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (rnbdt_share_counts(s))
			bytes += (u64)(s->lease.reclaiming - s->lease.stuck) * RNBD_UNIT_SIZE;
	return bytes;
}

/**
 * rnbdt_share_reclaim - update the shares, and reclaim what hungry sessions lack to theirs
 * @floor_needed: bytes that a login lacks, or 0
 *
 * Context: process context, rnbdt_lock held; may run long if there are many sessions, so
 * most calls do nothing.
 */
void rnbdt_share_reclaim(u64 floor_needed)
{
	static unsigned long next;
	u64 need, pending, taken;
	struct rnbdt_session *s;

	lockdep_assert_held(&rnbdt_lock);

	if (next && time_before(jiffies, next))
		return;
	next = jiffies + RNBDT_SHARE_PERIOD;
	need = rnbdt_share_update() + floor_needed;
	pending = rnbdt_share_pending();
	while (need > pending) {
		taken = 0;
		list_for_each_entry(s, &rnbdt_sessions, entry) {
			if (need <= pending + taken)
				break;
			taken += rnbdt_share_take(s);
		}
		if (!taken)
			break;
		pending += taken;
	}
}
