// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of a session, made queue by queue, and released.
 *
 * Operation: Queue 0 is connected first. Its connection request names host, session and
 * epoch. Its first frame is the login (login.c), whose reply grants queues, depth, limits
 * and the pool. When the session is live, further.c connects the other queues, which join the
 * session (join.c) and take blocks of the pool as they need them (cache.c). The calling thread
 * executes these steps one after the other, and waits for each event with a deadline (cm.c).
 *
 * Ownership: cm_id and ring belong to the queue, the protection domain to the session. They
 * exist from rnbdc_connect() to rnbdc_release_connection(). Slots, tables and stages of a
 * queue (queue_alloc.c) and the tables of the pool (login.c, space.c) stay allocated for the
 * next connection.
 *
 * Concurrency: The caller owns the connection: the attach or discovery that creates the
 * session, the detach that ends the session, or recover_work. further_work owns the connection
 * of a queue that has not joined. conn_lock is held while queue pairs are created and resources are
 * freed, so that readers of sysfs do not use freed ones. Completion handlers run until
 * rnbdc_disconnect() has drained the queue pairs.
 *
 * Errors: Most failures set an error message for the user; without one, the caller reports
 * that memory is lacking. rnbdc_connect() frees nothing on error: rnbdc_disconnect() and
 * rnbdc_release_connection() may be called for every partly established connection.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/device.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../core/cm.h"
#include "../core/dma.h"
#include "../core/frame.h"
#include "../core/inject.h"
#include "../core/lease.h"
#include "../core/proto_err.h"
#include "../core/quirks.h"
#include "../core/ring.h"
#include "../core/ring_setup.h"
#include "backoff.h"
#include "bounce.h"
#include "cache.h"
#include "cm.h"
#include "complete.h"
#include "connect.h"
#include "control.h"
#include "errmsg.h"
#include "inject.h"
#include "join.h"
#include "lease.h"
#include "login.h"
#include "queue.h"
#include "queue_alloc.h"
#include "session.h"
#include "space.h"
#include "stall.h"
#include "state.h"
#include "tags.h"

/* Test whether the session was live before. */
static bool rnbdc_reconnects(const struct rnbdc_session *sess)
{
	return sess->state != RNBDC_SESS_NEW;
}

static enum rnbd_proto_err rnbdc_queue_frame(struct rnbd_ring *ring,
					     struct rnbd_frame *frame)
{
	struct rnbdc_queue *q = container_of(ring, struct rnbdc_queue, ring);

	if (frame->type == RNBD_FRAME_REPLY && READ_ONCE(q->used))
		return rnbdc_handle_replies(q, frame);
	if (frame->type != RNBD_FRAME_CONTROL)
		return RNBD_PERR_TYPE;
	return rnbdc_handle_control(q, frame);
}

/* Test whether a failure of this queue ends all connections of the session, see further.c. */
static bool rnbdc_queue_is_joined(struct rnbdc_queue *q)
{
	unsigned long flags;
	bool joined;

	spin_lock_irqsave(&q->sess->lock, flags);
	joined = !q->index || q->joined;
	spin_unlock_irqrestore(&q->sess->lock, flags);
	return joined;
}

static void rnbdc_queue_failed(struct rnbd_ring *ring, const char *reason)
{
	struct rnbdc_queue *q = container_of(ring, struct rnbdc_queue, ring);

	if (rnbdc_queue_is_joined(q))
		rnbdc_session_fail(q->sess, reason);
	else if (READ_ONCE(q->established) && !q->cm_reason)
		q->cm_reason = reason;
	/*
	 * Wake the thread that waits during the login or join. Do not wake it before the connection
	 * is established: a refusal also fails the queue pair, but is not a lost connection.
	 */
	if (READ_ONCE(q->established))
		rnbdc_queue_wake(q, -ECONNRESET);
}

static void rnbdc_queue_proto_err(struct rnbd_ring *ring, enum rnbd_proto_err perr)
{
	struct rnbdc_queue *q = container_of(ring, struct rnbdc_queue, ring);

	rnbdc_count_proto_err(q->sess, perr);
}

