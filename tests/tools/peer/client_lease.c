// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of an elastic pool, which grows and shrinks: segments that the client releases twice, does
 * not hold, or uses after the release, and a client that requests memory without end. No other
 * session needs the memory, so only the rate limit of grants can delay a grant.
 */
#include <string.h>

#include "client.h"

#define THE_TAG		1
#define FOREVER_MS	3000
#define QUIET_MS	500
/* Longer than the pause of up to a second that the rate limit of grants can cause */
#define PACED_MS	2000

static void must_lose(struct lease *l, struct frame *f, const char *why)
{
	frame_send(&l->c, f);
	session_ends(&l->c, why);
}

/* Expect that a READ into a segment in a slot other than @slot succeeds; @slot -1: in any slot. */
static void lives_without(struct lease *l, int slot)
{
	int other = lease_slot(l, -1), status;

	if (other == slot)
		other = lease_slot(l, slot);
	status = other < 0 ? NEVER : simple_request(&l->c, lease_read(l, other, THE_TAG));
	if (status)
		amiss("a READ into slot %d afterwards: status %d", other, status);
}

/* Grow the pool, use and release the added segments, and repeat this. */
static void grow_and_shrink(struct lease *l)
{
	uint32_t round;
	int slot;

	for (round = 0; round < 3; round++) {
		if (!lease_grow(l, CEILING))
			return;
		for (slot = 0; (slot = lease_slot(l, slot)) > 0; ) {
			if (!lease_whole_segment(l, IBV_WR_RDMA_READ, slot))
				return;
			if (!all_zero(l->c.data, le32toh(l->c.grant.seg[slot].units) *
						 RNBD_UNIT_SIZE))
				amiss("round %u: slot %d is not zeroed", round, slot);
			memset(l->c.data, 0xc7, DATA_BYTES);
			if (!lease_whole_segment(l, IBV_WR_RDMA_WRITE, slot) ||
			    simple_request(&l->c, req_entry(RNBD_OP_WRITE, 0, THE_TAG, 0, 8192,
							    lease_unit(l, slot))))
				amiss("round %u: slot %d is not usable", round, slot);
		}
		lease_want(l, FLOOR);
		for (slot = 0; (slot = lease_slot(l, slot)) > 0; ) {
			lease_release(l, slot);
			if (!lease_await_released(l, slot))
				return;
		}
		if (l->held != FLOOR)
			amiss("%u units are left", l->held);
	}
	lives_without(l, -1);
}

/* A client that has released its floor gets a new segment when it requests the floor again. */
static void floor_returned(struct lease *l)
{
	lease_release(l, 0);
	if (lease_await_released(l, 0) && lease_grow(l, FLOOR))
		lives_without(l, -1);
}

static void release_empty_slot(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, 1, 1);
	must_lose(l, &f, HANDLE);
}

static void release_no_slot(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, le32toh(l->c.grant.r.nr_slots), 1);
	must_lose(l, &f, COUNT);
}

static void release_far_slot(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, UINT32_MAX, 1);
	must_lose(l, &f, COUNT);
}

static void release_generation_0(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, 0, 0);
	must_lose(l, &f, HANDLE);
}

static void release_generation_next(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, 0, le32toh(l->c.grant.seg[0].generation) + 1);
	must_lose(l, &f, HANDLE);
}

static void release_deadline(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, 0, le32toh(l->c.grant.seg[0].generation))->deadline_ms = htole32(1);
	must_lose(l, &f, RESERVED);
}

static void release_reserved(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, 0, le32toh(l->c.grant.seg[0].generation))->reserved[3] = 1;
	must_lose(l, &f, RESERVED);
}

/* Send two RELEASEs of a segment in one frame: the target must end the session. */
static void release_twice(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_release_add(l, &f, 0);
	lease_release_add(l, &f, 0);
	must_lose(l, &f, HANDLE);
}

