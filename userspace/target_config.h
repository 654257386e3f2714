/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration of a target in memory (target_config.c), the schema of its objects
 * (target_config_schema.c), and its file format (target_config_file.c).
 */
#ifndef RNBD_TARGET_CONFIG_H
#define RNBD_TARGET_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

#define TARGET_CONFIG_VERSION	1	/* version of the file format */
#define TARGET_CONFIG_ATTRS	9	/* maximum number of attributes of a kind */
#define TARGET_CONFIG_LINKS	2	/* maximum number of lists of links of a kind */
#define TARGET_WEIGHT_MAX	10000U	/* highest weight of a host, as in the kernel */
#define TARGET_WINDOW_MAX	65536U	/* largest window of an export, as in the kernel */
/* Highest generation of an owner that can be restored, as in the kernel */
#define TARGET_OWNER_GENERATION_MAX	(UINT32_MAX - UINT32_MAX / 16)

/* Kinds of object; an object depends only on objects of earlier kinds. */
enum target_config_kind {
	TARGET_CONFIG_HOST,
	TARGET_CONFIG_EXPORT,
	TARGET_CONFIG_PORT,
	TARGET_CONFIG_KINDS
};

enum target_config_type {
	TARGET_CONFIG_STRING,
	TARGET_CONFIG_BOOL,		/* "0" or "1" in configfs */
	TARGET_CONFIG_NUMBER,
	TARGET_CONFIG_SECRET,		/* path of a file with a secret, which configfs hides */
	TARGET_CONFIG_STATE,		/* state of the kernel; only a newer state replaces it */
};

/* Attributes of an export */
enum {
	TARGET_EXPORT_PATH,
	TARGET_EXPORT_READONLY,
	TARGET_EXPORT_CACHE,
	TARGET_EXPORT_WRITE_CACHE,
	TARGET_EXPORT_WINDOW,
	TARGET_EXPORT_UUID,
	TARGET_EXPORT_EXCLUSIVE,
	TARGET_EXPORT_OWNER,
	TARGET_EXPORT_ENABLE,
};

/* Lists of links of an export */
enum {
	TARGET_EXPORT_HOSTS,
	TARGET_EXPORT_READONLY_HOSTS,
};

enum {
	TARGET_PORT_ADDR,
	TARGET_PORT_PORT,
	TARGET_PORT_ENABLE,
};

/**
 * struct target_config_attr - attribute of a kind of object
 * @name: name in configfs and in the file
 * @type: type in the file; in configfs all values are text
 * @needed: true if the file must have the attribute
 * @tunable: true if an existing object may have another value, which then stays
 * @otherwise: default value if the file lacks the attribute; NULL: if the file lacks the
 *	attribute, an existing object may have any value
 * @check: function that returns an error message for an invalid value, or NULL for a valid one;
 *	it may convert the value in place to its canonical form. If @check is NULL, only the type
 *	is checked
 */
struct target_config_attr {
	const char *name;
	enum target_config_type type;
	bool needed;
	bool tunable;
	const char *otherwise;
	const char *(*check)(char *value);
};

/**
 * struct target_config_links - list of links that objects of a kind have
 * @key: key of the list in the file; NULL: unused
 * @dir: directory of the links, relative to that of the object
 * @word: verb phrase for messages: "allows host", "offers export"
 * @kind: kind of the objects that the links lead to
 */
struct target_config_links {
	const char *key;
	const char *dir;
	const char *word;
	enum target_config_kind kind;
};

/**
 * struct target_config_schema - attributes and links of a kind of object
 * @word: name of the kind in messages
 * @dir: directory of all objects, relative to the root of the target's configfs tree; also the
 *	key in the file
 * @key: key of the object's name in the file
 * @check_name: check of a name, like &target_config_attr.check
 * @attr: attributes, in the order in which they are written
 * @nr_attrs: number of attributes
 * @enable: index of the attribute "enable", which is written last; -1: none
 * @wanted_on: index of the attribute that must not be empty in an enabled object
 * @link: lists of links; an object that is named in one of these lists must not be in the other
 */
struct target_config_schema {
	const char *word;
	const char *dir;
	const char *key;
	const char *(*check_name)(char *name);
	const struct target_config_attr *attr;
	int nr_attrs;
	int enable;
	int wanted_on;
	struct target_config_links link[TARGET_CONFIG_LINKS];
};

extern const struct target_config_schema target_config_schema[TARGET_CONFIG_KINDS];

/**
 * struct target_config_object - host, export or port
 * @name: name of its directory; a UUID is in lower case
 * @value: values of its attributes as in configfs; NULL: not given
 * @links: per list of links, sorted names of the objects that the links lead to
 */
struct target_config_object {
	char *name;
	char *value[TARGET_CONFIG_ATTRS];
	struct strlist links[TARGET_CONFIG_LINKS];
};

/**
 * struct target_config - all objects of a target
 * @list: objects per kind, sorted by name unless mixed is true; a look-up in a mixed list is a
 *	linear search
 */
struct target_config {
	struct target_config_list {
		struct target_config_object *object;
		size_t nr;
		bool mixed;
	} list[TARGET_CONFIG_KINDS];
};

struct target_config_object *target_config_add(struct target_config *config,
					       enum target_config_kind kind,
					       const char *name);
const struct target_config_object *target_config_find(const struct target_config *config,
						      enum target_config_kind kind,
						      const char *name);
void target_config_sort(struct target_config *config);
void target_config_free(struct target_config *config);

int target_config_parse(const char *text, size_t len, struct target_config *config);
char *target_config_text(const struct target_config *config);

bool target_config_same_uuid(const struct target_config_object *a,
			     const struct target_config_object *b);
bool target_config_enabled(enum target_config_kind kind, const struct target_config_object *object);
bool target_config_was_enabled(const struct target_config *old, const struct target_config *now,
			       const struct target_config_object *export);
void target_config_differences(enum target_config_kind kind,
			       const struct target_config_object *want,
			       const struct target_config_object *have,
			       struct strlist *differences);
void target_config_extras(enum target_config_kind kind, const struct target_config_object *want,
			  const struct target_config_object *have, struct strlist *extras);

#endif /* RNBD_TARGET_CONFIG_H */
