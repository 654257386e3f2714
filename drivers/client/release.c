// SPDX-License-Identifier: GPL-2.0-only
/*
 * References of a session and its release with the last one.
 *
 * The list of disks, lookups and a queued event_work hold references. The
 * last one frees the disk, the queues with their bounce memory, the key and the
 * session. The connection's resources are freed earlier, when the connection
 * ends (connect.c): a disk without a connection may stay open for long.
 */

#include <linux/kref.h>
#include <linux/slab.h>
#include <rnbd/wire.h>

#include "../core/mac.h"
#include "bounce.h"
#include "disk.h"
#include "gendisk.h"
#include "release.h"
#include "session.h"

static void rnbdc_session_release(struct kref *ref)
{
	struct rnbdc_session *sess = container_of(ref, struct rnbdc_session, ref);
	u32 i;

	rnbdc_disk_free(&sess->disk);
	for (i = 0; i < RNBD_QUEUES_MAX && sess->queues[i]; i++) {
		rnbdc_bounce_free(sess->queues[i]);
		kfree(sess->queues[i]);
	}
	rnbd_mac_free(sess->auth.key);
	rnbd_mac_free(sess->auth.next_key);
	kfree(sess);
}

/**
 * rnbdc_session_put - drop a reference of a session
 * @sess: session; it may be freed with its disk
 *
 * Context: process context, may sleep.
 */
void rnbdc_session_put(struct rnbdc_session *sess)
{
	kref_put(&sess->ref, rnbdc_session_release);
}

/**
 * rnbdc_disk_put - drop a reference of a disk
 * @disk: disk; it may be freed with its session
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_put(struct rnbdc_disk *disk)
{
	rnbdc_session_put(disk->sess);
}
