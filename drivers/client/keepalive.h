/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keep-alives of a live session. See keepalive.c.
 */
#ifndef RNBDC_KEEPALIVE_H
#define RNBDC_KEEPALIVE_H

struct rnbdc_session;

void rnbdc_keepalive_init(struct rnbdc_session *sess);
void rnbdc_keepalive_start(struct rnbdc_session *sess);
void rnbdc_keepalive_stop(struct rnbdc_session *sess);

#endif /* RNBDC_KEEPALIVE_H */
