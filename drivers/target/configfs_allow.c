// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: exports/<name>/allowed_hosts and readonly_hosts, the hosts that may use an export.
 *
 * Operation: a link in allowed_hosts allows a host to read and write, a link in readonly_hosts
 * allows it only to read. An export has at most one of the two links for a host. Removing the link
 * closes the attachment of the host without waiting for the storage. The attribute "closing" of
 * the export counts the closed attachments whose requests the storage still has. A session is
 * closed if its host may no longer use any export on its port.
 *
 * Ownership: each directory holds a reference on its export, see configfs.c. A link pins
 * the directory of the host.
 *
 * Concurrency: a link is created and removed with rnbdt_lock held for writing.
 *
 * Errors: a link is refused if its target is not a host, or if the export already has a link to the
 * host. The log names the remedy, unless the second link is in the same directory as the first.
 * Removing a link never fails.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/slab.h>

#include "attached.h"
#include "configfs_allow.h"
#include "configfs_host.h"
#include "graph.h"
#include "reach.h"
#include "state.h"
#include "target.h"

static struct rnbdt_export *rnbdt_allowed_to_export(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbdt_export, hosts_group);
}

static struct rnbdt_export *rnbdt_readonly_to_export(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbdt_export, readonly_group);
}

static int rnbdt_allow_host(struct rnbdt_export *export, struct config_item *target,
			    bool readonly)
{
	const char *dir = readonly ? "readonly_hosts" : "allowed_hosts";
	struct rnbdt_allow *allow, *old;
	int ret;

	if (target->ci_type != &rnbdt_host_type) {
		pr_err("export %s: %s takes links to hosts/<uuid>\n",
		       rnbdt_export_name(export), dir);
		return -EINVAL;
	}
	allow = kzalloc(sizeof(*allow), GFP_KERNEL);
	if (!allow)
		return -ENOMEM;
	allow->host = rnbdt_to_host(target);
	allow->export = export;
	allow->readonly = readonly;

	down_write(&rnbdt_lock);
	ret = rnbdt_reach_allow(allow);
	old = rnbdt_find_allow(export, allow->host);
	if (ret == -EEXIST && old->readonly != readonly)
		ret = -EBUSY;
	up_write(&rnbdt_lock);
	if (ret)
		kfree(allow);
	if (ret == -EBUSY)
		pr_err("export %s: host %s has a link in %s; remove that first\n",
		       rnbdt_export_name(export), config_item_name(target),
		       readonly ? "allowed_hosts" : "readonly_hosts");
	return ret;
}

static void rnbdt_deny_host(struct rnbdt_export *export, struct config_item *target)
{
	struct rnbdt_host *host = rnbdt_to_host(target);
	struct rnbdt_allow *allow;

	down_write(&rnbdt_lock);
	allow = rnbdt_find_allow(export, host);
	if (!WARN_ON_ONCE(!allow)) {
		rnbdt_reach_deny(allow);
		kfree(allow);
	}
	up_write(&rnbdt_lock);
	/* Do not wait for the storage: configfs holds the lock of the directory. */
	rnbdt_attached_close(export, host, NULL, "the host may no longer use the export");
	rnbdt_sessions_close_denied(host, NULL);
}

static int rnbdt_allowed_hosts_link(struct config_item *src, struct config_item *target)
{
	return rnbdt_allow_host(rnbdt_allowed_to_export(src), target, false);
}

static void rnbdt_allowed_hosts_unlink(struct config_item *src, struct config_item *target)
{
	rnbdt_deny_host(rnbdt_allowed_to_export(src), target);
}

static void rnbdt_allowed_hosts_release(struct config_item *item)
{
	config_item_put(&rnbdt_allowed_to_export(item)->group.cg_item);
}

static struct configfs_item_operations rnbdt_allowed_hosts_ops = {
	.release	= rnbdt_allowed_hosts_release,
	.allow_link	= rnbdt_allowed_hosts_link,
	.drop_link	= rnbdt_allowed_hosts_unlink,
};

static const struct config_item_type rnbdt_allowed_hosts_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_allowed_hosts_ops,
};

static int rnbdt_readonly_hosts_link(struct config_item *src, struct config_item *target)
{
	return rnbdt_allow_host(rnbdt_readonly_to_export(src), target, true);
}

static void rnbdt_readonly_hosts_unlink(struct config_item *src, struct config_item *target)
{
	rnbdt_deny_host(rnbdt_readonly_to_export(src), target);
}

static void rnbdt_readonly_hosts_release(struct config_item *item)
{
	config_item_put(&rnbdt_readonly_to_export(item)->group.cg_item);
}

static struct configfs_item_operations rnbdt_readonly_hosts_ops = {
	.release	= rnbdt_readonly_hosts_release,
	.allow_link	= rnbdt_readonly_hosts_link,
	.drop_link	= rnbdt_readonly_hosts_unlink,
};

static const struct config_item_type rnbdt_readonly_hosts_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_readonly_hosts_ops,
};

/**
 * rnbdt_allow_init - add the directories for links to hosts to an export
 * @export: new export, whose configfs group is initialised
 *
 * Context: process context.
 */
void rnbdt_allow_init(struct rnbdt_export *export)
{
	INIT_LIST_HEAD(&export->hosts);
	config_group_init_type_name(&export->hosts_group, "allowed_hosts",
				    &rnbdt_allowed_hosts_type);
	config_item_get(&export->group.cg_item);
	configfs_add_default_group(&export->hosts_group, &export->group);
	config_group_init_type_name(&export->readonly_group, "readonly_hosts",
				    &rnbdt_readonly_hosts_type);
	config_item_get(&export->group.cg_item);
	configfs_add_default_group(&export->readonly_group, &export->group);
}
