// SPDX-License-Identifier: GPL-2.0-only
/*
 * Authentication: this host and the target prove that they know the secret.
 *
 * Operation: If the target challenges a login, the thread that waits for the reply sends
 * the client's proof and continues to wait. The target must send its own proof before it
 * grants the login. On each further queue both ends prove that they know the key of the session
 * (join.c). They compute this key from the secret; without a secret the target sends the key.
 * See "Authentication" in Documentation/reference/protocol-authentication.rst.
 *
 * Ownership: The session keeps its secret in an HMAC transform. A reconnect therefore does not
 * depend on a key in a kernel keyring. The transform of a new secret stays in
 * sess->auth.next_key until the next login begins, so that all proofs of a connection use the
 * same secret.
 *
 * Concurrency: The completion handler of queue 0 handles entries; the thread that connects
 * does everything else. sess->auth.step says which of the two acts next; release and acquire
 * order the hand-over. Any thread may set a secret at any time, because next_key is exchanged
 * atomically.
 *
 * Errors: Each failed login sets one error message for the user. Until the target has
 * authenticated, a client with a secret accepts no grant, and accepts a refusal only if it
 * does not fail the disk permanently (RNBD_ST_FENCED and RNBD_ST_REVOKED do).
 */

#include <crypto/algapi.h>
#include <linux/err.h>
#include <linux/random.h>
#include <linux/string.h>

#include "../core/auth.h"
#include "../core/ctl.h"
#include "../core/login.h"
#include "../core/mac.h"
#include "../core/proto_err.h"
#include "auth.h"
#include "cm.h"
#include "errmsg.h"
#include "queue.h"
#include "session.h"

/**
 * rnbdc_auth_set_secret - set the secret that the next login of a session uses
 * @sess: session, live or not
 * @secret: RNBD_SECRET_SIZE bytes; not used after the call
 * @errmsg: message for the user, set on all errors except -ENOMEM
 *
 * The present connection is not affected.
 *
 * Context: process context, may sleep; can load a module.
 * Return: 0, -ENOMEM, or the error of the crypto API.
 */
int rnbdc_auth_set_secret(struct rnbdc_session *sess, const u8 *secret,
			  struct rnbdc_errmsg *errmsg)
{
	struct crypto_shash *key = rnbd_mac_alloc(secret);

	if (IS_ERR(key)) {
		if (PTR_ERR(key) == -ENOENT)
			rnbdc_errmsg_set(errmsg,
					 "the kernel has no hmac(sha256); try: modprobe -a hmac sha256");
		else if (PTR_ERR(key) != -ENOMEM)
			rnbdc_errmsg_set(errmsg, "the kernel cannot allocate hmac(sha256) (%ld)",
					 PTR_ERR(key));
		return PTR_ERR(key);
	}
	rnbd_mac_free(xchg(&sess->auth.next_key, key));
	return 0;
}

/**
 * rnbdc_auth_login - prepare the authentication of a login
 * @sess: session with sess->auth.req and sess->login.info filled
 *
 * A secret that was set since the previous login takes effect now.
 *
 * Context: the thread that connects; may sleep.
 */
void rnbdc_auth_login(struct rnbdc_session *sess)
{
	struct crypto_shash *key = xchg(&sess->auth.next_key, NULL);

	if (key) {
		rnbd_mac_free(sess->auth.key);
		sess->auth.key = key;
	}
	rnbd_auth_begin(&sess->auth.text, &sess->auth.req,
			sess->login.exports ? NULL : &sess->login.info);
	WRITE_ONCE(sess->auth.step, RNBDC_AUTH_NONE);
}

/* Fail the login. The client ignores all later entries, see rnbdc_login_refused(). */
static void rnbdc_auth_failed(struct rnbdc_queue *q, const char *reason)
{
	WRITE_ONCE(q->sess->login.status, RNBD_ST_AUTH);
	q->cm_reason = reason;
	rnbdc_queue_wake(q, -EACCES);
}

/**
 * rnbdc_auth_handle_challenge - handle the target's challenge
 * @q: queue 0
 * @entry: entry of type RNBD_CTL_CHALLENGE
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_auth_handle_challenge(struct rnbdc_queue *q,
						const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_session *sess = q->sess;
	enum rnbd_proto_err perr;

	if (READ_ONCE(sess->login.status) != RNBDC_LOGIN_OPEN || sess->login.granted ||
	    READ_ONCE(sess->auth.step) != RNBDC_AUTH_NONE)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_challenge(entry, sess->auth.text.target_nonce,
				     sess->auth.text.target_uuid);
	if (perr)
		return perr;
	if (!sess->auth.key) {
		rnbdc_auth_failed(q,
				  "the target asks for the secret of this host (attach with --secret-file)");
		return RNBD_PERR_NONE;
	}
	WRITE_ONCE(sess->auth.step, RNBDC_AUTH_CHALLENGED);
	rnbdc_queue_wake(q, 0);
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_auth_make_proof - compute the client's proof and the expected proof of the target
 * @sess: session that has received a challenge
 * @mac: result, RNBD_MAC_SIZE bytes, for the PROOF entry; the nonce for that entry is in
 *	sess->auth.text
 *
 * Context: the thread that connects; allocates no memory.
 * Return: 0 or the error of the crypto API.
 */
