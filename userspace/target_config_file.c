// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file format of the configuration of a target: parse and write JSON text.
 *
 * Operation: parsing and writing follow target_config_schema. A file with a mistake is refused
 * as a whole, because the wrong part could be a limit or a denial that the administrator relies
 * on. Equal configurations result in equal texts.
 *
 * Ownership: a configuration owns its strings and objects.
 * Concurrency: one thread, no I/O except messages.
 * Errors: one error message for each mistake in the file. The contents of the file are not
 * trusted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "target_config.h"

#define MAX_DEPTH	8	/* maximum nesting of JSON; the format needs 4 levels */

/* ------------------------------------------------------------------------
 * Parse a file
 */

/**
 * struct parser - state of parsing a file
 * @config: configuration parsed so far
 * @where: description of the present object, for messages
 * @faults: number of mistakes found so far
 */
struct parser {
	struct target_config *config;
	char where[160];
	int faults;
};

static void __printf(2, 3) fault(struct parser *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err("%s%s%s", p->where, *p->where ? ": " : "", text);
	p->faults++;
}

/* Return a JSON string, or NULL if it is no string or has a NUL inside. */
static const char *json_text(struct json_object *value)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

/* Convert a JSON value to its text in configfs; returns NULL after an error message. */
static char *parse_value(struct parser *p, const struct target_config_attr *attr,
			 struct json_object *value)
{
	switch (attr->type) {
	case TARGET_CONFIG_STRING:
	case TARGET_CONFIG_SECRET:
	case TARGET_CONFIG_STATE:
		if (json_text(value))
			return xstrdup(json_text(value));
		fault(p, "\"%s\" must be a string", attr->name);
		break;
	case TARGET_CONFIG_BOOL:
		if (json_object_is_type(value, json_type_boolean))
			return xstrdup(json_object_get_boolean(value) ? "1" : "0");
		fault(p, "\"%s\" must be true or false", attr->name);
		break;
	case TARGET_CONFIG_NUMBER:
		if (json_object_is_type(value, json_type_int) &&
		    json_object_get_int64(value) >= 0)
			return xasprintf("%" PRIu64, json_object_get_uint64(value));
		fault(p, "\"%s\" must be a whole number, not negative", attr->name);
		break;
	}
	return NULL;
}

static void parse_attr(struct parser *p, const struct target_config_attr *attr,
		       struct json_object *json, char **out)
{
	struct json_object *value;
	const char *wrong;

	if (!json_object_object_get_ex(json, attr->name, &value)) {
		if (attr->needed)
			fault(p, "\"%s\" is missing", attr->name);
		else if (attr->otherwise)
			*out = xstrdup(attr->otherwise);
		return;
	}
	*out = parse_value(p, attr, value);
	wrong = *out && attr->check ? attr->check(*out) : NULL;
	if (wrong)
		fault(p, "\"%s\" is \"%.100s\": %s", attr->name, *out, wrong);
}

static void parse_links(struct parser *p, const struct target_config_links *link,
			struct json_object *json, struct strlist *links)
{
	const struct target_config_schema *to = &target_config_schema[link->kind];
	struct json_object *array;
	size_t i;

	if (!json_object_object_get_ex(json, link->key, &array))
		return;
	if (!json_object_is_type(array, json_type_array)) {
		fault(p, "\"%s\" must be an array of strings", link->key);
		return;
	}
	for (i = 0; i < json_object_array_length(array); i++) {
		const char *text = json_text(json_object_array_get_idx(array, i));
		const char *wrong;
		char *name;

		if (!text) {
			fault(p, "\"%s\"[%zu] must be a string", link->key, i);
			continue;
		}
		name = xstrdup(text);
		wrong = to->check_name(name);
		if (wrong)
			fault(p, "\"%s\"[%zu] is \"%.100s\": %s", link->key, i, name, wrong);
		else if (strlist_has(links, name))
			fault(p, "\"%s\" names %s twice", link->key, name);
		else
			strlist_add(links, name);
		free(name);
	}
}

static bool known_key(const struct target_config_schema *schema, const char *key)
{
	int i;

	for (i = 0; i < schema->nr_attrs; i++)
		if (!strcmp(key, schema->attr[i].name))
			return true;
	for (i = 0; i < TARGET_CONFIG_LINKS && schema->link[i].key; i++)
		if (!strcmp(key, schema->link[i].key))
			return true;
	return !strcmp(key, schema->key);
}

