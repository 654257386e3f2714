/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times at which the parts of a timed adapter are in use; see timing.c.
 *
 * Operation: the times are those of the clock in clock.h, in ns.
 * Ownership: the structures are parts of devices and queue pairs.
 * Concurrency: only engines use them, with interrupts disabled, on the only processor.
 * Errors: none.
 */
#ifndef MDL_TIMING_H
#define MDL_TIMING_H

#include <linux/types.h>

#include "profile.h"

/* Exceeds the number of READs that a queue pair can have in flight in any profile. */
#define MDL_TIMING_READS	256

struct mdl_dev;
struct mdl_qp;
struct mdl_swqe;

/* Capacity of a lane. A request in flight needs at most one span of each lane. */
#define MDL_TIMING_SPANS	512

/* Time during which a part of an adapter is in use; @to is exclusive. */
struct mdl_span {
	u64 from;
	u64 to;
};

/**
 * struct mdl_lane - part of an adapter that processes one request at a time
 * @n: number of used entries of @spans
 * @spans: reserved times, in ascending order, separated by gaps
 */
struct mdl_lane {
	u32 n;
	struct mdl_span spans[MDL_TIMING_SPANS];
};

/**
 * struct mdl_busy - times at which the parts of a device are in use
 * @timing: timing of the profile, changed by the module parameters
 * @slowdown: factor by which the times in @timing were multiplied
 * @wqe: lane that processes work requests
 * @pcie: lane that reads data from host memory
 * @wire: lane of the wire, for sent messages
 */
struct mdl_busy {
	struct mdl_timing timing;
	u32 slowdown;
	struct mdl_lane wqe;
	struct mdl_lane pcie;
	struct mdl_lane wire;
};

/**
 * struct mdl_pace - progress of the send queue of a queue pair
 * @sq: time before which no further request starts
 * @sent: time at which the wire has sent the last message of the requester
 * @answered: time at which the wire has sent the last READ response of the responder
 * @reads: number of READs so far
 * @read_ends: times at which the latest READs end; a ring indexed by @reads
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
