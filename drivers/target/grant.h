/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants of segments: the floor of a session, and its growth. See grant.c.
 */
#ifndef RNBDT_GRANT_H
#define RNBDT_GRANT_H

#include <linux/types.h>

struct rnbdt_session;

int rnbdt_grant_floor(struct rnbdt_session *s, u32 units);
u32 rnbdt_grant_wanted(const struct rnbdt_session *s);
unsigned long rnbdt_grant_feed(struct rnbdt_session *s);

#endif /* RNBDT_GRANT_H */
