// SPDX-License-Identifier: GPL-2.0-only
/*
 * Login: authentication, negotiation and the reply.
 *
 * Operation
 *
 * The first entry on queue 0 is LOGIN, or LIST if the client only requests a list of exports. If
 * the host has a secret, the target sends a challenge and the client answers with a proof
 * (auth.c), which the login work verifies. For LIST, the login work then sends the list
 * (discover.c). For LOGIN, it reduces the requested sizes to the limits, allocates and registers
 * the floor of the pool, and sends the reply (ctl.c). The session becomes live before the reply
 * is posted, because the client may attach exports as soon as it has the reply (attach_ctl.c).
 *
 * Ownership
 *
 * The login work writes the granted values of the session, which are constant once the session
 * is live. The teardown frees the memory of a failed login. The login work allocates without
 * I/O, because memory reclaim can wait for a disk that waits for this login.
 *
 * Concurrency
 *
 * The completion handler of queue 0 handles the login and the proof, one after the other, and
 * queues the login work, which runs once at a time. The login work locks only its host, so
 * logins of different hosts do not wait for each other. As an exception, the login of a restarted
 * client takes rnbdt_lock for writing if it must end ownerships (owner.c).
 *
 * Errors
 *
 * A refused client gets a reply with the status, and a few seconds to disconnect (timers.c).
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../core/ctl.h"
#include "../core/inject.h"
#include "../core/io.h"
#include "../core/login.h"
#include "../core/names.h"
#include "../core/param.h"
#include "../core/proto_err.h"
#include "../core/ring.h"
#include "../core/ring_resize.h"
#include "../core/ring_send.h"
#include "auth.h"
#include "bind.h"
#include "budget.h"
#include "claim.h"
#include "counters.h"
#include "ctl.h"
#include "discover.h"
#include "epoch.h"
#include "fence.h"
#include "grant.h"
#include "graph.h"
#include "half_open.h"
#include "inject.h"
#include "limits.h"
#include "login.h"
#include "owner.h"
#include "pool.h"
#include "queue.h"
#include "queue_alloc.h"
#include "queue_budget.h"
#include "rate.h"
#include "session.h"
#include "share.h"
#include "state.h"
#include "target.h"

/*
 * If a client requests at least so many bytes of max_io and of pool, the limits of memory do not
 * reduce max_io below this.
 */
#define RNBDT_MIN_IO		(64u << 10)

RNBD_PARAM_UINT(max_io_kb, 1024, 4, 4096,
		"KiB of the largest read or write, rounded down to a multiple of 4");

RNBD_PARAM_UINT(keepalive_min_ms, 250, 100, 60000,
		"milliseconds of the shortest interval of keep-alives that a login is granted");

/**
 * rnbdt_max_io - return the limit of one READ or WRITE
 *
 * Return: bytes, a multiple of RNBD_UNIT_SIZE.
 */
static u32 rnbdt_max_io(void)
{
	BUILD_BUG_ON(RNBDT_MAX_IO_MAX != 4096 << 10);
	return round_down(READ_ONCE(max_io_kb) << 10, RNBD_UNIT_SIZE);
}

/* Jiffies for the client to receive a list of exports; the client module rnbd waits for less */
#define RNBDT_LISTING_TIMEOUT	(50 * HZ)

/* Return the floor in bytes of a pool that may grow. */
static u64 rnbdt_login_floor(const struct rnbd_login_info *requested)
{
	/* Round up: released memory of the floor is granted again only in whole granules. */
	return (u64)round_up(requested->pool_min, RNBD_SEGMENT_GRANULE) * RNBD_UNIT_SIZE;
}

/*
 * Reduce the number of queues and max_io to the limits. A request of max_io bytes must fit the
 * floor or, if the client requested no floor, the part of the pool that each queue gets. A
 * client that requests a tiny pool gets a small max_io. A client that requests a larger pool
 * than the limits leave gets fewer queues rather than a max_io below RNBDT_MIN_IO.
 */
