// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client whose traffic is valid except for some mutations.
 *
 * Operation: all choices of a session are made by its own numbers and by nothing that the
 * target does, so that --from K repeats session K alone.
 * Ownership, Concurrency, Errors: as in client.c.
 */
#include <string.h>

#include "client.h"

struct tally {
	uint32_t sessions, frames, mutated, refused, closed, answered;
};

static void build_request(struct rng *rng, struct frame *f, const struct grant *g, uint32_t nr)
{
	static const uint8_t ops[] = {
		RNBD_OP_READ, RNBD_OP_READ, RNBD_OP_WRITE, RNBD_OP_WRITE, RNBD_OP_FLUSH,
		RNBD_OP_DISCARD, RNBD_OP_WRITE_ZEROES,
	};
	uint32_t units = le32toh(g->r.pool_units) ?: 1, block = le32toh(g->a.logical_block) ?: 512;
	uint32_t entries = 1 + rng_below(rng, 4), i, data = 0;
	uint64_t blocks = le64toh(g->a.capacity) / block;

	if (blocks < 256)
		blocks = 256;
	frame_begin(f, RNBD_FRAME_REQUEST, entries);
	for (i = 0; i < entries; i++) {
		uint8_t op = ops[rng_below(rng, ARRAY_SIZE(ops))], flags = 0;
		uint32_t length = (1 + rng_below(rng, 64)) * block;
		uint64_t offset = (rng_next(rng) % (blocks - 128)) * block;
		struct rnbd_req_entry entry;

		if (op <= RNBD_OP_WRITE && !rng_below(rng, 3)) {
			flags = RNBD_REQ_INLINE;
			length = block > 1024 ? block : 512;
		}
		if (op == RNBD_OP_FLUSH) {
			length = 0;
			offset = 0;
		}
		entry = req_entry(op, flags, (nr + i) % 16, offset, length,
				  rng_below(rng, units > 64 ? units - 64 : 1));
		memcpy(frame_add(f, sizeof(entry)), &entry, sizeof(entry));
		if (op == RNBD_OP_WRITE && flags)
			data += length;
	}
	if (data) {
		frame_add(f, data);
		f->b[1] = RNBD_FRAME_DATA;
	}
}

/* Attachments come and go: of two exports, mostly lawful, and some handles are nobody's. */
static void build_control(struct rng *rng, struct frame *f, uint32_t nr)
{
	uint32_t entries = 1 + rng_below(rng, 3), i;

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	for (i = 0; i < entries; i++) {
		uint16_t index = rng_below(rng, 3);
		uint32_t generation = 1 + rng_below(rng, 4), id = 1000 + nr + i;

		if (rng_below(rng, 3)) {
			struct rnbd_ctl_attach a = attach_entry(index, generation,
								index ? "fixed" : "hostile");

			attach_add(f, &a, id);
		} else {
			detach_add(f, index, generation, id);
		}
	}
}

/* Take what comes until it is quiet for a moment, or for long if an answer is due. */
static bool drain(struct conn *c, struct tally *tally, uint32_t ms)
{
	const uint8_t *frame;
	uint32_t len;

	while ((frame = conn_receive(c, 0, &len, ms))) {
		tally->answered++;
		ms = 1;
	}
	return !c->gone;
}

