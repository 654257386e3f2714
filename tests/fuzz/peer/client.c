// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile client: cases against the target of the kernel.
 *
 * Operation: most cases are lines of a table, a lawful message and what is wrong with
 * it. Each has a session of its own, host 2's unless it says otherwise, and says how
 * that ends: refused with a status, answered with a status and living on, or closed
 * without an answer for a reason, which the target's events must tell as well.
 * The target has the exports "hostile", "fixed" (read-only) and "slow" (every request
 * takes a while) for hosts 2 and 3, and "secret" for others.
 * Ownership, Concurrency: one thread, one case at a time.
 * Errors: a case that does not end as it says is counted, and the next one begins.
 */
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define SLOTS		16
#define SLOT_SIZE	4096
#define CLOSE_MS	8000
#define LOGIN_MS	20000
#define BUSY_MS		100

/* ------------------------------------------------------------------------
 * Sessions
 */

static bool start(struct conn *c, uint32_t host)
{
	struct request req;
	int status;

	request_init(&req, host, SLOTS, SLOT_SIZE);
	status = conn_open(c, &req);
	return !status || amiss("not connected: status %d", status);
}

bool start_export(struct conn *c, uint32_t host, const char *export)
{
	unsigned int tries;
	struct rnbd_login l;

	login_fill(&l, export);
	for (tries = LOGIN_MS / BUSY_MS; start(c, host); tries--) {
		if (login(c, &l, LOGIN_MS))
			return true;
		/* what the case before has left is still being ended */
		if (c->grant.status != RNBD_ST_BUSY || !tries)
			return amiss("login to %s: status %u", export, c->grant.status);
		conn_close(c);
		usleep(BUSY_MS * 1000);
	}
	return false;
}

/* Without a reply, and for this reason. */
static bool ends(struct conn *c, const char *why)
{
	uint32_t len;

	if (conn_receive(c, 0, &len, CLOSE_MS))
		return amiss("answered, not closed for: %s", why);
	if (!c->gone)
		return amiss("not closed for: %s", why);
	return monitor_closed(why);
}

static void must_go(struct conn *c, uint32_t ms)
{
	if (!conn_wait_gone(c, ms))
		amiss("the target goes on");
}

static bool lives(struct conn *c)
{
	int status = simple_request(c, req_entry(RNBD_OP_READ, 0, 3, 0, 4096, 9));

	return !status || amiss("a lawful READ afterwards: status %d", status);
}

#define C(field, value)		PATCH(0, struct rnbd_cm_req, field, ABSOLUTE, value)
#define E(field, value)		PATCH(16, struct rnbd_req_entry, field, ABSOLUTE, value)
#define E_OF(rel, field, value)	PATCH(16, struct rnbd_req_entry, field, rel, value)
#define X(field, value)		PATCH(48, struct rnbd_extent_entry, field, ABSOLUTE, value)
#define L(field, value)		PATCH(16, struct rnbd_login, field, ABSOLUTE, value)

/* What a patch may be relative to. */
static void relatives(const struct grant *g, uint64_t *rel)
{
	rel[CAPACITY] = le64toh(g->r.capacity);
	rel[POOL] = le32toh(g->r.pool_units);
	rel[SEGMENT] = le32toh(g->r.segment_units);
}

/* ------------------------------------------------------------------------
 * Connection requests
 */

static const struct {
	const char *name;
	int status;
	const char *why;	/* the rule that is broken */
	int8_t len;		/* of the private data, 0: all; -1: none */
	uint8_t host;
	struct patch p[2];
} requests[] = {
	{ "cm-missing", RNBD_ST_MALFORMED, MAGIC, .len = -1 },
	{ "cm-short", RNBD_ST_MALFORMED, IDENTITY, .len = 20 },
	{ "cm-lacks-session", RNBD_ST_MALFORMED, IDENTITY, .len = 40 },
	{ "cm-garbage", RNBD_ST_MALFORMED, MAGIC, .p = { { 0, 56, ABSOLUTE, 0xa5 } } },
	{ "cm-magic", RNBD_ST_MALFORMED, MAGIC, .p = { C(magic, RNBD_MAGIC + 1) } },
	{ "cm-version-0", RNBD_ST_VERSION, VERSION, .p = { C(version, 0) } },
	{ "cm-version-2", RNBD_ST_VERSION, VERSION, .p = { C(version, 2) } },
	{ "cm-version-65535", RNBD_ST_VERSION, VERSION,
	  .p = { C(version, 65535), C(reserved0, 1) } },
	{ "cm-reserved0", RNBD_ST_MALFORMED, RESERVED, .p = { C(reserved0, 1) } },
	{ "cm-reserved1", RNBD_ST_MALFORMED, RESERVED, .p = { C(reserved1, 0x80000000) } },
	{ "cm-queue-64", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(queue, 64) } },
	{ "cm-queue-65535", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(queue, 65535) } },
	{ "cm-queue-of-nobody", RNBD_ST_NO_SESSION, .p = { C(queue, 1) } },
	{ "cm-slots-0", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 0) } },
	{ "cm-slots-3", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 3) } },
	{ "cm-slots-1025", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 1025) } },
	{ "cm-slots-65535", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(ring_slots, 65535) } },
	{ "cm-slot-size-0", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 0) } },
	{ "cm-slot-size-small", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 960) } },
	{ "cm-slot-size-odd", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 4097) } },
	{ "cm-slot-size-large", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 65600) } },
	{ "cm-slot-size-wraps", RNBD_ST_MALFORMED, GEOMETRY, .p = { C(slot_size, 0xffffffc0) } },
	{ "cm-ring-too-large", RNBD_ST_RING, .p = { C(ring_slots, 1024), C(slot_size, 65536) } },
	{ "cm-epoch-0", RNBD_ST_MALFORMED, EPOCH, .p = { C(epoch, 0) } },
	{ "cm-host-0", RNBD_ST_MALFORMED, IDENTITY, .p = { C(host_id, 0) } },
	{ "cm-session-0", RNBD_ST_MALFORMED, IDENTITY, .p = { C(session_id, 0) } },
	{ "cm-host-unknown", RNBD_ST_HOST_DENIED, .host = 99 },
};