static u16 rnbdt_login_cut(struct rnbdt_session *s, u64 floor, u32 segment_units)
{
	const struct rnbd_login_info *requested = &s->login.info;
	struct rnbdt_granted *granted = &s->granted;
	u32 least, queues, divisor = 1;

	granted->max_io = min(requested->max_io, rnbdt_max_io());
	/*
	 * No extent crosses the end of a segment. If the first extent begins in the middle of a
	 * segment, only the others can be whole segments.
	 */
	granted->max_io = min_t(u64, granted->max_io, (u64)segment_units * RNBD_UNIT_SIZE *
						      (RNBD_EXTENTS_MAX - 1));
	least = min(granted->max_io, RNBDT_MIN_IO);
	if (requested->pool_bytes < least)
		least = RNBD_UNIT_SIZE;
	if (floor < least)
		return RNBD_ST_POOL_FULL;
	queues = rnbdt_limits_queues(requested->nr_queues);
	if (!requested->pool_min) {
		queues = min_t(u64, queues, div_u64(floor, least));
		divisor = queues;
	}
	granted->nr_queues = queues;
	granted->depth = requested->queue_depth;
	granted->max_io = min_t(u64, granted->max_io,
				round_down(div_u64(floor, divisor), RNBD_UNIT_SIZE));
	return RNBD_ST_OK;
}

/*
 * Reduce the pool to the limits and charge its floor. If other sessions hold the missing memory
 * beyond their own floors, start to reclaim it and return RNBD_ST_BUSY, so that the client
 * retries.
 */
static u16 rnbdt_login_charge(struct rnbdt_session *s)
{
	const struct rnbd_login_info *requested = &s->login.info;
	u32 segment_units = rnbdt_pool_segment_units(s->conn.dev, RNBD_POOL_UNITS_MAX);
	u64 most = min_t(u64, RNBD_POOL_UNITS_MAX, (u64)RNBD_SEGMENTS_MAX * segment_units);
	u64 max = min(requested->pool_bytes, most * RNBD_UNIT_SIZE);
	u64 least = min_t(u64, requested->pool_bytes, min(requested->max_io, RNBDT_MIN_IO));
	/* A pool grows in granules. If no segment can hold a granule, grant all memory at once. */
	bool elastic = requested->pool_min && segment_units >= RNBD_SEGMENT_GRANULE;
	u64 asked = elastic ? min(rnbdt_login_floor(requested), max) : max, floor = asked;
	const u32 granule = RNBD_SEGMENT_GRANULE * RNBD_UNIT_SIZE;
	u16 status;

	status = rnbdt_budget_login(s, &floor, &max);
	if (status)
		return status;
	if (floor < asked && elastic && floor >= granule)
		floor = round_down(floor, granule);
	/*
	 * If the pool can grow, answer BUSY until its whole floor is free: a client that
	 * reconnects refuses a smaller floor than before.
	 */
	if (rnbdt_budget_await(s, elastic ? asked : min(asked, least))) {
		rnbdt_share_reclaim();
		return RNBD_ST_BUSY;
	}
	floor = round_down(floor, RNBD_UNIT_SIZE);
	/* A pool with a floor of less than a granule does not grow. */
	if (!elastic || floor < granule)
		max = floor;
	max = round_down(max, RNBD_UNIT_SIZE);
	if (!floor)
		return RNBD_ST_POOL_FULL;
	return rnbdt_budget_charge_login(s, floor, max);
}

static u32 rnbdt_login_segment_units(const struct rnbdt_session *s)
{
	return rnbdt_pool_segment_units(s->conn.dev, s->account.max_bytes >> RNBD_UNIT_SHIFT);
}

/* Reduce the requested values to the limits, and charge pool and queues to the accounts. */
static u16 rnbdt_login_negotiate(struct rnbdt_session *s)
{
	u16 status;

	rnbdt_host_lock(s->host);
	status = rnbdt_login_charge(s);
	if (status)
		goto unlock;
	status = rnbdt_login_cut(s, s->account.floor_bytes, rnbdt_login_segment_units(s));
	if (status)
		goto unlock;
	rnbdt_queue_budget_reserve(s);
unlock:
	rnbdt_host_unlock(s->host);
	return status;
}

