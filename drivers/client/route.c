// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routing: choice of the queue of the session that carries the requests of a hardware queue.
 *
 * Operation: The number of hardware queues is fixed when the disk is attached, but a
 * session is possibly unable to make all its connections. Therefore each hardware
 * queue of blk-mq has two struct rnbdc_hwq: its own for the queue with its index, and a
 * spare for queue 0, which is always connected in a live session. hctx->driver_data
 * points to the struct in use. A request keeps the struct through which it was submitted,
 * because that struct counts its tag and its pool space. So when the hardware queue
 * changes to the other struct, requests in flight stay on their queue.
 *
 * Ownership: Both structs belong to the disk.
 *
 * Concurrency: recovery.lock serialises the changes. Unless the disk is suspended, a task in
 * queue_rq can use the former struct until an RCU grace period has passed after a change, and
 * leave a request in the open frame of the former queue. further.c therefore waits for the
 * grace period and then sends that frame.
 *
 * Errors: none.
 */

#include <linux/blk-mq.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>

#include "disk.h"
#include "queue.h"
#include "route.h"
#include "session.h"
#include "stall.h"

/* Select the own or the spare struct for a hardware queue. Returns true if this is a change. */
static bool rnbdc_route(struct rnbdc_hwq *own, struct rnbdc_hwq *spare)
{
	struct rnbdc_hwq *use = READ_ONCE(own->queue->ready) ? own : spare;
	struct rnbdc_hwq *old = use == own ? spare : own;
	struct blk_mq_hw_ctx *hctx = own->hctx;

	if (hctx->driver_data == use)
		return false;
	rnbdc_hwq_use(use, true);
	WRITE_ONCE(hctx->driver_data, use);
	rnbdc_hwq_use(old, false);
	/* The hardware queue can be stopped for lack of a resource that its new queue has. */
	blk_mq_start_stopped_hw_queue(hctx, true);
	return true;
}

/**
 * rnbdc_disk_route - route the hardware queues of a disk to the connected queues
 * @disk: disk with a gendisk, of a live session
 *
 * Context: process context; recovery.lock held.
 * Return: true if a hardware queue uses another queue than before.
 */
bool rnbdc_disk_route(struct rnbdc_disk *disk)
{
	bool changed = false;
	u32 i;

	lockdep_assert_held(&disk->sess->recovery.lock);

	for (i = 0; i < disk->nr_queues; i++)
		changed |= rnbdc_route(&disk->hwqs[i], &disk->hwqs[disk->nr_queues + i]);
	return changed;
}
