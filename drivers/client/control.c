// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch of the control entries of a target.
 *
 * Operation: a CONTROL frame is a list of entries. This file decodes the head of each entry,
 * checks that the queue may carry its type, and calls the handler of the entry.
 *
 * Ownership: nothing is kept. The handlers copy the bodies before the frame's slot is
 * posted again.
 *
 * Concurrency: the completion handler of the queue handles one frame at a time.
 *
 * Errors: the first protocol error ends the handling of a frame; the ring then fails.
 */

#include "../core/ctl.h"
#include "../core/frame.h"
#include "../core/proto_err.h"
#include "../core/ring_resize.h"
#include "attach_ctl.h"
#include "auth.h"
#include "complete.h"
#include "control.h"
#include "exports.h"
#include "join.h"
#include "lease.h"
#include "login.h"
#include "queue.h"
#include "slow.h"
#include "tags.h"

/* Handle an entry that queue 0 has received. */
static enum rnbd_proto_err rnbdc_control_session(struct rnbdc_queue *q,
						 const struct rnbd_ctl_entry *entry)
{
	/* After a failed authentication, ignore entries until the target notices the failure. */
	if (rnbdc_login_refused(q->sess))
		return RNBD_PERR_NONE;
	switch (entry->type) {
	case RNBD_CTL_LOGIN_REPLY:
		return rnbdc_handle_login_reply(q, entry);
	case RNBD_CTL_SEGMENT:
		return rnbdc_login_open(q->sess) ? rnbdc_handle_segment(q, entry) :
						   rnbdc_lease_handle(q, entry);
	case RNBD_CTL_RECLAIM:
	case RNBD_CTL_RELEASED:
		return rnbdc_lease_handle(q, entry);
	case RNBD_CTL_CHALLENGE:
		return rnbdc_auth_handle_challenge(q, entry);
	case RNBD_CTL_PROOF:
		return rnbdc_auth_handle_proof(q, entry);
	case RNBD_CTL_EXPORT:
		return rnbdc_handle_export(q, entry);
	case RNBD_CTL_LIST_END:
		return rnbdc_handle_list_end(q, entry);
	case RNBD_CTL_JOIN_REPLY:
		return RNBD_PERR_TYPE;
	default:
		return rnbdc_handle_attach(q, entry);
	}
}

/* Handle an entry that a queue other than 0 has received. */
static enum rnbd_proto_err rnbdc_control_join(struct rnbdc_queue *q,
					      const struct rnbd_ctl_entry *entry)
{
	switch (entry->type) {
	case RNBD_CTL_CHALLENGE:
		return rnbdc_join_handle_challenge(q, entry);
	case RNBD_CTL_JOIN_REPLY:
		return rnbdc_join_handle_reply(q, entry);
	default:
		return RNBD_PERR_TYPE;
	}
}

/* Handle a SLOTS_REPLY: with more slots the queue can have more requests in flight. */
static enum rnbd_proto_err rnbdc_control_slots_reply(struct rnbdc_queue *q,
						     const struct rnbd_ctl_entry *entry)
{
	enum rnbd_proto_err perr = rnbd_ring_handle_slots_reply(&q->ring, entry);

	if (!perr)
		rnbdc_queue_grow_tags(q);
	return perr;
}

static enum rnbd_proto_err rnbdc_control_entry(struct rnbdc_queue *q,
					       const struct rnbd_ctl_entry *entry)
{
	switch (entry->type) {
	case RNBD_CTL_QUERY_REPLY:
		return rnbdc_handle_query(q, entry);
	case RNBD_CTL_SLOTS:
		return rnbd_ring_handle_slots(&q->ring, entry);
	case RNBD_CTL_SLOTS_REPLY:
		return rnbdc_control_slots_reply(q, entry);
	case RNBD_CTL_LOGIN_REPLY:
	case RNBD_CTL_SEGMENT:
	case RNBD_CTL_RECLAIM:
	case RNBD_CTL_RELEASED:
	case RNBD_CTL_CHALLENGE:
	case RNBD_CTL_PROOF:
	case RNBD_CTL_EXPORT:
	case RNBD_CTL_LIST_END:
	case RNBD_CTL_ATTACH_REPLY:
	case RNBD_CTL_DETACHED:
	case RNBD_CTL_CLOSED:
	case RNBD_CTL_CAPACITY:
	case RNBD_CTL_JOIN_REPLY:
		return q->index ? rnbdc_control_join(q, entry) : rnbdc_control_session(q, entry);
	default:
		return rnbd_ctl_unknown(entry);
	}
}

/**
 * rnbdc_handle_control - handle a frame of control entries
 * @q: queue that has received the frame
 * @frame: frame of type RNBD_FRAME_CONTROL
 *
 * Context: completion handler of @q.
 * Return: RNBD_PERR_NONE, or the protocol error of the first entry that is malformed or
 * unexpected.
 */
enum rnbd_proto_err rnbdc_handle_control(struct rnbdc_queue *q, const struct rnbd_frame *frame)
{
	enum rnbd_proto_err perr = RNBD_PERR_NONE;
	struct rnbd_ctl_pos pos = { };
	struct rnbd_ctl_entry entry;

	while (!perr && pos.index < frame->nr_entries) {
		perr = rnbd_decode_ctl(frame, &pos, &entry);
		if (!perr)
			perr = rnbdc_control_entry(q, &entry);
	}
	/* Start hardware queues that wait for credits, slots or tags which the frame brought. */
	if (!perr)
		rnbdc_queue_credit(&q->ring);
	return perr;
}
