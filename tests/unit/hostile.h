/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile messages, and what must hold of those that a decoder accepts.
 *
 * Operation: build() makes a valid message of a kind in a world, which is what both
 * ends have agreed about; change() spoils it. take() gives it to the decoder. Whatever is
 * accepted must lie within the limits, as checked here by other code than
 * the decoder's, and must be what our own encoder would have sent, byte for
 * byte; whatever is refused must leave no trace.
 *
 * One program includes it and brings the assertions, which it may not survive:
 * assert_true(), assert_false(), assert_null(), assert_int_equal(),
 * assert_int_not_equal(), assert_in_range(), assert_ptr_equal(),
 * assert_memory_equal(), fail(), fail_msg(). It may define hostile_original(at),
 * where to find a byte of the message that may not be read there any more, and
 * hostile_forbid(at, bytes), called for what no decoder has to look at.
 */
#ifndef RNBD_HOSTILE_H
#define RNBD_HOSTILE_H

#include "pool.h"
#include "random.h"

#ifndef hostile_original
#define hostile_original(at)		(at)
#endif
#ifndef hostile_forbid
#define hostile_forbid(at, bytes)	((void)(at), (void)(bytes))
#endif

#define FRAME_MAX	32768
#define INLINE_MAX	4096

enum kind {
	KIND_REQUEST, KIND_REPLY, KIND_LOGIN, KIND_GRANT, KIND_CREDIT, KIND_RESIZE,
	KIND_DISCOVER, KIND_CHALLENGE, KIND_PROOF, KIND_CM_REQ, KIND_CM_REP,
	KIND_CM_REJ, NR_KINDS,
};

/* What both ends have agreed about, drawn anew from time to time. */
struct world {
	struct rnbd_limits lim;
	struct rnbd_pool pool;
	struct rnbd_conn_req conn;
	struct rnbd_login_info asked;
	u32 room;
	bool is_target;	/* takes proofs of clients */
	u16 slots;
	u32 seq;
	u32 epoch;
};

static struct unit_random rnd;
static struct world world;
static u64 requests_accepted, extents_accepted, segments_accepted;
static u64 inline_accepted, exports_accepted, lists_asked;

static u32 below(u32 n)
{
	return unit_random_below(&rnd, n);
}

static bool one_in(u32 n)
{
	return below(n) == 0;
}

static void draw_bytes(void *bytes, u32 len)
{
	u8 *p = bytes;

	while (len--)
		*p++ = below(256);
}

static u64 draw_number(void)
{
	static const u64 numbers[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff,
		0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffff000,
		0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xfffffffffffff000, 0xffffffffffffffff,
	};

	switch (below(4)) {
	case 0:
		return unit_random64(&rnd);
	case 1:
		return below(64);
	case 2:
		return 1ull << below(64);
	default:
		return numbers[below(ARRAY_SIZE(numbers))];
	}
}

/* Some of the pool is in use, so that extents are in pieces. */
static void draw_pool(void)
{
	const struct rnbd_limits *lim = &world.lim;
	struct rnbd_run runs[RNBD_EXTENTS_MAX];
	u32 i;

	rnbd_pool_exit(&world.pool);
	assert_int_equal(rnbd_pool_init(&world.pool, 0, lim->pool_units,
					lim->segment_units), 0);
	if (one_in(2))
		return;
	for (i = 0; i < min(lim->pool_units, 20000u); i++) {
		if (rnbd_pool_alloc(&world.pool, 1, runs, 1) != 1)
			break;
		if (one_in(2))
			i++;
	}
	for (i = 0; i < world.pool.used; i += 1 + below(4)) {
		runs[0] = (struct rnbd_run) { i, 1 };
		rnbd_pool_free(&world.pool, runs, 1);
	}
}

/* What no decoder compares anything with. */
static void draw_identities(void)
{
	u32 i;

	world.conn.queue = below(RNBD_QUEUES_MAX);
	draw_bytes(world.conn.host_id, 16);
	draw_bytes(world.conn.session_id, 16);
	memset(world.asked.export, 0, sizeof(world.asked.export));
	for (i = 0; i < 1 + below(63); i++)
		world.asked.export[i] = "abzAZ059_:-."[below(i ? 12 : 11)];
	draw_bytes(world.asked.boot_id, 16);
	world.asked.pool_bytes = 4096 + unit_random64(&rnd) / 2;
	world.asked.flags = below(2);
	world.asked.keepalive_ms = 100 + below(59901);
}

