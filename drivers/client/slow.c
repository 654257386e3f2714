// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow requests: time-outs of the block layer, and queries about them.
 *
 * Operation
 *
 * Storage that is slow is not a lost connection: to end one helps nothing, because the
 * next login waits until the storage has completed the requests. A target that is
 * dead is noticed by its keep-alives. So a request that times out (io_timeout) is
 * counted and logged, and its time begins again. The client asks the target whether
 * it executes the request (QUERY frame). If the target does not know the request, or
 * does not answer the query within another time-out, the connection ends and the
 * request is sent again over the next one. After io_limit the connection ends anyway.
 *
 * One query of a queue is in flight at a time; the answer to it sends the next one. A
 * target sends replies and answers in order, so a request that it does not know and
 * that has had no reply when the answer comes is lost.
 *
 * An answered request waits only for the wire (RDMA READ or SEND) or for its
 * completion by the block layer; if that takes from one time-out to the next, the
 * connection ends.
 *
 * Ownership: nothing is allocated. q->query.req is only compared, and complete.c
 * clears it when the request ends.
 *
 * Concurrency: q->query and the members of requests are protected by ring.lock. The
 * time-outs of a disk are handled one after the other in a work item of the block
 * layer, answers in the completion handler.
 *
 * Errors: an answer that no query awaits is a protocol error.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "../core/frame.h"
#include "../core/io.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "../core/ring_send.h"
#include "disk.h"
#include "queue.h"
#include "session.h"
#include "slow.h"
#include "state.h"
#include "submit.h"

RNBD_PARAM_UINT(io_limit, 3600, 1, 86400,
		"seconds until an unanswered request ends the connection, whatever the target answers");

/* Send the next query of a queue, if there is one and a frame for it. */
static void rnbdc_query_next(struct rnbdc_queue *q)
{
	struct rnbd_query_info info = { .state = RNBD_QUERY_ASK };
	struct rnbd_ring *ring = &q->ring;
	struct rnbdc_req *req = NULL;
	u32 tag;

	lockdep_assert_held(&ring->lock);

	for (tag = 0; tag < q->sess->grant.queue_depth; tag++) {
		req = q->reqs[tag];
		if (req && req->ask && req->state == RNBDC_REQ_SENT && rnbdc_req_posted(req))
			break;
	}
	if (tag == q->sess->grant.queue_depth)
		return;
	if (ring->open)
		rnbdc_send_frame(q);
	/* Without a frame the next time-out tries again. */
	if (!rnbd_ring_open(ring, RNBD_FRAME_QUERY))
		return;
	info.tag = tag;
	rnbd_encode_query(rnbd_ring_add(ring, sizeof(struct rnbd_query), 1), &info);
	req->ask = false;
	q->query = (struct rnbdc_query) {
		.open = true,
		.tag = tag,
		.req = req,
		.sent_at = jiffies,
	};
	rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}

/* Returns the reason to end the connection, or NULL to wait for the request. */
static const char *rnbdc_timed_out(struct rnbdc_queue *q, struct rnbdc_req *req,
				   unsigned int timeout)
{
	lockdep_assert_held(&q->ring.lock);

	/* The connection is being torn down. */
	if (!q->ring.live || req->state == RNBDC_REQ_HELD)
		return NULL;
	/* Neither a detach nor an attach, which reads partitions, waits for slow storage. */
	if (test_bit(RNBDC_DISK_DETACH, &req->hwq->disk->flags) ||
	    !test_bit(RNBDC_DISK_ATTACHED, &req->hwq->disk->flags))
		return "a request was not answered in time";
	if (time_after(jiffies, req->sent_at + READ_ONCE(io_limit) * HZ))
		return "a request was not answered within io_limit";
	if (req->state != RNBDC_REQ_SENT) {
		/* The first time the answer may have come just now. */
		if (req->stuck)
			return "the data of a request were not transferred in time";
		req->stuck = true;
		return NULL;
	}
	/* Requests that wait for credits have the limit of the keep-alive. */
	if (!rnbdc_req_posted(req))
		return NULL;
	if (!req->slow)
		q->stats.slow_requests++;
	req->slow = min(req->slow + 1, U8_MAX);
	req->ask = true;
	if (!q->query.open)
		rnbdc_query_next(q);
	else if (time_after(jiffies, q->query.sent_at + timeout))
		return "the target does not answer a query about a request";
	return NULL;
}

/**
 * rnbdc_timeout_rq - handle the time-out of a request
 * @rq: request that was started and has not completed
 *
 * Context: work item of the block layer; takes ring.lock.
 * Return: BLK_EH_DONE if the request has completed, otherwise BLK_EH_RESET_TIMER.
 */
enum blk_eh_timer_return rnbdc_timeout_rq(struct request *rq)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbdc_queue *q = req->queue;
	const char *reason;
	unsigned long flags;
	unsigned int secs;
	bool slow;

	/* The request may be answered while no task polls for it. */
	rnbd_ring_poll(&q->ring);
	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT)
		return BLK_EH_DONE;

	spin_lock_irqsave(&q->ring.lock, flags);
	reason = rnbdc_timed_out(q, req, rq->timeout);
	slow = req->state == RNBDC_REQ_SENT && req->slow;
	secs = (jiffies - req->sent_at) / HZ;
	spin_unlock_irqrestore(&q->ring.lock, flags);

	/* The request must not end before the device has released its pages. */
	if (reason)
		rnbdc_session_fail(q->sess, reason);
	else if (slow)
		pr_warn_ratelimited("%s: a request has waited %u s for the target's storage\n",
				    rnbdc_disk_name(req->hwq->disk), secs);
	return BLK_EH_RESET_TIMER;
}

/**
 * rnbdc_handle_query - handle the answer to a query about a request
 * @q: queue
 * @frame: frame of type RNBD_FRAME_QUERY
 *
 * Context: completion handler of @q; takes ring.lock.
 * Return: RNBD_PERR_NONE, also if the ring has failed, or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_query(struct rnbdc_queue *q, const struct rnbd_frame *frame)
{
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbd_query_info info;
	unsigned long flags;
	bool lost = false;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (!q->ring.live)
		goto unlock;
	if (!q->query.open) {
		perr = RNBD_PERR_TYPE;
		goto unlock;
	}
	perr = rnbd_decode_query(frame, q->sess->grant.queue_depth, true, &info);
	if (!perr && info.tag != q->query.tag)
		perr = RNBD_PERR_TAG;
	if (perr)
		goto unlock;
	q->query.open = false;
	/* The request still has no reply, although one would have come first. */
	lost = info.state == RNBD_QUERY_UNKNOWN && q->query.req &&
	       q->query.req->state == RNBDC_REQ_SENT;
	q->query.req = NULL;
	if (!lost)
		rnbdc_query_next(q);
unlock:
	spin_unlock_irqrestore(&q->ring.lock, flags);
	if (lost)
		rnbdc_session_fail(q->sess, "the target has lost a request");
	return perr;
}
