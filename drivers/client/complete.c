// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion of requests: replies and RDMA READs.
 *
 * Operation
 *
 * rnbdc_handle_replies() handles a frame of replies. A write with RDMA WRITEs is complete when
 * its reply has come and the SEND of its frame has completed. The data of a read come inside
 * the reply, or an RDMA READ fetches them. The READs for the replies of a frame form one or more
 * batches, and are posted at the end of the frame, or earlier if the stage is full. Only the
 * last READ of a batch is signalled, and its completion completes all reads of the batch. All
 * other requests are complete when their reply has come. rnbdc_note_durable() records
 * acknowledged writes and flushes, so that offer.c can find writes that a restart of the
 * target has possibly lost.
 *
 * Ownership
 *
 * The pages of a request belong to the device from the post until the SEND that follows the
 * RDMA WRITE, or the RDMA READ itself, has completed. Pool space of a write is freed when
 * its reply has come, because the target no longer uses it. Pool space of a read is freed
 * when its RDMA READ has completed or, with early release, as soon as the READ is posted;
 * see stage.c for the send fence.
 *
 * Concurrency
 *
 * Completions of a queue are handled one at a time. ring.lock is taken once per reply frame
 * or completion. Requests are handed to the block layer without ring.lock.
 *
 * Errors
 *
 * A request that the target answers with an error ends with that error, which is a path
 * error only if the target has lost its storage (core/status.c). A request that the target
 * did not execute, because it lacked memory or had closed the attachment, is sent again after
 * a pause, as often as necessary; it fails if the disk is being detached or deactivated. A
 * protocol error or a failed work request ends the connection; cancel.c then takes the
 * requests back.
 */

#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../core/frame.h"
#include "../core/io.h"
#include "../core/names.h"
#include "../core/op.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/status.h"
#include "batch.h"
#include "bounce.h"
#include "cache.h"
#include "client.h"
#include "complete.h"
#include "data.h"
#include "disk.h"
#include "orphan.h"
#include "queue.h"
#include "session.h"
#include "stage.h"
#include "stall.h"
#include "state.h"
#include "submit.h"
#include "trace.h"

/* Bytes at which a batch of READs ends, so that its reads do not wait for later READs. */
#define RNBDC_READ_BATCH_BYTES	(256 * 1024)

/* Milliseconds until a request that the target did not execute is sent again. */
#define RNBDC_NOMEM_DELAY_MS	20
/* Milliseconds until a read whose pages could not be mapped is sent again. */
#define RNBDC_RETRY_MS		10

static void rnbdc_retry_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(to_delayed_work(work), struct rnbdc_disk,
					       retry_work);

	blk_mq_kick_requeue_list(disk->gd->queue);
}

/**
 * rnbdc_retry_init - initialise the work item that sends requests again
 * @disk: disk that is being allocated
 *
 * Context: any.
 */
void rnbdc_retry_init(struct rnbdc_disk *disk)
{
	INIT_DELAYED_WORK(&disk->retry_work, rnbdc_retry_work);
}

/*
 * Send a request again after a pause. Unlike blk_mq_delay_kick_requeue_list(), this function
 * does not prolong the pause of requests that already wait.
 */
static void rnbdc_retry(struct rnbdc_disk *disk, struct request *rq, unsigned int ms)
{
	blk_mq_requeue_request(rq, false);
	queue_delayed_work(rnbdc_timer_wq, &disk->retry_work, msecs_to_jiffies(ms));
}

/**
 * rnbdc_complete_rq - unmap a finished request and end or requeue it
 * @rq: request that no posted work request refers to
 *
 * Context: any, without ring.lock; also the block layer's completion softirq.
 */
void rnbdc_complete_rq(struct request *rq)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbdc_disk *disk = req->hwq->disk;

	rnbdc_req_unmap(req);
	if (unlikely(req->replay)) {
		/* While queue 0 is closed, recovery kicks the list when I/O resumes or fails. */
		if (READ_ONCE(disk->sess->queues[0]->ready))
			rnbdc_retry(disk, rq, RNBDC_RETRY_MS);
		else
			blk_mq_requeue_request(rq, false);
	} else if (unlikely(req->status == BLK_STS_RESOURCE)) {
		/* A detach must not wait until the target has memory for the request. */
		if (rnbdc_disk_ending(disk))
			blk_mq_end_request(rq, rnbdc_lost_status(disk));
		else
			rnbdc_retry(disk, rq, RNBDC_NOMEM_DELAY_MS);
	} else {
		blk_mq_end_request(rq, req->status);
	}
}

