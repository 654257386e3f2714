// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rate limits of the logins of a host, and of its requests to attach.
 *
 * Operation
 *
 * A login costs work: the target zeroes and registers memory, and later frees it. Each host has a
 * token bucket that holds at most login_burst tokens and gains login_rate tokens per minute. A
 * login takes one token per RNBDT_LOGIN_BYTES of the floor of its pool, rounded up; a list of
 * exports takes one. A login that is refused before its pool is charged takes none, because
 * well-behaved clients repeat it. While the bucket is empty, connection requests for queue 0 that
 * name the host are refused before a queue pair is created. If the host has a secret, only
 * authenticated logins take tokens. The end of a session returns no token, not even if the session
 * was long: otherwise a host could let hundreds of sessions last just long enough, and log in
 * faster than the limit.
 *
 * Requests to attach have another bucket (attach_burst, attach_rate), because a client could
 * guess names of exports with them. Each request takes one token, even if it is refused, unless
 * the client must repeat it because older attachments have not ended, or the session is closing. A
 * request without a token is refused before memory is allocated for it.
 *
 * A request that ends an ownership (RNBD_ATTACH_DISOWN) takes no token. Such a request allocates
 * nothing, and its answer is always the same, so that it reveals no names of exports. The target
 * takes rnbdt_lock for writing only once per ownership, and the ATTACH that began the ownership
 * took a token. The client sends the request only once, so a refusal would leave the export owned.
 *
 * A refusal with RNBD_ST_BUSY or RNBD_ST_LIMIT carries the time after which the client should
 * retry. If RNBD_ST_BUSY refuses a login while the bucket of logins is empty, this is the time
 * until the bucket has a token, but from RNBDT_BUSY_RETRY_MS to RNBDT_BUSY_RETRY_MAX_MS.
 *
 * Ownership: the buckets belong to their host.
 *
 * Concurrency: the host lock protects the buckets. A changed rate applies from the next login or
 * request to attach on.
 *
 * Errors: a refusal is reported to the client as a status and increases a counter. A line is
 * logged when a bucket is empty, and when a host gets the answer BUSY for long.
 */

#define pr_fmt(fmt) "rnbd-target: " fmt

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <rnbd/wire.h>

#include "../core/param.h"
#include "counters.h"
#include "graph.h"
#include "rate.h"
#include "session.h"

/*
 * Milliseconds after which a client should retry: least and most after RNBD_ST_BUSY, and a fixed
 * time after RNBD_ST_LIMIT
 */
#define RNBDT_BUSY_RETRY_MS	100
#define RNBDT_BUSY_RETRY_MAX_MS	10000
#define RNBDT_LIMIT_RETRY_MS	1000

/* Bytes of the floor of a pool that cost one token of the bucket of logins */
#define RNBDT_LOGIN_BYTES	(128ull << 20)

/* Shortest time in ns between two log lines about one bucket, or about BUSY answers to one host */
#define RNBDT_BUCKET_LOG_NS	(60ull * NSEC_PER_SEC)

/*
 * A client that reconnects normally gets the answer BUSY for a moment only, so a series of BUSY
 * answers to a host is logged only if it lasts at least RNBDT_DEFERRED_LOG_NS. The series ends
 * after RNBDT_DEFERRED_GAP_NS without BUSY, which is longer than a client waits before it retries.
 */
#define RNBDT_DEFERRED_LOG_NS	(10ull * NSEC_PER_SEC)
#define RNBDT_DEFERRED_GAP_NS	(60ull * NSEC_PER_SEC)

RNBD_PARAM_UINT(attach_burst, 8192, 1, 65536,
		"requests of one host to attach an export at once after a time without any");

RNBD_PARAM_UINT(attach_rate, 6000, 0, 600000,
		"requests of one host to attach an export per minute in the long run; 0: no limit");

RNBD_PARAM_UINT(login_burst, 1024, 1, 65536,
		"logins of one host at once after a time without any; a login counts once per 128 MiB of the floor of its pool");

