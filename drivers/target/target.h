/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target: what its files share.
 *
 * The objects, from the configuration inwards: a host may use exports, a port
 * offers exports, an export has a backend; a session is one attachment of a
 * host to an export through a port; a session has queues, a queue has requests.
 *
 * Locks, outermost first:
 *
 *	rnbd_texport.lock, rnbd_tport.lock	one writer of an object at a time
 *	rnbdt_lock				the configuration graph, the list
 *						of sessions, the pool accounts
 *	rnbd_ring.lock				of one queue
 *	rnbd_tsession.state_lock		state of one session
 *
 * Nothing that a teardown waits for, and no connection manager call that
 * waits for a handler, happens under rnbdt_lock: handlers take it.
 */
#ifndef RNBD_TARGET_H
#define RNBD_TARGET_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/configfs.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/codec.h"
#include "../core/inject.h"
#include "../core/ring.h"

/* Time for the client to hang up that was told why, or all that it asked for. */
#define RNBDT_LEAVE_TIMEOUT	(10 * HZ)
/* Time for the client to read why it was refused and to hang up itself. */
#define RNBDT_REFUSED_GRACE	(HZ / 2)
/* Time for the client to take a list of exports; ours waits for less. */
#define RNBDT_LISTING_TIMEOUT	(50 * HZ)
/* Sessions of a host that are told a list of exports at the same time. */
#define RNBDT_HOST_LISTS_MAX	8
/* Ended sessions of a host whose newest epoch is remembered. */
#define RNBDT_HOST_EPOCHS	64
/* Until a port whose device went away looks for it again. */
#define RNBDT_PORT_RETRY	(HZ / 2)
/* From telling a client of a size to telling it of the next one. */
#define RNBDT_RESIZE_PAUSE	HZ
/* Bytes of the receive slots of one queue; twice that is allocated. */
#define RNBDT_RING_BYTES_MAX	(4u << 20)
/* Send-queue entries for registrations, and how many are posted together. */
#define RNBDT_REG_BATCH		16
#define RNBDT_MAX_IO_MAX	(4u << 20)
/* Zeroes that are written out because the backend cannot do it alone. */
#define RNBDT_ZERO_OUT_MAX	(16u << 20)
#define RNBDT_INLINE_BVECS	4

/**
 * enum rnbd_tstate - state of a session; see rnbdt_session_set_state()
 * @RNBDT_CONNECTING: queue 0 is on its way; the login has not come
 * @RNBDT_PROVING: the client is to prove that it knows the host's secret
 * @RNBDT_LOGIN: the login is being worked on
 * @RNBDT_REFUSED: the refusal is on its way
 * @RNBDT_LISTING: the client is being told what it may attach
 * @RNBDT_LIVE: requests are executed
 * @RNBDT_CLOSING: being torn down
 * @RNBDT_DEAD: nothing is left but the memory of the structure
 *
 * A session only goes forward through them.
 */
enum rnbd_tstate {
	RNBDT_CONNECTING,
	RNBDT_PROVING,
	RNBDT_LOGIN,
	RNBDT_REFUSED,
	RNBDT_LISTING,
	RNBDT_LIVE,
	RNBDT_CLOSING,
	RNBDT_DEAD,
};

/**
 * struct rnbd_tchange - a change of state that listeners are to hear of
 * @from: enum rnbd_tstate
 * @to: enum rnbd_tstate
 * @why: constant text, or NULL
 */
struct rnbd_tchange {
	u8 from;
	u8 to;
	const char *why;
};

/**
 * struct rnbd_tstats - what was done for a client
 * @requests: requests that were answered
 * @read_bytes: read with success
 * @write_bytes: written with success
 */
struct rnbd_tstats {
	u64 requests;
	u64 read_bytes;
	u64 write_bytes;
};

/**
 * enum rnbd_twrite_cache - what an acknowledged write means
 * @RNBDT_WRITE_THROUGH: it is durable
 * @RNBDT_WRITE_BACK: it is durable after a flush, if the storage needs one
 */
enum rnbd_twrite_cache {
	RNBDT_WRITE_THROUGH,
	RNBDT_WRITE_BACK,
};

/**
 * struct rnbd_tepoch - the newest epoch of a session that has ended
 * @session_id: which
 * @epoch: 0: unused
 */
struct rnbd_tepoch {
	uuid_t session_id;
	u32 epoch;
};

struct rnbd_tbackend;
struct rnbd_tqueue;
struct rnbd_treq;
struct rnbd_tsecret;
struct rnbd_tsession;

/**
 * enum rnbd_tcache - where writes may rest
 * @RNBDT_CACHE_NONE: direct I/O
 * @RNBDT_CACHE_PAGECACHE: buffered
 */
