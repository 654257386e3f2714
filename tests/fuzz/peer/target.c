// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile target: cases against the client of the kernel.
 *
 * Operation: it listens, and runs "rnbd attach" or "rnbd discover" itself. Cases are
 * lines of a table: a lawful message of a target, what is wrong with it, and when it is
 * sent. A case that strikes while the disk is being attached must make that fail, with
 * one line that has the reason; one that strikes later must make the client hang up and
 * say why, and the disk must be gone after "rnbd detach --force" then. What is lawful is
 * served from memory.
 * Ownership: a case has one connection; while it is over and the client comes again,
 * it is refused.
 * Concurrency: one thread; programs run beside it.
 * Errors: a case that does not end as it says is counted, and the next one begins.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define DISK_BYTES	0x100000u
#define POOL_UNITS	512u
#define SEGMENT_UNITS	256u
#define OVERSIZED	INT32_MAX	/* more than a slot holds */
#define JOB_MS		40000
#define GONE_MS		8000

/* When it strikes: in the answer to the connection, instead of it, ... */
enum when {
	AT_ANSWER, AT_REFUSAL, AT_CONNECTED, AT_LOGIN, AT_PROOF, AT_PROVEN, AT_REQUEST, AT_LIVE,
	AT_LIST,
};

enum base {
	NOTHING, LOGIN_REPLY, REPLY, RESIZE, CREDIT, DISCOVER_REPLY, LOGIN, REQUEST,
	CHALLENGE, PROOF, DENIAL, GARBAGE,
};

/* What is done beside, or instead of, sending one frame. */
enum also {
	ONCE, TWICE, HANG_UP, SILENT, IMMEDIATE, INVALIDATE, FLOOD, STARVE, ENDLESS, RELENT,
	EAGER, DOUBLE, OVERDRAW,
};

#define A(field, value)		PATCH(0, struct rnbd_cm_rep, field, ABSOLUTE, value)
#define J(field, value)		PATCH(0, struct rnbd_cm_rej, field, ABSOLUTE, value)
#define G(field, value)		PATCH(16, struct rnbd_login_reply, field, ABSOLUTE, value)
#define S(nr, field, value)	PATCH(144 + 16 * (nr), struct rnbd_segment, field, ABSOLUTE, value)
#define R(field, value)		PATCH(16, struct rnbd_reply_entry, field, ABSOLUTE, value)
#define R_TAG(value)		PATCH(16, struct rnbd_reply_entry, tag, TAG_SENT, value)
#define Z(field, value)		PATCH(16, struct rnbd_resize, field, ABSOLUTE, value)
#define D(field, value)		PATCH(16, struct rnbd_discover_reply, field, ABSOLUTE, value)
#define C(field, value)		PATCH(16, struct rnbd_challenge, field, ABSOLUTE, value)
#define N(field, value)		PATCH(32, struct rnbd_export_entry, field, ABSOLUTE, value)

#define NO_SENSE	"the target's answer makes no sense"
#define ODD_REFUSAL	"the target's refusal makes no sense"
#define STATUS		"unexpected status"
#define CLOSED		"the target closed the connection"
#define NOT_ASKED	"the target has no secret for this host (there: rnbd host secret)"
#define ASKED		"the target asks for the secret of this host (attach with --secret-file)"
#define UNPROVEN	"the target did not prove that it knows the secret of this host"
#define WRONG_PROOF	"the target does not know the secret of this host"
/* A list has 20 s, which a slow machine may need before it is too long. */
#define TOO_LATE	"the target does not answer the login"

