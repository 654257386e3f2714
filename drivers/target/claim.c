// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims of sessions that reconnect on the floor of their pool.
 *
 * Operation: a session that loses its connection while exports are attached leaves a claim
 * behind when its queue pairs are drained. The floor stays charged to the host, so that no other
 * session can take it, until the session logs in again or claim_timeout has passed (rule R8).
 * Without a claim, a client could be refused the pool that its disks need.
 *
 * Ownership: a session has the structure of its claim from its login on, so that the teardown
 * need not allocate. The host owns the claims of its former sessions. They are charged to
 * the host, so a client that leaves claims of many sessions harms its own host only.
 *
 * Concurrency: claims are under rnbdt_lock. A work item ends those whose time is over.
 *
 * Errors: none.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "../core/param.h"
#include "budget.h"
#include "claim.h"
#include "graph.h"
#include "session.h"
#include "target.h"

RNBD_PARAM_UINT(claim_timeout, 60, 0, 3600,
		"seconds for which the memory of a session that has lost its connection is kept for it; 0: not at all");

/**
 * struct rnbdt_claim - claim of a session
 * @host_entry: in rnbdt_host.claims
 * @entry: in rnbdt_claims
 * @host: host
 * @session_id: id of the session
 * @boot_id: of the login of the session
 * @bytes: floor of the session, charged to the host
 * @until: jiffies at which the claim ends
 */
struct rnbdt_claim {
	struct list_head host_entry;
	struct list_head entry;
	struct rnbdt_host *host;
	uuid_t session_id;
	u8 boot_id[16];
	u64 bytes;
	unsigned long until;
};

static LIST_HEAD(rnbdt_claims);		/* in the order of their begin; rnbdt_lock */

static void rnbdt_claim_end(struct rnbdt_claim *claim)
{
	lockdep_assert_held(&rnbdt_lock);

	list_del(&claim->host_entry);
	list_del(&claim->entry);
	rnbdt_budget_return(claim->host, claim->bytes);
	kfree(claim);
}

static void rnbdt_claims_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(rnbdt_claims_timer, rnbdt_claims_work);

/* End the claims whose time is over. */
static void rnbdt_claims_work(struct work_struct *work)
{
	struct rnbdt_claim *claim, *next;
	bool left;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry_safe(claim, next, &rnbdt_claims, entry)
		if (time_after_eq(jiffies, claim->until))
			rnbdt_claim_end(claim);
	left = !list_empty(&rnbdt_claims);
	mutex_unlock(&rnbdt_lock);
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

/**
 * rnbdt_claim_take - return the claim of a session that logs in to the accounts
 * @s: session, whose floor is charged next
 *
 * Claims of an earlier run of the client end: it does not reconnect their sessions.
 *
 * Context: process context, rnbdt_lock held until rnbdt_claim_done().
 * Return: the claim, or NULL if there is none.
 */
struct rnbdt_claim *rnbdt_claim_take(struct rnbdt_session *s)
{
	struct rnbdt_claim *claim, *next, *own = NULL;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry_safe(claim, next, &s->host->claims, host_entry) {
		if (memcmp(claim->boot_id, s->login.info.boot_id, sizeof(claim->boot_id)))
			rnbdt_claim_end(claim);
		else if (uuid_equal(&claim->session_id, &s->session_id))
			own = claim;
	}
	if (own)
		rnbdt_budget_return(s->host, own->bytes);
	return own;
}

/**
 * rnbdt_claim_done - end a claim whose session has logged in, or keep it
 * @s: session
 * @claim: from rnbdt_claim_take(), or NULL
 * @charged: the floor of the session is charged
 *
 * Context: process context, rnbdt_lock held since rnbdt_claim_take().
 */
void rnbdt_claim_done(struct rnbdt_session *s, struct rnbdt_claim *claim, bool charged)
{
	lockdep_assert_held(&rnbdt_lock);

	if (!claim)
		return;
	if (!charged) {
		rnbdt_budget_charge(s->host, claim->bytes);
		return;
	}
	/* If the rest of the login fails, the session leaves a claim behind again. */
	s->account.claims = true;
	claim->bytes = 0;
	rnbdt_claim_end(claim);
}

/**
 * rnbdt_claim_keep - leave a claim behind, and free what was prepared for it otherwise
 * @s: closing session
 * @bytes: its former floor, for which it is no longer charged
 *
 * Context: process context, rnbdt_lock held since the floor was returned.
 */
void rnbdt_claim_keep(struct rnbdt_session *s, u64 bytes)
{
	struct rnbdt_claim *claim = s->account.claim;
	u32 timeout = READ_ONCE(claim_timeout);

	lockdep_assert_held(&rnbdt_lock);

	s->account.claim = NULL;
	if (!claim || !bytes || !s->account.claims || !timeout || s->host->removed) {
		kfree(claim);
		return;
	}
	claim->host = s->host;
	claim->session_id = s->session_id;
	memcpy(claim->boot_id, s->login.info.boot_id, sizeof(claim->boot_id));
	claim->bytes = bytes;
	claim->until = jiffies + timeout * HZ;
	list_add_tail(&claim->host_entry, &s->host->claims);
	list_add_tail(&claim->entry, &rnbdt_claims);
	rnbdt_budget_charge(s->host, bytes);
	queue_delayed_work(rnbdt_timer_wq, &rnbdt_claims_timer, HZ);
}

/**
 * rnbdt_claims_drop - end all claims of a host
 * @host: host that is about to be freed
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_claims_drop(struct rnbdt_host *host)
{
	struct rnbdt_claim *claim, *next;

	lockdep_assert_held(&rnbdt_lock);

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
