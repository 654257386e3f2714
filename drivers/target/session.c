// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: from the first connection request to the last freed page.
 *
 * Operation
 *
 * A connection request for queue 0 makes a session, after the host was found
 * to be allowed; its first frame is the login. If the host has a secret, a proof
 * follows that the client knows it, see auth.c. A work item answers the login with
 * a pool and the properties of the export. Then the session is live, and the
 * client connects its other queues. A client that only asks what it may attach
 * is answered by discover.c and goes.
 *
 * Anything that ends a session (the peer, the device, a broken rule, the
 * administrator) calls rnbdt_session_close(). The first call moves the state
 * to closing and queues the teardown, which is the only place that takes
 * things apart: it waits for handlers that are adding a queue, stops and
 * drains all queue pairs, waits for the backend without a limit of time, and
 * then frees everything that the device or the backend could have touched.
 *
 * Ownership
 *
 * A connection id belongs to its session as soon as the queue is in
 * s->queues; from then on its handler returns 0 and the teardown destroys it.
 * Before, the handler's error return makes the connection manager destroy it.
 * A session in rnbdt_sessions keeps its host, port and export: removing one of
 * those ends its sessions and waits for them (rnbdt_sessions_end).
 *
 * Concurrency
 *
 * s->state is under s->state_lock, which may be taken in any context. Requests
 * read it without: see rnbdt_may_submit(). Listeners hear of a change from a
 * work item, see netlink.c. The list and the accounts are under
 * rnbdt_lock. The teardown starts when s->connecting is zero; a handler raises
 * it under rnbdt_lock only after it found the session not to be closing.
 *
 * Errors
 *
 * A refused connection gets a reject with the reason, a refused login a reply
 * with the status and some time to read it.
 *
 * A host that is let in at all learns nothing about exports that it may not
 * use: they answer RNBD_ST_NO_EXPORT whether they exist or not, like its own
 * while they are disabled. RNBD_ST_HOST_DENIED is for hosts that may use
 * nothing on the port, enabled or not, and comes with the reject.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/math64.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "target.h"
#include "trace.h"

/* Smallest max_io that a client is given in order to fit into the limits. */
#define RNBDT_MIN_IO		(64u << 10)

LIST_HEAD(rnbdt_sessions);		/* rnbdt_lock */
static u32 rnbdt_next_serial;		/* rnbdt_lock */

static const char * const rnbdt_state_names[] = {
	[RNBDT_CONNECTING]	= "connecting",
	[RNBDT_PROVING]		= "proving",
	[RNBDT_LOGIN]		= "login",
	[RNBDT_REFUSED]		= "refused",
	[RNBDT_LISTING]		= "listing",
	[RNBDT_LIVE]		= "live",
	[RNBDT_CLOSING]		= "closing",
	[RNBDT_DEAD]		= "dead",
};

/* States that may follow a state. */
static const u8 rnbdt_state_next[] = {
	[RNBDT_CONNECTING]	= BIT(RNBDT_PROVING) | BIT(RNBDT_LOGIN) |
				  BIT(RNBDT_CLOSING),
	[RNBDT_PROVING]		= BIT(RNBDT_LOGIN) | BIT(RNBDT_CLOSING),
	[RNBDT_LOGIN]		= BIT(RNBDT_REFUSED) | BIT(RNBDT_LISTING) |
				  BIT(RNBDT_LIVE) | BIT(RNBDT_CLOSING),
	[RNBDT_REFUSED]		= BIT(RNBDT_CLOSING),
	[RNBDT_LISTING]		= BIT(RNBDT_CLOSING),
	[RNBDT_LIVE]		= BIT(RNBDT_CLOSING),
	[RNBDT_CLOSING]		= BIT(RNBDT_DEAD),
	[RNBDT_DEAD]		= 0,
};

/**
 * rnbdt_state_text - name of a state, as netlink and traces show it
 * @state: state
 */
const char *rnbdt_state_text(enum rnbd_tstate state)
{
	return rnbdt_state_names[state];
}

/**
 * rnbdt_session_export - what the client asks for
 * @s: session
 *
 * The name out of its login, which nothing can take away from the session.
 *
 * Context: s->state_lock held.
 * Return: name of an export, which need not be there; "" before the login.
 */
const char *rnbdt_session_export(const struct rnbd_tsession *s)
{
	return s->has_login ? s->login.export : "";
}

/*
 * The only place that changes the state of a session. @why is a constant text,
 * or NULL if there is nothing to add.
 */
static bool rnbdt_session_set_state(struct rnbd_tsession *s, enum rnbd_tstate to,
				    const char *why)
{
	enum rnbd_tstate from = s->state;

	lockdep_assert_held(&s->state_lock);

	if (!(rnbdt_state_next[from] & BIT(to)))
		return false;
	if (why)
		s->why = why;
	if (to == RNBDT_PROVING || to == RNBDT_LOGIN)
		s->has_login = true;
	if (to == RNBDT_LIVE)
		s->live_at = ktime_get_boottime_seconds();
	if (to == RNBDT_CLOSING)
		WRITE_ONCE(s->closing_since, jiffies);
	/* Whoever sees it live sees all that was set up for it. */
	smp_store_release(&s->state, to);
	trace_rnbdt_state(s, from);
	rnbdt_netlink_tell(s, from);
	return true;
}

/*
 * Change the state if it is what the caller thinks. Returns whether it was
 * changed.
 */
static bool rnbdt_session_advance(struct rnbd_tsession *s, enum rnbd_tstate from,
				  enum rnbd_tstate to, const char *why)
{
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&s->state_lock, flags);
	ret = s->state == from && rnbdt_session_set_state(s, to, why);
	spin_unlock_irqrestore(&s->state_lock, flags);
	return ret;
}

/**
 * rnbdt_session_close - end a session
 * @s: session
 * @why: constant text for people; that of the first call counts
 *
 * Returns at once; s->gone completes when nothing is left.
 *
 * Context: any.
 */
void rnbdt_session_close(struct rnbd_tsession *s, const char *why)
{
	unsigned long flags;

	spin_lock_irqsave(&s->state_lock, flags);
	if (rnbdt_session_set_state(s, RNBDT_CLOSING, why))
		queue_work(s->live_at ? rnbdt_teardown_wq : rnbdt_hangup_wq,
			   &s->teardown_work);
	spin_unlock_irqrestore(&s->state_lock, flags);
}

/**
 * rnbdt_may_submit - is the session still the one that may touch the data
 * @treq: request that is about to be handed to the storage
 *
 * Asked directly before that: whatever the session was when the request came,
 * a write of a closed session or an old epoch must not reach the disk after a
 * newer one. What is dropped gets no reply: the connection may still carry one,
 * and an error there would be the last word on that request.
 *
 * Context: process context.
 */
