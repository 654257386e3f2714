// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: hosts/<uuid>/, the limits and the fencing of a host.
 *
 * Operation: the name of the directory is the id of the host. The max_* limits apply to later
 * logins, and max_pool_bytes also to the growth of pools; 0 selects the module parameter. A new
 * weight applies at once. Userspace saves the content of fence_state and restores it, see fence.c.
 * configfs_secret.c and configfs_cgroup.c have the attributes of the secrets and of the cgroup.
 *
 * Ownership: a host is freed with the last reference on its directory; each session holds one.
 * rmdir requires that no export links to the host, and closes connections of the host that are
 * left, for example those that have not logged in. The host cannot be created again until its
 * last session has been freed.
 *
 * Concurrency: stores take rnbdt_lock for writing, which excludes all code that locks a host.
 * fence_state, fence_done and active_sessions are read with the host locked.
 *
 * Errors: a refused store is logged with the valid values, unless its value is an invalid boolean.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>

#include "auth.h"
#include "cgroup.h"
#include "claim.h"
#include "configfs_cgroup.h"
#include "configfs_host.h"
#include "configfs_secret.h"
#include "drr.h"
#include "fence.h"
#include "graph.h"
#include "state.h"
#include "target.h"

/* A limit of a host; if its value is 0, the module parameter applies. */
struct rnbdt_host_limit {
	const char *name;
	size_t offset;		/* in struct rnbdt_host */
	u64 max;
};

static u64 *rnbdt_host_limit(struct config_item *item, const struct rnbdt_host_limit *limit)
{
	return (void *)rnbdt_to_host(item) + limit->offset;
}

static ssize_t rnbdt_host_show_limit(struct config_item *item, char *page,
				     const struct rnbdt_host_limit *limit)
{
	u64 value;

	down_read(&rnbdt_lock);
	value = *rnbdt_host_limit(item, limit);
	up_read(&rnbdt_lock);
	return sysfs_emit(page, "%llu\n", value);
}

/* A changed limit applies to later logins and grants. The store itself reclaims no memory. */
static ssize_t rnbdt_host_store_limit(struct config_item *item, const char *page,
				      size_t count, const struct rnbdt_host_limit *limit)
{
	u64 value;
	int ret;

	ret = kstrtou64(page, 0, &value);
	if (!ret && value > limit->max)
		ret = -ERANGE;
	if (ret) {
		pr_err("host %s: %s is a number up to %llu, 0 for no limit of its own\n",
		       config_item_name(item), limit->name, limit->max);
		return ret;
	}
	down_write(&rnbdt_lock);
	*rnbdt_host_limit(item, limit) = value;
	up_write(&rnbdt_lock);
	return count;
}

/* Define the attribute of a limit. The member of struct rnbdt_host has the same name. */
#define RNBDT_HOST_LIMIT(_name, _max)						\
static const struct rnbdt_host_limit rnbdt_host_limit_##_name = {		\
	#_name, offsetof(struct rnbdt_host, _name), _max			\
};										\
										\
static ssize_t rnbdt_host_##_name##_show(struct config_item *item, char *page)	\
{										\
	return rnbdt_host_show_limit(item, page, &rnbdt_host_limit_##_name);	\
}										\
										\
static ssize_t rnbdt_host_##_name##_store(struct config_item *item,		\
					  const char *page, size_t count)	\
{										\
	return rnbdt_host_store_limit(item, page, count,			\
				      &rnbdt_host_limit_##_name);		\
}

RNBDT_HOST_LIMIT(max_pool_bytes, S64_MAX)
CONFIGFS_ATTR(rnbdt_host_, max_pool_bytes);
RNBDT_HOST_LIMIT(max_session_pool_bytes, S64_MAX)
CONFIGFS_ATTR(rnbdt_host_, max_session_pool_bytes);
RNBDT_HOST_LIMIT(max_sessions, U32_MAX)
CONFIGFS_ATTR(rnbdt_host_, max_sessions);

static ssize_t rnbdt_host_fenced_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(rnbdt_to_host(item)->fence.fenced));
}