static void draw_world(void)
{
	struct rnbd_limits *lim = &world.lim;
	u32 block = 512u << below(4);

	lim->block_mask = block - 1;
	switch (below(3)) {
	case 0: /* as large as can be */
		lim->capacity = (U64_MAX / 2) & ~(u64)lim->block_mask;
		break;
	case 1:
		lim->capacity = block * (1ull + below(64));
		break;
	default:
		lim->capacity = (u64)block * (1 + below(1u << 31));
	}
	lim->max_io = 4096 * (1 + below(one_in(4) ? 4096 : 64));
	lim->max_discard = one_in(3) ? 0 : ~0u & ~lim->block_mask;
	lim->max_write_zeroes = one_in(3) ? 0 : block * (1 + below(1000));
	lim->pool_units = 1 + below(one_in(4) ? 20000 : 300);
	lim->segment_units = 1u << below(12);
	lim->depth = 1 + below(RNBD_DEPTH_MAX);
	lim->inline_read = one_in(2) ? 0 : 1 + below(INLINE_MAX);
	lim->inline_write = one_in(2) ? 0 : 1 + below(INLINE_MAX);

	draw_pool();

	world.conn.ring_slots = RNBD_RING_SLOTS_MIN +
		below(RNBD_RING_SLOTS_MAX - RNBD_RING_SLOTS_MIN + 1);
	world.conn.slot_size = RNBD_SLOT_SIZE_MIN + 64 * below(1009);
	world.conn.epoch = 1 + below(1000);
	world.room = one_in(4) ? below(8) : RNBD_EXPORTS_MAX;
	world.is_target = one_in(2);
	world.slots = world.conn.ring_slots;
	world.seq = unit_random64(&rnd);
	world.epoch = world.conn.epoch;

	memset(&world.asked, 0, sizeof(world.asked));
	draw_identities();
	world.asked.features = unit_random64(&rnd);
	world.asked.fence_generation = below(2) ? draw_number() : 0;
	world.asked.max_io = 4096 * (1 + below(4096));
	world.asked.nr_queues = 1 + below(RNBD_QUEUES_MAX);
	world.asked.queue_depth = 1 + below(RNBD_DEPTH_MAX);
	if (world.asked.features & RNBD_FEATURE_INLINE) {
		world.asked.inline_read = draw_number();
		world.asked.inline_write = draw_number();
	}
}

/* ------------------------------------------------------------------------
 * Valid messages
 */

static void draw_request(struct rnbd_request *req)
{
	const struct rnbd_limits *lim = &world.lim;
	u32 block = lim->block_mask + 1, max = 0;
	int nr_runs;

	memset(req, 0, sizeof(*req));
	req->tag = below(lim->depth);
	req->op = RNBD_OP_READ + below(5);
	switch (req->op) {
	case RNBD_OP_DISCARD:
		max = lim->max_discard;
		break;
	case RNBD_OP_WRITE_ZEROES:
		max = lim->max_write_zeroes;
		req->flags = below(4);
		break;
	case RNBD_OP_WRITE:
		req->flags = below(2);
		max = lim->max_io;
		if (lim->inline_write && one_in(2)) {
			req->flags |= RNBD_REQ_INLINE;
			max = lim->inline_write;
		}
		break;
	case RNBD_OP_READ:
		max = lim->max_io;
		if (lim->inline_read && one_in(2)) {
			req->flags |= RNBD_REQ_INLINE;
			max = lim->inline_read;
		}
		break;
	}
	max = min((u64)max, lim->capacity) / block;
	if (!max) {
		*req = (struct rnbd_request) {
			.op = RNBD_OP_FLUSH, .tag = req->tag,
		};
		return;
	}
	req->length = block * (1 + below(one_in(2) ? max : min(max, 40u)));
	req->offset = unit_random64(&rnd) %
		((lim->capacity - req->length) / block + 1) * block;
	if (req->op != RNBD_OP_READ && req->op != RNBD_OP_WRITE)
		return;
	nr_runs = rnbd_pool_alloc(&world.pool, DIV_ROUND_UP(req->length, 4096),
				  req->runs, RNBD_EXTENTS_MAX);
	if (nr_runs < 0) {
		*req = (struct rnbd_request) {
			.op = RNBD_OP_FLUSH, .tag = req->tag,
		};
		return;
	}
	req->nr_runs = nr_runs;
	rnbd_pool_free(&world.pool, req->runs, nr_runs);
}

/* A grant that suits what was asked for; few enough segments. */
static void draw_grant(struct rnbd_grant *grant)
{
	const struct rnbd_login_info *asked = &world.asked;
	u32 block = 512u << below(4), units;

	memset(grant, 0, sizeof(*grant));
	if (one_in(8)) {
		grant->status = one_in(2) ? 1 + below(9) : 32 + below(14);
		return;
	}
	grant->nr_queues = 1 + below(min(asked->nr_queues, 8));
	grant->queue_depth = 1 + below(asked->queue_depth);
	grant->features = asked->features & unit_random64(&rnd);
	grant->capacity = (1 + unit_random64(&rnd) % (1ull << 50)) * block;
	grant->flags = below(16);
	if (grant->flags & RNBD_EXPORT_VOLATILE_CACHE)
		grant->flags |= RNBD_EXPORT_FUA;
	grant->logical_block = block;
	grant->physical_block = block << below(8);
	grant->io_min = block * (1 + below(100));
	grant->io_opt = block * below(100);
	grant->discard_granularity = block * below(100);
	grant->discard_alignment = block * below(3);
	grant->max_discard = block * below(1u << 19);
	if (!grant->discard_granularity ||
	    grant->max_discard < max(grant->discard_granularity, grant->physical_block))
		grant->max_discard = 0;
	grant->max_write_zeroes = block * below(1u << 19);
	grant->segment_units = 16u << below(8);
	units = 1 + below(min(asked->max_io / 4096, 16 * grant->segment_units));
	grant->max_io = units * 4096;
	grant->pool_units = units * grant->nr_queues + below(1000);
	grant->nr_segments = (grant->pool_units + grant->segment_units - 1) /
			     grant->segment_units;
	grant->keepalive_ms = 100 + below(59901);
	draw_bytes(grant->incarnation, 16);
	draw_bytes(grant->export_uuid, 16);
	if (grant->features & RNBD_FEATURE_INLINE) {
		grant->inline_read = draw_number();
		grant->inline_read = min(grant->inline_read, asked->inline_read);
		grant->inline_write = draw_number();
		grant->inline_write = min(grant->inline_write, asked->inline_write);
	}
	grant->fence_generation = asked->fence_generation ?: 1 + below(1u << 31);
}

