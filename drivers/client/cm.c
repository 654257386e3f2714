// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of the RDMA connection manager, and waiting for them.
 *
 * Operation: The thread that connects a queue arms the wait (rnbdc_cm_wait_arm()), starts a
 * step of the connection and waits with a deadline (rnbdc_cm_wait()). The event handler
 * stores a result in the queue and wakes the thread; during the login (queue 0) or the join
 * (other queues), the completion handler of the queue does so. During the login the thread
 * sends keep-alives.
 *
 * Ownership: The result and its reason belong to these handlers from rnbdc_cm_wait_arm() to
 * rnbdc_queue_wake(), and to the waiting thread at all other times.
 *
 * Concurrency: The event handler runs in the connection manager's thread. The handler stores
 * a result and wakes the waiting thread. If the connection ends, the handler fails the ring. The
 * handler never destroys a connection, so the removal of a device waits until recovery has
 * released the connection.
 *
 * Errors: Every refusal and loss sets one constant error message for the user. A refusal by
 * the target has private data; a refusal by a connection manager has none, or only zeros.
 * -EBUSY means that a retry can succeed.
 */

#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/cm.h"
#include "../core/inject.h"
#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/ring_complete.h"
#include "../core/ring_setup.h"
#include "cm.h"
#include "errmsg.h"
#include "inject.h"
#include "queue.h"
#include "session.h"
#include "state.h"

/*
 * Test for the reject reason "stale": the target's connection manager still had a connection
 * from before this machine restarted, and has now ended it. So a retry can succeed.
 */
static bool rnbdc_cm_stale(const struct rnbdc_queue *q, const struct rdma_cm_event *event)
{
	return rdma_ib_or_roce(q->cm_id->device, q->cm_id->port_num) &&
	       event->status == IB_CM_REJ_STALE_CONN;
}

/* Decode the private data of a refusal. Returns the result for the waiting thread. */
static int rnbdc_cm_refused(struct rnbdc_queue *q, const void *data, u8 len)
{
	enum rnbd_proto_err perr;
	struct rnbd_refusal info;

	/* Zeros decode as BUSY: the connection manager has rejected, and not the target module. */
	perr = rnbd_decode_cm_rej(data, len, &info);
	if (perr) {
		rnbdc_count_proto_err(q->sess, perr);
		q->cm_reason = "the refusal of the target is invalid";
		return -EPROTO;
	}
	q->cm_status = info.status;
	q->retry_ms = info.retry_ms;
	if (!info.version)
		q->cm_reason = "the target aborted the connection (see the target's kernel log)";
	else if (q->cm_status == RNBD_ST_VERSION)
		q->cm_reason = "the target speaks another protocol version";
	else
		q->cm_reason = rnbd_status_text(q->cm_status);
	return q->cm_status == RNBD_ST_BUSY ? -EBUSY : -ECONNREFUSED;
}

static void rnbdc_cm_rejected(struct rnbdc_queue *q, struct rdma_cm_event *event)
{
	int error = rnbdc_cm_stale(q, event) ? -EBUSY : -ECONNREFUSED;
	const void *data;
	u8 len;

	data = rdma_consumer_reject_data(q->cm_id, event, &len);
	if (data)
		error = rnbdc_cm_refused(q, data, len);
	else if (event->status == IB_CM_REJ_INVALID_SERVICE_ID)
		q->cm_reason = "no rnbd target listens on this port";
	else
		q->cm_reason = rdma_reject_msg(q->cm_id, event->status);
	rnbdc_queue_wake(q, error);
}

static void rnbdc_cm_established(struct rnbdc_queue *q, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct rnbdc_session *sess = q->sess;
	struct rnbd_conn_req asked = {
		.ring_slots = sess->opt.ring_slots,
		.slot_size = sess->opt.slot_size,
		.attempt = q->attempt,
	};
	enum rnbd_proto_err perr;
	u16 slots;

	perr = rnbd_decode_cm_rep(param->private_data, param->private_data_len,
				  &asked, &slots);
	if (perr) {
		rnbdc_count_proto_err(sess, perr);
		q->cm_reason = "the connection reply of the target is invalid";
		rnbdc_queue_wake(q, -EPROTO);
		return;
	}
	rnbd_inject_delay(&rnbdc_inject_late_start);
	WRITE_ONCE(q->established, true);
	rnbdc_queue_wake(q, rnbd_ring_start(&q->ring, slots));
}

static void rnbdc_cm_disconnected(struct rnbdc_queue *q, const char *reason)
{
	if (q->ring.qp)
		rnbd_ring_fail(&q->ring, reason);
	/* Wake the thread here: before the connection is established the ring does not do so. */
	if (!q->established) {
		q->cm_reason = reason;
		rnbdc_queue_wake(q, -ENODEV);
	}
}

/**
 * rnbdc_cm_event - handle an event of the connection manager
 * @cm_id: connection; its context is the queue
 * @event: event
 *
 * Context: the connection manager's thread, which holds a mutex of @cm_id.
 * Return: 0; the client destroys @cm_id itself.
 */
