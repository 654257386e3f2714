// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to end an attach or a discovery early.
 *
 * Operation: The thread that attaches or discovers binds its disk or session, and
 * unbinds it before others can use the disk. A request made until then sets
 * RNBDC_DISK_ABORTED or RNBDC_SESS_ABORTED, which end waits and attempts of
 * recovery. It ends I/O on a disk that is being added, or the connection of a discovery.
 * The thread then undoes what it has done.
 *
 * Ownership: The command owns struct rnbdc_abort and unbinds the session before
 * it drops its reference of it.
 *
 * Concurrency: The lock makes a request come either before the unbinding, which
 * then returns true, or after it, when it has no effect.
 *
 * Errors: None.
 */

#include <linux/bitops.h>
#include <linux/wait.h>

#include "abort.h"
#include "disk.h"
#include "session.h"
#include "state.h"

/* Called with abort->lock held, which keeps what is bound. */
static void rnbdc_abort_bound(struct rnbdc_abort *abort)
{
	static const char reason[] = "interrupted";
	struct rnbdc_session *sess = abort->sess;
	unsigned long flags;

	if (abort->disk) {
		set_bit(RNBDC_DISK_ABORTED, &abort->disk->flags);
		/* I/O of a disk that is being added fails; the session serves others. */
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
 * rnbdc_abort_init - initialise a request that is not made
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
 * rnbdc_abort_request - request that the command end
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
 * rnbdc_abort_requested - test whether the command is to end
 * @abort: request
 *
 * Context: any.
 */
bool rnbdc_abort_requested(const struct rnbdc_abort *abort)
{
	return READ_ONCE(abort->requested);
}

/**
 * rnbdc_abort_bind - let requests end an attach or a discovery
 * @abort: request
 * @sess: session
 * @disk: disk that is being attached, or NULL: the session is that of a discovery
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
 * rnbdc_abort_unbind - let further requests have no effect on the session
 * @abort: request
 *
 * Context: process context.
 * Return: true if the command has to end.
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
