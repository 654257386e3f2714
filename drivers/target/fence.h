/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fencing of hosts. See fence.c.
 */
#ifndef RNBDT_FENCE_H
#define RNBDT_FENCE_H

#include <linux/types.h>

struct rnbdt_fence;
struct rnbdt_host;
struct rnbdt_session;

/* Highest fence generation */
#define RNBDT_GENERATION_MAX	(U32_MAX - 1)

u32 rnbdt_fence_done(struct rnbdt_host *host);
u32 rnbdt_fence_begin(struct rnbdt_host *host);
int rnbdt_fence_host(struct rnbdt_host *host);
void rnbdt_unfence_host(struct rnbdt_host *host);
void rnbdt_fence_restore(struct rnbdt_host *host, const struct rnbdt_fence *fence);
u16 rnbdt_fence_check(const struct rnbdt_session *s);
u16 rnbdt_fence_check_attach(const struct rnbdt_session *s, u32 generation);
void rnbdt_fence_admit(const struct rnbdt_session *s);
u32 rnbdt_sessions_active(const struct rnbdt_host *host);

#endif /* RNBDT_FENCE_H */
