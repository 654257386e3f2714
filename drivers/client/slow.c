// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow requests: time-outs of the block layer, and queries to the target.
 *
 * Operation
 *
 * Slow storage must not end the connection, which serves other disks; keep-alives
 * detect a dead target. So when a request times out (io_timeout), the client counts and
 * logs it, restarts its timer, and asks the target whether it still executes the request
 * (QUERY entry). The connection ends if the target does not know the request, or does not
 * answer the query within another io_timeout; recover.c then handles the request as after any
 * loss. If a request is unanswered for longer than io_limit, the client abandons the attachment
 * of the disk and attaches the export again. The policy of the disk decides whether I/O waits
 * or fails until the export is attached again.
 *
 * Neither a detach nor an attach, which reads the partition table, waits for slow
 * storage: when a request times out during a detach or an attach, all I/O of the disk fails.
 *
 * Each queue has at most one query in flight; after its answer the client sends the next query.
 * On a queue, the target sends replies to requests and answers to queries in order. So if the
 * target answers that it does not know a request, and no reply to the request has arrived before
 * this answer, the target has lost the request.
 *
 * A request that was answered or ended early waits only for its RDMA READ or SEND, or for its
 * completion by the block layer. If it times out twice in this state, the connection ends.
 *
 * Ownership: Nothing is allocated. q->query.req points to a request in flight; complete.c
 * and orphan.c clear it when the request ends.
 *
 * Concurrency: ring.lock protects q->query and the members of requests. A work item of the
 * block layer handles the time-outs of a disk one after the other. The completion
 * handler handles answers.
 *
 * Errors: An answer without a query in flight is a protocol error.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "../core/ctl.h"
#include "../core/io.h"
#include "../core/param.h"
#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "../core/ring_send.h"
#include "cancel.h"
#include "disk.h"
#include "queue.h"
#include "session.h"
#include "slow.h"
#include "state.h"
#include "submit.h"

RNBD_PARAM_UINT(io_limit, 3600, 1, 86400,
		"seconds until a disk with an unanswered request gives up its attachment and attaches the export again, whatever the target answers");

/* Send the next query of a queue, if a request needs one and a frame is available. */
static void rnbdc_query_next(struct rnbdc_queue *q)
{
	struct rnbd_ctl_query wire;
	const struct rnbd_ctl_entry entry = {
		.type = RNBD_CTL_QUERY,
		.mandatory = true,
		.body = &wire,
		.bytes = sizeof(wire),
	};
	struct rnbd_query_info info = { };
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
	/* If no frame is free, the next time-out of the request tries to send the query. */
	if (!rnbd_ring_can_open(ring))
		return;
	info.tag = tag;
	rnbd_encode_query(&wire, &info);
	req->ask = false;
	q->query = (struct rnbdc_query) {
		.open = true,
		.tag = tag,
		.req = req,
		.sent_at = jiffies,
	};
	rnbd_ring_post_ctl(ring, &entry);
}

/**
 * enum rnbdc_timeout - action after the time-out of a request
 * @RNBDC_TIMEOUT_WAIT: let the request wait longer
 * @RNBDC_TIMEOUT_LOST: end the connection
 * @RNBDC_TIMEOUT_FAIL: fail the request
 * @RNBDC_TIMEOUT_CLOSE: abandon the attachment of the disk, and attach the export again unless
 *	the disk is ending
 */
enum rnbdc_timeout {
	RNBDC_TIMEOUT_WAIT,
	RNBDC_TIMEOUT_LOST,
	RNBDC_TIMEOUT_FAIL,
	RNBDC_TIMEOUT_CLOSE,
};

