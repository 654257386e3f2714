// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration: /sys/kernel/config/rnbd
 *
 *	exports/<name>/{path,readonly,cache,uuid,enable,size,sessions}
 *	exports/<name>/allowed_hosts/<any name> -> hosts/<uuid>
 *	hosts/<uuid>/{max_pool_bytes,max_session_pool_bytes,max_sessions,
 *		secret,has_secret,failed_proofs,fenced,fence_state,fence_done,
 *		unfence_on_restart,active_sessions,sessions}
 *	ports/<id>/{addr,port,enable,state,sessions}
 *	ports/<id>/exports/<any name> -> exports/<name>
 *
 * Operation: objects are made, set and enabled. What a session could notice
 * cannot be changed while its object is enabled; the log says what to do. Who
 * is not linked has no access.
 * Ownership: configfs owns the objects and counts their references; each pins
 * the module. A directory that is the target of a link, or has links in it,
 * cannot be removed, so exports and ports lose their sessions link by link at
 * the latest. The directories for links are part of their export or port, but
 * have references of their own: whoever makes a link there holds one, and no lock
 * while it looks for the target. So they hold one on what they are part of.
 * Concurrency: stores of one object are serialised by its lock. The graph is
 * under rnbdt_lock. Whatever takes access away changes the graph first and
 * then ends the sessions that had it, so that no login can slip in between.
 * configfs holds its own locks around all callbacks; no teardown needs those.
 * Errors: a store that is refused changes nothing. Taking away never fails.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/ctype.h>
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "../core/secret.h"
#include "target.h"

static LIST_HEAD(rnbdt_hosts);		/* rnbdt_lock */

static const struct config_item_type rnbdt_host_type;
static const struct config_item_type rnbdt_export_type;

static struct rnbd_texport *to_export(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbd_texport, group);
}

static struct rnbd_thost *to_host(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbd_thost, group);
}

static struct rnbd_tport *to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbd_tport, group);
}

/* ------------------------------------------------------------------------
 * The graph, for the rest of the module; all under rnbdt_lock
 */

/**
 * rnbdt_host_find - look a host up
 * @uuid: identity
 *
 * Context: rnbdt_lock held.
 * Return: the host or NULL.
 */
struct rnbd_thost *rnbdt_host_find(const uuid_t *uuid)
{
	struct rnbd_thost *host;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(host, &rnbdt_hosts, entry)
		if (uuid_equal(&host->uuid, uuid))
			return host;
	return NULL;
}

/**
 * rnbdt_host_allowed - may a host use an export
 * @export: export
 * @host: host
 *
 * Context: rnbdt_lock held.
 */
bool rnbdt_host_allowed(const struct rnbd_texport *export,
			const struct rnbd_thost *host)
{
	struct rnbd_tallow *allow;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(allow, &export->hosts, entry)
		if (allow->host == host)
			return true;
	return false;
}

/**
 * rnbdt_port_find_export - an enabled export that a host may use on a port
 * @port: port
 * @host: host
 * @name: name of the export, or NULL for any
 *
 * Context: rnbdt_lock held.
 * Return: the export or NULL.
 */
struct rnbd_texport *rnbdt_port_find_export(const struct rnbd_tport *port,
					    const struct rnbd_thost *host,
					    const char *name)
{
	struct rnbd_toffer *offer;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(offer, &port->exports, entry) {
		struct rnbd_texport *export = offer->export;

		if (name && strcmp(rnbdt_export_name(export), name))
			continue;
		if (export->enabled && rnbdt_host_allowed(export, host))
			return export;
	}
	return NULL;
}

/**
 * rnbdt_port_knows_host - may a host use anything on a port, once enabled
 * @port: port
 * @host: host
 *
 * Context: rnbdt_lock held.
 */
bool rnbdt_port_knows_host(const struct rnbd_tport *port,
			   const struct rnbd_thost *host)
{
	struct rnbd_toffer *offer;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(offer, &port->exports, entry)
		if (rnbdt_host_allowed(offer->export, host))
			return true;
	return false;
}

/* ------------------------------------------------------------------------
 * exports/<name>
 */

/*
 * A word without the newline that echo adds. What has a NUL in it is none, and
 * becomes "", which nothing takes.
 */
static char *rnbdt_dup_word(const char *page, size_t count)
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

static int rnbdt_export_must_be_off(struct rnbd_texport *export, const char *what)
{
	lockdep_assert_held(&export->lock);
	if (!export->enabled)
		return 0;
	pr_err("export %s: disable it before changing %s\n",
	       rnbdt_export_name(export), what);
	return -EBUSY;
}

