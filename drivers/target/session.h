/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The session: one login of a host at a port, with its attachments of exports.
 *
 * Operation: a connection request for queue 0 creates a session (connect.c). The login makes it
 * live or refused, or starts a list of exports (login.c). When the session is live, the client
 * connects the other queues. rnbdt_session_close() ends the session, and the teardown frees the
 * session (state.c, teardown.c).
 *
 * Ownership: a session owns its queues, its pool, its protection domain and its references on
 * the secret, on its host, on its port and on the module. The session owns its attachments, each
 * of which keeps its backend open until no request is left (attached.c). The session records its
 * charges, see limits.c, budget.c and queue_budget.c.
 *
 * Concurrency: the member documentation names the lock of each member. "Host lock" is
 * rnbdt_host.lock, see rnbdt_host_lock(). "Login work" means that only login_work accesses the
 * member until the session is live. "Constant" members are set before the session is in
 * rnbdt_sessions, unless a time is given.
 */
#ifndef RNBDT_SESSION_H
#define RNBDT_SESSION_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/seqlock.h>
#include <linux/socket.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../core/cm.h"
#include "../core/io.h"
#include "../core/login.h"
#include "attach.h"
#include "level.h"

struct crypto_shash;
struct rnbdt_claim;
struct rnbdt_host;
struct rnbdt_port;
struct rnbdt_queue;
struct rnbdt_secret;

#define RNBDT_MAX_IO_MAX	(4u << 20)

/**
 * enum rnbdt_peer_class - classes of connections that have not logged in
 * @RNBDT_PEER_NEW: the host has not recently logged in from the address of the connection
 * @RNBDT_PEER_KNOWN: the host has recently logged in from this address
 * @RNBDT_PEER_CLASSES: number of classes
 *
 * Each class has its own limits, see half_open.c.
 */
enum rnbdt_peer_class {
	RNBDT_PEER_NEW,
	RNBDT_PEER_KNOWN,
	RNBDT_PEER_CLASSES,
};

/**
 * enum rnbdt_half_kind - how a connection counts against the half-open limits
 * @RNBDT_HALF_NONE: the connection does not count
 * @RNBDT_HALF_OPEN: the connection is counted in rnbdt_half_sum.open
 * @RNBDT_HALF_CLOSING: the connection is counted in rnbdt_half_sum.closing
 */
enum rnbdt_half_kind {
	RNBDT_HALF_NONE,
	RNBDT_HALF_OPEN,
	RNBDT_HALF_CLOSING,
};

/**
 * struct rnbdt_half_sum - numbers of half-open connections of one class
 * @open: half-open connections that are not in teardown
 * @closing: half-open connections in teardown
 */
struct rnbdt_half_sum {
	atomic_t open;
	atomic_t closing;
};

/**
 * struct rnbdt_half_open - a connection that has not logged in, or a queue that has not joined
 * @entry: in the list of half-open connections until the login or the list of exports is accepted,
 *	the queue has joined, or the teardown has freed the ring; lock of half_open.c
 * @host: host that the connection request names; constant
 * @session: session of which the connection is queue 0, or NULL for a further queue; constant
 * @queue: queue that joins a session, or NULL for queue 0; constant
 * @since: jiffies of the connection request; constant
 * @peer_class: enum rnbdt_peer_class of the connection request; constant
 * @counted: enum rnbdt_half_kind; changed by half_count.c
 * @hung_up: the teardown of a connection that was never live or joined has freed everything except
 *	the connection id; lock of half_open.c
 */
struct rnbdt_half_open {
	struct list_head entry;
	struct rnbdt_host *host;
	struct rnbdt_session *session;
	struct rnbdt_queue *queue;
	unsigned long since;
	enum rnbdt_peer_class peer_class;
	int counted;
	bool hung_up;
};

