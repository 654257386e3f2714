// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control ring: frames, slots and credits on one RC queue pair.
 *
 * Operation
 *
 * Both ends of a queue post a fixed number of receive slots when the queue
 * pair is made and post each again as soon as its frame has been handled.
 * Send slots are used in order and are free again when their SEND completes.
 * Nothing is allocated or mapped after rnbd_ring_create().
 *
 * The owner gathers entries in the open frame (rnbd_ring_open, _add) and
 * sends it (rnbd_ring_send), chained behind its own data work requests in a
 * single post. The completion of a SEND that is signalled covers everything
 * that was posted before it: data work requests, which therefore need none, and
 * SENDs that were not signalled. A SEND that nobody waits for is not, unless half
 * the slots are in use: a frame on a quiet queue costs one interruption less.
 *
 * A credit is a receive slot of the peer. Every frame takes one and returns
 * what its sender owes. The last credit, and the last free send slot, are for
 * a credit frame alone, which goes out when half the ring is owed and no frame
 * is open that would carry the credits. Lack of credits cannot deadlock: a
 * frame that took the last credit returned at least half a ring, so the two
 * directions are never both without credits while nothing is on the wire.
 *
 * Ownership
 *
 * The ring owns queue pair, slots and its part of the CQ. The owner owns the
 * cm_id and the protection domain and keeps them until rnbd_ring_destroy().
 *
 * Concurrency
 *
 * Completions of one ring are handled one at a time. ring->lock protects the
 * sending side and the credits; owners put their per-queue state under the
 * same lock, because it is taken once per operation either way.
 *
 * Errors
 *
 * The first failure, of whatever kind, makes the ring dead and calls
 * ops->failed() once. There is no way back: the owner drains and destroys.
 */

#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "ring.h"

static bool signal_all;
module_param(signal_all, bool, 0644);
MODULE_PARM_DESC(signal_all, "ask the device to report every frame sent, even if nobody waits for that (default N)");

static void rnbd_ring_recv_done(struct ib_cq *cq, struct ib_wc *wc);
static void rnbd_ring_send_done(struct ib_cq *cq, struct ib_wc *wc);

static void rnbd_ring_free_slots(struct rnbd_ring *ring, struct rnbd_slot *slots,
				 u32 nr, enum dma_data_direction dir)
{
	u32 i;

	if (!slots)
		return;
	for (i = 0; i < nr; i++) {
		if (!slots[i].buf)
			continue;
		ib_dma_unmap_single(ring->dev, slots[i].sge.addr,
				    ring->attr.slot_size, dir);
		kfree(slots[i].buf);
	}
	kvfree(slots);
}

static struct rnbd_slot *rnbd_ring_alloc_slots(struct rnbd_ring *ring, u32 nr,
					       enum dma_data_direction dir)
{
	struct rnbd_slot *slots;
	u32 i;

	slots = kvcalloc(nr, sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return NULL;

	for (i = 0; i < nr; i++) {
		struct rnbd_slot *slot = &slots[i];
		void *buf = kzalloc(ring->attr.slot_size, GFP_KERNEL);
		u64 addr;

		if (!buf)
			goto free;
		addr = ib_dma_map_single(ring->dev, buf, ring->attr.slot_size, dir);
		if (ib_dma_mapping_error(ring->dev, addr)) {
			kfree(buf);
			goto free;
		}
		slot->buf = buf;
		slot->ring = ring;
		slot->sge.addr = addr;
		slot->sge.length = ring->attr.slot_size;
		slot->sge.lkey = ring->pd->local_dma_lkey;
		slot->cqe.done = dir == DMA_FROM_DEVICE ? rnbd_ring_recv_done :
							  rnbd_ring_send_done;
	}
	return slots;
free:
	rnbd_ring_free_slots(ring, slots, nr, dir);
	return NULL;
}

static int rnbd_ring_post_recv(struct rnbd_ring *ring, struct rnbd_slot *slot)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &slot->cqe,
		.sg_list = &slot->sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(ring->dev, slot->sge.addr,
				      ring->attr.slot_size, DMA_FROM_DEVICE);
	return ib_post_recv(ring->qp, &wr, NULL);
}

