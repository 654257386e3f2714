// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fair shares of the memory for pools, and what is reclaimed for them.
 *
 * Operation
 *
 * When memory is short, the sessions divide the budget in proportion to the weights of their
 * hosts; the sessions of a host have equal parts of its weight. No session gets less than its
 * floor or more than it wants, and what one does not want is divided among the others. The
 * shares follow from one number, the level (level.c): the share of a session is its weight
 * times the level, within its floor and its demand. Memory that slow storage uses
 * is of no use to the session: as much as its floor does not count for that (rule R7).
 *
 * Segments are reclaimed from sessions that hold more than their share, the newest first, one
 * of each session in turn, until the hungry sessions below their share, and logins that wait
 * for their floor, will find what they lack. A segment is not reclaimed if the session would
 * fall below its share, except for the floor of a login if there is no other, and never for a
 * session that has its share (rule R9).
 *
 * Ownership: nothing is allocated. The shares are in the sessions.
 *
 * Concurrency: all under rnbdt_lock. A walk over the sessions begins RNBDT_SHARE_PERIOD after
 * the end of the previous one at the earliest, because many sessions may be hungry at once.
 * It reads each session once, and searches the level among those that want or hold more than
 * their floor.
 *
 * Errors: none. What a client does not return in time is the concern of lease.c.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <rnbd/wire.h>

#include "budget.h"
#include "graph.h"
#include "level.h"
#include "segment.h"
#include "session.h"
#include "share.h"
#include "state.h"
#include "target.h"

#define RNBDT_SHARE_PERIOD	(HZ / 50)

/* Time after which memory that was reclaimed no longer counts as about to be returned */
#define RNBDT_SHARE_WAIT	HZ

/* Fraction bits of the part of a weight that a session has */
#define RNBDT_WEIGHT_SHIFT	8

static u64 rnbdt_floor_lacks;		/* by a login since the last walk; rnbdt_lock */
static unsigned long rnbdt_share_next;	/* jiffies for the next walk, or 0; rnbdt_lock */

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
	u32 weight = READ_ONCE(s->host->weight) << RNBDT_WEIGHT_SHIFT;

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

/*
 * List the sessions whose share the level decides, or from which memory may be reclaimed. The
 * others have what they want: there may be thousands, and each is read once. Returns the bytes
 * for those in the list.
 */
static u64 rnbdt_share_list(struct list_head *parts)
{
	u64 bytes = rnbdt_budget_elastic(), others = rnbdt_budget_used();
	struct rnbdt_session *s;

	list_for_each_entry(s, &rnbdt_sessions, entry) {
		struct rnbdt_part *part = &s->lease.part;

		if (!rnbdt_share_counts(s))
			continue;
		others -= s->account.pool_bytes;
		rnbdt_level_init(part, rnbdt_share_least(s), rnbdt_share_demand(s),
				 rnbdt_share_weight(s));
		if (part->least < part->most || s->account.held_bytes > part->least) {
			list_add_tail(&part->entry, parts);
		} else {
			s->lease.share = part->least;
			others += part->least;
		}
	}
	/* Claims, and sessions that close, keep what they have. */
	return bytes - min(others, bytes);
}

/* Set the shares of the listed sessions. Returns the bytes that hungry ones lack to theirs. */
static u64 rnbdt_share_update(struct list_head *parts, u64 bytes)
{
	u64 level = rnbdt_level_find(parts, bytes), lack = 0;
	struct rnbdt_session *s;

	list_for_each_entry(s, parts, lease.part.entry) {
		s->lease.share = rnbdt_level_share(&s->lease.part, level);
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

/**
 * rnbdt_share_ask - let the client of a session be asked to return a segment
 * @s: live session
 * @seg: segment that was not reclaimed yet
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_share_ask(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	lockdep_assert_held(&rnbdt_lock);

	seg->reclaimed = true;
	seg->reclaimed_at = jiffies;
	s->lease.reclaiming += seg->units;
	s->lease.reclaims++;
	/* The lease work sends the request and watches it. */
	mod_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, 0);
}

/*
 * Reclaim one segment of a session, if it holds more than its share. The session keeps its
 * share, or for a floor only what no other session may take. Returns the bytes.
 */
