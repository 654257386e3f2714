// SPDX-License-Identifier: GPL-2.0-only
/*
 * Service of a target: connection requests, logins, one attachment, and requests to a disk in
 * memory, until the case strikes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "target.h"

static uint8_t disk[DISK_BYTES];

struct target_state target;

void target_listen(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, address, &addr.sin_addr) != 1)
		die("%s is not an address", address);
	target.channel = rdma_create_event_channel();
	if (!target.channel ||
	    rdma_create_id(target.channel, &target.listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(target.listener, (struct sockaddr *)&addr) ||
	    rdma_listen(target.listener, 16))
		die("cannot listen on %s:%u: %s", address, port, strerror(errno));
	fcntl(target.channel->fd, F_SETFL, fcntl(target.channel->fd, F_GETFL) | O_NONBLOCK);
}

static void refuse(struct rdma_cm_id *id, bool hostile)
{
	struct rnbd_cm_rej rej = {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.status = htole16(RNBD_ST_SHUTDOWN),
	};
	uint32_t len = sizeof(rej);

	if (hostile)
		target_patch((uint8_t *)&rej, target.tc->p, ARRAY_SIZE(target.tc->p));
	if (target.mutate) {
		rng_mutate(target.mutate, (uint8_t *)&rej, &len, len);
		target.mutated++;
	}
	rdma_reject(id, &rej, len);
	rdma_destroy_id(id);
}

/* Check a connection request of the kernel's client. */
static bool request_valid(const struct rdma_conn_param *conn, struct rnbd_cm_req *req)
{
	if (conn->private_data_len < sizeof(*req))
		return amiss("a connection request of %u bytes", conn->private_data_len);
	memcpy(req, conn->private_data, sizeof(*req));
	if (le32toh(req->magic) != RNBD_MAGIC || le16toh(req->version) != RNBD_VERSION ||
	    req->path || !req->epoch || le16toh(req->conn) >= RNBD_CONNS_MAX ||
	    (req->conn ? le32toh(req->attempt) <= le32toh(req->epoch) :
			 req->attempt != req->epoch) ||
	    le16toh(req->ring_slots) < RNBD_RING_SLOTS_MIN ||
	    le16toh(req->ring_slots) > RNBD_RING_SLOTS_MAX ||
	    le32toh(req->slot_size) < RNBD_SLOT_SIZE_MIN ||
	    le32toh(req->slot_size) > RNBD_SLOT_SIZE_MAX)
		return amiss("an invalid connection request");
	return true;
}

/* Return true if the case lets the client reconnect, or attach again, after a strike. */
static bool may_return(void)
{
	return target.tc && (target.tc->also == RELENT || target.tc->also == PERSIST);
}

static void on_request(struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	struct conn *c = &target.c;
	struct rnbd_cm_rep rep;
	struct rnbd_cm_req req;
	uint32_t len = sizeof(rep);

	/* This case lets the client retry after the strike: drop the previous connection. */
	if (c->id && c->gone && may_return())
		target_further_drop(c);
	if (target.further && event->param.conn.private_data_len >= sizeof(req)) {
		memcpy(&req, event->param.conn.private_data, sizeof(req));
		if (target_further_request(id, &req))
			return;
	}
	if (target.tc && target.tc->when == AT_REFUSAL &&
	    (target.tc->also != RELENT || !target.struck)) {
		target.struck = true;
		refuse(id, true);
		return;
	}
	if (c->id || !target.tc || (target.struck && !may_return()) ||
	    (target.mutate && !rng_below(target.mutate, 20)) ||
	    !request_valid(&event->param.conn, &req)) {
		refuse(id, false);
		return;
	}
	rep = (struct rnbd_cm_rep) {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.ring_slots = req.ring_slots,
		.slot_size = req.slot_size,
		.attempt = req.attempt,
	};
	if (target.tc->when == AT_ANSWER) {
		target_patch((uint8_t *)&rep, target.tc->p, ARRAY_SIZE(target.tc->p));
		target.struck = true;
	}
	if (target.mutate && !rng_below(target.mutate, 20)) {
		rng_mutate(target.mutate, (uint8_t *)&rep, &len, len);
		target.mutated++;
	}
	/* announce few slots, so that the client sends SLOTS for more */
	if (target.mutate && len == sizeof(rep) && rng_below(target.mutate, 2))
		rep.ring_slots = htole16(RNBD_RING_SLOTS_MIN);
	target.req = req;
	memset(&target.attach, 0, sizeof(target.attach));
	target.attached = false;
	target.asked = 0;
	target.rel[INDEX] = 0;
	target.rel[GENERATION] = 1;
	if (conn_accept(c, id, &req, &rep, len) &&
	    rep.ring_slots == htole16(RNBD_RING_SLOTS_MIN))
		c->granted = RNBD_RING_SLOTS_MIN;
}

