/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_STAT_H
#define RNBD_TARGET_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iostat.h"

#define TARGET_VALUES_MAX	10

/**
 * struct target_value - attribute in configfs that each object of a kind has
 * @attr: name of the attribute
 * @metric: name for Prometheus, without the prefix of the kind; a counter ends in _total
 * @help: help text for Prometheus, one line
 */
struct target_value {
	const char *attr;
	const char *metric;
	const char *help;
};

/**
 * struct target_kind - kind of object: exports or hosts
 * @dir: directory in configfs
 * @label: label for Prometheus, and key in JSON
 * @head: heading of the column of names in a table
 * @values: values of an object; @attr is NULL in the element after the last one
 */
struct target_kind {
	const char *dir;
	const char *label;
	const char *head;
	struct target_value values[TARGET_VALUES_MAX + 1];
};

extern const struct target_kind target_exports;
extern const struct target_kind target_hosts;

/**
 * struct target_object - statistics of an export or a host
 * @name: name of the directory in configfs; the object owns the string
 * @value: values, in the order of target_kind.values
 * @io: I/O statistics
 */
struct target_object {
	char *name;
	uint64_t value[TARGET_VALUES_MAX];
	struct iostat io;
};

/**
 * struct target_objects - objects of a kind at one moment, sorted by name
 * @object: array
 * @nr: number of objects
 * @taken_ns: time of the reading in nanoseconds of the monotonic clock
 */
struct target_objects {
	struct target_object *object;
	size_t nr;
	uint64_t taken_ns;
};

/**
 * struct target_event - counter of the module
 * @group: index in target_event_groups
 * @word: name of the file in sysfs; struct target_stats owns the string
 * @count: value of the counter
 */
struct target_event {
	size_t group;
	char *word;
	uint64_t count;
};

/**
 * struct target_event_group - directory of counters in sysfs
 * @dir: name of the directory
 * @label: label for Prometheus
 * @metric: name for Prometheus
 * @help: help text for Prometheus, one line
 */
struct target_event_group {
	const char *dir;
	const char *label;
	const char *metric;
	const char *help;
};

#define TARGET_EVENT_GROUPS	3

extern const struct target_event_group target_event_groups[TARGET_EVENT_GROUPS];

/**
 * struct target_stats - all statistics of the target on this machine
 * @loaded: true if the module rnbd-target is loaded
 * @exports: statistics of the exports
 * @hosts: statistics of the hosts
 * @event: counters of the module
 * @nr_events: number of counters
 */
struct target_stats {
	bool loaded;
	struct target_objects exports;
	struct target_objects hosts;
	struct target_event *event;
	size_t nr_events;
};

int target_objects_take(const struct target_kind *kind, const char *word,
			struct target_objects *objects);
const struct target_object *target_objects_find(const struct target_objects *objects,
						const char *name);
void target_objects_free(struct target_objects *objects);
int target_stats_take(struct target_stats *stats);
void target_stats_free(struct target_stats *stats);

#endif /* RNBD_TARGET_STAT_H */
