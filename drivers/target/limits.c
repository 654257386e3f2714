// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits: how much of this machine clients may take.
 *
 * Operation
 *
 * Three stages, each with limits of its own.
 *
 * Half-open is a connection whose client has not logged in. It costs the rings of
 * queue 0 and a queue pair, and whoever knows the id of a host can have one. Each
 * counts by the MiB of its rings, 1 to 8. There is a number for each address that
 * they come from, and one for all. When one of the two is used up, the oldest
 * connections of that address, or of the address that has the most, are ended in
 * favour of the new one; but none that is younger than half_open_grace_ms, in
 * which a client that means it has logged in. Only if there is no such one, the new
 * one is told to come again. So whoever floods from one address harms that address
 * alone; who floods from many has to make half_open_max connections within the
 * grace, again and again, to keep others out. Connections that are being taken
 * apart may be as many again, not more. A half-open login ends login_timeout_ms
 * after the connection request, whatever came meanwhile, and no more than
 * login_frames frames a second are taken from it.
 *
 * A login is one more session of its host and of all. These limits are looked at
 * only then: before, nobody knows who asks, and a client that was started anew ends
 * its old sessions by its login.
 *
 * A session has memory: its pool, rings and requests. No host has more than its
 * share of either account. What the sessions of a host that have begun to close a moment
 * ago still have is not refused to it, nor is it given less for that: it is told to come
 * again.
 *
 * A login is work: memory is zeroed and registered, and all of it taken apart again. Each
 * host has a bucket of logins, login_burst of them, that fills by login_rate a minute.
 * A session takes one out for each begun RNBDT_LOGIN_BYTES of its pool when that is made,
 * a list takes one; a login that is refused before takes none, for lawful clients repeat
 * them. While the bucket of a host is empty, connections in its name are put off before
 * anything is made for them. Nothing but proven logins of that host empties it. A session
 * that has lasted gives nothing back: a host might have hundreds last just as long as
 * that takes.
 *
 * Ownership
 *
 * What a session has taken out of the accounts is noted in it, and returned when the
 * memory is free, by rnbdt_limits_freed(), and when it has gone, by
 * rnbdt_limits_gone().
 *
 * Concurrency
 *
 * The accounts are under rnbdt_lock. Counters are atomic. A limit that is changed
 * counts for what comes; nothing is taken away.
 *
 * Errors
 *
 * A limit that is reached is a status for the client and a counter for people,
 * /sys/kernel/rnbd-target/limits.
 */
#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/cpumask.h>
#include <linux/jhash.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/once.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>

#include "../core/param.h"
#include "target.h"

/* What one half-open connection counts at most: RNBDT_RING_BYTES_MAX both ways. */
#define RNBDT_HALF_OPEN_COST_MAX	8u

/*
 * Sessions that never were live and of which only the connection id is left. The
 * connection manager may hold it for a minute, while the peer does not answer. Beyond
 * the number of all there are four times as many for addresses that have but a few.
 */
#define RNBDT_HANGUPS_MAX		1024
#define RNBDT_ADDRESS_HANGUPS_MAX	128
#define RNBDT_ADDRESS_HANGUPS_FEW	8

/* Addresses that share a hash count as one where the choice is who has the most. */
#define RNBDT_ADDRESS_HASHES	1024

/* Of a pool, for one login. */
#define RNBDT_LOGIN_BYTES	(128ull << 20)

/* From one line in the log about a host that logs in too often to the next. */
#define RNBDT_LOGINS_TELL_NS	(60ull * NSEC_PER_SEC)

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

RNBD_PARAM_UINT(login_burst, 1024, 1, 65536,
		"logins of one host at once, after a while without; each 128 MiB of a pool count");

RNBD_PARAM_UINT(login_rate, 240, 0, 65536,
		"logins per minute of one host in the long run; each 128 MiB of a pool count; 0: any number");

RNBD_PARAM_UINT(max_sessions, 4096, 1, 65536,
		"sessions of all hosts");

RNBD_PARAM_UINT(max_host_sessions, 256, 1, 65536,
		"sessions of one host, unless its own max_sessions says otherwise");

RNBD_PARAM_UINT(max_queues, 0, 0, 64,
		"queues of one session; 0: two for each CPU, because a client may poll some");

