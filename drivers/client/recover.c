// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: replacement of a lost connection.
 *
 * Operation
 *
 * After a loss, recover_work tears down the old connection: it suspends the disks, drains
 * all queue pairs and only then takes the requests in flight back. They wait in the block
 * layer, fail or are held (disk_recover.c). Then recover_work tries to connect, with
 * growing pauses and a higher epoch each time, as long as a disk needs the session. The
 * session is live as soon as queue 0 has logged in; further.c connects the other queues.
 * The attach_work of each disk then attaches the export again. The target grants this only
 * when its storage holds no request of an older attachment of the disk, so an old copy of a
 * request cannot be executed after the request is sent again. If only the attachment of one
 * disk ends, only attach_work of this disk runs.
 *
 * An export with another incarnation has possibly lost writes that were acknowledged
 * but not flushed. If the disk has such writes, all its I/O fails, because a failed
 * flush alone would report the loss to only one of several users of the disk.
 *
 * A deactivated disk fails all I/O permanently, while other disks keep using the session.
 * When all disks of a session have failed or are closing, its connection ends.
 *
 * Ownership: The attach that creates the session owns the connection until
 * rnbdc_recover_start() makes the session live. recover_work owns the connection from each
 * loss until rnbdc_go_live(). The detach, or failed attach, that closes the session owns it
 * from then on.
 *
 * Concurrency: recovery.lock serialises the changes of the connection that disks see. No task
 * holds recovery.lock while it waits for the target, so that no disk waits for another disk.
 *
 * Errors: Each failed attempt stores its message in the disks that reconnect. Work in
 * this file must not wait for I/O, because that I/O can need a disk of the session.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "attach_ctl.h"
#include "backoff.h"
#include "cancel.h"
#include "client.h"
#include "cm.h"
#include "connect.h"
#include "disk.h"
#include "disk_recover.h"
#include "errmsg.h"
#include "further.h"
#include "keepalive.h"
#include "offer.h"
#include "queue.h"
#include "queue_alloc.h"
#include "recover.h"
#include "route.h"
#include "session.h"
#include "state.h"
#include "turn.h"

/* Jiffies between two checks whether a disk that waits for its turn must fail */
#define RNBDC_TURN_PERIOD	HZ

static void rnbdc_close_queues(struct rnbdc_session *sess)
{
	u32 i;

	for (i = 0; i < sess->nr_queues && sess->queues[i]; i++)
		rnbdc_queue_ready(sess->queues[i], false);
}

/* Apply the granted offer to a disk, make the disk live and resume its I/O. */
static int rnbdc_disk_go_live(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	bool restarted = disk->made_live && rnbdc_restarted(disk);
	u32 held = disk->nr_held;

	lockdep_assert_held(&disk->sess->recovery.lock);

	/* No request may be in queue_rq while the properties change. */
	rnbdc_disk_suspend(disk);
	rnbdc_disk_route(disk);
	rnbdc_accept_attach(disk);
	rnbdc_apply_capacity(disk);
	/* Update the counters first: users who see the new state also see the counters. */
	disk->stats.target_restarts += restarted;
	atomic64_add(held, &disk->stats.resent_requests);
	if (!rnbdc_disk_live(disk)) {
		atomic64_sub(held, &disk->stats.resent_requests);
		rnbdc_errmsg_set(errmsg, "%s", disk->sess->recovery.broken_reason ?:
				 "the target has closed the attachment");
		rnbdc_disk_wait(disk);
		return -ECONNRESET;
	}
	disk->made_live = true;
	rnbdc_disk_resume(disk);
	return 0;
}

/* Log if the target has another UUID than before, because another machine has the address now. */
static void rnbdc_note_target(const struct rnbdc_session *sess)
{
	const u8 *old = sess->grant.target_uuid, *new = sess->login.offer.target_uuid;

	if (memcmp(old, new, sizeof(sess->grant.target_uuid)))
		pr_info("%s: connected to another target than before, UUID %pUb instead of %pUb; disks attach exports with the same UUID\n",
			sess->opt.addr, new, old);
}

