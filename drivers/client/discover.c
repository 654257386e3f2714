// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking a target what this host may attach there.
 *
 * Operation
 *
 * A session without a disk connects its first queue, logs in with
 * RNBD_LOGIN_DISCOVER and gathers the exports of the frames that answer, until the
 * one that says it is the last; then it goes. It is not on the list of sessions. A
 * target turns a host that may attach nothing away before it can ask, which is
 * an empty list too.
 *
 * Ownership
 *
 * The caller owns the list, filled or half filled, and frees it.
 *
 * Concurrency
 *
 * Frames are taken in the completion handler of queue 0, one at a time, and the
 * list is the caller's again when that queue is drained.
 *
 * Errors
 *
 * A text for the person who asked. Whatever the target sends has been checked by
 * the decoders; how many exports that may be is limited by RNBD_EXPORTS_MAX, for
 * how long by the time limit of a login.
 */

#define pr_fmt(fmt) "rnbd: " fmt

#include <linux/slab.h>

#include "client.h"

/* A list is short and in no hurry; this is the least that any target grants. */
#define RNBD_DISCOVER_SLOTS	RNBD_RING_SLOTS_MIN
#define RNBD_DISCOVER_SLOT_SIZE	2048

/**
 * struct rnbd_exports_chunk - what one frame told
 * @entry: in rnbd_exports.chunks
 * @nr: members of @export
 * @export: exports
 */
struct rnbd_exports_chunk {
	struct list_head entry;
	u32 nr;
	struct rnbd_export_info export[] __counted_by(nr);
};

/**
 * rnbd_exports_init - begin with an empty list
 * @exports: list
 */
void rnbd_exports_init(struct rnbd_exports *exports)
{
	INIT_LIST_HEAD(&exports->chunks);
	exports->nr = 0;
	exports->taken = 0;
	exports->incomplete = false;
}

/**
 * rnbd_exports_free - free what is on a list
 * @exports: list that was initialised
 */
void rnbd_exports_free(struct rnbd_exports *exports)
{
	struct rnbd_exports_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &exports->chunks, entry)
		kfree(chunk);
	rnbd_exports_init(exports);
}

/**
 * rnbd_exports_first - the export at the head of a list
 * @exports: list
 *
 * Return: the export, there until it is taken away, or NULL.
 */
const struct rnbd_export_info *rnbd_exports_first(struct rnbd_exports *exports)
{
	const struct rnbd_exports_chunk *chunk;

	chunk = list_first_entry_or_null(&exports->chunks, struct rnbd_exports_chunk,
					 entry);
	return chunk ? &chunk->export[exports->taken] : NULL;
}

/**
 * rnbd_exports_take - take the export at the head of a list away
 * @exports: list that is not empty
 */
void rnbd_exports_take(struct rnbd_exports *exports)
{
	struct rnbd_exports_chunk *chunk;

	chunk = list_first_entry(&exports->chunks, struct rnbd_exports_chunk, entry);
	if (++exports->taken < chunk->nr)
		return;
	exports->taken = 0;
	list_del(&chunk->entry);
	kfree(chunk);
}

static enum rnbd_fault rnbd_exports_add(struct rnbd_exports *exports,
					const struct rnbd_frame *frame,
					struct rnbd_exports_chunk *chunk)
{
	enum rnbd_fault fault = RNBD_FAULT_NONE;
	u32 i;

	for (i = 0; i < chunk->nr && !fault; i++)
		fault = rnbd_decode_export(frame, i, &chunk->export[i]);
	if (fault) {
		kfree(chunk);
		return fault;
	}
	list_add_tail(&chunk->entry, &exports->chunks);
	exports->nr += chunk->nr;
	return RNBD_FAULT_NONE;
}

/* Whatever else comes is not taken any more. */
static void rnbd_discover_end(struct rnbd_queue *q, u16 status, int error)
{
	WRITE_ONCE(q->sess->login_status, status);
	rnbd_queue_wake(q, error);
}

/**
 * rnbd_discover_reply - take a part of the list that was asked for
 * @q: queue
 * @frame: frame of type RNBD_FRAME_DISCOVER_REPLY
 * @fault: what is wrong with it, if anything
 *
 * Context: completion handler of @q.
 */
void rnbd_discover_reply(struct rnbd_queue *q, const struct rnbd_frame *frame,
			 enum rnbd_fault *fault)
{
	struct rnbd_session *sess = q->sess;
	struct rnbd_exports *exports = sess->exports;
	struct rnbd_exports_chunk *chunk;
	struct rnbd_discover_info info;

	/* The target is right to send the rest, which it cannot know nobody wants. */
	if (exports && exports->incomplete)
		return;
	/* Only while somebody waits for it. */
	if (!exports || sess->login_status != RNBD_LOGIN_OPEN) {
		*fault = RNBD_FAULT_TYPE;
		return;
	}
	*fault = rnbd_decode_discover_reply(frame, RNBD_EXPORTS_MAX - exports->nr, &info);
	if (*fault || !rnbd_auth_may_take(q, info.status, fault))
		return;
	if (info.nr_exports) {
		chunk = kmalloc(struct_size(chunk, export, info.nr_exports), GFP_ATOMIC);
		if (!chunk) {
			exports->incomplete = true;
			q->cm_reason = "no memory for the list of exports; try again";
			rnbd_discover_end(q, RNBD_ST_OK, -ENOMEM);
			return;
		}
		chunk->nr = info.nr_exports;
		*fault = rnbd_exports_add(exports, frame, chunk);
		if (*fault)
			return;
	}
	if (!info.more)
		rnbd_discover_end(q, info.status, 0);
}

/* Was this host turned away because there is nothing for it? */
static bool rnbd_discover_nothing(const struct rnbd_session *sess)
{
	const struct rnbd_queue *q = sess->queues[0];

	return q && (q->cm_status == RNBD_ST_HOST_DENIED ||
		     q->cm_status == RNBD_ST_NO_EXPORT);
}

/**
 * rnbd_discover - ask a target what this host may attach there
 * @opt: address and host id
 * @exports: initialised list; filled
 * @why: filled on error
 *
 * Context: process context, may sleep for as long as the network takes; ends
 * early on a signal that kills.
 * Return: 0 or an error.
 */
int rnbd_discover(const struct rnbd_options *opt, struct rnbd_exports *exports,
		  struct rnbd_why *why)
{
	struct rnbd_options least = *opt;
	struct rnbd_session *sess;
	int ret;

	least.queues = 1;
	least.depth = 1;
	least.max_io = RNBD_UNIT_SIZE;
	least.ring_slots = RNBD_DISCOVER_SLOTS;
	least.slot_size = RNBD_DISCOVER_SLOT_SIZE;
	sess = rnbd_session_alloc(&least, why);
	if (IS_ERR(sess))
		return PTR_ERR(sess);
	sess->exports = exports;

	ret = rnbd_connect_first(sess, why);
	if (!ret) {
		sess->login = (struct rnbd_login_info) { .flags = RNBD_LOGIN_DISCOVER };
		ret = rnbd_login_ask(sess, why);
	} else if (rnbd_discover_nothing(sess)) {
		ret = 0;
	}

	rnbd_session_advance(sess, RNBD_CLOSING);
	rnbd_recover_end(sess);
	rnbd_session_put(sess);
	return ret;
}
