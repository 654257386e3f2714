/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session: the connection to a target, the pool, and the disks that use them.
 *
 * Operation: attach.c creates a session with a disk; discover.c creates one
 * without a disk to fetch a list of exports. A lost connection is replaced by
 * recover.c while the disks stay. state.c is the only file that changes the
 * states of sessions and disks.
 *
 * Ownership: The session owns the connection (queue 0, and further queues as far as they
 * can be connected, see further.c) and the management of the pool that the target
 * registered for it. Each disk holds a reference of its session; the queues are freed with
 * the last one (release.c). RDMA resources belong to the connection and are freed when it
 * ends (connect.c), so that an RDMA device can be removed while a disk without a
 * connection is still open.
 *
 * Concurrency: See client.h for the lock order. A member that names no lock is
 * constant once the disk is visible, or is written by the owner of the
 * connection only: attach, detach, recover_work or, for a queue other than 0,
 * further_work.
 */
#ifndef RNBDC_SESSION_H
#define RNBDC_SESSION_H

#include <linux/atomic.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../core/cm.h"
#include "../core/login.h"
#include "../core/quirks.h"
#include "asked.h"
#include "errmsg.h"
#include "options.h"
#include "space.h"

struct rnbd_segment_info;
struct rnbdc_disk;
struct rnbdc_exports;
struct rnbdc_queue;

/**
 * enum rnbdc_session_state - state of the connection of a session
 * @RNBDC_SESS_NEW: the first connection is being established
 * @RNBDC_SESS_LIVE: connected
 * @RNBDC_SESS_LOST: the connection is lost; it is replaced as long as a disk needs it
 * @RNBDC_SESS_CLOSED: the last disk is being detached
 */
enum rnbdc_session_state {
	RNBDC_SESS_NEW,
	RNBDC_SESS_LIVE,
	RNBDC_SESS_LOST,
	RNBDC_SESS_CLOSED,
};

/*
 * Limits of rnbdc_session.max_segments. The minimum covers one block however it
 * is fragmented in memory; the maximum bounds the driver data of a request.
 */
#define RNBDC_SEGMENTS_MIN	16u
#define RNBDC_SEGMENTS_MAX	256u

/*
 * Milliseconds to wait for the reply to a login, at most. The target sends keep-alives
 * while it allocates a large pool, so the limit can be long.
 */
#define RNBDC_LOGIN_MS		50000

/* login_status while the reply is awaited; not a status of the protocol. */
#define RNBDC_LOGIN_OPEN		U16_MAX

/* login_status before the login is sent; not a status of the protocol. */
#define RNBDC_LOGIN_NONE		(U16_MAX - 1)

/**
 * enum rnbdc_auth_step - progress of the authentication of a login
 * @RNBDC_AUTH_NONE: the target has not sent a challenge
 * @RNBDC_AUTH_CHALLENGED: the target has sent a challenge; the connecting thread
 *	must answer it
 * @RNBDC_AUTH_ANSWERED: the client's proof is sent; the target's proof is awaited
 * @RNBDC_AUTH_PROVEN: the target's proof is correct
 */
enum rnbdc_auth_step {
	RNBDC_AUTH_NONE,
	RNBDC_AUTH_CHALLENGED,
	RNBDC_AUTH_ANSWERED,
	RNBDC_AUTH_PROVEN,
};

/* Tables of gather entries that a session has in reserve. */
#define RNBDC_TABLES_MIN	4

/* Bits of rnbdc_session.flags */
#define RNBDC_SESS_ABORTED	0	/* the requester of the attach is gone */

/**
 * struct rnbdc_conn - RDMA resources of the connection; cleared when it is released, except
 *	the table of segments
 * @dev: RDMA device, while connected; freed under @conn_lock
 * @pd: protection domain, while connected; freed under @conn_lock
 * @max_sge: gather entries of one RDMA WRITE
 * @max_sge_rd: scatter entries of one RDMA READ
 * @quirks: work-arounds that the connection needs
 * @segments: segments of the pool by slot, while connected; 0 units: none. The table stays for
 *	the next connection
 * @nr_segments: members of @segments
 */
