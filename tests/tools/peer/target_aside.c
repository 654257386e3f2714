// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asides: targets that make their client wait. The attach of the client must fail within a time
 * limit and name the reason.
 *
 * Operation: each aside listens on its own port, and its "rnbd attach" runs concurrently with the
 * cases.
 * Ownership: a listener remains until the program ends, and the connection of an aside until the
 * aside is judged.
 * Concurrency: one thread; the cases' event channel also delivers the connection requests of
 * asides.
 * Errors: each aside is judged like a case, after all cases.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "peer.h"

static struct aside {
	const char *name;
	const char *why;
	uint32_t most_ms;
	bool accepts;
	bool runs;
	uint32_t asked;
	struct rdma_cm_id *listener;
	struct conn c;
	struct job job;
	uint64_t began, ended;
} asides[] = {
	{ "busy-forever", "or has many logins; try again", 40000 },
	{ "login-unanswered", "no keep-alive from the peer", 30000, true },
};

static uint16_t aside_port(size_t i)
{
	return port + 1 + i;
}

void aside_begin(struct rdma_event_channel *channel)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	char command[200];
	size_t i;

	inet_pton(AF_INET, address, &addr.sin_addr);
	for (i = 0; i < ARRAY_SIZE(asides); i++) {
		struct aside *a = &asides[i];

		if (!selected(a->name))
			continue;
		addr.sin_port = htons(aside_port(i));
		if (rdma_create_id(channel, &a->listener, a, RDMA_PS_TCP) ||
		    rdma_bind_addr(a->listener, (struct sockaddr *)&addr) ||
		    rdma_listen(a->listener, 16))
			die("cannot listen on %s:%u: %s", address, aside_port(i), strerror(errno));
		snprintf(command, sizeof(command), "rnbd attach %s:%u %s --queues 1", address,
			 aside_port(i), a->name);
		a->runs = true;
		a->began = now_ms();
		job_start(&a->job, command);
	}
}

/* Reject a connection request with status BUSY, or with private data of zeros. */
static void refuse(struct aside *a, struct rdma_cm_id *id)
{
	struct rnbd_cm_rej rej = {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.status = htole16(RNBD_ST_BUSY),
	};

	/*
	 * every other early rejection is like one of the connection manager itself: zeros instead
	 * of a status
	 */
	if (a->asked % 2 && a->asked < 8)
		memset(&rej, 0, sizeof(rej));
	rdma_reject(id, &rej, sizeof(rej));
	rdma_destroy_id(id);
}

/* Handle a connection request. Return false if it is for no aside. */
bool aside_request(struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rnbd_cm_rep rep = {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
	};
	struct rnbd_cm_req req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(asides); i++) {
		struct aside *a = &asides[i];

		if (!a->runs || event->listen_id != a->listener)
			continue;
		a->asked++;
		if (!a->accepts || a->c.id || conn->private_data_len < sizeof(req)) {
			refuse(a, event->id);
			return true;
		}
		memcpy(&req, conn->private_data, sizeof(req));
		rep.ring_slots = req.ring_slots;
		rep.slot_size = req.slot_size;
		rep.attempt = req.attempt;
		conn_accept(&a->c, event->id, &req, &rep, sizeof(rep));
		return true;
	}
	return false;
}

/* Record the end of the attaches. */
void aside_step(void)
{
	static uint64_t next;
	size_t i;

	if (now_ms() < next)
		return;
	next = now_ms() + 50;
	for (i = 0; i < ARRAY_SIZE(asides); i++)
		if (asides[i].runs && !asides[i].ended && job_done(&asides[i].job))
			asides[i].ended = now_ms();
}

static void judge_aside(struct aside *a, uint16_t its_port)
{
	uint64_t took = a->ended - a->began;
	char where[100];

	snprintf(where, sizeof(where), "%s at %s:%u: ", a->name, address, its_port);
	note("%s", a->job.said);
	if (!a->ended) {
		amiss("the command does not end");
		kill(a->job.pid, SIGKILL);
	} else if (!a->job.status) {
		amiss("the command succeeded");
	} else if (!strstr(a->job.said, where) || !strstr(a->job.said, a->why)) {
		amiss("the command reported: %s; expected: %s%s", a->job.said, where, a->why);
	} else if (took > (uint64_t)a->most_ms * slow) {
		amiss("the command took %llu ms", (unsigned long long)took);
	}
	if (a->accepts ? !a->c.id : a->asked < 2)
		amiss("the client sent %u connection requests", a->asked);
	if (a->c.id && !conn_wait_gone(&a->c, 8000))
		amiss("the client did not disconnect");
	conn_close(&a->c);
}

void aside_end(void (*serve)(void), uint32_t *done, uint32_t *failed)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(asides); i++) {
		struct aside *a = &asides[i];
		uint64_t end = a->began + (uint64_t)a->most_ms * slow + 100;

		if (!a->runs)
			continue;
		while (!a->ended && now_ms() < end) {
			serve();
			nap();
		}
		judge_aside(a, aside_port(i));
		(*done)++;
		*failed += !judge(a->name, true, a->ended ? now_ms() - (a->ended - a->began) :
							    a->began);
	}
}
