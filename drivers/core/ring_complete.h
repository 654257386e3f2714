/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Completions of the control ring. See ring_complete.c.
 */
#ifndef RNBD_CORE_RING_COMPLETE_H
#define RNBD_CORE_RING_COMPLETE_H

#include "ring.h"

int rnbd_ring_poll(struct rnbd_ring *ring);
void rnbd_ring_keepalive(struct rnbd_ring *ring, u32 interval_ms, bool expect);
void rnbd_ring_send_done(struct ib_cq *cq, struct ib_wc *wc);
void rnbd_ring_recv_done(struct ib_cq *cq, struct ib_wc *wc);

#endif /* RNBD_CORE_RING_COMPLETE_H */
