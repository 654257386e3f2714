// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that end without their reply: after a loss, or early on a live connection.
 *
 * Operation: rnbdc_disk_cancel_requests() takes the requests of a disk back from a drained
 * connection. Each of them is requeued for the next connection, fails, or is held (hold.c).
 * rnbdc_disk_fail_requests() and rnbdc_fail_request() end requests while the connection
 * still serves other disks; each such request leaves an orphan (orphan.c). A write with
 * RDMA WRITEs ends only when the SEND of its frame has completed, because the device can
 * read its pages until then.
 *
 * Ownership: a request that has ended belongs to the block layer. A held request belongs to
 * the disk.
 *
 * Concurrency: a request leaves its queue and becomes MQ_RQ_COMPLETE in one critical section
 * under ring.lock, so that a time-out and recovery do not both end it.
 *
 * Errors: none.
 */

#include <linux/blk-mq.h>
#include <linux/rcupdate.h>

#include "../core/op.h"
#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "cancel.h"
#include "complete.h"
#include "disk.h"
#include "hold.h"
#include "orphan.h"
#include "queue.h"
#include "session.h"
#include "stall.h"
#include "submit.h"

/**
 * rnbdc_queue_abandon - take a request back from a queue without a connection
 * @q: drained queue
 * @req: request in flight; rnbdc_lost_status() becomes its status
 *
 * Context: teardown of the connection; ring.lock held.
 */
static void rnbdc_queue_abandon(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	if (q->reqs && q->reqs[req->wire.tag] == req) {
		q->reqs[req->wire.tag] = NULL;
		rnbdc_hwq_put_tag(req->hwq);
	}
	rnbdc_free_space(q, req);
	req->state = RNBDC_REQ_IDLE;
	req->status = rnbdc_lost_status(req->hwq->disk);
}

/* Arguments of rnbdc_cancel_rq(), see rnbdc_disk_cancel_requests(). */
struct rnbdc_cancel {
	bool replay;
	bool hold;
};

/*
 * Take a request back from its queue. Returns true if this ends the request: no other task
 * then ends it, because it is MQ_RQ_COMPLETE. The caller must call rnbdc_complete_rq(), unless
 * *@remote is set, which means that the block layer calls it on another processor.
 */
static bool rnbdc_take_back(struct rnbdc_req *req, const struct rnbdc_cancel *cancel,
			    bool *remote)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	bool answered = req->state == RNBDC_REQ_WAIT_SENT;
	blk_status_t status = req->status;

	lockdep_assert_held(&req->queue->ring.lock);

	/* Skip a request that a time-out has ended, and a request that is already held. */
	if (blk_mq_request_completed(rq) || req->state == RNBDC_REQ_HELD)
		return false;
	rnbdc_queue_abandon(req->queue, req);
	if (!answered && cancel->hold && rnbdc_must_hold(req)) {
		rnbdc_hold(req);
		return false;
	}
	if (answered) {
		/* Keep the result: the request only waited for its SEND to complete. */
		req->status = status;
		req->replay = false;
	} else {
		req->replay = cancel->replay;
		if (cancel->replay)
			atomic64_inc(&req->hwq->disk->stats.resent_requests);
	}
	*remote = blk_mq_complete_request_remote(rq);
	return true;
}

static bool rnbdc_cancel_rq(struct request *rq, void *data)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	bool ended, remote = false;

	if (!blk_mq_request_started(rq))
		return true;
	spin_lock_irq(&req->queue->ring.lock);
	ended = rnbdc_take_back(req, data, &remote);
	spin_unlock_irq(&req->queue->ring.lock);
	if (ended && !remote)
		rnbdc_complete_rq(rq);
	return true;
}

/**
 * rnbdc_disk_cancel_requests - take back all requests of a disk from a lost connection
 * @disk: disk of a disconnected session, with quiesced queues
 * @replay: requeue the requests in the block layer instead of failing them
 * @hold: hold the modifying requests that the target can still execute, see hold.c
 *
 * On return the block layer owns all requests that are not held, and the pages of all
 * requests are unmapped.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disk_cancel_requests(struct rnbdc_disk *disk, bool replay, bool hold)
{
	struct rnbdc_cancel cancel = { .replay = replay, .hold = hold };

	blk_mq_tagset_busy_iter(&disk->tag_set, rnbdc_cancel_rq, &cancel);
	blk_mq_tagset_wait_completed_request(&disk->tag_set);
}

/*
 * End a request before its reply. Returns false if the request must first wait for its SEND;
 * otherwise returns true and sets *@remote like rnbdc_take_back().
 */
