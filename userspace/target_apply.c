// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read the configuration of a target from configfs, and apply a configuration to configfs.
 *
 * Operation: applying a configuration only adds to configfs. The kinds of object are applied in
 * the order of their dependencies. A missing object is created, filled, and enabled last. If it
 * cannot be filled, it is removed again; if it cannot be enabled, it stays, so that the next
 * attempt need only enable it. An existing object with other values is left unchanged. If it is
 * an export, it is not offered on a port, because its data can be other than the administrator
 * intended.
 *
 * If the configuration names a secret for a host, no export allows the host before the host has a
 * secret. The secret of an existing host is always written, because configfs does not reveal
 * whether it differs; the kernel ignores an equal secret. The fencing state of hosts and the
 * owners of exports are written, too; the kernel ignores a state that is not newer.
 *
 * Ownership: a configuration owns its strings and objects.
 * Concurrency: others may change configfs at the same time. Reading takes no snapshot, and
 * fails if an object is removed during it.
 * Errors: one error message per failure; applying and clearing continue with other objects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target_apply.h"
#include "configfs.h"
#include "fence_store.h"
#include "owner_store.h"
#include "parse.h"
#include "secret_store.h"
#include "target.h"
#include "target_uuid.h"
#include "target_wait.h"

/* Convert the UUID of a host to the canonical form of a configuration. */
static void canonical_host(char *name)
{
	uint8_t uuid[UUID_SIZE];

	if (!parse_uuid(name, uuid))
		format_uuid(uuid, name);
}

static int read_links(const struct target_config_links *link, const char *dir,
		      struct strlist *links)
{
	char *path = xasprintf("%s/%s", dir, link->dir);
	int ret = configfs_links(path, links);
	size_t i;

	if (ret)
		err("%s: cannot read: %s", path, strerror(-ret));
	for (i = 0; i < links->nr && link->kind == TARGET_CONFIG_HOST; i++)
		canonical_host(links->item[i]);
	free(path);
	return ret;
}

/* If a host has a secret, set *file to the path of the copy of the secret. Return 0 or -EIO. */
static int read_secret(const char *dir, const struct target_config_object *host, char **file)
{
	char *has = configfs_get(dir, "has_secret");
	int ret = has ? 0 : -EIO;

	if (has && !strcmp(has, "1"))
		*file = secret_stored_path(host->name);
	free(has);
	return ret;
}

/*
 * Drop a state that need not be stored: the fencing state of a host that was never fenced, or
 * the owner state of an export that never had an owner or is not exclusive.
 */
static int forget_none(enum target_config_kind kind, struct target_config_object *object, int attr)
{
	char **state = &object->value[attr];
	struct owner owner = { };
	struct fence fence = { };
	bool none;
	int ret;

	if (kind == TARGET_CONFIG_HOST) {
		ret = fence_parse(*state, &fence);
		none = fence.generation == 1;
	} else {
		ret = owner_parse(*state, &owner);
		none = !owner.generation || strcmp(object->value[TARGET_EXPORT_EXCLUSIVE], "1");
	}
	if (ret) {
		err("cannot parse %s: \"%s\"", target_config_schema[kind].attr[attr].name,
		    *state);
	} else if (none) {
		free(*state);
		*state = NULL;
	}
	return ret;
}

static int read_object(struct target_config *config, enum target_config_kind kind, const char *name)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	struct target_config_object *object = target_config_add(config, kind, name);
	char *dir = configfs_path("%s/%s", schema->dir, name);
	int ret = 0;
	int i;

	if (kind == TARGET_CONFIG_HOST)
		canonical_host(object->name);
	for (i = 0; !ret && i < schema->nr_attrs; i++) {
		if (schema->attr[i].type == TARGET_CONFIG_SECRET) {
			ret = read_secret(dir, object, &object->value[i]);
			continue;
		}
		object->value[i] = configfs_get(dir, schema->attr[i].name);
		if (!object->value[i])
			ret = -EIO;
		else if (schema->attr[i].type == TARGET_CONFIG_STATE)
			ret = forget_none(kind, object, i);
	}
	for (i = 0; !ret && i < TARGET_CONFIG_LINKS && schema->link[i].key; i++)
		ret = read_links(&schema->link[i], dir, &object->links[i]);
	free(dir);
	return ret;
}

