/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the queues of all sessions: limits, floors and charges. See queue_budget.c.
 */
#ifndef RNBDT_QUEUE_BUDGET_H
#define RNBDT_QUEUE_BUDGET_H

#include <linux/types.h>

struct rnbdt_host;
struct rnbdt_queue;
struct rnbdt_session;

u16 rnbdt_queue_budget_first(struct rnbdt_queue *q, u32 chunks, bool login);
void rnbdt_queue_budget_remove(struct rnbdt_queue *q);
void rnbdt_queue_budget_reserve(struct rnbdt_session *s);
u64 rnbdt_queue_budget_leave(struct rnbdt_session *s, bool waits);
void rnbdt_queue_budget_take_over(struct rnbdt_session *s, u64 bytes);
void rnbdt_queue_budget_end_claim(struct rnbdt_host *host, u64 bytes);
bool rnbdt_queue_budget_slots(struct rnbdt_queue *q, u32 slots);
bool rnbdt_queue_budget_requests(struct rnbdt_queue *q, u32 chunks);
bool rnbdt_queue_budget_take_io(struct rnbdt_session *s, u32 bytes);
void rnbdt_queue_budget_give_io(struct rnbdt_session *s, u32 bytes);
u16 rnbdt_queue_budget_attach(struct rnbdt_attach *att);
void rnbdt_queue_budget_parted(struct rnbdt_session *s);
void rnbdt_queue_budget_freed(struct rnbdt_session *s);

#endif /* RNBDT_QUEUE_BUDGET_H */
