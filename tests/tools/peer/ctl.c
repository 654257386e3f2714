// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries, built and checked according to Documentation/reference/protocol.rst, and the
 * attachments of a well-behaved client.
 *
 * Operation: ctl_add() appends an entry to a frame that frame_begin() has started, and counts it. A
 * received entry is checked with its frame; ctl_receive() returns the entries one by one.
 * Ownership: a connection has a copy of the frame whose entries are returned.
 * Concurrency: one thread.
 * Errors: an invalid entry of the peer fails the case.
 */
#include <string.h>

#include "peer.h"

/* Append an entry with a body of zeros; its type is marked as mandatory. */
void *ctl_add(struct frame *f, uint16_t type, uint32_t id, uint32_t bytes)
{
	struct rnbd_ctl head = {
		.type = htole16(type | RNBD_CTL_MANDATORY),
		.length = htole16(sizeof(head) + bytes),
		.id = htole32(id),
	};
	struct rnbd_frame_hdr hdr;

	memcpy(frame_add(f, sizeof(head)), &head, sizeof(head));
	memcpy(&hdr, f->b, sizeof(hdr));
	hdr.nr_entries = htole16(le16toh(hdr.nr_entries) + 1);
	memcpy(f->b, &hdr, sizeof(hdr));
	return frame_add(f, bytes);
}

/* Parse the entry at @at and advance @at. Return false if it does not fit in the frame. */
static bool next_entry(const uint8_t *frame, uint32_t len, uint32_t *at, struct ctl *entry)
{
	struct rnbd_ctl head;
	uint32_t length;

	if (len - *at < sizeof(head))
		return false;
	memcpy(&head, frame + *at, sizeof(head));
	length = le16toh(head.length);
	if (length < sizeof(head) || length % RNBD_CTL_ALIGN || length > len - *at)
		return false;
	entry->type = le16toh(head.type) & ~RNBD_CTL_MANDATORY;
	entry->id = le32toh(head.id);
	entry->bytes = length - sizeof(head);
	entry->body = frame + *at + sizeof(head);
	*at += length;
	return true;
}

static bool handle_possible(uint16_t index, uint32_t generation)
{
	return (le16toh(index) < RNBD_ATTACH_MAX && generation) ||
	       amiss("an invalid handle: index %u, generation %u", le16toh(index),
		     le32toh(generation));
}

static bool check_attach(const struct ctl *entry)
{
	static const struct rnbd_ctl_attach none;
	struct rnbd_ctl_attach a;
	size_t len;

	memcpy(&a, entry->body, sizeof(a));
	len = strnlen(a.export, sizeof(a.export));
	if (le16toh(a.flags) & ~RNBD_ATTACH_FLAGS)
		return amiss("an ATTACH with flags %u", le16toh(a.flags));
	if (a.owner_generation && !a.fence_generation)
		return amiss("an ATTACH with an owner generation and no fence generation");
	if (!len || len == sizeof(a.export) ||
	    memcmp(a.export + len, none.export, sizeof(a.export) - len))
		return amiss("an ATTACH with an invalid export name");
	return handle_possible(a.index, a.generation);
}

/* Check that the properties of an export are consistent. */
static bool check_properties(const struct rnbd_ctl_attach_reply *r)
{
	uint32_t block = le32toh(r->logical_block), flags = le32toh(r->flags);

	if (r->retry_ms || flags & ~RNBD_EXPORT_FLAGS)
		return amiss("an ATTACH_REPLY with retry_ms or reserved flags set");
	if (memcmp(r->reserved, "\0\0\0", 4))
		return amiss("an ATTACH_REPLY with reserved bytes set");
	if (!r->fence_generation)
		return amiss("an ATTACH_REPLY without a fence generation");
	if (!power_of_2(block) || block < 512 || block > RNBD_UNIT_SIZE ||
	    !r->capacity || le64toh(r->capacity) % block || le64toh(r->capacity) >> 63 ||
	    !power_of_2(le32toh(r->physical_block)) || le32toh(r->physical_block) < block ||
	    le32toh(r->io_min) < block || le32toh(r->io_min) > RNBD_IO_HINT_MAX ||
	    le32toh(r->io_opt) > RNBD_IO_HINT_MAX ||
	    (le32toh(r->max_discard) && le32toh(r->max_discard) <
					le32toh(r->discard_granularity)) ||
	    (flags & RNBD_EXPORT_VOLATILE_CACHE && !(flags & RNBD_EXPORT_FUA)))
		return amiss("an ATTACH_REPLY with invalid properties of the export");
	return true;
}

