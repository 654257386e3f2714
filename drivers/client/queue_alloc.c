// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a queue: allocation and release.
 *
 * Operation: rnbdc_alloc_queue() allocates struct rnbdc_queue.
 * rnbdc_queue_alloc() computes the size of the send queue and allocates the
 * tables and stages that a connection needs. The I/O path allocates none of this.
 *
 * Ownership: struct rnbdc_queue stays until the session is released, because
 * blk-mq refers to it. Slots, tables and stages are kept for the next connection.
 * They are freed with the session, or earlier if no disk needs a connection.
 *
 * Concurrency: The owner of the connection calls these functions while no
 * request and no completion can reach the queue. There are three exceptions:
 * rnbdc_queue_init_tags() runs while frames can arrive; rnbdc_queue_ready() opens and
 * closes the queue for requests under ring.lock; rnbdc_queue_kill() injects a fault.
 *
 * Errors: A device whose queue pairs are too small for the largest request is
 * refused with -EOPNOTSUPP.
 */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "../core/ring.h"
#include "../core/ring_resize.h"
#include "../core/ring_setup.h"
#include "cache.h"
#include "orphan.h"
#include "queue.h"
#include "queue_alloc.h"
#include "session.h"
#include "share.h"
#include "stage.h"
#include "stall.h"
#include "submit.h"
#include "tags.h"

/*
 * Number of entries up to which a send queue is enlarged for large requests. mlx5 creates no
 * send queue of more than 3276 entries with 30 gather entries each.
 */
#define RNBDC_LARGE_WRS		2560

/*
 * Compute the number of send-queue entries for data. Each requested wire tag needs two entries,
 * or three if the device needs read guards. Add one entry for each gather list that the queue's
 * equal part of the pool can fill, until the sum is RNBDC_LARGE_WRS. The result is at least twice
 * the number of entries that the largest request can need, unless the device has fewer.
 */
static u32 rnbdc_queue_data_wrs(const struct rnbdc_session *sess)
{
	u64 pages = div_u64(sess->opt.pool_bytes >> RNBD_UNIT_SHIFT,
			    rnbdc_requested_queues(sess));
	u32 sge = min(sess->conn.max_sge, sess->conn.max_sge_rd);
	u32 small = (2 + rnbdc_guard_wrs(sess)) * rnbdc_wire_depth(sess->opt.depth);
	u32 large = min_t(u64, small + div_u64(pages, sge), RNBDC_LARGE_WRS);
	u32 want = max3(small, large, 2 * rnbdc_max_req_wrs(sess));
	u32 other = sess->opt.ring_slots + 2;
	u32 have = sess->conn.dev->attrs.max_qp_wr > other ?
		   sess->conn.dev->attrs.max_qp_wr - other : 0;

	return min(want, have);
}

/**
 * rnbdc_queue_alloc - allocate the memory that a queue needs for a connection
 * @q: queue whose session knows its device
 *
 * The caller must call rnbdc_queue_reset() later, even after an error.
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP if the send queue of the device is too small for the
 * largest request.
 */
int rnbdc_queue_alloc(struct rnbdc_queue *q)
{
	const struct rnbdc_session *sess = q->sess;
	u32 depth = rnbdc_wire_depth(sess->opt.depth);

	q->data_cqe.done = rnbdc_data_done;
	q->open_wrs = 0;
	q->open_bytes = 0;
	q->open_reqs = 0;
	q->in_flight = 0;
	q->sent_seq = 0;
	q->waiting = NULL;
	q->send_fence = NULL;
	q->query = (struct rnbdc_query) { };
	q->sq_size = rnbdc_queue_data_wrs(sess);
	q->sq_free = q->sq_size;
	q->max_req_wrs = rnbdc_max_req_wrs(sess);
	if (q->sq_size < q->max_req_wrs)
		return -EOPNOTSUPP;
	q->nr_free_tags = 0;
	/* Tables of an earlier connection have the same sizes and are used again. */
	if (!q->reqs)
		q->reqs = kvcalloc(depth, sizeof(*q->reqs), GFP_KERNEL);
	if (!q->free_tags)
		q->free_tags = kvcalloc(depth, sizeof(*q->free_tags), GFP_KERNEL);
	if (!q->reqs || !q->free_tags || rnbdc_stage_init(&q->out) ||
	    rnbdc_stage_init(&q->in) || rnbdc_orphans_alloc(q, depth))
		return -ENOMEM;
	memset(q->reqs, 0, depth * sizeof(*q->reqs));
	return 0;
}

