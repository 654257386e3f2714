// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants of segments: the floor of a session, and its growth.
 *
 * Operation
 *
 * The login grants the segments of the floor. Later the client requests a total size of its
 * pool, and the lease work of the session grants segments up to that size while the limits leave
 * memory (budget.c). Within a second, the size doubles from segment to segment, up to the largest
 * size, so that a small request costs little memory and a large one few registrations. If the
 * limits leave too little, the session is hungry: its lease work runs again when memory is
 * returned, and segments of other sessions can be reclaimed (share.c).
 *
 * A pool has enough slots for its ceiling if no segment is smaller than
 * rnbdt_grant_first_units(). If memory is short, segments can be smaller, but only while at most
 * three quarters of the slots are in use. If all slots are in use, the target asks the client to
 * return its smallest segment, and grants a larger one in the same slot.
 *
 * Each grant costs work, so rate limits apply to the memory that a session and a host are granted
 * per second (budget.c). A session that waits for the next second, or for a slot, is not hungry,
 * because memory from other sessions would not end its wait.
 *
 * Ownership
 *
 * The login work or lease work owns a segment from its allocation until it is in the pool.
 *
 * Concurrency
 *
 * The lease work of a session starts only after its login work has granted the floor, and neither
 * work item runs concurrently with itself. Both allocate without I/O, because memory reclaim can
 * wait for a disk of a client on this machine. No lock is held during a registration, which
 * sleeps. The host is locked to check the limits and to change the pool.
 *
 * Errors
 *
 * If memory or a memory region cannot be allocated, the login is refused, or the lease work tries
 * again after a pause that doubles with each failure, up to RNBDT_FAILED_PAUSE. During the pause
 * the session is not hungry. A registration that the device completes with an error, or not in
 * time, ends the session.
 */

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>

#include <rnbd/wire.h>

#include "budget.h"
#include "ctl.h"
#include "grant.h"
#include "graph.h"
#include "pool.h"
#include "reserve.h"
#include "segment.h"
#include "session.h"
#include "share.h"
#include "state.h"

/* Jiffies until the next attempt if a limit, a rate limit or the lack of a slot prevents a grant */
#define RNBDT_HUNGRY_PAUSE	(HZ / 4)
/* Longest pause in jiffies after memory or a memory region could not be allocated */
#define RNBDT_FAILED_PAUSE	(8 * HZ)

/* Free a segment that was not granted. */
static void rnbdt_grant_drop(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	rnbdt_segment_unmap(seg);
	rnbdt_pool_cancel(&s->pool, seg);
	rnbdt_segment_free(seg);
}

/* Allocate a segment with a slot, and a memory region that is not yet registered. */
static int rnbdt_grant_prepare(struct rnbdt_session *s, u32 units, bool floor,
			       struct rnbdt_segment **result)
{
	struct rnbdt_segment *seg = rnbdt_segment_alloc(s->conn.dev, units, floor);
	int ret;

	if (!seg)
		return -ENOMEM;
	ret = rnbdt_pool_reserve(&s->pool, seg);
	if (ret) {
		rnbdt_segment_free(seg);
		return ret;
	}
	ret = rnbdt_segment_map(seg, s->conn.pd);
	if (ret) {
		rnbdt_grant_drop(s, seg);
		return ret;
	}
	*result = seg;
	return 0;
}

/* Register segments and announce them to the client, or free them if the registration fails. */
static int rnbdt_grant_announce(struct rnbdt_session *s, struct rnbdt_segment **segs, u32 nr)
{
	int ret = rnbdt_segments_register(s, segs, nr);
	u32 i;

	if (ret) {
		for (i = 0; i < nr; i++)
			rnbdt_grant_drop(s, segs[i]);
		return ret;
	}
	rnbdt_host_lock(s->host);
	for (i = 0; i < nr; i++) {
		segs[i]->granted_at = jiffies;
		rnbdt_pool_add(&s->pool, segs[i]);
	}
	s->lease.registrations += nr;
	rnbdt_host_unlock(s->host);
	for (i = 0; i < nr; i++)
		rnbdt_ctl_lease(s, segs[i], RNBDT_TELL_SEGMENT);
	return 0;
}

