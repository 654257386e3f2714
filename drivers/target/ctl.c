// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control entries that wait to be handled or sent.
 *
 * Operation: with the reply to a login and after it, the target announces the segments of the pool,
 * as far as credits allow. Later the target announces further segments, requests the return of
 * segments, and confirms returned segments in the same way (lease.c). The frame handler of queue 0
 * puts each ATTACH of the client into a slot of the session (attach_ctl.c). A DETACH of an existing
 * attachment is recorded in the attachment and needs no slot, so that a client can detach all its
 * disks at once. The control work of the session (ctl_work) handles the DETACHs, and the slots in
 * the order of their arrival. Answers, and events about attachments, are sent when a credit is
 * available.
 *
 * Ownership: memory is bounded. A session has RNBD_CTL_OPEN_MAX slots, and each attachment and
 * segment stores its own events. A detached attachment is freed when DETACHED has been added to a
 * frame, and a released segment when RELEASED has been added to a frame.
 *
 * Concurrency: the lock of the ring of queue 0 protects the lists. The control work owns a slot
 * from when it takes the slot from the list of new requests until it answers or drops the request.
 *
 * Errors: a request that finds no free slot is a protocol error of the client.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "../core/attach.h"
#include "../core/ctl.h"
#include "../core/login.h"
#include "../core/ring.h"
#include "../core/ring_send.h"
#include "ctl.h"
#include "graph.h"
#include "queue.h"
#include "segment.h"
#include "segment_ctl.h"
#include "session.h"
#include "target.h"

/**
 * rnbdt_ctl_init - prepare the slots of a session
 * @s: session that is being allocated; its control work is initialised elsewhere
 *
 * Context: any.
 */
void rnbdt_ctl_init(struct rnbdt_session *s)
{
	struct rnbdt_ctl *ctl = &s->ctl;
	u32 i;

	INIT_LIST_HEAD(&ctl->free);
	INIT_LIST_HEAD(&ctl->todo);
	INIT_LIST_HEAD(&ctl->ready);
	INIT_LIST_HEAD(&ctl->detaches);
	INIT_LIST_HEAD(&ctl->events);
	INIT_LIST_HEAD(&ctl->leases);
	for (i = 0; i < RNBD_CTL_OPEN_MAX; i++)
		list_add_tail(&ctl->slots[i].entry, &ctl->free);
}

/**
 * rnbdt_ctl_next - take the next request to handle
 * @s: session
 *
 * Context: control work.
 * Return: slot of the request, which the caller answers or drops, or NULL if no request waits.
 */
struct rnbdt_ctl_slot *rnbdt_ctl_next(struct rnbdt_session *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	struct rnbdt_ctl_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	slot = list_first_entry_or_null(&s->ctl.todo, struct rnbdt_ctl_slot, entry);
	if (slot)
		list_del_init(&slot->entry);
	spin_unlock_irqrestore(&ring->lock, flags);
	return slot;
}

/**
 * rnbdt_ctl_detach - record a DETACH in its attachment
 * @att: attachment that the caller keeps from being freed
 * @id: id of the DETACH
 * @keep_owner: the DETACH does not end the ownership of an exclusive export
 *
 * The caller queues the control work.
 *
 * Context: any, without ring->lock; does not sleep.
 * Return: false if the attachment already has a DETACH, or if another attachment takes its index.
 */
