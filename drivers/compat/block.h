/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Newest form of the block layer interface, for older kernels.
 *
 * Operation
 *
 * The modules are written for the newest kernel. Where the block layer of an older kernel
 * differs, this header supplies the newest form. Kbuild compiles the probes in
 * drivers/compat/probes before the modules; each RNBD_HAVE_* macro is the result of the probe
 * of that name. Only headers in drivers/compat may test such a macro. No file tests a kernel
 * version, because distributions backport changes.
 *
 * Ownership, concurrency
 *
 * Each function follows the rules of the kernel function that it wraps.
 *
 * Errors
 *
 * Each function returns the errors of the kernel function that it wraps. If a kernel has
 * neither the newest nor the older form, the probe does not compile and the build ends.
 */
#ifndef RNBD_COMPAT_BLOCK_H
#define RNBD_COMPAT_BLOCK_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>

#ifndef RNBD_HAVE_BDEV_ROT
/**
 * bdev_rot - test whether a block device is rotational
 * @bdev: open block device
 *
 * Context: any.
 * Return: true if seeks are slow.
 */
static inline bool bdev_rot(struct block_device *bdev)
{
	return !bdev_nonrot(bdev);
}
#endif

/* Type of the last parameter of blk_mq_ops.init_request. */
#ifdef RNBD_HAVE_INIT_REQUEST_INT
#define rnbd_compat_node_t	int
#else
#define rnbd_compat_node_t	unsigned int
#endif

#ifndef RNBD_HAVE_MERGE_BY_DEFAULT
/**
 * rnbd_compat_alloc_tag_set - allocate a tag set whose queues merge adjacent bios
 * @set: tag set
 *
 * Context: process context; may sleep.
 * Return: 0 or a negative errno.
 */
static inline int rnbd_compat_alloc_tag_set(struct blk_mq_tag_set *set)
{
	set->flags |= BLK_MQ_F_SHOULD_MERGE;
	return blk_mq_alloc_tag_set(set);
}

#define blk_mq_alloc_tag_set rnbd_compat_alloc_tag_set
#endif

#endif
