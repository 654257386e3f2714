// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics of all disks in the text format of Prometheus, version 0.0.4, for the textfile
 * collector of node_exporter.
 *
 * Operation: a metric is printed as a HELP line, a TYPE line and the samples of all disks, one
 * after the other. A metric without samples is left out. Units are bytes and seconds. Every
 * sample of a disk has the labels disk, export and name (empty if the disk has no name), so
 * that a query can sum by one of these labels without a join. rnbd_disk_info has further labels
 * for properties of a disk, such as the address of its target and its policy.
 *
 * Ownership: the caller owns the stream and the samples.
 * Concurrency: one thread.
 * Errors: the caller checks the stream for errors.
 */
#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "prometheus.h"
#include "util.h"

/* Print the value of a label; the format requires that \, " and ends of line are escaped. */
static void print_value(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

static void print_label(FILE *out, const char *label, const char *text)
{
	fprintf(out, ",%s=\"", label);
	print_value(out, text);
	putc('"', out);
}

/* Print a metric and its common labels; the caller adds more labels and the closing brace. */
static void print_series(FILE *out, const char *metric, const struct disk *disk)
{
	fprintf(out, "%s{disk=\"", metric);
	print_value(out, disk->disk);
	putc('"', out);
	print_label(out, "export", disk->export);
	print_label(out, "name", disk->name);
}

static void print_head(FILE *out, const char *metric, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static void print_infos(FILE *out, const struct samples *samples)
{
	char uuid[UUID_TEXT_SIZE];
	size_t i;

	print_head(out, "rnbd_disk_info", "gauge", "Properties of the disk, as labels; always 1.");
	for (i = 0; i < samples->nr; i++) {
		const struct disk *disk = &samples->sample[i].disk;

		print_series(out, "rnbd_disk_info", disk);
		format_uuid(disk->export_id, uuid);
		print_label(out, "export_id", uuid);
		print_label(out, "address", disk->address);
		fprintf(out, ",port=\"%u\"", disk->port);
		print_label(out, "transfer", option_text(&disk->granted, "transfer"));
		print_label(out, "policy", option_text(&disk->granted, "policy"));
		fprintf(out, ",session=\"%u\"} 1\n", disk->session);
	}
}

static void print_states(FILE *out, const struct samples *samples)
{
	static const char * const states[] = {
		"connecting", "live", "reconnecting", "failed", "closing",
	};
	size_t i, j;

	print_head(out, "rnbd_disk_state", "gauge", "1 for the current state of the disk.");
	for (i = 0; i < samples->nr; i++) {
		const struct disk *disk = &samples->sample[i].disk;

		for (j = 0; j < ARRAY_SIZE(states); j++) {
			print_series(out, "rnbd_disk_state", disk);
			print_label(out, "state", states[j]);
			fprintf(out, "} %d\n", !strcmp(disk->state, states[j]));
		}
	}
}

static void print_number(FILE *out, const char *metric, const struct disk *disk, uint64_t value,
			 bool ms)
{
	print_series(out, metric, disk);
	if (ms)
		fprintf(out, "} %" PRIu64 ".%03u\n", value / 1000, (unsigned int)(value % 1000));
	else
		fprintf(out, "} %" PRIu64 "\n", value);
}

static const struct {
	const char *metric;
	const char *help;
	bool ms;
} properties[] = {
	{ "rnbd_disk_size_bytes", "Size of the disk." },
	{ "rnbd_disk_read_only", "1 if the disk is read-only." },
	{ "rnbd_queues", "Queues granted." },
	{ "rnbd_pool_size_bytes", "Size of the delegated pool." },
	{ "rnbd_disk_attached_seconds", "Time since the disk was attached.", true },
	{ "rnbd_disk_state_seconds", "Time since the state of the disk changed.", true },
};

static void print_property(FILE *out, size_t i, const struct disk *disk)
{
	const uint64_t value[ARRAY_SIZE(properties)] = {
		disk->size,
		option_number(&disk->granted, "readonly"),
		option_number(&disk->granted, "queues"),
		disk->pool_size,
		disk->attached_ms,
		disk->state_ms,
	};

	print_number(out, properties[i].metric, disk, value[i], properties[i].ms);
}

/* Test whether the samples of all disks lack this value. */
static bool missing(const struct samples *samples, size_t value)
{
	size_t i;

	for (i = 0; i < samples->nr; i++) {
		if (!samples->sample[i].missing[value])
			return false;
	}
	return true;
}

/**
 * prometheus_print() - print all metrics of the disks
 * @out: stream
 * @samples: one sample per disk
 * @loaded: true if the module rnbd is loaded
 */
void prometheus_print(FILE *out, const struct samples *samples, bool loaded)
{
	size_t i, j;

	print_head(out, "rnbd_up", "gauge", "1 if the kernel module rnbd is loaded.");
	fprintf(out, "rnbd_up %d\n", loaded);
	if (!samples->nr)
		return;

	print_infos(out, samples);
	print_states(out, samples);
	for (i = 0; i < ARRAY_SIZE(properties); i++) {
		print_head(out, properties[i].metric, "gauge", properties[i].help);
		for (j = 0; j < samples->nr; j++)
			print_property(out, i, &samples->sample[j].disk);
	}
	for (i = 0; i < NR_VALUES; i++) {
		const struct value_info *info = &value_infos[i];

		if (missing(samples, i))
			continue;
		print_head(out, info->metric, i < NR_COUNTERS ? "counter" : "gauge", info->help);
		for (j = 0; j < samples->nr; j++) {
			const struct sample *sample = &samples->sample[j];

			if (!sample->missing[i])
				print_number(out, info->metric, &sample->disk, sample->value[i],
					     info->ms);
		}
	}
}
