// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print lists in two formats: as a table for users, or as JSON for programs.
 *
 * Operation: a table is filled cell by cell. Each column is as wide as its widest cell, and
 * control characters are replaced. JSON has raw numbers (bytes, not "1G") and always the same
 * keys; an unknown value is null.
 *
 * Ownership: table_print(), json_print(), json_print_line() and list_print() free the table or
 * object that they are given.
 * Concurrency: one thread.
 * Errors: main() checks stdout for errors once, at the end.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

void table_cell(struct table *table, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	strlist_add(&table->cells, *text ? printable(text) : "-");
}

void table_print(struct table *table)
{
	size_t *width = xcalloc(table->columns, sizeof(*width));
	size_t i, column;

	for (i = 0; i < table->cells.nr; i++) {
		size_t len = strlen(table->cells.item[i]);

		column = i % table->columns;
		if (len > width[column])
			width[column] = len;
	}

	for (i = 0; i < table->cells.nr; i++) {
		column = i % table->columns;
		if (column + 1 < table->columns)
			printf("%-*s  ", (int)width[column],
			       table->cells.item[i]);
		else
			printf("%s\n", table->cells.item[i]);
	}

	strlist_free(&table->cells);
	free(width);
}

void json_add_string(struct json_object *obj, const char *key, const char *s)
{
	json_object_object_add(obj, key, s ? json_object_new_string(s) : NULL);
}

void json_add_uuid(struct json_object *obj, const char *key, const uint8_t *uuid)
{
	static const uint8_t none[UUID_SIZE];
	char text[UUID_TEXT_SIZE];

	format_uuid(uuid, text);
	json_add_string(obj, key, memcmp(uuid, none, sizeof(none)) ? text : NULL);
}

void json_add_strings(struct json_object *obj, const char *key, const struct strlist *list)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < list->nr; i++)
		json_object_array_add(array, json_object_new_string(list->item[i]));
	json_object_object_add(obj, key, array);
}

void json_add_bool(struct json_object *obj, const char *key, bool value)
{
	json_object_object_add(obj, key, json_object_new_boolean(value));
}

void json_add_u64(struct json_object *obj, const char *key, uint64_t value)
{
	json_object_object_add(obj, key, json_object_new_uint64(value));
}

/* Add a number, or null if it is unknown. */
void json_add_known(struct json_object *obj, const char *key, uint64_t value, bool known)
{
	json_object_object_add(obj, key, known ? json_object_new_uint64(value) : NULL);
}

/* Add a measured number with three decimals; NAN, which means unknown, becomes null. */
void json_add_double(struct json_object *obj, const char *key, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.3f", value);
	if (isnan(value))
		json_object_object_add(obj, key, NULL);
	else
		json_object_object_add(obj, key, json_object_new_double_s(value, text));
}

void json_print(struct json_object *obj)
{
	puts(json_object_to_json_string_ext(obj, JSON_PRETTY));
	json_object_put(obj);
}

void json_print_line(struct json_object *obj)
{
	puts(json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(obj);
}

/* Print a list in one of the two formats, and free both the table and the array. */
void list_print(struct table *table, struct json_object *array, bool json)
{
	if (json) {
		json_print(array);
		strlist_free(&table->cells);
	} else {
		table_print(table);
		json_object_put(array);
	}
}
