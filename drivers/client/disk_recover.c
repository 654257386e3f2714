// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk during the loss of its attachment: which I/O waits, fails or is held.
 *
 * Operation: Recovery of the session (recover.c) suspends each disk, and takes its requests
 * back when the queue pairs are drained. Depending on the disk's policy, the requests then
 * fail, or wait in the block layer to be sent again; waiting requests fail fast_io_fail
 * seconds after the loss, if this option is set. After loss_timeout, if set, the disk fails
 * permanently. Writes that were sent before the loss are held, with either policy: they fail
 * only when the disk fails, because the target can execute them until the export is attached
 * again (hold.c). A new attachment resumes the disk.
 *
 * If only the attachment of a disk ends, its requests stay with the connection until the
 * target has answered them. A request that fails before its reply leaves an orphan
 * (orphan.c).
 *
 * Ownership: nothing is allocated or kept.
 *
 * Concurrency: recovery.lock of the session serialises the functions that stop, resume or fail
 * the I/O of a disk, except fail_io_work. RNBDC_DISK_QUIESCED ensures that each quiesce of the
 * disk's queues is undone exactly once, although several tasks can unquiesce them.
 * RNBDC_DISK_FAIL_IO and the state of the disk change under sess->lock. fail_io_work is neither
 * pending nor running when rnbdc_quiesce() returns.
 *
 * Errors: none. Functions of this file must not wait for I/O, because it can be I/O of the
 * disk that they recover.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "../core/inject.h"
#include "cancel.h"
#include "client.h"
#include "disk.h"
#include "disk_recover.h"
#include "hold.h"
#include "inject.h"
#include "session.h"
#include "stall.h"
#include "state.h"

/* Keep further tasks out of queue_rq, without waiting for the tasks that are in it. */
static void rnbdc_quiesce(struct rnbdc_disk *disk)
{
	lockdep_assert_held(&disk->sess->recovery.lock);

	/* fail_io_work unquiesces the disk, so it must not run from now on. */
	cancel_delayed_work_sync(&disk->fail_io_work);
	if (test_and_set_bit(RNBDC_DISK_QUIESCED, &disk->flags))
		return;
	blk_mq_quiesce_queue_nowait(disk->gd->queue);
	set_bit(RNBDC_DISK_UNSETTLED, &disk->flags);
	disk->quiesces++;
}

/* Record that all tasks have left queue_rq. */
static void rnbdc_settled(struct rnbdc_disk *disk)
{
	lockdep_assert_held(&disk->sess->recovery.lock);

	if (test_and_clear_bit(RNBDC_DISK_UNSETTLED, &disk->flags))
		rnbdc_disk_forget_waits(disk);
}

static void rnbdc_unquiesce(struct rnbdc_disk *disk)
{
	struct request_queue *queue = disk->gd->queue;

	if (test_and_clear_bit(RNBDC_DISK_QUIESCED, &disk->flags))
		blk_mq_unquiesce_queue(queue);
	blk_mq_start_stopped_hw_queues(queue, true);
	blk_mq_kick_requeue_list(queue);
}

/*
 * Make I/O of a disk that is not live fail until the disk is live again, and permanently if the
 * disk is deactivated. If the session is connected, writes that were sent still wait for their
 * replies.
 */
static void rnbdc_fail_io(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	unsigned long flags;
	bool fail;

	spin_lock_irqsave(&sess->lock, flags);
	fail = disk->state != RNBDC_LIVE || test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags);
	if (fail)
		set_bit(RNBDC_DISK_FAIL_IO, &disk->flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	if (!fail)
		return;
	rnbdc_disk_fail_requests(disk, false);
	rnbdc_unquiesce(disk);
}

/* Get the number of modifying requests that the target can still execute. */
static u32 rnbdc_unconfirmed(struct rnbdc_disk *disk)
{
	return READ_ONCE(disk->nr_held) + rnbdc_disk_in_flight(disk).modifying;
}

