// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookup of sessions by host and session id, and by serial.
 *
 * Operation: a hash table and an xarray contain all sessions. Several sessions may have the same
 * id: when a client reconnects, the session of the new epoch is created before that of the old
 * epoch has ended. A caller that lists all sessions continues after the serial of the last
 * session that it has listed, because sessions can be added and removed between two calls.
 * Clients choose the ids of sessions, so a random number keys the hash, and clients cannot fill
 * one bucket on purpose.
 *
 * Ownership: the tables hold no reference. A session is removed before it is freed.
 *
 * Concurrency: the hash table is changed under rnbdt_lookup_lock and with the host of the
 * session locked. Readers use RCU. A reader that has locked the host may use the result until
 * it unlocks the host; other readers take a reference.
 *
 * Errors: a new session is refused if memory for its entry in the xarray is missing.
 */

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/kref.h>
#include <linux/limits.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <linux/xarray.h>

#include "../core/cm.h"
#include "lookup.h"
#include "session.h"

#define RNBDT_LOOKUP_BUCKETS	4096

static DEFINE_SPINLOCK(rnbdt_lookup_lock);
static struct hlist_head rnbdt_lookup_table[RNBDT_LOOKUP_BUCKETS];	/* the lock above, RCU */
static DEFINE_XARRAY(rnbdt_lookup_serials);	/* its own lock, RCU */
static atomic_t rnbdt_last_serial;

static struct hlist_head *rnbdt_lookup_bucket(const void *host_id, const void *session_id)
{
	static u32 key;
	u32 hash;

	get_random_once(&key, sizeof(key));
	hash = jhash(session_id, UUID_SIZE, jhash(host_id, UUID_SIZE, key));
	return &rnbdt_lookup_table[hash % RNBDT_LOOKUP_BUCKETS];
}

/**
 * rnbdt_lookup_reserve - choose the serial of a session, and reserve its entry
 * @s: new session
 *
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int rnbdt_lookup_reserve(struct rnbdt_session *s)
{
	int ret;

	/* Serials wrap around: skip 0 and the serials of existing sessions. */
	do {
		s->serial = atomic_inc_return(&rnbdt_last_serial);
		ret = s->serial ? xa_insert(&rnbdt_lookup_serials, s->serial, NULL, GFP_KERNEL) :
				  -EBUSY;
	} while (ret == -EBUSY);
	return ret;
}

/**
 * rnbdt_lookup_last_serial - return the serial that was chosen last
 *
 * Context: any.
 * Return: serial; no session that was added before the call has a later serial.
 */
u32 rnbdt_lookup_last_serial(void)
{
	return atomic_read(&rnbdt_last_serial);
}

/**
 * rnbdt_lookup_release - undo rnbdt_lookup_reserve()
 * @s: session that was not added
 *
 * Context: any.
 */
void rnbdt_lookup_release(struct rnbdt_session *s)
{
	xa_release(&rnbdt_lookup_serials, s->serial);
}

/**
 * rnbdt_lookup_add - add a session to the tables
 * @s: new session, after rnbdt_lookup_reserve()
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_lookup_add(struct rnbdt_session *s)
{
	struct hlist_head *head = rnbdt_lookup_bucket(&s->host_id, &s->session_id);

	spin_lock(&rnbdt_lookup_lock);
	hlist_add_head_rcu(&s->hash_entry, head);
	spin_unlock(&rnbdt_lookup_lock);
	/* This cannot fail: rnbdt_lookup_reserve() has allocated the entry. */
	xa_store(&rnbdt_lookup_serials, s->serial, s, GFP_NOWAIT);
}

/**
 * rnbdt_lookup_remove - remove a session from the tables
 * @s: session that was added; its memory must not be freed before an RCU grace period
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_lookup_remove(struct rnbdt_session *s)
{
	spin_lock(&rnbdt_lookup_lock);
	hlist_del_rcu(&s->hash_entry);
	spin_unlock(&rnbdt_lookup_lock);
	xa_erase(&rnbdt_lookup_serials, s->serial);
}

/**
 * rnbdt_lookup_after - find the session with the next higher serial
 * @serial: serial after which to search, or 0 to find the first session
 *
 * Context: any; the caller need not hold RCU.
 * Return: the session, in any state, with a reference for the caller, or NULL.
 */
struct rnbdt_session *rnbdt_lookup_after(unsigned long serial)
{
	struct rnbdt_session *s;

	rcu_read_lock();
	do {
		s = xa_find_after(&rnbdt_lookup_serials, &serial, U32_MAX, XA_PRESENT);
	} while (s && !kref_get_unless_zero(&s->ref));
	rcu_read_unlock();
	return s;
}

/**
 * rnbdt_lookup_next - find a session that a connection request names
 * @req: connection request
 * @s: session that the previous call returned, or NULL to find the first session
 *
 * Context: any, RCU read side during the whole walk.
 * Return: the next session with the host id and session id of @req, in any state, or NULL.
 */
struct rnbdt_session *rnbdt_lookup_next(const struct rnbd_conn_req *req,
					const struct rnbdt_session *s)
{
	struct hlist_head *head = rnbdt_lookup_bucket(req->host_id, req->session_id);
	struct hlist_node __rcu **link = s ? &hlist_next_rcu(&s->hash_entry) :
					     &hlist_first_rcu(head);
	struct hlist_node *node;

	while ((node = rcu_dereference(*link))) {
		struct rnbdt_session *next = hlist_entry(node, struct rnbdt_session, hash_entry);

		if (!memcmp(&next->host_id, req->host_id, sizeof(req->host_id)) &&
		    !memcmp(&next->session_id, req->session_id, sizeof(req->session_id)))
			return next;
		link = &hlist_next_rcu(node);
	}
	return NULL;
}
