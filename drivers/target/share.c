// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fair shares of the memory for pools, and the reclaiming of segments for them.
 *
 * Operation
 *
 * When memory is short, the sessions divide the budget in proportion to the weights of their hosts.
 * The sessions of a host have equal parts of its weight, and together get no more memory than the
 * limit of the host. The share of a session is its weight times a common number, the level
 * (level.c), but at least its floor and at most its demand. A session cannot use memory that its
 * requests in slow storage occupy. So up to a limit this memory increases the floor (budget.c), and
 * the other disks of the session keep memory.
 *
 * A session is hungry if it wants more than the limits leave. Segments are reclaimed for hungry
 * sessions below their share, and for logins that wait for their floor, until enough is about to be
 * returned. Segments are reclaimed from sessions above their share: one segment of each session in
 * turn, the newest segment first. Nothing is reclaimed for a session that has its share.
 *
 * A session normally keeps its share. But if each of its segments is larger than its excess above
 * the share, nothing can be reclaimed from it. So there are two exceptions if too little can be
 * reclaimed otherwise. For the floor of a login, other sessions may be reduced to their own floors,
 * increased as above. For hungry sessions, a session may fall below its share by at most three
 * quarters of the lack of the hungriest session. So it then lacks less than the hungriest session,
 * and the largest lack becomes smaller.
 *
 * Ownership: the share work has a reference on each session and host in its lists. The sessions
 * contain their shares.
 *
 * Concurrency
 *
 * There can be thousands of sessions. So a session or a login that lacks memory only queues the
 * share work, which runs at most once per RNBDT_SHARE_PERIOD. The share work reads the numbers of
 * each session once, with one host locked at a time, then searches the level without a lock. Each
 * later step for a session checks that the session is still live. The numbers of a session can have
 * changed since the run has read them, so a share can be out of date by the duration of a run.
 *
 * Errors: none. lease.c disconnects a client that does not return a segment in time.
 */

#include <linux/configfs.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include <rnbd/wire.h>

#include "budget.h"
#include "graph.h"
#include "headroom.h"
#include "level.h"
#include "lookup.h"
#include "pool.h"
#include "segment.h"
#include "session.h"
#include "share.h"
#include "state.h"
#include "target.h"
#include "trace.h"

/* Shortest time in jiffies between two runs of the share work */
#define RNBDT_SHARE_PERIOD	(HZ / 50)

/* Jiffies after which a reclaimed segment no longer counts as about to be returned */
#define RNBDT_SHARE_WAIT	HZ

/* Age in jiffies at which the result of the latest scan for slow requests is too old */
#define RNBDT_SHARE_FRESH	HZ

/* Number of fraction bits in the weight of a session */
#define RNBDT_WEIGHT_SHIFT	8

/* Earliest jiffies of the next run, or 0; written by the share work */
static unsigned long rnbdt_share_next;
/* Another run is needed after lease works have scanned for slow requests; share work only */
static bool rnbdt_share_again;

/**
 * struct rnbdt_shares - state of a run of the share work
 * @hosts: hosts with live sessions, rnbdt_host.share, each with a reference
 * @parts: sessions whose share depends on the level, or from which memory can be reclaimed,
 *	rnbdt_session.lease.part, each with a reference; the other sessions are settled
 * @charged: bytes that are charged for the pools of all live sessions
 * @settled: bytes of the shares of settled sessions
 * @free: bytes that sessions may be granted before others return any
 * @lack: bytes by which hungry sessions are below their shares, sum of all
 * @most_lack: bytes by which the hungriest session is below its share
 * @pending: bytes that clients are about to return
 */
struct rnbdt_shares {
	struct list_head hosts;
	struct list_head parts;
	u64 charged;
	u64 settled;
	u64 free;
	u64 lack;
	u64 most_lack;
	u64 pending;
};

/* Return the bytes that a session would hold if there were enough memory for all sessions. */
static u64 rnbdt_share_demand(const struct rnbdt_session *s)
{
	u64 want = (u64)READ_ONCE(s->lease.want) * RNBD_UNIT_SIZE;

	return clamp(want, s->account.floor_bytes, s->account.max_bytes);
}

static bool rnbdt_share_counts(const struct rnbdt_session *s)
{
	rnbdt_assert_host(s->host);
	return READ_ONCE(s->state) == RNBDT_LIVE && s->account.pool_bytes;
}

