// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness of service: schedulers of storage, and the hosts and sessions that share them.
 *
 * Operation
 *
 * Exports share a scheduler if their requests go to the same request queue, for example if they
 * are partitions of one disk. An export that uses the page cache, or a file of a file system
 * without a block device, has no request queue, and therefore its own scheduler. The window is
 * configured as a number of requests of 4 KiB; a longer request costs more. On a rotational
 * device the constant part of the cost is larger, because of the seek. Each scheduler has nodes
 * for its hosts, their sessions and their attachments; drr.c selects waiting requests by these
 * nodes (sched.c).
 *
 * A host that is in a cgroup has a lane of its own at each storage whose I/O bypasses the page
 * cache: a window, and a tree of waiting requests. The block layer can hold back the requests of
 * such a host for long. In a common window they would displace the requests of other hosts. So
 * the cgroup decides the share of such a host, and not this scheduler.
 *
 * Ownership
 *
 * Exports share the ownership of their scheduler, from enable to the end of disable. An
 * attachment owns the node of its disk, and shares the ownership of the groups of its session
 * and its host at this storage. The group of a host contains the lane that the host uses while it
 * is in a cgroup.
 *
 * Concurrency
 *
 * Schedulers are added and removed, and hosts change their lanes, with rnbdt_lock held for
 * writing. Groups are added and removed under the host lock, and under rnbdt_group_lock, because
 * hosts share the lists. When a host changes its lane, its waiting requests are submitted at
 * once.
 *
 * Errors: if there is no memory for a scheduler or a group, enabling or attaching the export
 * fails.
 */

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../compat/block.h"
#include "../core/param.h"
#include "backend.h"
#include "graph.h"
#include "sched.h"
#include "sched_group.h"
#include "session.h"
#include "target.h"

/* Constant part of the cost of a request, in bytes */
#define RNBDT_OVERHEAD			SZ_16K
#define RNBDT_OVERHEAD_ROTATIONAL	SZ_1M

/* A window is configured as a number of requests of this length in bytes. */
#define RNBDT_WINDOW_BYTES		4096

RNBD_PARAM_UINT(storage_window, 256, 0, 65536,
		"requests of 4 KiB that the storage of an export gets at a time before those of different hosts take turns, unless the export has a window; 0: any number; read when an export is enabled");

RNBD_PARAM_UINT(rotational_window, 32, 0, 65536,
		"as storage_window, for rotational storage");

/**
 * struct rnbdt_sched_group - a host, or a session of a host, at one storage
 * @node: node of the host or session; lock of the scheduler
 * @entry: in rnbdt_sched.hosts, or in @members of the group of the host; rnbdt_group_lock
 * @hash_entry: in the hash table of groups, by @groups and @key; rnbdt_group_lock
 * @groups: list that contains @entry; constant
 * @members: sessions of a host, struct rnbdt_sched_group, or attachments of a session,
 *	struct rnbdt_attach; rnbdt_group_lock
 * @key: the host or session; constant
 * @nr_users: attachments that use the group; rnbdt_group_lock
 */
struct rnbdt_sched_group {
	struct rnbdt_drr_node node;
	struct list_head entry;
	struct hlist_node hash_entry;
	struct list_head *groups;
	struct list_head members;
	const void *key;
	u32 nr_users;
};

/**
 * struct rnbdt_sched_host - a host at one storage
 * @group: group of the host; must be the first member, because kfree() of its address frees the
 *	whole structure
 * @own: lane of the host while it is in a cgroup
 */
struct rnbdt_sched_host {
	struct rnbdt_sched_group group;
	struct rnbdt_lane own;
};

static const u32 rnbdt_equal_weight = RNBDT_WEIGHT_DEFAULT;

/* Sizes of the hash tables in bits: a target can have thousands of schedulers and groups */
#define RNBDT_SCHED_BITS	10
#define RNBDT_GROUP_BITS	12

static DEFINE_HASHTABLE(rnbdt_scheds, RNBDT_SCHED_BITS);	/* rnbdt_lock */
/*
 * Protects the groups while rnbdt_lock is held for reading; not needed while rnbdt_lock is held
 * for writing
 */
static DEFINE_SPINLOCK(rnbdt_group_lock);
static DEFINE_HASHTABLE(rnbdt_groups, RNBDT_GROUP_BITS);	/* rnbdt_group_lock */

