// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: from a frame to the backend.
 *
 * Operation
 *
 * The frame handler decodes the requests of a frame, and copies each into the structure of its
 * tag and the inline data of a WRITE to the pool. The request then goes to the backend, unless
 * it must wait in the scheduler because the window of the storage is full (sched.c).
 *
 * If the backend never sleeps, the frame handler calls it directly. Otherwise the request is
 * submitted by a work item of its attachment and queue: the handler shares its completion queue
 * with other queues, and storage that blocks a submitter must not delay other exports. A request
 * that has waited in the scheduler always uses the work item. The limits of a cgroup can block a
 * submitter. So if the host is in a cgroup and the I/O bypasses the page cache, one work item
 * submits the requests of all queues of an attachment, which then occupies only one worker.
 *
 * Before the submission a request is checked against the capacity of the export, which can
 * change while a session is live, and against the read-only flag. reply.c answers a query about
 * a request: the request counts as executing until its reply was put into a frame.
 *
 * Ownership
 *
 * Memory is bounded: the number of request structures follows the number of tags that the client
 * may use (queue_alloc.c), a client cannot use a tag twice at a time, and the number of slots of a
 * ring is limited. The backend owns a request from the moment when it is busy until
 * rnbdt_req_done().
 *
 * Concurrency
 *
 * The frames of a queue are handled one at a time in softirq context. The list of a struct
 * rnbdt_submit is lock-free: handlers and the scheduler add to it, the work item takes all. A
 * closed attachment leaves its export when it has no request and its work items have ended.
 *
 * Errors
 *
 * A malformed request, or a tag in use, is a protocol error, which ends the session. A request
 * that cannot be executed gets a reply with a status, RNBD_ST_CLOSED if its attachment closes or
 * was closed. While the session closes, requests get no reply (epoch.c), and frames that arrive are
 * dropped and counted for the host.
 */

#include <linux/blkdev.h>
#include <linux/llist.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <linux/xarray.h>

#include "../core/frame.h"
#include "../core/inject.h"
#include "../core/io.h"
#include "../core/op.h"
#include "../core/proto_err.h"
#include "../core/status.h"
#include "backend.h"
#include "graph.h"
#include "inject.h"
#include "pool.h"
#include "queue.h"
#include "reply.h"
#include "request.h"
#include "sched.h"
#include "session.h"
#include "trace.h"

static bool reply_batch = true;
module_param(reply_batch, bool, 0644);
MODULE_PARM_DESC(reply_batch,
		 "requests of a frame that complete while the target submits the frame share a reply frame (default Y)");

/**
 * rnbdt_backend_submit - check a request and pass it to the backend
 * @treq: request that the decoder has accepted
 *
 * Context: work item, or a completion handler if the backend is atomic.
 */
static void rnbdt_backend_submit(struct rnbdt_req *treq)
{
	struct rnbdt_attach *att = treq->att;
	u32 error;

	if (unlikely(att->readonly && rnbd_ops[treq->req.op].modifies)) {
		rnbdt_req_done(treq, RNBD_ST_READONLY);
		return;
	}
	/* If the capacity was reduced, the client possibly does not know the new capacity yet. */
	if (unlikely(treq->req.offset + treq->req.length >
		     READ_ONCE(att->backend->geo.capacity))) {
		rnbdt_req_done(treq, RNBD_ST_RANGE);
		return;
	}
	if (rnbd_inject(&rnbdt_inject_fail_request, &error)) {
		rnbdt_req_done(treq, rnbd_errno_status(-(int)error));
		return;
	}
	att->backend->ops->submit(treq);
}

/**
 * rnbdt_submit_work - submit the requests of a struct rnbdt_submit to the storage, oldest first
 * @work: rnbdt_submit.submit_work
 *
 * Context: work item on the work queue of the backend; may sleep in the storage.
 */
