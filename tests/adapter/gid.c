// SPDX-License-Identifier: GPL-2.0-only
/*
 * GIDs: the addresses by which the modelled devices find each other.
 *
 * Operation: the RDMA core derives the GIDs of a RoCE port from the addresses of its network
 * device, and reports changes by add_gid() and del_gid(). mdl_find_gid() finds the device that
 * has a GID.
 *
 * Ownership: the RDMA core keeps the pointer to struct mdl_gid as the context of the GID.
 *
 * Concurrency: changes hold mdl_devices_lock; lookups use RCU.
 *
 * Errors: -ENOMEM.
 */
#include <linux/rculist.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "model.h"

LIST_HEAD(mdl_devices);
DEFINE_SPINLOCK(mdl_devices_lock);

struct mdl_gid {
	struct list_head entry;
	struct rcu_head rcu;
	union ib_gid gid;
};

/**
 * mdl_add_gid - add a GID to a port
 * @attr: GID
 * @context: output, struct mdl_gid
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mdl_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct mdl_dev *dev = mdl_dev_of(attr->device);
	struct mdl_gid *gid;

	gid = kzalloc(sizeof(*gid), GFP_KERNEL);
	if (!gid)
		return -ENOMEM;
	gid->gid = attr->gid;
	spin_lock_bh(&mdl_devices_lock);
	list_add_tail_rcu(&gid->entry, &dev->gids);
	spin_unlock_bh(&mdl_devices_lock);
	*context = gid;
	return 0;
}

/**
 * mdl_del_gid - remove a GID of a port
 * @attr: GID
 * @context: struct mdl_gid of the GID
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int mdl_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct mdl_gid *gid = *context;

	spin_lock_bh(&mdl_devices_lock);
	list_del_rcu(&gid->entry);
	spin_unlock_bh(&mdl_devices_lock);
	kfree_rcu(gid, rcu);
	return 0;
}

/**
 * mdl_find_gid - find the device that has a GID
 * @gid: GID
 *
 * Context: RCU read section.
 * Return: device, valid within the RCU read section, or NULL.
 */
struct mdl_dev *mdl_find_gid(const union ib_gid *gid)
{
	struct mdl_gid *entry;
	struct mdl_dev *dev;

	list_for_each_entry_rcu(dev, &mdl_devices, link)
		list_for_each_entry_rcu(entry, &dev->gids, entry)
			if (!memcmp(&entry->gid, gid, sizeof(*gid)))
				return dev;
	return NULL;
}
