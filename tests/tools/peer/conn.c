// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection: events of the connection manager, a queue pair with a ring of receive slots, sends,
 * and RDMA operations.
 *
 * Operation: conn_step() processes pending events and completions without blocking. A function that
 * waits calls it repeatedly until a state or a deadline is reached.
 * Ownership: a connection has one block of memory: receive slots, send slots, and data for RDMA. A
 * client registers it for local access only.
 * Concurrency: one thread.
 * Errors: an error that a hostile peer can cause is recorded in struct conn; any other error ends
 * the program.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define WR_RECV		0x10000ull	/* + slot */
#define WR_SEND		0x20000ull	/* + slot */
#define WR_RDMA		0x30000ull

/* Bytes for RDMA per connection; programs that open many connections reduce it. */
uint32_t conn_data_bytes = DATA_BYTES;

/* Set the epoch, for connection 0. */
void request_epoch(struct request *req, uint32_t epoch)
{
	req->cm.epoch = htole32(epoch);
	req->cm.attempt = htole32(epoch);
}

/* Set the number of a further connection; its attempt number is epoch + @attempts. */
void request_conn(struct request *req, uint32_t conn, uint32_t attempts)
{
	req->cm.conn = htole16(conn);
	req->cm.attempt = htole32(le32toh(req->cm.epoch) + attempts);
}

void request_init(struct request *req, uint32_t host, uint32_t slots, uint32_t slot_size)
{
	struct uuid host_id = host_uuid(host), session_id = random_uuid();

	memset(req, 0, sizeof(*req));
	req->len = sizeof(req->cm);
	req->rnr = 6;
	req->cm.magic = htole32(RNBD_MAGIC);
	req->cm.version = htole16(RNBD_VERSION);
	req->cm.ring_slots = htole16(slots);
	req->cm.slot_size = htole32(slot_size);
	request_epoch(req, 1);
	memcpy(req->cm.host_id, &host_id, sizeof(host_id));
	memcpy(req->cm.session_id, &session_id, sizeof(session_id));
}

static void post_receive(struct conn *c, uint32_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->mem + (uint64_t)slot * c->slot_size,
		.length = c->slot_size,
		.lkey = c->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = WR_RECV + slot,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	if (ibv_post_recv(c->id->qp, &wr, &bad) && !c->gone)
		die("post_recv: %s", strerror(errno));
}

/*
 * Allocate memory and a queue pair, and post the receive slots unless @no_slots. The caller has set
 * @c->slots, @c->slot_size and @c->id. Return false if a client has cancelled its request.
 */
bool conn_queue_pair(struct conn *c, bool no_slots)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = SENDS,
			.max_recv_wr = c->slots,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	uint32_t send_size = c->slot_size + 4096;
	int access = IBV_ACCESS_LOCAL_WRITE;
	size_t bytes;
	uint32_t i;

	bytes = (size_t)c->slots * c->slot_size + (size_t)SENDS * send_size + conn_data_bytes;
	c->mem = aligned_alloc(4096, (bytes + 4095) & ~4095ull);
	if (!c->mem)
		die("no memory");
	/*
	 * fill with a byte other than 0, so that a test that expects zeros fails if it reads
	 * nothing
	 */
	if (conn_data_bytes == DATA_BYTES)
		memset(c->mem, 0x5a, bytes);
	c->data = c->mem + bytes - conn_data_bytes;
	if (c->serves)
		access |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	c->cq = ibv_create_cq(c->id->verbs, c->slots + SENDS, NULL, NULL, 0);
	if (!c->cq)
		die("create_cq: %s", strerror(errno));
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (rdma_create_qp(c->id, NULL, &attr)) {
		/* the client has possibly cancelled its request */
		if (c->serves && errno == EINVAL)
			return false;
		die("create_qp: %s", strerror(errno));
	}
	c->mr = ibv_reg_mr(c->id->pd, c->mem, bytes, access);
	if (!c->mr)
		die("reg_mr: %s", strerror(errno));
	for (i = 0; i < c->slots && !no_slots; i++)
		post_receive(c, i);
	return true;
}

/*
 * Process the reply to a connection request. The reply can be longer than struct rnbd_cm_rep,
 * because the connection manager appends zeros.
 */