static ssize_t rnbdt_host_fenced_store(struct config_item *item, const char *page,
				       size_t count)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	bool fenced;
	int ret;

	/* "begin" does not wait: the writer polls fence_done or active_sessions. */
	if (sysfs_streq(page, "begin")) {
		ret = rnbdt_fence_begin(host) ? 0 : -EOVERFLOW;
	} else {
		ret = kstrtobool(page, &fenced);
		if (ret)
			return ret;
		if (fenced)
			ret = rnbdt_fence_host(host);
		else
			rnbdt_unfence_host(host);
	}
	if (ret == -EOVERFLOW)
		pr_err("host %s: its fence generation has reached the maximum\n",
		       config_item_name(item));
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_host_, fenced);

/* State for userspace to save: GENERATION FENCED BOOT-ID */
static ssize_t rnbdt_host_fence_state_show(struct config_item *item, char *page)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	struct rnbdt_fence fence;

	rnbdt_host_lock(host);
	fence = host->fence;
	rnbdt_host_unlock(host);
	return sysfs_emit(page, "%u %d %pUb\n", fence.generation, fence.fenced,
			  &fence.boot_id);
}

static ssize_t rnbdt_host_fence_state_store(struct config_item *item, const char *page,
					    size_t count)
{
	char boot_id[UUID_STRING_LEN + 1];
	struct rnbdt_fence fence = { };
	unsigned int fenced;
	u64 generation;
	char end;

	if (sscanf(page, "%11llu %1u %36s %c", &generation, &fenced, boot_id, &end) != 3 ||
	    !generation || generation > RNBDT_GENERATION_MAX || fenced > 1 ||
	    uuid_parse(boot_id, &fence.boot_id)) {
		pr_err("host %s: fence_state must be a value that was read from it: GENERATION FENCED BOOT-ID\n",
		       config_item_name(item));
		return -EINVAL;
	}
	fence.generation = generation;
	fence.fenced = fenced;
	rnbdt_fence_restore(rnbdt_to_host(item), &fence);
	return count;
}
CONFIGFS_ATTR(rnbdt_host_, fence_state);

static ssize_t rnbdt_host_fence_done_show(struct config_item *item, char *page)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	u32 done;

	rnbdt_host_lock(host);
	done = rnbdt_fence_done(host);
	rnbdt_host_unlock(host);
	return sysfs_emit(page, "%u\n", done);
}
CONFIGFS_ATTR_RO(rnbdt_host_, fence_done);

static ssize_t rnbdt_host_active_sessions_show(struct config_item *item, char *page)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	u32 nr;

	rnbdt_host_lock(host);
	nr = rnbdt_sessions_active(host);
	rnbdt_host_unlock(host);
	return sysfs_emit(page, "%u\n", nr);
}
CONFIGFS_ATTR_RO(rnbdt_host_, active_sessions);

static ssize_t rnbdt_host_unfence_on_restart_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(rnbdt_to_host(item)->unfence_on_restart));
}

static ssize_t rnbdt_host_unfence_on_restart_store(struct config_item *item,
						   const char *page, size_t count)
{
	struct rnbdt_host *host = rnbdt_to_host(item);
	bool on;
	int ret;

	ret = kstrtobool(page, &on);
	if (ret)
		return ret;
	down_write(&rnbdt_lock);
	host->unfence_on_restart = on;
	up_write(&rnbdt_lock);
	return count;
}
CONFIGFS_ATTR(rnbdt_host_, unfence_on_restart);

#define RNBDT_HOST_COUNTER(_name, _counter)					\
static ssize_t rnbdt_host_##_name##_show(struct config_item *item, char *page)	\
{										\
	struct rnbdt_host *host = rnbdt_to_host(item);				\
										\
	return sysfs_emit(page, "%lld\n", atomic64_read(&(_counter)));		\
}

