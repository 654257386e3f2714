// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness of service: requests that wait in front of the storage.
 *
 * Operation
 *
 * A device queues all that it gets, so the host with the most requests in flight would get
 * most of the service. Therefore the target bounds the cost of the requests that a storage
 * has, its window. Below the window requests pass. Beyond it they wait, and drr.c decides
 * which host is next when the storage has completed others. The window is given in requests
 * of 4 KiB; a longer request counts as several. On a rotational device the constant part of
 * the cost is that of a seek.
 *
 * Exports share a scheduler if their requests go to the same request queue, for example
 * if they are partitions of one disk. The page cache and files of a file system without a
 * block device have no queue: such an export has a scheduler of its own.
 *
 * The requests of a host that is in a cgroup have a lane, that is a window and an order of
 * their own. The block layer may hold them back for long, and in a common window they would
 * take the place of those of other hosts. The cgroup then decides about their share.
 *
 * A request that waits is submitted by the work item of its attachment and queue. When an
 * attachment closes, its requests leave the order at once and go the same way, and
 * rnbdt_may_submit() refuses them before they reach the storage: they never wait for
 * requests of others.
 *
 * Ownership
 *
 * Exports own their scheduler jointly, from enable to the end of disable. Attachments own
 * the node of their disk, and jointly those of their session and host at this storage. The
 * lane of a host in a cgroup belongs to the host at this storage. A request that waits or
 * is in flight keeps its attachment, and so its lane.
 *
 * Concurrency
 *
 * Without competition a request costs two operations on an atomic counter and a look at the
 * number of requests that wait; the lock is taken only when one waits. Either the request
 * that begins to wait sees that the last one has left, or that one sees it. The lock and
 * in_flight have cache lines of their own. Schedulers, hosts and sessions are added and
 * removed under rnbdt_lock. When a host changes its lane, its requests that wait are
 * submitted at once; each request in flight is counted in the lane that it has entered.
 *
 * Requests leave the order when the cost in flight has fallen to seven eighths of the
 * window, several at a time, which saves wakeups. The storage is not idle while one waits.
 *
 * Errors: a scheduler that cannot be allocated fails the enable or the attachment.
 */

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../compat/block.h"
#include "../core/param.h"
#include "backend.h"
#include "graph.h"
#include "sched.h"
#include "session.h"
#include "target.h"

/* Constant part of the cost of a request, in bytes */
#define RNBDT_OVERHEAD			SZ_16K
#define RNBDT_OVERHEAD_ROTATIONAL	SZ_1M

/* Bytes of the requests in which a window is given */
#define RNBDT_WINDOW_BYTES		4096

RNBD_PARAM_UINT(storage_window, 256, 0, 65536,
		"requests of 4 KiB that the storage of an export gets at a time before those of different hosts take turns, unless the export has a window; 0: any number; read when an export is enabled");

RNBD_PARAM_UINT(rotational_window, 32, 0, 65536,
		"the same for rotational storage");

/**
 * struct rnbdt_sched_group - a host, or a session of a host, at one storage
 * @node: its place in the order; the lock of the scheduler
 * @entry: in rnbdt_sched.hosts, or in @members of its host; rnbdt_lock
 * @members: sessions of a host, struct rnbdt_sched_group, or attachments of a session,
 *	struct rnbdt_attach; rnbdt_lock
 * @key: the host or session; constant
 * @nr_users: attachments, or sessions; rnbdt_lock
 */
struct rnbdt_sched_group {
	struct rnbdt_drr_node node;
	struct list_head entry;
	struct list_head members;
	const void *key;
	u32 nr_users;
};

/**
 * struct rnbdt_sched_host - a host at one storage
 * @group: the host; the first member, by which the structure is freed
 * @own: lane of its requests while it is in a cgroup
 */
struct rnbdt_sched_host {
	struct rnbdt_sched_group group;
	struct rnbdt_lane own;
};

static const u32 rnbdt_equal_weight = RNBDT_WEIGHT_DEFAULT;

