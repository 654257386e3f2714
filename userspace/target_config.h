/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration of a target as a value (target_config.c), what it consists of
 * (target_config_schema.c), and its form in a file (target_config_file.c).
 */
#ifndef RNBD_TARGET_CONFIG_H
#define RNBD_TARGET_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

#define TARGET_CONFIG_VERSION	1	/* of the file */
#define TARGET_CONFIG_ATTRS	9	/* the most that a kind has */
#define TARGET_CONFIG_LINKS	2	/* the same of lists of links */
#define TARGET_WEIGHT_MAX	10000U	/* of a host, as in the kernel */
#define TARGET_WINDOW_MAX	65536U	/* of an export, as in the kernel */
/* Highest generation of an owner to restore, as in the kernel */
#define TARGET_OWNER_GENERATION_MAX	(UINT32_MAX - UINT32_MAX / 16)

/* Kinds of object, in the order in which they depend on each other */
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
	TARGET_CONFIG_SECRET,		/* path of a file that holds it; configfs takes it only */
	TARGET_CONFIG_STATE,		/* the kernel changes it, and takes a newer one */
};

/* Attributes of an export and of a port that are of importance to more than the schema */
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
 * struct target_config_attr - an attribute that can be set
 * @name: in configfs and in the file
 * @type: in the file; in configfs all is text
 * @needed: the file must have it
 * @tunable: an object that is there may have another value, which stays
 * @otherwise: value if the file leaves it out; NULL: whatever is there will do
 * @check: what is wrong with a value, NULL if nothing is; may rewrite it in
 *	place to its canonical form. NULL if the type says all
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
 * struct target_config_links - a list of links that objects of a kind have
 * @key: of the list in the file; NULL: there is none
 * @dir: of the links, below that of the object
 * @word: what such a link does: "allows host", "offers export"
 * @kind: what they lead to
 */
struct target_config_links {
	const char *key;
	const char *dir;
	const char *word;
	enum target_config_kind kind;
};

/**
 * struct target_config_schema - what objects of a kind are made of
 * @word: for messages
 * @dir: of all of them, below the root of configfs; also the key in the file
 * @key: of the name in the file
 * @check_name: as &target_config_attr.check
 * @attr: attributes in the order in which they are written
 * @nr_attrs: how many
 * @enable: which of them is "enable", written last; -1: none
 * @wanted_on: which of them must not be empty if it is enabled
 * @link: lists of links; an object is in one list of another at most
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
 * struct target_config_object - a host, an export or a port
 * @name: of its directory; a UUID is in lower case
 * @value: of its attributes as configfs has them; NULL: not said
 * @links: names of the objects that each list of links leads to, sorted
 */
struct target_config_object {
	char *name;
	char *value[TARGET_CONFIG_ATTRS];
	struct strlist links[TARGET_CONFIG_LINKS];
};

/**
 * struct target_config - all objects of a target
 * @list: by kind, sorted by name
 */
struct target_config {
	struct target_config_list {
		struct target_config_object *object;
		size_t nr;
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