static ssize_t rnbdt_export_path_show(struct config_item *item, char *page)
{
	struct rnbd_texport *export = to_export(item);
	ssize_t ret;

	mutex_lock(&export->lock);
	ret = sysfs_emit(page, "%s\n", export->path ?: "");
	mutex_unlock(&export->lock);
	return ret;
}

static ssize_t rnbdt_export_path_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
	char *path = rnbdt_dup_word(page, count);
	int ret;

	if (!path)
		return -ENOMEM;
	mutex_lock(&export->lock);
	ret = rnbdt_export_must_be_off(export, "path");
	if (!ret && path[0] != '/') {
		pr_err("export %s: path has to be absolute\n",
		       rnbdt_export_name(export));
		ret = -EINVAL;
	}
	if (!ret) {
		swap(export->path, path);
		/* Other storage has not got what clients have not flushed. */
		get_random_bytes(export->incarnation, sizeof(export->incarnation));
	}
	mutex_unlock(&export->lock);
	kfree(path);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, path);

static ssize_t rnbdt_export_readonly_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_export(item)->readonly));
}

static ssize_t rnbdt_export_readonly_store(struct config_item *item,
					   const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
	bool readonly;
	int ret;

	ret = kstrtobool(page, &readonly);
	if (ret)
		return ret;
	mutex_lock(&export->lock);
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
	enum rnbd_tcache cache = READ_ONCE(to_export(item)->cache);

	return sysfs_emit(page, "%s\n", rnbdt_cache_names[cache]);
}

static ssize_t rnbdt_export_cache_store(struct config_item *item,
					const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
	int ret, cache;

	cache = sysfs_match_string(rnbdt_cache_names, page);
	if (cache < 0) {
		pr_err("export %s: cache is none or pagecache\n",
		       rnbdt_export_name(export));
		return cache;
	}
	mutex_lock(&export->lock);
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
	enum rnbd_twrite_cache cache = READ_ONCE(to_export(item)->write_cache);

	return sysfs_emit(page, "%s\n", rnbdt_write_cache_names[cache]);
}

static ssize_t rnbdt_export_write_cache_store(struct config_item *item,
					      const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
	int ret, cache;

	cache = sysfs_match_string(rnbdt_write_cache_names, page);
	if (cache < 0) {
		pr_err("export %s: write_cache is through or back\n",
		       rnbdt_export_name(export));
		return cache;
	}
	mutex_lock(&export->lock);
	ret = rnbdt_export_must_be_off(export, "write_cache");
	if (!ret)
		WRITE_ONCE(export->write_cache, cache);
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, write_cache);

static ssize_t rnbdt_export_uuid_show(struct config_item *item, char *page)
{
	struct rnbd_texport *export = to_export(item);
	ssize_t ret;

	mutex_lock(&export->lock);
	ret = sysfs_emit(page, "%pUb\n", &export->uuid);
	mutex_unlock(&export->lock);
	return ret;
}

static ssize_t rnbdt_export_uuid_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
	char *word = rnbdt_dup_word(page, count);
	uuid_t uuid;
	int ret;

	if (!word)
		return -ENOMEM;
	/* The parser does not look at what follows. */
	ret = strlen(word) != UUID_STRING_LEN || uuid_parse(word, &uuid) ||
	      uuid_is_null(&uuid);
	kfree(word);
	if (ret) {
		pr_err("export %s: uuid is not a UUID\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	mutex_lock(&export->lock);
	ret = rnbdt_export_must_be_off(export, "uuid");
	if (!ret)
		export->uuid = uuid;
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, uuid);

static ssize_t rnbdt_export_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_export(item)->enabled));
}

static ssize_t rnbdt_export_enable_store(struct config_item *item,
					 const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
	bool enable;
	int ret;

	ret = kstrtobool(page, &enable);
	if (ret)
		return ret;
	mutex_lock(&export->lock);
	if (!enable)
		rnbdt_export_disable(export);
	else if (!export->enabled)
		ret = rnbdt_export_enable(export);
	mutex_unlock(&export->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_export_, enable);

static ssize_t rnbdt_export_size_show(struct config_item *item, char *page)
{
	struct rnbd_texport *export = to_export(item);
	u64 size = 0;

	mutex_lock(&rnbdt_lock);
	if (export->backend)
		size = export->backend->capacity;
	mutex_unlock(&rnbdt_lock);
	return sysfs_emit(page, "%llu\n", size);
}
CONFIGFS_ATTR_RO(rnbdt_export_, size);

static ssize_t rnbdt_export_resize_store(struct config_item *item,
					 const char *page, size_t count)
{
	struct rnbd_texport *export = to_export(item);
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
	mutex_lock(&rnbdt_lock);
	ret = rnbdt_export_look(export);
	mutex_unlock(&rnbdt_lock);
	if (ret == -ENODEV)
		pr_err("export %s: not enabled; it takes over the size of its storage when it is\n",
		       rnbdt_export_name(export));
	else if (ret)
		pr_err("export %s: its storage has no block left; make it larger, or disable the export\n",
		       rnbdt_export_name(export));
	return ret ?: count;
}
CONFIGFS_ATTR_WO(rnbdt_export_, resize);

static ssize_t rnbdt_export_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n",
			  rnbdt_sessions_count(NULL, to_export(item), NULL));
}
CONFIGFS_ATTR_RO(rnbdt_export_, sessions);