static LIST_HEAD(rnbdt_scheds);		/* rnbdt_lock */

/* Return the block device to which the requests of an export go, or NULL. */
static struct block_device *rnbdt_sched_bdev(const struct rnbdt_backend *be)
{
	if (!be->direct)
		return NULL;
	return be->bdev ?: file_inode(be->file)->i_sb->s_bdev;
}

/* Return the largest window that an export of the storage asks for. */
static u32 rnbdt_sched_window(const struct rnbdt_sched *sched)
{
	bool rotational = sched->overhead == RNBDT_OVERHEAD_ROTATIONAL;
	u32 otherwise = rotational ? READ_ONCE(rotational_window) : READ_ONCE(storage_window);
	const struct rnbdt_backend *be;
	u32 window = 0;

	list_for_each_entry(be, &sched->backends, sched_entry) {
		if (!be->window && !otherwise)
			return 0;
		window = max(window, be->window ?: otherwise);
	}
	return window;
}

static void rnbdt_sched_update(struct rnbdt_sched *sched)
{
	u32 requests = rnbdt_sched_window(sched);
	s64 window = S64_MAX / 2;

	lockdep_assert_held(&rnbdt_lock);

	if (requests)
		window = requests * (s64)rnbdt_drr_cost(sched->overhead, RNBDT_WINDOW_BYTES);
	WRITE_ONCE(sched->window, window);
	WRITE_ONCE(sched->low, window - window / 8);
}

static void rnbdt_lane_init(struct rnbdt_lane *lane, struct rnbdt_sched *sched)
{
	lane->sched = sched;
	rnbdt_drr_init_root(&lane->root, sched->overhead);
}

static struct rnbdt_sched *rnbdt_sched_find(const void *key)
{
	struct rnbdt_sched *sched;

	if (!key)
		return NULL;
	list_for_each_entry(sched, &rnbdt_scheds, entry)
		if (sched->key == key)
			return sched;
	return NULL;
}

/**
 * rnbdt_sched_open - give a backend a scheduler
 * @be: open backend
 * @window: requests that the storage gets at a time; 0: the module parameter applies
 *
 * Context: process context; takes rnbdt_lock, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_sched_open(struct rnbdt_backend *be, u32 window)
{
	struct block_device *bdev = rnbdt_sched_bdev(be);
	struct rnbdt_sched *sched, *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);

	if (!fresh)
		return -ENOMEM;
	fresh->key = bdev ? bdev_get_queue(bdev) : NULL;
	fresh->overhead = bdev && bdev_rot(bdev) ? RNBDT_OVERHEAD_ROTATIONAL : RNBDT_OVERHEAD;
	fresh->direct = be->direct;
	spin_lock_init(&fresh->lock);
	rnbdt_lane_init(&fresh->shared, fresh);
	INIT_LIST_HEAD(&fresh->backends);
	INIT_LIST_HEAD(&fresh->hosts);

	mutex_lock(&rnbdt_lock);
	sched = rnbdt_sched_find(fresh->key);
	if (!sched) {
		sched = fresh;
		fresh = NULL;
		list_add_tail(&sched->entry, &rnbdt_scheds);
	}
	be->sched = sched;
	be->window = window;
	list_add_tail(&be->sched_entry, &sched->backends);
	rnbdt_sched_update(sched);
	mutex_unlock(&rnbdt_lock);
	kfree(fresh);
	return 0;
}

/**
 * rnbdt_sched_close - undo rnbdt_sched_open()
 * @be: backend without attachments
 *
 * Context: process context; takes rnbdt_lock.
 */
void rnbdt_sched_close(struct rnbdt_backend *be)
{
	struct rnbdt_sched *sched = be->sched;

	mutex_lock(&rnbdt_lock);
	list_del(&be->sched_entry);
	be->sched = NULL;
	if (!list_empty(&sched->backends)) {
		rnbdt_sched_update(sched);
	} else {
		list_del(&sched->entry);
		kfree(sched);
	}
	mutex_unlock(&rnbdt_lock);
}

