// SPDX-License-Identifier: GPL-2.0-only
/*
 * The delegated pool: memory of the target that one client manages.
 *
 * Operation
 *
 * A pool is a set of segments (segment.c), each in a slot. The slot is a part of the number
 * of each unit: unit u lies in slot u / segment_units. The client alone decides where its
 * data lies; the target only looks up the pages that a request names (struct rnbdt_piece).
 *
 * A request that names a slot without a segment, or more units than the segment has, is a
 * protocol error. Slots are used in turn, so a client that names a segment after it has
 * released it is likely to be found out. It harms its own data otherwise.
 *
 * Ownership
 *
 * The session owns the pool and shares it with no other session: memory regions belong to
 * its protection domain. A segment in a slot belongs to the pool. The requests that name a
 * segment keep it without a counter: rnbdt_pool_scan() finds them.
 *
 * Concurrency
 *
 * Segments are added and removed with the host locked, by the login work and then the lease
 * work, and found under RCU. The teardown frees the pool after the queue pairs have gone and
 * no request is in the backend. A frame handler sets rnbdt_req.busy after it has written the
 * extents, and changes rnbdt_req.turn before; so the scan knows when a tag was used again
 * while it read the extents.
 *
 * Errors
 *
 * rnbdt_pool_free() frees a pool in any state, also one whose initialisation failed.
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
 * Bounds of the size of the largest segment, and how many of them a pool has at least. A
 * segment is reclaimed as a whole, and only when all of it is unused.
 */
#define RNBDT_SEGMENT_UNITS_MIN	256U
#define RNBDT_SEGMENT_UNITS_MAX	4096U
#define RNBDT_SEGMENTS_OF_POOL	8

/* Nanoseconds after which the storage of a request is slow */
#define RNBDT_POOL_HUNG		NSEC_PER_SEC

/* Slots for each part of a pool that the largest segment could cover */
#define RNBDT_SLOTS_PER_SEGMENT	8

/**
 * rnbdt_pool_segment_units - return the size of the largest segment of a pool
 * @dev: device, which must be able to register it with one memory region
 * @max_units: ceiling of the pool
 *
 * Context: any.
 * Return: units, a power of two; 0 if the device has no fast registration.
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
 * @segment_units: size of the largest segment
 * @floor_units: floor of the pool, in segments of that size
 * @max_units: ceiling of the pool
 *
 * Context: any.
 * Return: number; there are more if the pool can grow, because later segments may be small.
 */
u32 rnbdt_pool_slots(u32 segment_units, u32 floor_units, u32 max_units)
{
	u32 nr = DIV_ROUND_UP(floor_units, segment_units);

	nr += RNBDT_SLOTS_PER_SEGMENT * DIV_ROUND_UP(max_units - floor_units, segment_units);
	return min3(nr, RNBD_POOL_UNITS_MAX / segment_units, RNBD_SEGMENTS_MAX + 0U);
}

/**
 * rnbdt_pool_init - initialise a pool without segments
 * @s: session that is logging in; its pool is zeroed
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
 * rnbdt_pool_reserve - give a segment a slot, in which it is not found yet
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
	/* A generation of 0 is not valid; a session does not live for 2^32 grants. */
	seg->generation = ++pool->generation;
	return 0;
}

/**
 * rnbdt_pool_cancel - return the slot of a segment that is not granted
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
 * rnbdt_pool_add - let requests name a segment
 * @pool: pool
 * @seg: registered segment after rnbdt_pool_reserve()
 *
 * Context: process context, host of the session locked.
 */
void rnbdt_pool_add(struct rnbdt_pool *pool, struct rnbdt_segment *seg)
{
	rnbdt_assert_host(container_of(pool, struct rnbdt_session, pool)->host);

	WRITE_ONCE(pool->units, pool->units + seg->units);
	rcu_assign_pointer(pool->slots[seg->slot], seg);
}