bool rnbdt_may_submit(struct rnbd_treq *treq)
{
	struct rnbd_tsession *s = treq->queue->session;
	bool write = treq->req.op == RNBD_OP_WRITE;

	if (write)
		rnbd_inject_delay(&rnbdt_inject_delay_submit);
	if (unlikely(READ_ONCE(s->state) != RNBDT_LIVE ||
		     READ_ONCE(s->newest_epoch) != s->epoch) &&
	    !rnbd_inject(&rnbdt_inject_no_epoch_check, NULL)) {
		pr_debug("session %u: stale request dropped\n", s->serial);
		atomic64_inc(&s->export->stale_requests);
		treq->stale = true;
		return false;
	}
	if (write)
		rnbd_inject_delay(&rnbdt_inject_delay_bio);
	return true;
}

static void rnbdt_session_release(struct kref *ref)
{
	struct rnbd_tsession *s = container_of(ref, struct rnbd_tsession, ref);

	kfree(s->port_name);
	kfree(s);
}

/**
 * rnbdt_session_put - drop a reference
 * @s: session
 *
 * Context: any.
 */
void rnbdt_session_put(struct rnbd_tsession *s)
{
	kref_put(&s->ref, rnbdt_session_release);
}

static void rnbdt_stats_add(struct rnbd_tstats *sum, struct rnbd_tqueue *q)
{
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	sum->requests += q->stats.requests;
	sum->read_bytes += q->stats.read_bytes;
	sum->write_bytes += q->stats.write_bytes;
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdt_session_stats - what was done for a client so far
 * @s: session
 * @sum: filled
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_session_stats(struct rnbd_tsession *s, struct rnbd_tstats *sum)
{
	u32 i;

	lockdep_assert_held(&rnbdt_lock);

	*sum = s->ended;
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbdt_stats_add(sum, s->queues[i]);
}

/* Old messages of a session may still be on their way when it has gone. */
static void rnbdt_host_remember(const struct rnbd_tsession *s)
{
	struct rnbd_thost *host = s->host;
	u32 i;

	lockdep_assert_held(&rnbdt_lock);

	/* Anybody can name a session and a high epoch. */
	if (!s->proven)
		return;
	for (i = 0; i < RNBDT_HOST_EPOCHS; i++)
		if (uuid_equal(&host->epochs[i].session_id, &s->session_id))
			break;
	if (i == RNBDT_HOST_EPOCHS) {
		/* One that was never live has left nothing that could be late. */
		if (!s->live_at)
			return;
		i = host->next_epoch;
		host->next_epoch = (i + 1) % RNBDT_HOST_EPOCHS;
	}
	if (!uuid_equal(&host->epochs[i].session_id, &s->session_id)) {
		host->epochs[i].session_id = s->session_id;
		host->epochs[i].epoch = 0;
	}
	/* One that was refused may end before the one that it was to replace. */
	host->epochs[i].epoch = max(host->epochs[i].epoch, s->newest_epoch);
}

static bool rnbdt_host_knows_newer(const struct rnbd_thost *host,
				   const struct rnbd_conn_req *req)
{
	u32 i;

	lockdep_assert_held(&rnbdt_lock);

	for (i = 0; i < RNBDT_HOST_EPOCHS; i++)
		if (!memcmp(&host->epochs[i].session_id, req->session_id,
			    sizeof(req->session_id)))
			return req->epoch <= host->epochs[i].epoch;
	return false;
}

/* From the login on: making the pool may take long, and the client waits for it. */
static void rnbdt_session_keepalive(struct work_struct *work)
{
	struct rnbd_tsession *s = container_of(to_delayed_work(work),
					       struct rnbd_tsession,
					       keepalive_work);
	enum rnbd_tstate state = READ_ONCE(s->state);
	u32 i, interval_ms = RNBD_LOGIN_KEEPALIVE_MS;

	if (state == RNBDT_LIVE)
		interval_ms = s->login.keepalive_ms;
	else if (state != RNBDT_PROVING && state != RNBDT_LOGIN &&
		 state != RNBDT_LISTING)
		return;
	mutex_lock(&rnbdt_lock);
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbd_ring_keepalive(&s->queues[i]->ring, interval_ms);
	mutex_unlock(&rnbdt_lock);
	queue_delayed_work(rnbdt_timer_wq, &s->keepalive_work,
			   msecs_to_jiffies(interval_ms) / 2);
}

/*
 * Have the client told of the size of the export, if that is news to it, and not
 * too often. Called under rnbdt_lock.
 */
static void rnbdt_session_resize(struct rnbd_tsession *s)
{
	unsigned long next = s->told_at + RNBDT_RESIZE_PAUSE;

	lockdep_assert_held(&rnbdt_lock);

	if (!s->told || s->told == s->backend->capacity ||
	    !(s->login.features & RNBD_FEATURE_RESIZE) ||
	    READ_ONCE(s->state) != RNBDT_LIVE)
		return;
	queue_delayed_work(rnbdt_timer_wq, &s->resize_work,
			   time_before(jiffies, next) ? next - jiffies : 0);
}

static void rnbdt_session_resize_work(struct work_struct *work)
{
	struct rnbd_tsession *s = container_of(to_delayed_work(work),
					       struct rnbd_tsession, resize_work);
	u64 capacity;

	mutex_lock(&rnbdt_lock);
	capacity = s->backend->capacity;
	if (capacity != s->told && READ_ONCE(s->state) == RNBDT_LIVE) {
		/* As soon as the client knows, there may be requests for it. */
		if (capacity > s->limits.capacity)
			WRITE_ONCE(s->limits.capacity, capacity);
		s->told = capacity;
		s->told_at = jiffies;
		rnbdt_queue_resize(s->queues[0], capacity);
	}
	mutex_unlock(&rnbdt_lock);
}

/**
 * rnbdt_sessions_resize - an export has another size
 * @export: export
 *
 * Context: rnbdt_lock held.
 */
void rnbdt_sessions_resize(const struct rnbd_texport *export)
{
	struct rnbd_tsession *s;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (s->export == export)
			rnbdt_session_resize(s);
}

/* The teardown's last word on a queue that has no ring any more. */
static void rnbdt_session_drop_queue(struct rnbd_tsession *s, u32 index)
{
	struct rnbd_tqueue *q = s->queues[index];

	mutex_lock(&rnbdt_lock);
	rnbdt_stats_add(&s->ended, q);
	if (s->export)
		atomic64_add(q->ring.stats.late_frames, &s->export->stale_frames);
	s->queues[index] = NULL;
	mutex_unlock(&rnbdt_lock);

	rdma_destroy_id(q->cm_id);
	rnbdt_queue_free(q);
}

/* The end of the teardown. The connection manager may keep an id for a minute. */
static void rnbdt_session_leave(struct rnbd_tsession *s)
{
	u32 i;

	/* The device may be gone once its last id is destroyed. */
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbdt_session_drop_queue(s, i);

	mutex_lock(&rnbdt_lock);
	rnbdt_host_remember(s);
	rnbdt_limits_gone(s);
	list_del(&s->entry);
	rnbdt_session_advance(s, RNBDT_CLOSING, RNBDT_DEAD, NULL);
	mutex_unlock(&rnbdt_lock);

	rnbdt_secret_put(s->secret);
	rnbdt_sysfs_remove_session(s);
	complete_all(&s->gone);
	rnbdt_session_put(s);
}

static void rnbdt_session_linger(struct work_struct *work)
{
	rnbd_inject_delay(&rnbdt_inject_delay_linger);
	rnbdt_session_leave(container_of(work, struct rnbd_tsession, linger_work));
}

static void rnbdt_session_teardown(struct work_struct *work)
{
	struct rnbd_tsession *s = container_of(work, struct rnbd_tsession,
					       teardown_work);
	u32 i;

	/* A handler that came before the state changed has raised it by now. */
	mutex_lock(&rnbdt_lock);
	mutex_unlock(&rnbdt_lock);
	wait_event(s->wait, !READ_ONCE(s->connecting));
	/* And with the lock once more, all that it has written is seen. */
	mutex_lock(&rnbdt_lock);
	mutex_unlock(&rnbdt_lock);

	/* Whoever cannot log in must not be able to fill the log either. */
	if (s->live_at)
		pr_info("session %u: host %pUb on port %s: %s\n", s->serial,
			&s->host_id, rnbdt_port_name(s->port), s->why);
	else
		pr_info_ratelimited("session %u: host %pUb on port %s: %s\n",
				    s->serial, &s->host_id,
				    rnbdt_port_name(s->port), s->why);

	rnbd_inject_delay(&rnbdt_inject_delay_close);
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbdt_queue_stop(s->queues[i]);
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbd_ring_drain(&s->queues[i]->ring);

	/* No frame comes any more and it is closing: none is queued again. */
	cancel_work_sync(&s->login_work);
	cancel_delayed_work_sync(&s->timeout_work);
	cancel_delayed_work_sync(&s->keepalive_work);
	cancel_delayed_work_sync(&s->resize_work);

	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbdt_queue_wait_idle(s->queues[i]);
	for (i = 0; i < RNBD_QUEUES_MAX; i++)
		if (s->queues[i])
			rnbd_ring_destroy(&s->queues[i]->ring);
	rnbdt_pool_free(&s->pool);
	if (s->pd)
		ib_dealloc_pd(s->pd);

	/* All that costs memory has gone; what is left may take its time. */
	mutex_lock(&rnbdt_lock);
	rnbdt_limits_freed(s);
	complete_all(&s->drained);
	mutex_unlock(&rnbdt_lock);
	if (s->live_at)
		rnbdt_session_leave(s);
	else
		queue_work(rnbdt_linger_wq, &s->linger_work);
}

static void rnbdt_session_timeout(struct work_struct *work)
{
	struct rnbd_tsession *s = container_of(to_delayed_work(work),
					       struct rnbd_tsession,
					       timeout_work);

	switch (READ_ONCE(s->state)) {
	case RNBDT_CONNECTING:
		rnbdt_count(RNBDT_COUNT_LIMITS, RNBDT_LIMIT_LOGIN_TIME);
		rnbdt_session_close(s, "no login in time");
		break;
	case RNBDT_PROVING:
		rnbdt_count(RNBDT_COUNT_LIMITS, RNBDT_LIMIT_LOGIN_TIME);
		rnbdt_session_close(s, "no proof in time");
		break;
	case RNBDT_REFUSED:
		rnbdt_session_close(s, "login refused");
		break;
	case RNBDT_LISTING:
		rnbdt_session_close(s, "the client did not go after its list of exports");
		break;
	default:
		break;
	}
}

/**
 * rnbdt_session_refusal_sent - the client has the refusal of its login
 * @s: session
 *
 * Context: any.
 */
void rnbdt_session_refusal_sent(struct rnbd_tsession *s)
{
	mod_delayed_work(rnbdt_timer_wq, &s->timeout_work, RNBDT_REFUSED_GRACE);
}

/* ------------------------------------------------------------------------
 * Login
 */

static void rnbdt_session_outlived(struct rnbd_tsession *old,
				   const struct rnbd_tsession *s)
{
	if (old->state == RNBDT_LIVE &&
	    !rnbdt_same_address(&old->peer, &s->peer))
		pr_warn_ratelimited("host %pUb now comes from %pISc, not from %pISc: if these are two machines, give one of them another host id\n",
				    &s->host_id, &s->peer, &old->peer);
	rnbdt_session_close(old, "the client has been started anew");
}

/*
 * What the host had before its client module started anew is of no use to it.
 * Returns whether some of that, or of a session that closes anyway, is left on
 * the export of @s: old writes must not land after new ones.
 */
static bool rnbdt_sessions_outlived(const struct rnbd_tsession *s)
{
	struct rnbd_tsession *old;
	bool some = false;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry(old, &rnbdt_sessions, entry) {
		/* pairs with the release in rnbdt_session_set_state() */
		enum rnbd_tstate state = smp_load_acquire(&old->state);

		/* Only who was live has sent requests. */
		if (old->host != s->host || state < RNBDT_LIVE || !old->live_at)
			continue;
		if (memcmp(old->login.boot_id, s->login.boot_id,
			   sizeof(s->login.boot_id)))
			rnbdt_session_outlived(old, s);
		else if (state == RNBDT_LIVE ||
			 rnbd_inject(&rnbdt_inject_no_drain, NULL))
			continue;
		some |= old->export == s->export;
	}
	return some;
}

static u16 rnbdt_login_bind(struct rnbd_tsession *s)
{
	struct rnbd_texport *export;
	u16 status;

	mutex_lock(&rnbdt_lock);
	status = rnbdt_fence_check(s);
	export = rnbdt_port_find_export(s->port, s->host, s->login.export);
	if (!status && !export)
		status = RNBD_ST_NO_EXPORT;
	if (!status) {
		s->fence_generation = s->host->fence.generation;
		s->export = export;
		s->backend = export->backend;
		/* Cheap, so whoever attaches need not be told later. */
		rnbdt_export_look(export);
		status = rnbdt_sessions_outlived(s) ? RNBD_ST_BUSY :
						      rnbdt_limits_login(s);
	}
	if (!status)
		rnbdt_fence_let_in(s);
	mutex_unlock(&rnbdt_lock);
	return status;
}

/* Cut the wishes to the limits, and take the pool out of the accounts. */
static u16 rnbdt_login_negotiate(struct rnbd_tsession *s, u32 segment_units)
{
	const struct rnbd_login_info *wish = &s->login;
	u32 slot_size = s->queues[0]->ring.attr.slot_size;
	u32 floor, queues;
	u64 bytes;
	u16 status;

	bytes = (u64)rnbd_max_segments(slot_size) * segment_units;
	bytes = min_t(u64, bytes, RNBD_POOL_UNITS_MAX) * RNBD_UNIT_SIZE;
	bytes = min(bytes, wish->pool_bytes);

	mutex_lock(&rnbdt_lock);
	status = rnbdt_limits_pool(s, &bytes);
	if (status)
		goto unlock;
	bytes = round_down(bytes, RNBD_UNIT_SIZE);

	/*
	 * The share of a queue has to hold one request. A client that asks for
	 * a tiny pool gets small requests; one that wants more than there is
	 * gets fewer queues rather than requests below RNBDT_MIN_IO.
	 */
	s->max_io = min(wish->max_io, rnbdt_max_io());
	/* Extents do not cross segments, and begin in the middle of one. */
	s->max_io = min_t(u64, s->max_io, (u64)segment_units * RNBD_UNIT_SIZE *
					  (RNBD_EXTENTS_MAX - 1));
	floor = min(s->max_io, RNBDT_MIN_IO);
	if (wish->pool_bytes < floor)
		floor = RNBD_UNIT_SIZE;
	if (bytes < floor) {
		status = RNBD_ST_POOL_FULL;
		goto unlock;
	}
	queues = rnbdt_limits_queues(wish->nr_queues);
	s->nr_queues = min_t(u64, queues, div_u64(bytes, floor));
	s->depth = wish->queue_depth;
	s->max_io = min_t(u64, s->max_io, round_down(div_u64(bytes, s->nr_queues),
						     RNBD_UNIT_SIZE));
	status = rnbdt_limits_take_pool(s, bytes);
unlock:
	mutex_unlock(&rnbdt_lock);
	return status;
}

/* Inline data has to fit a slot, and the device puts them and the entries together. */
static u32 rnbdt_login_inline(const struct rnbd_tsession *s, u32 wish)
{
	u32 slot_size = s->queues[0]->ring.attr.slot_size;

	if (s->dev->attrs.max_send_sge < 2)
		return 0;
	return min3(wish, s->max_io, slot_size - RNBD_RING_DATA_AT);
}

static u16 rnbdt_login_set_up(struct rnbd_tsession *s)
{
	u32 segment_units = rnbdt_pool_segment_units(s->dev);
	u16 status;
	int ret;

	rnbd_inject_delay(&rnbdt_inject_delay_login);
	status = rnbdt_login_bind(s);
	if (status)
		return status;
	s->readonly = s->backend->readonly ||
		      (s->login.flags & RNBD_LOGIN_READONLY);
	if (!segment_units)
		return RNBD_ST_DEVICE;
	status = rnbdt_login_negotiate(s, segment_units);
	if (status)
		return status;
	if (rnbdt_queue_alloc_treqs(s->queues[0]))
		return RNBD_ST_NOMEM;

	ret = rnbdt_pool_alloc(s, s->pool_bytes >> RNBD_UNIT_SHIFT, segment_units);
	if (!ret)
		ret = rnbdt_pool_register(s);
	if (ret) {
		if (READ_ONCE(s->state) == RNBDT_LOGIN)
			pr_err("session %u: pool of %llu bytes on %s: error %d\n",
			       s->serial, s->pool_bytes, s->dev->name, ret);
		return ret == -ENOMEM ? RNBD_ST_POOL_FULL : RNBD_ST_DEVICE;
	}

	s->limits = (struct rnbd_limits) {
		.capacity = READ_ONCE(s->backend->capacity),
		.block_mask = s->backend->logical_block - 1,
		.max_io = s->max_io,
		.max_discard = s->backend->max_discard,
		.max_write_zeroes = s->backend->max_write_zeroes,
		.pool_units = s->pool.units,
		.segment_units = s->pool.segment_units,
		.depth = s->depth,
		.inline_read = rnbdt_login_inline(s, s->login.inline_read),
		.inline_write = rnbdt_login_inline(s, s->login.inline_write),
	};
	return RNBD_ST_OK;
}

static void rnbdt_login_fill_grant(struct rnbd_tsession *s,
				   struct rnbd_grant *grant)
{
	const struct rnbd_tbackend *be = s->backend;

	grant->nr_queues = s->nr_queues;
	grant->queue_depth = s->depth;
	grant->features = s->login.features & RNBD_FEATURES;
	grant->capacity = s->limits.capacity;
	grant->max_io = s->max_io;
	grant->flags = be->flags;
	if (s->readonly)
		grant->flags |= RNBD_EXPORT_READONLY;
	grant->logical_block = be->logical_block;
	grant->physical_block = be->physical_block;
	grant->io_min = be->io_min;
	grant->io_opt = be->io_opt;
	grant->discard_granularity = be->discard_granularity;
	grant->discard_alignment = be->discard_alignment;
	grant->max_discard = be->max_discard;
	grant->max_write_zeroes = be->max_write_zeroes;
	grant->pool_units = s->pool.units;
	grant->segment_units = s->pool.segment_units;
	grant->nr_segments = s->pool.nr_segments;
	grant->keepalive_ms = s->login.keepalive_ms;
	memcpy(grant->incarnation, s->export->incarnation,
	       sizeof(grant->incarnation));
	export_uuid(grant->export_uuid, &s->export->uuid);
	grant->inline_read = s->limits.inline_read;
	grant->inline_write = s->limits.inline_write;
	grant->fence_generation = s->fence_generation;
}

/* Called under ring->lock. */
static int rnbdt_login_send_reply(struct rnbd_tsession *s,
				  const struct rnbd_grant *grant)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	void *room;
	u32 i;

	if (!rnbd_ring_open(ring, RNBD_FRAME_LOGIN_REPLY))
		return -ENOTCONN;
	/* From now on the interval granted counts, which may be shorter. */
	ring->last_heard = jiffies;
	room = rnbd_ring_add(ring, sizeof(struct rnbd_login_reply), 1);
	rnbd_encode_grant(room, grant);
	for (i = 0; i < grant->nr_segments; i++) {
		const struct rnbd_tsegment *seg = &s->pool.segments[i];
		struct rnbd_segment_info info = {
			.addr = seg->mr->iova,
			.rkey = seg->mr->rkey,
			.units = seg->units,
		};

		/* rnbdt_login_negotiate() has seen to it that there is room. */
		room = rnbd_ring_add(ring, sizeof(struct rnbd_segment), 1);
		rnbd_encode_segment(room, &info);
	}
	return rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}

