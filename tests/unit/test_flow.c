// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the numbers of receive slots and requests of a connection (drivers/core/flow.c):
 * results of single calls, and a model of two ends that send frames at random. In the model,
 * each frame finds a receive slot, no credit is lost, and an idle connection shrinks to the
 * lowest number of slots.
 */
#include "flow.h"
#include "random.h"
#include "unit.h"

#define FIRST	4
#define WIRE	4096	/* most frames in flight in one direction */

static void test_grow(void **state)
{
	struct rnbd_flow_out out;
	struct rnbd_slots_info info;

	(void)state;
	rnbd_flow_out_init(&out, FIRST, 64);
	rnbd_flow_sent(&out, true);
	rnbd_flow_sent(&out, true);
	/* Before rnbd_flow_out_enable(), an end requests no more slots and no more requests. */
	assert_false(rnbd_flow_more(&out, &info));
	rnbd_flow_out_enable(&out, 144);
	assert_int_equal(out.depth, 16);
	assert_true(rnbd_flow_more(&out, &info));
	assert_int_equal(info.slots, 8);
	assert_int_equal(info.depth, 16);
	rnbd_flow_ask(&out, &info);
	assert_false(rnbd_flow_is_short(&out));
	assert_int_equal(rnbd_flow_answered(&out, &info), RNBD_PERR_NONE);
	assert_int_equal(out.slots, 8);
	assert_int_equal(out.credits, 6);
	assert_false(rnbd_flow_is_short(&out));
	assert_int_equal(rnbd_flow_answered(&out, &info), RNBD_PERR_TYPE);

	out.short_depth = true;
	assert_true(rnbd_flow_more(&out, &info));
	assert_int_equal(info.slots, 8);
	assert_int_equal(info.depth, 32);
	rnbd_flow_ask(&out, &info);
	info.depth = 20;
	assert_int_equal(rnbd_flow_answered(&out, &info), RNBD_PERR_NONE);
	assert_int_equal(out.depth, 20);
	assert_false(rnbd_flow_is_short(&out));

	/*
	 * If a request has to wait while a SLOTS entry for more receive slots is unanswered, the
	 * next SLOTS entry asks for more requests in flight.
	 */
	while (out.credits > 2)
		rnbd_flow_sent(&out, true);
	assert_true(rnbd_flow_more(&out, &info));
	assert_int_equal(info.slots, 16);
	assert_int_equal(info.depth, 20);
	rnbd_flow_ask(&out, &info);
	out.short_depth = true;
	assert_int_equal(rnbd_flow_answered(&out, &info), RNBD_PERR_NONE);
	assert_true(rnbd_flow_more(&out, &info));
	assert_int_equal(info.slots, 16);
	assert_int_equal(info.depth, 40);
}

/* If the peer has granted nothing of an increase, an end asks for none until the period ends. */
static void test_refused(void **state)
{
	struct rnbd_slots_info info;
	struct rnbd_flow_out out;

	(void)state;
	rnbd_flow_out_init(&out, FIRST, 64);
	rnbd_flow_out_enable(&out, 0);
	rnbd_flow_sent(&out, true);
	rnbd_flow_sent(&out, true);
	assert_true(rnbd_flow_more(&out, &info));
	rnbd_flow_ask(&out, &info);
	info.slots = FIRST;
	assert_int_equal(rnbd_flow_answered(&out, &info), RNBD_PERR_NONE);
	rnbd_flow_sent(&out, true);
	assert_false(rnbd_flow_is_short(&out));
	rnbd_flow_end_period(&out);
	rnbd_flow_sent(&out, true);
	assert_true(rnbd_flow_is_short(&out));
}

/* Only frames with load make an end ask for more slots, not other frames that use credits. */
static void test_idle(void **state)
{
	const struct rnbd_slots_info less = { .slots = FIRST };
	struct rnbd_flow_out out;
	u32 i;

	(void)state;
	rnbd_flow_out_init(&out, 8, 64);
	rnbd_flow_out_enable(&out, 0);
	rnbd_flow_ask(&out, &less);
	for (i = 0; i < 6; i++)
		rnbd_flow_sent(&out, false);
	assert_int_equal(rnbd_flow_answered(&out, &less), RNBD_PERR_NONE);
	assert_int_equal(out.credits, 2);
	assert_false(rnbd_flow_is_short(&out));
	rnbd_flow_end_period(&out);
	assert_false(rnbd_flow_is_short(&out));
	rnbd_flow_sent(&out, false);
	assert_false(rnbd_flow_is_short(&out));
	assert_true(rnbd_flow_returned(&out, 2));
	rnbd_flow_sent(&out, true);
	assert_true(rnbd_flow_is_short(&out));
}