/**
 * target_config_read() - read the present configuration from configfs
 * @config: configuration; the caller frees it in any case
 *
 * Return: 0, or a negative errno after an error message.
 */
int target_config_read(struct target_config *config)
{
	int ret = 0;
	int kind;

	*config = (struct target_config) { };
	for (kind = 0; !ret && kind < TARGET_CONFIG_KINDS; kind++) {
		struct strlist names = { };
		char *dir = configfs_path("%s", target_config_schema[kind].dir);
		size_t i;

		ret = configfs_names(dir, &names);
		if (ret)
			err("%s: cannot read: %s", dir, strerror(-ret));
		for (i = 0; !ret && i < names.nr; i++)
			ret = read_object(config, kind, names.item[i]);
		strlist_free(&names);
		free(dir);
	}
	target_config_sort(config);
	return ret;
}

/**
 * struct work - state of applying a configuration
 * @have: configuration of configfs before the first change
 * @late: names of exports that must not be enabled yet
 * @unusable: per kind, names of wanted objects to which no other object may link, because they
 *	were not restored
 * @failures: number of failures so far
 */
struct work {
	struct target_config have;
	const struct strlist *late;
	struct strlist unusable[TARGET_CONFIG_KINDS];
	int failures;
};

static char *object_dir(enum target_config_kind kind, const char *name)
{
	return kind == TARGET_CONFIG_HOST ? target_host_dir(name) :
	       configfs_path("%s/%s", target_config_schema[kind].dir, name);
}

/* Report differences of an existing object, which is left unchanged; return their number. */
static int report(enum target_config_kind kind, const char *name, struct strlist *texts)
{
	int nr = texts->nr;
	int i;

	for (i = 0; i < nr; i++)
		err("%s %s differs: %s; not changed, use --clear to replace it",
		    target_config_schema[kind].word, name, texts->item[i]);
	strlist_free(texts);
	return nr;
}

static int report_differences(enum target_config_kind kind, const struct target_config_object *want,
			      const struct target_config_object *have)
{
	struct strlist texts = { };

	target_config_differences(kind, want, have, &texts);
	return report(kind, want->name, &texts);
}

static int report_extras(enum target_config_kind kind, const struct target_config_object *want,
			 const struct target_config_object *have)
{
	struct strlist texts = { };

	target_config_extras(kind, want, have, &texts);
	return report(kind, want->name, &texts);
}

/* Test for a host that should have a secret and has none: it must not be allowed any export. */
static bool lacks_secret(const struct target_config_object *want,
			 const struct target_config_object *have)
{
	const struct target_config_schema *schema = &target_config_schema[TARGET_CONFIG_HOST];
	int i;

	for (i = 0; i < schema->nr_attrs; i++)
		if (schema->attr[i].type == TARGET_CONFIG_SECRET && want->value[i] &&
		    !have->value[i])
			return true;
	return false;
}

static int set_secret(const char *dir, const struct target_config_object *want,
		      const struct target_config_object *have, const char *file)
{
	int ret = secret_set_from(dir, file);

	if (ret && have && !lacks_secret(want, have))
		err("host %s keeps its current secret; run: rnbd host secret", want->name);
	else if (ret)
		err("host %s is allowed no export without its secret; run: rnbd host secret",
		    want->name);
	return ret;
}