static u64 rnbdt_share_take(struct rnbdt_session *s, bool for_floor)
{
	u64 has = s->account.held_bytes, keep = s->lease.share;
	struct rnbdt_segment *seg;

	if (!rnbdt_share_counts(s))
		return 0;
	has -= min(has, (u64)s->lease.reclaiming * RNBD_UNIT_SIZE);
	if (has <= s->lease.share)
		return 0;
	if (for_floor)
		keep = min(keep, rnbdt_budget_floor(s));
	seg = rnbdt_share_victim(s, has - keep);
	if (!seg)
		return 0;
	rnbdt_share_ask(s, seg);
	return (u64)seg->units * RNBD_UNIT_SIZE;
}

/*
 * Return the bytes that clients were asked for a moment ago, and will soon return. Others need
 * not wait for slow storage, or for a client that takes its time: more is reclaimed in place.
 */
static u64 rnbdt_share_pending(struct list_head *parts)
{
	struct rnbdt_segment *seg;
	struct rnbdt_session *s;
	unsigned long slot;
	u64 bytes = 0;

	list_for_each_entry(s, parts, lease.part.entry) {
		if (!s->lease.reclaiming)
			continue;
		xa_for_each(&s->pool.slots, slot, seg)
			if (seg->reclaimed && !seg->stuck &&
			    time_before(jiffies, seg->reclaimed_at + RNBDT_SHARE_WAIT))
				bytes += (u64)seg->units * RNBD_UNIT_SIZE;
	}
	return bytes;
}

/* Reclaim @bytes, one segment of each listed session in turn. Returns what there was. */
static u64 rnbdt_share_collect(struct list_head *parts, u64 bytes, bool for_floor)
{
	LIST_HEAD(spent);
	u64 taken = 0;

	while (taken < bytes && !list_empty(parts)) {
		struct rnbdt_session *s = list_first_entry(parts, struct rnbdt_session,
							   lease.part.entry);
		u64 more = rnbdt_share_take(s, for_floor);

		taken += more;
		list_move_tail(&s->lease.part.entry, more ? parts : &spent);
		cond_resched();
	}
	list_splice(&spent, parts);
	return taken;
}

/* Update the shares, and reclaim what hungry sessions lack to theirs, and logins to a floor. */
static void rnbdt_share_walk(void)
{
	u64 bytes, need, pending;
	LIST_HEAD(parts);

	bytes = rnbdt_share_list(&parts);
	need = rnbdt_share_update(&parts, bytes) + rnbdt_floor_lacks;
	pending = rnbdt_share_pending(&parts);
	if (need > pending)
		pending += rnbdt_share_collect(&parts, need - pending, false);
	/*
	 * All segments may be larger than what each session has beyond its share. A session that
	 * falls below it is hungry, and gets a smaller one.
	 */
	if (rnbdt_floor_lacks > pending)
		rnbdt_share_collect(&parts, rnbdt_floor_lacks - pending, true);
	/* The list is on the stack. */
	while (!list_empty(&parts))
		list_del_init(parts.next);
	rnbdt_floor_lacks = 0;
	/* The lock is free for as long at least, however long this took. */
	rnbdt_share_next = jiffies + RNBDT_SHARE_PERIOD ?: 1;
}

static void rnbdt_share_work(struct work_struct *work)
{
	mutex_lock(&rnbdt_lock);
	/* A walk since then has reclaimed it. */
	if (rnbdt_floor_lacks)
		rnbdt_share_walk();
	mutex_unlock(&rnbdt_lock);
}

static DECLARE_DELAYED_WORK(rnbdt_share_late, rnbdt_share_work);

/**
 * rnbdt_share_reclaim - update the shares, and reclaim what hungry sessions lack to theirs
 * @floor_needed: bytes that a login lacks, or 0
 *
 * Context: process context, rnbdt_lock held; may run long if there are many sessions, so
 * most calls do nothing. What a login lacks is then reclaimed by the next walk.
 */
void rnbdt_share_reclaim(u64 floor_needed)
{
	lockdep_assert_held(&rnbdt_lock);

	/* The sum would count a login that tries again several times. */
	rnbdt_floor_lacks = max(rnbdt_floor_lacks, floor_needed);
	if (!rnbdt_share_next || time_after_eq(jiffies, rnbdt_share_next))
		rnbdt_share_walk();
	else if (floor_needed)
		queue_delayed_work(rnbdt_lease_wq, &rnbdt_share_late, RNBDT_SHARE_PERIOD);
}

/**
 * rnbdt_share_exit - stop the work item of this file
 *
 * Call when no session is left.
 *
 * Context: process context, module exit.
 */
void rnbdt_share_exit(void)
{
	cancel_delayed_work_sync(&rnbdt_share_late);
}
