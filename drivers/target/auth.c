// SPDX-License-Identifier: GPL-2.0-only
/*
 * Authentication: secrets of hosts, challenges and proofs.
 *
 * Operation
 *
 * If the host has a secret at the time of the connection request, the target answers the LOGIN or
 * LIST with a challenge, and login_work first verifies the proof that the client returns. While
 * a secret is being rotated the host has two secrets, and a proof of either is accepted. Until
 * the proof is verified, the login closes no other session, its epoch is not remembered, and no
 * pool is created. Then the target proves to the client that it knows the same secret. On each
 * further queue, the client proves that it knows the session key (join.c). A client that has
 * proven a secret computes the session key from the secret; any other client receives the key from
 * the target. See "Authentication" in Documentation/reference/protocol-authentication.rst.
 *
 * Ownership
 *
 * A secret is constant and reference counted. The host holds one reference for the secret, and
 * one for the old secret, which can be the same object. Each session whose client has proven a
 * secret holds a reference on it. Changing a secret creates a new object. A session must end when
 * its secret is no longer one of the secrets of its host.
 *
 * Concurrency
 *
 * The completion handler of queue 0 sends the challenge and later stores the proof. It then queues
 * login_work, and only login_work uses challenge and proof afterwards. s->auth.text is constant
 * once the session is live. The secrets of a host change only with rnbdt_lock held for writing.
 *
 * Errors
 *
 * The answer to a wrong proof is RNBD_ST_AUTH, without a reason. If memory is short or the crypto
 * API fails, the target refuses each login with RNBD_ST_NOMEM, even if it needs no proof.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <crypto/algapi.h>
#include <linux/build_bug.h>
#include <linux/kref.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "../core/auth.h"
#include "../core/ctl.h"
#include "../core/login.h"
#include "../core/mac.h"
#include "../core/proto_err.h"
#include "auth.h"
#include "ctl.h"
#include "graph.h"
#include "session.h"
#include "target.h"

/**
 * struct rnbdt_secret - secret of a host
 * @ref: reference count
 * @key: HMAC transform keyed with the secret
 * @bytes: the secret, for comparison
 */
struct rnbdt_secret {
	struct kref ref;
	struct crypto_shash *key;
	u8 bytes[RNBD_SECRET_SIZE];
};

/**
 * rnbdt_secret_alloc - create a secret
 * @bytes: RNBD_SECRET_SIZE bytes; copied
 *
 * Context: process context; may sleep and load a crypto module.
 * Return: the secret with a reference for the caller, or an ERR_PTR().
 */
struct rnbdt_secret *rnbdt_secret_alloc(const u8 *bytes)
{
	struct rnbdt_secret *secret = kzalloc(sizeof(*secret), GFP_KERNEL);
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
	struct rnbdt_secret *secret = container_of(ref, struct rnbdt_secret, ref);

	rnbd_mac_free(secret->key);
	kfree_sensitive(secret);
}

/**
 * rnbdt_secret_get - take a reference on a secret
 * @secret: secret, or NULL
 *
 * Context: any.
 * Return: @secret.
 */
struct rnbdt_secret *rnbdt_secret_get(struct rnbdt_secret *secret)
{
	if (secret)
		kref_get(&secret->ref);
	return secret;
}

/**
 * rnbdt_secret_put - drop a reference, and wipe and free the secret if it was the last one
 * @secret: secret, or NULL
 *
 * Context: process context; may sleep.
 */
void rnbdt_secret_put(struct rnbdt_secret *secret)
{
	if (secret)
		kref_put(&secret->ref, rnbdt_secret_release);
}

/**
 * rnbdt_secret_same - compare two secrets in constant time
 * @a: secret, or NULL
 * @b: secret, or NULL
 *
 * Context: any.
 * Return: true if both have the same bytes, or both are NULL.
 */
bool rnbdt_secret_same(const struct rnbdt_secret *a, const struct rnbdt_secret *b)
{
	if (!a || !b)
		return a == b;
	return !crypto_memneq(a->bytes, b->bytes, sizeof(a->bytes));
}

