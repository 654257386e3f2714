/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session: one attached disk, its connection and its pool.
 *
 * Operation: attach.c creates a session with a disk; discover.c creates one
 * without a disk to fetch a list of exports. A lost connection is replaced by
 * recover.c while the disk stays. state.c is the only file that changes the
 * state.
 *
 * Ownership: The session owns the disk, the connection (one queue pair per
 * hardware queue) and the management of the pool that the target registered
 * for it. The list of disks holds a reference until detach; lookups and a
 * queued event_work hold one each. Memory and disk are freed with the last
 * reference (release.c). RDMA resources belong to the connection and are freed
 * when it ends (connect.c), so that an RDMA device can be removed while a disk
 * without a connection is still open.
 *
 * Concurrency: See client.h for the lock order. A member that names no lock is
 * constant once the disk is visible, or is written by the owner of the
 * connection only: attach, detach or recover_work.
 */
#ifndef RNBDC_SESSION_H
#define RNBDC_SESSION_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../core/cm.h"
#include "../core/login.h"
#include "../core/quirks.h"
#include "disk.h"
#include "errmsg.h"
#include "options.h"

struct rnbd_segment_info;
struct rnbdc_exports;
struct rnbdc_queue;

/**
 * enum rnbdc_state - state of a session
 * @RNBDC_CONNECTING: the first connection is being established; the disk is not
 *	visible
 * @RNBDC_LIVE: connected, I/O flows
 * @RNBDC_RECONNECTING: the connection is lost and is being replaced
 * @RNBDC_FAILED: recovery has ended, or the disk is deactivated; I/O fails and the
 *	disk can be detached
 * @RNBDC_CLOSING: the disk is being detached
 */
enum rnbdc_state {
	RNBDC_CONNECTING,
	RNBDC_LIVE,
	RNBDC_RECONNECTING,
	RNBDC_FAILED,
	RNBDC_CLOSING,
};

/*
 * Limits of rnbdc_session.disk.max_segments. The minimum covers one block however it
 * is fragmented in memory; the maximum bounds the driver data of a request.
 */
#define RNBDC_SEGMENTS_MIN	16u
#define RNBDC_SEGMENTS_MAX	256u

#define RNBDC_DEACTIVATED_REASON	"deactivated by the administrator"

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

/**
 * struct rnbdc_change - a change of state for event_work to report
 * @from: state before the change
 * @to: state after the change
 * @epoch: number of the connection at the change
 * @attempt: attempts to connect since the loss
 * @reason: constant text, why the session last left RNBDC_LIVE, or NULL
 * @when_ns: ktime_get_ns() of the change
 */
struct rnbdc_change {
	enum rnbdc_state from;
	enum rnbdc_state to;
	u32 epoch;
	u32 attempt;
	const char *reason;
	u64 when_ns;
};

/* Changes that can wait for event_work; a longer block overwrites the oldest. */
#define RNBDC_CHANGES		16

/* Bits of rnbdc_session.flags */
#define RNBDC_SESS_ABORTED	0	/* the requester of the attach is gone */

/**
 * struct rnbdc_conn - RDMA resources of the connection; cleared as one when it is released
 * @dev: RDMA device, while connected; freed under @conn_lock
 * @pd: protection domain, while connected; freed under @conn_lock
 * @max_sge: gather entries of one RDMA WRITE
 * @max_sge_rd: scatter entries of one RDMA READ
 * @quirks: work-arounds that the connection needs
 * @segments: segments of the pool that the target registered, while connected
 */
struct rnbdc_conn {
	struct ib_device *dev;
	struct ib_pd *pd;
	u32 max_sge;
	u32 max_sge_rd;
	struct rnbd_quirks quirks;
	struct rnbd_segment_info *segments;
};

/**
 * struct rnbdc_login - login of the connection that is being made
 * @info: login as sent; @offer is checked against it
 * @status: enum rnbd_status of the login reply, RNBDC_LOGIN_OPEN or
 *	RNBDC_LOGIN_NONE
 * @offer: limits and properties granted for the connection being established
 * @exports: list that a discovery fills; NULL if the session is for a disk
 */
struct rnbdc_login {
	struct rnbd_login_info info;
	u16 status;
	struct rnbd_grant offer;
	struct rnbdc_exports *exports;
};

/**
 * struct rnbdc_auth - authentication of a login
 * @key: keyed HMAC transform that holds the secret of this host, or NULL if the host
 *	has no secret for this target; replaced by the connecting thread before a login
 * @next_key: transform that replaces @key at the next login, or NULL; accessed with
 *	xchg()
 * @authenticated: both ends proved the secret at the latest login that succeeded
 * @step: progress of authentication
 * @req: connection request of queue 0
 * @text: data that the proofs authenticate; written by the connecting thread, except
 *	the target's nonce, which the completion handler of queue 0 writes
 * @mac: expected MAC of the target's proof
 */