static bool run_request(size_t i)
{
	uint32_t host = requests[i].host ?: 2, p;
	struct request req;
	struct conn c;
	int status;

	request_init(&req, host, SLOTS, SLOT_SIZE);
	if (requests[i].len)
		req.len = requests[i].len < 0 ? 0 : requests[i].len;
	for (p = 0; p < ARRAY_SIZE(requests[i].p); p++)
		patch_apply((uint8_t *)&req.cm, &requests[i].p[p], NULL);
	if (requests[i].why)
		counter_due_fault(requests[i].why);
	status = conn_open(&c, &req);
	if (status != requests[i].status)
		amiss("refused with %d, wanted %d", status, requests[i].status);
	else if (c.version != RNBD_VERSION)
		amiss("refused by version %u", c.version);
	conn_close(&c);
	return true;
}

/* ------------------------------------------------------------------------
 * Frames
 */

enum base {
	READ = 1, WRITE, FLUSH, DISCARD, ZEROES, READ_INLINE, WRITE_INLINE, READ_17, TWINS,
	CREDIT, LOGIN, DISCOVER, GARBAGE, LOGIN_REPLY, REPLY, RESIZE, DISCOVER_REPLY,
	CHALLENGE, PROOF,
};

/* When it is sent. */
enum when { LIVE, FIRST, LISTING, SECOND };

