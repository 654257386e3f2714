/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A map from a key to several names, such as from a host to the exports that it may attach.
 */
#ifndef RNBD_LINK_MAP_H
#define RNBD_LINK_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

/**
 * struct link_map - map from a key to several names
 * @link: array of key and name pairs; the map owns the array and its strings
 * @nr: number of pairs
 * @sorted: true if the pairs are sorted by key
 */
struct link_map {
	struct link {
		char *key;
		char *name;
		size_t order;
	} *link;
	size_t nr;
	bool sorted;
};

void link_map_add(struct link_map *map, const char *key, const char *name);
void link_map_get(struct link_map *map, const char *key, struct strlist *names);
bool link_map_has(struct link_map *map, const char *key);
void link_map_free(struct link_map *map);

#endif /* RNBD_LINK_MAP_H */
