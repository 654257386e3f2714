// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd stat: print counters of disks and of their sessions, or rates per interval.
 *
 * Operation: without an interval, the command prints one sample, as a table with a column
 * per disk, as a JSON object per disk, or in the text format of Prometheus, which also has
 * the metrics of a target on this machine unless the command line names a disk. With an
 * interval, interval.c calls this file for each sample, and this file prints a line per
 * disk with the rates since the previous sample. A detached disk has no line. If a disk is not
 * in the previous sample, its rates are its counters divided by the time since its attach. The
 * operand is resolved again for each sample, so that a name means the disk that has this name
 * at that time.
 *
 * Output: with --output, a temporary file is renamed when it is complete, so that
 * node_exporter never reads an incomplete file.
 *
 * Ownership: a list of samples is freed when the next one has replaced it.
 * Concurrency: one thread.
 * Errors: one line. The command also fails if the module is unloaded while the command runs.
 * With --prometheus and without a disk on the command line, it is no failure if the module is
 * not loaded: the metric rnbd_up is 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "interval.h"
#include "netlink_client.h"
#include "output.h"
#include "prometheus.h"
#include "prometheus_session.h"
#include "prometheus_target.h"
#include "resolve.h"
#include "sample.h"
#include "session.h"
#include "target_stat.h"
#include "util.h"

/**
 * struct stat_job - request and samples
 * @words: disk, interval and count from the command line
 * @json: print JSON
 * @old: previous samples
 * @now: latest samples
 */
struct stat_job {
	struct interval_words words;
	bool json;
	struct samples old;
	struct samples now;
};

static int add_sample(struct samples *samples, const struct disk *disk)
{
	struct sample *sample;
	int ret;

	samples->sample = grow(samples->sample, samples->nr, sizeof(*samples->sample));
	sample = &samples->sample[samples->nr];
	ret = sample_take(disk, sample);
	if (!ret)
		samples->nr++;
	/* Not an error: the disk was detached after it was listed. */
	if (ret == -ENODEV)
		return 0;
	if (ret)
		err("%s: cannot read its counters: %s", disk->disk, strerror(-ret));
	return ret;
}

/*
 * Take a sample of each disk, or only of the disk that @word names. If @missing is true, it is
 * not an error if there is no such disk.
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

/* Create a JSON object with the first members, which are the same for counters and rates. */
static struct json_object *identity_json(const struct disk *disk)
{
	struct json_object *obj = interval_json();

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

