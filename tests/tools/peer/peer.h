/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A peer in user space that breaks rules of the protocol on purpose.
 *
 * The peer implements Documentation/reference and <rnbd/wire.h>, and shares no other code with the
 * modules. So if the peer and a module disagree, one of them has an error. The peer also checks all
 * frames that it receives: a frame that the protocol does not allow fails the case.
 */
#ifndef PEER_H
#define PEER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <rdma/rdma_cma.h>
#include <rnbd/wire.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define NEVER			(-1)

#define LOGIN_MS		20000	/* time limit for the reply to a login or an ATTACH */

/* The handle of all requests unless a case says otherwise */
#define HANDLE_INDEX		0
#define HANDLE_GENERATION	1

#define TARGET_UUID		3	/* first byte of our target's UUID, the others are 0 */

#define HDR_BYTES		((uint32_t)sizeof(struct rnbd_frame_hdr))
#define MAX_SEGMENTS		64
#define DATA_BYTES		(3u << 20)	/* memory of a connection for RDMA */
#define SENDS			64		/* frames and RDMA operations in flight */

struct uuid {
	uint8_t b[16];
};

/* A frame to be sent: valid until a case patches it. */
struct frame {
	uint8_t b[RNBD_SLOT_SIZE_MAX + 64];
	uint32_t len;
};

/*
 * Replies of the target to a client, in wire format; @status: status of the latest LOGIN or ATTACH
 */
struct grant {
	uint16_t status;
	struct rnbd_ctl_login_reply r;
	struct rnbd_ctl_segment seg[MAX_SEGMENTS];
	struct rnbd_ctl_attach_reply a;
};

/* A received entry of a CONTROL frame; points into the frame */
struct ctl {
	uint16_t type;		/* without RNBD_CTL_MANDATORY */
	uint32_t id;
	uint32_t bytes;		/* length of the body */
	const uint8_t *body;
};

/* A connection request, and the way to connect. */
struct request {
	struct rnbd_cm_req cm;
	uint8_t len;		/* bytes of private data */
	bool no_slots;		/* receive slots are announced, not posted */
	uint8_t rnr;		/* times that the target repeats a SEND that finds no slot */
};

/**
 * struct conn - a connection of a client or a target
 * @req: Connection request of a client
 * @granted: Receive slots that the peer may use; all @slots are posted
 * @retire: Number of the next received frames for which no credit is returned, because the peer has
 *	given up their slots
 * @slots_depth: Queue depth for our reply to a SLOTS entry
 * @asked_slots: Slots that we have requested, 0 after the reply
 * @asked_depth: Queue depth that we have requested
 * @slots_due: We must still reply to a SLOTS entry
 * @lax: A mutated or wrong frame was sent: accept unexpected SLOTS entries of the peer
 * @taken: Receive slots that hold frames, oldest first
 * @mute: Neither post used slots again nor return credits
 * @liar: Return credits for used slots, but do not post these slots again
 * @serves: This end is the target, whose memory is registered for remote access
 * @status: Status of a refused connection: enum rnbd_status, or NEVER if unknown
 * @failed: First error status of a work completion, other than IBV_WC_WR_FLUSH_ERR
 * @flushed: Number of flushed work completions
 * @ctl_id: Latest id of a control request
 * @ctl: Copy of a CONTROL frame, and the offset of the first entry not yet returned
 */
struct conn {
	struct request req;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *mem;
	uint8_t *data;
	uint32_t slots, slot_size, peer_slots;
	uint32_t granted, retire, slots_depth, asked_slots, asked_depth;
	bool slots_due, lax;
	uint32_t attempt, send_seq, recv_seq;
	int32_t credits;	/* negative after more frames than allowed */
	uint32_t owed;
	struct {
		uint32_t slot, len;
	} taken[RNBD_RING_SLOTS_MAX];
	uint32_t head, tail;
	uint32_t send_next, sends_busy;
	bool established, gone, refused, mute, liar, resolved, serves;
	int status;
	uint16_t version;
	enum ibv_wc_status failed;
	uint32_t flushed;
	bool rdma_done;
	uint32_t queue;
	struct grant grant;
	uint64_t last_sent;
	uint32_t ctl_id;
	struct {
		uint8_t b[RNBD_SLOT_SIZE_MAX];
		uint32_t len, at;
	} ctl;
};

