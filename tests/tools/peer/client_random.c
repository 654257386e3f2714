// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client whose traffic is valid except for some mutations.
 *
 * Operation: the random numbers of a session depend only on the seed and on the number of the
 * session. So --from K with the same seed begins with session K and repeats its choices. Some
 * choices within a move, such as those of a segment or a connection, also depend on the state of
 * the session. Each session makes moves of client_moves.c, while a rival process competes for the
 * same memory. A run lasts up to five times longer if some kinds of frames or entries have not
 * occurred yet, and fails if any kind is still missing at the end.
 * Ownership, Concurrency, Errors: as in client.c.
 */
#include <string.h>

#include "client.h"

#define MOVES	32	/* maximum number of moves of a session */

struct tally {
	uint32_t sessions, frames, mutated, refused, closed, answered, joined, whole;
};

/* Send a login or a list request; mutate it if @wild. */
static void first_entry(struct player *p, struct rng *rng, bool list, bool wild)
{
	struct rnbd_ctl_login l;
	struct frame f;

	lease_fill(&l);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	if (list)
		ctl_add(&f, RNBD_CTL_LIST, BUILD_ID, 0);
	else
		memcpy(ctl_add(&f, RNBD_CTL_LOGIN, BUILD_ID, sizeof(l)), &l, sizeof(l));
	frame_seal(&p->l.c, &f);
	if (wild) {
		rng_mutate(rng, f.b, &f.len, SLOT_SIZE);
		p->l.c.lax = true;
	}
	conn_post(&p->l.c, f.b, f.len, IBV_WR_SEND, 0);
}

/* Log in, and send a mutated ATTACH or DETACH as the first request of the session. */
static void wild_first_attach(struct player *p, struct rng *rng)
{
	struct rnbd_ctl_login l;
	struct frame f;

	lease_fill(&l);
	if (!login(&p->l.c, &l, LOGIN_MS))
		return;
	client_build(&f, rng_below(rng, 2) ? ATTACH : DETACH, "fixed");
	frame_seal(&p->l.c, &f);
	rng_mutate(rng, f.b, &f.len, SLOT_SIZE);
	p->l.c.lax = true;
	conn_post(&p->l.c, f.b, f.len, IBV_WR_SEND, 0);
}

/* Receive frames without processing their entries, because the state of the session is unknown. */
static void ignore_frames(struct player *p, struct tally *tally)
{
	uint32_t len, ms = 50;

	for (; conn_receive(&p->l.c, 0, &len, ms); ms = 1)
		tally->answered++;
}

/* Connect, with a mutated request if @wild. Return false if the connection is refused. */
static bool begin(struct player *p, struct rng *rng, struct tally *tally, bool wild)
{
	struct request req;
	uint32_t len;
	int i;

	request_init(&req, 2 + rng_below(rng, 2), SLOTS, SLOT_SIZE);
	for (i = 0; i < 16; i++)
		req.cm.session_id[i] = rng_next(rng);
	if (wild) {
		len = req.len;
		rng_mutate(rng, (uint8_t *)&req.cm, &len, sizeof(req.cm));
		req.len = len;
	}
	tally->sessions++;
	if (!conn_open(&p->l.c, &req))
		return true;
	tally->refused++;
	if (!wild && p->l.c.status != RNBD_ST_LIMIT && p->l.c.status != RNBD_ST_BUSY)
		amiss("a valid connection request: status %d", p->l.c.status);
	return false;
}

/* Log in, attach and add connections. Return false if the session cannot be used. */
static bool log_in(struct player *p, struct rng *rng)
{
	const struct grant *g = &p->l.c.grant;

	if (player_login(p, rng)) {
		player_join(p, rng);
		return true;
	}
	/* an earlier session of the host possibly still uses the memory or the export */
	if (g->status != RNBD_ST_BUSY && g->status != RNBD_ST_ATTACHED &&
	    g->status != RNBD_ST_POOL_FULL && g->status != RNBD_ST_LIMIT)
		amiss("a valid login, or ATTACH: status %u", g->status);
	/* most moves work without an attachment */
	return g->r.nr_segments;
}

static void play(struct player *p, struct rng *rng, struct tally *tally, uint32_t moves,
		 uint32_t wild)
{
	uint32_t i;

	for (i = 0; i < moves && !p->l.c.gone; i++) {
		uint64_t seed = rng_next(rng);
		bool mutate = wild && !rng_below(rng, wild);
		uint32_t wait = rng_below(rng, 4) ? 20 : 0;

		if (player_move(p, seed, mutate)) {
			tally->frames++;
			tally->mutated += mutate;
		}
		player_drain(p, wait);
	}
	player_drain(p, 1);
	tally->joined += p->nr_more;
	tally->closed += p->l.c.gone;
	tally->whole += i == MOVES && !p->wild && !p->l.c.gone;
}

static void random_session(struct rng *rng, struct tally *tally)
{
	static struct player p;
	bool wild_request = !rng_below(rng, 10), wild_login = !rng_below(rng, 6);
	bool wild_attach = !rng_below(rng, 8), list = !rng_below(rng, 8);
	bool politely = rng_below(rng, 2);
	uint32_t moves = rng_below(rng, 3) ? rng_below(rng, MOVES) : MOVES;
	uint32_t wild = rng_below(rng, 10);
	bool tame = !rng_below(rng, 4);

	memset(&p, 0, sizeof(p));
	if (tame) {
		p.tame = true;
		moves = MOVES;
		wild = 0;
	}
	if (begin(&p, rng, tally, wild_request)) {
		if (wild_login || wild_request || list) {
			first_entry(&p, rng, list, wild_login);
			ignore_frames(&p, tally);
			tally->closed += p.l.c.gone;
		} else if (wild_attach) {
			wild_first_attach(&p, rng);
			ignore_frames(&p, tally);
			tally->closed += p.l.c.gone;
		} else if (log_in(&p, rng)) {
			play(&p, rng, tally, moves, wild);
			tally->answered += p.answers;
		}
	}
	player_part(&p, politely);
}

/*
 * Return true for @seconds, and then until all kinds of frames and entries have occurred, which
 * takes longer on slow machines: in total at most five times @seconds.
 */
static bool random_goes_on(uint64_t began, uint32_t seconds)
{
	uint64_t took = now_ms() - began;

	return took < seconds * 1000ull ||
	       (took < seconds * 5000ull && !kinds_complete(true, false));
}

int client_random(uint64_t seed, uint64_t from, uint32_t seconds)
{
	uint64_t nr, began = now_ms();
	struct tally tally = { };
	bool complete, ok;
	struct rng rng;

	kinds_share();
	rival_start();
	for (nr = from; random_goes_on(began, seconds); nr++) {
		rng_seed(&rng, seed, nr);
		random_session(&rng, &tally);
		if (amiss_so_far()) {
			printf("repeat with: rnbd-peer client --seed %llu --from %llu\n",
			       (unsigned long long)seed, (unsigned long long)nr);
			judge("random", false, began);
			rival_end();
			return 1;
		}
	}
	ok = rival_end();
	printf("seed %llu: %u sessions, %u refused, %u closed by the target, %u queues joined; ",
	       (unsigned long long)seed, tally.sessions, tally.refused, tally.closed,
	       tally.joined);
	printf("%u frames, %u mutated, %u replies, %u sessions without a violation\n",
	       tally.frames, tally.mutated, tally.answered, tally.whole);
	complete = kinds_complete(true, true);
	return !(ok && complete && tally.closed && tally.answered && tally.whole);
}
