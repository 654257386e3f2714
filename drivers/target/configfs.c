// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: the directory /sys/kernel/config/rnbd.
 *
 *	uuid
 *	exports/<name>/{path,readonly,cache,write_cache,exclusive,owner,owner_state,
 *		uuid,enable,state,size,resize,sessions,closing,stale_requests}
 *	exports/<name>/{allowed_hosts,readonly_hosts}/<any name> -> hosts/<uuid>
 *	hosts/<uuid>/{max_pool_bytes,max_session_pool_bytes,max_sessions,
 *		secret,has_secret,old_secret,has_old_secret,old_secret_sessions,
 *		outdated_sessions,failed_proofs,fenced,fence_state,fence_done,unfence_on_restart,
 *		active_sessions,sessions,stale_frames,late_requests}
 *	ports/<id>/{addr,port,enable,state,sessions}
 *	ports/<id>/exports/<any name> -> exports/<name>
 *
 * Operation: the administrator creates objects, sets their attributes and enables
 * them. Attributes that a session depends on cannot be changed while the object is
 * enabled; the log names the remedy. A host without a link has no access.
 *
 * Ownership: configfs owns the objects and counts their references; each pins the
 * module. A directory that is the target of a link, or that contains links, cannot
 * be removed, so exports and ports lose their sessions link by link at the latest.
 * A removed object lives on while sessions use it, which also pin the module.
 * The directories for links are part of their export or port, but have references
 * of their own: a task that creates a link there holds such a reference, and no
 * lock, while it looks up the target. Therefore they hold a reference on the
 * object that contains them.
 *
 * Concurrency: the lock of an object serialises its stores. The graph is under
 * rnbdt_lock; to read an attribute takes that for reading. A change that removes access
 * changes the graph first and then closes the sessions that had it, so that no login can
 * begin in between. configfs holds
 * its own locks around all callbacks; no teardown needs those. rmdir and unlink
 * lock a directory that others list, so they do not wait for the storage; only a write
 * of 0 to "enable" of a port, and of 1 to "fenced", does.
 *
 * Errors: a refused store changes nothing. Removing access never fails.
 */

#include <linux/configfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>

#include "configfs.h"
#include "configfs_export.h"
#include "configfs_host.h"
#include "configfs_port.h"
#include "graph.h"
#include "session.h"
#include "state.h"
#include "target.h"

static struct config_group rnbdt_exports_group;
static struct config_group rnbdt_hosts_group;
static struct config_group rnbdt_ports_group;

static ssize_t rnbdt_root_uuid_show(struct config_item *item, char *page)
{
	uuid_t uuid;

	down_read(&rnbdt_lock);
	uuid = rnbdt_target_uuid;
	up_read(&rnbdt_lock);
	return sysfs_emit(page, "%pUb\n", &uuid);
}

/* Logins cover it, and clients log another one: it stays while there are sessions. */
static ssize_t rnbdt_root_uuid_store(struct config_item *item, const char *page, size_t count)
{
	char text[UUID_STRING_LEN + 2];
	int ret = count;
	uuid_t uuid;

	if (count >= sizeof(text))
		return -EINVAL;
	strscpy(text, page, count + 1);
	if (uuid_parse(strim(text), &uuid) || uuid_is_null(&uuid))
		return -EINVAL;
	down_write(&rnbdt_lock);
	if (!uuid_equal(&uuid, &rnbdt_target_uuid)) {
		if (list_empty(&rnbdt_sessions))
			rnbdt_target_uuid = uuid;
		else
			ret = -EBUSY;
	}
	up_write(&rnbdt_lock);
	return ret;
}

CONFIGFS_ATTR(rnbdt_root_, uuid);

static struct configfs_attribute *rnbdt_root_attrs[] = {
	&rnbdt_root_attr_uuid,
	NULL,
};

static const struct config_item_type rnbdt_root_type = {
	.ct_attrs	= rnbdt_root_attrs,
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

/* A reader may lock a host, which logins of that host need: any user could slow those. */
static void rnbdt_attrs_for_root(const struct config_item_type *type)
{
	struct configfs_attribute **attr;

	for (attr = type->ct_attrs; *attr; attr++)
		(*attr)->ca_mode &= 0700;
}

/**
 * rnbdt_configfs_init - register the configuration
 *
 * Context: process context, module init.
 * Return: 0 or a negative errno.
 */
int rnbdt_configfs_init(void)
{
	struct config_group *root = &rnbdt_subsys.su_group;

	uuid_gen(&rnbdt_target_uuid);
	rnbdt_attrs_for_root(&rnbdt_root_type);
	rnbdt_attrs_for_root(&rnbdt_export_type);
	rnbdt_attrs_for_root(&rnbdt_host_type);
	rnbdt_attrs_for_root(&rnbdt_port_type);
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
 * rnbdt_configfs_exit - unregister the configuration, which is empty by then
 *
 * Context: process context, module exit.
 */
void rnbdt_configfs_exit(void)
{
	configfs_unregister_subsystem(&rnbdt_subsys);
}
