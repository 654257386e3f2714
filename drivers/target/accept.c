// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: creation of the queue pair, acceptance, and dispatch of received frames.
 *
 * Operation
 *
 * connect.c admits a connection request. A work item then creates the queue pair and its ring
 * and accepts the connection. While the work item runs, the listener can handle the next request,
 * and other work items can create queue pairs concurrently. If the client has cancelled the
 * connection, or the target has closed the queue, before the work item runs, the work item creates
 * nothing. Received frames are dispatched by type: requests to request.c, control entries to
 * control.c.
 *
 * Ownership: the session owns the connection ids of its queues. A further queue owns its
 * connection id itself until it has joined the session.
 *
 * Concurrency: s->conn.connecting makes the teardown wait until the work item has finished with
 * the queue. Frames and completions of one queue are handled one at a time, in softirq context.
 * Events of a connection can arrive before the connection is accepted.
 *
 * Errors: a failed setup, a protocol error or a failed ring closes the session, or only the
 * queue if it has not joined the session. The teardown frees the remaining resources.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/sched/mm.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/cm.h"
#include "../core/frame.h"
#include "../core/inject.h"
#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/ring_setup.h"
#include "accept.h"
#include "control.h"
#include "counters.h"
#include "graph.h"
#include "half_open.h"
#include "inject.h"
#include "login.h"
#include "queue.h"
#include "queue_alloc.h"
#include "queue_budget.h"
#include "reply.h"
#include "request.h"
#include "segment.h"
#include "session.h"
#include "state.h"
#include "target.h"
#include "timers.h"

static enum rnbd_proto_err rnbdt_queue_frame(struct rnbd_ring *ring,
					     struct rnbd_frame *frame)
{
	struct rnbdt_queue *q = container_of(ring, struct rnbdt_queue, ring);
	enum rnbd_proto_err perr = RNBD_PERR_TYPE;

	if (likely(frame->type == RNBD_FRAME_REQUEST)) {
		if (likely(rnbdt_queue_joined(q)))
			perr = rnbdt_queue_requests(q, frame);
	} else if (frame->type == RNBD_FRAME_CONTROL) {
		perr = rnbdt_queue_control(q, frame);
	}
	if (unlikely(perr))
		return perr;

	/* Send waiting replies: the frame has possibly returned credits. */
	rnbdt_queue_kick(q);
	return RNBD_PERR_NONE;
}

static void rnbdt_queue_sent(struct rnbd_ring *ring, u32 seq, u32 note)
{
	struct rnbdt_queue *q = container_of(ring, struct rnbdt_queue, ring);

	switch (READ_ONCE(q->session->state)) {
	case RNBDT_REFUSED:
		rnbdt_session_refusal_sent(q->session);
		break;
	case RNBDT_LISTING:
		rnbdt_login_continue_list(q->session);
		break;
	default:
		rnbdt_queue_kick(q);
		break;
	}
}

static void rnbdt_queue_credit(struct rnbd_ring *ring)
{
	struct rnbdt_queue *q = container_of(ring, struct rnbdt_queue, ring);

	if (unlikely(READ_ONCE(q->session->state) == RNBDT_LISTING))
		rnbdt_login_continue_list(q->session);
	rnbdt_queue_kick(q);
}

static void rnbdt_queue_proto_err(struct rnbd_ring *ring, enum rnbd_proto_err perr)
{
	struct rnbdt_queue *q = container_of(ring, struct rnbdt_queue, ring);
	struct rnbdt_session *s = q->session;

	rnbdt_count(RNBDT_COUNT_PROTO_ERRS, perr);
	/* An unauthenticated peer, whose queue has not joined, must not prevent the claim. */
	if (rnbdt_queue_joined(q))
		WRITE_ONCE(s->account.no_claim, true);
	pr_warn_ratelimited("session %u: host %pUb: protocol error on queue %u: %s\n",
			    s->serial, &s->host_id, q->index, rnbd_proto_err_text(perr));
}

/* Close the session of a queue, or only the queue if it has not joined. */
static void rnbdt_queue_lost(struct rnbdt_queue *q, const char *reason)
{
	if (!rnbdt_join_fail(q))
		rnbdt_session_close(q->session, reason);
}

static void rnbdt_queue_failed(struct rnbd_ring *ring, const char *reason)
{
	rnbdt_queue_lost(container_of(ring, struct rnbdt_queue, ring), reason);
}

static bool rnbdt_queue_charge(struct rnbd_ring *ring, u32 slots)
{
	return rnbdt_queue_budget_slots(container_of(ring, struct rnbdt_queue, ring), slots);
}

static u16 rnbdt_queue_grow_depth(struct rnbd_ring *ring, u16 depth)
{
	return rnbdt_queue_set_depth(container_of(ring, struct rnbdt_queue, ring), depth);
}

