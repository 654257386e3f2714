// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lease work of a session: segments that the client requests, releases, and must return.
 *
 * Operation
 *
 * The client requests a total size of its pool, and the lease work grants segments up to that
 * size (grant.c).
 *
 * The client releases a segment when it no longer needs the segment, or when the target reclaims
 * it. The frame handler marks the segment as released; from then on no request may name the
 * segment. The lease work waits for the frame handlers that are running, and then scans all
 * requests of the session. If a request names the segment, that is a protocol error. Otherwise
 * the lease work destroys the memory region, frees the pages, and answers with RELEASED. So
 * neither a request nor an RDMA operation can access the freed pages, although
 * requests take no reference on their segments.
 *
 * A client that does not return a reclaimed segment within reclaim_timeout_ms is disconnected.
 * This time restarts when RECLAIM is sent, and while the storage has requests that name the
 * segment, because the client cannot speed up slow storage. A request that arrives after a grace
 * period, which begins when RECLAIM is sent, does not restart the time: otherwise the client could
 * keep the segment by sending requests.
 *
 * Ownership: the lease work owns a segment from its removal from the pool until ctl.c has
 * reported the release to the client.
 *
 * Concurrency: the lease work of a session runs once at a time, on rnbdt_lease_wq, and allocates
 * without I/O, because memory reclaim can wait for a disk of a client on this machine. The share
 * work also uses the pool, the accounts and the reclaimed segments, so the lease work locks the
 * host to change these. It destroys memory regions without the host lock, because the destruction
 * sleeps.
 *
 * Errors: a protocol error, or memory that is not returned in time, ends the session.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <rnbd/wire.h>

#include "../core/ctl.h"
#include "../core/inject.h"
#include "../core/lease.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "budget.h"
#include "counters.h"
#include "ctl.h"
#include "grant.h"
#include "graph.h"
#include "inject.h"
#include "lease.h"
#include "pool.h"
#include "queue.h"
#include "segment.h"
#include "session.h"
#include "state.h"
#include "target.h"

RNBD_PARAM_UINT(reclaim_timeout_ms, 30000, 1000, 600000,
		"milliseconds that a client has to return memory that is reclaimed; should exceed the time for which its RDMA device retries an operation");

/* Largest number of runs of the lease work that entries of the client can cause per jiffy */
#define RNBDT_LEASE_RUNS	4
/* Shortest time in jiffies between two scans for deadlines and for memory that slow storage uses */
#define RNBDT_LOOK_PERIOD	(HZ / 4)
/* Jiffies from reclaiming a segment until it is stuck, if requests in the storage name it then */
#define RNBDT_STUCK_TIME	HZ

/**
 * rnbdt_lease_init - initialise the lease of a session
 * @s: session that is being allocated
 *
 * Context: any.
 */
void rnbdt_lease_init(struct rnbdt_session *s)
{
	INIT_LIST_HEAD(&s->lease.released);
	INIT_LIST_HEAD(&s->lease.hungry);
	INIT_DELAYED_WORK(&s->lease.lease_work, rnbdt_lease_work);
	s->lease.looked_at = jiffies - RNBDT_LOOK_PERIOD;
}

static enum rnbd_proto_err rnbdt_lease_want(struct rnbdt_session *s,
					    const struct rnbd_ctl_entry *entry)
{
	enum rnbd_proto_err perr;
	u32 units;

	perr = rnbd_decode_want(entry, s->account.max_bytes >> RNBD_UNIT_SHIFT, &units);
	if (!perr)
		WRITE_ONCE(s->lease.want, units);
	return perr;
}

/* Called under ring->lock. */
static enum rnbd_proto_err rnbdt_lease_release(struct rnbdt_session *s,
					       const struct rnbd_lease_info *info)
{
	struct rnbdt_segment *seg;

	rcu_read_lock();
	seg = rnbdt_pool_find(&s->pool, info->slot);
	if (!seg || seg->generation != info->generation || seg->released ||
	    seg->tell & RNBDT_TELL_SEGMENT) {
		rcu_read_unlock();
		return RNBD_PERR_HANDLE;
	}
	/* From here on frame handlers refuse requests that name the segment. */
	WRITE_ONCE(seg->released, true);
	seg->tell = 0;
	list_move_tail(&seg->entry, &s->lease.released);
	rcu_read_unlock();
	return RNBD_PERR_NONE;
}

