/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replacement of <linux/atomic.h> for module files that are tested in user space: the type of
 * the counters of fault points.
 */
#ifndef UNIT_ATOMIC_H
#define UNIT_ATOMIC_H

struct unit_atomic {
	int counter;
};

#define atomic_t struct unit_atomic

#endif /* UNIT_ATOMIC_H */
