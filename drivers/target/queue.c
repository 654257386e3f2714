// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue of a session: frames in, requests to the backend, replies out.
 *
 * Operation
 *
 * The frame handler copies each request of a frame into the structure that its
 * tag names and hands it to the backend, by way of a work item of the queue
 * unless the backend never sleeps: the handler shares its completion queue with
 * others. When the backend is done the request
 * goes to the queue's done list, and replies leave in frames: at once while
 * few reply frames are unacknowledged by the wire, otherwise together when a
 * frame is acknowledged or when there are enough to fill one. Without a credit
 * of the client they wait on the list until credits come.
 *
 * Memory is bounded: there are as many requests as tags, the client cannot use
 * a tag twice, and the ring has fixed slots.
 *
 * Ownership
 *
 * A request belongs to the client while it is not busy (there is nothing in
 * it), to the backend until rnbdt_treq_done(), then to the done list. It is
 * free again just before the frame with its reply is posted, because the
 * client may use the tag again from that moment on.
 *
 * Concurrency
 *
 * Frames of one queue are handled one at a time, in a soft interrupt.
 * Completions of the backend come in any context. The done list is under
 * ring->lock, which sending takes anyway.
 *
 * Errors
 *
 * A frame that breaks a rule ends the session. An error of the backend is a
 * status in a reply.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/blkdev.h>
#include <linux/highmem.h>
#include <linux/slab.h>

#include "target.h"
#include "trace.h"

/* Called under ring->lock. */
static void rnbdt_queue_count(struct rnbd_tqueue *q, const struct rnbd_treq *treq)
{
	q->stats.requests++;
	if (treq->status != RNBD_ST_OK)
		return;
	if (treq->req.op == RNBD_OP_READ)
		q->stats.read_bytes += treq->req.length;
	else if (treq->req.op == RNBD_OP_WRITE)
		q->stats.write_bytes += treq->req.length;
}

/* Does the client take the data of this request inside the reply? */
static bool rnbdt_queue_inline(const struct rnbd_treq *treq)
{
	return treq->req.op == RNBD_OP_READ && treq->status == RNBD_ST_OK &&
	       treq->req.flags & RNBD_REQ_INLINE;
}

/* Between the pool and inline data: a few pages at most. */
static void rnbdt_queue_copy(struct rnbd_treq *treq, void *data, bool to_pool)
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
 * All data that may travel inside the next frame, or nothing: what has to be
 * fetched anyway is fetched together.
 */
static bool rnbdt_queue_take_inline(const struct rnbd_tqueue *q)
{
	u32 entries = sizeof(struct rnbd_frame_hdr) +
		      q->nr_done * sizeof(struct rnbd_reply_entry);

	return q->done_inline && entries <= RNBD_RING_DATA_AT &&
	       q->done_inline <= q->ring.attr.slot_size - RNBD_RING_DATA_AT;
}

/* Called under ring->lock. Without a credit it waits for one, as replies do. */
static void rnbdt_queue_send_resize(struct rnbd_tqueue *q)
{
	struct rnbd_ring *ring = &q->ring;

	if (!rnbd_ring_open(ring, RNBD_FRAME_RESIZE))
		return;
	rnbd_encode_resize(rnbd_ring_add(ring, sizeof(struct rnbd_resize), 1), q->resize);
	WRITE_ONCE(q->resize, 0);
	rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}

/* Called under ring->lock. */
static void rnbdt_queue_send_replies(struct rnbd_tqueue *q)
{
	struct rnbd_ring *ring = &q->ring;

	if (unlikely(q->resize))
		rnbdt_queue_send_resize(q);
	while (q->nr_done) {
		struct rnbd_reply_entry *entry;
		struct rnbd_treq *treq, *next;
		bool others, inlined;

		if (q->nr_done < q->replies_per_frame &&
		    ring->unacked >= rnbdt_reply_gather())
			return;
		if (!rnbd_ring_open(ring, RNBD_FRAME_REPLY))
			return;
		inlined = rnbdt_queue_take_inline(q);
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
		 * Replies that come later gather behind this frame: if the storage
		 * has requests but for the one whose end may have called this.
		 */
		others = atomic_read(&q->inflight) > 2;
		if (rnbd_ring_send(ring, NULL, NULL, others ? IB_SEND_SIGNALED : 0))
			return;
	}
}