enum rnbd_tcache {
	RNBDT_CACHE_NONE,
	RNBDT_CACHE_PAGECACHE,
};

/**
 * struct rnbd_tfence - what has to be known of the fences of a host
 * @generation: rises when it is fenced; never 0
 * @done: the last one with which a fence began that was complete, as far as was looked:
 *	rnbdt_fence_done(); 0 if none was
 * @fenced: it is not let in
 * @restored: it is what was put back, and nobody was let in since
 * @boot_id: of its client module when it was let in last, or null
 */
struct rnbd_tfence {
	u32 generation;
	u32 done;
	bool fenced;
	bool restored;
	uuid_t boot_id;
};

/**
 * struct rnbd_thost - a client machine that may be given access
 * @group: configfs hosts/<uuid>
 * @entry: in rnbdt_hosts, rnbdt_lock
 * @uuid: identity; constant
 * @max_pool_bytes: limit of all its pools together, 0: as the parameter says;
 *	rnbdt_lock
 * @max_session_pool_bytes: limit of each of them, 0: as the parameter says;
 *	rnbdt_lock
 * @max_sessions: 0: as the parameter says; rnbdt_lock
 * @pool_bytes: what its sessions have now; rnbdt_lock
 * @secret: what its logins have to prove that they know, or NULL; rnbdt_lock
 * @failed_proofs: logins that could not
 * @queue_bytes: memory of their rings and requests; rnbdt_lock
 * @nr_sessions: how many have logged in; rnbdt_lock
 * @logins_until: when its bucket of logins is full again, monotonic ns; rnbdt_lock
 * @logins_tell: until then the log need not say that it is empty; rnbdt_lock
 * @epochs: of its latest sessions; rnbdt_lock
 * @next_epoch: where in @epochs the next one goes; rnbdt_lock
 * @fence: whether it is let in, see fence.c; rnbdt_lock
 * @unfence_on_restart: once it is fenced, if it comes with another boot id; rnbdt_lock
 *
 * Lives until rmdir, which waits for its sessions.
 */
struct rnbd_thost {
	struct config_group group;
	struct list_head entry;
	uuid_t uuid;
	u64 max_pool_bytes;
	u64 max_session_pool_bytes;
	u64 max_sessions;
	u64 pool_bytes;
	struct rnbd_tsecret *secret;
	atomic64_t failed_proofs;
	u64 queue_bytes;
	u32 nr_sessions;
	u64 logins_until;
	u64 logins_tell;
	struct rnbd_tepoch epochs[RNBDT_HOST_EPOCHS];
	u32 next_epoch;
	struct rnbd_tfence fence;
	bool unfence_on_restart;
};

#define RNBDT_INCARNATION_SIZE	16

/**
 * struct rnbd_texport - something that clients may attach
 * @group: configfs exports/<name>
 * @hosts_group: configfs exports/<name>/allowed_hosts
 * @lock: one writer of the attributes; held while it is enabled or disabled
 * @path: block device or file; @lock
 * @readonly: no client may write; @lock, constant while enabled
 * @cache: @lock, constant while enabled
 * @write_cache: @lock, constant while enabled
 * @uuid: identity of the data; @lock, constant while enabled
 * @incarnation: another one tells clients that what they wrote and did not
 *	flush may be gone; @lock, constant while enabled
 * @enabled: sessions may begin; rnbdt_lock, written under @lock as well
 * @backend: not NULL while enabled and until the last session has gone;
 *	rnbdt_lock, written under @lock as well
 * @entry: in the list of exports that have a backend; rnbdt_lock
 * @hosts: struct rnbd_tallow; rnbdt_lock
 * @stale_requests: requests of ended sessions or old epochs that were dropped
 *	before they reached the storage
 * @stale_frames: frames of closing sessions that were dropped unread
 */
struct rnbd_texport {
	struct config_group group;
	struct config_group hosts_group;
	struct mutex lock;	/* one writer */
	char *path;
	bool readonly;
	enum rnbd_tcache cache;
	enum rnbd_twrite_cache write_cache;
	uuid_t uuid;
	u8 incarnation[RNBDT_INCARNATION_SIZE];
	bool enabled;
	struct rnbd_tbackend *backend;
	struct list_head entry;
	struct list_head hosts;
	atomic64_t stale_requests;
	atomic64_t stale_frames;
};

/** struct rnbd_tallow - a link in allowed_hosts; rnbdt_lock */
struct rnbd_tallow {
	struct list_head entry;
	struct rnbd_thost *host;
};

/**
 * struct rnbd_toffer - a link in a port's exports; rnbdt_lock
 * @entry: in rnbd_tport.exports, which is in the order of @serial
 * @serial: no other link ever has the same
 * @export: what is offered
 */