static const struct frame_case {
	const char *name;
	enum base base;
	const char *why;	/* closed for that reason; NULL: answered with @status */
	struct patch p[4];
	int32_t more;		/* bytes more than it has, or fewer */
	enum when when;
	const char *export;
	uint16_t status;
} frames[] = {
	/* heads */
	{ "head-empty", READ, SHORT, .more = -48 },
	{ "head-cut", READ, SHORT, .more = -33 },
	{ "head-type-0", READ, TYPE, { H(type, 0) } },
	{ "head-type-200", READ, TYPE, { H(type, 200) } },
	{ "head-type-255", CREDIT, TYPE, { H(type, 255) } },
	{ "head-flags", READ, RESERVED, { H(flags, 0x82) } },
	{ "head-reserved", READ, RESERVED, { H(reserved, 0x8000) } },
	{ "head-seq-behind", READ, SEQ, { H(seq, 0) } },
	{ "head-seq-ahead", READ, SEQ, { H(seq, 2) } },
	{ "head-seq-far", CREDIT, SEQ, { H(seq, -1) } },
	{ "head-epoch-behind", READ, EPOCH, { H(epoch, 0) } },
	{ "head-epoch-ahead", CREDIT, EPOCH, { H(epoch, 2) } },
	{ "head-credits", READ, CREDITS, { H(credits, 65535) } },
	{ "head-credits-one-more", READ, CREDITS, { H(credits, 2) } },
	{ "head-credits-in-credit", CREDIT, CREDITS, { H(credits, 17) } },
	{ "head-count-0", READ, COUNT, { H(nr_entries, 0) } },
	{ "head-count-2", READ, SHORT, { H(nr_entries, 2) } },
	{ "head-count-65535", READ, SHORT, { H(nr_entries, 65535) } },
	{ "head-credit-with-entry", CREDIT, COUNT, { H(nr_entries, 1) } },
	{ "head-credit-long", CREDIT, LONG, .more = 1 },
	{ "entry-cut", READ, SHORT, .more = -1 },
	{ "entry-long", READ, LONG, .more = 1 },
	{ "frame-oversized", READ, LONG, .more = SLOT_SIZE },
	{ "data-none", READ, SHORT, { H(flags, RNBD_FRAME_DATA) } },
	{ "data-in-credit", CREDIT, FLAGS, { H(flags, RNBD_FRAME_DATA) }, .more = 8 },
	{ "data-unclaimed", READ, LONG, { H(flags, RNBD_FRAME_DATA) }, .more = 512 },
	{ "garbage", GARBAGE, RESERVED },
	{ "garbage-first", GARBAGE, RESERVED, .when = FIRST },
	/* frames of a target, and at the wrong time */
	{ "type-login-reply", LOGIN_REPLY, TYPE },
	{ "type-reply", REPLY, TYPE },
	{ "type-resize", RESIZE, TYPE },
	{ "type-discover-reply", DISCOVER_REPLY, TYPE },
	{ "type-challenge", CHALLENGE, TYPE },
	{ "type-proof", PROOF, TYPE },
	{ "proof-first", PROOF, TYPE, .when = FIRST },
	{ "login-twice", LOGIN, TYPE },
	{ "discover-when-live", DISCOVER, TYPE },
	{ "read-before-login", READ, TYPE, .when = FIRST },
	{ "reply-before-login", REPLY, TYPE, .when = FIRST },
	{ "read-while-listing", READ, TYPE, .when = LISTING },
	{ "login-while-listing", LOGIN, TYPE, .when = LISTING },
	{ "login-on-queue-1", LOGIN, TYPE, .when = SECOND },
	{ "garbage-on-queue-1", GARBAGE, RESERVED, .when = SECOND },
	{ "read-on-queue-1", READ, .when = SECOND },
	/* requests */
	{ "op-0", READ, OP, { E(op, 0) } },
	{ "op-6", READ, OP, { E(op, 6) } },
	{ "op-255", FLUSH, OP, { E(op, 255) } },
	{ "flags-read-fua", READ, FLAGS, { E(flags, RNBD_REQ_FUA) } },
	{ "flags-write-nounmap", WRITE, FLAGS, { E(flags, RNBD_REQ_NOUNMAP) } },
	{ "flags-flush", FLUSH, FLAGS, { E(flags, RNBD_REQ_FUA) } },
	{ "flags-zeroes-inline", ZEROES, FLAGS, { E(flags, RNBD_REQ_INLINE) } },
	{ "flags-unknown", WRITE, FLAGS, { E(flags, 0x80) } },
	{ "tag-depth", READ, TAG, { E(tag, 16) } },
	{ "tag-65535", FLUSH, TAG, { E(tag, 65535) } },
	{ "tag-in-use", TWINS, TAG, .export = "slow" },
	{ "entry-reserved", READ, RESERVED, { E(reserved[0], 1) } },
	{ "entry-reserved-end", FLUSH, RESERVED, { E(reserved[6], 0x80) } },
	{ "length-0", READ, LENGTH, { E(length, 0) } },
	{ "length-odd", READ, LENGTH, { E(length, 511) } },
	{ "length-max-io", READ, LENGTH, { E(length, (128 << 10) + 512) } },
	{ "length-4g", WRITE, LENGTH, { E(length, 0xfffffe00) } },
	{ "length-discard-0", DISCARD, LENGTH, { E(length, 0) } },
	{ "length-zeroes-odd", ZEROES, LENGTH, { E(length, 1) } },
	{ "length-flush", FLUSH, LENGTH, { E(length, 512) } },
	{ "length-inline-read", READ_INLINE, LENGTH, { E(length, 1536) } },
	{ "length-inline-write", WRITE_INLINE, LENGTH, { E(length, 1536) }, .more = 1024 },
	{ "offset-odd", READ, OFFSET, { E(offset, 1) } },
	{ "offset-end", READ, OFFSET, { E_OF(CAPACITY, offset, 0) } },
	{ "offset-over-the-end", READ, OFFSET, { E_OF(CAPACITY, offset, -3584) } },
	{ "offset-wraps", READ, OFFSET, { E(offset, -512) } },
	{ "offset-wraps-exactly", WRITE, OFFSET, { E(offset, -4096) } },
	{ "offset-signed", WRITE, OFFSET, { E(offset, INT64_MIN) } },
	{ "offset-flush", FLUSH, OFFSET, { E(offset, 512) } },
	{ "offset-discard-wraps", DISCARD, OFFSET, { E(offset, -4096) } },
	{ "offset-zeroes-end", ZEROES, OFFSET, { E_OF(CAPACITY, offset, 0) } },
	{ "offset-last", READ, .p = { E_OF(CAPACITY, offset, -4096) } },
	/* pool space */
	{ "extent-none", READ, EXTENT, { E(nr_extents, 0) } },
	{ "extent-empty", READ, EXTENT, { E(extent.units, 0) } },
	{ "extent-18", READ, EXTENT, { E(nr_extents, 18) } },
	{ "extent-255", READ, EXTENT, { E(nr_extents, 255) } },
	{ "extent-entry-missing", READ, COUNT, { E(nr_extents, 2) } },
	{ "extent-end", READ, EXTENT, { E_OF(POOL, extent.unit, 0) } },
	{ "extent-over-the-end", READ, EXTENT,
	  { E(length, 8192), E_OF(POOL, extent.unit, -1), E(extent.units, 2) } },
	{ "extent-far", WRITE, EXTENT, { E(extent.unit, 0xffffffff) } },
	{ "extent-wraps", READ, EXTENT, { E(extent.unit, 1), E(extent.units, 0xffffffff) } },
	{ "extent-crosses", READ, EXTENT,
	  { E(length, 8192), E_OF(SEGMENT, extent.unit, -1), E(extent.units, 2) } },
	{ "extent-too-few", READ, EXTENT, { E(length, 8192) } },
	{ "extent-too-many", WRITE, EXTENT, { E(extent.units, 2) } },
	{ "extent-17", READ_17 },
	{ "extent-overlap", READ_17, EXTENT, { X(extent[3].unit, 0) } },
	{ "extent-second-far", READ_17, EXTENT, { X(extent[0].unit, 0xfffffff0) } },
	{ "extent-unused", READ_17, EXTENT, { E(nr_extents, 16), E(length, 16 * 4096) } },
	{ "extent-last", READ, .p = { E_OF(POOL, extent.unit, -1) } },
	{ "extent-in-flush", FLUSH, EXTENT, { E(extent.unit, 1) } },
	{ "extent-in-discard", DISCARD, EXTENT, { E(nr_extents, 1) } },
	{ "extent-in-zeroes", ZEROES, EXTENT, { E(extent.units, 1) } },
	/* inline data */
	{ "inline-lacks", WRITE_INLINE, SHORT, .more = -1 },
	{ "inline-not-there", WRITE_INLINE, SHORT, { H(flags, 0) }, .more = -512 },
	{ "inline-more", WRITE_INLINE, LONG, .more = 1 },
	/* a read-only export */
	{ "readonly-write", WRITE, .export = "fixed", .status = RNBD_ST_READONLY },
	{ "readonly-inline", WRITE_INLINE, .export = "fixed", .status = RNBD_ST_READONLY },
	{ "readonly-discard", DISCARD, .export = "fixed", .status = RNBD_ST_READONLY },
	{ "readonly-zeroes", ZEROES, .export = "fixed", .status = RNBD_ST_READONLY },
	/* logins */
	{ "login-name-open", LOGIN, NAME, { L(export, 'a') }, .when = FIRST },
	{ "login-name-empty", LOGIN, NAME, { L(export, 0) }, .when = FIRST },
	{ "login-name-path", LOGIN, NAME, { L(export[0], '/') }, .when = FIRST },
	{ "login-name-control", LOGIN, NAME, { L(export[1], 7) }, .when = FIRST },
	{ "login-name-tail", LOGIN, NAME, { L(export[40], 'x') }, .when = FIRST },
	{ "login-reserved", LOGIN, RESERVED, { L(reserved[3], 1) }, .when = FIRST },
	{ "login-flags", LOGIN, FLAGS, { L(flags, 0x80000000) }, .when = FIRST },
	{ "login-queues-0", LOGIN, GEOMETRY, { L(nr_queues, 0) }, .when = FIRST },
	{ "login-queues-65", LOGIN, GEOMETRY, { L(nr_queues, 65) }, .when = FIRST },
	{ "login-depth-0", LOGIN, GEOMETRY, { L(queue_depth, 0) }, .when = FIRST },
	{ "login-depth-1025", LOGIN, GEOMETRY, { L(queue_depth, 1025) }, .when = FIRST },
	{ "login-max-io-0", LOGIN, LIMITS, { L(max_io, 0) }, .when = FIRST },
	{ "login-max-io-odd", LOGIN, LIMITS, { L(max_io, 6144) }, .when = FIRST },
	{ "login-max-io-large", LOGIN, LIMITS, { L(max_io, RNBD_MAX_IO_MAX + 4096) },
	  .when = FIRST },
	{ "login-pool-0", LOGIN, LIMITS, { L(pool_bytes, 0) }, .when = FIRST },
	{ "login-keepalive-0", LOGIN, LIMITS, { L(keepalive_ms, 0) }, .when = FIRST },
	{ "login-keepalive-99", LOGIN, LIMITS, { L(keepalive_ms, 99) }, .when = FIRST },
	{ "login-keepalive-long", LOGIN, LIMITS, { L(keepalive_ms, 60001) }, .when = FIRST },
	{ "login-inline-unasked", LOGIN, RESERVED, { L(features, 0) }, .when = FIRST },
	{ "login-short", LOGIN, SHORT, .more = -1, .when = FIRST },
	{ "login-long", LOGIN, LONG, .more = 64, .when = FIRST },
	{ "login-count-2", LOGIN, COUNT, { H(nr_entries, 2) }, .more = 128, .when = FIRST },
	{ "login-seq", LOGIN, SEQ, { H(seq, 1) }, .when = FIRST },
	{ "login-epoch", LOGIN, EPOCH, { H(epoch, 7) }, .when = FIRST },
	{ "discover-with-wish", DISCOVER, RESERVED, { L(pool_bytes, 4096) }, .when = FIRST },
	{ "discover-with-name", DISCOVER, RESERVED, { L(export[0], 'a') }, .when = FIRST },
	{ "discover-readonly", DISCOVER, FLAGS, { L(flags, 3) }, .when = FIRST },
	{ "login-to-nothing", LOGIN, .status = RNBD_ST_NO_EXPORT, .export = "nothing",
	  .when = FIRST },
	{ "login-to-foreign", LOGIN, .status = RNBD_ST_NO_EXPORT, .export = "secret",
	  .when = FIRST },
};

