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
 * Ownership: the share work has a reference on each session in its list. The shares are in
 * the sessions.
 *
 * Concurrency
 *
 * There may be thousands of sessions, and all clients wait for rnbdt_lock. So a session or a
 * login that lacks memory only queues the share work. That begins RNBDT_SHARE_PERIOD after
 * the end of the previous run at the earliest, because many sessions may be hungry at once.
 * It looks at each session once, at RNBDT_SHARE_BATCH with the lock held, and searches the
 * level without the lock, among those that want or hold more than their floor. Each later
 * step looks whether the session is still live. The numbers of a session may have changed
 * since they were read; a share may be as old as a run takes.
 *
 * Errors: none. What a client does not return in time is the concern of lease.c.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <rnbd/wire.h>

#include "budget.h"
#include "graph.h"
#include "level.h"
#include "lookup.h"
#include "segment.h"
#include "session.h"
#include "share.h"
#include "state.h"
#include "target.h"

#define RNBDT_SHARE_PERIOD	(HZ / 50)
#define RNBDT_SHARE_BATCH	32

/* Time after which memory that was reclaimed no longer counts as about to be returned */
#define RNBDT_SHARE_WAIT	HZ

/* Fraction bits of the part of a weight that a session has */
#define RNBDT_WEIGHT_SHIFT	8

static u64 rnbdt_floor_lacks;		/* by a login since the last run; rnbdt_lock */
static unsigned long rnbdt_share_next;	/* jiffies for the next run, or 0; rnbdt_lock */

/**
 * struct rnbdt_shares - a run of the share work
 * @parts: sessions whose share the level decides, or from which memory may be reclaimed,
 *	rnbdt_session.lease.part, each with a reference; the others have what they want
 * @charged: bytes that are charged for the pools of all live sessions
 * @settled: bytes that the others have
 * @lack: bytes that hungry sessions lack to their shares
 * @pending: bytes that clients will soon return
 */
struct rnbdt_shares {
	struct list_head parts;
	u64 charged;
	u64 settled;
	u64 lack;
	u64 pending;
};

/* Bytes that a session would hold if there were enough for all. */
static u64 rnbdt_share_demand(const struct rnbdt_session *s)
{
	u64 want = (u64)READ_ONCE(s->lease.want) * RNBD_UNIT_SIZE;

	return clamp(want, s->account.floor_bytes, s->account.max_bytes);
}

static bool rnbdt_share_counts(const struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);
	return READ_ONCE(s->state) == RNBDT_LIVE && s->account.pool_bytes;
}

