// SPDX-License-Identifier: GPL-2.0-only
/*
 * Login: the request, the reply, and the check of the offer of the target.
 *
 * Operation: The login requests limits. If the target answers with a challenge, the client
 * authenticates (auth.c). The reply grants queues, depth, limits and a pool, and is stored
 * in sess->login.offer. An entry for each segment of the pool follows the reply; the last of
 * these entries completes the login. After a reconnect the client accepts fewer queues, but
 * refuses an offer with a smaller depth or a smaller largest request than before.
 *
 * Ownership: sess->login.info belongs to the connecting thread. sess->login.offer and the
 * segments belong to the completion handler until the handler wakes the connecting thread.
 * The table of segments stays allocated for the login of the next connection.
 *
 * Concurrency: The completion handler of queue 0 handles one entry at a time.
 * sess->login.status is RNBDC_LOGIN_OPEN while the client awaits the reply, a segment or a list.
 *
 * Errors: A refused login becomes an errno and one error message for the user. An unexpected
 * entry is a protocol error.
 */

#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../core/ctl.h"
#include "../core/lease.h"
#include "../core/login.h"
#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "auth.h"
#include "client.h"
#include "cm.h"
#include "errmsg.h"
#include "lease.h"
#include "login.h"
#include "queue.h"
#include "session.h"
#include "share.h"
#include "state.h"

/* Milliseconds to wait for a list of exports; fewer than for a login, which allocates a pool. */
#define RNBDC_LIST_MS		20000

/* Complete the login and wake the connecting thread, unless further segments must arrive. */
static void rnbdc_login_complete(struct rnbdc_queue *q)
{
	struct rnbdc_session *sess = q->sess;

	if (sess->login.nr_segments < sess->login.offer.nr_segments)
		return;
	WRITE_ONCE(sess->login.status, sess->login.offer.status);
	rnbdc_queue_wake(q, 0);
}

/**
 * rnbdc_handle_login_reply - handle the reply to the login
 * @q: queue 0
 * @entry: entry of type RNBD_CTL_LOGIN_REPLY
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_login_reply(struct rnbdc_queue *q,
					     const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_session *sess = q->sess;
	enum rnbd_proto_err perr;
	struct rnbd_grant grant;

	/* Accept a single reply, only while a thread waits for it; a discovery must get none. */
	if (sess->login.exports || sess->login.status != RNBDC_LOGIN_OPEN ||
	    sess->login.granted)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_grant(entry, &sess->login.info, &grant);
	if (perr || !rnbdc_auth_accepts_reply(q, grant.status, &perr))
		return perr;
	if (grant.status == RNBD_ST_OK)
		perr = rnbdc_auth_accepts_grant(sess, &grant);
	if (perr)
		return perr;
	sess->login.offer = grant;
	sess->login.retry_ms = grant.retry_ms;
	if (grant.status == RNBD_ST_OK) {
		/* pairs with the acquire in rnbdc_cm_wait_step() */
		smp_store_release(&sess->login.granted, true);
		wake_up(&sess->wait);
	}
	rnbdc_login_complete(q);
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_login_open - test whether the login of a session is in progress
 * @sess: session
 *
 * Context: completion handler of queue 0.
 * Return: true if the client awaits the reply, a segment of the pool or a list of exports.
 */
bool rnbdc_login_open(const struct rnbdc_session *sess)
{
	return sess->login.status == RNBDC_LOGIN_OPEN;
}

/**
 * rnbdc_login_refused - test whether a login has failed in the authentication
 * @sess: session
 *
 * Context: completion handler of queue 0.
 * Return: true if the login has failed so; the connection is about to end.
 */
bool rnbdc_login_refused(const struct rnbdc_session *sess)
{
	return READ_ONCE(sess->login.status) == RNBD_ST_AUTH;
}

/**
 * rnbdc_handle_segment - handle the announcement of a segment of the pool
 * @q: queue 0
 * @entry: entry of type RNBD_CTL_SEGMENT
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_segment(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_login *login = &q->sess->login;
	struct rnbdc_conn *conn = &q->sess->conn;
	struct rnbd_segment_info seg;
	enum rnbd_proto_err perr;

	if (login->status != RNBDC_LOGIN_OPEN || !login->granted)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_segment(entry, &login->offer, login->nr_segments, &seg);
	if (perr)
		return perr;
	/* Drop segments beyond the table: rnbdc_resize_segments() then fails the login. */
	if (login->nr_segments < conn->nr_segments)
		conn->segments[login->nr_segments] = seg;
	login->nr_segments++;
	rnbdc_login_complete(q);
	return RNBD_PERR_NONE;
}