struct rnbd_toffer {
	struct list_head entry;
	u64 serial;
	struct rnbd_texport *export;
};

/**
 * enum rnbd_tport_state - of a port
 * @RNBDT_PORT_DISABLED: not listening
 * @RNBDT_PORT_LISTENING: connection requests are looked at
 * @RNBDT_PORT_NO_DEVICE: enabled, but the RDMA device went away; it listens
 *	again by itself when the device is back
 */
enum rnbd_tport_state {
	RNBDT_PORT_DISABLED,
	RNBDT_PORT_LISTENING,
	RNBDT_PORT_NO_DEVICE,
};

/**
 * struct rnbd_tport - an address that listens
 * @group: configfs ports/<id>
 * @exports_group: configfs ports/<id>/exports
 * @lock: one writer of the attributes; held while it is enabled or disabled
 * @addr: as it was written; @lock
 * @port: service port; @lock
 * @state: rnbdt_lock; @RNBDT_PORT_LISTENING is set and cleared under @lock
 *	too, but for the loss of the device
 * @cm_id: listener; rnbdt_lock, and whoever takes it out ends it
 * @exports: struct rnbd_toffer; rnbdt_lock
 * @retry_work: listens again when the device has come back
 */
struct rnbd_tport {
	struct config_group group;
	struct config_group exports_group;
	struct mutex lock;	/* one writer */
	char addr[64];
	u16 port;
	enum rnbd_tport_state state;
	struct rdma_cm_id *cm_id;
	struct list_head exports;
	struct delayed_work retry_work;
};

/**
 * struct rnbd_tbackend_ops - what a kind of backend can do
 * @submit: Execute a request and call rnbdt_treq_done() in the end, whatever
 *	happens. Called from a work item that waits as long as the storage makes
 *	it wait, or from a completion handler if @atomic. Has to ask
 *	rnbdt_may_submit() directly before anything is handed to the storage.
 * @atomic: @submit does not sleep
 * @close: No request is in flight. Closes what was opened.
 */
struct rnbd_tbackend_ops {
	bool atomic;
	void (*submit)(struct rnbd_treq *treq);
	void (*close)(struct rnbd_tbackend *be);
};

/**
 * struct rnbd_tbackend - an opened block device or file
 * @ops: kind
 * @file: what was opened
 * @bdev: block device, or NULL if it is a regular file
 * @readonly: opened for reading only
 * @direct: no page cache in between
 * @through: acknowledged writes are durable, whatever that takes
 * @lost: the page cache could not write back what was acknowledged; it says so
 *	once and forgets it, so this remembers
 * @submit_wq: for the submission of requests, a work item per queue
 * @io_wq: for requests that need a work item of their own
 * @capacity: bytes that clients may use; rnbdt_lock, read without
 * @flags: RNBD_EXPORT_*
 * @logical_block: as in struct rnbd_login_reply
 * @physical_block: as in struct rnbd_login_reply
 * @io_min: as in struct rnbd_login_reply
 * @io_opt: as in struct rnbd_login_reply
 * @discard_granularity: as in struct rnbd_login_reply
 * @discard_alignment: as in struct rnbd_login_reply
 * @max_discard: as in struct rnbd_login_reply
 * @max_write_zeroes: as in struct rnbd_login_reply
 *
 * Constant from open to close, but for @capacity and @lost. Owned by the export.
 */
struct rnbd_tbackend {
	const struct rnbd_tbackend_ops *ops;
	struct file *file;
	struct block_device *bdev;
	bool readonly;
	bool direct;
	bool through;
	bool lost;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *io_wq;
	u64 capacity;
	u32 flags;
	u32 logical_block;
	u32 physical_block;
	u32 io_min;
	u32 io_opt;
	u32 discard_granularity;
	u32 discard_alignment;
	u32 max_discard;
	u32 max_write_zeroes;
};

/**
 * struct rnbd_tsegment - a registered piece of the pool
 * @mr: memory region
 * @sgt: its pages, mapped if @mapped
 * @units: size
 * @mapped: @sgt is mapped for the device
 */
struct rnbd_tsegment {
	struct ib_mr *mr;
	struct sg_table sgt;
	u32 units;
	bool mapped;
};

/**
 * struct rnbd_tpool - delegated memory of a session
 * @dev: device that it is registered with
 * @units: size
 * @segment_units: size of every segment but the last
 * @nr_segments: number of @segments
 * @segments: pieces
 * @pages: a page per unit
 * @ahead: per unit, how many units from it on lie side by side in memory
 *
 * Written by the login work, constant while the session is live, freed by
 * the teardown when nothing uses it.
 */