static const struct rnbd_ring_ops rnbdt_ring_ops = {
	.frame	= rnbdt_queue_frame,
	.sent	= rnbdt_queue_sent,
	.credit	= rnbdt_queue_credit,
	.proto_err = rnbdt_queue_proto_err,
	.failed	= rnbdt_queue_failed,
	.charge	= rnbdt_queue_charge,
	.grow_depth = rnbdt_queue_grow_depth,
};

/**
 * rnbdt_queue_create_ring - create the queue pair of a queue and start its ring
 * @q: queue without a ring
 * @req: connection request, with the number of slots and the slot size in bytes
 *
 * Context: work item accept_work of @q; may sleep.
 * Return: 0 or a negative errno; -EINVAL if the ring exceeds the limits of the device.
 */
static int rnbdt_queue_create_ring(struct rnbdt_queue *q,
				   const struct rnbd_conn_req *req)
{
	struct rnbdt_session *s = q->session;
	struct rnbd_ring_attr attr = {
		.ops = &rnbdt_ring_ops,
		.slots = req->ring_slots,
		.slot_size = req->slot_size,
		.attempt = req->attempt,
		.data_wrs = q->index ? 0 : RNBDT_REG_BATCH,
		.max_send_sge = 1,
		.vector = (s->serial + q->index) % s->conn.dev->num_comp_vectors,
		.poll = IB_POLL_SOFTIRQ,
		.answer = true,
	};
	int ret;

	q->replies_per_frame = (req->slot_size - sizeof(struct rnbd_frame_hdr)) /
			       sizeof(struct rnbd_reply_entry);
	ret = rnbd_ring_create(&q->ring, q->cm_id, s->conn.pd, &attr);
	if (ret)
		return ret;
	rnbd_ring_set_rate_limit(&q->ring, rnbdt_login_frames());
	/* Like this end, the client has posted the minimum number of receive slots. */
	return rnbd_ring_start(&q->ring, RNBD_RING_SLOTS_MIN);
}

/*
 * Handle an event of a connection. Always return 0: after another value the connection manager
 * would destroy the connection id, which the teardown would then destroy a second time.
 */
static int rnbdt_queue_cm_event(struct rdma_cm_id *id,
				struct rdma_cm_event *event)
{
	struct rnbdt_queue *q = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rnbdt_queue_lost(q, "the client disconnected");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rnbdt_queue_lost(q, "the RDMA device was removed");
		break;
	default:
		rnbdt_queue_lost(q, rdma_event_msg(event->event));
		break;
	}
	return 0;
}

/**
 * rnbdt_reject - reject a connection request
 * @id: connection that was not accepted
 * @status: enum rnbd_status, sent as private data of the reject
 * @retry_ms: milliseconds until the client should retry, or 0 if the client may choose the time
 *
 * A connection must not be rejected after rdma_accept(): the InfiniBand connection manager would
 * repeat the message that accepts the connection for a minute, and keep @id for that time.
 *
 * Context: process context; may sleep.
 */
void rnbdt_reject(struct rdma_cm_id *id, u16 status, u32 retry_ms)
{
	const struct rnbd_refusal info = { .status = status, .retry_ms = retry_ms };
	struct rnbd_cm_rej rej;

	rnbdt_count(RNBDT_COUNT_REFUSED, status);
	rnbd_encode_cm_rej(&rej, &info);
	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
}

/*
 * Deny access to the pool to the peer of a queue that has not joined its session. The connection
 * manager has enabled the access, when it accepted the connection just before; see SECURITY.md.
 */
static void rnbdt_queue_restrict(struct rnbdt_queue *q)
{
	u32 left;

	if (rnbd_ring_disable_remote_access(&q->ring, &left))
		rnbdt_queue_lost(q, "remote access could not be disabled");
	else if (left)
		pr_warn_once("device %s does not disable remote access: a peer that is not authenticated may use keys of the session\n",
			     q->session->conn.dev->name);
}

/*
 * Test whether the session of the queue is closing, or the queue has failed before it joined, for
 * example because the client has cancelled the connection.
 */
static bool rnbdt_queue_is_over(const struct rnbdt_queue *q)
{
	return READ_ONCE(q->session->state) >= RNBDT_CLOSING ||
	       READ_ONCE(q->join_state) == RNBDT_JOIN_FAILED;
}

