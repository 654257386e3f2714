// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware queues that wait for space of the pool.
 *
 * Operation: The waiters of a session are served first in, first out. The first waiter
 * gets a turn when enough units are free: those that it needs, and those that it must leave
 * for others. The session keeps these units for the waiter until its turn ends. While any
 * hardware queue waits, only a hardware queue with a turn may allocate.
 *
 * There is an exception, because hung storage can hold the space that the first waiter
 * needs. If the same hardware queue is the first waiter at two successive calls of
 * rnbdc_space_tick(), the second call lets other hardware queues allocate before it. Each
 * further call alternately forbids and allows this.
 *
 * A turn ends with an attempt to allocate. The second rnbdc_space_tick() after its begin ends
 * a turn without such an attempt, because the block layer possibly has no request left to
 * dispatch.
 *
 * Ownership: A waiter is part of a hardware queue. rnbdc_space_forget() is called before
 * the hardware queue is freed.
 *
 * Concurrency: rnbdc_space.lock protects waiters. The work item of the owner (stall.c)
 * starts hardware queues without holding locks.
 *
 * Errors: none.
 */

#include <linux/list.h>
#include <linux/spinlock.h>

#include "space.h"

static bool rnbdc_space_is_first(const struct rnbdc_space *space,
				 const struct rnbdc_waiter *waiter)
{
	return space->waiters.next == &waiter->entry;
}

/* Remove a waiter from its list. */
static void rnbdc_space_unlink(struct rnbdc_space *space, struct rnbdc_waiter *waiter)
{
	if (!waiter->waiting && !waiter->turn)
		return;
	if (waiter->turn)
		space->promised -= waiter->promise;
	else if (rnbdc_space_is_first(space, waiter))
		space->strict = true;
	list_del(&waiter->entry);
	waiter->waiting = false;
	waiter->turn = false;
}

/*
 * Get the units that must be free for the turn of a waiter: its need and what it must leave
 * free. The sum is limited to the size of the pool, which can have shrunk, but not below the need.
 */
static u32 rnbdc_space_need(const struct rnbdc_space *space, const struct rnbdc_waiter *waiter)
{
	u32 spare = min(waiter->spare, rnbdc_space_reserve(space));

	return min(waiter->need + spare, max(waiter->need, space->units));
}

/* Give a turn to a waiter if its need is met. */
static bool rnbdc_space_wake_one(struct rnbdc_space *space, struct rnbdc_waiter *waiter,
				 const struct rnbdc_cache *cache)
{
	u32 need = rnbdc_space_need(space, waiter);

	if (rnbdc_space_fits(space, space->promised, need))
		waiter->promise = min(rnbdc_space_whole(space, need),
				      space->free_units - space->promised);
	else if (cache == waiter->cache &&
		 cache->pool.owned - cache->pool.used >= need)
		waiter->promise = 0;
	else
		return false;
	rnbdc_space_unlink(space, waiter);
	waiter->turn = true;
	waiter->started = false;
	waiter->age = 0;
	space->promised += waiter->promise;
	list_add_tail(&waiter->entry, &space->turns);
	space->kick(space);
	return true;
}

/**
 * rnbdc_space_wake - give turns to waiters whose needs are met
 * @space: pool
 * @cache: blocks of a queue whose lock is held, or NULL. A waiter of this queue also gets a
 *	turn if these blocks alone have enough free units
 *
 * If rnbdc_space.strict is set, the function stops at the first waiter whose need is not met.
 *
 * Context: any; rnbdc_space.lock held.
 */
void rnbdc_space_wake(struct rnbdc_space *space, const struct rnbdc_cache *cache)
{
	struct rnbdc_waiter *waiter, *next;

	list_for_each_entry_safe(waiter, next, &space->waiters, entry) {
		bool strict = space->strict;

		if (!rnbdc_space_wake_one(space, waiter, cache) && strict)
			break;
	}
	rnbdc_space_update(space);
}

/**
 * rnbdc_space_lack - note that a request has found too little space
 * @space: pool
 *
 * The session then requests more space from the target if its pool may grow (lease.c).
 *
 * Context: any.
 */
void rnbdc_space_lack(struct rnbdc_space *space)
{
	unsigned long flags;

	if (READ_ONCE(space->lacks))
		return;
	spin_lock_irqsave(&space->lock, flags);
	WRITE_ONCE(space->lacks, true);
	space->kick(space);
	spin_unlock_irqrestore(&space->lock, flags);
}

/**
 * rnbdc_space_reset_lack - read and clear the note of rnbdc_space_lack()
 * @space: pool
 *
 * Context: any.
 * Return: true if a request has lacked space since the previous call of this function, and the
 * pool has not grown after that request.
 */
bool rnbdc_space_reset_lack(struct rnbdc_space *space)
{
	unsigned long flags;
	bool lacks;

	spin_lock_irqsave(&space->lock, flags);
	lacks = space->lacks;
	WRITE_ONCE(space->lacks, false);
	spin_unlock_irqrestore(&space->lock, flags);
	return lacks;
}

