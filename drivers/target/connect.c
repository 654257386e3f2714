// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: admission, the queue pair, and the frames that arrive.
 *
 * Operation
 *
 * A connection request for queue 0 creates a session if its host is allowed to use
 * something on the port, its epoch is the newest and no limit is reached; the
 * first frame must be a login (login.c). A request for another queue adds the
 * queue to the live session whose id it names. The handler creates the queue pair
 * and accepts. Frames are dispatched by type: requests go to request.c; on queue 0 only,
 * logins and proofs go to login.c, control entries to attach_ctl.c.
 *
 * Ownership
 *
 * A connection id belongs to its session as soon as its queue is in s->queues:
 * from then on the handler returns 0 and the teardown destroys the id. Before, the
 * error return of the handler makes the connection manager destroy it. A session
 * takes references on host, port and module, which rnbdt_finish_teardown() drops.
 *
 * Concurrency
 *
 * Connection requests run in the handler of the new id, take rnbdt_lock, and
 * allocate without I/O: reclaim may wait for this client, or for a task that waits
 * for the lock. s->conn.connecting keeps the teardown away until the handler is
 * done with the queue. Frames and completions of one queue are handled one at a
 * time in softirq context.
 *
 * Errors
 *
 * A refused connection gets a reject with the status. RNBD_ST_HOST_DENIED is for
 * hosts that may use nothing on the port, enabled or not. If setting up an
 * accepted queue fails, the session is closed and the teardown frees the rest. A
 * protocol error or a failed ring closes the session.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/cm.h"
#include "../core/frame.h"
#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/ring_setup.h"
#include "attach_ctl.h"
#include "connect.h"
#include "control.h"
#include "counters.h"
#include "ctl.h"
#include "epoch.h"
#include "graph.h"
#include "half_open.h"
#include "join.h"
#include "lease.h"
#include "limits.h"
#include "login.h"
#include "lookup.h"
#include "netlink.h"
#include "queue.h"
#include "queue_alloc.h"
#include "rate.h"
#include "reply.h"
#include "request.h"
#include "segment.h"
#include "session.h"
#include "state.h"
#include "sysfs.h"
#include "target.h"
#include "teardown.h"
#include "timers.h"

static u32 rnbdt_next_serial;		/* rnbdt_lock */

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

	/* The frame may have returned credits that replies wait for. */
	rnbdt_queue_kick(q);
	return RNBD_PERR_NONE;
}

static void rnbdt_queue_sent(struct rnbd_ring *ring, u32 seq, u32 slot)
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
	pr_warn_ratelimited("session %u: host %pUb broke the protocol on queue %u: %s\n",
			    s->serial, &s->host_id, q->index, rnbd_proto_err_text(perr));
}

/* End the session of a queue, or the queue alone if it has not joined. */
static void rnbdt_queue_lost(struct rnbdt_queue *q, const char *reason)
{
	if (!rnbdt_join_fail(q))
		rnbdt_session_close(q->session, reason);
}

static void rnbdt_queue_failed(struct rnbd_ring *ring, const char *reason)
{
	rnbdt_queue_lost(container_of(ring, struct rnbdt_queue, ring), reason);
}

static const struct rnbd_ring_ops rnbdt_ring_ops = {
	.frame	= rnbdt_queue_frame,
	.sent	= rnbdt_queue_sent,
	.credit	= rnbdt_queue_credit,
	.proto_err = rnbdt_queue_proto_err,
	.failed	= rnbdt_queue_failed,
};

/**
 * rnbdt_queue_create_ring - create the queue pair of a queue and start its ring
 * @q: queue without a ring
 * @req: connection request, which names slots and slot size in bytes
 *
 * Context: handler of the connection id; may sleep.
 * Return: 0 or a negative errno; -EINVAL if the device cannot serve the ring.
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
	};
	int ret;

	q->replies_per_frame = (req->slot_size - sizeof(struct rnbd_frame_hdr)) /
			       sizeof(struct rnbd_reply_entry);
	ret = rnbd_ring_create(&q->ring, q->cm_id, s->conn.pd, &attr);
	if (ret)
		return ret;
	rnbd_ring_set_rate_limit(&q->ring, rnbdt_login_frames());
	return rnbd_ring_start(&q->ring, req->ring_slots);
}

static u16 rnbdt_session_admit(struct rnbdt_port *port,
			       const struct rdma_cm_id *id,
			       const struct rnbd_conn_req *req,
			       struct rnbdt_host **host)
{
	uuid_t host_id;
	u16 status;

	if (port->state != RNBDT_PORT_LISTENING)
		return RNBD_ST_SHUTDOWN;
	/* A session has one path. */
	if (req->path)
		return RNBD_ST_QUEUE;
	import_uuid(&host_id, req->host_id);
	*host = rnbdt_host_find(&host_id);
	if (!*host || !rnbdt_port_knows_host(port, *host))
		return RNBD_ST_HOST_DENIED;
	status = rnbdt_rate_logins(*host);
	if (status)
		return status;
	/* A host with a secret gets this answer after its proof only. */
	if (!(*host)->secret && !rnbdt_port_find_export(port, *host, NULL))
		return RNBD_ST_NO_EXPORT;
	status = rnbdt_is_newest_epoch(*host, req, NULL);
	if (status)
		return status;
	return rnbdt_limits_connect(*host, &id->route.addr.dst_addr, req);
}

