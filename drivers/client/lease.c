// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments of the pool that are granted and released while a session is live.
 *
 * Operation
 *
 * A session that has requested a floor begins with a pool of the size of its floor. When a
 * request finds too little space, the client requests (WANT) a pool of twice the size that it
 * holds, at most the ceiling. A segment that the target grants is added to the pool (space.c).
 * After half a minute in which no request lacked space and requests used at most a quarter of
 * the pool, the client closes a segment. While the use stays that low, it closes another segment
 * each second, until a further one would leave less than the floor in open segments. The client
 * also closes a segment that the target reclaims. Nothing more is allocated from a closed
 * segment. The client releases a closed segment when it is empty, that is, when no request and
 * no work request names it. The work item does not run while there is no segment to request, to
 * close or to release.
 *
 * Ownership: sess->conn.segments has the address and key of each segment from its grant until
 * the target has confirmed the release.
 *
 * Concurrency: the completion handler of queue 0 handles one entry at a time. The work item
 * sends entries and decides about the size of the pool. The handler changes lease->held and the
 * table of segments under sess->lock, and the work item changes lease->want under it. The work
 * item runs only between rnbdc_lease_start() and rnbdc_lease_stop(): each second, after a pause
 * if a credit was lacking, or when rnbdc_space.kick queues it. A change that gives the work
 * item something to do is written under rnbdc_space.lock before the kick. So a work item that
 * does not queue itself again has seen the change, or the kick queues it again.
 *
 * Errors: a segment that the client has not requested, or an entry about a segment that it
 * does not hold, is a protocol error. An entry for which there is no credit is sent later.
 */

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/ctl.h"
#include "../core/inject.h"
#include "../core/lease.h"
#include "../core/login.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "client.h"
#include "inject.h"
#include "lease.h"
#include "queue.h"
#include "session.h"
#include "space.h"
#include "stall.h"
#include "submit.h"

/* Period of the work item in jiffies */
#define RNBDC_LEASE_TICK	HZ
/* Jiffies until the next attempt to send an entry for which there was no credit */
#define RNBDC_LEASE_RETRY	(HZ / 100 + 1)
/* Jiffies for which three quarters of the pool must be unused before a segment is closed */
#define RNBDC_LEASE_IDLE	(30 * HZ)
/* Jiffies without a lack of space after which the request for a larger pool is withdrawn */
#define RNBDC_LEASE_SATED	(2 * HZ)

/**
 * rnbdc_lease_floor - get the floor to request for the pool of a session
 * @sess: session
 *
 * Context: any.
 * Return: units, or 0 to request the whole pool at the login, with a fixed size.
 */
u32 rnbdc_lease_floor(const struct rnbdc_session *sess)
{
	u64 floor = sess->opt.pool_floor;

	/* The floor must hold the largest request. */
	if (floor)
		floor = max_t(u64, floor, sess->opt.max_io);
	/* Bounce memory mirrors the whole pool. */
	if (floor >= sess->opt.pool_bytes || sess->opt.copy)
		return 0;
	return floor >> RNBD_UNIT_SHIFT;
}

/*
 * Test whether the pool can change its size. The size is fixed if the client has requested no
 * floor, or if the target has granted a ceiling that equals the floor.
 */
static bool rnbdc_lease_elastic(const struct rnbdc_session *sess)
{
	return sess->login.info.pool_min &&
	       sess->login.offer.max_units > sess->login.offer.pool_units;
}

/* Send an entry on queue 0. Returns -EAGAIN if there is no credit or send slot. */
static int rnbdc_lease_post(struct rnbdc_session *sess, u16 type, const void *body, u32 bytes)
{
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.body = body,
		.bytes = bytes,
	};
	struct rnbdc_queue *q = sess->queues[0];
	unsigned long flags;
	int ret = -ENOTCONN;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->ring.live) {
		if (q->ring.open)
			rnbdc_send_frame(q);
		ret = rnbd_ring_post_ctl(&q->ring, &entry);
	}
	spin_unlock_irqrestore(&q->ring.lock, flags);
	return ret;
}

