// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random test of the space of a session's pool. A model records for each unit whether a request
 * uses it and which work request has named it last.
 *
 * Hardware queues allocate and free, work requests complete late but in order, spin_trylock()
 * sometimes fails, segments are added and closed. No two requests use a unit at a time. A
 * queue uses a unit only while no work request of another queue names it, and a closed
 * segment is reported as empty only when no work request names a unit of it. Waiters are served
 * first in, first out, unless rnbdc_space_tick() lets others pass. They are also served if the
 * pool has shrunk below the units that they must leave for others. The largest request proceeds
 * when nothing else is in flight. Nothing is allocated in a closed segment. No unit is lost. Some
 * pools use the tables of a connection that was lost with requests in flight.
 */
#include "../../drivers/client/space.c"
#include "../../drivers/client/waiter.c"
#include "../../drivers/client/cache.c"

#include "unit.h"

#define ROUNDS		3000	/* pools */
#define STEPS		600	/* steps per pool */
#define NS_MAX		15000000000ull
#define QUEUES		5
#define HWQS		12
#define UNITS		2048
#define SLOTS		40
#define REQS		400

static struct unit_random rnd;
static u64 served, waits, turns, moved, emptied, largest_ok, passed;

static u32 below(u32 n)
{
	return unit_random_below(&rnd, n);
}

/* State of a unit in the model */
struct model_unit {
	bool used;
	bool closing;		/* its segment was closed */
	bool granted;
	bool named;		/* a work request has named it */
	u32 queue;		/* queue of the latest work request that has named it */
	u32 cover;		/* number of the completion that ends that work request */
};

struct hwq {
	struct rnbdc_waiter waiter;
	u32 queue;
	u32 want;		/* units of the request that waits, or 0 */
	u32 since;		/* number of the wait, counted over all waits */
	bool startable;		/* started since the wait began */
	bool failed;		/* its latest turn got no space */
};

enum state { NONE, SENT, READING };

struct req {
	enum state state;
	bool write;
	u32 queue, cover;
	int nr;
	struct rnbd_extent extents[RNBD_EXTENTS_MAX];
};

static struct world {
	struct rnbdc_space space;
	spinlock_t locks[QUEUES];	/* locks of the queues */
	struct rnbdc_cache caches[QUEUES];
	struct hwq hwqs[HWQS];
	struct req reqs[REQS];
	struct model_unit units[UNITS];
	u32 seg_generation[SLOTS], seg_units[SLOTS];
	bool seg_closing[SLOTS];
	u32 nr_queues, nr_hwqs, nr_slots, segment, max_units, wait_number, turn_number;
	bool kicked, ticked, closed;
	u32 try_fails;		/* failing calls of spin_trylock(), out of 10 */
	bool closes;		/* this round closes segments of the pool */
	u32 generation;
} w;

bool unit_trylock_fails(void)
{
	return below(10) < w.try_fails;
}

static void kick(struct rnbdc_space *space)
{
	assert_ptr_equal(space, &w.space);
	assert_true(space->lock.held);
	w.kicked = true;
}

static bool covered(const struct model_unit *unit)
{
	return !unit->named || (s32)(w.caches[unit->queue].done - unit->cover) >= 0;
}

static u32 end(const struct rnbd_extent *extent)
{
	return extent->unit + extent->units;
}

/* Record that the work request of @req names its units. */
static void name_units(struct req *req)
{
	int i;
	u32 u;

	for (i = 0; i < req->nr; i++)
		for (u = req->extents[i].unit; u < end(&req->extents[i]); u++) {
			w.units[u].named = true;
			w.units[u].queue = req->queue;
			w.units[u].cover = req->cover;
		}
}