/* From here on the timeout is not that of a login any more. */
static void rnbdt_login_begin_list(struct rnbd_tsession *s, u16 status)
{
	rnbd_inject_delay(&rnbdt_inject_delay_login);
	if (status)
		pr_warn_ratelimited("session %u: host %pUb: list of exports on port %s refused: %s\n",
				    s->serial, &s->host_id, rnbdt_port_name(s->port),
				    rnbd_status_text(status));
	mutex_lock(&rnbdt_lock);
	if (!status)
		status = rnbdt_fence_check(s);
	if (!status)
		status = rnbdt_limits_list(s);
	s->list_status = status;
	if (status)
		rnbdt_count(RNBDT_COUNT_REFUSED, status);
	else
		rnbd_ring_pace(&s->queues[0]->ring, 0);
	mod_delayed_work(rnbdt_timer_wq, &s->timeout_work,
			 s->list_status ? RNBDT_LEAVE_TIMEOUT : RNBDT_LISTING_TIMEOUT);
	rnbdt_session_advance(s, RNBDT_LOGIN, RNBDT_LISTING, NULL);
	mutex_unlock(&rnbdt_lock);
}

/*
 * The session exists already: a late request of an old epoch, or the client
 * has given up the old connection and comes again.
 */
static u16 rnbdt_session_again(struct rnbd_tsession *old, u32 epoch, bool proven)
{
	if (epoch <= old->epoch || epoch < old->newest_epoch)
		return RNBD_ST_EPOCH;
	/* Anybody can say this; the client is told after its proof. */
	if (!proven && READ_ONCE(old->state) < RNBDT_CLOSING)
		return RNBD_ST_OK;
	if (proven) {
		WRITE_ONCE(old->newest_epoch, epoch);
		rnbdt_session_close(old, "the client has begun a newer epoch");
	}
	/* One that was never live, and cannot be any more, has left nothing that could be late. */
	if (smp_load_acquire(&old->state) >= RNBDT_CLOSING && !old->live_at)
		return RNBD_ST_OK;
	return rnbd_inject(&rnbdt_inject_no_drain, NULL) ? RNBD_ST_OK : RNBD_ST_BUSY;
}

