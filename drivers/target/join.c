// SPDX-License-Identifier: GPL-2.0-only
/*
 * Further queues of a session, whose client must prove the session key.
 *
 * Operation
 *
 * The ids of a live session are not secret, so a connection request for a queue other than 0
 * proves nothing. The queue gets a ring and is half-open (half_open.c): the target accepts no
 * request on the queue, and an error of the queue does not end the session. Its peer has no remote
 * access to the pool, except for a moment after the acceptance, or if the device does not disable
 * the access (accept.c). The client sends JOIN, gets a challenge, and proves the key of the
 * session (auth.c). Then the queue joins the session, and the reply proves to the client that the
 * target has the key, too.
 *
 * Ownership
 *
 * A queue that has not joined holds references on its session, its host and the module. A queue
 * that has joined belongs to the session like queue 0. A queue that fails before it has joined
 * is torn down by its abort_work. The teardown of the session first fails the queues that have not
 * joined, and waits until the rings of all failed queues are destroyed.
 *
 * Concurrency
 *
 * The completion handler of the queue handles entries. verify_work verifies the proof after
 * the accept work has ended, and locks the host when the queue joins. q->join_state changes
 * once, by cmpxchg(), so a queue either joins or fails.
 *
 * Errors
 *
 * A refused client gets a JOIN_REPLY with the status. If it has not disconnected within
 * RNBDT_REFUSED_GRACE, the queue fails.
 */

#include <crypto/algapi.h>
#include <linux/completion.h>
#include <linux/configfs.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "../core/auth.h"
#include "../core/ctl.h"
#include "../core/login.h"
#include "../core/mac.h"
#include "../core/ring.h"
#include "../core/ring_resize.h"
#include "../core/ring_send.h"
#include "../core/ring_setup.h"
#include "counters.h"
#include "graph.h"
#include "half_open.h"
#include "join.h"
#include "queue.h"
#include "queue_alloc.h"
#include "queue_budget.h"
#include "rate.h"
#include "session.h"
#include "state.h"
#include "target.h"
#include "timers.h"

/* Send an entry in a frame of its own. Return 0 or a negative errno. */
static int rnbdt_join_post(struct rnbdt_join *join, u16 type, const void *body, u32 bytes)
{
	struct rnbd_ring *ring = &join->q->ring;
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.id = join->id,
		.body = body,
		.bytes = bytes,
	};
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&ring->lock, flags);
	ret = rnbd_ring_post_ctl(ring, &entry);
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}

/**
 * rnbdt_join_begin - handle a JOIN entry
 * @q: queue that has not joined
 * @entry: entry of type RNBD_CTL_JOIN
 *
 * Context: completion handler of @q; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the entry is malformed or not the first entry
 * of the queue.
 */
enum rnbd_proto_err rnbdt_join_begin(struct rnbdt_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdt_join *join = q->join;
	struct rnbd_ctl_challenge wire;
	enum rnbd_proto_err perr;
	u8 uuid[UUID_SIZE];

	if (!join || join->step != RNBDT_JOIN_AWAITS_JOIN)
		return RNBD_PERR_TYPE;
	perr = rnbd_ctl_no_body(entry);
	if (perr)
		return perr;
	join->id = entry->id;
	rnbd_auth_join(&join->text, &join->req);
	get_random_bytes(join->text.target_nonce, sizeof(join->text.target_nonce));
	export_uuid(uuid, &q->session->auth.target_uuid);
	rnbd_encode_challenge(&wire, join->text.target_nonce, uuid);
	WRITE_ONCE(join->step, RNBDT_JOIN_AWAITS_PROOF);
	if (rnbdt_join_post(join, RNBD_CTL_CHALLENGE, &wire, sizeof(wire)))
		rnbdt_join_fail(q);
	return RNBD_PERR_NONE;
}

/**
 * rnbdt_join_proof - handle the answer to the challenge of a queue
 * @q: queue that has not joined
 * @entry: entry of type RNBD_CTL_PROOF
 *
 * Context: completion handler of @q; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the entry is malformed or no challenge is
 * outstanding.
 */
enum rnbd_proto_err rnbdt_join_proof(struct rnbdt_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdt_join *join = q->join;
	enum rnbd_proto_err perr;

	if (!join || join->step != RNBDT_JOIN_AWAITS_PROOF)
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_proof(entry, join->text.client_nonce, join->mac);
	if (perr)
		return perr;
	WRITE_ONCE(join->step, RNBDT_JOIN_VERIFIES);
	queue_work(rnbdt_login_wq, &join->verify_work);
	return RNBD_PERR_NONE;
}

