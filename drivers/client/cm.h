/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of the RDMA connection manager, and waiting for them. See cm.c.
 */
#ifndef RNBDC_CM_H
#define RNBDC_CM_H

#include <rdma/rdma_cm.h>

struct rnbdc_errmsg;
struct rnbdc_queue;
struct rnbdc_session;

int rnbdc_cm_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *event);
int rnbdc_cm_wait(struct rnbdc_queue *q, unsigned int ms, struct rnbdc_errmsg *errmsg,
		  const char *late);
void rnbdc_cm_wait_arm(struct rnbdc_queue *q);
void rnbdc_queue_wake(struct rnbdc_queue *q, int error);

#endif /* RNBDC_CM_H */
