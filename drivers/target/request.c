// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: from a frame to the backend.
 *
 * Operation
 *
 * The frame handler decodes the requests of a frame, copies each into the
 * structure that its tag names and passes it to the backend: directly if the
 * backend never sleeps, otherwise through the submit work item of the queue,
 * because the handler shares its completion queue with other queues. Inline data
 * of a WRITE is copied to the pool first. Before the submission a request is
 * checked against what may change while a session is live, the capacity of the
 * export, and against the read-only flag. A query about a request is answered by
 * reply.c, after the replies that were posted before.
 *
 * Ownership
 *
 * Memory is bounded: a queue has as many requests as tags, a client cannot use a
 * tag twice, and the ring has a fixed number of slots. A request belongs to the
 * backend from when it is busy until rnbdt_req_done().
 *
 * Concurrency
 *
 * Frames of one queue are handled one at a time in softirq context. q->todo is a
 * lock-free list: the handler adds, the work item takes all. The teardown waits
 * until q->inflight is zero and flushes the work item before it frees the queue.
 *
 * Errors
 *
 * A malformed request or a tag in use is a protocol error, which ends the session.
 * A request that cannot be executed gets a reply with a status. Frames that arrive
 * when the session closes are counted as stale and dropped.
 */

#include <linux/blkdev.h>
#include <linux/llist.h>
#include <linux/workqueue.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "../core/frame.h"
#include "../core/inject.h"
#include "../core/io.h"
#include "../core/op.h"
#include "../core/proto_err.h"
#include "../core/status.h"
#include "backend.h"
#include "graph.h"
#include "inject.h"
#include "queue.h"
#include "reply.h"
#include "request.h"
#include "session.h"
#include "trace.h"

static bool reply_batch = true;
module_param(reply_batch, bool, 0644);
MODULE_PARM_DESC(reply_batch,
		 "one reply frame for requests of a frame that end while it is submitted (default Y)");

/**
 * rnbdt_backend_submit - check a request and pass it to the backend
 * @treq: request, accepted by the decoder
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
	/* The client may not know yet that the export has shrunk. */
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
 * rnbdt_queue_submit_work - submit the queued requests of a queue in their order
 * @work: rnbdt_queue.submit_work
 *
 * Context: work item of the backend's io_wq; may sleep in the storage.
 */
void rnbdt_queue_submit_work(struct work_struct *work)
{
	struct rnbdt_queue *q = container_of(work, struct rnbdt_queue, submit_work);
	struct llist_node *todo = llist_reverse_order(llist_del_all(&q->todo));
	struct rnbdt_req *treq, *next;
	struct blk_plug plug;

	if (READ_ONCE(reply_batch))
		WRITE_ONCE(q->submitter, current);
	blk_start_plug(&plug);
	llist_for_each_entry_safe(treq, next, todo, todo)
		rnbdt_backend_submit(treq);
	blk_finish_plug(&plug);
	WRITE_ONCE(q->submitter, NULL);
	/* The queue stays until this work item has been flushed. */
	rnbdt_queue_kick(q);
}

/**
 * rnbdt_queue_requests - handle the requests of a frame
 * @q: queue
 * @frame: frame of type RNBD_FRAME_REQUEST
 *
 * Context: completion handler of the queue; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the session is not live yet, the
 * frame is malformed or a tag is in use.
 */
enum rnbd_proto_err rnbdt_queue_requests(struct rnbdt_queue *q,
					 struct rnbd_frame *frame)
{
	struct rnbdt_session *s = q->session;
	struct rnbdt_attach *att = &s->att;
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbd_request req;
	struct rnbdt_req *treq;
	enum rnbdt_state state;
	bool work = false;
	u16 pos = 0;
	u64 now;

	/* Pairs with the release that makes the session live. */
	state = smp_load_acquire(&s->state);
	if (unlikely(state < RNBDT_LIVE))
		return RNBD_PERR_TYPE;
	if (unlikely(state > RNBDT_LIVE)) {
		/* A session may close before it is bound to an export. */
		struct rnbdt_export *export = READ_ONCE(att->export);

		if (export)
			atomic64_inc(&export->stale_frames);
		return RNBD_PERR_NONE;
	}

	now = ktime_get_ns();
	while (pos < frame->nr_entries) {
		perr = rnbd_decode_request(frame, &pos, &s->granted.limits, &att->limits, &req);
		if (unlikely(perr))
			break;
		treq = &q->reqs[req.tag];
		/* pairs with the release in rnbdt_queue_send_replies() */
		if (unlikely(smp_load_acquire(&treq->busy))) {
			perr = RNBD_PERR_TAG;
			break;
		}
		treq->busy = true;
		treq->att = att;
		treq->begun = now;
		memcpy(&treq->req, &req, offsetof(struct rnbd_request, extents) +
		       req.nr_extents * sizeof(req.extents[0]));
		if (req.data)
			rnbdt_queue_copy(treq, (void *)req.data, true);
		trace_rnbdt_request(treq);
		atomic_inc(&q->inflight);
		if (att->backend->ops->atomic)
			rnbdt_backend_submit(treq);
		else
			work |= llist_add(&treq->todo, &q->todo);
	}
	/* Only the first entry of an empty list must queue the work item. */
	if (work)
		queue_work(att->backend->io_wq, &q->submit_work);
	return perr ?: rnbd_decode_end(frame);
}

/**
 * rnbdt_queue_query - handle a query about a request
 * @q: queue
 * @frame: frame of type RNBD_FRAME_QUERY
 *
 * Context: completion handler of the queue; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the session is not live yet, the
 * frame is malformed or the previous query was not answered.
 */
enum rnbd_proto_err rnbdt_queue_query(struct rnbdt_queue *q, const struct rnbd_frame *frame)
{
	struct rnbdt_session *s = q->session;
	enum rnbd_proto_err perr;
	struct rnbd_query_info info;
	enum rnbdt_state state;

	/* Pairs with the release that makes the session live. */
	state = smp_load_acquire(&s->state);
	if (state != RNBDT_LIVE)
		return state < RNBDT_LIVE ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
	perr = rnbd_decode_query(frame, s->granted.limits.depth, false, &info);
	return perr ?: rnbdt_queue_answer(q, info.tag);
}
