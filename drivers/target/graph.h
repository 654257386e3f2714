/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration graph: hosts, exports, ports and their links. See graph.c.
 */
#ifndef RNBDT_GRAPH_H
#define RNBDT_GRAPH_H

#include <linux/configfs.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/socket.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/rdma_cm.h>

#include "blkcg.h"
#include "iostat.h"
#include "session.h"
#include "target.h"

struct rnbdt_backend;
struct rnbdt_secret;

/* Number of ended sessions per host whose newest epochs are remembered, see epoch.c */
#define RNBDT_HOST_EPOCHS	64

/* Number of addresses per host that are remembered, see half_open.c */
#define RNBDT_HOST_ADDRESSES	8

/**
 * enum rnbdt_write_cache - when an acknowledged write is durable
 * @RNBDT_WRITE_THROUGH: when it is acknowledged
 * @RNBDT_WRITE_BACK: after the next FLUSH; at once if the storage has no volatile cache
 */
enum rnbdt_write_cache {
	RNBDT_WRITE_THROUGH,
	RNBDT_WRITE_BACK,
};

/**
 * struct rnbdt_epoch - newest epoch of a session that has ended
 * @session_id: id of the session
 * @epoch: highest epoch or attempt number that the client has used; 0: the entry is unused
 */
struct rnbdt_epoch {
	uuid_t session_id;
	u32 epoch;
};

/**
 * enum rnbdt_cache - cache of the target between a client and the storage
 * @RNBDT_CACHE_NONE: none; direct I/O
 * @RNBDT_CACHE_PAGECACHE: page cache; buffered I/O
 */
enum rnbdt_cache {
	RNBDT_CACHE_NONE,
	RNBDT_CACHE_PAGECACHE,
};

/**
 * struct rnbdt_fence - fencing state of a host
 * @generation: fence generation, from 1 on; increases with each fence, up to RNBDT_GENERATION_MAX
 * @done: highest generation known to be fully drained, as of the last call of
 *	rnbdt_fence_done(); 0: none
 * @fenced: logins of the host are refused
 * @restored: userspace has restored this state, and since then rnbdt_fence_admit() was not called
 *	and no fence began
 * @boot_id: boot id of the latest login for which rnbdt_fence_admit() was called. If there was
 *	none, the boot id of a restored fence, or else that of the first authenticated login
 *	while the host is fenced, or else null. rnbdt_fence_begin() clears it if @restored is set
 *
 * Protected by the host lock; see fence.c.
 */
struct rnbdt_fence {
	u32 generation;
	u32 done;
	bool fenced;
	bool restored;
	uuid_t boot_id;
};

/**
 * struct rnbdt_bucket - token bucket of a host
 * @until: monotonic time in ns at which the bucket is full again
 * @log_at: monotonic time in ns before which an empty bucket is not logged again
 *
 * Protected by the host lock; see rate.c.
 */
struct rnbdt_bucket {
	u64 until;
	u64 log_at;
};

/**
 * struct rnbdt_deferred - connection requests, logins and ATTACHes answered with RNBD_ST_BUSY
 * @count: number of such answers
 * @since: monotonic time in ns of the first answer of the current series; a series ends
 *	when RNBDT_DEFERRED_GAP_NS pass without such an answer
 * @last: monotonic time in ns of the latest answer
 * @log_at: monotonic time in ns before which a series is not logged again
 *
 * Protected by the host lock; see rate.c.
 */
struct rnbdt_deferred {
	u64 count;
	u64 since;
	u64 last;
	u64 log_at;
};

/**
 * struct rnbdt_awaited - floor of logins that were answered with RNBD_ST_BUSY for lack of memory
 * @bytes: largest such floor of the current series of answers; 0: none
 * @since: jiffies of the first answer of the current series
 * @until: jiffies at which the current series ends; each further answer extends it
 *
 * Protected by the lock of budget.c; see headroom.c.
 */
struct rnbdt_awaited {
	u64 bytes;
	unsigned long since;
	unsigned long until;
};

