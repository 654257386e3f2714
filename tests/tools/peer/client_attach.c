// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of attachments that need several messages: handles that are no longer or not yet attached,
 * repeated requests, and more open requests than allowed.
 */
#include <stdio.h>
#include <string.h>

#include "client.h"

#define FIRST_ID	0x100	/* id of the first of several requests */
#define BUSY_TRIES	200
#define MANY		24	/* exports many0 to many23; more than RNBD_CTL_OPEN_MAX */

static struct rnbd_req_entry read_of(uint16_t index, uint32_t generation)
{
	struct rnbd_req_entry entry = req_entry(RNBD_OP_READ, 0, 4, 0, 4096, 11);

	entry.index = htole16(index);
	entry.generation = htole32(generation);
	return entry;
}

static void must_read(struct conn *c, uint16_t index, uint32_t generation, uint16_t want)
{
	int status = simple_request(c, read_of(index, generation));

	if (status != want)
		amiss("a READ of index %u, generation %u: status %d, wanted %u", index, generation,
		      status, want);
}

/* Send one request; the target must end the session because the handle in it is invalid. */
static void must_end(struct conn *c, uint16_t index, uint32_t generation)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, read_of(index, generation));
	frame_send(c, &f);
	session_ends(c, HANDLE);
}

static bool must_attach(struct conn *c, uint16_t index, uint32_t generation, const char *export)
{
	int status = attach_handle(c, index, generation, export);

	return !status || amiss("index %u, generation %u: not attached, status %d", index,
				generation, status);
}

static bool must_detach(struct conn *c, uint16_t index, uint32_t generation, uint16_t want)
{
	int status = detach_handle(c, index, generation);

	return status == want || amiss("index %u, generation %u: detach has status %d, wanted %u",
				       index, generation, status, want);
}

/*
 * Attach at an index whose former attachment possibly still drains: after BUSY, retry with the next
 * generation. Return the status.
 */
static int attach_after(struct conn *c, uint16_t index, uint32_t *generation, const char *export)
{
	int status = RNBD_ST_BUSY, tries;

	for (tries = 0; status == RNBD_ST_BUSY && tries < BUSY_TRIES; tries++) {
		uint64_t end = deadline(100);

		while (tries && now_ms() < end)
			nap();
		status = attach_handle(c, index, ++*generation, export);
	}
	return status;
}

static bool attach_patiently(struct conn *c, uint16_t index, uint32_t *generation,
			     const char *export)
{
	int status = attach_after(c, index, generation, export);

	return !status || amiss("index %u: not attached again, status %d", index, status);
}

/*
 * For a detached handle, the target answers a READ with CLOSED and a DETACH with NO_ATTACH. A READ
 * with a handle that was never attached ends the session.
 */
static void attach_again(struct conn *c)
{
	uint32_t generation = HANDLE_GENERATION;

	must_detach(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_OK);
	must_read(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_CLOSED);
	must_detach(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_NO_ATTACH);
	if (!attach_patiently(c, HANDLE_INDEX, &generation, "hostile"))
		return;
	must_read(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_CLOSED);
	must_read(c, HANDLE_INDEX, generation, RNBD_ST_OK);
	must_detach(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_NO_ATTACH);
	must_read(c, HANDLE_INDEX, generation, RNBD_ST_OK);
	must_end(c, HANDLE_INDEX, generation + 1);
}

/* An ATTACH with a higher generation replaces an attachment that was not detached. */
static void attach_over(struct conn *c)
{
	uint32_t generation = HANDLE_GENERATION;

	if (!attach_patiently(c, HANDLE_INDEX, &generation, "hostile"))
		return;
	must_read(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_CLOSED);
	must_read(c, HANDLE_INDEX, generation, RNBD_ST_OK);
}

/* A repeated ATTACH gets the same reply, even with another id. */
static void attach_repeated(struct conn *c)
{
	struct rnbd_ctl_attach_reply before = c->grant.a;

	if (must_attach(c, HANDLE_INDEX, HANDLE_GENERATION, "hostile") &&
	    memcmp(&before, &c->grant.a, sizeof(before)))
		amiss("the reply to the repeated request differs");
	session_lives(c);
}