/* Make a connected session live. After an error the caller ends the connection. */
static int rnbdc_go_live(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk;

	lockdep_assert_held(&sess->recovery.lock);

	rnbdc_note_target(sess);
	sess->grant = sess->login.offer;
	rnbdc_queue_ready(sess->queues[0], true);
	if (!rnbdc_session_live(sess)) {
		rnbdc_errmsg_set(errmsg, "%s", sess->recovery.broken_reason ?: "connection lost");
		rnbdc_close_queues(sess);
		return -ECONNRESET;
	}
	WRITE_ONCE(sess->nr_connected, 1);
	rnbdc_further_start(sess);
	rnbdc_keepalive_start(sess);
	/* A work item per disk: a disk whose export is busy delays no other disk. */
	list_for_each_entry(disk, &sess->disks, entry) {
		disk->asked = false;
		if (READ_ONCE(disk->state) == RNBDC_RECONNECTING)
			mod_delayed_work(rnbdc_attach_wq, &disk->attach_work, 0);
	}
	return 0;
}

/*
 * Let attach_work check loss_timeout in time. recover_work cannot do so while it connects,
 * which takes up to a minute if the target is slow.
 */
static void rnbdc_arm_loss(struct rnbdc_disk *disk)
{
	unsigned long left = rnbdc_loss_left(disk);

	if (left && READ_ONCE(disk->state) == RNBDC_RECONNECTING)
		queue_delayed_work(rnbdc_attach_wq, &disk->attach_work, left);
}

/* Suspend the disks, drain the queue pairs, take requests back and free the connection. */
static void rnbdc_teardown_connection(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk = NULL;

	rnbdc_disks_suspend(sess);
	rnbdc_close_queues(sess);
	rnbdc_keepalive_stop(sess);
	rnbdc_disconnect(sess);
	while ((disk = rnbdc_next_disk(sess, disk)))
		rnbdc_disk_lost(disk);
	rnbdc_release_connection(sess);
	rnbdc_forget_detached(sess);
	while ((disk = rnbdc_next_disk(sess, disk))) {
		rnbdc_disk_wait(disk);
		rnbdc_arm_loss(disk);
	}
}

/* Get the jiffies until the next attempt to connect or to attach. */
static unsigned long rnbdc_retry_pause(u32 attempt, int error, u32 retry_ms, u32 timeouts)
{
	/* EBUSY: the target drains older requests or limits the rate of logins; retry soon. */
	u32 doublings = error == -EBUSY ? attempt / 10 : attempt;
	/* EMEDIUMTYPE: the offer does not suit the disk; retries rarely change that. */
	u32 most = error == -EMEDIUMTYPE ? RNBDC_PAUSE_OTHER_MS : RNBDC_PAUSE_MAX_MS;

	return rnbdc_pause(doublings, most, retry_ms, timeouts);
}

/*
 * Get the milliseconds to wait for a login reply: until loss_timeout has passed for all disks, but
 * at most RNBDC_LOGIN_MS.
 */
static u32 rnbdc_reply_ms(struct rnbdc_session *sess)
{
	unsigned long waited, limit;
	struct rnbdc_disk *disk;
	u32 ms = 0;

	lockdep_assert_held(&sess->recovery.lock);

	list_for_each_entry(disk, &sess->disks, entry) {
		limit = rnbdc_loss_timeout(disk);
		if (!limit)
			return RNBDC_LOGIN_MS;
		waited = jiffies - rnbdc_silent_since(disk);
		ms = max(ms, jiffies_to_msecs(limit - min(limit, waited)) + 1);
	}
	return min_t(u32, RNBDC_LOGIN_MS, ms);
}

/* Try once to connect the session and make it live. Drops recovery.lock while connecting. */
static int rnbdc_attempt(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_disk *disk;
	int ret;

	sess->recovery.attempt++;
	list_for_each_entry(disk, &sess->disks, entry)
		disk->attempt++;
	sess->login.reply_ms = rnbdc_reply_ms(sess);
	mutex_unlock(&sess->recovery.lock);
	ret = rnbdc_connect(sess, errmsg);
	mutex_lock(&sess->recovery.lock);
	if (!ret)
		ret = rnbdc_go_live(sess, errmsg);
	if (ret) {
		rnbdc_disconnect(sess);
		rnbdc_release_connection(sess);
	}
	return ret;
}

/* Fail a disk after a permanent error. Fail the disk or its I/O if it has waited for too long. */
static void rnbdc_check_disk(struct rnbdc_disk *disk, int error)
{
	/* rnbdc_recover_deactivate() waits for recovery.lock and then fails the disk. */
	if (test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags))
		return;
	/* A host that was fenced or lost its ownership must not send requests over another path. */
	if (error == -EKEYREVOKED)
		set_bit(RNBDC_DISK_REVOKED, &disk->flags);
	if (error == -EUCLEAN)
		set_bit(RNBDC_DISK_DATA_LOST, &disk->flags);
	if (error == -EKEYREVOKED || error == -EUCLEAN)
		rnbdc_disk_give_up(disk);
	else
		rnbdc_disk_check_time(disk);
}

