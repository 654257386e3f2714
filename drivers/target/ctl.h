/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control entries that wait to be handled or sent. See ctl.c.
 */
#ifndef RNBDT_CTL_H
#define RNBDT_CTL_H

#include <linux/types.h>

struct rnbd_grant;
struct rnbd_ring;
struct rnbdt_attach;
struct rnbdt_ctl_slot;
struct rnbdt_queue;
struct rnbdt_segment;
struct rnbdt_session;

bool rnbdt_ctl_add(struct rnbd_ring *ring, u16 type, u32 id, const void *body, u32 bytes);
int rnbdt_ctl_post(struct rnbdt_session *s, u16 type, const void *body, u32 bytes);
int rnbdt_ctl_grant(struct rnbdt_session *s, const struct rnbd_grant *grant);
void rnbdt_ctl_init(struct rnbdt_session *s);
struct rnbdt_ctl_slot *rnbdt_ctl_next(struct rnbdt_session *s);
bool rnbdt_ctl_detach(struct rnbdt_attach *att, u32 id, bool keep_owner);
bool rnbdt_ctl_replace(struct rnbdt_attach *att);
void rnbdt_ctl_ended(struct rnbdt_attach *att);
struct rnbdt_attach *rnbdt_ctl_next_detach(struct rnbdt_session *s);
void rnbdt_ctl_drop(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot);
void rnbdt_ctl_answer(struct rnbdt_session *s, struct rnbdt_ctl_slot *slot);
void rnbdt_ctl_closed(struct rnbdt_attach *att, u16 status);
void rnbdt_ctl_capacity(struct rnbdt_attach *att, u64 capacity);
void rnbdt_ctl_detached(struct rnbdt_attach *att);
void rnbdt_ctl_lease(struct rnbdt_session *s, struct rnbdt_segment *seg, u32 tell);
void rnbdt_ctl_forget_lease(struct rnbdt_session *s, struct rnbdt_segment *seg);
void rnbdt_ctl_purge(struct rnbdt_session *s);
void rnbdt_ctl_forget(struct rnbdt_attach *att);
void rnbdt_ctl_send(struct rnbdt_queue *q);

#endif /* RNBDT_CTL_H */
