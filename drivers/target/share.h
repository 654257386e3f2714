/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fair shares of the memory for pools, and the reclaiming of segments for them. See share.c.
 */
#ifndef RNBDT_SHARE_H
#define RNBDT_SHARE_H

#include <linux/types.h>

struct rnbdt_segment;
struct rnbdt_session;

void rnbdt_share_ask(struct rnbdt_session *s, struct rnbdt_segment *seg);
void rnbdt_share_reclaim(void);
void rnbdt_share_exit(void);

#endif /* RNBDT_SHARE_H */