/* Return the weight of a session: an equal part of the weight of its host. */
static u32 rnbdt_share_weight(const struct rnbdt_session *s)
{
	u32 weight = READ_ONCE(s->host->weight) << RNBDT_WEIGHT_SHIFT;

	return max(weight / max(s->host->nr_sessions - s->host->nr_claims, 1U), 1U);
}

/*
 * Return the bytes that a session keeps in any case: rnbdt_budget_floor(), or, if slow storage uses
 * reclaimed segments, at least all its segments without the reclaimed ones that it can return now.
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
 * Return the bytes of reclaimed segments that the client is about to return. Segments that slow
 * storage uses, or that the client keeps longer than RNBDT_SHARE_WAIT, do not count: other
 * segments are reclaimed instead.
 */
static u64 rnbdt_share_pending(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;
	u64 bytes = 0;

	if (!s->lease.reclaiming)
		return 0;
	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++)
		if (seg->reclaimed && !seg->stuck && !READ_ONCE(seg->slow) &&
		    time_before(jiffies, seg->reclaimed_at + RNBDT_SHARE_WAIT))
			bytes += (u64)seg->units * RNBD_UNIT_SIZE;
	return bytes;
}

/* Return the sums of the host of a live session; initialise them at the first call of a run. */
static struct rnbdt_host_share *rnbdt_share_host(struct rnbdt_shares *shares,
						 struct rnbdt_host *host)
{
	struct rnbdt_host_share *share = &host->share;

	if (!list_empty(&share->entry))
		return share;
	config_item_get(&host->group.cg_item);
	share->charged = 0;
	share->settled = 0;
	share->lack = 0;
	share->most_lack = 0;
	share->pending = 0;
	list_add_tail(&share->entry, &shares->hosts);
	return share;
}

/*
 * Read the numbers on which the share of a session depends. Returns true if the session was
 * added to a list, which takes over the caller's reference.
 */
static bool rnbdt_share_read_locked(struct rnbdt_shares *shares, struct rnbdt_session *s)
{
	struct rnbdt_part *part = &s->lease.part;
	struct rnbdt_host_share *host;

	if (!rnbdt_share_counts(s))
		return false;
	host = rnbdt_share_host(shares, s->host);
	host->charged += s->account.pool_bytes;
	host->pending += rnbdt_share_pending(s);
	rnbdt_level_init(part, rnbdt_share_least(s), rnbdt_share_demand(s),
			 rnbdt_share_weight(s));
	if (part->least < part->most || s->account.held_bytes > part->least) {
		list_add_tail(&part->entry, &host->parts);
		return true;
	}
	WRITE_ONCE(s->lease.share, part->least);
	host->settled += part->least;
	return false;
}

static bool rnbdt_share_read(struct rnbdt_shares *shares, struct rnbdt_session *s)
{
	bool listed;

	if (!rnbdt_session_lock(s))
		return false;
	listed = rnbdt_share_read_locked(shares, s);
	rnbdt_host_unlock(s->host);
	return listed;
}

/*
 * Limit the demand of the sessions of a host, so that they divide the limit of the host equally
 * and other hosts get the rest of the budget. Moves the sessions to @shares->parts.
 */
static void rnbdt_share_limit_host(struct rnbdt_shares *shares, struct rnbdt_host *host)
{
	struct rnbdt_host_share *share = &host->share;
	struct rnbdt_budget_sums sums;
	struct rnbdt_part *part;
	u64 used, level;

	rnbdt_host_lock(host);
	rnbdt_budget_read(host, &sums);
	rnbdt_host_unlock(host);
	share->free = rnbdt_limit_left(sums.elastic, sums.used);
	/* The rest is charged for claims and for sessions that are not live, which keep it. */
	used = rnbdt_limit_left(sums.used, share->charged) + share->settled;
	level = rnbdt_level_find(&share->parts, rnbdt_limit_left(sums.elastic, used));
	list_for_each_entry(part, &share->parts, entry)
		rnbdt_level_init(part, part->least, rnbdt_level_share(part, level),
				 part->weight);
	list_splice_tail_init(&share->parts, &shares->parts);
	shares->charged += share->charged;
	shares->settled += share->settled;
	shares->pending += share->pending;
}