static const struct rnbd_ring_ops rnbdc_queue_ring_ops = {
	.frame = rnbdc_queue_frame,
	.sent = rnbdc_queue_sent,
	.credit = rnbdc_queue_credit,
	.proto_err = rnbdc_queue_proto_err,
	.failed = rnbdc_queue_failed,
	.trim_depth = rnbdc_queue_trim_tags,
};

/* Milliseconds that the connection manager may take to resolve an address or a route. */
#define RNBDC_RESOLVE_MS		2000

/* Set up the RDMA device of a resolved address, or check that all queues use the same device. */
static int rnbdc_setup_device(struct rnbdc_session *sess, struct rdma_cm_id *cm_id,
			      struct rnbdc_errmsg *errmsg)
{
	struct ib_device *dev = cm_id->device;
	int ret;

	if (sess->conn.dev) {
		if (sess->conn.dev == dev)
			return 0;
		rnbdc_errmsg_set(errmsg, "the queues of the session use different RDMA devices");
		return -ENODEV;
	}

	/*
	 * The memory that an iWARP RDMA READ writes to must be registered with remote write
	 * access. The client never gives a peer access to its memory.
	 */
	if (rdma_protocol_iwarp(dev, cm_id->port_num)) {
		rnbdc_errmsg_set(errmsg, "device %s is iWARP, which is not supported",
				 dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}
	if (dev->attrs.max_send_sge < 1 || dev->attrs.max_sge_rd < 1 ||
	    dev->attrs.max_qp_init_rd_atom < 1) {
		rnbdc_errmsg_set(errmsg, "device %s cannot do RDMA READ",
				 dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}

	sess->conn.pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(sess->conn.pd)) {
		ret = PTR_ERR(sess->conn.pd);
		sess->conn.pd = NULL;
		rnbdc_errmsg_set(errmsg, "device %s cannot allocate a protection domain (%d)",
				 dev_name(&dev->dev), ret);
		return ret;
	}
	sess->conn.dev = dev;
	rnbd_quirks_init(&sess->conn.quirks, dev);
	ret = rnbd_quirks_add_port(&sess->conn.quirks, dev, cm_id->port_num, sess->recovery.lossy);
	if (ret)
		return ret;
	/* Disks keep the limit of the device over which they were created: refuse a lower limit. */
	if (sess->max_segment_size > rnbd_max_segment_size(dev)) {
		rnbdc_errmsg_set(errmsg, "device %s maps smaller segments than the disks need",
				 dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}
	if (!sess->max_segment_size)
		sess->max_segment_size = rnbd_max_segment_size(dev);
	sess->conn.max_sge = min(dev->attrs.max_send_sge, 32);
	sess->conn.max_sge_rd = min3(dev->attrs.max_sge_rd, dev->attrs.max_send_sge, 32);
	return 0;
}

static int rnbdc_connect_queue(struct rnbdc_session *sess, u32 index,
			       struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_queue *q = sess->queues[index];
	struct rnbd_conn_req req = {
		.conn = index,
		.ring_slots = sess->opt.ring_slots,
		.slot_size = sess->opt.slot_size,
		.epoch = sess->epoch,
	};
	struct rdma_conn_param param = { };
	struct rnbd_ring_attr attr;
	/* I/O waits only for queue 0 of a session that reconnects: use a shorter limit for it. */
	u32 step_ms = rnbdc_reconnects(sess) && !index ? rnbdc_step_ms(q->timeouts) :
							 RNBDC_STEP_MS;
	struct rnbd_cm_req wire;
	struct rdma_cm_id *cm_id;
	u32 left = 0;
	int ret;

	/* The attempt number of queue 0 is the epoch. No attempt number is used twice. */
	q->attempt = index ? ++sess->attempt : sess->epoch;
	req.attempt = q->attempt;
	q->retry_ms = 0;
	WRITE_ONCE(q->established, false);
	cm_id = rdma_create_id(&init_net, rnbdc_cm_event, q, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	q->cm_id = cm_id;

	rnbdc_cm_wait_arm(q);
	ret = rdma_resolve_addr(cm_id, NULL, (struct sockaddr *)&sess->opt.dst,
				RNBDC_RESOLVE_MS);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "no route to this address over an RDMA device");
		return ret;
	}
	ret = rnbdc_cm_wait(q, step_ms, errmsg, "the address does not resolve");
	if (ret)
		return ret;
	ret = rnbdc_setup_device(sess, cm_id, errmsg);
	if (ret)
		return ret;

	rnbdc_cm_wait_arm(q);
	ret = rdma_resolve_route(cm_id, RNBDC_RESOLVE_MS);
	if (!ret)
		ret = rnbdc_cm_wait(q, step_ms, errmsg, "no route to the target");
	if (ret)
		return ret;

	ret = rnbdc_queue_alloc(q);
	if (ret == -EOPNOTSUPP)
		rnbdc_errmsg_set(errmsg, "queue pairs of device %s are too small for max-io %u",
				 dev_name(&sess->conn.dev->dev), sess->opt.max_io);
	if (ret)
		return ret;
	attr = (struct rnbd_ring_attr) {
		.ops = &rnbdc_queue_ring_ops,
		.slots = sess->opt.ring_slots,
		.slot_size = sess->opt.slot_size,
		.attempt = q->attempt,
		.data_wrs = q->sq_size,
		.max_send_sge = max(sess->conn.max_sge, sess->conn.max_sge_rd),
		.vector = index,
		/* The last queues are polled; never queue 0, which logs in. */
		.poll = index && index + sess->nr_poll >= sess->nr_queues ?
			IB_POLL_DIRECT : IB_POLL_SOFTIRQ,
		.keep = true,
	};
	/* Keep readers of sysfs away from a queue pair that is destroyed after an error. */
	mutex_lock(&sess->conn_lock);
	ret = rnbd_ring_create(&q->ring, cm_id, sess->conn.pd, &attr);
	mutex_unlock(&sess->conn_lock);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "device %s cannot create the queue pair (%d)",
				 dev_name(&sess->conn.dev->dev), ret);
		return ret;
	}

	memcpy(req.host_id, sess->opt.host_id, sizeof(req.host_id));
	memcpy(req.session_id, sess->id, sizeof(req.session_id));
	if (!index)
		sess->auth.req = req;
	q->join.step = RNBDC_JOIN_NONE;
	rnbd_encode_cm_req(&wire, &req);
	param.private_data = &wire;
	param.private_data_len = sizeof(wire);
	param.initiator_depth = min(sess->conn.dev->attrs.max_qp_init_rd_atom, U8_MAX);
	param.responder_resources = 0;
	param.retry_count = 7;
	/* Few RNR retries suffice: credits ensure that the target has a receive slot posted. */
	param.rnr_retry_count = 3;

	rnbdc_cm_wait_arm(q);
	/* Start now: a frame can arrive before the connection manager reports the connection. */
	ret = rnbd_ring_start(&q->ring, 0);
	if (!ret)
		ret = rdma_connect(cm_id, &param);
	if (!ret)
		ret = rnbdc_cm_wait(q, step_ms, errmsg, "the target does not answer");
	/* A busy target possibly answers too late: repeated time-outs lengthen the time limit. */
	q->timeouts = ret == -ETIMEDOUT ? q->timeouts + 1 : 0;
	if (ret)
		return ret;

	ret = rnbd_ring_disable_remote_access(&q->ring, &left);
	if (!ret && left)
		pr_warn_ratelimited("%s: device %s does not disable remote access, it reports %#x; the client still offers no memory to the target\n",
				    sess->opt.addr, dev_name(&sess->conn.dev->dev), left);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "device %s cannot disable remote access (%d)",
				 dev_name(&sess->conn.dev->dev), ret);
		return ret;
	}
	ret = rnbd_quirks_add_path(&sess->conn.quirks, q->ring.qp);
	if (!ret && index)
		return rnbdc_join(q, &req, step_ms, errmsg);
	if (ret)
		rnbdc_errmsg_set(errmsg, "device %s does not report the MTU of the path (%d)",
				 dev_name(&sess->conn.dev->dev), ret);
	return ret;
}

