/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session: the connection to a target, the pool, and the disks that use them.
 *
 * Operation: An attach creates a session for its disk, or joins an existing one
 * (session_get.c). A discovery creates a session without a disk to fetch a list of exports
 * (discover.c). recover.c replaces a lost connection while the disks stay. Only state.c
 * changes the states of sessions and disks.
 *
 * Ownership: The session owns the connection: queue 0 and those further queues that could
 * be connected (further.c). The session manages the pool that the target has registered for
 * it. Each disk holds a reference on its session; dropping the last reference frees the queues
 * (release.c). RDMA resources belong to the connection and are freed when it ends
 * (connect.c), so an RDMA device can be removed while a disk without a connection is open.
 *
 * Concurrency: See client.h for the lock order. A member that names no lock is
 * constant once the disk is visible, or only the owner of the connection writes it: attach,
 * detach, recover_work or, for a queue other than 0, further_work.
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
 * @RNBDC_SESS_LOST: the connection is lost; recovery replaces it as long as a disk needs it
 * @RNBDC_SESS_CLOSED: the last disk has left, the first connection has failed, or the
 *	discovery has ended; no further connection will be made
 */
enum rnbdc_session_state {
	RNBDC_SESS_NEW,
	RNBDC_SESS_LIVE,
	RNBDC_SESS_LOST,
	RNBDC_SESS_CLOSED,
};

/*
 * Limits of rnbdc_session.max_segments in transfer mode "zero-copy". The minimum suffices for
 * 64 KiB in separate 4 KiB pages; the maximum bounds the size of a table of gather entries.
 */
#define RNBDC_SEGMENTS_MIN	16u
#define RNBDC_SEGMENTS_MAX	256u

/*
 * Largest number of milliseconds to wait for the reply to a login. The limit can be long: the
 * target sends keep-alives while it allocates a large pool, so a dead target is noticed earlier.
 */
#define RNBDC_LOGIN_MS		50000

/* rnbdc_login.status while the client awaits the reply; not a status of the protocol. */
#define RNBDC_LOGIN_OPEN		U16_MAX

/* rnbdc_login.status before the login is sent; not a status of the protocol. */
#define RNBDC_LOGIN_NONE		(U16_MAX - 1)

/**
 * enum rnbdc_auth_step - progress of the authentication of a login
 * @RNBDC_AUTH_NONE: the target has not sent a challenge
 * @RNBDC_AUTH_CHALLENGED: the target has sent a challenge; the connecting thread
 *	must answer it
 * @RNBDC_AUTH_ANSWERED: the client has sent its proof and awaits that of the target
 * @RNBDC_AUTH_PROVEN: the target's proof is correct
 */
enum rnbdc_auth_step {
	RNBDC_AUTH_NONE,
	RNBDC_AUTH_CHALLENGED,
	RNBDC_AUTH_ANSWERED,
	RNBDC_AUTH_PROVEN,
};

/* Number of tables that the mempool rnbdc_session.tables keeps in reserve */
#define RNBDC_TABLES_MIN	4

/* Bits of rnbdc_session.flags */
#define RNBDC_SESS_ABORTED	0	/* the discovery was aborted, see abort.c */

/**
 * struct rnbdc_conn - RDMA resources of the connection; all members except @segments and
 *	@nr_segments are cleared when the connection is released
 * @dev: RDMA device while connected, otherwise NULL; cleared under rnbdc_session.conn_lock
 * @pd: protection domain while connected, otherwise NULL; freed under
 *	rnbdc_session.conn_lock
 * @max_sge: largest number of gather entries of one RDMA WRITE
 * @max_sge_rd: largest number of scatter entries of one RDMA READ
 * @quirks: work-arounds that the device of the connection needs
 * @segments: segments of the pool by slot, while connected; a slot without a segment has 0
 *	units. The table is kept for the next connection
 * @nr_segments: number of members of @segments
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
 * struct rnbdc_bounce - contiguous pages of bounce memory
 * @virt: kernel address
 * @dma: DMA address, valid if @mapped
 * @mapped: the pages are mapped for the device
 */
struct rnbdc_bounce {
	void *virt;
	u64 dma;
	bool mapped;
};