/* The peer has broken a rule. */
static void rnbd_ring_violated(struct rnbd_ring *ring, enum rnbd_fault fault)
{
	if (ring->attr.ops->violation && !test_bit(0, &ring->failed))
		ring->attr.ops->violation(ring, fault);
	rnbd_ring_fail(ring, rnbd_fault_text(fault));
}

static void rnbd_ring_qp_event(struct ib_event *event, void *context)
{
	struct rnbd_ring *ring = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* A frame overtook the connection manager's last message. */
		rdma_notify(ring->cm_id, event->event);
		break;
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	case IB_EVENT_QP_ACCESS_ERR:
		rnbd_ring_violated(ring, RNBD_FAULT_ACCESS);
		break;
	default:
		rnbd_ring_fail(ring, ib_event_msg(event->event));
		break;
	}
}

/**
 * rnbd_ring_init - before anything else
 * @ring: zeroed memory that the caller embeds
 */
void rnbd_ring_init(struct rnbd_ring *ring)
{
	spin_lock_init(&ring->lock);
	spin_lock_init(&ring->poll_lock);
}
EXPORT_SYMBOL_GPL(rnbd_ring_init);

/* The pool has none that are polled. */
static int rnbd_ring_get_cq(struct rnbd_ring *ring)
{
	const struct rnbd_ring_attr *attr = &ring->attr;

	if (attr->poll == IB_POLL_DIRECT)
		ring->cq = ib_alloc_cq(ring->dev, ring, ring->nr_cqe,
				       attr->vector % ring->dev->num_comp_vectors,
				       IB_POLL_DIRECT);
	else
		ring->cq = ib_cq_pool_get(ring->dev, ring->nr_cqe, attr->vector,
					  attr->poll);
	if (IS_ERR(ring->cq)) {
		int ret = PTR_ERR(ring->cq);

		ring->cq = NULL;
		return ret;
	}
	return 0;
}

static void rnbd_ring_put_cq(struct rnbd_ring *ring)
{
	if (ring->attr.poll == IB_POLL_DIRECT)
		ib_free_cq(ring->cq);
	else
		ib_cq_pool_put(ring->cq, ring->nr_cqe);
	ring->cq = NULL;
}