static struct rnbdt_session *rnbdt_session_alloc(struct rnbdt_port *port,
						 struct rnbdt_host *host,
						 struct rdma_cm_id *id,
						 const struct rnbd_conn_req *req)
{
	struct rnbdt_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->port_name = kstrdup(rnbdt_port_name(port), GFP_KERNEL);
	if (!s->port_name)
		goto free;
	s->queue0 = rnbdt_queue_alloc(s, 0, id);
	if (!s->queue0)
		goto free;
	s->queues = &s->queue0;
	s->nr_slots = 1;
	kref_init(&s->ref);
	s->serial = ++rnbdt_next_serial;
	import_uuid(&s->host_id, req->host_id);
	import_uuid(&s->session_id, req->session_id);
	s->epoch = req->epoch;
	s->newest_epoch = req->epoch;
	s->newest_attempt = req->attempt;
	s->host = host;
	s->auth.required = host->secret;
	s->auth.authenticated = !s->auth.required;
	s->auth.req = *req;
	s->auth.target_uuid = rnbdt_target_uuid;
	s->port = port;
	s->peer = id->route.addr.dst_addr;
	s->conn.dev = id->device;
	s->state = RNBDT_CONNECTING;
	spin_lock_init(&s->state_lock);
	seqcount_mutex_init(&s->ended_seq, &rnbdt_lock);
	init_waitqueue_head(&s->conn.wait);
	init_completion(&s->teardown.drained);
	init_completion(&s->teardown.gone);
	init_completion(&s->conn.reg_done);
	INIT_LIST_HEAD(&s->account.half_open.entry);
	s->account.half_open.session = s;
	INIT_LIST_HEAD(&s->conn.joins);
	INIT_WORK(&s->login.login_work, rnbdt_session_login_work);
	INIT_WORK(&s->teardown.teardown_work, rnbdt_teardown_work);
	INIT_WORK(&s->teardown.release_work, rnbdt_release_work);
	INIT_DELAYED_WORK(&s->teardown.wait_work, rnbdt_wait_work);
	INIT_WORK(&s->teardown.linger_work, rnbdt_linger_work);
	INIT_DELAYED_WORK(&s->login.timeout_work, rnbdt_session_timeout);
	INIT_DELAYED_WORK(&s->login.keepalive_work, rnbdt_session_keepalive);
	xa_init(&s->attaches);
	rnbdt_ctl_init(s);
	rnbdt_lease_init(s);
	INIT_WORK(&s->ctl.ctl_work, rnbdt_ctl_work);
	rnbdt_netlink_init_session(s);
	return s;

free:
	kfree(s->port_name);
	kfree(s);
	return NULL;
}

/* Handle an event of an accepted connection. The teardown destroys the id. */
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
 * rnbdt_reject - refuse a connection
 * @id: connection that was not accepted
 * @status: enum rnbd_status, sent as private data of the reject
 * @retry_ms: milliseconds after which the client should connect again, or 0
 *
 * A connection must not be rejected after rdma_accept(): the connection manager of
 * InfiniBand would repeat its answer for a minute and keep the id until then.
 *
 * Context: handler of @id; may sleep.
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
 * Keep the peer of a queue that has not joined from the pool. The connection manager
 * enables remote access when it accepts a connection.
 */
static void rnbdt_queue_restrict(struct rnbdt_queue *q)
{
	u32 left;

	if (rnbd_ring_disable_remote_access(&q->ring, &left))
		rnbdt_queue_lost(q, "remote access could not be disabled");
	else if (left)
		pr_warn_once("device %s does not switch remote access off: a peer that has not proven itself may use keys of the session\n",
			     q->session->conn.dev->name);
}

