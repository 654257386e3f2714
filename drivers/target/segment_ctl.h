/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries about a segment. See segment_ctl.c.
 */
#ifndef RNBDT_SEGMENT_CTL_H
#define RNBDT_SEGMENT_CTL_H

#include <linux/types.h>

struct rnbd_ring;
struct rnbdt_segment;
struct rnbdt_session;

bool rnbdt_segment_add_ctl(const struct rnbdt_session *s, struct rnbd_ring *ring,
			   struct rnbdt_segment *seg);

#endif /* RNBDT_SEGMENT_CTL_H */
