/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O statistics of an export or a host. See iostat.c.
 */
#ifndef RNBDT_IOSTAT_H
#define RNBDT_IOSTAT_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <rnbd/wire.h>

#include "../core/op.h"

/*
 * Number of buckets of a histogram. Bucket i counts the requests that took less than 2^i
 * microseconds but too long for bucket i - 1. The last bucket counts all requests that took at
 * least 2^22 microseconds (4.2 seconds).
 */
#define RNBDT_LATENCY_BUCKETS	24

/* Upper bound of the statuses of a request: all are less than RNBD_ST_MALFORMED. */
#define RNBDT_IO_STATUSES	RNBD_ST_MALFORMED

/**
 * struct rnbdt_op_stat - statistics of one operation
 * @bytes: sum of the lengths of the successful requests, in bytes
 * @nsecs: sum of the latencies of all requests, in nanoseconds
 * @latency: number of requests by latency, see RNBDT_LATENCY_BUCKETS
 */
struct rnbdt_op_stat {
	u64 bytes;
	u64 nsecs;
	u64 latency[RNBDT_LATENCY_BUCKETS];
};

/**
 * struct rnbdt_iostat_cpu - statistics of the requests that completed on one CPU
 * @ops: statistics by enum rnbd_op; member 0 is not used
 */
struct rnbdt_iostat_cpu {
	struct rnbdt_op_stat ops[RNBD_OP_END];
};

/**
 * struct rnbdt_iostat - I/O statistics of an export or a host
 * @cpu: statistics by CPU; readers show the sum over all CPUs
 * @errors: number of failed requests by enum rnbd_status
 */
struct rnbdt_iostat {
	struct rnbdt_iostat_cpu __percpu *cpu;
	atomic64_t errors[RNBDT_IO_STATUSES];
};

int rnbdt_iostat_init(struct rnbdt_iostat *stat);
void rnbdt_iostat_exit(struct rnbdt_iostat *stat);
void rnbdt_iostat_count(struct rnbdt_iostat *export, struct rnbdt_iostat *host, u8 op,
			u16 status, u32 bytes, u64 nsecs);
ssize_t rnbdt_iostat_show(const struct rnbdt_iostat *stat, char *page);
ssize_t rnbdt_iostat_show_errors(const struct rnbdt_iostat *stat, char *page);

#endif /* RNBDT_IOSTAT_H */
