// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target that requests a proof, or pretends to know a secret.
 *
 * Operation: each challenge has a new random nonce. This file computes the proof that the client
 * must send, and compares it with the received one. Our own proof is right, or wrong in one of
 * several ways.
 * Ownership: one login at a time.
 * Concurrency: one thread.
 * Errors: a wrong proof of the client fails the case, unless the caller expects one.
 */
#include <string.h>

#include "peer.h"

static struct rnbd_auth_text text;
static struct rnbd_ctl_proof theirs;
static uint8_t before[RNBD_MAC_SIZE];	/* our right proof in an earlier login, for REPLAYED */

/* Start a login; @l is all zero for a list. */
void target_auth_begin(const struct rnbd_cm_req *req, const struct rnbd_ctl_login *l)
{
	memset(&text, 0, sizeof(text));
	memset(&theirs, 0, sizeof(theirs));
	text.req = *req;
	text.login = *l;
}

void target_auth_challenge(struct frame *f)
{
	struct uuid random[2] = { random_uuid(), random_uuid() };
	struct rnbd_ctl_challenge challenge = { };

	memcpy(text.target_nonce, random, sizeof(random));
	memcpy(challenge.nonce, random, sizeof(random));
	challenge.target_uuid[0] = TARGET_UUID;
	memcpy(text.target_uuid, challenge.target_uuid, sizeof(text.target_uuid));
	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_CHALLENGE, 0, sizeof(challenge)), &challenge,
	       sizeof(challenge));
}

/*
 * Check the client's proof. Return true if it is right; fail the case if it is wrong and @must is
 * set.
 */
bool target_auth_take(const struct ctl *entry, bool must)
{
	static const uint8_t zero[RNBD_NONCE_SIZE];
	static uint8_t last[RNBD_NONCE_SIZE];
	uint8_t mac[RNBD_MAC_SIZE];

	memcpy(&theirs, entry->body, sizeof(theirs));
	memcpy(text.client_nonce, theirs.nonce, sizeof(theirs.nonce));
	if (!memcmp(theirs.nonce, zero, sizeof(zero)) ||
	    !memcmp(theirs.nonce, last, sizeof(last)) ||
	    !memcmp(theirs.nonce, text.target_nonce, sizeof(theirs.nonce)))
		return must && amiss("the nonce of the client is not new");
	memcpy(last, theirs.nonce, sizeof(last));
	auth_mac(&text, RNBD_LABEL_CLIENT, mac);
	return !memcmp(mac, theirs.mac, sizeof(mac)) ||
	       (must && amiss("the proof of the client is wrong"));
}

/*
 * Compute the key of the session. The caller has called target_auth_take(), because the key depends
 * on the nonce of the client.
 */
void target_auth_key(uint8_t *key)
{
	auth_mac(&text, RNBD_LABEL_KEY, key);
}

void target_auth_prove(struct frame *f, enum proof proof)
{
	struct rnbd_ctl_proof ours = { };
	uint8_t mac[RNBD_MAC_SIZE];

	auth_mac(&text, RNBD_LABEL_TARGET, mac);
	switch (proof) {
	case RIGHT:
	case FLIPPED:
		memcpy(ours.mac, mac, sizeof(mac));
		ours.mac[RNBD_MAC_SIZE - 1] ^= proof == FLIPPED;
		break;
	case EMPTY:
		break;
	case REFLECTED:
		memcpy(ours.mac, theirs.mac, sizeof(ours.mac));
		break;
	case ECHOED:
		ours = theirs;
		break;
	case REPLAYED:
		memcpy(ours.mac, before, sizeof(ours.mac));
		break;
	}
	if (proof == RIGHT)
		memcpy(before, mac, sizeof(mac));
	frame_begin(f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(f, RNBD_CTL_PROOF, 0, sizeof(ours)), &ours, sizeof(ours));
}
