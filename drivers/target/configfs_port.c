// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: ports/<id>/, the address of a port and the exports that it offers.
 *
 * Operation: addr and port can be changed only while the port is disabled. A link in exports offers
 * an export. Removing the link closes the attachments of the export on this port, and the sessions
 * on this port whose hosts may use no other export of the port.
 *
 * Ownership: a port is freed with the last reference on its directory. Its directory "exports"
 * holds one reference (configfs.c), and each session holds one.
 *
 * Concurrency: port->lock serialises writers of attributes; rnbdt_lock protects the links. Readers
 * of attributes take rnbdt_lock or no lock. No reader waits for storage.
 *
 * Errors: a refused store changes nothing. It is logged with the remedy unless its value is an
 * invalid boolean.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/configfs.h>
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>

#include "../core/names.h"
#include "attached.h"
#include "configfs_export.h"
#include "configfs_port.h"
#include "graph.h"
#include "port.h"
#include "reach.h"
#include "state.h"
#include "target.h"

static struct rnbdt_port *rnbdt_to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbdt_port, group);
}

static int rnbdt_port_must_be_off(struct rnbdt_port *port, const char *what)
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
	struct rnbdt_port *port = rnbdt_to_port(item);
	ssize_t ret;

	down_read(&rnbdt_lock);
	ret = sysfs_emit(page, "%s\n", port->addr);
	up_read(&rnbdt_lock);
	return ret;
}

static ssize_t rnbdt_port_addr_store(struct config_item *item,
				     const char *page, size_t count)
{
	struct rnbdt_port *port = rnbdt_to_port(item);
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
	down_write(&rnbdt_lock);
	strscpy(port->addr, addr, sizeof(port->addr));
	up_write(&rnbdt_lock);
	ret = 0;
unlock:
	mutex_unlock(&port->lock);
	kfree(addr);
	return ret ?: count;
}
CONFIGFS_ATTR(rnbdt_port_, addr);

static ssize_t rnbdt_port_port_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rnbdt_to_port(item)->port));
}

static ssize_t rnbdt_port_port_store(struct config_item *item,
				     const char *page, size_t count)
{
	struct rnbdt_port *port = rnbdt_to_port(item);
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
	return sysfs_emit(page, "%d\n", READ_ONCE(rnbdt_to_port(item)->state) !=
					RNBDT_PORT_DISABLED);
}

/* "begin-disable" does not wait: the writer polls "sessions", which becomes 0. */
static ssize_t rnbdt_port_enable_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct rnbdt_port *port = rnbdt_to_port(item);
	bool enable = false, wait = !sysfs_streq(page, RNBDT_BEGIN_DISABLE);
	int ret = 0;

	if (wait)
		ret = kstrtobool(page, &enable);
	if (ret)
		return ret;
	mutex_lock(&port->lock);
	if (!enable)
		rnbdt_port_disable(port);
	else if (READ_ONCE(port->state) != RNBDT_PORT_LISTENING)
		ret = rnbdt_port_enable(port);
	mutex_unlock(&port->lock);
	if (!enable && wait)
		ret = rnbdt_sessions_wait(port);
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
	enum rnbdt_port_state state = READ_ONCE(rnbdt_to_port(item)->state);

	return sysfs_emit(page, "%s\n", rnbdt_port_state_names[state]);
}
CONFIGFS_ATTR_RO(rnbdt_port_, state);

static ssize_t rnbdt_port_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rnbdt_to_port(item)->all_sessions));
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
	struct rnbdt_port *port = rnbdt_to_port(item);

	mutex_destroy(&port->lock);
	xa_destroy(&port->reach);
	kfree(port);
}

static struct configfs_item_operations rnbdt_port_item_ops = {
	.release = rnbdt_port_release,
};

const struct config_item_type rnbdt_port_type = {
	.ct_owner	= THIS_MODULE,
	.ct_item_ops	= &rnbdt_port_item_ops,
	.ct_attrs	= rnbdt_port_attrs,
};

static struct rnbdt_port *rnbdt_exports_group_to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct rnbdt_port,
			    exports_group);
}

static int rnbdt_offer_export(struct config_item *src,
			      struct config_item *target)
{
	struct rnbdt_port *port = rnbdt_exports_group_to_port(src);
	struct rnbdt_offer *offer;
	int ret;

	if (target->ci_type != &rnbdt_export_type) {
		pr_err("port %s: exports takes links to exports/<name>\n",
		       rnbdt_port_name(port));
		return -EINVAL;
	}
	offer = kzalloc(sizeof(*offer), GFP_KERNEL);
	if (!offer)
		return -ENOMEM;
	offer->export = rnbdt_to_export(target);
	offer->port = port;

	down_write(&rnbdt_lock);
	ret = rnbdt_reach_offer(offer);
	up_write(&rnbdt_lock);
	if (ret)
		kfree(offer);
	return ret;
}

static void rnbdt_withdraw_export(struct config_item *src,
				  struct config_item *target)
{
	struct rnbdt_port *port = rnbdt_exports_group_to_port(src);
	struct rnbdt_export *export = rnbdt_to_export(target);
	struct rnbdt_offer *offer, *next;

	down_write(&rnbdt_lock);
	list_for_each_entry_safe(offer, next, &export->offers, entry) {
		if (offer->port != port)
			continue;
		rnbdt_reach_withdraw(offer);
		kfree(offer);
	}
	up_write(&rnbdt_lock);
	/* Do not wait for the storage: configfs holds the lock of the directory. */
	rnbdt_attached_close(export, NULL, port, "the port no longer offers the export");
	rnbdt_sessions_close_denied(NULL, port);
}

static void rnbdt_port_exports_release(struct config_item *item)
{
	config_item_put(&rnbdt_exports_group_to_port(item)->group.cg_item);
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

static struct config_group *rnbdt_ports_make(struct config_group *group,
					     const char *name)
{
	struct rnbdt_port *port;

	if (!rnbd_export_name_ok(name, strlen(name) + 1)) {
		pr_err("a port's name has 1 to 63 letters, digits or any of . _ : -\n");
		return ERR_PTR(-EINVAL);
	}
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	mutex_init(&port->lock);
	xa_init(&port->reach);
	INIT_LIST_HEAD(&port->sessions);
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
	struct rnbdt_port *port = rnbdt_to_port(item);

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

const struct config_item_type rnbdt_ports_type = {
	.ct_owner       = THIS_MODULE,
	.ct_group_ops   = &rnbdt_ports_ops,
};
