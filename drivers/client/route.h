/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the queue of the session that carries the requests of a hardware queue. See
 * route.c.
 */
#ifndef RNBDC_ROUTE_H
#define RNBDC_ROUTE_H

#include <linux/types.h>

struct rnbdc_disk;

bool rnbdc_disk_route(struct rnbdc_disk *disk);

#endif /* RNBDC_ROUTE_H */