struct rnbd_tpool {
	struct ib_device *dev;
	u32 units;
	u32 segment_units;
	u32 nr_segments;
	struct rnbd_tsegment *segments;
	struct page **pages;
	u16 *ahead;
};

/**
 * struct rnbd_treq - a request of a client, found by its tag
 * @queue: owner; constant
 * @entry: in rnbd_tqueue.done, ring->lock
 * @busy: the client waits for the reply; set by the frame handler, cleared
 *	(release) when the reply goes into a frame, because the client may use
 *	the tag again as soon as that frame is posted
 * @stale: dropped by rnbdt_may_submit(), in a session that closes: there is no
 *	reply, so the client sends it again over its next connection
 * @status: result, enum rnbd_status
 * @error: first errno of the parts
 * @todo: in rnbd_tqueue.todo
 * @parts: bios or asynchronous I/O on their way, and one while the submitter
 *	is at it
 * @req: what is asked
 * @work: for backends that need process context
 * @iocb: file backend
 * @bvec: file backend: pieces of the pool, @inline_bvec or from a mempool
 * @nr_bvec: used members of @bvec
 * @moved: file backend: bytes that are done
 * @result: file backend: what @iocb came back with
 * @inline_bvec: for small requests
 *
 * From @busy being set to rnbdt_treq_done() owned by the backend.
 */
struct rnbd_treq {
	struct rnbd_tqueue *queue;
	struct list_head entry;
	struct llist_node todo;
	bool busy;
	bool stale;
	u16 status;
	int error;
	atomic_t parts;
	struct rnbd_request req;
	struct work_struct work;
	struct kiocb iocb;
	struct bio_vec *bvec;
	u32 nr_bvec;
	u32 moved;
	long result;
	struct bio_vec inline_bvec[RNBDT_INLINE_BVECS];
};

/**
 * struct rnbd_tqueue - a connection
 * @ring: control ring; its lock protects @done, @nr_done and @stats
 * @session: owner
 * @cm_id: connection; its handler finds the queue as the context
 * @index: in the session
 * @treqs: by tag, as many as the granted depth; NULL before the login
 * @todo: requests to be submitted, last one first
 * @submit_work: submits them
 * @submitter: the task that does so just now
 * @done: requests whose reply has not been put into a frame
 * @nr_done: length of @done
 * @done_inline: bytes of @done that could travel inside a frame
 * @resize: queue 0: size that the client is to be told, 0: none; ring->lock,
 *	read without
 * @stats: counters
 * @replies_per_frame: how many fit
 * @inflight: requests in the backend, and one until the ring is drained
 * @idle: @inflight came down to zero
 *
 * Made by the handler of a connection request, freed by the teardown after
 * the cm_id, so that no handler can meet a freed one.
 */
struct rnbd_tqueue {
	struct rnbd_ring ring;
	struct rnbd_tsession *session;
	struct rdma_cm_id *cm_id;
	u16 index;
	struct rnbd_treq *treqs;
	struct llist_head todo;
	struct work_struct submit_work;
	struct task_struct *submitter;
	struct list_head done;
	u32 nr_done;
	u32 done_inline;
	u64 resize;
	struct rnbd_tstats stats;
	u32 replies_per_frame;
	atomic_t inflight;
	struct completion idle;
};