/* Return the block device to which an export sends its requests directly, or NULL. */
static struct block_device *rnbdt_sched_bdev(const struct rnbdt_backend *be)
{
	if (!be->direct)
		return NULL;
	return be->bdev ?: file_inode(be->file)->i_sb->s_bdev;
}

/* Return the largest window of the exports of a scheduler, in requests of 4 KiB; 0: no limit. */
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

	lockdep_assert_held_write(&rnbdt_lock);

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
	hash_for_each_possible(rnbdt_scheds, sched, entry, (unsigned long)key)
		if (sched->key == key)
			return sched;
	return NULL;
}

/**
 * rnbdt_sched_open - assign a scheduler to a backend
 * @be: open backend
 * @window: window of the export in requests of 4 KiB, or 0 for the module parameter
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

	down_write(&rnbdt_lock);
	sched = rnbdt_sched_find(fresh->key);
	if (!sched) {
		sched = fresh;
		fresh = NULL;
		hash_add(rnbdt_scheds, &sched->entry, (unsigned long)sched->key);
	}
	be->sched = sched;
	be->window = window;
	list_add_tail(&be->sched_entry, &sched->backends);
	rnbdt_sched_update(sched);
	up_write(&rnbdt_lock);
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

	down_write(&rnbdt_lock);
	list_del(&be->sched_entry);
	be->sched = NULL;
	if (!list_empty(&sched->backends)) {
		rnbdt_sched_update(sched);
	} else {
		hash_del(&sched->entry);
		kfree(sched);
	}
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_sched_set_window - change the window of an export
 * @be: backend with a scheduler
 * @window: window of the export in requests of 4 KiB, or 0 for the module parameter
 *
 * If several exports share the scheduler, the largest of their windows applies.
 *
 * Context: process context, rnbdt_lock held for writing.
 */
void rnbdt_sched_set_window(struct rnbdt_backend *be, u32 window)
{
	struct rnbdt_sched_host *host;

	lockdep_assert_held_write(&rnbdt_lock);

	be->window = window;
	rnbdt_sched_update(be->sched);
	/* A larger window admits waiting requests now; the next completion can take long. */
	rnbdt_sched_run(&be->sched->shared);
	list_for_each_entry(host, &be->sched->hosts, group.entry)
		rnbdt_sched_run(&host->own);
}

/**
 * rnbdt_sched_alloc - allocate the groups that an attachment possibly needs at a storage
 * @att: new attachment
 *
 * Context: process context; may sleep.
 * Return: true, or false if there is no memory.
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

static unsigned long rnbdt_group_hash(const struct list_head *groups, const void *key)
{
	return (unsigned long)groups ^ hash_ptr(key, BITS_PER_LONG);
}

static struct rnbdt_sched_group *rnbdt_group_find(const struct list_head *groups,
						  const void *key)
{
	struct rnbdt_sched_group *group;

	hash_for_each_possible(rnbdt_groups, group, hash_entry, rnbdt_group_hash(groups, key))
		if (group->groups == groups && group->key == key)
			return group;
	return NULL;
}

/*
 * Find the group of @key in the list @groups, return it and free @fresh. If there is none,
 * initialise @fresh as the group of @key, with a node below @parent, and return @fresh.
 */
static struct rnbdt_sched_group *rnbdt_sched_join(struct list_head *groups, const void *key,
						  struct rnbdt_drr_node *parent,
						  const u32 *weight,
						  struct rnbdt_sched_group *fresh)
{
	struct rnbdt_sched_group *group = rnbdt_group_find(groups, key);

	lockdep_assert_held(&rnbdt_group_lock);

	if (group) {
		kfree(fresh);
		group->nr_users++;
		return group;
	}
	rnbdt_drr_init(&fresh->node, parent, weight, false);
	INIT_LIST_HEAD(&fresh->members);
	fresh->key = key;
	fresh->nr_users = 1;
	fresh->groups = groups;
	list_add_tail(&fresh->entry, groups);
	hash_add(rnbdt_groups, &fresh->hash_entry, rnbdt_group_hash(groups, key));
	return fresh;
}

static void rnbdt_sched_part(struct rnbdt_sched_group *group)
{
	if (--group->nr_users)
		return;
	list_del(&group->entry);
	hash_del(&group->hash_entry);
	kfree(group);
}

/* Return the lane that a host must use at a storage. */
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
 * @att: attachment that has a backend and the groups of rnbdt_sched_alloc()
 *
 * Context: process context, host lock held.
 */
