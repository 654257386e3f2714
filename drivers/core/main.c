// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd-core: code that client and target share.
 *
 * Operation: a library with the control ring, the wire codec, the pool allocator, the names of
 * statuses and errors, and fault points for tests. The module itself owns only a directory in
 * debugfs, a workqueue and a crypto transform.
 * Ownership, Concurrency, Errors: see the files of each part.
 */

#include <linux/module.h>

#include <rnbd/version.h>

#include "inject.h"
#include "mac.h"
#include "ring_setup.h"

static int __init rnbd_core_init(void)
{
	int ret;

	/* 64-bit sizes are read without a lock, so a read must be atomic. */
	BUILD_BUG_ON(BITS_PER_LONG != 64);
	ret = rnbd_ring_setup_init();
	if (ret)
		return ret;
	ret = rnbd_inject_init();
	if (ret)
		rnbd_ring_setup_exit();
	return ret;
}

static void __exit rnbd_core_exit(void)
{
	rnbd_mac_exit();
	rnbd_inject_exit();
	rnbd_ring_setup_exit();
}

module_init(rnbd_core_init);
module_exit(rnbd_core_exit);

MODULE_DESCRIPTION("Network block device over RDMA: common parts");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_RELEASE);
