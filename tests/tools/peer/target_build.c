// SPDX-License-Identifier: GPL-2.0-only
/* Frames for the cases, which change them: valid frames of a target, and a few others. */
#include <string.h>

#include "target.h"

/*
 * Build a login reply within the limits of the login: a pool of two segments, or of one small
 * segment if the pool is elastic.
 */
void target_build_grant(struct frame *f)
{
	struct rnbd_ctl_login_reply r = {
		.nr_queues = htole16(1),
		.features = target.login.features,
		.max_io = htole32(64 << 10),
		.pool_units = htole32(POOL_UNITS),
		.segment_units = htole32(SEGMENT_UNITS),
		.nr_segments = htole32(2),
		.keepalive_ms = htole32(RNBD_KEEPALIVE_MS_MAX),
		.target_uuid = { TARGET_UUID },
		.max_units = htole32(POOL_UNITS),
		.nr_slots = htole32(2),
	};
	uint32_t i, units = SEGMENT_UNITS;

	if (target.login.pool_min) {
		r.max_units = htole32(MAX_UNITS);
		r.nr_slots = htole32(MAX_SLOTS);
	}
	if (target_elastic()) {
		units = RNBD_SEGMENT_GRANULE;
		if (units > le32toh(target.login.pool_min))
			units = le32toh(target.login.pool_min);
		r.pool_units = htole32(units);
		r.nr_segments = htole32(1);
		target_lease_begin(units);
	}
	target_further_begin(&r);
	r.queue_depth = htole16(le16toh(target.login.queue_depth) < 64 ?
				le16toh(target.login.queue_depth) : 64);
	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_LOGIN_REPLY, 0, sizeof(r)), &r, sizeof(r));
	for (i = 0; i < le32toh(r.nr_segments); i++) {
		struct rnbd_ctl_segment seg = {
			.addr = htole64((uintptr_t)target.c.data +
					i * SEGMENT_UNITS * RNBD_UNIT_SIZE),
			.slot = htole32(i),
			.generation = htole32(1),
			.units = htole32(units),
			.rkey = htole32(target.c.mr->rkey),
		};

		memcpy(ctl_add(f, RNBD_CTL_SEGMENT, 0, sizeof(seg)), &seg, sizeof(seg));
	}
}

void target_build_list(struct frame *f, bool more, uint32_t nr)
{
	struct rnbd_ctl_export e = {
		.name = "an-export",
		.capacity = htole64(DISK_BYTES),
		.logical_block = htole32(512),
	};
	uint32_t i;

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	for (i = 0; i < nr; i++)
		memcpy(ctl_add(f, RNBD_CTL_EXPORT, 0, sizeof(e)), &e, sizeof(e));
	if (!more)
		ctl_add(f, RNBD_CTL_LIST_END, 0, sizeof(struct rnbd_ctl_list_end));
}

/* Build the reply to the latest ATTACH, with the properties of the disk in memory. */
static void build_attach_reply(struct frame *f)
{
	struct rnbd_ctl_attach_reply r = {
		.index = target.attach.index,
		.generation = htole32(target.rel[GENERATION]),
		.fence_generation = target.attach.fence_generation ?: htole32(1),
		.owner_generation = target.attach.owner_generation,
		.capacity = htole64(DISK_BYTES),
		.logical_block = htole32(512),
		.physical_block = htole32(512),
		.io_min = htole32(512),
		.max_discard = htole32(DISK_BYTES),
		.discard_granularity = htole32(512),
		.max_write_zeroes = htole32(DISK_BYTES),
		.incarnation = { 1 },
		.export_uuid = { 2 },
	};

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_ATTACH_REPLY, target.attach_id, sizeof(r)), &r, sizeof(r));
}

void target_build_detached(struct frame *f, const struct rnbd_ctl_handle *h, uint32_t id)
{
	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_DETACHED, id, sizeof(*h)), h, sizeof(*h));
}

/*
 * Build a RECLAIM or RELEASED of the last segment of the login (slot 1), a SEGMENT for slot 2, or a
 * WANT.
 */
static void build_lease(struct frame *f, enum base which)
{
	static const uint16_t types[] = {
		[NEW_SEGMENT] = RNBD_CTL_SEGMENT, [RECLAIM] = RNBD_CTL_RECLAIM,
		[RELEASED] = RNBD_CTL_RELEASED, [WANT] = RNBD_CTL_WANT,
	};
	struct rnbd_ctl_lease lease = {
		.slot = htole32(1),
		.generation = htole32(1),
		.deadline_ms = which == RECLAIM ? htole32(60000) : 0,
	};
	struct rnbd_ctl_segment seg = {
		.addr = htole64((uintptr_t)target.c.data + POOL_UNITS * RNBD_UNIT_SIZE),
		.slot = htole32(2),
		.generation = htole32(2),
		.units = htole32(SEGMENT_UNITS),
		.rkey = htole32(target.c.mr->rkey),
	};
	struct rnbd_ctl_want want = { .units = htole32(1) };

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	if (which == NEW_SEGMENT)
		memcpy(ctl_add(f, types[which], 0, sizeof(seg)), &seg, sizeof(seg));
	else if (which == WANT)
		memcpy(ctl_add(f, types[which], 0, sizeof(want)), &want, sizeof(want));
	else
		memcpy(ctl_add(f, types[which], 0, sizeof(lease)), &lease, sizeof(lease));
}