static void release_again(struct lease *l)
{
	struct frame f;

	lease_release(l, 0);
	if (!lease_await_released(l, 0))
		return;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_release_add(l, &f, 0);
	must_lose(l, &f, HANDLE);
}

/* Send a RELEASE with a former generation of slot 0, which has a segment of a later generation. */
static void release_former(struct lease *l)
{
	uint32_t generation = 0, round;
	struct frame f;

	/* the target uses slots round-robin: it uses slot 0 again after all others */
	for (round = 0; round <= MAX_SEGMENTS; round++) {
		int slot = lease_slot(l, -1);

		if (!slot && generation)
			break;
		if (!slot)
			generation = le32toh(l->c.grant.seg[0].generation);
		lease_release(l, slot);
		if (!lease_await_released(l, slot) || !lease_grow(l, FLOOR))
			return;
	}
	if (lease_slot(l, -1) || !generation) {
		amiss("slot 0 was not granted a second time");
		return;
	}
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_entry(&f, 0, generation);
	must_lose(l, &f, HANDLE);
}

/* Send a request that names a segment after its RELEASED: the target must end the session. */
static void use_released(struct lease *l)
{
	struct frame f;

	lease_release(l, 0);
	if (!lease_await_released(l, 0))
		return;
	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, lease_read(l, 0, THE_TAG));
	must_lose(l, &f, EXTENT);
}

/*
 * Send a request that names a segment after its RELEASE and before its RELEASED: the target must
 * end the session, possibly after it has sent RELEASED.
 */
static void use_releasing(struct lease *l)
{
	struct ctl entry;
	struct frame f;

	lease_release(l, 0);
	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, lease_read(l, 0, THE_TAG));
	frame_send(&l->c, &f);
	if (ctl_receive(&l->c, &entry, CLOSE_MS) && entry.type != RNBD_CTL_RELEASED)
		amiss("an entry of type %u", entry.type);
	session_must_go(&l->c, CLOSE_MS);
	monitor_closed(EXTENT);
}

/*
 * Send a request for units behind the end of a segment that is smaller than its slot: the target
 * must end the session.
 */
static void use_behind_end(struct lease *l)
{
	struct rnbd_req_entry entry = lease_read(l, 0, THE_TAG);
	struct frame f;

	entry.extent.unit = htole32(le32toh(l->c.grant.seg[0].units));
	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, entry);
	must_lose(l, &f, EXTENT);
}

static void use_empty_slot(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, lease_read(l, 1, THE_TAG));
	must_lose(l, &f, EXTENT);
}

/*
 * Release a segment while a request uses it: the target must end the session. The storage is slow,
 * so it still executes the request when RELEASE arrives.
 */
static void release_in_use(struct lease *l)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, req_entry(RNBD_OP_WRITE, 0, THE_TAG, 0, 4096, lease_unit(l, 0)));
	frame_send(&l->c, &f);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_release_add(l, &f, 0);
	must_lose(l, &f, EXTENT);
}

static void rdma_released(struct lease *l, enum ibv_wr_opcode opcode)
{
	uint32_t rkey;
	uint64_t remote = unit_address(&l->c, lease_unit(l, 0), &rkey);

	lease_release(l, 0);
	if (!lease_await_released(l, 0))
		return;
	conn_rdma(&l->c, opcode, 0, 4096, remote, rkey);
	if (session_denied(conn_rdma_wait(&l->c, 10000)))
		session_must_go(&l->c, CLOSE_MS);
	monitor_closed("*");
}

static void write_released(struct lease *l)
{
	rdma_released(l, IBV_WR_RDMA_WRITE);
}

static void read_released(struct lease *l)
{
	rdma_released(l, IBV_WR_RDMA_READ);
}

static void want_frame(struct frame *f, uint32_t units, uint8_t reserved)
{
	struct rnbd_ctl_want w = { .units = htole32(units), .reserved = { reserved } };

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_WANT, 0, sizeof(w)), &w, sizeof(w));
}

