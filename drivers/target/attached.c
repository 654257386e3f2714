// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life cycle of an attachment: joining the list of its export, closing, leaving the list.
 *
 * Operation: a granted attachment joins the list of its export (bind.c). It is closed by a
 * DETACH of the client or an ATTACH for the same index, by the teardown of the session, by the end
 * of the ownership of an exclusive export, or by the administrator, who disables the export,
 * denies it to the host or removes it from the port. From then on its requests are refused,
 * including those that wait in front of the storage (sched.c). When the last request in flight is
 * done, the attachment leaves the list.
 *
 * Ownership: the session owns its attachments, by index. Their memory is charged to the host
 * while they are in s->attaches, because a client decides how many closed attachments it keeps. The
 * export closes its backend only when its list is empty (export.c), so an attachment on the list
 * keeps the backend open. Frame handlers find attachments under RCU, so an attachment is freed
 * after a grace period.
 *
 * Concurrency: to change an attachment, its host is locked. Hosts share the lists of the exports
 * and the table of attachments, which rnbdt_attached_lock protects. Code that holds rnbdt_lock for
 * writing may walk the lists without rnbdt_attached_lock. Code that has locked a host finds the
 * attachments of that host in the table under RCU. No task waits for the end of an attachment: when
 * the last attachment of a disabled export or of a closing session has ended, closed_work queues
 * the work item that closes the backend or continues the teardown.
 *
 * Errors: none. The storage can delay the end of an attachment without a time limit.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/percpu-refcount.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "attach.h"
#include "attached.h"
#include "ctl.h"
#include "graph.h"
#include "sched.h"
#include "sched_group.h"
#include "session.h"
#include "target.h"

/* Number of buckets of the table of attachments, by host and export name */
#define RNBDT_ATTACHED_BUCKETS	4096

/* Protects the table, and the lists and numbers of attachments of all exports. */
static DEFINE_SPINLOCK(rnbdt_attached_lock);
static struct hlist_head rnbdt_attached_table[RNBDT_ATTACHED_BUCKETS];	/* read under RCU */

static atomic64_t rnbdt_attached_memory;	/* bytes charged for all attachments */

/**
 * rnbdt_attached_bytes - return the bytes charged for the attachments of all hosts
 *
 * Context: any.
 * Return: bytes.
 */
u64 rnbdt_attached_bytes(void)
{
	return atomic64_read(&rnbdt_attached_memory);
}

/**
 * rnbdt_attach_bytes - return the size of the memory of an attachment
 * @att: attachment
 *
 * Context: any.
 * Return: bytes, as rounded up by the allocator.
 */
u32 rnbdt_attach_bytes(const struct rnbdt_attach *att)
{
	u32 bytes = kmalloc_size_roundup(sizeof(*att)) +
		    num_possible_cpus() * sizeof(unsigned long);

	if (att->submits)
		bytes += kmalloc_size_roundup(att->nr_submits * sizeof(*att->submits));
	return bytes;
}

static void rnbdt_attach_set_charge(struct rnbdt_attach *att, u32 bytes)
{
	struct rnbdt_host *host = att->session->host;
	s64 more = (s64)bytes - att->charged;

	rnbdt_assert_host(host);

	WRITE_ONCE(host->queue_bytes, host->queue_bytes + more);
	atomic64_add(more, &rnbdt_attached_memory);
	/* Charge before the caller reads other sums. Pairs with the barriers in queue_budget.c. */
	smp_mb__after_atomic();
	att->charged = bytes;
}

/**
 * rnbdt_attach_charge - charge the current memory of an attachment to its host
 * @att: attachment
 *
 * Context: process context, host of the session locked.
 */
void rnbdt_attach_charge(struct rnbdt_attach *att)
{
	rnbdt_attach_set_charge(att, rnbdt_attach_bytes(att));
}

/* Called as soon as a closed attachment has no request in flight. */
static void rnbdt_attach_idle(struct percpu_ref *ref)
{
	struct rnbdt_attach *att = container_of(ref, struct rnbdt_attach, ref);

	queue_work(rnbdt_attach_wq, &att->closed_work);
}

static void rnbdt_attach_closed_work(struct work_struct *work)
{
	struct rnbdt_attach *att = container_of(work, struct rnbdt_attach, closed_work);
	struct rnbdt_session *s = att->session;
	struct rnbdt_host *host = s->host;
	u32 i;

	/* The work items have no requests left, but are possibly still running. */
	for (i = 0; i < att->nr_submits; i++)
		flush_work(&att->submits[i].submit_work.work);
	cancel_delayed_work_sync(&att->resize.resize_work);
	/* Free att->submits now: the client decides how long the closed attachment remains. */
	kfree(att->submits);
	att->submits = NULL;

	rnbdt_host_lock(host);
	rnbdt_attached_remove(att);
	rnbdt_attach_charge(att);
	WRITE_ONCE(att->state, RNBDT_ATTACH_CLOSED);
	/* If the client has sent a DETACH, let the control work answer it now. */
	if (READ_ONCE(s->state) == RNBDT_LIVE) {
		rnbdt_ctl_ended(att);
		queue_work(rnbdt_ctl_wq, &s->ctl.ctl_work);
	}
	if (--s->nr_bound)
		goto unlock;
	host->nr_active--;
	/* A waiting teardown continues now; it can free @s once the host is unlocked. */
	if (s->teardown.parted)
		queue_work(rnbdt_teardown_wq, &s->teardown.release_work);
unlock:
	rnbdt_host_unlock(host);
}

