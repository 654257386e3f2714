// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood: connections to a target that never log in.
 *
 * Operation: as many connections as wanted are kept open, from the addresses that
 * are given, by turns. One that is refused or ended is made again a second later. With
 * -f, the first that stands sends that many CREDIT frames, faster than any lawful
 * client would. After that, after -t seconds, or on SIGTERM, a line tells what has
 * happened.
 * Ownership: a struct conn lives as long as the program; its id is made anew.
 * Concurrency: one thread and one channel of events.
 * Errors: what the network refuses is counted, what this machine cannot do ends it.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include <rnbd/wire.h>

#define SOURCES_MAX	256
#define FRAME_RECVS	64
#define AGAIN_MS	1000
#define SEND_MS		5000	/* a receiver that is not ready takes its time */

/**
 * struct conn - one connection
 * @id: NULL while there is none
 * @stands: the target has accepted it
 * @again: when it may be made again
 */
struct conn {
	struct rdma_cm_id *id;
	bool stands;
	int64_t again;
};

static struct sockaddr_in target = { .sin_family = AF_INET };
static struct sockaddr_in sources[SOURCES_MAX];
static unsigned int nr_sources, next_source;
static struct rdma_event_channel *channel;
static struct conn *conns;
static unsigned int nr_conns = 1;
static uint16_t slots = 64;
static uint32_t slot_size = 8192;
static unsigned int frames;
static uint8_t host_id[16];
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *slot_memory;
static atomic_bool stop;

static struct {
	unsigned long connects, accepted, refused, busy, ended, failed;
} count;

static void die(const char *what)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void on_signal(int number)
{
	(void)number;
	stop = true;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

static void drop(struct conn *conn)
{
	if (conn->id->qp)
		rdma_destroy_qp(conn->id);
	rdma_destroy_id(conn->id);
	conn->id = NULL;
	conn->stands = false;
	conn->again = now_ms() + AGAIN_MS;
}

static void start(struct conn *conn)
{
	struct sockaddr *from = NULL;

	if (rdma_create_id(channel, &conn->id, conn, RDMA_PS_TCP))
		die("rdma_create_id");
	if (nr_sources)
		from = (struct sockaddr *)&sources[next_source++ % nr_sources];
	count.connects++;
	if (rdma_resolve_addr(conn->id, from, (struct sockaddr *)&target, 2000)) {
		count.failed++;
		drop(conn);
	}
}

static void make_shared(struct ibv_context *verbs)
{
	if (pd)
		return;
	pd = ibv_alloc_pd(verbs);
	cq = pd ? ibv_create_cq(verbs, 4096, NULL, NULL, 0) : NULL;
	slot_memory = calloc(1, slot_size);
	mr = cq && slot_memory ? ibv_reg_mr(pd, slot_memory, slot_size, IBV_ACCESS_LOCAL_WRITE) :
				 NULL;
	if (!mr)
		die("verbs");
}

static void post_recvs(struct conn *conn)
{
	struct ibv_sge sge = { (uintptr_t)slot_memory, slot_size, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	unsigned int i;

	for (i = 0; i < FRAME_RECVS; i++)
		if (ibv_post_recv(conn->id->qp, &wr, &bad))
			die("ibv_post_recv");
}

static int make_queue_pair(struct conn *conn)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4, .max_recv_wr = frames ? FRAME_RECVS : 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	make_shared(conn->id->verbs);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(conn->id, pd, &attr))
		return -1;
	if (frames)
		post_recvs(conn);
	return 0;
}

static int ask(struct conn *conn)
{
	struct rnbd_cm_req req = {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.ring_slots = htole16(slots),
		.slot_size = htole32(slot_size),
		.epoch = htole32(1),
	};
	struct rdma_conn_param param = {
		.private_data = &req, .private_data_len = sizeof(req),
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 7,
	};

	memcpy(req.host_id, host_id, sizeof(req.host_id));
	if (getrandom(req.session_id, sizeof(req.session_id), 0) != sizeof(req.session_id))
		die("getrandom");
	if (make_queue_pair(conn))
		return -1;
	return rdma_connect(conn->id, &param);
}