/*
 * Queue the lease work without delay, or with a delay of one jiffy if it has run
 * RNBDT_LEASE_RUNS times in this jiffy, so that a client cannot keep it busy. Further entries of
 * the client cannot postpone the run for longer, because the delay is 0 again in the next jiffy.
 */
static void rnbdt_lease_kick(struct rnbdt_session *s)
{
	bool busy = time_after_eq(READ_ONCE(s->lease.ran_at), jiffies) &&
		    READ_ONCE(s->lease.runs) >= RNBDT_LEASE_RUNS;

	mod_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, busy);
}

/* Count a run of the lease work. */
static void rnbdt_lease_count_run(struct rnbdt_session *s)
{
	struct rnbdt_lease *lease = &s->lease;

	WRITE_ONCE(lease->runs, time_after_eq(lease->ran_at, jiffies) ? lease->runs + 1 : 1);
	WRITE_ONCE(lease->ran_at, jiffies);
}

/**
 * rnbdt_lease_handle - handle an entry of type WANT or RELEASE
 * @s: session
 * @entry: entry that queue 0 has received
 *
 * Context: completion handler of queue 0; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the session is not live yet, the entry is
 * malformed, or the entry names a segment that the client does not hold.
 */
enum rnbd_proto_err rnbdt_lease_handle(struct rnbdt_session *s,
				       const struct rnbd_ctl_entry *entry)
{
	/* Pairs with the smp_store_release() that makes the session live. */
	enum rnbdt_state state = smp_load_acquire(&s->state);
	struct rnbd_ring *ring = &s->queues[0]->ring;
	struct rnbd_lease_info info;
	enum rnbd_proto_err perr;
	unsigned long flags;

	if (state != RNBDT_LIVE)
		return state < RNBDT_LIVE ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
	if (entry->type == RNBD_CTL_WANT) {
		perr = rnbdt_lease_want(s, entry);
	} else {
		perr = rnbd_decode_lease(entry, s->pool.nr_slots, &info);
		if (!perr) {
			spin_lock_irqsave(&ring->lock, flags);
			perr = rnbdt_lease_release(s, &info);
			spin_unlock_irqrestore(&ring->lock, flags);
		}
	}
	if (!perr)
		rnbdt_lease_kick(s);
	return perr;
}

/* Move the segments that the client has released to @list. */
static void rnbdt_lease_take_released(struct rnbdt_session *s, struct list_head *list)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	list_splice_init(&s->lease.released, list);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/*
 * Inject a fault: free the pages of a segment although the client can still access them. The
 * memory region stays until the session ends. New requests must not name the segment.
 */
static void rnbdt_lease_reuse(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(seg->released, true);
	seg->tell = 0;
	list_del_init(&seg->entry);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbdt_segment_free_pages(seg);
	rnbdt_host_lock(s->host);
	WRITE_ONCE(s->pool.units, s->pool.units - seg->units);
	if (seg->reclaimed)
		s->lease.reclaiming -= seg->units;
	if (seg->stuck)
		s->lease.stuck -= seg->units;
	rnbdt_budget_shrink(s, (u64)seg->units * RNBD_UNIT_SIZE);
	/* The teardown must not return the charge of these units a second time. */
	seg->units = 0;
	rnbdt_host_unlock(s->host);
}

/* Free a segment that no request names. */
static void rnbdt_lease_free(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	if (rnbd_inject_at(&rnbdt_inject_reuse_segment, RNBDT_REUSE_RELEASED)) {
		rnbdt_lease_reuse(s, seg);
		return;
	}
	/* Until rnbdt_segment_unmap() returns, the client can access the pages by RDMA. */
	rnbdt_segment_unmap(seg);
	rnbdt_segment_free_pages(seg);
	rnbdt_host_lock(s->host);
	rnbdt_pool_remove(&s->pool, seg);
	if (seg->reclaimed)
		s->lease.reclaiming -= seg->units;
	if (seg->stuck)
		s->lease.stuck -= seg->units;
	s->lease.releases++;
	rnbdt_budget_shrink(s, (u64)seg->units * RNBD_UNIT_SIZE);
	rnbdt_host_unlock(s->host);
	/* ctl.c frees the structure after RELEASED, when no frame handler can use it any longer. */
	rnbdt_ctl_lease(s, seg, RNBDT_TELL_RELEASED);
}

