/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A segment of a pool: its pages and its memory region. See segment.c.
 */
#ifndef RNBDT_SEGMENT_H
#define RNBDT_SEGMENT_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

struct rnbdt_session;

/* Send-queue entries for registrations, and largest number of registrations posted together */
#define RNBDT_REG_BATCH		16

/* Bits of rnbdt_segment.tell: control entries to send to the client, in this order */
#define RNBDT_TELL_SEGMENT	1u
#define RNBDT_TELL_RECLAIM	2u
#define RNBDT_TELL_RELEASED	4u

/**
 * struct rnbdt_segment - part of a pool that is granted and released as a whole
 * @entry: in rnbdt_ctl.leases while @tell is set, or in rnbdt_lease.released; ring lock
 * @tell: RNBDT_TELL_*; ring lock
 * @released: the client has released the segment, or a fault point frees it early: no request
 *	may name it; written under the ring lock, read under RCU
 * @deadline_ms: milliseconds that the client has to return the segment; 0 unless RECLAIM was
 *	queued; set once by the lease work, before @tell
 * @reclaimed: the target reclaims the segment; host lock
 * @reclaimed_at: jiffies when @reclaimed was set; host lock
 * @stuck: slow storage keeps the client from returning the segment; host lock
 * @slow: units named by slow requests, see rnbdt_pool_slow(); written by the lease work, read
 *	without a lock
 * @granted_at: jiffies of the grant; constant
 * @idle_since: jiffies from which @deadline_ms counts, the latest of: when RECLAIM was queued,
 *	when RECLAIM was put into a frame, and when the lease work last found a request that
 *	extends the deadline; written by the lease work, and by segment_ctl.c under the ring lock
 * @asked_ns: monotonic time in ns at which a grace period ends, which begins when RECLAIM is put
 *	into a frame; 0 until then. A request that names the segment extends the deadline only if it
 *	was decoded before this time; written under the ring lock
 * @dev: RDMA device of the memory region; constant
 * @slot: index in rnbdt_pool.slots; constant once reserved
 * @generation: generation of the segment in its session, not 0; constant once @slot is reserved
 * @units: size in pool units; constant, except that a fault point clears it
 * @mr: memory region, or NULL
 * @sgt: scatter list of @pages
 * @mapped: @sgt is mapped for DMA
 * @rcu: delays kfree() until no frame handler uses the structure
 * @ahead: for each unit, the number of physically contiguous units that start there
 * @pages: the page of each unit, or NULL
 *
 * "Ring lock" is the lock of the ring of queue 0. Members without a lock belong to the login
 * work, then to the lease work, then to the teardown.
 */
struct rnbdt_segment {
	struct list_head entry;
	u32 tell;
	u32 deadline_ms;
	bool released;
	bool reclaimed;
	bool stuck;
	u32 slow;
	unsigned long reclaimed_at;
	unsigned long granted_at;
	unsigned long idle_since;
	u64 asked_ns;
	struct ib_device *dev;
	u32 slot;
	u32 generation;
	u32 units;
	struct ib_mr *mr;
	struct sg_table sgt;
	bool mapped;
	struct rcu_head rcu;
	u16 *ahead;
	struct page *pages[];
};

struct rnbdt_segment *rnbdt_segment_alloc(struct ib_device *dev, u32 units, bool floor);
int rnbdt_segment_map(struct rnbdt_segment *seg, struct ib_pd *pd);
int rnbdt_segments_register(struct rnbdt_session *s, struct rnbdt_segment **segs, u32 nr);
void rnbdt_segment_unmap(struct rnbdt_segment *seg);
void rnbdt_segment_free_pages(struct rnbdt_segment *seg);
void rnbdt_segment_free(struct rnbdt_segment *seg);

#endif /* RNBDT_SEGMENT_H */
