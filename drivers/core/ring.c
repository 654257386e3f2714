// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control ring: its structures, its rate limit and its one failure.
 *
 * Operation: a ring is one RC queue pair with receive and send slots and
 * credits. ring_setup.c makes and destroys it, ring_send.c fills and sends
 * frames, ring_complete.c handles completions. Both ends of a queue post a few
 * receive slots when the queue pair is made and post each again as soon as its
 * frame has been handled. ring_resize.c adds slots while they are needed. Without them
 * the ring works, too, so no allocation is waited for.
 *
 * Ownership: the ring owns the queue pair, the slots and its part of the CQ. The
 * owner of the ring owns the cm_id and the protection domain and keeps them until
 * rnbd_ring_destroy().
 *
 * Concurrency: completions of one ring are handled one at a time. ring->lock
 * protects the sending side and the credits; owners put their per-queue state
 * under the same lock, because it is taken once per operation either way.
 *
 * Errors: the first failure, of whatever kind, makes the ring dead and calls
 * ops->failed() once. The owner then drains and destroys the ring.
 */

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>

#include "names.h"
#include "ring.h"

/**
 * rnbd_ring_proto_err - report a protocol error of the peer and fail the ring
 * @ring: ring
 * @perr: what the peer did
 *
 * Context: any, with or without ring->lock.
 */
void rnbd_ring_proto_err(struct rnbd_ring *ring, enum rnbd_proto_err perr)
{
	if (ring->attr.ops->proto_err && !test_bit(0, &ring->failed))
		ring->attr.ops->proto_err(ring, perr);
	rnbd_ring_fail(ring, rnbd_proto_err_text(perr));
}
EXPORT_SYMBOL_GPL(rnbd_ring_proto_err);

/* Drains polled rings, and allocates slots. */
struct workqueue_struct *rnbd_ring_wq;

/**
 * rnbd_ring_init - before anything else
 * @ring: zeroed memory that the caller embeds
 */
void rnbd_ring_init(struct rnbd_ring *ring)
{
	spin_lock_init(&ring->lock);
	spin_lock_init(&ring->poll_lock);
	INIT_LIST_HEAD(&ring->recv);
	INIT_LIST_HEAD(&ring->send);
}
EXPORT_SYMBOL_GPL(rnbd_ring_init);

/**
 * rnbd_ring_set_rate_limit - let the peer send only so many frames
 * @ring: a ring that was created
 * @frames: per second, 0: as many as it has credits for
 *
 * More are a violation.
 *
 * Context: any.
 */
void rnbd_ring_set_rate_limit(struct rnbd_ring *ring, u32 frames)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring->rate_limit = frames;
	ring->rate_from = jiffies;
	ring->rate_frames = 0;
	spin_unlock_irqrestore(&ring->lock, flags);
}
EXPORT_SYMBOL_GPL(rnbd_ring_set_rate_limit);

/**
 * rnbd_ring_over_rate - count a frame against a rate limit
 * @ring: ring
 * @frames: such frames that the peer may send in a second
 *
 * Context: ring->lock held.
 * Return: true if this is one too many.
 */
bool rnbd_ring_over_rate(struct rnbd_ring *ring, u32 frames)
{
	lockdep_assert_held(&ring->lock);

	if (time_after_eq(jiffies, ring->rate_from + HZ)) {
		ring->rate_from = jiffies;
		ring->rate_frames = 0;
	}
	return ++ring->rate_frames > frames;
}

/**
 * rnbd_ring_fail - end the ring
 * @ring: ring
 * @reason: constant text for people
 *
 * Only the first call has an effect. Context: any, with or without ring->lock.
 */
void rnbd_ring_fail(struct rnbd_ring *ring, const char *reason)
{
	/* In this order: rnbd_ring_start() sets live and then looks at the bit. */
	bool first = !test_and_set_bit(0, &ring->failed);

	WRITE_ONCE(ring->live, false);
	if (first)
		ring->attr.ops->failed(ring, reason);
}
EXPORT_SYMBOL_GPL(rnbd_ring_fail);
