// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of limits, protocol errors and refusals.
 *
 * Operation: sysfs.c shows each counter as a file of /sys/kernel/rnbd-target/limits,
 * violations or refused. Counters are never reset while the module is loaded.
 *
 * Concurrency: counters are atomic and may be increased in any context.
 */

#include <linux/atomic.h>
#include <linux/bug.h>

#include "counters.h"

static atomic64_t rnbdt_counts[RNBDT_COUNTERS][RNBDT_KINDS_MAX];

static const char * const rnbdt_limit_words[RNBDT_LIMITS] = {
	[RNBDT_LIMIT_HALF_OPEN]		= "half_open",
	[RNBDT_LIMIT_HALF_OPEN_HOST]	= "half_open_host",
	[RNBDT_LIMIT_HALF_OPEN_EVICTED]	= "half_open_evicted",
	[RNBDT_LIMIT_LOGIN_TIME]	= "login_time",
	[RNBDT_LIMIT_LOGINS]		= "logins",
	[RNBDT_LIMIT_ATTACHES]		= "attaches",
	[RNBDT_LIMIT_SESSIONS]		= "sessions",
	[RNBDT_LIMIT_HOST_SESSIONS]	= "host_sessions",
	[RNBDT_LIMIT_HOST_LISTS]	= "host_lists",
	[RNBDT_LIMIT_SESSION_QUEUES]	= "session_queues",
	[RNBDT_LIMIT_KEEPALIVE]		= "keepalive",
	[RNBDT_LIMIT_SESSION_POOL]	= "session_pool",
	[RNBDT_LIMIT_HOST_POOL]		= "host_pool",
	[RNBDT_LIMIT_POOL]		= "pool",
	[RNBDT_LIMIT_POOL_NEAR]		= "pool_near",
	[RNBDT_LIMIT_RECLAIM]		= "reclaim",
	[RNBDT_LIMIT_HOST_QUEUES]	= "host_queue_memory",
	[RNBDT_LIMIT_QUEUES]		= "queue_memory",
};

/**
 * rnbdt_limit_word - return the name of a limit in sysfs
 * @limit: enum rnbdt_limit
 *
 * Context: any.
 * Return: constant name.
 */
const char *rnbdt_limit_word(enum rnbdt_limit limit)
{
	return rnbdt_limit_words[limit];
}

/**
 * rnbdt_count - increase a counter
 * @counter: directory of the counter
 * @kind: index in the directory, below RNBDT_KINDS_MAX
 *
 * Context: any.
 */
void rnbdt_count(enum rnbdt_counter_dir counter, unsigned int kind)
{
	if (!WARN_ON_ONCE(kind >= RNBDT_KINDS_MAX))
		atomic64_inc(&rnbdt_counts[counter][kind]);
}

/**
 * rnbdt_counted - read a counter
 * @counter: directory of the counter
 * @kind: index in the directory, below RNBDT_KINDS_MAX
 *
 * Context: any.
 * Return: number of events since the module was loaded.
 */
u64 rnbdt_counted(enum rnbdt_counter_dir counter, unsigned int kind)
{
	return atomic64_read(&rnbdt_counts[counter][kind]);
}

/**
 * rnbdt_limit_hit - count that a limit was reached
 * @limit: limit
 *
 * Context: any.
 */
void rnbdt_limit_hit(enum rnbdt_limit limit)
{
	rnbdt_count(RNBDT_COUNT_LIMITS, limit);
}
