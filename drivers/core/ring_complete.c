// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions of the control ring: received frames, completed SENDs, keep-alives.
 *
 * Operation: the completion handler checks each received frame with the codec, passes it to
 * the owner, and posts its slot again, or frees the slot if the peer has given it up. Slots that
 * are posted again are returned to the peer as credits. While the owner expects frames of the peer,
 * rnbd_ring_keepalive() sends a credit frame on a quiet ring and fails a ring whose peer is
 * silent. The target answers such a credit frame with another one, so a client can probe a
 * connection on which the target would otherwise send nothing.
 *
 * Ownership: a slot belongs to the device from its post to its completion.
 *
 * Concurrency: the completions of a ring are handled one at a time, in the context of its
 * CQ or in rnbd_ring_poll(). The owner's callbacks run without ring->lock.
 *
 * Errors: a frame that violates the protocol and a work request that fails end the ring
 * through rnbd_ring_fail().
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>

#include "flow.h"
#include "frame.h"
#include "ring.h"
#include "ring_complete.h"
#include "ring_resize.h"
#include "ring_send.h"
#include "ring_slots.h"

/* Jiffies of an observation period, after which a ring gives up unused slots and requests. */
#define RNBD_RING_PERIOD	(5 * HZ)
/* Jiffies without a sent frame, after which a ring returns owed credits if they are at least 2. */
#define RNBD_RING_QUIET		HZ

/**
 * rnbd_ring_poll - handle the pending completions of a polled ring
 * @ring: ring; if it is not connected or not polled, the function does nothing
 *
 * Does nothing while another context polls. Handles at most as many completions as the
 * completion queue has entries, because other tasks can submit requests all the time.
 *
 * Context: process context, does not sleep.
 * Return: number of completions that were handled.
 */
int rnbd_ring_poll(struct rnbd_ring *ring)
{
	int done = 0;

	if (ring->attr.poll != IB_POLL_DIRECT || !READ_ONCE(ring->live) ||
	    !spin_trylock(&ring->poll_lock))
		return 0;
	/*
	 * rnbd_ring_drain_start() clears live and then takes poll_lock. So if live is set,
	 * the CQ is valid until this function unlocks.
	 */
	if (READ_ONCE(ring->live))
		done = ib_process_cq_direct(ring->cq, ring->nr_cqe);
	ring->stats.polled += done;
	spin_unlock(&ring->poll_lock);
	return done;
}
EXPORT_SYMBOL_GPL(rnbd_ring_poll);

/*
 * Return owed credits on a quiet ring, because the peer can give up only slots whose
 * credits it has. A single owed credit is not returned: the peer would then owe a credit for
 * the frame that returns it, and the two ends would send credit frames forever.
 */
static void rnbd_ring_return_old(struct rnbd_ring *ring)
{
	if (ring->live && ring->in.owed > 1 && !ring->open && ring->out.credits > 2 &&
	    ring->send_free > 2 && time_after_eq(jiffies, ring->last_sent + RNBD_RING_QUIET))
		rnbd_ring_send_credits(ring);
}

/**
 * rnbd_ring_keepalive - send a keep-alive if due, and check that the peer is alive
 * @ring: ring; need not be connected
 * @interval_ms: negotiated keep-alive interval in milliseconds
 * @expect: frames of the peer are expected, because the ring belongs to queue 0, or because
 *	this end waits for replies or credits on it
 *
 * The caller must call this function twice per interval. If @expect is set and the ring has sent
 * no frame for half an interval, the ring sends a credit frame, which proves to the peer that
 * this end and the network work. A keep-alive never uses the last two credits: they are for a
 * frame that returns many credits and for the reply to a login.
 *
 * The ring fails if no frame of the peer has arrived for RNBD_KEEPALIVE_MISSED intervals while
 * frames were expected: soft-RoCE repeats its SENDs without limit and does not report that the
 * peer is dead. The ring also fails if it could not send for as many intervals while it lacked
 * credits or send slots: requests that wait for credits have no other time limit. After each
 * RNBD_RING_PERIOD the ring gives up slots and requests that were not used.
 *
 * Context: process context.
 */
