// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orphans: what stays of a request that ends before the target has answered it.
 *
 * Operation: the storage behind one export may hang while the connection serves other
 * disks, so the connection must not end for it. A request that is to fail early
 * leaves an orphan, which has its wire tag and its pool space: the target may still write
 * to the space, and still owes a reply to the tag. The reply frees both. The data of a
 * read are not fetched.
 *
 * Ownership: an orphan belongs to the list of its queue until the reply arrives, or the
 * queue is freed after the connection has ended. Until the disk is removed, the orphan
 * counts for its share of the queue.
 *
 * Concurrency: the lock of the queue's ring protects the list.
 *
 * Errors: without memory for an orphan the caller ends the connection. A reply to a tag
 * that neither a request nor an orphan has is a protocol error.
 */

#include <linux/slab.h>

#include "../core/io.h"
#include "../core/ring.h"
#include "cache.h"
#include "orphan.h"
#include "queue.h"
#include "stall.h"
#include "submit.h"

/**
 * struct rnbdc_orphan - wire tag and pool space of a request that has ended early
 * @next: next in the list of the queue
 * @hwq: hardware queue that tag and space count for; NULL once its disk is removed
 * @wire: request as sent
 * @frame_seq: number of the frame that carries the request
 */
struct rnbdc_orphan {
	struct rnbdc_orphan *next;
	struct rnbdc_hwq *hwq;
	struct rnbd_request wire;
	u32 frame_seq;
};

/* What the orphan has counts for no disk any more. */
static void rnbdc_orphan_leave(struct rnbdc_orphan *orphan)
{
	struct rnbdc_hwq *hwq = orphan->hwq;
	u8 i;

	if (!hwq)
		return;
	for (i = 0; i < orphan->wire.nr_extents; i++)
		hwq->units -= orphan->wire.extents[i].units;
	rnbdc_hwq_put_tag(hwq);
	orphan->hwq = NULL;
}

/**
 * rnbdc_orphan - separate a request from its wire tag and its pool space
 * @q: queue
 * @req: request in state RNBDC_REQ_SENT
 *
 * Context: any; ring.lock held. Allocates without sleeping.
 * Return: true, or false without memory, after which nothing has changed.
 */
bool rnbdc_orphan(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	struct rnbdc_orphan *orphan;

	lockdep_assert_held(&q->ring.lock);

	orphan = kmalloc(sizeof(*orphan), GFP_ATOMIC | __GFP_NOWARN);
	if (!orphan)
		return false;
	orphan->wire = req->wire;
	orphan->frame_seq = req->frame_seq;
	orphan->next = q->orphans;
	q->orphans = orphan;
	q->stats.orphans++;
	q->reqs[req->wire.tag] = NULL;
	if (q->query.req == req)
		q->query.req = NULL;
	/* It counts for the disk, which may otherwise fill the queue with orphans. */
	orphan->hwq = req->hwq;
	req->wire.nr_extents = 0;
	req->orphaned = true;
	return true;
}

/**
 * rnbdc_orphan_reply - handle the reply to a request that has ended early
 * @q: queue
 * @reply: reply to a tag that no request has
 *
 * Context: completion handler of @q, ring.lock held.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_orphan_reply(struct rnbdc_queue *q, const struct rnbd_reply *reply)
{
	struct rnbdc_orphan **at = &q->orphans, *orphan;
	enum rnbd_proto_err perr;

	lockdep_assert_held(&q->ring.lock);

	while ((orphan = *at) && orphan->wire.tag != reply->tag)
		at = &orphan->next;
	if (!orphan || (q->ring.open && orphan->frame_seq == q->ring.send_seq))
		return RNBD_PERR_TAG;
	perr = rnbd_check_reply(reply, &orphan->wire);
	if (perr)
		return perr;
	*at = orphan->next;
	rnbdc_orphan_leave(orphan);
	if (orphan->wire.nr_extents)
		rnbdc_space_free(&q->cache, orphan->wire.extents, orphan->wire.nr_extents);
	q->free_tags[q->nr_free_tags++] = reply->tag;
	q->in_flight--;
	kfree(orphan);
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_orphans_leave - let the orphans of a hardware queue count for no disk any more
 * @hwq: hardware queue of a disk that is being removed
 *
 * Context: process context; takes the lock of the queue's ring.
 */
void rnbdc_orphans_leave(struct rnbdc_hwq *hwq)
{
	struct rnbdc_orphan *orphan;

	spin_lock_irq(&hwq->queue->ring.lock);
	for (orphan = hwq->queue->orphans; orphan; orphan = orphan->next)
		if (orphan->hwq == hwq)
			rnbdc_orphan_leave(orphan);
	spin_unlock_irq(&hwq->queue->ring.lock);
}

/**
 * rnbdc_orphans_free - free the orphans of a queue
 * @q: drained queue, whose pool and tags are about to be freed
 *
 * Context: process context.
 */
void rnbdc_orphans_free(struct rnbdc_queue *q)
{
	struct rnbdc_orphan *orphan;

	spin_lock_irq(&q->ring.lock);
	while ((orphan = q->orphans)) {
		q->orphans = orphan->next;
		rnbdc_orphan_leave(orphan);
		kfree(orphan);
	}
	spin_unlock_irq(&q->ring.lock);
}