static const struct target_case {
	const char *name;
	enum when when;
	enum base base;
	const char *why;	/* NULL: all goes well; "": some reason */
	struct patch p[3];	/* of that frame, or of the connection's answer */
	int32_t more;
	enum also also;
	struct patch grant[3];	/* of a LOGIN_REPLY before */
	bool secret;		/* the client has one */
	bool late;		/* or the disk is lost: a lawful reply comes first */
	enum proof proof;
} cases[] = {
	{ "lawful", AT_LIVE },
	{ "lawful-inline-declined", AT_LIVE, .grant = { G(inline_read, 4096) } },
	{ "lawful-huge", AT_LIVE, .grant = { G(capacity, INT64_MAX - 511) } },
	{ "lawful-highest", AT_LIVE,
	  .grant = { G(physical_block, 1 << 20), G(io_min, RNBD_IO_HINT_MAX),
		     G(io_opt, RNBD_IO_HINT_MAX) } },
	/* the connection */
	{ "answer-magic", AT_ANSWER, .why = NO_SENSE, .p = { A(magic, 1) } },
	{ "answer-version", AT_ANSWER, .why = NO_SENSE, .p = { A(version, 2) } },
	{ "answer-slots-0", AT_ANSWER, .why = NO_SENSE, .p = { A(ring_slots, 0) } },
	{ "answer-slots-65535", AT_ANSWER, .why = NO_SENSE, .p = { A(ring_slots, 65535) } },
	{ "answer-slot-size", AT_ANSWER, .why = NO_SENSE, .p = { A(slot_size, 1 << 30) } },
	{ "answer-epoch", AT_ANSWER, .why = NO_SENSE, .p = { A(epoch, 77) } },
	{ "answer-garbage", AT_ANSWER, .why = NO_SENSE, .p = { { 0, 16, ABSOLUTE, 0xa5 } } },
	{ "answer-missing", AT_ANSWER, .why = NO_SENSE, .p = { { 0, 16, ABSOLUTE, 0 } } },
	{ "refusal-garbage", AT_REFUSAL, .why = ODD_REFUSAL, .p = { { 0, 16, ABSOLUTE, 0xa5 } } },
	{ "refusal-magic", AT_REFUSAL, .why = ODD_REFUSAL, .p = { J(magic, 0) } },
	{ "refusal-version-0", AT_REFUSAL, .why = ODD_REFUSAL, .p = { J(version, 0) } },
	{ "refusal-status-0", AT_REFUSAL, .why = ODD_REFUSAL, .p = { J(status, 0) } },
	{ "refusal-status-9999", AT_REFUSAL, .why = ODD_REFUSAL, .p = { J(status, 9999) } },
	{ "refusal-reserved", AT_REFUSAL, .why = ODD_REFUSAL, .p = { J(reserved, 1) } },
	{ "refusal-empty", AT_REFUSAL, .p = { { 0, 16, ABSOLUTE, 0 } }, .also = RELENT },
	{ "refusal-busy", AT_REFUSAL, .p = { J(status, RNBD_ST_BUSY) }, .also = RELENT },
	{ "refusal-version", AT_REFUSAL, .why = "another protocol version",
	  .p = { J(status, RNBD_ST_VERSION), J(version, 9) } },
	{ "refusal-lawful", AT_REFUSAL, .why = "shutting down" },
	{ "connected-hang-up", AT_CONNECTED, .why = "", .also = HANG_UP },
	{ "connected-reply", AT_CONNECTED, REPLY, TYPE },
	{ "connected-resize", AT_CONNECTED, RESIZE, TYPE },
	{ "connected-garbage", AT_CONNECTED, GARBAGE, "" },
	/* heads */
	{ "head-type-0", AT_LOGIN, CREDIT, TYPE, { H(type, 0) } },
	{ "head-type-255", AT_LOGIN, LOGIN_REPLY, TYPE, { H(type, 255) } },
	{ "head-flags", AT_LOGIN, LOGIN_REPLY, RESERVED, { H(flags, 2) } },
	{ "head-reserved", AT_LOGIN, LOGIN_REPLY, RESERVED, { H(reserved, 1) } },
	{ "head-seq", AT_LOGIN, LOGIN_REPLY, SEQ, { H(seq, 1) } },
	{ "head-seq-far", AT_REQUEST, REPLY, SEQ, { H(seq, -1) } },
	{ "head-epoch", AT_LOGIN, LOGIN_REPLY, EPOCH, { H(epoch, 0) } },
	{ "head-credits", AT_LOGIN, LOGIN_REPLY, CREDITS, { H(credits, 65535) } },
	{ "head-count-0", AT_LOGIN, LOGIN_REPLY, COUNT, { H(nr_entries, 0) } },
	{ "head-count-65535", AT_LOGIN, LOGIN_REPLY, SHORT, { H(nr_entries, 65535) } },
	{ "head-cut", AT_LOGIN, LOGIN_REPLY, SHORT, .more = -170 },
	{ "head-empty", AT_LOGIN, CREDIT, SHORT, .more = -16 },
	{ "frame-oversized", AT_LOGIN, LOGIN_REPLY, "", .more = OVERSIZED },
	{ "immediate", AT_LOGIN, LOGIN_REPLY, KIND, .also = IMMEDIATE },
	{ "invalidate", AT_LOGIN, LOGIN_REPLY, "", .also = INVALIDATE },
	/* the login */
	{ "login-hang-up", AT_LOGIN, .why = CLOSED, .also = HANG_UP },
	{ "login-garbage", AT_LOGIN, GARBAGE, "" },
	{ "login-login", AT_LOGIN, LOGIN, TYPE },
	{ "login-request", AT_LOGIN, REQUEST, TYPE },
	{ "login-reply-to-request", AT_LOGIN, REPLY, TYPE },
	{ "login-resize", AT_LOGIN, RESIZE, TYPE },
	{ "login-list", AT_LOGIN, DISCOVER_REPLY, TYPE },
	{ "login-proof", AT_LOGIN, PROOF, TYPE },
	{ "login-denied", AT_LOGIN, DENIAL, "wrong secret for this host" },
	{ "login-twice", AT_LOGIN, LOGIN_REPLY, TYPE, .also = TWICE },
	{ "login-short", AT_LOGIN, LOGIN_REPLY, SHORT, .more = -1 },
	{ "login-long", AT_LOGIN, LOGIN_REPLY, LONG, .more = 1 },
	{ "login-status-20", AT_LOGIN, LOGIN_REPLY, STATUS, { G(status, 20) } },
	{ "login-status-9999", AT_LOGIN, LOGIN_REPLY, STATUS, { G(status, 9999) } },
	{ "login-refused-and-more", AT_LOGIN, LOGIN_REPLY, RESERVED, { G(status, RNBD_ST_LIMIT) } },
	{ "login-reserved0", AT_LOGIN, LOGIN_REPLY, RESERVED, { G(reserved0, 1) } },
	{ "login-reserved2", AT_LOGIN, LOGIN_REPLY, RESERVED, { G(reserved2[3], 1) } },
	{ "login-queues-0", AT_LOGIN, LOGIN_REPLY, GEOMETRY, { G(nr_queues, 0) } },
	{ "login-queues-64", AT_LOGIN, LOGIN_REPLY, GEOMETRY, { G(nr_queues, 64) } },
	{ "login-depth-0", AT_LOGIN, LOGIN_REPLY, GEOMETRY, { G(queue_depth, 0) } },
	{ "login-depth-65535", AT_LOGIN, LOGIN_REPLY, GEOMETRY, { G(queue_depth, 65535) } },
	{ "login-features", AT_LOGIN, LOGIN_REPLY, FLAGS, { G(features, INT64_MIN) } },
	{ "login-flags", AT_LOGIN, LOGIN_REPLY, FLAGS, { G(flags, 0x10) } },
	{ "login-capacity-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(capacity, 0) } },
	{ "login-capacity-odd", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(capacity, 513) } },
	{ "login-capacity-signed", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(capacity, INT64_MIN) } },
	{ "login-block-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(logical_block, 0) } },
	{ "login-block-256", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(logical_block, 256) } },
	{ "login-block-3072", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(logical_block, 3072) } },
	{ "login-block-8192", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(logical_block, 8192) } },
	{ "login-block-2g", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(logical_block, 1u << 31) } },
	{ "login-physical-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(physical_block, 0) } },
	{ "login-physical-small", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(physical_block, 256) } },
	{ "login-physical-2g", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(physical_block, 1u << 31) } },
	{ "login-io-min-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(io_min, 0) } },
	{ "login-io-min-huge", AT_LOGIN, LOGIN_REPLY, LIMITS,
	  { G(io_min, RNBD_IO_HINT_MAX + 512) } },
	{ "login-io-opt-huge", AT_LOGIN, LOGIN_REPLY, LIMITS,
	  { G(io_opt, RNBD_IO_HINT_MAX + 512) } },
	{ "login-io-opt-4g", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(io_opt, 0xfffffe00) } },
	{ "login-io-opt-odd", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(io_opt, 1) } },
	{ "login-granularity", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(discard_granularity, 7) } },
	{ "login-alignment", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(discard_alignment, 1) } },
	{ "login-discard", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(max_discard, 0xffffffff) } },
	{ "login-discard-granularity-0", AT_LOGIN, LOGIN_REPLY, LIMITS,
	  { G(discard_granularity, 0) } },
	{ "login-discard-granularity-4g", AT_LOGIN, LOGIN_REPLY, LIMITS,
	  { G(discard_granularity, 0xfffffe00) } },
	{ "login-discard-small", AT_LOGIN, LOGIN_REPLY, LIMITS,
	  { G(max_discard, 512), G(physical_block, 4096) } },
	{ "login-zeroes", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(max_write_zeroes, 1) } },
	{ "login-cache-without-fua", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(flags, 2) } },
	{ "login-max-io-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(max_io, 0) } },
	{ "login-max-io-512", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(max_io, 512) } },
	{ "login-max-io-4g", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(max_io, 0xfffff000) } },
	{ "login-max-io-odd", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(max_io, 4097) } },
	{ "login-pool-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(pool_units, 0) } },
	{ "login-pool-1", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(pool_units, 1) } },
	{ "login-pool-16t", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(pool_units, 0xffffffff) } },
	{ "login-segment-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(segment_units, 0) } },
	{ "login-segment-3", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(segment_units, 3) } },
	{ "login-segment-2g", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(segment_units, 1u << 31) } },
	{ "login-segments-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(nr_segments, 0) } },
	{ "login-segments-3", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(nr_segments, 3) } },
	{ "login-segments-missing", AT_LOGIN, LOGIN_REPLY, COUNT, { H(nr_entries, 2) },
	  .more = -16 },
	{ "login-segment-units", AT_LOGIN, LOGIN_REPLY, LIMITS, { S(0, units, 255) } },
	{ "login-segment-empty", AT_LOGIN, LOGIN_REPLY, LIMITS, { S(1, units, 0) } },
	{ "login-segment-wraps", AT_LOGIN, LOGIN_REPLY, LIMITS, { S(1, addr, -4096) } },
	{ "login-keepalive-0", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(keepalive_ms, 0) } },
	{ "login-keepalive-long", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(keepalive_ms, -1) } },
	{ "login-inline-read", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(inline_read, 1 << 30) } },
	{ "login-fence-generation", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(fence_generation, 0) } },
	{ "login-inline-write", AT_LOGIN, LOGIN_REPLY, LIMITS, { G(inline_write, -1) } },
	{ "login-inline-feature", AT_LOGIN, LOGIN_REPLY, RESERVED,
	  { G(features, 0), G(inline_read, 512) } },
	/* requests: the kernel looks for partitions */
	{ "request-hang-up", AT_REQUEST, .why = "", .also = HANG_UP },
	{ "request-garbage", AT_REQUEST, GARBAGE, "" },
	{ "reply-tag-other", AT_REQUEST, REPLY, TAG, { R_TAG(1) } },
	{ "reply-tag-65535", AT_REQUEST, REPLY, TAG, { R(tag, 65535) } },
	{ "reply-status-10", AT_REQUEST, REPLY, STATUS, { R(status, 10), R(length, 0) } },
	{ "reply-status-33", AT_REQUEST, REPLY, STATUS, { R(status, 33), R(length, 0) } },
	{ "reply-status-65535", AT_REQUEST, REPLY, STATUS, { R(status, 65535) } },
	{ "reply-length-0", AT_REQUEST, REPLY, LENGTH, { R(length, 0) } },
	{ "reply-length-4g", AT_REQUEST, REPLY, LENGTH, { R(length, -1) } },
	{ "reply-error-with-length", AT_REQUEST, REPLY, LENGTH, { R(status, RNBD_ST_IO) } },
	{ "reply-flags", AT_REQUEST, REPLY, FLAGS, { R(flags, 2) } },
	{ "reply-reserved", AT_REQUEST, REPLY, RESERVED, { R(reserved[6], 1) } },
	{ "reply-inline-nothing", AT_REQUEST, REPLY, SHORT, { R(flags, RNBD_REPLY_INLINE) } },
	{ "reply-inline-unasked", AT_REQUEST, REPLY, FLAGS,
	  { R(flags, RNBD_REPLY_INLINE), H(flags, RNBD_FRAME_DATA) }, .more = 4096 },
	{ "reply-data-of-nobody", AT_REQUEST, REPLY, LONG, { H(flags, RNBD_FRAME_DATA) },
	  .more = 64, .late = true },
	{ "reply-inline-cut", AT_REQUEST, REPLY, SHORT,
	  { R(flags, RNBD_REPLY_INLINE), H(flags, RNBD_FRAME_DATA) }, .more = 512,
	  .grant = { G(inline_read, 4096) } },
	{ "reply-inline-long", AT_REQUEST, REPLY, LONG,
	  { R(flags, RNBD_REPLY_INLINE), H(flags, RNBD_FRAME_DATA) }, .more = 4097,
	  .grant = { G(inline_read, 4096) }, .late = true },
	{ "reply-inline-half", AT_REQUEST, REPLY, LENGTH,
	  { R(flags, RNBD_REPLY_INLINE), H(flags, RNBD_FRAME_DATA), R(length, 512) },
	  .more = 512, .grant = { G(inline_read, 4096) } },
	{ "reply-short", AT_REQUEST, REPLY, SHORT, .more = -1 },
	{ "reply-long", AT_REQUEST, REPLY, LONG, .more = 1 },
	{ "reply-twice", AT_REQUEST, REPLY, TAG, .also = TWICE, .late = true },
	{ "reply-twice-in-frame", AT_REQUEST, REPLY, TAG, .also = DOUBLE, .late = true },
	{ "reply-and-hang-up", AT_REQUEST, REPLY, "", .also = HANG_UP, .late = true },
	{ "segment-key", AT_REQUEST, REPLY, "", .grant = { S(0, rkey, 0x7654321) } },
	{ "segment-address", AT_REQUEST, REPLY, "", .grant = { S(0, addr, 4096) } },
	/* a client with a secret, and one without that is asked for it */
	{ "secret", AT_LIVE, .secret = true },
	{ "secret-not-asked", AT_LOGIN, LOGIN_REPLY, NOT_ASKED, .secret = true },
	{ "secret-list-not-asked", AT_LIST, DISCOVER_REPLY, NOT_ASKED, .secret = true },
	{ "secret-garbage", AT_LOGIN, GARBAGE, "", .secret = true },
	{ "challenge-unknown", AT_LOGIN, CHALLENGE, ASKED },
	{ "challenge-list-unknown", AT_LIST, CHALLENGE, ASKED },
	{ "challenge-twice", AT_LOGIN, CHALLENGE, TYPE, .also = TWICE, .secret = true },
	{ "challenge-eager", AT_LOGIN, CHALLENGE, "", .also = EAGER, .secret = true },
	{ "challenge-reserved", AT_LOGIN, CHALLENGE, RESERVED, { C(reserved[31], 1) },
	  .secret = true },
	{ "challenge-short", AT_LOGIN, CHALLENGE, SHORT, .more = -1, .secret = true },
	{ "challenge-long", AT_LOGIN, CHALLENGE, LONG, .more = 1, .secret = true },
	{ "proof-unasked", AT_LOGIN, PROOF, TYPE, .secret = true },
	{ "proof-missing", AT_PROOF, LOGIN_REPLY, UNPROVEN, .secret = true },
	{ "proof-flipped", AT_PROOF, PROOF, WRONG_PROOF, .secret = true, .proof = FLIPPED },
	{ "proof-empty", AT_PROOF, PROOF, WRONG_PROOF, .secret = true, .proof = EMPTY },
	{ "proof-reflected", AT_PROOF, PROOF, WRONG_PROOF, .secret = true, .proof = REFLECTED },
	{ "proof-echoed", AT_PROOF, PROOF, RESERVED, .secret = true, .proof = ECHOED },
	{ "proof-replayed", AT_PROOF, PROOF, WRONG_PROOF, .secret = true, .proof = REPLAYED },
	{ "proof-short", AT_PROOF, PROOF, SHORT, .more = -1, .secret = true },
	{ "proof-long", AT_PROOF, PROOF, LONG, .more = 1, .secret = true },
	{ "proof-challenge", AT_PROOF, CHALLENGE, TYPE, .secret = true },
	{ "proof-denied", AT_PROOF, DENIAL, "wrong secret for this host", .secret = true },
	{ "proof-hang-up", AT_PROOF, .why = CLOSED, .also = HANG_UP, .secret = true },
	{ "proof-twice", AT_PROVEN, PROOF, TYPE, .secret = true },
	{ "proven-challenge", AT_PROVEN, CHALLENGE, TYPE, .secret = true },
	{ "proven-status", AT_PROVEN, LOGIN_REPLY, STATUS, { G(status, 9999) }, .secret = true },
	{ "proven-live-proof", AT_LIVE, PROOF, TYPE, .secret = true },
	/* a disk that is there */
	{ "live-hang-up", AT_LIVE, .why = CLOSED, .also = HANG_UP },
	{ "live-garbage", AT_LIVE, GARBAGE, RESERVED },
	{ "live-reply", AT_LIVE, REPLY, TAG },
	{ "live-login-reply", AT_LIVE, LOGIN_REPLY, TYPE },
	{ "live-request", AT_LIVE, REQUEST, TYPE },
	{ "live-challenge", AT_LIVE, CHALLENGE, TYPE },
	{ "live-proof", AT_LIVE, PROOF, TYPE },
	{ "live-credits", AT_LIVE, CREDIT, CREDITS, { H(credits, 64) } },
	{ "live-overdrawn", AT_LIVE, RESIZE, CREDITS, .also = OVERDRAW },
	{ "live-list", AT_LIVE, DISCOVER_REPLY, TYPE },
	{ "live-immediate", AT_LIVE, CREDIT, KIND, .also = IMMEDIATE },
	{ "resize", AT_LIVE, RESIZE, .p = { Z(capacity, DISK_BYTES / 2) } },
	{ "resize-huge", AT_LIVE, RESIZE, .p = { Z(capacity, INT64_MAX - 511) } },
	{ "resize-flood", AT_LIVE, RESIZE, .also = FLOOD },
	{ "resize-0", AT_LIVE, RESIZE, LIMITS, { Z(capacity, 0) } },
	{ "resize-odd", AT_LIVE, RESIZE, LIMITS, { Z(capacity, 1) } },
	{ "resize-signed", AT_LIVE, RESIZE, LIMITS, { Z(capacity, -512) } },
	{ "resize-reserved", AT_LIVE, RESIZE, RESERVED, { Z(reserved[7], 1) } },
	{ "resize-unknown", AT_LIVE, RESIZE, TYPE, .grant = { G(features, 0) } },
	{ "credit-flood", AT_LIVE, CREDIT, RATE, .also = FLOOD },
	{ "live-silence", AT_LIVE, .why = "no sign of life from the peer", .also = SILENT,
	  .grant = { G(keepalive_ms, 1000) } },
	{ "live-no-credits", AT_LIVE, .why = "the peer gives no credits", .also = STARVE,
	  .grant = { G(keepalive_ms, 1000) } },
	/* lists */
	{ "list", AT_LIST, DISCOVER_REPLY },
	{ "list-hang-up", AT_LIST, .why = CLOSED, .also = HANG_UP },
	{ "list-login-reply", AT_LIST, LOGIN_REPLY, TYPE },
	{ "list-resize", AT_LIST, RESIZE, TYPE },
	{ "list-endless", AT_LIST, DISCOVER_REPLY, COUNT, .also = ENDLESS },
	{ "list-without-head", AT_LIST, DISCOVER_REPLY, COUNT, { H(nr_entries, 0) } },
	{ "list-short", AT_LIST, DISCOVER_REPLY, SHORT, .more = -1 },
	{ "list-status", AT_LIST, DISCOVER_REPLY, STATUS, { D(status, 99) } },
	{ "list-refused-and-more", AT_LIST, DISCOVER_REPLY, COUNT, { D(status, RNBD_ST_LIMIT) } },
	{ "list-flags", AT_LIST, DISCOVER_REPLY, FLAGS, { D(flags, 2) } },
	{ "list-reserved", AT_LIST, DISCOVER_REPLY, RESERVED, { D(reserved, 1) } },
	{ "list-more-of-nothing", AT_LIST, DISCOVER_REPLY, COUNT,
	  { D(flags, RNBD_DISCOVER_MORE), H(nr_entries, 1) }, .more = -112 },
	{ "list-name-open", AT_LIST, DISCOVER_REPLY, NAME, { N(name, 'x') } },
	{ "list-name-escape", AT_LIST, DISCOVER_REPLY, NAME, { N(name[0], 27) } },
	{ "list-name-empty", AT_LIST, DISCOVER_REPLY, NAME, { N(name, 0) } },
	{ "list-capacity", AT_LIST, DISCOVER_REPLY, LIMITS, { N(capacity, 0) } },
	{ "list-block", AT_LIST, DISCOVER_REPLY, LIMITS, { N(logical_block, 0) } },
	{ "list-export-flags", AT_LIST, DISCOVER_REPLY, FLAGS, { N(flags, 8) } },
	{ "list-export-reserved", AT_LIST, DISCOVER_REPLY, RESERVED, { N(reserved[15], 1) } },
};

