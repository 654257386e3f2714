/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Further queues of a session, whose client must prove the session key. See join.c.
 */
#ifndef RNBDT_JOIN_H
#define RNBDT_JOIN_H

#include <linux/types.h>

#include "../core/proto_err.h"

struct rnbd_conn_req;
struct rnbd_ctl_entry;
struct rnbdt_queue;
struct sockaddr_storage;

int rnbdt_join_alloc(struct rnbdt_queue *q, const struct rnbd_conn_req *req);
void rnbdt_join_opened(struct rnbdt_queue *q, const struct sockaddr_storage *peer);
enum rnbd_proto_err rnbdt_join_begin(struct rnbdt_queue *q, const struct rnbd_ctl_entry *entry);
enum rnbd_proto_err rnbdt_join_proof(struct rnbdt_queue *q, const struct rnbd_ctl_entry *entry);

#endif /* RNBDT_JOIN_H */
