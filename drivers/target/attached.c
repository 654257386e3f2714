// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attachments of an export: the list, its end, and the wait for it.
 *
 * Operation: a login adds its attachment to the list of the export (bind.c). The
 * teardown of the session removes it when no request of it is in the storage and
 * none can follow (teardown.c). Whoever disables, denies or withdraws an export
 * closes the attachments on its list.
 *
 * Ownership: the session owns its attachment. An attachment on the list keeps the
 * backend of the export open, because the export waits for an empty list before it
 * closes the backend (export.c).
 *
 * Concurrency: the list is under rnbdt_lock. rnbdt_attached_wait() waits without it.
 *
 * Errors: none. The storage can delay the end of an attachment without a limit of
 * time, which the log shows.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "attach.h"
#include "attached.h"
#include "graph.h"
#include "session.h"
#include "state.h"
#include "target.h"

/* Period of the log lines about an export that waits for its attachments */
#define RNBDT_ATTACHED_LOG	(30 * HZ)

/**
 * rnbdt_attached_add - bind an attachment to an export
 * @att: attachment that is not bound
 * @export: enabled export
 *
 * Context: rnbdt_lock held.
 */
void rnbdt_attached_add(struct rnbdt_attach *att, struct rnbdt_export *export)
{
	lockdep_assert_held(&rnbdt_lock);

	att->backend = export->backend;
	WRITE_ONCE(att->export, export);
	list_add_tail(&att->entry, &export->attached);
	WRITE_ONCE(export->nr_attached, export->nr_attached + 1);
}

/**
 * rnbdt_attached_remove - end the use of an export
 * @att: attachment without requests, bound to an export or not
 *
 * The export may be freed afterwards.
 *
 * Context: rnbdt_lock held; no frame of the session is being handled.
 */
void rnbdt_attached_remove(struct rnbdt_attach *att)
{
	struct rnbdt_export *export = att->export;

	lockdep_assert_held(&rnbdt_lock);

	if (!export)
		return;
	list_del(&att->entry);
	WRITE_ONCE(att->export, NULL);
	att->backend = NULL;
	WRITE_ONCE(export->nr_attached, export->nr_attached - 1);
	wake_up_all(&export->wait);
}

/**
 * rnbdt_attached_close - close the attachments of an export without waiting
 * @export: export
 * @host: only those of this host, or NULL
 * @port: only those through this port, or NULL
 * @reason: constant text for the log and sysfs
 *
 * The caller has made sure that no further attachments of that kind begin.
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_attached_close(struct rnbdt_export *export, const struct rnbdt_host *host,
			  const struct rnbdt_port *port, const char *reason)
{
	struct rnbdt_attach *att;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry(att, &export->attached, entry) {
		struct rnbdt_session *s = att->session;

		if ((!host || s->host == host) && (!port || s->port == port))
			rnbdt_session_close(s, reason);
	}
	mutex_unlock(&rnbdt_lock);
}

/**
 * rnbdt_attached_wait - wait until an export has no attachment
 * @export: export that is not enabled, so that no attachment is added
 *
 * Context: work item without rnbdt_lock; sleeps until the storage has completed the
 * requests of all attachments, without a limit of time.
 */
void rnbdt_attached_wait(struct rnbdt_export *export)
{
	while (!wait_event_timeout(export->wait, !READ_ONCE(export->nr_attached),
				   RNBDT_ATTACHED_LOG))
		pr_warn("export %s: waiting for the storage to complete requests, attachments: %u\n",
			rnbdt_export_name(export), READ_ONCE(export->nr_attached));
	/* The task that removed the last attachment may still hold the lock. */
	mutex_lock(&rnbdt_lock);
	mutex_unlock(&rnbdt_lock);
}