/* As it was before its first connection, but for the counters. */
static void rnbd_ring_reset(struct rnbd_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring->live = false;
	ring->failed = 0;
	ring->credits = 0;
	ring->peer_slots = 0;
	ring->owed = 0;
	ring->send_next = 0;
	ring->send_free = ring->nr_send;
	ring->send_seq = 0;
	ring->recv_seq = 0;
	ring->done_seq = 0;
	ring->pace = 0;
	ring->pace_from = jiffies;
	ring->paced = 0;
	ring->unacked = 0;
	ring->open = NULL;
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbd_ring_create - make a queue pair and its two rings
 * @ring: initialised, and destroyed if it was created before
 * @cm_id: connection that is not yet connected or accepted
 * @pd: protection domain of the session
 * @attr: geometry; copied
 *
 * All receive slots are posted on return, so the peer's first frame is safe
 * as soon as the connection stands. On error nothing is left behind.
 *
 * Context: process context, may sleep.
 * Return: 0, -EINVAL if the device cannot hold that many work requests,
 * -ENOMEM, or what the device says.
 */
int rnbd_ring_create(struct rnbd_ring *ring, struct rdma_cm_id *cm_id,
		     struct ib_pd *pd, const struct rnbd_ring_attr *attr)
{
	struct ib_qp_init_attr qp_attr = {
		.event_handler = rnbd_ring_qp_event,
		.qp_context = ring,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = cm_id->port_num,
	};
	u32 i;
	int ret;

	ring->cm_id = cm_id;
	ring->dev = cm_id->device;
	ring->pd = pd;
	ring->attr = *attr;
	ring->nr_send = attr->slots + 1;
	rnbd_ring_reset(ring);

	/* One more of each, which ib_drain_qp() needs. */
	qp_attr.cap.max_send_wr = ring->nr_send + attr->data_wrs + 1;
	qp_attr.cap.max_recv_wr = attr->slots + 1;
	/* entries and inline data */
	qp_attr.cap.max_send_sge = clamp(attr->max_send_sge, 2U,
					 (u32)ring->dev->attrs.max_send_sge);
	qp_attr.cap.max_recv_sge = 1;
	ring->nr_cqe = qp_attr.cap.max_send_wr + qp_attr.cap.max_recv_wr;
	if (qp_attr.cap.max_send_wr > ring->dev->attrs.max_qp_wr ||
	    qp_attr.cap.max_recv_wr > ring->dev->attrs.max_qp_wr)
		return -EINVAL;

	ret = rnbd_ring_get_cq(ring);
	if (ret)
		return ret;
	qp_attr.send_cq = ring->cq;
	qp_attr.recv_cq = ring->cq;

	ret = rdma_create_qp(cm_id, pd, &qp_attr);
	if (ret)
		goto put_cq;
	ring->qp = cm_id->qp;

	ret = -ENOMEM;
	ring->recv = rnbd_ring_alloc_slots(ring, attr->slots, DMA_FROM_DEVICE);
	if (!ring->recv)
		goto destroy_qp;
	ring->send = rnbd_ring_alloc_slots(ring, ring->nr_send, DMA_TO_DEVICE);
	if (!ring->send)
		goto free_recv;

	for (i = 0; i < attr->slots; i++) {
		ret = rnbd_ring_post_recv(ring, &ring->recv[i]);
		if (ret)
			goto drain;
	}
	return 0;

drain:
	/* Slots already posted come back through their completion handler. */
	set_bit(0, &ring->failed);
	ib_drain_qp(ring->qp);
	rnbd_ring_free_slots(ring, ring->send, ring->nr_send, DMA_TO_DEVICE);
	ring->send = NULL;
free_recv:
	rnbd_ring_free_slots(ring, ring->recv, attr->slots, DMA_FROM_DEVICE);
	ring->recv = NULL;
destroy_qp:
	rdma_destroy_qp(cm_id);
	ring->qp = NULL;
put_cq:
	rnbd_ring_put_cq(ring);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_ring_create);

/**
 * rnbd_ring_start - let frames flow
 * @ring: a ring that was created
 * @peer_slots: receive slots that the peer says it has posted
 *
 * The target calls it before it accepts, the client when it was accepted.
 *
 * Context: any.
 * Return: 0, or -ENOTCONN if the ring has failed already.
 */
int rnbd_ring_start(struct rnbd_ring *ring, u16 peer_slots)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&ring->lock, flags);
	ring->credits = peer_slots;
	ring->peer_slots = peer_slots;
	ring->last_sent = jiffies;
	ring->last_heard = jiffies;
	if (test_bit(0, &ring->failed))
		ret = -ENOTCONN;
	else
		WRITE_ONCE(ring->live, true);
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(rnbd_ring_start);

/**
 * rnbd_ring_pace - let the peer send only so many frames
 * @ring: a ring that was created
 * @frames: per second, 0: as many as it has credits for
 *
 * More are a violation.
 *
 * Context: any.
 */
void rnbd_ring_pace(struct rnbd_ring *ring, u32 frames)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring->pace = frames;
	ring->pace_from = jiffies;
	ring->paced = 0;
	spin_unlock_irqrestore(&ring->lock, flags);
}
EXPORT_SYMBOL_GPL(rnbd_ring_pace);

/**
 * rnbd_ring_lock_down - take all remote access away from the peer
 * @ring: a connected ring
 *
 * The connection manager enables remote access on every queue pair that it
 * connects. A client offers no memory at all, so it does not need that; with
 * it off, not even a key that leaked from another program could be used.
 *
 * Context: process context, may sleep.
 * Return: 0 or what the device says.
 */
int rnbd_ring_lock_down(struct rnbd_ring *ring)
{
	struct ib_qp_attr attr = { .qp_access_flags = 0 };

	return ib_modify_qp(ring->qp, &attr, IB_QP_ACCESS_FLAGS);
}
EXPORT_SYMBOL_GPL(rnbd_ring_lock_down);

/**
 * rnbd_ring_fail - end the ring
 * @ring: ring
 * @why: constant text for people
 *
 * Only the first call has an effect. Context: any, with or without ring->lock.
 */