RNBDT_HOST_COUNTER(authentication_failures, host->authentication_failures)
CONFIGFS_ATTR_RO(rnbdt_host_, authentication_failures);
RNBDT_HOST_COUNTER(stale_frames, host->stale_frames)
CONFIGFS_ATTR_RO(rnbdt_host_, stale_frames);
RNBDT_HOST_COUNTER(late_requests, host->late_requests)
CONFIGFS_ATTR_RO(rnbdt_host_, late_requests);
RNBDT_HOST_COUNTER(queued_requests, host->waits.queued)
CONFIGFS_ATTR_RO(rnbdt_host_, queued_requests);
RNBDT_HOST_COUNTER(throttled_requests, host->waits.requests)
CONFIGFS_ATTR_RO(rnbdt_host_, throttled_requests);
RNBDT_HOST_COUNTER(throttled_bytes, host->waits.bytes)
CONFIGFS_ATTR_RO(rnbdt_host_, throttled_bytes);

static ssize_t rnbdt_host_logins_deferred_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%llu\n", READ_ONCE(rnbdt_to_host(item)->deferred.count));
}
CONFIGFS_ATTR_RO(rnbdt_host_, logins_deferred);

static ssize_t rnbdt_host_weight_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rnbdt_to_host(item)->weight));
}

/* The new weight applies at once: the scheduler reads it at each turn of the host. */
static ssize_t rnbdt_host_weight_store(struct config_item *item, const char *page,
				       size_t count)
{
	unsigned int weight;
	int ret;

	ret = kstrtouint(page, 0, &weight);
	if (!ret && (weight < RNBDT_WEIGHT_MIN || weight > RNBDT_WEIGHT_MAX))
		ret = -ERANGE;
	if (ret) {
		pr_err("host %s: weight is a number from %d to %d\n", config_item_name(item),
		       RNBDT_WEIGHT_MIN, RNBDT_WEIGHT_MAX);
		return ret;
	}
	down_write(&rnbdt_lock);
	WRITE_ONCE(rnbdt_to_host(item)->weight, weight);
	up_write(&rnbdt_lock);
	return count;
}
CONFIGFS_ATTR(rnbdt_host_, weight);

static ssize_t rnbdt_host_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rnbdt_to_host(item)->all_sessions));
}
CONFIGFS_ATTR_RO(rnbdt_host_, sessions);

static ssize_t rnbdt_host_io_stat_show(struct config_item *item, char *page)
{
	return rnbdt_iostat_show(&rnbdt_to_host(item)->iostat, page);
}
CONFIGFS_ATTR_RO(rnbdt_host_, io_stat);

static ssize_t rnbdt_host_io_errors_show(struct config_item *item, char *page)
{
	return rnbdt_iostat_show_errors(&rnbdt_to_host(item)->iostat, page);
}
CONFIGFS_ATTR_RO(rnbdt_host_, io_errors);

static struct configfs_attribute *rnbdt_host_attrs[] = {
	&rnbdt_host_attr_max_pool_bytes,
	&rnbdt_host_attr_max_session_pool_bytes,
	&rnbdt_host_attr_max_sessions,
	&rnbdt_host_attr_weight,
	&rnbdt_host_attr_cgroup,
	&rnbdt_host_attr_effective_cgroup,
	&rnbdt_host_attr_secret,
	&rnbdt_host_attr_has_secret,
	&rnbdt_host_attr_old_secret,
	&rnbdt_host_attr_has_old_secret,
	&rnbdt_host_attr_old_secret_sessions,
	&rnbdt_host_attr_stale_secret_sessions,
	&rnbdt_host_attr_authentication_failures,
	&rnbdt_host_attr_logins_deferred,
	&rnbdt_host_attr_stale_frames,
	&rnbdt_host_attr_late_requests,
	&rnbdt_host_attr_queued_requests,
	&rnbdt_host_attr_throttled_requests,
	&rnbdt_host_attr_throttled_bytes,
	&rnbdt_host_attr_fenced,
	&rnbdt_host_attr_fence_state,
	&rnbdt_host_attr_fence_done,
	&rnbdt_host_attr_active_sessions,
	&rnbdt_host_attr_unfence_on_restart,
	&rnbdt_host_attr_sessions,
	&rnbdt_host_attr_io_stat,
	&rnbdt_host_attr_io_errors,
	NULL,
};