static inline bool power_of_2(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Base to which the value of a patch is added; ABSOLUTE: 0. */
enum relative {
	ABSOLUTE, CAPACITY, POOL, SEGMENT, TAG_SENT, INDEX, GENERATION, CTL_ID, SEQ_SENT,
	NR_RELATIVE,
};

/*
 * Overwrite @size bytes at @at with a little-endian value. If @size > 8, set each byte to the low
 * byte of the value.
 */
struct patch {
	uint16_t at;
	uint8_t size, relative;
	int64_t value;
};

#define PATCH(base, type, field, rel, value)					\
	{ (base) + offsetof(type, field), sizeof(((type *)NULL)->field), rel, value }
#define H(field, value)		PATCH(0, struct rnbd_frame_hdr, field, ABSOLUTE, value)

/* Reasons, as the modules print them */
#define TYPE	"unexpected frame type"
#define MAGIC	"the peer does not speak this protocol"
#define VERSION	"unknown protocol version"
#define IDENTITY "id of a host, session or target is wrong"
#define SHORT	"message too short"
#define LONG	"unexpected bytes at the end of the message"
#define RESERVED "reserved bytes are not zero"
#define COUNT	"number of entries does not fit the frame"
#define SEQ	"frame out of sequence"
#define EPOCH	"wrong epoch or attempt number"
#define CREDITS	"impossible number of credits"
#define RATE	"frames exceed the rate limit"
#define GEOMETRY "ring slots, slot size, queues or depth out of range"
#define NAME	"invalid export name"
#define OP	"operation unknown or not offered"
#define FLAGS	"flags not allowed here"
#define TAG	"tag out of range"
#define LENGTH	"length invalid or above the limit"
#define OFFSET	"offset unaligned or outside of the export"
#define EXTENT	"invalid pool extent"
#define LIMITS	"login, export or pool properties out of range"
#define STATUS	"unexpected status"
#define HANDLE	"invalid handle of an attachment"
#define KIND	"peer sent an unexpected kind of message"
#define ACCESS	"access to memory that was not granted"

/* main.c */
extern const char *address;
extern uint16_t port;
extern unsigned int slow;
extern bool verbose;
extern const char *secret_file;

uint64_t now_ms(void);
uint64_t deadline(uint32_t ms);
void nap(void);
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) bool amiss(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);
struct uuid host_uuid(uint32_t nr);
struct uuid random_uuid(void);
bool selected(const char *name);
bool amiss_so_far(void);
bool judge(const char *name, bool ok, uint64_t began);
uint64_t counted(const char *dir, const char *name);

/* watch.c */
void monitor_open(const char *file);
bool monitor_closed(const char *reason);
bool monitor_tells(const char *event, const char *reason);
void counters_open(void);
void counter_due_fault(const char *reason);
void counter_due_refusal(int status);
void counter_may_refusal(int status, uint32_t most);
void counter_due_limit(const char *word);
void counter_may_limit(const char *word, uint32_t most);
void watch_session(void);
void watch_settled(void);

/* rng.c: pseudo-random numbers that depend only on the seed */
struct rng {
	uint64_t state;
};

void rng_seed(struct rng *rng, uint64_t seed, uint64_t nr);
uint32_t rng_next(struct rng *rng);
uint32_t rng_below(struct rng *rng, uint32_t limit);
void rng_mutate(struct rng *rng, uint8_t *bytes, uint32_t *len, uint32_t room);

/* conn.c */
extern uint32_t conn_data_bytes;

void request_epoch(struct request *req, uint32_t epoch);
void request_conn(struct request *req, uint32_t conn, uint32_t attempts);
void request_init(struct request *req, uint32_t host, uint32_t slots, uint32_t slot_size);
int conn_open(struct conn *c, const struct request *req);
bool conn_begin(struct conn *c, const struct request *req);
bool conn_accept(struct conn *c, struct rdma_cm_id *id, const struct rnbd_cm_req *req,
		 const void *answer, uint8_t len);
void conn_close(struct conn *c);
void conn_drop(struct conn *c);
void conn_step(struct conn *c);
bool conn_queue_pair(struct conn *c, bool no_slots);
bool conn_post(struct conn *c, const void *bytes, uint32_t len, enum ibv_wr_opcode opcode,
	       uint32_t imm_or_key);
bool conn_rdma(struct conn *c, enum ibv_wr_opcode opcode, uint32_t at, uint32_t len,
	       uint64_t remote, uint32_t rkey);
int conn_rdma_wait(struct conn *c, uint32_t ms);
bool conn_wait_gone(struct conn *c, uint32_t ms);
const uint8_t *conn_receive(struct conn *c, uint8_t type, uint32_t *len, uint32_t ms);
void conn_alive(struct conn *c, uint32_t interval_ms);

/* frame.c */
void frame_begin(struct frame *f, uint8_t type, uint32_t entries);
void *frame_add(struct frame *f, uint32_t bytes);
void frame_seal(struct conn *c, struct frame *f);
bool frame_send(struct conn *c, struct frame *f);
bool frame_check(struct conn *c, const uint8_t *bytes, uint32_t len);
void frame_credit(struct conn *c);
void patch_apply(uint8_t *bytes, const struct patch *p, const uint64_t *relative);
void login_fill(struct rnbd_ctl_login *l);
bool login(struct conn *c, const struct rnbd_ctl_login *l, uint32_t ms);
bool login_granted(struct conn *c, const struct rnbd_ctl_login *l, const struct ctl *entry);
struct rnbd_req_entry req_entry(uint8_t op, uint8_t flags, uint16_t tag, uint64_t offset,
				uint32_t length, uint32_t unit);
