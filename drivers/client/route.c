// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection that carries a hardware queue of a disk.
 *
 * Operation: the number of hardware queues is fixed when the disk is attached, but not
 * each connection of the session can always be made (rule R16). So a hardware queue of
 * blk-mq has two struct rnbdc_hwq: its own one, for the queue of its own, and a spare one
 * for queue 0, which a live session always has. The driver data of the hardware queue
 * point to the one in use. A request keeps the one with which it was submitted, which
 * counts its tag and its space, so requests in flight stay where they are when the
 * hardware queue changes to the other one.
 *
 * Ownership: both belong to the disk.
 *
 * Concurrency: recovery.lock serialises the changes. A task in queue_rq may use the former
 * one until an RCU grace period has passed, and leave a request in an open frame; the
 * caller waits for that and sends the frame (further.c).
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

/* Choose the hardware queue of the disk for a hardware queue of blk-mq. */
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
	/* What it waited for may be there now. */
	blk_mq_start_stopped_hw_queue(hctx, true);
	return true;
}

/**
 * rnbdc_disk_route - let the hardware queues of a disk use the queues that are connected
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
