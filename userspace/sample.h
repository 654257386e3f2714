/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_SAMPLE_H
#define RNBD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "netlink_client.h"

/* Values of a disk, in the order of value_infos[] in sample.c; counters come first. */
enum value {
	VALUE_READS,
	VALUE_READ_BYTES,
	VALUE_READ_MS,
	VALUE_WRITES,
	VALUE_WRITE_BYTES,
	VALUE_WRITE_MS,
	VALUE_DISCARDS,
	VALUE_DISCARD_BYTES,
	VALUE_FLUSHES,
	VALUE_BUSY_MS,
	VALUE_REQUESTS,
	VALUE_FRAMES_SENT,
	VALUE_FRAMES_UNSIGNALED,
	VALUE_FRAMES_RECEIVED,
	VALUE_ENTRIES_SENT,
	VALUE_CREDIT_FRAMES_SENT,
	VALUE_CREDIT_FRAMES_RECEIVED,
	VALUE_RDMA_WRITES,
	VALUE_RDMA_READS,
	VALUE_RDMA_WRITE_BYTES,
	VALUE_RDMA_READ_BYTES,
	VALUE_COALESCED,
	VALUE_GATHERED,
	VALUE_INLINE_READS,
	VALUE_INLINE_WRITES,
	VALUE_SEND_FENCES,
	VALUE_READ_GUARDS,
	VALUE_POLLED,
	VALUE_FRAGMENTED,
	VALUE_SLOW_REQUESTS,
	VALUE_CREDIT_STALLS,
	VALUE_SQ_STALLS,
	VALUE_POOL_STALLS,
	VALUE_QUEUE_STARTS,
	VALUE_CONNECTIONS_LOST,
	VALUE_RECONNECTS,
	VALUE_TARGET_RESTARTS,
	VALUE_RESENT_REQUESTS,
	NR_COUNTERS,
	/* Values that can decrease */
	VALUE_IN_FLIGHT = NR_COUNTERS,
	VALUE_HELD_WRITES,
	VALUE_POOL_USED,
	VALUE_POOL_PEAK,
	NR_VALUES,
};

/**
 * struct value_info - description of a value of a disk
 * @key: name in JSON and in tables
 * @file: file in /sys/block/rnbdN/rnbd; NULL if the value is a field of /sys/block/rnbdN/stat
 * @field: index of this field, from 0
 * @unit: factor that converts the number in the file to the unit of @key
 * @ms: true if the value is in milliseconds, while @metric is in seconds
 * @metric: name for Prometheus
 * @help: help text for Prometheus, one line
 */
struct value_info {
	const char *key;
	const char *file;
	unsigned int field;
	unsigned int unit;
	bool ms;
	const char *metric;
	const char *help;
};

extern const struct value_info value_infos[NR_VALUES];

/**
 * struct sample - values of a disk at one moment
 * @disk: disk as reported by the kernel
 * @taken_ns: time of the sample in nanoseconds of the monotonic clock
 * @value: values, indexed by enum value; 0 if missing
 * @missing: true for values that this version of the module lacks, indexed by enum value
 */
struct sample {
	struct disk disk;
	uint64_t taken_ns;
	uint64_t value[NR_VALUES];
	bool missing[NR_VALUES];
};

/**
 * struct samples - growing array of samples, sorted by disk
 * @sample: array
 * @nr: number of samples
 */
struct samples {
	struct sample *sample;
	size_t nr;
};

/**
 * struct rates - rates of a disk between two samples; NAN if a required counter is missing
 * @seconds: time in seconds between the samples, or since the attach if the disk was attached
 *	after the older sample; the other members refer to this time
 * @read_iops: reads per second
 * @write_iops: writes per second
 * @read_bytes: bytes read per second
 * @write_bytes: bytes written per second
 * @frames: frames with entries (requests or control entries) sent per second
 * @entries_per_frame: mean number of entries in these frames, 0 if none was sent
 * @coalesced: requests per second whose data shared the RDMA operation of another request
 * @inline_hits: requests per second whose data was inside a frame
 * @stalls: stops of a hardware queue per second
 * @reconnects: number of reconnects of the session
 */
struct rates {
	double seconds;
	double read_iops;
	double write_iops;
	double read_bytes;
	double write_bytes;
	double frames;
	double entries_per_frame;
	double coalesced;
	double inline_hits;
	double stalls;
	double reconnects;
};

int parse_block_stat(const char *line, uint64_t *value);
int sample_take(const struct disk *disk, struct sample *sample);
const struct sample *samples_find(const struct samples *samples, const char *disk);
void rates_between(const struct sample *old, const struct sample *now, struct rates *rates);
int disk_file(const char *disk, const char *file, char *text, size_t size);

#endif /* RNBD_SAMPLE_H */
