// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-open connections: clients that have not logged in, and further connections of
 * sessions whose client has not proven the key of the session.
 *
 * Operation
 *
 * A half-open connection costs the rings of queue 0 and a queue pair, and every
 * peer that knows the id of a host can create one, from any address: the address
 * is what the peer writes into its connection request. Each counts once: the rings of
 * a queue begin with a fixed number of slots, which take less than 1 MiB.
 *
 * The connections are in two classes: those from an address from which the host
 * has logged in lately, and all others. Each class has a limit per host and a
 * limit for all, so made-up addresses take no place from a client that reconnects.
 * Limits count by host because hosts, other than addresses, cannot be made up.
 *
 * If the limit for all is reached, the oldest connection of the host that has the
 * most is evicted, unless the new connection would give its own host as many.
 * Otherwise, and if the limit of a host is reached, the oldest connection is
 * evicted if it is older than half_open_grace_ms: a well-behaved client logs in
 * within that time. If none is that old, all of them may belong to a flood that
 * renews them in time, or to many disks that reconnect at once: the target refuses
 * most new connections (RNBD_ST_BUSY) and evicts a random one for the others, so
 * that a client that retries gets in, however fast the flood is. Half-open
 * connections in teardown may use as much again, not more.
 *
 * A connection that has not logged in login_timeout_ms after its connection
 * request is closed, whatever frames it has sent; more than login_frames frames a
 * second from it are a protocol error.
 *
 * Sessions that were never live, and of which only the connection id is left, are
 * limited as well, see RNBDT_HANGUPS_MAX. The target cannot evict them: peers that use
 * the id of a host and do not answer the connection manager can keep that host, and no
 * other, from logging in.
 *
 * Ownership
 *
 * A session is in the list of half-open connections until its login is accepted, a queue
 * that joins a session until it has joined.
 *
 * Concurrency
 *
 * The list, and the numbers of connection ids that are left, are under rnbdt_half_lock; the host
 * is locked to look at its addresses; half_count.c has the numbers. A connection is compared with
 * the limits and counted in two sections. Its host is locked all the time, but hosts may exceed
 * the limit for all together by one connection for each port and device: the handlers of the
 * requests of one listener run one at a time. Parameters are read without a lock.
 *
 * Errors
 *
 * A refusal is RNBD_ST_BUSY for the client, and increases a counter in sysfs.
 */

#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>

#include "../core/param.h"
#include "counters.h"
#include "graph.h"
#include "half_count.h"
#include "half_open.h"
#include "queue.h"
#include "session.h"
#include "state.h"

/*
 * Limits of sessions that were never live and of which only the connection id is left:
 * of a class, and of a host in it. The connection manager may hold the id for a minute
 * if the peer does not answer. Hosts that have less than RNBDT_HOST_HANGUPS_FEW may
 * exceed the limit of all.
 */
#define RNBDT_HANGUPS_MAX	4096
#define RNBDT_HOST_HANGUPS_MAX	256
#define RNBDT_HOST_HANGUPS_FEW	8

/* If all connections are within their grace, one new one in this number evicts one. */
#define RNBDT_EVICT_ONE_IN	4

RNBD_PARAM_UINT(half_open_max, 128, 8, 4096,
		"connections that have not logged in, of all hosts, and as many again from addresses from which their host has logged in");

RNBD_PARAM_UINT(half_open_host_max, 32, 8, 4096,
		"connections that have not logged in, of one host, and as many again from addresses from which it has logged in");

RNBD_PARAM_UINT(half_open_grace_ms, 1000, 10, 60000,
		"milliseconds that a connection has for its login before a newer one evicts it");

RNBD_PARAM_UINT(login_timeout_ms, 10000, 100, 600000,
		"milliseconds from the connection request until the client has to have logged in");

RNBD_PARAM_UINT(login_frames, 20, 4, 10000,
		"frames per second that are taken from a client that has not logged in");

static DEFINE_SPINLOCK(rnbdt_half_lock);
static LIST_HEAD(rnbdt_half_open);	/* oldest first; rnbdt_half_lock */
static u32 rnbdt_nr_hangups[RNBDT_PEER_CLASSES];	/* rnbdt_half_lock */

/**
 * rnbdt_login_timeout - return the time from the connection request to the login
 *
 * Context: any.
 * Return: jiffies.
 */
unsigned long rnbdt_login_timeout(void)
{
	return msecs_to_jiffies(READ_ONCE(login_timeout_ms));
}

/**
 * rnbdt_login_frames - return the rate limit of a client that has not logged in
 *
 * Context: any.
 * Return: frames per second.
 */
u32 rnbdt_login_frames(void)
{
	return READ_ONCE(login_frames);
}

/**
 * rnbdt_same_address - compare the IP addresses of two peers
 * @a: IPv4 or IPv6 socket address
 * @b: IPv4 or IPv6 socket address
 *
 * Context: any.
 * Return: true if family and address are equal; ports are ignored.
 */