/*
 * Limit inline data to the space in a slot. If the device cannot gather two pieces of memory, the
 * entries and the data, the client requests no inline data in either direction.
 */
static u32 rnbdc_inline_limit(const struct rnbdc_session *sess, u32 requested)
{
	if (sess->conn.dev->attrs.max_send_sge < 2)
		return 0;
	return min(requested, sess->opt.slot_size - RNBD_RING_DATA_OFFSET);
}

/**
 * rnbdc_free_segments - free the table of segments
 * @sess: session whose login does not await a segment, and whose pool is not in use
 *
 * Context: process context.
 */
void rnbdc_free_segments(struct rnbdc_session *sess)
{
	kvfree(sess->conn.segments);
	sess->conn.segments = NULL;
	sess->conn.nr_segments = 0;
}

/*
 * Clear the table of segments, or allocate one for the largest possible grant. The table must
 * exist before the login, because the completion handler that fills it cannot allocate it.
 */
static int rnbdc_prepare_segments(struct rnbdc_session *sess)
{
	struct rnbdc_conn *conn = &sess->conn;

	if (conn->segments) {
		memset(conn->segments, 0, conn->nr_segments * sizeof(*conn->segments));
		return 0;
	}
	/* The target grants at most the requested units, and a segment has at least one. */
	conn->nr_segments = min_t(u64, sess->opt.pool_bytes >> RNBD_UNIT_SHIFT, RNBD_SEGMENTS_MAX);
	conn->segments = kvcalloc(conn->nr_segments, sizeof(*conn->segments), GFP_KERNEL);
	return conn->segments ? 0 : -ENOMEM;
}

/* Resize the table of segments to the granted number of slots. */
static int rnbdc_resize_segments(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_grant *offer = &sess->login.offer;
	struct rnbdc_conn *conn = &sess->conn;
	struct rnbd_segment_info *segments;

	if (offer->nr_segments > conn->nr_segments) {
		/* Without a table the next login allocates one for the largest possible grant. */
		rnbdc_free_segments(sess);
		rnbdc_errmsg_set(errmsg, "the target grants the pool in more segments than before");
		return -EAGAIN;
	}
	if (offer->nr_slots == conn->nr_segments)
		return 0;
	segments = kvcalloc(offer->nr_slots, sizeof(*segments), GFP_KERNEL);
	if (!segments)
		return -ENOMEM;
	memcpy(segments, conn->segments, offer->nr_segments * sizeof(*segments));
	kvfree(conn->segments);
	conn->segments = segments;
	conn->nr_segments = offer->nr_slots;
	return 0;
}

/**
 * rnbdc_login_to_target - log in to a target
 * @sess: session whose queue 0 is connected
 * @errmsg: message for the user, set on all errors except -ENOMEM
 *
 * Context: process context, may sleep; ends early when the attach is aborted, or when all
 * disks of the session are detached, deactivated or failed.
 * Return: 0 with sess->login.offer and sess->conn.segments valid, -ENOMEM, -EAGAIN if a further
 * login can succeed, or an error of rnbdc_login() or rnbdc_auth_make_key().
 */
int rnbdc_login_to_target(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct rnbd_login_info *info = &sess->login.info;
	int ret;

	ret = rnbdc_prepare_segments(sess);
	if (ret)
		return ret;

	memset(info, 0, sizeof(*info));
	memcpy(info->boot_id, rnbdc_boot_id, sizeof(info->boot_id));
	info->features = RNBD_FEATURES;
	info->pool_bytes = sess->opt.pool_bytes;
	info->max_io = sess->opt.max_io;
	/* A reconnect requests the number of queues and the depth of the first connection. */
	info->nr_queues = sess->nr_queues ?: sess->max_queues;
	info->queue_depth = sess->grant.queue_depth ?: rnbdc_wire_depth(sess->opt.depth);
	info->keepalive_ms = sess->opt.keepalive_ms;
	info->inline_read = rnbdc_inline_limit(sess, sess->opt.inline_read);
	info->inline_write = rnbdc_inline_limit(sess, sess->opt.inline_write);
	info->fence_generation = sess->fence_generation;
	info->pool_min = rnbdc_lease_floor(sess);
	ret = rnbdc_login(sess, errmsg);
	if (!ret)
		ret = rnbdc_resize_segments(sess, errmsg);
	if (ret)
		return ret;
	ret = rnbdc_auth_make_key(sess);
	if (ret && ret != -ENOMEM)
		rnbdc_errmsg_set(errmsg,
				 "the kernel cannot allocate hmac(sha256) (%d); try: modprobe -a hmac sha256",
				 ret);
	return ret;
}

