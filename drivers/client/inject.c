// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault points of the client, for tests: rnbd/rnbd/ in debugfs.
 *
 * Documentation/contributing/fault-points.rst describes each fault point, and ../core/inject.h
 * describes how to arm one. A fault point that is not armed has no effect.
 */

#include "../core/inject.h"
#include "inject.h"

RNBD_INJECT(rnbdc_inject_kill_queue, "kill_queue");
RNBD_INJECT(rnbdc_inject_fail_post, "fail_post");
RNBD_INJECT(rnbdc_inject_fail_ring, "fail_ring");
RNBD_INJECT(rnbdc_inject_fixed_session, "fixed_session");
RNBD_INJECT(rnbdc_inject_set_epoch, "set_epoch");
RNBD_INJECT(rnbdc_inject_stray, "stray_writes");
RNBD_INJECT(rnbdc_inject_no_send_fence, "no_send_fence");
RNBD_INJECT(rnbdc_inject_no_read_guard, "no_read_guard");
RNBD_INJECT(rnbdc_inject_no_hold, "no_hold");
RNBD_INJECT(rnbdc_inject_fail_map, "fail_map");
RNBD_INJECT(rnbdc_inject_late_start, "late_start");
RNBD_INJECT(rnbdc_inject_release_early, "release_early");
RNBD_INJECT(rnbdc_inject_no_release, "no_release");
RNBD_INJECT(rnbdc_inject_hold_frames, "hold_frames");

static struct rnbd_inject *const rnbdc_inject_points[] = {
	&rnbdc_inject_kill_queue,
	&rnbdc_inject_fail_post,
	&rnbdc_inject_fail_ring,
	&rnbdc_inject_fixed_session,
	&rnbdc_inject_set_epoch,
	&rnbdc_inject_stray,
	&rnbdc_inject_no_send_fence,
	&rnbdc_inject_no_read_guard,
	&rnbdc_inject_no_hold,
	&rnbdc_inject_fail_map,
	&rnbdc_inject_late_start,
	&rnbdc_inject_release_early,
	&rnbdc_inject_no_release,
	&rnbdc_inject_hold_frames,
	NULL,
};

static struct dentry *rnbdc_inject_dir;

/**
 * rnbdc_inject_init - create the files of the fault points in debugfs
 *
 * If the kernel has no debugfs, there are no files, and the module works without them.
 *
 * Context: process context, may sleep.
 */
void rnbdc_inject_init(void)
{
	rnbdc_inject_dir = rnbd_inject_add("rnbd", rnbdc_inject_points);
}

/**
 * rnbdc_inject_exit - remove the files of the fault points
 *
 * Context: process context, may sleep.
 */
void rnbdc_inject_exit(void)
{
	rnbd_inject_remove(rnbdc_inject_dir);
}
