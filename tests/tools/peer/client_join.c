// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer that knows the ids of a live session and tries to join the session as a queue: the target
 * must end only the connection of this peer.
 *
 * Operation: each case starts a session that was granted two queues and opens a connection for the
 * second queue. Most cases send no proof or a wrong one on this connection. The session must
 * continue.
 * Ownership, Concurrency, Errors: as in client.c.
 */
#include <string.h>
#include <unistd.h>

#include "client.h"

/* A session, and a connection that tries to join it. */
struct joining {
	struct request req;
	struct conn first, c;
};

static bool begin(struct joining *j)
{
	unsigned int tries = LOGIN_MS / BUSY_MS;
	struct rnbd_ctl_login l;

	memset(j, 0, sizeof(*j));
	login_fill(&l);
	l.nr_queues = htole16(2);
	for (;;) {
		request_init(&j->req, 2, SLOTS, SLOT_SIZE);
		if (conn_open(&j->first, &j->req))
			return amiss("not connected");
		if (session_login(&j->first, &l, "hostile"))
			break;
		/* BUSY or ATTACHED: the teardown of the previous session still runs */
		if ((j->first.grant.status != RNBD_ST_BUSY &&
		     j->first.grant.status != RNBD_ST_ATTACHED) || !tries--)
			return amiss("login: status %u", j->first.grant.status);
		conn_close(&j->first);
		usleep(BUSY_MS * 1000);
	}
	if (le16toh(j->first.grant.r.nr_queues) != 2)
		return amiss("the target granted fewer than 2 queues");
	request_conn(&j->req, 1, 1);
	if (conn_open(&j->c, &j->req))
		return amiss("queue 1: not connected");
	j->c.grant = j->first.grant;
	return true;
}

/*
 * Expect that the connection ends and the session continues. The target must count a protocol error
 * with the text @why; none if @why is NULL.
 */
static void ends_alone(struct joining *j, const char *why)
{
	uint32_t len;

	if (why)
		counter_due_fault(why);
	while (conn_receive(&j->c, 0, &len, CLOSE_MS))
		;
	if (!j->c.gone)
		amiss("the connection was not closed");
	session_lives(&j->first);
}

static void send_entry(struct joining *j, uint16_t type, uint32_t bytes)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memset(ctl_add(&f, type, 9, bytes), 0, bytes);
	frame_send(&j->c, &f);
}

static void end(struct joining *j)
{
	conn_close(&j->c);
	conn_close(&j->first);
}

static void request_first(void)
{
	static struct joining j;
	struct frame f;

	if (begin(&j)) {
		client_build(&f, READ, "");
		frame_send(&j.c, &f);
		ends_alone(&j, TYPE);
	}
	end(&j);
}

static void proof_first(void)
{
	static struct joining j;

	if (begin(&j)) {
		send_entry(&j, RNBD_CTL_PROOF, sizeof(struct rnbd_ctl_proof));
		ends_alone(&j, TYPE);
	}
	end(&j);
}

static void query_first(void)
{
	static struct joining j;

	if (begin(&j)) {
		send_entry(&j, RNBD_CTL_QUERY, sizeof(struct rnbd_ctl_query));
		ends_alone(&j, TYPE);
	}
	end(&j);
}

static void join_twice(void)
{
	struct rnbd_join_text text;
	static struct joining j;

	if (begin(&j) && join_challenged(&j.c, &j.req, &text)) {
		send_entry(&j, RNBD_CTL_JOIN, 0);
		ends_alone(&j, TYPE);
	}
	end(&j);
}

static void wrong_key(void)
{
	uint8_t key[RNBD_MAC_SIZE];
	static struct joining j;
	int status;

	if (begin(&j)) {
		memcpy(key, j.first.grant.r.join_key, sizeof(key));
		key[31] ^= 1;
		status = join(&j.c, &j.req, key);
		if (status != RNBD_ST_AUTH)
			amiss("a wrong key: status %d", status);
		ends_alone(&j, NULL);
	}
	end(&j);
}

/* Replay a proof that was valid for another connection. */
static void replayed(void)
{
	struct rnbd_join_text text, other;
	struct rnbd_ctl_proof proof;
	static struct joining j;
	struct frame f;
	struct conn c;
	int status;

	if (!begin(&j) || !join_challenged(&j.c, &j.req, &text))
		goto end;
	join_send_proof(&j.c, j.first.grant.r.join_key, &text, &proof);
	/*
	 * a joined connection accepts no further PROOF, so the proof is replayed in a new session
	 */
	status = join_await(&j.c, j.first.grant.r.join_key, &text);
	if (status)
		amiss("not joined: status %d", status);
	request_conn(&j.req, 1, 2);
	if (conn_open(&c, &j.req) != RNBD_ST_QUEUE)
		amiss("a second connection for an existing queue was not refused");
	conn_close(&c);
	end(&j);
	if (!begin(&j) || !join_challenged(&j.c, &j.req, &other))
		goto end;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_PROOF, 9, sizeof(proof)), &proof, sizeof(proof));
	frame_send(&j.c, &f);
	status = join_await(&j.c, j.first.grant.r.join_key, &other);
	if (status != RNBD_ST_AUTH)
		amiss("a proof of another connection: status %d", status);
	ends_alone(&j, NULL);
end:
	end(&j);
}

/* The rkeys of the pool must not work on a connection that has not sent a proof. */
static void rdma_first(enum ibv_wr_opcode opcode)
{
	static struct joining j;
	uint64_t remote;
	uint32_t rkey;

	if (begin(&j)) {
		remote = unit_address(&j.c, 0, &rkey);
		conn_rdma(&j.c, opcode, 0, 4096, remote, rkey);
		if (!conn_rdma_wait(&j.c, 10000))
			amiss("RDMA without a proof");
		ends_alone(&j, NULL);
	}
	end(&j);
}

static void read_first(void)
{
	rdma_first(IBV_WR_RDMA_READ);
}

static void write_first(void)
{
	rdma_first(IBV_WR_RDMA_WRITE);
}

/* Several connections that send nothing must not delay the session or its second queue. */
static void crowd(void)
{
	static struct joining j;
	struct conn silent[4] = { };
	uint32_t i;
	int status;

	if (begin(&j)) {
		for (i = 0; i < ARRAY_SIZE(silent); i++)
			if (conn_open(&silent[i], &j.req))
				amiss("silent connection %u was not accepted", i);
		status = join(&j.c, &j.req, j.first.grant.r.join_key);
		if (status)
			amiss("not joined beside silent connections: status %d", status);
		session_lives(&j.first);
		for (i = 0; i < ARRAY_SIZE(silent); i++)
			conn_close(&silent[i]);
		session_lives(&j.first);
	}
	end(&j);
}

static const struct client_story stories[] = {
	{ "join-request-first", request_first },
	{ "join-proof-first", proof_first },
	{ "join-query-first", query_first },
	{ "join-twice", join_twice },
	{ "join-wrong-key", wrong_key },
	{ "join-replayed", replayed },
	{ "join-read-first", read_first },
	{ "join-write-first", write_first },
	{ "join-many", crowd },
};

void client_join_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
