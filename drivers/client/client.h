/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private definitions of the client module.
 *
 * A session is one attached disk. It owns the disk, the connection (one queue
 * pair per hardware queue) and the management of the pool that the target
 * registered for it. Files: session.c (states, attach, detach, teardown),
 * connect.c (RDMA CM and login), discover.c (lists of exports), queue.c (the
 * transfer engine), disk.c (blk-mq), parent.c (its parent device), netlink.c,
 * sysfs.c, trace.c.
 */
#ifndef RNBD_CLIENT_H
#define RNBD_CLIENT_H

#include <linux/blk-mq.h>
#include <linux/inet.h>
#include <linux/kref.h>
#include <linux/netlink.h>
#include <linux/socket.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rnbd/netlink.h>

#include "../core/codec.h"
#include "../core/inject.h"
#include "../core/pool.h"
#include "../core/ring.h"

/**
 * enum rnbd_state - state of a session
 * @RNBD_CONNECTING: the connection is being made, there is no disk yet
 * @RNBD_LIVE: I/O flows
 * @RNBD_RECONNECTING: the connection is lost and another one is being made
 * @RNBD_FAILED: given up, or deactivated; I/O fails, the disk can be detached
 * @RNBD_CLOSING: being detached
 */
enum rnbd_state {
	RNBD_CONNECTING,
	RNBD_LIVE,
	RNBD_RECONNECTING,
	RNBD_FAILED,
	RNBD_CLOSING,
};

/*
 * Pages of a request, in pieces. The least is what one block needs however it
 * is cut up in memory, the most is what a request's driver data has room for.
 */
#define RNBD_SEGMENTS_MIN	16u
#define RNBD_SEGMENTS_MAX	256u

#define RNBD_WHY_SIZE	NETLINK_MAX_FMTMSG_LEN

#define RNBD_DEACTIVATED_WHY	"deactivated by the administrator"

/* A login that waits for its reply has this status, which none is answered with. */
#define RNBD_LOGIN_OPEN		U16_MAX
/* The same for one that has not been sent. */
#define RNBD_LOGIN_NONE		(U16_MAX - 1)

/**
 * struct rnbd_why - text for the person who asked
 * @text: one line without a full stop
 */
struct rnbd_why {
	char text[RNBD_WHY_SIZE];
};

__printf(2, 3) void rnbd_why(struct rnbd_why *why, const char *fmt, ...);

/**
 * struct rnbd_options - what was asked for at attach; constant afterwards
 * @dst: target address and port
 * @addr: the address as text
 * @export: name of the export
 * @name: that the administrator gave the disk, or ""
 * @host_id: UUID of this machine
 * @queues: wished queues
 * @poll_queues: wished queues besides whose submitters poll for completions
 * @depth: wished requests in flight per queue
 * @ring_slots: slots of a control ring
 * @slot_size: bytes of a slot
 * @pool_bytes: wished pool
 * @max_io: wished bytes of one request
 * @readonly: attach read-only
 * @fail_policy: without a connection I/O fails at once instead of waiting
 * @fast_io_fail: seconds after which I/O fails, 0: never
 * @loss_timeout: seconds after which nobody tries to connect any more, 0: never
 * @keepalive_ms: milliseconds between signs of life
 * @early_release: initial value of rnbd_session.early_release
 * @copy: data go through bounce buffers
 * @inline_read: wished limit of reads whose data come inside the reply
 * @inline_write: wished limit of writes whose data go inside the request
 * @secret: RNBD_SECRET_SIZE bytes of whoever asks, or NULL; a session has it in its key
 */
struct rnbd_options {
	struct sockaddr_storage dst;
	char addr[INET6_ADDRSTRLEN];
	char export[RNBD_EXPORT_NAME_SIZE];
	char name[RNBD_NAME_SIZE];
	u8 host_id[UUID_SIZE];
	u32 queues;
	u32 poll_queues;
	u32 depth;
	u32 ring_slots;
	u32 slot_size;
	u64 pool_bytes;
	u32 max_io;
	bool readonly;
	bool fail_policy;
	u32 fast_io_fail;
	u32 loss_timeout;
	u32 keepalive_ms;
	bool early_release;
	bool copy;
	u32 inline_read;
	u32 inline_write;
	const u8 *secret;
};

