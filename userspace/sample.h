/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_SAMPLE_H
#define RNBD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "netlink_client.h"

/* In the order of the table in sample.c. */
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
	VALUE_STARTS,
	VALUE_LOST,
	VALUE_RECONNECTS,
	VALUE_RESTARTS,
	VALUE_REPLAYED,
	NR_COUNTERS,
	/* what goes down again */
	VALUE_IN_FLIGHT = NR_COUNTERS,
	VALUE_HELD,
	VALUE_POOL_USED,
	VALUE_POOL_PEAK,
	NR_VALUES,
};

/**
 * struct value_info - a number that a disk has
 * @key: its name in JSON and for people
 * @file: in /sys/block/rnbdN/rnbd, or NULL if it is a field of .../stat
 * @field: that field, from 0
 * @unit: what a one of it is worth in the unit of @key
 * @ms: it is in milliseconds, and @metric in seconds
 * @metric: its name for Prometheus
 * @help: one line
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
 * struct sample - a disk at a moment
 * @disk: what the kernel says of it
 * @taken_ns: when, by the monotonic clock
 * @value: by enum value, 0 if it is missing
 * @missing: by enum value: this version of the module does not have it
 */
struct sample {
	struct disk disk;
	uint64_t taken_ns;
	uint64_t value[NR_VALUES];
	bool missing[NR_VALUES];
};

/**
 * struct samples - samples that grow in number, sorted by disk
 * @sample: the samples
 * @nr: how many
 */
struct samples {
	struct sample *sample;
	size_t nr;
};

/**
 * struct rates - what a disk did between two samples; not a number if one of the
 *	counters that it takes is missing
 * @seconds: how long that was
 * @read_iops: per second, and so below but for what is said otherwise
 * @write_iops: writes
 * @read_bytes: bytes read
 * @write_bytes: bytes written
 * @frames: frames with requests
 * @entries_per_frame: requests in one of them, 0 without a frame
 * @coalesced: requests whose data joined the RDMA operation of another
 * @inline_hits: requests whose data travelled inside a frame
 * @stalls: stops of a hardware queue
 * @reconnects: how many, not per second
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