static void random_session(struct rng *rng, struct tally *tally)
{
	bool wild_request = !rng_below(rng, 10), wild_login = !rng_below(rng, 6);
	bool wild_attach = !rng_below(rng, 6), list;
	uint32_t frames = rng_below(rng, 24), wild = 1 + rng_below(rng, 8), i, len;
	struct rnbd_ctl_login l;
	struct request req;
	struct frame f;
	struct conn c;

	request_init(&req, 2 + rng_below(rng, 2), SLOTS, SLOT_SIZE);
	for (i = 0; i < 16; i++)
		req.cm.session_id[i] = rng_next(rng);
	if (wild_request) {
		len = req.len;
		rng_mutate(rng, (uint8_t *)&req.cm, &len, sizeof(req.cm));
		req.len = len;
	}
	tally->sessions++;
	if (conn_open(&c, &req)) {
		tally->refused++;
		if (!wild_request && c.status != RNBD_ST_LIMIT && c.status != RNBD_ST_BUSY)
			amiss("a lawful connection request: status %d", c.status);
		conn_close(&c);
		return;
	}
	login_fill(&l);
	list = !rng_below(rng, 8);
	if (wild_login || wild_request || list) {
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		if (list)
			ctl_add(&f, RNBD_CTL_LIST, BUILD_ID, 0);
		else
			memcpy(ctl_add(&f, RNBD_CTL_LOGIN, BUILD_ID, sizeof(l)), &l, sizeof(l));
		frame_seal(&c, &f);
		if (wild_login)
			rng_mutate(rng, f.b, &f.len, SLOT_SIZE);
		conn_post(&c, f.b, f.len, IBV_WR_SEND, 0);
		drain(&c, tally, 50);
	} else if (wild_attach && login(&c, &l, LOGIN_MS)) {
		build_control(rng, &f, 0);
		frame_seal(&c, &f);
		rng_mutate(rng, f.b, &f.len, SLOT_SIZE);
		tally->mutated++;
		conn_post(&c, f.b, f.len, IBV_WR_SEND, 0);
		drain(&c, tally, 50);
	} else if (wild_attach || !session_login(&c, &l, "hostile")) {
		/* What a host still has there may stand in its own way. */
		if (c.grant.status != RNBD_ST_BUSY && c.grant.status != RNBD_ST_ATTACHED &&
		    c.grant.status != RNBD_ST_POOL_FULL && c.grant.status != RNBD_ST_LIMIT)
			amiss("a lawful login, or ATTACH: status %u", c.grant.status);
	}
	for (i = 0; i < frames && !c.gone && c.credits > 1; i++) {
		enum ibv_wr_opcode opcode = IBV_WR_SEND;
		uint32_t kind = rng_below(rng, 40), unit, rkey;
		uint64_t remote;

		if (c.grant.r.pool_units && kind < 6) {
			unit = rng_below(rng, le32toh(c.grant.r.pool_units));
			remote = unit_address(&c, unit, &rkey);
			conn_rdma(&c, kind < 3 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 0, 4096,
				  remote + (kind ? 0 : rng_next(rng)), rkey);
			conn_rdma_wait(&c, 5000);
			continue;
		}
		if (kind == 6)
			opcode = IBV_WR_SEND_WITH_IMM;
		else if (kind == 7)
			opcode = IBV_WR_SEND_WITH_INV;
		if (kind < 12)
			frame_begin(&f, RNBD_FRAME_CREDIT, 0);
		else if (kind < 16)
			build_control(rng, &f, i * 4);
		else
			build_request(rng, &f, &c.grant, i * 4);
		frame_seal(&c, &f);
		if (!rng_below(rng, wild)) {
			rng_mutate(rng, f.b, &f.len, SLOT_SIZE);
			tally->mutated++;
		}
		conn_post(&c, f.b, f.len, opcode, rng_next(rng));
		tally->frames++;
		drain(&c, tally, rng_below(rng, 4) ? 20 : 0);
	}
	tally->closed += c.gone;
	if (rng_below(rng, 2))
		conn_close(&c);
	else
		conn_drop(&c);
}

int client_random(uint64_t seed, uint64_t from, uint32_t seconds)
{
	uint64_t end = now_ms() + seconds * 1000ull, nr, began = now_ms();
	struct tally tally = { };
	struct rng rng;

	for (nr = from; now_ms() < end; nr++) {
		rng_seed(&rng, seed, nr);
		random_session(&rng, &tally);
		if (amiss_so_far()) {
			printf("again: rnbd-peer client --seed %llu --from %llu\n",
			       (unsigned long long)seed, (unsigned long long)nr);
			judge("random", false, began);
			return 1;
		}
	}
	printf("seed %llu: %u sessions, %u refused, %u closed by the target; ",
	       (unsigned long long)seed, tally.sessions, tally.refused, tally.closed);
	printf("%u frames, %u mutated, %u answers\n", tally.frames, tally.mutated, tally.answered);
	return !(tally.closed && tally.answered);
}
