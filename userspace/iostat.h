/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_IOSTAT_H
#define RNBD_IOSTAT_H

#include <stddef.h>
#include <stdint.h>

/* The same values as in drivers/target/iostat.h */
#define LATENCY_BUCKETS		24
#define IOSTAT_ERRORS_MAX	32

/* Operations, in the order of iostat_ops[]. */
enum iostat_op {
	IOSTAT_READ,
	IOSTAT_WRITE,
	IOSTAT_FLUSH,
	IOSTAT_DISCARD,
	IOSTAT_WRITE_ZEROES,
	IOSTAT_OPS,
};

extern const char * const iostat_ops[IOSTAT_OPS];

/**
 * struct op_stat - statistics of one operation
 * @bytes: total length of the successful requests
 * @nsecs: total duration of all requests in nanoseconds
 * @latency: histogram of request durations: element i counts the requests that took less
 *	than 2^i microseconds and are in no lower element; the last element counts the rest
 */
struct op_stat {
	uint64_t bytes;
	uint64_t nsecs;
	uint64_t latency[LATENCY_BUCKETS];
};

/**
 * struct io_error - number of failed requests of one error class
 * @word: name of the class
 * @count: number of failed requests
 */
struct io_error {
	char word[16];
	uint64_t count;
};

/**
 * struct iostat - I/O statistics of an export or a host
 * @op: statistics per operation, indexed by enum iostat_op
 * @error: failed requests per error class, in the order of the kernel
 * @nr_errors: number of valid elements of @error
 */
struct iostat {
	struct op_stat op[IOSTAT_OPS];
	struct io_error error[IOSTAT_ERRORS_MAX];
	size_t nr_errors;
};

int iostat_parse(const char *text, struct iostat *stat);
int iostat_parse_errors(const char *text, struct iostat *stat);
void iostat_since(const struct iostat *old, const struct iostat *now, struct iostat *diff);
uint64_t iostat_requests(const struct op_stat *op);
uint64_t iostat_errors(const struct iostat *stat);
double iostat_mean_us(const struct op_stat *op);
double iostat_quantile_us(const struct op_stat *op, double quantile);

#endif /* RNBD_IOSTAT_H */