static ssize_t rnbdt_export_stale_requests_show(struct config_item *item,
						char *page)
{
	return sysfs_emit(page, "%lld\n",
			  atomic64_read(&to_export(item)->stale_requests));
}
CONFIGFS_ATTR_RO(rnbdt_export_, stale_requests);

static ssize_t rnbdt_export_stale_frames_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%lld\n",
			  atomic64_read(&to_export(item)->stale_frames));
}
CONFIGFS_ATTR_RO(rnbdt_export_, stale_frames);

static struct configfs_attribute *rnbdt_export_attrs[] = {
	&rnbdt_export_attr_path,
	&rnbdt_export_attr_readonly,
	&rnbdt_export_attr_cache,
	&rnbdt_export_attr_write_cache,
	&rnbdt_export_attr_uuid,
	&rnbdt_export_attr_enable,
	&rnbdt_export_attr_size,
	&rnbdt_export_attr_resize,
	&rnbdt_export_attr_sessions,
	&rnbdt_export_attr_stale_requests,
	&rnbdt_export_attr_stale_frames,
	NULL,
};

static void rnbdt_export_release(struct config_item *item)
{
	struct rnbd_texport *export = to_export(item);

	mutex_destroy(&export->lock);
	kfree(export->path);
	kfree(export);
}

static struct configfs_item_operations rnbdt_export_item_ops = {
	.release = rnbdt_export_release,
};

static const struct config_item_type rnbdt_export_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_export_item_ops,
	.ct_attrs	= rnbdt_export_attrs,
};

/* exports/<name>/allowed_hosts */

static struct rnbd_texport *hosts_group_to_export(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbd_texport,
			    hosts_group);
}

static int rnbdt_allow_host(struct config_item *src, struct config_item *target)
{
	struct rnbd_texport *export = hosts_group_to_export(src);
	struct rnbd_tallow *allow;
	int ret = 0;

	if (target->ci_type != &rnbdt_host_type) {
		pr_err("export %s: allowed_hosts takes links to hosts/<uuid>\n",
		       rnbdt_export_name(export));
		return -EINVAL;
	}
	allow = kzalloc(sizeof(*allow), GFP_KERNEL);
	if (!allow)
		return -ENOMEM;
	allow->host = to_host(target);

	mutex_lock(&rnbdt_lock);
	if (rnbdt_host_allowed(export, allow->host))
		ret = -EEXIST;
	else
		list_add_tail(&allow->entry, &export->hosts);
	mutex_unlock(&rnbdt_lock);
	if (ret)
		kfree(allow);
	return ret;
}

static void rnbdt_deny_host(struct config_item *src, struct config_item *target)
{
	struct rnbd_texport *export = hosts_group_to_export(src);
	struct rnbd_thost *host = to_host(target);
	struct rnbd_tallow *allow, *next;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry_safe(allow, next, &export->hosts, entry) {
		if (allow->host != host)
			continue;
		list_del(&allow->entry);
		kfree(allow);
	}
	mutex_unlock(&rnbdt_lock);
	rnbdt_sessions_end(host, export, NULL,
			   "the host may not use the export any more");
}

static void rnbdt_allowed_hosts_release(struct config_item *item)
{
	config_item_put(&hosts_group_to_export(item)->group.cg_item);
}

static struct configfs_item_operations rnbdt_allowed_hosts_ops = {
	.release	= rnbdt_allowed_hosts_release,
	.allow_link	= rnbdt_allow_host,
	.drop_link	= rnbdt_deny_host,
};

static const struct config_item_type rnbdt_allowed_hosts_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_allowed_hosts_ops,
};

/* exports */