/* Grant a login or send a list, with the changes (grant) that the case requests. */
static void let_in(struct conn *c)
{
	static struct frame f;

	if (target.list)
		target_build_list(&f, false, 2);
	else
		target_build_grant(&f);
	target_patch(f.b, target.tc->grant, ARRAY_SIZE(target.tc->grant));
	/* a patch of seq, attempt or credits has no effect: target_send() sets these fields */
	target_send(c, &f);
}

static void on_proof(struct conn *c, const struct ctl *entry)
{
	static struct frame f;

	if (!target.tc->secret) {
		amiss("a PROOF although the target has no secret");
		return;
	}
	/* the case has struck before the client sent its proof */
	if (target.struck)
		return;
	if (!target_auth_take(entry, !c->lax)) {
		/* a mutated challenge can be the cause of the wrong proof */
		if (c->lax) {
			target_build(&f, DENIAL);
			target_send(c, &f);
		}
		return;
	}
	if (target.tc->when == AT_PROOF) {
		target_strike(c);
		return;
	}
	target_build(&f, PROOF);
	target_send(c, &f);
	if (target.tc->when == AT_PROVEN)
		target_strike(c);
	else
		let_in(c);
}

static void on_login(struct conn *c, const struct ctl *entry)
{
	static struct frame f;

	target.list = entry->type == RNBD_CTL_LIST;
	memset(&target.login, 0, sizeof(target.login));
	memcpy(&target.login, entry->body, entry->bytes);
	target_auth_begin(&target.req, &target.login);
	if (target.tc->when == AT_CONNECTED) {
		if (!target.struck)
			target_strike(c);
		return;
	}
	if (target.tc->when == (target.list ? AT_LIST : AT_LOGIN)) {
		target_strike(c);
		return;
	}
	if (!target.tc->secret) {
		let_in(c);
		return;
	}
	target_build(&f, CHALLENGE);
	target_send(c, &f);
}

/* Check an ATTACH: the generation of an index must not decrease. Record the ATTACH in @target. */
static bool attach_valid(const struct ctl *entry)
{
	struct rnbd_ctl_attach a;
	bool again;

	memcpy(&a, entry->body, sizeof(a));
	if (strcmp(a.export, target.tc->name))
		return amiss("an ATTACH of another export: %s", a.export);
	if (!entry->id)
		return amiss("an ATTACH without an id");
	again = target.asked && a.index == target.attach.index;
	if (again && le32toh(a.generation) < le32toh(target.attach.generation))
		return amiss("an ATTACH with generation %u after %u", le32toh(a.generation),
			     le32toh(target.attach.generation));
	target.attach = a;
	target.attach_id = entry->id;
	target.rel[INDEX] = le16toh(a.index);
	target.rel[GENERATION] = le32toh(a.generation);
	target.rel[CTL_ID] = entry->id;
	target.asked++;
	return true;
}

static void on_attach(struct conn *c, const struct ctl *entry)
{
	const struct target_case *tc = target.tc;
	bool due = tc->when == AT_ATTACH || (tc->when == AT_AGAIN && target.live);
	static struct frame f;

	/*
	 * after a strike AT_ATTACH, answer only if the case lets the client retry (RELENT) or
	 * strikes again (PERSIST)
	 */
	if (!attach_valid(entry) || (tc->when == AT_ATTACH && target.struck && !may_return()))
		return;
	due &= !target.struck || tc->also == PERSIST;
	if (due && (tc->when == AT_ATTACH || tc->base == ATTACH_REPLY)) {
		target_strike(c);
		return;
	}
	if (!target_has_credit(c))
		return;
	target_build(&f, ATTACH_REPLY);
	target_patch(f.b, tc->attach, ARRAY_SIZE(tc->attach));
	target.attached = true;
	target_send(c, &f);
	if (due)
		target_strike(c);
}