/**
 * struct rnbd_tsession - one attachment of a host
 * @ref: of the memory; the list holds one, @kobj another
 * @kobj: its directory in sysfs
 * @sysfs_work: adds @kobj; holds a reference
 * @in_sysfs: @kobj was added
 * @entry: in rnbdt_sessions until it is dead; rnbdt_lock
 * @serial: for messages; ascending in the list
 * @host_id: host; constant
 * @session_id: attachment; constant
 * @epoch: of the attachment; constant
 * @newest_epoch: highest epoch that this attachment was seen with; rnbdt_lock,
 *	read without
 * @host: constant; lives as long as the session is in the list
 * @secret: what @host had when the connection was asked for, or NULL; constant
 * @proven: what it says of itself counts: there is no @secret, or it was proven to
 *	be known; rnbdt_lock
 * @req: connection request of queue 0; constant
 * @text: what is proven; constant once live
 * @mac: proof of the client, and then ours; handler of queue 0, and then login work
 * @port: constant; lives as long as the session is in the list
 * @port_name: copy of its name; constant
 * @peer: address of the client; constant
 * @export: set once at login under rnbdt_lock; lives as long as the session
 *	is in the list
 * @backend: of @export, set with it
 * @state_lock: @state to @nr_told; interrupts disabled
 * @state: enum rnbd_tstate
 * @why: constant text, why it was refused or closed
 * @has_login: @login has been read, and does not change any more
 * @closing_since: jiffies of when that began; read without a lock
 * @closing_since: jiffies of when it began to close; read without a lock
 * @live_at: seconds of the boot clock when it became live, 0: never
 * @changes: those that listeners are to hear of; as many as there can be
 * @nr_changes: used members of @changes
 * @nr_told: how many of them were told
 * @event_work: tells them, on rnbdt_login_wq; holds a reference
 * @dev: RDMA device of all queues
 * @pd: protection domain
 * @queues: by index; rnbdt_lock. Once closing and @connecting is 0 only the
 *	teardown changes it
 * @ended: counters of queues that have gone; rnbdt_lock
 * @connecting: handlers that are making a queue; rnbdt_lock
 * @wait: @connecting changed
 * @login: what the client asked for; written by the frame handler before the
 *	login work is queued
 * @login_work: negotiation, or the sending of a list, on rnbdt_login_wq
 * @timeout_work: ends a session that does not become live
 * @listed: rnbd_toffer.serial of the last export that the client was told of;
 *	login work
 * @nr_listed: how many it was told of; login work
 * @list_status: enum rnbd_status, why it is told of none; rnbdt_lock
 * @all_listed: there are no others; login work
 * @keepalive_work: looks for signs of life, on rnbdt_timer_wq
 * @resize_work: tells the client of another size, on rnbdt_timer_wq
 * @teardown_work: on rnbdt_teardown_wq, or on rnbdt_hangup_wq if it was never live;
 *	queued once
 * @linger_work: the end of the teardown, on rnbdt_linger_wq, if it was never live
 * @gone: torn down and out of the list
 * @nr_queues: granted; set before live
 * @depth: granted; set before live
 * @max_io: granted; set before live
 * @readonly: refuse what writes; set before live
 * @fence_generation: of its host when it was let in; set with @export
 * @drained: no I/O of it is under way, and none can come
 * @limits: for the decoder; set before live, but for the capacity: rnbdt_lock
 * @told: size that the client knows, 0: it has not got its login reply yet;
 *	rnbdt_lock
 * @told_at: jiffies of the latest frame that told of a size; rnbdt_lock
 * @pool: delegated memory
 * @pool_bytes: what was taken from the accounts; rnbdt_lock
 * @copied: pages that the backend holds copies of
 * @queue_bytes: the same, for rings and requests; rnbdt_lock
 * @counted: it is one of the host's sessions; rnbdt_lock
 * @half_open: in the list of those that have not logged in, or of those that never
 *	were live and of which only connection ids are left; rnbdt_lock
 * @half_open_since: jiffies of the connection request; constant
 * @half_open_cost: what it counts there; constant
 * @reg_cqe: registration completions
 * @reg_done: a batch of registrations has ended
 * @reg_status: how
 */
struct rnbd_tsession {
	struct kref ref;
	struct kobject kobj;
	struct work_struct sysfs_work;
	bool in_sysfs;
	struct list_head entry;
	u32 serial;
	uuid_t host_id;
	uuid_t session_id;
	u32 epoch;
	u32 newest_epoch;
	struct rnbd_thost *host;
	struct rnbd_tsecret *secret;
	bool proven;
	struct rnbd_conn_req req;
	struct rnbd_auth_text text;
	u8 mac[RNBD_MAC_SIZE];
	struct rnbd_tport *port;
	char *port_name;
	struct sockaddr_storage peer;
	struct rnbd_texport *export;
	struct rnbd_tbackend *backend;

	spinlock_t state_lock;	/* state to nr_told */
	enum rnbd_tstate state;
	const char *why;
	bool has_login;
	time64_t live_at;
	unsigned long closing_since;
	struct rnbd_tchange changes[RNBDT_DEAD];
	u8 nr_changes;
	u8 nr_told;
	struct work_struct event_work;

	struct ib_device *dev;
	struct ib_pd *pd;
	struct rnbd_tqueue *queues[RNBD_QUEUES_MAX];
	struct rnbd_tstats ended;
	u32 connecting;
	wait_queue_head_t wait;

	struct rnbd_login_info login;
	struct work_struct login_work;
	u64 listed;
	u32 nr_listed;
	u16 list_status;
	bool all_listed;
	struct delayed_work timeout_work;
	struct delayed_work keepalive_work;
	struct delayed_work resize_work;
	struct work_struct teardown_work;
	struct work_struct linger_work;
	struct completion gone;

	u16 nr_queues;
	u16 depth;
	u32 max_io;
	bool readonly;
	u32 fence_generation;
	struct completion drained;
	struct rnbd_limits limits;
	u64 told;
	unsigned long told_at;
	struct rnbd_tpool pool;
	u64 pool_bytes;
	atomic_t copied;
	u64 queue_bytes;
	bool counted;
	struct list_head half_open;
	unsigned long half_open_since;
	u32 half_open_cost;