/**
 * enum rnbdt_state - state of a session; see rnbdt_session_set_state()
 * @RNBDT_CONNECTING: queue 0 is being connected, or is connected and no LOGIN or LIST has arrived
 * @RNBDT_AUTHENTICATING: the target sends a challenge, and the client must answer with a PROOF
 * @RNBDT_LOGIN: the login work processes the LOGIN or LIST
 * @RNBDT_REFUSED: the login was refused, and its reply has an error status
 * @RNBDT_LISTING: the login work sends the list of exports, or the refusal of the list
 * @RNBDT_LIVE: requests are executed
 * @RNBDT_CLOSING: the teardown was queued and has not ended
 * @RNBDT_DEAD: the teardown has freed the queues and removed the session from all lists
 *
 * The value of the state of a session only increases, and can skip values.
 */
enum rnbdt_state {
	RNBDT_CONNECTING,
	RNBDT_AUTHENTICATING,
	RNBDT_LOGIN,
	RNBDT_REFUSED,
	RNBDT_LISTING,
	RNBDT_LIVE,
	RNBDT_CLOSING,
	RNBDT_DEAD,
};

/**
 * struct rnbdt_change - a change of state to report to netlink listeners
 * @from: enum rnbdt_state before the change
 * @to: enum rnbdt_state after the change
 * @reason: constant text, or NULL
 */
struct rnbdt_change {
	u8 from;
	u8 to;
	const char *reason;
};

/**
 * struct rnbdt_stats - counters of queues
 * @requests: requests whose reply was put into a frame, with any status
 * @read_bytes: bytes of successful READ requests
 * @write_bytes: bytes of successful WRITE requests
 * @frames_sent: frames sent
 * @frames_received: frames received
 * @slots: number of receive slots
 * @depth: number of requests that may be in flight
 */
struct rnbdt_stats {
	u64 requests;
	u64 read_bytes;
	u64 write_bytes;
	u64 frames_sent;
	u64 frames_received;
	u64 slots;
	u64 depth;
};

/**
 * struct rnbdt_pool - pool of a session: memory of the target that the client manages
 * @slots: segments by slot; written under the host lock, read under RCU
 * @taken: bitmap of the slots that have a segment or are reserved; accessed as @nr_taken
 * @shift: binary logarithm of the number of units per slot; set before live
 * @nr_slots: number of slots; set before live
 * @nr_taken: number of bits set in @taken; login work, then lease work, then teardown
 * @next_slot: slot at which the search for the next free slot begins; login work, then lease work
 * @generation: generation of the segment that got a slot last; login work, then lease work
 * @units: units of all segments; written under the host lock, read without
 * @named: a bit per slot, result of rnbdt_pool_scan(); lease work, then teardown
 * @slow: for each slot, the units that slow requests name; accessed as @named
 *
 * The teardown frees the pool when the queue pairs are destroyed and the requests have completed.
 */
struct rnbdt_pool {
	struct rnbdt_segment __rcu **slots;
	unsigned long *taken;
	u32 shift;
	u32 nr_slots;
	u32 nr_taken;
	u32 next_slot;
	u32 generation;
	u32 units;
	unsigned long *named;
	u32 *slow;
};

/**
 * struct rnbdt_lease - grants and releases of segments of a live session, see lease.c
 * @want: units that the client wants to hold; written by the frame handler of queue 0
 * @released: segments that the client has released, struct rnbdt_segment; the lock of the
 *	ring of queue 0
 * @lease_work: grants, reclaims and frees segments, on rnbdt_lease_wq
 * @ran_at: jiffies of the latest run of @lease_work, which writes it
 * @runs: number of runs of @lease_work in the jiffy @ran_at; written by @lease_work
 * @next_units: units of the next segment to grant; lease work
 * @pause: jiffies from a failed grant to the next attempt, or 0; lease work
 * @retry_at: jiffies of the next attempt, valid if @pause is not 0; lease work
 * @second: jiffies at which the current second of grants began; lease work
 * @second_units: units granted in the current second; lease work
 * @reclaiming: units of the reclaimed segments that are not freed yet; host lock
 * @stuck: units of reclaimed segments that the client cannot return due to slow storage; host lock
 * @look: share.c needs new values of @hung and rnbdt_segment.slow; cleared by @lease_work
 * @looked_at: jiffies when @lease_work last looked for slow requests; written by @lease_work
 * @hung: units that slow requests named at @looked_at, in segments that are not reclaimed;
 *	written by @lease_work
 * @hungry: in the list of sessions that want more than the limits leave; lock of budget.c
 * @part: input from which @share is computed, and list entry; only the share work uses it
 * @share: bytes that the session may hold while memory is short; written under the host lock
 * @grants: number of segments granted after the login; lease work
 * @releases: number of released segments that were freed; written under the host lock
 * @reclaims: number of segments that the target has reclaimed; locked as @releases
 * @registrations: number of memory regions registered at the login or later; locked as @releases
 */
