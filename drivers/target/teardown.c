// SPDX-License-Identifier: GPL-2.0-only
/*
 * Teardown of a session: stop its queues, drain them, free its memory.
 *
 * Operation
 *
 * rnbdt_teardown_work() waits until no queue is being set up, stops and drains all queue pairs,
 * cancels the work items and closes the attachments. From then on a newer epoch of the session is
 * admitted (epoch.c). Then the work item destroys the rings, memory regions and protection domain.
 *
 * Requests in the storage cannot be aborted and can last forever, so no work item waits for them.
 * If there are none, rnbdt_teardown_work() frees attachments and pages at once. Otherwise it
 * destroys the connection ids now, because the removal of an RDMA device waits for them, and the
 * end of the last attachment queues rnbdt_release_work(), which frees attachments and pages. When
 * these are freed, s->teardown.drained is completed; fencing waits for that. Connection ids that
 * still exist are destroyed last, which can take a minute in the connection manager, and each queue
 * is freed after its id. Then the session leaves the lists.
 *
 * Ownership
 *
 * The teardown owns all queues of a closing session. It destroys a connection id before the queue
 * that is the context of the id. When its queue pairs are drained, the session no longer counts
 * against the limit on sessions, but a claim that it leaves does. The memory of the session stays
 * charged until the memory is freed.
 *
 * Concurrency
 *
 * The teardown is queued once, when the state becomes closing, and waits until
 * s->conn.connecting is zero; the handler of a connection request for a further queue increments
 * that under the host lock, if the session is live. Both the end of an attachment and
 * rnbdt_teardown_part() check s->nr_bound under the host lock, so exactly one of them continues the
 * teardown. A completing request uses its ring only while ring->live is set; the drain clears it.
 * The teardown of a session that was never live runs on rnbdt_hangup_wq, and its wait for the
 * connection manager on rnbdt_linger_wq, so that a flood of such sessions delays no other teardown.
 * A teardown allocates without I/O: memory reclaim can wait for a disk whose login waits for the
 * teardown.
 *
 * Errors: a teardown cannot fail, but can wait for the storage forever. Thousands of sessions can
 * wait for one device, so the few log lines name some of them and the number of all that wait.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/configfs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/seqlock.h>
#include <linux/sysfs.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rnbd/wire.h>

#include "../core/inject.h"
#include "../core/ring.h"
#include "../core/ring_setup.h"
#include "attached.h"
#include "auth.h"
#include "budget.h"
#include "claim.h"
#include "ctl.h"
#include "epoch.h"
#include "graph.h"
#include "half_open.h"
#include "inject.h"
#include "lease.h"
#include "limits.h"
#include "pool.h"
#include "queue.h"
#include "queue_alloc.h"
#include "queue_budget.h"
#include "segment.h"
#include "session.h"
#include "state.h"
#include "sysfs.h"
#include "target.h"
#include "teardown.h"

/* Log lines about sessions that wait for the storage: period in jiffies, and lines per period */
#define RNBDT_WAIT_LOG		(30 * HZ)
#define RNBDT_WAIT_LOG_LINES	4

static DEFINE_RATELIMIT_STATE(rnbdt_wait_log, RNBDT_WAIT_LOG, RNBDT_WAIT_LOG_LINES);
static atomic_t rnbdt_waiting;		/* number of sessions that wait for the storage */

/* Free a queue whose ring was destroyed, and add its counters to the sum of its session. */
static void rnbdt_teardown_queue(struct rnbdt_session *s, u32 index)
{
	struct rnbdt_queue *q = s->queues[index];

	rnbdt_host_lock(s->host);
	write_seqlock(&s->ended_lock);
	rnbdt_stats_add(&s->ended, q);
	WRITE_ONCE(s->queues[index], NULL);
	write_sequnlock(&s->ended_lock);
	rnbdt_host_unlock(s->host);

	if (q->cm_id)
		rdma_destroy_id(q->cm_id);
	rnbdt_queue_free(q);
}