/**
 * rnbdt_sched_set_window - change the window of an export
 * @be: backend with a scheduler
 * @window: requests that the storage gets at a time; 0: the module parameter applies
 *
 * If exports share the storage, the largest of their windows applies.
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_sched_set_window(struct rnbdt_backend *be, u32 window)
{
	struct rnbdt_sched_host *host;

	lockdep_assert_held(&rnbdt_lock);

	be->window = window;
	rnbdt_sched_update(be->sched);
	/* The storage may take long to complete the next request. */
	rnbdt_sched_run(&be->sched->shared);
	list_for_each_entry(host, &be->sched->hosts, group.entry)
		rnbdt_sched_run(&host->own);
}

/**
 * rnbdt_sched_alloc - allocate what an attachment needs at a storage
 * @att: new attachment
 *
 * Context: process context; may sleep.
 * Return: true, or false without memory.
 */
bool rnbdt_sched_alloc(struct rnbdt_attach *att)
{
	struct rnbdt_sched_host *host = kzalloc(sizeof(*host), GFP_KERNEL);

	att->sched_host = host ? &host->group : NULL;
	att->sched_session = kzalloc(sizeof(*att->sched_session), GFP_KERNEL);
	if (att->sched_host && att->sched_session)
		return true;
	rnbdt_sched_free(att);
	return false;
}

/**
 * rnbdt_sched_free - undo rnbdt_sched_alloc()
 * @att: attachment without a scheduler
 *
 * Context: any.
 */
void rnbdt_sched_free(struct rnbdt_attach *att)
{
	kfree(att->sched_host);
	kfree(att->sched_session);
	att->sched_host = NULL;
	att->sched_session = NULL;
}

/*
 * Find the group of @key in a list, or add @fresh for it, below @parent; the other one is
 * freed.
 */
static struct rnbdt_sched_group *rnbdt_sched_join(struct list_head *groups, const void *key,
						  struct rnbdt_drr_node *parent,
						  const u32 *weight,
						  struct rnbdt_sched_group *fresh)
{
	struct rnbdt_sched_group *group;

	list_for_each_entry(group, groups, entry) {
		if (group->key != key)
			continue;
		kfree(fresh);
		group->nr_users++;
		return group;
	}
	rnbdt_drr_init(&fresh->node, parent, weight, false);
	INIT_LIST_HEAD(&fresh->members);
	fresh->key = key;
	fresh->nr_users = 1;
	list_add_tail(&fresh->entry, groups);
	return fresh;
}

static void rnbdt_sched_part(struct rnbdt_sched_group *group)
{
	if (--group->nr_users)
		return;
	list_del(&group->entry);
	kfree(group);
}

/* Return the lane that a host should have at a storage. */
static struct rnbdt_lane *rnbdt_sched_lane(struct rnbdt_sched *sched,
					   const struct rnbdt_host *host,
					   struct rnbdt_sched_group *group)
{
	if (!host->in_cgroup || !sched->direct)
		return &sched->shared;
	return &container_of(group, struct rnbdt_sched_host, group)->own;
}

static void rnbdt_sched_set_lane(struct rnbdt_attach *att, struct rnbdt_lane *lane)
{
	WRITE_ONCE(att->lane, lane);
	WRITE_ONCE(att->in_cgroup, lane != &att->sched->shared);
}

/**
 * rnbdt_sched_add - add an attachment to the scheduler of its backend
 * @att: attachment with a backend, and what rnbdt_sched_alloc() has allocated
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_sched_add(struct rnbdt_attach *att)
{
	struct rnbdt_sched *sched = att->backend->sched;
	struct rnbdt_host *host = att->session->host;
	struct rnbdt_sched_host *fresh = container_of(att->sched_host, struct rnbdt_sched_host,
						      group);
	struct rnbdt_lane *lane = rnbdt_sched_lane(sched, host, att->sched_host);

	lockdep_assert_held(&rnbdt_lock);

	rnbdt_lane_init(&fresh->own, sched);
	att->sched_host = rnbdt_sched_join(&sched->hosts, host, &lane->root, &host->weight,
					   att->sched_host);
	att->sched_session = rnbdt_sched_join(&att->sched_host->members, att->session,
					      &att->sched_host->node, &rnbdt_equal_weight,
					      att->sched_session);
	rnbdt_drr_init(&att->disk, &att->sched_session->node, &rnbdt_equal_weight, true);
	att->sched = sched;
	/* The host may have been there, with a lane of its own. */
	rnbdt_sched_set_lane(att, rnbdt_sched_lane(sched, host, att->sched_host));
	list_add_tail(&att->sched_entry, &att->sched_session->members);
}

