/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_STAT_H
#define RNBD_TARGET_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iostat.h"

#define TARGET_VALUES_MAX	10

/**
 * struct target_value - a number that configfs has of each object of a kind
 * @attr: attribute
 * @metric: name for Prometheus, without the beginning that the kind has; a counter
 *	ends in _total
 * @help: one line
 */
struct target_value {
	const char *attr;
	const char *metric;
	const char *help;
};

/**
 * struct target_kind - exports or hosts
 * @dir: directory in configfs
 * @label: label for Prometheus, key in JSON
 * @head: of the column of a table
 * @values: numbers of an object; a NULL attribute ends them
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
 * @name: directory in configfs; owned
 * @value: by the values of its kind
 * @io: I/O statistics
 */
struct target_object {
	char *name;
	uint64_t value[TARGET_VALUES_MAX];
	struct iostat io;
};

/**
 * struct target_objects - objects of a kind at one moment, sorted by name
 * @object: the objects
 * @nr: how many
 * @taken_ns: when, by the monotonic clock
 */
struct target_objects {
	struct target_object *object;
	size_t nr;
	uint64_t taken_ns;
};

/**
 * struct target_event - a counter of the module
 * @group: index in target_event_groups
 * @word: name of the file; owned
 * @count: value
 */
struct target_event {
	size_t group;
	char *word;
	uint64_t count;
};

/**
 * struct target_event_group - a directory of counters in sysfs
 * @dir: its name
 * @label: label for Prometheus
 * @metric: name for Prometheus
 * @help: one line
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
 * struct target_stats - all numbers of the target of this machine
 * @loaded: the module rnbd-target is there
 * @exports: statistics of the exports
 * @hosts: statistics of the hosts
 * @event: counters of the module
 * @nr_events: how many
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