static bool rnbdc_end_early(struct rnbdc_req *req, bool *remote)
{
	struct rnbdc_queue *q = req->queue;

	lockdep_assert_held(&q->ring.lock);

	rnbdc_orphan(q, req);
	req->status = rnbdc_lost_status(req->hwq->disk);
	req->replay = false;
	if (rnbd_op_data_out(req->wire.op) && req->wrs &&
	    (s32)(req->frame_seq - q->sent_seq) >= 0) {
		/* Wait for the SEND: the device can still read the pages. */
		req->state = RNBDC_REQ_WAIT_SENT;
		req->next = q->waiting;
		q->waiting = req;
		return false;
	}
	if (rnbd_op_data_in(req->wire.op))
		q->sq_free += req->wrs;
	req->state = RNBDC_REQ_IDLE;
	*remote = blk_mq_complete_request_remote(blk_mq_rq_from_pdu(req));
	return true;
}

static bool rnbdc_fail_rq(struct request *rq, void *data)
{
	struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	bool ended = false, remote = false;
	const bool *all = data;

	if (!blk_mq_request_started(rq))
		return true;
	spin_lock_irq(&req->queue->ring.lock);
	if (!blk_mq_request_completed(rq) && req->state == RNBDC_REQ_SENT &&
	    (*all || !rnbd_ops[req->wire.op].modifies))
		ended = rnbdc_end_early(req, &remote);
	spin_unlock_irq(&req->queue->ring.lock);
	if (ended && !remote)
		rnbdc_complete_rq(rq);
	return true;
}

/**
 * rnbdc_disk_fail_requests - fail requests that the target has not answered
 * @disk: disk that submits no requests, because it is not live or is suspended
 * @all: fail all requests; otherwise only those that do not modify the disk
 *
 * The connection continues to serve the other disks. A request whose data are being
 * transferred ends when the transfer has completed.
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_fail_requests(struct rnbdc_disk *disk, bool all)
{
	struct rnbdc_hwq *hwq = NULL;

	if (!disk->gd)
		return;
	/* Send the open frames now: a failed request must not be sent later. */
	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		rnbdc_queue_send_open(hwq->queue);
	blk_mq_tagset_busy_iter(&disk->tag_set, rnbdc_fail_rq, &all);
	/* Hardware queues can wait for the send-queue entries of the failed reads: start them. */
	rcu_read_lock();
	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		rnbdc_queue_credit(&hwq->queue->ring);
	rcu_read_unlock();
}

/**
 * rnbdc_fail_request - fail one request that the target has not answered in time
 * @rq: request that was started
 *
 * Context: work item of the block layer; takes ring.lock.
 */
void rnbdc_fail_request(struct request *rq)
{
	bool all = true;

	rnbdc_fail_rq(rq, &all);
}

/**
 * rnbdc_disk_poll - handle the completions of the polled queues of a disk
 * @disk: disk for whose requests the caller waits
 *
 * Context: process context.
 */
void rnbdc_disk_poll(struct rnbdc_disk *disk)
{
	struct rnbdc_hwq *hwq = NULL;

	if (!disk->gd)
		return;
	/* A handler can start hardware queues of a disk that is being removed: RCU keeps it. */
	rcu_read_lock();
	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		rnbd_ring_poll(&hwq->queue->ring);
	rcu_read_unlock();
}

static bool rnbdc_count_rq(struct request *rq, void *data)
{
	const struct rnbdc_req *req = blk_mq_rq_to_pdu(rq);
	struct rnbdc_in_flight *count = data;
	u8 state = READ_ONCE(req->state);

	if (!blk_mq_request_started(rq) || state == RNBDC_REQ_IDLE || state == RNBDC_REQ_HELD)
		return true;
	count->all++;
	count->modifying += rnbd_ops[req->wire.op].modifies;
	return true;
}

/**
 * rnbdc_disk_in_flight - count the requests of a disk in flight on a connection
 * @disk: disk without tasks in queue_rq
 *
 * Context: process context.
 * Return: the number of all these requests, and of those that modify the disk; held requests
 * are not counted.
 */
struct rnbdc_in_flight rnbdc_disk_in_flight(struct rnbdc_disk *disk)
{
	struct rnbdc_in_flight count = { };

	if (disk->gd)
		blk_mq_tagset_busy_iter(&disk->tag_set, rnbdc_count_rq, &count);
	return count;
}
