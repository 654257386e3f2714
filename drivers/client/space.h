/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Space of the pool: segments, blocks, and the queues that have them. See space.c and
 * waiter.c.
 */
#ifndef RNBDC_SPACE_H
#define RNBDC_SPACE_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "../core/pool.h"

struct rnbdc_space;

/* Bits of rnbdc_space.flags */
#define RNBDC_SPACE_SCARCE	1u	/* the queues have more than half of the space */
#define RNBDC_SPACE_WAITERS	2u	/* a hardware queue waits for space */
#define RNBDC_SPACE_TURNS	4u	/* a waiter may take space before others */
#define RNBDC_SPACE_CLOSING	8u	/* not all queues know of a closing segment */

/* No block. */
#define RNBDC_NO_BLOCK		U32_MAX

/**
 * enum rnbdc_segment_state - state of a segment of the pool
 * @RNBDC_SEGMENT_NONE: not granted
 * @RNBDC_SEGMENT_GRANTED: its space may be allocated
 * @RNBDC_SEGMENT_CLOSING: its space may be in use, and is not allocated again
 * @RNBDC_SEGMENT_EMPTY: no request and no work request names it; it can be released
 */
enum rnbdc_segment_state {
	RNBDC_SEGMENT_NONE,
	RNBDC_SEGMENT_GRANTED,
	RNBDC_SEGMENT_CLOSING,
	RNBDC_SEGMENT_EMPTY,
};

/**
 * struct rnbdc_segment - a segment of the pool; protected by rnbdc_space.lock
 * @generation: number of the grant; a slot is used for several grants
 * @units: size
 * @away: blocks that queues have
 * @state: enum rnbdc_segment_state
 */
struct rnbdc_segment {
	u32 generation;
	u32 units;
	u32 away;
	enum rnbdc_segment_state state;
};

/**
 * struct rnbdc_block - a block of the pool
 * @next: next block in a list of the queue, or RNBDC_NO_BLOCK
 * @stamp: number of the completion from which on no work request of the queue names it
 * @parked: units that the queue no longer allocates
 * @closing: it is in the list of parked blocks
 *
 * Protected by the lock of the queue that has the block. A queue writes here only when it
 * takes a block or gives it up.
 */
struct rnbdc_block {
	u32 next;
	u32 stamp;
	u32 parked;
	bool closing;
};

/**
 * struct rnbdc_cache - blocks that a queue has
 * @pool: units of these blocks
 * @posted: signalled work requests posted or staged that cover data, in their order
 * @done: those of them that have completed successfully
 * @leaving: first block that is empty, and waits for @done; RNBDC_NO_BLOCK if none
 * @last: last one of these
 * @parked: first block in use of a closing segment; RNBDC_NO_BLOCK if none
 * @pinned: units in use of parked blocks; read without the lock
 * @closings: value of rnbdc_space.closings for which blocks were parked
 * @has: a bit per block of the pool, set for those of this queue except @leaving
 * @space: pool; constant
 * @lock: lock of the queue, which protects all members; constant
 */
struct rnbdc_cache {
	struct rnbd_pool pool;
	u32 posted;
	u32 done;
	u32 leaving;
	u32 last;
	u32 parked;
	u32 pinned;
	u32 closings;
	unsigned long *has;
	struct rnbdc_space *space;
	spinlock_t *lock;	/* of the queue */
};

/**
 * struct rnbdc_waiter - a hardware queue that may wait for space
 * @entry: entry of rnbdc_space.waiters, or of turns if it has a turn
 * @cache: blocks of the queue that it uses; constant
 * @need: units of its request
 * @spare: most units that must be free beyond them
 * @promise: units that the session keeps for its turn
 * @age: calls of rnbdc_space_tick() since it waits, or has its turn
 * @waiting: it is in the list of waiters
 * @turn: it may allocate before all that wait
 * @started: the owner was told of the turn
 * @again: its turn ended without space, so it waits in front of all others
 *
 * Protected by rnbdc_space.lock.
 */
struct rnbdc_waiter {
	struct list_head entry;
	struct rnbdc_cache *cache;
	u32 need;
	u32 spare;
	u32 promise;
	u32 age;
	bool waiting;
	bool turn;
	bool started;
	bool again;
};

/**
 * struct rnbdc_space - the pool of a session
 * @flags: RNBDC_SPACE_* bits, read without the lock
 * @shift: binary logarithm of the units of a block
 * @batch: units that a queue takes at once if there are plenty
 * @max_units: units of the largest request
 * @range: units from the first place for a segment to the end of the last
 * @nr_slots: places for segments
 * @segment_units: units from one place to the next, a power of two
 * @segments: segments by place
 * @block: blocks, counted through the pool
 * @nr_caches: queues; 0 while there is no connection
 * @nr_kept: members of @caches
 * @caches: blocks of the queues; NULL members until rnbdc_cache_open()
 * @kick: asks the owner to run its work item (stall.c); called in any context, under
 *	@lock; constant
 * @lock: innermost lock; protects the members that follow
 * @blocks: blocks of granted segments; those that queues have are in use
 * @units: units of granted segments
 * @free_units: those of them that no queue has; read without the lock
 * @promised: free units that are kept for turns
 * @closings: number of closed segments
 * @lacks: a request found too little space since the pool last grew, or
 *	rnbdc_space_reset_lack(); read without the lock
 * @partial: a segment has a block of less than the usual size
 * @strict: no other request may pass the first waiter
 * @waiters: who waits for space, first in, first out
 * @turns: who may allocate before those that wait
 */
