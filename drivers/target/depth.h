/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Depth: how many requests of a session may be in flight. See depth.c.
 */
#ifndef RNBDT_DEPTH_H
#define RNBDT_DEPTH_H

struct rnbdt_session;

void rnbdt_depth_fit(struct rnbdt_session *s);

#endif /* RNBDT_DEPTH_H */
