// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which exports a host reaches on a port.
 *
 * Operation: a host reaches an export on a port if the export allows the host and the port
 * offers the export. For each connection request for queue 0, the target must know whether the
 * host reaches any export at all, and a host can have permission for thousands of exports.
 * Therefore each port has two counts for each host: one of all exports that the host reaches, and
 * one of the enabled exports among these. The counts change when a link in configfs is created or
 * removed, and when an export is enabled or disabled. For an ATTACH, the target looks up the export
 * by its name, and then the permission of the host for this export.
 *
 * Ownership: configfs owns the links; a port owns its counts.
 *
 * Concurrency: a change holds rnbdt_lock for writing, a lookup holds it at least for reading.
 * Memory is allocated without I/O: memory reclaim can wait for a disk of a client whose login
 * waits for rnbdt_lock.
 *
 * Errors: if there is no memory, the link is refused and the counts remain unchanged.
 */

#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "graph.h"
#include "reach.h"
#include "target.h"

/**
 * struct rnbdt_reach - counts of the exports that one host reaches on one port
 * @exports: exports that the port offers and that allow the host
 * @enabled: those of @exports that are enabled
 */
struct rnbdt_reach {
	u32 exports;
	u32 enabled;
};

static int rnbdt_reach_add(struct rnbdt_port *port, struct rnbdt_host *host, bool enabled)
{
	struct rnbdt_reach *reach = xa_load(&port->reach, host->id);
	int ret;

	if (!reach) {
		reach = kzalloc(sizeof(*reach), GFP_NOIO);
		if (!reach)
			return -ENOMEM;
		ret = xa_err(xa_store(&port->reach, host->id, reach, GFP_NOIO));
		if (ret) {
			kfree(reach);
			return ret;
		}
	}
	reach->exports++;
	reach->enabled += enabled;
	return 0;
}

static void rnbdt_reach_remove(struct rnbdt_port *port, struct rnbdt_host *host,
			       bool enabled)
{
	struct rnbdt_reach *reach = xa_load(&port->reach, host->id);

	reach->enabled -= enabled;
	if (--reach->exports)
		return;
	xa_erase(&port->reach, host->id);
	kfree(reach);
}

/**
 * rnbdt_reach_allow - allow a host to use an export
 * @allow: link from the export to the host, not in a list yet
 *
 * Context: process context, rnbdt_lock held for writing; may sleep.
 * Return: 0; -EEXIST if allowed_hosts or readonly_hosts of the export already has a link to the
 * host; or -ENOMEM.
 */
int rnbdt_reach_allow(struct rnbdt_allow *allow)
{
	struct rnbdt_export *export = allow->export;
	struct rnbdt_host *host = allow->host;
	struct rnbdt_offer *offer;
	int ret;

	lockdep_assert_held_write(&rnbdt_lock);

	if (rnbdt_find_allow(export, host))
		return -EEXIST;
	ret = xa_err(xa_store(&host->allows, export->id, allow, GFP_NOIO));
	if (ret)
		return ret;
	list_for_each_entry(offer, &export->offers, entry) {
		ret = rnbdt_reach_add(offer->port, host, export->enabled);
		if (ret)
			goto undo;
	}
	list_add_tail(&allow->entry, &export->hosts);
	return 0;

undo:
	list_for_each_entry_continue_reverse(offer, &export->offers, entry)
		rnbdt_reach_remove(offer->port, host, export->enabled);
	xa_erase(&host->allows, export->id);
	return ret;
}

/**
 * rnbdt_reach_deny - undo rnbdt_reach_allow()
 * @allow: link
 *
 * Context: process context, rnbdt_lock held for writing.
 */
void rnbdt_reach_deny(struct rnbdt_allow *allow)
{
	struct rnbdt_export *export = allow->export;
	struct rnbdt_offer *offer;

	lockdep_assert_held_write(&rnbdt_lock);

	list_for_each_entry(offer, &export->offers, entry)
		rnbdt_reach_remove(offer->port, allow->host, export->enabled);
	list_del(&allow->entry);
	xa_erase(&allow->host->allows, export->id);
}

/* Return whether a port offers an export. Few ports offer an export, so the list is short. */
static bool rnbdt_port_offers(struct rnbdt_port *port, const struct rnbdt_export *export)
{
	struct rnbdt_offer *offer;

	list_for_each_entry(offer, &export->offers, entry)
		if (offer->port == port)
			return true;
	return false;
}

/**
 * rnbdt_reach_offer - add an export to those that a port offers
 * @offer: link from the port to the export, not in a list yet
 *
 * Context: process context, rnbdt_lock held for writing; may sleep.
 * Return: 0, -EEXIST if the port offers the export already, or -ENOMEM.
 */
