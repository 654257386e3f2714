/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns: limit on the number of disks of a session that attach again at the same time. See
 * turn.c.
 */
#ifndef RNBDC_TURN_H
#define RNBDC_TURN_H

#include <linux/types.h>

struct rnbdc_disk;
struct rnbdc_session;

bool rnbdc_turn_take(struct rnbdc_disk *disk);
void rnbdc_turn_end(struct rnbdc_session *sess);
void rnbdc_turn_leave(struct rnbdc_disk *disk);

#endif /* RNBDC_TURN_H */
