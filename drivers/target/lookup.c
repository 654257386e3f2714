// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions by host and id.
 *
 * Operation: a hash table has all sessions. Several may have one id: a client that
 * reconnects makes a session of a higher epoch while that of the older one ends.
 *
 * Ownership: the table holds no reference; a session is removed before it is freed.
 *
 * Concurrency: changes are made under rnbdt_lock. Readers hold that lock, or use RCU and
 * take a reference.
 *
 * Errors: none. Clients choose the ids of sessions, so the hash is keyed with a random
 * number: they cannot fill one bucket.
 */

#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include "../core/cm.h"
#include "lookup.h"
#include "session.h"
#include "target.h"

#define RNBDT_LOOKUP_BUCKETS	4096

static struct hlist_head rnbdt_lookup_table[RNBDT_LOOKUP_BUCKETS];	/* rnbdt_lock, RCU */

static struct hlist_head *rnbdt_lookup_bucket(const void *host_id, const void *session_id)
{
	static u32 key;
	u32 hash;

	get_random_once(&key, sizeof(key));
	hash = jhash(session_id, UUID_SIZE, jhash(host_id, UUID_SIZE, key));
	return &rnbdt_lookup_table[hash % RNBDT_LOOKUP_BUCKETS];
}

/**
 * rnbdt_lookup_add - let a session be found
 * @s: new session
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_lookup_add(struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	hlist_add_head_rcu(&s->hash_entry, rnbdt_lookup_bucket(&s->host_id, &s->session_id));
}

/**
 * rnbdt_lookup_remove - let a session no longer be found
 * @s: session that was added; its memory is freed after a grace period
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_lookup_remove(struct rnbdt_session *s)
{
	lockdep_assert_held(&rnbdt_lock);

	hlist_del_rcu(&s->hash_entry);
}

/**
 * rnbdt_lookup_next - find a session that a connection request names
 * @req: connection request
 * @s: session that was found before, or NULL to find the first one
 *
 * Context: any, under RCU or rnbdt_lock.
 * Return: the next session of that host and id in any state, or NULL.
 */
struct rnbdt_session *rnbdt_lookup_next(const struct rnbd_conn_req *req,
					const struct rnbdt_session *s)
{
	struct hlist_head *head = rnbdt_lookup_bucket(req->host_id, req->session_id);
	struct hlist_node __rcu **link = s ? &hlist_next_rcu(&s->hash_entry) :
					     &hlist_first_rcu(head);
	struct hlist_node *node;

	while ((node = rcu_dereference_check(*link, lockdep_is_held(&rnbdt_lock)))) {
		struct rnbdt_session *next = hlist_entry(node, struct rnbdt_session, hash_entry);

		if (!memcmp(&next->host_id, req->host_id, sizeof(req->host_id)) &&
		    !memcmp(&next->session_id, req->session_id, sizeof(req->session_id)))
			return next;
		link = &hlist_next_rcu(node);
	}
	return NULL;
}
