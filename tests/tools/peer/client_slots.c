// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of SLOTS, which changes the number of receive slots of the target and the depth of the
 * queue: a client that sends SLOTS with invalid numbers, sends SLOTS before the reply to its
 * previous SLOTS, or uses slots and tags that the last SLOTS has excluded.
 */
#include <string.h>

#include "client.h"

/* Queue depth that login_fill() requests, and initial depth of a connection */
#define DEPTH	16

/* A control entry for which the target must end the session, and the text of the protocol error. */
struct odd {
	const char *name;
	uint16_t type, slots, depth;
	const char *why;
};

static const struct odd odds[] = {
	{ "slots-3", RNBD_CTL_SLOTS, 3, DEPTH, GEOMETRY },
	{ "slots-too-many", RNBD_CTL_SLOTS, SLOTS + 1, DEPTH, GEOMETRY },
	{ "slots-65535", RNBD_CTL_SLOTS, 65535, DEPTH, GEOMETRY },
	{ "slots-too-deep", RNBD_CTL_SLOTS, SLOTS, DEPTH + 1, GEOMETRY },
	{ "slots-too-shallow", RNBD_CTL_SLOTS, SLOTS, DEPTH - 1, GEOMETRY },
	{ "slots-depth-0", RNBD_CTL_SLOTS, SLOTS, 0, GEOMETRY },
	{ "slots-answer-unasked", RNBD_CTL_SLOTS_REPLY, SLOTS, 0, TYPE },
	{ "slots-answer-0", RNBD_CTL_SLOTS_REPLY, 0, 0, GEOMETRY },
};

static void add(struct frame *f, uint16_t type, uint16_t slots, uint16_t depth)
{
	struct rnbd_ctl_slots wire = { .slots = htole16(slots), .depth = htole16(depth) };

	memcpy(ctl_add(f, type, 0, sizeof(wire)), &wire, sizeof(wire));
}

static void odd(const struct odd *o)
{
	struct conn c = { };
	struct frame f;

	if (session_start_export(&c, 2, "hostile")) {
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		add(&f, o->type, o->slots, o->depth);
		frame_send(&c, &f);
		session_ends(&c, o->why);
	}
	conn_close(&c);
}

/* Send SLOTS before the login: the target must end the session. */
static void early(void)
{
	struct conn c = { };
	struct frame f;

	if (session_start(&c, 2)) {
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		add(&f, RNBD_CTL_SLOTS, SLOTS, DEPTH);
		frame_send(&c, &f);
		session_ends(&c, TYPE);
	}
	conn_close(&c);
}

/*
 * Send two SLOTS entries in one frame, so that the target gets the second one before it answers
 * the first one. c.lax allows the SLOTS_REPLY, because slots_ask() has not sent the SLOTS.
 */
static void twice(void)
{
	struct rnbd_ctl_login l;
	struct conn c = { };
	struct frame f;

	login_fill(&l);
	if (!session_start(&c, 2) || !login(&c, &l, LOGIN_MS)) {
		amiss("no session");
	} else {
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		add(&f, RNBD_CTL_SLOTS, SLOTS, DEPTH);
		add(&f, RNBD_CTL_SLOTS, SLOTS, DEPTH);
		c.lax = true;
		frame_send(&c, &f);
		session_ends(&c, RATE);
	}
	conn_close(&c);
}

/* Change the number of slots up and down, with a READ after each change. */
static void again(void)
{
	struct conn c = { };
	uint32_t i;

	if (session_start_export(&c, 2, "hostile")) {
		for (i = 0; i < 20 && !c.gone; i++) {
			slots_ask(&c, i % 2 ? SLOTS : RNBD_RING_SLOTS_MIN + i % 5, DEPTH);
			session_lives(&c);
		}
	}
	conn_close(&c);
}

/*
 * Request fewer slots with SLOTS, and then send more frames than this number of slots. This client
 * returns no credits, so the target cannot send frames that would return credits to the client.
 */
static void given_up(void)
{
	struct conn c = { };
	uint32_t i;

	if (session_start_export(&c, 2, "hostile") && slots_ask(&c, RNBD_RING_SLOTS_MIN, DEPTH)) {
		c.mute = true;
		for (i = 0; i < 60 && !c.gone; i++)
			frame_credit(&c);
		session_ends(&c, CREDITS);
	}
	conn_close(&c);
}

/* Start a session whose granted depth is higher than the initial depth of a connection. */
static bool begin_deep(struct conn *c)
{
	struct rnbd_ctl_login l;

	login_fill(&l);
	l.queue_depth = htole16(4 * DEPTH);
	return (session_start(c, 2) && login(c, &l, LOGIN_MS) && attach(c, "slow")) ||
	       amiss("no session");
}

/*
 * Use a tag that is not below the initial depth. The login has granted a depth above this tag, but
 * the client has not requested that depth with SLOTS.
 */
static void tag_not_yet(void)
{
	struct conn c = { };
	struct frame f;

	if (begin_deep(&c)) {
		frame_begin(&f, RNBD_FRAME_REQUEST, 1);
		client_add_request(&f, req_entry(RNBD_OP_FLUSH, 0, DEPTH, 0, 0, 0));
		frame_send(&c, &f);
		session_ends(&c, TAG);
	}
	conn_close(&c);
}

/* Reduce the depth while the storage executes a request whose tag is not below the new depth. */
static void tag_in_use(void)
{
	struct conn c = { };
	struct frame f;

	if (begin_deep(&c) && slots_ask(&c, SLOTS, 4 * DEPTH)) {
		frame_begin(&f, RNBD_FRAME_REQUEST, 1);
		client_add_request(&f, req_entry(RNBD_OP_READ, 0, 2 * DEPTH, 0, 4096, 0));
		frame_send(&c, &f);
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		add(&f, RNBD_CTL_SLOTS, SLOTS, 2 * DEPTH);
		frame_send(&c, &f);
		session_ends(&c, TAG);
	}
	conn_close(&c);
}

/* Reduce and increase the depth in turn, and send a READ with the highest tag after each change. */
static void tags_again(void)
{
	struct conn c = { };
	uint32_t i;

	if (begin_deep(&c)) {
		for (i = 0; i < 8 && !c.gone; i++) {
			uint32_t depth = i % 2 ? DEPTH : 4 * DEPTH - i;
			uint32_t tag = depth - 1;
			int status;

			slots_ask(&c, SLOTS, depth);
			status = simple_request(&c, req_entry(RNBD_OP_READ, 0, tag, 0, 4096, 0));
			if (status)
				amiss("tag %u: status %d", tag, status);
		}
	}
	conn_close(&c);
}

static const struct client_story stories[] = {
	{ "slots-early", early },
	{ "slots-twice", twice },
	{ "slots-again", again },
	{ "slots-given-up", given_up },
	{ "slots-tag-not-yet", tag_not_yet },
	{ "slots-tag-in-use", tag_in_use },
	{ "slots-tags-again", tags_again },
};

void client_slots_cases(struct results *results)
{
	RUN_CASES(odds, results, odd(&odds[i]));
	RUN_CASES(stories, results, stories[i].run());
}