static void on_detach(struct conn *c, const struct ctl *entry)
{
	struct rnbd_ctl_handle h;
	static struct frame f;

	memcpy(&h, entry->body, sizeof(h));
	if (!target.attached || h.index != target.attach.index ||
	    h.generation != target.attach.generation)
		h.status = htole16(RNBD_ST_NO_ATTACH);
	else
		target.attached = false;
	if (!target_has_credit(c))
		return;
	target_build_detached(&f, &h, entry->id);
	target_send(c, &f);
}

/* Process a RELEASE: only the reclaimed segment may be returned. */
static void on_release(struct conn *c, const struct ctl *entry)
{
	struct rnbd_ctl_lease lease;
	static struct frame f;

	memcpy(&lease, entry->body, sizeof(lease));
	if (!target.struck || target.tc->base != RECLAIM || le32toh(lease.slot) != 1 ||
	    le32toh(lease.generation) != 1) {
		amiss("an unexpected RELEASE of slot %u, generation %u", le32toh(lease.slot),
		      le32toh(lease.generation));
		return;
	}
	if (!target_has_credit(c))
		return;
	target_build(&f, RELEASED);
	target_send(c, &f);
	target.released++;
}

/* Answer a QUERY with EXECUTING: the request has no reply yet, or its reply is in flight. */
void target_answer_query(struct conn *c, const struct ctl *entry)
{
	struct rnbd_ctl_query q;
	static struct frame f;

	memcpy(&q, entry->body, sizeof(q));
	q.state = RNBD_QUERY_EXECUTING;
	if (!target_has_credit(c))
		return;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_QUERY_REPLY, entry->id, sizeof(q)), &q, sizeof(q));
	target_send(c, &f);
}

static void on_control(struct conn *c, const uint8_t *frame, uint32_t len)
{
	/*
	 * a copy of the frame: target_strike() and others can receive further frames on @c while
	 * they wait for credits
	 */
	static struct conn entries;
	struct ctl entry;

	ctl_take(&entries, frame, len);
	while (ctl_left(&entries, &entry)) {
		if (c->queue)
			target_further_entry(c, &entry);
		else if (target_elastic() && entry.type == RNBD_CTL_WANT)
			target_lease_want(c, &entry);
		else if (target.mutate && entry.type == RNBD_CTL_RELEASE)
			target_lease_release(c, &entry);
		else if (target.mutate && entry.type == RNBD_CTL_QUERY)
			target_answer_query(c, &entry);
		else if (entry.type == RNBD_CTL_ATTACH)
			on_attach(c, &entry);
		else if (entry.type == RNBD_CTL_DETACH)
			on_detach(c, &entry);
		else if (entry.type == RNBD_CTL_LOGIN || entry.type == RNBD_CTL_LIST)
			on_login(c, &entry);
		else if (entry.type == RNBD_CTL_PROOF)
			on_proof(c, &entry);
		else if (entry.type == RNBD_CTL_RELEASE)
			on_release(c, &entry);
		else if (entry.type != RNBD_CTL_WANT || !target.login.pool_min)
			amiss("an entry of type %u from a client", entry.type);
	}
}

/* Check the handle of a request; a handle that was never attached is an error. */
static bool handle_valid(const struct rnbd_req_entry *e, bool *closed)
{
	uint32_t generation = le32toh(target.attach.generation);

	*closed = !target.attached || e->generation != target.attach.generation;
	return (target.asked && e->index == target.attach.index &&
		e->generation && le32toh(e->generation) <= generation) ||
	       amiss("a request with a wrong handle: index %u, generation %u", le16toh(e->index),
		     le32toh(e->generation));
}

static const struct rnbd_wire_extent *extent_of(const struct rnbd_req_entry *e, uint32_t i)
{
	const struct rnbd_wire_extent_entry *more = (const void *)(e + 1);

	return i ? &more[(i - 1) / 4].extent[(i - 1) % 4] : &e->extent;
}

/* Copy data between the disk and the pool. */
static void move_data(const struct rnbd_req_entry *e)
{
	uint32_t most = target_elastic() ? MAX_UNITS : POOL_UNITS;
	uint64_t at = le64toh(e->offset);
	uint32_t left = le32toh(e->length), i;

	for (i = 0; i < e->nr_extents; i++) {
		uint32_t unit = le32toh(extent_of(e, i)->unit);
		uint32_t bytes = le32toh(extent_of(e, i)->units) * RNBD_UNIT_SIZE;
		uint8_t *pool = target.c.data + (size_t)unit * RNBD_UNIT_SIZE;

		if (bytes > left)
			bytes = left;
		if (unit >= most || bytes > (most - unit) * RNBD_UNIT_SIZE) {
			/* a mutated grant has possibly announced a larger pool */
			if (!target.mutate)
				amiss("an extent beyond the pool at unit %u", unit);
			return;
		}
		if (e->op == RNBD_OP_READ)
			memcpy(pool, disk + at, bytes);
		else
			memcpy(disk + at, pool, bytes);
		at += bytes;
		left -= bytes;
	}
}