static void want_too_much(struct lease *l)
{
	struct frame f;

	want_frame(&f, le32toh(l->c.grant.r.max_units) + 1, 0);
	must_lose(l, &f, LIMITS);
}

static void want_4g(struct lease *l)
{
	struct frame f;

	want_frame(&f, UINT32_MAX, 0);
	must_lose(l, &f, LIMITS);
}

static void want_reserved(struct lease *l)
{
	struct frame f;

	want_frame(&f, FLOOR, 1);
	must_lose(l, &f, RESERVED);
}

/* A WANT below the current size of the pool, or less than a granule above it, has no effect. */
static void want_little(struct lease *l)
{
	lease_want(l, 0);
	lease_want(l, FLOOR);
	lease_want(l, FLOOR + RNBD_SEGMENT_GRANULE - 1);
	lives_without(l, -1);
}

/*
 * Process entries and release each granted segment at once. Stop after @ms, or when no entry
 * arrives for @quiet_ms. Return the number of units that were granted.
 */
static uint32_t return_all(struct lease *l, uint32_t ms, uint32_t quiet_ms)
{
	uint64_t end = deadline(ms);
	struct rnbd_ctl_segment seg;
	struct ctl entry;
	uint32_t units = 0;

	while (now_ms() < end && ctl_receive(&l->c, &entry, quiet_ms)) {
		if (entry.type == RNBD_CTL_RELEASED) {
			if (!lease_take_released(l, &entry))
				return units;
			continue;
		}
		if (!lease_take(l, &entry))
			return units;
		memcpy(&seg, entry.body, sizeof(seg));
		units += le32toh(seg.units);
		lease_release(l, le32toh(seg.slot));
	}
	return units;
}

/* The target must grant at most CEILING units (the size of the largest pool) per second. */
static void want_for_ever(struct lease *l)
{
	uint64_t began = now_ms();
	uint32_t units, most;

	lease_want(l, CEILING);
	units = return_all(l, FOREVER_MS, PACED_MS);
	most = ((now_ms() - began) / 1000 + 2) * CEILING;
	note("%u units were granted and returned", units);
	if (units > most || units < CEILING)
		amiss("%u units were granted, allowed are at most %u", units, most);
	lease_want(l, FLOOR);
	return_all(l, CLOSE_MS, QUIET_MS);
	if (l->held != FLOOR)
		amiss("%u units are left", l->held);
	lives_without(l, -1);
}

/* Send WANTs as fast as the credits allow. */
static void want_often(struct lease *l)
{
	uint64_t end = deadline(FOREVER_MS);
	uint32_t sent = 0, len;

	while (now_ms() < end && !l->c.gone) {
		if (l->c.credits > 2) {
			lease_want(l, sent++ % (FLOOR + 1));
			continue;
		}
		if (conn_receive(&l->c, 0, &len, 1))
			amiss("a frame although nothing was requested");
	}
	note("WANT sent %u times", sent);
	if (sent < 100)
		amiss("WANT sent only %u times", sent);
	lives_without(l, -1);
}

/*
 * Grow in small steps without receive slots for the replies. The target registers new segments by
 * work requests, which wait in the send queue behind frames that the client does not receive; the
 * target must end the session after a short time.
 */
static void grow_blind(struct lease *l)
{
	uint32_t want = FLOOR, tag, len;
	uint64_t end = deadline(25000);
	struct frame f;

	l->c.liar = true;
	/* the replies to these FLUSHes use all but a few of the client's receive slots */
	for (tag = 0; tag < SLOTS - 3; tag++) {
		frame_begin(&f, RNBD_FRAME_REQUEST, 1);
		client_add_request(&f, req_entry(RNBD_OP_FLUSH, 0, tag, 0, 0, 0));
		frame_send(&l->c, &f);
	}
	while (!l->c.gone && now_ms() < end) {
		if (want < CEILING && l->c.credits > 2)
			lease_want(l, want += RNBD_SEGMENT_GRANULE);
		else if (now_ms() > l->c.last_sent + 1000)
			frame_credit(&l->c);
		conn_receive(&l->c, 0, &len, 10);
	}
	session_must_go(&l->c, 0);
	/* accept any reason: some devices report an error first */
	monitor_closed("*");
}