static void rnbdt_host_release(struct config_item *item)
{
	struct rnbdt_host *host = rnbdt_to_host(item);

	down_write(&rnbdt_lock);
	rnbdt_claims_drop(host);
	hlist_del(&host->entry);
	up_write(&rnbdt_lock);
	rnbdt_secret_put(host->secret);
	rnbdt_secret_put(host->old_secret);
	rnbdt_cgroup_remove(host);
	rnbdt_iostat_exit(&host->iostat);
	xa_destroy(&host->allows);
	mutex_destroy(&host->lock);
	kfree(host);
}

static struct configfs_item_operations rnbdt_host_item_ops = {
	.release = rnbdt_host_release,
};

const struct config_item_type rnbdt_host_type = {
	.ct_owner       = THIS_MODULE,
	.ct_item_ops    = &rnbdt_host_item_ops,
	.ct_attrs       = rnbdt_host_attrs,
};

static struct config_group *rnbdt_hosts_make(struct config_group *group,
					     const char *name)
{
	struct rnbdt_host *host, *old;
	uuid_t uuid;
	int ret = 0;

	if (strlen(name) != UUID_STRING_LEN || uuid_parse(name, &uuid) ||
	    uuid_is_null(&uuid)) {
		pr_err("a host's name is its UUID\n");
		return ERR_PTR(-EINVAL);
	}
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return ERR_PTR(-ENOMEM);
	if (rnbdt_iostat_init(&host->iostat)) {
		kfree(host);
		return ERR_PTR(-ENOMEM);
	}
	mutex_init(&host->lock);
	host->uuid = uuid;
	host->weight = RNBDT_WEIGHT_DEFAULT;
	host->fence.generation = 1;
	xa_init(&host->allows);
	INIT_LIST_HEAD(&host->sessions);
	INIT_LIST_HEAD(&host->claims);
	INIT_LIST_HEAD(&host->share.entry);
	INIT_LIST_HEAD(&host->share.parts);
	INIT_LIST_HEAD(&host->cgroup_entry);

	/* Compare UUIDs: for configfs, names in upper and in lower case are different. */
	down_write(&rnbdt_lock);
	old = rnbdt_host_find(&uuid);
	if (old && old->removed)
		ret = -EBUSY;
	else if (old)
		ret = -EEXIST;
	else
		rnbdt_host_add(host);
	up_write(&rnbdt_lock);
	if (ret == -EBUSY)
		pr_err("host %s: still being removed, because the storage has requests of its sessions; try again when it has completed them\n",
		       name);
	if (ret) {
		rnbdt_iostat_exit(&host->iostat);
		kfree(host);
		return ERR_PTR(ret);
	}
	config_group_init_type_name(&host->group, name, &rnbdt_host_type);
	return &host->group;
}

static void rnbdt_hosts_drop(struct config_group *group,
			     struct config_item *item)
{
	struct rnbdt_host *host = rnbdt_to_host(item);

	down_write(&rnbdt_lock);
	host->removed = true;
	/* Drop the claims. As host->removed is set, sessions that are left add no claim. */
	rnbdt_claims_drop(host);
	up_write(&rnbdt_lock);
	/* No export links to the host, but connections that have not logged in can be left. */
	rnbdt_sessions_close(host, NULL, "the host was removed");
	config_item_put(item);
}

static struct configfs_group_operations rnbdt_hosts_ops = {
	.make_group	= rnbdt_hosts_make,
	.drop_item	= rnbdt_hosts_drop,
};

const struct config_item_type rnbdt_hosts_type = {
	.ct_owner       = THIS_MODULE,
	.ct_group_ops   = &rnbdt_hosts_ops,
};
