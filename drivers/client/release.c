// SPDX-License-Identifier: GPL-2.0-only
/*
 * References of sessions and disks, and release of the objects.
 *
 * Ownership: The list of disks, lookups and a queued event_work hold references on a
 * disk. Disks and a discovery hold references on a session. Dropping the last reference
 * of a disk frees its gendisk and tag set. Dropping the last reference of a session frees
 * its queues, bounce memory and keys. The resources of the connection are freed earlier,
 * when the connection ends (connect.c). Memory that is kept for the next connection is
 * freed when no further connection will be made (recover.c), because a disk without a
 * connection can stay open for long.
 */

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <rnbd/wire.h>

#include "../core/mac.h"
#include "bounce.h"
#include "disk.h"
#include "gendisk.h"
#include "queue_alloc.h"
#include "release.h"
#include "session.h"
#include "space.h"

static void rnbdc_session_release(struct kref *ref)
{
	struct rnbdc_session *sess = container_of(ref, struct rnbdc_session, ref);
	u32 i;

	/* Free the tables of the pool before the queues: some are in rnbdc_queue.cache. */
	rnbdc_space_exit(&sess->space);
	for (i = 0; i < sess->max_queues && sess->queues[i]; i++) {
		rnbdc_queue_free(sess->queues[i]);
		kfree(sess->queues[i]);
	}
	rnbdc_bounce_free(sess);
	kvfree(sess->conn.segments);
	mempool_destroy(sess->tables);
	rnbd_mac_free(sess->auth.key);
	rnbd_mac_free(sess->auth.next_key);
	rnbd_mac_free(sess->auth.session_key);
	xa_destroy(&sess->detaching);
	ida_destroy(&sess->indexes);
	kvfree(sess->queues);
	kfree(sess);
}

/**
 * rnbdc_session_put - drop a reference of a session
 * @sess: session, which is freed with its last reference
 *
 * Context: process context, may sleep.
 */
void rnbdc_session_put(struct rnbdc_session *sess)
{
	kref_put(&sess->ref, rnbdc_session_release);
}

static void rnbdc_disk_release(struct kref *ref)
{
	struct rnbdc_disk *disk = container_of(ref, struct rnbdc_disk, ref);

	/* The tag set refers to the queues: free it before the session, which owns the queues. */
	rnbdc_disk_free(disk);
	rnbdc_session_put(disk->sess);
	kfree(disk);
}

/**
 * rnbdc_disk_put - drop a reference of a disk
 * @disk: disk; dropping the last reference frees it, and can also free its session
 *
 * Context: process context, may sleep.
 */
void rnbdc_disk_put(struct rnbdc_disk *disk)
{
	kref_put(&disk->ref, rnbdc_disk_release);
}