static void parse_all_links(struct parser *p, const struct target_config_schema *schema,
			    struct json_object *json, struct target_config_object *object)
{
	size_t j;
	int i;

	for (i = 0; i < TARGET_CONFIG_LINKS && schema->link[i].key; i++) {
		parse_links(p, &schema->link[i], json, &object->links[i]);
		for (j = 0; i && j < object->links[i].nr; j++)
			if (strlist_has(&object->links[0], object->links[i].item[j]))
				fault(p, "\"%s\" and \"%s\" both name %s", schema->link[0].key,
				      schema->link[i].key, object->links[i].item[j]);
	}
}

static void parse_object(struct parser *p, enum target_config_kind kind, size_t index,
			 struct json_object *json)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	struct target_config_object *object;
	struct json_object *value;
	const char *wrong;
	char *name;
	int i;

	snprintf(p->where, sizeof(p->where), "%s[%zu]", schema->dir, index);
	if (!json_object_is_type(json, json_type_object)) {
		fault(p, "must be an object");
		return;
	}
	if (!json_object_object_get_ex(json, schema->key, &value)) {
		fault(p, "\"%s\" is missing", schema->key);
		return;
	}
	if (!json_text(value)) {
		fault(p, "\"%s\" must be a string", schema->key);
		return;
	}
	name = xstrdup(json_text(value));
	wrong = schema->check_name(name);
	if (wrong) {
		fault(p, "\"%s\" is \"%.100s\": %s", schema->key, name, wrong);
		free(name);
		return;
	}
	snprintf(p->where, sizeof(p->where), "%s %s", schema->word, name);
	if (target_config_find(p->config, kind, name))
		fault(p, "is defined twice");
	object = target_config_add(p->config, kind, name);
	free(name);

	json_object_object_foreach(json, key, ignored) {
		(void)ignored;
		if (!known_key(schema, key))
			fault(p, "the key \"%.100s\" is not known", key);
	}
	for (i = 0; i < schema->nr_attrs; i++)
		parse_attr(p, &schema->attr[i], json, &object->value[i]);
	parse_all_links(p, schema, json, object);
	if (kind == TARGET_CONFIG_EXPORT && object->value[TARGET_EXPORT_OWNER] &&
	    object->value[TARGET_EXPORT_EXCLUSIVE] &&
	    strcmp(object->value[TARGET_EXPORT_EXCLUSIVE], "1"))
		fault(p, "has \"%s\" but is not \"%s\"",
		      schema->attr[TARGET_EXPORT_OWNER].name,
		      schema->attr[TARGET_EXPORT_EXCLUSIVE].name);
	if (target_config_enabled(kind, object) && object->value[schema->wanted_on] &&
	    !*object->value[schema->wanted_on])
		fault(p, "is enabled without \"%s\"", schema->attr[schema->wanted_on].name);
}

static void parse_list(struct parser *p, enum target_config_kind kind, struct json_object *root)
{
	const char *key = target_config_schema[kind].dir;
	struct json_object *array;
	size_t i;

	*p->where = '\0';
	if (!json_object_object_get_ex(root, key, &array))
		return;
	if (!json_object_is_type(array, json_type_array)) {
		fault(p, "\"%s\" must be an array", key);
		return;
	}
	for (i = 0; i < json_object_array_length(array); i++)
		parse_object(p, kind, i, json_object_array_get_idx(array, i));
}

/* Check that the file defines each object to which it links: the target can lack this object. */
static void check_links(struct parser *p, enum target_config_kind kind)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	const struct target_config_list *list = &p->config->list[kind];
	size_t i, j, n;

	for (i = 0; i < list->nr; i++) {
		snprintf(p->where, sizeof(p->where), "%s %s", schema->word,
			 list->object[i].name);
		for (n = 0; n < TARGET_CONFIG_LINKS; n++) {
			const struct strlist *links = &list->object[i].links[n];
			const struct target_config_links *link = &schema->link[n];

			for (j = 0; j < links->nr; j++)
				if (!target_config_find(p->config, link->kind, links->item[j]))
					fault(p, "it %s %s, which is not in \"%s\"", link->word,
					      links->item[j],
					      target_config_schema[link->kind].dir);
		}
	}
}

