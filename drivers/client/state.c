// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of sessions and disks: transitions, reasons, errors and protocol errors.
 *
 * Operation: The state of a session is that of its connection, the state of a
 * disk is what users see. Only the two functions *_set_state() change them: they
 * check the transition and update times and counters. That of a disk also emits a
 * trace event and queues event_work, which reports the change. When the connection
 * of a live session fails, the session becomes RNBDC_SESS_LOST, its live disks
 * RNBDC_RECONNECTING, and recover_work is queued; while a connection is being
 * established, the thread that does so notices the failure and cleans up. This
 * file also holds the lists of disks and the work queues.
 *
 * Ownership: A recorded change belongs to the disk, which a queued event_work
 * keeps with a reference of its own.
 *
 * Concurrency: sess->lock protects the states of a session and of its disks,
 * reasons and the queueing of recover_work: a task that sees a state which needs
 * no recovery and then cancels the work knows that nothing queues it again. A
 * state may change in interrupt context; event_work reports the changes later, in
 * order.
 *
 * Errors: The first reason for the end of a connection is kept. A transition
 * that is not possible is refused and changes nothing. Protocol errors are
 * counted per session and per kind.
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
 * Return: the name, or "new disk" if it has none yet.
 */
const char *rnbdc_disk_name(const struct rnbdc_disk *disk)
{
	return disk->gd ? disk->gd->disk_name : "new disk";
}

/* The states of a session that may follow each state. */
static const u8 rnbdc_session_next[] = {
	[RNBDC_SESS_NEW]	= BIT(RNBDC_SESS_LIVE) | BIT(RNBDC_SESS_CLOSED),
	[RNBDC_SESS_LIVE]	= BIT(RNBDC_SESS_LOST) | BIT(RNBDC_SESS_CLOSED),
	[RNBDC_SESS_LOST]	= BIT(RNBDC_SESS_LIVE) | BIT(RNBDC_SESS_CLOSED),
	[RNBDC_SESS_CLOSED]	= 0,
};

/* The states of a disk that may follow each state. */
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
 * @disk: disk on which the caller holds a reference
 *
 * The work item holds a reference of its own. This function never drops the last one,
 * because the caller's reference is still there.
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

	/* A disk without a name is not visible to users. */
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

/* Change the state of a disk; only this function does. False: that is not possible. */
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
 * rnbdc_disk_advance - change the state of a disk and queue its report
 * @disk: disk
 * @state: new state
 *
 * Context: any; takes the lock of the session.
 * Return: true, or false if the transition is not possible and nothing was changed.
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

/* A live disk has lost its attachment. */
static bool rnbdc_disk_reconnects(struct rnbdc_disk *disk, const char *reason)
{
	lockdep_assert_held(&disk->sess->lock);

	if (disk->state != RNBDC_LIVE || test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags))
		return false;
	disk->log.reason = reason;
	return rnbdc_disk_set_state(disk, RNBDC_RECONNECTING);
}

/**
 * rnbdc_disk_closed - note that the target has closed the attachment of a disk
 * @disk: disk
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
 * Return: the one after @disk, or the first one; NULL if there is none.
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
 * rnbdc_disk_ending - test whether a disk needs no connection any more
 * @disk: disk
 *
 * Context: any.
 * Return: true if the disk is being detached or is deactivated, or its attach aborted.
 */
bool rnbdc_disk_ending(const struct rnbdc_disk *disk)
{
	return test_bit(RNBDC_DISK_DETACH, &disk->flags) ||
	       test_bit(RNBDC_DISK_DEACTIVATED, &disk->flags) ||
	       test_bit(RNBDC_DISK_ABORTED, &disk->flags);
}

/* Does no disk of a session need a connection? A discovery has no disk. */
static bool rnbdc_disks_ending(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk;

	lockdep_assert_held(&sess->lock);

	/* There may be thousands, but most need one. */
	list_for_each_entry(disk, &sess->disks, entry)
		if (!rnbdc_disk_ending(disk) && disk->state != RNBDC_FAILED)
			return false;
	return !list_empty(&sess->disks);
}

