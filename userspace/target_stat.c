// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics of the exports and hosts of the target, and the counters of its module.
 *
 * Operation: the statistics of exports and hosts are read from configfs, the counters of the
 * module from sysfs. No read waits for storage, and only the size of an export is read under a
 * lock of the target.
 *
 * Ownership: the caller frees the statistics.
 * Concurrency: one thread. An object that is removed during the read is left out.
 * Errors: an exit code, after an error message. Only root can read the attributes in configfs.
 * For other users, target_stats_take() reads only the counters of the module.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "configfs.h"
#include "target_stat.h"
#include "util.h"

#define SYS_TARGET	"/sys/kernel/rnbd-target"

const struct target_kind target_exports = {
	.dir = "exports",
	.label = "export",
	.head = "EXPORT",
	.values = {
		{ "enable", "enabled", "1 if clients may attach the export." },
		{ "size", "size_bytes", "Size of the export, 0 while it is disabled." },
		{ "sessions", "sessions", "Attachments of the export: disks of clients." },
		{ "stale_requests", "stale_requests_total",
		  "Requests of ended sessions that were dropped before the storage." },
	},
};

const struct target_kind target_hosts = {
	.dir = "hosts",
	.label = "host",
	.head = "HOST",
	.values = {
		{ "fenced", "fenced", "1 if the host is fenced." },
		{ "sessions", "sessions", "Sessions of the host." },
		{ "authentication_failures", "authentication_failures_total",
		  "Logins with a wrong secret." },
		{ "logins_deferred", "logins_deferred_total",
		  "Connections, logins and requests to attach that the host had to retry." },
		{ "stale_frames", "stale_frames_total",
		  "Frames of closing sessions of the host that were dropped unread." },
		{ "late_requests", "late_requests_total",
		  "Requests of the host for closed attachments that were not executed." },
		{ "weight", "weight", "Share of the host in the service of the storage." },
		{ "queued_requests", "queued_requests",
		  "Requests of the host that wait for their turn at the storage." },
		{ "throttled_requests", "throttled_requests_total",
		  "Requests of the host that had to wait for their turn at the storage." },
		{ "throttled_bytes", "throttled_bytes_total",
		  "Length of the requests that waited before they were submitted to the storage." },
	},
};

const struct target_event_group target_event_groups[TARGET_EVENT_GROUPS] = {
	{ "limits", "limit", "rnbd_target_limit_hits_total", "Times that a limit was reached." },
	{ "violations", "kind", "rnbd_target_protocol_errors_total",
	  "Protocol errors of clients." },
	{ "refused", "status", "rnbd_target_refused_total",
	  "Connections, logins and requests to attach that were refused." },
};

/* Read io_stat and io_errors; returns -ENOENT if the object no longer exists. */
static int read_iostat(const char *dir, struct iostat *stat)
{
	char *text = configfs_try(dir, "io_stat");
	int ret = text ? iostat_parse(text, stat) : -errno;

	free(text);
	if (ret)
		return ret;
	text = configfs_try(dir, "io_errors");
	ret = text ? iostat_parse_errors(text, stat) : -errno;
	free(text);
	return ret;
}

/*
 * Add an object to @objects, unless it was removed. Returns 0 or a negative errno, with an error
 * message except for -EACCES.
 */
static int add_object(const struct target_kind *kind, const char *name,
		      struct target_objects *objects)
{
	struct target_object object = { };
	char *dir = configfs_path("%s/%s", kind->dir, name);
	size_t i;
	int ret;

	ret = read_iostat(dir, &object.io);
	for (i = 0; kind->values[i].attr && !ret; i++)
		object.value[i] = configfs_read_u64(dir, kind->values[i].attr);
	if (ret && ret != -ENOENT && ret != -EACCES)
		err("%s %s: cannot read its statistics: %s", kind->label, name, strerror(-ret));
	if (!ret) {
		object.name = xstrdup(name);
		objects->object = grow(objects->object, objects->nr,
				       sizeof(*objects->object));
		objects->object[objects->nr++] = object;
	}
	free(dir);
	return ret == -ENOENT ? 0 : ret;
}

/*
 * Read the object @word, or all objects if it is NULL. Returns 0 or a negative errno, with an
 * error message except for -EACCES.
 */
