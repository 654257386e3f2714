/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a timed adapter; see clock.c.
 *
 * Operation: a section is code of the model that a ULP calls, between mdl_enter() and
 * mdl_leave(). The clock stands still during a section.
 * Ownership: none.
 * Concurrency: the machine has one processor; interrupts are disabled during a section.
 * Errors: none.
 */
#ifndef MDL_CLOCK_H
#define MDL_CLOCK_H

#include <linux/types.h>

struct mdl_cq;

/* Whether devices are timed; the module parameter "timed", set at load time. */
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
 * Return: value for mdl_leave().
 */
static inline unsigned long mdl_enter(void)
{
	return mdl_timed ? mdl_clock_enter() : 0;
}

/**
 * mdl_leave - end a section
 * @flags: return value of mdl_enter()
 *
 * Context: any.
 */
static inline void mdl_leave(unsigned long flags)
{
	if (mdl_timed)
		mdl_clock_leave(flags, 0);
}

#endif
