// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proving that this host knows its secret, and that the target does.
 *
 * Operation: if the target challenges a login, the thread that waits for the answer sends
 * a proof and waits on. The target's own proof has to come before it grants
 * anything. Further queues prove with a token that they belong to the session. See
 * "Authentication" in Documentation/protocol.rst.
 *
 * Ownership: the secret is in the transform that the session has from its beginning to its
 * end; nothing else keeps it. Who attaches needs no key in a kernel keyring, which
 * a reconnect would have to find again.
 *
 * Concurrency: frames are taken in the completion handler of queue 0, everything else
 * is done by the thread that connects. The step decides whose turn it is.
 *
 * Errors: a text for people. Nothing that an unproven target sends is used but
 * the reason for which it says no, if that does not end the disk for good.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <crypto/algapi.h>
#include <linux/random.h>

#include "../core/mac.h"
#include "client.h"

/**
 * rnbd_auth_login - a login is about to be sent
 * @sess: session with sess->login filled
 *
 * Context: the thread that connects.
 */
void rnbd_auth_login(struct rnbd_session *sess)
{
	rnbd_auth_begin(&sess->text, &sess->req, &sess->login);
	WRITE_ONCE(sess->auth, RNBD_AUTH_NONE);
}

/* Whatever else comes is not taken any more. */
static void rnbd_auth_failed(struct rnbd_queue *q, const char *why)
{
	WRITE_ONCE(q->sess->login_status, RNBD_ST_AUTH);
	q->cm_reason = why;
	rnbd_queue_wake(q, -EACCES);
}

/**
 * rnbd_auth_challenge - the target wants to see a proof
 * @q: queue
 * @frame: frame of type RNBD_FRAME_CHALLENGE
 *
 * Context: completion handler of @q.
 * Return: what is wrong with it, if anything.
 */
enum rnbd_fault rnbd_auth_challenge(struct rnbd_queue *q, const struct rnbd_frame *frame)
{
	struct rnbd_session *sess = q->sess;
	enum rnbd_fault fault;

	if (q->index || READ_ONCE(sess->login_status) != RNBD_LOGIN_OPEN ||
	    READ_ONCE(sess->auth) != RNBD_AUTH_NONE)
		return RNBD_FAULT_TYPE;
	fault = rnbd_decode_challenge(frame, sess->text.target_nonce);
	if (fault)
		return fault;
	if (!sess->key) {
		rnbd_auth_failed(q,
				 "the target asks for the secret of this host (attach with --secret-file)");
		return RNBD_FAULT_NONE;
	}
	WRITE_ONCE(sess->auth, RNBD_AUTH_CHALLENGED);
	rnbd_queue_wake(q, 0);
	return RNBD_FAULT_NONE;
}

/**
 * rnbd_auth_answer - make the proof, and know what the target's has to be
 * @sess: session that has been challenged
 * @mac: result, RNBD_MAC_SIZE bytes for the PROOF, with the nonce in sess->text
 *
 * Context: the thread that connects; allocates nothing.
 * Return: 0 or an error.
 */
int rnbd_auth_answer(struct rnbd_session *sess, u8 *mac)
{
	int ret;

	get_random_bytes(sess->text.client_nonce, sizeof(sess->text.client_nonce));
	rnbd_auth_label(&sess->text, RNBD_LABEL_CLIENT);
	ret = rnbd_mac(sess->key, &sess->text, mac);
	if (ret)
		return ret;
	rnbd_auth_label(&sess->text, RNBD_LABEL_TARGET);
	ret = rnbd_mac(sess->key, &sess->text, sess->mac);
	if (ret)
		return ret;
	/* pairs with the acquire in rnbd_auth_proof() */
	smp_store_release(&sess->auth, RNBD_AUTH_ANSWERED);
	return 0;
}

/**
 * rnbd_auth_proof - take the target's proof
 * @q: queue
 * @frame: frame of type RNBD_FRAME_PROOF
 *
 * Context: completion handler of @q.
 * Return: what is wrong with it, if anything.
 */
enum rnbd_fault rnbd_auth_proof(struct rnbd_queue *q, const struct rnbd_frame *frame)
{
	struct rnbd_session *sess = q->sess;
	u8 mac[RNBD_MAC_SIZE];
	enum rnbd_fault fault;
	enum rnbd_auth auth;

	/* pairs with the release in rnbd_auth_answer() */
	auth = smp_load_acquire(&sess->auth);
	if (q->index || READ_ONCE(sess->login_status) != RNBD_LOGIN_OPEN ||
	    auth != RNBD_AUTH_ANSWERED)
		return RNBD_FAULT_TYPE;
	fault = rnbd_decode_proof(frame, NULL, mac);
	if (fault)
		return fault;
	if (crypto_memneq(mac, sess->mac, sizeof(mac)))
		rnbd_auth_failed(q, "the target does not know the secret of this host");
	else
		WRITE_ONCE(sess->auth, RNBD_AUTH_PROVEN);
	return RNBD_FAULT_NONE;
}

/**
 * rnbd_auth_may_take - may an answer to the login be looked at
 * @q: queue 0, whose login is open
 * @status: what it says
 * @fault: set if it came out of turn
 *
 * Context: completion handler of @q.
 * Return: true if so; otherwise whoever waits has been told, or @fault is set.
 */
bool rnbd_auth_may_take(struct rnbd_queue *q, u16 status, enum rnbd_fault *fault)
{
	struct rnbd_session *sess = q->sess;
	enum rnbd_auth auth = READ_ONCE(sess->auth);

	if (!sess->key)
		return true;
	/* It has asked, and has not waited for our answer. */
	if (auth == RNBD_AUTH_CHALLENGED) {
		*fault = RNBD_FAULT_TYPE;
		return false;
	}
	if (auth == RNBD_AUTH_PROVEN ||
	    (status != RNBD_ST_OK && status != RNBD_ST_FENCED && status != RNBD_ST_REVOKED))
		return true;
	rnbd_auth_failed(q, auth == RNBD_AUTH_NONE ?
			 "the target has no secret for this host (there: rnbd host secret)" :
			 "the target did not prove that it knows the secret of this host");
	return false;
}

/**
 * rnbd_auth_token - make a connection request show that it belongs to the session
 * @sess: session that is logged in
 * @req: connection request of a queue other than 0; its host id is replaced
 *
 * Context: the thread that connects; allocates nothing.
 * Return: 0 or an error.
 */
int rnbd_auth_token(struct rnbd_session *sess, struct rnbd_conn_req *req)
{
	u8 mac[RNBD_MAC_SIZE];
	int ret;

	rnbd_auth_queue(&sess->text, req);
	ret = rnbd_mac(sess->key, &sess->text, mac);
	if (!ret)
		memcpy(req->host_id, mac, sizeof(req->host_id));
	return ret;
}
