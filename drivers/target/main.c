// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd-target: the machine that has the storage.
 *
 * Operation: this file holds what exists once per module: parameters that are no
 * limits (those are in limits.c), work queues and the lock of the configuration graph. All the
 * rest begins in configfs.c. The netlink family is there before the first
 * session can be and goes after the last event of the last one.
 * Ownership: every configfs directory pins the module, and removing one waits
 * for the sessions that used it; so there is no session when the module exits.
 * Concurrency: init and exit are alone.
 * Errors: init takes back what it did, in reverse order.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/module.h>
#include <linux/random.h>

#include <rnbd/version.h>

#include "../core/param.h"
#include "target.h"

RNBD_PARAM_UINT(reply_gather, 1, 1, 65535,
		"reply frames that may be unacknowledged before further replies gather");

static bool reply_batch = true;
module_param(reply_batch, bool, 0644);
MODULE_PARM_DESC(reply_batch,
		 "one reply frame for requests of a frame that end while it is submitted (default Y)");

RNBD_PARAM_UINT(max_io_kb, 1024, 4, 4096,
		"KiB of the largest read or write, rounded down to a multiple of 4");

/* The configuration graph, the list of sessions, the pool accounts. */
DEFINE_MUTEX(rnbdt_lock);
/* Logins and ports, which may wait for memory, and events for listeners. */
struct workqueue_struct *rnbdt_login_wq;
/* Signs of life and time limits, which must not be behind them. */
struct workqueue_struct *rnbdt_timer_wq;
/* Teardowns, which may wait for ever; so logins are not behind them. */
struct workqueue_struct *rnbdt_teardown_wq;
/* Teardowns of sessions that were never live, so that a flood of them delays no other. */
struct workqueue_struct *rnbdt_hangup_wq;
/* What is left of these and may wait a minute for the peer; so the others are not behind it. */
struct workqueue_struct *rnbdt_linger_wq;

/**
 * rnbdt_reply_gather - from how many unacknowledged frames on replies gather
 */
u32 rnbdt_reply_gather(void)
{
	return READ_ONCE(reply_gather);
}

/**
 * rnbdt_reply_batch - may a reply wait until the rest of its frame is submitted
 */
bool rnbdt_reply_batch(void)
{
	return READ_ONCE(reply_batch);
}

/**
 * rnbdt_max_io - limit of one read or write in bytes, whole units
 */
u32 rnbdt_max_io(void)
{
	BUILD_BUG_ON(RNBDT_MAX_IO_MAX != 4096 << 10);
	return round_down(READ_ONCE(max_io_kb) << 10, RNBD_UNIT_SIZE);
}

static int __init rnbdt_init(void)
{
	int ret;

	/*
	 * A unit of the pool is a page: bios, direct I/O and memory regions
	 * all take it as it is. Other page sizes need units packed into pages.
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

	rnbdt_timer_wq = alloc_workqueue("rnbd-target-timer",
					 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rnbdt_timer_wq)
		goto destroy_login_wq;

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

	ret = rnbdt_backend_init();
	if (ret)
		goto destroy_linger_wq;

	ret = rnbdt_configfs_init();
	if (ret)
		goto exit_backend;
	rnbdt_inject_init();
	return 0;

exit_backend:
	rnbdt_backend_exit();
destroy_linger_wq:
	destroy_workqueue(rnbdt_linger_wq);
destroy_hangup_wq:
	destroy_workqueue(rnbdt_hangup_wq);
destroy_teardown_wq:
	destroy_workqueue(rnbdt_teardown_wq);
destroy_timer_wq:
	destroy_workqueue(rnbdt_timer_wq);
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
	rnbdt_backend_exit();
	destroy_workqueue(rnbdt_linger_wq);
	destroy_workqueue(rnbdt_hangup_wq);
	destroy_workqueue(rnbdt_teardown_wq);
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
