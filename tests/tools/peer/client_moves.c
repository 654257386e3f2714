// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves (random actions) of a client session with random traffic, and the state of the session:
 * pool, tags and connections.
 *
 * Operation: each move is valid in the state of the session, except those that break a rule on
 * purpose. Each move has its own seed, from which it derives all its choices. So the choices of
 * later moves stay the same even if the actions of the target change how many random numbers a move
 * draws.
 * Ownership: a session has up to FURTHER connections besides the first one.
 * Concurrency: one thread.
 * Errors: a message that the target must not send fails the run. The end of the session by the
 * target does not.
 */
#include <string.h>

#include "client.h"

#define QUIET_MS	100	/* longest wait for replies before a release */
#define KINDS		64	/* number of kinds of moves */

static struct conn *conn_of(struct player *p, uint32_t i)
{
	return i ? &p->more[i - 1] : &p->l.c;
}

/* Log in with an elastic pool or one of fixed size, and attach. */
bool player_login(struct player *p, struct rng *rng)
{
	bool elastic = rng_below(rng, 3), ask = rng_below(rng, 2);
	struct lease *lease = &p->l;
	struct rnbd_ctl_login l;
	bool ok;

	if (elastic)
		lease_fill(&l);
	else
		login_fill(&l);
	l.nr_queues = htole16(1 + rng_below(rng, 1 + FURTHER));
	l.queue_depth = htole16(rng_below(rng, 2) ? 64 : RNBD_DEPTH_FIRST);
	ok = login(&lease->c, &l, LOGIN_MS) && attach(&lease->c, "hostile");
	if (lease->c.grant.r.nr_segments) {
		lease->slots = (1ull << le32toh(lease->c.grant.r.nr_segments)) - 1;
		lease->held = le32toh(lease->c.grant.r.pool_units);
	}
	if (ok && ask)
		slots_ask(&lease->c, lease->c.slots, le16toh(lease->c.grant.r.queue_depth));
	return ok;
}

/* Open the further connections that the login has granted. */
void player_join(struct player *p, struct rng *rng)
{
	const struct conn *first = &p->l.c;
	uint32_t i, wild = rng_below(rng, 8);
	uint8_t key[RNBD_MAC_SIZE];
	int status;

	for (i = 0; i + 1 < le16toh(first->grant.r.nr_queues) && i < FURTHER; i++) {
		struct conn *c = &p->more[i];
		struct request req = first->req;

		memcpy(key, first->grant.r.join_key, sizeof(key));
		/* the target must refuse a connection with a wrong key, and only that connection */
		if (i == wild)
			key[0] ^= 1;
		request_conn(&req, i + 1, i + 1);
		status = conn_open(c, &req);
		if (!status)
			status = join(c, &req, key);
		if (status) {
			if (i != wild && !first->gone && status != RNBD_ST_BUSY &&
			    status != RNBD_ST_LIMIT)
				amiss("queue %u: status %d", i + 1, status);
			conn_close(c);
			return;
		}
		if (i == wild)
			amiss("a queue joined with a wrong key");
		p->nr_more++;
	}
}

/* Process an entry about the pool; ignore other entries. */
static void take_entry(struct player *p, const struct ctl *entry)
{
	struct rnbd_ctl_lease lease;

	switch (entry->type) {
	case RNBD_CTL_SEGMENT:
		lease_take(&p->l, entry);
		break;
	case RNBD_CTL_RECLAIM:
	case RNBD_CTL_RELEASED:
		memcpy(&lease, entry->body, sizeof(lease));
		if (entry->type == RNBD_CTL_RELEASED)
			lease_take_released(&p->l, entry);
		else if (!lease_holds(&p->l, le32toh(lease.slot)))
			amiss("slot %u is reclaimed", le32toh(lease.slot));
		if (le32toh(lease.slot) >= MAX_SEGMENTS)
			return;
		p->reclaimed &= ~(1ull << le32toh(lease.slot));
		if (entry->type == RNBD_CTL_RELEASED)
			p->released &= ~(1ull << le32toh(lease.slot));
		else
			p->reclaimed |= 1ull << le32toh(lease.slot);
		break;
	}
}

