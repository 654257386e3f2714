// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd export stat, rnbd host stat: print counters or rates of exports and hosts.
 *
 * Operation: the commands resemble rnbd stat, which is for disks. Without an interval, a
 * command prints the counters of an object (export or host) since its directory in
 * configfs was created; with an interval, it prints the rates in each interval. The
 * counters of an object that was created between two samples count from zero; an object
 * that was removed has no line.
 *
 * Ownership: a list of objects is freed when the next one has replaced it.
 * Concurrency: one thread, see interval.c.
 * Errors: one line. The command fails if the object does not exist when the command starts,
 * but continues if the object is removed later.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "interval.h"
#include "output.h"
#include "parse.h"
#include "target.h"
#include "target_stat.h"

/**
 * struct target_job - request and samples
 * @kind: exports or hosts
 * @words: object, interval and count from the command line
 * @json: print JSON
 * @old: objects at the previous sample
 * @now: objects at the latest sample
 */
struct target_job {
	const struct target_kind *kind;
	struct interval_words words;
	bool json;
	struct target_objects old;
	struct target_objects now;
};

static struct json_object *identity_json(const struct target_job *job, const char *name)
{
	struct json_object *obj = interval_json();

	json_add_string(obj, job->kind->label, name);
	return obj;
}

static struct json_object *latency_json(const struct op_stat *op)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < LATENCY_BUCKETS; i++)
		json_object_array_add(array, json_object_new_uint64(op->latency[i]));
	return array;
}

static void add_errors_json(struct json_object *obj, const struct iostat *io)
{
	struct json_object *errors = json_object_new_object();
	size_t i;

	for (i = 0; i < io->nr_errors; i++)
		json_add_u64(errors, io->error[i].word, io->error[i].count);
	json_object_object_add(obj, "errors", errors);
}

static void print_counters_json(const struct target_job *job, const struct target_object *object)
{
	struct json_object *obj = identity_json(job, object->name);
	size_t i;

	for (i = 0; i < IOSTAT_OPS; i++) {
		const struct op_stat *op = &object->io.op[i];
		struct json_object *one = json_object_new_object();

		json_add_u64(one, "requests", iostat_requests(op));
		json_add_u64(one, "bytes", op->bytes);
		json_add_u64(one, "nsecs", op->nsecs);
		json_object_object_add(one, "latency", latency_json(op));
		json_object_object_add(obj, iostat_ops[i], one);
	}
	add_errors_json(obj, &object->io);
	json_print_line(obj);
}

static void cell_us(struct table *table, double us)
{
	if (isnan(us))
		table_cell(table, "-");
	else
		table_cell(table, "%.0f", us);
}

/* Add the rows of one operation, with a column per object. */
static void add_op(struct table *table, const struct target_objects *objects, size_t i)
{
	const char *word = iostat_ops[i];
	size_t j;

	table_cell(table, "%s", word);
	for (j = 0; j < objects->nr; j++)
		table_cell(table, "%" PRIu64, iostat_requests(&objects->object[j].io.op[i]));
	table_cell(table, "%s-bytes", word);
	for (j = 0; j < objects->nr; j++)
		table_cell(table, "%" PRIu64, objects->object[j].io.op[i].bytes);
	table_cell(table, "%s-mean-us", word);
	for (j = 0; j < objects->nr; j++)
		cell_us(table, iostat_mean_us(&objects->object[j].io.op[i]));
	table_cell(table, "%s-p50-us", word);
	for (j = 0; j < objects->nr; j++)
		cell_us(table, iostat_quantile_us(&objects->object[j].io.op[i], 0.5));
	table_cell(table, "%s-p99-us", word);
	for (j = 0; j < objects->nr; j++)
		cell_us(table, iostat_quantile_us(&objects->object[j].io.op[i], 0.99));
}

static void print_counters(const struct target_objects *objects)
{
	struct table table = { .columns = objects->nr + 1 };
	size_t i, j;

	table_cell(&table, "COUNTER");
	for (j = 0; j < objects->nr; j++)
		table_cell(&table, "%s", objects->object[j].name);
	for (i = 0; i < IOSTAT_OPS && objects->nr; i++)
		add_op(&table, objects, i);
	/* The kernel lists the same classes of errors for all objects. */
	for (i = 0; objects->nr && i < objects->object[0].io.nr_errors; i++) {
		table_cell(&table, "errors-%s", objects->object[0].io.error[i].word);
		for (j = 0; j < objects->nr; j++)
			table_cell(&table, "%" PRIu64, objects->object[j].io.error[i].count);
	}
	table_print(&table);
}

static int stat_once(struct target_job *job)
{
	int ret = target_objects_take(job->kind, job->words.word, &job->now);
	size_t i;

	if (ret == RNBD_EXIT_OK && job->json) {
		for (i = 0; i < job->now.nr; i++)
			print_counters_json(job, &job->now.object[i]);
	} else if (ret == RNBD_EXIT_OK) {
		print_counters(&job->now);
	}
	return ret;
}