/* Free the segments that the client has released. Return false if the session ends. */
static bool rnbdt_lease_free_released(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg, *next;
	LIST_HEAD(list);

	rnbdt_lease_take_released(s, &list);
	if (list_empty(&list))
		return true;
	rnbd_inject_delay(&rnbdt_inject_delay_release);
	/* Wait for frame handlers that did not see the mark: they accept requests for @list. */
	synchronize_rcu();
	/* Wait for a queue that accepts requests already and is being added to s->queues. */
	rnbdt_host_lock(s->host);
	rnbdt_host_unlock(s->host);
	rnbdt_pool_scan(s, false);
	list_for_each_entry(seg, &list, entry) {
		if (!rnbdt_pool_named(&s->pool, seg) ||
		    rnbd_inject(&rnbdt_inject_no_lease_drain, NULL))
			continue;
		/* The segments are still in the pool, so the teardown frees them. */
		list_del(&list);
		rnbd_ring_proto_err(&s->queues[0]->ring, RNBD_PERR_EXTENT);
		return false;
	}
	list_for_each_entry_safe(seg, next, &list, entry) {
		list_del_init(&seg->entry);
		rnbdt_lease_free(s, seg);
	}
	return true;
}

/* Ask the client to return the reclaimed segments. Return true if there are any. */
static bool rnbdt_lease_ask(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;
	bool any = false;

	rnbdt_host_lock(s->host);
	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		if (!seg->reclaimed || READ_ONCE(seg->released))
			continue;
		any = true;
		if (seg->deadline_ms)
			continue;
		/* Start the time limit now: RECLAIM, which restarts it, can wait for a credit. */
		seg->idle_since = jiffies;
		seg->deadline_ms = READ_ONCE(reclaim_timeout_ms);
		rnbdt_ctl_lease(s, seg, RNBDT_TELL_RECLAIM);
	}
	rnbdt_host_unlock(s->host);
	return any;
}

/*
 * Restart the time limit of a reclaimed segment that a request in the storage names, and mark
 * the segment as stuck after RNBDT_STUCK_TIME.
 */
static void rnbdt_lease_stuck(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	WRITE_ONCE(seg->idle_since, jiffies);
	if (seg->stuck || time_before(jiffies, seg->reclaimed_at + RNBDT_STUCK_TIME))
		return;
	rnbdt_host_lock(s->host);
	seg->stuck = true;
	s->lease.stuck += seg->units;
	rnbdt_host_unlock(s->host);
}

/* Record how many units of each segment slow storage uses. */
static void rnbdt_lease_note_slow(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;
	u32 hung = 0;

	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		WRITE_ONCE(seg->slow, rnbdt_pool_slow(&s->pool, seg));
		if (!READ_ONCE(seg->reclaimed))
			hung += seg->slow;
	}
	WRITE_ONCE(s->lease.hung, hung);
	/* Pairs with the acquire in rnbdt_share_looked(). */
	smp_store_release(&s->lease.looked_at, jiffies);
}

/*
 * Check the deadlines of reclaimed segments, and record which memory slow storage uses. Do so at
 * most once in RNBDT_LOOK_PERIOD: a scan of many requests takes long, and the client can make
 * the work run often. Return false if the session ends.
 */