static int take_objects(const struct target_kind *kind, const char *word,
			struct target_objects *objects)
{
	struct strlist names = { };
	struct timespec now;
	int ret = 0;
	size_t i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	objects->taken_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (word) {
		strlist_add(&names, word);
	} else {
		char *dir = configfs_path("%s", kind->dir);

		configfs_names(dir, &names);
		free(dir);
	}
	for (i = 0; i < names.nr && !ret; i++)
		ret = add_object(kind, names.item[i], objects);
	strlist_free(&names);
	return ret;
}

/**
 * target_objects_take() - read the statistics of exports or hosts
 * @kind: exports or hosts
 * @word: name of one object, NULL for all objects
 * @objects: objects to fill; the caller frees them, also after a failure
 *
 * An object that does not exist is left out.
 *
 * Return: an exit code.
 */
int target_objects_take(const struct target_kind *kind, const char *word,
			struct target_objects *objects)
{
	int ret = take_objects(kind, word, objects);

	if (ret == -EACCES)
		err("only root may read the statistics of the target");
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

static int compare_objects(const void *a, const void *b)
{
	const struct target_object *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/**
 * target_objects_find() - find an object by its name
 * @objects: objects of one moment
 * @name: name of the object
 *
 * Return: the object, NULL if @objects does not have it.
 */
const struct target_object *target_objects_find(const struct target_objects *objects,
						const char *name)
{
	const struct target_object key = { .name = (char *)name };

	return objects->nr ? bsearch(&key, objects->object, objects->nr,
				     sizeof(*objects->object), compare_objects) : NULL;
}

void target_objects_free(struct target_objects *objects)
{
	size_t i;

	for (i = 0; i < objects->nr; i++)
		free(objects->object[i].name);
	free(objects->object);
	*objects = (struct target_objects){ };
}

static void add_event(struct target_stats *stats, size_t group, const char *word)
{
	char *path = xasprintf(SYS_TARGET "/%s/%s", target_event_groups[group].dir, word);
	FILE *file = fopen(path, "re");
	unsigned long long count;

	free(path);
	if (!file)
		return;
	if (fscanf(file, "%llu", &count) == 1) {
		stats->event = xrealloc(stats->event, stats->nr_events + 1,
					sizeof(*stats->event));
		stats->event[stats->nr_events++] = (struct target_event) {
			.group = group, .word = xstrdup(word), .count = count,
		};
	}
	fclose(file);
}

static void take_events(struct target_stats *stats, size_t group)
{
	char *path = xasprintf(SYS_TARGET "/%s", target_event_groups[group].dir);
	struct strlist words = { };
	DIR *dir = opendir(path);
	struct dirent *de;
	size_t i;

	free(path);
	if (!dir)
		return;
	while ((de = readdir(dir)))
		if (de->d_type == DT_REG)
			strlist_add(&words, de->d_name);
	closedir(dir);
	strlist_sort(&words);
	for (i = 0; i < words.nr; i++)
		add_event(stats, group, words.item[i]);
	strlist_free(&words);
}

/**
 * target_stats_take() - read all statistics of the target
 * @stats: statistics to fill; the caller frees them, also after a failure
 *
 * If the statistics of any export or host cannot be read, @stats has no exports and no hosts at
 * all, but it has the counters of the module.
 *
 * Return: an exit code. It is RNBD_EXIT_OK, too, if the module is not loaded or if the caller is
 * not root.
 */
int target_stats_take(struct target_stats *stats)
{
	char *dir = configfs_path("exports");
	int ret;
	size_t i;

	stats->loaded = configfs_exists(dir);
	free(dir);
	if (!stats->loaded)
		return RNBD_EXIT_OK;
	ret = take_objects(&target_exports, NULL, &stats->exports) ?:
	      take_objects(&target_hosts, NULL, &stats->hosts);
	if (ret) {
		target_objects_free(&stats->exports);
		target_objects_free(&stats->hosts);
	}
	if (ret == -EACCES) {
		note("only root may read the statistics of the target; they are left out");
		ret = 0;
	}
	for (i = 0; i < TARGET_EVENT_GROUPS; i++)
		take_events(stats, i);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

void target_stats_free(struct target_stats *stats)
{
	size_t i;

	for (i = 0; i < stats->nr_events; i++)
		free(stats->event[i].word);
	free(stats->event);
	target_objects_free(&stats->exports);
	target_objects_free(&stats->hosts);
}
