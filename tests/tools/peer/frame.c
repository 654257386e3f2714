// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames, built and checked according to Documentation/reference/protocol.rst.
 *
 * Operation: frame_begin() and frame_add() build a frame, and frame_seal() adds the fields that
 * depend on the connection. A case patches the frame after frame_seal().
 * Ownership: a struct frame contains its bytes; received inline data are valid until the next frame
 * is received.
 * Concurrency: one thread.
 * Errors: an invalid frame of the peer fails the case.
 */
#include <string.h>

#include "peer.h"

void frame_begin(struct frame *f, uint8_t type, uint32_t entries)
{
	struct rnbd_frame_hdr hdr = { .type = type, .nr_entries = htole16(entries) };

	memset(f->b, 0, sizeof(f->b));
	memcpy(f->b, &hdr, sizeof(hdr));
	f->len = sizeof(hdr);
}

void *frame_add(struct frame *f, uint32_t bytes)
{
	f->len += bytes;
	if (f->len > RNBD_SLOT_SIZE_MAX)
		die("a frame of %u bytes", f->len);
	return f->b + f->len - bytes;
}

/* Set the credits, sequence number and attempt; the frame must be the next one that is sent. */
void frame_seal(struct conn *c, struct frame *f)
{
	struct rnbd_frame_hdr hdr;

	memcpy(&hdr, f->b, sizeof(hdr));
	hdr.credits = htole16(c->owed);
	hdr.seq = htole32(c->send_seq);
	hdr.attempt = htole32(c->attempt);
	memcpy(f->b, &hdr, sizeof(hdr));
	kinds_count(true, f->b, f->len);
	c->owed = 0;
	c->send_seq++;
	c->credits--;
}

bool frame_send(struct conn *c, struct frame *f)
{
	frame_seal(c, f);
	return conn_post(c, f->b, f->len, IBV_WR_SEND, 0);
}

void frame_credit(struct conn *c)
{
	static struct frame f;

	frame_begin(&f, RNBD_FRAME_CREDIT, 0);
	frame_send(c, &f);
}

void patch_apply(uint8_t *bytes, const struct patch *p, const uint64_t *relative)
{
	uint64_t value = p->value;
	uint32_t i;

	if (p->relative)
		value += relative[p->relative];
	for (i = 0; i < p->size; i++)
		bytes[p->at + i] = p->size > 8 ? (uint8_t)value : value >> (8 * i);
}

/* Return the size of the entries of a frame, or NEVER if their number is invalid. */
static int64_t entry_bytes(uint8_t type, uint32_t nr)
{
	switch (type) {
	case RNBD_FRAME_REQUEST:
		return nr ? nr * (int64_t)sizeof(struct rnbd_req_entry) : NEVER;
	case RNBD_FRAME_REPLY:
		return nr ? nr * (int64_t)sizeof(struct rnbd_reply_entry) : NEVER;
	case RNBD_FRAME_CREDIT:
		return nr ? NEVER : 0;
	case RNBD_FRAME_CONTROL:
		/* a minimum; each entry has its own length */
		return nr ? nr * (int64_t)sizeof(struct rnbd_ctl) : NEVER;
	}
	return NEVER;
}

/* Check that the peer may send this frame next, and take the credits that the frame returns. */
bool frame_check(struct conn *c, const uint8_t *bytes, uint32_t len)
{
	struct rnbd_frame_hdr hdr;
	int64_t want;

	if (len < sizeof(hdr))
		return amiss("a frame of %u bytes", len);
	memcpy(&hdr, bytes, sizeof(hdr));
	if (hdr.reserved || hdr.flags & ~RNBD_FRAME_DATA)
		return amiss("reserved bits are set in the header of a frame");
	if (le32toh(hdr.seq) != c->recv_seq++)
		return amiss("frame %u has sequence number %u", c->recv_seq - 1, le32toh(hdr.seq));
	if (le32toh(hdr.attempt) != c->attempt)
		return amiss("a frame of another attempt: %u", le32toh(hdr.attempt));
	c->credits += le16toh(hdr.credits);
	if (c->credits > (int32_t)c->peer_slots)
		return amiss("%d credits of %u", c->credits, c->peer_slots);
	want = entry_bytes(hdr.type, le16toh(hdr.nr_entries));
	if (want == NEVER)
		return amiss("type %u with %u entries", hdr.type, le16toh(hdr.nr_entries));
	if (hdr.type == RNBD_FRAME_CONTROL && !hdr.flags)
		return ctl_check(c, bytes, len, le16toh(hdr.nr_entries));
	len -= sizeof(hdr);
	if (hdr.flags ? len <= want : len != want)
		return amiss("type %u with %u bytes, its entries need %d", hdr.type, len,
			     (int)want);
	if (hdr.flags && hdr.type != RNBD_FRAME_REQUEST && hdr.type != RNBD_FRAME_REPLY)
		return amiss("type %u with inline data", hdr.type);
	return true;
}