static void take_answer(struct conn *c, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rnbd_cm_rep rep;

	if (conn->private_data_len < sizeof(rep)) {
		amiss("a connection reply of %u bytes", conn->private_data_len);
		return;
	}
	memcpy(&rep, conn->private_data, sizeof(rep));
	c->peer_slots = le16toh(rep.ring_slots);
	c->credits = c->peer_slots;
	if (le32toh(rep.magic) != RNBD_MAGIC || le16toh(rep.version) != RNBD_VERSION ||
	    le32toh(rep.slot_size) != c->slot_size || le32toh(rep.attempt) != c->attempt ||
	    c->peer_slots < RNBD_RING_SLOTS_MIN || c->peer_slots > c->slots)
		amiss("an invalid connection reply");
	c->established = true;
	if (!c->queue)
		watch_session();
}

static void take_refusal(struct conn *c, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rnbd_cm_rej rej;

	c->refused = true;
	c->status = NEVER;
	/* 28: rejected by the peer's consumer */
	if (event->event != RDMA_CM_EVENT_REJECTED || event->status != 28 ||
	    conn->private_data_len < sizeof(rej))
		return;
	memcpy(&rej, conn->private_data, sizeof(rej));
	if (le32toh(rej.magic) != RNBD_MAGIC)
		return;
	c->version = le16toh(rej.version);
	if (memcmp(rej.reserved, "\0\0\0", 4) ||
	    (rej.retry_ms && le16toh(rej.status) != RNBD_ST_BUSY &&
	     le16toh(rej.status) != RNBD_ST_LIMIT))
		amiss("a refusal with reserved bytes or retry_ms set");
	c->status = le16toh(rej.status);
	counter_due_refusal(c->status);
}

static void take_event(struct conn *c, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		c->resolved = true;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (c->peer_slots)
			c->established = true;	/* we are the target */
		else
			take_answer(c, event);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		c->gone = true;
		break;
	default:
		if (!c->established)
			take_refusal(c, event);
		c->gone = true;
		break;
	}
}

static void take_completion(struct conn *c, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		c->flushed++;
	else if (wc->status && !c->failed)
		c->failed = wc->status;
	if (wc->wr_id == WR_RDMA) {
		c->rdma_done = true;
		c->sends_busy--;
	} else if (wc->wr_id >= WR_SEND) {
		c->sends_busy--;
	} else if (!wc->status) {
		c->taken[c->tail % ARRAY_SIZE(c->taken)].slot = wc->wr_id - WR_RECV;
		c->taken[c->tail++ % ARRAY_SIZE(c->taken)].len = wc->byte_len;
	}
}

void conn_step(struct conn *c)
{
	struct rdma_cm_event *event;
	struct ibv_wc wc;

	while (c->cq && ibv_poll_cq(c->cq, 1, &wc) > 0)
		take_completion(c, &wc);
	while (c->channel && !rdma_get_cm_event(c->channel, &event)) {
		take_event(c, event);
		rdma_ack_cm_event(event);
	}
}

static bool resolved(struct conn *c)
{
	uint64_t end = deadline(5000);

	while (!c->resolved && !c->gone && now_ms() < end) {
		conn_step(c);
		nap();
	}
	if (!c->resolved)
		die("cannot resolve %s", address);
	c->resolved = false;
	return true;
}