/* ------------------------------------------------------------------------
 * The target
 */

static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	const struct target_case *tc;
	struct conn c;
	struct rnbd_cm_req req;
	struct rnbd_login login;
	bool struck, live, silent;
	uint64_t rel[NR_RELATIVE];
	uint8_t disk[DISK_BYTES];
	struct rng *mutate;	/* of random mode */
	uint32_t mutate_at;	/* in so many frames */
	uint32_t mutated;
} t;

static void listen_there(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, address, &addr.sin_addr) != 1)
		die("%s is no address", address);
	t.channel = rdma_create_event_channel();
	if (!t.channel || rdma_create_id(t.channel, &t.listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(t.listener, (struct sockaddr *)&addr) || rdma_listen(t.listener, 16))
		die("cannot listen on %s:%u: %s", address, port, strerror(errno));
	fcntl(t.channel->fd, F_SETFL, fcntl(t.channel->fd, F_GETFL) | O_NONBLOCK);
}

static void patch_all(uint8_t *bytes, const struct patch *p, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		patch_apply(bytes, &p[i], t.rel);
}

static void refuse(struct rdma_cm_id *id, bool hostile)
{
	struct rnbd_cm_rej rej = {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.status = htole16(RNBD_ST_SHUTDOWN),
	};
	uint32_t len = sizeof(rej);

	if (hostile)
		patch_all((uint8_t *)&rej, t.tc->p, ARRAY_SIZE(t.tc->p));
	if (t.mutate) {
		rng_mutate(t.mutate, (uint8_t *)&rej, &len, len);
		t.mutated++;
	}
	rdma_reject(id, &rej, len);
	rdma_destroy_id(id);
}

