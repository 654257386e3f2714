// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of sessions and disks: transitions, reasons, errors and protocol errors.
 *
 * Operation: The state of a session shows whether it is connected. The state of
 * a disk is visible to users. Only rnbdc_session_set_state() and
 * rnbdc_disk_set_state() change the states: they check the transition and update
 * times and counters. rnbdc_disk_set_state() also emits a trace event and queues
 * event_work, which reports the change. When a connection of a live session
 * fails, the session becomes RNBDC_SESS_LOST, its live disks become
 * RNBDC_RECONNECTING unless they are deactivated, and recover_work is queued. When
 * a connection fails while it is being established, the thread that establishes it
 * notices the failure and cleans up. This file also defines the lists of disks and
 * the work queues.
 *
 * Ownership: The record of a change of state is part of its disk. A queued
 * event_work holds a reference on the disk.
 *
 * Concurrency: sess->lock protects the states of a session and of its disks, the
 * reasons, and the queueing of recover_work on a loss. So after a session has been
 * closed, only recover_work queues recover_work, and recover_work does not run again
 * once it is cancelled. A state can change in interrupt context; event_work reports
 * the changes later, in order.
 *
 * Errors: If a connection fails for several reasons, the first is kept. An invalid
 * transition is refused and changes nothing. Protocol errors are counted per
 * session and per kind.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/quirks.h"
#include "client.h"
#include "disk.h"
#include "errmsg.h"
#include "session.h"
#include "state.h"
#include "trace.h"

/**
 * rnbdc_disk_name - get the name of a disk for messages
 * @disk: disk
 *
 * Context: any.
 * Return: the name, or "new disk" while the disk has no gendisk.
 */
const char *rnbdc_disk_name(const struct rnbdc_disk *disk)
{
	return disk->gd ? disk->gd->disk_name : "new disk";
}

/* Valid next states of each state of a session */
static const u8 rnbdc_session_next[] = {
	[RNBDC_SESS_NEW]	= BIT(RNBDC_SESS_LIVE) | BIT(RNBDC_SESS_CLOSED),
	[RNBDC_SESS_LIVE]	= BIT(RNBDC_SESS_LOST) | BIT(RNBDC_SESS_CLOSED),
	[RNBDC_SESS_LOST]	= BIT(RNBDC_SESS_LIVE) | BIT(RNBDC_SESS_CLOSED),
	[RNBDC_SESS_CLOSED]	= 0,
};

/* Valid next states of each state of a disk */
static const u8 rnbdc_state_next[] = {
	[RNBDC_CONNECTING]	= BIT(RNBDC_LIVE) | BIT(RNBDC_CLOSING),
	[RNBDC_LIVE]		= BIT(RNBDC_RECONNECTING) | BIT(RNBDC_FAILED) |
				  BIT(RNBDC_CLOSING),
	[RNBDC_RECONNECTING]	= BIT(RNBDC_LIVE) | BIT(RNBDC_FAILED) |
				  BIT(RNBDC_CLOSING),
	[RNBDC_FAILED]		= BIT(RNBDC_CLOSING),
	[RNBDC_CLOSING]		= 0,
};

/**
 * rnbdc_schedule_events - queue event_work
 * @disk: disk that has a reference during the call: the caller holds one, or holds the lock of the
 *	session or recovery.lock while the disk is in rnbdc_session.disks
 *
 * The queued work item holds a reference on the disk. If the work item was queued already,
 * refcount_dec() drops the surplus reference, which is not the last one.
 *
 * Context: any.
 */
void rnbdc_schedule_events(struct rnbdc_disk *disk)
{
	kref_get(&disk->ref);
	if (!queue_work(rnbdc_event_wq, &disk->log.event_work))
		refcount_dec(&disk->ref.refcount);
}

/* Record a change of state for event_work to report. */
static void rnbdc_record_change(struct rnbdc_disk *disk, enum rnbdc_state from)
{
	const struct rnbdc_session *sess = disk->sess;
	struct rnbdc_log *log = &disk->log;

	lockdep_assert_held(&sess->lock);

	/* A disk without a gendisk is not visible to users. */
	if (!disk->gd)
		return;
	log->changes[log->nr_changes++ % RNBDC_CHANGES] = (struct rnbdc_change) {
		.from = from,
		.to = disk->state,
		.epoch = sess->epoch,
		.attempt = disk->attempt,
		.reason = log->reason,
		.when_ns = disk->state_ns,
	};
	rnbdc_schedule_events(disk);
}