/*
 * Return whether the client probably reconnects: an attachment is open for which no DETACH has
 * arrived, or the session has taken over a claim and no DETACH has arrived. A DETACH counts even if
 * the control work has not handled it yet.
 */
static bool rnbdt_teardown_claims(struct rnbdt_session *s)
{
	bool claims = s->account.claims;
	struct rnbdt_attach *att;
	unsigned long index;

	rnbdt_assert_host(s->host);

	xa_for_each(&s->attaches, index, att) {
		if (xa_is_value(att))
			continue;
		if (READ_ONCE(att->detach.asked))
			claims = false;
		else if (att->state == RNBDT_ATTACH_OPEN)
			return true;
	}
	return claims;
}

/*
 * Close all attachments. If the client probably reconnects, leave a claim, which keeps the place
 * among the sessions of the host and the floors of memory.
 */
static void rnbdt_teardown_close_attaches(struct rnbdt_session *s)
{
	struct rnbdt_attach *att;
	unsigned long index;

	rnbdt_host_lock(s->host);
	s->account.claims = rnbdt_teardown_claims(s);
	xa_for_each(&s->attaches, index, att)
		if (!xa_is_value(att))
			rnbdt_attach_close(att, RNBD_ST_OK);
	s->teardown.stopped = true;
	s->teardown.stopped_at = jiffies;
	rnbdt_claim_keep(s, s->nr_bound);
	rnbdt_limits_stopped(s);
	rnbdt_host_unlock(s->host);
}

/* Add the frames that arrived on the rings after their failure to the counter of the host. */
static void rnbdt_teardown_count_late(struct rnbdt_session *s)
{
	u32 i;

	for (i = 0; i < s->nr_slots; i++)
		if (s->queues[i])
			atomic64_add(s->queues[i]->ring.stats.late_frames,
				     &s->host->stale_frames);
}

/* Free the attachments of a session; all have left their exports. */
static void rnbdt_teardown_attaches(struct rnbdt_session *s)
{
	struct rnbdt_attach *att;
	unsigned long index;

	rnbdt_host_lock(s->host);
	xa_for_each(&s->attaches, index, att) {
		xa_erase(&s->attaches, index);
		if (!xa_is_value(att))
			rnbdt_attach_free(att);
	}
	rnbdt_ctl_purge(s);
	xa_destroy(&s->attaches);
	rnbdt_host_unlock(s->host);
}

/* Destroy the connection ids and end the teardown. The connection manager can take a minute. */
static void rnbdt_finish_teardown(struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	struct rnbdt_port *port = s->port;
	u32 i;

	/* Do not use the RDMA device below: its removal waits only for the connection ids. */
	for (i = 0; i < s->nr_slots; i++)
		if (s->queues[i])
			rnbdt_teardown_queue(s, i);

	rnbdt_half_open_gone(&s->account.half_open);
	rnbdt_host_lock(host);
	rnbdt_remember_epoch(s);
	rnbdt_session_remove(s);
	rnbdt_host_unlock(host);

	rnbdt_auth_free(s);
	rnbdt_sysfs_remove_session(s);
	complete_all(&s->teardown.gone);
	rnbdt_session_put(s);
	config_item_put(&port->group.cg_item);
	config_item_put(&host->group.cg_item);
	/* The exit of the module waits until this work item has returned. */
	module_put(THIS_MODULE);
}

/**
 * rnbdt_linger_work - end the teardown of a session that was never live
 * @work: rnbdt_session.teardown.linger_work
 *
 * Context: work item of rnbdt_linger_wq; may sleep for a minute.
 */
void rnbdt_linger_work(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();

	rnbd_inject_delay(&rnbdt_inject_delay_linger);
	rnbdt_finish_teardown(container_of(work, struct rnbdt_session, teardown.linger_work));
	memalloc_noio_restore(noio);
}

