/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Further connections of a live session. See further.c.
 */
#ifndef RNBDC_FURTHER_H
#define RNBDC_FURTHER_H

struct rnbdc_session;

void rnbdc_further_init(struct rnbdc_session *sess);
void rnbdc_further_start(struct rnbdc_session *sess);
void rnbdc_further_stop(struct rnbdc_session *sess);
void rnbdc_further_wait(struct rnbdc_session *sess);

#endif /* RNBDC_FURTHER_H */
