/* SPDX-License-Identifier: GPL-2.0-only */
/* Growing and shrinking of a control ring. See ring_resize.c. */
#ifndef RNBD_CORE_RING_RESIZE_H
#define RNBD_CORE_RING_RESIZE_H

#include "ring.h"

struct rnbd_ctl_entry;

void rnbd_ring_slots_work(struct work_struct *work);
void rnbd_ring_enable_in(struct rnbd_ring *ring, u16 max_depth);
void rnbd_ring_enable_out(struct rnbd_ring *ring, u16 max_depth);
void rnbd_ring_short_of_depth(struct rnbd_ring *ring);
void rnbd_ring_send_slots(struct rnbd_ring *ring);
void rnbd_ring_end_period(struct rnbd_ring *ring);
enum rnbd_proto_err rnbd_ring_handle_slots(struct rnbd_ring *ring,
					   const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbd_ring_handle_slots_reply(struct rnbd_ring *ring,
						 const struct rnbd_ctl_entry *entry);

/**
 * rnbd_ring_send_due - send the SLOTS and the SLOTS_REPLY that wait to be sent, if any
 * @ring: ring
 *
 * Context: any, ring->lock held.
 */
static inline void rnbd_ring_send_due(struct rnbd_ring *ring)
{
	if (unlikely(ring->slots_request_pending || ring->in.open))
		rnbd_ring_send_slots(ring);
}

#endif /* RNBD_CORE_RING_RESIZE_H */
