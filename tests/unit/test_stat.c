// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the statistics of disks: the table of the values, the stat line of the block layer,
 * rates of disks that are attached and detached between samples, and the text for Prometheus.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "prometheus.h"
#include "sample.h"

#define NEAR	0.000000001

/*
 * Each value has a row in value_infos. Its metric and its key are valid and differ from those of
 * all other rows.
 */
static void test_table(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < NR_VALUES; i++) {
		const struct value_info *info = &value_infos[i];
		const char *metric = info->metric, *c;
		const char *total;

		assert_non_null(metric);
		assert_true(info->unit > 0);
		assert_int_equal(strncmp(metric, "rnbd_", 5), 0);
		for (c = metric; *c; c++)
			assert_true(islower(*c) || *c == '_');
		total = strstr(metric, "_total");
		assert_int_equal(total && !total[6], i < NR_COUNTERS);
		assert_int_equal(!!strstr(metric, "seconds"), info->ms);
		assert_int_equal(!!strstr(metric, "bytes"), !!strstr(info->key, "bytes"));
		assert_null(strpbrk(info->help, "\\\n"));
		for (j = 0; j < i; j++) {
			assert_string_not_equal(metric, value_infos[j].metric);
			assert_string_not_equal(info->key, value_infos[j].key);
		}
	}
}

static void test_block_stat(void **state)
{
	uint64_t value[NR_VALUES];

	(void)state;
	memset(value, 0xff, sizeof(value));
	assert_int_equal(parse_block_stat("   1   2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
					  value), 0);
	assert_int_equal(value[VALUE_READS], 1);
	assert_int_equal(value[VALUE_READ_BYTES], 3 * 512);
	assert_int_equal(value[VALUE_READ_MS], 4);
	assert_int_equal(value[VALUE_WRITES], 5);
	assert_int_equal(value[VALUE_WRITE_BYTES], 7 * 512);
	assert_int_equal(value[VALUE_WRITE_MS], 8);
	assert_int_equal(value[VALUE_IN_FLIGHT], 9);
	assert_int_equal(value[VALUE_BUSY_MS], 10);
	assert_int_equal(value[VALUE_DISCARDS], 12);
	assert_int_equal(value[VALUE_DISCARD_BYTES], 14 * 512);
	assert_int_equal(value[VALUE_FLUSHES], 16);
	assert_true(value[VALUE_REQUESTS] == UINT64_MAX);

	assert_int_equal(parse_block_stat("1 2 3 4 5 6 7 8 9 10 11", value), -EPROTO);
	assert_int_equal(parse_block_stat("", value), -EPROTO);
	assert_int_equal(parse_block_stat("1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17", value),
			 -EPROTO);
}

static struct sample make_sample(uint64_t ms, uint64_t attached_ms, uint64_t count)
{
	struct sample sample = {
		.disk = { .disk = "rnbd0", .attached_ms = attached_ms },
		.taken_ns = ms * 1000000,
	};
	size_t i;

	for (i = 0; i < NR_COUNTERS; i++)
		sample.value[i] = count * (i + 1);
	return sample;
}

/* Check the rates between two samples of make_sample() whose counts differ by @count. */
static void check_rates(const struct rates *rates, double seconds, double count)
{
	assert_float_equal(rates->seconds, seconds, NEAR);
	assert_float_equal(rates->read_iops, count * (VALUE_READS + 1) / seconds, NEAR);
	assert_float_equal(rates->write_iops, count * (VALUE_WRITES + 1) / seconds, NEAR);
	assert_float_equal(rates->read_bytes, count * (VALUE_READ_BYTES + 1) / seconds, NEAR);
	assert_float_equal(rates->write_bytes, count * (VALUE_WRITE_BYTES + 1) / seconds, NEAR);
	assert_float_equal(rates->frames, count * (VALUE_FRAMES_SENT + 1) / seconds, NEAR);
	assert_float_equal(rates->entries_per_frame,
			   (VALUE_ENTRIES_SENT + 1.0) / (VALUE_FRAMES_SENT + 1), NEAR);
	assert_float_equal(rates->coalesced, count * (VALUE_COALESCED + 1) / seconds, NEAR);
	assert_float_equal(rates->inline_hits,
			   count * (VALUE_INLINE_READS + VALUE_INLINE_WRITES + 2) / seconds, NEAR);
	assert_float_equal(rates->stalls, count * (VALUE_CREDIT_STALLS + VALUE_SQ_STALLS +
						   VALUE_POOL_STALLS + 3) / seconds, NEAR);
	assert_int_equal(rates->reconnects, count * (VALUE_RECONNECTS + 1));
}