/* Read all sessions. Returns the bytes that the sessions in @shares->parts divide. */
static u64 rnbdt_share_read_all(struct rnbdt_shares *shares)
{
	struct rnbdt_budget_sums sums;
	struct rnbdt_session *s;
	struct rnbdt_host *host;
	unsigned long last = 0;
	u64 used;

	while ((s = rnbdt_lookup_after(last))) {
		last = s->serial;
		if (!rnbdt_share_read(shares, s))
			rnbdt_session_put(s);
		cond_resched();
	}
	list_for_each_entry(host, &shares->hosts, share.entry)
		rnbdt_share_limit_host(shares, host);
	rnbdt_budget_read(NULL, &sums);
	shares->free = rnbdt_limit_left(sums.elastic, sums.used);
	used = rnbdt_limit_left(sums.used, shares->charged) + shares->settled;
	return rnbdt_limit_left(sums.elastic, used);
}

/* Set the share of a session. If the session is hungry, add its lack to the sums. */
static void rnbdt_share_set(struct rnbdt_shares *shares, struct rnbdt_session *s, u64 level)
{
	struct rnbdt_lease *lease = &s->lease;
	struct rnbdt_host_share *host = &s->host->share;
	u64 lack;

	if (!rnbdt_share_counts(s))
		return;
	WRITE_ONCE(lease->share, rnbdt_level_share(&lease->part, level));
	if (list_empty(&lease->hungry) || lease->share <= s->account.pool_bytes)
		return;
	lack = lease->share - s->account.pool_bytes;
	host->lack += lack;
	host->most_lack = max(host->most_lack, lack);
	shares->lack += lack;
	shares->most_lack = max(shares->most_lack, lack);
}

/* Divide @bytes among the sessions in @shares->parts: set their shares. */
static void rnbdt_share_update(struct rnbdt_shares *shares, u64 bytes)
{
	u64 level = rnbdt_level_find(&shares->parts, bytes);
	struct rnbdt_session *s;

	list_for_each_entry(s, &shares->parts, lease.part.entry) {
		if (rnbdt_session_lock(s)) {
			rnbdt_share_set(shares, s, level);
			rnbdt_host_unlock(s->host);
		}
		cond_resched();
	}
}

static bool rnbdt_share_may_ask(const struct rnbdt_segment *seg, u64 excess)
{
	return !seg->reclaimed && !READ_ONCE(seg->released) &&
	       (u64)seg->units * RNBD_UNIT_SIZE <= excess;
}

/* Return the newest segment of at most @excess bytes of which slow storage uses nothing. */
static struct rnbdt_segment *rnbdt_share_victim(struct rnbdt_session *s, u64 excess)
{
	struct rnbdt_segment *seg, *newest = NULL;
	u32 slot;

	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		if (READ_ONCE(seg->slow) || !rnbdt_share_may_ask(seg, excess))
			continue;
		if (!newest || time_after(seg->granted_at, newest->granted_at))
			newest = seg;
	}
	return newest;
}

/* Return the segment of at most @excess bytes of which slow storage uses most. */
static struct rnbdt_segment *rnbdt_share_slow_victim(struct rnbdt_session *s, u64 excess)
{
	struct rnbdt_segment *seg, *slowest = NULL;
	u32 slot;
	u32 slow, most = 0;

	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		slow = READ_ONCE(seg->slow);
		if (slow <= most || !rnbdt_share_may_ask(seg, excess))
			continue;
		slowest = seg;
		most = slow;
	}
	return slowest;
}

/* Return the bytes that a session can use: not reclaimed, and not used by slow storage. */
static u64 rnbdt_share_usable(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;
	u64 units = 0;

	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++)
		if (rnbdt_share_may_ask(seg, U64_MAX))
			units += seg->units - min(READ_ONCE(seg->slow), seg->units);
	return units * RNBD_UNIT_SIZE;
}

/*
 * Return whether the lease work has recently scanned for slow requests of a session; otherwise
 * queue the scan. With an old result, segments could be reclaimed that the session needs for its
 * other disks while the storage of one disk hangs.
 */
