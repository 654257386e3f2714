// SPDX-License-Identifier: GPL-2.0-only
/*
 * Held writes: requests that the target may still execute after a loss.
 *
 * Operation
 *
 * After a connection is lost, the target may still execute requests that it has received: it
 * notices the loss up to four keep-alive intervals after the client, and its storage may be
 * slow. An application or dm-multipath whose write fails sends it again over another path,
 * and newer writes after it. The old copy could then overwrite the newer data. So the client
 * holds every request that modifies the disk and was sent, whatever the disk's policy is,
 * until the target can no longer execute it. The target confirms that by granting the export
 * again, because it does so only when its storage holds no request of an older attachment.
 * The client then sends the held requests again. Reads and requests that were never sent
 * cannot do such harm, and are handled by the policy.
 *
 * Held requests fail when the disk fails or is detached by force. A disk fails after
 * loss_timeout, unless the target answers BUSY; when the administrator deactivates it; and
 * when the target permanently refuses the attach, or the login of a fenced host, which the
 * target does only after the older requests have ended. loss_timeout is long enough for a
 * target that is cut off to notice the loss (option_table.c).
 *
 * Ownership
 *
 * The list rnbdc_disk.held owns a held request. For the block layer the request is in
 * flight. It has no mapped pages, no pool space and no wire tag.
 *
 * Concurrency: recovery.lock protects the list; nr_held is read without it. The time-out
 * handler of a request reads its state without a lock.
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
 * rnbdc_hold - hold a request of a lost connection
 * @req: request that no queue refers to, and whose pages the device no longer uses
 *
 * Context: process context, recovery.lock held.
 */
void rnbdc_hold(struct rnbdc_req *req)
{
	struct rnbdc_disk *disk = req->hwq->disk;

	lockdep_assert_held(&disk->sess->recovery.lock);

	/* Unmap now: the device may be gone when the request ends. */
	rnbdc_req_unmap(req);
	WRITE_ONCE(req->state, RNBDC_REQ_HELD);
	req->next = disk->held;
	disk->held = req;
	WRITE_ONCE(disk->nr_held, disk->nr_held + 1);
}

/**
 * rnbdc_held_release - return all held requests to the block layer
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
		/* With @replay the request stays RNBDC_REQ_HELD, which its time-out ignores. */
		if (!replay) {
			WRITE_ONCE(req->state, RNBDC_REQ_IDLE);
			req->status = rnbdc_down_status(disk);
		}
		blk_mq_complete_request(blk_mq_rq_from_pdu(req));
		req = next;
	}
}