static void print_rates_json(const struct target_job *job, const char *name,
			     const struct iostat *diff, double seconds)
{
	struct json_object *obj = identity_json(job, name);
	size_t i;

	json_add_double(obj, "seconds", seconds);
	for (i = 0; i < IOSTAT_OPS; i++) {
		const struct op_stat *op = &diff->op[i];
		struct json_object *one = json_object_new_object();
		double p99 = iostat_quantile_us(op, 0.99);

		json_add_double(one, "iops", iostat_requests(op) / seconds);
		json_add_double(one, "bytes_per_second", op->bytes / seconds);
		json_add_double(one, "mean_us", iostat_mean_us(op));
		json_add_double(one, "p99_us", isinf(p99) ? NAN : p99);
		json_object_object_add(obj, iostat_ops[i], one);
	}
	add_errors_json(obj, diff);
	json_print_line(obj);
}

static void print_exports_head(void)
{
	printf("%-8s  %-20s %9s %9s %9s %9s %9s %9s %9s %9s %9s %7s\n", "TIME", "EXPORT", "READ/s",
	       "WRITE/s", "FLUSH/s", "RD-MB/s", "WR-MB/s", "RD-us", "WR-us", "RD-p99", "WR-p99",
	       "ERRORS");
}

static void print_hosts_head(void)
{
	printf("%-8s  %-36s %9s %9s %9s %9s %9s %9s %9s %9s %9s %7s\n", "TIME", "HOST", "READ/s",
	       "WRITE/s", "FLUSH/s", "RD-MB/s", "WR-MB/s", "RD-us", "WR-us", "RD-p99", "WR-p99",
	       "ERRORS");
}

static void print_rates(const struct target_job *job, const char *name,
			const struct iostat *diff, double seconds)
{
	const struct op_stat *rd = &diff->op[IOSTAT_READ], *wr = &diff->op[IOSTAT_WRITE];
	char stamp[STAMP_SIZE];

	interval_stamp(stamp);
	printf("%-8s  %-*s", stamp, job->kind == &target_hosts ? 36 : 20, name);
	interval_print_rate(9, 1, iostat_requests(rd) / seconds);
	interval_print_rate(9, 1, iostat_requests(wr) / seconds);
	interval_print_rate(9, 1, iostat_requests(&diff->op[IOSTAT_FLUSH]) / seconds);
	interval_print_rate(9, 2, rd->bytes / seconds / 1e6);
	interval_print_rate(9, 2, wr->bytes / seconds / 1e6);
	interval_print_rate(9, 0, iostat_mean_us(rd));
	interval_print_rate(9, 0, iostat_mean_us(wr));
	interval_print_rate(9, 0, iostat_quantile_us(rd, 0.99));
	interval_print_rate(9, 0, iostat_quantile_us(wr, 0.99));
	printf(" %7" PRIu64 "\n", iostat_errors(diff));
}

static int take_interval(void *arg, bool first)
{
	struct target_job *job = arg;

	return target_objects_take(job->kind, job->words.word, first ? &job->old : &job->now);
}

static void print_interval(void *arg)
{
	struct target_job *job = arg;
	double seconds = (job->now.taken_ns - job->old.taken_ns) / 1e9;
	size_t i;

	for (i = 0; i < job->now.nr; i++) {
		const struct target_object *object = &job->now.object[i];
		const struct target_object *old = target_objects_find(&job->old, object->name);
		struct iostat diff;

		iostat_since(old ? &old->io : NULL, &object->io, &diff);
		if (job->json)
			print_rates_json(job, object->name, &diff, seconds);
		else
			print_rates(job, object->name, &diff, seconds);
	}
	target_objects_free(&job->old);
	job->old = job->now;
	job->now = (struct target_objects){ };
}

static int stat_intervals(struct target_job *job)
{
	const bool hosts = job->kind == &target_hosts;
	const struct interval_job interval = {
		.seconds = job->words.seconds,
		.count = job->words.count,
		.head = job->json ? NULL : hosts ? print_hosts_head : print_exports_head,
		.take = take_interval,
		.print = print_interval,
		.arg = job,
	};

	return interval_run(&interval);
}

static int run(struct target_job *job)
{
	int ret = job->words.seconds ? stat_intervals(job) : stat_once(job);

	target_objects_free(&job->old);
	target_objects_free(&job->now);
	return ret;
}

int cmd_export_stat(const struct args *args)
{
	struct target_job job = { .kind = &target_exports, .json = args_has(args, "json") };
	char *dir;
	int ret;

	ret = interval_words(args, &job.words);
	if (ret)
		return ret;
	if (!job.words.word)
		return configfs_check() ? RNBD_EXIT_FAIL : run(&job);
	context_set("export stat %s", job.words.word);
	dir = target_find_export(job.words.word);
	if (!dir)
		return RNBD_EXIT_FAIL;
	free(dir);
	return run(&job);
}

int cmd_host_stat(const struct args *args)
{
	struct target_job job = { .kind = &target_hosts, .json = args_has(args, "json") };
	uint8_t uuid[UUID_SIZE];
	char *dir;
	int ret;

	ret = interval_words(args, &job.words);
	if (ret)
		return ret;
	if (!job.words.word)
		return configfs_check() ? RNBD_EXIT_FAIL : run(&job);
	context_set("host stat %s", job.words.word);
	if (parse_uuid(job.words.word, uuid))
		return usage_err("not a UUID; rnbd host list shows the hosts");
	dir = target_find_host(job.words.word);
	if (!dir)
		return RNBD_EXIT_FAIL;
	/* Use the name of the directory: it can differ from the operand in upper and lower case. */
	job.words.word = strrchr(dir, '/') + 1;
	ret = run(&job);
	free(dir);
	return ret;
}