struct rnbdt_lease {
	u32 want;
	struct list_head released;
	struct delayed_work lease_work;
	unsigned long ran_at;
	u32 runs;
	u32 next_units;
	unsigned long pause;
	unsigned long retry_at;
	unsigned long second;
	u32 second_units;
	u32 reclaiming;
	u32 stuck;
	bool look;
	unsigned long looked_at;
	u32 hung;
	struct list_head hungry;
	struct rnbdt_part part;
	u64 share;
	u64 grants;
	u64 releases;
	u64 reclaims;
	u64 registrations;
};

/**
 * struct rnbdt_auth - authentication of a session
 * @required: the host had a secret at the connection request, so the client must prove that
 *	it knows one; constant
 * @secret: secret that the client has proven, or NULL; set by the login work under the host lock,
 *	constant once live
 * @authenticated: no proof is @required, or the client has proven @secret; host lock
 * @key: HMAC transform with the session key, which the client must prove to know on further
 *	queues; set by the login work, constant once live
 * @target_uuid: UUID of the target at the connection request; constant
 * @req: connection request of queue 0; constant
 * @text: input of the HMAC; constant once live
 * @mac: proof of the client, later of the target; written by the frame handler of queue 0,
 *	then by the login work
 */
struct rnbdt_auth {
	bool required;
	struct rnbdt_secret *secret;
	bool authenticated;
	struct crypto_shash *key;
	uuid_t target_uuid;
	struct rnbd_conn_req req;
	struct rnbd_auth_text text;
	u8 mac[RNBD_MAC_SIZE];
};

/**
 * struct rnbdt_account - memory and places that a session has charged to its host
 * @pool_bytes: bytes charged for the pool, the larger of @floor_bytes and @held_bytes; written
 *	under the host lock and the lock of budget.c, read without
 * @floor_bytes: floor of the pool in bytes; locked as @pool_bytes
 * @max_bytes: ceiling of the pool in bytes; set before live
 * @held_bytes: bytes of all segments, including those that are being granted; host lock
 * @claimed_bytes: pool floor of a claim that the session has taken over; stays charged until the
 *	login charges @pool_bytes instead; host lock
 * @stopped: rnbdt_budget_leave() was called, and no segment can be reclaimed; host lock
 * @claim: claim allocated for the session to leave behind, or NULL; login work, then teardown
 * @claims: the session has taken over a claim and no DETACH was handled since, or the teardown has
 *	found that the client probably reconnects; host lock
 * @no_claim: the client violated the protocol, so no claim is left; written without a lock
 * @claim_until: monotonic time in ns at which the claim that the session has taken over expires, or
 *	0 without such a claim; host lock
 * @queue_bytes: bytes charged for queues, including @queue_reserved; written under the host
 *	lock, read without
 * @queue_floor: bytes with which all granted queues begin, or less if a limit applies; host lock
 * @queue_reserved: bytes of @queue_floor for queues that have not joined; host lock
 * @io_bytes: additional bytes charged for requests in flight
 * @counted: the session is counted in rnbdt_host.nr_sessions; host lock
 * @lists: the session is counted in rnbdt_host.nr_lists; host lock
 * @copied: number of pages in which the backend holds copies of write data
 * @half_open: entry in the half-open limits until the login is accepted
 */