static bool check_attach_reply(const struct ctl *entry)
{
	const size_t rest = offsetof(struct rnbd_ctl_attach_reply, fence_generation);
	static const struct rnbd_ctl_attach_reply none;
	struct rnbd_ctl_attach_reply r;

	memcpy(&r, entry->body, sizeof(r));
	if (!handle_possible(r.index, r.generation))
		return false;
	if (!r.status)
		return check_properties(&r);
	if (r.retry_ms && le16toh(r.status) != RNBD_ST_BUSY &&
	    le16toh(r.status) != RNBD_ST_LIMIT)
		return amiss("an ATTACH_REPLY with status %u and retry_ms",
			     le16toh(r.status));
	return !memcmp((uint8_t *)&r + rest, (const uint8_t *)&none + rest, sizeof(r) - rest) ||
	       amiss("an ATTACH_REPLY that refuses has properties of the export");
}

static bool check_handle(const struct ctl *entry)
{
	struct rnbd_ctl_handle h;

	memcpy(&h, entry->body, sizeof(h));
	if (memcmp(h.reserved, "\0", 2) || (h.retry_ms && entry->type != RNBD_CTL_CLOSED) ||
	    le16toh(h.flags) & ~(entry->type == RNBD_CTL_DETACH ? RNBD_DETACH_FLAGS : 0))
		return amiss("reserved bytes are set in an entry of type %u", entry->type);
	if (entry->type == RNBD_CTL_DETACH ? h.status :
	    entry->type == RNBD_CTL_CLOSED ? !h.status : 0)
		return amiss("an entry of type %u with status %u", entry->type, le16toh(h.status));
	if (entry->type == RNBD_CTL_CLOSED && entry->id)
		return amiss("an entry of type %u with id %u", entry->type, entry->id);
	return handle_possible(h.index, h.generation);
}

static bool check_capacity(const struct ctl *entry)
{
	struct rnbd_ctl_capacity c;

	memcpy(&c, entry->body, sizeof(c));
	if (c.reserved[0] || c.reserved[1] || entry->id || !c.capacity ||
	    le64toh(c.capacity) % 512 || le64toh(c.capacity) >> 63)
		return amiss("an invalid CAPACITY entry");
	return handle_possible(c.index, c.generation);
}

static bool check_nothing(const struct ctl *entry)
{
	(void)entry;
	return true;
}

static bool check_join_reply(const struct ctl *entry)
{
	static const uint8_t zero[RNBD_MAC_SIZE];
	struct rnbd_ctl_join_reply r;

	memcpy(&r, entry->body, sizeof(r));
	if (r.reserved[0] || r.reserved[1] ||
	    (r.retry_ms && le16toh(r.status) != RNBD_ST_BUSY &&
	     le16toh(r.status) != RNBD_ST_LIMIT) ||
	    (r.status && memcmp(r.mac, zero, sizeof(zero))))
		return amiss("an invalid JOIN_REPLY, with status %u", le16toh(r.status));
	return true;
}

static bool check_segment(const struct ctl *entry)
{
	struct rnbd_ctl_segment seg;

	memcpy(&seg, entry->body, sizeof(seg));
	return (seg.generation && !entry->id) ||
	       amiss("a segment of generation %u, with id %u", le32toh(seg.generation), entry->id);
}

static bool check_want(const struct ctl *entry)
{
	struct rnbd_ctl_want w;

	memcpy(&w, entry->body, sizeof(w));
	return !memcmp(w.reserved, "\0\0\0", 4) || amiss("a WANT with reserved bytes set");
}

