// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deactivation of a disk by the administrator: all its I/O fails permanently.
 *
 * Operation: the disk fails in the same way as after loss_timeout (disk_recover.c), whether
 * it is live or not. rnbdc_recover_deactivate() returns when the RDMA device no longer uses
 * any page of the disk's requests.
 *
 * Ownership: nothing is allocated or kept.
 *
 * Concurrency: recovery.lock of the session is held while the disk fails.
 *
 * Errors: none.
 */

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "cancel.h"
#include "deactivate.h"
#include "disk.h"
#include "disk_recover.h"
#include "recover.h"
#include "session.h"
#include "state.h"

/* Milliseconds to wait for data transfers in flight, before the connection is ended. */
#define RNBDC_TRANSFER_MS	10000

/* Wait until the device no longer uses pages of requests of a disk that has failed. */
static void rnbdc_wait_idle(struct rnbdc_disk *disk)
{
	unsigned long until = jiffies + msecs_to_jiffies(RNBDC_TRANSFER_MS);

	while (rnbdc_disk_in_flight(disk).all) {
		rnbdc_disk_poll(disk);
		/* End the connection: recovery then takes the requests back. */
		if (time_after(jiffies, until))
			rnbdc_session_fail(disk->sess, RNBDC_DEACTIVATED_REASON);
		usleep_range(1000, 2000);
	}
}

/**
 * rnbdc_recover_deactivate - make all I/O of a disk fail permanently
 * @disk: disk that the caller keeps from being removed
 *
 * On return the device uses no page of the disk's requests. Requests that the target had not
 * answered have ended with rnbdc_lost_status(). Requests that wait in the block layer and all
 * later requests fail at once, until the disk is detached. The target can still execute
 * requests that it has received. Other disks of the session are not affected, unless a data
 * transfer takes longer than RNBDC_TRANSFER_MS.
 *
 * Context: process context, may sleep, but does not wait for the target's storage, except
 * briefly (attach_ctl.c) if the export is exclusive; takes recovery.lock.
 */
void rnbdc_recover_deactivate(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	unsigned int noio = memalloc_noio_save();
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	set_bit(RNBDC_DISK_DEACTIVATED, &disk->flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* End the waits of an attempt to connect, if no other disk needs the session. */
	wake_up_all(&sess->wait);

	mutex_lock(&sess->recovery.lock);
	if (READ_ONCE(disk->state) != RNBDC_FAILED) {
		rnbdc_disk_suspend(disk);
		rnbdc_disk_set_error(disk, RNBDC_DEACTIVATED_REASON);
		rnbdc_disk_give_up(disk);
	}
	mutex_unlock(&sess->recovery.lock);
	rnbdc_disk_failed(disk);
	rnbdc_wait_idle(disk);
	/* If no disk needs the connection, wait until the connection or a recovery attempt ends. */
	if (rnbdc_session_end_unused(sess))
		flush_delayed_work(&sess->recovery.recover_work);
	memalloc_noio_restore(noio);
}
