/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault points of the client, for tests: rnbd/rnbd/ in debugfs. See inject.c.
 */
#ifndef RNBDC_INJECT_H
#define RNBDC_INJECT_H

#include "../core/inject.h"

extern struct rnbd_inject rnbdc_inject_kill_queue;
extern struct rnbd_inject rnbdc_inject_fail_post;
extern struct rnbd_inject rnbdc_inject_fail_ring;
extern struct rnbd_inject rnbdc_inject_fixed_session;
extern struct rnbd_inject rnbdc_inject_set_epoch;
extern struct rnbd_inject rnbdc_inject_stray;
extern struct rnbd_inject rnbdc_inject_no_send_fence;
extern struct rnbd_inject rnbdc_inject_no_read_guard;
extern struct rnbd_inject rnbdc_inject_no_hold;
extern struct rnbd_inject rnbdc_inject_fail_map;
extern struct rnbd_inject rnbdc_inject_late_start;
extern struct rnbd_inject rnbdc_inject_release_early;
extern struct rnbd_inject rnbdc_inject_no_release;
extern struct rnbd_inject rnbdc_inject_hold_frames;
void rnbdc_inject_init(void);
void rnbdc_inject_exit(void);

#endif /* RNBDC_INJECT_H */