struct rnbdc_conn {
	struct ib_device *dev;
	struct ib_pd *pd;
	u32 max_sge;
	u32 max_sge_rd;
	struct rnbd_quirks quirks;
	struct rnbd_segment_info *segments;
	u32 nr_segments;
};

/**
 * struct rnbdc_bounce - a chunk of bounce memory
 * @virt: address for copies
 * @dma: address for the device, valid if @mapped
 * @mapped: the chunk is mapped for the device
 */
struct rnbdc_bounce {
	void *virt;
	u64 dma;
	bool mapped;
};

/**
 * struct rnbdc_lease - segments of the pool that come and go, see lease.c
 * @want: units that the client has asked for in all, 0: it has not asked; written by
 *	@lease_work under the lock of the session
 * @held: units of the segments in rnbdc_conn.segments; the lock of the session
 * @slot: slot of a segment that is about to be released, if @generation is not 0;
 *	@lease_work
 * @generation: generation of that segment; @lease_work
 * @busy_at: jiffies when the session last needed much of its space; @lease_work
 * @lacked_at: jiffies when a request last found too little space; @lease_work
 * @tick: jiffies when the use of the space was last looked at; @lease_work
 * @grants: segments granted after the login; written by the completion handler of queue 0
 * @releases: segments that the target has taken back; as @grants
 * @reclaims: segments that the target has asked for; as @grants
 * @lease_work: asks for segments and releases them, on rnbdc_timer_wq
 */
struct rnbdc_lease {
	u32 want;
	u32 held;
	u32 slot;
	u32 generation;
	unsigned long busy_at;
	unsigned long lacked_at;
	unsigned long tick;
	u64 grants;
	u64 releases;
	u64 reclaims;
	struct delayed_work lease_work;
};

/**
 * struct rnbdc_login - login of the connection that is being made
 * @info: login as sent; @offer is checked against it
 * @status: enum rnbd_status of the login reply, RNBDC_LOGIN_OPEN or
 *	RNBDC_LOGIN_NONE
 * @offer: limits and properties granted for the connection being established
 * @granted: @offer is valid; set with a release by the completion handler
 * @nr_segments: segments of the pool that were announced since
 * @exports: list that a discovery fills; NULL if the session is for a disk
 * @reply_ms: milliseconds to wait for the reply
 * @retry_ms: milliseconds after which the target wants the next attempt, or 0
 */
struct rnbdc_login {
	struct rnbd_login_info info;
	u16 status;
	struct rnbd_grant offer;
	bool granted;
	u32 nr_segments;
	struct rnbdc_exports *exports;
	u32 reply_ms;
	u32 retry_ms;
};

/**
 * struct rnbdc_auth - authentication of a login
 * @key: keyed HMAC transform that holds the secret of this host, or NULL if the host
 *	has no secret for this target; replaced by the connecting thread before a login
 * @next_key: transform that replaces @key at the next login, or NULL; accessed with
 *	xchg()
 * @session_key: keyed HMAC transform that holds the key of the session, which queues other
 *	than 0 prove; replaced by the connecting thread after a login
 * @authenticated: both ends proved the secret at the latest login that succeeded
 * @step: progress of authentication
 * @req: connection request of queue 0
 * @text: data that the proofs authenticate; written by the connecting thread, except
 *	the target's nonce and UUID, which the completion handler of queue 0 writes
 * @mac: expected MAC of the target's proof
 */
struct rnbdc_auth {
	struct crypto_shash *key;
	struct crypto_shash *next_key;
	struct crypto_shash *session_key;
	bool authenticated;
	enum rnbdc_auth_step step;
	struct rnbd_conn_req req;
	struct rnbd_auth_text text;
	u8 mac[RNBD_MAC_SIZE];
};