static void test_limits(void **state)
{
	struct rnbd_slots_info info;
	struct rnbd_flow_out out;

	(void)state;
	/* No more is asked for than the connection request and the login allow. */
	rnbd_flow_out_init(&out, 6, 9);
	rnbd_flow_out_enable(&out, 20);
	assert_int_equal(out.depth, 16);
	while (out.credits > 2)
		rnbd_flow_sent(&out, true);
	out.short_depth = true;
	assert_true(rnbd_flow_more(&out, &info));
	assert_int_equal(info.slots, 9);
	assert_int_equal(info.depth, 20);
	rnbd_flow_ask(&out, &info);
	assert_int_equal(rnbd_flow_answered(&out, &info), RNBD_PERR_NONE);
	while (out.credits > 1)
		rnbd_flow_sent(&out, true);
	out.short_depth = true;
	assert_false(rnbd_flow_is_short(&out));

	/* The login has granted fewer requests than a connection usually begins with. */
	rnbd_flow_out_init(&out, FIRST, FIRST);
	rnbd_flow_out_enable(&out, 3);
	assert_int_equal(out.depth, 3);
	out.short_depth = true;
	assert_false(rnbd_flow_is_short(&out));
	assert_false(rnbd_flow_less(&out, 5, &info));
}

static void test_answers(void **state)
{
	static const struct {
		struct rnbd_slots_info asked, answer;
		enum rnbd_proto_err want;
	} cases[] = {
		{ { 32, 64 }, { 32, 64 }, RNBD_PERR_NONE },
		{ { 32, 64 }, { 16, 32 }, RNBD_PERR_NONE },
		{ { 32, 64 }, { 20, 33 }, RNBD_PERR_NONE },
		{ { 32, 64 }, { 33, 64 }, RNBD_PERR_GEOMETRY },
		{ { 32, 64 }, { 32, 65 }, RNBD_PERR_GEOMETRY },
		{ { 32, 64 }, { 15, 64 }, RNBD_PERR_GEOMETRY },
		{ { 32, 64 }, { 32, 31 }, RNBD_PERR_GEOMETRY },
		{ { 8, 16 }, { 8, 16 }, RNBD_PERR_NONE },
		{ { 8, 16 }, { 9, 16 }, RNBD_PERR_GEOMETRY },
		{ { 8, 16 }, { 8, 17 }, RNBD_PERR_GEOMETRY },
		{ { 8, 16 }, { 7, 16 }, RNBD_PERR_GEOMETRY },
		{ { 8, 64 }, { 8, 40 }, RNBD_PERR_NONE },
		{ { 16, 32 }, { 16, 32 }, RNBD_PERR_NONE },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rnbd_flow_out out = {
			.slots = 16, .credits = 5, .low = 5, .max_slots = 64, .depth = 32,
			.max_depth = 144, .on = true,
		};

		rnbd_flow_ask(&out, &cases[i].asked);
		if (rnbd_flow_answered(&out, &cases[i].answer) != cases[i].want)
			fail_msg("case %u", i);
	}
}

/* A peer that returns credits for slots that this end has given up commits a protocol error. */
static void test_false_credits(void **state)
{
	const struct rnbd_slots_info less = { .slots = FIRST };
	struct rnbd_flow_out out;
	u32 i;

	(void)state;
	rnbd_flow_out_init(&out, 16, 64);
	rnbd_flow_out_enable(&out, 0);
	rnbd_flow_ask(&out, &less);
	for (i = 0; i < 12; i++)
		rnbd_flow_sent(&out, true);
	assert_false(rnbd_flow_returned(&out, 13));
	assert_true(rnbd_flow_returned(&out, 1));
	assert_int_equal(rnbd_flow_answered(&out, &less), RNBD_PERR_CREDITS);
}

