// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration of a target as a value: its objects, their order and differences.
 *
 * Operation: values are kept as configfs has them, as text, in one canonical form each;
 * objects and links are sorted. target_config_schema.c says what an object consists of,
 * target_config_file.c reads and writes files, target_apply.c reads and changes configfs.
 *
 * Ownership: a configuration owns all that it consists of.
 * Concurrency: one thread, no I/O.
 * Errors: none.
 */
#include <stdlib.h>
#include <string.h>

#include "target_config.h"

/**
 * target_config_add() - add an object without values and links
 * @config: configuration
 * @kind: of the object
 * @name: of the object
 *
 * Return: the object; it may move when another one is added.
 */
struct target_config_object *target_config_add(struct target_config *config,
					       enum target_config_kind kind,
					       const char *name)
{
	struct target_config_list *list = &config->list[kind];

	list->object = xrealloc(list->object, list->nr + 1, sizeof(*list->object));
	list->object[list->nr] = (struct target_config_object) { .name = xstrdup(name) };
	return &list->object[list->nr++];
}

/**
 * target_config_find() - an object by its name
 * @config: configuration
 * @kind: of the object
 * @name: of the object, in canonical form
 *
 * Return: the object or NULL.
 */
const struct target_config_object *target_config_find(const struct target_config *config,
						      enum target_config_kind kind,
						      const char *name)
{
	const struct target_config_list *list = &config->list[kind];
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->object[i].name, name))
			return &list->object[i];
	return NULL;
}

static int compare_objects(const void *a, const void *b)
{
	const struct target_config_object *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/**
 * target_config_sort() - put all into the one order that a file has
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
 * target_config_enabled() - is an object to be enabled, or enabled already
 * @kind: of the object
 * @object: object
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
 * target_config_was_enabled() - is an export disabled that was to be enabled, and still could be
 * @old: what a file says; a UUID that it does not say may be any
 * @now: what is there
 * @export: of @now
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
	/* another one may have taken its place */
	for (i = 0; i < list->nr; i++)
		if (target_config_enabled(TARGET_CONFIG_EXPORT, &list->object[i]) &&
		    target_config_same_uuid(&list->object[i], export))
			return false;
	return true;
}

/**
 * target_config_differences() - what keeps an object that is there from being the wanted one
 * @kind: of both
 * @want: what a file says
 * @have: what is there
 * @differences: one text for each is added, such as: path is "/a", not "/b"
 *
 * That it is not enabled yet is none: that can be done.
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
		 * Which secret it is configfs does not tell: that is set in any case. A
		 * state changes by events, of which the kernel knows the last one.
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
 * target_config_extras() - links of an object that is there which the wanted one has not
 * @kind: of both
 * @want: what a file says
 * @have: what is there
 * @extras: one text for each is added, such as: it offers export disk0
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
