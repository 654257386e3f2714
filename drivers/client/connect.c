// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making and ending the connection of a session.
 *
 * Operation: queue 0 is connected first. Its connection request names host,
 * session and epoch; its first frame is the login that names the export and
 * states wishes; if the target asks for a proof, that follows (auth.c); the
 * reply grants queues, depth, limits and the pool. Then the other queues are
 * connected and the pool is split among them. One thread does all this, step by
 * step, and waits for each event of the connection manager with a deadline.
 *
 * Ownership: cm_id, ring, pool map and staging belong to the queue, the
 * protection domain and the list of segments to the session. All of them are
 * there from rnbd_connect() to rnbd_release_connection().
 *
 * Concurrency: the event handler runs in the connection manager's thread and
 * only records and wakes, or fails the session when nobody waits. It never
 * destroys anything, so a device that is being removed waits for down_work.
 *
 * Errors: every way to fail sets one text for the user. rnbd_connect() frees
 * nothing on error; rnbd_disconnect() and rnbd_release_connection() cope with
 * every half-made state.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "client.h"

/*
 * Milliseconds for each step. The connection manager repeats a lost request by
 * itself, but only after 4 seconds; a new attempt is faster.
 */
#define RNBD_RESOLVE_MS		2000
#define RNBD_STEP_MS		8000
#define RNBD_RECONNECT_MS	1500

/*
 * The target may have to look long for the pages of a large pool. It gives signs of
 * life meanwhile, so this only ends what would never come to an end.
 */
#define RNBD_LOGIN_MS		50000
#define RNBD_LIST_MS		20000

/*
 * The target's connection manager takes us for a connection of this machine
 * before it was started anew, and ends that one, which makes room for us.
 */
static bool rnbd_cm_stale(const struct rnbd_queue *q, const struct rdma_cm_event *event)
{
	return rdma_ib_or_roce(q->cm_id->device, q->cm_id->port_num) &&
	       event->status == IB_CM_REJ_STALE_CONN;
}

/* Refused by the target, and not by a connection manager. */
static int rnbd_cm_refused(struct rnbd_queue *q, const void *data, u8 len)
{
	enum rnbd_fault fault;
	u16 version;

	/* What the target had accepted and has ended again is BUSY, too. */
	fault = rnbd_decode_cm_rej(data, len, &version, &q->cm_status);
	if (fault) {
		rnbd_violated(q->sess, fault);
		q->cm_reason = "the target's refusal makes no sense";
		return -EPROTO;
	}
	q->cm_reason = q->cm_status == RNBD_ST_VERSION ?
		       "the target speaks another protocol version" :
		       rnbd_status_text(q->cm_status);
	return q->cm_status == RNBD_ST_BUSY ? -EBUSY : -ECONNREFUSED;
}

static void rnbd_cm_rejected(struct rnbd_queue *q, struct rdma_cm_event *event)
{
	int error = rnbd_cm_stale(q, event) ? -EBUSY : -ECONNREFUSED;
	const void *data;
	u8 len;

	data = rdma_consumer_reject_data(q->cm_id, event, &len);
	if (data)
		error = rnbd_cm_refused(q, data, len);
	else if (event->status == IB_CM_REJ_INVALID_SERVICE_ID)
		q->cm_reason = "no rnbd target listens on this port";
	else
		q->cm_reason = rdma_reject_msg(q->cm_id, event->status);
	rnbd_queue_wake(q, error);
}

static void rnbd_cm_established(struct rnbd_queue *q, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct rnbd_session *sess = q->sess;
	struct rnbd_conn_req asked = {
		.slot_size = sess->opt.slot_size,
		.epoch = sess->epoch,
	};
	enum rnbd_fault fault;
	u16 slots;

	fault = rnbd_decode_cm_rep(param->private_data, param->private_data_len,
				   &asked, &slots);
	if (fault) {
		rnbd_violated(sess, fault);
		q->cm_reason = "the target's answer makes no sense";
		rnbd_queue_wake(q, -EPROTO);
		return;
	}
	WRITE_ONCE(q->established, true);
	rnbd_queue_wake(q, rnbd_ring_start(&q->ring, slots));
}