/* Start to connect; the reply arrives later. */
bool conn_begin(struct conn *c, const struct request *req)
{
	struct sockaddr_in dst = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct rdma_conn_param param = {
		.private_data = req->len ? &req->cm : NULL,
		.private_data_len = req->len,
		.initiator_depth = 16,
		.retry_count = 1,
		.rnr_retry_count = req->rnr,
	};
	uint8_t timeout = 15;
	uint32_t slots = le16toh(req->cm.ring_slots), size = le32toh(req->cm.slot_size);

	memset(c, 0, sizeof(*c));
	c->req = *req;
	/* if the request announces an invalid geometry, use a valid one here */
	c->slots = slots >= RNBD_RING_SLOTS_MIN && slots <= RNBD_RING_SLOTS_MAX ? slots : 16;
	c->slot_size = size >= RNBD_SLOT_SIZE_MIN && size <= RNBD_SLOT_SIZE_MAX ? size : 4096;
	if (c->slots * c->slot_size > 8 << 20)
		c->slots = 16;
	c->granted = RNBD_RING_SLOTS_MIN;
	c->attempt = le32toh(req->cm.attempt);
	c->queue = le16toh(req->cm.conn);
	c->channel = rdma_create_event_channel();
	if (!c->channel || rdma_create_id(c->channel, &c->id, c, RDMA_PS_TCP))
		die("create_id: %s", strerror(errno));
	fcntl(c->channel->fd, F_SETFL, fcntl(c->channel->fd, F_GETFL) | O_NONBLOCK);
	if (inet_pton(AF_INET, address, &dst.sin_addr) != 1)
		die("%s is not an address", address);
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&dst, 2000) || !resolved(c) ||
	    rdma_resolve_route(c->id, 2000) || !resolved(c))
		die("resolve: %s", strerror(errno));
	/* detect lost packets early: by default, each of the two attempts takes about 4 s */
	rdma_set_option(c->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			sizeof(timeout));
	conn_queue_pair(c, req->no_slots);
	return !rdma_connect(c->id, &param);
}

/*
 * Accept a connection request. The reply has the private data @answer. Return false if the
 * connection was not accepted, for example because the client has cancelled its request.
 */
bool conn_accept(struct conn *c, struct rdma_cm_id *id, const struct rnbd_cm_req *req,
		 const void *answer, uint8_t len)
{
	struct rdma_conn_param param = {
		.private_data = answer,
		.private_data_len = len,
		.responder_resources = 16,
		.rnr_retry_count = 3,
	};

	c->slots = le16toh(req->ring_slots);
	c->slot_size = le32toh(req->slot_size);
	/* the reply announces all slots, and all of them are posted */
	c->granted = c->slots;
	c->peer_slots = RNBD_RING_SLOTS_MIN;
	c->credits = c->peer_slots;
	c->attempt = le32toh(req->attempt);
	c->serves = true;
	c->id = id;
	c->channel = rdma_create_event_channel();
	if (!c->channel || rdma_migrate_id(id, c->channel))
		die("migrate_id: %s", strerror(errno));
	fcntl(c->channel->fd, F_SETFL, fcntl(c->channel->fd, F_GETFL) | O_NONBLOCK);
	if (!conn_queue_pair(c, false)) {
		conn_drop(c);
		return false;
	}
	if (!rdma_accept(id, &param))
		return true;
	if (errno != EINVAL)
		amiss("accept: %s", strerror(errno));
	conn_drop(c);
	return false;
}

/*
 * Connect. Return 0, the status with which the target has refused, or NEVER if there is no status.
 */
int conn_open(struct conn *c, const struct request *req)
{
	uint64_t end = deadline(8000);

	if (!conn_begin(c, req))
		return NEVER;
	while (!c->established && !c->gone && now_ms() < end) {
		conn_step(c);
		nap();
	}
	return c->established ? 0 : c->refused ? c->status : NEVER;
}

/* Free the connection without a disconnect message to the peer. */
void conn_drop(struct conn *c)
{
	if (!c->id)
		return;
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	rdma_destroy_id(c->id);
	if (c->channel)
		rdma_destroy_event_channel(c->channel);
	free(c->mem);
	memset(c, 0, sizeof(*c));
}

void conn_close(struct conn *c)
{
	if (c->id && c->established)
		rdma_disconnect(c->id);
	conn_drop(c);
}

static bool post_send(struct conn *c, struct ibv_send_wr *wr)
{
	uint64_t end = deadline(5000);
	struct ibv_send_wr *bad;

	/* send slots are reused round-robin, so the next one can still be in use */
	while (c->sends_busy >= SENDS - 1 && now_ms() < end) {
		conn_step(c);
		nap();
	}
	if (c->sends_busy >= SENDS - 1 || ibv_post_send(c->id->qp, wr, &bad))
		return false;
	c->sends_busy++;
	c->last_sent = now_ms();
	return true;
}

