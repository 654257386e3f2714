// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rogue: an admitted client that causes its target as much work as it can.
 *
 * Operation: the argument of --rogue selects what the rogue does for the given time. logins: it
 * logs in, breaks a rule and reconnects at once. requests: it keeps one session with a request in
 * flight for each tag; the requests are WRITEs to a read-only export, which the target refuses.
 * Neither of these two waits before it retries a login that the target has refused as busy.
 * detaches: it keeps many sessions, each with the maximum number of unanswered DETACHs of handles
 * that never existed. attaches: it keeps a few sessions that attach and detach the exports rogue0
 * to rogue7 continuously; it sends the next request as soon as it has a reply, even if the target
 * asks for a delay. At the end the rogue prints a line of counts.
 * Ownership, Concurrency: one thread.
 * Errors: refusals by the target are counted; wrong messages of the target are printed and fail the
 * run.
 */
#include <string.h>

#include "client.h"

#define POOL_MB		64	/* default pool size of clients, in MiB */
#define TAGS		14	/* requests in flight, at most the number of slots */
#define SESSIONS	32	/* sessions of the detaching rogue */
#define ATTACHERS	4	/* sessions of the attaching rogue */
#define EXPORTS		2	/* exports that each of them attaches */

static struct {
	uint32_t asked, busy, refused, logins, requests, attaches, limited, detaches;
} did;

static bool come_in(struct conn *c, const char *export)
{
	struct request req;
	struct rnbd_ctl_login l;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	login_fill(&l);
	l.pool_bytes = htole64((uint64_t)POOL_MB << 20);
	did.asked++;
	status = conn_open(c, &req);
	if (!status && login(c, &l, LOGIN_MS)) {
		/*
		 * count the login before the attach: the target's rate limit counts the login even
		 * if the attach fails
		 */
		did.logins++;
		if (attach(c, export) && slots_ask(c, c->slots, le16toh(c->grant.r.queue_depth)))
			return true;
	}
	if (!status)
		status = c->grant.status;
	if (status == RNBD_ST_BUSY || status == RNBD_ST_ATTACHED)
		did.busy++;
	else
		did.refused++;
	conn_close(c);
	return false;
}

static void break_a_rule(struct conn *c)
{
	struct frame f;

	frame_begin(&f, 200, 0);
	frame_send(c, &f);
}

static void logins(uint64_t end)
{
	struct conn c;

	while (now_ms() < end) {
		if (!come_in(&c, "fixed"))
			continue;
		break_a_rule(&c);
		conn_wait_gone(&c, 5000);
		conn_close(&c);
	}
}

static bool ask(struct conn *c, uint16_t tag)
{
	struct rnbd_req_entry entry = req_entry(RNBD_OP_WRITE, 0, tag, 0, 4096, tag);
	struct frame f;

	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	memcpy(frame_add(&f, sizeof(entry)), &entry, sizeof(entry));
	return frame_send(c, &f);
}

/* Send a new request with the tag of each reply. */
static void requests(uint64_t end)
{
	struct rnbd_frame_hdr hdr;
	const uint8_t *frame;
	struct conn c;
	uint32_t len;
	uint16_t i;

	while (!come_in(&c, "fixed"))
		if (now_ms() >= end)
			return;
	for (i = 0; i < TAGS; i++)
		ask(&c, i);
	while (now_ms() < end) {
		frame = conn_receive(&c, RNBD_FRAME_REPLY, &len, 5000);
		if (!frame)
			break;
		memcpy(&hdr, frame, sizeof(hdr));
		for (i = 0; i < le16toh(hdr.nr_entries); i++) {
			struct rnbd_reply_entry reply;

			memcpy(&reply, frame + HDR_BYTES + i * sizeof(reply), sizeof(reply));
			if (le16toh(reply.status) != RNBD_ST_READONLY)
				amiss("a WRITE to an export that is read-only: status %u",
				      le16toh(reply.status));
			ask(&c, le16toh(reply.tag));
			did.requests++;
		}
	}
	conn_close(&c);
}

/* Log in without an attachment. */
static bool log_in(struct conn *c)
{
	struct rnbd_ctl_login l;
	struct request req;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	login_fill(&l);
	did.asked++;
	status = conn_open(c, &req);
	if (!status && login(c, &l, LOGIN_MS)) {
		did.logins++;
		return true;
	}
	did.refused++;
	conn_close(c);
	return false;
}

/* Count replies. If at most half of the allowed number of DETACHs are unanswered, send new ones. */
static bool detach_nothing(struct conn *c, uint32_t *open)
{
	struct ctl entry;
	struct frame f;

	while (*open && ctl_receive(c, &entry, 0))
		if (entry.type == RNBD_CTL_DETACHED) {
			did.detaches++;
			--*open;
		}
	if (c->gone)
		return amiss("the target ended the session of a rogue that violates no rule");
	if (*open > RNBD_CTL_OPEN_MAX / 2 || c->credits < 2)
		return true;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	for (; *open < RNBD_CTL_OPEN_MAX; ++*open)
		detach_add(&f, OTHER_INDEX + *open, 1, ++c->ctl_id);
	return frame_send(c, &f);
}