/* The same ATTACH twice in one frame, before the first reply: both get the same reply. */
static void attach_repeated_at_once(struct conn *c)
{
	struct rnbd_ctl_attach a = attach_entry(OTHER_INDEX, 1, OTHER_EXPORT);
	struct rnbd_ctl_attach_reply first;
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	attach_add(&f, &a, FIRST_ID);
	attach_add(&f, &a, FIRST_ID + 1);
	frame_send(c, &f);
	if (await_attach(c, &a, FIRST_ID)) {
		amiss("not attached");
		return;
	}
	first = c->grant.a;
	if (await_attach(c, &a, FIRST_ID + 1) || memcmp(&first, &c->grant.a, sizeof(first)))
		amiss("the reply to the repeated request differs");
	must_read(c, OTHER_INDEX, 1, RNBD_ST_OK);
	session_lives(c);
}

static void attach_lower(struct conn *c)
{
	int status;

	if (!must_attach(c, OTHER_INDEX, 5, OTHER_EXPORT))
		return;
	status = attach_handle(c, OTHER_INDEX, 3, OTHER_EXPORT);
	if (status != RNBD_ST_NO_ATTACH)
		amiss("a lower generation: status %d", status);
	must_read(c, OTHER_INDEX, 5, RNBD_ST_OK);
	must_read(c, OTHER_INDEX, 3, RNBD_ST_CLOSED);
	session_lives(c);
}

/* An ATTACH with a lower generation is refused even after the higher one was detached. */
static void attach_lower_detached(struct conn *c)
{
	int status;

	if (!must_attach(c, OTHER_INDEX, 5, OTHER_EXPORT) ||
	    !must_detach(c, OTHER_INDEX, 5, RNBD_ST_OK))
		return;
	status = attach_handle(c, OTHER_INDEX, 4, OTHER_EXPORT);
	if (status != RNBD_ST_NO_ATTACH)
		amiss("a lower generation: status %d", status);
	session_lives(c);
}

/*
 * Send a request directly after its ATTACH. If the request arrives before the attachment is
 * complete, the target ends the session; otherwise the target replies to the request.
 */
static void attach_early(struct conn *c)
{
	struct rnbd_ctl_attach a = attach_entry(OTHER_INDEX, 1, OTHER_EXPORT);
	struct frame f;

	/* If the early request ends the session, the ATTACH can be refused with SHUTDOWN. */
	counter_may_refusal(RNBD_ST_SHUTDOWN, 1);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	attach_add(&f, &a, FIRST_ID);
	frame_send(c, &f);
	frame_begin(&f, RNBD_FRAME_REQUEST, 1);
	client_add_request(&f, read_of(OTHER_INDEX, 1));
	frame_send(c, &f);
	if (!await_attach(c, &a, FIRST_ID) && !await_reply(c, 4, 4096, NULL)) {
		note("the attachment was complete before the request arrived");
		session_lives(c);
		return;
	}
	session_must_go(c, CLOSE_MS);
	monitor_closed(HANDLE);
}

/* A refused ATTACH leaves no attachment. */
static void attach_refused(struct conn *c)
{
	int status = attach_handle(c, OTHER_INDEX, 1, "nothing");

	if (status != RNBD_ST_NO_EXPORT)
		amiss("attached to nothing: status %d", status);
	must_detach(c, OTHER_INDEX, 1, RNBD_ST_NO_ATTACH);
	must_end(c, OTHER_INDEX, 1);
}

static void send_many(struct conn *c, uint32_t nr)
{
	struct rnbd_ctl_attach a;
	struct frame f;
	uint32_t i;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	for (i = 0; i < nr; i++) {
		a = attach_entry(OTHER_INDEX + i, 1, "nothing");
		attach_add(&f, &a, FIRST_ID + i);
	}
	frame_send(c, &f);
}

/* Send the maximum number of open control requests: each gets a reply, in any order. */
static void attach_16(struct conn *c)
{
	struct rnbd_ctl_attach_reply r;
	uint32_t seen = 0, nr;
	struct ctl entry;

	send_many(c, RNBD_CTL_OPEN_MAX);
	for (nr = 0; nr < RNBD_CTL_OPEN_MAX && ctl_receive(c, &entry, LOGIN_MS); nr++) {
		uint32_t i = entry.id - FIRST_ID;

		memcpy(&r, entry.body, sizeof(r));
		if (entry.type != RNBD_CTL_ATTACH_REPLY || i >= RNBD_CTL_OPEN_MAX ||
		    seen >> i & 1 || le16toh(r.index) != OTHER_INDEX + i) {
			amiss("an entry of type %u with id %u", entry.type, entry.id);
			break;
		}
		seen |= 1u << i;
		counter_due_refusal(le16toh(r.status));
		if (le16toh(r.status) != RNBD_ST_NO_EXPORT)
			amiss("status %u", le16toh(r.status));
	}
	if (nr < RNBD_CTL_OPEN_MAX)
		amiss("%u replies", nr);
	session_lives(c);
}