static void add_request(struct frame *f, struct rnbd_req_entry entry)
{
	memcpy(frame_add(f, sizeof(entry)), &entry, sizeof(entry));
}

/* 17 units, not one beside the other. */
static void build_read_17(struct frame *f)
{
	struct rnbd_extent_entry more[4];
	struct rnbd_req_entry entry = req_entry(RNBD_OP_READ, 0, 1, 0, 17 * 4096, 0);
	uint32_t i;

	frame_begin(f, RNBD_FRAME_REQUEST, 5);
	entry.nr_extents = 17;
	entry.extent.units = htole32(1);
	for (i = 0; i < 16; i++) {
		more[i / 4].extent[i % 4].unit = htole32(2 + 2 * i);
		more[i / 4].extent[i % 4].units = htole32(1);
	}
	add_request(f, entry);
	memcpy(frame_add(f, sizeof(more)), more, sizeof(more));
}

static void build(struct frame *f, enum base which, const char *export)
{
	static const struct {
		uint8_t op, flags;
		uint32_t length;
	} ops[] = {
		[READ] = { RNBD_OP_READ, 0, 4096 },
		[WRITE] = { RNBD_OP_WRITE, 0, 4096 },
		[FLUSH] = { RNBD_OP_FLUSH, 0, 0 },
		[DISCARD] = { RNBD_OP_DISCARD, 0, 4096 },
		[ZEROES] = { RNBD_OP_WRITE_ZEROES, 0, 4096 },
		[READ_INLINE] = { RNBD_OP_READ, RNBD_REQ_INLINE, 512 },
		[WRITE_INLINE] = { RNBD_OP_WRITE, RNBD_REQ_INLINE, 512 },
	};
	static const struct {
		uint8_t type, bytes;
	} foreign[] = {
		[LOGIN_REPLY] = { RNBD_FRAME_LOGIN_REPLY, sizeof(struct rnbd_login_reply) },
		[REPLY] = { RNBD_FRAME_REPLY, sizeof(struct rnbd_reply_entry) },
		[RESIZE] = { RNBD_FRAME_RESIZE, sizeof(struct rnbd_resize) },
		[DISCOVER_REPLY] = { RNBD_FRAME_DISCOVER_REPLY,
				     sizeof(struct rnbd_discover_reply) },
		[CHALLENGE] = { RNBD_FRAME_CHALLENGE, sizeof(struct rnbd_challenge) },
		[PROOF] = { RNBD_FRAME_PROOF, sizeof(struct rnbd_proof) },
	};
	struct rnbd_login l;

	switch (which) {
	case READ ... WRITE_INLINE:
		frame_begin(f, RNBD_FRAME_REQUEST, 1);
		add_request(f, req_entry(ops[which].op, ops[which].flags, 1, 0,
					 ops[which].length, 0));
		if (which == WRITE_INLINE) {
			memset(frame_add(f, 512), 0x33, 512);
			f->b[1] = RNBD_FRAME_DATA;
		}
		break;
	case READ_17:
		build_read_17(f);
		break;
	case TWINS:
		frame_begin(f, RNBD_FRAME_REQUEST, 2);
		add_request(f, req_entry(RNBD_OP_READ, 0, 1, 0, 4096, 0));
		add_request(f, req_entry(RNBD_OP_READ, 0, 1, 8192, 4096, 1));
		break;
	case CREDIT:
		frame_begin(f, RNBD_FRAME_CREDIT, 0);
		break;
	case LOGIN:
	case DISCOVER:
		login_fill(&l, export);
		if (which == DISCOVER) {
			memset(&l, 0, sizeof(l));
			l.flags = htole32(RNBD_LOGIN_DISCOVER);
		}
		frame_begin(f, RNBD_FRAME_LOGIN, 1);
		memcpy(frame_add(f, sizeof(l)), &l, sizeof(l));
		break;
	case GARBAGE:
		frame_begin(f, 0, 0);
		memset(frame_add(f, 1000), 0xa5, 1000);
		memset(f->b, 0xa5, sizeof(struct rnbd_frame_hdr));
		break;
	default:
		frame_begin(f, foreign[which].type, 1);
		frame_add(f, foreign[which].bytes);
	}
}