/**
 * rnbdt_sched_remove - undo rnbdt_sched_add()
 * @att: attachment without requests
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_sched_remove(struct rnbdt_attach *att)
{
	lockdep_assert_held(&rnbdt_lock);

	list_del(&att->sched_entry);
	rnbdt_sched_part(att->sched_session);
	rnbdt_sched_part(att->sched_host);
	att->sched_session = NULL;
	att->sched_host = NULL;
	att->lane = NULL;
	att->sched = NULL;
}

/* Let requests leave the order while the storage has room. Called under the lock. */
static void rnbdt_sched_take(struct rnbdt_lane *lane, struct list_head *ready)
{
	struct rnbdt_sched *sched = lane->sched;
	struct rnbdt_drr_item *item;

	lockdep_assert_held(&sched->lock);

	if (atomic64_read(&lane->in_flight) > READ_ONCE(sched->low))
		return;
	while (lane->root.queued &&
	       atomic64_read(&lane->in_flight) < READ_ONCE(sched->window)) {
		item = rnbdt_drr_next(&lane->root);
		atomic64_add(item->cost, &lane->in_flight);
		list_add_tail(&item->entry, ready);
	}
}

/*
 * Submit requests that have left the order. Any of them may be gone once it is in the list
 * of its work item, except the one that made that list not empty: this context alone
 * queues the work item for it.
 */
static void rnbdt_sched_submit(struct list_head *ready)
{
	struct rnbdt_req *treq, *next;

	list_for_each_entry_safe(treq, next, ready, item.entry) {
		struct rnbdt_host *host = treq->queue->session->host;
		struct rnbdt_submit *submit = treq->submit;

		atomic64_dec(&host->waits.queued);
		atomic64_add(treq->req.length, &host->waits.bytes);
		if (llist_add(&treq->todo, &submit->todo))
			queue_work(submit->att->backend->io_wq, &submit->submit_work);
	}
}

/* Submit requests that have left the order although the storage may have no room. */
static void rnbdt_sched_force(struct list_head *ready)
{
	struct rnbdt_req *treq;

	list_for_each_entry(treq, ready, item.entry)
		atomic64_add(treq->item.cost, &treq->lane->in_flight);
	rnbdt_sched_submit(ready);
}

/* Take all requests of a host out of the order. Called under the lock. */
static void rnbdt_sched_empty(struct rnbdt_sched_group *group, struct list_head *ready)
{
	struct rnbdt_sched_group *session;
	struct rnbdt_attach *att;

	list_for_each_entry(session, &group->members, entry)
		list_for_each_entry(att, &session->members, sched_entry) {
			bool closed = att->disk.closed;

			rnbdt_drr_close(&att->disk, ready);
			att->disk.closed = closed;
		}
}

/* Move a host, none of whose requests waits, to another lane. Called under the lock. */
static void rnbdt_sched_move(struct rnbdt_sched_group *group, const struct rnbdt_host *host,
			     struct rnbdt_lane *lane)
{
	struct rnbdt_sched_group *session;
	struct rnbdt_attach *att;

	rnbdt_drr_init(&group->node, &lane->root, &host->weight, false);
	list_for_each_entry(session, &group->members, entry) {
		rnbdt_drr_init(&session->node, &group->node, &rnbdt_equal_weight, false);
		list_for_each_entry(att, &session->members, sched_entry) {
			struct rnbdt_drr_node old = att->disk;

			rnbdt_drr_init(&att->disk, &session->node, &rnbdt_equal_weight, true);
			att->disk.closed = old.closed;
			att->disk.ahead = old.ahead;
			rnbdt_sched_set_lane(att, lane);
		}
	}
}

