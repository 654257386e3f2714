/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pauses between attempts to connect, and the time limit of their steps. See backoff.c.
 */
#ifndef RNBDC_BACKOFF_H
#define RNBDC_BACKOFF_H

#include <linux/types.h>

/* Time limit in milliseconds of a step of a connection; less while I/O waits for queue 0. */
#define RNBDC_STEP_MS		8000u
/* Milliseconds: limit of the pause (@max_ms) before an attempt to connect queue 0 or to attach. */
#define RNBDC_PAUSE_MAX_MS	1000u
/* Milliseconds: limit of the pause while the target's offer does not suit the disk or session. */
#define RNBDC_PAUSE_OTHER_MS	10000u
/* Milliseconds: limit of the pause before an attempt to connect a queue other than 0. */
#define RNBDC_PAUSE_FURTHER_MS	10000u

u32 rnbdc_step_ms(u32 timeouts);
unsigned long rnbdc_pause(u32 doublings, u32 max_ms, u32 retry_ms, u32 timeouts);

#endif /* RNBDC_BACKOFF_H */