struct rnbdt_account {
	u64 pool_bytes;
	u64 floor_bytes;
	u64 max_bytes;
	u64 held_bytes;
	u64 claimed_bytes;
	bool stopped;
	struct rnbdt_claim *claim;
	bool claims;
	bool no_claim;
	s64 claim_until;
	u64 queue_bytes;
	u64 queue_floor;
	u64 queue_reserved;
	atomic64_t io_bytes;
	bool counted;
	bool lists;
	atomic_t copied;
	struct rnbdt_half_open half_open;
};

/**
 * struct rnbdt_list_state - progress of a list of exports
 * @listed: rnbdt_export.id of the last export that was sent; login work
 * @nr_listed: number of exports that were sent; login work
 * @list_status: enum rnbd_status of the list; login work
 * @all_listed: the last frame of the list was sent; login work
 */
struct rnbdt_list_state {
	unsigned long listed;
	u32 nr_listed;
	u16 list_status;
	bool all_listed;
};

/**
 * struct rnbdt_log - changes of state to report
 * @reason: constant text, why the session was refused or closed, or NULL
 * @changes: changes of state; the array has space for all that a session can have
 * @nr_changes: used members of @changes
 * @nr_reported: members of @changes that @event_work has reported
 * @event_work: reports @changes, on rnbdt_login_wq; holds a reference on the session
 */
struct rnbdt_log {
	const char *reason;
	struct rnbdt_change changes[RNBDT_DEAD];
	u8 nr_changes;
	u8 nr_reported;
	struct work_struct event_work;
};

/**
 * struct rnbdt_conn - RDMA resources that all queues share, and the addition of queues
 * @dev: RDMA device of all queues; constant
 * @pd: protection domain; set by the accept work of queue 0
 * @connecting: number of queues whose accept work has not ended; written under the host lock
 * @joins: struct rnbdt_join of queues that join, or have failed and still have a ring; host lock
 * @nr_joins: length of @joins; written under the host lock, read without
 * @wait: woken when @connecting or @nr_joins decreases
 * @reg_cqe: completion entry of the registrations of segments
 * @reg_done: completed when a batch of registrations has ended
 * @reg_status: status of the failed registration, or IB_WC_SUCCESS
 */
struct rnbdt_conn {
	struct ib_device *dev;
	struct ib_pd *pd;
	u32 connecting;
	struct list_head joins;
	u32 nr_joins;
	wait_queue_head_t wait;
	struct ib_cqe reg_cqe;
	struct completion reg_done;
	enum ib_wc_status reg_status;
};

/**
 * struct rnbdt_login - login of a session, and timers
 * @info: decoded login, or zero if @list; written by the frame handler before the login work
 * @id: id of the LOGIN or LIST entry, which the answers repeat; written with @info
 * @list: the client requests a list of exports instead of a login; written with @info
 * @has_login: @info is decoded and constant; written with a release, so that a reader without
 *	the lock sees @info
 * @login_work: authenticates the client and answers the login, or sends the list of exports;
 *	on rnbdt_login_wq
 * @timeout_work: closes a session when the time for the login or the list is over, or the time to
 *	disconnect after a refusal or a list; on rnbdt_timer_wq
 * @keepalive_work: checks and sends keep-alives, on rnbdt_timer_wq
 */
struct rnbdt_login {
	struct rnbd_login_info info;
	u32 id;
	bool list;
	bool has_login;
	struct work_struct login_work;
	struct delayed_work timeout_work;
	struct delayed_work keepalive_work;
};

/**
 * struct rnbdt_ctl_slot - a control request of the client
 * @entry: in a list of struct rnbdt_ctl
 * @type: RNBD_CTL_ATTACH, or RNBD_CTL_DETACH that could not be recorded in an attachment
 * @id: id of the entry, which the answer repeats
 * @attach: request of an ATTACH
 * @grant: answer to an ATTACH
 * @info: handle of a DETACH, and status of the answer
 */
