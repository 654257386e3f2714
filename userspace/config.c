// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration of a target as a value, and its form in a file.
 *
 * Operation: config_schema says once which attributes and links each kind of
 * object has. Parsing, writing, comparing and applying walk along it, so a new
 * attribute of the kernel's is one more row. Values are kept as configfs has
 * them, as text, in one canonical form each; objects and links are sorted. So
 * equal configurations are equal texts.
 * A file is taken as a whole or not at all: what is not understood may be a
 * limit or a denial that somebody counts on.
 *
 * Ownership: a configuration owns all that it consists of.
 * Concurrency: one thread, no I/O besides messages.
 * Errors: a line for each fault that is found, not only the first one. The file
 * may hold anything.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "parse.h"
#include "output.h"

#define MAX_DEPTH	8	/* of nesting; the format has 4 levels */
#define PATH_SIZE	4095	/* what configfs can take and show, with the end of line */
#define PORT_ADDR_SIZE	64	/* as in the kernel */

/* What configfs would cut off again. */
static bool is_trimmed(const char *value)
{
	static const char space[] = " \t\n\v\f\r";
	size_t len = strlen(value);

	return !len || (!strchr(space, value[0]) && !strchr(space, value[len - 1]));
}

static const char *check_path(char *value)
{
	if (!*value)
		return NULL;
	if (*value != '/')
		return "wanted an absolute path";
	if (!is_trimmed(value))
		return "a path cannot end in white space";
	return strlen(value) < PATH_SIZE ? NULL : "too long for a path";
}

static const char *check_cache(char *value)
{
	return !strcmp(value, "none") || !strcmp(value, "pagecache") ? NULL :
	       "wanted none or pagecache";
}

static const char *check_write_cache(char *value)
{
	return !strcmp(value, "through") || !strcmp(value, "back") ? NULL :
	       "wanted through or back";
}

static const char *check_uuid(char *value)
{
	uint8_t uuid[UUID_SIZE];

	if (parse_uuid(value, uuid))
		return "not a UUID";
	format_uuid(uuid, value);
	return NULL;
}

static const char *check_name(char *name)
{
	return export_name_valid(name) ? NULL :
	       "a name has 1 to 63 of A-Z a-z 0-9 . _ : - and no dot in front";
}

/* IPv4, or IPv6 which may end in %INTERFACE */
static const char *check_addr(char *value)
{
	char addr[PORT_ADDR_SIZE];
	struct in6_addr in6;
	struct in_addr in;
	char *zone;

	if (!*value)
		return NULL;
	if (snprintf(addr, sizeof(addr), "%s", value) >= (int)sizeof(addr))
		return "too long for an address";
	if (inet_pton(AF_INET, addr, &in) == 1)
		return NULL;
	zone = strchr(addr, '%');
	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, addr, &in6) != 1 ||
	    (zone && (!*zone || !is_trimmed(zone))))
		return "wanted a numeric IPv4 or IPv6 address";
	return NULL;
}

static const char *check_port(char *value)
{
	uint32_t port;

	return parse_u32(value, 1, UINT16_MAX, &port) ? "wanted 1 to 65535" : NULL;
}

/* json-c makes UINT64_MAX of all that is larger, which is larger than this. */
static const char *check_pool_bytes(char *value)
{
	return strtoull(value, NULL, 10) <= INT64_MAX ? NULL :
	       "too large; wanted at most 9223372036854775807, or 0 for no limit";
}

static const char *check_sessions(char *value)
{
	return strtoull(value, NULL, 10) <= UINT32_MAX ? NULL :
	       "too large; wanted at most 4294967295, or 0 for no limit of its own";
}

/* The kernel's last one is one less. */
static const char *check_fence(char *value)
{
	struct fence fence;

	return !fence_parse(value, &fence) && fence.generation < UINT32_MAX ? NULL :
	       "not what rnbd save writes; leave it out if the host was never fenced";
}

static const char *check_secret(char *value)
{
	return *value == '/' && is_trimmed(value) ? NULL :
	       "wanted an absolute path; leave it out if the host has no secret";
}

