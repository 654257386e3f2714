/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of sessions, lists of exports and queues. See limits.c.
 */
#ifndef RNBDT_LIMITS_H
#define RNBDT_LIMITS_H

#include <linux/types.h>

struct rnbdt_host;
struct rnbdt_session;

u16 rnbdt_limits_login(struct rnbdt_session *s);
u16 rnbdt_limits_list(struct rnbdt_session *s);
u32 rnbdt_limits_queues(u32 requested);
void rnbdt_limits_leave(struct rnbdt_session *s);
void rnbdt_limits_take_over(struct rnbdt_session *s);
void rnbdt_limits_end_claim(struct rnbdt_host *host);
void rnbdt_limits_stopped(struct rnbdt_session *s);

#endif /* RNBDT_LIMITS_H */
