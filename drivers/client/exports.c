// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of exports that a target sends.
 *
 * Operation: Each DISCOVER_REPLY frame adds one chunk of exports at the tail of
 * the list; the dump in netlink.c takes exports from its head. The frame that
 * is marked as the last wakes the thread in discover.c.
 *
 * Ownership: The list belongs to the caller of rnbdc_discover(), and to the
 * completion handler of queue 0 while the discovery runs.
 *
 * Concurrency: Frames are handled one at a time. The list has no lock.
 *
 * Errors: After a failed allocation the discovery fails and further frames are
 * ignored, because the target sends them in good faith. A frame that is not
 * awaited is a protocol error.
 */

#include <linux/slab.h>

#include "../core/discover.h"
#include "../core/frame.h"
#include "../core/proto_err.h"
#include "auth.h"
#include "cm.h"
#include "exports.h"
#include "queue.h"
#include "session.h"

/**
 * struct rnbdc_exports_chunk - exports of one frame
 * @entry: entry of rnbdc_exports.chunks
 * @nr: members of @export
 * @export: exports
 */
struct rnbdc_exports_chunk {
	struct list_head entry;
	u32 nr;
	struct rnbd_export_info export[] __counted_by(nr);
};

/**
 * rnbdc_exports_init - initialise an empty list
 * @exports: list
 *
 * Context: any.
 */
void rnbdc_exports_init(struct rnbdc_exports *exports)
{
	INIT_LIST_HEAD(&exports->chunks);
	exports->nr = 0;
	exports->taken = 0;
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
	struct rnbdc_exports_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &exports->chunks, entry)
		kfree(chunk);
	rnbdc_exports_init(exports);
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
	const struct rnbdc_exports_chunk *chunk;

	chunk = list_first_entry_or_null(&exports->chunks, struct rnbdc_exports_chunk,
					 entry);
	return chunk ? &chunk->export[exports->taken] : NULL;
}

/**
 * rnbdc_exports_remove_first - remove the export at the head of a list
 * @exports: list that is not empty
 *
 * Context: any; the caller owns the list.
 */
void rnbdc_exports_remove_first(struct rnbdc_exports *exports)
{
	struct rnbdc_exports_chunk *chunk;

	chunk = list_first_entry(&exports->chunks, struct rnbdc_exports_chunk, entry);
	if (++exports->taken < chunk->nr)
		return;
	exports->taken = 0;
	list_del(&chunk->entry);
	kfree(chunk);
}

static enum rnbd_proto_err rnbdc_exports_add(struct rnbdc_exports *exports,
					     const struct rnbd_frame *frame,
					     struct rnbdc_exports_chunk *chunk)
{
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	u32 i;

	for (i = 0; i < chunk->nr && !perr; i++)
		perr = rnbd_decode_export(frame, i, &chunk->export[i]);
	if (perr) {
		kfree(chunk);
		return perr;
	}
	list_add_tail(&chunk->entry, &exports->chunks);
	exports->nr += chunk->nr;
	return RNBD_PERR_NONE;
}

/* End the login: frames that follow are protocol errors, or ignored. */
static void rnbdc_discover_end(struct rnbdc_queue *q, u16 status, int error)
{
	WRITE_ONCE(q->sess->login.status, status);
	rnbdc_queue_wake(q, error);
}

/**
 * rnbdc_handle_discover_reply - handle a part of the list of exports
 * @q: queue
 * @frame: frame of type RNBD_FRAME_DISCOVER_REPLY
 * @perr: set to the protocol error, if there is one
 *
 * Context: completion handler of @q; allocates with GFP_ATOMIC.
 */
void rnbdc_handle_discover_reply(struct rnbdc_queue *q, const struct rnbd_frame *frame,
				 enum rnbd_proto_err *perr)
{
	struct rnbdc_session *sess = q->sess;
	struct rnbdc_exports *exports = sess->login.exports;
	struct rnbdc_exports_chunk *chunk;
	struct rnbd_discover_info info;

	/* The target does not know of the failed allocation: ignore the rest. */
	if (exports && exports->incomplete) {
		*perr = RNBD_PERR_NONE;
		return;
	}
	/* Valid only while a thread waits for it. */
	if (!exports || sess->login.status != RNBDC_LOGIN_OPEN) {
		*perr = RNBD_PERR_TYPE;
		return;
	}
	*perr = rnbd_decode_discover_reply(frame, RNBD_EXPORTS_MAX - exports->nr, &info);
	if (*perr || !rnbdc_auth_accepts_reply(q, info.status, perr))
		return;
	if (info.nr_exports) {
		chunk = kmalloc(struct_size(chunk, export, info.nr_exports), GFP_ATOMIC);
		if (!chunk) {
			exports->incomplete = true;
			q->cm_reason = "no memory for the list of exports; try again";
			rnbdc_discover_end(q, RNBD_ST_OK, -ENOMEM);
			return;
		}
		chunk->nr = info.nr_exports;
		*perr = rnbdc_exports_add(exports, frame, chunk);
		if (*perr)
			return;
	}
	if (!info.more)
		rnbdc_discover_end(q, info.status, 0);
}