static void check_new(const struct req *req, u32 units)
{
	u32 sum = 0, u;
	int i;

	assert_in_range(req->nr, 1, RNBD_EXTENTS_MAX);
	for (i = 0; i < req->nr; i++) {
		const struct rnbd_extent *e = &req->extents[i];

		sum += e->units;
		assert_true(e->units > 0);
		assert_int_equal(e->unit / w.segment, (e->unit + e->units - 1) / w.segment);
		for (u = e->unit; u < end(e); u++) {
			struct model_unit *unit = &w.units[u];

			assert_true(unit->granted);
			assert_false(unit->closing);
			assert_false(unit->used);
			unit->used = true;
			if (unit->named && unit->queue != req->queue) {
				assert_true(covered(unit));
				moved++;
			}
		}
	}
	assert_int_equal(sum, units);
}

static struct req *free_req(void)
{
	u32 i;

	for (i = 0; i < REQS; i++)
		if (w.reqs[i].state == NONE)
			return &w.reqs[i];
	return NULL;
}

static bool someone_waits(const struct hwq *but)
{
	u32 i;

	for (i = 0; i < w.nr_hwqs; i++)
		if (&w.hwqs[i] != but && w.hwqs[i].waiter.waiting)
			return true;
	return false;
}

/* Submit a request of a hardware queue. Return true if it got space. */
static bool submit(struct hwq *hwq, u32 units)
{
	struct rnbdc_cache *cache = &w.caches[hwq->queue];
	struct req *req = free_req();
	bool turn = hwq->waiter.turn, others = someone_waits(hwq);

	if (!req)
		return false;
	hwq->startable = false;
	spin_lock(cache->lock);
	req->nr = rnbdc_space_alloc(cache, &hwq->waiter, units, req->extents);
	if (req->nr < 0) {
		assert_int_equal(req->nr, -ENOSPC);
		/* The units promised for the turn are free, unless their segment was closed. */
		if (turn && hwq->waiter.promise)
			assert_true(w.closed);
		if (!hwq->want) {
			hwq->want = units;
			hwq->since = ++w.wait_number;
		}
		hwq->failed = turn;
		/* The pool can shrink below the sum of the second and the third argument. */
		rnbdc_space_wait(&hwq->waiter, hwq->want,
				 below(3) ? 0 : below(rnbdc_space_reserve(&w.space) + 1));
		waits++;
		spin_unlock(cache->lock);
		return false;
	}
	assert_false(hwq->waiter.waiting);
	assert_false(hwq->waiter.turn);
	if (others && !turn) {
		assert_true(w.ticked);
		passed++;
	}
	req->queue = hwq->queue;
	check_new(req, units);
	req->write = below(2);
	req->state = SENT;
	hwq->want = 0;
	served++;
	if (req->write) {
		rnbdc_cache_posted(cache);
		req->cover = cache->posted;
		name_units(req);
	}
	spin_unlock(cache->lock);
	return true;
}

static void release(struct req *req)
{
	u32 u;
	int i;

	for (i = 0; i < req->nr; i++)
		for (u = req->extents[i].unit; u < end(&req->extents[i]); u++)
			w.units[u].used = false;
	rnbdc_space_free(&w.caches[req->queue], req->extents, req->nr);
}

/* Handle a reply. Some READs free their space early, when their RDMA READ is posted. */
static void answer(struct req *req)
{
	struct rnbdc_cache *cache = &w.caches[req->queue];

	spin_lock(cache->lock);
	if (req->write) {
		/* The reply can come before the completion of the SEND. */
		release(req);
		req->state = NONE;
	} else {
		rnbdc_cache_posted(cache);
		req->cover = cache->posted;
		name_units(req);
		req->state = READING;
		if (below(3) == 0) {
			release(req);
			req->state = NONE;
		}
	}
	rnbdc_cache_restart(cache);
	spin_unlock(cache->lock);
}