/* Release the closed segments that are empty. Returns -EAGAIN as rnbdc_lease_post() does. */
static int rnbdc_lease_release(struct rnbdc_session *sess)
{
	struct rnbdc_lease *lease = &sess->lease;
	struct rnbd_ctl_lease wire;
	int ret;

	for (;;) {
		if (!lease->generation &&
		    !rnbdc_space_next_empty(&sess->space, &lease->slot, &lease->generation))
			return 0;
		if (rnbd_inject(&rnbdc_inject_no_release, NULL))
			return 0;
		rnbd_encode_lease(&wire, &(struct rnbd_lease_info) {
			.slot = lease->slot,
			.generation = lease->generation,
		});
		ret = rnbdc_lease_post(sess, RNBD_CTL_RELEASE, &wire, sizeof(wire));
		if (ret)
			return ret;
		lease->generation = 0;
	}
}

/* Request a pool of @units in all. Returns -EAGAIN as rnbdc_lease_post() does. */
static int rnbdc_lease_want(struct rnbdc_session *sess, u32 units)
{
	struct rnbd_ctl_want wire;
	unsigned long flags;
	u32 old;
	int ret;

	if (units == sess->lease.want)
		return 0;
	/* Set want before the post: a granted segment can arrive as soon as the entry is posted. */
	spin_lock_irqsave(&sess->lock, flags);
	old = sess->lease.want;
	sess->lease.want = units;
	spin_unlock_irqrestore(&sess->lock, flags);
	rnbd_encode_want(&wire, units);
	ret = rnbdc_lease_post(sess, RNBD_CTL_WANT, &wire, sizeof(wire));
	if (!ret)
		return 0;
	spin_lock_irqsave(&sess->lock, flags);
	sess->lease.want = old;
	spin_unlock_irqrestore(&sess->lock, flags);
	return ret;
}

/* Request a pool of @units in all, but at least of the floor and at most of the ceiling. */
static int rnbdc_lease_ask(struct rnbdc_session *sess, u32 units)
{
	const struct rnbd_grant *grant = &sess->login.offer;

	/*
	 * Request at least the floor: the target grants nothing beyond the requested size, even to
	 * a session that holds less than its floor.
	 */
	return rnbdc_lease_want(sess, clamp(units, grant->pool_units, grant->max_units));
}

/*
 * Close a segment if the other open segments hold the floor; the closed segment is released when
 * it is empty. Returns -EAGAIN as rnbdc_lease_post() does.
 */
static int rnbdc_lease_shrink(struct rnbdc_session *sess)
{
	u32 open = READ_ONCE(sess->space.units), slot, generation, units;
	int ret;

	units = rnbdc_space_spare(&sess->space, sess->login.offer.pool_units, &slot, &generation);
	if (!units)
		return 0;
	/*
	 * Request a smaller pool before the segment is closed. Otherwise the target could replace
	 * this segment, and closed segments whose release takes long, by new ones.
	 */
	ret = rnbdc_lease_ask(sess, open - min(open, units));
	if (!ret)
		rnbdc_space_close_segment(&sess->space, slot, generation);
	return ret;
}

/*
 * Add up for all queues the largest number of units that a queue used at one time since the
 * previous call, rounded up to whole blocks. Queues take whole blocks: without the rounding, few
 * requests on many queues would make the pool shrink and grow again and again.
 */
static u32 rnbdc_lease_recent(struct rnbdc_session *sess)
{
	u32 i, units = 0;

	for (i = 0; i < sess->nr_queues; i++) {
		struct rnbdc_queue *q = sess->queues[i];

		spin_lock_irq(&q->ring.lock);
		units += rnbdc_space_whole(&sess->space, q->cache.pool.recent);
		q->cache.pool.recent = q->cache.pool.used;
		spin_unlock_irq(&q->ring.lock);
	}
	return units;
}

/*
 * Test whether requests lack space. The first request that lacks space after a tick, or after a
 * growth of the pool, sets rnbdc_space.lacks.
 */
static bool rnbdc_lease_lacks(struct rnbdc_session *sess)
{
	struct rnbdc_space *space = &sess->space;

	if (READ_ONCE(space->flags) & (RNBDC_SPACE_WAITERS | RNBDC_SPACE_TURNS))
		return true;
	return READ_ONCE(space->lacks);
}

/*
 * Test whether the work item has nothing to do until a request lacks space, or a segment is
 * added or closed. A pool without a segment to close need not be checked for its use.
 */