/*
 * Check an entry about a segment. Only RECLAIM may have a deadline, and only RELEASE may have an
 * id.
 */
static bool check_lease(const struct ctl *entry)
{
	struct rnbd_ctl_lease lease;

	memcpy(&lease, entry->body, sizeof(lease));
	if (memcmp(lease.reserved, "\0\0\0", 4) || !lease.generation ||
	    (lease.deadline_ms && entry->type != RNBD_CTL_RECLAIM))
		return amiss("an invalid entry of type %u for slot %u", entry->type,
			     le32toh(lease.slot));
	return entry->type == RNBD_CTL_RELEASE || !entry->id ||
	       amiss("an entry of type %u with id %u", entry->type, entry->id);
}

static bool check_list_end(const struct ctl *entry)
{
	struct rnbd_ctl_list_end end;

	memcpy(&end, entry->body, sizeof(end));
	if (end.reserved[0] || end.reserved[1] ||
	    (end.retry_ms && le16toh(end.status) != RNBD_ST_BUSY &&
	     le16toh(end.status) != RNBD_ST_LIMIT))
		return amiss("a LIST_END with reserved bytes or retry_ms set");
	return true;
}

static bool check_query(const struct ctl *entry)
{
	bool reply = entry->type != RNBD_CTL_QUERY;
	struct rnbd_ctl_query q;

	memcpy(&q, entry->body, sizeof(q));
	if (memcmp(q.reserved, "\0\0\0\0", 5) || q.state > RNBD_QUERY_UNKNOWN ||
	    reply != !!q.state)
		return amiss("an invalid query, of state %u", q.state);
	return true;
}

static bool check_slots(const struct ctl *entry)
{
	struct rnbd_ctl_slots s;

	memcpy(&s, entry->body, sizeof(s));
	return (!memcmp(s.reserved, "\0\0\0", 4) && !entry->id &&
		le16toh(s.slots) >= RNBD_RING_SLOTS_MIN &&
		le16toh(s.slots) <= RNBD_RING_SLOTS_MAX &&
		le16toh(s.depth) <= RNBD_DEPTH_MAX) ||
	       amiss("an invalid entry for %u slots", le16toh(s.slots));
}

#define OF_CLIENT	1
#define OF_TARGET	2