static void rnbdc_complete_batch(struct io_comp_batch *iob)
{
	struct request *rq;

	rq_list_for_each(&iob->req_list, rq)
		rnbdc_req_unmap(blk_mq_rq_to_pdu(rq));
	blk_mq_end_request_batch(iob);
}

/**
 * rnbdc_disk_complete - hand a finished request to the block layer
 * @rq: request with rnbdc_req.status set
 * @iob: batch of requests that end together; the caller must later call iob->complete if set
 *
 * The queue attribute rq_affinity decides which processor ends the request. On any processor
 * the request is MQ_RQ_COMPLETE before it ends, so that its time-out handler ignores it.
 *
 * Context: completion handler, without ring.lock.
 */
static void rnbdc_disk_complete(struct request *rq, struct io_comp_batch *iob)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);

	/* Fault injection of the block layer: drop the completion, so the request times out. */
	if (unlikely(blk_should_fake_timeout(rq->q)))
		return;
	if (blk_mq_complete_request_remote(rq))
		return;
	if (!rnbdc_add_to_batch(rq, iob, req->replay, req->status, rnbdc_complete_batch))
		rnbdc_complete_rq(rq);
}

/* Hand finished requests to the block layer and start hardware queues. */
static void rnbdc_finish(struct rnbdc_req *done, struct rnbdc_hwq *start)
{
	DEFINE_IO_COMP_BATCH(iob);

	while (done) {
		struct rnbdc_req *req = done;

		done = req->next;
		rnbdc_disk_complete(blk_mq_rq_from_pdu(req), &iob);
	}
	if (iob.complete)
		iob.complete(&iob);
	while (start) {
		struct rnbdc_hwq *hwq = start;

		start = hwq->next_start;
		blk_mq_start_stopped_hw_queue(hwq->hctx, true);
	}
}

/*
 * Free the wire tag and the pool space of a finished request, unless an orphan has taken them
 * over. Add the request to the list @done, which the caller must hand to the block layer.
 */
static void rnbdc_retire(struct rnbdc_queue *q, struct rnbdc_req *req,
			 struct rnbdc_req **done)
{
	if (likely(!req->orphaned)) {
		rnbdc_free_space(q, req);
		q->reqs[req->wire.tag] = NULL;
		q->free_tags[q->nr_free_tags++] = req->wire.tag;
		rnbdc_hwq_put_tag(req->hwq);
		q->in_flight--;
	}
	if (unlikely(q->query.req == req))
		q->query.req = NULL;
	req->state = RNBDC_REQ_IDLE;
	req->next = *done;
	*done = req;
}

static void rnbdc_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbdc_req *last = container_of(wc->wr_cqe, struct rnbdc_req, read_cqe);
	struct rnbdc_queue *q = last->queue;
	struct rnbdc_req *req, *next, *done = NULL;
	unsigned long flags;
	struct rnbdc_hwq *start;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rnbdc_data_failed(q, wc);
		return;
	}
	for (req = last->batch; req && q->sess->opt.copy; req = req->next)
		rnbdc_bounce_copy(q, req);

	spin_lock_irqsave(&q->ring.lock, flags);
	rnbdc_cache_completed(&q->cache);
	if (q->send_fence == last)
		q->send_fence = NULL;
	for (req = last->batch; req; req = next) {
		next = req->next;
		q->sq_free += req->wrs;
		rnbdc_retire(q, req, &done);
	}
	start = rnbdc_restart_hw_queues(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
	rnbdc_finish(done, start);
}

/* Requests whose READs are staged and share one signalled completion. */
struct rnbdc_batch {
	struct rnbdc_req *reqs;
	struct rnbdc_req *last;
	u32 bytes;
};