static void test_shrink(void **state)
{
	struct rnbd_slots_info info;
	struct rnbd_flow_out out;

	(void)state;
	rnbd_flow_out_init(&out, 64, 64);
	rnbd_flow_out_enable(&out, 144);
	out.depth = 144;
	/* An end that has used no slot gives up all slots above the lowest allowed number. */
	assert_true(rnbd_flow_less(&out, 65, &info));
	assert_int_equal(info.slots, FIRST);
	assert_int_equal(info.depth, 16);
	/* An end gives up at most 64 slots with one SLOTS entry. */
	out.slots = 100;
	out.max_slots = 128;
	out.credits = 100;
	out.low = 100;
	assert_true(rnbd_flow_less(&out, 101, &info));
	assert_int_equal(info.slots, 100 - 64);
	out.slots = 64;
	out.credits = 64;
	out.low = 64;
	/*
	 * Giving up a slot takes a frame, so the number of frames that can be sent limits how
	 * many slots are given up.
	 */
	assert_true(rnbd_flow_less(&out, 20, &info));
	assert_int_equal(info.slots, 64 - 17);
	out.busy = 20;
	assert_true(rnbd_flow_less(&out, 3, &info));
	assert_int_equal(info.slots, 64);
	assert_int_equal(info.depth, 48);
	out.busy = 36;
	assert_false(rnbd_flow_less(&out, 3, &info));
	/*
	 * An end gives up slots if it has used less than a quarter of its slots: with 15 of 64
	 * slots in use, but not with 16.
	 */
	out.low = 64 - 15;
	out.credits = 64;
	assert_true(rnbd_flow_less(&out, 65, &info));
	assert_int_equal(info.slots, 30);
	out.low = 64 - 16;
	assert_false(rnbd_flow_less(&out, 65, &info));
	out.low = 64;
	out.open = true;
	assert_false(rnbd_flow_less(&out, 65, &info));
}

static void test_receiver(void **state)
{
	struct rnbd_slots_info info, reply;
	struct rnbd_flow_in in;
	u32 i;

	(void)state;
	rnbd_flow_in_init(&in, FIRST, 64);
	info = (struct rnbd_slots_info) { .slots = 8, .depth = 16 };
	assert_int_equal(rnbd_flow_asked(&in, &info), RNBD_PERR_GEOMETRY);
	rnbd_flow_in_enable(&in, 144);
	assert_int_equal(in.depth, 16);
	assert_false(rnbd_flow_reply(&in, &reply));
	for (i = 0; i < 5; i++) {
		static const struct rnbd_slots_info bad[] = {
			{ 3, 16 }, { 65, 16 }, { 8, 15 }, { 8, 145 }, { 8, 0 },
		};

		assert_int_equal(rnbd_flow_asked(&in, &bad[i]), RNBD_PERR_GEOMETRY);
		assert_false(in.open);
	}
	assert_int_equal(rnbd_flow_asked(&in, &info), RNBD_PERR_NONE);
	assert_true(in.grow);
	assert_int_equal(rnbd_flow_asked(&in, &info), RNBD_PERR_RATE);
	assert_false(rnbd_flow_reply(&in, &reply));
	rnbd_flow_grown(&in, 2, 16);
	assert_true(rnbd_flow_reply(&in, &reply));
	assert_int_equal(reply.slots, 6);
	in.open = false;

	info.slots = FIRST;
	assert_int_equal(rnbd_flow_asked(&in, &info), RNBD_PERR_NONE);
	assert_false(in.grow);
	assert_false(rnbd_flow_reply(&in, &reply));
	assert_false(rnbd_flow_received(&in));
	assert_false(rnbd_flow_reply(&in, &reply));
	assert_false(rnbd_flow_received(&in));
	assert_true(rnbd_flow_reply(&in, &reply));
	assert_int_equal(reply.slots, FIRST);
	assert_true(rnbd_flow_received(&in));
	in.open = false;

	/* A request for the present numbers can be answered at once. */
	assert_int_equal(rnbd_flow_asked(&in, &info), RNBD_PERR_NONE);
	assert_true(rnbd_flow_reply(&in, &reply));
}

/* ------------------------------------------------------------------------
 * Two ends that send frames at random
 */

/* Frame in flight. EMPTY is a CREDIT frame, ASK and REPLY are SLOTS and SLOTS_REPLY. */
struct frame {
	u16 credits;
	enum { EMPTY, DATA, ASK, REPLY } kind;
	struct rnbd_slots_info info;
};

struct end {
	struct rnbd_flow_in in;
	struct rnbd_flow_out out;
	u32 send_slots;		/* send buffers; limit of flight */
	u32 flight;		/* frames of this end that the other end has not handled */
	struct rnbd_slots_info slots_request;
	bool slots_request_pending;
	u64 sent, received;
	struct frame wire[WIRE];	/* ring of frames in flight to this end */
	u32 first, nr;
	u32 increases;		/* requests for more slots or requests */
};

