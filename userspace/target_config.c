// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration of a target in memory: its objects, their order and their differences.
 *
 * Operation: values are kept as text as in configfs, each in one canonical form; objects and
 * links are sorted. target_config_schema.c defines the attributes and links of an object,
 * target_config_file.c reads and writes files, target_apply.c reads and changes configfs.
 *
 * Ownership: a configuration owns its strings and objects.
 * Concurrency: one thread, no I/O.
 * Errors: none.
 */
#include <stdlib.h>
#include <string.h>

#include "target_config.h"

static int compare_objects(const void *a, const void *b)
{
	const struct target_config_object *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/**
 * target_config_add() - add an object without values and links
 * @config: configuration
 * @kind: kind of the object
 * @name: name of the object
 *
 * Return: the object, which may move when another object is added.
 */
struct target_config_object *target_config_add(struct target_config *config,
					       enum target_config_kind kind,
					       const char *name)
{
	struct target_config_list *list = &config->list[kind];

	list->object = grow(list->object, list->nr, sizeof(*list->object));
	list->object[list->nr] = (struct target_config_object) { .name = xstrdup(name) };
	if (list->nr &&
	    compare_objects(&list->object[list->nr - 1], &list->object[list->nr]) > 0)
		list->mixed = true;
	return &list->object[list->nr++];
}

/**
 * target_config_find() - find an object by its name
 * @config: configuration
 * @kind: kind of the object
 * @name: name of the object, in canonical form
 *
 * Return: the object or NULL.
 */
const struct target_config_object *target_config_find(const struct target_config *config,
						      enum target_config_kind kind,
						      const char *name)
{
	const struct target_config_list *list = &config->list[kind];
	const struct target_config_object key = { .name = (char *)name };
	size_t i;

	if (!list->mixed)
		return list->nr ? bsearch(&key, list->object, list->nr, sizeof(*list->object),
					  compare_objects) : NULL;
	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->object[i].name, name))
			return &list->object[i];
	return NULL;
}

/**
 * target_config_sort() - sort all objects and links into the canonical order of a file
 * @config: configuration
 */
void target_config_sort(struct target_config *config)
{
	int kind, link;
	size_t i;

	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++) {
		struct target_config_list *list = &config->list[kind];

		if (list->nr > 1)
			qsort(list->object, list->nr, sizeof(*list->object), compare_objects);
		list->mixed = false;
		for (i = 0; i < list->nr; i++)
			for (link = 0; link < TARGET_CONFIG_LINKS; link++)
				strlist_sort(&list->object[i].links[link]);
	}
}

void target_config_free(struct target_config *config)
{
	int kind, attr, link;
	size_t i;

	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++) {
		struct target_config_list *list = &config->list[kind];

		for (i = 0; i < list->nr; i++) {
			for (attr = 0; attr < TARGET_CONFIG_ATTRS; attr++)
				free(list->object[i].value[attr]);
			for (link = 0; link < TARGET_CONFIG_LINKS; link++)
				strlist_free(&list->object[i].links[link]);
			free(list->object[i].name);
		}
		free(list->object);
	}
	*config = (struct target_config) { };
}

/**
 * target_config_enabled() - test whether an object is enabled
 * @kind: kind of the object
 * @object: object, as wanted or as in configfs
 */
bool target_config_enabled(enum target_config_kind kind, const struct target_config_object *object)
{
	int enable = target_config_schema[kind].enable;

	return enable >= 0 && object->value[enable] && !strcmp(object->value[enable], "1");
}

bool target_config_same_uuid(const struct target_config_object *a,
			     const struct target_config_object *b)
{
	return a->value[TARGET_EXPORT_UUID] && b->value[TARGET_EXPORT_UUID] &&
	       !strcmp(a->value[TARGET_EXPORT_UUID], b->value[TARGET_EXPORT_UUID]);
}

/**
 * target_config_was_enabled() - test whether a disabled export was enabled and still could be
 * @old: configuration in a file
 * @now: present configuration
 * @export: export in @now
 *
 * Return: true if the export is disabled in @now, an export with the same name and UUID is
 * enabled in @old (if it has no UUID there, the name suffices), and no enabled export in @now
 * has the UUID of @export.
 */
bool target_config_was_enabled(const struct target_config *old, const struct target_config *now,
			       const struct target_config_object *export)
{
	const struct target_config_object *before = target_config_find(old, TARGET_CONFIG_EXPORT,
								       export->name);
	const struct target_config_list *list = &now->list[TARGET_CONFIG_EXPORT];
	size_t i;

	if (target_config_enabled(TARGET_CONFIG_EXPORT, export) ||
	    !before || !target_config_enabled(TARGET_CONFIG_EXPORT, before) ||
	    (before->value[TARGET_EXPORT_UUID] && !target_config_same_uuid(before, export)))
		return false;
	/* The kernel enables only one of several exports with the same UUID. */
	for (i = 0; i < list->nr; i++)
		if (target_config_enabled(TARGET_CONFIG_EXPORT, &list->object[i]) &&
		    target_config_same_uuid(&list->object[i], export))
			return false;
	return true;
}

/**
 * target_config_differences() - list the attributes that prevent an object from being reused
 * @kind: kind of both objects
 * @want: object as wanted
 * @have: object as in configfs
 * @differences: list to which one text per difference is added, such as: path is "/a", not "/b"
 *
 * If the object is disabled and wanted enabled, this is not listed: the caller can enable it.
 */
void target_config_differences(enum target_config_kind kind,
			       const struct target_config_object *want,
			       const struct target_config_object *have, struct strlist *differences)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	int a;

	for (a = 0; a < schema->nr_attrs; a++) {
		const struct target_config_attr *attr = &schema->attr[a];
		char *text;

		/*
		 * Do not compare secrets, which configfs does not reveal, nor states, because
		 * the kernel ignores a written state that is not newer than its own.
		 */
		if (!want->value[a] || attr->tunable || attr->type == TARGET_CONFIG_SECRET ||
		    attr->type == TARGET_CONFIG_STATE || !strcmp(want->value[a], have->value[a]))
			continue;
		if (a == schema->enable) {
			if (!target_config_enabled(kind, have))
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
 * target_config_extras() - list the links of an object that the wanted object does not have
 * @kind: kind of both objects
 * @want: object as wanted
 * @have: object as in configfs
 * @extras: list to which one text per link is added, such as: it offers export disk0
 */
void target_config_extras(enum target_config_kind kind, const struct target_config_object *want,
			  const struct target_config_object *have, struct strlist *extras)
{
	size_t i;
	int link;

	for (link = 0; link < TARGET_CONFIG_LINKS; link++) {
		for (i = 0; i < have->links[link].nr; i++) {
			const char *name = have->links[link].item[i];
			char *text;

			if (strlist_has(&want->links[link], name))
				continue;
			text = xasprintf("it %s %s", target_config_schema[kind].link[link].word,
					 name);
			strlist_add(extras, text);
			free(text);
		}
	}
}
