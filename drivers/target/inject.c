// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault points of the target, for tests: rnbd/rnbd-target/ in debugfs.
 *
 * Documentation/contributing/fault-points.rst describes each fault point. ../core/inject.h
 * describes how to arm a fault point.
 */

#include "../core/inject.h"
#include "inject.h"

RNBD_INJECT(rnbdt_inject_delay_submit, "delay_submit");
RNBD_INJECT(rnbdt_inject_delay_bio, "delay_bio");
RNBD_INJECT(rnbdt_inject_delay_close, "delay_close");
RNBD_INJECT(rnbdt_inject_delay_linger, "delay_linger");
RNBD_INJECT(rnbdt_inject_delay_login, "delay_login");
RNBD_INJECT(rnbdt_inject_delay_release, "delay_release");
RNBD_INJECT(rnbdt_inject_delay_restrict, "delay_restrict");
RNBD_INJECT(rnbdt_inject_drop_reply, "drop_reply");
RNBD_INJECT(rnbdt_inject_drop_attach_reply, "drop_attach_reply");
RNBD_INJECT(rnbdt_inject_no_epoch_check, "no_epoch_check");
RNBD_INJECT(rnbdt_inject_no_drain, "no_drain");
RNBD_INJECT(rnbdt_inject_no_copy, "no_copy");
RNBD_INJECT(rnbdt_inject_fail_request, "fail_request");
RNBD_INJECT(rnbdt_inject_no_wb_check, "no_wb_check");
RNBD_INJECT(rnbdt_inject_refuse_queue, "refuse_queue");
RNBD_INJECT(rnbdt_inject_no_lease_drain, "no_lease_drain");
RNBD_INJECT(rnbdt_inject_no_generation, "no_generation");
RNBD_INJECT(rnbdt_inject_reuse_segment, "reuse_segment");

static struct rnbd_inject *const rnbdt_inject_points[] = {
	&rnbdt_inject_delay_submit,
	&rnbdt_inject_delay_bio,
	&rnbdt_inject_delay_close,
	&rnbdt_inject_delay_linger,
	&rnbdt_inject_delay_login,
	&rnbdt_inject_delay_release,
	&rnbdt_inject_delay_restrict,
	&rnbdt_inject_drop_reply,
	&rnbdt_inject_drop_attach_reply,
	&rnbdt_inject_no_epoch_check,
	&rnbdt_inject_no_drain,
	&rnbdt_inject_no_copy,
	&rnbdt_inject_fail_request,
	&rnbdt_inject_no_wb_check,
	&rnbdt_inject_refuse_queue,
	&rnbdt_inject_no_lease_drain,
	&rnbdt_inject_no_generation,
	&rnbdt_inject_reuse_segment,
	NULL,
};

static struct dentry *rnbdt_inject_dir;

/**
 * rnbdt_inject_init - add the fault points to debugfs
 *
 * Context: process context, module init.
 */
void rnbdt_inject_init(void)
{
	rnbdt_inject_dir = rnbd_inject_add("rnbd-target", rnbdt_inject_points);
}

/**
 * rnbdt_inject_exit - remove the fault points from debugfs
 *
 * Context: process context, module exit.
 */
void rnbdt_inject_exit(void)
{
	rnbd_inject_remove(rnbdt_inject_dir);
}
