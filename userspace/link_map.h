/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names by name: which exports a host may attach, at which ports an export is offered.
 */
#ifndef RNBD_LINK_MAP_H
#define RNBD_LINK_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

/**
 * struct link_map - names by name
 * @link: the pairs; the map owns their strings
 * @nr: number of them
 * @sorted: the pairs are in the order of their keys
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