/* Has each disk of a session failed or ended? */
static bool rnbdc_disks_unused(struct rnbdc_session *sess)
{
	struct rnbdc_disk *disk;

	lockdep_assert_held(&sess->lock);

	list_for_each_entry(disk, &sess->disks, entry)
		if (disk->state != RNBDC_FAILED && disk->state != RNBDC_CLOSING)
			return false;
	return !list_empty(&sess->disks);
}

/* Note a loss; the live disks reconnect, unless they are deactivated. */
static void rnbdc_session_lost(struct rnbdc_session *sess)
{
	struct rnbdc_recovery *recovery = &sess->recovery;
	struct rnbdc_disk *disk;

	if (!rnbdc_disks_unused(sess))
		sess->stats.lost++;
	recovery->lossy = rnbd_quirks_lossy(recovery->lossy, recovery->live_at);
	recovery->attempt = 0;
	list_for_each_entry(disk, &sess->disks, entry) {
		/* What the target offered on this connection is void, with its handle. */
		disk->offer.status = RNBD_ST_CLOSED;
		disk->offer.handle.generation = 0;
		disk->granted.generation = 0;
		rnbdc_disk_reconnects(disk, recovery->broken_reason);
	}
}

/* Change the state of a session; only this function does. False: that is not possible. */
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
 * rnbdc_session_set_error - record why an attempt to connect failed
 * @sess: session; all its disks that reconnect show the error
 * @text: error message; copied. NULL means the reason of the loss
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
 * rnbdc_disk_set_error - record why a disk fails
 * @disk: disk
 * @text: error message; copied
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
 * rnbdc_disk_last_error - get the reason why the last attempt to connect failed
 * @disk: disk
 * @text: result, RNBDC_ERRMSG_SIZE bytes; empty if no attempt failed
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
 * rnbdc_session_live - note that a session is connected
 * @sess: session
 *
 * Context: any; takes sess->lock.
 * Return: true, or false if the connection failed meanwhile.
 */
bool rnbdc_session_live(struct rnbdc_session *sess)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&sess->lock, flags);
	/* A connection that failed while it was established must not become live. */
	ok = !sess->recovery.broken && rnbdc_session_set_state(sess, RNBDC_SESS_LIVE);
	spin_unlock_irqrestore(&sess->lock, flags);
	/* Those that join the session wait for that. */
	if (ok)
		wake_up_all(&sess->wait);
	return ok;
}

/**
 * rnbdc_disk_live - note that a disk is attached
 * @disk: disk whose request to attach was granted
 *
 * Context: any; takes the lock of the session.
 * Return: true, or false if the connection or the attachment has ended already, or the
 * disk is deactivated.
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
 * rnbdc_session_close - note that a session makes no further connection
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
 * @reason: constant text; only the first reason of a connection is kept
 *
 * A live session begins to recover. While a connection is being established, the
 * thread that does so notices the failure and cleans up.
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
 * Return: true if all disks have failed or are closing.
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
 * Return: milliseconds, 0 unless the disk reconnects and a time is known.
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
 * Return: true if the discovery was aborted, the session is closed, or no disk needs a
 * connection.
 */
bool rnbdc_session_ending(struct rnbdc_session *sess)
{
	unsigned long flags;
	bool ending;

	if (test_bit(RNBDC_SESS_ABORTED, &sess->flags))
		return true;
	spin_lock_irqsave(&sess->lock, flags);
	/* The last one to leave may have had no disk yet. */
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
	pr_warn_ratelimited("the target at %s broke the protocol: %s\n", sess->opt.addr,
			    rnbd_proto_err_text(perr));
}

/* Recovery, which may block for seconds. */
struct workqueue_struct *rnbdc_wq;
/* Attaching, resizing and further connections, which wait for the target as well. */
struct workqueue_struct *rnbdc_attach_wq;
/* Keep-alive and fast_io_fail, which recovery must not delay. */
struct workqueue_struct *rnbdc_timer_wq;
/* Reports, which may wait for memory and thus for I/O of a disk. */
struct workqueue_struct *rnbdc_event_wq;
LIST_HEAD(rnbdc_disks);
LIST_HEAD(rnbdc_disks_named);
DEFINE_MUTEX(rnbdc_disks_lock);	/* both lists */
u8 rnbdc_boot_id[UUID_SIZE];