RNBD_PARAM_UINT(session_pool_limit_mb, 1024, 1, 4096,
		"MiB of memory of one delegated pool, unless the host has a max_session_pool_bytes");

RNBD_PARAM_UINT(host_pool_limit_mb, 0, 0, 16777216,
		"MiB of memory of all delegated pools of one host, unless it has a max_pool_bytes; 0: seven eighths of pool_limit_mb");

RNBD_PARAM_UINT(pool_limit_mb, 0, 0, 16777216,
		"MiB of memory of all delegated pools; 0: a quarter of RAM");

RNBD_PARAM_UINT(queue_limit_mb, 0, 0, 16777216,
		"MiB of memory of the rings and requests of all queues, seven eighths of them for one host; 0: an eighth of RAM");

static LIST_HEAD(rnbdt_half_open);	/* oldest first; rnbdt_lock */
static LIST_HEAD(rnbdt_hangups);	/* see RNBDT_HANGUPS_MAX; rnbdt_lock */
static u32 rnbdt_address_costs[RNBDT_ADDRESS_HASHES];	/* rnbdt_lock */
static u32 rnbdt_nr_sessions;		/* that have logged in; rnbdt_lock */
static u64 rnbdt_pool_bytes;		/* of all sessions; rnbdt_lock */
static u64 rnbdt_queue_bytes;		/* of all sessions; rnbdt_lock */
static atomic64_t rnbdt_counters[RNBDT_COUNTERS][RNBDT_KINDS_MAX];

static const char * const rnbdt_limit_words[RNBDT_LIMITS] = {
	[RNBDT_LIMIT_HALF_OPEN]		= "half_open",
	[RNBDT_LIMIT_HALF_OPEN_ADDRESS]	= "half_open_address",
	[RNBDT_LIMIT_HALF_OPEN_ENDED]	= "half_open_ended",
	[RNBDT_LIMIT_LOGIN_TIME]	= "login_time",
	[RNBDT_LIMIT_LOGINS]		= "logins",
	[RNBDT_LIMIT_SESSIONS]		= "sessions",
	[RNBDT_LIMIT_HOST_SESSIONS]	= "host_sessions",
	[RNBDT_LIMIT_HOST_LISTS]	= "host_lists",
	[RNBDT_LIMIT_SESSION_QUEUES]	= "session_queues",
	[RNBDT_LIMIT_SESSION_POOL]	= "session_pool",
	[RNBDT_LIMIT_HOST_POOL]		= "host_pool",
	[RNBDT_LIMIT_POOL]		= "pool",
	[RNBDT_LIMIT_HOST_QUEUES]	= "host_queue_memory",
	[RNBDT_LIMIT_QUEUES]		= "queue_memory",
};

/**
 * rnbdt_limit_word - name of a limit in sysfs
 * @limit: enum rnbd_tlimit
 */
const char *rnbdt_limit_word(enum rnbd_tlimit limit)
{
	return rnbdt_limit_words[limit];
}

/**
 * rnbdt_count - something is to be seen in sysfs
 * @counter: enum rnbd_tcounter
 * @kind: of what it counts
 *
 * Context: any.
 */
void rnbdt_count(enum rnbd_tcounter counter, unsigned int kind)
{
	if (!WARN_ON_ONCE(kind >= RNBDT_KINDS_MAX))
		atomic64_inc(&rnbdt_counters[counter][kind]);
}

/**
 * rnbdt_counted - how often
 * @counter: enum rnbd_tcounter
 * @kind: of what it counts
 */
u64 rnbdt_counted(enum rnbd_tcounter counter, unsigned int kind)
{
	return atomic64_read(&rnbdt_counters[counter][kind]);
}

static void rnbdt_limit_hit(enum rnbd_tlimit limit)
{
	rnbdt_count(RNBDT_COUNT_LIMITS, limit);
}

/**
 * rnbdt_login_timeout - jiffies from the connection request to the login
 */
unsigned long rnbdt_login_timeout(void)
{
	return msecs_to_jiffies(READ_ONCE(login_timeout_ms));
}

/**
 * rnbdt_login_frames - frames per second from a client that has not logged in
 */
u32 rnbdt_login_frames(void)
{
	return READ_ONCE(login_frames);
}

