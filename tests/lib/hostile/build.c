// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build valid messages of every kind for the current state of the two ends (struct world).
 */
#include "hostile_assert.h"
#include "build.h"

static void draw_handle(struct rnbd_handle *handle)
{
	handle->index = below(RNBD_ATTACH_MAX);
	handle->generation = draw_number();
	if (!handle->generation)
		handle->generation = 1;
}

u16 draw_refusal(void)
{
	return one_in(2) ? 1 + below(RNBD_ST_CLOSED) :
			   RNBD_ST_MALFORMED + below(RNBD_ST_OWNED - RNBD_ST_MALFORMED + 1);
}

/* Turn a request into a FLUSH that keeps the tag and the handle. */
static void make_flush(struct rnbd_request *req)
{
	*req = (struct rnbd_request) {
		.op = RNBD_OP_FLUSH, .tag = req->tag, .handle = req->handle,
	};
}

static void draw_request(struct rnbd_request *req)
{
	const struct rnbd_export_limits *exp = &world.exp;
	const struct rnbd_limits *lim = &world.lim;
	u32 block = exp->block_mask + 1, max = 0;
	const struct rnbd_op_row *row;
	int nr_extents;
	u8 flags;

	memset(req, 0, sizeof(*req));
	draw_handle(&req->handle);
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
		make_flush(req);
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
		make_flush(req);
		return;
	}
	req->nr_extents = nr_extents;
	rnbd_pool_free(&world.pool, req->extents, nr_extents);
}

/* Draw the properties of an export within the limits of the protocol. */
static void draw_geometry(struct rnbd_geometry *geo)
{
	u32 block = 512u << below(4);

	*geo = (struct rnbd_geometry) {
		.capacity = (1 + unit_random64(&rnd) % (1ull << 50)) * block,
		.flags = below(16),
		.logical_block = block,
		.physical_block = block << below(8),
		.io_min = block * (1 + below(100)),
		.io_opt = block * below(100),
		.discard_granularity = block * below(100),
		.discard_alignment = block * below(3),
		.max_discard = block * below(1u << 19),
		.max_write_zeroes = block * below(1u << 19),
	};
	if (geo->flags & RNBD_EXPORT_VOLATILE_CACHE)
		geo->flags |= RNBD_EXPORT_FUA;
	if (!geo->discard_granularity ||
	    geo->max_discard < max(geo->discard_granularity, geo->physical_block))
		geo->max_discard = 0;
}

static u32 build_attach(void *body)
{
	struct rnbd_attach_info info = {
		.flags = below(4),
		.fence_generation = one_in(2) ? draw_number() : 0,
		.owner_generation = one_in(2) ? draw_number() : 0,
	};

	draw_handle(&info.handle);
	draw_name(info.export);
	rnbd_encode_attach(body, &info);
	return sizeof(struct rnbd_ctl_attach);
}

static u32 build_attach_reply(void *body)
{
	struct rnbd_attach_grant grant = { };

	draw_handle(&grant.handle);
	if (one_in(4)) {
		grant.status = one_in(3) ? RNBD_ST_BUSY : draw_refusal();
		if (grant.status == RNBD_ST_BUSY)
			grant.retry_ms = draw_number();
	} else {
		grant.fence_generation = 1 + below(U32_MAX);
		grant.owner_generation = one_in(2) ? draw_number() : 0;
		draw_geometry(&grant.geo);
		draw_bytes(grant.incarnation, 16);
		draw_bytes(grant.export_uuid, 16);
	}
	rnbd_encode_attach_reply(body, &grant);
	return sizeof(struct rnbd_ctl_attach_reply);
}

static u32 build_handle(void *body, u16 type)
{
	struct rnbd_handle_info info = { };

	draw_handle(&info.handle);
	if (type == RNBD_CTL_DETACH)
		info.flags = below(2);
	if (type == RNBD_CTL_CLOSED) {
		info.status = draw_refusal();
		info.retry_ms = draw_number();
	} else if (type == RNBD_CTL_DETACHED && one_in(2)) {
		info.status = draw_refusal();
	}
	rnbd_encode_handle(body, &info);
	return sizeof(struct rnbd_ctl_handle);
}

static u32 build_capacity(void *body)
{
	struct rnbd_capacity_info info = { .capacity = draw_number() };

	draw_handle(&info.handle);
	rnbd_encode_capacity(body, &info);
	return sizeof(struct rnbd_ctl_capacity);
}

static u32 build_query(void *body, u16 type)
{
	const struct rnbd_query_info query = {
		.tag = below(world.lim.depth),
		.state = type == RNBD_CTL_QUERY ? 0 : 1 + below(2),
	};

	rnbd_encode_query(body, &query);
	return sizeof(struct rnbd_ctl_query);
}

