/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the slots of a control ring. See ring_slots.c.
 */
#ifndef RNBD_CORE_RING_SLOTS_H
#define RNBD_CORE_RING_SLOTS_H

#include "ring.h"

u32 rnbd_ring_add_slots(struct rnbd_ring *ring, struct list_head *slots, u32 nr,
			enum dma_data_direction dir);
void rnbd_ring_free_slot(struct rnbd_ring *ring, struct rnbd_slot *slot,
			 enum dma_data_direction dir);
void rnbd_ring_free_slots(struct rnbd_ring *ring, struct list_head *slots,
			  enum dma_data_direction dir);
int rnbd_ring_take_slots(struct rnbd_ring *ring, struct list_head *slots, u32 nr,
			 enum dma_data_direction dir);
void rnbd_ring_give_slots(struct rnbd_ring *ring, struct list_head *slots,
			  enum dma_data_direction dir);

#endif /* RNBD_CORE_RING_SLOTS_H */