/* Change the state of a disk; no other function does. Returns false if the change is invalid. */
static bool rnbdc_disk_set_state(struct rnbdc_disk *disk, enum rnbdc_state state)
{
	enum rnbdc_state old = disk->state;

	lockdep_assert_held(&disk->sess->lock);

	if (!(rnbdc_state_next[old] & BIT(state)))
		return false;
	WRITE_ONCE(disk->state, state);
	disk->state_ns = ktime_get_ns();
	switch (state) {
	case RNBDC_LIVE:
		clear_bit(RNBDC_DISK_FAIL_IO, &disk->flags);
		break;
	case RNBDC_RECONNECTING:
		disk->lost_at = jiffies;
		disk->busy_at = jiffies;
		disk->attempt = 0;
		disk->asked = false;
		clear_bit(RNBDC_DISK_OVERDUE, &disk->flags);
		break;
	case RNBDC_FAILED:
		if (old == RNBDC_LIVE) {
			disk->log.reason = RNBDC_DEACTIVATED_REASON;
			disk->attempt = 0;
		}
		fallthrough;
	case RNBDC_CLOSING:
		set_bit(RNBDC_DISK_FAIL_IO, &disk->flags);
		break;
	default:
		break;
	}
	trace_rnbdc_state(disk, old, state);
	rnbdc_record_change(disk, old);
	return true;
}

/**
 * rnbdc_disk_advance - change the state of a disk and queue a report of the change
 * @disk: disk
 * @state: new state
 *
 * Context: any; takes the lock of the session.
 * Return: true, or false if the transition is not valid and nothing was changed.
 */
bool rnbdc_disk_advance(struct rnbdc_disk *disk, enum rnbdc_state state)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&disk->sess->lock, flags);
	ok = rnbdc_disk_set_state(disk, state);
	spin_unlock_irqrestore(&disk->sess->lock, flags);
	return ok;
}

/*
 * Let a live disk reconnect after the loss of its attachment. Returns false if the disk is not
 * live or is deactivated.
 */
static bool rnbdc_disk_reconnects(struct rnbdc_disk *disk, const char *reason)
{
	lockdep_assert_held(&disk->sess->lock);

	if (disk->state != RNBDC_LIVE || test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags))
		return false;
	disk->log.reason = reason;
	return rnbdc_disk_set_state(disk, RNBDC_RECONNECTING);
}

/**
 * rnbdc_disk_closed - make a live disk attach again after the end of its attachment
 * @disk: disk whose attachment the target has closed or the client abandons
 * @reason: constant text
 *
 * Context: any; sess->lock held.
 */
void rnbdc_disk_closed(struct rnbdc_disk *disk, const char *reason)
{
	if (rnbdc_disk_reconnects(disk, reason))
		mod_delayed_work(rnbdc_attach_wq, &disk->attach_work, 0);
}

/**
 * rnbdc_next_disk - get the next disk of a session that has a gendisk
 * @sess: session
 * @disk: disk of the session, or NULL
 *
 * Context: recovery.lock held.
 * Return: the disk after @disk, or the first disk if @disk is NULL; NULL at the end.
 */
struct rnbdc_disk *rnbdc_next_disk(struct rnbdc_session *sess, struct rnbdc_disk *disk)
{
	lockdep_assert_held(&sess->recovery.lock);

	disk = list_prepare_entry(disk, &sess->disks, entry);
	list_for_each_entry_continue(disk, &sess->disks, entry)
		if (disk->gd)
			return disk;
	return NULL;
}

/**
 * rnbdc_disk_ending - test whether a disk no longer needs a connection
 * @disk: disk
 *
 * Context: any.
 * Return: true if the disk is being detached or is deactivated, or its attach was aborted.
 */
bool rnbdc_disk_ending(const struct rnbdc_disk *disk)
{
	return test_bit(RNBDC_DISK_DETACH, &disk->flags) ||
	       test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags) ||
	       test_bit(RNBDC_DISK_ABORTED, &disk->flags);
}

/* Test whether a session has disks and none of them needs a connection. */
static bool rnbdc_disks_ending(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk;

	lockdep_assert_held(&sess->lock);

	/* The loop is short even with thousands of disks: usually one of the first ends it. */
	list_for_each_entry(disk, &sess->disks, entry)
		if (!rnbdc_disk_ending(disk) && disk->state != RNBDC_FAILED)
			return false;
	return !list_empty(&sess->disks);
}

/* Test whether a session has disks and each of them has failed or is closing. */
static bool rnbdc_disks_unused(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk;

	lockdep_assert_held(&sess->lock);

	list_for_each_entry(disk, &sess->disks, entry)
		if (disk->state != RNBDC_FAILED && disk->state != RNBDC_CLOSING)
			return false;
	return !list_empty(&sess->disks);
}