/* A session with two queues; @c becomes the second. */
static bool start_second(struct conn *c, struct conn *first)
{
	struct rnbd_login l;
	struct request req;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	if (conn_open(first, &req))
		return amiss("not connected");
	login_fill(&l, "hostile");
	l.nr_queues = htole16(2);
	if (!login(first, &l, LOGIN_MS) || le16toh(first->grant.r.nr_queues) != 2)
		return amiss("no two queues");
	req.cm.queue = htole16(1);
	status = conn_open(c, &req);
	c->grant = first->grant;
	return !status || amiss("queue 1: status %d", status);
}

static bool await_login_status(struct conn *c, uint16_t want)
{
	const uint8_t *reply;
	uint32_t len;
	uint16_t status;

	reply = conn_receive(c, RNBD_FRAME_LOGIN_REPLY, &len, LOGIN_MS);
	if (!reply)
		return amiss("no answer to the login");
	memcpy(&status, reply + HDR_BYTES, sizeof(status));
	status = le16toh(status);
	counter_due_refusal(status);
	return status == want || amiss("login: status %u, wanted %u", status, want);
}

static void run_frame(const struct frame_case *fc)
{
	const char *export = fc->export ?: "hostile";
	struct conn c = { }, first = { };
	static struct frame f;
	uint64_t rel[NR_RELATIVE] = { };
	uint32_t i, len;
	bool ok = true;
	int status;

	if (fc->when == SECOND)
		ok = start_second(&c, &first);
	else if (fc->when == LIVE)
		ok = start_export(&c, 2, export);
	else
		ok = start(&c, 2);
	if (ok && fc->when == LISTING) {
		build(&f, DISCOVER, "");
		frame_send(&c, &f);
		ok = conn_receive(&c, RNBD_FRAME_DISCOVER_REPLY, &len, LOGIN_MS);
		if (!ok)
			amiss("no list");
	}
	if (!ok)
		goto close;

	build(&f, fc->base, export);
	relatives(&c.grant, rel);
	if (fc->base != GARBAGE)
		frame_seal(&c, &f);
	for (i = 0; i < ARRAY_SIZE(fc->p); i++)
		patch_apply(f.b, &fc->p[i], rel);
	f.len += fc->more;
	if (!conn_post(&c, f.b, f.len, IBV_WR_SEND, 0)) {
		amiss("not sent");
	} else if (fc->why) {
		ends(&c, fc->why);
		if (first.id && !conn_wait_gone(&first, CLOSE_MS))
			amiss("queue 0 stands");
	} else if (fc->base == LOGIN) {
		await_login_status(&c, fc->status);
	} else {
		status = await_reply(&c, 1, fc->status ? 0 : fc->base == READ_17 ? 17 * 4096 : 4096,
				     NULL);
		if (status != fc->status)
			amiss("status %d, wanted %u", status, fc->status);
		lives(&c);
	}
close:
	conn_close(&c);
	conn_close(&first);
}

/* ------------------------------------------------------------------------
 * RDMA where a client has no business
 */

