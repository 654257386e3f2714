// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of frames: a valid frame, the changes that make it invalid, and the reason for which the
 * target must close the session, or the status with which it must reply.
 */
#include <string.h>

#include "client.h"

#define E(field, value)		PATCH(16, struct rnbd_req_entry, field, ABSOLUTE, value)
#define Q(field, value)		PATCH(24, struct rnbd_ctl_query, field, ABSOLUTE, value)
#define E_OF(rel, field, value)	PATCH(16, struct rnbd_req_entry, field, rel, value)
#define X(field, value)		PATCH(48, struct rnbd_wire_extent_entry, field, ABSOLUTE, value)
#define H_SEQ(value)		PATCH(0, struct rnbd_frame_hdr, seq, SEQ_SENT, value)
#define L(field, value)		PATCH(24, struct rnbd_ctl_login, field, ABSOLUTE, value)
#define K(field, value)		PATCH(16, struct rnbd_ctl, field, ABSOLUTE, value)
#define T(field, value)		PATCH(24, struct rnbd_ctl_attach, field, ABSOLUTE, value)
#define V(field, value)		PATCH(24, struct rnbd_ctl_handle, field, ABSOLUTE, value)
#define BEHIND(body, value)	{ 24 + sizeof(struct body), 1, ABSOLUTE, value }

/*
 * When the frame is sent. LIVE: after an attach. FIRST: as the first frame. LISTING: after a LIST.
 * SECOND: on queue 1 after an attach. LOGGED_IN: after a login without an attach.
 */
enum when { LIVE, FIRST, LISTING, SECOND, LOGGED_IN };