/* Raise the interval to the minimum: many sessions with short ones could keep the target busy. */
static u32 rnbdt_login_keepalive(u32 requested)
{
	u32 least = READ_ONCE(keepalive_min_ms);

	BUILD_BUG_ON(RNBD_KEEPALIVE_MS_MIN != 100 || RNBD_KEEPALIVE_MS_MAX != 60000);
	if (requested >= least)
		return requested;
	rnbdt_count(RNBDT_COUNT_LIMITS, RNBDT_LIMIT_KEEPALIVE);
	return least;
}

/*
 * Limit inline data to max_io and to the space in a slot, or to nothing if the device cannot
 * gather a frame of two pieces.
 */
static u32 rnbdt_login_inline(const struct rnbdt_session *s, u32 requested)
{
	u32 slot_size = s->queues[0]->ring.attr.slot_size;

	if (s->conn.dev->attrs.max_send_sge < 2)
		return 0;
	return min3(requested, s->granted.max_io, slot_size - RNBD_RING_DATA_OFFSET);
}

/* Return the reason for an error of rnbdt_grant_floor(). */
static const char *rnbdt_login_pool_error(int error)
{
	switch (error) {
	case -ENOMEM:
		return "no memory";
	case -EOPNOTSUPP:
		return "the device needs bounce buffers or cache flushes (swiotlb, IOMMU)";
	default:
		return "the device could not map or register it";
	}
}

/* Allocate pool tables, queue slots and requests for the granted values. Locks the host. */
static u16 rnbdt_login_alloc(struct rnbdt_session *s)
{
	const struct rnbdt_account *account = &s->account;
	u32 segment_units = rnbdt_login_segment_units(s);
	u32 nr_slots = rnbdt_pool_slots(segment_units, account->floor_bytes >> RNBD_UNIT_SHIFT,
					account->max_bytes >> RNBD_UNIT_SHIFT);

	if (rnbdt_pool_init(s, segment_units, nr_slots) ||
	    rnbdt_queue_make_slots(s, s->granted.nr_queues) ||
	    rnbdt_queue_alloc_reqs(s->queues[0]))
		return RNBD_ST_NOMEM;
	return RNBD_ST_OK;
}

/* Admit the login, and close the sessions that the host had before its client module restarted. */
static u16 rnbdt_login_admit(struct rnbdt_session *s)
{
	bool restarted = false;
	u16 status;

	rnbdt_host_lock(s->host);
	status = rnbdt_fence_check(s);
	/*
	 * A client that gets FENCED fails its held writes. Answer BUSY until the storage has no
	 * request of earlier epochs of this session, so that no failed write is executed later.
	 */
	if (status == RNBD_ST_FENCED && rnbdt_is_draining(s, NULL))
		status = RNBD_ST_BUSY;
	if (!status) {
		/*
		 * If the client has restarted, its earlier sessions can hold memory and places that
		 * this session needs: close them. Take the claim first, because
		 * rnbdt_close_restarted() replaces the boot id that claims depend on.
		 */
		rnbdt_claim_take(s);
		rnbdt_close_restarted(s);
		status = rnbdt_limits_login(s);
	}
	if (!status) {
		rnbdt_fence_admit(s);
		restarted = rnbdt_owner_outdated(s);
	}
	rnbdt_host_unlock(s->host);
	if (restarted)
		rnbdt_owner_restarted(s);
	return status;
}