static bool rnbdt_share_looked(struct rnbdt_session *s)
{
	/* Pairs with the release in rnbdt_lease_note_slow(). */
	unsigned long looked_at = smp_load_acquire(&s->lease.looked_at);

	if (time_before(jiffies, looked_at + RNBDT_SHARE_FRESH))
		return true;
	if (!READ_ONCE(s->lease.look)) {
		WRITE_ONCE(s->lease.look, true);
		mod_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, 0);
		rnbdt_share_again = true;
	}
	return false;
}

/**
 * rnbdt_share_ask - reclaim a segment
 * @s: live session
 * @seg: segment that is not reclaimed yet
 *
 * Context: process context, host lock held.
 */
void rnbdt_share_ask(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	rnbdt_assert_host(s->host);

	seg->reclaimed = true;
	seg->reclaimed_at = jiffies;
	s->lease.reclaiming += seg->units;
	s->lease.reclaims++;
	trace_rnbdt_reclaim(s, seg);
	/* The lease work sends RECLAIM and watches the deadline. */
	mod_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, 0);
}

/*
 * Reclaim one segment of a session that holds more than its share. The session keeps its share
 * less @slack, and at least its floor. Returns the bytes of the segment, or 0 if there is none.
 *
 * If slow storage uses segments, one of these is reclaimed in addition, and not counted: the
 * client can return it only when the storage has completed the requests, and other sessions must
 * not wait for that. Its size reduces the excess, so the session keeps more segments that it can
 * use.
 */
static u64 rnbdt_share_take(struct rnbdt_session *s, u64 slack)
{
	u64 has = s->account.held_bytes, keep, excess, usable;
	struct rnbdt_segment *seg;

	if (!rnbdt_share_counts(s))
		return 0;
	has -= min(has, (u64)s->lease.reclaiming * RNBD_UNIT_SIZE);
	if (has <= s->lease.share || !rnbdt_share_looked(s))
		return 0;
	/* The lease work can have increased the floor since the share was computed. */
	keep = max(rnbdt_budget_floor(s), rnbdt_limit_left(s->lease.share, slack));
	excess = rnbdt_limit_left(has, keep);
	seg = rnbdt_share_slow_victim(s, excess);
	if (seg) {
		rnbdt_share_ask(s, seg);
		excess -= (u64)seg->units * RNBD_UNIT_SIZE;
	}
	usable = rnbdt_limit_left(rnbdt_share_usable(s), s->account.floor_bytes);
	seg = rnbdt_share_victim(s, min(excess, usable));
	if (!seg)
		return 0;
	rnbdt_share_ask(s, seg);
	return (u64)seg->units * RNBD_UNIT_SIZE;
}

/*
 * Reclaim @bytes, one segment of each listed session in turn: of the sessions of @host, or of all
 * if @host is NULL. A session may fall below its share by at most @slack. Returns the reclaimed
 * bytes.
 */
static u64 rnbdt_share_collect(struct rnbdt_shares *shares, struct rnbdt_host *host,
			       u64 bytes, u64 slack)
{
	LIST_HEAD(spent);
	u64 taken = 0;

	while (taken < bytes && !list_empty(&shares->parts)) {
		struct rnbdt_session *s = list_first_entry(&shares->parts, struct rnbdt_session,
							   lease.part.entry);
		u64 more = 0;

		/* If s->host is freed, it is not @host, on which the run holds a reference. */
		if ((!host || s->host == host) && rnbdt_session_lock(s)) {
			more = rnbdt_share_take(s, slack);
			rnbdt_host_unlock(s->host);
			cond_resched();
		}
		taken += more;
		list_move_tail(&s->lease.part.entry, more ? &shares->parts : &spent);
	}
	list_splice(&spent, &shares->parts);
	shares->pending += taken;
	if (host)
		host->share.pending += taken;
	return taken;
}

/* Return by how much a session may fall below its share for another one that lacks @lack. */
static u64 rnbdt_share_slack(u64 lack)
{
	return lack - lack / 4;
}

/*
 * Reclaim @bytes from sessions above their shares. If that does not suffice, because their
 * segments are larger than the excess, let sessions fall below their shares by at most @slack.
 * These sessions then become hungry themselves, and are granted smaller segments instead.
 */
