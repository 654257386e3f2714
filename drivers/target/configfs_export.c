// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: exports/<name>/ and the attributes of an export.
 *
 * Operation: path, readonly, cache, write_cache and uuid can be changed only while the export is
 * disabled, window at any time. A store to "path" changes the incarnation, because the new storage
 * can lack acknowledged writes. A store to "resize" sets the capacity to the current size of the
 * storage. Neither writing 0 to "enable" nor removing the directory waits for the storage:
 * "closing" shows how many closed attachments still have requests in the storage, and "state"
 * whether the export is disabled. configfs_owner.c has the attributes of the owner,
 * configfs_allow.c the links to hosts.
 *
 * Ownership: an export is freed with the last reference on its directory. allowed_hosts and
 * readonly_hosts hold one reference each (configfs.c), and the work item that disables the export
 * holds one until it has closed the storage (export.c).
 *
 * Concurrency: export->lock serialises writers of attributes, except of "resize", which takes
 * rnbdt_lock. Readers take rnbdt_lock or no lock. No reader waits for storage.
 *
 * Errors: a refused store changes nothing. It is logged with the remedy unless its value is an
 * invalid boolean.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>

#include "../core/names.h"
#include "backend.h"
#include "configfs_allow.h"
#include "configfs_export.h"
#include "configfs_owner.h"
#include "export.h"
#include "graph.h"
#include "owner.h"
#include "sched.h"
#include "sched_group.h"
#include "target.h"

/**
 * rnbdt_dup_word - copy a written value without surrounding white space
 * @page: written bytes
 * @count: number of bytes
 *
 * A value with a NUL byte becomes "", which no attribute accepts.
 *
 * Context: process context; may sleep.
 * Return: the copy, to be freed with kfree(), or NULL if the allocation fails.
 */
char *rnbdt_dup_word(const char *page, size_t count)
{
	char *word, *copy = kmemdup_nul(page, count, GFP_KERNEL);

	if (!copy)
		return NULL;
	if (strlen(copy) != count)
		copy[0] = 0;
	word = strim(copy);
	memmove(copy, word, strlen(word) + 1);
	return copy;
}

static ssize_t rnbdt_export_path_show(struct config_item *item, char *page)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	ssize_t ret;

	down_read(&rnbdt_lock);
	ret = sysfs_emit(page, "%s\n", export->path ?: "");
	up_read(&rnbdt_lock);
	return ret;
}

static ssize_t rnbdt_export_path_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	char *path = rnbdt_dup_word(page, count);
	int ret;

	if (!path)
		return -ENOMEM;
	if (mutex_lock_killable(&export->lock)) {
		kfree(path);
		return -EINTR;
	}
	ret = rnbdt_export_must_be_off(export, "path");
	if (!ret && path[0] != '/') {
		pr_err("export %s: path must be absolute\n",
		       rnbdt_export_name(export));
		ret = -EINVAL;
	}
	if (!ret) {
		down_write(&rnbdt_lock);
		swap(export->path, path);
		/* The new storage can lack writes that the old storage has acknowledged. */
		get_random_bytes(export->incarnation, sizeof(export->incarnation));
		up_write(&rnbdt_lock);
	}
	mutex_unlock(&export->lock);
	kfree(path);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, path);

static ssize_t rnbdt_export_readonly_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(rnbdt_to_export(item)->readonly));
}

static ssize_t rnbdt_export_readonly_store(struct config_item *item,
					   const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	bool readonly;
	int ret;

	ret = kstrtobool(page, &readonly);
	if (ret)
		return ret;
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	ret = rnbdt_export_must_be_off(export, "readonly");
	if (!ret)
		WRITE_ONCE(export->readonly, readonly);
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, readonly);

static const char * const rnbdt_cache_names[] = {
	[RNBDT_CACHE_NONE]	= "none",
	[RNBDT_CACHE_PAGECACHE]	= "pagecache",
};

static ssize_t rnbdt_export_cache_show(struct config_item *item, char *page)
{
	enum rnbdt_cache cache = READ_ONCE(rnbdt_to_export(item)->cache);

	return sysfs_emit(page, "%s\n", rnbdt_cache_names[cache]);
}

static ssize_t rnbdt_export_cache_store(struct config_item *item,
					const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	int ret, cache;

	cache = sysfs_match_string(rnbdt_cache_names, page);
	if (cache < 0) {
		pr_err("export %s: cache is none or pagecache\n",
		       rnbdt_export_name(export));
		return cache;
	}
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	ret = rnbdt_export_must_be_off(export, "cache");
	if (!ret)
		WRITE_ONCE(export->cache, cache);
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, cache);

static const char * const rnbdt_write_cache_names[] = {
	[RNBDT_WRITE_THROUGH]	= "through",
	[RNBDT_WRITE_BACK]	= "back",
};

static ssize_t rnbdt_export_write_cache_show(struct config_item *item, char *page)
{
	enum rnbdt_write_cache cache = READ_ONCE(rnbdt_to_export(item)->write_cache);

	return sysfs_emit(page, "%s\n", rnbdt_write_cache_names[cache]);
}

