// SPDX-License-Identifier: GPL-2.0-only
/*
 * Held writes: requests that the target may still execute after a loss.
 *
 * Operation
 *
 * When a connection is lost, the target may have requests of it that it executes
 * later: it notices the loss up to four keep-alive intervals after the client, and
 * its storage may be slow. An application or dm-multipath that gets a write back
 * with an error sends it again over another path, and newer writes after it. The
 * old copy would then overwrite the newer data. So the client keeps every request
 * that modifies the disk and was sent, whatever the disk's policy is, until the
 * target confirms that it cannot execute them: it grants the export to the disk again
 * only when its storage holds no request of an older attachment. They are then sent
 * again. Reads, and requests that were never sent, cannot do harm and do as the policy
 * says.
 *
 * Held requests fail when the disk fails or is detached by force: after loss_timeout,
 * unless the target answers that it is busy, when the administrator deactivates it, and
 * when a request to attach, or the login of a fenced host, is refused for good: the target
 * waits for the older requests first. loss_timeout is long enough for a target that is cut
 * off to notice the loss (option_table.c).
 *
 * Ownership
 *
 * A held request belongs to the list in rnbdc_disk.held. For the block layer it
 * is in flight. It has no mapped pages, pool space or tag of a queue.
 *
 * Concurrency: the list is protected by recovery.lock; nr_held is read without it. The
 * state of a request is read without a lock by its time-out.
 *
 * Errors: none; holding allocates no memory.
 */

#include <linux/blk-mq.h>
#include <linux/lockdep.h>

#include "../core/op.h"
#include "data.h"
#include "disk.h"
#include "hold.h"
#include "queue.h"
#include "session.h"
#include "submit.h"

/**
 * rnbdc_must_hold - test whether the target may still execute a request
 * @req: request in flight of a queue that is drained
 *
 * Context: teardown of the connection; the queue has no other user.
 * Return: true if the request modifies the disk and the frame with it was posted.
 */
bool rnbdc_must_hold(const struct rnbdc_req *req)
{
	return rnbd_ops[req->wire.op].modifies && rnbdc_req_posted(req);
}

/**
 * rnbdc_hold - keep a request of a lost connection
 * @req: request that no queue refers to and whose pages the device has released
 *
 * Context: process context, recovery.lock held.
 */
void rnbdc_hold(struct rnbdc_req *req)
{
	struct rnbdc_disk *disk = req->hwq->disk;

	lockdep_assert_held(&disk->sess->recovery.lock);

	/* The device may be gone when the request ends. */
	rnbdc_req_unmap(req);
	WRITE_ONCE(req->state, RNBDC_REQ_HELD);
	req->next = disk->held;
	disk->held = req;
	WRITE_ONCE(disk->nr_held, disk->nr_held + 1);
}

/**
 * rnbdc_held_release - give all held requests back to the block layer
 * @disk: disk
 * @replay: requeue the requests to be sent again, otherwise fail them
 *
 * Context: process context, recovery.lock held. With @replay the session is live and
 * its queues are quiesced, otherwise I/O of the session fails.
 */
void rnbdc_held_release(struct rnbdc_disk *disk, bool replay)
{
	struct rnbdc_req *req = disk->held;

	lockdep_assert_held(&disk->sess->recovery.lock);

	disk->held = NULL;
	WRITE_ONCE(disk->nr_held, 0);
	while (req) {
		struct rnbdc_req *next = req->next;

		req->replay = replay;
		/* Its time-out ignores a request in RNBDC_REQ_HELD until it is sent again. */
		if (!replay) {
			WRITE_ONCE(req->state, RNBDC_REQ_IDLE);
			req->status = rnbdc_down_status(disk);
		}
		blk_mq_complete_request(blk_mq_rq_from_pdu(req));
		req = next;
	}
}