static void rnbdt_attach_free_work(struct work_struct *work)
{
	struct rnbdt_attach *att = container_of(to_rcu_work(work), struct rnbdt_attach,
						free_work);

	percpu_ref_exit(&att->ref);
	rnbdt_sched_free(att);
	kfree(att->submits);
	kfree(att);
}

/**
 * rnbdt_attach_alloc - allocate an attachment that is not bound
 * @s: live session
 * @info: request of the client
 *
 * The caller initialises the work items that submit requests and report the capacity.
 *
 * Context: process context, may sleep.
 * Return: the attachment, or NULL if memory is short.
 */
struct rnbdt_attach *rnbdt_attach_alloc(struct rnbdt_session *s,
					const struct rnbd_attach_info *info)
{
	struct rnbdt_attach *att = kzalloc(sizeof(*att), GFP_KERNEL);
	u32 i;

	if (!att)
		return NULL;
	att->nr_submits = s->granted.nr_queues;
	att->submits = kcalloc(att->nr_submits, sizeof(*att->submits), GFP_KERNEL);
	/* Per-CPU memory can be unavailable temporarily, see attach_ctl.c. */
	if (!att->submits || !rnbdt_sched_alloc(att) ||
	    percpu_ref_init(&att->ref, rnbdt_attach_idle, 0, GFP_KERNEL | __GFP_NOWARN)) {
		rnbdt_sched_free(att);
		kfree(att->submits);
		kfree(att);
		return NULL;
	}
	for (i = 0; i < att->nr_submits; i++) {
		att->submits[i].att = att;
		init_llist_head(&att->submits[i].todo);
	}
	att->session = s;
	att->handle = info->handle;
	strscpy(att->name, info->export);
	INIT_LIST_HEAD(&att->detach.entry);
	INIT_LIST_HEAD(&att->events.entry);
	INIT_WORK(&att->closed_work, rnbdt_attach_closed_work);
	INIT_RCU_WORK(&att->free_work, rnbdt_attach_free_work);
	return att;
}

/**
 * rnbdt_attach_forget - uncharge the memory of an attachment
 * @att: attachment that is about to be freed
 *
 * Context: process context, host of the session locked unless nothing is charged.
 */
void rnbdt_attach_forget(struct rnbdt_attach *att)
{
	if (att->charged)
		rnbdt_attach_set_charge(att, 0);
}

/**
 * rnbdt_attach_free - free an attachment
 * @att: attachment that is closed or was never bound, and that is no longer in s->attaches
 *
 * Context: process context, host of the session locked unless @att was never bound; frees
 * after a grace period.
 */
void rnbdt_attach_free(struct rnbdt_attach *att)
{
	rnbdt_attach_forget(att);
	rnbdt_ctl_forget(att);
	queue_rcu_work(rnbdt_attach_wq, &att->free_work);
}

static struct hlist_head *rnbdt_attached_bucket(const struct rnbdt_host *host, const char *name)
{
	u32 hash = jhash(name, strlen(name), hash_ptr(host, 32));

	return &rnbdt_attached_table[hash % RNBDT_ATTACHED_BUCKETS];
}

/**
 * rnbdt_attached_next - find the next attachment of a host to an export with a given name
 * @host: host
 * @name: name of the export; the result can belong to a removed export that had the same name
 * @att: previous result, or NULL to find the first attachment
 *
 * Context: @host locked, RCU read side during the whole walk.
 * Return: the next attachment that is bound, in any session of the host, or NULL.
 */
struct rnbdt_attach *rnbdt_attached_next(const struct rnbdt_host *host, const char *name,
					 struct rnbdt_attach *att)
{
	struct hlist_node __rcu **link = att ? &hlist_next_rcu(&att->host_entry) :
				&hlist_first_rcu(rnbdt_attached_bucket(host, name));
	struct hlist_node *node;

	rnbdt_assert_host(host);

	/* Attachments of other hosts can leave the table now; RCU keeps them and their sessions. */
	while ((node = rcu_dereference(*link))) {
		att = hlist_entry(node, struct rnbdt_attach, host_entry);
		if (att->session->host == host && !strcmp(att->name, name))
			return att;
		link = &hlist_next_rcu(node);
	}
	return NULL;
}

/**
 * rnbdt_attached_add - bind an attachment to an export
 * @att: attachment that is not bound, and whose memory is charged
 * @export: enabled export
 *
 * Context: host of the session locked.
 */