/**
 * rnbdt_grant_floor - grant the segments with which a session begins
 * @s: session that is logging in, with an empty pool
 * @units: units of the floor, which the caller has charged
 *
 * All segments except the last one have the largest size. They use the slots from 0 on.
 *
 * Context: login work; may sleep.
 * Return: 0; -ENOMEM; -EOPNOTSUPP if the device needs bounce buffers or cache flushes; -ENOTCONN
 * if the session was closed; or an error of the device.
 */
int rnbdt_grant_floor(struct rnbdt_session *s, u32 units)
{
	struct rnbdt_segment *segs[RNBDT_REG_BATCH];
	u32 nr = 0, done = 0;
	int ret = 0;

	while (done < units && !ret) {
		u32 size = min(1U << s->pool.shift, units - done);

		/* Do not allocate memory for a session that closes. */
		ret = READ_ONCE(s->state) == RNBDT_LOGIN ? 0 : -ENOTCONN;
		if (!ret)
			ret = rnbdt_grant_prepare(s, size, true, &segs[nr]);
		if (ret)
			break;
		done += size;
		if (++nr == RNBDT_REG_BATCH || done == units) {
			ret = rnbdt_grant_announce(s, segs, nr);
			nr = 0;
		}
	}
	while (nr)
		rnbdt_grant_drop(s, segs[--nr]);
	if (s->account.max_bytes > s->account.floor_bytes)
		rnbdt_reserve_fill(ibdev_to_node(s->conn.dev));
	return ret;
}

/* Return the smallest segment size, in units, with which the slots suffice for the ceiling. */
static u32 rnbdt_grant_first_units(const struct rnbdt_session *s)
{
	u32 max_units = s->account.max_bytes >> RNBD_UNIT_SHIFT;

	return round_up(DIV_ROUND_UP(max_units, s->pool.nr_slots), RNBD_SEGMENT_GRANULE);
}

/* Return the preferred size of the next segment in units, at most @wanted. */
static u32 rnbdt_grant_next_units(struct rnbdt_session *s, u32 wanted)
{
	if (!s->lease.next_units || time_after_eq(jiffies, s->lease.second + HZ)) {
		s->lease.second = jiffies;
		s->lease.second_units = 0;
		s->lease.next_units = rnbdt_grant_first_units(s);
	}
	return min3(wanted, s->lease.next_units, 1U << s->pool.shift);
}

/*
 * Test whether a segment of @units would exceed a rate limit in this second. The rate limits
 * bound the work for a client that releases and requests memory all the time. A segment is not
 * reduced to the units that a rate limit still allows, because small segments use up the slots.
 */
static bool rnbdt_grant_paced(const struct rnbdt_session *s, u32 units)
{
	return s->lease.second_units + units > s->account.max_bytes >> RNBD_UNIT_SHIFT ||
	       rnbdt_budget_paced(s, (u64)units * RNBD_UNIT_SIZE);
}

/*
 * Return the smallest size, in units, to which a segment may be reduced when memory is short.
 * Small segments must not use up the slots: the pool could not grow when memory is available
 * again.
 */
static u32 rnbdt_grant_least(const struct rnbdt_session *s, u32 units)
{
	const struct rnbdt_pool *pool = &s->pool;

	if (pool->nr_taken <= pool->nr_slots - pool->nr_slots / 4)
		return RNBD_SEGMENT_GRANULE;
	return min(units, rnbdt_grant_first_units(s));
}

/*
 * Ask the client to return its smallest segment, so that a segment of @units can use its slot. If
 * the client is returning a segment already, ask for no other. Return -EAGAIN if a slot will become
 * free, -EBUSY if no segment is smaller than @units, or 0 if the limits leave no memory for a
 * segment that is larger than the smallest one. Called with the host locked.
 */
static int rnbdt_grant_make_slot(struct rnbdt_session *s, u32 units)
{
	struct rnbdt_segment *seg, *smallest = NULL;
	u32 slot;

	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++) {
		if (seg->reclaimed || READ_ONCE(seg->released))
			return -EAGAIN;
		if (!smallest || seg->units < smallest->units)
			smallest = seg;
	}
	if (!smallest || smallest->units >= units)
		return -EBUSY;
	if (rnbdt_budget_room(s, (u64)units * RNBD_UNIT_SIZE) <=
	    (u64)smallest->units * RNBD_UNIT_SIZE)
		return 0;
	rnbdt_share_ask(s, smallest);
	return -EAGAIN;
}