/**
 * struct rnbdt_host_share - sums over the sessions of a host in a run of the share work
 * @entry: in the list of hosts of the run
 * @parts: sessions whose share depends on the level (level.c), or from which memory can be
 *	reclaimed, struct rnbdt_part
 * @charged: bytes charged for the pools of live sessions of the host
 * @settled: sum, in bytes, of the shares of the live sessions that were never in @parts
 * @free: bytes that the sessions may still be granted below the limit of the host
 * @lack: sum of the bytes by which hungry sessions are below their shares
 * @most_lack: bytes by which the hungriest session is below its share
 * @pending: bytes that clients of the host were asked to return and probably return soon
 *
 * Only the share work uses it, see share.c.
 */
struct rnbdt_host_share {
	struct list_head entry;
	struct list_head parts;
	u64 charged;
	u64 settled;
	u64 free;
	u64 lack;
	u64 most_lack;
	u64 pending;
};

/**
 * struct rnbdt_waits - requests of a host that had to wait in front of a storage
 * @queued: number of requests that wait now
 * @requests: number of requests that wait now or have waited
 * @bytes: length in bytes of the requests that have waited and were then submitted
 *
 * Atomic, because requests to several storages are counted concurrently, see sched.c.
 */
struct rnbdt_waits {
	atomic64_t queued;
	atomic64_t requests;
	atomic64_t bytes;
};

/**
 * struct rnbdt_host - a client machine that exports may allow
 * @group: configfs directory hosts/<uuid>
 * @lock: protects the members that name the "host lock", also those of sessions and
 *	attachments; see rnbdt_host_lock()
 * @entry: in the hash table of hosts of graph.c; rnbdt_lock
 * @uuid: id of the host; constant
 * @max_pool_bytes: limit in bytes of all pools of the host, 0: the module parameter
 *	applies; rnbdt_lock
 * @max_session_pool_bytes: limit in bytes of one pool, 0: the module parameter
 *	applies; rnbdt_lock
 * @max_sessions: limit of sessions, 0: the module parameter applies; rnbdt_lock
 * @pool_bytes: bytes of pools and claims charged to the host; host lock and the lock of budget.c
 * @pool_beyond: bytes that sessions of the host hold beyond their floors and could return;
 *	locked as @pool_bytes
 * @awaited: floor of logins of the host that were answered with RNBD_ST_BUSY because other sessions
 *	of the host hold the memory; lock of budget.c
 * @share: sums over the sessions of the host; used by the share work only
 * @claims: claims of former sessions, struct rnbdt_claim; host lock
 * @secret: secret with which clients of the host must authenticate, or NULL; rnbdt_lock
 * @old_secret: former secret that clients may use instead of @secret, or NULL; always NULL if
 *	@secret is NULL; rnbdt_lock
 * @authentication_failures: number of logins and of joining queues with a wrong proof
 * @queue_bytes: bytes of queues and attachments charged to the host; written under
 *	host lock, read without
 * @io_bytes: bytes charged for requests in flight, see rnbdt_queue_budget_take_io()
 * @id: number of the host, never reused; constant
 * @allows: exports that allow the host, struct rnbdt_allow, by the id of the export;
 *	rnbdt_lock
 * @sessions: sessions whose connection requests name the host, struct rnbdt_session, in the
 *	order of their serials; host lock
 * @all_sessions: length of @sessions; written under the host lock, read without
 * @nr_active: sessions with attachments that are bound to exports; host lock
 * @nr_lists: sessions that have requested a list of exports, until their queue pairs are drained;
 *	host lock
 * @nr_closing: number of sessions in @sessions that are closing
 * @boot_id: boot id of the client module at the latest login that was authenticated and that
 *	fencing allowed; host lock
 * @mixed_boots: @sessions possibly contains a session that has another boot id than @boot_id and
 *	that is not closing; host lock
 * @nr_sessions: number of logged-in sessions plus @nr_claims; host lock
 * @nr_claims: number of claims, which are kept for sessions that can reconnect; host lock
 * @grown_since: jiffies at the start of the current second of grants; host lock
 * @grown_bytes: bytes granted to pools of the host since @grown_since; host lock
 * @logins: tokens for logins and lists of exports; host lock
 * @attaches: tokens for ATTACH requests; host lock
 * @deferred: connection requests, logins and ATTACHes answered with RNBD_ST_BUSY; host lock
 * @epochs: newest epochs of the latest ended sessions of the host; host lock
 * @next_epoch: index of the member of @epochs to replace next; host lock
 * @fence: fencing state; host lock
 * @unfence_on_restart: a login can lift a complete fence, see rnbdt_fence_check(); rnbdt_lock
 * @removed: the directory was removed; sessions of the host possibly still exist; rnbdt_lock
 * @known: addresses of the latest logins of the host, family 0: unused; host lock
 * @next_known: index of the member of @known to replace next; host lock
 * @hangups: number, by class, of connections of which only the connection id is left, see
 *	rnbdt_half_open.hung_up; lock of half_open.c
 * @half_sums: numbers of half-open connections of the host by class, see half_count.c
 * @stale_frames: number of frames of closing sessions that were dropped unread
 * @late_requests: number of requests that were refused because their attachment was closing or
 *	closed when they arrived
 * @weight: weight of the host at each storage and for pool memory; written under rnbdt_lock,
 *	read without
 * @waits: requests that had to wait in front of a storage
 * @in_cgroup: the host is in a cgroup; rnbdt_lock
 * @blkcg: cgroup of the host, see blkcg.h
 * @cgroup_entry: in the list of cgroup.c while the host is in a cgroup; lock of cgroup.c
 * @iostat: I/O statistics of all past and present sessions of the host
 *
 * The host is freed after rmdir, when the teardown of its last session and of its last joining
 * queue has ended. Until then it stays in the hash table, and no other host with its UUID can be
 * created: the new host would not know which requests of the old host the storage still executes.
 */