void rnbdt_submit_work(struct work_struct *work)
{
	struct rnbdt_submit *submit = container_of(work, struct rnbdt_submit, submit_work.work);
	struct llist_node *todo = llist_reverse_order(llist_del_all(&submit->todo));
	struct rnbdt_io *io = &submit->att->backend->io;
	struct rnbdt_req *treq, *next;
	struct rnbdt_queue *q;
	struct blk_plug plug;

	/* Gather replies until the submission ends, unless a cgroup can delay its end for long. */
	if (READ_ONCE(reply_batch) && likely(!READ_ONCE(submit->att->in_cgroup)))
		WRITE_ONCE(submit->submitter, current);
	blk_start_plug(&plug);
	llist_for_each_entry_safe(treq, next, todo, todo)
		rnbdt_backend_submit(treq);
	blk_finish_plug(&plug);
	WRITE_ONCE(submit->submitter, NULL);
	/*
	 * The queue is not freed before this work item was flushed. The pointer is still NULL if
	 * the host is in a cgroup and only other queues have added requests to the list.
	 */
	q = READ_ONCE(submit->queue);
	if (likely(q))
		rnbdt_queue_submitted(q);
	rnbdt_io_end(io);
}

/* Limits to decode a request whose attachment was detached: its reply is CLOSED in any case. */
static const struct rnbd_export_limits rnbdt_no_limits = {
	.capacity = U64_MAX / 2,
	.max_io = U32_MAX,
	.max_discard = U32_MAX,
	.max_write_zeroes = U32_MAX,
};

/*
 * Find the attachment of a request, trying @att first. Sets @att to NULL if the attachment was
 * detached, even if another attachment uses its index now. Called under RCU.
 */
static enum rnbd_proto_err rnbdt_find_attach(struct rnbdt_session *s,
					     const struct rnbd_handle *handle,
					     struct rnbdt_attach **att)
{
	struct rnbdt_attach *found = *att;

	if (!found || found->handle.index != handle->index)
		found = xa_load(&s->attaches, handle->index);
	if (unlikely(xa_is_value(found))) {
		*att = NULL;
		return handle->generation <= xa_to_value(found) ? RNBD_PERR_NONE :
								  RNBD_PERR_HANDLE;
	}
	if (unlikely(!found || handle->generation > found->handle.generation))
		return RNBD_PERR_HANDLE;
	*att = handle->generation == found->handle.generation ||
	       rnbd_inject(&rnbdt_inject_no_generation, NULL) ? found : NULL;
	return RNBD_PERR_NONE;
}

/*
 * Submit an accepted request or let it wait in the scheduler. If its attachment was closed or
 * detached (@att is NULL), answer CLOSED.
 */
static void rnbdt_queue_begin(struct rnbdt_queue *q, struct rnbdt_req *treq,
			      struct rnbdt_attach *att, const void *data)
{
	struct rnbdt_submit *submit;
	bool in_cgroup;

	treq->att = NULL;
	atomic_inc(&q->inflight);
	if (unlikely(!att || !percpu_ref_tryget_live_rcu(&att->ref))) {
		atomic64_inc(&q->session->host->late_requests);
		rnbdt_req_done(treq, RNBD_ST_CLOSED);
		return;
	}
	submit = &att->submits[q->index];
	WRITE_ONCE(submit->queue, q);
	in_cgroup = READ_ONCE(att->in_cgroup);
	if (unlikely(in_cgroup))
		submit = att->submits;
	treq->att = att;
	treq->submit = submit;
	if (data)
		rnbdt_queue_copy(treq, (void *)data, true);
	trace_rnbdt_request(treq);
	if (unlikely(!rnbdt_sched_enter(treq)))
		return;
	if (att->backend->ops->atomic && likely(!in_cgroup)) {
		rnbdt_backend_submit(treq);
	} else if (llist_add(&treq->todo, &submit->todo)) {
		/* If the list was not empty, the work item was queued for the earlier requests. */
		rnbdt_io_queue(&att->backend->io, &submit->submit_work);
		q->begun++;
	}
}

/* Handle the next request of a frame. Called under RCU. */
static enum rnbd_proto_err rnbdt_queue_request(struct rnbdt_queue *q, struct rnbd_frame *frame,
					       struct rnbd_req_cursor *cursor, u16 *pos,
					       struct rnbdt_attach **att, u64 now)
{
	struct rnbdt_session *s = q->session;
	enum rnbd_proto_err perr;
	struct rnbdt_req *treq;