/**
 * enum rnbd_auth - how far a login has got with its proofs
 * @RNBD_AUTH_NONE: nobody has asked for any
 * @RNBD_AUTH_CHALLENGED: the target has; the thread that connects is to answer
 * @RNBD_AUTH_ANSWERED: it has; the target's proof is to come
 * @RNBD_AUTH_PROVEN: it came and was right
 */
enum rnbd_auth {
	RNBD_AUTH_NONE,
	RNBD_AUTH_CHALLENGED,
	RNBD_AUTH_ANSWERED,
	RNBD_AUTH_PROVEN,
};

/**
 * struct rnbd_exports - exports that a target has told of
 * @chunks: struct rnbd_exports_chunk, none of them empty
 * @nr: exports that were told
 * @taken: of the first chunk, those that were taken away again
 * @incomplete: there was no memory for more of them; what else comes is ignored
 */
struct rnbd_exports {
	struct list_head chunks;
	u32 nr;
	u32 taken;
	bool incomplete;
};

/**
 * enum rnbd_req_state - where a request is
 * @RNBD_REQ_IDLE: not ours
 * @RNBD_REQ_SENT: in a frame, or in the open frame
 * @RNBD_REQ_WAIT_SENT: replied, but its pages may still be read by the device
 * @RNBD_REQ_FETCHING: its RDMA READ is posted
 */
enum rnbd_req_state {
	RNBD_REQ_IDLE,
	RNBD_REQ_SENT,
	RNBD_REQ_WAIT_SENT,
	RNBD_REQ_FETCHING,
};

/**
 * struct rnbd_req - driver data of a block request
 * @queue: queue that carries it
 * @state: enum rnbd_req_state
 * @status: what the block layer will be told
 * @frame_seq: number of the frame that carries the request
 * @cpu: who submitted it
 * @wrs: send-queue entries reserved for it
 * @replay: to be sent again over the next connection
 * @flush_ns: FLUSH: when it was sent
 * @wire: request as sent, with the pool space it holds
 * @read_cqe: completion of the RDMA READ that is signalled for its batch
 * @next: next in a list of finished, waiting or fetched requests
 * @batch: requests, this one last in line, that @read_cqe covers
 * @nr_sge: used members of @sge
 * @sge: its pages as mapped for the device
 *
 * Between queue_rq and completion written under the lock of @queue's ring,
 * but for @sge, written by queue_rq before anyone else knows the request.
 */
struct rnbd_req {
	struct rnbd_queue *queue;
	u8 state;
	bool replay;
	blk_status_t status;
	u64 flush_ns;
	u32 frame_seq;
	u32 cpu;
	u32 wrs;
	struct rnbd_request wire;
	struct ib_cqe read_cqe;
	struct rnbd_req *next;
	struct rnbd_req *batch;
	u32 nr_sge;
	struct ib_sge sge[];
};

/**
 * struct rnbd_bounce - a piece of bounce memory
 * @virt: for copies
 * @dma: for the device
 * @mapped: @dma is valid
 */
struct rnbd_bounce {
	void *virt;
	u64 dma;
	bool mapped;
};

/**
 * struct rnbd_stage - data work requests that wait to be posted together
 * @wrs: work requests
 * @sges: their gather or scatter entries, in order
 * @nr_wrs: used
 * @nr_sges: used
 * @end: remote address right behind the last work request's data
 * @bytes: data of the last work request
 */
struct rnbd_stage {
	struct ib_rdma_wr *wrs;
	struct ib_sge *sges;
	u32 nr_wrs;
	u32 nr_sges;
	u64 end;
	u32 bytes;
};

/**
 * struct rnbd_queue_stats - counters of a queue, under its ring's lock
 * @requests: requests put into frames
 * @rdma_writes: RDMA WRITEs posted
 * @rdma_reads: RDMA READs posted
 * @rdma_write_bytes: bytes moved by them
 * @rdma_read_bytes: bytes moved by them
 * @coalesced: requests whose data joined the operation of another request
 * @gathered: times that a frame was held back for more requests
 * @fences: SENDs and RDMA WRITEs that waited for an RDMA READ
 * @read_guards: RDMA READs of a last packet that vouched for the ones before,
 *	see rnbd_session.guard_over
 * @inline_reads: reads whose data came inside the reply
 * @inline_writes: writes whose data went inside the request
 * @credit_stalls: stops of the hardware queue for lack of credits or slots
 * @sq_stalls: stops for lack of send-queue entries
 * @pool_stalls: stops for lack of pool space
 * @starts: starts at the low watermark
 * @fragmented: requests that took more than one extent
 */
