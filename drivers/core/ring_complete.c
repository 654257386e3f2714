// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions of the control ring: frames received, SENDs done, keep-alive.
 *
 * Operation: the completion handlers check each frame with the codec, hand it to
 * the owner, post its slot again, unless the peer has given it up, and return credits.
 * While the owner expects frames of the peer, rnbd_ring_keepalive() sends a credit
 * frame on a quiet ring and fails a ring whose peer is silent. The target answers such
 * a frame with another one, so a client can probe a connection on which the target
 * would otherwise send nothing.
 *
 * Concurrency: one completion of a ring is handled at a time, in the context of
 * its CQ or in rnbd_ring_poll(). The owner's callbacks run without ring->lock.
 *
 * Errors: a frame that violates the protocol and a work request that fails end
 * the ring through rnbd_ring_fail().
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

/* Jiffies after which a ring gives up what it has not used. */
#define RNBD_RING_PERIOD	(5 * HZ)
/* Jiffies after which a quiet ring returns credits although few are owed. */
#define RNBD_RING_QUIET		HZ

/**
 * rnbd_ring_poll - handle the completions that there are
 * @ring: ring; one that is not connected, or not polled, is fine
 *
 * Does nothing while somebody else polls. At most as many as the completion queue
 * holds: others may go on submitting.
 *
 * Context: process context, does not sleep.
 * Return: how many there were.
 */
int rnbd_ring_poll(struct rnbd_ring *ring)
{
	int done = 0;

	if (ring->attr.poll != IB_POLL_DIRECT || !READ_ONCE(ring->live) ||
	    !spin_trylock(&ring->poll_lock))
		return 0;
	/* A dead ring is drained and destroyed after the lock was free. */
	if (READ_ONCE(ring->live))
		done = ib_process_cq_direct(ring->cq, ring->nr_cqe);
	ring->stats.polled += done;
	spin_unlock(&ring->poll_lock);
	return done;
}
EXPORT_SYMBOL_GPL(rnbd_ring_poll);

/*
 * Return credits that no frame has carried, so that the peer can give up slots. A lone credit
 * stays: it would come back, and so would the next one.
 */
static void rnbd_ring_return_old(struct rnbd_ring *ring)
{
	if (ring->live && ring->in.owed > 1 && !ring->open && ring->out.credits > 2 &&
	    ring->send_free > 2 && time_after_eq(jiffies, ring->last_sent + RNBD_RING_QUIET))
		rnbd_ring_send_credits(ring);
}

/**
 * rnbd_ring_keepalive - send a keep-alive if due and check that of the peer
 * @ring: ring; one that is not connected is fine
 * @interval_ms: milliseconds between the frames of a peer, as negotiated
 * @expect: the peer has to send frames: the ring is the first one of its path, or
 *	something is outstanding on it
 *
 * To be called twice per interval. The ring also gives up slots that it has not used for
 * some time. An idle ring sends a credit frame, which
 * proves this end's software as well as the wire. It never takes the last two
 * credits: they are for a frame that returns many, and for the reply to a login.
 * A peer that was silent for RNBD_KEEPALIVE_MISSED intervals while frames were expected is
 * dead; soft-RoCE would not notice. So is one that sends but gives no credit for so long:
 * requests that wait for credits have no other time limit.
 *
 * Context: process context.
 */
