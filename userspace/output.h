/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_OUTPUT_H
#define RNBD_OUTPUT_H

#include <json-c/json.h>

#include "parse.h"
#include "util.h"

/**
 * struct table - text in columns for users
 * @columns: number of cells per row
 * @cells: cells row by row; the first row has the headings
 */
struct table {
	size_t columns;
	struct strlist cells;
};

/* JSON format that is indented for readability */
#define JSON_PRETTY	(JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | \
			 JSON_C_TO_STRING_NOSLASHESCAPE)

void table_cell(struct table *table, const char *fmt, ...) __printf(2, 3);
void table_print(struct table *table);
void list_print(struct table *table, struct json_object *array, bool json);

void json_add_uuid(struct json_object *obj, const char *key, const uint8_t *uuid);
void json_add_string(struct json_object *obj, const char *key, const char *s);
void json_add_strings(struct json_object *obj, const char *key, const struct strlist *list);
void json_add_bool(struct json_object *obj, const char *key, bool value);
void json_add_u64(struct json_object *obj, const char *key, uint64_t value);
void json_add_known(struct json_object *obj, const char *key, uint64_t value, bool known);
void json_add_double(struct json_object *obj, const char *key, double value);
void json_print(struct json_object *obj);
void json_print_line(struct json_object *obj);

#endif /* RNBD_OUTPUT_H */
