// SPDX-License-Identifier: GPL-2.0-only
/*
 * An elastic pool of a well-behaved client, for the cases of client_lease.c and client_reclaim.c.
 *
 * Operation: a session starts with a floor of FLOOR units and can grow to CEILING units. struct
 * lease records which slots have a segment; c.grant.seg holds the segments by slot.
 * Ownership, Concurrency: one thread.
 * Errors: an entry that the target must not send fails the case.
 */
#include <string.h>

#include "client.h"

void lease_fill(struct rnbd_ctl_login *l)
{
	login_fill(l);
	l->pool_bytes = htole64((uint64_t)CEILING * RNBD_UNIT_SIZE);
	l->pool_min = htole32(FLOOR);
}

/* Log in with a floor, and attach. */
bool lease_start(struct lease *l, uint32_t host, const char *export)
{
	struct rnbd_ctl_login login;

	lease_fill(&login);
	return lease_start_login(l, host, &login, export);
}

/*
 * Log in with @login, which lease_fill() has filled in and the caller has possibly changed; then
 * attach.
 */
bool lease_start_login(struct lease *l, uint32_t host, const struct rnbd_ctl_login *login,
		       const char *export)
{
	uint32_t slots;

	memset(l, 0, sizeof(*l));
	if (!session_start_login(&l->c, host, login, export))
		return false;
	slots = le32toh(l->c.grant.r.nr_slots);
	if (le32toh(l->c.grant.r.pool_units) != FLOOR || slots > MAX_SEGMENTS || slots < 2)
		return amiss("a floor of %u units, %u slots", le32toh(l->c.grant.r.pool_units),
			     slots);
	l->slots = (1ull << le32toh(l->c.grant.r.nr_segments)) - 1;
	l->held = FLOOR;
	return true;
}

void lease_want(struct lease *l, uint32_t units)
{
	struct rnbd_ctl_want w = { .units = htole32(units) };
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_WANT, 0, sizeof(w)), &w, sizeof(w));
	frame_send(&l->c, &f);
}

bool lease_holds(const struct lease *l, uint32_t slot)
{
	return slot < MAX_SEGMENTS && l->slots >> slot & 1;
}

/* Process a SEGMENT entry received after the login. */
bool lease_take(struct lease *l, const struct ctl *entry)
{
	uint32_t most = le32toh(l->c.grant.r.segment_units), slot, units;
	struct rnbd_ctl_segment seg;

	if (entry->type != RNBD_CTL_SEGMENT)
		return amiss("an entry of type %u, wanted SEGMENT", entry->type);
	memcpy(&seg, entry->body, sizeof(seg));
	slot = le32toh(seg.slot);
	units = le32toh(seg.units);
	if (slot >= le32toh(l->c.grant.r.nr_slots) || lease_holds(l, slot))
		return amiss("a segment in slot %u", slot);
	if (!units || units > most || (units != most && units % RNBD_SEGMENT_GRANULE))
		return amiss("a segment of %u units", units);
	if (le64toh(seg.addr) >> 47)
		return amiss("a segment reveals an address of the target's memory");
	l->c.grant.seg[slot] = seg;
	l->slots |= 1ull << slot;
	l->held += units;
	return l->held <= le32toh(l->c.grant.r.max_units) ||
	       amiss("%u units are granted", l->held);
}

/* Request a pool of @units, and wait until the target has granted it. */
bool lease_grow(struct lease *l, uint32_t units)
{
	struct ctl entry;

	lease_want(l, units);
	while (l->held < units) {
		if (!ctl_receive(&l->c, &entry, LOGIN_MS))
			return amiss("%u units were granted, requested %u", l->held, units);
		if (!lease_take(l, &entry))
			return false;
	}
	return true;
}

/* Return the first slot above @above that has a segment, or -1. */
int lease_slot(const struct lease *l, int above)
{
	uint32_t slot;

	for (slot = above + 1; slot < MAX_SEGMENTS; slot++)
		if (lease_holds(l, slot))
			return slot;
	return -1;
}

/* Add a RELEASE entry with this slot and generation. */
struct rnbd_ctl_lease *lease_entry(struct frame *f, uint32_t slot, uint32_t generation)
{
	struct rnbd_ctl_lease *lease = ctl_add(f, RNBD_CTL_RELEASE, 0, sizeof(*lease));

	memset(lease, 0, sizeof(*lease));
	lease->slot = htole32(slot);
	lease->generation = htole32(generation);
	return lease;
}

void lease_release_add(struct lease *l, struct frame *f, uint32_t slot)
{
	lease_entry(f, slot, le32toh(l->c.grant.seg[slot].generation));
}

void lease_release(struct lease *l, uint32_t slot)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	lease_release_add(l, &f, slot);
	frame_send(&l->c, &f);
}

/* Process the reply to a RELEASE. */
bool lease_take_released(struct lease *l, const struct ctl *entry)
{
	struct rnbd_ctl_lease lease;
	uint32_t slot;

	memcpy(&lease, entry->body, sizeof(lease));
	slot = le32toh(lease.slot);
	if (entry->type != RNBD_CTL_RELEASED || !lease_holds(l, slot) ||
	    lease.generation != l->c.grant.seg[slot].generation)
		return amiss("an entry of type %u about slot %u, wanted RELEASED", entry->type,
			     slot);
	l->slots &= ~(1ull << slot);
	l->held -= le32toh(l->c.grant.seg[slot].units);
	return true;
}

bool lease_await_released(struct lease *l, uint32_t slot)
{
	struct ctl entry;

	if (!ctl_receive(&l->c, &entry, LOGIN_MS))
		return amiss("no RELEASED for slot %u", slot);
	return lease_take_released(l, &entry) &&
	       (!lease_holds(l, slot) || amiss("RELEASED for another slot than %u", slot));
}

/* Return the first unit of a segment. */
uint32_t lease_unit(const struct lease *l, uint32_t slot)
{
	return slot * le32toh(l->c.grant.r.segment_units);
}

struct rnbd_req_entry lease_read(const struct lease *l, uint32_t slot, uint16_t tag)
{
	return req_entry(RNBD_OP_READ, 0, tag, 0, 4096, lease_unit(l, slot));
}

/* Read or write a whole segment by RDMA. The local data are at the beginning of c.data. */
bool lease_whole_segment(struct lease *l, enum ibv_wr_opcode opcode, uint32_t slot)
{
	uint32_t units = le32toh(l->c.grant.seg[slot].units), at, run;

	for (at = 0; at < units; at += run) {
		run = units - at < 64 ? units - at : 64;
		if (!session_rdma(&l->c, opcode, at * RNBD_UNIT_SIZE, run,
				  lease_unit(l, slot) + at))
			return false;
	}
	return true;
}