static const struct config_attr host_attrs[] = {
	{ "max_pool_bytes", CONFIG_NUMBER, .otherwise = "0", .check = check_pool_bytes },
	{ "max_session_pool_bytes", CONFIG_NUMBER, .otherwise = "0",
	  .check = check_pool_bytes },
	{ "max_sessions", CONFIG_NUMBER, .otherwise = "0", .check = check_sessions },
	{ "unfence_on_restart", CONFIG_BOOL, .otherwise = "0" },
	{ "fence_state", CONFIG_FENCE, .check = check_fence },
	{ "secret_file", CONFIG_SECRET, .check = check_secret },
};

enum {
	EXPORT_PATH,
	EXPORT_READONLY,
	EXPORT_CACHE,
	EXPORT_WRITE_CACHE,
	EXPORT_UUID,
	EXPORT_ENABLE,
};

static const struct config_attr export_attrs[] = {
	[EXPORT_PATH] = { "path", CONFIG_STRING, .needed = true, .check = check_path },
	[EXPORT_READONLY] = { "readonly", CONFIG_BOOL, .otherwise = "0" },
	[EXPORT_CACHE] = { "cache", CONFIG_STRING, .otherwise = "none",
			   .check = check_cache },
	[EXPORT_WRITE_CACHE] = { "write_cache", CONFIG_STRING, .otherwise = "through",
				 .check = check_write_cache },
	/* the kernel makes one for each new export */
	[EXPORT_UUID] = { "uuid", CONFIG_STRING, .check = check_uuid },
	[EXPORT_ENABLE] = { "enable", CONFIG_BOOL, .otherwise = "1" },
};

enum {
	PORT_ADDR,
	PORT_PORT,
	PORT_ENABLE,
};

static const struct config_attr port_attrs[] = {
	[PORT_ADDR] = { "addr", CONFIG_STRING, .needed = true, .check = check_addr },
	[PORT_PORT] = { "port", CONFIG_NUMBER, .otherwise = "4427", .check = check_port },
	[PORT_ENABLE] = { "enable", CONFIG_BOOL, .otherwise = "1" },
};

_Static_assert(ARRAY_SIZE(host_attrs) <= CONFIG_ATTRS &&
	       ARRAY_SIZE(export_attrs) <= CONFIG_ATTRS &&
	       ARRAY_SIZE(port_attrs) <= CONFIG_ATTRS, "raise CONFIG_ATTRS");

const struct config_schema config_schema[CONFIG_KINDS] = {
	[CONFIG_HOST] = {
		.word = "host", .dir = "hosts", .key = "uuid",
		.check_name = check_uuid,
		.attr = host_attrs, .nr_attrs = ARRAY_SIZE(host_attrs), .enable = -1,
	},
	[CONFIG_EXPORT] = {
		.word = "export", .dir = "exports", .key = "name",
		.check_name = check_name,
		.attr = export_attrs, .nr_attrs = ARRAY_SIZE(export_attrs),
		.enable = EXPORT_ENABLE, .wanted_on = EXPORT_PATH,
		.links = "hosts", .link_dir = "allowed_hosts",
		.link_word = "allows host", .link_kind = CONFIG_HOST,
	},
	[CONFIG_PORT] = {
		.word = "port", .dir = "ports", .key = "id",
		.check_name = check_name,
		.attr = port_attrs, .nr_attrs = ARRAY_SIZE(port_attrs),
		.enable = PORT_ENABLE, .wanted_on = PORT_ADDR,
		.links = "exports", .link_dir = "exports",
		.link_word = "offers export", .link_kind = CONFIG_EXPORT,
	},
};

/* ------------------------------------------------------------------------
 * Objects
 */

/**
 * config_add() - add an object without values and links
 * @config: configuration
 * @kind: of the object
 * @name: of the object
 *
 * Return: the object; it may move when another one is added.
 */
struct config_object *config_add(struct config *config, enum config_kind kind,
				 const char *name)
{
	struct config_list *list = &config->list[kind];

	list->object = xrealloc(list->object, list->nr + 1, sizeof(*list->object));
	list->object[list->nr] = (struct config_object) { .name = xstrdup(name) };
	return &list->object[list->nr++];
}

/**
 * config_find() - an object by its name
 * @config: configuration
 * @kind: of the object
 * @name: of the object, in canonical form
 *
 * Return: the object or NULL.
 */