int rnbdc_auth_make_proof(struct rnbdc_session *sess, u8 *mac)
{
	int ret;

	get_random_bytes(sess->auth.text.client_nonce, sizeof(sess->auth.text.client_nonce));
	rnbd_auth_label(sess->auth.text.label, RNBD_LABEL_CLIENT);
	ret = rnbd_mac(sess->auth.key, &sess->auth.text, sizeof(sess->auth.text), mac);
	if (ret)
		return ret;
	rnbd_auth_label(sess->auth.text.label, RNBD_LABEL_TARGET);
	ret = rnbd_mac(sess->auth.key, &sess->auth.text, sizeof(sess->auth.text),
		       sess->auth.mac);
	if (ret)
		return ret;
	/* pairs with the acquire in rnbdc_auth_handle_proof() */
	smp_store_release(&sess->auth.step, RNBDC_AUTH_ANSWERED);
	return 0;
}

/**
 * rnbdc_auth_handle_proof - check the target's proof
 * @q: queue 0
 * @entry: entry of type RNBD_CTL_PROOF
 *
 * A wrong proof ends the login with -EACCES.
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_auth_handle_proof(struct rnbdc_queue *q,
					    const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_session *sess = q->sess;
	u8 mac[RNBD_MAC_SIZE];
	enum rnbd_proto_err perr;
	enum rnbdc_auth_step auth;

	/* pairs with the release in rnbdc_auth_make_proof() */
	auth = smp_load_acquire(&sess->auth.step);
	if (READ_ONCE(sess->login.status) != RNBDC_LOGIN_OPEN || sess->login.granted ||
	    auth != RNBDC_AUTH_ANSWERED)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_proof(entry, NULL, mac);
	if (perr)
		return perr;
	if (crypto_memneq(mac, sess->auth.mac, sizeof(mac)))
		rnbdc_auth_failed(q, "the target does not know the secret of this host");
	else
		WRITE_ONCE(sess->auth.step, RNBDC_AUTH_PROVEN);
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_auth_accepts_reply - test whether the client may use the reply to a login
 * @q: queue 0, whose login is open
 * @status: enum rnbd_status of the reply
 * @perr: set if the reply is a protocol error
 *
 * Context: completion handler of @q.
 * Return: true if the client may use the reply. If false, either @perr is set, or the
 * function has failed the login and woken the thread that waits.
 */
bool rnbdc_auth_accepts_reply(struct rnbdc_queue *q, u16 status, enum rnbd_proto_err *perr)
{
	struct rnbdc_session *sess = q->sess;
	enum rnbdc_auth_step auth = READ_ONCE(sess->auth.step);

	if (!sess->auth.key)
		return true;
	/* The target replied before the client sent the proof that the challenge requests. */
	if (auth == RNBDC_AUTH_CHALLENGED) {
		*perr = RNBD_PERR_TYPE;
		return false;
	}
	if (auth == RNBDC_AUTH_PROVEN ||
	    (status != RNBD_ST_OK && status != RNBD_ST_FENCED && status != RNBD_ST_REVOKED))
		return true;
	rnbdc_auth_failed(q, auth == RNBDC_AUTH_NONE ?
			  "the target has no secret for this host (there: rnbd host secret)" :
			  "the target did not authenticate with the secret of this host");
	return false;
}

/**
 * rnbdc_auth_make_key - compute the session key, or store the session key that the target sent
 * @sess: session whose login was granted
 *
 * Context: the thread that connects; may sleep, and can load a module at the first login.
 * Return: 0, -ENOMEM or the error of the crypto API.
 */
int rnbdc_auth_make_key(struct rnbdc_session *sess)
{
	struct crypto_shash *key;
	u8 bytes[RNBD_MAC_SIZE];
	int ret;

	if (sess->auth.key) {
		rnbd_auth_label(sess->auth.text.label, RNBD_LABEL_KEY);
		ret = rnbd_mac(sess->auth.key, &sess->auth.text, sizeof(sess->auth.text), bytes);
		if (ret)
			return ret;
	} else {
		memcpy(bytes, sess->login.offer.join_key, sizeof(bytes));
	}
	key = rnbd_mac_alloc(bytes);
	memzero_explicit(bytes, sizeof(bytes));
	memzero_explicit(sess->login.offer.join_key, sizeof(sess->login.offer.join_key));
	if (IS_ERR(key))
		return PTR_ERR(key);
	rnbd_mac_free(sess->auth.session_key);
	sess->auth.session_key = key;
	return 0;
}

/**
 * rnbdc_auth_accepts_grant - check the target UUID and the key in a granted login
 * @sess: session whose login is open
 * @grant: decoded reply with the status RNBD_ST_OK
 *
 * Context: completion handler of queue 0.
 * Return: RNBD_PERR_NONE, or the protocol error: the target UUID differs from that of the
 * challenge, or the reply contains a key although the client has a secret.
 */
enum rnbd_proto_err rnbdc_auth_accepts_grant(const struct rnbdc_session *sess,
					     const struct rnbd_grant *grant)
{
	if (!sess->auth.key)
		return RNBD_PERR_NONE;
	if (memcmp(grant->target_uuid, sess->auth.text.target_uuid, sizeof(grant->target_uuid)))
		return RNBD_PERR_IDENTITY;
	/* With a secret both ends compute the key of the session: the target must not send it. */
	if (memchr_inv(grant->join_key, 0, sizeof(grant->join_key)))
		return RNBD_PERR_RESERVED;
	return RNBD_PERR_NONE;
}
