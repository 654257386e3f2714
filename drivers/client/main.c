// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd: the client module.
 *
 * Operation: registers the netlink family through which disks are attached
 * and detached. See session.c for what an attached disk is.
 * Ownership: the module owns the list of sessions and the work queue.
 * Concurrency: the lists are under rnbd_sessions_lock.
 * Errors: loading fails only for lack of memory.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/module.h>

#include <rnbd/version.h>

#include "client.h"

u8 rnbd_boot_id[UUID_SIZE];
LIST_HEAD(rnbd_sessions);
LIST_HEAD(rnbd_sessions_named);
DEFINE_MUTEX(rnbd_sessions_lock);	/* both lists */
/* Recovery, which may take seconds. */
struct workqueue_struct *rnbd_wq;
/* Keep-alive and time limits, which must not be behind it. */
struct workqueue_struct *rnbd_timer_wq;
/* Telling people of states, in which I/O may wait for memory. */
struct workqueue_struct *rnbd_event_wq;

static int __init rnbd_init(void)
{
	int ret;

	generate_random_uuid(rnbd_boot_id);

	/* Ends connections on behalf of writeback, hence MEM_RECLAIM. */
	rnbd_wq = alloc_workqueue("rnbd", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnbd_wq)
		return -ENOMEM;

	ret = -ENOMEM;
	rnbd_timer_wq = alloc_workqueue("rnbd-timer", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnbd_timer_wq)
		goto destroy_wq;

	rnbd_event_wq = alloc_workqueue("rnbd-event", WQ_UNBOUND, 0);
	if (!rnbd_event_wq)
		goto destroy_timer_wq;

	ret = rnbd_parent_init();
	if (ret)
		goto destroy_event_wq;

	ret = rnbd_sysfs_init();
	if (ret)
		goto exit_parent;

	rnbd_client_inject_init();
	ret = rnbd_netlink_init();
	if (ret)
		goto remove_inject;
	return 0;

remove_inject:
	rnbd_client_inject_exit();
	rnbd_sysfs_exit();
exit_parent:
	rnbd_parent_exit();
destroy_event_wq:
	destroy_workqueue(rnbd_event_wq);
destroy_timer_wq:
	destroy_workqueue(rnbd_timer_wq);
destroy_wq:
	destroy_workqueue(rnbd_wq);
	return ret;
}

static void __exit rnbd_exit(void)
{
	rnbd_netlink_stop();
	rnbd_sessions_detach_all();
	rnbd_netlink_exit();
	rnbd_client_inject_exit();
	rnbd_sysfs_exit();
	rnbd_parent_exit();
	destroy_workqueue(rnbd_event_wq);
	destroy_workqueue(rnbd_timer_wq);
	destroy_workqueue(rnbd_wq);
}

module_init(rnbd_init);
module_exit(rnbd_exit);

MODULE_DESCRIPTION("Network block device over RDMA: client");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_RELEASE);
