/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replacement of <linux/spinlock.h> for module files that are tested in user space. Tests have
 * one thread, so taking a held lock would deadlock and ends the test.
 */
#ifndef UNIT_SPINLOCK_H
#define UNIT_SPINLOCK_H

#include <stdbool.h>
#include <stdlib.h>

struct unit_lock {
	bool held;
};

#define spinlock_t struct unit_lock

/* Defined by the test: if it returns true, spin_trylock() fails although the lock is free. */
bool unit_trylock_fails(void);

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock(spinlock_t *lock)
{
	if (lock->held)
		abort();
	lock->held = true;
}

static inline bool spin_trylock(spinlock_t *lock)
{
	if (lock->held || unit_trylock_fails())
		return false;
	lock->held = true;
	return true;
}

static inline void spin_unlock(spinlock_t *lock)
{
	if (!lock->held)
		abort();
	lock->held = false;
}

#define spin_lock_irqsave(lock, flags)		((flags) = 0, spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), spin_unlock(lock))

#endif /* UNIT_SPINLOCK_H */