static bool same_place(const struct target_config_object *a, const struct target_config_object *b)
{
	return target_config_enabled(TARGET_CONFIG_PORT,
				     a) && target_config_enabled(TARGET_CONFIG_PORT, b) &&
	       a->value[TARGET_PORT_ADDR] && b->value[TARGET_PORT_ADDR] &&
	       a->value[TARGET_PORT_PORT] && b->value[TARGET_PORT_PORT] &&
	       !strcmp(a->value[TARGET_PORT_ADDR], b->value[TARGET_PORT_ADDR]) &&
	       !strcmp(a->value[TARGET_PORT_PORT], b->value[TARGET_PORT_PORT]);
}

static void check_ports(struct parser *p)
{
	const struct target_config_list *list = &p->config->list[TARGET_CONFIG_PORT];
	size_t i, j;

	for (i = 0; i < list->nr; i++) {
		snprintf(p->where, sizeof(p->where), "port %s", list->object[i].name);
		for (j = 0; j < i; j++)
			if (same_place(&list->object[i], &list->object[j]))
				fault(p, "port %s listens at the same address",
				      list->object[j].name);
	}
}

/* Compare by UUID, then by the order of the file. */
static int compare_data(const void *a, const void *b)
{
	const struct target_config_object *x = *(struct target_config_object *const *)a;
	const struct target_config_object *y = *(struct target_config_object *const *)b;
	int ret = strcmp(x->value[TARGET_EXPORT_UUID], y->value[TARGET_EXPORT_UUID]);

	return ret ?: (x > y) - (x < y);
}

/*
 * Refuse enabled exports with the same UUID: a client would take their disks for paths to the same
 * data.
 */
static void check_exports(struct parser *p)
{
	const struct target_config_list *list = &p->config->list[TARGET_CONFIG_EXPORT];
	const struct target_config_object **sorted = xcalloc(list->nr, sizeof(*sorted));
	size_t nr = 0, i, j;

	for (i = 0; i < list->nr; i++)
		if (target_config_enabled(TARGET_CONFIG_EXPORT, &list->object[i]) &&
		    list->object[i].value[TARGET_EXPORT_UUID])
			sorted[nr++] = &list->object[i];
	if (nr > 1)
		qsort(sorted, nr, sizeof(*sorted), compare_data);
	for (i = 1; i < nr; i++) {
		snprintf(p->where, sizeof(p->where), "export %s", sorted[i]->name);
		for (j = i; j && target_config_same_uuid(sorted[i], sorted[j - 1]); j--)
			fault(p, "export %s is enabled with the same \"uuid\"",
			      sorted[j - 1]->name);
	}
	free(sorted);
}

static bool root_key_known(const char *key)
{
	int kind;

	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++)
		if (!strcmp(key, target_config_schema[kind].dir))
			return true;
	return !strcmp(key, "version");
}

static void parse_root(struct parser *p, struct json_object *root)
{
	struct json_object *version;
	int kind;

	if (!json_object_is_type(root, json_type_object)) {
		fault(p, "it is not a JSON object");
		return;
	}
	/* Do not check anything else in a file of another version. */
	if (!json_object_object_get_ex(root, "version", &version)) {
		fault(p, "\"version\" is missing; this tool supports version %d",
		      TARGET_CONFIG_VERSION);
		return;
	}
	if (!json_object_is_type(version, json_type_int) ||
	    json_object_get_int64(version) != TARGET_CONFIG_VERSION) {
		fault(p, "\"version\" is %.100s; this tool supports version %d",
		      json_object_to_json_string(version), TARGET_CONFIG_VERSION);
		return;
	}
	json_object_object_foreach(root, key, ignored) {
		(void)ignored;
		if (!root_key_known(key))
			fault(p, "the key \"%.100s\" is not known", key);
	}
	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++)
		parse_list(p, kind, root);
	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++)
		check_links(p, kind);
	check_exports(p);
	check_ports(p);
}

/* Count the keys of all objects in a value; recursion is safe, as the parser limits the depth. */
static size_t count_keys(struct json_object *json)
{
	size_t count = 0, i;

	if (json_object_is_type(json, json_type_array)) {
		for (i = 0; i < json_object_array_length(json); i++)
			count += count_keys(json_object_array_get_idx(json, i));
	} else if (json_object_is_type(json, json_type_object)) {
		json_object_object_foreach(json, key, value) {
			(void)key;
			count += 1 + count_keys(value);
		}
	}
	return count;
}

/*
 * Count the keys in well-formed JSON text, that is, the colons outside of strings. Stop at a
 * string in single quotes, which json-c accepts although JSON does not have them.
 */