/* Send one control request too many at once: the session ends, possibly after some replies. */
static void attach_17(struct conn *c)
{
	struct ctl entry;

	/* The target can count a refusal whose reply it no longer sends. */
	counter_may_refusal(RNBD_ST_NO_EXPORT, RNBD_CTL_OPEN_MAX);
	counter_may_refusal(RNBD_ST_SHUTDOWN, RNBD_CTL_OPEN_MAX);
	send_many(c, RNBD_CTL_OPEN_MAX + 1);
	while (ctl_receive(c, &entry, CLOSE_MS))
		;
	session_must_go(c, CLOSE_MS);
	monitor_closed(COUNT);
}

/* Two exports in one session, and requests to both in one frame. */
static void attach_two(struct conn *c)
{
	struct rnbd_req_entry entries[2] = {
		read_of(OTHER_INDEX, 1), req_entry(RNBD_OP_WRITE, 0, 5, 0, 4096, 12),
	};
	uint32_t replies = 0, at, len, i;
	const uint8_t *frame;
	struct frame f;

	if (!must_attach(c, OTHER_INDEX, 1, OTHER_EXPORT))
		return;
	frame_begin(&f, RNBD_FRAME_REQUEST, 2);
	for (i = 0; i < 2; i++)
		client_add_request(&f, entries[i]);
	frame_send(c, &f);
	while (replies < 2 && (frame = conn_receive(c, RNBD_FRAME_REPLY, &len, CLOSE_MS))) {
		for (at = HDR_BYTES; at < len; at += sizeof(struct rnbd_reply_entry)) {
			struct rnbd_reply_entry reply;

			memcpy(&reply, frame + at, sizeof(reply));
			replies++;
			if (reply.status)
				amiss("tag %u: status %u", le16toh(reply.tag),
				      le16toh(reply.status));
		}
	}
	if (replies != 2)
		amiss("%u replies", replies);
	/*
	 * The second export is read-only. The DETACH of its attachment must not affect the first
	 * attachment.
	 */
	entries[1].index = htole16(OTHER_INDEX);
	if (simple_request(c, entries[1]) != RNBD_ST_READONLY)
		amiss("a WRITE to an export that is read-only");
	must_detach(c, OTHER_INDEX, 1, RNBD_ST_OK);
	must_read(c, OTHER_INDEX, 1, RNBD_ST_CLOSED);
	session_lives(c);
}

/* The target must reject a WRITE that uses a read-only attachment of a writable export. */
static void attach_readonly(struct conn *c)
{
	struct rnbd_req_entry entry = req_entry(RNBD_OP_WRITE, 0, 5, 0, 4096, 12);
	struct rnbd_ctl_attach a = attach_entry(OTHER_INDEX, 1, "slow");
	struct frame f;
	int status;

	a.flags = htole16(RNBD_ATTACH_READONLY);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	attach_add(&f, &a, FIRST_ID);
	frame_send(c, &f);
	if (await_attach(c, &a, FIRST_ID)) {
		amiss("not attached");
		return;
	}
	if (!(le32toh(c->grant.a.flags) & RNBD_EXPORT_READONLY))
		amiss("the disk is not read-only");
	entry.index = htole16(OTHER_INDEX);
	status = simple_request(c, entry);
	if (status != RNBD_ST_READONLY)
		amiss("a WRITE of a read-only host: status %d", status);
	session_lives(c);
}

/*
 * An ATTACH with the flag DISOWN, which would end the ownership of an export, is refused if the
 * export is not exclusive or does not exist; the first attachment of the session remains.
 */