/*
 * Is this the newest that a host says of an attachment, and is nothing left of older
 * ones? @s is the session that it says it by, if there is one already. What was
 * not proven neither counts nor changes anything.
 */
static u16 rnbdt_session_first(struct rnbd_thost *host, const struct rnbd_conn_req *req,
			       const struct rnbd_tsession *s)
{
	bool proven = s ? s->proven : !host->secret;
	struct rnbd_tsession *old;
	u16 again, status = RNBD_ST_OK;

	lockdep_assert_held(&rnbdt_lock);

	if (rnbdt_host_knows_newer(host, req))
		return RNBD_ST_EPOCH;

	list_for_each_entry(old, &rnbdt_sessions, entry) {
		if (old == s || old->host != host || !old->proven ||
		    memcmp(&old->session_id, req->session_id, sizeof(req->session_id)))
			continue;
		again = rnbdt_session_again(old, req->epoch, proven);
		if (again == RNBD_ST_EPOCH)
			return again;
		if (again)
			status = again;
	}
	return status;
}

/*
 * The client's proof, if its host has a secret: nothing is done for it before. Then
 * what its connection request could not be told yet.
 */
static u16 rnbdt_login_proof(struct rnbd_tsession *s)
{
	u16 status;

	if (!s->secret)
		return RNBD_ST_OK;
	status = rnbdt_auth_check(s);
	if (status) {
		if (status == RNBD_ST_AUTH)
			atomic64_inc(&s->host->failed_proofs);
		return status;
	}
	if (rnbdt_auth_prove(s)) {
		rnbdt_session_close(s, "the proof could not be sent");
		return RNBD_ST_SHUTDOWN;
	}

	mutex_lock(&rnbdt_lock);
	s->proven = true;
	status = rnbdt_session_first(s->host, &s->req, s);
	mutex_unlock(&rnbdt_lock);
	return status;
}