bool rnbdt_same_address(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/**
 * rnbdt_ring_bytes - return the memory of the slots of a queue
 * @slots: slots of both directions together
 * @slot_size: bytes of a slot
 *
 * Context: any.
 * Return: bytes, as the allocator rounds them.
 */
u64 rnbdt_ring_bytes(u32 slots, u32 slot_size)
{
	return slots * (u64)(kmalloc_size_roundup(slot_size) +
			     kmalloc_size_roundup(sizeof(struct rnbd_slot)));
}

/* Does the target wait for the client? Not while it processes a login or a proof. */
static bool rnbdt_half_open_idle(const struct rnbdt_half_open *half)
{
	enum rnbdt_state state;

	if (half->queue)
		return READ_ONCE(half->queue->join_state) == RNBDT_JOINING &&
		       READ_ONCE(half->queue->join->step) != RNBDT_JOIN_VERIFIES;
	state = READ_ONCE(half->session->state);
	return state < RNBDT_LIVE && state != RNBDT_LOGIN;
}

static void rnbdt_half_open_evict(const struct rnbdt_half_open *half)
{
	static const char reason[] = "no login, and others wait for its place";

	if (half->session)
		rnbdt_session_close(half->session, reason);
	else
		rnbdt_join_fail(half->queue);
}

/**
 * struct rnbdt_newcomer - a connection that asks for a place
 * @host: host that its connection request names
 * @peer_class: class of the connection
 */
struct rnbdt_newcomer {
	struct rnbdt_host *host;
	enum rnbdt_peer_class peer_class;
};

/* Return the number of open connections of a host in the class of @new. */
static u32 rnbdt_half_open_of_host(const struct rnbdt_newcomer *new,
				   const struct rnbdt_host *host)
{
	return atomic_read(&host->half_sums[new->peer_class].open);
}

/* Return the highest number of open connections in the class of @new that a host has. */
static u32 rnbdt_half_open_most(const struct rnbdt_newcomer *new)
{
	struct rnbdt_half_open *half;
	u32 most = 0;

	list_for_each_entry(half, &rnbdt_half_open, entry)
		if (half->peer_class == new->peer_class)
			most = max(most, rnbdt_half_open_of_host(new, half->host));
	return most;
}

/*
 * Choose the connection to evict, of the host of @new or, if that is NULL, of hosts that
 * have at least @least. The oldest one; if all are within their grace period, chance
 * decides whether one is evicted and which.
 */
static struct rnbdt_half_open *rnbdt_half_open_victim(const struct rnbdt_newcomer *new,
						      const struct rnbdt_host *host,
						      u32 least, unsigned long grace)
{
	struct rnbdt_half_open *half, *victim = NULL;
	u32 nr = 0;

	list_for_each_entry(half, &rnbdt_half_open, entry) {
		if (half->peer_class != new->peer_class || !rnbdt_half_open_idle(half) ||
		    (host ? half->host != host :
			    rnbdt_half_open_of_host(new, half->host) < least))
			continue;
		if (!nr && (!grace || time_after_eq(jiffies, half->since + grace)))
			return half;
		if (!get_random_u32_below(++nr))
			victim = half;
	}
	return get_random_u32_below(RNBDT_EVICT_ONE_IN) ? NULL : victim;
}

static struct rnbdt_half_open *rnbdt_half_open_choose(const struct rnbdt_newcomer *new,
						      bool of_host)
{
	unsigned long grace = msecs_to_jiffies(READ_ONCE(half_open_grace_ms));
	u32 own, most;

	if (of_host)
		return rnbdt_half_open_victim(new, new->host, 0, grace);
	own = rnbdt_half_open_of_host(new, new->host);
	most = rnbdt_half_open_most(new);
	/* A host that has less than others gets its share, however fast they renew theirs. */
	if (most > own + 1)
		return rnbdt_half_open_victim(new, NULL, most, 0);
	return rnbdt_half_open_victim(new, NULL, own, grace);
}

/*
 * Evict until @new fits the limit @max of its host or of all hosts. The list of connections
 * is looked at only if the limit is reached, which bounds its length.
 */
static bool rnbdt_half_open_fits(const struct rnbdt_newcomer *new, bool of_host, u32 max)
{
	const struct rnbdt_half_sum *sum = of_host ? &new->host->half_sums[new->peer_class] :
						     &rnbdt_half_sums[new->peer_class];
	u32 open, closing;

	for (;;) {
		struct rnbdt_half_open *half;

		open = atomic_read(&sum->open) + 1;
		closing = atomic_read(&sum->closing);
		if (open > 2 * max - min(closing, 2 * max))
			return false;
		if (open <= max)
			return true;
		half = rnbdt_half_open_choose(new, of_host);
		if (!half)
			return false;
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_ENDED);
		rnbdt_half_open_evict(half);
	}
}

/* Limit the connection ids that the connection manager still holds. */
static bool rnbdt_hangups_fit(const struct rnbdt_newcomer *new)
{
	u32 of_host = new->host->hangups[new->peer_class];

	/* A host with few of them is not refused because others have many. */
	if (rnbdt_nr_hangups[new->peer_class] >= RNBDT_HANGUPS_MAX &&
	    of_host >= RNBDT_HOST_HANGUPS_FEW)
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN);
	else if (of_host >= RNBDT_HOST_HANGUPS_MAX)
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_HOST);
	else
		return true;
	return false;
}