/* What the client of the kernel asks for has to be lawful. */
static bool request_lawful(const struct rdma_conn_param *conn, struct rnbd_cm_req *req)
{
	if (conn->private_data_len < sizeof(*req))
		return amiss("a request of %u bytes", conn->private_data_len);
	memcpy(req, conn->private_data, sizeof(*req));
	if (le32toh(req->magic) != RNBD_MAGIC || le16toh(req->version) != RNBD_VERSION ||
	    req->reserved0 || req->reserved1 || !req->epoch ||
	    le16toh(req->queue) >= RNBD_QUEUES_MAX ||
	    le16toh(req->ring_slots) < RNBD_RING_SLOTS_MIN ||
	    le16toh(req->ring_slots) > RNBD_RING_SLOTS_MAX ||
	    le32toh(req->slot_size) < RNBD_SLOT_SIZE_MIN ||
	    le32toh(req->slot_size) > RNBD_SLOT_SIZE_MAX)
		return amiss("an unlawful connection request");
	return true;
}

static void on_request(struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	struct conn *c = &t.c;
	struct rnbd_cm_rep rep;
	struct rnbd_cm_req req;
	uint32_t len = sizeof(rep);

	if (t.tc && t.tc->when == AT_REFUSAL && (t.tc->also != RELENT || !t.struck)) {
		t.struck = true;
		refuse(id, true);
		return;
	}
	if (c->id || !t.tc || (t.struck && t.tc->also != RELENT) ||
	    (t.mutate && !rng_below(t.mutate, 20)) ||
	    !request_lawful(&event->param.conn, &req)) {
		refuse(id, false);
		return;
	}
	rep = (struct rnbd_cm_rep) {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.ring_slots = req.ring_slots,
		.slot_size = req.slot_size,
		.epoch = req.epoch,
	};
	if (t.tc->when == AT_ANSWER) {
		patch_all((uint8_t *)&rep, t.tc->p, ARRAY_SIZE(t.tc->p));
		t.struck = true;
	}
	if (t.mutate && !rng_below(t.mutate, 20)) {
		rng_mutate(t.mutate, (uint8_t *)&rep, &len, len);
		t.mutated++;
	}
	t.req = req;
	conn_accept(c, id, &req, &rep, len);
}

