// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd stat: counters since the attach, or rates by interval.
 *
 * Operation: without an interval one sample, as a table with a column per disk, a
 * JSON object per disk, or Prometheus' text. With one a sample at each multiple of
 * it, and a line per disk with what happened since the sample before. A disk may
 * come and go meanwhile: one that is gone has no line, one that came counts from its
 * attach. A word for a disk is looked up for each sample, so that a name means
 * whatever has that name by then.
 *
 * Output: stdout is line buffered. A file gets its name when it is whole, so that
 * node_exporter never reads half of it.
 *
 * Ownership: a list of samples is freed when the next one has replaced it.
 * Concurrency: one thread. SIGINT and SIGTERM are blocked and waited for, so that
 * they end it between two lines.
 * Errors: one line, also if the module is unloaded meanwhile. Prometheus is told
 * without a module that it is not there, which is an answer and no failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "netlink_client.h"
#include "output.h"
#include "prometheus.h"
#include "resolve.h"
#include "sample.h"
#include "util.h"

#define INTERVAL_MAX	(24 * 3600)
#define NS_PER_S	1000000000ull
/* Samples between two heads on a terminal */
#define HEAD_EVERY	20
#define STAMP_SIZE	32

/**
 * struct stat_job - what is asked for
 * @word: the disk, NULL for all
 * @interval: seconds, 0: once
 * @count: samples, 0: until a signal comes
 * @json: print JSON
 */
struct stat_job {
	const char *word;
	uint32_t interval;
	uint32_t count;
	bool json;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int add_sample(struct samples *samples, const struct disk *disk)
{
	struct sample *sample;
	int ret;

	samples->sample = xrealloc(samples->sample, samples->nr + 1, sizeof(*samples->sample));
	sample = &samples->sample[samples->nr];
	ret = sample_take(disk, sample);
	if (!ret)
		samples->nr++;
	/* It may have gone since it was listed. */
	if (ret == -ENODEV)
		return 0;
	if (ret)
		err("%s: cannot read its counters: %s", disk->disk, strerror(-ret));
	return ret;
}

/*
 * All disks, or the one that is asked for; @missing says that it is no failure if that
 * one is not there.
 */
static int take_samples(const char *word, bool missing, struct samples *samples)
{
	const struct disk *one = NULL;
	struct disks disks = { };
	size_t i;
	int ret;

	if (disks_list(&disks)) {
		free(disks.disk);
		return RNBD_EXIT_FAIL;
	}
	ret = word ? resolve_disk(word, &disks, &one) : 0;
	if (ret == -ENODEV && missing) {
		ret = RNBD_EXIT_OK;
	} else if (ret) {
		ret = resolve_fail(ret);
	} else if (one) {
		ret = add_sample(samples, one) ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
	} else {
		for (i = 0; i < disks.nr && !ret; i++)
			ret = add_sample(samples, &disks.disk[i]) ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
	}
	free(disks.disk);
	return ret;
}

/* ------------------------------------------------------------------------
 * Counters
 */

/* What every JSON object begins with. */
static struct json_object *identity_json(const struct disk *disk)
{
	struct json_object *obj = json_object_new_object();
	char stamp[STAMP_SIZE];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	json_add_string(obj, "time", stamp);
	json_add_string(obj, "disk", disk->disk);
	json_add_string(obj, "name", *disk->name ? disk->name : NULL);
	json_add_string(obj, "export", disk->export);
	json_add_uuid(obj, "export_id", disk->export_id);
	json_add_string(obj, "state", disk->state);
	return obj;
}

static void print_counters_json(const struct samples *samples)
{
	size_t i;

	for (i = 0; i < samples->nr; i++) {
		const struct sample *sample = &samples->sample[i];
		struct json_object *obj = identity_json(&sample->disk);

		json_add_double(obj, "seconds", sample->disk.attached_ms / 1e3);
		values_json(obj, sample);
		json_print_line(obj);
	}
}

static void cell_value(struct table *table, const struct sample *sample, size_t i)
{
	if (sample->missing[i])
		table_cell(table, "-");
	else
		table_cell(table, "%" PRIu64, sample->value[i]);
}

static void print_counters(const struct samples *samples)
{
	struct table table = { .columns = samples->nr + 1 };
	size_t i, j;

	table_cell(&table, "COUNTER");
	for (j = 0; j < samples->nr; j++)
		table_cell(&table, "%s", samples->sample[j].disk.disk);
	for (i = 0; i < NR_VALUES && samples->nr; i++) {
		table_cell(&table, "%s", value_infos[i].key);
		for (j = 0; j < samples->nr; j++)
			cell_value(&table, &samples->sample[j], i);
	}
	table_print(&table);
}

static int stat_once(const struct stat_job *job)
{
	struct samples samples = { };
	int ret;

	ret = take_samples(job->word, false, &samples);
	if (ret == RNBD_EXIT_OK && job->json)
		print_counters_json(&samples);
	else if (ret == RNBD_EXIT_OK)
		print_counters(&samples);
	free(samples.sample);
	return ret;
}

/* ------------------------------------------------------------------------
 * Rates
 */

static void print_rates_json(const struct sample *sample, const struct rates *rates)
{
	struct json_object *obj = identity_json(&sample->disk);

	json_add_double(obj, "seconds", rates->seconds);
	json_add_double(obj, "read_iops", rates->read_iops);
	json_add_double(obj, "write_iops", rates->write_iops);
	json_add_double(obj, "read_bytes_per_second", rates->read_bytes);
	json_add_double(obj, "write_bytes_per_second", rates->write_bytes);
	json_add_double(obj, "frames_per_second", rates->frames);
	json_add_double(obj, "entries_per_frame", rates->entries_per_frame);
	json_add_double(obj, "coalesced_per_second", rates->coalesced);
	json_add_double(obj, "inline_hits_per_second", rates->inline_hits);
	json_add_double(obj, "stalls_per_second", rates->stalls);
	json_add_known(obj, "reconnects", isnan(rates->reconnects) ? 0 : rates->reconnects,
		       !isnan(rates->reconnects));
	json_print_line(obj);
}

static void print_head(void)
{
	printf("%-8s  %-8s %9s %9s %9s %9s %9s %7s %9s %9s %8s %7s\n", "TIME", "DISK", "READ/s",
	       "WRITE/s", "RD-MB/s", "WR-MB/s", "FRAMES/s", "ENT/FR", "COALESC/s", "INLINE/s",
	       "STALLS/s", "RECONN");
}

static void print_rate(int width, int decimals, double rate)
{
	if (isnan(rate))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, decimals, rate);
}