static u16 rnbdt_login_set_up(struct rnbdt_session *s)
{
	u16 status;
	int ret;

	rnbd_inject_delay(&rnbdt_inject_delay_login);
	if (rnbdt_claim_prepare(s))
		return RNBD_ST_NOMEM;
	status = rnbdt_login_admit(s);
	if (status)
		return status;
	if (!rnbdt_pool_segment_units(s->conn.dev, RNBD_POOL_UNITS_MAX)) {
		pr_err_ratelimited("session %u: device %s cannot register memory by work requests\n",
				   s->serial, s->conn.dev->name);
		return RNBD_ST_DEVICE;
	}
	status = rnbdt_login_negotiate(s);
	if (!status)
		status = rnbdt_login_alloc(s);
	if (status)
		return status;

	ret = rnbdt_grant_floor(s, s->account.floor_bytes >> RNBD_UNIT_SHIFT);
	if (ret) {
		if (READ_ONCE(s->state) == RNBDT_LOGIN)
			pr_err("session %u: pool of %llu bytes on %s: %s (error %d)\n",
			       s->serial, s->account.pool_bytes, s->conn.dev->name,
			       rnbdt_login_pool_error(ret), ret);
		return ret == -ENOMEM ? RNBD_ST_POOL_FULL : RNBD_ST_DEVICE;
	}

	s->granted.keepalive_ms = rnbdt_login_keepalive(s->login.info.keepalive_ms);
	s->granted.limits = (struct rnbd_limits) {
		/*
		 * Slots can be empty: rnbdt_pool_allows() checks the segments of each request,
		 * too.
		 */
		.pool_units = s->pool.nr_slots << s->pool.shift,
		.segment_units = 1U << s->pool.shift,
		.depth = s->granted.depth,
		.inline_read = rnbdt_login_inline(s, s->login.info.inline_read),
		.inline_write = rnbdt_login_inline(s, s->login.info.inline_write),
	};
	return RNBD_ST_OK;
}

static void rnbdt_login_fill_grant(struct rnbdt_session *s,
				   struct rnbd_grant *grant)
{
	grant->nr_queues = s->granted.nr_queues;
	grant->queue_depth = s->granted.depth;
	grant->features = s->login.info.features & RNBD_FEATURES;
	grant->max_io = s->granted.max_io;
	grant->pool_units = s->account.floor_bytes >> RNBD_UNIT_SHIFT;
	grant->segment_units = 1U << s->pool.shift;
	grant->nr_segments = DIV_ROUND_UP(grant->pool_units, grant->segment_units);
	grant->max_units = s->account.max_bytes >> RNBD_UNIT_SHIFT;
	grant->nr_slots = s->pool.nr_slots;
	grant->keepalive_ms = s->granted.keepalive_ms;
	grant->inline_read = s->granted.limits.inline_read;
	grant->inline_write = s->granted.limits.inline_write;
	export_uuid(grant->target_uuid, &s->auth.target_uuid);
}

/*
 * Begin a list of exports, or its refusal, and replace the time limit of the login by that of the
 * list or, after a refusal, by that for the client to disconnect.
 */
static void rnbdt_login_start_list(struct rnbdt_session *s, u16 status)
{
	rnbd_inject_delay(&rnbdt_inject_delay_login);
	if (status)
		pr_warn_ratelimited("session %u: host %pUb: list of exports on port %s refused: %s\n",
				    s->serial, &s->host_id, rnbdt_port_name(s->port),
				    rnbd_status_text(status));
	rnbdt_host_lock(s->host);
	if (!status)
		status = rnbdt_fence_check(s);
	if (!status)
		status = rnbdt_limits_list(s);
	s->listing.list_status = status;
	if (status)
		rnbdt_count(RNBDT_COUNT_REFUSED, status);
	else
		rnbd_ring_set_rate_limit(&s->queues[0]->ring, 0);
	mod_delayed_work(rnbdt_timer_wq, &s->login.timeout_work,
			 s->listing.list_status ? RNBDT_HANGUP_TIMEOUT : RNBDT_LISTING_TIMEOUT);
	rnbdt_session_advance(s, RNBDT_LOGIN, RNBDT_LISTING, NULL);
	rnbdt_host_unlock(s->host);
}

/*
 * If the host had a secret at the connection request, check the proof before any other work for
 * the client. Then check the epoch again, which closes the sessions of older epochs: the check of
 * the connection request closed none, because the client was not authenticated.
 */
