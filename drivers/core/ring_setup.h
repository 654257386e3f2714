/* SPDX-License-Identifier: GPL-2.0-only */
/* Setup and teardown of the control ring. See ring_setup.c. */
#ifndef RNBD_CORE_RING_SETUP_H
#define RNBD_CORE_RING_SETUP_H

#include "ring.h"

int rnbd_ring_create(struct rnbd_ring *ring, struct rdma_cm_id *cm_id,
		     struct ib_pd *pd, const struct rnbd_ring_attr *attr);
int rnbd_ring_start(struct rnbd_ring *ring, u16 peer_slots);
int rnbd_ring_query_remote_access(const struct rnbd_ring *ring, u32 *flags);
int rnbd_ring_disable_remote_access(struct rnbd_ring *ring, u32 *left);
int rnbd_ring_enable_remote_access(struct rnbd_ring *ring);
void rnbd_ring_drain_start(struct rnbd_ring *ring);
void rnbd_ring_drain(struct rnbd_ring *ring);
void rnbd_ring_destroy(struct rnbd_ring *ring);
void rnbd_ring_free(struct rnbd_ring *ring);
int rnbd_ring_setup_init(void);
void rnbd_ring_setup_exit(void);

#endif /* RNBD_CORE_RING_SETUP_H */