/**
 * rnbdt_sched_move_host - move a host to a lane of its own, or back to that of all
 * @host: host whose member in_cgroup has changed
 *
 * Its requests that wait are submitted at once.
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_sched_move_host(struct rnbdt_host *host)
{
	struct rnbdt_sched_group *group;
	struct rnbdt_sched *sched;
	unsigned long flags;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry(sched, &rnbdt_scheds, entry)
		list_for_each_entry(group, &sched->hosts, entry) {
			LIST_HEAD(ready);

			if (group->key != host)
				continue;
			spin_lock_irqsave(&sched->lock, flags);
			rnbdt_sched_empty(group, &ready);
			rnbdt_sched_move(group, host, rnbdt_sched_lane(sched, host, group));
			spin_unlock_irqrestore(&sched->lock, flags);
			rnbdt_sched_force(&ready);
			break;
		}
}

/**
 * rnbdt_sched_wait - let a request wait, unless it need not
 * @treq: request with a cost, which no lane includes
 *
 * Called by rnbdt_sched_enter() only.
 *
 * Context: any; does not sleep.
 * Return: as rnbdt_sched_enter().
 */
bool rnbdt_sched_wait(struct rnbdt_req *treq)
{
	struct rnbdt_sched *sched = treq->att->sched;
	struct rnbdt_host *host = treq->queue->session->host;
	bool flush = treq->req.op == RNBD_OP_FLUSH;
	struct rnbdt_lane *lane;
	LIST_HEAD(ready);
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	/* The host may have changed its lane. */
	lane = treq->att->lane;
	treq->lane = lane;
	if ((flush && rnbdt_drr_pass(&treq->att->disk, &treq->item)) ||
	    !rnbdt_drr_add(&treq->att->disk, &treq->item)) {
		spin_unlock_irqrestore(&sched->lock, flags);
		atomic64_add(treq->item.cost, &lane->in_flight);
		return true;
	}
	atomic64_inc(&host->waits.queued);
	atomic64_inc(&host->waits.requests);
	/* Pairs with the barrier in rnbdt_sched_leave(). */
	smp_mb();
	rnbdt_sched_take(lane, &ready);
	spin_unlock_irqrestore(&sched->lock, flags);
	rnbdt_sched_submit(&ready);
	return false;
}

/**
 * rnbdt_sched_run - submit requests that have waited, if the storage has room
 * @lane: lane of a scheduler that stays
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_run(struct rnbdt_lane *lane)
{
	struct rnbdt_sched *sched = lane->sched;
	LIST_HEAD(ready);
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	rnbdt_sched_take(lane, &ready);
	spin_unlock_irqrestore(&sched->lock, flags);
	rnbdt_sched_submit(&ready);
}

/**
 * rnbdt_sched_passed - note the end of a FLUSH that has passed ahead of the order
 * @treq: FLUSH
 *
 * Called by rnbdt_sched_leave() only.
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_passed(struct rnbdt_req *treq)
{
	struct rnbdt_sched *sched = treq->att->sched;
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	rnbdt_drr_passed(&treq->att->disk);
	spin_unlock_irqrestore(&sched->lock, flags);
}

/**
 * rnbdt_sched_release - let no request of an attachment wait any more
 * @att: attachment that closes: rnbdt_may_submit() refuses its requests
 *
 * Context: any; does not sleep.
 */
void rnbdt_sched_release(struct rnbdt_attach *att)
{
	struct rnbdt_sched *sched = att->sched;
	LIST_HEAD(ready);
	unsigned long flags;

	spin_lock_irqsave(&sched->lock, flags);
	rnbdt_drr_close(&att->disk, &ready);
	spin_unlock_irqrestore(&sched->lock, flags);
	rnbdt_sched_force(&ready);
}