static void build_exports(u8 *at, u32 nr)
{
	for (; nr; nr--, at += 112) {
		u32 block = 512u << below(4), i;
		struct rnbd_export_info info = {
			.capacity = (1 + unit_random64(&rnd) % (1ull << 50)) * block,
			.logical_block = block,
			.flags = below(2),
		};

		for (i = 0; i < 1 + below(63); i++)
			info.name[i] = "abzAZ059_:-."[below(i ? 12 : 11)];
		draw_bytes(info.uuid, 16);
		rnbd_encode_export((void *)at, &info);
	}
}

static void build_segments(u8 *at, const struct rnbd_grant *grant)
{
	u32 i, left = grant->pool_units;

	for (i = 0; i < grant->nr_segments; i++, at += 16) {
		struct rnbd_segment_info seg = {
			.addr = unit_random64(&rnd) >> 1,
			.rkey = unit_random64(&rnd),
			.units = min(left, grant->segment_units),
		};

		rnbd_encode_segment((void *)at, &seg);
		left -= seg.units;
	}
}

/* A valid message of @kind at @buf. Returns its length. */
static u32 build(enum kind kind, u8 *buf)
{
	u16 credits = below(world.slots + 1);
	u32 i, entries, n = 1 + below(4), data = 0;
	u8 *at = buf + 16;

	switch (kind) {
	case KIND_REQUEST:
		entries = 0;
		for (i = 0; i < n; i++) {
			struct rnbd_request req;

			draw_request(&req);
			rnbd_encode_request((void *)(at + 32 * entries), &req);
			entries += rnbd_request_entries(req.nr_runs);
			if (req.op == RNBD_OP_WRITE && req.flags & RNBD_REQ_INLINE)
				data += req.length;
		}
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_REQUEST,
				      data ? RNBD_FRAME_DATA : 0, entries,
				      credits, world.seq, world.epoch);
		memset(at + 32 * entries, 0xda, data);
		return 16 + 32 * entries + data;
	case KIND_REPLY:
		for (i = 0; i < n; i++) {
			struct rnbd_reply reply = {
				.tag = below(world.lim.depth),
				.status = one_in(2) ? 0 : 1 + below(9),
			};

			if (reply.status == RNBD_ST_OK)
				reply.length = unit_random64(&rnd);
			if (reply.status == RNBD_ST_OK && one_in(3)) {
				reply.is_inline = true;
				reply.length = 1 + below(INLINE_MAX);
				data += reply.length;
			}
			rnbd_encode_reply((void *)(at + 16 * i), &reply);
		}
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_REPLY,
				      data ? RNBD_FRAME_DATA : 0, n, credits,
				      world.seq, world.epoch);
		memset(at + 16 * n, 0xda, data);
		return 16 + 16 * n + data;
	case KIND_LOGIN:
		if (one_in(4)) {
			const struct rnbd_login_info list = {
				.flags = RNBD_LOGIN_DISCOVER,
			};

			rnbd_encode_login((void *)at, &list);
		} else {
			rnbd_encode_login((void *)at, &world.asked);
		}
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_LOGIN, 0, 1, credits,
				      world.seq, world.epoch);
		return 16 + 128;
	case KIND_GRANT: {
		struct rnbd_grant grant;

		draw_grant(&grant);
		rnbd_encode_grant((void *)at, &grant);
		build_segments(at + 128, &grant);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_LOGIN_REPLY, 0,
				      1 + grant.nr_segments, credits,
				      world.seq, world.epoch);
		return 16 + 128 + 16 * grant.nr_segments;
	}
	case KIND_DISCOVER:
		if (one_in(8))
			n = 0;
		n = min(n, world.room);
		if (one_in(8)) {
			n = 0;
			rnbd_encode_discover_reply((void *)at, 32 + below(14), false);
		} else {
			rnbd_encode_discover_reply((void *)at, RNBD_ST_OK,
						   n && one_in(2));
		}
		build_exports(at + 16, n);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_DISCOVER_REPLY, 0, 1 + n,
				      credits, world.seq, world.epoch);
		return 16 + 16 + 112 * n;
	case KIND_CHALLENGE: {
		u8 nonce[32];

		draw_bytes(nonce, sizeof(nonce));
		rnbd_encode_challenge((void *)at, nonce);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_CHALLENGE, 0, 1, credits,
				      world.seq, world.epoch);
		return 16 + 64;
	}
	case KIND_PROOF: {
		u8 nonce[32], mac[32];

		draw_bytes(nonce, sizeof(nonce));
		draw_bytes(mac, sizeof(mac));
		rnbd_encode_proof((void *)at, world.is_target ? nonce : NULL, mac);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_PROOF, 0, 1, credits,
				      world.seq, world.epoch);
		return 16 + 64;
	}
	case KIND_CREDIT:
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_CREDIT, 0, 0,
				      credits, world.seq, world.epoch);
		return 16;
	case KIND_RESIZE:
		rnbd_encode_resize((void *)at, world.lim.capacity);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_RESIZE, 0, 1, credits,
				      world.seq, world.epoch);
		return 16 + 16;
	case KIND_CM_REQ:
		rnbd_encode_cm_req((void *)buf, &world.conn);
		return sizeof(struct rnbd_cm_req);
	case KIND_CM_REP:
		rnbd_encode_cm_rep((void *)buf, world.slots,
				   world.conn.slot_size, world.conn.epoch);
		return sizeof(struct rnbd_cm_rep);
	case KIND_CM_REJ:
		rnbd_encode_cm_rej((void *)buf, one_in(2) ? 1 + below(9) :
				   32 + below(14));
		return sizeof(struct rnbd_cm_rej);
	default:
		fail();
		return 0;
	}
}