/* ------------------------------------------------------------------------
 * Half-open connections
 */

/**
 * rnbdt_same_address - do two connections come from one address
 * @a: one
 * @b: the other
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

static u64 rnbdt_ring_bytes(u32 slots, u32 slot_size)
{
	return 2ull * slots * kmalloc_size_roundup(slot_size);
}

static u32 rnbdt_half_open_cost(const struct rnbd_conn_req *req)
{
	u64 bytes = rnbdt_ring_bytes(req->ring_slots, req->slot_size);

	return clamp_t(u64, DIV_ROUND_UP_ULL(bytes, 1u << 20), 1, RNBDT_HALF_OPEN_COST_MAX);
}

/* Does the target wait for the client? Not while it works on the login. */
static bool rnbdt_half_open_idle(const struct rnbd_tsession *s)
{
	enum rnbd_tstate state = READ_ONCE(s->state);

	return state < RNBDT_LIVE && state != RNBDT_LOGIN;
}

/**
 * struct rnbdt_half_opens - what there is
 * @open: cost of those that are not being taken apart
 * @closing: cost of those that are
 */
struct rnbdt_half_opens {
	u32 open;
	u32 closing;
};

/* Of @address, or of all if that is NULL. */
static void rnbdt_half_open_sum(const struct sockaddr_storage *address,
				struct rnbdt_half_opens *sum)
{
	struct rnbd_tsession *s;

	*sum = (struct rnbdt_half_opens) { };
	list_for_each_entry(s, &rnbdt_half_open, half_open) {
		if (address && !rnbdt_same_address(&s->peer, address))
			continue;
		if (READ_ONCE(s->state) < RNBDT_CLOSING)
			sum->open += s->half_open_cost;
		else
			sum->closing += s->half_open_cost;
	}
}

/* What an address has open, and those of the same hash. */
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

static void rnbdt_address_costs_make(void)
{
	struct rnbd_tsession *s;

	memset(rnbdt_address_costs, 0, sizeof(rnbdt_address_costs));
	list_for_each_entry(s, &rnbdt_half_open, half_open)
		if (READ_ONCE(s->state) < RNBDT_CLOSING)
			*rnbdt_address_cost(&s->peer) += s->half_open_cost;
}

/*
 * The one to end in favour of another: the oldest of @address, or, if that is NULL,
 * the oldest of the address that has the most; none within its grace.
 */