/* Part of the weight of its host that a session has, in fractions. */
static u32 rnbdt_share_weight(const struct rnbdt_session *s)
{
	u32 weight = READ_ONCE(s->host->weight) << RNBDT_WEIGHT_SHIFT;

	return max(weight / max(s->host->nr_sessions - s->host->nr_claims, 1U), 1U);
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

/* Read what the share of a session depends on. Returns true if it is in the list. */
static bool rnbdt_share_read(struct rnbdt_shares *shares, struct rnbdt_session *s)
{
	struct rnbdt_part *part = &s->lease.part;

	if (!rnbdt_share_counts(s))
		return false;
	shares->charged += s->account.pool_bytes;
	rnbdt_level_init(part, rnbdt_share_least(s), rnbdt_share_demand(s),
			 rnbdt_share_weight(s));
	if (part->least < part->most || s->account.held_bytes > part->least) {
		list_add_tail(&part->entry, &shares->parts);
		return true;
	}
	s->lease.share = part->least;
	shares->settled += part->least;
	return false;
}

/* Read some sessions after the one with the serial @last. Returns the last serial, or 0. */
static unsigned long rnbdt_share_read_some(struct rnbdt_shares *shares, unsigned long last)
{
	struct rnbdt_session *batch[RNBDT_SHARE_BATCH];
	u32 nr, i;

	for (nr = 0; nr < RNBDT_SHARE_BATCH; nr++) {
		batch[nr] = rnbdt_lookup_after(last);
		if (!batch[nr])
			break;
		last = batch[nr]->serial;
	}
	mutex_lock(&rnbdt_lock);
	for (i = 0; i < nr; i++)
		if (rnbdt_share_read(shares, batch[i]))
			batch[i] = NULL;
	mutex_unlock(&rnbdt_lock);
	for (i = 0; i < nr; i++)
		if (batch[i])
			rnbdt_session_put(batch[i]);
	cond_resched();
	return nr == RNBDT_SHARE_BATCH ? last : 0;
}

/* Read all sessions. Returns the bytes for those in the list. */
static u64 rnbdt_share_read_all(struct rnbdt_shares *shares)
{
	unsigned long last = 0;
	u64 used, bytes;

	do {
		last = rnbdt_share_read_some(shares, last);
	} while (last);
	mutex_lock(&rnbdt_lock);
	used = rnbdt_budget_used();
	bytes = rnbdt_budget_elastic();
	mutex_unlock(&rnbdt_lock);
	/* Claims, and sessions that close, keep what they have. */
	used = used - min(used, shares->charged) + shares->settled;
	return bytes - min(used, bytes);
}

/*
 * Return the bytes that a client was asked for a moment ago, and will soon return. Others need
 * not wait for slow storage, or for a client that takes its time: more is reclaimed in place.
 */
static u64 rnbdt_share_pending(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	unsigned long slot;
	u64 bytes = 0;

	if (!s->lease.reclaiming)
		return 0;
	xa_for_each(&s->pool.slots, slot, seg)
		if (seg->reclaimed && !seg->stuck &&
		    time_before(jiffies, seg->reclaimed_at + RNBDT_SHARE_WAIT))
			bytes += (u64)seg->units * RNBD_UNIT_SIZE;
	return bytes;
}

/* Set the share of a session, and note what it lacks to that, or will return. */
static void rnbdt_share_set(struct rnbdt_shares *shares, struct rnbdt_session *s, u64 level)
{
	struct rnbdt_lease *lease = &s->lease;

	if (!rnbdt_share_counts(s))
		return;
	lease->share = rnbdt_level_share(&lease->part, level);
	if (!list_empty(&lease->hungry) && lease->share > s->account.pool_bytes)
		shares->lack += lease->share - s->account.pool_bytes;
	shares->pending += rnbdt_share_pending(s);
}

/* Set the shares of the listed sessions. */
static void rnbdt_share_update(struct rnbdt_shares *shares, u64 bytes)
{
	u64 level = rnbdt_level_find(&shares->parts, bytes);
	struct rnbdt_session *s;

	list_for_each_entry(s, &shares->parts, lease.part.entry) {
		mutex_lock(&rnbdt_lock);
		rnbdt_share_set(shares, s, level);
		mutex_unlock(&rnbdt_lock);
		cond_resched();
	}
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

/* Reclaim @bytes, one segment of each listed session in turn. */
static void rnbdt_share_collect(struct rnbdt_shares *shares, u64 bytes, bool for_floor)
{
	LIST_HEAD(spent);
	u64 taken = 0;

	while (taken < bytes && !list_empty(&shares->parts)) {
		struct rnbdt_session *s = list_first_entry(&shares->parts, struct rnbdt_session,
							   lease.part.entry);
		u64 more;

		mutex_lock(&rnbdt_lock);
		more = rnbdt_share_take(s, for_floor);
		mutex_unlock(&rnbdt_lock);
		taken += more;
		list_move_tail(&s->lease.part.entry, more ? &shares->parts : &spent);
		cond_resched();
	}
	list_splice(&spent, &shares->parts);
	shares->pending += taken;
}

static void rnbdt_share_release(struct rnbdt_shares *shares)
{
	struct rnbdt_session *s, *next;

	list_for_each_entry_safe(s, next, &shares->parts, lease.part.entry) {
		list_del_init(&s->lease.part.entry);
		rnbdt_session_put(s);
	}
}

/* Update the shares, and reclaim what hungry sessions lack to theirs, and logins to a floor. */
static void rnbdt_share_work(struct work_struct *work)
{
	struct rnbdt_shares shares = { .parts = LIST_HEAD_INIT(shares.parts) };
	u64 bytes, need, for_logins;

	mutex_lock(&rnbdt_lock);
	for_logins = rnbdt_floor_lacks;
	rnbdt_floor_lacks = 0;
	mutex_unlock(&rnbdt_lock);

	bytes = rnbdt_share_read_all(&shares);
	rnbdt_share_update(&shares, bytes);
	need = shares.lack + for_logins;
	if (need > shares.pending)
		rnbdt_share_collect(&shares, need - shares.pending, false);
	/*
	 * All segments may be larger than what each session has beyond its share. A session that
	 * falls below it is hungry, and gets a smaller one.
	 */
	if (for_logins > shares.pending)
		rnbdt_share_collect(&shares, for_logins - shares.pending, true);
	rnbdt_share_release(&shares);

	mutex_lock(&rnbdt_lock);
	rnbdt_share_next = jiffies + RNBDT_SHARE_PERIOD ?: 1;
	mutex_unlock(&rnbdt_lock);
}

static DECLARE_DELAYED_WORK(rnbdt_share_runs, rnbdt_share_work);

/**
 * rnbdt_share_reclaim - let the shares be updated, and what sessions lack be reclaimed
 * @floor_needed: bytes that a login lacks, or 0
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_share_reclaim(u64 floor_needed)
{
	bool early = rnbdt_share_next && time_before(jiffies, rnbdt_share_next);

	lockdep_assert_held(&rnbdt_lock);

	/* The sum would count a login that tries again several times. */
	rnbdt_floor_lacks = max(rnbdt_floor_lacks, floor_needed);
	queue_delayed_work(rnbdt_login_wq, &rnbdt_share_runs, early ? RNBDT_SHARE_PERIOD : 0);
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
	cancel_delayed_work_sync(&rnbdt_share_runs);
}
