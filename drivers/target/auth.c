// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a client know the secret of the host that it says it is?
 *
 * Operation
 *
 * A session takes the secret that its host has when the connection is asked for. If
 * there is one, the login is answered with a challenge, and the login work begins with the
 * proof that comes back. Until it is found right the session is nothing but a
 * connection: no other session, no epoch and no account of the host hears of it.
 * See "Authentication" in Documentation/protocol.rst.
 *
 * Ownership
 *
 * A secret is constant and counted: one reference is its host's, one of each session that
 * began with it. A changed secret is another one, by which the sessions are
 * known that have to end.
 *
 * Concurrency
 *
 * The challenge and the proof are handled one after the other, in the completion handler of
 * queue 0; the login work, which alone looks at them afterwards, is queued behind.
 * What was proven is constant when the session is live, which is when tokens come.
 *
 * Errors
 *
 * A wrong proof is RNBD_ST_AUTH, and tells nothing else. A target that is short of
 * memory, or whose crypto API fails, lets nobody in.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <crypto/algapi.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "../core/mac.h"
#include "target.h"

/**
 * struct rnbd_tsecret - secret of a host
 * @ref: counted
 * @key: computes HMACs with it
 * @bytes: to know it again
 */
struct rnbd_tsecret {
	struct kref ref;
	struct crypto_shash *key;
	u8 bytes[RNBD_SECRET_SIZE];
};

/**
 * rnbdt_secret_alloc - make a secret
 * @bytes: RNBD_SECRET_SIZE bytes; copied
 *
 * Context: process context, may load a module.
 * Return: the secret with a reference for the caller, or an ERR_PTR().
 */
struct rnbd_tsecret *rnbdt_secret_alloc(const u8 *bytes)
{
	struct rnbd_tsecret *secret = kzalloc(sizeof(*secret), GFP_KERNEL);
	int ret;

	if (!secret)
		return ERR_PTR(-ENOMEM);
	secret->key = rnbd_mac_alloc(bytes);
	if (IS_ERR(secret->key)) {
		ret = PTR_ERR(secret->key);
		kfree(secret);
		return ERR_PTR(ret);
	}
	kref_init(&secret->ref);
	memcpy(secret->bytes, bytes, sizeof(secret->bytes));
	return secret;
}

static void rnbdt_secret_release(struct kref *ref)
{
	struct rnbd_tsecret *secret = container_of(ref, struct rnbd_tsecret, ref);

	rnbd_mac_free(secret->key);
	kfree_sensitive(secret);
}

/**
 * rnbdt_secret_get - take a reference
 * @secret: secret, or NULL
 *
 * Context: any.
 * Return: @secret.
 */
struct rnbd_tsecret *rnbdt_secret_get(struct rnbd_tsecret *secret)
{
	if (secret)
		kref_get(&secret->ref);
	return secret;
}

/**
 * rnbdt_secret_put - drop a reference; the last one wipes the secret
 * @secret: secret, or NULL
 *
 * Context: process context.
 */
void rnbdt_secret_put(struct rnbd_tsecret *secret)
{
	if (secret)
		kref_put(&secret->ref, rnbdt_secret_release);
}

/**
 * rnbdt_secret_same - are two secrets the same one
 * @a: secret, or NULL
 * @b: secret, or NULL
 *
 * Context: any.
 */
bool rnbdt_secret_same(const struct rnbd_tsecret *a, const struct rnbd_tsecret *b)
{
	if (!a || !b)
		return a == b;
	return !crypto_memneq(a->bytes, b->bytes, sizeof(a->bytes));
}

/**
 * rnbdt_auth_challenge - ask for the proof
 * @s: session whose host has a secret and whose login has been read
 *
 * Context: completion handler of queue 0.
 * Return: 0, or -ENOTCONN if it cannot be sent.
 */
int rnbdt_auth_challenge(struct rnbd_tsession *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	int ret = -ENOTCONN;

	rnbd_auth_begin(&s->text, &s->req, &s->login);
	get_random_bytes(s->text.target_nonce, sizeof(s->text.target_nonce));
	spin_lock_irqsave(&ring->lock, flags);
	if (rnbd_ring_open(ring, RNBD_FRAME_CHALLENGE)) {
		rnbd_encode_challenge(rnbd_ring_add(ring, sizeof(struct rnbd_challenge), 1),
				      s->text.target_nonce);
		ret = rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}

/**
 * rnbdt_auth_take - take the proof
 * @s: session that has been challenged
 * @frame: frame of type RNBD_FRAME_PROOF
 *
 * Context: completion handler of queue 0.
 * Return: what is wrong with the frame; the proof itself is not looked at.
 */
enum rnbd_fault rnbdt_auth_take(struct rnbd_tsession *s, const struct rnbd_frame *frame)
{
	return rnbd_decode_proof(frame, s->text.client_nonce, s->mac);
}

/**
 * rnbdt_auth_check - is the proof right
 * @s: session whose proof has been taken
 *
 * Context: the login work.
 * Return: enum rnbd_status. If RNBD_ST_OK, our own proof is in @s->mac.
 */
u16 rnbdt_auth_check(struct rnbd_tsession *s)
{
	u8 mac[RNBD_MAC_SIZE];
	u16 status = RNBD_ST_OK;

	rnbd_auth_label(&s->text, RNBD_LABEL_CLIENT);
	if (rnbd_mac(s->secret->key, &s->text, mac))
		return RNBD_ST_NOMEM;
	if (crypto_memneq(mac, s->mac, sizeof(mac)))
		status = RNBD_ST_AUTH;
	rnbd_auth_label(&s->text, RNBD_LABEL_TARGET);
	if (!status && rnbd_mac(s->secret->key, &s->text, s->mac))
		status = RNBD_ST_NOMEM;
	memzero_explicit(mac, sizeof(mac));
	return status;
}

/**
 * rnbdt_auth_prove - send our own proof
 * @s: session whose proof was right
 *
 * Context: the login work.
 * Return: 0, or -ENOTCONN if it cannot be sent.
 */
int rnbdt_auth_prove(struct rnbd_tsession *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	int ret = -ENOTCONN;

	spin_lock_irqsave(&ring->lock, flags);
	if (rnbd_ring_open(ring, RNBD_FRAME_PROOF)) {
		rnbd_encode_proof(rnbd_ring_add(ring, sizeof(struct rnbd_proof), 1),
				  NULL, s->mac);
		ret = rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}

/**
 * rnbdt_auth_queue - does a connection request belong to a session
 * @s: live session
 * @req: connection request for a queue other than 0, with the session's id
 *
 * Context: process context, rnbdt_lock held.
 */
bool rnbdt_auth_queue(const struct rnbd_tsession *s, const struct rnbd_conn_req *req)
{
	struct rnbd_auth_text text;
	u8 mac[RNBD_MAC_SIZE];
	bool ours;

	if (!s->secret)
		return !memcmp(&s->host_id, req->host_id, sizeof(req->host_id));
	text = s->text;
	rnbd_auth_queue(&text, req);
	if (rnbd_mac(s->secret->key, &text, mac))
		return false;
	ours = !crypto_memneq(mac, req->host_id, RNBD_TOKEN_SIZE);
	memzero_explicit(mac, sizeof(mac));
	return ours;
}
