/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists of exports, for clients that ask which exports they may attach. See discover.c.
 */
#ifndef RNBDT_DISCOVER_H
#define RNBDT_DISCOVER_H

struct rnbdt_session;

/* Time limit in jiffies for the client to disconnect after a refusal or the end of its list */
#define RNBDT_HANGUP_TIMEOUT	(10 * HZ)

bool rnbdt_discover_work(struct rnbdt_session *s);

#endif /* RNBDT_DISCOVER_H */