static void rnbdt_session_login_work(struct work_struct *work)
{
	struct rnbd_tsession *s = container_of(work, struct rnbd_tsession,
					       login_work);
	struct rnbd_ring *ring = &s->queues[0]->ring;
	enum rnbd_tstate state = READ_ONCE(s->state);
	struct rnbd_grant grant = { };
	unsigned long flags;
	int ret;

	/* Nothing without the proof: neither is it skipped for one that closes. */
	if (state == RNBDT_LOGIN)
		grant.status = rnbdt_login_proof(s);
	else if (state != RNBDT_LISTING)
		return;
	if (s->login.flags & RNBD_LOGIN_DISCOVER) {
		if (READ_ONCE(s->state) == RNBDT_LOGIN)
			rnbdt_login_begin_list(s, grant.status);
		rnbdt_discover_work(s);
		return;
	}
	if (grant.status == RNBD_ST_OK)
		grant.status = rnbdt_login_set_up(s);
	/* If it was closed meanwhile, that has been said, and nobody waits. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN)
		return;
	if (grant.status)
		rnbdt_count(RNBDT_COUNT_REFUSED, grant.status);
	if (grant.status == RNBD_ST_OK) {
		rnbdt_login_fill_grant(s, &grant);
		pr_info("session %u: host %pUb attached export %s: %u queues, depth %u, pool %llu KiB, epoch %u\n",
			s->serial, &s->host_id, rnbdt_export_name(s->export),
			s->nr_queues, s->depth, s->pool_bytes >> 10, s->epoch);
	} else if (grant.status != RNBD_ST_BUSY) {
		pr_warn_ratelimited("session %u: host %pUb: login to export \"%s\" on port %s refused: %s\n",
				    s->serial, &s->host_id, s->login.export,
				    rnbdt_port_name(s->port),
				    rnbd_status_text(grant.status));
	}

	/* What was in time for a login may be late for the interval granted. */
	cancel_delayed_work_sync(&s->keepalive_work);

	/* The client may send requests as soon as the reply is posted. */
	if (grant.status == RNBD_ST_OK) {
		rnbd_ring_pace(ring, 0);
		if (!rnbdt_session_advance(s, RNBDT_LOGIN, RNBDT_LIVE, NULL))
			return;
	} else {
		if (!rnbdt_session_advance(s, RNBDT_LOGIN, RNBDT_REFUSED,
					   rnbd_status_text(grant.status)))
			return;
		mod_delayed_work(rnbdt_timer_wq, &s->timeout_work,
				 RNBDT_LEAVE_TIMEOUT);
	}

	spin_lock_irqsave(&ring->lock, flags);
	ret = rnbdt_login_send_reply(s, &grant);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (ret) {
		rnbdt_session_close(s, "the login reply could not be sent");
		return;
	}
	if (grant.status != RNBD_ST_OK)
		return;
	queue_delayed_work(rnbdt_timer_wq, &s->keepalive_work,
			   msecs_to_jiffies(grant.keepalive_ms) / 2);
	/* From here on it is told of another size, and of one that came meanwhile. */
	mutex_lock(&rnbdt_lock);
	s->told = grant.capacity;
	s->told_at = jiffies - RNBDT_RESIZE_PAUSE;
	rnbdt_session_resize(s);
	mutex_unlock(&rnbdt_lock);
}

