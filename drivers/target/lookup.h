/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lookup of sessions by host and session id, and by serial. See lookup.c.
 */
#ifndef RNBDT_LOOKUP_H
#define RNBDT_LOOKUP_H

#include <linux/types.h>

struct rnbd_conn_req;
struct rnbdt_session;

int rnbdt_lookup_reserve(struct rnbdt_session *s);
void rnbdt_lookup_release(struct rnbdt_session *s);
u32 rnbdt_lookup_last_serial(void);
void rnbdt_lookup_add(struct rnbdt_session *s);
void rnbdt_lookup_remove(struct rnbdt_session *s);
struct rnbdt_session *rnbdt_lookup_next(const struct rnbd_conn_req *req,
					const struct rnbdt_session *s);
struct rnbdt_session *rnbdt_lookup_after(unsigned long serial);

#endif /* RNBDT_LOOKUP_H */