void rnbd_ring_fail(struct rnbd_ring *ring, const char *why)
{
	/* In this order, or rnbd_ring_start() could bring it to life once more. */
	bool first = !test_and_set_bit(0, &ring->failed);

	WRITE_ONCE(ring->live, false);
	if (first)
		ring->attr.ops->failed(ring, why);
}
EXPORT_SYMBOL_GPL(rnbd_ring_fail);

/**
 * rnbd_ring_drain - wait until the device is done with the ring
 * @ring: ring; a ring that was never created is fine
 *
 * The queue pair goes to the error state. On return no callback of the ring
 * runs or will run, and the device holds none of its memory and none of the
 * owner's work requests.
 *
 * Context: process context, may sleep; not a completion handler.
 */
void rnbd_ring_drain(struct rnbd_ring *ring)
{
	unsigned long flags;

	if (!ring->qp)
		return;
	rnbd_ring_fail(ring, "connection closed here");
	/*
	 * Whoever posts looks at ring->live under the lock. Once the lock was
	 * free, nobody is about to post behind the drain's marker; nor can it be
	 * set once more, by a rnbd_ring_start() that came too late.
	 */
	spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(ring->live, false);
	spin_unlock_irqrestore(&ring->lock, flags);
	/* Nor does anybody poll any more: from here on the drain does. */
	spin_lock(&ring->poll_lock);
	spin_unlock(&ring->poll_lock);
	ib_drain_qp(ring->qp);
}
EXPORT_SYMBOL_GPL(rnbd_ring_drain);

/*
 * soft-RoCE says that a message is too long for its slot with the error that stands for
 * a fault of one's own with other devices; and see rnbd_ring_shut_out().
 */
static bool rnbd_ring_is_rxe(const struct rnbd_ring *ring)
{
	return ring->qp->device->ops.driver_id == RDMA_DRIVER_RXE;
}

/*
 * soft-RoCE up to at least 6.12 queues a packet that came for a queue pair, and
 * then schedules the queue pair's work with no reference but the packet's own.
 * If the work runs at once on another processor, frees the packet, and the
 * queue pair is being destroyed, it schedules what is freed. So let no packet
 * in any more, and wait for those on their way: they are handled in soft
 * interrupts, which RCU waits for. Reset is a legal state after the error state
 * for every device, but only this one needs it.
 */
static void rnbd_ring_shut_out(struct rnbd_ring *ring)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	if (!rnbd_ring_is_rxe(ring))
		return;
	ib_modify_qp(ring->qp, &attr, IB_QP_STATE);
	synchronize_rcu_expedited();
}

/**
 * rnbd_ring_destroy - free what rnbd_ring_create() made
 * @ring: drained ring; a ring that was never created is fine
 *
 * Context: process context, may sleep.
 */
void rnbd_ring_destroy(struct rnbd_ring *ring)
{
	if (!ring->qp)
		return;
	rnbd_ring_shut_out(ring);
	rdma_destroy_qp(ring->cm_id);
	ring->qp = NULL;
	rnbd_ring_put_cq(ring);
	rnbd_ring_free_slots(ring, ring->send, ring->nr_send, DMA_TO_DEVICE);
	rnbd_ring_free_slots(ring, ring->recv, ring->attr.slots, DMA_FROM_DEVICE);
	ring->send = NULL;
	ring->recv = NULL;
}
EXPORT_SYMBOL_GPL(rnbd_ring_destroy);

/**
 * rnbd_ring_can_open - may a frame be opened now
 * @ring: ring
 *
 * Context: ring->lock held.
 * Return: true if rnbd_ring_open() would succeed.
 */
bool rnbd_ring_can_open(const struct rnbd_ring *ring)
{
	return ring->live && !ring->open && ring->credits > 1 && ring->send_free > 1;
}
EXPORT_SYMBOL_GPL(rnbd_ring_can_open);

static struct rnbd_slot *rnbd_ring_take_slot(struct rnbd_ring *ring)
{
	struct rnbd_slot *slot = &ring->send[ring->send_next];

	if (++ring->send_next == ring->nr_send)
		ring->send_next = 0;
	ring->send_free--;
	ring->credits--;
	return slot;
}