void rnbdt_sched_add(struct rnbdt_attach *att)
{
	struct rnbdt_sched *sched = att->backend->sched;
	struct rnbdt_host *host = att->session->host;
	struct rnbdt_sched_host *fresh = container_of(att->sched_host, struct rnbdt_sched_host,
						      group);
	struct rnbdt_lane *lane = rnbdt_sched_lane(sched, host, att->sched_host);

	rnbdt_assert_host(host);

	rnbdt_lane_init(&fresh->own, sched);
	spin_lock(&rnbdt_group_lock);
	att->sched_host = rnbdt_sched_join(&sched->hosts, host, &lane->root, &host->weight,
					   att->sched_host);
	att->sched_session = rnbdt_sched_join(&att->sched_host->members, att->session,
					      &att->sched_host->node, &rnbdt_equal_weight,
					      att->sched_session);
	rnbdt_drr_init(&att->disk, &att->sched_session->node, &rnbdt_equal_weight, true);
	att->sched = sched;
	/* Select the lane again: if the host already had a group, that group contains the lane. */
	rnbdt_sched_set_lane(att, rnbdt_sched_lane(sched, host, att->sched_host));
	list_add_tail(&att->sched_entry, &att->sched_session->members);
	spin_unlock(&rnbdt_group_lock);
}

/**
 * rnbdt_sched_remove - undo rnbdt_sched_add()
 * @att: attachment without requests
 *
 * Context: process context, host lock held.
 */
void rnbdt_sched_remove(struct rnbdt_attach *att)
{
	rnbdt_assert_host(att->session->host);

	spin_lock(&rnbdt_group_lock);
	list_del(&att->sched_entry);
	rnbdt_sched_part(att->sched_session);
	rnbdt_sched_part(att->sched_host);
	spin_unlock(&rnbdt_group_lock);
	att->sched_session = NULL;
	att->sched_host = NULL;
	att->lane = NULL;
	att->sched = NULL;
}

/* Dequeue all waiting requests of a host. Called under the lock of the scheduler. */
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

/* Move a node, below which no request waits, to @parent. FLUSHes that passed ahead stay counted. */
static void rnbdt_sched_move_node(struct rnbdt_drr_node *node, struct rnbdt_drr_node *parent,
				  const u32 *weight)
{
	const struct rnbdt_drr_node old = *node;

	rnbdt_drr_init(node, parent, weight, old.leaf);
	node->closed = old.closed;
	node->ahead = old.ahead;
}

/* Move a host without waiting requests to another lane. Called under the lock of the scheduler. */
static void rnbdt_sched_move(struct rnbdt_sched_group *group, const struct rnbdt_host *host,
			     struct rnbdt_lane *lane)
{
	struct rnbdt_sched_group *session;
	struct rnbdt_attach *att;

	rnbdt_sched_move_node(&group->node, &lane->root, &host->weight);
	list_for_each_entry(session, &group->members, entry) {
		rnbdt_sched_move_node(&session->node, &group->node, &rnbdt_equal_weight);
		list_for_each_entry(att, &session->members, sched_entry) {
			rnbdt_sched_move_node(&att->disk, &session->node, &rnbdt_equal_weight);
			rnbdt_sched_set_lane(att, lane);
		}
	}
}

/**
 * rnbdt_sched_move_host - move a host to its own lane or back to the shared one, at each storage
 * @host: host whose member in_cgroup has changed
 *
 * The waiting requests of the host are submitted at once, even if the windows are full.
 *
 * Context: process context, rnbdt_lock held for writing.
 */
void rnbdt_sched_move_host(struct rnbdt_host *host)
{
	struct rnbdt_sched_group *group;
	struct rnbdt_sched *sched;
	unsigned long flags;
	int bucket;

	lockdep_assert_held_write(&rnbdt_lock);

	hash_for_each(rnbdt_scheds, bucket, sched, entry) {
		LIST_HEAD(ready);

		group = rnbdt_group_find(&sched->hosts, host);
		if (!group)
			continue;
		spin_lock_irqsave(&sched->lock, flags);
		rnbdt_sched_empty(group, &ready);
		rnbdt_sched_move(group, host, rnbdt_sched_lane(sched, host, group));
		spin_unlock_irqrestore(&sched->lock, flags);
		rnbdt_sched_force(&ready);
	}
}