struct rnbdt_host {
	struct config_group group;
	struct mutex lock;	/* sessions of the host */
	struct hlist_node entry;
	uuid_t uuid;
	u64 max_pool_bytes;
	u64 max_session_pool_bytes;
	u64 max_sessions;
	u64 pool_bytes;
	u64 pool_beyond;
	struct rnbdt_awaited awaited;
	struct rnbdt_host_share share;
	struct list_head claims;
	struct rnbdt_secret *secret;
	struct rnbdt_secret *old_secret;
	atomic64_t authentication_failures;
	u64 queue_bytes;
	atomic64_t io_bytes;
	unsigned long id;
	struct xarray allows;
	struct list_head sessions;
	u32 all_sessions;
	u32 nr_active;
	u32 nr_lists;
	atomic_t nr_closing;
	uuid_t boot_id;
	bool mixed_boots;
	u32 nr_sessions;
	u32 nr_claims;
	unsigned long grown_since;
	u64 grown_bytes;
	struct rnbdt_bucket logins;
	struct rnbdt_bucket attaches;
	struct rnbdt_deferred deferred;
	struct rnbdt_epoch epochs[RNBDT_HOST_EPOCHS];
	u32 next_epoch;
	struct rnbdt_fence fence;
	bool unfence_on_restart;
	bool removed;
	struct sockaddr_storage known[RNBDT_HOST_ADDRESSES];
	u32 next_known;
	u32 hangups[RNBDT_PEER_CLASSES];
	struct rnbdt_half_sum half_sums[RNBDT_PEER_CLASSES];
	atomic64_t stale_frames;
	atomic64_t late_requests;
	u32 weight;
	struct rnbdt_waits waits;
	bool in_cgroup;
	struct rnbdt_blkcg blkcg;
	struct list_head cgroup_entry;
	struct rnbdt_iostat iostat;
};

/**
 * struct rnbdt_owner - owner of an exclusive export
 * @entry: in the hash table of owner.c, by @host
 * @host: UUID of the host that owns the export, or null
 * @boot_id: boot id of the client module of @host, or null if @host has not attached the export
 * @session_id: id of the session of this owner that attached the export last, or null; also
 *	written by code that has locked only the host
 * @generation: owner generation; increases with each change of the owner; 0: there was no change
 * @fence_generation: fence generation of the host when it attached the export as a new owner; 0
 *	if @boot_id is null
 *
 * Protected by rnbdt_lock; see owner.c.
 */
struct rnbdt_owner {
	struct hlist_node entry;
	uuid_t host;
	uuid_t boot_id;
	uuid_t session_id;
	u32 generation;
	u32 fence_generation;
};

#define RNBDT_INCARNATION_SIZE	16

/*
 * Value that userspace writes to "enable" of a port to disable the port without waiting until its
 * sessions have ended. For an export the value has the same effect as 0.
 */
#define RNBDT_BEGIN_DISABLE	"begin-disable"

