/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Busy times of the parts of a timed adapter; timing.c explains them.
 *
 * Operation: the times are those of the clock in clock.h, in ns.
 * Ownership: parts of devices and queue pairs.
 * Concurrency: used by the engines with interrupts disabled on one processor.
 * Errors: none.
 */
#ifndef MDL_TIMING_H
#define MDL_TIMING_H

#include <linux/types.h>

#include "profile.h"

/* READs that a queue pair may have in flight, in any profile. */
#define MDL_TIMING_READS	256

struct mdl_dev;
struct mdl_qp;
struct mdl_swqe;

/**
 * struct mdl_busy - until when the parts of a device are in use
 * @timing: timing table of the device, with the settings of the module
 * @wqe: processing of work requests
 * @pcie: reading of host memory
 * @wire: sending
 */
struct mdl_busy {
	struct mdl_timing timing;
	u64 wqe;
	u64 pcie;
	u64 wire;
};

/**
 * struct mdl_pace - how far the send queue of a queue pair is
 * @sq: time before which no further request is executed
 * @reads: number of READs so far
 * @read_ends: when the last of them ended
 */
struct mdl_pace {
	u64 sq;
	u32 reads;
	u64 read_ends[MDL_TIMING_READS];
};

void mdl_timing_init(struct mdl_dev *dev);
void mdl_timing_request(struct mdl_qp *qp, struct mdl_dev *peer, struct mdl_swqe *wqe);
u32 mdl_timing_blocks(const struct mdl_dev *dev, const struct mdl_swqe *wqe);

#endif