/**
 * rnbdc_connect_first - connect queue 0 of a session
 * @sess: session without a connection
 * @errmsg: message for the user, set on most errors
 *
 * Context: process context, may sleep; ends early when the command is aborted, or when all
 * disks of the session are detached, deactivated or failed.
 * Return: 0 or a negative errno. In both cases the caller must call rnbdc_disconnect() and
 * rnbdc_release_connection() later.
 */
int rnbdc_connect_first(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	unsigned long flags;
	u32 epoch;
	int ret;

	spin_lock_irqsave(&sess->lock, flags);
	sess->recovery.broken = false;
	sess->recovery.broken_reason = NULL;
	sess->login.status = RNBDC_LOGIN_NONE;
	sess->login.granted = false;
	sess->login.nr_segments = 0;
	sess->login.retry_ms = 0;
	sess->attempt++;
	if (!rnbdc_reconnects(sess) && rnbd_inject(&rnbdc_inject_set_epoch, &epoch))
		sess->attempt = epoch;
	sess->epoch = sess->attempt;
	spin_unlock_irqrestore(&sess->lock, flags);

	ret = rnbdc_alloc_queue(sess, 0);
	return ret ?: rnbdc_connect_queue(sess, 0, errmsg);
}

/* Make the granted pool available to the queues. */
static int rnbdc_open_pool(struct rnbdc_session *sess)
{
	const struct rnbd_grant *offer = &sess->login.offer;
	u32 i, range = offer->pool_units;
	int ret;

	/* The target may grant further segments in any slot, so the range covers all slots. */
	if (offer->max_units > offer->pool_units)
		range = offer->nr_slots * offer->segment_units;
	ret = rnbdc_space_open(&sess->space, range, offer->segment_units,
			       DIV_ROUND_UP(offer->max_io, RNBD_UNIT_SIZE), sess->nr_queues);
	for (i = 0; !ret && i < sess->nr_queues; i++)
		ret = rnbdc_cache_open(&sess->queues[i]->cache, i);
	for (i = 0; !ret && i < offer->nr_segments; i++)
		ret = rnbdc_space_add_segment(&sess->space, i, sess->conn.segments[i].generation,
					      sess->conn.segments[i].units);
	if (!ret && sess->opt.copy)
		ret = rnbdc_bounce_alloc(sess);
	if (!ret) {
		rnbdc_stall_start(sess);
		rnbdc_lease_start(sess);
	}
	return ret;
}

