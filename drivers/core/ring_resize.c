// SPDX-License-Identifier: GPL-2.0-only
/*
 * Growing and shrinking of a control ring.
 *
 * Operation: flow.c decides when a ring changes, and by how many slots. If the credits of a
 * ring run low, slots_work allocates send slots and asks the peer for as many additional
 * receive slots (control entry SLOTS). If the peer asks for more with SLOTS, slots_work allocates
 * the receive slots and answers with SLOTS_REPLY. At the end of an observation period in which
 * few receive slots of the peer were in use, the ring gives up some of them: it sends SLOTS
 * with a lower number, and spends one credit on a frame for each slot that it gives up. The
 * peer does not post the slots of these frames again. A SLOTS or SLOTS_REPLY that cannot be
 * sent for lack of a credit or send slot is sent as soon as both are available.
 *
 * Ownership: all slots are in the lists of the ring, except new ones that slots_work has not
 * added yet. rnbd_ring_drain() stops slots_work.
 *
 * Concurrency: ring->lock protects the lists and the numbers of slots. Only slots_work
 * allocates memory, and it does so without ring->lock.
 *
 * Errors: a ring that gets no more memory continues with the slots that it has. An invalid
 * SLOTS or SLOTS_REPLY of the peer is a protocol error.
 */

#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "ctl.h"
#include "flow.h"
#include "ring.h"
#include "ring_resize.h"
#include "ring_send.h"
#include "ring_slots.h"

static void rnbd_ring_post_slots(struct rnbd_ring *ring, u16 type,
				 const struct rnbd_slots_info *info)
{
	struct rnbd_ctl_slots wire;
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.body = &wire,
		.bytes = sizeof(wire),
	};

	rnbd_encode_slots(&wire, info);
	/* The caller has checked that a frame can be opened, so an error means a failed ring. */
	if (rnbd_ring_post_ctl(ring, &entry))
		return;
	/* Count this frame as a credit frame: users compare frames_sent with their requests. */
	ring->stats.frames_sent--;
	ring->stats.entries_sent--;
	ring->stats.credit_frames_sent++;
}

/* Count a received frame with SLOTS or SLOTS_REPLY as a credit frame, not in frames_received. */
static void rnbd_ring_count_slots(struct rnbd_ring *ring)
{
	lockdep_assert_held(&ring->lock);

	ring->stats.frames_received--;
	ring->stats.credit_frames_received++;
}

/**
 * rnbd_ring_send_slots - send the SLOTS and the SLOTS_REPLY that wait to be sent, if any
 * @ring: ring
 *
 * Called by rnbd_ring_send_due() only.
 *
 * Context: any, ring->lock held.
 */
void rnbd_ring_send_slots(struct rnbd_ring *ring)
{
	struct rnbd_slots_info info;

	lockdep_assert_held(&ring->lock);

	if (unlikely(rnbd_flow_reply(&ring->in, &info)) && rnbd_ring_can_open(ring)) {
		ring->in.open = false;
		rnbd_ring_post_slots(ring, RNBD_CTL_SLOTS_REPLY, &info);
	}
	if (unlikely(ring->slots_request_pending) && rnbd_ring_can_open(ring)) {
		ring->slots_request_pending = false;
		rnbd_flow_ask(&ring->out, &ring->slots_request);
		rnbd_ring_post_slots(ring, RNBD_CTL_SLOTS, &ring->slots_request);
	}
}

/*
 * Free unused send slots beyond one per receive slot of the peer and one for a credit frame, unless
 * a SLOTS waits to be sent or to be answered. Returns true if any were freed.
 */
static bool rnbd_ring_trim_send(struct rnbd_ring *ring)
{
	struct rnbd_slot *slot;
	u16 had = ring->nr_send;

	lockdep_assert_held(&ring->lock);

	if (ring->slots_request_pending || ring->out.open)
		return false;
	while (ring->nr_send > ring->out.slots + 1 && ring->nr_send > RNBD_RING_SLOTS_MIN + 1 &&
	       ring->send_free > 1) {
		slot = list_first_entry(&ring->send, struct rnbd_slot, entry);
		list_del(&slot->entry);
		ring->nr_send--;
		ring->send_free--;
		rnbd_ring_free_slot(ring, slot, DMA_TO_DEVICE);
	}
	return ring->nr_send < had;
}

/*
 * Send SLOTS with fewer receive slots of the peer, or fewer requests in flight of this end.
 * Spend one credit for each slot that is given up.
 */
static void rnbd_ring_give_up(struct rnbd_ring *ring, const struct rnbd_slots_info *info)
{
	u16 frames = ring->out.slots - info->slots;

	rnbd_flow_ask(&ring->out, info);
	rnbd_ring_post_slots(ring, RNBD_CTL_SLOTS, info);
	/* The frame with SLOTS has spent the first of these credits. */
	while (frames-- > 1 && ring->live)
		rnbd_ring_send_credits(ring);
}

