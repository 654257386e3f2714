// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments of a pool by slot, and the requests that name them.
 *
 * Operation
 *
 * The pool is memory of the target that one client manages: a set of segments (segment.c), each
 * in a slot. Unit u lies in slot u / segment_units. The client alone decides where its data lie;
 * the target only looks up the pages that a request names (struct rnbdt_piece).
 *
 * A request that names a slot without a segment, a released segment, or units beyond the end of a
 * segment is a protocol error. New segments get the slots in turn, so a slot stays empty after
 * its segment was freed, and a request that still names the freed segment is detected. If the slot
 * already has a new segment, the request is not detected, but it can damage only data of its own
 * session.
 *
 * Ownership
 *
 * The session owns the pool and shares it with no other session: the memory regions belong to
 * the protection domain of the session. The pool owns the segments in its slots. Requests hold no
 * reference on the segments that they name; rnbdt_pool_scan() finds the segments that requests
 * in flight name.
 *
 * Concurrency
 *
 * The login work, then the lease work, then the teardown adds or removes segments, under the host
 * lock. Other readers find segments under RCU. The teardown frees the pool after the queue pairs
 * are destroyed and the backend has no request of the session. A frame handler changes
 * rnbdt_req.turn, then writes the extents, then sets rnbdt_req.busy. So rnbdt_pool_scan()
 * detects that a tag was used again while it read the extents.
 *
 * Errors
 *
 * rnbdt_pool_free() frees a pool in any state, including one whose initialisation failed.
 */

#include <linux/bitmap.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "../core/io.h"
#include "graph.h"
#include "pool.h"
#include "queue.h"
#include "segment.h"
#include "session.h"

/*
 * Limits in units of the size of the largest segment, and the number of such segments in a pool
 * at its ceiling, unless one of these limits applies. A pool has several segments because a
 * segment can be returned only as a whole, when no request uses any part of it.
 */
#define RNBDT_SEGMENT_UNITS_MIN	256U
#define RNBDT_SEGMENT_UNITS_MAX	4096U
#define RNBDT_SEGMENTS_OF_POOL	8

/* A request that the storage has not completed this many ns after its arrival counts as slow. */
#define RNBDT_POOL_HUNG		NSEC_PER_SEC

/* Slots for each segment of the largest size beyond the floor: smaller ones can take its place. */
#define RNBDT_SLOTS_PER_SEGMENT	8

/**
 * rnbdt_pool_segment_units - return the size of the largest segment of a pool
 * @dev: device, which must be able to register such a segment with one memory region
 * @max_units: ceiling of the pool in units
 *
 * Context: any.
 * Return: units, a power of two; 0 if the device does not support fast registration.
 */
u32 rnbdt_pool_segment_units(struct ib_device *dev, u32 max_units)
{
	u32 units = clamp(max_units / RNBDT_SEGMENTS_OF_POOL, RNBDT_SEGMENT_UNITS_MIN,
			  RNBDT_SEGMENT_UNITS_MAX);

	units = min(units, dev->attrs.max_fast_reg_page_list_len);
	return units ? rounddown_pow_of_two(units) : 0;
}

/**
 * rnbdt_pool_slots - return the number of slots of a pool
 * @segment_units: size of the largest segment in units
 * @floor_units: floor of the pool in units, granted in segments of that size
 * @max_units: ceiling of the pool in units
 *
 * Context: any.
 * Return: number of slots. Unless a limit of the protocol applies, a pool that can grow has more
 * slots than segments of the largest size fit into it, because segments that are granted later can
 * be smaller.
 */
u32 rnbdt_pool_slots(u32 segment_units, u32 floor_units, u32 max_units)
{
	u32 nr = DIV_ROUND_UP(floor_units, segment_units);

	nr += RNBDT_SLOTS_PER_SEGMENT * DIV_ROUND_UP(max_units - floor_units, segment_units);
	return min3(nr, RNBD_POOL_UNITS_MAX / segment_units, RNBD_SEGMENTS_MAX + 0U);
}

/**
 * rnbdt_pool_init - initialise a pool without segments
 * @s: session that is logging in; its pool must be zeroed
 * @segment_units: units from one slot to the next, a power of two
 * @nr_slots: number of slots
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM. The caller must call rnbdt_pool_free() in every case.
 */
int rnbdt_pool_init(struct rnbdt_session *s, u32 segment_units, u32 nr_slots)
{
	struct rnbdt_pool *pool = &s->pool;

	pool->shift = ilog2(segment_units);
	pool->slots = kvcalloc(nr_slots, sizeof(*pool->slots), GFP_KERNEL);
	pool->taken = kvcalloc(BITS_TO_LONGS(nr_slots), sizeof(long), GFP_KERNEL);
	pool->named = kvcalloc(BITS_TO_LONGS(nr_slots), sizeof(long), GFP_KERNEL);
	pool->slow = kvcalloc(nr_slots, sizeof(*pool->slow), GFP_KERNEL);
	if (!pool->slots || !pool->taken || !pool->named || !pool->slow)
		return -ENOMEM;
	pool->nr_slots = nr_slots;
	return 0;
}

