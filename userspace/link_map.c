// SPDX-License-Identifier: GPL-2.0-only
/*
 * A map from a key to several names, for example from a host to the exports that it may
 * attach, or from an export to the ports that offer it.
 *
 * Operation: configfs stores a link between two objects only in the directory of one of them.
 * A command that must find, for many objects, the links that lead to them reads each link once
 * and adds it to the map. The map is sorted at the first look-up after an addition.
 *
 * Ownership: a map owns its strings.
 * Concurrency: one thread, no I/O.
 * Errors: none.
 */
#include <stdlib.h>
#include <string.h>

#include "link_map.h"

/**
 * link_map_add() - add a name under a key
 * @map: map
 * @key: key for look-ups
 * @name: name stored under the key
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

/* Sort by key; names with the same key keep the order in which they were added. */
static int compare(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	int ret = strcmp(x->key, y->key);

	return ret ?: (x->order > y->order) - (x->order < y->order);
}

/* Return the index of the first link whose key is not less than @key. */
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
 * @key: key
 * @names: list to which the names are appended, in the order in which they were added
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
 * @key: key
 *
 * Return: true if the map has at least one name under the key.
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
