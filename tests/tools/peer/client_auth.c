// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of authentication of host 5, which has a secret.
 *
 * Operation: most cases send a valid login and answer the challenge with an invalid proof. The
 * target must not send its own proof to a client whose proof is invalid. It must refuse the client
 * with status AUTH, or close the connection without an answer. Other sessions must continue.
 * Ownership, Concurrency, Errors: as in client.c.
 */
#include <string.h>

#include "client.h"

/* A connection, and the text from which the proofs of its login are computed. */
struct proven {
	struct request req;
	struct rnbd_auth_text text;
	struct rnbd_ctl_proof proof;
	const char *export;
	bool listing;
	struct conn c;
};

#define LOGIN_ID	0x77

static void prepare(struct proven *p, uint32_t epoch)
{
	memset(p, 0, sizeof(*p));
	request_init(&p->req, 5, SLOTS, SLOT_SIZE);
	request_epoch(&p->req, epoch);
	login_fill(&p->text.login);
	p->export = "hostile";
	p->text.login.nr_queues = htole16(2);
}

/* Add a LOGIN, or a LIST if the case lists exports. */
static void add_login(struct frame *f, const struct proven *p)
{
	if (p->listing)
		ctl_add(f, RNBD_CTL_LIST, LOGIN_ID, 0);
	else
		memcpy(ctl_add(f, RNBD_CTL_LOGIN, LOGIN_ID, sizeof(p->text.login)), &p->text.login,
		       sizeof(p->text.login));
}

/* Connect, send the LOGIN or LIST, and store the nonce and the UUID of the challenge. */
static bool challenged(struct proven *p)
{
	uint64_t end = deadline(CLOSE_MS);
	struct conn *c = &p->c;
	struct rnbd_ctl_challenge challenge;
	static const uint8_t zero[32];
	struct ctl entry;
	struct frame f;
	int status;

	/* BUSY: the teardown of an earlier session with the same session id still runs */
	while ((status = conn_open(c, &p->req)) == RNBD_ST_BUSY && now_ms() < end) {
		conn_close(c);
		nap();
	}
	if (status)
		return amiss("not connected: %d", status);
	p->text.req = p->req.cm;
	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	add_login(&f, p);
	frame_send(c, &f);
	if (!ctl_await(c, RNBD_CTL_CHALLENGE, &entry, LOGIN_MS))
		return amiss("no challenge");
	memcpy(&challenge, entry.body, sizeof(challenge));
	if (!memcmp(challenge.nonce, zero, sizeof(zero)))
		return amiss("the challenge has a nonce of zeros");
	memcpy(p->text.target_nonce, challenge.nonce, sizeof(challenge.nonce));
	memcpy(p->text.target_uuid, challenge.target_uuid, sizeof(challenge.target_uuid));
	return true;
}

static void make_proof(struct proven *p)
{
	struct uuid random[2] = { random_uuid(), random_uuid() };

	memcpy(p->text.client_nonce, random, sizeof(random));
	memcpy(p->proof.nonce, random, sizeof(random));
	auth_mac(&p->text, RNBD_LABEL_CLIENT, p->proof.mac);
}

static void send_proof(struct proven *p, int32_t more)
{
	struct frame f;

	frame_begin(&f, RNBD_FRAME_CONTROL, 0);
	memcpy(ctl_add(&f, RNBD_CTL_PROOF, LOGIN_ID, sizeof(p->proof)), &p->proof,
	       sizeof(p->proof));
	frame_seal(&p->c, &f);
	conn_post(&p->c, f.b, f.len + more, IBV_WR_SEND, 0);
}

/* Expect a valid proof of the target and a granted login; then attach. */
static bool admitted(struct proven *p)
{
	static const uint8_t zero[32];
	struct rnbd_ctl_proof proof;
	struct ctl entry;
	uint8_t mac[32];

	if (!ctl_await(&p->c, RNBD_CTL_PROOF, &entry, LOGIN_MS))
		return amiss("the target does not authenticate");
	memcpy(&proof, entry.body, sizeof(proof));
	auth_mac(&p->text, RNBD_LABEL_TARGET, mac);
	if (memcmp(proof.mac, mac, sizeof(mac)) || memcmp(proof.nonce, zero, sizeof(zero)))
		return amiss("the proof of the target is wrong");
	if (!ctl_await(&p->c, RNBD_CTL_LOGIN_REPLY, &entry, LOGIN_MS) ||
	    !login_granted(&p->c, &p->text.login, &entry) || !attach(&p->c, p->export))
		return amiss("login refused: status %u", p->c.grant.status);
	if (memcmp(p->c.grant.r.join_key, zero, sizeof(zero)))
		amiss("the key of the session is sent although it can be computed");
	if (memcmp(p->c.grant.r.target_uuid, p->text.target_uuid, 16))
		amiss("the target has another UUID than in its challenge");
	return true;
}

