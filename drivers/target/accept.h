/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections: creation of the queue pair, acceptance, and dispatch of received frames.
 * See accept.c.
 */
#ifndef RNBDT_ACCEPT_H
#define RNBDT_ACCEPT_H

#include <linux/types.h>

struct rdma_cm_id;
struct rdma_conn_param;
struct rnbdt_queue;

void rnbdt_reject(struct rdma_cm_id *id, u16 status, u32 retry_ms);
void rnbdt_accept_init(struct rnbdt_queue *q);
void rnbdt_accept(struct rnbdt_queue *q, const struct rdma_conn_param *conn);

#endif /* RNBDT_ACCEPT_H */