void rnbd_ring_keepalive(struct rnbd_ring *ring, u32 interval_ms, bool expect)
{
	unsigned long interval = msecs_to_jiffies(interval_ms);
	const char *dead = NULL;
	unsigned long flags;

	/* While a polled ring has no requests in flight, only this call polls it. */
	rnbd_ring_poll(ring);
	spin_lock_irqsave(&ring->lock, flags);
	if (expect && !ring->expects)
		ring->expects_from = jiffies;
	ring->expects = expect;
	if (ring->live && expect) {
		unsigned long limit = jiffies - RNBD_KEEPALIVE_MISSED * interval;
		bool due = time_after_eq(jiffies, ring->last_sent + interval / 2);
		/* The time before frames of the peer were expected does not count as silence. */
		bool late = time_before(ring->expects_from, limit);

		/*
		 * An old last_sent can be due to a late call of this function, so it is an
		 * error only if no frame can be sent now.
		 */
		if (late && time_before(READ_ONCE(ring->last_heard), limit))
			dead = "no keep-alive from the peer";
		else if (due && !ring->open && ring->out.credits > 2 && ring->send_free > 2)
			rnbd_ring_send_credits(ring);
		else if (late && time_before(ring->last_sent, limit))
			dead = "the peer returns no credits";
	}
	rnbd_ring_return_old(ring);
	if (ring->live && time_after_eq(jiffies, ring->period_from + RNBD_RING_PERIOD))
		rnbd_ring_end_period(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (dead)
		rnbd_ring_fail(ring, dead);
}
EXPORT_SYMBOL_GPL(rnbd_ring_keepalive);

static bool rnbd_ring_wc_ok(struct rnbd_ring *ring, const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return true;
	rnbd_ring_fail(ring, wc->status == IB_WC_WR_FLUSH_ERR ?
			     "connection closed" : ib_wc_status_msg(wc->status));
	return false;
}

/* Send a SLOTS or SLOTS_REPLY that could not be sent before. */
static void rnbd_ring_flush_due(struct rnbd_ring *ring)
{
	unsigned long flags;

	/* The test needs no lock: code that makes an entry due also tries to send the entry. */
	if (likely(!READ_ONCE(ring->slots_request_pending) && !READ_ONCE(ring->in.open)))
		return;
	spin_lock_irqsave(&ring->lock, flags);
	rnbd_ring_send_due(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbd_ring_send_done - handle the completion of a frame's SEND
 * @cq: completion queue
 * @wc: completion; its wr_cqe is part of a send slot
 *
 * Context: completion handler; the owner's sent() or credit() runs without ring->lock.
 */
void rnbd_ring_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbd_slot *slot = container_of(wc->wr_cqe, struct rnbd_slot, cqe);
	struct rnbd_ring *ring = slot->ring;
	const struct rnbd_frame_hdr *hdr = slot->buf;
	unsigned long flags;
	bool credit_frame;
	u32 seq, note;

	if (!rnbd_ring_wc_ok(ring, wc))
		return;

	spin_lock_irqsave(&ring->lock, flags);
	seq = slot->seq;
	note = slot->note;
	credit_frame = hdr->type == RNBD_FRAME_CREDIT;
	/* Frames complete in order, so the slots of all earlier frames are free as well. */
	ring->send_free += seq + 1 - ring->done_seq;
	ring->done_seq = seq + 1;
	if (!credit_frame)
		ring->unacked--;
	else
		rnbd_ring_return_credits(ring);
	spin_unlock_irqrestore(&ring->lock, flags);

	if (credit_frame)
		ring->attr.ops->credit(ring);
	else
		ring->attr.ops->sent(ring, seq, note);
	rnbd_ring_flush_due(ring);
}

/*
 * A credit frame that returns credits for less than half of the peer's slots is a keep-alive,
 * unless the peer sends it to spend a credit that it gives up.
 */
static bool rnbd_ring_is_keepalive(const struct rnbd_ring *ring, const struct rnbd_frame *frame)
{
	return frame->type == RNBD_FRAME_CREDIT && frame->credits < ring->out.slots / 2 &&
	       !ring->in.retire;
}

/*
 * Count a frame against the rate limit. If the owner has set no limit, only keep-alives count
 * here, because a well-behaved peer sends few of them; SLOTS count in rnbd_ring_handle_slots().
 */
static bool rnbd_ring_over_rate_limit(struct rnbd_ring *ring, const struct rnbd_frame *frame)
{
	if (likely(!ring->rate_limit && !rnbd_ring_is_keepalive(ring, frame)))
		return false;
	return rnbd_ring_over_rate(ring, ring->rate_limit ?: RNBD_KEEPALIVE_FRAMES_MAX);
}

/*
 * Answer a keep-alive. Only one end does so; otherwise two quiet rings would answer each
 * other forever. A frame that this end has already sent in the present jiffy serves as the answer.
 */
static void rnbd_ring_answer(struct rnbd_ring *ring)
{
	lockdep_assert_held(&ring->lock);

	if (!ring->live || ring->open || !time_after(jiffies, ring->last_sent) ||
	    ring->out.credits <= 2 || ring->send_free <= 2)
		return;
	rnbd_ring_send_credits(ring);
}

static enum rnbd_proto_err rnbd_ring_handle_frame(struct rnbd_ring *ring,
						  const struct ib_wc *wc,
						  struct rnbd_slot *slot, bool *keepalive)
{
	struct rnbd_frame frame;
	enum rnbd_proto_err perr;
	unsigned long flags;
	bool credit_frame;

	perr = rnbd_decode_frame(slot->buf, wc->byte_len, ring->recv_seq,
				 ring->attr.attempt, READ_ONCE(ring->out.slots), &frame);
	if (unlikely(perr))
		return perr;
	credit_frame = frame.type == RNBD_FRAME_CREDIT;
	*keepalive = rnbd_ring_is_keepalive(ring, &frame);

	spin_lock_irqsave(&ring->lock, flags);
	ring->recv_seq++;
	if (credit_frame)
		ring->stats.credit_frames_received++;
	else
		ring->stats.frames_received++;
	/*
	 * The peer must have a credit for the frame, and must not return more credits than
	 * this end has used.
	 */
	if (unlikely(ring->in.owed >= ring->in.slots ||
		     !rnbd_flow_returned(&ring->out, frame.credits)))
		perr = RNBD_PERR_CREDITS;
	else if (unlikely(rnbd_ring_over_rate_limit(ring, &frame)))
		perr = RNBD_PERR_RATE;
	else
		/* Send a waiting SLOTS or SLOTS_REPLY before the owner uses the credits. */
		rnbd_ring_send_due(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (unlikely(perr))
		return perr;

	if (!credit_frame)
		return ring->attr.ops->frame(ring, &frame);
	ring->attr.ops->credit(ring);
	return RNBD_PERR_NONE;
}

/*
 * Post the slot of a handled frame again, or free it if the peer has given it up. Returns false
 * if the device has refused the slot.
 */
static bool rnbd_ring_recycle(struct rnbd_ring *ring, struct rnbd_slot *slot)
{
	lockdep_assert_held(&ring->lock);

	if (likely(!ring->in.retire))
		return !rnbd_ring_post_recv(ring, slot);
	list_del(&slot->entry);
	rnbd_ring_free_slot(ring, slot, DMA_FROM_DEVICE);
	return true;
}

/* Update the slot and credit counts after rnbd_ring_recycle(). */
static void rnbd_ring_recycled(struct rnbd_ring *ring)
{
	lockdep_assert_held(&ring->lock);

	if (likely(rnbd_flow_received(&ring->in)))
		ring->in.owed++;
	else if (!ring->in.retire)
		rnbd_ring_kick(ring);
}

/**
 * rnbd_ring_recv_done - handle a frame that has arrived
 * @cq: completion queue
 * @wc: completion; its wr_cqe is part of a receive slot
 *
 * Context: completion handler; the owner's frame() or credit() runs without ring->lock.
 */
void rnbd_ring_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbd_slot *slot = container_of(wc->wr_cqe, struct rnbd_slot, cqe);
	struct rnbd_ring *ring = slot->ring;
	enum rnbd_proto_err perr;
	unsigned long flags;
	bool keepalive = false;

	if (unlikely(rnbd_quirks_too_long(&ring->quirks, wc->status))) {
		rnbd_ring_proto_err(ring, RNBD_PERR_LONG);
		return;
	}
	if (!rnbd_ring_wc_ok(ring, wc))
		return;
	/* Drop a frame whose completion is handled only after the ring has failed. */
	if (unlikely(!READ_ONCE(ring->live))) {
		spin_lock_irqsave(&ring->lock, flags);
		ring->stats.late_frames++;
		spin_unlock_irqrestore(&ring->lock, flags);
		return;
	}
	/*
	 * No valid frame has immediate data or invalidates a key. soft-RoCE invalidates even a
	 * key of another protection domain than that of this connection.
	 */
	if (unlikely(wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE))) {
		rnbd_ring_proto_err(ring, RNBD_PERR_MESSAGE);
		return;
	}

	/* The frame is not checked yet: it can be empty or shorter than its header. */
	slot->used = wc->byte_len;
	if (slot->used)
		ib_dma_sync_single_for_cpu(ring->dev, slot->sge.addr, slot->used,
					   DMA_FROM_DEVICE);
	WRITE_ONCE(ring->last_heard, jiffies);
	perr = rnbd_ring_handle_frame(ring, wc, slot, &keepalive);
	if (unlikely(perr)) {
		rnbd_ring_proto_err(ring, perr);
		return;
	}

	spin_lock_irqsave(&ring->lock, flags);
	/* Post nothing after a drain has begun: it waits only for earlier work requests. */
	if (unlikely(!ring->live))
		goto unlock;
	if (unlikely(!rnbd_ring_recycle(ring, slot))) {
		rnbd_ring_fail(ring, "the device refused a receive slot");
		goto unlock;
	}
	rnbd_ring_recycled(ring);
	rnbd_ring_send_due(ring);
	rnbd_ring_return_credits(ring);
	if (keepalive && ring->attr.answer)
		rnbd_ring_answer(ring);
unlock:
	spin_unlock_irqrestore(&ring->lock, flags);
}