void rnbdt_attached_add(struct rnbdt_attach *att, struct rnbdt_export *export)
{
	struct rnbdt_host *host = att->session->host;

	rnbdt_assert_host(host);

	att->backend = export->backend;
	rnbdt_sched_add(att);
	WRITE_ONCE(att->export, export);
	spin_lock(&rnbdt_attached_lock);
	list_add_tail(&att->entry, &export->attached);
	WRITE_ONCE(export->nr_attached, export->nr_attached + 1);
	hlist_add_head_rcu(&att->host_entry, rnbdt_attached_bucket(host, att->name));
	spin_unlock(&rnbdt_attached_lock);
	if (!att->session->nr_bound++)
		host->nr_active++;
}

/**
 * rnbdt_attached_remove - unbind an attachment from its export
 * @att: attachment without requests, bound to an export
 *
 * If @att was the last attachment of a disabled export, the export can be freed once the caller
 * has unlocked the host.
 *
 * Context: host of the session locked.
 */
void rnbdt_attached_remove(struct rnbdt_attach *att)
{
	struct rnbdt_export *export = att->export;

	rnbdt_assert_host(att->session->host);

	rnbdt_sched_remove(att);
	WRITE_ONCE(att->export, NULL);
	att->backend = NULL;
	spin_lock(&rnbdt_attached_lock);
	list_del(&att->entry);
	hlist_del_rcu(&att->host_entry);
	WRITE_ONCE(export->nr_attached, export->nr_attached - 1);
	atomic_dec(&export->nr_closing);
	/* The export is not freed yet: disable_work waits for the caller to release rnbdt_lock. */
	if (!export->nr_attached && !export->enabled)
		queue_work(rnbdt_disable_wq, &export->disable_work);
	spin_unlock(&rnbdt_attached_lock);
}

/**
 * rnbdt_attach_close - close an attachment without waiting
 * @att: attachment; nothing happens unless it is open
 * @status: status of the CLOSED entry for the client, or RNBD_ST_OK to send none
 *
 * Context: host of the session locked; does not sleep.
 */
void rnbdt_attach_close(struct rnbdt_attach *att, u16 status)
{
	rnbdt_assert_host(att->session->host);

	if (att->state != RNBDT_ATTACH_OPEN)
		return;
	WRITE_ONCE(att->state, RNBDT_ATTACH_CLOSING);
	atomic_inc(&att->export->nr_closing);
	if (status)
		rnbdt_ctl_closed(att, status);
	/* Submit the requests that wait in the scheduler: rnbdt_may_submit() refuses them. */
	rnbdt_sched_release(att);
	percpu_ref_kill(&att->ref);
}

/**
 * rnbdt_attached_close - close the attachments of an export without waiting
 * @export: export
 * @host: close only attachments of this host; NULL: of all hosts
 * @port: close only attachments through this port; NULL: through all ports
 * @reason: constant text for the log
 *
 * The caller has ensured that no further such attachment can be bound.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_attached_close(struct rnbdt_export *export, const struct rnbdt_host *host,
			  const struct rnbdt_port *port, const char *reason)
{
	struct rnbdt_attach *att;
	u32 nr = 0;

	down_write(&rnbdt_lock);
	list_for_each_entry(att, &export->attached, entry) {
		struct rnbdt_session *s = att->session;

		if ((host && s->host != host) || (port && s->port != port) ||
		    att->state != RNBDT_ATTACH_OPEN)
			continue;
		rnbdt_attach_close(att, RNBD_ST_REMOVED);
		nr++;
	}
	up_write(&rnbdt_lock);
	/* Log one line: there can be thousands of attachments, and the console can be slow. */
	if (nr)
		pr_info("export %s: attachments closed: %u: %s\n",
			rnbdt_export_name(export), nr, reason);
}

/**
 * rnbdt_attached_revoke - close the attachments of an exclusive export whose ownership has ended
 * @export: export
 *
 * Context: rnbdt_lock held for writing; does not sleep.
 */
void rnbdt_attached_revoke(struct rnbdt_export *export)
{
	struct rnbdt_attach *att;

	lockdep_assert_held_write(&rnbdt_lock);

	list_for_each_entry(att, &export->attached, entry) {
		/* An attachment that is being bound has no owner generation yet. */
		if (!att->owner_generation || att->state != RNBDT_ATTACH_OPEN ||
		    att->owner_generation == export->owner.generation)
			continue;
		pr_info("session %u: host %pUb: attachment of export %s is closed: the ownership ended\n",
			att->session->serial, &att->session->host_id, att->name);
		rnbdt_attach_close(att, RNBD_ST_REVOKED);
	}
}

/**
 * rnbdt_session_export - return the name of an export that a session has attached
 * @s: session
 * @name: result, RNBD_EXPORT_NAME_SIZE bytes: name of the export of the attachment with the lowest
 *	index, open or closed; "" without attachments
 *
 * Context: any; takes no lock.
 */
void rnbdt_session_export(struct rnbdt_session *s, char *name)
{
	struct rnbdt_attach *att;
	unsigned long index;

	*name = 0;
	rcu_read_lock();
	xa_for_each(&s->attaches, index, att) {
		if (xa_is_value(att))
			continue;
		strscpy(name, att->name, RNBD_EXPORT_NAME_SIZE);
		break;
	}
	rcu_read_unlock();
}