/**
 * rnbdc_connect_further - connect a queue other than 0
 * @q: queue of a live session
 * @errmsg: message for the user, set on most errors
 *
 * Context: further_work, may sleep; ends early when the session is lost, or when all its disks
 * are detached, deactivated or failed.
 * Return: 0, or a negative errno, after which the caller must call rnbdc_disconnect_further().
 */
int rnbdc_connect_further(struct rnbdc_queue *q, struct rnbdc_errmsg *errmsg)
{
	int ret = rnbdc_connect_queue(q->sess, q->index, errmsg);

	if (!ret)
		rnbdc_queue_init_tags(q, q->sess->grant.queue_depth);
	return ret;
}

/* Free the resources of the connection of a drained queue, except its cm_id. */
static void rnbdc_release_queue(struct rnbdc_queue *q)
{
	lockdep_assert_held(&q->sess->conn_lock);

	rnbd_ring_destroy(&q->ring);
	rnbdc_queue_reset(q);
}

static void rnbdc_destroy_id(struct rnbdc_queue *q)
{
	if (q->cm_id)
		rdma_destroy_id(q->cm_id);
	q->cm_id = NULL;
}

/**
 * rnbdc_disconnect_further - end the connection of a queue that has not joined its session
 * @q: queue other than 0, connected or partly connected
 *
 * Context: further_work, may sleep; takes conn_lock.
 */
void rnbdc_disconnect_further(struct rnbdc_queue *q)
{
	if (q->ring.qp)
		rdma_disconnect(q->cm_id);
	rnbd_ring_drain(&q->ring);
	mutex_lock(&q->sess->conn_lock);
	rnbdc_release_queue(q);
	mutex_unlock(&q->sess->conn_lock);
	rnbdc_destroy_id(q);
}

