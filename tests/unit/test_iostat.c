// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the I/O statistics of a target: parsing the text of the kernel, mean and quantiles,
 * differences between two samples, and the text for Prometheus.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prometheus_target.h"

#define NEAR	0.000000001
#define NONE	"0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"
#define SOME	"1,0,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,3"

static void check_parse(const char *text, int ret)
{
	struct iostat stat = { };

	assert_int_equal(iostat_parse(text, &stat), ret);
}

static void test_parse(void **state)
{
	struct iostat stat;

	(void)state;
	memset(&stat, 0xff, sizeof(stat));
	assert_int_equal(iostat_parse("read requests=6 bytes=512 nsecs=7 latency=" SOME "\n"
				      "compare requests=x\n"
				      "write-zeroes requests=0 bytes=8 nsecs=9 latency=" NONE,
				      &stat), 0);
	assert_int_equal(stat.op[IOSTAT_READ].bytes, 512);
	assert_int_equal(stat.op[IOSTAT_READ].nsecs, 7);
	assert_int_equal(stat.op[IOSTAT_READ].latency[2], 2);
	assert_int_equal(stat.op[IOSTAT_READ].latency[LATENCY_BUCKETS - 1], 3);
	assert_int_equal(iostat_requests(&stat.op[IOSTAT_READ]), 6);
	assert_int_equal(iostat_requests(&stat.op[IOSTAT_WRITE]), 0);
	assert_int_equal(stat.op[IOSTAT_WRITE_ZEROES].bytes, 8);

	check_parse("", 0);
	check_parse("read requests=5 bytes=512 nsecs=7 latency=" SOME "\n", -EPROTO);
	check_parse("read requests=6 bytes=512 nsecs=7\n", -EPROTO);
	check_parse("read requests=6 bytes=512 nsecs=7 latency=\n", -EPROTO);
	check_parse("read requests=6 bytes=512 nsecs=7 latency=" SOME ",0\n", -EPROTO);
	check_parse("read requests=3 bytes=512 nsecs=7 latency=1,2\n", -EPROTO);
	check_parse("read\n", -EPROTO);
	check_parse("\n", -EPROTO);
}

static void test_parse_errors(void **state)
{
	struct iostat stat;

	(void)state;
	assert_int_equal(iostat_parse_errors("io 3\nmedium 18446744073709551615", &stat), 0);
	assert_int_equal(stat.nr_errors, 2);
	assert_string_equal(stat.error[1].word, "medium");
	assert_true(stat.error[1].count == UINT64_MAX);
	stat.error[1].count = 4;
	assert_int_equal(iostat_errors(&stat), 7);
	assert_int_equal(iostat_parse_errors("io\n", &stat), -EPROTO);
	assert_int_equal(iostat_parse_errors("io 3 4\n", &stat), -EPROTO);
	assert_int_equal(iostat_parse_errors("", &stat), 0);
	assert_int_equal(stat.nr_errors, 0);
}

static void test_quantiles(void **state)
{
	struct op_stat op = { };

	(void)state;
	assert_true(isnan(iostat_mean_us(&op)));
	assert_true(isnan(iostat_quantile_us(&op, 0.5)));
	op.latency[0] = 1;
	op.latency[3] = 98;
	op.nsecs = 198000;
	assert_float_equal(iostat_mean_us(&op), 2, NEAR);
	assert_float_equal(iostat_quantile_us(&op, 0.01), 1, NEAR);
	assert_float_equal(iostat_quantile_us(&op, 0.5), 8, NEAR);
	op.latency[LATENCY_BUCKETS - 1] = 1;
	assert_float_equal(iostat_quantile_us(&op, 0.99), 8, NEAR);
	assert_true(isinf(iostat_quantile_us(&op, 1)));
}

static void test_since(void **state)
{
	struct iostat old = { }, now, diff;

	(void)state;
	old.op[IOSTAT_READ] = (struct op_stat){ .bytes = 10, .nsecs = 20, .latency = { 1, 2 } };
	old.error[0] = (struct io_error){ "io", 5 };
	old.nr_errors = 1;
	now = old;
	now.op[IOSTAT_READ].bytes += 100;
	now.op[IOSTAT_READ].latency[1] += 3;
	now.error[0].count++;
	/* A class of errors that the older sample does not have. */
	now.error[1] = (struct io_error){ "device_removed", 2 };
	now.nr_errors = 2;

	iostat_since(&old, &now, &diff);
	assert_int_equal(diff.op[IOSTAT_READ].bytes, 100);
	assert_int_equal(diff.op[IOSTAT_READ].nsecs, 0);
	assert_int_equal(iostat_requests(&diff.op[IOSTAT_READ]), 3);
	assert_int_equal(diff.error[0].count, 1);
	assert_int_equal(diff.error[1].count, 2);

	iostat_since(NULL, &now, &diff);
	assert_memory_equal(&diff, &now, sizeof(now));
	/*
	 * A lower number shows that the object was created again and its numbers started from
	 * 0: nothing is subtracted.
	 */
	now.error[0].count = 4;
	iostat_since(&old, &now, &diff);
	assert_memory_equal(&diff, &now, sizeof(now));
	now.error[0].count = 5;
	now.op[IOSTAT_READ].latency[0] = 0;
	iostat_since(&old, &now, &diff);
	assert_memory_equal(&diff, &now, sizeof(now));
}