struct rnbdc_space {
	u32 flags;
	u32 shift;
	u32 batch;
	u32 max_units;
	u32 range;
	u32 nr_slots;
	u32 segment_units;
	struct rnbdc_segment *segments;
	struct rnbdc_block *block;
	u32 nr_caches;
	u32 nr_kept;
	struct rnbdc_cache **caches;
	void (*kick)(struct rnbdc_space *space);

	spinlock_t lock ____cacheline_aligned_in_smp;	/* segments, free blocks, waiters */
	struct rnbd_pool blocks;
	u32 units;
	u32 free_units;
	u32 promised;
	u32 closings;
	bool lacks;
	bool partial;
	bool strict;
	struct list_head waiters;
	struct list_head turns;
};

/* space.c: what queues share */
void rnbdc_space_update(struct rnbdc_space *space);
void rnbdc_space_init(struct rnbdc_space *space, void (*kick)(struct rnbdc_space *space));
int rnbdc_space_open(struct rnbdc_space *space, u32 range, u32 segment_units, u32 max_units,
		     u32 nr_caches);
void rnbdc_space_close(struct rnbdc_space *space);
void rnbdc_space_exit(struct rnbdc_space *space);
struct rnbdc_segment *rnbdc_block_segment(const struct rnbdc_space *space, u32 block);
u32 rnbdc_block_units(const struct rnbdc_space *space, u32 block);
u32 rnbdc_space_take(struct rnbdc_cache *cache, const struct rnbdc_waiter *waiter, u32 units);
void rnbdc_space_give(struct rnbdc_space *space, u32 block);
int rnbdc_space_add_segment(struct rnbdc_space *space, u32 slot, u32 generation, u32 units);
int rnbdc_space_close_segment(struct rnbdc_space *space, u32 slot, u32 generation);
u32 rnbdc_space_spare(struct rnbdc_space *space, u32 floor, u32 *slot, u32 *generation);
bool rnbdc_space_next_empty(struct rnbdc_space *space, u32 *slot, u32 *generation);
int rnbdc_space_remove_segment(struct rnbdc_space *space, u32 slot, u32 generation);

/* waiter.c: who waits for space */
void rnbdc_space_wake(struct rnbdc_space *space, const struct rnbdc_cache *cache);
void rnbdc_space_lack(struct rnbdc_space *space);
bool rnbdc_space_reset_lack(struct rnbdc_space *space);
void rnbdc_space_wait(struct rnbdc_waiter *waiter, u32 units, u32 spare);
void rnbdc_space_forget(struct rnbdc_waiter *waiter);
void rnbdc_space_forget_all(const struct rnbdc_cache *cache);
bool rnbdc_space_may_take(struct rnbdc_space *space, const struct rnbdc_waiter *waiter);
void rnbdc_space_served(struct rnbdc_waiter *waiter, bool success);
struct rnbdc_waiter *rnbdc_space_next_turn(struct rnbdc_space *space);
void rnbdc_space_tick(struct rnbdc_space *space);

/**
 * rnbdc_space_whole - get the units of the blocks that space is taken in
 * @space: pool
 * @units: how much is needed
 *
 * Context: any.
 * Return: units of as many whole blocks as hold @units.
 */
static inline u32 rnbdc_space_whole(const struct rnbdc_space *space, u32 units)
{
	return DIV_ROUND_UP(units, 1u << space->shift) << space->shift;
}

/**
 * rnbdc_space_fits - test whether space can be taken without what is promised to others
 * @space: pool
 * @promised: units that are promised to others
 * @units: how much is needed
 *
 * Context: any; rnbdc_space.lock held.
 * Return: true if so.
 */
static inline bool rnbdc_space_fits(const struct rnbdc_space *space, u32 promised, u32 units)
{
	if (!promised)
		return space->free_units >= units;
	return space->free_units >= promised + rnbdc_space_whole(space, units);
}

/**
 * rnbdc_space_reserve - get the most space that is kept for requests of other disks
 * @space: pool
 *
 * Context: any.
 * Return: number of units.
 */
static inline u32 rnbdc_space_reserve(const struct rnbdc_space *space)
{
	return READ_ONCE(space->units) / 8;
}

/**
 * rnbdc_space_scarce - test whether the share of a disk must be checked
 * @space: pool
 *
 * Context: any.
 * Return: false if a disk that has all the space in use is below its share.
 */
static inline bool rnbdc_space_scarce(const struct rnbdc_space *space)
{
	return READ_ONCE(space->flags) & RNBDC_SPACE_SCARCE;
}

#endif /* RNBDC_SPACE_H */
