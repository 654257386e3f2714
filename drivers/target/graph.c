// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration graph: hosts, exports, ports and the links between them.
 *
 * A host may use exports, a port offers exports, an export has a backend. This
 * file defines the lock of the graph, the lookups in it, and the work queues of
 * the module. configfs_*.c build the graph. Each lookup requires rnbdt_lock, and
 * its result is valid while that is held, or while a session keeps it (state.c).
 *
 * The work queues are separate so that work that may wait does not delay other
 * work:
 *
 *	rnbdt_login_wq		logins and ports, which may wait for memory, and
 *				events for netlink listeners
 *	rnbdt_timer_wq		keep-alives, timeouts and resize reports, which
 *				must not wait behind logins
 *	rnbdt_teardown_wq	teardowns, which wait for the queue pairs
 *	rnbdt_hangup_wq		teardowns of sessions that were never live: a
 *				flood of them delays no other teardown
 *	rnbdt_linger_wq		the last part of these, which may wait a minute
 *				for the peer and must not delay the first part
 *	rnbdt_attach_wq		the end of attachments, which queues the rest of the
 *				teardowns and wakes what disables an export
 *	rnbdt_lease_wq		grants and releases of segments, which may wait for the
 *				send queue of a client that takes no frames
 *	rnbdt_disable_wq	the end of exports, which waits for attachments and
 *				may wait for storage forever
 */

#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "graph.h"
#include "target.h"

/* The configuration graph, the list of sessions, the memory accounts. */
DEFINE_MUTEX(rnbdt_lock);
struct workqueue_struct *rnbdt_login_wq;
struct workqueue_struct *rnbdt_timer_wq;
struct workqueue_struct *rnbdt_teardown_wq;
struct workqueue_struct *rnbdt_hangup_wq;
struct workqueue_struct *rnbdt_linger_wq;
struct workqueue_struct *rnbdt_disable_wq;
struct workqueue_struct *rnbdt_attach_wq;
struct workqueue_struct *rnbdt_lease_wq;

/* Hosts by UUID; a target may have thousands. */
#define RNBDT_HOST_BUCKETS	1024

static struct hlist_head rnbdt_hosts[RNBDT_HOST_BUCKETS];	/* rnbdt_lock */
uuid_t rnbdt_target_uuid;	/* of this target, in every login reply; rnbdt_lock */

static struct hlist_head *rnbdt_host_bucket(const uuid_t *uuid)
{
	return &rnbdt_hosts[jhash(uuid, sizeof(*uuid), 0) % RNBDT_HOST_BUCKETS];
}

/**
 * rnbdt_host_add - let a host be found
 * @host: new host
 *
 * Context: rnbdt_lock held.
 */
void rnbdt_host_add(struct rnbdt_host *host)
{
	lockdep_assert_held(&rnbdt_lock);

	hlist_add_head(&host->entry, rnbdt_host_bucket(&host->uuid));
}

/**
 * rnbdt_host_find - look up a host
 * @uuid: id of the host
 *
 * Context: rnbdt_lock held.
 * Return: the host or NULL.
 */
struct rnbdt_host *rnbdt_host_find(const uuid_t *uuid)
{
	struct rnbdt_host *host;

	lockdep_assert_held(&rnbdt_lock);
	hlist_for_each_entry(host, rnbdt_host_bucket(uuid), entry)
		if (uuid_equal(&host->uuid, uuid))
			return host;
	return NULL;
}

/**
 * rnbdt_find_allow - find the permission of a host for an export
 * @export: export
 * @host: host
 *
 * Context: rnbdt_lock held.
 * Return: the link to the host in allowed_hosts or readonly_hosts of the export, or NULL if
 * the host may not use it.
 */
struct rnbdt_allow *rnbdt_find_allow(const struct rnbdt_export *export,
				     const struct rnbdt_host *host)
{
	struct rnbdt_allow *allow;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(allow, &host->allows, host_entry)
		if (allow->export == export)
			return allow;
	return NULL;
}

/* Does a port offer an export? Most exports are offered by few ports. */
static bool rnbdt_port_offers(const struct rnbdt_port *port, const struct rnbdt_export *export)
{
	struct rnbdt_offer *offer;

	list_for_each_entry(offer, &export->offers, export_entry)
		if (offer->port == port)
			return true;
	return false;
}

/**
 * rnbdt_port_find_export - find an enabled export that a host may use on a port
 * @port: port
 * @host: host
 * @name: name of the export, or NULL for any
 *
 * Context: rnbdt_lock held.
 * Return: the export or NULL.
 */
struct rnbdt_export *rnbdt_port_find_export(const struct rnbdt_port *port,
					    const struct rnbdt_host *host,
					    const char *name)
{
	struct rnbdt_allow *allow;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(allow, &host->allows, host_entry) {
		struct rnbdt_export *export = allow->export;

		if (name && strcmp(rnbdt_export_name(export), name))
			continue;
		if (export->enabled && rnbdt_port_offers(port, export))
			return export;
	}
	return NULL;
}

/**
 * rnbdt_port_knows_host - check whether a host may use an export on a port
 * @port: port
 * @host: host
 *
 * Context: rnbdt_lock held.
 * Return: true if a host may use at least one export of the port, enabled or not.
 */
bool rnbdt_port_knows_host(const struct rnbdt_port *port,
			   const struct rnbdt_host *host)
{
	struct rnbdt_allow *allow;

	lockdep_assert_held(&rnbdt_lock);
	list_for_each_entry(allow, &host->allows, host_entry)
		if (rnbdt_port_offers(port, allow->export))
			return true;
	return false;
}