static void rnbdc_check_disks(struct rnbdc_session *sess, int error)
{
	struct rnbdc_disk *disk = NULL;

	while ((disk = rnbdc_next_disk(sess, disk)))
		rnbdc_check_disk(disk, error);
}

/* Record for all disks that the target is busy: it can still execute their held requests. */
static void rnbdc_note_busy(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk;

	list_for_each_entry(disk, &sess->disks, entry)
		disk->busy_at = jiffies;
}

static void rnbdc_recover(struct rnbdc_session *sess)
{
	struct rnbdc_errmsg errmsg = { };
	int ret;

	/* The first run after a loss tears the old connection down. */
	if (!sess->recovery.attempt && sess->conn.dev) {
		rnbdc_session_set_error(sess, NULL);
		rnbdc_teardown_connection(sess);
	}
	rnbdc_check_disks(sess, 0);
	/* No disk needs the session: end the attempts. A new attach creates another session. */
	if (list_empty(&sess->disks) || rnbdc_session_ending(sess)) {
		rnbdc_free_kept(sess);
		return;
	}
	ret = rnbdc_attempt(sess, &errmsg);
	if (!ret)
		return;
	if (ret == -EBUSY)
		rnbdc_note_busy(sess);
	if (!errmsg.text[0])
		rnbdc_errmsg_set(&errmsg, "no memory");
	rnbdc_session_set_error(sess, errmsg.text);
	pr_debug("%s: attempt %u: %s\n", sess->opt.addr, sess->recovery.attempt, errmsg.text);
	rnbdc_check_disks(sess, ret);
	if (rnbdc_session_ending(sess)) {
		rnbdc_free_kept(sess);
		return;
	}
	sess->recovery.next_try = jiffies +
		rnbdc_retry_pause(sess->recovery.attempt, ret,
				  max(sess->login.retry_ms, sess->queues[0]->retry_ms),
				  sess->queues[0]->timeouts);
	queue_delayed_work(rnbdc_wq, &sess->recovery.recover_work,
			   sess->recovery.next_try - jiffies);
}

static void rnbdc_recover_work(struct work_struct *work)
{
	struct rnbdc_session *sess = container_of(to_delayed_work(work),
						  struct rnbdc_session, recovery.recover_work);
	bool lost = READ_ONCE(sess->state) == RNBDC_SESS_LOST;
	unsigned int noio = memalloc_noio_save();

	/* further_work stays stopped until this work item makes the session live again. */
	if (lost)
		rnbdc_further_stop(sess);
	mutex_lock(&sess->recovery.lock);
	/* A loss after the first check has queued this work item again for another run. */
	if (lost && READ_ONCE(sess->state) == RNBDC_SESS_LOST)
		rnbdc_recover(sess);
	mutex_unlock(&sess->recovery.lock);
	memalloc_noio_restore(noio);
}

/*
 * Milliseconds to wait for replies that the target sent before its ATTACH_REPLY. If a lost
 * packet delays a reply for longer, the disk attaches again.
 */
#define RNBDC_ANSWERED_MS	2000

/*
 * Wait until no request of an older attachment of a disk is in flight. The target has
 * answered all these requests, but replies on queues other than 0 can still be in flight.
 */
static int rnbdc_wait_answered(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	unsigned long until = jiffies + msecs_to_jiffies(RNBDC_ANSWERED_MS);

	while (rnbdc_disk_in_flight(disk).all) {
		rnbdc_disk_poll(disk);
		if (READ_ONCE(disk->sess->state) != RNBDC_SESS_LIVE) {
			rnbdc_errmsg_set(errmsg, "connection lost");
			return -ECONNRESET;
		}
		if (time_after(jiffies, until)) {
			rnbdc_errmsg_set(errmsg,
					 "requests of the former attachment are not answered");
			return -EBUSY;
		}
		usleep_range(1000, 2000);
	}
	return 0;
}