struct rnbdc_auth {
	struct crypto_shash *key;
	struct crypto_shash *next_key;
	bool authenticated;
	enum rnbdc_auth_step step;
	struct rnbd_conn_req req;
	struct rnbd_auth_text text;
	u8 mac[RNBD_MAC_SIZE];
};

/**
 * struct rnbdc_recovery - loss of the connection and its replacement
 * @lock: serialises going live, recovery, resizing and deactivation
 * @broken: the connection, established or not, is unusable
 * @lossy: connections are short-lived, see rnbd_quirks_lossy()
 * @broken_reason: constant text, the first reason for @broken
 * @live_at: jiffies of the latest change to RNBDC_LIVE
 * @lost_at: jiffies of the latest change to RNBDC_RECONNECTING
 * @attempt: attempts to connect since the loss; written by recover_work, reset
 *	under @lock
 * @busy_at: jiffies of the latest loss, or of the latest answer BUSY after it;
 *	recover_work's
 * @overdue: loss_timeout has passed since the loss; recover_work's
 * @next_try: jiffies of the next attempt to connect; written by recover_work
 * @recover_work: replaces a lost connection, see recover.c; on rnbdc_wq
 * @keepalive_work: sends keep-alives and checks those of the target; on
 *	rnbdc_timer_wq
 */
struct rnbdc_recovery {
	struct mutex lock;	/* letting I/O flow */
	bool broken;
	bool lossy;
	const char *broken_reason;
	unsigned long live_at;
	unsigned long lost_at;
	u32 attempt;
	unsigned long busy_at;
	bool overdue;
	unsigned long next_try;
	struct delayed_work recover_work;
	struct delayed_work keepalive_work;
};

/**
 * struct rnbdc_log - changes of state to report, and the latest error
 * @reason: constant text, why the session last left RNBDC_LIVE, or NULL
 * @changes: ring of the changes of state that are not reported yet
 * @nr_changes: number of changes since the session exists
 * @nr_reported: number of changes that were reported or overwritten
 * @last_error: why the latest attempt to connect failed; empty if none did
 * @event_work: reports @changes and the disk's capacity, see events.c; on
 *	rnbdc_event_wq
 */
struct rnbdc_log {
	const char *reason;
	struct rnbdc_change changes[RNBDC_CHANGES];
	u32 nr_changes;
	u32 nr_reported;
	char last_error[RNBDC_ERRMSG_SIZE];
	struct work_struct event_work;
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
 * struct rnbdc_session - an attached disk
 * @ref: references of the list, of lookups and of a queued @event_work
 * @opt: options of the session; constant
 * @id: UUID of the session; constant
 * @epoch: number of the latest attempt to connect, from 1; written under @lock
 * @lock: protects @state to @last_error, and RNBDC_DISK_FAIL_IO in the flags of
 *	@disk
 * @state: enum rnbdc_state; written by rnbdc_session_set_state() only
 * @state_ns: ktime_get_ns() of the latest change of @state
 * @flags: RNBDC_SESS_* bits
 * @wait: wait queue of rnbdc_cm_wait()
 * @conn_lock: keeps the connection's resources from being freed under a reader
 * @grant: limits granted by the target; replaced only together with the connection.
 *	@disk has a copy of what belongs to the export
 * @nr_queues: used members of @queues
 * @nr_poll: number of polled queues; they are the last ones of @queues
 * @queues: queues; a queue stays allocated until the session is released
 * @early_release: release the pool space of a read as soon as its RDMA READ is
 *	posted, behind a send fence; written by sysfs without a lock
 * @conn: RDMA resources of the connection; cleared as one when it is released
 * @login: login of the connection that is being made
 * @auth: authentication of a login
 * @recovery: loss of the connection and its replacement
 * @log: changes of state to report, and the latest error
 * @stats: counters of a session
 * @disk: the disk of a session
 */
struct rnbdc_session {
	struct kref ref;
	struct rnbdc_session_options opt;
	u8 id[UUID_SIZE];
	u32 epoch;
	spinlock_t lock;	/* state to last_error */
	enum rnbdc_state state;
	u64 state_ns;
	unsigned long flags;
	wait_queue_head_t wait;
	struct mutex conn_lock;		/* readers of the connection */
	struct rnbd_grant grant;
	u32 nr_queues;
	u32 nr_poll;
	struct rnbdc_queue *queues[RNBD_QUEUES_MAX];
	bool early_release;

	struct rnbdc_conn conn;
	struct rnbdc_login login;
	struct rnbdc_auth auth;
	struct rnbdc_recovery recovery;
	struct rnbdc_log log;
	struct rnbdc_session_stats stats;
	struct rnbdc_disk disk;
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

#endif /* RNBDC_SESSION_H */