static bool admit(struct proven *p)
{
	if (!challenged(p))
		return false;
	make_proof(p);
	send_proof(p, 0);
	return admitted(p);
}

/*
 * Expect a refusal with status AUTH. If a login was refused, the target must also disconnect, but
 * not within REFUSED_MS.
 */
static void turned_away(struct conn *c, uint16_t type)
{
	struct ctl entry;
	uint16_t status;

	if (!ctl_await(c, type, &entry, LOGIN_MS)) {
		amiss("the target sent no refusal");
		return;
	}
	if (entry.id != LOGIN_ID)
		amiss("the refusal has id %u", entry.id);
	memcpy(&status, entry.body, sizeof(status));
	counter_due_refusal(le16toh(status));
	if (le16toh(status) != RNBD_ST_AUTH)
		amiss("status %u, wanted AUTH", le16toh(status));
	/* after it has refused a LIST, the target need not disconnect at once */
	if (type != RNBD_CTL_LOGIN_REPLY)
		return;
	/*
	 * the target must wait this long, so that a client on a busy machine can read the refusal
	 */
	if (conn_wait_gone(c, REFUSED_MS))
		amiss("the target did not wait until the client has read the refusal");
	else if (!conn_wait_gone(c, CLOSE_MS))
		amiss("the target did not disconnect");
}

static void closed_without_answer(struct conn *c, const char *why)
{
	uint32_t len;

	if (conn_receive(c, 0, &len, CLOSE_MS))
		amiss("the target sent a reply");
	if (!c->gone)
		amiss("the target did not disconnect");
	monitor_closed(why);
}

static void still_there(struct proven *p)
{
	int status = simple_request(&p->c, req_entry(RNBD_OP_READ, 0, 3, 0, 4096, 9));

	if (status)
		amiss("the valid session: status %d", status);
}

enum how {
	ADMITTED, BIT, ZERO, SWAPPED_LABEL, OTHER_LOGIN, OTHER_EPOCH, OTHER_NONCE, LISTING,
	CUT, LONGER, UNASKED_READ, LOGIN_AGAIN, TWICE_SENT,
};

static const struct {
	const char *name;
	enum how how;
	const char *why;	/* error that ends the connection; NULL: the target answers */
} proofs[] = {
	{ "auth-admitted", ADMITTED },
	{ "auth-wrong-bit", BIT },
	{ "auth-zero", ZERO },
	{ "auth-reflected", SWAPPED_LABEL },
	{ "auth-of-another-login", OTHER_LOGIN },
	{ "auth-of-another-epoch", OTHER_EPOCH },
	{ "auth-of-another-nonce", OTHER_NONCE },
	{ "auth-list", LISTING },
	{ "auth-cut", CUT, SHORT },
	{ "auth-long", LONGER, LONG },
	{ "auth-missing", UNASKED_READ, TYPE },
	{ "auth-login-again", LOGIN_AGAIN, TYPE },
	{ "auth-twice", TWICE_SENT, TYPE },
};

static void run_proof(size_t i)
{
	enum how how = proofs[i].how;
	struct rnbd_req_entry entry = req_entry(RNBD_OP_READ, 0, 1, 0, 4096, 0);
	static struct proven p;
	struct frame f;
	uint32_t len;

	prepare(&p, 1);
	if (how == LISTING) {
		memset(&p.text.login, 0, sizeof(p.text.login));
		p.listing = true;
	}
	if (!challenged(&p))
		goto close;
	if (how == OTHER_LOGIN)
		p.text.login.boot_id[0]++;
	else if (how == OTHER_EPOCH)
		p.text.req.epoch = htole32(2);
	else if (how == OTHER_NONCE)
		p.text.target_nonce[31] ^= 1;
	make_proof(&p);
	if (how == BIT || how == LISTING)
		p.proof.mac[31] ^= 0x80;
	else if (how == ZERO)
		memset(&p.proof, 0, sizeof(p.proof));
	else if (how == SWAPPED_LABEL)
		auth_mac(&p.text, RNBD_LABEL_TARGET, p.proof.mac);
	if (how == UNASKED_READ || how == LOGIN_AGAIN) {
		frame_begin(&f, how == LOGIN_AGAIN ? RNBD_FRAME_CONTROL : RNBD_FRAME_REQUEST,
			    how != LOGIN_AGAIN);
		if (how == LOGIN_AGAIN)
			add_login(&f, &p);
		else
			memcpy(frame_add(&f, sizeof(entry)), &entry, sizeof(entry));
		frame_send(&p.c, &f);
	} else {
		send_proof(&p, how == CUT ? -1 : how == LONGER);
		if (how == TWICE_SENT)
			send_proof(&p, 0);
	}
	if (how == TWICE_SENT) {
		/* the target has possibly sent an answer to the first proof: skip that answer */
		while (conn_receive(&p.c, 0, &len, CLOSE_MS))
			;
		if (!p.c.gone)
			amiss("the target did not disconnect");
		monitor_closed(proofs[i].why);
	} else if (proofs[i].why) {
		closed_without_answer(&p.c, proofs[i].why);
	} else if (how == ADMITTED) {
		if (admitted(&p))
			still_there(&p);
	} else {
		turned_away(&p.c, how == LISTING ? RNBD_CTL_LIST_END : RNBD_CTL_LOGIN_REPLY);
	}
close:
	conn_close(&p.c);
}