/**
 * struct rnbdt_export - storage that clients may attach
 * @group: configfs directory exports/<name>
 * @hosts_group: configfs directory exports/<name>/allowed_hosts
 * @readonly_group: configfs directory exports/<name>/readonly_hosts
 * @id: number of the export, never reused; constant
 * @name_entry: in the hash table of exports of graph.c while the directory exists;
 *	rnbdt_lock
 * @lock: serialises writers of the attributes; held while the backend is opened, but
 *	not while it is closed
 * @path: absolute path of a block device or file, or NULL; rnbdt_lock, written under
 *	@lock as well, constant while there is a backend
 * @readonly: write requests are refused; @lock, constant while there is a backend
 * @cache: cache of the target; @lock, constant while there is a backend
 * @write_cache: durability of acknowledged writes; @lock, constant while there is a
 *	backend
 * @exclusive: only one host at a time may attach the export; rnbdt_lock, written under @lock
 *	as well, constant while there is a backend
 * @owner: owner of an exclusive export; rnbdt_lock
 * @window: window of the scheduler in requests of 4 KiB, 0: the module parameter applies;
 *	rnbdt_lock, written under @lock as well
 * @uuid: identity of the data; as @path
 * @incarnation: random value; a change shows clients that acknowledged writes are possibly lost;
 *	rnbdt_lock, changed only while no client can attach the export
 * @enabled: clients may attach the export; rnbdt_lock
 * @backend: opened storage, or NULL; rnbdt_lock. An export that has a backend but is not
 *	@enabled is being disabled
 * @storage_entry: in a hash table of opened.c while there is a backend; rnbdt_lock
 * @path_entry: as @storage_entry
 * @uuid_entry: as @storage_entry
 * @disable_work: closes the backend, on rnbdt_disable_wq; queued when the export is disabled and
 *	its last attachment has left it. It holds a reference on the export and on the module
 *	from the time when @enabled is cleared until it has run
 * @wait_work: logs that attachments delay @disable_work, on rnbdt_timer_wq
 * @attached: attachments, struct rnbdt_attach; lock of attached.c
 * @nr_attached: length of @attached; written under the lock of attached.c, read without
 * @nr_closing: number of attachments in @attached that are closing, until the storage has completed
 *	their requests
 * @hosts: allowed hosts, struct rnbdt_allow; rnbdt_lock
 * @offers: ports that offer the export, struct rnbdt_offer; rnbdt_lock
 * @stale_requests: number of requests of ended sessions or old epochs that were dropped
 *	before they reached the storage
 * @iostat: I/O statistics of all past and present attachments of the export
 */
struct rnbdt_export {
	struct config_group group;
	struct config_group hosts_group;
	struct config_group readonly_group;
	unsigned long id;
	struct hlist_node name_entry;
	struct mutex lock;	/* one writer */
	char *path;
	bool readonly;
	enum rnbdt_cache cache;
	enum rnbdt_write_cache write_cache;
	bool exclusive;
	struct rnbdt_owner owner;
	u32 window;
	uuid_t uuid;
	u8 incarnation[RNBDT_INCARNATION_SIZE];
	bool enabled;
	struct rnbdt_backend *backend;
	struct hlist_node storage_entry;
	struct hlist_node path_entry;
	struct hlist_node uuid_entry;
	struct work_struct disable_work;
	struct delayed_work wait_work;
	struct list_head attached;
	u32 nr_attached;
	atomic_t nr_closing;
	struct list_head hosts;
	struct list_head offers;
	atomic64_t stale_requests;
	struct rnbdt_iostat iostat;
};

/**
 * struct rnbdt_allow - a link in allowed_hosts or readonly_hosts
 * @entry: in rnbdt_export.hosts; rnbdt_lock
 * @host: allowed host; constant
 * @export: export of the directory; constant
 * @readonly: the host may only read; constant
 */
struct rnbdt_allow {
	struct list_head entry;
	struct rnbdt_host *host;
	struct rnbdt_export *export;
	bool readonly;
};

/**
 * struct rnbdt_offer - a link in the exports of a port
 * @entry: in rnbdt_export.offers; rnbdt_lock
 * @export: offered export; constant
 * @port: port that offers it; constant
 */
struct rnbdt_offer {
	struct list_head entry;
	struct rnbdt_export *export;
	struct rnbdt_port *port;
};

