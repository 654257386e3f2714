// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: replaces a connection that was lost.
 *
 * Operation
 *
 * recover_work tears the old connection down: it quiesces the disk's queues,
 * drains all queue pairs and only then returns the requests in flight to the
 * block layer, to be sent again or to fail. Then it tries to connect, with
 * growing pauses and a higher epoch each time. The target grants such a login
 * only when its storage holds no request of an older epoch, so a request that
 * is sent again cannot be overtaken by its earlier copy.
 *
 * Without a connection I/O waits, or fails if that is the disk's policy. Waiting
 * I/O fails after fast_io_fail seconds, or when recovery ends after loss_timeout.
 * Writes that were sent fail only when recovery ends: until a login is granted the
 * target may still execute them (hold.c).
 *
 * An export that returns with another incarnation may have lost writes that
 * were acknowledged but not flushed. If there are any, the whole disk fails:
 * a failed flush would report the loss to only one of several users.
 *
 * A deactivated disk fails all I/O permanently. rnbdc_recover_deactivate()
 * tears its connection down in its caller's context, and none replaces it.
 *
 * Ownership: recover_work owns the connection from the loss until
 * rnbdc_go_live(), attach and detach before and after that. recover_lock covers
 * the hand-over by attach, and rnbdc_recover_deactivate(), which may take the
 * connection from either. Its only caller is a sysfs file of the disk, which is
 * removed before a detach ends the connection.
 *
 * Concurrency: RNBDC_DISK_QUIESCED ensures that the disk's queues are quiesced
 * once and unquiesced once, whichever task is first. RNBDC_DISK_FAIL_IO changes
 * under sess->lock, with the state. fail_io_work is neither pending nor running
 * while a connection is torn down or goes live.
 *
 * Errors: Each failed attempt leaves its text in sess->log.last_error. Work in this
 * file must not wait for I/O, which may be this disk's.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../core/inject.h"
#include "client.h"
#include "cm.h"
#include "complete.h"
#include "connect.h"
#include "disk.h"
#include "errmsg.h"
#include "hold.h"
#include "inject.h"
#include "login.h"
#include "queue_alloc.h"
#include "recover.h"
#include "session.h"
#include "state.h"

/* Milliseconds: the pause before the second attempt, and the longest pause. */
#define RNBDC_PAUSE_MIN_MS	100
#define RNBDC_PAUSE_MAX_MS	1000
/* Milliseconds: the longest pause while the offer does not fit the disk. */
#define RNBDC_PAUSE_OTHER_MS	10000

static void rnbdc_quiesce(struct rnbdc_disk *disk)
{
	if (!test_and_set_bit(RNBDC_DISK_QUIESCED, &disk->flags))
		blk_mq_quiesce_queue(disk->gd->queue);
}

static void rnbdc_unquiesce(struct rnbdc_disk *disk)
{
	struct request_queue *queue = disk->gd->queue;

	if (test_and_clear_bit(RNBDC_DISK_QUIESCED, &disk->flags))
		blk_mq_unquiesce_queue(queue);
	blk_mq_start_stopped_hw_queues(queue, true);
	blk_mq_kick_requeue_list(queue);
}

/* Make I/O fail until a connection is live, which a deactivated disk never has. */
static void rnbdc_fail_io(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	unsigned long flags;
	bool fail;

	spin_lock_irqsave(&sess->lock, flags);
	fail = sess->state != RNBDC_LIVE || test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags);
	if (fail)
		set_bit(RNBDC_DISK_FAIL_IO, &disk->flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	if (fail)
		rnbdc_unquiesce(disk);
}

static void rnbdc_fail_io_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(to_delayed_work(work), struct rnbdc_disk,
					       fail_io_work);

	pr_warn("%s: no connection for %u seconds, I/O fails, %u writes that were sent wait\n",
		rnbdc_session_name(disk->sess), disk->opt.fast_io_fail,
		READ_ONCE(disk->nr_held));
	rnbdc_fail_io(disk);
}

static void rnbdc_keepalive_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, recovery.keepalive_work);
	u32 victim;

	if (READ_ONCE(sess->state) != RNBDC_LIVE)
		return;
	if (rnbd_inject(&rnbdc_inject_kill_queue, &victim))
		rnbdc_queue_kill(sess->queues[victim % sess->nr_queues]);
	rnbdc_keepalive(sess, sess->nr_queues, sess->grant.keepalive_ms);
	queue_delayed_work(rnbdc_timer_wq, &sess->recovery.keepalive_work,
			   msecs_to_jiffies(sess->grant.keepalive_ms) / 2);
}

