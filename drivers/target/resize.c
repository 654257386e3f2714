// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resize: reports of a changed capacity to the clients.
 *
 * Operation: when the capacity of an export changes (export.c), each client that has attached it
 * gets a CAPACITY entry, at most one per attachment in each RNBDT_RESIZE_PAUSE. A later capacity
 * replaces one that was not reported yet. When a larger capacity is reported, the limit of the
 * request decoder is raised to it. A smaller capacity never lowers this limit, because requests
 * beyond the smaller capacity can be in flight: request.c answers these with RNBD_ST_RANGE.
 *
 * Concurrency: the host lock protects the reported capacity. The capacity of an export changes
 * under rnbdt_lock held for writing. The work item runs on rnbdt_attach_wq; the end of the
 * attachment cancels it.
 */

#include <linux/workqueue.h>
#include <rnbd/wire.h>

#include "backend.h"
#include "ctl.h"
#include "graph.h"
#include "resize.h"
#include "session.h"
#include "target.h"

/**
 * rnbdt_attach_resize - schedule a report of the capacity to a client
 * @att: attachment that is bound to an export
 *
 * Do nothing if the current capacity was reported already, or if the attachment or session closes.
 *
 * Context: process context, rnbdt_lock held for writing; does not sleep.
 */
void rnbdt_attach_resize(struct rnbdt_attach *att)
{
	unsigned long next = att->resize.reported_at + RNBDT_RESIZE_PAUSE;

	lockdep_assert_held_write(&rnbdt_lock);

	if (att->state != RNBDT_ATTACH_OPEN ||
	    att->resize.reported == att->backend->geo.capacity ||
	    READ_ONCE(att->session->state) != RNBDT_LIVE)
		return;
	queue_delayed_work(rnbdt_attach_wq, &att->resize.resize_work,
			   time_before(jiffies, next) ? next - jiffies : 0);
}

/**
 * rnbdt_attach_resize_work - report the capacity to a client
 * @work: rnbdt_attach.resize.resize_work
 *
 * Context: work item of rnbdt_attach_wq; locks the host.
 */
void rnbdt_attach_resize_work(struct work_struct *work)
{
	struct rnbdt_attach *att = container_of(to_delayed_work(work),
						struct rnbdt_attach, resize.resize_work);
	struct rnbdt_host *host = att->session->host;
	u64 capacity;

	rnbdt_host_lock(host);
	capacity = att->state == RNBDT_ATTACH_OPEN ? att->backend->geo.capacity : 0;
	if (capacity && capacity != att->resize.reported &&
	    READ_ONCE(att->session->state) == RNBDT_LIVE) {
		/* Requests for the new capacity can arrive right after the report. */
		if (capacity > att->limits.capacity)
			WRITE_ONCE(att->limits.capacity, capacity);
		att->resize.reported = capacity;
		att->resize.reported_at = jiffies;
		rnbdt_ctl_capacity(att, capacity);
	}
	rnbdt_host_unlock(host);
}

/**
 * rnbdt_sessions_resize - schedule reports to all clients of an export
 * @export: export whose capacity has changed
 *
 * Context: process context, rnbdt_lock held for writing; does not sleep.
 */
void rnbdt_sessions_resize(const struct rnbdt_export *export)
{
	struct rnbdt_attach *att;

	lockdep_assert_held_write(&rnbdt_lock);

	list_for_each_entry(att, &export->attached, entry)
		rnbdt_attach_resize(att);
}