/* ------------------------------------------------------------------------
 * Changes
 */

static u32 change(u8 *buf, u32 len, u32 spare)
{
	/* bytes of a field, and where in front of @len it may start */
	u32 bytes = 1u << below(4), at;

	/* mostly spare the header, or little else would be seen */
	if (len <= spare || one_in(8))
		spare = 0;
	if (len < 8)
		return len;
	at = spare + below(len - spare);
	at -= at % bytes;

	switch (below(12)) {
	case 0:
		return below(len);
	case 1:
		bytes = 1 + below(64);
		if (one_in(2))
			memset(buf + len, 0, bytes);
		else
			draw_bytes(buf + len, bytes);
		return len + bytes;
	case 2: /* say the same twice */
		memcpy(buf + at, buf + below(len - bytes + 1) / bytes * bytes,
		       bytes);
		return len;
	case 3:
	case 4:
	case 5:
		unit_put(buf + at, bytes, unit_get(buf + at, bytes) +
			 (one_in(2) ? 1 + below(4) : -(u64)(1 + below(4))));
		return len;
	case 6:
	case 7:
		buf[at] ^= 1u << below(8);
		return len;
	default:
		unit_put(buf + at, bytes, draw_number());
		return len;
	}
}

/* ------------------------------------------------------------------------
 * What must hold of anything accepted
 */

static bool is_zero(const void *bytes, size_t len)
{
	const u8 *p = bytes;

	while (len--)
		if (*p++)
			return false;
	return true;
}

static bool is_power(u64 n)
{
	u32 i;

	for (i = 0; i < 64; i++)
		if (n == 1ull << i)
			return true;
	return false;
}

static void check_request(const struct rnbd_request *req)
{
	const struct rnbd_limits *lim = &world.lim;
	u64 block = lim->block_mask + 1, units = 0;
	u32 i, j;

	assert_in_range(req->op, RNBD_OP_READ, RNBD_OP_WRITE_ZEROES);
	assert_true(req->tag < lim->depth);
	if (req->flags & RNBD_REQ_FUA)
		assert_true(req->op == RNBD_OP_WRITE ||
			    req->op == RNBD_OP_WRITE_ZEROES);
	if (req->flags & RNBD_REQ_NOUNMAP)
		assert_true(req->op == RNBD_OP_WRITE_ZEROES);
	if (req->flags & RNBD_REQ_INLINE)
		assert_true(req->op == RNBD_OP_WRITE || req->op == RNBD_OP_READ);
	assert_true(req->flags < 8);

	if (req->op == RNBD_OP_FLUSH) {
		assert_true(!req->length && !req->offset && !req->nr_runs);
	} else {
		u32 max = req->op == RNBD_OP_DISCARD ? lim->max_discard :
			req->op == RNBD_OP_WRITE_ZEROES ?
			lim->max_write_zeroes : lim->max_io;

		if (req->flags & RNBD_REQ_INLINE)
			max = req->op == RNBD_OP_READ ? lim->inline_read :
							lim->inline_write;

		assert_true(req->length > 0 && req->length <= max);
		assert_true(req->length % block == 0);
		assert_true(req->offset % block == 0);
		/* 128 bits do not wrap */
		assert_true((__uint128_t)req->offset + req->length <=
			    lim->capacity);
	}

	if (req->op == RNBD_OP_READ || req->op == RNBD_OP_WRITE) {
		assert_in_range(req->nr_runs, 1, RNBD_EXTENTS_MAX);
		for (i = 0; i < req->nr_runs; i++) {
			u64 first = req->runs[i].unit;
			u64 last = first + req->runs[i].units - 1;

			assert_true(req->runs[i].units > 0);
			assert_true(last < lim->pool_units);
			assert_true(first / lim->segment_units ==
				    last / lim->segment_units);
			for (j = 0; j < i; j++) {
				u64 other = req->runs[j].unit;

				assert_true(last < other || first >=
					    other + req->runs[j].units);
			}
			units += req->runs[i].units;
		}
		assert_true(units * 4096 >= req->length &&
			    units * 4096 < req->length + 4096ull);
		extents_accepted += req->nr_runs;
	} else {
		assert_int_equal(req->nr_runs, 0);
	}
}