/*
 * Create the ring and accept. The session owns the queue already, so an error
 * closes the session and the teardown frees the queue.
 */
static void rnbdt_queue_accept(struct rnbdt_queue *q,
			       const struct rnbd_conn_req *req,
			       const struct rdma_conn_param *conn)
{
	struct rnbdt_session *s = q->session;
	struct rdma_conn_param param = { };
	struct rdma_cm_id *id = q->cm_id;
	struct rnbd_cm_rep rep;
	int ret = 0;

	/* This runs in the handler of @id, so no event can come in between. */
	id->context = q;
	id->event_handler = rnbdt_queue_cm_event;

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
		pr_err_ratelimited("session %u: queue %u on %s could not be made: error %d\n",
				   s->serial, q->index, s->conn.dev->name, ret);
		rnbdt_reject(id, ret == -EINVAL ? RNBD_ST_RING : RNBD_ST_NOMEM, 0);
		rnbdt_queue_lost(q, "a queue could not be made");
		return;
	}

	/*
	 * Only the client posts RDMA READ: allow as many in flight as it has
	 * requested and the device can serve.
	 */
	param.responder_resources = min_t(u32, conn->responder_resources,
					  s->conn.dev->attrs.max_qp_rd_atom);
	param.initiator_depth = 0;
	param.rnr_retry_count = 3;
	param.flow_control = 1;
	rnbd_encode_cm_rep(&rep, req->ring_slots, req->slot_size, req->attempt);
	param.private_data = &rep;
	param.private_data_len = sizeof(rep);
	ret = rdma_accept(id, &param);
	if (ret) {
		pr_err_ratelimited("session %u: queue %u could not be accepted: error %d\n",
				   s->serial, q->index, ret);
		rnbdt_queue_lost(q, "a queue could not be accepted");
	} else if (q->index) {
		rnbdt_queue_restrict(q);
	}
}

static void rnbdt_session_connected(struct rnbdt_session *s)
{
	mutex_lock(&rnbdt_lock);
	s->conn.connecting--;
	mutex_unlock(&rnbdt_lock);
	/* The teardown cannot free the session: it waits for this handler. */
	wake_up(&s->conn.wait);
}

static int rnbdt_refuse(struct rdma_cm_id *id, const struct rnbd_conn_req *req,
			u16 status, u32 retry_ms)
{
	/* A client that reconnects gets BUSY many times: do not log that. */
	if (status != RNBD_ST_BUSY)
		pr_warn_ratelimited("host %pUb at %pISpc: queue %u refused: %s\n", req->host_id,
				    &id->route.addr.dst_addr, req->conn,
				    rnbd_status_text(status));
	rnbdt_reject(id, status, retry_ms);
	return -ECONNREFUSED;
}

/**
 * rnbdt_session_connect - handle a connection request for queue 0
 * @port: port that received it
 * @id: connection
 * @req: decoded request
 * @conn: connection parameters with the limits of the client's device
 *
 * Context: handler of @id; takes rnbdt_lock, may sleep.
 * Return: value for the handler to return: 0 if the session owns @id, or
 * -ECONNREFUSED after a reject.
 */
int rnbdt_session_connect(struct rnbdt_port *port, struct rdma_cm_id *id,
			  const struct rnbd_conn_req *req,
			  const struct rdma_conn_param *conn)
{
	struct rnbdt_session *s = NULL;
	struct rnbdt_host *host;
	unsigned int noio;
	u32 retry_ms = 0;
	u16 status;

	/* Reclaim may wait for this client, or for a task that waits for the lock. */
	noio = memalloc_noio_save();
	mutex_lock(&rnbdt_lock);
	status = rnbdt_session_admit(port, id, req, &host);
	if (status == RNBD_ST_OK) {
		s = rnbdt_session_alloc(port, host, id, req);
		if (!s)
			status = RNBD_ST_NOMEM;
	} else if (status == RNBD_ST_BUSY || status == RNBD_ST_LIMIT) {
		retry_ms = rnbdt_rate_retry_ms(host, status);
		if (status == RNBD_ST_BUSY)
			rnbdt_rate_put_off(host);
	}
	if (s) {
		/* The port is in configfs, which pins the module. */
		__module_get(THIS_MODULE);
		config_item_get(&host->group.cg_item);
		config_item_get(&port->group.cg_item);
		s->conn.connecting = 1;
		list_add_tail(&s->entry, &rnbdt_sessions);
		list_add_tail(&s->host_entry, &host->sessions);
		rnbdt_lookup_add(s);
		rnbdt_limits_opened(&s->account.half_open, host, &s->peer, req);
		queue_delayed_work(rnbdt_timer_wq, &s->login.timeout_work,
				   rnbdt_login_timeout());
	}
	mutex_unlock(&rnbdt_lock);
	if (s) {
		rnbdt_sysfs_add_session(s);
		rnbdt_queue_accept(s->queues[0], req, conn);
		rnbdt_session_connected(s);
	}
	memalloc_noio_restore(noio);
	return s ? 0 : rnbdt_refuse(id, req, status, retry_ms);
}

