// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orphans: wire tags and pool space of requests that end before the target has answered
 * them.
 *
 * Operation: The storage behind one export can hang while the connection serves other
 * disks, so the client must not end the connection because storage hangs. A request that
 * the client fails before the reply arrives leaves an orphan. The orphan keeps the wire tag
 * and the pool space of the request reserved, because the target can still access the space
 * and will answer with the tag. The reply frees the tag and the space. If the request was a
 * read, the client does not fetch its data.
 *
 * Ownership: A queue has memory for one orphan per wire tag, so a request can end early
 * without an allocation. An orphan exists until the reply arrives or the connection ends. Its
 * tag and space are charged to its disk (share.c) until the disk is removed.
 *
 * Concurrency: The lock of the queue's ring protects the orphans.
 *
 * Errors: A reply whose tag belongs to no request and no orphan is a protocol error.
 */

#include <linux/mm.h>
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
 * @used: the entry holds an orphan
 * @hwq: hardware queue to which tag and space are charged; NULL once its disk is removed
 * @wire: request as sent
 * @frame_seq: number of the frame that carries the request
 */
struct rnbdc_orphan {
	bool used;
	struct rnbdc_hwq *hwq;
	struct rnbd_request wire;
	u32 frame_seq;
};

/**
 * rnbdc_orphans_alloc - allocate the table of orphans of a queue
 * @q: queue that no request reaches yet
 * @nr: number of wire tags
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM; rnbdc_orphans_free() may be called after either result.
 */
int rnbdc_orphans_alloc(struct rnbdc_queue *q, u32 nr)
{
	struct rnbdc_orphan *orphans;

	/* The table of an earlier connection is used again. */
	if (q->orphans)
		return 0;
	orphans = kvcalloc(nr, sizeof(*orphans), GFP_KERNEL);
	if (!orphans)
		return -ENOMEM;
	/* rnbdc_orphans_leave() for a disk that is being removed can run concurrently. */
	spin_lock_irq(&q->ring.lock);
	q->orphans = orphans;
	q->max_orphans = nr;
	spin_unlock_irq(&q->ring.lock);
	return 0;
}

/* Stop charging an orphan to its hardware queue. */
static void rnbdc_orphan_leave(struct rnbdc_orphan *orphan)
{
	struct rnbdc_hwq *hwq = orphan->hwq;
	u8 i;

	if (!hwq)
		return;
	for (i = 0; i < orphan->wire.nr_extents; i++)
		hwq->units -= orphan->wire.extents[i].units;
	rnbdc_hwq_freed(hwq);
	rnbdc_hwq_put_tag(hwq);
	orphan->hwq = NULL;
}

/**
 * rnbdc_orphan - separate a request from its wire tag and its pool space
 * @q: queue
 * @req: request in state RNBDC_REQ_SENT
 *
 * Context: any; ring.lock held.
 */
void rnbdc_orphan(struct rnbdc_queue *q, struct rnbdc_req *req)
{
	struct rnbdc_orphan *orphan = &q->orphans[req->wire.tag];

	lockdep_assert_held(&q->ring.lock);

	orphan->used = true;
	orphan->wire = req->wire;
	orphan->frame_seq = req->frame_seq;
	q->stats.orphans++;
	q->reqs[req->wire.tag] = NULL;
	if (q->query.req == req)
		q->query.req = NULL;
	/* Charge the orphan to the disk; otherwise the disk could fill the queue with orphans. */
	orphan->hwq = req->hwq;
	req->wire.nr_extents = 0;
	req->orphaned = true;
}

/**
 * rnbdc_orphan_reply - handle the reply to a request that has ended early
 * @q: queue
 * @reply: reply with a tag that no request has
 *
 * Context: completion handler of @q, ring.lock held.
 * Return: RNBD_PERR_NONE or the protocol error.
 */
enum rnbd_proto_err rnbdc_orphan_reply(struct rnbdc_queue *q, const struct rnbd_reply *reply)
{
	struct rnbdc_orphan *orphan = &q->orphans[reply->tag];
	enum rnbd_proto_err perr;

	lockdep_assert_held(&q->ring.lock);

	if (!orphan->used || (q->ring.open && orphan->frame_seq == q->ring.send_seq))
		return RNBD_PERR_TAG;
	perr = rnbd_check_reply(reply, &orphan->wire);
	if (perr)
		return perr;
	rnbdc_orphan_leave(orphan);
	if (orphan->wire.nr_extents)
		rnbdc_space_free(&q->cache, orphan->wire.extents, orphan->wire.nr_extents);
	orphan->used = false;
	q->free_tags[q->nr_free_tags++] = reply->tag;
	q->in_flight--;
	return RNBD_PERR_NONE;
}

/**
 * rnbdc_orphans_leave - stop charging orphans to a hardware queue
 * @hwq: hardware queue of a disk that is being removed
 *
 * Context: process context; takes the lock of the queue's ring.
 */
void rnbdc_orphans_leave(struct rnbdc_hwq *hwq)
{
	struct rnbdc_queue *q = hwq->queue;
	u32 i;

	spin_lock_irq(&q->ring.lock);
	for (i = 0; i < q->max_orphans; i++)
		if (q->orphans[i].used && q->orphans[i].hwq == hwq)
			rnbdc_orphan_leave(&q->orphans[i]);
	spin_unlock_irq(&q->ring.lock);
}

/**
 * rnbdc_orphans_end - end all orphans of a queue
 * @q: drained queue whose wire tags and pool space are about to become invalid
 *
 * Context: process context; takes ring.lock.
 */
void rnbdc_orphans_end(struct rnbdc_queue *q)
{
	u32 i;

	spin_lock_irq(&q->ring.lock);
	for (i = 0; i < q->max_orphans; i++) {
		if (q->orphans[i].used)
			rnbdc_orphan_leave(&q->orphans[i]);
		q->orphans[i].used = false;
	}
	spin_unlock_irq(&q->ring.lock);
}

/**
 * rnbdc_orphans_free - free the table of orphans of a queue
 * @q: queue without orphans: after rnbdc_orphans_end(), or never connected
 *
 * Context: process context, may sleep.
 */
void rnbdc_orphans_free(struct rnbdc_queue *q)
{
	struct rnbdc_orphan *orphans;

	spin_lock_irq(&q->ring.lock);
	orphans = q->orphans;
	q->orphans = NULL;
	q->max_orphans = 0;
	spin_unlock_irq(&q->ring.lock);
	kvfree(orphans);
}
