/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attachment: the use of one export by one session.
 *
 * Operation: the login binds the attachment of its session to an export (bind.c).
 * Each request names its attachment, through which it finds the backend and the
 * limits of the export.
 *
 * Ownership: the session owns the attachment. The export and its backend stay while
 * an attachment is bound to them, see attached.c.
 *
 * Concurrency: the member documentation names the lock of each member. Members that
 * are set before the session is live are constant from then on.
 */
#ifndef RNBDT_ATTACH_H
#define RNBDT_ATTACH_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "../core/op.h"

struct rnbdt_backend;
struct rnbdt_export;
struct rnbdt_session;

/**
 * struct rnbdt_resize - capacity that the client knows
 * @reported: capacity in bytes last reported to the client; 0: the login reply was
 *	not sent; rnbdt_lock
 * @reported_at: jiffies of the latest report of a capacity; rnbdt_lock
 * @resize_work: reports a changed capacity to the client, on rnbdt_timer_wq
 */
struct rnbdt_resize {
	u64 reported;
	unsigned long reported_at;
	struct delayed_work resize_work;
};

/**
 * struct rnbdt_attach - one export in one session
 * @session: session that owns the attachment; constant
 * @entry: in rnbdt_export.attached while @export is set; rnbdt_lock
 * @export: attached export, or NULL; set by the login work, cleared by the teardown when
 *	no request is left; rnbdt_lock
 * @backend: backend of @export; set and cleared with it
 * @fence_generation: fence generation of the host when @export was set
 * @readonly: requests that write are refused; set before live
 * @limits: limits of the export for the request decoder; set before live, except that
 *	rnbdt_lock protects writes of the capacity
 * @resize: capacity that the client knows
 */
struct rnbdt_attach {
	struct rnbdt_session *session;
	struct list_head entry;
	struct rnbdt_export *export;
	struct rnbdt_backend *backend;
	u32 fence_generation;
	bool readonly;
	struct rnbd_export_limits limits;
	struct rnbdt_resize resize;
};

#endif /* RNBDT_ATTACH_H */
