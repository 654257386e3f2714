// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a queue, and the end of its connection.
 *
 * Operation: the handler of a connection request allocates a queue. A queue has a request
 * structure for each tag that the client may use. The first structures are allocated when the
 * depth is known: for queue 0 at the login, and for another queue when the queue joins. Further
 * ones are allocated and freed when the client changes the number of tags. The teardown stops,
 * drains and destroys the ring. The teardown frees the queue when the backend has completed all
 * requests and the connection id is destroyed.
 *
 * Concurrency: once a session has begun, only its teardown calls rnbdt_queue_stop(),
 * rnbdt_queue_wait_idle() and rnbdt_queue_free() for queue 0 and for the queues that have joined,
 * in this order. q->inflight starts at one; rnbdt_queue_wait_idle() subtracts this one after the
 * ring was drained.
 *
 * Errors: if an allocation fails, the target refuses the connection, the login or the join, or
 * allows the client fewer tags than it requested.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/completion.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "../core/ring.h"
#include "graph.h"
#include "queue.h"
#include "queue_alloc.h"
#include "queue_budget.h"
#include "reply.h"
#include "request.h"
#include "session.h"

/**
 * rnbdt_queue_alloc - allocate a queue without ring and requests
 * @s: session of the queue
 * @index: index of the queue in the session
 * @id: id of the connection
 *
 * Context: process context; may sleep.
 * Return: the queue, or NULL if there is no memory.
 */
struct rnbdt_queue *rnbdt_queue_alloc(struct rnbdt_session *s, u16 index,
				      struct rdma_cm_id *id)
{
	struct rnbdt_queue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return NULL;
	rnbd_ring_init(&q->ring);
	q->session = s;
	q->cm_id = id;
	q->index = index;
	INIT_LIST_HEAD(&q->done);
	atomic_set(&q->inflight, 1);
	init_completion(&q->idle);
	INIT_WORK(&q->reply_work, rnbdt_reply_work);
	return q;
}

/* Allocate the next chunk of request structures. Return 0 or -ENOMEM. */
static int rnbdt_queue_grow(struct rnbdt_queue *q, gfp_t gfp)
{
	struct rnbdt_req_chunk *chunk = kzalloc(sizeof(*chunk), gfp);
	u32 i;

	if (!chunk)
		return -ENOMEM;
	for (i = 0; i < RNBDT_REQ_CHUNK; i++)
		chunk->reqs[i].queue = q;
	/* pairs with the acquire in rnbdt_queue_req() */
	smp_store_release(&q->chunks[q->nr_chunks], chunk);
	q->nr_chunks++;
	return 0;
}

/* Free the last chunk of request structures. */
static void rnbdt_queue_shrink(struct rnbdt_queue *q)
{
	struct rnbdt_req_chunk *chunk = q->chunks[--q->nr_chunks];

	WRITE_ONCE(q->chunks[q->nr_chunks], NULL);
	kfree_rcu(chunk, rcu);
}

/**
 * rnbdt_queue_alloc_reqs - allocate the first request structures of a queue
 * @q: queue of a session whose depth is known
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_queue_alloc_reqs(struct rnbdt_queue *q)
{
	u32 nr = DIV_ROUND_UP(q->session->granted.depth, RNBDT_REQ_CHUNK);

	q->chunks = kcalloc(nr, sizeof(*q->chunks), GFP_KERNEL);
	return q->chunks ? rnbdt_queue_grow(q, GFP_KERNEL) : -ENOMEM;
}

/**
 * rnbdt_queue_set_depth - allocate or free request structures to match a number of tags
 * @q: queue that has joined its session
 * @depth: number of requests that may be in flight; the client uses only tags below @depth
 *
 * Context: slots work of the ring; may sleep.
 * Return: @depth, or less if there is no memory or a limit forbids more.
 */
