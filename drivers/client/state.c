// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of a session: transitions, reasons, errors and protocol errors.
 *
 * Operation: rnbdc_session_set_state() is the only function that changes a
 * state: it checks the transition, updates times and counters, emits a trace
 * event and queues event_work, which reports the change. A live session whose
 * connection fails becomes RNBDC_RECONNECTING and queues recover_work; while a
 * connection is being established, the thread that does so notices the failure
 * and cleans up. This file also holds the lists of disks and the work queues.
 *
 * Ownership: A recorded change belongs to the session, which a queued
 * event_work keeps with a reference of its own.
 *
 * Concurrency: sess->lock protects state, reasons and the queueing of
 * recover_work: a task that sees a state which needs no recovery and then
 * cancels the work knows that nothing queues it again. A state may change in
 * interrupt context; event_work reports the changes later, in order.
 *
 * Errors: The first reason for the end of a connection is kept. A transition
 * that is not possible is refused and changes nothing. Protocol errors are
 * counted per session and per kind.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "../core/names.h"
#include "../core/proto_err.h"
#include "../core/quirks.h"
#include "client.h"
#include "errmsg.h"
#include "session.h"
#include "state.h"
#include "trace.h"

/**
 * rnbdc_session_name - get the name of the session's disk for messages
 * @sess: session
 *
 * Context: any.
 * Return: the name, or "new disk" if there is no disk yet.
 */
const char *rnbdc_session_name(const struct rnbdc_session *sess)
{
	return sess->disk.gd ? sess->disk.gd->disk_name : "new disk";
}

/* The states that may follow each state. */
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
 * @sess: session on which the caller holds a reference
 *
 * The work item holds a reference of its own. This function never drops the last one,
 * because the caller's reference is still there.
 *
 * Context: any.
 */
void rnbdc_schedule_events(struct rnbdc_session *sess)
{
	kref_get(&sess->ref);
	if (!queue_work(rnbdc_event_wq, &sess->log.event_work))
		refcount_dec(&sess->ref.refcount);
}

/* Record a change of state for event_work to report. */
static void rnbdc_record_change(struct rnbdc_session *sess, enum rnbdc_state from)
{
	struct rnbdc_change *change = &sess->log.changes[sess->log.nr_changes % RNBDC_CHANGES];

	lockdep_assert_held(&sess->lock);

	/* A session without a disk is not visible to users. */
	if (!sess->disk.gd)
		return;
	*change = (struct rnbdc_change) {
		.from = from,
		.to = sess->state,
		.epoch = sess->epoch,
		.attempt = sess->recovery.attempt,
		.reason = sess->log.reason,
		.when_ns = sess->state_ns,
	};
	sess->log.nr_changes++;
	rnbdc_schedule_events(sess);
}

/* Change the state; only this function does. Returns false if that is not possible. */
static bool rnbdc_session_set_state(struct rnbdc_session *sess, enum rnbdc_state state)
{
	enum rnbdc_state old = sess->state;

	lockdep_assert_held(&sess->lock);

	if (!(rnbdc_state_next[old] & BIT(state)))
		return false;
	/* A connection that failed while it was established must not become live. */
	if (state == RNBDC_LIVE &&
	    (sess->recovery.broken || test_bit(RNBDC_DISK_DEACTIVATED, &sess->disk.flags)))
		return false;
	WRITE_ONCE(sess->state, state);
	sess->state_ns = ktime_get_ns();
	switch (state) {
	case RNBDC_LIVE:
		clear_bit(RNBDC_DISK_FAIL_IO, &sess->disk.flags);
		sess->recovery.live_at = jiffies;
		if (old == RNBDC_RECONNECTING)
			sess->stats.reconnects++;
		break;
	case RNBDC_RECONNECTING:
		sess->log.reason = sess->recovery.broken_reason;
		sess->stats.lost++;
		sess->recovery.lost_at = jiffies;
		sess->recovery.lossy = rnbd_quirks_lossy(sess->recovery.lossy,
							 sess->recovery.live_at);
		sess->recovery.attempt = 0;
		break;
	case RNBDC_FAILED:
		if (old == RNBDC_LIVE) {
			sess->log.reason = RNBDC_DEACTIVATED_REASON;
			sess->recovery.attempt = 0;
		}
		fallthrough;
	case RNBDC_CLOSING:
		set_bit(RNBDC_DISK_FAIL_IO, &sess->disk.flags);
		break;
	default:
		break;
	}
	trace_rnbdc_state(sess, old, state);
	rnbdc_record_change(sess, old);
	return true;
}