/* Check an entry of the peer; a type that this program does not know is an error. */
static bool check_entry(const struct conn *c, const struct ctl *entry)
{
	static const struct {
		uint8_t of, bytes;
		bool (*check)(const struct ctl *entry);
	} known[] = {
		[RNBD_CTL_LOGIN] = { OF_CLIENT, sizeof(struct rnbd_ctl_login), check_nothing },
		[RNBD_CTL_LOGIN_REPLY] = {
			OF_TARGET, sizeof(struct rnbd_ctl_login_reply), check_nothing
		},
		[RNBD_CTL_JOIN] = { OF_CLIENT, 0, check_nothing },
		[RNBD_CTL_JOIN_REPLY] = {
			OF_TARGET, sizeof(struct rnbd_ctl_join_reply), check_join_reply
		},
		[RNBD_CTL_CHALLENGE] = {
			OF_TARGET, sizeof(struct rnbd_ctl_challenge), check_nothing
		},
		[RNBD_CTL_PROOF] = {
			OF_CLIENT | OF_TARGET, sizeof(struct rnbd_ctl_proof), check_nothing
		},
		[RNBD_CTL_ATTACH] = { OF_CLIENT, sizeof(struct rnbd_ctl_attach), check_attach },
		[RNBD_CTL_ATTACH_REPLY] = {
			OF_TARGET, sizeof(struct rnbd_ctl_attach_reply), check_attach_reply
		},
		[RNBD_CTL_DETACH] = { OF_CLIENT, sizeof(struct rnbd_ctl_handle), check_handle },
		[RNBD_CTL_DETACHED] = { OF_TARGET, sizeof(struct rnbd_ctl_handle), check_handle },
		[RNBD_CTL_CLOSED] = { OF_TARGET, sizeof(struct rnbd_ctl_handle), check_handle },
		[RNBD_CTL_CAPACITY] = {
			OF_TARGET, sizeof(struct rnbd_ctl_capacity), check_capacity
		},
		[RNBD_CTL_QUERY] = { OF_CLIENT, sizeof(struct rnbd_ctl_query), check_query },
		[RNBD_CTL_QUERY_REPLY] = { OF_TARGET, sizeof(struct rnbd_ctl_query), check_query },
		[RNBD_CTL_LIST] = { OF_CLIENT, 0, check_nothing },
		[RNBD_CTL_EXPORT] = { OF_TARGET, sizeof(struct rnbd_ctl_export), check_nothing },
		[RNBD_CTL_LIST_END] = {
			OF_TARGET, sizeof(struct rnbd_ctl_list_end), check_list_end
		},
		[RNBD_CTL_SEGMENT] = { OF_TARGET, sizeof(struct rnbd_ctl_segment), check_segment },
		[RNBD_CTL_WANT] = { OF_CLIENT, sizeof(struct rnbd_ctl_want), check_want },
		[RNBD_CTL_RECLAIM] = { OF_TARGET, sizeof(struct rnbd_ctl_lease), check_lease },
		[RNBD_CTL_RELEASE] = { OF_CLIENT, sizeof(struct rnbd_ctl_lease), check_lease },
		[RNBD_CTL_RELEASED] = { OF_TARGET, sizeof(struct rnbd_ctl_lease), check_lease },
		[RNBD_CTL_SLOTS] = {
			OF_CLIENT | OF_TARGET, sizeof(struct rnbd_ctl_slots), check_slots
		},
		[RNBD_CTL_SLOTS_REPLY] = {
			OF_CLIENT | OF_TARGET, sizeof(struct rnbd_ctl_slots), check_slots
		},
	};
	bool join = entry->type == RNBD_CTL_JOIN || entry->type == RNBD_CTL_JOIN_REPLY;
	bool any = entry->type == RNBD_CTL_QUERY || entry->type == RNBD_CTL_QUERY_REPLY ||
		   entry->type == RNBD_CTL_CHALLENGE || entry->type == RNBD_CTL_PROOF ||
		   entry->type == RNBD_CTL_SLOTS || entry->type == RNBD_CTL_SLOTS_REPLY;

	if (entry->type >= ARRAY_SIZE(known) ||
	    !(known[entry->type].of & (c->serves ? OF_CLIENT : OF_TARGET)))
		return amiss("unexpected control entry of type %u", entry->type);
	if (!any && join != !!c->queue)
		return amiss("unexpected control entry of type %u on queue %u", entry->type,
			     c->queue);
	if (entry->bytes != known[entry->type].bytes)
		return amiss("a control entry of type %u with %u bytes", entry->type, entry->bytes);
	return known[entry->type].check(entry);
}

/* Check the entries of a CONTROL frame whose header was checked. */
bool ctl_check(const struct conn *c, const uint8_t *frame, uint32_t len, uint32_t nr)
{
	uint32_t at = HDR_BYTES;
	struct ctl entry;

	for (; nr; nr--) {
		if (!next_entry(frame, len, &at, &entry))
			return amiss("a control entry that does not fit its frame");
		if (!check_entry(c, &entry))
			return false;
	}
	return at == len || amiss("%u bytes after the last control entry", len - at);
}

/*
 * Copy a frame, from which ctl_left() then returns the entries. Entries of the previous frame that
 * were not returned yet are lost.
 */
void ctl_take(struct conn *c, const uint8_t *frame, uint32_t len)
{
	memcpy(c->ctl.b, frame, len);
	c->ctl.len = len;
	c->ctl.at = HDR_BYTES;
}

/* Get the next entry of the frame that ctl_take() has copied. Return false if none is left. */
bool ctl_left(struct conn *c, struct ctl *entry)
{
	return c->ctl.at < c->ctl.len && next_entry(c->ctl.b, c->ctl.len, &c->ctl.at, entry);
}

