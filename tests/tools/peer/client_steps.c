// SPDX-License-Identifier: GPL-2.0-only
/*
 * The case of a pool that grows in the smallest steps until its slots are used up.
 *
 * Operation: the session has more slots than struct lease can record, so this file records its
 * segments.
 * Ownership, Concurrency, Errors: as in client_pool.c.
 */
#include <string.h>

#include "client.h"

#define STEPS_CEILING	8192	/* ceiling in units; on most devices more granules than slots */
#define STEPS_SLOTS	256

/* Segments by slot; 0 units: the slot is empty */
static struct {
	uint32_t generation, units;
} steps[STEPS_SLOTS];

/* Process an entry about a segment; release a reclaimed segment at once. */
static bool steps_take(struct lease *l, const struct ctl *entry)
{
	struct rnbd_ctl_segment seg;
	struct rnbd_ctl_lease lease;
	struct frame f;
	uint32_t slot;

	if (entry->type == RNBD_CTL_SEGMENT) {
		memcpy(&seg, entry->body, sizeof(seg));
		slot = le32toh(seg.slot);
		if (slot >= STEPS_SLOTS || steps[slot].units)
			return amiss("a segment in slot %u", slot);
		steps[slot].generation = le32toh(seg.generation);
		steps[slot].units = le32toh(seg.units);
		l->held += steps[slot].units;
		return true;
	}
	memcpy(&lease, entry->body, sizeof(lease));
	slot = le32toh(lease.slot);
	if (slot >= STEPS_SLOTS || !steps[slot].units ||
	    steps[slot].generation != le32toh(lease.generation))
		return amiss("an entry of type %u about slot %u", entry->type, slot);
	if (entry->type == RNBD_CTL_RECLAIM) {
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		lease_entry(&f, slot, steps[slot].generation);
		frame_send(&l->c, &f);
		return true;
	}
	l->held -= steps[slot].units;
	steps[slot].units = 0;
	return entry->type == RNBD_CTL_RELEASED || amiss("an entry of type %u", entry->type);
}

/*
 * Request one more granule at a time until no slot is left, and then the whole ceiling. The target
 * must then reclaim small segments to get slots for larger ones. On a device that registers few
 * pages at once, the target grants a slot for each granule, and the pool reaches its ceiling in
 * steps of a granule.
 */
static void small_steps(void)
{
	uint64_t end = deadline(40000);
	struct rnbd_ctl_login login;
	struct lease l = { };
	uint32_t slots, nr, most;
	struct ctl entry;

	login_fill(&login);
	login.pool_bytes = htole64((uint64_t)STEPS_CEILING * RNBD_UNIT_SIZE);
	login.pool_min = htole32(FLOOR);
	if (!session_start_login(&l.c, 2, &login, "hostile"))
		return;
	slots = le32toh(l.c.grant.r.nr_slots);
	memset(steps, 0, sizeof(steps));
	steps[0].generation = le32toh(l.c.grant.seg[0].generation);
	steps[0].units = FLOOR;
	l.held = FLOOR;
	most = slots * RNBD_SEGMENT_GRANULE;
	if (most > STEPS_CEILING)
		most = STEPS_CEILING;
	for (nr = 1; l.held < most && now_ms() < end; nr++) {
		lease_want(&l, l.held + RNBD_SEGMENT_GRANULE);
		if (!ctl_receive(&l.c, &entry, LOGIN_MS) || !steps_take(&l, &entry))
			break;
	}
	note("%u segments in %u slots have %u units", nr, slots, l.held);
	if (slots > STEPS_SLOTS || l.held != most)
		amiss("the slots are not used up");
	if (most < STEPS_CEILING && most >= STEPS_CEILING * 3 / 4)
		amiss("too little is left for larger segments");
	lease_want(&l, STEPS_CEILING);
	while (l.held < STEPS_CEILING * 3 / 4 && now_ms() < end)
		if (ctl_receive(&l.c, &entry, 100) && !steps_take(&l, &entry))
			break;
	if (l.held < STEPS_CEILING * 3 / 4)
		amiss("the pool does not grow: %u units", l.held);
	conn_close(&l.c);
}

static const struct client_story stories[] = {
	{ "lease-small-steps", small_steps },
};

void client_steps_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
