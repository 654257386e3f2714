// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-open connections: clients that have not logged in, and further connections of
 * sessions whose client has not proven the key of the session.
 *
 * Operation
 *
 * Any peer that knows the id of a host can create half-open connections in the name of the host.
 * The peer can make up source addresses, but not hosts, so the limits count by host. A
 * connection costs a queue pair and rings of less than 1 MiB, so all count alike.
 *
 * Connections from addresses from which the host has logged in lately are one class, all others
 * a second one. Each class has a limit per host and a limit for all hosts, so connections from
 * other addresses take no place from a client that reconnects. Connections in teardown do not count
 * against a limit, but together with the other half-open ones they may be at most twice the limit.
 *
 * At the limit for all hosts, N is the number of connections of the host of the new connection,
 * including the new one. If another host has more than N, the target evicts the oldest
 * connection of the host that has the most. Otherwise it evicts the oldest connection of the
 * hosts that have at least N - 1, and at the limit of a host the oldest one of that host, but
 * only if that has reached the age half_open_grace_ms, before which a well-behaved client logs in.
 * If no connection is that old, the target refuses on average three of four new connections, and
 * evicts a random one of these hosts for the fourth. So a client that retries succeeds even in a
 * flood. A connection whose login or proof the target is processing is not evicted.
 *
 * A connection that has not logged in or joined login_timeout_ms after its request is closed. More
 * than login_frames frames per second from it are a protocol error. RNBDT_HANGUPS_MAX and
 * RNBDT_HOST_HANGUPS_MAX limit connections that never logged in or joined and of which only the
 * connection id is left; these cannot be evicted. So peers that do not answer the connection
 * manager can prevent logins of a host whose id they use, but of no host with few such connections.
 *
 * Ownership: the list of half-open connections contains a session until its login or its list of
 * exports is accepted, and a queue until it has joined, or until the teardown has freed its ring.
 *
 * Concurrency: rnbdt_half_lock protects the list and the numbers of connection ids. The lock is
 * released between the check of a new connection and its counting, but its host stays locked. So
 * only the limit for all hosts can be exceeded, by one connection per port and device, because
 * the handlers of one listener run one at a time. Parameters are read without a lock.
 *
 * Errors: a refused client gets RNBD_ST_BUSY, and a counter in sysfs is increased.
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
 * Limits, for each class, of connections that never logged in or joined and of which only the
 * connection id is left: the first for all hosts together, the second for one host. The connection
 * manager can keep the id for a minute if the peer does not answer. The first limit does not apply
 * to a host that has fewer than RNBDT_HOST_HANGUPS_FEW such connections.
 */
#define RNBDT_HANGUPS_MAX	4096
#define RNBDT_HOST_HANGUPS_MAX	256
#define RNBDT_HOST_HANGUPS_FEW	8

/* If no connection has the age of the grace period, one in so many new ones evicts a random one. */
#define RNBDT_EVICT_ONE_IN	4

RNBD_PARAM_UINT(half_open_max, 128, 8, 4096,
		"largest number of connections of all hosts that have not logged in; connections from addresses from which their host has logged in before have a second limit of the same size");

RNBD_PARAM_UINT(half_open_host_max, 32, 8, 4096,
		"largest number of connections of one host that have not logged in; connections from addresses from which it has logged in before have a second limit of the same size");

RNBD_PARAM_UINT(half_open_grace_ms, 1000, 10, 60000,
		"milliseconds that a connection has for its login before a newer one evicts it");

RNBD_PARAM_UINT(login_timeout_ms, 10000, 100, 600000,
		"milliseconds from the connection request to the end of the login");

RNBD_PARAM_UINT(login_frames, 20, 4, 10000,
		"frames per second that the target reads from a client that has not logged in");

static DEFINE_SPINLOCK(rnbdt_half_lock);
static LIST_HEAD(rnbdt_half_open);	/* oldest first; rnbdt_half_lock */
static u32 rnbdt_nr_hangups[RNBDT_PEER_CLASSES];	/* rnbdt_half_lock */

/**
 * rnbdt_login_timeout - return the time limit from the connection request to the login
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
 * rnbdt_ring_bytes - compute the size of the memory for the slots of a queue
 * @slots: number of send slots and receive slots together
 * @slot_size: bytes of the buffer of a slot
 *
 * Context: any.
 * Return: bytes of all buffers and of all struct rnbd_slot, as the allocator rounds them.
 */
u64 rnbdt_ring_bytes(u32 slots, u32 slot_size)
{
	return slots * (u64)(kmalloc_size_roundup(slot_size) +
			     kmalloc_size_roundup(sizeof(struct rnbd_slot)));
}

/* Test whether a connection can be evicted: the target is not processing its login or proof. */
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
	static const char reason[] = "not logged in, evicted for a newer connection";

	if (half->session)
		rnbdt_session_close(half->session, reason);
	else
		rnbdt_join_fail(half->queue);
}

/**
 * struct rnbdt_newcomer - a new connection that is compared with the limits
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

/* Return the highest number of open connections in the class of @new that any host has. */
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
 * Choose a connection that can be evicted, of @host or, if @host is NULL, of the hosts that have at
 * least @least open connections. Return the oldest one if it is at least @grace jiffies old.
 * Otherwise return a random one in one of RNBDT_EVICT_ONE_IN calls on average, and NULL in the
 * other calls. Return NULL if no such connection can be evicted.
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
	/* No grace period: a host that has fewer connections than others must get its share. */
	if (most > own + 1)
		return rnbdt_half_open_victim(new, NULL, most, 0);
	return rnbdt_half_open_victim(new, NULL, own, grace);
}

/*
 * Evict connections until @new fits the limit @max, which is for its host if @of_host, and else
 * for all hosts. Return false if @new does not fit. The list is walked only when a limit is
 * reached.
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
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_EVICTED);
		rnbdt_half_open_evict(half);
	}
}

/* Test whether the limits of connections of which only the connection id is left allow @new. */
static bool rnbdt_hangups_fit(const struct rnbdt_newcomer *new)
{
	u32 of_host = new->host->hangups[new->peer_class];

	/* A host that has few such connections must not be refused because of other hosts. */
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
 * @peer: source address, which the peer has possibly made up
 *
 * The function can evict older half-open connections.
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
 * @half: zeroed structure with its session or its queue set
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
 * rnbdt_half_open_end - stop counting a connection as half-open
 * @half: connection that has logged in, requested a list, joined, or is in teardown
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
 * rnbdt_half_open_login - stop counting a session as half-open, and remember its address
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
 * rnbdt_half_open_freed - record that only the connection id of a connection is left
 * @half: connection in teardown
 * @accepted: the session of the connection was live, so the limits do not apply to it
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
 * rnbdt_half_open_gone - record that the connection id of a connection was destroyed
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