/* Replay a proof that was valid in an earlier epoch. */
static void replayed(void)
{
	static struct proven a, b;

	prepare(&a, 1);
	admit(&a);
	conn_close(&a.c);
	prepare(&b, 1);
	b.req = a.req;
	request_epoch(&b.req, 2);
	if (challenged(&b)) {
		b.proof = a.proof;
		send_proof(&b, 0);
		turned_away(&b.c, RNBD_CTL_LOGIN_REPLY);
	}
	conn_close(&b.c);
}

/*
 * A client that knows the host id and the session id of a live session, but not the secret, cannot
 * end the session.
 */
static void epoch_unproven(void)
{
	static struct proven a, b;

	prepare(&a, 1);
	if (admit(&a)) {
		prepare(&b, 1);
		b.req = a.req;
		request_epoch(&b.req, 1000);
		memset(b.text.login.boot_id, 0x77, sizeof(b.text.login.boot_id));
		if (challenged(&b)) {
			still_there(&a);
			make_proof(&b);
			b.proof.mac[0] ^= 1;
			send_proof(&b, 0);
			turned_away(&b.c, RNBD_CTL_LOGIN_REPLY);
		}
		conn_close(&b.c);
		still_there(&a);
	}
	conn_close(&a.c);
}

/*
 * Try to join queue 1 with a key of zeros, which is all that the login reply contains for a host
 * with a secret. Then join with the right key.
 */
static void joins(void)
{
	static const uint8_t zero[RNBD_MAC_SIZE];
	static struct proven a;
	struct request req;
	struct conn c, q = { };
	uint8_t key[32];
	int status;

	prepare(&a, 1);
	if (!admit(&a))
		goto close;
	auth_mac(&a.text, RNBD_LABEL_KEY, key);
	req = a.req;
	request_conn(&req, 1, 1);
	status = conn_open(&c, &req) ?: join(&c, &req, zero);
	if (status != RNBD_ST_AUTH)
		amiss("a key of zeros: status %d", status);
	conn_close(&c);
	still_there(&a);
	status = conn_open(&q, &req) ?: join(&q, &req, key);
	if (status)
		amiss("the right key: status %d", status);
	request_conn(&req, 1, 2);
	status = conn_open(&c, &req);
	if (status != RNBD_ST_QUEUE)
		amiss("a second connection for the queue: status %d", status);
	conn_close(&c);
	still_there(&a);
	conn_close(&q);
close:
	conn_close(&a.c);
}

/*
 * Sessions of a host without a secret and of a host with one alternate. The pool of each session
 * must contain no data of the session before.
 */
static void fresh_pool(void)
{
	static struct proven p;
	uint32_t round;

	for (round = 0; round < 4; round++) {
		struct conn plain = { }, *c = round % 2 ? &p.c : &plain;
		uint32_t bytes;

		prepare(&p, 1);
		if (round % 2 ? !admit(&p) : !session_start_export(c, 2, "hostile"))
			return;
		bytes = le32toh(c->grant.r.pool_units) * RNBD_UNIT_SIZE;
		if (session_whole_pool(c, IBV_WR_RDMA_READ) && !all_zero(c->data, bytes))
			amiss("the pool of session %u is not zeroed", round);
		memset(c->data, 0xc7, bytes);
		session_whole_pool(c, IBV_WR_RDMA_WRITE);
		conn_close(c);
		monitor_closed("the client disconnected");
	}
}

/*
 * The test script changes the secret of the host during the session. The target must end the
 * session, and refuse a proof with the former secret.
 */
static void secret_changed(void)
{
	static struct proven p;

	prepare(&p, 1);
	p.export = "slow";
	if (admit(&p))
		hammer(&p.c, "the secret of the host was changed");
	conn_close(&p.c);
	prepare(&p, 1);
	if (challenged(&p)) {
		make_proof(&p);
		send_proof(&p, 0);
		turned_away(&p.c, RNBD_CTL_LOGIN_REPLY);
	}
	conn_close(&p.c);
}

static const struct client_story stories[] = {
	{ "auth-replayed", replayed },
	{ "auth-epoch-unauthenticated", epoch_unproven },
	{ "auth-joins", joins },
	{ "auth-fresh-pool", fresh_pool },
	{ "until-changed", secret_changed },
};

void client_auth_cases(struct results *results)
{
	if (!has_secret)
		return;
	RUN_CASES(proofs, results, run_proof(i));
	RUN_CASES(stories, results, stories[i].run());
}