int rnbdt_reach_offer(struct rnbdt_offer *offer)
{
	struct rnbdt_export *export = offer->export;
	struct rnbdt_allow *allow;
	int ret;

	lockdep_assert_held_write(&rnbdt_lock);

	if (rnbdt_port_offers(offer->port, export))
		return -EEXIST;
	list_for_each_entry(allow, &export->hosts, entry) {
		ret = rnbdt_reach_add(offer->port, allow->host, export->enabled);
		if (ret)
			goto undo;
	}
	list_add_tail(&offer->entry, &export->offers);
	return 0;

undo:
	list_for_each_entry_continue_reverse(allow, &export->hosts, entry)
		rnbdt_reach_remove(offer->port, allow->host, export->enabled);
	return ret;
}

/**
 * rnbdt_reach_withdraw - undo rnbdt_reach_offer()
 * @offer: link
 *
 * Context: process context, rnbdt_lock held for writing.
 */
void rnbdt_reach_withdraw(struct rnbdt_offer *offer)
{
	struct rnbdt_export *export = offer->export;
	struct rnbdt_allow *allow;

	lockdep_assert_held_write(&rnbdt_lock);

	list_for_each_entry(allow, &export->hosts, entry)
		rnbdt_reach_remove(offer->port, allow->host, export->enabled);
	list_del(&offer->entry);
}

/**
 * rnbdt_reach_enable - set whether an export is enabled, and update the counts
 * @export: export
 * @enabled: whether clients may use the export from now on
 *
 * Context: process context, rnbdt_lock held for writing.
 */
void rnbdt_reach_enable(struct rnbdt_export *export, bool enabled)
{
	struct rnbdt_offer *offer;
	struct rnbdt_allow *allow;

	lockdep_assert_held_write(&rnbdt_lock);

	if (export->enabled == enabled)
		return;
	WRITE_ONCE(export->enabled, enabled);
	list_for_each_entry(offer, &export->offers, entry)
		list_for_each_entry(allow, &export->hosts, entry) {
			struct rnbdt_reach *reach = xa_load(&offer->port->reach,
							    allow->host->id);

			reach->enabled += enabled ? 1 : -1;
		}
}

/**
 * rnbdt_find_allow - find the permission of a host for an export
 * @export: export
 * @host: host
 *
 * Context: rnbdt_lock held.
 * Return: the link to the host in allowed_hosts or readonly_hosts of the export, or NULL if the
 * host may not use the export.
 */
struct rnbdt_allow *rnbdt_find_allow(const struct rnbdt_export *export,
				     struct rnbdt_host *host)
{
	lockdep_assert_held(&rnbdt_lock);

	return xa_load(&host->allows, export->id);
}

static bool rnbdt_port_reaches(struct rnbdt_port *port, const struct rnbdt_export *export)
{
	return export->enabled && rnbdt_port_offers(port, export);
}

/**
 * rnbdt_port_find_export - find an enabled export that a host may use on a port
 * @port: port
 * @host: host
 * @name: name of the export
 *
 * Context: rnbdt_lock held.
 * Return: the export, or NULL.
 */
struct rnbdt_export *rnbdt_port_find_export(struct rnbdt_port *port,
					    struct rnbdt_host *host, const char *name)
{
	struct rnbdt_export *export = rnbdt_export_find(name);

	lockdep_assert_held(&rnbdt_lock);

	return export && rnbdt_find_allow(export, host) && rnbdt_port_reaches(port, export) ?
	       export : NULL;
}

/**
 * rnbdt_port_next_export - find the next enabled export that a host may use on a port
 * @port: port
 * @host: host
 * @id: id of the export that was found last, or 0 to find the first one
 *
 * Context: rnbdt_lock held.
 * Return: the export with the next higher id, or NULL.
 */
struct rnbdt_export *rnbdt_port_next_export(struct rnbdt_port *port,
					    struct rnbdt_host *host, unsigned long id)
{
	struct rnbdt_allow *allow;

	lockdep_assert_held(&rnbdt_lock);

	while ((allow = xa_find_after(&host->allows, &id, ULONG_MAX, XA_PRESENT)))
		if (rnbdt_port_reaches(port, allow->export))
			return allow->export;
	return NULL;
}

/**
 * rnbdt_port_has_export - check whether a host may use an enabled export on a port
 * @port: port
 * @host: host
 *
 * Context: rnbdt_lock held.
 * Return: true if there is at least one such export.
 */
bool rnbdt_port_has_export(struct rnbdt_port *port, struct rnbdt_host *host)
{
	const struct rnbdt_reach *reach = xa_load(&port->reach, host->id);

	lockdep_assert_held(&rnbdt_lock);

	return reach && reach->enabled;
}

/**
 * rnbdt_port_knows_host - check whether a host may use any export on a port
 * @port: port
 * @host: host
 *
 * Context: rnbdt_lock held.
 * Return: true if there is at least one such export, enabled or not.
 */
bool rnbdt_port_knows_host(struct rnbdt_port *port, struct rnbdt_host *host)
{
	lockdep_assert_held(&rnbdt_lock);

	return xa_load(&port->reach, host->id);
}