/**
 * rnbdt_pool_reserve - assign a slot to a segment, without making the segment visible
 * @pool: pool
 * @seg: segment
 *
 * Context: login work or lease work.
 * Return: 0, or -EBUSY if all slots are taken.
 */
int rnbdt_pool_reserve(struct rnbdt_pool *pool, struct rnbdt_segment *seg)
{
	u32 slot = find_next_zero_bit(pool->taken, pool->nr_slots, pool->next_slot);

	if (slot >= pool->nr_slots)
		slot = find_first_zero_bit(pool->taken, pool->nr_slots);
	if (slot >= pool->nr_slots)
		return -EBUSY;
	__set_bit(slot, pool->taken);
	seg->slot = slot;
	pool->next_slot = slot + 1;
	pool->nr_taken++;
	/* The generation is never 0: a session does not last for 2^32 grants. */
	seg->generation = ++pool->generation;
	return 0;
}

/**
 * rnbdt_pool_cancel - release the slot of a segment that was not granted
 * @pool: pool
 * @seg: segment after rnbdt_pool_reserve()
 *
 * Context: login work or lease work.
 */
void rnbdt_pool_cancel(struct rnbdt_pool *pool, struct rnbdt_segment *seg)
{
	__clear_bit(seg->slot, pool->taken);
	pool->nr_taken--;
}

/**
 * rnbdt_pool_add - make a segment visible, so that requests may name it
 * @pool: pool
 * @seg: registered segment after rnbdt_pool_reserve()
 *
 * Context: process context, host lock held.
 */
void rnbdt_pool_add(struct rnbdt_pool *pool, struct rnbdt_segment *seg)
{
	rnbdt_assert_host(container_of(pool, struct rnbdt_session, pool)->host);

	WRITE_ONCE(pool->units, pool->units + seg->units);
	rcu_assign_pointer(pool->slots[seg->slot], seg);
}

/**
 * rnbdt_pool_remove - remove a segment from its slot
 * @pool: pool
 * @seg: segment that no request in flight names, and that no later request may name
 *
 * Context: lease work or teardown, host lock held.
 */
void rnbdt_pool_remove(struct rnbdt_pool *pool, struct rnbdt_segment *seg)
{
	rnbdt_assert_host(container_of(pool, struct rnbdt_session, pool)->host);

	WRITE_ONCE(pool->units, pool->units - seg->units);
	RCU_INIT_POINTER(pool->slots[seg->slot], NULL);
	__clear_bit(seg->slot, pool->taken);
	pool->nr_taken--;
}

/**
 * rnbdt_pool_find - find the segment in a slot
 * @pool: pool
 * @slot: any number
 *
 * Context: any. The result is valid under RCU or the host lock, while a request names the segment,
 * or in the lease work or teardown, which alone remove segments.
 * Return: the segment, or NULL.
 */
struct rnbdt_segment *rnbdt_pool_find(const struct rnbdt_pool *pool, u32 slot)
{
	/*
	 * Without a lockdep condition: the caller is an RCU reader, holds the host lock, has a
	 * request that names the segment, or is the lease work or the teardown.
	 */
	return slot < pool->nr_slots ? rcu_dereference_raw(pool->slots[slot]) : NULL;
}

/**
 * rnbdt_pool_next - find the next segment of a pool
 * @pool: pool
 * @slot: first slot to examine; set to the slot of the returned segment
 *
 * Context: as rnbdt_pool_find().
 * Return: the segment, or NULL.
 */
struct rnbdt_segment *rnbdt_pool_next(const struct rnbdt_pool *pool, u32 *slot)
{
	struct rnbdt_segment *seg;

	for (; *slot < pool->nr_slots; (*slot)++) {
		seg = rnbdt_pool_find(pool, *slot);
		if (seg)
			return seg;
	}
	return NULL;
}

/**
 * rnbdt_pool_allows - check that all extents of a request lie in segments of the pool
 * @pool: pool
 * @req: request that the decoder has accepted: no extent crosses the end of a slot
 *
 * Context: RCU read side, which the caller leaves only after it has marked the request as busy.
 * Return: true if all extents lie in segments that the client has not released.
 */