static const struct rdma_case {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t unit;		/* of the pool, from whose beginning on */
	int64_t bytes;		/* beyond that */
	uint32_t length;
	uint32_t key;		/* added to the key */
} rdmas[] = {
	{ "rdma-write-past-end", IBV_WR_RDMA_WRITE, 519, 4096, 4096 },
	{ "rdma-read-past-end", IBV_WR_RDMA_READ, 519, 4096, 4096 },
	{ "rdma-read-over-the-end", IBV_WR_RDMA_READ, 519, 0, 4097 },
	{ "rdma-write-over-segment", IBV_WR_RDMA_WRITE, 511, 0, 8192 },
	{ "rdma-write-before", IBV_WR_RDMA_WRITE, 0, -1, 16 },
	{ "rdma-read-address-0", IBV_WR_RDMA_READ, 0, INT64_MIN, 4096 },
	{ "rdma-write-address-wraps", IBV_WR_RDMA_WRITE, 0, INT64_MAX, 4096 },
	{ "rdma-read-key", IBV_WR_RDMA_READ, 0, 0, 4096, 1 },
	{ "rdma-write-key", IBV_WR_RDMA_WRITE, 0, 0, 4096, 0x100 },
	{ "rdma-write-key-far", IBV_WR_RDMA_WRITE, 0, 0, 4096, 0x40000000 },
	{ "rdma-atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, 8 },
};

static bool denied(int status)
{
	return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	       amiss("RDMA ended with %d (%s), wanted an access error", status,
		     status < 0 ? "never" : ibv_wc_status_str(status));
}

static void run_rdma(const struct rdma_case *rc)
{
	struct conn c = { };
	uint64_t remote;
	uint32_t rkey;

	if (start_export(&c, 2, "hostile")) {
		remote = unit_address(&c, rc->unit, &rkey) + rc->bytes;
		conn_rdma(&c, rc->opcode, 0, rc->length, remote, rkey + rc->key);
		if (denied(conn_rdma_wait(&c, 10000)))
			must_go(&c, CLOSE_MS);
		monitor_closed("*");
	}
	conn_close(&c);
}

/* ------------------------------------------------------------------------
 * Cases with a story
 */

static bool rdma_ok(struct conn *c, enum ibv_wr_opcode opcode, uint32_t at, uint32_t units,
		    uint32_t unit)
{
	uint32_t rkey;
	uint64_t remote = unit_address(c, unit, &rkey);
	int status;

	conn_rdma(c, opcode, at, units * RNBD_UNIT_SIZE, remote, rkey);
	status = conn_rdma_wait(c, 10000);
	return !status || amiss("lawful RDMA: status %d", status);
}

/* All of the pool to our data, or from there. */
bool whole_pool(struct conn *c, enum ibv_wr_opcode opcode)
{
	uint32_t units = le32toh(c->grant.r.pool_units), unit, run;

	for (unit = 0; unit < units; unit += run) {
		uint32_t seg = le32toh(c->grant.r.segment_units);

		run = seg - unit % seg;
		if (run > units - unit)
			run = units - unit;
		if (run > 64)
			run = 64;
		if (!rdma_ok(c, opcode, unit * RNBD_UNIT_SIZE, run, unit))
			return false;
	}
	return true;
}

bool all_zero(const uint8_t *bytes, size_t len)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

/* What one host leaves in its pool, nobody else finds in his. */
static void fresh_pool(void)
{
	uint32_t round;

	for (round = 0; round < 4; round++) {
		struct conn c = { };
		uint32_t bytes;

		if (!start_export(&c, 2 + round % 2, "hostile"))
			return;
		bytes = le32toh(c.grant.r.pool_units) * RNBD_UNIT_SIZE;
		if (whole_pool(&c, IBV_WR_RDMA_READ) && !all_zero(c.data, bytes))
			amiss("the pool of session %u is not zeroed", round);
		memset(c.data, 0xc7, bytes);
		whole_pool(&c, IBV_WR_RDMA_WRITE);
		conn_close(&c);
		monitor_closed("the client disconnected");
	}
}

/* The lawful use of everything, so that the other cases mean something. */
static void lawful(void)
{
	const uint8_t *data = NULL;
	struct conn c = { };
	struct frame f;
	uint32_t i;
	int status;

	if (!start_export(&c, 2, "hostile"))
		return;
	/* bulk out and back */
	for (i = 0; i < 32 * 4096; i++)
		c.data[i] = i * 7 + i / 251;
	rdma_ok(&c, IBV_WR_RDMA_WRITE, 0, 32, 100);
	status = simple_request(&c, req_entry(RNBD_OP_WRITE, RNBD_REQ_FUA, 0, 1 << 20, 32 * 4096,
					      100));
	if (status)
		amiss("WRITE: %d", status);
	status = simple_request(&c, req_entry(RNBD_OP_READ, 0, 0, 1 << 20, 32 * 4096, 300));
	if (status)
		amiss("READ: %d", status);
	rdma_ok(&c, IBV_WR_RDMA_READ, 32 * 4096, 32, 300);
	if (memcmp(c.data, c.data + 32 * 4096, 32 * 4096))
		amiss("bulk data differ");
	/* inline out and back */
	build(&f, WRITE_INLINE, "");
	frame_send(&c, &f);
	status = await_reply(&c, 1, 512, NULL);
	if (status)
		amiss("inline WRITE: %d", status);
	build(&f, READ_INLINE, "");
	frame_send(&c, &f);
	status = await_reply(&c, 1, 512, &data);
	if (status || !data || data[0] != 0x33 || memcmp(data, data + 1, 511))
		amiss("inline READ: %d", status);
	for (i = RNBD_OP_FLUSH; i <= RNBD_OP_WRITE_ZEROES; i++) {
		status = simple_request(&c, req_entry(i, 0, 5, 0,
						      i == RNBD_OP_FLUSH ? 0 : 4096, 0));
		if (status)
			amiss("operation %u: %d", i, status);
	}
	status = simple_request(&c, req_entry(RNBD_OP_READ, 0, 5, 0, 4096, 7));
	rdma_ok(&c, IBV_WR_RDMA_READ, 0, 1, 7);
	if (status || !all_zero(c.data, 4096))
		amiss("WRITE_ZEROES does not read as zeros");
	conn_close(&c);
}

static void discover(void)
{
	bool more = true, seen = false;
	struct conn c = { };
	struct frame f;
	uint32_t len;

	if (!start(&c, 2))
		return;
	build(&f, DISCOVER, "");
	frame_send(&c, &f);
	while (more) {
		const uint8_t *frame = conn_receive(&c, RNBD_FRAME_DISCOVER_REPLY, &len,
						    LOGIN_MS);
		struct rnbd_discover_reply head;
		struct rnbd_export_entry entry;
		uint32_t at;

		if (!frame) {
			amiss("the list does not end");
			break;
		}
		memcpy(&head, frame + HDR_BYTES, sizeof(head));
		if (head.status || le16toh(head.flags) & ~RNBD_DISCOVER_MORE)
			amiss("the list has status %u", le16toh(head.status));
		more = le16toh(head.flags) & RNBD_DISCOVER_MORE;
		for (at = HDR_BYTES + sizeof(head); at < len; at += sizeof(entry)) {
			memcpy(&entry, frame + at, sizeof(entry));
			entry.name[sizeof(entry.name) - 1] = '\0';
			seen |= !strcmp(entry.name, "hostile");
			if (!strcmp(entry.name, "secret"))
				amiss("a foreign export is told");
		}
	}
	if (!seen)
		amiss("the export is not told");
	conn_close(&c);
}

static void old_key(void)
{
	struct conn a = { }, b = { };
	uint64_t remote = 0;
	uint32_t rkey = 0;

	if (start_export(&a, 2, "hostile"))
		remote = unit_address(&a, 0, &rkey);
	conn_close(&a);
	monitor_closed("the client disconnected");
	if (remote && start_export(&b, 2, "hostile")) {
		conn_rdma(&b, IBV_WR_RDMA_READ, 0, 4096, remote, rkey);
		denied(conn_rdma_wait(&b, 10000));
	}
	conn_close(&b);
}

/* A key of one connection on another; @opcode may be SEND_WITH_INV. */
static void foreign_key(enum ibv_wr_opcode opcode)
{
	struct conn a = { }, b = { };
	struct frame f;
	uint64_t remote;
	uint32_t rkey;

	if (start_export(&a, 2, "hostile") && start_export(&b, 3, "hostile")) {
		remote = unit_address(&a, 0, &rkey);
		if (opcode == IBV_WR_SEND_WITH_INV) {
			build(&f, CREDIT, "");
			frame_seal(&b, &f);
			conn_post(&b, f.b, f.len, opcode, rkey);
		} else {
			conn_rdma(&b, opcode, 0, 4096, remote, rkey);
			denied(conn_rdma_wait(&b, 10000));
		}
		must_go(&b, CLOSE_MS);
		monitor_closed(opcode == IBV_WR_SEND_WITH_INV ? KIND : "*");
		/* The key may be void now; the session is there and served all the same. */
		lives(&a);
		if (opcode != IBV_WR_SEND_WITH_INV)
			rdma_ok(&a, IBV_WR_RDMA_READ, 0, 1, 0);
	}
	conn_close(&b);
	conn_close(&a);
}

static void foreign_read(void)
{
	foreign_key(IBV_WR_RDMA_READ);
}

static void foreign_write(void)
{
	foreign_key(IBV_WR_RDMA_WRITE);
}

static void foreign_invalidate(void)
{
	foreign_key(IBV_WR_SEND_WITH_INV);
}

static void kind_of_send(enum ibv_wr_opcode opcode, bool first)
{
	struct conn c = { };
	struct frame f;
	uint32_t rkey = 0x1234;

	if (first ? start(&c, 2) : start_export(&c, 2, "hostile")) {
		if (!first)
			unit_address(&c, 0, &rkey);
		build(&f, first ? LOGIN : READ, "hostile");
		frame_seal(&c, &f);
		conn_post(&c, f.b, f.len, opcode, rkey);
		/* With a key that is not there soft-RoCE itself ends the connection. */
		ends(&c, opcode == IBV_WR_SEND_WITH_INV && first ? "*" : KIND);
	}
	conn_close(&c);
}

static void send_immediate(void)
{
	kind_of_send(IBV_WR_SEND_WITH_IMM, false);
}

static void send_immediate_first(void)
{
	kind_of_send(IBV_WR_SEND_WITH_IMM, true);
}

static void send_invalidate(void)
{
	kind_of_send(IBV_WR_SEND_WITH_INV, false);
}

static void send_invalidate_unknown(void)
{
	kind_of_send(IBV_WR_SEND_WITH_INV, true);
}

/* The target has hung up; we did not, and go on. */
static void after_disconnect(void)
{
	struct conn c = { };
	uint64_t remote;
	uint32_t rkey;
	struct frame f;
	int status;

	if (start_export(&c, 2, "hostile")) {
		remote = unit_address(&c, 0, &rkey);
		build(&f, GARBAGE, "");
		conn_post(&c, f.b, f.len, IBV_WR_SEND, 0);
		ends(&c, RESERVED);
		conn_rdma(&c, IBV_WR_RDMA_WRITE, 0, 4096, remote, rkey);
		status = conn_rdma_wait(&c, 15000);
		if (!status || status == NEVER)
			amiss("RDMA after the end: %d", status);
	}
	conn_close(&c);
}

/* More frames than there are credits, all at once: the wire holds them back. */
static void overrun(void)
{
	struct conn c = { };
	uint32_t i;

	if (start_export(&c, 2, "hostile")) {
		for (i = 0; i < 3 * SLOTS && !c.gone; i++)
			frame_credit(&c);
		lives(&c);
	}
	conn_close(&c);
}

/* And so that the target cannot have given any: it has got none itself. */
static void credits_none(void)
{
	struct request req;
	struct rnbd_login l;
	struct conn c;
	uint32_t i;

	request_init(&req, 2, RNBD_RING_SLOTS_MIN, SLOT_SIZE);
	login_fill(&l, "hostile");
	if (conn_open(&c, &req) || !login(&c, &l, LOGIN_MS)) {
		amiss("no session");
	} else {
		c.mute = true;
		for (i = 0; i < 40 && !c.gone; i++)
			frame_credit(&c);
		ends(&c, CREDITS);
	}
	conn_close(&c);
}

/* Slots that are announced and not there. */
static void no_slots(void)
{
	struct request req;
	struct conn c;
	struct frame f;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	req.no_slots = true;
	status = conn_open(&c, &req);
	if (status) {
		amiss("not connected: %d", status);
	} else {
		build(&f, LOGIN, "hostile");
		frame_send(&c, &f);
		must_go(&c, 20000);
		monitor_closed("*");
	}
	conn_close(&c);
}

enum starving {
	SILENT,		/* says nothing */
	MUTE,		/* gives signs of life, and never returns a credit */
	LIAR,		/* returns credits for slots that it does not post again */
};

static void starve(enum starving how, const char *why)
{
	uint32_t interval = 300 * slow, i, len;
	uint64_t end = deadline(20000);
	struct conn c = { };
	struct rnbd_login l;
	struct frame f;

	login_fill(&l, "hostile");
	l.keepalive_ms = htole32(interval);
	if (start(&c, 2)) {
		if (!login(&c, &l, LOGIN_MS))
			amiss("login: status %u", c.grant.status);
		c.mute = how != LIAR;
		c.liar = how == LIAR;
		/* Replies that take the target's credits, or come to nothing. */
		for (i = 0; i < 13 && how != SILENT; i++) {
			frame_begin(&f, RNBD_FRAME_REQUEST, 1);
			add_request(&f, req_entry(RNBD_OP_FLUSH, 0, i, 0, 0, 0));
			frame_send(&c, &f);
		}
		while (!c.gone && now_ms() < end) {
			if (how == LIAR)
				conn_receive(&c, 0, &len, 1);
			else
				conn_step(&c);
			if (how != SILENT && now_ms() > c.last_sent + interval * 3 / 4)
				frame_credit(&c);
			nap();
		}
		must_go(&c, 0);
		monitor_closed(why);
	}
	conn_close(&c);
}

static void no_credits(void)
{
	starve(MUTE, "the peer gives no credits");
}

static void credits_lies(void)
{
	/* Some devices give up first. */
	starve(LIAR, "*");
}

static void silence(void)
{
	starve(SILENT, "no sign of life from the peer");
}

/* ------------------------------------------------------------------------
 * Writes, many at a time
 */

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
			add_request(&f, req_entry(RNBD_OP_WRITE, 0, i, 2ull * i * length,
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
	if (!start(&c, 2) || !login(&c, &l, LOGIN_MS) || le32toh(c.grant.r.pool_units) != 64 ||
	    le32toh(c.grant.r.max_io) != 32 * RNBD_UNIT_SIZE) {
		amiss("no session with a small pool");
		conn_close(&c);
		return;
	}
	write_all(&c, &tags, 32 * RNBD_UNIT_SIZE);
	while (ok + nomem < 16 && !c.gone && now_ms() < end) {
		memset(c.data, round++, 32 * RNBD_UNIT_SIZE);
		rdma_ok(&c, IBV_WR_RDMA_WRITE, 0, 32, 0);
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
	lives(&c);
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
	must_go(c, 0);
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

	if (start_export(&c, 2, "slow"))
		hammer(&c, "the host may not use the export any more");
	conn_close(&c);
	login_fill(&l, "slow");
	if (start(&c, 2) && (login(&c, &l, LOGIN_MS) || c.grant.status != RNBD_ST_NO_EXPORT))
		amiss("login afterwards: status %u", c.grant.status);
	conn_close(&c);
}

/* One session id: an epoch once seen is refused, a newer one ends the older. */
static void epochs(void)
{
	static const struct {
		uint32_t epoch;
		int status;
	} tries[] = {
		{ 5, RNBD_ST_EPOCH }, { 4, RNBD_ST_EPOCH }, { 1, RNBD_ST_EPOCH },
	};
	struct conn a = { }, b;
	struct rnbd_login l;
	struct request req;
	uint32_t i;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	req.cm.epoch = htole32(5);
	login_fill(&l, "hostile");
	if (conn_open(&a, &req) || !login(&a, &l, LOGIN_MS)) {
		amiss("no session");
	} else {
		for (i = 0; i < ARRAY_SIZE(tries); i++) {
			req.cm.epoch = htole32(tries[i].epoch);
			status = conn_open(&b, &req);
			if (status != tries[i].status)
				amiss("epoch %u: status %d", tries[i].epoch, status);
			conn_close(&b);
		}
		lives(&a);
	}
	conn_close(&a);
}

/* Who hung up before the login is in nobody's way. */
static void epoch_half_open(void)
{
	struct conn a = { }, b = { };
	struct rnbd_login l;
	struct request req;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	login_fill(&l, "hostile");
	status = conn_open(&a, &req);
	if (status) {
		amiss("not connected: status %d", status);
	} else {
		req.cm.epoch = htole32(le32toh(req.cm.epoch) + 1);
		status = conn_open(&b, &req);
		if (status)
			amiss("a newer epoch than one that never logged in: status %d", status);
		else if (!login(&b, &l, LOGIN_MS))
			amiss("no login");
		else
			lives(&b);
		must_go(&a, CLOSE_MS);
	}
	conn_close(&a);
	conn_close(&b);
}

/* Further queues that cannot be. */
static void queues(void)
{
	static const struct {
		uint16_t queue;
		uint32_t epoch;
		uint32_t host;
		int status;
	} tries[] = {
		{ 1, 2, 2, RNBD_ST_EPOCH }, { 2, 1, 2, RNBD_ST_QUEUE }, { 63, 1, 2, RNBD_ST_QUEUE },
		{ 1, 1, 3, RNBD_ST_NO_SESSION },
	};
	struct conn first = { }, second = { }, c;
	struct uuid host;
	struct request req;
	uint32_t i;
	int status;

	if (start_second(&second, &first)) {
		conn_close(&second);
		must_go(&first, CLOSE_MS);
	}
	conn_close(&first);
	conn_close(&second);

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	if (!conn_open(&first, &req)) {
		struct rnbd_login l;

		login_fill(&l, "hostile");
		l.nr_queues = htole16(2);
		if (!login(&first, &l, LOGIN_MS))
			amiss("no login");
		for (i = 0; i < ARRAY_SIZE(tries); i++) {
			host = host_uuid(tries[i].host);
			memcpy(req.cm.host_id, &host, sizeof(host));
			req.cm.queue = htole16(tries[i].queue);
			req.cm.epoch = htole32(tries[i].epoch);
			status = conn_open(&c, &req);
			if (status != tries[i].status)
				amiss("queue %u: status %d", tries[i].queue, status);
			conn_close(&c);
		}
		lives(&first);
	}
	conn_close(&first);
}

static const struct {
	const char *name;
	void (*run)(void);
} stories[] = {
	{ "lawful", lawful },
	{ "discover", discover },
	{ "fresh-pool", fresh_pool },
	{ "old-key", old_key },
	{ "foreign-key-read", foreign_read },
	{ "foreign-key-write", foreign_write },
	{ "foreign-key-invalidate", foreign_invalidate },
	{ "send-immediate", send_immediate },
	{ "send-immediate-first", send_immediate_first },
	{ "send-invalidate", send_invalidate },
	{ "send-invalidate-unknown", send_invalidate_unknown },
	{ "after-disconnect", after_disconnect },
	{ "overrun", overrun },
	{ "credits-none", credits_none },
	{ "credits-lies", credits_lies },
	{ "no-slots", no_slots },
	{ "no-credits", no_credits },
	{ "silence", silence },
	{ "epochs", epochs },
	{ "epoch-half-open", epoch_half_open },
	{ "queues", queues },
	{ "copies-bounded", copies_bounded },
	{ "until-forbidden", forbidden },
};

int client_cases(void)
{
	uint32_t done = 0, failed = 0;
	uint64_t began;
	size_t i;

	counters_open();

#define RUN(table, call)							\
	for (i = 0; i < ARRAY_SIZE(table); i++) {				\
		if (!selected(table[i].name))					\
			continue;						\
		began = now_ms();						\
		call;								\
		done++;								\
		failed += !judge(table[i].name, true, began);			\
	}

	RUN(stories, stories[i].run());
	RUN(requests, run_request(i));
	RUN(frames, run_frame(&frames[i]));
	RUN(rdmas, run_rdma(&rdmas[i]));
	client_auth_cases(&done, &failed);
	printf("%u cases, %u failed\n", done, failed);
	return !done || failed;
}
