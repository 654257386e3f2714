/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers of a session: keep-alives, and time limits of the login. See timers.c.
 */
#ifndef RNBDT_TIMERS_H
#define RNBDT_TIMERS_H

#include <linux/jiffies.h>
#include <linux/workqueue.h>

/*
 * Time in jiffies for a client to read the reason of a refusal and to disconnect. If the target
 * disconnected at once, the client might not see the reason.
 */
#define RNBDT_REFUSED_GRACE	(3 * HZ)

struct rnbdt_session;

void rnbdt_session_keepalive(struct work_struct *work);
void rnbdt_session_timeout(struct work_struct *work);
void rnbdt_session_refusal_sent(struct rnbdt_session *s);

#endif /* RNBDT_TIMERS_H */
