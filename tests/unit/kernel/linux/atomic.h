/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of fault points, for files of the modules that are tested in user space.
 */
#ifndef UNIT_ATOMIC_H
#define UNIT_ATOMIC_H

typedef struct {
	int counter;
} atomic_t;

#endif /* UNIT_ATOMIC_H */