bool rnbdt_pool_allows(const struct rnbdt_pool *pool, const struct rnbd_request *req)
{
	u32 mask = (1U << pool->shift) - 1, i;

	for (i = 0; i < req->nr_extents; i++) {
		const struct rnbd_extent *extent = &req->extents[i];
		const struct rnbdt_segment *seg;

		seg = rnbdt_pool_find(pool, extent->unit >> pool->shift);
		if (unlikely(!seg || READ_ONCE(seg->released) ||
			     (extent->unit & mask) + extent->units > seg->units))
			return false;
	}
	return true;
}

/**
 * struct rnbdt_named - copy of the extents of a request
 * @begun: monotonic time in ns when the request was decoded, as rnbdt_req.begun
 * @done: the storage has completed the request
 * @nr: number of extents
 * @slots: slot of each extent
 * @units: length of each extent in units
 */
struct rnbdt_named {
	u64 begun;
	bool done;
	u32 nr;
	u32 slots[RNBD_EXTENTS_MAX];
	u32 units[RNBD_EXTENTS_MAX];
};

/* Copy the extents of a request. Returns false if no request with this tag is in flight. */
static bool rnbdt_pool_read_req(const struct rnbdt_pool *pool, const struct rnbdt_req *treq,
				struct rnbdt_named *named)
{
	u32 turn, i;

	do {
		/* The frame handler changes the turn, writes the request, then sets busy. */
		turn = smp_load_acquire(&treq->turn);
		/* pairs with the release in rnbdt_queue_request() */
		if (!smp_load_acquire(&treq->busy))
			return false;
		named->begun = READ_ONCE(treq->begun);
		named->done = READ_ONCE(treq->done);
		named->nr = min_t(u32, READ_ONCE(treq->req.nr_extents), RNBD_EXTENTS_MAX);
		for (i = 0; i < named->nr; i++) {
			named->slots[i] = READ_ONCE(treq->req.extents[i].unit) >> pool->shift;
			named->units[i] = READ_ONCE(treq->req.extents[i].units);
		}
		/*
		 * If a later use of the tag has written one of these extents, the next read of
		 * turn returns another value. Pairs with smp_wmb() in rnbdt_queue_request().
		 */
		smp_rmb();
	} while (READ_ONCE(treq->turn) != turn);
	return true;
}

/* Return whether a request extends the deadline for the return of a segment that it names. */
static bool rnbdt_pool_excuses(const struct rnbdt_named *named, const struct rnbdt_segment *seg)
{
	/*
	 * A request that the storage has completed does not count: only the client can still delay
	 * the reply, by withholding credits. A request that arrived long after RECLAIM was sent
	 * does not count either.
	 */
	return !named->done && (!seg || named->begun <= READ_ONCE(seg->asked_ns));
}

/*
 * Mark the slots that a request names. The request is slow if it arrived before @slow_ns and the
 * storage has not completed it.
 */
static void rnbdt_pool_mark(struct rnbdt_pool *pool, const struct rnbdt_named *named,
			    bool deadlines, u64 slow_ns)
{
	bool slow = !named->done && named->begun < slow_ns;
	u32 i;

	for (i = 0; i < named->nr; i++) {
		u32 slot = named->slots[i];

		if (WARN_ON_ONCE(slot >= pool->nr_slots))
			continue;
		if (!deadlines || rnbdt_pool_excuses(named, rnbdt_pool_find(pool, slot)))
			__set_bit(slot, pool->named);
		/* Several requests can name the same units: limit the sum. */
		if (slow)
			pool->slow[slot] = min(pool->slow[slot] + named->units[i],
					       1U << pool->shift);
	}
}

/* Return a queue if it has joined, else NULL. Only the teardown frees a queue that has joined. */
static struct rnbdt_queue *rnbdt_pool_queue(struct rnbdt_session *s, u32 index)
{
	/* pairs with the release when the queue was added */
	struct rnbdt_queue *q = smp_load_acquire(&s->queues[index]);

	return q && rnbdt_queue_joined(q) ? q : NULL;
}

/**
 * rnbdt_pool_scan - find the segments that requests of the session name
 * @s: live session, or one whose queue pairs are drained
 * @deadlines: if true, rnbdt_pool_named() ignores the requests that do not extend the deadline
 *	of a reclaimed segment: those that the storage has completed, and those that were
 *	decoded after rnbdt_segment.asked_ns of the segment
 *
 * rnbdt_pool_named() and rnbdt_pool_slow() return the results. The scan can miss a request
 * that arrives during the scan.
 *
 * Context: lease work or teardown; may sleep, and can take long.
 */