static ssize_t rnbdt_export_write_cache_store(struct config_item *item,
					      const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	int ret, cache;

	cache = sysfs_match_string(rnbdt_write_cache_names, page);
	if (cache < 0) {
		pr_err("export %s: write_cache is through or back\n",
		       rnbdt_export_name(export));
		return cache;
	}
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	ret = rnbdt_export_must_be_off(export, "write_cache");
	if (!ret)
		WRITE_ONCE(export->write_cache, cache);
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, write_cache);

static ssize_t rnbdt_export_window_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rnbdt_to_export(item)->window));
}

/* The window can be changed while the export is enabled. */
static ssize_t rnbdt_export_window_store(struct config_item *item,
					 const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	unsigned int window;
	int ret;

	ret = kstrtouint(page, 0, &window);
	if (!ret && window > RNBDT_WINDOW_MAX)
		ret = -ERANGE;
	if (ret) {
		pr_err("export %s: window is a number of requests up to %u, or 0 to use the module parameter\n",
		       rnbdt_export_name(export), RNBDT_WINDOW_MAX);
		return ret;
	}
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	down_write(&rnbdt_lock);
	WRITE_ONCE(export->window, window);
	if (export->enabled)
		rnbdt_sched_set_window(export->backend, window);
	up_write(&rnbdt_lock);
	mutex_unlock(&export->lock);
	return count;
}
CONFIGFS_ATTR(rnbdt_export_, window);

static ssize_t rnbdt_export_uuid_show(struct config_item *item, char *page)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	ssize_t ret;

	down_read(&rnbdt_lock);
	ret = sysfs_emit(page, "%pUb\n", &export->uuid);
	up_read(&rnbdt_lock);
	return ret;
}

static ssize_t rnbdt_export_uuid_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	char *word = rnbdt_dup_word(page, count);
	uuid_t uuid;
	int ret;

	if (!word)
		return -ENOMEM;
	/* uuid_parse() ignores trailing characters. */
	ret = strlen(word) != UUID_STRING_LEN || uuid_parse(word, &uuid) ||
	      uuid_is_null(&uuid);
	kfree(word);
	if (ret) {
		pr_err("export %s: uuid is not a UUID\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	ret = rnbdt_export_must_be_off(export, "uuid");
	if (!ret) {
		down_write(&rnbdt_lock);
		export->uuid = uuid;
		up_write(&rnbdt_lock);
	}
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, uuid);

static ssize_t rnbdt_export_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(rnbdt_to_export(item)->enabled));
}

/*
 * Do not wait for the storage: rmdir would wait for this writer, and then all readers of
 * attributes and of exports/ would wait for rmdir.
 */
static ssize_t rnbdt_export_enable_store(struct config_item *item,
					 const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	bool enable = false;
	int ret = 0;

	if (!sysfs_streq(page, RNBDT_BEGIN_DISABLE))
		ret = kstrtobool(page, &enable);
	if (ret)
		return ret;
	if (mutex_lock_killable(&export->lock))
		return -EINTR;
	if (!enable)
		rnbdt_export_disable(export);
	else if (!export->enabled)
		ret = rnbdt_export_enable(export);
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, enable);

static ssize_t rnbdt_export_state_show(struct config_item *item, char *page)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	const char *state;

	down_read(&rnbdt_lock);
	state = export->enabled ? "enabled" : export->backend ? "disabling" : "disabled";
	up_read(&rnbdt_lock);
	return sysfs_emit(page, "%s\n", state);
}
CONFIGFS_ATTR_RO(rnbdt_export_, state);

static ssize_t rnbdt_export_size_show(struct config_item *item, char *page)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	u64 size = 0;

	down_read(&rnbdt_lock);
	if (export->backend)
		size = export->backend->geo.capacity;
	up_read(&rnbdt_lock);
	return sysfs_emit(page, "%llu\n", size);
}
CONFIGFS_ATTR_RO(rnbdt_export_, size);

static ssize_t rnbdt_export_device_removed_show(struct config_item *item, char *page)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	bool removed;

	down_read(&rnbdt_lock);
	/* While an export is being disabled, its storage can be closed at any time. */
	removed = export->enabled && rnbdt_backend_removed(export->backend);
	up_read(&rnbdt_lock);
	return sysfs_emit(page, "%d\n", removed);
}
CONFIGFS_ATTR_RO(rnbdt_export_, device_removed);

static ssize_t rnbdt_export_resize_store(struct config_item *item,
					 const char *page, size_t count)
{
	struct rnbdt_export *export = rnbdt_to_export(item);
	bool resize;
	int ret;

	ret = kstrtobool(page, &resize);
	if (!ret && !resize)
		ret = -EINVAL;
	if (ret) {
		pr_err("export %s: write 1 to resize to take over the size of its storage\n",
		       rnbdt_export_name(export));
		return ret;
	}
	down_write(&rnbdt_lock);
	ret = rnbdt_export_update_capacity(export);
	up_write(&rnbdt_lock);
	if (ret == -ENODEV)
		pr_err("export %s: not enabled; it takes over the size of its storage when it is enabled\n",
		       rnbdt_export_name(export));
	else if (ret)
		pr_err("export %s: its storage is smaller than one block; enlarge it, or disable the export\n",
		       rnbdt_export_name(export));
	return ret ?: count;
}
CONFIGFS_ATTR_WO(rnbdt_export_, resize);