static bool rnbdc_lease_rests(struct rnbdc_session *sess)
{
	u32 floor = sess->login.offer.pool_units, open = READ_ONCE(sess->space.units);
	const struct rnbdc_lease *lease = &sess->lease;
	u32 slot, generation;

	/*
	 * Compare want with the open segments: held shrinks to their size when closed segments are
	 * released, and then a want that exceeds held must be withdrawn.
	 */
	if (lease->generation || lease->want > max(open, floor) || rnbdc_lease_lacks(sess))
		return false;
	return open <= floor || !rnbdc_space_spare(&sess->space, floor, &slot, &generation);
}

/* Request a larger or smaller pool, or close a segment. Returns -EAGAIN without a credit. */
static int rnbdc_lease_resize(struct rnbdc_session *sess)
{
	struct rnbdc_lease *lease = &sess->lease;
	u32 held = READ_ONCE(lease->held);
	bool lacks = rnbdc_lease_lacks(sess);
	bool tick = time_after_eq(jiffies, lease->tick + RNBDC_LEASE_TICK);

	if (tick) {
		lease->tick = jiffies;
		/* A request can have lacked space since the test above: test again and reset. */
		lacks |= rnbdc_space_reset_lack(&sess->space);
		/* Do not withdraw WANT while hardware queues are stopped at their disk's share. */
		lacks |= lease->want > held && rnbdc_stall_lacks(sess);
		if (rnbdc_lease_recent(sess) > held / 4)
			lease->busy_at = jiffies;
	}
	if (lacks) {
		lease->lacked_at = jiffies;
		lease->busy_at = jiffies;
		return rnbdc_lease_ask(sess, 2 * held);
	}
	if (!tick)
		return 0;
	/* Withdraw an unmet WANT, for which the target would reclaim memory of other sessions. */
	if (lease->want > held && time_after_eq(jiffies, lease->lacked_at + RNBDC_LEASE_SATED))
		return rnbdc_lease_ask(sess, held);
	if (time_before(jiffies, lease->busy_at + RNBDC_LEASE_IDLE))
		return 0;
	return rnbdc_lease_shrink(sess);
}

static void rnbdc_lease_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, lease.lease_work);
	int ret = -ENOTCONN;

	if (READ_ONCE(sess->state) == RNBDC_SESS_LIVE) {
		ret = rnbdc_lease_release(sess);
		if (!ret)
			ret = rnbdc_lease_resize(sess);
	}
	if (!ret && rnbdc_lease_rests(sess))
		return;
	/* If a kick has queued the work item to run at once, this call does not delay it. */
	queue_delayed_work(rnbdc_timer_wq, &sess->lease.lease_work,
			   ret == -EAGAIN ? RNBDC_LEASE_RETRY : RNBDC_LEASE_TICK);
}

/**
 * rnbdc_lease_init - initialise the work item that changes the size of the pool
 * @sess: session that is being allocated
 *
 * Context: any.
 */
void rnbdc_lease_init(struct rnbdc_session *sess)
{
	INIT_DELAYED_WORK(&sess->lease.lease_work, rnbdc_lease_work);
}

/**
 * rnbdc_lease_start - start to grow and shrink the pool of a session
 * @sess: session whose pool is open and has the segments of its login
 *
 * Context: process context; the caller owns the connection.
 */
void rnbdc_lease_start(struct rnbdc_session *sess)
{
	struct rnbdc_lease *lease = &sess->lease;

	lease->want = 0;
	lease->held = sess->login.offer.pool_units;
	lease->generation = 0;
	lease->busy_at = jiffies;
	lease->lacked_at = jiffies;
	lease->tick = jiffies;
	if (!rnbdc_lease_elastic(sess))
		return;
	spin_lock_irq(&sess->space.lock);
	sess->lease_open = true;
	spin_unlock_irq(&sess->space.lock);
	queue_delayed_work(rnbdc_timer_wq, &lease->lease_work, RNBDC_LEASE_TICK);
}

/**
 * rnbdc_lease_stop - stop growing and shrinking the pool of a session
 * @sess: session whose queues are drained and not ready for requests
 *
 * Context: process context, may sleep; not rnbdc_timer_wq.
 */
