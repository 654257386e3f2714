// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of receive slots that come and go: a client that asks for what it may not have, asks
 * before it was answered, or uses what it gave up.
 */
#include <string.h>

#include "client.h"

/* What an entry says that ends the session, and why. */
struct odd {
	const char *name;
	uint16_t type, slots, depth;
	const char *why;
};

static const struct odd odds[] = {
	{ "slots-3", RNBD_CTL_SLOTS, 3, 0, GEOMETRY },
	{ "slots-too-many", RNBD_CTL_SLOTS, SLOTS + 1, 0, GEOMETRY },
	{ "slots-65535", RNBD_CTL_SLOTS, 65535, 0, GEOMETRY },
	{ "slots-depth", RNBD_CTL_SLOTS, SLOTS, 17, GEOMETRY },
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

/* Not before the login is granted. */
static void early(void)
{
	struct conn c = { };
	struct frame f;

	if (session_start(&c, 2)) {
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		add(&f, RNBD_CTL_SLOTS, SLOTS, 0);
		frame_send(&c, &f);
		session_ends(&c, TYPE);
	}
	conn_close(&c);
}

/* Twice in a frame, so that no answer can come between. */
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
		add(&f, RNBD_CTL_SLOTS, SLOTS, 0);
		add(&f, RNBD_CTL_SLOTS, SLOTS, 0);
		frame_send(&c, &f);
		session_ends(&c, RATE);
	}
	conn_close(&c);
}

/* More and fewer, again and again, and requests all the while. */
static void again(void)
{
	struct conn c = { };
	uint32_t i;

	if (session_start_export(&c, 2, "hostile")) {
		for (i = 0; i < 20 && !c.gone; i++) {
			slots_ask(&c, i % 2 ? SLOTS : RNBD_RING_SLOTS_MIN + i % 5, 0);
			session_lives(&c);
		}
	}
	conn_close(&c);
}

/* What was given up is used, and credits are not returned, so that the target can tell. */
static void given_up(void)
{
	struct conn c = { };
	uint32_t i;

	if (session_start_export(&c, 2, "hostile") && slots_ask(&c, RNBD_RING_SLOTS_MIN, 0)) {
		c.mute = true;
		for (i = 0; i < 60 && !c.gone; i++)
			frame_credit(&c);
		session_ends(&c, CREDITS);
	}
	conn_close(&c);
}

static const struct client_story stories[] = {
	{ "slots-early", early },
	{ "slots-twice", twice },
	{ "slots-again", again },
	{ "slots-given-up", given_up },
};

void client_slots_cases(struct results *results)
{
	RUN_CASES(odds, results, odd(&odds[i]));
	RUN_CASES(stories, results, stories[i].run());
}