int rnbdc_cm_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
{
	struct rnbdc_queue *q = cm_id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rnbdc_queue_wake(q, 0);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rnbdc_cm_established(q, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		q->cm_reason = "no RDMA device reaches this address, or it does not reply";
		rnbdc_queue_wake(q, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		q->cm_reason = "the target does not answer";
		rnbdc_queue_wake(q, -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rnbdc_cm_rejected(q, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rnbdc_cm_disconnected(q, "the target closed the connection");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rnbdc_cm_disconnected(q, "the RDMA device was removed");
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rnbdc_cm_disconnected(q, "the RDMA device lost its address");
		break;
	default:
		break;
	}
	return 0;
}

static bool rnbdc_cm_woken(const struct rnbdc_queue *q)
{
	return smp_load_acquire(&q->cm_done);	/* pairs with rnbdc_queue_wake() */
}

/* Test whether a queue other than 0 is being connected although the session is not live. */
static bool rnbdc_cm_obsolete(const struct rnbdc_queue *q)
{
	return q->index && READ_ONCE(q->sess->state) != RNBDC_SESS_LIVE;
}

static bool rnbdc_cm_wait_done(const struct rnbdc_queue *q)
{
	return rnbdc_cm_woken(q) || rnbdc_cm_obsolete(q) || rnbdc_session_ending(q->sess);
}

/* Sleep once, and send a keep-alive if the login is in progress. Returns jiffies slept. */
static long rnbdc_cm_wait_step(struct rnbdc_queue *q, long left)
{
	struct rnbdc_session *sess = q->sess;
	/* pairs with the release in rnbdc_handle_login_reply() */
	bool granted = smp_load_acquire(&sess->login.granted);
	bool login = READ_ONCE(sess->login.status) == RNBDC_LOGIN_OPEN;
	u32 interval_ms = granted ? sess->login.offer.keepalive_ms : RNBD_LOGIN_KEEPALIVE_MS;
	long nap = left, ret;

	if (login)
		nap = min_t(long, left, msecs_to_jiffies(interval_ms) / 2 + 1);
	/* No other task polls this queue yet. */
	if (q->ring.attr.poll == IB_POLL_DIRECT) {
		nap = min(nap, 1L);
		rcu_read_lock();
		rnbd_ring_poll(&q->ring);
		rcu_read_unlock();
	}
	/* Wake at the grant: the granted interval can be shorter than RNBD_LOGIN_KEEPALIVE_MS. */
	ret = wait_event_idle_timeout(sess->wait, rnbdc_cm_wait_done(q) ||
				      READ_ONCE(sess->login.granted) != granted, nap);
	if (login)
		rnbd_ring_keepalive(&sess->queues[0]->ring, interval_ms, true);
	return nap - ret;
}

/**
 * rnbdc_cm_wait - wait for a step of the connection manager or of the target
 * @q: queue on which rnbdc_cm_wait_arm() was called before the awaited step began
 * @ms: time limit in milliseconds
 * @errmsg: message for the user, set on error
 * @late: error message if the time limit passes
 *
 * Context: process context, may sleep; ends early when the command is aborted, when all disks
 * of the session are detached, deactivated or failed, or, for a queue other than 0, when the
 * session is lost.
 * Return: 0, -ETIMEDOUT, -EINTR, -ECANCELED, -ECONNRESET, or the error that was passed to
 * rnbdc_queue_wake().
 */
int rnbdc_cm_wait(struct rnbdc_queue *q, unsigned int ms, struct rnbdc_errmsg *errmsg,
		  const char *late)
{
	struct rnbdc_session *sess = q->sess;
	long left = msecs_to_jiffies(ms);

	while (left > 0 && !rnbdc_cm_wait_done(q))
		left -= rnbdc_cm_wait_step(q, left);
	if (test_bit(RNBDC_SESS_ABORTED, &sess->flags)) {
		rnbdc_errmsg_set(errmsg, "interrupted");
		return -EINTR;
	}
	if (rnbdc_session_ending(sess)) {
		rnbdc_errmsg_set(errmsg,
				 "interrupted, or the disk was detached or deactivated concurrently");
		return -ECANCELED;
	}
	if (!rnbdc_cm_woken(q) && rnbdc_cm_obsolete(q)) {
		rnbdc_errmsg_set(errmsg, "connection lost");
		return -ECONNRESET;
	}
	if (!rnbdc_cm_woken(q)) {
		rnbdc_errmsg_set(errmsg, "%s", late);
		return -ETIMEDOUT;
	}
	if (q->cm_error)
		rnbdc_errmsg_set(errmsg, "%s", q->cm_reason ?: sess->recovery.broken_reason ?:
				    "connection failed");
	return q->cm_error;
}

/**
 * rnbdc_cm_wait_arm - prepare a queue for the next wait
 * @q: queue whose next step has not begun
 *
 * Context: process context.
 */
void rnbdc_cm_wait_arm(struct rnbdc_queue *q)
{
	q->cm_done = false;
	q->cm_error = 0;
	q->cm_status = 0;
	q->cm_reason = NULL;
}

/**
 * rnbdc_queue_wake - wake the thread in rnbdc_cm_wait()
 * @q: queue
 * @error: 0 if the awaited step succeeded, otherwise a negative errno
 *
 * Context: any.
 */
void rnbdc_queue_wake(struct rnbdc_queue *q, int error)
{
	q->cm_error = error;
	/* pairs with the acquire in rnbdc_cm_woken() */
	smp_store_release(&q->cm_done, true);
	wake_up(&q->sess->wait);
}
