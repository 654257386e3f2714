// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a queue, and the end of its connection.
 *
 * Operation: the handler of a connection request allocates a queue. Its requests,
 * one per tag, are allocated when the depth is known: at login for queue 0, at the
 * connection for the others. The teardown stops the ring and, when the backend has
 * completed all requests, destroys the ring and the connection id, and frees the queue.
 *
 * Concurrency: rnbdt_queue_stop(), rnbdt_queue_wait_idle() and rnbdt_queue_free()
 * are called by the teardown only, in this order. q->inflight starts at one, which
 * rnbdt_queue_wait_idle() drops after the ring was drained.
 *
 * Errors: a failed allocation refuses the connection or the login.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/completion.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "../core/ring.h"
#include "queue.h"
#include "queue_alloc.h"
#include "request.h"
#include "session.h"
#include "target.h"

/**
 * rnbdt_queue_alloc - allocate a queue without ring and requests
 * @s: session
 * @index: index of the queue in the session
 * @id: connection
 *
 * Context: process context; may sleep.
 * Return: the queue, or NULL without memory.
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
	return q;
}

/**
 * rnbdt_queue_alloc_reqs - allocate a request for each tag
 * @q: queue of a session whose depth is known
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_queue_alloc_reqs(struct rnbdt_queue *q)
{
	u32 i, depth = q->session->granted.depth;

	q->reqs = kvcalloc(depth, sizeof(*q->reqs), GFP_KERNEL);
	if (!q->reqs)
		return -ENOMEM;
	for (i = 0; i < depth; i++)
		q->reqs[i].queue = q;
	return 0;
}

/**
 * rnbdt_queue_make_slots - make room for the granted number of queues
 * @s: session that is logging in and has queue 0
 * @nr: granted number
 *
 * Context: process context, rnbdt_lock held; may sleep.
 * Return: 0, -ENOMEM, or -ENOTCONN if the session was closed.
 */
int rnbdt_queue_make_slots(struct rnbdt_session *s, u32 nr)
{
	struct rnbdt_queue **queues;

	lockdep_assert_held(&rnbdt_lock);

	/* The teardown of a closing session reads the array without the lock. */
	if (READ_ONCE(s->state) != RNBDT_LOGIN)
		return -ENOTCONN;
	if (nr <= s->nr_slots)
		return 0;
	queues = kvcalloc(nr, sizeof(*queues), GFP_KERNEL);
	if (!queues)
		return -ENOMEM;
	queues[0] = s->queue0;
	/* A reader that still sees the old number may see the new array. */
	smp_store_release(&s->queues, queues);
	/* pairs with the acquire in rnbdt_session_stats() */
	smp_store_release(&s->nr_slots, nr);
	return 0;
}

/**
 * rnbdt_queue_stop - fail the ring of a queue and disconnect
 * @q: queue of a closing session, with or without a ring
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
 * The storage has completed all requests; a context that has answered one of them may
 * still use the queue.
 *
 * Context: process context, may sleep for a moment; called once per queue.
 */
void rnbdt_queue_wait_idle(struct rnbdt_queue *q)
{
	if (!atomic_dec_and_test(&q->inflight))
		wait_for_completion(&q->idle);
}

/**
 * rnbdt_queue_free - free a queue and its requests
 * @q: queue without a ring, whose connection id was destroyed or is not ours
 *
 * Context: process context; may sleep.
 */
void rnbdt_queue_free(struct rnbdt_queue *q)
{
	kfree(q->join);
	kvfree(q->reqs);
	kfree_rcu(q, rcu);
}
