// SPDX-License-Identifier: GPL-2.0-only
/*
 * Valid messages of every kind, which suit the world.
 */
#include "hostile_assert.h"
#include "hostile.h"

static void draw_request(struct rnbd_request *req)
{
	const struct rnbd_export_limits *exp = &world.exp;
	const struct rnbd_limits *lim = &world.lim;
	u32 block = exp->block_mask + 1, max = 0;
	const struct rnbd_op_row *row;
	int nr_extents;
	u8 flags;

	memset(req, 0, sizeof(*req));
	req->tag = below(lim->depth);
	req->op = RNBD_OP_READ + below(RNBD_OP_END - RNBD_OP_READ);
	row = &rnbd_ops[req->op];
	flags = row->flags & ~RNBD_REQ_INLINE;
	if (flags)
		req->flags = below(flags + 1) & flags;
	if (row->range)
		max = rnbd_op_limit(row, exp);
	if (row->flags & RNBD_REQ_INLINE && rnbd_op_inline_limit(row, lim) && one_in(2)) {
		req->flags |= RNBD_REQ_INLINE;
		max = rnbd_op_inline_limit(row, lim);
	}
	max = min((u64)max, exp->capacity) / block;
	if (!max) {
		*req = (struct rnbd_request) {
			.op = RNBD_OP_FLUSH, .tag = req->tag,
		};
		return;
	}
	req->length = block * (1 + below(one_in(2) ? max : min(max, 40u)));
	req->offset = unit_random64(&rnd) %
		((exp->capacity - req->length) / block + 1) * block;
	if (!rnbd_op_has_data(req->op))
		return;
	nr_extents = rnbd_pool_alloc(&world.pool, DIV_ROUND_UP(req->length, 4096),
				     req->extents, RNBD_EXTENTS_MAX);
	if (nr_extents < 0) {
		*req = (struct rnbd_request) {
			.op = RNBD_OP_FLUSH, .tag = req->tag,
		};
		return;
	}
	req->nr_extents = nr_extents;
	rnbd_pool_free(&world.pool, req->extents, nr_extents);
}

/* A grant that suits what was asked for; few enough segments. */
static void draw_grant(struct rnbd_grant *grant)
{
	const struct rnbd_login_info *asked = &world.asked;
	u32 block = 512u << below(4), units;

	memset(grant, 0, sizeof(*grant));
	if (one_in(8)) {
		grant->status = one_in(2) ? 1 + below(RNBD_ST_PROTECTION) :
				32 + below(RNBD_ST_ATTACHED - 31);
		return;
	}
	grant->nr_queues = 1 + below(min(asked->nr_queues, 8));
	grant->queue_depth = 1 + below(asked->queue_depth);
	grant->features = asked->features & unit_random64(&rnd);
	grant->geo.capacity = (1 + unit_random64(&rnd) % (1ull << 50)) * block;
	grant->geo.flags = below(16);
	if (grant->geo.flags & RNBD_EXPORT_VOLATILE_CACHE)
		grant->geo.flags |= RNBD_EXPORT_FUA;
	grant->geo.logical_block = block;
	grant->geo.physical_block = block << below(8);
	grant->geo.io_min = block * (1 + below(100));
	grant->geo.io_opt = block * below(100);
	grant->geo.discard_granularity = block * below(100);
	grant->geo.discard_alignment = block * below(3);
	grant->geo.max_discard = block * below(1u << 19);
	if (!grant->geo.discard_granularity ||
	    grant->geo.max_discard < max(grant->geo.discard_granularity, grant->geo.physical_block))
		grant->geo.max_discard = 0;
	grant->geo.max_write_zeroes = block * below(1u << 19);
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
static u32 build_ctl(u8 *buf, u16 credits)
{
	u32 i, n = 1 + below(6), len = 16;
	u8 body[64];

	for (i = 0; i < n; i++) {
		struct rnbd_ctl_entry entry = {
			.type = 1 + below(0x7fff),
			.mandatory = one_in(2),
			.id = draw_number(),
			.body = body,
			.bytes = 8 * below(sizeof(body) / 8 + 1),
		};

		draw_bytes(body, sizeof(body));
		rnbd_encode_ctl(buf + len, &entry);
		len += 8 + entry.bytes;
	}
	rnbd_encode_frame_hdr(buf, RNBD_FRAME_CONTROL, 0, n, credits, world.seq, world.epoch);
	return len;
}

u32 hostile_build(enum kind kind, u8 *buf)
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
			entries += rnbd_request_entries(req.nr_extents);
			if (rnbd_op_data_out(req.op) && req.flags & RNBD_REQ_INLINE)
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
				.status = one_in(2) ? 0 : 1 + below(RNBD_ST_PROTECTION),
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
		rnbd_encode_resize((void *)at, world.exp.capacity);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_RESIZE, 0, 1, credits,
				      world.seq, world.epoch);
		return 16 + 16;
	case KIND_QUERY: {
		const struct rnbd_query_info query = {
			.tag = below(world.lim.depth),
			.state = world.is_target ? RNBD_QUERY_ASK : 1 + below(2),
		};

		rnbd_encode_query((void *)at, &query);
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_QUERY, 0, 1, credits,
				      world.seq, world.epoch);
		return 16 + 16;
	}
	case KIND_CONTROL:
		return build_ctl(buf, credits);
	case KIND_CM_REQ:
		rnbd_encode_cm_req((void *)buf, &world.conn);
		return sizeof(struct rnbd_cm_req);
	case KIND_CM_REP:
		rnbd_encode_cm_rep((void *)buf, world.slots,
				   world.conn.slot_size, world.conn.epoch);
		return sizeof(struct rnbd_cm_rep);
	case KIND_CM_REJ:
		rnbd_encode_cm_rej((void *)buf, one_in(2) ? 1 + below(RNBD_ST_PROTECTION) :
				   32 + below(RNBD_ST_ATTACHED - 31));
		return sizeof(struct rnbd_cm_rej);
	default:
		fail();
		return 0;
	}
}
