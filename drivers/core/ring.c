// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control ring: its structures, its rate limit and its failure.
 *
 * Operation: a ring is one RC queue pair with receive slots, send slots and credits.
 * ring_setup.c creates and destroys it, ring_send.c gathers and sends frames,
 * ring_complete.c handles completions. Each end posts a few receive slots when it creates
 * the queue pair, and posts a slot again as soon as the frame in it was handled, unless the
 * peer has given up the slot. ring_resize.c adds slots while they are needed. The ring also
 * works without additional slots, so the progress of requests never depends on an allocation.
 *
 * Ownership: the ring owns the queue pair, the slots and its share of the CQ. The owner of
 * the ring owns the cm_id and the protection domain, and keeps both until
 * rnbd_ring_destroy().
 *
 * Concurrency: the completions of one ring are handled one at a time. ring->lock protects
 * the send path and the credits. Owners protect their per-queue state with the same lock,
 * because every operation takes it anyway.
 *
 * Errors: the first failure of any kind marks the ring as failed and calls ops->failed()
 * once. After that the owner drains and destroys the ring.
 */

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>

#include "names.h"
#include "ring.h"

/**
 * rnbd_ring_proto_err - report a protocol error of the peer and fail the ring
 * @ring: ring
 * @perr: protocol error of the peer
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

/* Runs the work items that drain polled rings and those that allocate slots. */
struct workqueue_struct *rnbd_ring_wq;

/**
 * rnbd_ring_init - initialise locks and lists, before any other call for the ring
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
 * rnbd_ring_set_rate_limit - limit the number of frames that the peer may send
 * @ring: a ring that was created
 * @frames: frames per second; if 0, only keep-alives and frames with SLOTS have a rate limit,
 *	RNBD_KEEPALIVE_FRAMES_MAX for both together
 *
 * A peer that sends more frames commits a protocol error.
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
 * @frames: limit of counted frames per second
 *
 * Context: ring->lock held.
 * Return: true if the peer has exceeded the limit.
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
 * rnbd_ring_fail - mark the ring as failed
 * @ring: ring
 * @reason: error message for the log, a constant string
 *
 * Only the first call after rnbd_ring_create() has an effect.
 *
 * Context: any, with or without ring->lock.
 */
void rnbd_ring_fail(struct rnbd_ring *ring, const char *reason)
{
	/*
	 * Set the bit before live is cleared. rnbd_ring_start() sets live and then tests the
	 * bit, so at least one of the two functions clears live after it was set.
	 */
	bool first = !test_and_set_bit(0, &ring->failed);

	WRITE_ONCE(ring->live, false);
	if (first)
		ring->attr.ops->failed(ring, reason);
}
EXPORT_SYMBOL_GPL(rnbd_ring_fail);