/* Let I/O of the quiesced disk fail, or schedule fast_io_fail. */
static void rnbdc_wait_or_fail(struct rnbdc_disk *disk)
{
	unsigned long limit = disk->opt.fast_io_fail * HZ;
	unsigned long waited = jiffies - disk->sess->recovery.lost_at;

	if (test_bit(RNBDC_DISK_FAIL_IO, &disk->flags) ||
	    !test_bit(RNBDC_DISK_ATTACHED, &disk->flags))
		rnbdc_unquiesce(disk);
	else if (limit)
		queue_delayed_work(rnbdc_timer_wq, &disk->fail_io_work,
				   limit - min(limit, waited));
}

/*
 * Set the capacity that the target reported last. event_work notifies users, because
 * a uevent allocates memory, which may wait for this disk.
 */
static void rnbdc_apply_capacity(struct rnbdc_disk *disk)
{
	u64 capacity = READ_ONCE(disk->resize.capacity);
	struct rnbdc_session *sess = disk->sess;

	lockdep_assert_held(&sess->recovery.lock);

	/* queue_rq checks requests against it: set it before the disk's capacity. */
	WRITE_ONCE(disk->geo.capacity, capacity);
	if (test_bit(RNBDC_DISK_DETACH, &disk->flags) ||
	    get_capacity(disk->gd) == capacity >> SECTOR_SHIFT)
		return;
	set_capacity(disk->gd, capacity >> SECTOR_SHIFT);
	set_bit(RNBDC_DISK_RESIZED, &disk->flags);
	rnbdc_schedule_events(sess);
}

static void rnbdc_resize_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(to_delayed_work(work), struct rnbdc_disk,
					       resize.resize_work);
	struct rnbdc_session *sess = disk->sess;

	WRITE_ONCE(disk->resize.resized_at, jiffies);
	mutex_lock(&sess->recovery.lock);
	/* Otherwise rnbdc_go_live() applies the capacity. */
	if (READ_ONCE(sess->state) == RNBDC_LIVE)
		rnbdc_apply_capacity(disk);
	mutex_unlock(&sess->recovery.lock);
}

/*
 * Let I/O flow over a new connection; after an error the caller ends it. Called under
 * recover_lock, so that recovery of a loss begins only when all this is done.
 */
static int rnbdc_go_live(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	bool restarted = rnbdc_restarted(sess);
	struct rnbdc_disk *disk = &sess->disk;
	u32 i;

	lockdep_assert_held(&sess->recovery.lock);

	/*
	 * Requests that are to fail may be in queue_rq. None may be there while
	 * the queues change, or are torn down after an error.
	 */
	cancel_delayed_work_sync(&disk->fail_io_work);
	rnbdc_quiesce(disk);
	rnbdc_accept_offer(sess);
	rnbdc_apply_capacity(disk);
	for (i = 0; i < sess->nr_queues; i++)
		rnbdc_queue_ready(sess->queues[i], true);
	/* Before the change of state, so that its observers see it. */
	disk->stats.restarts += restarted;
	disk->stats.replayed += disk->nr_held;
	if (!rnbdc_session_advance(sess, RNBDC_LIVE)) {
		disk->stats.restarts -= restarted;
		disk->stats.replayed -= disk->nr_held;
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		for (i = 0; i < sess->nr_queues; i++)
			rnbdc_queue_ready(sess->queues[i], false);
		rnbdc_wait_or_fail(disk);
		return -ECONNRESET;
	}
	queue_delayed_work(rnbdc_timer_wq, &sess->recovery.keepalive_work,
			   msecs_to_jiffies(sess->grant.keepalive_ms) / 2);
	/* The target has granted the login: it executes nothing of an older epoch. */
	rnbdc_held_release(disk, true);
	rnbdc_unquiesce(disk);
	return 0;
}

/* Drain the queue pairs, return requests to the block layer and free the connection. */
static void rnbdc_teardown_connection(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk = &sess->disk;
	bool keep = test_bit(RNBDC_DISK_ATTACHED, &disk->flags) &&
		    !rnbdc_session_ending(sess);
	bool replay = keep && !disk->opt.fail_policy;
	u32 i;

	/* After this no task is in queue_rq, and none enters it. */
	cancel_delayed_work_sync(&disk->fail_io_work);
	rnbdc_quiesce(disk);
	for (i = 0; i < sess->nr_queues; i++)
		rnbdc_queue_ready(sess->queues[i], false);
	cancel_delayed_work_sync(&sess->recovery.keepalive_work);
	rnbdc_disconnect(sess);
	/* The device no longer holds a page: requests may be sent again. */
	rnbdc_disk_cancel_requests(disk, replay,
				   keep && !rnbd_inject(&rnbdc_inject_no_hold, NULL));
	/*
	 * Fail requests queued in blk-mq now: they do not use the connection,
	 * and releasing it may block for long.
	 */
	if (!replay)
		rnbdc_fail_io(disk);
	rnbdc_release_connection(sess);
	if (replay)
		rnbdc_wait_or_fail(disk);
}