/* A grant of two segments within the client's wishes. */
static void build_grant(struct frame *f)
{
	struct rnbd_login_reply r = {
		.nr_queues = htole16(1),
		.features = t.login.features,
		.fence_generation = t.login.fence_generation ?: htole32(1),
		.capacity = htole64(DISK_BYTES),
		.max_io = htole32(64 << 10),
		.logical_block = htole32(512),
		.physical_block = htole32(512),
		.io_min = htole32(512),
		.max_discard = htole32(DISK_BYTES),
		.discard_granularity = htole32(512),
		.max_write_zeroes = htole32(DISK_BYTES),
		.pool_units = htole32(POOL_UNITS),
		.segment_units = htole32(SEGMENT_UNITS),
		.nr_segments = htole32(2),
		.keepalive_ms = htole32(RNBD_KEEPALIVE_MS_MAX),
		.incarnation = { 1 },
		.export_uuid = { 2 },
	};
	uint32_t i;

	r.queue_depth = htole16(le16toh(t.login.queue_depth) < 64 ?
				le16toh(t.login.queue_depth) : 64);
	frame_begin(f, RNBD_FRAME_LOGIN_REPLY, 3);
	memcpy(frame_add(f, sizeof(r)), &r, sizeof(r));
	for (i = 0; i < 2; i++) {
		struct rnbd_segment seg = {
			.addr = htole64((uintptr_t)t.c.data + i * SEGMENT_UNITS * RNBD_UNIT_SIZE),
			.rkey = htole32(t.c.mr->rkey),
			.units = htole32(SEGMENT_UNITS),
		};

		memcpy(frame_add(f, sizeof(seg)), &seg, sizeof(seg));
	}
}

static void build_list(struct frame *f, bool more, uint32_t nr)
{
	struct rnbd_discover_reply head = { .flags = htole16(more ? RNBD_DISCOVER_MORE : 0) };
	struct rnbd_export_entry e = {
		.name = "an-export",
		.capacity = htole64(DISK_BYTES),
		.logical_block = htole32(512),
	};
	uint32_t i;

	frame_begin(f, RNBD_FRAME_DISCOVER_REPLY, nr + 1);
	memcpy(frame_add(f, sizeof(head)), &head, sizeof(head));
	for (i = 0; i < nr; i++)
		memcpy(frame_add(f, sizeof(e)), &e, sizeof(e));
}