const struct config_object *config_find(const struct config *config,
					enum config_kind kind, const char *name)
{
	const struct config_list *list = &config->list[kind];
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->object[i].name, name))
			return &list->object[i];
	return NULL;
}

static int compare_objects(const void *a, const void *b)
{
	const struct config_object *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/**
 * config_sort() - put all into the one order that a file has
 * @config: configuration
 */
void config_sort(struct config *config)
{
	size_t i;
	int kind;

	for (kind = 0; kind < CONFIG_KINDS; kind++) {
		struct config_list *list = &config->list[kind];

		if (list->nr > 1)
			qsort(list->object, list->nr, sizeof(*list->object), compare_objects);
		for (i = 0; i < list->nr; i++)
			strlist_sort(&list->object[i].links);
	}
}

void config_free(struct config *config)
{
	int kind, attr;
	size_t i;

	for (kind = 0; kind < CONFIG_KINDS; kind++) {
		struct config_list *list = &config->list[kind];

		for (i = 0; i < list->nr; i++) {
			for (attr = 0; attr < CONFIG_ATTRS; attr++)
				free(list->object[i].value[attr]);
			strlist_free(&list->object[i].links);
			free(list->object[i].name);
		}
		free(list->object);
	}
	*config = (struct config) { };
}

/**
 * config_enabled() - is an object to be enabled, or enabled already
 * @kind: of the object
 * @object: object
 */
bool config_enabled(enum config_kind kind, const struct config_object *object)
{
	int enable = config_schema[kind].enable;

	return enable >= 0 && object->value[enable] && !strcmp(object->value[enable], "1");
}

static bool same_uuid(const struct config_object *a, const struct config_object *b)
{
	return a->value[EXPORT_UUID] && b->value[EXPORT_UUID] &&
	       !strcmp(a->value[EXPORT_UUID], b->value[EXPORT_UUID]);
}

/**
 * config_was_enabled() - is an export disabled that was to be enabled, and still could be
 * @old: what a file says; a UUID that it does not say may be any
 * @now: what is there
 * @export: of @now
 */
bool config_was_enabled(const struct config *old, const struct config *now,
			const struct config_object *export)
{
	const struct config_object *before = config_find(old, CONFIG_EXPORT, export->name);
	const struct config_list *list = &now->list[CONFIG_EXPORT];
	size_t i;

	if (config_enabled(CONFIG_EXPORT, export) ||
	    !before || !config_enabled(CONFIG_EXPORT, before) ||
	    (before->value[EXPORT_UUID] && !same_uuid(before, export)))
		return false;
	/* another one may have taken its place */
	for (i = 0; i < list->nr; i++)
		if (config_enabled(CONFIG_EXPORT, &list->object[i]) &&
		    same_uuid(&list->object[i], export))
			return false;
	return true;
}

/**
 * config_differences() - what keeps an object that is there from being the wanted one
 * @kind: of both
 * @want: what a file says
 * @have: what is there
 * @differences: one text for each is added, such as: path is "/a", not "/b"
 *
 * That it is not enabled yet is none: that can be done.
 */
void config_differences(enum config_kind kind, const struct config_object *want,
			const struct config_object *have, struct strlist *differences)
{
	const struct config_schema *schema = &config_schema[kind];
	int a;

	for (a = 0; a < schema->nr_attrs; a++) {
		const struct config_attr *attr = &schema->attr[a];
		char *text;

		/*
		 * Which secret it is configfs does not tell: that is set in any case. A
		 * fence is an event, of which the kernel knows the last one.
		 */
		if (!want->value[a] || attr->type == CONFIG_SECRET ||
		    attr->type == CONFIG_FENCE || !strcmp(want->value[a], have->value[a]))
			continue;
		if (a == schema->enable) {
			if (!config_enabled(kind, have))
				continue;
			text = xstrdup("it is enabled");
		} else {
			text = xasprintf("%s is \"%s\", not \"%s\"", attr->name, have->value[a],
					 want->value[a]);
		}
		strlist_add(differences, text);
		free(text);
	}
}

/**
 * config_extras() - links of an object that is there which the wanted one has not
 * @kind: of both
 * @want: what a file says
 * @have: what is there
 * @extras: one text for each is added, such as: it offers export disk0
 */
void config_extras(enum config_kind kind, const struct config_object *want,
		   const struct config_object *have, struct strlist *extras)
{
	size_t i;

	for (i = 0; i < have->links.nr; i++) {
		char *text;

		if (strlist_has(&want->links, have->links.item[i]))
			continue;
		text = xasprintf("it %s %s", config_schema[kind].link_word, have->links.item[i]);
		strlist_add(extras, text);
		free(text);
	}
}

/* ------------------------------------------------------------------------
 * From a file
 */

/**
 * struct parser - a file that is being read
 * @config: what came out so far
 * @where: the object at hand, for messages
 * @faults: found so far
 */
struct parser {
	struct config *config;
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

/* A string without a NUL inside, which nothing here could keep; or NULL. */
static const char *json_text(struct json_object *value)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

/* A value as configfs has it; NULL after a message. */
static char *parse_value(struct parser *p, const struct config_attr *attr,
			 struct json_object *value)
{
	switch (attr->type) {
	case CONFIG_STRING:
	case CONFIG_SECRET:
	case CONFIG_FENCE:
		if (json_text(value))
			return xstrdup(json_text(value));
		fault(p, "\"%s\" has to be a string", attr->name);
		break;
	case CONFIG_BOOL:
		if (json_object_is_type(value, json_type_boolean))
			return xstrdup(json_object_get_boolean(value) ? "1" : "0");
		fault(p, "\"%s\" has to be true or false", attr->name);
		break;
	case CONFIG_NUMBER:
		if (json_object_is_type(value, json_type_int) &&
		    json_object_get_int64(value) >= 0)
			return xasprintf("%" PRIu64, json_object_get_uint64(value));
		fault(p, "\"%s\" has to be a whole number, not negative", attr->name);
		break;
	}
	return NULL;
}

static void parse_attr(struct parser *p, const struct config_attr *attr,
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

static void parse_links(struct parser *p, const struct config_schema *schema,
			struct json_object *json, struct strlist *links)
{
	const struct config_schema *to = &config_schema[schema->link_kind];
	struct json_object *array;
	size_t i;

	if (!json_object_object_get_ex(json, schema->links, &array))
		return;
	if (!json_object_is_type(array, json_type_array)) {
		fault(p, "\"%s\" has to be an array of strings", schema->links);
		return;
	}
	for (i = 0; i < json_object_array_length(array); i++) {
		const char *text = json_text(json_object_array_get_idx(array, i));
		const char *wrong;
		char *name;

		if (!text) {
			fault(p, "\"%s\"[%zu] has to be a string", schema->links, i);
			continue;
		}
		name = xstrdup(text);
		wrong = to->check_name(name);
		if (wrong)
			fault(p, "\"%s\"[%zu] is \"%.100s\": %s", schema->links, i, name, wrong);
		else if (strlist_has(links, name))
			fault(p, "\"%s\" names %s twice", schema->links, name);
		else
			strlist_add(links, name);
		free(name);
	}
}

static bool known_key(const struct config_schema *schema, const char *key)
{
	int i;

	for (i = 0; i < schema->nr_attrs; i++)
		if (!strcmp(key, schema->attr[i].name))
			return true;
	return !strcmp(key, schema->key) || (schema->links && !strcmp(key, schema->links));
}

static void parse_object(struct parser *p, enum config_kind kind, size_t index,
			 struct json_object *json)
{
	const struct config_schema *schema = &config_schema[kind];
	struct config_object *object;
	struct json_object *value;
	const char *wrong;
	char *name;
	int i;

	snprintf(p->where, sizeof(p->where), "%s[%zu]", schema->dir, index);
	if (!json_object_is_type(json, json_type_object)) {
		fault(p, "has to be an object");
		return;
	}
	if (!json_object_object_get_ex(json, schema->key, &value)) {
		fault(p, "\"%s\" is missing", schema->key);
		return;
	}
	if (!json_text(value)) {
		fault(p, "\"%s\" has to be a string", schema->key);
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
	if (config_find(p->config, kind, name))
		fault(p, "is there twice");
	object = config_add(p->config, kind, name);
	free(name);

	json_object_object_foreach(json, key, ignored) {
		(void)ignored;
		if (!known_key(schema, key))
			fault(p, "the key \"%.100s\" is not known", key);
	}
	for (i = 0; i < schema->nr_attrs; i++)
		parse_attr(p, &schema->attr[i], json, &object->value[i]);
	if (schema->links)
		parse_links(p, schema, json, &object->links);
	if (config_enabled(kind, object) && object->value[schema->wanted_on] &&
	    !*object->value[schema->wanted_on])
		fault(p, "is to be enabled without \"%s\"", schema->attr[schema->wanted_on].name);
}

static void parse_list(struct parser *p, enum config_kind kind, struct json_object *root)
{
	const char *key = config_schema[kind].dir;
	struct json_object *array;
	size_t i;

	*p->where = '\0';
	if (!json_object_object_get_ex(root, key, &array))
		return;
	if (!json_object_is_type(array, json_type_array)) {
		fault(p, "\"%s\" has to be an array", key);
		return;
	}
	for (i = 0; i < json_object_array_length(array); i++)
		parse_object(p, kind, i, json_object_array_get_idx(array, i));
}

/* Links lead to objects of the file: it has to be enough for an empty target. */
static void check_links(struct parser *p, enum config_kind kind)
{
	const struct config_schema *schema = &config_schema[kind];
	const struct config_list *list = &p->config->list[kind];
	size_t i, j;

	for (i = 0; schema->links && i < list->nr; i++) {
		const struct strlist *links = &list->object[i].links;

		snprintf(p->where, sizeof(p->where), "%s %s", schema->word,
			 list->object[i].name);
		for (j = 0; j < links->nr; j++)
			if (!config_find(p->config, schema->link_kind, links->item[j]))
				fault(p, "it %s %s, which is not in \"%s\"",
				      schema->link_word, links->item[j],
				      config_schema[schema->link_kind].dir);
	}
}

static bool same_place(const struct config_object *a, const struct config_object *b)
{
	return config_enabled(CONFIG_PORT, a) && config_enabled(CONFIG_PORT, b) &&
	       a->value[PORT_ADDR] && b->value[PORT_ADDR] &&
	       a->value[PORT_PORT] && b->value[PORT_PORT] &&
	       !strcmp(a->value[PORT_ADDR], b->value[PORT_ADDR]) &&
	       !strcmp(a->value[PORT_PORT], b->value[PORT_PORT]);
}

static void check_ports(struct parser *p)
{
	const struct config_list *list = &p->config->list[CONFIG_PORT];
	size_t i, j;

	for (i = 0; i < list->nr; i++) {
		snprintf(p->where, sizeof(p->where), "port %s", list->object[i].name);
		for (j = 0; j < i; j++)
			if (same_place(&list->object[i], &list->object[j]))
				fault(p, "port %s is to listen at the same address",
				      list->object[j].name);
	}
}

static bool same_data(const struct config_object *a, const struct config_object *b)
{
	return config_enabled(CONFIG_EXPORT, a) && config_enabled(CONFIG_EXPORT, b) &&
	       same_uuid(a, b);
}

/* A client takes two disks with one identity for two paths to the same data. */
static void check_exports(struct parser *p)
{
	const struct config_list *list = &p->config->list[CONFIG_EXPORT];
	size_t i, j;

	for (i = 0; i < list->nr; i++) {
		snprintf(p->where, sizeof(p->where), "export %s", list->object[i].name);
		for (j = 0; j < i; j++)
			if (same_data(&list->object[i], &list->object[j]))
				fault(p, "export %s is to be enabled with the same \"uuid\"",
				      list->object[j].name);
	}
}

static bool root_key_known(const char *key)
{
	int kind;

	for (kind = 0; kind < CONFIG_KINDS; kind++)
		if (!strcmp(key, config_schema[kind].dir))
			return true;
	return !strcmp(key, "version");
}

static void parse_root(struct parser *p, struct json_object *root)
{
	struct json_object *version;
	int kind;

	if (!json_object_is_type(root, json_type_object)) {
		fault(p, "it is no JSON object");
		return;
	}
	/* Of another version nothing else can be said. */
	if (!json_object_object_get_ex(root, "version", &version)) {
		fault(p, "\"version\" is missing; this tool knows version %d", CONFIG_VERSION);
		return;
	}
	if (!json_object_is_type(version, json_type_int) ||
	    json_object_get_int64(version) != CONFIG_VERSION) {
		fault(p, "\"version\" is %.100s; this tool knows version %d",
		      json_object_to_json_string(version), CONFIG_VERSION);
		return;
	}
	json_object_object_foreach(root, key, ignored) {
		(void)ignored;
		if (!root_key_known(key))
			fault(p, "the key \"%.100s\" is not known", key);
	}
	for (kind = 0; kind < CONFIG_KINDS; kind++)
		parse_list(p, kind, root);
	for (kind = 0; kind < CONFIG_KINDS; kind++)
		check_links(p, kind);
	check_exports(p);
	check_ports(p);
}

/* All keys of all objects in a value; its depth is limited. */
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
 * The same in JSON text that is well-formed: colons outside of strings. Stops at a
 * string in single quotes, which json-c takes although JSON has none.
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

/* Nothing but one JSON value; NULL after a message. */
static struct json_object *parse_json(struct parser *p, const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	struct json_object *root = NULL;
	enum json_tokener_error error;
	size_t end, scanned, keys;

	if (!tok)
		abort();
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	/* the NUL behind the text says that it ends there */
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
		/* json-c keeps the last one of two */
		fault(p, "an object has the same key twice");
	else
		return root;
	json_object_put(root);
	return NULL;
}

/**
 * config_parse() - a configuration from the text of a file
 * @text: text, with a NUL behind it
 * @len: bytes without that
 * @config: where it goes, to be freed whatever is returned
 *
 * Return: 0, or -EINVAL after a message for each fault.
 */
int config_parse(const char *text, size_t len, struct config *config)
{
	struct parser p = { .config = config };
	struct json_object *root = NULL;

	*config = (struct config) { };
	if (memchr(text, '\0', len) || len >= INT32_MAX)
		fault(&p, "it is no JSON text");
	else
		root = parse_json(&p, text, len);
	if (!p.faults)
		parse_root(&p, root);
	json_object_put(root);
	config_sort(config);
	return p.faults ? -EINVAL : 0;
}

/* ------------------------------------------------------------------------
 * To a file
 */

static void add_value(struct json_object *json, const struct config_attr *attr,
		      const char *value)
{
	switch (attr->type) {
	case CONFIG_STRING:
	case CONFIG_SECRET:
	case CONFIG_FENCE:
		json_add_string(json, attr->name, value);
		break;
	case CONFIG_BOOL:
		json_add_bool(json, attr->name, !strcmp(value, "1"));
		break;
	case CONFIG_NUMBER:
		json_add_u64(json, attr->name, strtoull(value, NULL, 10));
		break;
	}
}

static struct json_object *object_json(enum config_kind kind,
				       const struct config_object *object)
{
	const struct config_schema *schema = &config_schema[kind];
	struct json_object *json = json_object_new_object();
	int i;

	json_add_string(json, schema->key, object->name);
	for (i = 0; i < schema->nr_attrs; i++)
		if (object->value[i])
			add_value(json, &schema->attr[i], object->value[i]);
	if (schema->links)
		json_add_strings(json, schema->links, &object->links);
	return json;
}

/**
 * config_text() - the text of a file
 * @config: configuration, sorted
 *
 * Return: JSON that ends with an end of line; the caller frees it.
 */
char *config_text(const struct config *config)
{
	struct json_object *root = json_object_new_object();
	char *text;
	size_t i;
	int kind;

	json_add_u64(root, "version", CONFIG_VERSION);
	for (kind = 0; kind < CONFIG_KINDS; kind++) {
		struct json_object *array = json_object_new_array();

		for (i = 0; i < config->list[kind].nr; i++)
			json_object_array_add(array,
					      object_json(kind, &config->list[kind].object[i]));
		json_object_object_add(root, config_schema[kind].dir, array);
	}
	text = xasprintf("%s\n", json_object_to_json_string_ext(root, JSON_PRETTY));
	json_object_put(root);
	return text;
}
