/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Depth: the number of requests of a disk that may be in flight. See depth.c.
 */
#ifndef RNBDT_DEPTH_H
#define RNBDT_DEPTH_H

#include <linux/types.h>

struct rnbdt_backend;

u32 rnbdt_depth_limit(const struct rnbdt_backend *be);

#endif /* RNBDT_DEPTH_H */