/**
 * struct rnbdc_recovery - loss of the connection and its replacement
 * @lock: serialises the end of a connection, going live, resizing and deactivation; nobody
 *	waits for the target with it
 * @broken: the connection, established or not, is unusable
 * @lossy: connections are short-lived, see rnbd_quirks_lossy()
 * @broken_reason: constant text, the first reason for @broken
 * @live_at: jiffies of the latest change to RNBDC_SESS_LIVE
 * @attempt: attempts to connect since the loss; written by recover_work, reset
 *	under @lock
 * @next_try: jiffies of the next attempt to connect; written by recover_work
 * @further_tried: each queue other than 0 was tried since the session is live
 * @nr_turns: disks that attach again at present, see turn.c; protected by the lock of the
 *	session
 * @turns: disks that wait for a turn, struct rnbdc_disk; protected by the lock of the session
 * @recover_work: replaces a lost connection, see recover.c; on rnbdc_wq
 * @further_work: connects the queues other than 0, see further.c; on rnbdc_attach_wq
 * @keepalive_work: sends keep-alives and checks those of the target; on
 *	rnbdc_timer_wq
 */
struct rnbdc_recovery {
	struct mutex lock;		/* letting I/O flow */
	bool broken;
	bool lossy;
	const char *broken_reason;
	unsigned long live_at;
	u32 attempt;
	unsigned long next_try;
	bool further_tried;
	u32 nr_turns;
	struct list_head turns;
	struct delayed_work recover_work;
	struct delayed_work further_work;
	struct delayed_work keepalive_work;
};

/**
 * struct rnbdc_session_stats - counters of a session
 * @lost: number of connections lost
 * @reconnects: number of lost connections that were replaced
 * @proto_errs: number of protocol errors of the target
 */
struct rnbdc_session_stats {
	u64 lost;
	u64 reconnects;
	atomic64_t proto_errs;
};

/**
 * struct rnbdc_session - the connection to a target and its disks
 * @ref: references of the disks, and of a discovery
 * @entry: entry of the list of sessions that disks may join; protected by
 *	rnbdc_disks_lock
 * @users: disks that use the session, or are about to; protected by rnbdc_disks_lock
 * @opt: options of the session; constant
 * @serial: number of the session for users, 0 for a discovery; constant once it has a disk
 * @id: UUID of the session; constant
 * @attempt: number of the latest attempt to make a connection, from 1; written by the
 *	connecting thread: attach, recover_work or further_work
 * @epoch: number of the attempt that made the latest connection 0; written under @lock
 * @lock: protects @state, @disks and the states of the disks
 * @state: enum rnbdc_session_state; written by state.c only
 * @flags: RNBDC_SESS_* bits
 * @wait: wait queue of rnbdc_cm_wait()
 * @conn_lock: keeps the connection's resources from being freed under a reader
 * @grant: limits granted by the target; replaced only together with the connection
 * @nr_queues: used members of @queues; constant after the first login
 * @nr_connected: queues that are connected; written under recovery.lock
 * @further_error: why the latest attempt to connect a queue other than 0 failed; empty if
 *	all are connected; protected by @lock
 * @nr_poll: number of polled queues; they are the last ones of @queues
 * @max_queues: number of queues that are requested, members of @queues; constant
 * @queues: queues; a queue stays allocated until the session is released
 * @max_segments: memory pieces of one request: its pages, or bounce memory; constant
 * @tables: tables of @max_segments gather entries, for requests with many pieces
 * @max_segment_size: bytes of one piece that the device of the first connection maps at
 *	once; constant after that
 * @early_release: release the pool space of a read as soon as its RDMA READ is
 *	posted, behind a send fence; written by sysfs without a lock
 * @space: space of the pool
 * @stall_work: starts hardware queues that waited for space, see stall.c; on
 *	rnbdc_timer_wq
 * @stall_tick: jiffies of the latest tick of @space; written by @stall_work
 * @nr_lacking: hardware queues of all disks with rnbdc_hwq.lacks
 * @stall_open: @stall_work may be queued; protected by the lock of @space
 * @lease: segments of the pool that come and go
 * @lease_open: the work item of @lease may be queued; written under the lock of @space
 * @bounce: local mirror of the pool in transfer mode "copy"
 * @nr_bounce: members of @bounce
 * @conn: RDMA resources of the connection; cleared as one when it is released
 * @fence_generation: highest fence generation that a disk was granted; 0 before that
 * @login: login of the connection that is being made
 * @ctl: control requests that the target has not answered
 * @auth: authentication of a login
 * @recovery: loss of the connection and its replacement
 * @stats: counters of a session
 * @indexes: indexes of handles that are in use
 * @detaching: generations of the handles, by index, whose DETACHED is awaited
 * @disks: disks, linked by rnbdc_disk.entry; changed under @lock and recovery.lock, read
 *	under either
 */