static void rnbd_cm_lost(struct rnbd_queue *q, const char *why)
{
	if (q->ring.qp)
		rnbd_ring_fail(&q->ring, why);
	/* The ring passes that on only once it is established. */
	if (!q->established) {
		q->cm_reason = why;
		rnbd_queue_wake(q, -ENODEV);
	}
}

static int rnbd_cm_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
{
	struct rnbd_queue *q = cm_id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rnbd_queue_wake(q, 0);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rnbd_cm_established(q, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		q->cm_reason = "no RDMA device reaches this address, or nobody answers there";
		rnbd_queue_wake(q, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		q->cm_reason = "the target does not answer";
		rnbd_queue_wake(q, -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rnbd_cm_rejected(q, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rnbd_cm_lost(q, "the target closed the connection");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rnbd_cm_lost(q, "the RDMA device was removed");
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rnbd_cm_lost(q, "the RDMA device lost its address");
		break;
	default:
		break;
	}
	return 0;
}

static bool rnbd_cm_woken(const struct rnbd_queue *q)
{
	/* pairs with the release in rnbd_queue_wake() */
	return smp_load_acquire(&q->cm_done) ||
	       rnbd_session_ends(q->sess);
}

/**
 * rnbd_keepalive - give signs of life on the queues that are connected
 * @sess: session
 * @nr: that many
 * @interval_ms: as granted, or that of a login
 *
 * Context: process context.
 */
void rnbd_keepalive(struct rnbd_session *sess, u32 nr, u32 interval_ms)
{
	u32 i;

	for (i = 0; i < nr; i++)
		rnbd_ring_keepalive(&sess->queues[i]->ring, interval_ms);
}

/*
 * One sleep. Queues that are connected already must not fall silent meanwhile, nor
 * the first one while it waits for the login.
 * Returns jiffies slept, or -ERESTARTSYS.
 */
static long rnbd_cm_nap(struct rnbd_queue *q, long left)
{
	struct rnbd_session *sess = q->sess;
	u32 connected = q->index, interval_ms = sess->offer.keepalive_ms;
	long nap = left, ret;

	if (READ_ONCE(sess->login_status) == RNBD_LOGIN_OPEN) {
		connected = 1;
		interval_ms = RNBD_LOGIN_KEEPALIVE_MS;
	}
	if (connected)
		nap = min_t(long, left, msecs_to_jiffies(interval_ms) / 2 + 1);
	/* Netlink would answer nothing to a caller whom a signal woke but did not kill. */
	ret = wait_event_killable_timeout(sess->wait, rnbd_cm_woken(q), nap);
	if (ret < 0)
		return ret;
	if (connected)
		rnbd_keepalive(sess, connected, interval_ms);
	return nap - ret;
}

/* Wait for the connection manager or the target; sets a reason on error. */
static int rnbd_cm_wait(struct rnbd_queue *q, unsigned int ms, struct rnbd_why *why,
			const char *late)
{
	struct rnbd_session *sess = q->sess;
	long left = msecs_to_jiffies(ms);
	long slept = 0;

	while (left > 0 && !rnbd_cm_woken(q)) {
		slept = rnbd_cm_nap(q, left);
		if (slept < 0)
			break;
		left -= slept;
	}
	if (slept >= 0 && rnbd_session_ends(sess)) {
		rnbd_why(why, "detached or deactivated meanwhile");
		return -ECANCELED;
	}
	if (slept < 0) {
		rnbd_why(why, "interrupted");
		return -EINTR;
	}
	if (!rnbd_cm_woken(q)) {
		rnbd_why(why, "%s", late);
		return -ETIMEDOUT;
	}
	if (q->cm_error)
		rnbd_why(why, "%s", q->cm_reason ?: sess->broken_why ?:
				    "connection failed");
	return q->cm_error;
}

static void rnbd_cm_expect(struct rnbd_queue *q)
{
	q->cm_done = false;
	q->cm_error = 0;
	q->cm_status = 0;
	q->cm_reason = NULL;
}

/* The device is known once the address is resolved: is it good enough? */
static int rnbd_use_device(struct rnbd_session *sess, struct rdma_cm_id *cm_id,
			   struct rnbd_why *why)
{
	struct ib_device *dev = cm_id->device;

	if (sess->dev) {
		if (sess->dev == dev)
			return 0;
		rnbd_why(why, "the queues came out on different RDMA devices");
		return -ENODEV;
	}

	/*
	 * The sink of an iWARP RDMA READ must be registered and remotely
	 * writable. This client never opens its memory to a peer.
	 */
	if (rdma_protocol_iwarp(dev, cm_id->port_num)) {
		rnbd_why(why, "device %s is iWARP, which is not supported",
			 dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}
	if (dev->attrs.max_send_sge < 1 || dev->attrs.max_sge_rd < 1 ||
	    dev->attrs.max_qp_init_rd_atom < 1) {
		rnbd_why(why, "device %s cannot do RDMA READ",
			 dev_name(&dev->dev));
		return -EOPNOTSUPP;
	}

	sess->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(sess->pd)) {
		int ret = PTR_ERR(sess->pd);

		sess->pd = NULL;
		rnbd_why(why, "no protection domain on device %s (%d)",
			 dev_name(&dev->dev), ret);
		return ret;
	}
	sess->dev = dev;
	sess->read_limit = U32_MAX;
	sess->guard_over = U32_MAX;
	if (dev->ops.driver_id == RDMA_DRIVER_RXE) {
		struct ib_port_attr port;

		if (ib_query_port(dev, cm_id->port_num, &port))
			return -EIO;
		sess->guard_over = ib_mtu_enum_to_int(port.active_mtu);
		/* Where READs of several packets do not get through. */
		if (sess->lossy)
			sess->read_limit = sess->guard_over;
	}
	sess->max_sge = min(dev->attrs.max_send_sge, 32);
	sess->max_sge_rd = min3(dev->attrs.max_sge_rd, dev->attrs.max_send_sge, 32);
	if (!sess->disk)
		sess->max_segments = max(rnbd_bounce_segments(sess->opt.max_io) *
					 sess->opt.copy,
					 clamp(sess->opt.max_io >> RNBD_UNIT_SHIFT,
					       RNBD_SEGMENTS_MIN, RNBD_SEGMENTS_MAX));
	return 0;
}

/* See rnbd_read_guard(). A READ within one packet is safe. */
static int rnbd_use_path(struct rnbd_session *sess, struct ib_qp *qp)
{
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;
	int ret;

	if (sess->guard_over == U32_MAX)
		return 0;
	ret = ib_query_qp(qp, &attr, IB_QP_PATH_MTU, &init_attr);
	if (!ret)
		sess->guard_over = min_t(u32, sess->guard_over,
					 ib_mtu_enum_to_int(attr.path_mtu));
	return ret;
}

static int rnbd_connect_queue(struct rnbd_session *sess, u32 index,
			      struct rnbd_why *why)
{
	struct rnbd_queue *q = sess->queues[index];
	struct rnbd_conn_req req = {
		.queue = index,
		.ring_slots = sess->opt.ring_slots,
		.slot_size = sess->opt.slot_size,
		.epoch = sess->epoch,
	};
	struct rdma_conn_param param = { };
	struct rnbd_ring_attr attr;
	u32 step_ms = sess->disk ? RNBD_RECONNECT_MS : RNBD_STEP_MS;
	struct rnbd_cm_req wire;
	struct rdma_cm_id *cm_id;
	int ret;

	WRITE_ONCE(q->established, false);
	cm_id = rdma_create_id(&init_net, rnbd_cm_event, q, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	q->cm_id = cm_id;

	rnbd_cm_expect(q);
	ret = rdma_resolve_addr(cm_id, NULL, (struct sockaddr *)&sess->opt.dst,
				RNBD_RESOLVE_MS);
	if (ret) {
		rnbd_why(why, "no route to this address over an RDMA device");
		return ret;
	}
	ret = rnbd_cm_wait(q, step_ms, why, "the address does not resolve");
	if (ret)
		return ret;
	ret = rnbd_use_device(sess, cm_id, why);
	if (ret)
		return ret;

	rnbd_cm_expect(q);
	ret = rdma_resolve_route(cm_id, RNBD_RESOLVE_MS);
	if (!ret)
		ret = rnbd_cm_wait(q, step_ms, why, "no route to the target");
	if (ret)
		return ret;

	ret = rnbd_queue_alloc(q);
	if (ret == -EOPNOTSUPP)
		rnbd_why(why, "queue pairs of device %s are too small for max-io %u",
			 dev_name(&sess->dev->dev), sess->opt.max_io);
	if (ret)
		return ret;
	attr = (struct rnbd_ring_attr) {
		.ops = &rnbd_queue_ring_ops,
		.slots = sess->opt.ring_slots,
		.slot_size = sess->opt.slot_size,
		.epoch = sess->epoch,
		.data_wrs = q->sq_size,
		.max_send_sge = max(sess->max_sge, sess->max_sge_rd),
		.vector = index,
		/* the last ones; never the first, which logs in */
		.poll = index && index + sess->nr_poll >= sess->nr_queues ?
			IB_POLL_DIRECT : IB_POLL_SOFTIRQ,
	};
	/* Readers of the queue pair may see it come, and go if that fails. */
	mutex_lock(&sess->conn_lock);
	ret = rnbd_ring_create(&q->ring, cm_id, sess->pd, &attr);
	mutex_unlock(&sess->conn_lock);
	if (ret) {
		rnbd_why(why, "device %s has no room for the queue pair (%d)",
			 dev_name(&sess->dev->dev), ret);
		return ret;
	}

	memcpy(req.host_id, sess->opt.host_id, sizeof(req.host_id));
	memcpy(req.session_id, sess->id, sizeof(req.session_id));
	if (!index)
		sess->req = req;
	else if (sess->key)
		ret = rnbd_auth_token(sess, &req);
	if (ret) {
		rnbd_why(why, "the kernel cannot compute an HMAC (%d)", ret);
		return ret;
	}
	rnbd_encode_cm_req(&wire, &req);
	param.private_data = &wire;
	param.private_data_len = sizeof(wire);
	param.initiator_depth = min(sess->dev->attrs.max_qp_init_rd_atom, U8_MAX);
	param.responder_resources = 0;
	param.retry_count = 7;
	/* Credits make sure that a receive slot is always posted. */
	param.rnr_retry_count = 3;

	rnbd_cm_expect(q);
	ret = rdma_connect(cm_id, &param);
	if (!ret)
		ret = rnbd_cm_wait(q, step_ms, why, "the target does not answer");
	if (ret)
		return ret;

	ret = rnbd_ring_lock_down(&q->ring);
	if (ret) {
		rnbd_why(why, "device %s cannot switch remote access off (%d)",
			 dev_name(&sess->dev->dev), ret);
		return ret;
	}
	ret = rnbd_use_path(sess, q->ring.qp);
	if (ret)
		rnbd_why(why, "device %s does not tell the path's MTU (%d)",
			 dev_name(&sess->dev->dev), ret);
	return ret;
}

/**
 * rnbd_login_reply - take the target's answer to the login
 * @q: queue 0
 * @frame: frame of type RNBD_FRAME_LOGIN_REPLY
 * @fault: what is wrong with it, if anything
 *
 * Context: completion handler of @q.
 */
void rnbd_login_reply(struct rnbd_queue *q, const struct rnbd_frame *frame,
		      enum rnbd_fault *fault)
{
	struct rnbd_session *sess = q->sess;
	struct rnbd_grant grant;
	u32 i;

	/* Only while somebody waits for it, and once; a list is no answer to that. */
	if (q->index || sess->exports || sess->login_status != RNBD_LOGIN_OPEN) {
		*fault = RNBD_FAULT_TYPE;
		return;
	}
	*fault = rnbd_decode_grant(frame, &sess->login, &grant);
	if (*fault || !rnbd_auth_may_take(q, grant.status, fault))
		return;
	sess->offer = grant;
	for (i = 0; !*fault && i < sess->offer.nr_segments; i++)
		*fault = rnbd_decode_segment(frame, i, &sess->offer,
					     &sess->segments[i]);
	if (*fault)
		return;
	WRITE_ONCE(sess->capacity, sess->offer.capacity);
	WRITE_ONCE(sess->login_status, sess->offer.status);
	rnbd_queue_wake(q, 0);
}

/**
 * rnbd_take_resize - the target tells of another size of the export
 * @q: queue 0
 * @frame: frame of type RNBD_FRAME_RESIZE
 *
 * If the session is not live yet, the size counts when it is.
 *
 * Context: completion handler of @q.
 * Return: what is wrong with it, if anything.
 */
enum rnbd_fault rnbd_take_resize(struct rnbd_queue *q, const struct rnbd_frame *frame)
{
	struct rnbd_session *sess = q->sess;
	enum rnbd_fault fault;
	unsigned long next;
	u64 capacity;

	if (q->index || sess->login_status != RNBD_ST_OK ||
	    !(sess->offer.features & RNBD_FEATURE_RESIZE))
		return RNBD_FAULT_TYPE;
	fault = rnbd_decode_resize(frame, sess->offer.logical_block, &capacity);
	if (fault)
		return fault;
	WRITE_ONCE(sess->capacity, capacity);
	next = READ_ONCE(sess->resized_at) + RNBD_RESIZE_PAUSE;
	queue_delayed_work(rnbd_wq, &sess->resize_work,
			   time_before(jiffies, next) ? next - jiffies : 0);
	return RNBD_FAULT_NONE;
}

/* What fits a slot beside its entries, if the device puts the two together. */
static u32 rnbd_inline_limit(const struct rnbd_session *sess, u32 wish)
{
	if (sess->dev->attrs.max_send_sge < 2)
		return 0;
	return min(wish, sess->opt.slot_size - RNBD_RING_DATA_AT);
}

/* A disk that waits too long for its connection is given up in time. */
static u32 rnbd_login_ms(const struct rnbd_session *sess)
{
	unsigned long waited = jiffies - sess->lost_at;
	unsigned long limit = sess->opt.loss_timeout * HZ;

	/* A list needs no pool. And who waits for it holds up all of generic netlink. */
	if (sess->exports)
		return RNBD_LIST_MS;
	if (!sess->disk || !limit)
		return RNBD_LOGIN_MS;
	return min_t(u32, RNBD_LOGIN_MS,
		     jiffies_to_msecs(limit - min(limit, waited)) + 1);
}

/* blk-mq has no use for more queues than processors. */
static u32 rnbd_wished_poll(const struct rnbd_session *sess)
{
	return min(sess->opt.poll_queues, nr_cpu_ids);
}

static u32 rnbd_wished_queues(const struct rnbd_session *sess)
{
	return min(sess->opt.queues, nr_cpu_ids) + rnbd_wished_poll(sess);
}

static int rnbd_login(struct rnbd_session *sess, struct rnbd_why *why)
{
	struct rnbd_login_info *info = &sess->login;

	sess->segments = kvcalloc(rnbd_max_segments(sess->opt.slot_size),
				  sizeof(*sess->segments), GFP_KERNEL);
	if (!sess->segments)
		return -ENOMEM;

	memset(info, 0, sizeof(*info));
	strscpy(info->export, sess->opt.export);
	memcpy(info->boot_id, rnbd_boot_id, sizeof(info->boot_id));
	info->features = RNBD_FEATURES;
	info->pool_bytes = sess->opt.pool_bytes;
	info->max_io = sess->opt.max_io;
	/* What the disk was made with must be granted again. */
	info->nr_queues = sess->nr_queues ?:
			  min(rnbd_wished_queues(sess), RNBD_QUEUES_MAX);
	info->queue_depth = sess->grant.queue_depth ?: sess->opt.depth;
	info->keepalive_ms = sess->opt.keepalive_ms;
	info->inline_read = rnbd_inline_limit(sess, sess->opt.inline_read);
	info->inline_write = rnbd_inline_limit(sess, sess->opt.inline_write);
	info->flags = sess->opt.readonly ? RNBD_LOGIN_READONLY : 0;
	/* What this disk still holds counts no more if the host was fenced since. */
	info->fence_generation = sess->grant.fence_generation;
	return rnbd_login_ask(sess, why);
}

/* Send a frame of the login with one entry and wait for what comes back. */
static int rnbd_login_say(struct rnbd_session *sess, u8 type, const void *entry,
			  u32 bytes, struct rnbd_why *why)
{
	struct rnbd_queue *q = sess->queues[0];
	unsigned long flags;
	int ret = -ENOTCONN;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (rnbd_ring_open(&q->ring, type)) {
		memcpy(rnbd_ring_add(&q->ring, bytes, 1), entry, bytes);
		ret = rnbd_ring_send(&q->ring, NULL, NULL, IB_SEND_SIGNALED);
	}
	spin_unlock_irqrestore(&q->ring.lock, flags);
	if (ret) {
		rnbd_why(why, "%s", sess->broken_why ?: "connection lost");
		return ret;
	}
	return rnbd_cm_wait(q, rnbd_login_ms(sess), why, "the target does not answer the login");
}

static int rnbd_login_prove(struct rnbd_session *sess, struct rnbd_why *why)
{
	struct rnbd_proof wire;
	u8 mac[RNBD_MAC_SIZE];
	int ret;

	/* The target sends nothing until it has the proof. */
	rnbd_cm_expect(sess->queues[0]);
	ret = rnbd_auth_answer(sess, mac);
	if (ret) {
		rnbd_why(why, "the kernel cannot compute an HMAC (%d)", ret);
		return ret;
	}
	rnbd_encode_proof(&wire, sess->text.client_nonce, mac);
	return rnbd_login_say(sess, RNBD_FRAME_PROOF, &wire, sizeof(wire), why);
}

/**
 * rnbd_login_ask - send the login and wait for the answer
 * @sess: session whose first queue is connected, with sess->login filled
 * @why: filled on error
 *
 * Context: process context, may sleep; ends early on a signal that kills.
 * Return: 0 or an error, also if the target refuses.
 */
int rnbd_login_ask(struct rnbd_session *sess, struct rnbd_why *why)
{
	struct rnbd_login wire;
	int ret;

	rnbd_auth_login(sess);
	sess->login_status = RNBD_LOGIN_OPEN;
	rnbd_cm_expect(sess->queues[0]);
	rnbd_encode_login(&wire, &sess->login);
	ret = rnbd_login_say(sess, RNBD_FRAME_LOGIN, &wire, sizeof(wire), why);
	if (!ret && READ_ONCE(sess->auth) == RNBD_AUTH_CHALLENGED)
		ret = rnbd_login_prove(sess, why);
	if (ret)
		return ret;
	if (sess->login_status != RNBD_ST_OK) {
		rnbd_why(why, "%s", rnbd_status_text(sess->login_status));
		switch (sess->login_status) {
		case RNBD_ST_NO_EXPORT:
			return -ENOENT;
		case RNBD_ST_HOST_DENIED:
		case RNBD_ST_AUTH:
			return -EACCES;
		case RNBD_ST_FENCED:
		case RNBD_ST_REVOKED:
			return -EKEYREVOKED;
		case RNBD_ST_POOL_FULL:
			return -ENOSPC;
		case RNBD_ST_BUSY:
			return -EBUSY;
		default:
			return -ECONNREFUSED;
		}
	}
	return 0;
}

/*
 * How many of the granted queues are polled: all that were wished, or their share if
 * the target granted fewer. The first queue never is: it has a login to wait for.
 */
static u32 rnbd_poll_share(const struct rnbd_session *sess)
{
	u32 poll = rnbd_wished_poll(sess);
	u32 wished = rnbd_wished_queues(sess);

	if (!poll || sess->nr_queues < 2)
		return 0;
	if (sess->nr_queues >= wished)
		return poll;
	return clamp(sess->nr_queues * poll / wished, 1U, sess->nr_queues - 1);
}

static int rnbd_alloc_queue(struct rnbd_session *sess, u32 index)
{
	struct rnbd_queue *q;

	/* Queues stay while there is a disk. */
	if (sess->queues[index])
		return 0;
	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	q->sess = sess;
	q->index = index;
	rnbd_ring_init(&q->ring);
	sess->queues[index] = q;
	return 0;
}

/**
 * rnbd_connect_first - connect the first queue of a session
 * @sess: session without a connection
 * @why: filled on error
 *
 * Context: process context, may sleep; ends early on a signal that kills, or when
 * the session is detached or deactivated.
 * Return: 0 or an error. Either way rnbd_disconnect() and
 * rnbd_release_connection() have to be called in the end.
 */
int rnbd_connect_first(struct rnbd_session *sess, struct rnbd_why *why)
{
	unsigned long flags;
	u32 epoch;
	int ret;

	spin_lock_irqsave(&sess->lock, flags);
	sess->broken = false;
	sess->broken_why = NULL;
	sess->login_status = RNBD_LOGIN_NONE;
	sess->epoch++;
	if (!sess->disk && rnbd_inject(&rnbd_inject_set_epoch, &epoch))
		sess->epoch = epoch;
	spin_unlock_irqrestore(&sess->lock, flags);

	ret = rnbd_alloc_queue(sess, 0);
	return ret ?: rnbd_connect_queue(sess, 0, why);
}

/**
 * rnbd_connect - connect all queues of a session and log in
 * @sess: session without a connection
 * @why: filled on error
 *
 * Context: process context, may sleep; ends early on a signal that kills, or when
 * the session is detached or deactivated.
 * Return: 0 with sess->offer valid and checked, or an error. Then
 * rnbd_disconnect() and rnbd_release_connection() have to be called.
 */
int rnbd_connect(struct rnbd_session *sess, struct rnbd_why *why)
{
	u32 i, share;
	int ret;

	ret = rnbd_connect_first(sess, why);
	if (!ret)
		ret = rnbd_login(sess, why);
	if (!ret && sess->disk)
		ret = rnbd_check_offer(sess, why);
	if (ret)
		return ret;

	/* The pool lies idle until the session is live, so it is split only now. */
	if (!sess->disk) {
		sess->grant = sess->offer;
		sess->nr_queues = sess->offer.nr_queues;
		sess->nr_poll = rnbd_poll_share(sess);
	}
	share = sess->offer.pool_units / sess->nr_queues;
	for (i = 0; i < sess->nr_queues; i++) {
		if (i) {
			ret = rnbd_alloc_queue(sess, i);
			if (!ret)
				ret = rnbd_connect_queue(sess, i, why);
			if (ret)
				return ret;
		}
		ret = rnbd_pool_init(&sess->queues[i]->pool, i * share, share,
				     sess->offer.segment_units);
		if (!ret && sess->opt.copy)
			ret = rnbd_bounce_alloc(sess->queues[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * rnbd_disconnect - make the device let go of everything
 * @sess: session, connected or half connected
 *
 * On return no completion of this session is or will be handled.
 *
 * Context: process context, may sleep; not the connection manager's.
 */
void rnbd_disconnect(struct rnbd_session *sess)
{
	u32 i;

	for (i = 0; i < RNBD_QUEUES_MAX && sess->queues[i]; i++)
		if (sess->queues[i]->ring.qp)
			rdma_disconnect(sess->queues[i]->cm_id);
	for (i = 0; i < RNBD_QUEUES_MAX && sess->queues[i]; i++)
		rnbd_ring_drain(&sess->queues[i]->ring);
}

/**
 * rnbd_release_connection - free what belongs to the connection
 * @sess: disconnected session without requests in flight
 *
 * The queues themselves stay while there is a disk, for blk-mq refers to them.
 *
 * Context: process context, may sleep; not the connection manager's.
 */
void rnbd_release_connection(struct rnbd_session *sess)
{
	u32 i;

	mutex_lock(&sess->conn_lock);
	for (i = 0; i < RNBD_QUEUES_MAX && sess->queues[i]; i++) {
		struct rnbd_queue *q = sess->queues[i];

		rnbd_ring_destroy(&q->ring);
		rnbd_bounce_unmap(q);
		rnbd_queue_free(q);
		rnbd_pool_exit(&q->pool);
	}
	kvfree(sess->segments);
	sess->segments = NULL;
	if (sess->pd)
		ib_dealloc_pd(sess->pd);
	sess->pd = NULL;
	sess->dev = NULL;
	mutex_unlock(&sess->conn_lock);
	/* Last: a device being removed waits for its cm_ids, and only for them. */
	for (i = 0; i < RNBD_QUEUES_MAX && sess->queues[i]; i++) {
		struct rnbd_queue *q = sess->queues[i];

		if (q->cm_id)
			rdma_destroy_id(q->cm_id);
		q->cm_id = NULL;
	}
}
