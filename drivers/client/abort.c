// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to end an attach or a discovery early.
 *
 * Operation: The thread that executes an attach or a discovery binds its session, and for
 * an attach its disk, to a struct rnbdc_abort. It unbinds them before others can use the
 * disk. An abort request takes effect on the bound objects: it sets RNBDC_DISK_ABORTED or
 * RNBDC_SESS_ABORTED, which end waits and recovery attempts. For an attach it also fails
 * the I/O of the disk, for a discovery it ends the connection. The thread then undoes its
 * work.
 *
 * Ownership: The command owns struct rnbdc_abort. It unbinds the session before it drops
 * its reference to the session.
 *
 * Concurrency: abort->lock orders a request and rnbdc_abort_unbind(). If the request comes
 * first, rnbdc_abort_unbind() returns true. A later request does not affect the session.
 *
 * Errors: None.
 */

#include <linux/bitops.h>
#include <linux/wait.h>

#include "abort.h"
#include "disk.h"
#include "session.h"
#include "state.h"

/* Abort the bound command. The caller holds abort->lock, so the objects stay bound. */
static void rnbdc_abort_bound(struct rnbdc_abort *abort)
{
	static const char reason[] = "interrupted";
	struct rnbdc_session *sess = abort->sess;
	unsigned long flags;

	if (abort->disk) {
		set_bit(RNBDC_DISK_ABORTED, &abort->disk->flags);
		/* Fail the I/O of this disk only: other disks may use the session. */
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
 * rnbdc_abort_init - initialise an abort request as not made
 * @abort: request
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
 * rnbdc_abort_request - request the end of a command
 * @abort: request of a command that runs or will run
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
 * rnbdc_abort_requested - test whether the end of a command was requested
 * @abort: request
 *
 * Context: any.
 * Return: true if the command must end.
 */
bool rnbdc_abort_requested(const struct rnbdc_abort *abort)
{
	return READ_ONCE(abort->requested);
}

/**
 * rnbdc_abort_bind - bind the session and disk that an abort request ends
 * @abort: request; takes effect at once if it was made before
 * @sess: session
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
 * rnbdc_abort_unbind - unbind the session, so that later requests do not affect it
 * @abort: request
 *
 * Context: process context.
 * Return: true if the command must end.
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