struct rnbd_queue_stats {
	u64 requests;
	u64 rdma_writes;
	u64 rdma_reads;
	u64 rdma_write_bytes;
	u64 rdma_read_bytes;
	u64 coalesced;
	u64 gathered;
	u64 fences;
	u64 read_guards;
	u64 inline_reads;
	u64 inline_writes;
	u64 credit_stalls;
	u64 sq_stalls;
	u64 pool_stalls;
	u64 starts;
	u64 fragmented;
};

/**
 * struct rnbd_queue - one hardware queue and its queue pair
 * @ring: control ring; ring.lock protects everything below @sess
 * @sess: session
 * @index: in the session
 * @cm_id: connection, NULL if there is none
 * @cm_done: an awaited event came
 * @cm_error: its result, negative errno
 * @cm_status: enum rnbd_status of a refusal by the target
 * @cm_reason: text for other refusals
 * @established: the target has accepted; until then only the connection manager
 *	says how it went, whatever else becomes of the queue pair meanwhile
 * @hctx: hardware queue that it serves
 * @pool: this queue's share of the pool
 * @bounce: local mirror of @pool, if data are copied
 * @nr_bounce: pieces of it
 * @reqs: request in flight by tag
 * @out: RDMA WRITEs of the open frame
 * @in: RDMA READs of the reply frame being handled
 * @data_cqe: completion of RDMA operations that are not signalled
 * @frame_wrs: data work requests covered by the SEND of a send slot
 * @open_wrs: data work requests staged or posted for the open frame
 * @open_bytes: data that they move
 * @open_reqs: requests in the open frame
 * @sq_free: send-queue entries for data work requests not reserved
 * @sq_size: how many there are
 * @in_flight: requests that have not been answered, or not yet fetched
 * @sent_seq: all frames before this number have left our memory
 * @waiting: requests in RNBD_REQ_WAIT_SENT
 * @fence: the RDMA READ that the next SEND or RDMA WRITE has to wait for
 * @stopped: the hardware queue is stopped for lack of something
 * @ready: the session is live, or about to be; requests may come in
 * @last_write_ns: when a write was acknowledged that a flush has to make durable
 * @stats: counters
 */
struct rnbd_queue {
	struct rnbd_ring ring;
	struct rnbd_session *sess;
	u32 index;

	struct rdma_cm_id *cm_id;
	bool cm_done;
	int cm_error;
	u16 cm_status;
	const char *cm_reason;
	bool established;

	struct blk_mq_hw_ctx *hctx;
	struct rnbd_pool pool;
	struct rnbd_bounce *bounce;
	u32 nr_bounce;
	struct rnbd_req **reqs;
	struct rnbd_stage out;
	struct rnbd_stage in;
	struct ib_cqe data_cqe;
	u32 *frame_wrs;
	u32 open_wrs;
	u32 open_bytes;
	u32 open_reqs;
	u32 sq_free;
	u32 sq_size;
	u32 in_flight;
	u32 sent_seq;
	struct rnbd_req *waiting;
	struct rnbd_req *fence;
	bool stopped;
	bool ready;
	u64 last_write_ns;
	struct rnbd_queue_stats stats;
};

/**
 * struct rnbd_change - a change of state that people will be told
 * @from: the state before
 * @to: the state
 * @epoch: number of the connection then
 * @attempt: tries to connect since the loss
 * @reason: constant text, why it left RNBD_LIVE the last time, or NULL
 * @when_ns: ktime_get_ns() when it became @to
 */
struct rnbd_change {
	enum rnbd_state from;
	enum rnbd_state to;
	u32 epoch;
	u32 attempt;
	const char *reason;
	u64 when_ns;
};

/* So many may be waiting; more come only if nothing can be told for seconds. */
#define RNBD_CHANGES		16

/* However often a target tells of another size, udev looks at it so often. */
#define RNBD_RESIZE_PAUSE	HZ

/* Bits of rnbd_session.flags */
#define RNBD_SESS_ATTACHED	0	/* the disk is in use, or may be */
#define RNBD_SESS_DETACH	1	/* somebody detaches; no new openers */
#define RNBD_SESS_QUIESCED	2	/* the disk's queues are quiesced */
#define RNBD_SESS_FAIL_IO	3	/* I/O fails while there is no connection */
#define RNBD_SESS_RESIZED	4	/* event_work has to tell of the disk's size */
#define RNBD_SESS_DEACTIVATED	5	/* no I/O any more; set under sess->lock, for good */
#define RNBD_SESS_REVOKED	6	/* others go on without this host; before FAIL_IO */