static enum rnbdt_peer_class rnbdt_host_class(const struct rnbdt_host *host,
					      const struct sockaddr_storage *peer)
{
	u32 i;

	for (i = 0; i < RNBDT_HOST_ADDRESSES; i++)
		if (host->known[i].ss_family && rnbdt_same_address(&host->known[i], peer))
			return RNBDT_PEER_KNOWN;
	return RNBDT_PEER_NEW;
}

static u16 rnbdt_half_open_check(const struct rnbdt_newcomer *new)
{
	lockdep_assert_held(&rnbdt_half_lock);

	if (!rnbdt_hangups_fit(new))
		return RNBD_ST_BUSY;
	if (!rnbdt_half_open_fits(new, true, READ_ONCE(half_open_host_max))) {
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_HOST);
		return RNBD_ST_BUSY;
	}
	if (!rnbdt_half_open_fits(new, false, READ_ONCE(half_open_max))) {
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN);
		return RNBD_ST_BUSY;
	}
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_connect - check the half-open limits for a new connection
 * @host: host that the connection request names
 * @peer: source address, which the peer may have made up
 *
 * May evict older half-open connections.
 *
 * Context: process context, @host locked.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY if a limit is reached.
 */
u16 rnbdt_limits_connect(struct rnbdt_host *host, const struct sockaddr_storage *peer)
{
	const struct rnbdt_newcomer new = {
		.host = host,
		.peer_class = rnbdt_host_class(host, peer),
	};
	u16 status;

	rnbdt_assert_host(host);

	spin_lock(&rnbdt_half_lock);
	status = rnbdt_half_open_check(&new);
	spin_unlock(&rnbdt_half_lock);
	return status;
}

/**
 * rnbdt_limits_opened - count a connection as half-open
 * @half: zeroed, with its session or its queue set
 * @host: host that the connection request names
 * @peer: source address
 *
 * Context: process context, @host locked since rnbdt_limits_connect().
 */
void rnbdt_limits_opened(struct rnbdt_half_open *half, struct rnbdt_host *host,
			 const struct sockaddr_storage *peer)
{
	rnbdt_assert_host(host);

	half->host = host;
	half->peer_class = rnbdt_host_class(host, peer);
	half->since = jiffies;
	rnbdt_half_count_open(half);
	spin_lock(&rnbdt_half_lock);
	list_add_tail(&half->entry, &rnbdt_half_open);
	spin_unlock(&rnbdt_half_lock);
}

/**
 * rnbdt_half_open_end - no longer count a connection as half-open
 * @half: connection that has logged in, asked for a list, joined, or is in teardown
 *
 * Context: process context.
 */
void rnbdt_half_open_end(struct rnbdt_half_open *half)
{
	spin_lock(&rnbdt_half_lock);
	list_del_init(&half->entry);
	spin_unlock(&rnbdt_half_lock);
	rnbdt_half_count_end(half);
}

/**
 * rnbdt_half_open_login - no longer count a session as half-open; remember its address
 * @s: half-open session whose client is authenticated and whose login is accepted
 *
 * Context: process context, host of @s locked.
 */
void rnbdt_half_open_login(struct rnbdt_session *s)
{
	struct rnbdt_host *host = s->host;

	rnbdt_assert_host(host);

	rnbdt_half_open_end(&s->account.half_open);
	if (rnbdt_host_class(host, &s->peer) == RNBDT_PEER_KNOWN)
		return;
	host->known[host->next_known] = s->peer;
	host->next_known = (host->next_known + 1) % RNBDT_HOST_ADDRESSES;
}

/**
 * rnbdt_half_open_freed - note that only the connection id of a connection is left
 * @half: connection in teardown
 * @accepted: it was half-open no longer
 *
 * Context: process context.
 */
void rnbdt_half_open_freed(struct rnbdt_half_open *half, bool accepted)
{
	rnbdt_half_open_end(half);
	if (accepted)
		return;
	spin_lock(&rnbdt_half_lock);
	half->hung_up = true;
	half->host->hangups[half->peer_class]++;
	rnbdt_nr_hangups[half->peer_class]++;
	spin_unlock(&rnbdt_half_lock);
}

/**
 * rnbdt_half_open_gone - note that the connection id of a connection is gone
 * @half: connection at the end of its teardown
 *
 * Context: process context.
 */
void rnbdt_half_open_gone(struct rnbdt_half_open *half)
{
	if (!half->hung_up)
		return;
	spin_lock(&rnbdt_half_lock);
	half->hung_up = false;
	half->host->hangups[half->peer_class]--;
	rnbdt_nr_hangups[half->peer_class]--;
	spin_unlock(&rnbdt_half_lock);
}

/**
 * rnbdt_half_open_forget - forget the addresses from which a host has logged in
 * @host: host whose secret was changed
 *
 * Context: process context, @host locked.
 */
void rnbdt_half_open_forget(struct rnbdt_host *host)
{
	rnbdt_assert_host(host);

	memset(host->known, 0, sizeof(host->known));
}
