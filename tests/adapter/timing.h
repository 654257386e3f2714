/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The times at which parts of a timed adapter are in use; timing.c explains them.
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

/* Reserved spans of a lane; a request in flight needs one of each lane at most. */
#define MDL_TIMING_SPANS	512

/* A part of an adapter is in use from one time to another. */
struct mdl_span {
	u64 from;
	u64 to;
};

/**
 * struct mdl_lane - part of an adapter that does one thing at a time
 * @n: number of spans
 * @spans: when it is in use: ascending, and separated by gaps
 */
struct mdl_lane {
	u32 n;
	struct mdl_span spans[MDL_TIMING_SPANS];
};

/**
 * struct mdl_busy - when the parts of a device are in use
 * @timing: timing table of the device, with the settings of the module
 * @slowdown: factor that the times of the table contain
 * @wqe: processing of work requests
 * @pcie: reading of host memory
 * @wire: sending
 */
struct mdl_busy {
	struct mdl_timing timing;
	u32 slowdown;
	struct mdl_lane wqe;
	struct mdl_lane pcie;
	struct mdl_lane wire;
};

/**
 * struct mdl_pace - how far the send queue of a queue pair is
 * @sq: time before which no further request is executed
 * @sent: when its last message was on the wire
 * @answered: when the last READ response of the responder was on the wire
 * @reads: number of READs so far
 * @read_ends: when the last of them ended
 */
struct mdl_pace {
	u64 sq;
	u64 sent;
	u64 answered;
	u32 reads;
	u64 read_ends[MDL_TIMING_READS];
};

void mdl_timing_init(struct mdl_dev *dev);
void mdl_timing_request(struct mdl_qp *qp, struct mdl_dev *peer, struct mdl_swqe *wqe);
u32 mdl_timing_blocks(const struct mdl_dev *dev, const struct mdl_swqe *wqe);

#endif
