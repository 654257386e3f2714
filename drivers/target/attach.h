/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attachment: the use of one export by one session.
 *
 * Operation: the client attaches an export under a handle (attach_ctl.c). Each request
 * names its attachment, through which it finds the backend and the limits of the
 * export. An attachment that is closed, by either end, accepts no request; when the
 * last one is done it leaves the export (attached.c). Its structure remains for late
 * requests until the client has detached it or uses the index again.
 *
 * Ownership: the session owns the attachment. The export and its backend stay while
 * an attachment is bound to them. Each request in flight holds a reference.
 *
 * Concurrency: the member documentation names the lock of each member. Frame handlers
 * find an attachment under RCU. Members that are set before it is found are constant.
 */
#ifndef RNBDT_ATTACH_H
#define RNBDT_ATTACH_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/percpu-refcount.h>
#include <linux/workqueue.h>

#include "../core/attach.h"
#include "../core/op.h"
#include "drr.h"
#include "io_work.h"

struct rnbdt_backend;
struct rnbdt_export;
struct rnbdt_lane;
struct rnbdt_queue;
struct rnbdt_sched;
struct rnbdt_sched_group;
struct rnbdt_session;

/**
 * enum rnbdt_attach_state - state of an attachment
 * @RNBDT_ATTACH_OPEN: requests are executed
 * @RNBDT_ATTACH_CLOSING: requests are answered with RNBD_ST_CLOSED; those that the
 *	storage has are still in flight
 * @RNBDT_ATTACH_CLOSED: it has left its export
 */
enum rnbdt_attach_state {
	RNBDT_ATTACH_OPEN,
	RNBDT_ATTACH_CLOSING,
	RNBDT_ATTACH_CLOSED,
};

/**
 * struct rnbdt_resize - capacity that the client knows
 * @reported: capacity in bytes last reported to the client; host lock
 * @reported_at: jiffies of the latest report of a capacity; host lock
 * @resize_work: reports a changed capacity to the client, on rnbdt_attach_wq
 */
struct rnbdt_resize {
	u64 reported;
	unsigned long reported_at;
	struct delayed_work resize_work;
};

/**
 * struct rnbdt_submit - requests of one queue on the way to the storage of one export
 * @att: attachment; constant
 * @queue: queue, or NULL before its first request; written by its frame handler, always the
 *	same. The first one of an attachment has requests of all queues while the host is in
 *	a cgroup
 * @todo: requests to submit, newest first
 * @submit_work: submits @todo, on the work queue of the backend
 * @submitter: task that runs @submit_work at this time, or NULL; read without a lock
 */
struct rnbdt_submit {
	struct rnbdt_attach *att;
	struct rnbdt_queue *queue;
	struct llist_head todo;
	struct rnbdt_io_work submit_work;
	struct task_struct *submitter;
};

/**
 * struct rnbdt_attach_detach - the DETACH of an attachment
 * @entry: in rnbdt_ctl.detaches while the control work has something to do for it
 * @asked: the client has sent the DETACH and waits for the end of the attachment
 * @replaced: another attachment gets the index; no DETACH is taken any more
 * @keep_owner: the host still owns an exclusive export afterwards, or its ownership was ended;
 *	control work once @asked is set
 * @id: id of the DETACH, which the answer repeats
 *
 * Protected by the lock of the ring of queue 0.
 */
struct rnbdt_attach_detach {
	struct list_head entry;
	bool asked;
	bool replaced;
	bool keep_owner;
	u32 id;
};

/**
 * struct rnbdt_attach_events - what the client must be told about an attachment
 * @entry: in rnbdt_ctl.events while there is something
 * @closed: status of a CLOSED entry to send, or RNBD_ST_OK
 * @capacity: bytes of a CAPACITY entry to send, or 0
 * @detached: a DETACHED entry is to be sent, after which the attachment is freed
 *
 * Protected by the lock of the ring of queue 0.
 */
struct rnbdt_attach_events {
	struct list_head entry;
	u16 closed;
	u64 capacity;
	bool detached;
};

/**
 * struct rnbdt_attach - one export in one session
 * @session: session that owns the attachment; constant
 * @handle: handle; constant
 * @name: name of the export, for messages; constant
 * @ref: requests in flight; killed when the attachment closes
 * @state: enum rnbdt_attach_state; written under the host lock, read without
 * @detach: DETACH of the client
 * @entry: in rnbdt_export.attached while @export is set; lock of attached.c
 * @host_entry: in the hash table of attached.c as long; lock of attached.c, RCU
 * @export: attached export, or NULL when the attachment has left it; host lock
 * @backend: backend of @export; valid while requests are in flight
 * @fence_generation: fence generation of the host when @export was set; constant
 * @owner_generation: owner generation of the export when @export was set, 0 if the export
 *	is not exclusive; constant
 * @readonly: requests that write are refused; constant
 * @limits: limits of the export for the request decoder; host lock protects writes of the
 *	capacity, all else is constant
 * @resize: capacity that the client knows
 * @events: what the client must be told
 * @nr_submits: members of @submits
 * @submits: requests on the way to the storage, by queue; NULL when it has left its export
 * @charged: bytes of its memory that are charged to the host; host lock
 * @sched: scheduler of @backend; as @backend
 * @lane: lane of the host at this storage; written under the lock of @sched, read without
 * @in_cgroup: requests are charged to the cgroup of the host, and a single work item
 *	submits them; written under the lock of @sched, read without
 * @disk: node of the attachment in @sched; the lock of @sched
 * @sched_entry: in the list of attachments of @sched_session; lock of sched_group.c
 * @sched_host: the host at this storage; host lock, constant while requests are in flight
 * @sched_session: the session at this storage; as @sched_host
 * @closed_work: leaves the export when @ref is zero, on rnbdt_attach_wq
 * @free_work: frees the attachment when no frame handler can have found it
 */
struct rnbdt_attach {
	struct rnbdt_session *session;
	struct rnbd_handle handle;
	char name[RNBD_EXPORT_NAME_SIZE];
	struct percpu_ref ref;
	enum rnbdt_attach_state state;
	struct rnbdt_attach_detach detach;
	struct list_head entry;
	struct hlist_node host_entry;
	struct rnbdt_export *export;
	struct rnbdt_backend *backend;
	u32 fence_generation;
	u32 owner_generation;
	bool readonly;
	struct rnbd_export_limits limits;
	struct rnbdt_resize resize;
	struct rnbdt_attach_events events;
	u32 nr_submits;
	struct rnbdt_submit *submits;
	u32 charged;
	struct rnbdt_sched *sched;
	struct rnbdt_lane *lane;
	bool in_cgroup;
	struct rnbdt_drr_node disk;
	struct list_head sched_entry;
	struct rnbdt_sched_group *sched_host;
	struct rnbdt_sched_group *sched_session;
	struct work_struct closed_work;
	struct rcu_work free_work;
};

#endif /* RNBDT_ATTACH_H */
