// SPDX-License-Identifier: GPL-2.0-only
/* Sessions of the hostile client: start, expected end, and RDMA. */
#include <string.h>
#include <unistd.h>

#include "client.h"

bool session_start(struct conn *c, uint32_t host)
{
	struct request req;
	int status;

	request_init(&req, host, SLOTS, SLOT_SIZE);
	status = conn_open(c, &req);
	return !status || amiss("not connected: status %d", status);
}

/* Log in, attach, and request as many slots as the connection request announced. */
bool session_login(struct conn *c, const struct rnbd_ctl_login *l, const char *export)
{
	return login(c, l, LOGIN_MS) && attach(c, export) &&
	       slots_ask(c, c->slots, le16toh(c->grant.r.queue_depth));
}

/* Connect, log in and attach; retry while the target still has the session of an earlier case. */
bool session_start_login(struct conn *c, uint32_t host, const struct rnbd_ctl_login *l,
			 const char *export)
{
	unsigned int tries;

	for (tries = LOGIN_MS / BUSY_MS; session_start(c, host); tries--) {
		if (session_login(c, l, export))
			return true;
		/* BUSY or ATTACHED: the teardown of an earlier case's session still runs */
		if ((c->grant.status != RNBD_ST_BUSY &&
		     c->grant.status != RNBD_ST_ATTACHED) || !tries)
			return amiss("login and %s: status %u", export, c->grant.status);
		conn_close(c);
		usleep(BUSY_MS * 1000);
	}
	return false;
}

bool session_start_export(struct conn *c, uint32_t host, const char *export)
{
	struct rnbd_ctl_login l;

	login_fill(&l);
	return session_start_login(c, host, &l, export);
}

/* Expect that the target closes the session for the reason @why, without a reply. */
bool session_ends(struct conn *c, const char *why)
{
	uint32_t len;

	if (conn_receive(c, 0, &len, CLOSE_MS))
		return amiss("the target sent a reply instead of closing for: %s", why);
	if (!c->gone)
		return amiss("the target did not close for: %s", why);
	return monitor_closed(why);
}

void session_must_go(struct conn *c, uint32_t ms)
{
	if (!conn_wait_gone(c, ms))
		amiss("the target did not disconnect");
}

bool session_lives(struct conn *c)
{
	int status = simple_request(c, req_entry(RNBD_OP_READ, 0, 3, 0, 4096, 9));

	return !status || amiss("a valid READ afterwards: status %d", status);
}

/* Store the values of the session to which a patch can be relative. */
void session_relatives(const struct grant *g, uint64_t *rel)
{
	rel[CAPACITY] = le64toh(g->a.capacity);
	rel[POOL] = le32toh(g->r.pool_units);
	rel[SEGMENT] = le32toh(g->r.segment_units);
}

/* Add queue 1, as connection @c, to a session that was granted two queues. */
bool session_add_second(struct conn *c, const struct conn *first)
{
	struct request req = first->req;
	int status;

	request_conn(&req, 1, 1);
	status = conn_open(c, &req);
	c->grant = first->grant;
	if (!status)
		status = join(c, &req, first->grant.r.join_key);
	if (!status)
		slots_ask(c, c->slots, le16toh(c->grant.r.queue_depth));
	return !status || amiss("queue 1: status %d", status);
}

/* Start a session with two queues: @first becomes queue 0, and @c queue 1. */
bool session_start_second(struct conn *c, struct conn *first)
{
	struct rnbd_ctl_login l;
	struct request req;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	if (conn_open(first, &req))
		return amiss("not connected");
	login_fill(&l);
	l.nr_queues = htole16(2);
	if (!session_login(first, &l, "hostile") || le16toh(first->grant.r.nr_queues) != 2)
		return amiss("the login failed, or did not grant 2 queues");
	return session_add_second(c, first);
}

bool session_rdma(struct conn *c, enum ibv_wr_opcode opcode, uint32_t at, uint32_t units,
		  uint32_t unit)
{
	uint32_t rkey;
	uint64_t remote = unit_address(c, unit, &rkey);
	int status;

	conn_rdma(c, opcode, at, units * RNBD_UNIT_SIZE, remote, rkey);
	status = conn_rdma_wait(c, 10000);
	return !status || amiss("valid RDMA: status %d", status);
}

/* Expect @status to say that the target's device has rejected an RDMA operation. */
bool session_denied(int status)
{
	return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	       amiss("RDMA ended with %d (%s), wanted an access error", status,
		     status < 0 ? "never" : ibv_wc_status_str(status));
}

/* Read or write the whole pool by RDMA. The local data are in c->data. */
bool session_whole_pool(struct conn *c, enum ibv_wr_opcode opcode)
{
	uint32_t units = le32toh(c->grant.r.pool_units), unit, run;

	for (unit = 0; unit < units; unit += run) {
		uint32_t seg = le32toh(c->grant.r.segment_units);

		run = seg - unit % seg;
		if (run > units - unit)
			run = units - unit;
		if (run > 64)
			run = 64;
		if (!session_rdma(c, opcode, unit * RNBD_UNIT_SIZE, run, unit))
			return false;
	}
	return true;
}

bool all_zero(const uint8_t *bytes, size_t len)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}