/* Decide about a timed-out request. *@reason is valid only for a result other than WAIT. */
static enum rnbdc_timeout rnbdc_timed_out(struct rnbdc_queue *q, struct rnbdc_req *req,
					  unsigned int timeout, const char **reason)
{
	const struct rnbdc_disk *disk = req->hwq->disk;

	lockdep_assert_held(&q->ring.lock);

	/* The connection has failed: recovery takes the request back. */
	if (!q->ring.live || req->state == RNBDC_REQ_HELD)
		return RNBDC_TIMEOUT_WAIT;
	if (req->state != RNBDC_REQ_SENT) {
		/* Wait once more: the reply can have arrived just before the first time-out. */
		*reason = "the data of a request were not transferred in time";
		if (req->stuck)
			return RNBDC_TIMEOUT_LOST;
		req->stuck = true;
		return RNBDC_TIMEOUT_WAIT;
	}
	*reason = "a request was not answered in time";
	if (READ_ONCE(disk->state) == RNBDC_FAILED)
		return RNBDC_TIMEOUT_FAIL;
	/* Neither a detach nor an attach, which reads partitions, waits for slow storage. */
	if (rnbdc_disk_ending(disk) || !test_bit(RNBDC_DISK_ATTACHED, &disk->flags))
		return RNBDC_TIMEOUT_CLOSE;
	*reason = "a request was not answered within io_limit";
	if (time_after(jiffies, req->sent_at + READ_ONCE(io_limit) * HZ))
		return RNBDC_TIMEOUT_CLOSE;
	/*
	 * The frame is still open: it is sent when an earlier SEND completes. If that SEND
	 * fails, the connection ends.
	 */
	if (!rnbdc_req_posted(req))
		return RNBDC_TIMEOUT_WAIT;
	if (!req->slow)
		q->stats.slow_requests++;
	req->slow = min(req->slow + 1, U8_MAX);
	req->ask = true;
	*reason = "the target does not answer a query about a request";
	if (!q->query.open)
		rnbdc_query_next(q);
	else if (time_after(jiffies, q->query.sent_at + timeout))
		return RNBDC_TIMEOUT_LOST;
	return RNBDC_TIMEOUT_WAIT;
}

/**
 * rnbdc_timeout_rq - handle the time-out of a request
 * @rq: request that was started and has not completed
 *
 * Context: work item of the block layer; takes ring.lock and the lock of the session.
 * Return: BLK_EH_DONE if the request has completed, otherwise BLK_EH_RESET_TIMER.
 */
enum blk_eh_timer_return rnbdc_timeout_rq(struct request *rq)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbdc_disk *disk = req->hwq->disk;
	struct rnbdc_queue *q = req->queue;
	enum rnbdc_timeout todo;
	const char *reason;
	unsigned long flags;
	unsigned int secs;
	bool slow;

	/* The reply can have arrived on a polled queue that no task polls. */
	rcu_read_lock();
	rnbd_ring_poll(&q->ring);
	rcu_read_unlock();
	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT)
		return BLK_EH_DONE;

	spin_lock_irqsave(&q->ring.lock, flags);
	todo = rnbdc_timed_out(q, req, rq->timeout, &reason);
	slow = req->state == RNBDC_REQ_SENT && req->slow;
	secs = (jiffies - req->sent_at) / HZ;
	spin_unlock_irqrestore(&q->ring.lock, flags);

	switch (todo) {
	case RNBDC_TIMEOUT_LOST:
		/* Teardown takes the request back, after the device has released its pages. */
		rnbdc_session_fail(q->sess, reason);
		break;
	case RNBDC_TIMEOUT_CLOSE:
		spin_lock_irqsave(&q->sess->lock, flags);
		rnbdc_disk_closed(disk, reason);
		spin_unlock_irqrestore(&q->sess->lock, flags);
		break;
	case RNBDC_TIMEOUT_FAIL:
		rnbdc_fail_request(rq);
		break;
	case RNBDC_TIMEOUT_WAIT:
		if (slow)
			pr_warn_ratelimited("%s: a request has waited %u s for the target's storage\n",
					    rnbdc_disk_name(disk), secs);
		break;
	}
	return blk_mq_rq_state(rq) == MQ_RQ_IN_FLIGHT ? BLK_EH_RESET_TIMER : BLK_EH_DONE;
}

/**
 * rnbdc_handle_query - handle the answer to a query about a request
 * @q: queue
 * @entry: entry of type RNBD_CTL_QUERY_REPLY
 *
 * Context: completion handler of @q; takes ring.lock.
 * Return: the protocol error, or RNBD_PERR_NONE if there is none or the ring has failed.
 */
enum rnbd_proto_err rnbdc_handle_query(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry)
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
	perr = rnbd_decode_query(entry, q->sess->grant.queue_depth, &info);
	if (!perr && info.tag != q->query.tag)
		perr = RNBD_PERR_TAG;
	if (perr)
		goto unlock;
	q->query.open = false;
	/* A reply would have arrived before this answer, so the target has lost the request. */
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
