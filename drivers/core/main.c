// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd-core: what client and target share.
 *
 * Operation: a library of the control ring, the wire codec, the pool allocator,
 * the names of states and errors, and fault points for tests. It has no state
 * of its own but for a directory in debugfs.
 * Ownership, Concurrency, Errors: see the files of each part.
 */

#include <linux/module.h>

#include <rnbd/version.h>

#include "inject.h"

static int __init rnbd_core_init(void)
{
	/* Sizes in bytes are read without a lock. */
	BUILD_BUG_ON(BITS_PER_LONG != 64);
	return rnbd_inject_init();
}

static void __exit rnbd_core_exit(void)
{
	rnbd_inject_exit();
}

module_init(rnbd_core_init);
module_exit(rnbd_core_exit);

MODULE_DESCRIPTION("Network block device over RDMA: common parts");
MODULE_LICENSE("GPL");
MODULE_VERSION(RNBD_RELEASE);