/* Complete the oldest work request of a queue. */
static void complete(u32 queue)
{
	struct rnbdc_cache *cache = &w.caches[queue];
	u32 i;

	if (cache->done == cache->posted)
		return;
	spin_lock(cache->lock);
	rnbdc_cache_completed(cache);
	for (i = 0; i < REQS; i++) {
		struct req *req = &w.reqs[i];

		if (req->state == READING && req->queue == queue && req->cover == cache->done) {
			release(req);
			req->state = NONE;
		}
	}
	rnbdc_cache_restart(cache);
	spin_unlock(cache->lock);
}

/* Release the empty segments: no unit in them is in use or named by a work request. */
static void take_empty(void)
{
	u32 slot, generation, u;

	while (rnbdc_space_next_empty(&w.space, &slot, &generation)) {
		assert_true(w.seg_closing[slot]);
		assert_int_equal(generation, w.seg_generation[slot]);
		for (u = slot * w.segment; u < slot * w.segment + w.seg_units[slot]; u++) {
			assert_false(w.units[u].used);
			assert_true(covered(&w.units[u]));
			w.units[u] = (struct model_unit) { 0 };
		}
		assert_int_equal(rnbdc_space_remove_segment(&w.space, slot, generation + 1),
				 -ENOENT);
		assert_int_equal(rnbdc_space_remove_segment(&w.space, slot, generation), 0);
		w.seg_closing[slot] = false;
		w.seg_units[slot] = 0;
		emptied++;
	}
}

/* Model of the work item of the owner (drivers/client/stall.c) */
static void work(bool start)
{
	struct rnbdc_waiter *waiter;

	w.kicked = false;
	rnbdc_space_collect(&w.space);
	take_empty();
	while (start && (waiter = rnbdc_space_next_turn(&w.space))) {
		struct hwq *hwq = container_of(waiter, struct hwq, waiter);

		/* Turns are first in, first out, unless a tick lets others pass. */
		if (!w.ticked && !hwq->failed)
			assert_true(hwq->since > w.turn_number);
		w.turn_number = hwq->since;
		hwq->startable = true;
		turns++;
	}
}

static void add_segment(u32 slot, bool whole)
{
	u32 block = 1u << w.space.shift, u, units;

	if (w.seg_units[slot])
		return;
	units = whole ? w.segment : block * (1 + below(w.segment / block));
	assert_int_equal(rnbdc_space_add_segment(&w.space, slot, ++w.generation, units), 0);
	w.seg_generation[slot] = w.generation;
	w.seg_units[slot] = units;
	for (u = slot * w.segment; u < slot * w.segment + units; u++)
		w.units[u].granted = true;
}

static u32 granted(void)
{
	u32 i, sum = 0;

	for (i = 0; i < w.nr_slots; i++)
		sum += w.seg_closing[i] ? 0 : w.seg_units[i];
	return sum;
}

static void close_segment(u32 slot)
{
	u32 u;

	/* The remaining segments must hold the largest request. */
	if (!w.seg_units[slot] || w.seg_closing[slot] ||
	    granted() - w.seg_units[slot] < w.max_units)
		return;
	assert_int_equal(rnbdc_space_close_segment(&w.space, slot, w.seg_generation[slot]), 0);
	assert_int_equal(rnbdc_space_close_segment(&w.space, slot, w.seg_generation[slot]),
			 -ENOENT);
	w.seg_closing[slot] = true;
	w.closed = true;
	for (u = slot * w.segment; u < slot * w.segment + w.seg_units[slot]; u++)
		w.units[u].closing = true;
}

static void check_sums(void)
{
	u32 i, u, used = 0, open = 0, mine = 0, mine_open = 0;

	for (u = 0; u < w.nr_slots * w.segment; u++) {
		used += w.units[u].used;
		open += w.units[u].used && !w.units[u].closing;
	}
	for (i = 0; i < w.nr_queues; i++) {
		mine += w.caches[i].pool.used;
		mine_open += rnbdc_cache_used_units(&w.caches[i]);
	}
	assert_int_equal(mine, used);
	/* @mine_open includes used units of closed segments until all queues noticed the close. */
	if (w.space.flags & RNBDC_SPACE_CLOSING)
		assert_in_range(mine_open, open, used);
	else
		assert_int_equal(mine_open, open);
	assert_int_equal(w.space.units, granted());
	assert_true(w.space.free_units <= w.space.units);
	assert_true(w.space.promised <= w.space.free_units || w.closed);
}

