/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replacement of <linux/cache.h> for module files that are tested in user space.
 */
#define ____cacheline_aligned_in_smp