static struct rnbd_tsession *
rnbdt_half_open_victim(const struct sockaddr_storage *address)
{
	unsigned long grace = msecs_to_jiffies(READ_ONCE(half_open_grace_ms));
	struct rnbd_tsession *s, *victim = NULL;
	u32 cost, most = 0;

	if (!address)
		rnbdt_address_costs_make();
	list_for_each_entry(s, &rnbdt_half_open, half_open) {
		if (time_before(jiffies, s->half_open_since + grace))
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

/* Room for @cost more of @address, or of all if that is NULL. */
static bool rnbdt_half_open_room(const struct sockaddr_storage *address, u32 cost,
				 u32 max)
{
	struct rnbdt_half_opens sum;

	rnbdt_half_open_sum(address, &sum);
	while (sum.open + cost <= 2 * max - min(sum.closing, 2 * max)) {
		struct rnbd_tsession *s;

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

/* What the connection manager has not let go costs little, but is something. */
static bool rnbdt_hangups_room(const struct sockaddr_storage *address)
{
	u32 all = 0, of_address = 0;
	struct rnbd_tsession *s;

	list_for_each_entry(s, &rnbdt_hangups, half_open) {
		all++;
		of_address += rnbdt_same_address(&s->peer, address);
	}
	/* Whoever has hardly any is not kept out by those who have the others. */
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
 * rnbdt_limits_connect - may a connection for queue 0 be accepted
 * @peer: where it comes from
 * @req: what it says
 *
 * May end others in favour of it.
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_connect(const struct sockaddr_storage *peer,
			 const struct rnbd_conn_req *req)
{
	u32 cost = rnbdt_half_open_cost(req);
	u32 max = READ_ONCE(half_open_max);

	lockdep_assert_held(&rnbdt_lock);

	if (!rnbdt_hangups_room(peer))
		return RNBD_ST_BUSY;
	if (!rnbdt_half_open_room(peer, cost, READ_ONCE(half_open_address_max))) {
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN_ADDRESS);
		return RNBD_ST_BUSY;
	}
	if (!rnbdt_half_open_room(NULL, cost, max)) {
		rnbdt_limit_hit(RNBDT_LIMIT_HALF_OPEN);
		return RNBD_ST_BUSY;
	}
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_opened - a session begins, half-open
 * @s: session
 * @req: what the connection request says
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_opened(struct rnbd_tsession *s, const struct rnbd_conn_req *req)
{
	lockdep_assert_held(&rnbdt_lock);

	s->half_open_cost = rnbdt_half_open_cost(req);
	s->half_open_since = jiffies;
	list_add_tail(&s->half_open, &rnbdt_half_open);
}

/* ------------------------------------------------------------------------
 * Logins
 */

/* Nanoseconds for one, 0: they are not limited. */
static u64 rnbdt_login_interval(void)
{
	u32 rate = READ_ONCE(login_rate);

	return rate ? div_u64(60ull * NSEC_PER_SEC, rate) : 0;
}

/* What one login may take beyond what is there. */
static u64 rnbdt_login_debt(u64 interval)
{
	return DIV_ROUND_UP_ULL((u64)RNBD_POOL_UNITS_MAX * RNBD_UNIT_SIZE,
				RNBDT_LOGIN_BYTES) * interval;
}

/**
 * rnbdt_limits_host - may a host log in at all just now
 * @host: host
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_host(struct rnbd_thost *host)
{
	u64 interval = rnbdt_login_interval(), now = ktime_get_ns();
	u64 burst = READ_ONCE(login_burst) * interval;

	lockdep_assert_held(&rnbdt_lock);

	/* Emptier than empty is only what was taken by other parameters, or by a large pool. */
	host->logins_until = min(host->logins_until, now + burst + rnbdt_login_debt(interval));
	if (!interval || host->logins_until <= now + burst - interval)
		return RNBD_ST_OK;
	rnbdt_limit_hit(RNBDT_LIMIT_LOGINS);
	if (now >= host->logins_tell) {
		pr_warn("host %pUb logs in too often: its connections are put off (login_rate, login_burst)\n",
			&host->uuid);
		host->logins_tell = now + RNBDT_LOGINS_TELL_NS;
	}
	return RNBD_ST_BUSY;
}

/* Take @nr logins of a host. If there is one left, all are there, and the next waits longer. */
static u16 rnbdt_limits_take_logins(struct rnbd_thost *host, u64 nr)
{
	u16 status = rnbdt_limits_host(host);

	if (status)
		return status;
	host->logins_until = max(host->logins_until, ktime_get_ns()) +
			     nr * rnbdt_login_interval();
	return RNBD_ST_OK;
}

/* ------------------------------------------------------------------------
 * Sessions
 */

/*
 * Storage may hold a session up for ever. Whoever waits for what it has is told the
 * truth after a while: that there is no more.
 */
#define RNBDT_CLOSING_WAIT	(10 * HZ)

/**
 * struct rnbdt_closing - what sessions of a host that are being closed still have
 * @sessions: are sessions
 * @pools: have pools
 * @queues: have queues
 */
struct rnbdt_closing {
	bool sessions;
	bool pools;
	bool queues;
};

static struct rnbdt_closing rnbdt_limits_closing(const struct rnbd_thost *host)
{
	struct rnbdt_closing has = { };
	const struct rnbd_tsession *s;

	list_for_each_entry(s, &rnbdt_sessions, entry) {
		/* pairs with the release in rnbdt_session_set_state() */
		if (s->host != host || smp_load_acquire(&s->state) < RNBDT_CLOSING ||
		    time_after(jiffies, READ_ONCE(s->closing_since) + RNBDT_CLOSING_WAIT))
			continue;
		has.sessions |= s->counted;
		has.pools |= s->pool_bytes > 0;
		has.queues |= s->queue_bytes > 0;
	}
	return has;
}

/* A limit is reached; if @closing, not for long. */
static u16 rnbdt_limit_status(enum rnbd_tlimit limit, bool closing)
{
	if (closing)
		return RNBD_ST_BUSY;
	rnbdt_limit_hit(limit);
	return RNBD_ST_LIMIT;
}

static u64 rnbdt_queue0_bytes(const struct rnbd_tsession *s)
{
	const struct rnbd_ring_attr *attr = &s->queues[0]->ring.attr;

	return rnbdt_ring_bytes(attr->slots, attr->slot_size);
}

/**
 * rnbdt_limits_login - the client has shown who it is
 * @s: session that is half-open
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_login(struct rnbd_tsession *s)
{
	u64 of_host = s->host->max_sessions ?: READ_ONCE(max_host_sessions);
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	if (s->host->nr_sessions >= of_host)
		return rnbdt_limit_status(RNBDT_LIMIT_HOST_SESSIONS,
					  rnbdt_limits_closing(s->host).sessions);
	if (rnbdt_nr_sessions >= READ_ONCE(max_sessions))
		return rnbdt_limit_status(RNBDT_LIMIT_SESSIONS,
					  rnbdt_limits_closing(s->host).sessions);
	status = rnbdt_limits_queue(s, rnbdt_queue0_bytes(s), s->login.queue_depth);
	if (status)
		return status;
	s->host->nr_sessions++;
	rnbdt_nr_sessions++;
	s->counted = true;
	list_del_init(&s->half_open);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_list - a client that asks for a list has shown who it is
 * @s: session that is half-open
 *
 * Lists are no sessions of their host: one that has all it may have can ask.
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_list(struct rnbd_tsession *s)
{
	struct rnbd_tsession *other;
	u32 of_host = 0;
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	list_for_each_entry(other, &rnbdt_sessions, entry)
		if (other->host == s->host && other->state == RNBDT_LISTING &&
		    other->list_status == RNBD_ST_OK)
			of_host++;
	if (of_host >= RNBDT_HOST_LISTS_MAX) {
		rnbdt_limit_hit(RNBDT_LIMIT_HOST_LISTS);
		return RNBD_ST_LIMIT;
	}
	status = rnbdt_limits_take_logins(s->host, 1);
	if (!status)
		status = rnbdt_limits_queue(s, rnbdt_queue0_bytes(s), 0);
	if (status)
		return status;
	list_del_init(&s->half_open);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_queues - how many queues a session may have
 * @wish: of the client
 *
 * Return: not more than @wish.
 */
u32 rnbdt_limits_queues(u32 wish)
{
	u32 limit = READ_ONCE(max_queues) ?: 2 * num_possible_cpus();

	limit = min_t(u32, limit, RNBD_QUEUES_MAX);
	if (wish <= limit)
		return wish;
	rnbdt_limit_hit(RNBDT_LIMIT_SESSION_QUEUES);
	return limit;
}

/* ------------------------------------------------------------------------
 * Memory
 */

static u64 rnbdt_limit_bytes(u32 mb, u32 share_of_ram)
{
	return mb ? (u64)mb << 20 :
		    ((u64)totalram_pages() << PAGE_SHIFT) / share_of_ram;
}

static u64 rnbdt_host_share(u64 bytes)
{
	return bytes - bytes / 8;
}

static u64 rnbdt_limit_room(u64 limit, u64 used)
{
	return limit > used ? limit - used : 0;
}

/* What is left of a limit, if that is less than @bytes. */
static u64 rnbdt_limit_cut(u64 bytes, u64 room, enum rnbd_tlimit which)
{
	if (bytes <= room)
		return bytes;
	rnbdt_limit_hit(which);
	return room;
}

/**
 * rnbdt_limits_pool - how large the pool of a session may be
 * @s: session that logs in
 * @bytes: wish, which is cut
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_pool(const struct rnbd_tsession *s, u64 *bytes)
{
	u64 all = rnbdt_limit_bytes(READ_ONCE(pool_limit_mb), 4);
	u64 of_session = s->host->max_session_pool_bytes ?:
			 (u64)READ_ONCE(session_pool_limit_mb) << 20;
	u64 of_host = s->host->max_pool_bytes ?:
		      (u64)READ_ONCE(host_pool_limit_mb) << 20 ?:
		      rnbdt_host_share(all);

	lockdep_assert_held(&rnbdt_lock);

	of_host = rnbdt_limit_room(of_host, s->host->pool_bytes);
	all = rnbdt_limit_room(all, rnbdt_pool_bytes);
	if (min(*bytes, of_session) > min(of_host, all) &&
	    rnbdt_limits_closing(s->host).pools)
		return RNBD_ST_BUSY;
	*bytes = rnbdt_limit_cut(*bytes, of_session, RNBDT_LIMIT_SESSION_POOL);
	*bytes = rnbdt_limit_cut(*bytes, of_host, RNBDT_LIMIT_HOST_POOL);
	*bytes = rnbdt_limit_cut(*bytes, all, RNBDT_LIMIT_POOL);
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_take_pool - take a pool out of the accounts, and the login that it is for
 * @s: session that has none
 * @bytes: what rnbdt_limits_pool() has said, or less
 *
 * Context: process context, rnbdt_lock held since then.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_take_pool(struct rnbd_tsession *s, u64 bytes)
{
	u16 status;

	lockdep_assert_held(&rnbdt_lock);

	status = rnbdt_limits_take_logins(s->host, DIV_ROUND_UP_ULL(bytes, RNBDT_LOGIN_BYTES));
	if (status)
		return status;
	s->pool_bytes = bytes;
	s->host->pool_bytes += bytes;
	rnbdt_pool_bytes += bytes;
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_queue - take the memory of a queue out of the accounts
 * @s: session
 * @ring_bytes: of its rings
 * @depth: requests that it has
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_queue(struct rnbd_tsession *s, u64 ring_bytes, u32 depth)
{
	u64 bytes = ring_bytes + (u64)depth * sizeof(struct rnbd_treq);
	u64 all = rnbdt_limit_bytes(READ_ONCE(queue_limit_mb), 8);

	lockdep_assert_held(&rnbdt_lock);

	if (bytes > rnbdt_limit_room(rnbdt_host_share(all), s->host->queue_bytes))
		return rnbdt_limit_status(RNBDT_LIMIT_HOST_QUEUES,
					  rnbdt_limits_closing(s->host).queues);
	if (bytes > rnbdt_limit_room(all, rnbdt_queue_bytes))
		return rnbdt_limit_status(RNBDT_LIMIT_QUEUES,
					  rnbdt_limits_closing(s->host).queues);
	s->queue_bytes += bytes;
	s->host->queue_bytes += bytes;
	rnbdt_queue_bytes += bytes;
	return RNBD_ST_OK;
}

/**
 * rnbdt_limits_add_queue - the same for a queue that a client connects
 * @s: session
 * @req: what the connection request says
 *
 * Context: process context, rnbdt_lock held.
 * Return: enum rnbd_status.
 */
u16 rnbdt_limits_add_queue(struct rnbd_tsession *s, const struct rnbd_conn_req *req)
{
	u64 bytes = rnbdt_ring_bytes(req->ring_slots, req->slot_size);
	u16 status = rnbdt_limits_queue(s, bytes, s->depth);

	/* The login has been granted: to begin anew at once would only cost another one. */
	return status == RNBD_ST_BUSY ?
	       rnbdt_limit_status(RNBDT_LIMIT_HOST_QUEUES, false) : status;
}

/**
 * rnbdt_limits_freed - return the memory that a session has taken
 * @s: session that has no pool and no rings any more
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_freed(struct rnbd_tsession *s)
{
	lockdep_assert_held(&rnbdt_lock);

	list_del_init(&s->half_open);
	if (!s->live_at)
		list_add_tail(&s->half_open, &rnbdt_hangups);
	s->host->pool_bytes -= s->pool_bytes;
	rnbdt_pool_bytes -= s->pool_bytes;
	s->pool_bytes = 0;
	s->host->queue_bytes -= s->queue_bytes;
	rnbdt_queue_bytes -= s->queue_bytes;
	s->queue_bytes = 0;
}

/**
 * rnbdt_limits_gone - a session is one no more
 * @s: session of which nothing is left
 *
 * Context: process context, rnbdt_lock held.
 */
void rnbdt_limits_gone(struct rnbd_tsession *s)
{
	lockdep_assert_held(&rnbdt_lock);

	list_del_init(&s->half_open);
	if (s->counted) {
		s->host->nr_sessions--;
		rnbdt_nr_sessions--;
	}
}