/* Set all attributes except "enable" of an object that was just created. */
static int set_values(enum target_config_kind kind, const char *dir,
		      const struct target_config_object *want)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	int ret = 0;
	int i;

	for (i = 0; !ret && i < schema->nr_attrs; i++)
		/* Do not write an empty value: the attribute of a new object is already empty. */
		if (i != schema->enable && want->value[i] && *want->value[i])
			ret = schema->attr[i].type == TARGET_CONFIG_SECRET ?
			      set_secret(dir, want, NULL, want->value[i]) :
			      configfs_write(dir, schema->attr[i].name, want->value[i]);
	return ret;
}

static int make_object(enum target_config_kind kind, const char *dir,
		       const struct target_config_object *want)
{
	int ret = kind == TARGET_CONFIG_HOST ? target_make_host(dir, false) : configfs_mkdir(dir);

	target_keep();
	if (ret == -EEXIST)
		err("%s %s was created concurrently; run the command again",
		    target_config_schema[kind].word, want->name);
	if (ret)
		return ret;
	ret = set_values(kind, dir, want);
	/* The kernel must know the owner of the export before a host can attach it. */
	if (!ret && kind == TARGET_CONFIG_EXPORT)
		ret = owner_store_put_back(dir);
	if (ret)
		configfs_rmdir(dir);
	return ret;
}

static int add_link(struct work *work, enum target_config_kind kind, const char *dir,
		    const struct target_config_object *want, int link, const char *name)
{
	enum target_config_kind to = target_config_schema[kind].link[link].kind;
	char *target;
	int ret;

	if (strlist_has(&work->unusable[to], name)) {
		err("%s %s: %s %s is not linked, see above", target_config_schema[kind].word,
		    want->name,
		    target_config_schema[to].word, name);
		return -ENOENT;
	}
	if (kind == TARGET_CONFIG_EXPORT) {
		ret = target_allow_host(dir, name, link == TARGET_EXPORT_READONLY_HOSTS, false);
	} else {
		target = object_dir(to, name);
		ret = target_offer(dir, target);
		free(target);
	}
	target_keep();
	return ret;
}

/* Test whether an export already allows a host that lacks its secret or its fencing state. */
static bool is_open_to_unusable(struct work *work, enum target_config_kind kind,
				const struct target_config_object *want,
				const struct target_config_object *have)
{
	bool open = false;
	size_t i;
	int link;

	if (kind != TARGET_CONFIG_EXPORT || !have)
		return false;
	for (link = 0; link < TARGET_CONFIG_LINKS; link++) {
		for (i = 0; i < have->links[link].nr; i++) {
			const char *host = have->links[link].item[i];

			if (!strlist_has(&work->unusable[TARGET_CONFIG_HOST], host))
				continue;
			err("export %s: left disabled: host %s was not restored, see above",
			    want->name, host);
			open = true;
		}
	}
	return open;
}

/* Add the links of an object whose attributes are correct, and enable it if wanted. */
static void complete_object(struct work *work, enum target_config_kind kind, const char *dir,
			    const struct target_config_object *want,
			    const struct target_config_object *have)
{
	size_t i;
	int link;

	if (have)
		work->failures += report_extras(kind, want, have);
	for (link = 0; link < TARGET_CONFIG_LINKS; link++)
		for (i = 0; i < want->links[link].nr; i++)
			if (!have || !strlist_has(&have->links[link], want->links[link].item[i]))
				work->failures += !!add_link(work, kind, dir, want, link,
							     want->links[link].item[i]);
	if (kind == TARGET_CONFIG_EXPORT && strlist_has(work->late, want->name))
		return;
	if (!target_config_enabled(kind, want) || (have && target_config_enabled(kind, have)))
		return;
	if (is_open_to_unusable(work, kind, want, have))
		work->failures++;
	else
		work->failures += !!configfs_write(dir, "enable", "1");
}

/*
 * Write the fencing state of an existing host, or the owner state of an existing export; the
 * kernel ignores a state that is not newer.
 */