/*
 * Get the next control entry; if none is left, wait up to @ms for a frame. The entry is valid until
 * the next call of ctl_take().
 */
bool ctl_receive(struct conn *c, struct ctl *entry, uint32_t ms)
{
	const uint8_t *frame;
	uint32_t len;

	if (ctl_left(c, entry))
		return true;
	frame = conn_receive(c, RNBD_FRAME_CONTROL, &len, ms);
	if (!frame)
		return false;
	ctl_take(c, frame, len);
	return ctl_left(c, entry);
}

/* Get the next control entry. An entry that is not of @type fails the case. */
bool ctl_await(struct conn *c, uint16_t type, struct ctl *entry, uint32_t ms)
{
	return ctl_receive(c, entry, ms) &&
	       (entry->type == type ||
		amiss("an entry of type %u, wanted %u", entry->type, type));
}

/* Check that an entry is the reply to request @id and has this handle. */
static bool is_answer(const struct ctl *entry, uint16_t type, uint32_t id, uint16_t index,
		      uint32_t generation)
{
	struct rnbd_ctl_handle h;	/* also the beginning of ATTACH_REPLY */

	if (entry->type != type || entry->id != id)
		return amiss("an entry of type %u with id %u, wanted %u and %u", entry->type,
			     entry->id, type, id);
	memcpy(&h, entry->body, sizeof(h));
	return (h.index == index && h.generation == generation) ||
	       amiss("a reply for index %u and generation %u, wanted %u and %u",
		     le16toh(h.index), le32toh(h.generation), le16toh(index),
		     le32toh(generation));
}

struct rnbd_ctl_attach attach_entry(uint16_t index, uint32_t generation, const char *export)
{
	struct rnbd_ctl_attach a = {
		.index = htole16(index),
		.generation = htole32(generation),
	};

	memcpy(a.export, export, strlen(export));
	return a;
}

void attach_add(struct frame *f, const struct rnbd_ctl_attach *a, uint32_t id)
{
	memcpy(ctl_add(f, RNBD_CTL_ATTACH, id, sizeof(*a)), a, sizeof(*a));
}

/* Wait for the reply to @a, and store it in c->grant.a. Return its status, or NEVER. */
int await_attach(struct conn *c, const struct rnbd_ctl_attach *a, uint32_t id)
{
	struct rnbd_ctl_attach_reply *r = &c->grant.a;
	struct ctl entry;

	memset(r, 0, sizeof(*r));
	if (!ctl_receive(c, &entry, LOGIN_MS) ||
	    !is_answer(&entry, RNBD_CTL_ATTACH_REPLY, id, a->index, a->generation))
		return NEVER;
	memcpy(r, entry.body, sizeof(*r));
	if (a->flags & htole16(RNBD_ATTACH_DISOWN))
		return le16toh(r->status);
	if (r->status)
		counter_due_refusal(le16toh(r->status));
	else if (a->fence_generation && r->fence_generation != a->fence_generation)
		amiss("an ATTACH_REPLY with another fence generation than requested");
	else if (a->fence_generation && r->owner_generation != a->owner_generation)
		amiss("an ATTACH_REPLY with another owner generation than requested");
	return le16toh(r->status);
}

/* Attach as a well-behaved client does. Return the status of the reply, or NEVER. */
int attach_handle(struct conn *c, uint16_t index, uint32_t generation, const char *export)
{
	struct rnbd_ctl_attach a = attach_entry(index, generation, export);
	uint32_t id = ++c->ctl_id;
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	attach_add(&f, &a, id);
	if (!frame_send(c, &f))
		return NEVER;
	return await_attach(c, &a, id);
}

/* Attach with the default handle. Return true if granted; else c->grant.status is the reason. */
bool attach(struct conn *c, const char *export)
{
	int status = attach_handle(c, HANDLE_INDEX, HANDLE_GENERATION, export);

	c->grant.status = status == NEVER ? UINT16_MAX : status;
	return !status;
}