static void on_requests(struct conn *c, const uint8_t *frame, uint32_t len)
{
	const struct rnbd_req_entry *e = (const void *)(frame + HDR_BYTES);
	const struct rnbd_req_entry *end = (const void *)(frame + len);
	struct rnbd_reply_entry reply = { };
	static struct frame f;

	for (; e < end; e += 1 + (e->nr_extents + 2) / 4) {
		uint32_t length = le32toh(e->length);
		uint64_t offset = le64toh(e->offset);
		bool closed;

		target.rel[TAG_SENT] = le16toh(e->tag);
		target.rel[CAPACITY] = length;
		if (!handle_valid(e, &closed))
			return;
		if (target.tc->when == AT_REQUEST && !target.struck) {
			target_strike(c);
			return;
		}
		reply.tag = e->tag;
		reply.status = 0;
		reply.length = e->length;
		/*
		 * a CAPACITY or ATTACH_REPLY has possibly announced more bytes than the disk in
		 * memory has
		 */
		if (closed || length > DISK_BYTES || offset > DISK_BYTES - length) {
			reply.status = htole16(closed ? RNBD_ST_CLOSED : RNBD_ST_RANGE);
			reply.length = 0;
		} else {
			move_data(e);
		}
		if (!target_has_credit(c))
			return;
		frame_begin(&f, RNBD_FRAME_REPLY, 1);
		memcpy(frame_add(&f, sizeof(reply)), &reply, sizeof(reply));
		target_send(c, &f);
		if (target.mutate && !rng_below(target.mutate, 16))
			target_event();
	}
}

static void serve_frame(struct conn *c, const uint8_t *frame, uint32_t len)
{
	static uint8_t copy[RNBD_SLOT_SIZE_MAX];

	memcpy(copy, frame, len);
	if (copy[0] == RNBD_FRAME_REQUEST)
		on_requests(c, copy, len);
	else if (copy[0] == RNBD_FRAME_CONTROL)
		on_control(c, copy, len);
	else
		amiss("a frame of type %u from a client", copy[0]);
}

/* Serve the frames that were put off. While a frame is served, further frames can be put off. */
static void serve_put_off(void)
{
	while (target.nr_put_off) {
		struct conn *c = target.put_off[0].c;
		uint32_t len = target.put_off[0].len;
		static uint8_t copy[RNBD_SLOT_SIZE_MAX];

		memcpy(copy, target.put_off[0].b, len);
		target.nr_put_off--;
		memmove(&target.put_off[0], &target.put_off[1],
			target.nr_put_off * sizeof(target.put_off[0]));
		if (c && c->id && !c->gone)
			serve_frame(c, copy, len);
	}
}

static void serve_further(void)
{
	const uint8_t *frame;
	uint32_t i, len;

	for (i = 0; i < TARGET_FURTHER; i++) {
		struct conn *c = &target.more[i];

		if (!c->id)
			continue;
		conn_step(c);
		while (!c->gone && (frame = conn_receive(c, 0, &len, 0))) {
			serve_frame(c, frame, len);
			serve_put_off();
		}
		if (c->gone)
			target_further_drop(c);
	}
}

/* Process all pending events and frames. */
void target_serve(void)
{
	struct rdma_cm_event *event;
	struct conn *c = &target.c;
	const uint8_t *frame;
	uint32_t len;

	while (!rdma_get_cm_event(target.channel, &event)) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && !aside_request(event))
			on_request(event);
		rdma_ack_cm_event(event);
	}
	aside_step();
	if (!c->id)
		return;
	conn_step(c);
	if (c->established && target.tc->when == AT_CONNECTED && !target.struck)
		target_strike(c);
	serve_put_off();
	while (!c->gone && !target.silent && (frame = conn_receive(c, 0, &len, 0))) {
		serve_frame(c, frame, len);
		/* before the next frame, serve the frames that target_has_credit() has put off */
		serve_put_off();
	}
	serve_further();
	if (target.live && !target.silent && target.struck && target.tc->also == STARVE)
		conn_alive(c, 800);
}