static int set_states(enum target_config_kind kind, const char *dir,
		      const struct target_config_object *want)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	int ret = kind == TARGET_CONFIG_HOST ? target_make_bare_host(dir) : 0;
	int i;

	if (ret == -EEXIST)
		ret = 0;
	for (i = 0; !ret && i < schema->nr_attrs; i++)
		if (schema->attr[i].type == TARGET_CONFIG_STATE && want->value[i])
			ret = configfs_write(dir, schema->attr[i].name, want->value[i]);
	return ret;
}

/* Write the secrets of an existing object. */
static int set_secrets(enum target_config_kind kind, const char *dir,
		       const struct target_config_object *want,
		       const struct target_config_object *have)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	int ret = 0;
	int i;

	for (i = 0; !ret && i < schema->nr_attrs; i++)
		if (schema->attr[i].type == TARGET_CONFIG_SECRET && want->value[i])
			ret = set_secret(dir, want, have, want->value[i]);
	/* Set the old secret, too: an earlier restore possibly crashed before this step. */
	if (!ret && kind == TARGET_CONFIG_HOST)
		ret = secret_put_back(dir);
	return ret < 0 ? ret : 0;
}

static void apply_object(struct work *work, enum target_config_kind kind,
			 const struct target_config_object *want)
{
	const struct target_config_object *have = target_config_find(&work->have, kind, want->name);
	char *dir = object_dir(kind, want->name);
	bool unusable;
	int failures;

	if (have) {
		failures = report_differences(kind, want, have);
		/* Exports may allow a host with other limits than wanted: it is the same host. */
		unusable = failures && kind != TARGET_CONFIG_HOST;
		if (set_secrets(kind, dir, want, have)) {
			failures++;
			unusable = lacks_secret(want, have);
		}
		/* Set no owner for an export that differs: it can have other data than wanted. */
		if ((kind != TARGET_CONFIG_EXPORT || !failures) && set_states(kind, dir, want)) {
			failures++;
			unusable = true;
		}
	} else {
		failures = !!make_object(kind, dir, want);
		unusable = failures;
	}
	work->failures += failures;
	if (!failures)
		complete_object(work, kind, dir, want, have);
	else if (unusable)
		strlist_add(&work->unusable[kind], want->name);
	free(dir);
}

/**
 * target_config_apply() - add the missing parts of a configuration to configfs
 * @want: wanted configuration; configfs may have more objects
 * @late: names of exports whose storage does not exist yet; they are created and offered, but
 *	not enabled
 *
 * Return: 0 if all objects of @want are now as wanted, except that those in @late are not
 * enabled; otherwise -EIO after an error message for each object that is not as wanted, or
 * another negative errno if configfs cannot be read.
 */
int target_config_apply(const struct target_config *want, const struct strlist *late)
{
	struct work work = { .late = late };
	int ret = target_uuid_restore() ?: target_config_read(&work.have);
	size_t i;
	int kind;

	for (kind = 0; !ret && kind < TARGET_CONFIG_KINDS; kind++)
		for (i = 0; i < want->list[kind].nr; i++)
			apply_object(&work, kind, &want->list[kind].object[i]);
	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++)
		strlist_free(&work.unusable[kind]);
	target_config_free(&work.have);
	return ret ?: work.failures ? -EIO : 0;
}

/* Report the missing links of an object, and return their number. */
static int compare_links(enum target_config_kind kind, const struct target_config_object *want,
			 const struct target_config_object *have)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	int nr = 0, link;
	size_t i;

	for (link = 0; link < TARGET_CONFIG_LINKS; link++) {
		for (i = 0; i < want->links[link].nr; i++) {
			const char *name = want->links[link].item[i];

			if (strlist_has(&have->links[link], name))
				continue;
			err("%s %s: it does not %s %s%s", schema->word, want->name,
			    kind == TARGET_CONFIG_EXPORT ? "allow host" : "offer export", name,
			    kind == TARGET_CONFIG_EXPORT &&
			    link == TARGET_EXPORT_READONLY_HOSTS ? " to read" : "");
			nr++;
		}
	}
	return nr;
}

