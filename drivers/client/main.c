// SPDX-License-Identifier: GPL-2.0-only
/*
 * The client module: init and exit.
 *
 * Operation: Init creates the work queues and registers the class, the sysfs
 * files and the fault points. The netlink family, through which disks are
 * attached and detached (attach.c), is registered last. Exit first ends all
 * jobs, then detaches all disks, and then undoes init in reverse order.
 *
 * Ownership: The module owns the work queues and the lists of disks, which
 * state.c defines.
 *
 * Concurrency: No command runs before the family is registered, and none after
 * it is unregistered.
 *
 * Errors: Loading fails without memory, or if another module has registered one of the names.
 */

#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include <rnbd/version.h>

#include "attach.h"
#include "class.h"
#include "client.h"
#include "inject.h"
#include "job.h"
#include "netlink.h"
#include "state.h"
#include "sysfs.h"

static int __init rnbdc_init(void)
{
	int ret;

	generate_random_uuid(rnbdc_boot_id);

	/*
	 * WQ_MEM_RECLAIM: memory reclaim can wait for writeback, and writeback for recovery.
	 * WQ_MAX_ACTIVE: each session occupies a worker for seconds if its target does not answer.
	 */
	rnbdc_wq = alloc_workqueue("rnbd", WQ_UNBOUND | WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	if (!rnbdc_wq)
		return -ENOMEM;

	ret = -ENOMEM;
	/* WQ_MAX_ACTIVE: each disk that attaches occupies a worker until its target answers. */
	rnbdc_attach_wq = alloc_workqueue("rnbd-attach", WQ_UNBOUND | WQ_MEM_RECLAIM,
					  WQ_MAX_ACTIVE);
	if (!rnbdc_attach_wq)
		goto destroy_wq;

	rnbdc_timer_wq = alloc_workqueue("rnbd-timer", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnbdc_timer_wq)
		goto destroy_attach_wq;

	rnbdc_event_wq = alloc_workqueue("rnbd-event", WQ_UNBOUND, 0);
	if (!rnbdc_event_wq)
		goto destroy_timer_wq;

	ret = rnbdc_class_init();
	if (ret)
		goto destroy_event_wq;

	ret = rnbdc_sysfs_init();
	if (ret)
		goto exit_parent;

	rnbdc_inject_init();
	ret = rnbdc_jobs_init();
	if (ret)
		goto remove_inject;

	ret = rnbdc_netlink_init();
	if (ret)
		goto exit_jobs;
	return 0;

exit_jobs:
	rnbdc_jobs_exit();
remove_inject:
	rnbdc_inject_exit();
	rnbdc_sysfs_exit();
exit_parent:
	rnbdc_class_exit();
destroy_event_wq:
	destroy_workqueue(rnbdc_event_wq);
destroy_timer_wq:
	destroy_workqueue(rnbdc_timer_wq);
destroy_attach_wq:
	destroy_workqueue(rnbdc_attach_wq);
destroy_wq:
	destroy_workqueue(rnbdc_wq);
	return ret;
}

static void __exit rnbdc_exit(void)
{
	rnbdc_jobs_stop();
	rnbdc_disks_detach_all();
	rnbdc_netlink_exit();
	rnbdc_jobs_exit();
	rnbdc_inject_exit();
	rnbdc_sysfs_exit();
	rnbdc_class_exit();
	destroy_workqueue(rnbdc_event_wq);
	destroy_workqueue(rnbdc_timer_wq);
	destroy_workqueue(rnbdc_attach_wq);
	destroy_workqueue(rnbdc_wq);
}

module_init(rnbdc_init);
module_exit(rnbdc_exit);

MODULE_DESCRIPTION("Network block device over RDMA: client");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_RELEASE);