/* Begin a connection. */
static void fill_world(void)
{
	u32 i;

	assert_int_equal(rnbdc_space_open(&w.space, w.nr_slots * w.segment, w.segment,
					  w.max_units, w.nr_queues), 0);
	for (i = 0; i < w.nr_queues; i++) {
		rnbdc_cache_init(&w.caches[i], &w.space, &w.locks[i]);
		assert_int_equal(rnbdc_cache_open(&w.caches[i], i), 0);
		/* Let some counters wrap around. */
		w.caches[i].posted = below(2) ? 0 : U32_MAX - below(20);
		w.caches[i].done = w.caches[i].posted;
	}
	for (i = 0; i < w.nr_hwqs; i++) {
		w.hwqs[i].queue = below(w.nr_queues);
		w.hwqs[i].waiter.cache = &w.caches[w.hwqs[i].queue];
	}
	for (i = 0; i < w.nr_slots; i++)
		if (granted() < w.max_units || below(2))
			add_segment(i, granted() < w.max_units);
}

static void open_world(void)
{
	static const u32 segments[] = { 4, 16, 32, 64, 256 };

	memset(&w, 0, sizeof(w));
	w.segment = segments[below(ARRAY_SIZE(segments))];
	w.nr_slots = 1 + below(min(UNITS / w.segment, (u32)SLOTS));
	w.nr_queues = 1 + below(QUEUES);
	w.nr_hwqs = 1 + below(HWQS);
	w.max_units = 1 + below(min(w.nr_slots * w.segment, 16 * w.segment));
	w.closes = below(2);
	w.try_fails = below(3) ? 0 : below(11);
	rnbdc_space_init(&w.space, kick);
	fill_world();
}

static void end_connection(void)
{
	u32 i;

	for (i = 0; i < w.nr_hwqs; i++)
		rnbdc_space_forget(&w.hwqs[i].waiter);
	rnbdc_space_close(&w.space);
	rnbdc_space_close(&w.space);
}

/* Lose the connection with requests in flight. The next connection uses the same tables. */
static void reopen_world(void)
{
	const size_t from = offsetof(struct world, hwqs), to = offsetof(struct world, nr_queues);

	end_connection();
	memset((u8 *)&w + from, 0, to - from);
	w.kicked = false;
	w.closed = false;
	fill_world();
}

static void close_world(void)
{
	end_connection();
	rnbdc_space_exit(&w.space);
}

/* Answer all requests and complete all work requests; if @resubmit, serve the waiters. */
static void drain(bool resubmit)
{
	u32 i, turn;

	for (turn = 0; turn < 1000; turn++) {
		bool busy = false;

		for (i = 0; i < REQS; i++)
			if (w.reqs[i].state == SENT)
				answer(&w.reqs[i]);
		for (i = 0; i < w.nr_queues; i++)
			while (w.caches[i].done != w.caches[i].posted)
				complete(i);
		if (w.kicked)
			work(true);
		for (i = 0; i < w.nr_hwqs; i++) {
			busy |= w.hwqs[i].want != 0;
			if (resubmit && w.hwqs[i].startable)
				submit(&w.hwqs[i], w.hwqs[i].want);
		}
		if (!busy)
			return;
	}
	/* If requests are submitted again, all waiters must have been served by now. */
	assert_true(!resubmit);
}