/* Report the differences of an object from the wanted one, and return their number. */
static int compare_object(enum target_config_kind kind, const struct target_config_object *want,
			  const struct target_config_object *have)
{
	const struct target_config_schema *schema = &target_config_schema[kind];
	struct strlist texts = { };
	int nr = 0;
	size_t i;

	if (!have) {
		err("%s %s is missing", schema->word, want->name);
		return 1;
	}
	/* Do not compare hosts: their limits or fencing states can have been changed on purpose. */
	if (kind == TARGET_CONFIG_HOST)
		return 0;
	target_config_differences(kind, want, have, &texts);
	for (i = 0; i < texts.nr; i++, nr++)
		err("%s %s: %s", schema->word, want->name, texts.item[i]);
	strlist_free(&texts);
	nr += compare_links(kind, want, have);
	if (target_config_enabled(kind, want) && !target_config_enabled(kind, have)) {
		err("%s %s is not enabled", schema->word, want->name);
		nr++;
	}
	return nr;
}

/**
 * target_config_compare() - check that configfs has all wanted objects
 * @want: wanted configuration; configfs may have more objects
 *
 * Nothing is changed. Hosts need only exist: their limits and fencing are not compared.
 *
 * Return: 0 if all objects of @want are as wanted; otherwise -ENOENT after an error message for
 * each object that is not, or another negative errno if configfs cannot be read.
 */
int target_config_compare(const struct target_config *want)
{
	struct target_config have;
	int ret = target_config_read(&have);
	int kind, nr = 0;
	size_t i;

	for (kind = 0; !ret && kind < TARGET_CONFIG_KINDS; kind++) {
		for (i = 0; i < want->list[kind].nr; i++) {
			const struct target_config_object *object = &want->list[kind].object[i];

			nr += compare_object(kind, object,
					     target_config_find(&have, kind, object->name));
		}
	}
	target_config_free(&have);
	return ret ?: nr ? -ENOENT : 0;
}

static int remove_object(enum target_config_kind kind, const char *dir)
{
	switch (kind) {
	case TARGET_CONFIG_PORT:
		return target_remove_port(dir);
	case TARGET_CONFIG_EXPORT:
		return target_remove_export(dir);
	default:
		return target_remove_host(dir);
	}
}

/*
 * Begin to disable all objects of a kind without waiting, so that an object with hung storage
 * does not delay the others.
 */
static void begin_clear(enum target_config_kind kind)
{
	struct strlist names = { };
	char *all = configfs_path("%s", target_config_schema[kind].dir);
	size_t i;

	configfs_names(all, &names);
	for (i = 0; i < names.nr; i++) {
		char *dir = xasprintf("%s/%s", all, names.item[i]);

		target_begin_disable(dir);
		free(dir);
	}
	strlist_free(&names);
	free(all);
}

/**
 * target_config_clear() - remove all ports, exports and hosts, and end their sessions
 *
 * Return: 0, or -EIO after an error message for each object that could not be removed.
 */
int target_config_clear(void)
{
	int kind, ret = 0;
	size_t i;

	begin_clear(TARGET_CONFIG_PORT);
	begin_clear(TARGET_CONFIG_EXPORT);
	for (kind = TARGET_CONFIG_KINDS - 1; kind >= 0; kind--) {
		struct strlist names = { };
		char *all = configfs_path("%s", target_config_schema[kind].dir);

		configfs_names(all, &names);
		for (i = 0; i < names.nr; i++) {
			char *dir = xasprintf("%s/%s", all, names.item[i]);

			if (remove_object(kind, dir))
				ret = -EIO;
			free(dir);
		}
		strlist_free(&names);
		free(all);
	}
	return ret;
}
