/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pauses between attempts to connect, and the time limit of their steps. See backoff.c.
 */
#ifndef RNBDC_BACKOFF_H
#define RNBDC_BACKOFF_H

#include <linux/types.h>

/* Time limit in milliseconds of each step of a connection; shorter while I/O waits for it. */
#define RNBDC_STEP_MS		8000u
/* Milliseconds: the longest pause before an attempt to connect a session or to attach. */
#define RNBDC_PAUSE_MAX_MS	1000u
/* Milliseconds: the longest pause while the target's offer does not match the disk. */
#define RNBDC_PAUSE_OTHER_MS	10000u
/* Milliseconds: the longest pause before an attempt to make a further connection. */
#define RNBDC_PAUSE_FURTHER_MS	10000u

u32 rnbdc_step_ms(u32 timeouts);
unsigned long rnbdc_pause(u32 doublings, u32 max_ms, u32 retry_ms, u32 timeouts);

#endif /* RNBDC_BACKOFF_H */
