// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the slots of a control ring.
 *
 * Operation: a slot is a buffer for one frame, mapped for the device. A new connection
 * begins with a few slots in each direction; ring_resize.c adds and frees further ones. If
 * rnbd_ring_attr.keep is set, as many slots as a connection begins with stay allocated, but
 * unmapped, when a connection ends: writeback can wait for the next connection, so the setup of
 * the next connection must not depend on free memory.
 *
 * Ownership: a slot is in a list of the ring or in a list of the caller.
 *
 * Concurrency: the caller owns the list or holds ring->lock.
 *
 * Errors: additional slots that cannot be mapped are freed.
 */

#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "ring.h"
#include "ring_slots.h"

static int rnbd_ring_map_slot(struct rnbd_ring *ring, struct rnbd_slot *slot,
			      enum dma_data_direction dir)
{
	u64 addr = ib_dma_map_single(ring->dev, slot->buf, ring->attr.slot_size, dir);

	if (ib_dma_mapping_error(ring->dev, addr))
		return -ENOMEM;
	slot->ring = ring;
	slot->used = 0;
	slot->mapped = true;
	slot->sge.addr = addr;
	slot->sge.length = ring->attr.slot_size;
	slot->sge.lkey = ring->pd->local_dma_lkey;
	slot->cqe.done = dir == DMA_FROM_DEVICE ? ring->recv_done : ring->send_done;
	return 0;
}

static struct rnbd_slot *rnbd_ring_new_slot(const struct rnbd_ring *ring, gfp_t gfp)
{
	struct rnbd_slot *slot = kzalloc(sizeof(*slot), gfp);

	if (!slot)
		return NULL;
	slot->buf = kzalloc(ring->attr.slot_size, gfp);
	if (slot->buf)
		return slot;
	kfree(slot);
	return NULL;
}

/**
 * rnbd_ring_add_slots - allocate and map additional slots
 * @ring: ring with a queue pair
 * @slots: list to which the slots are added
 * @nr: number of slots
 * @dir: DMA_FROM_DEVICE for receive slots, DMA_TO_DEVICE for send slots
 *
 * Context: process context, may sleep. Allocates with GFP_NOIO, and without retries, because the
 * ring also works without these slots.
 * Return: the number of slots that were added.
 */
u32 rnbd_ring_add_slots(struct rnbd_ring *ring, struct list_head *slots, u32 nr,
			enum dma_data_direction dir)
{
	struct rnbd_slot *slot;
	u32 i;

	for (i = 0; i < nr; i++) {
		slot = rnbd_ring_new_slot(ring, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
		if (!slot)
			break;
		if (rnbd_ring_map_slot(ring, slot, dir)) {
			rnbd_ring_free_slot(ring, slot, dir);
			break;
		}
		list_add(&slot->entry, slots);
	}
	return i;
}

static void rnbd_ring_unmap_slot(struct rnbd_ring *ring, struct rnbd_slot *slot,
				 enum dma_data_direction dir)
{
	if (slot->mapped)
		ib_dma_unmap_single(ring->dev, slot->sge.addr, ring->attr.slot_size, dir);
	slot->mapped = false;
}

/**
 * rnbd_ring_free_slot - free a slot
 * @ring: ring
 * @slot: slot that is in no list and not used by the device
 * @dir: direction of the slot
 *
 * Context: any.
 */
void rnbd_ring_free_slot(struct rnbd_ring *ring, struct rnbd_slot *slot,
			 enum dma_data_direction dir)
{
	rnbd_ring_unmap_slot(ring, slot, dir);
	kfree(slot->buf);
	kfree(slot);
}

/**
 * rnbd_ring_free_slots - free the slots of a list
 * @ring: ring
 * @slots: list of slots that the device does not use
 * @dir: direction of the slots
 *
 * Context: any.
 */
void rnbd_ring_free_slots(struct rnbd_ring *ring, struct list_head *slots,
			  enum dma_data_direction dir)
{
	struct rnbd_slot *slot, *next;

	list_for_each_entry_safe(slot, next, slots, entry) {
		list_del(&slot->entry);
		rnbd_ring_free_slot(ring, slot, dir);
	}
}

/**
 * rnbd_ring_take_slots - allocate missing slots, and map all slots of a list
 * @ring: ring without a connection
 * @slots: list of the ring, with the slots that were kept
 * @nr: number of slots that the list must have
 * @dir: direction of the slots
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM. On error the list contains only slots that are kept.
 */
int rnbd_ring_take_slots(struct rnbd_ring *ring, struct list_head *slots, u32 nr,
			 enum dma_data_direction dir)
{
	struct rnbd_slot *slot;
	u32 have = list_count_nodes(slots);

	for (; have < nr; have++) {
		slot = rnbd_ring_new_slot(ring, GFP_KERNEL);
		if (!slot)
			goto give;
		list_add(&slot->entry, slots);
	}
	list_for_each_entry(slot, slots, entry)
		if (rnbd_ring_map_slot(ring, slot, dir))
			goto give;
	return 0;
give:
	rnbd_ring_give_slots(ring, slots, dir);
	return -ENOMEM;
}

/**
 * rnbd_ring_give_slots - unmap slots, and free those that are not kept
 * @ring: ring whose slots the device does not use
 * @slots: list of the ring
 * @dir: direction of the slots
 *
 * Context: process context, may sleep.
 */
void rnbd_ring_give_slots(struct rnbd_ring *ring, struct list_head *slots,
			  enum dma_data_direction dir)
{
	u32 keep = RNBD_RING_SLOTS_MIN + (dir == DMA_TO_DEVICE);
	struct rnbd_slot *slot, *next;

	if (!ring->attr.keep)
		keep = 0;
	list_for_each_entry_safe(slot, next, slots, entry) {
		if (keep) {
			rnbd_ring_unmap_slot(ring, slot, dir);
			keep--;
			continue;
		}
		list_del(&slot->entry);
		rnbd_ring_free_slot(ring, slot, dir);
	}
}
