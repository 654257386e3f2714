/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lease work of a session: segments that the client requests, releases, and must return. See
 * lease.c.
 */
#ifndef RNBDT_LEASE_H
#define RNBDT_LEASE_H

#include <linux/workqueue.h>

#include "../core/proto_err.h"

struct rnbd_ctl_entry;
struct rnbdt_session;

void rnbdt_lease_init(struct rnbdt_session *s);
enum rnbd_proto_err rnbdt_lease_handle(struct rnbdt_session *s,
				       const struct rnbd_ctl_entry *entry);
void rnbdt_lease_work(struct work_struct *work);
void rnbdt_lease_stop(struct rnbdt_session *s);
void rnbdt_lease_reuse_early(struct rnbdt_session *s);
void rnbdt_lease_trim(struct rnbdt_session *s);

#endif /* RNBDT_LEASE_H */