struct rnbdc_session {
	struct kref ref;
	struct list_head entry;
	u32 users;
	struct rnbdc_session_options opt;
	u32 serial;
	u8 id[UUID_SIZE];
	u32 attempt;
	u32 epoch;
	spinlock_t lock;	/* states and disks */
	enum rnbdc_session_state state;
	unsigned long flags;
	wait_queue_head_t wait;
	struct mutex conn_lock;		/* readers of the connection */
	struct rnbd_grant grant;
	u32 nr_queues;
	u32 nr_connected;
	char further_error[RNBDC_ERRMSG_SIZE];
	u32 nr_poll;
	u32 max_queues;
	struct rnbdc_queue **queues;
	u32 max_segments;
	mempool_t *tables;
	size_t max_segment_size;
	bool early_release;
	struct rnbdc_space space;
	struct delayed_work stall_work;
	unsigned long stall_tick;
	atomic_t nr_lacking;
	bool stall_open;
	struct rnbdc_lease lease;
	bool lease_open;
	struct rnbdc_bounce *bounce;
	u32 nr_bounce;

	u32 fence_generation;
	struct rnbdc_conn conn;
	struct rnbdc_login login;
	struct rnbdc_ctl ctl;
	struct rnbdc_auth auth;
	struct rnbdc_recovery recovery;
	struct rnbdc_session_stats stats;
	struct ida indexes;
	struct xarray detaching;
	struct list_head disks;
};

/**
 * rnbdc_requested_poll - get the number of polled queues to request
 * @sess: session
 *
 * blk-mq uses at most one queue of a kind per processor.
 *
 * Context: any.
 * Return: number of queues.
 */
static inline u32 rnbdc_requested_poll(const struct rnbdc_session *sess)
{
	return min(sess->opt.poll_queues, nr_cpu_ids);
}

/**
 * rnbdc_requested_queues - get the number of all queues to request
 * @sess: session
 *
 * Context: any.
 * Return: number of queues, polled ones included.
 */
static inline u32 rnbdc_requested_queues(const struct rnbdc_session *sess)
{
	return min(sess->opt.queues, nr_cpu_ids) + rnbdc_requested_poll(sess);
}

/**
 * rnbdc_poll_share - get the number of queues that are polled
 * @sess: session
 * @queues: number of queues of the session or of a disk
 *
 * All that were requested, or their share if there are fewer queues. Queue 0 is never
 * polled, because it logs in.
 *
 * Context: any.
 * Return: number of queues, less than @queues.
 */
static inline u32 rnbdc_poll_share(const struct rnbdc_session *sess, u32 queues)
{
	u32 poll = rnbdc_requested_poll(sess);
	u32 requested = rnbdc_requested_queues(sess);

	if (!poll || queues < 2)
		return 0;
	if (queues >= requested)
		return poll;
	return clamp(queues * poll / requested, 1U, queues - 1);
}

#endif /* RNBDC_SESSION_H */