	ret = take_samples(job->words.word, false, &samples);
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

static void print_rates(const struct sample *sample, const struct rates *rates)
{
	char stamp[STAMP_SIZE];

	interval_stamp(stamp);
	printf("%-8s  %-8s", stamp, sample->disk.disk);
	interval_print_rate(9, 1, rates->read_iops);
	interval_print_rate(9, 1, rates->write_iops);
	interval_print_rate(9, 2, rates->read_bytes / 1e6);
	interval_print_rate(9, 2, rates->write_bytes / 1e6);
	interval_print_rate(9, 1, rates->frames);
	interval_print_rate(7, 2, rates->entries_per_frame);
	interval_print_rate(9, 1, rates->coalesced);
	interval_print_rate(9, 1, rates->inline_hits);
	interval_print_rate(8, 1, rates->stalls);
	interval_print_rate(7, 0, rates->reconnects);
	putchar('\n');
}

static void print_interval(void *arg)
{
	struct stat_job *job = arg;
	struct rates rates;
	size_t i;

	for (i = 0; i < job->now.nr; i++) {
		const struct sample *sample = &job->now.sample[i];

		rates_between(samples_find(&job->old, sample->disk.disk), sample, &rates);
		if (job->json)
			print_rates_json(sample, &rates);
		else
			print_rates(sample, &rates);
	}
	free(job->old.sample);
	job->old = job->now;
	job->now = (struct samples){ };
}

static int take_interval(void *arg, bool first)
{
	struct stat_job *job = arg;

	return take_samples(job->words.word, !first, first ? &job->old : &job->now);
}

static int stat_intervals(struct stat_job *job)
{
	const struct interval_job interval = {
		.seconds = job->words.seconds,
		.count = job->words.count,
		.head = job->json ? NULL : print_head,
		.take = take_interval,
		.print = print_interval,
		.arg = job,
	};
	int ret = interval_run(&interval);

	free(job->old.sample);
	free(job->now.sample);
	return ret;
}

/* ------------------------------------------------------------------------
 * Prometheus
 */

/**
 * struct metrics - values to print for Prometheus
 * @loaded: whether the module rnbd is loaded
 * @samples: a sample per disk
 * @disks: all disks
 * @clients: sessions of @disks
 * @sessions: sessions of the target
 * @target: statistics of the target of this machine
 * @with_target: print @target and @sessions; false if the command line names a disk
 */
struct metrics {
	bool loaded;
	struct samples samples;
	struct disks disks;
	struct client_sessions clients;
	struct sessions sessions;
	struct target_stats target;
	bool with_target;
};

static void print_metrics(FILE *out, const struct metrics *metrics)
{
	prometheus_print(out, &metrics->samples, metrics->loaded);
	prometheus_client_sessions(out, &metrics->clients);
	if (!metrics->with_target)
		return;
	prometheus_target_print(out, &metrics->target);
	prometheus_target_sessions(out, &metrics->sessions);
}

/* Write a temporary file, whose name collectors ignore, and rename it to @path. */
static int write_file(const char *path, const struct metrics *metrics)
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
		err("%s: cannot create a temporary file beside it: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		goto remove;
	}
	print_metrics(out, metrics);
	/* The collector runs as another user, and mkostemp() allows access only to the owner. */
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

/* Read the sessions of the client; the open netlink socket must be that of the client. */
static int take_client_sessions(struct metrics *metrics)
{
	int ret = disks_list(&metrics->disks);

	if (ret == RNBD_EXIT_OK)
		client_sessions(&metrics->disks, &metrics->clients);
	return ret;
}

/*
 * Read the sessions of the target over a new netlink socket; the socket of the client is
 * closed, because it is no longer needed. It is no failure if the caller is not root and gets
 * no sessions.
 */
static int take_target_sessions(struct sessions *sessions)
{
	int ret;

	rnbd_close();
	ret = rnbd_open_target();
	if (!ret)
		ret = rnbd_session_list(sessions);
	if (!ret || ret == -ENOENT || ret == -EPERM || ret == -EACCES)
		return RNBD_EXIT_OK;
	err("%s", rnbd_error());
	return RNBD_EXIT_FAIL;
}

static int stat_prometheus(const char *word, const char *path, bool loaded)
{
	struct metrics metrics = { .loaded = loaded, .with_target = !word };
	int ret = RNBD_EXIT_OK, target_ret = RNBD_EXIT_OK;

	if (loaded)
		ret = take_samples(word, false, &metrics.samples);
	if (ret == RNBD_EXIT_OK && loaded && !word)
		ret = take_client_sessions(&metrics);
	if (ret == RNBD_EXIT_OK) {
		/* If the values of the target cannot be read, still print those of the client. */
		if (metrics.with_target)
			target_ret = target_stats_take(&metrics.target);
		if (metrics.with_target && metrics.target.loaded && target_ret == RNBD_EXIT_OK)
			target_ret = take_target_sessions(&metrics.sessions);
		if (path)
			ret = write_file(path, &metrics);
		else
			print_metrics(stdout, &metrics);
	}
	target_stats_free(&metrics.target);
	client_sessions_free(&metrics.clients);
	free(metrics.disks.disk);
	free(metrics.sessions.session);
	free(metrics.samples.sample);
	return ret == RNBD_EXIT_OK ? target_ret : ret;
}

int cmd_stat(const struct args *args)
{
	const bool prometheus = args_has(args, "prometheus");
	const char *path = args_value(args, "output");
	struct stat_job job = { .json = args_has(args, "json") };
	bool loaded = true;
	int ret;

	ret = interval_words(args, &job.words);
	if (ret)
		return ret;
	if (job.words.word && resolve_check(job.words.word))
		return usage_err("%s", resolve_error());
	if (prometheus && (job.json || job.words.seconds))
		return usage_err("--prometheus cannot be combined with --json or INTERVAL");
	if (path && !prometheus)
		return usage_err("--output needs --prometheus");

	ret = rnbd_open();
	if (ret == -ENOENT && prometheus && !job.words.word) {
		loaded = false;
	} else if (ret) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	if (prometheus)
		ret = stat_prometheus(job.words.word, path, loaded);
	else
		ret = job.words.seconds ? stat_intervals(&job) : stat_once(&job);
	rnbd_close();
	return ret;
}