/**
 * rnbdc_queue_init_tags - make the initial wire tags of a queue available
 * @q: queue after rnbdc_queue_alloc()
 * @depth: granted number of wire tags, at most the requested number
 *
 * Context: process context; no request reaches the queue yet. Takes ring.lock.
 */
void rnbdc_queue_init_tags(struct rnbdc_queue *q, u32 depth)
{
	q->nr_free_tags = 0;
	q->nr_tags = 0;
	rnbd_ring_enable_out(&q->ring, depth);
	rnbdc_queue_grow_tags(q);
}

/**
 * rnbdc_queue_reset - reset the state of a queue after its connection has ended
 * @q: drained queue without requests in flight and without a queue pair
 *
 * The memory of the queue stays allocated for the next connection: writeback can wait for
 * that connection, so that connection must not wait for free memory.
 *
 * Context: process context; takes ring.lock and the lock of the session.
 */
void rnbdc_queue_reset(struct rnbdc_queue *q)
{
	rnbdc_orphans_end(q);
	spin_lock_irq(&q->sess->lock);
	q->joined = false;
	spin_unlock_irq(&q->sess->lock);
}

/**
 * rnbdc_queue_free - free the memory that a queue needs for a connection
 * @q: queue that was never connected or was reset by rnbdc_queue_reset()
 *
 * Context: process context, may sleep.
 */
void rnbdc_queue_free(struct rnbdc_queue *q)
{
	rnbd_ring_free(&q->ring);
	rnbdc_orphans_free(q);
	rnbdc_stage_exit(&q->in);
	rnbdc_stage_exit(&q->out);
	kvfree(q->free_tags);
	q->free_tags = NULL;
	kvfree(q->reqs);
	q->reqs = NULL;
}

/**
 * rnbdc_alloc_queue - allocate a queue of a session
 * @sess: session
 * @index: number of the queue; an existing queue is kept
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdc_alloc_queue(struct rnbdc_session *sess, u32 index)
{
	struct rnbdc_queue *q;

	/* blk-mq refers to the queues, so a reconnect uses them again. */
	if (sess->queues[index])
		return 0;
	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	q->sess = sess;
	q->index = index;
	q->stalled_tail = &q->stalled;
	rnbd_ring_init(&q->ring);
	rnbdc_cache_init(&q->cache, &sess->space, &q->ring.lock);
	sess->queues[index] = q;
	return 0;
}

/**
 * rnbdc_queue_kill - put the queue pair into the error state (fault injection)
 * @q: queue of a live session
 *
 * Context: process context, may sleep.
 */
void rnbdc_queue_kill(struct rnbdc_queue *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ib_modify_qp(q->ring.qp, &attr, IB_QP_STATE);
}

/**
 * rnbdc_queue_ready - open or close a queue for requests
 * @q: queue
 * @ready: true to open the queue, which must be connected and have all its memory; false to
 *	close it
 *
 * Context: process context; takes ring.lock.
 */
void rnbdc_queue_ready(struct rnbdc_queue *q, bool ready)
{
	spin_lock_irq(&q->ring.lock);
	WRITE_ONCE(q->ready, ready);
	if (!ready)
		rnbdc_clear_stalled(q);
	spin_unlock_irq(&q->ring.lock);
}