static void print_rates(const struct sample *sample, const struct rates *rates)
{
	char stamp[STAMP_SIZE];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
	printf("%-8s  %-8s", stamp, sample->disk.disk);
	print_rate(9, 1, rates->read_iops);
	print_rate(9, 1, rates->write_iops);
	print_rate(9, 2, rates->read_bytes / 1e6);
	print_rate(9, 2, rates->write_bytes / 1e6);
	print_rate(9, 1, rates->frames);
	print_rate(7, 2, rates->entries_per_frame);
	print_rate(9, 1, rates->coalesced);
	print_rate(9, 1, rates->inline_hits);
	print_rate(8, 1, rates->stalls);
	print_rate(7, 0, rates->reconnects);
	putchar('\n');
}

static void print_interval(const struct stat_job *job, const struct samples *old,
			   const struct samples *now)
{
	struct rates rates;
	size_t i;

	for (i = 0; i < now->nr; i++) {
		const struct sample *sample = &now->sample[i];

		rates_between(samples_find(old, sample->disk.disk), sample, &rates);
		if (job->json)
			print_rates_json(sample, &rates);
		else
			print_rates(sample, &rates);
	}
}

/* Returns false if a signal came before. */
static bool wait_until(uint64_t when, const sigset_t *ending)
{
	for (;;) {
		uint64_t now = now_ns(), left = when > now ? when - now : 0;
		const struct timespec rest = {
			.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S,
		};

		if (sigtimedwait(ending, NULL, &rest) >= 0)
			return false;
		if (errno == EAGAIN)
			return true;
	}
}