struct rnbdt_ctl_slot {
	struct list_head entry;
	u16 type;
	u32 id;
	struct rnbd_attach_info attach;
	struct rnbd_attach_grant grant;
	struct rnbd_handle_info info;
};

/**
 * struct rnbdt_ctl - control entries of a session
 * @slots: requests of the client
 * @free: slots without a request
 * @todo: slots for @ctl_work, in the order of arrival
 * @ready: slots whose answer must be sent
 * @detaches: attachments, struct rnbdt_attach, whose DETACH @ctl_work must handle
 * @events: attachments, struct rnbdt_attach, about which entries must be sent
 * @leases: segments, struct rnbdt_segment, about which entries must be sent
 * @pending: there are possibly entries to send; written under the lock, read without
 * @ctl_work: handles @todo and @detaches, on rnbdt_ctl_wq
 *
 * The lock of the ring of queue 0 protects all members except @ctl_work.
 */
struct rnbdt_ctl {
	struct rnbdt_ctl_slot slots[RNBD_CTL_OPEN_MAX];
	struct list_head free;
	struct list_head todo;
	struct list_head ready;
	struct list_head detaches;
	struct list_head events;
	struct list_head leases;
	bool pending;
	struct work_struct ctl_work;
};

/**
 * struct rnbdt_granted - limits that the login reply granted
 * @nr_queues: granted number of queues; set before live
 * @depth: granted number of requests per queue; set before live
 * @max_io: granted size of one READ or WRITE in bytes; set before live
 * @keepalive_ms: granted interval of keep-alives in milliseconds; set before live
 * @limits: limits of the session for the request decoder; set before live
 */
struct rnbdt_granted {
	u16 nr_queues;
	u16 depth;
	u32 max_io;
	u32 keepalive_ms;
	struct rnbd_limits limits;
};

/**
 * struct rnbdt_teardown - teardown of a session
 * @teardown_work: first part of the teardown, and the second one unless @release_work follows; on
 *	rnbdt_teardown_wq, or on rnbdt_hangup_wq if the session was never live; queued once
 * @release_work: second part of the teardown if the storage had requests at the end of the first
 *	part; on rnbdt_teardown_wq; queued at most once
 * @parted: if set, the end of the last attachment queues @release_work; host lock
 * @wait_work: logs that the second part waits for the storage, on rnbdt_attach_wq
 * @linger_work: last part of the teardown of a session that was never live, on rnbdt_linger_wq
 * @stopped: the teardown has drained all queue pairs and closed all attachments; host lock
 * @stopped_at: jiffies when @stopped was set; host lock
 * @drained: completed when no I/O of the session is in flight and none can follow
 * @gone: completed when the teardown has ended and the session has left rnbdt_sessions
 * @closing_since: jiffies when the session began to close; read without a lock
 */
struct rnbdt_teardown {
	struct work_struct teardown_work;
	struct work_struct release_work;
	bool parted;
	struct delayed_work wait_work;
	struct work_struct linger_work;
	bool stopped;
	unsigned long stopped_at;
	struct completion drained;
	struct completion gone;
	unsigned long closing_since;
};

/**
 * struct rnbdt_session_dir - directory of a session in sysfs
 * @kobj: directory of the session in sysfs
 * @sysfs_work: adds @kobj, on the work queue of sysfs.c; holds a reference on the session
 * @in_sysfs: @kobj was added; written by @sysfs_work
 */
struct rnbdt_session_dir {
	struct kobject kobj;
	struct work_struct sysfs_work;
	bool in_sysfs;
};

