// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build valid bodies of control entries about logins, authentication and lists of exports.
 */
#include "hostile_assert.h"
#include "build.h"

/* Draw a login reply that respects the requested values and the limits of the protocol. */
static void draw_grant(struct rnbd_grant *grant)
{
	const struct rnbd_login_info *asked = &world.asked;
	u32 units;

	memset(grant, 0, sizeof(*grant));
	if (one_in(8)) {
		grant->status = one_in(3) ? RNBD_ST_BUSY : draw_refusal();
		if (grant->status == RNBD_ST_BUSY || grant->status == RNBD_ST_LIMIT)
			grant->retry_ms = draw_number();
		return;
	}
	grant->nr_queues = 1 + below(min(asked->nr_queues, 8));
	grant->queue_depth = 1 + below(asked->queue_depth);
	grant->features = asked->features & unit_random64(&rnd);
	grant->segment_units = 16u << below(8);
	units = 1 + below(min(asked->max_io / 4096, 16 * grant->segment_units));
	grant->pool_units = min(units * grant->nr_queues + below(1000), asked->pool_bytes / 4096);
	units = min(units, grant->pool_units / grant->nr_queues);
	if (!units) {
		grant->nr_queues = 1;
		units = 1;
	}
	grant->max_io = units * 4096;
	grant->nr_segments = (grant->pool_units + grant->segment_units - 1) /
			     grant->segment_units;
	grant->max_units = grant->pool_units + below(1000);
	grant->max_units = min(grant->max_units, asked->pool_bytes / 4096);
	grant->nr_slots = DIV_ROUND_UP(grant->max_units, grant->segment_units) + below(20);
	grant->keepalive_ms = 100 + below(59901);
	draw_bytes(grant->target_uuid, sizeof(grant->target_uuid));
	grant->target_uuid[0] |= 1;
	if (one_in(2))
		draw_bytes(grant->join_key, sizeof(grant->join_key));
	if (grant->features & RNBD_FEATURE_INLINE) {
		grant->inline_read = draw_number();
		grant->inline_read = min(grant->inline_read, asked->inline_read);
		grant->inline_write = draw_number();
		grant->inline_write = min(grant->inline_write, asked->inline_write);
	}
}

static u32 build_grant(void *body)
{
	struct rnbd_grant grant;

	draw_grant(&grant);
	rnbd_encode_grant(body, &grant);
	return sizeof(struct rnbd_ctl_login_reply);
}

static u32 build_challenge(void *body)
{
	u8 nonce[32], uuid[16];

	draw_bytes(nonce, sizeof(nonce));
	draw_bytes(uuid, sizeof(uuid));
	uuid[0] |= 1;
	rnbd_encode_challenge(body, nonce, uuid);
	return sizeof(struct rnbd_ctl_challenge);
}

static u32 build_join_reply(void *body)
{
	struct rnbd_join_info info = { .status = one_in(2) ? 0 : draw_refusal() };

	if (info.status == RNBD_ST_BUSY || info.status == RNBD_ST_LIMIT)
		info.retry_ms = draw_number();
	draw_bytes(info.mac, sizeof(info.mac));
	rnbd_encode_join_reply(body, &info);
	return sizeof(struct rnbd_ctl_join_reply);
}

static u32 build_proof(void *body)
{
	u8 nonce[32], mac[32];

	draw_bytes(nonce, sizeof(nonce));
	draw_bytes(mac, sizeof(mac));
	rnbd_encode_proof(body, world.is_target ? nonce : NULL, mac);
	return sizeof(struct rnbd_ctl_proof);
}

static u32 build_export(void *body)
{
	u32 block = 512u << below(4);
	struct rnbd_export_info info = {
		.capacity = (1 + unit_random64(&rnd) % (1ull << 50)) * block,
		.logical_block = block,
		.flags = below(2),
	};

	draw_name(info.name);
	draw_bytes(info.uuid, 16);
	rnbd_encode_export(body, &info);
	return sizeof(struct rnbd_ctl_export);
}

static u32 build_list_end(void *body)
{
	struct rnbd_list_end_info info = { .status = one_in(2) ? 0 : draw_refusal() };

	if (info.status == RNBD_ST_BUSY || info.status == RNBD_ST_LIMIT)
		info.retry_ms = draw_number();
	rnbd_encode_list_end(body, &info);
	return sizeof(struct rnbd_ctl_list_end);
}

u32 build_login_body(u16 type, void *body)
{
	switch (type) {
	case RNBD_CTL_LOGIN:
		rnbd_encode_login(body, &world.asked);
		return sizeof(struct rnbd_ctl_login);
	case RNBD_CTL_LOGIN_REPLY:
		return build_grant(body);
	case RNBD_CTL_CHALLENGE:
		return build_challenge(body);
	case RNBD_CTL_PROOF:
		return build_proof(body);
	case RNBD_CTL_JOIN_REPLY:
		return build_join_reply(body);
	case RNBD_CTL_EXPORT:
		return build_export(body);
	case RNBD_CTL_LIST_END:
		return build_list_end(body);
	default:
		/* RNBD_CTL_LIST, RNBD_CTL_JOIN */
		return 0;
	}
}