/* End recovery: all I/O fails, also what was held. */
static void rnbdc_give_up(struct rnbdc_session *sess)
{
	lockdep_assert_held(&sess->recovery.lock);

	if (!rnbdc_session_advance(sess, RNBDC_FAILED))
		return;
	rnbdc_held_release(&sess->disk, false);
	rnbdc_unquiesce(&sess->disk);
}

static unsigned long rnbdc_pause(const struct rnbdc_session *sess, int error)
{
	/* EBUSY: a session is closing, which is quick, or logins are rate-limited. */
	u32 step = error == -EBUSY ? sess->recovery.attempt / 10 : sess->recovery.attempt;
	/* Retry rarely: each attempt costs a login that finds another export. */
	u32 most = error == -EMEDIUMTYPE ? RNBDC_PAUSE_OTHER_MS : RNBDC_PAUSE_MAX_MS;
	u32 ms = min_t(u32, RNBDC_PAUSE_MIN_MS << min(step, 10u), most);

	/* Clients that lost the same target must not reconnect in step. */
	ms = ms * 3 / 4 + get_random_u32_below(ms / 2 + 1);
	return msecs_to_jiffies(ms);
}

static int rnbdc_attempt(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	int ret;

	sess->recovery.attempt++;
	ret = rnbdc_connect(sess, errmsg);
	if (!ret)
		ret = rnbdc_go_live(sess, errmsg);
	if (ret) {
		rnbdc_disconnect(sess);
		rnbdc_release_connection(sess);
	}
	return ret;
}

/* Has loss_timeout passed since @since, in jiffies? */
static bool rnbdc_overdue(const struct rnbdc_session *sess, unsigned long since)
{
	return sess->disk.opt.loss_timeout &&
	       time_after(jiffies, since + sess->disk.opt.loss_timeout * HZ);
}

static bool rnbdc_may_retry(struct rnbdc_session *sess)
{
	return !rnbdc_session_ending(sess) && !rnbdc_overdue(sess, rnbdc_silent_since(&sess->disk));
}

/* After loss_timeout only what is held still waits. */
static void rnbdc_fail_overdue_io(struct rnbdc_session *sess)
{
	if (sess->recovery.overdue || !rnbdc_overdue(sess, sess->recovery.lost_at))
		return;
	sess->recovery.overdue = true;
	pr_warn("%s: no connection for %u seconds, I/O fails, %u writes wait because the target may still execute them\n",
		rnbdc_session_name(sess), sess->disk.opt.loss_timeout, sess->disk.nr_held);
	rnbdc_fail_io(&sess->disk);
}

static void rnbdc_recover(struct rnbdc_session *sess)
{
	struct rnbdc_errmsg errmsg = { };
	int ret;

	/* The first run after a loss tears the old connection down. */
	if (!sess->recovery.attempt && sess->conn.dev) {
		sess->recovery.busy_at = sess->recovery.lost_at;
		sess->recovery.overdue = false;
		rnbdc_session_set_error(sess, sess->log.reason);
		rnbdc_teardown_connection(sess);
	}
	if (!rnbdc_may_retry(sess)) {
		ret = -ETIMEDOUT;
	} else {
		ret = rnbdc_attempt(sess, &errmsg);
		if (!ret)
			return;
		if (ret == -EBUSY)
			sess->recovery.busy_at = jiffies;
		if (!errmsg.text[0])
			rnbdc_errmsg_set(&errmsg, "no memory");
		rnbdc_session_set_error(sess, errmsg.text);
		pr_debug("%s: attempt %u: %s\n", rnbdc_session_name(sess),
			 sess->recovery.attempt, errmsg.text);
	}

	/* Requests of a fenced host must not reach the storage later: do not retry. */
	if (!rnbdc_may_retry(sess) || ret == -EUCLEAN || ret == -EKEYREVOKED) {
		/* rnbdc_recover_deactivate() waits for the lock and does the rest. */
		if (test_bit(RNBDC_DISK_DEACTIVATED, &sess->disk.flags))
			return;
		if (ret == -EKEYREVOKED)
			set_bit(RNBDC_DISK_REVOKED, &sess->disk.flags);
		if (ret == -EUCLEAN)
			set_bit(RNBDC_DISK_DATA_LOST, &sess->disk.flags);
		rnbdc_give_up(sess);
		return;
	}
	rnbdc_fail_overdue_io(sess);
	sess->recovery.next_try = jiffies + rnbdc_pause(sess, ret);
	queue_delayed_work(rnbdc_wq, &sess->recovery.recover_work,
			   sess->recovery.next_try - jiffies);
}

