// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target module: init and exit.
 *
 * Operation: init registers the netlink family and sysfs, creates the work queues and the memory
 * reserves, and only then registers configfs, because all objects are created through configfs.
 * The fault points are added last. The netlink family is registered before the first session can
 * exist, and is unregistered after the last event of the last session.
 *
 * Ownership: each configfs directory, each session and each export that is being disabled pins
 * the module, so none of these exists when the module exits. A work item can drop the last
 * reference on the module. The exit waits until this work item has returned.
 *
 * Concurrency: init and exit run once each, and never concurrently.
 *
 * Errors: a failed init undoes its steps in reverse order.
 */

#include <linux/configfs.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include <rnbd/version.h>
#include <rnbd/wire.h>

#include "cgroup.h"
#include "claim.h"
#include "configfs.h"
#include "export.h"
#include "inject.h"
#include "netlink.h"
#include "reserve.h"
#include "share.h"
#include "sysfs.h"
#include "target.h"

static int __init rnbdt_init(void)
{
	int ret;

	/*
	 * Bios, direct I/O and memory regions use a unit of the pool as one page. The code does
	 * not support several units per page.
	 */
	BUILD_BUG_ON(PAGE_SIZE != RNBD_UNIT_SIZE);

	ret = rnbdt_netlink_init();
	if (ret)
		return ret;

	ret = rnbdt_sysfs_init();
	if (ret)
		goto exit_netlink;

	ret = -ENOMEM;
	rnbdt_login_wq = alloc_workqueue("rnbd-target-login",
					 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnbdt_login_wq)
		goto exit_sysfs;

	rnbdt_ctl_wq = alloc_workqueue("rnbd-target-control", WQ_UNBOUND | WQ_MEM_RECLAIM,
				       RNBDT_CTL_ACTIVE);
	if (!rnbdt_ctl_wq)
		goto destroy_login_wq;

	rnbdt_timer_wq = alloc_workqueue("rnbd-target-timer",
					 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnbdt_timer_wq)
		goto destroy_ctl_wq;

	rnbdt_teardown_wq = alloc_workqueue("rnbd-target-teardown",
					    WQ_UNBOUND | WQ_MEM_RECLAIM,
					    WQ_MAX_ACTIVE);
	if (!rnbdt_teardown_wq)
		goto destroy_timer_wq;

	rnbdt_hangup_wq = alloc_workqueue("rnbd-target-hangup",
					  WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_MAX_ACTIVE);
	if (!rnbdt_hangup_wq)
		goto destroy_teardown_wq;

	rnbdt_linger_wq = alloc_workqueue("rnbd-target-linger",
					  WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_MAX_ACTIVE);
	if (!rnbdt_linger_wq)
		goto destroy_hangup_wq;

	rnbdt_disable_wq = alloc_workqueue("rnbd-target-disable", WQ_UNBOUND,
					   WQ_MAX_ACTIVE);
	if (!rnbdt_disable_wq)
		goto destroy_linger_wq;

	rnbdt_attach_wq = alloc_workqueue("rnbd-target-attach", WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_MAX_ACTIVE);
	if (!rnbdt_attach_wq)
		goto destroy_disable_wq;

	rnbdt_lease_wq = alloc_workqueue("rnbd-target-lease", WQ_UNBOUND | WQ_MEM_RECLAIM,
					 WQ_MAX_ACTIVE);
	if (!rnbdt_lease_wq)
		goto destroy_attach_wq;

	rnbdt_reply_wq = alloc_workqueue("rnbd-target-reply", WQ_UNBOUND | WQ_MEM_RECLAIM,
					 WQ_MAX_ACTIVE);
	if (!rnbdt_reply_wq)
		goto destroy_lease_wq;

	ret = rnbdt_backend_init();
	if (ret)
		goto destroy_reply_wq;

	ret = rnbdt_reserve_init();
	if (ret)
		goto exit_backend;

	ret = rnbdt_configfs_init();
	if (ret)
		goto exit_reserve;
	rnbdt_inject_init();
	return 0;

exit_reserve:
	rnbdt_reserve_exit();
exit_backend:
	rnbdt_backend_exit();
destroy_reply_wq:
	destroy_workqueue(rnbdt_reply_wq);
destroy_lease_wq:
	destroy_workqueue(rnbdt_lease_wq);
destroy_attach_wq:
	destroy_workqueue(rnbdt_attach_wq);
destroy_disable_wq:
	destroy_workqueue(rnbdt_disable_wq);
destroy_linger_wq:
	destroy_workqueue(rnbdt_linger_wq);
destroy_hangup_wq:
	destroy_workqueue(rnbdt_hangup_wq);
destroy_teardown_wq:
	destroy_workqueue(rnbdt_teardown_wq);
destroy_timer_wq:
	destroy_workqueue(rnbdt_timer_wq);
destroy_ctl_wq:
	destroy_workqueue(rnbdt_ctl_wq);
destroy_login_wq:
	destroy_workqueue(rnbdt_login_wq);
exit_sysfs:
	rnbdt_sysfs_exit();
exit_netlink:
	rnbdt_netlink_exit();
	return ret;
}

static void __exit rnbdt_exit(void)
{
	rnbdt_inject_exit();
	rnbdt_configfs_exit();
	rnbdt_share_exit();
	rnbdt_claims_exit();
	rnbdt_reserve_exit();
	destroy_workqueue(rnbdt_disable_wq);
	rnbdt_backend_exit();
	destroy_workqueue(rnbdt_linger_wq);
	destroy_workqueue(rnbdt_hangup_wq);
	destroy_workqueue(rnbdt_teardown_wq);
	/* Wait for RCU callbacks, which queue work items on rnbdt_attach_wq. */
	rcu_barrier();
	destroy_workqueue(rnbdt_attach_wq);
	destroy_workqueue(rnbdt_ctl_wq);
	destroy_workqueue(rnbdt_lease_wq);
	rnbdt_cgroup_exit();
	destroy_workqueue(rnbdt_reply_wq);
	destroy_workqueue(rnbdt_timer_wq);
	destroy_workqueue(rnbdt_login_wq);
	rnbdt_sysfs_exit();
	rnbdt_netlink_exit();
}

module_init(rnbdt_init);
module_exit(rnbdt_exit);

MODULE_DESCRIPTION("Network block device over RDMA: target");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_RELEASE);
