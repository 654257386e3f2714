// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: the cgroup of a host.
 *
 * Operation: hosts/<uuid>/cgroup is the path of a cgroup below the mount point of cgroup2; it is
 * empty for no cgroup. effective_cgroup is the cgroup whose limits apply: an ancestor if the
 * configured cgroup does not exist or has no io controller. See cgroup.c.
 *
 * Ownership, concurrency: as in cgroup.c.
 *
 * Errors: an invalid path is refused and logged.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "blkcg.h"
#include "cgroup.h"
#include "configfs_cgroup.h"
#include "graph.h"

/* Return the path in a buffer of configfs, NULL if the buffer is empty, or an ERR_PTR(). */
static char *rnbdt_cgroup_read(const char *page, size_t count)
{
	char *path;

	if (count && page[count - 1] == '\n')
		count--;
	if (!count)
		return NULL;
	if (count >= PATH_MAX - 1 || strnlen(page, count) != count)
		return ERR_PTR(-EINVAL);
	/* Normalizing can add a slash. */
	path = kzalloc(count + 2, GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);
	memcpy(path, page, count);
	if (!rnbdt_blkcg_normalize(path))
		return path;
	kfree(path);
	return ERR_PTR(-EINVAL);
}

static ssize_t rnbdt_host_cgroup_show(struct config_item *item, char *page)
{
	return rnbdt_cgroup_show(rnbdt_to_host(item), page, false);
}

static ssize_t rnbdt_host_cgroup_store(struct config_item *item, const char *page, size_t count)
{
	char *path = rnbdt_cgroup_read(page, count);
	int ret;

	if (IS_ERR(path)) {
		pr_err("host %s: cgroup is a path below the mount of cgroup2, without . and .., or empty\n",
		       config_item_name(item));
		return PTR_ERR(path);
	}
	ret = rnbdt_cgroup_set(rnbdt_to_host(item), path);
	if (ret)
		pr_err("host %s: cgroup: the io controller of cgroup version 2 is missing: the kernel has none, or version 1 is in use\n",
		       config_item_name(item));
	return ret ?: count;
}

static ssize_t rnbdt_host_effective_cgroup_show(struct config_item *item, char *page)
{
	return rnbdt_cgroup_show(rnbdt_to_host(item), page, true);
}

struct configfs_attribute rnbdt_host_attr_cgroup = {
	.ca_name	= "cgroup",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_host_cgroup_show,
	.store		= rnbdt_host_cgroup_store,
};

struct configfs_attribute rnbdt_host_attr_effective_cgroup = {
	.ca_name	= "effective_cgroup",
	.ca_mode	= 0444,
	.ca_owner	= THIS_MODULE,
	.show		= rnbdt_host_effective_cgroup_show,
};