static struct config_group *rnbdt_exports_make(struct config_group *group,
					       const char *name)
{
	struct rnbd_texport *export;

	if (!rnbd_export_name_ok(name, strlen(name) + 1)) {
		pr_err("an export's name has 1 to 63 letters, digits or any of . _ : -\n");
		return ERR_PTR(-EINVAL);
	}
	export = kzalloc(sizeof(*export), GFP_KERNEL);
	if (!export)
		return ERR_PTR(-ENOMEM);
	mutex_init(&export->lock);
	INIT_LIST_HEAD(&export->entry);
	INIT_LIST_HEAD(&export->hosts);
	uuid_gen(&export->uuid);
	get_random_bytes(export->incarnation, sizeof(export->incarnation));

	config_group_init_type_name(&export->group, name, &rnbdt_export_type);
	config_group_init_type_name(&export->hosts_group, "allowed_hosts",
				    &rnbdt_allowed_hosts_type);
	config_item_get(&export->group.cg_item);
	configfs_add_default_group(&export->hosts_group, &export->group);
	return &export->group;
}

static void rnbdt_exports_drop(struct config_group *group,
			       struct config_item *item)
{
	struct rnbd_texport *export = to_export(item);

	mutex_lock(&export->lock);
	rnbdt_export_disable(export);
	mutex_unlock(&export->lock);
	configfs_remove_default_groups(&export->group);
	config_item_put(item);
}

static struct configfs_group_operations rnbdt_exports_ops = {
	.make_group	= rnbdt_exports_make,
	.drop_item	= rnbdt_exports_drop,
};

static const struct config_item_type rnbdt_exports_type = {
	.ct_owner	= THIS_MODULE,
	.ct_group_ops	= &rnbdt_exports_ops,
};

/* ------------------------------------------------------------------------
 * hosts/<uuid>
 */

/* A limit of a host; 0 is none, then a parameter of the module counts. */
struct rnbdt_host_limit {
	const char *name;
	size_t offset;		/* in struct rnbd_thost */
	u64 max;
};

static u64 *rnbdt_host_limit(struct config_item *item, const struct rnbdt_host_limit *limit)
{
	return (void *)to_host(item) + limit->offset;
}

static ssize_t rnbdt_host_show_limit(struct config_item *item, char *page,
				     const struct rnbdt_host_limit *limit)
{
	u64 value;

	mutex_lock(&rnbdt_lock);
	value = *rnbdt_host_limit(item, limit);
	mutex_unlock(&rnbdt_lock);
	return sysfs_emit(page, "%llu\n", value);
}

/* Counts for logins to come; what is given out stays. */
static ssize_t rnbdt_host_store_limit(struct config_item *item, const char *page,
				      size_t count, const struct rnbdt_host_limit *limit)
{
	u64 value;
	int ret;

	ret = kstrtou64(page, 0, &value);
	if (!ret && value > limit->max)
		ret = -ERANGE;
	if (ret) {
		pr_err("host %s: %s is a number up to %llu, 0 for no limit of its own\n",
		       config_item_name(item), limit->name, limit->max);
		return ret;
	}
	mutex_lock(&rnbdt_lock);
	*rnbdt_host_limit(item, limit) = value;
	mutex_unlock(&rnbdt_lock);
	return count;
}

/* The file of a limit is called like its member of struct rnbd_thost. */
#define RNBDT_HOST_LIMIT(_name, _max)						\
static const struct rnbdt_host_limit rnbdt_host_limit_##_name = {		\
	#_name, offsetof(struct rnbd_thost, _name), _max			\
};										\
										\
static ssize_t rnbdt_host_##_name##_show(struct config_item *item, char *page)	\
{										\
	return rnbdt_host_show_limit(item, page, &rnbdt_host_limit_##_name);	\
}										\
										\
static ssize_t rnbdt_host_##_name##_store(struct config_item *item,		\
					  const char *page, size_t count)	\
{										\
	return rnbdt_host_store_limit(item, page, count,			\
				      &rnbdt_host_limit_##_name);		\
}

RNBDT_HOST_LIMIT(max_pool_bytes, S64_MAX)
CONFIGFS_ATTR(rnbdt_host_, max_pool_bytes);
RNBDT_HOST_LIMIT(max_session_pool_bytes, S64_MAX)
CONFIGFS_ATTR(rnbdt_host_, max_session_pool_bytes);
RNBDT_HOST_LIMIT(max_sessions, U32_MAX)
CONFIGFS_ATTR(rnbdt_host_, max_sessions);

/*
 * Returns the secret, NULL for "none", or an ERR_PTR(): nothing but that word takes a
 * secret away, such as a variable that was empty. The text is in @page only.
 */
static struct rnbd_tsecret *rnbdt_host_read_secret(const char *name, const char *page,
						   size_t count)
{
	struct rnbd_tsecret *secret;
	u8 bytes[RNBD_SECRET_SIZE];
	const char *why;

	if (sysfs_streq(page, RNBD_SECRET_NONE))
		return NULL;
	why = rnbd_secret_parse(page, count, bytes);
	if (why) {
		pr_err("host %s: secret: %s; \"" RNBD_SECRET_NONE "\" takes it away\n", name, why);
		return ERR_PTR(-EINVAL);
	}
	secret = rnbdt_secret_alloc(bytes);
	memzero_explicit(bytes, sizeof(bytes));
	if (IS_ERR(secret))
		pr_err("host %s: secret: the kernel cannot compute an HMAC-SHA256 (error %ld; is the module hmac there?)\n",
		       name, PTR_ERR(secret));
	return secret;
}

/*
 * The sessions that a secret is too late for, or that are proven with one that counts
 * no more, have ended when this returns. The same secret again changes nothing.
 */
static ssize_t rnbdt_host_secret_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbd_thost *host = to_host(item);
	struct rnbd_tsecret *secret;
	bool changed;

	secret = rnbdt_host_read_secret(config_item_name(item), page, count);
	/* The buffer of this file is freed as it is. */
	memzero_explicit((char *)page, count);
	if (IS_ERR(secret))
		return PTR_ERR(secret);

	mutex_lock(&rnbdt_lock);
	changed = !rnbdt_secret_same(host->secret, secret);
	if (changed)
		swap(host->secret, secret);
	mutex_unlock(&rnbdt_lock);
	rnbdt_secret_put(secret);
	if (changed)
		rnbdt_sessions_end_secret(host, "the secret of the host was changed");
	return count;
}

