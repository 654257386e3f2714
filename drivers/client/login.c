// SPDX-License-Identifier: GPL-2.0-only
/*
 * Login: the request, the reply, and the check of the offer of the target.
 *
 * Operation: The login names the export and the requested limits. If the target
 * challenges it, the client authenticates (auth.c). The reply grants queues,
 * depth, limits and the segments of the pool, and is stored in sess->login.offer. A
 * reconnect must offer the same export with the same properties and no less
 * than the disk was created with. An export that answers with another
 * incarnation has restarted: the client rejects the offer if a write was
 * acknowledged that no flush covers. A RESIZE frame changes the capacity at any
 * time after the login.
 *
 * Ownership: sess->login.info belongs to the connecting thread. sess->login.offer and the
 * segments belong to the completion handler until it wakes that thread.
 *
 * Concurrency: Frames are handled in the completion handler of queue 0, one at
 * a time. sess->login.status is RNBDC_LOGIN_OPEN only while a reply is awaited.
 *
 * Errors: A refused login becomes an errno and one text for the user. A frame
 * that is not awaited is a protocol error.
 */

#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../core/frame.h"
#include "../core/geometry.h"
#include "../core/login.h"
#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "auth.h"
#include "client.h"
#include "cm.h"
#include "errmsg.h"
#include "login.h"
#include "queue.h"
#include "session.h"
#include "stall.h"
#include "state.h"

/* Milliseconds to wait for a list, which needs no pool. */
#define RNBDC_LIST_MS		20000

/**
 * rnbdc_handle_login_reply - handle the reply to the login
 * @q: queue
 * @frame: frame of type RNBD_FRAME_LOGIN_REPLY
 * @perr: set to the protocol error, if there is one
 *
 * Context: completion handler of @q.
 */
void rnbdc_handle_login_reply(struct rnbdc_queue *q, const struct rnbd_frame *frame,
			      enum rnbd_proto_err *perr)
{
	struct rnbdc_session *sess = q->sess;
	struct rnbd_grant grant;
	u32 i;

	/* Valid once, while a thread waits for it, and not for a discovery. */
	if (q->index || sess->login.exports || sess->login.status != RNBDC_LOGIN_OPEN) {
		*perr = RNBD_PERR_TYPE;
		return;
	}
	*perr = rnbd_decode_grant(frame, &sess->login.info, &grant);
	if (*perr || !rnbdc_auth_accepts_reply(q, grant.status, perr))
		return;
	sess->login.offer = grant;
	for (i = 0; !*perr && i < sess->login.offer.nr_segments; i++)
		*perr = rnbd_decode_segment(frame, i, &sess->login.offer,
					    &sess->conn.segments[i]);
	if (*perr)
		return;
	WRITE_ONCE(sess->login.status, sess->login.offer.status);
	rnbdc_queue_wake(q, 0);
}

/* Limit inline data to a slot; the device must gather entries and data. */
static u32 rnbdc_inline_limit(const struct rnbdc_session *sess, u32 requested)
{
	if (sess->conn.dev->attrs.max_send_sge < 2)
		return 0;
	return min(requested, sess->opt.slot_size - RNBD_RING_DATA_OFFSET);
}

/**
 * rnbdc_login_to_target - log in to a target
 * @sess: session whose queue 0 is connected
 * @errmsg: filled on error
 *
 * Context: process context, may sleep; ends early when the attach is aborted, or no disk
 * needs the session.
 * Return: 0 with sess->login.offer and sess->conn.segments valid, -ENOMEM, or an error of
 * rnbdc_login().
 */
