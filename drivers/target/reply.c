// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replies: completion of requests, and frames with their replies.
 *
 * Operation
 *
 * A request that the backend has completed is added to the done list of its queue. Its reply is
 * sent at once while fewer than reply_gather frames are unacknowledged, that is, the device has not
 * yet reported the requested completion of their SEND. Otherwise replies gather until a frame is
 * acknowledged or the replies fill a frame. Without a credit of the client, replies stay on the
 * list until credits arrive.
 *
 * Replies to requests that complete while their frame is being submitted wait for the end of the
 * submission (reply_batch). If the frame has requests for several attachments, each attachment has
 * its own work item for submissions. If replies wait when such a work item ends, it queues another
 * work item, reply_work, which sends the replies that are ready when reply_work runs.
 *
 * READ data that the client accepts inside a reply are sent in the frame if such data of all
 * waiting replies fit. Otherwise the frame has no READ data: the client must fetch the data of some
 * replies by RDMA READ anyway, and then fetches the data of all of them together.
 *
 * Control entries (ctl.c) and the answer to a query precede the replies and need a credit, too.
 *
 * Ownership
 *
 * The done list owns a request from rnbdt_req_done() until its reply is put into a frame, which
 * makes the request free. A request with several parts (bios) completes with its last part.
 *
 * Concurrency
 *
 * Backends complete requests in any context. ring->lock, which sending needs anyway, protects
 * the done list. The store (release) to rnbdt_req.busy that frees a request pairs with the acquire
 * of the frame handler.
 *
 * Errors
 *
 * rnbdt_backend_status() maps an errno of the storage to a status, for all kinds of backends.
 * The first error of the parts of a request is its result.
 */

#include <linux/completion.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/percpu-refcount.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>

#include "../core/inject.h"
#include "../core/io.h"
#include "../core/op.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "backend.h"
#include "ctl.h"
#include "graph.h"
#include "inject.h"
#include "pool.h"
#include "queue.h"
#include "reply.h"
#include "sched.h"
#include "target.h"
#include "trace.h"

RNBD_PARAM_UINT(reply_gather, 1, 1, 65535,
		"unacknowledged reply frames from which on further replies are gathered in one frame");

/* Count a reply in the statistics of its queue. Called under ring->lock. */
static void rnbdt_queue_count(struct rnbdt_queue *q, const struct rnbdt_req *treq)
{
	WRITE_ONCE(q->stats.requests, q->stats.requests + 1);
	if (treq->status != RNBD_ST_OK)
		return;
	if (rnbd_op_data_in(treq->req.op))
		WRITE_ONCE(q->stats.read_bytes, q->stats.read_bytes + treq->req.length);
	else if (rnbd_op_data_out(treq->req.op))
		WRITE_ONCE(q->stats.write_bytes, q->stats.write_bytes + treq->req.length);
}

/* Return whether a request is a successful READ whose data the client accepts in the reply. */
static bool rnbdt_queue_inline(const struct rnbdt_req *treq)
{
	return rnbd_op_data_in(treq->req.op) && treq->status == RNBD_ST_OK &&
	       treq->req.flags & RNBD_REQ_INLINE;
}

/**
 * rnbdt_queue_copy - copy data between the pool and a frame
 * @treq: READ or WRITE with inline data, a few pages at most
 * @data: inline data, as long as the request
 * @to_pool: true: copy from @data to the pool; false: copy from the pool to @data
 *
 * Context: any; does not sleep.
 */
void rnbdt_queue_copy(struct rnbdt_req *treq, void *data, bool to_pool)
{
	struct rnbdt_piece it;
	struct page *page;
	u32 bytes;

	rnbdt_piece_start(&it, treq);
	while ((bytes = rnbdt_piece_next(&it, &page))) {
		while (bytes) {
			u32 len = min_t(u32, bytes, PAGE_SIZE);

			if (to_pool)
				memcpy_to_page(page, 0, data, len);
			else
				memcpy_from_page(data, page, 0, len);
			page++;
			data += len;
			bytes -= len;
		}
	}
}

/*
 * Return whether the next frame carries inline data, which requires that the inline data of all
 * waiting replies fit. Otherwise the frame carries none: a client that must fetch some of these
 * data by RDMA READ can fetch all of them in this way.
 */
static bool rnbdt_queue_sends_inline(const struct rnbdt_queue *q)
{
	u32 entries = sizeof(struct rnbd_frame_hdr) +
		      q->nr_done * sizeof(struct rnbd_reply_entry);

	return q->done_inline && entries <= RNBD_RING_DATA_OFFSET &&
	       q->done_inline <= q->ring.attr.slot_size - RNBD_RING_DATA_OFFSET;
}