static void rnbdt_share_collect_all(struct rnbdt_shares *shares, struct rnbdt_host *host,
				    u64 bytes, u64 slack)
{
	u64 taken = rnbdt_share_collect(shares, host, bytes, 0);
	u64 left = rnbdt_limit_left(bytes, taken);

	/* U64_MAX is used for a login: sessions may be reduced to their floors. */
	if (slack != U64_MAX)
		slack = min(slack, rnbdt_share_slack(left));
	if (slack)
		rnbdt_share_collect(shares, host, left, slack);
}

/*
 * Reclaim memory from sessions of a host for its logins and hungry sessions, as far as they lack
 * memory because of the limit of the host.
 */
static void rnbdt_share_serve_host(struct rnbdt_shares *shares, struct rnbdt_host *host)
{
	struct rnbdt_host_share *share = &host->share;
	struct rnbdt_budget_sums sums;
	u64 need;

	rnbdt_host_lock(host);
	rnbdt_budget_read(host, &sums);
	rnbdt_host_unlock(host);
	need = sums.lacks;
	if (need > share->pending)
		rnbdt_share_collect_all(shares, host, need - share->pending, U64_MAX);
	/* Memory that logins wait for is not available to hungry sessions. */
	share->pending -= min(share->pending, need);
	need = share->lack - min(share->lack, share->free);
	if (need > share->pending)
		rnbdt_share_collect_all(shares, host, need - share->pending,
					rnbdt_share_slack(share->most_lack));
}

/* Reclaim the bytes that logins lack for their floors, and hungry sessions for their shares. */
static void rnbdt_share_serve(struct rnbdt_shares *shares)
{
	struct rnbdt_budget_sums sums;
	struct rnbdt_host *host;
	u64 need;

	list_for_each_entry(host, &shares->hosts, share.entry)
		rnbdt_share_serve_host(shares, host);
	rnbdt_budget_read(NULL, &sums);
	need = sums.lacks;
	if (need > shares->pending)
		rnbdt_share_collect_all(shares, NULL, need - shares->pending, U64_MAX);
	shares->pending -= min(shares->pending, need);
	need = shares->lack - min(shares->lack, shares->free);
	if (need > shares->pending)
		rnbdt_share_collect_all(shares, NULL, need - shares->pending,
					rnbdt_share_slack(shares->most_lack));
}

static void rnbdt_share_release(struct rnbdt_shares *shares)
{
	struct rnbdt_host *host, *next_host;
	struct rnbdt_session *s, *next;

	list_for_each_entry_safe(s, next, &shares->parts, lease.part.entry) {
		list_del_init(&s->lease.part.entry);
		rnbdt_session_put(s);
	}
	list_for_each_entry_safe(host, next_host, &shares->hosts, share.entry) {
		list_del_init(&host->share.entry);
		config_item_put(&host->group.cg_item);
	}
}

static void rnbdt_share_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(rnbdt_share_runs, rnbdt_share_work);

/* Update the shares, and reclaim memory for logins and hungry sessions. */
static void rnbdt_share_work(struct work_struct *work)
{
	struct rnbdt_shares shares = {
		.hosts = LIST_HEAD_INIT(shares.hosts),
		.parts = LIST_HEAD_INIT(shares.parts),
	};

	rnbdt_share_update(&shares, rnbdt_share_read_all(&shares));
	rnbdt_share_serve(&shares);
	rnbdt_share_release(&shares);

	WRITE_ONCE(rnbdt_share_next, jiffies + RNBDT_SHARE_PERIOD ?: 1);
	if (rnbdt_share_again)
		queue_delayed_work(rnbdt_login_wq, &rnbdt_share_runs, RNBDT_SHARE_PERIOD);
	rnbdt_share_again = false;
}

/**
 * rnbdt_share_reclaim - queue the share work, because a session or a login lacks memory
 *
 * Context: any; does not sleep.
 */
void rnbdt_share_reclaim(void)
{
	unsigned long next = READ_ONCE(rnbdt_share_next);
	bool early = next && time_before(jiffies, next);

	queue_delayed_work(rnbdt_login_wq, &rnbdt_share_runs, early ? RNBDT_SHARE_PERIOD : 0);
}

/**
 * rnbdt_share_exit - stop the share work
 *
 * All sessions must have ended.
 *
 * Context: process context, module exit.
 */
void rnbdt_share_exit(void)
{
	cancel_delayed_work_sync(&rnbdt_share_runs);
}