static void rnbdc_fail_io_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(to_delayed_work(work), struct rnbdc_disk,
					       fail_io_work);

	pr_warn("%s: not attached for %u seconds, I/O fails, %u writes that were sent wait\n",
		rnbdc_disk_name(disk), disk->opt.fast_io_fail, rnbdc_unconfirmed(disk));
	rnbdc_fail_io(disk);
}

/**
 * rnbdc_disk_suspend - stop the submission of requests of a disk
 * @disk: disk with a gendisk
 *
 * On return no task is in queue_rq, and none enters it.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disk_suspend(struct rnbdc_disk *disk)
{
	rnbdc_quiesce(disk);
	if (!test_bit(RNBDC_DISK_UNSETTLED, &disk->flags))
		return;
	blk_mq_wait_quiesce_done(&disk->tag_set);
	rnbdc_settled(disk);
}

/**
 * rnbdc_disks_suspend - stop the submission of requests of all disks of a session
 * @sess: session
 *
 * The function does the same as rnbdc_disk_suspend() for each disk, but waits only once for
 * all of them, because each wait takes some 10 milliseconds.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disks_suspend(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk = NULL, *some = NULL;

	while ((disk = rnbdc_next_disk(sess, disk))) {
		rnbdc_quiesce(disk);
		if (test_bit(RNBDC_DISK_UNSETTLED, &disk->flags))
			some = disk;
	}
	if (!some)
		return;
	/* The tag sets have the same flags, so one RCU grace period serves all disks. */
	blk_mq_wait_quiesce_done(&some->tag_set);
	while ((disk = rnbdc_next_disk(sess, disk)))
		rnbdc_settled(disk);
}

/**
 * rnbdc_disk_settle - quiesce a disk, and wait without recovery.lock
 * @disk: disk with a gendisk
 *
 * Because the lock is dropped, several disks of a session can wait concurrently. During the
 * wait the states of disk and session can change, and another task can resume the disk. So
 * the caller must check the states again, and then call rnbdc_disk_suspend(), which does not
 * wait if the disk is still quiesced.
 *
 * Context: process context, may sleep; recovery.lock held, and dropped during the wait.
 */
void rnbdc_disk_settle(struct rnbdc_disk *disk)
{
	struct mutex *lock = &disk->sess->recovery.lock;
	u32 quiesces;

	rnbdc_quiesce(disk);
	if (!test_bit(RNBDC_DISK_UNSETTLED, &disk->flags))
		return;
	quiesces = disk->quiesces;
	mutex_unlock(lock);
	blk_mq_wait_quiesce_done(&disk->tag_set);
	mutex_lock(lock);
	if (disk->quiesces == quiesces && test_bit(RNBDC_DISK_QUIESCED, &disk->flags))
		rnbdc_settled(disk);
}

/**
 * rnbdc_disk_resume - resume the submission of requests over a new attachment
 * @disk: suspended disk that is live
 *
 * A target grants an attachment only when it no longer executes requests of an older
 * attachment of the disk. So held writes can be sent again.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disk_resume(struct rnbdc_disk *disk)
{
	rnbdc_held_release(disk, true);
	rnbdc_unquiesce(disk);
}

/**
 * rnbdc_disk_wait - fail the I/O of a suspended disk, or let it wait and arm fast_io_fail
 * @disk: suspended disk that is not attached
 *
 * Context: process context; recovery.lock held.
 */
void rnbdc_disk_wait(struct rnbdc_disk *disk)
{
	unsigned long limit = disk->opt.fast_io_fail * HZ;
	unsigned long waited = jiffies - disk->lost_at;

	/* I/O of a disk that is being added must not wait: device_add_disk() reads partitions. */
	if (disk->opt.fail_policy || !test_bit(RNBDC_DISK_ATTACHED, &disk->flags) ||
	    test_bit(RNBDC_DISK_FAIL_IO, &disk->flags))
		rnbdc_fail_io(disk);
	else if (limit)
		queue_delayed_work(rnbdc_timer_wq, &disk->fail_io_work,
				   limit - min(limit, waited));
}

