// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hosts in cgroups of the target.
 *
 * Operation
 *
 * The administrator names a cgroup for a host (configfs_cgroup.c). From then on, requests of the
 * host for exports with direct I/O have a separate window (sched.c) and are charged to the cgroup
 * (blkcg.c). The kernel does not notify a module when cgroups change, so a work item checks
 * once per second whether another cgroup applies: the named cgroup was created or removed, or
 * it got or lost the io controller. A change is logged and reported to netlink listeners. A
 * change of the limits of a cgroup applies at once, without the work item.
 *
 * Ownership
 *
 * The list of this file contains each host that is in a cgroup; a host leaves the list before it
 * is freed.
 *
 * Concurrency
 *
 * rnbdt_cgroup_lock protects the list and the cgroups of all hosts, and is taken before
 * rnbdt_lock. Only the work item looks up cgroups, so the meaning of a path does not depend on
 * the cgroup namespace of the task that writes the attribute.
 *
 * Errors
 *
 * A cgroup that does not exist is not an error, see blkcg.c.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "blkcg.h"
#include "cgroup.h"
#include "graph.h"
#include "netlink.h"
#include "sched_group.h"
#include "target.h"

/* Jiffies between two checks whether another cgroup applies */
#define RNBDT_CGROUP_PERIOD	HZ

static DEFINE_MUTEX(rnbdt_cgroup_lock);	/* taken before rnbdt_lock */
static LIST_HEAD(rnbdt_cgroup_hosts);	/* hosts in a cgroup; rnbdt_cgroup_lock */

static void rnbdt_cgroup_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(rnbdt_cgroup_watch, rnbdt_cgroup_work);

static void rnbdt_cgroup_report(const struct rnbdt_host *host)
{
	const struct rnbdt_blkcg *cg = &host->blkcg;
	const char *applies = cg->applies ?: "an ancestor";

	if (!strcmp(cg->path, applies))
		pr_info_ratelimited("host %pUb: the limits of cgroup %s apply\n", &host->uuid,
				    applies);
	else
		pr_warn_ratelimited("host %pUb: cgroup %s does not exist or has no io controller: the limits of %s apply\n",
				    &host->uuid, cg->path, applies);
	rnbdt_netlink_cgroup(&host->uuid, cg->path, cg->applies);
}

static void rnbdt_cgroup_work(struct work_struct *work)
{
	/* Memory reclaim can wait for a disk whose login waits for this work queue. */
	unsigned int noio = memalloc_noio_save();
	struct rnbdt_host *host;
	bool some;

	mutex_lock(&rnbdt_cgroup_lock);
	list_for_each_entry(host, &rnbdt_cgroup_hosts, cgroup_entry)
		if (rnbdt_blkcg_update(&host->blkcg))
			rnbdt_cgroup_report(host);
	some = !list_empty(&rnbdt_cgroup_hosts);
	mutex_unlock(&rnbdt_cgroup_lock);
	if (some)
		queue_delayed_work(rnbdt_login_wq, &rnbdt_cgroup_watch, RNBDT_CGROUP_PERIOD);
	memalloc_noio_restore(noio);
}

static void rnbdt_cgroup_move(struct rnbdt_host *host, bool in_cgroup)
{
	lockdep_assert_held(&rnbdt_cgroup_lock);

	down_write(&rnbdt_lock);
	if (host->in_cgroup != in_cgroup) {
		host->in_cgroup = in_cgroup;
		rnbdt_sched_move_host(host);
	}
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_cgroup_set - put a host into a cgroup, or remove it from its cgroup
 * @host: host
 * @path: normalized path of the cgroup, which the host owns from here on, or NULL for no cgroup
 *
 * Context: process context without rnbdt_lock; may sleep.
 * Return: 0, or -EOPNOTSUPP if bios cannot be charged to a cgroup; then @path is freed.
 */
int rnbdt_cgroup_set(struct rnbdt_host *host, char *path)
{
	struct rnbdt_blkcg *cg = &host->blkcg;

	if (path && !rnbdt_blkcg_supported()) {
		kfree(path);
		return -EOPNOTSUPP;
	}
	mutex_lock(&rnbdt_cgroup_lock);
	rnbdt_blkcg_set_path(cg, path);
	rnbdt_cgroup_move(host, path);
	if (!path)
		list_del_init(&host->cgroup_entry);
	else if (list_empty(&host->cgroup_entry))
		list_add_tail(&host->cgroup_entry, &rnbdt_cgroup_hosts);
	mutex_unlock(&rnbdt_cgroup_lock);
	if (path) {
		mod_delayed_work(rnbdt_login_wq, &rnbdt_cgroup_watch, 0);
		/* Wait, so that a reader of effective_cgroup sees the cgroup that applies now. */
		flush_delayed_work(&rnbdt_cgroup_watch);
	}
	return 0;
}

/**
 * rnbdt_cgroup_show - show the cgroup of a host
 * @host: host
 * @page: buffer of an attribute
 * @applies: show the cgroup whose limits apply, not the configured one
 *
 * Context: process context without rnbdt_lock; may sleep.
 * Return: length of the text, which is an empty line without a cgroup.
 */
ssize_t rnbdt_cgroup_show(struct rnbdt_host *host, char *page, bool applies)
{
	const struct rnbdt_blkcg *cg = &host->blkcg;
	ssize_t ret;

	mutex_lock(&rnbdt_cgroup_lock);
	ret = sysfs_emit(page, "%s\n", (applies ? cg->applies : cg->path) ?: "");
	mutex_unlock(&rnbdt_cgroup_lock);
	return ret;
}

/**
 * rnbdt_cgroup_remove - remove a host that is being freed from its cgroup
 * @host: host without sessions
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_cgroup_remove(struct rnbdt_host *host)
{
	mutex_lock(&rnbdt_cgroup_lock);
	list_del_init(&host->cgroup_entry);
	rnbdt_blkcg_clear(&host->blkcg);
	mutex_unlock(&rnbdt_cgroup_lock);
}

/**
 * rnbdt_cgroup_exit - stop the work item
 *
 * Context: process context, module exit, when no host is left.
 */
void rnbdt_cgroup_exit(void)
{
	cancel_delayed_work_sync(&rnbdt_cgroup_watch);
}
