/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Held writes: requests that the target can still execute after a loss. See hold.c.
 */
#ifndef RNBDC_HOLD_H
#define RNBDC_HOLD_H

#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_req;

bool rnbdc_must_hold(const struct rnbdc_req *req);
void rnbdc_hold(struct rnbdc_req *req);
void rnbdc_held_release(struct rnbdc_disk *disk, bool replay);

#endif /* RNBDC_HOLD_H */
