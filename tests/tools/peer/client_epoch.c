// SPDX-License-Identifier: GPL-2.0-only
/* Cases of the epoch in connection requests, and of requests for further queues. */
#include <string.h>

#include "client.h"

/* A connection request is refused if its epoch is not higher than that of the session. */
static void epochs(void)
{
	static const struct {
		uint32_t epoch;
		int status;
	} tries[] = {
		{ 5, RNBD_ST_EPOCH }, { 4, RNBD_ST_EPOCH }, { 1, RNBD_ST_EPOCH },
	};
	struct conn a = { }, b;
	struct rnbd_ctl_login l;
	struct request req;
	uint32_t i;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	request_epoch(&req, 5);
	login_fill(&l);
	if (conn_open(&a, &req) || !session_login(&a, &l, "hostile")) {
		amiss("no session");
	} else {
		for (i = 0; i < ARRAY_SIZE(tries); i++) {
			request_epoch(&req, tries[i].epoch);
			status = conn_open(&b, &req);
			if (status != tries[i].status)
				amiss("epoch %u: status %d", tries[i].epoch, status);
			conn_close(&b);
		}
		session_lives(&a);
	}
	conn_close(&a);
}

/*
 * A connection that has not logged in does not prevent a connection of the same session with a
 * higher epoch.
 */
static void epoch_half_open(void)
{
	struct conn a = { }, b = { };
	struct rnbd_ctl_login l;
	struct request req;
	int status;

	request_init(&req, 2, SLOTS, SLOT_SIZE);
	login_fill(&l);
	status = conn_open(&a, &req);
	if (status) {
		amiss("not connected: status %d", status);
	} else {
		request_epoch(&req, le32toh(req.cm.epoch) + 1);
		status = conn_open(&b, &req);
		if (status)
			amiss("a newer epoch than one that never logged in: status %d", status);
		else if (!session_login(&b, &l, "hostile"))
			amiss("no login");
		else
			session_lives(&b);
		session_must_go(&a, CLOSE_MS);
	}
	conn_close(&a);
	conn_close(&b);
}

/*
 * The end of queue 1 must end the session. The target must refuse a request for a further queue
 * with a wrong epoch, number or host.
 */
static void queues(void)
{
	static const struct {
		uint16_t queue;
		uint32_t epoch;
		uint32_t host;
		int status;
		uint32_t attempts;
	} tries[] = {
		{ 1, 2, 2, RNBD_ST_EPOCH, 1 }, { 2, 1, 2, RNBD_ST_QUEUE, 2 },
		{ 1023, 1, 2, RNBD_ST_QUEUE, 3 }, { 1, 1, 3, RNBD_ST_NO_SESSION, 4 },
	};
	struct conn first = { }, second = { }, c;
	struct rnbd_ctl_login l;
	struct request req;
	struct uuid host;
	uint32_t i;
	int status;

	if (session_start_second(&second, &first)) {
		conn_close(&second);
		session_must_go(&first, CLOSE_MS);
	}
	conn_close(&first);
	conn_close(&second);

	login_fill(&l);
	l.nr_queues = htole16(2);
	if (session_start_login(&first, 2, &l, "hostile")) {
		req = first.req;
		for (i = 0; i < ARRAY_SIZE(tries); i++) {
			host = host_uuid(tries[i].host);
			memcpy(req.cm.host_id, &host, sizeof(host));
			req.cm.epoch = htole32(tries[i].epoch);
			request_conn(&req, tries[i].queue, tries[i].attempts);
			status = conn_open(&c, &req);
			if (status != tries[i].status)
				amiss("queue %u: status %d", tries[i].queue, status);
			conn_close(&c);
		}
		session_lives(&first);
	}
	conn_close(&first);
}

static const struct client_story stories[] = {
	{ "epochs", epochs },
	{ "epoch-half-open", epoch_half_open },
	{ "queues", queues },
};

void client_epoch_cases(struct results *results)
{
	RUN_CASES(stories, results, stories[i].run());
}
