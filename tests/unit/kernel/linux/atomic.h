/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of fault points, for files of the modules that are tested in user space.
 */
#ifndef UNIT_ATOMIC_H
#define UNIT_ATOMIC_H

struct unit_atomic {
	int counter;
};

#define atomic_t struct unit_atomic

#endif /* UNIT_ATOMIC_H */
