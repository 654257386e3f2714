/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decision whether a finished request may end as part of a batch.
 *
 * Operation: a batch ends all its requests with success, so a request that failed or will
 * be sent again must not join it. blk_mq_add_to_batch() cannot decide that, because the
 * meaning of its third argument differs: an errno in some kernels ("ioerror < 0" is an
 * error in Linux 6.12.16 to 6.12.19), a bool in others, while a blk_status_t is positive.
 * The client therefore decides itself, and passes a constant that means "no error" in all
 * kernels.
 * Ownership: none.
 * Concurrency: pure function of its arguments and of the batch of the caller.
 * Errors: none. tests/unit/test_batch.c brings its own blk_mq_add_to_batch().
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
 * Return: true if the batch ends the request, false if the caller must do it.
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