u16 rnbdt_queue_set_depth(struct rnbdt_queue *q, u16 depth)
{
	u32 nr = DIV_ROUND_UP(depth, RNBDT_REQ_CHUNK);

	if (nr > q->nr_chunks && rnbdt_queue_budget_requests(q, nr))
		while (q->nr_chunks < nr &&
		       !rnbdt_queue_grow(q, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN))
			;
	while (q->nr_chunks > nr)
		rnbdt_queue_shrink(q);
	/* Reduce the charge if structures were freed now, or if an allocation has failed. */
	rnbdt_queue_budget_requests(q, q->nr_chunks);
	return min_t(u32, depth, q->nr_chunks * RNBDT_REQ_CHUNK);
}

/**
 * rnbdt_queue_unused_from - test that no request in flight uses a tag of a depth or higher
 * @q: queue that has joined a live session
 * @depth: number of tags that the client asks to have from now on: the tags from 0 to @depth - 1
 *
 * Context: completion handler of @q.
 * Return: true if no request in flight uses a tag of @depth or higher.
 */
bool rnbdt_queue_unused_from(const struct rnbdt_queue *q, u16 depth)
{
	const struct rnbdt_req *treq;
	u32 tag;

	for (tag = depth; (treq = rnbdt_queue_req(q, tag)); tag++)
		/* pairs with the release in rnbdt_queue_send_replies() */
		if (smp_load_acquire(&treq->busy))
			return false;
	return true;
}

/**
 * rnbdt_queue_make_slots - replace the array of queues by one for the granted number
 * @s: session that is logging in and has queue 0
 * @nr: granted number of queues
 *
 * Context: login work; locks the host, may sleep.
 * Return: 0, -ENOMEM, or -ENOTCONN if the session was closed.
 */
int rnbdt_queue_make_slots(struct rnbdt_session *s, u32 nr)
{
	struct rnbdt_queue **queues;

	if (nr <= s->nr_slots)
		return 0;
	queues = kvcalloc(nr, sizeof(*queues), GFP_KERNEL);
	if (!queues)
		return -ENOMEM;
	queues[0] = s->queue0;
	rnbdt_host_lock(s->host);
	/* Keep the array of a closing session: its teardown reads the array without the lock. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN) {
		rnbdt_host_unlock(s->host);
		kvfree(queues);
		return -ENOTCONN;
	}
	/* A reader that still reads the old number can use the new array, which is longer. */
	smp_store_release(&s->queues, queues);
	/* pairs with the acquire in rnbdt_session_stats() */
	smp_store_release(&s->nr_slots, nr);
	rnbdt_host_unlock(s->host);
	return 0;
}

/**
 * rnbdt_queue_stop - fail the ring of a queue and disconnect its connection
 * @q: queue of a closing session, or queue that failed before it joined. If the queue has no ring,
 *	the function does nothing
 *
 * Context: process context; may sleep.
 */
void rnbdt_queue_stop(struct rnbdt_queue *q)
{
	if (!q->ring.qp)
		return;
	rnbd_ring_fail(&q->ring, "session closed");
	rdma_disconnect(q->cm_id);
}

/**
 * rnbdt_queue_wait_idle - wait until no context uses the requests of a queue
 * @q: drained queue of a session without bound attachments
 *
 * When this function is called, the storage has completed all requests of the queue, and no work
 * item submits any. However, a context that has just completed a request can still use the queue.
 *
 * Context: process context; may sleep briefly. Called once per queue.
 */
void rnbdt_queue_wait_idle(struct rnbdt_queue *q)
{
	if (!atomic_dec_and_test(&q->inflight))
		wait_for_completion(&q->idle);
	cancel_work_sync(&q->reply_work);
}

/**
 * rnbdt_queue_free - free a queue and its requests
 * @q: queue whose ring was destroyed or never created; its connection id was destroyed or belongs
 *	to another owner
 *
 * Context: process context; may sleep.
 */
void rnbdt_queue_free(struct rnbdt_queue *q)
{
	kfree(q->join);
	while (q->nr_chunks)
		rnbdt_queue_shrink(q);
	kfree(q->chunks);
	kfree_rcu(q, rcu);
}
