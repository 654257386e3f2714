// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of many concurrent WRITEs: from the same extents of the pool, and until the target ends the
 * session or closes the attachment.
 */
#include <string.h>

#include "client.h"

/*
 * Send a frame of WRITEs for all tags in @tags, and clear @tags. All WRITEs name the first units of
 * the pool; each writes to its own place on the disk, and no two places are adjacent.
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

/*
 * Count the replies with success and with status @other; another status fails the case. Set the
 * bits of their tags in @tags.
 */
static void count_replies(const uint8_t *frame, uint32_t len, uint32_t *tags, uint32_t *ok,
			  uint16_t other, uint32_t *others)
{
	struct rnbd_reply_entry reply;
	uint32_t at;

	for (at = HDR_BYTES; at < len; at += sizeof(reply)) {
		memcpy(&reply, frame + at, sizeof(reply));
		if (le16toh(reply.status) == other)
			(*others)++;
		else if (reply.status)
			amiss("status %u", le16toh(reply.status));
		else
			(*ok)++;
		*tags |= 1u << (le16toh(reply.tag) & 31);
	}
}

/*
 * Receive a frame of replies and count those with success and with NOMEM. Set the bits of their
 * tags in @tags.
 */
static void take_replies(struct conn *c, uint32_t *tags, uint32_t *ok, uint32_t *nomem)
{
	const uint8_t *frame;
	uint32_t len;

	frame = conn_receive(c, RNBD_FRAME_REPLY, &len, 100);
	if (frame)
		count_replies(frame, len, tags, ok, RNBD_ST_NOMEM, nomem);
}

/*
 * All WRITEs use the same extents, which the client overwrites while the target executes the
 * WRITEs. The storage needs stable pages, so the target copies the data; the sum of all copies must
 * not exceed the size of the pool.
 */
static void copies_bounded(void)
{
	uint32_t tags = 0xffff, ok = 0, nomem = 0, round = 0;
	uint64_t end = deadline(20000);
	struct rnbd_ctl_login l;
	struct conn c;

	login_fill(&l);
	l.pool_bytes = htole64(64 * RNBD_UNIT_SIZE);
	if (!session_start(&c, 2) || !session_login(&c, &l, "stable") ||
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
		amiss("of 16 requests %u were executed, %u got NOMEM", ok, nomem);
	/* the client may retry the requests that got NOMEM */
	tags = 0x30;
	write_all(&c, &tags, 32 * RNBD_UNIT_SIZE);
	while (tags != 0x30 && !c.gone && now_ms() < end)
		take_replies(&c, &tags, &ok, &nomem);
	if (ok + nomem != 18)
		amiss("%u replies", ok + nomem);
	session_lives(&c);
	conn_close(&c);
}

/*
 * Keep WRITEs with all tags in flight until the target ends the session for the reason @why. Then
 * send more WRITEs, which must have no effect, and an RDMA WRITE, which must fail.
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
		amiss("%u requests were executed", ok);
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

/* Expect CLOSED with status REMOVED: the host may no longer use the export. */
static void check_closed(const struct ctl *entry)
{
	struct rnbd_ctl_handle h;

	memcpy(&h, entry->body, sizeof(h));
	if (entry->type != RNBD_CTL_CLOSED)
		amiss("a control entry of type %u, wanted CLOSED", entry->type);
	else if (le16toh(h.index) != HANDLE_INDEX || le32toh(h.generation) != HANDLE_GENERATION)
		amiss("index %u with generation %u is closed", le16toh(h.index),
		      le32toh(h.generation));
	else if (le16toh(h.status) != RNBD_ST_REMOVED)
		amiss("closed with status %u", le16toh(h.status));
}

/*
 * Keep WRITEs with all tags in flight until the target closes the attachment. Later WRITEs must not
 * be executed, and the session must continue.
 */
static void hammer_closed(struct conn *c)
{
	uint32_t tags = 0xffff, ok = 0, refused = 0, before = 0, rounds = 0, len;
	uint64_t end = deadline(30000);
	bool closed = false;
	struct ctl entry;

	while (!c->gone && now_ms() < end && !(rounds == 4 && tags == 0xffff)) {
		const uint8_t *frame;

		/* after the close, a round starts when all earlier requests are answered */
		if (closed ? rounds < 4 && tags == 0xffff : tags) {
			rounds += closed;
			before = ok;
			write_all(c, &tags, RNBD_UNIT_SIZE);
		}
		frame = conn_receive(c, 0, &len, 100);
		if (frame && frame[0] == RNBD_FRAME_CONTROL) {
			ctl_take(c, frame, len);
			while (ctl_left(c, &entry))
				check_closed(&entry);
			closed = true;
		} else if (frame && frame[0] == RNBD_FRAME_REPLY) {
			count_replies(frame, len, &tags, &ok, RNBD_ST_CLOSED, &refused);
			if (rounds && ok != before)
				amiss("a WRITE was executed after the attachment was closed");
		} else if (frame) {
			amiss("a frame of type %u", frame[0]);
		}
	}
	note("%u requests were executed, %u refused", ok, refused);
	if (c->gone)
		amiss("the session was ended");
	else if (rounds < 4 || tags != 0xffff)
		amiss(closed ? "a request got no reply" : "the attachment was not closed");
	if (ok < 16)
		amiss("%u requests were executed", ok);
}

/* The script removes the host's access during the session: the target must close the attachment. */
static void forbidden(void)
{
	struct conn c = { };
	int status;

	if (session_start_export(&c, 2, "slow")) {
		hammer_closed(&c);
		status = attach_handle(&c, HANDLE_INDEX, HANDLE_GENERATION + 1, "slow");
		if (status != RNBD_ST_NO_EXPORT)
			amiss("attached afterwards: status %d", status);
	}
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