static void rnbdc_recover_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, recovery.recover_work);
	unsigned int noio = memalloc_noio_save();

	mutex_lock(&sess->recovery.lock);
	if (READ_ONCE(sess->state) == RNBDC_RECONNECTING)
		rnbdc_recover(sess);
	mutex_unlock(&sess->recovery.lock);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_recover_start - let I/O flow over the first connection
 * @sess: session that is connected and has a disk
 * @errmsg: filled on error
 *
 * From here on recover_work handles a loss, even before this function returns.
 *
 * Context: process context, may sleep; takes recover_lock.
 * Return: 0, or -ECONNRESET if the connection was lost already.
 */
int rnbdc_recover_start(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	int ret;

	mutex_lock(&sess->recovery.lock);
	ret = rnbdc_go_live(sess, errmsg);
	mutex_unlock(&sess->recovery.lock);
	return ret;
}

/**
 * rnbdc_recover_init - initialise the work items of recovery
 * @sess: session that is being allocated
 *
 * Context: any.
 */
void rnbdc_recover_init(struct rnbdc_session *sess)
{
	INIT_DELAYED_WORK(&sess->recovery.recover_work, rnbdc_recover_work);
	INIT_DELAYED_WORK(&sess->disk.fail_io_work, rnbdc_fail_io_work);
	INIT_DELAYED_WORK(&sess->recovery.keepalive_work, rnbdc_keepalive_work);
	INIT_DELAYED_WORK(&sess->disk.resize.resize_work, rnbdc_resize_work);
	sess->disk.resize.resized_at = jiffies - RNBDC_RESIZE_PAUSE;
}

/**
 * rnbdc_recover_abort - end recovery and resizing before a detach
 * @sess: session with RNBDC_DISK_DETACH set
 *
 * A live session stays live, so that the target ends its requests. On return the
 * capacity of the disk no longer changes, and no event about the disk is queued.
 *
 * Context: process context, may sleep; takes recover_lock.
 */
void rnbdc_recover_abort(struct rnbdc_session *sess)
{
	unsigned long flags;

	wake_up(&sess->wait);
	spin_lock_irqsave(&sess->lock, flags);
	if (sess->state == RNBDC_RECONNECTING)
		mod_delayed_work(rnbdc_wq, &sess->recovery.recover_work, 0);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* Work that begins after this sees that the session is being detached. */
	cancel_delayed_work_sync(&sess->disk.resize.resize_work);
	/* A holder of the lock has seen RNBDC_DISK_DETACH, or has ended. */
	mutex_lock(&sess->recovery.lock);
	mutex_unlock(&sess->recovery.lock);
	flush_work(&sess->log.event_work);
}

/**
 * rnbdc_recover_deactivate - make all I/O of a disk fail permanently
 * @sess: session whose disk the caller keeps from being removed
 *
 * On return the device holds nothing of the session, and requests that were in flight
 * have ended with BLK_STS_TRANSPORT, as after a loss. Requests that waited or that follow
 * fail at once, until the disk is detached. The target may still execute requests that
 * it has received.
 *
 * Context: process context, may sleep, but does not wait for the target; takes
 * recover_lock.
 */
void rnbdc_recover_deactivate(struct rnbdc_session *sess)
{
	unsigned int noio = memalloc_noio_save();
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	set_bit(RNBDC_DISK_DEACTIVATED, &sess->disk.flags);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* An attempt to connect that is in progress ends. */
	wake_up(&sess->wait);

	mutex_lock(&sess->recovery.lock);
	if (READ_ONCE(sess->state) != RNBDC_FAILED) {
		cancel_delayed_work_sync(&sess->disk.fail_io_work);
		if (sess->conn.dev)
			rnbdc_teardown_connection(sess);
		rnbdc_session_set_error(sess, RNBDC_DEACTIVATED_REASON);
		rnbdc_give_up(sess);
	}
	mutex_unlock(&sess->recovery.lock);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_recover_end - end the connection and all work that could make another one
 * @sess: session in state RNBDC_CLOSING
 *
 * Context: process context, may sleep.
 */
void rnbdc_recover_end(struct rnbdc_session *sess)
{
	/* In this state only the work queues itself, which cancel stops. */
	cancel_delayed_work_sync(&sess->recovery.recover_work);
	cancel_delayed_work_sync(&sess->disk.fail_io_work);
	cancel_delayed_work_sync(&sess->recovery.keepalive_work);
	rnbdc_disconnect(sess);
	/* After the drain no RESIZE frame queues it again. */
	cancel_delayed_work_sync(&sess->disk.resize.resize_work);
	rnbdc_release_connection(sess);
}