/* Returns whether it left. */
static bool send_frame(struct conn *conn, uint32_t seq)
{
	struct rnbd_frame_hdr hdr = {
		.type = RNBD_FRAME_CREDIT, .seq = htole32(seq), .epoch = htole32(1),
	};
	struct ibv_sge sge = { .addr = (uintptr_t)&hdr, .length = sizeof(hdr) };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE, .wr_id = 1,
	};
	int64_t end = now_ms() + SEND_MS;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int nr;

	if (ibv_post_send(conn->id->qp, &wr, &bad))
		return false;
	/* soft-RoCE does not flush what comes while a queue pair fails. */
	while (now_ms() < end) {
		nr = ibv_poll_cq(cq, 1, &wc);
		if (nr < 0)
			die("ibv_poll_cq");
		if (nr && (wc.status || wc.wr_id == 1))
			return wc.status == IBV_WC_SUCCESS;
	}
	return false;
}

static void send_frames(struct conn *conn)
{
	unsigned int i;

	for (i = 0; i < frames; i++)
		if (!send_frame(conn, i))
			break;
	printf("sent %u frames\n", i);
	stop = true;
}

static void note_refusal(const struct rdma_cm_event *event)
{
	const struct rnbd_cm_rej *rej = event->param.conn.private_data;

	count.refused++;
	if (event->param.conn.private_data_len >= sizeof(*rej) &&
	    le32toh(rej->magic) == RNBD_MAGIC && le16toh(rej->status) == RNBD_ST_BUSY)
		count.busy++;
}

/* Returns whether the connection goes on. */
static bool handle(struct conn *conn, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (!rdma_resolve_route(conn->id, 2000))
			return true;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!ask(conn))
			return true;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		count.accepted++;
		conn->stands = true;
		if (frames)
			send_frames(conn);
		return true;
	case RDMA_CM_EVENT_REJECTED:
		note_refusal(event);
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
	struct conn *conn;
	bool goes_on;

	if (poll(&pfd, 1, timeout_ms) <= 0)
		return;
	if (rdma_get_cm_event(channel, &event))
		die("rdma_get_cm_event");
	conn = event->id->context;
	goes_on = handle(conn, event);
	rdma_ack_cm_event(event);
	if (!goes_on)
		drop(conn);
}

static unsigned int standing(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nr_conns; i++)
		nr += conns[i].stands;
	return nr;
}

static void parse_sources(char *text)
{
	char *word;

	for (word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		if (nr_sources == SOURCES_MAX)
			break;
		sources[nr_sources].sin_family = AF_INET;
		if (inet_pton(AF_INET, word, &sources[nr_sources++].sin_addr) != 1) {
			errno = EINVAL;
			die(word);
		}
	}
}

static void parse_host(const char *text)
{
	unsigned int i = 0;

	for (; *text && i < sizeof(host_id); text++) {
		if (*text == '-')
			continue;
		if (sscanf(text, "%2hhx", &host_id[i++]) != 1)
			break;
		text++;
	}
	if (i != sizeof(host_id) || *text) {
		errno = EINVAL;
		die("host id");
	}
}

static void usage(void)
{
	fputs("flood [-n CONNECTIONS] [-s SOURCE,...] [-r RING-SLOTS] [-f FRAMES] [-t SECONDS]\n"
	      "      HOST-UUID ADDRESS\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	int64_t end = INT64_MAX;
	unsigned int i;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:r:f:t:")) != -1) {
		switch (opt) {
		case 'n':
			nr_conns = strtoul(optarg, NULL, 10);
			break;
		case 's':
			parse_sources(optarg);
			break;
		case 'r':
			slots = strtoul(optarg, NULL, 10);
			break;
		case 'f':
			frames = strtoul(optarg, NULL, 10);
			break;
		case 't':
			end = now_ms() + 1000 * strtol(optarg, NULL, 10);
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 2 || !nr_conns)
		usage();
	parse_host(argv[optind]);
	target.sin_port = htons(RNBD_DEFAULT_PORT);
	if (inet_pton(AF_INET, argv[optind + 1], &target.sin_addr) != 1)
		usage();
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);

	conns = calloc(nr_conns, sizeof(*conns));
	channel = rdma_create_event_channel();
	if (!conns || !channel)
		die("no RDMA");
	while (!stop && now_ms() < end) {
		for (i = 0; i < nr_conns; i++)
			if (!conns[i].id && now_ms() >= conns[i].again)
				start(&conns[i]);
		pump(100);
	}
	printf("connects %lu accepted %lu refused %lu busy %lu ended %lu failed %lu held %u\n",
	       count.connects, count.accepted, count.refused, count.busy, count.ended,
	       count.failed, standing());
	return 0;
}