/**
 * rnbdc_connect - connect queue 0 of a session and log in
 * @sess: session without a connection
 * @errmsg: message for the user, set on most errors
 *
 * Context: process context, may sleep; ends early when the command is aborted, or when all
 * disks of the session are detached, deactivated or failed.
 * Return: 0 with sess->login.offer valid and checked, or a negative errno, after which the
 * caller must call rnbdc_disconnect() and rnbdc_release_connection().
 */
int rnbdc_connect(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	u32 i;
	int ret;

	ret = rnbdc_connect_first(sess, errmsg);
	if (!ret)
		ret = rnbdc_login_to_target(sess, errmsg);
	if (!ret && rnbdc_reconnects(sess))
		ret = rnbdc_check_offer(sess, errmsg);
	if (ret)
		return ret;

	if (!rnbdc_reconnects(sess)) {
		sess->grant = sess->login.offer;
		sess->nr_queues = sess->login.offer.nr_queues;
		sess->nr_poll = rnbdc_poll_share(sess, sess->nr_queues);
	}
	/* Allocate the other queues now; further.c connects them while the session is live. */
	for (i = 1; i < sess->nr_queues; i++) {
		ret = rnbdc_alloc_queue(sess, i);
		if (ret)
			return ret;
	}
	rnbdc_queue_init_tags(sess->queues[0], sess->login.offer.queue_depth);
	/* No request uses the pool before the session is live. */
	return rnbdc_open_pool(sess);
}

/**
 * rnbdc_disconnect - disconnect and drain all queue pairs of a session
 * @sess: session, connected or partly connected
 *
 * On return no completion handler of this session runs or will run, and the device no
 * longer uses the pages of requests.
 *
 * Context: process context, may sleep; not the connection manager's thread.
 */
void rnbdc_disconnect(struct rnbdc_session *sess)
{
	u32 i;

	for (i = 0; i < sess->max_queues && sess->queues[i]; i++)
		if (sess->queues[i]->ring.qp)
			rdma_disconnect(sess->queues[i]->cm_id);
	for (i = 0; i < sess->max_queues && sess->queues[i]; i++)
		rnbd_ring_drain_start(&sess->queues[i]->ring);
	for (i = 0; i < sess->max_queues && sess->queues[i]; i++)
		rnbd_ring_drain(&sess->queues[i]->ring);
}

/**
 * rnbdc_release_connection - free the resources of a connection
 * @sess: disconnected session without requests in flight
 *
 * Each struct rnbdc_queue stays allocated, because blk-mq refers to it. The memory of the
 * queues and the tables of the pool stay allocated for the next connection.
 *
 * Context: process context, may sleep; takes conn_lock; not the connection
 * manager's thread.
 */
void rnbdc_release_connection(struct rnbdc_session *sess)
{
	u32 i;

	rnbdc_lease_stop(sess);
	rnbdc_stall_stop(sess);
	mutex_lock(&sess->conn_lock);
	for (i = 0; i < sess->max_queues && sess->queues[i]; i++)
		rnbdc_release_queue(sess->queues[i]);
	WRITE_ONCE(sess->nr_connected, 0);
	rnbdc_bounce_unmap(sess);
	rnbdc_space_close(&sess->space);
	if (sess->conn.pd)
		ib_dealloc_pd(sess->conn.pd);
	sess->conn = (struct rnbdc_conn) {
		.segments = sess->conn.segments,
		.nr_segments = sess->conn.nr_segments,
	};
	mutex_unlock(&sess->conn_lock);
	/* Destroy the cm_ids last: the removal of a device waits only for its cm_ids. */
	for (i = 0; i < sess->max_queues && sess->queues[i]; i++)
		rnbdc_destroy_id(sess->queues[i]);
}

/**
 * rnbdc_free_kept - free the memory that was kept for the next connection
 * @sess: session without a connection, which will not be connected again
 *
 * Context: process context, may sleep.
 */
void rnbdc_free_kept(struct rnbdc_session *sess)
{
	u32 i;

	for (i = 0; i < sess->nr_queues; i++)
		rnbdc_queue_free(sess->queues[i]);
	rnbdc_space_exit(&sess->space);
	rnbdc_free_segments(sess);
}