static char *print(const struct target_stats *stats)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	prometheus_target_print(out, stats);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void check_has(const char *text, const char *line)
{
	const char *at;

	for (at = strstr(text, line); at; at = strstr(at + 1, line)) {
		if ((at == text || at[-1] == '\n') && at[strlen(line)] == '\n')
			return;
	}
	fail_msg("no line \"%s\" in:\n%s", line, text);
}

static unsigned int lines(const char *text)
{
	unsigned int nr = 0;

	for (; (text = strchr(text, '\n')); text++)
		nr++;
	return nr;
}

static void test_prometheus(void **state)
{
	struct target_object export = { .name = "disk0", .value = { 1, 4096, 2, 7 } };
	struct target_event event = { 0, "pool", 3 };
	struct target_stats stats = { };
	struct op_stat *op = &export.io.op[IOSTAT_WRITE];
	char *text;

	(void)state;
	text = print(&stats);
	check_has(text, "rnbd_target_up 0");
	/* The lines are HELP, TYPE and the sample. */
	assert_int_equal(lines(text), 3);
	free(text);

	*op = (struct op_stat){ .bytes = 8192, .nsecs = 5000000002 };
	op->latency[0] = 1;
	op->latency[21] = 2;
	op->latency[LATENCY_BUCKETS - 1] = 4;
	export.io.error[0] = (struct io_error){ "io", 5 };
	export.io.nr_errors = 1;
	stats.loaded = true;
	stats.exports = (struct target_objects){ .object = &export, .nr = 1 };
	stats.event = &event;
	stats.nr_events = 1;
	text = print(&stats);
	check_has(text, "rnbd_target_up 1");
	check_has(text, "# TYPE rnbd_target_export_sessions gauge");
	check_has(text, "rnbd_target_export_sessions{export=\"disk0\"} 2");
	check_has(text, "# TYPE rnbd_target_export_stale_requests_total counter");
	check_has(text, "rnbd_target_export_stale_requests_total{export=\"disk0\"} 7");
	check_has(text, "# TYPE rnbd_target_export_request_seconds histogram");
#define WRITES	"{export=\"disk0\",op=\"write\""
	check_has(text, "rnbd_target_export_request_seconds_bucket" WRITES ",le=\"0.000001\"} 1");
	check_has(text, "rnbd_target_export_request_seconds_bucket" WRITES ",le=\"1.048576\"} 1");
	check_has(text, "rnbd_target_export_request_seconds_bucket" WRITES ",le=\"2.097152\"} 3");
	check_has(text, "rnbd_target_export_request_seconds_bucket" WRITES ",le=\"4.194304\"} 3");
	check_has(text, "rnbd_target_export_request_seconds_bucket" WRITES ",le=\"+Inf\"} 7");
	check_has(text, "rnbd_target_export_request_seconds_sum" WRITES "} 5.000000002");
	check_has(text, "rnbd_target_export_request_seconds_count" WRITES "} 7");
	check_has(text, "rnbd_target_export_bytes_total" WRITES "} 8192");
	check_has(text, "rnbd_target_export_errors_total{export=\"disk0\",error=\"io\"} 5");
	check_has(text, "rnbd_target_limit_hits_total{limit=\"pool\"} 3");
	/* Metrics without a sample and unused operations are not printed. */
	assert_null(strstr(text, "op=\"read\""));
	assert_null(strstr(text, "rnbd_target_host_"));
	assert_null(strstr(text, "rnbd_target_refused_total"));
	free(text);
}

static void test_prometheus_host(void **state)
{
	struct target_object host = { .name = "a", .value = { 0, 1, 2, 3, 4, 8, 100, 5, 6, 7 } };
	struct target_stats stats = {
		.loaded = true,
		.hosts = { .object = &host, .nr = 1 },
	};
	char *text = print(&stats);

	(void)state;
	check_has(text, "rnbd_target_host_stale_frames_total{host=\"a\"} 4");
	check_has(text, "# TYPE rnbd_target_host_late_requests_total counter");
	check_has(text, "rnbd_target_host_late_requests_total{host=\"a\"} 8");
	check_has(text, "# TYPE rnbd_target_host_weight gauge");
	check_has(text, "rnbd_target_host_weight{host=\"a\"} 100");
	check_has(text, "# TYPE rnbd_target_host_queued_requests gauge");
	check_has(text, "rnbd_target_host_queued_requests{host=\"a\"} 5");
	check_has(text, "# TYPE rnbd_target_host_throttled_requests_total counter");
	check_has(text, "rnbd_target_host_throttled_requests_total{host=\"a\"} 6");
	check_has(text, "rnbd_target_host_throttled_bytes_total{host=\"a\"} 7");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_errors),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_prometheus),
		cmocka_unit_test(test_prometheus_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
