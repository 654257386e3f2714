// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stale-write rule: only requests of the newest epoch of a session reach the storage.
 *
 * Operation
 *
 * A client that reconnects uses the id of its session with a higher epoch. The target closes the
 * older session, and answers the connection request or login with RNBD_ST_BUSY until the queue
 * pairs of the older session are drained. An older session that was never live has sent no
 * requests, so it does not cause this answer. Requests that the storage still executes delay only
 * the next ATTACH of their export (bind.c). An equal or lower epoch is refused with RNBD_ST_EPOCH.
 * rnbdt_may_submit() checks state and epoch directly before each submission to the storage, so
 * that a write of a closed session or an old epoch cannot reach the storage after a newer one.
 *
 * Connection requests of a session can arrive when the session is already freed. To refuse
 * these, a host remembers the newest epochs of its latest RNBDT_HOST_EPOCHS ended sessions.
 *
 * Ownership
 *
 * The host owns the remembered epochs. The export owns the counter of dropped requests.
 *
 * Concurrency
 *
 * Epochs are compared and written with the host locked. rnbdt_may_submit() reads
 * s->state and s->newest_epoch without the lock.
 *
 * Errors
 *
 * The epoch of a client that is not authenticated closes no session and is not remembered,
 * because any peer can name a session and a high epoch. A stale request is dropped without a
 * reply: the client would take an error in a reply as the final result, and would not send the
 * request again in the newer epoch.
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
 * rnbdt_remember_epoch - remember the newest epoch of a session that ends
 * @s: session at the end of its teardown
 *
 * A host has RNBDT_HOST_EPOCHS entries; if all are in use, a further session replaces the oldest
 * entry.
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_remember_epoch(const struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	u32 i;

	rnbdt_assert_host(host);

	/* An unauthenticated peer can name any session and any epoch. */
	if (!s->auth.authenticated)
		return;
	for (i = 0; i < RNBDT_HOST_EPOCHS; i++)
		if (uuid_equal(&host->epochs[i].session_id, &s->session_id))
			break;
	if (i == RNBDT_HOST_EPOCHS) {
		/* A session that was never live has sent no requests: it needs no entry. */
		if (!s->live_at)
			return;
		i = host->next_epoch;
		host->next_epoch = (i + 1) % RNBDT_HOST_EPOCHS;
	}
	if (!uuid_equal(&host->epochs[i].session_id, &s->session_id)) {
		host->epochs[i].session_id = s->session_id;
		host->epochs[i].epoch = 0;
	}
	/* Sessions with the same id can end in any order: keep the highest epoch. */
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
 * Compare the epoch of a connection request with that of an existing session. A lower or equal
 * epoch means that the request is late, a higher one that the client no longer uses @old.
 */
static u16 rnbdt_check_epoch(struct rnbdt_session *old, u32 epoch, bool authenticated)
{
	if (epoch <= old->newest_attempt || epoch < old->newest_epoch)
		return RNBD_ST_EPOCH;
	/*
	 * Do not close @old yet: this check is repeated when the client of the new session is
	 * authenticated.
	 */
	if (!authenticated && READ_ONCE(old->state) < RNBDT_CLOSING)
		return RNBD_ST_OK;
	if (authenticated) {
		WRITE_ONCE(old->newest_epoch, epoch);
		rnbdt_session_close(old, "the client has begun a newer epoch");
	}
	/*
	 * A closing @old that was never live has sent no requests. A drained @old has requests only
	 * in the storage; for these, bind.c answers the next ATTACH with BUSY.
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
 * If @s is not NULL and its client is authenticated, close the sessions that have the same id
 * and an older epoch. Otherwise only check.
 *
 * Context: process context, @host locked.
 * Return: RNBD_ST_OK, RNBD_ST_EPOCH if the host has used the same or a newer epoch for this
 * session id, or RNBD_ST_BUSY until the queue pairs of a session of an older epoch are drained.
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
 * The caller must call this directly before each submission, even if it has checked the request
 * before. If the session is not live or its epoch is old, the request is marked as stale, and no
 * reply is sent for it. If only the attachment is closing, the reply has the status
 * RNBD_ST_CLOSED. In both cases the caller must complete the request; the status that the caller
 * passes to the completion is ignored.
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
