/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions by host and id. See lookup.c.
 */
#ifndef RNBDT_LOOKUP_H
#define RNBDT_LOOKUP_H

#include <linux/types.h>

struct rnbd_conn_req;
struct rnbdt_session;

void rnbdt_lookup_add(struct rnbdt_session *s);
void rnbdt_lookup_remove(struct rnbdt_session *s);
struct rnbdt_session *rnbdt_lookup_next(const struct rnbd_conn_req *req,
					const struct rnbdt_session *s);

#endif /* RNBDT_LOOKUP_H */
