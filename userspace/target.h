/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TARGET_H
#define RNBD_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct args;
struct json_object;
struct link_map;
struct table;

/* Add a row for the object with this name to @table, and its JSON object to @array. */
typedef void target_row_fn(const char *name, struct table *table,
			   struct json_object *array);

int target_list(const char *kind, const char * const *heads, uint32_t columns,
		target_row_fn *row, bool json);

void target_remember(char kind, const char *path);
int target_make_dir(const char *path);
int target_make_link(const char *target, const char *path);
void target_unmake(void);
void target_keep(void);

char *target_find_export(const char *name);
int target_remove_export(const char *dir);

int target_host_operand(const struct args *args, uint8_t *uuid);
char *target_host_dir(const char *uuid_text);
char *target_find_host(const char *uuid_text);
int target_make_bare_host(const char *dir);
int target_make_host(const char *dir, bool say);
int target_remove_host(const char *dir);
int target_allow_host(const char *export_dir, const char *uuid_text, bool readonly,
		      bool replace);
char *target_allowed_link(const char *export_dir, const char *uuid_text);
char *target_permission(const char *export_dir, const char *uuid_text, bool readonly);
void target_hosts_exports(struct link_map *map);
int target_allowed_hosts(const char *export_dir, bool readonly, struct strlist *uuids);

int target_enable_port(const char *dir);
char *target_find_port(const char *addr, uint16_t port);
char *target_make_port(const char *addr, uint16_t port);
int target_remove_port(const char *dir);
int target_offer(const char *port_dir, const char *export_dir);

#endif /* RNBD_TARGET_H */