/* End a batch: signal its last READ, whose completion completes all requests of the batch. */
static void rnbdc_batch_close(struct rnbdc_queue *q, struct rnbdc_batch *batch)
{
	struct rnbdc_req *req;

	if (!batch->last)
		return;
	rnbdc_read_guard(q);
	batch->last->batch = batch->reqs;
	rnbdc_stage_last(&q->in)->wr_cqe = &batch->last->read_cqe;
	rnbdc_stage_last(&q->in)->send_flags |= IB_SEND_SIGNALED;
	rnbdc_cache_posted(&q->cache);

	if (READ_ONCE(q->sess->early_release) && !q->sess->opt.copy) {
		q->send_fence = batch->last;
		for (req = batch->reqs; req; req = req->next)
			rnbdc_free_space(q, req);
	}
	memset(batch, 0, sizeof(*batch));
}

static void rnbdc_batch_add(struct rnbdc_queue *q, struct rnbdc_batch *batch,
			    struct rnbdc_req *req)
{
	req->state = RNBDC_REQ_FETCHING;
	req->read_cqe.done = rnbdc_read_done;
	rnbdc_stage_req(q, &q->in, req);
	req->next = batch->reqs;
	batch->reqs = req;
	batch->last = req;
	batch->bytes += req->wire.length;
	if (batch->bytes >= RNBDC_READ_BATCH_BYTES)
		rnbdc_batch_close(q, batch);
}

/* Convert a status. RNBD_ST_NOMEM and RNBD_ST_CLOSED yield BLK_STS_RESOURCE: send again. */
static blk_status_t rnbdc_blk_status(u16 status)
{
	return likely(status == RNBD_ST_OK) ? BLK_STS_OK :
					      errno_to_blk_status(rnbd_status_errno(status));
}

/*
 * If the export has a volatile cache, record when a successful flush was sent, or when a write
 * that needs a flush to be durable was acknowledged.
 */
static void rnbdc_note_durable(const struct rnbdc_req *req)
{
	struct rnbdc_disk *disk = req->hwq->disk;

	if (!(disk->geo.flags & RNBD_EXPORT_VOLATILE_CACHE) ||
	    req->status != BLK_STS_OK)
		return;
	if (rnbd_ops[req->wire.op].flushes) {
		u64 old = READ_ONCE(disk->flushed_ns);

		/* Keep the latest time: a flush on another queue was possibly sent later. */
		while (old < req->flush_ns &&
		       !try_cmpxchg64(&disk->flushed_ns, &old, req->flush_ns))
			;
	} else if (rnbd_op_needs_flush(req->wire.op, req->wire.flags)) {
		req->hwq->last_write_ns = ktime_get_ns();
	}
}

/*
 * Handle a reply with the status CLOSED: the target has closed the attachment and has not
 * executed the request. Do not wait for the CLOSED entry, which possibly comes later on queue 0.
 */
static void rnbdc_answered_closed(const struct rnbdc_req *req)
{
	struct rnbdc_disk *disk = req->hwq->disk;

	atomic64_inc(&disk->stats.resent_requests);
	spin_lock(&disk->sess->lock);
	if (rnbd_handle_equal(&req->wire.handle, &disk->handle))
		rnbdc_disk_closed(disk, rnbd_status_text(RNBD_ST_REMOVED));
	spin_unlock(&disk->sess->lock);
}

static enum rnbd_proto_err rnbdc_complete_reply(struct rnbdc_queue *q,
						const struct rnbd_reply *reply,
						struct rnbdc_batch *batch,
						struct rnbdc_req **done)
{
	struct rnbd_ring *ring = &q->ring;
	struct rnbdc_req *req = q->reqs[reply->tag];
	enum rnbd_proto_err perr;

	if (unlikely(!req))
		return rnbdc_orphan_reply(q, reply);
	/* The target replied twice, or before the request was sent. */
	if (unlikely(req->state != RNBDC_REQ_SENT ||
		     (ring->open && req->frame_seq == ring->send_seq)))
		return RNBD_PERR_TAG;
	perr = rnbd_check_reply(reply, &req->wire);
	if (unlikely(perr))
		return perr;