	struct ib_cqe reg_cqe;
	struct completion reg_done;
	enum ib_wc_status reg_status;
};

/* main.c */
extern struct mutex rnbdt_lock;
extern struct workqueue_struct *rnbdt_login_wq;
extern struct workqueue_struct *rnbdt_timer_wq;
extern struct workqueue_struct *rnbdt_teardown_wq;
extern struct workqueue_struct *rnbdt_hangup_wq;
extern struct workqueue_struct *rnbdt_linger_wq;
u32 rnbdt_reply_gather(void);
bool rnbdt_reply_batch(void);
u32 rnbdt_max_io(void);

/* configfs.c */
int rnbdt_configfs_init(void);
void rnbdt_configfs_exit(void);
struct rnbd_thost *rnbdt_host_find(const uuid_t *uuid);
bool rnbdt_host_allowed(const struct rnbd_texport *export,
			const struct rnbd_thost *host);
bool rnbdt_port_knows_host(const struct rnbd_tport *port,
			   const struct rnbd_thost *host);
struct rnbd_texport *rnbdt_port_find_export(const struct rnbd_tport *port,
					    const struct rnbd_thost *host,
					    const char *name);

static inline const char *rnbdt_export_name(struct rnbd_texport *export)
{
	return config_item_name(&export->group.cg_item);
}

static inline const char *rnbdt_port_name(struct rnbd_tport *port)
{
	return config_item_name(&port->group.cg_item);
}

/* port.c */
int rnbdt_port_enable(struct rnbd_tport *port);
void rnbdt_port_disable(struct rnbd_tport *port);
void rnbdt_port_init(struct rnbd_tport *port);
void rnbdt_port_exit(struct rnbd_tport *port);

/**
 * enum rnbd_tlimit - what can be reached
 * @RNBDT_LIMIT_HALF_OPEN: connections that have not logged in
 * @RNBDT_LIMIT_HALF_OPEN_ADDRESS: of these, from one address
 * @RNBDT_LIMIT_HALF_OPEN_ENDED: of these, ended in favour of another
 * @RNBDT_LIMIT_LOGIN_TIME: of these, ended because they took too long
 * @RNBDT_LIMIT_LOGINS: how often a host logs in
 * @RNBDT_LIMIT_SESSIONS: sessions of all hosts
 * @RNBDT_LIMIT_HOST_SESSIONS: sessions of a host
 * @RNBDT_LIMIT_HOST_LISTS: lists of exports that a host is told at a time
 * @RNBDT_LIMIT_SESSION_QUEUES: queues of a session
 * @RNBDT_LIMIT_SESSION_POOL: pool of a session
 * @RNBDT_LIMIT_HOST_POOL: pools of a host
 * @RNBDT_LIMIT_POOL: all pools
 * @RNBDT_LIMIT_HOST_QUEUES: memory of the queues of a host
 * @RNBDT_LIMIT_QUEUES: memory of all queues
 * @RNBDT_LIMITS: how many there are
 */
enum rnbd_tlimit {
	RNBDT_LIMIT_HALF_OPEN,
	RNBDT_LIMIT_HALF_OPEN_ADDRESS,
	RNBDT_LIMIT_HALF_OPEN_ENDED,
	RNBDT_LIMIT_LOGIN_TIME,
	RNBDT_LIMIT_LOGINS,
	RNBDT_LIMIT_SESSIONS,
	RNBDT_LIMIT_HOST_SESSIONS,
	RNBDT_LIMIT_HOST_LISTS,
	RNBDT_LIMIT_SESSION_QUEUES,
	RNBDT_LIMIT_SESSION_POOL,
	RNBDT_LIMIT_HOST_POOL,
	RNBDT_LIMIT_POOL,
	RNBDT_LIMIT_HOST_QUEUES,
	RNBDT_LIMIT_QUEUES,
	RNBDT_LIMITS,
};

/* Faults and statuses that are counted are below it. */
#define RNBDT_KINDS_MAX		64

/**
 * enum rnbd_tcounter - directories of counters in sysfs
 * @RNBDT_COUNT_LIMITS: by enum rnbd_tlimit: refused something or made it smaller
 * @RNBDT_COUNT_VIOLATIONS: by enum rnbd_fault: a client has broken that rule
 * @RNBDT_COUNT_REFUSED: by enum rnbd_status: connections and logins
 * @RNBDT_COUNTERS: how many there are
 */
enum rnbd_tcounter {
	RNBDT_COUNT_LIMITS,
	RNBDT_COUNT_VIOLATIONS,
	RNBDT_COUNT_REFUSED,
	RNBDT_COUNTERS,
};

