// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault points of the client, for tests: rnbd/rnbd/ in debugfs. See
 * ../core/inject.h, and Documentation/testing.rst for what each of them does.
 */

#include "client.h"

RNBD_INJECT(rnbd_inject_kill_queue, "kill_queue");
RNBD_INJECT(rnbd_inject_fail_post, "fail_post");
RNBD_INJECT(rnbd_inject_fixed_session, "fixed_session");
RNBD_INJECT(rnbd_inject_set_epoch, "set_epoch");
RNBD_INJECT(rnbd_inject_scribble, "scribble");

static struct rnbd_inject *const rnbd_inject_points[] = {
	&rnbd_inject_kill_queue,
	&rnbd_inject_fail_post,
	&rnbd_inject_fixed_session,
	&rnbd_inject_set_epoch,
	&rnbd_inject_scribble,
	NULL,
};

static struct dentry *rnbd_inject_dir;

/**
 * rnbd_client_inject_init - show the fault points
 */
void rnbd_client_inject_init(void)
{
	rnbd_inject_dir = rnbd_inject_add("rnbd", rnbd_inject_points);
}

/**
 * rnbd_client_inject_exit - hide them
 */
void rnbd_client_inject_exit(void)
{
	rnbd_inject_remove(rnbd_inject_dir);
}
