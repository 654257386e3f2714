/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers of a session: keep-alives, and the time that a client has for its login.
 * See timers.c.
 */
#ifndef RNBDT_TIMERS_H
#define RNBDT_TIMERS_H

#include <linux/workqueue.h>

struct rnbdt_session;

void rnbdt_session_keepalive(struct work_struct *work);
void rnbdt_session_timeout(struct work_struct *work);
void rnbdt_session_refusal_sent(struct rnbdt_session *s);

#endif /* RNBDT_TIMERS_H */