/*
 * Fill in a login with small values, which every target can grant. The requested pool needs several
 * segments, the last one shorter than the others.
 */
void login_fill(struct rnbd_ctl_login *l)
{
	struct uuid boot = { "a boot of a peer" };

	memset(l, 0, sizeof(*l));
	memcpy(l->boot_id, &boot, sizeof(boot));
	l->features = htole64(RNBD_FEATURES);
	l->pool_bytes = htole64(520 * RNBD_UNIT_SIZE);
	l->max_io = htole32(128 << 10);
	l->nr_queues = htole16(1);
	l->queue_depth = htole16(16);
	l->keepalive_ms = htole32(RNBD_KEEPALIVE_MS_MAX);
	l->inline_read = htole32(1024);
	l->inline_write = htole32(1024);
}

/* Check that a grant is consistent and does not exceed the requested values. */
static bool check_grant(const struct rnbd_ctl_login *l, const struct grant *g, uint32_t nr)
{
	uint32_t per_segment = le32toh(g->r.segment_units), left = le32toh(g->r.pool_units), i;
	static const uint8_t zero[16];

	if (!memcmp(g->r.target_uuid, zero, sizeof(zero)))
		return amiss("a grant of a target without a UUID");
	if (g->r.reserved || g->r.retry_ms ||
	    le64toh(g->r.features) & ~le64toh(l->features))
		return amiss("a grant with unrequested features or reserved fields set");
	if (!g->r.nr_queues || le16toh(g->r.nr_queues) > le16toh(l->nr_queues) ||
	    !g->r.queue_depth || le16toh(g->r.queue_depth) > le16toh(l->queue_depth) ||
	    !g->r.max_io || le32toh(g->r.max_io) > le32toh(l->max_io) ||
	    le32toh(g->r.inline_read) > le32toh(l->inline_read) ||
	    le32toh(g->r.inline_write) > le32toh(l->inline_write) ||
	    (uint64_t)left * RNBD_UNIT_SIZE > le64toh(l->pool_bytes))
		return amiss("a grant above the requested values");
	if (le32toh(g->r.max_io) % RNBD_UNIT_SIZE ||
	    le32toh(g->r.keepalive_ms) < RNBD_KEEPALIVE_MS_MIN ||
	    le32toh(g->r.keepalive_ms) > RNBD_KEEPALIVE_MS_MAX)
		return amiss("a grant with max_io or keepalive_ms out of range");
	if (!power_of_2(per_segment) || nr != le32toh(g->r.nr_segments))
		return amiss("%u segments, %u units each", nr, per_segment);
	for (i = 0; i < nr; i++) {
		uint32_t units = left < per_segment ? left : per_segment;

		if (le32toh(g->seg[i].units) != units || !units)
			return amiss("segment %u has %u units", i, le32toh(g->seg[i].units));
		if (le64toh(g->seg[i].addr) >> 47)
			return amiss("segment %u reveals an address of the target's memory", i);
		left -= units;
	}
	return !left || amiss("%u units in no segment", left);
}

/* Receive the segments that a grant announces, in the order of their slots. */
static bool take_segments(struct conn *c, struct grant *g)
{
	uint32_t nr = le32toh(g->r.nr_segments), i;
	struct ctl entry;

	if (nr > MAX_SEGMENTS)
		return amiss("more segments than rnbd-peer supports");
	for (i = 0; i < nr; i++) {
		if (!ctl_await(c, RNBD_CTL_SEGMENT, &entry, LOGIN_MS))
			return amiss("%u segments received of %u", i, nr);
		memcpy(&g->seg[i], entry.body, sizeof(g->seg[i]));
		if (le32toh(g->seg[i].slot) != i)
			return amiss("the segment of slot %u was sent as number %u",
				     le32toh(g->seg[i].slot), i);
	}
	return true;
}

