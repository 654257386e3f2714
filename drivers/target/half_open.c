// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-open connections: clients that have not logged in.
 *
 * Operation
 *
 * A half-open connection costs the rings of queue 0 and a queue pair, and every
 * peer that knows the id of a host can create one. Each counts by the MiB of its
 * rings, 1 to 8, against a limit per source address and a limit for all.
 *
 * When a limit is reached, the oldest connections of that address, or of the
 * address that has the most, are evicted for the new one. A connection younger
 * than half_open_grace_ms is never evicted: a well-behaved client logs in within
 * that time. If no connection can be evicted, the new one is refused with
 * RNBD_ST_BUSY. A flood from one address thus harms that address only; a flood
 * from many must create half_open_max connections within each grace period to keep
 * others out. Half-open connections in teardown may use as much again, not more.
 *
 * A connection that has not logged in login_timeout_ms after its connection
 * request is closed, whatever frames it has sent; more than login_frames frames a
 * second from it are a protocol error.
 *
 * Sessions that were never live, and of which only the connection id is left, are
 * limited as well, see RNBDT_HANGUPS_MAX.
 *
 * Ownership
 *
 * A session is in the list of half-open sessions until its login is accepted, and
 * in rnbdt_hangups from rnbdt_limits_freed() to rnbdt_limits_gone().
 *
 * Concurrency
 *
 * All lists and costs are under rnbdt_lock. Parameters are read without a lock.
 *
 * Errors
 *
 * A refusal is RNBD_ST_BUSY for the client, and increases a counter in sysfs.
 */

#include <linux/jhash.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/ipv6.h>

#include "../core/cm.h"
#include "../core/param.h"
#include "counters.h"
#include "half_open.h"
#include "session.h"
#include "state.h"
#include "target.h"

/* Largest cost of a half-open connection: RNBDT_RING_BYTES_MAX in both directions. */
#define RNBDT_HALF_OPEN_COST_MAX	8u

/*
 * Limits of sessions that were never live and of which only the connection id is left.
 * The connection manager may hold the id for a minute if the peer does not answer.
 * Addresses that have less than RNBDT_ADDRESS_HANGUPS_FEW may exceed the limit of all
 * fourfold.
 */
#define RNBDT_HANGUPS_MAX		1024
#define RNBDT_ADDRESS_HANGUPS_MAX	128
#define RNBDT_ADDRESS_HANGUPS_FEW	8

/* The costs of addresses are summed by hash to find the address with the most. */
#define RNBDT_ADDRESS_HASHES	1024

RNBD_PARAM_UINT(half_open_max, 128, 8, 4096,
		"connections that have not logged in, of all clients; each MiB of rings counts");

RNBD_PARAM_UINT(half_open_address_max, 32, 8, 4096,
		"connections that have not logged in, from one address; each MiB of rings counts");

RNBD_PARAM_UINT(half_open_grace_ms, 1000, 10, 60000,
		"milliseconds that a connection has for its login before it may be ended in favour of another");

RNBD_PARAM_UINT(login_timeout_ms, 10000, 100, 600000,
		"milliseconds from the connection request until the client has to have logged in");

RNBD_PARAM_UINT(login_frames, 20, 4, 10000,
		"frames per second that are taken from a client that has not logged in");

static LIST_HEAD(rnbdt_half_open);	/* oldest first; rnbdt_lock */
LIST_HEAD(rnbdt_hangups);	/* see RNBDT_HANGUPS_MAX; rnbdt_lock */
static u32 rnbdt_address_costs[RNBDT_ADDRESS_HASHES];	/* rnbdt_lock */

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
 * rnbdt_ring_bytes - return the memory of the rings of a queue
 * @slots: slots of each direction
 * @slot_size: bytes of a slot
 *
 * Context: any.
 * Return: bytes of both directions, as the allocator rounds them.
 */
u64 rnbdt_ring_bytes(u32 slots, u32 slot_size)
{
	return 2ull * slots * kmalloc_size_roundup(slot_size);
}

static u32 rnbdt_half_open_cost(const struct rnbd_conn_req *req)
{
	u64 bytes = rnbdt_ring_bytes(req->ring_slots, req->slot_size);

	return clamp_t(u64, DIV_ROUND_UP_ULL(bytes, 1u << 20), 1, RNBDT_HALF_OPEN_COST_MAX);
}

/* Check whether the target waits for the client; not while it processes the login. */
static bool rnbdt_half_open_idle(const struct rnbdt_session *s)
{
	enum rnbdt_state state = READ_ONCE(s->state);

	return state < RNBDT_LIVE && state != RNBDT_LOGIN;
}

/**
 * struct rnbdt_half_opens - costs of half-open connections
 * @open: cost of connections that are not closing
 * @closing: cost of connections in teardown
 */
struct rnbdt_half_opens {
	u32 open;
	u32 closing;
};

/* Sum the costs of @address, or of all addresses if that is NULL. */
static void rnbdt_half_open_sum(const struct sockaddr_storage *address,
				struct rnbdt_half_opens *sum)
{
	struct rnbdt_session *s;