/**
 * rnbdt_auth_challenge - send a challenge to the client
 * @s: session whose host has a secret and whose LOGIN or LIST was decoded
 *
 * Context: completion handler of queue 0; does not sleep.
 * Return: 0, or an error if the challenge cannot be sent.
 */
int rnbdt_auth_challenge(struct rnbdt_session *s)
{
	struct rnbd_ctl_challenge wire;

	rnbd_auth_begin(&s->auth.text, &s->auth.req, s->login.list ? NULL : &s->login.info);
	get_random_bytes(s->auth.text.target_nonce, sizeof(s->auth.text.target_nonce));
	export_uuid(s->auth.text.target_uuid, &s->auth.target_uuid);
	rnbd_encode_challenge(&wire, s->auth.text.target_nonce, s->auth.text.target_uuid);
	return rnbdt_ctl_post(s, RNBD_CTL_CHALLENGE, &wire, sizeof(wire));
}

/**
 * rnbdt_auth_handle_proof - decode a PROOF entry
 * @s: session with an outstanding challenge
 * @entry: entry of type RNBD_CTL_PROOF
 *
 * The proof is stored and not verified here, see rnbdt_auth_check().
 *
 * Context: completion handler of queue 0; does not sleep.
 * Return: RNBD_PERR_NONE or the protocol error of a malformed entry.
 */
enum rnbd_proto_err rnbdt_auth_handle_proof(struct rnbdt_session *s,
					    const struct rnbd_ctl_entry *entry)
{
	return rnbd_decode_proof(entry, s->auth.text.client_nonce, s->auth.mac);
}

/**
 * rnbdt_auth_stale_secret - check whether the host has withdrawn the secret of a session
 * @s: session
 *
 * While the client has proven no secret, the session must end if the host had no secret at the
 * connection request and has one now, or had one and has none now. A change from one secret to
 * another does not matter yet: rnbdt_auth_check() compares the proof with the secrets that the host
 * has when the proof arrives. Once the client has proven a secret, the session must end if that
 * secret is neither the secret nor the old secret of the host.
 *
 * Context: process context, host of @s locked.
 * Return: true if the session must end.
 */
bool rnbdt_auth_stale_secret(const struct rnbdt_session *s)
{
	const struct rnbdt_secret *secret = s->auth.secret;

	rnbdt_assert_host(s->host);

	if (!secret)
		return s->auth.required != !!s->host->secret;
	return secret != s->host->secret && secret != s->host->old_secret;
}

/* Compare the proof of the client with the proof that a secret yields. */
static u16 rnbdt_auth_verify(struct rnbdt_session *s, const struct rnbdt_secret *secret)
{
	u8 mac[RNBD_MAC_SIZE];
	u16 status = RNBD_ST_OK;

	rnbd_auth_label(s->auth.text.label, RNBD_LABEL_CLIENT);
	if (rnbd_mac(secret->key, &s->auth.text, sizeof(s->auth.text), mac))
		return RNBD_ST_NOMEM;
	if (crypto_memneq(mac, s->auth.mac, sizeof(mac)))
		status = RNBD_ST_AUTH;
	memzero_explicit(mac, sizeof(mac));
	return status;
}

/* Accept a proven secret unless it was withdrawn, and compute the proof of the target. */
static u16 rnbdt_auth_accept(struct rnbdt_session *s, struct rnbdt_secret *secret)
{
	u16 status = RNBD_ST_OK;

	rnbd_auth_label(s->auth.text.label, RNBD_LABEL_TARGET);
	if (rnbd_mac(secret->key, &s->auth.text, sizeof(s->auth.text), s->auth.mac))
		return RNBD_ST_NOMEM;
	rnbdt_host_lock(s->host);
	s->auth.secret = secret;
	if (rnbdt_auth_stale_secret(s)) {
		s->auth.secret = NULL;
		status = RNBD_ST_AUTH;
	} else {
		rnbdt_secret_get(secret);
	}
	rnbdt_host_unlock(s->host);
	return status;
}

