/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the pools of all sessions: limits, floors and charges. See budget.c.
 */
#ifndef RNBDT_BUDGET_H
#define RNBDT_BUDGET_H

#include <linux/types.h>

struct rnbdt_host;
struct rnbdt_session;

/**
 * struct rnbdt_budget_sums - use of a limit of pool memory
 * @used: charged bytes
 * @elastic: bytes up to which pools may grow, floors included: the limit minus the part that is
 *	kept for the floors of new sessions
 * @lacks: bytes that must be reclaimed for a login that waits for its floor
 */
struct rnbdt_budget_sums {
	u64 used;
	u64 elastic;
	u64 lacks;
};

u16 rnbdt_budget_login(const struct rnbdt_session *s, u64 *floor, u64 *max);
bool rnbdt_budget_await(const struct rnbdt_session *s, u64 need);
u16 rnbdt_budget_charge_login(struct rnbdt_session *s, u64 floor, u64 max);
u64 rnbdt_budget_floor(const struct rnbdt_session *s);
bool rnbdt_budget_paced(const struct rnbdt_session *s, u64 bytes);
u64 rnbdt_budget_room(const struct rnbdt_session *s, u64 bytes);
u64 rnbdt_budget_grow(struct rnbdt_session *s, u64 bytes, u64 least);
void rnbdt_budget_shrink(struct rnbdt_session *s, u64 bytes);
void rnbdt_budget_take_over(struct rnbdt_session *s, u64 bytes);
u64 rnbdt_budget_leave(struct rnbdt_session *s);
void rnbdt_budget_freed(struct rnbdt_session *s);
void rnbdt_budget_return(struct rnbdt_host *host, u64 bytes);
void rnbdt_budget_read(const struct rnbdt_host *host, struct rnbdt_budget_sums *sums);
void rnbdt_budget_hungry(struct rnbdt_session *s, bool hungry);

#endif /* RNBDT_BUDGET_H */