static u16 rnbdt_login_authenticate(struct rnbdt_session *s)
{
	u16 status;

	if (!s->auth.required)
		return RNBD_ST_OK;
	status = rnbdt_auth_check(s);
	if (status) {
		if (status == RNBD_ST_AUTH)
			atomic64_inc(&s->host->authentication_failures);
		return status;
	}
	if (rnbdt_auth_send_proof(s)) {
		rnbdt_session_close(s, "the proof could not be sent");
		return RNBD_ST_SHUTDOWN;
	}

	rnbdt_host_lock(s->host);
	s->auth.authenticated = true;
	status = rnbdt_is_newest_epoch(s->host, &s->auth.req, s);
	rnbdt_host_unlock(s->host);
	return status;
}

/* Process a login, or continue a list of exports. */
static void rnbdt_login_process(struct rnbdt_session *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	enum rnbdt_state state = READ_ONCE(s->state);
	struct rnbd_grant grant = { };

	/* Check the proof first, for a login as for a list. */
	if (state == RNBDT_LOGIN)
		grant.status = rnbdt_login_authenticate(s);
	else if (state != RNBDT_LISTING)
		return;
	if (s->login.list) {
		if (READ_ONCE(s->state) == RNBDT_LOGIN)
			rnbdt_login_start_list(s, grant.status);
		/* The last frame of the list was sent: the client should disconnect. */
		if (rnbdt_discover_work(s))
			mod_delayed_work(rnbdt_timer_wq, &s->login.timeout_work,
					 RNBDT_HANGUP_TIMEOUT);
		return;
	}
	if (grant.status == RNBD_ST_OK)
		grant.status = rnbdt_login_set_up(s);
	if (grant.status == RNBD_ST_OK)
		grant.status = rnbdt_auth_make_key(s, grant.join_key);
	/* If the session is closing, send no reply: the teardown logs why, and disconnects. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN)
		return;
	if (grant.status) {
		rnbdt_rate_refused(s, grant.status);
		rnbdt_host_lock(s->host);
		grant.retry_ms = rnbdt_rate_retry_ms(s->host, grant.status);
		rnbdt_claim_refused(s);
		rnbdt_host_unlock(s->host);
	}
	if (grant.status == RNBD_ST_OK) {
		rnbdt_login_fill_grant(s, &grant);
		pr_info("session %u: host %pUb logged in on port %s: %u queues, depth %u, pool of %llu to %llu KiB, epoch %u\n",
			s->serial, &s->host_id, rnbdt_port_name(s->port),
			s->granted.nr_queues, s->granted.depth, s->account.floor_bytes >> 10,
			s->account.max_bytes >> 10, s->epoch);
	} else if (grant.status != RNBD_ST_BUSY) {
		pr_warn_ratelimited("session %u: host %pUb: login on port %s refused: %s\n",
				    s->serial, &s->host_id, rnbdt_port_name(s->port),
				    rnbd_status_text(grant.status));
	}

	/* Stop keep-alives until the reply: the client does not know the granted interval yet. */
	cancel_delayed_work_sync(&s->login.keepalive_work);

	/* The client may send requests as soon as the reply is posted. */
	if (grant.status == RNBD_ST_OK) {
		rnbd_ring_set_rate_limit(ring, 0);
		rnbd_ring_enable_in(ring, s->granted.depth);
		if (!rnbdt_session_advance(s, RNBDT_LOGIN, RNBDT_LIVE, NULL))
			return;
	} else {
		if (!rnbdt_session_advance(s, RNBDT_LOGIN, RNBDT_REFUSED,
					   rnbd_status_text(grant.status)))
			return;
		mod_delayed_work(rnbdt_timer_wq, &s->login.timeout_work,
				 RNBDT_HANGUP_TIMEOUT);
	}

	if (rnbdt_ctl_grant(s, &grant)) {
		rnbdt_session_close(s, "the login reply could not be sent");
		return;
	}
	if (grant.status != RNBD_ST_OK)
		return;
	rnbd_ring_enable_out(ring, 0);
	queue_delayed_work(rnbdt_timer_wq, &s->login.keepalive_work,
			   msecs_to_jiffies(grant.keepalive_ms) / 2);
}