/**
 * rnbdc_disk_lost - take the requests in flight back from a lost connection
 * @disk: suspended disk of a session whose queue pairs are drained
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disk_lost(struct rnbdc_disk *disk)
{
	bool keep = test_bit(RNBDC_DISK_ATTACHED, &disk->flags) && !rnbdc_disk_ending(disk) &&
		    READ_ONCE(disk->state) != RNBDC_FAILED;
	bool replay = keep && !disk->opt.fail_policy;

	clear_bit(RNBDC_DISK_OVERDUE, &disk->flags);
	/* The device no longer uses the pages, so requests can be sent again. */
	rnbdc_disk_cancel_requests(disk, replay,
				   keep && !rnbd_inject(&rnbdc_inject_no_hold, NULL));
	/*
	 * Fail requests queued in blk-mq now: they need not wait until the connection is released,
	 * which can take long.
	 */
	if (!replay)
		rnbdc_fail_io(disk);
}

/**
 * rnbdc_disk_give_up - end recovery of a disk: fail all its I/O, held writes included
 * @disk: disk that is not being closed, and that is suspended if it is live
 *
 * A request whose data are being transferred ends when the transfer has completed.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disk_give_up(struct rnbdc_disk *disk)
{
	lockdep_assert_held(&disk->sess->recovery.lock);

	if (!rnbdc_disk_advance(disk, RNBDC_FAILED))
		return;
	cancel_delayed_work_sync(&disk->fail_io_work);
	rnbdc_held_release(disk, false);
	rnbdc_disk_fail_requests(disk, true);
	rnbdc_unquiesce(disk);
}

/**
 * rnbdc_loss_timeout - get the time without an attachment after which a disk fails
 * @disk: disk
 *
 * The time is the option loss_timeout, or the time within which the target notices the loss
 * if this time is longer: the target must have noticed the loss before writes that were sent
 * fail. The target can grant a longer keep-alive interval than requested, and so notice a loss
 * later.
 *
 * Context: any.
 * Return: jiffies, or 0 if no time without an attachment makes the disk fail.
 */
unsigned long rnbdc_loss_timeout(const struct rnbdc_disk *disk)
{
	u32 least_ms = (RNBD_KEEPALIVE_MISSED + 1) * disk->sess->grant.keepalive_ms +
		       RNBDC_LOSS_MARGIN_MS;

	if (!disk->opt.loss_timeout)
		return 0;
	return max((unsigned long)disk->opt.loss_timeout * HZ, msecs_to_jiffies(least_ms));
}

/* Test whether the time of rnbdc_loss_timeout() has passed since @since, in jiffies. */
static bool rnbdc_overdue(const struct rnbdc_disk *disk, unsigned long since)
{
	unsigned long timeout = rnbdc_loss_timeout(disk);

	return timeout && time_after(jiffies, since + timeout);
}

/**
 * rnbdc_silent_since - get the time from which loss_timeout counts
 * @disk: disk that reconnects
 *
 * A target that answers BUSY can still execute writes that were sent, for as long as its
 * storage takes, so a disk with such writes must not fail soon after an answer BUSY. A target
 * without a connection to the client notices the loss and then submits no more requests.
 *
 * Context: process context.
 * Return: jiffies of the loss; but if writes that were sent wait and the target has answered
 * BUSY since the loss, jiffies of the latest BUSY.
 */
unsigned long rnbdc_silent_since(struct rnbdc_disk *disk)
{
	return rnbdc_unconfirmed(disk) ? disk->busy_at : disk->lost_at;
}

/**
 * rnbdc_loss_left - get the time until rnbdc_disk_check_time() must be called again
 * @disk: disk that reconnects
 *
 * Context: process context.
 * Return: jiffies, or 0 if no time without an attachment makes the disk fail.
 */
unsigned long rnbdc_loss_left(struct rnbdc_disk *disk)
{
	unsigned long timeout = rnbdc_loss_timeout(disk), since = disk->lost_at;

	if (!timeout)
		return 0;
	if (test_bit(RNBDC_DISK_OVERDUE, &disk->flags))
		since = rnbdc_silent_since(disk);
	return timeout - min(timeout, jiffies - since) + 1;
}