bool rnbdt_ctl_detach(struct rnbdt_attach *att, u32 id, bool keep_owner)
{
	struct rnbdt_session *s = att->session;
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;
	bool noted;

	spin_lock_irqsave(&ring->lock, flags);
	noted = !att->detach.asked && !att->detach.replaced;
	if (noted) {
		WRITE_ONCE(att->detach.asked, true);
		att->detach.id = id;
		att->detach.keep_owner = keep_owner;
		list_add_tail(&att->detach.entry, &s->ctl.detaches);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	return noted;
}

/**
 * rnbdt_ctl_replace - accept no further DETACH of an attachment
 * @att: closed attachment whose index another attachment takes
 *
 * Context: control work, without ring->lock.
 * Return: false if the attachment has a DETACH, which must be answered first.
 */
bool rnbdt_ctl_replace(struct rnbdt_attach *att)
{
	struct rnbd_ring *ring = &att->session->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	att->detach.replaced = !att->detach.asked;
	spin_unlock_irqrestore(&ring->lock, flags);
	return att->detach.replaced;
}

/**
 * rnbdt_ctl_ended - queue the DETACH of an attachment, if any, for the control work
 * @att: attachment that has just ended, or whose ownership has just ended
 *
 * The caller makes sure that the control work runs again.
 *
 * Context: process context, host of the session locked, without ring->lock.
 */
void rnbdt_ctl_ended(struct rnbdt_attach *att)
{
	struct rnbdt_session *s = att->session;
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	if (att->detach.asked && list_empty(&att->detach.entry))
		list_add_tail(&att->detach.entry, &s->ctl.detaches);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbdt_ctl_next_detach - take the next attachment whose DETACH must be handled
 * @s: session
 *
 * Context: control work, host of @s locked.
 * Return: the attachment or NULL.
 */
struct rnbdt_attach *rnbdt_ctl_next_detach(struct rnbdt_session *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	struct rnbdt_attach *att;
	unsigned long flags;

	rnbdt_assert_host(s->host);

	spin_lock_irqsave(&ring->lock, flags);
	att = list_first_entry_or_null(&s->ctl.detaches, struct rnbdt_attach, detach.entry);
	if (att)
		list_del_init(&att->detach.entry);
	spin_unlock_irqrestore(&ring->lock, flags);
	return att;
}

/**
 * rnbdt_ctl_drop - free a slot without answering its request
 * @s: session
 * @slot: slot that the control work has taken
 *
 * Context: control work.
 */
void rnbdt_ctl_drop(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	list_add_tail(&slot->entry, &s->ctl.free);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbdt_ctl_answer - send the answer to a request
 * @s: session
 * @slot: slot that the control work has taken, with the answer filled in
 *
 * Context: control work.
 */
void rnbdt_ctl_answer(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot)
{
	struct rnbdt_queue *q = s->queues[0];
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	list_add_tail(&slot->entry, &s->ctl.ready);
	WRITE_ONCE(s->ctl.pending, true);
	rnbdt_ctl_send(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

static void rnbdt_ctl_event(struct rnbdt_attach *att, u16 closed, u64 capacity, bool detached)
{
	struct rnbdt_session *s = att->session;
	struct rnbdt_queue *q = s->queues[0];
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	if (closed)
		att->events.closed = closed;
	if (capacity)
		att->events.capacity = capacity;
	att->events.detached |= detached;
	if (list_empty(&att->events.entry))
		list_add_tail(&att->events.entry, &s->ctl.events);
	WRITE_ONCE(s->ctl.pending, true);
	rnbdt_ctl_send(q);
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdt_ctl_closed - report to the client that an attachment was closed
 * @att: attachment of a session whose queue 0 exists
 * @status: reason
 *
 * Context: any, without ring->lock; does not sleep.
 */
void rnbdt_ctl_closed(struct rnbdt_attach *att, u16 status)
{
	rnbdt_ctl_event(att, status, 0, false);
}

/**
 * rnbdt_ctl_capacity - report the capacity of an export to the client
 * @att: attachment of a session whose queue 0 exists
 * @capacity: bytes; replaces a capacity that was not sent yet
 *
 * Context: any, without ring->lock; does not sleep.
 */
void rnbdt_ctl_capacity(struct rnbdt_attach *att, u64 capacity)
{
	rnbdt_ctl_event(att, RNBD_ST_OK, capacity, false);
}

/**
 * rnbdt_ctl_detached - report the end of an attachment to the client, then free the attachment
 * @att: closed attachment that has a DETACH and is no longer in s->attaches
 *
 * Context: control work, without ring->lock.
 */
void rnbdt_ctl_detached(struct rnbdt_attach *att)
{
	rnbdt_ctl_event(att, RNBD_ST_OK, 0, true);
}

/**
 * rnbdt_ctl_forget_lease - cancel the reports about a segment
 * @s: session whose queue 0 is drained
 * @seg: segment that is about to be freed
 *
 * Context: teardown, without ring->lock.
 */
void rnbdt_ctl_forget_lease(struct rnbdt_session *s, struct rnbdt_segment *seg)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	list_del_init(&seg->entry);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbdt_ctl_purge - cancel all reports, and free detached attachments and released segments
 * @s: session whose queue 0 is drained
 *
 * Context: teardown; takes ring->lock.
 */
void rnbdt_ctl_purge(struct rnbdt_session *s)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	struct rnbdt_segment *seg, *next_seg;
	struct rnbdt_attach *att, *next;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	list_for_each_entry_safe(att, next, &s->ctl.events, events.entry) {
		list_del_init(&att->events.entry);
		if (att->events.detached)
			queue_rcu_work(rnbdt_attach_wq, &att->free_work);
	}
	list_for_each_entry_safe(seg, next_seg, &s->ctl.leases, entry) {
		list_del_init(&seg->entry);
		if (seg->tell & RNBDT_TELL_RELEASED)
			kvfree_rcu(seg, rcu);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbdt_ctl_forget - drop the events and the DETACH of an attachment
 * @att: attachment that is about to be freed, of a session whose queue 0 exists
 *
 * Context: process context, without ring->lock.
 */
void rnbdt_ctl_forget(struct rnbdt_attach *att)
{
	struct rnbd_ring *ring = &att->session->queues[0]->ring;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	list_del_init(&att->events.entry);
	list_del_init(&att->detach.entry);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * rnbdt_ctl_add - add an entry to the open frame
 * @ring: ring with an open frame of type RNBD_FRAME_CONTROL
 * @type: enum rnbd_ctl_type
 * @id: id of the entry of the client that this entry answers, or 0
 * @body: body of the entry
 * @bytes: bytes of the body
 *
 * Context: ring->lock held.
 * Return: false if the entry does not fit.
 */
bool rnbdt_ctl_add(struct rnbd_ring *ring, u16 type, u32 id, const void *body, u32 bytes)
{
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = type != RNBD_CTL_CAPACITY,
		.id = id,
		.body = body,
		.bytes = bytes,
	};

	return rnbd_ring_add_ctl(ring, &entry);
}

/**
 * rnbdt_ctl_post - send an entry that answers a LOGIN or LIST, in a separate frame
 * @s: session whose client has sent a LOGIN or a LIST
 * @type: enum rnbd_ctl_type
 * @body: body of the entry
 * @bytes: bytes of the body
 *
 * Context: any, without ring->lock; does not sleep.
 * Return: 0, or an error if the entry cannot be sent.
 */
int rnbdt_ctl_post(struct rnbdt_session *s, u16 type, const void *body, u32 bytes)
{
	struct rnbd_ring *ring = &s->queues[0]->ring;
	const struct rnbd_ctl_entry entry = {
		.type = type,
		.mandatory = true,
		.id = s->login.id,
		.body = body,
		.bytes = bytes,
	};
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&ring->lock, flags);
	ret = rnbd_ring_post_ctl(ring, &entry);
	spin_unlock_irqrestore(&ring->lock, flags);
	return ret;
}

/* Add the reports about segments to the open frame. Return false if they do not all fit. */
static bool rnbdt_ctl_add_leases(struct rnbdt_session *s, struct rnbd_ring *ring)
{
	struct rnbdt_segment *seg, *next;

	list_for_each_entry_safe(seg, next, &s->ctl.leases, entry) {
		if (!rnbdt_segment_add_ctl(s, ring, seg))
			return false;
		list_del_init(&seg->entry);
		/* Free only the structure; the memory of the segment was freed before. */
		if (seg->tell & RNBDT_TELL_RELEASED)
			kvfree_rcu(seg, rcu);
	}
	return true;
}

/**
 * rnbdt_ctl_lease - report the state of a segment to the client
 * @s: session; if it is not live yet, the report waits for the login reply
 * @seg: segment
 * @tell: RNBDT_TELL_SEGMENT, RNBDT_TELL_RECLAIM, or RNBDT_TELL_RELEASED. For RNBDT_TELL_RELEASED,
 *	the segment is no longer in the pool, and is freed after the report
 *
 * Context: process context, without ring->lock.
 */
void rnbdt_ctl_lease(struct rnbdt_session *s, struct rnbdt_segment *seg, u32 tell)
{
	struct rnbdt_queue *q = s->queues[0];
	unsigned long flags;

	spin_lock_irqsave(&q->ring.lock, flags);
	/* Send no RECLAIM for a segment that the client has released. */
	if (tell == RNBDT_TELL_RELEASED)
		seg->tell = tell;
	else if (!seg->released)
		seg->tell |= tell;
	if (seg->tell && list_empty(&seg->entry))
		list_add_tail(&seg->entry, &s->ctl.leases);
	if (READ_ONCE(s->state) == RNBDT_LIVE) {
		WRITE_ONCE(s->ctl.pending, true);
		rnbdt_ctl_send(q);
	}
	spin_unlock_irqrestore(&q->ring.lock, flags);
}

/**
 * rnbdt_ctl_grant - send the reply to a login, followed by waiting reports about segments
 * @s: session whose client waits for the reply
 * @grant: reply
 *
 * Reports that do not fit, or for which there is no credit now, are sent later. If @grant refuses
 * the login, the reports are dropped.
 *
 * Context: process context, without ring->lock.
 * Return: 0, or an error if the reply cannot be sent.
 */
int rnbdt_ctl_grant(struct rnbdt_session *s, const struct rnbd_grant *grant)
{
	struct rnbdt_queue *q = s->queues[0];
	struct rnbdt_segment *seg, *next;
	struct rnbd_ctl_login_reply wire;
	unsigned long flags;
	int ret = -ENOTCONN;

	rnbd_encode_grant(&wire, grant);
	spin_lock_irqsave(&q->ring.lock, flags);
	if (!rnbd_ring_open(&q->ring, RNBD_FRAME_CONTROL))
		goto unlock;
	/* Count the client's silence from now: the granted interval can be shorter than before. */
	q->ring.last_heard = jiffies;
	rnbdt_ctl_add(&q->ring, RNBD_CTL_LOGIN_REPLY, s->login.id, &wire, sizeof(wire));
	if (grant->status == RNBD_ST_OK)
		rnbdt_ctl_add_leases(s, &q->ring);
	else
		list_for_each_entry_safe(seg, next, &s->ctl.leases, entry)
			list_del_init(&seg->entry);
	ret = rnbd_ring_send(&q->ring, NULL, NULL, IB_SEND_SIGNALED);
	WRITE_ONCE(s->ctl.pending, true);
	if (!ret)
		rnbdt_ctl_send(q);
unlock:
	spin_unlock_irqrestore(&q->ring.lock, flags);
	return ret;
}

static bool rnbdt_ctl_add_answer(struct rnbd_ring *ring, const struct rnbdt_ctl_slot *slot)
{
	struct rnbd_ctl_attach_reply reply;
	struct rnbd_ctl_handle handle;

	if (slot->type == RNBD_CTL_ATTACH) {
		rnbd_encode_attach_reply(&reply, &slot->grant);
		return rnbdt_ctl_add(ring, RNBD_CTL_ATTACH_REPLY, slot->id, &reply,
				     sizeof(reply));
	}
	rnbd_encode_handle(&handle, &slot->info);
	return rnbdt_ctl_add(ring, RNBD_CTL_DETACHED, slot->id, &handle, sizeof(handle));
}

static bool rnbdt_ctl_add_events(struct rnbd_ring *ring, struct rnbdt_attach *att)
{
	struct rnbdt_attach_events *events = &att->events;
	struct rnbd_ctl_capacity capacity;
	struct rnbd_ctl_handle handle;

	if (events->capacity) {
		rnbd_encode_capacity(&capacity, &(struct rnbd_capacity_info) {
			.handle = att->handle,
			.capacity = events->capacity,
		});
		if (!rnbdt_ctl_add(ring, RNBD_CTL_CAPACITY, 0, &capacity, sizeof(capacity)))
			return false;
		events->capacity = 0;
	}
	if (events->closed) {
		rnbd_encode_handle(&handle, &(struct rnbd_handle_info) {
			.handle = att->handle,
			.status = events->closed,
		});
		if (!rnbdt_ctl_add(ring, RNBD_CTL_CLOSED, 0, &handle, sizeof(handle)))
			return false;
		events->closed = RNBD_ST_OK;
	}
	if (events->detached) {
		rnbd_encode_handle(&handle, &(struct rnbd_handle_info) {
			.handle = att->handle,
		});
		if (!rnbdt_ctl_add(ring, RNBD_CTL_DETACHED, att->detach.id, &handle,
				   sizeof(handle)))
			return false;
	}
	return true;
}

/* Fill the open frame. No event of an attachment may precede the answer to its ATTACH. */
static void rnbdt_ctl_fill(struct rnbdt_session *s, struct rnbd_ring *ring)
{
	struct rnbdt_ctl *ctl = &s->ctl;
	struct rnbdt_attach *att;
	struct rnbdt_ctl_slot *slot;

	if (!rnbdt_ctl_add_leases(s, ring))
		return;
	while ((slot = list_first_entry_or_null(&ctl->ready, struct rnbdt_ctl_slot, entry))) {
		if (!rnbdt_ctl_add_answer(ring, slot))
			return;
		list_move_tail(&slot->entry, &ctl->free);
	}
	while ((att = list_first_entry_or_null(&ctl->events, struct rnbdt_attach,
					       events.entry))) {
		if (!rnbdt_ctl_add_events(ring, att))
			return;
		list_del_init(&att->events.entry);
		if (att->events.detached)
			queue_rcu_work(rnbdt_attach_wq, &att->free_work);
	}
}

/**
 * rnbdt_ctl_send - send waiting answers, events and reports about segments
 * @q: queue 0
 *
 * Entries for which there is no credit continue to wait.
 *
 * Context: any, ring->lock held.
 */
void rnbdt_ctl_send(struct rnbdt_queue *q)
{
	struct rnbdt_ctl *ctl = &q->session->ctl;
	struct rnbd_ring *ring = &q->ring;

	lockdep_assert_held(&ring->lock);

	while (!list_empty(&ctl->ready) || !list_empty(&ctl->events) ||
	       !list_empty(&ctl->leases)) {
		if (!rnbd_ring_open(ring, RNBD_FRAME_CONTROL))
			return;
		rnbdt_ctl_fill(q->session, ring);
		if (rnbd_ring_send(ring, NULL, NULL, IB_SEND_SIGNALED))
			return;
	}
	WRITE_ONCE(ctl->pending, false);
}
