// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware queues that wait for space of the pool.
 *
 * Operation: waiters of a session are served first in, first out (rule R8). The first of
 * them gets a turn when there are as many free units as it needs, those that it must leave
 * for others included. These are kept for it until it has allocated. As long as others
 * wait, only a waiter with a turn takes space.
 *
 * Hung storage may hold space that the first waiter needs. If the first waiter waits from one
 * tick of the owner's clock to the next, others may therefore pass it until the tick after
 * that, and so on alternately. A turn that is not used within two ticks ends, because the
 * block layer may have nothing left to dispatch.
 *
 * Ownership: a waiter belongs to a hardware queue, which calls rnbdc_space_forget()
 * before it is freed.
 *
 * Concurrency: rnbdc_space.lock protects waiters. The owner starts them from its work
 * item, without locks.
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
 * Units that must be free for the turn of a waiter. The pool may have shrunk since it waits,
 * and a need beyond what the pool has would never be met.
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
 * rnbdc_space_wake - give turns to the first waiters while their needs are met
 * @space: pool
 * @cache: queue whose lock is held and whose free units count for its own waiters, or NULL
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
 * rnbdc_space_lack - note that a request found too little space
 * @space: pool
 *
 * The owner may ask for more.
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
 * rnbdc_space_reset_lack - let the next request that finds too little space note that again
 * @space: pool
 *
 * Context: any.
 * Return: true if one has noted it since the latest call, and the pool has not grown since.
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
 * rnbdc_space_wait - wait for space
 * @waiter: hardware queue, stopped; one that waits already keeps its place
 * @units: units that its next request needs
 * @spare: units that its turn leaves for others, at most rnbdc_space_reserve() and what the
 *	pool has beyond @units
 *
 * rnbdc_space_next_turn() returns the waiter when its turn has come.
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
		/* It stopped after it was started: start it once more. */
		waiter->started = false;
	}
	WRITE_ONCE(space->lacks, true);
	/* Space may have become free since the allocation failed. */
	space->kick(space);
	spin_unlock_irqrestore(&space->lock, flags);
}

/**
 * rnbdc_space_forget - end the wait of a hardware queue, or its turn
 * @waiter: hardware queue; one that does not wait is fine
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
 * rnbdc_space_forget_all - end the waits and turns of the hardware queues of a queue
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
 * rnbdc_space_may_take - test whether a hardware queue may allocate before those that wait
 * @space: pool
 * @waiter: hardware queue
 *
 * Context: any; the lock of its queue held.
 * Return: true if it has a turn, or there is no waiter that it must not pass.
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
 * @success: it has got space
 *
 * Context: any; the lock of its queue held.
 */
void rnbdc_space_served(struct rnbdc_waiter *waiter, bool success)
{
	struct rnbdc_space *space = waiter->cache->space;

	spin_lock(&space->lock);
	if (waiter->turn || success) {
		/* A turn without success continues in front of all waiters. */
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
 * rnbdc_space_next_turn - get the next waiter whose turn has come
 * @space: pool
 *
 * Context: any, under RCU.
 * Return: a hardware queue to be started, or NULL.
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
 * rnbdc_space_tick - end turns that are not used, and let others pass the first waiter
 * @space: pool
 *
 * To be called periodically while there are waiters or turns.
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