/* Process the reply to a login. Return true if the login was granted. */
bool login_granted(struct conn *c, const struct rnbd_ctl_login *l, const struct ctl *entry)
{
	const size_t rest = offsetof(struct rnbd_ctl_login_reply, keepalive_ms);
	static const struct rnbd_ctl_login_reply none;
	struct grant *g = &c->grant;

	memcpy(&g->r, entry->body, sizeof(g->r));
	g->status = le16toh(g->r.status);
	if (!g->status)
		return take_segments(c, g) && check_grant(l, g, le32toh(g->r.nr_segments));
	if (g->r.nr_queues || g->r.queue_depth || g->r.reserved ||
	    memcmp((uint8_t *)&g->r + rest, (const uint8_t *)&none + rest, sizeof(none) - rest) ||
	    (g->r.retry_ms && g->status != RNBD_ST_BUSY && g->status != RNBD_ST_LIMIT))
		amiss("a refusal with other fields than the status set");
	counter_due_refusal(g->status);
	return false;
}

/* Log in as a well-behaved client. Return true if granted; else c->grant.status is the reason. */
bool login(struct conn *c, const struct rnbd_ctl_login *l, uint32_t ms)
{
	uint32_t id = ++c->ctl_id;
	struct ctl entry;
	struct frame f;

	c->grant.status = UINT16_MAX;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_LOGIN, id, sizeof(*l)), l, sizeof(*l));
	if (!frame_send(c, &f) || !ctl_await(c, RNBD_CTL_LOGIN_REPLY, &entry, ms))
		return false;
	if (entry.id != id)
		return amiss("the reply to LOGIN %u has id %u", id, entry.id);
	return login_granted(c, l, &entry);
}

struct rnbd_req_entry req_entry(uint8_t op, uint8_t flags, uint16_t tag, uint64_t offset,
				uint32_t length, uint32_t unit)
{
	struct rnbd_req_entry entry = {
		.op = op,
		.flags = flags,
		.tag = htole16(tag),
		.length = htole32(length),
		.offset = htole64(offset),
		.index = htole16(HANDLE_INDEX),
		.generation = htole32(HANDLE_GENERATION),
	};

	if (op == RNBD_OP_READ || op == RNBD_OP_WRITE) {
		entry.nr_extents = 1;
		entry.extent.unit = htole32(unit);
		entry.extent.units = htole32((length + RNBD_UNIT_SIZE - 1) / RNBD_UNIT_SIZE);
	}
	return entry;
}

/*
 * Wait for the reply to a request that is alone in flight. Return its status, or NEVER. If @data is
 * not NULL, set *@data to the inline data, or to NULL if there are none; otherwise inline data fail
 * the case.
 */
int await_reply(struct conn *c, uint16_t tag, uint32_t length, const uint8_t **data)
{
	static const uint8_t zero[8];
	struct rnbd_reply_entry reply;
	const uint8_t *frame;
	uint32_t len, status;

	frame = conn_receive(c, RNBD_FRAME_REPLY, &len, 10000);
	if (!frame)
		return NEVER;
	memcpy(&reply, frame + HDR_BYTES, sizeof(reply));
	status = le16toh(reply.status);
	if (le16toh(reply.tag) != tag)
		amiss("the reply to %u has tag %u", tag, le16toh(reply.tag));
	if (le32toh(reply.length) != (status ? 0 : length))
		amiss("a reply with length %u and status %u", le32toh(reply.length), status);
	if (reply.flags & ~RNBD_REPLY_INLINE || memcmp(reply.reserved, zero, 7))
		amiss("reserved bits are set in a reply");
	if (data)
		*data = NULL;
	if (reply.flags & RNBD_REPLY_INLINE) {
		if (!data || len != HDR_BYTES + sizeof(reply) + length)
			amiss("inline data that was not requested, or of a wrong length");
		else
			*data = frame + HDR_BYTES + sizeof(reply);
	}
	return status;
}

/* Send one request without inline data in a valid frame. Return the status, or NEVER. */
int simple_request(struct conn *c, struct rnbd_req_entry entry)
{
	bool data = entry.op == RNBD_OP_READ || entry.op == RNBD_OP_WRITE ||
		    entry.op == RNBD_OP_DISCARD || entry.op == RNBD_OP_WRITE_ZEROES;
	struct frame f;

	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	memcpy(frame_add(&f, sizeof(entry)), &entry, sizeof(entry));
	if (!frame_send(c, &f))
		return NEVER;
	return await_reply(c, le16toh(entry.tag), data ? le32toh(entry.length) : 0, NULL);
}

/* Return the remote address and the rkey of a unit of the pool. */
uint64_t unit_address(const struct conn *c, uint32_t unit, uint32_t *rkey)
{
	uint32_t per_segment = le32toh(c->grant.r.segment_units);
	const struct rnbd_ctl_segment *seg = &c->grant.seg[unit / per_segment];

	*rkey = le32toh(seg->rkey);
	return le64toh(seg->addr) + (uint64_t)(unit % per_segment) * RNBD_UNIT_SIZE;
}
