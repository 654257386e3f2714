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
 * Ownership
 *
 * A run of the share work has an array of the sessions, with a reference for each. The shares
 * are in the sessions.
 *
 * Concurrency
 *
 * There may be thousands of sessions, and logins wait for rnbdt_lock. So whoever lacks memory
 * only queues the share work, which runs at most once per RNBDT_SHARE_PERIOD, because many
 * sessions may be hungry at once. It holds the lock for RNBDT_SHARE_BATCH sessions at a time;
 * a session may change between two steps, so each step looks whether it is live.
 *
 * Errors: without memory for the array, the work tries again. What a client does not return
 * in time is the concern of lease.c.
 */

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <rnbd/wire.h>

#include "budget.h"
#include "graph.h"
#include "limits.h"
#include "lookup.h"
#include "segment.h"
#include "session.h"
#include "share.h"
#include "state.h"
#include "target.h"

#define RNBDT_SHARE_PERIOD	(HZ / 50)
#define RNBDT_SHARE_BATCH	32

/* Fraction bits of a level, and of the part of a weight that a session has */
#define RNBDT_LEVEL_SHIFT	8

/**
 * struct rnbdt_part - a session as a run of the share work sees it
 * @s: session, of which the run has a reference
 * @least: bytes that the session has in any case
 * @most: bytes that it would hold if there were enough for all, at least @least
 * @weight: its part of the weight of its host, in fractions
 * @over: it holds more than its share
 */
struct rnbdt_part {
	struct rnbdt_session *s;
	u64 least;
	u64 most;
	u32 weight;
	bool over;
};

/**
 * struct rnbdt_parts - what a run of the share work knows of all sessions
 * @part: the sessions
 * @nr: number of them
 * @charged: bytes that are charged for them
 * @lack: bytes that hungry ones lack to their shares
 * @pending: bytes that clients were asked for and will soon return
 */
struct rnbdt_parts {
	struct rnbdt_part *part;
	u32 nr;
	u64 charged;
	u64 lack;
	u64 pending;
};

static u64 rnbdt_share_needed;		/* bytes that logins lack; rnbdt_lock */
static unsigned long rnbdt_share_ran;	/* jiffies of the latest run; rnbdt_lock */

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
	u32 weight = READ_ONCE(s->host->weight) << RNBDT_LEVEL_SHIFT;

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

/* Note a session as it is now. */
static void rnbdt_share_note(struct rnbdt_parts *parts, struct rnbdt_part *part)
{
	struct rnbdt_session *s = part->s;

	part->weight = 0;
	if (!rnbdt_share_counts(s))
		return;
	part->weight = rnbdt_share_weight(s);
	part->least = rnbdt_share_least(s);
	part->most = max(part->least, rnbdt_share_demand(s));
	parts->charged += s->account.pool_bytes;
}

/* Get all sessions. Sessions that log in meanwhile may be left out: they have their floor. */
static int rnbdt_share_collect(struct rnbdt_parts *parts)
{
	u32 room = rnbdt_limits_count(), i, j;
	struct rnbdt_session *s;
	unsigned long last = 0;

	*parts = (struct rnbdt_parts) {
		.part = kvcalloc(room, sizeof(*parts->part), GFP_KERNEL),
	};
	if (room && !parts->part)
		return -ENOMEM;
	while (parts->nr < room && (s = rnbdt_lookup_after(last))) {
		last = s->serial;
		/* Pairs with the release that makes the session live. */
		if (smp_load_acquire(&s->state) != RNBDT_LIVE) {
			rnbdt_session_put(s);
			continue;
		}
		parts->part[parts->nr++].s = s;
		cond_resched();
	}
	for (i = 0; i < parts->nr; i = j) {
		mutex_lock(&rnbdt_lock);
		for (j = i; j < min(i + RNBDT_SHARE_BATCH, parts->nr); j++)
			rnbdt_share_note(parts, &parts->part[j]);
		mutex_unlock(&rnbdt_lock);
	}
	return 0;
}

static void rnbdt_share_release(struct rnbdt_parts *parts)
{
	while (parts->nr)
		rnbdt_session_put(parts->part[--parts->nr].s);
	kvfree(parts->part);
}

static u64 rnbdt_share_at(const struct rnbdt_part *part, u64 level)
{
	u64 share = mul_u64_u32_shr(level, part->weight, 2 * RNBDT_LEVEL_SHIFT);

	return clamp(share, part->least, part->most);
}

static u64 rnbdt_share_sum(const struct rnbdt_parts *parts, u64 level)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < parts->nr; i++)
		if (parts->part[i].weight)
			sum += rnbdt_share_at(&parts->part[i], level);
	return sum;
}