/* No group and nobody else may write it either. */
static struct configfs_attribute rnbdt_host_attr_secret = {
	.ca_name	= "secret",
	.ca_mode	= 0200,
	.ca_owner	= THIS_MODULE,
	.store		= rnbdt_host_secret_store,
};

static ssize_t rnbdt_host_has_secret_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_host(item)->secret));
}
CONFIGFS_ATTR_RO(rnbdt_host_, has_secret);

static ssize_t rnbdt_host_fenced_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_host(item)->fence.fenced));
}

static ssize_t rnbdt_host_fenced_store(struct config_item *item, const char *page,
				       size_t count)
{
	struct rnbd_thost *host = to_host(item);
	bool fenced;
	int ret;

	/* Whoever looks after active_sessions himself need not wait here. */
	if (sysfs_streq(page, "begin")) {
		ret = rnbdt_fence_begin(host) ? 0 : -EOVERFLOW;
	} else {
		ret = kstrtobool(page, &fenced);
		if (ret)
			return ret;
		if (fenced)
			ret = rnbdt_fence(host);
		else
			rnbdt_unfence(host);
	}
	if (ret == -EOVERFLOW)
		pr_err("host %s: its fence generation cannot rise any more\n",
		       config_item_name(item));
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_host_, fenced);

/* What to keep: GENERATION FENCED BOOT-ID */
static ssize_t rnbdt_host_fence_state_show(struct config_item *item, char *page)
{
	struct rnbd_tfence fence;

	mutex_lock(&rnbdt_lock);
	fence = to_host(item)->fence;
	mutex_unlock(&rnbdt_lock);
	return sysfs_emit(page, "%u %d %pUb\n", fence.generation, fence.fenced,
			  &fence.boot_id);
}

static ssize_t rnbdt_host_fence_state_store(struct config_item *item, const char *page,
					    size_t count)
{
	char boot_id[UUID_STRING_LEN + 1];
	struct rnbd_tfence fence = { };
	unsigned int fenced;
	u64 generation;
	char end;

	if (sscanf(page, "%11llu %1u %36s %c", &generation, &fenced, boot_id, &end) != 3 ||
	    !generation || generation > RNBDT_GENERATION_MAX || fenced > 1 ||
	    uuid_parse(boot_id, &fence.boot_id)) {
		pr_err("host %s: fence_state is what was read from it before: GENERATION FENCED BOOT-ID\n",
		       config_item_name(item));
		return -EINVAL;
	}
	fence.generation = generation;
	fence.fenced = fenced;
	rnbdt_fence_take(to_host(item), &fence);
	return count;
}
CONFIGFS_ATTR(rnbdt_host_, fence_state);

static ssize_t rnbdt_host_fence_done_show(struct config_item *item, char *page)
{
	u32 done;

	mutex_lock(&rnbdt_lock);
	done = rnbdt_fence_done(to_host(item));
	mutex_unlock(&rnbdt_lock);
	return sysfs_emit(page, "%u\n", done);
}
CONFIGFS_ATTR_RO(rnbdt_host_, fence_done);

static ssize_t rnbdt_host_active_sessions_show(struct config_item *item, char *page)
{
	u32 nr;

	mutex_lock(&rnbdt_lock);
	nr = rnbdt_sessions_active(to_host(item));
	mutex_unlock(&rnbdt_lock);
	return sysfs_emit(page, "%u\n", nr);
}
CONFIGFS_ATTR_RO(rnbdt_host_, active_sessions);