RNBD_PARAM_UINT(login_rate, 240, 0, 65536,
		"logins of one host per minute in the long run; a login counts once per 128 MiB of the floor of its pool; 0: no limit");

/* Return the nanoseconds per token, or 0 if there is no limit. */
static u64 rnbdt_bucket_interval(u32 per_minute)
{
	return per_minute ? div_u64(60ull * NSEC_PER_SEC, per_minute) : 0;
}

/*
 * Return whether a bucket that can hold @burst tokens is empty. Limit the debt of the bucket to
 * @debt nanoseconds, because the administrator can have changed the rate since the debt was made.
 */
static bool rnbdt_bucket_empty(struct rnbdt_bucket *bucket, u64 interval, u32 burst, u64 debt)
{
	u64 now = ktime_get_ns(), full = burst * interval;

	bucket->until = min(bucket->until, now + full + debt);
	return interval && bucket->until > now + full - interval;
}

static void rnbdt_bucket_take(struct rnbdt_bucket *bucket, u64 interval, u64 nr)
{
	bucket->until = max(bucket->until, ktime_get_ns()) + nr * interval;
}

/* Return whether a log line about an empty bucket is due. */
static bool rnbdt_bucket_log(struct rnbdt_bucket *bucket)
{
	u64 now = ktime_get_ns();

	if (now < bucket->log_at)
		return false;
	bucket->log_at = now + RNBDT_BUCKET_LOG_NS;
	return true;
}

/* Return the debt in ns that a login with the largest possible floor leaves in a bucket. */
static u64 rnbdt_login_debt(u64 interval)
{
	return DIV_ROUND_UP_ULL((u64)RNBD_POOL_UNITS_MAX * RNBD_UNIT_SIZE,
				RNBDT_LOGIN_BYTES) * interval;
}

/**
 * rnbdt_rate_logins - check the rate limit of logins of a host, and take no token
 * @host: host
 *
 * Context: process context, @host locked.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY while the bucket is empty.
 */
u16 rnbdt_rate_logins(struct rnbdt_host *host)
{
	u64 interval = rnbdt_bucket_interval(READ_ONCE(login_rate));

	rnbdt_assert_host(host);

	if (!rnbdt_bucket_empty(&host->logins, interval, READ_ONCE(login_burst),
				rnbdt_login_debt(interval)))
		return RNBD_ST_OK;
	rnbdt_limit_hit(RNBDT_LIMIT_LOGINS);
	if (rnbdt_bucket_log(&host->logins))
		pr_warn("host %pUb logs in too often: its connections are put off (login_rate, login_burst)\n",
			&host->uuid);
	return RNBD_ST_BUSY;
}

/**
 * rnbdt_rate_attach - take one token for a request to attach, unless the bucket is empty
 * @host: host
 *
 * Context: process context, @host locked.
 * Return: RNBD_ST_OK, or RNBD_ST_LIMIT if the bucket is empty.
 */
u16 rnbdt_rate_attach(struct rnbdt_host *host)
{
	u64 interval = rnbdt_bucket_interval(READ_ONCE(attach_rate));

	rnbdt_assert_host(host);

	if (!rnbdt_bucket_empty(&host->attaches, interval, READ_ONCE(attach_burst), 0)) {
		rnbdt_bucket_take(&host->attaches, interval, 1);
		return RNBD_ST_OK;
	}
	rnbdt_limit_hit(RNBDT_LIMIT_ATTACHES);
	if (rnbdt_bucket_log(&host->attaches))
		pr_warn("host %pUb attaches too often: its requests are refused (attach_rate, attach_burst)\n",
			&host->uuid);
	return RNBD_ST_LIMIT;
}

/**
 * rnbdt_rate_retry_ms - return when a refused client should retry
 * @host: host of the client
 * @status: status of the refusal, enum rnbd_status
 *
 * Context: process context, @host locked.
 * Return: milliseconds, or 0 if the client gets no such time for the status.
 */
