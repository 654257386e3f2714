// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of memory that the target takes back, and of memory that it must not free: what the
 * client does with segments that it is asked for, and with one that a request uses.
 *
 * Operation: a script has limited the memory for all pools to 4 MiB, so that the pools of
 * hosts 2 and 3 do not both have room to grow, and the time to return a segment to 1 s; or
 * it has exported storage that takes seconds for a write.
 * Ownership, Concurrency: one thread handles both connections.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define LATE		"reclaimed memory was not returned in time"
#define WANTED		512	/* units that the second client asks for */
#define HALF		320	/* what is about its share */
#define TAGS		8
#define NO_SLOT		(-1)

static struct lease first, second;

/* The first client has all memory, and the second one asks for half of it. */
static bool compete(void)
{
	counter_may_limit("pool_near", 1);
	if (!lease_start(&first, 2, "hostile") ||
	    !lease_grow(&first, le32toh(first.c.grant.r.max_units)) ||
	    !lease_start(&second, 3, "hostile"))
		return false;
	lease_want(&second, WANTED);
	return true;
}

static void part(void)
{
	conn_close(&first.c);
	conn_close(&second.c);
}

/* The slot of a RECLAIM entry about a segment of @l, or NO_SLOT if it is of another kind. */
static int slot_asked_for(const struct lease *l, const struct ctl *entry)
{
	struct rnbd_ctl_lease lease;
	uint32_t slot;

	if (entry->type != RNBD_CTL_RECLAIM)
		return NO_SLOT;
	memcpy(&lease, entry->body, sizeof(lease));
	slot = le32toh(lease.slot);
	if (!lease_holds(l, slot) || lease.generation != l->c.grant.seg[slot].generation ||
	    !lease.deadline_ms) {
		amiss("slot %u is reclaimed, with a time of %u ms", slot,
		      le32toh(lease.deadline_ms));
		return NO_SLOT;
	}
	return slot;
}

/* The second client takes what it is granted, until it has @units. */
static void second_grows(uint32_t units, uint64_t end)
{
	struct ctl entry;

	while (second.held < units && now_ms() < end && !second.c.gone)
		if (ctl_receive(&second.c, &entry, 10) && !lease_take(&second, &entry))
			return;
	if (second.held < units)
		amiss("the second client has %u units of %u", second.held, units);
}

static void lives(struct lease *l)
{
	int status;

	/* Nothing else comes from now on. */
	lease_want(l, 0);
	status = simple_request(&l->c, lease_read(l, lease_slot(l, -1), 1));
	if (status)
		amiss("a READ afterwards: status %d", status);
}

/* Return what the target asks for, at once. */
static void returns_all(void)
{
	uint64_t end = deadline(10000);
	uint32_t asked = 0, open = 0;
	struct ctl entry;
	int slot;

	if (!compete()) {
		part();
		return;
	}
	while ((second.held < HALF || open) && now_ms() < end) {
		if (ctl_receive(&first.c, &entry, 10)) {
			slot = slot_asked_for(&first, &entry);
			if (slot < 0 && !lease_take_released(&first, &entry))
				break;
			if (slot >= 0) {
				lease_release(&first, slot);
				asked++;
				open++;
			} else {
				open--;
			}
		}
		if (ctl_receive(&second.c, &entry, 10) && !lease_take(&second, &entry))
			break;
	}
	note("%u segments were reclaimed, the clients have %u and %u units", asked, first.held,
	     second.held);
	if (!asked || second.held < HALF || first.held < HALF)
		amiss("the memory is not divided");
	lives(&first);
	lives(&second);
	part();
}

/* Return nothing. */
static void returns_nothing(void)
{
	uint64_t end = deadline(10000);
	uint32_t asked = 0;
	struct ctl entry;

	counter_due_limit("reclaim");
	if (compete()) {
		while (!first.c.gone && now_ms() < end)
			if (ctl_receive(&first.c, &entry, 10))
				asked += slot_asked_for(&first, &entry) >= 0;
		if (!asked)
			amiss("nothing was reclaimed");
		session_must_go(&first.c, 0);
		monitor_closed(LATE);
		second_grows(WANTED, deadline(10000));
		lives(&second);
	}
	part();
}