/**
 * struct rnbd_session - an attached disk
 * @ref: held by the list and by lookups
 * @list: on the module's list, under rnbd_sessions_lock
 * @named: on the list of those with a name, under rnbd_sessions_lock
 * @opt: what was asked for
 * @id: UUID of the session
 * @epoch: number of the connection, from 1
 * @lock: @state to @last_error
 * @state: enum rnbd_state, changed by rnbd_session_set_state() only
 * @state_ns: ktime_get_ns() when it changed
 * @broken: the connection, or the one that is being made, is of no use
 * @lossy: the last connection did not live long: packets may get lost
 * @broken_why: constant text, why
 * @reason: constant text, why it left RNBD_LIVE the last time
 * @live_at: jiffies
 * @lost_at: jiffies
 * @lost: connections that were lost
 * @reconnects: connections that were replaced
 * @changes: changes that have not been told yet, a ring
 * @nr_changes: all that ever were
 * @nr_told: those that were told, or forgotten
 * @last_error: why the last attempt failed
 * @flags: RNBD_SESS_*
 * @attempt: tries to connect since the loss; recover_work's
 * @next_try: jiffies of the next one
 * @restarts: times that another incarnation of the export answered
 * @replayed: requests that were sent again
 * @flushed_ns: when the latest flush that succeeded was sent
 * @wait: where rnbd_connect() waits
 * @recover_work: makes another connection, see recover.c
 * @fail_io_work: fast_io_fail
 * @keepalive_work: looks for signs of life
 * @resize_work: gives the disk the size @capacity, once in RNBD_RESIZE_PAUSE
 * @resized_at: jiffies when that was last done; resize_work
 * @event_work: tells people and listeners of @changes, and of another size
 * @recover_lock: whoever lets I/O flow or recovers
 * @conn_lock: keeps the connection's resources from being freed under a reader
 * @dev: RDMA device, while connected
 * @pd: protection domain, while connected
 * @max_sge: gather entries of one RDMA WRITE
 * @max_sge_rd: scatter entries of one RDMA READ
 * @max_segments: pieces of memory of one request, its pages or bounce memory
 * @guard_over: bytes of an RDMA READ beyond which its completion alone does not
 *	prove that the data is there; U32_MAX on sane devices
 * @read_limit: bytes of one RDMA READ, U32_MAX unless packets get lost
 * @grant: what the target granted; changes only when a connection is replaced,
 *	but for the capacity, under @recover_lock and read without
 * @offer: what it grants for the connection that is being made
 * @segments: the pool as registered by the target, while connected
 * @login: asked at login; what @offer is checked against
 * @login_status: enum rnbd_status of the login reply, RNBD_LOGIN_OPEN or
 *	RNBD_LOGIN_NONE
 * @exports: where the exports go that the target tells of, if it is asked for
 *	that, and NULL if the session is to have a disk
 * @key: knows the secret of this host, or NULL if it has none for this target;
 *	constant
 * @auth: how far the login has got
 * @req: connection request of the first queue
 * @text: what is proven; thread that connects, but for the target's nonce
 * @mac: what the target's proof has to be
 * @capacity: bytes of the export as the target has told over this connection
 *	last; read and written without a lock
 * @violations: rules that the target has broken
 * @nr_queues: members of @queues in use
 * @nr_poll: so many of them, the last ones, are polled
 * @queues: queues
 * @early_release: give pool space of a read out again as soon as its RDMA READ
 *	is posted, behind a fence
 * @tag_set: blk-mq tags
 * @disk: the disk, NULL until there is one
 * @disk_ns: ktime_get_ns() when it was made
 * @parent: its parent device, NULL until it is added
 * @index: number of the disk
 */
struct rnbd_session {
	struct kref ref;
	struct list_head list;
	struct list_head named;
	struct rnbd_options opt;
	u8 id[UUID_SIZE];
	u32 epoch;

	spinlock_t lock;	/* state to last_error */
	enum rnbd_state state;
	u64 state_ns;
	bool broken;
	bool lossy;
	const char *broken_why;
	const char *reason;
	unsigned long live_at;
	unsigned long lost_at;
	u64 lost;
	u64 reconnects;
	struct rnbd_change changes[RNBD_CHANGES];
	u32 nr_changes;
	u32 nr_told;
	char last_error[RNBD_WHY_SIZE];
	unsigned long flags;