/**
 * rnbd_ring_open - begin to gather a frame
 * @ring: ring
 * @type: enum rnbd_frame_type
 *
 * Takes the slot and the credit, so that sending it later cannot fail for
 * lack of either.
 *
 * Context: ring->lock held.
 * Return: false if there is no credit or slot, or a frame is open already.
 */
bool rnbd_ring_open(struct rnbd_ring *ring, u8 type)
{
	if (!rnbd_ring_can_open(ring))
		return false;
	ring->open = rnbd_ring_take_slot(ring);
	ring->open_type = type;
	ring->open_entries = 0;
	ring->open_bytes = sizeof(struct rnbd_frame_hdr);
	ring->open_data = 0;
	ib_dma_sync_single_for_cpu(ring->dev, ring->open->sge.addr,
				   ring->attr.slot_size, DMA_TO_DEVICE);
	return true;
}
EXPORT_SYMBOL_GPL(rnbd_ring_open);

/**
 * rnbd_ring_fits - is there room for an entry and its inline data
 * @ring: ring with an open frame
 * @bytes: of the entry
 * @data: of inline data, 0 if there are none
 *
 * Context: ring->lock held.
 */
bool rnbd_ring_fits(const struct rnbd_ring *ring, u32 bytes, u32 data)
{
	u32 end = data || ring->open_data ? RNBD_RING_DATA_AT : ring->attr.slot_size;

	return ring->open_bytes + bytes <= end &&
	       (!data || RNBD_RING_DATA_AT + ring->open_data + data <=
			 ring->attr.slot_size);
}
EXPORT_SYMBOL_GPL(rnbd_ring_fits);

/**
 * rnbd_ring_add - take room for entries in the open frame
 * @ring: ring with an open frame
 * @bytes: room
 * @entries: by how much the frame's number of entries grows
 *
 * Context: ring->lock held.
 * Return: the room, or NULL if the frame is too full for it.
 */
void *rnbd_ring_add(struct rnbd_ring *ring, u32 bytes, u16 entries)
{
	void *room;

	if (!rnbd_ring_fits(ring, bytes, 0))
		return NULL;
	room = ring->open->buf + ring->open_bytes;
	ring->open_bytes += bytes;
	ring->open_entries += entries;
	return room;
}
EXPORT_SYMBOL_GPL(rnbd_ring_add);

/**
 * rnbd_ring_add_data - take room for inline data in the open frame
 * @ring: ring with an open frame
 * @bytes: room
 *
 * Of the entry that was added last.
 *
 * Context: ring->lock held.
 * Return: the room, or NULL if the frame is too full for it.
 */
void *rnbd_ring_add_data(struct rnbd_ring *ring, u32 bytes)
{
	void *room;

	if (ring->open_bytes > RNBD_RING_DATA_AT ||
	    RNBD_RING_DATA_AT + ring->open_data + bytes > ring->attr.slot_size)
		return NULL;
	room = ring->open->buf + RNBD_RING_DATA_AT + ring->open_data;
	ring->open_data += bytes;
	return room;
}
EXPORT_SYMBOL_GPL(rnbd_ring_add_data);

static int rnbd_ring_post_frame(struct rnbd_ring *ring, struct rnbd_slot *slot,
				u8 type, u16 entries, u32 bytes, u32 data,
				struct ib_send_wr *first, struct ib_send_wr *last,
				int flags)
{
	struct ib_sge sge[] = {
		{ slot->sge.addr, bytes, slot->sge.lkey },
		{ slot->sge.addr + RNBD_RING_DATA_AT, data, slot->sge.lkey },
	};
	struct ib_send_wr wr = {
		.wr_cqe = &slot->cqe,
		.sg_list = sge,
		.num_sge = data ? 2 : 1,
		.opcode = IB_WR_SEND,
		.send_flags = flags,
	};
	int ret;

	ring->last_sent = jiffies;
	slot->seq = ring->send_seq;
	rnbd_encode_frame_hdr(slot->buf, type, data ? RNBD_FRAME_DATA : 0, entries,
			      ring->owed, ring->send_seq++, ring->attr.epoch);
	ring->owed = 0;
	ib_dma_sync_single_for_device(ring->dev, slot->sge.addr,
				      ring->attr.slot_size, DMA_TO_DEVICE);

	if (last)
		last->next = &wr;
	else
		first = &wr;
	ret = ib_post_send(ring->qp, first, NULL);
	if (last)
		last->next = NULL;
	if (unlikely(ret))
		rnbd_ring_fail(ring, "the device refused a work request");
	return ret;
}

