// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims of sessions that reconnect on their place and their memory.
 *
 * Operation
 *
 * A session that loses its connection while exports are attached leaves a claim behind when
 * its queue pairs are drained. The place among the sessions of its host, the floor of its
 * pool and that of its queues stay charged, so that no other session can take them, until the
 * session logs in again or claim_timeout has passed (rule R8). Without a claim, a client could
 * be refused what its disks need. A login takes the claim over before anything else is
 * charged. If it is refused, the session leaves the claim behind again at once, for the next
 * attempt, but not for longer.
 *
 * A client that breaks the protocol, or has detached its disks, leaves no claim.
 *
 * Ownership
 *
 * A session has the structure of its claim from its login on, so that the teardown need not
 * allocate. The host owns the claims of its former sessions. They are charged to the host, so
 * a client that leaves claims of many sessions harms its own host only. All of them are of
 * the same run of the client: a login of a later one ends them, and each only once.
 *
 * Concurrency
 *
 * A claim is taken and left with its host locked. Hosts share the tables by hash and by time,
 * which are under rnbdt_claims_lock. A login finds its own by hash, and a work item ends those
 * whose time is over, in the order of their times: it finds the host of the next one, locks it,
 * and looks again.
 *
 * Errors: none.
 */

#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/timerqueue.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "../core/param.h"
#include "budget.h"
#include "claim.h"
#include "graph.h"
#include "limits.h"
#include "queue_budget.h"
#include "session.h"
#include "target.h"

RNBD_PARAM_UINT(claim_timeout, 60, 0, 3600,
		"seconds for which the place and the memory of a session that has lost its connection are kept for it; 0: not at all");

/**
 * struct rnbdt_claim - claim of a session
 * @hash_entry: in rnbdt_claim_table
 * @host_entry: in rnbdt_host.claims
 * @until: monotonic time at which the claim ends; in rnbdt_claim_times
 * @host: host
 * @session_id: id of the session
 * @pool_bytes: floor of its pool, charged to the host
 * @queue_bytes: floor of its queues, charged to the host
 */
struct rnbdt_claim {
	struct hlist_node hash_entry;
	struct list_head host_entry;
	struct timerqueue_node until;
	struct rnbdt_host *host;
	uuid_t session_id;
	u64 pool_bytes;
	u64 queue_bytes;
};

static DEFINE_SPINLOCK(rnbdt_claims_lock);
static DEFINE_HASHTABLE(rnbdt_claim_table, 10);	/* rnbdt_claims_lock */
static struct timerqueue_head rnbdt_claim_times = {	/* rnbdt_claims_lock */
	.rb_root = RB_ROOT_CACHED,
};

static u32 rnbdt_claim_hash(const struct rnbdt_host *host, const uuid_t *session_id)
{
	static u32 key;

	/* Clients choose the ids of sessions. */
	get_random_once(&key, sizeof(key));
	return jhash(session_id, sizeof(*session_id), jhash(&host, sizeof(host), key));
}

/* Find the claim of a session. It stays while the host is locked. */
static struct rnbdt_claim *rnbdt_claim_find(const struct rnbdt_session *s)
{
	struct rnbdt_claim *claim, *found = NULL;

	spin_lock(&rnbdt_claims_lock);
	hash_for_each_possible(rnbdt_claim_table, claim, hash_entry,
			       rnbdt_claim_hash(s->host, &s->session_id))
		if (claim->host == s->host && uuid_equal(&claim->session_id, &s->session_id))
			found = claim;
	spin_unlock(&rnbdt_claims_lock);
	return found;
}

static void rnbdt_claim_link(struct rnbdt_claim *claim)
{
	rnbdt_assert_host(claim->host);

	list_add_tail(&claim->host_entry, &claim->host->claims);
	spin_lock(&rnbdt_claims_lock);
	hash_add(rnbdt_claim_table, &claim->hash_entry,
		 rnbdt_claim_hash(claim->host, &claim->session_id));
	timerqueue_add(&rnbdt_claim_times, &claim->until);
	spin_unlock(&rnbdt_claims_lock);
}

static void rnbdt_claim_unlink(struct rnbdt_claim *claim)
{
	rnbdt_assert_host(claim->host);

	list_del(&claim->host_entry);
	spin_lock(&rnbdt_claims_lock);
	hash_del(&claim->hash_entry);
	timerqueue_del(&rnbdt_claim_times, &claim->until);
	spin_unlock(&rnbdt_claims_lock);
}

static void rnbdt_claim_end(struct rnbdt_claim *claim)
{
	rnbdt_claim_unlink(claim);
	rnbdt_limits_end_claim(claim->host);
	rnbdt_queue_budget_end_claim(claim->host, claim->queue_bytes);
	rnbdt_budget_return(claim->host, claim->pool_bytes);
	kfree(claim);
}

static void rnbdt_claims_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(rnbdt_claims_timer, rnbdt_claims_work);

/*
 * Return the claim whose time ends first, if that is over, and its host. The claim stays only
 * while that host is locked, the host while rnbdt_lock is held.
 */
static struct rnbdt_claim *rnbdt_claims_due(struct rnbdt_host **host)
{
	struct rnbdt_claim *claim = NULL;
	struct timerqueue_node *first;

	spin_lock(&rnbdt_claims_lock);
	first = timerqueue_getnext(&rnbdt_claim_times);
	if (first && !ktime_after(first->expires, ktime_get())) {
		claim = container_of(first, struct rnbdt_claim, until);
		*host = claim->host;
	}
	spin_unlock(&rnbdt_claims_lock);
	return claim;
}