/*
 * Find the session that a queue other than 0 names, and take a reference. It is not proven
 * that it belongs there. Taking no lock, this costs a peer that makes up ids more than us.
 */
static struct rnbdt_session *rnbdt_session_of_queue(const struct rnbdt_port *port,
						    const struct rnbd_conn_req *req)
{
	struct rnbdt_session *s = NULL;

	rcu_read_lock();
	while ((s = rnbdt_lookup_next(req, s))) {
		/* pairs with the release in rnbdt_session_set_state() */
		if (smp_load_acquire(&s->state) == RNBDT_LIVE && s->port == port &&
		    kref_get_unless_zero(&s->ref))
			break;
	}
	rcu_read_unlock();
	return s;
}

/* Called under rnbdt_lock. */
static u16 rnbdt_session_admit_queue(struct rnbdt_session *s, struct rdma_cm_id *id,
				     const struct rnbd_conn_req *req,
				     struct rnbdt_queue **queue, u32 *retry_ms)
{
	u16 status;

	/* The teardown waits for connections that are counted under this lock. */
	if (READ_ONCE(s->state) != RNBDT_LIVE)
		return RNBD_ST_NO_SESSION;
	if (s->epoch != req->epoch || s->newest_epoch != s->epoch ||
	    req->attempt <= s->newest_attempt)
		return RNBD_ST_EPOCH;
	if (s->conn.dev != id->device) {
		pr_err_ratelimited("session %u: queue %u arrived on device %s, the session uses %s\n",
				   s->serial, req->conn, id->device->name, s->conn.dev->name);
		return RNBD_ST_DEVICE;
	}
	if (req->path || req->conn >= s->nr_slots || s->queues[req->conn])
		return RNBD_ST_QUEUE;
	status = rnbdt_limits_connect(s->host, &id->route.addr.dst_addr, req);
	if (status) {
		*retry_ms = rnbdt_rate_retry_ms(s->host, status);
		return status;
	}
	*queue = rnbdt_queue_alloc(s, req->conn, id);
	if (!*queue)
		return RNBD_ST_NOMEM;
	if (rnbdt_join_alloc(*queue, req)) {
		rnbdt_queue_free(*queue);
		*queue = NULL;
		return RNBD_ST_NOMEM;
	}
	rnbdt_join_opened(*queue, &id->route.addr.dst_addr);
	s->conn.connecting++;
	return RNBD_ST_OK;
}

/**
 * rnbdt_session_add_queue - handle a connection request for a queue other than 0
 * @port: port that received it
 * @id: connection
 * @req: decoded request
 * @conn: connection parameters with the limits of the client's device
 *
 * Context: handler of @id; takes rnbdt_lock, may sleep.
 * Return: value for the handler to return: 0 if the session owns @id, or
 * -ECONNREFUSED after a reject.
 */
int rnbdt_session_add_queue(struct rnbdt_port *port, struct rdma_cm_id *id,
			    const struct rnbd_conn_req *req,
			    const struct rdma_conn_param *conn)
{
	struct rnbdt_session *s = rnbdt_session_of_queue(port, req);
	struct rnbdt_queue *q = NULL;
	unsigned int noio;
	u32 retry_ms = 0;
	u16 status;

	if (!s)
		return rnbdt_refuse(id, req, RNBD_ST_NO_SESSION, 0);
	noio = memalloc_noio_save();
	mutex_lock(&rnbdt_lock);
	status = rnbdt_session_admit_queue(s, id, req, &q, &retry_ms);
	mutex_unlock(&rnbdt_lock);
	if (q) {
		/* Its teardown, and that of the session, wait for this handler. */
		rnbdt_queue_accept(q, req, conn);
		rnbdt_session_connected(s);
	}
	rnbdt_session_put(s);
	memalloc_noio_restore(noio);
	return q ? 0 : rnbdt_refuse(id, req, status, retry_ms);
}
