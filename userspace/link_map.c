// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names by name: which exports a host may attach, at which ports an export is offered.
 *
 * Operation: configfs has the links at one end only. A command that needs them from the
 * other end, for many objects, reads each link once and looks them up here.
 *
 * Ownership: a map owns its strings.
 * Concurrency: one thread, no I/O.
 * Errors: none.
 */
#include <stdlib.h>
#include <string.h>

#include "link_map.h"

/**
 * link_map_add() - add a name
 * @map: map
 * @key: name by which it is looked up
 * @name: name to find
 */
void link_map_add(struct link_map *map, const char *key, const char *name)
{
	map->link = grow(map->link, map->nr, sizeof(*map->link));
	map->link[map->nr] = (struct link) {
		.key = xstrdup(key), .name = xstrdup(name), .order = map->nr,
	};
	map->nr++;
	map->sorted = false;
}

/* Names of the same key stay in their order. */
static int compare(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	int ret = strcmp(x->key, y->key);

	return ret ?: (x->order > y->order) - (x->order < y->order);
}

/* Returns the index of the first link whose key is not less. */
static size_t lower_bound(struct link_map *map, const char *key)
{
	size_t low = 0, high = map->nr, middle;

	if (!map->sorted && map->nr)
		qsort(map->link, map->nr, sizeof(*map->link), compare);
	map->sorted = true;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(map->link[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/**
 * link_map_get() - look up the names of a key
 * @map: map
 * @key: name by which they were added
 * @names: they are added here, in the order in which they were added to the map
 */
void link_map_get(struct link_map *map, const char *key, struct strlist *names)
{
	size_t i;

	for (i = lower_bound(map, key); i < map->nr && !strcmp(map->link[i].key, key); i++)
		strlist_add(names, map->link[i].name);
}

/**
 * link_map_has() - test whether a key has a name
 * @map: map
 * @key: name by which it was added
 */
bool link_map_has(struct link_map *map, const char *key)
{
	size_t i = lower_bound(map, key);

	return i < map->nr && !strcmp(map->link[i].key, key);
}

void link_map_free(struct link_map *map)
{
	size_t i;

	for (i = 0; i < map->nr; i++) {
		free(map->link[i].key);
		free(map->link[i].name);
	}
	free(map->link);
	*map = (struct link_map) { };
}