static const struct frame_case {
	const char *name;
	enum base base;
	const char *why;	/* reason for closing the session; NULL: reply with @status */
	struct patch p[4];
	int32_t more;		/* bytes to append to the frame; negative: to cut off */
	enum when when;
	const char *export;	/* name in an ATTACH; for other frames: export to attach first */
	uint16_t status;
	bool begun;		/* the target can reply before it closes the session */
} frames[] = {
	/* frame headers */
	{ "head-empty", READ, SHORT, .more = -48 },
	{ "head-cut", READ, SHORT, .more = -33 },
	{ "head-type-0", READ, TYPE, { H(type, 0) } },
	{ "head-type-6", READ, TYPE, { H(type, 6) } },
	{ "head-type-200", READ, TYPE, { H(type, 200) } },
	{ "head-type-255", CREDIT, TYPE, { H(type, 255) } },
	{ "head-flags", READ, RESERVED, { H(flags, 0x82) } },
	{ "head-reserved", READ, RESERVED, { H(reserved, 0x8000) } },
	{ "head-seq-first", READ, SEQ, { H(seq, 0) } },
	{ "head-seq-behind", READ, SEQ, { H_SEQ(-1) } },
	{ "head-seq-ahead", READ, SEQ, { H_SEQ(1) } },
	{ "head-seq-far", CREDIT, SEQ, { H(seq, -1) } },
	{ "head-epoch-behind", READ, EPOCH, { H(attempt, 0) } },
	{ "head-epoch-ahead", CREDIT, EPOCH, { H(attempt, 2) } },
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
	{ "data-unclaimed", READ, LONG, { H(flags, RNBD_FRAME_DATA) }, .more = 512, .begun = true },
	{ "garbage", GARBAGE, RESERVED },
	{ "garbage-first", GARBAGE, RESERVED, .when = FIRST },
	/* frames that only a target sends, and frames at the wrong time */
	{ "type-login-reply", LOGIN_REPLY, TYPE },
	{ "type-reply", REPLY, TYPE },
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
	{ "query-reserved", QUERY, RESERVED, { Q(reserved[4], 1) } },
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
	{ "entry-reserved", READ, RESERVED, { E(reserved, 1) } },
	{ "entry-reserved-flush", FLUSH, RESERVED, { E(reserved, 0x80) } },
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
	/* pool extents */
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
	{ "inline-more", WRITE_INLINE, LONG, .more = 1, .begun = true },
	/* a read-only export */
	{ "readonly-write", WRITE, .export = "fixed", .status = RNBD_ST_READONLY },
	{ "readonly-inline", WRITE_INLINE, .export = "fixed", .status = RNBD_ST_READONLY },
	{ "readonly-discard", DISCARD, .export = "fixed", .status = RNBD_ST_READONLY },
	{ "readonly-zeroes", ZEROES, .export = "fixed", .status = RNBD_ST_READONLY },
	/* handles of requests: the attachment of the session has index 0 and generation 1 */
	{ "handle-unknown", READ, HANDLE, { E(index, 1) } },
	{ "handle-unknown-last", READ, HANDLE, { E(index, RNBD_ATTACH_MAX - 1) } },
	{ "handle-index-4096", READ, HANDLE, { E(index, RNBD_ATTACH_MAX) } },
	{ "handle-index-65535", FLUSH, HANDLE, { E(index, 65535) } },
	{ "handle-generation-0", READ, HANDLE, { E(generation, 0) } },
	{ "handle-generation-high", WRITE, HANDLE, { E(generation, 2) } },
	{ "handle-generation-far", READ, HANDLE, { E(generation, 0xffffffff) } },
	{ "handle-wrong-in-discard", DISCARD, HANDLE, { E(generation, 2) } },
	{ "handle-and-op", READ, HANDLE, { E(index, RNBD_ATTACH_MAX), E(op, 255) } },
	{ "handle-unattached", READ, HANDLE, .when = LOGGED_IN },
	{ "handle-unknown-on-queue-1", READ, HANDLE, { E(index, 1) }, .when = SECOND },
	/* control entries */
	{ "control-first", ATTACH, TYPE, .when = FIRST },
	{ "control-while-listing", ATTACH, TYPE, .when = LISTING },
	{ "control-on-queue-1", ATTACH, TYPE, .when = SECOND },
	{ "control-detach-on-queue-1", DETACH, TYPE, .when = SECOND },
	{ "control-optional-on-queue-1", UNKNOWN, .p = { K(type, UNKNOWN_TYPE) }, .when = SECOND },
	{ "control-data", ATTACH, FLAGS, { H(flags, RNBD_FRAME_DATA) }, .more = 8 },
	{ "control-count-0", ATTACH, COUNT, { H(nr_entries, 0) } },
	{ "control-count-2", UNKNOWN, SHORT, { K(type, UNKNOWN_TYPE), H(nr_entries, 2) } },
	{ "control-count-65535", ATTACH, SHORT, { H(nr_entries, 65535) } },
	{ "control-empty", ATTACH, SHORT, .more = -88 },
	{ "control-head-cut", ATTACH, SHORT, .more = -81 },
	{ "control-cut", ATTACH, SHORT, .more = -1 },
	{ "control-long", ATTACH, LONG, .more = 8 },
	{ "control-type-0", UNKNOWN, TYPE, { K(type, 0) } },
	{ "control-type-0-mandatory", UNKNOWN, TYPE, { K(type, RNBD_CTL_MANDATORY) } },
	{ "control-mandatory", UNKNOWN, TYPE },
	{ "control-mandatory-highest", UNKNOWN, TYPE, { K(type, 0xffff) } },
	{ "control-optional", UNKNOWN, .p = { K(type, UNKNOWN_TYPE) } },
	{ "control-optional-without-id", UNKNOWN, .p = { K(type, UNKNOWN_TYPE), K(id, 0) } },
	{ "control-optional-without-body", UNKNOWN, .p = { K(type, 0x7fff), K(length, 8) },
	  .more = -16 },
	{ "control-optional-length-9", UNKNOWN, LENGTH, { K(type, UNKNOWN_TYPE), K(length, 9) } },
	{ "control-length-0", ATTACH, LENGTH, { K(length, 0) } },
	{ "control-length-7", ATTACH, LENGTH, { K(length, 7) } },
	{ "control-length-84", ATTACH, LENGTH, { K(length, 84) } },
	{ "control-length-80", ATTACH, LONG, { K(length, 80) } },
	{ "control-length-96", ATTACH, SHORT, { K(length, 96) } },
	{ "control-length-65528", ATTACH, SHORT, { K(length, 65528) } },
	{ "control-length-65535", ATTACH, LENGTH, { K(length, 65535) } },
	/* entries that only a target sends */
	{ "control-attach-reply", ATTACH_REPLY, TYPE },
	{ "control-detached", DETACHED, TYPE },
	{ "control-closed", CLOSED, TYPE },
	{ "control-capacity", CAPACITY_OF, TYPE },
	/* attachments */
	{ "attach", ATTACH },
	{ "attach-first-of-all", ATTACH, .when = LOGGED_IN },
	{ "attach-index-last", ATTACH, .p = { T(index, RNBD_ATTACH_MAX - 1) } },
	{ "attach-generation-last", ATTACH, .p = { T(generation, 0xffffffff) } },
	{ "attach-readonly", ATTACH, .p = { T(flags, RNBD_ATTACH_READONLY) } },
	{ "attach-body-of-later", ATTACH, .p = { K(length, 8 + 80 + 16) }, .more = 16 },
	{ "attach-body-unknown", ATTACH, RESERVED,
	  { K(length, 8 + 80 + 16), BEHIND(rnbd_ctl_attach, 1) }, .more = 16 },
	{ "attach-body-cut", ATTACH, SHORT, { K(length, 80) }, .more = -8 },
	{ "attach-body-none", ATTACH, SHORT, { K(length, 8) }, .more = -80 },
	{ "attach-index-4096", ATTACH, HANDLE, { T(index, RNBD_ATTACH_MAX) } },
	{ "attach-index-65535", ATTACH, HANDLE, { T(index, 65535) } },
	{ "attach-generation-0", ATTACH, HANDLE, { T(generation, 0) } },
	{ "attach-name-open", ATTACH, NAME, { T(export, 'a') } },
	{ "attach-name-empty", ATTACH, NAME, { T(export, 0) } },
	{ "attach-name-path", ATTACH, NAME, { T(export[0], '/') } },
	{ "attach-name-control", ATTACH, NAME, { T(export[1], 7) } },
	{ "attach-name-tail", ATTACH, NAME, { T(export[40], 'x') } },
	{ "attach-flags", ATTACH, FLAGS, { T(flags, 0x8000) } },
	{ "attach-to-nothing", ATTACH, .status = RNBD_ST_NO_EXPORT, .export = "nothing" },
	{ "attach-to-foreign", ATTACH, .status = RNBD_ST_NO_EXPORT, .export = "secret" },
	{ "attach-attached", ATTACH, .status = RNBD_ST_ATTACHED, .export = "hostile" },
	{ "attach-fence-generation", ATTACH, .status = RNBD_ST_REVOKED,
	  .p = { T(fence_generation, 0x7fffffff) } },
	{ "attach-owner-generation", ATTACH, .status = RNBD_ST_REVOKED,
	  .p = { T(fence_generation, 1), T(owner_generation, 1) } },
	{ "detach-unknown", DETACH, .status = RNBD_ST_NO_ATTACH, .p = { V(index, 7) } },
	{ "detach-generation-high", DETACH, .status = RNBD_ST_NO_ATTACH,
	  .p = { V(generation, 2) } },
	{ "detach-index-4096", DETACH, HANDLE, { V(index, RNBD_ATTACH_MAX) } },
	{ "detach-generation-0", DETACH, HANDLE, { V(generation, 0) } },
	{ "detach-status", DETACH, STATUS, { V(status, RNBD_ST_SHUTDOWN) } },
	{ "detach-status-9999", DETACH, STATUS, { V(status, 9999) } },
	{ "detach-retry", DETACH, RESERVED, { V(retry_ms, 1) } },
	{ "detach-reserved", DETACH, RESERVED, { V(reserved[1], 1) } },
	{ "detach-flags", DETACH, FLAGS, { V(flags, 2) } },
	{ "detach-body-cut", DETACH, SHORT, { K(length, 16) }, .more = -8 },
	/* logins */
	{ "login-floor-large", LOGIN, LIMITS, { L(pool_min, 521) }, .when = FIRST },
	{ "login-floor-4g", LOGIN, LIMITS, { L(pool_min, -1) }, .when = FIRST },
	{ "login-flags", LOGIN, FLAGS, { L(flags, 0x80000000) }, .when = FIRST },
	{ "login-queues-0", LOGIN, GEOMETRY, { L(nr_queues, 0) }, .when = FIRST },
	{ "login-queues-1025", LOGIN, GEOMETRY, { L(nr_queues, 1025) }, .when = FIRST },
	{ "login-depth-0", LOGIN, GEOMETRY, { L(queue_depth, 0) }, .when = FIRST },
	{ "login-depth-4097", LOGIN, GEOMETRY, { L(queue_depth, 4097) }, .when = FIRST },
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
	{ "login-count-2", LOGIN, TYPE, { H(nr_entries, 2) }, .more = 64, .when = FIRST },
	{ "login-body-cut", LOGIN, SHORT, { K(length, 64) }, .more = -8, .when = FIRST },
	{ "login-body-unknown", LOGIN, RESERVED,
	  { K(length, 8 + 64 + 8), BEHIND(rnbd_ctl_login, 1) }, .more = 8, .when = FIRST },
	{ "login-seq", LOGIN, SEQ, { H(seq, 1) }, .when = FIRST },
	{ "login-epoch", LOGIN, EPOCH, { H(attempt, 7) }, .when = FIRST },
	{ "discover-body", DISCOVER, RESERVED, { K(length, 16), L(boot_id[7], 1) }, .more = 8,
	  .when = FIRST },
	{ "query-body-cut", QUERY, SHORT, { K(length, 8) }, .more = -8 },
};