/* The last one that a fence may begin. */
#define RNBDT_GENERATION_MAX	(U32_MAX - 1)

/* fence.c */
u32 rnbdt_fence_done(struct rnbd_thost *host);
u32 rnbdt_fence_begin(struct rnbd_thost *host);
int rnbdt_fence(struct rnbd_thost *host);
void rnbdt_unfence(struct rnbd_thost *host);
void rnbdt_fence_take(struct rnbd_thost *host, const struct rnbd_tfence *fence);
u16 rnbdt_fence_check(const struct rnbd_tsession *s);
void rnbdt_fence_let_in(const struct rnbd_tsession *s);

/* limits.c */
const char *rnbdt_limit_word(enum rnbd_tlimit limit);
void rnbdt_count(enum rnbd_tcounter counter, unsigned int kind);
u64 rnbdt_counted(enum rnbd_tcounter counter, unsigned int kind);
unsigned long rnbdt_login_timeout(void);
u32 rnbdt_login_frames(void);
bool rnbdt_same_address(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b);
u16 rnbdt_limits_host(struct rnbd_thost *host);
u16 rnbdt_limits_connect(const struct sockaddr_storage *peer,
			 const struct rnbd_conn_req *req);
void rnbdt_limits_opened(struct rnbd_tsession *s, const struct rnbd_conn_req *req);
u16 rnbdt_limits_login(struct rnbd_tsession *s);
u16 rnbdt_limits_list(struct rnbd_tsession *s);
u32 rnbdt_limits_queues(u32 wish);
u16 rnbdt_limits_pool(const struct rnbd_tsession *s, u64 *bytes);
u16 rnbdt_limits_take_pool(struct rnbd_tsession *s, u64 bytes);
u16 rnbdt_limits_queue(struct rnbd_tsession *s, u64 ring_bytes, u32 depth);
u16 rnbdt_limits_add_queue(struct rnbd_tsession *s, const struct rnbd_conn_req *req);
void rnbdt_limits_freed(struct rnbd_tsession *s);
void rnbdt_limits_gone(struct rnbd_tsession *s);

/* session.c */
extern struct list_head rnbdt_sessions;
const char *rnbdt_state_text(enum rnbd_tstate state);
const char *rnbdt_session_export(const struct rnbd_tsession *s);
void rnbdt_session_stats(struct rnbd_tsession *s, struct rnbd_tstats *sum);
void rnbdt_session_put(struct rnbd_tsession *s);
int rnbdt_session_connect(struct rnbd_tport *port, struct rdma_cm_id *id,
			  const struct rnbd_conn_req *req,
			  const struct rdma_conn_param *conn);
int rnbdt_session_add_queue(struct rnbd_tport *port, struct rdma_cm_id *id,
			    const struct rnbd_conn_req *req,
			    const struct rdma_conn_param *conn);
void rnbdt_reject(struct rdma_cm_id *id, u16 status);
void rnbdt_session_close(struct rnbd_tsession *s, const char *why);
enum rnbd_fault rnbdt_session_login(struct rnbd_tsession *s,
				    const struct rnbd_frame *frame);
enum rnbd_fault rnbdt_session_proof(struct rnbd_tsession *s,
				    const struct rnbd_frame *frame);
void rnbdt_session_refusal_sent(struct rnbd_tsession *s);
void rnbdt_sessions_end(struct rnbd_thost *host, struct rnbd_texport *export,
			struct rnbd_tport *port, const char *why);
void rnbdt_sessions_end_secret(struct rnbd_thost *host, const char *why);
void rnbdt_sessions_fence(const struct rnbd_thost *host);
int rnbdt_sessions_wait_fenced(const struct rnbd_thost *host, u32 generation);
u32 rnbdt_sessions_active(const struct rnbd_thost *host);
u32 rnbdt_sessions_count(struct rnbd_thost *host, struct rnbd_texport *export,
			 struct rnbd_tport *port);
void rnbdt_sessions_resize(const struct rnbd_texport *export);
bool rnbdt_may_submit(struct rnbd_treq *treq);

/* auth.c */
struct rnbd_tsecret *rnbdt_secret_alloc(const u8 *bytes);
struct rnbd_tsecret *rnbdt_secret_get(struct rnbd_tsecret *secret);
void rnbdt_secret_put(struct rnbd_tsecret *secret);
bool rnbdt_secret_same(const struct rnbd_tsecret *a, const struct rnbd_tsecret *b);
int rnbdt_auth_challenge(struct rnbd_tsession *s);
enum rnbd_fault rnbdt_auth_take(struct rnbd_tsession *s, const struct rnbd_frame *frame);
u16 rnbdt_auth_check(struct rnbd_tsession *s);
int rnbdt_auth_prove(struct rnbd_tsession *s);
bool rnbdt_auth_queue(const struct rnbd_tsession *s, const struct rnbd_conn_req *req);