/**
 * rnbdt_pool_remove - take a segment out of its slot
 * @pool: pool
 * @seg: segment that no request names or may name
 *
 * Context: lease work, host of the session locked.
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
 * Context: any; the result is valid under RCU, with the host locked, or while a request names
 * it.
 * Return: the segment or NULL.
 */
struct rnbdt_segment *rnbdt_pool_find(const struct rnbdt_pool *pool, u32 slot)
{
	/* The caller holds RCU, the lock of the host, or a request that names the segment. */
	return slot < pool->nr_slots ? rcu_dereference_raw(pool->slots[slot]) : NULL;
}

/**
 * rnbdt_pool_next - find the next segment of a pool
 * @pool: pool
 * @slot: slot to begin with; set to that of the segment
 *
 * Context: as rnbdt_pool_find().
 * Return: the segment or NULL.
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
 * Context: RCU read side, which the caller leaves after the request is marked as busy.
 * Return: true if so.
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
 * struct rnbdt_named - space that a request names
 * @begun: when it was decoded, as rnbdt_req.begun
 * @done: the storage has completed it
 * @nr: number of extents
 * @slots: slot of each extent
 * @units: units of each extent
 */
struct rnbdt_named {
	u64 begun;
	bool done;
	u32 nr;
	u32 slots[RNBD_EXTENTS_MAX];
	u32 units[RNBD_EXTENTS_MAX];
};

/* Read what a request names. Returns false if the target does not hold it. */
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
		 * Extents that a later turn has written: the turn read next shows it. Pairs
		 * with smp_wmb() in rnbdt_queue_request().
		 */
		smp_rmb();
	} while (READ_ONCE(treq->turn) != turn);
	return true;
}

/* May a request keep the deadline of a segment that it names from running? */
static bool rnbdt_pool_excuses(const struct rnbdt_named *named, const struct rnbdt_segment *seg)
{
	/*
	 * The client alone delays a reply of the storage, by giving no credit. Nor must it put
	 * off the deadline by further requests.
	 */
	return !named->done && (!seg || named->begun <= READ_ONCE(seg->asked_ns));
}

/* Mark the slots that a request names. It is slow if it came before @slow_ns. */
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
		/* Requests may name the same units. */
		if (slow)
			pool->slow[slot] = min(pool->slow[slot] + named->units[i],
					       1U << pool->shift);
	}
}

/* Return a queue whose requests may be looked at, or NULL. A queue that has joined stays. */
static struct rnbdt_queue *rnbdt_pool_queue(struct rnbdt_session *s, u32 index)
{
	/* pairs with the release when the queue was added */
	struct rnbdt_queue *q = smp_load_acquire(&s->queues[index]);

	return q && rnbdt_queue_joined(q) ? q : NULL;
}

/**
 * rnbdt_pool_scan - find the segments that requests of the session name
 * @s: live session, or one whose queue pairs are drained
 * @deadlines: ignore requests that the storage has completed, and those that came when the
 *	client knew that it must not use the segment again
 *
 * A request that begins during the scan may be missed.
 *
 * Context: lease work or teardown; may sleep, and may run long.
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
		/* The client may give up tags meanwhile, which no request in flight has. */
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
 * Return: true if so.
 */
bool rnbdt_pool_named(const struct rnbdt_pool *pool, const struct rnbdt_segment *seg)
{
	return test_bit(seg->slot, pool->named);
}

/**
 * rnbdt_pool_slow - return how much of a segment slow storage used at the latest scan
 * @pool: pool
 * @seg: segment
 *
 * Context: as rnbdt_pool_scan().
 * Return: units that requests name which the storage has not completed for long.
 */
u32 rnbdt_pool_slow(const struct rnbdt_pool *pool, const struct rnbdt_segment *seg)
{
	return min(pool->slow[seg->slot], seg->units);
}

/**
 * rnbdt_pool_free - free a pool, complete or not
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
 * @treq: READ or WRITE in the target, which keeps its segments
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
 * @page: set to the first page; the piece begins at its start
 *
 * Context: any.
 * Return: bytes, 0 at the end. All pieces except the last are whole units.
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
 * @treq: READ or WRITE in the target, which keeps its segments
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
