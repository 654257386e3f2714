// SPDX-License-Identifier: GPL-2.0-only
/*
 * An elastic pool and unsolicited entries of a target, in random mode.
 *
 * Operation: a session whose client requests a floor starts with one small segment. The units that
 * the client requests are granted in segments of random sizes, each in the memory of its slot, and
 * segments are reclaimed at random. target_event() sends a RECLAIM, an entry about the attachment
 * or about receive slots, or an entry that breaks a rule.
 * Ownership: the first connection owns the memory of the pool.
 * Concurrency: one thread.
 * Errors: a client can accept a mutated frame as valid, so the client's entries about segments are
 * not checked.
 */
#include <string.h>

#include "target.h"

#define SLOTS_USED	(MAX_UNITS / SEGMENT_UNITS)	/* slots that have memory */

static struct {
	uint32_t generation, units;	/* generation 0: no segment */
	bool reclaimed;
} segments[SLOTS_USED];

static uint32_t generations, held, want;

bool target_elastic(void)
{
	return target.mutate && target.login.pool_min;
}

/* Set up the first segment of a login. */
void target_lease_begin(uint32_t units)
{
	memset(segments, 0, sizeof(segments));
	segments[0].generation = 1;
	segments[0].units = units;
	generations = 1;
	held = units;
	want = 0;
}

static bool grant_one(struct conn *c)
{
	uint32_t units = RNBD_SEGMENT_GRANULE * (1 + rng_below(target.mutate, 4)), slot;
	struct rnbd_ctl_segment seg = { };
	static struct frame f;

	for (slot = 0; slot < SLOTS_USED && segments[slot].generation; slot++)
		;
	if (slot == SLOTS_USED || held + RNBD_SEGMENT_GRANULE > want)
		return false;
	if (units > want - held)
		units = (want - held) / RNBD_SEGMENT_GRANULE * RNBD_SEGMENT_GRANULE;
	if (!target_has_credit(c))
		return false;
	segments[slot].generation = ++generations;
	segments[slot].units = units;
	segments[slot].reclaimed = false;
	held += units;
	seg.addr = htole64((uintptr_t)c->data + (uint64_t)slot * SEGMENT_UNITS * RNBD_UNIT_SIZE);
	seg.slot = htole32(slot);
	seg.generation = htole32(generations);
	seg.units = htole32(units);
	seg.rkey = htole32(c->mr->rkey);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_SEGMENT, 0, sizeof(seg)), &seg, sizeof(seg));
	target_send(c, &f);
	return true;
}

static void add_lease(struct frame *f, uint16_t type, uint32_t slot, uint32_t generation,
		      uint32_t ms)
{
	struct rnbd_ctl_lease lease = {
		.slot = htole32(slot),
		.generation = htole32(generation),
		.deadline_ms = htole32(ms),
	};

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, type, 0, sizeof(lease)), &lease, sizeof(lease));
}

/* Process a WANT. */
void target_lease_want(struct conn *c, const struct ctl *entry)
{
	struct rnbd_ctl_want w;

	memcpy(&w, entry->body, sizeof(w));
	want = le32toh(w.units);
	while (grant_one(c))
		;
}

/* Process a RELEASE. */
void target_lease_release(struct conn *c, const struct ctl *entry)
{
	struct rnbd_ctl_lease lease;
	static struct frame f;
	uint32_t slot;

	memcpy(&lease, entry->body, sizeof(lease));
	slot = le32toh(lease.slot);
	if (slot < SLOTS_USED && segments[slot].generation == le32toh(lease.generation)) {
		held -= segments[slot].units;
		segments[slot].generation = 0;
	}
	if (!target_has_credit(c))
		return;
	add_lease(&f, RNBD_CTL_RELEASED, slot, le32toh(lease.generation), 0);
	target_send(c, &f);
	while (grant_one(c))
		;
}

static void reclaim(struct conn *c)
{
	uint32_t slot = rng_below(target.mutate, SLOTS_USED);
	static struct frame f;

	if (!segments[slot].generation || segments[slot].reclaimed)
		return;
	segments[slot].reclaimed = true;
	add_lease(&f, RNBD_CTL_RECLAIM, slot, segments[slot].generation,
		  rng_below(target.mutate, 2) ? 60000 : 0);
	target_send(c, &f);
}

/*
 * Request that the client has more or fewer receive slots. Do nothing if the client has not
 * answered the previous request.
 */
static void ask_slots(struct conn *c)
{
	uint32_t least = c->peer_slots - (c->credits > 2 ? c->credits - 2 : 0);
	uint32_t slots = RNBD_RING_SLOTS_MIN +
			 rng_below(target.mutate, c->slots - RNBD_RING_SLOTS_MIN + 1);

	if (!c->asked_slots)
		slots_begin(c, slots > least ? slots : least, 0);
}

static void resize(struct conn *c)
{
	static const struct patch size =
		PATCH(24, struct rnbd_ctl_capacity, capacity, ABSOLUTE, DISK_BYTES);
	static struct frame f;

	target_build(&f, NEW_CAPACITY);
	target_patch(f.b, &size, 1);
	target_send(c, &f);
}

/* Send a well-formed entry, possibly at a wrong time, or an entry that is never valid. */
static void break_a_rule(struct conn *c)
{
	static const enum base bases[] = {
		LOGIN_REPLY, CHALLENGE, PROOF, DENIAL, QUERY, ATTACH_REPLY, NO_ATTACHMENT,
		DETACHED, SLOTS_ANSWER, SLOTS_ASK, JOINED, NEW_SEGMENT, RECLAIM, RELEASED,
		DISCOVER_REPLY, UNKNOWN, REPLY,
	};
	static struct frame f;

	target.mutated++;
	c->lax = true;
	target_build(&f, bases[rng_below(target.mutate, ARRAY_SIZE(bases))]);
	frame_send(c, &f);
}

/* Send an unsolicited entry while the disk is attached. */
void target_event(void)
{
	struct conn *c = &target.c;

	if (!target.attached || c->gone || !target_has_credit(c))
		return;
	switch (rng_below(target.mutate, 16)) {
	case 0 ... 1:
		target_close_attachment(c);
		break;
	case 2 ... 3:
		resize(c);
		break;
	case 4 ... 9:
		if (target_elastic())
			reclaim(c);
		break;
	case 10 ... 13:
		ask_slots(c);
		break;
	default:
		/* frequent violations would leave no time for the other entries */
		if (!rng_below(target.mutate, 4))
			break_a_rule(c);
		break;
	}
}