/**
 * rnbdc_disk_check_time - fail a disk, or its I/O, if it has waited for too long
 * @disk: disk
 *
 * The function does nothing unless the disk reconnects and is not deactivated. The disk fails
 * if rnbdc_disk_ending() is true, or if loss_timeout has passed since rnbdc_silent_since(). If
 * loss_timeout has passed since the loss, but the target has answered BUSY later, all I/O fails
 * except writes that were sent, which continue to wait.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_disk_check_time(struct rnbdc_disk *disk)
{
	if (disk->state != RNBDC_RECONNECTING ||
	    test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags))
		return;
	if (rnbdc_disk_ending(disk) || rnbdc_overdue(disk, rnbdc_silent_since(disk))) {
		rnbdc_disk_give_up(disk);
		return;
	}
	if (!rnbdc_overdue(disk, disk->lost_at) ||
	    test_and_set_bit(RNBDC_DISK_OVERDUE, &disk->flags))
		return;
	pr_warn("%s: not attached for %u seconds, I/O fails, %u writes wait because the target may still execute them\n",
		rnbdc_disk_name(disk), disk->opt.loss_timeout, rnbdc_unconfirmed(disk));
	rnbdc_fail_io(disk);
}

/**
 * rnbdc_apply_capacity - set the capacity that the target reported last
 * @disk: disk with a gendisk
 *
 * The function leaves the uevent to event_work, because sending a uevent allocates memory and
 * can thus wait for I/O of this disk.
 *
 * Context: process context, may sleep; recovery.lock held.
 */
void rnbdc_apply_capacity(struct rnbdc_disk *disk)
{
	u64 capacity = READ_ONCE(disk->resize.capacity);

	lockdep_assert_held(&disk->sess->recovery.lock);

	/* Set geo.capacity before the gendisk's: queue_rq checks requests against geo.capacity. */
	WRITE_ONCE(disk->geo.capacity, capacity);
	if (test_bit(RNBDC_DISK_DETACH, &disk->flags) ||
	    get_capacity(disk->gd) == capacity >> SECTOR_SHIFT)
		return;
	set_capacity(disk->gd, capacity >> SECTOR_SHIFT);
	set_bit(RNBDC_DISK_RESIZED, &disk->flags);
	rnbdc_schedule_events(disk);
}

static void rnbdc_resize_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(to_delayed_work(work), struct rnbdc_disk,
					       resize.resize_work);
	struct rnbdc_session *sess = disk->sess;

	WRITE_ONCE(disk->resize.resized_at, jiffies);
	mutex_lock(&sess->recovery.lock);
	/* If the disk is not live, rnbdc_disk_go_live() applies the capacity later. */
	if (READ_ONCE(disk->state) == RNBDC_LIVE)
		rnbdc_apply_capacity(disk);
	mutex_unlock(&sess->recovery.lock);
}

/**
 * rnbdc_disk_recover_init - initialise the work items
 * @disk: disk that is being allocated
 *
 * Context: any.
 */
void rnbdc_disk_recover_init(struct rnbdc_disk *disk)
{
	INIT_DELAYED_WORK(&disk->fail_io_work, rnbdc_fail_io_work);
	INIT_DELAYED_WORK(&disk->resize.resize_work, rnbdc_resize_work);
	disk->resize.resized_at = jiffies - RNBDC_RESIZE_PAUSE;
}

/**
 * rnbdc_disk_recover_end - cancel the work items, and wait until none of them runs
 * @disk: disk in state RNBDC_CLOSING that no frame of the target can reach
 *
 * Context: process context, may sleep; recovery.lock not held.
 */
void rnbdc_disk_recover_end(struct rnbdc_disk *disk)
{
	cancel_delayed_work_sync(&disk->attach_work);
	cancel_delayed_work_sync(&disk->fail_io_work);
	cancel_delayed_work_sync(&disk->resize.resize_work);
}
