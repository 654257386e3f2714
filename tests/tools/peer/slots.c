// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of the number of receive slots (SLOTS, SLOTS_REPLY).
 *
 * Operation: conn_receive() passes each frame to slots_take(), which records a request of the peer;
 * slots_answer() sends the reply when it is possible. conn_receive() does not return frames about
 * slots to the cases. All of our slots are posted from the start, even those that the peer may not
 * use yet. slots_ask() requests slots and queue depth from a target.
 * Ownership: none.
 * Concurrency: one thread.
 * Errors: an unexpected reply fails the case.
 */
#include <string.h>

#include "peer.h"

static void send_slots(struct conn *c, uint16_t type, uint32_t slots, uint32_t depth)
{
	struct rnbd_ctl_slots wire = { .slots = htole16(slots), .depth = htole16(depth) };
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, type, 0, sizeof(wire)), &wire, sizeof(wire));
	frame_send(c, &f);
}

/* Send a SLOTS_REPLY if one is due, no slot remains to be retired, and there is a credit. */
void slots_answer(struct conn *c)
{
	if (!c->slots_due || c->retire || c->credits <= 0)
		return;
	c->slots_due = false;
	send_slots(c, RNBD_CTL_SLOTS_REPLY, c->granted, c->slots_depth);
}

static void on_ask(struct conn *c, const struct rnbd_ctl_slots *s)
{
	uint32_t slots = le16toh(s->slots);

	if (c->slots_due && !c->lax)
		amiss("a second SLOTS before the reply to the first");
	if (slots > c->slots && c->lax)
		return;
	if (slots > c->slots || (!c->serves && s->depth) ||
	    (c->serves && le16toh(s->depth) > RNBD_DEPTH_MAX))
		amiss("%u slots and a depth of %u were requested", slots, le16toh(s->depth));
	c->slots_due = true;
	c->slots_depth = le16toh(s->depth);
	if (slots < c->granted)
		c->retire = c->granted - slots;
	else
		c->granted = slots;
}

static void on_answer(struct conn *c, const struct rnbd_ctl_slots *s)
{
	uint32_t slots = le16toh(s->slots), depth = le16toh(s->depth);

	if (c->lax)
		goto take;
	if (!c->asked_slots)
		amiss("a SLOTS_REPLY without a request");
	if (slots < c->peer_slots ? slots != c->asked_slots : slots > c->asked_slots)
		amiss("%u slots granted, requested %u of %u", slots, c->asked_slots, c->peer_slots);
	if (depth > c->asked_depth)
		amiss("a depth of %u granted, requested %u", depth, c->asked_depth);
take:
	if (slots > c->peer_slots)
		c->credits += slots - c->peer_slots;
	c->peer_slots = slots;
	c->asked_slots = 0;
}

/* Process a frame about slots. Return false if it is another frame. */
bool slots_take(struct conn *c, const uint8_t *frame, uint32_t len)
{
	struct rnbd_ctl head;
	struct rnbd_ctl_slots s;
	uint16_t type;

	if (frame[0] != RNBD_FRAME_CONTROL || len != HDR_BYTES + sizeof(head) + sizeof(s))
		return false;
	memcpy(&head, frame + HDR_BYTES, sizeof(head));
	memcpy(&s, frame + HDR_BYTES + sizeof(head), sizeof(s));
	type = le16toh(head.type) & ~RNBD_CTL_MANDATORY;
	if (type == RNBD_CTL_SLOTS)
		on_ask(c, &s);
	else if (type == RNBD_CTL_SLOTS_REPLY)
		on_answer(c, &s);
	else
		return false;
	return true;
}

/*
 * Send SLOTS. If it gives up slots, also send CREDIT frames to use up the credits of these slots;
 * the frame with SLOTS uses up the first of these credits.
 */
void slots_begin(struct conn *c, uint32_t slots, uint32_t depth)
{
	uint32_t spend = slots < c->peer_slots ? c->peer_slots - slots : 1;

	c->asked_slots = slots;
	c->asked_depth = depth;
	send_slots(c, RNBD_CTL_SLOTS, slots, depth);
	while (--spend)
		frame_credit(c);
}

/*
 * Send SLOTS once and wait for the reply. A slot whose credit the target has not returned cannot be
 * given up yet, so the number can remain higher than @slots.
 */
static bool ask_once(struct conn *c, uint32_t slots, uint32_t depth)
{
	uint64_t end = deadline(LOGIN_MS);
	uint32_t least, len;

	least = c->peer_slots - (c->credits > 2 ? c->credits - 2 : 0);
	slots_begin(c, slots > least ? slots : least, depth);
	while (c->asked_slots && !c->gone && now_ms() < end)
		if (conn_receive(c, 0, &len, 10))
			return amiss("another frame than a SLOTS_REPLY");
	return !c->asked_slots;
}

/*
 * Send SLOTS, and repeat it while the number of slots is above @slots and still decreases. Return
 * true if the number is @slots at the end.
 */
bool slots_ask(struct conn *c, uint32_t slots, uint32_t depth)
{
	uint32_t had;

	do {
		had = c->peer_slots;
	} while (ask_once(c, slots, depth) && c->peer_slots > slots && c->peer_slots < had);
	return (!c->asked_slots && c->peer_slots == slots) ||
	       amiss("%u slots granted, requested %u", c->peer_slots, slots);
}