/**
 * rnbdt_session_login - the first frame of queue 0
 * @s: session
 * @frame: frame of type RNBD_FRAME_LOGIN
 *
 * Context: completion handler of queue 0.
 * Return: a fault if the frame is malformed or not the first one.
 */
enum rnbd_fault rnbdt_session_login(struct rnbd_tsession *s,
				    const struct rnbd_frame *frame)
{
	enum rnbd_fault fault;

	if (READ_ONCE(s->state) != RNBDT_CONNECTING)
		return READ_ONCE(s->state) < RNBDT_CLOSING ? RNBD_FAULT_TYPE :
							     RNBD_FAULT_NONE;
	fault = rnbd_decode_login(frame, &s->login);
	if (fault)
		return fault;
	if (!rnbdt_session_advance(s, RNBDT_CONNECTING,
				   s->secret ? RNBDT_PROVING : RNBDT_LOGIN, NULL))
		return RNBD_FAULT_NONE;
	queue_delayed_work(rnbdt_timer_wq, &s->keepalive_work,
			   msecs_to_jiffies(RNBD_LOGIN_KEEPALIVE_MS) / 2);
	if (!s->secret)
		queue_work(rnbdt_login_wq, &s->login_work);
	else if (rnbdt_auth_challenge(s))
		rnbdt_session_close(s, "the challenge could not be sent");
	return RNBD_FAULT_NONE;
}

/**
 * rnbdt_session_proof - the answer to the challenge
 * @s: session
 * @frame: frame of type RNBD_FRAME_PROOF
 *
 * Context: completion handler of queue 0.
 * Return: a fault if the frame is malformed or was not asked for.
 */
enum rnbd_fault rnbdt_session_proof(struct rnbd_tsession *s,
				    const struct rnbd_frame *frame)
{
	enum rnbd_fault fault;

	if (READ_ONCE(s->state) != RNBDT_PROVING)
		return READ_ONCE(s->state) < RNBDT_CLOSING ? RNBD_FAULT_TYPE :
							     RNBD_FAULT_NONE;
	fault = rnbdt_auth_take(s, frame);
	if (fault)
		return fault;
	if (rnbdt_session_advance(s, RNBDT_PROVING, RNBDT_LOGIN, NULL))
		queue_work(rnbdt_login_wq, &s->login_work);
	return RNBD_FAULT_NONE;
}

/* ------------------------------------------------------------------------
 * Connections
 */

/* All of these are called under rnbdt_lock. */

static u16 rnbdt_session_admit(struct rnbd_tport *port,
			       const struct rdma_cm_id *id,
			       const struct rnbd_conn_req *req,
			       struct rnbd_thost **host)
{
	uuid_t host_id;
	u16 status;

	if (port->state != RNBDT_PORT_LISTENING)
		return RNBD_ST_SHUTDOWN;
	import_uuid(&host_id, req->host_id);
	*host = rnbdt_host_find(&host_id);
	if (!*host || !rnbdt_port_knows_host(port, *host))
		return RNBD_ST_HOST_DENIED;
	status = rnbdt_limits_host(*host);
	if (status)
		return status;
	/* Whoever has a secret is told that when it was proven. */
	if (!(*host)->secret && !rnbdt_port_find_export(port, *host, NULL))
		return RNBD_ST_NO_EXPORT;
	status = rnbdt_session_first(*host, req, NULL);
	if (status)
		return status;
	return rnbdt_limits_connect(&id->route.addr.dst_addr, req);
}

static struct rnbd_tsession *rnbdt_session_alloc(struct rnbd_tport *port,
						 struct rnbd_thost *host,
						 struct rdma_cm_id *id,
						 const struct rnbd_conn_req *req)
{
	struct rnbd_tsession *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->port_name = kstrdup(rnbdt_port_name(port), GFP_KERNEL);
	if (!s->port_name)
		goto free;
	s->queues[0] = rnbdt_queue_alloc(s, 0, id);
	if (!s->queues[0])
		goto free;
	kref_init(&s->ref);
	s->serial = ++rnbdt_next_serial;
	import_uuid(&s->host_id, req->host_id);
	import_uuid(&s->session_id, req->session_id);
	s->epoch = req->epoch;
	s->newest_epoch = req->epoch;
	s->host = host;
	s->secret = rnbdt_secret_get(host->secret);
	s->proven = !s->secret;
	s->req = *req;
	s->port = port;
	s->peer = id->route.addr.dst_addr;
	s->dev = id->device;
	s->state = RNBDT_CONNECTING;
	spin_lock_init(&s->state_lock);
	init_waitqueue_head(&s->wait);
	init_completion(&s->drained);
	init_completion(&s->gone);
	init_completion(&s->reg_done);
	INIT_LIST_HEAD(&s->half_open);
	INIT_WORK(&s->login_work, rnbdt_session_login_work);
	INIT_WORK(&s->teardown_work, rnbdt_session_teardown);
	INIT_WORK(&s->linger_work, rnbdt_session_linger);
	INIT_DELAYED_WORK(&s->timeout_work, rnbdt_session_timeout);
	INIT_DELAYED_WORK(&s->keepalive_work, rnbdt_session_keepalive);
	INIT_DELAYED_WORK(&s->resize_work, rnbdt_session_resize_work);
	rnbdt_netlink_init_session(s);
	return s;

free:
	kfree(s->port_name);
	kfree(s);
	return NULL;
}

/* An event of an accepted connection. The teardown destroys the id. */
static int rnbdt_queue_cm_event(struct rdma_cm_id *id,
				struct rdma_cm_event *event)
{
	struct rnbd_tqueue *q = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rnbdt_session_close(q->session, "the client disconnected");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rnbdt_session_close(q->session, "the RDMA device was removed");
		break;
	default:
		rnbdt_session_close(q->session, rdma_event_msg(event->event));
		break;
	}
	return 0;
}

/**
 * rnbdt_reject - refuse a connection
 * @id: connection
 * @status: enum rnbd_status
 *
 * Only there: the connection manager of InfiniBand goes on sending its answer for a
 * minute, and the id stays, if a connection is rejected that it has accepted.
 *
 * Context: handler of @id.
 */
void rnbdt_reject(struct rdma_cm_id *id, u16 status)
{
	struct rnbd_cm_rej rej;

	rnbdt_count(RNBDT_COUNT_REFUSED, status);
	rnbd_encode_cm_rej(&rej, status);
	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
}