/**
 * rnbd_ring_send - send the open frame
 * @ring: ring with an open frame that has entries
 * @first: first of a chain of data work requests to post before it, or NULL
 * @last: last of that chain, or NULL
 * @flags: IB_SEND_FENCE if the SEND has to wait for RDMA READs posted earlier,
 *	IB_SEND_SIGNALED if rnbd_ring_ops.sent is wanted for this frame; without
 *	that it is called for it with a later one
 *
 * Context: ring->lock held.
 * Return: 0, or an error after the ring was failed.
 */
int rnbd_ring_send(struct rnbd_ring *ring, struct ib_send_wr *first,
		   struct ib_send_wr *last, int flags)
{
	struct rnbd_slot *slot = ring->open;

	ring->open = NULL;
	if (unlikely(!ring->live))
		return -ENOTCONN;
	if (ring->send_free <= ring->nr_send / 2 || READ_ONCE(signal_all))
		flags |= IB_SEND_SIGNALED;
	if (flags & IB_SEND_SIGNALED)
		ring->unacked++;
	else
		ring->stats.unsignaled++;
	ring->stats.frames_sent++;
	ring->stats.entries_sent += ring->open_entries;
	return rnbd_ring_post_frame(ring, slot, ring->open_type,
				    ring->open_entries, ring->open_bytes,
				    ring->open_data, first, last, flags);
}
EXPORT_SYMBOL_GPL(rnbd_ring_send);

static void rnbd_ring_send_credits(struct rnbd_ring *ring)
{
	struct rnbd_slot *slot;

	slot = rnbd_ring_take_slot(ring);
	ib_dma_sync_single_for_cpu(ring->dev, slot->sge.addr,
				   ring->attr.slot_size, DMA_TO_DEVICE);
	ring->stats.credit_frames_sent++;
	rnbd_ring_post_frame(ring, slot, RNBD_FRAME_CREDIT, 0,
			     sizeof(struct rnbd_frame_hdr), 0, NULL, NULL,
			     IB_SEND_SIGNALED);
}

/* Return credits on their own when half a ring is owed and no frame will. */
static void rnbd_ring_return_credits(struct rnbd_ring *ring)
{
	if (ring->owed < ring->attr.slots / 2 || ring->open || !ring->live ||
	    !ring->credits || !ring->send_free)
		return;
	rnbd_ring_send_credits(ring);
}

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

/**
 * rnbd_ring_keepalive - give a sign of life and look for the peer's
 * @ring: ring; one that is not connected is fine
 * @interval_ms: how often a frame has to come, as negotiated
 *
 * To be called twice per interval. An idle ring sends a credit frame, which
 * proves this end's software as well as the wire. It never takes the last two
 * credits: they are for a frame that returns many, and for the reply to a login.
 * A peer that was silent for RNBD_KEEPALIVE_MISSED intervals is dead; soft-RoCE
 * would not notice. So is one that talks but gives no credit for so long:
 * requests that wait for credits have no other timeout.
 *
 * Context: process context.
 */
void rnbd_ring_keepalive(struct rnbd_ring *ring, u32 interval_ms)
{
	unsigned long interval = msecs_to_jiffies(interval_ms);
	const char *dead = NULL;
	unsigned long flags;

	/* If nobody waits for a request, nobody polls. */
	rnbd_ring_poll(ring);
	spin_lock_irqsave(&ring->lock, flags);
	if (ring->live) {
		unsigned long limit = jiffies - RNBD_KEEPALIVE_MISSED * interval;
		bool due = time_after_eq(jiffies, ring->last_sent + interval / 2);

		/* Whoever calls may be late: only what cannot be sent counts. */
		if (time_before(READ_ONCE(ring->last_heard), limit))
			dead = "no sign of life from the peer";
		else if (due && !ring->open && ring->credits > 2 && ring->send_free > 2)
			rnbd_ring_send_credits(ring);
		else if (time_before(ring->last_sent, limit))
			dead = "the peer gives no credits";
	}
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

static void rnbd_ring_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbd_slot *slot = container_of(wc->wr_cqe, struct rnbd_slot, cqe);
	struct rnbd_ring *ring = slot->ring;
	const struct rnbd_frame_hdr *hdr = slot->buf;
	unsigned long flags;
	bool credit_frame;
	u32 seq;

	if (!rnbd_ring_wc_ok(ring, wc))
		return;

	spin_lock_irqsave(&ring->lock, flags);
	seq = slot->seq;
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
		ring->attr.ops->sent(ring, seq, slot - ring->send);
}

