// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow requests: time-outs of the block layer, and queries about them.
 *
 * Operation
 *
 * Storage that is slow is not a lost connection, which serves other disks. A target that is
 * dead is noticed by its keep-alives. So a request that times out (io_timeout) is counted
 * and logged, and its time begins again. The client asks the target whether it executes the
 * request (QUERY entry). If the target does not know the request, or does not answer the
 * query within another time-out, the connection ends and the request is sent again over the
 * next one. After io_limit the disk is attached again, by its policy.
 *
 * A detach does not wait for slow storage, nor does an attach, which reads the partition
 * table: when a request times out, all I/O of the disk fails.
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
		"seconds until a disk with an unanswered request attaches again, whatever the target answers");

/* Send the next query of a queue, if there is one and a frame for it. */
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
	/* Without a frame the next time-out tries again. */
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
 * enum rnbdc_timeout - what follows from the time-out of a request
 * @RNBDC_TIMEOUT_WAIT: the request waits on
 * @RNBDC_TIMEOUT_LOST: the connection is unusable
 * @RNBDC_TIMEOUT_FAIL: the request fails
 * @RNBDC_TIMEOUT_CLOSE: the disk has to attach again
 */
enum rnbdc_timeout {
	RNBDC_TIMEOUT_WAIT,
	RNBDC_TIMEOUT_LOST,
	RNBDC_TIMEOUT_FAIL,
	RNBDC_TIMEOUT_CLOSE,
};

/* @reason is set unless the request waits on. */
static enum rnbdc_timeout rnbdc_timed_out(struct rnbdc_queue *q, struct rnbdc_req *req,
					  unsigned int timeout, const char **reason)
{
	const struct rnbdc_disk *disk = req->hwq->disk;

	lockdep_assert_held(&q->ring.lock);

	/* The connection is being torn down. */
	if (!q->ring.live || req->state == RNBDC_REQ_HELD)
		return RNBDC_TIMEOUT_WAIT;
	if (req->state != RNBDC_REQ_SENT) {
		/* The first time the answer may have come just now. */
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
	/* Requests that wait for credits have the limit of the keep-alive. */
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

	/* The request may be answered while no task polls for it. */
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
		/* The request must not end before the device has released its pages. */
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
 * Return: RNBD_PERR_NONE, also if the ring has failed, or the protocol error.
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