/**
 * struct rnbdc_lease - growth and shrinking of the pool, see lease.c
 * @want: size of the pool that the client last requested with WANT, in units; 0 before the
 *	first WANT of the connection; written by @lease_work under the lock of the session
 * @held: units of the segments in rnbdc_conn.segments; protected by the lock of the session
 * @slot: slot of the segment to be released next, valid if @generation is not 0; used by
 *	@lease_work only
 * @generation: generation of the segment to be released next, or 0; used by @lease_work only
 * @busy_at: jiffies when requests last used more than a quarter of the pool or lacked space;
 *	used by @lease_work only
 * @lacked_at: jiffies when a request last lacked space; used by @lease_work only
 * @tick: jiffies when @lease_work last checked the use of the pool; used by @lease_work only
 * @grants: number of segments granted after the login; written by the completion handler of
 *	queue 0
 * @releases: number of segments whose release the target has confirmed; written like @grants
 * @reclaims: number of segments that the target has asked the client to return, and that the
 *	client had not already closed; written like @grants
 * @lease_work: requests segments and releases them; on rnbdc_timer_wq
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
 * @offer: limits and properties that the login reply grants
 * @granted: @offer is valid; set with a release by the completion handler
 * @nr_segments: number of segments of the pool that the target has announced after the login
 *	reply
 * @exports: list of exports that a discovery fills; NULL if the session is for a disk
 * @reply_ms: milliseconds to wait for the login reply
 * @retry_ms: milliseconds that the target requests until the next attempt; 0 if it requests
 *	no pause
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
 *	than 0 use to join; replaced by the connecting thread after a login
 * @authenticated: at the latest successful login, both ends proved that they know the secret
 * @step: progress of the authentication
 * @req: connection request of queue 0, which the proofs cover
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
 * @lock: serialises the end of a connection, going live, resizing and deactivation; no task
 *	waits for the target while it holds this lock
 * @broken: the connection has failed, perhaps before it was established
 * @lossy: the network probably loses packets, as connections end soon after they are made;
 *	see rnbd_quirks_lossy()
 * @broken_reason: constant text, the first reason for @broken
 * @live_at: jiffies of the latest change to RNBDC_SESS_LIVE
 * @attempt: attempts to connect since the loss; written by recover_work, reset
 *	under rnbdc_session.lock
 * @next_try: jiffies of the next attempt to connect; written by recover_work
 * @further_tried: a run of further_work, which tries to connect each queue other than 0, has
 *	ended since the session became live
 * @nr_turns: number of disks that are attaching again now, see turn.c; protected by the lock
 *	of the session
 * @turns: disks that wait for a turn, linked by rnbdc_disk.turn; protected by the lock of the
 *	session
 * @recover_work: replaces a lost connection, see recover.c; on rnbdc_wq
 * @further_work: connects the queues other than 0, see further.c; on rnbdc_attach_wq
 * @keepalive_work: sends keep-alives and checks those of the target; on
 *	rnbdc_timer_wq
 */
struct rnbdc_recovery {
	struct mutex lock;		/* loss and recovery */
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
 * @connections_lost: number of times that the live session lost its connection, except when
 *	all its disks had failed or were closing
 * @reconnects: number of times that recovery has made the session live again
 * @proto_errs: number of protocol errors of the target
 */
struct rnbdc_session_stats {
	u64 connections_lost;
	u64 reconnects;
	atomic64_t proto_errs;
};

/**
 * struct rnbdc_session - a session with a target: its connection, pool and disks
 * @ref: references of the disks, and of a discovery
 * @entry: entry of the list of sessions that are not closed, which has no sessions of
 *	discoveries; protected by rnbdc_disks_lock
 * @users: number of disks that use the session or wait for its connection; protected by
 *	rnbdc_disks_lock
 * @opt: requested options of the session; constant
 * @serial: number of the session for users, 0 for a discovery; constant once it has a disk
 * @id: UUID of the session; constant
 * @attempt: number of the latest attempt to make a connection, from 1; written by the
 *	connecting thread: attach, recover_work or further_work
 * @epoch: number of the latest attempt to connect queue 0, successful or not; written under
 *	@lock
 * @lock: protects @state, @disks and the states of the disks
 * @state: enum rnbdc_session_state; written by state.c only
 * @flags: RNBDC_SESS_* bits
 * @wait: wait queue for events of the connection manager, changes of @state, and answers of
 *	the target
 * @conn_lock: prevents the release of the connection's resources while a task reads them
 * @grant: limits granted by the target; replaced only together with the connection
 * @nr_queues: used members of @queues; constant after the first login
 * @nr_connected: number of connected queues; written under recovery.lock, or when the session is
 *	closed
 * @further_error: error message of the latest failed attempt to connect a queue other than
 *	0; empty if all are connected; protected by @lock
 * @nr_poll: number of polled queues, which are the last used members of @queues
 * @max_queues: number of requested queues, and of members of @queues; constant
 * @queues: queues; a queue stays allocated until the session is released
 * @max_segments: largest number of memory pieces of one request: its pages, or pieces of
 *	bounce memory; constant
 * @tables: pool of tables of @max_segments gather entries, for requests with many pieces
 * @max_segment_size: largest memory piece in bytes, a limit of the device of the first
 *	connection; constant after that
 * @early_release: the pool space of a read is free as soon as its RDMA READ is posted, and
 *	the next SEND or RDMA WRITE has a send fence; written by sysfs without a lock
 * @space: space of the pool
 * @stall_work: starts hardware queues that waited for space, see stall.c; on
 *	rnbdc_timer_wq
 * @stall_tick: jiffies of the latest rnbdc_space_tick(); written by @stall_work
 * @nr_lacking: number of hardware queues of all disks with rnbdc_hwq.lacks set
 * @stall_open: @stall_work may be queued; protected by the lock of @space
 * @lease: growth and shrinking of the pool
 * @lease_open: the work item of @lease may be queued; written under the lock of @space
 * @bounce: local mirror of the pool in transfer mode "copy"
 * @nr_bounce: members of @bounce
 * @conn: RDMA resources of the connection
 * @fence_generation: highest fence generation that the target granted to a disk; 0 before the
 *	first grant
 * @login: login of the connection that is being made
 * @ctl: control requests that the target has not answered
 * @auth: authentication of a login
 * @recovery: loss of the connection and its replacement
 * @stats: counters of the session
 * @indexes: indexes of handles in use
 * @detaching: generations of handles, by index, for which the client awaits DETACHED
 * @disks: disks, linked by rnbdc_disk.entry; changed under both @lock and recovery.lock,
 *	read under either
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
 * blk-mq uses at most one polled queue per processor.
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
 * rnbdc_poll_share - get the number of polled queues among a number of queues
 * @sess: session
 * @queues: number of queues of the session or of a disk
 *
 * The result is the requested number of polled queues. If there are fewer queues than
 * requested, the number of polled queues shrinks in proportion. Queue 0 is never polled,
 * because it carries the login.
 *
 * Context: any.
 * Return: number of polled queues, less than @queues.
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
