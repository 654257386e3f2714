// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probe: bdev_rot() exists; older kernels have bdev_nonrot(), its negation.
 */
#include <linux/blkdev.h>

#ifdef RNBD_PROBE_NEW
static_assert(__same_type(bdev_rot, bool (struct block_device *)));
#else
static_assert(__same_type(bdev_nonrot, bool (struct block_device *)));
#endif
