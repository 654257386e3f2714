/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of limits, protocol errors and refusals. See counters.c.
 */
#ifndef RNBDT_COUNTERS_H
#define RNBDT_COUNTERS_H

#include <linux/types.h>

/**
 * enum rnbdt_limit - limits; for each, a counter shows how often the limit was reached
 * @RNBDT_LIMIT_HALF_OPEN: connections of all hosts that have not logged in
 * @RNBDT_LIMIT_HALF_OPEN_HOST: connections of one host that have not logged in
 * @RNBDT_LIMIT_HALF_OPEN_EVICTED: counts half-open connections that were evicted for a newer one
 * @RNBDT_LIMIT_LOGIN_TIME: login_timeout_ms, after which a half-open connection is closed
 * @RNBDT_LIMIT_LOGINS: rate of the logins of a host
 * @RNBDT_LIMIT_ATTACHES: rate of the requests of a host to attach exports
 * @RNBDT_LIMIT_SESSIONS: sessions of all hosts
 * @RNBDT_LIMIT_HOST_SESSIONS: sessions of a host
 * @RNBDT_LIMIT_HOST_LISTS: lists of exports that are sent to a host concurrently
 * @RNBDT_LIMIT_SESSION_QUEUES: queues of a session
 * @RNBDT_LIMIT_KEEPALIVE: shortest keep-alive interval
 * @RNBDT_LIMIT_SESSION_POOL: pool of a session
 * @RNBDT_LIMIT_HOST_POOL: pools of a host
 * @RNBDT_LIMIT_POOL: all pools
 * @RNBDT_LIMIT_POOL_NEAR: counts how often all pools together reached 90 percent of their limit
 * @RNBDT_LIMIT_RECLAIM: time that a client has to return reclaimed memory of a pool
 * @RNBDT_LIMIT_HOST_QUEUES: memory of the queues of a host
 * @RNBDT_LIMIT_QUEUES: memory of all queues
 * @RNBDT_LIMITS: number of limits
 */
enum rnbdt_limit {
	RNBDT_LIMIT_HALF_OPEN,
	RNBDT_LIMIT_HALF_OPEN_HOST,
	RNBDT_LIMIT_HALF_OPEN_EVICTED,
	RNBDT_LIMIT_LOGIN_TIME,
	RNBDT_LIMIT_LOGINS,
	RNBDT_LIMIT_ATTACHES,
	RNBDT_LIMIT_SESSIONS,
	RNBDT_LIMIT_HOST_SESSIONS,
	RNBDT_LIMIT_HOST_LISTS,
	RNBDT_LIMIT_SESSION_QUEUES,
	RNBDT_LIMIT_KEEPALIVE,
	RNBDT_LIMIT_SESSION_POOL,
	RNBDT_LIMIT_HOST_POOL,
	RNBDT_LIMIT_POOL,
	RNBDT_LIMIT_POOL_NEAR,
	RNBDT_LIMIT_RECLAIM,
	RNBDT_LIMIT_HOST_QUEUES,
	RNBDT_LIMIT_QUEUES,
	RNBDT_LIMITS,
};

/* Number of counters in a directory; larger than all values of the enums that index counters */
#define RNBDT_KINDS_MAX		64

/**
 * enum rnbdt_counter_dir - directories of counters in sysfs
 * @RNBDT_COUNT_LIMITS: by enum rnbdt_limit: how often each limit was reached
 * @RNBDT_COUNT_PROTO_ERRS: by enum rnbd_proto_err: protocol errors of clients
 * @RNBDT_COUNT_REFUSED: by enum rnbd_status: refused connections, logins, lists of exports, joins
 *	of queues, and requests to attach
 * @RNBDT_COUNTERS: number of directories
 */
enum rnbdt_counter_dir {
	RNBDT_COUNT_LIMITS,
	RNBDT_COUNT_PROTO_ERRS,
	RNBDT_COUNT_REFUSED,
	RNBDT_COUNTERS,
};

const char *rnbdt_limit_word(enum rnbdt_limit limit);
void rnbdt_count(enum rnbdt_counter_dir counter, unsigned int kind);
u64 rnbdt_counted(enum rnbdt_counter_dir counter, unsigned int kind);
void rnbdt_limit_hit(enum rnbdt_limit limit);

#endif /* RNBDT_COUNTERS_H */
