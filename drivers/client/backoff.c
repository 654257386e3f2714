// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pauses between attempts to connect, and the time limit of their steps.
 *
 * Operation: pauses double from attempt to attempt up to a limit, and are random, so that
 * clients that lost the same target do not reconnect at the same time. An attempt has steps,
 * such as the resolution of the address and the connection request. A target to which a
 * thousand clients reconnect possibly answers a connection request only after its client has
 * stopped waiting; the target's work is then wasted. So a client whose connection requests
 * repeatedly time out waits longer in the steps of the following attempts, and pauses longer
 * between attempts. If the target names a pause, the client makes no attempt before that
 * pause, at most RNBDC_RETRY_MAX_MS, has passed.
 *
 * Ownership: nothing is allocated or kept.
 *
 * Concurrency: pure functions.
 *
 * Errors: none.
 */

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>

#include "backoff.h"

/*
 * Time limit in milliseconds of a step in the first attempts of a reconnect. The limit is
 * short because the connection manager resends a lost message only after 4 seconds: a new
 * attempt is faster.
 */
#define RNBDC_RECONNECT_MS	1500u
/*
 * The time limit of a step and the pause double once per this many time-outs in a row: the time
 * limit at most three times, the pause at most twice.
 */
#define RNBDC_TIMEOUTS		4u
/* Milliseconds: length of a pause that has not doubled, without the random part. */
#define RNBDC_PAUSE_MIN_MS	100u
/* Milliseconds: the longest pause that a target can request; a longer request is cut to this. */
#define RNBDC_RETRY_MAX_MS	60000u

/**
 * rnbdc_step_ms - get the time limit of a step of a reconnect attempt
 * @timeouts: number of connection requests in a row that timed out
 *
 * Context: any.
 * Return: milliseconds.
 */
u32 rnbdc_step_ms(u32 timeouts)
{
	return min(RNBDC_RECONNECT_MS << min(timeouts / RNBDC_TIMEOUTS, 3u), RNBDC_STEP_MS);
}

/**
 * rnbdc_pause - get the time to the next attempt to connect or to attach
 * @doublings: number of times that the pause has doubled
 * @max_ms: upper limit of the pause in milliseconds; the random part adds or subtracts up to
 *	a quarter
 * @retry_ms: milliseconds for which the target requests that the client makes no attempt; 0
 *	if the target named no time
 * @timeouts: number of connection requests in a row that timed out; from RNBDC_TIMEOUTS on
 *	the pause is twice or four times as long and can exceed @max_ms
 *
 * Context: any.
 * Return: jiffies, random.
 */
unsigned long rnbdc_pause(u32 doublings, u32 max_ms, u32 retry_ms, u32 timeouts)
{
	u32 ms = min(RNBDC_PAUSE_MIN_MS << min(doublings, 10u), max_ms);

	ms <<= min(timeouts / RNBDC_TIMEOUTS, 2u);
	ms = ms * 3 / 4 + get_random_u32_below(ms / 2 + 1);
	retry_ms = min(retry_ms, RNBDC_RETRY_MAX_MS);
	/* Pause at least as long as the target requests, plus a random part to spread clients. */
	if (retry_ms > ms)
		ms = retry_ms + get_random_u32_below(retry_ms / 4 + 1);
	return msecs_to_jiffies(ms);
}