/* queue.c */
extern const struct rnbd_ring_ops rnbdt_ring_ops;
struct rnbd_tqueue *rnbdt_queue_alloc(struct rnbd_tsession *s, u16 index,
				      struct rdma_cm_id *id);
int rnbdt_queue_alloc_treqs(struct rnbd_tqueue *q);
int rnbdt_queue_create_ring(struct rnbd_tqueue *q,
			    const struct rnbd_conn_req *req);
void rnbdt_queue_stop(struct rnbd_tqueue *q);
void rnbdt_queue_wait_idle(struct rnbd_tqueue *q);
void rnbdt_queue_free(struct rnbd_tqueue *q);
void rnbdt_treq_done(struct rnbd_treq *treq, u16 status);
void rnbdt_queue_resize(struct rnbd_tqueue *q, u64 capacity);

/* pool.c */
int rnbdt_pool_alloc(struct rnbd_tsession *s, u32 units, u32 segment_units);
int rnbdt_pool_register(struct rnbd_tsession *s);
void rnbdt_pool_free(struct rnbd_tpool *pool);
u32 rnbdt_pool_segment_units(struct ib_device *dev);

/**
 * struct rnbdt_piece - iterator over the memory of a request
 * @pool: pool of the session
 * @req: request
 * @run: current run
 * @done: units of it that were returned
 * @left: bytes of the request that are left
 */
struct rnbdt_piece {
	const struct rnbd_tpool *pool;
	const struct rnbd_request *req;
	u32 run;
	u32 done;
	u32 left;
};

void rnbdt_piece_start(struct rnbdt_piece *it, const struct rnbd_treq *treq);
u32 rnbdt_piece_next(struct rnbdt_piece *it, struct page **page);
u32 rnbdt_piece_count(const struct rnbd_treq *treq);

/* discover.c */
void rnbdt_discover_work(struct rnbd_tsession *s);
void rnbdt_discover_kick(struct rnbd_tsession *s);

/* sysfs.c */
int rnbdt_sysfs_init(void);
void rnbdt_sysfs_exit(void);
void rnbdt_sysfs_add_session(struct rnbd_tsession *s);
void rnbdt_sysfs_remove_session(struct rnbd_tsession *s);

/* netlink.c */
int rnbdt_netlink_init(void);
void rnbdt_netlink_exit(void);
void rnbdt_netlink_init_session(struct rnbd_tsession *s);
void rnbdt_netlink_tell(struct rnbd_tsession *s, enum rnbd_tstate from);

/* inject.c */
extern struct rnbd_inject rnbdt_inject_delay_submit;
extern struct rnbd_inject rnbdt_inject_delay_bio;
extern struct rnbd_inject rnbdt_inject_delay_close;
extern struct rnbd_inject rnbdt_inject_delay_linger;
extern struct rnbd_inject rnbdt_inject_delay_login;
extern struct rnbd_inject rnbdt_inject_drop_reply;
extern struct rnbd_inject rnbdt_inject_no_epoch_check;
extern struct rnbd_inject rnbdt_inject_no_drain;
extern struct rnbd_inject rnbdt_inject_no_copy;
void rnbdt_inject_init(void);
void rnbdt_inject_exit(void);

/* backend.c */
int rnbdt_backend_init(void);
void rnbdt_backend_exit(void);
int rnbdt_export_enable(struct rnbd_texport *export);
void rnbdt_export_disable(struct rnbd_texport *export);
u64 rnbdt_backend_size(const struct rnbd_tbackend *be);
int rnbdt_export_look(struct rnbd_texport *export);
void rnbdt_backend_submit(struct rnbd_treq *treq);
u16 rnbdt_errno_status(int error);
void rnbdt_treq_start_parts(struct rnbd_treq *treq);
void rnbdt_treq_part_done(struct rnbd_treq *treq, int error);

/* bdev.c */
int rnbdt_bdev_init(void);
void rnbdt_bdev_exit(void);
int rnbdt_bdev_open_file(struct rnbd_texport *export, struct rnbd_tbackend *be);
void rnbdt_bdev_limits(struct rnbd_tbackend *be);
int rnbdt_bdev_open(struct rnbd_texport *export, struct rnbd_tbackend *be);

/* file.c */
int rnbdt_file_init(void);
void rnbdt_file_exit(void);
int rnbdt_file_open(struct rnbd_texport *export, struct rnbd_tbackend *be,
		    bool is_bdev);

#endif /* RNBD_TARGET_H */