/* Build an entry about an attachment or about receive slots, or one of an unknown type. */
static void build_entry(struct frame *f, enum base which)
{
	struct rnbd_ctl_handle h = {
		.index = target.attach.index,
		.generation = htole32(target.rel[GENERATION]),
	};
	struct rnbd_ctl_capacity capacity = {
		.index = h.index,
		.generation = h.generation,
		.capacity = htole64(DISK_BYTES / 2),
	};
	struct rnbd_ctl_attach attach = attach_entry(0, 1, "an-export");
	struct rnbd_ctl_slots slots = { .slots = htole16(RNBD_RING_SLOTS_MIN) };

	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	switch (which) {
	case ATTACH:
		attach_add(f, &attach, 1);
		break;
	case DETACH:
		detach_add(f, target.rel[INDEX], target.rel[GENERATION], 1);
		break;
	case DETACHED:
		target_build_detached(f, &h, target.attach_id);
		break;
	case END:
		h.status = htole16(RNBD_ST_REMOVED);
		h.retry_ms = htole32(AGAIN_MS);
		memcpy(ctl_add(f, RNBD_CTL_CLOSED, 0, sizeof(h)), &h, sizeof(h));
		break;
	case NEW_CAPACITY:
		memcpy(ctl_add(f, RNBD_CTL_CAPACITY, 0, sizeof(capacity)), &capacity,
		       sizeof(capacity));
		break;
	case SLOTS_ASK:
		memcpy(ctl_add(f, RNBD_CTL_SLOTS, 0, sizeof(slots)), &slots, sizeof(slots));
		break;
	case SLOTS_ANSWER:
		memcpy(ctl_add(f, RNBD_CTL_SLOTS_REPLY, 0, sizeof(slots)), &slots, sizeof(slots));
		break;
	case NO_ATTACHMENT:
		h.status = htole16(RNBD_ST_NO_EXPORT);
		memcpy(ctl_add(f, RNBD_CTL_ATTACH_REPLY, target.attach_id,
			       sizeof(struct rnbd_ctl_attach_reply)), &h, sizeof(h));
		break;
	default:
		memset(ctl_add(f, UNKNOWN_TYPE, 0, 16), 0x11, 16);
	}
}

void target_build(struct frame *f, enum base which)
{
	struct rnbd_reply_entry reply = { .tag = htole16(target.rel[TAG_SENT]) };
	struct rnbd_ctl_query *query;
	struct rnbd_ctl_login_reply denial = { .status = htole16(RNBD_ST_AUTH) };

	switch (which) {
	case LOGIN_REPLY:
		target_build_grant(f);
		break;
	case REPLY:
		reply.length = htole32(target.rel[CAPACITY]);
		frame_begin(f, RNBD_FRAME_REPLY, target.tc->also == DOUBLE ? 2 : 1);
		memcpy(frame_add(f, sizeof(reply)), &reply, sizeof(reply));
		if (target.tc->also == DOUBLE)
			memcpy(frame_add(f, sizeof(reply)), &reply, sizeof(reply));
		break;
	case ATTACH_REPLY:
		build_attach_reply(f);
		break;
	case NO_ATTACHMENT ... UNKNOWN:
		build_entry(f, which);
		break;
	case NEW_SEGMENT ... WANT:
		build_lease(f, which);
		break;
	case DISCOVER_REPLY:
		target_build_list(f, false, 1);
		break;
	case CHALLENGE:
		target_auth_challenge(f);
		break;
	case PROOF:
		target_auth_prove(f, target.struck ? target.tc->proof : RIGHT);
		break;
	case DENIAL:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		memcpy(ctl_add(f, RNBD_CTL_LOGIN_REPLY, 0, sizeof(denial)), &denial,
		       sizeof(denial));
		break;
	case GARBAGE:
		frame_begin(f, 0, 0);
		frame_add(f, 1000);
		memset(f->b, 0xa5, f->len);
		break;
	case CREDIT:
		frame_begin(f, RNBD_FRAME_CREDIT, 0);
		break;
	case REQUEST:
		frame_begin(f, RNBD_FRAME_REQUEST, 1);
		frame_add(f, sizeof(struct rnbd_req_entry));
		break;
	case JOINED:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		ctl_add(f, RNBD_CTL_JOIN_REPLY, 0, sizeof(struct rnbd_ctl_join_reply));
		break;
	case QUERY:
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		query = ctl_add(f, RNBD_CTL_QUERY_REPLY, 0, sizeof(*query));
		query->state = RNBD_QUERY_EXECUTING;
		break;
	default:
		/* LOGIN */
		frame_begin(f, RNBD_FRAME_CONTROL, 0);
		ctl_add(f, RNBD_CTL_LOGIN, 0, sizeof(struct rnbd_ctl_login));
	}
}
