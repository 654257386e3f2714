// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of reclaimed memory: reactions of a client to RECLAIM.
 *
 * Operation: a test script has limited the memory for all pools to 4 MiB, so the pools of hosts 2
 * and 3 cannot both grow to their ceiling. It has limited the time for returning a segment to 1 s.
 * Ownership, Concurrency: one thread handles both connections.
 */
#include <string.h>

#include "client.h"

#define LATE		"reclaimed memory was not returned in time"
#define WANTED		512	/* units that the second client requests */
#define MOST		832	/* largest pool that a host can get, in units: whole granules */
#define HALF		320	/* approximate fair share of a host in units */
#define TAGS		8
#define DEEP		64	/* number of READs of 128 KiB; their sum exceeds the ceiling */
#define HELD_TAGS	4
#define NO_SLOT		(-1)

static struct lease first, second;

/* Let the first client take all memory that it can get, and the second one request WANTED units. */
static bool compete(void)
{
	counter_may_limit("pool_near", 1);
	if (!lease_start(&first, 2, "hostile") ||
	    !lease_grow(&first, MOST) ||
	    !lease_start(&second, 3, "hostile"))
		return false;
	lease_want(&first, le32toh(first.c.grant.r.max_units));
	lease_want(&second, WANTED);
	return true;
}

static void part(void)
{
	conn_close(&first.c);
	conn_close(&second.c);
}

/* Return the slot of a RECLAIM for a segment of @l, or NO_SLOT for any other entry. */
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

/* Let the second client receive segments until it holds @units, or fail the case at time @end. */
static void second_grows(uint32_t units, uint64_t end)
{
	struct ctl entry;

	/* The end of the first session can free a quarter of the memory before the growth. */
	counter_may_limit("pool_near", 1);
	while (second.held < units && now_ms() < end && !second.c.gone)
		if (ctl_receive(&second.c, &entry, 10) && !lease_take(&second, &entry))
			return;
	if (second.held < units)
		amiss("the second client has %u units of %u", second.held, units);
}

static void lives(struct lease *l)
{
	int status;

	/* a WANT of 0 units: the target sends no further SEGMENT */
	lease_want(l, 0);
	status = simple_request(&l->c, lease_read(l, lease_slot(l, -1), 1));
	if (status)
		amiss("a READ afterwards: status %d", status);
}

/* The first client returns reclaimed segments at once: each client must get about half. */
static void returns_all(void)
{
	uint64_t end = deadline(10000);
	uint32_t asked = 0, open = 0;
	struct ctl entry;
	int slot;

	/*
	 * let the counter pool_near increase a second time: the pools can fall below 75 percent of
	 * the memory and reach 90 percent again
	 */
	counter_may_limit("pool_near", 1);
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
		amiss("the memory is not shared equally");
	lives(&first);
	lives(&second);
	part();
}

/* The first client returns no segment: the target must end its session. */
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

/* Continue to use a segment after RECLAIM instead of returning it: the session must end. */
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
		/*
		 * requests that arrive up to ten seconds after RECLAIM restart the time limit,
		 * because the keep-alive time is long
		 */
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
	note("%u requests were executed", done);
	if (slot < 0 || done < 100)
		amiss("the segment was not used");
	session_must_go(&first.c, 0);
	monitor_closed(LATE);
	second_grows(WANTED, deadline(10000));
	part();
}

/*
 * Send READs of the same units with the tags in @tags while there are credits. Return the unused
 * tags.
 */
static uint64_t read_slowly(struct conn *c, uint64_t tags)
{
	struct frame f;
	uint16_t tag;

	while (tags && c->credits > 2) {
		tag = __builtin_ctzll(tags);
		tags &= tags - 1;
		frame_begin(&f, RNBD_FRAME_REQUEST, 1);
		client_add_request(&f, req_entry(RNBD_OP_READ, 0, tag, 0, 128 << 10, 0));
		frame_send(c, &f);
	}
	return tags;
}

/*
 * Process an entry of the first client: release reclaimed segments, except that in slot 0, which
 * its READs use.
 */
static bool first_returns(const struct ctl *entry)
{
	int slot;

	if (entry->type == RNBD_CTL_SEGMENT)
		return lease_take(&first, entry);
	slot = slot_asked_for(&first, entry);
	if (slot < 0)
		return lease_take_released(&first, entry);
	if (slot)
		lease_release(&first, slot);
	return true;
}