/*
 * Wait for the reply to an ATTACH or DETACH. The reply must name the handle that the patched frame
 * contains. For an UNKNOWN entry, wait for nothing.
 */
static void await_answer(struct conn *c, const struct frame_case *fc, const struct frame *f)
{
	struct rnbd_ctl_attach attach;
	struct rnbd_ctl_handle h;
	int status = 0;

	memcpy(&attach, f->b + HDR_BYTES + sizeof(struct rnbd_ctl), sizeof(attach));
	memcpy(&h, f->b + HDR_BYTES + sizeof(struct rnbd_ctl), sizeof(h));
	if (fc->base == ATTACH)
		status = await_attach(c, &attach, BUILD_ID);
	else if (fc->base == DETACH)
		status = await_detached(c, le16toh(h.index), le32toh(h.generation), BUILD_ID);
	if (status != fc->status)
		amiss("status %d, wanted %u", status, fc->status);
}

/*
 * Accept a reply: the target executes the request before it finds data in the frame that belong to
 * no request.
 */
static void may_answer(struct conn *c, const struct frame_case *fc)
{
	int status = await_reply(c, 1, fc->base == WRITE_INLINE ? 512 : 4096, NULL);

	if (status && status != NEVER)
		amiss("status %d", status);
}

static bool start(const struct frame_case *fc, struct conn *c, struct conn *first)
{
	const char *export = fc->export && fc->base != ATTACH ? fc->export : "hostile";
	static struct frame f;
	struct rnbd_ctl_login l;
	struct ctl entry;

	if (fc->when == SECOND)
		return session_start_second(c, first);
	if (fc->when == LIVE)
		return session_start_export(c, 2, export);
	if (!session_start(c, 2))
		return false;
	if (fc->when == LISTING) {
		client_build(&f, DISCOVER, "");
		frame_send(c, &f);
		return ctl_receive(c, &entry, LOGIN_MS) || amiss("no list of exports");
	}
	if (fc->when == LOGGED_IN) {
		login_fill(&l);
		return login(c, &l, LOGIN_MS) || amiss("login: status %u", c->grant.status);
	}
	return true;
}

static void run_frame(const struct frame_case *fc)
{
	struct conn c = { }, first = { };
	static struct frame f;
	uint64_t rel[NR_RELATIVE] = { };
	uint32_t i;
	int status;

	if (!start(fc, &c, &first))
		goto close;

	client_build(&f, fc->base, fc->export ?: OTHER_EXPORT);
	session_relatives(&c.grant, rel);
	if (fc->base != GARBAGE)
		frame_seal(&c, &f);
	rel[SEQ_SENT] = c.send_seq - 1;
	for (i = 0; i < ARRAY_SIZE(fc->p); i++)
		patch_apply(f.b, &fc->p[i], rel);
	f.len += fc->more;
	if (!conn_post(&c, f.b, f.len, IBV_WR_SEND, 0)) {
		amiss("the frame was not sent");
	} else if (fc->why) {
		if (fc->begun)
			may_answer(&c, fc);
		session_ends(&c, fc->why);
		if (first.id && !conn_wait_gone(&first, CLOSE_MS))
			amiss("queue 0 was not closed");
	} else if (fc->base == ATTACH || fc->base == DETACH || fc->base == UNKNOWN) {
		await_answer(&c, fc, &f);
		if (fc->when != LOGGED_IN)
			session_lives(&c);
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
