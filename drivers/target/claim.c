// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: the place and memory kept for sessions that reconnect.
 *
 * Operation
 *
 * A session that loses its connection while exports are attached leaves a claim when its queue
 * pairs are drained. Its place among the sessions of its host, the floor of its pool and the
 * floor of its queues stay charged, so that no other session can take them. The claim ends when
 * the client logs in again with the same session id, or after claim_timeout. Without a claim, the
 * memory that the disks of a client need could be missing when the client reconnects. A login takes
 * over the claim before anything else is charged. If the login is refused, the claim is left again
 * at once, with the same expiry time, for the next attempt.
 *
 * A client that violates the protocol, or has detached its disks, leaves no claim.
 *
 * Ownership
 *
 * A session allocates its claim at its login, so that the teardown need not allocate. The host
 * owns the claims of its former sessions. Claims are charged to the limits of the host, so a client
 * that leaves many claims harms mainly its own host. All claims of a host belong to one run of the
 * client module (boot id): the first login of a later run ends them. A session leaves at most one
 * claim.
 *
 * Concurrency
 *
 * The host is locked while a claim is taken over or left. All hosts share a hash table of claims
 * and a queue of claims sorted by expiry time; rnbdt_claims_lock protects both. A login finds its
 * claim in the hash table. A work item ends expired claims in the order of the queue: it finds the
 * host of the first claim, locks the host, and checks again.
 *
 * Errors: a login is refused if there is no memory for the claim that its session can leave.
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
 * @hash_entry: in rnbdt_claim_table; rnbdt_claims_lock
 * @host_entry: in rnbdt_host.claims; host lock
 * @until: in rnbdt_claim_times, with the monotonic time at which the claim expires
 * @host: host that owns the claim
 * @session_id: id of the session
 * @pool_bytes: floor of the pool in bytes, charged to the host
 * @queue_bytes: floor of the queues in bytes, charged to the host
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

	/* Clients choose the ids of sessions: the key prevents deliberate hash collisions. */
	get_random_once(&key, sizeof(key));
	return jhash(session_id, sizeof(*session_id), jhash(&host, sizeof(host), key));
}

/* Find the claim left for the id of a session. The claim is valid while the host is locked. */
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
 * If the claim that expires first has expired, return it and set @host to its host. The claim is
 * valid only while that host is locked, and the host only while rnbdt_lock is held.
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

/* End at most one claim that has expired. Return false if no claim has expired. */
static bool rnbdt_claims_expire(void)
{
	struct rnbdt_host *host, *now = NULL;
	struct rnbdt_claim *claim;
	bool due;

	/* Keep the host: it is freed only after a writer of rnbdt_lock has ended its claims. */
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

/* End the claims that have expired. */
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
 * rnbdt_claim_prepare - allocate the claim that a session possibly leaves behind
 * @s: session during its login
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_claim_prepare(struct rnbdt_session *s)
{
	s->account.claim = kzalloc(sizeof(*s->account.claim), GFP_KERNEL);
	return s->account.claim ? 0 : -ENOMEM;
}

/* Test whether a session belongs to the run of the client module that has logged in last. */
static bool rnbdt_claim_is_of_boot(const struct rnbdt_session *s)
{
	return !memcmp(&s->host->boot_id, s->login.info.boot_id, sizeof(s->host->boot_id));
}

/**
 * rnbdt_claim_take - take over the claim of a session, if there is one
 * @s: session during its login; nothing is charged for the session yet
 *
 * Claims of an earlier run of the client module end, because no session of that run reconnects.
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

/* Return the time at which the claim of a closing session expires. */
static ktime_t rnbdt_claim_until(const struct rnbdt_session *s)
{
	/* A login that failed does not extend the life of the claim that it took over. */
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
 * rnbdt_claim_keep - leave the claim of a session, or free it if the session may leave none
 * @s: closing session whose queue pairs are drained, or session whose login is refused
 * @waits: the memory of the queues will not be freed soon
 *
 * With or without a claim, the session no longer has a floor. A second call has no effect.
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
	/* A login with this session id that the client abandoned has possibly left a claim. */
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
 * rnbdt_claim_refused - leave the claim that a session took over before its login was refused
 * @s: session whose login is refused
 *
 * The claim is left now and not in the teardown: the session remains until its client has read the
 * refusal, and the client can log in again before the teardown.
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
 * rnbdt_claims_exit - stop the work item that ends claims
 *
 * The caller has removed all hosts.
 *
 * Context: process context, module exit.
 */
void rnbdt_claims_exit(void)
{
	cancel_delayed_work_sync(&rnbdt_claims_timer);
}
