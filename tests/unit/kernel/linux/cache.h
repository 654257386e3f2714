/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alignment to cache lines, for files of the modules that are tested in user space.
 */
#define ____cacheline_aligned_in_smp