static void step(u32 most)
{
	struct hwq *hwq = &w.hwqs[below(w.nr_hwqs)];
	struct req *req = &w.reqs[below(REQS)];
	u32 i;

	switch (below(12)) {
	case 0: case 1: case 2: case 3: case 4:
		if (!hwq->want)
			submit(hwq, 1 + below(below(4) ? min(most, 16u) : most));
		else if (hwq->startable)
			submit(hwq, hwq->want);
		break;
	case 5: case 6: case 7:
		for (i = 0; i < 40 && req->state != SENT; i++)
			req = &w.reqs[below(REQS)];
		if (req->state == SENT)
			answer(req);
		break;
	case 8: case 9:
		complete(below(w.nr_queues));
		break;
	case 10:
		if (w.kicked)
			work(true);
		break;
	case 11:
		i = below(w.nr_slots);
		if (w.closes && below(8) == 0)
			close_segment(i);
		else if (below(8) == 0)
			add_segment(i, false);
		break;
	}
}

static void end_world(void)
{
	u32 i, owned = 0;

	/* Ticks can have ended turns without an allocation: let hardware queues try again. */
	if (w.ticked)
		for (i = 0; i < w.nr_hwqs; i++)
			if (w.hwqs[i].want && !w.hwqs[i].waiter.waiting)
				w.hwqs[i].startable = true;
	drain(true);
	for (i = 0; i < w.nr_hwqs; i++)
		assert_int_equal(w.hwqs[i].want, 0);

	/* When nothing is in flight, the largest request proceeds on any queue. */
	for (i = 0; i < w.nr_hwqs; i++) {
		if (!submit(&w.hwqs[i], w.max_units)) {
			work(true);
			assert_true(w.hwqs[i].startable);
			assert_true(submit(&w.hwqs[i], w.hwqs[i].want));
		}
		largest_ok++;
		drain(true);
	}
	/* The flag makes the work item collect unused blocks although space is plentiful. */
	w.space.flags |= RNBDC_SPACE_SCARCE;
	work(true);
	for (i = 0; i < w.nr_queues; i++) {
		owned += w.caches[i].pool.owned;
		assert_int_equal(w.caches[i].leaving, RNBDC_NO_BLOCK);
		assert_int_equal(w.caches[i].parked, RNBDC_NO_BLOCK);
	}
	assert_int_equal(owned, 0);
	assert_int_equal(w.space.free_units, w.space.units);
	assert_int_equal(w.space.blocks.used, 0);
	assert_int_equal(w.space.promised, 0);
	for (i = 0; i < w.nr_slots; i++)
		assert_false(w.seg_closing[i]);
}

static void one_world(bool ticks)
{
	bool lost = below(4) == 0;
	u32 i, most;

	open_world();
	most = below(2) ? w.max_units : min(w.max_units, 40u);
	for (i = 0; i < STEPS; i++) {
		if (lost && i == STEPS / 4)
			reopen_world();
		step(most);
		if (i % 16 == 0)
			check_sums();
		if (ticks && below(30) == 0) {
			w.ticked = true;
			rnbdc_space_tick(&w.space);
		}
	}
	end_world();
	close_world();
}

static void test_against_model(void **state)
{
	u64 rounds = unit_environment("RNBD_TEST_ROUNDS", ROUNDS);
	u64 start = unit_now_ns(), i;

	(void)state;
	rnd = unit_random_seeded("space_model");
	for (i = 0; i < rounds && unit_now_ns() - start < NS_MAX; i++)
		one_world(i % 3 == 0);
	printf("space_model: %llu pools; %llu requests, %llu waits, %llu turns, %llu passed\n",
	       (unsigned long long)i, (unsigned long long)served, (unsigned long long)waits,
	       (unsigned long long)turns, (unsigned long long)passed);
	printf("space_model: %llu units moved, %llu segments emptied, %llu largest requests\n",
	       (unsigned long long)moved, (unsigned long long)emptied,
	       (unsigned long long)largest_ok);
	assert_true(waits > 100);
	assert_true(turns > 100);
	assert_true(passed > 100);
	assert_true(moved > 100);
	assert_true(emptied > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