static void attach_disown(struct conn *c)
{
	static const char *const exports[] = { "hostile", OTHER_EXPORT, "nothing" };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct rnbd_ctl_attach a = attach_entry(OTHER_INDEX, 1, exports[i]);
		struct frame f;
		int status;

		a.flags = htole16(RNBD_ATTACH_DISOWN);
		a.fence_generation = htole32(1);
		a.owner_generation = htole32(i);
		frame_begin(&f, RNBD_FRAME_CONTROL, 0);
		attach_add(&f, &a, FIRST_ID + i);
		frame_send(c, &f);
		status = await_attach(c, &a, FIRST_ID + i);
		if (status != RNBD_ST_NO_ATTACH)
			amiss("a DETACH that ends the ownership of %s: status %d",
			      exports[i], status);
	}
	must_read(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_OK);
	must_detach(c, OTHER_INDEX, 1, RNBD_ST_NO_ATTACH);
	session_lives(c);
}

/* An unknown optional entry before an ATTACH is ignored. */
static void attach_behind_unknown(struct conn *c)
{
	struct rnbd_ctl_attach a = attach_entry(OTHER_INDEX, 1, OTHER_EXPORT);
	struct rnbd_ctl head = {
		.type = htole16(UNKNOWN_TYPE), .length = htole16(sizeof(head) + 40),
		.id = htole32(FIRST_ID + 1),
	};
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memset(ctl_add(&f, UNKNOWN_TYPE, 0, 40), 0x77, 40);
	memcpy(f.b + HDR_BYTES, &head, sizeof(head));
	attach_add(&f, &a, FIRST_ID);
	frame_send(c, &f);
	if (await_attach(c, &a, FIRST_ID))
		amiss("not attached");
	else
		must_read(c, OTHER_INDEX, 1, RNBD_ST_OK);
	session_lives(c);
}

/* ATTACH and DETACH in one frame: both get a reply, and the index can then be attached again. */
static void attach_detach_at_once(struct conn *c)
{
	struct rnbd_ctl_attach a = attach_entry(OTHER_INDEX, 1, OTHER_EXPORT);
	bool attached = false, detached = false;
	struct rnbd_ctl_handle h;	/* also the beginning of ATTACH_REPLY */
	uint32_t generation = 1;
	struct ctl entry;
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	attach_add(&f, &a, FIRST_ID);
	detach_add(&f, OTHER_INDEX, 1, FIRST_ID + 1);
	frame_send(c, &f);
	while ((!attached || !detached) && ctl_receive(c, &entry, LOGIN_MS)) {
		memcpy(&h, entry.body, sizeof(h));
		if (entry.type == RNBD_CTL_ATTACH_REPLY)
			counter_due_refusal(le16toh(h.status));
		attached |= entry.type == RNBD_CTL_ATTACH_REPLY && entry.id == FIRST_ID;
		detached |= entry.type == RNBD_CTL_DETACHED && entry.id == FIRST_ID + 1;
	}
	if (!attached || !detached)
		amiss("an ATTACH got %s reply, its DETACH got %s", attached ? "a" : "no",
		      detached ? "one" : "none");
	else if (attach_patiently(c, OTHER_INDEX, &generation, OTHER_EXPORT))
		must_read(c, OTHER_INDEX, generation, RNBD_ST_OK);
	session_lives(c);
}

/* DETACH with requests in flight: each request gets a reply, possibly after DETACHED. */
static void detach_under_way(struct conn *c)
{
	uint32_t replies = 0, at, len, i, done = 0;
	bool detached = false;
	const uint8_t *frame;
	struct ctl entry;
	struct frame f;

	frame_begin(&f, RNBD_FRAME_REQUEST, 8);
	for (i = 0; i < 8; i++)
		client_add_request(&f, req_entry(RNBD_OP_WRITE, 0, i, 8192 * i, 4096, i));
	frame_send(c, &f);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	detach_add(&f, HANDLE_INDEX, HANDLE_GENERATION, FIRST_ID);
	frame_send(c, &f);
	while ((!detached || replies < 8) && (frame = conn_receive(c, 0, &len, LOGIN_MS))) {
		if (frame[0] == RNBD_FRAME_CONTROL) {
			ctl_take(c, frame, len);
			detached = ctl_left(c, &entry) && entry.type == RNBD_CTL_DETACHED &&
				   entry.id == FIRST_ID;
			if (!detached)
				break;
			continue;
		}
		for (at = HDR_BYTES; at < len; at += sizeof(struct rnbd_reply_entry)) {
			struct rnbd_reply_entry reply;

			memcpy(&reply, frame + at, sizeof(reply));
			replies++;
			done += !reply.status;
			if (reply.status && le16toh(reply.status) != RNBD_ST_CLOSED)
				amiss("status %u", le16toh(reply.status));
		}
	}
	note("%u of %u requests were executed", done, replies);
	if (!detached || replies != 8)
		amiss("%u replies, the DETACH got %s reply", replies, detached ? "a" : "no");
	must_read(c, HANDLE_INDEX, HANDLE_GENERATION, RNBD_ST_CLOSED);
}

