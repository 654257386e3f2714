/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Space of the pool: segments, blocks, the queues that own blocks, and waiters. See space.c
 * and waiter.c.
 */
#ifndef RNBDC_SPACE_H
#define RNBDC_SPACE_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "../core/pool.h"

struct rnbdc_space;

/* Bits of rnbdc_space.flags */
#define RNBDC_SPACE_SCARCE	1u	/* little space is free, see rnbdc_space_update() */
#define RNBDC_SPACE_WAITERS	2u	/* a hardware queue waits for space */
#define RNBDC_SPACE_TURNS	4u	/* a hardware queue has a turn to allocate */
#define RNBDC_SPACE_CLOSING	8u	/* blocks of a closed segment must be parked (cache.c) */

/* End of a list of blocks */
#define RNBDC_NO_BLOCK		U32_MAX

/**
 * enum rnbdc_segment_state - state of a segment of the pool
 * @RNBDC_SEGMENT_NONE: the slot has no segment
 * @RNBDC_SEGMENT_GRANTED: queues may allocate in the segment
 * @RNBDC_SEGMENT_CLOSING: closed: its space can still be in use, but is not allocated again
 * @RNBDC_SEGMENT_EMPTY: closed, and rnbdc_space_next_empty() has returned the segment: no request
 *	and no work request names it, so the client may release it
 */
enum rnbdc_segment_state {
	RNBDC_SEGMENT_NONE,
	RNBDC_SEGMENT_GRANTED,
	RNBDC_SEGMENT_CLOSING,
	RNBDC_SEGMENT_EMPTY,
};

/**
 * struct rnbdc_segment - a segment of the pool; protected by rnbdc_space.lock
 * @generation: number of the grant; tells grants of the same slot apart
 * @units: size in units
 * @away: number of blocks that belong to queues
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
 * @stamp: value that rnbdc_cache.done must reach; then no work request names the block
 * @parked: units that were removed from the queue's bitmap because the segment is closed
 * @closing: the block is parked, see cache.c
 *
 * Protected by the lock of the queue to which the block belongs. A queue writes here only
 * when it takes, parks or returns the block.
 */
struct rnbdc_block {
	u32 next;
	u32 stamp;
	u32 parked;
	bool closing;
};

/**
 * struct rnbdc_cache - blocks of the pool that belong to a queue
 * @pool: units of these blocks
 * @posted: number of signalled work requests, posted or staged, whose completion shows that
 *	the RDMA operations before them have completed
 * @done: number of the work requests in @posted that have completed successfully
 * @leaving: first leaving block: an empty block that becomes free when @done has reached the
 *	stamp of the block; RNBDC_NO_BLOCK if none
 * @last: last leaving block
 * @parked: first parked block: a used block of a closed segment; RNBDC_NO_BLOCK if none
 * @pinned: units in use in parked blocks; read without the lock
 * @closings: value of rnbdc_space.closings when the queue last parked blocks
 * @has: bitmap of the blocks of this queue, without leaving blocks; a bit per block of the
 *	pool
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
	spinlock_t *lock;	/* lock of the queue */
};

/**
 * struct rnbdc_waiter - wait of a hardware queue for space
 * @entry: entry of rnbdc_space.waiters, or of rnbdc_space.turns if @turn is set
 * @cache: blocks of the queue that the hardware queue uses; constant
 * @need: units that its request needs
 * @spare: units that must be free in addition to @need; rnbdc_space_reserve() limits them
 * @promise: free units that the session keeps for the turn of this waiter
 * @age: number of rnbdc_space_tick() calls since the turn has begun, or since the waiter
 *	became the first in the list
 * @waiting: the waiter is in the list of waiters
 * @turn: the hardware queue has a turn: it may allocate before all others that wait
 * @started: rnbdc_space_next_turn() has returned the waiter, and the hardware queue has not
 *	stopped since
 * @again: the allocation in the latest turn has failed, so the next wait begins in front of all
 *	others
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
 * @flags: RNBDC_SPACE_* bits; written under @lock, read without it
 * @shift: binary logarithm of the units of a block
 * @batch: units that a queue takes at once while space is plentiful
 * @max_units: units of the largest request
 * @range: units from the start of slot 0 to the end of the last slot
 * @nr_slots: number of slots for segments; 0 while there is no connection
 * @segment_units: units from one slot to the next, a power of two
 * @segments: segments by slot
 * @block: blocks by number, which counts through all slots
 * @nr_caches: number of queues; 0 while there is no connection
 * @nr_kept: members of @caches
 * @caches: blocks of the queues; NULL members until rnbdc_cache_open()
 * @kick: callback that makes the owner run its work items (stall.c); called in any context,
 *	under @lock; constant
 * @lock: innermost lock; protects the members that follow
 * @blocks: allocator of the blocks of granted segments; blocks of queues are allocated
 * @units: units of granted segments; read without the lock
 * @free_units: units of granted segments that belong to no queue; read without the lock
 * @promised: free units that are kept for turns
 * @closings: number of segments closed since the connection was made
 * @lacks: a request has lacked space since the pool last grew or rnbdc_space_reset_lack()
 *	was called; read without the lock
 * @partial: a segment has a block that is smaller than the others
 * @strict: while hardware queues wait, only those with a turn may allocate
 * @waiters: waiting hardware queues, first in, first out
 * @turns: hardware queues with a turn, which may allocate before @waiters
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

/* space.c: segments and free blocks, which queues share */
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

/* waiter.c: hardware queues that wait for space */
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
 * rnbdc_space_whole - round a number of units up to whole blocks
 * @space: pool
 * @units: number of units
 *
 * Context: any.
 * Return: units of the fewest whole blocks that hold @units.
 */
static inline u32 rnbdc_space_whole(const struct rnbdc_space *space, u32 units)
{
	return DIV_ROUND_UP(units, 1u << space->shift) << space->shift;
}

/**
 * rnbdc_space_fits - test whether enough units are free apart from promised ones
 * @space: pool
 * @promised: free units that are promised to other hardware queues
 * @units: needed units
 *
 * Context: any; rnbdc_space.lock held.
 * Return: true if @units can be taken.
 */
static inline bool rnbdc_space_fits(const struct rnbdc_space *space, u32 promised, u32 units)
{
	if (!promised)
		return space->free_units >= units;
	return space->free_units >= promised + rnbdc_space_whole(space, units);
}

/**
 * rnbdc_space_reserve - get the upper limit of the space that is reserved for other disks
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
 * Return: false if even a disk that holds all the used space would be below its share.
 */
static inline bool rnbdc_space_scarce(const struct rnbdc_space *space)
{
	return READ_ONCE(space->flags) & RNBDC_SPACE_SCARCE;
}

#endif /* RNBDC_SPACE_H */