/* Accept a connection whose ring exists. */
static int rnbdt_queue_accept_id(struct rnbdt_queue *q, const struct rnbd_conn_req *req)
{
	struct rnbdt_session *s = q->session;
	struct rdma_conn_param param = { };
	struct rnbd_cm_rep rep;
	int ret;

	/* Only the client posts RDMA READs: allow as many as it requested and the device can. */
	param.responder_resources = min_t(u32, q->accept.responder_resources,
					  s->conn.dev->attrs.max_qp_rd_atom);
	param.initiator_depth = 0;
	param.rnr_retry_count = 3;
	param.flow_control = 1;
	rnbd_encode_cm_rep(&rep, RNBD_RING_SLOTS_MIN, req->slot_size, req->attempt);
	param.private_data = &rep;
	param.private_data_len = sizeof(rep);

	/*
	 * rdma_accept() requires this lock, which delays the events of the connection. Keep it
	 * until the remote access of a further queue is disabled.
	 */
	rdma_lock_handler(q->cm_id);
	ret = rdma_accept(q->cm_id, &param);
	if (!ret && q->index) {
		rnbd_inject_delay(&rnbdt_inject_delay_restrict);
		rnbdt_queue_restrict(q);
	}
	rdma_unlock_handler(q->cm_id);
	return ret;
}

/*
 * Create the ring and accept the connection. The session or its list of joining queues already
 * has the queue, so an error starts a teardown, which frees the queue.
 */
static void rnbdt_queue_accept(struct rnbdt_queue *q)
{
	const struct rnbd_conn_req *req = q->join ? &q->join->req : &q->session->auth.req;
	struct rnbdt_session *s = q->session;
	int ret = 0;

	if (rnbdt_queue_is_over(q)) {
		/* If the client still waits, the target closed the queue: let the client retry. */
		rnbdt_reject(q->cm_id, RNBD_ST_BUSY, 0);
		return;
	}
	if (!s->conn.pd) {
		struct ib_pd *pd = ib_alloc_pd(s->conn.dev, 0);

		if (IS_ERR(pd))
			ret = PTR_ERR(pd);
		else
			s->conn.pd = pd;
	}
	if (!ret)
		ret = rnbdt_queue_create_ring(q, req);
	if (ret) {
		pr_err_ratelimited("session %u: queue %u on %s could not be created: error %d\n",
				   s->serial, q->index, s->conn.dev->name, ret);
		rnbdt_reject(q->cm_id, ret == -EINVAL ? RNBD_ST_RING : RNBD_ST_NOMEM, 0);
		rnbdt_queue_lost(q, "a queue could not be created");
		return;
	}
	ret = rnbdt_queue_accept_id(q, req);
	/* Log no error if the client or the target has closed the queue during the acceptance. */
	if (ret && !rnbdt_queue_is_over(q)) {
		pr_err_ratelimited("session %u: queue %u could not be accepted: error %d\n",
				   s->serial, q->index, ret);
		rnbdt_queue_lost(q, "a queue could not be accepted");
	}
}

static void rnbdt_session_connected(struct rnbdt_session *s)
{
	/* The host exists at least until connecting is 0, because the teardown waits for that. */
	struct rnbdt_host *host = s->host;

	rnbdt_host_lock(host);
	s->conn.connecting--;
	rnbdt_host_unlock(host);
	/* The session still exists, because the caller holds a reference on it. */
	wake_up(&s->conn.wait);
}

static void rnbdt_accept_work(struct work_struct *work)
{
	struct rnbdt_queue *q = container_of(work, struct rnbdt_queue, accept.accept_work);
	struct rnbdt_session *s = q->session;
	/* Allocate without I/O: memory reclaim can wait for a disk of a client on this machine. */
	unsigned int noio = memalloc_noio_save();

	rnbdt_queue_accept(q);
	complete_all(&q->accept.ended);
	/* The queue can be freed as soon as this call has decremented s->conn.connecting. */
	rnbdt_session_connected(s);
	rnbdt_session_put(s);
	memalloc_noio_restore(noio);
}

/**
 * rnbdt_accept_init - prepare a queue for rnbdt_accept()
 * @q: new queue
 *
 * Context: any.
 */
void rnbdt_accept_init(struct rnbdt_queue *q)
{
	INIT_WORK(&q->accept.accept_work, rnbdt_accept_work);
	init_completion(&q->accept.ended);
}

/**
 * rnbdt_accept - queue the work item that creates the ring and accepts the connection
 * @q: queue prepared by rnbdt_accept_init() and counted in s->conn.connecting
 * @conn: connection parameters with the limits of the client's device
 *
 * Creating the ring and accepting the connection take long. The handler of a connection request
 * must not do either, because the connection manager holds the lock of the listener while it calls
 * the handler, so all other clients would have to wait.
 *
 * Context: handler of the connection request.
 */
void rnbdt_accept(struct rnbdt_queue *q, const struct rdma_conn_param *conn)
{
	kref_get(&q->session->ref);
	q->accept.responder_resources = conn->responder_resources;
	q->cm_id->context = q;
	q->cm_id->event_handler = rnbdt_queue_cm_event;
	queue_work(rnbdt_login_wq, &q->accept.accept_work);
}