static void detaches(uint64_t end)
{
	static struct conn c[SESSIONS];
	uint32_t open[SESSIONS] = { }, nr = 0, i;

	while (now_ms() < end) {
		if (nr < SESSIONS)
			nr += log_in(&c[nr]);
		for (i = 0; i < nr && end; i++)
			if (!detach_nothing(&c[i], &open[i]))
				end = 0;
	}
	for (i = 0; i < nr; i++)
		conn_close(&c[i]);
}

/* A handle of the attaching rogue, and its unanswered request */
struct turn {
	uint32_t generation;
	uint16_t waits;		/* type of the unanswered request, or 0 */
	bool attached;
};

/* Process a reply. Return false if the entry is no expected reply. */
static bool take_turn(struct turn *turns, const struct ctl *entry)
{
	struct rnbd_ctl_handle h;	/* also the beginning of ATTACH_REPLY */
	struct turn *turn;

	memcpy(&h, entry->body, sizeof(h));
	turn = &turns[le16toh(h.index) % EXPORTS];
	if (entry->type == RNBD_CTL_ATTACH_REPLY && turn->waits == RNBD_CTL_ATTACH) {
		turn->attached = !h.status;
		did.attaches += !h.status;
		did.busy += le16toh(h.status) == RNBD_ST_BUSY;
		did.limited += le16toh(h.status) == RNBD_ST_LIMIT;
		did.refused += h.status && le16toh(h.status) != RNBD_ST_BUSY &&
			       le16toh(h.status) != RNBD_ST_LIMIT;
	} else if (entry->type == RNBD_CTL_DETACHED && turn->waits == RNBD_CTL_DETACH) {
		turn->attached = false;
		did.detaches += !h.status;
		if (h.status)
			amiss("a DETACH of an attached export: status %u", le16toh(h.status));
	} else {
		return amiss("an entry of type %u for the rogue", entry->type);
	}
	turn->waits = 0;
	return true;
}

/*
 * Process the replies of a session. Send the next request for each handle that has no unanswered
 * request.
 */
static bool take_turns(struct conn *c, struct turn *turns, uint32_t first)
{
	struct ctl entry;
	struct frame f;
	bool any = false;
	uint32_t i;

	while (ctl_receive(c, &entry, 0))
		if (!take_turn(turns, &entry))
			return false;
	if (c->gone)
		return amiss("the target ended the session of a rogue that violates no rule");
	if (c->credits < 2)
		return true;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	for (i = 0; i < EXPORTS; i++) {
		struct turn *turn = &turns[i];
		struct rnbd_ctl_attach a;
		char name[16];

		if (turn->waits)
			continue;
		any = true;
		if (turn->attached) {
			detach_add(&f, i, turn->generation, ++c->ctl_id);
			turn->waits = RNBD_CTL_DETACH;
			continue;
		}
		snprintf(name, sizeof(name), "rogue%u", first + i);
		a = attach_entry(i, ++turn->generation, name);
		attach_add(&f, &a, ++c->ctl_id);
		turn->waits = RNBD_CTL_ATTACH;
	}
	return !any || frame_send(c, &f);
}

static void attaches(uint64_t end)
{
	static struct turn turns[ATTACHERS][EXPORTS];
	static struct conn c[ATTACHERS];
	uint32_t nr = 0, i;

	while (now_ms() < end) {
		if (nr < ATTACHERS)
			nr += log_in(&c[nr]);
		for (i = 0; i < nr && end; i++)
			if (!take_turns(&c[i], turns[i], i * EXPORTS))
				end = 0;
	}
	for (i = 0; i < nr; i++)
		conn_close(&c[i]);
}

int client_rogue(const char *way, uint32_t seconds)
{
	uint64_t end = now_ms() + seconds * 1000ull;

	conn_data_bytes = 4096;
	if (!strcmp(way, "logins"))
		logins(end);
	else if (!strcmp(way, "requests"))
		requests(end);
	else if (!strcmp(way, "detaches"))
		detaches(end);
	else if (!strcmp(way, "attaches"))
		attaches(end);
	else
		die("--rogue %s: logins, requests, attaches or detaches", way);
	printf("rogue: asked %u, logins %u, busy %u, otherwise refused %u, requests %u, ",
	       did.asked, did.logins, did.busy, did.refused, did.requests);
	printf("attaches %u, limited %u, detaches %u\n", did.attaches, did.limited, did.detaches);
	return amiss_so_far();
}