/**
 * rnbdc_space_wait - put a hardware queue into the list of waiters
 * @waiter: stopped hardware queue; if it already waits, it keeps its place in the list
 * @units: units that its next request needs
 * @spare: units that its turn must leave for others, see rnbdc_space_need()
 *
 * rnbdc_space_next_turn() returns the waiter once it has a turn.
 *
 * Context: any.
 */
void rnbdc_space_wait(struct rnbdc_waiter *waiter, u32 units, u32 spare)
{
	struct rnbdc_space *space = waiter->cache->space;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	if (!waiter->turn) {
		waiter->need = units;
		waiter->spare = spare;
	}
	if (!waiter->waiting && !waiter->turn) {
		waiter->waiting = true;
		waiter->age = 0;
		if (waiter->again)
			list_add(&waiter->entry, &space->waiters);
		else
			list_add_tail(&waiter->entry, &space->waiters);
		waiter->again = false;
		rnbdc_space_update(space);
	} else if (waiter->turn) {
		/* The hardware queue has stopped during its turn: it must be started again. */
		waiter->started = false;
	}
	WRITE_ONCE(space->lacks, true);
	/* The work item tests again: space has possibly become free since the allocation failed. */
	space->kick(space);
	spin_unlock_irqrestore(&space->lock, flags);
}

/**
 * rnbdc_space_forget - end the wait or the turn of a hardware queue
 * @waiter: hardware queue; need not wait or have a turn
 *
 * Context: any.
 */
void rnbdc_space_forget(struct rnbdc_waiter *waiter)
{
	struct rnbdc_space *space = waiter->cache->space;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	rnbdc_space_unlink(space, waiter);
	waiter->again = false;
	rnbdc_space_wake(space, NULL);
	spin_unlock_irqrestore(&space->lock, flags);
}

/**
 * rnbdc_space_forget_all - end the waits and turns of all hardware queues that use a queue
 * @cache: blocks of the queue
 *
 * Context: any.
 */
void rnbdc_space_forget_all(const struct rnbdc_cache *cache)
{
	struct rnbdc_space *space = cache->space;
	struct rnbdc_waiter *waiter, *next;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	list_for_each_entry_safe(waiter, next, &space->waiters, entry)
		if (waiter->cache == cache)
			rnbdc_space_unlink(space, waiter);
	list_for_each_entry_safe(waiter, next, &space->turns, entry)
		if (waiter->cache == cache)
			rnbdc_space_unlink(space, waiter);
	rnbdc_space_wake(space, NULL);
	spin_unlock_irqrestore(&space->lock, flags);
}

/**
 * rnbdc_space_may_take - test whether a hardware queue may allocate now
 * @space: pool
 * @waiter: hardware queue
 *
 * Context: any; the lock of its queue held.
 * Return: true if the hardware queue has a turn, if no hardware queue waits, or if others may
 * allocate before the first waiter at present.
 */
bool rnbdc_space_may_take(struct rnbdc_space *space, const struct rnbdc_waiter *waiter)
{
	bool may;

	spin_lock(&space->lock);
	may = waiter->turn || !space->strict || list_empty(&space->waiters);
	spin_unlock(&space->lock);
	return may;
}

/**
 * rnbdc_space_served - note the result of an allocation while others wait
 * @waiter: hardware queue that has tried to allocate
 * @success: the allocation has succeeded
 *
 * Context: any; the lock of its queue held.
 */
void rnbdc_space_served(struct rnbdc_waiter *waiter, bool success)
{
	struct rnbdc_space *space = waiter->cache->space;

	spin_lock(&space->lock);
	if (waiter->turn || success) {
		/* After a turn without space the hardware queue waits in front of all others. */
		waiter->again = !success;
		rnbdc_space_unlink(space, waiter);
		if (success)
			rnbdc_space_wake(space, NULL);
		else
			rnbdc_space_update(space);
	}
	spin_unlock(&space->lock);
}

/**
 * rnbdc_space_next_turn - get the next waiter that has a turn and is not started
 * @space: pool
 *
 * Context: any, under RCU.
 * Return: hardware queue that the caller must start, or NULL.
 */
struct rnbdc_waiter *rnbdc_space_next_turn(struct rnbdc_space *space)
{
	struct rnbdc_waiter *waiter, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	list_for_each_entry(waiter, &space->turns, entry) {
		if (waiter->started)
			continue;
		waiter->started = true;
		found = waiter;
		break;
	}
	spin_unlock_irqrestore(&space->lock, flags);
	return found;
}

/**
 * rnbdc_space_tick - end unused turns, and decide if others may allocate before the first waiter
 * @space: pool
 *
 * The owner must call this function periodically while there are waiters or turns.
 *
 * Context: any.
 */
void rnbdc_space_tick(struct rnbdc_space *space)
{
	struct rnbdc_waiter *waiter, *next;
	unsigned long flags;

	spin_lock_irqsave(&space->lock, flags);
	list_for_each_entry_safe(waiter, next, &space->turns, entry)
		if (waiter->age++)
			rnbdc_space_unlink(space, waiter);
	if (!list_empty(&space->waiters)) {
		waiter = list_first_entry(&space->waiters, struct rnbdc_waiter, entry);
		if (waiter->age++)
			space->strict = !space->strict;
	}
	rnbdc_space_wake(space, NULL);
	spin_unlock_irqrestore(&space->lock, flags);
}