static void rnbdt_queue_kick(struct rnbd_tqueue *q)
{
	unsigned long flags;

	/* Whoever adds to the list sends by itself if it can. */
	if (!READ_ONCE(q->nr_done) && !READ_ONCE(q->resize))
		return;
	spin_lock_irqsave(&q->ring.lock, flags);
	rnbdt_queue_send_replies(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/*
 * Does a request end while it is being submitted? Then others of its frame may
 * do so as well, and their replies leave together when all are submitted.
 */
static bool rnbdt_queue_submitting(const struct rnbd_tqueue *q)
{
	return in_task() && READ_ONCE(q->submitter) == current;
}

/**
 * rnbdt_treq_done - a backend has finished a request
 * @treq: request; belongs to the queue from here on
 * @status: enum rnbd_status
 *
 * Context: any.
 */
void rnbdt_treq_done(struct rnbd_treq *treq, u16 status)
{
	struct rnbd_tqueue *q = treq->queue;
	unsigned long flags;

	treq->status = status;
	spin_lock_irqsave(&q->ring.lock, flags);
	if (likely(!treq->stale) && !rnbd_inject(&rnbdt_inject_drop_reply, NULL)) {
		list_add_tail(&treq->entry, &q->done);
		if (rnbdt_queue_inline(treq))
			q->done_inline += treq->req.length;
		WRITE_ONCE(q->nr_done, q->nr_done + 1);
	}
	if (!rnbdt_queue_submitting(q))
		rnbdt_queue_send_replies(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);

	/* The queue may be freed as soon as this is zero. */
	if (atomic_dec_and_test(&q->inflight))
		complete(&q->idle);
}

/**
 * rnbdt_queue_resize - tell the client of another size
 * @q: queue 0 of a live session whose client knows such frames
 * @capacity: bytes; one that is still waiting to be told is forgotten
 *
 * Context: any.
 */
void rnbdt_queue_resize(struct rnbd_tqueue *q, u64 capacity)
{
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	WRITE_ONCE(q->resize, capacity);
	rnbdt_queue_send_replies(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

static void rnbdt_queue_submit_work(struct work_struct *work)
{
	struct rnbd_tqueue *q = container_of(work, struct rnbd_tqueue, submit_work);
	struct llist_node *todo = llist_reverse_order(llist_del_all(&q->todo));
	struct rnbd_treq *treq, *next;
	struct blk_plug plug;

	if (rnbdt_reply_batch())
		WRITE_ONCE(q->submitter, current);
	blk_start_plug(&plug);
	llist_for_each_entry_safe(treq, next, todo, todo)
		rnbdt_backend_submit(treq);
	blk_finish_plug(&plug);
	WRITE_ONCE(q->submitter, NULL);
	/* The queue stays until this work item has been flushed. */
	rnbdt_queue_kick(q);
}

static enum rnbd_fault rnbdt_queue_requests(struct rnbd_tqueue *q,
					    struct rnbd_frame *frame)
{
	struct rnbd_tsession *s = q->session;
	enum rnbd_fault fault = RNBD_FAULT_NONE;
	struct rnbd_request req;
	struct rnbd_treq *treq;
	enum rnbd_tstate state;
	bool work = false;
	u16 pos = 0;

	/* Live comes after all that was set up for it. */
	state = smp_load_acquire(&s->state);
	if (unlikely(state < RNBDT_LIVE))
		return RNBD_FAULT_TYPE;
	if (unlikely(state > RNBDT_LIVE)) {
		/* It may close before it was granted an export. */
		struct rnbd_texport *export = READ_ONCE(s->export);

		if (export)
			atomic64_inc(&export->stale_frames);
		return RNBD_FAULT_NONE;
	}

	while (pos < frame->nr_entries) {
		fault = rnbd_decode_request(frame, &pos, &s->limits, &req);
		if (unlikely(fault))
			break;
		treq = &q->treqs[req.tag];
		/* pairs with the release in rnbdt_queue_send_replies() */
		if (unlikely(smp_load_acquire(&treq->busy))) {
			fault = RNBD_FAULT_TAG;
			break;
		}
		treq->busy = true;
		memcpy(&treq->req, &req, offsetof(struct rnbd_request, runs) +
		       req.nr_runs * sizeof(req.runs[0]));
		if (req.data)
			rnbdt_queue_copy(treq, (void *)req.data, true);
		trace_rnbdt_request(treq);
		atomic_inc(&q->inflight);
		if (s->backend->ops->atomic)
			rnbdt_backend_submit(treq);
		else
			work |= llist_add(&treq->todo, &q->todo);
	}
	/* Only the first on an empty list has to wake the submitter. */
	if (work)
		queue_work(s->backend->submit_wq, &q->submit_work);
	return fault ?: rnbd_decode_end(frame);
}

static enum rnbd_fault rnbdt_queue_frame(struct rnbd_ring *ring,
					 struct rnbd_frame *frame)
{
	struct rnbd_tqueue *q = container_of(ring, struct rnbd_tqueue, ring);
	struct rnbd_tsession *s = q->session;
	enum rnbd_fault fault = RNBD_FAULT_TYPE;

	switch (frame->type) {
	case RNBD_FRAME_REQUEST:
		fault = rnbdt_queue_requests(q, frame);
		break;
	case RNBD_FRAME_LOGIN:
		if (!q->index)
			fault = rnbdt_session_login(s, frame);
		break;
	case RNBD_FRAME_PROOF:
		if (!q->index)
			fault = rnbdt_session_proof(s, frame);
		break;
	}
	if (unlikely(fault))
		return fault;

	/* The frame may have brought credits for replies that wait. */
	rnbdt_queue_kick(q);
	return RNBD_FAULT_NONE;
}

static void rnbdt_queue_sent(struct rnbd_ring *ring, u32 seq, u32 slot)
{
	struct rnbd_tqueue *q = container_of(ring, struct rnbd_tqueue, ring);

	switch (READ_ONCE(q->session->state)) {
	case RNBDT_REFUSED:
		rnbdt_session_refusal_sent(q->session);
		break;
	case RNBDT_LISTING:
		rnbdt_discover_kick(q->session);
		break;
	default:
		rnbdt_queue_kick(q);
		break;
	}
}

static void rnbdt_queue_credit(struct rnbd_ring *ring)
{
	struct rnbd_tqueue *q = container_of(ring, struct rnbd_tqueue, ring);

	if (unlikely(READ_ONCE(q->session->state) == RNBDT_LISTING))
		rnbdt_discover_kick(q->session);
	rnbdt_queue_kick(q);
}

static void rnbdt_queue_violation(struct rnbd_ring *ring, enum rnbd_fault fault)
{
	struct rnbd_tqueue *q = container_of(ring, struct rnbd_tqueue, ring);
	struct rnbd_tsession *s = q->session;

	rnbdt_count(RNBDT_COUNT_VIOLATIONS, fault);
	pr_warn_ratelimited("session %u: host %pUb broke the protocol on queue %u: %s\n",
			    s->serial, &s->host_id, q->index, rnbd_fault_text(fault));
}

static void rnbdt_queue_failed(struct rnbd_ring *ring, const char *why)
{
	struct rnbd_tqueue *q = container_of(ring, struct rnbd_tqueue, ring);

	rnbdt_session_close(q->session, why);
}

const struct rnbd_ring_ops rnbdt_ring_ops = {
	.frame	= rnbdt_queue_frame,
	.sent	= rnbdt_queue_sent,
	.credit	= rnbdt_queue_credit,
	.violation = rnbdt_queue_violation,
	.failed	= rnbdt_queue_failed,
};

/**
 * rnbdt_queue_alloc - memory of a queue that has no ring yet
 * @s: session
 * @index: its place there
 * @id: connection
 *
 * Return: the queue, or NULL.
 */
struct rnbd_tqueue *rnbdt_queue_alloc(struct rnbd_tsession *s, u16 index,
				      struct rdma_cm_id *id)
{
	struct rnbd_tqueue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return NULL;
	rnbd_ring_init(&q->ring);
	q->session = s;
	q->cm_id = id;
	q->index = index;
	init_llist_head(&q->todo);
	INIT_WORK(&q->submit_work, rnbdt_queue_submit_work);
	INIT_LIST_HEAD(&q->done);
	atomic_set(&q->inflight, 1);
	init_completion(&q->idle);
	return q;
}

/**
 * rnbdt_queue_alloc_treqs - make as many requests as there are tags
 * @q: queue of a session whose depth is known
 *
 * Return: 0 or -ENOMEM.
 */
int rnbdt_queue_alloc_treqs(struct rnbd_tqueue *q)
{
	u32 i, depth = q->session->depth;

	q->treqs = kvcalloc(depth, sizeof(*q->treqs), GFP_KERNEL);
	if (!q->treqs)
		return -ENOMEM;
	for (i = 0; i < depth; i++)
		q->treqs[i].queue = q;
	return 0;
}

/**
 * rnbdt_queue_create_ring - make the queue pair of a queue
 * @q: queue
 * @req: what the client asked for
 *
 * Return: 0 or an error.
 */
int rnbdt_queue_create_ring(struct rnbd_tqueue *q,
			    const struct rnbd_conn_req *req)
{
	struct rnbd_tsession *s = q->session;
	struct rnbd_ring_attr attr = {
		.ops = &rnbdt_ring_ops,
		.slots = req->ring_slots,
		.slot_size = req->slot_size,
		.epoch = req->epoch,
		.data_wrs = q->index ? 0 : RNBDT_REG_BATCH,
		.max_send_sge = 1,
		.vector = (s->serial + q->index) % s->dev->num_comp_vectors,
		.poll = IB_POLL_SOFTIRQ,
	};
	int ret;

	q->replies_per_frame = (req->slot_size - sizeof(struct rnbd_frame_hdr)) /
			       sizeof(struct rnbd_reply_entry);
	ret = rnbd_ring_create(&q->ring, q->cm_id, s->pd, &attr);
	if (ret)
		return ret;
	if (!q->index)
		rnbd_ring_pace(&q->ring, rnbdt_login_frames());
	return rnbd_ring_start(&q->ring, req->ring_slots);
}

/**
 * rnbdt_queue_stop - let nothing be posted any more and hang up
 * @q: queue of a closing session, with or without a ring
 *
 * Context: process context.
 */
void rnbdt_queue_stop(struct rnbd_tqueue *q)
{
	if (!q->ring.qp)
		return;
	rnbd_ring_fail(&q->ring, "session closed");
	rdma_disconnect(q->cm_id);
}

/**
 * rnbdt_queue_wait_idle - wait until the backend has no request of a queue
 * @q: drained queue
 *
 * Bios cannot be aborted, so there is no limit of time.
 *
 * Context: process context; called once.
 */
void rnbdt_queue_wait_idle(struct rnbd_tqueue *q)
{
	if (!atomic_dec_and_test(&q->inflight))
		while (!wait_for_completion_timeout(&q->idle, 30 * HZ))
			pr_warn("session %u: queue %u waits for the storage to end %d requests\n",
				q->session->serial, q->index,
				atomic_read(&q->inflight));
	/* It has nothing to do any more, but may still be returning. */
	flush_work(&q->submit_work);
}

/**
 * rnbdt_queue_free - free what rnbdt_queue_alloc() and _alloc_treqs() made
 * @q: queue without a ring
 */
void rnbdt_queue_free(struct rnbd_tqueue *q)
{
	kvfree(q->treqs);
	kfree(q);
}