/* Send an entry of the login. Wait until the target challenges, grants or refuses the login. */
static int rnbdc_login_send(struct rnbdc_session *sess, u16 type, const void *body, u32 bytes,
			    struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.body = body,
		.bytes = bytes,
	};
	struct rnbdc_queue *q = sess->queues[0];
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&q->ring.lock, flags);
	ret = rnbd_ring_post_ctl(&q->ring, &entry);
	spin_unlock_irqrestore(&q->ring.lock, flags);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		return ret;
	}
	return rnbdc_cm_wait(q, sess->login.exports ? RNBDC_LIST_MS : sess->login.reply_ms, errmsg,
			     "the target does not answer the login");
}

static int rnbdc_login_authenticate(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct rnbd_ctl_proof wire;
	u8 mac[RNBD_MAC_SIZE];
	int ret;

	/* Arming the wait loses no wake-up: the target sends no entry before it gets the proof. */
	rnbdc_cm_wait_arm(sess->queues[0]);
	ret = rnbdc_auth_make_proof(sess, mac);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "the kernel cannot compute an HMAC (%d)", ret);
		return ret;
	}
	rnbd_encode_proof(&wire, sess->auth.text.client_nonce, mac);
	return rnbdc_login_send(sess, RNBD_CTL_PROOF, &wire, sizeof(wire), errmsg);
}

/**
 * rnbdc_status_error - convert the status of a refusal into an errno
 * @status: enum rnbd_status, not RNBD_ST_OK
 *
 * Context: any.
 * Return: a negative errno.
 */
int rnbdc_status_error(u16 status)
{
	switch (status) {
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
	case RNBD_ST_ATTACHED:
		return -EEXIST;
	case RNBD_ST_OWNED:
		return -EUSERS;
	default:
		return -ECONNREFUSED;
	}
}

/**
 * rnbdc_login - send a LOGIN or, for a discovery, a LIST entry and wait for the reply
 * @sess: session whose queue 0 is connected; sess->login.info is filled, unless for a discovery
 * @errmsg: message for the user, set on error
 *
 * Context: process context, may sleep; ends early when the attach or discovery is aborted, or
 * when all disks of the session are detached, deactivated or failed.
 * Return: 0 or a negative errno; rnbdc_status_error() converts a refusal into an errno.
 */
int rnbdc_login(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	bool list = sess->login.exports;
	struct rnbd_ctl_login wire;
	int ret;

	rnbdc_auth_login(sess);
	sess->login.status = RNBDC_LOGIN_OPEN;
	rnbdc_cm_wait_arm(sess->queues[0]);
	rnbd_encode_login(&wire, &sess->login.info);
	ret = rnbdc_login_send(sess, list ? RNBD_CTL_LIST : RNBD_CTL_LOGIN, &wire,
			       list ? 0 : sizeof(wire), errmsg);
	if (!ret && READ_ONCE(sess->auth.step) == RNBDC_AUTH_CHALLENGED)
		ret = rnbdc_login_authenticate(sess, errmsg);
	if (ret)
		return ret;
	if (sess->login.status != RNBD_ST_OK) {
		rnbdc_errmsg_set(errmsg, "%s", rnbd_status_text(sess->login.status));
		return rnbdc_status_error(sess->login.status);
	}
	/* With a key, the client accepts a grant only after both ends have authenticated. */
	WRITE_ONCE(sess->auth.authenticated, !!sess->auth.key);
	return 0;
}

/**
 * rnbdc_check_offer - check that the offer of a reconnect suffices for the disks
 * @sess: session with an offer
 * @errmsg: message for the user, set on error
 *
 * The function does not compare the UUID of the target: another target machine can take over
 * the address. rnbdc_check_attach() compares the UUID of each export.
 *
 * Context: any; the caller owns the connection.
 * Return: 0, or -EMEDIUMTYPE if the offer grants less than the disks need.
 */
int rnbdc_check_offer(const struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_grant *old = &sess->grant, *new = &sess->login.offer;

	/* Fewer queues suffice: a hardware queue whose queue is not connected uses queue 0. */
	if (new->queue_depth < old->queue_depth || new->max_io < old->max_io) {
		rnbdc_errmsg_set(errmsg, "the target grants less than before");
		return -EMEDIUMTYPE;
	}
	return 0;
}