/* Find the highest level at which all shares together are at most @bytes. */
static u64 rnbdt_share_level(const struct rnbdt_parts *parts, u64 bytes)
{
	u64 low = 0, high = bytes << RNBDT_LEVEL_SHIFT;

	/* One part in a thousand is exact enough. */
	while (high - low > low >> 10 && high - low > 1) {
		u64 level = low + (high - low) / 2;

		if (rnbdt_share_sum(parts, level) <= bytes)
			low = level;
		else
			high = level;
		cond_resched();
	}
	return low;
}

/* Set the share of a session, and note what it lacks or holds beyond that. */
static void rnbdt_share_set(struct rnbdt_parts *parts, struct rnbdt_part *part, u64 level)
{
	struct rnbdt_session *s = part->s;
	const struct rnbdt_lease *lease = &s->lease;

	if (!part->weight || !rnbdt_share_counts(s))
		return;
	s->lease.share = rnbdt_share_at(part, level);
	if (!list_empty(&lease->hungry) && lease->share > s->account.pool_bytes)
		parts->lack += lease->share - s->account.pool_bytes;
	/* What slow storage uses is not waited for: others return memory in its place. */
	parts->pending += (u64)(lease->reclaiming - lease->stuck) * RNBD_UNIT_SIZE;
	part->over = s->account.held_bytes > lease->share;
}

/* Set the shares of all sessions. */
static void rnbdt_share_update(struct rnbdt_parts *parts)
{
	u64 elastic, others, level;
	u32 i, j;

	mutex_lock(&rnbdt_lock);
	elastic = rnbdt_budget_elastic();
	/* Claims, and sessions that close, keep what they have. */
	others = rnbdt_budget_used() - min(parts->charged, rnbdt_budget_used());
	mutex_unlock(&rnbdt_lock);
	level = rnbdt_share_level(parts, elastic - min(others, elastic));
	for (i = 0; i < parts->nr; i = j) {
		mutex_lock(&rnbdt_lock);
		for (j = i; j < min(i + RNBDT_SHARE_BATCH, parts->nr); j++)
			rnbdt_share_set(parts, &parts->part[j], level);
		mutex_unlock(&rnbdt_lock);
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

/* Reclaim one segment of a session, if it holds more than its share. Returns its bytes. */
static u64 rnbdt_share_take_locked(struct rnbdt_session *s)
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

static u64 rnbdt_share_take(struct rnbdt_part *part)
{
	u64 taken;

	if (!part->over)
		return 0;
	mutex_lock(&rnbdt_lock);
	taken = rnbdt_share_take_locked(part->s);
	mutex_unlock(&rnbdt_lock);
	part->over = taken;
	cond_resched();
	return taken;
}

/* Reclaim what hungry sessions lack to their shares, and @needed bytes for logins. */
static void rnbdt_share_reclaim(struct rnbdt_parts *parts, u64 needed)
{
	u64 need = parts->lack + needed, taken;
	u32 i;

	while (need > parts->pending) {
		taken = 0;
		for (i = 0; i < parts->nr && need > parts->pending + taken; i++)
			taken += rnbdt_share_take(&parts->part[i]);
		if (!taken)
			break;
		parts->pending += taken;
	}
}

static void rnbdt_share_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(rnbdt_share_timer, rnbdt_share_work);

static void rnbdt_share_work(struct work_struct *work)
{
	/* Reclaim may wait for a client that lacks memory. */
	unsigned int noio = memalloc_noio_save();
	struct rnbdt_parts parts;
	u64 needed;

	mutex_lock(&rnbdt_lock);
	needed = rnbdt_share_needed;
	rnbdt_share_needed = 0;
	rnbdt_share_ran = jiffies;
	mutex_unlock(&rnbdt_lock);
	if (rnbdt_share_collect(&parts)) {
		mutex_lock(&rnbdt_lock);
		rnbdt_share_kick(needed);
		mutex_unlock(&rnbdt_lock);
	} else {
		rnbdt_share_update(&parts);
		rnbdt_share_reclaim(&parts, needed);
		rnbdt_share_release(&parts);
	}
	memalloc_noio_restore(noio);
}

/**
 * rnbdt_share_kick - let the shares be updated, and what sessions lack be reclaimed
 * @needed: bytes that a login lacks, or 0
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_share_kick(u64 needed)
{
	bool early = time_before(jiffies, rnbdt_share_ran + RNBDT_SHARE_PERIOD);

	lockdep_assert_held(&rnbdt_lock);

	rnbdt_share_needed += needed;
	queue_delayed_work(rnbdt_login_wq, &rnbdt_share_timer, early ? RNBDT_SHARE_PERIOD : 0);
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
	cancel_delayed_work_sync(&rnbdt_share_timer);
}