static void take_replies(struct player *p, uint32_t i, const uint8_t *frame)
{
	struct rnbd_frame_hdr hdr;
	struct rnbd_reply_entry reply;
	uint32_t nr;

	memcpy(&hdr, frame, sizeof(hdr));
	for (nr = 0; nr < le16toh(hdr.nr_entries); nr++) {
		memcpy(&reply, frame + HDR_BYTES + nr * sizeof(reply), sizeof(reply));
		if (le16toh(reply.tag) < RANDOM_TAGS)
			p->busy[i] &= ~(1u << le16toh(reply.tag));
	}
}

static void take_frames(struct player *p, uint32_t i, uint32_t ms)
{
	struct conn *c = conn_of(p, i);
	const uint8_t *frame;
	struct ctl entry;
	uint32_t len;

	while ((frame = conn_receive(c, 0, &len, ms))) {
		p->answers++;
		ms = 1;
		if (frame[0] == RNBD_FRAME_REPLY)
			take_replies(p, i, frame);
		if (frame[0] != RNBD_FRAME_CONTROL)
			continue;
		ctl_take(c, frame, len);
		while (ctl_left(c, &entry)) {
			if (entry.type == RNBD_CTL_QUERY_REPLY)
				p->queried &= ~(1u << i);
			else if (!i)
				take_entry(p, &entry);
		}
	}
}

/*
 * Process received frames; wait up to @ms for the first one. Return false if the session has ended.
 */
bool player_drain(struct player *p, uint32_t ms)
{
	uint32_t i;

	for (i = 0; i <= p->nr_more; i++)
		take_frames(p, i, i ? 0 : ms);
	return !p->l.c.gone;
}

static bool any_busy(const struct player *p)
{
	uint32_t i;

	for (i = 0; i <= p->nr_more; i++)
		if (p->busy[i])
			return true;
	return false;
}

/*
 * Build a frame that releases a segment, preferably a reclaimed one. Return false if requests stay
 * in flight, or if the session has no segment to release.
 */
static bool add_release(struct player *p, struct frame *f, uint32_t nr)
{
	uint64_t end = deadline(QUIET_MS), slots;
	uint32_t slot;

	while (any_busy(p) && now_ms() < end && player_drain(p, 1))
		;
	slots = p->l.slots & p->reclaimed & ~p->released ?: p->l.slots & ~p->released;
	if (any_busy(p) || !slots)
		return false;
	for (nr %= __builtin_popcountll(slots); nr; nr--)
		slots &= slots - 1;
	slot = __builtin_ctzll(slots);
	p->released |= 1ull << slot;
	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	lease_release_add(&p->l, f, slot);
	return true;
}

/* Release a segment. Return false if none can be released now. */
bool player_release(struct player *p, uint32_t nr)
{
	struct frame f;

	return add_release(p, &f, nr) && frame_send(&p->l.c, &f);
}

/*
 * Choose a segment for requests, and get its first unit and its size. Return false if there is
 * none.
 */
static bool pick_segment(const struct player *p, struct rng *rng, uint32_t *unit, uint32_t *units)
{
	uint64_t slots = p->l.slots & ~p->released;
	uint32_t nr = rng_next(rng);

	if (!slots)
		return false;
	for (nr %= __builtin_popcountll(slots); nr; nr--)
		slots &= slots - 1;
	*unit = lease_unit(&p->l, __builtin_ctzll(slots));
	*units = le32toh(p->l.c.grant.seg[__builtin_ctzll(slots)].units);
	return true;
}