/*
 * READs that take seconds in the storage and all name the same units. The sum of their lengths
 * exceeds the ceiling, but the target must still reclaim the other memory of the client.
 */
static void slow_reads(void)
{
	uint64_t end = deadline(20000), want_at, waiting = ~0ull;
	struct rnbd_reply_entry reply;
	struct rnbd_ctl_login login;
	const uint8_t *frame;
	struct ctl entry;
	bool ok = true;
	uint32_t len, at;

	counter_may_limit("pool_near", 1);
	lease_fill(&login);
	login.queue_depth = htole16(DEEP);
	if (!lease_start_login(&first, 2, &login, "crawling") || !lease_grow(&first, MOST) ||
	    !lease_start(&second, 3, "hostile")) {
		part();
		return;
	}
	lease_want(&first, le32toh(first.c.grant.r.max_units));
	/* the target treats requests as slow after they took a second */
	want_at = now_ms() + 2000;
	while (ok && second.held < HALF && now_ms() < end) {
		if (want_at && now_ms() > want_at) {
			lease_want(&second, WANTED);
			want_at = 0;
		}
		waiting = read_slowly(&first.c, waiting);
		frame = conn_receive(&first.c, 0, &len, 10);
		if (frame && frame[0] == RNBD_FRAME_CONTROL) {
			ctl_take(&first.c, frame, len);
			while (ok && ctl_left(&first.c, &entry))
				ok = first_returns(&entry);
		} else if (frame) {
			for (at = HDR_BYTES; at < len; at += sizeof(reply)) {
				memcpy(&reply, frame + at, sizeof(reply));
				waiting |= 1ull << le16toh(reply.tag) % DEEP;
			}
		}
		if (ctl_receive(&second.c, &entry, 10))
			ok = ok && lease_take(&second, &entry);
	}
	note("the clients have %u and %u units", first.held, second.held);
	if (second.held < HALF)
		amiss("slow requests keep the memory: %u units are granted", second.held);
	part();
}

/*
 * Stop returning credits on queue 1, and send READs until the replies wait at the target. Then send
 * a READ into each segment on this queue.
 */
static bool withhold(struct conn *q)
{
	uint32_t len, i, tag = HELD_TAGS;
	struct frame f;
	int slot = -1;

	q->mute = true;
	for (i = 0; i < 4 * SLOTS; i++) {
		frame_begin(&f, RNBD_FRAME_REQUEST, 1);
		client_add_request(&f, lease_read(&first, 0, i % HELD_TAGS));
		frame_send(q, &f);
		if (!conn_receive(q, RNBD_FRAME_REPLY, &len, 500))
			break;
	}
	if (q->gone || i == 4 * SLOTS)
		return amiss("replies come without credits");
	while ((slot = lease_slot(&first, slot)) >= 0 && q->credits > 2) {
		frame_begin(&f, RNBD_FRAME_REQUEST, 1);
		client_add_request(&f, lease_read(&first, slot, tag++));
		frame_send(q, &f);
	}
	return slot < 0 || amiss("no credits for the segment in slot %d", slot);
}

/* Completed requests whose replies wait for credits must not prevent the reclaim of memory. */
static void gives_no_credits(void)
{
	static struct conn q;
	uint64_t end = deadline(15000);
	struct rnbd_ctl_login login;
	uint32_t asked = 0;
	struct ctl entry;

	counter_due_limit("reclaim");
	counter_may_limit("pool_near", 1);
	lease_fill(&login);
	login.nr_queues = htole16(2);
	memset(&q, 0, sizeof(q));
	if (lease_start_login(&first, 2, &login, "hostile") && session_add_second(&q, &first.c) &&
	    lease_grow(&first, MOST) && withhold(&q) && lease_start(&second, 3, "hostile")) {
		lease_want(&second, WANTED);
		while (!first.c.gone && now_ms() < end)
			if (ctl_receive(&first.c, &entry, 10))
				asked += slot_asked_for(&first, &entry) >= 0;
		if (!asked)
			amiss("nothing was reclaimed");
		session_must_go(&first.c, 0);
		monitor_closed(LATE);
		second_grows(WANTED, deadline(10000));
	}
	conn_close(&q);
	part();
}

static const struct client_story stories[] = {
	{ "until-reclaimed", returns_all },
	{ "until-late", returns_nothing },
	{ "until-late-using", uses_it },
	{ "until-late-no-credits", gives_no_credits },
	{ "until-reclaimed-slow", slow_reads },
};

void client_reclaim_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