/* Check the proof of the client, and compute the proof of the target into join->mac. */
static u16 rnbdt_join_check_proof(struct rnbdt_join *join)
{
	struct crypto_shash *key = join->q->session->auth.key;
	u8 mac[RNBD_MAC_SIZE];
	u16 status = RNBD_ST_OK;

	rnbd_auth_label(join->text.label, RNBD_LABEL_JOIN);
	if (rnbd_mac(key, &join->text, sizeof(join->text), mac))
		return RNBD_ST_NOMEM;
	if (crypto_memneq(mac, join->mac, sizeof(mac)))
		status = RNBD_ST_AUTH;
	memzero_explicit(mac, sizeof(mac));
	if (status)
		return status;
	rnbd_auth_label(join->text.label, RNBD_LABEL_JOINED);
	if (rnbd_mac(key, &join->text, sizeof(join->text), join->mac))
		return RNBD_ST_NOMEM;
	return RNBD_ST_OK;
}

/* Check whether the queue may join: the session can have changed since the connection request. */
static u16 rnbdt_join_check_session(const struct rnbdt_join *join)
{
	const struct rnbdt_session *s = join->q->session;

	rnbdt_assert_host(s->host);

	if (READ_ONCE(s->state) != RNBDT_LIVE)
		return RNBD_ST_SHUTDOWN;
	if (s->newest_epoch != s->epoch || join->req.attempt <= s->newest_attempt)
		return RNBD_ST_EPOCH;
	return s->queues[join->q->index] ? RNBD_ST_QUEUE : RNBD_ST_OK;
}

/* Prepare a queue for joining, without the host lock: changing a queue pair can take long. */
static u16 rnbdt_join_prepare(struct rnbdt_queue *q)
{
	if (rnbdt_queue_alloc_reqs(q))
		return RNBD_ST_NOMEM;
	return rnbd_ring_enable_remote_access(&q->ring) ? RNBD_ST_DEVICE : RNBD_ST_OK;
}

/* Add a prepared queue to its session, unless the queue has failed. */
static u16 rnbdt_join_take(struct rnbdt_join *join)
{
	struct rnbdt_queue *q = join->q;
	struct rnbdt_session *s = q->session;
	u16 status;

	rnbdt_assert_host(s->host);

	/* Check again, because the host was unlocked after rnbdt_queue_budget_first(). */
	status = rnbdt_join_check_session(join);
	if (status)
		return status;
	rnbd_ring_set_rate_limit(&q->ring, 0);
	rnbd_ring_enable_in(&q->ring, s->granted.depth);
	WRITE_ONCE(q->ring.last_heard, jiffies);
	/*
	 * The queue accepts requests from here on, but is not in s->queues yet: until it is, the
	 * host lock delays rnbdt_lease_free_released(), which scans the requests of s->queues.
	 */
	if (cmpxchg(&q->join_state, RNBDT_JOINING, RNBDT_JOINED) != RNBDT_JOINING)
		return RNBD_ST_SHUTDOWN;
	s->newest_attempt = join->req.attempt;
	list_del(&join->entry);
	rnbdt_half_open_end(&join->half_open);
	s->conn.nr_joins--;
	/* pairs with the acquire in rnbdt_session_stats() */
	smp_store_release(&s->queues[q->index], q);
	return RNBD_ST_OK;
}

/* Add a queue to its session after its client has proven the key. Locks the host. */
static u16 rnbdt_join_admit(struct rnbdt_join *join)
{
	struct rnbdt_host *host = join->half_open.host;
	u16 status;

	rnbdt_host_lock(host);
	status = rnbdt_join_check_session(join) ?: rnbdt_queue_budget_first(join->q, 1, false);
	rnbdt_host_unlock(host);
	if (status)
		return status;

	status = rnbdt_join_prepare(join->q);
	rnbdt_host_lock(host);
	if (!status)
		status = rnbdt_join_take(join);
	if (status)
		rnbdt_queue_budget_remove(join->q);
	rnbdt_host_unlock(host);
	return status;
}

/* Drop the references of a queue that has joined or whose teardown has ended. */
static void rnbdt_join_put(struct rnbdt_session *s, struct rnbdt_host *host)
{
	rnbdt_session_put(s);
	config_item_put(&host->group.cg_item);
	/* The module stays until this work item returns: rnbdt_exit() destroys the work queue. */
	module_put(THIS_MODULE);
}

static void rnbdt_join_verify_work(struct work_struct *work)
{
	struct rnbdt_join *join = container_of(work, struct rnbdt_join, verify_work);
	struct rnbdt_host *host = join->half_open.host;
	struct rnbdt_session *s = join->q->session;
	struct rnbd_join_info info = { };
	unsigned int noio = memalloc_noio_save();
	struct rnbd_ctl_join_reply wire;

	/* Wait: otherwise the accept work could disable the remote access that is enabled below. */
	wait_for_completion(&join->q->accept.ended);
	info.status = rnbdt_join_check_proof(join);
	if (info.status == RNBD_ST_AUTH)
		atomic64_inc(&host->authentication_failures);
	if (!info.status)
		info.status = rnbdt_join_admit(join);
	info.retry_ms = rnbdt_rate_join_retry_ms(info.status);
	memcpy(info.mac, join->mac, sizeof(info.mac));
	rnbd_encode_join_reply(&wire, &info);
	if (info.status) {
		rnbdt_count(RNBDT_COUNT_REFUSED, info.status);
		WRITE_ONCE(join->step, RNBDT_JOIN_REFUSED);
		mod_delayed_work(rnbdt_timer_wq, &join->expire_work, RNBDT_REFUSED_GRACE);
	}
	if (rnbdt_join_post(join, RNBD_CTL_JOIN_REPLY, &wire, sizeof(wire)) &&
	    !rnbdt_join_fail(join->q))
		rnbdt_session_close(s, "the join reply could not be sent");
	if (!info.status) {
		rnbd_ring_enable_out(&join->q->ring, 0);
		cancel_delayed_work(&join->expire_work);
		wake_up(&s->conn.wait);
		rnbdt_join_put(s, host);
	}
	memalloc_noio_restore(noio);
}