static struct unit_random rnd;
static struct end ends[2];

static struct end *other(const struct end *e)
{
	return &ends[e == ends];
}

/*
 * Check that each receive slot of the peer is accounted for: as a credit of @e, by a frame in
 * flight to the peer, or as a credit that is yet to be returned.
 */
static void check(const struct end *e)
{
	const struct end *peer = other(e);
	u32 i, known = e->out.credits + peer->nr + peer->in.owed;

	for (i = 0; i < e->nr; i++)
		known += e->wire[(e->first + i) % WIRE].credits;
	/* New slots of the peer become credits of @e when the answer arrives. */
	if (peer->in.slots > e->out.slots)
		known += peer->in.slots - e->out.slots;
	assert_int_equal(known, peer->in.slots);
	assert_true(e->out.credits <= e->out.slots);
	assert_in_range(peer->in.slots, FIRST, peer->in.max_slots);
}

static void transmit(struct end *e, u32 kind, const struct rnbd_slots_info *info)
{
	struct end *peer = other(e);
	struct frame *f = &peer->wire[(peer->first + peer->nr) % WIRE];

	assert_true(e->out.credits > 0 && peer->nr < WIRE);
	*f = (struct frame) { .credits = e->in.owed, .kind = kind };
	if (info)
		f->info = *info;
	e->in.owed = 0;
	rnbd_flow_sent(&e->out, kind == DATA);
	peer->nr++;
	e->flight++;
	e->sent++;
	check(e);
}

static bool can_open(const struct end *e)
{
	return e->out.credits > 1 && e->flight + 1 < e->send_slots;
}

static void send_due(struct end *e)
{
	struct rnbd_slots_info info;

	if (rnbd_flow_reply(&e->in, &info) && can_open(e)) {
		e->in.open = false;
		transmit(e, REPLY, &info);
	}
	if (e->slots_request_pending && can_open(e)) {
		e->slots_request_pending = false;
		rnbd_flow_ask(&e->out, &e->slots_request);
		transmit(e, ASK, &e->slots_request);
	}
}

static void return_credits(struct end *e)
{
	if (e->in.owed >= e->in.slots / 2 && e->out.credits && e->flight < e->send_slots)
		transmit(e, EMPTY, NULL);
}

/* Model of rnbd_ring_recv_done() */
static void receive(struct end *e)
{
	struct frame *f = &e->wire[e->first];

	if (!e->nr)
		return;
	e->first = (e->first + 1) % WIRE;
	e->nr--;
	other(e)->flight--;
	e->received++;
	assert_true(e->in.owed < e->in.slots);
	assert_true(rnbd_flow_returned(&e->out, f->credits));
	send_due(e);
	if (f->kind == ASK)
		assert_int_equal(rnbd_flow_asked(&e->in, &f->info), RNBD_PERR_NONE);
	else if (f->kind == REPLY)
		assert_int_equal(rnbd_flow_answered(&e->out, &f->info), RNBD_PERR_NONE);
	if (rnbd_flow_received(&e->in))
		e->in.owed++;
	send_due(e);
	return_credits(e);
	check(e);
	check(other(e));
}

/* Model of the work item of the ring. Sometimes it can allocate only half of the new slots. */
static void work(struct end *e)
{
	struct rnbd_slots_info request;

	if (e->in.grow) {
		int more = (int)e->in.asked.slots - e->in.slots;

		more = max(more, 0);
		if (unit_random_below(&rnd, 4) == 0)
			more /= 2;
		rnbd_flow_grown(&e->in, more, max(e->in.depth, e->in.asked.depth));
		send_due(e);
	}
	if (!e->slots_request_pending && rnbd_flow_more(&e->out, &request)) {
		e->send_slots = max(e->send_slots, request.slots + 1u);
		e->slots_request = request;
		e->slots_request_pending = true;
		e->increases++;
		send_due(e);
	}
}

/* Model of rnbd_ring_end_period(). @quiet: the ring has been idle for long. */
static void end_period(struct end *e, bool quiet)
{
	u32 free = e->send_slots - e->flight;
	struct rnbd_slots_info info;

	if (quiet && e->in.owed > 1 && e->out.credits > 2)
		transmit(e, EMPTY, NULL);
	if (!e->slots_request_pending && can_open(e) && rnbd_flow_less(&e->out, free, &info)) {
		u32 frames = e->out.slots - info.slots;

		rnbd_flow_ask(&e->out, &info);
		transmit(e, ASK, &info);
		while (frames-- > 1)
			transmit(e, EMPTY, NULL);
	}
	rnbd_flow_end_period(&e->out);
}

