// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections to a target that never log in.
 *
 * Operation: the requested number of connections is kept open, from the given source addresses in
 * turn. A connection that is refused or ended is reopened a second later. If frames are requested,
 * the first accepted connection sends that number of CREDIT frames, faster than a well-behaved
 * client does, and then the program ends. In any case the program ends after the given time, and on
 * SIGTERM. At the end it prints a line of counts.
 * Ownership: each struct flooder exists until the program ends, and gets a new RDMA id for each
 * connection.
 * Concurrency: one thread and one event channel, so that a flood costs little on this machine.
 * Errors: network errors are counted; errors of this machine end the program.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define SOURCES_MAX	256
#define SLOT_SIZE	8192
#define FRAME_RECVS	64
#define AGAIN_MS	1000
#define SEND_MS		5000	/* time limit of a SEND, including RNR retries */

/**
 * struct flooder - one connection
 * @id: NULL while there is no connection
 * @stands: True after the target has accepted the connection
 * @again: Time in ms from which the connection may be reopened
 */
struct flooder {
	struct rdma_cm_id *id;
	bool stands;
	uint64_t again;
};

static const struct flood *settings;
static struct sockaddr_in target = { .sin_family = AF_INET };
static struct sockaddr_in sources[SOURCES_MAX];
static uint32_t nr_sources, next_source;
static struct rdma_event_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *slot;
static atomic_bool stop;

static struct {
	uint32_t connects, accepted, refused, busy, ended, failed;
} count;

static void on_signal(int number)
{
	(void)number;
	stop = true;
}

static void drop(struct flooder *c)
{
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	rdma_destroy_id(c->id);
	c->id = NULL;
	c->stands = false;
	c->again = now_ms() + AGAIN_MS;
}

static void start(struct flooder *c)
{
	struct sockaddr *from = NULL;

	if (rdma_create_id(channel, &c->id, c, RDMA_PS_TCP))
		die("create_id: %s", strerror(errno));
	if (nr_sources)
		from = (struct sockaddr *)&sources[next_source++ % nr_sources];
	count.connects++;
	if (rdma_resolve_addr(c->id, from, (struct sockaddr *)&target, 2000)) {
		count.failed++;
		drop(c);
	}
}

/* Allocate the protection domain, completion queue and memory that all connections share. */
static void make_shared(struct ibv_context *verbs)
{
	if (pd)
		return;
	pd = ibv_alloc_pd(verbs);
	cq = pd ? ibv_create_cq(verbs, 4096, NULL, NULL, 0) : NULL;
	slot = calloc(1, SLOT_SIZE);
	mr = cq && slot ? ibv_reg_mr(pd, slot, SLOT_SIZE, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr)
		die("verbs: %s", strerror(errno));
}

static bool make_queue_pair(struct flooder *c)
{
	uint32_t recvs = settings->frames ? FRAME_RECVS : 1, i;
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4, .max_recv_wr = recvs,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	make_shared(c->id->verbs);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(c->id, pd, &attr))
		return false;
	sge = (struct ibv_sge){ (uintptr_t)slot, SLOT_SIZE, mr->lkey };
	for (i = 0; i < recvs; i++)
		if (ibv_post_recv(c->id->qp, &wr, &bad))
			die("post_recv: %s", strerror(errno));
	return true;
}

static bool ask(struct flooder *c)
{
	struct request req;
	struct rdma_conn_param param = {
		.private_data = &req.cm, .private_data_len = sizeof(req.cm),
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 6,
	};

	request_init(&req, settings->host, settings->slots, SLOT_SIZE);
	return make_queue_pair(c) && !rdma_connect(c->id, &param);
}

/* Send a CREDIT frame. Return true if its SEND has completed with success. */
static bool send_frame(struct flooder *c, uint32_t seq)
{
	struct rnbd_frame_hdr hdr = {
		.type = RNBD_FRAME_CREDIT, .seq = htole32(seq), .attempt = htole32(1),
	};
	struct ibv_sge sge = { .addr = (uintptr_t)&hdr, .length = sizeof(hdr) };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE, .wr_id = 1,
	};
	uint64_t end = now_ms() + SEND_MS;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int nr;

	if (ibv_post_send(c->id->qp, &wr, &bad))
		return false;
	/* on soft-RoCE, a SEND that is posted while the queue pair fails never completes */
	while (now_ms() < end) {
		nr = ibv_poll_cq(cq, 1, &wc);
		if (nr < 0)
			die("poll_cq");
		if (nr && (wc.status || wc.wr_id == 1))
			return wc.status == IBV_WC_SUCCESS;
	}
	return false;
}

static void send_frames(struct flooder *c)
{
	uint32_t i;

	for (i = 0; i < settings->frames; i++)
		if (!send_frame(c, i))
			break;
	printf("sent %u frames\n", i);
	stop = true;
}

static void note_refusal(const struct rdma_conn_param *conn)
{
	struct rnbd_cm_rej rej;

	count.refused++;
	if (conn->private_data_len < sizeof(rej))
		return;
	memcpy(&rej, conn->private_data, sizeof(rej));
	count.busy += le32toh(rej.magic) == RNBD_MAGIC && le16toh(rej.status) == RNBD_ST_BUSY;
}

/* Process an event. Return true if the connection continues. */
static bool handle(struct flooder *c, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (!rdma_resolve_route(c->id, 2000))
			return true;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (ask(c))
			return true;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		count.accepted++;
		c->stands = true;
		if (settings->frames)
			send_frames(c);
		return true;
	case RDMA_CM_EVENT_REJECTED:
		note_refusal(&event->param.conn);
		return false;
	case RDMA_CM_EVENT_DISCONNECTED:
		count.ended++;
		return false;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		break;
	}
	count.failed++;
	return false;
}

static void pump(int timeout_ms)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	struct flooder *c;
	bool goes_on;

	if (poll(&pfd, 1, timeout_ms) <= 0)
		return;
	if (rdma_get_cm_event(channel, &event))
		die("get_cm_event: %s", strerror(errno));
	c = event->id->context;
	goes_on = handle(c, event);
	rdma_ack_cm_event(event);
	if (!goes_on)
		drop(c);
}

static void parse_sources(char *text)
{
	char *word;

	for (word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		struct sockaddr_in *source = &sources[nr_sources++];

		source->sin_family = AF_INET;
		if (nr_sources == SOURCES_MAX || inet_pton(AF_INET, word, &source->sin_addr) != 1)
			die("%s is not an address, or too many addresses", word);
	}
}

int client_flood(const struct flood *flood)
{
	uint64_t end = now_ms() + flood->seconds * 1000ull;
	struct flooder *c = calloc(flood->connects, sizeof(*c));
	uint32_t i, held = 0;

	settings = flood;
	target.sin_port = htons(port);
	if (inet_pton(AF_INET, address, &target.sin_addr) != 1)
		die("%s is not an address", address);
	if (flood->sources)
		parse_sources(flood->sources);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	channel = rdma_create_event_channel();
	if (!c || !channel)
		die("no RDMA device for this address");
	while (!stop && now_ms() < end) {
		for (i = 0; i < flood->connects; i++)
			if (!c[i].id && now_ms() >= c[i].again)
				start(&c[i]);
		pump(100);
	}
	for (i = 0; i < flood->connects; i++)
		held += c[i].stands;
	printf("connects %u accepted %u refused %u busy %u ended %u failed %u held %u\n",
	       count.connects, count.accepted, count.refused, count.busy, count.ended,
	       count.failed, held);
	return 0;
}
