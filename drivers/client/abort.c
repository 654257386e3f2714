// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to end an attach or a discovery early.
 *
 * Operation: The thread that executes an attach or a discovery binds its session, and for
 * an attach its disk, to a struct rnbdc_abort. The thread unbinds them at the end of the
 * command: for a successful attach, just before it adds the disk to the list of disks. For an
 * attach, an abort request sets RNBDC_DISK_ABORTED and, if the bound disk is live, makes the
 * I/O of the disk fail. For a discovery, an abort request sets RNBDC_SESS_ABORTED and ends
 * the connection of the bound session. These flags end the waits and the recovery attempts of
 * the disk or session. The thread then undoes its work.
 *
 * Ownership: The command that attaches or discovers owns its struct rnbdc_abort. The command
 * unbinds the session before it drops its reference to the session.
 *
 * Concurrency: abort->lock orders an abort request and rnbdc_abort_unbind(). If the request
 * comes first, rnbdc_abort_unbind() returns true. A request that comes after
 * rnbdc_abort_unbind() affects neither the session nor the disk.
 *
 * Errors: None.
 */

#include <linux/bitops.h>
#include <linux/wait.h>

#include "abort.h"
#include "disk.h"
#include "session.h"
#include "state.h"

/* End the bound disk or, without one, the bound session. The caller holds abort->lock. */
static void rnbdc_abort_bound(struct rnbdc_abort *abort)
{
	static const char reason[] = "interrupted";
	struct rnbdc_session *sess = abort->sess;
	unsigned long flags;

	if (abort->disk) {
		set_bit(RNBDC_DISK_ABORTED, &abort->disk->flags);
		/* Fail the I/O of this disk only: the session possibly serves other disks. */
		spin_lock_irqsave(&sess->lock, flags);
		rnbdc_disk_closed(abort->disk, reason);
		spin_unlock_irqrestore(&sess->lock, flags);
	} else {
		set_bit(RNBDC_SESS_ABORTED, &sess->flags);
		rnbdc_session_fail(sess, reason);
	}
	wake_up_all(&sess->wait);
}

/**
 * rnbdc_abort_init - initialise the abort state of a command: no abort is requested
 * @abort: abort state
 *
 * Context: any.
 */
void rnbdc_abort_init(struct rnbdc_abort *abort)
{
	spin_lock_init(&abort->lock);
	abort->requested = false;
	abort->sess = NULL;
	abort->disk = NULL;
}

/**
 * rnbdc_abort_request - request the early end of a command
 * @abort: abort state of a command that runs or will run
 *
 * Context: process context; does not wait for the command.
 */
void rnbdc_abort_request(struct rnbdc_abort *abort)
{
	spin_lock(&abort->lock);
	abort->requested = true;
	if (abort->sess)
		rnbdc_abort_bound(abort);
	spin_unlock(&abort->lock);
}

/**
 * rnbdc_abort_requested - test whether the early end of a command was requested
 * @abort: abort state of the command
 *
 * Context: any.
 * Return: true if the command must end.
 */
bool rnbdc_abort_requested(const struct rnbdc_abort *abort)
{
	return READ_ONCE(abort->requested);
}

/**
 * rnbdc_abort_bind - bind the session and the disk that an abort request ends
 * @abort: abort state; if an abort was already requested, it takes effect now
 * @sess: session that the command uses
 * @disk: disk that is being attached; NULL for a discovery
 *
 * Context: process context.
 */
void rnbdc_abort_bind(struct rnbdc_abort *abort, struct rnbdc_session *sess,
		      struct rnbdc_disk *disk)
{
	spin_lock(&abort->lock);
	abort->sess = sess;
	abort->disk = disk;
	if (abort->requested)
		rnbdc_abort_bound(abort);
	spin_unlock(&abort->lock);
}

/**
 * rnbdc_abort_unbind - unbind session and disk, so that later abort requests do not affect them
 * @abort: abort state of the command
 *
 * Context: process context.
 * Return: true if an abort was requested, so that the command must end.
 */
bool rnbdc_abort_unbind(struct rnbdc_abort *abort)
{
	bool requested;

	spin_lock(&abort->lock);
	abort->sess = NULL;
	abort->disk = NULL;
	requested = abort->requested;
	spin_unlock(&abort->lock);
	return requested;
}