static void check_grant(const struct rnbd_grant *grant)
{
	const struct rnbd_login_info *asked = &world.asked;
	u64 block = grant->logical_block;
	u64 share, pieces, i, most, start;

	if (grant->status != RNBD_ST_OK) {
		assert_true(is_zero((u8 *)grant + sizeof(grant->status),
				    sizeof(*grant) - sizeof(grant->status)));
		return;
	}
	assert_in_range(grant->nr_queues, 1, asked->nr_queues);
	assert_in_range(grant->queue_depth, 1, asked->queue_depth);
	assert_true((grant->features | asked->features) == asked->features);
	assert_true(grant->flags <= 0xf);
	assert_in_range(grant->keepalive_ms, 100, 60000);
	assert_true(is_power(block) && block >= 512 && block <= 4096);
	assert_true(grant->capacity > 0 && grant->capacity < 1ull << 63);
	assert_true(grant->capacity % block == 0);
	assert_in_range(grant->max_io, 4096, asked->max_io);
	assert_true(grant->max_io % block == 0);
	assert_true(is_power(grant->physical_block));
	assert_in_range(grant->physical_block, block, 1u << 20);
	assert_true(grant->io_min >= block && grant->io_min % block == 0);
	assert_true(grant->io_opt % block == 0);
	assert_true(grant->io_min <= 64u << 20 && grant->io_opt <= 64u << 20);
	if (grant->max_discard) {
		assert_true(grant->discard_granularity > 0);
		assert_true(grant->max_discard >= grant->discard_granularity);
		assert_true(grant->max_discard >= grant->physical_block);
	}
	assert_true(grant->discard_granularity % block == 0);
	assert_true(grant->discard_alignment % block == 0);
	assert_true(grant->max_discard % block == 0);
	assert_true(grant->max_write_zeroes % block == 0);
	assert_in_range(grant->pool_units, 1, RNBD_POOL_UNITS_MAX);
	assert_true(is_power(grant->segment_units));
	assert_true((u64)grant->nr_segments * grant->segment_units >=
		    grant->pool_units);
	assert_true((grant->nr_segments - 1ull) * grant->segment_units <
		    grant->pool_units);
	share = grant->pool_units / grant->nr_queues;
	assert_true(share * 4096 >= grant->max_io);

	/* the largest request fits its extents wherever it starts */
	for (start = 0, most = 0; start < min(grant->segment_units, 64u); start++) {
		u64 first = grant->segment_units - 1 - start;
		u64 units = (grant->max_io + 4095ull) / 4096;

		pieces = 1;
		for (i = grant->segment_units - first; i < units;
		     i += grant->segment_units)
			pieces++;
		most = max(most, pieces);
	}
	assert_true(most <= RNBD_EXTENTS_MAX);

	if (!(grant->features & RNBD_FEATURE_INLINE))
		assert_true(!grant->inline_read && !grant->inline_write);
	assert_true(grant->inline_read <= asked->inline_read);
	assert_true(grant->inline_write <= asked->inline_write);
	assert_true(grant->fence_generation);
	if (asked->fence_generation)
		assert_true(grant->fence_generation == asked->fence_generation);
}

/* Was this a frame that we would have sent ourselves? */
static void check_encoded(const u8 *buf, const u8 *again, u32 len)
{
	assert_memory_equal(hostile_original(buf), again, len);
}

static enum rnbd_fault take_requests(struct rnbd_frame *frame, u8 *again)
{
	const u8 *data = (const u8 *)frame->entries + frame->bytes;
	const u8 *end = data + frame->data_bytes;
	struct rnbd_request req;
	enum rnbd_fault fault;
	u16 pos = 0;

	while (pos < frame->nr_entries) {
		u16 before = pos;

		memset(&req, 0xa5, sizeof(req));
		fault = rnbd_decode_request(frame, &pos, &world.lim, &req);
		if (fault) {
			assert_int_equal(pos, before);
			return fault;
		}
		check_request(&req);
		if (req.op == RNBD_OP_WRITE && req.flags & RNBD_REQ_INLINE) {
			assert_ptr_equal(req.data, data);
			assert_true(end - data >= req.length);
			data += req.length;
			inline_accepted++;
		} else {
			assert_null(req.data);
		}
		assert_int_equal(pos, before + rnbd_request_entries(req.nr_runs));
		assert_true(pos <= frame->nr_entries);
		rnbd_encode_request((void *)(again + 32 * before), &req);
		check_encoded((const u8 *)frame->entries + 32 * before,
			      again + 32 * before, 32 * (pos - before));
		requests_accepted++;
	}
	assert_int_equal(rnbd_decode_request(frame, &pos, &world.lim, &req),
			 RNBD_FAULT_COUNT);
	assert_int_equal(rnbd_decode_end(frame),
			 data == end ? RNBD_FAULT_NONE : RNBD_FAULT_LONG);
	return rnbd_decode_end(frame);
}

static enum rnbd_fault take_replies(struct rnbd_frame *frame, u8 *again)
{
	const u8 *data = (const u8 *)frame->entries + frame->bytes;
	const u8 *end = data + frame->data_bytes;
	struct rnbd_reply reply, untouched;
	enum rnbd_fault fault;
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < frame->nr_entries; i++) {
		reply = untouched;
		fault = rnbd_decode_reply(frame, i, world.lim.depth, &reply);
		if (fault) {
			assert_memory_equal(&reply, &untouched, sizeof(reply));
			return fault;
		}
		assert_true(reply.tag < world.lim.depth);
		assert_true(reply.status <= 9);
		assert_true(!reply.status || !reply.length);
		if (reply.is_inline) {
			assert_ptr_equal(reply.data, data);
			assert_true(reply.length && end - data >= reply.length);
			data += reply.length;
			inline_accepted++;
		} else {
			assert_null(reply.data);
		}
		rnbd_encode_reply((void *)(again + 16 * i), &reply);
		check_encoded((const u8 *)frame->entries + 16 * i,
			      again + 16 * i, 16);
	}
	assert_int_equal(rnbd_decode_reply(frame, i, world.lim.depth, &reply),
			 RNBD_FAULT_COUNT);
	assert_int_equal(rnbd_decode_end(frame),
			 data == end ? RNBD_FAULT_NONE : RNBD_FAULT_LONG);
	return rnbd_decode_end(frame);
}