/**
 * rnbdt_session_login_work - process a login, or continue a list of exports
 * @work: rnbdt_session.login.login_work
 *
 * Context: work item of rnbdt_login_wq; locks the host, may sleep for memory
 * and for the send queue of queue 0.
 */
void rnbdt_session_login_work(struct work_struct *work)
{
	/* Memory reclaim can wait for a disk that waits for this login. */
	unsigned int noio = memalloc_noio_save();

	rnbdt_login_process(container_of(work, struct rnbdt_session, login.login_work));
	memalloc_noio_restore(noio);
}

/**
 * rnbdt_login_continue_list - queue the work that sends the list of exports
 * @s: session that is listing
 *
 * The caller has found that a credit or a send slot for another frame is possibly available.
 *
 * Context: completion handler of queue 0; does not sleep.
 */
void rnbdt_login_continue_list(struct rnbdt_session *s)
{
	queue_work(rnbdt_login_wq, &s->login.login_work);
}

static enum rnbd_proto_err rnbdt_login_decode(struct rnbdt_session *s,
					      const struct rnbd_ctl_entry *entry)
{
	s->login.id = entry->id;
	s->login.list = entry->type == RNBD_CTL_LIST;
	return s->login.list ? rnbd_ctl_no_body(entry) :
			       rnbd_decode_login(entry, &s->login.info);
}

/**
 * rnbdt_session_handle_login - handle a LOGIN or LIST entry
 * @s: session
 * @entry: entry that queue 0 has received
 *
 * Context: completion handler of queue 0; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the entry is malformed or is not the first one
 * of the session.
 */
enum rnbd_proto_err rnbdt_session_handle_login(struct rnbdt_session *s,
					       const struct rnbd_ctl_entry *entry)
{
	enum rnbd_proto_err perr;

	if (READ_ONCE(s->state) != RNBDT_CONNECTING)
		return READ_ONCE(s->state) < RNBDT_CLOSING ? RNBD_PERR_TYPE :
							     RNBD_PERR_NONE;
	perr = rnbdt_login_decode(s, entry);
	if (perr)
		return perr;
	if (!rnbdt_session_advance(s, RNBDT_CONNECTING,
				   s->auth.required ? RNBDT_AUTHENTICATING : RNBDT_LOGIN, NULL))
		return RNBD_PERR_NONE;
	queue_delayed_work(rnbdt_timer_wq, &s->login.keepalive_work,
			   msecs_to_jiffies(RNBD_LOGIN_KEEPALIVE_MS) / 2);
	if (!s->auth.required)
		queue_work(rnbdt_login_wq, &s->login.login_work);
	else if (rnbdt_auth_challenge(s))
		rnbdt_session_close(s, "the challenge could not be sent");
	return RNBD_PERR_NONE;
}

/**
 * rnbdt_session_handle_proof - handle the answer to a challenge
 * @s: session
 * @entry: entry of type RNBD_CTL_PROOF that queue 0 has received
 *
 * Context: completion handler of queue 0; does not sleep.
 * Return: RNBD_PERR_NONE, or a protocol error if the entry is malformed or no
 * challenge is outstanding.
 */
enum rnbd_proto_err rnbdt_session_handle_proof(struct rnbdt_session *s,
					       const struct rnbd_ctl_entry *entry)
{
	enum rnbd_proto_err perr;

	if (READ_ONCE(s->state) != RNBDT_AUTHENTICATING)
		return READ_ONCE(s->state) < RNBDT_CLOSING ? RNBD_PERR_TYPE :
							     RNBD_PERR_NONE;
	perr = rnbdt_auth_handle_proof(s, entry);
	if (perr)
		return perr;
	if (rnbdt_session_advance(s, RNBDT_AUTHENTICATING, RNBDT_LOGIN, NULL))
		queue_work(rnbdt_login_wq, &s->login.login_work);
	return RNBD_PERR_NONE;
}
