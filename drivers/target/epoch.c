// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stale-write rule: only the newest epoch of a session reaches the storage.
 *
 * Operation
 *
 * A client that reconnects uses the id of its session with a higher epoch. The
 * older session is closed, and the newer one is admitted only when the queue pairs of
 * the older one are drained, unless that was never live (RNBD_ST_BUSY until then).
 * Requests that the storage still has delay only the next attachment of their export
 * (bind.c). An equal or lower epoch is refused with RNBD_ST_EPOCH. rnbdt_may_submit()
 * checks state and epoch directly before each submission to the storage, so that a write
 * of a closed session or an old epoch cannot reach the storage after a newer one.
 *
 * Messages of a session may still be in flight when the session has gone: each
 * host remembers the newest epochs of its latest RNBDT_HOST_EPOCHS sessions.
 *
 * Ownership
 *
 * The remembered epochs are part of the host; rnbdt_may_submit() counts dropped
 * requests in the export.
 *
 * Concurrency
 *
 * Epochs are compared and written with the host locked. rnbdt_may_submit() reads
 * s->state and s->newest_epoch without it.
 *
 * Errors
 *
 * An epoch of a client that has not proven its secret neither closes a session
 * nor is remembered: any peer can name a session and a high epoch. A dropped
 * request gets no reply: the connection may still be able to carry one, and the
 * client would take the error as final.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/rcupdate.h>
#include <linux/uuid.h>

#include "../core/cm.h"
#include "../core/inject.h"
#include "../core/op.h"
#include "epoch.h"
#include "graph.h"
#include "inject.h"
#include "lookup.h"
#include "queue.h"
#include "session.h"
#include "state.h"

/**
 * rnbdt_remember_epoch - remember the newest attempt of a session that ends
 * @s: session at the end of its teardown
 *
 * A host keeps RNBDT_HOST_EPOCHS entries; the oldest is replaced.
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_remember_epoch(const struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	u32 i;

	rnbdt_assert_host(host);

	/* Any peer can name a session and a high epoch. */
	if (!s->auth.authenticated)
		return;
	for (i = 0; i < RNBDT_HOST_EPOCHS; i++)
		if (uuid_equal(&host->epochs[i].session_id, &s->session_id))
			break;
	if (i == RNBDT_HOST_EPOCHS) {
		/* A session that was never live has sent no requests. */
		if (!s->live_at)
			return;
		i = host->next_epoch;
		host->next_epoch = (i + 1) % RNBDT_HOST_EPOCHS;
	}
	if (!uuid_equal(&host->epochs[i].session_id, &s->session_id)) {
		host->epochs[i].session_id = s->session_id;
		host->epochs[i].epoch = 0;
	}
	/* A refused session may end before the older one that it was to replace. */
	host->epochs[i].epoch = max3(host->epochs[i].epoch, s->newest_epoch, s->newest_attempt);
}

static bool rnbdt_knows_newer_epoch(const struct rnbdt_host *host,
				    const struct rnbd_conn_req *req)
{
	u32 i;

	rnbdt_assert_host(host);

	for (i = 0; i < RNBDT_HOST_EPOCHS; i++)
		if (!memcmp(&host->epochs[i].session_id, req->session_id,
			    sizeof(req->session_id)))
			return req->epoch <= host->epochs[i].epoch;
	return false;
}

/*
 * Compare the epoch of a request with that of an existing session: the request is
 * a late one, or the client has given up the old connection and reconnects.
 */
static u16 rnbdt_check_epoch(struct rnbdt_session *old, u32 epoch, bool authenticated)
{
	if (epoch <= old->newest_attempt || epoch < old->newest_epoch)
		return RNBD_ST_EPOCH;
	/* The epoch is checked again before the session begins, or after its client's proof. */
	if (!authenticated && READ_ONCE(old->state) < RNBDT_CLOSING)
		return RNBD_ST_OK;
	if (authenticated) {
		WRITE_ONCE(old->newest_epoch, epoch);
		rnbdt_session_close(old, "the client has begun a newer epoch");
	}
	/*
	 * A closing session that was never live has sent no requests: do not wait. Of one
	 * that has stopped, only the storage may have requests.
	 */
	if (smp_load_acquire(&old->state) >= RNBDT_CLOSING &&
	    (!old->live_at || old->teardown.stopped))
		return RNBD_ST_OK;
	return rnbd_inject(&rnbdt_inject_no_drain, NULL) ? RNBD_ST_OK : RNBD_ST_BUSY;
}

/**
 * rnbdt_is_newest_epoch - check the epoch of a connection request
 * @host: host that the request names
 * @req: connection request for queue 0
 * @s: session that the request creates, or NULL before that
 *
 * Close the sessions that have the same id and an older epoch if the client of @s is
 * authenticated. Without a session, or unauthenticated, a request has no effect.
 *
 * Context: process context, @host locked.
 * Return: RNBD_ST_OK, RNBD_ST_EPOCH if the host has used a newer epoch, or
 * RNBD_ST_BUSY until the queue pairs of a session of an older epoch are drained.
 */
u16 rnbdt_is_newest_epoch(struct rnbdt_host *host, const struct rnbd_conn_req *req,
			  const struct rnbdt_session *s)
{
	bool authenticated = s && s->auth.authenticated;
	struct rnbdt_session *old = NULL;
	u16 again, status = RNBD_ST_OK;

	rnbdt_assert_host(host);

	if (rnbdt_knows_newer_epoch(host, req))
		return RNBD_ST_EPOCH;

	rcu_read_lock();
	while (status != RNBD_ST_EPOCH && (old = rnbdt_lookup_next(req, old))) {
		if (old == s || !old->auth.authenticated)
			continue;
		again = rnbdt_check_epoch(old, req->epoch, authenticated);
		if (again)
			status = again;
	}
	rcu_read_unlock();
	return status;
}

/**
 * rnbdt_may_submit - check that a request may still reach the storage
 * @treq: request about to be submitted to the storage
 *
 * Call directly before the submission, whatever was checked when the request
 * arrived. If the session is not live or its epoch is old, mark the request stale:
 * the caller ends it with any status, and no reply is sent. If only the attachment
 * closes, the reply has the status RNBD_ST_CLOSED, whatever the caller says.
 *
 * Context: process context; may sleep at a fault point.
 * Return: true if the request may be submitted.
 */
bool rnbdt_may_submit(struct rnbdt_req *treq)
{
	struct rnbdt_session *s = treq->queue->session;
	bool write = rnbd_op_data_out(treq->req.op);

	if (write)
		rnbd_inject_delay(&rnbdt_inject_delay_submit);
	if (unlikely(READ_ONCE(s->state) != RNBDT_LIVE ||
		     READ_ONCE(s->newest_epoch) != s->epoch) &&
	    !rnbd_inject(&rnbdt_inject_no_epoch_check, NULL)) {
		pr_debug("session %u: stale request dropped\n", s->serial);
		atomic64_inc(&treq->att->export->stale_requests);
		treq->stale = true;
		return false;
	}
	if (unlikely(READ_ONCE(treq->att->state) != RNBDT_ATTACH_OPEN) &&
	    !rnbd_inject(&rnbdt_inject_no_epoch_check, NULL)) {
		treq->closed = true;
		return false;
	}
	if (write)
		rnbd_inject_delay(&rnbdt_inject_delay_bio);
	return true;
}
