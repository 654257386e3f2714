// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wire tags that a queue gets and gives up.
 *
 * Operation: the target has memory for a few requests of a connection at first, and for more
 * if the client asks (core/ring_resize.c). A queue uses the tags below the number that the
 * target has. Low tags are used first, so that the high ones become free and can be given
 * up when few requests are in flight.
 *
 * Ownership: the stack of free tags belongs to the queue.
 *
 * Concurrency: ring.lock protects all.
 *
 * Errors: none.
 */

#include <linux/lockdep.h>
#include <linux/string.h>

#include "../core/ring.h"
#include "queue.h"
#include "tags.h"

/**
 * rnbdc_queue_grow_tags - use the tags that the target has granted since the last call
 * @q: queue of which the target has taken a login, a JOIN or a request for more
 *
 * Context: any, without ring.lock.
 */
void rnbdc_queue_grow_tags(struct rnbdc_queue *q)
{
	unsigned long flags;
	u32 i, more;

	spin_lock_irqsave(&q->ring.lock, flags);
	/* They come under the others, the highest at the bottom of the stack. */
	more = q->ring.out.depth - q->nr_tags;
	memmove(q->free_tags + more, q->free_tags, q->nr_free_tags * sizeof(*q->free_tags));
	for (i = 0; i < more; i++)
		q->free_tags[i] = q->ring.out.depth - 1 - i;
	q->nr_free_tags += more;
	q->nr_tags += more;
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdc_queue_trim_tags - use only the tags below a number from now on
 * @ring: ring of the queue
 * @depth: the number
 *
 * Context: any; ring.lock held (rnbd_ring_ops.trim_depth).
 * Return: @depth, or the number of all tags, which stay, if a request has a higher one.
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
