// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send path of the control ring: open frame, send slots and credits.
 *
 * Operation: the owner gathers entries in the open frame (rnbd_ring_open(),
 * rnbd_ring_add()) and sends it (rnbd_ring_send()). The SEND and the owner's data work
 * requests before it are one chain, posted at once. The completion of a signalled SEND
 * shows that all work requests posted before it have completed too, so data work requests
 * and other SENDs need no signal. The SEND of a credit frame is always signalled. Another SEND
 * is signalled only if the owner waits for its completion, if at least half of the send slots
 * are in use, or if the parameter signal_all is set: so a frame on a quiet queue mostly causes
 * no interrupt. Send slots are used in order. A slot is free again when the
 * completion of its SEND, or of a later signalled SEND, was handled. ring_resize.c adds and
 * removes free slots only.
 *
 * A credit is a receive slot of the peer. Every frame takes one credit and returns all
 * credits that its sender owes. The last credit and the last free send slot are reserved
 * for a credit frame. A ring sends a credit frame when it owes credits for at least half of
 * its receive slots and no open frame would carry them, or as a keep-alive. A lack of credits
 * cannot cause a deadlock: a frame that took the last credit returned credits for at least
 * half of the slots, so the two ends never both lack credits while no frame is in flight.
 *
 * Ownership: the open frame belongs to the owner of the ring; a sent frame belongs to the
 * device until its SEND has completed.
 *
 * Concurrency: all functions are called with ring->lock held.
 *
 * Errors: if the device refuses to post a work request, the ring fails.
 */

#include <linux/module.h>

#include "ctl.h"
#include "frame.h"
#include "ring.h"
#include "ring_send.h"

static bool signal_all;
module_param(signal_all, bool, 0644);
MODULE_PARM_DESC(signal_all,
		 "have the device report the completion of every frame sent, not only where the driver waits for one (default N)");

/**
 * rnbd_ring_can_open - test whether a frame can be opened now
 * @ring: ring
 *
 * Context: ring->lock held.
 * Return: true if rnbd_ring_open() would succeed.
 */
bool rnbd_ring_can_open(const struct rnbd_ring *ring)
{
	return ring->live && !ring->open && ring->out.credits > 1 && ring->send_free > 1;
}
EXPORT_SYMBOL_GPL(rnbd_ring_can_open);

static struct rnbd_slot *rnbd_ring_next_slot(struct rnbd_ring *ring, bool load)
{
	struct rnbd_slot *slot = list_first_entry(&ring->send, struct rnbd_slot, entry);

	list_move_tail(&slot->entry, &ring->send);
	ring->send_free--;
	rnbd_flow_sent(&ring->out, load);
	/* Let slots_work ask the peer for more slots before the last credit is used. */
	if (unlikely(rnbd_flow_is_short(&ring->out)) && !ring->slots_request_pending)
		rnbd_ring_kick(ring);
	slot->note = 0;
	if (slot->used)
		ib_dma_sync_single_for_cpu(ring->dev, slot->sge.addr, slot->used,
					   DMA_TO_DEVICE);
	return slot;
}

/**
 * rnbd_ring_open - open a frame to gather entries in
 * @ring: ring
 * @type: enum rnbd_frame_type
 *
 * Takes a send slot and a credit, so that sending the frame later cannot fail for lack of
 * either.
 *
 * Context: ring->lock held.
 * Return: false if the ring is not live, a frame is open already, or no credit or send slot is
 * available (the last ones are reserved for a credit frame).
 */
bool rnbd_ring_open(struct rnbd_ring *ring, u8 type)
{
	if (!rnbd_ring_can_open(ring))
		return false;
	ring->open = rnbd_ring_next_slot(ring, type != RNBD_FRAME_CONTROL);
	ring->open_type = type;
	ring->open_entries = 0;
	ring->open_bytes = sizeof(struct rnbd_frame_hdr);
	ring->open_data = 0;
	return true;
}
EXPORT_SYMBOL_GPL(rnbd_ring_open);

/**
 * rnbd_ring_fits - test whether an entry and its inline data fit the open frame
 * @ring: ring with an open frame
 * @bytes: bytes of the entry
 * @data: bytes of inline data, 0 if there are none
 *
 * Context: ring->lock held.
 * Return: true if both fit.
 */