static void test_rates(void **state)
{
	struct sample old = make_sample(1000, 500, 10), now = make_sample(3500, 3000, 35);
	struct rates rates;

	(void)state;
	rates_between(&old, &now, &rates);
	check_rates(&rates, 2.5, 25);

	/* No counter has changed: entries_per_frame must be 0, although its divisor is 0. */
	now = make_sample(3500, 3000, 10);
	rates_between(&old, &now, &rates);
	assert_float_equal(rates.seconds, 2.5, NEAR);
	assert_float_equal(rates.read_iops, 0, 0);
	assert_float_equal(rates.entries_per_frame, 0, 0);
}

/*
 * If a disk was attached after the older sample, its counters started at 0 then. So rates_between()
 * must compute the rates since the attach.
 */
static void test_anew(void **state)
{
	struct sample old = make_sample(1000, 60000, 10), now = make_sample(3000, 500, 4);
	struct rates rates;

	(void)state;
	rates_between(NULL, &now, &rates);
	check_rates(&rates, 0.5, 4);

	rates_between(&old, &now, &rates);
	check_rates(&rates, 0.5, 4);

	/*
	 * All counters are higher than in the older sample, but the disk was attached after that
	 * sample.
	 */
	now = make_sample(3000, 500, 40);
	rates_between(&old, &now, &rates);
	check_rates(&rates, 0.5, 40);

	/*
	 * The newer sample has a longer time since the attach, but another session id.
	 */
	old.disk.attached_ms = 100;
	now.disk.session_id[3] = 1;
	rates_between(&old, &now, &rates);
	check_rates(&rates, 0.5, 40);

	/*
	 * The session ids are equal (both are 0 for a user who may not see them), but one counter
	 * is lower than in the older sample.
	 */
	now.disk.session_id[3] = 0;
	old.value[VALUE_RESENT_REQUESTS] = now.value[VALUE_RESENT_REQUESTS] + 1;
	rates_between(&old, &now, &rates);
	check_rates(&rates, 0.5, 40);

	/* The disk was attached at the moment of the sample. */
	now.disk.attached_ms = 0;
	rates_between(NULL, &now, &rates);
	assert_float_equal(rates.read_iops, 0, 0);
}

static void test_find(void **state)
{
	struct sample sample[2] = { make_sample(0, 0, 0), make_sample(0, 0, 0) };
	const struct samples samples = { sample, 2 };

	(void)state;
	sample[1].disk = (struct disk){ .disk = "rnbd10" };
	assert_ptr_equal(samples_find(&samples, "rnbd10"), &sample[1]);
	assert_ptr_equal(samples_find(&samples, "rnbd0"), &sample[0]);
	assert_null(samples_find(&samples, "rnbd1"));
}

static void write_line(const char *path, const char *line)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fprintf(file, "%s\n", line) > 0);
	assert_int_equal(fclose(file), 0);
}

/* Make the sysfs files of a disk, except the file of value @missing. SYS_BLOCK is "sys" here. */
static void make_disk(size_t missing)
{
	char path[64], text[24];
	size_t i;

	assert_int_equal(mkdir("sys", 0700) | mkdir("sys/rnbd0", 0700) |
			 mkdir("sys/rnbd0/rnbd", 0700), 0);
	write_line("sys/rnbd0/stat", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17");
	for (i = 0; i < NR_VALUES; i++) {
		if (!value_infos[i].file || i == missing)
			continue;
		snprintf(path, sizeof(path), "sys/rnbd0/rnbd/%s", value_infos[i].file);
		snprintf(text, sizeof(text), "%zu", i);
		write_line(path, text);
	}
}

static void remove_disk(void)
{
	char path[64];
	size_t i;

	for (i = 0; i < NR_VALUES; i++) {
		if (!value_infos[i].file)
			continue;
		snprintf(path, sizeof(path), "sys/rnbd0/rnbd/%s", value_infos[i].file);
		unlink(path);
	}
	assert_int_equal(rmdir("sys/rnbd0/rnbd"), 0);
}

static char *print(const struct samples *samples, bool loaded)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	prometheus_print(out, samples, loaded);
	assert_int_equal(fclose(out), 0);
	return text;
}

/*
 * If the kernel module has no file for a counter, the sample marks this counter as missing, and the
 * other values of the sample are valid.
 */
