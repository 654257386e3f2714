/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections: admission of connection requests. See connect.c.
 */
#ifndef RNBDT_CONNECT_H
#define RNBDT_CONNECT_H

#include <rdma/rdma_cm.h>

struct rnbd_conn_req;
struct rnbdt_port;

/* Maximum bytes of the receive slots of one queue; its send slots have the same maximum. */
#define RNBDT_RING_BYTES_MAX	(4u << 20)

int rnbdt_session_connect(struct rnbdt_port *port, struct rdma_cm_id *id,
			  const struct rnbd_conn_req *req,
			  const struct rdma_conn_param *conn);
int rnbdt_session_add_queue(struct rnbdt_port *port, struct rdma_cm_id *id,
			    const struct rnbd_conn_req *req,
			    const struct rdma_conn_param *conn);

#endif /* RNBDT_CONNECT_H */