void rnbdt_pool_scan(struct rnbdt_session *s, bool deadlines)
{
	u64 slow_ns = ktime_get_ns() - RNBDT_POOL_HUNG;
	struct rnbdt_pool *pool = &s->pool;
	const struct rnbdt_req *treq;
	struct rnbdt_named named;
	u32 i, tag;

	bitmap_zero(pool->named, pool->nr_slots);
	memset(pool->slow, 0, pool->nr_slots * sizeof(*pool->slow));
	for (i = 0; i < s->nr_slots; i++) {
		struct rnbdt_queue *q;

		q = rnbdt_pool_queue(s, i);
		/* The depth can shrink now, but only by tags that no request in flight uses. */
		rcu_read_lock();
		for (tag = 0; q && (treq = rnbdt_queue_req(q, tag)); tag++) {
			if (rnbdt_pool_read_req(pool, treq, &named))
				rnbdt_pool_mark(pool, &named, deadlines, slow_ns);
		}
		rcu_read_unlock();
		cond_resched();
	}
}

/**
 * rnbdt_pool_named - test whether the latest scan found a request that names a segment
 * @pool: pool
 * @seg: segment
 *
 * Context: as rnbdt_pool_scan().
 * Return: true if the scan found such a request.
 */
bool rnbdt_pool_named(const struct rnbdt_pool *pool, const struct rnbdt_segment *seg)
{
	return test_bit(seg->slot, pool->named);
}

/**
 * rnbdt_pool_slow - return how much of a segment slow requests named at the latest scan
 * @pool: pool
 * @seg: segment
 *
 * Context: as rnbdt_pool_scan().
 * Return: sum of the units of @seg that are named by requests which the storage had not completed
 * within RNBDT_POOL_HUNG, at most the size of @seg.
 */
u32 rnbdt_pool_slow(const struct rnbdt_pool *pool, const struct rnbdt_segment *seg)
{
	return min(pool->slow[seg->slot], seg->units);
}

/**
 * rnbdt_pool_free - free a pool, even if it is only partly initialised
 * @pool: pool that no queue pair and no request uses
 *
 * Context: process context; may sleep.
 */
void rnbdt_pool_free(struct rnbdt_pool *pool)
{
	struct rnbdt_segment *seg;
	u32 slot;

	for (slot = 0; (seg = rnbdt_pool_next(pool, &slot)); slot++) {
		rnbdt_segment_unmap(seg);
		rnbdt_segment_free(seg);
	}
	pool->nr_slots = 0;
	kvfree(pool->slots);
	pool->slots = NULL;
	kvfree(pool->taken);
	pool->taken = NULL;
	kvfree(pool->named);
	pool->named = NULL;
	kvfree(pool->slow);
	pool->slow = NULL;
	pool->units = 0;
}

/**
 * rnbdt_piece_start - start to iterate over the memory of a request
 * @it: iterator to initialise
 * @treq: READ or WRITE; while it is in flight, its segments are not freed
 *
 * Context: any.
 */
void rnbdt_piece_start(struct rnbdt_piece *it, const struct rnbdt_req *treq)
{
	it->pool = &treq->queue->session->pool;
	it->req = &treq->req;
	it->run = 0;
	it->done = 0;
	it->left = treq->req.length;
}

/**
 * rnbdt_piece_next - return the next piece of contiguous memory
 * @it: iterator
 * @page: set to the first page of the piece, which begins at offset 0 of this page
 *
 * Context: any.
 * Return: length of the piece in bytes, or 0 if no piece is left. All pieces except the last one
 * of a request consist of whole units.
 */
u32 rnbdt_piece_next(struct rnbdt_piece *it, struct page **page)
{
	const struct rnbd_extent *run;
	u32 unit, units, bytes;

	if (!it->left)
		return 0;
	run = &it->req->extents[it->run];
	if (!it->done)
		it->seg = rnbdt_pool_find(it->pool, run->unit >> it->pool->shift);
	unit = (run->unit & ((1U << it->pool->shift) - 1)) + it->done;
	units = min_t(u32, it->seg->ahead[unit], run->units - it->done);
	it->done += units;
	if (it->done == run->units) {
		it->run++;
		it->done = 0;
	}
	bytes = min(units * RNBD_UNIT_SIZE, it->left);
	it->left -= bytes;
	*page = it->seg->pages[unit];
	return bytes;
}

/**
 * rnbdt_piece_count - count the contiguous pieces of the memory of a request
 * @treq: READ or WRITE; while it is in flight, its segments are not freed
 *
 * Context: any.
 * Return: number of pieces.
 */
u32 rnbdt_piece_count(const struct rnbdt_req *treq)
{
	struct rnbdt_piece it;
	struct page *page;
	u32 nr;

	if (treq->req.length <= RNBD_UNIT_SIZE)
		return 1;
	rnbdt_piece_start(&it, treq);
	for (nr = 0; it.left; nr++)
		rnbdt_piece_next(&it, &page);
	return nr;
}