static bool rnbdt_lease_look(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;

	if (time_before(jiffies, s->lease.looked_at + RNBDT_LOOK_PERIOD))
		return true;
	WRITE_ONCE(s->lease.look, false);
	rnbdt_pool_scan(s, true);
	rnbdt_lease_note_slow(s);
	/* The walk needs no lock, because only the lease work removes segments. */
	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		if (!seg->deadline_ms || READ_ONCE(seg->released))
			continue;
		if (rnbdt_pool_named(&s->pool, seg)) {
			rnbdt_lease_stuck(s, seg);
		} else if (time_after(jiffies, READ_ONCE(seg->idle_since) +
					       msecs_to_jiffies(seg->deadline_ms))) {
			if (rnbd_inject_at(&rnbdt_inject_reuse_segment, RNBDT_REUSE_LATE)) {
				rnbdt_lease_reuse(s, seg);
				continue;
			}
			rnbdt_limit_hit(RNBDT_LIMIT_RECLAIM);
			rnbdt_session_close(s, "reclaimed memory was not returned in time");
			return false;
		}
	}
	return true;
}

/**
 * rnbdt_lease_work - free, reclaim and grant segments of a session
 * @work: rnbdt_session.lease.lease_work
 *
 * Context: work item of rnbdt_lease_wq; locks the host, may sleep.
 */
void rnbdt_lease_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(to_delayed_work(work), struct rnbdt_session,
					       lease.lease_work);
	unsigned int noio = memalloc_noio_save();
	unsigned long pause = 0, hungry;

	rnbdt_lease_count_run(s);
	if (READ_ONCE(s->state) != RNBDT_LIVE || !rnbdt_lease_free_released(s))
		goto restore;
	/* While slow storage uses memory, scan again, to keep s->lease.hung up to date. */
	if (rnbdt_lease_ask(s) || rnbdt_grant_wanted(s) || s->lease.hung ||
	    READ_ONCE(s->lease.look)) {
		if (!rnbdt_lease_look(s))
			goto restore;
		pause = RNBDT_LOOK_PERIOD;
	}
	hungry = rnbdt_grant_feed(s);
	if (hungry)
		pause = pause ? min(pause, hungry) : hungry;
	/* If another context has queued the work since this run began, this call has no effect. */
	if (pause)
		queue_delayed_work(rnbdt_lease_wq, &s->lease.lease_work, pause);
restore:
	memalloc_noio_restore(noio);
}

/**
 * rnbdt_lease_stop - stop the lease work of a session
 * @s: closing session whose queue pairs are drained
 *
 * Context: teardown; locks the host, sleeps until the work has ended.
 */
void rnbdt_lease_stop(struct rnbdt_session *s)
{
	/*
	 * No frame handler runs now. Other contexts queue the work only if the session is live
	 * (checked with the host locked) or hungry (checked under rnbdt_budget_lock), and from
	 * here on it is neither.
	 */
	rnbdt_host_lock(s->host);
	rnbdt_budget_hungry(s, false);
	rnbdt_host_unlock(s->host);
	cancel_delayed_work_sync(&s->lease.lease_work);
}

/**
 * rnbdt_lease_reuse_early - free the pages of a session too early, if a fault is injected
 * @s: closing session whose queue pairs still work. A test that injects the fault must leave no
 *	request of the session in the storage, because such a request would use freed pages
 *
 * Context: teardown; locks the host, may sleep.
 */
void rnbdt_lease_reuse_early(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;

	if (!rnbd_inject_at(&rnbdt_inject_reuse_segment, RNBDT_REUSE_CLOSING))
		return;
	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++)
		if (!READ_ONCE(seg->released))
			rnbdt_lease_reuse(s, seg);
}

/**
 * rnbdt_lease_trim - free the segments that no request of a session names
 * @s: closing session whose queue pairs are drained and whose grants have stopped
 *
 * Requests in the storage can delay the end of the session for long. Until then the session must
 * not keep memory that these requests do not use.
 *
 * Context: teardown; locks the host, may sleep.
 */
void rnbdt_lease_trim(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;

	if (!s->pool.named)
		return;
	rnbdt_pool_scan(s, false);
	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		if (rnbdt_pool_named(&s->pool, seg))
			continue;
		rnbdt_ctl_forget_lease(s, seg);
		rnbdt_segment_unmap(seg);
		rnbdt_host_lock(s->host);
		rnbdt_pool_remove(&s->pool, seg);
		rnbdt_budget_shrink(s, (u64)seg->units * RNBD_UNIT_SIZE);
		rnbdt_host_unlock(s->host);
		rnbdt_segment_free(seg);
	}
}