/* Use a segment all the time, from when it is reclaimed. */
static void uses_it(void)
{
	uint32_t free_tags = (1u << TAGS) - 1, done = 0, len, at;
	uint64_t end = deadline(30000);
	int slot = NO_SLOT, next;
	struct rnbd_reply_entry reply;
	const uint8_t *frame;
	struct ctl entry;
	struct frame f;

	counter_due_limit("reclaim");
	if (!compete()) {
		part();
		return;
	}
	while (!first.c.gone && now_ms() < end) {
		/* Requests stop the time for ten seconds, because the keep-alive is long. */
		if (slot >= 0 && free_tags && first.c.credits > 2) {
			uint32_t tag = __builtin_ctz(free_tags);

			free_tags &= ~(1u << tag);
			frame_begin(&f, RNBD_FRAME_REQUEST, 1);
			client_add_request(&f, lease_read(&first, slot, tag));
			frame_send(&first.c, &f);
		}
		frame = conn_receive(&first.c, 0, &len, free_tags && slot >= 0 ? 0 : 10);
		if (frame && frame[0] == RNBD_FRAME_CONTROL) {
			ctl_take(&first.c, frame, len);
			while (ctl_left(&first.c, &entry)) {
				next = slot_asked_for(&first, &entry);
				slot = slot < 0 ? next : slot;
			}
		} else if (frame) {
			for (at = HDR_BYTES; at < len; at += sizeof(reply), done++) {
				memcpy(&reply, frame + at, sizeof(reply));
				free_tags |= 1u << (le16toh(reply.tag) % TAGS);
			}
		}
	}
	note("%u requests were done", done);
	if (slot < 0 || done < 100)
		amiss("the segment was not used");
	session_must_go(&first.c, 0);
	monitor_closed(LATE);
	second_grows(WANTED, deadline(10000));
	part();
}

/* Writes that the storage of the case has: the second number in the file INFLIGHT. */
static uint32_t in_storage(void)
{
	const char *path = getenv("INFLIGHT");
	FILE *file = path ? fopen(path, "r") : NULL;
	unsigned int reads, writes;

	if (!file || fscanf(file, "%u %u", &reads, &writes) != 2)
		die("no number of requests in %s", path ?: "INFLIGHT");
	fclose(file);
	return writes;
}

/*
 * Release a segment while the storage has a WRITE from it, and let another client fill all
 * memory that it can get. The script says what becomes of the data of the WRITE.
 */
static void stale(bool refused)
{
	uint64_t end = deadline(20000);
	struct frame f;
	int slot = -1;

	if (!lease_start(&first, 2, "held"))
		return;
	memset(first.c.data, 0x77, 16 * RNBD_UNIT_SIZE);
	session_rdma(&first.c, IBV_WR_RDMA_WRITE, 0, 16, 0);
	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, req_entry(RNBD_OP_WRITE, 0, 1, 0, 16 * RNBD_UNIT_SIZE, 0));
	frame_send(&first.c, &f);
	while (!in_storage() && now_ms() < end)
		nap();
	lease_release(&first, 0);
	if (refused)
		session_ends(&first.c, EXTENT);
	else
		lease_await_released(&first, 0);
	if (lease_start(&second, 3, "hostile") && lease_grow(&second, CEILING)) {
		memset(second.c.data, 0xc7, DATA_BYTES);
		while ((slot = lease_slot(&second, slot)) >= 0)
			lease_whole_segment(&second, IBV_WR_RDMA_WRITE, slot);
	}
	if (!in_storage())
		amiss("the WRITE has ended too early");
	while (in_storage() && now_ms() < end)
		nap();
	part();
}

static void stale_refused(void)
{
	stale(true);
}

static void stale_freed(void)
{
	stale(false);
}

static const struct client_story stories[] = {
	{ "until-reclaimed", returns_all },
	{ "until-late", returns_nothing },
	{ "until-late-using", uses_it },
	{ "until-stale-refused", stale_refused },
	{ "until-stale-freed", stale_freed },
};

void client_reclaim_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