/**
 * rnbd_ring_end_period - end an observation period, and give up unused slots and requests
 * @ring: ring; call this every RNBD_RING_PERIOD
 *
 * Context: any, ring->lock held.
 */
void rnbd_ring_end_period(struct rnbd_ring *ring)
{
	struct rnbd_flow_out *out = &ring->out;
	struct rnbd_slots_info info;

	lockdep_assert_held(&ring->lock);

	if (!ring->slots_request_pending && rnbd_ring_can_open(ring) &&
	    rnbd_flow_less(out, ring->send_free, &info)) {
		if (info.depth < out->depth)
			info.depth = ring->attr.ops->trim_depth(ring, info.depth);
		if (info.slots < out->slots || info.depth < out->depth)
			rnbd_ring_give_up(ring, &info);
	}
	rnbd_flow_end_period(out);
	ring->period_from = jiffies;
	/* Queue slots_work, which lets the owner reduce its charge. */
	if (rnbd_ring_trim_send(ring))
		rnbd_ring_kick(ring);
}

/**
 * rnbd_ring_enable_in - allow the peer to have requests in flight
 * @ring: ring of a connection whose login or join is granted, before the reply is sent
 * @max_depth: maximum number of requests in flight that the peer may ask for
 *
 * Context: any; takes ring->lock.
 */
void rnbd_ring_enable_in(struct rnbd_ring *ring, u16 max_depth)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	rnbd_flow_in_enable(&ring->in, max_depth);
	spin_unlock_irqrestore(&ring->lock, flags);
}
EXPORT_SYMBOL_GPL(rnbd_ring_enable_in);

/**
 * rnbd_ring_enable_out - allow a ring to ask the peer for other numbers of slots and requests
 * @ring: ring of a connection whose login or join is granted; the reply was sent or has arrived
 * @max_depth: maximum number of requests in flight to ask for; 0 at the end that receives the
 *	requests
 *
 * Context: any; takes ring->lock.
 */
void rnbd_ring_enable_out(struct rnbd_ring *ring, u16 max_depth)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	rnbd_flow_out_enable(&ring->out, max_depth);
	rnbd_flow_end_period(&ring->out);
	ring->period_from = jiffies;
	spin_unlock_irqrestore(&ring->lock, flags);
}
EXPORT_SYMBOL_GPL(rnbd_ring_enable_out);

/**
 * rnbd_ring_short_of_depth - note that a request waits because the allowed number is in flight
 * @ring: ring
 *
 * Context: any, ring->lock held.
 */
void rnbd_ring_short_of_depth(struct rnbd_ring *ring)
{
	lockdep_assert_held(&ring->lock);

	ring->out.short_depth = true;
	if (rnbd_flow_is_short(&ring->out) && !ring->slots_request_pending)
		rnbd_ring_kick(ring);
}
EXPORT_SYMBOL_GPL(rnbd_ring_short_of_depth);

/**
 * rnbd_ring_handle_slots - handle a request of the peer for other numbers of slots or requests
 * @ring: ring
 * @entry: entry of type SLOTS
 *
 * Context: completion handler of the ring.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbd_ring_handle_slots(struct rnbd_ring *ring,
					   const struct rnbd_ctl_entry *entry)
{
	struct rnbd_slots_info info;
	enum rnbd_proto_err perr;
	unsigned long flags;

	perr = rnbd_decode_slots(entry, &info);
	if (perr)
		return perr;
	spin_lock_irqsave(&ring->lock, flags);
	rnbd_ring_count_slots(ring);
	if (rnbd_ring_over_rate(ring, RNBD_KEEPALIVE_FRAMES_MAX))
		perr = RNBD_PERR_RATE;
	else
		perr = rnbd_flow_asked(&ring->in, &info);
	if (!perr) {
		ring->stats.shrunk += !!ring->in.retire;
		/*
		 * Queue slots_work even if no slots are added: it makes the owner free the
		 * requests that the peer has given up.
		 */
		rnbd_ring_kick(ring);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return perr;
}
EXPORT_SYMBOL_GPL(rnbd_ring_handle_slots);

/**
 * rnbd_ring_handle_slots_reply - handle the answer of the peer to a request for slots
 * @ring: ring
 * @entry: entry of type SLOTS_REPLY
 *
 * Context: completion handler of the ring.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbd_ring_handle_slots_reply(struct rnbd_ring *ring,
						 const struct rnbd_ctl_entry *entry)
{
	struct rnbd_slots_info info;
	enum rnbd_proto_err perr;
	unsigned long flags;
	u16 slots;

	perr = rnbd_decode_slots(entry, &info);
	if (perr)
		return perr;
	spin_lock_irqsave(&ring->lock, flags);
	rnbd_ring_count_slots(ring);
	slots = ring->out.slots;
	perr = rnbd_flow_answered(&ring->out, &info);
	if (!perr) {
		ring->stats.grown += ring->out.slots > slots;
		ring->stats.shrunk += ring->out.slots < slots;
		rnbd_ring_trim_send(ring);
		rnbd_ring_kick(ring);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return perr;
}
EXPORT_SYMBOL_GPL(rnbd_ring_handle_slots_reply);

/* Ask the owner to charge the slots of the ring and @more additional ones; false if it refuses. */
static bool rnbd_ring_may_have(struct rnbd_ring *ring, u32 more)
{
	const struct rnbd_ring_ops *ops = ring->attr.ops;
	unsigned long flags;
	u32 slots;

	if (!ops->charge)
		return true;
	spin_lock_irqsave(&ring->lock, flags);
	slots = ring->in.slots + ring->nr_send + more;
	spin_unlock_irqrestore(&ring->lock, flags);
	return ops->charge(ring, slots);
}

