/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rate limits of the logins of a host, and of its requests to attach. See rate.c.
 */
#ifndef RNBDT_RATE_H
#define RNBDT_RATE_H

#include <linux/types.h>

struct rnbdt_host;
struct rnbdt_session;

u16 rnbdt_rate_logins(struct rnbdt_host *host);
u16 rnbdt_rate_attach(struct rnbdt_host *host);
u32 rnbdt_rate_retry_ms(const struct rnbdt_host *host, u16 status);
u32 rnbdt_rate_join_retry_ms(u16 status);
void rnbdt_rate_deferred(struct rnbdt_host *host);
void rnbdt_rate_refused(struct rnbdt_session *s, u16 status);
u16 rnbdt_rate_charge_logins(struct rnbdt_host *host, u64 pool_bytes);

#endif /* RNBDT_RATE_H */