static ssize_t rnbdt_export_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rnbdt_to_export(item)->nr_attached));
}
CONFIGFS_ATTR_RO(rnbdt_export_, sessions);

static ssize_t rnbdt_export_closing_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", atomic_read(&rnbdt_to_export(item)->nr_closing));
}
CONFIGFS_ATTR_RO(rnbdt_export_, closing);

static ssize_t rnbdt_export_stale_requests_show(struct config_item *item,
						char *page)
{
	return sysfs_emit(page, "%lld\n",
			  atomic64_read(&rnbdt_to_export(item)->stale_requests));
}
CONFIGFS_ATTR_RO(rnbdt_export_, stale_requests);

static ssize_t rnbdt_export_io_stat_show(struct config_item *item, char *page)
{
	return rnbdt_iostat_show(&rnbdt_to_export(item)->iostat, page);
}
CONFIGFS_ATTR_RO(rnbdt_export_, io_stat);

static ssize_t rnbdt_export_io_errors_show(struct config_item *item, char *page)
{
	return rnbdt_iostat_show_errors(&rnbdt_to_export(item)->iostat, page);
}
CONFIGFS_ATTR_RO(rnbdt_export_, io_errors);

static struct configfs_attribute *rnbdt_export_attrs[] = {
	&rnbdt_export_attr_path,
	&rnbdt_export_attr_readonly,
	&rnbdt_export_attr_cache,
	&rnbdt_export_attr_write_cache,
	&rnbdt_export_attr_exclusive,
	&rnbdt_export_attr_owner,
	&rnbdt_export_attr_owner_state,
	&rnbdt_export_attr_window,
	&rnbdt_export_attr_uuid,
	&rnbdt_export_attr_enable,
	&rnbdt_export_attr_state,
	&rnbdt_export_attr_size,
	&rnbdt_export_attr_device_removed,
	&rnbdt_export_attr_resize,
	&rnbdt_export_attr_sessions,
	&rnbdt_export_attr_closing,
	&rnbdt_export_attr_stale_requests,
	&rnbdt_export_attr_io_stat,
	&rnbdt_export_attr_io_errors,
	NULL,
};

static void rnbdt_export_release(struct config_item *item)
{
	struct rnbdt_export *export = rnbdt_to_export(item);

	/* This takes rnbdt_lock for writing, and so waits for readers that found the export. */
	rnbdt_owner_exit(export);
	mutex_destroy(&export->lock);
	kfree(export->path);
	rnbdt_iostat_exit(&export->iostat);
	kfree(export);
}

static struct configfs_item_operations rnbdt_export_item_ops = {
	.release = rnbdt_export_release,
};

const struct config_item_type rnbdt_export_type = {
	.ct_owner       = THIS_MODULE,
	.ct_item_ops    = &rnbdt_export_item_ops,
	.ct_attrs       = rnbdt_export_attrs,
};

static struct config_group *rnbdt_exports_make(struct config_group *group,
					       const char *name)
{
	struct rnbdt_export *export;

	if (!rnbd_export_name_ok(name, strlen(name) + 1)) {
		pr_err("an export's name has 1 to 63 letters, digits or any of . _ : -\n");
		return ERR_PTR(-EINVAL);
	}
	export = kzalloc(sizeof(*export), GFP_KERNEL);
	if (!export)
		return ERR_PTR(-ENOMEM);
	if (rnbdt_iostat_init(&export->iostat)) {
		kfree(export);
		return ERR_PTR(-ENOMEM);
	}
	mutex_init(&export->lock);
	rnbdt_export_init(export);
	rnbdt_owner_init(export);
	uuid_gen(&export->uuid);
	get_random_bytes(export->incarnation, sizeof(export->incarnation));

	config_group_init_type_name(&export->group, name, &rnbdt_export_type);
	rnbdt_allow_init(export);
	rnbdt_export_add(export);
	return &export->group;
}

static void rnbdt_exports_drop(struct config_group *group,
			       struct config_item *item)
{
	struct rnbdt_export *export = rnbdt_to_export(item);

	rnbdt_export_remove(export);
	/* No ATTACH or store can make a host the owner now: the export stays out of the table. */
	rnbdt_owner_exit(export);
	/* Do not wait for the storage: configfs holds the lock of exports/. */
	rnbdt_export_disable(export);
	configfs_remove_default_groups(&export->group);
	config_item_put(item);
}

static struct configfs_group_operations rnbdt_exports_ops = {
	.make_group	= rnbdt_exports_make,
	.drop_item	= rnbdt_exports_drop,
};

const struct config_item_type rnbdt_exports_type = {
	.ct_owner       = THIS_MODULE,
	.ct_group_ops   = &rnbdt_exports_ops,
};
