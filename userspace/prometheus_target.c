// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics of the target in the text format of Prometheus, version 0.0.4.
 *
 * Operation: the format is that of prometheus.c; the name of each metric begins with
 * rnbd_target_. Metrics of an export have the label export, metrics of a host the label host.
 * A target can have thousands of exports and hosts. To limit the number of series, an operation
 * (such as discard) has a series only for the exports and hosts that have executed it. Names of
 * exports, UUIDs of hosts, and the names of errors and counters have no character that must be
 * escaped in a label.
 *
 * Ownership: the caller owns the stream and the statistics.
 * Concurrency: one thread.
 * Errors: the caller checks the stream for errors.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "prometheus_target.h"
#include "util.h"

static const uint64_t ns_per_s = 1000000000;
static const uint64_t us_per_s = 1000000;

static void print_head(FILE *out, const char *metric, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static const char *value_type(const char *metric)
{
	const size_t len = strlen(metric), end = strlen("_total");

	return len > end && !strcmp(metric + len - end, "_total") ? "counter" : "gauge";
}

static void print_values(FILE *out, const struct target_kind *kind,
			 const struct target_objects *objects)
{
	size_t i, j;

	for (i = 0; kind->values[i].attr; i++) {
		const struct target_value *value = &kind->values[i];
		char *metric = xasprintf("rnbd_target_%s_%s", kind->label, value->metric);

		print_head(out, metric, value_type(metric), value->help);
		for (j = 0; j < objects->nr; j++)
			fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", metric, kind->label,
				objects->object[j].name, objects->object[j].value[i]);
		free(metric);
	}
}

/* Print the latency histogram of an operation, with cumulative buckets, as Prometheus requires. */
static void print_latency(FILE *out, const char *metric, const char *labels,
			  const struct op_stat *op)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < LATENCY_BUCKETS - 1; i++) {
		const uint64_t us = (uint64_t)1 << i;

		sum += op->latency[i];
		fprintf(out, "%s_bucket{%s,le=\"%" PRIu64 ".%06" PRIu64 "\"} %" PRIu64 "\n",
			metric, labels, us / us_per_s, us % us_per_s, sum);
	}
	sum += op->latency[i];
	fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", metric, labels, sum);
	fprintf(out, "%s_sum{%s} %" PRIu64 ".%09" PRIu64 "\n", metric, labels,
		op->nsecs / ns_per_s, op->nsecs % ns_per_s);
	fprintf(out, "%s_count{%s} %" PRIu64 "\n", metric, labels, sum);
}

static void print_bytes(FILE *out, const char *metric, const char *labels,
			const struct op_stat *op)
{
	fprintf(out, "%s{%s} %" PRIu64 "\n", metric, labels, op->bytes);
}

/* Print one metric of all operations that each object has executed. */
static void print_ops(FILE *out, const struct target_kind *kind,
		      const struct target_objects *objects, const char *name, const char *type,
		      const char *help,
		      void (*print)(FILE *out, const char *metric, const char *labels,
				    const struct op_stat *op))
{
	char *metric = xasprintf("rnbd_target_%s_%s", kind->label, name);
	bool headed = false;
	size_t i, j;

	for (i = 0; i < objects->nr; i++) {
		for (j = 0; j < IOSTAT_OPS; j++) {
			const struct op_stat *op = &objects->object[i].io.op[j];
			char *labels;

			if (!iostat_requests(op))
				continue;
			if (!headed)
				print_head(out, metric, type, help);
			headed = true;
			labels = xasprintf("%s=\"%s\",op=\"%s\"", kind->label,
					   objects->object[i].name, iostat_ops[j]);
			print(out, metric, labels, op);
			free(labels);
		}
	}
	free(metric);
}

static void print_errors(FILE *out, const struct target_kind *kind,
			 const struct target_objects *objects)
{
	char *metric = xasprintf("rnbd_target_%s_errors_total", kind->label);
	size_t i, j;

	print_head(out, metric, "counter", "Failed requests.");
	for (i = 0; i < objects->nr; i++) {
		const struct iostat *io = &objects->object[i].io;

		for (j = 0; j < io->nr_errors; j++)
			fprintf(out, "%s{%s=\"%s\",error=\"%s\"} %" PRIu64 "\n", metric,
				kind->label, objects->object[i].name, io->error[j].word,
				io->error[j].count);
	}
	free(metric);
}

static void print_objects(FILE *out, const struct target_kind *kind,
			  const struct target_objects *objects)
{
	if (!objects->nr)
		return;
	print_values(out, kind, objects);
	print_ops(out, kind, objects, "request_seconds", "histogram",
		  "Time of requests in the target, without the network.", print_latency);
	print_ops(out, kind, objects, "bytes_total", "counter",
		  "Length of the successful requests.", print_bytes);
	print_errors(out, kind, objects);
}

static void print_events(FILE *out, const struct target_stats *stats)
{
	size_t i, j;

	for (i = 0; i < TARGET_EVENT_GROUPS; i++) {
		const struct target_event_group *group = &target_event_groups[i];
		bool headed = false;

		for (j = 0; j < stats->nr_events; j++) {
			const struct target_event *event = &stats->event[j];

			if (event->group != i)
				continue;
			if (!headed)
				print_head(out, group->metric, "counter", group->help);
			headed = true;
			fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", group->metric, group->label,
				event->word, event->count);
		}
	}
}

/**
 * prometheus_target_print() - print all metrics of the target
 * @out: stream
 * @stats: statistics of the target
 */
void prometheus_target_print(FILE *out, const struct target_stats *stats)
{
	print_head(out, "rnbd_target_up", "gauge", "1 if the kernel module rnbd-target is loaded.");
	fprintf(out, "rnbd_target_up %d\n", stats->loaded);
	if (!stats->loaded)
		return;
	print_events(out, stats);
	print_objects(out, &target_exports, &stats->exports);
	print_objects(out, &target_hosts, &stats->hosts);
}