static void test_missing(void **state)
{
	char dir[] = "/tmp/rnbd-test-stat.XXXXXX";
	struct disk disk = { .disk = "rnbd0", .attached_ms = 2000 };
	struct sample sample;
	struct samples samples = { &sample, 1 };
	struct rates rates;
	char *text;
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	make_disk(VALUE_POOL_STALLS);
	memset(&sample, 0xff, sizeof(sample));
	assert_int_equal(sample_take(&disk, &sample), 0);
	for (i = 0; i < NR_VALUES; i++) {
		assert_int_equal(sample.missing[i], i == VALUE_POOL_STALLS);
		if (value_infos[i].file && !sample.missing[i])
			assert_int_equal(sample.value[i], i * value_infos[i].unit);
	}
	assert_int_equal(sample.value[VALUE_READS], 1);

	rates_between(NULL, &sample, &rates);
	assert_true(isnan(rates.stalls));
	assert_float_equal(rates.coalesced, VALUE_COALESCED / 2.0, NEAR);
	assert_float_equal(rates.reconnects, VALUE_RECONNECTS, NEAR);

	text = print(&samples, true);
	assert_null(strstr(text, "rnbd_pool_stalls_total"));
	assert_non_null(strstr(text, "rnbd_sq_stalls_total{"));
	free(text);

	/*
	 * The disk disappears while its files are read. First only its directory "rnbd" is removed,
	 * then all of its directories.
	 */
	remove_disk();
	assert_int_equal(sample_take(&disk, &sample), -ENODEV);
	assert_int_equal(unlink("sys/rnbd0/stat") | rmdir("sys/rnbd0") | rmdir("sys"), 0);
	assert_int_equal(sample_take(&disk, &sample), -ENODEV);
	assert_int_equal(chdir("/") | rmdir(dir), 0);
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

static unsigned int count(const char *text, const char *part)
{
	unsigned int nr = 0;

	for (; (text = strstr(text, part)); text++)
		nr++;
	return nr;
}

static void test_nothing(void **state)
{
	const struct samples none = { };
	char *text;

	(void)state;
	text = print(&none, false);
	assert_string_equal(text, "# HELP rnbd_up 1 if the kernel module rnbd is loaded.\n"
				  "# TYPE rnbd_up gauge\nrnbd_up 0\n");
	free(text);
	text = print(&none, true);
	check_has(text, "rnbd_up 1");
	assert_int_equal(count(text, "\n"), 3);
	free(text);
}

#define FIRST	"{disk=\"rnbd0\",export=\"disk0\",name=\"\""
#define SECOND	"{disk=\"rnbd1\",export=\"a\\\\b\\\"c\\nd\",name=\"db\""

static void test_prometheus(void **state)
{
	struct sample sample[2] = { make_sample(0, 0, 1), make_sample(0, 0, 3) };
	const struct samples samples = { sample, 2 };
	char line[256];
	char *text;
	size_t i;

	(void)state;
	sample[0].disk = (struct disk){
		.disk = "rnbd0", .export = "disk0", .state = "live", .attached_ms = 61005,
	};
	sample[1].disk = (struct disk){
		.disk = "rnbd1", .export = "a\\b\"c\nd", .name = "db", .state = "reconnecting",
	};
	sample[0].value[VALUE_READ_MS] = 12034;
	sample[0].value[VALUE_WRITE_BYTES] = UINT64_MAX;
	text = print(&samples, true);

	check_has(text, "rnbd_disk_state" FIRST ",state=\"live\"} 1");
	check_has(text, "rnbd_disk_state" FIRST ",state=\"failed\"} 0");
	check_has(text, "rnbd_disk_state" SECOND ",state=\"reconnecting\"} 1");
	check_has(text, "rnbd_disk_read_time_seconds_total" FIRST "} 12.034");
	check_has(text, "rnbd_disk_written_bytes_total" FIRST "} 18446744073709551615");
	check_has(text, "rnbd_disk_attached_seconds" FIRST "} 61.005");
	check_has(text, "# TYPE rnbd_disk_reads_completed_total counter");
	check_has(text, "# TYPE rnbd_pool_used_bytes gauge");
	assert_int_equal(count(text, "state=\""), 10);

	/*
	 * Each metric has one HELP line, one TYPE line, and a sample of each disk in adjacent
	 * lines.
	 */
	for (i = 0; i < NR_VALUES; i++) {
		const char *metric = value_infos[i].metric;
		const char *at;

		snprintf(line, sizeof(line), "# HELP %s ", metric);
		assert_int_equal(count(text, line), 1);
		snprintf(line, sizeof(line), "# TYPE %s ", metric);
		assert_int_equal(count(text, line), 1);
		snprintf(line, sizeof(line), "\n%s{", metric);
		assert_int_equal(count(text, line), 2);
		at = strstr(text, line);
		at = strchr(at + 1, '\n');
		assert_int_equal(strncmp(at, line, strlen(line)), 0);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_block_stat),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_anew),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_prometheus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