/*
 * A peer sends no more frames than it has credits for, and it gets those back
 * with the answers to its frames. Only credit frames that return few credits cost
 * it nothing and are no answer to anything: they are signs of life, of which
 * RNBD_KEEPALIVE_MS_MIN asks for few.
 */
static bool rnbd_ring_too_fast(struct rnbd_ring *ring, const struct rnbd_frame *frame)
{
	bool life = frame->type == RNBD_FRAME_CREDIT &&
		    frame->credits < ring->peer_slots / 2;

	if (likely(!ring->pace && !life))
		return false;
	if (time_after_eq(jiffies, ring->pace_from + HZ)) {
		ring->pace_from = jiffies;
		ring->paced = 0;
	}
	return ++ring->paced > (ring->pace ?: RNBD_LIFE_FRAMES_MAX);
}

static enum rnbd_fault rnbd_ring_take_frame(struct rnbd_ring *ring,
					    const struct ib_wc *wc,
					    struct rnbd_slot *slot)
{
	struct rnbd_frame frame;
	enum rnbd_fault fault;
	unsigned long flags;
	bool credit_frame;

	fault = rnbd_decode_frame(slot->buf, wc->byte_len, ring->recv_seq,
				  ring->attr.epoch, ring->peer_slots, &frame);
	if (unlikely(fault))
		return fault;
	credit_frame = frame.type == RNBD_FRAME_CREDIT;

	spin_lock_irqsave(&ring->lock, flags);
	ring->recv_seq++;
	if (credit_frame)
		ring->stats.credit_frames_received++;
	else
		ring->stats.frames_received++;
	/* It gives back what it has not got, or sends without having any. */
	if (unlikely(frame.credits > ring->peer_slots - ring->credits ||
		     ring->owed >= ring->attr.slots))
		fault = RNBD_FAULT_CREDITS;
	else if (unlikely(rnbd_ring_too_fast(ring, &frame)))
		fault = RNBD_FAULT_RATE;
	else
		ring->credits += frame.credits;
	spin_unlock_irqrestore(&ring->lock, flags);
	if (unlikely(fault))
		return fault;

	if (!credit_frame)
		return ring->attr.ops->frame(ring, &frame);
	ring->attr.ops->credit(ring);
	return RNBD_FAULT_NONE;
}

static void rnbd_ring_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rnbd_slot *slot = container_of(wc->wr_cqe, struct rnbd_slot, cqe);
	struct rnbd_ring *ring = slot->ring;
	enum rnbd_fault fault;
	unsigned long flags;

	/* It does not fit a slot. */
	if (unlikely(wc->status == IB_WC_LOC_LEN_ERR ||
		     (wc->status == IB_WC_LOC_QP_OP_ERR && rnbd_ring_is_rxe(ring)))) {
		rnbd_ring_violated(ring, RNBD_FAULT_LONG);
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
		rnbd_ring_violated(ring, RNBD_FAULT_MESSAGE);
		return;
	}

	ib_dma_sync_single_for_cpu(ring->dev, slot->sge.addr,
				   ring->attr.slot_size, DMA_FROM_DEVICE);
	WRITE_ONCE(ring->last_heard, jiffies);
	fault = rnbd_ring_take_frame(ring, wc, slot);
	if (unlikely(fault)) {
		rnbd_ring_violated(ring, fault);
		return;
	}
	if (unlikely(rnbd_ring_post_recv(ring, slot))) {
		rnbd_ring_fail(ring, "the device refused a receive slot");
		return;
	}

	spin_lock_irqsave(&ring->lock, flags);
	ring->owed++;
	rnbd_ring_return_credits(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}