	*sum = (struct rnbdt_half_opens) { };
	list_for_each_entry(s, &rnbdt_half_open, account.half_open) {
		if (address && !rnbdt_same_address(&s->peer, address))
			continue;
		if (READ_ONCE(s->state) < RNBDT_CLOSING)
			sum->open += s->account.half_open_cost;
		else
			sum->closing += s->account.half_open_cost;
	}
}

/* Return the sum of an address and of those with the same hash. */
static u32 *rnbdt_address_cost(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	static u32 seed __read_mostly;
	u32 hash;

	get_random_once(&seed, sizeof(seed));
	if (address->ss_family == AF_INET)
		hash = jhash(&in->sin_addr, sizeof(in->sin_addr), seed);
	else
		hash = jhash(&in6->sin6_addr, sizeof(in6->sin6_addr), seed);
	return &rnbdt_address_costs[hash % RNBDT_ADDRESS_HASHES];
}

static void rnbdt_address_costs_sum(void)
{
	struct rnbdt_session *s;

	memset(rnbdt_address_costs, 0, sizeof(rnbdt_address_costs));
	list_for_each_entry(s, &rnbdt_half_open, account.half_open)
		if (READ_ONCE(s->state) < RNBDT_CLOSING)
			*rnbdt_address_cost(&s->peer) += s->account.half_open_cost;
}

/*
 * Choose the connection to evict: the oldest of @address or, if that is NULL, the
 * oldest of the address with the highest cost; none within its grace period.
 */
static struct rnbdt_session *
rnbdt_half_open_victim(const struct sockaddr_storage *address)
{
	unsigned long grace = msecs_to_jiffies(READ_ONCE(half_open_grace_ms));
	struct rnbdt_session *s, *victim = NULL;
	u32 cost, most = 0;

	if (!address)
		rnbdt_address_costs_sum();
	list_for_each_entry(s, &rnbdt_half_open, account.half_open) {
		if (time_before(jiffies, s->account.half_open_since + grace))
			break;
		if (!rnbdt_half_open_idle(s))
			continue;
		if (address) {
			if (rnbdt_same_address(&s->peer, address))
				return s;
			continue;
		}
		cost = *rnbdt_address_cost(&s->peer);
		if (cost > most) {
			most = cost;
			victim = s;
		}
	}
	return victim;
}

/* Evict until @cost more fits for @address, or for all if that is NULL. */
static bool rnbdt_half_open_fits(const struct sockaddr_storage *address, u32 cost,
				 u32 max)
{
	struct rnbdt_half_opens sum;

	rnbdt_half_open_sum(address, &sum);
	while (sum.open + cost <= 2 * max - min(sum.closing, 2 * max)) {
		struct rnbdt_session *s;

		if (sum.open + cost <= max)
			return true;
		s = rnbdt_half_open_victim(address);
		if (!s)
			return false;
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_ENDED);
		rnbdt_session_close(s, "no login, and others wait for its place");
		rnbdt_half_open_sum(address, &sum);
	}
	return false;
}

/* Limit the connection ids that the connection manager still holds. */
static bool rnbdt_hangups_fit(const struct sockaddr_storage *address)
{
	u32 all = 0, of_address = 0;
	struct rnbdt_session *s;

	list_for_each_entry(s, &rnbdt_hangups, account.half_open) {
		all++;
		of_address += rnbdt_same_address(&s->peer, address);
	}
	/* An address with few of them is not refused because others have many. */
	if (all >= 4 * RNBDT_HANGUPS_MAX ||
	    (all >= RNBDT_HANGUPS_MAX && of_address >= RNBDT_ADDRESS_HANGUPS_FEW))
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN);
	else if (of_address >= RNBDT_ADDRESS_HANGUPS_MAX)
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_ADDRESS);
	else
		return true;
	return false;
}

/**
 * rnbdt_limits_connect - check the half-open limits for a new connection
 * @peer: source address
 * @req: connection request for queue 0
 *
 * May evict older half-open connections.
 *
 * Context: process context, rnbdt_lock held.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY if a limit is reached.
 */
u16 rnbdt_limits_connect(const struct sockaddr_storage *peer,
			 const struct rnbd_conn_req *req)
{
	u32 cost = rnbdt_half_open_cost(req);
	u32 max = READ_ONCE(half_open_max);

	lockdep_assert_held(&rnbdt_lock);

	if (!rnbdt_hangups_fit(peer))
		return RNBD_ST_BUSY;
	if (!rnbdt_half_open_fits(peer, cost, READ_ONCE(half_open_address_max))) {
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_ADDRESS);
		return RNBD_ST_BUSY;
	}
	if (!rnbdt_half_open_fits(NULL, cost, max)) {
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN);
		return RNBD_ST_BUSY;
	}
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_opened - add a session to the half-open ones
 * @s: new session
 * @req: its connection request
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_opened(struct rnbdt_session *s, const struct rnbd_conn_req *req)
{
	lockdep_assert_held(&rnbdt_lock);

	s->account.half_open_cost = rnbdt_half_open_cost(req);
	s->account.half_open_since = jiffies;
	list_add_tail(&s->account.half_open, &rnbdt_half_open);
}
