// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration graph: hosts, exports and ports.
 *
 * A host may use exports, a port offers exports, an export has a backend. This
 * file defines the lock of the graph, the lookups of hosts and exports, and the work queues
 * of the module. configfs_*.c build the graph; reach.c has the links. Each lookup requires
 * rnbdt_lock, and its result is valid while that is held, or while a session keeps it
 * (state.c). A change of the graph requires it for writing.
 *
 * The work queues are separate so that work that may wait does not delay other
 * work:
 *
 *	rnbdt_login_wq		connections, logins and ports, which may wait for
 *				memory, and events for netlink listeners
 *	rnbdt_ctl_wq		requests to attach and detach, of which a client can
 *				send any number
 *	rnbdt_timer_wq		keep-alives and timeouts, which must not wait behind
 *				logins, nor behind work items that wait for a host
 *	rnbdt_teardown_wq	teardowns, which wait for the queue pairs
 *	rnbdt_hangup_wq		teardowns of sessions that were never live: a
 *				flood of them delays no other teardown
 *	rnbdt_linger_wq		the last part of these, which may wait a minute
 *				for the peer and must not delay the first part
 *	rnbdt_attach_wq		the end of attachments, which queues the rest of the
 *				teardowns and wakes what disables an export; reports of
 *				a capacity; log lines about sessions that wait
 *	rnbdt_lease_wq		grants and releases of segments, which may wait for the
 *				send queue of a client that takes no frames
 *	rnbdt_disable_wq	the end of exports, which closes files and devices
 */

#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "graph.h"
#include "target.h"

/* The configuration, see target.h */
DECLARE_RWSEM(rnbdt_lock);
struct workqueue_struct *rnbdt_login_wq;
struct workqueue_struct *rnbdt_ctl_wq;
struct workqueue_struct *rnbdt_timer_wq;
struct workqueue_struct *rnbdt_teardown_wq;
struct workqueue_struct *rnbdt_hangup_wq;
struct workqueue_struct *rnbdt_linger_wq;
struct workqueue_struct *rnbdt_disable_wq;
struct workqueue_struct *rnbdt_attach_wq;
struct workqueue_struct *rnbdt_lease_wq;
struct workqueue_struct *rnbdt_reply_wq;

/* Hosts by UUID; a target may have thousands. */
#define RNBDT_HOST_BUCKETS	1024

/* Exports by name */
#define RNBDT_EXPORT_BUCKETS	4096

static struct hlist_head rnbdt_hosts[RNBDT_HOST_BUCKETS];	/* rnbdt_lock */
static struct hlist_head rnbdt_exports[RNBDT_EXPORT_BUCKETS];	/* rnbdt_lock */
uuid_t rnbdt_target_uuid;	/* of this target, in every login reply; rnbdt_lock */

static struct hlist_head *rnbdt_host_bucket(const uuid_t *uuid)
{
	return &rnbdt_hosts[jhash(uuid, sizeof(*uuid), 0) % RNBDT_HOST_BUCKETS];
}

/**
 * rnbdt_host_add - let a host be found
 * @host: new host
 *
 * Context: rnbdt_lock held for writing.
 */
void rnbdt_host_add(struct rnbdt_host *host)
{
	static unsigned long id;	/* rnbdt_lock */

	lockdep_assert_held_write(&rnbdt_lock);

	host->id = ++id;
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

static struct hlist_head *rnbdt_export_bucket(const char *name)
{
	return &rnbdt_exports[jhash(name, strlen(name), 0) % RNBDT_EXPORT_BUCKETS];
}

/**
 * rnbdt_export_add - let an export be found
 * @export: new export, which has its name
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_export_add(struct rnbdt_export *export)
{
	static unsigned long id;	/* rnbdt_lock */

	down_write(&rnbdt_lock);
	export->id = ++id;
	hlist_add_head(&export->name_entry, rnbdt_export_bucket(rnbdt_export_name(export)));
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_export_remove - let an export no longer be found
 * @export: export whose directory is removed
 *
 * Context: process context without rnbdt_lock; may sleep.
 */
void rnbdt_export_remove(struct rnbdt_export *export)
{
	down_write(&rnbdt_lock);
	hlist_del(&export->name_entry);
	up_write(&rnbdt_lock);
}

/**
 * rnbdt_export_find - look up an export
 * @name: name of the export
 *
 * Context: rnbdt_lock held.
 * Return: the export, enabled or not, or NULL.
 */
struct rnbdt_export *rnbdt_export_find(const char *name)
{
	struct rnbdt_export *export;

	lockdep_assert_held(&rnbdt_lock);
	hlist_for_each_entry(export, rnbdt_export_bucket(name), name_entry)
		if (!strcmp(rnbdt_export_name(export), name))
			return export;
	return NULL;
}
