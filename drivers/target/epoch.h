/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stale-write rule: only requests of the newest epoch reach the storage. See epoch.c.
 */
#ifndef RNBDT_EPOCH_H
#define RNBDT_EPOCH_H

#include <linux/types.h>

struct rnbd_conn_req;
struct rnbdt_host;
struct rnbdt_req;
struct rnbdt_session;

bool rnbdt_may_submit(struct rnbdt_req *treq);
void rnbdt_remember_epoch(const struct rnbdt_session *s);
u16 rnbdt_is_newest_epoch(struct rnbdt_host *host, const struct rnbd_conn_req *req,
			  const struct rnbdt_session *s);

#endif /* RNBDT_EPOCH_H */
