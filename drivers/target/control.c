// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch of the control entries of a client.
 *
 * Operation: a CONTROL frame is a list of entries. This file decodes the head of each entry,
 * checks that the queue may carry an entry of this type, and calls the handler of the type.
 *
 * Ownership: this file keeps nothing. The handlers copy the bodies before the receive slot of
 * the frame is posted again.
 *
 * Concurrency: completion handler of the queue, one frame at a time.
 *
 * Errors: the first protocol error ends the handling of a frame; the ring then fails.
 */

#include "../core/ctl.h"
#include "../core/frame.h"
#include "../core/proto_err.h"
#include "../core/ring_resize.h"
#include "../core/slots.h"
#include "attach_ctl.h"
#include "control.h"
#include "join.h"
#include "lease.h"
#include "login.h"
#include "queue.h"
#include "queue_alloc.h"
#include "request.h"
#include "session.h"

/* Handle an entry of a queue that has not joined its session. */
static enum rnbd_proto_err rnbdt_control_join(struct rnbdt_queue *q,
					      const struct rnbd_ctl_entry *entry)
{
	if (entry->type == RNBD_CTL_JOIN)
		return rnbdt_join_begin(q, entry);
	if (entry->type == RNBD_CTL_PROOF)
		return rnbdt_join_proof(q, entry);
	return RNBD_PERR_TYPE;
}

/* Handle an entry that only queue 0 may carry. */
static enum rnbd_proto_err rnbdt_control_session(struct rnbdt_queue *q,
						 const struct rnbd_ctl_entry *entry)
{
	struct rnbdt_session *s = q->session;

	if (q->index)
		return RNBD_PERR_TYPE;
	switch (entry->type) {
	case RNBD_CTL_LOGIN:
	case RNBD_CTL_LIST:
		return rnbdt_session_handle_login(s, entry);
	case RNBD_CTL_PROOF:
		return rnbdt_session_handle_proof(s, entry);
	case RNBD_CTL_WANT:
	case RNBD_CTL_RELEASE:
		return rnbdt_lease_handle(s, entry);
	default:
		return rnbdt_session_handle_attach(s, entry);
	}
}

/* Handle SLOTS or SLOTS_REPLY of a queue that has joined its session. */
static enum rnbd_proto_err rnbdt_control_slots(struct rnbdt_queue *q,
					       const struct rnbd_ctl_entry *entry)
{
	/* pairs with the release in rnbdt_session_set_state() */
	enum rnbdt_state state = smp_load_acquire(&q->session->state);
	struct rnbd_slots_info info;
	enum rnbd_proto_err perr;

	if (state != RNBDT_LIVE)
		return state < RNBDT_LIVE ? RNBD_PERR_TYPE : RNBD_PERR_NONE;
	if (entry->type == RNBD_CTL_SLOTS_REPLY)
		return rnbd_ring_handle_slots_reply(&q->ring, entry);
	perr = rnbd_decode_slots(entry, &info);
	if (!perr && !rnbdt_queue_unused_from(q, info.depth))
		perr = RNBD_PERR_TAG;
	return perr ?: rnbd_ring_handle_slots(&q->ring, entry);
}

static enum rnbd_proto_err rnbdt_control_entry(struct rnbdt_queue *q,
					       const struct rnbd_ctl_entry *entry)
{
	switch (entry->type) {
	case RNBD_CTL_QUERY:
	case RNBD_CTL_JOIN:
	case RNBD_CTL_LOGIN:
	case RNBD_CTL_LIST:
	case RNBD_CTL_PROOF:
	case RNBD_CTL_ATTACH:
	case RNBD_CTL_DETACH:
	case RNBD_CTL_WANT:
	case RNBD_CTL_RELEASE:
	case RNBD_CTL_SLOTS:
	case RNBD_CTL_SLOTS_REPLY:
		break;
	default:
		return rnbd_ctl_unknown(entry);
	}
	if (!rnbdt_queue_joined(q))
		return rnbdt_control_join(q, entry);
	if (entry->type == RNBD_CTL_QUERY)
		return rnbdt_queue_query(q, entry);
	if (entry->type == RNBD_CTL_SLOTS || entry->type == RNBD_CTL_SLOTS_REPLY)
		return rnbdt_control_slots(q, entry);
	return entry->type == RNBD_CTL_JOIN ? RNBD_PERR_TYPE : rnbdt_control_session(q, entry);
}

/**
 * rnbdt_queue_control - handle a frame of control entries
 * @q: queue that has received the frame
 * @frame: frame of type RNBD_FRAME_CONTROL
 *
 * Context: completion handler of @q; does not sleep.
 * Return: RNBD_PERR_NONE, or the protocol error of the first entry that is malformed or not
 * allowed.
 */
enum rnbd_proto_err rnbdt_queue_control(struct rnbdt_queue *q, const struct rnbd_frame *frame)
{
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbd_ctl_pos pos = { };
	struct rnbd_ctl_entry entry;

	while (!perr && pos.index < frame->nr_entries) {
		perr = rnbd_decode_ctl(frame, &pos, &entry);
		if (!perr)
			perr = rnbdt_control_entry(q, &entry);
	}
	return perr;
}
