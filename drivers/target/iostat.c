// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O statistics: requests, bytes, errors and latencies of an export or a host.
 *
 * Operation
 *
 * When the result of a request is known, rnbdt_req_done() counts the request for the export and
 * for the host of the session, before the reply is sent. Requests with the status RNBD_ST_CLOSED
 * are not counted here. Requests that were dropped because their session is closing or their
 * epoch is old are counted in rnbdt_export.stale_requests instead. The latency of a request is
 * the time from when its frame is decoded until its result is known, without the time on the
 * network.
 *
 * Ownership
 *
 * The statistics are part of the export or the host. They begin at zero when the configfs
 * directory of the export or host is created, and are kept over sessions, reconnects and writes
 * to "enable". configfs_*.c show them.
 *
 * Concurrency
 *
 * Each CPU has its own counters, and this_cpu operations change them without a lock. Errors are
 * rare and use shared atomic counters. A reader adds up the counters of all CPUs without a lock,
 * so numbers that are read during I/O can belong to different moments. No number decreases from
 * one read to the next, except on a 32-bit machine, where a reader can see a half-written
 * number.
 *
 * Errors: failed requests whose status has no name in rnbdt_io_errors are shown as "other".
 */

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sysfs.h>
#include <linux/time64.h>

#include "iostat.h"

static const char * const rnbdt_io_errors[] = {
	[RNBD_ST_IO]		= "io",
	[RNBD_ST_MEDIUM]	= "medium",
	[RNBD_ST_NOSPC]		= "nospc",
	[RNBD_ST_READONLY]	= "readonly",
	[RNBD_ST_RANGE]		= "range",
	[RNBD_ST_NOTSUPP]	= "notsupp",
	[RNBD_ST_NOMEM]		= "nomem",
	[RNBD_ST_GONE]		= "device_removed",
	[RNBD_ST_RESV]		= "resv",
	[RNBD_ST_REFUSED]	= "refused",
	[RNBD_ST_PROTECTION]	= "protection",
};

/* Largest number of characters in the line of one operation */
#define RNBDT_OP_LINE_MAX	((RNBDT_LATENCY_BUCKETS + 3) * 21 + 64)

/**
 * rnbdt_iostat_init - allocate statistics that are all zero
 * @stat: statistics in zeroed memory
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_iostat_init(struct rnbdt_iostat *stat)
{
	stat->cpu = alloc_percpu(struct rnbdt_iostat_cpu);
	return stat->cpu ? 0 : -ENOMEM;
}

/**
 * rnbdt_iostat_exit - free statistics
 * @stat: statistics that no request and no reader uses any longer
 *
 * Context: any context that may free per-CPU memory.
 */
void rnbdt_iostat_exit(struct rnbdt_iostat *stat)
{
	free_percpu(stat->cpu);
}

static void rnbdt_iostat_add(struct rnbdt_iostat *stat, u8 op, u16 status, u32 bytes, u64 nsecs,
			     u32 bucket)
{
	struct rnbdt_iostat_cpu __percpu *cpu = stat->cpu;

	this_cpu_inc(cpu->ops[op].latency[bucket]);
	this_cpu_add(cpu->ops[op].nsecs, nsecs);
	if (likely(status == RNBD_ST_OK))
		this_cpu_add(cpu->ops[op].bytes, bytes);
	else
		atomic64_inc(&stat->errors[status]);
}

/**
 * rnbdt_iostat_count - count a completed request
 * @export: statistics of its export
 * @host: statistics of its host
 * @op: enum rnbd_op, accepted by the decoder
 * @status: result, enum rnbd_status
 * @bytes: length of the request in bytes
 * @nsecs: latency of the request in nanoseconds
 *
 * Context: any.
 */
void rnbdt_iostat_count(struct rnbdt_iostat *export, struct rnbdt_iostat *host, u8 op,
			u16 status, u32 bytes, u64 nsecs)
{
	u32 bucket = min_t(u32, fls64(div_u64(nsecs, NSEC_PER_USEC)), RNBDT_LATENCY_BUCKETS - 1);

	if (WARN_ON_ONCE(status >= RNBDT_IO_STATUSES))
		status = RNBD_ST_IO;
	rnbdt_iostat_add(export, op, status, bytes, nsecs, bucket);
	rnbdt_iostat_add(host, op, status, bytes, nsecs, bucket);
}

static void rnbdt_iostat_sum(const struct rnbdt_iostat *stat, u8 op, struct rnbdt_op_stat *sum)
{
	int cpu;
	u32 i;

	*sum = (struct rnbdt_op_stat) { };
	for_each_possible_cpu(cpu) {
		const struct rnbdt_op_stat *part = &per_cpu_ptr(stat->cpu, cpu)->ops[op];

		sum->bytes += READ_ONCE(part->bytes);
		sum->nsecs += READ_ONCE(part->nsecs);
		for (i = 0; i < RNBDT_LATENCY_BUCKETS; i++)
			sum->latency[i] += READ_ONCE(part->latency[i]);
	}
}

/**
 * rnbdt_iostat_show - print requests, bytes and latencies
 * @stat: statistics
 * @page: result, one page: a line per operation
 *
 * Context: process context; takes no lock.
 * Return: number of characters.
 */
ssize_t rnbdt_iostat_show(const struct rnbdt_iostat *stat, char *page)
{
	struct rnbdt_op_stat sum;
	int len = 0;
	u32 i;
	u8 op;

	BUILD_BUG_ON((RNBD_OP_END - 1) * RNBDT_OP_LINE_MAX > PAGE_SIZE);

	for (op = 0; op < RNBD_OP_END; op++) {
		u64 requests = 0;

		if (!rnbd_op_find(op))
			continue;
		rnbdt_iostat_sum(stat, op, &sum);
		/* Each request is counted in one bucket: add up the buckets. */
		for (i = 0; i < RNBDT_LATENCY_BUCKETS; i++)
			requests += sum.latency[i];
		len += sysfs_emit_at(page, len, "%s requests=%llu bytes=%llu nsecs=%llu latency=",
				     rnbd_op_text(op), requests, sum.bytes, sum.nsecs);
		for (i = 0; i < RNBDT_LATENCY_BUCKETS; i++)
			len += sysfs_emit_at(page, len, "%s%llu", i ? "," : "", sum.latency[i]);
		len += sysfs_emit_at(page, len, "\n");
	}
	return len;
}

/**
 * rnbdt_iostat_show_errors - print the numbers of failed requests by status
 * @stat: statistics
 * @page: result, one page: a line for each status that has a name, and one for all others
 *
 * Context: process context; takes no lock.
 * Return: number of characters.
 */
ssize_t rnbdt_iostat_show_errors(const struct rnbdt_iostat *stat, char *page)
{
	u64 other = 0;
	int len = 0;
	u16 status;

	for (status = RNBD_ST_OK + 1; status < RNBDT_IO_STATUSES; status++) {
		u64 errors = atomic64_read(&stat->errors[status]);

		if (status < ARRAY_SIZE(rnbdt_io_errors) && rnbdt_io_errors[status])
			len += sysfs_emit_at(page, len, "%s %llu\n", rnbdt_io_errors[status],
					     errors);
		else
			other += errors;
	}
	return len + sysfs_emit_at(page, len, "other %llu\n", other);
}