int await_reply(struct conn *c, uint16_t tag, uint32_t length, const uint8_t **data);
int simple_request(struct conn *c, struct rnbd_req_entry entry);
uint64_t unit_address(const struct conn *c, uint32_t unit, uint32_t *rkey);

/* kinds.c: coverage of frames and entries in random traffic */
void kinds_share(void);
void kinds_count(bool sent, const uint8_t *bytes, uint32_t len);
bool kinds_complete(bool client, bool tell);

/* ctl.c */
void *ctl_add(struct frame *f, uint16_t type, uint32_t id, uint32_t bytes);
bool ctl_check(const struct conn *c, const uint8_t *frame, uint32_t len, uint32_t nr);
void ctl_take(struct conn *c, const uint8_t *frame, uint32_t len);
bool ctl_left(struct conn *c, struct ctl *entry);
bool ctl_receive(struct conn *c, struct ctl *entry, uint32_t ms);
bool ctl_await(struct conn *c, uint16_t type, struct ctl *entry, uint32_t ms);
struct rnbd_ctl_attach attach_entry(uint16_t index, uint32_t generation, const char *export);
void attach_add(struct frame *f, const struct rnbd_ctl_attach *a, uint32_t id);
int await_attach(struct conn *c, const struct rnbd_ctl_attach *a, uint32_t id);
int attach_handle(struct conn *c, uint16_t index, uint32_t generation, const char *export);
bool attach(struct conn *c, const char *export);
bool join_challenged(struct conn *c, const struct request *req, struct rnbd_join_text *text);
bool join_send_proof(struct conn *c, const uint8_t *key, struct rnbd_join_text *text,
		     struct rnbd_ctl_proof *proof);
int join_await(struct conn *c, const uint8_t *key, struct rnbd_join_text *text);
int join(struct conn *c, const struct request *req, const uint8_t *key);
void detach_add(struct frame *f, uint16_t index, uint32_t generation, uint32_t id);
int await_detached(struct conn *c, uint16_t index, uint32_t generation, uint32_t id);
int detach_handle(struct conn *c, uint16_t index, uint32_t generation);

/* slots.c */
void slots_answer(struct conn *c);
bool slots_take(struct conn *c, const uint8_t *frame, uint32_t len);
void slots_begin(struct conn *c, uint32_t slots, uint32_t depth);
bool slots_ask(struct conn *c, uint32_t slots, uint32_t depth);

/* job.c */
struct job {
	pid_t pid;
	int fd;
	char said[2048];
	uint32_t len;
	int status;		/* valid once pid is 0 */
};

void job_start(struct job *job, const char *command);
bool job_done(struct job *job);

/* auth.c */
extern uint8_t secret[RNBD_SECRET_SIZE];
extern bool has_secret;

void auth_read_secret(const char *file);
void auth_mac(struct rnbd_auth_text *text, const char *label, uint8_t *mac);
void auth_join_mac(const uint8_t *key, struct rnbd_join_text *text, const char *label,
		   uint8_t *mac);

/* target_auth.c: authentication by the target; enum proof: whether and how its proof is wrong */
enum proof { RIGHT, FLIPPED, EMPTY, REFLECTED, ECHOED, REPLAYED };

void target_auth_begin(const struct rnbd_cm_req *req, const struct rnbd_ctl_login *l);
void target_auth_challenge(struct frame *f);
bool target_auth_take(const struct ctl *entry, bool must);
void target_auth_prove(struct frame *f, enum proof proof);
void target_auth_key(uint8_t *key);

/* target_aside.c: attaches that take long, concurrent with the cases */
void aside_begin(struct rdma_event_channel *channel);
void aside_step(void);
bool aside_request(struct rdma_cm_event *event);
void aside_end(void (*serve)(void), uint32_t *done, uint32_t *failed);

/* Entry points of the client and of the target */
int client_cases(void);
int client_random(uint64_t seed, uint64_t from, uint32_t seconds);
int client_rogue(const char *way, uint32_t seconds);
int target_cases(void);
int target_random(uint64_t seed, uint64_t from, uint32_t seconds);

/**
 * struct flood - parameters of connections that never log in
 * @connects: Number of concurrent connections
 * @seconds: Duration in seconds
 * @host: Number of the host whose id is used
 * @slots: Receive slots to announce
 * @frames: Number of CREDIT frames that the first accepted connection sends before the program
 *	ends; 0: none, and the connections stay open
 * @sources: Source addresses, separated by commas, or NULL
 */
struct flood {
	uint32_t connects, seconds, host, slots, frames;
	char *sources;
};

/* flood.c */
int client_flood(const struct flood *flood);

#endif /* PEER_H */
