/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Claims: the place and memory kept for sessions that reconnect. See claim.c.
 */
#ifndef RNBDT_CLAIM_H
#define RNBDT_CLAIM_H

#include <linux/types.h>

struct rnbdt_host;
struct rnbdt_session;

int rnbdt_claim_prepare(struct rnbdt_session *s);
void rnbdt_claim_take(struct rnbdt_session *s);
void rnbdt_claim_keep(struct rnbdt_session *s, bool waits);
void rnbdt_claim_refused(struct rnbdt_session *s);
void rnbdt_claims_drop(struct rnbdt_host *host);
void rnbdt_claims_exit(void);

#endif /* RNBDT_CLAIM_H */