/* Destroy the resources of a session on the RDMA device, except the connection ids. */
static void rnbdt_teardown_device(struct rnbdt_session *s)
{
	struct rnbdt_segment *seg;
	u32 slot;
	u32 i;

	for (i = 0; i < s->nr_slots; i++)
		if (s->queues[i])
			rnbd_ring_destroy(&s->queues[i]->ring);
	for (slot = 0; (seg = rnbdt_pool_next(&s->pool, &slot)); slot++)
		rnbdt_segment_unmap(seg);
	if (s->conn.pd)
		ib_dealloc_pd(s->conn.pd);
	s->conn.pd = NULL;
}

/* Free the memory of a session that has no request in the storage, and end its teardown. */
static void rnbdt_teardown_free(struct rnbdt_session *s)
{
	u32 i;

	for (i = 0; i < s->nr_slots; i++)
		if (s->queues[i])
			rnbdt_queue_wait_idle(s->queues[i]);
	rnbdt_teardown_attaches(s);
	rnbdt_pool_free(&s->pool);

	/* Cancel the charges before the connection ids are destroyed, which can take a minute. */
	rnbdt_half_open_freed(&s->account.half_open, s->live_at);
	rnbdt_host_lock(s->host);
	rnbdt_queue_budget_freed(s);
	rnbdt_budget_freed(s);
	complete_all(&s->teardown.drained);
	rnbdt_host_unlock(s->host);
	if (s->live_at)
		rnbdt_finish_teardown(s);
	else
		queue_work(rnbdt_linger_wq, &s->teardown.linger_work);
}

/* Continue the teardown of a session whose requests the storage has now completed. */
static void rnbdt_teardown_go_on(struct rnbdt_session *s)
{
	cancel_delayed_work_sync(&s->teardown.wait_work);
	atomic_dec(&rnbdt_waiting);
	rnbdt_teardown_free(s);
}

/**
 * rnbdt_release_work - continue a teardown after the last request has ended
 * @work: rnbdt_session.teardown.release_work
 *
 * Context: work item of rnbdt_teardown_wq; locks the host, may sleep.
 */
void rnbdt_release_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(work, struct rnbdt_session, teardown.release_work);
	unsigned int noio = memalloc_noio_save();

	rnbdt_teardown_go_on(s);
	memalloc_noio_restore(noio);
}

/* Return the name of an export whose storage has requests of the session. */
static const char *rnbdt_teardown_export(struct rnbdt_session *s)
{
	struct rnbdt_attach *att;
	unsigned long index;

	rnbdt_assert_host(s->host);

	xa_for_each(&s->attaches, index, att)
		if (!xa_is_value(att) && att->export)
			return att->name;
	return "";
}

/**
 * rnbdt_wait_work - log that a teardown waits for the storage
 * @work: rnbdt_session.teardown.wait_work
 *
 * Context: work item of rnbdt_attach_wq; locks the host.
 */
void rnbdt_wait_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(to_delayed_work(work), struct rnbdt_session,
					       teardown.wait_work);

	rnbdt_host_lock(s->host);
	if (__ratelimit(&rnbdt_wait_log))
		pr_warn("session %u: closing, waits for the storage of export %s to complete requests; attachments that wait: %u, sessions that wait: %u\n",
			s->serial, rnbdt_teardown_export(s), s->nr_bound,
			atomic_read(&rnbdt_waiting));
	rnbdt_host_unlock(s->host);
	queue_delayed_work(rnbdt_attach_wq, &s->teardown.wait_work, RNBDT_WAIT_LOG);
}

/*
 * Return whether the storage has requests of the session. If so, cancel the charge of its rings and
 * queue pairs, and start the periodic log line.
 */
static bool rnbdt_teardown_waits(struct rnbdt_session *s)
{
	bool waits;

	rnbdt_host_lock(s->host);
	waits = s->nr_bound;
	if (waits) {
		rnbdt_queue_budget_parted(s);
		atomic_inc(&rnbdt_waiting);
		queue_delayed_work(rnbdt_attach_wq, &s->teardown.wait_work, RNBDT_WAIT_LOG);
	}
	rnbdt_host_unlock(s->host);
	return waits;
}

