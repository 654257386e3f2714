// SPDX-License-Identifier: GPL-2.0-only
/*
 * Further connections of a session in random mode: they are accepted, must prove the key of the
 * session, and carry requests.
 *
 * Operation: target_further_begin() makes the key, which is part of the login reply.
 * Ownership: the connections end with the first one.
 * Concurrency: one thread.
 * Errors: a client that proves a wrong key is refused. This fails the run unless a frame was
 * mutated before.
 */
#include <string.h>

#include "target.h"

static uint8_t key[RNBD_MAC_SIZE];
static struct rnbd_join_text texts[TARGET_FURTHER];

/* Fill in the fields of a login reply that are about further connections. */
void target_further_begin(struct rnbd_ctl_login_reply *r)
{
	struct uuid random[2] = { random_uuid(), random_uuid() };

	if (!target.mutate || !target.login.nr_queues)
		return;
	target.further = rng_below(target.mutate, le16toh(target.login.nr_queues));
	if (target.further > TARGET_FURTHER)
		target.further = TARGET_FURTHER;
	r->nr_queues = htole16(1 + target.further);
	if (target.tc->secret) {
		target_auth_key(key);
		return;
	}
	memcpy(key, random, sizeof(key));
	memcpy(r->join_key, key, sizeof(key));
}

/*
 * Accept a connection request for a further connection that the session lacks. Return false for any
 * other request.
 */
bool target_further_request(struct rdma_cm_id *id, const struct rnbd_cm_req *req)
{
	uint32_t nr = le16toh(req->conn);
	struct rnbd_cm_rep rep = {
		.magic = htole32(RNBD_MAGIC),
		.version = htole16(RNBD_VERSION),
		.ring_slots = req->ring_slots,
		.slot_size = req->slot_size,
		.attempt = req->attempt,
	};
	struct conn *c;

	if (!nr || nr > target.further || !target.c.id || target.c.gone ||
	    memcmp(req->session_id, target.req.session_id, sizeof(req->session_id)))
		return false;
	c = &target.more[nr - 1];
	if (c->id && !c->gone)
		return false;
	target_further_drop(c);
	memset(&texts[nr - 1], 0, sizeof(texts[0]));
	texts[nr - 1].req = *req;
	c->lax = target.c.lax;
	if (conn_accept(c, id, req, &rep, sizeof(rep)))
		c->queue = nr;
	return true;
}

static void on_join(struct conn *c, const struct ctl *entry, struct rnbd_join_text *text)
{
	struct uuid random[2] = { random_uuid(), random_uuid() };
	struct rnbd_ctl_challenge challenge = { .target_uuid = { TARGET_UUID } };
	static struct frame f;

	memcpy(text->target_nonce, random, sizeof(random));
	memcpy(challenge.nonce, random, sizeof(random));
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_CHALLENGE, entry->id, sizeof(challenge)), &challenge,
	       sizeof(challenge));
	target_send(c, &f);
}

static void on_proof(struct conn *c, const struct ctl *entry, struct rnbd_join_text *text)
{
	struct rnbd_ctl_join_reply reply = { };
	struct rnbd_ctl_proof proof;
	uint8_t mac[RNBD_MAC_SIZE];
	static struct frame f;

	memcpy(&proof, entry->body, sizeof(proof));
	memcpy(text->client_nonce, proof.nonce, sizeof(proof.nonce));
	auth_join_mac(key, text, RNBD_LABEL_JOIN, mac);
	if (!memcmp(mac, proof.mac, sizeof(mac))) {
		auth_join_mac(key, text, RNBD_LABEL_JOINED, reply.mac);
	} else {
		reply.status = htole16(RNBD_ST_AUTH);
		if (!target.c.lax && !c->lax)
			amiss("the proof of queue %u is wrong", c->queue);
	}
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_JOIN_REPLY, entry->id, sizeof(reply)), &reply, sizeof(reply));
	target_send(c, &f);
}

/* Process an entry on a further connection. */
void target_further_entry(struct conn *c, const struct ctl *entry)
{
	struct rnbd_join_text *text = &texts[c->queue - 1];

	if (entry->type == RNBD_CTL_JOIN)
		on_join(c, entry, text);
	else if (entry->type == RNBD_CTL_PROOF)
		on_proof(c, entry, text);
	else if (entry->type == RNBD_CTL_QUERY)
		target_answer_query(c, entry);
	else
		amiss("an entry of type %u on queue %u", entry->type, c->queue);
}

/* Close a connection, and discard its received frames that were not served yet. */
void target_further_drop(struct conn *c)
{
	uint32_t i;

	for (i = 0; i < target.nr_put_off; i++)
		if (target.put_off[i].c == c)
			target.put_off[i].c = NULL;
	conn_close(c);
}

/* Close all connections of the session. */
void target_hang_up(void)
{
	uint32_t i;

	for (i = 0; i < TARGET_FURTHER; i++)
		conn_close(&target.more[i]);
	conn_close(&target.c);
	target.further = 0;
	target.nr_put_off = 0;
}