static int stat_intervals(const struct stat_job *job)
{
	struct samples old = { }, now = { };
	uint32_t done = 0;
	sigset_t ending;
	uint64_t next;
	int ret;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);

	next = now_ns();
	ret = take_samples(job->word, false, &old);
	while (ret == RNBD_EXIT_OK && !ferror(stdout)) {
		if (!job->json && (!done || (isatty(STDOUT_FILENO) && !(done % HEAD_EVERY))))
			print_head();
		next += job->interval * NS_PER_S;
		if (!wait_until(next, &ending))
			break;
		ret = take_samples(job->word, true, &now);
		if (ret != RNBD_EXIT_OK)
			break;
		print_interval(job, &old, &now);
		free(old.sample);
		old = now;
		now = (struct samples){ };
		if (++done == job->count)
			break;
		/* What was missed is not made up for. */
		if (now_ns() > next + job->interval * NS_PER_S)
			next = now_ns();
	}
	free(old.sample);
	free(now.sample);
	return ret;
}

/* ------------------------------------------------------------------------
 * Prometheus
 */

/* Writes beside the file, under a name that no collector takes, and renames. */
static int write_file(const char *path, const struct samples *samples, bool loaded)
{
	char *temporary = xasprintf("%s.XXXXXX", path);
	int ret = RNBD_EXIT_FAIL;
	mode_t mask = umask(0);
	FILE *out = NULL;
	int fd;

	umask(mask);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0)
		out = fdopen(fd, "w");
	if (!out) {
		err("%s: cannot write beside it: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		goto remove;
	}
	prometheus_print(out, samples, loaded);
	/* The collector is another user; mkostemp() allows nobody else. */
	if (fchmod(fd, 0666 & ~mask) || fflush(out) || ferror(out)) {
		err("%s: cannot write it: %s", path, strerror(errno));
		fclose(out);
		goto remove;
	}
	if (fclose(out) || rename(temporary, path)) {
		err("%s: cannot write it: %s", path, strerror(errno));
		goto remove;
	}
	ret = RNBD_EXIT_OK;
remove:
	if (ret != RNBD_EXIT_OK && fd >= 0)
		unlink(temporary);
	free(temporary);
	return ret;
}

static int stat_prometheus(const char *word, const char *path, bool loaded)
{
	struct samples samples = { };
	int ret = RNBD_EXIT_OK;

	if (loaded)
		ret = take_samples(word, false, &samples);
	if (ret == RNBD_EXIT_OK) {
		if (path)
			ret = write_file(path, &samples, loaded);
		else
			prometheus_print(stdout, &samples, loaded);
	}
	free(samples.sample);
	return ret;
}

/* The operands, of which the disk comes first, unless all are asked for. */
static int get_job(const struct args *args, struct stat_job *job)
{
	const bool all = args_has(args, "all");
	const char * const *operand = (const char * const *)args->operand;
	int left = args->nr_operands;

	if (!all && left) {
		job->word = *operand++;
		left--;
	}
	if (left > 2)
		return usage_err("\"%s\" is too much; usage: rnbd stat --all [INTERVAL [COUNT]]",
				 operand[2]);
	if (left > 0 && parse_u32(operand[0], 1, INTERVAL_MAX, &job->interval))
		return usage_err("INTERVAL %s: wanted seconds from 1 to %u", operand[0],
				 INTERVAL_MAX);
	if (left > 1 && parse_u32(operand[1], 1, UINT32_MAX, &job->count))
		return usage_err("COUNT %s: wanted a number from 1 on", operand[1]);
	job->json = args_has(args, "json");
	if (job->word && resolve_check(job->word))
		return usage_err("%s", resolve_error());
	return 0;
}

int cmd_stat(const struct args *args)
{
	const bool prometheus = args_has(args, "prometheus");
	const char *path = args_value(args, "output");
	struct stat_job job = { };
	bool loaded = true;
	int ret;

	ret = get_job(args, &job);
	if (ret)
		return ret;
	if (prometheus && (job.json || job.interval))
		return usage_err("--prometheus goes with neither --json nor INTERVAL");
	if (path && !prometheus)
		return usage_err("--output goes with --prometheus only");

	ret = rnbd_open();
	if (ret == -ENOENT && prometheus && !job.word) {
		loaded = false;
	} else if (ret) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	if (prometheus)
		ret = stat_prometheus(job.word, path, loaded);
	else
		ret = job.interval ? stat_intervals(&job) : stat_once(&job);
	rnbd_close();
	return ret;
}