static bool build_request(struct player *p, struct rng *rng, struct frame *f, uint32_t conn)
{
	static const uint8_t ops[] = {
		RNBD_OP_READ, RNBD_OP_READ, RNBD_OP_WRITE, RNBD_OP_WRITE, RNBD_OP_FLUSH,
		RNBD_OP_DISCARD, RNBD_OP_WRITE_ZEROES,
	};
	const struct grant *g = &p->l.c.grant;
	uint32_t block = le32toh(g->a.logical_block) ?: 512, unit = 0, units = 1;
	uint32_t entries = 1 + rng_below(rng, 4), i, data = 0;
	uint64_t blocks = le64toh(g->a.capacity) / block;
	bool strange = !rng_below(rng, 64) && !p->tame;

	if (!pick_segment(p, rng, &unit, &units) && !strange)
		return false;
	if (blocks < 256)
		blocks = 256;
	frame_begin(f, RNBD_FRAME_REQUEST, entries);
	for (i = 0; i < entries; i++) {
		uint8_t op = ops[rng_below(rng, ARRAY_SIZE(ops))], flags = 0;
		uint32_t length = (1 + rng_below(rng, 64)) * block;
		uint64_t offset = (rng_next(rng) % (blocks - 128)) * block;
		struct rnbd_req_entry entry;
		uint16_t tag, free_tags = ~p->busy[conn];

		/* a strange frame can use a tag in use, or a handle that does not exist */
		if (strange) {
			p->wild = true;
			tag = rng_below(rng, RANDOM_TAGS + 2);
		} else if (free_tags) {
			tag = __builtin_ctz(free_tags);
		} else {
			break;
		}
		if (op <= RNBD_OP_WRITE && !rng_below(rng, 3)) {
			flags = RNBD_REQ_INLINE;
			length = block > 1024 ? block : 512;
		}
		if (op == RNBD_OP_FLUSH) {
			length = 0;
			offset = 0;
		}
		entry = req_entry(op, flags, tag, offset, length,
				  unit + rng_below(rng, units > 64 ? units - 64 : 1));
		if (strange && rng_below(rng, 2)) {
			entry.index = htole16(rng_below(rng, 3));
			entry.generation = htole32(1 + rng_below(rng, 4));
		}
		memcpy(frame_add(f, sizeof(entry)), &entry, sizeof(entry));
		if (tag < RANDOM_TAGS)
			p->busy[conn] |= 1u << tag;
		if (op == RNBD_OP_WRITE && flags)
			data += length;
	}
	f->b[2] = i;	/* nr_entries */
	if (data) {
		frame_add(f, data);
		f->b[1] = RNBD_FRAME_DATA;
	}
	return i;
}

/*
 * Build a frame with one to three entries, ATTACH or DETACH, for two exports. Some DETACHs have a
 * handle that never existed.
 */
static void build_attach(struct player *p, struct rng *rng, struct frame *f)
{
	uint32_t nr = 1 + rng_below(rng, 3);

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	while (nr--) {
		uint16_t index = rng_below(rng, 3);
		uint32_t generation = 1 + rng_below(rng, 4);

		if (rng_below(rng, 3)) {
			struct rnbd_ctl_attach a = attach_entry(index, generation,
								index ? "fixed" : "hostile");

			attach_add(f, &a, ++p->l.c.ctl_id);
		} else {
			detach_add(f, index, generation, ++p->l.c.ctl_id);
		}
	}
}

static void build_want(struct player *p, struct rng *rng, struct frame *f)
{
	uint32_t most = le32toh(p->l.c.grant.r.max_units);
	struct rnbd_ctl_want w = { .units = htole32(rng_below(rng, most + 1)) };

	if (rng_below(rng, 2))
		w.units = htole32(most);
	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_WANT, 0, sizeof(w)), &w, sizeof(w));
}

static void build_query(struct rng *rng, struct frame *f, struct conn *c)
{
	struct rnbd_ctl_query q = { .tag = htole16(rng_below(rng, RANDOM_TAGS)) };

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_QUERY, ++c->ctl_id, sizeof(q)), &q, sizeof(q));
}

static void build_slots(struct frame *f, uint16_t type, uint32_t slots, uint32_t depth)
{
	struct rnbd_ctl_slots s = { .slots = htole16(slots), .depth = htole16(depth) };

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, type, 0, sizeof(s)), &s, sizeof(s));
}

/* Send SLOTS with random numbers. Do nothing if the last SLOTS has no reply, or credits are few. */
static bool ask_slots(struct rng *rng, struct conn *c, const struct grant *g)
{
	uint32_t least = c->peer_slots - (c->credits > 2 ? c->credits - 2 : 0);
	uint32_t slots = RNBD_RING_SLOTS_MIN + rng_below(rng, c->slots - RNBD_RING_SLOTS_MIN + 1);
	uint32_t depth = RNBD_DEPTH_FIRST;

	if (le16toh(g->r.queue_depth) > depth)
		depth += rng_below(rng, le16toh(g->r.queue_depth) - depth + 1);
	if (c->asked_slots || c->credits <= 2)
		return false;
	slots_begin(c, slots > least ? slots : least, depth);
	return true;
}

