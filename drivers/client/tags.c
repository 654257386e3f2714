// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wire tags of a queue: growth and shrinking of their number.
 *
 * Operation: At first the target has memory for a few requests of a connection. The target
 * allocates memory for more when the client asks (core/ring_resize.c). A queue uses the tags
 * below the number of requests for which the target has memory. The free tags are a stack that
 * has low tags on top at first. So while few requests are in flight, the queue uses a few tags
 * again and again, and the high tags are mostly free, so that their number can be reduced.
 *
 * Ownership: The stack of free tags belongs to the queue.
 *
 * Concurrency: ring.lock protects the stack and the number of tags.
 *
 * Errors: none.
 */

#include <linux/lockdep.h>
#include <linux/string.h>

#include "../core/ring.h"
#include "queue.h"
#include "tags.h"

/**
 * rnbdc_queue_grow_tags - make the tags available that were granted since the last call
 * @q: queue on which the target has accepted a LOGIN, a JOIN or a SLOTS request
 *
 * Context: any, without ring.lock.
 */
void rnbdc_queue_grow_tags(struct rnbdc_queue *q)
{
	unsigned long flags;
	u32 i, more;

	spin_lock_irqsave(&q->ring.lock, flags);
	/*
	 * Insert the new tags below the free ones, and the highest at the bottom. Tags are taken
	 * from the top: the tags that are free now first, then the new tags from the lowest on.
	 */
	more = q->ring.out.depth - q->nr_tags;
	memmove(q->free_tags + more, q->free_tags, q->nr_free_tags * sizeof(*q->free_tags));
	for (i = 0; i < more; i++)
		q->free_tags[i] = q->ring.out.depth - 1 - i;
	q->nr_free_tags += more;
	q->nr_tags += more;
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdc_queue_trim_tags - stop using the wire tags from @depth on if all of them are free
 * @ring: ring of the queue
 * @depth: number of tags to keep
 *
 * Context: any; ring.lock held (rnbd_ring_ops.trim_depth).
 * Return: @depth, or the unchanged number of tags if a tag of @depth or more is in use.
 */
u16 rnbdc_queue_trim_tags(struct rnbd_ring *ring, u16 depth)
{
	struct rnbdc_queue *q = container_of(ring, struct rnbdc_queue, ring);
	u32 i, kept = 0, high = 0;

	lockdep_assert_held(&ring->lock);

	for (i = 0; i < q->nr_free_tags; i++)
		high += q->free_tags[i] >= depth;
	if (high != q->nr_tags - depth)
		return q->nr_tags;
	for (i = 0; i < q->nr_free_tags; i++)
		if (q->free_tags[i] < depth)
			q->free_tags[kept++] = q->free_tags[i];
	q->nr_free_tags = kept;
	q->nr_tags = depth;
	return depth;
}