/**
 * enum rnbdt_port_state - state of a port
 * @RNBDT_PORT_DISABLED: the port does not listen
 * @RNBDT_PORT_LISTENING: the port accepts connection requests
 * @RNBDT_PORT_NO_DEVICE: the port is enabled, but its RDMA device was removed, or its address
 *	moved to another device; the port listens again when a device has the address
 */
enum rnbdt_port_state {
	RNBDT_PORT_DISABLED,
	RNBDT_PORT_LISTENING,
	RNBDT_PORT_NO_DEVICE,
};

/**
 * struct rnbdt_port - an address on which the target listens
 * @group: configfs directory ports/<id>
 * @exports_group: configfs directory ports/<id>/exports
 * @lock: serialises writers of the attributes; held while the port is enabled or
 *	disabled, but not while its sessions end
 * @addr: IPv4 or IPv6 address as text, "": not set; rnbdt_lock, written under @lock
 *	as well
 * @port: service port; @lock
 * @state: state of the port; rnbdt_lock. Changes are made under @lock too; only the loss of the
 *	listener ends RNBDT_PORT_LISTENING without @lock
 * @cm_id: listening id, or NULL; rnbdt_lock. The context that sets @cm_id to NULL destroys the
 *	id
 * @reach: for each host, by its id: the number of exports that the host reaches on the port; see
 *	reach.c, rnbdt_lock
 * @sessions: sessions of the port, struct rnbdt_session, in the order of their serials;
 *	lock of state.c
 * @all_sessions: length of @sessions; written under the lock of state.c, read without
 * @retry_work: listens again when a device has the address, on rnbdt_login_wq
 */
struct rnbdt_port {
	struct config_group group;
	struct config_group exports_group;
	struct mutex lock;	/* one writer */
	char addr[64];
	u16 port;
	enum rnbdt_port_state state;
	struct rdma_cm_id *cm_id;
	struct xarray reach;
	struct list_head sessions;
	u32 all_sessions;
	struct delayed_work retry_work;
};

/**
 * rnbdt_to_export - return the export of a configfs directory
 * @item: directory exports/<name>
 *
 * Context: any.
 * Return: the export.
 */
static inline struct rnbdt_export *rnbdt_to_export(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbdt_export, group);
}

/**
 * rnbdt_to_host - return the host of a configfs directory
 * @item: directory hosts/<uuid>
 *
 * Context: any.
 * Return: the host.
 */
static inline struct rnbdt_host *rnbdt_to_host(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbdt_host, group);
}

/**
 * rnbdt_host_lock - lock a host, its sessions and their attachments
 * @host: host that cannot be freed before this function returns
 *
 * Tasks that have locked different hosts do not exclude each other. A task that holds rnbdt_lock
 * for writing excludes all of them, and may access everything that a host lock protects.
 *
 * Context: process context without rnbdt_lock and without another host lock; may sleep.
 */
static inline void rnbdt_host_lock(struct rnbdt_host *host)
{
	down_read(&rnbdt_lock);
	mutex_lock(&host->lock);
}

/**
 * rnbdt_host_unlock - undo rnbdt_host_lock()
 * @host: locked host; it can be freed as soon as this function has released rnbdt_lock
 *
 * Context: process context.
 */
static inline void rnbdt_host_unlock(struct rnbdt_host *host)
{
	mutex_unlock(&host->lock);
	up_read(&rnbdt_lock);
}

/* Check that a host is locked, or that rnbdt_lock is held for writing. */
#define rnbdt_assert_host(host)						\
	lockdep_assert(lockdep_is_held_type(&rnbdt_lock, 0) ||		\
		       lockdep_is_held(&(host)->lock))

static inline const char *rnbdt_export_name(struct rnbdt_export *export)
{
	return config_item_name(&export->group.cg_item);
}

static inline const char *rnbdt_port_name(struct rnbdt_port *port)
{
	return config_item_name(&port->group.cg_item);
}

extern uuid_t rnbdt_target_uuid;
void rnbdt_host_add(struct rnbdt_host *host);
struct rnbdt_host *rnbdt_host_find(const uuid_t *uuid);
void rnbdt_export_add(struct rnbdt_export *export);
void rnbdt_export_remove(struct rnbdt_export *export);
struct rnbdt_export *rnbdt_export_find(const char *name);

#endif /* RNBDT_GRAPH_H */