/**
 * rnbdt_auth_check - verify the proof of the client
 * @s: session whose proof was decoded
 *
 * Context: work item login_work of @s; locks the host, may sleep.
 * Return: RNBD_ST_OK with the proven secret in @s->auth.secret and the proof of the target in
 * @s->auth.mac, RNBD_ST_AUTH for a wrong proof or a secret that the host no longer has, or
 * RNBD_ST_NOMEM if the HMAC cannot be computed.
 */
u16 rnbdt_auth_check(struct rnbdt_session *s)
{
	struct rnbdt_secret *secrets[2];
	u16 status = RNBD_ST_AUTH;
	u32 i;

	rnbdt_host_lock(s->host);
	secrets[0] = rnbdt_secret_get(s->host->secret);
	secrets[1] = rnbdt_secret_get(s->host->old_secret);
	rnbdt_host_unlock(s->host);

	for (i = 0; i < ARRAY_SIZE(secrets) && status == RNBD_ST_AUTH; i++) {
		if (!secrets[i])
			continue;
		status = rnbdt_auth_verify(s, secrets[i]);
		if (!status)
			status = rnbdt_auth_accept(s, secrets[i]);
	}
	for (i = 0; i < ARRAY_SIZE(secrets); i++)
		rnbdt_secret_put(secrets[i]);
	return status;
}

/**
 * rnbdt_auth_send_proof - send the proof of the target
 * @s: session whose client has proven the secret
 *
 * Context: work item login_work of @s; does not sleep.
 * Return: 0, or an error if the proof cannot be sent.
 */
int rnbdt_auth_send_proof(struct rnbdt_session *s)
{
	struct rnbd_ctl_proof wire;

	rnbd_encode_proof(&wire, NULL, s->auth.mac);
	return rnbdt_ctl_post(s, RNBD_CTL_PROOF, &wire, sizeof(wire));
}

/**
 * rnbdt_auth_make_key - create the session key, which the client must prove on further queues
 * @s: session whose login is granted
 * @join_key: result, RNBD_MAC_SIZE bytes for the login reply; zeroes if the client has proven a
 *	secret
 *
 * A client that has proven a secret computes the key itself; any other client gets the key in the
 * login reply.
 *
 * Context: work item login_work of @s; may sleep and load a crypto module.
 * Return: RNBD_ST_OK, or RNBD_ST_NOMEM if the key cannot be made.
 */
u16 rnbdt_auth_make_key(struct rnbdt_session *s, u8 *join_key)
{
	struct crypto_shash *key;
	u8 bytes[RNBD_MAC_SIZE];

	BUILD_BUG_ON(RNBD_MAC_SIZE != RNBD_SECRET_SIZE);
	memset(join_key, 0, RNBD_MAC_SIZE);
	if (s->auth.required) {
		rnbd_auth_label(s->auth.text.label, RNBD_LABEL_KEY);
		if (rnbd_mac(s->auth.secret->key, &s->auth.text, sizeof(s->auth.text), bytes))
			return RNBD_ST_NOMEM;
	} else {
		get_random_bytes(bytes, sizeof(bytes));
		memcpy(join_key, bytes, sizeof(bytes));
	}
	key = rnbd_mac_alloc(bytes);
	memzero_explicit(bytes, sizeof(bytes));
	if (IS_ERR(key)) {
		pr_err_ratelimited("session %u: the kernel has no hmac(sha256) (error %ld)\n",
				   s->serial, PTR_ERR(key));
		return RNBD_ST_NOMEM;
	}
	s->auth.key = key;
	return RNBD_ST_OK;
}

/**
 * rnbdt_auth_free - release the secret and the key of a session
 * @s: session at the end of its teardown
 *
 * Context: process context; may sleep.
 */
void rnbdt_auth_free(struct rnbdt_session *s)
{
	rnbd_mac_free(s->auth.key);
	rnbdt_secret_put(s->auth.secret);
}
