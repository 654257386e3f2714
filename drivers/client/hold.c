// SPDX-License-Identifier: GPL-2.0-only
/*
 * Held writes: requests that the target can still execute after a loss.
 *
 * Operation
 *
 * After a connection is lost, the target can still execute requests that it has received: it
 * notices the loss up to four keep-alive intervals after the client, and its storage can be
 * slow. If a write failed at the client, an application or dm-multipath would send it again
 * over another path, and then newer writes. The old copy of the write could overwrite the
 * newer data. So the client holds every request that modifies the disk and was sent, with any
 * policy of the disk, until the target can no longer execute the request. The target confirms
 * that by granting the attachment of the export again, because a target grants an attachment
 * only when its storage has no request of an older attachment by the same host. The client
 * then sends the held requests again. Reads, flushes, and requests that were never sent cannot
 * do such harm: the policy decides about them.
 *
 * Requests are not held if the disk is being attached, detached or deactivated, or has failed.
 * Held requests fail when the disk is detached or fails. A disk fails after loss_timeout,
 * unless the target answers BUSY; when the administrator deactivates the disk; when the target
 * permanently refuses the attach or login of a fenced host or of a former owner, which it does
 * only after the older requests have ended; and when the export has possibly lost acknowledged
 * writes. loss_timeout is long enough for a target without a connection to notice the loss
 * (option_table.c).
 *
 * Ownership
 *
 * The list rnbdc_disk.held owns a held request. For the block layer the request is in
 * flight. It has no mapped pages, no pool space and no wire tag.
 *
 * Concurrency: recovery.lock protects the list; nr_held is also read without the lock. The
 * time-out handler reads the state of a request without recovery.lock.
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
 * rnbdc_must_hold - test whether a request modifies the disk and was possibly sent
 * @req: request in flight of a queue that is drained
 *
 * Context: teardown of the connection; the queue has no other user.
 * Return: true if the request modifies the disk and the frame that carries it was posted.
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

	/* Unmap now: the RDMA device is possibly removed before the request ends. */
	rnbdc_req_unmap(req);
	WRITE_ONCE(req->state, RNBDC_REQ_HELD);
	req->next = disk->held;
	disk->held = req;
	WRITE_ONCE(disk->nr_held, disk->nr_held + 1);
}

/**
 * rnbdc_held_release - return all held requests of a disk to the block layer
 * @disk: with @replay a live disk with quiesced queues, otherwise a disk with
 *	RNBDC_DISK_FAIL_IO set
 * @replay: requeue the requests, so that they are sent again; otherwise fail them
 *
 * Context: process context, recovery.lock held.
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
		/* With @replay the request stays RNBDC_REQ_HELD, so a time-out does not end it. */
		if (!replay) {
			WRITE_ONCE(req->state, RNBDC_REQ_IDLE);
			req->status = rnbdc_down_status(disk);
		}
		blk_mq_complete_request(blk_mq_rq_from_pdu(req));
		req = next;
	}
}
