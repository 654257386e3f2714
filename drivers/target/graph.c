// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration graph: hosts, exports and ports.
 *
 * Operation: an export allows hosts, a port offers exports, and an enabled export has a backend.
 * This file defines rnbdt_lock, the lookups of hosts and exports, and the pointers to the work
 * queues of the module. configfs_*.c build the graph, and reach.c handles the links in it.
 *
 * There are several work queues, so that a work item that waits does not delay other kinds of
 * work:
 *
 *	rnbdt_login_wq		connections, logins and ports, which can wait for memory;
 *				shares of memory; cgroups; events for netlink listeners
 *	rnbdt_ctl_wq		ATTACH and DETACH requests, of which a client can send
 *				any number
 *	rnbdt_timer_wq		keep-alives and timeouts, which must not wait behind
 *				logins; the end of claims that have expired
 *	rnbdt_teardown_wq	teardowns, which wait for the queue pairs
 *	rnbdt_hangup_wq		teardowns of sessions that were never live, and of
 *				queues that have not joined their session: a flood
 *				of these delays no other teardown
 *	rnbdt_linger_wq		the last part of the teardowns on rnbdt_hangup_wq, which
 *				can wait a minute for the peer
 *	rnbdt_attach_wq		the end of attachments, which queues the last part of a
 *				teardown or of disabling an export; reports of a new
 *				capacity; log lines about sessions that storage delays
 *	rnbdt_lease_wq		grants and releases of segments, which can wait for
 *				earlier SENDs to a client that accepts no frames
 *	rnbdt_reply_wq		replies to frames whose requests several work items
 *				submit; these replies must not wait for the storage
 *	rnbdt_disable_wq	the last part of disabling an export, which closes its
 *				file or device
 *
 * Ownership: configfs owns hosts, exports and ports. A session holds references on its host
 * and its port (state.c).
 *
 * Concurrency: a lookup requires rnbdt_lock, and a change of the graph requires it for
 * writing. The result of a lookup is valid while rnbdt_lock or a reference is held.
 *
 * Errors: none.
 */

#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "graph.h"
#include "target.h"

/* Protects the configuration, see target.h. */
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

/* Buckets of the hash table of hosts, by UUID; a target can have thousands of hosts. */
#define RNBDT_HOST_BUCKETS	1024

/* Buckets of the hash table of exports, by name */
#define RNBDT_EXPORT_BUCKETS	4096

static struct hlist_head rnbdt_hosts[RNBDT_HOST_BUCKETS];	/* rnbdt_lock */
static struct hlist_head rnbdt_exports[RNBDT_EXPORT_BUCKETS];	/* rnbdt_lock */
uuid_t rnbdt_target_uuid;	/* sent in each login reply; rnbdt_lock */

static struct hlist_head *rnbdt_host_bucket(const uuid_t *uuid)
{
	return &rnbdt_hosts[jhash(uuid, sizeof(*uuid), 0) % RNBDT_HOST_BUCKETS];
}

/**
 * rnbdt_host_add - add a host to the hash table of hosts
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
 * rnbdt_export_add - add an export to the hash table of exports
 * @export: new export with its name set
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
 * rnbdt_export_remove - remove an export from the hash table of exports
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