/* Charge the next segment. Return its units, 0 if the limits leave too little, or an errno. */
static int rnbdt_grant_charge(struct rnbdt_session *s, u32 units)
{
	const u64 unit = RNBD_UNIT_SIZE;
	int ret;

	rnbdt_host_lock(s->host);
	if (rnbdt_grant_paced(s, units))
		ret = -EAGAIN;
	else if (s->pool.nr_taken == s->pool.nr_slots)
		ret = rnbdt_grant_make_slot(s, units);
	else
		ret = rnbdt_budget_grow(s, units * unit, rnbdt_grant_least(s, units) * unit) >>
		      RNBD_UNIT_SHIFT;
	rnbdt_host_unlock(s->host);
	return ret;
}

/* Delay the next attempt: the failed one has cost work, such as the zeroing of pages. */
static void rnbdt_grant_failed(struct rnbdt_lease *lease)
{
	lease->pause = clamp(2 * lease->pause, RNBDT_HUNGRY_PAUSE + 0UL,
			     RNBDT_FAILED_PAUSE + 0UL);
	lease->retry_at = jiffies + lease->pause;
}

/*
 * Grant one segment. Return its units, 0 if the limits leave too little memory, -EAGAIN if a
 * slot will become free or a rate limit applies, -EBUSY if no slot will become free, or -ENOMEM
 * after a failed allocation or registration, and during the pause that follows.
 */
static int rnbdt_grant_one(struct rnbdt_session *s, u32 wanted)
{
	struct rnbdt_lease *lease = &s->lease;
	struct rnbdt_segment *seg;
	int ret, charged;

	/* A WANT of the client, or returned memory, can queue the lease work before @retry_at. */
	if (lease->pause && time_before(jiffies, lease->retry_at))
		return -ENOMEM;
	charged = rnbdt_grant_charge(s, rnbdt_grant_next_units(s, wanted));
	if (charged <= 0)
		return charged;
	ret = rnbdt_grant_prepare(s, charged, false, &seg);
	if (!ret)
		ret = rnbdt_grant_announce(s, &seg, 1);
	if (!ret) {
		rnbdt_reserve_fill(ibdev_to_node(s->conn.dev));
		WRITE_ONCE(lease->grants, lease->grants + 1);
		lease->second_units += charged;
		lease->next_units = min(2 * lease->next_units, 1U << s->pool.shift);
		lease->pause = 0;
		return charged;
	}
	rnbdt_grant_failed(lease);
	rnbdt_host_lock(s->host);
	rnbdt_budget_shrink(s, (u64)charged * RNBD_UNIT_SIZE);
	rnbdt_host_unlock(s->host);
	return -ENOMEM;
}

/**
 * rnbdt_grant_wanted - compute by how much the pool is smaller than the client has requested
 * @s: live session
 *
 * Context: lease work.
 * Return: units, rounded down to a multiple of RNBD_SEGMENT_GRANULE.
 */
u32 rnbdt_grant_wanted(const struct rnbdt_session *s)
{
	u32 want = READ_ONCE(s->lease.want), held = READ_ONCE(s->pool.units);

	return want > held ? round_down(want - held, RNBD_SEGMENT_GRANULE) : 0;
}

/**
 * rnbdt_grant_feed - grant segments up to the requested size of the pool, as the limits allow
 * @s: live session
 *
 * Context: lease work; locks the host, may sleep.
 * Return: jiffies after which the caller should try again; 0 if the pool has the requested size,
 * or if all slots are in use and no slot will become free.
 */
unsigned long rnbdt_grant_feed(struct rnbdt_session *s)
{
	u32 wanted = rnbdt_grant_wanted(s);
	int ret = 1;

	while (wanted && ret > 0 && READ_ONCE(s->state) == RNBDT_LIVE) {
		ret = rnbdt_grant_one(s, wanted);
		wanted = rnbdt_grant_wanted(s);
	}
	rnbdt_host_lock(s->host);
	/* rnbdt_lease_stop() relies on the rule that a closing session is not hungry. */
	rnbdt_budget_hungry(s, wanted && !ret && READ_ONCE(s->state) == RNBDT_LIVE);
	if (wanted && !ret)
		rnbdt_share_reclaim();
	rnbdt_host_unlock(s->host);
	if (!wanted || ret == -EBUSY)
		return 0;
	return ret == -ENOMEM ? s->lease.pause : RNBDT_HUNGRY_PAUSE;
}