/**
 * rnbdc_session_set_error - record why an attempt to connect failed
 * @sess: session
 * @text: error message; copied
 *
 * Context: any; takes sess->lock.
 */
void rnbdc_session_set_error(struct rnbdc_session *sess, const char *text)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	strscpy(sess->log.last_error, text);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbdc_session_last_error - get the reason why the last attempt to connect failed
 * @sess: session
 * @text: result, RNBDC_ERRMSG_SIZE bytes; empty if no attempt failed
 *
 * Context: any; takes sess->lock.
 */
void rnbdc_session_last_error(struct rnbdc_session *sess, char *text)
{
	unsigned long flags;

	spin_lock_irqsave(&sess->lock, flags);
	memcpy(text, sess->log.last_error, RNBDC_ERRMSG_SIZE);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbdc_session_advance - change the state of a session and queue its report
 * @sess: session
 * @state: new state
 *
 * Context: any; takes sess->lock.
 * Return: true, or false if the transition is not possible and nothing was changed.
 */
bool rnbdc_session_advance(struct rnbdc_session *sess, enum rnbdc_state state)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&sess->lock, flags);
	ok = rnbdc_session_set_state(sess, state);
	spin_unlock_irqrestore(&sess->lock, flags);
	return ok;
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
	if (!sess->recovery.broken)
		sess->recovery.broken_reason = reason;
	sess->recovery.broken = true;
	/* rnbdc_recover_deactivate() tears the connection down itself. */
	if (sess->state == RNBDC_LIVE &&
	    !test_bit(RNBDC_DISK_DEACTIVATED, &sess->disk.flags) &&
	    rnbdc_session_set_state(sess, RNBDC_RECONNECTING))
		mod_delayed_work(rnbdc_wq, &sess->recovery.recover_work, 0);
	spin_unlock_irqrestore(&sess->lock, flags);
}

/**
 * rnbdc_session_ending - test whether attempts to connect must end
 * @sess: session
 *
 * Context: any.
 * Return: true if the disk is being detached or is deactivated, or its attach aborted.
 */
bool rnbdc_session_ending(const struct rnbdc_session *sess)
{
	return test_bit(RNBDC_DISK_DETACH, &sess->disk.flags) ||
	       test_bit(RNBDC_DISK_DEACTIVATED, &sess->disk.flags) ||
	       test_bit(RNBDC_SESS_ABORTED, &sess->flags);
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
	pr_warn_ratelimited("%s: the target at %s broke the protocol: %s\n",
			    rnbdc_session_name(sess), sess->opt.addr,
			    rnbd_proto_err_text(perr));
}

/* Recovery and resizing, which may block for seconds. */
struct workqueue_struct *rnbdc_wq;
/* Keep-alive and fast_io_fail, which recovery must not delay. */
struct workqueue_struct *rnbdc_timer_wq;
/* Reports, which may wait for memory and thus for I/O of a disk. */
struct workqueue_struct *rnbdc_event_wq;
LIST_HEAD(rnbdc_disks);
LIST_HEAD(rnbdc_disks_named);
DEFINE_MUTEX(rnbdc_disks_lock);	/* both lists */
u8 rnbdc_boot_id[UUID_SIZE];
