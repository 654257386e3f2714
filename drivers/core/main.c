// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd-core: what client and target share.
 *
 * Operation: a library of the control ring, the wire codec, the pool allocator
 * and the names of states and errors. It has no state of its own.
 * Ownership, Concurrency, Errors: see the files of each part.
 */

#include <linux/module.h>

MODULE_DESCRIPTION("Network block device over RDMA: common parts");
MODULE_LICENSE("GPL");