/* Record the loss of a connection. Live disks reconnect unless they are deactivated. */
static void rnbdc_session_lost(struct rnbdc_session *sess)
{
	struct rnbdc_recovery *recovery = &sess->recovery;
	struct rnbdc_disk *disk;

	if (!rnbdc_disks_unused(sess))
		sess->stats.connections_lost++;
	recovery->lossy = rnbd_quirks_lossy(recovery->lossy, recovery->live_at);
	recovery->attempt = 0;
	list_for_each_entry(disk, &sess->disks, entry) {
		/* Offers and handles of the lost connection are no longer valid. */
		disk->offer.status = RNBD_ST_CLOSED;
		disk->offer.handle.generation = 0;
		disk->granted.generation = 0;
		rnbdc_disk_reconnects(disk, recovery->broken_reason);
	}
}

/* Change the state of a session; no other function does. Returns false for an invalid change. */
static bool rnbdc_session_set_state(struct rnbdc_session *sess,
				    enum rnbdc_session_state state)
{
	enum rnbdc_session_state old = sess->state;

	lockdep_assert_held(&sess->lock);

	if (!(rnbdc_session_next[old] & BIT(state)))
		return false;
	WRITE_ONCE(sess->state, state);
	if (state == RNBDC_SESS_LOST) {
		rnbdc_session_lost(sess);
	} else if (state == RNBDC_SESS_LIVE) {
		sess->recovery.live_at = jiffies;
		if (old == RNBDC_SESS_LOST)
			sess->stats.reconnects++;
	}
	return true;
}

/**
 * rnbdc_session_set_error - record the error of a failed attempt to connect
 * @sess: session; all its disks that reconnect show the error
 * @text: error message, which is copied; if NULL, each disk shows the reason of its loss
 *
 * Context: any; takes sess->lock.
 */
void rnbdc_session_set_error(struct rnbdc_session *sess, const char *text)
{
	struct rnbdc_disk *disk;
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	list_for_each_entry(disk, &sess->disks, entry)
		if (disk->state == RNBDC_RECONNECTING)
			strscpy(disk->log.last_error, text ?: disk->log.reason);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbdc_disk_set_error - record an error of a disk
 * @disk: disk
 * @text: error message, which is copied
 *
 * Context: any; takes the lock of the session.
 */
void rnbdc_disk_set_error(struct rnbdc_disk *disk, const char *text)
{
	unsigned long flags;

	spin_lock_irqsave(&disk->sess->lock, flags);
	strscpy(disk->log.last_error, text);
	spin_unlock_irqrestore(&disk->sess->lock, flags);
}

/**
 * rnbdc_disk_last_error - get the latest error of a disk, see rnbdc_log.last_error
 * @disk: disk
 * @text: result, RNBDC_ERRMSG_SIZE bytes; empty if there was no error
 *
 * Context: any; takes the lock of the session.
 */
void rnbdc_disk_last_error(struct rnbdc_disk *disk, char *text)
{
	unsigned long flags;

	spin_lock_irqsave(&disk->sess->lock, flags);
	memcpy(text, disk->log.last_error, RNBDC_ERRMSG_SIZE);
	spin_unlock_irqrestore(&disk->sess->lock, flags);
}

/**
 * rnbdc_session_live - make a connected session live
 * @sess: session
 *
 * Context: any; takes sess->lock.
 * Return: true, or false if the connection has already failed.
 */
bool rnbdc_session_live(struct rnbdc_session *sess)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&sess->lock, flags);
	/* A connection that failed while it was being established must not become live. */
	ok = !sess->recovery.broken && rnbdc_session_set_state(sess, RNBDC_SESS_LIVE);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* Wake tasks that attach disks over this session: they wait for its connection. */
	if (ok)
		wake_up_all(&sess->wait);
	return ok;
}

/**
 * rnbdc_disk_live - make an attached disk live
 * @disk: disk whose request to attach was granted
 *
 * Context: any; takes the lock of the session.
 * Return: true, or false if the connection or the attachment has ended already, or
 * rnbdc_disk_ending() is true.
 */
bool rnbdc_disk_live(struct rnbdc_disk *disk)
{
	struct rnbdc_session *sess = disk->sess;
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&sess->lock, flags);
	ok = sess->state == RNBDC_SESS_LIVE && disk->offer.status == RNBD_ST_OK &&
	     !rnbdc_disk_ending(disk) && rnbdc_disk_set_state(disk, RNBDC_LIVE);
	spin_unlock_irqrestore(&sess->lock, flags);
	return ok;
}

/**
 * rnbdc_session_close - close a session, after which it is never connected again
 * @sess: session
 *
 * Context: any; takes sess->lock.
 */
void rnbdc_session_close(struct rnbdc_session *sess)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	rnbdc_session_set_state(sess, RNBDC_SESS_CLOSED);
	spin_unlock_irqrestore(&sess->lock, flags);
}

