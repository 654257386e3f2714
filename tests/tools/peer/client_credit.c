// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of credits and keep-alive: more frames than credits, receive slots that are not posted,
 * credits that are never returned, and silence.
 */
#include <string.h>

#include "client.h"

/*
 * Send a few frames more than there are credits. RDMA delays these last frames until the target
 * posts slots again, and by then the target has returned credits for them. So the target cannot
 * detect this violation, and the session must continue.
 */
static void overrun(void)
{
	struct conn c = { };
	int32_t frames;

	if (session_start_export(&c, 2, "hostile")) {
		for (frames = c.credits + 4; frames > 0 && !c.gone; frames--)
			frame_credit(&c);
		session_lives(&c);
	}
	conn_close(&c);
}

/*
 * Send so many frames that the target possibly has no credit left and cannot return any credits. In
 * this case the target must detect the violation; otherwise the READ must succeed.
 */
static void overrun_far(void)
{
	struct conn c = { };
	uint32_t i;
	int status;

	if (session_start_export(&c, 2, "hostile")) {
		for (i = 0; i < 3 * SLOTS && !c.gone; i++)
			frame_credit(&c);
		status = simple_request(&c, req_entry(RNBD_OP_READ, 0, 3, 0, 4096, 9));
		if (status) {
			session_must_go(&c, CLOSE_MS);
			monitor_closed(CREDITS);
		}
	}
	conn_close(&c);
}

/*
 * The client returns no credits. So the target uses up its own credits, can no longer return
 * credits to the client, and must detect the frames that the client sends without a credit.
 */
static void credits_none(void)
{
	struct request req;
	struct rnbd_ctl_login l;
	struct conn c;
	uint32_t i;

	request_init(&req, 2, RNBD_RING_SLOTS_MIN, SLOT_SIZE);
	login_fill(&l);
	if (conn_open(&c, &req) || !session_login(&c, &l, "hostile")) {
		amiss("no session");
	} else {
		c.mute = true;
		for (i = 0; i < 40 && !c.gone; i++)
			frame_credit(&c);
		session_ends(&c, CREDITS);
	}
	conn_close(&c);
}

/* Announce receive slots, but do not post them. */
static void no_slots(void)
{
	struct request req;
	struct conn c;
	struct frame f;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	req.no_slots = true;
	status = conn_open(&c, &req);
	if (status) {
		amiss("not connected: %d", status);
	} else {
		client_build(&f, LOGIN, "hostile");
		frame_send(&c, &f);
		session_must_go(&c, 20000);
		monitor_closed("*");
	}
	conn_close(&c);
}

enum starving {
	SILENT,		/* sends nothing */
	MUTE,		/* sends keep-alives, but never returns a credit */
	LIAR,		/* returns credits for slots that it does not post again */
};

static void starve(enum starving how, const char *why)
{
	uint32_t interval = 300 * slow, i, len;
	uint64_t end = deadline(20000);
	struct conn c = { };
	struct rnbd_ctl_login l;
	struct frame f;

	login_fill(&l);
	l.keepalive_ms = htole32(interval);
	if (session_start(&c, 2)) {
		if (!session_login(&c, &l, "hostile"))
			amiss("login: status %u", c.grant.status);
		c.mute = how != LIAR;
		c.liar = how == LIAR;
		/*
		 * FLUSHes, whose replies use up the target's credits (MUTE) or find no posted slot
		 * (LIAR).
		 */
		for (i = 0; i < 4 && how != SILENT; i++) {
			frame_begin(&f, RNBD_FRAME_REQUEST, 1);
			client_add_request(&f, req_entry(RNBD_OP_FLUSH, 0, i, 0, 0, 0));
			frame_send(&c, &f);
		}
		while (!c.gone && now_ms() < end) {
			if (how == LIAR)
				conn_receive(&c, 0, &len, 1);
			else
				conn_step(&c);
			if (how != SILENT && now_ms() > c.last_sent + interval * 3 / 4)
				frame_credit(&c);
			nap();
		}
		session_must_go(&c, 0);
		monitor_closed(why);
	}
	conn_close(&c);
}

static void no_credits(void)
{
	starve(MUTE, "the peer returns no credits");
}

static void credits_lies(void)
{
	/* accept any reason: some devices report an error before the target detects the lie */
	starve(LIAR, "*");
}

static void silence(void)
{
	starve(SILENT, "no keep-alive from the peer");
}

static const struct client_story stories[] = {
	{ "overrun", overrun },
	{ "overrun-far", overrun_far },
	{ "credits-none", credits_none },
	{ "credits-unposted", credits_lies },
	{ "no-slots", no_slots },
	{ "no-credits", no_credits },
	{ "silence", silence },
};

void client_credit_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