/*
 * Make the ring and accept. The queue belongs to the session already, so an
 * error closes that and leaves the rest to the teardown.
 */
static void rnbdt_queue_accept(struct rnbd_tqueue *q,
			       const struct rnbd_conn_req *req,
			       const struct rdma_conn_param *conn)
{
	struct rnbd_tsession *s = q->session;
	struct rdma_conn_param param = { };
	struct rdma_cm_id *id = q->cm_id;
	struct rnbd_cm_rep rep;
	int ret = 0;

	/* This runs in the handler of @id, so no event can come in between. */
	id->context = q;
	id->event_handler = rnbdt_queue_cm_event;

	if (!s->pd) {
		struct ib_pd *pd = ib_alloc_pd(s->dev, 0);

		if (IS_ERR(pd))
			ret = PTR_ERR(pd);
		else
			s->pd = pd;
	}
	if (!ret && q->index)
		ret = rnbdt_queue_alloc_treqs(q);
	if (!ret)
		ret = rnbdt_queue_create_ring(q, req);
	if (ret) {
		pr_err_ratelimited("session %u: queue %u on %s could not be made: error %d\n",
				   s->serial, q->index, s->dev->name, ret);
		rnbdt_reject(id, ret == -EINVAL ? RNBD_ST_RING : RNBD_ST_NOMEM);
		rnbdt_session_close(s, "a queue could not be made");
		return;
	}

	/*
	 * Only the client posts RDMA READ: it may have as many on the way as
	 * it wants and the device can serve.
	 */
	param.responder_resources = min_t(u32, conn->responder_resources,
					  s->dev->attrs.max_qp_rd_atom);
	param.initiator_depth = 0;
	param.rnr_retry_count = 3;
	param.flow_control = 1;
	rnbd_encode_cm_rep(&rep, req->ring_slots, req->slot_size, req->epoch);
	param.private_data = &rep;
	param.private_data_len = sizeof(rep);
	ret = rdma_accept(id, &param);
	if (ret) {
		pr_err_ratelimited("session %u: queue %u could not be accepted: error %d\n",
				   s->serial, q->index, ret);
		rnbdt_session_close(s, "a queue could not be accepted");
	}
}

static void rnbdt_session_connected(struct rnbd_tsession *s)
{
	mutex_lock(&rnbdt_lock);
	s->connecting--;
	mutex_unlock(&rnbdt_lock);
	/* The teardown cannot free it: it waits for our id's handler. */
	wake_up(&s->wait);
}

static int rnbdt_refuse(struct rdma_cm_id *id, const struct rnbd_conn_req *req,
			u16 status)
{
	/* A client that reconnects hears BUSY many times, which is in order. */
	if (status != RNBD_ST_BUSY)
		/* That of a later queue may be a token. */
		pr_warn_ratelimited("%s %pUb at %pISpc: queue %u refused: %s\n",
				    req->queue ? "session" : "host",
				    req->queue ? req->session_id : req->host_id,
				    &id->route.addr.dst_addr, req->queue,
				    rnbd_status_text(status));
	rnbdt_reject(id, status);
	return -ECONNREFUSED;
}

/**
 * rnbdt_session_connect - a connection request for queue 0
 * @port: where it came
 * @id: connection
 * @req: what it says
 * @conn: limits of the client's device
 *
 * Context: handler of @id.
 * Return: what the handler has to return.
 */
int rnbdt_session_connect(struct rnbd_tport *port, struct rdma_cm_id *id,
			  const struct rnbd_conn_req *req,
			  const struct rdma_conn_param *conn)
{
	struct rnbd_tsession *s = NULL;
	struct rnbd_thost *host;
	unsigned int noio;
	u16 status;

	/* Memory may wait for this client, or for who waits for this lock. */
	noio = memalloc_noio_save();
	mutex_lock(&rnbdt_lock);
	status = rnbdt_session_admit(port, id, req, &host);
	if (status == RNBD_ST_OK) {
		s = rnbdt_session_alloc(port, host, id, req);
		if (!s)
			status = RNBD_ST_NOMEM;
	}
	if (s) {
		s->connecting = 1;
		list_add_tail(&s->entry, &rnbdt_sessions);
		rnbdt_limits_opened(s, req);
		queue_delayed_work(rnbdt_timer_wq, &s->timeout_work,
				   rnbdt_login_timeout());
	}
	mutex_unlock(&rnbdt_lock);
	if (s) {
		rnbdt_sysfs_add_session(s);
		rnbdt_queue_accept(s->queues[0], req, conn);
		rnbdt_session_connected(s);
	}
	memalloc_noio_restore(noio);
	return s ? 0 : rnbdt_refuse(id, req, status);
}

/*
 * The session that a later queue belongs to. Others may have the same id: unproven
 * ones, and those of other hosts.
 */
static struct rnbd_tsession *rnbdt_session_of_queue(const struct rnbd_tport *port,
						    const struct rnbd_conn_req *req)
{
	struct rnbd_tsession *s;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry) {
		/* pairs with the release in rnbdt_session_set_state() */
		enum rnbd_tstate state = smp_load_acquire(&s->state);

		if (state == RNBDT_LIVE && s->port == port &&
		    !memcmp(&s->session_id, req->session_id, sizeof(req->session_id)) &&
		    rnbdt_auth_queue(s, req))
			return s;
	}
	return NULL;
}

/* Called under rnbdt_lock. */
static u16 rnbdt_session_admit_queue(struct rnbd_tport *port,
				     struct rdma_cm_id *id,
				     const struct rnbd_conn_req *req,
				     struct rnbd_tqueue **queue)
{
	struct rnbd_tsession *s = rnbdt_session_of_queue(port, req);
	u16 status;

	if (!s)
		return RNBD_ST_NO_SESSION;
	if (s->epoch != req->epoch || s->newest_epoch != s->epoch)
		return RNBD_ST_EPOCH;
	if (s->dev != id->device)
		return RNBD_ST_DEVICE;
	if (req->queue >= s->nr_queues || s->queues[req->queue])
		return RNBD_ST_QUEUE;
	*queue = rnbdt_queue_alloc(s, req->queue, id);
	if (!*queue)
		return RNBD_ST_NOMEM;
	status = rnbdt_limits_add_queue(s, req);
	if (status) {
		rnbdt_queue_free(*queue);
		*queue = NULL;
		return status;
	}
	s->queues[req->queue] = *queue;
	s->connecting++;
	return RNBD_ST_OK;
}

/**
 * rnbdt_session_add_queue - a connection request for a queue other than 0
 * @port: where it came
 * @id: connection
 * @req: what it says
 * @conn: limits of the client's device
 *
 * Context: handler of @id.
 * Return: what the handler has to return.
 */