/* Build an entry of any type with any body, regardless of the state of the session. */
static void build_stray(struct rng *rng, struct frame *f)
{
	uint32_t bytes = rng_below(rng, 14) * RNBD_CTL_ALIGN, i;
	uint8_t *body;

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	body = ctl_add(f, 1 + rng_below(rng, RNBD_CTL_SLOTS_REPLY + 1), rng_next(rng), bytes);
	for (i = rng_below(rng, 2) ? 0 : bytes; i < bytes; i++)
		body[i] = rng_below(rng, 4);
}

static void move_rdma(struct player *p, struct rng *rng, struct conn *c, uint32_t kind)
{
	uint32_t unit, units, rkey;
	uint64_t remote;

	if (!pick_segment(p, rng, &unit, &units))
		return;
	remote = unit_address(&p->l.c, unit + rng_below(rng, units), &rkey);
	p->wild |= !kind;
	conn_rdma(c, kind < 3 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 0, 4096,
		  remote + (kind ? 0 : rng_next(rng)), rkey);
	conn_rdma_wait(c, 5000);
}

/*
 * Make a move that @seed determines. If @wild, mutate its frame (a move by RDMA has none). Return
 * false if there was no move.
 */
bool player_move(struct player *p, uint64_t seed, bool wild)
{
	enum ibv_wr_opcode opcode = IBV_WR_SEND;
	uint32_t kind, conn;
	struct conn *c;
	struct frame f;
	struct rng rng;

	rng_seed(&rng, seed, 0);
	kind = rng_below(&rng, KINDS);
	conn = rng_below(&rng, 1 + p->nr_more);
	if (p->tame && (!kind || kind == 6 || kind == 7 || kind == 29))
		kind = KINDS - 1;
	/* entries about the session must be sent on the first connection */
	if (kind >= 10 && kind < 22)
		conn = 0;
	c = conn_of(p, conn);
	if (c->gone || c->credits <= 1)
		return false;
	if (kind < 6) {
		move_rdma(p, &rng, c, kind);
		return true;
	}
	if (kind < 10) {
		frame_begin(&f, RNBD_FRAME_CREDIT, 0);
		if (kind < 8)
			opcode = kind == 6 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND_WITH_INV;
		p->wild |= kind < 8;
	} else if (kind < 14) {
		build_attach(p, &rng, &f);
	} else if (kind < 18) {
		build_want(p, &rng, &f);
	} else if (kind < 22) {
		if (!add_release(p, &f, rng_next(&rng)))
			return false;
	} else if (kind < 26) {
		if (!wild)
			return ask_slots(&rng, c, &p->l.c.grant);
		build_slots(&f, RNBD_CTL_SLOTS, c->slots, RNBD_DEPTH_FIRST);
	} else if (kind < 29) {
		/* a second QUERY before the reply to the first breaks a rule */
		if (p->tame && p->queried & 1u << conn)
			return false;
		p->queried |= 1u << conn;
		build_query(&rng, &f, c);
	} else if (kind == 29 && rng_below(&rng, 2)) {
		/* most of these frames break a rule */
		p->wild = true;
		c->lax = true;
		if (rng_below(&rng, 3))
			build_stray(&rng, &f);
		else
			build_slots(&f, RNBD_CTL_SLOTS_REPLY, c->granted, 0);
	} else if (!build_request(p, &rng, &f, conn)) {
		return false;
	}
	frame_seal(c, &f);
	if (wild) {
		rng_mutate(&rng, f.b, &f.len, SLOT_SIZE);
		p->wild = true;
		c->lax = true;
	}
	conn_post(c, f.b, f.len, opcode, rng_next(&rng));
	return true;
}

/* Close the connections; send the target a disconnect message only if @politely is set. */
void player_part(struct player *p, bool politely)
{
	uint32_t i;

	for (i = 0; i <= FURTHER; i++) {
		if (politely)
			conn_close(conn_of(p, FURTHER - i));
		else
			conn_drop(conn_of(p, FURTHER - i));
	}
}