/* Attach the export and check the offer. Drops recovery.lock while waiting for the target. */
static int rnbdc_attach_again(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess = disk->sess;
	int ret;

	ret = rnbdc_renew_index(disk, errmsg);
	if (ret)
		return ret;
	mutex_unlock(&sess->recovery.lock);
	ret = rnbdc_export_attach(disk, errmsg);
	if (!ret)
		ret = rnbdc_wait_answered(disk, errmsg);
	mutex_lock(&sess->recovery.lock);
	if (ret)
		return ret;
	/* Check after the wait: every reply has arrived, so all acknowledged writes are known. */
	ret = rnbdc_check_attach(disk, errmsg);
	if (!ret)
		return 0;
	/* Detach, so that the target does not keep an attachment that the disk does not use. */
	mutex_unlock(&sess->recovery.lock);
	rnbdc_export_detach(disk, ret == -EMEDIUMTYPE);
	mutex_lock(&sess->recovery.lock);
	return ret;
}

/* Suspend a disk whose attachment was granted. Drops recovery.lock while waiting. */
static int rnbdc_settle_granted(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	struct rnbdc_session *sess = disk->sess;
	u32 epoch = sess->epoch;

	rnbdc_disk_settle(disk);
	if (READ_ONCE(sess->state) == RNBDC_SESS_LIVE && sess->epoch == epoch)
		return 0;
	rnbdc_errmsg_set(errmsg, "connection lost");
	rnbdc_disk_wait(disk);
	return -ECONNRESET;
}

/* Attach the export of a disk again. */
static void rnbdc_disk_recover(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	struct rnbdc_errmsg errmsg = { };
	int ret;

	if (disk->state != RNBDC_RECONNECTING)
		return;
	rnbdc_disk_settle(disk);
	/* If the session is lost, recover_work suspends the disk and queues attach_work later. */
	if (READ_ONCE(sess->state) != RNBDC_SESS_LIVE || disk->state != RNBDC_RECONNECTING)
		return;
	rnbdc_disk_suspend(disk);
	rnbdc_check_disk(disk, 0);
	if (disk->state != RNBDC_RECONNECTING || rnbdc_disk_ending(disk))
		return;
	/* The attempt that made the connection is counted and includes the first ATTACH on it. */
	disk->attempt += disk->asked || !disk->attempt;
	disk->asked = true;
	rnbdc_disk_wait(disk);
	ret = rnbdc_attach_again(disk, &errmsg);
	if (!ret)
		ret = rnbdc_settle_granted(disk, &errmsg);
	if (!ret)
		ret = rnbdc_disk_go_live(disk, &errmsg);
	if (!ret)
		return;
	if (ret == -EBUSY)
		disk->busy_at = jiffies;
	rnbdc_disk_set_error(disk, errmsg.text);
	pr_debug("%s: attempt %u: %s\n", rnbdc_disk_name(disk), disk->attempt, errmsg.text);
	rnbdc_check_disk(disk, ret);
	if (READ_ONCE(sess->state) != RNBDC_SESS_LIVE || rnbdc_disk_ending(disk) ||
	    disk->state != RNBDC_RECONNECTING)
		return;
	/* retry_ms is 0 unless the target has answered BUSY or LIMIT. */
	disk->next_try = jiffies + rnbdc_retry_pause(disk->attempt, ret, disk->offer.retry_ms, 0);
	queue_delayed_work(rnbdc_attach_wq, &disk->attach_work, disk->next_try - jiffies);
}

/**
 * rnbdc_disk_failed - end the attachment of a disk if the disk has failed
 * @disk: disk in any state
 *
 * If all disks of the session have failed or are closing, the connection ends too. When the
 * attachment or the connection ends, the target drops the requests of the disk that it has not
 * yet submitted to its storage.
 *
 * Context: process context, may sleep; takes disk->ctl_lock and recovery.lock.
 */
void rnbdc_disk_failed(struct rnbdc_disk *disk)
{
	if (READ_ONCE(disk->state) != RNBDC_FAILED)
		return;
	rnbdc_export_release(disk);
	if (!rnbdc_session_end_unused(disk->sess))
		rnbdc_export_detach(disk, false);
}

/* Test whether a disk that waits for its turn or a connection must fail. Plan the next test. */
static void rnbdc_await(struct rnbdc_disk *disk)
{
	if (disk->state == RNBDC_RECONNECTING)
		rnbdc_check_disk(disk, 0);
	if (disk->state != RNBDC_RECONNECTING || rnbdc_disk_ending(disk))
		return;
	if (READ_ONCE(disk->sess->state) == RNBDC_SESS_LIVE)
		queue_delayed_work(rnbdc_attach_wq, &disk->attach_work, RNBDC_TURN_PERIOD);
	else
		rnbdc_arm_loss(disk);
}