	req->status = rnbdc_blk_status(reply->status);
	if (unlikely(reply->status == RNBD_ST_NOMEM))
		q->stats.nomem_retries++;
	else if (unlikely(reply->status == RNBD_ST_CLOSED))
		rnbdc_answered_closed(req);
	rnbdc_note_durable(req);
	trace_rnbdc_reply(q, req);
	if (rnbd_op_data_in(req->wire.op)) {
		if (reply->is_inline) {
			rnbdc_inline_read(q, req, reply->data);
		} else if (reply->status == RNBD_ST_OK && rnbdc_map_late(q, req)) {
			rnbdc_batch_add(q, batch, req);
			return RNBD_PERR_NONE;
		}
		q->sq_free += req->wrs;
		rnbdc_retire(q, req, done);
	} else if (rnbd_op_data_out(req->wire.op) && req->wrs &&
		   (s32)(req->frame_seq - q->sent_seq) >= 0) {
		/* The reply has overtaken the completion of the SEND. */
		rnbdc_free_space(q, req);
		req->state = RNBDC_REQ_WAIT_SENT;
		req->next = q->waiting;
		q->waiting = req;
	} else {
		rnbdc_retire(q, req, done);
	}
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_handle_replies - handle a frame of replies
 * @q: queue
 * @frame: frame of type RNBD_FRAME_REPLY
 *
 * Context: completion handler of @q; takes ring.lock.
 * Return: RNBD_PERR_NONE, also if the ring has failed, or the protocol error, after
 * which the caller ends the connection.
 */
enum rnbd_proto_err rnbdc_handle_replies(struct rnbdc_queue *q,
					 struct rnbd_frame *frame)
{
	struct rnbdc_req *done = NULL;
	struct rnbdc_batch batch = { };
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbd_reply reply;
	unsigned long flags;
	struct rnbdc_hwq *start;
	u16 i;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (unlikely(!q->ring.live)) {
		spin_unlock_irqrestore(&q->ring.lock, flags);
		return RNBD_PERR_NONE;
	}
	for (i = 0; i < frame->nr_entries && !perr; i++) {
		perr = rnbd_decode_reply(frame, i, q->sess->grant.queue_depth, &reply);
		if (likely(!perr))
			perr = rnbdc_complete_reply(q, &reply, &batch, &done);
	}
	if (likely(!perr))
		perr = rnbd_decode_end(frame);
	rnbdc_batch_close(q, &batch);
	rnbdc_stage_post(q, &q->in);
	start = rnbdc_restart_hw_queues(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);

	rnbdc_finish(done, start);
	return perr;
}

/**
 * rnbdc_queue_sent - handle the completion of a SEND
 * @ring: ring of the queue
 * @seq: number of the frame; all frames before it have completed, too
 * @note: number of RDMA WRITEs that were posted for the frame
 *
 * The function completes the writes that waited for this SEND, and sends the open frame, in
 * which requests were gathered until now.
 *
 * Context: completion handler (rnbd_ring_ops.sent); takes ring.lock.
 */
void rnbdc_queue_sent(struct rnbd_ring *ring, u32 seq, u32 note)
{
	struct rnbdc_queue *q = container_of(ring, struct rnbdc_queue, ring);
	struct rnbdc_req *req, *next, *keep = NULL, *done = NULL;
	unsigned long flags;
	struct rnbdc_hwq *start;

	spin_lock_irqsave(&ring->lock, flags);
	q->sent_seq = seq + 1;
	q->sq_free += note;
	if (note)
		rnbdc_cache_completed(&q->cache);
	for (req = q->waiting; req; req = next) {
		next = req->next;
		if ((s32)(req->frame_seq - q->sent_seq) >= 0) {
			req->next = keep;
			keep = req;
		} else {
			rnbdc_retire(q, req, &done);
		}
	}
	q->waiting = keep;
	if (ring->open && ring->live)
		rnbdc_send_frame(q);
	start = rnbdc_restart_hw_queues(q);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbdc_finish(done, start);
}

/**
 * rnbdc_queue_credit - restart stopped hardware queues, for example after credits have arrived
 * @ring: ring of the queue
 *
 * Context: completion handler (rnbd_ring_ops.credit), or process context under RCU; takes
 * ring.lock.
 */
void rnbdc_queue_credit(struct rnbd_ring *ring)
{
	struct rnbdc_queue *q = container_of(ring, struct rnbdc_queue, ring);
	unsigned long flags;
	struct rnbdc_hwq *start;

	spin_lock_irqsave(&ring->lock, flags);
	start = rnbdc_restart_hw_queues(q);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbdc_finish(NULL, start);
}