bool rnbd_ring_fits(const struct rnbd_ring *ring, u32 bytes, u32 data)
{
	u32 end = data || ring->open_data ? RNBD_RING_DATA_OFFSET : ring->attr.slot_size;

	return ring->open_bytes + bytes <= end &&
	       (!data || RNBD_RING_DATA_OFFSET + ring->open_data + data <=
			 ring->attr.slot_size);
}
EXPORT_SYMBOL_GPL(rnbd_ring_fits);

/**
 * rnbd_ring_add - reserve space for entries in the open frame
 * @ring: ring with an open frame
 * @bytes: bytes of the entries
 * @entries: number of the entries
 *
 * Context: ring->lock held.
 * Return: address of the space, or NULL if the entries do not fit.
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
 * rnbd_ring_add_ctl - add a control entry to the open frame
 * @ring: ring with an open frame of type RNBD_FRAME_CONTROL
 * @entry: entry
 *
 * Context: ring->lock held.
 * Return: false if the entry does not fit.
 */
bool rnbd_ring_add_ctl(struct rnbd_ring *ring, const struct rnbd_ctl_entry *entry)
{
	void *room = rnbd_ring_add(ring, sizeof(struct rnbd_ctl) + entry->bytes, 1);

	if (room)
		rnbd_encode_ctl(room, entry);
	return room;
}
EXPORT_SYMBOL_GPL(rnbd_ring_add_ctl);

/**
 * rnbd_ring_post_ctl - send a control entry in a frame of its own
 * @ring: ring without an open frame
 * @entry: entry that fits the smallest slot
 *
 * Context: ring->lock held.
 * Return: 0, -EAGAIN if there is no credit or send slot, -ENOTCONN if the ring is not live, or
 * the error of the device, after which the ring has failed.
 */
int rnbd_ring_post_ctl(struct rnbd_ring *ring, const struct rnbd_ctl_entry *entry)
{
	if (!ring->live)
		return -ENOTCONN;
	if (!rnbd_ring_open(ring, RNBD_FRAME_CONTROL))
		return -EAGAIN;
	rnbd_ring_add_ctl(ring, entry);
	return rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED);
}
EXPORT_SYMBOL_GPL(rnbd_ring_post_ctl);

/**
 * rnbd_ring_add_data - reserve space for inline data of the entry that was added last
 * @ring: ring with an open frame
 * @bytes: bytes of the data
 *
 * Context: ring->lock held.
 * Return: address of the space, or NULL if the data do not fit.
 */
void *rnbd_ring_add_data(struct rnbd_ring *ring, u32 bytes)
{
	void *room;

	if (ring->open_bytes > RNBD_RING_DATA_OFFSET ||
	    RNBD_RING_DATA_OFFSET + ring->open_data + bytes > ring->attr.slot_size)
		return NULL;
	room = ring->open->buf + RNBD_RING_DATA_OFFSET + ring->open_data;
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
		{ slot->sge.addr + RNBD_RING_DATA_OFFSET, data, slot->sge.lkey },
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
			      ring->in.owed, ring->send_seq++, ring->attr.attempt);
	ring->in.owed = 0;
	/* Synchronise only what the device reads: not the gap between entries and inline data. */
	ib_dma_sync_single_for_device(ring->dev, sge[0].addr, bytes, DMA_TO_DEVICE);
	if (data)
		ib_dma_sync_single_for_device(ring->dev, sge[1].addr, data, DMA_TO_DEVICE);
	slot->used = data ? RNBD_RING_DATA_OFFSET + data : bytes;

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
 * @first: first work request of the owner's data chain, posted before the SEND, or NULL
 * @last: last work request of that chain, or NULL
 * @flags: IB_SEND_FENCE if the SEND must wait for RDMA READs posted earlier;
 *	IB_SEND_SIGNALED if the owner needs a call of rnbd_ring_ops.sent for this frame.
 *	Without it, the call for a later signalled frame reports this frame, too
 *
 * Context: ring->lock held.
 * Return: 0, or an error, after which the ring has failed.
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

/**
 * rnbd_ring_send_credits - send a frame that only returns credits
 * @ring: ring with a credit and a free send slot
 *
 * Context: ring->lock held.
 */
void rnbd_ring_send_credits(struct rnbd_ring *ring)
{
	struct rnbd_slot *slot;

	slot = rnbd_ring_next_slot(ring, false);
	ring->stats.credit_frames_sent++;
	rnbd_ring_post_frame(ring, slot, RNBD_FRAME_CREDIT, 0,
			     sizeof(struct rnbd_frame_hdr), 0, NULL, NULL,
			     IB_SEND_SIGNALED);
}