/* Send the answer to a query; without a credit it stays queued. Called under ring->lock. */
static void rnbdt_queue_send_answer(struct rnbdt_queue *q)
{
	struct rnbd_ring *ring = &q->ring;
	struct rnbd_query_info info = { .tag = q->query - 1 };
	const struct rnbdt_req *treq = rnbdt_queue_req(q, info.tag);
	struct rnbd_ctl_query wire;

	if (!rnbd_ring_open(ring, RNBD_FRAME_CONTROL))
		return;
	/* The request is no longer busy if its reply was put into an earlier frame. */
	info.state = treq && READ_ONCE(treq->busy) ? RNBD_QUERY_EXECUTING : RNBD_QUERY_UNKNOWN;
	rnbd_encode_query(&wire, &info);
	rnbdt_ctl_add(ring, RNBD_CTL_QUERY_REPLY, q->query_id, &wire, sizeof(wire));
	WRITE_ONCE(q->query, 0);
	rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}

/* Test for entries of ctl.c to send; ctl.c sends them on queue 0 only. */
static bool rnbdt_queue_has_ctl(const struct rnbdt_queue *q)
{
	return !q->index && READ_ONCE(q->session->ctl.pending);
}

/* Send waiting entries and replies as far as credits allow. Called under ring->lock. */
static void rnbdt_queue_send_replies(struct rnbdt_queue *q)
{
	struct rnbd_ring *ring = &q->ring;

	if (unlikely(rnbdt_queue_has_ctl(q)))
		rnbdt_ctl_send(q);
	if (unlikely(q->query))
		rnbdt_queue_send_answer(q);
	while (q->nr_done) {
		struct rnbd_reply_entry *entry;
		struct rnbdt_req *treq, *next;
		bool others, inlined;

		if (q->nr_done < q->replies_per_frame &&
		    ring->unacked >= READ_ONCE(reply_gather))
			return;
		if (!rnbd_ring_open(ring, RNBD_FRAME_REPLY))
			return;
		inlined = rnbdt_queue_sends_inline(q);
		list_for_each_entry_safe(treq, next, &q->done, entry) {
			bool may_inline = rnbdt_queue_inline(treq);
			struct rnbd_reply reply = {
				.tag = treq->req.tag,
				.status = treq->status,
				.length = treq->status == RNBD_ST_OK ?
					  treq->req.length : 0,
				.is_inline = inlined && may_inline,
			};

			entry = rnbd_ring_add(ring, sizeof(*entry), 1);
			if (!entry)
				break;
			rnbd_encode_reply(entry, &reply);
			if (may_inline)
				q->done_inline -= treq->req.length;
			if (reply.is_inline)
				rnbdt_queue_copy(treq, rnbd_ring_add_data(ring, reply.length),
						 false);
			rnbdt_queue_count(q, treq);
			trace_rnbdt_reply(treq);
			list_del(&treq->entry);
			q->nr_done--;
			/* pairs with the frame handler's acquire */
			smp_store_release(&treq->busy, false);
		}
		/*
		 * Request a completion of this SEND only if other requests are in flight, whose
		 * replies can gather until the completion. inflight also counts the ring, and
		 * possibly the request that the caller has just completed.
		 */
		others = atomic_read(&q->inflight) > 2;
		if (rnbd_ring_send(ring, NULL, NULL, others ? IB_SEND_SIGNALED : 0))
			return;
	}
}

/**
 * rnbdt_queue_kick - send waiting replies and control entries
 * @q: queue that possibly has a new credit or a free send slot
 *
 * Context: any, without ring->lock; does not sleep.
 */
