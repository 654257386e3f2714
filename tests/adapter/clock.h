/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a timed adapter; clock.c explains it.
 *
 * Operation: a function of the model that a ULP calls is a section: it begins with
 * mdl_enter() and ends with mdl_leave(), and the clock stands still in between.
 * Ownership: none.
 * Concurrency: one processor; interrupts are disabled in a section.
 * Errors: none.
 */
#ifndef MDL_CLOCK_H
#define MDL_CLOCK_H

#include <linux/types.h>

struct mdl_cq;

/* Whether the adapters take the time of their timing table; set when the module loads. */
extern bool mdl_timed;

int mdl_clock_init(void);
void mdl_clock_exit(void);
unsigned long mdl_clock_enter(void);
void mdl_clock_leave(unsigned long flags, u32 charge);
u64 mdl_clock_now(void);
u64 mdl_clock_own(void);
u64 mdl_clock_interrupts(void);
void mdl_clock_event(struct mdl_cq *cq, u64 due);

/**
 * mdl_enter - begin a section
 *
 * Context: any.
 * Return: what mdl_leave() needs.
 */
static inline unsigned long mdl_enter(void)
{
	return mdl_timed ? mdl_clock_enter() : 0;
}

/**
 * mdl_leave - end a section
 * @flags: result of mdl_enter()
 *
 * Context: any.
 */
static inline void mdl_leave(unsigned long flags)
{
	if (mdl_timed)
		mdl_clock_leave(flags, 0);
}

#endif