	u32 attempt;
	unsigned long next_try;
	u64 restarts;
	u64 replayed;
	u64 flushed_ns;
	wait_queue_head_t wait;
	struct delayed_work recover_work;
	struct delayed_work fail_io_work;
	struct delayed_work keepalive_work;
	struct delayed_work resize_work;
	unsigned long resized_at;
	struct work_struct event_work;

	struct mutex recover_lock;	/* letting I/O flow */
	struct mutex conn_lock;		/* readers of the connection */
	struct ib_device *dev;
	struct ib_pd *pd;
	u32 max_sge;
	u32 max_sge_rd;
	u32 max_segments;
	u32 guard_over;
	u32 read_limit;
	struct rnbd_grant grant;
	struct rnbd_grant offer;
	struct rnbd_segment_info *segments;
	struct rnbd_login_info login;
	u16 login_status;
	struct rnbd_exports *exports;
	struct crypto_shash *key;
	enum rnbd_auth auth;
	struct rnbd_conn_req req;
	struct rnbd_auth_text text;
	u8 mac[RNBD_MAC_SIZE];
	u64 capacity;
	atomic64_t violations;

	u32 nr_queues;
	u32 nr_poll;
	struct rnbd_queue *queues[RNBD_QUEUES_MAX];
	bool early_release;

	struct blk_mq_tag_set tag_set;
	struct gendisk *disk;
	u64 disk_ns;
	struct device *parent;
	int index;
};

/* main.c */
extern u8 rnbd_boot_id[UUID_SIZE];
extern struct list_head rnbd_sessions;
extern struct list_head rnbd_sessions_named;
extern struct mutex rnbd_sessions_lock;
extern struct workqueue_struct *rnbd_wq;
extern struct workqueue_struct *rnbd_timer_wq;
extern struct workqueue_struct *rnbd_event_wq;

/* session.c */
const char *rnbd_state_text(enum rnbd_state state);
const char *rnbd_session_name(const struct rnbd_session *sess);
struct rnbd_session *rnbd_session_alloc(const struct rnbd_options *opt,
					struct rnbd_why *why);
struct rnbd_session *rnbd_session_attach(const struct rnbd_options *opt,
					 struct rnbd_why *why);
int rnbd_session_detach(struct rnbd_session *sess, bool force,
			struct rnbd_why *why);
struct rnbd_session *rnbd_session_find(const char *disk);
void rnbd_session_put(struct rnbd_session *sess);
bool rnbd_session_advance(struct rnbd_session *sess, enum rnbd_state state);
bool rnbd_session_ends(const struct rnbd_session *sess);
void rnbd_session_tell_more(struct rnbd_session *sess);
void rnbd_session_set_error(struct rnbd_session *sess, const char *text);
void rnbd_session_last_error(struct rnbd_session *sess, char *text);
void rnbd_session_fail(struct rnbd_session *sess, const char *reason);
void rnbd_sessions_detach_all(void);

/* recover.c */
void rnbd_recover_init(struct rnbd_session *sess);
void rnbd_recover_abort(struct rnbd_session *sess);
void rnbd_recover_end(struct rnbd_session *sess);
void rnbd_recover_deactivate(struct rnbd_session *sess);
int rnbd_check_offer(struct rnbd_session *sess, struct rnbd_why *why);
int rnbd_recover_start(struct rnbd_session *sess, struct rnbd_why *why);

/* connect.c */
int rnbd_connect(struct rnbd_session *sess, struct rnbd_why *why);
int rnbd_connect_first(struct rnbd_session *sess, struct rnbd_why *why);
int rnbd_login_ask(struct rnbd_session *sess, struct rnbd_why *why);
void rnbd_keepalive(struct rnbd_session *sess, u32 nr, u32 interval_ms);
void rnbd_disconnect(struct rnbd_session *sess);
void rnbd_release_connection(struct rnbd_session *sess);
void rnbd_login_reply(struct rnbd_queue *q, const struct rnbd_frame *frame,
		      enum rnbd_fault *fault);
enum rnbd_fault rnbd_take_resize(struct rnbd_queue *q, const struct rnbd_frame *frame);