static void build(struct frame *f, enum base which)
{
	struct rnbd_reply_entry reply = { .tag = htole16(t.rel[TAG_SENT]) };
	struct rnbd_resize resize = { .capacity = htole64(DISK_BYTES / 2) };
	struct rnbd_login_reply denial = { .status = htole16(RNBD_ST_AUTH) };
	static const struct {
		uint8_t type, bytes;
	} foreign[] = {
		[LOGIN] = { RNBD_FRAME_LOGIN, sizeof(struct rnbd_login) },
		[REQUEST] = { RNBD_FRAME_REQUEST, sizeof(struct rnbd_req_entry) },
	};

	switch (which) {
	case LOGIN_REPLY:
		build_grant(f);
		break;
	case REPLY:
		reply.length = htole32(t.rel[CAPACITY]);
		frame_begin(f, RNBD_FRAME_REPLY, t.tc->also == DOUBLE ? 2 : 1);
		memcpy(frame_add(f, sizeof(reply)), &reply, sizeof(reply));
		if (t.tc->also == DOUBLE)
			memcpy(frame_add(f, sizeof(reply)), &reply, sizeof(reply));
		break;
	case RESIZE:
		frame_begin(f, RNBD_FRAME_RESIZE, 1);
		memcpy(frame_add(f, sizeof(resize)), &resize, sizeof(resize));
		break;
	case DISCOVER_REPLY:
		build_list(f, false, 1);
		break;
	case CHALLENGE:
		target_auth_challenge(f);
		break;
	case PROOF:
		target_auth_prove(f, t.struck ? t.tc->proof : RIGHT);
		break;
	case DENIAL:
		frame_begin(f, RNBD_FRAME_LOGIN_REPLY, 1);
		memcpy(frame_add(f, sizeof(denial)), &denial, sizeof(denial));
		break;
	case GARBAGE:
		frame_begin(f, 0, 0);
		frame_add(f, 1000);
		memset(f->b, 0xa5, f->len);
		break;
	case CREDIT:
		frame_begin(f, RNBD_FRAME_CREDIT, 0);
		break;
	default:
		frame_begin(f, foreign[which].type, 1);
		frame_add(f, foreign[which].bytes);
	}
}

/* Wait for credits that a lawful target needs. */
static bool have_credit(struct conn *c)
{
	uint64_t end = deadline(GONE_MS);
	uint32_t len;

	while (c->credits <= 1 && !c->gone && now_ms() < end)
		conn_receive(c, 0, &len, 0);
	return c->credits > 1 && !c->gone;
}

static void flood(struct conn *c, enum base which, uint32_t frames)
{
	static struct frame f;

	while (frames-- && have_credit(c)) {
		build(&f, which);
		frame_send(c, &f);
	}
}

/* More frames than there were credits for, and none given back. */
static void overdraw(struct conn *c, enum base which)
{
	uint32_t frames = c->slots * (c->slots / 2 + 2);
	static struct frame f;

	c->mute = true;
	while (frames-- && !c->gone) {
		build(&f, which);
		frame_seal(c, &f);
		if (!conn_post(c, f.b, f.len, IBV_WR_SEND, 0))
			break;
		conn_step(c);
	}
}

/* More exports than there can be. */
static void endless_list(struct conn *c)
{
	uint32_t per_frame = (c->slot_size - HDR_BYTES - sizeof(struct rnbd_discover_reply)) /
			     sizeof(struct rnbd_export_entry);
	static struct frame f;
	uint32_t i;

	for (i = 0; i <= RNBD_EXPORTS_MAX / per_frame + 1 && have_credit(c); i++) {
		build_list(&f, true, per_frame);
		frame_send(c, &f);
	}
}

/* The lawful frame, mutated in random mode. */
static void send_one(struct conn *c, struct frame *f)
{
	frame_seal(c, f);
	if (t.mutate && t.mutate_at-- == 0) {
		rng_mutate(t.mutate, f->b, &f->len, c->slot_size);
		t.mutate_at = rng_below(t.mutate, 12);
		t.mutated++;
	}
	conn_post(c, f->b, f->len, IBV_WR_SEND, 0);
}

static void strike(struct conn *c)
{
	const struct target_case *tc = t.tc;
	enum ibv_wr_opcode opcode = IBV_WR_SEND;
	int frames = tc->also == TWICE ? 2 : 1;
	static struct frame f;

	t.struck = true;
	if (tc->also == IMMEDIATE)
		opcode = IBV_WR_SEND_WITH_IMM;
	else if (tc->also == INVALIDATE)
		opcode = IBV_WR_SEND_WITH_INV;
	else if (tc->also == FLOOD)
		flood(c, tc->base, 1000);
	else if (tc->also == ENDLESS)
		endless_list(c);
	else if (tc->also == OVERDRAW)
		overdraw(c, tc->base);
	else if (tc->also == SILENT)
		t.silent = true;
	else if (tc->also == STARVE)
		c->mute = true;
	while (frames-- && tc->base && tc->also != ENDLESS && tc->also != OVERDRAW) {
		build(&f, tc->base);
		if (tc->base != GARBAGE)
			frame_seal(c, &f);
		patch_all(f.b, tc->p, ARRAY_SIZE(tc->p));
		f.len = tc->more == OVERSIZED ? c->slot_size + 64 : f.len + tc->more;
		conn_post(c, f.b, f.len, opcode, 0x12345);
	}
	if (tc->also == EAGER) {
		build(&f, LOGIN_REPLY);
		frame_send(c, &f);
	}
	if (tc->also == HANG_UP) {
		/* A frame may have overtaken the last message of the connection manager. */
		uint64_t end = deadline(GONE_MS);

		while (!c->established && now_ms() < end) {
			conn_step(c);
			nap();
		}
		rdma_disconnect(c->id);
	}
}

/* The lawful answer to a login. */
static void let_in(struct conn *c)
{
	static struct frame f;

	if (t.login.flags & htole32(RNBD_LOGIN_DISCOVER))
		build_list(&f, false, 2);
	else
		build_grant(&f);
	patch_all(f.b, t.tc->grant, ARRAY_SIZE(t.tc->grant));
	/* what is patched into the head would be lost */
	send_one(c, &f);
}

static void on_proof(struct conn *c, const uint8_t *frame)
{
	static struct frame f;

	if (!t.tc->secret) {
		amiss("a proof that nobody can ask for");
		return;
	}
	/* One that we did not wait for. */
	if (t.struck || !target_auth_take(frame))
		return;
	if (t.tc->when == AT_PROOF) {
		strike(c);
		return;
	}
	build(&f, PROOF);
	send_one(c, &f);
	if (t.tc->when == AT_PROVEN)
		strike(c);
	else
		let_in(c);
}

static void on_login(struct conn *c, const uint8_t *frame)
{
	static struct frame f;

	memcpy(&t.login, frame + HDR_BYTES, sizeof(t.login));
	target_auth_begin(&t.req, &t.login);
	if (t.tc->when == AT_CONNECTED) {
		if (!t.struck)
			strike(c);
		return;
	}
	if (t.tc->when == (t.login.flags & htole32(RNBD_LOGIN_DISCOVER) ? AT_LIST : AT_LOGIN)) {
		strike(c);
		return;
	}
	if (!t.tc->secret) {
		let_in(c);
		return;
	}
	build(&f, CHALLENGE);
	send_one(c, &f);
}