u32 rnbdt_rate_retry_ms(const struct rnbdt_host *host, u16 status)
{
	u64 interval = rnbdt_bucket_interval(READ_ONCE(login_rate));
	u64 full = READ_ONCE(login_burst) * interval;
	u64 due = ktime_get_ns() + full - interval;
	u64 ms = 0;

	rnbdt_assert_host(host);

	if (status == RNBD_ST_LIMIT)
		return RNBDT_LIMIT_RETRY_MS;
	if (status != RNBD_ST_BUSY)
		return 0;
	/* Let the client wait until the bucket of logins has a token. */
	if (interval && host->logins.until > due)
		ms = div_u64(host->logins.until - due, NSEC_PER_MSEC) + 1;
	return clamp_t(u64, ms, RNBDT_BUSY_RETRY_MS, RNBDT_BUSY_RETRY_MAX_MS);
}

/**
 * rnbdt_rate_join_retry_ms - return when a client should retry to connect a further queue
 * @status: status of the refusal, enum rnbd_status
 *
 * A further queue takes no token of the bucket of logins, so the state of the bucket does not
 * matter.
 *
 * Context: any.
 * Return: milliseconds, or 0 if the client gets no such time for the status.
 */
u32 rnbdt_rate_join_retry_ms(u16 status)
{
	if (status == RNBD_ST_LIMIT)
		return RNBDT_LIMIT_RETRY_MS;
	return status == RNBD_ST_BUSY ? RNBDT_BUSY_RETRY_MS : 0;
}

/**
 * rnbdt_rate_deferred - record that a connection, a login or a request to attach got BUSY
 * @host: host of the client
 *
 * Context: process context, @host locked.
 */
void rnbdt_rate_deferred(struct rnbdt_host *host)
{
	struct rnbdt_deferred *deferred = &host->deferred;
	u64 now = ktime_get_ns();

	rnbdt_assert_host(host);

	if (!deferred->count || now - deferred->last > RNBDT_DEFERRED_GAP_NS)
		deferred->since = now;
	deferred->last = now;
	deferred->count++;
	if (now - deferred->since < RNBDT_DEFERRED_LOG_NS || now < deferred->log_at)
		return;
	pr_warn("host %pUb: its logins or requests to attach have been put off for %llu s; does storage hang (rnbd session list)?\n",
		&host->uuid, div_u64(now - deferred->since, NSEC_PER_SEC));
	deferred->log_at = now + RNBDT_BUCKET_LOG_NS;
}

/**
 * rnbdt_rate_refused - count a login that is not granted
 * @s: session whose client gets a login reply with @status
 * @status: enum rnbd_status
 *
 * Context: process context; locks the host.
 */
void rnbdt_rate_refused(struct rnbdt_session *s, u16 status)
{
	rnbdt_count(RNBDT_COUNT_REFUSED, status);
	if (status != RNBD_ST_BUSY)
		return;
	rnbdt_host_lock(s->host);
	rnbdt_rate_deferred(s->host);
	rnbdt_host_unlock(s->host);
}

/**
 * rnbdt_rate_charge_logins - take tokens of the bucket of logins
 * @host: host
 * @pool_bytes: floor of the pool of the login in bytes; 0 for a list of exports
 *
 * One token in the bucket is enough for a login. All tokens that the login costs are then taken,
 * so the bucket can go into debt.
 *
 * Context: process context, @host locked.
 * Return: RNBD_ST_OK, or RNBD_ST_BUSY while the bucket is empty.
 */
u16 rnbdt_rate_charge_logins(struct rnbdt_host *host, u64 pool_bytes)
{
	u64 nr = max(DIV_ROUND_UP_ULL(pool_bytes, RNBDT_LOGIN_BYTES), 1);
	u16 status = rnbdt_rate_logins(host);

	if (status)
		return status;
	rnbdt_bucket_take(&host->logins, rnbdt_bucket_interval(READ_ONCE(login_rate)), nr);
	return RNBD_ST_OK;
}
