/* SPDX-License-Identifier: GPL-2.0-only */
/* Send path of the control ring: open frame, send slots and credits. See ring_send.c. */
#ifndef RNBD_CORE_RING_SEND_H
#define RNBD_CORE_RING_SEND_H

#include "ring.h"

struct rnbd_ctl_entry;

bool rnbd_ring_can_open(const struct rnbd_ring *ring);
bool rnbd_ring_open(struct rnbd_ring *ring, u8 type);
bool rnbd_ring_fits(const struct rnbd_ring *ring, u32 bytes, u32 data);
void *rnbd_ring_add(struct rnbd_ring *ring, u32 bytes, u16 entries);
bool rnbd_ring_add_ctl(struct rnbd_ring *ring, const struct rnbd_ctl_entry *entry);
int rnbd_ring_post_ctl(struct rnbd_ring *ring, const struct rnbd_ctl_entry *entry);
void *rnbd_ring_add_data(struct rnbd_ring *ring, u32 bytes);
int rnbd_ring_send(struct rnbd_ring *ring, struct ib_send_wr *first,
		   struct ib_send_wr *last, int flags);
void rnbd_ring_send_credits(struct rnbd_ring *ring);

/**
 * rnbd_ring_return_credits - send a credit frame if credits for half the slots or more are owed
 * @ring: ring
 *
 * Does nothing if an open frame will carry the credits, if the ring is not live, or if it has no
 * credit or no free send slot.
 *
 * Context: ring->lock held.
 */
static inline void rnbd_ring_return_credits(struct rnbd_ring *ring)
{
	if (ring->in.owed < ring->in.slots / 2 || ring->open || !ring->live ||
	    !ring->out.credits || !ring->send_free)
		return;
	rnbd_ring_send_credits(ring);
}

#endif /* RNBD_CORE_RING_SEND_H */
