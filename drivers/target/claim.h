/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Claims of sessions that reconnect on the floor of their pool. See claim.c.
 */
#ifndef RNBDT_CLAIM_H
#define RNBDT_CLAIM_H

#include <linux/types.h>

struct rnbdt_claim;
struct rnbdt_host;
struct rnbdt_session;

int rnbdt_claim_prepare(struct rnbdt_session *s);
struct rnbdt_claim *rnbdt_claim_take(struct rnbdt_session *s);
void rnbdt_claim_done(struct rnbdt_session *s, struct rnbdt_claim *claim, bool charged);
void rnbdt_claim_keep(struct rnbdt_session *s, u64 bytes);
void rnbdt_claims_drop(struct rnbdt_host *host);
void rnbdt_claims_exit(void);

#endif /* RNBDT_CLAIM_H */
