/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_IOSTAT_H
#define RNBD_IOSTAT_H

#include <stddef.h>
#include <stdint.h>

/* As in drivers/target/iostat.h */
#define LATENCY_BUCKETS		24
#define IOSTAT_ERRORS_MAX	32

/* The operations, in the order of iostat_ops[]. */
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
 * struct op_stat - numbers of one operation
 * @bytes: length of the successful requests
 * @nsecs: nanoseconds that all requests took
 * @latency: requests by the time they took: member i counts those below 2^i
 *	microseconds that are not in member i - 1, the last one all others
 */
struct op_stat {
	uint64_t bytes;
	uint64_t nsecs;
	uint64_t latency[LATENCY_BUCKETS];
};

/**
 * struct io_error - failed requests of one class
 * @word: name of the class
 * @count: how many
 */
struct io_error {
	char word[16];
	uint64_t count;
};

/**
 * struct iostat - I/O statistics of an export or a host
 * @op: by enum iostat_op
 * @error: by class, as the kernel lists them
 * @nr_errors: used members of @error
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
