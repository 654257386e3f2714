/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers of a session: keep-alives, and the time that a client has for its login.
 * See timers.c.
 */
#ifndef RNBDT_TIMERS_H
#define RNBDT_TIMERS_H

#include <linux/jiffies.h>
#include <linux/workqueue.h>

/*
 * Time for a client to read why its login or its queue is refused, and to disconnect. A
 * client that the target disconnects first may not see the reason.
 */
#define RNBDT_REFUSED_GRACE	(3 * HZ)

struct rnbdt_session;

void rnbdt_session_keepalive(struct work_struct *work);
void rnbdt_session_timeout(struct work_struct *work);
void rnbdt_session_refusal_sent(struct rnbdt_session *s);

#endif /* RNBDT_TIMERS_H */
