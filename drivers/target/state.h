/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of a session, the list of sessions, and references to sessions. See state.c.
 */
#ifndef RNBDT_STATE_H
#define RNBDT_STATE_H

#include <linux/types.h>

#include "session.h"

struct rnbdt_host;
struct rnbdt_port;
struct rnbdt_queue;

extern struct list_head rnbdt_sessions;
bool rnbdt_session_advance(struct rnbdt_session *s, enum rnbdt_state from,
			   enum rnbdt_state to, const char *reason);
void rnbdt_session_close(struct rnbdt_session *s, const char *reason);
bool rnbdt_join_fail(struct rnbdt_queue *q);
bool rnbdt_session_lock(struct rnbdt_session *s);
void rnbdt_session_put(struct rnbdt_session *s);
void rnbdt_session_add(struct rnbdt_session *s);
void rnbdt_session_remove(struct rnbdt_session *s);
void rnbdt_stats_add(struct rnbdt_stats *sum, const struct rnbdt_queue *q);
void rnbdt_session_stats(const struct rnbdt_session *s, struct rnbdt_stats *sum);
void rnbdt_sessions_close(const struct rnbdt_host *host, const struct rnbdt_port *port,
			  const char *reason);
void rnbdt_sessions_close_denied(const struct rnbdt_host *host, const struct rnbdt_port *port);
int rnbdt_sessions_wait(const struct rnbdt_port *port);
void rnbdt_sessions_close_stale_secret(const struct rnbdt_host *host, const char *reason);
u32 rnbdt_sessions_count_old_secret(const struct rnbdt_host *host);
u32 rnbdt_sessions_count_stale_secret(const struct rnbdt_host *host);

#endif /* RNBDT_STATE_H */