void rnbdt_queue_kick(struct rnbdt_queue *q)
{
	unsigned long flags;

	/* Check without the lock: a context that adds a reply later also tries to send it. */
	if (!READ_ONCE(q->nr_done) && !READ_ONCE(q->query) && !rnbdt_queue_has_ctl(q))
		return;
	spin_lock_irqsave(&q->ring.lock, flags);
	rnbdt_queue_send_replies(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdt_reply_work - send replies
 * @work: rnbdt_queue.reply_work
 *
 * Context: work item of rnbdt_reply_wq; does not sleep.
 */
void rnbdt_reply_work(struct work_struct *work)
{
	rnbdt_queue_kick(container_of(work, struct rnbdt_queue, reply_work));
}

/**
 * rnbdt_queue_submitted - send the replies that have waited for the end of a submission
 * @q: queue; not freed before the work item that submitted its requests was flushed
 *
 * Context: work item that has submitted requests; does not sleep.
 */
void rnbdt_queue_submitted(struct rnbdt_queue *q)
{
	/*
	 * If the frame has several work items, reply_work sends the replies of those that have
	 * ended by then. Do not wait for the others, because the storage can block them.
	 */
	if (!READ_ONCE(q->several))
		rnbdt_queue_kick(q);
	else if (READ_ONCE(q->nr_done))
		queue_work(rnbdt_reply_wq, &q->reply_work);
}

/*
 * Return whether a request completes during its submission. Other requests of its frame can
 * complete during the same submission, so the replies are sent together when the submission has
 * ended.
 */
static bool rnbdt_queue_submitting(const struct rnbdt_req *treq)
{
	/* The submitter sends only replies of submit->queue, but can submit for other queues. */
	return in_task() && treq->att && READ_ONCE(treq->submit->submitter) == current &&
	       READ_ONCE(treq->submit->queue) == treq->queue;
}

/*
 * Count a request for its export and its host; both exist while the request is in flight. Called
 * before the reply is sent, so that the counters include each request whose reply has arrived.
 */
static void rnbdt_req_count(const struct rnbdt_req *treq)
{
	struct rnbdt_host *host = treq->queue->session->host;

	rnbdt_iostat_count(&treq->att->export->iostat, &host->iostat, treq->req.op, treq->status,
			   treq->req.length, ktime_get_ns() - treq->begun);
}

/**
 * rnbdt_req_done - complete a request
 * @treq: request that the backend has executed, or that was refused; the queue owns it afterwards
 * @status: enum rnbd_status; ignored if rnbdt_may_submit() has refused @treq
 *
 * Context: any, without ring->lock; does not sleep.
 */
void rnbdt_req_done(struct rnbdt_req *treq, u16 status)
{
	struct rnbdt_attach *att = treq->att;
	struct rnbdt_queue *q = treq->queue;
	bool submitting = rnbdt_queue_submitting(treq);
	unsigned long flags;

	WRITE_ONCE(treq->done, true);
	treq->status = unlikely(treq->closed) ? RNBD_ST_CLOSED : status;
	if (likely(!treq->stale && treq->status != RNBD_ST_CLOSED))
		rnbdt_req_count(treq);
	/* Leave the scheduler first: once the reply is sent, the client may use the tag again. */
	if (likely(att))
		rnbdt_sched_leave(treq);
	spin_lock_irqsave(&q->ring.lock, flags);
	if (unlikely(!treq->stale && rnbd_inject(&rnbdt_inject_drop_reply, NULL))) {
		/* Injected fault: the request becomes free, and its reply is never sent. */
		smp_store_release(&treq->busy, false);
	} else if (likely(!treq->stale)) {
		list_add_tail(&treq->entry, &q->done);
		if (rnbdt_queue_inline(treq))
			q->done_inline += treq->req.length;
		WRITE_ONCE(q->nr_done, q->nr_done + 1);
	}
	if (!submitting)
		rnbdt_queue_send_replies(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);

	if (likely(att))
		percpu_ref_put(&att->ref);
	/* The teardown can free the queue as soon as inflight is zero. */
	if (atomic_dec_and_test(&q->inflight))
		complete(&q->idle);
}

/**
 * rnbdt_queue_answer - queue the answer to a query about a request
 * @q: queue of a live session
 * @id: id of the query
 * @tag: tag of the request, below the granted depth
 *
 * Context: completion handler of the queue, without ring->lock.
 * Return: RNBD_PERR_NONE, or RNBD_PERR_RATE if the previous query was not answered.
 */
enum rnbd_proto_err rnbdt_queue_answer(struct rnbdt_queue *q, u32 id, u16 tag)
{
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (q->query) {
		perr = RNBD_PERR_RATE;
	} else {
		q->query_id = id;
		WRITE_ONCE(q->query, tag + 1);
	}
	rnbdt_queue_send_replies(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
	return perr;
}

/**
 * rnbdt_req_start_parts - begin to submit a request in several parts
 * @treq: request
 *
 * The submission itself counts as a part: the caller ends it with rnbdt_req_part_done() after it
 * has submitted all other parts.
 *
 * Context: any.
 */
void rnbdt_req_start_parts(struct rnbdt_req *treq)
{
	treq->error = 0;
	atomic_set(&treq->parts, 1);
}

/**
 * rnbdt_req_part_done - end a part of a request
 * @treq: request; the caller must not use it afterwards
 * @error: negative errno, or 0; the first error of all parts is the result
 *
 * Context: any; does not sleep.
 */
void rnbdt_req_part_done(struct rnbdt_req *treq, int error)
{
	if (unlikely(error))
		cmpxchg(&treq->error, 0, error);
	if (atomic_dec_and_test(&treq->parts))
		rnbdt_req_done(treq, rnbdt_backend_status(treq->att->backend,
							  treq->error));
}