/*
 * Send more DETACHs than RNBD_CTL_OPEN_MAX: a DETACH of an existing attachment does not count
 * towards this limit of open control requests.
 */
static void detach_many(struct conn *c)
{
	struct rnbd_ctl_handle h;
	uint32_t seen = 0, nr, i;
	struct ctl entry;
	struct frame f;
	char name[16];

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		if (!must_attach(c, OTHER_INDEX + i, 1, name))
			return;
	}
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	for (i = 0; i < MANY; i++)
		detach_add(&f, OTHER_INDEX + i, 1, FIRST_ID + i);
	frame_send(c, &f);
	for (nr = 0; nr < MANY && ctl_receive(c, &entry, LOGIN_MS); nr++) {
		i = entry.id - FIRST_ID;
		memcpy(&h, entry.body, sizeof(h));
		if (entry.type != RNBD_CTL_DETACHED || i >= MANY || seen >> i & 1 ||
		    le16toh(h.index) != OTHER_INDEX + i || h.status) {
			amiss("an entry of type %u with id %u, status %u", entry.type, entry.id,
			      le16toh(h.status));
			break;
		}
		seen |= 1u << i;
	}
	if (nr < MANY)
		amiss("%u replies", nr);
	must_read(c, OTHER_INDEX, 1, RNBD_ST_CLOSED);
	session_lives(c);
}

/*
 * The DETACH of a closed attachment does not end the ownership if the same host has attached the
 * export again later; the DETACH of this later attachment ends the ownership.
 */
static void detach_closed(struct conn *c)
{
	uint32_t generation = 1;
	int status;

	if (!must_attach(c, OTHER_INDEX, generation, "owned"))
		return;
	/*
	 * an ATTACH with a higher generation closes the attachment, and then fails with NO_EXPORT
	 */
	status = attach_after(c, OTHER_INDEX, &generation, "nothing");
	if (status != RNBD_ST_NO_EXPORT) {
		amiss("an export that does not exist: status %d", status);
		return;
	}
	if (!must_attach(c, OTHER_INDEX + 1, 1, "owned"))
		return;
	must_detach(c, OTHER_INDEX, 1, RNBD_ST_OK);
	must_read(c, OTHER_INDEX + 1, 1, RNBD_ST_OK);
	must_detach(c, OTHER_INDEX + 1, 1, RNBD_ST_OK);
	session_lives(c);
}

static const struct attach_story {
	const char *name;
	void (*run)(struct conn *c);
	const char *export;	/* first export of the session; default: "hostile" */
} stories[] = {
	{ "attach-again", attach_again },
	{ "attach-over", attach_over },
	{ "attach-repeated", attach_repeated },
	{ "attach-repeated-at-once", attach_repeated_at_once },
	{ "attach-lower", attach_lower },
	{ "attach-lower-detached", attach_lower_detached },
	{ "attach-early", attach_early },
	{ "attach-refused", attach_refused },
	{ "attach-16", attach_16 },
	{ "attach-17", attach_17 },
	{ "attach-two", attach_two },
	{ "attach-reader", attach_readonly },
	{ "attach-disown", attach_disown },
	{ "attach-behind-unknown", attach_behind_unknown },
	{ "attach-detach-at-once", attach_detach_at_once },
	{ "detach-in-flight", detach_under_way, "slow" },
	{ "detach-many", detach_many },
	{ "detach-closed", detach_closed },
};

static void run_story(const struct attach_story *story)
{
	struct conn c = { };

	if (session_start_export(&c, 2, story->export ?: "hostile"))
		story->run(&c);
	conn_close(&c);
}

void client_attach_cases(struct results *results)
{
	RUN_CASES(stories, results, run_story(&stories[i]));
}
