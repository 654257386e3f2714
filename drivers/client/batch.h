/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decision whether a finished request may end as part of a batch.
 *
 * Operation: a batch ends all its requests with success, so a request that failed or will
 * be sent again must not join a batch. The client decides this itself and does not pass the
 * status of the request to blk_mq_add_to_batch(), because the third argument of that function
 * differs between kernels: in some it is an int that means an error only if it is negative
 * (for example Linux 6.12.16 to 6.12.19), which a blk_status_t never is; in others every
 * value except 0 means an error. The client passes false, which is "no error" in all kernels.
 * Ownership: none.
 * Concurrency: no lock; the function changes only the request and the batch of the caller.
 * Errors: none. The unit test tests/unit/test_batch.c defines its own blk_mq_add_to_batch().
 */
#ifndef RNBDC_BATCH_H
#define RNBDC_BATCH_H

#ifdef __KERNEL__
#include <linux/blk-mq.h>
#endif

/**
 * rnbdc_add_to_batch - add a request to a batch if it ended with success
 * @rq: finished request
 * @iob: batch
 * @replay: the request will be sent again
 * @status: result of the request
 * @complete: handler that ends the requests of the batch
 *
 * Context: any.
 * Return: true if the request was added to the batch, whose handler ends it; false if the
 * caller must end or requeue the request.
 */
static inline bool rnbdc_add_to_batch(struct request *rq, struct io_comp_batch *iob,
				      bool replay, blk_status_t status,
				      void (*complete)(struct io_comp_batch *iob))
{
	if (unlikely(replay || status != BLK_STS_OK))
		return false;
	return blk_mq_add_to_batch(rq, iob, false, complete);
}

#endif /* RNBDC_BATCH_H */