int rnbdc_login_to_target(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct rnbd_login_info *info = &sess->login.info;

	sess->conn.segments = kvcalloc(rnbd_max_segments(sess->opt.slot_size),
				       sizeof(*sess->conn.segments), GFP_KERNEL);
	if (!sess->conn.segments)
		return -ENOMEM;

	memset(info, 0, sizeof(*info));
	memcpy(info->boot_id, rnbdc_boot_id, sizeof(info->boot_id));
	info->features = RNBD_FEATURES;
	info->pool_bytes = sess->opt.pool_bytes;
	info->max_io = sess->opt.max_io;
	/* A reconnect must be granted the limits that the disks were created with. */
	info->nr_queues = sess->nr_queues ?:
			  min(rnbdc_requested_queues(sess), RNBD_QUEUES_MAX);
	info->queue_depth = sess->grant.queue_depth ?: rnbdc_wire_depth(sess->opt.depth);
	info->keepalive_ms = sess->opt.keepalive_ms;
	info->inline_read = rnbdc_inline_limit(sess, sess->opt.inline_read);
	info->inline_write = rnbdc_inline_limit(sess, sess->opt.inline_write);
	info->fence_generation = sess->fence_generation;
	return rnbdc_login(sess, errmsg);
}

/* Send a frame of the login with one entry and wait for the reply. */
static int rnbdc_login_send(struct rnbdc_session *sess, u8 type, const void *entry,
			    u32 bytes, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_queue *q = sess->queues[0];
	unsigned long flags;
	int ret = -ENOTCONN;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (rnbd_ring_open(&q->ring, type)) {
		memcpy(rnbd_ring_add(&q->ring, bytes, 1), entry, bytes);
		ret = rnbd_ring_send(&q->ring, NULL, NULL, IB_SEND_SIGNALED);
	}
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
	struct rnbd_proof wire;
	u8 mac[RNBD_MAC_SIZE];
	int ret;

	/* The target sends nothing until it has the proof. */
	rnbdc_cm_wait_arm(sess->queues[0]);
	ret = rnbdc_auth_make_proof(sess, mac);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "the kernel cannot compute an HMAC (%d)", ret);
		return ret;
	}
	rnbd_encode_proof(&wire, sess->auth.text.client_nonce, mac);
	return rnbdc_login_send(sess, RNBD_FRAME_PROOF, &wire, sizeof(wire), errmsg);
}

/**
 * rnbdc_status_error - map the status with which a target refuses something to an errno
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
	default:
		return -ECONNREFUSED;
	}
}

/**
 * rnbdc_login - send the login and wait for the reply
 * @sess: session whose queue 0 is connected, with sess->login.info filled
 * @errmsg: filled on error
 *
 * Context: process context, may sleep; ends early when the attach is aborted, or the
 * session is detached or deactivated.
 * Return: 0 or a negative errno, for a refusal that of rnbdc_status_error().
 */
int rnbdc_login(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct rnbd_login wire;
	int ret;

	rnbdc_auth_login(sess);
	sess->login.status = RNBDC_LOGIN_OPEN;
	rnbdc_cm_wait_arm(sess->queues[0]);
	rnbd_encode_login(&wire, &sess->login.info);
	ret = rnbdc_login_send(sess, RNBD_FRAME_LOGIN, &wire, sizeof(wire), errmsg);
	if (!ret && READ_ONCE(sess->auth.step) == RNBDC_AUTH_CHALLENGED)
		ret = rnbdc_login_authenticate(sess, errmsg);
	if (ret)
		return ret;
	if (sess->login.status != RNBD_ST_OK) {
		rnbdc_errmsg_set(errmsg, "%s", rnbd_status_text(sess->login.status));
		return rnbdc_status_error(sess->login.status);
	}
	/* A session with a key accepts a grant only after both proofs. */
	WRITE_ONCE(sess->auth.authenticated, !!sess->auth.key);
	return 0;
}

/**
 * rnbdc_check_offer - check that a reconnect offers what the disks were created with
 * @sess: session with an offer
 * @errmsg: filled on error
 *
 * Context: any; the caller owns the connection.
 * Return: 0, or -EMEDIUMTYPE if the offer does not suit the disks.
 */
int rnbdc_check_offer(const struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_grant *old = &sess->grant, *new = &sess->login.offer;

	if (new->queue_depth < old->queue_depth || new->max_io < old->max_io ||
	    new->nr_queues < old->nr_queues) {
		rnbdc_errmsg_set(errmsg, "the target grants less than before");
		return -EMEDIUMTYPE;
	}
	return 0;
}