static const struct rnbd_extent *extent_of(const struct rnbd_req_entry *e, uint32_t i)
{
	const struct rnbd_extent_entry *more = (const void *)(e + 1);

	return i ? &more[(i - 1) / 4].extent[(i - 1) % 4] : &e->extent;
}

/* Data between the disk and the pool. */
static void move_data(struct conn *c, const struct rnbd_req_entry *e)
{
	uint64_t at = le64toh(e->offset);
	uint32_t left = le32toh(e->length), i;

	for (i = 0; i < e->nr_extents; i++) {
		uint32_t unit = le32toh(extent_of(e, i)->unit);
		uint32_t bytes = le32toh(extent_of(e, i)->units) * RNBD_UNIT_SIZE;
		uint8_t *pool = c->data + (size_t)unit * RNBD_UNIT_SIZE;

		if (bytes > left)
			bytes = left;
		if (unit >= POOL_UNITS || bytes > (POOL_UNITS - unit) * RNBD_UNIT_SIZE) {
			/* unless it was told of a larger pool */
			if (!t.mutate)
				amiss("an extent at unit %u", unit);
			return;
		}
		if (e->op == RNBD_OP_READ)
			memcpy(pool, t.disk + at, bytes);
		else
			memcpy(t.disk + at, pool, bytes);
		at += bytes;
		left -= bytes;
	}
}

static void on_requests(struct conn *c, const uint8_t *frame, uint32_t len)
{
	const struct rnbd_req_entry *e = (const void *)(frame + HDR_BYTES);
	const struct rnbd_req_entry *end = (const void *)(frame + len);
	struct rnbd_reply_entry reply = { };
	static struct frame f;

	for (; e < end; e += 1 + (e->nr_extents + 2) / 4) {
		uint32_t length = le32toh(e->length);
		uint64_t offset = le64toh(e->offset);

		t.rel[TAG_SENT] = le16toh(e->tag);
		t.rel[CAPACITY] = length;
		if (t.tc->when == AT_REQUEST && !t.struck) {
			strike(c);
			return;
		}
		reply.tag = e->tag;
		reply.status = 0;
		reply.length = e->length;
		/* A disk that has grown has no more data for all that. */
		if (length > DISK_BYTES || offset > DISK_BYTES - length) {
			reply.status = htole16(RNBD_ST_RANGE);
			reply.length = 0;
		} else {
			move_data(c, e);
		}
		if (!have_credit(c))
			return;
		frame_begin(&f, RNBD_FRAME_REPLY, 1);
		memcpy(frame_add(&f, sizeof(reply)), &reply, sizeof(reply));
		send_one(c, &f);
	}
}

/* Take what has come, and answer it. */
static void serve(void)
{
	static uint8_t copy[RNBD_SLOT_SIZE_MAX];
	struct rdma_cm_event *event;
	struct conn *c = &t.c;
	const uint8_t *frame;
	uint32_t len;

	while (!rdma_get_cm_event(t.channel, &event)) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && !aside_request(event))
			on_request(event);
		rdma_ack_cm_event(event);
	}
	aside_step();
	if (!c->id)
		return;
	conn_step(c);
	if (c->established && t.tc->when == AT_CONNECTED && !t.struck)
		strike(c);
	while (!c->gone && !t.silent && (frame = conn_receive(c, 0, &len, 0))) {
		memcpy(copy, frame, len);
		if (copy[0] == RNBD_FRAME_LOGIN)
			on_login(c, copy);
		else if (copy[0] == RNBD_FRAME_REQUEST)
			on_requests(c, copy, len);
		else if (copy[0] == RNBD_FRAME_PROOF)
			on_proof(c, copy);
		else
			amiss("a frame of type %u from a client", copy[0]);
	}
	if (t.live && !t.silent && t.struck && t.tc->also == STARVE)
		conn_alive(c, 800);
}

/* Serve until it is done. */
static bool job_wait(struct job *job, const char *what)
{
	uint64_t end = deadline(JOB_MS);

	while (!job_done(job) && now_ms() < end) {
		serve();
		nap();
	}
	if (!job->pid)
		return true;
	kill(job->pid, SIGKILL);
	return amiss("%s does not end", what);
}

static bool job_run(struct job *job, const char *fmt, const char *arg)
{
	char command[2200];

	snprintf(command, sizeof(command), fmt, arg);
	job_start(job, command);
	return job_wait(job, command);
}

static bool disks_left(void)
{
	glob_t g = { };
	bool some = !glob("/sys/block/rnbd*", 0, NULL, &g);

	globfree(&g);
	return some;
}

/* The client must hang up. */
static void must_hang_up(void)
{
	uint64_t end = deadline(2 * GONE_MS);

	while (!t.c.gone && now_ms() < end) {
		serve();
		nap();
	}
	if (!t.c.gone)
		amiss("the client goes on");
}

#define VIOLATIONS	"/sys/kernel/rnbd/violations"

/* What the client has to count, "" for something, NULL for nothing. */
static const char *kind_of(const char *why)
{
	static const char * const kinds[][2] = {
		{ TYPE, "type" }, { SHORT, "short" }, { LONG, "long" }, { RESERVED, "reserved" },
		{ COUNT, "count" }, { SEQ, "seq" }, { EPOCH, "epoch" }, { CREDITS, "credits" },
		{ RATE, "rate" }, { GEOMETRY, "geometry" }, { NAME, "name" }, { FLAGS, "flags" },
		{ TAG, "tag" }, { LENGTH, "length" }, { LIMITS, "limits" }, { STATUS, "status" },
		{ KIND, "message" }, { NO_SENSE, "" }, { ODD_REFUSAL, "" },
	};
	size_t i;

	for (i = 0; why && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(why, kinds[i][0]))
			return kinds[i][1];
	return NULL;
}

static uint64_t violations(const char *kind)
{
	return counted(VIOLATIONS, kind && *kind ? kind : NULL);
}

/* One more of the kind, and of no other. */
static void must_count(const char *why, uint64_t all, uint64_t of_kind)
{
	const char *kind = kind_of(why);
	uint64_t more = violations(NULL) - all;

	if (more != !!kind)
		amiss("%llu violations counted", (unsigned long long)more);
	else if (kind && violations(kind) != of_kind + 1)
		amiss("not counted as %s", kind);
}