static void rnbdc_attach_work(struct work_struct *work)
{
	struct rnbdc_disk *disk = container_of(to_delayed_work(work), struct rnbdc_disk,
					       attach_work);
	struct rnbdc_session *sess = disk->sess;
	unsigned int noio = memalloc_noio_save();
	bool turn = rnbdc_turn_take(disk);

	mutex_lock(&sess->recovery.lock);
	if (turn && READ_ONCE(sess->state) == RNBDC_SESS_LIVE)
		rnbdc_disk_recover(disk);
	else
		rnbdc_await(disk);
	mutex_unlock(&sess->recovery.lock);
	if (turn)
		rnbdc_turn_end(sess);
	rnbdc_disk_failed(disk);
	memalloc_noio_restore(noio);
}

/**
 * rnbdc_recover_init_disk - initialise attach_work of a disk
 * @disk: disk that is being allocated
 *
 * Context: any.
 */
void rnbdc_recover_init_disk(struct rnbdc_disk *disk)
{
	INIT_DELAYED_WORK(&disk->attach_work, rnbdc_attach_work);
}

/**
 * rnbdc_recover_attach - make a new disk live
 * @disk: disk with a gendisk, whose request to attach was granted
 * @errmsg: message for the user, set on error
 *
 * As soon as the disk is live, attach_work handles the end of the attachment, even before
 * this function returns.
 *
 * Context: process context, may sleep; takes recovery.lock.
 * Return: 0, or -ECONNRESET if the connection or the attachment has ended already, or the attach
 * was aborted.
 */
int rnbdc_recover_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	int ret;

	mutex_lock(&disk->sess->recovery.lock);
	ret = rnbdc_settle_granted(disk, errmsg) ?: rnbdc_disk_go_live(disk, errmsg);
	mutex_unlock(&disk->sess->recovery.lock);
	return ret;
}

/**
 * rnbdc_recover_start - make a session live over its first connection
 * @sess: session that is connected
 * @errmsg: message for the user, set on error
 *
 * As soon as the session is live, recover_work handles a loss of the connection, even before
 * this function returns.
 *
 * Context: process context, may sleep; takes recovery.lock.
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
	rnbdc_keepalive_init(sess);
	rnbdc_further_init(sess);
}

/**
 * rnbdc_recover_abort - end recovery and resizing of a disk before a detach
 * @disk: disk with RNBDC_DISK_DETACH set
 *
 * A live session stays live, so that the target can answer the requests of the disk. On
 * return the capacity of the gendisk no longer changes, and event_work has reported the
 * changes of state that were recorded so far.
 *
 * Context: process context, may sleep; takes recovery.lock.
 */
void rnbdc_recover_abort(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	unsigned long flags;

	wake_up(&sess->wait);
	spin_lock_irqsave(&sess->lock, flags);
	if (sess->state == RNBDC_SESS_LOST)
		mod_delayed_work(rnbdc_wq, &sess->recovery.recover_work, 0);
	else if (disk->state == RNBDC_RECONNECTING)
		mod_delayed_work(rnbdc_attach_wq, &disk->attach_work, 0);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* A later run of resize_work sees RNBDC_DISK_DETACH and does not change the gendisk. */
	cancel_delayed_work_sync(&disk->resize.resize_work);
	/* Wait for the present holder of recovery.lock; later holders see RNBDC_DISK_DETACH. */
	mutex_lock(&sess->recovery.lock);
	/* Fail the disk now, because recover_work can be busy with an attempt for other disks. */
	if (disk->state == RNBDC_RECONNECTING) {
		rnbdc_disk_suspend(disk);
		rnbdc_disk_check_time(disk);
	}
	mutex_unlock(&sess->recovery.lock);
	flush_work(&disk->log.event_work);
}

/**
 * rnbdc_recover_end - end the connection and all work that could make another connection
 * @sess: session in state RNBDC_SESS_CLOSED
 *
 * Context: process context, may sleep.
 */
void rnbdc_recover_end(struct rnbdc_session *sess)
{
	/* In this state only recover_work queues recover_work, and this call prevents that. */
	cancel_delayed_work_sync(&sess->recovery.recover_work);
	rnbdc_further_stop(sess);
	/* The pool is about to be freed: disks that are being removed must not access it. */
	rnbdc_close_queues(sess);
	rnbdc_keepalive_stop(sess);
	rnbdc_disconnect(sess);
	rnbdc_release_connection(sess);
}
