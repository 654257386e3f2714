// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: the directory /sys/kernel/config/rnbd.
 *
 *	uuid
 *	exports/<name>/
 *	exports/<name>/{allowed_hosts,readonly_hosts}/<any name> -> hosts/<uuid>
 *	hosts/<uuid>/
 *	ports/<id>/
 *	ports/<id>/exports/<any name> -> exports/<name>
 *
 * Documentation/ABI/configfs-rnbd describes the attributes of each directory.
 *
 * Operation: the administrator creates objects, sets their attributes and enables
 * them. Attributes that a session depends on cannot be changed while the object is
 * enabled; the log names the remedy. A host to which no export links has no access.
 *
 * Ownership: configfs owns the objects and counts their references; each object pins the
 * module. A directory that is the target of a link, or that contains links, cannot be
 * removed. So all links of an export or a port are removed first, which closes the attachments
 * that used them. A removed object is freed when no session uses it; sessions pin the module,
 * too. The directories for links are embedded in their export or port, but have their own
 * reference counts: a task that creates a link holds only a reference on that directory, and no
 * lock, while it looks up the target. Therefore each such directory holds a reference on the
 * export or port in which it is embedded.
 *
 * Concurrency: the lock of an export or a port serialises most of its stores; all other stores
 * take rnbdt_lock for writing. rnbdt_lock protects the graph, and is taken for reading to show an
 * attribute unless one atomic read suffices. A change that removes access first changes the graph
 * and then closes the attachments and sessions that had access, so that no new one can begin in
 * between. configfs holds its own locks around all callbacks; a teardown does not need these
 * locks. rmdir and unlink hold the lock of a directory that other tasks list, so they do not wait
 * for the storage. Only two stores wait for it: 0 to "enable" of a port, and 1 to "fenced".
 *
 * Errors: a refused store changes nothing. A store to "fenced" that fails has possibly fenced the
 * host. Removing access never fails.
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

/* The proof in a login covers the UUID of the target, so refuse a change while sessions exist. */
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

/* Let only root use attributes: a read can lock a host, which delays logins of that host. */
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
 * rnbdt_configfs_exit - unregister the configuration, which must be empty
 *
 * Context: process context, module exit.
 */
void rnbdt_configfs_exit(void)
{
	configfs_unregister_subsystem(&rnbdt_subsys);
}