int rnbdt_session_add_queue(struct rnbd_tport *port, struct rdma_cm_id *id,
			    const struct rnbd_conn_req *req,
			    const struct rdma_conn_param *conn)
{
	struct rnbd_tqueue *q = NULL;
	unsigned int noio;
	u16 status;

	noio = memalloc_noio_save();
	mutex_lock(&rnbdt_lock);
	status = rnbdt_session_admit_queue(port, id, req, &q);
	mutex_unlock(&rnbdt_lock);
	if (q) {
		rnbdt_queue_accept(q, req, conn);
		rnbdt_session_connected(q->session);
	}
	memalloc_noio_restore(noio);
	return q ? 0 : rnbdt_refuse(id, req, status);
}

/* ------------------------------------------------------------------------
 * For the configuration
 */

/**
 * struct rnbdt_match - which sessions are meant
 * @host: of this host, or NULL
 * @export: of this export, or NULL
 * @port: of this port, or NULL
 * @outdated: those that began with another secret than their host has now
 */
struct rnbdt_match {
	const struct rnbd_thost *host;
	const struct rnbd_texport *export;
	const struct rnbd_tport *port;
	bool outdated;
};

static bool rnbdt_session_matches(const struct rnbd_tsession *s,
				  const struct rnbdt_match *match)
{
	lockdep_assert_held(&rnbdt_lock);
	return (!match->host || s->host == match->host) &&
	       (!match->export || s->export == match->export) &&
	       (!match->port || s->port == match->port) &&
	       (!match->outdated || s->secret != s->host->secret);
}

static void rnbdt_sessions_end_matching(const struct rnbdt_match *match, const char *why)
{
	struct rnbd_tsession *s;
	bool found;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (rnbdt_session_matches(s, match))
			rnbdt_session_close(s, why);
	do {
		found = false;
		list_for_each_entry(s, &rnbdt_sessions, entry) {
			found = rnbdt_session_matches(s, match);
			if (found)
				break;
		}
		if (!found)
			break;
		kref_get(&s->ref);
		mutex_unlock(&rnbdt_lock);

		rnbdt_session_close(s, why);
		while (!wait_for_completion_timeout(&s->gone, 30 * HZ))
			pr_warn("waiting for session %u to end its I/O\n",
				s->serial);
		rnbdt_session_put(s);

		mutex_lock(&rnbdt_lock);
	} while (found);
	mutex_unlock(&rnbdt_lock);
}

/**
 * rnbdt_sessions_end - end sessions and wait until they are gone
 * @host: of this host, or NULL
 * @export: of this export, or NULL
 * @port: of this port, or NULL
 * @why: constant text for people
 *
 * The caller has seen to it that no further ones begin.
 *
 * Context: process context without rnbdt_lock; waits for the storage.
 */
void rnbdt_sessions_end(struct rnbd_thost *host, struct rnbd_texport *export,
			struct rnbd_tport *port, const char *why)
{
	const struct rnbdt_match match = {
		.host = host, .export = export, .port = port,
	};

	rnbdt_sessions_end_matching(&match, why);
}

/* Is it one of @host that could reach the storage, from before @generation? */
static bool rnbdt_session_active(struct rnbd_tsession *s, const struct rnbd_thost *host,
				 u32 generation)
{
	lockdep_assert_held(&rnbdt_lock);
	return s->host == host && s->export && s->fence_generation < generation &&
	       !completion_done(&s->drained);
}

static struct rnbd_tsession *rnbdt_session_find_active(const struct rnbd_thost *host,
						       u32 generation)
{
	struct rnbd_tsession *s;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (rnbdt_session_active(s, host, generation))
			return s;
	return NULL;
}

/**
 * rnbdt_sessions_fence - end the sessions of a host
 * @host: host
 *
 * Context: rnbdt_lock held.
 */
void rnbdt_sessions_fence(const struct rnbd_thost *host)
{
	struct rnbd_tsession *s;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry)
		if (s->host == host)
			rnbdt_session_close(s, "the host was fenced");
}

/**
 * rnbdt_sessions_wait_fenced - wait until nothing of a host can reach the storage
 * @host: host
 * @generation: by sessions that were granted before this one
 *
 * Whoever cannot log in is not waited for.
 *
 * Context: process context without rnbdt_lock; waits for the storage.
 * Return: 0, or -EINTR after a signal that kills; they end all the same.
 */
int rnbdt_sessions_wait_fenced(const struct rnbd_thost *host, u32 generation)
{
	struct rnbd_tsession *s;
	long left = 1;

	mutex_lock(&rnbdt_lock);
	while (left >= 0) {
		s = rnbdt_session_find_active(host, generation);
		if (!s)
			break;
		kref_get(&s->ref);
		mutex_unlock(&rnbdt_lock);

		left = wait_for_completion_killable_timeout(&s->drained, 30 * HZ);
		if (!left)
			pr_warn("host %pUb is fenced: waiting for session %u to end its I/O\n",
				&host->uuid, s->serial);
		rnbdt_session_put(s);

		mutex_lock(&rnbdt_lock);
	}
	mutex_unlock(&rnbdt_lock);
	return left < 0 ? -EINTR : 0;
}

/**
 * rnbdt_sessions_active - number of sessions that can reach the storage
 * @host: of this host
 *
 * Sessions that close count until their I/O is at its end.
 *
 * Context: rnbdt_lock held.
 */
u32 rnbdt_sessions_active(const struct rnbd_thost *host)
{
	struct rnbd_tsession *s;
	u32 nr = 0;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry)
		nr += rnbdt_session_active(s, host, U32_MAX);
	return nr;
}

/**
 * rnbdt_sessions_end_secret - end the sessions that began with an older secret
 * @host: host whose secret was changed
 * @why: constant text for people
 *
 * Half-open ones too. Those that begin meanwhile begin with the new one.
 *
 * Context: process context without rnbdt_lock; waits for the storage.
 */
void rnbdt_sessions_end_secret(struct rnbd_thost *host, const char *why)
{
	const struct rnbdt_match match = { .host = host, .outdated = true };

	rnbdt_sessions_end_matching(&match, why);
}

/**
 * rnbdt_sessions_count - number of sessions, closing ones included
 * @host: of this host, or NULL
 * @export: of this export, or NULL
 * @port: of this port, or NULL
 *
 * Context: process context without rnbdt_lock.
 */
u32 rnbdt_sessions_count(struct rnbd_thost *host, struct rnbd_texport *export,
			 struct rnbd_tport *port)
{
	const struct rnbdt_match match = {
		.host = host, .export = export, .port = port,
	};
	struct rnbd_tsession *s;
	u32 nr = 0;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry(s, &rnbdt_sessions, entry)
		nr += rnbdt_session_matches(s, &match);
	mutex_unlock(&rnbdt_lock);
	return nr;
}