static enum rnbd_fault take_login(const struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_login_info info, untouched;
	enum rnbd_fault fault;
	size_t len;

	memset(&untouched, 0xa5, sizeof(untouched));
	info = untouched;
	fault = rnbd_decode_login(frame, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	if (info.flags & RNBD_LOGIN_DISCOVER) {
		assert_int_equal(info.flags, 2);
		info.flags = 0;
		assert_true(is_zero(&info, sizeof(info)));
		info.flags = RNBD_LOGIN_DISCOVER;
		rnbd_encode_login((void *)again, &info);
		check_encoded(frame->entries, again, 128);
		lists_asked++;
		return RNBD_FAULT_NONE;
	}
	len = strnlen(info.export, sizeof(info.export));
	assert_in_range(len, 1, 63);
	assert_int_equal(strspn(info.export, NAME_CHARS), len);
	assert_true(info.export[0] != '.');
	assert_in_range(info.nr_queues, 1, RNBD_QUEUES_MAX);
	assert_in_range(info.queue_depth, 1, RNBD_DEPTH_MAX);
	assert_in_range(info.max_io, 4096, RNBD_MAX_IO_MAX);
	assert_true(info.max_io % 4096 == 0);
	assert_true(info.pool_bytes >= 4096);
	assert_true(info.flags <= 1);
	if (!(info.features & RNBD_FEATURE_INLINE))
		assert_true(!info.inline_read && !info.inline_write);
	assert_in_range(info.keepalive_ms, 100, 60000);
	rnbd_encode_login((void *)again, &info);
	check_encoded(frame->entries, again, 128);
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_grant(const struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_grant grant, untouched;
	struct rnbd_segment_info seg, seg_untouched;
	enum rnbd_fault fault;
	u64 units = 0;
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&seg_untouched, 0xa5, sizeof(seg_untouched));
	grant = untouched;
	fault = rnbd_decode_grant(frame, &world.asked, &grant);
	if (fault) {
		assert_memory_equal(&grant, &untouched, sizeof(grant));
		return fault;
	}
	check_grant(&grant);
	assert_int_equal(frame->nr_entries, 1 + grant.nr_segments);
	rnbd_encode_grant((void *)again, &grant);
	check_encoded(frame->entries, again, 128);

	for (i = 0; i < grant.nr_segments; i++) {
		seg = seg_untouched;
		fault = rnbd_decode_segment(frame, i, &grant, &seg);
		if (fault) {
			assert_memory_equal(&seg, &seg_untouched, sizeof(seg));
			return fault;
		}
		assert_true((__uint128_t)seg.addr + seg.units * 4096ull <=
			    U64_MAX);
		assert_in_range(seg.units, 1, grant.segment_units);
		if (i + 1 < grant.nr_segments)
			assert_int_equal(seg.units, grant.segment_units);
		units += seg.units;
		rnbd_encode_segment((void *)(again + 128 + 16 * i), &seg);
		segments_accepted++;
	}
	assert_true(units == grant.pool_units);
	assert_int_not_equal(rnbd_decode_segment(frame, grant.nr_segments,
						 &grant, &seg), RNBD_FAULT_NONE);
	check_encoded(frame->entries, again, frame->bytes);
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_resize(const struct rnbd_frame *frame, u8 *again)
{
	const u64 untouched = 0xa5a5a5a5a5a5a5a5ull;
	u64 capacity = untouched;
	enum rnbd_fault fault;

	fault = rnbd_decode_resize(frame, world.lim.block_mask + 1, &capacity);
	if (fault) {
		assert_true(capacity == untouched);
		return fault;
	}
	assert_true(capacity && !(capacity >> 63));
	assert_true(capacity % (world.lim.block_mask + 1) == 0);
	rnbd_encode_resize((void *)again, capacity);
	check_encoded(frame->entries, again, 16);
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_challenge(const struct rnbd_frame *frame, u8 *again)
{
	u8 nonce[32], untouched[32];
	enum rnbd_fault fault;

	memset(untouched, 0xa5, sizeof(untouched));
	memcpy(nonce, untouched, sizeof(nonce));
	fault = rnbd_decode_challenge(frame, nonce);
	if (fault) {
		assert_memory_equal(nonce, untouched, sizeof(nonce));
		return fault;
	}
	rnbd_encode_challenge((void *)again, nonce);
	check_encoded(frame->entries, again, 64);
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_proof(const struct rnbd_frame *frame, u8 *again)
{
	u8 nonce[32], mac[32], untouched[32];
	enum rnbd_fault fault;

	memset(untouched, 0xa5, sizeof(untouched));
	memcpy(nonce, untouched, sizeof(nonce));
	memcpy(mac, untouched, sizeof(mac));
	fault = rnbd_decode_proof(frame, world.is_target ? nonce : NULL, mac);
	if (fault) {
		assert_memory_equal(nonce, untouched, sizeof(nonce));
		assert_memory_equal(mac, untouched, sizeof(mac));
		return fault;
	}
	rnbd_encode_proof((void *)again, world.is_target ? nonce : NULL, mac);
	check_encoded(frame->entries, again, 64);
	return RNBD_FAULT_NONE;
}

static void check_export(const struct rnbd_export_info *info)
{
	u64 block = info->logical_block;
	size_t len = strnlen(info->name, sizeof(info->name));

	assert_in_range(len, 1, 63);
	assert_int_equal(strspn(info->name, NAME_CHARS), len);
	assert_true(info->name[0] != '.');
	assert_true(is_zero(info->name + len, 64 - len));
	assert_true(is_power(block) && block >= 512 && block <= 4096);
	assert_true(info->capacity > 0 && info->capacity < 1ull << 63);
	assert_true(info->capacity % block == 0);
	assert_true(info->flags <= 1);
}

static enum rnbd_fault take_discover(const struct rnbd_frame *frame, u8 *again)
{
	struct rnbd_export_info export, export_untouched;
	struct rnbd_discover_info info, untouched;
	enum rnbd_fault fault;
	u32 i;

	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&export_untouched, 0xa5, sizeof(export_untouched));
	info = untouched;
	fault = rnbd_decode_discover_reply(frame, world.room, &info);
	if (fault) {
		assert_memory_equal(&info, &untouched, sizeof(info));
		return fault;
	}
	assert_int_equal(frame->nr_entries, 1 + info.nr_exports);
	assert_true(info.nr_exports <= world.room);
	assert_true(info.status == RNBD_ST_OK || !info.nr_exports);
	assert_true(info.nr_exports || !info.more);
	rnbd_encode_discover_reply((void *)again, info.status, info.more);
	check_encoded(frame->entries, again, 16);

	for (i = 0; i < info.nr_exports; i++) {
		export = export_untouched;
		fault = rnbd_decode_export(frame, i, &export);
		if (fault) {
			assert_memory_equal(&export, &export_untouched,
					    sizeof(export));
			return fault;
		}
		check_export(&export);
		rnbd_encode_export((void *)(again + 16 + 112 * i), &export);
		exports_accepted++;
	}
	assert_int_equal(rnbd_decode_export(frame, info.nr_exports, &export),
			 RNBD_FAULT_COUNT);
	check_encoded(frame->entries, again, frame->bytes);
	return RNBD_FAULT_NONE;
}

/* Each decoder refuses what is not for it. */
static void check_wrong_type(struct rnbd_frame *frame)
{
	struct rnbd_frame before;
	u8 type = frame->type;
	union {
		struct rnbd_request req;
		struct rnbd_reply reply;
		struct rnbd_login_info login;
		struct rnbd_grant grant;
		struct rnbd_segment_info seg;
		struct rnbd_discover_info list;
		struct rnbd_export_info export;
		u64 capacity;
		u8 proof[2][32];
	} out, untouched;
	u16 pos = 0;

	memcpy(&before, frame, sizeof(before));
	memset(&untouched, 0xa5, sizeof(untouched));
	memset(&out, 0xa5, sizeof(out));
	if (type != RNBD_FRAME_REQUEST)
		assert_int_equal(rnbd_decode_request(frame, &pos, &world.lim, &out.req),
				 RNBD_FAULT_TYPE);
	if (type != RNBD_FRAME_REPLY)
		assert_int_equal(rnbd_decode_reply(frame, 0, world.lim.depth, &out.reply),
				 RNBD_FAULT_TYPE);
	if (type != RNBD_FRAME_LOGIN)
		assert_int_equal(rnbd_decode_login(frame, &out.login), RNBD_FAULT_TYPE);
	if (type != RNBD_FRAME_LOGIN_REPLY) {
		const struct rnbd_grant grant = { .nr_segments = 1 };

		assert_int_equal(rnbd_decode_grant(frame, &world.asked, &out.grant),
				 RNBD_FAULT_TYPE);
		assert_int_equal(rnbd_decode_segment(frame, 0, &grant, &out.seg),
				 RNBD_FAULT_TYPE);
	}
	if (type != RNBD_FRAME_RESIZE)
		assert_int_equal(rnbd_decode_resize(frame, 512, &out.capacity),
				 RNBD_FAULT_TYPE);
	if (type != RNBD_FRAME_DISCOVER_REPLY) {
		assert_int_equal(rnbd_decode_discover_reply(frame, world.room, &out.list),
				 RNBD_FAULT_TYPE);
		assert_int_equal(rnbd_decode_export(frame, 0, &out.export),
				 RNBD_FAULT_TYPE);
	}
	if (type != RNBD_FRAME_CHALLENGE)
		assert_int_equal(rnbd_decode_challenge(frame, out.proof[0]),
				 RNBD_FAULT_TYPE);
	if (type != RNBD_FRAME_PROOF)
		assert_int_equal(rnbd_decode_proof(frame, out.proof[0], out.proof[1]),
				 RNBD_FAULT_TYPE);
	assert_int_equal(pos, 0);
	assert_memory_equal(&out, &untouched, sizeof(out));
	assert_memory_equal(frame, &before, sizeof(before));
}

static enum rnbd_fault take_frame(const u8 *buf, u32 len)
{
	static _Alignas(8) u8 again[2 * FRAME_MAX];
	struct rnbd_frame frame, untouched;
	enum rnbd_fault fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	frame = untouched;
	fault = rnbd_decode_frame(buf, len, world.seq, world.epoch, world.slots,
				  &frame);
	if (fault) {
		assert_memory_equal(&frame, &untouched, sizeof(frame));
		return fault;
	}
	assert_true(len >= 16 && frame.bytes + frame.data_bytes == len - 16);
	assert_ptr_equal(frame.data, buf + 16 + frame.bytes);
	assert_ptr_equal(frame.entries, buf + 16);
	assert_true(frame.credits <= world.slots);
	assert_true(frame.nr_entries || frame.type == RNBD_FRAME_CREDIT);
	rnbd_encode_frame_hdr(again, frame.type,
			      frame.data_bytes ? RNBD_FRAME_DATA : 0,
			      frame.nr_entries, frame.credits, world.seq,
			      world.epoch);
	check_encoded(buf, again, 16);
	check_wrong_type(&frame);
	hostile_forbid(frame.data, frame.data_bytes);

	switch (frame.type) {
	case RNBD_FRAME_LOGIN:
		return take_login(&frame, again);
	case RNBD_FRAME_LOGIN_REPLY:
		return take_grant(&frame, again);
	case RNBD_FRAME_REQUEST:
		return take_requests(&frame, again);
	case RNBD_FRAME_REPLY:
		return take_replies(&frame, again);
	case RNBD_FRAME_RESIZE:
		return take_resize(&frame, again);
	case RNBD_FRAME_DISCOVER_REPLY:
		return take_discover(&frame, again);
	case RNBD_FRAME_CHALLENGE:
		return take_challenge(&frame, again);
	case RNBD_FRAME_PROOF:
		return take_proof(&frame, again);
	case RNBD_FRAME_CREDIT:
		assert_int_equal(len, 16);
		return RNBD_FAULT_NONE;
	}
	fail_msg("type %u was accepted", frame.type);
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_cm_req(const u8 *buf, u32 len)
{
	struct rnbd_conn_req req, untouched;
	struct rnbd_cm_req again;
	enum rnbd_fault fault;

	memset(&untouched, 0xa5, sizeof(untouched));
	req = untouched;
	fault = rnbd_decode_cm_req(buf, len, &req);
	if (fault) {
		assert_memory_equal(&req, &untouched, sizeof(req));
		return fault;
	}
	assert_true(req.queue < RNBD_QUEUES_MAX);
	assert_in_range(req.ring_slots, 4, 1024);
	assert_in_range(req.slot_size, 1024, 65536);
	assert_true(req.slot_size % 64 == 0);
	assert_true(req.epoch > 0);
	assert_false(is_zero(req.host_id, 16));
	assert_false(is_zero(req.session_id, 16));
	rnbd_encode_cm_req(&again, &req);
	check_encoded(buf, (u8 *)&again, sizeof(again));
	assert_true(is_zero(buf + sizeof(again), len - sizeof(again)));
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_cm_rep(const u8 *buf, u32 len)
{
	struct rnbd_cm_rep again;
	enum rnbd_fault fault;
	u16 slots = 0xa5a5;

	fault = rnbd_decode_cm_rep(buf, len, &world.conn, &slots);
	if (fault) {
		assert_int_equal(slots, 0xa5a5);
		return fault;
	}
	assert_in_range(slots, 4, 1024);
	rnbd_encode_cm_rep(&again, slots, world.conn.slot_size,
			   world.conn.epoch);
	check_encoded(buf, (u8 *)&again, sizeof(again));
	assert_true(is_zero(buf + sizeof(again), len - sizeof(again)));
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take_cm_rej(const u8 *buf, u32 len)
{
	struct rnbd_cm_rej again;
	enum rnbd_fault fault;
	u16 version = 0xa5a5, status = 0xa5a5;

	fault = rnbd_decode_cm_rej(buf, len, &version, &status);
	if (fault) {
		assert_true(version == 0xa5a5 && status == 0xa5a5);
		return fault;
	}
	if (is_zero(hostile_original(buf), len)) {
		assert_int_equal(version, 0);
		assert_int_equal(status, RNBD_ST_BUSY);
		return RNBD_FAULT_NONE;
	}
	assert_true(version > 0);
	assert_true(status && (status <= 9 || (status >= 32 && status <= 47)));
	rnbd_encode_cm_rej(&again, status);
	unit_put((u8 *)&again + 4, 2, version);
	check_encoded(buf, (u8 *)&again, sizeof(again));
	assert_true(is_zero(buf + sizeof(again), len - sizeof(again)));
	return RNBD_FAULT_NONE;
}

static enum rnbd_fault take(enum kind kind, const u8 *buf, u32 len)
{
	switch (kind) {
	case KIND_CM_REQ:
		return take_cm_req(buf, len);
	case KIND_CM_REP:
		return take_cm_rep(buf, len);
	case KIND_CM_REJ:
		return take_cm_rej(buf, len);
	default:
		return take_frame(buf, len);
	}
}

#endif /* RNBD_HOSTILE_H */