/**
 * struct rnbdt_session - one login of a host
 * @ref: references on this structure; rnbdt_sessions holds one, @sysfs another
 * @entry: in rnbdt_sessions until the session is dead; lock of state.c
 * @host_entry: in rnbdt_host.sessions until the session is dead; host lock
 * @port_entry: in rnbdt_port.sessions until the session is dead; lock of state.c
 * @hash_entry: in the hash table of lookup.c until the session is dead; lock of lookup.c, RCU
 * @rcu: delays kfree() until no reader of the hash table is left
 * @serial: number of the session for logs and netlink; constant
 * @host_id: id of the host; constant
 * @session_id: id of the session, which reconnects do not change; constant
 * @epoch: epoch of this session; constant
 * @newest_epoch: @epoch, or a higher epoch with which an authenticated client has replaced this
 *	session; written under the host lock, read without
 * @newest_attempt: highest number of a connection attempt that the client has used for the id
 *	of this session; host lock
 * @host: host of the session, referenced until the session is dead; constant
 * @port: port of the session, referenced until the session is dead; constant
 * @port_name: copy of the name of @port; constant
 * @peer: address of the client; constant
 * @attaches: attachments, or generations of detached ones, by index; host lock, read under RCU
 * @nr_bound: attachments that are bound to an export; host lock
 * @state_lock: protects @state, @live_at and @log; taken with interrupts disabled
 * @state: enum rnbdt_state; written under @state_lock, read without by requests
 * @live_at: seconds of the boot clock when the session became live, or 0
 * @queues: queues by index, @nr_slots of them: @queue0, or an array that the login work
 *	allocates for the granted number; host lock. Once the session is closing and
 *	rnbdt_conn.connecting is 0, only the teardown changes it. Readers of counters use RCU
 * @nr_slots: members of @queues; written under the host lock after @queues, with a release
 * @queue0: queue 0, used as the array of queues before the login
 * @ended_lock: held while a queue is removed from @queues and its counters are added to @ended
 * @ended: sum of the counters of freed queues; @ended_lock
 * @pool: segments of the pool of the session
 * @lease: grants and releases of segments of @pool
 * @auth: authentication
 * @account: memory and places that the session has charged to its host
 * @listing: progress of a list of exports
 * @log: changes of state to report
 * @conn: RDMA resources that all queues share, and the addition of queues
 * @login: login of the session, and timers
 * @ctl: control entries
 * @granted: limits that the login reply granted
 * @teardown: teardown of the session
 * @sysfs: directory of the session in sysfs
 */
struct rnbdt_session {
	struct kref ref;
	struct list_head entry;
	struct list_head host_entry;
	struct list_head port_entry;
	struct hlist_node hash_entry;
	struct rcu_head rcu;
	u32 serial;
	uuid_t host_id;
	uuid_t session_id;
	u32 epoch;
	u32 newest_epoch;
	u32 newest_attempt;
	struct rnbdt_host *host;
	struct rnbdt_port *port;
	char *port_name;
	struct sockaddr_storage peer;
	struct xarray attaches;
	u32 nr_bound;
	spinlock_t state_lock;	/* state, live_at, log */
	enum rnbdt_state state;
	time64_t live_at;
	struct rnbdt_queue **queues;
	u32 nr_slots;
	struct rnbdt_queue *queue0;
	seqlock_t ended_lock;
	struct rnbdt_stats ended;
	struct rnbdt_pool pool;
	struct rnbdt_lease lease;

	struct rnbdt_auth auth;
	struct rnbdt_account account;
	struct rnbdt_list_state listing;
	struct rnbdt_log log;
	struct rnbdt_conn conn;
	struct rnbdt_login login;
	struct rnbdt_ctl ctl;
	struct rnbdt_granted granted;
	struct rnbdt_teardown teardown;
	struct rnbdt_session_dir sysfs;
};

/**
 * rnbdt_attach_load - find the attachment of an index
 * @s: session
 * @index: index of a handle
 *
 * Context: any, under RCU or host lock.
 * Return: the attachment, or NULL if there is none or it was detached.
 */
static inline struct rnbdt_attach *rnbdt_attach_load(struct rnbdt_session *s, u16 index)
{
	void *entry = xa_load(&s->attaches, index);

	return xa_is_value(entry) ? NULL : entry;
}

#endif /* RNBDT_SESSION_H */