static ssize_t rnbdt_host_unfence_on_restart_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_host(item)->unfence_on_restart));
}

static ssize_t rnbdt_host_unfence_on_restart_store(struct config_item *item,
						   const char *page, size_t count)
{
	struct rnbd_thost *host = to_host(item);
	bool on;
	int ret;

	ret = kstrtobool(page, &on);
	if (ret)
		return ret;
	mutex_lock(&rnbdt_lock);
	host->unfence_on_restart = on;
	mutex_unlock(&rnbdt_lock);
	return count;
}
CONFIGFS_ATTR(rnbdt_host_, unfence_on_restart);

static ssize_t rnbdt_host_failed_proofs_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%lld\n",
			  atomic64_read(&to_host(item)->failed_proofs));
}
CONFIGFS_ATTR_RO(rnbdt_host_, failed_proofs);

static ssize_t rnbdt_host_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n",
			  rnbdt_sessions_count(to_host(item), NULL, NULL));
}
CONFIGFS_ATTR_RO(rnbdt_host_, sessions);

static struct configfs_attribute *rnbdt_host_attrs[] = {
	&rnbdt_host_attr_max_pool_bytes,
	&rnbdt_host_attr_max_session_pool_bytes,
	&rnbdt_host_attr_max_sessions,
	&rnbdt_host_attr_secret,
	&rnbdt_host_attr_has_secret,
	&rnbdt_host_attr_failed_proofs,
	&rnbdt_host_attr_fenced,
	&rnbdt_host_attr_fence_state,
	&rnbdt_host_attr_fence_done,
	&rnbdt_host_attr_active_sessions,
	&rnbdt_host_attr_unfence_on_restart,
	&rnbdt_host_attr_sessions,
	NULL,
};

static void rnbdt_host_release(struct config_item *item)
{
	struct rnbd_thost *host = to_host(item);

	rnbdt_secret_put(host->secret);
	kfree(host);
}

static struct configfs_item_operations rnbdt_host_item_ops = {
	.release = rnbdt_host_release,
};

static const struct config_item_type rnbdt_host_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_host_item_ops,
	.ct_attrs	= rnbdt_host_attrs,
};

static struct config_group *rnbdt_hosts_make(struct config_group *group,
					     const char *name)
{
	struct rnbd_thost *host;
	uuid_t uuid;
	int ret = 0;

	if (strlen(name) != UUID_STRING_LEN || uuid_parse(name, &uuid) ||
	    uuid_is_null(&uuid)) {
		pr_err("a host's name is its UUID\n");
		return ERR_PTR(-EINVAL);
	}
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return ERR_PTR(-ENOMEM);
	host->uuid = uuid;
	host->fence.generation = 1;

	/* The same UUID in upper and lower case is one host. */
	mutex_lock(&rnbdt_lock);
	if (rnbdt_host_find(&uuid))
		ret = -EEXIST;
	else
		list_add_tail(&host->entry, &rnbdt_hosts);
	mutex_unlock(&rnbdt_lock);
	if (ret) {
		kfree(host);
		return ERR_PTR(ret);
	}
	config_group_init_type_name(&host->group, name, &rnbdt_host_type);
	return &host->group;
}

static void rnbdt_hosts_drop(struct config_group *group,
			     struct config_item *item)
{
	struct rnbd_thost *host = to_host(item);

	mutex_lock(&rnbdt_lock);
	list_del(&host->entry);
	mutex_unlock(&rnbdt_lock);
	/* No export is linked, but a connection may not have logged in yet. */
	rnbdt_sessions_end(host, NULL, NULL, "the host was removed");
	config_item_put(item);
}

static struct configfs_group_operations rnbdt_hosts_ops = {
	.make_group	= rnbdt_hosts_make,
	.drop_item	= rnbdt_hosts_drop,
};

static const struct config_item_type rnbdt_hosts_type = {
	.ct_owner	= THIS_MODULE,
	.ct_group_ops	= &rnbdt_hosts_ops,
};

/* ------------------------------------------------------------------------
 * ports/<id>
 */

static int rnbdt_port_must_be_off(struct rnbd_tport *port, const char *what)
{
	lockdep_assert_held(&port->lock);
	if (READ_ONCE(port->state) == RNBDT_PORT_DISABLED)
		return 0;
	pr_err("port %s: disable it before changing %s\n",
	       rnbdt_port_name(port), what);
	return -EBUSY;
}