static void rnbdc_session_break(struct rnbdc_session *sess, const char *reason)
{
	lockdep_assert_held(&sess->lock);

	if (!sess->recovery.broken)
		sess->recovery.broken_reason = reason;
	sess->recovery.broken = true;
	if (sess->state == RNBDC_SESS_LIVE && rnbdc_session_set_state(sess, RNBDC_SESS_LOST))
		mod_delayed_work(rnbdc_wq, &sess->recovery.recover_work, 0);
}

/**
 * rnbdc_session_fail - mark the connection of a session as unusable
 * @sess: session
 * @reason: constant text; ignored if the connection has failed already
 *
 * A live session begins to recover. If a connection is being established, the thread
 * that establishes it notices the failure and cleans up.
 *
 * Context: any; takes sess->lock.
 */
void rnbdc_session_fail(struct rnbdc_session *sess, const char *reason)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	rnbdc_session_break(sess, reason);
	spin_unlock_irqrestore(&sess->lock, flags);
	wake_up(&sess->wait);
}

/**
 * rnbdc_session_end_unused - end the connection of a session if no disk can use it
 * @sess: session
 *
 * Context: any; takes sess->lock.
 * Return: true if the session has disks and all of them have failed or are closing.
 */
bool rnbdc_session_end_unused(struct rnbdc_session *sess)
{
	unsigned long flags;
	bool unused;

	spin_lock_irqsave(&sess->lock, flags);
	unused = rnbdc_disks_unused(sess);
	if (unused && sess->state == RNBDC_SESS_LIVE)
		rnbdc_session_break(sess, "no disk needs the connection");
	spin_unlock_irqrestore(&sess->lock, flags);
	if (unused)
		wake_up(&sess->wait);
	return unused;
}

/**
 * rnbdc_next_try_ms - get the time until the next attempt to connect or to attach
 * @disk: disk
 *
 * Context: any.
 * Return: milliseconds; 0 if the disk does not reconnect or an attempt is due.
 */
u32 rnbdc_next_try_ms(const struct rnbdc_disk *disk)
{
	const struct rnbdc_session *sess = disk->sess;
	unsigned long next = READ_ONCE(sess->state) == RNBDC_SESS_LIVE ?
			     READ_ONCE(disk->next_try) : READ_ONCE(sess->recovery.next_try);
	long left = (long)(next - jiffies);

	if (READ_ONCE(disk->state) != RNBDC_RECONNECTING || left < 0)
		return 0;
	return jiffies_to_msecs(left);
}

/**
 * rnbdc_session_ending - test whether attempts to connect must end
 * @sess: session
 *
 * Context: any; takes sess->lock.
 * Return: true if the discovery was aborted, the session is closed, or the session has disks
 * and none of them needs a connection.
 */
bool rnbdc_session_ending(struct rnbdc_session *sess)
{
	unsigned long flags;
	bool ending;

	if (test_bit(RNBDC_SESS_ABORTED, &sess->flags))
		return true;
	spin_lock_irqsave(&sess->lock, flags);
	/* Test the state too: a closed session can have no disk, e.g. after a failed attach. */
	ending = sess->state == RNBDC_SESS_CLOSED || rnbdc_disks_ending(sess);
	spin_unlock_irqrestore(&sess->lock, flags);
	return ending;
}

atomic64_t rnbdc_proto_err_counts[RNBD_PERR_KINDS];

/**
 * rnbdc_count_proto_err - count and log a protocol error of the target
 * @sess: session of the target
 * @perr: kind of the error
 *
 * Context: any; the caller ends the connection afterwards.
 */
void rnbdc_count_proto_err(struct rnbdc_session *sess, enum rnbd_proto_err perr)
{
	atomic64_inc(&rnbdc_proto_err_counts[perr]);
	atomic64_inc(&sess->stats.proto_errs);
	pr_warn_ratelimited("%s: protocol error of the target: %s\n", sess->opt.addr,
			    rnbd_proto_err_text(perr));
}

/* Runs recovery, which can block for seconds */
struct workqueue_struct *rnbdc_wq;
/* Attaches disks again, resizes disks, makes further connections: these can wait for the target */
struct workqueue_struct *rnbdc_attach_wq;
/*
 * Runs keep-alives and fast_io_fail, starts hardware queues, and resizes pools; recovery must not
 * delay these
 */
struct workqueue_struct *rnbdc_timer_wq;
/* Runs reports of events, which can wait for memory and thus for I/O of a disk */
struct workqueue_struct *rnbdc_event_wq;
LIST_HEAD(rnbdc_disks);
LIST_HEAD(rnbdc_disks_named);
DEFINE_MUTEX(rnbdc_disks_lock);	/* protects the two lists of disks and the list of sessions */
u8 rnbdc_boot_id[UUID_SIZE];