/*
 * Destroy the connection ids. Return true if the end of the last request continues the teardown,
 * or false if all requests have ended already, so that the caller must continue the teardown.
 */
static bool rnbdt_teardown_part(struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;
	bool waits;
	u32 i;

	/* The connection manager can take a minute to destroy an id. */
	for (i = 0; i < s->nr_slots; i++) {
		if (!s->queues[i])
			continue;
		rdma_destroy_id(s->queues[i]->cm_id);
		s->queues[i]->cm_id = NULL;
	}
	rnbdt_host_lock(host);
	s->teardown.parted = true;
	waits = s->nr_bound;
	rnbdt_host_unlock(host);
	return waits;
}

/**
 * rnbdt_teardown_work - stop a closing session; free it if none of its requests is in the storage
 * @work: rnbdt_session.teardown.teardown_work
 *
 * Context: work item of rnbdt_teardown_wq or rnbdt_hangup_wq; locks the host, may sleep,
 * but does not wait for the storage.
 */
void rnbdt_teardown_work(struct work_struct *work)
{
	struct rnbdt_session *s = container_of(work, struct rnbdt_session,
					       teardown.teardown_work);
	unsigned int noio = memalloc_noio_save();
	struct rnbdt_join *join;
	u32 i;

	/* After this, every handler that found the session live is counted in connecting. */
	rnbdt_host_lock(s->host);
	rnbdt_host_unlock(s->host);
	wait_event(s->conn.wait, !READ_ONCE(s->conn.connecting));
	/* Take the lock again to see all writes of the handlers. */
	rnbdt_host_lock(s->host);
	list_for_each_entry(join, &s->conn.joins, entry)
		rnbdt_join_fail(join->q);
	rnbdt_host_unlock(s->host);
	/* Wait for queues that have not joined: their rings use the protection domain. */
	wait_event(s->conn.wait, !READ_ONCE(s->conn.nr_joins));

	/* A client that cannot log in must not be able to fill the log. */
	if (s->live_at)
		pr_info("session %u: host %pUb on port %s: %s\n", s->serial,
			&s->host_id, rnbdt_port_name(s->port), s->log.reason);
	else
		pr_info_ratelimited("session %u: host %pUb on port %s: %s\n",
				    s->serial, &s->host_id,
				    rnbdt_port_name(s->port), s->log.reason);

	rnbdt_lease_reuse_early(s);
	rnbd_inject_delay(&rnbdt_inject_delay_close);
	for (i = 0; i < s->nr_slots; i++)
		if (s->queues[i])
			rnbdt_queue_stop(s->queues[i]);
	for (i = 0; i < s->nr_slots; i++)
		if (s->queues[i])
			rnbd_ring_drain(&s->queues[i]->ring);

	/* Drained rings receive nothing and the session is closing: no work is queued again. */
	cancel_work_sync(&s->login.login_work);
	cancel_delayed_work_sync(&s->login.timeout_work);
	cancel_delayed_work_sync(&s->login.keepalive_work);
	cancel_work_sync(&s->ctl.ctl_work);
	rnbdt_lease_stop(s);
	for (i = 1; i < s->nr_slots; i++) {
		if (!s->queues[i])
			continue;
		cancel_work_sync(&s->queues[i]->join->verify_work);
		cancel_delayed_work_sync(&s->queues[i]->join->expire_work);
	}
	rnbdt_teardown_count_late(s);
	rnbdt_lease_trim(s);
	rnbdt_teardown_close_attaches(s);
	rnbdt_teardown_device(s);
	/* After rnbdt_teardown_part() has returned true, the session can be freed at any time. */
	if (!rnbdt_teardown_waits(s))
		rnbdt_teardown_free(s);
	else if (!rnbdt_teardown_part(s))
		rnbdt_teardown_go_on(s);
	memalloc_noio_restore(noio);
}
