// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of exports that a target sends.
 *
 * Operation: Each EXPORT entry adds one export at the tail of the list; the dump in netlink.c
 * takes exports from its head. The LIST_END entry wakes the thread in discover.c.
 *
 * Ownership: The list belongs to the completion handler of queue 0 while the discovery
 * runs, and to the caller of rnbdc_discover() before and after that.
 *
 * Concurrency: Entries are handled one at a time. The list has no lock.
 *
 * Errors: After a failed allocation the discovery fails. The client then ignores further
 * entries, which the target sends because it does not know of the failure. Any other
 * unexpected entry is a protocol error.
 */

#include <linux/slab.h>

#include "../core/ctl.h"
#include "../core/discover.h"
#include "../core/proto_err.h"
#include "auth.h"
#include "cm.h"
#include "exports.h"
#include "queue.h"
#include "session.h"

/**
 * struct rnbdc_exports_item - an export of a list
 * @entry: entry of rnbdc_exports.items
 * @info: export
 */
struct rnbdc_exports_item {
	struct list_head entry;
	struct rnbd_export_info info;
};

/**
 * rnbdc_exports_init - initialise an empty list
 * @exports: list
 *
 * Context: any.
 */
void rnbdc_exports_init(struct rnbdc_exports *exports)
{
	INIT_LIST_HEAD(&exports->items);
	exports->nr = 0;
	exports->incomplete = false;
}

/**
 * rnbdc_exports_free - free the exports of a list
 * @exports: initialised list; empty afterwards
 *
 * Context: any; the caller owns the list.
 */
void rnbdc_exports_free(struct rnbdc_exports *exports)
{
	struct rnbdc_exports_item *item, *next;

	list_for_each_entry_safe(item, next, &exports->items, entry)
		kfree(item);
	rnbdc_exports_init(exports);
}

static struct rnbdc_exports_item *rnbdc_exports_head(struct rnbdc_exports *exports)
{
	return list_first_entry_or_null(&exports->items, struct rnbdc_exports_item, entry);
}

/**
 * rnbdc_exports_first - get the export at the head of a list
 * @exports: list
 *
 * Context: any; the caller owns the list.
 * Return: the export, valid until it is removed, or NULL if the list is empty.
 */
const struct rnbd_export_info *rnbdc_exports_first(struct rnbdc_exports *exports)
{
	const struct rnbdc_exports_item *item = rnbdc_exports_head(exports);

	return item ? &item->info : NULL;
}

/**
 * rnbdc_exports_remove_first - remove the export at the head of a list
 * @exports: list that is not empty
 *
 * Context: any; the caller owns the list.
 */
void rnbdc_exports_remove_first(struct rnbdc_exports *exports)
{
	struct rnbdc_exports_item *item = rnbdc_exports_head(exports);

	list_del(&item->entry);
	kfree(item);
}

/* End the discovery. Later entries are protocol errors, except after a failed allocation. */
static void rnbdc_discover_end(struct rnbdc_queue *q, u16 status, int error)
{
	WRITE_ONCE(q->sess->login.status, status);
	rnbdc_queue_wake(q, error);
}

/* Test whether a thread waits for entries of a list. */
static bool rnbdc_list_awaited(const struct rnbdc_session *sess)
{
	return sess->login.exports && sess->login.status == RNBDC_LOGIN_OPEN;
}

/**
 * rnbdc_handle_export - handle an export of the list
 * @q: queue 0
 * @entry: entry of type RNBD_CTL_EXPORT
 *
 * Context: completion handler of @q; allocates with GFP_ATOMIC.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_export(struct rnbdc_queue *q, const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_exports *exports = q->sess->login.exports;
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbdc_exports_item *item;

	/* Ignore the remaining entries: the target does not know of the failed allocation. */
	if (exports && exports->incomplete)
		return RNBD_PERR_NONE;
	if (!rnbdc_list_awaited(q->sess))
		return RNBD_PERR_TYPE;
	if (!rnbdc_auth_accepts_reply(q, RNBD_ST_OK, &perr))
		return perr;
	if (exports->nr == RNBD_EXPORTS_MAX)
		return RNBD_PERR_COUNT;
	item = kmalloc(sizeof(*item), GFP_ATOMIC);
	if (!item) {
		exports->incomplete = true;
		q->cm_reason = "no memory for the list of exports; try again";
		rnbdc_discover_end(q, RNBD_ST_OK, -ENOMEM);
		return RNBD_PERR_NONE;
	}
	perr = rnbd_decode_export(entry, &item->info);
	if (perr) {
		kfree(item);
		return perr;
	}
	list_add_tail(&item->entry, &exports->items);
	exports->nr++;
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_handle_list_end - handle the end of the list of exports
 * @q: queue 0
 * @entry: entry of type RNBD_CTL_LIST_END
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_handle_list_end(struct rnbdc_queue *q,
					  const struct rnbd_ctl_entry *entry)
{
	struct rnbdc_exports *exports = q->sess->login.exports;
	struct rnbd_list_end_info info;
	enum rnbd_proto_err perr;

	if (exports && exports->incomplete)
		return RNBD_PERR_NONE;
	if (!rnbdc_list_awaited(q->sess))
		return RNBD_PERR_TYPE;
	perr = rnbd_decode_list_end(entry, &info);
	if (!perr && rnbdc_auth_accepts_reply(q, info.status, &perr))
		rnbdc_discover_end(q, info.status, 0);
	return perr;
}