void rnbdc_lease_stop(struct rnbdc_session *sess)
{
	spin_lock_irq(&sess->space.lock);
	sess->lease_open = false;
	spin_unlock_irq(&sess->space.lock);
	cancel_delayed_work_sync(&sess->lease.lease_work);
}

static enum rnbd_proto_err rnbdc_lease_segment(struct rnbdc_session *sess,
					       const struct rnbd_ctl_entry *entry)
{
	const struct rnbd_grant *grant = &sess->login.offer;
	struct rnbdc_lease *lease = &sess->lease;
	struct rnbd_segment_info seg;
	enum rnbd_proto_err perr;
	unsigned long flags;

	if (!READ_ONCE(lease->want))
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_segment(entry, grant, grant->nr_segments, &seg);
	if (perr)
		return perr;
	/*
	 * Compare the size with the ceiling and not with want: while this entry was in flight, the
	 * client can have reduced want.
	 */
	spin_lock_irqsave(&sess->lock, flags);
	if (sess->conn.segments[seg.slot].units || seg.units > grant->max_units - lease->held)
		perr = RNBD_PERR_COUNT;
	if (!perr) {
		sess->conn.segments[seg.slot] = seg;
		WRITE_ONCE(lease->held, lease->held + seg.units);
		WRITE_ONCE(lease->grants, lease->grants + 1);
	}
	spin_unlock_irqrestore(&sess->lock, flags);
	if (!perr && rnbdc_space_add_segment(&sess->space, seg.slot, seg.generation, seg.units))
		perr = RNBD_PERR_COUNT;
	return perr;
}

/* Test whether the client holds a segment, or awaits the confirmation of its release. */
static bool rnbdc_lease_holds(struct rnbdc_session *sess, const struct rnbd_lease_info *info)
{
	const struct rnbd_segment_info *seg = &sess->conn.segments[info->slot];

	lockdep_assert_held(&sess->lock);
	return seg->units && seg->generation == info->generation;
}

static enum rnbd_proto_err rnbdc_lease_reclaim(struct rnbdc_session *sess,
					       const struct rnbd_lease_info *info)
{
	struct rnbdc_lease *lease = &sess->lease;
	unsigned long flags;
	bool holds;

	spin_lock_irqsave(&sess->lock, flags);
	holds = rnbdc_lease_holds(sess, info);
	spin_unlock_irqrestore(&sess->lock, flags);
	if (!holds)
		return RNBD_PERR_HANDLE;
	/* The call fails if the segment is already closed: then the client is returning it. */
	if (rnbdc_space_close_segment(&sess->space, info->slot, info->generation))
		return RNBD_PERR_NONE;
	WRITE_ONCE(lease->reclaims, lease->reclaims + 1);
	return RNBD_PERR_NONE;
}

static enum rnbd_proto_err rnbdc_lease_released(struct rnbdc_session *sess,
						const struct rnbd_lease_info *info)
{
	struct rnbdc_lease *lease = &sess->lease;
	struct rnbd_segment_info *seg = &sess->conn.segments[info->slot];
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	if (!rnbdc_lease_holds(sess, info) ||
	    rnbdc_space_remove_segment(&sess->space, info->slot, info->generation)) {
		perr = RNBD_PERR_HANDLE;
	} else {
		WRITE_ONCE(lease->held, lease->held - seg->units);
		WRITE_ONCE(lease->releases, lease->releases + 1);
		seg->units = 0;
	}
	spin_unlock_irqrestore(&sess->lock, flags);
	return perr;
}

/**
 * rnbdc_lease_handle - handle an entry about a segment after the login
 * @q: queue 0
 * @entry: entry of type SEGMENT, RECLAIM or RELEASED
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_lease_handle(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_session *sess = q->sess;
	struct rnbd_lease_info info;
	enum rnbd_proto_err perr;

	/* These entries are valid only after a login that granted a pool of variable size. */
	if (!READ_ONCE(sess->lease_open))
		return RNBD_PERR_TYPE;
	if (entry->type == RNBD_CTL_SEGMENT)
		return rnbdc_lease_segment(sess, entry);
	perr = rnbd_decode_lease(entry, sess->login.offer.nr_slots, &info);
	if (perr)
		return perr;
	return entry->type == RNBD_CTL_RECLAIM ? rnbdc_lease_reclaim(sess, &info) :
						 rnbdc_lease_released(sess, &info);
}
