// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of frames: a valid frame, the bytes of it that are wrong, and the reason for which
 * the target must close the session, or the status with which it must reply.
 */
#include <string.h>

#include "client.h"

#define E(field, value)		PATCH(16, struct rnbd_req_entry, field, ABSOLUTE, value)
#define Q(field, value)		PATCH(16, struct rnbd_query, field, ABSOLUTE, value)
#define E_OF(rel, field, value)	PATCH(16, struct rnbd_req_entry, field, rel, value)
#define X(field, value)		PATCH(48, struct rnbd_wire_extent_entry, field, ABSOLUTE, value)
#define L(field, value)		PATCH(16, struct rnbd_login, field, ABSOLUTE, value)

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
	{ "query-first", QUERY, TYPE, .when = FIRST },
	{ "query-long", QUERY, LONG, .more = 1 },
	{ "query-tag", QUERY, TAG, { Q(tag, 16) } },
	{ "query-tag-65535", QUERY, TAG, { Q(tag, 65535) } },
	{ "query-answer", QUERY, STATUS, { Q(state, RNBD_QUERY_EXECUTING) } },
	{ "query-unknown", QUERY, STATUS, { Q(state, RNBD_QUERY_UNKNOWN) } },
	{ "query-state", QUERY, STATUS, { Q(state, 255) } },
	{ "query-reserved", QUERY, RESERVED, { Q(reserved[12], 1) } },
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
		ok = session_start_second(&c, &first);
	else if (fc->when == LIVE)
		ok = session_start_export(&c, 2, export);
	else
		ok = session_start(&c, 2);
	if (ok && fc->when == LISTING) {
		client_build(&f, DISCOVER, "");
		frame_send(&c, &f);
		ok = conn_receive(&c, RNBD_FRAME_DISCOVER_REPLY, &len, LOGIN_MS);
		if (!ok)
			amiss("no list");
	}
	if (!ok)
		goto close;

	client_build(&f, fc->base, export);
	session_relatives(&c.grant, rel);
	if (fc->base != GARBAGE)
		frame_seal(&c, &f);
	for (i = 0; i < ARRAY_SIZE(fc->p); i++)
		patch_apply(f.b, &fc->p[i], rel);
	f.len += fc->more;
	if (!conn_post(&c, f.b, f.len, IBV_WR_SEND, 0)) {
		amiss("not sent");
	} else if (fc->why) {
		session_ends(&c, fc->why);
		if (first.id && !conn_wait_gone(&first, CLOSE_MS))
			amiss("queue 0 stands");
	} else if (fc->base == LOGIN) {
		/* A busy machine may take that long to read the refusal. */
		if (await_login_status(&c, fc->status) && conn_wait_gone(&c, REFUSED_MS))
			amiss("the target did not wait until the client has read the refusal");
	} else {
		status = await_reply(&c, 1, fc->status ? 0 : fc->base == READ_17 ? 17 * 4096 : 4096,
				     NULL);
		if (status != fc->status)
			amiss("status %d, wanted %u", status, fc->status);
		session_lives(&c);
	}
close:
	conn_close(&c);
	conn_close(&first);
}

void client_frame_cases(struct results *results)
{
	RUN_CASES(frames, results, run_frame(&frames[i]));
}