/* Send an entry that only a target may send. */
static void of_target(struct lease *l, uint16_t type, uint32_t bytes)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memset(ctl_add(&f, type, 0, bytes), 0, bytes);
	must_lose(l, &f, TYPE);
}

static void sends_segment(struct lease *l)
{
	of_target(l, RNBD_CTL_SEGMENT, sizeof(struct rnbd_ctl_segment));
}

static void sends_reclaim(struct lease *l)
{
	of_target(l, RNBD_CTL_RECLAIM, sizeof(struct rnbd_ctl_lease));
}

static void sends_released(struct lease *l)
{
	of_target(l, RNBD_CTL_RELEASED, sizeof(struct rnbd_ctl_lease));
}

static const struct lease_story {
	const char *name;
	void (*run)(struct lease *l);
	const char *export;	/* export of the session; default: "hostile" */
} stories[] = {
	{ "lease-valid", grow_and_shrink },
	{ "lease-floor", floor_returned },
	{ "lease-grow-blind", grow_blind },
	{ "lease-release-empty-slot", release_empty_slot },
	{ "lease-release-no-slot", release_no_slot },
	{ "lease-release-far-slot", release_far_slot },
	{ "lease-release-generation-0", release_generation_0 },
	{ "lease-release-generation-next", release_generation_next },
	{ "lease-release-deadline", release_deadline },
	{ "lease-release-reserved", release_reserved },
	{ "lease-release-twice", release_twice },
	{ "lease-release-again", release_again },
	{ "lease-release-former", release_former },
	{ "lease-release-in-use", release_in_use, "slow" },
	{ "lease-use-released", use_released },
	{ "lease-use-releasing", use_releasing },
	{ "lease-use-behind-end", use_behind_end },
	{ "lease-use-empty-slot", use_empty_slot },
	{ "lease-write-released", write_released },
	{ "lease-read-released", read_released },
	{ "lease-want-too-much", want_too_much },
	{ "lease-want-4g", want_4g },
	{ "lease-want-reserved", want_reserved },
	{ "lease-want-little", want_little },
	{ "lease-want-forever", want_for_ever },
	{ "lease-want-often", want_often },
	{ "lease-sends-segment", sends_segment },
	{ "lease-sends-reclaim", sends_reclaim },
	{ "lease-sends-released", sends_released },
};

static void run_story(const struct lease_story *story)
{
	static struct lease l;

	if (lease_start(&l, 2, story->export ?: "hostile"))
		story->run(&l);
	conn_close(&l.c);
}

/* A WANT before the login must end the session. */
static void want_first(void)
{
	struct conn c = { };
	struct frame f;

	if (session_start(&c, 2)) {
		want_frame(&f, 0, 0);
		frame_send(&c, &f);
		session_ends(&c, TYPE);
	}
	conn_close(&c);
}

static void want_of_fixed(void)
{
	struct conn c = { };
	struct frame f;

	if (session_start_export(&c, 2, "hostile")) {
		want_frame(&f, le32toh(c.grant.r.pool_units), 0);
		frame_send(&c, &f);
		session_lives(&c);
		want_frame(&f, le32toh(c.grant.r.pool_units) + 1, 0);
		frame_send(&c, &f);
		session_ends(&c, LIMITS);
	}
	conn_close(&c);
}

static const struct client_story others[] = {
	{ "lease-want-first", want_first },
	{ "lease-want-of-fixed", want_of_fixed },
};

void client_lease_cases(struct results *results)
{
	RUN_CASES(stories, results, run_story(&stories[i]));
	RUN_CASES(others, results, others[i].run());
}