	perr = rnbd_begin_request(frame, *pos, cursor);
	if (!perr)
		perr = rnbdt_find_attach(s, &cursor->handle, att);
	if (unlikely(perr))
		return perr;
	treq = rnbdt_queue_req(q, le16_to_cpu(cursor->wire.tag));
	/* pairs with the release in rnbdt_queue_send_replies() */
	if (unlikely(!treq || smp_load_acquire(&treq->busy)))
		return RNBD_PERR_TAG;
	/* rnbdt_pool_scan() must not mix extents of this and the previous request of the tag. */
	smp_store_release(&treq->turn, treq->turn + 1);
	smp_wmb(); /* pairs with smp_rmb() in rnbdt_pool_read_req() */
	perr = rnbd_decode_request(frame, pos, cursor, &s->granted.limits,
				   *att ? &(*att)->limits : &rnbdt_no_limits, &treq->req);
	if (unlikely(perr))
		return perr;
	if (unlikely(!rnbdt_pool_allows(&s->pool, &treq->req)))
		return RNBD_PERR_EXTENT;
	treq->closed = false;
	treq->done = false;
	treq->begun = now;
	/* pairs with the acquire in rnbdt_pool_read_req() */
	smp_store_release(&treq->busy, true);
	rnbdt_queue_begin(q, treq, *att, treq->req.data);
	return RNBD_PERR_NONE;
}

/**
 * rnbdt_queue_requests - handle the requests of a frame
 * @q: queue
 * @frame: frame of type RNBD_FRAME_REQUEST
 *
 * Context: completion handler of the queue; does not sleep.
 * Return: RNBD_PERR_NONE, also for a frame that is dropped because the session closes; or a
 * protocol error if the session is not live yet, the frame is malformed, a tag is in use or beyond
 * those that the client may use, an extent is not in a segment of the pool, or no attachment has or
 * had the handle of a request.
 */
enum rnbd_proto_err rnbdt_queue_requests(struct rnbdt_queue *q,
					 struct rnbd_frame *frame)
{
	struct rnbdt_session *s = q->session;
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbdt_attach *att = NULL;
	struct rnbd_req_cursor cursor;
	enum rnbdt_state state;
	u16 pos = 0;
	u64 now;

	/* Pairs with the release that makes the session live. */
	state = smp_load_acquire(&s->state);
	if (unlikely(state < RNBDT_LIVE))
		return RNBD_PERR_TYPE;
	if (unlikely(state > RNBDT_LIVE)) {
		/* Count the frame for the host, because its requests can name several exports. */
		atomic64_inc(&s->host->stale_frames);
		return RNBD_PERR_NONE;
	}
	q->begun = 0;
	rcu_read_lock();
	now = ktime_get_ns();
	while (!perr && pos < frame->nr_entries)
		perr = rnbdt_queue_request(q, frame, &cursor, &pos, &att, now);
	rcu_read_unlock();
	WRITE_ONCE(q->several, q->begun > 1);
	return perr ?: rnbd_decode_end(frame);
}

/**
 * rnbdt_queue_query - handle a query about a request
 * @q: queue
 * @entry: entry of type RNBD_CTL_QUERY
 *
 * Context: completion handler of the queue; does not sleep.
 * Return: RNBD_PERR_NONE, also if the session closes; or a protocol error if the session is not
 * live yet, the entry is malformed, the client may not use the tag, or the previous query was not
 * answered.
 */
enum rnbd_proto_err rnbdt_queue_query(struct rnbdt_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdt_session *s = q->session;
	enum rnbd_proto_err perr;
	struct rnbd_query_info info;
	enum rnbdt_state state;

	/* Pairs with the release that makes the session live. */
	state = smp_load_acquire(&s->state);
	if (state != RNBDT_LIVE)
		return state < RNBDT_LIVE ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
	perr = rnbd_decode_query(entry, s->granted.limits.depth, &info);
	if (!perr && !rnbdt_queue_req(q, info.tag))
		perr = RNBD_PERR_TAG;
	return perr ?: rnbdt_queue_answer(q, entry->id, info.tag);
}