static void rnbdt_join_expire(struct work_struct *work)
{
	struct rnbdt_join *join = container_of(to_delayed_work(work), struct rnbdt_join,
					       expire_work);

	if (rnbdt_queue_joined(join->q))
		return;
	if (READ_ONCE(join->step) != RNBDT_JOIN_REFUSED)
		rnbdt_count(RNBDT_COUNT_LIMITS, RNBDT_LIMIT_LOGIN_TIME);
	rnbdt_join_fail(join->q);
}

/* End the teardown of a queue. rdma_destroy_id() can take a minute. */
static void rnbdt_join_destroy_work(struct work_struct *work)
{
	struct rnbdt_join *join = container_of(work, struct rnbdt_join, destroy_work);
	struct rnbdt_host *host = join->half_open.host;
	struct rnbdt_session *s = join->q->session;

	rdma_destroy_id(join->q->cm_id);
	rnbdt_half_open_gone(&join->half_open);
	rnbdt_queue_free(join->q);
	rnbdt_join_put(s, host);
}

static void rnbdt_join_abort_work(struct work_struct *work)
{
	struct rnbdt_join *join = container_of(work, struct rnbdt_join, abort_work);
	struct rnbdt_queue *q = join->q;
	struct rnbdt_session *s = q->session;
	struct rnbdt_host *host = join->half_open.host;

	/*
	 * Wait for the connection handler: it holds the host lock until it has queued
	 * expire_work.
	 */
	rnbdt_host_lock(host);
	rnbdt_host_unlock(host);
	/* Wait for the accept work, which s->conn.connecting counts. */
	wait_event(s->conn.wait, !READ_ONCE(s->conn.connecting));
	/* Lock the host again to see everything that the accept work has written. */
	rnbdt_host_lock(host);
	rnbdt_host_unlock(host);
	rnbdt_queue_stop(q);
	rnbd_ring_drain(&q->ring);
	/* No frame arrives any longer, so verify_work is not queued again. */
	cancel_work_sync(&join->verify_work);
	cancel_delayed_work_sync(&join->expire_work);
	rnbd_ring_destroy(&q->ring);

	rnbdt_half_open_freed(&join->half_open, false);
	rnbdt_host_lock(host);
	list_del(&join->entry);
	s->conn.nr_joins--;
	rnbdt_host_unlock(host);
	/* The session still exists here: the queue holds a reference. */
	wake_up(&s->conn.wait);
	queue_work(rnbdt_linger_wq, &join->destroy_work);
}

/**
 * rnbdt_join_alloc - prepare a new queue that must join its session
 * @q: queue other than 0, without a ring
 * @req: connection request of the queue
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_join_alloc(struct rnbdt_queue *q, const struct rnbd_conn_req *req)
{
	struct rnbdt_join *join = kzalloc(sizeof(*join), GFP_KERNEL);

	if (!join)
		return -ENOMEM;
	join->q = q;
	join->req = *req;
	join->half_open.queue = q;
	INIT_WORK(&join->verify_work, rnbdt_join_verify_work);
	INIT_DELAYED_WORK(&join->expire_work, rnbdt_join_expire);
	INIT_WORK(&join->abort_work, rnbdt_join_abort_work);
	INIT_WORK(&join->destroy_work, rnbdt_join_destroy_work);
	q->join = join;
	q->join_state = RNBDT_JOINING;
	return 0;
}

/**
 * rnbdt_join_opened - count a joining queue as half-open, and start its timeout
 * @q: queue after rnbdt_join_alloc(), of a live session
 * @peer: source address of the connection request
 *
 * From here on the queue either joins the session, or its abort_work tears it down.
 *
 * Context: process context, host of the session locked since rnbdt_limits_connect().
 */
void rnbdt_join_opened(struct rnbdt_queue *q, const struct sockaddr_storage *peer)
{
	struct rnbdt_session *s = q->session;
	struct rnbdt_join *join = q->join;

	rnbdt_assert_host(s->host);

	/* The live session holds references on the host and the module, so both still exist. */
	__module_get(THIS_MODULE);
	config_item_get(&s->host->group.cg_item);
	kref_get(&s->ref);
	list_add_tail(&join->entry, &s->conn.joins);
	s->conn.nr_joins++;
	rnbdt_limits_opened(&join->half_open, s->host, peer);
	queue_delayed_work(rnbdt_timer_wq, &join->expire_work, rnbdt_login_timeout());
}
