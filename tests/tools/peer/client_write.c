// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of many WRITEs at a time: into the same extents, and until the target ends the
 * session.
 */
#include <string.h>

#include "client.h"

/*
 * WRITEs that all name the first units, with these tags, whose bits are cleared: one
 * frame for all, each to a place of its own that touches no other.
 */
static void write_all(struct conn *c, uint32_t *tags, uint32_t length)
{
	struct frame f;
	uint32_t i;

	frame_begin(&f, RNBD_FRAME_REQUEST, __builtin_popcount(*tags));
	for (i = 0; i < 32; i++)
		if (*tags >> i & 1)
			client_add_request(&f, req_entry(RNBD_OP_WRITE, 0, i, 2ull * i * length,
							 length, 0));
	*tags = 0;
	frame_send(c, &f);
}

/* Take a frame of replies: their tags, and how many had each of two statuses. */
static bool take_replies(struct conn *c, uint32_t *tags, uint32_t *ok, uint32_t *nomem)
{
	const uint8_t *frame;
	struct rnbd_reply_entry reply;
	uint32_t len, at;

	frame = conn_receive(c, RNBD_FRAME_REPLY, &len, 100);
	for (at = HDR_BYTES; frame && at < len; at += sizeof(reply)) {
		memcpy(&reply, frame + at, sizeof(reply));
		if (le16toh(reply.status) == RNBD_ST_NOMEM)
			(*nomem)++;
		else if (reply.status)
			amiss("status %u", le16toh(reply.status));
		else
			(*ok)++;
		*tags |= 1u << (le16toh(reply.tag) & 31);
	}
	return frame;
}

/*
 * The same extents for all WRITEs at a time, and rewritten meanwhile, where the target has
 * to copy the data: it copies no more than the pool has.
 */
static void copies_bounded(void)
{
	uint32_t tags = 0xffff, ok = 0, nomem = 0, round = 0;
	uint64_t end = deadline(20000);
	struct rnbd_login l;
	struct conn c;

	login_fill(&l, "stable");
	l.pool_bytes = htole64(64 * RNBD_UNIT_SIZE);
	if (!session_start(&c, 2) || !login(&c, &l, LOGIN_MS) ||
	    le32toh(c.grant.r.pool_units) != 64 ||
	    le32toh(c.grant.r.max_io) != 32 * RNBD_UNIT_SIZE) {
		amiss("no session with a small pool");
		conn_close(&c);
		return;
	}
	write_all(&c, &tags, 32 * RNBD_UNIT_SIZE);
	while (ok + nomem < 16 && !c.gone && now_ms() < end) {
		memset(c.data, round++, 32 * RNBD_UNIT_SIZE);
		session_rdma(&c, IBV_WR_RDMA_WRITE, 0, 32, 0);
		take_replies(&c, &tags, &ok, &nomem);
	}
	note("%u written, %u refused, rewritten %u times", ok, nomem, round);
	if (ok + nomem != 16 || ok < 2 || nomem < 8)
		amiss("of 16 requests %u were done, %u were answered with NOMEM", ok, nomem);
	/* What was refused can be asked for again. */
	tags = 0x30;
	write_all(&c, &tags, 32 * RNBD_UNIT_SIZE);
	while (tags != 0x30 && !c.gone && now_ms() < end)
		take_replies(&c, &tags, &ok, &nomem);
	if (ok + nomem != 18)
		amiss("%u answers", ok + nomem);
	session_lives(&c);
	conn_close(&c);
}

/*
 * As many WRITEs as there are tags, always, until the target ends it for that reason; and
 * then once more.
 */
void hammer(struct conn *c, const char *why)
{
	uint64_t end = deadline(30000), remote;
	uint32_t tags = 0xffff, ok = 0, nomem = 0, rkey, i;
	int status;

	while (!c->gone && now_ms() < end) {
		if (tags)
			write_all(c, &tags, RNBD_UNIT_SIZE);
		take_replies(c, &tags, &ok, &nomem);
	}
	session_must_go(c, 0);
	if (ok < 16 || nomem)
		amiss("%u requests were done", ok);
	monitor_closed(why);
	for (i = 0; i < 8; i++) {
		tags = 0xffff;
		write_all(c, &tags, RNBD_UNIT_SIZE);
	}
	remote = unit_address(c, 0, &rkey);
	conn_rdma(c, IBV_WR_RDMA_WRITE, 0, 4096, remote, rkey);
	status = conn_rdma_wait(c, 15000);
	if (!status || status == NEVER)
		amiss("RDMA after the end: %d", status);
}

/* Somebody else forbids it. */
static void forbidden(void)
{
	struct rnbd_login l;
	struct conn c = { };

	if (session_start_export(&c, 2, "slow"))
		hammer(&c, "the host may not use the export any more");
	conn_close(&c);
	login_fill(&l, "slow");
	if (session_start(&c, 2) &&
	    (login(&c, &l, LOGIN_MS) || c.grant.status != RNBD_ST_NO_EXPORT))
		amiss("login afterwards: status %u", c.grant.status);
	conn_close(&c);
}

static const struct client_story stories[] = {
	{ "copies-bounded", copies_bounded },
	{ "until-forbidden", forbidden },
};

void client_write_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