static ssize_t rnbdt_port_addr_show(struct config_item *item, char *page)
{
	struct rnbd_tport *port = to_port(item);
	ssize_t ret;

	mutex_lock(&port->lock);
	ret = sysfs_emit(page, "%s\n", port->addr);
	mutex_unlock(&port->lock);
	return ret;
}

static ssize_t rnbdt_port_addr_store(struct config_item *item,
				     const char *page, size_t count)
{
	struct rnbd_tport *port = to_port(item);
	char *addr = rnbdt_dup_word(page, count);
	struct sockaddr_storage ss;
	int ret;

	if (!addr)
		return -ENOMEM;
	mutex_lock(&port->lock);
	ret = rnbdt_port_must_be_off(port, "addr");
	if (ret)
		goto unlock;
	ret = -EINVAL;
	if (strlen(addr) >= sizeof(port->addr) ||
	    inet_pton_with_scope(&init_net, AF_UNSPEC, addr, NULL, &ss)) {
		pr_err("port %s: addr is not an IPv4 or IPv6 address\n",
		       rnbdt_port_name(port));
		goto unlock;
	}
	strscpy(port->addr, addr, sizeof(port->addr));
	ret = 0;
unlock:
	mutex_unlock(&port->lock);
	kfree(addr);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_port_, addr);

static ssize_t rnbdt_port_port_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_port(item)->port));
}

static ssize_t rnbdt_port_port_store(struct config_item *item,
				     const char *page, size_t count)
{
	struct rnbd_tport *port = to_port(item);
	u16 number;
	int ret;

	ret = kstrtou16(page, 0, &number);
	if (ret || !number) {
		pr_err("port %s: port is a number from 1 to 65535\n",
		       rnbdt_port_name(port));
		return -EINVAL;
	}
	mutex_lock(&port->lock);
	ret = rnbdt_port_must_be_off(port, "port");
	if (!ret)
		WRITE_ONCE(port->port, number);
	mutex_unlock(&port->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_port_, port);

static ssize_t rnbdt_port_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_port(item)->state) !=
					RNBDT_PORT_DISABLED);
}

static ssize_t rnbdt_port_enable_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbd_tport *port = to_port(item);
	bool enable;
	int ret;

	ret = kstrtobool(page, &enable);
	if (ret)
		return ret;
	mutex_lock(&port->lock);
	if (!enable)
		rnbdt_port_disable(port);
	else if (READ_ONCE(port->state) != RNBDT_PORT_LISTENING)
		ret = rnbdt_port_enable(port);
	mutex_unlock(&port->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_port_, enable);

static const char * const rnbdt_port_state_names[] = {
	[RNBDT_PORT_DISABLED]	= "disabled",
	[RNBDT_PORT_LISTENING]	= "listening",
	[RNBDT_PORT_NO_DEVICE]	= "no-device",
};

static ssize_t rnbdt_port_state_show(struct config_item *item, char *page)
{
	enum rnbd_tport_state state = READ_ONCE(to_port(item)->state);

	return sysfs_emit(page, "%s\n", rnbdt_port_state_names[state]);
}
CONFIGFS_ATTR_RO(rnbdt_port_, state);

static ssize_t rnbdt_port_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n",
			  rnbdt_sessions_count(NULL, NULL, to_port(item)));
}
CONFIGFS_ATTR_RO(rnbdt_port_, sessions);

static struct configfs_attribute *rnbdt_port_attrs[] = {
	&rnbdt_port_attr_addr,
	&rnbdt_port_attr_port,
	&rnbdt_port_attr_enable,
	&rnbdt_port_attr_state,
	&rnbdt_port_attr_sessions,
	NULL,
};

static void rnbdt_port_release(struct config_item *item)
{
	struct rnbd_tport *port = to_port(item);

	mutex_destroy(&port->lock);
	kfree(port);
}

static struct configfs_item_operations rnbdt_port_item_ops = {
	.release = rnbdt_port_release,
};

static const struct config_item_type rnbdt_port_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_port_item_ops,
	.ct_attrs	= rnbdt_port_attrs,
};

/* ports/<id>/exports */

static struct rnbd_tport *exports_group_to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbd_tport,
			    exports_group);
}

static int rnbdt_offer_export(struct config_item *src,
			      struct config_item *target)
{
	struct rnbd_tport *port = exports_group_to_port(src);
	struct rnbd_toffer *offer, *other;
	static u64 serial;		/* rnbdt_lock */
	int ret = 0;

	if (target->ci_type != &rnbdt_export_type) {
		pr_err("port %s: exports takes links to exports/<name>\n",
		       rnbdt_port_name(port));
		return -EINVAL;
	}
	offer = kzalloc(sizeof(*offer), GFP_KERNEL);
	if (!offer)
		return -ENOMEM;
	offer->export = to_export(target);