void detach_add(struct frame *f, uint16_t index, uint32_t generation, uint32_t id)
{
	struct rnbd_ctl_handle h = {
		.index = htole16(index),
		.generation = htole32(generation),
	};

	memcpy(ctl_add(f, RNBD_CTL_DETACH, id, sizeof(h)), &h, sizeof(h));
}

/* Wait for the reply to a DETACH. Return its status, or NEVER. */
int await_detached(struct conn *c, uint16_t index, uint32_t generation, uint32_t id)
{
	struct rnbd_ctl_handle h;
	struct ctl entry;

	if (!ctl_receive(c, &entry, LOGIN_MS) ||
	    !is_answer(&entry, RNBD_CTL_DETACHED, id, htole16(index), htole32(generation)))
		return NEVER;
	memcpy(&h, entry.body, sizeof(h));
	return le16toh(h.status);
}

/* Detach as a well-behaved client does. Return the status of the reply, or NEVER. */
int detach_handle(struct conn *c, uint16_t index, uint32_t generation)
{
	uint32_t id = ++c->ctl_id;
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	detach_add(&f, index, generation, id);
	if (!frame_send(c, &f))
		return NEVER;
	return await_detached(c, index, generation, id);
}

/* Send a JOIN, and store the nonce of the challenge in @text. */
bool join_challenged(struct conn *c, const struct request *req, struct rnbd_join_text *text)
{
	static const uint8_t zero[RNBD_NONCE_SIZE];
	struct rnbd_ctl_challenge challenge;
	struct ctl entry;
	struct frame f;

	memset(text, 0, sizeof(*text));
	text->req = req->cm;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	ctl_add(&f, RNBD_CTL_JOIN, ++c->ctl_id, 0);
	if (!frame_send(c, &f) || !ctl_await(c, RNBD_CTL_CHALLENGE, &entry, LOGIN_MS))
		return amiss("no challenge for a queue");
	memcpy(&challenge, entry.body, sizeof(challenge));
	if (!memcmp(challenge.nonce, zero, sizeof(zero)) || entry.id != c->ctl_id)
		return amiss("an invalid challenge, with id %u", entry.id);
	memcpy(text->target_nonce, challenge.nonce, sizeof(challenge.nonce));
	return true;
}

/* Send a proof of the session's key; store it in @proof. */
bool join_send_proof(struct conn *c, const uint8_t *key, struct rnbd_join_text *text,
		     struct rnbd_ctl_proof *proof)
{
	struct uuid random[2] = { random_uuid(), random_uuid() };
	struct frame f;

	memcpy(text->client_nonce, random, sizeof(random));
	memcpy(proof->nonce, random, sizeof(random));
	auth_join_mac(key, text, RNBD_LABEL_JOIN, proof->mac);
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_PROOF, c->ctl_id, sizeof(*proof)), proof, sizeof(*proof));
	return frame_send(c, &f);
}

/* Wait for the reply to the proof. Return its status, or NEVER. */
int join_await(struct conn *c, const uint8_t *key, struct rnbd_join_text *text)
{
	struct rnbd_ctl_join_reply r;
	uint8_t mac[RNBD_MAC_SIZE];
	struct ctl entry;

	if (!ctl_await(c, RNBD_CTL_JOIN_REPLY, &entry, LOGIN_MS))
		return NEVER;
	memcpy(&r, entry.body, sizeof(r));
	if (r.status) {
		counter_due_refusal(le16toh(r.status));
		return le16toh(r.status);
	}
	auth_join_mac(key, text, RNBD_LABEL_JOINED, mac);
	if (memcmp(mac, r.mac, sizeof(mac)))
		amiss("the proof of the target for the key of the session is wrong");
	return 0;
}

/* Join a session as a well-behaved client does. Return the status of the reply, or NEVER. */
int join(struct conn *c, const struct request *req, const uint8_t *key)
{
	struct rnbd_join_text text;
	struct rnbd_ctl_proof proof;

	if (!join_challenged(c, req, &text) || !join_send_proof(c, key, &text, &proof))
		return NEVER;
	return join_await(c, key, &text);
}
