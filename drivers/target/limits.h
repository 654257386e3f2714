/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits: how much of this machine a host and its sessions may use. See limits.c.
 */
#ifndef RNBDT_LIMITS_H
#define RNBDT_LIMITS_H

#include <linux/types.h>

struct rnbdt_queue;
struct rnbdt_session;

u16 rnbdt_limits_login(struct rnbdt_session *s);
u16 rnbdt_limits_list(struct rnbdt_session *s);
u32 rnbdt_limits_queues(u32 requested);
u16 rnbdt_limits_pool(const struct rnbdt_session *s, u64 *bytes);
u16 rnbdt_limits_charge_pool(struct rnbdt_session *s, u64 bytes);
u16 rnbdt_limits_add_queue(struct rnbdt_queue *q);
void rnbdt_limits_remove_queue(struct rnbdt_queue *q);
bool rnbdt_limits_slots(struct rnbdt_queue *q, u32 slots);
bool rnbdt_limits_requests(struct rnbdt_queue *q, u32 chunks);
bool rnbdt_limits_take_io(struct rnbdt_session *s, u32 bytes);
void rnbdt_limits_give_io(struct rnbdt_session *s, u32 bytes);
void rnbdt_limits_freed(struct rnbdt_session *s);
void rnbdt_limits_stopped(struct rnbdt_session *s);

#endif /* RNBDT_LIMITS_H */