void rnbd_ring_keepalive(struct rnbd_ring *ring, u32 interval_ms, bool expect)
{
	unsigned long interval = msecs_to_jiffies(interval_ms);
	const char *dead = NULL;
	unsigned long flags;

	/* A polled ring without requests in flight is polled by no other caller. */
	rnbd_ring_poll(ring);
	spin_lock_irqsave(&ring->lock, flags);
	if (expect && !ring->expects)
		ring->expects_from = jiffies;
	ring->expects = expect;
	if (ring->live && expect) {
		unsigned long limit = jiffies - RNBD_KEEPALIVE_MISSED * interval;
		bool due = time_after_eq(jiffies, ring->last_sent + interval / 2);
		/* A ring on which nothing was expected may have been quiet for long. */
		bool late = time_before(ring->expects_from, limit);

		/* The caller may be late: an old last_sent counts only if nothing can be sent. */
		if (late && time_before(READ_ONCE(ring->last_heard), limit))
			dead = "no sign of life from the peer";
		else if (due && !ring->open && ring->out.credits > 2 && ring->send_free > 2)
			rnbd_ring_send_credits(ring);
		else if (late && time_before(ring->last_sent, limit))
			dead = "the peer gives no credits";
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

/* Send what waited for a credit, a send slot or the end of another frame. */
static void rnbd_ring_flush_due(struct rnbd_ring *ring)
{
	unsigned long flags;

	/* Whatever makes something due tries to send it. */
	if (likely(!READ_ONCE(ring->wished) && !READ_ONCE(ring->in.open)))
		return;
	spin_lock_irqsave(&ring->lock, flags);
	rnbd_ring_send_due(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbd_ring_send_done - handle the completion of a frame's SEND
 * @cq: completion queue
 * @wc: completion; its wr_cqe is in a send slot
 *
 * Context: completion handler; the owner's sent() runs without ring->lock.
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
	/* Slots are used in order: those before it are free as well. */
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
 * Credit frames that return few credits were not sent to return them, unless they spend the
 * credits that the peer gives up.
 */
static bool rnbd_ring_is_keepalive(const struct rnbd_ring *ring, const struct rnbd_frame *frame)
{
	return frame->type == RNBD_FRAME_CREDIT && frame->credits < ring->out.slots / 2 &&
	       !ring->in.retire;
}

/*
 * A peer sends no more frames than it has credits for, and it gets those back
 * with the answers to its frames. Only keep-alives cost it nothing, of which
 * RNBD_KEEPALIVE_MS_MIN requires few.
 */
static bool rnbd_ring_over_rate_limit(struct rnbd_ring *ring, const struct rnbd_frame *frame)
{
	if (likely(!ring->rate_limit && !rnbd_ring_is_keepalive(ring, frame)))
		return false;
	return rnbd_ring_over_rate(ring, ring->rate_limit ?: RNBD_LIFE_FRAMES_MAX);
}

/*
 * Answer a keep-alive. Only one end does, so that two quiet rings do not answer each other
 * for ever. A frame that was sent in this jiffy is an answer already.
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
	/* It gives back what it has not got, or sends without having any. */
	if (unlikely(ring->in.owed >= ring->in.slots ||
		     !rnbd_flow_returned(&ring->out, frame.credits)))
		perr = RNBD_PERR_CREDITS;
	else if (unlikely(rnbd_ring_over_rate_limit(ring, &frame)))
		perr = RNBD_PERR_RATE;
	else
		/* Before the owner uses the credits. */
		rnbd_ring_send_due(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (unlikely(perr))
		return perr;

	if (!credit_frame)
		return ring->attr.ops->frame(ring, &frame);
	ring->attr.ops->credit(ring);
	return RNBD_PERR_NONE;
}

/* Post the slot of a frame again, or free it. Returns false if the ring has failed. */
static bool rnbd_ring_recycle(struct rnbd_ring *ring, struct rnbd_slot *slot)
{
	unsigned long flags;

	/* Only the completion handler changes it, which handles one frame at a time. */
	if (likely(!READ_ONCE(ring->in.retire))) {
		if (likely(!rnbd_ring_post_recv(ring, slot)))
			return true;
		rnbd_ring_fail(ring, "the device refused a receive slot");
		return false;
	}
	spin_lock_irqsave(&ring->lock, flags);
	list_del(&slot->entry);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbd_ring_free_slot(ring, slot, DMA_FROM_DEVICE);
	return true;
}

/* Count a frame whose slot was recycled. */
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
 * @wc: completion; its wr_cqe is in a receive slot
 *
 * Context: completion handler; the owner's frame() runs without ring->lock.
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
	/* Frames that were received before a failure are not executed. */
	if (unlikely(!READ_ONCE(ring->live))) {
		spin_lock_irqsave(&ring->lock, flags);
		ring->stats.late_frames++;
		spin_unlock_irqrestore(&ring->lock, flags);
		return;
	}
	/*
	 * Nobody is asked to invalidate a key here, and soft-RoCE does not
	 * check that the key belongs to this connection's protection domain.
	 */
	if (unlikely(wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE))) {
		rnbd_ring_proto_err(ring, RNBD_PERR_MESSAGE);
		return;
	}

	/* The frame may be shorter than its header. */
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
	if (unlikely(!rnbd_ring_recycle(ring, slot)))
		return;

	spin_lock_irqsave(&ring->lock, flags);
	rnbd_ring_recycled(ring);
	rnbd_ring_send_due(ring);
	rnbd_ring_return_credits(ring);
	if (keepalive && ring->attr.answer)
		rnbd_ring_answer(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}
