// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pauses between attempts to connect, and the time limit of their steps.
 *
 * Operation: pauses double from attempt to attempt and are random, so that clients that
 * lost the same target do not reconnect at the same time. A target to which a thousand
 * clients reconnect may answer a connection request only after its client has given up;
 * the target's work is then wasted. So a client whose connection requests repeatedly
 * time out waits longer for the following replies, and pauses longer between attempts. If
 * the target names a pause, the client makes no attempt before that pause has passed.
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
 * Time limit in milliseconds of a step of the first reconnect attempts. The connection
 * manager resends a lost message only after 4 seconds; a new attempt is faster.
 */
#define RNBDC_RECONNECT_MS	1500u
/* Connection requests in a row that must time out before the limit of a step doubles. */
#define RNBDC_TIMEOUTS		4u
/* Milliseconds: the pause before the second attempt. */
#define RNBDC_PAUSE_MIN_MS	100u
/* Milliseconds: the longest pause that a target may request. */
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
 * @max_ms: upper limit in milliseconds, to which the random part adds at most a quarter
 * @retry_ms: milliseconds before which the target wants no attempt; 0 if it named no time
 * @timeouts: number of connection requests in a row that timed out; from RNBDC_TIMEOUTS on
 *	the pause exceeds @max_ms
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
	/* Never less than the target requests, but random so that clients spread. */
	if (retry_ms > ms)
		ms = retry_ms + get_random_u32_below(retry_ms / 4 + 1);
	return msecs_to_jiffies(ms);
}