/* auth.c */
void rnbd_auth_login(struct rnbd_session *sess);
enum rnbd_fault rnbd_auth_challenge(struct rnbd_queue *q, const struct rnbd_frame *frame);
int rnbd_auth_answer(struct rnbd_session *sess, u8 *mac);
enum rnbd_fault rnbd_auth_proof(struct rnbd_queue *q, const struct rnbd_frame *frame);
bool rnbd_auth_may_take(struct rnbd_queue *q, u16 status, enum rnbd_fault *fault);
int rnbd_auth_token(struct rnbd_session *sess, struct rnbd_conn_req *req);

/* discover.c */
void rnbd_exports_init(struct rnbd_exports *exports);
void rnbd_exports_free(struct rnbd_exports *exports);
const struct rnbd_export_info *rnbd_exports_first(struct rnbd_exports *exports);
void rnbd_exports_take(struct rnbd_exports *exports);
void rnbd_discover_reply(struct rnbd_queue *q, const struct rnbd_frame *frame,
			 enum rnbd_fault *fault);
int rnbd_discover(const struct rnbd_options *opt, struct rnbd_exports *exports,
		  struct rnbd_why *why);

/* queue.c */
extern const struct rnbd_ring_ops rnbd_queue_ring_ops;
int rnbd_queue_alloc(struct rnbd_queue *q);
void rnbd_queue_free(struct rnbd_queue *q);
blk_status_t rnbd_req_map(struct rnbd_queue *q, struct request *rq);
void rnbd_req_unmap(struct rnbd_req *req);
blk_status_t rnbd_queue_submit(struct rnbd_queue *q, struct request *rq, bool last);
void rnbd_queue_commit(struct rnbd_queue *q);
void rnbd_queue_kill(struct rnbd_queue *q);
void rnbd_queue_wake(struct rnbd_queue *q, int error);
void rnbd_queue_ready(struct rnbd_queue *q, bool ready);
blk_status_t rnbd_queue_down_status(const struct rnbd_queue *q);
void rnbd_queue_abandon(struct rnbd_queue *q, struct rnbd_req *req);

/* disk.c */
int rnbd_disk_create(struct rnbd_session *sess, struct rnbd_why *why);
int rnbd_disk_add(struct rnbd_session *sess, struct rnbd_why *why);
void rnbd_disk_remove(struct rnbd_session *sess);
void rnbd_disk_resized(struct rnbd_session *sess);
void rnbd_disk_free(struct rnbd_session *sess);
void rnbd_disk_complete(struct request *rq, struct io_comp_batch *iob);
void rnbd_disk_cancel_requests(struct rnbd_session *sess, bool replay);

/* parent.c */
int rnbd_parent_add(struct rnbd_session *sess);
void rnbd_parent_remove(struct rnbd_session *sess);
void rnbd_parent_event(struct rnbd_session *sess, enum rnbd_state state);
int rnbd_parent_init(void);
void rnbd_parent_exit(void);

/* bounce.c */
u32 rnbd_bounce_segments(u32 max_io);
int rnbd_bounce_alloc(struct rnbd_queue *q);
void rnbd_bounce_unmap(struct rnbd_queue *q);
void rnbd_bounce_free(struct rnbd_queue *q);
void rnbd_bounce_map(const struct rnbd_queue *q, struct rnbd_req *req);
void rnbd_bounce_copy(const struct rnbd_queue *q, struct rnbd_req *req);

/* inject.c */
extern struct rnbd_inject rnbd_inject_kill_queue;
extern struct rnbd_inject rnbd_inject_fail_post;
extern struct rnbd_inject rnbd_inject_fixed_session;
extern struct rnbd_inject rnbd_inject_set_epoch;
extern struct rnbd_inject rnbd_inject_scribble;
void rnbd_client_inject_init(void);
void rnbd_client_inject_exit(void);

/* netlink.c */
int rnbd_netlink_init(void);
void rnbd_netlink_exit(void);
void rnbd_netlink_stop(void);
void rnbd_netlink_event(struct rnbd_session *sess, const struct rnbd_change *change);
void rnbd_netlink_event_lost(void);

/* sysfs.c */
extern const struct attribute_group *rnbd_disk_groups[];
void rnbd_violated(struct rnbd_session *sess, enum rnbd_fault fault);
int rnbd_sysfs_init(void);
void rnbd_sysfs_exit(void);

#endif /* RNBD_CLIENT_H */
