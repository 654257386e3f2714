// SPDX-License-Identifier: GPL-2.0-only
/*
 * Further queues of a session: both ends prove that they know the session key.
 *
 * Operation: The thread that connects a queue other than 0 sends JOIN, answers the
 * challenge of the target with a proof that it knows the key of the session, and waits for
 * the reply, in which the target proves that it knows the key, too. Until the reply the
 * queue carries no other entries.
 *
 * Ownership: q->join belongs to the connecting thread, or to the completion handler of the
 * queue while that thread waits.
 *
 * Concurrency: q->join.step says which of the two acts next; release and acquire order the
 * hand-over.
 *
 * Errors: Each failure sets one error message for the user. An unexpected entry is
 * a protocol error.
 */

#include <crypto/algapi.h>
#include <linux/random.h>
#include <linux/string.h>

#include "../core/auth.h"
#include "../core/cm.h"
#include "../core/ctl.h"
#include "../core/login.h"
#include "../core/mac.h"
#include "../core/names.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "cm.h"
#include "errmsg.h"
#include "join.h"
#include "queue.h"
#include "session.h"

/* Send an entry, and wait until the target has answered or the wait has ended with an error. */
static int rnbdc_join_send(struct rnbdc_queue *q, u16 type, const void *body, u32 bytes, u32 ms,
			   struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.body = body,
		.bytes = bytes,
	};
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&q->ring.lock, flags);
	ret = rnbd_ring_post_ctl(&q->ring, &entry);
	spin_unlock_irqrestore(&q->ring.lock, flags);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "%s", q->sess->recovery.broken_reason ?:
				 "connection lost");
		return ret;
	}
	return rnbdc_cm_wait(q, ms, errmsg, "the target does not answer the join of a queue");
}

/* Compute the proof of the client, and the proof that the target must send. */
static int rnbdc_join_make_proof(struct rnbdc_queue *q, struct rnbd_ctl_proof *wire)
{
	struct crypto_shash *key = q->sess->auth.session_key;
	struct rnbd_join_text *text = &q->join.text;
	u8 mac[RNBD_MAC_SIZE];
	int ret;

	get_random_bytes(text->client_nonce, sizeof(text->client_nonce));
	rnbd_auth_label(text->label, RNBD_LABEL_JOIN);
	ret = rnbd_mac(key, text, sizeof(*text), mac);
	if (ret)
		return ret;
	rnbd_encode_proof(wire, text->client_nonce, mac);
	rnbd_auth_label(text->label, RNBD_LABEL_JOINED);
	return rnbd_mac(key, text, sizeof(*text), q->join.mac);
}

/**
 * rnbdc_join - let both ends prove on a connected queue that they know the session key
 * @q: queue other than 0
 * @req: connection request of the queue, as sent
 * @ms: milliseconds to wait for each reply
 * @errmsg: message for the user, set on error
 *
 * Context: the thread that connects, may sleep; allocates no memory.
 * Return: 0, -EBUSY if a retry can succeed, or another negative errno.
 */
int rnbdc_join(struct rnbdc_queue *q, const struct rnbd_conn_req *req, u32 ms,
	       struct rnbdc_errmsg *errmsg)
{
	struct rnbd_ctl_proof wire;
	int ret;

	rnbd_auth_join(&q->join.text, req);
	rnbdc_cm_wait_arm(q);
	/* pairs with the acquire in rnbdc_join_handle_challenge() */
	smp_store_release(&q->join.step, RNBDC_JOIN_SENT);
	ret = rnbdc_join_send(q, RNBD_CTL_JOIN, NULL, 0, ms, errmsg);
	if (ret)
		return ret;

	ret = rnbdc_join_make_proof(q, &wire);
	if (ret) {
		rnbdc_errmsg_set(errmsg, "the kernel cannot compute an HMAC (%d)", ret);
		return ret;
	}
	rnbdc_cm_wait_arm(q);
	/* pairs with the acquire in rnbdc_join_handle_reply() */
	smp_store_release(&q->join.step, RNBDC_JOIN_ANSWERED);
	return rnbdc_join_send(q, RNBD_CTL_PROOF, &wire, sizeof(wire), ms, errmsg);
}

/**
 * rnbdc_join_handle_challenge - handle the target's challenge of a queue
 * @q: queue other than 0
 * @entry: entry of type RNBD_CTL_CHALLENGE
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_join_handle_challenge(struct rnbdc_queue *q,
						const struct rnbd_ctl_entry *entry)
{
	u8 target_uuid[UUID_SIZE];
	enum rnbd_proto_err perr;

	/* pairs with the release in rnbdc_join() */
	if (smp_load_acquire(&q->join.step) != RNBDC_JOIN_SENT)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_challenge(entry, q->join.text.target_nonce, target_uuid);
	if (perr)
		return perr;
	if (memcmp(target_uuid, q->sess->login.offer.target_uuid, sizeof(target_uuid)))
		return RNBD_PERR_IDENTITY;
	WRITE_ONCE(q->join.step, RNBDC_JOIN_CHALLENGED);
	rnbdc_queue_wake(q, 0);
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_join_handle_reply - handle the reply to the proof of a queue
 * @q: queue other than 0
 * @entry: entry of type RNBD_CTL_JOIN_REPLY
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_join_handle_reply(struct rnbdc_queue *q,
					    const struct rnbd_ctl_entry *entry)
{
	struct rnbd_join_info info;
	enum rnbd_proto_err perr;
	int error = 0;

	/* pairs with the release in rnbdc_join() */
	if (smp_load_acquire(&q->join.step) != RNBDC_JOIN_ANSWERED)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_join_reply(entry, &info);
	if (perr)
		return perr;
	if (info.status != RNBD_ST_OK) {
		q->cm_status = info.status;
		q->cm_reason = rnbd_status_text(info.status);
		q->retry_ms = info.retry_ms;
		error = info.status == RNBD_ST_BUSY ? -EBUSY : -ECONNREFUSED;
	} else if (crypto_memneq(info.mac, q->join.mac, sizeof(info.mac))) {
		q->cm_reason = "the target did not authenticate with the key of the session";
		error = -EACCES;
	}
	WRITE_ONCE(q->join.step, RNBDC_JOIN_NONE);
	rnbdc_queue_wake(q, error);
	return RNBD_PERR_NONE;
}
