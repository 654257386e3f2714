/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration of a target as a value: see config.c, and apply.c for what
 * reads it from configfs and applies it.
 */
#ifndef RNBD_CONFIG_H
#define RNBD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

#define CONFIG_VERSION	1	/* of the file */
#define CONFIG_ATTRS	8	/* the most that a kind has */

/* Kinds of object, in the order in which they depend on each other */
enum config_kind {
	CONFIG_HOST,
	CONFIG_EXPORT,
	CONFIG_PORT,
	CONFIG_KINDS
};

enum config_type {
	CONFIG_STRING,
	CONFIG_BOOL,		/* "0" or "1" in configfs */
	CONFIG_NUMBER,
	CONFIG_SECRET,		/* path of a file that holds it; configfs takes it only */
	CONFIG_FENCE,		/* of a host that was ever fenced; the kernel takes a newer one */
};

/**
 * struct config_attr - an attribute that can be set
 * @name: in configfs and in the file
 * @type: in the file; in configfs all is text
 * @needed: the file must have it
 * @otherwise: value if the file leaves it out; NULL: whatever is there will do
 * @check: what is wrong with a value, NULL if nothing is; may rewrite it in
 *	place to its canonical form. NULL if the type says all
 */
struct config_attr {
	const char *name;
	enum config_type type;
	bool needed;
	const char *otherwise;
	const char *(*check)(char *value);
};

/**
 * struct config_schema - what objects of a kind are made of
 * @word: for messages
 * @dir: of all of them, below the root of configfs; also the key in the file
 * @key: of the name in the file
 * @check_name: as &config_attr.check
 * @attr: attributes in the order in which they are written
 * @nr_attrs: how many
 * @enable: which of them is "enable", written last; -1: none
 * @wanted_on: which of them must not be empty if it is enabled
 * @links: key of its links in the file; NULL if it has none
 * @link_dir: of its links, below its own
 * @link_word: what such a link does: "allows host", "offers export"
 * @link_kind: what they lead to
 */
struct config_schema {
	const char *word;
	const char *dir;
	const char *key;
	const char *(*check_name)(char *name);
	const struct config_attr *attr;
	int nr_attrs;
	int enable;
	int wanted_on;
	const char *links;
	const char *link_dir;
	const char *link_word;
	enum config_kind link_kind;
};

extern const struct config_schema config_schema[CONFIG_KINDS];

/**
 * struct config_object - a host, an export or a port
 * @name: of its directory; a UUID is in lower case
 * @value: of its attributes as configfs has them; NULL: not said
 * @links: names of the objects that it links to, sorted
 */
struct config_object {
	char *name;
	char *value[CONFIG_ATTRS];
	struct strlist links;
};

/**
 * struct config - all objects of a target
 * @list: by kind, sorted by name
 */
struct config {
	struct config_list {
		struct config_object *object;
		size_t nr;
	} list[CONFIG_KINDS];
};

struct config_object *config_add(struct config *config, enum config_kind kind,
				 const char *name);
const struct config_object *config_find(const struct config *config,
					enum config_kind kind, const char *name);
void config_sort(struct config *config);
void config_free(struct config *config);

int config_parse(const char *text, size_t len, struct config *config);
char *config_text(const struct config *config);

bool config_enabled(enum config_kind kind, const struct config_object *object);
bool config_was_enabled(const struct config *old, const struct config *now,
			const struct config_object *export);
void config_differences(enum config_kind kind, const struct config_object *want,
			const struct config_object *have, struct strlist *differences);
void config_extras(enum config_kind kind, const struct config_object *want,
		   const struct config_object *have, struct strlist *extras);

#endif /* RNBD_CONFIG_H */
