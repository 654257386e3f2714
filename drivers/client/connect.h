/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections of a session, made queue by queue, and released. See connect.c.
 */
#ifndef RNBDC_CONNECT_H
#define RNBDC_CONNECT_H

struct rnbdc_errmsg;
struct rnbdc_queue;
struct rnbdc_session;

int rnbdc_connect_first(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
int rnbdc_connect_further(struct rnbdc_queue *q, struct rnbdc_errmsg *errmsg);
void rnbdc_disconnect_further(struct rnbdc_queue *q);
int rnbdc_connect(struct rnbdc_session *sess, struct rnbdc_errmsg *errmsg);
void rnbdc_disconnect(struct rnbdc_session *sess);
void rnbdc_release_connection(struct rnbdc_session *sess);
void rnbdc_free_kept(struct rnbdc_session *sess);

#endif /* RNBDC_CONNECT_H */
