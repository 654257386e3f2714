/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attachment: the use of one export by one session.
 *
 * Operation: the client attaches an export under a handle (attach_ctl.c). Each request names its
 * attachment, which leads to the backend and the limits of the export. The client or the target
 * closes an attachment; a closed one accepts no request. When its last request is done, the
 * attachment leaves the export (attached.c). Its structure remains, so that late requests find it
 * and are answered, until the client has detached it, uses the index again, or the session ends.
 *
 * Ownership: the session owns the attachment. The export and its backend exist as long as an
 * attachment is bound to them. Each request in flight holds a reference on its attachment.
 *
 * Concurrency: the member documentation names the lock of each member. Frame handlers look up an
 * attachment under RCU. Constant members are set before frame handlers can find the attachment.
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
 * @RNBDT_ATTACH_CLOSING: new requests are answered with RNBD_ST_CLOSED; earlier requests are
 *	possibly still in the storage
 * @RNBDT_ATTACH_CLOSED: as RNBDT_ATTACH_CLOSING, but the last request has ended, and the
 *	attachment has left its export
 */
enum rnbdt_attach_state {
	RNBDT_ATTACH_OPEN,
	RNBDT_ATTACH_CLOSING,
	RNBDT_ATTACH_CLOSED,
};

/**
 * struct rnbdt_resize - reports of the capacity to the client
 * @reported: capacity in bytes last reported to the client; host lock
 * @reported_at: jiffies of the latest CAPACITY entry; at the ATTACH, a time so long ago that the
 *	first CAPACITY entry need not wait; host lock
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
 * @queue: queue to which this structure belongs, or NULL before the first request from that queue;
 *	only set by the frame handler of that queue. While the host is in a cgroup,
 *	rnbdt_attach.submits[0] takes the requests of all queues
 * @todo: requests to submit, newest first
 * @submit_work: submits @todo, on the work queue of the backend
 * @submitter: task that is running @submit_work, or NULL; read without a lock
 */
struct rnbdt_submit {
	struct rnbdt_attach *att;
	struct rnbdt_queue *queue;
	struct llist_head todo;
	struct rnbdt_io_work submit_work;
	struct task_struct *submitter;
};

/**
 * struct rnbdt_attach_detach - DETACH of an attachment
 * @entry: in rnbdt_ctl.detaches while the control work must handle the DETACH
 * @asked: the client has sent the DETACH and waits for the end of the attachment
 * @replaced: another attachment takes the index; a DETACH is no longer accepted
 * @keep_owner: the control work must not end the ownership of an exclusive export: the client
 *	keeps the ownership, or the control work has ended it already for this DETACH; used only
 *	by the control work once @asked is set
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
 * struct rnbdt_attach_events - events of an attachment that the target reports to the client
 * @entry: in rnbdt_ctl.events while an event must be sent
 * @closed: status of the CLOSED entry to send, or RNBD_ST_OK for no entry
 * @capacity: bytes in the CAPACITY entry to send, or 0 for no entry
 * @detached: a DETACHED entry must be sent; the attachment is freed afterwards
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
 * struct rnbdt_attach - use of one export by one session
 * @session: session that owns the attachment; constant
 * @handle: handle; constant
 * @name: name of the export; constant, and valid after the attachment has left the export
 * @ref: requests in flight; killed when the attachment closes
 * @state: enum rnbdt_attach_state; written under the host lock, read without a lock
 * @detach: DETACH of the client
 * @entry: in rnbdt_export.attached while @export is set; lock of attached.c
 * @host_entry: in the hash table of attached.c while @export is set; lock of attached.c, RCU
 * @export: attached export; NULL before the attachment is bound and after it has left the
 *	export; host lock
 * @backend: backend of @export; valid while requests are in flight
 * @fence_generation: fence generation of the host when @export was set; constant
 * @owner_generation: owner generation of the export when @export was set, 0 if the export
 *	is not exclusive; constant
 * @readonly: requests that write are refused; constant
 * @limits: limits of the export for the request decoder; constant, except the capacity, which is
 *	written under the host lock
 * @resize: reports of the capacity to the client
 * @events: events to report to the client
 * @nr_submits: number of elements of @submits
 * @submits: requests on the way to the storage, by queue; freed and set to NULL when the last
 *	request of a closed attachment has ended
 * @charged: bytes of memory of the attachment that are charged to the host; host lock
 * @sched: scheduler of @backend; valid while @backend is valid
 * @lane: lane of the host at this storage; written under the lock of @sched, read without a lock
 * @in_cgroup: requests are charged to the cgroup of the host, and a single work item
 *	submits them; written under the lock of @sched, read without a lock
 * @disk: node of the attachment in @sched; protected by the lock of @sched
 * @sched_entry: in the list of attachments of @sched_session; lock of sched_group.c
 * @sched_host: group of the host in @sched; host lock, constant while requests are in flight
 * @sched_session: group of the session in @sched; locked as @sched_host
 * @closed_work: removes the attachment from its export when @ref is zero, on rnbdt_attach_wq
 * @free_work: frees the attachment after a grace period, when no frame handler can use it
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