static size_t count_colons(const char *text, size_t len, size_t *end)
{
	bool string = false;
	size_t count = 0, i;

	for (i = 0; i < len; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		else if (text[i] == '\'' && !string)
			break;
		else if (text[i] == ':' && !string)
			count++;
	}
	*end = i;
	return count;
}

static unsigned int line_of(const char *text, size_t at)
{
	unsigned int line = 1;

	while (at--)
		line += text[at] == '\n';
	return line;
}

/* Parse a text that must be exactly one JSON value; returns NULL after an error message. */
static struct json_object *parse_json(struct parser *p, const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	struct json_object *root = NULL;
	enum json_tokener_error error;
	size_t end, scanned, keys;

	if (!tok)
		abort();
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* Pass the NUL, too: it marks the end of the text for the parser. */
	root = json_tokener_parse_ex(tok, text, len + 1);
	error = json_tokener_get_error(tok);
	end = json_tokener_get_parse_end(tok);
	json_tokener_free(tok);

	while (error == json_tokener_success && end < len && strchr(" \t\r\n", text[end]))
		end++;
	keys = count_colons(text, len, &scanned);
	if (error == json_tokener_success && (end < len || scanned < len)) {
		error = json_tokener_error_parse_unexpected;
		end = end < scanned ? end : scanned;
	}
	if (error != json_tokener_success)
		fault(p, "line %u: %s", line_of(text, end < len ? end : len),
		      json_tokener_error_desc(error));
	else if (count_keys(root) != keys)
		/* json-c drops the first of two equal keys, so the counts differ. */
		fault(p, "an object has the same key twice");
	else
		return root;
	json_object_put(root);
	return NULL;
}

/**
 * target_config_parse() - parse the text of a file
 * @text: text, followed by a NUL
 * @len: length of the text in bytes, without the NUL
 * @config: configuration; the caller frees it in any case
 *
 * Return: 0, or -EINVAL after an error message for each mistake.
 */
int target_config_parse(const char *text, size_t len, struct target_config *config)
{
	struct parser p = { .config = config };
	struct json_object *root = NULL;

	*config = (struct target_config) { };
	if (memchr(text, '\0', len) || len >= INT32_MAX)
		fault(&p, "it is not JSON text");
	else
		root = parse_json(&p, text, len);
	if (!p.faults)
		parse_root(&p, root);
	json_object_put(root);
	target_config_sort(config);
	return p.faults ? -EINVAL : 0;
}

/* ------------------------------------------------------------------------
 * Write a file
 */

static void add_value(struct json_object *json, const struct target_config_attr *attr,
		      const char *value)
{
	switch (attr->type) {
	case TARGET_CONFIG_STRING:
	case TARGET_CONFIG_SECRET:
	case TARGET_CONFIG_STATE:
		json_add_string(json, attr->name, value);
		break;
	case TARGET_CONFIG_BOOL:
		json_add_bool(json, attr->name, !strcmp(value, "1"));
		break;
	case TARGET_CONFIG_NUMBER:
		json_add_u64(json, attr->name, strtoull(value, NULL, 10));
		break;
	}
}

static struct json_object *object_json(enum target_config_kind kind,
				       const struct target_config_object *object)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	struct json_object *json = json_object_new_object();
	int i;

	json_add_string(json, schema->key, object->name);
	for (i = 0; i < schema->nr_attrs; i++)
		if (object->value[i])
			add_value(json, &schema->attr[i], object->value[i]);
	for (i = 0; i < TARGET_CONFIG_LINKS && schema->link[i].key; i++)
		json_add_strings(json, schema->link[i].key, &object->links[i]);
	return json;
}

/**
 * target_config_text() - format a configuration as the text of a file
 * @config: configuration, sorted
 *
 * Return: JSON text that ends with an end of line; the caller frees it.
 */
char *target_config_text(const struct target_config *config)
{
	struct json_object *root = json_object_new_object();
	char *text;
	size_t i;
	int kind;

	json_add_u64(root, "version", TARGET_CONFIG_VERSION);
	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++) {
		struct json_object *array = json_object_new_array();

		for (i = 0; i < config->list[kind].nr; i++)
			json_object_array_add(array,
					      object_json(kind, &config->list[kind].object[i]));
		json_object_object_add(root, target_config_schema[kind].dir, array);
	}
	text = xasprintf("%s\n", json_object_to_json_string_ext(root, JSON_PRETTY));
	json_object_put(root);
	return text;
}