static void must_detach(const char *disk)
{
	struct job job;

	job_run(&job, "rnbd detach --force %s", disk);
	if (job.status)
		amiss("detach fails: %s", job.said);
}

/* A disk that is there must lose its connection for that. */
static void must_lose(const struct target_case *tc, const char *disk)
{
	char counters[2200];

	must_hang_up();
	monitor_tells("-> reconnecting: ", *tc->why ? tc->why : "*");
	snprintf(counters, sizeof(counters), "/sys/block/%s/rnbd", disk + strlen("/dev/"));
	if (counted(counters, "violations") != !!kind_of(tc->why))
		amiss("the disk does not count it");
	must_detach(disk);
}

static void run_live(const struct target_case *tc, const char *disk)
{
	struct job job, reader = { };
	char command[2200];

	t.live = true;
	if (tc->base || tc->also)
		strike(&t.c);
	if (tc->also == STARVE) {
		snprintf(command, sizeof(command),
			 "dd if=%s of=/dev/null bs=512 count=2000 iflag=direct", disk);
		job_start(&reader, command);
	}
	if (tc->why) {
		must_lose(tc, disk);
	} else {
		job_run(&job, "dd if=%s of=/dev/null bs=4k count=8 iflag=direct 2>&1", disk);
		if (job.status)
			amiss("reads fail: %s", job.said);
		must_detach(disk);
	}
	job_wait(&reader, "a reader");
}

static void run_case(const struct target_case *tc)
{
	uint64_t all = violations(NULL), of_kind = violations(kind_of(tc->why));
	const char *why = tc->why;
	char command[200];
	struct job job;
	size_t len;

	t.tc = tc;
	t.struck = false;
	t.live = false;
	t.silent = false;
	memset(t.rel, 0, sizeof(t.rel));
	if (tc->when == AT_LIST)
		snprintf(command, sizeof(command), "rnbd discover %s:%u", address, port);
	else
		snprintf(command, sizeof(command),
			 "rnbd attach %s:%u %s --queues 1 --keepalive 20000", address, port,
			 tc->name);
	len = strlen(command);
	if (tc->secret)
		snprintf(command + len, sizeof(command) - len, " --secret-file %s", secret_file);
	job_start(&job, command);
	if (job_wait(&job, command)) {
		note("%s", job.said);
		if (tc->why && tc->when != AT_LIVE) {
			if (!t.struck)
				amiss("it did not come to that");
			if (job.status) {
				if (tc->also == ENDLESS && strstr(job.said, TOO_LATE))
					why = TOO_LATE;
				if (!strstr(job.said, why))
					amiss("it says: %s; not: %s", job.said, why);
				if (t.c.id)
					must_hang_up();
			} else if (tc->late) {
				must_lose(tc, job.said);
			} else {
				amiss("it succeeds");
				must_detach(job.said);
			}
		} else if (job.status) {
			amiss("it fails: %s", job.said);
		} else if (tc->when != AT_LIST) {
			run_live(tc, job.said);
		}
	}
	/* What is told with "" may be one violation or none. */
	if (!why || *why)
		must_count(why, all, of_kind);
	if (disks_left())
		amiss("a disk is left over");
	conn_close(&t.c);
}

int target_cases(void)
{
	uint32_t done = 0, failed = 0;
	uint64_t began;
	size_t i;

	listen_there();
	aside_begin(t.channel);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!selected(cases[i].name) || (cases[i].secret && !has_secret))
			continue;
		began = now_ms();
		run_case(&cases[i]);
		done++;
		failed += !judge(cases[i].name, true, began);
	}
	aside_end(serve, &done, &failed);
	printf("%u cases, %u failed\n", done, failed);
	return !done || failed;
}

/* ------------------------------------------------------------------------
 * Lawful but for some frames and answers of each attachment
 *
 * Which ones are wrong and how is up to the numbers of that attachment; how far it comes
 * with them is also up to the client.
 */

#define RANDOM_MS	5000

struct tally {
	uint32_t refused, lost;
};

/*
 * One name, attached or asked for. A disk is read and written, and lost as often as the
 * client finds that a frame is wrong: it comes again for the next.
 */
static void random_attachment(struct rng *rng, struct tally *tally)
{
	static const struct target_case attach = { "random", AT_LIVE };
	struct job job, user = { };
	char command[4400];
	uint64_t end;
	bool list = !rng_below(rng, 5);

	t.tc = &attach;
	t.struck = false;
	t.live = false;
	t.silent = false;
	t.mutate = rng;
	t.mutate_at = rng_below(rng, list ? 1 : 24);
	snprintf(command, sizeof(command), list ? "rnbd discover %s:%u" :
		 "rnbd attach %s:%u random --queues 1 --keepalive 2000", address, port);
	job_start(&job, command);
	if (!job_wait(&job, command) || list || job.status) {
		tally->refused += !!job.status;
		note("%s", job.said);
	} else {
		/* An error ends it, and it starts again. */
		snprintf(command, sizeof(command),
			 "while dd if=%s of=/dev/null bs=16k count=8 iflag=direct &&\n"
			 "dd if=/dev/zero of=%s bs=16k count=4 oflag=direct conv=nocreat;"
			 "do :; done >/dev/null 2>&1", job.said, job.said);
		for (end = deadline(RANDOM_MS); now_ms() < end; nap()) {
			if (job_done(&user))
				job_start(&user, command);
			serve();
			if (t.c.gone) {
				conn_close(&t.c);
				tally->lost++;
			}
		}
		/* It may hang for as long as the disk is away. */
		job_run(&job, "rnbd detach --force %s", job.said);
		if (job.status)
			amiss("detach fails: %s", job.said);
		job_wait(&user, "a user of the disk");
	}
	if (disks_left())
		amiss("a disk is left over");
	conn_close(&t.c);
}

int target_random(uint64_t seed, uint64_t from, uint32_t seconds)
{
	uint64_t end = now_ms() + seconds * 1000ull, nr, began = now_ms();
	struct tally tally = { };
	struct rng rng;

	listen_there();
	for (nr = from; now_ms() < end; nr++) {
		rng_seed(&rng, seed, nr);
		random_attachment(&rng, &tally);
		if (amiss_so_far()) {
			printf("again: rnbd-peer target --seed %llu --from %llu\n",
			       (unsigned long long)seed, (unsigned long long)nr);
			judge("random", false, began);
			return 1;
		}
	}
	printf("seed %llu: %llu attachments and lists, %u refused; ", (unsigned long long)seed,
	       (unsigned long long)(nr - from), tally.refused);
	printf("%u frames and answers mutated, %u connections lost\n", t.mutated, tally.lost);
	return !(tally.refused && tally.lost);
}