static void settle(void)
{
	u32 i;

	for (i = 0; i < 16; i++) {
		while (ends[0].nr || ends[1].nr) {
			receive(&ends[0]);
			receive(&ends[1]);
		}
		work(&ends[0]);
		work(&ends[1]);
	}
}

/* An observation period without load, in which the ends act in a random order. */
static void idle_period(void)
{
	u32 at[2] = { unit_random_below(&rnd, 32), unit_random_below(&rnd, 32) };
	u32 i;

	for (i = 0; i < 32; i++) {
		struct end *e = &ends[unit_random_below(&rnd, 2)];

		if (i == at[0])
			end_period(&ends[0], true);
		if (i == at[1])
			end_period(&ends[1], true);
		switch (unit_random_below(&rnd, 8)) {
		case 0:
			/* A keep-alive */
			if (e->out.credits > 2 && e->flight + 2 < e->send_slots)
				transmit(e, EMPTY, NULL);
			break;
		case 1:
			work(e);
			break;
		case 2 ... 4:
			receive(e);
		}
	}
	settle();
}

static void one_connection(void)
{
	u32 max_slots = FIRST + unit_random_below(&rnd, 125);
	u32 i, rounds = unit_random_below(&rnd, 4000);
	u32 load = 1 + unit_random_below(&rnd, 16);
	u64 before;

	memset(ends, 0, sizeof(ends));
	for (i = 0; i < 2; i++) {
		ends[i].send_slots = FIRST + 1;
		rnbd_flow_in_init(&ends[i].in, FIRST, max_slots);
		rnbd_flow_out_init(&ends[i].out, FIRST, max_slots);
	}
	/* Only one end sends requests. */
	rnbd_flow_out_enable(&ends[0].out, 144);
	rnbd_flow_in_enable(&ends[1].in, 144);
	rnbd_flow_out_enable(&ends[1].out, 0);

	for (i = 0; i < rounds; i++) {
		struct end *e = &ends[unit_random_below(&rnd, 2)];

		switch (unit_random_below(&rnd, 8)) {
		case 0:
		case 1:
		case 2:
			if (unit_random_below(&rnd, 16) < load && can_open(e))
				transmit(e, DATA, NULL);
			break;
		case 3:
			work(e);
			break;
		case 4:
			if (!unit_random_below(&rnd, 64))
				end_period(e, false);
			e->out.short_depth |= !unit_random_below(&rnd, 64) &&
					      e->out.depth < e->out.max_depth;
			break;
		default:
			receive(e);
			break;
		}
	}
	/* There is no deadlock: both ends can send when all frames have arrived. */
	settle();
	assert_true(can_open(&ends[0]) && can_open(&ends[1]));
	assert_true(!ends[0].slots_request_pending && !ends[1].slots_request_pending);
	idle_period();
	ends[0].increases = 0;
	ends[1].increases = 0;
	for (i = 0; i < 8; i++)
		idle_period();
	assert_int_equal(ends[0].increases + ends[1].increases, 0);
	for (i = 0; i < 4; i++) {
		end_period(&ends[0], true);
		end_period(&ends[1], true);
		settle();
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(ends[i].in.slots, FIRST);
		assert_int_equal(ends[i].out.slots, FIRST);
		assert_false(ends[i].in.open || ends[i].out.open);
		assert_int_equal(ends[i].sent, other(&ends[i])->received);
	}
	assert_int_equal(ends[1].in.depth, 16);
	assert_int_equal(ends[0].out.depth, 16);
	/* With the lowest numbers of slots and requests, the end of a period sends no frame. */
	before = ends[0].sent + ends[1].sent;
	for (i = 0; i < 4; i++) {
		end_period(&ends[0], true);
		end_period(&ends[1], true);
		settle();
	}
	assert_int_equal(ends[0].sent + ends[1].sent, before);
}

static void test_random(void **state)
{
	u64 rounds = unit_environment("RNBD_TEST_ROUNDS", 2000);

	(void)state;
	rnd = unit_random_seeded("flow");
	while (rounds--)
		one_connection();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_false_credits),
		cmocka_unit_test(test_shrink),
		cmocka_unit_test(test_receiver),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