	mutex_lock(&rnbdt_lock);
	list_for_each_entry(other, &port->exports, entry)
		if (other->export == offer->export)
			ret = -EEXIST;
	if (!ret) {
		offer->serial = ++serial;
		list_add_tail(&offer->entry, &port->exports);
	}
	mutex_unlock(&rnbdt_lock);
	if (ret)
		kfree(offer);
	return ret;
}

static void rnbdt_withdraw_export(struct config_item *src,
				  struct config_item *target)
{
	struct rnbd_tport *port = exports_group_to_port(src);
	struct rnbd_texport *export = to_export(target);
	struct rnbd_toffer *offer, *next;

	mutex_lock(&rnbdt_lock);
	list_for_each_entry_safe(offer, next, &port->exports, entry) {
		if (offer->export != export)
			continue;
		list_del(&offer->entry);
		kfree(offer);
	}
	mutex_unlock(&rnbdt_lock);
	rnbdt_sessions_end(NULL, export, port,
			   "the port does not offer the export any more");
}

static void rnbdt_port_exports_release(struct config_item *item)
{
	config_item_put(&exports_group_to_port(item)->group.cg_item);
}

static struct configfs_item_operations rnbdt_port_exports_ops = {
	.release	= rnbdt_port_exports_release,
	.allow_link	= rnbdt_offer_export,
	.drop_link	= rnbdt_withdraw_export,
};

static const struct config_item_type rnbdt_port_exports_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_port_exports_ops,
};

/* ports */

static struct config_group *rnbdt_ports_make(struct config_group *group,
					     const char *name)
{
	struct rnbd_tport *port;

	if (!rnbd_export_name_ok(name, strlen(name) + 1)) {
		pr_err("a port's name has 1 to 63 letters, digits or any of . _ : -\n");
		return ERR_PTR(-EINVAL);
	}
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	mutex_init(&port->lock);
	INIT_LIST_HEAD(&port->exports);
	port->port = RNBD_DEFAULT_PORT;
	rnbdt_port_init(port);

	config_group_init_type_name(&port->group, name, &rnbdt_port_type);
	config_group_init_type_name(&port->exports_group, "exports",
				    &rnbdt_port_exports_type);
	config_item_get(&port->group.cg_item);
	configfs_add_default_group(&port->exports_group, &port->group);
	return &port->group;
}

static void rnbdt_ports_drop(struct config_group *group,
			     struct config_item *item)
{
	struct rnbd_tport *port = to_port(item);

	mutex_lock(&port->lock);
	rnbdt_port_disable(port);
	mutex_unlock(&port->lock);
	rnbdt_port_exit(port);
	configfs_remove_default_groups(&port->group);
	config_item_put(item);
}

static struct configfs_group_operations rnbdt_ports_ops = {
	.make_group	= rnbdt_ports_make,
	.drop_item	= rnbdt_ports_drop,
};

static const struct config_item_type rnbdt_ports_type = {
	.ct_owner	= THIS_MODULE,
	.ct_group_ops	= &rnbdt_ports_ops,
};

/* ------------------------------------------------------------------------
 * The root
 */

static struct config_group rnbdt_exports_group;
static struct config_group rnbdt_hosts_group;
static struct config_group rnbdt_ports_group;

static const struct config_item_type rnbdt_root_type = {
	.ct_owner	= THIS_MODULE,
};

static struct configfs_subsystem rnbdt_subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf	= "rnbd",
			.ci_type	= &rnbdt_root_type,
		},
	},
};

/**
 * rnbdt_configfs_init - show the configuration
 *
 * Return: 0 or an error.
 */
int rnbdt_configfs_init(void)
{
	struct config_group *root = &rnbdt_subsys.su_group;

	config_group_init(root);
	mutex_init(&rnbdt_subsys.su_mutex);

	config_group_init_type_name(&rnbdt_exports_group, "exports",
				    &rnbdt_exports_type);
	configfs_add_default_group(&rnbdt_exports_group, root);
	config_group_init_type_name(&rnbdt_hosts_group, "hosts",
				    &rnbdt_hosts_type);
	configfs_add_default_group(&rnbdt_hosts_group, root);
	config_group_init_type_name(&rnbdt_ports_group, "ports",
				    &rnbdt_ports_type);
	configfs_add_default_group(&rnbdt_ports_group, root);

	return configfs_register_subsystem(&rnbdt_subsys);
}

/**
 * rnbdt_configfs_exit - hide the configuration, which is empty by now
 */
void rnbdt_configfs_exit(void)
{
	configfs_unregister_subsystem(&rnbdt_subsys);
}
