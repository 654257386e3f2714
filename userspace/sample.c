// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of the statistics of a disk, and the rates between two samples.
 *
 * Operation: value_infos[] has one row per value: its file in sysfs, its names in JSON and for
 * Prometheus, and its unit. Counters of the block layer start at 0 when a disk is attached, most
 * counters in /sys/block/DISK/rnbd when its session is created. If a disk was attached again
 * between two samples, possibly under the same name, rates_between() divides the counters of
 * the newer sample by the time since the attach.
 *
 * Ownership: the caller owns all samples.
 * Concurrency: one thread. The values of one sample are read one after the other while the
 * disk executes I/O.
 * Errors: a negative errno, -ENODEV if the disk no longer exists. A counter that an older
 * module lacks is no error: the sample marks it as missing, and rates that need it are NAN.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sample.h"
#include "util.h"

/* A unit test defines SYS_BLOCK as a directory of its own. */
#ifndef SYS_BLOCK
#define SYS_BLOCK	"/sys/block"
#endif
#define SECTOR		512
/* Number of fields of /sys/block/DISK/stat to parse */
#define STAT_FIELDS	16

#define BLOCK_STAT(_key, _field, _unit, _ms, _metric, _help)	\
	{ #_key, NULL, _field, _unit, _ms, "rnbd_disk_" _metric, _help }
#define SYSFS(_key, _metric, _help)					\
	{ #_key, #_key, 0, 1, false, "rnbd_" _metric, _help }
#define POOL(_key, _file, _metric, _help)				\
	{ #_key, #_file, 0, RNBD_UNIT_SIZE, false, "rnbd_" _metric, _help }

const struct value_info value_infos[NR_VALUES] = {
	[VALUE_READS] = BLOCK_STAT(reads, 0, 1, false, "reads_completed_total",
				   "Reads completed."),
	[VALUE_READ_BYTES] = BLOCK_STAT(read_bytes, 2, SECTOR, false, "read_bytes_total",
					"Bytes read."),
	[VALUE_READ_MS] = BLOCK_STAT(read_ms, 3, 1, true, "read_time_seconds_total",
				     "Time spent by all reads."),
	[VALUE_WRITES] = BLOCK_STAT(writes, 4, 1, false, "writes_completed_total",
				    "Writes completed."),
	[VALUE_WRITE_BYTES] = BLOCK_STAT(write_bytes, 6, SECTOR, false, "written_bytes_total",
					 "Bytes written."),
	[VALUE_WRITE_MS] = BLOCK_STAT(write_ms, 7, 1, true, "write_time_seconds_total",
				      "Time spent by all writes."),
	[VALUE_DISCARDS] = BLOCK_STAT(discards, 11, 1, false, "discards_completed_total",
				      "Discards completed."),
	[VALUE_DISCARD_BYTES] = BLOCK_STAT(discard_bytes, 13, SECTOR, false,
					   "discarded_bytes_total", "Bytes discarded."),
	[VALUE_FLUSHES] = BLOCK_STAT(flushes, 15, 1, false, "flushes_completed_total",
				     "Flushes completed."),
	[VALUE_BUSY_MS] = BLOCK_STAT(busy_ms, 9, 1, true, "io_time_seconds_total",
				     "Time with a request in flight."),
	[VALUE_REQUESTS] = SYSFS(requests, "requests_total",
				 "Requests put into frames."),
	[VALUE_FRAMES_SENT] = SYSFS(frames_sent, "frames_sent_total",
				    "Frames with entries sent."),
	[VALUE_FRAMES_UNSIGNALED] = SYSFS(frames_unsignaled, "frames_unsignaled_total",
					  "Frames sent by unsignaled work requests."),
	[VALUE_FRAMES_RECEIVED] = SYSFS(frames_received, "frames_received_total",
					"Frames with entries received."),
	[VALUE_ENTRIES_SENT] = SYSFS(entries_sent, "entries_sent_total",
				     "Entries in the frames sent."),
	[VALUE_CREDIT_FRAMES_SENT] = SYSFS(credit_frames_sent, "credit_frames_sent_total",
					   "Frames sent only to return credits."),
	[VALUE_CREDIT_FRAMES_RECEIVED] = SYSFS(credit_frames_received,
					       "credit_frames_received_total",
					       "Frames received that only return credits."),
	[VALUE_RDMA_WRITES] = SYSFS(rdma_writes, "rdma_writes_total",
				    "RDMA WRITEs posted."),
	[VALUE_RDMA_READS] = SYSFS(rdma_reads, "rdma_reads_total",
				   "RDMA READs posted."),
	[VALUE_RDMA_WRITE_BYTES] = SYSFS(rdma_write_bytes, "rdma_write_bytes_total",
					 "Bytes moved by RDMA WRITE."),
	[VALUE_RDMA_READ_BYTES] = SYSFS(rdma_read_bytes, "rdma_read_bytes_total",
					"Bytes moved by RDMA READ."),
	[VALUE_COALESCED] = SYSFS(coalesced, "coalesced_requests_total",
				  "Requests whose data shared the RDMA operation of another."),
	[VALUE_GATHERED] = SYSFS(gathered, "frames_gathered_total",
				 "Times that a frame was held back for more requests."),
	[VALUE_INLINE_READS] = SYSFS(inline_reads, "inline_reads_total",
				     "Reads whose data were inside the reply."),
	[VALUE_INLINE_WRITES] = SYSFS(inline_writes, "inline_writes_total",
				      "Writes whose data were inside the request."),
	[VALUE_SEND_FENCES] = SYSFS(send_fences, "send_fences_total",
			       "SENDs and RDMA WRITEs that waited for an RDMA READ."),
	[VALUE_READ_GUARDS] = SYSFS(read_guards, "read_guards_total",
				    "RDMA READs whose last packet was read again as a guard."),
	[VALUE_POLLED] = SYSFS(polled, "polled_completions_total",
			       "Completions that were found by polling."),
	[VALUE_FRAGMENTED] = SYSFS(fragmented, "fragmented_requests_total",
				   "Requests that took more than one extent of the pool."),
	[VALUE_SLOW_REQUESTS] = SYSFS(slow_requests, "slow_requests_total",
				      "Requests without a reply within io_timeout."),
	[VALUE_CREDIT_STALLS] = SYSFS(credit_stalls, "credit_stalls_total",
				      "Stops of a queue for lack of credits or slots."),
	[VALUE_SQ_STALLS] = SYSFS(sq_stalls, "sq_stalls_total",
				  "Stops of a queue for lack of send-queue entries."),
	[VALUE_POOL_STALLS] = SYSFS(pool_stalls, "pool_stalls_total",
				    "Stops of a queue for lack of pool space."),
	[VALUE_QUEUE_STARTS] = SYSFS(queue_starts, "queue_starts_total",
				     "Starts of a stopped queue at the low watermark."),
	[VALUE_CONNECTIONS_LOST] = SYSFS(connections_lost, "connections_lost_total",
					 "Connections that were lost."),
	[VALUE_RECONNECTS] = SYSFS(reconnects, "reconnects_total",
				   "Connections that were replaced."),
	[VALUE_TARGET_RESTARTS] = SYSFS(target_restarts, "target_restarts_total",
					"Restarts of the target that were detected."),
	[VALUE_RESENT_REQUESTS] = SYSFS(resent_requests, "resent_requests_total",
					"Requests that were sent again over a new connection."),
	[VALUE_IN_FLIGHT] = BLOCK_STAT(in_flight, 8, 1, false, "requests_in_flight",
				       "Requests in flight."),
	[VALUE_HELD_WRITES] = SYSFS(held_writes, "held_writes",
				    "Writes held until the target no longer executes them."),
	[VALUE_POOL_USED] = POOL(pool_used_bytes, pool_used, "pool_used_bytes",
				 "Pool space in use."),
	[VALUE_POOL_PEAK] = POOL(pool_peak_bytes, pool_peak, "pool_peak_bytes",
				 "Largest pool space ever in use, summed over the queues."),
};

/**
 * disk_file() - read a line from a sysfs file of a disk
 * @disk: name of the disk
 * @file: path relative to /sys/block/DISK
 * @text: line without the end of line
 * @size: size of @text in bytes
 *
 * Return: 0 or a negative errno: -ENODEV if the disk does not exist, -ENOENT if the disk exists
 * but lacks the file.
 */
int disk_file(const char *disk, const char *file, char *text, size_t size)
{
	char *path = xasprintf(SYS_BLOCK "/%s/%s", disk, file);
	FILE *stream = fopen(path, "re");
	int ret = stream ? 0 : -errno;

	free(path);
	if (ret == -ENOENT) {
		path = xasprintf(SYS_BLOCK "/%s/rnbd", disk);
		if (access(path, F_OK))
			ret = -ENODEV;
		free(path);
	}
	if (!stream)
		return ret;
	if (!fgets(text, size, stream))
		ret = ferror(stream) && errno ? -errno : -ENODEV;
	else
		text[strcspn(text, "\n")] = '\0';
	fclose(stream);
	return ret;
}

/**
 * parse_block_stat() - parse the statistics of the block layer
 * @line: contents of /sys/block/DISK/stat
 * @value: values, indexed by enum value; values from other files are unchanged
 *
 * Return: 0, or -EPROTO if the line is malformed.
 */
int parse_block_stat(const char *line, uint64_t *value)
{
	uint64_t field[STAT_FIELDS];
	size_t i;

	for (i = 0; i < STAT_FIELDS; i++) {
		char *end;

		field[i] = strtoull(line, &end, 10);
		if (end == line)
			return -EPROTO;
		line = end;
	}
	for (i = 0; i < NR_VALUES; i++) {
		const struct value_info *info = &value_infos[i];

		if (!info->file)
			value[i] = field[info->field] * info->unit;
	}
	return 0;
}

/**
 * sample_take() - read all values of a disk
 * @disk: disk as listed by the kernel
 * @sample: sample to fill
 *
 * Return: 0 or a negative errno, -ENODEV if the disk no longer exists.
 */
int sample_take(const struct disk *disk, struct sample *sample)
{
	struct timespec now;
	char line[512];
	size_t i;
	int ret;

	*sample = (struct sample){ .disk = *disk };
	clock_gettime(CLOCK_MONOTONIC, &now);
	sample->taken_ns = now.tv_sec * 1000000000ull + now.tv_nsec;

	ret = disk_file(disk->disk, "stat", line, sizeof(line));
	if (!ret)
		ret = parse_block_stat(line, sample->value);
	for (i = 0; i < NR_VALUES && !ret; i++) {
		const struct value_info *info = &value_infos[i];
		char file[64];

		if (!info->file)
			continue;
		snprintf(file, sizeof(file), "rnbd/%s", info->file);
		ret = disk_file(disk->disk, file, line, sizeof(line));
		sample->missing[i] = ret == -ENOENT;
		sample->value[i] = ret ? 0 : strtoull(line, NULL, 10) * info->unit;
		if (ret == -ENOENT)
			ret = 0;
	}
	return ret;
}

/**
 * samples_find() - find the sample of a disk
 * @samples: samples of one moment
 * @disk: name of the disk
 *
 * Return: the sample, NULL if the disk has none.
 */
const struct sample *samples_find(const struct samples *samples, const char *disk)
{
	size_t i;

	for (i = 0; i < samples->nr; i++) {
		if (!strcmp(samples->sample[i].disk.disk, disk))
			return &samples->sample[i];
	}
	return NULL;
}

/*
 * Test whether the disk was attached again between two samples: its session is another one, or
 * the time since the attach or a counter has decreased.
 */
static bool started_anew(const struct sample *old, const struct sample *now)
{
	size_t i;

	if (memcmp(old->disk.session_id, now->disk.session_id, UUID_SIZE) ||
	    now->disk.attached_ms < old->disk.attached_ms)
		return true;
	for (i = 0; i < NR_COUNTERS; i++) {
		if (now->value[i] < old->value[i])
			return true;
	}
	return false;
}

/**
 * rates_between() - compute the rates of a disk between two samples
 * @old: older sample, NULL if the disk did not exist then
 * @now: newer sample
 * @rates: rates to fill; if the disk was attached after @old, the counters of @now divided by the
 *	time since the attach
 */
void rates_between(const struct sample *old, const struct sample *now, struct rates *rates)
{
	double count[NR_COUNTERS], seconds;
	size_t i;

	if (old && started_anew(old, now))
		old = NULL;
	for (i = 0; i < NR_COUNTERS; i++)
		count[i] = now->missing[i] ? NAN : now->value[i] - (old ? old->value[i] : 0);
	seconds = old ? (now->taken_ns - old->taken_ns) / 1e9 : now->disk.attached_ms / 1e3;

	memset(rates, 0, sizeof(*rates));
	rates->reconnects = count[VALUE_RECONNECTS];
	if (count[VALUE_FRAMES_SENT])
		rates->entries_per_frame = count[VALUE_ENTRIES_SENT] / count[VALUE_FRAMES_SENT];
	rates->seconds = seconds;
	/* The disk was attached so recently that no time has passed: leave the rates at 0. */
	if (seconds <= 0)
		return;
	rates->read_iops = count[VALUE_READS] / seconds;
	rates->write_iops = count[VALUE_WRITES] / seconds;
	rates->read_bytes = count[VALUE_READ_BYTES] / seconds;
	rates->write_bytes = count[VALUE_WRITE_BYTES] / seconds;
	rates->frames = count[VALUE_FRAMES_SENT] / seconds;
	rates->coalesced = count[VALUE_COALESCED] / seconds;
	rates->inline_hits = (count[VALUE_INLINE_READS] + count[VALUE_INLINE_WRITES]) / seconds;
	rates->stalls = (count[VALUE_CREDIT_STALLS] + count[VALUE_SQ_STALLS] +
			 count[VALUE_POOL_STALLS]) / seconds;
}