static u32 build_slots(void *body)
{
	const struct rnbd_slots_info info = {
		.slots = RNBD_RING_SLOTS_MIN +
			 below(RNBD_RING_SLOTS_MAX - RNBD_RING_SLOTS_MIN + 1),
		.depth = below(RNBD_DEPTH_MAX + 1),
	};

	rnbd_encode_slots(body, &info);
	return sizeof(struct rnbd_ctl_slots);
}

/*
 * Build the body of an entry of @type: as this version sends it if it knows the type, or else of
 * random bytes. Return its length.
 */
static u32 build_body(u16 type, void *body)
{
	switch (type) {
	case RNBD_CTL_ATTACH:
		return build_attach(body);
	case RNBD_CTL_ATTACH_REPLY:
		return build_attach_reply(body);
	case RNBD_CTL_DETACH:
	case RNBD_CTL_DETACHED:
	case RNBD_CTL_CLOSED:
		return build_handle(body, type);
	case RNBD_CTL_CAPACITY:
		return build_capacity(body);
	case RNBD_CTL_QUERY:
	case RNBD_CTL_QUERY_REPLY:
		return build_query(body, type);
	case RNBD_CTL_SEGMENT:
	case RNBD_CTL_WANT:
	case RNBD_CTL_RECLAIM:
	case RNBD_CTL_RELEASE:
	case RNBD_CTL_RELEASED:
		return build_lease_body(type, body);
	case RNBD_CTL_SLOTS:
	case RNBD_CTL_SLOTS_REPLY:
		return build_slots(body);
	default:
		if (ctl_known(type))
			return build_login_body(type, body);
		draw_bytes(body, 64);
		return 8 * below(9);
	}
}

static u32 build_ctl(u8 *buf, u16 credits)
{
	_Alignas(8) u8 body[160];
	u32 i, n = 1 + below(6), len = 16;

	for (i = 0; i < n; i++) {
		struct rnbd_ctl_entry entry = {
			.type = 1 + below(one_in(3) ? 0x7fff : CTL_LAST),
			.mandatory = one_in(2),
			.id = draw_number(),
			.body = body,
		};

		memset(body, 0, sizeof(body));
		entry.bytes = build_body(entry.type, body);
		/* a later version can send a longer body: append zeros */
		if (ctl_known(entry.type) && one_in(4))
			entry.bytes += 8 * (1 + below(3));
		rnbd_encode_ctl(buf + len, &entry);
		len += 8 + entry.bytes;
	}
	rnbd_encode_frame_hdr(buf, RNBD_FRAME_CONTROL, 0, n, credits, world.seq, world.attempt);
	return len;
}

/* Build a valid message of @kind at @buf; return its length. */
u32 hostile_build(enum kind kind, u8 *buf)
{
	struct rnbd_refusal refusal = { };
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
				      credits, world.seq, world.attempt);
		memset(at + 32 * entries, 0xda, data);
		return 16 + 32 * entries + data;
	case KIND_REPLY:
		for (i = 0; i < n; i++) {
			struct rnbd_reply reply = {
				.tag = below(world.lim.depth),
				.status = one_in(2) ? 0 : 1 + below(RNBD_ST_CLOSED),
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
				      world.seq, world.attempt);
		memset(at + 16 * n, 0xda, data);
		return 16 + 16 * n + data;
	case KIND_CREDIT:
		rnbd_encode_frame_hdr(buf, RNBD_FRAME_CREDIT, 0, 0,
				      credits, world.seq, world.attempt);
		return 16;
	case KIND_CONTROL:
		return build_ctl(buf, credits);
	case KIND_CM_REQ:
		rnbd_encode_cm_req((void *)buf, &world.conn);
		return sizeof(struct rnbd_cm_req);
	case KIND_CM_REP:
		rnbd_encode_cm_rep((void *)buf, RNBD_RING_SLOTS_MIN +
				   below(world.slots - RNBD_RING_SLOTS_MIN + 1),
				   world.conn.slot_size, world.conn.attempt);
		return sizeof(struct rnbd_cm_rep);
	case KIND_CM_REJ:
		refusal.status = one_in(2) ? RNBD_ST_BUSY : draw_refusal();
		if (refusal.status == RNBD_ST_BUSY || refusal.status == RNBD_ST_LIMIT)
			refusal.retry_ms = draw_number();
		rnbd_encode_cm_rej((void *)buf, &refusal);
		return sizeof(struct rnbd_cm_rej);
	default:
		fail();
		return 0;
	}
}