/* Send bytes unchanged. */
bool conn_post(struct conn *c, const void *bytes, uint32_t len, enum ibv_wr_opcode opcode,
	       uint32_t imm_or_key)
{
	uint32_t slot = c->send_next++ % SENDS;
	uint8_t *room = c->mem + (size_t)c->slots * c->slot_size +
			(size_t)slot * (c->slot_size + 4096);
	struct ibv_sge sge = {
		.addr = (uintptr_t)room, .length = len, .lkey = c->mr->lkey
	};
	struct ibv_send_wr wr = {
		.wr_id = WR_SEND + slot, .sg_list = &sge, .num_sge = !!len, .opcode = opcode,
	};

	if (len > c->slot_size + 4096)
		die("a frame of %u bytes", len);
	if (opcode == IBV_WR_SEND_WITH_IMM)
		wr.imm_data = htobe32(imm_or_key);
	else if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = imm_or_key;
	memcpy(room, bytes, len);
	return post_send(c, &wr);
}

/* Start an RDMA operation between our data at offset @at and the peer's memory. */
bool conn_rdma(struct conn *c, enum ibv_wr_opcode opcode, uint32_t at, uint32_t len,
	       uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->data + at, .length = len, .lkey = c->mr->lkey
	};
	struct ibv_send_wr wr = {
		.wr_id = WR_RDMA, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	c->rdma_done = false;
	return post_send(c, &wr);
}

/* Wait for the RDMA operation. Return its status (0: success), or NEVER after @ms. */
int conn_rdma_wait(struct conn *c, uint32_t ms)
{
	uint64_t end = deadline(ms);

	while (!c->rdma_done && now_ms() < end) {
		conn_step(c);
		nap();
	}
	if (!c->rdma_done)
		return NEVER;
	return c->failed ? (int)c->failed : c->flushed ? IBV_WC_WR_FLUSH_ERR : 0;
}

bool conn_wait_gone(struct conn *c, uint32_t ms)
{
	uint64_t end = deadline(ms);

	while (!c->gone && now_ms() < end) {
		conn_step(c);
		nap();
	}
	return c->gone;
}

/*
 * Post the slot of the oldest received frame again, and count a credit to return for it. The
 * members @mute, @liar and @retire of struct conn change this.
 */
static void give_back(struct conn *c)
{
	uint32_t slot = c->taken[c->head++ % ARRAY_SIZE(c->taken)].slot;

	if (c->mute)
		return;
	if (!c->liar)
		post_receive(c, slot);
	if (c->retire) {
		c->retire--;
		c->granted--;
	} else {
		c->owed++;
	}
	slots_answer(c);
	if (c->owed >= c->granted / 2 && c->credits > 0)
		frame_credit(c);
}

/*
 * Receive and check the next frame; skip CREDIT frames and frames about slots. Return the frame,
 * valid until the next call, or NULL if none arrives within @ms or the connection ends. If the
 * frame is invalid, or not of @type (0: any type), fail the case and return NULL.
 */
const uint8_t *conn_receive(struct conn *c, uint8_t type, uint32_t *len, uint32_t ms)
{
	static uint8_t copy[RNBD_SLOT_SIZE_MAX];
	uint64_t end = deadline(ms);

	for (;;) {
		conn_step(c);
		while (c->head != c->tail) {
			uint32_t slot = c->taken[c->head % ARRAY_SIZE(c->taken)].slot;
			uint32_t n = c->taken[c->head % ARRAY_SIZE(c->taken)].len;
			bool valid, about_slots;

			memcpy(copy, c->mem + (size_t)slot * c->slot_size, n);
			valid = frame_check(c, copy, n);
			if (valid)
				kinds_count(false, copy, n);
			about_slots = valid && slots_take(c, copy, n);
			give_back(c);
			if (!valid)
				return NULL;
			if (copy[0] == RNBD_FRAME_CREDIT || about_slots)
				continue;
			if (type && copy[0] != type) {
				amiss("a frame of type %u, wanted %u", copy[0], type);
				return NULL;
			}
			*len = n;
			return copy;
		}
		if (c->gone || now_ms() >= end)
			return NULL;
		nap();
	}
}

/* Send a keep-alive if one is due. */
void conn_alive(struct conn *c, uint32_t interval_ms)
{
	if (c->established && !c->gone && c->credits > 2 &&
	    now_ms() >= c->last_sent + interval_ms / 2)
		frame_credit(c);
}