/* End a claim whose time is over. Returns false if there is none. */
static bool rnbdt_claims_expire(void)
{
	struct rnbdt_host *host, *now = NULL;
	struct rnbdt_claim *claim;
	bool due;

	/* Claims end before their host is freed, with this lock held for writing. */
	down_read(&rnbdt_lock);
	due = rnbdt_claims_due(&host);
	if (due) {
		mutex_lock(&host->lock);
		claim = rnbdt_claims_due(&now);
		if (now == host)
			rnbdt_claim_end(claim);
		mutex_unlock(&host->lock);
	}
	up_read(&rnbdt_lock);
	return due;
}

/* End the claims whose time is over. */
static void rnbdt_claims_work(struct work_struct *work)
{
	bool left;

	while (rnbdt_claims_expire())
		cond_resched();
	spin_lock(&rnbdt_claims_lock);
	left = timerqueue_getnext(&rnbdt_claim_times);
	spin_unlock(&rnbdt_claims_lock);
	if (left)
		queue_delayed_work(rnbdt_timer_wq, &rnbdt_claims_timer, HZ);
}

/**
 * rnbdt_claim_prepare - allocate the claim that a session may leave behind
 * @s: session that is logging in
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_claim_prepare(struct rnbdt_session *s)
{
	s->account.claim = kzalloc(sizeof(*s->account.claim), GFP_KERNEL);
	return s->account.claim ? 0 : -ENOMEM;
}

/* Is a session of the latest run of the client that has logged in? */
static bool rnbdt_claim_is_of_boot(const struct rnbdt_session *s)
{
	return !memcmp(&s->host->boot_id, s->login.info.boot_id, sizeof(s->host->boot_id));
}

/**
 * rnbdt_claim_take - let a session take over its claim, if there is one
 * @s: session that logs in, for which nothing is charged yet
 *
 * Claims of an earlier run of the client end: it does not reconnect their sessions.
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_claim_take(struct rnbdt_session *s)
{
	struct rnbdt_account *account = &s->account;
	struct rnbdt_claim *claim;

	rnbdt_assert_host(s->host);

	if (!list_empty(&s->host->claims) && !rnbdt_claim_is_of_boot(s))
		rnbdt_claims_drop(s->host);
	claim = rnbdt_claim_find(s);
	if (!claim)
		return;
	rnbdt_claim_unlink(claim);
	account->claims = true;
	account->claim_until = ktime_to_ns(claim->until.expires);
	rnbdt_limits_take_over(s);
	rnbdt_queue_budget_take_over(s, claim->queue_bytes);
	rnbdt_budget_take_over(s, claim->pool_bytes);
	kfree(claim);
}

/* Return until when a session that closes may have a claim. */
static ktime_t rnbdt_claim_until(const struct rnbdt_session *s)
{
	/* It was not live, and its client may never come so far. */
	if (s->account.claim_until && !s->live_at)
		return ns_to_ktime(s->account.claim_until);
	return ktime_add_ms(ktime_get(), (u64)READ_ONCE(claim_timeout) * MSEC_PER_SEC);
}

static bool rnbdt_claim_allowed(const struct rnbdt_session *s)
{
	const struct rnbdt_account *account = &s->account;

	return account->claim && account->claims && account->counted &&
	       !READ_ONCE(account->no_claim) && READ_ONCE(claim_timeout) &&
	       !s->host->removed && rnbdt_claim_is_of_boot(s) &&
	       ktime_after(rnbdt_claim_until(s), ktime_get());
}

/**
 * rnbdt_claim_keep - leave a claim behind, and free what was prepared for it otherwise
 * @s: closing session whose queue pairs are drained, or one whose login is refused
 * @waits: the memory of its queues is not about to be freed
 *
 * In either case the session keeps no floor. A second call changes nothing.
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_claim_keep(struct rnbdt_session *s, bool waits)
{
	struct rnbdt_claim *claim = s->account.claim, *other;
	bool allowed = rnbdt_claim_allowed(s);
	u64 floor;

	rnbdt_assert_host(s->host);

	floor = rnbdt_budget_leave(s);
	s->account.claim = NULL;
	if (!allowed) {
		rnbdt_budget_return(s->host, floor);
		kfree(claim);
		return;
	}
	/* That of an attempt which the client has given up. */
	other = rnbdt_claim_find(s);
	if (other)
		rnbdt_claim_end(other);
	claim->host = s->host;
	claim->session_id = s->session_id;
	claim->pool_bytes = floor;
	claim->queue_bytes = rnbdt_queue_budget_leave(s, waits);
	rnbdt_limits_leave(s);
	timerqueue_init(&claim->until);
	claim->until.expires = rnbdt_claim_until(s);
	rnbdt_claim_link(claim);
	queue_delayed_work(rnbdt_timer_wq, &rnbdt_claims_timer, HZ);
}

/**
 * rnbdt_claim_refused - leave the claim behind that a session has taken over
 * @s: session whose login is refused
 *
 * The session remains until its client has read the refusal, which may be too late for the
 * next attempt.
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_claim_refused(struct rnbdt_session *s)
{
	if (s->account.claim_until)
		rnbdt_claim_keep(s, true);
}

/**
 * rnbdt_claims_drop - end all claims of a host
 * @host: host that is about to be freed, or whose client has restarted
 *
 * Context: process context, @host locked.
 */
void rnbdt_claims_drop(struct rnbdt_host *host)
{
	struct rnbdt_claim *claim, *next;

	rnbdt_assert_host(host);

	list_for_each_entry_safe(claim, next, &host->claims, host_entry)
		rnbdt_claim_end(claim);
}

/**
 * rnbdt_claims_exit - stop the work item of this file
 *
 * Call when no host is left.
 *
 * Context: process context, module exit.
 */
void rnbdt_claims_exit(void)
{
	cancel_delayed_work_sync(&rnbdt_claims_timer);
}