/* Post the slots in @added, and answer the peer. Slots that cannot be posted stay in @added. */
static void rnbd_ring_post_added(struct rnbd_ring *ring, struct list_head *added, u16 depth)
{
	struct rnbd_slot *slot, *next;
	unsigned long flags;
	u16 posted = 0;

	spin_lock_irqsave(&ring->lock, flags);
	list_for_each_entry_safe(slot, next, added, entry) {
		if (!ring->live || rnbd_ring_post_recv(ring, slot))
			break;
		list_move(&slot->entry, &ring->recv);
		posted++;
	}
	rnbd_flow_grown(&ring->in, posted, depth);
	ring->stats.grown += !!posted;
	rnbd_ring_send_due(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/* Allocate the slots and requests that the peer has asked for, and answer. */
static void rnbd_ring_grow_in(struct rnbd_ring *ring)
{
	const struct rnbd_ring_ops *ops = ring->attr.ops;
	struct rnbd_flow_in in;
	unsigned long flags;
	LIST_HEAD(added);
	u16 depth;

	spin_lock_irqsave(&ring->lock, flags);
	in = ring->in;
	spin_unlock_irqrestore(&ring->lock, flags);
	/* Until the peer is answered, only this function changes the depth or adds slots. */
	depth = in.depth;
	if (ops->grow_depth)
		depth = ops->grow_depth(ring, in.grow ? in.asked.depth : depth);
	if (!in.grow)
		return;
	if (in.asked.slots > in.slots && rnbd_ring_may_have(ring, in.asked.slots - in.slots))
		rnbd_ring_add_slots(ring, &added, in.asked.slots - in.slots, DMA_FROM_DEVICE);
	rnbd_ring_post_added(ring, &added, depth);
	rnbd_ring_free_slots(ring, &added, DMA_FROM_DEVICE);
}

/* Add send slots to the ring. If the ring is not live, the slots stay in @added. */
static void rnbd_ring_add_send(struct rnbd_ring *ring, struct list_head *added, u32 nr)
{
	lockdep_assert_held(&ring->lock);

	if (!ring->live)
		return;
	list_splice_init(added, &ring->send);
	ring->nr_send += nr;
	ring->send_free += nr;
}

/* Allocate send slots, and ask the peer for as many additional receive slots. */
static void rnbd_ring_grow_out(struct rnbd_ring *ring)
{
	struct rnbd_slots_info request;
	unsigned long flags;
	bool more = false;
	LIST_HEAD(added);
	int need = 0;
	u32 nr = 0;

	spin_lock_irqsave(&ring->lock, flags);
	if (ring->live && !ring->slots_request_pending)
		more = rnbd_flow_more(&ring->out, &request);
	if (more)
		need = request.slots + 1 - ring->nr_send;
	spin_unlock_irqrestore(&ring->lock, flags);
	if (!more)
		return;
	if (need > 0 && rnbd_ring_may_have(ring, need))
		nr = rnbd_ring_add_slots(ring, &added, need, DMA_TO_DEVICE);

	spin_lock_irqsave(&ring->lock, flags);
	rnbd_ring_add_send(ring, &added, nr);
	/* Do not ask for more receive slots than this end has send slots for. */
	request.slots = clamp(ring->nr_send - 1, (int)ring->out.slots, (int)request.slots);
	ring->slots_request = request;
	ring->slots_request_pending = request.slots > ring->out.slots ||
				      request.depth > ring->out.depth;
	ring->out.refused = !ring->slots_request_pending;
	rnbd_ring_send_due(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	rnbd_ring_free_slots(ring, &added, DMA_TO_DEVICE);
}

/**
 * rnbd_ring_slots_work - allocate slots, and let the owner update its charge
 * @work: rnbd_ring.slots_work
 *
 * Context: work item of rnbd_ring_wq; may sleep.
 */
void rnbd_ring_slots_work(struct work_struct *work)
{
	struct rnbd_ring *ring = container_of(work, struct rnbd_ring, slots_work);
	unsigned int noio = memalloc_noio_save();

	rnbd_ring_grow_in(ring);
	rnbd_ring_grow_out(ring);
	/* Update the charge, because the ring has possibly shrunk since the latest call. */
	rnbd_ring_may_have(ring, 0);
	memalloc_noio_restore(noio);
}
