// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers of half-open connections.
 *
 * Operation: half_open.c compares the numbers of half-open connections of a class with the
 * limits of a host and of all hosts. A connection counts first as open, then, during its
 * teardown, as closing, and then no longer. A connection that logs in, requests a list of exports
 * or joins its session is no longer counted from then on.
 *
 * Ownership: the numbers of one host are part of the host; this file contains the sums over all
 * hosts.
 *
 * Concurrency: a session or a queue can begin to close in any context, even while its login is
 * being accepted. Each step after the first one changes rnbdt_half_open.counted atomically, so
 * concurrent callers change the numbers only once.
 *
 * Errors: none.
 */

#include <linux/atomic.h>

#include "graph.h"
#include "half_count.h"
#include "session.h"

struct rnbdt_half_sum rnbdt_half_sums[RNBDT_PEER_CLASSES];

static void rnbdt_half_add(const struct rnbdt_half_open *half, int kind, int nr)
{
	struct rnbdt_half_sum *sums[] = {
		&rnbdt_half_sums[half->peer_class],
		&half->host->half_sums[half->peer_class],
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(sums); i++)
		atomic_add(nr, kind == RNBDT_HALF_OPEN ? &sums[i]->open : &sums[i]->closing);
}

/**
 * rnbdt_half_count_open - count a connection as half-open
 * @half: connection that is not counted, with host and class
 *
 * Context: any.
 */
void rnbdt_half_count_open(struct rnbdt_half_open *half)
{
	WRITE_ONCE(half->counted, RNBDT_HALF_OPEN);
	rnbdt_half_add(half, RNBDT_HALF_OPEN, 1);
}

/**
 * rnbdt_half_count_closing - count a half-open connection as closing
 * @half: connection whose teardown begins; ignored unless it is counted as open
 *
 * Context: any.
 */
void rnbdt_half_count_closing(struct rnbdt_half_open *half)
{
	if (cmpxchg(&half->counted, RNBDT_HALF_OPEN, RNBDT_HALF_CLOSING) != RNBDT_HALF_OPEN)
		return;
	rnbdt_half_add(half, RNBDT_HALF_OPEN, -1);
	rnbdt_half_add(half, RNBDT_HALF_CLOSING, 1);
}

/**
 * rnbdt_half_count_end - stop counting a connection
 * @half: connection; ignored if it is not counted
 *
 * Context: any.
 */
void rnbdt_half_count_end(struct rnbdt_half_open *half)
{
	int kind = xchg(&half->counted, RNBDT_HALF_NONE);

	if (kind != RNBDT_HALF_NONE)
		rnbdt_half_add(half, kind, -1);
}
